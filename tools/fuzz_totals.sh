#!/usr/bin/env bash
# Adds the executions that a log of tools/fuzz.sh tells to the campaign's totals, and prints
# these as a table.
# usage: tools/fuzz_totals.sh STATE-FOLDER   (its log and totals)
set -euo pipefail
state=$1
touch "$state/totals"
awk '/number_of_executed_units/ { sub(":", "", $1); print $1, $NF }' "$state/log" |
    sort - "$state/totals" | awk '{ n[$1] += $2 } END { for (t in n) print t, n[t] }' |
    sort >"$state/totals.new"
mv "$state/totals.new" "$state/totals"
echo "| target | executions in all |"
echo "|---|---|"
awk '{ print "| " $1 " | " $2 " |" }' "$state/totals"
