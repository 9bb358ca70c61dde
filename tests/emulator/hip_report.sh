#!/usr/bin/env bash
# What people are told of a fault, where reports go, and options that are nonsense.
#   hip_report.sh LIB PROGRAMS
# shellcheck source=tests/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
export LD_LIBRARY_PATH=$1/hip
faults=$2/faults
basic=$2/basic
unset "${!WAVEFARM_EMULATOR_@}"
export WAVEFARM_EMULATOR_BUDGET=2000000

# On standard error: what, where to the line, who.
expect 0 "access outside of every allocation (OUT_OF_BOUNDS)" "$faults"
[[ $OUTPUT == *"faults.hip:"*"global_store_dword"*"lane 63"* ]] || fail "$OUTPUT"
[[ $OUTPUT == *USE_AFTER_FREE*"#"*freed* ]] || fail "$OUTPUT"
[[ $OUTPUT == *"printf, assert and malloc of device code"* ]] || fail "$OUTPUT"

# In a file: a line of JSON for each launch, and nothing on standard error.
export WAVEFARM_EMULATOR_REPORT=$WORK/report.jsonl
expect 0 "faults: good" "$faults"
[[ $OUTPUT != *OUT_OF_BOUNDS* ]] || fail "$OUTPUT"
python3 - "$WORK/report.jsonl" <<'END' || fail "reports"
import json, sys
reports = [json.loads(line) for line in open(sys.argv[1])]
assert all(r["schema"] == "wavefarm.emulator-report/1" for r in reports)
answers = [r["fault"]["answer"] if r["fault"] else None for r in reports]
assert answers == [None, "OUT_OF_BOUNDS", None, "OUT_OF_BOUNDS", "DEVICE_FAULT", None,
                   None, "OUT_OF_BOUNDS", "TIMEOUT", "OUT_OF_BOUNDS", None], answers
first = next(r["fault"] for r in reports if r["fault"])
assert first["line"].startswith("faults.hip:"), first
assert first["lane"] == 63 and first["wave"] == 0, first
assert all(r["counters"] for r in reports if not r["fault"])
END
WAVEFARM_EMULATOR_REPORT=/nowhere/x expect 0 "cannot write the report to /nowhere/x" "$faults"
unset WAVEFARM_EMULATOR_REPORT

# The same counts for any number of threads.
for threads in 1 3; do
    WAVEFARM_EMULATOR_REPORT=$WORK/threads.$threads WAVEFARM_EMULATOR_THREADS=$threads \
        expect 0 "basic: good" "$basic"
    python3 -c 'import json, sys
for line in sys.stdin:
    d = json.loads(line)
    print(d["kernel"], d["instructions"], d["counters"])' \
        <"$WORK/threads.$threads" >"$WORK/counts.$threads"
done
cmp "$WORK/counts.1" "$WORK/counts.3" || fail "counts depend on the threads"

# Nonsense.
nonsense() { # VARIABLE VALUE
    expect 2 "WAVEFARM_EMULATOR_" env "WAVEFARM_EMULATOR_$1=$2" "$basic"
    [[ $OUTPUT == *hipErrorNoDevice* ]] || fail "$1=$2: $OUTPUT"
}
nonsense DEVICES 0
nonsense DEVICES 65
nonsense DEVICES two
nonsense DEVICES ''
nonsense THREADS 0
nonsense THREADS 1x
nonsense MFMA precise
nonsense CHECKS yes
nonsense COUNTERS 1
nonsense BUDGET -1
nonsense REPORT ''

# Programs of other generations start: the symbol versions and names that they ask for.
for n in 5 6 7; do
    python3 - "libamdhip64.so.$n" <<'END' || fail "libamdhip64.so.$n"
import ctypes, sys
hip = ctypes.CDLL(sys.argv[1])
version, count = ctypes.c_int(), ctypes.c_int()
assert hip.hipRuntimeGetVersion(ctypes.byref(version)) == 0
assert hip.hipGetDeviceCount(ctypes.byref(count)) == 0 and count.value == 2
assert version.value // 10000000 == (5 if sys.argv[1].endswith("5") else 6)
class Attributes(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("device", ctypes.c_int),
                ("device_pointer", ctypes.c_void_p), ("host_pointer", ctypes.c_void_p),
                ("managed", ctypes.c_int), ("flags", ctypes.c_uint)]
p, a = ctypes.c_void_p(), Attributes()
assert hip.hipMalloc(ctypes.byref(p), ctypes.c_size_t(64)) == 0
assert hip.hipPointerGetAttributes(ctypes.byref(a), p) == 0
assert a.type == (1 if sys.argv[1].endswith("5") else 2), a.type
assert hip.hipGraphCreate(None, 0) == 801
END
done
