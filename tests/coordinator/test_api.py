"""What the API refuses and how: tokens, roles, bodies, sizes, paths; and that it matches
its description."""

import http.client
import json
import os
import re
import socket
import time
import uuid

import farm

SOURCE = os.environ.get("WF_SOURCE_DIR", ".")
ROUTE = re.compile(r'^ROUTE\((\w+),\s+"(\w+)",\s+"([^"]+)",\s+(\w+),\s+(\w+),\s+"([^"]*)"', re.M)
ROLES = {"NOBODY_ASKED": None, "READ": {"reader", "submitter", "admin"},
         "SUBMIT": {"submitter", "admin"}, "RUN": {"runner"},
         "RUN_OR_READ": {"reader", "submitter", "admin", "runner"}}


def routes():
    text = open(os.path.join(SOURCE, "coordinator/routes.def")).read()
    found = ROUTE.findall(text)
    assert len(found) == text.count("\nROUTE("), "a row of routes.def was not understood"
    return found


def concrete(path):
    return (path.replace("{id}", "999999").replace("{sha256}", "0" * 64)
            .replace("{path}", "app.js"))


def problem(reply, status, code=None):
    assert reply.status == status, (status, reply)
    assert reply.headers["Content-Type"] == "application/problem+json", reply.headers
    p = reply.json()
    assert set(p) == {"type", "title", "status", "code", "detail"} and p["status"] == status, p
    assert "\n" not in p["detail"] and p["detail"], p
    if code:
        assert p["code"] == code, p
    return p


def every_route_asks_for_its_role(f):
    for name, method, path, who, body, _ in routes():
        allowed = ROLES[who]
        url = concrete(path)
        data = b"{}" if body != "NO_BODY" else None
        if allowed is None:
            assert f.call(method, url, data).status in (200, 404), name
            continue
        problem(f.call(method, url, data), 401, "no-token")
        problem(f.call(method, url, data, token="rubbish"), 401, "no-token")
        problem(f.call(method, url, data, token="wf_a_" + "A" * 43), 401, "unknown-token")
        for role in ("reader", "submitter", "admin", "runner"):
            r = f.call(method, url, data, role)
            if role in allowed:
                assert r.status not in (401, 403, 500, 0), (name, role, r)
            else:
                problem(r, 403, "wrong-role")


def revoked_token_is_refused(f):
    token = f.token("reader")
    assert f.call("GET", "/v1/runs", token=token).status == 200
    rows = f.run("token", "list", "--json", "--db", f.db).splitlines()
    last = json.loads(rows[-1])
    f.run("token", "revoke", last["id"], "--db", f.db)
    farm.wait_for("the cache to forget",
                  lambda: f.call("GET", "/v1/runs", token=token).status == 401, 5)
    done = f.run("token", "revoke", "12345", "--db", f.db, check=False)
    assert done.returncode == 3 and "no token 12345" in done.stderr, done
    assert token not in f.sql("SELECT string_agg(t::text, ' ') FROM token t")


def unknown_paths_and_methods(f):
    problem(f.call("GET", "/v1/nothing", role="admin"), 404, "not-found")
    problem(f.call("GET", "/v1/runs/0017", role="admin"), 404)
    problem(f.call("GET", "/v1/runs/-1", role="admin"), 404)
    problem(f.call("GET", "/v1/blobs/XYZ", role="admin"), 404)
    r = f.call("DELETE", "/v1/runs", role="admin")
    problem(r, 405, "method")
    assert r.headers["Allow"] == "POST, GET", r.headers
    problem(f.call("GET", "/v1/runs?limitt=5", role="reader"), 422, "invalid")
    problem(f.call("GET", "/v1/runs?limit=5&limit=6", role="reader"), 422)
    problem(f.call("GET", "/v1/runs?limit=0", role="reader"), 422)
    problem(f.call("GET", "/v1/runs?limit=five", role="reader"), 422)
    problem(f.call("GET", "/v1/runs/999999", role="reader"), 404)
    problem(f.call("GET", "/v1/tasks/999999", role="reader"), 404)
    problem(f.call("GET", "/v1/runs/999999/results", role="reader"), 404)


