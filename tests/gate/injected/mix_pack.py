#!/usr/bin/env python3
"""A pack of BASE's kernels but for those whose names match GLOB, which are INJECTED's: the
pull request that changes some of a pack's kernels. KEEP: only kernels of these names.

  mix_pack.py BASE INJECTED GLOB OUT [KEEP...]
"""
import fnmatch
import json
import pathlib
import shutil
import sys


def main():
    base, injected, glob, out = (*map(pathlib.Path, sys.argv[1:3]), sys.argv[3], pathlib.Path(sys.argv[4]))
    one, other = (json.loads((p / "pack.json").read_text()) for p in (base, injected))
    theirs = {k["name"]: k for k in other["kernels"] if fnmatch.fnmatch(k["name"], glob)}
    if glob and not theirs:
        sys.exit(f"mix_pack.py: {injected} has no kernel {glob}")
    keep = sys.argv[5:] or ["*"]
    kernels = [k for k in one["kernels"] if any(fnmatch.fnmatch(k["name"], g) for g in keep)]
    out.mkdir(parents=True)
    files = {}
    for i, k in enumerate(kernels):
        kernel = theirs.get(k["name"], k)
        source = injected if k["name"] in theirs else base
        for file in kernel["code"].values():
            shutil.copyfile(source / file, out / file)
            files[file] = (other if source is injected else one)["files"][file]
        kernels[i] = kernel
    one.update(files=files, kernels=kernels)
    (out / "pack.json").write_text(json.dumps(one, indent=1) + "\n")


if __name__ == "__main__":
    main()
