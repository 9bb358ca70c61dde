#!/usr/bin/env bash
# Longer campaigns. Each adds to its own totals (build/campaigns/NAME/totals), may be
# interrupted and taken up again, and writes its last summary, with commit and date, to
# docs/campaigns/NAME.md.
# usage: tools/campaign.sh NAME [MINUTES]
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
minutes=${2:-60}
script=tools/campaigns/$name.sh
[ -f "$script" ] || {
    echo "campaign: no '$name'; there are: $(ls tools/campaigns | sed 's/\.sh$//' | tr '\n' ' ')" >&2
    exit 2
}
state=build/campaigns/$name
mkdir -p "$state" docs/campaigns
commit=$(git rev-parse --short HEAD)$(git diff --quiet HEAD || echo '+changes')
status=0
bash "$script" "$state" "$minutes" || status=$?
{
    echo "# Campaign: $name"
    echo
    echo "Last run: commit $commit, $(date -u +%Y-%m-%d), $minutes minutes asked," \
        "exit status $status."
    echo
    cat "$state/summary.md"
} >"docs/campaigns/$name.md"
cat "docs/campaigns/$name.md"
exit $status
