#!/usr/bin/env bash
# clang-tidy and cppcheck over the sources of a configured build folder.
# usage: tools/lint.sh BUILD-FOLDER [MAX-NODES]
# The analyser follows at most MAX-NODES (20000) states a function; its own default of
# 225000 takes ten times as long and is what `./check --full analyse` uses.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
nodes=${2:-20000}
mapfile -t files < <(git ls-files 'core/*.c' 'packs/*.c' 'datasets/*.c' 'kernels/*.c' \
    'runner/*.c' 'coordinator/*.c' 'cli/*.c' 'emulator/*.c' 'selftest/*.c' 'gate/*.c' 'isa/*.c' 'tune/*.c')
# Warnings of gcc's that clang does not know stay out of its command line.
tidy() {
    local files_a_process=$1
    shift
    xargs -0 -r -n "$files_a_process" -P "$(nproc)" clang-tidy -p "$build" --quiet "$@" \
        --extra-arg=-Wno-unknown-warning-option --extra-arg=-Xclang \
        --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes="$nodes"
}
# Several files a process: starting and reading the build folder's commands is a quarter
# of the time of a small file. Not those with a va_list: the analyser keeps what it knows
# of va_start from one file to the next, where it is wrong, so its valist checks see one
# file a process and the others, where they would find nothing, do without.
mapfile -t variadic < <(grep -lw va_list "${files[@]}")
mapfile -t others < <(printf '%s\n' "${files[@]}" "${variadic[@]}" | sort | uniq -u)
printf '%s\0' "${others[@]}" | tidy 8 --checks='-clang-analyzer-valist.*'
printf '%s\0' "${variadic[@]}" | tidy 1
cppcheck --enable=warning,portability --error-exitcode=1 --inline-suppr --quiet \
    -j "$(nproc)" --std=c11 -I . -D_GNU_SOURCE -DWF_VERSION='"0"' \
    --suppress=missingInclude --suppress=missingIncludeSystem \
    --suppress=unmatchedSuppression "${files[@]}"
