# shellcheck shell=bash
# For the system tests: a farm of the test's own in $WORK/farm. Usage of a test:
#   test.sh BIN [LIB]   folders of the programs and of libgate_gemm.so
# shellcheck source=tests/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
export WF_BIN=$1
# shellcheck source=tools/farm.sh
. "$TESTS_ROOT/tools/farm.sh"
gate_library=${2:+$2/libgate_gemm.so}

chmod 711 "$WORK"
farm_use "$WORK/farm" || exit 1
PATH=$WF_BIN:$PATH
unset WAVEFARM_SERVER WAVEFARM_TOKEN WAVEFARM_TOKEN_FILE
export WAVEFARM_CACHE=$WORK/cache

end_farm() {
    farm_stop || return 1
    farm_remove
}
at_exit end_farm

# farm_up [SETTINGS...]: database and coordinator; `wavefarm` speaks to it as submitter.
farm_up() {
    farm_start "$@" || fail "the farm does not start"
    logs=("$FARM"/log/coordinator.log "$FARM"/log/worker-*.log)
    export WAVEFARM_SERVER WAVEFARM_TOKEN_FILE=$FARM/tokens/submitter
    WAVEFARM_SERVER=$(farm_url)
}

worker() {
    farm_worker "$@" || fail "worker $1 does not start"
    logs+=("$FARM/log/worker-$1.log")
}

# Suite of N small cases, a few milliseconds each: $WORK/small.json
small_suite() {
    local i cases=
    for ((i = 0; i < $1; i++)); do
        cases+="${cases:+,}{\"name\":\"c$i\",\"M\":$((16 + i % 48)),\"N\":$((17 + i / 48)),\"K\":24}"
    done
    echo '{"schema":"wavefarm.suite/1","name":"small","description":"small ones","defaults":{"op":"gemm","a_type":"f32"},' \
        '"cases":['"$cases"']}' >"$WORK/small.json"
}

# The pack whose kernel waits at $WF_GATE.
gate_pack() {
    mkdir -p "$WORK/gate-pack" "$WORK/gate"
    export WF_GATE=$WORK/gate
    cp "$gate_library" "$WORK/gate-pack/" || fail "no gate library"
    cat >"$WORK/gate-pack/pack.json.in" <<END
{"schema": "wavefarm.pack/1", "name": "gate", "kernels": [{"name": "gate_gemm",
 "op": "gemm", "kind": "library", "arch": ["x86-64"], "library": "libgate_gemm.so"}]}
END
    expect 0 gate wavefarm pack build "$WORK/gate-pack"
}

# submit SUITE OPTIONS...: sets RUN.
submit() {
    wavefarm submit "$@" --json >"$WORK/submitted.json" 2>"$WORK/submit.err" ||
        fail "submit: $(cat "$WORK/submit.err")"
    RUN=$(json "$WORK/submitted.json" 'v["run"]')
}

# Member of the run's state.
run_is() { # run_is MEMBER VALUE
    [ "$(wavefarm status "$RUN" --json 2>/dev/null |
        python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1")" = "$2" ]
}
run_done_at_least() {
    [ "$(farm_sql "SELECT finished FROM run WHERE run_id = $RUN")" -ge "$1" ]
}

# Every task of the run has exactly one result, and all are PASS.
one_result_each() { # one_result_each TASKS
    equal "tasks of run $RUN" "$(farm_sql "SELECT count(*) FROM task WHERE run_id = $RUN")" "$1"
    equal "results of run $RUN" "$(farm_sql "SELECT count(*), count(DISTINCT task_id),
        count(*) FILTER (WHERE answer = 'PASS') FROM result WHERE run_id = $RUN")" "$1|$1|$1"
}

spool_entries() { # spool_entries WORKER
    find "$FARM/workers/$1/spool" -maxdepth 1 -name '*.json' | wc -l
}
spool_is_empty() {
    [ "$(spool_entries "$1")" = 0 ]
}

has_started() { # has_started LAUNCHES: that came to the gate
    [ "$(wc -l 2>/dev/null <"$WORK/gate/started" || echo 0)" -ge "$1" ]
}

log_says() { # log_says NAME TEXT
    grep -qF -- "$2" "$FARM/log/$1.log"
}
