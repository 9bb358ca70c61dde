/* What the counters come to: instructions by class, matrix work, occupancy, and the
 * cycles that an MI300X needs at least. All of it is a model's, made of exact counts
 * and published rates; none of it is a time. */
#ifndef WF_EMULATOR_COUNT_MODEL_H
#define WF_EMULATOR_COUNT_MODEL_H

#include "emulator/count/count.h"
#include "emulator/exec/device.h"

struct em_kernel; /* load/image.h */
struct em_launch; /* launch/launch.h */
struct em_report; /* launch/launch.h */

struct em_totals {
    uint64_t instructions;
    uint64_t by_class[EM_CLASSES];
    uint64_t
        valu_cycles; /* of a SIMD's vector unit: 4 an instruction, 16 at quarter rate */
    uint64_t mfma_passes; /* of 4 cycles of a SIMD's matrix unit */
    uint64_t mfma_flops;  /* or integer operations; SMFMAC: of what A holds */
};
const char *em_class_name(enum em_class class); /* "vmem_load" */
/* Passes of a matrix instruction and what it multiplies and adds; false: it is none. */
bool em_mfma_work(enum em_opcode op, unsigned *ret_passes, uint64_t *ret_flops);
/* Cycles of a SIMD's vector unit that an instruction of it takes: 4, or 16. */
unsigned em_valu_cycles(const struct em_op *op);
void em_totals(const struct em_counts *counts,
               const struct em_code *code,
               struct em_totals *ret);

struct em_occupancy {
    unsigned waves_of_workgroup;
    unsigned workgroups_of_cu; /* resident at once */
    double waves_of_simd;      /* 8 at most */
    const char *limit;         /* "vgprs", "sgprs", "lds", "workgroups", "waves" */
};
void em_occupancy(const struct em_kernel *kernel,
                  unsigned work_items,
                  uint32_t lds_bytes,
                  struct em_occupancy *ret);

/* X(name, words): each pipe's cycles are a bound of their own. */
#define EM_PIPES(X)                                                      \
    X(mfma, "matrix units: published passes of 4 cycles")                \
    X(valu, "vector units: 4 cycles an instruction, 16 at quarter rate") \
    X(salu, "scalar units: 1 cycle an instruction and compute unit")     \
    X(lds, "LDS: bank cycles, conflicts included")                       \
    X(vmem, "vector memory: 4 cycles an instruction and compute unit")   \
    X(l1, "vector L1: 64 bytes a cycle and compute unit")                \
    X(issue, "a wave's own issue: 4 cycles an instruction that is no wait")

enum em_pipe {
#define X(name, words) EM_PIPE_##name,
    EM_PIPES(X)
#undef X
    EM_PIPE_COUNT
};

struct em_model {
    struct em_totals totals;
    uint64_t pipe[EM_PIPE_COUNT];
    uint64_t cycles;    /* the largest of them */
    enum em_pipe bound; /* which one that is */
    /* Of HBM's bandwidth, were every touched line fetched: no bound, since caches hold.
     */
    uint64_t hbm_cycles_without_caches;
};
const char *em_pipe_name(enum em_pipe pipe);
/* Of a report that was counted; zeros where it was not. */
void em_model(const struct em_report *report,
              const struct em_launch *launch,
              struct em_model *ret);
uint64_t em_model_cycles(const struct em_report *report,
                         const struct em_launch *launch);
/* The cycles at the device's clock: what a runtime that models says its events took. */
uint64_t em_model_ns(uint64_t cycles);

#endif
