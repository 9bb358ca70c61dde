#include "isa/mix.h"

#include "core/buf.h"
#include "emulator/count/model.h"

#include <stdlib.h>

static void add_wait(struct isa_mix *m, const struct em_op *op)
{
    unsigned vm = isa_wait_vmcnt(op);
    unsigned lgkm = isa_wait_lgkmcnt(op);
    m->vm_drains += vm == 0;
    m->vm_counted += vm > 0 && vm < ISA_VMCNT_NONE;
    m->lgkm_drains += lgkm == 0;
    m->lgkm_counted += lgkm > 0 && lgkm < ISA_LGKMCNT_NONE;
}

static void add_bytes(struct isa_mix *m, enum isa_kind kind, unsigned bytes)
{
    m->load_bytes += kind == ISA_LOAD ? bytes : 0;
    m->load_lds_bytes += kind == ISA_LOAD_LDS ? bytes : 0;
    m->lds_read_bytes += kind == ISA_LDS_READ ? bytes : 0;
    m->lds_write_bytes += kind == ISA_LDS_WRITE ? bytes : 0;
}

void isa_mix_add(struct isa_mix *m, const struct em_op *op)
{
    enum isa_kind kind = isa_classify(op);
    unsigned passes = 0;
    uint64_t flops = 0;
    m->instructions++;
    m->kind[kind]++;
    add_bytes(m, kind, isa_lane_bytes(op, kind));
    if (kind == ISA_WAIT) {
        add_wait(m, op);
    } else if (kind == ISA_MFMA &&
               em_mfma_work((enum em_opcode)op->in.op, &passes, &flops)) {
        m->mfma_passes += passes;
        m->mfma_flops += flops;
    } else if (isa_is_vector(kind)) {
        m->valu_passes += em_valu_cycles(op) / 4;
    }
}

uint32_t isa_mix_vector(const struct isa_mix *m)
{
    return m->kind[ISA_VALU] + m->kind[ISA_TRANS] + m->kind[ISA_ACCVGPR];
}

uint32_t isa_mix_scratch(const struct isa_mix *m)
{
    return m->kind[ISA_SCRATCH_LOAD] + m->kind[ISA_SCRATCH_STORE];
}

/* --- tallies --- */

static bool is_tallied(enum isa_kind kind)
{
    return kind == ISA_MFMA || kind == ISA_WAIT || isa_is_memory(kind);
}

static int by_place(const void *a, const void *b)
{
    const struct isa_tally *x = a;
    const struct isa_tally *y = b;
    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    if (x->op != y->op) {
        return x->op < y->op ? -1 : 1;
    }
    return x->wait < y->wait ? -1 : x->wait > y->wait;
}

static int by_count(const void *a, const void *b)
{
    const struct isa_tally *x = a;
    const struct isa_tally *y = b;
    if (x->kind == y->kind && x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    return by_place(a, b);
}

static size_t join(struct isa_tally *item, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && by_place(&item[kept - 1], &item[i]) == 0) {
            item[kept - 1].count++;
        } else {
            item[kept++] = item[i];
        }
    }
    return kept;
}

enum wf_status isa_tallies_make(const struct em_op *const *op,
                                size_t count,
                                struct isa_tallies *ret,
                                struct wf_error *err)
{
    struct isa_tally *item = wf_calloc(count + 1, sizeof(*item));
    size_t n = 0;
    if (item == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu instructions", count);
    }
    for (size_t i = 0; i < count; i++) {
        enum isa_kind kind = isa_classify(op[i]);
        if (is_tallied(kind)) {
            item[n++] = (struct isa_tally){
                .op = op[i]->in.op,
                .kind = (uint8_t)kind,
                .wait = kind == ISA_WAIT ? op[i]->in.simm16 : (uint16_t)0,
                .bytes = isa_lane_bytes(op[i], kind),
                .count = 1,
            };
        }
    }
    qsort(item, n, sizeof(*item), by_place);
    n = join(item, n);
    qsort(item, n, sizeof(*item), by_count);
    *ret = (struct isa_tallies){ item, n };
    return WF_OK;
}
