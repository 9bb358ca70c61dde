#!/usr/bin/env bash
# Proof of the gate on a real GPU: RUNS gates of equal work (other code) must not be red, RUNS
# gates of 3 % more work must be.
#
#   h200_gate.sh BUILD [RUNS] [OPTIONS of wavefarm gate...]
#
# BUILD is a build folder in which the targets wavefarm, wf_runner_programs, injected-packs,
# the packs and the device's adapter were made. Environment: DEVICE (default cuda:0), ARCH
# (default sm_90), OUT (a folder for the records; default a temporary one that stays), SUITE,
# WAVEFARM_CACHE (default a new one in OUT: noise that other gates learnt stays out).
# Exit status 0: all as it must be, else 1.
set -u
[ $# -ge 1 ] || { sed -n '2,11p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2
runs=${2:-10}
shift
[ $# -gt 0 ] && shift
device=${DEVICE:-cuda:0}
arch=${ARCH:-sm_90}
suite=${SUITE:-$here/gate_proof.json}
out=${OUT:-$(mktemp -d)}
mkdir -p "$out" || exit 2
export WAVEFARM_CACHE=${WAVEFARM_CACHE:-$out/cache}
pack=wavefarm-$arch
[ "$arch" = host ] || for p in 0 3; do
    [ -f "$build/test-packs/injected-$arch-$p/pack.json" ] ||
        { echo "$0: no pack injected-$arch-$p: build target injected-packs" >&2; exit 2; }
done

for percent in 0 3; do
    for ((i = 1; i <= runs; i++)); do
        name=$out/$percent-$i
        rm -f "$name.jsonl"
        begin=$(date +%s.%N)
        "$build/bin/wavefarm" gate --base "$build/packs/$pack" \
            --cand "$build/test-packs/injected-$arch-$percent" --suite "$suite" \
            --device "$device" --out "$name.jsonl" --seed-offset "$((100 * percent + i))" "$@" \
            >"$name.txt" 2>"$name.err"
        echo "$? $(echo "$(date +%s.%N) - $begin" | bc)" >"$name.status"
        printf '%s %% run %d: exit status and seconds %s\n' "$percent" "$i" "$(cat "$name.status")"
    done
done
exec python3 "$here/gate_table.py" "$out" "$runs"
