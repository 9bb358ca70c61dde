#!/usr/bin/env python3
"""What each kernel of layout_faults.h must get for each case of layouts_*.json.

layouts.py pack HEADER                 pack.json.in of the host kernels, on stdout
layouts.py suites DEVICE SUITE FOLDER  FOLDER/FAULT.json: the cases that FAULT is needed for
layouts.py check host|emulator FILE...  results of the faulty kernels
layouts.py check-a29 RIGHT GRID16
layouts.py check-ours FILE...           our own gfx942 kernels: PASS or NOT_SUPPORTED
"""
import json
import re
import sys

WRAPPED = {"NONFINITE", "MISMATCH", "CRASH", "OUT_OF_BOUNDS", "UNINITIALISED_READ", "DEVICE_FAULT",
           "UNWRITTEN"}
# A NaN that is read and passed on may have the very bits of an output's poison.
NAN = {"NONFINITE", "UNWRITTEN"}
BOUNDS = {"OUT_OF_BOUNDS"}
# Beside the answer, what its text must say.
BEYOND = "wrap"

# case: {fault: (answers, text)}; every other kernel of the op is not looked at, but "right",
# which passes everywhere.
EXPECTED = {
    "a04": {"int32_elements": (WRAPPED, BEYOND), "uint32_bytes": (WRAPPED, BEYOND),
            "int32_page": (WRAPPED, BEYOND), "page16": (WRAPPED, ""), "assumes_dense": (WRAPPED, "")},
    "a05": {"int32_page": (WRAPPED, BEYOND), "int32_elements": (WRAPPED, BEYOND)},
    "a05-values": {"int32_page": (WRAPPED, BEYOND)},
    "a06": {"uint32_bytes": (WRAPPED, BEYOND), "assumes_dense": (WRAPPED, "")},
    "a06-second": {"uint32_bytes": (WRAPPED, BEYOND), "int32_elements": (WRAPPED, BEYOND)},
    "a08": {"next_column": ({"CRASH", "NONFINITE"}, ""), "writes_index": ({"INPUT_MODIFIED"}, "kv_indices"),
            "writes_input": ({"INPUT_MODIFIED"}, "v_cache")},
    "a25": {"stale_page": (NAN, "")},
    "ids16": {"page16": (WRAPPED, ""), "assumes_dense": (WRAPPED, "")},
    "strides": {"assumes_dense": (WRAPPED, ""), "writes_before": (BOUNDS, "before O"),
                "writes_guard_value": (BOUNDS, "behind O")},
    "hnd-strides": {"assumes_dense": (WRAPPED, "")},
    "shared-slots": {"assumes_dense": (WRAPPED, "")},
    "offsets": {"assumes_aligned": (WRAPPED, ""), "writes_before": (BOUNDS, "before O")},
    "a20-512": {},
    "a20-513": {"int32_elements": (WRAPPED, BEYOND), "uint32_bytes": (WRAPPED, BEYOND)},
    "a20-keys": {"int32_elements": (WRAPPED, BEYOND)},
    "a28-exact": {},
    "a28-beyond": {"uint32_bytes": (WRAPPED, BEYOND), "int32_elements": (WRAPPED, BEYOND)},
    "gemm-strides": {"assumes_dense": (WRAPPED, ""), "no_tail_check": (BOUNDS, "behind D"),
                     "writes_before": (BOUNDS, "before D"), "writes_guard_value": (BOUNDS, "behind D"),
                     "writes_padding": (BOUNDS, "padding"), "writes_input": ({"INPUT_MODIFIED"}, "input A")},
    "gemm-offsets": {"assumes_aligned": (WRAPPED, ""), "writes_before": (BOUNDS, "before D")},
    "gemm-batch-gaps": {"assumes_dense": (WRAPPED, "")},
    "gemm-huge-lda": {"int32_elements": (WRAPPED, BEYOND), "uint32_bytes": (WRAPPED, BEYOND)},
    "gemm-huge-ldb": {"int32_elements": (WRAPPED, BEYOND), "uint32_bytes": (WRAPPED, BEYOND)},
    "gemm-huge-stride": {"int32_elements": (WRAPPED, BEYOND), "uint32_bytes": (WRAPPED, BEYOND)},
}
# The emulator has bounds to the byte: a fault is told at the access that leaves them.
ON_EMULATOR = {
    "next_column": (BOUNDS, "behind the end of allocation"),
    "writes_before": (BOUNDS, "before"),
    "writes_guard_value": (BOUNDS, "behind the end of allocation"),
    "no_tail_check": (BOUNDS, "behind the end of allocation"),
    # Two workgroups meet where an offset wrapped.
    "uint32_bytes": (WRAPPED | {"RACE"}, ""),
    "writes_input": ({"INPUT_MODIFIED", "RACE"}, ""),
}
# No gfx942 test kernel does these.
HOST_ONLY = {"a05-values", "a20-512", "a20-513", "a20-keys"}


