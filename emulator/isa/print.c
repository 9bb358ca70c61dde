/* Prints instructions as LLVM's disassembler does: mnemonic, operands, modifiers. */
#include "emulator/isa/print.h"

#include <stdarg.h>
#include <stdio.h>

void em_put(struct em_text *t, const char *format, ...)
{
    const size_t at = t->length < t->bytes ? t->length : t->bytes;
    va_list list;
    va_start(list, format);
    const int n =
        vsnprintf(t->bytes ? t->text + at : NULL, t->bytes - at, format, list);
    va_end(list);
    t->length += n > 0 ? (size_t)n : 0;
}

void em_put_separator(struct em_text *t)
{
    em_put(t, t->operands ? ", " : " ");
    t->operands++;
}

static const char *const special[] = {
    [EM_FLAT_SCRATCH] = "flat_scratch_lo",
    [EM_FLAT_SCRATCH + 1] = "flat_scratch_hi",
    [EM_XNACK_MASK] = "xnack_mask_lo",
    [EM_XNACK_MASK + 1] = "xnack_mask_hi",
    [EM_VCC] = "vcc_lo",
    [EM_VCC + 1] = "vcc_hi",
    [EM_M0] = "m0",
    [EM_EXEC] = "exec_lo",
    [EM_EXEC + 1] = "exec_hi",
    [EM_SHARED_BASE] = "src_shared_base",
    [EM_SHARED_LIMIT] = "src_shared_limit",
    [EM_PRIVATE_BASE] = "src_private_base",
    [EM_PRIVATE_LIMIT] = "src_private_limit",
    [EM_POPS_EXITING_WAVE_ID] = "src_pops_exiting_wave_id",
    [EM_VCCZ] = "src_vccz",
    [EM_EXECZ] = "src_execz",
    [EM_SCC] = "src_scc",
    [EM_LDS_DIRECT] = "src_lds_direct",
};

static const char *const pairs[] = {
    [EM_FLAT_SCRATCH] = "flat_scratch",
    [EM_XNACK_MASK] = "xnack_mask",
    [EM_VCC] = "vcc",
    [EM_EXEC] = "exec",
};

static const char *const floats[] = {
    "0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0",
};

static void put_registers(struct em_text *t,
                          const char *kind,
                          unsigned first,
                          unsigned count)
{
    if (count == 1) {
        em_put(t, "%s%u", kind, first);
    } else {
        em_put(t, "%s[%u:%u]", kind, first, first + count - 1);
    }
}

static void put_scalar(struct em_text *t, unsigned code, unsigned dwords)
{
    if (code < EM_FLAT_SCRATCH) {
        put_registers(t, "s", code, dwords);
    } else if (code >= EM_TTMP0 && code < EM_M0) {
        put_registers(t, "ttmp", code - EM_TTMP0, dwords);
    } else if (dwords == 2 && code < EM_INT_0 && pairs[code]) {
        em_put(t, "%s", pairs[code]);
    } else {
        em_put(t, "%s", special[code] ? special[code] : "?");
    }
}

static bool is_integer16(enum em_type type)
{
    return type == EM_I16 || type == EM_U16 || type == EM_B16;
}

/* Those whose 16-bit operand is printed as if it had 32. */
static bool is_printed_wide(enum em_opcode op)
{
    return op == EM_v_ldexp_f16 || op == EM_v_cmp_class_f16 ||
           op == EM_v_cmpx_class_f16;
}

static void put_constant(struct em_text *t,
                         const struct em_inst *in,
                         struct em_operand operand)
{
    /* 0.5 and so on, as bits of 16: integers of 16 bits are printed so */
    static const uint16_t halves[] = { 0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                       0xc000, 0x4400, 0xc400, 0x3118 };
    const unsigned code = operand.code;
    if (code <= EM_INT_0 + 64) {
        em_put(t, "%u", code - EM_INT_0);
    } else if (code <= EM_INT_0 + 80) {
        em_put(t, "-%u", code - EM_INT_0 - 64);
    } else if (code < EM_FLOAT_HALF || code > EM_FLOAT_INV_2PI) {
        put_scalar(t, code, operand.dwords);
    } else if (is_integer16(operand.type) && !is_printed_wide(in->op)) {
        em_put(t, "0x%x", halves[code - EM_FLOAT_HALF]);
    } else if (code < EM_FLOAT_INV_2PI) {
        em_put(t, "%s", floats[code - EM_FLOAT_HALF]);
    } else {
        const bool full =
            operand.dwords == 2 && operand.type != EM_PF32 && operand.type != EM_PB32;
        em_put(t, full ? "0.15915494309189532" : "0.15915494");
    }
}

