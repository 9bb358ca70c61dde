#!/usr/bin/env python3
"""Whether each kernel of faults.hip got its answer, and the answer says where.

    faults.py RESULTS.json faults.hip
"""
import json
import re
import sys

LANE = r"workgroup {} wave {} lane {}"

# kernel: answer, mark of the line, what else the text says (regular expressions)
EXPECTED = {
    "a_right": ("PASS", None, []),
    "b_reads_behind": ("OUT_OF_BOUNDS", "READS_BEHIND",
                       ["global_load_dword ", LANE.format("0,1,0", 3, 63) + " address 0x[0-9a-f]+: "]),
    "c_writes_behind": ("OUT_OF_BOUNDS", "WRITES_BEHIND",
                        ["global_store_dword ",
                         LANE.format("2,1,0", 3, 63) + " address 0x[0-9a-f]+: "]),
    "d_unwritten_lds": ("UNINITIALISED_READ", "UNWRITTEN_LDS", [LANE.format("0,0,0", 2, r"\d+")]),
    "e_unwritten_address": ("UNINITIALISED_READ", "UNWRITTEN_ADDRESS",
                            ["global_load_dword ", r"lane 0: v\d+, used as address"]),
    "f_no_barrier": ("RACE", None, ["faults.hip:", "same LDS without a barrier",
                                    r"wave 1 lane \d+ address 0x"]),
    "g_no_wait": ("RACE", "NO_WAIT", ["v_add_f32", r"wave 0: v\d+ is read while its load"]),
    "h_shared_element": ("RACE", "SHARED_ELEMENT",
                         ["same memory without order",
                          "wave 1 lane 13 address 0x[0-9a-f]+: writes 4 bytes that wave 0"]),
    "i_divergent_barrier": ("DEVICE_FAULT", None,
                            ["s_barrier", "which wave 1, ended after 2, never reaches"]),
    "j_misaligned": ("DEVICE_FAULT", "MISALIGNED",
                     ["misaligned", "global_atomic_add", "wave 1 lane 6 address 0x[0-9a-f]+: "]),
    "k_endless": ("TIMEOUT", "ENDLESS", ["s_branch", "wave 3: .* 200000 instructions"]),
    "l_trap": ("DEVICE_FAULT", "TRAP", ["s_trap 2", "wave 2: "]),
    "m_wrong_value": ("MISMATCH", None, ["1 wrong"]),
    "n_right_again": ("PASS", None, []),
}


def lines_of(source):
    """The line that each mark, a word of a comment, stands on."""
    marks = {}
    with open(source, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            for mark in line.partition("//")[2].split():
                marks[mark] = number
    return marks


def faults_of(result, marks):
    kernel, text = result["task"]["kernel"], result["answer_text"]
    answer, mark, patterns = EXPECTED[kernel]
    emulation = result["details"]["emulation"]
    launches = emulation["launches"]
    if result["answer"] != answer:
        yield f"is {result['answer']}"
    if mark:
        patterns = patterns + [re.escape(f"(faults.hip:{marks[mark]})")]
    yield from (f"no '{p}'" for p in patterns if not re.search(p, text))
    if len(launches) != 1:
        yield f"{len(launches)} launches"
    if [emulation[x] for x in ("mfma", "checks", "counters")] != ["fast", True, True]:
        yield "not the default options"
    fault = launches[0]["fault"]
    if answer in ("PASS", "MISMATCH"):
        if fault is not None:
            yield "has a fault in its report"
    elif fault is None or fault["answer"] != answer or fault["summary"] != text:
        yield "has another fault in its report"
    elif not re.match(r"wf_faulty: .* at wf_faulty\+0x", text):
        yield "does not say where"
    costs = all(emulation.get(x, 0) > 0 for x in ("host_ns", "host_ns_plain", "cost"))
    if answer == "PASS" and not costs:
        yield "does not say what it cost"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        results = json.load(f)
    marks = lines_of(sys.argv[2])
    bad = [f"{r['task']['kernel']} ({r['answer']}: {r['answer_text']}): {fault}"
           for r in results for fault in faults_of(r, marks)]
    if [r["task"]["kernel"] for r in results] != sorted(EXPECTED):
        bad.append("not one result for each kernel")
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


sys.exit(main())
