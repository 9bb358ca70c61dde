"""Gates on a farm, with a runner that makes its records up: verdicts, one record a pair and
round, restarts, cancelling, lost workers, devices that go away."""

import json
import os
import signal
import subprocess
import tempfile
import time
import uuid

import farm
from farm import main, sha256, canonical, wait_for
from gatefarm import MARGINS, Noise, body, pair, record_lines

WAVEFARM = os.path.join(os.environ.get("WF_BINARY_DIR", "build/dev"), "bin", "wavefarm")


def fresh(f):
    """No runner and no gate of an earlier test."""
    f.sql("UPDATE session SET state = 'ended', ended = now() WHERE state = 'alive'")
    for gate in f.sql("SELECT run_id FROM gate WHERE verdict IS NULL").split():
        f.call("POST", f"/v1/gates/{gate}/cancel", {}, "submitter")
    wait_for("a quiet farm", lambda: f.sql(
        "SELECT count(*) FROM shard WHERE state IN ('ready', 'leased')") == "0")


def submit(f, **more):
    return f.good("POST", "/v1/gates", body(f, **more), "submitter", status=(201,))["id"]


def state(f, gate):
    return f.good("GET", f"/v1/gates/{gate}", None, "reader")


def run_rounds(f, session, noise, gate, device="host:test:0", most=100, **more):
    """Rounds on one device until the gate has ended; how many there were."""
    rounds = 0
    while rounds < most:
        f.good("POST", f"/v1/runners/{session}/heartbeat", {}, "runner")
        shards = f.lease(session, device=device, wait_ms=300)
        if not shards:
            if state(f, gate)["red"] is not None:
                break
            continue
        for s in shards:
            assert "gate" in s, s
            got = f.post_results(session, [noise.item(s, t, **more) if "pair" in t
                                           else noise.item(s, t) for t in s["tasks"]])
            assert all(v["status"] == "accepted" for v in got), got
            rounds += 1
    return rounds


def verdicts(f, gate):
    lines = record_lines(f, gate)
    assert lines[-1]["kind"] == "verdict", lines[-1]["kind"]
    return {p["key"]: (p["verdict"], p["reason"]) for p in lines[-1]["pairs"]}, lines


def command(f, *args, status=0, role="reader"):
    """What `wavefarm` says of the farm: on stdout if all is good, else on stderr."""
    done = subprocess.run([WAVEFARM, *args], capture_output=True, text=True,
                          env=dict(os.environ, WAVEFARM_SERVER=f"http://127.0.0.1:{f.port}",
                                   WAVEFARM_TOKEN=f.tokens[role]))
    assert done.returncode == status, done.stdout + done.stderr
    return done.stderr if status else done.stdout


def replays(f, gate):
    """The record, as the command replays it: bit by bit the stored verdict."""
    lines = record_lines(f, gate, 500)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as out:
        for l in lines:
            out.write(json.dumps(l, separators=(",", ":")) + "\n")
    command(f, "gate", "replay", out.name)
    os.unlink(out.name)


def test_same_passes(f):
    fresh(f)
    s = f.register()
    gate = submit(f)
    rounds = run_rounds(f, s, Noise(), gate)
    got, lines = verdicts(f, gate)
    assert all(got[f"c{i}/k"] == ("PASS", "") for i in range(4)), got
    assert lines[0]["kind"] == "header" and lines[0]["gate"] == state(f, gate)["gate"]
    assert lines[0]["seed"] != "00" * 32 and lines[0]["devices"][0]["model"] == "TestCPU"
    assert 2 <= rounds <= 8, rounds
    now = state(f, gate)
    assert (now["state"], now["red"], now["rounds"]) == ("done", False, rounds), now
    assert now["verdicts"] == {"PASS": 4}, now
    assert f.sql(f"SELECT count(*), count(DISTINCT (ordinal, round)) FROM gate_block"
                 f" WHERE run_id = {gate}").split("|")[0] == str(sum(l["kind"] == "pair" for l in lines))
    replays(f, gate)
    assert f.call("POST", f"/v1/gates/{gate}/cancel", {}, "submitter").status == 409
    with tempfile.TemporaryDirectory() as folder:
        kept = os.path.join(folder, "record")
        command(f, "gate", "fetch", gate, "--out", kept)
        size = os.path.getsize(kept)
        command(f, "gate", "fetch", "999999", "--out", kept, status=2)
        assert size == os.path.getsize(kept) > 1000
    told = command(f, "status", gate, status=2)
    assert f"{gate} is a gate: 'wavefarm gate status {gate}'" in told, told
    # Not among the runs, and not among their results.
    assert gate not in [r["run"] for r in f.good("GET", "/v1/runs", None, "reader")["runs"]]
    assert f.good("GET", f"/v1/runs/{gate}/results", None, "reader")["results"] == []


