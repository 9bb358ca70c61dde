/* The anytime-valid interval: covers, shrinks, is open where nothing is known. */
#include "gate/gate_internal.h"
#include "gate_feed.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

/* Every margin on a grid: the smallest and largest that neither process has excluded
 * after any block. */
static void by_grid(const struct wf_gate *g, double *low, double *high)
{
    const struct gate_pair *p = &g->pair[0];
    double most = log(2 / g->rule.interval_alpha);

    *low = INFINITY;
    *high = -INFINITY;
    for (int k = -600; k <= 600; k++) {
        double d = k * 1e-4;
        double sum[2] = { 0, 0 };
        bool out = false;
        for (size_t i = 0; i < p->block_count; i++) {
            const struct gate_block *b = &p->block[i];
            sum[0] += gate_block_log_blend(b->y, b->mask, d, b->eta, +1);
            sum[1] += gate_block_log_blend(b->y, b->mask, d, b->eta, -1);
            out = out || sum[0] >= most || sum[1] >= most;
        }
        if (!out) {
            *low = fmin(*low, d);
            *high = fmax(*high, d);
        }
    }
}

/* Whether "at most d" (sign +1) or "at least d" was excluded after any block. */
static bool excluded(const struct wf_gate *g, double d, int sign)
{
    const struct gate_pair *p = &g->pair[0];
    double sum = 0;
    bool out = false;

    for (size_t i = 0; i < p->block_count; i++) {
        const struct gate_block *b = &p->block[i];
        sum += gate_block_log_blend(b->y, b->mask, d, b->eta, sign);
        out = out || sum >= log(2 / g->rule.interval_alpha) - 1e-9;
    }
    return out;
}

Test(interval, is_what_a_grid_search_finds)
{
    for (uint64_t run = 0; run < 8; run++) {
        struct wf_rng r = { 21, run, 0 };
        struct wf_gate *g = feed_gate(NULL);
        double effect = ((double)run - 3) * 0.004;
        (void)feed_pair(g, WF_GATE_CASE, 0);
        for (int i = 0; i < 12; i++) {
            struct wf_gate_block b = feed_block(&r, i, 0.004, effect);
            struct wf_gate_figures f;
            double low;
            double high;
            feed_add(g, 0, &b);
            wf_gate_figures(g, 0, &f);
            if (i < 2) { /* 5.5^2 is less than 40 */
                cr_assert(f.low == -INFINITY && f.high == INFINITY);
                continue;
            }
            by_grid(g, &low, &high);
            cr_assert(f.low == -INFINITY || excluded(g, f.low, +1));
            cr_assert(f.high == INFINITY || excluded(g, f.high, -1));
            cr_assert(f.low == -INFINITY || (f.low <= low && f.low > low - 1.1e-4),
                      "%g %g", f.low, low);
            cr_assert(f.high == INFINITY || (f.high >= high && f.high < high + 1.1e-4),
                      "%g %g", f.high, high);
        }
        wf_gate_free(g);
    }
}

/* The product of e-values falls with d for "at most d" and rises for "at least d",
 * which is what the bisection rests on. */
Test(interval, evidence_is_monotone_in_the_margin)
{
    struct wf_rng r = { 22, 1, 0 };

    for (int i = 0; i < 300; i++) {
        struct wf_gate_block b = feed_block(&r, i, 0.02, 0.01);
        double last[2] = { INFINITY, -INFINITY };
        for (int k = -100; k <= 100; k++) {
            double up = gate_block_log_blend(b.y, b.mask, k * 1e-3, 300, +1);
            double down = gate_block_log_blend(b.y, b.mask, k * 1e-3, 300, -1);
            cr_assert(up <= last[0] + 1e-12 && down >= last[1] - 1e-12);
            last[0] = up;
            last[1] = down;
        }
    }
}

/* It never widens while blocks come, and holds the truth in at least 95 of 100 runs at
 * all times together: of 600 runs at most 30 + 3 x 5.3 may miss. */
Test(interval, covers_at_all_times_together)
{
    int missed = 0;

    for (uint64_t run = 0; run < 600; run++) {
        struct wf_rng r = { 23, run, 0 };
        struct wf_gate *g = feed_gate(NULL);
        double effect = run % 3 == 0 ? 0 : run % 3 == 1 ? 0.005 : 0.03;
        double low = -INFINITY;
        double high = INFINITY;
        (void)feed_pair(g, WF_GATE_CASE, 0);
        for (int i = 0; i < 24; i++) {
            struct wf_gate_block b = feed_block(&r, i, 0.004, effect);
            feed_add(g, 0, &b);
            if (i % 4 == 3) {
                struct wf_gate_figures f;
                wf_gate_figures(g, 0, &f);
                cr_assert(f.low >= low - 2e-7 && f.high <= high + 2e-7);
                low = f.low;
                high = f.high;
            }
        }
        missed += !(low <= effect && effect <= high);
        wf_gate_free(g);
    }
    cr_assert_leq(missed, 46);
    cr_assert_geq(missed, 1, "an interval that never misses is wider than it says");
}

Test(interval, huge_and_tiny_differences_have_ends)
{
    static const double effect[] = { 15, -15, 1e-9 };

    for (int k = 0; k < 3; k++) {
        struct wf_rng r = { 24, (uint64_t)k, 0 };
        struct wf_gate *g = feed_gate(NULL);
        struct wf_gate_figures f;
        (void)feed_pair(g, WF_GATE_CASE, 0);
        for (int i = 0; i < 20; i++) {
            struct wf_gate_block b = feed_block(&r, i, 0.004, effect[k]);
            feed_add(g, 0, &b);
        }
        wf_gate_figures(g, 0, &f);
        cr_assert(f.low < effect[k] && effect[k] < f.high && f.high - f.low < 0.02,
                  "%g in [%g, %g]", effect[k], f.low, f.high);
        wf_gate_free(g);
    }
}

Test(interval, of_nothing_is_everything)
{
    struct wf_gate *g = feed_gate(NULL);
    struct wf_gate_figures f;

    (void)feed_pair(g, WF_GATE_CASE, 0);
    wf_gate_figures(g, 0, &f);
    cr_assert(f.low == -INFINITY && f.high == INFINITY && isnan(f.effect) &&
              isnan(f.spread));
    wf_gate_free(g);
}
