#!/usr/bin/env bash
# wavefarm tune on the host: a family whose best member is known, equal members that must
# leave the incumbent, going on, replay, selection tables, and bad input.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
PATH=$1:$PATH
CC=${2:-cc}
export WAVEFARM_CACHE=$WORK/cache

mkdir -p "$WORK/pack"
"$CC" -O1 -shared -fPIC -fvisibility=hidden -I"$TESTS_ROOT" "$TESTS_ROOT/tests/cli/tune_kernels.c" \
    -o "$WORK/pack/k.so" || fail "cannot compile"
kernel() {
    echo "{\"name\":\"$1\",\"op\":\"gemm\",\"kind\":\"library\",\"arch\":[\"x86-64\"],\"library\":\"k.so\"${2:-}}"
}
echo "{\"schema\":\"wavefarm.pack/1\",\"name\":\"family\",\"kernels\":[$(kernel f_plain ',"knobs":{"PASSES":6}'),
    $(kernel f_fast),$(kernel f_wrong ',"supports":"M < 100"'),$(kernel e_one),$(kernel e_two)]}" >"$WORK/pack/pack.json.in"
expect 0 "" wavefarm pack build "$WORK/pack"
cat >"$WORK/suite.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "small", "description": "d",
 "defaults": {"op": "gemm", "a_type": "f32", "b_type": "f32", "d_type": "f32"},
 "cases": [{"name": "one", "M": 24, "N": 24, "K": 24}, {"name": "two", "M": 120, "N": 3, "K": 5}]}
END
tune=(wavefarm tune "$WORK/suite.json" --op gemm --device host --pack "$WORK/pack" --no-sentinels)
validate() {
    "$TESTS_ROOT/tests/support/validate_schema.py" "$TESTS_ROOT/docs/schemas/$1.schema.json" "$2" ||
        fail "$2 is not as its schema says"
}

# --- the best is found, the wrong one is out ---
expect 0 "answer MISMATCH" "${tune[@]}" --cases one --kernels 'f_*' --top 2 --out "$WORK/t.json"
equal "winner" "$(json "$WORK/t.json" '[c["candidates"][c["winner"]]["kernel"] for c in v["cases"]]')" "['f_fast']"
equal "basis" "$(json "$WORK/t.json" 'v["basis"]')" measured
equal "gates" "$(json "$WORK/t.json" '[(g["outcome"], g["alpha"]) for g in v["cases"][0]["gates"]]')" \
    "[('faster', 0.01)]"
equal "a knob" "$(json "$WORK/t.json" 'v["cases"][0]["candidates"][0]["knobs"]')" "{'PASSES': 6}"
validate tuning "$WORK/t.json"
expect 0 "fast" wavefarm tune show "$WORK/t.json"
expect 0 "decides as the table says" wavefarm tune replay "$WORK/t.json"

