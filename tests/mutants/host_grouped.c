/* Host grouped GEMM kernels with one mistake each, in tiles of 64 rows as devices have
 * them: which rows belong to which weights. */
#include "core/dtype.h"
#include "packs/library_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define TILE   64

enum fault {
#define X(name) FAULT_##name,
#include "tests/mutants/grouped_faults.def"
#undef X
    FAULT_COUNT
};

struct mat {
    enum wf_dtype type;
    int64_t ld, stride;
    char *data;
};

struct job {
    enum fault fault;
    int64_t m, n, k, groups;
    bool trans_b;
    double alpha;
    struct mat a, b, d;
    const float *sa, *sb; /* NULL: none */
    const int32_t *offsets;
};

static char *element(const struct mat *x, int64_t batch, int64_t row, int64_t col)
{
    const int64_t at = batch * x->stride + row * x->ld + col;
    return x->data + at * (int64_t)wf_dtype_bytes(x->type);
}

static float load(const struct mat *x, int64_t batch, int64_t row, int64_t col)
{
    float v;
    wf_to_f32(x->type, element(x, batch, row, col), &v, 1);
    return v;
}

/* The weights that a kernel with this fault takes for those of group g. */
static int64_t weights_of(const struct job *j, int64_t g)
{
    int64_t with_rows = 0;
    for (int64_t i = 0; i < g; i++) {
        with_rows += j->offsets[i + 1] > j->offsets[i];
    }
    switch ((int)j->fault) {
    case FAULT_first_weights:
        return 0;
    case FAULT_next_weights:
        return g + 1 < j->groups ? g + 1 : g;
    case FAULT_empty_not_counted:
        return with_rows;
    default:
        return g;
    }
}

static void compute_row(const struct job *j, int64_t group, int64_t row)
{
    const int64_t inside = row - j->offsets[group];
    const int64_t from = j->fault == FAULT_rows_from_0 ? inside : row;
    const int64_t scale_row = j->fault == FAULT_row_scales_from_0 ? inside : row;
    const int64_t w = weights_of(j, group);
    for (int64_t col = 0; col < j->n; col++) {
        float sum = 0.0F;
        for (int64_t k = 0; k < j->k; k++) {
            const float b =
                j->trans_b ? load(&j->b, w, col, k) : load(&j->b, w, k, col);
            sum += load(&j->a, 0, from, k) * b;
        }
        double v = j->alpha * (double)sum;
        if (j->sa != NULL) {
            v *= (double)j->sa[scale_row] * (double)j->sb[w * j->n + col];
        }
        wf_from_f64(j->d.type, &v, element(&j->d, 0, row, col), 1);
    }
}

/* The end of what is written of a group. */
static int64_t end_of(const struct job *j, int64_t g)
{
    const int64_t begin = j->offsets[g], end = j->offsets[g + 1];
    if (j->fault == FAULT_last_tile_missing) {
        return begin + (end - begin) / TILE * TILE;
    }
    if (j->fault == FAULT_tile_beyond_group) {
        const int64_t whole = begin + (end - begin + TILE - 1) / TILE * TILE;
        return whole < j->m ? whole : j->m;
    }
    return end;
}

/* From the last group on, so that a tile too long shows. */
static int launch(void *state, char *message, size_t bytes)
{
    const struct job *j = state;
    (void)message;
    (void)bytes;
    for (int64_t g = j->groups - 1; g >= 0; g--) {
        for (int64_t row = j->offsets[g]; row < end_of(j, g); row++) {
            compute_row(j, g, row);
        }
    }
    return WF_LIB_OK;
}

static int supports(const struct wf_lib_problem *p,
                    const struct wf_lib_device *device,
                    char *message,
                    size_t message_bytes)
{
    const char *scale = p->get_string(p->ctx, "scale");
    const char *activation = p->get_string(p->ctx, "activation");
    (void)device;
    if (strcmp(scale, "block128") == 0 || strcmp(activation, "none") != 0) {
        (void)snprintf(message, message_bytes,
                       "neither activations nor block scales are known here");
        return WF_LIB_UNSUPPORTED;
    }
    return WF_LIB_OK;
}

static void *tensor(const struct wf_lib_problem *p, const char *name)
{
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (strcmp(p->tensors[i].name, name) == 0) {
            return p->tensors[i].data;
        }
    }
    return NULL;
}

static void read_mat(const struct wf_lib_problem *p,
                     const char *name,
                     const char *type,
                     const char *ld,
                     struct mat *ret)
{
    (void)wf_dtype_parse(p->get_string(p->ctx, type), &ret->type);
    (void)p->get_int(p->ctx, ld, &ret->ld);
    ret->data = tensor(p, name);
}

static int prepare(enum fault fault,
                   const struct wf_lib_problem *p,
                   void **ret_state,
                   char *message,
                   size_t message_bytes)
{
    struct job *j = calloc(1, sizeof(*j));
    if (j == NULL) {
        (void)snprintf(message, message_bytes, "no memory");
        return WF_LIB_NO_MEMORY;
    }
    j->fault = fault;
    (void)p->get_int(p->ctx, "M", &j->m);
    (void)p->get_int(p->ctx, "N", &j->n);
    (void)p->get_int(p->ctx, "K", &j->k);
    (void)p->get_int(p->ctx, "group_count", &j->groups);
    (void)p->get_double(p->ctx, "alpha", &j->alpha);
    j->trans_b = p->get_string(p->ctx, "trans_b")[0] == 'T';
    read_mat(p, "A", "a_type", "lda", &j->a);
    read_mat(p, "B", "b_type", "ldb", &j->b);
    read_mat(p, "D", "d_type", "ldd", &j->d);
    (void)p->get_int(p->ctx, "stride_b", &j->b.stride);
    j->sa = tensor(p, "SA");
    j->sb = tensor(p, "SB");
    j->offsets = tensor(p, "offsets");
    *ret_state = j;
    return WF_LIB_OK;
}

#define X(name)                                                                      \
    static int prepare_##name(const struct wf_lib_problem *problem,                  \
                              const struct wf_lib_device *device, void *workspace,   \
                              void **ret_state, char *message, size_t message_bytes) \
    {                                                                                \
        (void)device;                                                                \
        (void)workspace;                                                             \
        return prepare(FAULT_##name, problem, ret_state, message, message_bytes);    \
    }
#include "tests/mutants/grouped_faults.def"
#undef X

static const struct wf_lib_kernel KERNELS[] = {
#define X(fault_name)                  \
    { .name = "grouped_" #fault_name,  \
      .op = "grouped_gemm",            \
      .supports = supports,            \
      .prepare = prepare_##fault_name, \
      .launch = launch,                \
      .destroy = free },
#include "tests/mutants/grouped_faults.def"
#undef X
};

static const struct wf_library_v1 LIBRARY = { .abi_version = WF_LIBRARY_ABI_VERSION,
                                              .kernel_size =
                                                  sizeof(struct wf_lib_kernel),
                                              .name = "wavefarm-mutant-grouped",
                                              .version = "1",
                                              .kernels = KERNELS,
                                              .kernel_count = FAULT_COUNT };

EXPORT const struct wf_library_v1 *wf_library_kernels_v1(void);
const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    return &LIBRARY;
}
