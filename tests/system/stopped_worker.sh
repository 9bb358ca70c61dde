#!/usr/bin/env bash
# A worker frozen beyond its lease: another one does the task; when it thaws, what it has
# is refused and it works on as a new session.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
small_suite 1
gate_pack
touch "$WORK/gate/hold"
farm_up --session-ttl 2s --heartbeat 300ms --reap-period 100ms --retry-delay 100ms \
    --poll-period 200ms
worker frozen --device host
submit "$WORK/small.json" --pack "$WORK/gate-pack" --no-measure
first=$RUN
until_true 30 has_started 1
frozen=$(farm_pid worker-frozen)
kill -STOP "$frozen"
worker other --device host
until_true 30 has_started 2
rm "$WORK/gate/hold" # both launches end; only one of them has a lease
expect 0 "1 results: 1 PASS" wavefarm status "$RUN" --wait
equal "who did it" "$(farm_sql "SELECT s.name FROM result JOIN session s USING (session_id)
    WHERE run_id = $RUN")" other

kill -CONT "$frozen"
sessions_of_frozen() {
    [ "$(farm_sql "SELECT count(*) FROM session WHERE name = 'frozen'")" -ge 2 ]
}
until_true 30 sessions_of_frozen
until_true 20 spool_is_empty frozen
farm_end worker-other 10
submit "$WORK/small.json" --pack "$WORK/gate-pack" --no-measure
expect 0 "1 results: 1 PASS" wavefarm status "$RUN" --wait
equal "who did the second run" "$(farm_sql "SELECT s.name FROM result
    JOIN session s USING (session_id) WHERE run_id = $RUN")" frozen
equal "same process" "$(farm_pid worker-frozen)" "$frozen"
RUN=$first one_result_each 1
