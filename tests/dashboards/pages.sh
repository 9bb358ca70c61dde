#!/usr/bin/env bash
# Starts a farm with results and a run that goes on, and has pages.mjs look at it.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/../system/lib.sh"
build=$3
chromium=$(command -v chromium || command -v chromium-browser) || skip "no chromium"
[ -d "$build/dashboards/npm/node_modules/playwright-core" ] ||
    fail "playwright-core is not in $build/dashboards/npm: build the target wavefarm_pages"

small_suite 12
gate_pack
farm_up --poll-period 200ms
farm_workers 2 || fail "no workers"
submit gemm-five --cases '*1280*' --runtime host --budget 50ms --name "five sizes <b>&amp;"
submit_first=$RUN
submit "$WORK/small.json" --runtime host --kernels gemm_openblas --budget 20ms
second=$RUN
wavefarm status "$submit_first" --wait >/dev/null 2>&1
wavefarm status "$second" --wait >/dev/null 2>&1

# A wrong answer, from a file.
wavefarm run "$WORK/small.json" --cases c1 --kernels gemm_openblas --no-measure \
    --out "$WORK/local.jsonl" >/dev/null 2>&1
sed 's/"answer":"PASS","answer_text":""/"answer":"MISMATCH","answer_text":"D[0, 17] is 2, wanted 1"/
    s/"diagnosis":""/"diagnosis":"ratio 2: fnuz taken for ocp"/' "$WORK/local.jsonl" >"$WORK/bad.jsonl"
expect 0 "" wavefarm push "$WORK/bad.jsonl"
bad=$(farm_sql "SELECT max(run_id) FROM run WHERE kind = 'imported'")

# Held at its gate: the page sees it end.
touch "$WORK/gate/hold"
submit "$WORK/small.json" --pack "$WORK/gate-pack" --budget 10ms --name "going on"
until_true 30 has_started 1

mkdir -p "$build/dashboards-shots"
NODE_PATH=$build/dashboards/npm/node_modules timeout 120 node \
    "$TESTS_ROOT/tests/dashboards/pages.mjs" \
    --playwright "$build/dashboards/npm/node_modules/playwright-core/index.mjs" \
    --chromium "$chromium" --url "$WAVEFARM_SERVER" --token "$(cat "$FARM/tokens/reader")" \
    --run "$submit_first" --small "$second" --bad "$bad" --going "$RUN" \
    --hold "$WORK/gate/hold" --profile "$WORK/profile" --shots "$build/dashboards-shots" ||
    fail "pages.mjs"