def paths_do_not_leave_the_dashboard(f):
    assert b"hello" in f.call("GET", "/static/app.js").body
    r = f.call("GET", "/")
    assert r.status == 200 and "default-src 'none'" in r.headers["Content-Security-Policy"]
    assert r.headers["Content-Type"].startswith("text/html")
    assert r.headers["X-Content-Type-Options"] == "nosniff"
    for path in ("/static/../secret.txt", "/static/%2e%2e/secret.txt", "/static/..%2fsecret.txt",
                 "/static//etc/passwd", "/static/link.js", "/static/.hidden.js", "/static/",
                 "/static/sub/../app.js", "/static/app.js%00.html", "/static/unknown.exe",
                 "/static/" + "a" * 3000, "/..", "//", "/static/app.js/"):
        r = f.call("GET", path)
        assert r.status in (404, 400, 414) and b"TOP" not in r.body, (path, r)


BAD_BODIES = [b"", b"{", b"[]", b"null", b"\xef\xbb\xbf{}", b'{"a":1,"a":2}', b'{"a":NaN}',
              b"{}x", b"\xff\xfe", b'"\\ud800"', b"[" * 100 + b"]" * 100, b"1e999", b"{'a':1}",
              b'{"schema":7}', b'{"session":"1"}', b'{"session":1}', b'{"session":"x"}',
              b'{"session":"9","claim_id":"x","device":"d"}', b'{"unknown":true}',
              b'{"session":"9","results":{}}', b'{"session":"9","results":[1]}',
              b'{"session":"99999999999999999999"}', b'{"header":{},"results":[]}',
              b'{"header":{},"results":[{"digest":"x","result":{}}]}', b"\x00" * 50]


def no_body_is_believed(f):
    for name, method, path, who, body, _ in routes():
        if body != "JSON_BODY":
            continue
        role = "runner" if who == "RUN" else "submitter"
        for bad in BAD_BODIES:
            r = f.call(method, concrete(path), bad, role)
            no_body_needed = name in ("run_cancel", "gate_cancel", "runner_beat", "runner_end")
            want = (400, 422, 404, 410) if no_body_needed else (400, 422)
            assert r.status in want, (name, bad, r)
            problem(r, r.status)


def mutated(value):
    """Each member of a valid body replaced by things that it is not."""
    def walk(v, path):
        items = v.items() if isinstance(v, dict) else enumerate(v) if isinstance(v, list) else ()
        for key, child in list(items):
            yield path + [key]
            yield from walk(child, path + [key])
    for path in list(walk(value, [])):
        for bad in (None, -1, 1.5, "", "x" * 5000, [], {}, True, 1 << 63, [[]], {"a": {}}):
            copy = json.loads(json.dumps(value))
            at = copy
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = bad
            yield path, bad, copy


def no_run_is_believed(f):
    for path, bad, body in mutated(f.run_body(cases=1)):
        body["request_id"] = body["request_id"] if path == ["request_id"] else str(uuid.uuid4())
        r = f.call("POST", "/v1/runs", body, "submitter")
        assert r.status in (201, 400, 422), (path, bad, r)
        if r.status == 201:
            f.good("POST", "/v1/runs/" + r.json()["run"] + "/cancel", {}, "submitter")


def no_registration_is_believed(f):
    body = {"schema": "wavefarm.runner/1", "name": "n", "version": "1", "labels": ["a"],
            "devices": [f.device()]}
    for path, bad, changed in mutated(body):
        r = f.call("POST", "/v1/runners", changed, "runner")
        assert r.status in (201, 400, 422), (path, bad, r)
        if r.status == 201:
            f.good("POST", "/v1/runners/" + r.json()["session"] + "/end", {}, "runner")
    two = dict(body, devices=[f.device(), f.device()])
    problem(f.call("POST", "/v1/runners", two, "runner"), 422)


