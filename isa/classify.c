/* Kinds of instructions, by encoding, by the emulator's class and by name. */
#include "isa/classify.h"

#include <string.h>

static const char *const names[] = {
#define X(NAME, name, words) #name,
    ISA_KINDS(X)
#undef X
};

const char *isa_kind_name(enum isa_kind kind)
{
    return (unsigned)kind < ISA_KIND_COUNT ? names[kind] : "other";
}

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

static enum isa_kind of_lds(const char *name)
{
    if (has(name, "permute") || has(name, "swizzle")) {
        return ISA_LDS_PERMUTE;
    }
    if (strncmp(name, "ds_read", 7) == 0) {
        return ISA_LDS_READ;
    }
    return strncmp(name, "ds_write", 8) == 0 ? ISA_LDS_WRITE : ISA_LDS_ATOMIC;
}

static enum isa_kind of_vmem(const struct em_inst *in, const char *name)
{
    bool load = has(name, "_load");
    if (!load && !has(name, "_store")) {
        return has(name, "atomic") ? ISA_ATOMIC : ISA_OTHER; /* buffer_wbl2, _inv */
    }
    if (load && (in->lds || has(name, "load_lds"))) {
        return ISA_LOAD_LDS;
    }
    if (in->encoding == EM_SCRATCH) {
        return load ? ISA_SCRATCH_LOAD : ISA_SCRATCH_STORE;
    }
    return load ? ISA_LOAD : ISA_STORE;
}

static enum isa_kind of_scalar(const struct em_op *op)
{
    switch (op->in.op) {
    case EM_s_waitcnt:
        return ISA_WAIT;
    case EM_s_nop:
        return ISA_NOP;
    case EM_s_setprio:
        return ISA_PRIORITY;
    case EM_s_sleep:
        return ISA_SLEEP;
    case EM_s_barrier:
        return ISA_BARRIER;
    default:
        break;
    }
    if (op->class == EM_CLASS_BRANCH) {
        return ISA_BRANCH;
    }
    return op->in.encoding == EM_SOPP || op->class == EM_CLASS_OTHER ? ISA_OTHER
                                                                     : ISA_SALU;
}

/* Whatever the emulator cannot run is classified by its encoding all the same. */
static enum isa_kind of_vector(const struct em_op *op, const char *name)
{
    if (strncmp(name, "v_mfma", 6) == 0 || strncmp(name, "v_smfmac", 8) == 0) {
        return ISA_MFMA;
    }
    if (strncmp(name, "v_accvgpr", 9) == 0) {
        return ISA_ACCVGPR;
    }
    return op->class == EM_CLASS_TRANS ? ISA_TRANS : ISA_VALU;
}

/* em_decode leaves both 0 where it knows no instruction; operation 0 is not of SOP2. */
static bool is_decoded(const struct em_op *op)
{
    return op->in.op != 0 || op->in.encoding != EM_SOP2;
}

enum isa_kind isa_classify(const struct em_op *op)
{
    const char *name = em_op_info((enum em_opcode)op->in.op)->name;
    if (!is_decoded(op)) {
        return ISA_UNKNOWN;
    }
    switch ((enum em_encoding)op->in.encoding) {
    case EM_SOP2:
    case EM_SOPK:
    case EM_SOP1:
    case EM_SOPC:
    case EM_SOPP:
        return of_scalar(op);
    case EM_SMEM:
        return ISA_SMEM;
    case EM_DS:
        return of_lds(name);
    case EM_FLAT:
    case EM_GLOBAL:
    case EM_SCRATCH:
    case EM_MUBUF:
    case EM_MTBUF:
        return of_vmem(&op->in, name);
    case EM_VOP1:
    case EM_VOP2:
    case EM_VOPC:
    case EM_VOP3:
    case EM_VOP3P:
    case EM_ENCODINGS:
        break;
    }
    return of_vector(op, name);
}

bool isa_is_vector(enum isa_kind kind)
{
    return kind == ISA_VALU || kind == ISA_TRANS || kind == ISA_ACCVGPR;
}

bool isa_is_lds(enum isa_kind kind)
{
    return kind == ISA_LDS_READ || kind == ISA_LDS_WRITE || kind == ISA_LDS_PERMUTE ||
           kind == ISA_LDS_ATOMIC;
}

bool isa_is_memory(enum isa_kind kind)
{
    return isa_is_lds(kind) || kind == ISA_LOAD || kind == ISA_LOAD_LDS ||
           kind == ISA_STORE || kind == ISA_ATOMIC || kind == ISA_SCRATCH_LOAD ||
           kind == ISA_SCRATCH_STORE;
}

/* Below a dword the data operand does not say how much is moved. */
static unsigned narrow_bytes(const char *name)
{
    if (has(name, "byte") || has(name, "_u8") || has(name, "_i8") || has(name, "_b8")) {
        return 1;
    }
    if (has(name, "short") || has(name, "_u16") || has(name, "_i16") ||
        has(name, "_b16") || has(name, "format_d16_x") ||
        has(name, "format_d16_hi_x")) {
        return 2;
    }
    return 0;
}

unsigned isa_lane_bytes(const struct em_op *op, enum isa_kind kind)
{
    const char *name = em_op_info((enum em_opcode)op->in.op)->name;
    if (!isa_is_memory(kind)) {
        return 0;
    }
    unsigned narrow = narrow_bytes(name);
    bool whole_d16 = has(name, "format_d16_xy"); /* _xy, _xyz, _xyzw */
    if (narrow > 0 && !whole_d16) {
        return narrow;
    }
    if (kind == ISA_LOAD_LDS) {
        return 4; /* all that gfx942 has */
    }
    if (kind == ISA_LDS_WRITE) {
        bool two = has(name, "write2");
        return 4U * ((unsigned)op->in.src[1].dwords +
                     (two ? (unsigned)op->in.src[2].dwords : 0));
    }
    bool to_registers =
        op->in.dst.code != EM_NONE && kind != ISA_STORE && kind != ISA_SCRATCH_STORE;
    return 4U * (to_registers ? op->in.dst.dwords : op->in.src[1].dwords);
}

unsigned isa_wait_vmcnt(const struct em_op *op)
{
    unsigned bits = op->in.simm16;
    return (bits & 15) | (bits >> 14 & 3) << 4;
}

unsigned isa_wait_lgkmcnt(const struct em_op *op)
{
    return op->in.simm16 >> 8 & 15;
}
