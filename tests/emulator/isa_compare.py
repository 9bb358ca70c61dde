#!/usr/bin/env python3
"""Compares the emulator's decoder and printer with LLVM's disassembler.

  isa_compare.py sweep PROGRAM ROUNDS MC...   generated instructions, by each llvm-mc
  isa_compare.py objects PROGRAM DIR DUMP...  code objects below DIR, by each llvm-objdump

PROGRAM is isa_sweep. Tools that are not installed are skipped, except the first.
"""

import pathlib
import re
import shutil
import struct
import subprocess
import sys

UNKNOWN = "unknown"

# Where LLVM decodes something and the emulator must not: a pattern in LLVM's text, and
# why. Beside these, the first LLVM binds: where it and a later one disagree on whether
# words are an instruction (LLVM 22 ignores bits that LLVM 19 wants to be 0, and the other
# way round), the later one does not.
REFUSED = [
    (r"\bnull\b", "code 125 is no register of gfx942"),
    (r"src_lds_direct", "only vector sources of 32 bits can be it"),
    (r"\bs\[(100:103|96:103|92:107|88:103)\]", "tuples end at s101"),
    (r"^(buffer_store_lds_dword|buffer_wbinvl1)", "not gfx942's: LLVM 22 agrees"),
    (r"^v_nop\b", "the SDWA and DPP forms of v_nop: no assembler writes them"),
    (r"^flat_.*offset:(409[6-9]|4[1-9]\d\d|[5-8]\d\d\d)", "flat offsets have 12 bits"),
    (r"^v_\S*(mfma|smfmac|accvgpr|swap|readfirstlane).*\bsrc_",
     "these operands are vector registers"),
    (r"^v_mqsad_u32_u8.*\bsrc_", "a source of 128 bits is a vector"),
    (r"^s_(setpc|rfe|cbranch_join|movrels)\S* .*src_", "reads registers only"),
    (r"_e64 (src_|[-0-9])", "a constant is no destination"),
    (r"\b[va]\[\d*[13579]:", "tuples begin on an even register: LLVM 22 agrees"),
]


def words_of(line):
    """(low, high, bytes, text) of a line of isa_sweep."""
    low, high, size, text = line.split(" ", 3)
    return int(low, 16), int(high, 16), int(size), text


def plain(text):
    """Without comments and superfluous blanks."""
    text = re.sub(r"\s*(//|;).*", "", text)
    return re.sub(r"\s+", " ", text).strip()


def version_of(tool):
    out = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True)
    return int(re.search(r"version (\d+)", out.stdout).group(1))


def is_refused(text):
    return any(re.search(pattern, text) for pattern, _ in REFUSED)


def same_operands(version, theirs, ours, high):
    """LLVM 22 writes lit(0x40) where a literal has an inline constant's value, prints no
    sign extension but SDWA's, and has op_sel where LLVM 19 does not:
    of v_alignbit, not of dot products of bytes."""
    if version < 22:
        return theirs == ours
    if "_sdwa" not in theirs:
        ours = re.sub(r"sext\(([^)]*)\)", r"\1", ours)
    if re.match(r"v_(dot[48]|alignb)", theirs):
        ours = re.sub(r" op_sel(_hi)?:\[[01,]+\]", "", ours)
        theirs = re.sub(r" op_sel(_hi)?:\[[01,]+\]", "", theirs)
    a, b = theirs.split(", "), ours.split(", ")
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        match = re.search(r"lit\((0x[0-9a-f]+)\)", x)
        if match and int(match.group(1), 16) == high:
            continue
        if x != y:
            return False
    return True


class Report:
    def __init__(self, tool):
        self.tool, self.version = tool, version_of(tool)
        self.cases = self.decoded = self.refused = self.different = 0

    def compare(self, where, theirs, ours, high, disputed=False):
        """Text that is UNKNOWN is no instruction. disputed: the first LLVM disagrees."""
        self.cases += 1
        if theirs != UNKNOWN:
            self.decoded += 1
        if same_operands(self.version, theirs, ours, high):
            return
        if disputed or (ours == UNKNOWN and is_refused(theirs)):
            self.refused += 1
            return
        self.different += 1
        if self.different <= 20:
            print(f"{where}: {self.tool}: {theirs}\n    here: {ours}")

    def finish(self):
        print(f"{self.tool}: {self.cases} cases, {self.decoded} decoded, "
              f"{self.refused} refused, {self.different} differences")
        return self.different == 0 and self.decoded > 0


