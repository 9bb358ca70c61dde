/* The gate's pairs: made, settled from outside, fed, closed. The evidence is state.c's,
 * the verdicts decide.c's. */
#include "core/buf.h"
#include "gate/exact.h"
#include "gate/gate_internal.h"

#include <math.h>
#include <stdlib.h>

static enum wf_status check_rule(const struct wf_gate_rule *r, struct wf_error *err)
{
    const struct {
        const char *name;
        bool good;
        const char *range;
    } rows[] = {
        { "alpha", r->alpha > 0 && r->alpha < 1, "in (0, 1)" },
        { "sign_least", r->sign_least >= 1 && r->sign_least <= 1e9, "in [1, 1e9]" },
        { "pass_least", r->pass_least >= 1 && r->pass_least <= 1e9, "in [1, 1e9]" },
        { "pass_rounds", r->pass_rounds >= 1 && r->pass_rounds <= 1000, "1 to 1000" },
        { "pass_least_spread", r->pass_least_spread >= 1 && r->pass_least_spread <= 1e9,
          "in [1, 1e9]" },
        { "pass_rounds_spread",
          r->pass_rounds_spread >= 1 && r->pass_rounds_spread <= 1000, "1 to 1000" },
        { "max_blocks", r->max_blocks >= 1 && r->max_blocks <= 10000, "1 to 10000" },
        { "max_lost", r->max_lost >= 1 && r->max_lost <= 10000, "1 to 10000" },
        { "same_most", r->same_most > 1 && r->same_most <= 1e9, "in (1, 1e9]" },
        { "slower_blocks", r->slower_blocks >= 1 && r->slower_blocks <= 10000,
          "1 to 10000" },
        { "interval_alpha", r->interval_alpha > 0 && r->interval_alpha < 1,
          "in (0, 1)" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!rows[i].good) {
            return wf_errorf(err, WF_EINVAL, "gate rule: %s must be %s", rows[i].name,
                             rows[i].range);
        }
    }
    return WF_OK;
}

enum wf_status wf_gate_create(const struct wf_gate_rule *rule,
                              struct wf_gate **ret,
                              struct wf_error *err)
{
    struct wf_gate *g;
    enum wf_status status = check_rule(rule, err);

    if (status != WF_OK) {
        return status;
    }
    g = wf_calloc(1, sizeof *g);
    if (g == NULL) {
        return wf_errorf(err, WF_ENOMEM, "gate: no memory");
    }
    g->rule = *rule;
    g->log_least = wf_exact_log(1 / rule->alpha) - 1e-9;
    g->log_sign_least = wf_exact_log(rule->sign_least);
    g->log_pass[0] = wf_exact_log(rule->pass_least);
    g->log_pass[1] = wf_exact_log(rule->pass_least_spread);
    g->log_same_most = wf_exact_log(rule->same_most);
    g->log_improving = wf_exact_log(GATE_IMPROVING_LEAST);
    *ret = g;
    return WF_OK;
}

void wf_gate_free(struct wf_gate *g)
{
    if (g == NULL) {
        return;
    }
    for (size_t i = 0; i < g->count; i++) {
        free(g->pair[i].block);
    }
    free(g->pair);
    free(g->device);
    free(g);
}

struct wf_gate_margins wf_gate_margins_for(double s0, double tau)
{
    struct wf_gate_margins m = WF_GATE_MARGINS_DEFAULT;

    m.s0 = s0;
    m.tau = tau;
    m.d1 = 2 * s0 > m.d1 ? 2 * s0 : m.d1;
    m.d0 = 3 * tau > m.d0 ? 3 * tau : m.d0;
    m.d0 = m.d1 / 4 > m.d0 ? m.d1 / 4 : m.d0;
    m.d1 = 2 * m.d0 > m.d1 ? 2 * m.d0 : m.d1;
    return m;
}

static enum wf_status check_margins(const struct wf_gate_margins *m,
                                    struct wf_error *err)
{
    if (!(m->d0 >= 0 && m->d1 <= 1 && m->d1 - m->d0 >= 1e-5)) {
        return wf_errorf(err, WF_EINVAL,
                         "margins d0 %g, d1 %g: must be 0 <= d0 < d1 <= 1 and at least "
                         "0.00001 apart (0.005 is half a percent)",
                         m->d0, m->d1);
    }
    if (!(m->s0 > 0 && m->s0 <= 10)) {
        return wf_errorf(err, WF_EINVAL,
                         "margin s0 %g: the slot noise to start from must be in (0, "
                         "10]; 0.004 where nothing is known",
                         m->s0);
    }
    if (!(m->tau >= 0 && m->tau <= 10)) {
        return wf_errorf(err, WF_EINVAL,
                         "margin tau %g: must be in [0, 10]; 0 where none is known",
                         m->tau);
    }
    return WF_OK;
}

static enum wf_status grow(struct wf_gate *g, int device, struct wf_error *err)
{
    size_t devices = (size_t)device + 1;

    if (g->count == g->cap) {
        size_t cap = g->cap == 0 ? 64 : 2 * g->cap;
        struct gate_pair *pair = wf_realloc_array(g->pair, cap, sizeof *pair);
        if (pair == NULL) {
            return wf_errorf(err, WF_ENOMEM, "gate: no memory for %zu pairs", cap);
        }
        g->pair = pair;
        g->cap = cap;
    }
    if (devices > g->device_count) {
        struct gate_device *d = wf_realloc_array(g->device, devices, sizeof *d);
        if (d == NULL) {
            return wf_errorf(err, WF_ENOMEM, "gate: no memory for %zu devices",
                             devices);
        }
        g->device = d;
        while (g->device_count < devices) {
            g->device[g->device_count++] = (struct gate_device){ .bad = false };
        }
    }
    return WF_OK;
}

