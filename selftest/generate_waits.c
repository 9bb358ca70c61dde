/* Waits and barriers on all paths: see the header. The analysis runs again for each
 * change that is asked for, on the kernel with that change. */
#include "selftest/generate_waits.h"

#include "core/buf.h"
#include "selftest/generate_kinds.h"

#include <stdlib.h>
#include <string.h>

enum {
    VM,
    LGKM,
    COUNTERS,
    FREE = 255, /* age of a register that nothing is on its way to */
    OLD = 64    /* ages beyond are the same: no wait asks for more */
};

/* On entry to a node. */
struct state {
    uint8_t age[COUNTERS][GEN_REGISTERS]; /* instructions behind its load; FREE */
    uint8_t lds_age;                      /* of the youngest access of LDS; FREE */
    uint8_t store_age;                    /* of the youngest store to global memory */
    uint8_t scalar_loads;                 /* some are on their way: out of order */
    uint8_t reached;
};

struct gen_waits {
    const struct gen_flow *flow;
    struct state *state; /* [nodes] */
    uint8_t *waiting;    /* [nodes] to be done again */
    uint8_t *flag;       /* [nodes] for barriers */
};

enum wf_status gen_waits_create(const struct gen_flow *flow,
                                struct gen_waits **ret,
                                struct wf_error *err)
{
    struct gen_waits *w = wf_calloc(1, sizeof(*w));
    if (w) {
        w->flow = flow;
        w->state = wf_calloc(flow->count + 1, sizeof(*w->state));
        w->waiting = wf_calloc(flow->count + 1, 1);
        w->flag = wf_calloc(flow->count + 1, 1);
    }
    if (!w || !w->state || !w->waiting || !w->flag) {
        gen_waits_destroy(w);
        return wf_errorf(err, WF_ENOMEM, "no memory for waits of %zu instructions",
                         flow->count);
    }
    *ret = w;
    return WF_OK;
}

void gen_waits_destroy(struct gen_waits *w)
{
    if (w) {
        free(w->state);
        free(w->waiting);
        free(w->flag);
        free(w);
    }
}

static bool is_vector_memory(const struct em_op *op)
{
    return op->class == EM_CLASS_VMEM_LOAD || op->class == EM_CLASS_VMEM_STORE ||
           op->class == EM_CLASS_VMEM_ATOMIC;
}

static bool is_store(const struct em_op *op)
{
    return op->class == EM_CLASS_VMEM_STORE || op->class == EM_CLASS_VMEM_ATOMIC;
}

static bool moves_to_lds(const struct em_op *op)
{
    return is_vector_memory(op) && op->in.lds;
}

/* --- one instruction --- */

static void older(struct state *s, int counter)
{
    for (size_t r = 0; r < GEN_REGISTERS; r++) {
        uint8_t *age = &s->age[counter][r];
        *age = (uint8_t)(*age < OLD ? *age + 1 : *age);
    }
    if (counter == LGKM && s->lds_age < OLD) {
        s->lds_age++;
    }
    if (counter == VM && s->store_age < OLD) {
        s->store_age++;
    }
}

static void start_load(struct state *s, int counter, const struct gen_use *use)
{
    for (unsigned r = 0; r < GEN_REGISTERS; r++) {
        if (gen_set_has(&use->written, r)) {
            s->age[counter][r] = 0;
        }
    }
}

static void end_those(struct state *s, int counter, unsigned still)
{
    for (size_t r = 0; r < GEN_REGISTERS; r++) {
        if (s->age[counter][r] >= still) {
            s->age[counter][r] = FREE;
        }
    }
    if (counter == LGKM && s->lds_age >= still) {
        s->lds_age = FREE;
    }
    if (counter == VM && s->store_age >= still) {
        s->store_age = FREE;
    }
}

/* Scalar loads come in any order: while some are on their way only 0 ends anything. */
static void wait_for(struct state *s, uint16_t simm)
{
    if (simm == UINT16_MAX) {
        return;
    }
    unsigned lgkm = gen_wait_lgkm(simm);
    end_those(s, VM, gen_wait_vm(simm) == 63 ? FREE : gen_wait_vm(simm));
    if (lgkm == 0) {
        end_those(s, LGKM, 0);
        s->scalar_loads = 0;
    } else if (lgkm < 15 && !s->scalar_loads) {
        end_those(s, LGKM, lgkm);
    }
}

