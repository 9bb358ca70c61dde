/* Walks the code that a kernel can reach: does the order of its workgroups matter, and
 * which registers does it name. */
#include "core/buf.h"
#include "emulator/exec/code.h"

#include <stdlib.h>

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

/* An atomic on global memory that gives the old value back, or whose result depends on
 * the order in which it is applied: floating-point addition rounds, the last exchange
 * wins, wrapping counters have a limit each. */
static bool ordered_atomic(const struct em_inst *in, const char *name)
{
    if (in->sc0 || has(name, "swap")) {
        return true;
    }
    if (has(name, "_inc") || has(name, "_dec")) {
        return true;
    }
    return has(name, "_add_f") || has(name, "_pk_add");
}

/* Acquires at the device's scope and loads that go past the caches are how workgroups
 * wait for each other; glc of scalar loads is in sc0. */
static bool waits_for_others(const struct em_inst *in, const char *name)
{
    if (in->op == EM_buffer_inv) {
        return in->sc1;
    }
    if (in->encoding == EM_SMEM) {
        return in->sc0 && has(name, "load_dword");
    }
    return in->sc1 && (has(name, "global_load_dword") || has(name, "flat_load_dword"));
}

static bool op_order_matters(const struct em_op *op)
{
    const struct em_inst *in = &op->in;
    if (in->encoding == EM_DS || in->encoding == EM_SCRATCH || !op->run) {
        return false;
    }
    if (in->encoding != EM_SMEM && in->encoding < EM_FLAT) {
        return false;
    }
    const char *name = em_op_info((enum em_opcode)in->op)->name;
    if (has(name, "atomic")) {
        return ordered_atomic(in, name);
    }
    return waits_for_others(in, name);
}

bool em_code_order_matters(const struct em_code *code)
{
    size_t count = em_code_count(code);
    for (uint32_t i = 0; i < count; i = em_code_at(code, i)->next) {
        if (op_order_matters(em_code_at(code, i))) {
            return true;
        }
    }
    return false;
}

static void note_span(struct em_reach *r, const struct em_span *s)
{
    unsigned end = (unsigned)s->first + s->count;
    if (s->first >= EM_AGPR0) {
        r->agprs = end - EM_AGPR0 > r->agprs ? end - EM_AGPR0 : r->agprs;
    } else if (s->first >= EM_VGPR0) {
        r->vgprs = end - EM_VGPR0 > r->vgprs ? end - EM_VGPR0 : r->vgprs;
    } else if (s->first < EM_FLAT_SCRATCH) {
        r->sgprs = end > r->sgprs ? end : r->sgprs;
    }
}

static void note(struct em_reach *r, const struct em_op *op)
{
    for (unsigned i = 0; i < op->reads; i++) {
        note_span(r, &op->read[i]);
    }
    for (unsigned i = 0; i < op->writes; i++) {
        note_span(r, &op->written[i]);
    }
    r->order_matters = r->order_matters || op_order_matters(op);
}

static void note_all(struct em_reach *r, const struct em_code *code)
{
    size_t count = em_code_count(code);
    for (uint32_t i = 0; i < count; i = em_code_at(code, i)->next) {
        note(r, em_code_at(code, i));
    }
}

enum path {
    PATH_ON,       /* to the next instruction */
    PATH_FORKS,    /* to the next one and to the target */
    PATH_TARGET,   /* to the target */
    PATH_END,      /* nowhere */
    PATH_ANYWHERE, /* where a register says */
};

static enum path path_of(const struct em_op *op)
{
    switch (op->in.op) {
    case EM_s_branch:
        return PATH_TARGET;
    case EM_s_call_b64:
        return PATH_ANYWHERE; /* its return is through a register */
    case EM_s_endpgm:
    case EM_s_endpgm_saved:
    case EM_s_endpgm_ordered_ps_done:
        return PATH_END;
    case EM_s_setpc_b64:
    case EM_s_swappc_b64:
    case EM_s_cbranch_g_fork:
    case EM_s_cbranch_join:
        return PATH_ANYWHERE;
    default:
        return op->class == EM_CLASS_BRANCH ? PATH_FORKS : PATH_ON;
    }
}

struct walk {
    const struct em_code *code;
    uint8_t *seen;  /* bit a dword */
    uint32_t *todo; /* branch targets; each dword comes in once at most */
    size_t waiting;
};

static bool visit(struct walk *walk, uint32_t i)
{
    if (i >= em_code_count(walk->code) || walk->seen[i / 8] >> (i % 8) & 1) {
        return false;
    }
    walk->seen[i / 8] = (uint8_t)(walk->seen[i / 8] | 1U << (i % 8));
    return true;
}

/* Follows one path until it ends or joins what was seen; false: it may go anywhere. */
static bool follow(struct walk *walk, uint32_t i, struct em_reach *r)
{
    do {
        const struct em_op *op = em_code_at(walk->code, i);
        note(r, op);
        enum path path = path_of(op);
        if (path == PATH_ANYWHERE) {
            return false;
        }
        if (path == PATH_END) {
            return true;
        }
        uint32_t target = op->next + (uint32_t)op->in.offset;
        if (path == PATH_FORKS && visit(walk, target)) {
            walk->todo[walk->waiting++] = target;
        }
        i = path == PATH_TARGET ? target : op->next;
    } while (visit(walk, i));
    return true;
}

enum wf_status em_code_reach(const struct em_code *code,
                             uint32_t entry,
                             struct em_reach *ret,
                             struct wf_error *err)
{
    size_t count = em_code_count(code);
    struct walk walk = { .code = code };
    walk.seen = wf_calloc(count / 8 + 1, 1);
    walk.todo = wf_calloc(count + 1, sizeof(*walk.todo));
    struct em_reach r = { 0 };
    enum wf_status status = WF_OK;
    if (!walk.seen || !walk.todo) {
        status = wf_errorf(err, WF_ENOMEM, "no memory to walk %zu dwords", count);
        goto out;
    }
    if (visit(&walk, entry)) {
        walk.todo[walk.waiting++] = entry;
    }
    while (walk.waiting > 0) {
        if (!follow(&walk, walk.todo[--walk.waiting], &r)) {
            note_all(&r, code);
            break;
        }
    }
    *ret = r;
out:
    free(walk.seen);
    free(walk.todo);
    return status;
}
