/* False points and delays of detectors of change that are re-run every night, on the
 * same simulated series: ours (gate/change_points.h) and two simple rules of others,
 * coded anew from their descriptions.
 *
 * usage: sim_history [SERIES [SEED]]     200, 1
 *
 * Series: y = 1 + 1 % of e, with e white or AR(1) with r = 0.4 (unit variance).
 *   false points  200 nights without a change; the detector is run on all values so far
 *                 on each of the nights 101 .. 200. A point is new when none announced
 *                 before lies within 3 nights, and counts from night 88 on. Figure: new
 *                 points a 100 nights. Also for the first 100 nights of a series, where
 *                 all points count.
 *   delay         white; a shift of 2, 3 or 5 % from night 100 on, 40 nights more.
 *                 Figure: median of the nights until a point within 5 of night 100 is
 *                 first reported, and the share of series in which one is.
 * Prints the tables; exits 1 when ours has more than 0.05 false points a 100 nights
 * under AR(0.4) by more than three standard deviations of so few series, or reports 3 %
 * later than after 4 nights. */
#include "core/buf.h"
#include "core/parse.h"
#include "core/rng.h"
#include "core/stats.h"
#include "gate/change_points.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NIGHTS      200
#define HISTORY     100
#define AFTER       40
#define SIGMA       0.01
#define MOST_POINTS NIGHTS

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "sim_history: %s\n", what);
    exit(2);
}

/* --- detectors: where points are in y[0..n), ascending; returns how many --- */

typedef size_t detector(const double *y, size_t n, size_t *ret);

static size_t ours_by(const struct wf_change_rule *rule,
                      const double *y,
                      size_t n,
                      size_t *ret)
{
    struct wf_change_points p;
    struct wf_error err = { 0 };
    if (wf_change_points_find(y, n, rule, &p, &err) != WF_OK) {
        fail(err.text);
    }
    const size_t count = p.count;
    for (size_t i = 0; i < count; i++) {
        ret[i] = p.point[i].index;
    }
    wf_change_points_free(&p);
    return count;
}

static size_t ours(const double *y, size_t n, size_t *ret)
{
    const struct wf_change_rule rule = WF_CHANGE_RULE_DEFAULT;
    return ours_by(&rule, y, n, ret);
}

static size_t ours_one_percent(const double *y, size_t n, size_t *ret)
{
    struct wf_change_rule rule = WF_CHANGE_RULE_DEFAULT;
    rule.penalty = 4;
    rule.min_shift = 0.01;
    return ours_by(&rule, y, n, ret);
}

static void moments(const double *y, size_t n, double *ret_mean, double *ret_var)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        sum += y[i];
    }
    *ret_mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        square += (y[i] - *ret_mean) * (y[i] - *ret_mean);
    }
    *ret_var = square / (double)n; /* as numpy.std does by itself */
}

/* Two-sided p of Student's t with d degrees of freedom, by the regularised incomplete
 * beta function's continued fraction (Lentz). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m < 300; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double step[] = { even, odd };
        double change = 1;
        for (int k = 0; k < 2; k++) {
            d = 1 + step[k] * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + step[k] / c;
            c = fabs(c) < tiny ? tiny : c;
            change = c * d;
            h *= change;
        }
        if (fabs(change - 1) < 1e-12) {
            break;
        }
    }
    return h;
}

static double student_p(double t, double d)
{
    const double a = d / 2, b = 0.5, x = d / (d + t * t);
    const double front =
        exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* p of Student's t-test (pooled variance) between y[0..k) and y[k..n). */
static double split_p(const double *y, size_t k, size_t n)
{
    double ma, va, mb, vb;
    moments(y, k, &ma, &va);
    moments(y + k, n - k, &mb, &vb);
    const double na = (double)k, nb = (double)(n - k);
    const double pooled = ((na - 1) * va + (nb - 1) * vb) / (na + nb - 2);
    const double se = sqrt(pooled * (1 / na + 1 / nb));
    if (!(se > 0)) {
        return ma == mb ? 1 : 0;
    }
    return student_p((mb - ma) / se, na + nb - 2);
}

/* The best split of y[0..n) by the energy statistic's univariate square form,
 * q = k (n - k) / n * (difference of means)^2; SIZE_MAX: too short. */
