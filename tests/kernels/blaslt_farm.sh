#!/usr/bin/env bash
# The hipBLASLt pack through the judge: the op's own parameters and tensors reach the
# library (a stub that computes), answers are checked, the choice is in the result, and
# without a library every case says so.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
bin=$1 pack=$2 stub=$3
PATH=$bin:$PATH
cat >"$WORK/suite.json" <<'JSON'
{"schema": "wavefarm.suite/1", "name": "blaslt", "description": "a case an epilogue",
 "defaults": {"op": "gemm", "M": 33, "N": 48, "K": 64, "trans_b": "T", "a_type": "f16"},
 "cases": [
  {"name": "bias", "bias": "n", "bias_type": "f32"},
  {"name": "silu", "a_type": "bf16", "bias": "n", "activation": "silu"},
  {"name": "row", "a_type": "e4m3fnuz", "d_type": "bf16", "scale": "row"},
  {"name": "batch", "batch": 3, "trans_a": "T", "trans_b": "N", "alpha": 1.5, "beta": 0.5},
  {"name": "i8", "a_type": "i8"},
  {"name": "gate", "activation": "silu_gate"},
  {"name": "block", "a_type": "e4m3fnuz", "d_type": "bf16", "scale": "block128"}]}
JSON
farm() {
    wavefarm run "$WORK/suite.json" --device emulator --pack "$pack" --kernels hipblaslt_gemm \
        --no-measure --launches 2 --out "$1"
}
WAVEFARM_LIBHIPBLASLT=$stub expect 0 "7 results: 5 PASS, 2 NOT_SUPPORTED" farm "$WORK/there.jsonl"
grep -q '"library_choice":"hipBLASLt 1.0.0: solution index 700, workspace 4096 bytes"' \
    "$WORK/there.jsonl" || fail "the choice is not in the results"
expect 0 "no epilogue for a gated activation" wavefarm show --all "$WORK/there.jsonl"
WAVEFARM_LIBHIPBLASLT=/nowhere/lib.so expect 4 "7 results: 7 NOT_SUPPORTED" farm "$WORK/none.jsonl"
expect 4 "/nowhere/lib.so" wavefarm show --all "$WORK/none.jsonl"
