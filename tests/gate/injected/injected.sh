#!/usr/bin/env bash
# The host's injected packs: right answers from code that counts as changed, and 3 % more
# work that takes more time than the launch inside it; the table's own arithmetic.
#   injected.sh BIN PACKS TEST-PACKS
# shellcheck source=tests/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../support/shell.sh"
PATH=$1:$PATH
export WAVEFARM_CACHE=$WORK/cache
here=$TESTS_ROOT/tests/gate/injected
cat >"$WORK/small.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "small", "description": "one small product",
 "defaults": {"op": "gemm", "a_type": "f32"}, "cases": [{"name": "small", "M": 32, "N": 48, "K": 32}]}
END
gate() {
    wavefarm gate --base "$1" --cand "$2" --suite "$WORK/small.json" --device host:0 \
        --answers-only --all --json >"$WORK/report.json" 2>"$WORK/err" || fail "gate $2: $(cat "$WORK/err")"
}
for percent in 0 3; do
    gate "$2/wavefarm-host" "$3/injected-host-$percent"
    ! grep -q '"UNCHANGED"' "$WORK/report.json" || fail "injected-host-$percent counts as equal code"
    grep -q 'answer right' "$WORK/report.json" || fail "injected-host-$percent has no kernel of the base"
done
gate "$2/wavefarm-host" "$2/wavefarm-host"
grep -q '"UNCHANGED"' "$WORK/report.json" || fail "equal code does not count as equal"

# The device sources still have the places where the work goes in.
cmake -DROOT="$TESTS_ROOT" -DTREE="$WORK/tree" -DPERCENT=3 -P "$here/inject.cmake" 2>"$WORK/err" ||
    fail "$(cat "$WORK/err")"
[ "$(grep -l injected_ "$WORK"/tree/kernels/*/*_m*ma.hip | wc -l)" = 4 ] || fail "not all four sources are changed"

# The table: equal work not red, 3 % more red; then one of them the other way round.
record() { # PERCENT RED CODE
    printf '%s\n' '{"kind":"header","pairs":[{"key":"c/k","role":"case"}]}' \
        '{"kind":"pair","pair":"c/k","blocks":[{"mask":5,"y":[1.02,1,1.02,1],"rejected":""}]}' \
        "{\"kind\":\"verdict\",\"red\":$2,\"pairs\":[{\"key\":\"c/k\",\"verdict\":\"PASS\",\"blocks\":1,\"effect\":0.02}]}" \
        >"$WORK/t/$1-1.jsonl"
    echo "$3 1.5" >"$WORK/t/$1-1.status"
}
mkdir "$WORK/t"
record 0 false 0
record 3 true 1
"$here/gate_table.py" "$WORK/t" 1 >"$WORK/table" || fail "the table refuses good gates: $(cat "$WORK/table")"
grep -q "1 of 1 not red; 3 % more: 1 of 1 red" "$WORK/table" || fail "$(cat "$WORK/table")"
for wrong in "0 true 1" "3 false 0" "0 false 3" "3 false 3"; do
    # shellcheck disable=SC2086 # three words
    record $wrong
    ! "$here/gate_table.py" "$WORK/t" 1 >/dev/null || fail "the table takes $wrong"
    record 0 false 0
    record 3 true 1
done
