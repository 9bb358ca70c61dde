#!/usr/bin/env bash
# The grouped kernels: right whatever the groups are, in a grid that depends on their
# number and on all their rows only.
#   grouped.sh BIN PACK
# shellcheck source=tests/runner_emulator/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
suite=$TESTS_ROOT/tests/runner_emulator/grouped.json
pack=$2

# all_pass CASES KERNELS PAIRS: so many pairs of a case and a kernel are right, the others
# are not supported.
all_pass() {
    run_suite "$suite" --pack "$pack" --no-measure --cases "$1" --kernels "$2"
    equal "not right, and pairs that are, of $1, $2" "$(json "$WORK/result.json" \
        '([(r["task"]["kernel"], r["task"]["case_name"], r["answer"], r["answer_text"]) for r in v
          if r["answer"] not in ("PASS", "NOT_SUPPORTED")], sum(r["answer"] == "PASS" for r in v))')" "([], $3)"
}
all_pass 'bf16-*' 'grouped_bf16_mfma_*_nt' 16
all_pass bf16-gate 'grouped_bf16_mfma_*_gate' 2
all_pass f16-nn 'grouped_f16_mfma_*_nn' 1
all_pass e4m3-rows 'grouped_e4m3_mfma_*_nt' 4
all_pass e4m3-gate 'grouped_e4m3_mfma_*_gate' 2
all_pass e4m3-block 'grouped_e4m3_mfma_block_*_nt' 4
all_pass e4m3-block-gate 'grouped_e4m3_mfma_block_*_gate' 3
all_pass i8-odd 'grouped_i8_mfma_*' 1

# A row of workgroups for each row of tiles that there may be: two of 64 rows in 76, and
# one more a group.
all_pass bf16-many grouped_bf16_mfma_64x64_nt 1
equal "grids" "$(json "$WORK/result.json" \
    '[l["grid"] for r in v for l in r["details"]["emulation"]["launches"]]')" "[[132, 1, 1]]"
exit 0
