#!/bin/sh
# Installs the Debian packages that WaveFarm needs; does nothing when they are there.
#   tools/setup.sh run     what ./quickstart needs
#   tools/setup.sh check   that, and what ./check needs
set -eu
group=${1:-run}
here=$(cd "$(dirname "$0")" && pwd)

wanted() {
    awk -v g="$group" '$1 == "run" || $1 == g { print $2 }' "$here/packages.txt"
}

missing() {
    for p in $(wanted); do
        dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null |
            grep -qx installed || echo "$p"
    done
    # uPlot comes from npm; any npm will do (Debian's pulls in Debian's nodejs).
    command -v npm >/dev/null 2>&1 || echo npm
}

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: this is not a Debian system. Install the equivalents of:" >&2
    wanted | tr '\n' ' ' >&2
    echo "npm" >&2
    exit 3
fi

need=$(missing)
[ -z "$need" ] && exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "setup: needs root (or sudo) to install: $(echo "$need" | tr '\n' ' ')" >&2
    exit 3
fi

# The package names are those of one version; elsewhere apt-get may not know some.
made_for="Debian 12"
# shellcheck disable=SC1091  # the system's own description
system=$(. /etc/os-release 2>/dev/null && echo "${ID:-} ${VERSION_ID:-}") || system=
if [ "$system" != "debian 12" ]; then
    echo "setup: warning: made for $made_for, this is '${system:-an unknown system}':" \
        "some packages may have other names or versions (tools/packages.txt)" >&2
fi

echo "setup: installing $(echo "$need" | wc -l) Debian packages" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    # shellcheck disable=SC2086  # a list of names
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends $need >"$log" 2>&1
}
# The lists may be absent or old: update only when the first try fails.
if ! install; then
    $as_root apt-get update -qq >>"$log" 2>&1 || true
    if ! install; then
        tail -n 20 "$log" >&2
        echo "setup: apt-get could not install: $(echo "$need" | tr '\n' ' ')" >&2
        exit 3
    fi
fi
