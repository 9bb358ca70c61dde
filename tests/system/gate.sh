#!/usr/bin/env bash
# A gate on a farm: the coordinator and the worker are killed in the middle, the gate
# ends with its verdict, one record a pair and round, and the record replays bit by bit.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
small_suite 2
gate_pack
mkdir -p "$WORK/fixture"
cp "$3" "$WORK/fixture/k.so"
cat >"$WORK/fixture/pack.json.in" <<'END'
{"schema": "wavefarm.pack/1", "name": "fixture", "kernels": [
 {"name": "right", "op": "gemm", "kind": "library", "arch": ["x86-64"], "library": "k.so"},
 {"name": "off_by_one", "op": "gemm", "kind": "library", "arch": ["x86-64"], "library": "k.so"}]}
END
expect 0 fixture wavefarm pack build "$WORK/fixture"
farm_up --session-ttl 2s --heartbeat 300ms --reap-period 100ms --retry-delay 100ms \
    --poll-period 200ms
submit=(wavefarm gate submit --suite "$WORK/small.json" --no-sentinels --runtime host)
same=(--base "$WORK/gate-pack" --cand "$WORK/gate-pack" --same --max-blocks 2)
expect 3 "no live runner" "${submit[@]}" "${same[@]}"
worker first --device host
until_true 30 log_says worker-first "registered session"

# --- killed before the first record, and between records ---
touch "$WORK/gate/hold"
expect 0 "gate 1" "${submit[@]}" "${same[@]}" --name killed
until_true 30 has_started 1
kill -KILL "$(farm_pid coordinator)"
kill -KILL "$(farm_pid worker-first)"
until_true 10 farm_is_gone worker-first
until_true 10 farm_is_gone coordinator
rm "$WORK/gate/hold"
farm_coordinator_start || fail "the coordinator does not start again"
worker other --device host # not this one's: the group stays on its device
worker first --device host
gate_blocks() { farm_sql "SELECT finished FROM run WHERE run_id = 1"; }
some_records() { [ "$(gate_blocks)" -ge 1 ]; }
until_true 30 some_records
kill -KILL "$(farm_pid worker-first)"
kill -KILL "$(farm_pid coordinator)"
until_true 10 farm_is_gone worker-first
until_true 10 farm_is_gone coordinator
farm_coordinator_start || fail "the coordinator does not start again"
worker first --device host
wavefarm gate status 1 --wait >"$WORK/report" || fail "the gate is not green: $(cat "$WORK/report")"
equal "one record a pair and round" "$(farm_sql "SELECT count(*) - count(DISTINCT (ordinal, round))
    FROM gate_block WHERE run_id = 1")" 0
equal "pairs of the first round" "$(farm_sql "SELECT count(*) FROM gate_block
    WHERE run_id = 1 AND round = 1")" 2
equal "results" "$(farm_sql "SELECT count(*) - count(DISTINCT task_id) FROM result WHERE run_id = 1")" 0
equal "who ran it" "$(farm_sql "SELECT DISTINCT s.name FROM result JOIN session s USING (session_id)
    WHERE run_id = 1")" first
expect 0 "lines" wavefarm gate fetch 1 --out "$WORK/record.jsonl"
expect 0 "bit by bit" wavefarm gate replay "$WORK/record.jsonl"
farm_end worker-other 5

# --- a wrong candidate is red at once, with its diagnosis ---
expect 1 "2 wrong of 2" "${submit[@]}" --base "$WORK/fixture" --cand "$WORK/fixture" \
    --base-kernel right --cand-kernel off_by_one --answers-only --wait --out "$WORK/wrong.jsonl"
expect 1 "answer MISMATCH" wavefarm gate show "$WORK/wrong.jsonl" --case c1
expect 0 "bit by bit" wavefarm gate replay "$WORK/wrong.jsonl"

# --- cancelled while a pair runs ---
touch "$WORK/gate/hold"
: >"$WORK/gate/started"
expect 0 "gate 3" "${submit[@]}" "${same[@]}"
until_true 30 has_started 1
expect 0 "cancelled" wavefarm gate cancel 3
rm "$WORK/gate/hold"
expect 130 "cancelled" wavefarm gate status 3 --wait
expect 0 "red" wavefarm gate status
expect 2 "not a gate's number" wavefarm gate fetch x --out "$WORK/x"

# --- pairs spread over two devices: each record says its group ---
small_suite 16
worker other --device host
until_true 30 farm_has_runners 2
expect 1 "16 wrong of 16" "${submit[@]}" --base "$WORK/fixture" --cand "$WORK/fixture" \
    --base-kernel right --cand-kernel off_by_one --answers-only --wait
equal "groups" "$(farm_sql "SELECT count(DISTINCT grp) FROM gate_pair
    WHERE run_id = (SELECT max(run_id) FROM gate_pair)")" 2
