#!/usr/bin/env bash
# The spool's disk is full when a task ends: the worker holds the result and takes no
# new work; with room again it is delivered. Nothing is lost, nothing runs twice.
# shellcheck source=tests/support/shell.sh
if [ -z "${WF_TEST_INSIDE:-}" ]; then # a mount namespace of its own for the small disk
    if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
        echo "skipped: needs root and mount namespaces"
        exit 77
    fi
    WF_TEST_INSIDE=1 exec unshare -m "$0" "$@"
fi
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
small_suite 3
gate_pack
touch "$WORK/gate/hold"
farm_up --poll-period 200ms
spool=$FARM/workers/small/spool
mkdir -p "$spool"
mount -t tmpfs -o size=256k tmpfs "$spool" || skip "no tmpfs"
at_exit umount -l "$spool"
worker small --device host
submit "$WORK/small.json" --pack "$WORK/gate-pack" --no-measure
until_true 30 has_started 1
head -c 1M /dev/zero >"$spool/filler" 2>/dev/null
rm "$WORK/gate/hold"
until_true 30 log_says worker-small "holding the result"
equal "results with a full disk" "$(farm_sql "SELECT count(*) FROM result")" 0
starts=$(wc -l <"$WORK/gate/started")
rm "$spool/filler"
expect 0 "3 results: 3 PASS" wavefarm status "$RUN" --wait
one_result_each 3
equal "attempts" "$(farm_sql "SELECT max(attempt) FROM result")" 1
[ "$(wc -l <"$WORK/gate/started")" -gt "$starts" ] || fail "the other tasks did not run"
until_true 20 spool_is_empty small
