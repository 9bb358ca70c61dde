#!/usr/bin/env bash
# wavefarm gate on the host: which pairs there are, answers, nothing launched for equal
# code, records that go on, interrupts, and every bad input. Times are not compared here:
# tests/cli/gate_report.sh shows verdicts of time from made-up noise.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
bin=$1 fixture=$2 maker=$3
PATH=$bin:$PATH
export WAVEFARM_CACHE=$WORK/cache

# pack NAME KERNEL...: a pack of fixture kernels (tests/runner/fixture_kernels.c)
pack() {
    local name=$1 kernel list=
    shift
    mkdir -p "$WORK/$name"
    cp "$fixture" "$WORK/$name/k.so"
    for kernel in "$@"; do
        list+="${list:+,}{\"name\":\"$kernel\",\"op\":\"gemm\",\"kind\":\"library\",\"arch\":[\"x86-64\"],\"library\":\"k.so\"}"
    done
    echo "{\"schema\":\"wavefarm.pack/1\",\"name\":\"$name\",\"kernels\":[$list]}" >"$WORK/$name/pack.json.in"
    expect 0 "" wavefarm pack build "$WORK/$name"
}
pack before right right_declared does_nothing hangs
pack after right right_declared off_by_one hangs
pack other no_memory
cat >"$WORK/suite.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "small", "description": "d",
 "defaults": {"op": "gemm", "a_type": "f32", "b_type": "f32", "d_type": "f32"},
 "cases": [{"name": "a|b", "M": 8, "N": 8, "K": 8}, {"name": "two", "M": 9, "N": 7, "K": 5}]}
END
gate=(wavefarm gate --base "$WORK/before" --cand "$WORK/after" --suite "$WORK/suite.json" --no-sentinels)

# --- equal code: nothing is launched (the judge, which starts it, is not even there) ---
mkdir -p "$WORK/alone/bin"
cp "$bin/wavefarm" "$bin/wavefarm-subject" "$WORK/alone/bin/"
ln -s "$bin/../lib" "$bin/../share" "$WORK/alone/"
expect 0 "all 4 pairs run the same code" "$WORK/alone/bin/wavefarm" gate --base "$WORK/before" \
    --cand "$WORK/after" --suite "$WORK/suite.json" --kernels 'right*' --out "$WORK/unchanged.jsonl"
equal "lines of a gate without a launch" "$(wc -l <"$WORK/unchanged.jsonl")" 2
expect 3 "not run" "$WORK/alone/bin/wavefarm" gate --base "$WORK/before" --cand "$WORK/after" \
    --suite "$WORK/suite.json" --kernels right --same --answers-only
expect 0 "bit by bit" wavefarm gate replay "$WORK/unchanged.jsonl"

# --- sentinels are among the pairs, unless there is no pack of them: then that is told ---
same=("$WORK/alone/bin/wavefarm" gate --base "$WORK/before" --cand "$WORK/after" --suite "$WORK/suite.json"
    --kernels right --cases two --same)
expect 3 "not run" env WAVEFARM_PACKS="$bin/../packs" "${same[@]}" --out "$WORK/sentinels.jsonl"
head -n 1 "$WORK/sentinels.jsonl" >"$WORK/sentinels.json"
equal "pairs" "$(json "$WORK/sentinels.json" '[(p["key"], p["candidate"]["kernel"], p["blocks"]) for p in v["pairs"]]')" \
    "[('two/right', 'right', 1), ('sentinel-same/alu@0', 'sentinel_alu', 2), ('sentinel-same/hbm@0', 'sentinel_hbm', 2), ('sentinel-same/lds@0', 'sentinel_lds', 2), ('sentinel-slower/alu@0', 'sentinel_alu_103', 2)]"
expect 3 "there is no pack of sentinels $WORK/wavefarm-sentinel-host" env WAVEFARM_PACKS="$WORK" "${same[@]}"

# --- a removed kernel is told, with --strict red; nothing else there: no verdict ---
expect 3 "nothing could be compared" "${gate[@]}" --kernels does_nothing
[[ $OUTPUT == *removed*does_nothing*"only the base has this kernel"* ]] || fail "not told: $OUTPUT"
expect 1 "2 removed of 2" "${gate[@]}" --kernels does_nothing --strict

