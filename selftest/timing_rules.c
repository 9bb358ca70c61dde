/* The tail of a binomial by its logarithms, its root by bisection. */
#include "selftest/timing_rules.h"

#include "core/median_interval.h"
#include "core/stats.h"

#include <math.h>
#include <stdbool.h>

#define STEPS     60
#define MAD_TO_SD 1.4826

/* P(at least k of n) when each happens with p. */
static double tail(size_t k, size_t n, double p)
{
    double sum = 0;
    for (size_t i = k; i <= n; i++) {
        const double ways =
            lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1);
        sum += exp(ways + (double)i * log(p) + (double)(n - i) * log1p(-p));
    }
    return sum;
}

double timing_lower_limit(size_t k, size_t n, double level)
{
    double lo = 0;
    double hi = 1;
    if (k == 0 || n == 0 || k > n) {
        return 0;
    }
    for (int i = 0; i < STEPS; i++) {
        const double p = (lo + hi) / 2;
        if (tail(k, n, p) < 1 - level) {
            lo = p;
        } else {
            hi = p;
        }
    }
    return lo;
}

enum wf_status timing_spread(const double *x,
                             size_t n,
                             double *ret,
                             struct wf_error *err)
{
    struct wf_summary s;
    enum wf_status st = wf_summarise(x, n, &s, err);
    *ret = st == WF_OK && n >= 2 ? MAD_TO_SD * s.mad / s.median : (double)NAN;
    return st;
}

/* Samples of the window that begins at x; its interval in *ret. */
static enum wf_status one_window(const double *x,
                                 size_t n,
                                 const struct timing_window_rule *rule,
                                 size_t *ret_n,
                                 struct wf_median_interval *ret,
                                 struct wf_error *err)
{
    size_t most = n < rule->most ? n : rule->most;
    for (size_t used = rule->group; used <= most; used += rule->group) {
        enum wf_status st = wf_median_interval(x, used, ret, err);
        if (st != WF_OK) {
            return st;
        }
        *ret_n = used;
        if ((ret->hi - ret->lo) / (2 * ret->median) <= rule->target) {
            break;
        }
    }
    return WF_OK;
}

enum wf_status timing_cut(const double *x,
                          size_t n,
                          double pooled,
                          const struct timing_window_rule *rule,
                          struct timing_windows *ret,
                          struct wf_error *err)
{
    size_t at = 0;
    *ret = (struct timing_windows){ 0 };
    while (ret->count < rule->windows && n - at >= rule->group) {
        struct wf_median_interval w = { 0 };
        size_t used = 0;
        enum wf_status st = one_window(x + at, n - at, rule, &used, &w, err);
        if (st != WF_OK) {
            return st;
        }
        const bool known = isfinite(w.lo) && isfinite(w.hi);
        if (!known && n - at < rule->most) {
            break; /* cut off by the end of the samples, not by the rule */
        }
        at += used;
        ret->count++;
        ret->known += known;
        ret->covered += known && w.lo <= pooled && pooled <= w.hi;
        ret->widths += known ? (w.hi - w.lo) / (2 * w.median) : 0;
    }
    return WF_OK;
}
