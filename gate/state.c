/* What the blocks of one pair add up to: evidence in three directions, the sign
 * process in two, the scale. Everything that a block is judged with (s, eta) comes from
 * the blocks before it: that is what makes the products valid (docs/gate.md). */
#include "core/buf.h"
#include "gate/exact.h"
#include "gate/gate_internal.h"

static const double bets[BETTORS] = { 0.95, 0.6 };

double gate_scale(const struct gate_pair *p)
{
    double s = wf_exact_sqrt(p->sum_squares / p->freedom);

    return s > GATE_NOISE_FLOOR ? s : GATE_NOISE_FLOOR;
}

void gate_state_start(struct gate_pair *p)
{
    p->freedom = GATE_PRIOR_FREEDOM;
    p->sum_squares = GATE_PRIOR_FREEDOM * (p->margins.s0 * p->margins.s0);
    p->last_round = -1;
}

/* The bet that gains most against d0 while the truth is d1, bounded so that no
 * exponent is beyond a few units. */
static double bet(const struct wf_gate_margins *m, double s)
{
    double width = m->d1 - m->d0;
    double best = width / (s * s);
    double most = 6 / width;

    return best < most ? best : most;
}

static double clip(double x)
{
    if (x > 1) {
        return 1;
    }
    return x < -1 ? -1 : x;
}

static void learn_scale(struct gate_pair *p, const struct wf_gate_block *b, double s)
{
    double sum[2] = { 0, 0 };
    double squares = 0;

    for (unsigned i = 0; i < WF_GATE_SLOTS; i++) {
        sum[b->mask >> i & 1U] += b->y[i];
    }
    for (unsigned i = 0; i < WF_GATE_SLOTS; i++) {
        double rest = b->y[i] - 0.5 * sum[b->mask >> i & 1U];
        squares += rest * rest;
    }
    p->sum_squares += squares < 18 * (s * s) ? squares : 18 * (s * s);
    p->freedom += 2;
}

double gate_log_mean(double log_a, double log_b)
{
    double most = log_a > log_b ? log_a : log_b;

    return most + wf_exact_log(
                      0.5 * (wf_exact_exp(log_a - most) + wf_exact_exp(log_b - most)));
}

/* Only the first block of a round bets: the rounds' layouts are drawn anew, the blocks
 * of one round share theirs. */
double gate_log_sign(const struct gate_pair *p, int direction)
{
    double log_v[BETTORS] = { 0, 0 };
    int32_t round = -1;

    for (size_t i = 0; i < p->block_count; i++) {
        const struct gate_block *b = &p->block[i];
        double x = direction == DIR_SLOWER ? b->difference : -b->difference;
        double u = clip((x - p->margins.d0) / b->s);
        for (int k = 0; k < BETTORS && b->round != round; k++) {
            log_v[k] += wf_exact_log1p(bets[k] * u);
        }
        round = b->round;
    }
    return gate_log_mean(log_v[0], log_v[1]);
}

/* A sentinel's word is taken at any block: the bound holds at all of them together. */
static void hear_sentinel(const struct wf_gate *g, struct gate_pair *p)
{
    double w = p->log_w[W_SLOWER];

    if (p->role == WF_GATE_SENTINEL_SAME) {
        w = gate_log_mean(w, p->log_w[W_FASTER]);
        p->spoke = p->spoke || w >= g->log_same_most;
    } else if (p->role == WF_GATE_SENTINEL_SLOWER &&
               p->block_count <= (size_t)g->rule.slower_blocks) {
        p->spoke = p->spoke || w >= g->log_same_most;
    }
}

/* Puts the newest difference into its place among the ranked ones. */
static void rank(struct gate_pair *p)
{
    size_t at = p->block_count - 1;
    double x = p->block[at].difference;

    for (; at > 0 && p->block[at - 1].ranked > x; at--) {
        p->block[at].ranked = p->block[at - 1].ranked;
    }
    p->block[at].ranked = x;
}

static enum wf_status keep(struct gate_pair *p,
                           const struct wf_gate_block *b,
                           double eta,
                           double s,
                           struct wf_error *err)
{
    struct gate_block *to;

    if (p->block_count == p->block_cap) {
        size_t cap = p->block_cap == 0 ? 8 : 2 * p->block_cap;
        to = wf_realloc_array(p->block, cap, sizeof *to);
        if (to == NULL) {
            return wf_errorf(err, WF_ENOMEM, "gate: no memory for %zu blocks", cap);
        }
        p->block = to;
        p->block_cap = cap;
    }
    to = &p->block[p->block_count++];
    *to = (struct gate_block){ .round = b->round,
                               .mask = b->mask,
                               .eta = eta,
                               .s = s,
                               .difference = gate_block_difference(b->y, b->mask) };
    for (unsigned i = 0; i < WF_GATE_SLOTS; i++) {
        to->y[i] = b->y[i];
    }
    rank(p);
    return WF_OK;
}

enum wf_status gate_state_add(struct wf_gate *g,
                              struct gate_pair *p,
                              const struct wf_gate_block *b,
                              struct wf_error *err)
{
    const struct wf_gate_margins *m = &p->margins;
    double s = gate_scale(p);
    double eta = bet(m, s);
    double log_e[W_COUNT];
    bool first = p->block_count == 0 || p->block[p->block_count - 1].round != b->round;
    enum wf_status status = keep(p, b, eta, s, err);

    if (status != WF_OK) {
        return status;
    }
    gate_block_evidence(b->y, b->mask, m, eta, log_e);
    for (int w = 0; w < W_COUNT; w++) {
        p->log_w[w] += log_e[w];
    }
    p->rounds += first;
    learn_scale(p, b, s);
    hear_sentinel(g, p);
    return WF_OK;
}