# --- answers: right, wrong, new ---
expect 0 "answer right" "${gate[@]}" --kernels right --same --answers-only --out "$WORK/right.jsonl"
[[ $OUTPUT == *"Answers alone were judged: nothing is said of times"* ]] || fail "$OUTPUT"
head -n 1 "$WORK/right.jsonl" >"$WORK/header.json"
validate=("$TESTS_ROOT/tests/support/validate_schema.py" "$TESTS_ROOT/docs/schemas/gate-record.schema.json")
"${validate[@]}" "$WORK/header.json" || fail "the header is not as its schema says"
"${validate[0]}" --lines "${validate[1]}" "$WORK/right.jsonl" || fail "the record is not as its schema says"
expect 1 "2 wrong of 2" "${gate[@]}" --base-kernel right --cand-kernel off_by_one --answers-only \
    --out "$WORK/wrong.jsonl" --markdown "$WORK/wrong.md" --junit "$WORK/wrong.xml"
[[ $OUTPUT == *"  first  D["* && $OUTPUT == *"  likely "* ]] || fail "no diagnosis: $OUTPUT"
expect 1 "2 wrong of 2" wavefarm gate show "$WORK/wrong.jsonl"
expect 1 "candidate: kernel off_by_one, answer MISMATCH" wavefarm gate show "$WORK/wrong.jsonl" --case two
expect 0 "bit by bit" wavefarm gate replay "$WORK/wrong.jsonl"
grep -q '^<!-- wavefarm-gate -->$' "$WORK/wrong.md" || fail "no marker in the comment"
grep -q 'a&#124;b' "$WORK/wrong.md" || fail "a bar in a name is not escaped"
equal "failures" "$(python3 -c 'import sys, xml.etree.ElementTree as e
print(e.parse(sys.argv[1]).getroot().attrib["failures"])' "$WORK/wrong.xml")" 2
expect 1 "1 wrong of 1" "${gate[@]}" --kernels off_by_one --cases two --answers-only

# --- a record that was cut short goes on; its labels are not used again ---
head -n 2 "$WORK/right.jsonl" | tee "$WORK/cut.jsonl" >"$WORK/unfinished.jsonl"
sed -n 3p "$WORK/right.jsonl" | head -c 100 >>"$WORK/cut.jsonl"
expect 3 "ends in the middle of a line" wavefarm gate show "$WORK/cut.jsonl"
expect 2 "" wavefarm gate replay "$WORK/unfinished.jsonl"
resume=(wavefarm gate --base "$WORK/before" --cand "$WORK/after" --resume "$WORK/cut.jsonl")
expect 2 "the gate began with candidate pack" wavefarm gate --base "$WORK/before" --cand "$WORK/other" \
    --resume "$WORK/cut.jsonl"
# What had come of the round counts: who cut it short may have seen it, and must not choose.
expect 0 "2 rounds (0 void, 1 cut short)" "${resume[@]}" --json-file "$WORK/resumed.json"
equal "rounds" "$(json "$WORK/resumed.json" 'v["rounds"], v["void_rounds"], v["cut_rounds"]')" "(2, 0, 1)"
equal "pairs in both rounds" "$(grep -c '"kind":"pair"' "$WORK/cut.jsonl")" 2
head -n 2 "$WORK/wrong.jsonl" >"$WORK/cut-wrong.jsonl"
expect 1 "2 wrong of 2" wavefarm gate --base "$WORK/before" --cand "$WORK/after" --resume "$WORK/cut-wrong.jsonl"
equal "a wrong answer is not asked again" "$(grep -c '"round":1,.*MISMATCH' "$WORK/cut-wrong.jsonl")" 1
equal "pairs in both rounds" "$(grep -c '"kind":"pair"' "$WORK/cut-wrong.jsonl")" 2
expect 0 "bit by bit" wavefarm gate replay "$WORK/cut.jsonl"
expect 2 "of a gate that is over (green)" "${resume[@]}"
sed 's/"answer":"PASS"/"answer":"CRASH"/' "$WORK/right.jsonl" >"$WORK/changed.jsonl"
expect 1 "differ" wavefarm gate replay "$WORK/changed.jsonl"

