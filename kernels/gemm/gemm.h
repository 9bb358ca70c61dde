/* The gemm op: problem, tensors and semantics.
 *
 *   v = alpha * sum_k SA SB a b + beta * C + bias      a = op(A)[m][k], b = op(B)[k][j]
 *   D = v, silu(v), or silu(v of column n) * (v of column N + n)
 *   silu(v) = v / (1 + exp(-v))
 *
 * for each of `batch` row-major matrices; without the members below SA = SB = 1 and
 * bias = 0. op(B) has b_cols columns: N, or 2N where the activation is silu_gate.
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
 *   bias          "none", or "n": one value a column of op(B)                ("none")
 *   bias_type     f32 f16 bf16            (d_type, or f32 where that is an fp8 type)
 *   scale         "none"; "row": one factor a row of op(A) and a column of op(B);
 *                 "block128": one a row of op(A) and 128 of k, and one a 128 x 128
 *                 block of op(B). Both operands must be fp8                  ("none")
 *   activation    "none" "silu" "silu_gate". silu_gate: columns 0 .. N - 1 of op(B) are
 *                 the gate, N .. 2N - 1 the up half; beta must be 0          ("none")
 *   offset_a .. offset_d   storage begins this many elements behind an aligned address,
 *                 as a view into a larger buffer does (0)
 *
 * acc_type is derived: f64 for f64, i32 for i8, else f32. Bias, scale and activation go
 * with f32 sums only.
 *
 * Semantics. beta = 0 never reads C, and C is absent then (its tensor has no bytes).
 * alpha = 0 or K = 0 never reads A and B; scales are ordinary numbers then and cannot
 * matter. Padding between rows is never written. Nothing is rounded before D is: v, the
 * gate and the up half are in the type of the sums.
 * Rounding of D is to nearest even; overflow gives infinity for f32 f16 bf16 and the
 * largest finite value for fp8. i8: everything is computed modulo 2^32, as i32
 * accumulators do.
 *
 * Tensors A, B, C, D, always [batch][rows][cols] as stored (A of trans_a "T" is
 * [batch][K][M]); storage ends with the last row's last element. Behind them, dense and
 * absent (no bytes) where the problem has none:
 *   bias  [b_cols]
 *   SA    f32  row: [batch][M]       block128: [batch][M][ceil(K / 128)]
 *   SB    f32  row: [batch][b_cols]  block128: [batch][column blocks][ceil(K / 128)]
 * Column blocks: ceil(N / 128), of silu_gate as many for the gate and then for the up
 * half, so that no block lies in both.
 *
 * Inputs: scales are positive, spread over [1/4, 4) (powers of two where `inputs` makes
 * exact sums; 1 with ones). A bias is drawn as the operands are, times about sqrt(K) as
 * a power of two, so that it is as large as the sums it is added to.
 *
 * Counts: flops = 2 M b_cols K batch; bytes = what must cross main memory once: A, B, C
 * when used, D, bias and scales (a broadcast operand counts once). */
#ifndef WF_KERNELS_GEMM_GEMM_H
#define WF_KERNELS_GEMM_GEMM_H

#include "kernels/op.h"

enum gemm_tensor {
    GEMM_A,
    GEMM_B,
    GEMM_C,
    GEMM_D,
    GEMM_BIAS,
    GEMM_SA,
    GEMM_SB,
    GEMM_TENSOR_COUNT,
    GEMM_OFFSETS = GEMM_TENSOR_COUNT, /* of grouped_gemm only */
    GEMM_GROUPED_TENSOR_COUNT
};
#define GEMM_MATRIX_COUNT (GEMM_D + 1) /* those with leading dimensions */

#define GEMM_SCALE_BLOCK 128

enum gemm_scale {
    GEMM_SCALE_NONE,
    GEMM_SCALE_ROW,
    GEMM_SCALE_BLOCK128
};

enum gemm_activation {
    GEMM_ACTIVATION_NONE,
    GEMM_ACTIVATION_SILU,
    GEMM_ACTIVATION_SILU_GATE
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
    bool has_bias;
    enum gemm_scale scale;
    enum gemm_activation activation;
    enum wf_dtype acc_type, bias_type;
    struct gemm_matrix matrix[GEMM_MATRIX_COUNT];
    struct wf_tensor tensor[GEMM_GROUPED_TENSOR_COUNT];
    /* grouped_gemm: group b of `batch` is rows [begin[b], begin[b + 1]) of the one A
     * and D; its members besides B and SB have no batches. NULL: an ordinary gemm.
     * Owned. */
    int64_t *begin;
    int64_t *group; /* rows of each group; owned */
};

