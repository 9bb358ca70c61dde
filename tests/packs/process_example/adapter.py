#!/usr/bin/env python3
"""A process kernel: GEMM in plain Python (standard library only), f32, N N, one batch.

It speaks the protocol of docs/process-kernels.md: one JSON object a line on stdin, one
back on stdout. It is an example to start an adapter from, and a test of the protocol.
PROCESS_EXAMPLE_BUG in the environment makes it misbehave, for the tests.
"""

import array
import json
import os
import struct
import sys
import time

BUG = os.environ.get("PROCESS_EXAMPLE_BUG", "")


def read_safetensors(path):
    """Name to (dtype, shape, bytes), and the metadata."""
    with open(path, "rb") as f:
        (length,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(length))
        data = f.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        tensors[name] = (t["dtype"], t["shape"], data[begin:end])
    return tensors, metadata


def write_safetensors(path, name, dtype, shape, data, metadata):
    """One tensor; the file appears under its name only when it is whole."""
    header = {name: {"dtype": dtype, "shape": shape, "data_offsets": [0, len(data)]},
              "__metadata__": metadata}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
    os.rename(path + ".part", path)


class Refusal(Exception):
    """What this kernel does not do; args: answer, message."""


class Gemm:
    def __init__(self):
        self.elapsed_ns = 0
        self.launches = 0

    def prepare(self, request):
        case = request["case"]
        for key in case:
            if key not in ("op", "M", "N", "K", "a_type", "seed", "inputs"):
                raise Refusal("NOT_SUPPORTED", f"only plain f32 products, not {key}")
        if case.get("a_type") != "f32":
            raise Refusal("NOT_SUPPORTED", "only f32")
        self.m, self.n, self.k = case["M"], case["N"], case["K"]
        tensors, _ = read_safetensors(request["inputs"])
        self.a = array.array("f", tensors["A"][2])
        self.b = array.array("f", tensors["B"][2])
        if BUG != "replay" or not self.launches:
            self.d = None

    def launch(self, request):
        start = time.perf_counter_ns()
        for _ in range(request["n"]):
            if BUG == "hang":
                time.sleep(3600)
            if BUG == "crash":
                os.abort()
            if BUG != "replay" or self.d is None:
                self.d = self.product()
            self.launches += 1
        self.elapsed_ns += time.perf_counter_ns() - start

    def product(self):
        d = array.array("f", bytes(4 * self.m * self.n))
        columns = [self.b[j::self.n] for j in range(self.n)]
        for i in range(self.m):
            row = self.a[i * self.k:(i + 1) * self.k]
            for j, column in enumerate(columns):
                d[i * self.n + j] = sum(x * y for x, y in zip(row, column))
        if BUG == "wrong":
            d[0] += 1
        return d

    def synchronise(self, _request):
        elapsed, self.elapsed_ns = self.elapsed_ns, 0
        if BUG == "lies":
            elapsed = elapsed // 100
        return {"elapsed_ns": elapsed}

    def read(self, request):
        nonce = "0" if BUG == "stale" else request["nonce"]
        if BUG != "no-file":
            write_safetensors(request["outputs"], "D", "F32", [1, self.m, self.n],
                              self.d.tobytes(), {"nonce": nonce})


def main():
    kernel = Gemm()
    actions = {"prepare": kernel.prepare, "launch": kernel.launch,
               "synchronise": kernel.synchronise, "read": kernel.read}
    for line in sys.stdin:
        request = json.loads(line)
        if BUG == "chatter":
            print("loading weights ...", flush=True)
        try:
            reply = actions[request["do"]](request) or {}
            reply["ok"] = True
        except Refusal as e:
            reply = {"ok": False, "answer": e.args[0], "message": e.args[1]}
        print(json.dumps(reply), flush=True)


main()
