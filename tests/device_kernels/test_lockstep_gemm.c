/* The GEMM kernels' source against a double-precision product: every variant, aligned
 * and not, edges in all three dimensions, split sums, alpha and beta, batches. */
#include "core/dtype.h"
#include "tests/device_kernels/guarded.h"
#include "tests/device_kernels/lockstep.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef void gemm_fn(const uint16_t *a,
                     const uint16_t *b,
                     const uint16_t *c,
                     uint16_t *d,
                     const void *bias,
                     const float *sa,
                     const float *sb,
                     float *partial,
                     int m,
                     int n,
                     int k,
                     int split,
                     int k_per_split,
                     int xcc_count,
                     long long lda,
                     long long ldb,
                     long long ldc,
                     long long ldd,
                     long long stride_a,
                     long long stride_b,
                     long long stride_c,
                     long long stride_d,
                     float alpha,
                     float beta,
                     int types);

/* C and D f16, no bias, no activation, no scales. */
enum {
    TYPES = 15 << 8
};

#define GEMM_VARIANT(name, wave, bm, bn, threads, dynamic, ak, bk, split) \
    gemm_fn name##_wf_gemm;
#include "tests/device_kernels/variants.def"
#undef GEMM_VARIANT
gemm_fn mfma_64x64_nt_wf_gemm_sum;

struct variant {
    const char *name;
    int wave, block_m, block_n, threads;
    size_t dynamic;
    int a_k, b_k, split;
    gemm_fn *fn, *sum;
};

static const struct variant VARIANTS[] = {
#define GEMM_VARIANT(name, wave, bm, bn, threads, dynamic, ak, bk, split) \
    { #name,                                                              \
      wave,                                                               \
      bm,                                                                 \
      bn,                                                                 \
      threads,                                                            \
      dynamic,                                                            \
      ak,                                                                 \
      bk,                                                                 \
      split,                                                              \
      name##_wf_gemm,                                                     \
      mfma_64x64_nt_wf_gemm_sum },
#include "tests/device_kernels/variants.def"
#undef GEMM_VARIANT
};

struct problem {
    int m, n, k, batch, pad, split;
    float alpha, beta;
};

struct operands {
    struct guarded a, b, c, d, partial;
    long long lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d;
};

struct call {
    gemm_fn *fn;
    const struct variant *v;
    const struct problem *p;
    const struct operands *o;
};

static void call_kernel(void *argument)
{
    const struct call *c = argument;
    const struct problem *p = c->p;
    const struct operands *o = c->o;
    const int per =
        p->split > 1 ? ((p->k + p->split - 1) / p->split + 63) / 64 * 64 : p->k;
    c->fn(o->a.data, o->b.data, o->c.data, o->d.data, NULL, NULL, NULL, o->partial.data,
          p->m, p->n, p->k, p->split, per, 8, o->lda, o->ldb, o->ldc, o->ldd,
          o->stride_a, o->stride_b, o->stride_c, o->stride_d, p->alpha, p->beta, TYPES);
}

/* Small multiples of 1/8: products are exact in f32, so that errors are layout errors.
 */
static uint16_t random_half(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return wf_f32_to_f16((float)((int)(*state >> 24) % 17 - 8) / 8.0F);
}

static struct guarded make_matrix(int rows,
                                  int cols,
                                  long long ld,
                                  long long stride,
                                  int batch,
                                  uint32_t seed)
{
    const size_t count = (size_t)((batch - 1) * stride + (rows - 1) * ld + cols);
    struct guarded g = guarded_make(count * 2);
    uint16_t *data = g.data;
    for (int b = 0; b < batch; b++) {
        for (int r = 0; r < rows; r++) {
            for (int c = 0; c < cols; c++) {
                data[b * stride + r * ld + c] = random_half(&seed);
            }
        }
    }
    return g;
}

static struct operands make_operands(const struct variant *v, const struct problem *p)
{
    struct operands o = { 0 };
    const int a_rows = v->a_k ? p->m : p->k;
    const int a_cols = v->a_k ? p->k : p->m;
    const int b_rows = v->b_k ? p->n : p->k;
    const int b_cols = v->b_k ? p->k : p->n;
    o.lda = a_cols + p->pad;
    o.ldb = b_cols + p->pad;
    o.ldc = p->n + p->pad;
    o.ldd = p->n + p->pad;
    o.stride_a = a_rows * o.lda;
    o.stride_b = b_rows * o.ldb;
    o.stride_c = p->m * o.ldc;
    o.stride_d = p->m * o.ldd;
    o.a = make_matrix(a_rows, a_cols, o.lda, o.stride_a, p->batch, 1);
    o.b = make_matrix(b_rows, b_cols, o.ldb, o.stride_b, p->batch, 2);
    if (p->beta != 0.0F) {
        o.c = make_matrix(p->m, p->n, o.ldc, o.stride_c, p->batch, 3);
    }
    o.d = guarded_make(
        (size_t)((p->batch - 1) * o.stride_d + (p->m - 1) * o.ldd + p->n) * 2);
    o.partial = guarded_make((size_t)p->batch * (size_t)p->split * (size_t)p->m *
                             (size_t)p->n * 4);
    return o;
}

static void free_operands(struct operands *o)
{
    guarded_free(&o->a);
    guarded_free(&o->b);
    guarded_free(&o->c);
    guarded_free(&o->d);
    guarded_free(&o->partial);
}