def kernels(header):
    names = re.findall(r'X\(\w+, "(\w+)"\)', open(header).read())
    return [f"{op}_{name}" for name in names for op in ("attention", "gemm")]


def write_pack(header):
    print(json.dumps({"schema": "wavefarm.pack/1", "name": "layout-faults", "kernels": [
        {"name": name, "op": name.split("_")[0], "kind": "library", "arch": ["x86-64"],
         "library": "kernels.so"} for name in kernels(header)]}))


def write_suites(device, suite, folder):
    whole = json.load(open(suite))
    faults = {"right"} | {f for c in EXPECTED.values() for f in c}
    for fault in faults:
        cases = [c for c in whole["cases"]
                 if (fault == "right" or fault in EXPECTED.get(c["name"], {})) and
                 not (device == "emulator" and c["name"] in HOST_ONLY)]
        if cases:
            with open(f"{folder}/{fault}.json", "w") as file:
                json.dump({**whole, "cases": cases}, file)


def fault_of(result):
    return re.sub(r"^(layout_)?(attention|gemm)_", "", result["task"]["kernel"])


def expectation(device, case, fault):
    if fault == "right":
        return {"PASS"}, ""
    if device == "emulator" and fault in ON_EMULATOR and fault in EXPECTED.get(case, {}):
        return ON_EMULATOR[fault]
    return EXPECTED.get(case, {}).get(fault, (None, ""))


def load(paths):
    return [r for path in paths for r in json.load(open(path))]


def check(device, *paths):
    bad, seen = [], set()
    for r in load(paths):
        case, fault = r["task"]["case_name"], fault_of(r)
        answers, text = expectation(device, case, fault)
        if r["answer"] == "NOT_SUPPORTED" or answers is None:
            continue
        seen.add((case, fault))
        if r["answer"] not in answers or text not in r["answer_text"]:
            bad.append(f"{case} {r['task']['kernel']}: {r['answer']} ({r['answer_text']}), "
                       f"want one of {sorted(answers)} and \"{text}\"")
    for case, faults in EXPECTED.items():
        if device == "emulator" and case in HOST_ONLY:
            continue
        for fault in ["right", *faults]:
            if (case, fault) not in seen:
                bad.append(f"{case} {fault}: was not run")
    return report(bad, len(seen))


def check_a29(right, grid16):
    right, wrong = json.load(open(right))[0], json.load(open(grid16))[0]
    bad = []
    if right["answer"] != "PASS":
        bad.append(f"right: {right['answer']} ({right['answer_text']})")
    if wrong["answer"] != "UNWRITTEN":
        bad.append(f"grid16: {wrong['answer']} ({wrong['answer_text']})")
    return report(bad, 2)


def check_ours(*paths):
    results = load(paths)
    bad = [f"{r['task']['case_name']} {r['task']['kernel']}: {r['answer']} ({r['answer_text']})"
           for r in results if r["answer"] not in ("PASS", "NOT_SUPPORTED")]
    passed = {r["task"]["case_name"] for r in results if r["answer"] == "PASS"}
    for case in ("a04", "a06", "a08", "a25", "ids16", "offsets-16", "a28-beyond", "gemm-offsets",
                 "gemm-huge-lda", "gemm-huge-ldb", "gemm-huge-stride", "gemm-strides"):
        if case not in passed:
            bad.append(f"{case}: none of our kernels does it")
    return report(bad, len(passed))


def report(bad, count):
    for line in bad:
        print(line, file=sys.stderr)
    print(f"{count} results as expected" if not bad else f"{len(bad)} are not as expected")
    return 1 if bad else 0


def main():
    command = sys.argv[1]
    if command == "pack":
        return write_pack(sys.argv[2])
    if command == "suites":
        return write_suites(*sys.argv[2:])
    return {"check": check, "check-a29": check_a29, "check-ours": check_ours}[command](*sys.argv[2:])


sys.exit(main())
