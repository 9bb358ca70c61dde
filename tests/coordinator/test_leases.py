"""Leases, results, releases, the reaper and cancelling, over HTTP."""

import threading
import uuid

import farm
from farm import wait_for


def run_goes_from_queued_to_done(f):
    run = f.submit(cases=3)
    assert f.state(run)["state"] == "queued"
    s = f.register()
    done = 0
    while done < 3:
        for shard in f.lease(s, want=2):
            assert f.state(run)["state"] == "running"
            for v in f.finish(s, shard):
                assert v["status"] == "accepted", v
                done += 1
    state = f.state(run)
    assert state["state"] == "done" and state["answers"] == {"PASS": 3}, state
    assert state["times"] == {"OK": 3} and state["open"] == 0 and state["leased"] == 0, state
    page = f.good("GET", f"/v1/runs/{run}/results", None, "reader")
    assert len(page["results"]) == 3 and page["next"] is None
    for key in ("samples", "clock_mhz", "power_w", "temperature_c", "throttle"):
        assert page["results"][0]["timing"][key] == [], key
    page = f.good("GET", f"/v1/runs/{run}/results?samples=1&limit=2", None, "reader")
    assert len(page["results"]) == 2 and page["next"] == page["results"][1]["task"]["id"]
    assert len(page["results"][0]["timing"]["samples"]) == 20
    rest = f.good("GET", f"/v1/runs/{run}/results?after={page['next']}", None, "reader")
    assert len(rest["results"]) == 1
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def small_run_spreads_over_the_devices(f):
    sessions = [f.register(devices=[f.device(i)]) for i in range(3)]
    f.submit(cases=5)
    got = [f.lease(s, device=f"host:test:{i}") for i, s in enumerate(sessions)]
    assert all(len(g) == 1 for g in got), got
    for s, g in zip(sessions, got):
        f.finish(s, g[0])
    drain_queue(f, sessions)


def drain_queue(f, sessions):
    for s in sessions:
        f.good("POST", f"/v1/runners/{s}/end", {}, "runner")
    s = f.register()
    while True:
        shards = f.lease(s, want=16)
        if not shards:
            break
        for shard in shards:
            f.finish(s, shard)
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def stored_result_is_the_one_that_was_sent(f):
    f.submit(cases=1)
    s = f.register()
    shard = f.lease(s)[0]
    task = shard["tasks"][0]
    odd = f.result(task, details={"big": 9007199254740993, "neg": -9223372036854775808,
                                  "text": "tab\t \"q\" \\ \u00e9 \u2028", "tiny": 5e-324})
    odd["timing"]["samples"] = [1000.1, "nan", "inf", "-inf", -3.5, 0.1 + 0.2, 1e300]
    item = f.item(shard, task, odd)
    assert f.post_results(s, [item])[0]["status"] == "accepted"
    got = f.good("GET", f"/v1/tasks/{task['task']}", None, "reader")
    assert got["result"] == odd, (got["result"], odd)
    assert got["digest"] == item["digest"] == farm.sha256(farm.canonical(got["result"]))
    assert [a["outcome"] for a in got["attempts"]] == ["done"]
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def a_cases_measure_goes_over_the_runs(f):
    body = f.run_body(cases=2, measure={"measure": True, "budget_ms": 100, "naive": "off"})
    for i, c in enumerate(body["cases"]):
        c["case"]["M"] = 7001 + i  # no history guides their estimates
    body["cases"][1]["measure"] = {"budget_ms": 900000, "min_samples": 20, "icache": "cold"}
    f.good("POST", "/v1/runs", body, "submitter", status=(201,))
    s = f.register()
    got, estimate = {}, {}
    for shard in f.lease(s, want=16):
        for task in shard["tasks"]:
            got[task["case_name"]] = task["measure"]
            estimate[task["case_name"]] = shard["estimate_ms"]
        f.finish(s, shard)
    assert got == {"c0": body["measure"], "c1": {"measure": True, "budget_ms": 900000,
                                                 "naive": "off", "min_samples": 20,
                                                 "icache": "cold"}}, got
    assert estimate["c1"] >= 450000 > estimate["c0"], estimate
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def a_result_without_the_newer_members_is_taken(f):
    f.submit(cases=1)
    s = f.register()
    shard = f.lease(s)[0]
    task = shard["tasks"][0]
    old = f.result(task)
    for key in ("temperature_c", "throttle"):
        del old["timing"][key]
    assert f.post_results(s, [f.item(shard, task, old)])[0]["status"] == "accepted"
    got = f.good("GET", f"/v1/tasks/{task['task']}", None, "reader")
    assert got["result"] == old
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def repeated_result_is_a_duplicate(f):
    run = f.submit(cases=1)
    s = f.register()
    shard = f.lease(s)[0]
    item = f.item(shard, shard["tasks"][0])
    verdicts = f.post_results(s, [item, item])
    assert [v["status"] for v in verdicts] == ["accepted", "duplicate"], verdicts
    assert f.post_results(s, [item])[0]["status"] == "duplicate"
    other = f.item(shard, shard["tasks"][0], answer="MISMATCH")
    assert f.post_results(s, [other])[0]["status"] == "stale"
    assert f.state(run)["answers"] == {"PASS": 1}
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def wrong_results_are_named_and_do_not_harm_their_neighbours(f):
    f.submit(cases=6)
    s = f.register()
    shards = f.lease(s, want=16)
    work = [(sh, t) for sh in shards for t in sh["tasks"]]
    assert len(work) == 6
    good = f.item(*work[0])
    digest = f.item(*work[1])
    digest["digest"] = "0" * 64
    case = f.item(*work[2], f.result(work[3][1]))
    answer = f.item(*work[3], f.result(work[3][1], answer="GREAT"))
    ghost = dict(f.item(*work[4]), task="999999999")
    token = dict(f.item(*work[4]), token="0" * 32)
    other = f.item(*work[5])
    got = f.post_results(s, [good, digest, case, answer, ghost, token, other])
    assert [v["status"] for v in got] == ["accepted", "invalid", "invalid", "invalid", "invalid",
                                          "stale", "accepted"], got
    assert "digest" in got[1]["detail"] and "another case" in got[2]["detail"], got
    assert "GREAT" in got[3]["detail"] and "no task" in got[4]["detail"], got
    drain_queue(f, [s])


