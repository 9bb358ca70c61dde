#!/usr/bin/env bash
# Layouts of the field reports: right kernels pass, each reported fault is caught where its
# case shows it, and says why.
#   layouts.sh host BIN LIBRARY
#   layouts.sh emulator BIN FAULTY_PACK OUR_PACK
# shellcheck source=tests/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
PATH=$2:$PATH
for variable in $(compgen -v WAVEFARM_); do
    unset "$variable"
done
export WAVEFARM_CACHE=$WORK/cache
here=$TESTS_ROOT/tests/field_reports
table=$here/layouts.py

# run_into FILE SUITE OPTIONS...
run_into() {
    local code=0 file=$1
    shift
    wavefarm run "$@" --device "$device" --no-measure --json >"$file" 2>"$WORK/err" || code=$?
    [ "$code" -le 1 ] || fail "wavefarm run $*: exit status $code: $(cat "$WORK/err")"
}

device=$1
pack=$3
if [ "$device" = host ]; then
    pack=$WORK/pack
    mkdir "$pack"
    cp "$3" "$pack/kernels.so"
    "$table" pack "$here/layout_faults.h" >"$pack/pack.json.in"
    wavefarm pack build "$pack" >"$WORK/out"
fi
for op in attention gemm; do
    mkdir "$WORK/$op"
    "$table" suites "$device" "$here/layouts_$op.json" "$WORK/$op"
    for suite in "$WORK/$op"/*.json; do
        fault=$(basename "$suite" .json)
        run_into "$WORK/result-$op-$fault.json" "$suite" --pack "$pack" --kernels "*${op}_$fault"
    done
done
"$table" check "$device" "$WORK"/result-*.json || fail "see above"
for kernel in right grid16; do
    run_into "$WORK/a29-$kernel.json" "$here/a29.json" --pack "$pack" --cases "a29-$device" \
        --kernels "*gemm_$kernel"
done
"$table" check-a29 "$WORK/a29-right.json" "$WORK/a29-grid16.json" || fail "see above"
if [ "$device" = emulator ]; then
    # One kernel of each layout and each way through K, as in kernels.sh.
    run_into "$WORK/ours-attention.json" "$here/layouts_attention.json" --pack "$4" \
        --kernels 'paged_decode_f16_mfma_*'
    run_into "$WORK/ours-gemm.json" "$here/layouts_gemm.json" --pack "$4" --kernels 'gemm_f16_mfma_128x128_??'
    run_into "$WORK/ours-64.json" "$here/layouts_gemm.json" --pack "$4" --kernels 'gemm_f16_mfma_64x64_*nt'
    "$table" check-ours "$WORK"/ours-*.json || fail "see above"
fi
exit 0