def test_slower_fails(f):
    fresh(f)
    s = f.register()
    gate = submit(f, pairs=6)
    run_rounds(f, s, Noise({"c2/k": 0.04}, seed=2), gate)
    got, _ = verdicts(f, gate)
    assert got.pop("c2/k") == ("FAIL", "slower"), got
    assert got.pop("slower@0")[0] == "PASS" and got.pop("same@0")[0] in ("PASS", "UNCHANGED")
    assert set(got.values()) == {("PASS", "")}, got
    assert state(f, gate)["red"] is True
    replays(f, gate)
    # The noise that was seen is what the next gate starts from.
    assert 0.0003 < float(f.sql("SELECT s0 FROM gate_noise ORDER BY case_key LIMIT 1")) < 0.01
    nxt = submit(f, pairs=6)
    head = wait_for("the header", lambda: record_lines(f, nxt))[0]
    margins = head["pairs"][0]["margins"]
    assert margins["s0"] != MARGINS["s0"] and margins["d1"] == 0.02, margins
    assert margins["tau"] == 0, margins  # only a pack against itself tells it
    assert margins["source"] == "farm: 2 gates, 0 of them A/A", margins
    f.good("POST", f"/v1/gates/{nxt}/cancel", {}, "submitter")
    history = f.good("GET", "/v1/gates/history?model=TestCPU", None, "reader")["series"]
    points = [x for x in history if x["key"] == "c2/k"][0]["points"]
    assert points[-1]["gate"] == gate and 0.03 < points[-1]["value"] < 0.05, points
    assert points[-1]["low"] < points[-1]["value"] < points[-1]["high"]
    told = command(f, "history", "--kernel", "k", "--json")
    assert any(s["case"] == "c2" for s in json.loads(told)["series"]), told


def test_failed_sentinel(f):
    """Added work that is not found: nothing that the device said of times is kept."""
    fresh(f)
    s = f.register()
    gate = submit(f, pairs=1)
    run_rounds(f, s, Noise({"slower@0": 0}), gate)
    got, _ = verdicts(f, gate)
    assert got["c0/k"] == ("INCONCLUSIVE", "sentinel"), got
    now = state(f, gate)
    assert (now["red"], now["infrastructure"]) == (False, True), now
    assert "no verdict" in command(f, "gate", "status").splitlines()[1]
    points = f.good("GET", "/v1/gates/history?kernel=k", None, "reader")["series"]
    assert gate not in [p["gate"] for x in points for p in x["points"]], points
    replays(f, gate)
    # The device is in quarantine: the next gate waits, and nobody can miss why.
    q = in_quarantine(f, s)
    assert q["author"] == "sentinel" and q["reason"].startswith("slower@0: its added work"), q
    assert f.sql("SELECT runner, device, gate_id, state, until - since = interval '24 h' FROM report.quarantine") == \
        f"node|host:test:0|{gate}|open|t"
    assert f"gate {gate}: quarantine {q['id']} of host:test:0 on node" in open(f.path("log")).read()
    row = [r for r in command(f, "runners").splitlines() if "alive" in r][0]
    assert row.rstrip().endswith(f"{q['id']}: until {q['until']}"), row
    told = command(f, "gate", "submit", "--base", "x", "--cand", "x", "--suite", "x", status=3)
    for word in ("host:test:0 on node", q["until"], "its added work", "quarantine lift ID"):
        assert word in told, (word, told)
    nxt = submit(f, pairs=1)
    assert not f.lease(s, wait_ms=600) and state(f, nxt)["groups"] == 0
    # Runs go on.
    f.submit(cases=1)
    shard = wait_for("a run's shard", lambda: f.lease(s))[0]
    f.post_results(s, [f.item(shard, t) for t in shard["tasks"]])
    command(f, "quarantine", "lift", q["id"], "--reason", "a neighbour is gone", status=3)
    assert in_quarantine(f, s) == q  # a reader lifts nothing
    told = command(f, "quarantine", "lift", q["id"], "--reason", "a neighbour is gone",
                   role="submitter")
    assert "host:test:0 on node gets gates again" in told and in_quarantine(f, s) is None, told
    run_rounds(f, s, Noise(), nxt)
    assert verdicts(f, nxt)[0]["c0/k"] == ("PASS", "")
    assert in_quarantine(f, s) is None
    told = command(f, "quarantine", "list", "--all")
    assert "by submitter: a neighbour is gone" in told and "lifted" in told, told
    assert len(command(f, "quarantine", "list").splitlines()) == 1


