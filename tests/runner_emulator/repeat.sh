#!/usr/bin/env bash
# Launches after the first: atomics are judged each time and counted, a workspace that is
# set once must be left as the next launch needs it, and the second launch still tells what
# checks and counters cost.
#   repeat.sh BIN PACK
# shellcheck source=tests/runner_emulator/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

run_small --pack "$2" --no-measure
equal "by default" "$(of a_atomics '(r["answer"], r["details"]["launches"], "cost" in r["details"]["emulation"])')" \
    "('PASS', 2, True)"
run_small --pack "$2" --no-measure --launches 6
equal "atomics" "$(of a_atomics '(r["answer"], r["details"]["launches"], r["details"]["declared_deterministic"],
    1 <= r["details"]["distinct_outputs"] <= 6)')" "('PASS', 6, False, True)"
equal "stale counter" "$(of b_leaves_its_counter 'r["answer"]')" NONDETERMINISTIC
equal "stale counter, why" "$(of b_leaves_its_counter '"workspace counter was filled again" in r["answer_text"]')" True
equal "clean counter" "$(of c_cleans_its_counter '(r["answer"], r["details"]["distinct_outputs"])')" "('PASS', 1)"
exit 0
