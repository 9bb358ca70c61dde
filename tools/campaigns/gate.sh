#!/usr/bin/env bash
# The gate's rule under simulated and recorded noise: error rates, power and cost, also of
# its peers' rules, and what a decision costs. Counts add up from campaign to campaign, for
# as long as the rule and the simulator are the same; the first full measure is 2,000
# pull requests of 300 cases a row (about an hour of one core). WF_GATE_JOBS: threads.
set -euo pipefail
state=$1
minutes=$2
build=build/campaigns/build-gate
end=$(($(date +%s) + minutes * 60))
cmake --preset release -DWF_TESTS=ON -B "$build" >/dev/null
cmake --build "$build" --target sim_gate bench_gate_decide bench_gate_record >/dev/null

# Other sources, other counts.
key=$(cat gate/{block,decide,draw,ebh,exact,figures,gate,sentinel,state}.c gate/gate*.h \
    core/rng*.c tests/support/noise.[ch] tests/bench/sim_gate*.[ch] | sha256sum | cut -c1-12)
counts=$state/counts-$key.json
goal=$(cat "$state/goal-$key" 2>/dev/null || echo 1)
status=0
note=
while :; do
    left=$((end - $(date +%s)))
    run=0
    "$build/bin/sim_gate" --jobs "${WF_GATE_JOBS:-$(nproc)}" --scale "$goal" \
        --counts "$counts" --minutes "$(((left > 60 ? left : 60) / 60))" >"$state/tables.md" || run=$?
    [ $run -le 3 ] && [ $run -ne 2 ] || exit $run
    status=$run
    if grep -q '^SHORT' "$state/tables.md"; then
        note="The time did not do for measure $goal: some rows have fewer runs than others."
        break
    fi
    goal=$((goal + 1))
    echo "$goal" >"$state/goal-$key"
    [ "$(date +%s)" -lt "$end" ] || break
done
# Short of the second measure or a later one is no fault.
[ "$status" -ne 3 ] || [ "$goal" -eq 1 ] || status=0
decide=0
{
    "$build/bin/bench_gate_decide" || decide=$?
    echo
    "$build/bin/bench_gate_record" || decide=$?
} >"$state/decide.md"
{
    cat "$state/tables.md"
    echo
    echo "## A decision (\`bench_gate_decide\`, \`bench_gate_record\`)"
    echo
    cat "$state/decide.md"
    echo
    echo "Counts of rule and simulator $key. $note"
} >"$state/summary.md"
[ $decide -eq 0 ] || status=$decide
exit $status