def in_quarantine(f, session, n=0):
    """What GET /v1/runners says of a device of the session; None: it is in no quarantine."""
    runners = f.good("GET", "/v1/runners", None, "reader")["runners"]
    return [r for r in runners if r["session"] == session][0]["devices"][n].get("quarantine")


def test_quarantine_by_hand(f):
    """Its members are strict, it ends by its time, and none is made where the setting says so."""
    fresh(f)
    s = f.register(devices=[f.device(0, quarantine={"id": "7"}), f.device(1)])
    assert in_quarantine(f, s) is None  # not for the runner to say
    good = {"runner": "node", "device": "host:test:0", "reason": "a doubt", "for_ms": 1500}
    post = lambda b, role="submitter", to="": f.call("POST", "/v1/quarantines" + to, b, role)
    for change, word in (({"device": "host:test:9"}, "host:test:9"), ({"runner": "nobody"}, "nobody"),
                         ({"reason": ""}, "reason"), ({"reason": "two\nlines"}, "reason"),
                         ({"reason": "x" * 201}, "reason"), ({"reason": None}, "reason"),
                         ({"for_ms": 0}, "for_ms"), ({"for_ms": 31536000001}, "for_ms"),
                         ({"for_ms": "1h"}, "for_ms"), ({"scope": "runs"}, "scope")):
        r = post(dict(good, **change))
        assert r.status == 422 and word in r.json()["detail"], (change, r)
    assert post(good, "reader").status == 403 and post(good, "runner").status == 403
    q = post(good).json()
    assert (q["author"], q["state"], q["gate"], q["lifted"]) == ("submitter", "open", None, None), q
    assert in_quarantine(f, s) == {k: q[k] for k in ("id", "reason", "author", "since", "until")}
    assert in_quarantine(f, s, 1) is None
    r = post(good)
    assert r.status == 409 and r.json()["code"] == "in-quarantine" and q["id"] in r.json()["detail"], r
    for id, body, status in (("999999", {"reason": "x"}, 404), ("x", {"reason": "x"}, 404),
                             (q["id"], {}, 422), (q["id"], {"reason": "x", "by": "me"}, 422)):
        assert post(body, to=f"/{id}/lift").status == status, (id, body)
    assert f.call("GET", "/v1/quarantines?all=2", None, "reader").status == 422
    # Not the device that would come first, but the other; where both are out: it waits.
    gate = submit(f, pairs=1, sentinels=False)
    place = wait_for("a plan", lambda: state(f, gate)["places"])[0]
    assert place["device"] == "host:test:1", place
    f.good("POST", f"/v1/gates/{gate}/cancel", {}, "submitter")
    told = command(f, "quarantine", "add", "node", "host:test:1", "--reason", "it, too",
                   "--for", "1500ms", role="submitter")
    assert "host:test:1 on node gets no new gates until" in told, told
    for bad, word in ((("--for", "soon"), "for"), (("--for", "9000h"), "for"), ((), "reason")):
        told = command(f, "quarantine", "add", "node", "host:test:1", *bad,
                       *(("--reason", "r") if bad else ()), status=2, role="submitter")
        assert word in told, told
    gate = submit(f, pairs=1, sentinels=False)
    place = wait_for("its time is over", lambda: state(f, gate)["places"])[0]
    f.good("POST", f"/v1/gates/{gate}/cancel", {}, "submitter")
    assert in_quarantine(f, s) is None or in_quarantine(f, s, 1) is None
    wait_for("both are over", lambda: f.good("GET", "/v1/quarantines", None, "reader")["quarantines"] == [])
    assert post({"reason": "x"}, to=f"/{q['id']}/lift").json()["code"] == "quarantine-ended"
    # One that nobody lifted makes room for the next.
    q2 = post(good).json()
    assert q2["id"] != q["id"] and q2["state"] == "open", q2
    old = {x["id"]: x for x in f.good("GET", "/v1/quarantines?all=1", None, "reader")["quarantines"]}
    assert (old[q["id"]]["state"], old[q["id"]]["lifted"]) == ("expired", None), old
    assert post({"reason": "x"}, to=f"/{q2['id']}/lift").json()["lifted_by"] == "submitter"
    f.stop_coordinator()
    f.start("--gate-quarantine", "0s")
    r = post({k: v for k, v in good.items() if k != "for_ms"})
    assert r.status == 422 and "for_ms" in r.json()["detail"], r
    s = f.register()
    gate = submit(f, pairs=1)
    run_rounds(f, s, Noise({"slower@0": 0}), gate)
    assert state(f, gate)["infrastructure"] is True and in_quarantine(f, s) is None
    f.stop_coordinator()
    f.start()