def wrong_answer_has_no_time(f):
    f.submit(cases=1)
    s = f.register()
    shard = f.lease(s)[0]
    f.post_results(s, [f.item(shard, shard["tasks"][0], answer="MISMATCH")])
    task = shard["tasks"][0]["task"]
    assert f.sql(f"SELECT median_ns IS NULL FROM result WHERE task_id = {task}") == "t"
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def same_claim_gets_the_same_shards(f):
    f.submit(cases=2)
    s = f.register()
    claim = str(uuid.uuid4())
    first = f.lease(s, claim=claim)
    again = f.lease(s, claim=claim)
    assert first == again and len(first) == 1
    other = f.lease(s)
    assert other and other[0]["shard"] != first[0]["shard"]
    drain_queue(f, [s])


def concurrent_leases_never_share_a_shard(f):
    f.submit(cases=60)
    sessions = [f.register(devices=[f.device(i)]) for i in range(8)]
    got, lock = [], threading.Lock()

    def work(i):
        while True:
            shards = f.lease(sessions[i], want=2, device=f"host:test:{i}")
            if not shards:
                return
            with lock:
                got.extend((sh["shard"], sh["token"]) for sh in shards)
            for sh in shards:
                assert all(v["status"] == "accepted" for v in f.finish(sessions[i], sh))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len({g[0] for g in got}) == len(got), "a shard was leased twice"
    assert len({g[1] for g in got}) == len(got), "a token was used twice"
    for s in sessions:
        f.good("POST", f"/v1/runners/{s}/end", {}, "runner")
    assert f.sql("SELECT count(*) FROM (SELECT task_id FROM result GROUP BY 1"
                 " HAVING count(*) > 1) x") == "0"


def same_claim_at_once_leases_once(f):
    f.submit(cases=8)
    s = f.register()
    claim = str(uuid.uuid4())
    got = [None] * 6

    def ask(i):
        got[i] = f.lease(s, claim=claim)
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(g == got[0] and len(g) == 1 for g in got), got
    drain_queue(f, [s])


