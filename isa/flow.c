/* Blocks of a kernel.
 *
 * First every instruction that the entry reaches is marked, and every one that is
 * jumped to, or stands behind a branch, becomes a leader; then blocks are cut between
 * leaders. The bytes may be anybody's: a jump into the middle of an instruction simply
 * begins a block there, as the hardware would run it. */
#include "isa/flow.h"

#include "core/buf.h"
#include "isa/getpc.h"

#include <stdlib.h>

enum {
    SEEN = 1,
    LEADER = 2,
    ROOT = 4
};

struct mark {
    uint32_t kernel; /* marks of another kernel are none */
    uint32_t bits;
    uint32_t block;
    uint32_t target; /* of a jump or call through a register; ISA_NO_BLOCK: not known */
};

struct isa_marks {
    const struct em_code *code;
    struct mark *at; /* [dwords] */
    uint32_t *todo;
    size_t waiting;
    uint32_t kernel;
    uint32_t low, high; /* what is marked lies in [low, high) */
    bool indirect, calls;
};

enum wf_status isa_marks_create(const struct em_code *code,
                                struct isa_marks **ret,
                                struct wf_error *err)
{
    struct isa_marks *m = wf_calloc(1, sizeof(*m));
    size_t count = em_code_count(code);
    if (m != NULL) {
        m->code = code;
        m->at = wf_calloc(count + 1, sizeof(*m->at));
        m->todo = wf_calloc(count + 1, sizeof(*m->todo));
    }
    if (m == NULL || m->at == NULL || m->todo == NULL) {
        isa_marks_free(m);
        return wf_errorf(err, WF_ENOMEM, "no memory to walk %zu dwords of code", count);
    }
    *ret = m;
    return WF_OK;
}

void isa_marks_free(struct isa_marks *m)
{
    if (m != NULL) {
        free(m->at);
        free(m->todo);
        free(m);
    }
}

static struct mark *mark_at(struct isa_marks *m, uint32_t i)
{
    struct mark *k = &m->at[i];
    if (k->kernel != m->kernel) {
        *k = (struct mark){ .kernel = m->kernel,
                            .block = ISA_NO_BLOCK,
                            .target = ISA_NO_BLOCK };
        m->low = i < m->low ? i : m->low;
        m->high = i >= m->high ? i + 1 : m->high;
    }
    return k;
}

/* --- where an instruction leads --- */

struct paths {
    bool on;     /* to the next instruction */
    bool target; /* to the branch's */
    bool call;   /* the target is a function of its own */
    bool indirect;
};

static struct paths paths_of(const struct em_op *op)
{
    switch (op->in.op) {
    case EM_s_branch:
        return (struct paths){ .target = true };
    case EM_s_call_b64:
        return (struct paths){ .on = true, .target = true, .call = true };
    case EM_s_swappc_b64:
        return (struct paths){ .on = true, .call = true, .indirect = true };
    case EM_s_endpgm:
    case EM_s_endpgm_saved:
    case EM_s_endpgm_ordered_ps_done:
        return (struct paths){ .on = false };
    case EM_s_setpc_b64: /* s[30:31] is where compilers keep the way back */
        return (struct paths){ .indirect = op->in.src[0].code != EM_SGPR0 + 30 };
    case EM_s_rfe_b64:
    case EM_s_cbranch_g_fork:
    case EM_s_cbranch_join:
        return (struct paths){ .indirect = true };
    default:
        break;
    }
    if (op->class == EM_CLASS_BRANCH) {
        return (struct paths){ .on = true, .target = true };
    }
    /* What is no instruction ends the path: behind it is data. */
    bool unknown = op->in.op == 0 && op->in.encoding == EM_SOP2;
    return (struct paths){ .on = !unknown };
}

static uint32_t target_of(const struct em_op *op)
{
    return op->next + (uint32_t)op->in.offset;
}

/* --- marking --- */

static void push(struct isa_marks *m, uint32_t i, uint32_t bits)
{
    if (i >= em_code_count(m->code)) {
        return;
    }
    struct mark *k = mark_at(m, i);
    bool fresh = (k->bits & SEEN) == 0;
    k->bits |= bits | SEEN;
    if (fresh) {
        m->todo[m->waiting++] = i;
    }
}

static bool is_through_register(const struct em_op *op)
{
    return op->in.op == EM_s_setpc_b64 || op->in.op == EM_s_swappc_b64;
}

/* Notes where the jump or call goes, if the path has told. */
static bool resolve(struct isa_marks *m,
                    const struct isa_getpc *pc,
                    const struct em_op *op,
                    bool call)
{
    uint32_t to;
    if (!isa_getpc_target(pc, op, &to) || to >= em_code_count(m->code)) {
        return false;
    }
    mark_at(m, op->index)->target = to;
    push(m, to, call ? LEADER | ROOT : LEADER);
    return true;
}

