#!/bin/sh
# Every header compiles by itself, once included twice. The emulator's are made for the
# vector units that its sources are compiled for.
set -u
cd "$(dirname "$0")/.." || exit 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
find core packs gate isa tune datasets kernels runner coordinator cli emulator selftest -name '*.h' \
    ! -path 'kernels/device/*' ! -path 'kernels/*/*_device.h' 2>/dev/null | sort >"$tmp/list"
awk -v d="$tmp" '{ f = d "/" NR ".c"
    printf "#include \"%s\"\n#include \"%s\"\nint wf_unit_%d;\n", $1, $1, NR > f
    close(f) }' "$tmp/list"
find "$tmp" -name '*.c' -print0 |
    xargs -0 -n 8 -P 2 gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -I. -fsyntax-only \
        -mavx2 -mfma -mf16c -mbmi2
