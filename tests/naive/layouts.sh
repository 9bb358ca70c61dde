#!/usr/bin/env bash
# The naive kernels on every type, layout and option: as kernels under test they are right,
# and as the check they agree with the double reference far below any tolerance.
#   layouts.sh BIN PACK
# shellcheck source=tests/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
here=$TESTS_ROOT/tests/naive
PATH=$1:$PATH
export WAVEFARM_CACHE=$WORK/cache
unset WAVEFARM_REFERENCE_PACKS
mkdir -p "$WORK/cache/datasets"

"$here/layouts.py" "$WORK/cache/datasets" "$WORK/layouts.json" || fail "the suite"
wavefarm run "$WORK/layouts.json" --device emulator --pack "$2" --no-measure --no-checks \
    --no-counters --naive on --json >"$WORK/results.json" 2>"$WORK/err" ||
    fail "wavefarm run: $(cat "$WORK/err")"
expect 0 "" "$here/layouts.py" --check "$WORK/results.json"
"$TESTS_ROOT/tests/support/validate_schema.py" --array \
    "$TESTS_ROOT/docs/schemas/result.schema.json" "$WORK/results.json" ||
    fail "the results are not as their schema says"
exit 0
