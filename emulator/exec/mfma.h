/* Matrix instructions, shared by the mfma*.c files alone: the shapes, where an element
 * of a matrix is, and the kernels.
 *
 * A and B are staged as rows of 64 lanes, one row a slot: what a lane holds of A in
 * slot s is a[s][lane]. With g = 64 / (m * blocks) groups of lanes and e = k / g slots,
 * A[i][k] of block b is a[k % e][b * m + (k / e) * m * blocks + i]; B the same with j.
 * D[i][j] of block b, 32 bits wide: with R = 64 / n, P = blocks in a register,
 * register b * (m * n / 64) + i / (4 * R) * 4 + i % 4,
 * lane (b % P) * n + i / 4 % R * P * n + j. 64 bits wide: register pair
 * b * (m * n / 64) + i / R, lane (b % P) * n + i % R * P * n + j. */
#ifndef WF_EMULATOR_EXEC_MFMA_H
#define WF_EMULATOR_EXEC_MFMA_H

#include "emulator/exec/wave.h"

enum em_mfma_type {
    EM_MFMA_F16,
    EM_MFMA_BF16,
    EM_MFMA_F32,
    EM_MFMA_XF32,
    EM_MFMA_FP8,
    EM_MFMA_BF8,
    EM_MFMA_I8,  /* as pairs of 16 bits */
    EM_MFMA_I8F, /* as floats, for the sparse ones */
    EM_MFMA_F64
};

enum {
    EM_MFMA_CBSZ = 1,   /* CBSZ and ABID broadcast blocks of A */
    EM_MFMA_BLGP = 2,   /* BLGP permutes the lanes of B */
    EM_MFMA_NEG = 4,    /* BLGP negates (F64) */
    EM_MFMA_SPARSE = 8, /* two of four elements of A, CBSZ and ABID select indices */
    EM_MFMA_MAX_K = 32, /* products of an output; of a sparse one the stored half */
    EM_MFMA_SLOTS = 16,
    EM_MFMA_D_ROWS = 32
};

struct em_mfma_shape {
    uint16_t op;            /* enum em_opcode */
    uint8_t mn;             /* rows of A, columns of B: the same in all of them */
    uint8_t k, blocks;      /* k: of B; a sparse A holds half as many */
    uint8_t type_a, type_b; /* enum em_mfma_type */
    uint8_t flags;
};

/* Slots of a lane, and registers, of an operand with `k` elements a row. */
static inline unsigned em_mfma_slots(const struct em_mfma_shape *s, unsigned k)
{
    return k * s->mn * s->blocks / EM_LANES;
}
unsigned em_mfma_bits(enum em_mfma_type type);
static inline unsigned em_mfma_d_rows(const struct em_mfma_shape *s)
{
    unsigned rows = (unsigned)s->mn * s->mn * s->blocks / EM_LANES;
    return s->type_a == EM_MFMA_F64 ? 2 * rows : rows;
}
/* A's elements of a row that are stored. */
static inline unsigned em_mfma_k_a(const struct em_mfma_shape *s)
{
    return s->flags & EM_MFMA_SPARSE ? s->k / 2U : s->k;
}
const struct em_mfma_shape *em_mfma_shapes(size_t *ret_count);

/* An operand staged: floats, or int8 pairs (i8: two slots in one 32-bit value, each
 * sign-extended to 16 bits; `slots` counts the pairs then), or doubles. */
struct em_mfma_stage {
    _Alignas(64) union {
        float f[EM_MFMA_SLOTS][EM_LANES];
        int32_t pair[EM_MFMA_SLOTS][EM_LANES];
        double d[1][EM_LANES];
    };
    unsigned slots;
};
/* `rows`: the operand's registers, one behind the other. `flush`: F32 denormals read
 * as 0. */
void em_mfma_stage(const uint32_t *rows,
                   enum em_mfma_type type,
                   unsigned slots,
                   bool flush,
                   struct em_mfma_stage *ret);
/* Replaces lane l of every slot by lane map[l]; not of doubles. */
void em_mfma_permute(struct em_mfma_stage *stage, const uint8_t map[EM_LANES]);

struct em_mfma_job {
    const struct em_mfma_shape *shape;
    struct em_mfma_stage a, b;
    const uint32_t *index; /* sparse: the index register */
    unsigned index_shift;
    const uint32_t *c; /* rows; the same as d, or apart from it */
    uint32_t *d;
    uint8_t negate; /* F64: bit 0 A, 1 B, 2 C */
};

/* Lanes that CBSZ and BLGP take A and B from; a, b NULL: their own. */
struct em_mfma_map {
    uint8_t lanes_a[EM_LANES], lanes_b[EM_LANES];
    const uint8_t *a, *b;
};
/* D's elements were written where the row of A, the column of B and the element of C
 * were. Before D is written. */
void em_mfma_shadow(struct em_wave *w,
                    const struct em_op *op,
                    const struct em_mfma_shape *s,
                    const struct em_mfma_map *map);

/* Where in a stage (as one array of floats) product number p of an output is, without
 * the block's and the row's or column's own lane: [p] for A and B of a dense shape. */
void em_mfma_offsets(const struct em_mfma_shape *s,
                     unsigned k,
                     unsigned slots,
                     uint16_t ret[EM_MFMA_MAX_K]);
/* The same for B of a sparse shape, as row i's indices say. */
void em_mfma_sparse_offsets(const struct em_mfma_job *job,
                            unsigned i,
                            uint16_t ret[EM_MFMA_MAX_K]);
/* Offset in the rows of C and D (as one array) of D[i][0] of block b. */
static inline size_t em_mfma_d_offset(const struct em_mfma_shape *s,
                                      unsigned b,
                                      unsigned i)
{
    unsigned n = s->mn;
    unsigned per_row = EM_LANES / n;
    if (n == 4) { /* 16 blocks side by side */
        return (size_t)i * EM_LANES + (size_t)b * n;
    }
    unsigned row = b * (n * n / EM_LANES) + i / (4 * per_row) * 4 + i % 4;
    return (size_t)row * EM_LANES + (size_t)(i / 4 % per_row) * n;
}

void em_mfma_fast_f32(const struct em_mfma_job *job);
void em_mfma_i32(const struct em_mfma_job *job);
void em_mfma_f64(const struct em_mfma_job *job);
/* F16, BF16, XF32, FP8, BF8 by the hardware's rule (mfma_exact.c). */
void em_mfma_exact(const struct em_mfma_job *job);

/* The rule for one output, without vectors: infinities, NaN and products beyond 2^128
 * too. `at_a`, `at_b`: where the products are, as em_mfma_offsets gives it, from `a`
 * and `b` on. */
struct em_mfma_rule {
    unsigned products;      /* of an output */
    unsigned group;         /* products that are added up together */
    bool halves;            /* even and odd ones of a group apart: FP8 */
    int lowest_a, lowest_b; /* exponents of the types' denormals */
};
struct em_mfma_rule em_mfma_rule(const struct em_mfma_shape *s);
float em_mfma_exact_output(const struct em_mfma_rule *rule,
                           const float *a,
                           const uint16_t *at_a,
                           const float *b,
                           const uint16_t *at_b,
                           float c);

#endif
