/* Modelled cycles, small problems, pruning. */
#include "tune/model.h"
#include "tune/prune.h"
#include "tune/reduce.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct wf_tune_counted counted(double length, double mfma, double issue)
{
    struct wf_tune_counted c = {
        .launches = 1, .launch = { { .symbol = "k" } }, .length = length, .split = 1
    };
    c.launch[0].pipe[WF_TUNE_PIPE_mfma] = mfma;
    c.launch[0].pipe[WF_TUNE_PIPE_issue] = issue;
    c.launch[0].resident = 2;
    return c;
}

static struct wf_tune_problem problem(double workgroups, double length)
{
    return (struct wf_tune_problem){ .launches = 1,
                                     .symbol = { "k" },
                                     .workgroups = { workgroups },
                                     .length = length,
                                     .split = 1,
                                     .cu_count = 304 };
}

Test(model, work_grows_with_the_length_and_rounds_are_whole)
{
    const struct wf_tune_counted a = counted(512, 600, 100),
                                 b = counted(1024, 1100, 100);
    struct wf_tune_model m;
    cr_assert_eq(wf_tune_model_fit(&a, &b, NAN, NAN, &m, NULL), WF_OK);
    struct wf_tune_problem p = problem(304, 4096);
    const double one = wf_tune_cycles(&m, &p);
    cr_expect_float_eq(one, 100 + 4096 * 500.0 / 512 + WF_TUNE_LAUNCH_CYCLES, 1e-6);
    p = problem(305, 4096); /* one tile more costs a whole round */
    cr_expect_float_eq(wf_tune_cycles(&m, &p) - WF_TUNE_LAUNCH_CYCLES,
                       2 * (one - WF_TUNE_LAUNCH_CYCLES), 1e-6);
    p = problem(608, 4096);
    cr_expect_float_eq(wf_tune_cycles(&m, &p) - WF_TUNE_LAUNCH_CYCLES,
                       2 * (one - WF_TUNE_LAUNCH_CYCLES), 1e-6);
}

Test(model, waits_cost_a_wave_alone_and_memory_is_a_floor)
{
    const struct wf_tune_counted a = counted(512, 512, 100),
                                 b = counted(1024, 1024, 100);
    struct wf_tune_model m;
    cr_assert_eq(wf_tune_model_fit(&a, &b, 0.5, 1, &m, NULL), WF_OK);
    struct wf_tune_problem p = problem(304, 1000); /* one of two places is used */
    cr_expect_float_eq(wf_tune_cycles(&m, &p), 2000 + WF_TUNE_LAUNCH_CYCLES, 1e-6);
    p = problem(608, 1000); /* the other one fills the gaps */
    cr_expect_float_eq(wf_tune_cycles(&m, &p), 2000 + WF_TUNE_LAUNCH_CYCLES, 1e-6);
    p.bytes = 1e9;
    cr_expect_float_eq(wf_tune_cycles(&m, &p),
                       1e9 / WF_TUNE_HBM_BYTES_A_CYCLE + WF_TUNE_LAUNCH_CYCLES, 1e-6);
}

Test(model, other_launches_are_unknown_and_json_keeps_every_bit)
{
    const struct wf_tune_counted a = counted(512, 601, 99),
                                 b = counted(1000, 1100, 101);
    struct wf_tune_model m, again;
    struct wf_json *json = NULL;
    struct wf_tune_problem p = problem(999, 777);
    cr_assert_eq(wf_tune_model_fit(&a, &b, 0.83, NAN, &m, NULL), WF_OK);
    cr_assert_eq(wf_tune_model_json(&m, &json, NULL), WF_OK);
    cr_assert_eq(wf_tune_model_parse(json, &again, NULL), WF_OK);
    cr_expect(wf_tune_cycles(&m, &p) == wf_tune_cycles(&again, &p));
    p.launches = 2; /* more than the model knows */
    cr_expect(isnan(wf_tune_cycles(&m, &p)));
    p.launches = 1;
    p.symbol[0] = "other";
    cr_expect(isnan(wf_tune_cycles(&m, &p)));
    cr_assert_eq(wf_json_set_f64(json, "mca", 83, NULL),
                 WF_OK); /* percent is no share */
    cr_expect_eq(wf_tune_model_parse(json, &again, NULL), WF_ERANGE);
    wf_json_free(json);
    cr_expect_eq(wf_tune_model_fit(&b, &a, NAN, NAN, &m, NULL), WF_EINVAL);
}

Test(model, fill_is_padding_times_quantisation)
{
    cr_expect_float_eq(wf_tune_fill(256, 256, 256, 256, 1, 304), 1.0 / 304, 1e-12);
    cr_expect_float_eq(wf_tune_fill(130, 256, 128, 256, 304, 304), 130.0 / 256, 1e-12);
    cr_expect_float_eq(wf_tune_fill(10, 10, 0, 0, 305, 304), 305.0 / 608, 1e-12);
}

Test(reduce, residues_stay_and_two_tiles_are_crossed)
{
    const struct wf_tune_sizes whole = { 4145, 100003, 8195, 7 };
    struct wf_tune_sizes s[2];
    bool pair = false;
    wf_tune_reduce(&whole, 128, 256, s, &pair);
    cr_expect(pair);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(s[i].m % 128, whole.m % 128);
        cr_expect_eq(s[i].n % 256, whole.n % 256);
        cr_expect_eq(s[i].k % WF_TUNE_K_UNIT, whole.k % WF_TUNE_K_UNIT);
        cr_expect(s[i].m >= 256 && s[i].m < 384 && s[i].n >= 512 && s[i].n < 768);
        cr_expect_eq(s[i].batch, 2);
    }
    cr_expect_lt(s[0].k, s[1].k);
}

Test(reduce, small_problems_stay_as_they_are)
{
    const struct wf_tune_sizes whole = { 1, 37, 0, 1 };
    struct wf_tune_sizes s[2];
    bool pair = true;
    wf_tune_reduce(&whole, 0, 0, s, &pair);
    cr_expect(!pair);
    cr_expect(s[0].m == 1 && s[0].n == 37 && s[0].k == 0 && s[0].batch == 1);
}

Test(prune, unknown_is_inside_and_dominates_nothing)
{
    const int worse[] = { -1, -1 };
    const double best[] = { 90, 99 }, less[] = { 80, 99 }, mixed[] = { 95, 90 },
                 unknown[] = { 50, (double)NAN }, near[] = { 89.9, 99 };
    cr_expect(wf_tune_within((double)NAN, 1, 2) && wf_tune_within(1, 1, (double)NAN));
    cr_expect(!wf_tune_within(0.9, 1, 2) && !wf_tune_within(2.1, 1, 2));
    cr_expect(wf_tune_dominates(best, less, worse, 2));
    cr_expect(!wf_tune_dominates(less, best, worse, 2));
    cr_expect(!wf_tune_dominates(best, mixed, worse, 2));
    cr_expect(!wf_tune_dominates(best, unknown, worse, 2));
    cr_expect(!wf_tune_dominates(best, near, worse, 2)); /* the same, for a search */
    cr_expect(!wf_tune_dominates(best, best, worse, 2));
}
