#!/usr/bin/env python3
"""Table of the records that h200_gate.sh made; exit status 0 when none of the gates of
equal work is red and every one with 3 % more work is.

  gate_table.py FOLDER RUNS
"""
import collections
import json
import math
import pathlib
import statistics
import sys


def read(folder, percent, run):
    """The verdict line, the pairs' roles, the exit status and the seconds of one gate."""
    base = folder / f"{percent}-{run}"
    code, seconds = base.with_suffix(".status").read_text().split()
    verdict, roles, blocks = None, {}, collections.defaultdict(list)
    path = base.with_suffix(".jsonl")
    for line in path.read_text().splitlines() if path.exists() else []:
        o = json.loads(line)
        if o["kind"] == "header":
            roles = {p["key"]: p["role"] for p in o["pairs"]}
        elif o["kind"] == "pair":
            blocks[o["pair"]] += [differences(b) for b in o["blocks"] if not b["rejected"]]
        elif o["kind"] == "verdict":
            verdict = o
    return verdict, roles, blocks, int(code), float(seconds)


def differences(block):
    """Candidate less base of one block, and the slots' squared distances from their arm's mean."""
    arm = [[], []]
    for i, y in enumerate(block["y"]):
        arm[block["mask"] >> i & 1].append(y)
    mean = [statistics.fmean(a) for a in arm]
    return mean[1] - mean[0], sum((y - mean[a]) ** 2 for a in (0, 1) for y in arm[a])


def tau(blocks):
    """tau_AA: spread of block differences beyond the slots' own noise; None below 3 blocks."""
    if len(blocks) < 3:
        return None
    noise = sum(b[1] for b in blocks) / (2 * len(blocks))  # variance of a slot
    return math.sqrt(max(0.0, statistics.variance(b[0] for b in blocks) - noise))


def percent_of(v):
    return "-" if v is None else f"{100 * v:.2f}"


def row(percent, run, gate, taus):
    verdict, roles, blocks, code, seconds = gate
    if verdict is None:
        print(f"{percent:>4} {run:>3}   no verdict (exit status {code})")
        return False
    cases = [p for p in verdict["pairs"] if roles.get(p["key"]) == "case"]
    counts = collections.Counter(p["verdict"] for p in cases)
    effects = [p["effect"] for p in cases if p["verdict"] == "FAIL" and p.get("effect") is not None]
    for p in cases:
        if percent == 0 and blocks[p["key"]]:
            taus[p["key"]] += blocks[p["key"]]
    print(f"{percent:>4} {run:>3} {'red' if verdict['red'] else '-':>4} {code:>4} {seconds:>7.1f} "
          f"{len(cases):>5} {sum(p['blocks'] for p in cases):>6} "
          f"{percent_of(statistics.median(effects) if effects else None):>7} "
          f"{percent_of(min(effects, default=None)):>6} {percent_of(max(effects, default=None)):>6}  "
          + " ".join(f"{k} {n}" for k, n in sorted(counts.items())))
    # Neither red nor good is a gate whose device or sentinels failed.
    return code == 1 and bool(verdict["red"]) if percent else code == 0 and not verdict["red"]


def main():
    folder, runs = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    taus = collections.defaultdict(list)
    good = collections.Counter()
    print(f"{'%':>4} {'run':>3} {'':>4} {'exit':>4} {'s':>7} {'pairs':>5} {'blocks':>6} "
          f"{'effect%':>7} {'least':>6} {'most':>6}  verdicts")
    for percent in (0, 3):
        for run in range(1, runs + 1):
            good[percent] += row(percent, run, read(folder, percent, run), taus)
    known = {k: t for k, t in ((k, tau(b)) for k, b in taus.items()) if t is not None}
    if known:
        print(f"tau_AA over {len(known)} pairs: median {percent_of(statistics.median(known.values()))} %, "
              f"most {percent_of(max(known.values()))} % ({max(known, key=known.get)})")
        for key in sorted(known, key=known.get, reverse=True):
            print(f"  {percent_of(known[key]):>6} %  {len(taus[key]):>4} blocks  {key}")
    print(f"equal work: {good[0]} of {runs} not red; 3 % more: {good[3]} of {runs} red; records in {folder}")
    return 0 if good[0] == runs and good[3] == runs else 1


if __name__ == "__main__":
    sys.exit(main())
