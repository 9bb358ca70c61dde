#!/usr/bin/env bash
# A farm with one emulated MI300: answers of gfx942 kernels, the options of a run as they
# come to the emulator, and what its results keep of it.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
library=$WF_BIN/../lib/libwavefarm_emulator.so
[ -e "$library" ] || skip "no emulator in this build"
grep -qE '__(asan|tsan)_init' "$library" && skip "not with a sanitizer: too slow"

cat >"$WORK/products.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "products", "description": "two products",
 "defaults": {"op": "gemm", "trans_b": "T"},
 "cases": [{"name": "whole", "M": 128, "N": 128, "K": 64}, {"name": "edges", "M": 136, "N": 72, "K": 328}]}
END
farm_up --shard-tasks 4
farm_emulated mi300 1 || fail "no emulated worker"
logs+=("$FARM/log/worker-mi300.log")
until_true 30 farm_has_runners 1
expect 0 "emulator:" wavefarm runners
[[ $OUTPUT == *MI300X* ]] || fail "no MI300X in: $OUTPUT"

emulations() { # emulations EXPRESSION of each result's e
    json "$WORK/show.json" "sorted({$1 for e in (r['details']['emulation'] for r in v)})"
}
# In one launch and in two, on a device that the farm picks by itself.
submit "$WORK/products.json" --runtime emulator --kernels 'gemm_f16_mfma_64x64_*nt' --budget 20ms
expect 0 "4 PASS; time: 4 MODELLED" wavefarm status "$RUN" --wait
expect 0 "4 results: 4 PASS; time: 4 MODELLED" wavefarm show "$RUN" --counters
equal "tables" "$(grep -c '^counter (model)' <<<"$OUTPUT")" 4
wavefarm show "$RUN" --json >"$WORK/show.json" || fail "show --json"
"$TESTS_ROOT/tests/support/validate_schema.py" --array "$TESTS_ROOT/docs/schemas/result.schema.json" \
    "$WORK/show.json" || fail "not as the schema says"
equal "options" "$(emulations '(e["mfma"], e["checks"], e["counters"])')" "[('fast', True, True)]"
equal "launches" "$(emulations 'len(e["launches"])')" "[1, 2]"
equal "counted" "$(emulations 'all(l["counters"]["mfma_flops"] > 0 or l["kernel"].endswith("_sum")
    for l in e["launches"])')" "[True]"

submit "$WORK/products.json" --runtime emulator --kernels gemm_f16_mfma_128x128_nt --no-measure \
    --mfma exact --no-counters
expect 0 "2 PASS" wavefarm status "$RUN" --wait
wavefarm show "$RUN" --json >"$WORK/show.json" || fail "show --json"
equal "options" "$(emulations '(e["mfma"], e["checks"], e["counters"])')" "[('exact', True, False)]"
equal "as launched" "$(emulations '(e["launches"][0]["options"]["mfma"], e["launches"][0]["counters"])')" \
    "[('exact', None)]"
submit "$WORK/products.json" --runtime emulator --kernels gemm_f16_mfma_128x128_nt --cases whole --no-measure \
    --no-checks
expect 0 "1 PASS" wavefarm status "$RUN" --wait
wavefarm show "$RUN" --json >"$WORK/show.json" || fail "show --json"
equal "options" "$(emulations '(e["mfma"], e["checks"], e["counters"])')" "[('fast', False, True)]"

expect 2 "mfma" wavefarm submit "$WORK/products.json" --runtime emulator --mfma rough
exit 0
