#!/usr/bin/env bash
# Runs fuzz targets of a fuzz build (default: every one) for some seconds on their corpus.
# usage: tools/fuzz.sh BUILD-FOLDER SECONDS [CORPUS-FOLDER [TARGET...]]
# New inputs go to CORPUS-FOLDER (default: a temporary one); a crash is kept there.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
seconds=$2
grow=${3:-$(mktemp -d)}
fuzz_one() {
    local target=$1 name seeds
    name=$(basename "$target")
    seeds=tests/fuzz/corpus/${name#fuzz_}
    mkdir -p "$grow/$name"
    "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
        -print_funcs=0 -print_final_stats=1 -artifact_prefix="$grow/$name-" "$grow/$name" \
        $([ -d "$seeds" ] && echo "$seeds") 2>&1 |
        sed "s/^/$name: /"
}
export -f fuzz_one
export seconds grow
targets=("${@:4}")
if [ ${#targets[@]} -gt 0 ]; then
    printf '%s\0' "${targets[@]/#/$build/bin/}"
else
    find "$build/bin" -name 'fuzz_*' -type f -perm -u+x -print0 | sort -z
fi |
    xargs -0 -n 1 -P "$(nproc)" bash -c 'set -euo pipefail; fuzz_one "$0"'
