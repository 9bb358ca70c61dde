/* The gemm op: problem, tensors and semantics.
 *
 *   D[b] = alpha * op(A[b]) op(B[b]) + beta * C[b],   b = 0 .. batch - 1, row-major
 *
 * Members of a case (default):
 *   M N K         sizes, >= 0; required. M or N = 0: nothing to do. K = 0: D = beta * C
 *   batch         >= 1 (1)
 *   trans_a       "N": A is stored [M][lda >= K]; "T": [K][lda >= M]        ("N")
 *   trans_b       "N": B is stored [K][ldb >= N]; "T": [N][ldb >= K]        ("N")
 *   a_type        f64 f32 f16 bf16, an fp8 type, or i8                       ("f16")
 *   b_type        any float type with a float A (f64 only with f64), i8 with i8
 * (a_type) d_type        float types: any of them but f64, which goes with f64 only
 *                 (a_type; f16 for fp8); i8: i32
 *   c_type        as d_type (d_type)
 *   alpha, beta   finite; i8: integers in the range of i32                   (1, 0)
 *   lda ldb ldc ldd   row strides in elements (the row length: tight)
 *   stride_a .. stride_d   batch strides in elements (rows * ld). A whole matrix apart
 *                 (>= (rows - 1) * ld + row length), or interleaved inside a row
 *                 (>= row length and (batch - 1) * stride + row length <= ld), or, for
 *                 inputs, 0: one matrix for all batches
 *   offset_a .. offset_d   storage begins this many elements behind an aligned address,
 *                 as a view into a larger buffer does (0)
 *
 * acc_type is derived: f64 for f64, i32 for i8, else f32.
 *
 * Semantics. beta = 0 never reads C, and C is absent then (its tensor has no bytes).
 * alpha = 0 or K = 0 never reads A and B. Padding between rows is never written.
 * Rounding of D is to nearest even; overflow gives infinity for f32 f16 bf16 and the
 * largest finite value for fp8. i8: everything is computed modulo 2^32, as i32
 * accumulators do.
 *
 * Tensors A, B, C, D, always [batch][rows][cols] as stored (A of trans_a "T" is
 * [batch][K][M]); storage ends with the last row's last element.
 *
 * Counts: flops = 2 M N K batch; bytes = what must cross main memory once: A, B, C when
 * used, D (a broadcast operand counts once). */
#ifndef WF_KERNELS_GEMM_GEMM_H
#define WF_KERNELS_GEMM_GEMM_H

#include "kernels/op.h"

enum gemm_tensor {
    GEMM_A,
    GEMM_B,
    GEMM_C,
    GEMM_D,
    GEMM_TENSOR_COUNT
};

/* One stored operand: batch matrices of rows x cols. */
struct gemm_matrix {
    int64_t rows, cols;
    int64_t ld, stride;
    int64_t offset;
    enum wf_dtype dtype;
};

struct gemm {
    int64_t m, n, k, batch;
    bool trans_a, trans_b;
    double alpha, beta;
    enum wf_dtype acc_type;
    struct gemm_matrix matrix[GEMM_TENSOR_COUNT];
    struct wf_tensor tensor[GEMM_TENSOR_COUNT];
};

static inline bool gemm_reads_product(const struct gemm *g)
{
    return g->alpha != 0.0 && g->k > 0;
}

static inline bool gemm_reads_c(const struct gemm *g)
{
    return g->beta != 0.0;
}

static inline bool gemm_is_integer(const struct gemm *g)
{
    return g->acc_type == WF_I32;
}

/* gemm_types.c */
enum wf_dtype gemm_default_result(enum wf_dtype a_type); /* of d_type */
enum wf_status gemm_read_types(struct gemm *g,
                               const struct wf_json *json,
                               struct wf_error *err);

/* gemm_shape.c: leading dimensions, strides, tensors; every product is checked. */
enum wf_status gemm_read_shape(struct gemm *g,
                               const struct wf_json *json,
                               struct wf_error *err);
int64_t gemm_tight_stride(const struct gemm_matrix *x);

/* gemm_describe.c */
enum wf_status gemm_canonical(const void *state,
                              struct wf_json *obj,
                              struct wf_error *err);
enum wf_status gemm_label(const void *state, struct wf_buf *out, struct wf_error *err);
enum wf_status gemm_param(const void *state,
                          const char *name,
                          struct wf_value *ret,
                          struct wf_error *err);
double gemm_flops(const void *state);
double gemm_bytes(const void *state);

/* gemm_inputs.c */
enum wf_status gemm_fill(const struct wf_case *c,
                         const void *state,
                         size_t tensor,
                         uint64_t seed,
                         uint64_t first,
                         uint64_t n,
                         void *dst,
                         struct wf_error *err);

/* gemm_ref.c */
extern const struct wf_reference_ops gemm_reference_ops;

#endif
