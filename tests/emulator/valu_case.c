/* Instructions and registers for the tests of vector arithmetic. */
#include "tests/emulator/valu_case.h"

uint64_t case_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

uint32_t case_value(uint64_t *state)
{
    static const uint32_t edges[] = {
        0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 0x00007fff,
        0x00008000, 0xffff8000, 0x0000ffff, 0x00010000, 0x007fffff, 0x00800000,
        0x00ffffff, 0x01000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
        0xffa00000, 0x80000001, 0x3f800000, 0xbf800000, 0x7c007c00, 0xfc00fc00,
        0x7e007c01, 0x03ff0001, 0x80008001, 0x3c00bc00, 0x7ff00000, 0xfff00000,
        0x7ff80000, 0x000fffff, 0x00100000, 0x0c0d0e0f, 0x04050607, 0x08090a0b,
    };
    uint64_t random = case_random(state);
    uint32_t bits = (uint32_t)(random >> 32);
    switch (random & 7) {
    case 0:
    case 1:
        return edges[bits % (sizeof(edges) / sizeof(edges[0]))];
    case 2:
        return (UINT32_C(1) << (bits % 32)) - (bits >> 30 & 1);
    case 3:
        return bits % 80; /* shift counts, small numbers */
    case 4:
        return (uint32_t)((int32_t)bits >> (bits % 32));
    default:
        return bits;
    }
}

uint64_t case_exec(uint64_t *state)
{
    uint64_t random = case_random(state);
    switch (random >> 61) {
    case 0:
        return 0;
    case 1:
        return UINT64_C(1) << (random >> 8 & 63);
    case 2:
    case 3:
        return case_random(state);
    default:
        return ~UINT64_C(0);
    }
}

static struct em_operand absent(unsigned type)
{
    return (struct em_operand){ EM_NONE, 0, (uint8_t)type };
}

struct em_inst case_inst(enum em_opcode op, enum em_encoding encoding)
{
    const struct em_op_info *info = em_op_info(op);
    struct em_inst in;
    memset(&in, 0, sizeof(in));
    in.op = (uint16_t)op;
    in.encoding = (uint8_t)encoding;
    in.bytes = encoding == EM_VOP3 || encoding == EM_VOP3P ? 8 : 4;
    in.dst = absent(info->dst);
    in.sdst = absent(EM_MASK);
    for (unsigned i = 0; i < 3; i++) {
        in.src[i] = absent(info->src[i]);
    }
    in.src[3] = absent(EM_MASK);
    in.op_sel_hi = encoding == EM_VOP3P ? 7 : 0;
    in.row_mask = 15;
    in.bank_mask = 15;
    in.dst_sel = in.src_sel[0] = in.src_sel[1] = EM_SEL_DWORD;
    return in;
}

static void place(struct em_operand *o, uint16_t code)
{
    o->code = code;
    o->dwords = (uint8_t)em_type_dwords((enum em_type)o->type);
}

void case_dst(struct em_inst *in, uint16_t code)
{
    place(&in->dst, code);
}

void case_src(struct em_inst *in, unsigned i, uint16_t code)
{
    place(&in->src[i], code);
}

void case_mask(struct em_inst *in, uint16_t code)
{
    place(&in->src[3], code);
}

void case_sdst(struct em_inst *in, uint16_t code)
{
    place(&in->sdst, code);
}

void case_fill(struct em_wave *w, unsigned rows, uint64_t *state)
{
    for (unsigned i = 0; i < rows * EM_LANES; i++) {
        w->v[i] = case_value(state);
    }
    for (unsigned i = 0; i < 32; i++) {
        w->s[i] = case_value(state);
    }
    em_set_s64(w, EM_VCC, case_random(state));
}
