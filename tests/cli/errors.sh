#!/usr/bin/env bash
# What is wrong on a command line or in a suite is named, and never runs.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
PATH=$1:$PATH
export WAVEFARM_CACHE=$WORK/cache
unset WAVEFARM_SERVER WAVEFARM_TOKEN WAVEFARM_TOKEN_FILE

# --- what to run ---
expect 2 "missing argument; usage: wavefarm run SUITE" wavefarm run
expect 2 'unknown suite "nope"; the suites are:' wavefarm run nope
[[ $OUTPUT == *gemm-five* ]] || fail "the error does not say which suites there are"
expect 2 "$WORK/none.json" wavefarm run "$WORK/none.json"
expect 2 "no kernel matches 'nope'; there are:" wavefarm run gemm-five --kernels nope
[[ $OUTPUT == *cublaslt_gemm* ]] || fail "the error does not say which kernels there are"
expect 2 "no case of suite 'gemm-five' matches 'nope'" wavefarm run gemm-five --cases nope
expect 2 "nothing to run" wavefarm run gemm-five --kernels 'attention*'
expect 2 "unknown runtime 'abacus'" wavefarm run gemm-five --device abacus
expect 2 "host:99" wavefarm run gemm-five --device host:99
expect 2 "--repetitions is 0; it takes 1 to" wavefarm run gemm-five --repetitions 0
expect 2 "--threads is 5000" wavefarm run gemm-five --threads 5000
expect 2 "--budget" wavefarm run gemm-five --budget 2
expect 2 "--budget is 0s; it takes 1ms to 1h" wavefarm run gemm-five --budget 0s
expect 2 "--ci is 0; it takes 0.001 to 99" wavefarm run gemm-five --ci 0
expect 2 "--ci is -1" wavefarm run gemm-five --ci -1
expect 2 "--deadline is 0s" wavefarm run gemm-five --deadline 0s
farm=(--server http://127.0.0.1:1 --token-file "$WORK/token")
(umask 077 && echo "wf_s_$(printf %043d 0)" >"$WORK/token")
expect 2 "--ci is 1e9" wavefarm submit gemm-five "${farm[@]}" --ci 1e9
expect 2 "--budget is 999us" wavefarm submit gemm-five "${farm[@]}" --budget 999us
expect 2 "--idle-exit is 0s" wavefarm worker --device host "${farm[@]}" --idle-exit 0s
expect 2 "--out is empty; it takes a FILE" wavefarm run gemm-five --out ''
expect 2 "unknown option --kernel;" wavefarm run gemm-five --kernel x
expect 2 "$WORK/no-pack" wavefarm run gemm-five --pack "$WORK/no-pack"
expect 2 "$WORK/none/f.jsonl" wavefarm run gemm-five --out "$WORK/none/f.jsonl"

# --- suites: file, case and field are named ---
suite() { # suite TEXT-OF-A-CASE
    echo '{"schema": "wavefarm.suite/1", "name": "mine", "description": "d", "cases": ['"$1"']}' >"$WORK/mine.json"
    wavefarm run "$WORK/mine.json"
}
expect 2 "mine.json" suite 'x'
expect 2 '"gem"' suite '{"name": "a", "op": "gem", "M": 8, "N": 8, "K": 8}'
[[ $OUTPUT == *mine.json*a* ]] || fail "file and case are not named: $OUTPUT"
expect 2 "tans_b" suite '{"name": "a", "op": "gemm", "M": 8, "N": 8, "K": 8, "tans_b": "T"}'
[[ $OUTPUT == *mine.json* && $OUTPUT == *trans_b* ]] ||
    fail "file and nearest key are not named: $OUTPUT"
expect 2 "K" suite '{"name": "a", "op": "gemm", "M": 8, "N": 8}'
expect 2 "M" suite '{"name": "a", "op": "gemm", "M": -8, "N": 8, "K": 8}'
expect 2 "mine.json" suite '{"name": "a", "name": "b", "op": "gemm", "M": 8, "N": 8, "K": 8}'
expect 2 "mine.json" suite '{"name": "a", "op": "gemm", "M": 9223372036854775808, "N": 8, "K": 8}'
expect 4 "2 NOT_SUPPORTED" suite '{"name": "a", "op": "gemm", "M": 9007199254740993, "N": 8, "K": 8}'
expect 2 "mine.json" suite '{"name": "a", "op": "gemm", "M": NaN, "N": 8, "K": 8}'

# --- files of results ---
expect 2 "$WORK/none.jsonl" wavefarm show "$WORK/none.jsonl"
: >"$WORK/empty.jsonl"
expect 2 "empty, not a results file" wavefarm show "$WORK/empty.jsonl"
printf '{"schema":"wavefarm.results/1","expected":1}\n{"schema' >"$WORK/torn.jsonl"
expect 2 "torn.jsonl:2: the last line is torn" wavefarm show "$WORK/torn.jsonl"
printf '{"schema":"wavefarm.results/1"}\n' >"$WORK/open.jsonl"
expect 2 'open.jsonl:1: member "expected" is missing' wavefarm show "$WORK/open.jsonl"
echo '{"schema":"wavefarm.results/2"}' >"$WORK/new.jsonl"
expect 2 "wanted 'wavefarm.results/1'" wavefarm show "$WORK/new.jsonl"

# --- an output that is lost is told; no message goes into a file in its place ---
for command in "list" "help run" "--version" "--help" "man"; do
    # shellcheck disable=SC2086  # words
    wavefarm $command >/dev/full 2>"$WORK/lost" && fail "wavefarm $command >/dev/full is good"
    grep -q "cannot write the output" "$WORK/lost" || fail "not told: wavefarm $command"
done
echo '{"schema":"wavefarm.suite/1","name":"s","description":"d","cases":[
    {"name":"c","op":"gemm","M":8,"N":8,"K":8,"a_type":"f32"}]}' >"$WORK/s.json"