def no_result_is_believed(f):
    f.submit(cases=1, repetitions=1)
    s = f.register()
    shard = f.lease(s)[0]
    task = shard["tasks"][0]
    for path, bad, changed in mutated(f.result(task, samples=2)):
        if path[0] in ("answer", "schema", "kind", "task", "time", "timing", "work", "device"):
            item = f.item(shard, task, changed)
            item["token"] = "0" * 32  # whatever is well-formed ends as stale
            r = f.call("POST", "/v1/results", {"session": s, "results": [item]}, "runner")
            assert r.status == 200, (path, bad, r)
            assert r.json()["results"][0]["status"] in ("invalid", "stale"), (path, bad, r)
    item = f.item(shard, task)
    for path, bad, changed in mutated(item):
        if path[0] != "result":
            r = f.call("POST", "/v1/results", {"session": s, "results": [changed]}, "runner")
            assert r.status == 422, (path, bad, r)
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def run_mistakes_are_named(f):
    def refused(words, **change):
        body = f.run_body(cases=2)
        body.update(change)
        p = problem(f.call("POST", "/v1/runs", body, "submitter"), 422)
        for w in words:
            assert w in p["detail"], (w, p["detail"])
    good = f.run_body(cases=2)
    case = good["cases"][0]["case"]
    refused(["unknown", "op"], cases=[{"name": "a", "case": dict(case, op="gemmm")}])
    refused(["cases[1] (b)"], cases=[good["cases"][0], {"name": "b", "case": dict(case, M=-4)}])
    refused(["b"], cases=[{"name": "b", "case": dict(case, MM=4)}])
    refused(["two cases", "'c0'"], cases=[good["cases"][0], good["cases"][0]])
    refused(["kernels[0]", "nokernel"], kernels=[dict(good["kernels"][0], kernel="nokernel")])
    refused(["kernels[0]", "not among"], kernels=[dict(good["kernels"][0], pack="0" * 64)])
    refused(["not here", "0" * 64], packs=[dict(good["packs"][0], archive="0" * 64)])
    refused(["packs[0]", "schema"], packs=[dict(good["packs"][0], provenance={"x": 1})])
    refused(["name", "control character"], name="a\x1b[31m")
    refused(["name", "not shown"], name="a\u202eb")
    refused(["cases[0]", "control character"],
            cases=[dict(good["cases"][0], name="a\nb"), good["cases"][1]])
    refused(["request_id", "UUID"], request_id="17")
    refused(["priority", "urgent"], priority="urgent")
    refused(["budget"], measure={"budget": 5})
    for bad, words in (({"icache": "warm"}, ["icache", "hot or cold"]), ({"launches": 1}, ["launches"]),
                       ({"naive": "yes"}, ["naive", "auto"]), ({"ci_target": 1}, ["ci_target"]),
                       ({"min_samples": 9, "max_samples": 8}, ["min_samples is 9", "8"]),
                       ({"max_samples": 100001}, ["max_samples"]), ({"cold": 1}, ["cold"])):
        refused(["measure"] + words, measure=bad)
        if "naive" not in bad:
            refused(["cases[0]", "measure"] + words,
                    cases=[dict(good["cases"][0], measure=bad), good["cases"][1]])
    refused(["cases[0]", "mfma"], cases=[dict(good["cases"][0], measure={"mfma": "fast"})])
    refused(["cases[1]", "min_samples is 50", "20"], measure={"max_samples": 20},
            cases=[good["cases"][0], dict(good["cases"][1], measure={"min_samples": 50})])
    refused(["devices", "runtimes"], devices={"runtimes": "host"})
    refused(["cases", "1 to"], cases=[])
    refused(["no kernel", "attention"], cases=[
        {"name": "att", "case": {"op": "attention", "batch": 1, "q_len": 4, "kv_len": 4,
                                 "q_heads": 1, "kv_heads": 1, "head_dim": 64}}]) \
        if attention_parses(f) else None


