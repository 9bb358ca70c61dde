#!/usr/bin/env bash
# Shapes of the field reports through our own kernels: right, or refused with the reason.
#   kernels.sh host|emulator BIN PACK
# shellcheck source=tests/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
PATH=$2:$PATH
for variable in $(compgen -v WAVEFARM_); do
    unset "$variable"
done
export WAVEFARM_CACHE=$WORK/cache
here=$TESTS_ROOT/tests/field_reports
code=0
cases='*'
[ "$1" = emulator ] || cases='a*' # 65536 calls of a BLAS prove nothing that one does not
wavefarm run "$here/kernels.json" --device "$1" --cases "$cases" --pack "$3" --no-measure --json \
    >"$WORK/result.json" 2>"$WORK/err" || code=$?
[ "$code" -le 1 ] || fail "wavefarm run: exit status $code: $(cat "$WORK/err")"
"$here/kernels.py" "$1" "$WORK/result.json" || fail "see above"
exit 0
