#!/usr/bin/env python3
"""Commands that cheat: a GEMM in plain Python (f32, N N, one batch) which speaks the
protocol of docs/process-kernels.md. The kernel's name says how it cheats.
"""

import array
import json
import os
import struct
import sys
import time


def read_inputs(path):
    with open(path, "rb") as f:
        (length,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(length))
        data = f.read()
    header.pop("__metadata__", None)
    return {name: array.array("f", data[slice(*t["data_offsets"])])
            for name, t in header.items()}


def write_output(path, shape, data, nonce):
    header = {"D": {"dtype": "F32", "shape": shape, "data_offsets": [0, len(data)]},
              "__metadata__": {"nonce": nonce}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
    os.rename(path + ".part", path)


class Gemm:
    """The honest one."""

    def __init__(self):
        self.elapsed_ns = 0
        self.prepared = 0
        self.d = None

    def prepare(self, request):
        case = request["case"]
        self.m, self.n, self.k = case["M"], case["N"], case["K"]
        tensors = read_inputs(request["inputs"])
        self.a, self.b = tensors["A"], tensors["B"]
        self.prepared += 1

    def product(self):
        d = array.array("f", bytes(4 * self.m * self.n))
        columns = [self.b[j::self.n] for j in range(self.n)]
        for i in range(self.m):
            row = self.a[i * self.k:(i + 1) * self.k]
            for j, column in enumerate(columns):
                d[i * self.n + j] = sum(x * y for x, y in zip(row, column))
        return d

    def work(self, n):
        for _ in range(n):
            self.d = self.product()

    def launch(self, request):
        start = time.perf_counter_ns()
        self.work(request["n"])
        self.elapsed_ns += time.perf_counter_ns() - start

    def synchronise(self, _request):
        elapsed, self.elapsed_ns = self.elapsed_ns, 0
        return {"elapsed_ns": elapsed}

    def read(self, request):
        write_output(request["outputs"], [1, self.m, self.n], self.d.tobytes(),
                     request["nonce"])


class FirstAnswer(Gemm):
    def work(self, n):
        if self.d is None:
            super().work(n)


class LyingClock(Gemm):
    factor = 100

    def synchronise(self, request):
        reply = super().synchronise(request)
        reply["elapsed_ns"] //= self.factor
        return reply


class HalvesTime(LyingClock):
    factor = 2


class OnceForAll(Gemm):
    """Equal inputs give equal outputs: one launch stands for all."""

    def work(self, n):
        super().work(1)


class LazyRead(Gemm):
    """Computes when somebody wants to see it."""

    def work(self, n):
        self.d = None

    def read(self, request):
        if self.d is None:
            self.d = self.product()
        super().read(request)


class OldFile(Gemm):
    """After the first time it leaves the file of the first time."""

    def __init__(self):
        super().__init__()
        self.first = None

    def read(self, request):
        if self.first is None:
            self.first = request["nonce"]
        request["nonce"] = self.first
        super().read(request)


class WrongWhenTimed(Gemm):
    """The second inputs are the timed ones."""

    def work(self, n):
        if self.prepared < 2:
            super().work(n)
        else:
            self.d = array.array("f", bytes(4 * self.m * self.n))


class InPrepare(Gemm):
    """Has the inputs before any clock runs."""

    def prepare(self, request):
        super().prepare(request)
        self.d = self.product()

    def work(self, n):
        pass


KERNELS = {"command_honest": Gemm, "command_first_answer": FirstAnswer,
           "command_lying_clock": LyingClock, "command_halves_time": HalvesTime,
           "command_once_for_all": OnceForAll, "command_lazy_read": LazyRead,
           "command_old_file": OldFile, "command_wrong_when_timed": WrongWhenTimed,
           "command_in_prepare": InPrepare}


def main():
    kernel = None
    for line in sys.stdin:
        request = json.loads(line)
        if kernel is None:
            kernel = KERNELS[request["kernel"]]()
        reply = getattr(kernel, request["do"])(request) or {}
        reply["ok"] = True
        print(json.dumps(reply), flush=True)


main()
