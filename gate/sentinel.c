/* Pairs whose answer is known. Equal code that shows a difference, or 3 % more work
 * that shows none, says that the device or the harness is not to be believed: nothing
 * that rests on its times stands. */
#include "gate/exact.h"
#include "gate/gate_internal.h"

#include <stdio.h>

static bool is_sentinel(const struct gate_pair *p)
{
    return p->role != WF_GATE_CASE;
}

/* One that this device's code has no form of says nothing, good or bad. */
static bool is_mute(const struct gate_pair *p)
{
    return p->outside && (p->reason == WF_GATE_REASON_NOT_SUPPORTED ||
                          p->verdict == WF_GATE_VERDICT_PASS ||
                          p->verdict == WF_GATE_VERDICT_UNCHANGED);
}

void gate_devices_count(struct wf_gate *g)
{
    for (size_t i = 0; i < g->device_count; i++) {
        struct gate_device *d = &g->device[i];
        d->open = d->timed = 0;
        d->has_slower = d->proven = false;
    }
    for (size_t i = 0; i < g->count; i++) {
        const struct gate_pair *p = &g->pair[i];
        struct gate_device *d = &g->device[p->device];
        if (p->role == WF_GATE_CASE) {
            d->open += p->verdict == WF_GATE_VERDICT_OPEN;
            d->timed += p->by_time;
        } else if (p->role == WF_GATE_SENTINEL_SLOWER && !is_mute(p)) {
            d->has_slower = true;
            d->proven = d->proven || p->spoke;
        }
    }
}

/* Why the sentinel speaks against its device; NONE: it does not. */
static enum wf_gate_reason against(const struct wf_gate *g, const struct gate_pair *p)
{
    if (p->outside) {
        return is_mute(p) || p->reason == WF_GATE_REASON_CANCELLED
                   ? WF_GATE_REASON_NONE
                   : WF_GATE_REASON_SENTINEL;
    }
    if (p->role == WF_GATE_SENTINEL_SAME && p->spoke) {
        return WF_GATE_REASON_SENTINEL;
    }
    if (p->role == WF_GATE_SENTINEL_SLOWER && p->spoke) {
        return WF_GATE_REASON_NONE;
    }
    if (p->role == WF_GATE_SENTINEL_SLOWER &&
        p->block_count >= (size_t)g->rule.slower_blocks) {
        return WF_GATE_REASON_SENTINEL;
    }
    return p->verdict == WF_GATE_VERDICT_OPEN && p->lost >= g->rule.max_lost
               ? WF_GATE_REASON_BLOCKS_LOST
               : WF_GATE_REASON_NONE;
}

static void end_with(struct gate_pair *p,
                     enum wf_gate_verdict v,
                     enum wf_gate_reason why)
{
    p->verdict = v;
    p->reason = why;
}

/* What a bad device has said about times is void. */
static void strike(struct wf_gate *g)
{
    for (size_t i = 0; i < g->count; i++) {
        struct gate_pair *p = &g->pair[i];
        bool open = p->verdict == WF_GATE_VERDICT_OPEN;
        if (g->device[p->device].bad &&
            (open || (p->by_time && p->role == WF_GATE_CASE))) {
            end_with(p, WF_GATE_VERDICT_INCONCLUSIVE, WF_GATE_REASON_SENTINEL);
            p->by_time = false;
        }
    }
}

void gate_sentinels_judge(struct wf_gate *g)
{
    bool any = false;

    for (size_t i = 0; i < g->count; i++) {
        struct gate_pair *p = &g->pair[i];
        struct gate_device *d = &g->device[p->device];
        enum wf_gate_reason why;
        if (!is_sentinel(p)) {
            continue;
        }
        why = against(g, p);
        if (why != WF_GATE_REASON_NONE) {
            d->why = d->bad ? d->why : i;
            d->bad = any = true;
            if (p->verdict == WF_GATE_VERDICT_OPEN) {
                end_with(p, WF_GATE_VERDICT_INCONCLUSIVE, why);
            }
        } else if (p->role == WF_GATE_SENTINEL_SLOWER && p->spoke &&
                   p->verdict == WF_GATE_VERDICT_OPEN) {
            end_with(p, WF_GATE_VERDICT_PASS, WF_GATE_REASON_NONE);
        }
    }
    if (any) {
        strike(g);
    }
}

/* Sentinels that nobody waits for any more. */
void gate_sentinels_end(struct wf_gate *g)
{
    for (size_t i = 0; i < g->count; i++) {
        struct gate_pair *p = &g->pair[i];
        const struct gate_device *d = &g->device[p->device];
        bool wait = d->open > 0 || (d->timed > 0 && d->has_slower && !d->proven);
        if (!is_sentinel(p) || p->verdict != WF_GATE_VERDICT_OPEN || wait) {
            continue;
        }
        end_with(p,
                 p->block_count > 0 ? WF_GATE_VERDICT_PASS : WF_GATE_VERDICT_UNCHANGED,
                 WF_GATE_REASON_NONE);
    }
}

void gate_sentinel_say(const struct wf_gate *g,
                       size_t pair,
                       const char *name,
                       char *ret,
                       size_t n)
{
    const struct gate_pair *p = &g->pair[pair];

    if (p->outside) {
        (void)snprintf(ret, n, "%s: %s", name, wf_gate_reason_name(p->reason));
    } else if (p->role == WF_GATE_SENTINEL_SAME && p->spoke) {
        (void)snprintf(ret, n,
                       "%s: equal code shows a difference (W reached %g within %zu "
                       "blocks)",
                       name, g->rule.same_most, p->block_count);
    } else if (p->lost >= g->rule.max_lost) {
        (void)snprintf(ret, n, "%s: %d blocks were rejected or not run", name, p->lost);
    } else {
        (void)snprintf(ret, n,
                       "%s: its added work was not found in %zu blocks (W %.3g, asked "
                       "%g)",
                       name, p->block_count, wf_exact_exp(p->log_w[W_SLOWER]),
                       g->rule.same_most);
    }
}

bool gate_device_culprit(const struct wf_gate *g, int device, size_t *ret_pair)
{
    if (device < 0 || (size_t)device >= g->device_count || !g->device[device].bad) {
        return false;
    }
    *ret_pair = g->device[device].why;
    return true;
}

bool wf_gate_device_is_good(const struct wf_gate *g,
                            int device,
                            char *ret_why,
                            size_t n)
{
    char name[64];
    size_t pair = 0;

    if (n > 0) {
        ret_why[0] = '\0';
    }
    if (!gate_device_culprit(g, device, &pair)) {
        return true;
    }
    (void)snprintf(name, sizeof name, "pair %zu (%s)", pair,
                   wf_gate_role_name(g->pair[pair].role));
    gate_sentinel_say(g, pair, name, ret_why, n);
    return false;
}
