/* What the files of the run wrapper of vector arithmetic share: how an instruction is
 * bound, and the fetching and storing of rows. Nothing outside valu_*.c needs it. */
#ifndef WF_EMULATOR_EXEC_VALU_RUN_H
#define WF_EMULATOR_EXEC_VALU_RUN_H

#include "emulator/exec/valu.h"

#include <immintrin.h>

/* Rows of w->temp: dword j of source i is 2 * i + j; then results, then scratch. Row
 * functions may use the rows from EM_TEMP_FREE on. */
enum {
    EM_TEMP_RESULT = 6,
    EM_TEMP_SCRATCH = 8,
    EM_TEMP_FREE = 10
};

/* Which bits of the destination a result of at most 16 bits takes. */
enum em_part {
    EM_PART_ALL,  /* all 32: zeros above the result */
    EM_PART_LOW,  /* the low half; the other is preserved */
    EM_PART_HIGH, /* the high half; the other is preserved */
    EM_PART_BYTE_0,
    EM_PART_BYTE_1,
    EM_PART_BYTE_2,
    EM_PART_BYTE_3
};

enum em_mask_use {
    EM_MASK_NONE,
    EM_MASK_CARRY,
    EM_MASK_SELECT /* v_cndmask: chooses a source */
};

/* How an instruction is run; kept in em_op.data[0]. */
struct em_valu_plan {
    uint8_t sources;   /* 0..3 */
    uint8_t wide;      /* bit i: source i has two dwords; bit 3: the destination */
    uint8_t mask_code; /* scalar pair read as a mask */
    uint8_t mask_use;  /* enum em_mask_use */
    uint8_t part;      /* enum em_part */
    bool mask_out;     /* sdst is written */
    bool cmpx;         /* EXEC is written too */
    bool same;         /* x ^ x, x - x: written whatever x is */
};
_Static_assert(sizeof(struct em_valu_plan) == sizeof(uint64_t), "must fit in data[0]");

static inline struct em_valu_plan em_valu_plan_of(const struct em_op *op)
{
    struct em_valu_plan plan;
    memcpy(&plan, &op->data[0], sizeof(plan));
    return plan;
}

static inline bool em_is_16(unsigned type)
{
    return type == EM_F16 || type == EM_I16 || type == EM_U16 || type == EM_B16;
}

static inline __m256i em_load8(const uint32_t *row, unsigned i)
{
    return _mm256_load_si256((const __m256i *)(const void *)(row + i));
}

static inline void em_store8(uint32_t *row, unsigned i, __m256i value)
{
    _mm256_store_si256((__m256i *)(void *)(row + i), value);
}

static inline void em_fill(uint32_t *row, uint32_t value)
{
    __m256i all = _mm256_set1_epi32((int)value);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        em_store8(row, i, all);
    }
}

/* All ones in the lanes whose bit of `bits` is set. */
static inline __m256i em_lanes8(uint32_t bits)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i all = _mm256_set1_epi32((int)bits);
    return _mm256_cmpeq_epi32(_mm256_and_si256(all, bit), bit);
}

static inline void em_blend(uint32_t *dst, const uint32_t *src, uint64_t lanes)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i mask = em_lanes8((uint32_t)(lanes >> i) & 0xff);
        em_store8(dst, i, _mm256_blendv_epi8(em_load8(dst, i), em_load8(src, i), mask));
    }
}

/* A scalar or constant source, both dwords (the second one only where it has two). */
void em_valu_scalar(const struct em_wave *w,
                    const struct em_op *op,
                    unsigned i,
                    uint32_t ret[2]);

/* What changes a source on its way from the register; kept in em_op.data[1], a byte a
 * source. */
enum em_source_kind {
    EM_SOURCE_PLAIN,
    EM_SOURCE_VALUE,       /* DPP, SDWA, op_sel, neg, abs */
    EM_SOURCE_PACKED,      /* two halves of 16 bits, chosen and negated */
    EM_SOURCE_PACKED_WIDE, /* of 32 bits */
    EM_SOURCE_MIX          /* of v_fma_mix: a single or a half */
};

static inline enum em_source_kind em_valu_source_kind(const struct em_op *op,
                                                      unsigned i)
{
    return (enum em_source_kind)(op->data[1] >> (8 * i) & 0xff);
}

/* em_op.flags */
enum {
    EM_VALU_STORE = 1 /* results are changed on their way, beyond EXEC's blending */
};

/* valu_source.c: source i with all that changes it. DPP's validity of lanes is the
 * caller's (em_dpp_lanes). */
void em_valu_source(struct em_wave *w,
                    const struct em_op *op,
                    unsigned i,
                    struct em_rows *r);
enum em_source_kind em_valu_classify(const struct em_inst *in, unsigned i);

/* valu_dpp.c: the lanes of `src` where `dst` wants them, 0 where there is none or EXEC
 * disables it. */
void em_dpp_row(unsigned ctrl, uint64_t exec, const uint32_t *src, uint32_t *dst);
/* `bits` of the lanes that each lane reads by DPP; 0 where there is no such lane. */
uint64_t em_dpp_lanes(unsigned ctrl, uint64_t bits);
/* Lanes that row_mask and bank_mask leave enabled. */
uint64_t em_dpp_enabled(const struct em_inst *in);
bool em_dpp_known(unsigned ctrl);

/* valu_store.c: omod and clamp on the result rows r->d, then into the destination in
 * `lanes`. */
void em_valu_store(struct em_wave *w,
                   const struct em_op *op,
                   struct em_rows *r,
                   uint64_t lanes);
/* Whether results are changed on their way (beyond the blending with EXEC). */
bool em_valu_store_changed(const struct em_inst *in);
/* Where a 16-bit result goes. */
enum em_part em_valu_part(const struct em_inst *in);

/* valu_shadow.c: what is written after the instruction, before it runs. `lanes`: those
 * that store. A fault where v_cmpx would make EXEC of unwritten values. */
enum em_flow em_valu_shadow(struct em_wave *w, const struct em_op *op, uint64_t lanes);

/* s_set_gpr_idx_on is in force: runs the instruction with its registers moved. */
enum em_flow em_valu_indexed(struct em_wave *w, const struct em_op *op);

/* valu_lane.c: the operations that no row function does. */
bool em_bind_lane(struct em_op *op);

#endif