def test_wrong_and_refused(f):
    fresh(f)
    s = f.register()
    pairs = [pair(0), pair(1), pair(2, identical=True), pair(3, refused="no room for it")]
    static = {"kind": "static", "entries": []}
    gate = submit(f, sentinels=False, header={"pairs": pairs}, static=static)
    shard = wait_for("a round", lambda: f.lease(s))[0]
    assert sorted(t.get("pair", "") for t in shard["tasks"]) == ["", "c0/k", "c1/k"]
    noise = Noise()
    f.post_results(s, [noise.item(shard, t, **({"answer": "MISMATCH"} if t.get("pair") == "c1/k" else {}))
                       if "pair" in t else noise.item(shard, t) for t in shard["tasks"]])
    run_rounds(f, s, noise, gate)
    got, lines = verdicts(f, gate)
    assert lines[1] == static and sum(l["kind"] == "static" for l in lines) == 1
    assert got["c0/k"] == ("PASS", "") and got["c1/k"] == ("FAIL", "wrong"), got
    assert got["c2/k"] == ("UNCHANGED", "identical"), got
    assert got["c3/k"][0] == "INCONCLUSIVE", got
    replays(f, gate)


def test_requests(f):
    fresh(f)
    good = body(f)
    first = f.good("POST", "/v1/gates", good, "submitter", status=(201,))
    assert f.good("POST", "/v1/gates", good, "submitter", status=(200,)) == first
    other = dict(good, priority="nightly")
    assert f.call("POST", "/v1/gates", other, "submitter").status == 409
    assert f.call("POST", "/v1/gates", good, "reader").status == 403
    assert state(f, first["id"])["state"] == "queued"
    assert record_lines(f, first["id"]) == []  # no device: no plan, nothing was launched
    for change, word in (
            (lambda b: b["header"]["pairs"][0]["margins"].update(d0=0.5), "d0"),
            (lambda b: b["header"]["pairs"][0].update(case_id="0" * 64), "case_id"),
            (lambda b: b["header"]["pairs"][0]["case"].update(M="x"), "M"),
            (lambda b: b["header"]["pairs"][1].update(key="c0/k"), "two pairs"),
            (lambda b: b["header"]["pairs"][0].update(key="#0"), "#"),
            (lambda b: b["header"]["pairs"][0]["base"].update(kernel="nix"), "nix"),
            (lambda b: b["header"]["packs"]["base"].update(id="0" * 64), "000"),
            (lambda b: b["header"]["packs"]["base"].update(archive="1" * 64), "archive"),
            (lambda b: b["header"].update(runtime="amd"), "runtime"),
            (lambda b: b["packs"].pop(), "pack"),
            (lambda b: b.update(static={"kind": "pair"}), "static"),
            (lambda b: b.update(extra=1), "extra")):
        bad = body(f)
        change(bad)
        r = f.call("POST", "/v1/gates", bad, "submitter")
        assert r.status == 422 and word in r.json()["detail"], (word, r)
    f.good("POST", f"/v1/gates/{first['id']}/cancel", {}, "submitter")
    wait_for("its end", lambda: state(f, first["id"])["red"] is not None)
    assert f.call("GET", "/v1/gates/999999", None, "reader").status == 404
    assert f.call("GET", "/v1/gates/999999/record", None, "reader").status == 404


