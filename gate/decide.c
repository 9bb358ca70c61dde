/* From evidence to verdicts.
 *
 * What goes into e-BH is, for each pair, its W where the pair may still be reported (it
 * is OPEN, or FAIL already and frozen since) and its sign process agrees, else 0. Such
 * a value is never above W, so it is an e-value, and what is reported is exactly what
 * e-BH rejects. */
#include "core/buf.h"
#include "gate/gate_internal.h"

#include <math.h>
#include <stdlib.h>

struct direction {
    int w, sign;
    enum wf_gate_verdict verdict;
    enum wf_gate_reason reason;
};

static const struct direction directions[DIR_COUNT] = {
    { W_SLOWER, DIR_SLOWER, WF_GATE_VERDICT_FAIL, WF_GATE_REASON_SLOWER },
    { W_FASTER, DIR_FASTER, WF_GATE_VERDICT_IMPROVED, WF_GATE_REASON_NONE },
};

static double evidence(const struct wf_gate *g,
                       const struct gate_pair *p,
                       const struct direction *d)
{
    bool eligible =
        p->verdict == WF_GATE_VERDICT_OPEN || (p->verdict == d->verdict && p->by_time);

    /* e-BH rejects nothing below 1 / alpha: the sign process need not be computed. */
    if (!eligible || gate_log_w(p, d->w) < g->log_least ||
        gate_log_sign(p, d->sign) < g->log_sign_least) {
        return -INFINITY;
    }
    return gate_log_w(p, d->w);
}

static enum wf_status reject(struct wf_gate *g,
                             const struct direction *d,
                             double *log_e,
                             bool *rejected,
                             struct wf_error *err)
{
    enum wf_status status;
    size_t m = 0;

    for (size_t i = 0; i < g->count; i++) {
        const struct gate_pair *p = &g->pair[i];
        if (p->role == WF_GATE_CASE && !p->unmatched) {
            log_e[m++] = evidence(g, p, d);
        }
    }
    status = wf_gate_ebh(log_e, m, g->rule.alpha, rejected, err);
    if (status != WF_OK) {
        return status;
    }
    m = 0;
    for (size_t i = 0; i < g->count; i++) {
        struct gate_pair *p = &g->pair[i];
        if (p->role != WF_GATE_CASE || p->unmatched) {
            continue;
        }
        if (rejected[m++] && p->verdict == WF_GATE_VERDICT_OPEN) {
            p->verdict = d->verdict;
            p->reason = d->reason;
            p->by_time = true;
        }
    }
    return WF_OK;
}

static bool has_certificate(const struct wf_gate *g, const struct gate_pair *p)
{
    bool spread = p->margins.tau > 0.002;
    int rounds = spread ? g->rule.pass_rounds_spread : g->rule.pass_rounds;

    return p->rounds >= rounds && gate_log_w(p, W_PASS) >= g->log_pass[spread];
}

static void end_by_time(struct gate_pair *p,
                        enum wf_gate_verdict v,
                        enum wf_gate_reason why)
{
    p->verdict = v;
    p->reason = why;
    p->by_time = true;
}

static void settle_open(const struct wf_gate *g, struct gate_pair *p)
{
    bool capped = p->block_count >= (size_t)g->rule.max_blocks;
    bool lost = p->lost >= g->rule.max_lost;

    p->certified = p->certified || has_certificate(g, p);
    if (p->certified &&
        (capped || lost || gate_log_w(p, W_FASTER) < g->log_improving)) {
        end_by_time(p, WF_GATE_VERDICT_PASS, WF_GATE_REASON_NONE);
    } else if (capped) {
        end_by_time(p, WF_GATE_VERDICT_INCONCLUSIVE, WF_GATE_REASON_UNDECIDED);
    } else if (lost) {
        end_by_time(p, WF_GATE_VERDICT_INCONCLUSIVE, WF_GATE_REASON_BLOCKS_LOST);
    }
}

enum wf_status wf_gate_decide(struct wf_gate *g, size_t *ret_open, struct wf_error *err)
{
    double *log_e = wf_calloc(g->count + 1, sizeof *log_e);
    bool *rejected = wf_calloc(g->count + 1, sizeof *rejected);
    enum wf_status status = WF_OK;

    if (log_e == NULL || rejected == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "gate: no memory for %zu pairs", g->count);
        goto out;
    }
    gate_sentinels_judge(g);
    for (int d = 0; d < DIR_COUNT && status == WF_OK; d++) {
        status = reject(g, &directions[d], log_e, rejected, err);
    }
    if (status != WF_OK) {
        goto out;
    }
    for (size_t i = 0; i < g->count; i++) {
        struct gate_pair *p = &g->pair[i];
        if (p->role == WF_GATE_CASE && p->verdict == WF_GATE_VERDICT_OPEN) {
            settle_open(g, p);
        }
    }
    gate_devices_count(g);
    gate_sentinels_end(g);
    *ret_open = 0;
    for (size_t i = 0; i < g->count; i++) {
        *ret_open += g->pair[i].verdict == WF_GATE_VERDICT_OPEN;
    }
out:
    free(log_e);
    free(rejected);
    return status;
}
