/* Totals of a launch, from how often each instruction ran. */
#include "emulator/count/model.h"
#include "emulator/exec/code.h"

static const char *const class_names[] = {
    [EM_CLASS_SALU] = "salu",
    [EM_CLASS_BRANCH] = "branch",
    [EM_CLASS_SMEM] = "smem",
    [EM_CLASS_VALU] = "valu",
    [EM_CLASS_TRANS] = "trans",
    [EM_CLASS_F64] = "f64",
    [EM_CLASS_MFMA] = "mfma",
    [EM_CLASS_VMEM_LOAD] = "vmem_load",
    [EM_CLASS_VMEM_STORE] = "vmem_store",
    [EM_CLASS_VMEM_ATOMIC] = "vmem_atomic",
    [EM_CLASS_LDS] = "lds",
    [EM_CLASS_BARRIER] = "barrier",
    [EM_CLASS_WAIT] = "wait",
    [EM_CLASS_OTHER] = "other",
};

const char *em_class_name(enum em_class class)
{
    return (unsigned)class < EM_CLASSES ? class_names[class] : "other";
}

bool em_mfma_work(enum em_opcode op, unsigned *ret_passes, uint64_t *ret_flops)
{
    static const struct {
        uint16_t op, passes;
        uint32_t flops;
    } shapes[] = {
#define MFMA(name, m, n, k, blocks, passes) \
    { EM_##name, passes, 2u * (m) * (n) * (k) * (blocks) },
#define SMFMAC(name, m, n, k, blocks, passes) \
    { EM_##name, passes, 2u * (m) * (n) * (k) / 2 * (blocks) },
#include "emulator/count/mfma_passes.def"
#undef MFMA
#undef SMFMAC
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        if (shapes[i].op == op) {
            *ret_passes = shapes[i].passes;
            *ret_flops = shapes[i].flops;
            return true;
        }
    }
    return false;
}

/* Multiplications of 32 bits have a quarter of the rate, as transcendentals have. */
unsigned em_valu_cycles(const struct em_op *op)
{
    switch (op->in.op) {
    case EM_v_mul_lo_u32:
    case EM_v_mul_hi_u32:
    case EM_v_mul_hi_i32:
    case EM_v_mad_u64_u32:
    case EM_v_mad_i64_i32:
        return 16;
    default:
        return op->class == EM_CLASS_TRANS ? 16 : 4;
    }
}

static void add(const struct em_op *op, uint64_t times, struct em_totals *t)
{
    t->instructions += times;
    t->by_class[op->class] += times;
    switch (op->class) {
    case EM_CLASS_VALU:
    case EM_CLASS_TRANS:
    case EM_CLASS_F64:
        t->valu_cycles += times * em_valu_cycles(op);
        break;
    case EM_CLASS_MFMA: {
        unsigned passes;
        uint64_t flops;
        if (em_mfma_work(op->in.op, &passes, &flops)) {
            t->mfma_passes += times * passes;
            t->mfma_flops += times * flops;
        } else {
            t->valu_cycles += times * 4; /* v_accvgpr_read, v_accvgpr_write */
        }
        break;
    }
    default:
        break;
    }
}

void em_totals(const struct em_counts *counts,
               const struct em_code *code,
               struct em_totals *ret)
{
    memset(ret, 0, sizeof(*ret));
    size_t count = em_code_count(code);
    for (size_t i = 0; i < counts->count && i < count; i++) {
        if (counts->executed[i]) {
            add(em_code_at(code, (uint32_t)i), counts->executed[i], ret);
        }
    }
}