/* The bits of 0.5, ... -4, 1/(2 pi) in the formats that literals have. */
static const uint32_t float_bits[3][9] = {
    { 0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000,
      0x40800000, 0xc0800000, 0x3e22f983 },
    { 0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118 },
    { 0x3fe00000, 0xbfe00000, 0x3ff00000, 0xbff00000, 0x40000000, 0xc0000000,
      0x40100000, 0xc0100000, 0x3fc45f30 },
};

/* The name of the inline constant of these bits, or NULL. */
static const char *float_name(uint32_t value, unsigned format)
{
    const unsigned count = format == 2 ? 8 : 9;
    for (unsigned i = 0; i < count; i++) {
        if (value == float_bits[format][i]) {
            return i < 8 ? floats[i] : "0.15915494";
        }
    }
    return NULL;
}

/* A literal that is an inline constant's value is printed as that. */
void em_put_literal(struct em_text *t, uint32_t value, enum em_type type)
{
    const bool half = type == EM_F16;
    const bool wide = em_type_dwords(type) == 2;
    int64_t integer = (int32_t)value;
    const char *name = NULL;
    if (half) {
        value &= 0xffff;
        integer = (int16_t)value;
    } else if (wide) {
        integer = type == EM_F64 ? (int64_t)((uint64_t)value << 32) : (int64_t)value;
    }
    if (!wide || type == EM_F64) {
        name = float_name(value, half || type == EM_PF16 ? 1 : wide ? 2 : 0);
    }
    if (integer >= -16 && integer <= 64) {
        em_put(t, "%d", (int)integer);
    } else if (name) {
        em_put(t, "%s", name);
    } else {
        em_put(t, "0x%x", is_integer16(type) ? value & 0xffff : value);
    }
}

void em_put_value(struct em_text *t,
                  const struct em_inst *in,
                  struct em_operand operand)
{
    const unsigned code = operand.code;
    if (code >= EM_AGPR0) {
        put_registers(t, "a", code - EM_AGPR0, operand.dwords);
    } else if (code >= EM_VGPR0) {
        put_registers(t, "v", code - EM_VGPR0, operand.dwords);
    } else if (code == EM_LITERAL) {
        em_put_literal(t, in->literal, operand.type);
    } else if (code >= EM_INT_0) {
        put_constant(t, in, operand);
    } else {
        put_scalar(t, code, operand.dwords);
    }
}

void em_put_operand(struct em_text *t,
                    const struct em_inst *in,
                    struct em_operand operand)
{
    if (operand.code != EM_NONE) {
        em_put_separator(t);
        em_put_value(t, in, operand);
    }
}

typedef void (*print_fn)(struct em_text *t, const struct em_inst *in);

static const print_fn printers[EM_ENCODINGS] = {
    [EM_SOP2] = em_print_scalar,  [EM_SOPK] = em_print_scalar,
    [EM_SOP1] = em_print_scalar,  [EM_SOPC] = em_print_scalar,
    [EM_SOPP] = em_print_scalar,  [EM_SMEM] = em_print_smem,
    [EM_VOP1] = em_print_vop,     [EM_VOP2] = em_print_vop,
    [EM_VOPC] = em_print_vop,     [EM_VOP3] = em_print_vop,
    [EM_VOP3P] = em_print_vop3p,  [EM_DS] = em_print_ds,
    [EM_FLAT] = em_print_flat,    [EM_GLOBAL] = em_print_flat,
    [EM_SCRATCH] = em_print_flat, [EM_MUBUF] = em_print_buffer,
    [EM_MTBUF] = em_print_buffer,
};

size_t em_print(const struct em_inst *inst, char *text, size_t bytes)
{
    struct em_text t = { .text = text, .bytes = bytes };
    if (bytes) {
        text[0] = '\0';
    }
    em_put(&t, "%s", em_infos[inst->op].name);
    printers[inst->encoding](&t, inst);
    return t.length;
}