/* From a dword that was marked on; stops at what was seen before. */
static void follow(struct isa_marks *m, uint32_t i)
{
    struct isa_getpc pc = { .known = false };
    for (;;) {
        const struct em_op *op = em_code_at(m->code, i);
        struct paths p = paths_of(op);
        isa_getpc_step(&pc, op);
        if (p.indirect && is_through_register(op)) {
            p.indirect = !resolve(m, &pc, op, p.call);
        }
        bool ends = p.target || p.indirect || !p.on || p.call;
        m->indirect = m->indirect || p.indirect;
        m->calls = m->calls || p.call;
        if (p.target) {
            push(m, target_of(op), p.call ? LEADER | ROOT : LEADER);
        }
        i = op->next;
        if (ends && p.on) {
            push(m, i, LEADER);
        }
        if (ends || i >= em_code_count(m->code)) {
            return;
        }
        struct mark *k = mark_at(m, i);
        if (k->bits & SEEN) {
            k->bits |= LEADER; /* two paths join */
            return;
        }
        k->bits |= SEEN;
    }
}

static void drain(struct isa_marks *m)
{
    while (m->waiting > 0) {
        follow(m, m->todo[--m->waiting]);
    }
}

/* Everything between entry and end that nothing reached so far; alignment's s_nop and
 * what is no instruction begin nothing. */
static void sweep(struct isa_marks *m, uint32_t entry, uint32_t end)
{
    uint32_t i = entry;
    while (i < end && i < em_code_count(m->code)) {
        const struct em_op *op = em_code_at(m->code, i);
        bool unknown = op->in.op == 0 && op->in.encoding == EM_SOP2;
        bool filler = unknown || op->in.op == EM_s_nop;
        if ((mark_at(m, i)->bits & SEEN) == 0 && !filler) {
            push(m, i, LEADER | ROOT);
            drain(m);
        }
        i = op->next;
    }
}

/* --- blocks --- */

static bool is_leader(struct isa_marks *m, uint32_t i)
{
    return i < em_code_count(m->code) && (mark_at(m, i)->bits & LEADER) != 0;
}

static uint32_t block_at(struct isa_marks *m, uint32_t i)
{
    return is_leader(m, i) ? mark_at(m, i)->block : ISA_NO_BLOCK;
}

static size_t number_leaders(struct isa_marks *m, uint32_t low, uint32_t high)
{
    size_t n = 0;
    for (uint32_t i = low; i < high; i++) {
        if (is_leader(m, i)) {
            mark_at(m, i)->block = (uint32_t)n++;
        }
    }
    return n;
}

static void fill_block(struct isa_marks *m, struct isa_block *b)
{
    uint32_t i = b->first;
    b->succ[0] = b->succ[1] = ISA_NO_BLOCK;
    for (;;) {
        const struct em_op *op = em_code_at(m->code, i);
        struct paths p = paths_of(op);
        b->count++;
        b->end = op->next;
        i = op->next;
        uint32_t to = p.target ? target_of(op) : mark_at(m, op->index)->target;
        if (!p.call && to != ISA_NO_BLOCK) {
            b->succ[1] = block_at(m, to);
        }
        bool ends = p.target || p.indirect || !p.on || i >= em_code_count(m->code) ||
                    is_leader(m, i);
        if (ends) {
            b->succ[0] = p.on ? block_at(m, i) : ISA_NO_BLOCK;
            return;
        }
    }
}

enum wf_status isa_flow_build(struct isa_marks *marks,
                              uint32_t entry,
                              uint32_t end,
                              struct isa_flow *ret,
                              struct wf_error *err)
{
    marks->kernel++;
    marks->low = (uint32_t)em_code_count(marks->code);
    marks->high = 0;
    marks->indirect = marks->calls = false;
    push(marks, entry, LEADER | ROOT);
    drain(marks);
    if (marks->indirect) {
        sweep(marks, entry, end);
    }
    uint32_t low = marks->low;
    uint32_t high = marks->high;
    struct isa_flow f = { .code = marks->code };
    f.block_count = number_leaders(marks, low, high);
    f.block = wf_calloc(f.block_count + 1, sizeof(*f.block));
    if (f.block == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu blocks", f.block_count);
    }
    for (uint32_t i = low; i < high; i++) {
        if (is_leader(marks, i)) {
            struct isa_block *b = &f.block[mark_at(marks, i)->block];
            b->first = i;
            b->root = (mark_at(marks, i)->bits & ROOT) != 0;
            fill_block(marks, b);
            f.instructions += b->count;
        }
    }
    f.indirect = marks->indirect;
    f.calls = marks->calls;
    *ret = f;
    return WF_OK;
}

void isa_flow_fini(struct isa_flow *f)
{
    free(f->block);
    *f = (struct isa_flow){ .block = NULL };
}

const struct em_op *isa_flow_next(const struct isa_flow *f,
                                  const struct isa_block *b,
                                  uint32_t *at)
{
    if (*at >= b->end) {
        return NULL;
    }
    const struct em_op *op = em_code_at(f->code, *at);
    *at = op->next;
    return op;
}
