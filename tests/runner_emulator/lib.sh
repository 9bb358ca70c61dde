# shellcheck shell=bash
# For the tests of this folder.
# shellcheck source=tests/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
PATH=$1:$PATH
for variable in $(compgen -v WAVEFARM_); do
    unset "$variable"
done
export WAVEFARM_CACHE=$WORK/cache
schemas=$TESTS_ROOT/docs/schemas
validate=$TESTS_ROOT/tests/support/validate_schema.py

cat >"$WORK/small.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "small", "description": "one small product",
 "defaults": {"op": "gemm", "a_type": "f32"},
 "cases": [{"name": "small", "M": 32, "N": 48, "K": 32}]}
END

# run_suite SUITE OPTIONS...: results of every answer in $WORK/result.json
run_suite() {
    local code=0
    wavefarm run "$1" --device emulator "${@:2}" --json >"$WORK/result.json" 2>"$WORK/err" ||
        code=$?
    [ "$code" -le 1 ] || fail "wavefarm run $*: exit status $code: $(cat "$WORK/err")"
    "$validate" --array "$schemas/result.schema.json" "$WORK/result.json" ||
        fail "the results are not as their schema says"
}
run_small() {
    run_suite "$WORK/small.json" "$@"
}

# of KERNEL EXPRESSION: of its first result r
of() {
    json "$WORK/result.json" "[($2) for r in v if r['task']['kernel'] == '$1'][0]"
}

validate_reports() {
    json "$WORK/result.json" \
        'json.dumps([l for r in v for l in r["details"]["emulation"]["launches"]])' >"$WORK/reports.json"
    "$validate" --array "$schemas/emulator-report.schema.json" "$WORK/reports.json" ||
        fail "the reports are not as their schema says"
}
