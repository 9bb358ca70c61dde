#!/usr/bin/env bash
# Our gfx942 kernels on small shapes of every layout: right, and nothing for the checks to
# report.
#   kernels.sh BIN PACK
# shellcheck source=tests/runner_emulator/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
suite=$TESTS_ROOT/tests/runner_emulator/kernels.json

run_suite "$suite" --pack "$2" --no-measure --kernels '*_f16_mfma*' # few rows: skinny.sh
equal "answers besides PASS and NOT_SUPPORTED" "$(json "$WORK/result.json" \
    '[(r["task"]["kernel"], r["answer"], r["answer_text"]) for r in v
      if r["answer"] not in ("PASS", "NOT_SUPPORTED")]')" "[]"
equal "kernels that pass" "$(json "$WORK/result.json" \
    'len({r["task"]["kernel"] for r in v if r["answer"] == "PASS"})')" 21
equal "cases that pass" "$(json "$WORK/result.json" \
    'len({r["task"]["case_name"] for r in v if r["answer"] == "PASS"})')" 17
equal "symbols" "$(json "$WORK/result.json" 'sorted({l["kernel"] for r in v if r["answer"] == "PASS"
    for l in r["details"]["emulation"]["launches"]})')" \
    "['wf_gemm', 'wf_gemm_sum', 'wf_paged_decode_combine', 'wf_paged_decode_f16']"
equal "reports with a fault" "$(json "$WORK/result.json" 'sum(l["fault"] is not None for r in v
    if r["answer"] == "PASS" for l in r["details"]["emulation"]["launches"])')" 0
# A kernel in two launches has two reports, in their order.
equal "launches of split K" "$(json "$WORK/result.json" 'sorted({tuple(l["kernel"][7:] for l in
    r["details"]["emulation"]["launches"]) for r in v if r["task"]["kernel"].endswith("split_nt")
    and r["answer"] == "PASS"})')" "[('', '_sum')]"
# The work that was counted is at least the work that there is.
equal "operations" "$(json "$WORK/result.json" 'all(sum(l["counters"]["mfma_flops"] for l in
    r["details"]["emulation"]["launches"]) >= r["work"]["flops"] > 0 for r in v
    if r["answer"] == "PASS" and r["task"]["op"] == "gemm")')" True
json "$WORK/result.json" \
    'json.dumps([r for r in v if r["answer"] == "PASS"])' >"$WORK/pass.json"
mv "$WORK/pass.json" "$WORK/result.json"
validate_reports

# Exact products are right too.
run_suite "$suite" --pack "$2" --no-measure --mfma exact --cases '*-edges' --kernels 'gemm_f16_mfma_128x128_??'
equal "exact" "$(json "$WORK/result.json" \
    '{(r["answer"], r["details"]["emulation"]["mfma"], r["details"]["emulation"]["launches"][0]["options"]["mfma"])
      for r in v if r["answer"] != "NOT_SUPPORTED"}')" "{('PASS', 'exact', 'exact')}"

# One row or column of bytes with neighbours in m or n: a dword of the last k passes the
# end of the operand by up to three bytes, which must not be read.
cat >"$WORK/narrow.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "narrow", "description": "leading dimensions below a dword",
 "defaults": {"op": "gemm", "trans_b": "N"},
 "cases": [
  {"name": "i8-1", "a_type": "i8", "trans_a": "T", "M": 1, "N": 1, "K": 129},
  {"name": "i8-2", "a_type": "i8", "trans_a": "T", "M": 1, "N": 2, "K": 130, "lda": 2, "ldb": 2},
  {"name": "e4m3-1", "a_type": "e4m3fnuz", "M": 2, "N": 1, "K": 257},
  {"name": "e4m3-2", "a_type": "e4m3fnuz", "M": 2, "N": 1, "K": 129, "ldb": 2}]}
END
for kernels in 'i8-* gemm_i8_*_tn 4' 'e4m3-* gemm_e4m3_mfma_???x???_nn 4'; do
    read -r cases names pairs <<<"$kernels"
    run_suite "$WORK/narrow.json" --pack "$2" --no-measure --cases "$cases" --kernels "$names"
    equal "not right, pairs that are, of $cases" "$(json "$WORK/result.json" \
        '([(r["task"]["kernel"], r["task"]["case_name"], r["answer"], r["answer_text"]) for r in v
          if r["answer"] != "PASS"], sum(r["answer"] == "PASS" for r in v))')" "([], $pairs)"
done
exit 0
