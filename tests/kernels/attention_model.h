/* A model of a device kernel for tests: f32 arithmetic, keys in blocks of 32 with
 * online rescaling, P rounded to Q's type, an fp8 cache dequantised to Q's type,
 * optional split over keys with a merge. Honest with MODEL_HONEST; every other mutant
 * makes one mistake that kernels have made. */
#ifndef WF_TESTS_KERNELS_ATTENTION_MODEL_H
#define WF_TESTS_KERNELS_ATTENTION_MODEL_H

#include "attention_fixture.h"

#define MODEL_MUTANT_LIST(X) \
    X(HONEST)                \
    X(TOP_LEFT)              \
    X(NO_CAUSAL)             \
    X(STRICT_CAUSAL)         \
    X(WINDOW_LONG)           \
    X(WINDOW_SHORT)          \
    X(NO_WINDOW)             \
    X(LAST_KEY)              \
    X(NO_SCALE)              \
    X(DEFAULT_SCALE)         \
    X(NO_CAP)                \
    X(NO_K_SCALE)            \
    X(NO_V_SCALE)            \
    X(HEAD_MODULO)           \
    X(SWAPPED_HEADS)         \
    X(SHIFTED_ROWS)          \
    X(OTHER_SEQUENCE)        \
    X(IDENTITY_PAGES)        \
    X(LAST_PAGE_FULL)        \
    X(EMPTY_IS_MEAN)         \
    X(EMPTY_IS_NAN)          \
    X(EMPTY_UNWRITTEN)       \
    X(LSE_PLUS_INF)          \
    X(LSE_BASE_2)            \
    X(LSE_NAN)               \
    X(KV_TWICE)              \
    X(ZERO_ROW)              \
    X(LAST_ROW_UNWRITTEN)    \
    X(LAST_COLUMN_NAN)       \
    X(UNIFORM_WEIGHTS)

enum model_mutant {
#define X(name) MODEL_##name,
    MODEL_MUTANT_LIST(X)
#undef X
    MODEL_MUTANT_COUNT
};

const char *model_mutant_name(enum model_mutant m);
/* Writes O and lse of the fixture. */
void model_run(struct fx *f, enum model_mutant m, int64_t split);

#endif