static void run_memory(struct state *s, const struct gen_node *n)
{
    const struct em_op *op = n->op;
    bool flat = op->in.encoding == EM_FLAT;
    if (op->class == EM_CLASS_SMEM) {
        older(s, LGKM);
        start_load(s, LGKM, &n->use);
        s->scalar_loads = 1;
    }
    if (op->class == EM_CLASS_LDS || flat) {
        older(s, LGKM);
        start_load(s, LGKM, &n->use);
        s->lds_age = 0;
    }
    if (is_vector_memory(op)) {
        older(s, VM);
        start_load(s, VM, &n->use);
        s->store_age = is_store(op) || moves_to_lds(op) ? 0 : s->store_age;
    }
}

/* --- what must not happen --- */

/* A load of the same counter that returns behind may write the same register again. */
static bool in_order(const struct gen_node *n, int counter)
{
    return counter == VM ? is_vector_memory(n->op) : n->op->class == EM_CLASS_LDS;
}

static bool touches_pending(const struct state *s, const struct gen_node *n)
{
    for (unsigned r = 0; r < GEN_REGISTERS; r++) {
        for (int c = 0; c < COUNTERS; c++) {
            if (s->age[c][r] == FREE) {
                continue;
            }
            bool written = gen_set_has(&n->use.written, r) &&
                           (!in_order(n, c) || (c == LGKM && s->scalar_loads));
            if (written || gen_set_has(&n->use.read, r)) {
                return true;
            }
        }
    }
    return false;
}

/* At a barrier other waves go on with LDS and memory; scalar loads do not wait for the
 * wave's own stores. */
static bool breaks_order(const struct state *s, const struct gen_node *n)
{
    switch (n->op->class) {
    case EM_CLASS_BARRIER:
        return s->lds_age != FREE || s->store_age != FREE;
    case EM_CLASS_SMEM:
        return s->store_age != FREE;
    case EM_CLASS_LDS:
        return false;
    default:
        return is_vector_memory(n->op) && n->op->in.encoding == EM_FLAT &&
               s->store_age != FREE;
    }
}

/* --- all paths --- */

static bool take_less(uint8_t *into, uint8_t from)
{
    bool less = from < *into;
    *into = less ? from : *into;
    return less;
}

static bool join(struct state *into, const struct state *from)
{
    if (!into->reached) {
        *into = *from;
        into->reached = 1;
        return true;
    }
    bool changed = take_less(&into->lds_age, from->lds_age);
    changed = take_less(&into->store_age, from->store_age) || changed;
    for (int c = 0; c < COUNTERS; c++) {
        for (size_t r = 0; r < GEN_REGISTERS; r++) {
            changed = take_less(&into->age[c][r], from->age[c][r]) || changed;
        }
    }
    if (from->scalar_loads && !into->scalar_loads) {
        into->scalar_loads = 1;
        changed = true;
    }
    return changed;
}

static void step(struct state *s, const struct gen_node *n, bool here, uint16_t simm)
{
    if (n->op->in.op == EM_s_waitcnt) {
        wait_for(s, here ? simm : n->op->in.simm16);
    } else {
        run_memory(s, n);
    }
}

static void begin(struct gen_waits *w)
{
    const struct gen_flow *flow = w->flow;
    struct state s;
    memset(w->waiting, 0, flow->count);
    for (size_t i = 0; i < flow->count; i++) {
        w->state[i].reached = 0;
    }
    memset(&s, FREE, sizeof(s));
    s.scalar_loads = 0;
    (void)join(&w->state[flow->entry], &s);
    w->waiting[flow->entry] = 1;
}

/* The states of the kernel with `simm` at `node`; false: something is touched before it
 * is there, or order is lost (where that is to be looked at: `strict`). */
