#!/usr/bin/env bash
# A private farm in one folder: database, coordinator and runners of this machine.
#   tools/farm.sh start FOLDER [--workers N] [-- SETTINGS...]   all of it, until stop
#   tools/farm.sh worker FOLDER NAME [OPTIONS...]   one runner more
#   tools/farm.sh emulated FOLDER NAME N   one runner more, with N emulated MI300s
#   tools/farm.sh env FOLDER        shell lines that point `wavefarm` at the farm
#   tools/farm.sh status FOLDER     what runs; exit status 3: the farm does not answer
#   tools/farm.sh stop FOLDER       end of every process; what is stored stays
#   tools/farm.sh remove FOLDER     stop, then delete the folder
# SETTINGS go to `wavefarm-coordinator serve`, OPTIONS to `wavefarm worker`. WF_BIN is
# the folder of the programs (default: build/release/bin).
#
# Sourced, it gives the functions farm_*; FARM and WF_BIN say which farm. Layout:
#   run/*.pid log/*.log tokens/ blobs/ port cache/ workers/NAME/{cache,spool} db/
# Every process but PostgreSQL's has WAVEFARM_FARM=<folder> in its environment: that is
# how a pid file is told from a number that was used again, and how stop finds all.

farm_die() {
    echo "farm: $*" >&2
    return 3
}

# farm_until SECONDS COMMAND...: asks until it is true.
farm_until() {
    local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
    shift
    until "$@"; do
        [ "${EPOCHREALTIME/[.,]/}" -lt "$end" ] || return 1
        sleep 0.05
    done
}