# --- killed and interrupted in the middle of a launch ---
nothing_left() {
    ! grep -lszFx "WAVEFARM_TEST=$WORK" /proc/[0-9]*/environ >/dev/null
}
# stop SIGNAL FILE: ends a gate whose candidate hangs.
stop() {
    local code=0
    env --default-signal=INT WAVEFARM_TEST="$WORK" setsid "${gate[@]}" --kernels hangs --cases two --same \
        --answers-only --out "$2" >"$WORK/stop.out" 2>&1 &
    local pid=$!
    until_true 60 test -s "$2"
    until_true 60 eval 'pgrep -s '"$pid"' wavefarm-subje >/dev/null'
    kill "-$1" "$pid"
    { wait "$pid" || code=$?; } 2>/dev/null
    until_true 10 nothing_left
    STOPPED=$code
}
stop INT "$WORK/int.jsonl"
equal "exit status after an interrupt" "$STOPPED" 130
expect 130 "cancelled" wavefarm gate show "$WORK/int.jsonl"
expect 0 "bit by bit" wavefarm gate replay "$WORK/int.jsonl"
stop KILL "$WORK/kill.jsonl"
equal "lines after a kill" "$(wc -l <"$WORK/kill.jsonl")" 1
for file in int kill; do
    expect 1 "TIMEOUT" wavefarm gate --base "$WORK/before" --cand "$WORK/after" --deadline 300ms \
        --resume "$WORK/$file.jsonl"
done

# --- policy ---
policy() { # policy TEXT: a gate whose candidate is wrong, under this policy
    echo "{\"schema\": \"wavefarm.gate-policy/1\", $1}" >"$WORK/policy.json"
    "${gate[@]}" --base-kernel right --cand-kernel off_by_one --cases two --answers-only --policy "$WORK/policy.json"
}
waiver='"case": "two", "kernel": "off*", "verdict": "wrong", "author": "A", "reason": "known"'
expect 0 "waived by A until 2999-01-01: known" policy "\"waivers\": [{$waiver, \"expires\": \"2999-01-01\"}]"
expect 1 "the waiver of A expired on 2020-01-01" policy "\"waivers\": [{$waiver, \"expires\": \"2020-01-01\"}]"
expect 1 "waivers[0] of A is not used" policy "\"waivers\": [{${waiver/two/one}, \"expires\": \"2999-01-01\"}]"
expect 2 "waivers[0]: member \"expires\" is missing" policy "\"waivers\": [{$waiver}]"
expect 2 "a day is 2026-12-31" policy "\"waivers\": [{$waiver, \"expires\": \"2026-02-30\"}]"
expect 2 "limit bounds how much slower" policy "\"waivers\": [{$waiver, \"expires\": \"2999-01-01\", \"limit\": 1}]"
expect 2 "waiver" policy '"waiver": []'
expect 2 "margins must be an array, not an object" policy '"margins": {}'
expect 2 "margins[0]: d0 0.03 and d1 0.02" policy '"margins": [{"d0": 0.03, "d1": 0.02}]'
expect 2 "static" policy '"static": {"rule": []}'
expect 3 "the policy wants an ancestor of the candidate as base" policy '"baseline": {"ancestor": true}'
expect 3 "nobody knows the age" policy '"baseline": {"max_age_days": 30}'

# The page's policy is one, by its schema and for the reader (which refuses this base).
# shellcheck disable=SC2016  # backticks of Markdown
sed -n '/^```json$/,/^```$/p' "$TESTS_ROOT/docs/gate-command.md" | sed '1d;$d' >"$WORK/page.json"
"${validate[0]}" "$TESTS_ROOT/docs/schemas/gate-policy.schema.json" "$WORK/page.json" "$WORK/policy.json" ||
    fail "a policy is not as its schema says"
expect 3 "the policy wants an ancestor" "${gate[@]}" --kernels right --policy "$WORK/page.json"

