#!/usr/bin/env python3
"""clang 19's warnings, as errors, over the C sources below folders of the tree.

usage: tools/check_clang.py BUILD-FOLDER FOLDER...

Nothing is generated or linked: the fuzz build does that with clang, of what it holds.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


CLANG = "clang-19"


def parse(entry):
    words = shlex.split(entry["command"])
    out = words.index("-o")
    del words[out:out + 2]
    while os.path.basename(words[0]) in ("ccache", "sccache"):
        del words[0]
    words = [CLANG, "-fsyntax-only", "-Wno-unknown-warning-option"] + words[1:]
    done = subprocess.run(words, cwd=entry["directory"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    return entry["file"], done.returncode, done.stdout


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: tools/check_clang.py BUILD-FOLDER FOLDER...")
    tree = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    wanted = tuple(os.path.join(tree, folder) + os.sep for folder in sys.argv[2:])
    with open(os.path.join(sys.argv[1], "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    # A source of two libraries is read once.
    sources = {e["file"]: e for e in entries
               if e["file"].endswith(".c") and e["file"].startswith(wanted)}
    for folder, prefix in zip(sys.argv[2:], wanted):
        if not any(path.startswith(prefix) for path in sources):
            sys.exit(f"check_clang: {sys.argv[1]} compiles nothing below {folder}")
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, text in pool.map(parse, sources.values()):
            if code != 0:
                bad += 1
                print(f"{path}: {CLANG}'s exit status is {code}\n{text}")
    print(f"{len(sources)} sources, {bad} with faults")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
