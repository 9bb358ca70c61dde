#!/bin/sh
# Files over 600 lines fail (tables, device kernels, tests and pages apart); functions
# are measured by clang-tidy.
set -u
cd "$(dirname "$0")/.." || exit 2
find core packs gate isa tune datasets kernels runner coordinator cli emulator selftest \
    \( -name '*.c' -o -name '*.h' \) 2>/dev/null |
    xargs wc -l |
    awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines, at most 600"; bad = 1 }
         END { exit bad }'
