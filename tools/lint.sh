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
# Several files a process: starting and reading the build folder's commands is a quarter
# of the time of a small file.
printf '%s\0' "${files[@]}" |
    xargs -0 -n 8 -P "$(nproc)" clang-tidy -p "$build" --quiet \
        --extra-arg=-Wno-unknown-warning-option --extra-arg=-Xclang \
        --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes="$nodes"
cppcheck --enable=warning,portability --error-exitcode=1 --inline-suppr --quiet \
    -j "$(nproc)" --std=c11 -I . -D_GNU_SOURCE -DWF_VERSION='"0"' \
    --suppress=missingInclude --suppress=missingIncludeSystem \
    --suppress=unmatchedSuppression "${files[@]}"
