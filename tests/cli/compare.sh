#!/usr/bin/env bash
# wavefarm compare: what is told of two files, in each form, and the exit statuses.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
PATH=$1:$PATH

# file NAME EXPECTED LINE...: a line is "case kernel answer median lo hi"
file() {
    python3 - "$WORK/$1" "$@" <<'END'
import json, sys
path, _, expected, *lines = sys.argv[1:]
with open(path, "w") as out:
    out.write(json.dumps({"schema": "wavefarm.results/1", "suite": "s", "expected": int(expected)}) + "\n")
    for line in lines:
        case, kernel, answer, median, lo, hi = line.split("|")
        timing = {"unit": "ns", "source": "device-events", "median": float(median), "ci_lo": float(lo),
                  "ci_hi": float(hi), "invalid": [], "clock_mhz": []} if answer == "PASS" else None
        out.write(json.dumps({
            "schema": "wavefarm.result/1", "kind": "measured", "answer": answer, "answer_text": "why | it is so",
            "task": {"id": case, "case_id": case, "case_name": case, "label": case, "op": "gemm", "pack_name": "p",
                     "kernel": kernel, "repetition": 0},
            "mode": {"temperature": "hot", "icache": "hot", "batch": 0}, "code": {"sha256": kernel},
            "device": {"id": "cuda:0", "runtime": "cuda", "arch": "sm_90", "model": "H200"},
            "time": "OK" if timing else "NOT_MEASURED", "timing": timing}) + "\n")
END
}
odd='ns::K<128,64,32>::run'
file a 4 "1|$odd|PASS|1000|990|1010" '2|a;b|PASS|1000|990|1010' '3|5" tile|PASS|1000|990|1010' '4|k|PASS|1000|990|1010'
file b 4 "1|$odd|PASS|1100|1080|1120" '2|a;b|PASS|1005|995|1015' '3|5" tile|MISMATCH|0|0|0' '5|k|PASS|1|1|1'

expect 0 "4 tasks: " wavefarm compare "$WORK/a" "$WORK/a"
[[ $OUTPUT == *"4 undecided"* ]] || fail "a file against itself: $OUTPUT"
expect 0 "5 tasks: 1 wrong-now, 1 slower, 1 undecided, 1 missing, 1 new" wavefarm compare "$WORK/a" "$WORK/b"
[[ $OUTPUT == *"wrong-now"*"PASS -> MISMATCH"*"slower"*"+10.00 %"*"+6.93 .. +13.13 %"*undecided* ]] || fail "$OUTPUT"
[[ $OUTPUT == *"not measured in turns"*"no error rate belongs"*"wavefarm gate"* ]] || fail "no honest words: $OUTPUT"
[[ $OUTPUT == *"B: MISMATCH: why | it is so"* ]] || fail "no reason: $OUTPUT"

# --- exit statuses: only what was asked ---
expect 1 "" wavefarm compare "$WORK/a" "$WORK/b" --fail-on answers
expect 1 "" wavefarm compare "$WORK/a" "$WORK/b" --fail-on missing
expect 1 "" wavefarm compare "$WORK/a" "$WORK/b" --threshold 6
expect 4 "" wavefarm compare "$WORK/a" "$WORK/b" --threshold 7 # +6.93 % at least, and not all could be told
expect 0 "" wavefarm compare "$WORK/a" "$WORK/a" --threshold 0 --fail-on answers --fail-on missing
file part 4 "1|$odd|PASS|1000|990|1010"
expect 4 "B ($WORK/part) is incomplete: 1 of 4" wavefarm compare "$WORK/a" "$WORK/part" --fail-on answers
file none 0
expect 4 "4 missing" wavefarm compare "$WORK/a" "$WORK/none"
expect 2 "empty" wavefarm compare "$WORK/a" /dev/null
expect 2 "wanted 'answers' or 'missing'" wavefarm compare "$WORK/a" "$WORK/b" --fail-on noise
expect 2 "threshold" wavefarm compare "$WORK/a" "$WORK/b" --threshold -1
expect 2 "coordinator" env -u WAVEFARM_SERVER wavefarm compare 1 2

# --- JSON, Markdown, and CSV that a second parser reads back ---
wavefarm compare "$WORK/a" "$WORK/b" --json >"$WORK/c.json" || fail "--json"
equal "verdicts" "$(json "$WORK/c.json" '[t["verdict"] for t in v["tasks"]]')" \
    "['wrong-now', 'slower', 'undecided', 'missing', 'new']"
equal "paired" "$(json "$WORK/c.json" '(v["paired"], v["counts"]["missing"], v["tasks"][1]["a"]["median_ns"], v["tasks"][3]["b"])')" \
    "(False, 1, 1000, None)"
expect 0 'why / it is so' wavefarm compare "$WORK/a" "$WORK/b" --markdown
equal "bars of the table" "$(grep -c '^|.*|$' <<<"$OUTPUT")" 7
wavefarm compare "$WORK/a" "$WORK/b" --csv >"$WORK/c.csv" || fail "--csv"
equal "a79 names in CSV" "$(python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
print([r["kernel"] for r in rows], len(rows), {len(r) for r in rows}, rows[1]["ratio"], rows[3]["b_median_ns"] == "")' "$WORK/c.csv")" \
    "['5\" tile', '$odd', 'a;b', 'k', 'k'] 5 {16} 1.1 True"
