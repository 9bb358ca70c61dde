#!/usr/bin/env python3
"""WaveFarm's measuring beside Triton's do_bench and torch's benchmark Timer.

The same cubins on the same card: `wavefarm run` measures them as any task, and this script
launches them through the driver for the other two. Each tool measures every kernel once in each
of N processes, in shuffled order, processes of the tools in turn. What is compared is the spread
between processes of the figure that a tool reports, as a function of the seconds that it spent
measuring; all three keep their samples in order, so the figure after less time is that of the
first part of the samples. Warm-up counts for nobody:

  do_bench   its loop (flush, event, kernel, event); the kernel is warm before, its own warm-up
             argument is 1 ms. Cold: it clears the L2 before every launch. Figures: the mean (its
             default) and the median.
  Timer      the sum of the raw times of blocked_autorange, without its search for a block size.
             Hot. Figure: the median of its blocks.
  wavefarm   details.sampling_ns: from the first group of samples to the last, with the resets,
             the reading of clocks and the round trips between its processes. Hot and cold.

usage: bench_timers.py run --wavefarm PROGRAM --packs FOLDER --out FILE [--processes 20]
       bench_timers.py report FILE
"""
import argparse
import ctypes
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

# name, pack, kernel, the case: about 5 us to 5 ms on an H200
def gemm(m, n, k):
    return dict(op="gemm", trans_b="T", a_type="f16", M=m, N=n, K=k)


KERNELS = [
    ("gemm-256x512x256", "wavefarm-sm_90", "gemm_f16_mma_64x128_nt", gemm(256, 512, 256)),
    ("gemm-2048x1280x1280", "wavefarm-sm_90", "gemm_f16_mma_128x160_nt", gemm(2048, 1280, 1280)),
    ("gemm-2048x1280x5120", "wavefarm-sm_90", "gemm_f16_mma_128x160_nt", gemm(2048, 1280, 5120)),
    ("gemm-2048x4096x4096", "wavefarm-sm_90", "gemm_f16_mma_128x256_nt", gemm(2048, 4096, 4096)),
    ("code-4194304", "wavefarm-probe-sm_90", "probe_code_1024", dict(op="probe", work="code", lanes=4194304)),
    ("clocks-10000000", "wavefarm-probe-sm_90", "probe_clocks", dict(op="probe", work="clocks", clocks=10000000)),
]
NO_MEMORY = ("clocks-10000000",)  # nothing to be cold: hot for both
DO_BENCH_REP_MS = 100  # their defaults
TIMER_MIN_RUN_S = 0.2
BUDGET = "200ms"


# --- the other two: launching our cubins through the driver ---

def value(text, scope):
    if not isinstance(text, str):
        return text
    text = text.replace("&&", " and ").replace("||", " or ")
    text = re.sub(r"!(?!=)", " not ", text).replace("device.", "device_").replace("/", "//")
    return eval(text, {"__builtins__": {}}, scope)  # our own pack's expressions


