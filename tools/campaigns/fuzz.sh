#!/usr/bin/env bash
# All fuzz targets, the time shared out equally; the grown corpus and the executions
# counted so far stay in the state folder.
set -euo pipefail
state=$1
minutes=$2
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzz_targets >/dev/null
targets=$(find build/fuzz/bin -name 'fuzz_*' -type f -perm -u+x | wc -l)
seconds=$((minutes * 60 * $(nproc) / targets))
status=0
tools/fuzz.sh build/fuzz "$seconds" "$state/corpus" >"$state/log" 2>&1 || status=$?
{
    tools/fuzz_totals.sh "$state"
    echo
    echo "Crashes kept: $(find "$state/corpus" -maxdepth 1 -name '*crash-*' | wc -l)."
} >"$state/summary.md"
exit $status
