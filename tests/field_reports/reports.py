#!/usr/bin/env python3
"""Holds reports.def to what it says: every number is there, every test that it names exists.

reports.py BUILD     BUILD is a build folder; its ctest knows the entries
Then it plants faults into the table: each is found.
"""
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(r"^REPORT\((\d\d),\s+" + r",\s+".join([TEXT] * 4) + r"\)$", re.M)
COUNT = 82


def rows(text):
    return [(int(m[1]), *(s.replace('\\"', '"') for s in m.groups()[1:])) for m in ROW.finditer(text)]


class Sources:
    def __init__(self):
        parts = []
        for folder, _, files in os.walk(os.path.dirname(HERE)):
            for name in files:
                if name.endswith((".c", ".h", ".py", ".sh", ".json", ".def")) and not name.startswith("reports."):
                    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                        parts.append(file.read())
        self.text = "\n".join(parts)
        self.words = set(re.findall(r"\w+", self.text))

    def holds(self, text):
        """A name is a whole word; what has other characters is looked for as it is."""
        return text in self.words if re.fullmatch(r"\w+", text) else text in self.text


def faults(text, entries, sources):
    table = rows(text)
    if len(table) != text.count("\nREPORT("):
        yield "a row is not as it should be"
    numbers = [r[0] for r in table]
    for n in range(1, COUNT + 1):
        if numbers.count(n) != 1:
            yield f"A{n:02}: {numbers.count(n)} rows"
    for n, threads, what, tests, later in table:
        names = shlex.split(tests.replace('"', '\\"'))
        if not re.search(r"\w/\w", threads) or not what:
            yield f"A{n:02}: no thread or no fault"
        if not names and not later:
            yield f"A{n:02}: neither a test nor what is missing"
        for name in names:
            entry, _, test = name.partition("/")
            if entry not in entries:
                yield f"A{n:02}: ctest has no {entry}"
            if not test or not sources.holds(test):
                yield f"A{n:02}: no source has '{test}'"


def ctest_entries(build):
    done = subprocess.run(["ctest", "-N"], cwd=build, capture_output=True, text=True, check=True)
    return set(re.findall(r"^\s*Test\s+#\d+: (\S+)", done.stdout, re.M))


def check_self(text, entries, sources):
    """Each change makes exactly one fault."""
    changes = {
        ("a03_anchored_top_left", "a03_gone"): "no source has 'a03_gone'",
        ("REPORT(17,", "REPORT(18,"): "A17: 0 rows",
        ("test_dtype/", "test_dtypes/"): "ctest has no test_dtypes",
        ("there is no op moe", ""): "A40: neither",
    }
    for (old, new), want in changes.items():
        assert old in text, old
        found = list(faults(text.replace(old, new, 1), entries, sources))
        assert any(want in f for f in found), (want, found)


def main():
    with open(os.path.join(HERE, "reports.def"), encoding="utf-8") as file:
        text = file.read()
    entries, all_sources = ctest_entries(sys.argv[1]), Sources()
    bad = list(faults(text, entries, all_sources))
    for line in bad:
        print(line, file=sys.stderr)
    if bad:
        return 1
    check_self(text, entries, all_sources)
    table = rows(text)
    print(f"{len(table)} reports: {sum(not r[4] for r in table)} tested, "
          f"{sum(bool(r[3]) and bool(r[4]) for r in table)} in part, "
          f"{sum(not r[3] for r in table)} of parts that do not exist")
    return 0


sys.exit(main())
