#!/usr/bin/env bash
# The folder that tools/bundle.sh makes has what it needs beside glibc, and its emulator runs.
# usage: bundle.sh BUILD-FOLDER
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
build=$1
grep -q __asan_init "$build/bin/wavefarm" && skip "a sanitizer's libraries stay where they are"

expect 0 "bundle: " "$TESTS_ROOT/tools/bundle.sh" "$build" "$WORK/made"
mv "$WORK/made" "$WORK/node"
at=$WORK/node
system='^(ld-linux[^/]*|libc|libm|libdl|librt|libpthread|libresolv)\.so'
for file in "$at"/bin/wavefarm{,-judge,-subject} "$at"/lib/*.so "$at"/lib/hip/*; do
    while read -r name _ path _; do
        [[ $name =~ $system || $path == "$at"/lib/bundled/* ]] ||
            fail "$file: $name would come from ${path:-nowhere}"
    done < <(LD_LIBRARY_PATH=$at/lib/bundled ldd "$file" | grep '=>')
done

cat >"$WORK/small.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "small", "description": "one small product",
 "defaults": {"op": "gemm"}, "cases": [{"name": "a", "M": 128, "N": 128, "K": 64}]}
END
expect 0 "1 results: 1 PASS" env -i PATH=/usr/bin:/bin HOME="$WORK" WAVEFARM_CACHE="$WORK/cache" \
    "$at/wavefarm" run "$WORK/small.json" --device emulator --kernels gemm_f16_mfma_128x128_nn --no-measure
exit 0
