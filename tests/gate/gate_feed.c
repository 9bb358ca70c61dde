#include "gate_feed.h"

#include <criterion/criterion.h>

struct wf_gate *feed_gate(const struct wf_gate_rule *rule)
{
    static const struct wf_gate_rule pull_request = WF_GATE_PR_RULE;
    struct wf_error err = { .text = "" };
    struct wf_gate *g = NULL;

    cr_assert_eq(wf_gate_create(rule == NULL ? &pull_request : rule, &g, &err), WF_OK,
                 "%s", err.text);
    return g;
}

size_t feed_pair(struct wf_gate *g, enum wf_gate_role role, int device)
{
    struct wf_gate_margins m = WF_GATE_MARGINS_DEFAULT;
    struct wf_error err = { .text = "" };

    if (role == WF_GATE_SENTINEL_SAME) {
        m.d0 = 0;
    }
    cr_assert_eq(wf_gate_add_pair(g, role, &m, device, &err), WF_OK, "%s", err.text);
    return wf_gate_count(g) - 1;
}

struct wf_gate_block feed_block(struct wf_rng *r,
                                int32_t round,
                                double noise,
                                double effect)
{
    struct wf_gate_block b = { .round = round };

    b.mask = (uint8_t)wf_gate_mask((unsigned)wf_rng_next_below(r, WF_GATE_MASK_COUNT));
    for (unsigned i = 0; i < WF_GATE_SLOTS; i++) {
        b.y[i] = 9 + noise * wf_rng_normal(r->seed, r->stream + 1000, r->next++) +
                 (((unsigned)b.mask >> i & 1U) != 0 ? effect : 0);
    }
    return b;
}

void feed_add(struct wf_gate *g, size_t pair, const struct wf_gate_block *b)
{
    struct wf_error err = { .text = "" };

    cr_assert_eq(wf_gate_add_block(g, pair, b, &err), WF_OK, "%s", err.text);
}

void feed_lose(struct wf_gate *g, size_t pair, int32_t round)
{
    struct wf_gate_block b = { .round = round, .mask = 3, .rejected = true };

    feed_add(g, pair, &b);
}

size_t feed_decide(struct wf_gate *g)
{
    struct wf_error err = { .text = "" };
    size_t open = 0;

    cr_assert_eq(wf_gate_decide(g, &open, &err), WF_OK, "%s", err.text);
    return open;
}

enum wf_gate_verdict feed_verdict(const struct wf_gate *g, size_t pair)
{
    return wf_gate_verdict_of(g, pair, NULL);
}

enum wf_gate_reason feed_reason(const struct wf_gate *g, size_t pair)
{
    enum wf_gate_reason why;

    (void)wf_gate_verdict_of(g, pair, &why);
    return why;
}
