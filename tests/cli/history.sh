#!/usr/bin/env bash
# wavefarm history over made-up nights: a change point with its commits, what is new, other
# models and bases apart, drivers, backfilled nights, equal code, and every bad input.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
PATH=$1:$PATH
maker=$2
export WAVEFARM_CACHE=$WORK/cache

# nights FOLDER: three records of invented noise become 40 nights: level 0, from night 30 on
# +4 %; night 12 was measured last. Commit n is the child of n - 1.
"$maker" one/k=0.000 two/k=0 three/k=unchanged >"$WORK/a.jsonl" || fail "maker"
"$maker" one/k=0.002 two/k=0.001 three/k=unchanged >"$WORK/b.jsonl" || fail "maker"
"$maker" one/k=0.040 two/k=wrong three/k=unchanged >"$WORK/c.jsonl" || fail "maker"
nights() {
    mkdir -p "$1"
    python3 - "$WORK" "$1" "${2:-H200}" "${3:-a}" <<'END'
import json, sys
work, folder, model, base = sys.argv[1:]
texts = {n: open(f"{work}/{n}.jsonl").read().split("\n", 1) for n in "abc"}
commit = lambda n: f"{n + 1:040x}"
for n in range(40):
    head, rest = texts["c" if n >= 30 else "ab"[n * 7 % 3 % 2]]
    head = json.loads(head)
    head["created"] = f"2026-02-{n // 24 + 1:02}T{n % 24:02}:00:00.000Z"
    if n == 12:
        head["created"] = "2026-03-01T00:00:00.000Z"
    head["packs"]["base"]["id"] = base * 64
    head["packs"]["candidate"]["id"] = f"{n:064x}"
    head["packs"]["candidate"]["provenance"] = {
        "schema": "wavefarm.provenance/1", "pack": f"{n:064x}", "repository": None, "commit": commit(n),
        "parents": [commit(n - 1)] if n else [], "dirty": False, "built_at": head["created"], "kernels": {}}
    head["devices"][0]["model"] = model
    head["devices"][0]["driver"] = "575" if n >= 30 else "570"
    with open(f"{folder}/night-{n:02}-{model}-{base}.jsonl", "w") as out:
        out.write(json.dumps(head) + "\n" + rest)
END
}
nights "$WORK/nights"

# --- the point, its commits, the driver beside it; what has no time is counted ---
expect 0 "1 series without a change point are not shown" wavefarm history "$WORK/nights"
[[ $OUTPUT == *"one/k  H200  against pack aaaaaaaaaaaa, 40 nights"* ]] || fail "$OUTPUT"
[[ $OUTPUT =~ slower\ \+[34]\.[0-9]+\ %.*between\ 0{12}.*:\ NEW ]] || fail "no point: $OUTPUT"
[[ $OUTPUT == *"the driver changed here, too: 575 after 570"* ]] || fail "no driver: $OUTPUT"
[[ $OUTPUT == *"40 values are missing because pack and base were the same code"* ]] || fail "$OUTPUT"
[[ $OUTPUT == *"10 because there was no time to use"* ]] || fail "wrong answers have a time: $OUTPUT"
[[ $OUTPUT == *"A new point is a proposal, without an error rate"* ]] || fail "$OUTPUT"
expect 0 "two/k" wavefarm history "$WORK/nights" --all

wavefarm history "$WORK/nights" --json >"$WORK/h.json" || fail "history --json"
one='[s for s in v["series"] if s["key"] == "one/k"][0]'
equal "series" "$(json "$WORK/h.json" 'sorted(s["key"] for s in v["series"])')" "['one/k', 'two/k']"
equal "points" "$(json "$WORK/h.json" "len(($one)['points'])")" 40
equal "change" "$(json "$WORK/h.json" "[(c['index'], c['new'], int(c['last_before']['commit'], 16), \
    int(c['first_after']['commit'], 16)) for c in ($one)['changes']]")" "[(30, True, 30, 31)]"
