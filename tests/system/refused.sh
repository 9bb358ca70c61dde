#!/usr/bin/env bash
# Who may not, and what does not exist: exit statuses 3 and 2, with the reason.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
small_suite 2
farm_up
token() { echo "--token-file=$FARM/tokens/$1"; }

printf 'wf_r_%043d\n' 0 >"$WORK/wrong"
expect 3 "401" wavefarm status --token-file "$WORK/wrong"
echo "not a token" >"$WORK/other"
expect 2 "other holds no token" wavefarm status --token-file "$WORK/other"
expect 3 "403" wavefarm status "$(token runner)"
expect 3 "403" wavefarm submit "$WORK/small.json" --runtime host "$(token reader)"
printf '%s\n' '{"schema":"wavefarm.results/1","expected":1}' >"$WORK/some.jsonl"
expect 3 "403" wavefarm push "$WORK/some.jsonl" "$(token reader)"
expect 0 "" wavefarm status "$(token reader)"
expect 0 "" wavefarm status "$(token submitter)"
expect 0 "" wavefarm status "$(token admin)"
expect 2 "no token" env -u WAVEFARM_TOKEN_FILE wavefarm status
expect 3 "401" wavefarm worker --device host --token-file "$WORK/wrong"
expect 3 "403" wavefarm worker --device host "$(token submitter)"

# A token that is revoked stops working.
wavefarm-coordinator token create --role reader --name short --db "$(cat "$FARM/db.url")" \
    >"$WORK/short" 2>"$WORK/short.id" || fail "no token"
expect 0 "" wavefarm status --token-file "$WORK/short"
expect 0 "" wavefarm-coordinator token revoke "$(sed 's/[^0-9]*\([0-9]*\).*/\1/' "$WORK/short.id")" \
    --db "$(cat "$FARM/db.url")"
is_refused() { ! wavefarm status --token-file "$WORK/short" >/dev/null 2>&1; }
until_true 30 is_refused # known tokens are remembered for some seconds
expect 3 "401" wavefarm status --token-file "$WORK/short"

expect 2 'unknown suite "nope"' wavefarm submit nope
expect 2 "no kernel matches 'nope'" wavefarm submit gemm-five --kernels nope
expect 2 "no selected kernel" wavefarm submit gemm-five --kernels 'attention*'
expect 2 "no selected kernel" wavefarm submit gemm-five --arch gfx000
expect 2 "priority" wavefarm submit gemm-five --runtime host --priority urgent
expect 2 "404" wavefarm show 12345
expect 2 "404" wavefarm status 12345
equal "runs made by all this" "$(farm_sql "SELECT count(*) FROM run")" 0

# A pack that is published, by hash: again changes nothing.
expect 0 '"archive"' wavefarm pack publish --json "$WF_BIN/../packs/wavefarm-host"
first=$OUTPUT
expect 0 "" wavefarm pack publish --json "$WF_BIN/../packs/wavefarm-host"
equal "published again" "$OUTPUT" "$first"
equal "blobs" "$(farm_sql "SELECT count(*) FROM blob")" 1

# The coordinator's own arguments.
expect 2 "unknown argument '--nope'" wavefarm-coordinator serve --nope
expect 2 "session" wavefarm-coordinator serve --session-ttl 5 --blobs "$WORK"
expect 2 "" wavefarm-coordinator token create --role king --name x --db "$(cat "$FARM/db.url")"
