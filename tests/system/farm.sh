#!/usr/bin/env bash
# A whole farm: two suites over three runners, every way of looking at them, a local file
# pushed twice, memory of the agents.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
schema=$TESTS_ROOT/docs/schemas/result.schema.json
validate=$TESTS_ROOT/tests/support/validate_schema.py

small_suite 24
cat >"$WORK/paged.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "paged", "description": "d",
 "datasets": {"small": {"make": {"kind": "page-table", "synthetic": true, "requests": 64,
   "mean_prompt": 40, "mean_output": 20, "batch": 16, "page_size": 16, "seed": 2}}},
 "defaults": {"op": "attention", "layout": "paged", "q_type": "f16", "head_dim": 64,
   "page_table": "@small"},
 "cases": [{"name": "gqa", "q_heads": 8, "kv_heads": 2}, {"name": "mha", "q_heads": 4, "kv_heads": 4}]}
END

# Small shards, so that there is something to spread.
farm_up --shard-tasks 4
farm_workers 0 || fail "a farm without workers (tools/farm.sh start FOLDER)"
farm_workers 3 || fail "no workers"
until_true 20 farm_has_runners 3

submit "$WORK/small.json" --runtime host --kernels gemm_openblas --budget 20ms --name "small ones"
gemm=$RUN
submit "$WORK/paged.json" --runtime host --budget 20ms
paged=$RUN
for RUN in "$gemm" "$paged"; do
    expect 0 "$(run_is tasks 24 && echo "24 results: 24 PASS" || echo "2 results: 2 PASS")" \
        wavefarm status "$RUN" --wait
    run_is state done || fail "run $RUN is not done"
done
RUN=$gemm one_result_each 24
RUN=$paged one_result_each 2
equal "runners that did work on run $gemm" "$(farm_sql \
    "SELECT count(DISTINCT session_id) FROM result WHERE run_id = $gemm")" 3
equal "devices" "$(farm_sql \
    "SELECT count(DISTINCT device_id) FROM result WHERE run_id = $gemm")" 3
equal "infrastructure faults" "$(farm_sql "SELECT sum(attempt_infra) FROM shard")" 0

# --- looking at it ---
expect 0 "24 results: 24 PASS" wavefarm show "$gemm"
[[ $OUTPUT == *c23*gemm_openblas*host:*PASS* ]] || fail "no row for c23: $OUTPUT"
expect 0 "small ones" wavefarm status
wavefarm show "$gemm" --json >"$WORK/show.json" || fail "show --json"
equal "names in show --json" "$(json "$WORK/show.json" 'len({r["task"]["case_name"] for r in v})')" 24
expect 2 "404" wavefarm show 999999
expect 0 '"state": "done"' wavefarm status "$gemm" --json

# --- submit --wait, --out: a file like that of a local run ---
expect 0 "1 results: 1 PASS" wavefarm submit "$WORK/small.json" --cases c0 --runtime host \
    --kernels gemm_openblas --budget 20ms --wait --out "$WORK/farm.jsonl"
"$validate" --lines "$schema" "$WORK/farm.jsonl" || fail "the farm's file is not as the schema says"
expect 0 "1 results: 1 PASS" wavefarm show "$WORK/farm.jsonl"

# --- a wrong answer gives exit status 1, a cancelled run 4 ---
expect 0 "1 results: 1 PASS" wavefarm run "$WORK/small.json" --cases c1 --kernels gemm_openblas \
    --budget 20ms --out "$WORK/local.jsonl"
expect 0 "" wavefarm push "$WORK/local.jsonl"
pushed() {
    farm_sql "SELECT count(*) FROM result JOIN run USING (run_id) WHERE run.kind = 'imported'"
}
equal "pushed results" "$(pushed)" 1
expect 0 "1 results" wavefarm push "$WORK/local.jsonl"
equal "pushed again" "$(pushed)" 1
sed 's/"answer":"PASS"/"answer":"MISMATCH"/' "$WORK/local.jsonl" |
    sed 's/"timing":{.*"host_ratio":[^}]*}/"timing":null/' >"$WORK/bad.jsonl"
expect 0 "" wavefarm push "$WORK/bad.jsonl"
RUN=$(farm_sql "SELECT max(run_id) FROM run WHERE kind = 'imported'")
expect 1 "1 MISMATCH" wavefarm show "$RUN"
expect 1 "1 MISMATCH" wavefarm status "$RUN"

# Without a word about devices only those kernels take part that some runner can run.
expect 0 "1 PASS" wavefarm submit gemm-five --cases '128*' --no-measure --wait
[ ! -e "$WF_BIN/../packs/wavefarm-gfx942" ] || [[ $OUTPUT == *"kernels left out"* ]] ||
    fail "not told: $OUTPUT"
expect 2 "unknown runtime 'abacus'" wavefarm submit gemm-five --runtime abacus
expect 0 "host:" wavefarm runners

# Nobody can do this one: it waits until it is cancelled.
submit "$WORK/small.json" --cases c0 --kernels gemm_openblas --runtime host --label nowhere
expect 0 "the run waits for one" wavefarm submit "$WORK/small.json" --cases c0 --model MI300X \
    --kernels gemm_openblas
expect 0 "cancelled" wavefarm cancel "$RUN"
expect 4 "1 CANCELLED" wavefarm status "$RUN" --wait

# --- memory of the agents: under 30 MB, judges and subjects apart ---
for name in w0 w1 w2; do
    peak=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$(farm_pid "worker-$name")/status")
    echo "agent $name: $peak kB"
    [ "$peak" -lt 30000 ] || fail "agent $name took $peak kB"
done

# --- what farm.sh itself promises ---
expect 0 "worker-w2" "$TESTS_ROOT/tools/farm.sh" status "$FARM"
expect 0 "" "$TESTS_ROOT/tools/farm.sh" stop "$FARM"
[ -z "$(farm_pids)" ] || fail "stop left $(farm_pids)"
farm_db_pid && fail "stop left the database"
expect 0 "" "$TESTS_ROOT/tools/farm.sh" stop "$FARM"
expect 3 "database     stopped" "$TESTS_ROOT/tools/farm.sh" status "$FARM"
equal "mode of a token" "$(stat -c %a "$FARM/tokens/admin")" 600
exit 0
