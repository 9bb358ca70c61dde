/* Host library kernels of gemm and grouped_gemm, built as libwf_host_gemm.so
 * (packs/library_abi.h). */
#ifndef WF_KERNELS_GEMM_GEMM_HOST_H
#define WF_KERNELS_GEMM_GEMM_HOST_H

#include "core/dtype.h"
#include "packs/library_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HOST_A,
    HOST_B,
    HOST_C,
    HOST_D,
    HOST_TENSOR_COUNT
};

struct host_matrix {
    enum wf_dtype dtype;
    int64_t ld, stride;
    char *data; /* NULL before prepare, and for a C that is not read */
};

enum host_scale {
    HOST_UNSCALED,
    HOST_SCALE_ROW,
    HOST_SCALE_128
};

enum host_activation {
    HOST_LINEAR,
    HOST_SILU,
    HOST_SILU_GATE
};

struct host_gemm {
    bool grouped;           /* grouped_gemm: m rows in all, a batch is a group */
    const int32_t *offsets; /* [batch + 1], of a grouped one; NULL before prepare */
    int64_t m, n, k, batch;
    int64_t b_cols; /* columns of op(B): 2 n with silu_gate */
    bool trans_a, trans_b;
    double alpha, beta;
    struct host_matrix matrix[HOST_TENSOR_COUNT];
    bool has_bias;
    enum host_scale scale;
    enum host_activation activation;
    enum wf_dtype bias_type;
    const char *bias;     /* [b_cols]; NULL before prepare and without */
    const float *sa, *sb; /* as kernels/gemm/gemm.h lays them out; NULL likewise */
    int threads;
};

static inline char *host_element(const struct host_gemm *g,
                                 int tensor,
                                 int64_t batch,
                                 int64_t row,
                                 int64_t col)
{
    const struct host_matrix *x = &g->matrix[tensor];
    const int64_t at = batch * x->stride + row * x->ld + col;
    return x->data + (size_t)at * wf_dtype_bytes(x->dtype);
}

/* The factor of a row of op(A) or a column of op(B) at k. */
float host_scale(const struct host_gemm *g,
                 int tensor,
                 int64_t batch,
                 int64_t line,
                 int64_t k);

/* gemm_host_problem.c. 0, or a WF_LIB_ code with the reason in `message`. */
int host_gemm_read(const struct wf_lib_problem *problem,
                   const struct wf_lib_device *device,
                   struct host_gemm *ret,
                   char *message,
                   size_t message_bytes);

/* Rows [begin, end) of a grouped problem times the B of `group`, as a gemm of one
 * batch.
 */
struct host_gemm host_group(const struct host_gemm *g,
                            int64_t group,
                            int64_t begin,
                            int64_t end);

/* gemm_host_blas.c: OpenBLAS, f64 and f32 arithmetic. */
struct host_blas;                                              /* panels; opaque */
struct host_blas *host_blas_create(const struct host_gemm *g); /* NULL: no memory */
void host_blas_destroy(struct host_blas *b);
void host_blas_run(struct host_blas *b, const struct host_gemm *g);
bool host_blas_fits(const struct host_gemm *g); /* its dimensions are 32-bit */

/* gemm_host_i8.c: plain C, i32 accumulation modulo 2^32. */
struct host_i8;
struct host_i8 *host_i8_create(const struct host_gemm *g);
void host_i8_destroy(struct host_i8 *h);
int host_i8_run(struct host_i8 *h, const struct host_gemm *g); /* 0: good */

#endif
