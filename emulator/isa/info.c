/* The tables of operations, and the numbers that they have in their encodings. */
#include "emulator/isa/tables.h"

const struct em_op_info em_infos[EM_OPCODES] = {
#define OP(name, dst, s0, s1, s2) \
    [EM_##name] = { #name, EM_##dst, { EM_##s0, EM_##s1, EM_##s2 } },
#include "emulator/isa/ops_memory.def"
#include "emulator/isa/ops_scalar.def"
#include "emulator/isa/ops_vector.def"
#undef OP
};

enum {
    MOD0 = EM_FORM_MOD0,
    MOD1 = EM_FORM_MOD1,
    MOD2 = EM_FORM_MOD2,
    SEXT1 = EM_FORM_SEXT1,
    SEXT2 = EM_FORM_SEXT2,
    LOOSE = EM_FORM_LOOSE,
    CLAMP = EM_FORM_CLAMP,
    OMOD = EM_FORM_OMOD,
    SEL = EM_FORM_SEL,
    DPP = EM_FORM_DPP,
    SDWA = EM_FORM_SDWA,
    MASK_OUT = EM_FORM_MASK_OUT,
    MASK_IN = EM_FORM_MASK_IN,
    READS_DST = EM_FORM_READS_DST
};

const uint16_t em_forms[EM_OPCODES] = {
#define FORM(name, flags) [EM_##name] = (flags),
#include "emulator/isa/forms.def"
#undef FORM
};

/* One more than the number, so that 0 is none. */
static const uint16_t numbers[EM_OPCODES][EM_ENCODINGS] = {
#define ENC(encoding, number, name) [EM_##name][EM_##encoding] = (number) + 1,
#include "emulator/isa/enc_memory.def"
#include "emulator/isa/enc_scalar.def"
#include "emulator/isa/enc_vector.def"
#undef ENC
};

static const uint8_t type_dwords[] = {
    [EM_B16] = 1,  [EM_B32] = 1,  [EM_B64] = 2,  [EM_B96] = 3,   [EM_B128] = 4,
    [EM_B160] = 5, [EM_B192] = 6, [EM_B256] = 8, [EM_B512] = 16, [EM_B1024] = 32,
    [EM_F16] = 1,  [EM_F32] = 1,  [EM_F64] = 2,  [EM_I8] = 1,    [EM_U8] = 1,
    [EM_I16] = 1,  [EM_U16] = 1,  [EM_I32] = 1,  [EM_U32] = 1,   [EM_I64] = 2,
    [EM_U64] = 2,  [EM_PF16] = 1, [EM_PI16] = 1, [EM_PU16] = 1,  [EM_PB16] = 1,
    [EM_PF32] = 2, [EM_PB32] = 2, [EM_MASK] = 2,
};

const struct em_op_info *em_op_info(enum em_opcode op)
{
    return &em_infos[op];
}

unsigned em_type_dwords(enum em_type type)
{
    return type_dwords[type];
}

int em_number(enum em_opcode op, enum em_encoding encoding)
{
    return (int)numbers[op][encoding] - 1;
}
