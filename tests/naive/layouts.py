#!/usr/bin/env python3
"""A suite over the types, layouts and options of both ops, with its datasets.

    layouts.py STORE SUITE.json     writes both
    layouts.py --check RESULTS.json whether all were right and the naive kernel vouched
"""
import hashlib
import json
import os
import struct
import sys

FP8 = ["e4m3fnuz", "e5m2fnuz", "e4m3fn", "e5m2"]


def write_dataset(store, arrays, metadata):
    """int32 arrays as a safetensors file named by its hash."""
    header, data = {"__metadata__": metadata}, b""
    for name in sorted(arrays):
        piece = struct.pack(f"<{len(arrays[name])}i", *arrays[name])
        header[name] = {"dtype": "I32", "shape": [len(arrays[name])],
                        "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    image = struct.pack("<Q", len(text)) + text + data
    sha = hashlib.sha256(image).hexdigest()
    with open(os.path.join(store, sha + ".safetensors"), "wb") as f:
        f.write(image)
    return "sha256:" + sha


def gemm_cases():
    shape = {"op": "gemm", "M": 9, "N": 17, "K": 23}
    layouts = [("N", "N"), ("T", "N"), ("N", "T"), ("T", "T")]
    for i, t in enumerate(["f64", "f32", "f16", "bf16", *FP8, "i8"]):
        a, b = layouts[i % 4]
        yield {**shape, "name": f"gemm-{t}", "a_type": t, "trans_a": a, "trans_b": b}
    for d in ["f16", "bf16", *FP8]:
        yield {**shape, "name": f"gemm-to-{d}", "a_type": "f32", "b_type": "bf16", "d_type": d,
               "c_type": "f16", "alpha": 1.5, "beta": -0.5}
    yield {**shape, "name": "gemm-i8-alpha-beta", "a_type": "i8", "alpha": -3, "beta": 7}
    yield {"name": "gemm-batch", "op": "gemm", "M": 5, "N": 7, "K": 9, "batch": 3, "lda": 13,
           "ldb": 11, "ldc": 15, "ldd": 17, "beta": 2, "stride_a": 0, "offset_a": 3, "offset_d": 5}
    yield {"name": "gemm-k0", "op": "gemm", "M": 5, "N": 7, "K": 0, "beta": 2}


def attention_cases(store):
    heads = {"op": "attention", "q_heads": 4, "kv_heads": 2, "head_dim": 8, "lse": True}
    dense = {**heads, "q_len": 5, "kv_len": 19, "batch": 2}
    for t in ["f32", "bf16", "e4m3fnuz", "e5m2"]:
        yield {**dense, "name": f"attention-{t}", "q_type": t}
    for t in ["e5m2fnuz", "e4m3fn"]:
        yield {**dense, "name": f"attention-f16-{t}", "kv_type": t, "k_scale": 1.3,
               "v_scale": 0.7, "q_scale": 2}
    yield {**dense, "name": "attention-long-causal", "q_len": 24, "causal": True}
    yield {**dense, "name": "attention-window", "window_left": 3, "window_right": 2, "head_dim_v": 20}
    yield {**dense, "name": "attention-cap", "soft_cap": 0.5, "o_type": "f32", "causal": True,
           "window_left": 6}
    yield {**dense, "name": "attention-strided", "q_token_stride": 60, "q_head_stride": 13,
           "k_token_stride": 30, "v_head_stride": 11, "o_token_stride": 70, "q_offset": 3, "o_offset": 1}
    ragged = write_dataset(store, {"kv_indptr": [0, 7, 7, 30], "qo_indptr": [0, 3, 5, 9]}, {})
    yield {**heads, "name": "attention-ragged", "layout": "ragged", "page_table": ragged, "causal": True}
    paged = write_dataset(store, {"kv_indptr": [0, 3, 3, 5], "kv_indices": [9, 2, 4, 9, 0],
                                  "kv_last_page_len": [2, 0, 4], "qo_indptr": [0, 2, 3, 6]},
                          {"num_pages": "11", "page_size": "4"})
    for layout in ["NHD", "HND"]:
        yield {**heads, "name": f"attention-paged-{layout}", "layout": "paged", "page_table": paged,
               "kv_layout": layout, "causal": True}


def check(path):
    with open(path, encoding="utf-8") as f:
        results = json.load(f)
    bad = 0
    for r in results:
        naive = r["details"].get("naive", {})
        covered = [c for c in r["checks"] if c["name"] == "naive-device" and c["passed"]]
        if r["answer"] == "PASS" and naive.get("state") == "ran" and covered and \
                naive["verified"] > 0 and naive["own_ratio"] < 0.5:
            continue
        bad += 1
        print(r["task"]["case_name"], r["answer"], r["answer_text"], naive)
    print(f"{len(results)} cases, {bad} bad")
    return bad != 0 or len(results) < 30


def main():
    if sys.argv[1] == "--check":
        return check(sys.argv[2])
    store, suite = sys.argv[1:]
    cases = [*gemm_cases(), *attention_cases(store)]
    with open(suite, "w", encoding="utf-8") as f:
        json.dump({"schema": "wavefarm.suite/1", "name": "layouts",
                   "description": "types, layouts and options of both ops", "cases": cases}, f)
    return 0


if __name__ == "__main__":
    sys.exit(main())
