/* The plainest GEMM there is: one thread an element, in double, all types and layouts
 * of the op. It is a check of other kernels (docs/isolation.md), so nothing here is
 * fast or clever.
 *
 * wf_naive_gemm writes alpha * op(A) op(B) + beta * C before it is rounded, as doubles
 * [batch][m][n]; for i8 the value modulo 2^32, as i32. wf_naive_gemm_round makes D of
 * it. */
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
                             const naive_element &e,
                             wf_i64 k,
                             double alpha,
                             double beta)
{
    double v = 0.0;
    if (alpha != 0.0) {
        for (wf_i64 i = 0; i < k; i++) {
            v += wf_naive_load(a.base, at(a, e.batch, e.row, i), a.type) *
                 wf_naive_load(b.base, at(b, e.batch, i, e.col), b.type);
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

#define PARAMETERS                                                                \
    const void *a, const void *b, const void *c, void *d, double *wide, wf_i64 m, \
        wf_i64 n, wf_i64 k, wf_i64 batch, wf_i64 lda, wf_i64 ldb, wf_i64 ldc,     \
        wf_i64 ldd, wf_i64 stride_a, wf_i64 stride_b, wf_i64 stride_c,            \
        wf_i64 stride_d, double alpha, double beta, int a_type, int b_type,       \
        int c_type, int d_type, int trans_a, int trans_b, wf_i64 threads

WF_KERNEL(256, 1) wf_naive_gemm(PARAMETERS)
{
    const naive_matrix x = { a, lda, stride_a, a_type, trans_a != 0 };
    const naive_matrix y = { b, ldb, stride_b, b_type, trans_b != 0 };
    const naive_matrix z = { c, ldc, stride_c, c_type, false };
    const wf_i64 count = batch * m * n;
    (void)d;
    (void)ldd;
    (void)stride_d;
    (void)d_type;
    for (wf_i64 i = (wf_i64)wf_block_x() * 256 + wf_thread(); i < count; i += threads) {
        const naive_element e = element_of(i, m, n);
        wide[i] = a_type == WF_NAIVE_I8 ? integer_value(x, y, z, e, k, alpha, beta)
                                        : float_value(x, y, z, e, k, alpha, beta);
    }
}

WF_KERNEL(256, 1) wf_naive_gemm_round(PARAMETERS)
{
    const wf_i64 count = batch * m * n;
    (void)a, (void)b, (void)c, (void)k, (void)lda, (void)ldb, (void)ldc;
    (void)stride_a, (void)stride_b, (void)stride_c, (void)alpha, (void)beta;
    (void)a_type, (void)b_type, (void)c_type, (void)trans_a, (void)trans_b;
    for (wf_i64 i = (wf_i64)wf_block_x() * 256 + wf_thread(); i < count; i += threads) {
        const naive_element e = element_of(i, m, n);
        wf_naive_store(d, e.batch * stride_d + e.row * ldd + e.col, wide[i], d_type);
    }
}
