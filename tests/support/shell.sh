# shellcheck shell=bash
# For tests in bash: sourced first. WORK is a folder of the test's own; TESTS_ROOT the
# tree. A failed check prints where and ends the test; at_exit adds what is to be undone.
set -uo pipefail
# shellcheck disable=SC2034  # for the tests
TESTS_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WORK=$(mktemp -d /tmp/wavefarm-test.XXXXXX)
undo=()
at_exit() {
    undo=("$*" "${undo[@]}")
}

finish() {
    local code=$? line
    trap - EXIT
    for line in "${undo[@]}"; do
        eval "$line" || code=1
    done
    rm -rf "$WORK"
    exit "$code"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

# The log files that a test names in `logs` are shown when it fails.
logs=()
fail() {
    local i
    echo "FAILED: $*" >&2
    for ((i = 1; i < ${#FUNCNAME[@]}; i++)); do
        echo "  at ${BASH_SOURCE[$i]}:${BASH_LINENO[$((i - 1))]}" >&2
    done
    for i in "${logs[@]}"; do
        [ -s "$i" ] && echo "--- $i" && tail -n 30 "$i"
    done >&2
    exit 1
}

skip() {
    echo "skipped: $*"
    exit 77
}

# expect CODE TEXT COMMAND...: the exit status, and TEXT somewhere in what it says
# ('' for anything). What it said is left in $OUTPUT.
expect() {
    local want=$1 text=$2 code=0
    shift 2
    OUTPUT=$("$@" 2>&1 </dev/null) || code=$?
    [ "$code" = "$want" ] || fail "exit status $code, wanted $want: $*
$OUTPUT"
    [[ $OUTPUT == *"$text"* ]] || fail "'$text' is not in what this says: $*
$OUTPUT"
}

# equal WHAT GOT WANT
equal() {
    [ "$2" = "$3" ] || fail "$1: '$2', wanted '$3'"
}

# until_true SECONDS COMMAND...
until_true() {
    local seconds=$1 end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
    shift
    until "$@"; do
        [ "${EPOCHREALTIME/[.,]/}" -lt "$end" ] || fail "not true after $seconds s: $*"
        sleep 0.05
    done
}

# json FILE EXPRESSION: a Python expression over the file's value v.
json() {
    python3 -c 'import json, sys
v = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$@"
}
