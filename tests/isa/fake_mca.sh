#!/bin/sh
# Instead of llvm-mca; FAKE_MCA says what it does.
case ${1:-} in
--version)
    echo "  LLVM version 99.0.0"
    exit 0
    ;;
esac
case ${FAKE_MCA:-good} in
hang)
    # A grandchild that holds the output open: both must end at the time-out.
    sleep 1000 &
    wait
    ;;
garbage) printf 'Total Cycles: many\nResource pressure per iteration:\nx\ny\n' ;;
silent) ;;
fail)
    echo "<stdin>:1:1: error: invalid instruction" >&2
    exit 1
    ;;
crash) kill -SEGV $$ ;;
old) echo "'gfx942' is not a recognized processor for this target (ignoring processor)" >&2 ;;
flood)
    while :; do
        echo "Total Cycles:      1643"
    done
    ;;
good)
    cat >"${FAKE_MCA_INPUT:-/dev/null}"
    cat <<'REPORT'
Iterations:        20
Total Cycles:      3200

Resources:
[0]   - HWBranch
[1]   - HWXDL
[2]   - HWVALU

Resource pressure per iteration:
[0]    [1]    [2]
 -     64.00   -
REPORT
    ;;
esac