def long_poll_wakes_when_tasks_arrive(f):
    s = f.register()
    got = []
    t = threading.Thread(target=lambda: got.extend(f.lease(s, wait_ms=30000)))
    t.start()
    wait_for("a parked request", lambda: "wavefarm_requests_parked 1\n" in metrics(f))
    f.submit(cases=1)
    t.join(timeout=15)
    assert len(got) == 1, got
    drain_queue(f, [s])


def metrics(f):
    return f.call("GET", "/metrics").body.decode()


def watching_a_run_wakes_on_change(f):
    run = f.submit(cases=1)
    version = f.state(run)["version"]
    got = []
    t = threading.Thread(target=lambda: got.append(
        f.good("GET", f"/v1/runs/{run}?wait_ms=30000&since={version + 1}", None, "reader")))
    t.start()
    s = f.register()
    f.finish(s, f.lease(s)[0])
    t.join(timeout=15)
    assert got and got[0]["state"] == "done", got
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def devices_must_match(f):
    f.submit(cases=1, arch="gfx942", devices={"runtime": None, "arch": None})
    f.submit(cases=1, devices={"runtime": "host", "model": "OtherCPU"})
    f.submit(cases=1, devices={"runtime": "host", "labels": ["timing"]})
    s = f.register()
    assert f.lease(s, want=16) == []
    amd = f.register(devices=[f.device(runtime="amd", id="amd:0", arch="gfx942:sramecc+:xnack-",
                                       model="MI300X")])
    got = f.lease(amd, want=16, device="amd:0")
    assert len(got) == 1 and got[0]["tasks"][0]["kernel"] == "gemm_x"
    f.finish(amd, got[0])
    model = f.register(devices=[f.device(model="OtherCPU")])
    f.finish(model, f.lease(model)[0])
    label = f.register(labels=["timing", "x"])
    f.finish(label, f.lease(label)[0])
    body = f.run_body()
    body["cases"] = [{"name": "huge", "case": {"op": "gemm", "M": 1 << 30, "N": 1 << 30, "K": 1 << 30,
                                               "a_type": "f32", "beta": 1}}]  # 2^64 bytes in all
    run = f.good("POST", "/v1/runs", body, "submitter")["run"]
    large = f.register()
    assert f.lease(large) == []
    f.good("POST", f"/v1/runs/{run}/cancel", {}, "submitter")
    small = f.register(devices=[f.device(memory_bytes=100)])
    f.submit(cases=1)
    assert f.lease(small) == []
    drain_queue(f, [s, amd, model, label, large, small])


def priority_goes_first(f):
    slow = f.submit(cases=1, priority="nightly")
    fast = f.submit(cases=1, priority="pr")
    s = f.register()
    assert f.lease(s)[0]["tasks"][0]["run"] == fast
    assert f.lease(s)[0]["tasks"][0]["run"] == slow
    drain_queue(f, [s])


def drained_shard_comes_back_with_what_is_left(f):
    f.submit(cases=1, repetitions=20)
    s = f.register()
    shard = f.lease(s)[0]
    assert len(shard["tasks"]) >= 2
    done, left = shard["tasks"][0], [t["task"] for t in shard["tasks"][1:]]
    f.post_results(s, [f.item(shard, done)])
    f.good("POST", f"/v1/shards/{shard['shard']}/release",
           {"session": s, "token": shard["token"], "reason": "draining"}, "runner")
    late = f.post_results(s, [f.item(shard, shard["tasks"][1])])
    assert late[0]["status"] == "stale", late
    again = next(x for x in f.lease(s, want=16) if x["shard"] == shard["shard"])
    assert [t["task"] for t in again["tasks"]] == left
    assert again["tasks"][0]["attempt"] == 2 and again["token"] != shard["token"]
    r = f.call("POST", f"/v1/shards/{shard['shard']}/release",
               {"session": s, "token": shard["token"], "reason": "draining"}, "runner")
    assert r.status == 409 and r.json()["code"] == "stale-token", r
    drain_queue(f, [s])


