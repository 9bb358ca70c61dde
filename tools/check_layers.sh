#!/bin/sh
# Include rules: core is below all; runner and coordinator never meet; one third-party
# header in one file. Prints each break as file:line and exits 1.
set -u
cd "$(dirname "$0")/.." || exit 2
bad=0

# rule FOLDER FORBIDDEN-REGEX: what the folder may not include
rule() {
    found=$(grep -rnE "^ *# *include +\"($2)/" "$1" --include='*.c' --include='*.h' \
        --include='*.hip' --include='*.def' 2>/dev/null)
    [ -z "$found" ] && return
    echo "$found" | sed "s|\$|   <- $1 may not include ($2)|"
    bad=1
}
rule core 'packs|gate|tune|isa|datasets|kernels|runner|coordinator|cli|dashboards|emulator'
rule packs 'gate|tune|isa|datasets|kernels|runner|coordinator|cli|dashboards|emulator'
rule gate 'tune|isa|datasets|kernels|runner|coordinator|cli|dashboards|emulator'
rule isa 'gate|tune|datasets|kernels|runner|coordinator|cli|dashboards|selftest'
rule tune 'isa|datasets|kernels|runner|coordinator|cli|dashboards|emulator|selftest'
rule datasets 'packs|gate|tune|isa|runner|coordinator|cli|dashboards|emulator'
rule kernels 'gate|tune|isa|runner|coordinator|cli|dashboards|emulator'
rule emulator 'gate|tune|isa|datasets|kernels|coordinator|cli|dashboards'
# Of the runner it knows the ABI that it implements.
found=$(grep -rnE '^ *# *include +"runner/' emulator --include='*.c' --include='*.h' |
    grep -vE '"runner/hip_(abi\.h|functions\.def)"')
[ -n "$found" ] && { echo "$found   <- emulator may include only the HIP ABI of runner"; bad=1; }
rule runner 'gate|tune|isa|coordinator|cli|dashboards'
rule coordinator 'runner|tune|isa|cli|selftest'
rule selftest 'coordinator|cli|dashboards'
# Page tables and suites sit on both sides of the ops: only suite.[ch] may know cases.
found=$(grep -rnE '^ *# *include +"kernels/' datasets --include='*.c' --include='*.h' |
    grep -v '^datasets/suite')
[ -n "$found" ] && { echo "$found   <- only datasets/suite* may include kernels"; bad=1; }

# only HEADER FILE...: the files that may include a third-party header
only() {
    header=$1
    shift
    found=$(grep -rnE "^ *# *include +<$header>" core packs gate isa tune datasets \
        kernels runner coordinator cli emulator selftest --include='*.c' --include='*.h' 2>/dev/null)
    for f in "$@"; do
        found=$(printf '%s\n' "$found" | grep -v "^$f:")
    done
    [ -z "$found" ] && return
    echo "$found   <- <$header> belongs to $*"
    bad=1
}
only 'c[jJ]son/cJSON\.h' core/json.c
only 'cJSON\.h' core/json.c
only 'curl/curl\.h' core/http_client.c
only 'openssl/.*' core/sha256.c
only 'libpq-fe\.h' coordinator/db.c
only 'microhttpd\.h' coordinator/http_server.c
only 'archive.*\.h' packs/archive.c
only 'hip/.*'
only 'elfutils/.*' emulator/load/lines.c
only 'zlib\.h' emulator/load/decompress_zlib.c
only 'zstd\.h' emulator/load/decompress_zstd.c
only 'cblas\.h' kernels/gemm/openblas.c
only 'cublas.*'
only 'hipblas.*'
exit $bad
