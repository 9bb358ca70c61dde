"""Our safetensors files against an independent reader and writer (standard library).

The reader keeps the rules of the official one: header at most 100 MB and inside the
file, begins with '{', offsets in order without hole or overlap, sizes that match, the
last tensor ends at the end of the file.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I8": 1, "U8": 1,
         "F8_E4M3": 1, "F8_E5M2": 1}
NAMES = {"F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "I64": "i64",
         "I32": "i32", "I8": "i8", "U8": "u8", "F8_E4M3": "e4m3fn", "F8_E5M2": "e5m2"}


def no_duplicates(pairs):
    keys = [k for k, _ in pairs]
    assert len(keys) == len(set(keys)), f"duplicate key in {keys}"
    return dict(pairs)


def read(path):
    blob = open(path, "rb").read()
    (n,) = struct.unpack("<Q", blob[:8])
    assert n <= 100_000_000 and 8 + n <= len(blob) and blob[8:9] == b"{" and n % 8 == 0
    header = json.loads(blob[8:8 + n].decode("utf-8"), object_pairs_hook=no_duplicates)
    data = blob[8 + n:]
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(v, str) for v in metadata.values())
    at, tensors = 0, {}
    for name, t in sorted(header.items(), key=lambda kv: kv[1]["data_offsets"]):
        begin, end = t["data_offsets"]
        count = 1
        for d in t["shape"]:
            count *= d
        assert begin == at and end - begin == count * SIZES[t["dtype"]], name
        at = end
        tensors[name] = (t["dtype"], t["shape"], data[begin:end])
    assert at == len(data)
    return tensors, metadata


def our_view(tool, path):
    out = subprocess.run([tool, "show", path], check=True, capture_output=True).stdout
    rows = {}
    for line in out.decode("utf-8").splitlines():
        name, dtype, shape, *data = line.rsplit(" ", 3)
        rows[name] = (dtype, shape, data[0] if data else "")
    return rows


def compare(tool, path):
    tensors, metadata = read(path)
    ours = our_view(tool, path)
    assert set(ours) == set(tensors), (set(ours), set(tensors))
    for name, (tag, shape, data) in tensors.items():
        dtype = metadata.get("wavefarm.dtype." + name, NAMES[tag])
        want = (dtype, "[" + ",".join(map(str, shape)) + "]", data.hex())
        assert ours[name] == want, (name, ours[name], want)
    return tensors, metadata


def write_foreign(path):
    """As other writers do: no padding, data order unlike header order."""
    data = bytes(range(13))
    header = {"b": {"dtype": "I64", "shape": [1], "data_offsets": [5, 13]},
              "a": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [1, 5]},
              "c": {"dtype": "F8_E5M2", "shape": [], "data_offsets": [0, 1]}}
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def check_table(tensors, metadata):
    def ints(name):
        return struct.unpack(f"<{tensors[name][1][0]}i", tensors[name][2])
    indptr, indices, last = (ints(n) for n in ("kv_indptr", "kv_indices",
                                               "kv_last_page_len"))
    assert indptr[0] == 0 and indptr[-1] == len(indices)
    assert len(last) == len(indptr) - 1 == int(metadata["batch"])
    assert all(1 <= n <= int(metadata["page_size"]) for n in last)
    assert all(1 <= p < int(metadata["num_pages"]) for p in indices)
    assert json.loads(metadata["recipe"])["kind"] == "page-table"


def main():
    tool = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.safetensors")
        subprocess.run([tool, "write", path], check=True)
        tensors, metadata = compare(tool, path)
        assert len(tensors) == 14 and metadata["note"] == "line\n\u20ac"
        assert tensors["e4m3fnuz"][0] == "U8"
        subprocess.run([tool, "table", path], check=True)
        check_table(*compare(tool, path))
        foreign = os.path.join(folder, "foreign.safetensors")
        write_foreign(foreign)
        text = our_view(tool, foreign)
        assert text["a"] == ("bf16", "[1,2]", "01020304"), text
        assert text["b"] == ("i64", "[1]", "05060708090a0b0c"), text
        assert text["c"] == ("e5m2", "[]", "00"), text
    print("ok")


main()
