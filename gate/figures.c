/* What is said about a pair: median difference, interval, spread between processes. */
#include "gate/exact.h"
#include "gate/gate_internal.h"

#include <math.h>

enum {
    SPREAD_ROUNDS = 6,
    BISECTIONS = 200 /* an end of the loop; the width ends it far before */
};

/* --- interval ---
 * The margin d is excluded from one side once the product of the blocks' e-values for
 * it has reached 2 / alpha, after whichever block. The product is monotone in d for
 * every number of blocks, so what is excluded is a half line: bisection finds its end.
 */

struct side {
    const struct gate_pair *pair;
    int sign; /* +1: excludes "at most d" */
    double log_least;
};

static bool is_excluded(const struct side *s, double d)
{
    double sum = 0;

    for (size_t i = 0; i < s->pair->block_count; i++) {
        const struct gate_block *b = &s->pair->block[i];
        sum += gate_block_log_blend(b->y, b->mask, d, b->eta, s->sign);
        if (sum >= s->log_least) {
            return true;
        }
    }
    return false;
}

/* The end of the excluded half line, on its excluded side; -+INFINITY: no block's
 * differences are far enough to exclude anything. `from` is where to start looking,
 * `step` how far. */
static double find_end(const struct side *s, double from, double step)
{
    double away = -s->sign; /* the direction that is surely excluded */
    double in = from;
    double out = from;
    double at = from;

    if (is_excluded(s, from)) {
        do { /* find one that is not */
            in = at;
            at -= away * step;
            step *= 2;
        } while (fabs(at) < 1e4 && is_excluded(s, at));
        out = at;
    } else {
        do {
            out = at;
            at += away * step;
            step *= 2;
        } while (fabs(at) < 1e4 && !is_excluded(s, at));
        in = at;
        if (fabs(at) >= 1e4) {
            return away * INFINITY;
        }
    }
    for (int i = 0; i < BISECTIONS && fabs(out - in) > 1e-7; i++) {
        double mid = 0.5 * (in + out);
        if (is_excluded(s, mid)) {
            in = mid;
        } else {
            out = mid;
        }
    }
    return in;
}

static void find_interval(const struct wf_gate *g,
                          const struct gate_pair *p,
                          struct wf_gate_figures *ret)
{
    struct side s = { p, +1, wf_exact_log(2 / g->rule.interval_alpha) };

    ret->low = -INFINITY;
    ret->high = INFINITY;
    if (p->block_count == 0) {
        return;
    }
    ret->low = find_end(&s, ret->effect - 4 * ret->slot_noise, 4 * ret->slot_noise);
    s.sign = -1;
    ret->high = find_end(&s, ret->effect + 4 * ret->slot_noise, 4 * ret->slot_noise);
}

/* --- effect and spread --- */

static double median_difference(const struct gate_pair *p)
{
    size_t n = p->block_count;

    return 0.5 * p->block[(n - 1) / 2].ranked + 0.5 * p->block[n / 2].ranked;
}

/* tau: what the rounds' mean differences vary beyond what the slots' noise explains. A
 * block's difference is two slots' mean less two slots' mean, so its variance is s^2;
 * that of the mean of n of them s^2 / n. */
static double spread(const struct gate_pair *p, double s)
{
    double sum = 0;
    double squares = 0;
    double shares = 0; /* of 1 / n */
    double mean;
    double excess;
    size_t rounds = 0;

    for (int pass = 0; pass < 2; pass++) {
        mean = pass == 0 ? 0 : sum / (double)rounds;
        rounds = 0;
        for (size_t i = 0; i < p->block_count; rounds++) {
            size_t from = i;
            double x = 0;
            while (i < p->block_count && p->block[i].round == p->block[from].round) {
                x += p->block[i++].difference;
            }
            x = x / (double)(i - from);
            sum += pass == 0 ? x : 0;
            squares += pass == 1 ? (x - mean) * (x - mean) : 0;
            shares += pass == 1 ? 1 / (double)(i - from) : 0;
        }
        if (rounds < SPREAD_ROUNDS) {
            return NAN;
        }
    }
    excess = squares / (double)(rounds - 1) - s * s * (shares / (double)rounds);
    return excess > 0 ? wf_exact_sqrt(excess) : 0;
}

void wf_gate_evidence(const struct wf_gate *g, size_t pair, struct wf_gate_figures *ret)
{
    const struct gate_pair *p = &g->pair[pair];

    *ret = (struct wf_gate_figures){
        .role = p->role,
        .verdict = p->verdict,
        .reason = p->reason,
        .blocks = (int)p->block_count,
        .lost = p->lost,
        .rounds = p->rounds,
        .log_w_slower = gate_log_w(p, W_SLOWER),
        .log_w_faster = gate_log_w(p, W_FASTER),
        .log_w_pass = gate_log_w(p, W_PASS),
        .log_sign_slower = gate_log_sign(p, DIR_SLOWER),
        .log_sign_faster = gate_log_sign(p, DIR_FASTER),
        .slot_noise = gate_scale(p),
        .effect = NAN,
        .low = NAN,
        .high = NAN,
        .spread = NAN,
        .margins = p->margins,
    };
    if (p->block_count > 0) {
        ret->effect = median_difference(p);
        ret->spread = spread(p, ret->slot_noise);
    }
}

void wf_gate_figures(const struct wf_gate *g, size_t pair, struct wf_gate_figures *ret)
{
    wf_gate_evidence(g, pair, ret);
    find_interval(g, &g->pair[pair], ret);
}