def attention_parses(f):
    """The members of attention's cases are not this test's concern."""
    body = f.run_body(cases=1)
    body["cases"] = [{"name": "att", "case": {"op": "attention", "batch": 1, "q_len": 4,
                                              "kv_len": 4, "q_heads": 1, "kv_heads": 1,
                                              "head_dim": 64}}]
    return "no kernel" in f.call("POST", "/v1/runs", body, "submitter").json()["detail"]


def sizes_are_limited(f):
    big = b'{"a":"' + b"x" * (200 * 1024) + b'"}'
    problem(f.call("POST", "/v1/runs", big, "submitter"), 413, "too-large")
    assert f.call("POST", "/v1/runs", b"{}", "submitter").status == 422
    chunks = (b"x" * 10000 for _ in range(30))
    c = http.client.HTTPConnection("127.0.0.1", f.port, timeout=20)
    c.request("POST", "/v1/runs", body=chunks, encode_chunked=True,
              headers={"Authorization": "Bearer " + f.tokens["submitter"],
                       "Transfer-Encoding": "chunked"})
    r = c.getresponse()
    assert r.status == 413 and json.loads(r.read())["code"] == "too-large"
    c.close()
    problem(f.call("PUT", "/v1/blobs/" + "0" * 64, b"y" * (200 * 1024), "submitter"), 413)
    assert f.call("GET", "/healthz", headers={"X-Big": "z" * 60000}).status in (431, 413, 400, 0)
    assert f.call("GET", "/healthz").status == 200


def unauthorised_bodies_are_not_read(f):
    """The answer comes although the announced body never does."""
    s = socket.create_connection(("127.0.0.1", f.port), timeout=10)
    s.sendall(b"PUT /v1/blobs/" + b"0" * 64 + b" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
              b"wf_s_" + b"B" * 43 + b"\r\nContent-Length: 5000\r\n\r\n")
    assert s.recv(200).startswith(b"HTTP/1.1 401"), "no answer before the body"
    s.close()


