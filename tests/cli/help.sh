#!/usr/bin/env bash
# Help, man page and completion come from one table: every command and option is in all.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
bin=$1
PATH=$bin:$PATH

expect 2 "usage: wavefarm COMMAND" wavefarm
expect 0 "usage: wavefarm COMMAND" wavefarm help
expect 0 "wavefarm 0." wavefarm --version
[[ $OUTPUT =~ ^wavefarm\ [0-9.]+\ \(([0-9a-f]{12}|unknown)\)$ ]] || fail "no commit: $OUTPUT"
expect 2 "unknown command 'frobnicate'" wavefarm frobnicate
expect 2 "no command 'frobnicate'" wavefarm help frobnicate
expect 0 "usage: wavefarm run [options] SUITE" wavefarm run --help
expect 0 "usage: wavefarm run [options] SUITE" wavefarm run gemm-five -h
expect 0 "usage: wavefarm pack verify [options] FOLDER" wavefarm help pack
[[ $OUTPUT == *"wavefarm pack publish"* ]] || fail "'help pack' shows all pack commands"

wavefarm man >"$WORK/wavefarm.1" || fail "no man page"
mapfile -t commands < <(wavefarm help | sed -n 's/^  \([a-z][a-z -]*[a-z]\)  .*/\1/p')
[ ${#commands[@]} -ge 15 ] || fail "only ${#commands[@]} commands in the help"
for command in "${commands[@]}"; do
    # shellcheck disable=SC2086  # the words of a command
    expect 0 "usage: wavefarm $command" wavefarm help $command
    grep -q "^.SS wavefarm $command" "$WORK/wavefarm.1" || fail "the man page lacks $command"
    mapfile -t options < <(sed -n 's/^  --\([a-z-]*\).*/\1/p' <<<"$OUTPUT")
    for option in "${options[@]}"; do
        grep -qF ".B \\-\\-$option" "$WORK/wavefarm.1" || fail "the man page lacks --$option"
    done
done

# The formatter has no complaint, and no line was taken for a request.
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -z "$WORK/wavefarm.1" 2>"$WORK/complaints" || fail "groff failed"
    [ ! -s "$WORK/complaints" ] || fail "groff: $(cat "$WORK/complaints")"
fi
grep -nE "^[.']" "$WORK/wavefarm.1" | grep -vE '^[0-9]+:\.(TH|SH|SS|PP|TP|B|I) ?' &&
    fail "unknown requests in the man page"

# complete WORD...: what bash offers for the last word.
complete_words() {
    bash -c '. "$1" || exit 9
        shift
        COMP_WORDS=(wavefarm "$@")
        COMP_CWORD=$#
        _wavefarm || exit 9
        printf "%s\n" "${COMPREPLY[@]}"' bash "$WORK/completion" "$@"
}
wavefarm completion bash >"$WORK/completion" || fail "no completion"
equal "completion of 'su'" "$(complete_words su)" submit
equal "completion of 'pack ve'" "$(complete_words pack ve)" verify
equal "completion of 'dataset make p'" "$(complete_words dataset make p)" page-table
equal "completion of 'run --ker'" "$(complete_words run --ker)" --kernels
equal "completion after words" "$(complete_words run gemm-five --repe)" --repetitions
touch "$WORK/results.jsonl"
equal "completion of files" "$(cd "$WORK" && complete_words show resu)" results.jsonl
offered=$(complete_words '')
for command in "${commands[@]}"; do
    grep -qxF "${command%% *}" <<<"$offered" || fail "completion lacks $command"
done
expect 0 "bashcompinit" wavefarm completion zsh
expect 0 "complete -c wavefarm" wavefarm completion fish
expect 2 "there is bash, zsh and fish" wavefarm completion tcsh

# A reader that goes away is no crash; a full disk is told.
wavefarm man | head -n 1 >/dev/null
code=0
wavefarm man >/dev/full 2>"$WORK/full" || code=$?
equal "exit status on a full disk" "$code" 3
grep -q "cannot write the output" "$WORK/full" || fail "a full disk is not told"
