/* Reads scalar operands: registers, the constants that operand codes stand for,
 * literals, and the conditions that are kept as bits. */
#include "emulator/exec/wave.h"
#include "emulator/memory/access.h"

/* 0.5 -0.5 1 -1 2 -2 4 -4 1/(2 pi), as F16, F32 and F64. */
static const uint16_t inline_f16[] = { 0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                       0xc000, 0x4400, 0xc400, 0x3118 };
static const uint32_t inline_f32[] = { 0x3f000000, 0xbf000000, 0x3f800000,
                                       0xbf800000, 0x40000000, 0xc0000000,
                                       0x40800000, 0xc0800000, 0x3e22f983 };
static const uint64_t inline_f64[] = { 0x3fe0000000000000, 0xbfe0000000000000,
                                       0x3ff0000000000000, 0xbff0000000000000,
                                       0x4000000000000000, 0xc000000000000000,
                                       0x4010000000000000, 0xc010000000000000,
                                       0x3fc45f306dc9c882 };

static bool is_integer(unsigned code)
{
    return code >= EM_INT_0 && code <= EM_INT_0 + 80;
}

/* 0..64, then -1..-16. */
static int64_t integer_value(unsigned code)
{
    int64_t i = (int64_t)code - EM_INT_0;
    return i <= 64 ? i : 64 - i;
}

static bool is_float(unsigned code)
{
    return code >= EM_FLOAT_HALF && code <= EM_FLOAT_INV_2PI;
}

/* The base is in the high dword; a limit is the last address of the aperture. */
static uint64_t aperture(unsigned code)
{
    uint64_t base = code <= EM_SHARED_LIMIT ? EM_SHARED_APERTURE : EM_PRIVATE_APERTURE;
    bool limit = code == EM_SHARED_LIMIT || code == EM_PRIVATE_LIMIT;
    return limit ? base | UINT32_MAX : base;
}

static uint32_t condition(const struct em_wave *w, unsigned code)
{
    switch (code) {
    case EM_VCCZ:
        return em_s64(w, EM_VCC) == 0;
    case EM_EXECZ:
        return em_exec(w) == 0;
    case EM_SCC:
        return w->scc;
    default:
        return 0;
    }
}

uint32_t em_scalar32(const struct em_wave *w,
                     const struct em_inst *in,
                     struct em_operand operand)
{
    unsigned code = operand.code;
    if (code < EM_SCALARS) {
        return w->s[code];
    }
    if (is_integer(code)) {
        return (uint32_t)integer_value(code);
    }
    if (is_float(code)) {
        unsigned i = code - EM_FLOAT_HALF;
        return operand.type == EM_F16 ? inline_f16[i] : inline_f32[i];
    }
    if (code == EM_LITERAL) {
        return in->literal;
    }
    if (code >= EM_SHARED_BASE && code <= EM_PRIVATE_LIMIT) {
        return (uint32_t)aperture(code);
    }
    return condition(w, code);
}

uint64_t em_scalar64(const struct em_wave *w,
                     const struct em_inst *in,
                     struct em_operand operand)
{
    unsigned code = operand.code;
    if (code + 1 < EM_SCALARS) {
        return em_s64(w, code);
    }
    if (is_integer(code)) {
        return (uint64_t)integer_value(code);
    }
    if (is_float(code)) {
        return inline_f64[code - EM_FLOAT_HALF];
    }
    if (code == EM_LITERAL) {
        switch (operand.type) {
        case EM_F64:
            return (uint64_t)in->literal << 32;
        case EM_I64:
            return (uint64_t)(int64_t)(int32_t)in->literal;
        default:
            return in->literal;
        }
    }
    if (code >= EM_SHARED_BASE && code <= EM_PRIVATE_LIMIT) {
        return aperture(code);
    }
    return condition(w, code);
}
