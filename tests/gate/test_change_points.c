/* Change points: where they are, how large, and what makes none. */
#include "core/rng.h"
#include "gate/change_points.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N 200

static const struct wf_change_rule rule = WF_CHANGE_RULE_DEFAULT;

/* 1 + 1 % of normal noise. */
static void noise(double *y, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = 1 + 0.01 * wf_rng_normal(seed, 1, i);
    }
}

static struct wf_change_points find(const double *y, size_t n)
{
    struct wf_change_points p;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_change_points_find(y, n, &rule, &p, &err), WF_OK, "%s", err.text);
    return p;
}

static size_t count(const double *y, size_t n)
{
    struct wf_change_points p = find(y, n);
    const size_t c = p.count;
    wf_change_points_free(&p);
    return c;
}

Test(change_points, a_step_is_found_with_its_size_and_error)
{
    double y[N];
    noise(y, N, 1);
    for (size_t i = 120; i < N; i++) {
        y[i] += 0.04;
    }
    struct wf_change_points p = find(y, N);
    cr_assert_eq(p.count, 1);
    cr_assert(p.point[0].index >= 118 && p.point[0].index <= 122);
    cr_assert_eq(p.point[0].before_index + 1, p.point[0].index);
    cr_assert_eq(p.point[0].left + p.point[0].right, N);
    cr_assert_float_eq(p.point[0].size, 0.04, 4 * p.point[0].noise);
    cr_assert_eq(p.point[0].size, p.point[0].after - p.point[0].before);
    cr_assert(p.noise > 0.007 && p.noise < 0.016, "%g", p.noise);
    const double l = (double)p.point[0].left, r = (double)p.point[0].right;
    cr_assert_float_eq(p.point[0].noise, p.noise * sqrt(1 / l + 1 / r), 1e-12);
    cr_assert_not(p.point[0].is_new);
    wf_change_points_free(&p);
    cr_assert_null(p.point);
}

Test(change_points, two_steps_up_and_down)
{
    double y[N];
    noise(y, N, 2);
    for (size_t i = 60; i < 140; i++) {
        y[i] += 0.05;
    }
    struct wf_change_points p = find(y, N);
    cr_assert_eq(p.count, 2);
    cr_assert(p.point[0].size > 0.03 && p.point[1].size < -0.03);
    cr_assert(p.point[0].index < p.point[1].index);
    wf_change_points_free(&p);
}

Test(change_points, noise_and_outliers_make_none)
{
    double y[N];
    for (uint64_t seed = 10; seed < 30; seed++) {
        noise(y, N, seed);
        cr_assert_eq(count(y, N), 0, "seed %d", (int)seed);
        for (size_t i = 7; i < N; i += 31) {
            y[i] += 0.5;
        }
        cr_assert_eq(count(y, N), 0, "outliers, seed %d", (int)seed);
    }
}

/* Half a year of a value that creeps is no row of steps for every wiggle. */
Test(change_points, a_drift_counts_as_noise_of_the_scale)
{
    double y[N];
    noise(y, N, 3);
    const double flat = find(y, N).noise;
    for (size_t i = 0; i < N; i++) {
        y[i] += 0.002 * (double)i;
    }
    struct wf_change_points p = find(y, N);
    cr_assert(p.noise > 1.5 * flat, "%g, without drift %g", p.noise, flat);
    cr_assert_leq(p.count, 12);
    wf_change_points_free(&p);
}

Test(change_points, a_point_among_the_last_twelve_is_new)
{
    double y[N];
    noise(y, N, 4);
    for (size_t i = N - 5; i < N; i++) {
        y[i] += 0.05;
    }
    struct wf_change_points p = find(y, N);
    cr_assert_eq(p.count, 1);
    cr_assert(p.point[0].is_new);
    wf_change_points_free(&p);
    noise(y, N, 4);
    for (size_t i = N - 14; i < N; i++) {
        y[i] += 0.05;
    }
    p = find(y, N);
    cr_assert_eq(p.count, 1);
    cr_assert_not(p.point[0].is_new, "at %zu of %d", p.point[0].index, N);
    wf_change_points_free(&p);
}