# --- bad input ---
expect 2 "--base is missing" wavefarm gate --cand "$WORK/after" --suite gemm-five
expect 2 "--cand is missing" wavefarm gate --base "$WORK/after" --suite gemm-five
expect 2 "--suite is missing" wavefarm gate --base "$WORK/before" --cand "$WORK/after"
expect 2 "--base $WORK/nope" wavefarm gate --base "$WORK/nope" --cand "$WORK/after" --suite gemm-five
expect 2 "--cand" wavefarm gate --base "$WORK/before" --cand "$WORK/suite.json" --suite gemm-five
expect 2 'unknown suite "nope"' wavefarm gate --base "$WORK/before" --cand "$WORK/after" --suite nope
expect 2 "no case of suite 'small' matches 'nope'" "${gate[@]}" --cases nope
expect 3 "nothing to compare, so there is no verdict" "${gate[@]}" --kernels nope
expect 2 "both are wanted" "${gate[@]}" --base-kernel right
expect 2 "the candidate pack after has no kernel nope" "${gate[@]}" --base-kernel right --cand-kernel nope
expect 2 "--max-blocks is 0" "${gate[@]}" --max-blocks 0
expect 2 "--format is 'yaml'" "${gate[@]}" --format yaml
expect 2 "--cold and --hot" "${gate[@]}" --cold --hot
expect 2 "host:99" "${gate[@]}" --device host:99
expect 2 "a record is not written over" "${gate[@]}" --kernels right --out "$WORK/right.jsonl"
expect 2 "$WORK/none/r.jsonl" "${gate[@]}" --kernels right --out "$WORK/none/r.jsonl"
expect 2 "$WORK/none/x.md" "${gate[@]}" --markdown "$WORK/none/x.md"
expect 2 "is the record's file" "${gate[@]}" --kernels right --out "$WORK/y.jsonl" --json-file "$WORK/y.jsonl"
expect 2 "is the record's file" wavefarm gate show "$WORK/wrong.jsonl" --markdown "$WORK/./wrong.jsonl"
expect 2 "--markdown and --junit name the same file" "${gate[@]}" --markdown "$WORK/z" --junit "$WORK/z"
expect 2 "--out has no meaning" "${resume[@]}" --out "$WORK/x.jsonl"
expect 2 "--policy has no meaning" "${resume[@]}" --policy "$WORK/policy.json"
expect 2 "--same has no meaning" "${resume[@]}" --same
expect 2 "$WORK/none.jsonl" wavefarm gate show "$WORK/none.jsonl"
expect 2 "suite.json" wavefarm gate show "$WORK/suite.json"
expect 2 "no pair's key or case matches 'nope'" wavefarm gate show "$WORK/wrong.jsonl" --case nope

# --- noise: learnt when a gate ends, used by the next one ---
id_of() {
    wavefarm pack show "$WORK/$1" --json | sed -n 's/^  "id": "\(.*\)",$/\1/p'
}
declare -A id=([before]=$(id_of before) [after]=$(id_of after))
device=$(python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))["devices"][0]))' "$WORK/header.json")
# All rounds are there, the verdict is not: a gate that was killed in the last moment.
"$maker" --packs "${id[before]}" "${id[after]}" --device "$device" a/right=0 b/right=0.03 |
    sed '$d' >"$WORK/last.jsonl"
rm -f "$WORK/cache/gate-noise.json"
expect 1 "1 slower of 2" wavefarm gate --base "$WORK/before" --cand "$WORK/after" --resume "$WORK/last.jsonl"
expect 0 "bit by bit" wavefarm gate replay "$WORK/last.jsonl"
equal "what was learnt" "$(json "$WORK/cache/gate-noise.json" \
    'sorted((k.split("/")[0], e["blocks"], e["rounds"], 0.0005 < e["s0"] < 0.01, e["tau"] < 0.005)
    for k, e in v["entries"].items())')" "[('a', 2, 0, True, True), ('b', 6, 6, True, True)]"