static size_t best_split(const double *y, size_t n)
{
    double total = 0, left = 0, best = -1;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        total += y[i];
    }
    for (size_t k = 2; k + 2 <= n; k++) {
        left = 0;
        for (size_t i = 0; i < k; i++) {
            left += y[i];
        }
        const double nk = (double)k, rest = (double)(n - k);
        const double d = left / nk - (total - left) / rest;
        const double q = nk * rest / (nk + rest) * d * d;
        if (q > best) {
            best = q;
            found = k;
        }
    }
    return found;
}

/* Splits [from, to) for as long as a t-test on the very split that was chosen says
 * p < limit; marks the places. */
static void divide(const double *y, size_t from, size_t to, double limit, bool *at)
{
    enum {
        DEPTH = 64
    };
    size_t a[DEPTH] = { from }, b[DEPTH] = { to }, depth = 1;
    while (depth > 0) {
        depth--;
        const size_t first = a[depth], last = b[depth];
        const size_t k = best_split(y + first, last - first);
        if (k == SIZE_MAX || depth + 2 > DEPTH ||
            split_p(y + first, k, last - first) >= limit) {
            continue;
        }
        at[first + k] = true;
        b[depth] = first + k;
        a[depth + 1] = first + k;
        b[depth + 1] = last;
        depth += 2;
    }
}

/* Removes the place with the largest p between its neighbours while that is >= limit.
 */
static void merge(const double *y, size_t n, double limit, bool *at)
{
    for (;;) {
        size_t before = 0, here = 0, worst = 0;
        double most = -1;
        for (size_t i = 1; i <= n; i++) {
            if (i < n && !at[i]) {
                continue;
            }
            if (here > 0) {
                const double p = split_p(y + before, here - before, i - before);
                worst = p > most ? here : worst;
                most = fmax(p, most);
                before = here;
            }
            here = i;
        }
        if (!(most >= limit)) {
            return;
        }
        at[worst] = false;
    }
}

/* As otava's default in kind: windows of 50 that overlap by half are split at p < 0.01,
 * then places are merged until each has p < 0.001. */
static size_t t_window(const double *y, size_t n, size_t *ret)
{
    enum {
        WINDOW = 50
    };
    bool at[NIGHTS + 1] = { false };
    size_t count = 0, to = 0;
    for (size_t from = 0; to < n; from += WINDOW / 2) {
        to = from + WINDOW < n ? from + WINDOW : n;
        divide(y, from, to, 0.01, at);
    }
    merge(y, n, 0.001, at);
    for (size_t i = 0; i < n; i++) {
        if (at[i]) {
            ret[count++] = i;
        }
    }
    return count;
}

/* As perfherder's in kind: 12 values before against 12 after, t > 7 and at least 2 %;
 * where neighbours qualify, the one with the largest t. */
static size_t t_seven(const double *y, size_t n, size_t *ret)
{
    enum {
        WIDTH = 12
    };
    double t[NIGHTS] = { 0 };
    size_t count = 0;
    for (size_t i = WIDTH; i + WIDTH <= n; i++) {
        double ma, va, mb, vb;
        moments(y + i - WIDTH, WIDTH, &ma, &va);
        moments(y + i, WIDTH, &mb, &vb);
        const double se = sqrt((va + vb) / (WIDTH - 1));
        const bool large = fabs(mb / ma - 1) >= 0.02;
        t[i] = se > 0 && large ? fabs(mb - ma) / se : 0;
    }
    for (size_t i = 1; i + 1 < n; i++) {
        if (t[i] > 7 && t[i] >= t[i - 1] && t[i] > t[i + 1]) {
            ret[count++] = i;
        }
    }
    return count;
}

static const struct {
    const char *name;
    detector *run;
    bool is_ours;
} detectors[] = {
    { "t-test in windows of 50, p < 0.001 (as otava)", t_window, false },
    { "12 before against 12 after, t > 7 and 2 % (as perfherder)", t_seven, false },
    { "ours", ours, true },
    { "ours, penalty 4, at least 1 %", ours_one_percent, false },
};
#define DETECTORS (sizeof(detectors) / sizeof(detectors[0]))

/* --- series --- */

static void fill(double *y, size_t n, double r, uint64_t seed, uint64_t series)
{
    double e = 0;
    for (size_t i = 0; i < n; i++) {
        const double w = wf_rng_normal(seed, series, i);
        e = i == 0 ? w : r * e + sqrt(1 - r * r) * w;
        y[i] = 1 + SIGMA * e;
    }
}

