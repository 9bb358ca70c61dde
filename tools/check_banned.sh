#!/bin/sh
# Functions and habits that the tree does without. An exception carries IGNORE-BANNED
# and its reason on the line.
set -u
cd "$(dirname "$0")/.." || exit 2
bad=0
folders="core packs gate isa tune datasets kernels runner coordinator cli emulator selftest"

ban() {
    regex=$1
    why=$2
    shift 2
    # shellcheck disable=SC2086
    found=$(grep -rnE "(^|[^A-Za-z0-9_.>])($regex) *\(" $folders \
        --include='*.c' --include='*.h' 2>/dev/null |
        grep -vE 'IGNORE-BANNED|: *(/?\*|//)' )
    for f in "$@"; do
        found=$(printf '%s\n' "$found" | grep -v "^$f")
    done
    found=$(printf '%s\n' "$found" | grep -v '^$')
    [ -z "$found" ] && return
    echo "$found" | sed "s|\$|   <- $why|"
    bad=1
}
ban 'strcpy|strcat|sprintf|vsprintf|gets|strtok|strncpy' 'no bound: snprintf or wf_buf'
ban 'atoi|atol|atof|strtod|strtol|strtoul|strtoll|strtoull|sscanf' 'core/parse.h' core/
ban 'rand|srand|random|drand48' 'core/rng.h'
ban 'usleep|sleep' 'waiting is the clock struct or a condition' core/clock.c
ban 'system|popen' 'posix_spawn with an argument list'
ban 'malloc|calloc|realloc|strdup|strndup|asprintf' 'wf_calloc and friends' core/ kernels/gemm/gemm_host kernels/attention/attention_host
ban 'alloca' 'stack of unknown size'
ban 'signal' 'sigaction'
ban 'setlocale' 'numbers must not depend on a locale'
exit $bad