# --- nothing is done twice; another search is refused ---
before=$(stat -c %Y.%s "$WORK"/t.json.work/gates/*)
expect 0 "fast" "${tune[@]}" --cases one --kernels 'f_*' --top 2 --out "$WORK/t.json" --resume
equal "gates after going on" "$(stat -c %Y.%s "$WORK"/t.json.work/gates/*)" "$before"
expect 2 "is there already: --resume" "${tune[@]}" --cases one --kernels 'f_*' --top 2 --out "$WORK/t.json"
expect 2 "is of another search: its seed" "${tune[@]}" --cases one --kernels 'f_*' --top 2 --out "$WORK/t.json" \
    --seed 7 --resume

# --- what was changed by hand is found ---
sed 's/"winner": 1/"winner": 0/' "$WORK/t.json" >"$WORK/other.json"
expect 1 "another winner than the gates give" wavefarm tune replay "$WORK/other.json" --work "$WORK/t.json.work"
sed 's/"outcome": "faster"/"outcome": "not-faster"/' "$WORK/t.json" >"$WORK/other.json"
expect 1 "says something else than the table" wavefarm tune replay "$WORK/other.json" --work "$WORK/t.json.work"
sed 's/"winner"/"winer"/' "$WORK/t.json" >"$WORK/other.json"
expect 2 "winer" wavefarm tune show "$WORK/other.json"

# --- an equal one leaves the incumbent ---
expect 0 "e_one" "${tune[@]}" --cases one --kernels 'e_*' --margin 3 --out "$WORK/equal.json" --json
equal "what counts as better" "$(json "$WORK/equal.json" 'v["cases"][0]["gates"][0]["d0"], v["margin"]')" "(0.03, 0.03)"
equal "winner of equal ones" "$(json "$WORK/equal.json" 'v["cases"][0]["winner"], v["cases"][0]["gates"][0]["outcome"]')" \
    "(0, 'not-faster')"

# --- a selection table and a run by it ---
expect 0 "" wavefarm tune select "$WORK/t.json" --out "$WORK/s.json" --description "of a test"
validate selection "$WORK/s.json"
expect 0 "1 PASS" wavefarm run "$WORK/suite.json" --pack "$WORK/pack" --cases one --no-measure --select "$WORK/s.json"
[[ $OUTPUT == *f_fast* && $OUTPUT != *f_plain* ]] || fail "not the selected kernel: $OUTPUT"
expect 0 "1 PASS" wavefarm run "$WORK/suite.json" --pack "$WORK/pack" --cases two --no-measure --select "$WORK/s.json"
expect 4 "1 NOT_SUPPORTED" wavefarm run "$WORK/suite.json" --pack "$WORK/pack" --kernels e_one --cases two \
    --no-measure --select "$WORK/s.json" --out "$WORK/none.jsonl"
grep -q "none of the selection's" "$WORK/none.jsonl" || fail "no reason: $(cat "$WORK/none.jsonl")"
# A row that names a kernel which nobody has, or which does not do the case, is not passed over in silence.
sed 's/"f_fast"/"f_gone"/' "$WORK/s.json" >"$WORK/gone.json"
wavefarm run "$WORK/suite.json" --pack "$WORK/pack" --cases one --no-measure --select "$WORK/gone.json" \
    >/dev/null 2>"$WORK/gone.err" || true
grep -q "case one: the table's row one is passed over: f_gone: no pack has the kernel f_gone" "$WORK/gone.err" ||
    fail "no warning: $(cat "$WORK/gone.err")"
expect 2 "no built-in selection" wavefarm run "$WORK/suite.json" --pack "$WORK/pack" --select auto

# --- a budget, an interrupt, and going on ---
expect 4 "budget" "${tune[@]}" --work "$WORK/budget" --budget 1ms
env --default-signal=INT "${tune[@]}" --cases one --kernels "e_*" --work "$WORK/int" --top 1 >"$WORK/int.out" 2>&1 &
pid=$!
begun() {
    [ -e "$WORK/int/journal.jsonl" ] && [ "$(wc -l <"$WORK/int/journal.jsonl")" -ge 2 ]
}
until_true 30 begun
kill -INT "$pid"
code=0
wait "$pid" || code=$?
equal "exit status after an interrupt" "$code" 130
lines=$(wc -l <"$WORK/int/journal.jsonl")
expect 0 "e_one" "${tune[@]}" --cases one --kernels "e_*" --work "$WORK/int" --top 1 --resume --budget 1h
[ "$(wc -l <"$WORK/int/journal.jsonl")" -gt "$lines" ] || fail "it did not go on"
equal "nothing twice" "$(sed 1d "$WORK/int/journal.jsonl" | grep -o '"key":.*' | sort | uniq -d)" ""

# --- modelled: counters, no gates and no times; where this build has kernels for gfx942 ---
if [ -e "$1/../packs/wavefarm-gfx942/pack.json" ]; then
    cat >"$WORK/f16.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "f16", "description": "d",
 "cases": [{"name": "c", "op": "gemm", "trans_b": "T", "a_type": "f16", "M": 130, "N": 64, "K": 64}]}
END
    expect 0 "modelled" wavefarm tune "$WORK/f16.json" --op gemm --kernels 'gemm_f16_mfma_128x128_nt' --no-mca \
        --out "$WORK/m.json"
    validate tuning "$WORK/m.json"
    equal "what is known" "$(json "$WORK/m.json" 'v["basis"], v["cases"][0]["gates"], [("time_ns" in c,
        c["cycles"] > 8000, c["problem"]["workgroups"]) for c in v["cases"][0]["candidates"]]')" \
        "('modelled', [], [(False, True, [2])])"
    expect 0 "decides as the table says" wavefarm tune replay "$WORK/m.json"
    sed 's/"cycles": [0-9.]*/"cycles": 9999/' "$WORK/m.json" >"$WORK/other.json"
    expect 1 "not what its model gives" wavefarm tune replay "$WORK/other.json"
fi

# --- bad input ---
expect 2 "--op" wavefarm tune "$WORK/suite.json" --device host --out "$WORK/x.json"
expect 2 "--out TABLE" wavefarm tune "$WORK/suite.json" --op gemm
expect 2 "no case of op attention" wavefarm tune "$WORK/suite.json" --op attention --device host \
    --work "$WORK/bad1" --kernels '*'
echo '{"schema": "wavefarm.knob-space/1", "op": "gemm", "entry": "kernels/gemm/no.json"}' >"$WORK/space.json"
expect 2 "no.json" wavefarm tune "$WORK/suite.json" --op gemm --device host --space "$WORK/space.json" \
    --work "$WORK/bad2"
for space in "$TESTS_ROOT"/kernels/*/*.space.json; do
    validate knob-space "$space"
    [ "$(json "$space" 'v["op"]')" = gemm ] || continue
    # It fits its entry: what is there already is in the space.
    expect 4 "" wavefarm tune gemm-five --op gemm --cases '128x*' --device host --space "$space" --budget 1ms \
        --work "$WORK/$(basename "$space").work"
done
# What is shipped names kernels of this tree.
for table in "$TESTS_ROOT"/kernels/*/*.selection.json; do
    [ -e "$table" ] || continue
    validate selection "$table"
    equal "kernels of $table that no entry has" "$(python3 - "$table" "$TESTS_ROOT"/kernels/*/*.json <<'END'
import json, sys
have = set()
for path in sys.argv[2:]:
    v = json.load(open(path))
    if v["schema"].startswith("wavefarm.kernel-entry/"):
        have |= {x["name"] for x in v.get("variants", [v])}
print(sorted({k["name"] for k in json.load(open(sys.argv[1]))["kernels"]} - have))
END
)" "[]"
done
