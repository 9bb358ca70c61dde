#!/usr/bin/env python3
"""Results of kernels.json: every kernel is right or says that it does not do the case.

kernels.py host|emulator RESULTS...
"""
import json
import sys

# On the emulator: cases that one of kernels.sh's gfx942 kernels does, and how many do.
DONE = {"a09": 1, "a10-64": 1, "a10-128": 1, "a12-16": 1, "a12-32": 1, "a15": 1, "a16": 1, "a23": 1,
        "a26-k": 3, "a26-n": 3, "a26-m": 3, "a27-64": 3, "a27-128": 3, "a27-192": 3, "a27-256": 3,
        "a27-320": 3, "a31": 1, "a31-split": 3, "a38-types": 1, "a43-empty": 3, "a43-next": 3}
# Refused, what the reason must hold, and the case that the same kernel does: it is the
# type or the number that it refuses, not the layout. None: no kernel is to do the case.
REFUSED = {"a10-80": ("head_dim == HEAD_DIM", None), "a10-96": ("head_dim == HEAD_DIM", None),
           "a10-120": ("head_dim == HEAD_DIM", None), "a10-256": ("head_dim == HEAD_DIM", None),
           "a12-bf16": ("q_type == 'f16'", "a12-32"), "a31-bf16": ("a_type == A_NAME", "a31"),
           "a38-b-type": ("b_type == B_NAME", "a38-types"),
           "a38-d-type": ("d_type == 'f16' || d_type == 'bf16' || d_type == 'f32'", "a38-types"),
           "limit-a41-batch-65536": ("batch <= 65535", "a43-next")}


def wrong(device, results):
    bad = []
    for r in results:
        who = f'{r["task"]["case_name"]} {r["task"]["kernel"]}'
        if r["answer"] not in ("PASS", "NOT_SUPPORTED"):
            bad.append(f'{who}: {r["answer"]} ({r["answer_text"]})')
        if r["answer"] == "NOT_SUPPORTED" and not r["answer_text"]:
            bad.append(f"{who}: refused without a reason")
        if len(r["code"]["sha256"]) != 64:
            bad.append(f"{who}: the result does not say which code ran")
    passed = {}
    for r in results:
        name = r["task"]["case_name"]
        passed[name] = passed.get(name, 0) + (r["answer"] == "PASS")
    for name, count in passed.items():
        if device == "host" and count != 1:
            bad.append(f"{name}: {count} host kernels pass")
        if device == "emulator" and count != DONE.get(name, 0):
            bad.append(f"{name}: {count} kernels pass, not {DONE.get(name, 0)}")
    for name, (text, done) in REFUSED.items() if device == "emulator" else ():
        able = {r["task"]["kernel"] for r in results
                if done is None or (r["task"]["case_name"] == done and r["answer"] == "PASS")}
        if not any(text in r["answer_text"] for r in results if r["answer"] == "NOT_SUPPORTED"
                   and r["task"]["case_name"] == name and r["task"]["kernel"] in able):
            bad.append(f'{name}: no reason holds "{text}"')
    return bad, len(passed)


bad, cases = wrong(sys.argv[1], [r for path in sys.argv[2:] for r in json.load(open(path))])
for line in bad:
    print(line, file=sys.stderr)
print(f"{cases} cases as expected" if not bad else f"{len(bad)} are not as expected")
sys.exit(1 if bad or cases < 30 else 0)
