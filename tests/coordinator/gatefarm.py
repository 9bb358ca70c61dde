"""What a submitter and a runner of gates do, for tests: requests, and synthetic records."""

import math
import random
import uuid

from farm import canonical, sha256


RULE = {"alpha": 0.01, "sign_least": 20, "pass_least": 20, "pass_rounds": 2,
        "pass_least_spread": 50, "pass_rounds_spread": 3, "max_blocks": 24, "max_lost": 24,
        "same_most": 100, "slower_blocks": 12, "interval_alpha": 0.05}
MARGINS = {"d0": 0.005, "d1": 0.02, "s0": 0.002, "tau": 0}


def pack(name, kernels):
    return {"schema": "wavefarm.pack/1", "name": name, "files": {"x.so": sha256("library " + name)},
            "kernels": [{"name": k, "op": "gemm", "kind": "library", "arch": ["x86-64"],
                         "library": "x.so"} for k in kernels]}


def pair(i, role="case", packs=("base", "candidate"), kernel="k", blocks=1, name=None, **more):
    case = {"op": "gemm", "M": 16 + i, "N": 32, "K": 64}
    name = name or f"c{i}"
    p = {"key": f"{name}/{kernel}", "case": case, "case_id": sha256(canonical(case)),
         "case_name": name, "op": "gemm", "role": role,
         "base": {"pack": packs[0], "kernel": kernel},
         "candidate": {"pack": packs[1], "kernel": kernel}, "margins": dict(MARGINS), "group": 0,
         "identical": False, "refused": None, "blocks": blocks}
    p.update(more)
    return p


def body(f, pairs=4, sentinels=True, header=None, commit=None, **more):
    """A request for a gate of `pairs` pairs."""
    packs = {"base": pack("base", ["k"]), "candidate": pack("candidate", ["k"])}
    if sentinels:
        packs["sentinel"] = pack("sentinel", ["same", "slower"])
    archive = f.put_blob(b"archive")
    head = {"schema": "wavefarm.gate/1", "kind": "header", "gate": "0" * 16,
            "created": "2026-01-01T00:00:00Z", "seed": "00" * 32, "name": "test", "suite": "test",
            "runtime": "host", "measured": True, "measure": {}, "seed_offset": 0, "rule": RULE,
            "packs": {r: {"id": sha256(canonical(p)), "name": r, "archive": archive,
                          "provenance": None} for r, p in packs.items()},
            "groups": 1, "devices": [], "policy": None,
            "pairs": [pair(i) for i in range(pairs)]}
    if sentinels:
        both = ("sentinel", "sentinel")
        head["pairs"] += [pair(200, "sentinel-same", both, "same", 2, name="same", key="same@0"),
                          pair(201, "sentinel-slower", both, "slower", 2, name="slower",
                               key="slower@0")]
    head.update(header or {})
    r = {"schema": "wavefarm.gate-request/1", "request_id": str(uuid.uuid4()), "priority": "pr",
         "devices": {"runtime": "host", "arch": None, "model": None, "labels": []},
         "packs": [{"pack": p, "archive": archive, "provenance": None} for p in packs.values()],
         "header": head}
    r.update(more)
    return r


class Noise:
    """Slots of about 10 us with 0.1 % noise; `slower` names pairs and their log effects."""

    def __init__(self, slower=(), seed=1):
        self.random, self.slower = random.Random(seed), dict(slower)

    def block(self, task, mask):
        effect = self.slower.get(task["pair"], 0.03 if task["pair"].startswith("slower") else 0)
        y = [math.log(10000) + self.random.gauss(0, 0.001) + (effect if mask >> i & 1 else 0)
             for i in range(4)]
        return {"mask": mask, "y": y, "t_ns": [[10000.5] * 5] * 4, "clock_mhz": [None] * 4,
                "power_w": [None] * 4, "temperature_c": [None] * 4, "rejected": ""}

    def record(self, shard, task, answer="PASS", **more):
        g = shard["gate"]
        arm = lambda a, k: a and {"answer": k, "answer_text": ""}
        r = {"kind": "pair", "gate": g["gate"], "round": g["round"], "group": g["group"],
             "pair": task["pair"], "launches": 3, "base": arm(task["base"], "PASS"),
             "candidate": arm(task["candidate"], answer),
             "blocks": [self.block(task, m) for m in task["masks"]] if answer == "PASS" else [],
             "note": "", "phases": {}}
        r.update(more)
        return r

    def item(self, shard, task, **more):
        if "pair" in task:
            record = self.record(shard, task, **more)
        else:
            g = shard["gate"]
            record = {"kind": "round", "gate": g["gate"], "round": g["round"],
                      "group": g["group"], "device": {"id": "x"}, "void": "",
                      "environment": {"host": "test"}, "took_ns": 5}
        return {"shard": shard["shard"], "token": shard["token"], "task": task["task"],
                "digest": sha256(canonical(record)), "result": record}


def record_lines(f, gate, limit=25):
    """The whole record, by pages."""
    lines, after = [], 0
    while after is not None:
        page = f.good("GET", f"/v1/gates/{gate}/record?after={after}&limit={limit}", None, "reader")
        lines += page["lines"]
        after = page["next"]
    return lines
