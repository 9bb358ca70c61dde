#!/usr/bin/env bash
# Makes a folder that runs `wavefarm` (local runs and workers) on an x86-64 node where
# nothing can be installed: programs, runtimes, packs, suites, and the shared libraries
# that they need beside glibc. The GPU's own runtime or driver comes from the node.
# usage: tools/bundle.sh BUILD-FOLDER OUT-FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
out=$2
[ -x "$build/bin/wavefarm" ] || { echo "bundle: no $build/bin/wavefarm: build first" >&2; exit 2; }
rm -rf "$out"
mkdir -p "$out/lib/bundled"
cmake --install "$build" --prefix "$(cd "$out" && pwd)" --component node >/dev/null
[ -x "$out/bin/wavefarm" ] || { echo "bundle: $build is from an older version: build it again" >&2; exit 2; }

# glibc's own parts and the loader belong to the node.
system='/(ld-linux[^/]*|libc|libm|libdl|librt|libpthread|libresolv|libnss_[^/]*)\.so'
needed() {
    ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u
}
# OpenBLAS is opened at run time, so no program names it.
blas=$(ldconfig -p | awk '/libopenblas\.so\.0/ && !found { print $NF; found = 1 }')
for lib in $(needed "$out"/bin/* "$out"/lib/*.so ${blas:+"$blas"}) ${blas:+"$blas"}; do
    [[ $lib =~ $system ]] || cp -L "$lib" "$out/lib/bundled/$(basename "$lib")"
done
cat >"$out/wavefarm" <<'W'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH=$here/lib/bundled${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "$here/bin/wavefarm" "$@"
W
chmod +x "$out/wavefarm"
du -sh "$out" | awk '{ print "bundle: " $2 ", " $1 }'
