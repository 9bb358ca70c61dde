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
static void bet_on_sign(const struct gate_pair *p,
                        int direction,
                        double difference,
                        double s,
                        double log_v[BETTORS])
{
    double x = direction == DIR_SLOWER ? difference : -difference;
    double u = clip((x - p->margins.d0) / s);

    for (int k = 0; k < BETTORS; k++) {
        log_v[k] += wf_exact_log1p(bets[k] * u);
    }
}

static void sign_of_kept(const struct gate_pair *p,
                         int direction,
                         double log_v[BETTORS])
{
    int32_t round = -1;

    for (size_t i = 0; i < p->block_count; i++) {
        const struct gate_block *b = &p->block[i];
        if (b->round != round) {
            bet_on_sign(p, direction, b->difference, b->s, log_v);
        }
        round = b->round;
    }
}

double gate_log_sign(const struct gate_pair *p, int direction)
{
    double log_v[BETTORS] = { 0, 0 };
    const double *all = p->all_sign[direction];
    double kept;

    sign_of_kept(p, direction, log_v);
    kept = gate_log_mean(log_v[0], log_v[1]);
    return p->rejected_known == 0 ? kept
                                  : gate_log_mean(kept, gate_log_mean(all[0], all[1]));
}

/* --- rejected blocks ---
 * To reject a block by its clocks is blind to labels only where the kernels do not move
 * the clock. One that does would have its slow blocks rejected and be judged by the
 * others. So a second product runs over all blocks. It is an e-process by the same
 * proof, with any rule of rejection, and so is the mean of the two; the certificate
 * needs both (docs/gate.md). */

double gate_log_w(const struct gate_pair *p, int w)
{
    if (p->rejected_known == 0) {
        return p->log_w[w];
    }
    if (w == W_PASS) {
        return p->all_w[w] < p->log_w[w] ? p->all_w[w] : p->log_w[w];
    }
    return gate_log_mean(p->log_w[w], p->all_w[w]);
}

/* A slot without a time is NaN, or 0 where a store has no NaN (that would be 1 ns). */
static bool has_values(const struct wf_gate_block *b)
{
    for (unsigned i = 0; i < WF_GATE_SLOTS; i++) {
        double y = b->y[i] < 0 ? -b->y[i] : b->y[i];
        if (!(y > 0 && y <= 1000)) {
            return false;
        }
    }
    return true;
}

static void take_in_all(struct gate_pair *p,
                        const double log_e[W_COUNT],
                        double difference,
                        double s,
                        int32_t round)
{
    for (int w = 0; w < W_COUNT; w++) {
        p->all_w[w] += log_e[w];
    }
    for (int d = 0; d < DIR_COUNT && round != p->all_round; d++) {
        bet_on_sign(p, d, difference, s, p->all_sign[d]);
    }
    p->all_round = round;
}

void gate_state_reject(struct gate_pair *p, const struct wf_gate_block *b)
{
    double s = gate_scale(p);
    double log_e[W_COUNT];

    if (!has_values(b)) {
        return;
    }
    if (p->rejected_known++ == 0) { /* until now both were the same */
        for (int w = 0; w < W_COUNT; w++) {
            p->all_w[w] = p->log_w[w];
        }
        for (int d = 0; d < DIR_COUNT; d++) {
            sign_of_kept(p, d, p->all_sign[d]);
        }
        p->all_round = p->block_count == 0 ? -1 : p->block[p->block_count - 1].round;
    }
    gate_block_evidence(b->y, b->mask, &p->margins, bet(&p->margins, s), log_e);
    take_in_all(p, log_e, gate_block_difference(b->y, b->mask), s, b->round);
}

/* --- blocks that count --- */

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
    if (p->rejected_known > 0) {
        take_in_all(p, log_e, p->block[p->block_count - 1].difference, s, b->round);
    }
    p->rounds += first;
    learn_scale(p, b, s);
    hear_sentinel(g, p);
    return WF_OK;
}
