#!/usr/bin/env bash
# Ctrl-C at any moment of ./quickstart leaves no process and no folder behind; a killed
# quickstart's farm is stopped by its guard.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
bin=$1
mark=WF_QUICKSTART_TEST=$WORK
folder=$WORK/farm
chmod 711 "$WORK"
at_exit env WF_BIN="$bin" "$TESTS_ROOT/tools/farm.sh" remove "$folder"

# Processes of the quickstart: by what they inherited, by where they are, by what they
# were told (PostgreSQL's have other users and a changed environment).
left() {
    local p pid
    for p in /proc/[0-9]*; do
        pid=${p#/proc/}
        [ "$pid" != "$$" ] && [ "$pid" != "$BASHPID" ] || continue
        if grep -szqFx -- "$mark" "$p/environ" || [[ $(readlink "$p/cwd") == "$folder"* ]] ||
            tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -qF -- "$folder"; then
            echo "$pid $(tr '\0' ' ' 2>/dev/null <"$p/cmdline")"
        fi
    done
}
nothing_left() {
    left >"$WORK/left"
    [ ! -s "$WORK/left" ]
}

# A session of its own with signals as a terminal gives them.
start() {
    : >"$WORK/out"
    env --default-signal=INT,TERM,HUP "$mark" setsid "$TESTS_ROOT/quickstart" --bin "$bin" \
        --dir "$folder" "$@" >"$WORK/out" 2>&1 </dev/null &
    pid=$!
}

# interrupt_when TEXT [SECONDS]: starts, waits for the text, presses Ctrl-C.
interrupt_when() {
    local code=0
    start
    until_true 60 says "$1"
    says "$1" && ! kill -0 "$pid" 2>/dev/null && fail "ended before '$1'"
    sleep "${2:-0}"
    kill -INT -- "-$pid"
    wait "$pid" || code=$?
    [ "$code" = 130 ] || fail "exit status $code after an interrupt at '$1': $(cat "$WORK/out")"
    until_true 5 nothing_left
}
says() { grep -qF -- "$1" "$WORK/out" || ! kill -0 "$pid" 2>/dev/null; }

logs=("$WORK/out" "$WORK/left")
# While the database is made, which a new folder needs; then on top of what there is.
for moment in 0 0.5 1.5; do
    interrupt_when "PostgreSQL and coordinator" "$moment"
    rm -rf "$folder"
done
interrupt_when "4 runners"
interrupt_when "attention-quickstart"
interrupt_when "attention-quickstart" 2

# On a terminal it stays after the runs; Ctrl-C typed there ends it. `script` gives the
# terminal and the exit status; its keyboard is a pipe that stays open.
terminal() {
    : >"$WORK/out"
    mkfifo "$WORK/keys"
    exec {keys}<>"$WORK/keys"
    env --default-signal=INT,TERM,HUP "$mark" script -qefc \
        "'$TESTS_ROOT/quickstart' --host-only --bin '$bin' --dir '$folder'" /dev/null \
        <"$WORK/keys" >"$WORK/out" 2>&1 &
    pid=$!
}
# A new farm: the interrupted runs of the old one would come first.
rm -rf "$folder"
terminal
until_true 300 says "Ctrl-C ends the farm."
kill -0 "$pid" 2>/dev/null || fail "does not stay: $(cat "$WORK/out")"
grep -q "#token=" "$WORK/out" || fail "the page's address is not said"
printf '\003' >&"$keys"
code=0
wait "$pid" || code=$?
exec {keys}>&-
[ "$code" = 130 ] || fail "exit status $code after Ctrl-C on a terminal: $(cat "$WORK/out")"
until_true 5 nothing_left

# Killed outright: nobody can clean up but the guard.
start
until_true 60 says "attention-quickstart"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
until_true 30 nothing_left
exit 0
