#!/usr/bin/env bash
# Packs with the record of where they come from, as the farm and its results show it; and
# what a worker tells a program.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES=$WORK
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
unset GIT_DIR GIT_WORK_TREE
small_suite 3
gate_pack
farm_up

tree=$WORK/tree
mkdir "$tree"
cp -r "$WORK/gate-pack" "$tree/pack" || fail "no tree"
git_() { git -C "$tree" "$@" >"$WORK/git.log" 2>&1 || fail "git $*: $(cat "$WORK/git.log")"; }
# publish OPTIONS...: its JSON is $WORK/published.json, what it says on stderr $SAID.
publish() {
    SAID=$(wavefarm pack publish "$tree/pack" --json "$@" 2>&1 >"$WORK/published.json") ||
        fail "pack publish $*: $SAID"
}
published() { equal "published: $1" "$(json "$WORK/published.json" "$1")" "$2"; }

# --- no work tree: refused before anything is sent ---
expect 2 "--commit: $tree/pack is not in a git work tree" wavefarm pack publish "$tree/pack" --commit
equal "blobs before the first good publish" "$(farm_sql "SELECT count(*) FROM blob")" 0
expect 2 "give --commit too" wavefarm pack publish "$tree/pack" --repository https://example.org/k.git
publish
published 'v["provenance"]' None
published 'v["records"]' 0

# --- a commit, with its parent ---
git_ init -q
git_ add pack
git_ commit -q -m one
git_ commit -q --allow-empty -m two
git_ remote add origin https://me:secret@example.org/kernels.git
commit=$(git -C "$tree" rev-parse HEAD)
for _ in 1 2; do
    publish --commit
    equal "said of a clean tree" "$SAID" ""
    published 'v["records"]' 1
done
published 'v["provenance"]["commit"]' "$commit"
published 'v["provenance"]["parents"]' "['$(git -C "$tree" rev-parse HEAD^)']"
published 'v["provenance"]["dirty"]' False
published 'v["provenance"]["repository"]' https://example.org/kernels.git
published 'v["provenance"]["kernels"]' '{}'
[ ! -e "$tree/pack/provenance.json" ] || fail "publish wrote into the folder"

# --- changes and another address are recorded; passwords are not ---
expect 2 "holds a user or password" wavefarm pack publish "$tree/pack" --commit \
    --repository https://me:secret@example.org/k.git
echo changed >"$tree/notes"
git_ add notes
publish --commit --repository https://example.org/fork.git
[[ $SAID == *"differ from the commit"* ]] || fail "no warning of a dirty tree: $SAID"
published 'v["provenance"]["dirty"]' True
published 'v["provenance"]["repository"]' https://example.org/fork.git
published 'v["records"]' 2

# --- compilers and flags of the build's own record stay, unless it is of another commit ---
pack=$(json "$WORK/published.json" 'v["pack"]')
built() { # built COMMIT
    cat >"$tree/pack/provenance.json" <<END
{"schema": "wavefarm.provenance/1", "pack": "$pack", "built_at": "2026-01-02T03:04:05.678Z",
 "repository": null, "commit": $1, "parents": [], "dirty": null,
 "kernels": {"gate_gemm": {"compiler": "gcc", "compiler_version": "gcc 12", "flags": ["-O2"],
  "source": "gate_gemm.c", "source_sha256": "$(printf '%064d' 7)"}}}
END
}
built "\"$(printf '%040d' 5)\""
expect 2 "the pack was built at commit 0000" wavefarm pack publish "$tree/pack" --commit
publish
published 'v["provenance"]["commit"]' "$(printf '%040d' 5)"
built null
publish --commit
published 'v["provenance"]["kernels"]["gate_gemm"]["flags"]' "['-O2']"
published 'v["provenance"]["commit"]' "$commit"
published 'v["records"]' 4
rm "$tree/pack/provenance.json"

# --- a run whose pack has no record shows the one that was published last ---
submit "$WORK/small.json" --pack "$tree/pack" --kernels gate_gemm --runtime host --no-measure
wavefarm worker --device host --name told --spool "$WORK/spool" --idle-exit 1s --json \
    --token-file "$FARM/tokens/runner" >"$WORK/events" 2>"$WORK/worker.log" ||
    fail "worker: $(cat "$WORK/worker.log")"
one_result_each 3
task=$(farm_sql "SELECT min(task_id) FROM task WHERE run_id = $RUN")
wavefarm show "$task" --json >"$WORK/task.json" || fail "no task $task"
[[ $(cat "$WORK/task.json") == *"$commit"* ]] || fail "the result does not name the commit"

# --- the worker's events ---
events() {
    python3 - "$WORK/events" "$1" <<'END'
import json, sys
v = [json.loads(line) for line in open(sys.argv[1])]
print(eval(sys.argv[2]))
END
}
equal "first event" "$(events 'v[0]["event"], v[0]["name"]')" "('registered', 'told')"
equal "leased tasks" "$(events 'sum(e["tasks"] for e in v if e["event"] == "lease")')" 3
equal "verdicts" "$(events '[e["verdict"] for e in v if e["event"] == "result"]')" \
    "['accepted', 'accepted', 'accepted']"
equal "last event" "$(events '[v[-1][k] for k in ("event", "results", "stale", "refused", "error")]')" \
    "['end', 3, 0, 0, None]"
