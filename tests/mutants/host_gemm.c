/* The library's entry, the loop over the output, and mistakes of writing. */
#include "tests/mutants/host_gemm.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT          __attribute__((visibility("default")))
#define WORKSPACE_BYTES 64

/* --- elements --- */

static char *element(const struct gemm_mat *x, int64_t batch, int64_t row, int64_t col)
{
    const int64_t at = batch * x->stride + row * x->ld + col;
    return x->data + at * (int64_t)wf_dtype_bytes(x->type);
}

double gemm_load(const struct gemm_mat *x, int64_t batch, int64_t row, int64_t col)
{
    double v;
    wf_to_f64(x->type, element(x, batch, row, col), &v, 1);
    return v;
}

void gemm_store(const struct gemm_mat *x,
                int64_t batch,
                int64_t row,
                int64_t col,
                double v)
{
    wf_from_f64(x->type, &v, element(x, batch, row, col), 1);
}

double gemm_a(const struct gemm_job *j, int64_t batch, int64_t i, int64_t k)
{
    return j->trans_a ? gemm_load(&j->a, batch, k, i) : gemm_load(&j->a, batch, i, k);
}

double gemm_b(const struct gemm_job *j, int64_t batch, int64_t k, int64_t col)
{
    if (j->old_b) {
        return j->old_b[k * j->n + col];
    }
    return j->trans_b ? gemm_load(&j->b, batch, col, k)
                      : gemm_load(&j->b, batch, k, col);
}

double gemm_round(enum wf_dtype t, double v)
{
    unsigned char bytes[8];
    double back;
    wf_from_f64(t, &v, bytes, 1);
    wf_to_f64(t, bytes, &back, 1);
    return back;
}

/* --- the output --- */

/* Where element (i, col) goes. */
static void place(const struct gemm_job *j, int64_t *i, int64_t *col)
{
    const int64_t row = *i, c = *col;
    if (j->fault == GEMM_d_transposed) {
        *i = c;
        *col = row;
    } else if (j->fault == GEMM_columns_reversed) {
        *col = j->n - 1 - c;
    } else if (j->fault == GEMM_micro_tile_swapped && (row ^ 1) < j->m) {
        *i = row ^ (c >> 2 & 1); /* every other four columns: rows exchanged */
    } else if (j->fault == GEMM_first_row_shifted && row == 0) {
        *col = (c + 1) % j->n;
    } else if (j->fault == GEMM_rows_16_bits) {
        *i = row & 0xffff;
    }
}

/* A mistake in few elements. */
static double spoiled(const struct gemm_job *j, int64_t i, int64_t col, double v)
{
    const bool last = i == j->m - 1 && col == j->n - 1;
    const bool middle = i == j->m / 2 && col == j->n / 3;
    switch ((int)j->fault) {
    case GEMM_last_element:
        return last ? v + 1.0 : v;
    case GEMM_one_in_a_million:
        return middle ? v * 1.01 + copysign(0.01, v) : v;
    case GEMM_one_row:
        return i == j->m / 2 ? v * 1.03 : v;
    case GEMM_small_becomes_zero:
        return fabs(v) < 0.02 ? 0.0 : v;
    case GEMM_one_nan:
        return middle ? (double)NAN : v;
    case GEMM_one_infinity:
        return middle ? (double)INFINITY : v;
    case GEMM_all_zero:
        return 0.0;
    case GEMM_copies_a:
        return gemm_a(j, 0, i, col % j->k);
    default:
        return v;
    }
}

static void compute(struct gemm_job *j)
{
    for (int64_t b = 0; b < j->batch; b++) {
        const int64_t to = j->fault == GEMM_batch_16_bits ? b & 0xffff : b;
        for (int64_t i = 0; i < j->m; i++) {
            for (int64_t col = 0; col < j->n; col++) {
                int64_t row = i, c = col;
                double v = gemm_has_epilogue(j)
                               ? gemm_epilogue_value(j, b, i, col)
                               : gemm_value(j, b, i, col, gemm_sum(j, b, i, col));
                place(j, &row, &c);
                v = gemm_hidden(j, b, i, col, spoiled(j, i, col, v));
                gemm_store(&j->d, to, row, c, v);
            }
        }
    }
}

static void end_by(int signal_number)
{
    /* Not through a handler that a sanitizer may have set. */
    const struct sigaction plain = { .sa_handler = SIG_DFL };
    (void)sigaction(signal_number, &plain, NULL);
    (void)raise(signal_number);
}

/* Beside the output. */
static void overstep(struct gemm_job *j)
{
    unsigned char *d = (unsigned char *)j->d.data;
    switch ((int)j->fault) {
    case GEMM_writes_padding:
        gemm_store(&j->d, 0, 0, j->n, 0.0);
        break;
    case GEMM_writes_behind:
        d[j->d.bytes] = 0;
        break;
    case GEMM_writes_before:
        d[-1] = 0;
        break;
    case GEMM_writes_far_behind:
        d[j->d.bytes + 2047] = 1;
        break;
    case GEMM_modifies_a:
        gemm_store(&j->a, 0, j->m / 2, 0, 0.5);
        break;
    case GEMM_modifies_b_and_restores_not:
        memset(j->b.data, 0, j->b.bytes);
        break;
    case GEMM_modifies_c:
        gemm_store(&j->c, 0, 0, 0, 1.0);
        break;
    case GEMM_uses_workspace_unset:
        if (isnan(j->workspace[0])) {
            gemm_store(&j->d, 0, 0, 0, 0.0);
        }
        break;
    case GEMM_behind_workspace:
        memset(j->workspace, 0, WORKSPACE_BYTES + 1);
        break;
    case GEMM_crashes:
        end_by(SIGSEGV);
        break;
    case GEMM_exits:
        _exit(0);
        break;
    default:
        break;
    }
}

