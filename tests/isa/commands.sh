#!/usr/bin/env bash
# wavefarm isa and wavefarm gate static: text, JSON by its schema, comparisons, exit codes.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
bin=$1 object=$2 export_mca=$3
PATH=$bin:$PATH
export WAVEFARM_LLVM_MCA=$export_mca
schema=$TESTS_ROOT/docs/schemas/isa-report.schema.json
validate() {
    python3 "$TESTS_ROOT/tests/support/validate_schema.py" "$@" || fail "not by its schema"
}

# Text: what is notable is marked.
expect 0 "llvm-mca as is 40.0 % of matrix peak" wavefarm isa --kernel eight "$object"
expect 0 "! spills     12 vgprs, 3 sgprs; scratch 64 bytes" wavefarm isa --kernel spilled --no-mca "$object"
expect 0 "! jumps" wavefarm isa --kernel indirect --no-mca "$object"
expect 0 "entered in several places" wavefarm isa --kernel irreducible --no-mca --loops "$object"
expect 0 "not known: llvm-mca was not asked" wavefarm isa --kernel eight --no-mca "$object"
FAKE_MCA=hang expect 0 "did not end within its time" \
    wavefarm isa --kernel eight --mca-time 200ms "$object"

# JSON, with and without llvm-mca.
wavefarm isa --json "$object" >"$WORK/reports.json" || fail "no JSON"
validate "$schema" "$WORK/reports.json"
wavefarm isa --json --no-mca --loops "$object" "$object" >"$WORK/reports.json" || fail "no JSON"
validate "$schema" "$WORK/reports.json"

# What cannot be read does not hide the others, but is told.
echo nonsense >"$WORK/bad.co"
expect 2 "bad.co: " wavefarm isa --no-mca "$WORK/bad.co" "$object"
[[ $OUTPUT == *eight* ]] || fail "the good file is not shown"
expect 2 "no kernel's name matches nobody" wavefarm isa --no-mca --kernel nobody "$object"
expect 2 "/nowhere.co" wavefarm isa /nowhere.co
expect 2 "takes two files" wavefarm isa --compare "$object"

# Side by side: the same has nothing to show; other code has.
sed 's/v_add_f32_e32 v5, v2, v3/v_exp_f32_e32 v5, v2/; s/\.vgpr_spill_count: 12/.vgpr_spill_count: 0/' \
    "$(dirname "$0")/kernels.s" >"$WORK/other.s"
clang=$(command -v clang-19 || command -v clang-22) || skip "no clang"
"$clang" -target amdgcn-amd-amdhsa -mcpu=gfx942 "$WORK/other.s" -o "$WORK/other.co" ||
    fail "clang"
expect 0 "" wavefarm isa --no-mca --compare "$object" "$object"
[[ $OUTPUT != *worse* && $OUTPUT != *better* ]] || fail "equal files differ: $OUTPUT"
expect 0 "differs" wavefarm isa --no-mca --compare --kernel vector "$object" "$WORK/other.co"
[[ $OUTPUT =~ hot_valu_passes\ +11\ +14\ +\+3\ +differs ]] || fail "passes: $OUTPUT"
expect 0 "better" wavefarm isa --no-mca --compare --kernel spilled "$object" "$WORK/other.co"
wavefarm isa --no-mca --compare --json "$object" "$WORK/other.co" >"$WORK/compare.json" ||
    fail "no JSON"
validate "$TESTS_ROOT/docs/schemas/isa-compare.schema.json" "$WORK/compare.json"

# Knobs beside figures: a logic file, a pack, groups, columns, formats, and what is wrong.
logic=$(dirname "$0")/logic.yaml
expect 0 "256  128" wavefarm isa --knobs "$logic"
[[ $OUTPUT == *"selected_sizes"*"600.25"* ]] || fail "ratings: $OUTPUT"
expect 0 "same in all:" wavefarm isa --knobs "$logic"
expect 0 "MT0  PGR  mca" wavefarm isa --knobs --show MT0,PGR,mca "$logic"
wavefarm isa --knobs --by DU "$logic" >"$WORK/by.txt" || fail "--by"
grep -Eq '^64 +1 +2 +600\.25$' "$WORK/by.txt" || fail "groups: $(cat "$WORK/by.txt")"
wavefarm isa --knobs --csv "$logic" >"$WORK/knobs.csv" || fail "--csv"
[ "$(wc -l <"$WORK/knobs.csv")" = 3 ] || fail "lines: $(cat "$WORK/knobs.csv")"
for by in "" "--by PGR"; do
    # shellcheck disable=SC2086
    wavefarm isa --knobs --json $by "$logic" >"$WORK/knobs.json" || fail "no JSON"
    validate "$TESTS_ROOT/docs/schemas/isa-knobs.schema.json" "$WORK/knobs.json"
