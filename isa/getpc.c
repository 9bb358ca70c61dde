#include "isa/getpc.h"

/* The low and the high half are added one after the other; as one number of 64 bits the
 * carry needs no following. */
static bool constant_of(const struct isa_getpc *g,
                        const struct em_inst *in,
                        const struct em_operand *o,
                        uint32_t *ret)
{
    if (o->code == EM_LITERAL) {
        *ret = in->literal;
        return true;
    }
    if (o->code >= EM_INT_0 && o->code <= EM_INT_0 + 64) {
        *ret = (uint32_t)(o->code - EM_INT_0);
        return true;
    }
    if (o->code > EM_INT_0 + 64 && o->code <= EM_INT_0 + 80) { /* -1..-16 */
        *ret = (uint32_t)(EM_INT_0 + 64 - (int)o->code);
        return true;
    }
    *ret = g->constant;
    return g->constant_known && o->code == g->constant_in;
}

static bool writes(const struct em_inst *in, uint16_t code)
{
    return in->dst.code != EM_NONE && code >= in->dst.code &&
           code < in->dst.code + in->dst.dwords;
}

/* s_add_u32 of the low half, s_addc_u32 of the high one. */
static bool add_half(struct isa_getpc *g, const struct em_inst *in)
{
    uint32_t value;
    bool low = in->op == EM_s_add_u32 && in->dst.code == g->first;
    bool high = in->op == EM_s_addc_u32 && in->dst.code == g->first + 1;
    if (!g->known || !(low || high) || in->src[0].code != in->dst.code ||
        !constant_of(g, in, &in->src[1], &value)) {
        return false;
    }
    g->offset += high ? (uint64_t)value << 32 : value;
    return true;
}

/* s_mov_b32 s8, 4; s_add_i32 s8, label, 4 */
static void note_constant(struct isa_getpc *g, const struct em_inst *in)
{
    uint32_t a = 0;
    uint32_t b = 0;
    bool sum = in->op == EM_s_add_i32 || in->op == EM_s_add_u32;
    bool known = (in->op == EM_s_mov_b32 || sum) &&
                 constant_of(g, in, &in->src[0], &a) &&
                 (!sum || constant_of(g, in, &in->src[1], &b));
    if (known && in->dst.dwords == 1) {
        g->constant_known = true;
        g->constant_in = in->dst.code;
        g->constant = a + b;
    } else if (writes(in, g->constant_in)) {
        g->constant_known = false;
    }
}

void isa_getpc_step(struct isa_getpc *g, const struct em_op *op)
{
    const struct em_inst *in = &op->in;
    if (in->op == EM_s_getpc_b64) {
        g->known = true;
        g->first = in->dst.code;
        g->offset = 4 * (uint64_t)op->next;
    } else if (!add_half(g, in) &&
               (writes(in, g->first) || writes(in, (uint16_t)(g->first + 1)))) {
        g->known = false;
    }
    note_constant(g, in);
}

bool isa_getpc_target(const struct isa_getpc *g, const struct em_op *op, uint32_t *ret)
{
    if (!g->known || op->in.src[0].code != g->first || g->offset % 4 != 0 ||
        g->offset / 4 > UINT32_MAX) {
        return false;
    }
    *ret = (uint32_t)(g->offset / 4);
    return true;
}