def rubbish_instead_of_http(f):
    for data in (b"\x00" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00",
                 b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
                 b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
                 b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n"):
        s = socket.create_connection(("127.0.0.1", f.port), timeout=1)
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            s.recv(1000)
        except OSError:
            pass
        s.close()
    assert f.call("GET", "/healthz").status == 200


def blobs_are_what_their_name_says(f):
    data = os.urandom(70000)
    name = farm.sha256(data)
    assert f.call("HEAD", "/v1/blobs/" + name, role="runner").status == 404
    problem(f.call("PUT", "/v1/blobs/" + "1" * 64, data, "submitter"), 422, "hash-mismatch")
    assert f.call("GET", "/v1/blobs/" + "1" * 64, role="runner").status == 404
    first = f.call("PUT", "/v1/blobs/" + name, data, "submitter")
    assert first.status == 201 and first.json() == {"sha256": name, "bytes": 70000}, first
    assert f.call("PUT", "/v1/blobs/" + name, data, "submitter").status == 200
    got = f.call("GET", "/v1/blobs/" + name, role="runner")
    assert got.status == 200 and got.body == data
    head = f.call("HEAD", "/v1/blobs/" + name, role="runner")
    assert head.status == 200 and head.headers["Content-Length"] == "70000" and not head.body
    empty = farm.sha256(b"")
    assert f.call("PUT", "/v1/blobs/" + empty, b"", "submitter").status == 201
    assert f.call("GET", "/v1/blobs/" + empty, role="reader").body == b""
    path = f.path(f"blobs/{name[:2]}/{name}")
    os.truncate(path, 5)
    p = problem(f.call("GET", "/v1/blobs/" + name, role="runner"), 404)
    assert "upload it again" in p["detail"]
    assert f.call("PUT", "/v1/blobs/" + name, data, "submitter").status == 200
    assert f.call("GET", "/v1/blobs/" + name, role="runner").body == data
    assert os.listdir(f.path("blobs/incoming")) == []


def other_token_does_not_own_the_session(f):
    other = f.token("runner")
    s = f.register()
    r = f.call("POST", f"/v1/runners/{s}/heartbeat", {}, token=other)
    problem(r, 410, "session-gone")
    assert f.call("POST", f"/v1/runners/{s}/heartbeat", {}, "runner").status == 200
    problem(f.call("POST", "/v1/lease", {"session": s, "claim_id": str(uuid.uuid4()),
                                         "device": "none:1"}, "runner"), 422)
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def imported_results_become_a_run_once(f):
    case = {"op": "gemm", "M": 5, "N": 6, "K": 7}
    task = {"task": "gemm:gemm_x:0", "case": case, "case_name": "c", "pack": "a" * 64,
            "kernel": "gemm_x", "repetition": 0, "suite": "local", "run": "local-1", "attempt": 1}
    results = [f.result(task), f.result(task, answer="MISMATCH")]
    items = [{"digest": farm.sha256(farm.canonical(r)), "result": r} for r in results]
    body = {"header": {"schema": "wavefarm.results/1", "suite": "local", "created": "2026-01-01T00:00:00Z",
                       "wavefarm": "0.1.0", "expected": 3}, "results": items}
    first = f.call("POST", "/v1/results/import", body, "submitter")
    again = f.call("POST", "/v1/results/import", body, "submitter")
    assert (first.status, again.status) == (201, 200) and first.json() == again.json(), first
    run = first.json()["run"]
    state = f.state(run)
    assert state["kind"] == "imported" and state["state"] == "done", state
    assert state["answers"] == {"MISMATCH": 1, "PASS": 1} and state["expected"] == 3, state
    page = f.good("GET", f"/v1/runs/{run}/results?samples=1", None, "reader")["results"]
    assert [r["kind"] for r in page] == ["measured", "measured"] and page[0]["run"] == run
    assert page[0]["timing"] == results[0]["timing"]
    assert page[0]["task"]["id"].isdigit()
    bad = json.loads(json.dumps(body))
    bad["results"][1]["result"]["answer"] = "PASS"
    p = problem(f.call("POST", "/v1/results/import", bad, "submitter"), 422)
    assert "results[1]" in p["detail"] and "digest" in p["detail"], p
    wrong = f.result(task)
    wrong["task"]["case_id"] = "b" * 64
    bad["results"] = [{"digest": farm.sha256(farm.canonical(wrong)), "result": wrong}]
    p = problem(f.call("POST", "/v1/results/import", bad, "submitter"), 422)
    assert "case_id" in p["detail"], p


def provenance(pack, **more):
    record = {"schema": "wavefarm.provenance/1", "pack": pack, "repository": "https://example.org/k.git",
              "commit": "c" * 40, "parents": ["d" * 40], "dirty": False,
              "built_at": "2026-01-02T03:04:05.678Z",
              "kernels": {"gemm_x": {"compiler": "gcc", "compiler_version": "gcc 12", "flags": ["-O2"],
                                     "source": "x.c", "source_sha256": "e" * 64}}}
    record.update(more)
    return record


def packs_are_published_with_their_provenance(f):
    entry = f.run_body(kernels=("gemm_x", "gemm_y"))["packs"][0]
    entry["pack"]["description"] = "published"
    pack = farm.sha256(farm.canonical(entry["pack"]))
    problem(f.call("GET", "/v1/packs/" + pack, role="reader"), 404, "not-found")

    def publish(record, status):
        r = f.call("POST", "/v1/packs", dict(entry, provenance=record), "submitter")
        assert r.status == status and r.headers["Location"] == "/v1/packs/" + pack, r
        return r.json()

    def stored():
        return f.good("GET", "/v1/packs/" + pack, None, "reader")

    assert publish(None, 201) == {"pack": pack, "provenance": 0}
    assert publish(None, 200) == {"pack": pack, "provenance": 0}
    got = stored()
    assert (got["pack"], got["name"], got["description"]) == (pack, "test-pack", "published"), got
    assert got["files"] == entry["pack"]["files"] and got["archives"] == [entry["archive"]], got
    assert got["provenance"] == [], got
    assert [(k["name"], k["op"], k["arch"]) for k in got["kernels"]] == [
        ("gemm_x", "gemm", ["x86-64"]), ("gemm_y", "gemm", ["x86-64"])], got
    first, dirty = provenance(pack), provenance(pack, dirty=True)
    assert publish(first, 201)["provenance"] == 1
    assert publish(provenance(pack, built_at="2027-01-01T00:00:00.000Z"), 200)["provenance"] == 1
    assert publish(dirty, 201)["provenance"] == 2
    assert [p["record"] for p in stored()["provenance"]] == [first, dirty]
    entry["archive"] = f.put_blob(b"another archive of it")
    assert publish(first, 201)["provenance"] == 2
    assert len(stored()["archives"]) == 2


def published_packs_are_listed(f):
    name, body = "listed-name", f.run_body(kernels=("gemm_listed",))["packs"][0]
    made = []
    for i in range(3):
        entry = json.loads(json.dumps(body))
        entry["pack"].update(name=name, description=str(i))
        pack = farm.sha256(farm.canonical(entry["pack"]))
        record = provenance(pack, commit=f"{i:040x}") if i else None
        f.good("POST", "/v1/packs", dict(entry, provenance=record), "submitter")
        made.insert(0, (pack, [record] if record else []))
    query = "/v1/packs?name=" + name

    def seen(page):
        assert all(p["name"] == name and p["archive"] == body["archive"] and p["created"].endswith("Z")
                   for p in page["packs"]), page
        return [(p["pack"], [v["record"] for v in p["provenance"]]) for p in page["packs"]]

    whole = f.good("GET", query, None, "reader")
    assert seen(whole) == made and whole["next"] is None, whole
    first = f.good("GET", query + "&limit=2", None, "reader")
    rest = f.good("GET", query + "&limit=2&after=" + first["next"], None, "reader")
    assert seen(first) == made[:2] and seen(rest) == made[2:] and rest["next"] is None, (first, rest)
    newest = f.good("GET", "/v1/packs?limit=1", None, "reader")["packs"]
    assert [p["pack"] for p in newest] == [made[0][0]], newest
    assert f.good("GET", "/v1/packs?name=listed", None, "reader") == {"packs": [], "next": None}
    f.good("POST", "/v1/runs", f.run_body(cases=1, kernels=("gemm_in_a_run",)), "submitter")
    assert f.good("GET", "/v1/packs?limit=1", None, "reader")["packs"] == newest, "a run's pack is listed"
    for wrong in ("limit=0", "limit=501", "limit=x", "after=0", "name=", "names=x"):
        p = problem(f.call("GET", "/v1/packs?" + wrong, role="reader"), 422)
        assert wrong.split("=")[0] in p["detail"], p


def published_provenance_goes_with_runs_that_have_none(f):
    body = f.run_body(cases=1, kernels=("gemm_published",))
    pack = body["kernels"][0]["pack"]
    record = provenance(pack)
    f.good("POST", "/v1/packs", dict(body["packs"][0], provenance=record), "submitter")
    own = json.loads(json.dumps(body))
    own["request_id"] = str(uuid.uuid4())
    own["packs"][0]["provenance"] = provenance(pack, commit="f" * 40)
    for b, commit in ((body, "c" * 40), (own, "f" * 40)):
        run = f.good("POST", "/v1/runs", b, "submitter")["run"]
        assert f.sql(f"SELECT provenance ->> 'commit' FROM run_pack WHERE run_id = {run}") == commit
        f.good("POST", f"/v1/runs/{run}/cancel", {}, "submitter")


def no_published_pack_is_believed(f):
    entry = f.run_body(kernels=("gemm_wrong",))["packs"][0]
    pack = farm.sha256(farm.canonical(entry["pack"]))
    wrong = [({"archive": "a" * 64}, "PUT /v1/blobs"), ({"archive": "x"}, "archive"),
             ({"pack": {}}, "schema"), ({"pack": 5}, "pack"), ({"more": 1}, "more"),
             ({"provenance": []}, "provenance"), ({"provenance": {}}, "provenance"),
             ({"provenance": provenance("b" * 64)}, "of pack bbbb"),
             ({"provenance": provenance(pack, commit="HEAD")}, "commit 'HEAD'")]
    for change, text in wrong:
        p = problem(f.call("POST", "/v1/packs", dict(entry, **change), "submitter"), 422)
        assert text in p["detail"], (change, p)
    problem(f.call("GET", "/v1/packs/" + pack, role="reader"), 404)


def description_matches_the_routes(f):
    doc = f.good("GET", "/v1/openapi.json")
    assert doc["openapi"].startswith("3.1")
    described = {(m.upper(), p) for p, item in doc["paths"].items() for m in item
                 if m in ("get", "post", "put", "head", "delete")}
    table = {(method, path) for _, method, path, *_ in routes()}
    table |= {("HEAD", path) for name, _, path, *_ in routes() if name == "blob_get"}
    assert described == table, (described - table, table - described)
    for name, method, path, who, body, query in routes():
        op = doc["paths"][path][method.lower()]
        assert op["operationId"] == name, (op["operationId"], name)
        roles = op.get("x-roles", [])
        assert set(roles) == (ROLES[who] or set()), (name, roles)
        assert ("security" in op and op["security"] == []) == (ROLES[who] is None), name
        assert ("requestBody" in op) == (body != "NO_BODY"), name
        documented = {p["name"] for p in op.get("parameters", []) if p.get("in") == "query"}
        assert documented == set(query.replace("*", "").split()), (name, documented)
        in_path = {p["name"] for p in op.get("parameters", []) if p.get("in") == "path"}
        assert in_path == set(re.findall(r"{(\w+)}", path)), (name, in_path)
        assert any(s.startswith("2") for s in op["responses"]), name


def answers_go_on_while_clients_stall(f):
    """Connections that send half a request hold nobody up."""
    stalled = []
    for _ in range(50):
        s = socket.create_connection(("127.0.0.1", f.port), timeout=5)
        s.sendall(b"POST /v1/results HTTP/1.1\r\nHost: x\r\n")
        stalled.append(s)
    start = time.monotonic()
    assert f.call("GET", "/healthz").status == 200
    assert time.monotonic() - start < 5
    [s.close() for s in stalled]


TESTS = [every_route_asks_for_its_role, revoked_token_is_refused, unknown_paths_and_methods,
         paths_do_not_leave_the_dashboard, no_body_is_believed, no_run_is_believed,
         no_registration_is_believed, no_result_is_believed, run_mistakes_are_named,
         sizes_are_limited, unauthorised_bodies_are_not_read, rubbish_instead_of_http,
         blobs_are_what_their_name_says, other_token_does_not_own_the_session,
         imported_results_become_a_run_once, packs_are_published_with_their_provenance,
         published_packs_are_listed,
         published_provenance_goes_with_runs_that_have_none, no_published_pack_is_believed,
         description_matches_the_routes,
         answers_go_on_while_clients_stall]


def make_pages():
    import tempfile
    top = tempfile.mkdtemp(prefix="wf-pages-")
    pages = os.path.join(top, "pages")
    os.makedirs(os.path.join(pages, "sub"))
    for name, text in (("index.html", "<p>hi</p>"), ("app.js", "hello"), ("sub/a.css", "a{}"),
                       (".hidden.js", "TOP"), ("unknown.exe", "TOP"), ("../secret.txt", "TOP")):
        with open(os.path.join(pages, name), "w") as out:
            out.write(text)
    os.symlink(os.path.join(top, "secret.txt"), os.path.join(pages, "link.js"))
    return top, pages


if __name__ == "__main__":
    import atexit
    import shutil
    top, pages = make_pages()
    atexit.register(shutil.rmtree, top, True)
    farm.main(TESTS, "--static", pages, "--max-body", "128KiB", "--max-blob", "128KiB",
              "--session-ttl", "60s")
