#!/usr/bin/env bash
# What the farm adds to a task on this machine: wall time of a run of many tiny tasks on
# one runner, less the time that the tasks themselves say they took (phases_ns.total:
# inputs, reference, judging, kernel).
#   bench_overhead.sh BIN [TASKS]
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/../system/lib.sh" "$1"
tasks=${2:-200}
small_suite "$tasks"
farm_up
worker one --device host
until_true 20 farm_has_runners 1
# Once before, so that pack and caches are warm.
submit "$WORK/small.json" --cases c0 --kernels gemm_openblas --runtime host --no-measure
expect 0 "1 PASS" wavefarm status "$RUN" --wait
submit "$WORK/small.json" --kernels gemm_openblas --runtime host --no-measure
expect 0 "$tasks PASS" wavefarm status "$RUN" --wait
farm_sql "SELECT format('%s tasks: %s ms a task on the wall, %s ms of it in the task itself, '
              'overhead %s ms a task', n, round(wall / n, 2), round(inside / n, 2),
              round((wall - inside) / n, 2))
    FROM (SELECT count(*) AS n, sum(total_ns)::numeric / 1e6 AS inside,
              (extract(epoch FROM max(received)
                   - (SELECT min(l.leased) FROM lease_log l JOIN shard s USING (shard_id)
                      WHERE s.run_id = $RUN)) * 1000)::numeric AS wall
          FROM result WHERE run_id = $RUN) t"
