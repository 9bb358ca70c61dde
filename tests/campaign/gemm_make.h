/* Cases for a cell. What is drawn depends on the seed, the kernel's name, the types and
 * transposes and the kind's number alone: other kernels of the pack change nothing. */
#ifndef WF_TESTS_GEMM_MAKE_H
#define WF_TESTS_GEMM_MAKE_H

#include "tests/campaign/gemm_cell.h"
#include "tests/campaign/gemm_kinds.def"

enum gemm_kind {
#define X(name, text, count, what) GEMM_KIND_##name,
    GEMM_KIND_LIST(X)
#undef X
    GEMM_KIND_COUNT
};

struct gemm_list {
    char name[64]; /* for reports */
    struct gemm_shapes shapes;
};

#define GEMM_LISTS_MAX 8

struct gemm_sources {
    struct gemm_list list[GEMM_LISTS_MAX];
    size_t list_count;
    struct gemm_shapes five;
    uint64_t seed;
    double max_flops; /* of a case, the five sizes apart */
};

/* Which case of a cell. */
struct gemm_pick {
    const struct gemm_cell *cell;
    enum gemm_kind kind;
    size_t list; /* of REDUCED */
    size_t index;
};

struct gemm_made {
    struct gemm_want want[2];
    size_t count; /* 0: the kernel takes nothing of this kind */
    bool exact;   /* how the emulator multiplies */
    char note[96];
};

const char *gemm_kind_name(enum gemm_kind kind);
/* Cases that a cell gets of a kind; of REDUCED for each list. */
size_t gemm_kind_cases(enum gemm_kind kind,
                       const struct gemm_sources *s,
                       size_t reduced);

enum wf_status gemm_make(const struct gemm_sources *sources,
                         const struct gemm_pick *pick,
                         struct gemm_made *ret,
                         struct wf_error *err);

#endif
