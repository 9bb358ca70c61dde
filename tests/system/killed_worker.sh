#!/usr/bin/env bash
# A worker killed in the middle of a task: its children go with it, the task runs again
# elsewhere, one result is stored.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
small_suite 1
gate_pack
touch "$WORK/gate/hold"
farm_up --session-ttl 2s --heartbeat 300ms --reap-period 100ms --retry-delay 100ms \
    --poll-period 200ms
worker first --device host
submit "$WORK/small.json" --pack "$WORK/gate-pack" --no-measure
until_true 30 has_started 1
subject=$(head -n 1 "$WORK/gate/started")
kill -KILL "$(farm_pid worker-first)"
until_true 10 farm_is_gone worker-first
subject_is_gone() { ! kill -0 "$subject" 2>/dev/null; }
until_true 10 subject_is_gone
worker second --device host
until_true 30 has_started 2
rm "$WORK/gate/hold"
expect 0 "1 results: 1 PASS" wavefarm status "$RUN" --wait
one_result_each 1
equal "who did it" "$(farm_sql "SELECT s.name FROM result JOIN session s USING (session_id)
    WHERE run_id = $RUN")" second
equal "attempt" "$(farm_sql "SELECT attempt FROM result WHERE run_id = $RUN")" 2
equal "attempt_infra" "$(farm_sql "SELECT attempt_infra FROM shard WHERE run_id = $RUN")" 1
equal "leases" "$(farm_sql "SELECT string_agg(outcome, ' ' ORDER BY lease_id) FROM lease_log")" \
    "session-lost done"

# Killed after the result is on the disk and before it is sent: another worker of that
# spool hands it over, or the task runs again; either way there is one result.
touch "$WORK/gate/hold"
: >"$WORK/gate/started"
submit "$WORK/small.json" --pack "$WORK/gate-pack" --no-measure
until_true 30 has_started 1
kill -KILL "$(farm_pid coordinator)"
rm "$WORK/gate/hold"
has_spooled() { ! spool_is_empty second; }
until_true 30 has_spooled
kill -KILL "$(farm_pid worker-second)"
until_true 10 farm_is_gone worker-second
farm_coordinator_start || fail "the coordinator does not start again"
worker second --device host
expect 0 "1 results: 1 PASS" wavefarm status "$RUN" --wait
until_true 20 spool_is_empty second
one_result_each 1
