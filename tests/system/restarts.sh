#!/usr/bin/env bash
# The coordinator killed in the middle of a run, then the database: both come back, the
# run goes on, who waits for it notices nothing, every task has one result.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
small_suite 240
farm_up --shard-tasks 8 --session-ttl 10s --heartbeat 500ms --reap-period 200ms \
    --retry-delay 100ms --poll-period 200ms
worker a --device host
worker b --device host
submit "$WORK/small.json" --kernels gemm_openblas --runtime host --no-measure
wavefarm status "$RUN" --wait >"$WORK/wait.out" 2>&1 &
waiter=$!

until_true 60 run_done_at_least 10
kill -KILL "$(farm_pid coordinator)"
until_true 10 farm_is_gone coordinator
done_before=$(farm_sql "SELECT finished FROM run WHERE run_id = $RUN")
[ "$done_before" -lt 200 ] || fail "too late: $done_before of 240 were done"
farm_coordinator_start || fail "the coordinator does not start again"
until_true 60 run_done_at_least $((done_before + 10))

database=$(farm_db_pid) || fail "no database"
kill -KILL "$database"
is_away() { ! farm_answers; }
until_true 20 is_away
# Its backends end when they notice; until then a new server refuses to start.
database_starts() { farm_db_start 2>/dev/null; }
until_true 30 database_starts
until_true 20 farm_answers

code=0
wait "$waiter" || code=$?
equal "exit status of who waited" "$code" 0
grep -q "240 results: 240 PASS" "$WORK/wait.out" || fail "$(cat "$WORK/wait.out")"
one_result_each 240
until_true 20 spool_is_empty a
until_true 20 spool_is_empty b

# No database at the start: the coordinator waits for it and says so meanwhile.
submit "$WORK/small.json" --cases 'c1?' --kernels gemm_openblas --runtime host --no-measure
expect 0 "10 results: 10 PASS" wavefarm status "$RUN" --wait
coordinator=$(farm_pid coordinator)
kill -TERM "$coordinator"
code=0
wait "$coordinator" || code=$?
equal "exit status of the coordinator" "$code" 0
farm_db_stop || fail "the database does not stop"
farm_spawn coordinator wavefarm-coordinator serve --db "$(cat "$FARM/db.url")" \
    --listen "127.0.0.1:$(cat "$FARM/port")" --blobs "$FARM/blobs"
says_503() { expect 3 "503" wavefarm status; }
until_true 10 log_says coordinator "waiting for it"
says_503
database_starts || fail "the database does not start"
until_true 20 farm_answers
expect 0 "10 PASS" wavefarm status
