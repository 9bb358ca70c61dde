/* What becomes of a sum, on every device: scales, alpha, C, bias, activation, rounding.
 *
 *   v = alpha * SA[row] * SB[column] * sum + beta * C + bias[column]
 *   D = v, silu(v), or silu(v of the gate's column) * (v of the up column)
 *
 * Everything but the number of values is known at the launch and the same in all lanes.
 * Sums come from the matrix units as f32 (`float`) or, of i8, as i32. */
#ifndef WF_KERNELS_GEMM_FINISH_DEVICE_H
#define WF_KERNELS_GEMM_FINISH_DEVICE_H

#include "kernels/gemm/problem_device.h"

WF_DEVICE float gemm_load_value(const void *base, wf_i64 at, int type)
{
    if (type == GEMM_F32) {
        return ((const float *)base)[at];
    }
    const wf_half bits = ((const wf_half *)base)[at];
    return type == GEMM_BF16 ? wf_bf2f(bits) : wf_h2f(bits);
}

WF_DEVICE void gemm_store_value(void *base, wf_i64 at, int type, float v)
{
    if (type == GEMM_F32) {
        ((float *)base)[at] = v;
    } else {
        ((wf_half *)base)[at] = type == GEMM_BF16 ? wf_f2bf(v) : wf_f2h(v);
    }
}

/* v / (1 + exp(-v)); -0 where exp overflows. -inf gives NaN, as the formula does. */
WF_DEVICE float gemm_silu(float v)
{
    const float e = wf_exp2(v * wf_float_from_bits(0xbfb8aa3bu)); /* -log2(e) */
    return v * wf_rcp(1.0f + e);
}

/* Columns of op(B). */
WF_DEVICE int gemm_columns_of_b(const gemm_problem &p)
{
    return p.activation == GEMM_SILU_GATE ? 2 * p.n : p.n;
}

WF_DEVICE wf_i64 gemm_d_at(const gemm_problem &p, int batch, int row, int column)
{
    return (unsigned)batch * p.stride_d + (wf_i64)row * p.ldd + column;
}

WF_DEVICE wf_i64 gemm_c_at(const gemm_problem &p, int batch, int row, int column)
{
    return (unsigned)batch * p.stride_c + (wf_i64)row * p.ldc + column;
}

/* v of one sum, before the activation. `column` is one of op(B). */
WF_DEVICE float gemm_value(const gemm_problem &p,
                           int batch,
                           int row,
                           int column,
                           float sum)
{
    float v = p.alpha * sum;
    if (p.scale == GEMM_SCALE_ROW) {
        v *= p.sa[(wf_i64)batch * p.m + row] *
             p.sb[(wf_i64)batch * gemm_columns_of_b(p) + column];
    }
    if (p.beta != 0.0f) {
        v += p.beta * gemm_load_value(p.c, gemm_c_at(p, batch, row, column), p.c_type);
    }
    if (p.bias_type != GEMM_NO_TYPE) {
        v += gemm_load_value(p.bias, column, p.bias_type);
    }
    return v;
}

/* One element of D from its sum, and the up column's where that is asked for. */
WF_DEVICE void gemm_finish_element(const gemm_problem &p,
                                   int batch,
                                   int row,
                                   int column,
                                   float sum,
                                   float up)
{
    float v = gemm_value(p, batch, row, column, sum);
    if (p.activation != GEMM_LINEAR) {
        v = gemm_silu(v);
    }
    if (p.activation == GEMM_SILU_GATE) {
        v *= gemm_value(p, batch, row, p.n + column, up);
    }
    gemm_store_value(p.d, gemm_d_at(p, batch, row, column), p.d_type, v);
}

/* Of i8: everything modulo 2^32. */
WF_DEVICE void gemm_finish_element(const gemm_problem &p,
                                   int batch,
                                   int row,
                                   int column,
                                   int sum,
                                   int)
{
    unsigned v = (unsigned)p.ialpha * (unsigned)sum;
    if (p.ibeta != 0) {
        v += (unsigned)p.ibeta *
             ((const unsigned *)p.c)[gemm_c_at(p, batch, row, column)];
    }
    ((unsigned *)p.d)[gemm_d_at(p, batch, row, column)] = v;
}

#endif