done
cp "$object" "$WORK/bf16gemm_fp32bf16_tn_128x64_strange.co"
expect 0 "words that no table knows: " wavefarm isa --no-mca --knobs "$WORK"/bf16gemm*.co
[[ $OUTPUT == *"Tile=128x64"* ]] || fail "the file's name: $OUTPUT"
expect 0 "kernels whose name tells no knobs: " wavefarm isa --no-mca --knobs "$object"
expect 2 "none of these kernels has a knob NOPE, nor is it a figure; knobs here: LDSB DU" wavefarm isa --knobs --by NOPE "$logic"
expect 2 "none of these kernels has a knob NOPE" wavefarm isa --knobs --by NOPE --json "$logic"
expect 2 "give the pack's folder" wavefarm isa --no-mca --knobs --show BLOCK_K "$object"
expect 2 "PGR is a knob" wavefarm isa --knobs --by DU --show PGR "$logic"
expect 2 "belongs to --knobs" wavefarm isa --by DU "$object"
expect 2 "exclude each other" wavefarm isa --knobs --compare "$object" "$object"
echo "a: b" >"$WORK/none.yaml"
expect 2 "no solutions" wavefarm isa --knobs "$WORK/none.yaml" "$logic"
[[ $OUTPUT == *"256  128"* ]] || fail "the good file is not shown"

# The static gate of two packs.
pack() { # FOLDER OBJECT KERNEL
    mkdir -p "$1"
    cp "$2" "$1/code.co"
    cat >"$1/pack.json.in" <<JSON
{"schema": "wavefarm.pack/1", "name": "isa-test", "kernels": [{
  "name": "k", "op": "gemm", "kind": "code-object", "arch": ["gfx942"],
  "supports": "1", "deterministic": true, "code": {"main": "code.co"},
  "launches": [{"symbol": "$3", "code": "main", "grid": ["1", "1", "1"],
                "block": ["64", "1", "1"], "args": []}]}]}
JSON
    wavefarm pack build "$1" >/dev/null || fail "pack $1"
}
pack "$WORK/a" "$object" spilled
expect 0 "kernels whose name tells no knobs: 1" wavefarm isa --no-mca --knobs "$WORK/a"
pack "$WORK/b" "$WORK/other.co" spilled
expect 0 "1 better" wavefarm gate static --no-mca --base "$WORK/a" --cand "$WORK/b"
expect 1 "red: k  vgpr_spills 0 -> 12 (limit 0)" \
    wavefarm gate static --no-mca --base "$WORK/b" --cand "$WORK/a"
expect 0 "0 worse, 0 better, 0 unknown; not red" \
    wavefarm gate static --base "$WORK/a" --cand "$WORK/a"
echo '{"schema": "wavefarm.gate-policy/1", "static": {"rules":
    [{"figure": "vgpr_spills", "kernel": "k", "most_increase": 12}]}}' >"$WORK/policy.json"
expect 0 "not red" wavefarm gate static --no-mca --base "$WORK/b" --cand "$WORK/a" \
    --policy "$WORK/policy.json"
echo '{"schema": "wavefarm.gate-policy/1", "static": {"rules": [{}]}}' >"$WORK/policy.json"
expect 2 "static.rules[0]" wavefarm gate static --no-mca --base "$WORK/b" --cand "$WORK/a" \
    --policy "$WORK/policy.json"
expect 2 "give two packs" wavefarm gate static --base "$WORK/a"
expect 3 "nothing was compared" wavefarm gate static --no-mca --base "$WORK/a" \
    --cand "$WORK/b" --kernels 'other*'
wavefarm gate static --json --no-mca --base "$WORK/b" --cand "$WORK/a" >"$WORK/one.json"
wavefarm gate static --json --no-mca --base "$WORK/b" --cand "$WORK/a" >"$WORK/two.json"
cmp -s "$WORK/one.json" "$WORK/two.json" || fail "two runs give different lines"
expect 0 "== $WORK/a/code.co" wavefarm isa --no-mca "$WORK/a"

# Code that cannot be read does not end the comparison: one entry says why.
cp -r "$WORK/b" "$WORK/c"
python3 - "$WORK/c/code.co" <<'PY'
import sys
path = sys.argv[1]
data = bytearray(open(path, "rb").read())
data[48:50] = (0x34c).to_bytes(2, "little")  # xnack+
open(path, "wb").write(data)
PY
rm -f "$WORK/c/pack.json"
wavefarm pack build "$WORK/c" >/dev/null || fail "pack c"
expect 3 "compiled for xnack+" wavefarm gate static --no-mca --base "$WORK/b" --cand "$WORK/c"
[[ $OUTPUT == *"unknown: k  * ? -> ?"* ]] || fail "no entry: $OUTPUT"
