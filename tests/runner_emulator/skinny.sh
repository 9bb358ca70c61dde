#!/usr/bin/env bash
# The kernels of few rows: right at every edge, weights read once, and at least as many
# workgroups as compute units where k is long enough.
#   skinny.sh BIN PACK
# shellcheck source=tests/runner_emulator/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
suite=$TESTS_ROOT/tests/runner_emulator/skinny.json
pack=$2

# all_pass CASES KERNELS PAIRS: so many pairs of a case and a kernel are right, the others
# are not supported, and no bank of LDS is asked twice.
all_pass() {
    run_suite "$suite" --pack "$pack" --no-measure --cases "$1" --kernels "$2"
    equal "not right, pairs that are, LDS conflicts of $1, $2" "$(json "$WORK/result.json" \
        '([(r["task"]["kernel"], r["task"]["case_name"], r["answer"], r["answer_text"]) for r in v
          if r["answer"] not in ("PASS", "NOT_SUPPORTED")], sum(r["answer"] == "PASS" for r in v),
         sum(l["counters"]["lds_conflict_cycles"] for r in v if r["answer"] == "PASS"
             for l in r["details"]["emulation"]["launches"]))')" "([], $3, 0)"
}
all_pass 'f16-*' 'gemm_skinny_f16_*x32_nt' 10
all_pass f16-split 'gemm_skinny_f16_*_last' 2
all_pass f16-gate 'gemm_skinny_f16_16*_gate' 1
all_pass 'nn-*' 'gemm_skinny_f16_*_nn' 4
all_pass bf16-odd 'gemm_skinny_bf16_16x16_nt' 1
all_pass 'e4m3-*' 'gemm_skinny_e4m3*_16x32_nt' 2
all_pass e4m3-gate 'gemm_skinny_e4m3_16x16_nt_gate' 1
all_pass 'i8-odd' 'gemm_skinny_i8_16*' 1

# One token: 304 workgroups, and of global memory hardly more than there is to read.
all_pass decode 'gemm_skinny_f16_16x32_nt' 1
equal "launches, and whether it reads too much" "$(json "$WORK/result.json" \
    '(lambda launches: ([[l["kernel"], l["grid"]] for l in launches],
      1 <= sum(l["counters"]["global_read_bytes"] for l in launches) / v[0]["work"]["bytes"] < 1.05))(
      v[0]["details"]["emulation"]["launches"])')" \
    "([['wf_gemm_skinny', [76, 4, 1]], ['wf_gemm_skinny_sum', [3, 1, 1]]], True)"
exit 0
