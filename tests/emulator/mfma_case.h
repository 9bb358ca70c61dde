/* One matrix instruction with operands of chosen kinds, run on the emulator and by the
 * model. */
#ifndef WF_TESTS_EMULATOR_MFMA_CASE_H
#define WF_TESTS_EMULATOR_MFMA_CASE_H

#include "emulator/exec/wave.h"
#include "tests/emulator/mfma_model.h"

/* Kinds of floating-point operands. */
#define MFMA_KINDS(X)                                                                 \
    X(ORDINARY) /* exponents close together */                                        \
    X(BITS)     /* any code, infinities and NaN with it */                            \
    X(SPREAD)   /* any finite exponent */                                             \
    X(GAPS)     /* exponents 20 to 60 apart: what is cut off matters */               \
    X(TINY)     /* denormals, the smallest normals, zeros */                          \
    X(ZEROS)    /* half of them zeros of both signs */                                \
    X(SPECIAL)  /* some infinities and NaN */                                         \
    X(HUGE)     /* products about 2^127 where the type has such */                    \
    X(CANCEL) /* products that come in pairs of opposite sign, C that undoes a sum */ \
    X(TIES)   /* few bits: sums halfway between two results */
enum mfma_kind {
#define X(name) KIND_##name,
    MFMA_KINDS(X)
#undef X
    MFMA_KIND_COUNT
};

struct mfma_random {
    uint64_t state;
};
uint64_t mfma_next(struct mfma_random *r);
uint64_t mfma_code(struct mfma_random *r, enum model_type type, enum mfma_kind kind);

enum {
    MFMA_ROWS = 32
};
struct mfma_case {
    const struct model *model;
    uint32_t a[MFMA_ROWS][64], b[MFMA_ROWS][64], c[MFMA_ROWS][64];
    uint32_t index[64];
    unsigned cbsz, abid, blgp;
};
void mfma_fill(struct mfma_case *c,
               const struct model *m,
               enum mfma_kind kind,
               struct mfma_random *r);

/* Where the operands are; 0: A in v0, B in v32, the index in v64, C in v128, D in a0.
 */
struct mfma_places {
    uint16_t a, b, c, d, index;
};
extern const struct mfma_places mfma_usual;
/* Puts the operands there, runs, reads D; false where the instruction faulted. */
bool mfma_run(struct em_wave *w,
              const struct mfma_case *c,
              const struct mfma_places *at,
              uint32_t (*ret_d)[64]);
/* The instruction itself, bound. */
void mfma_bind(const struct mfma_case *c,
               const struct mfma_places *at,
               struct em_op *ret);
void mfma_model(const struct mfma_case *c,
                bool exact,
                enum model_mutant mutant,
                uint32_t (*ret_d)[64]);
/* Elements in which D differs; any NaN equals any other unless `exact`. */
unsigned mfma_differences(const struct model *m,
                          bool exact,
                          const uint32_t (*x)[64],
                          const uint32_t (*y)[64]);

#endif
