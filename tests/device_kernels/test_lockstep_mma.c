/* The sm_90 GEMM kernels' source against a double-precision product: types, transposes,
 * edges, split sums, alpha and beta, bias, row scales, activations, batches, aligned
 * and not. Operands are small multiples of 1/8 (i8: whole numbers), so that products
 * are exact and errors are errors of layout. */
#include "core/dtype.h"
#include "tests/device_kernels/guarded.h"
#include "tests/device_kernels/lockstep.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Numbers of kernels/gemm/problem_device.h. */
enum {
    F16 = 0,
    BF16 = 1,
    I8 = 4,
    F32 = 5,
    I32 = 6,
    E4M3FN = 7,
    E5M2 = 8,
    NO_TYPE = 15,
    LINEAR = 0,
    SILU = 1,
    SILU_GATE = 2
};

#define MMA_ARGUMENTS(scalar)                                                    \
    const void *a, const void *b, const void *c, void *d, const void *bias,      \
        const float *sa, const float *sb, float *partial, int m, int n, int k,   \
        int split, int k_per_split, int xcc_count, long long lda, long long ldb, \
        long long ldc, long long ldd, long long stride_a, long long stride_b,    \
        long long stride_c, long long stride_d, scalar alpha, scalar beta, int types
typedef void mma_fn(MMA_ARGUMENTS(float));
typedef void mma_i8_fn(MMA_ARGUMENTS(int));

#define MMA_VARIANT(name, a, b, m, n, wm, wn, ak, bk, gate, split) \
    mma_fn name##_wf_gemm_mma, name##_wf_gemm_mma_any;
#include "tests/device_kernels/mma_variants.def"
#undef MMA_VARIANT
mma_fn mma_f16_split_wf_gemm_mma_sum, mma_bf16_gate_wf_gemm_mma_sum;

struct variant {
    const char *name;
    int a_type, b_type, block_m, block_n, warps, a_k, b_k, gate, split;
    mma_fn *fast, *any;
};