enum wf_status wf_gate_add_pair(struct wf_gate *g,
                                enum wf_gate_role role,
                                const struct wf_gate_margins *m,
                                int device,
                                struct wf_error *err)
{
    struct gate_pair *p;
    enum wf_status status = check_margins(m, err);

    if (status != WF_OK) {
        return status;
    }
    if (device < 0 || device >= GATE_MAX_DEVICES) {
        return wf_errorf(err, WF_EINVAL, "gate: device group %d is not in 0 to %d",
                         device, GATE_MAX_DEVICES - 1);
    }
    status = grow(g, device, err);
    if (status != WF_OK) {
        return status;
    }
    p = &g->pair[g->count++];
    *p = (struct gate_pair){ .role = role, .margins = *m, .device = device };
    gate_state_start(p);
    return WF_OK;
}

size_t wf_gate_count(const struct wf_gate *g)
{
    return g->count;
}

void wf_gate_settle(struct wf_gate *g,
                    size_t pair,
                    enum wf_gate_verdict v,
                    enum wf_gate_reason why)
{
    struct gate_pair *p = &g->pair[pair];

    if (p->verdict == WF_GATE_VERDICT_FAIL && p->reason == WF_GATE_REASON_WRONG) {
        return;
    }
    p->verdict = v;
    p->reason = why;
    p->by_time = false;
    p->outside = true;
    /* Known from code and plan, before any block: no time had a say in it. */
    p->unmatched =
        p->unmatched ||
        ((v == WF_GATE_VERDICT_UNCHANGED || why == WF_GATE_REASON_NOT_SUPPORTED) &&
         p->last_round < 0);
}

static enum wf_status check_block(const struct gate_pair *p,
                                  size_t pair,
                                  const struct wf_gate_block *b,
                                  struct wf_error *err)
{
    if (!wf_gate_is_mask(b->mask)) {
        return wf_errorf(err, WF_EINVAL,
                         "gate: pair %zu, round %d: mask %u is none of 3, 5, 6, 9, 10, "
                         "12",
                         pair, (int)b->round, b->mask);
    }
    if (b->round < 0 || b->round < p->last_round) {
        return wf_errorf(err, WF_EINVAL,
                         "gate: pair %zu: a block of round %d after one of round %d",
                         pair, (int)b->round, (int)p->last_round);
    }
    for (unsigned i = 0; i < WF_GATE_SLOTS && !b->rejected; i++) {
        if (!(fabs(b->y[i]) <= 1000)) {
            return wf_errorf(err, WF_EINVAL,
                             "gate: pair %zu, round %d: y[%u] is %g, no logarithm of a "
                             "time",
                             pair, (int)b->round, i, b->y[i]);
        }
    }
    return WF_OK;
}

enum wf_status wf_gate_add_block(struct wf_gate *g,
                                 size_t pair,
                                 const struct wf_gate_block *b,
                                 struct wf_error *err)
{
    struct gate_pair *p = &g->pair[pair];
    enum wf_status status = check_block(p, pair, b, err);

    if (status != WF_OK) {
        return status;
    }
    p->last_round = b->round;
    if (p->verdict != WF_GATE_VERDICT_OPEN) {
        return WF_OK;
    }
    if (b->rejected) {
        p->lost++;
        gate_state_reject(p, b);
        return WF_OK;
    }
    return gate_state_add(g, p, b, err);
}

static void close_pair(const struct wf_gate *g,
                       struct gate_pair *p,
                       enum wf_gate_reason why)
{
    const struct gate_device *d = &g->device[p->device];
    bool unproven = d->has_slower && !d->proven;
    bool open = p->verdict == WF_GATE_VERDICT_OPEN;
    bool pass = p->verdict == WF_GATE_VERDICT_PASS && p->by_time;

    if (!open && !(pass && unproven)) {
        return;
    }
    if (open && p->certified && !unproven) {
        p->verdict = WF_GATE_VERDICT_PASS;
        p->reason = WF_GATE_REASON_NONE;
        p->by_time = true;
    } else if (open && p->role == WF_GATE_SENTINEL_SAME && p->block_count > 0) {
        p->verdict = WF_GATE_VERDICT_PASS;
        p->reason = WF_GATE_REASON_NONE;
    } else {
        p->verdict = WF_GATE_VERDICT_INCONCLUSIVE;
        p->reason = why;
        p->by_time = false;
    }
}

void wf_gate_close_device(struct wf_gate *g, int device, enum wf_gate_reason why)
{
    gate_devices_count(g);
    for (size_t i = 0; i < g->count; i++) {
        if (g->pair[i].device == device) {
            close_pair(g, &g->pair[i], why);
        }
    }
}

void wf_gate_close(struct wf_gate *g, enum wf_gate_reason why)
{
    g->closed = why;
    gate_devices_count(g);
    for (size_t i = 0; i < g->count; i++) {
        close_pair(g, &g->pair[i], why);
    }
}

enum wf_gate_verdict wf_gate_verdict_of(const struct wf_gate *g,
                                        size_t pair,
                                        enum wf_gate_reason *ret_why)
{
    if (ret_why != NULL) {
        *ret_why = g->pair[pair].reason;
    }
    return g->pair[pair].verdict;
}
