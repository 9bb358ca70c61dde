#!/usr/bin/env bash
# The text of the version: the commit in a git work tree, "unknown" elsewhere, written
# only when it changes.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
cmake=$1
out=$WORK/version.c
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_CEILING_DIRECTORIES=$WORK

# text FOLDER: what the script writes for it.
text() {
    "$cmake" -DVERSION=1.2.3 -DSOURCE="$1" -DOUT="$out" \
        -P "$TESTS_ROOT/cmake/version.cmake" || fail "the script fails for $1"
    TEXT=$(sed -n 's/^const char wf_version\[\] = "\(.*\)";$/\1/p' "$out")
}
commit() {
    git -C "$WORK/tree" -c user.name=a -c user.email=a@example.org commit -q --allow-empty \
        -m "$1" || fail "no commit"
}

mkdir -p "$WORK/tree/inner"
text "$WORK/tree"
equal "outside git" "$TEXT" "1.2.3 (unknown)"
git -C "$WORK/tree" init -q || fail "no repository"
text "$WORK/tree"
equal "before the first commit" "$TEXT" "1.2.3 (unknown)"
commit one
text "$WORK/tree"
equal "at a commit" "$TEXT" "1.2.3 ($(git -C "$WORK/tree" rev-parse --short=12 HEAD))"
touch -d @1000000000 "$out"
text "$WORK/tree"
equal "time of the unchanged file" "$(stat -c %Y "$out")" 1000000000
commit two
text "$WORK/tree"
equal "at the next commit" "$TEXT" "1.2.3 ($(git -C "$WORK/tree" rev-parse --short=12 HEAD))"
text "$WORK/tree/inner"
equal "inside another work tree" "$TEXT" "1.2.3 (unknown)"