static const struct variant VARIANTS[] = {
#define MMA_VARIANT(name, a, b, m, n, wm, wn, ak, bk, gate, split) \
    { #name,                                                       \
      a,                                                           \
      b,                                                           \
      m,                                                           \
      n,                                                           \
      (wm) * (wn),                                                 \
      ak,                                                          \
      bk,                                                          \
      gate,                                                        \
      split,                                                       \
      name##_wf_gemm_mma,                                          \
      name##_wf_gemm_mma_any },
#include "tests/device_kernels/mma_variants.def"
#undef MMA_VARIANT
};

struct problem {
    int m, n, k, batch, pad, split;
    float alpha, beta;
    int d_type, bias_type, scale, activation;
};

struct matrix {
    struct guarded memory;
    int type;
    long long ld, stride;
};

struct operands {
    struct matrix a, b, c, d, bias, sa, sb;
    struct guarded partial;
};

struct call {
    mma_fn *fn;
    const struct problem *p;
    const struct operands *o;
    int k_per_split, is_i8;
};

static enum wf_dtype dtype_of(int type)
{
    static const enum wf_dtype of[] = {
        [F16] = WF_F16, [BF16] = WF_BF16,     [I8] = WF_I8,    [F32] = WF_F32,
        [I32] = WF_I32, [E4M3FN] = WF_E4M3FN, [E5M2] = WF_E5M2
    };
    return of[type];
}

static double value_at(const struct matrix *x, long long at)
{
    const enum wf_dtype t = dtype_of(x->type);
    double v = 0;
    wf_to_f64(t, (const char *)x->memory.data + at * (long long)wf_dtype_bytes(t), &v,
              1);
    return v;
}

static void call_kernel(void *argument)
{
    const struct call *c = argument;
    const struct problem *p = c->p;
    const struct operands *o = c->o;
    const int types = o->d.type | o->c.type << 4 | p->bias_type << 8 |
                      p->activation << 12 | p->scale << 16;
#define MMA_CALL(fn, alpha, beta)                                                    \
    (fn)(o->a.memory.data, o->b.memory.data, o->c.memory.data, o->d.memory.data,     \
         o->bias.memory.data, o->sa.memory.data, o->sb.memory.data, o->partial.data, \
         p->m, p->n, p->k, p->split, c->k_per_split, 1, o->a.ld, o->b.ld, o->c.ld,   \
         o->d.ld, o->a.stride, o->b.stride, o->c.stride, o->d.stride, alpha, beta,   \
         types)
    if (c->is_i8) {
        MMA_CALL((mma_i8_fn *)(void (*)(void))c->fn, (int)p->alpha, (int)p->beta);
    } else {
        MMA_CALL(c->fn, p->alpha, p->beta);
    }
}

static double random_value(uint32_t *state, int type)
{
    *state = *state * 1664525U + 1013904223U;
    const int whole = (int)(*state >> 24) % 17 - 8;
    return type == I8 || type == I32 ? whole : whole / 8.0;
}

static struct matrix make_matrix(int type,
                                 int rows,
                                 int cols,
                                 int pad,
                                 int batch,
                                 uint32_t seed)
{
    struct matrix x = { .type = type, .ld = cols + pad };
    const size_t bytes = wf_dtype_bytes(dtype_of(type));
    x.stride = rows * x.ld;
    x.memory = guarded_make(
        (size_t)((batch - 1) * x.stride + (rows - 1) * x.ld + cols) * bytes);
    for (int i = 0; i < batch * rows; i++) {
        for (int c = 0; c < cols; c++) {
            const double v = random_value(&seed, type);
            const long long at = i / rows * x.stride + i % rows * x.ld + c;
            wf_from_f64(dtype_of(type), &v,
                        (char *)x.memory.data + at * (long long)bytes, 1);
        }
    }
    return x;
}

static struct operands make_operands(const struct variant *v, const struct problem *p)
{
    struct operands o = { 0 };
    const int columns = v->gate ? 2 * p->n : p->n;
    const int d_type = v->a_type == I8 ? I32 : p->d_type;
    o.a = make_matrix(v->a_type, v->a_k ? p->m : p->k, v->a_k ? p->k : p->m, p->pad,
                      p->batch, 1);
    o.b = make_matrix(v->b_type, v->b_k ? columns : p->k, v->b_k ? p->k : columns,
                      p->pad, p->batch, 2);
    o.d = make_matrix(d_type, p->m, p->n, p->pad, p->batch, 3);
    o.c = o.d;
    o.c.memory = (struct guarded){ 0 };
    if (p->beta != 0.0F) {
        o.c = make_matrix(d_type, p->m, p->n, p->pad, p->batch, 4);
    }
    memset(o.d.memory.data, 0xff,
           (size_t)((p->batch - 1) * o.d.stride + (p->m - 1) * o.d.ld + p->n) *
               wf_dtype_bytes(dtype_of(d_type)));
    if (p->bias_type != NO_TYPE) {
        o.bias = make_matrix(p->bias_type, 1, columns, 0, 1, 5);
    }
    if (p->scale) {
        o.sa = make_matrix(F32, p->batch, p->m, 0, 1, 6);
        o.sb = make_matrix(F32, p->batch, columns, 0, 1, 7);
    }
    if (v->split) {
        o.partial = guarded_make((size_t)p->batch * (size_t)p->split * (size_t)p->m *
                                 (size_t)columns * 4);
    }
    return o;
}

static void free_operands(struct operands *o)
{
    struct matrix *const each[] = {
        &o->a, &o->b, &o->c, &o->d, &o->bias, &o->sa, &o->sb
    };
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        guarded_free(&each[i]->memory);
    }
    guarded_free(&o->partial);
}

