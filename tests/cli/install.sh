#!/usr/bin/env bash
# An installed folder works wherever it is moved to, and knows nothing of where it was built.
# usage: install.sh BUILD-FOLDER CMAKE
# shellcheck source=tests/support/shell.sh
. "$(dirname "$0")/../support/shell.sh"
build=$1
cmake=$2
for variable in $(compgen -v WAVEFARM_); do
    unset "$variable"
done
export WAVEFARM_CACHE=$WORK/cache
cd / || fail "no /"

"$cmake" --install "$build" --prefix "$WORK/first" >"$WORK/log" 2>&1 || fail "$(tail "$WORK/log")"
mkdir "$WORK/else where"
at="$WORK/else where/wavefarm"
mv "$WORK/first" "$at"
PATH=$at/bin:$PATH
equal "wavefarm on the path" "$(command -v wavefarm)" "$at/bin/wavefarm"

for file in bin/wavefarm{,-judge,-subject,-coordinator} bin/wf-packgen lib/libwavefarm_{host,cuda,emulator}.so lib/hip/libamdhip64.so.{5,6,7} \
    packs/wavefarm-{host,gfx942,sm_90-ptx}/pack.json \
    reference-packs/wavefarm-naive-{gfx942,sm_90,sm_90-ptx}/pack.json share/wavefarm/{suites/gemm-five.json,pages/index.html} \
    share/man/man1/wavefarm{,-coordinator}.1 share/bash-completion/completions/wavefarm \
    share/zsh/site-functions/_wavefarm share/fish/vendor_completions.d/wavefarm.fish share/doc/wavefarm/LICENSE; do
    [ -s "$at/$file" ] || fail "$file is not installed"
done
# What is installed is what a runner or a user needs: no test's pack, no object file.
equal "files that nobody needs" "$(find "$at" -name '*.o' -o -name 'every-feature*' -o -name CMakeFiles)" ""

expect 0 "gemm-five" wavefarm list suites
expect 0 "gemm_openblas" wavefarm list kernels
[[ $OUTPUT == *gfx942* ]] || fail "no gfx942 kernel in: $OUTPUT"
# Packs that are there for the judge, the gate and the selftest are offered to nobody.
[[ $OUTPUT != *probe* && $OUTPUT != *naive* && $OUTPUT != *sentinel* && $OUTPUT != *ignored* ]] ||
    fail "kernels of probes, of sentinels, of the naive check or of mutants in: $OUTPUT"
for file in packs/wavefarm-probe-{host,gfx942}/pack.json share/wavefarm/mutants/{mutants.json,mutants-{host,gfx942}/pack.json}; do
    [ -s "$at/$file" ] || fail "$file is not installed"
done
expect 0 "caught" wavefarm selftest mutants --only gemm_alpha_ignored --generated 0 --right-runs 0
[[ $OUTPUT == *wrong*1*1*"100.0 %"* ]] || fail "one mutant is not caught after installation: $OUTPUT"
for command in "selftest mutants" "selftest timing" gate "gate "{show,replay,submit,status,fetch,cancel,static} \
    compare history bisect isa; do
    read -ra words <<<"$command"
    expect 0 "usage: wavefarm $command" wavefarm help "${words[@]}"
    grep -q "^\.SS wavefarm $command" "$at/share/man/man1/wavefarm.1" || fail "the page lacks $command"
    for file in bash-completion/completions/wavefarm zsh/site-functions/_wavefarm fish/vendor_completions.d/wavefarm.fish; do
        grep -qw "${command#* }" "$at/share/$file" || fail "$file lacks $command"
    done
done
# Sentinels are there for a gate alone.
for file in packs/wavefarm-sentinel-{host,gfx942,sm_90}/pack.json share/wavefarm/suites/sentinels.json; do
    [ -s "$at/$file" ] || fail "$file is not installed"
done
expect 0 "host:0" wavefarm devices
expect 0 "1 results: 1 PASS" wavefarm run gemm-five --cases '128*' --kernels gemm_openblas \
    --no-measure --out "$WORK/r.jsonl"
expect 2 "usage: wf-packgen" wf-packgen
expect 0 "wavefarm-coordinator 0." wavefarm-coordinator --version
# The packs and suites were those of the new place.
mv "$at/packs" "$at/packs-away"
code=0
wavefarm list kernels >"$WORK/kernels" 2>&1 || code=$?
grep -q gemm_openblas "$WORK/kernels" && fail "kernels come from elsewhere (status $code)"
mv "$at/packs-away" "$at/packs"

