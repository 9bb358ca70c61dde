#!/usr/bin/env bash
# The options of a run on their way to a runner: what the suite says, what the command line
# says over it, and that the results keep all of it.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
schema=$TESTS_ROOT/docs/schemas/result.schema.json
validate=$TESTS_ROOT/tests/support/validate_schema.py
cat >"$WORK/asked.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "asked", "description": "d",
 "measure": {"budget_ms": 40, "min_samples": 4, "max_samples": 30},
 "defaults": {"op": "gemm", "a_type": "f32", "M": 64, "N": 64, "K": 64},
 "cases": [{"name": "plain"},
   {"name": "own", "seed": 2, "measure": {"cold": true, "ci_target": 0.2, "launches": 5, "max_samples": 20}}]}
END
farm_up --shard-tasks 4
worker w0
until_true 20 farm_has_runners 1

asked() { # asked FILE CASE: what its result says of it
    json "$1" "[(r['details']['asked']['ci_target'], r['details']['asked']['budget_ns'] // 1000000,
        r['details']['asked']['min_samples'], r['details']['asked']['max_samples'], r['details']['launches'],
        r['mode']['temperature']) for r in v if r['task']['case_name'] == '$2']"
}
both_ways() { # both_ways PLAIN OWN OPTIONS...: a run of the farm and a local one
    local plain=$1 own=$2
    shift 2
    submit "$WORK/asked.json" --runtime host --kernels gemm_openblas "$@"
    expect 0 "2 results: 2 PASS" wavefarm status "$RUN" --wait
    wavefarm show "$RUN" --json >"$WORK/farm.json" || fail "show --json"
    wavefarm run "$WORK/asked.json" --kernels gemm_openblas --json "$@" >"$WORK/local.json" ||
        fail "run: $*"
    for way in farm local; do
        "$validate" --array "$schema" "$WORK/$way.json" || fail "$way: not as the schema says"
        equal "$way: plain" "$(asked "$WORK/$way.json" plain)" "[$plain]"
        equal "$way: own" "$(asked "$WORK/$way.json" own)" "[$own]"
    done
}
both_ways "(0.01, 40, 4, 30, 3, 'hot')" "(0.2, 40, 4, 20, 5, 'cold')"
# The figures that the pages and Grafana read are the result's own. A host whose caches are
# too large for cold copies has no time of that case.
equal "figures in the store" "$(farm_sql "SELECT count(*) > 0, count(*) FILTER (WHERE
    ci_lo_ns IS DISTINCT FROM nullif(body->'timing'->>'ci_lo', 'nan')::float8
    OR ci_hi_ns IS DISTINCT FROM nullif(body->'timing'->>'ci_hi', 'nan')::float8
    OR median_ns <> (body->'timing'->>'median')::float8 OR q1_ns <> (body->'timing'->>'q1')::float8
    OR sample_count NOT BETWEEN 1 AND 30) FROM result WHERE run_id = $RUN AND median_ns IS NOT NULL")" "t|0"
equal "cold in the store" "$(farm_sql "SELECT count(*) FROM result WHERE run_id = $RUN AND cold")" 1
equal "a figure a sample" "$(farm_sql "SELECT count(*) > 0, bool_and(cardinality(samples) = sample_count
    AND temperature_c IS NOT NULL AND throttle IS NOT NULL) FROM sample s JOIN result r USING (run_day, task_id)
    WHERE run_id = $RUN")" "t|t"
# What a farm's results say of the samples is what a file's say.
expect 0 "warm-up" wavefarm show "$RUN" --timing
[[ $OUTPUT =~ plain\ +gemm_openblas\ +[1-9] ]] || fail "no count of samples: $OUTPUT"
both_ways "(0.05, 20, 6, 7, 2, 'hot')" "(0.05, 20, 6, 7, 2, 'hot')" \
    --hot --ci 5 --budget 20ms --min-samples 6 --max-samples 7 --launches 2

# Suite and command line together make no sense: told before anything runs.
expect 2 "min_samples is 50, more than max_samples 30" wavefarm submit "$WORK/asked.json" \
    --runtime host --min-samples 50
expect 2 "case plain: measure: min_samples is 50" wavefarm run "$WORK/asked.json" --min-samples 50
expect 2 "exclude each other" wavefarm run "$WORK/asked.json" --hot --cold
expect 2 "it takes hot or cold" wavefarm submit "$WORK/asked.json" --icache warm
exit 0
