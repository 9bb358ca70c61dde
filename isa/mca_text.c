/* Instructions as llvm-mca takes them.
 *
 * llvm-mca 19 aborts on buffer loads and stores and on loads straight to LDS, and never
 * ends where a load's result is a tuple of accumulation registers. Those become global
 * accesses of the same width, through registers that kernels use last; what they cost
 * (a place in the vector memory queue, counted by vmcnt) is the same. */
#include "isa/classify.h"
#include "isa/mca.h"

#include <stdio.h>
#include <string.h>

#define ADDRESS    "v[252:253]"
#define FREE_FIRST 244U

static const char *suffix(unsigned dwords)
{
    static const char *const names[] = { "", "", "x2", "x3", "x4" };
    return names[dwords < 4 ? dwords : 4];
}

static void registers(unsigned first, unsigned dwords, char *ret, size_t n)
{
    if (dwords <= 1) {
        (void)snprintf(ret, n, "v%u", first);
    } else {
        (void)snprintf(ret, n, "v[%u:%u]", first, first + dwords - 1);
    }
}

/* A data operand: its own VGPRs, or free ones where it is in accumulation registers. */
static unsigned data_registers(const struct em_operand *o, char *ret, size_t n)
{
    unsigned dwords = o->code == EM_NONE || o->dwords == 0 ? 1 : o->dwords;
    bool vgpr = o->code >= EM_VGPR0 && o->code < EM_AGPR0;
    dwords = dwords < 4 ? dwords : 4;
    registers(vgpr ? (unsigned)o->code - EM_VGPR0 : FREE_FIRST, dwords, ret, n);
    return dwords;
}

static bool is_accumulation(const struct em_operand *o)
{
    return o->code >= EM_AGPR0 && o->code != EM_NONE;
}

static bool is_rewritten(const struct em_inst *in, enum isa_kind kind)
{
    if (kind == ISA_LOAD_LDS || in->encoding == EM_MUBUF || in->encoding == EM_MTBUF ||
        in->encoding == EM_SCRATCH) {
        return true;
    }
    return kind == ISA_LOAD && is_accumulation(&in->dst);
}

static void rewrite(const struct em_inst *in, enum isa_kind kind, char *ret, size_t n)
{
    char data[32];
    if (kind == ISA_LOAD_LDS) {
        (void)snprintf(ret, n, "global_load_dword v255, " ADDRESS ", off");
    } else if (kind == ISA_LOAD || kind == ISA_SCRATCH_LOAD) {
        unsigned dwords = data_registers(&in->dst, data, sizeof(data));
        (void)snprintf(ret, n, "global_load_dword%s %s, " ADDRESS ", off",
                       suffix(dwords), data);
    } else {
        unsigned dwords = data_registers(&in->src[1], data, sizeof(data));
        (void)snprintf(ret, n, "global_store_dword%s " ADDRESS ", %s, off",
                       suffix(dwords), data);
    }
}

static bool is_wait(enum isa_kind kind)
{
    return kind == ISA_WAIT || kind == ISA_BARRIER || kind == ISA_NOP ||
           kind == ISA_PRIORITY || kind == ISA_SLEEP;
}

/* What has no place in a straight piece: s_endpgm, cache control, what is no
 * instruction. */
static bool is_dropped(const struct em_inst *in, enum isa_kind kind)
{
    return kind == ISA_UNKNOWN || kind == ISA_OTHER ||
           (in->encoding == EM_SMEM && in->dst.code == EM_NONE);
}

static enum wf_status put(const struct em_op *op,
                          enum isa_kind kind,
                          struct wf_buf *text,
                          struct isa_mca *ret,
                          struct wf_error *err)
{
    char line[160];
    bool rewritten = is_rewritten(&op->in, kind);
    if (rewritten) {
        rewrite(&op->in, kind, line, sizeof(line));
    } else {
        (void)em_print(&op->in, line, sizeof(line));
    }
    ret->rewritten += rewritten;
    ret->instructions++;
    return wf_buf_printf(text, err, "%s\n", line);
}

enum wf_status isa_mca_text(const struct em_op *const *op,
                            size_t count,
                            enum isa_mca_variant variant,
                            struct wf_buf *text,
                            struct isa_mca *ret,
                            struct wf_error *err)
{
    enum wf_status st = WF_OK;
    ret->instructions = ret->rewritten = ret->branches = ret->dropped = 0;
    for (size_t i = 0; i < count && st == WF_OK; i++) {
        enum isa_kind kind = isa_classify(op[i]);
        bool skip = variant != ISA_MCA_FULL && is_wait(kind);
        if (kind == ISA_BRANCH) {
            ret->branches++;
        } else if (is_dropped(&op[i]->in, kind)) {
            ret->dropped++;
        } else if (!skip) {
            st = put(op[i], kind, text, ret, err);
        }
        if (st == WF_OK && variant == ISA_MCA_TRANS && kind == ISA_TRANS) {
            st = wf_buf_puts(text,
                             "v_mov_b32 v251, v250\nv_mov_b32 v251, v250\n"
                             "v_mov_b32 v251, v250\n",
                             err);
        }
    }
    return st;
}
