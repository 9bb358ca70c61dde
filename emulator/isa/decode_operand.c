/* Operands: which codes there are, and which registers they span. */
#include "emulator/isa/tables.h"

static void set(struct em_operand *ret, unsigned code, enum em_type type)
{
    ret->code = (uint16_t)code;
    ret->dwords = (uint8_t)em_type_dwords(type);
    ret->type = (uint8_t)type;
}

/* A scalar register of `dwords`: SGPR tuples begin on a multiple of their size, of 4 at
 * most, and the bits below are ignored; the special pairs begin on an even code. */
static bool scalar_register(unsigned code, unsigned dwords, unsigned *ret)
{
    const unsigned align = dwords >= 4 ? 4 : dwords;
    const unsigned first = code & ~(align - 1);
    *ret = first;
    if (code < EM_FLAT_SCRATCH) {
        return first + dwords <= EM_FLAT_SCRATCH;
    }
    if (code >= EM_TTMP0 && code < EM_M0) {
        return first + dwords <= EM_M0;
    }
    if (code == EM_M0 || code == EM_M0 + 1) {
        return code == EM_M0 && dwords == 1;
    }
    return code < EM_INT_0 && dwords <= 2 && first == code;
}

static bool is_constant(unsigned code)
{
    return (code >= EM_INT_0 && code <= EM_INT_0 + 80) ||
           (code >= EM_SHARED_BASE && code <= EM_FLOAT_INV_2PI) ||
           (code >= EM_VCCZ && code <= EM_SCC);
}

bool em_take_scalar_dst(unsigned code, enum em_type type, struct em_operand *ret)
{
    unsigned first = 0;
    if (!scalar_register(code, em_type_dwords(type), &first)) {
        return false;
    }
    set(ret, first, type);
    return true;
}

bool em_take_scalar(struct em_words *w,
                    struct em_inst *in,
                    unsigned code,
                    enum em_type type,
                    struct em_operand *ret)
{
    if (code < EM_INT_0) {
        return em_take_scalar_dst(code, type, ret);
    }
    if (code == EM_LITERAL) {
        in->literal = em_second_word(w, in);
    } else if (!is_constant(code)) {
        return false;
    }
    set(ret, code, type);
    return em_type_dwords(type) <= 2;
}

bool em_take_vgpr(unsigned index, bool acc, enum em_type type, struct em_operand *ret)
{
    const unsigned dwords = em_type_dwords(type);
    set(ret, (acc ? EM_AGPR0 : EM_VGPR0) + index, type);
    /* tuples begin on an even register */
    return index + dwords <= 256 && (dwords == 1 || (index & 1) == 0);
}

bool em_take_source(struct em_words *w,
                    struct em_inst *in,
                    unsigned code,
                    enum em_type type,
                    struct em_operand *ret)
{
    if (code >= EM_VGPR0) {
        return em_take_vgpr(code - EM_VGPR0, false, type, ret);
    }
    if (code == EM_LDS_DIRECT) {
        set(ret, code, type);
        return em_type_dwords(type) == 1;
    }
    return em_take_scalar(w, in, code, type, ret);
}
