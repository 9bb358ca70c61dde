/* Estimates and packing. */
#include "coordinator/shard.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t plan(struct wf_shard_task *t, size_t n, struct wf_shard_plan_input in)
{
    size_t shards = 0;
    cr_assert_eq(wf_shard_plan(t, n, &in, &shards, NULL), WF_OK);
    for (size_t i = 0; i < n; i++) {
        cr_assert_lt(t[i].shard, shards);
    }
    return shards;
}

static int64_t load(const struct wf_shard_task *t,
                    size_t n,
                    size_t shard,
                    size_t *ret_tasks)
{
    int64_t ms = 0;
    size_t tasks = 0;
    for (size_t i = 0; i < n; i++) {
        ms += t[i].shard == shard ? t[i].estimate_ms : 0;
        tasks += t[i].shard == shard;
    }
    if (ret_tasks) {
        *ret_tasks = tasks;
    }
    return ms;
}

Test(shard, history_goes_before_the_roofline)
{
    struct wf_cost_input in = { .history_ms = 1234.7,
                                .flops = 1e15,
                                .bytes = 1e12,
                                .measure = true,
                                .budget_ms = 2000 };
    cr_assert_eq(wf_task_estimate_ms(&in), 1234);
}

Test(shard, estimates_are_bounded_and_grow_with_the_work)
{
    struct wf_cost_input small = { .flops = 1e6, .bytes = 1e6, .measure = true };
    struct wf_cost_input large = { .flops = 1e12, .bytes = 1e10, .measure = true };
    struct wf_cost_input odd = { .flops = NAN, .bytes = NAN };
    struct wf_cost_input huge = { .flops = 1e30 };
    cr_assert_lt(wf_task_estimate_ms(&small), wf_task_estimate_ms(&large));
    cr_assert_geq(wf_task_estimate_ms(&odd), 1);
    cr_assert_eq(wf_task_estimate_ms(&huge), 3600000);
    huge.device_is_host = true;
    cr_assert_eq(wf_task_estimate_ms(&huge), 3600000);
    small.budget_ms = 10000;
    cr_assert_geq(wf_task_estimate_ms(&small), 5000);
}

Test(shard, a_small_run_spreads_over_the_devices)
{
    struct wf_shard_task t[5] = {
        { 900, 0, 0 }, { 100, 0, 0 }, { 100, 0, 0 }, { 100, 0, 0 }, { 800, 0, 0 }
    };
    size_t n = plan(t, 5, (struct wf_shard_plan_input){ 90000, 200, 3 });
    cr_assert_eq(n, 5);
    struct wf_shard_task one[1] = { { 5, 0, 0 } };
    cr_assert_eq(plan(one, 1, (struct wf_shard_plan_input){ 90000, 200, 3 }), 1);
    struct wf_shard_task none[1];
    cr_assert_eq(plan(none, 0, (struct wf_shard_plan_input){ 90000, 200, 3 }), 0);
}

Test(shard, a_large_run_has_shards_of_the_target_length_and_even_load)
{
    enum {
        N = 3000
    };
    struct wf_shard_task *t = calloc(N, sizeof *t);
    for (size_t i = 0; i < N; i++) {
        t[i].estimate_ms = (int64_t)(500 + i * 7919 % 4000);
    }
    size_t n = plan(t, N, (struct wf_shard_plan_input){ 60000, 200, 4 });
    for (size_t s = 0; s < n; s++) {
        size_t tasks = 0;
        int64_t ms = load(t, N, s, &tasks);
        cr_assert_gt(ms, 50000);
        cr_assert_leq(ms, 70000);
        cr_assert_leq(tasks, 200);
    }
    free(t);
}

Test(shard, the_number_of_tasks_is_limited)
{
    enum {
        N = 10000
    };
    struct wf_shard_task *t = calloc(N, sizeof *t);
    for (size_t i = 0; i < N; i++) {
        t[i].estimate_ms = i == 0 ? 3600000 : 1;
    }
    size_t n = plan(t, N, (struct wf_shard_plan_input){ 60000, 200, 4 });
    for (size_t s = 0; s < n; s++) {
        size_t tasks = 0;
        (void)load(t, N, s, &tasks);
        cr_assert_leq(tasks, 200);
        cr_assert_geq(tasks, 1);
    }
    free(t);
}

/* Half the shards are long with few tasks; the cheap tasks must not crowd the others.
 */
Test(shard, cheap_tasks_do_not_crowd_beyond_the_limit)
{
    enum {
        N = 1000,
        LONG = 10
    };
    struct wf_shard_task *t = calloc(N, sizeof *t);
    for (size_t i = 0; i < N; i++) {
        t[i].estimate_ms = i < LONG ? 60000 : 1;
    }
    size_t n = plan(t, N, (struct wf_shard_plan_input){ 30000, 60, 1 });
    for (size_t s = 0; s < n; s++) {
        size_t tasks = 0;
        (void)load(t, N, s, &tasks);
        cr_assert_leq(tasks, 60, "shard %zu has %zu", s, tasks);
    }
    free(t);
}

Test(shard, groups_do_not_mix)
{
    enum {
        N = 40
    };
    struct wf_shard_task t[N];
    for (size_t i = 0; i < N; i++) {
        t[i] = (struct wf_shard_task){ 1000, (uint32_t)(i % 3), 0 };
    }
    (void)plan(t, N, (struct wf_shard_plan_input){ 4000, 200, 1 });
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            cr_assert(t[i].shard != t[j].shard || t[i].group == t[j].group);
        }
    }
}

Test(shard, the_same_input_gives_the_same_plan)
{
    enum {
        N = 500
    };
    struct wf_shard_task a[N], b[N];
    for (size_t i = 0; i < N; i++) {
        a[i] = b[i] =
            (struct wf_shard_task){ (int64_t)(i * 31 % 17 + 1), (uint32_t)(i % 2), 0 };
    }
    struct wf_shard_plan_input in = { 100, 50, 2 };
    cr_assert_eq(plan(a, N, in), plan(b, N, in));
    cr_assert_eq(memcmp(a, b, sizeof a), 0);
}