/* Rows of A and D that belong to batch b: first, and behind the last. */
static inline int64_t gemm_first_row(const struct gemm *g, int64_t b)
{
    return g->begin != NULL ? g->begin[b] : 0;
}

static inline int64_t gemm_end_row(const struct gemm *g, int64_t b)
{
    return g->begin != NULL ? g->begin[b + 1] : g->m;
}

/* Of grouped_gemm: the group that a row of 0 .. m - 1 belongs to. */
static inline int64_t gemm_group_of_row(const struct gemm *g, int64_t row)
{
    int64_t low = 0;
    for (int64_t high = g->batch - 1; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        if (g->begin[middle + 1] > row) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Rows of D in all, and the number of one of them. */
static inline int64_t gemm_all_rows(const struct gemm *g)
{
    return g->begin != NULL ? g->m : g->batch * g->m;
}

static inline int64_t gemm_line_number(const struct gemm *g, int64_t b, int64_t row)
{
    return g->begin != NULL ? row : b * g->m + row;
}

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

static inline bool gemm_is_gated(const struct gemm *g)
{
    return g->activation == GEMM_ACTIVATION_SILU_GATE;
}

/* Columns of op(B). */
static inline int64_t gemm_b_cols(const struct gemm *g)
{
    return gemm_is_gated(g) ? 2 * g->n : g->n;
}

static inline int64_t gemm_k_blocks(const struct gemm *g)
{
    return g->k / GEMM_SCALE_BLOCK + (g->k % GEMM_SCALE_BLOCK != 0);
}

/* Blocks of columns of one half of op(B). */
static inline int64_t gemm_col_blocks(const struct gemm *g)
{
    return g->n / GEMM_SCALE_BLOCK + (g->n % GEMM_SCALE_BLOCK != 0);
}

/* Places in SA and SB, in elements, of a term of the sum. */
static inline int64_t gemm_sa_at(const struct gemm *g,
                                 int64_t batch,
                                 int64_t row,
                                 int64_t k)
{
    const int64_t at = gemm_line_number(g, batch, row);
    return g->scale == GEMM_SCALE_ROW ? at
                                      : at * gemm_k_blocks(g) + k / GEMM_SCALE_BLOCK;
}

static inline int64_t gemm_sb_at(const struct gemm *g,
                                 int64_t batch,
                                 int64_t col,
                                 int64_t k)
{
    const int64_t half = col >= g->n ? 1 : 0;
    const int64_t blocks = gemm_col_blocks(g);
    const int64_t line = half * blocks + (col - half * g->n) / GEMM_SCALE_BLOCK;
    if (g->scale == GEMM_SCALE_ROW) {
        return batch * gemm_b_cols(g) + col;
    }
    return (batch * (gemm_is_gated(g) ? 2 : 1) * blocks + line) * gemm_k_blocks(g) +
           k / GEMM_SCALE_BLOCK;
}

/* gemm.c */
enum wf_status gemm_read_transpose(const struct wf_json *json,
                                   const char *key,
                                   bool *ret,
                                   struct wf_error *err);
enum wf_status gemm_read_scalars(struct gemm *g,
                                 const struct wf_json *json,
                                 struct wf_error *err);
size_t gemm_tensor_count(const void *state);
const struct wf_tensor *gemm_tensor_at(const void *state, size_t i);
enum wf_dtype gemm_math_type(const void *state);

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

/* gemm_epilogue.c: bias, scales and activation. Types, sizes and scalars come first. */
enum wf_status gemm_read_epilogue(struct gemm *g,
                                  const struct wf_json *json,
                                  struct wf_error *err);
enum wf_status gemm_set_epilogue_tensors(struct gemm *g, struct wf_error *err);
enum wf_status gemm_canonical_epilogue(const struct gemm *g,
                                       struct wf_json *obj,
                                       struct wf_error *err);
enum wf_status gemm_label_epilogue(const struct gemm *g,
                                   struct wf_buf *out,
                                   struct wf_error *err);
const char *gemm_epilogue_param(const struct gemm *g, const char *name); /* or NULL */

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
extern const struct wf_reference_ops gemm_grouped_reference_ops;

#endif