/* Before the activation, of one column of op(B); *magnitude adds up. */
static double want_column(const struct variant *v,
                          const struct problem *p,
                          const struct operands *o,
                          int batch,
                          int row,
                          int column,
                          double *magnitude)
{
    double sum = 0;
    for (int k = 0; k < p->k; k++) {
        const double x =
            value_at(&o->a, batch * o->a.stride +
                                (v->a_k ? row * o->a.ld + k : k * o->a.ld + row));
        const double y =
            value_at(&o->b, batch * o->b.stride +
                                (v->b_k ? column * o->b.ld + k : k * o->b.ld + column));
        sum += x * y;
        *magnitude += fabs(x * y);
    }
    sum *= (double)p->alpha;
    if (p->scale) {
        const int columns = v->gate ? 2 * p->n : p->n;
        sum *= value_at(&o->sa, batch * p->m + row) *
               value_at(&o->sb, batch * columns + column);
    }
    return p->bias_type == NO_TYPE ? sum : sum + value_at(&o->bias, column);
}

static double want(const struct variant *v,
                   const struct problem *p,
                   const struct operands *o,
                   int batch,
                   int row,
                   int column,
                   double *magnitude)
{
    double x = want_column(v, p, o, batch, row, column, magnitude);
    if (p->beta != 0.0F) {
        x += (double)p->beta *
             value_at(&o->c, batch * o->c.stride + row * o->c.ld + column);
    }
    if (p->activation != LINEAR) {
        x = x / (1.0 + exp(-x));
    }
    if (p->activation == SILU_GATE) {
        const double up = want_column(v, p, o, batch, row, p->n + column, magnitude);
        *magnitude *= fabs(x) + fabs(up);
        x *= up;
    }
    return x;
}

static int is_untouched(const struct operands *o, long long at)
{
    static const unsigned char ones[4] = { 0xff, 0xff, 0xff, 0xff };
    const size_t bytes = wf_dtype_bytes(dtype_of(o->d.type));
    return memcmp((const char *)o->d.memory.data + at * (long long)bytes, ones,
                  bytes) == 0;
}

/* Every written element is right, everything else is still poison. */
static void check_result(const struct variant *v,
                         const struct problem *p,
                         const struct operands *o,
                         const char *which)
{
    const double u = o->d.type == BF16 ? 0x1p-8 : o->d.type == F16 ? 0x1p-11 : 0x1p-22;
    for (int i = 0; i < p->batch * p->m; i++) {
        for (int c = 0; c < p->n + p->pad; c++) {
            const long long at = i / p->m * o->d.stride + i % p->m * o->d.ld + c;
            if (c >= p->n) {
                cr_assert(i + 1 == p->batch * p->m || is_untouched(o, at),
                          "%s %s: padding of row %d written", v->name, which, i);
                continue;
            }
            double magnitude = 0;
            const double w = want(v, p, o, i / p->m, i % p->m, c, &magnitude);
            const double got = value_at(&o->d, at);
            const double tol =
                o->d.type == I32 ? 0.0 : fabs(w) * u + magnitude * 0x1p-20 + 0x1p-24;
            cr_assert(fabs(got - w) <= tol, "%s %s %dx%dx%d: D[%d][%d] is %g, want %g",
                      v->name, which, p->m, p->n, p->k, i, c, got, w);
        }
    }
}

static void run_sum(const struct variant *v, struct call *call)
{
    const struct problem *p = call->p;
    struct lockstep_launch launch = {
        .grid = { (unsigned)((p->m * ((p->n + 7) / 8) + 255) / 256), 1,
                  (unsigned)p->batch },
        .threads = 256,
        .wave = 32
    };
    call->fn = v->gate ? mma_bf16_gate_wf_gemm_mma_sum : mma_f16_split_wf_gemm_mma_sum;
    const char *failure = lockstep_run(&launch, call_kernel, call);
    cr_assert_null(failure, "%s sum: %s", v->name, failure);
}

