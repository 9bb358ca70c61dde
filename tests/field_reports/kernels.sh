#!/usr/bin/env bash
# Shapes of the field reports through our own kernels: right, or refused with the reason.
#   kernels.sh host|emulator BIN PACK
# shellcheck source=tests/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
PATH=$2:$PATH
for variable in $(compgen -v WAVEFARM_); do
    unset "$variable"
done
export WAVEFARM_CACHE=$WORK/cache
here=$TESTS_ROOT/tests/field_reports
cases='*'
kernels=('*')
if [ "$1" = host ]; then
    cases='a*' # 65536 calls of a BLAS prove nothing that one does not
else
    # One kernel of each layout and each way through K; tiles and types besides: runner_emulator.
    kernels=('gemm_f16_mfma_128x128_??' 'gemm_f16_mfma_64x64_*nt' 'paged_decode_f16_mfma_*')
fi
for i in "${!kernels[@]}"; do
    code=0
    wavefarm run "$here/kernels.json" --device "$1" --cases "$cases" --pack "$3" --kernels "${kernels[i]}" \
        --no-measure --json >"$WORK/result-$i.json" 2>"$WORK/err" || code=$?
    [ "$code" -le 1 ] || fail "wavefarm run: exit status $code: $(cat "$WORK/err")"
done
"$here/kernels.py" "$1" "$WORK"/result-*.json || fail "see above"
[ "$1" = emulator ] || exit 0

# A80: a pack that says gfx942 and holds code for another processor: its kernels are not
# wrong, they do not run, and both names are told.
echo '{"schema": "wavefarm.suite/1", "name": "small", "description": "one product",
 "cases": [{"name": "c", "op": "gemm", "M": 64, "N": 64, "K": 64, "trans_b": "T"}]}' >"$WORK/small.json"
kernel=gemm_f16_mfma_64x64_split_nt
built_for() { # built_for MACH-BYTE STATUS-OF-BUILD TEXT-OF-BUILD ANSWER TEXT
    mkdir "$WORK/pack$1"
    cp "$pack"/*.co "$WORK/pack$1/"
    cp "$pack/pack.json" "$WORK/pack$1/pack.json.in"
    # e_flags' low byte: EF_AMDGPU_MACH
    printf "%b" "\\x$1" | dd of="$WORK/pack$1/$kernel.co" bs=1 seek=48 conv=notrunc status=none
    expect "$2" "$3" wavefarm pack build "$WORK/pack$1" # what it refused may come from elsewhere
    wavefarm run "$WORK/small.json" --device emulator --pack "$WORK/pack$1" --kernels "$kernel" \
        --no-measure --json >"$WORK/result.json" 2>"$WORK/err"
    equal "answer for $1" "$(json "$WORK/result.json" 'v[0]["answer"]')" "$4"
    [[ $(json "$WORK/result.json" 'v[0]["answer_text"]') == *"$5"* ]] ||
        fail "no '$5' in $(json "$WORK/result.json" 'v[0]["answer_text"]')"
}
pack=$3
does_not="which does not run on gfx942"
built_for 40 2 "is built for gfx940, $does_not" BUILD_FAILED "$kernel.co: built for gfx940, the device is gfx942"
built_for 4b 2 "is built for gfx941, $does_not" BUILD_FAILED "$kernel.co: built for gfx941, the device is gfx942"
built_for 4c 0 "" PASS ""
exit 0
