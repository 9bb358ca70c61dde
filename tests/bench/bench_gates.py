#!/usr/bin/env python3
"""Measures what a round of a gate costs the coordinator, database included: 5,000 pairs
that stay open to their 24th block, one of the rounds after a restart.

    WF_BINARY_DIR=build/release tests/bench/bench_gates.py [--pairs 5000] [--rounds 3] [--check]

"decide" is the processor time of the decision and of drawing the next round, "step" the
whole transaction by the clock: records read and stored, decision, next round or verdict. Both are the
coordinator's own figures, from its log."""

import argparse
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../coordinator"))
import farm  # noqa: E402
from gatefarm import Noise, body, pair  # noqa: E402

BLOCKS = 24
STEP = re.compile(r"gate \d+ stepped rounds=(\d+) tasks=(\d+) decide_ms=([\d.]+) took_ms=([\d.]+)")
BATCH = 500


class Open(Noise):
    """So noisy that nothing is decided before the last block."""

    def block(self, task, mask):
        b = super().block(task, mask)
        b["y"] = [self.random.gauss(9, 0.2) for _ in range(4)]
        return b


def steps(f):
    return [(int(m[1]), float(m[3]), float(m[4])) for m in STEP.finditer(open(f.path("log")).read())]


def play(f, session, noise):
    shard = farm.wait_for("a round", lambda: f.lease(session, wait_ms=1000), 120)[0]
    items = [noise.item(shard, t) for t in shard["tasks"]]
    f.good("POST", f"/v1/runners/{session}/heartbeat", {}, "runner")
    start = time.monotonic()
    for i in range(0, len(items), BATCH):
        got = f.post_results(session, items[i:i + BATCH])
        assert all(v["status"] == "accepted" for v in got), got[:2]
    return time.monotonic() - start


def wait_step(f, rounds):
    return farm.wait_for("the step", lambda: [s for s in steps(f) if s[0] == rounds], 120)[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3, help="a divisor of 24")
    parser.add_argument("--check", action="store_true", help="exit status 1 above 100 ms a decision")
    a = parser.parse_args()
    worst = 0.0
    with farm.Farm("--session-ttl", "120s", "--heartbeat", "20s", "--log-level", "debug") as f:
        session, noise = f.register(), Open()
        pairs = [pair(i, blocks=BLOCKS // a.rounds) for i in range(a.pairs)]
        start = time.monotonic()
        f.good("POST", "/v1/gates", body(f, sentinels=False, header={"pairs": pairs}), "submitter",
               status=(201,))
        print(f"{a.pairs} pairs, {BLOCKS} blocks each in {a.rounds} rounds; request accepted in "
              f"{time.monotonic() - start:.2f} s")
        print("round   results in   decide     step")
        for r in range(1, a.rounds + 1):
            again = r == a.rounds - 1
            if again:  # the state is gone: made anew from the rows
                f.stop_coordinator(signal.SIGKILL)
                f.start()
            took = play(f, session, noise)
            _, decide, step = wait_step(f, r)
            worst = max(worst, decide)
            print(f"{r:5} {took:10.2f} s {decide:6.1f} ms {step:7.1f} ms"
                  + ("   after a restart" if again else "   the verdict" if r == a.rounds else ""))
    sys.exit(1 if a.check and worst > 100 else 0)


if __name__ == "__main__":
    main()
