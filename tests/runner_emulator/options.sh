#!/usr/bin/env bash
# What `wavefarm run` and `wavefarm show` offer for the emulator: the rounding of matrix
# instructions, no checks, no counters, tables of counters; and that its times are a model's.
#   options.sh BIN PACK GFX942-PACK
# shellcheck source=tests/runner_emulator/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
faults=$2
ours=$3

emulation() { # emulation KERNEL MEMBER...: of its first result
    of "$1" "[r['details']['emulation'].get(x) for x in '${*:2}'.split()]"
}
first_launch() { # first_launch KERNEL EXPRESSION of the launch l
    of "$1" "[($2) for l in r['details']['emulation']['launches']][0]"
}

# Without checks a race is nobody's business, but bounds are always kept.
WAVEFARM_EMULATOR_BUDGET=200000 run_small --pack "$faults" --no-measure --no-checks
equal "a race without checks" "$(of h_shared_element 'r["answer"] != "RACE"')" True
equal "bounds without checks" "$(of b_reads_behind 'r["answer"]')" OUT_OF_BOUNDS
equal "right without checks" "$(of a_right 'r["answer"]')" PASS
equal "recorded" "$(emulation a_right checks counters)" "[False, True]"
equal "in the report" "$(first_launch a_right 'l["options"]["checks"], l["counters"] is None')" \
    "(False, False)"

run_small --pack "$faults" --no-measure --no-counters --kernels 'h_*'
equal "a race without counters" "$(of h_shared_element 'r["answer"]')" RACE
equal "recorded" "$(emulation h_shared_element checks counters)" "[True, False]"
equal "in the report" "$(first_launch h_shared_element 'l["options"]["counters"], l["counters"]')" \
    "(False, None)"
validate_reports

# Neither: there is no cost to speak of.
run_small --pack "$faults" --no-measure --no-checks --no-counters --kernels 'a_*'
equal "neither" "$(emulation a_right checks counters host_ns_plain cost)" "[False, False, None, None]"

# Exact and fast: both right, other bits, and each says which it was.
cat >"$WORK/product.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "product", "description": "one product",
 "defaults": {"op": "gemm"}, "cases": [{"name": "a", "M": 128, "N": 128, "K": 512}]}
END
for mode in fast exact; do
    run_suite "$WORK/product.json" --pack "$ours" --no-measure --mfma $mode --repetitions 2 \
        --kernels gemm_f16_mfma_128x128_nn
    equal "$mode" "$(json "$WORK/result.json" '[(r["answer"], r["details"]["emulation"]["mfma"],
        r["details"]["emulation"]["launches"][0]["options"]["mfma"],
        r["details"]["bitwise_repeatable"]) for r in v]')" \
        "[('PASS', '$mode', '$mode', True), ('PASS', '$mode', '$mode', True)]"
    equal "$mode twice" \
        "$(json "$WORK/result.json" 'len({r["details"]["output_digest"] for r in v})')" 1
    json "$WORK/result.json" 'v[0]["details"]["output_digest"]' >>"$WORK/digests"
done
equal "digests of fast and exact" "$(sort -u "$WORK/digests" | wc -l)" 2

# Measured on the emulator: a model's time, in no column of measured ones, never OK.
run_suite "$WORK/product.json" --pack "$ours" --kernels gemm_f16_mfma_128x128_nn --budget 20ms
equal "time" "$(json "$WORK/result.json" '[(r["answer"], r["time"]) for r in v]')" \
    "[('PASS', 'MODELLED')]"

# Tables: of a run, and of its file later.
expect 0 "1 results: 1 PASS" wavefarm run "$WORK/product.json" --device emulator --pack "$ours" \
    --kernels gemm_f16_mfma_128x128_nn --no-measure --counters --out "$WORK/run.jsonl"
[[ $OUTPUT == *"counter (model)"*wf_gemm*unit* ]] || fail "no table: $OUTPUT"
[[ $OUTPUT == *"checks and counters cost "*" times"* ]] || fail "no cost: $OUTPUT"
table=$(sed -n '/^counter (model)/,/^$/p' <<<"$OUTPUT" | grep -E '^[a-z0-9_.]+ ')
for row in instructions.mfma mfma_flops global_lines lds_conflict_cycles cycles.at_least; do
    grep -qE "^ *$row +[0-9]+" <<<"$table" || fail "no row $row in: $table"
done
equal "operations" "$(awk '$1 == "mfma_flops" { print $2 }' <<<"$table")" $((2 * 128 * 128 * 512))
expect 0 "counter (model)" wavefarm show "$WORK/run.jsonl" --counters
[[ $OUTPUT == *"$table"* ]] || fail "another table than the run's: $OUTPUT"
expect 0 "1 PASS" wavefarm show "$WORK/run.jsonl"
[[ $OUTPUT != *"counter (model)"* ]] || fail "a table that nobody asked for: $OUTPUT"
expect 0 "" wavefarm show "$WORK/run.jsonl" --counters --json
[[ $OUTPUT != *"counter (model)"* ]] || fail "a table within JSON: $OUTPUT"

# Nonsense is refused with its name.
bad() { # bad TEXT OPTIONS...
    expect 2 "$1" wavefarm run "$WORK/small.json" --device emulator --pack "$faults" "${@:2}"
}
bad "mfma" --mfma rough
bad "mfma" --mfma ''
bad "no-checks" --no-checks=maybe
bad "unknown option --no-faults" --no-faults
expect 2 "" wavefarm run "$WORK/small.json" --device emulator:9 --pack "$faults"
for setting in MFMA=rough CHECKS=maybe COUNTERS=2 THREADS=0 BUDGET=-1 DEVICES=0; do
    OUTPUT=$(env "WAVEFARM_EMULATOR_$setting" wavefarm run "$WORK/small.json" --device emulator \
        --pack "$faults" --kernels 'a_*' --no-measure 2>&1) && fail "$setting was accepted: $OUTPUT"
    [[ $OUTPUT == *WAVEFARM_EMULATOR_* ]] || fail "$setting: not told which: $OUTPUT"
done
exit 0