/* New points of nights [first, last], of those that lie at `counts_from` or later. */
static size_t new_points(detector *run,
                         const double *y,
                         size_t first,
                         size_t last,
                         size_t counts_from)
{
    size_t point[MOST_POINTS], count = 0;
    bool announced[NIGHTS] = { false };
    for (size_t n = first; n <= last; n++) {
        const size_t found = run(y, n, point);
        for (size_t k = 0; k < found; k++) {
            bool known = false;
            for (size_t i = point[k] > 3 ? point[k] - 3 : 0;
                 i <= point[k] + 3 && i < NIGHTS; i++) {
                known = known || announced[i];
            }
            count += !known && point[k] >= counts_from;
            announced[point[k]] = true;
        }
    }
    return count;
}

/* Nights until a point near the shift is reported; INFINITY: not in AFTER nights. */
static double delay(detector *run, const double *y)
{
    size_t point[MOST_POINTS];
    for (size_t n = HISTORY + 1; n <= HISTORY + AFTER; n++) {
        const size_t found = run(y, n, point);
        for (size_t k = 0; k < found; k++) {
            if (point[k] + 5 >= HISTORY && point[k] <= HISTORY + 5) {
                return (double)(n - HISTORY);
            }
        }
    }
    return INFINITY;
}

static double false_points(detector *run,
                           double r,
                           size_t series,
                           uint64_t seed,
                           bool young)
{
    double y[NIGHTS];
    size_t count = 0;
    for (size_t s = 0; s < series; s++) {
        fill(y, NIGHTS, r, seed, 2 * s + (r > 0));
        count += young ? new_points(run, y, 1, HISTORY, 0)
                       : new_points(run, y, HISTORY + 1, NIGHTS, HISTORY - 12);
    }
    return (double)count / (double)series;
}

static void delays(detector *run,
                   double shift,
                   size_t series,
                   uint64_t seed,
                   double *ret_median,
                   double *ret_share)
{
    double y[HISTORY + AFTER];
    double *d = wf_calloc(series, sizeof *d);
    size_t found = 0;
    if (d == NULL) {
        fail("no memory");
    }
    for (size_t s = 0; s < series; s++) {
        fill(y, HISTORY + AFTER, 0, seed, 1000000 + s);
        for (size_t i = HISTORY; i < HISTORY + AFTER; i++) {
            y[i] += shift;
        }
        d[s] = delay(run, y);
        found += isfinite(d[s]);
    }
    wf_sort_doubles(d, series);
    /* of those that found it, as the published figures are */
    *ret_median = wf_quantile_sorted(d, found, 0.5);
    *ret_share = (double)found / (double)series;
    free(d);
}

static size_t number(const char *text, const char *what, int64_t least)
{
    int64_t v = 0;
    struct wf_error err;
    if (wf_parse_i64(text, what, least, 1000000, &v, &err) != WF_OK) {
        fail(err.text);
    }
    return (size_t)v;
}

/* Most new points a 100 nights: the target, and three standard deviations of the number
 * in so many series. */
static double most_false(size_t series)
{
    const double target = 0.05;
    return target + 3 * sqrt(target / (double)series);
}

int main(int argc, char **argv)
{
    static const double shifts[] = { 0.02, 0.03, 0.05 };
    const size_t series = argc > 1 ? number(argv[1], "SERIES", 1) : 200;
    const uint64_t seed = argc > 2 ? number(argv[2], "SEED", 0) : 1;
    bool good = true;
    (void)printf(
        "%zu series a figure, seed %llu\n\n"
        "| detector, re-run every night | new points a 100 nights without a "
        "change: white | AR(0.4) | first 100 nights: white | AR(0.4) | nights to "
        "report 2 %% (found) | 3 %% | 5 %% |\n|---|---|---|---|---|---|---|---|\n",
        series, (unsigned long long)seed);
    for (size_t d = 0; d < DETECTORS; d++) {
        detector *run = detectors[d].run;
        const double coloured = false_points(run, 0.4, series, seed, false);
        (void)printf("| %s | %.3f | %.3f | %.3f | %.3f |", detectors[d].name,
                     false_points(run, 0, series, seed, false), coloured,
                     false_points(run, 0, series, seed, true),
                     false_points(run, 0.4, series, seed, true));
        good = good && !(detectors[d].is_ours && coloured > most_false(series));
        for (size_t k = 0; k < 3; k++) {
            double median, share;
            delays(run, shifts[k], series, seed, &median, &share);
            (void)printf(" %.1f (%.3f) |", median, share);
            good = good && !(detectors[d].is_ours && k == 1 && !(median <= 4));
        }
        (void)printf("\n");
        (void)fflush(stdout);
    }
    return good ? 0 : 1;
}
