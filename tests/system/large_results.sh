#!/usr/bin/env bash
# Results that are too many for one request, and results files that are not whole.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
small_suite 80
gate_pack
wavefarm run "$WORK/small.json" --kernels gemm_openblas --no-measure --out "$WORK/all.jsonl" \
    >"$WORK/out" || fail "the local run"
imported() { farm_sql "SELECT count(*) FROM run WHERE kind = 'imported'"; }

# --- A64: more than 128 KiB, which no argument of a program holds, go from the file ---
cat "$WORK/all.jsonl" >"$WORK/large.jsonl"
[ "$(stat -c %s "$WORK/large.jsonl")" -gt 131073 ] || fail "the file is too small"
farm_up --poll-period 200ms --session-ttl 60s
expect 0 "80 results" wavefarm push "$WORK/large.jsonl"
equal "imported runs" "$(imported)" 1

# --- A63: an empty file, a crash in the middle, 3 of 8 results ---
: >"$WORK/empty.jsonl"
expect 2 "empty, not a results file" wavefarm push "$WORK/empty.jsonl"
head -n 1 "$WORK/all.jsonl" | sed 's/"expected":80/"expected":8/' >"$WORK/three.jsonl"
cp "$WORK/three.jsonl" "$WORK/none.jsonl"
expect 2 "results must have 1 to" wavefarm push "$WORK/none.jsonl"
expect 4 "incomplete: 0 of 8" wavefarm show "$WORK/none.jsonl"
sed -n 2,4p "$WORK/all.jsonl" >>"$WORK/three.jsonl"
head -c 10000 "$WORK/all.jsonl" >"$WORK/torn.jsonl"
expect 2 "the last line is torn" wavefarm push "$WORK/torn.jsonl"
expect 4 "8 results were expected, got 3" wavefarm push "$WORK/three.jsonl"
equal "imported runs" "$(imported)" 2
RUN=$(farm_sql "SELECT max(run_id) FROM run")
expect 4 "incomplete: 3 of 8" wavefarm show "$RUN"
expect 4 "incomplete: 3 of 8" wavefarm status "$RUN"

# --- A76: 40 results are spooled while the coordinator stands still; the 413 that their
# batch gets makes the worker send fewer, and each result is stored once ---
farm_end coordinator 10
farm_coordinator_start --max-body 64KiB --poll-period 200ms --session-ttl 60s \
    --shard-tasks 40 || fail "the coordinator does not start again"
touch "$WORK/gate/hold"
worker large --device host
submit "$WORK/small.json" --pack "$WORK/gate-pack" --no-measure
until_true 30 has_started 1
kill -STOP "$(farm_pid coordinator)"
rm "$WORK/gate/hold"
has_spooled() { [ "$(spool_entries large)" -ge 38 ]; } # the tasks of one lease are half
until_true 60 has_spooled
kill -CONT "$(farm_pid coordinator)"
expect 0 "80 results: 80 PASS" wavefarm status "$RUN" --wait
one_result_each 80
until_true 20 spool_is_empty large
refusals() {
    exec 3<>"/dev/tcp/127.0.0.1/$(cat "$FARM/port")"
    printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
    grep 'route="results"' <&3 | grep -c '"413"'
}
[ "$(refusals)" -ge 1 ] || fail "no batch was too large"
expect 2 "too large for one request; raise the coordinator's max_body" wavefarm push "$WORK/large.jsonl"
equal "imported runs" "$(imported)" 2
