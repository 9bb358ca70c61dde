#!/usr/bin/env bash
# Proof of the gate on a real GPU: RUNS gates of a pack against itself (A/A, measured all the
# same) must not be red; RUNS gates in which one of the pack's kernels does 3 % more work
# must be.
#
#   h200_gate.sh BUILD [RUNS] [OPTIONS of wavefarm gate...]
#
# BUILD is a build folder in which the targets wavefarm, wf_runner_programs, injected-packs,
# the packs and the device's adapter were made. Environment: DEVICE (default cuda:0), ARCH
# (default sm_90), SLOWER (glob of the kernels with more work), KERNELS (globs of those that
# are compared), CASES (glob of the cases of the latter gates; default *-NT), OUT (a folder
# for the records; default a temporary one that stays), SUITE, PERCENTS (default "0 3"; with
# one of them the table is left to gate_table.py), FIRST (number of the first run).
# Every gate has a cache of its own: none knows what another one measured.
# Exit status 0: all as it must be, else 1.
set -u
[ $# -ge 1 ] || { sed -n '2,16p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2
runs=${2:-10}
shift
[ $# -gt 0 ] && shift
device=${DEVICE:-cuda:0}
arch=${ARCH:-sm_90}
suite=${SUITE:-$here/gate_proof.json}
read -ra kernels <<<"${KERNELS:-*_64x128_* paged_decode_*}"
slower=${SLOWER:-gemm_f16_mma_64x128_nt}
cases=('*' 0 0 "${CASES:-*-NT}")
out=${OUT:-$(mktemp -d)}
mkdir -p "$out" || exit 2
pack=$build/packs/wavefarm-$arch
injected=$build/test-packs/injected-$arch-3
[ -f "$injected/pack.json" ] ||
    { echo "$0: no pack injected-$arch-3: build target injected-packs" >&2; exit 2; }
packs=$(mktemp -d)
python3 "$here/mix_pack.py" "$pack" "$injected" "" "$packs/0" "${kernels[@]}" || exit 2
python3 "$here/mix_pack.py" "$pack" "$injected" "$slower" "$packs/3" "${kernels[@]}" || exit 2

for percent in ${PERCENTS:-0 3}; do
    for ((i = ${FIRST:-1}; i <= runs; i++)); do
        name=$out/$percent-$i
        rm -f "$name.jsonl"
        begin=$(date +%s.%N)
        WAVEFARM_CACHE=$(mktemp -d) "$build/bin/wavefarm" gate --base "$packs/0" \
            --cand "$packs/$percent" --same --suite "$suite" --cases "${cases[percent]}" \
            --device "$device" --out "$name.jsonl" --seed-offset "$((100 * percent + i))" "$@" \
            >"$name.txt" 2>"$name.err"
        echo "$? $(python3 -c "import time; print(round(time.time() - $begin, 1))")" >"$name.status"
        printf '%s %% run %d: exit status and seconds %s\n' "$percent" "$i" "$(cat "$name.status")"
    done
done
[ "${PERCENTS:-0 3}" != "0 3" ] || exec python3 "$here/gate_table.py" "$out" "$runs"