# A copy of a record is no further night: three of one would be a level of their own.
cp -r "$WORK/nights" "$WORK/copies"
for i in 1 2 3; do cp "$WORK/copies/night-20-H200-a.jsonl" "$WORK/copies/night-20-copy$i.jsonl"; done
expect 0 "6 were there more than once (copies of a record), counted once" wavefarm history "$WORK/copies"
[[ $OUTPUT == *"against pack aaaaaaaaaaaa, 40 nights"* ]] || fail "$OUTPUT"
mkfifo "$WORK/copies/pipe.jsonl"
expect 2 "pipe.jsonl is no file" timeout 20 wavefarm history "$WORK/copies"
# a75: night 12 was measured after all others and stands at its commit's place.
equal "a75 backfilled night in its place" \
    "$(json "$WORK/h.json" "[int(p['commit'], 16) for p in ($one)['points']] == list(range(1, 41))")" True
equal "proposals" "$(json "$WORK/h.json" 'v["proposals"]')" 1
expect 0 "0 new change points" wavefarm history "$WORK/nights" --min-shift 10

# --- other models and bases are other series, in whatever folder they lie ---
nights "$WORK/nights" MI300X
nights "$WORK/nights" H200 d
wavefarm history "$WORK/nights" --json >"$WORK/h.json" || fail "history --json"
equal "series" "$(json "$WORK/h.json" 'sorted((s["key"], s["model"], s["base"][:1], len(s["points"])) for s in v["series"] if s["key"] == "one/k")')" \
    "[('one/k', 'H200', 'a', 40), ('one/k', 'H200', 'd', 40), ('one/k', 'MI300X', 'a', 40)]"
expect 0 "1 series, 1 new change points" wavefarm history "$WORK/nights" --model 'MI*' --case one
expect 0 "2 series" wavefarm history "$WORK/nights" --base ddd
expect 2 "no series of that case, kernel, model and base: 120 gates" wavefarm history "$WORK/nights" --case four

# --- an order that the parents do not know ---
printf '%040x\n' 2 1 >"$WORK/order"
expect 0 "" wavefarm history "$WORK/nights" --order "$WORK/order"
echo "not a commit" >"$WORK/order"
expect 2 "is no full commit" wavefarm history "$WORK/nights" --order "$WORK/order"

# --- gates that have not ended are told, files that are none are refused ---
mkdir "$WORK/some"
cp "$WORK/a.jsonl" "$WORK/some/"
head -n -1 "$WORK/a.jsonl" >"$WORK/some/b.jsonl"
expect 0 "1 gates have not ended" wavefarm history "$WORK/some" --all
[[ $OUTPUT == *"fewer than 6 values"* ]] || fail "$OUTPUT"
echo '{"schema":"wavefarm.results/1","suite":"s","expected":0}' >"$WORK/some/c.jsonl"
expect 2 "$WORK/some/c.jsonl" wavefarm history "$WORK/some"
mkdir "$WORK/empty"
expect 2 "holds no gate's record" wavefarm history "$WORK/empty"
expect 2 "cannot read $WORK/gone" wavefarm history "$WORK/gone"
expect 2 "--confirm needs --packs" wavefarm history "$WORK/nights" --confirm
expect 2 "--confirm needs --suite" wavefarm history "$WORK/nights" --confirm --packs "$WORK/empty"

# --- a proposal whose packs are not at hand has no verdict, and says so ---
expect 4 "no gate: no pack 000000000000" wavefarm history "$WORK/nights" --base aaa --model H200 \
    --confirm --packs "$WORK/empty" --suite gemm-five
# Both nights had one pack: no gate could tell anything of the code.
mkdir "$WORK/same"
for file in "$WORK"/nights/*-H200-a.jsonl; do
    sed '1s/"candidate": {"id": "[0-9a-f]*"/"candidate": {"id": "'"$(printf '%064d' 7)"'"/' "$file" >"$WORK/same/${file##*/}"
done
expect 0 "both nights have the same pack: the change is not in the code" wavefarm history "$WORK/same"
expect 4 "no gate: both nights have the same pack" wavefarm history "$WORK/same" --confirm --packs "$WORK/empty" \
    --suite gemm-five
