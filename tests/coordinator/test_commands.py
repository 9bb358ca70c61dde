"""The command line: db, migrate, config check, TLS, and their errors."""

import http.client
import os
import ssl
import subprocess
import tempfile

import farm


def run(*args, env=None, cwd="/"):
    return subprocess.run([os.path.abspath(farm.PROGRAM), *args], capture_output=True, text=True,
                          timeout=120, cwd=cwd, env=dict(os.environ, **(env or {})))


def fails(code, words, *args, **more):
    done = run(*args, **more)
    assert done.returncode == code, (args, done)
    for w in words:
        assert w in done.stderr, (w, done.stderr)
    return done


def database_command_is_idempotent(f):
    folder = f.path("second")
    assert run("db", "status", folder).stdout == "absent\n"
    assert run("db", "stop", folder).returncode == 0
    assert run("db", "init", folder).returncode == 0
    assert run("db", "status", folder).stdout == "stopped\n" and run("db", "status", folder).returncode == 3
    a, b = run("db", "start", folder), run("db", "start", folder)
    assert a.returncode == 0 and a.stdout == b.stdout, (a, b)
    assert run("db", "url", folder).stdout == a.stdout
    assert run("db", "status", folder).stdout == "running\n"
    assert run("migrate", "--db", a.stdout.strip()).returncode == 0
    again = run("migrate", "--db", a.stdout.strip())
    assert again.returncode == 0 and "0 migrations" in again.stderr, again
    assert run("db", "stop", folder).returncode == 0
    assert run("db", "stop", folder).returncode == 0
    assert run("db", "status", folder).stdout == "stopped\n"


def database_never_runs_as_root(f):
    pid = int(open(f.path("pg/data/postmaster.pid")).readline())
    assert os.stat(f"/proc/{pid}").st_uid != 0
    if os.geteuid() == 0:
        fails(3, ["root", "--user"], "db", "start", f.path("third"), "--user", "root")
        fails(3, ["no user 'nobody-here'"], "db", "start", f.path("third"), "--user", "nobody-here")
        os.mkdir(f.path("mine"))
        open(f.path("mine/file"), "w").close()
        fails(3, ["not empty"], "db", "start", f.path("mine"))
        closed = f.path("closed")
        os.mkdir(closed, 0o700)
        fails(3, ["cannot use", "o+x"], "db", "start", closed + "/pg")
    else:
        fails(3, ["only root"], "db", "start", f.path("third"), "--user", "root")


def database_is_safe_and_private(f):
    assert f.sql("SHOW fsync") == "on" and f.sql("SHOW synchronous_commit") == "on"
    assert f.sql("SHOW listen_addresses") == "" and f.sql("SHOW data_checksums") == "on"
    assert f.sql("SELECT rolconfig::text LIKE '%statement_timeout=15s%' FROM pg_roles"
                 " WHERE rolname = 'wavefarm_ro'") == "t"
    assert f.sql("SELECT has_schema_privilege('wavefarm_ro', 'farm', 'USAGE')") == "f"
    assert f.sql("SELECT has_table_privilege('wavefarm_ro', 'report.run_table', 'SELECT')") == "t"


def a_port_belongs_to_one_coordinator(f):
    second = f.path("second-blobs")
    fails(3, [f"cannot listen on 127.0.0.1 port {f.port}", "is the port taken"],
          "serve", "--db", f.db, "--blobs", second, "--listen", f"127.0.0.1:{f.port}")
    assert f.call("GET", "/healthz").status == 200


def bad_arguments_are_named(f):
    fails(2, ["usage"])
    fails(2, ["unknown command 'serv'"], "serv")
    fails(2, ["--name", "control character"], "token", "create", "--db", f.db, "--role", "reader",
          "--name", "a\x1b[31m")
    fails(2, ["usage"], "db")
    fails(2, ["usage"], "db", "start")
    fails(2, ["--listenn"], "serve", "--listenn", "x")
    fails(2, ["--blobs"], "serve", "--db", f.db)
    fails(2, ["ADDRESS:PORT"], "serve", "--blobs", "/x", "--listen", "localhost")
    fails(2, ["port"], "serve", "--blobs", "/x", "--listen", "127.0.0.1:99999")
    fails(2, ["needs a value"], "serve", "--blobs")
    fails(2, ["workers"], "serve", "--blobs", "/x", "--workers", "0")
    fails(2, ["session_ttl"], "serve", "--blobs", "/x", "--session-ttl", "30")
    fails(2, ["third"], "serve", "--blobs", "/x", "--heartbeat", "20s")
    fails(2, ["--role"], "token", "create", "--role", "king", "--name", "x", "--db", f.db)
    fails(2, ["--name"], "token", "create", "--role", "admin", "--db", f.db)
    fails(2, ["number"], "token", "revoke", "--db", f.db)
    fails(3, ["database is away"], "migrate", "--db", "host=/nowhere dbname=x")
    fails(3, ["cannot listen"], "serve", "--blobs", f.path("b2"), "--db", f.db, "--listen", "203.0.113.1:80")
    fails(3, ["folder"], "serve", "--blobs", f.path("b3"), "--db", f.db, "--static", "/no/such/folder",
          "--listen", "127.0.0.1:0")
    fails(2, ["too long"], "db", "start", "/tmp/" + "x" * 120)
    assert run("--version").stdout.startswith("wavefarm-coordinator ")
    assert "--session-ttl" in run("--help").stdout