def failing_shard_is_split_and_then_lost(f):
    run = f.submit(cases=1, repetitions=60)
    s = f.register()
    first = f.lease(s)[0]
    n = len(first["tasks"])
    assert n >= 2

    def give_back(shard):
        f.good("POST", f"/v1/shards/{shard['shard']}/release",
               {"session": s, "token": shard["token"], "reason": "judge cannot start"}, "runner")

    def again(tasks):
        found = None
        for shard in f.lease(s, want=16):
            if found is None and shard["tasks"][0]["task"] in tasks:
                found = shard
            else:
                f.finish(s, shard)
        return found
    tasks = [t["task"] for t in first["tasks"]]
    give_back(first)
    second = wait_for("second attempt", lambda: again(tasks))
    assert second["shard"] == first["shard"] and len(second["tasks"]) == n
    give_back(second)
    third = wait_for("third attempt", lambda: again(tasks))
    assert third["shard"] != first["shard"] and len(third["tasks"]) == 1
    lost = third["tasks"][0]["task"]
    give_back(third)
    got = f.good("GET", f"/v1/tasks/{lost}", None, "reader")
    assert got["state"] == "lost" and got["result"]["answer"] == "LOST", got
    assert got["result"]["task"]["id"] == lost and "judge cannot start" in got["result"]["answer_text"]
    assert [a["outcome"] for a in got["attempts"]] == ["error"] * 3, got["attempts"]

    def finished():
        for shard in f.lease(s, want=16):
            f.finish(s, shard)
        return f.state(run)["state"] == "done"
    wait_for("the others to finish", finished)
    assert f.state(run)["answers"] == {"LOST": 1, "PASS": 59}, f.state(run)
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def silent_session_loses_its_shards_and_its_word(f):
    run = f.submit(cases=1)
    dead = f.register("dead")
    shard = f.lease(dead)[0]
    live = f.register("live")

    def alive():
        f.good("POST", f"/v1/runners/{live}/heartbeat", {}, "runner")
        return f.lease(live)
    got = wait_for("the shard to come back", alive)
    assert got[0]["shard"] == shard["shard"] and got[0]["tasks"][0]["attempt"] == 2
    r = f.call("POST", f"/v1/runners/{dead}/heartbeat", {}, "runner")
    assert r.status == 410 and r.json()["code"] == "session-gone", r
    assert f.post_results(dead, [f.item(shard, shard["tasks"][0])])[0]["status"] == "stale"
    assert f.finish(live, got[0])[0]["status"] == "accepted"
    assert f.state(run)["answers"] == {"PASS": 1}
    attempts = f.good("GET", f"/v1/tasks/{shard['tasks'][0]['task']}", None, "reader")["attempts"]
    assert [a["outcome"] for a in attempts] == ["session-lost", "done"], attempts
    f.good("POST", f"/v1/runners/{live}/end", {}, "runner")


def ended_session_returns_its_shards_at_once(f):
    f.submit(cases=1)
    s = f.register()
    shard = f.lease(s)[0]
    assert f.good("POST", f"/v1/runners/{s}/end", {}, "runner") == {"returned": 1}
    other = f.register()
    assert f.lease(other)[0]["shard"] == shard["shard"]
    assert f.call("POST", "/v1/lease", {"session": s, "claim_id": str(uuid.uuid4()),
                                        "device": "host:test:0"}, "runner").status == 410
    drain_queue(f, [other])


def cancelled_run_stops_everywhere(f):
    run = f.submit(cases=40)
    s = f.register()
    shard = f.lease(s)[0]
    f.post_results(s, [f.item(shard, shard["tasks"][0])])
    got = f.good("POST", f"/v1/runs/{run}/cancel", {}, "submitter")
    assert got["cancelled"] == 39, got
    state = f.state(run)
    assert state["state"] == "cancelled" and state["answers"] == {"CANCELLED": 39, "PASS": 1}, state
    assert f.lease(s, want=16) == []
    beat = f.good("POST", f"/v1/runners/{s}/heartbeat", {}, "runner")
    rest = shard["tasks"][1:]
    if rest:
        assert beat["must_stop"] == [shard["shard"]], beat
        assert f.post_results(s, [f.item(shard, rest[0])])[0]["status"] == "stale"
        f.good("POST", f"/v1/shards/{shard['shard']}/release",
               {"session": s, "token": shard["token"], "reason": "stopped"}, "runner")
        assert f.good("POST", f"/v1/runners/{s}/heartbeat", {}, "runner")["must_stop"] == []
    page = f.good("GET", f"/v1/runs/{run}/results", None, "reader")
    assert len(page["results"]) == 40
    assert sum(r["answer"] == "CANCELLED" for r in page["results"]) == 39
    r = f.call("POST", f"/v1/runs/{run}/cancel", {}, "submitter")
    assert r.status == 409 and r.json()["code"] == "run-ended", r
    f.good("POST", f"/v1/runners/{s}/end", {}, "runner")