/* Nights without a value: places are those of the series as given, and the change may
 * lie anywhere between the two nights that have one. */
Test(change_points, missing_nights_keep_their_place)
{
    double y[N];
    noise(y, N, 5);
    for (size_t i = 100; i < N; i++) {
        y[i] += 0.06;
    }
    for (size_t i = 0; i < N; i++) {
        y[i] = i % 3 == 1 || (i >= 96 && i < 104) ? NAN : y[i];
    }
    struct wf_change_points p = find(y, N);
    cr_assert_eq(p.count, 1);
    cr_assert_eq(p.point[0].index, 104);
    cr_assert_eq(p.point[0].before_index, 95);
    cr_assert_eq(p.values, p.point[0].left + p.point[0].right);
    wf_change_points_free(&p);
}

Test(change_points, equal_values_have_no_point_and_a_step_among_them_has)
{
    double y[60];
    for (size_t i = 0; i < 60; i++) {
        y[i] = 1.25;
    }
    struct wf_change_points p = find(y, 60);
    cr_assert_eq(p.count, 0);
    cr_assert_eq(p.noise, 0);
    wf_change_points_free(&p);
    y[30] = 1.5; /* one night alone */
    cr_assert_eq(count(y, 60), 0);
    y[30] = 1.25;
    for (size_t i = 40; i < 60; i++) {
        y[i] = 1.3;
    }
    p = find(y, 60);
    cr_assert_eq(p.count, 1);
    cr_assert_eq(p.point[0].index, 40);
    cr_assert_float_eq(p.point[0].size, 0.05, 1e-15);
    wf_change_points_free(&p);
}

Test(change_points, few_values_say_nothing)
{
    const double y[] = { 1, 1, 1, 2, 2, 2 };
    for (size_t n = 0; n < 6; n++) {
        struct wf_change_points p = find(y, n);
        cr_assert_eq(p.count, 0);
        cr_assert(isnan(p.noise));
        wf_change_points_free(&p);
    }
    const double missing[] = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, 1 };
    cr_assert_eq(count(missing, 8), 0);
}

Test(change_points, the_least_shift_is_a_floor)
{
    double y[N];
    struct wf_change_points p;
    struct wf_change_rule r = rule;
    noise(y, N, 6);
    for (size_t i = 100; i < N; i++) {
        y[i] += 0.02;
    }
    cr_assert_eq(count(y, N), 1);
    r.min_shift = 0.03;
    cr_assert_eq(wf_change_points_find(y, N, &r, &p, NULL), WF_OK);
    cr_assert_eq(p.count, 0);
    wf_change_points_free(&p);
}

/* Multiplying or moving a series moves its points' sizes and nothing else. */
Test(change_points, scale_and_level_do_not_matter)
{
    double y[N], z[N];
    noise(y, N, 7);
    for (size_t i = 0; i < N; i++) {
        y[i] += i >= 90 ? 0.03 : 0;
        z[i] = 1e6 + 1024 * y[i];
    }
    struct wf_change_points p = find(y, N), q = find(z, N);
    cr_assert_eq(p.count, q.count);
    for (size_t k = 0; k < p.count; k++) {
        cr_assert_eq(p.point[k].index, q.point[k].index);
        cr_assert_float_eq(1024 * p.point[k].size, q.point[k].size, 1e-6);
    }
    wf_change_points_free(&p);
    wf_change_points_free(&q);
}

Test(change_points, what_makes_no_sense_is_refused)
{
    static double many[WF_CHANGE_MAX_VALUES + 1];
    double y[] = { 1, 2, 3, INFINITY, 5, 6 };
    struct wf_change_points p;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_change_points_find(y, 6, &rule, &p, &err), WF_EINVAL);
    cr_assert_not_null(strstr(err.text, "value 3"), "%s", err.text);
    cr_assert_eq(wf_change_points_find(many, WF_CHANGE_MAX_VALUES + 1, &rule, &p, &err),
                 WF_EINVAL);
    struct wf_change_rule bad = rule;
    bad.penalty = NAN;
    cr_assert_eq(wf_change_points_find(y, 3, &bad, &p, &err), WF_EINVAL);
}