# The pages of manual are what the programs print, and the formatter understands them.
for program in wavefarm wavefarm-coordinator; do
    page=$at/share/man/man1/$program.1
    "$program" man | cmp -s - "$page" || fail "$page is not what '$program man' prints"
    if command -v groff >/dev/null; then
        groff -man -Tascii -ww "$page" >"$WORK/text" 2>"$WORK/complaints" || fail "groff failed"
        [ ! -s "$WORK/complaints" ] || fail "groff: $(cat "$WORK/complaints")"
        grep -q "^NAME" <(sed 's/\x1b\[[0-9;]*m//g; s/.\x08//g' "$WORK/text") || fail "no NAME in $page"
    fi
done
head -n 1 "$at/share/zsh/site-functions/_wavefarm" | grep -qx "#compdef wavefarm" ||
    fail "zsh would not load its completion"
bash -n "$at/share/bash-completion/completions/wavefarm" || fail "bash cannot read its completion"
equal "open quotes for fish" "$(sed 's/\\.//g' "$at/share/fish/vendor_completions.d/wavefarm.fish" |
    awk -F"'" 'NF % 2 == 0')" ""
if command -v fish >/dev/null; then
    expect 0 "" fish --no-execute "$at/share/fish/vendor_completions.d/wavefarm.fish"
fi
if command -v zsh >/dev/null; then
    expect 0 "" zsh -n "$at/share/zsh/site-functions/_wavefarm"
fi

# The coordinator's help: each command's own, and every setting in the page.
page=$at/share/man/man1/wavefarm-coordinator.1
expect 2 "usage: wavefarm-coordinator COMMAND" wavefarm-coordinator
expect 0 "usage: wavefarm-coordinator COMMAND" wavefarm-coordinator --help
mapfile -t commands < <(sed -n 's/^  \([a-z]*\)  .*/\1/p' <<<"$OUTPUT")
mapfile -t flags < <(sed -n 's/^  --\([a-z-]*\).*/\1/p' <<<"$OUTPUT")
[ ${#commands[@]} -ge 6 ] || fail "only ${#commands[@]} commands in the help"
[ ${#flags[@]} -ge 20 ] || fail "only ${#flags[@]} settings in the help"
for command in "${commands[@]}"; do
    expect 0 "usage: wavefarm-coordinator $command" wavefarm-coordinator "$command" --help
    [[ $OUTPUT != *"COMMAND ..."* ]] || fail "'$command --help' is everyone's help"
    expect 0 "usage: wavefarm-coordinator $command" wavefarm-coordinator help "$command"
    grep -qx ".SS $command" "$page" || fail "the page lacks $command"
done
for flag in "${flags[@]}"; do
    grep -qxF ".B \\-\\-${flag//-/\\-}" "$page" || fail "the page lacks --$flag"
done
expect 0 "--reap-period" wavefarm-coordinator serve --help
expect 0 "token revoke ID" wavefarm-coordinator token create --help
[[ $OUTPUT == *--db* && $OUTPUT != *--reap-period* ]] || fail "settings of 'token': $OUTPUT"
expect 2 "unknown command 'frobnicate'" wavefarm-coordinator frobnicate --help
expect 2 "unknown command 'frobnicate'" wavefarm-coordinator help frobnicate
expect 3 "cannot write the output" bash -c 'wavefarm-coordinator man >/dev/full'

# No folder of the build's is named, beside what a debugger reads. (A sanitizer's reports
# name sources, so its programs do.)
grep -q __asan_init "$at/bin/wavefarm" && exit 0
while IFS= read -r -d '' file; do
    copy=$file
    if readelf -h "$file" >"$WORK/elf" 2>/dev/null; then
        readelf -d "$file" 2>/dev/null | grep -E '\((RPATH|RUNPATH)\)' && fail "$file has a search path"
        copy=$WORK/stripped
        # Other machines' objects are looked at as they are.
        objcopy --strip-debug "$file" "$copy" 2>/dev/null || copy=$file
    fi
    for folder in "$build" "$TESTS_ROOT" "$WORK/first"; do
        grep -qF -e "$folder" "$copy" && fail "$file names $folder"
    done
done < <(find "$at" -type f -print0)
exit 0
