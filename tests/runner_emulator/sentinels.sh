#!/usr/bin/env bash
# A gate's sentinels on the emulator and on the host: right to the bit, and the slower form
# does 3 % more of what bounds it, by the counters (+- 0.3 %).
#   sentinels.sh BIN GFX942-PACK HOST-PACK
# shellcheck source=tests/runner_emulator/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
suite=$TESTS_ROOT/datasets/suites/sentinels-small.json
all="['sentinel_alu', 'sentinel_alu_103', 'sentinel_hbm', 'sentinel_hbm_103', 'sentinel_lds', 'sentinel_lds_103']"
run_suite "$suite" --pack "$2" --no-measure
equal "right on the emulator" \
    "$(json "$WORK/result.json" "sorted(r['task']['kernel'] for r in v if r['answer'] == 'PASS')")" "$all"

# more KERNEL COUNTER: how much more of it the slower form has, in thousandths
more() {
    json "$WORK/result.json" "(lambda c: round(1000 * c['sentinel_$1_103']['$2'] / c['sentinel_$1']['$2'] - 1000))(
        {r['task']['kernel']: r['details']['emulation']['launches'][0]['counters'] for r in v if r['answer'] == 'PASS'})"
}
for bound in "alu valu_cycles" "hbm global_read_bytes" "lds lds_cycles"; do
    # shellcheck disable=SC2086 # two words
    n=$(more $bound)
    { [ "$n" -ge 27 ] && [ "$n" -le 33 ]; } || fail "$bound: $n thousandths more, not 27 to 33"
done

wavefarm run "$suite" --device host:0 --pack "$3" --no-measure --json >"$WORK/result.json" 2>"$WORK/err" ||
    fail "host: $(cat "$WORK/err")"
equal "right on the host" \
    "$(json "$WORK/result.json" "sorted(r['task']['kernel'] for r in v if r['answer'] == 'PASS')")" "$all"
