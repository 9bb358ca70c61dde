/* Finds what runs a scalar instruction, and keeps track of which scalar registers hold
 * a value that was written. */
#include "emulator/exec/scalar_internal.h"

static bool is_exec(struct em_operand o)
{
    return o.code >= EM_EXEC && o.code < EM_SCALARS;
}

/* Whether the values that the result is made of were written. EXEC is, and is not among
 * op->read. */
static bool sources_written(const struct em_shadow *s, const struct em_op *op)
{
    bool all = !(op->flags & EM_READS_SCC) || s->scc;
    bool any = is_exec(op->in.src[0]) || is_exec(op->in.src[1]);
    for (unsigned i = 0; i < op->reads; i++) {
        struct em_operand o = { .code = op->read[i].first,
                                .dwords = (uint8_t)op->read[i].count };
        bool one = em_shadow_get(s, o) != 0;
        all = all && one;
        any = any || one;
    }
    return op->flags & EM_ANY_WRITTEN ? all || any : all;
}

static bool writes_exec(const struct em_op *op)
{
    return is_exec(op->in.dst);
}

enum em_flow em_scalar_track(struct em_wave *w, const struct em_op *op)
{
    struct em_shadow *s = w->shadow;
    bool written = sources_written(s, op);
    if (!written && writes_exec(op)) {
        for (unsigned i = 0; i < 4; i++) {
            if (op->in.src[i].code < EM_SCALARS &&
                em_shadow_use(w, op, op->in.src[i], ~UINT64_C(0), "EXEC") != EM_GO) {
                return EM_FAULTED;
            }
        }
    }
    for (unsigned i = 0; i < op->writes; i++) {
        em_shadow_set_scalar(s, op->written[i].first, op->written[i].count, written);
    }
    if (op->flags & EM_WRITES_SCC) {
        s->scc = written;
    }
    return EM_GO;
}

static const struct em_scalar_row *find(const struct em_scalar_row *rows, uint16_t op)
{
    for (; rows->run; rows++) {
        if (rows->op == op) {
            return rows;
        }
    }
    return NULL;
}

static const struct em_scalar_row *find_row(uint16_t op)
{
    static const struct em_scalar_row *const tables[] = {
        em_scalar_math, em_scalar_bits, em_scalar_state, em_scalar_branch,
        em_scalar_memory
    };
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        const struct em_scalar_row *row = find(tables[i], op);
        if (row) {
            return row;
        }
    }
    return NULL;
}

/* Constants are read once, here. */
static void read_constants(struct em_op *op)
{
    static const struct em_wave none; /* constants do not ask for a wave */
    for (unsigned i = 0; i < 2; i++) {
        struct em_operand o = op->in.src[i];
        if (o.code >= EM_SCALARS && o.code < EM_VGPR0) {
            op->data[i] = o.dwords == 2 ? em_scalar64(&none, &op->in, o)
                                        : em_scalar32(&none, &op->in, o);
        }
    }
}

/* Outside of a trap handler its registers read as 0 and are not written. */
static enum em_flow run_without_ttmp(struct em_wave *w, const struct em_op *op)
{
    enum em_flow flow = ((em_run_fn)op->fn)(w, op);
    memset(&w->s[EM_TTMP0], 0, (EM_M0 - EM_TTMP0) * sizeof(w->s[0]));
    return flow;
}

bool em_bind_scalar(struct em_op *op)
{
    if (op->in.encoding > EM_SMEM) {
        return false;
    }
    const struct em_scalar_row *row = find_row(op->in.op);
    if (!row) {
        return false;
    }
    op->run = row->run;
    op->flags = row->flags;
    op->class = row->class;
    read_constants(op);
    if (op->in.dst.code >= EM_TTMP0 && op->in.dst.code < EM_M0) {
        op->fn = (void (*)(void))row->run;
        op->run = run_without_ttmp;
    }
    return true;
}
