#!/usr/bin/env python3
"""clang's view of every C source of a configured build folder: its warnings are errors.

usage: tools/check_clang.py BUILD-FOLDER [CLANG]

Nothing is generated or linked: the fuzz build does that with clang.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def parse(clang, entry):
    words = shlex.split(entry["command"])
    out = words.index("-o")
    del words[out:out + 2]
    while os.path.basename(words[0]) in ("ccache", "sccache"):
        del words[0]
    words = [clang, "-fsyntax-only", "-Wno-unknown-warning-option"] + words[1:]
    done = subprocess.run(words, cwd=entry["directory"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    return entry["file"], done.returncode, done.stdout


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: tools/check_clang.py BUILD-FOLDER [CLANG]")
    with open(os.path.join(sys.argv[1], "compile_commands.json"), encoding="utf-8") as file:
        entries = [e for e in json.load(file) if e["file"].endswith(".c")]
    if not entries:
        sys.exit("check_clang: no C sources in " + sys.argv[1])
    clang = sys.argv[2] if len(sys.argv) == 3 else "clang-19"
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, text in pool.map(lambda e: parse(clang, e), entries):
            if code != 0:
                bad += 1
                print(f"{path}: {clang} says {code}\n{text}")
    print(f"{len(entries)} sources, {bad} with faults")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
