#!/usr/bin/env bash
# SIGTERM: the running task is finished and handed over, the rest of the shard is given
# back unharmed, the worker exits 0 and leaves nothing in its spool.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
small_suite 5
gate_pack
touch "$WORK/gate/hold"
farm_up --retry-delay 100ms --poll-period 200ms
worker first --device host
first=$(farm_pid worker-first)
submit "$WORK/small.json" --pack "$WORK/gate-pack" --no-measure
until_true 30 has_started 1
kill -TERM "$first"
until_true 20 log_says worker-first draining
rm "$WORK/gate/hold"
code=0
wait "$first" || code=$?
equal "exit status of the worker" "$code" 0
equal "spool" "$(spool_entries first)" 0
equal "results so far" "$(farm_sql "SELECT count(*) FROM result WHERE run_id = $RUN")" 1
equal "what waits" "$(farm_sql "SELECT sum(open_tasks), sum(attempt_infra) FROM shard
    WHERE run_id = $RUN AND state = 'ready'")" "4|0"
equal "leases" "$(farm_sql "SELECT string_agg(outcome, ' ') FROM lease_log")" drained
equal "session" "$(farm_sql "SELECT state FROM session")" ended
worker second --device host
expect 0 "5 results: 5 PASS" wavefarm status "$RUN" --wait
one_result_each 5
equal "work of the first" "$(farm_sql "SELECT count(*) FROM result JOIN session s
    USING (session_id) WHERE run_id = $RUN AND s.name = 'first'")" 1

# A second SIGTERM stops at once: the task is given back.
touch "$WORK/gate/hold"
: >"$WORK/gate/started"
submit "$WORK/small.json" --cases c0 --pack "$WORK/gate-pack" --no-measure
until_true 30 has_started 1
second=$(farm_pid worker-second)
kill -TERM "$second"
until_true 20 log_says worker-second draining
kill -TERM "$second"
code=0
wait "$second" || code=$?
equal "exit status after two signals" "$code" 0
equal "task is open" "$(farm_sql "SELECT count(*) FROM task WHERE run_id = $RUN AND state = 'open'")" 1
rm "$WORK/gate/hold"
worker third --device host --idle-exit 1s
third=$(farm_pid worker-third)
expect 0 "1 results: 1 PASS" wavefarm status "$RUN" --wait
code=0
wait "$third" || code=$?
equal "exit status after idleness" "$code" 0
