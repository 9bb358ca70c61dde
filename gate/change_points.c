/* Optimal partitioning and pruning. Sums are of values less the series' median, so that
 * squares of small differences are not lost beside the level. */
#include "gate/change_points.h"

#include "core/buf.h"
#include "gate/change_points_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct series {
    size_t n;       /* values that are there */
    size_t *index;  /* of them in the series as given */
    double *x;      /* as given */
    double *clean;  /* outliers moved */
    double *work;   /* 2 n + 2 */
    double *sum;    /* n + 1: of clean, from the front */
    double *square; /* n + 1 */
    double *cost;   /* n + 1: least cost of the first i values */
    size_t *from;   /* n + 1: where the last segment of that begins */
    size_t *cut;    /* n + 1: begins of segments, [0] = 0 */
    size_t cuts;    /* points: segments less one */
};

static void release(struct series *s)
{
    free(s->index);
    free(s->x);
    free(s->clean);
    free(s->work);
    free(s->sum);
    free(s->square);
    free(s->cost);
    free(s->from);
    free(s->cut);
}

static enum wf_status take(struct series *s,
                           const double *y,
                           size_t n,
                           struct wf_error *err)
{
    s->index = wf_calloc(n + 1, sizeof *s->index);
    s->x = wf_calloc(n + 1, sizeof *s->x);
    s->clean = wf_calloc(n + 1, sizeof *s->clean);
    s->work = wf_calloc(2 * n + 2, sizeof *s->work);
    s->sum = wf_calloc(n + 1, sizeof *s->sum);
    s->square = wf_calloc(n + 1, sizeof *s->square);
    s->cost = wf_calloc(n + 1, sizeof *s->cost);
    s->from = wf_calloc(n + 1, sizeof *s->from);
    s->cut = wf_calloc(n + 2, sizeof *s->cut);
    if (s->index == NULL || s->x == NULL || s->clean == NULL || s->work == NULL ||
        s->sum == NULL || s->square == NULL || s->cost == NULL || s->from == NULL ||
        s->cut == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a series of %zu values", n);
    }
    for (size_t i = 0; i < n; i++) {
        if (isinf(y[i])) {
            return wf_errorf(err, WF_EINVAL, "value %zu of the series is infinite", i);
        }
        if (!isnan(y[i])) {
            s->index[s->n] = i;
            s->x[s->n++] = y[i];
        }
    }
    return WF_OK;
}

/* Squared distances of values [from, to) from their mean. */
static double scatter(const struct series *s, size_t from, size_t to)
{
    const double n = (double)(to - from);
    const double sum = s->sum[to] - s->sum[from];
    return fmax(s->square[to] - s->square[from] - sum * sum / n, 0);
}

/* cost[t] = min over u of cost[u] + scatter(u, t) + penalty: the begins of the best
 * segments of all values are then read from the back. */
static void partition(struct series *s, size_t least, double penalty)
{
    const double centre = wf_change_median(s->clean, s->n, s->work);
    for (size_t i = 0; i < s->n; i++) {
        const double d = s->clean[i] - centre;
        s->sum[i + 1] = s->sum[i] + d;
        s->square[i + 1] = s->square[i] + d * d;
    }
    s->cost[0] = -penalty;
    for (size_t t = 1; t <= s->n; t++) {
        s->cost[t] = INFINITY;
        for (size_t u = 0; u + least <= t; u++) {
            const double c = s->cost[u] + scatter(s, u, t) + penalty;
            if (c < s->cost[t]) {
                s->cost[t] = c;
                s->from[t] = u;
            }
        }
    }
    s->cuts = 0;
    for (size_t t = s->n; s->from[t] > 0; t = s->from[t]) {
        s->cuts++;
    }
    size_t k = s->cuts;
    for (size_t t = s->n; k > 0; t = s->from[t]) {
        s->cut[k--] = s->from[t];
    }
    s->cut[s->cuts + 1] = s->n;
}