def request_id_makes_a_run_once(f):
    body = f.run_body(cases=2)
    first = f.call("POST", "/v1/runs", body, "submitter")
    again = f.call("POST", "/v1/runs", body, "submitter")
    assert (first.status, again.status) == (201, 200) and first.json() == again.json()
    assert first.headers["Location"] == "/v1/runs/" + first.json()["run"]
    other = f.call("POST", "/v1/runs", dict(body, name="other"), "submitter")
    assert other.status == 409, other
    many = [None] * 5
    body = f.run_body(cases=2)

    def post(i):
        many[i] = f.call("POST", "/v1/runs", body, "submitter")
    threads = [threading.Thread(target=post, args=(i,)) for i in range(5)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len({m.json()["run"] for m in many}) == 1, many
    assert sorted(m.status for m in many) == [200, 200, 200, 200, 201], many
    drain_queue(f, [])


def history_guides_the_estimate(f):
    s = f.register()
    f.submit(cases=1)
    shard = f.lease(s)[0]
    f.finish(s, shard)  # total: 250 ms
    f.submit(cases=1)
    again = f.lease(s)[0]
    assert again["estimate_ms"] == 250 != shard["estimate_ms"] or shard["estimate_ms"] == 250
    assert again["estimate_ms"] == 250, again["estimate_ms"]
    drain_queue(f, [s])


def metrics_count_what_happened(f):
    text = metrics(f)
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(lines["wavefarm_results_accepted_total"]) > 0
    assert float(lines["wavefarm_results_stale_total"]) > 0
    assert float(lines["wavefarm_results_duplicate_total"]) > 0
    assert float(lines['wavefarm_tasks{state="done"}']) > 0
    assert float(lines['wavefarm_tasks{state="lost"}']) == 1
    assert float(lines["wavefarm_sessions_lost_total"]) >= 1
    assert float(lines["wavefarm_database_up"]) == 1
    assert 'wavefarm_http_requests_total{route="lease",status="200"}' in lines
    assert text.endswith("\n")
    for line in text.splitlines():
        assert line.startswith("#") or len(line.rsplit(" ", 1)) == 2, line


def every_state_in_the_store_is_consistent(f):
    assert f.sql("SELECT count(*) FROM shard s WHERE state IN ('ready', 'leased') AND open_tasks"
                 " <> (SELECT count(*) FROM task t WHERE t.shard_id = s.shard_id"
                 " AND t.state = 'open')") == "0"
    assert f.sql("SELECT count(*) FROM run r WHERE finished <> (SELECT count(*) FROM result x"
                 " WHERE x.run_id = r.run_id)") == "0"
    assert f.sql("SELECT count(*) FROM task t WHERE state <> 'open' AND NOT EXISTS"
                 " (SELECT FROM result r WHERE r.task_id = t.task_id)") == "0"
    assert f.sql("SELECT count(*) FROM report.run_table") != "0"


TESTS = [run_goes_from_queued_to_done, small_run_spreads_over_the_devices,
         a_cases_measure_goes_over_the_runs, a_result_without_the_newer_members_is_taken,
         stored_result_is_the_one_that_was_sent, repeated_result_is_a_duplicate,
         wrong_results_are_named_and_do_not_harm_their_neighbours, wrong_answer_has_no_time,
         same_claim_gets_the_same_shards, concurrent_leases_never_share_a_shard,
         same_claim_at_once_leases_once, long_poll_wakes_when_tasks_arrive,
         watching_a_run_wakes_on_change, devices_must_match, priority_goes_first,
         drained_shard_comes_back_with_what_is_left, failing_shard_is_split_and_then_lost,
         silent_session_loses_its_shards_and_its_word, ended_session_returns_its_shards_at_once,
         cancelled_run_stops_everywhere, request_id_makes_a_run_once,
         history_guides_the_estimate, metrics_count_what_happened,
         every_state_in_the_store_is_consistent]

if __name__ == "__main__":
    farm.main(TESTS, "--session-ttl", "2s", "--heartbeat", "500ms", "--reap-period", "100ms",
              "--retry-delay", "100ms", "--poll-period", "200ms")
