#!/usr/bin/env bash
# The probes' gfx942 pack on the emulator: every kernel right to the bit, and neither cold
# nor icache cold makes a time of a model's. probe_code has a share of registers for a single
# wave: more than 256 behind accum_offset.
#   probes.sh BIN PROBE-PACK
# shellcheck source=tests/runner_emulator/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cat >"$WORK/probe.json" <<'END'
{"schema": "wavefarm.suite/1", "name": "probe", "description": "known work", "defaults": {"op": "probe"},
 "cases": [{"name": "read", "work": "read", "bytes": 69632, "parts": 3},
           {"name": "code", "work": "code", "lanes": 256, "steps": 256},
           {"name": "spin", "work": "spin", "ns": 2000},
           {"name": "clocks", "work": "clocks", "clocks": 1000}]}
END
run_suite "$WORK/probe.json" --pack "$2" --cold --icache cold
equal "answers" "$(json "$WORK/result.json" "sorted((r['task']['case_name'], r['answer'], r['time'])
    for r in v if r['answer'] != 'NOT_SUPPORTED')")" \
    "[('clocks', 'PASS', 'MODELLED'), ('code', 'PASS', 'MODELLED'), ('read', 'PASS', 'MODELLED'), ('spin', 'PASS', 'MODELLED')]"
equal "mode" "$(json "$WORK/result.json" "v[0]['mode']['icache'], 'cold_probe' in v[0]['details']")" \
    "('cold', False)"

# Nor does the timing selftest: it says so.
expect 0 "verdict: modelled" wavefarm selftest timing --device emulator
expect 0 '"verdict": "modelled"' wavefarm selftest timing --device emulator --json
expect 2 "repeats" wavefarm selftest timing --device emulator --repeats -1
expect 2 "icache" wavefarm run "$WORK/probe.json" --device emulator --pack "$2" --icache warm
