"""A throw-away farm for tests: private database, coordinator, tokens, an HTTP client.

Everything lies in one temporary folder and ends with the object. Python's standard
library only. WF_BINARY_DIR names the build folder."""

import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

PROGRAM = os.path.join(os.environ.get("WF_BINARY_DIR", "build/dev"), "bin", "wavefarm-coordinator")


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()


def wait_for(what, condition, seconds=20.0):
    """Polls; fails loudly. The only kind of waiting in these tests."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("never happened: " + what)


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:400]!r}"


class Farm:
    def __init__(self, *flags, start=True, migrate=True):
        self.folder = tempfile.mkdtemp(prefix="wf-farm-")
        os.chmod(self.folder, 0o755)
        self.flags = list(flags)
        self.process = None
        self.port = 0
        self.db = self.run("db", "start", self.path("pg")).strip()
        if migrate:
            self.run("migrate", "--db", self.db)
            self.tokens = {r: self.token(r) for r in ("reader", "submitter", "admin", "runner")}
            if start:
                self.start()

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *args, check=True):
        done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=120)
        if check and done.returncode != 0:
            raise AssertionError(f"{args}: {done.returncode}: {done.stderr}")
        return done.stdout if check else done

    def token(self, role):
        return self.run("token", "create", "--role", role, "--name", role, "--db", self.db).strip()

    def spawn(self, *flags):
        self.log = open(self.path("log"), "ab")
        if os.path.exists(self.path("port")):
            os.unlink(self.path("port"))
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--db", self.db, "--listen", "127.0.0.1:0", "--port-file",
             self.path("port"), "--blobs", self.path("blobs"), *self.flags, *flags],
            stdout=self.log, stderr=self.log)

        def port():
            if self.process.poll() is not None:
                raise AssertionError("coordinator ended: " + open(self.path("log")).read())
            return os.path.exists(self.path("port"))
        wait_for("port file", port)
        self.port = int(open(self.path("port")).read())

    def start(self, *flags):
        self.spawn(*flags)
        wait_for("healthz", lambda: self.call("GET", "/healthz").status == 200)

    def stop_coordinator(self, how=signal.SIGTERM):
        if self.process:
            self.process.send_signal(how)
            code = self.process.wait(timeout=30)
            self.process = None
            self.log.close()
            return code
        return None

    def close(self):
        try:
            self.stop_coordinator(signal.SIGKILL)
            self.run("db", "stop", self.path("pg"), check=False)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind and os.path.exists(self.path("log")):
            sys.stderr.write(open(self.path("log")).read()[-4000:])
        self.close()

    # --- HTTP ---

    def call(self, method, path, body=None, role=None, token=None, headers=None, timeout=60):
        head = dict(headers or {})
        token = token or (self.tokens[role] if role else None)
        if token:
            head["Authorization"] = "Bearer " + token
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request(method, path, body=body, headers=head)
            r = c.getresponse()
            return Reply(r.status, dict(r.getheaders()), r.read())
        except (ConnectionError, http.client.HTTPException, socket.timeout) as e:
            return Reply(0, {}, repr(e).encode())
        finally:
            c.close()

    def good(self, method, path, body=None, role=None, status=(200, 201), **more):
        r = self.call(method, path, body, role, **more)
        assert r.status in status, (method, path, r)
        return r.json()

    # --- what a submitter and a runner do ---

    def put_blob(self, data):
        name = sha256(data)
        self.good("PUT", "/v1/blobs/" + name, data, "submitter")
        return name

    def run_body(self, cases=3, kernels=("gemm_x",), archive=None, arch="x86-64", **more):
        library = "x.so"
        pack = {"schema": "wavefarm.pack/1", "name": "test-pack",
                "files": {library: sha256("library")},
                "kernels": [{"name": k, "op": "gemm", "kind": "library", "arch": [arch],
                             "library": library} for k in kernels]}
        body = {"schema": "wavefarm.run/1", "request_id": str(uuid.uuid4()), "name": "test",
                "suite": "test", "priority": "normal",
                "cases": [{"name": f"c{i}", "case": {"op": "gemm", "M": 16 + i, "N": 32, "K": 64}}
                          for i in range(cases)],
                "packs": [{"pack": pack, "archive": archive or self.put_blob(b"archive"),
                           "provenance": None}],
                "kernels": [{"pack": sha256(canonical(pack)), "kernel": k} for k in kernels],
                "devices": {"runtime": "host", "arch": None, "model": None, "labels": []},
                "repetitions": 1, "seed_offset": 0, "measure": {"measure": True, "budget_ms": 100}}
        body.update(more)
        return body

    def submit(self, **more):
        return self.good("POST", "/v1/runs", self.run_body(**more), "submitter")["run"]

    def device(self, n=0, **more):
        d = {"runtime": "host", "library": "", "ordinal": n, "id": f"host:test:{n}", "name": "cpu",
             "arch": "x86-64", "model": "TestCPU", "partition": "", "driver": "",
             "pci_bus_id": "", "cu_count": 2, "xcc_count": 1, "warp_size": 1,
             "memory_bytes": 1 << 34, "l2_bytes": 0, "llc_bytes": 0, "lds_bytes": 0,
             "times_modelled": False, "library_kernels": True, "cpus": "0-1",
             "peak_bytes_per_s": 0}
        d.update(more)
        return d

    def register(self, name="node", labels=(), devices=None):
        return self.good("POST", "/v1/runners",
                         {"schema": "wavefarm.runner/1", "name": name, "version": "0.1.0",
                          "labels": list(labels), "devices": devices or [self.device()]},
                         "runner", status=(201,))["session"]

    def lease(self, session, want=1, device="host:test:0", claim=None, wait_ms=0):
        return self.good("POST", "/v1/lease",
                         {"session": session, "claim_id": claim or str(uuid.uuid4()),
                          "device": device, "want": want, "wait_ms": wait_ms}, "runner")["shards"]

    def result(self, task, answer="PASS", samples=20, **more):
        case = task["case"]
        r = {"schema": "wavefarm.result/1", "kind": "measured",
             "task": {"id": task["task"], "case": case, "case_id": sha256(canonical(case)),
                      "case_name": task["case_name"], "label": "gemm", "op": "gemm",
                      "pack": task["pack"], "pack_name": "test-pack", "kernel": task["kernel"],
                      "device_selector": "host", "repetition": task["repetition"]},
             "suite": task["suite"], "run": task["run"], "attempt": task["attempt"],
             "mode": {"temperature": "hot", "batch": 1},
             "seeds": {"case": 1, "run_offset": 0},
             "code": {"sha256": sha256("library"), "kind": "library", "source": "x.c",
                      "compiler": "gcc", "flags": "-O2", "commit": "", "dirty": False},
             "device": self.device(), "environment": {"host": "test"}, "answer": answer,
             "answer_text": "", "checks": [{"name": "full-double", "passed": True}],
             "errors": {"max_abs": 0.25, "max_rel": 0.125, "mismatches": 0, "nonfinite": 0,
                        "unwritten": 0, "worst": None},
             "tolerance": {"model": "gemm/1", "text": "t"}, "diagnosis": "", "time": "OK",
             "time_text": "",
             "timing": {"unit": "ns", "source": "host-clock", "launches_per_sample": 1,
                        "warmup_launches": 3, "median": 1000.5, "mad": 1.5, "min": 990.5,
                        "max": 1100.5, "mean": 1001.5, "q1": 999.5, "q3": 1002.5,
                        "ci_lo": 998.5, "ci_hi": 1003.5,
                        "samples": [1000.5 + i for i in range(samples)], "invalid": [],
                        "flagged": [], "clock_mhz": [], "power_w": [], "host_ratio": 1.5,
                        "temperature_c": ["nan"] + [40.5] * (samples - 1),
                        "throttle": [1] * samples},
             "work": {"flops": 65536, "bytes": 8192, "math_type": "f32", "peak_flops": 0,
                      "peak_bytes_per_s": 0, "roofline_ns": 0},
             "phases_ns": {"prepare": 1000, "total": 250000000},
             "memory": {"judge_peak_bytes": 1, "subject_peak_bytes": 1, "case_bytes": 1},
             "details": {}}
        r.update(more)
        return r

    def item(self, shard, task, result=None, **more):
        result = result or self.result(task, **more)
        return {"shard": shard["shard"], "token": shard["token"], "task": task["task"],
                "digest": sha256(canonical(result)), "result": result}

    def post_results(self, session, items):
        return self.good("POST", "/v1/results", {"session": session, "results": items},
                         "runner")["results"]

    def finish(self, session, shard):
        return self.post_results(session, [self.item(shard, t) for t in shard["tasks"]])

    def state(self, run, role="reader"):
        return self.good("GET", f"/v1/runs/{run}", None, role)

    def sql(self, text):
        """One value by psql."""
        host = self.path("pg") + "/socket"
        bins = sorted(os.listdir("/usr/lib/postgresql"), key=int)
        psql = f"/usr/lib/postgresql/{bins[-1]}/bin/psql"
        done = subprocess.run([psql, "-h", host, "-U", "wavefarm", "-d", "wavefarm", "-Atq", "-c",
                               "SET search_path = farm", "-c", text],
                              capture_output=True, text=True, timeout=60, cwd="/")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def main(tests, *flags, **more):
    """Runs functions test(farm) over one farm; prints what failed."""
    failed = 0
    with Farm(*flags, **more) as farm:
        for test in tests:
            try:
                test(farm)
                print("ok  ", test.__name__)
            except Exception as e:  # report and go on with the next test
                failed += 1
                print("FAIL", test.__name__, type(e).__name__, e)
                import traceback
                traceback.print_exc()
                if farm.process and farm.process.poll() is not None:
                    print("the coordinator is dead")
                    break
        if failed:
            sys.stderr.write(open(farm.path("log")).read()[-4000:])
        elif farm.process:
            assert farm.stop_coordinator() == 0, "exit status after SIGTERM"
    sys.exit(1 if failed else 0)
