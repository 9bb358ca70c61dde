"""The schemas of packs, entries and provenance records against what the build made, and
against mistakes that the program's readers refuse too."""
import copy
import json
import os
import pathlib
import sys
import warnings

try:
    import jsonschema
except ImportError:
    print("SKIPPED: python3-jsonschema is not installed")
    sys.exit(77)

SOURCE = pathlib.Path(os.environ["WF_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["WF_BINARY_DIR"])


def load(path):
    return json.loads(path.read_text())


SCHEMAS = {name: load(SOURCE / f"docs/schemas/{name}.schema.json")
           for name in ("pack", "kernel-entry", "provenance")}


def validator(name):
    schema = SCHEMAS[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    warnings.simplefilter("ignore")  # newer versions replace RefResolver
    resolver = jsonschema.RefResolver.from_schema(
        schema, store={s["$id"]: s for s in SCHEMAS.values()})
    return jsonschema.Draft202012Validator(schema, resolver=resolver)


def changes(good, edits):
    for edit in edits:
        doc = copy.deepcopy(good)
        edit(doc)
        yield doc


def kernel(doc):
    return doc["kernels"][0]


def launch(doc):
    return kernel(doc)["launches"][0]


PACK_MISTAKES = [
    lambda d: d.update(schema="wavefarm.pack/2"),
    lambda d: d.update(name="../x"),
    lambda d: d.update(name=".x"),
    lambda d: d.update(extra=1),
    lambda d: d.pop("files"),
    lambda d: d.update(kernels=[]),
    lambda d: d.update(files={"../a": "0" * 64}),
    lambda d: d.update(files={"a": "0" * 63}),
    lambda d: d.update(files={"pack.json": "0" * 64}),
    lambda d: kernel(d).update(kind="hsaco"),
    lambda d: kernel(d).update(arch=[]),
    lambda d: kernel(d).update(arch=["gfx942:xnack-"]),
    lambda d: kernel(d).update(accumulate="fp32"),
    lambda d: kernel(d).update(command=["x"]),
    lambda d: kernel(d).update(knobs={"a b": 1}),
    lambda d: kernel(d).update(knobs={"a": True}),
    lambda d: kernel(d).update(code={}),
    lambda d: kernel(d)["buffers"][0].pop("bytes"),
    lambda d: kernel(d)["buffers"][1]["init"].update(byte=256),
    lambda d: kernel(d)["buffers"][1]["init"].update(when="always"),
    lambda d: kernel(d)["buffers"][3]["derive"].update(transform="rotate"),
    lambda d: launch(d).update(grid=[1, 2, 3, 4]),
    lambda d: launch(d).update(lds=1),
    lambda d: launch(d).pop("block"),
    lambda d: launch(d)["args"].append({}),
    lambda d: launch(d)["args"].append({"scalar": "int", "value": 1}),
    lambda d: launch(d)["args"].append({"pointer": "A+4"}),
    lambda d: launch(d)["args"].append({"pointers": []}),
    lambda d: launch(d)["args"].append({"struct": {"bytes": 8, "align": 3}}),
    lambda d: launch(d)["args"][2]["struct"]["members"][0].pop("offset"),
]

ENTRY_MISTAKES = [
    lambda d: d.update(schema="wavefarm.pack/1"),
    lambda d: d.pop("name"),
    lambda d: d.update(files={}),
    lambda d: d.update(compile={"flag": []}),
    lambda d: d.update(compile={"flags": "-O3"}),
    lambda d: d.update(variants=[{"knobs": {}}]),
    lambda d: d.update(kind="process"),
]

PROVENANCE_MISTAKES = [
    lambda d: d.update(schema="x"),
    lambda d: d.update(pack="abc"),
    lambda d: d.update(commit="abc"),
    lambda d: d.update(dirty=1),
    lambda d: d.update(more=1),
    lambda d: d.pop("parents"),
    lambda d: next(iter(d["kernels"].values())).pop("flags"),
    lambda d: next(iter(d["kernels"].values())).update(source_sha256="x"),
]


def main():
    failures = []

    def check(name, documents, mistakes, example):
        v = validator(name)
        for path in documents:
            errors = [e.message for e in v.iter_errors(load(path))]
            if errors:
                failures.append(f"{path}: {errors[0]}")
        for i, doc in enumerate(changes(load(example), mistakes)):
            if v.is_valid(doc):
                failures.append(f"{name}: mistake {i} is not caught")
        print(f"{name}: {len(documents)} documents, {len(mistakes)} mistakes")

    every = BUILD / "test-packs/every-feature-gfx942"
    check("pack", sorted(BUILD.glob("*packs/*/pack.json")) +
          sorted((SOURCE / "tests/fuzz/corpus/pack").iterdir()),
          PACK_MISTAKES, every / "pack.json")
    entries = [p for p in sorted((SOURCE / "kernels").rglob("*.json")) +
               sorted((SOURCE / "tests/packs").rglob("*.json"))
               if load(p).get("schema", "").startswith("wavefarm.kernel-entry/")]
    check("kernel-entry", entries, ENTRY_MISTAKES,
          SOURCE / "tests/packs/every_feature/every_feature.json")
    check("provenance", sorted(BUILD.glob("*packs/*/provenance.json")),
          PROVENANCE_MISTAKES, every / "provenance.json")
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
