#!/usr/bin/env python3
"""Static gates of our gfx942 GEMM kernels, from the product's own report.

  gemm_static.py check --wavefarm PROGRAM --pack FOLDER [--cache FILE] [--jobs N]
  gemm_static.py table ...   the same as Markdown, beside the peers' figures
  gemm_static.py known ...   what is beyond its limit now, as gemm_static_known.json

Each kernel of the pack whose op is gemm or grouped_gemm has to fit a row of LIMITS; the first row that
fits counts. llvm-mca differs by version, so 19 is asked, which setup installs. Reports are
kept by the code's hash, llvm-mca's version and the report's own sources.
Exit status: 0 all within their limits, 1 not so, 2 something else is wrong.
"""
import argparse
import concurrent.futures
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

# Figures of llvm-mca and of the loop's mix that are known to be beyond their limit, with
# the value that was accepted: they may not get worse, and one that is within its limit
# again must be taken out. Spills, scratch and missing figures are never accepted.
KNOWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gemm_static_known.json")
SLACK = 0.01
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MCA = "llvm-mca-19"

# What others reach, read from their published machine code with the same report and
# llvm-mca 19: tile, matrix instructions of an iteration, vector by matrix passes, share of
# matrix instructions, llvm-mca as it is and without waits (None: not stated). `area` 0:
# no measure for ours.
PEERS = [
    ("hipBLASLt bf16 256x256x64 DTVA", 256 * 256, 512, 0, 74, 96, 100),
    ("hipBLASLt bf16 256x224x64", 256 * 224, 448, 0, 73, 85, 100),
    ("hipBLASLt fp8 256x256x128", 256 * 256, 512, 0, 74, 96, 100),
    ("AITER i8gemm 112x256", 112 * 256, 224, 0, 67, 98, 100),
    ("AITER i8gemm 128x128", 128 * 128, 384, 0, 48, 81, 97),
    ("AITER bf16gemm 160x64 split-K", 160 * 64, 240, 0, 34, 89, 94),
    ("AITER bf16gemm 64x64 pf3", 64 * 64, 96, 0, 22, 41, 80),
    ("AITER fp8 block scale 128x128", 0, 384, 0.19, 32, 71, 87),
    ("AITER MoE stage 1 fp8 128x128", 0, 768, 0, 62, 100, None),
    ("AITER MoE stage 1 fp8 block scale 64x256", 0, 768, 0.28, 37, 86, None),
]
# Smaller tiles are measured by the peer of their size: (least area, as is, without waits).
BY_AREA = [(128 * 128, 81, 97), (160 * 64, 89, 94), (64 * 64, 41, 80)]

# Fewer waves than SIMDs leave some of those idle, however good the loop looks.
ALWAYS = {"vgpr_spills": (None, 0), "sgpr_spills": (None, 0), "scratch_bytes": (None, 0),
          "scratch_instructions": (None, 0), "waves_per_simd": (1, None)}
LARGE = {"mca": (90, None), "mca_nowait": (97, None), "hot_valu_passes": (None, 0),
         "hot_mfma_share": (55, None)}
TRANSPOSED = {"hot_valu_to_mfma": (None, 0.25), "mca": (80, None)}
BLOCK_SCALE = {"hot_valu_to_mfma": (None, 0.28), "mca": (70, None),
               "hot_vm_drains": (None, 0)}
# No peer is of this size: bound by the weights' bytes, which whole 16-byte loads bring.
SKINNY = {"hot_load_bytes": (16, None)}


def large(k):
    return k["area"] >= 256 * 128


def block_peer(k):
    """As large as the peer with block scales."""
    return k["area"] >= 128 * 128


def by_area(k):
    """The limits of the largest peer that is not larger, {} where all are."""
    for area, full, nowait in BY_AREA:
        if k["area"] >= area:
            return {"mca": (full, None), "mca_nowait": (nowait, None)}
    return {}


# (row's name, pattern of the kernel's name, condition, limits: a dict or a function of the
# kernel). A limit: figure -> (at least, at most).
LIMITS = [
    ("fp8 block scales", r"(gemm|grouped)_.*(block|scale128).*", block_peer, BLOCK_SCALE),
    ("fp8 block scales, smaller", r"(gemm|grouped)_.*(block|scale128).*", None,
     lambda k: {"hot_valu_to_mfma": (None, 0.28), **by_area(k)}),
    ("few rows", r"gemm_skinny_.*", None, SKINNY),
    ("NT, at least 256x128", r"(gemm|grouped)_.*_nt(_.*)?", large, LARGE),
    ("NT, smaller", r"(gemm|grouped)_.*_nt(_.*)?", lambda k: True, by_area),
    ("other transposes", r"(gemm|grouped)_.*_(nn|tn|tt)(_.*)?", None, TRANSPOSED),
]


def fail(text):
    print(f"gemm_static: {text}", file=sys.stderr)
    sys.exit(2)


def digest_of(paths):
    h = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            h.update(f.read())
    return h.hexdigest()[:16]


