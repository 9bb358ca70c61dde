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
# With a place for what is wrong, and with all that a card and a cold run tell besides.
python3 - "$WORK/bad.jsonl" <<'END' || fail "cannot edit the results"
import json, sys
head, line = open(sys.argv[1]).read().splitlines()
r = json.loads(line)
r["errors"].update(mismatches=3, first={"tensor": "D", "index": [0, 17], "got": 2, "want": 1},
                   worst={"tensor": "D", "index": [9, 3], "got": 8, "want": 4, "tolerance": 0.01},
                   map={"tensor": "D", "rows": 17, "cols": 18, "cell_rows": 9, "cell_cols": 9,
                        "wrong": [[0, 1], [2, 0]], "checked": [[81, 81], [2, 0]]})
rich = json.loads(line)
rich["task"].update(case_name="card", id="card:0")
rich.update(answer="PASS", answer_text="", diagnosis="", time="OK", time_text="")
rich["mode"].update(temperature="cold", icache="cold")
n, x = 200, "nan"
rich["timing"] = {
    "unit": "ns", "source": "device-events", "launches_per_sample": 4, "warmup_launches": 9,
    "median": 51000.0, "mad": 80.0, "min": 50900.0, "max": 51200.0, "mean": 51000.0, "q1": 50950.0,
    "q3": 51050.0, "ci_lo": 50800.0, "ci_hi": 51200.0, "invalid": [], "flagged": [],
    "samples": [51000.0 + i % 7 * 20 for i in range(n)], "clock_mhz": [x] + [1700.0 + i for i in range(n - 1)],
    "power_w": [650.0] * n, "temperature_c": [61.0] * n, "throttle": [0] * n, "host_ratio": 1.02,
    "p01": 50900.0, "p05": 50910.0, "p95": 51100.0, "p99": 51150.0, "drift": 0.0021,
    "autocorrelation": 0.1, "effective_samples": 163.6}
rich["details"].update(
    sets=11, warmup="steady", warmup_clock="steady", warmup_ns=412000000,
    cold_probe={"verdict": "not proven", "text": "cold is only 1.02 times slower than hot",
                "when": "2026-01-02T03:04:05Z", "ratio": 1.02, "set_bytes": 1, "target_bytes": 1},
    icache={"copies": 11, "code_bytes": 49792, "total_bytes": 547712, "covers": "the caches"},
    audit={"changes": 8, "launches": 4, "launch_ns": 52000.0}, lock_wait_ns=2000000000.0,
    asked={"ci_target": 0.01, "budget_ns": 2000000000, "min_samples": 10, "max_samples": 1000})
rich["environment"]["placement"] = {"subject_cpu": 1, "judge_cpu": 0, "subject_nice": -10,
                                    "judge_nice": -10, "note": ""}
head = json.dumps(dict(json.loads(head), expected=2))
open(sys.argv[1], "w").write("\n".join([head, json.dumps(r), json.dumps(rich), ""]))
END
"$TESTS_ROOT/tests/support/validate_schema.py" --lines "$TESTS_ROOT/docs/schemas/result.schema.json" \
    "$WORK/bad.jsonl" || fail "the edited results are not as the schema says"
expect 0 "" wavefarm push "$WORK/bad.jsonl"
bad=$(farm_sql "SELECT max(run_id) FROM run WHERE kind = 'imported'")

# A gate, which is no run for the pages: nothing changed, so it is over at once.
expect 0 "unchanged" wavefarm gate submit --base "$WORK/gate-pack" --cand "$WORK/gate-pack" \
    --suite "$WORK/small.json" --runtime host --no-sentinels --wait
gate=$(farm_sql "SELECT run_id FROM gate")

# Held at its gate: the page sees it end.
touch "$WORK/gate/hold"
submit "$WORK/small.json" --pack "$WORK/gate-pack" --budget 10ms --name "going on"
until_true 30 has_started 1

mkdir -p "$build/dashboards-shots"
NODE_PATH=$build/dashboards/npm/node_modules timeout 120 node \
    "$TESTS_ROOT/tests/dashboards/pages.mjs" \
    --playwright "$build/dashboards/npm/node_modules/playwright-core/index.mjs" \
    --chromium "$chromium" --url "$WAVEFARM_SERVER" --token "$(cat "$FARM/tokens/reader")" \
    --run "$submit_first" --small "$second" --bad "$bad" --going "$RUN" --gate "$gate" \
    --hold "$WORK/gate/hold" --profile "$WORK/profile" --shots "$build/dashboards-shots" ||
    fail "pages.mjs"
