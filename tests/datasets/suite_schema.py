"""The suites in the tree against docs/schemas/suite.schema.json, and the schema against
mistakes that it must catch and that the program's reader refuses too."""
import copy
import json
import os
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("SKIPPED: python3-jsonschema is not installed")
    sys.exit(77)

ROOT = pathlib.Path(os.environ.get("WF_SOURCE_DIR", "."))


def mistakes(good):
    def changed(edit):
        doc = copy.deepcopy(good)
        edit(doc)
        return doc
    recipe = {"kind": "page-table", "synthetic": True}
    yield changed(lambda d: d.pop("cases"))
    yield changed(lambda d: d.update(cases=[]))
    yield changed(lambda d: d.update(schema="wavefarm.suite/2"))
    yield changed(lambda d: d.update(name="a/b"))
    yield changed(lambda d: d.update(extra=1))
    yield changed(lambda d: d["cases"][0].pop("name"))
    yield changed(lambda d: d["cases"][0].update(op="gem"))
    yield changed(lambda d: d["cases"][0].update(known_best=3))
    yield changed(lambda d: d["defaults"].update(name="x"))
    for bad in ({"ci_target": 1}, {"ci_target": "1 %"}, {"icache": "warm"}, {"launches": 1},
                {"budget_ms": -1}, {"max_samples": 100001}, {"budget": 3}, 3):
        yield changed(lambda d, b=bad: d.update(measure=b))
        yield changed(lambda d, b=bad: d["cases"][0].update(measure=b))
    yield changed(lambda d: d["defaults"].update(measure={}))
    yield changed(lambda d: d.update(datasets={"t": {}}))
    yield changed(lambda d: d.update(datasets={"t": {"sha256": "ABC"}}))
    for bad in ({"batch": 0}, {"num_pages": 1}, {"mode": "best"}, {"trace": "t"},
                {"synthetic": False}, {"x": 1}):
        yield changed(lambda d, b=bad: d.update(datasets={"t": {"make": {**recipe, **b}}}))


def main():
    schema = json.loads((ROOT / "docs/schemas/suite.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    suites = sorted((ROOT / "datasets/suites").glob("*.json"))
    assert len(suites) >= 4, suites
    for path in suites:
        doc = json.loads(path.read_text())
        errors = [e.message for e in check.iter_errors(doc)]
        assert not errors, (path, errors)
        assert doc["name"] == path.stem
    good = json.loads((ROOT / "datasets/suites/gemm-five.json").read_text())
    for i, doc in enumerate(mistakes(good)):
        assert not check.is_valid(doc), f"mistake {i} is not caught"
    print("ok:", len(suites), "suites")


main()
