#!/usr/bin/env python3
"""Measures the coordinator on this machine, database and load included: results a second,
leases, time to make a large run, memory at 100,000 open tasks.

    WF_BINARY_DIR=build/release tests/bench/bench_coordinator.py [--results 20000] [--check]

The load generator's own processor time is printed: it shares the machine."""

import argparse
import http.client
import json
import multiprocessing
import os
import resource
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../coordinator"))
import farm  # noqa: E402


def memory_mib(pid):
    fields = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status") if ":" in line)
    return int(fields["VmRSS"].split()[0]) / 1024, int(fields["VmHWM"].split()[0]) / 1024


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def database_pids(postmaster):
    found = [postmaster]
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()
                if int(fields[1]) == postmaster:
                    found.append(int(name))
            except OSError:
                pass
    return found


def post_bodies(port, token, bodies, start, out):
    """One runner's connection: posts prepared bodies as fast as they are answered."""
    c = http.client.HTTPConnection("127.0.0.1", port)
    head = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    times, statuses = [], {}
    start.wait()
    for body in bodies:
        t = time.monotonic()
        c.request("POST", "/v1/results", body=body, headers=head)
        r = c.getresponse()
        for v in json.loads(r.read())["results"]:
            statuses[v["status"]] = statuses.get(v["status"], 0) + 1
        times.append(time.monotonic() - t)
    out.put((times, statuses, time.process_time()))


def bench_results(f, connections, batch, count):
    cases = 100
    f.submit(cases=cases, repetitions=count // cases)
    session = f.register()
    items = []
    while len(items) < count:
        for shard in f.lease(session, want=16):
            for task in shard["tasks"]:
                items.append(json.dumps(f.item(shard, task, samples=40)))
        f.good("POST", f"/v1/runners/{session}/heartbeat", {}, "runner")
    size = len(items[0])
    bodies = ['{"session":"%s","results":[%s]}' % (session, ",".join(items[i:i + batch]))
              for i in range(0, len(items), batch)]
    start, out = multiprocessing.Event(), multiprocessing.Queue()
    load = [multiprocessing.Process(target=post_bodies,
                                    args=(f.port, f.tokens["runner"], bodies[i::connections], start, out))
            for i in range(connections)]
    [p.start() for p in load]
    time.sleep(0.5)
    backends = database_pids(int(open(f.path("pg/data/postmaster.pid")).readline()))
    before = cpu_seconds(f.process.pid), {p: cpu_seconds(p) for p in backends}
    t = time.monotonic()
    start.set()
    got = [out.get() for _ in load]
    wall = time.monotonic() - t
    [p.join() for p in load]
    used = cpu_seconds(f.process.pid) - before[0]
    db = sum(cpu_seconds(p) - c for p, c in before[1].items() if os.path.exists(f"/proc/{p}"))
    statuses = {}
    for _, s, _ in got:
        for k, v in s.items():
            statuses[k] = statuses.get(k, 0) + v
    assert statuses == {"accepted": count}, statuses
    times = sorted(x for g in got for x in g[0])
    rate = count / wall
    print(f"{connections:>5} {batch:>6} {count:>8} {size:>6} {rate:>9.0f} {1e3 * statistics.median(times):>8.1f}"
          f" {1e3 * times[int(0.99 * (len(times) - 1))]:>8.1f} {1e6 * used / count:>8.0f}"
          f" {1e6 * db / count:>8.0f} {1e6 * sum(g[2] for g in got) / count:>8.0f}")
    f.good("POST", f"/v1/runners/{session}/end", {}, "runner")
    return rate


def bench_leases(f, count):
    run = f.submit(cases=count, repetitions=1, devices={"runtime": "host", "model": "A"})
    session = f.register(devices=[f.device(model="A")])
    times = []
    while True:
        t = time.monotonic()
        shards = f.lease(session, want=1)
        times.append(time.monotonic() - t)
        if not shards:
            break
    print(f"leases of one shard, one connection each: {len(times)} in {sum(times):.2f} s,"
          f" median {1e3 * statistics.median(times):.1f} ms")
    f.good("POST", f"/v1/runners/{session}/end", {}, "runner")
    f.good("POST", f"/v1/runs/{run}/cancel", {}, "submitter")


def bench_large_run(f):
    body = f.run_body(cases=2000, kernels=[f"gemm_{i}" for i in range(5)], repetitions=10)
    text = json.dumps(body)
    before = memory_mib(f.process.pid)[0]
    t = time.monotonic()
    run = f.good("POST", "/v1/runs", text, "submitter", timeout=300)
    made = time.monotonic() - t
    session = f.register()
    f.lease(session, want=16)
    f.call("GET", "/metrics")
    rss, peak = memory_mib(f.process.pid)
    print(f"run of {run['tasks']} tasks ({len(text) / 1e6:.1f} MB of request): made in {made:.2f} s;"
          f" coordinator {before:.0f} MiB before, {rss:.0f} MiB after, {peak:.0f} MiB at most")
    f.good("POST", f"/v1/runners/{session}/end", {}, "runner")
    t = time.monotonic()
    f.good("POST", f"/v1/runs/{run['run']}/cancel", {}, "submitter", timeout=300)
    print(f"cancelled in {time.monotonic() - t:.2f} s")
    return rss, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=int, default=20000, help="results a row of the table")
    parser.add_argument("--check", action="store_true",
                        help="fail below 2,000 results/s or above 150 MiB")
    args = parser.parse_args()
    with farm.Farm("--session-ttl", "600s", "--heartbeat", "60s", "--log-level", "warn") as f:
        print(f"processors {os.cpu_count()}, load {os.getloadavg()[0]:.1f}")
        rss, peak = bench_large_run(f)
        bench_leases(f, 500)
        print(f"{'conns':>5} {'batch':>6} {'results':>8} {'bytes':>6} {'results/s':>9} {'ms p50':>8}"
              f" {'ms p99':>8} {'us coord':>8} {'us db':>8} {'us load':>8}")
        bench_results(f, 1, 1, 2000)
        best = max(bench_results(f, c, b, args.results) for c, b in ((16, 1), (64, 1), (8, 16), (8, 64)))
        rss, most = memory_mib(f.process.pid)
        print(f"coordinator at the end: {rss:.0f} MiB, {most:.0f} MiB at most")
        print(f"benchmark processes: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime:.0f} s user")
    if args.check and (best < 2000 or peak > 150):
        sys.exit("below the requirement")


if __name__ == "__main__":
    main()
