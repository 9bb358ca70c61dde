#!/usr/bin/env bash
# The whole farm over TLS with client certificates: who shows the right one is served, a
# coordinator of another authority is not believed, and a worker works and drains.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
command -v openssl >/dev/null || skip "no openssl"
cd "$WORK" || exit 1

# authority NAME; certificate NAME AUTHORITY: NAME.crt and NAME.key
authority() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" \
        -out "$1.crt" 2>openssl.err || fail "$(cat openssl.err)"
}
certificate() {
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" \
        2>openssl.err && echo "subjectAltName=IP:127.0.0.1" >ext &&
        openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -CAcreateserial \
            -days 2 -extfile ext -out "$1.crt" 2>openssl.err || fail "$(cat openssl.err)"
}
authority ours
authority theirs
certificate server ours
certificate client ours
certificate stranger theirs

small_suite 4
farm_up
farm_end coordinator 5
rm "$FARM/port"
farm_spawn coordinator wavefarm-coordinator serve --db "$(cat "$FARM/db.url")" \
    --listen 127.0.0.1:0 --port-file "$FARM/port" --blobs "$FARM/blobs" --static none \
    --tls-cert "$WORK/server.crt" --tls-key "$WORK/server.key" --tls-client-ca "$WORK/ours.crt"
until_true 30 test -s "$FARM/port"
farm_url() {
    echo "https://127.0.0.1:$(cat "$FARM/port")"
}
WAVEFARM_SERVER=$(farm_url)

trust=(--ca-file "$WORK/ours.crt")
me=(--client-cert "$WORK/client.crt" --client-key "$WORK/client.key")
expect 0 "" wavefarm status "${trust[@]}" "${me[@]}"
expect 3 "certificate" wavefarm status "${me[@]}" # none of the system's authorities
expect 3 "certificate" wavefarm status --ca-file "$WORK/theirs.crt" "${me[@]}"
expect 3 "401" wavefarm status "${trust[@]}"
[[ $OUTPUT == *certificate* ]] || fail "it is not said that a certificate is missing: $OUTPUT"
expect 3 "" wavefarm status "${trust[@]}" --client-cert "$WORK/stranger.crt" \
    --client-key "$WORK/stranger.key"
expect 3 "" wavefarm status "${trust[@]}" --server "http://127.0.0.1:$(cat "$FARM/port")"
# The certificate does not replace the token.
printf 'wf_r_%043d\n' 0 >"$WORK/wrong"
expect 3 "401" wavefarm status "${trust[@]}" "${me[@]}" --token-file "$WORK/wrong"
expect 3 "certificate" wavefarm worker --device host --ca-file "$WORK/theirs.crt" "${me[@]}"

# Packs, cases and results go this way too.
worker one --device host "${trust[@]}" "${me[@]}"
one=$(farm_pid worker-one)
submit "$WORK/small.json" --kernels gemm_openblas --runtime host --no-measure "${trust[@]}" "${me[@]}"
expect 0 "4 results: 4 PASS" wavefarm status "$RUN" --wait "${trust[@]}" "${me[@]}"
one_result_each 4
kill -TERM "$one"
code=0
wait "$one" || code=$?
equal "exit status of the worker" "$code" 0
equal "spool" "$(spool_entries one)" 0
equal "session" "$(farm_sql "SELECT state FROM session")" ended
