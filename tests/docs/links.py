"""Links of README.md and docs/: what they point at exists, headings included; files that a
page names in `backticks` are in the tree; every page can be reached from README.md."""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(os.environ.get("WF_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
LINK = re.compile(r"\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^)\s]+)\)")
NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:[ch]|md|json|def|sh|py|mjs|js|hip|cmake|sql))`")
# Where a file may lie that a page names without its whole path.
FOLDERS = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith(("build", "."))}


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def anchors(text):
    found = {}
    for line in without_code(text).splitlines():
        m = re.match(r"#+ (.*)", line)
        if m:
            name = re.sub(r"[^\w\- ]", "", m.group(1).lower().replace("`", "")).replace(" ", "-")
            n = found.get(name, 0)
            found[name] = n + 1
            if n:
                found[f"{name}-{n}"] = 1
    return found


def is_to_come(at):
    """The summary of a campaign (tools/campaigns) is written by its first run."""
    return at.parent == ROOT / "docs/campaigns" and (ROOT / f"tools/campaigns/{at.stem}.sh").exists()


def check(page, texts, faults):
    targets = set()
    body = without_code(texts[page])
    for target in LINK.findall(body):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        at = (page.parent / path).resolve() if path else page
        if not at.exists() and is_to_come(at):
            continue
        if not at.exists():
            faults.append(f"{page.relative_to(ROOT)}: no {target}")
            continue
        targets.add(at)
        if anchor and at in texts and anchor not in anchors(texts[at]):
            faults.append(f"{page.relative_to(ROOT)}: no heading for {target}")
    for name in NAMED.findall(body):
        if name.split("/")[0] in FOLDERS and not (ROOT / name).exists():
            faults.append(f"{page.relative_to(ROOT)}: names {name}, which is not there")
    return targets


def self_check():
    """The rules above find what they are for."""
    assert LINK.findall("see [a\nb](x.md#y) and [c](z.md)") == ["x.md#y", "z.md"]
    assert NAMED.findall("`runner/no_such.c` `GET /v1/runs` `a.c`") == ["runner/no_such.c"]
    assert list(anchors("# A `b` (c)!\n```\n# no\n```\n## A `b` (c)!")) == ["a-b-c", "a-b-c-1"]
    faults = []
    page = ROOT / "docs/made-up.md"
    check(page, {page: "[x](gone.md) [y](#gone) `core/gone.c`"}, faults)
    assert len(faults) == 3, faults


def main():
    self_check()
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {p: p.read_text() for p in pages}
    faults, links = [], {}
    for page in pages:
        links[page] = check(page, texts, faults)
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page not in seen:
            seen.add(page)
            todo.extend(links.get(page, ()))
    faults += [f"{p.relative_to(ROOT)}: no way to it from README.md" for p in pages if p not in seen]
    print("\n".join(faults) if faults else f"ok: {len(pages)} pages")
    sys.exit(1 if faults else 0)


main()
