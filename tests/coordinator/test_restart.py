"""The database or the coordinator dies in the middle: nothing that was acknowledged is
lost, nothing is stored twice, and both come back by themselves."""

import os
import signal
import threading
import time

import farm
from farm import wait_for


def postmaster(f):
    return int(open(f.path("pg/data/postmaster.pid")).readline())


def start_database(f):
    """The backends of a killed server need a moment to notice."""
    wait_for("the database", lambda: f.run("db", "start", f.path("pg"), check=False).returncode == 0, 60)


class Load:
    """Runners that lease and report with retries, as the agent does."""

    def __init__(self, f, runners=4):
        self.f, self.stop, self.acked, self.lock = f, False, {}, threading.Lock()
        self.refused, self.failure = 0, None
        self.threads = [threading.Thread(target=self.guarded, args=(i,), daemon=True)
                        for i in range(runners)]

    def __enter__(self):
        [t.start() for t in self.threads]
        return self

    def __exit__(self, *unused):
        self.stop = True
        [t.join(timeout=70) for t in self.threads]

    def guarded(self, i):
        try:
            self.work(i)
        except BaseException as e:  # the test that waits for progress says it
            self.failure = e
            self.stop = True
            raise

    def post(self, path, body):
        """Repeats a request until it is answered; 503 must say when to come again."""
        while not self.stop:
            r = self.f.call("POST", path, body, "runner")
            if r.status not in (0, 503):
                return r
            if r.status == 503:
                assert int(r.headers["Retry-After"]) > 0, r.headers
                self.refused += 1
            time.sleep(0.05)
        return None

    def work(self, i):
        f, session = self.f, None
        while not self.stop:
            if session is None:
                r = self.post("/v1/runners", {"schema": "wavefarm.runner/1", "name": f"n{i}",
                                              "version": "1", "labels": [],
                                              "devices": [f.device(i)]})
                session = r.json()["session"] if r else None
                continue
            r = self.post("/v1/lease", {"session": session, "device": f"host:test:{i}", "want": 1,
                                        "wait_ms": 100, "claim_id": str(farm.uuid.uuid4())})
            if r is None or r.status == 410:
                session = None
                continue
            for shard in r.json()["shards"]:
                for task in shard["tasks"]:
                    self.report(session, shard, task)

    def report(self, session, shard, task):
        item = self.f.item(shard, task)
        r = self.post("/v1/results", {"session": session, "results": [item]})
        if r is not None and r.status == 200:
            verdict = r.json()["results"][0]["status"]
            assert verdict in ("accepted", "duplicate", "stale"), r
            if verdict != "stale":
                with self.lock:
                    self.acked[task["task"]] = item["digest"]


def stored(f):
    text = f.sql("SELECT string_agg(task_id || '=' || encode(digest, 'hex'), ' ') FROM result"
                 " WHERE digest IS NOT NULL")
    return dict(x.split("=") for x in text.split())


def check(f, load):
    with load.lock:
        acked = dict(load.acked)  # before the look at the store: the load goes on
    have = stored(f)
    missing = {t for t, d in acked.items() if have.get(t) != d}
    assert not missing, f"acknowledged but not stored: {missing}"


def progress(load, n):
    """Waits for n more acknowledged results."""
    before = len(load.acked)

    def enough():
        assert load.failure is None, load.failure
        return len(load.acked) > before + n
    wait_for(f"{n} more results", enough, 60)


def killed_database_loses_nothing_acknowledged(f):
    run = f.submit(cases=30, repetitions=20)
    with Load(f) as load:
        for _ in range(2):
            progress(load, 50)
            os.kill(postmaster(f), signal.SIGKILL)
            r = wait_for("503", lambda: away(f))
            assert r.json()["database"] == "away" and int(r.headers["Retry-After"]) > 0, r
            start_database(f)
            wait_for("health", lambda: f.call("GET", "/healthz").status == 200)
            check(f, load)
        wait_for("the run", lambda: f.state(run)["state"] == "done", 120)
    check(f, load)
    assert f.state(run)["answers"] == {"PASS": 600}, f.state(run)
    assert load.refused > 0, "no request met the database away"
    metrics = f.call("GET", "/metrics").body.decode()
    assert "wavefarm_database_errors_total 0\n" not in metrics