def test_records_of_others(f):
    """Duplicates, stale tokens, and records that are not what the task is."""
    fresh(f)
    s = f.register()
    gate = submit(f, pairs=2, sentinels=False)
    shard = wait_for("a round", lambda: f.lease(s))[0]
    noise = Noise()
    first = [t for t in shard["tasks"] if "pair" in t][0]
    good = noise.item(shard, first)
    why = lambda item: f.post_results(s, [item])[0]
    for change, word in (({"pair": "c9/k"}, "about another"), ({"round": 7}, "about another"),
                         ({"group": 1}, "about another"), ({"gate": "f" * 16}, "about another"),
                         ({"blocks": [dict(noise.block(first, 5), mask=7)]}, "balanced"),
                         ({"blocks": [dict(noise.block(first, 5), y=[1, 2, 3, "nan"])]}, "y[3]"),
                         ({"candidate": {"answer": "FINE"}}, "FINE")):
        got = why(noise.item(shard, first, **change))
        assert got["status"] == "invalid" and word in got["detail"], (word, got)
    assert why(good)["status"] == "accepted"
    assert why(good)["status"] == "duplicate"
    assert why(noise.item(shard, first))["status"] == "stale"  # another record, too late
    assert why(dict(good, token="0" * 32))["status"] in ("stale", "duplicate")
    # Masks that the seed did not give: the record counts for nothing, and says so.
    rest = [t for t in shard["tasks"] if t is not first]
    for t in rest:
        if "pair" in t:
            t["masks"] = [5 if t["masks"][0] != 5 else 6]
    f.post_results(s, [noise.item(shard, t) for t in rest])
    run_rounds(f, s, noise, gate)
    got, lines = verdicts(f, gate)
    lost = [t["pair"] for t in rest if "pair" in t][0]
    assert got[lost] == ("INCONCLUSIVE", "not-run") and got[first["pair"]] == ("PASS", ""), got
    assert any("the seed gives" in l.get("note", "") for l in lines)
    replays(f, gate)


def test_cancel(f):
    fresh(f)
    s = f.register()
    gate = submit(f)
    shard = wait_for("a round", lambda: f.lease(s))[0]
    noise = Noise()
    f.post_results(s, [noise.item(shard, shard["tasks"][0])])
    f.good("POST", f"/v1/gates/{gate}/cancel", {}, "submitter")
    beat = f.good("POST", f"/v1/runners/{s}/heartbeat", {}, "runner")
    assert beat["must_stop"] == [shard["shard"]], beat
    assert f.post_results(s, [noise.item(shard, shard["tasks"][1])])[0]["status"] == "stale"
    wait_for("the verdict", lambda: state(f, gate)["red"] is not None)
    got, lines = verdicts(f, gate)
    assert set(v[1] for k, v in got.items() if "@" not in k) == {"cancelled"}, got
    assert [l["kind"] for l in lines[1:]] == ["pair", "round", "close", "verdict"], lines
    assert state(f, gate)["state"] == "cancelled"
    replays(f, gate)


def test_restart_and_lost_worker(f):
    """The coordinator is killed between two records and the worker after them: what was
    accepted stays, the rest of the round is done by whoever takes it, once."""
    fresh(f)
    s = f.register()
    gate = submit(f, pairs=5)
    shard = wait_for("a round", lambda: f.lease(s))[0]
    noise = Noise({"c1/k": 0.05}, seed=3)
    items = [noise.item(shard, t) for t in shard["tasks"]]
    assert [v["status"] for v in f.post_results(s, items[:3])] == ["accepted"] * 3
    f.stop_coordinator(signal.SIGKILL)
    f.start()
    assert [v["status"] for v in f.post_results(s, items[:4])] == ["duplicate"] * 3 + ["accepted"]
    wait_for("the session's end", lambda: f.sql(
        f"SELECT state FROM session WHERE session_id = {s}") == "dead")
    assert f.post_results(s, [items[4]])[0]["status"] == "stale"
    assert not f.lease(f.register(name="other"))  # pinned: not another runner's
    s = f.register()
    again = wait_for("the rest", lambda: f.lease(s))[0]
    assert again["gate"]["round"] == 1 and again["gate"]["seed_offset"] == shard["gate"]["seed_offset"]
    assert [t["task"] for t in again["tasks"]] == [t["task"] for t in shard["tasks"][4:]]
    assert [t.get("masks") for t in again["tasks"]] == [t.get("masks") for t in shard["tasks"][4:]]
    f.post_results(s, [noise.item(again, t) for t in again["tasks"]])
    f.stop_coordinator(signal.SIGKILL)
    f.start()
    run_rounds(f, s, noise, gate)
    got, lines = verdicts(f, gate)
    assert got["c1/k"] == ("FAIL", "slower") and got["c0/k"] == ("PASS", ""), got
    keys = [(l["pair"], l["round"]) for l in lines if l["kind"] == "pair"]
    assert len(keys) == len(set(keys))
    assert sum(k[1] == 1 for k in keys) == 7
    replays(f, gate)


