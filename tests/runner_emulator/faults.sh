#!/usr/bin/env bash
# Each fault of a kernel is its answer, says where it is, and leaves the next task alone.
#   faults.sh BIN PACK
# shellcheck source=tests/runner_emulator/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
here=$TESTS_ROOT/tests/runner_emulator

WAVEFARM_EMULATOR_BUDGET=200000 run_small --pack "$2" --no-measure
"$here/faults.py" "$WORK/result.json" "$here/faults.hip" || fail "answers"
validate_reports
exit 0
