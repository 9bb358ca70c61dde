#!/usr/bin/env python3
"""Checks JSON values against a JSON Schema (draft 2020-12, the part that we use).

    validate_schema.py SCHEMA FILE...       each FILE holds one value
    validate_schema.py --lines SCHEMA FILE  JSON Lines; a results file's header is left out
    validate_schema.py --array SCHEMA FILE  an array; each item is checked

A keyword that this does not know is an error: a schema must not promise what nobody
checks. Exit status 0 when all is well, 1 with one line per fault otherwise.
"""
import json
import re
import sys

NOTES = {"$schema", "$id", "$defs", "$comment", "title", "description", "examples",
         "default"}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
}


class Validator:
    def __init__(self, root):
        self.root = root
        self.faults = []

    def fault(self, where, text):
        self.faults.append(f"{where or '/'}: {text}")

    def holds(self, schema, value):
        inner = Validator(self.root)
        inner.check(schema, value, "")
        return not inner.faults

    def check(self, schema, value, where):
        if schema is True or schema is False:
            if schema is False:
                self.fault(where, "is not allowed here")
            return
        for keyword, rule in schema.items():
            if keyword in NOTES:
                continue
            method = getattr(self, "rule_" + keyword.replace("$", ""), None)
            if method is None:
                raise SystemExit(f"schema keyword '{keyword}' is not supported")
            method(rule, value, where, schema)

    def rule_ref(self, rule, value, where, _):
        if not rule.startswith("#/"):
            raise SystemExit(f"$ref '{rule}' leads out of the schema")
        target = self.root
        for part in rule[2:].split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        self.check(target, value, where)

    def rule_type(self, rule, value, where, _):
        names = rule if isinstance(rule, list) else [rule]
        if not any(TYPES[n](value) for n in names):
            self.fault(where, f"is {type(value).__name__}, wanted {' or '.join(names)}")

    def rule_const(self, rule, value, where, _):
        if value != rule or isinstance(value, bool) != isinstance(rule, bool):
            self.fault(where, f"is {value!r}, wanted {rule!r}")

    def rule_enum(self, rule, value, where, _):
        if value not in rule:
            self.fault(where, f"is {value!r}, not one of {rule}")

    def rule_required(self, rule, value, where, _):
        if isinstance(value, dict):
            for name in rule:
                if name not in value:
                    self.fault(where, f"lacks '{name}'")

    def rule_properties(self, rule, value, where, _):
        if isinstance(value, dict):
            for name, inner in rule.items():
                if name in value:
                    self.check(inner, value[name], f"{where}/{name}")

    def rule_patternProperties(self, rule, value, where, _):
        if isinstance(value, dict):
            for name, item in value.items():
                for pattern, inner in rule.items():
                    if re.search(pattern, name):
                        self.check(inner, item, f"{where}/{name}")

    def rule_additionalProperties(self, rule, value, where, schema):
        if not isinstance(value, dict):
            return
        patterns = schema.get("patternProperties", {})
        for name, item in value.items():
            if name in schema.get("properties", {}):
                continue
            if any(re.search(p, name) for p in patterns):
                continue
            self.check(rule, item, f"{where}/{name}")

    def rule_propertyNames(self, rule, value, where, _):
        if isinstance(value, dict):
            for name in value:
                self.check(rule, name, f"{where}/{name} (name)")

    def rule_minProperties(self, rule, value, where, _):
        if isinstance(value, dict) and len(value) < rule:
            self.fault(where, f"has fewer than {rule} members")

    def rule_items(self, rule, value, where, schema):
        if isinstance(value, list):
            first = len(schema.get("prefixItems", []))
            for i, item in enumerate(value[first:], first):
                self.check(rule, item, f"{where}/{i}")

    def rule_prefixItems(self, rule, value, where, _):
        if isinstance(value, list):
            for i, (inner, item) in enumerate(zip(rule, value)):
                self.check(inner, item, f"{where}/{i}")

    def rule_minItems(self, rule, value, where, _):
        if isinstance(value, list) and len(value) < rule:
            self.fault(where, f"has fewer than {rule} items")

    def rule_maxItems(self, rule, value, where, _):
        if isinstance(value, list) and len(value) > rule:
            self.fault(where, f"has more than {rule} items")

    def rule_uniqueItems(self, rule, value, where, _):
        if rule and isinstance(value, list):
            seen = [json.dumps(v, sort_keys=True) for v in value]
            if len(set(seen)) != len(seen):
                self.fault(where, "has equal items")

    def rule_minLength(self, rule, value, where, _):
        if isinstance(value, str) and len(value) < rule:
            self.fault(where, f"is shorter than {rule}")

    def rule_maxLength(self, rule, value, where, _):
        if isinstance(value, str) and len(value) > rule:
            self.fault(where, f"is longer than {rule}")

    def rule_pattern(self, rule, value, where, _):
        if isinstance(value, str) and not re.search(rule, value):
            self.fault(where, f"'{value}' does not match {rule}")

    def compare(self, value, where, good, text):
        if TYPES["number"](value) and not good(value):
            self.fault(where, f"is {value}, wanted {text}")

    def rule_minimum(self, rule, value, where, _):
        self.compare(value, where, lambda v: v >= rule, f">= {rule}")

    def rule_maximum(self, rule, value, where, _):
        self.compare(value, where, lambda v: v <= rule, f"<= {rule}")

    def rule_exclusiveMinimum(self, rule, value, where, _):
        self.compare(value, where, lambda v: v > rule, f"> {rule}")

    def rule_exclusiveMaximum(self, rule, value, where, _):
        self.compare(value, where, lambda v: v < rule, f"< {rule}")

    def rule_allOf(self, rule, value, where, _):
        for inner in rule:
            self.check(inner, value, where)

    def rule_anyOf(self, rule, value, where, _):
        if not any(self.holds(inner, value) for inner in rule):
            self.fault(where, "fits none of the forms (anyOf)")

    def rule_oneOf(self, rule, value, where, _):
        fits = sum(self.holds(inner, value) for inner in rule)
        if fits != 1:
            self.fault(where, f"fits {fits} of the forms, wanted one (oneOf)")

    def rule_not(self, rule, value, where, _):
        if self.holds(rule, value):
            self.fault(where, "fits a form that is excluded (not)")

    def rule_if(self, rule, value, where, schema):
        branch = "then" if self.holds(rule, value) else "else"
        if branch in schema:
            self.check(schema[branch], value, where)

    def rule_then(self, *_):
        pass

    def rule_else(self, *_):
        pass


def refuse_constant(text):
    raise ValueError(f"{text} is not JSON")


def read(text):
    return json.loads(text, parse_constant=refuse_constant)


def values(mode, path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if mode == "--lines":
        for number, line in enumerate(text.splitlines(), 1):
            value = read(line)
            header = number == 1 and value.get("schema") == "wavefarm.results/1"
            if not header:
                yield f"{path}:{number}", value
    elif mode == "--array":
        for number, value in enumerate(read(text)):
            yield f"{path}[{number}]", value
    else:
        yield path, read(text)


def main(words):
    mode = words.pop(0) if words and words[0] in ("--lines", "--array") else ""
    if len(words) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(words[0], encoding="utf-8") as file:
        schema = read(file.read())
    faults = checked = 0
    for path in words[1:]:
        for name, value in values(mode, path):
            validator = Validator(schema)
            validator.check(schema, value, "")
            checked += 1
            for text in validator.faults:
                faults += 1
                print(f"{name}: {text}")
    if checked == 0:
        print("nothing to check")
        return 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