static double want(const struct variant *v,
                   const struct problem *p,
                   const struct operands *o,
                   int batch,
                   int row,
                   int column,
                   double *ret_magnitude)
{
    const uint16_t *a = (const uint16_t *)o->a.data + batch * o->stride_a;
    const uint16_t *b = (const uint16_t *)o->b.data + batch * o->stride_b;
    double sum = 0;
    double magnitude = 0;
    for (int k = 0; k < p->k; k++) {
        const double x =
            (double)wf_f16_to_f32(a[v->a_k ? row * o->lda + k : k * o->lda + row]);
        const double y = (double)wf_f16_to_f32(
            b[v->b_k ? column * o->ldb + k : k * o->ldb + column]);
        sum += x * y;
        magnitude += fabs(x * y);
    }
    double result = (double)p->alpha * sum;
    if (p->beta != 0.0F) {
        const uint16_t *c = (const uint16_t *)o->c.data + batch * o->stride_c;
        result += (double)p->beta * (double)wf_f16_to_f32(c[row * o->ldc + column]);
    }
    *ret_magnitude = magnitude;
    return result;
}

/* Every written element is right, everything else is still poison. */
static void check_result(const struct variant *v,
                         const struct problem *p,
                         const struct operands *o,
                         const char *which)
{
    const uint16_t *d = o->d.data;
    for (int b = 0; b < p->batch; b++) {
        for (int r = 0; r < p->m; r++) {
            for (int c = 0; c < o->ldd; c++) {
                if (b + 1 == p->batch && r + 1 == p->m && c >= p->n) {
                    break;
                }
                const uint16_t got = d[b * o->stride_d + r * o->ldd + c];
                if (c >= p->n) {
                    cr_assert_eq(got, 0xffff, "%s %s: padding of row %d written",
                                 v->name, which, r);
                    continue;
                }
                double magnitude = 0;
                const double w = want(v, p, o, b, r, c, &magnitude);
                const double tol = fabs(w) * 0x1p-11 + magnitude * 0x1p-20 + 0x1p-25;
                cr_assert(fabs((double)wf_f16_to_f32(got) - w) <= tol,
                          "%s %s %dx%dx%d batch %d: D[%d][%d] is %g, want %g", v->name,
                          which, p->m, p->n, p->k, b, r, c, (double)wf_f16_to_f32(got),
                          w);
            }
        }
    }
}

static void run_variant(const struct variant *v,
                        const struct problem *problem,
                        const char *which)
{
    struct problem p = *problem;
    p.split = v->split ? p.split : 1;
    struct operands o = make_operands(v, &p);
    struct call call = { v->fn, v, &p, &o };
    struct lockstep_launch launch = {
        .grid = { (unsigned)(((p.m + v->block_m - 1) / v->block_m) *
                             ((p.n + v->block_n - 1) / v->block_n)),
                  (unsigned)p.split, (unsigned)p.batch },
        .threads = v->threads,
        .wave = v->wave,
        .dynamic_bytes = v->dynamic
    };
    const char *failure = lockstep_run(&launch, call_kernel, &call);
    cr_assert_null(failure, "%s %s: %s", v->name, which, failure);
    if (v->split) {
        call.fn = v->sum;
        launch.grid[0] = (unsigned)((p.m * ((p.n + 7) / 8) + 255) / 256);
        launch.grid[1] = 1;
        launch.threads = 256;
        launch.dynamic_bytes = 0;
        failure = lockstep_run(&launch, call_kernel, &call);
        cr_assert_null(failure, "%s sum: %s", v->name, failure);
    }
    check_result(v, &p, &o, which);
    free_operands(&o);
}

static void run_all(const struct problem *p, const char *which)
{
    for (size_t i = 0; i < sizeof VARIANTS / sizeof VARIANTS[0]; i++) {
        run_variant(&VARIANTS[i], p, which);
    }
}

Test(lockstep_gemm, whole_tiles)
{
    run_all(&(struct problem){ 256, 256, 192, 1, 0, 2, 1.0F, 0.0F }, "aligned");
}

Test(lockstep_gemm, edges_in_every_dimension_with_aligned_rows)
{
    run_all(&(struct problem){ 136, 72, 104, 1, 8, 3, 1.0F, 0.0F }, "aligned");
}

Test(lockstep_gemm, odd_sizes)
{
    run_all(&(struct problem){ 33, 65, 41, 1, 1, 2, 1.0F, 0.0F }, "odd");
}

Test(lockstep_gemm, alpha_beta_and_batches)
{
    run_all(&(struct problem){ 16, 24, 40, 3, 8, 2, 0.5F, -2.0F }, "aligned");
    run_all(&(struct problem){ 5, 3, 7, 2, 0, 1, -1.5F, 0.25F }, "odd");
}

Test(lockstep_gemm, one_by_one)
{
    run_all(&(struct problem){ 1, 1, 1, 1, 0, 1, 1.0F, 0.0F }, "odd");
}

Test(lockstep_gemm, alpha_zero_and_empty_sums_never_read_the_operands)
{
    const struct variant *v = &VARIANTS[1];
    struct problem p = { 9, 8, 0, 1, 0, 1, 1.0F, 0.5F };
    run_variant(v, &p, "K = 0");
    struct problem q = { 8, 8, 16, 1, 0, 1, 0.0F, 1.0F };
    struct operands o = make_operands(v, &q);
    memset(o.a.data, 0xff, 8 * 16 * 2); /* NaN */
    struct call call = { v->fn, v, &q, &o };
    struct lockstep_launch launch = { { 1, 1, 1 }, v->threads, v->wave, v->dynamic };
    cr_assert_null(lockstep_run(&launch, call_kernel, &call));
    cr_assert_arr_eq(o.d.data, o.c.data, 8 * 8 * 2);
    free_operands(&o);
}