def scope_of(kernel, case, cu_count):
    s = dict(batch=1, alpha=1.0, beta=0.0, align_a=256, align_b=256, align_c=256, align_d=256,
             device_cu_count=cu_count, device_xcc_count=1, min=min, max=max,
             ceil_div=lambda a, b: -(-a // b), round_up=lambda a, b: -(-a // b) * b, **case)
    if case["op"] == "gemm":
        m, n, k = case["M"], case["N"], case["K"]
        s.update(lda=k, ldb=k, ldc=n, ldd=n, stride_a=m * k, stride_b=n * k, stride_c=m * n, stride_d=m * n)
    waiting = dict(kernel.get("knobs", {}))
    while waiting:  # knobs may name each other, in any order
        for name in list(waiting):
            try:
                s[name] = value(waiting[name], s)
            except NameError:
                continue
            del waiting[name]
    return s


class Launcher:
    """One kernel of a pack on given tensors, on torch's stream."""

    def __init__(self, cuda, folder, kernel, case, torch):
        props = torch.cuda.get_device_properties(0)
        scope = scope_of(kernel, case, props.multi_processor_count)
        launch = next(l for l in kernel["launches"] if value(l.get("when", "1"), scope))
        self.tensors = self.make(case, torch)
        types = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float}
        self.values = []
        for arg in launch["args"]:
            if "pointer" in arg:
                t = self.tensors.get(arg["pointer"])
                self.values.append(ctypes.c_void_p(t.data_ptr() if t is not None else 0))
            else:
                self.values.append(types[arg["scalar"]](value(arg["value"], scope)))
        self.params = (ctypes.c_void_p * len(self.values))(*[ctypes.addressof(v) for v in self.values])
        self.grid = [value(x, scope) for x in launch["grid"]]
        self.block = [value(x, scope) for x in launch["block"]]
        self.grid += [1] * (3 - len(self.grid))
        self.block += [1] * (3 - len(self.block))
        shared = int(value(launch.get("shared_bytes", 0), scope))
        with open(os.path.join(folder, kernel["code"]["main"]), "rb") as f:
            image = f.read()
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(cuda.cuModuleLoadData(ctypes.byref(module), image))
        self.check(cuda.cuModuleGetFunction(ctypes.byref(function), module, launch["symbol"].encode()))
        self.check(cuda.cuFuncSetAttribute(function, 8, shared))  # dynamic shared memory
        self.stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        call, check = cuda.cuLaunchKernel, self.check
        words = [ctypes.c_uint(int(x)) for x in self.grid + self.block] + [ctypes.c_uint(shared)]
        args = (function, *words, self.stream, self.params, None)
        call.argtypes = None
        self.fn = lambda: call(*args)
        check(self.fn())
        torch.cuda.synchronize()
        self.prove(kernel["name"], case, torch)

    @staticmethod
    def make(case, torch):
        if case["op"] == "gemm":
            m, n, k = case["M"], case["N"], case["K"]
            return {"A": torch.randn(m, k, device="cuda", dtype=torch.float16) / 4,
                    "B": torch.randn(n, k, device="cuda", dtype=torch.float16) / 4,
                    "D": torch.empty(m, n, device="cuda", dtype=torch.float16)}
        if case["work"] == "clocks":
            return {"Y": torch.empty(4, device="cuda", dtype=torch.int32)}
        x = torch.randint(-2**31, 2**31 - 1, (case["lanes"],), device="cuda", dtype=torch.int32)
        return {"X": x, "Y": torch.empty_like(x)}

    def prove(self, name, case, torch):
        """What is timed here is the same work: it gives the right answer."""
        t = self.tensors
        if case["op"] == "gemm":
            want = t["A"][:64].double() @ t["B"].double().t()
            wrong = float((t["D"][:64].double() - want).norm() / want.norm())
        elif case["work"] == "clocks":
            wrong = float(t["Y"].tolist() != [case["clocks"]] * 4)
        else:
            v = [x & 0xffffffff for x in t["X"][:4].tolist()]
            for i in range(1024):
                k, m = (0x9e3779b9 * i + 0x7f4a7c15) & 0xffffffff, (0x85ebca6b * i) & 0xffffffff | 1
                v = [((x ^ k) * m) & 0xffffffff for x in v]
                v = [x ^ (x >> 15) for x in v]
            wrong = float([x & 0xffffffff for x in t["Y"][:4].tolist()] != v)
        if not wrong < 1e-2:
            raise SystemExit(f"{name}: launched here it is wrong: {wrong}")

    @staticmethod
    def check(code):
        if code:
            raise SystemExit(f"CUDA driver: error {code}")


def worker(packs, seed):
    import torch
    import triton
    import triton.testing
    import torch.utils.benchmark as benchmark
    cuda = ctypes.CDLL("libcuda.so.1")
    sys.stdin.readline()  # imported; the card is somebody else's until now
    torch.cuda.init()
    torch.randn(1, device="cuda")
    order = list(KERNELS)
    random.Random(seed).shuffle(order)
    out = []
    for name, pack, kernel, case in order:
        folder = os.path.join(packs, pack)
        with open(os.path.join(folder, "pack.json")) as f:
            entry = next(k for k in json.load(f)["kernels"] if k["name"] == kernel)
        l = Launcher(cuda, folder, entry, case, torch)
        end = time.monotonic() + 0.3  # warm for both, as long as the task is before its samples
        while time.monotonic() < end:
            for _ in range(10):
                l.fn()
            torch.cuda.synchronize()
        start = time.monotonic()
        times = triton.testing.do_bench(l.fn, warmup=1, rep=DO_BENCH_REP_MS, return_mode="all")
        seconds = time.monotonic() - start
        out.append(dict(tool="do_bench", kernel=name, seconds=seconds, ns=[t * 1e6 for t in times]))
        start = time.monotonic()
        m_ = benchmark.Timer("fn()", globals={"fn": l.fn}).blocked_autorange(min_run_time=TIMER_MIN_RUN_S)
        out.append(dict(tool="Timer", kernel=name, seconds=sum(m_.raw_times), wall=time.monotonic() - start,
                        block=m_.number_per_run, ns=[t / m_.number_per_run * 1e9 for t in m_.raw_times]))
        del l
        torch.cuda.empty_cache()
    print(json.dumps(dict(torch=torch.__version__, triton=triton.__version__, results=out)))


# --- ours ---

def suite_file(folder):
    path = os.path.join(folder, "timers.json")
    with open(path, "w") as f:
        json.dump(dict(schema="wavefarm.suite/1", name="timers", description="bench_timers.py",
                       cases=[dict(case, name=name) for name, _, _, case in KERNELS]), f)
    return path


def ours(wavefarm, packs, suite, name, pack, kernel, mode, folder):
    out = os.path.join(folder, "r.jsonl")
    if os.path.exists(out):
        os.unlink(out)
    cmd = [wavefarm, "run", suite, "--device", "cuda:0", "--pack", os.path.join(packs, pack),
           "--cases", name, "--kernels", kernel, "--budget", BUDGET, "--ci", "0.001", "--launches", "2",
           "--naive", "off", "--out", out] + (["--cold"] if mode == "cold" else [])
    start = time.monotonic()
    p = subprocess.run(cmd, capture_output=True, text=True)
    wall = time.monotonic() - start
    with open(out) as f:
        results = [json.loads(line) for line in f]
    r = next((x for x in results if x.get("schema") == "wavefarm.result/1"), None)
    if r is None or r["answer"] != "PASS" or not r["timing"]:
        raise SystemExit(f"{name} {mode}: {r and (r['answer'], r['answer_text'], r['time_text'])} {p.stderr[-500:]}")
    t = r["timing"]
    bad = set(t["invalid"]) | set(t["flagged"])
    return dict(tool="wavefarm-" + mode, kernel=name, seconds=r["details"]["sampling_ns"] / 1e9, wall=wall,
                time=r["time"], median=t["median"], launches=t["launches_per_sample"],
                cold_probe=r["details"].get("cold_probe", {}).get("verdict"),
                ns=[x for i, x in enumerate(t["samples"]) if i not in bad])


def start_worker(args, i):
    return subprocess.Popen([sys.executable, __file__, "worker", "--packs", args.packs, "--seed", str(i)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(args):
    random.seed(args.seed)
    data = dict(kernels=[k[0] for k in KERNELS], processes=args.processes, results=[])
    with tempfile.TemporaryDirectory() as folder:
        suite = suite_file(folder)
        waiting = start_worker(args, 0)
        for i in range(args.processes):
            out, err = waiting.communicate("go\n")
            if waiting.returncode:
                raise SystemExit(out + err)
            w = json.loads(out.splitlines()[-1])
            data["torch"], data["triton"] = w["torch"], w["triton"]
            for r in w["results"]:
                data["results"].append(dict(r, process=i))
            if i + 1 < args.processes:
                waiting = start_worker(args, i + 1)  # imports torch meanwhile
            for name, pack, kernel, _ in random.sample(KERNELS, len(KERNELS)):
                modes = ["hot", "cold"] if name not in NO_MEMORY else ["hot"]
                for mode in random.sample(modes, len(modes)):
                    data["results"].append(dict(ours(args.wavefarm, args.packs, suite, name, pack, kernel, mode,
                                                     folder), process=i))
            print(f"process {i + 1} of {args.processes}", file=sys.stderr)
            with open(args.out, "w") as f:
                json.dump(data, f)


# --- figures ---

FIGURES = [("do_bench", "mean"), ("do_bench", "median"), ("Timer", "median"),
           ("wavefarm-cold", "median"), ("wavefarm-hot", "median")]


def spread(figures):
    """Standard deviation between processes over their mean, robust: 1.4826 MAD / median."""
    m = statistics.median(figures)
    return 1.4826 * statistics.median(abs(x - m) for x in figures) / m, statistics.stdev(figures) / statistics.mean(figures)


def curve(runs, figure):
    """[(seconds, robust spread, sd)] for growing parts of the samples of every process."""
    f = statistics.fmean if figure == "mean" else statistics.median
    least = min(len(r["ns"]) for r in runs)
    steps = sorted({max(1, round(least * 2 ** (-i / 2))) for i in range(0, 40)})
    out = []
    for k in steps:
        seconds = statistics.median(r["seconds"] * k / len(r["ns"]) for r in runs)
        mad, sd = spread([f(r["ns"][:k]) for r in runs])
        out.append((seconds, mad, sd, k))
    return out


def needed(points, target, column):
    """Least seconds from which on the spread stays at or below target; None: never here. Between
    two points by their logarithms."""
    best = None
    for i in range(len(points) - 1, -1, -1):
        if points[i][column] > target:
            if best is None:
                return None
            s0, m0, s1, m1 = points[i][0], points[i][column], points[i + 1][0], points[i + 1][column]
            if m1 <= 0:
                return s1
            share = (math.log(m0) - math.log(target)) / (math.log(m0) - math.log(m1))
            return math.exp(math.log(s0) + share * (math.log(s1) - math.log(s0)))
        best = points[i][0]
    return best


def percent(x):
    return "-" if x is None else f"{100 * x:.3g} %"


def ms(x):
    return "-" if x is None else f"{1e3 * x:.3g} ms"


def compare(kernels, curves, column):
    for kernel in kernels:
        for peer, figure, mine in (("do_bench", "mean", "wavefarm-cold"), ("do_bench", "median", "wavefarm-cold"),
                                   ("Timer", "median", "wavefarm-hot")):
            mine = mine if kernel not in NO_MEMORY else "wavefarm-hot"
            c, o = curves.get((kernel, peer, figure)), curves.get((kernel, mine, "median"))
            if not c or not o:
                continue
            target = c[-1][column]
            theirs, time_ = needed(c, target, column), needed(o, target, column)
            verdict = f"not reached: {percent(o[-1][column])} after {ms(o[-1][0])}"
            if time_ is not None:
                verdict = "yes" if time_ <= theirs else "no"
            print(f"| {kernel} | {peer} {figure} | {percent(target)} | {ms(theirs)} | {ms(time_)} | {mine} | {verdict} |")


def report(args):
    with open(args.file) as f:
        data = json.load(f)
    print(f"torch {data.get('torch')}, triton {data.get('triton')}, {data['processes']} processes\n")
    print("| kernel | tool | figure | median | spread (MAD) | spread (sd) | measuring | samples |")
    print("|---|---|---|---|---|---|---|---|")
    curves = {}
    for kernel in data["kernels"]:
        for tool, figure in FIGURES:
            runs = [r for r in data["results"] if r["tool"] == tool and r["kernel"] == kernel]
            if len(runs) < 3:
                continue
            c = curves[kernel, tool, figure] = curve(runs, figure)
            f = statistics.fmean if figure == "mean" else statistics.median
            figures = [f(r["ns"]) for r in runs]
            mad, sd = spread(figures)
            print(f"| {kernel} | {tool} | {figure} | {statistics.median(figures) / 1e3:.4g} us | {percent(mad)} | "
                  f"{percent(sd)} | {ms(statistics.median(r['seconds'] for r in runs))} | "
                  f"{statistics.median(len(r['ns']) for r in runs):.0f} |")
    for column, text in ((1, "by MAD"), (2, "by standard deviation")):
        print(f"\nMeasuring for the spread that the peer reaches with its default budget, {text}:\n")
        print("| kernel | peer | its spread | its time | ours | same mode | no more time |")
        print("|---|---|---|---|---|---|---|")
        compare(data["kernels"], curves, column)
    times = {}
    for r in data["results"]:
        if "time" in r:
            times[r["tool"], r["time"]] = times.get((r["tool"], r["time"]), 0) + 1
    print("\n" + ", ".join(f"{k[0]} {k[1]}: {n}" for k, n in sorted(times.items())))
    print("cold: " + ", ".join(sorted({str(r["cold_probe"]) for r in data["results"] if r["tool"] == "wavefarm-cold"})))


def main():
    parser = argparse.ArgumentParser()
    sub = parser.add_subparsers(dest="what", required=True)
    p = sub.add_parser("run")
    p.add_argument("--wavefarm", required=True)
    p.add_argument("--packs", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--processes", type=int, default=20)
    p.add_argument("--seed", type=int, default=1)
    p = sub.add_parser("worker")
    p.add_argument("--packs", required=True)
    p.add_argument("--seed", type=int, required=True)
    p = sub.add_parser("report")
    p.add_argument("file")
    args = parser.parse_args()
    if args.what == "worker":
        worker(args.packs, args.seed)
    elif args.what == "run":
        run(args)
    else:
        report(args)


if __name__ == "__main__":
    main()
