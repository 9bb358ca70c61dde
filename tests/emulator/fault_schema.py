"""The reports of launches against their schema; and the schema against mistakes."""
import copy
import json
import os
import pathlib
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("SKIPPED: python3-jsonschema is not installed")
    sys.exit(77)

SOURCE = pathlib.Path(os.environ["WF_SOURCE_DIR"])
SCHEMA = json.loads((SOURCE / "docs/schemas/emulator-report.schema.json").read_text())
REPORTS = json.loads(subprocess.run(sys.argv[1:], check=True, capture_output=True).stdout)

jsonschema.Draft202012Validator.check_schema(SCHEMA)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

for report in REPORTS:
    VALIDATOR.validate(report)
assert [r["fault"] and r["fault"]["kind"] for r in REPORTS] == [
    None, None, "OUT_OF_BOUNDS", "LDS_RACE", "GLOBAL_RACE", "UNINITIALISED"]
assert REPORTS[1]["counters"]["instructions"]["barrier"] == 4
assert REPORTS[1]["counters"]["lds_bytes"] == 2 * 2 * 128 * 4
assert REPORTS[2]["counters"] is None
assert "other" in REPORTS[3]["fault"] and REPORTS[3]["fault"]["other"]["wave"] == 0

MISTAKES = [
    lambda d: d.update(schema="wavefarm.emulator-report/2"),
    lambda d: d.update(extra=1),
    lambda d: d.pop("fault"),
    lambda d: d["counters"].update(model=False),
    lambda d: d["counters"]["cycles"].update(bound_by="time"),
]
for mistake in MISTAKES:
    wrong = copy.deepcopy(REPORTS[0])
    mistake(wrong)
    assert not VALIDATOR.is_valid(wrong), wrong
