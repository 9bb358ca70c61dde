/* The run loop: the hot path of everything. Kernels that skip vector instructions or
 * that name registers which they did not ask for take the careful loop, others the
 * plain one.
 */
#include "emulator/check/fault.h"
#include "emulator/check/shadow.h"
#include "emulator/count/count.h"
#include "emulator/exec/code.h"

/* A register of a span that is behind what the kernel allocated; -1: none. */
static int beyond_limits(const struct em_wave *w, const struct em_span *s)
{
    unsigned end = (unsigned)s->first + s->count;
    unsigned limit = EM_SCALARS;
    if (s->first >= EM_AGPR0) {
        limit = EM_AGPR0 + w->agprs;
    } else if (s->first >= EM_VGPR0) {
        limit = EM_VGPR0 + w->vgprs;
    } else if (s->first < EM_FLAT_SCRATCH) {
        limit = w->sgprs;
    }
    return end > limit ? (int)end - 1 : -1;
}

static int bad_register(const struct em_wave *w, const struct em_op *op)
{
    int bad = -1;
    for (unsigned i = 0; i < op->reads && bad < 0; i++) {
        bad = beyond_limits(w, &op->read[i]);
    }
    for (unsigned i = 0; i < op->writes && bad < 0; i++) {
        bad = beyond_limits(w, &op->written[i]);
    }
    return bad;
}

static enum em_flow fault_register(struct em_wave *w, const struct em_op *op)
{
    unsigned code = (unsigned)bad_register(w, op);
    char kind = code >= EM_AGPR0 ? 'a' : code >= EM_VGPR0 ? 'v' : 's';
    unsigned base = code >= EM_AGPR0 ? EM_AGPR0 : code >= EM_VGPR0 ? EM_VGPR0 : 0;
    unsigned limit = kind == 'a' ? w->agprs : kind == 'v' ? w->vgprs : w->sgprs;
    return em_fault(w, op, EM_FAULT_BAD_REGISTER, -1, NULL,
                    "%c%u: the kernel allocates %u registers of that kind", kind,
                    code - base, limit);
}

/* What s_setvskip makes waves pass over. */
static bool is_vector(const struct em_inst *in)
{
    return in->encoding >= EM_VOP1;
}

static enum em_flow step(struct em_wave *w, const struct em_op *op)
{
    if (w->counts) {
        w->counts->executed[op->index]++;
    }
    if (w->shadow && w->shadow->outstanding && em_shadow_pending(w, op) != EM_GO) {
        return EM_FAULTED;
    }
    return op->run(w, op);
}

static enum em_flow run_careful(struct em_wave *w, uint64_t until)
{
    while (w->instructions < until) {
        const struct em_op *op = em_code_at(w->code, w->pc);
        w->instructions++;
        enum em_flow flow = EM_GO;
        if (!(w->mode & EM_MODE_VSKIP && is_vector(&op->in))) {
            flow = bad_register(w, op) < 0 ? step(w, op) : fault_register(w, op);
        }
        if (flow == EM_GO) {
            w->pc = op->next;
        } else if (flow != EM_JUMPED) {
            return flow;
        }
    }
    return EM_GO;
}

/* Returns EM_JUMPED where the careful loop has to go on. */
static enum em_flow run_plain(struct em_wave *w, uint64_t until)
{
    const struct em_op *ops = em_code_at(w->code, 0);
    uint64_t *executed = w->counts ? w->counts->executed : NULL;
    const struct em_shadow *shadow = w->shadow;
    while (w->instructions < until) {
        const struct em_op *op = ops + w->pc;
        w->instructions++;
        if (executed) {
            executed[w->pc]++;
        }
        if (shadow && shadow->outstanding && em_shadow_pending(w, op) != EM_GO) {
            return EM_FAULTED;
        }
        enum em_flow flow = op->run(w, op);
        if (flow == EM_GO) {
            w->pc = op->next;
        } else if (flow != EM_JUMPED) {
            return flow;
        } else if (w->mode & EM_MODE_VSKIP) {
            return EM_JUMPED;
        }
    }
    return EM_GO;
}

enum em_flow em_wave_run(struct em_wave *w, uint64_t until)
{
    enum em_flow flow = EM_JUMPED;
    if (!w->careful && !(w->mode & EM_MODE_VSKIP)) {
        flow = run_plain(w, until);
    }
    if (flow == EM_JUMPED) {
        flow = run_careful(w, until);
    }
    if (flow == EM_BARRIER || flow == EM_PAUSED) {
        w->pc = em_code_at(w->code, w->pc)->next;
    }
    return flow;
}
