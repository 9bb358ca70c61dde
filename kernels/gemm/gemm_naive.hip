/* The plainest GEMM there is: one thread an element, in double, all types and layouts
 * of the op. It is a check of other kernels (docs/isolation.md), so nothing here is
 * fast or clever.
 *
 * wf_naive_gemm writes v = alpha * sum SA SB a b + beta * C + bias of every column of
 * op(B), before activation and rounding, as doubles [batch][m][b_cols]; for i8 the
 * value modulo 2^32. wf_naive_gemm_round makes D of it. */
#include "kernels/device/wf_naive.h"

struct naive_matrix {
    const void *base;
    wf_i64 ld, stride;
    int type;
    bool transposed;
};

WF_DEVICE wf_i64 at(const naive_matrix &x, wf_i64 batch, wf_i64 row, wf_i64 col)
{
    return batch * x.stride + (x.transposed ? col * x.ld + row : row * x.ld + col);
}

struct naive_element {
    wf_i64 batch, row, col;
};

/* Scales, as kernels/gemm/gemm.h lays them out. */
struct naive_scales {
    const float *a, *b;
    int kind; /* 0: none, 1: row, 2: block128 */
    wf_i64 m, n, b_cols, k;
};

WF_DEVICE wf_i64 blocks_of(wf_i64 v)
{
    return (v + 127) / 128;
}

WF_DEVICE double scale_at(const naive_scales &s, const naive_element &e, wf_i64 k)
{
    const wf_i64 depth = blocks_of(s.k);
    const wf_i64 half = e.col >= s.n ? 1 : 0;
    const wf_i64 column_blocks = blocks_of(s.n) * (s.b_cols > s.n ? 2 : 1);
    const wf_i64 column = half * blocks_of(s.n) + (e.col - half * s.n) / 128;
    if (s.kind == 0) {
        return 1.0;
    }
    if (s.kind == 1) {
        return (double)s.a[e.batch * s.m + e.row] *
               (double)s.b[e.batch * s.b_cols + e.col];
    }
    return (double)s.a[(e.batch * s.m + e.row) * depth + k / 128] *
           (double)s.b[(e.batch * column_blocks + column) * depth + k / 128];
}

WF_DEVICE naive_element element_of(wf_i64 i, wf_i64 m, wf_i64 n)
{
    naive_element e;
    e.batch = i / (m * n);
    e.row = i / n % m;
    e.col = i % n;
    return e;
}

WF_DEVICE double float_value(const naive_matrix &a,
                             const naive_matrix &b,
                             const naive_matrix &c,
                             const naive_scales &s,
                             const naive_element &e,
                             wf_i64 k,
                             double alpha,
                             double beta)
{
    double v = 0.0;
    if (alpha != 0.0) {
        for (wf_i64 i = 0; i < k; i++) {
            v += wf_naive_load(a.base, at(a, e.batch, e.row, i), a.type) *
                 wf_naive_load(b.base, at(b, e.batch, i, e.col), b.type) *
                 scale_at(s, e, i);
        }
        v *= alpha;
    }
    if (beta != 0.0) {
        v += beta * wf_naive_load(c.base, at(c, e.batch, e.row, e.col), c.type);
    }
    return v;
}

WF_DEVICE double integer_value(const naive_matrix &a,
                               const naive_matrix &b,
                               const naive_matrix &c,
                               const naive_element &e,
                               wf_i64 k,
                               double alpha,
                               double beta)
{
    unsigned v = 0;
    if (alpha != 0.0) {
        for (wf_i64 i = 0; i < k; i++) {
            v += (unsigned)((const signed char *)a.base)[at(a, e.batch, e.row, i)] *
                 (unsigned)((const signed char *)b.base)[at(b, e.batch, i, e.col)];
        }
        v *= (unsigned)(int)alpha;
    }
    if (beta != 0.0) {
        v += (unsigned)(int)beta *
             (unsigned)((const int *)c.base)[at(c, e.batch, e.row, e.col)];
    }
    return (double)(int)v;
}

/* v / (1 + exp(-v)) without exp of a large number. */
WF_DEVICE double silu(double v)
{
    const double e = wf_naive_exp(-wf_magnitude(v));
    return v < 0 ? v * e / (1.0 + e) : v / (1.0 + e);
}

#define PARAMETERS                                                                  \
    const void *a, const void *b, const void *c, void *d, const void *bias,         \
        const float *sa, const float *sb, double *wide, wf_i64 m, wf_i64 n,         \
        wf_i64 b_cols, wf_i64 k, wf_i64 batch, wf_i64 lda, wf_i64 ldb, wf_i64 ldc,  \
        wf_i64 ldd, wf_i64 stride_a, wf_i64 stride_b, wf_i64 stride_c,              \
        wf_i64 stride_d, double alpha, double beta, int a_type, int b_type,         \
        int c_type, int d_type, int bias_type, int trans_a, int trans_b, int scale, \
        int activation, wf_i64 threads

WF_KERNEL(256, 1) wf_naive_gemm(PARAMETERS)
{
    const naive_matrix x = { a, lda, stride_a, a_type, trans_a != 0 };
    const naive_matrix y = { b, ldb, stride_b, b_type, trans_b != 0 };
    const naive_matrix z = { c, ldc, stride_c, c_type, false };
    const naive_scales s = { sa, sb, scale, m, n, b_cols, k };
    const wf_i64 count = batch * m * b_cols;
    (void)d, (void)ldd, (void)stride_d, (void)d_type, (void)activation;
    for (wf_i64 i = (wf_i64)wf_block_x() * 256 + wf_thread(); i < count; i += threads) {
        const naive_element e = element_of(i, m, b_cols);
        if (a_type == WF_NAIVE_I8) {
            wide[i] = integer_value(x, y, z, e, k, alpha, beta);
            continue;
        }
        wide[i] = float_value(x, y, z, s, e, k, alpha, beta);
        if (bias) {
            wide[i] += wf_naive_load(bias, e.col, bias_type);
        }
    }
}

/* activation: 0 none, 1 silu, 2 silu_gate */
WF_KERNEL(256, 1) wf_naive_gemm_round(PARAMETERS)
{
    const wf_i64 count = batch * m * n;
    (void)a, (void)b, (void)c, (void)k, (void)lda, (void)ldb, (void)ldc;
    (void)stride_a, (void)stride_b, (void)stride_c, (void)alpha, (void)beta;
    (void)a_type, (void)b_type, (void)c_type, (void)trans_a, (void)trans_b;
    (void)bias, (void)sa, (void)sb, (void)bias_type, (void)scale;
    for (wf_i64 i = (wf_i64)wf_block_x() * 256 + wf_thread(); i < count; i += threads) {
        const naive_element e = element_of(i, m, n);
        const wf_i64 from = (e.batch * m + e.row) * b_cols + e.col;
        double v = wide[from];
        if (activation != 0) {
            v = silu(v);
        }
        if (activation == 2) {
            v *= wide[from + n];
        }
        wf_naive_store(d, e.batch * stride_d + e.row * ldd + e.col, v, d_type);
    }
}