static void run_variant(const struct variant *v,
                        const struct problem *given,
                        int aligned)
{
    struct problem p = *given;
    const int out_n = v->gate ? v->block_n / 2 : v->block_n;
    p.split = v->split ? p.split : 1;
    p.activation = v->gate                     ? SILU_GATE
                   : p.activation == SILU_GATE ? SILU
                                               : p.activation;
    p.beta = v->gate ? 0.0F : p.beta;
    if (v->a_type == I8) {
        p.alpha = ceilf(p.alpha);
        p.activation = LINEAR;
        p.bias_type = NO_TYPE;
        p.scale = 0;
    }
    struct operands o = make_operands(v, &p);
    const int step = v->a_type == F16 || v->a_type == BF16 ? 64 : 128;
    struct call call = { aligned ? v->fast : v->any, &p, &o,
                         ((p.k + p.split - 1) / p.split + step - 1) / step * step,
                         v->a_type == I8 };
    struct lockstep_launch launch = {
        .grid = { (unsigned)(((p.m + v->block_m - 1) / v->block_m) *
                             ((p.n + out_n - 1) / out_n)),
                  (unsigned)p.split, (unsigned)p.batch },
        .threads = 32 * v->warps,
        .wave = 32,
        .dynamic_bytes = (size_t)(4 * (v->block_m + v->block_n) * 128)
    };
    const char *which = aligned ? "aligned" : "any";
    const char *failure = lockstep_run(&launch, call_kernel, &call);
    cr_assert_null(failure, "%s %s: %s", v->name, which, failure);
    if (v->split) {
        run_sum(v, &call);
    }
    check_result(v, &p, &o, which);
    free_operands(&o);
}

static void run_all(const struct problem *p, int aligned)
{
    for (size_t i = 0; i < sizeof VARIANTS / sizeof VARIANTS[0]; i++) {
        run_variant(&VARIANTS[i], p, aligned);
    }
}

Test(lockstep_mma, more_than_a_tile_each_way)
{
    run_all(
        &(struct problem){ 72, 136, 272, 1, 0, 2, 1.0F, 0.0F, F16, NO_TYPE, 0, LINEAR },
        1);
}

Test(lockstep_mma, edges_with_aligned_rows_bias_and_silu)
{
    run_all(&(struct problem){ 72, 80, 112, 1, 16, 3, 0.5F, -2.0F, BF16, F32, 0, SILU },
            1);
}

Test(lockstep_mma, odd_sizes_take_the_unaligned_path)
{
    run_all(&(struct problem){ 33, 69, 141, 1, 1, 2, 1.0F, 0.0F, F16, F16, 0, LINEAR },
            0);
}

Test(lockstep_mma, batches_row_scales_and_wide_results)
{
    run_all(&(struct problem){ 16, 32, 48, 3, 16, 2, 2.0F, 3.0F, F32, BF16, 1, SILU },
            1);
    run_all(&(struct problem){ 5, 3, 7, 2, 0, 1, -1.0F, 2.0F, F32, NO_TYPE, 1, LINEAR },
            0);
}

Test(lockstep_mma, one_by_one)
{
    run_all(&(struct problem){ 1, 1, 1, 1, 0, 1, 1.0F, 0.0F, F16, NO_TYPE, 0, LINEAR },
            0);
}

Test(lockstep_mma, alpha_zero_and_empty_sums_never_read_the_operands)
{
    run_all(&(struct problem){ 9, 16, 0, 1, 0, 1, 1.0F, 2.0F, F16, NO_TYPE, 0, LINEAR },
            1);
    const struct variant *v = &VARIANTS[0];
    const struct problem p = { 8, 8, 16, 1, 0, 1, 0.0F, 1.0F, F16, NO_TYPE, 0, LINEAR };
    struct operands o = make_operands(v, &p);
    memset(o.a.memory.data, 0xff, 8 * 16 * 2); /* NaN */
    struct call call = { v->fast, &p, &o, 64, 0 };
    const struct lockstep_launch launch = {
        { 1, 1, 1 }, 32 * v->warps, 32, (size_t)(4 * (v->block_m + v->block_n) * 128)
    };
    cr_assert_null(lockstep_run(&launch, call_kernel, &call));
    cr_assert_arr_eq(o.d.memory.data, o.c.memory.data, 8 * 8 * 2);
    free_operands(&o);
}
