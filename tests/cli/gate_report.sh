#!/usr/bin/env bash
# What is said about a gate: from records of made-up noise (tests/support/
# gate_record_maker.c), so that every verdict of time is there and nothing depends on the
# machine.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
PATH=$1:$PATH
maker=$2
schema=$TESTS_ROOT/docs/schemas/gate-report.schema.json
validate=$TESTS_ROOT/tests/support/validate_schema.py
record=$WORK/record.jsonl

# record_of ARGUMENT...: a record that reads back and replays to the same bits.
record_of() {
    "$maker" "$@" >"$record" || fail "no record: $*"
}
all=(a/k=0.03 b/k=0 c/k=wrong d/k=-0.04 e/k=new f/k=removed g/k=unchanged h/k=unsupported
    i/k=lost j/k=base-wrong m/k=noisy)

# --- every finding, in the order of what matters ---
record_of "${all[@]}" --sentinels good
expect 0 "13 pairs, 118 lines: the same verdicts, bit by bit" wavefarm gate replay "$record"
expect 1 "red: 1 wrong, 1 slower of 11" wavefarm gate show "$record" --all
equal "order of the rows" "$(sed -n '2,12s/  .*//p' <<<"$OUTPUT" | tr '\n' ,)" \
    "wrong,slower,removed,not decided,inconclusive,inconclusive,improved,new,pass,not supported,unchanged,"
for text in "MISMATCH: 12 of 64 elements differ: D[0, 17] got 0, want 2.5; likely the last column is left out" \
    "a / k: 3.1 % slower (+2.8 to +3.4 %), promised to catch 2 %" "only the base has this kernel" \
    "24 blocks were rejected: throttled: power" "the base's answer is MISMATCH, the candidate's is right" \
    "neither slower nor the certificate after 24 blocks" "3.8 % faster (-4.2 to -3.4 %)" \
    "slower by 2 % is excluded" "neither arm does this case: only f32" "not launched" \
    "sentinels of device 0: good" "red at most once in 100" "any noise inside a process" "pairs no tau is known here" \
    "8 pairs under one error rate (m); 456 bursts, 12768 launches in 24 rounds (0 void), 36.0 s" "default"; do
    [[ $OUTPUT == *"$text"* ]] || fail "'$text' is not in the report: $OUTPUT"
done
[[ $OUTPUT != *$'\x1b'* ]] || fail "colours on a pipe"
expect 1 "1 wrong, 1 slower, 1 removed of 11" wavefarm gate show "$record" --strict
wavefarm gate show "$record" --json >"$WORK/report.json"
"$validate" "$schema" "$WORK/report.json" || fail "the JSON report is not as its schema says"
equal "red pairs" "$(json "$WORK/report.json" '[p["case"] for p in v["pairs"] if p["red"]]')" "['c', 'a']"
equal "counts" "$(json "$WORK/report.json" 'sum(v["counts"][f] for f in v["counts"] if f not in
    ("red", "static_red", "waived", "compared"))')" 11

# --- the story of a pair: evidence grows ---
wavefarm gate show "$record" --case a >"$WORK/story" || true
grep -q "a/k (gemm): FAIL, slower" "$WORK/story" || fail "$(cat "$WORK/story")"
equal "blocks told" "$(grep -cE '^ +[0-9]+  [BC]{4} ' "$WORK/story")" 6
equal "evidence against 'no slower' at the end" "$(awk '/^ +6  [BC]/ {split($0, f, "10\\^"); print (f[2] + 0 > 3)}' \
    "$WORK/story")" 1
expect 1 "round 6 block 1, ns a batch: slot 1: " wavefarm gate show "$record" --case a --blocks

equal "story for machines" "$(wavefarm gate show "$record" --case a --json | python3 -c 'import json, sys
v = json.load(sys.stdin); print(len(v), v[0]["pair"]["key"], len(v[0]["lines"]))')" "1 a/k 6"

# --- a record may come from anybody: what is of no known form is left out, not believed ---
"$maker" a/k=0.03 --static '{"kind":"static","compared":5,"entries":[1,null,"x",{"kernel":3,"red":1},{"why":7}]}' \
    --provenance '{"commit":5,"kernels":[1],"parents":"x","dirty":3}' '{"kernels":{"a":1,"b":{"compiler_version":4}}}' \
    --device 7 --baseline '{"lineage":4,"age_days":"x","fork_point":{}}' >"$WORK/strange.jsonl"
