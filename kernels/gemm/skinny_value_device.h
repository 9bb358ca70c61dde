/* From sums to D, four neighbouring columns of a row in each lane: what
 * finish_device.h says of one element, with the loads of all four under way at once.
 * What is not there is read from the last column that is. */
#ifndef WF_KERNELS_GEMM_SKINNY_VALUE_DEVICE_H
#define WF_KERNELS_GEMM_SKINNY_VALUE_DEVICE_H

#include "kernels/gemm/finish_device.h"
#include "kernels/gemm/skinny_device.h"

/* A lane's four columns of a row of D; up: gated only. */
struct skinny_four {
    int batch, row;
    skinny_columns at;
    skinny_sum sum, up;
};

WF_DEVICE wf_f32x4 skinny_load_four(const void *base, wf_i64 at, int count, int type)
{
    wf_f32x4 v;
    if (type == GEMM_F32) {
        const float *from = (const float *)base + at;
        WF_UNROLL
        for (int e = 0; e < 4; e++) {
            v[e] = from[wf_min(e, count - 1)];
        }
        return v;
    }
    const wf_half *from = (const wf_half *)base + at;
    wf_half bits[4];
    WF_UNROLL
    for (int e = 0; e < 4; e++) {
        bits[e] = from[wf_min(e, count - 1)];
    }
    WF_UNROLL
    for (int e = 0; e < 4; e++) {
        v[e] = type == GEMM_BF16 ? wf_bf2f(bits[e]) : wf_h2f(bits[e]);
    }
    return v;
}

WF_DEVICE void skinny_store_four(const gemm_problem &p,
                                 const skinny_four &f,
                                 const wf_f32x4 &v)
{
    const wf_i64 at = gemm_d_at(p, f.batch, f.row, f.at.first);
    WF_UNROLL
    for (int e = 0; e < 4; e++) {
        if (e >= f.at.skip && e < f.at.count) {
            gemm_store_value(p.d, at + e, p.d_type, v[e]);
        }
    }
}

/* Before C and the activation; `column` is one of op(B). */
WF_DEVICE wf_f32x4 skinny_values(const gemm_problem &p,
                                 const skinny_four &f,
                                 int column,
                                 const wf_f32x4 &sum)
{
    wf_f32x4 v = p.alpha * sum;
    if (p.scale == GEMM_SCALE_ROW) {
        const wf_i64 at = (wf_i64)f.batch * gemm_columns_of_b(p) + column;
        v *= p.sa[(wf_i64)f.batch * p.m + f.row] *
             skinny_load_four(p.sb, at, f.at.count, GEMM_F32);
    }
    if (p.bias_type != GEMM_NO_TYPE) {
        v += skinny_load_four(p.bias, column, f.at.count, p.bias_type);
    }
    return v;
}

WF_DEVICE void skinny_finish_floats(const gemm_problem &p,
                                    const skinny_four &f,
                                    wf_f32x4 sum,
                                    wf_f32x4 up)
{
    wf_f32x4 v = skinny_values(p, f, f.at.first, sum);
    if (!GATE && p.beta != 0.0f) {
        v += p.beta * skinny_load_four(p.c, gemm_c_at(p, f.batch, f.row, f.at.first),
                                       f.at.count, p.c_type);
    }
    if (GATE || p.activation == GEMM_SILU) {
        WF_UNROLL
        for (int e = 0; e < 4; e++) {
            v[e] = gemm_silu(v[e]);
        }
    }
    if (GATE) {
        v *= skinny_values(p, f, p.n + f.at.first, up);
    }
    skinny_store_four(p, f, v);
}

/* i8: everything modulo 2^32. */
WF_DEVICE void skinny_finish_whole(const gemm_problem &p,
                                   const skinny_four &f,
                                   wf_i32x4 sum)
{
    const unsigned *c =
        (const unsigned *)p.c + gemm_c_at(p, f.batch, f.row, f.at.first);
    unsigned *d = (unsigned *)p.d + gemm_d_at(p, f.batch, f.row, f.at.first);
    unsigned v[4];
    WF_UNROLL
    for (int e = 0; e < 4; e++) {
        v[e] = (unsigned)p.ialpha * (unsigned)sum[e];
    }
    if (p.ibeta != 0) {
        WF_UNROLL
        for (int e = 0; e < 4; e++) {
            v[e] += (unsigned)p.ibeta * c[wf_min(e, f.at.count - 1)];
        }
    }
    WF_UNROLL
    for (int e = 0; e < 4; e++) {
        if (e >= f.at.skip && e < f.at.count) {
            d[e] = v[e];
        }
    }
}

WF_DEVICE void skinny_finish(const gemm_problem &p, const skinny_four &f)
{
    if (f.at.count <= 0 || f.at.skip >= 4) {
        return;
    }
#if A_TYPE == GEMM_I8
    skinny_finish_whole(p, f, f.sum);
#else
    skinny_finish_floats(p, f, f.sum, f.up);
#endif
}

#endif
