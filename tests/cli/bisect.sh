#!/usr/bin/env bash
# wavefarm bisect on the host: the first pack with a wrong answer among packs in commit
# order, equal code looked at once, packs passed over, going on from records, and every bad
# input. Times are not compared here.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
PATH=$1:$PATH
CC=${2:-cc}
export WAVEFARM_CACHE=$WORK/cache

# commit N: 40 digits
commit() {
    printf '%040x' "$((0xabc000 + $1))"
}

# pack N VERSION WRONG [KERNEL]: pack N of commit N, child of N - 1
pack() {
    local n=$1 version=$2 wrong=$3 kernel=${4:-k} folder=$WORK/packs/p$1 parents='[]' id
    mkdir -p "$folder"
    [ -e "$WORK/k$version-$wrong.so" ] || "$CC" -O1 -shared -fPIC -fvisibility=hidden -I"$TESTS_ROOT" \
        -DVERSION="$version" -DWRONG="$wrong" -DSLOW=0 "$TESTS_ROOT/tests/cli/bisect_kernel.c" \
        -o "$WORK/k$version-$wrong.so" || fail "cannot compile"
    cp "$WORK/k$version-$wrong.so" "$folder/k.so"
    echo "{\"schema\":\"wavefarm.pack/1\",\"name\":\"p$n\",\"kernels\":[{\"name\":\"$kernel\",
        \"op\":\"gemm\",\"kind\":\"library\",\"arch\":[\"x86-64\"],\"library\":\"k.so\"}]}" >"$folder/pack.json.in"
    expect 0 "" wavefarm pack build "$folder"
    wavefarm pack show --json "$folder" >"$WORK/show.json" || fail "pack show"
    id=$(json "$WORK/show.json" 'v["id"]')
    [ "$n" = 0 ] || parents="[\"$(commit $((n - 1)))\"]"
    echo "{\"schema\":\"wavefarm.provenance/1\",\"pack\":\"$id\",\"repository\":null,\"commit\":\"$(commit "$n")\",
        \"parents\":$parents,\"dirty\":false,\"built_at\":\"2026-01-01T00:00:00.000Z\",\"kernels\":{}}" >"$folder/provenance.json"
}
# Wrong from 5 on; 1, 2 and 3 have one code, and so have 6 and 7; 4 lacks the kernel.
pack 0 0 0
pack 1 1 0
pack 2 1 0
pack 3 1 0
pack 4 4 0 other
pack 5 5 1
pack 6 6 1
pack 7 6 1
cat >"$WORK/suite.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "small", "description": "d",
 "defaults": {"op": "gemm", "a_type": "f32", "b_type": "f32", "d_type": "f32"},
 "cases": [{"name": "one", "M": 8, "N": 8, "K": 8}, {"name": "two", "M": 9, "N": 7, "K": 5}]}
END
bisect=(wavefarm bisect --good "$WORK/packs/p0" --bad "$WORK/packs/p7" --suite "$WORK/suite.json"
    --case one --kernel k --find wrong --no-sentinels)

# --- the first bad one; the one before it has no such kernel, so both are suspects ---
expect 4 "one of 2" "${bisect[@]}" --packs "$WORK/packs" --record "$WORK/records"
[[ $OUTPUT == *"8 packs from good to bad"* && $OUTPUT == *"FAIL wrong"* ]] || fail "$OUTPUT"
[[ $OUTPUT == *"suspect: commit $(commit 4)"*"bad: commit $(commit 5)"*"last good: commit $(commit 3)"* ]] ||
    fail "other suspects: $OUTPUT"
# The ends, 5, and one for 1, 2 and 3 together.
equal "gates" "$(find "$WORK/records" -name '*.jsonl' | wc -l)" 3
for file in "$WORK"/records/*.jsonl; do
    expect 0 "bit by bit" wavefarm gate replay "$file"
done

# --- the same again: from the records, nothing runs ---
expect 4 "from its record" "${bisect[@]}" --packs "$WORK/packs" --record "$WORK/records"
equal "gates" "$(find "$WORK/records" -name '*.jsonl' | wc -l)" 3
# One that was cut short is gone on with.
one=$(find "$WORK/records" -name '*-answers.jsonl' | sort | head -n 1)
head -n 1 "$one" >"$WORK/cut" && mv "$WORK/cut" "$one"
expect 4 "one of 2" "${bisect[@]}" --packs "$WORK/packs" --record "$WORK/records"
expect 0 "bit by bit" wavefarm gate replay "$one"

# Another case in the same folder is another search.
cp -r "$WORK/records" "$WORK/records2"
expect 4 "1 of about 4: $(commit 7 | cut -c1-12) is bad: FAIL wrong" "${bisect[@]}" --packs "$WORK/packs" \
    --record "$WORK/records2" --case two
[[ $OUTPUT != *"from its record"* ]] || fail "another case's record was taken"

# --- a list gives the order itself, also without provenance ---
rm "$WORK/packs/p5/provenance.json"
printf '# oldest first\np0\np3\np5\np7\n' >"$WORK/packs/list"
"${bisect[@]}" --packs "$WORK/packs/list" --json >"$WORK/found.json" || fail "exit status $?"
equal "found" "$(json "$WORK/found.json" '(v["found"], v["first_bad"]["path"].rsplit("/", 1)[1], v["first_bad"]["commit"])')" \
    "(True, 'p5', None)"
equal "steps" "$(json "$WORK/found.json" '[(s["mark"], s["verdict"]) for s in v["steps"]]')" \
    "[('bad', 'FAIL wrong'), ('good', 'PASS'), ('bad', 'FAIL wrong')]"
[ "$(json "$WORK/found.json" 'v["error_rate"] <= 0.01')" = True ] || fail "error rate"

# --- what cannot be done says why ---
expect 2 "no pack has commit $(commit 5 | cut -c1-12)" "${bisect[@]}" --packs "$WORK/packs"
expect 2 "list file, oldest first" "${bisect[@]}" --packs "$WORK/packs"
printf 'p7\np0\n' >"$WORK/packs/backwards"
expect 2 "before the good one" "${bisect[@]}" --packs "$WORK/packs/backwards"
printf 'p0\np3\n' >"$WORK/packs/short"
expect 2 "the bad pack $WORK/packs/p7 is not among" "${bisect[@]}" --packs "$WORK/packs/short"
expect 2 "same code" wavefarm bisect --good "$WORK/packs/p1" --bad "$WORK/packs/p3" \
    --suite "$WORK/suite.json" --kernel k
expect 2 "has no kernel 'k'" wavefarm bisect --good "$WORK/packs/p0" --bad "$WORK/packs/p4" \
    --suite "$WORK/suite.json" --kernel k
expect 2 "are the same" wavefarm bisect --good "$WORK/packs/p0" --bad "$WORK/packs/p0" \
    --suite "$WORK/suite.json" --kernel k
expect 2 "--kernel is missing" wavefarm bisect --good a --bad b --suite s
expect 2 "--find 'x'" "${bisect[@]}" --find x
expect 2 "--packs $WORK/none" "${bisect[@]}" --packs "$WORK/none"
# The bad pack is as good as the good one: nothing is looked for.
expect 4 "nothing to look for" wavefarm bisect --good "$WORK/packs/p0" --bad "$WORK/packs/p3" \
    --suite "$WORK/suite.json" --case one --kernel k --find wrong --no-sentinels --max-blocks 1
