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

static void put_constant(struct em_text *t, struct em_operand operand)
{
    const unsigned code = operand.code;
    if (code <= EM_INT_0 + 64) {
        em_put(t, "%u", code - EM_INT_0);
    } else if (code <= EM_INT_0 + 80) {
        em_put(t, "-%u", code - EM_INT_0 - 64);
    } else if (code >= EM_FLOAT_HALF && code < EM_FLOAT_INV_2PI) {
        em_put(t, "%s", floats[code - EM_FLOAT_HALF]);
    } else if (code == EM_FLOAT_INV_2PI) {
        em_put(t, operand.dwords == 2 ? "0.15915494309189532" : "0.15915494");
    } else {
        put_scalar(t, code, operand.dwords);
    }
}

/* A literal that is an inline constant's value is printed as that. */
static void put_literal(struct em_text *t, uint32_t value, struct em_operand operand)
{
    static const uint32_t bits[] = {
        0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000,
        0x40000000, 0xc0000000, 0x40800000, 0xc0800000,
    };
    (void)operand;
    const int32_t integer = (int32_t)value;
    if (integer >= -16 && integer <= 64) {
        em_put(t, "%d", integer);
        return;
    }
    for (unsigned i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        if (value == bits[i]) {
            em_put(t, "%s", floats[i]);
            return;
        }
    }
    em_put(t, value == 0x3e22f983 ? "0.15915494" : "0x%x", value);
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
        put_literal(t, in->literal, operand);
    } else if (code >= EM_INT_0) {
        put_constant(t, operand);
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
