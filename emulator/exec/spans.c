/* Which registers an instruction reads and writes, for the checks of waits and of the
 * kernel's allocation. Registers that an index chooses (s_set_gpr_idx, s_movrel) are
 * not among them: who runs the instruction checks those. */
#include "emulator/exec/wave.h"

enum {
    MAX_READ = sizeof(((struct em_op *)0)->read) / sizeof(struct em_span),
    MAX_WRITTEN = sizeof(((struct em_op *)0)->written) / sizeof(struct em_span)
};

/* One past the last register of the file that `code` is in; 0: no register. */
static unsigned file_end(unsigned code)
{
    if (code < EM_SCALARS) {
        return EM_SCALARS;
    }
    if (code < EM_VGPR0 || code == EM_NONE) {
        return 0;
    }
    return code < EM_AGPR0 ? EM_AGPR0 : EM_AGPR0 + 256;
}

/* EXEC is always written and never pending: leave it out. */
static bool add(struct em_span *span, uint8_t *count, unsigned max, struct em_operand o)
{
    unsigned end = file_end(o.code);
    if (end == 0 || o.dwords == 0) {
        return o.code < EM_AGPR0 || o.code == EM_NONE;
    }
    if (o.code + o.dwords > end) {
        return false;
    }
    if (o.code >= EM_EXEC && o.code < EM_SCALARS) {
        return true;
    }
    if (*count < max) {
        span[*count].first = o.code;
        span[*count].count = o.dwords;
        (*count)++;
    }
    return true;
}

static bool reads_m0(const struct em_inst *in)
{
    switch (in->op) {
    case EM_s_movrels_b32:
    case EM_s_movrels_b64:
    case EM_s_movreld_b32:
    case EM_s_movreld_b64:
    case EM_s_sendmsg:
    case EM_s_sendmsghalt:
        return true;
    default:
        return in->lds;
    }
}

/* The encoding's destination field is (also) a source. */
static bool reads_dst(const struct em_inst *in)
{
    if (in->encoding == EM_SOPK) {
        return in->op != EM_s_movk_i32 && in->op != EM_s_getreg_b32 &&
               in->op != EM_s_call_b64;
    }
    switch (in->op) {
    case EM_s_cmov_b32:
    case EM_s_cmov_b64:
    case EM_s_bitset0_b32:
    case EM_s_bitset0_b64:
    case EM_s_bitset1_b32:
    case EM_s_bitset1_b64:
        return true;
    default:
        return false;
    }
}

bool em_bind_spans(struct em_op *op)
{
    const struct em_inst *in = &op->in;
    static const struct em_operand m0 = { .code = EM_M0, .dwords = 1, .type = EM_B32 };
    bool good = true;
    for (unsigned i = 0; i < 4; i++) {
        good = add(op->read, &op->reads, MAX_READ, in->src[i]) && good;
    }
    if (reads_m0(in)) {
        good = add(op->read, &op->reads, MAX_READ, m0) && good;
    }
    if (reads_dst(in)) {
        good = add(op->read, &op->reads, MAX_READ, in->dst) && good;
    }
    good = add(op->written, &op->writes, MAX_WRITTEN, in->dst) && good;
    good = add(op->written, &op->writes, MAX_WRITTEN, in->sdst) && good;
    return good;
}
