#!/usr/bin/env bash
# The proof of the GEMM family on the emulator: every gemm kernel of the pack
# wavefarm-gfx942, every pair of types, every transpose (tests/campaign). What a state
# has, of the same code, is not done again.
#   WF_GEMM_BUILD    a build folder to use instead of building one
#   WF_GEMM_SEED     1        WF_GEMM_REDUCED  6 cases of a cell from each list
#   WF_GEMM_KERNELS  *        WF_GEMM_FIVE     1: the five sizes in full too
#   WF_GEMM_LISTS    more lists of sizes: "NAME=FILE NAME=FILE"
set -euo pipefail
state=$1
minutes=${2:-60}
build=${WF_GEMM_BUILD:-build/campaigns/build-gemm}
if [ -z "${WF_GEMM_BUILD:-}" ]; then
    cmake --preset release -DWF_TESTS=ON -B "$build" >/dev/null
    cmake --build "$build" --target gemm_campaign wf_runner_programs wavefarm_emulator \
        pack-wavefarm-gfx942 >/dev/null
fi
lists=(--list "gemm-llm=datasets/suites/gemm-llm.json")
for name in llm hipblaslt aiter; do
    lists+=(--list "$name=tests/campaign/shapes_$name.csv")
done
for list in ${WF_GEMM_LISTS:-}; do
    lists+=(--list "$list")
done
[ "${WF_GEMM_FIVE:-1}" = 0 ] || lists+=(--five datasets/suites/gemm-five.json)
status=0
"$build/bin/gemm_campaign" --pack "$build/packs/wavefarm-gfx942" "${lists[@]}" \
    --kernels "${WF_GEMM_KERNELS:-*}" --seed "${WF_GEMM_SEED:-1}" \
    --reduced "${WF_GEMM_REDUCED:-6}" --minutes "$minutes" \
    --state "$state/lines.jsonl" --summary "$state/cases.md" >"$state/last.log" || status=$?
[ "$status" -ne 2 ] || { cat "$state/last.log" >&2; exit 2; }
{
    cat "$state/cases.md"
    echo
    echo "Seed ${WF_GEMM_SEED:-1}. All lines of all commits so far:" \
        "$(wc -l <"$state/lines.jsonl") cases." \
        "$([ "$status" -ne 3 ] || echo 'The time was up before all were done.')"
} >"$state/summary.md"
exit "$status"
