#!/usr/bin/env bash
# The selftest cannot lie: a right kernel that is listed as wrong is a survivor and the
# exit status bad; a wrong kernel listed as right is a false alarm; a runner that fails
# and a case that is refused are errors, never catches.
#   honesty.sh BIN
# shellcheck source=tests/support/shell.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
bin=$1
packs=$bin/../share/wavefarm/mutants
folder=$WORK/mutants
mkdir "$folder"
ln -s "$(realpath "$packs")/mutants-host" "$folder/mutants-host"

manifest() { # group kernel case-members caught-member
    cat >"$folder/planted.json" <<EOF
{"schema":"wavefarm.mutants/1","cases":{"c":{"op":"gemm",$3}},
 "mutants":[{"name":"planted","group":"$1","op":"gemm","pack":"mutants-host",
   "kernel":"$2","fault":"planted","cases":["c"]$4}]}
EOF
}
selftest() {
    WAVEFARM_MUTANTS=$folder "$bin/wavefarm" selftest mutants --json --generated 0 \
        --jobs 1 "$@" >"$WORK/out" 2>"$WORK/err"
}
wrong=', "caught":["MISMATCH"]'
small='"M":20,"N":20,"K":20'

manifest wrong gemm_alpha_ignored "$small,\"alpha\":2" "$wrong"
selftest --right-runs 0 || fail "a wrong kernel is caught: $(cat "$WORK/out" "$WORK/err")"

selftest --right-runs 0 --only 'plan*' || fail "a pattern: $(cat "$WORK/out" "$WORK/err")"
grep -q '"total": 1' "$WORK/out" || fail "the pattern took none: $(cat "$WORK/out")"
selftest --right-runs 0 --only 'nothing*' && fail "a pattern that names nothing is an error"
grep -q "nothing\*" "$WORK/err" || fail "it does not say which: $(cat "$WORK/err")"

manifest wrong gemm_right_plain "$small" "$wrong"
selftest --right-runs 0
[ $? = 1 ] || fail "a right kernel listed as wrong: the exit status is 1"
grep -q 'planted (c: PASS' "$WORK/out" || fail "it is no survivor: $(cat "$WORK/out")"

# Another answer than those named is no catch either.
manifest wrong gemm_does_nothing "$small" "$wrong"
selftest --right-runs 0
[ $? = 1 ] || fail "an answer that is not named counts"

manifest right gemm_alpha_ignored "$small,\"alpha\":2" ''
selftest --right-runs 3 --only planted
[ $? = 1 ] || fail "a wrong kernel among the right ones: the exit status is 1"
grep -q '"false_alarms": 3' "$WORK/out" || fail "no false alarms: $(cat "$WORK/out")"

# The runner fails: a judge that ends at once.
manifest wrong gemm_alpha_ignored "$small,\"alpha\":2" "$wrong"
mkdir "$WORK/libexec"
printf '#!/bin/sh\nexit 7\n' >"$WORK/libexec/wavefarm-judge"
cp "$bin/wavefarm-subject" "$WORK/libexec/"
chmod +x "$WORK/libexec/wavefarm-judge"
WAVEFARM_LIBEXEC=$WORK/libexec selftest --right-runs 0
[ $? = 3 ] || fail "a judge that ends early is an error (status 3)"
grep -q 'the runner failed' "$WORK/err" || fail "it does not say so: $(cat "$WORK/err")"

# A case that is refused, and a kernel that is not there.
manifest wrong gemm_alpha_ignored "$small,\"lda\":1" "$wrong"
selftest --right-runs 0
[ $? = 3 ] || fail "a refused case is an error"
manifest wrong gemm_is_not_there "$small" "$wrong"
selftest --right-runs 0
[ $? != 0 ] || fail "a missing kernel is an error"
manifest wrong gemm_alpha_ignored "$small" ', "caught":["NOT_SUPPORTED"]'
selftest --right-runs 0
[ $? = 2 ] || fail "NOT_SUPPORTED may not be named as a catch"
exit 0
