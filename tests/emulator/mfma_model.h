/* A second opinion on the matrix instructions, for their tests: shapes read from the
 * mnemonic, layouts found by walking registers and lanes in order, operands taken apart
 * by their bits, and sums in whole numbers of 128 bits. It shares nothing with the
 * emulator but the operations' numbers. */
#ifndef WF_TESTS_EMULATOR_MFMA_MODEL_H
#define WF_TESTS_EMULATOR_MFMA_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum model_type {
    F16,
    BF16,
    F32,
    XF32,
    FP8,
    BF8,
    I8,
    F64
};

/* Faults that emulators are known to have had; the tests must see them. */
enum model_mutant {
    NO_MUTANT,
    MUTANT_ROWS, /* 32 x 32: row 16 * group + register */
    MUTANT_OCP   /* FP8: OCP's bias, one less */
};

struct model_cell {
    uint8_t reg, lane, bit;
};

enum {
    MODEL_INPUTS = 1024, /* cells of A or B, at most */
    MODEL_OUTPUTS = 2048
};

struct model {
    uint16_t op;
    const char *name;
    unsigned n, k, blocks; /* n: rows of A and columns of B */
    unsigned stored;       /* products of an output: k, or half of it */
    enum model_type a_type, b_type;
    bool sparse, integer;
    bool cbsz, blgp;
    /* [block][row or column][k] of the stored elements; [block][row][column] */
    struct model_cell a[MODEL_INPUTS], b[MODEL_INPUTS], d[MODEL_OUTPUTS];
    unsigned a_rows, b_rows, d_rows; /* registers */
};

/* All of gfx942, in the order of strcmp on the name; *ret_count of them. */
const struct model *models(enum model_mutant mutant, size_t *ret_count);
const struct model *model_named(const char *name);
unsigned model_bits(enum model_type type);

/* Elements in an operand's registers ([register][lane]). */
uint64_t model_get(const uint32_t (*rows)[64], struct model_cell cell, unsigned bits);
void model_set(uint32_t (*rows)[64],
               struct model_cell cell,
               unsigned bits,
               uint64_t code);

/* The lane that BLGP makes lane `lane` of B come from. */
unsigned model_blgp_lane(unsigned lane, unsigned blgp);

struct model_run {
    const struct model *model;
    const uint32_t (*a)[64];
    const uint32_t (*b)[64];
    const uint32_t (*c)[64];
    const uint32_t *index; /* sparse */
    unsigned cbsz, abid, blgp;
    bool exact, flush; /* flush: denormals of F32 operands are 0 */
    enum model_mutant mutant;
};
/* D's registers; NaN of fast floats is 0x7fc00000 (0x7ff8...). */
void model_compute(const struct model_run *run, uint32_t (*ret)[64]);

#endif