static int launch(void *state, char *message, size_t bytes)
{
    struct gemm_job *j = state;
    (void)message;
    (void)bytes;
    j->carry = 0.0;
    while (j->fault == GEMM_hangs) {
        (void)pause();
    }
    const bool over = j->fault == GEMM_nothing_from_fourth_launch && j->launches >= 3;
    if (j->fault == GEMM_keeps_first_b && gemm_keep_b(j) != WF_LIB_OK) {
        return WF_LIB_NO_MEMORY;
    }
    if (j->fault != GEMM_does_nothing && !over &&
        !(j->fault == GEMM_k_zero_returns && !j->k)) {
        compute(j);
        overstep(j);
        gemm_later(j);
    }
    j->launches++;
    return WF_LIB_OK;
}

/* --- the interface --- */

static int supports(const struct wf_lib_problem *problem,
                    const struct wf_lib_device *device,
                    char *message,
                    size_t message_bytes)
{
    (void)problem;
    (void)device;
    (void)message;
    (void)message_bytes;
    return WF_LIB_OK;
}

static uint64_t workspace_bytes(const struct wf_lib_problem *problem,
                                const struct wf_lib_device *device)
{
    (void)problem;
    (void)device;
    return WORKSPACE_BYTES;
}

static void destroy(void *state)
{
    struct gemm_job *j = state;
    free(j->old_b);
    free(j);
}

static void read_mat(const struct wf_lib_problem *p,
                     const char *name,
                     const char *type,
                     const char *ld,
                     const char *stride,
                     struct gemm_mat *ret)
{
    (void)wf_dtype_parse(p->get_string(p->ctx, type), &ret->type);
    (void)p->get_int(p->ctx, ld, &ret->ld);
    (void)p->get_int(p->ctx, stride, &ret->stride);
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (strcmp(p->tensors[i].name, name) == 0) {
            ret->data = p->tensors[i].data;
            ret->bytes = p->tensors[i].bytes;
        }
    }
}

static int prepare(enum gemm_fault fault,
                   const struct wf_lib_problem *p,
                   void *workspace,
                   void **ret_state,
                   char *message,
                   size_t message_bytes)
{
    struct gemm_job *j = calloc(1, sizeof(*j));
    if (j == NULL) {
        (void)snprintf(message, message_bytes, "no memory");
        return WF_LIB_NO_MEMORY;
    }
    j->fault = fault;
    j->workspace = workspace;
    (void)p->get_int(p->ctx, "M", &j->m);
    (void)p->get_int(p->ctx, "N", &j->n);
    (void)p->get_int(p->ctx, "K", &j->k);
    (void)p->get_int(p->ctx, "batch", &j->batch);
    (void)p->get_double(p->ctx, "alpha", &j->alpha);
    (void)p->get_double(p->ctx, "beta", &j->beta);
    j->trans_a = p->get_string(p->ctx, "trans_a")[0] == 'T';
    j->trans_b = p->get_string(p->ctx, "trans_b")[0] == 'T';
    read_mat(p, "A", "a_type", "lda", "stride_a", &j->a);
    read_mat(p, "B", "b_type", "ldb", "stride_b", &j->b);
    read_mat(p, "C", "c_type", "ldc", "stride_c", &j->c);
    read_mat(p, "D", "d_type", "ldd", "stride_d", &j->d);
    gemm_read_epilogue(p, &j->epilogue);
    gemm_believe(j);
    *ret_state = j;
    return WF_LIB_OK;
}

#define X(name)                                                                      \
    static int prepare_##name(const struct wf_lib_problem *problem,                  \
                              const struct wf_lib_device *device, void *workspace,   \
                              void **ret_state, char *message, size_t message_bytes) \
    {                                                                                \
        (void)device;                                                                \
        return prepare(GEMM_##name, problem, workspace, ret_state, message,          \
                       message_bytes);                                               \
    }
#include "tests/mutants/gemm_faults.def"
#undef X

static const struct wf_lib_kernel KERNELS[] = {
#define X(name)                                            \
    {                                                      \
        "gemm_" #name,  "gemm", supports, workspace_bytes, \
        prepare_##name, launch, destroy                    \
    },
#include "tests/mutants/gemm_faults.def"
#undef X
};

static const struct wf_library_v1 LIBRARY = { WF_LIBRARY_ABI_VERSION,
                                              sizeof(struct wf_lib_kernel),
                                              "wavefarm-mutant-gemm",
                                              "1",
                                              KERNELS,
                                              sizeof(KERNELS) / sizeof(KERNELS[0]) };

EXPORT const struct wf_library_v1 *wf_library_kernels_v1(void);
const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    return &LIBRARY;
}