case=$(json "$WORK/header.json" 'v["pairs"][0]["case_id"]')
sed -i "s|\"b/right/|\"$case/right/|; s|\"s0\": 0.0.*|\"s0\": 0.03,|" "$WORK/cache/gate-noise.json"
margins() { # margins ARGUMENT...: of the first pair
    rm -f "$WORK/margins.jsonl"
    "${gate[@]}" --kernels right --cases 'a*' --out "$WORK/margins.jsonl" "$@" >/dev/null 2>"$WORK/margins.err"
    head -n 1 "$WORK/margins.jsonl" >"$WORK/margins.json"
    MARGINS=$(json "$WORK/margins.json" '"{d0:.3f} {d1:.3f} {s0:.3f} {source}".format(**v["pairs"][0]["margins"])')
}
margins
equal "margins of the registry" "$MARGINS" "0.015 0.060 0.030 registry: 6 blocks, 6 A/A rounds"
echo '{"schema": "wavefarm.gate-policy/1", "margins": [{"case": "a*", "d0": 0.01, "d1": 0.04}, {"kernel": "no", "d0": 0, "d1": 1}]}' \
    >"$WORK/policy.json"
margins --policy "$WORK/policy.json"
equal "margins of the policy" "$MARGINS" "0.010 0.040 0.030 policy: margins[0]"
echo nonsense >"$WORK/cache/gate-noise.json"
margins
equal "margins without a registry" "$MARGINS" "0.005 0.020 0.004 default"
grep -q "gate-noise.json is no registry of noise" "$WORK/margins.err" || fail "a broken registry is not told"

# --- the base's lineage: from provenance, and from git where it is at hand ---
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
    GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
# commit NAME DAYS-AGO [PARENT...]: an empty commit whose hash is left in $NAME.
commit() {
    local date="@$(($(date +%s) - $2 * 86400)) +0000" parent=()
    local name=$1 p
    shift 2
    for p in "$@"; do parent+=(-p "$p"); done
    printf -v "$name" %s "$(GIT_AUTHOR_DATE=$date GIT_COMMITTER_DATE=$date git -C "$WORK/repo" commit-tree \
        "${parent[@]}" -m "$name" "$tree")"
}
# provenance PACK COMMIT [PARENT]
provenance() {
    echo "{\"schema\":\"wavefarm.provenance/1\",\"pack\":\"${id[$1]}\",\"repository\":null,\"commit\":\"$2\",\"parents\":[${3:+\"$3\"}],\"dirty\":${dirty:-false},\"built_at\":\"2026-12-01T00:00:00.000Z\",\"kernels\":{}}" \
        >"$WORK/$1/provenance.json"
}
git init -q "$WORK/repo" || fail "no repository"
tree=$(git -C "$WORK/repo" mktree </dev/null)
root='' fork='' main='' change='' head='' # set by commit
commit root 40
commit fork 31 "$root"
commit main 1 "$fork"
commit change 2 "$fork"
commit head 1 "$change"
lineage() { # lineage TEXT BASE CAND [PARENT]: in and out of the repository
    provenance before "$2"
    provenance after "$3" "${4:-}"
    (cd "$WORK/repo" && expect "${5:-0}" "$1" "${gate[@]}" --kernels right "${more[@]}") || exit 1
}
more=()
lineage "an ancestor of the candidate, 31 days old, 2 commits apart" "$fork" "$head" "$change"
lineage "the candidate's parent, 2 days old, 1 commits apart" "$change" "$head" "$change"
lineage "NOT an ancestor of the candidate, so no fork point (${fork:0:12} is)" "$main" "$head" "$change"
lineage "the very commit of the candidate" "$head" "$head" "$change"
lineage "not known to be where" "$(printf %040d 0)" "$head" "$change"
dirty=true lineage "the candidate's tree was not clean" "$fork" "$head" "$change"
echo '{"schema": "wavefarm.gate-policy/1", "baseline": {"ancestor": true, "max_age_days": 30}}' >"$WORK/policy.json"
more=(--policy "$WORK/policy.json")
lineage "the base is 31 days old, the policy allows 30" "$fork" "$head" "$change" 3
lineage "this one is NOT an ancestor" "$main" "$head" "$change" 3
lineage "this one is the very commit" "$head" "$head" "$change" 3
lineage "unchanged" "$change" "$head" "$change" 0
provenance before "$fork"
expect 3 "whether it is an ancestor is not known without the repository" "${gate[@]}" --kernels right "${more[@]}"