def test_a_pair_that_kills_its_runner(f):
    fresh(f)
    s = f.register()
    gate = submit(f, pairs=2, sentinels=False)
    noise = Noise()
    seen = 0
    while state(f, gate)["red"] is None:
        for shard in f.lease(s, wait_ms=200):
            deadly = [t for t in shard["tasks"] if t.get("pair") == "c0/k"]
            f.post_results(s, [noise.item(shard, t) for t in shard["tasks"] if t not in deadly])
            if deadly:
                seen += 1
                f.good("POST", f"/v1/shards/{shard['shard']}/release",
                       {"session": s, "token": shard["token"], "reason": "it broke"}, "runner")
    got, lines = verdicts(f, gate)
    assert got == {"c0/k": ("INCONCLUSIVE", "not-run"), "c1/k": ("PASS", "")}, got
    assert seen == 3 and state(f, gate)["red"] is False
    assert any("it broke" in l.get("note", "") for l in lines), lines
    replays(f, gate)


def test_groups_and_a_device_that_goes_away(f):
    """Two groups on two devices of one model; one runner disappears, its group moves."""
    fresh(f)
    other = dict(devices=[f.device(0, model="Odd")])
    odd = f.register(name="odd", **other)
    a, b = f.register(name="a"), f.register(name="b")
    gate = submit(f, pairs=17)
    wait_for("two groups", lambda: state(f, gate)["groups"] == 2)
    noise = Noise({"c3/k": 0.05}, seed=4)
    assert not f.lease(odd)
    one, two = f.lease(a)[0], f.lease(b)[0]
    assert {one["gate"]["group"], two["gate"]["group"]} == {0, 1}
    assert one["gate"]["seed_offset"] != two["gate"]["seed_offset"]
    f.post_results(b, [noise.item(two, t) for t in two["tasks"][:2]])
    f.post_results(a, [noise.item(one, t) for t in one["tasks"]])
    # An idle device that has no group yet would be the better target, were it not in quarantine.
    c = f.register(name="c")
    f.good("POST", "/v1/quarantines", {"runner": "c", "device": "host:test:0", "reason": "a doubt"},
           "submitter", status=(201,))
    f.good("POST", f"/v1/runners/{b}/end", {}, "runner")
    end = time.monotonic() + 30
    while state(f, gate)["red"] is None and time.monotonic() < end:
        for runner in (a, c):
            f.good("POST", f"/v1/runners/{runner}/heartbeat", {}, "runner")
        for s in f.lease(a, wait_ms=200):
            f.post_results(a, [noise.item(s, t) for t in s["tasks"]])
    got, lines = verdicts(f, gate)
    assert got["c3/k"] == ("FAIL", "slower"), got
    assert {"same@0", "same@1", "slower@0", "slower@1"} <= set(got), got
    assert all(v == ("PASS", "") for k, v in got.items() if k.startswith("c") and k != "c3/k"), got
    moved = [l for l in lines if l["kind"] == "round" and l.get("moves")]
    assert moved and moved[0]["moves"][0]["from"] == "b host:test:0", moved
    assert moved[0]["moves"][0]["to"] == "a host:test:0" and moved[0]["runner"] == "a"
    replays(f, gate)


if __name__ == "__main__":
    main([test_requests, test_same_passes, test_slower_fails, test_failed_sentinel,
          test_quarantine_by_hand,
          test_wrong_and_refused,
          test_records_of_others, test_cancel, test_restart_and_lost_worker,
          test_a_pair_that_kills_its_runner, test_groups_and_a_device_that_goes_away],
         "--session-ttl", "3s", "--heartbeat", "1s", "--reap-period", "100ms",
         "--retry-delay", "50ms", "--poll-period", "100ms", "--gate-patience", "6s")
