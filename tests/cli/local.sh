#!/usr/bin/env bash
# Local runs: a results file that everything reads, JSON as the schema says, an interrupt.
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
PATH=$1:$PATH
export WAVEFARM_CACHE=$WORK/cache
schema=$TESTS_ROOT/docs/schemas/result.schema.json
validate=$TESTS_ROOT/tests/support/validate_schema.py
file=$WORK/results.jsonl

expect 0 "1 results: 1 PASS" wavefarm run gemm-five --cases '128*' --kernels gemm_openblas \
    --budget 1s --out "$file"
[[ $OUTPUT == *128x1280x2048*gemm_openblas*host*PASS* ]] || fail "no row: $OUTPUT"
"$validate" --lines "$schema" "$file" || fail "the file is not as its schema says"
# The validator itself: what is not as the schema says is refused.
for fault in 's/"answer":"PASS"/"answer":"FINE"/' 's/"attempt":1/"attempt":0/' \
    's/"kind":"measured",//' 's/"timing":{/"timing":{"more":1,/' 's/"checks":\[.*\],"errors"/"checks":[],"errors"/'; do
    sed "$fault" "$file" >"$WORK/fault.jsonl"
    cmp -s "$file" "$WORK/fault.jsonl" && fail "$fault changes nothing"
    "$validate" --lines "$schema" "$WORK/fault.jsonl" >/dev/null && fail "accepted: $fault"
done
expect 0 "1 results: 1 PASS" wavefarm show "$file"
expect 0 "1 results: 1 PASS" wavefarm show --failed "$file"
[[ $OUTPUT != *128x1280x2048* ]] || fail "--failed shows a PASS"

# The same in JSON; samples are as many as the result says.
wavefarm show --json "$file" >"$WORK/show.json" || fail "show --json"
"$validate" --array "$schema" "$WORK/show.json" || fail "show --json is not as the schema says"
tail -n 1 "$file" >"$WORK/one.json"
equal "kind" "$(json "$WORK/one.json" 'v["kind"]')" measured
equal "samples" "$(json "$WORK/one.json" 'len(v["timing"]["samples"]) >= 3')" True
equal "every element checked" "$(json "$WORK/one.json" \
    'max(c["elements"] for c in v["checks"]) == 128 * 1280')" True
equal "smallest error caught" "$(json "$WORK/one.json" \
    'all(c["smallest_caught"] > 0 for c in v["checks"] if "full" in c["name"])')" True

# Answers alone, twice, with other inputs.
wavefarm run gemm-five --cases '128*' --kernels gemm_openblas --no-measure --repetitions 2 \
    --seed-offset 7 --json >"$WORK/run.json" 2>"$WORK/run.err" || fail "$(cat "$WORK/run.err")"
"$validate" --array "$schema" "$WORK/run.json" || fail "run --json is not as the schema says"
equal "results" "$(json "$WORK/run.json" '[r["task"]["repetition"] for r in v]')" "[0, 1]"
equal "time" "$(json "$WORK/run.json" '{r["time"] for r in v}')" "{'NOT_MEASURED'}"
equal "seed offset" "$(json "$WORK/run.json" '{r["seeds"]["run_offset"] for r in v}')" "{7}"

# Incomplete and wrong files give the exit status that the run would have given.
sed 's/"expected":1/"expected":3/' "$file" >"$WORK/part.jsonl"
expect 4 "incomplete: 1 of 3" wavefarm show "$WORK/part.jsonl"
sed 's/"answer":"PASS"/"answer":"MISMATCH"/' "$file" >"$WORK/wrong.jsonl"
expect 1 "1 MISMATCH" wavefarm show "$WORK/wrong.jsonl"
expect 1 "/ gemm_openblas: MISMATCH" wavefarm show --failed "$WORK/wrong.jsonl"

# An interrupt ends the run with 130; what was done is in the file; nothing goes on.
interrupt() {
    env --default-signal=INT WAVEFARM_TEST="$WORK" setsid wavefarm run gemm-five \
        --cases '128*' --kernels gemm_openblas --budget 100ms --repetitions 50 --out "$WORK/cut.jsonl" >"$WORK/cut.out" 2>&1 &
    local pid=$! code=0
    until_true 60 has_lines "$WORK/cut.jsonl" 2
    kill -INT -- "-$pid"
    wait "$pid" || code=$?
    equal "exit status after an interrupt" "$code" 130
    until_true 5 nothing_left
}
has_lines() {
    [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]
}
nothing_left() {
    ! grep -lszFx "WAVEFARM_TEST=$WORK" /proc/[0-9]*/environ >/dev/null
}
interrupt
grep -q interrupted "$WORK/cut.out" || fail "the interrupt is not told: $(cat "$WORK/cut.out")"
expect 4 "incomplete: " wavefarm show "$WORK/cut.jsonl"

# --- lists and devices in JSON ---
for what in suites ops kernels; do
    wavefarm list "$what" --json >"$WORK/list.json" || fail "list $what --json"
    [ "$(json "$WORK/list.json" 'len(v)')" -ge 2 ] || fail "list $what is too short"
done
wavefarm devices --runtime host --json >"$WORK/devices.json" || fail "devices --json"
equal "runtime" "$(json "$WORK/devices.json" 'v["devices"][0]["runtime"]')" host
expect 0 "host:0" wavefarm devices
WAVEFARM_HOST_DEVICES=2 expect 0 "host:1" wavefarm devices

# --- a page table: equal options, equal bytes, read back ---
make=(wavefarm dataset make page-table --synthetic --batch 8 --requests 64 --page-size 16
    --mean-prompt 40 --mean-output 20 --seed 3)
expect 0 "sha256" "${make[@]}" --out "$WORK/a.safetensors"
first=$OUTPUT
expect 0 "" "${make[@]}" --out "$WORK/b.safetensors"
equal "equal options" "$OUTPUT" "$first"
cmp -s "$WORK/a.safetensors" "$WORK/b.safetensors" || fail "equal options, other bytes"
expect 0 "kv_indptr" wavefarm dataset show "$WORK/a.safetensors"
wavefarm dataset show --json "$WORK/a.safetensors" >"$WORK/dataset.json" || fail "show --json"
equal "indptr" "$(json "$WORK/dataset.json" \
    '[t["shape"] for t in v["tensors"] if t["name"] == "kv_indptr"]')" "[[9]]"
equal "recipe" "$(json "$WORK/dataset.json" 'v["recipe"]["seed"]')" 3
[[ $OUTPUT == *"$(sha256sum "$WORK/a.safetensors" | cut -d' ' -f1)"* ]] || fail "another hash"