for format in text json markdown junit; do
    expect 1 "1 slower of 1" wavefarm gate show "$WORK/strange.jsonl" --format $format
done

# --- outcomes and exit statuses ---
outcome() { # outcome CODE HEADLINE SPEC...
    local code=$1 text=$2
    shift 2
    record_of "$@"
    expect "$code" "$text" wavefarm gate show "$record"
}
outcome 0 "green: no regression" a/k=0 b/k=0.002
outcome 0 "green: no regression, 1 improved" a/k=0 b/k=-0.05
outcome 0 "green: no regression, 1 inconclusive" a/k=0 b/k=noisy
expect 4 "no-verdict: no verdict: inconclusive where all must be decided, 1 inconclusive" \
    wavefarm gate show "$record" --strict
outcome 3 "1 not decided" a/k=0 b/k=lost
outcome 1 "1 slower of 2" a/k=0.05 b/k=lost
outcome 1 "is left out; the base's is not right either: MISMATCH" a/k=both-wrong
# A candidate that takes the clock down does not get rid of its slow blocks by that.
outcome 1 "1 slower of 2" a/k=throttles b/k=0
[[ $OUTPUT == *"slower in blocks that were rejected, promised to catch 2 %; the candidate was the slower one in 7 of 7 rejected blocks: it may be what takes the clock down"* ]] ||
    fail "$OUTPUT"
expect 0 "bit by bit" wavefarm gate replay "$record"
# A wide margin is a weak promise: as a ratio, and with who made it wide.
echo '{"schema":"wavefarm.gate-policy/1","margins":[{"case":"a","d0":0.01,"d1":0.5},{"case":"aa","d0":0,"d1":1}]}' >"$WORK/policy.json"
outcome 0 "margins[1] is not used: no pair fits it" a/k=0 --policy "$WORK/policy.json"
[[ $OUTPUT != *"margins[0]"* ]] || fail "$OUTPUT"
record_of a/k=0
sed -i '1s/"d1":0.02,/"d1":0.5,/' "$record"
expect 0 "slower by 65 % is excluded (wider than usual, by default)" wavefarm gate show "$record" --format markdown
expect 0 "note: 1 of the pairs have margins wider than usual, up to 65 %" wavefarm gate show "$record"
outcome 3 "nothing could be compared" a/k=unsupported b/k=removed
outcome 3 "sentinels of device 0: FAILED" a/k=0 b/k=0 --sentinels same
[[ $OUTPUT == *"the device cannot be trusted"* ]] || fail "$OUTPUT"
outcome 3 "sentinels of device 0: FAILED: sentinel/slower@0: its added work" a/k=0 b/k=0 --sentinels blind
outcome 1 "1 wrong of 2" a/k=wrong b/k=0 --sentinels blind
outcome 3 "1 not decided" a/k=0 b/k=noisy --rounds 3
[[ $OUTPUT == *"the gate is not over"* ]] || fail "$OUTPUT"
expect 2 "verdict" wavefarm gate replay "$record"
outcome 0 "(modelled)" a/k=0.5 b/k=0 --modelled
[[ $OUTPUT == *"times on this runtime are modelled"* && $OUTPUT != *slower* ]] || fail "$OUTPUT"
outcome 3 "nothing could be compared" a/k=unsupported # told without --all, for it is why
[[ $OUTPUT == *"neither arm does this case: only f32"* ]] || fail "$OUTPUT"
statics='{"kind":"static","compared":5,"entries":[{"kernel":"k","figure":"vgpr_spills","base":0,"candidate":12,
    "limit":0,"verdict":"worse","red":true,"why":"spills go through memory"}]}'
outcome 1 "1 static figures worse of 1" a/k=0 --static "$statics"
[[ $OUTPUT == *"static red: k  vgpr_spills 0 -> 12 (limit 0): spills go through memory"*"5 static figures compared, 1 red"* ]] ||
    fail "$OUTPUT"
expect 1 "| <code>k</code> | vgpr&#95;spills | 0 | 12 |" wavefarm gate show "$record" --format markdown
echo '{"schema":"wavefarm.gate-policy/1","waivers":[{"kernel":"k","verdict":"static","author":"A","reason":"r","expires":"2027-01-01"}]}' \
    >"$WORK/policy.json"
outcome 0 "green" a/k=0 --static "$statics" --policy "$WORK/policy.json"

