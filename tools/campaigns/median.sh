#!/usr/bin/env bash
# How often the interval of the median covers, at every number of samples, under six kinds
# of noise: at least 20,000 runs a kind, whatever the minutes asked for, with a new seed
# each time.
set -euo pipefail
state=$1
runs=${WF_MEDIAN_RUNS:-20000}
cmake --preset release -DWF_TESTS=ON -B build/campaigns/build-median >/dev/null
cmake --build build/campaigns/build-median --target sim_median >/dev/null
seed=$(($(cat "$state/seed" 2>/dev/null || echo 0) + 1))
echo "$seed" >"$state/seed"
status=0
build/campaigns/build-median/bin/sim_median "$runs" "$seed" >"$state/last.md" || status=$?
total=$(($(cat "$state/runs" 2>/dev/null || echo 0) + runs))
echo "$total" >"$state/runs"
{
    cat "$state/last.md"
    echo
    echo "\`always\`: no look missed the true median. Textbook: order statistics for a fixed" \
        "number of independent samples. Runs a kind in all campaigns so far: $total."
} >"$state/summary.md"
exit $status
