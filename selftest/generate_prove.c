/* The arguments by which a change is no mutant. */
#include "selftest/generate_prove.h"

const char *gen_reason_text(enum gen_reason reason)
{
    static const char *const texts[] = {
#define X(name, text) text,
        GEN_REASON_LIST(X)
#undef X
    };
    return reason >= 0 && reason < GEN_REASONS ? texts[reason] : "?";
}

/* Both results are never read: what stands there does not matter, nor does what the
 * change reads. */
static bool is_dead(const struct gen_flow *flow, size_t node, const struct em_op *now)
{
    struct gen_use use;
    gen_use_of(now, &use);
    bool nothing = now->in.op == EM_s_nop;
    return gen_flow_dead(flow, node, &flow->node[node].use) &&
           (nothing || gen_flow_dead(flow, node, &use));
}

static bool exchange_commutes(const struct gen_node *n)
{
    return gen_commutes(&n->op->in);
}

/* --- branches over code that does nothing where EXEC is 0 --- */

/* With EXEC = 0: no lane, so no load, store or vector result; scalar results must be
 * dead where the branch leads to. Products take no notice of EXEC. */
static bool does_nothing(const struct gen_node *n, const struct gen_set *live)
{
    const struct em_op *op = n->op;
    if (op->in.op == EM_s_waitcnt || gen_is_hint(&op->in)) {
        return true;
    }
    if (op->class == EM_CLASS_LDS || op->class == EM_CLASS_VMEM_LOAD ||
        op->class == EM_CLASS_VMEM_STORE || op->class == EM_CLASS_VMEM_ATOMIC) {
        return true;
    }
    bool scalar = op->in.encoding < EM_SMEM;
    if (!n->use.pure || n->use.every_lane || gen_set_has(&n->use.written, EM_EXEC)) {
        return false;
    }
    struct gen_set written = n->use.written;
    for (size_t i = EM_VGPR0 / 64; i < GEN_WORDS && !scalar; i++) {
        written.w[i] = 0;
    }
    return !gen_set_meets(&written, live);
}

enum {
    MAX_SKIPPED = 256 /* instructions; more are not looked at */
};

/* Ways from a node to the branch's target. */
struct skipped {
    const struct gen_flow *flow;
    const struct gen_node *target;
    const struct gen_set *live;
    int32_t way[MAX_SKIPPED]; /* nodes on the way that is walked now */
    size_t length;
    size_t steps;
};

static bool is_on_way(const struct skipped *s, int32_t node)
{
    for (size_t i = 0; i < s->length; i++) {
        if (s->way[i] == node) {
            return true;
        }
    }
    return false;
}

/* All ways on from here come to the target, none in a circle, and do nothing. */
static bool leads_there(struct skipped *s, int32_t at) /* NOLINT(misc-no-recursion) */
{
    const struct gen_node *n = &s->flow->node[at];
    if (n == s->target) {
        return true;
    }
    bool branch = n->next[1] >= 0;
    if (s->length == MAX_SKIPPED || ++s->steps > 4 * MAX_SKIPPED || is_on_way(s, at) ||
        (n->next[0] < 0 && !branch) || (!branch && !does_nothing(n, s->live))) {
        return false;
    }
    s->way[s->length++] = at;
    bool good = (n->next[0] < 0 || leads_there(s, n->next[0])) &&
                (!branch || leads_there(s, n->next[1]));
    s->length--;
    return good;
}

/* s_cbranch_execz that is never taken. Which way other branches on the way go does not
 * matter where none of the ways does anything. */
static bool skips_nothing(const struct gen_flow *flow, size_t node)
{
    const struct gen_node *branch = &flow->node[node];
    if (branch->op->in.op != EM_s_cbranch_execz) {
        return false;
    }
    const struct gen_node *target = &flow->node[branch->next[1]];
    struct gen_set live = target->live;
    for (size_t w = 0; w < GEN_WORDS; w++) {
        live.w[w] |= target->use.read.w[w];
    }
    struct skipped s = { .flow = flow, .target = target, .live = &live };
    return leads_there(&s, branch->next[0]);
}

static bool is_nothing(const struct gen_change *c)
{
    struct em_inst in;
    return em_decode(c->word, 1, &in) == EM_DECODED && in.op == EM_s_nop;
}

static enum gen_reason prove_ordering(struct gen_waits *waits,
                                      size_t node,
                                      const struct gen_change *c)
{
    struct em_inst in;
    uint16_t simm = UINT16_MAX;
    if (c->kind == GEN_BARRIER_DROPPED) {
        return gen_barrier_alone(waits, node) ? GEN_BARRIER_ALONE : GEN_NOT_PROVEN;
    }
    if (em_decode(c->word, 1, &in) == EM_DECODED && in.op == EM_s_waitcnt) {
        simm = in.simm16;
    }
    return gen_wait_implied(waits, node, simm) ? GEN_WAIT_IMPLIED : GEN_NOT_PROVEN;
}

enum gen_reason gen_prove(const struct gen_flow *flow,
                          struct gen_waits *waits,
                          struct gen_values *values,
                          const struct gen_change *c)
{
    if (flow->of_dword[c->at] < 0) {
        return GEN_NEVER_REACHED;
    }
    size_t node = (size_t)flow->of_dword[c->at];
    if (c->kind == GEN_WAIT_DROPPED || c->kind == GEN_WAIT_WEAKENED ||
        c->kind == GEN_BARRIER_DROPPED) {
        return prove_ordering(waits, node, c);
    }
    if (c->kind == GEN_EXCHANGED && exchange_commutes(&flow->node[node])) {
        return GEN_COMMUTES;
    }
    if (c->kind == GEN_BRANCH && is_nothing(c) && skips_nothing(flow, node)) {
        return GEN_NOTHING_TO_SKIP;
    }
    struct em_op now = { 0 };
    struct em_inst in;
    if (em_decode(c->word, c->words, &in) != EM_DECODED) {
        return GEN_NOT_PROVEN;
    }
    em_bind(&in, &now);
    if (is_dead(flow, node, &now)) {
        return GEN_DEAD;
    }
    return gen_values_same(values, node, &now) ? GEN_SAME_FOR_VALUES : GEN_NOT_PROVEN;
}