def report_sources():
    found = []
    for folder in ("isa", "emulator/isa", "emulator/count"):
        for path, _, files in os.walk(os.path.join(ROOT, folder)):
            found += [os.path.join(path, f) for f in files if f.endswith((".c", ".h", ".def"))]
    return sorted(found)


def kernels_of(pack):
    with open(os.path.join(pack, "pack.json"), encoding="utf-8") as f:
        manifest = json.load(f)
    out = []
    for k in manifest["kernels"]:
        if k["op"] not in ("gemm", "grouped_gemm"):
            continue
        knobs = k.get("knobs", {})
        area = 1
        for name in ("BLOCK_M", "BLOCK_N"):
            if not isinstance(knobs.get(name), int):
                fail(f"kernel {k['name']}: no knob {name}, so its peers are unknown")
            area *= knobs[name]
        for file in sorted(set(k["code"].values())):
            out.append({"name": k["name"], "file": os.path.join(pack, file), "area": area,
                        "tile": f"{knobs['BLOCK_M']}x{knobs['BLOCK_N']}",
                        "sha": manifest["files"][file]})
    return out


def report(args, kernel):
    command = [args.wavefarm, "isa", kernel["file"], "--mca", args.mca, "--mca-time", "120s",
               "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
    one = json.loads(done.stdout)["reports"][0]
    return {"version": one["llvm_mca"]["version"],
            "symbols": [{"symbol": s["kernel"], "figures": s["figures"],
                         "unknown": s["unknown"],
                         "hot": [h["instructions"] for h in s["hot"][:1]]}
                        for s in one["kernels"]]}


def reports(args, kernels):
    """One a kernel, from the cache or made now, and kept."""
    sources = digest_of(report_sources())
    version = subprocess.run([args.mca, "--version"], capture_output=True, text=True,
                             check=True).stdout
    base = hashlib.sha256((sources + version).encode()).hexdigest()[:16]
    cache = {}
    if args.cache and os.path.exists(args.cache):
        with open(args.cache, encoding="utf-8") as f:
            cache = json.load(f)
    kept = {}
    missing = [k for k in kernels if f"{base}:{k['sha']}" not in cache]
    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        for k, r in zip(missing, pool.map(lambda k: report(args, k), missing)):
            cache[f"{base}:{k['sha']}"] = r
    for k in kernels:
        kept[f"{base}:{k['sha']}"] = cache[f"{base}:{k['sha']}"]
    if args.cache:
        with open(args.cache + ".new", "w", encoding="utf-8") as f:
            json.dump(kept, f)
        os.replace(args.cache + ".new", args.cache)
    return [kept[f"{base}:{k['sha']}"] for k in kernels], len(missing)


def row_of(kernel):
    for name, pattern, condition, limits in LIMITS:
        if re.fullmatch(pattern, kernel["name"]) and (condition is None or condition(kernel)):
            return name, limits(kernel) if callable(limits) else limits
    return None, None


class Break(str):
    """A broken limit as text; `at` names it where it may be known, else None."""
    at = None
    value = None
    higher_is_better = True


def broken_limit(kernel, symbol, figure, value, text, higher_is_better):
    out = Break(f"{kernel['name']} ({symbol['symbol']}): {text}")
    if figure not in ALWAYS:
        out.at = f"{kernel['name']} {symbol['symbol']} {figure}"
        out.value = value
        out.higher_is_better = higher_is_better
    return out


def beyond(kernel, symbol, limits):
    """What breaks a limit."""
    out = []
    for figure, (least, most) in limits.items():
        value = symbol["figures"].get(figure)
        if value is None:
            why = symbol["unknown"].get(figure, "not in the report")
            out.append(Break(f"{kernel['name']} ({symbol['symbol']}): {figure} is not known: "
                             f"{why}"))
        elif least is not None and value < least:
            out.append(broken_limit(kernel, symbol, figure, value,
                                    f"{figure} {value:.4g}, at least {least}", True))
        elif most is not None and value > most:
            out.append(broken_limit(kernel, symbol, figure, value,
                                    f"{figure} {value:.4g}, at most {most}", False))
    return out


def split_known(broken, known):
    """(what fails, what is known and no worse) of the broken limits."""
    fails, accepted = [], []
    for b in broken:
        at = getattr(b, "at", None)
        if at is None or at not in known:
            fails.append(str(b))
            continue
        worse = known[at] - b.value if b.higher_is_better else b.value - known[at]
        if worse > SLACK * max(1, abs(known[at])):
            fails.append(f"{b}; known was {known[at]:.4g}")
        else:
            accepted.append(str(b))
    now = {getattr(b, "at", None) for b in broken}
    fails += [f"{at}: is within its limit (or gone), take it out of {os.path.basename(KNOWN)}"
              for at in known if at not in now]
    return fails, accepted


def hot_mix(symbol):
    return symbol["hot"][0] if symbol["hot"] else {}


def judge(kernel, found):
    """(row's name, what breaks a limit) of one kernel: its symbols with matrix work by the
    row, all by ALWAYS; those that differ in the alignment they ask have the same loop."""
    name, limits = row_of(kernel)
    if name is None:
        return "none", [f"{kernel['name']}: no row of the table covers it"]
    out = []
    matrix = [s for s in found["symbols"] if (s["figures"]["hot_mfma"] or 0) > 0]
    if not matrix:
        out.append(f"{kernel['name']}: no loop with matrix instructions")
    for s in found["symbols"]:
        out += beyond(kernel, s, ALWAYS)
    for s in matrix:
        out += beyond(kernel, s, limits)
        for part in ("mfma", "valu", "lds_read", "load"):
            if hot_mix(s).get(part, 0) != hot_mix(matrix[0]).get(part, 0):
                out.append(f"{kernel['name']}: the loops of {s['symbol']} and "
                           f"{matrix[0]['symbol']} differ in {part}: "
                           f"{hot_mix(s).get(part, 0)} and {hot_mix(matrix[0]).get(part, 0)}")
    return name, out


# --- the table ---
def number(value, digits=0):
    return "-" if value is None else f"{value:.{digits}f}"


def table_line(kernel, found, row, broken):
    lines = []
    for s in found["symbols"]:
        f = s["figures"]
        if not f["hot_mfma"]:
            continue
        lines.append(
            f"| `{kernel['name']}` | {kernel['tile']} | {f['vgprs'] + f['agprs']}, "
            f"{f['waves_per_simd']} | {number(f['lds_bytes'] / 1024)}K | {f['hot_mfma']} | "
            f"{number(f['hot_valu_to_mfma'], 2)} | {number(f['hot_mfma_share'])} % | "
            f"{number(f['mca'])} / {number(f['mca_nowait'])} | {f['hot_vm_drains']} | "
            f"{f['vgpr_spills'] + f['sgpr_spills']}, {f['scratch_bytes']} | {row}"
            f"{', **not within**' if broken else ''} |")
    return lines


def print_table(kernels, found, verdicts):
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True, check=False).stdout.strip()
    print("# Our GEMM kernels on gfx942, statically\n")
    print(f"Commit {commit}, {datetime.date.today()}, {found[0]['version']}, made by "
          "`tests/isa/gemm_static.py table` from `wavefarm isa`. None of this is a time; "
          "[../isa.md](../isa.md) says what each figure is and what it cannot say. The "
          "limits are the table of `tests/isa/gemm_static.py`, which ctest keeps to.\n")
    print("Registers: vector and accumulation, waves a SIMD. MFMA: matrix instructions of "
          "an iteration of the hot loop. VALU: vector by matrix passes. Share: matrix "
          "instructions of all. mca: llvm-mca as it is / without waits, percent.\n")
    head = ("| kernel | tile | registers, waves | LDS | MFMA | VALU | share | mca | "
            "vmcnt(0) | spills, scratch | limits |")
    print(head)
    print("|---" * head.count("| ") + "|")
    for k, f, (row, broken) in zip(kernels, found, verdicts):
        for line in table_line(k, f, row, broken):
            print(line)
    print("\nPeers, the same figures of their published code (0 spills, 0 scratch, 512 "
          "registers and one wave a SIMD but 480 for 256x224):\n")
    print("| kernel | MFMA | VALU | share | mca |\n|---|---|---|---|---|")
    for name, _, mfma, valu, share, full, nowait in PEERS:
        print(f"| {name} | {mfma} | {valu} | {share} % | {full} / {number(nowait)} |")
    broken = [text for _, texts in verdicts for text in texts]
    if broken:
        print("\nNot within their limits:\n")
        for text in broken:
            print(f"- {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("check", "table", "known"))
    parser.add_argument("--wavefarm", required=True)
    parser.add_argument("--pack", required=True)
    parser.add_argument("--mca", default=MCA)
    parser.add_argument("--cache")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    if shutil.which(args.mca) is None:
        fail(f"no {args.mca} on PATH; tools/setup.sh installs it")
    kernels = kernels_of(args.pack)
    if not kernels:
        fail(f"{args.pack}: no gemm kernels")
    found, made = reports(args, kernels)
    verdicts = [judge(k, f) for k, f in zip(kernels, found)]
    broken = [text for _, texts in verdicts for text in texts]
    if args.what == "table":
        print_table(kernels, found, verdicts)
        return 0
    if args.what == "known":
        print(json.dumps({b.at: round(b.value, 2) for b in broken if getattr(b, "at", None)},
                         indent=1, sort_keys=True))
        return 0
    known = {}
    if os.path.exists(KNOWN):
        with open(KNOWN, encoding="utf-8") as f:
            known = json.load(f)
    fails, accepted = split_known(broken, known)
    for text in fails:
        print(text)
    print(f"{len(kernels)} kernels, {len(fails)} figures beyond their limits, {len(accepted)} "
          f"more that are known; {made} reports made now, {found[0]['version']}")
    return 1 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