# --- waivers: judged by the day of the gate (2026-12-01) ---
waive() { # waive MEMBERS: of a gate with a 3 % slower pair
    echo '{"schema":"wavefarm.gate-policy/1","waivers":[{"case":"a","verdict":"slower","author":"A. Author",
        "reason":"agreed",'"$1"'}]}' >"$WORK/policy.json"
    "$maker" a/k=0.03 b/k=0 --policy "$WORK/policy.json" >"$record" && wavefarm gate show "$record"
}
expect 0 "slower (waived)" waive '"expires":"2026-12-01","limit":0.05'
[[ $OUTPUT == *"waived by A. Author until 2026-12-01: agreed"* && $OUTPUT != *note:* ]] || fail "$OUTPUT"
expect 1 "the waiver of A. Author expired on 2026-11-30" waive '"expires":"2026-11-30","limit":0.05'
expect 1 "beyond the waiver of A. Author, which ends at 1 %" waive '"expires":"2027-01-01","limit":0.01'
expect 0 "has no limit: a slowdown of any size is waived" waive '"expires":"2027-01-01"'

# --- names that would be something else in the outputs ---
# shellcheck disable=SC2016  # names, nothing to expand
record_of 'a|<script>`@x` *b* _c_ [l](http://h)/k=wrong' 'b&"]]>/k=0.03' ok/k=0
wavefarm gate show "$record" --markdown "$WORK/c.md" --junit "$WORK/c.xml" >/dev/null
equal "first line" "$(head -n 1 "$WORK/c.md")" "<!-- wavefarm-gate -->"
for raw in '<script>' '`@' '*b*' '_c_' '[l]' 'http://' '@x'; do
    grep -qF "$raw" "$WORK/c.md" && fail "$raw is not escaped"
done
equal "columns of every row" "$(grep '^|' "$WORK/c.md" | sed 's/[^|]//g' | sort -u)" "||||||||"
python3 - "$WORK/c.xml" <<'END' || fail "the XML is not as it should be"
import sys, xml.etree.ElementTree as e
suite = e.parse(sys.argv[1]).getroot().find("testsuite")
cases = suite.findall("testcase")
assert [c.get("name") for c in cases] == ["a|<script>`@x` *b* _c_ [l](http://h)/k", 'b&"]]>/k', "ok/k"], cases
assert [len(c.findall("failure")) for c in cases] == [1, 1, 0]
assert suite.get("tests") == "3" and suite.get("failures") == "2" and suite.get("errors") == "0"
assert float(cases[1].get("time")) == 0.25 * 6, cases[1].get("time")
END
record_of "${all[@]}"
wavefarm gate show "$record" --format junit >"$WORK/all.xml"
python3 - "$WORK/all.xml" <<'END' || fail "kinds of outcome in the XML"
import sys, xml.etree.ElementTree as e
kinds = {c.get("name"): (c[0].tag, c[0].get("type")) for c in e.parse(sys.argv[1]).getroot().iter("testcase")}
want = dict(a=("failure", "slower"), b=("system-out", None), c=("failure", "wrong"), d=("system-out", None),
            e=("system-out", None), f=("skipped", None), g=("skipped", None), h=("skipped", None),
            i=("error", "not decided"), j=("skipped", None), m=("skipped", None))
assert kinds == {k + "/k": v for k, v in want.items()}, kinds
END
outcome 3 "nothing" a/k=unsupported
expect 3 '<error type="infrastructure"' wavefarm gate show "$record" --format junit

# --- a comment has at most 65,536 characters: the folded rows are cut, and counted ---
long=$(printf 'x%.0s' {1..200})
specs=()
for i in {1..300}; do specs+=("$long$i||||/k=unchanged"); done
"$maker" a/k=0.03 "${specs[@]}" >"$record" || fail "no long record"
wavefarm gate show "$record" --format markdown >"$WORK/long.md" || true
python3 - "$WORK/long.md" <<'END' || fail "the long comment"
import re, sys
text = open(sys.argv[1]).read()
assert len(text) <= 65536, len(text)
rows = text.count("not launched")
cut = re.search(r"^(\d+) rows are left out here", text, re.M)
assert cut and rows > 50 and rows + int(cut[1]) == 300, (rows, cut)
assert text.count("<details>") == text.count("</details>") == 2
assert "**slower**" in text and "red at most once in 100" in text
END