# farm_use FOLDER: the farm that the other functions are about.
farm_use() {
    FARM=$(realpath -m -- "$1") || return
    FARM_ROOT=${FARM_ROOT:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
    export WF_BIN=${WF_BIN:-$FARM_ROOT/build/release/bin}
    [ -x "$WF_BIN/wavefarm-coordinator" ] ||
        farm_die "no programs in $WF_BIN: build them, or set WF_BIN"
}

# --- processes ---

farm_is_ours() {
    grep -szqFx -- "WAVEFARM_FARM=$FARM" "/proc/$1/environ"
}

# Pids of all processes of the farm but PostgreSQL's and this shell's.
farm_pids() {
    local file pid
    grep -lszFx -- "WAVEFARM_FARM=$FARM" /proc/[0-9]*/environ | while read -r file; do
        pid=${file#/proc/}
        pid=${pid%/environ}
        [ "$pid" = "$$" ] || [ "$pid" = "$BASHPID" ] || echo "$pid"
    done
}

farm_none_left() {
    [ -z "$(farm_pids)" ]
}

# farm_pid NAME: its pid while it runs.
farm_pid() {
    local pid
    pid=$(cat "$FARM/run/$1.pid" 2>/dev/null) && [ -n "$pid" ] && farm_is_ours "$pid" &&
        echo "$pid"
}

farm_is_gone() {
    ! farm_pid "$1" >/dev/null
}

# farm_spawn NAME COMMAND...: a session of its own, so that a terminal's Ctrl-C does not
# reach it. The process itself writes the pid file: there is none without the other.
farm_spawn() {
    local name=$1
    shift
    rm -f "$FARM/run/$name.pid" # of one that was killed
    # shellcheck disable=SC2016  # the inner shell expands these
    WAVEFARM_FARM=$FARM setsid bash -c 'echo $$ >"$0" && exec "$@"' \
        "$FARM/run/$name.pid" "$@" </dev/null >>"$FARM/log/$name.log" 2>&1 &
    farm_until 10 test -s "$FARM/run/$name.pid" ||
        farm_die "$name does not start; its log: $FARM/log/$name.log"
}

# farm_end NAME SECONDS: SIGTERM, again and again as a worker takes the second one to
# mean "at once"; then SIGKILL.
farm_end() {
    local name=$1 pid i
    for ((i = 0; i < $2 * 4; i++)); do
        pid=$(farm_pid "$name") || break
        kill -TERM "$pid" 2>/dev/null
        kill -CONT "$pid" 2>/dev/null
        farm_until 0 farm_is_gone "$name" || sleep 0.25
    done
    if pid=$(farm_pid "$name"); then
        kill -KILL "$pid" 2>/dev/null
        farm_until 5 farm_is_gone "$name"
    fi
    rm -f "$FARM/run/$name.pid"
}

# --- database ---

# The server's user must be able to pass each folder above, and the socket's path is
# limited: where that does not hold, the database gets a folder in /tmp.
farm_db_fits() {
    local up=$FARM mode
    [ ${#FARM} -le 75 ] || return 1
    [ "$(id -u)" = 0 ] || return 0
    while [ "$up" != / ]; do
        up=$(dirname "$up")
        mode=$(stat -c %a "$up") || return 1
        [ $((8#$mode & 1)) = 1 ] || return 1
    done
}

farm_db_start() {
    local db=$FARM/db
    if [ -s "$FARM/db.path" ]; then
        db=$(cat "$FARM/db.path")
    else
        farm_db_fits || db=$(mktemp -d /tmp/wavefarm-db.XXXXXX) || return
        echo "$db" >"$FARM/db.path"
    fi
    # In a session of its own: an interrupt must not leave it half started.
    setsid -w "$WF_BIN/wavefarm-coordinator" db start "$db" \
        >"$FARM/db.url" 2>"$FARM/log/db.log" </dev/null || {
        cat "$FARM/log/db.log" >&2
        return 3
    }
}

farm_db_stop() {
    [ -s "$FARM/db.path" ] || return 0
    setsid -w "$WF_BIN/wavefarm-coordinator" db stop "$(cat "$FARM/db.path")" </dev/null
}

# Pid of the postmaster while it runs.
farm_db_pid() {
    local db pid
    db=$(cat "$FARM/db.path" 2>/dev/null) || return
    pid=$(head -n 1 "$db/data/postmaster.pid" 2>/dev/null) && [ -d "/proc/$pid" ] && echo "$pid"
}

# farm_sql QUERY: the answer as plain text; columns by '|'.
farm_sql() {
    psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$(cat "$FARM/db.url")" \
        -c "SET search_path = farm; SET client_min_messages = warning" -c "$1"
}

# --- coordinator ---

farm_url() {
    echo "http://127.0.0.1:$(cat "$FARM/port")"
}

farm_answers() {
    local port status=
    port=$(cat "$FARM/port" 2>/dev/null) && [ -n "$port" ] || return 1
    {
        printf 'GET /healthz HTTP/1.0\r\n\r\n' >&3 && read -r _ status _ <&3
    } 3<>"/dev/tcp/127.0.0.1/$port" || return 1
    [ "$status" = 200 ]
} 2>/dev/null

# Settings are kept for a second start, which takes the same port.
farm_coordinator_start() {
    local port
    if [ $# -gt 0 ]; then
        printf '%s\n' "$@" >"$FARM/settings"
    fi
    port=$(cat "$FARM/port" 2>/dev/null) || port=0
    mapfile -t settings < <(cat "$FARM/settings" 2>/dev/null)
    farm_spawn coordinator "$WF_BIN/wavefarm-coordinator" serve --db "$(cat "$FARM/db.url")" \
        --listen "127.0.0.1:$port" --port-file "$FARM/port" --blobs "$FARM/blobs" \
        --static "${WF_PAGES:-$WF_BIN/../share/wavefarm/pages}" "${settings[@]}" || return
    if ! farm_until 30 farm_answers_or_gone || ! farm_answers; then
        tail -n 5 "$FARM/log/coordinator.log" >&2
        farm_die "the coordinator does not answer; its log: $FARM/log/coordinator.log"
    fi
}

farm_answers_or_gone() {
    farm_answers || farm_is_gone coordinator
}

# farm_token ROLE: made once, in a file that only its owner reads.
farm_token() {
    [ -s "$FARM/tokens/$1" ] && return
    (
        umask 077
        "$WF_BIN/wavefarm-coordinator" token create --role "$1" --name "farm-$1" \
            --db "$(cat "$FARM/db.url")" >"$FARM/tokens/$1.new" 2>>"$FARM/log/tokens.log" &&
            mv "$FARM/tokens/$1.new" "$FARM/tokens/$1"
    ) || farm_die "cannot make the $1 token; see $FARM/log/tokens.log"
}

# --- runners ---

# farm_worker NAME [OPTIONS]: cache and spool of its own under workers/NAME.
farm_worker() {
    local name=$1
    shift
    mkdir -p "$FARM/workers/$name/cache" || return
    farm_spawn "worker-$name" env WAVEFARM_CACHE="$FARM/workers/$name/cache" \
        WAVEFARM_HOST_DEVICES="${FARM_HOST_DEVICES:-1}" "$WF_BIN/wavefarm" worker \
        --name "$name" --server "$(farm_url)" --token-file "$FARM/tokens/runner" \
        --spool "$FARM/workers/$name/spool" "$@"
}

# farm_workers N: runners w0, w1, ...; the machine's processors are split among them.
farm_workers() {
    local i threads
    [ "$1" -gt 0 ] || return 0
    threads=$((($(nproc) + $1 - 1) / $1))
    for ((i = 0; i < $1; i++)); do
        FARM_HOST_DEVICES=$1 farm_worker "w$i" --device "host:$i" --threads "$threads" ||
            return
    done
}

# farm_emulated NAME N: one runner with N emulated devices; the processors are split
# among them.
farm_emulated() {
    local i options=()
    for ((i = 0; i < $2; i++)); do
        options+=(--device "emulator:$i")
    done
    WAVEFARM_EMULATOR_DEVICES=$2 \
        WAVEFARM_EMULATOR_THREADS=$((($(nproc) + $2 - 1) / $2)) \
        farm_worker "$1" "${options[@]}"
}

farm_has_runners() {
    [ "$(farm_sql "SELECT count(*) FROM session WHERE state = 'alive'")" -ge "$1" ]
}

# --- all of it ---

farm_start() {
    mkdir -p "$FARM"/{run,log,tokens,blobs,cache,workers} && chmod 711 "$FARM" &&
        chmod 700 "$FARM/tokens" && farm_db_start || return
    local url role
    url=$(cat "$FARM/db.url")
    "$WF_BIN/wavefarm-coordinator" migrate --db "$url" 2>"$FARM/log/migrate.log" ||
        farm_die "migration failed: $(cat "$FARM/log/migrate.log")" || return
    for role in admin submitter reader runner; do
        farm_token "$role" || return
    done
    if ! farm_answers; then
        rm -f "$FARM/port"
        farm_coordinator_start "$@"
    fi
}

farm_stop() {
    local file pid ending=()
    [ -d "$FARM/run" ] || return 0
    for file in "$FARM"/run/worker-*.pid; do
        [ -e "$file" ] || continue
        farm_end "$(basename "$file" .pid)" 5 &
        ending+=($!)
    done
    [ ${#ending[@]} = 0 ] || wait "${ending[@]}"
    farm_end coordinator 5
    farm_db_stop || { pid=$(farm_db_pid) && kill -QUIT "$pid"; }
    for pid in $(farm_pids); do # a child that outlived its parent
        kill -KILL "$pid" 2>/dev/null
    done
    farm_until 5 farm_none_left || farm_die "still running: $(farm_pids | tr '\n' ' ')"
}

farm_remove() {
    farm_stop
    local db
    db=$(cat "$FARM/db.path" 2>/dev/null) && case $db in
    "$FARM"/db | /tmp/wavefarm-db.??????) rm -rf "$db" ;;
    esac
    rm -rf "$FARM"
}

# Stops the farm when this shell is no more, whatever ended it; farm_unguard ends that.
farm_guard() {
    (
        trap '' INT HUP
        # shellcheck disable=SC2016  # the inner shell expands these
        exec setsid bash -c 'tail --pid="$1" -s 0.5 -f /dev/null
            exec "$2" stop "$3"' guard "$$" "$FARM_ROOT/tools/farm.sh" "$FARM"
    ) </dev/null >/dev/null 2>&1 &
    FARM_GUARD=$!
    disown "$FARM_GUARD"
}

farm_unguard() {
    [ -z "${FARM_GUARD:-}" ] || kill -KILL -- "-$FARM_GUARD" 2>/dev/null
}

farm_env() {
    printf 'export %s=%q\n' WAVEFARM_SERVER "$(farm_url)" \
        WAVEFARM_TOKEN_FILE "$FARM/tokens/submitter" WAVEFARM_CACHE "$FARM/cache" \
        PATH "$WF_BIN:$PATH"
}

farm_status() {
    local file name pid
    [ -d "$FARM/run" ] || farm_die "no farm in $FARM" || return
    pid=$(farm_db_pid) && echo "database     $pid" || echo "database     stopped"
    for file in "$FARM"/run/*.pid; do
        [ -e "$file" ] || continue
        name=$(basename "$file" .pid)
        printf '%-12s %s\n' "$name" "$(farm_pid "$name" || echo stopped)"
    done
    farm_answers || return 3
    echo "address      $(farm_url)"
}

farm_main() {
    local command=${1:-} workers=0
    case $command in
    start | worker | emulated | env | status | stop | remove) ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; return 0 ;;
    *) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; return 2 ;;
    esac
    [ $# -ge 2 ] || { echo "farm: which folder? tools/farm.sh $command FOLDER" >&2; return 2; }
    farm_use "$2" || return
    shift 2
    case $command in
    start)
        if [ "${1:-}" = --workers ]; then
            [[ ${2:-} =~ ^[0-9]{1,3}$ ]] || { echo "farm: --workers N" >&2; return 2; }
            workers=$2
            shift 2
        fi
        [ "${1:-}" != -- ] || shift
        farm_start "$@" && farm_workers "$workers" && farm_status
        ;;
    worker)
        [ $# -ge 1 ] || { echo "farm: which name?" >&2; return 2; }
        farm_worker "$@"
        ;;
    emulated)
        [[ $# -eq 2 && $2 =~ ^[1-9][0-9]?$ ]] ||
            { echo "farm: tools/farm.sh emulated FOLDER NAME N" >&2; return 2; }
        farm_emulated "$@"
        ;;
    *) "farm_$command" ;;
    esac
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    set -u
    farm_main "$@"
fi
