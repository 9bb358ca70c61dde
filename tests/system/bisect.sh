#!/usr/bin/env bash
# wavefarm bisect over the packs that were published to a coordinator: the first pack with
# a wrong answer, downloads of what a step needs alone, and what cannot be done. Answers
# alone are judged: nothing here depends on time. Usage: bisect.sh BIN CC
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
gate_library=
CC=${2:-cc}
small_suite 1
farm_up

commit() { # commit N: 40 digits
    printf '%040x' "$((0xabc000 + $1))"
}

# pack N NAME VERSION WRONG KERNEL DESCRIPTION: $WORK/pN; equal ones are one pack.
pack() {
    local folder=$WORK/p$1 library=$WORK/k$3-$4.so
    mkdir "$folder"
    [ -e "$library" ] || "$CC" -O1 -shared -fPIC -fvisibility=hidden -I"$TESTS_ROOT" -DVERSION="$3" -DWRONG="$4" \
        -DSLOW=0 "$TESTS_ROOT/tests/cli/bisect_kernel.c" -o "$library" || fail "cannot compile"
    cp "$library" "$folder/k.so"
    echo "{\"schema\":\"wavefarm.pack/1\",\"name\":\"$2\",\"description\":\"$6\",\"kernels\":[{\"name\":\"$5\",
        \"op\":\"gemm\",\"kind\":\"library\",\"arch\":[\"x86-64\"],\"library\":\"k.so\"}]}" >"$folder/pack.json.in"
    expect 0 "" wavefarm pack build "$folder"
}

# publish N [DIRTY]: of commit N, child of N - 1
publish() {
    local parents='[]' id
    id=$(wavefarm pack show --json "$WORK/p$1" | json /dev/stdin 'v["id"]')
    [ "$1" = 0 ] || parents="[\"$(commit $(($1 - 1)))\"]"
    echo "{\"schema\":\"wavefarm.provenance/1\",\"pack\":\"$id\",\"repository\":null,\"commit\":\"$(commit "$1")\",
        \"parents\":$parents,\"dirty\":${2:-false},\"built_at\":\"2026-01-01T00:00:00.000Z\",\"kernels\":{}}" \
        >"$WORK/p$1/provenance.json"
    expect 0 "" wavefarm pack publish "$WORK/p$1"
}

# Wrong from 6 on. 1 and 2 are one pack; 3 and 5 are others with its code; 4 lacks the
# kernel. Published in no order.
pack 0 nightly 0 0 k ""
pack 1 nightly 1 0 k ""
pack 2 nightly 1 0 k ""
pack 3 nightly 1 0 k three
pack 4 nightly 4 0 other ""
pack 5 nightly 1 0 k five
pack 6 nightly 6 1 k ""
pack 7 nightly 6 1 k seven
pack 8 nightly 8 1 k ""
for n in 4 8 0 2 6 1 3 7 5; do
    publish "$n"
done
equal "packs" "$(farm_sql "SELECT count(*) FROM pack_archive")" 8
bisect=(wavefarm bisect --published nightly --suite "$WORK/small.json" --kernel k --find wrong)
ends=(--good "$WORK/p0" --bad "$(commit 8)")

# --- gates of 8, 3 and 6; 4 is passed over; 5 has the code of 3 and needs no gate ---
expect 0 "first bad: commit $(commit 6)" "${bisect[@]}" "${ends[@]}" --record "$WORK/records"
[[ $OUTPUT == *"9 packs from good to bad"*"last good: commit $(commit 5)"*"3 gates"* ]] || fail "$OUTPUT"
equal "gates" "$(find "$WORK/records" -name '*.jsonl' | wc -l)" 3
# 8, 4, 3, 5 and 6 came here, with their records; 0 was here, 1, 2 and 7 were not needed.
equal "commits in the cache" "$(for file in "$WAVEFARM_CACHE"/packs/*/provenance.json; do
    json "$file" 'v["commit"]'
done | sort | xargs)" "$(for n in 3 4 5 6 8; do commit "$n"; echo; done | xargs)"
for file in "$WORK"/records/*.jsonl; do
    expect 0 "bit by bit" wavefarm gate replay "$file"
done
# The record of the gate names the commits.
grep -q "$(commit 6)" "$WORK"/records/*.jsonl || fail "no record names commit 6"

# --- ends by the begin of a commit and of an id, from the records ---
id=$(wavefarm pack show --json "$WORK/p8" | json /dev/stdin 'v["id"]')
"${bisect[@]}" --good "$(commit 0)" --bad "${id:0:12}" --record "$WORK/records" --json >"$WORK/found.json" ||
    fail "exit status $?"
equal "found" "$(json "$WORK/found.json" '(v["first_bad"]["commit"], v["last_good"]["commit"], len(v["steps"]))')" \
    "('$(commit 6)', '$(commit 5)', 3)"

# --- what cannot be done says why ---
one=(wavefarm bisect --suite "$WORK/small.json" --kernel k "${ends[@]}" --published)
expect 2 "no pack 'weekly' was published" "${one[@]}" weekly
expect 2 "'a/b' is no pack's name" "${one[@]}" a/b
expect 2 "--packs and --published" "${one[@]}" nightly --packs "$WORK"
expect 2 "--good ffff is not among the published packs (8 of the name" "${bisect[@]}" "${ends[@]}" --good ffff
expect 2 "--bad 'HEAD' is neither" "${bisect[@]}" "${ends[@]}" --bad HEAD
expect 2 "say which" "${bisect[@]}" "${ends[@]}" --bad 00000000
expect 2 "has no kernel 'k'" "${bisect[@]}" "${ends[@]}" --bad "$(commit 4)"
expect 2 "do not meet" "${bisect[@]}" --good "$(commit 8)" --bad "$(commit 0)"
expect 3 "401" env WAVEFARM_TOKEN=wrong WAVEFARM_TOKEN_FILE= "${one[@]}" nightly
pack 9 bare 9 0 k ""
expect 0 "" wavefarm pack publish "$WORK/p9"
expect 2 "'wavefarm pack publish --commit' records it" "${one[@]}" bare
expect 2 "--good $WORK/p9 is not among" "${bisect[@]}" "${ends[@]}" --good "$WORK/p9"
publish 9 true
expect 2 "the others are of dirty trees" "${one[@]}" bare

# A commit that nobody published.
farm_sql "DELETE FROM pack_provenance WHERE record ->> 'commit' = '$(commit 7)'" >"$WORK/sql" || fail "no database"
expect 2 "no pack has commit $(commit 7 | cut -c1-12)" "${bisect[@]}" "${ends[@]}"
publish 7
# An archive that is gone is told where the search comes to it.
archive=$(farm_sql "SELECT archive FROM pack_archive JOIN pack USING (pack_key) WHERE pack_id =
    '$(wavefarm pack show --json "$WORK/p6" | json /dev/stdin 'v["id"]')'")
find "$FARM" -name "$archive*" -type f -delete
rm -rf "$WAVEFARM_CACHE/packs"
expect 2 "upload it again" "${bisect[@]}" "${ends[@]}" --record "$WORK/records"
[[ $OUTPUT == *"wavefarm: commit $(commit 6 | cut -c1-12): pack"* ]] || fail "$OUTPUT"