def away(f):
    r = f.call("GET", "/healthz")
    return r if r.status == 503 else None


def killed_coordinator_loses_nothing_acknowledged(f):
    run = f.submit(cases=30, repetitions=20)
    with Load(f) as load:
        for _ in range(2):
            progress(load, 50)
            f.stop_coordinator(signal.SIGKILL)
            f.start()
            check(f, load)
        wait_for("the run", lambda: f.state(run)["state"] == "done", 120)
    check(f, load)
    assert f.state(run)["answers"] == {"PASS": 600}, f.state(run)


def stopped_coordinator_answers_what_it_holds(f):
    s = f.register()
    answers = []
    polls = [threading.Thread(target=lambda: answers.append(
        f.call("POST", "/v1/lease", {"session": s, "claim_id": str(farm.uuid.uuid4()),
                                     "device": "host:test:0", "wait_ms": 60000}, "runner")))
             for _ in range(5)]
    [t.start() for t in polls]
    wait_for("parked polls", lambda: "wavefarm_requests_parked 5\n" in
             f.call("GET", "/metrics").body.decode())
    assert f.stop_coordinator(signal.SIGTERM) == 0
    [t.join(timeout=20) for t in polls]
    assert [a.status for a in answers] == [200] * 5 and answers[0].json() == {"shards": []}, answers
    f.start()


def database_that_is_down_at_start_is_waited_for(f):
    f.stop_coordinator()
    f.run("db", "stop", f.path("pg"))
    f.spawn()
    r = wait_for("503", lambda: away(f))
    assert r.json()["database"] == "away", r
    r = f.call("GET", "/v1/runs", role="reader")
    assert r.status == 503 and r.json()["code"] == "database-away" and r.headers["Retry-After"], r
    assert "wavefarm_database_up 0" in f.call("GET", "/metrics").body.decode()
    start_database(f)
    wait_for("health", lambda: f.call("GET", "/healthz").status == 200)
    assert f.call("GET", "/v1/runs", role="reader").status == 200
    wait_for("the log", lambda: "waiting for it" in open(f.path("log")).read() and
             "the database is there" in open(f.path("log")).read())


def newer_schema_is_refused(f):
    f.stop_coordinator()
    f.sql("INSERT INTO schema_migration(version, name, sha256) VALUES (999, 'future', 'x')")
    try:
        f.spawn()
        farm.wait_for("its end", lambda: f.process.poll() is not None)
        assert f.process.poll() == 3
        f.process = None
    except AssertionError as e:
        assert "newer" in str(e) or "version 999" in str(e), e
        f.process = None
    for command in (("migrate",), ("token", "list")):
        done = f.run(*command, "--db", f.db, check=False)
        assert done.returncode == 3 and "version 999" in done.stderr, done
    f.sql("DELETE FROM schema_migration WHERE version = 999")
    f.sql("UPDATE schema_migration SET sha256 = 'edited' WHERE version = 1")
    done = f.run("migrate", "--db", f.db, check=False)
    assert done.returncode == 3 and "0001_init.sql differs" in done.stderr, done


TESTS = [killed_database_loses_nothing_acknowledged, killed_coordinator_loses_nothing_acknowledged,
         stopped_coordinator_answers_what_it_holds, database_that_is_down_at_start_is_waited_for,
         newer_schema_is_refused]

if __name__ == "__main__":
    farm.main(TESTS, "--session-ttl", "5s", "--heartbeat", "1s", "--reap-period", "100ms",
              "--poll-period", "200ms")
