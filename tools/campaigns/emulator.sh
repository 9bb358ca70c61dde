#!/usr/bin/env bash
# The emulator's campaign: code objects, single instructions and whole instruction streams
# under AddressSanitizer and UndefinedBehaviorSanitizer, and matrix products against the
# independent model. Corpus and counts stay in the state folder.
set -euo pipefail
state=$1
minutes=$2
targets="fuzz_image fuzz_isa fuzz_stream"
cmake --preset fuzz >/dev/null
# shellcheck disable=SC2086  # a list of targets
cmake --build --preset fuzz --target $targets >/dev/null
status=0
mkdir -p "$state/corpus"
total=$((minutes * 60))
# Streams are the part with the most to find: they run all of the time.
for other in fuzz_image fuzz_isa; do
    tools/fuzz.sh build/fuzz $((total / 3)) "$state/corpus" "$other" fuzz_stream ||
        status=$?
done >"$state/log" 2>&1
executions=$(tools/fuzz_totals.sh "$state")

cmake --preset dev >/dev/null
cmake --build --preset dev --target test_emulator_mfma_numeric >/dev/null
rounds=$((minutes > 1 ? minutes : 1))
if WF_MFMA_ROUNDS=$rounds build/dev/bin/test_emulator_mfma_numeric >"$state/mfma.log" 2>&1; then
    done_before=$(cat "$state/mfma.rounds" 2>/dev/null || echo 0)
    echo $((done_before + rounds)) >"$state/mfma.rounds"
else
    status=1
fi
{
    echo "$executions"
    awk '{ n += $2 } END { print "| together | " n " |" }' "$state/totals"
    echo
    echo "Crashes kept: $(find "$state/corpus" -maxdepth 1 -name '*crash-*' | wc -l)." \
        "Rounds of matrix products against the model, each of at least 1,000,000" \
        "products, without a difference: $(cat "$state/mfma.rounds" 2>/dev/null || echo 0)."
} >"$state/summary.md"
exit $status