/* Point k (1-based) between the segments k - 1 and k. */
static void describe(const struct series *s,
                     size_t k,
                     double noise,
                     struct wf_change_point *ret)
{
    const size_t a = s->cut[k - 1], b = s->cut[k], c = s->cut[k + 1];
    memset(ret, 0, sizeof *ret);
    ret->index = s->index[b];
    ret->before_index = s->index[b - 1];
    ret->left = b - a;
    ret->right = c - b;
    ret->before = wf_change_median(s->x + a, b - a, s->work);
    ret->after = wf_change_median(s->x + b, c - b, s->work);
    ret->size = ret->after - ret->before;
    ret->noise = noise * sqrt(1 / (double)ret->left + 1 / (double)ret->right);
}

/* How far a point is above what is told, 1: just. */
static double strength(const struct wf_change_point *p, const struct wf_change_rule *r)
{
    const double limit = fmax(r->min_shift, r->prune * p->noise);
    if (p->size == 0) {
        return 0;
    }
    return limit > 0 ? fabs(p->size) / limit : INFINITY;
}

/* Drops the weakest point while it is below what is told. */
static void prune(struct series *s, double noise, const struct wf_change_rule *r)
{
    while (s->cuts > 0) {
        size_t weakest = 0;
        double least = INFINITY;
        for (size_t k = 1; k <= s->cuts; k++) {
            struct wf_change_point p;
            describe(s, k, noise, &p);
            const double w = strength(&p, r);
            if (w < least) {
                least = w;
                weakest = k;
            }
        }
        if (!(least < 1)) {
            return;
        }
        memmove(s->cut + weakest, s->cut + weakest + 1,
                (s->cuts + 1 - weakest) * sizeof *s->cut);
        s->cuts--;
    }
}

static enum wf_status report(const struct series *s,
                             size_t n,
                             const struct wf_change_rule *rule,
                             struct wf_change_points *ret,
                             struct wf_error *err)
{
    if (s->cuts == 0) {
        return WF_OK;
    }
    ret->point = wf_calloc(s->cuts, sizeof *ret->point);
    if (ret->point == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu points", s->cuts);
    }
    ret->count = s->cuts;
    for (size_t k = 1; k <= s->cuts; k++) {
        struct wf_change_point *p = &ret->point[k - 1];
        describe(s, k, ret->noise, p);
        p->is_new = p->index + rule->recent >= n;
    }
    return WF_OK;
}

static enum wf_status check(size_t n,
                            const struct wf_change_rule *r,
                            struct wf_error *err)
{
    if (n > WF_CHANGE_MAX_VALUES) {
        return wf_errorf(err, WF_EINVAL, "%zu values in a series, at most %u", n,
                         WF_CHANGE_MAX_VALUES);
    }
    if (!(r->penalty > 0) || !(r->clip > 0) || r->min_segment < 1 ||
        !(r->min_shift >= 0) || !(r->prune >= 0) || isinf(r->min_shift)) {
        return wf_errorf(err, WF_EINVAL,
                         "a rule of change points with penalty %g, clip %g, segment "
                         "%zu, least shift %g, prune %g makes no sense",
                         r->penalty, r->clip, r->min_segment, r->min_shift, r->prune);
    }
    return WF_OK;
}

enum wf_status wf_change_points_find(const double *y,
                                     size_t n,
                                     const struct wf_change_rule *rule,
                                     struct wf_change_points *ret,
                                     struct wf_error *err)
{
    struct series s = { 0 };
    *ret = (struct wf_change_points){ .noise = NAN };
    enum wf_status status = check(n, rule, err);
    if (status == WF_OK) {
        status = take(&s, y, n, err);
    }
    if (status != WF_OK) {
        goto out;
    }
    ret->values = s.n;
    if (s.n < WF_CHANGE_MIN_VALUES) {
        goto out;
    }
    wf_change_clip(s.x, s.n, rule->half_window, rule->clip, s.clean, s.work);
    ret->noise = wf_change_noise(s.clean, s.n, s.work);
    partition(&s, rule->min_segment,
              rule->penalty * ret->noise * ret->noise * log((double)s.n));
    prune(&s, ret->noise, rule);
    status = report(&s, n, rule, ret, err);
out:
    release(&s);
    return status;
}

void wf_change_points_free(struct wf_change_points *p)
{
    free(p->point);
    *p = (struct wf_change_points){ .noise = NAN };
}
