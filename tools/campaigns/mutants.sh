#!/usr/bin/env bash
# The judge's catch rate: all hand-written mutants and cheats, at least 1,000 generated
# mutants and 10,000 right runs with fresh seeds. Counts of several runs are added up.
#   WF_SELFTEST      an installed or built `wavefarm` to use instead of building one
#   WF_GENERATED     1000     WF_RIGHT_RUNS   10000     WF_JOBS   0 (one a processor)
set -euo pipefail
state=$1
wavefarm=${WF_SELFTEST:-build/release/bin/wavefarm}
if [ -z "${WF_SELFTEST:-}" ]; then
    cmake --preset release >/dev/null
    cmake --build --preset release >/dev/null
fi
status=0
"$wavefarm" selftest mutants --json --generated "${WF_GENERATED:-1000}" \
    --right-runs "${WF_RIGHT_RUNS:-10000}" --jobs "${WF_JOBS:-0}" --progress \
    >"$state/last.json" || status=$?
# 1 is a verdict with numbers; anything else has none.
[ "$status" -le 1 ] || exit "$status"
python3 - "$state" <<'PY'
import json, os, sys
state = sys.argv[1]
last = json.load(open(f"{state}/last.json"))
path = f"{state}/totals.json"
old = json.load(open(path)) if os.path.exists(path) else {
    "runs": 0, "generated": 0, "generated_caught": 0, "right_runs": 0, "false_alarms": 0,
    "generated_survivors": [], "alarms": []}
old["runs"] += 1
old["generated"] += last["generated"]["total"]
old["generated_caught"] += last["generated"]["caught"]
old["right_runs"] += last["right_runs"]
old["false_alarms"] += last["false_alarms"]
old["generated_survivors"] = sorted(set(old["generated_survivors"])
                                    | set(last["generated"]["survivors"]))
old["alarms"] += last["alarms"]
json.dump(old, open(path, "w"), indent=1)

def rate(part, of):
    return f"{100 * part / of:.1f} %" if of else "-"

out = ["| group | total | caught | rate | allclose 1e-2/1e-2 | FlashInfer-Bench | "
       "5 % may fail |", "|---|---|---|---|---|---|---|"]
for name in ("wrong", "cheats", "generated"):
    g = last[name]
    peers = [rate(g["peers"][p], g["total"])
             for p in ("allclose", "flashinfer_bench", "five_percent")]
    out.append(f"| {name} | {g['total']} | {g['caught']} | {rate(g['caught'], g['total'])} | "
               + " | ".join(peers) + " |")
out += ["", f"Seed {last['seed']}, {last['seconds']:.0f} s. Right runs {last['right_runs']}, "
        f"false alarms {last['false_alarms']}.", "",
        f"All runs together ({old['runs']}): generated {old['generated']}, caught "
        f"{old['generated_caught']} ({rate(old['generated_caught'], old['generated'])}); "
        f"right runs {old['right_runs']}, false alarms {old['false_alarms']}.", ""]
for name in ("wrong", "cheats"):
    out += [f"Not caught, {name}: "
            + (", ".join(f"`{s}`" for s in last[name]["survivors"]) or "none") + ".", ""]
out.append("Not caught, generated:" + ("" if old["generated_survivors"] else " none."))
out += [f"- `{s}`" for s in old["generated_survivors"]]
if old["alarms"]:
    out += ["", "False alarms:"] + [f"- `{s}`" for s in old["alarms"]]
out += ["", "Generated mutants left out, with the reason:"]
out += [f"- {s}" for s in last["excluded"]]
open(f"{state}/summary.md", "w").write("\n".join(out) + "\n")
PY
exit "$status"