def sweep_texts(tool, cases):
    """What llvm-mc prints for the words of each case, and whether it took 4 bytes."""
    lines = []
    for i, (low, high, _, _) in enumerate(cases):
        for data in (struct.pack("<I", 0xBF8D0000 | i & 0xFFFF),
                     struct.pack("<II", low, high)):
            lines.append("[" + " ".join(f"0x{b:02x}" for b in data) + "]")
    run = subprocess.run(
        [tool, "--disassemble", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942"],
        input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    invalid, second = set(), set()
    for match in re.finditer(r"^<stdin>:(\d+):(\d+): warning", run.stderr, re.M):
        case = (int(match.group(1)) - 2) // 2
        (invalid if int(match.group(2)) < 20 else second).add(case)
    texts = {}
    case = -1
    for line in run.stdout.splitlines():
        text = plain(line)
        if not text or text.startswith("."):
            continue
        match = re.match(r"s_sethalt (\S+)$", text)
        if match and int(match.group(1), 0) == (case + 1) & 0xFFFF:
            case += 1
        elif case in texts or case in invalid:
            second.add(case)
        else:
            texts[case] = text
    if case != len(cases) - 1:
        sys.exit(f"{tool} stopped after case {case}: {cases[case]}")
    return [UNKNOWN if i in invalid or "/*" in texts.get(i, "/*") else texts[i]
            for i in range(len(cases))], second


def sweep(program, rounds, tools):
    out = subprocess.run([program, rounds], capture_output=True, text=True, check=True)
    cases = [words_of(line) for line in out.stdout.splitlines()]
    good = True
    first = None
    for tool in tools:
        report = Report(tool)
        texts, second = sweep_texts(tool, cases)
        for i, (low, high, size, ours) in enumerate(cases):
            if texts[i] != UNKNOWN and ours != UNKNOWN and (size == 4) != (i in second):
                texts[i] += f" (of {4 if i in second else 8} bytes)"
            report.compare(f"{low:08x} {high:08x}", texts[i], plain(ours), high,
                           first and (first[i] == UNKNOWN) != (texts[i] == UNKNOWN))
        first = first or texts
        good = report.finish() and good
    return good


def is_gfx942(path):
    head = path.open("rb").read(64)
    return (head[:4] == b"\x7fELF" and len(head) == 64 and head[18:20] == b"\xe0\x00" and
            head[48] == 0x4C)


def dumped(tool, path, seen):
    """(words, text) of each instruction that llvm-objdump finds and that no object before
    had (they are a hundred kernels of one source); branches to a symbol get their immediate
    back."""
    out = subprocess.run([tool, "-d", str(path)], capture_output=True, text=True, check=True)
    labels = {name: int(address, 16) for address, name in
              re.findall(r"^([0-9a-f]+) <(.+)>:$", out.stdout, re.M)}
    for match in re.finditer(
            r"^\s+(\S.*?)\s*// ([0-9A-F]+): ([0-9A-F]+)(?: ([0-9A-F]+))?", out.stdout, re.M):
        text, address, low, high = match.groups()
        if (low, high) in seen:
            continue
        seen.add((low, high))
        text = UNKNOWN if text.startswith(".long") else plain(text)
        words = text.split(" ")
        if re.match(r"s_(call|c?branch)", text) and words[-1] in labels:
            offset = (labels[words[-1]] - int(address, 16) - 4) // 4
            text = " ".join(words[:-1] + [str(offset & 0xFFFF)])
        yield low, high, text


def objects(program, folder, tools):
    paths = [p for p in sorted(pathlib.Path(folder).rglob("*.co")) if is_gfx942(p)]
    if not paths:
        print(f"no gfx942 code object below {folder}")
        return False
    good = True
    for tool in tools:
        report = Report(tool)
        seen = set()
        for path in paths:
            found = list(dumped(tool, path, seen))
            text = "".join(f"{low} {high or 0}\n" for low, high, _ in found)
            out = subprocess.run([program], input=text, capture_output=True, text=True,
                                 check=True)
            for (_, high, theirs), line in zip(found, out.stdout.splitlines(), strict=True):
                _, word, size, ours = words_of(line)
                if theirs != UNKNOWN and size != (8 if high else 4):
                    ours += f" (of {size} bytes)"
                report.compare(f"{path.name}: {line[:17]}", theirs, plain(ours), word)
        good = report.finish() and good
    return good


def main():
    if len(sys.argv) < 5 or sys.argv[1] not in ("sweep", "objects"):
        sys.exit(__doc__)
    kind, program, what, *tools = sys.argv[1:]
    tools = [tools[0]] + [tool for tool in tools[1:] if shutil.which(tool)]
    run = sweep if kind == "sweep" else objects
    sys.exit(0 if run(program, what, tools) else 1)


main()
