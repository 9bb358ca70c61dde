#!/bin/sh
# Fails when clang-format 14 would change a file; `tools/check_format.sh --fix` changes it.
set -u
cd "$(dirname "$0")/.." || exit 2
mode='--dry-run -Werror'
[ "${1:-}" = --fix ] && mode=-i
# shellcheck disable=SC2086
git ls-files -z '*.c' '*.h' | xargs -0 -n 40 -P 2 clang-format $mode