static bool run_all(struct gen_waits *w, size_t node, uint16_t simm, bool strict)
{
    const struct gen_flow *flow = w->flow;
    bool more = true;
    begin(w);
    while (more) {
        more = false;
        for (size_t i = 0; i < flow->count; i++) {
            const struct gen_node *n = &flow->node[i];
            struct state s;
            if (!w->waiting[i]) {
                continue;
            }
            w->waiting[i] = 0;
            s = w->state[i];
            if (strict && (touches_pending(&s, n) || breaks_order(&s, n))) {
                return false;
            }
            step(&s, n, i == node, simm);
            for (int k = 0; k < 2; k++) {
                if (n->next[k] >= 0 && join(&w->state[n->next[k]], &s)) {
                    w->waiting[n->next[k]] = 1;
                    more = true;
                }
            }
        }
    }
    return true;
}

/* What is on its way there is the same behind both waits. */
static bool ends_no_more(struct gen_waits *w, size_t node, uint16_t simm)
{
    struct state with = w->state[node];
    struct state without = with;
    wait_for(&with, w->flow->node[node].op->in.simm16);
    wait_for(&without, simm);
    return memcmp(&with, &without, sizeof(with)) == 0;
}

bool gen_wait_implied(struct gen_waits *w, size_t node, uint16_t simm)
{
    (void)run_all(w, SIZE_MAX, 0, false);
    return ends_no_more(w, node, simm) || run_all(w, node, simm, true);
}

/* --- barriers --- */

static bool shares(const struct em_op *op)
{
    return op->class == EM_CLASS_LDS || is_store(op) || moves_to_lds(op) ||
           op->in.encoding == EM_FLAT;
}

/* Loads count behind the barrier where the kernel stores anywhere. */
static bool meets(const struct em_op *op, bool kernel_stores)
{
    bool load = op->class == EM_CLASS_VMEM_LOAD || op->class == EM_CLASS_SMEM;
    return shares(op) || (kernel_stores && load);
}

static bool any_store(const struct gen_flow *flow, const uint8_t *before)
{
    for (size_t i = 0; i < flow->count; i++) {
        if (before[i] && is_store(flow->node[i].op)) {
            return true;
        }
    }
    return false;
}

/* Marks the nodes on paths that end at `node` and hold no barrier; true: one shares. */
static bool shares_before(struct gen_waits *w, size_t node)
{
    const struct gen_flow *flow = w->flow;
    bool changed = true;
    memset(w->flag, 0, flow->count);
    while (changed) {
        changed = false;
        for (size_t i = flow->count; i-- > 0;) {
            const struct gen_node *n = &flow->node[i];
            bool comes = false;
            for (int k = 0; k < 2; k++) {
                size_t next = n->next[k] < 0 ? SIZE_MAX : (size_t)n->next[k];
                comes = comes || next == node || (next != SIZE_MAX && w->flag[next]);
            }
            if (comes && !w->flag[i] && n->op->class != EM_CLASS_BARRIER) {
                w->flag[i] = 1;
                changed = true;
            }
        }
    }
    for (size_t i = 0; i < flow->count; i++) {
        if (w->flag[i] && shares(flow->node[i].op)) {
            return true;
        }
    }
    return false;
}

static bool meets_behind(struct gen_waits *w, size_t node, bool kernel_stores)
{
    const struct gen_flow *flow = w->flow;
    bool changed = true;
    memset(w->flag, 0, flow->count);
    w->flag[node] = 1;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < flow->count; i++) {
            const struct gen_node *n = &flow->node[i];
            bool passes = w->flag[i] && (i == node || n->op->class != EM_CLASS_BARRIER);
            for (int k = 0; k < 2 && passes; k++) {
                if (n->next[k] >= 0 && !w->flag[n->next[k]]) {
                    w->flag[n->next[k]] = 1;
                    changed = true;
                }
            }
        }
    }
    for (size_t i = 0; i < flow->count; i++) {
        if (w->flag[i] && i != node && meets(flow->node[i].op, kernel_stores)) {
            return true;
        }
    }
    return false;
}

bool gen_barrier_alone(struct gen_waits *w, size_t node)
{
    if (!shares_before(w, node)) {
        return true;
    }
    bool stores = any_store(w->flow, w->flag);
    return !meets_behind(w, node, stores);
}