closed() { # closed DESCRIPTORS...: run with these closed
    (
        exec >/dev/null 2>&1
        for fd in "$@"; do
            eval "exec $fd>&-"
        done
        exec wavefarm run "$WORK/s.json" --no-measure --kernels gemm_openblas --out "$WORK/closed.jsonl"
    )
}
for fds in 0 2 "0 2" "0 1 2"; do
    code=0
    # shellcheck disable=SC2086  # words
    closed $fds || code=$?
    case $fds in *1*) want=3 ;; *) want=0 ;; esac
    equal "exit status with $fds closed" "$code" "$want"
    expect 0 "1 PASS" wavefarm show "$WORK/closed.jsonl"
done

# --- packs and datasets ---
expect 0 '"name": "wavefarm-host"' wavefarm pack verify --json "$1/../packs/wavefarm-host"
expect 2 "$WORK/none" wavefarm pack verify "$WORK/none"
pack() { # pack MEMBERS-OF-A-KERNEL: a command
    mkdir -p "$WORK/pack"
    echo '{"schema":"wavefarm.pack/1","name":"p","kernels":[{"name":"k","kind":"process",
        "arch":["x86-64"],"command":["true"],'"$1"'}]}' >"$WORK/pack/pack.json"
    wavefarm pack build "$WORK/pack"
}
expect 0 "p" pack '"op":"gemm","knobs":{"B":"2 * BLOCK","BLOCK":"device.cu_count"},"supports":"K % B == 0"'
expect 2 'kernel k: unknown op "gem"; the ops are: gemm, grouped_gemm, attention' pack '"op":"gem"'
expect 2 "unknown name 'BLOK'; did you mean BLOCK?" pack \
    '"op":"gemm","knobs":{"BLOCK":64},"supports":"M > 0 || K % BLOK == 0"'
expect 2 "unknown name 'head_dim'" pack '"op":"gemm","supports":"head_dim == 64"'
expect 2 "knob A depends on itself" pack '"op":"gemm","knobs":{"A":"B","B":"A"}'
expect 0 "total_kv" wavefarm list ops
expect 2 "$WORK/none" wavefarm dataset show "$WORK/none"
expect 2 "synthetic" wavefarm dataset make page-table --page-size 16
expect 2 "page" wavefarm dataset make page-table --synthetic --page-size 0
expect 2 "$WORK/none.csv" wavefarm dataset make page-table --trace "$WORK/none.csv"
expect 2 "cannot list 'nothing'" wavefarm list nothing
expect 2 "abacus" wavefarm devices --runtime abacus

# --- the farm's address and token ---
expect 2 "give --server URL or set WAVEFARM_SERVER" wavefarm status
expect 2 "give --token-file FILE or set WAVEFARM_TOKEN" \
    wavefarm status --server http://127.0.0.1:1
expect 2 "$WORK/none" wavefarm status --server http://127.0.0.1:1 --token-file "$WORK/none"
expect 2 "$WORK/empty.jsonl holds no token" \
    wavefarm status --server http://127.0.0.1:1 --token-file "$WORK/empty.jsonl"
expect 2 "/etc/passwd holds no token" \
    wavefarm status --server http://127.0.0.1:1 --token-file /etc/passwd
echo "wf_r_x" >"$WORK/token"
for address in http:// http://:80 https:///x http://@h 'http://?'; do
    expect 2 "has no host" wavefarm status --server "$address" --token-file "$WORK/token"
done
submit=(wavefarm submit gemm-five --server http://127.0.0.1:1 --token-file "$WORK/token")
expect 2 "--out needs --wait" "${submit[@]}" --out "$WORK/out.jsonl"
expect 2 "cannot write $WORK/none/out" "${submit[@]}" --wait --out "$WORK/none/out"
# Nobody answers there; each tries for some seconds, so both at once.
(expect 3 "127.0.0.1:1" wavefarm status --server http://127.0.0.1:1 --token-file "$WORK/token") &
expect 3 "127.0.0.1:1" "${submit[@]}" --wait --out "$WORK/out.jsonl"
wait $! || exit 1
[ ! -e "$WORK/out.jsonl" ] || fail "a file is left of a run that was not made"
expect 2 "name 'a b'" wavefarm worker --name "a b" --device host \
    --server http://127.0.0.1:1 --token-file "$WORK/token"