def settings_have_one_order(f):
    path = f.path("conf")
    with open(path, "w") as out:
        out.write("# comment\n\nworkers = 7\n queue=99 \nlisten = 127.0.0.1:1\n")
    done = run("config", "check", "--config", path, "--queue", "5", "--blobs", "/x",
               env={"WAVEFARM_WORKERS": "9", "WAVEFARM_QUEUE": "6"})
    assert done.returncode == 0 and not done.stderr, done
    text = done.stdout
    lines = {line.split()[0]: line for line in text.splitlines()}
    assert "= 9 " in lines["workers"] and "WAVEFARM_WORKERS" in lines["workers"], lines["workers"]
    assert "= 5 " in lines["queue"] and "--queue" in lines["queue"]
    assert "= 127.0.0.1:1 " in lines["listen"] and path + ":5" in lines["listen"]
    assert "default" in lines["gather"]
    for text, words in (("workrs = 7\n", [":1", "workrs", "workers"]),
                        ("\nworkers = 7\nworkers = 8\n", [":3", "earlier"]),
                        ("workers = many\n", [":1", "workers"]), ("workers\n", [":1", "key = value"]),
                        ("[server]\n", [":1", "sections"]), ("gather = 5\n", [":1", "gather"])):
        with open(path, "w") as out:
            out.write(text)
        fails(2, words, "config", "check", "--config", path)
    fails(2, ["nowhere"], "config", "check", "--config", "/nowhere")
    bare = fails(2, ["blobs", "required", "--blobs"], "config", "check")
    assert "session_ttl" in bare.stdout, bare
    assert run("config", "check", env={"WAVEFARM_BLOBS": "/x"}).returncode == 0
    fails(2, ["WAVEFARM_WORKERS"], "config", "check", env={"WAVEFARM_WORKERS": "0"})


def certificate(folder, name, issuer=None, ca=False):
    key, crt = f"{folder}/{name}.key", f"{folder}/{name}.crt"
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-subj", f"/CN={name}"]
    ext = ["-addext", "subjectAltName=IP:127.0.0.1"]
    if issuer is None:
        subprocess.run(new + ["-x509", "-days", "2", "-out", crt] + ext, check=True, capture_output=True)
    else:
        subprocess.run(new + ["-out", crt + ".req"] + ext, check=True, capture_output=True)
        subprocess.run(["openssl", "x509", "-req", "-in", crt + ".req", "-CA", issuer + ".crt",
                        "-CAkey", issuer + ".key", "-CAcreateserial", "-days", "2", "-out", crt],
                       check=True, capture_output=True)
    return f"{folder}/{name}"


def get(port, trust, client=None):
    context = ssl.create_default_context(cafile=trust)
    context.check_hostname = False
    if client:
        context.load_cert_chain(client + ".crt", client + ".key")
    c = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
    try:
        c.request("GET", "/healthz")
        return c.getresponse().status
    finally:
        c.close()


def tls_wants_the_right_client(f):
    folder = tempfile.mkdtemp(dir=f.folder)
    server = certificate(folder, "server")
    ca = certificate(folder, "ca")
    friend = certificate(folder, "friend", ca)
    stranger = certificate(folder, "stranger")
    f.stop_coordinator()
    f.spawn("--tls-cert", server + ".crt", "--tls-key", server + ".key")
    assert get(f.port, server + ".crt") == 200
    f.stop_coordinator()
    f.spawn("--tls-cert", server + ".crt", "--tls-key", server + ".key", "--tls-client-ca", ca + ".crt")
    assert get(f.port, server + ".crt", friend) == 200
    assert get(f.port, server + ".crt") == 401
    try:
        assert get(f.port, server + ".crt", stranger) == 401
    except (ssl.SSLError, ConnectionError):
        pass  # refused in the handshake is as good
    f.stop_coordinator()
    fails(2, ["TLS"], "serve", "--blobs", f.path("blobs"), "--db", f.db, "--tls-cert", server + ".crt")
    fails(3, ["certificate"], "serve", "--blobs", f.path("blobs"), "--db", f.db, "--tls-cert",
          server + ".key", "--tls-key", server + ".crt", "--listen", "127.0.0.1:0")


def metrics_may_have_a_listener_of_their_own(f):
    f.stop_coordinator()
    f.start("--metrics-listen", "127.0.0.1:0", "--metrics-port-file", f.path("mport"))
    assert f.call("GET", "/metrics").status == 404
    api, f.port = f.port, int(open(f.path("mport")).read())
    assert b"wavefarm_build_info" in f.call("GET", "/metrics").body
    assert f.call("GET", "/healthz").status == 200
    assert f.call("GET", "/v1/runs", role="reader").status == 404
    f.port = api


TESTS = [database_command_is_idempotent, database_never_runs_as_root, database_is_safe_and_private,
         a_port_belongs_to_one_coordinator, bad_arguments_are_named, settings_have_one_order,
         tls_wants_the_right_client, metrics_may_have_a_listener_of_their_own]

if __name__ == "__main__":
    farm.main(TESTS)
