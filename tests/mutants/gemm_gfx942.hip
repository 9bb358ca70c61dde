/* gfx942 GEMM kernels with one mistake each, f16 in and out, f32 sums. Each fault is a
 * compilation of the same small kernel of its own, chosen by an argument: one symbol,
 * so that the whole set compiles at once.
 *
 * `tiled`: 16 x 16 outputs a workgroup of 256, both operands in LDS, any shape. `matrix`:
 * one wave, 32 x 32 outputs, MFMA 32x32x8 from LDS with permuted chunks, as our real
 * kernel has them (tests/emulator/gemm_f16.hip). */
#include "tests/emulator/gemm_f16_device.h"

enum {
#define X(name) name,
#include "tests/mutants/gemm_gfx942.def"
#undef X
    FAULT_COUNT
};

#define TILE 16
#define MK   32 /* of the matrix form */

/* Two stages of both tiles, and what one wave multiplies; all faults share it. */
#define LDS_VALUES (2 * 32 * MK)
static_assert(4 * TILE * (TILE + 1) <= LDS_VALUES, "both forms fit");

struct operands {
    bool trans_a, trans_b;
};

WF_DEVICE float as_float(wf_half v)
{
    return wf_h2f(v);
}

/* Without a wait: the value is what the register held. */
WF_DEVICE wf_half load_unwaited(const wf_half *p)
{
    unsigned v;
    asm volatile("global_load_ushort %0, %1, off\n\t"
                 "v_and_b32 %0, 0xffff, %0"
                 : "=&v"(v)
                 : "v"(p)
                 : "memory");
    return (wf_half)v;
}

WF_DEVICE void plain_barrier()
{
    __builtin_amdgcn_s_barrier();
}

template <int F>
WF_DEVICE wf_half load_a(const gemm_problem &p, const operands &o, int batch, int i, int k)
{
    const wf_half *a = p.a + (F == t_batch_of_a_missing ? 0 : batch * p.stride_a);
    if (F == t_a_rows_unchecked ? k >= p.k : i >= p.m || (F != t_k_unchecked && k >= p.k)) {
        return 0;
    }
    if (F == t_no_wait_load) {
        return load_unwaited(a + (o.trans_a ? k * p.lda + i : i * p.lda + k));
    }
    if (F == t_lda_is_k) {
        return a[(wf_i64)i * p.k + k];
    }
    if (F == t_offset_16_bits) {
        return a[(unsigned short)(o.trans_a ? k * p.lda + i : i * p.lda + k)];
    }
    return o.trans_a && F != t_trans_a_ignored ? a[k * p.lda + i] : a[i * p.lda + k];
}

template <int F>
WF_DEVICE wf_half load_b(const gemm_problem &p, const operands &o, int batch, int k, int j)
{
    const wf_half *b = p.b + batch * p.stride_b;
    if (k >= p.k || j >= p.n) {
        return 0;
    }
    return o.trans_b && F != t_trans_b_ignored ? b[j * p.ldb + k] : b[k * p.ldb + j];
}

template <int F> WF_DEVICE wf_half rounded(float v)
{
    if (F == t_toward_zero) {
        typedef __fp16 pair __attribute__((ext_vector_type(2)));
        const pair two = __builtin_amdgcn_cvt_pkrtz(v, v);
        return (wf_half)(__builtin_bit_cast(unsigned, two) & 0xffff);
    }
    if (F == t_saturates) {
        v = __builtin_fminf(__builtin_fmaxf(v, -65504.0f), 65504.0f);
    }
    if (F == t_clamps_negative) {
        v = __builtin_fmaxf(v, 0.0f);
    }
    return wf_f2h(v);
}

template <int F>
WF_DEVICE void store_d(const gemm_problem &p, int batch, int i, int j, float sum)
{
    const bool inside = F == t_n_unchecked   ? i < p.m
                        : F == t_m_unchecked ? j < p.n
                                             : i < p.m && j < p.n;
    if (!inside) {
        return;
    }
    const wf_half *c = p.c + batch * p.stride_c + i * p.ldc + j;
    wf_half *d = p.d + batch * p.stride_d + (F == t_ldd_is_n ? i * (wf_i64)p.n : i * p.ldd) + j;
    float v = (F == t_alpha_missing ? 1.0f : p.alpha) * sum;
    if (F == t_beta_reads_d && p.beta == 0.0f) {
        v += p.beta * wf_h2f(*d);
    } else if (F == t_beta_reads_c || p.beta != 0.0f) {
        v += (F == t_beta_missing ? 0.0f : p.beta) * wf_h2f(*c);
    }
    if (F == t_last_element && i == p.m - 1 && j == p.n - 1) {
        v += 0.5f;
    }
    if (F == t_tail_unwritten && (i >= p.m / TILE * TILE || j >= p.n / TILE * TILE)) {
        return;
    }
    *d = rounded<F>(v);
}

/* Two workgroups of different waves write one element. */
template <int F> WF_DEVICE void spoil(const gemm_problem &p, int batch, int i, int j)
{
    if (F == t_element_twice && wf_thread() == 64 && i < p.m && j < p.n) {
        p.d[batch * p.stride_d + (i - 4) * p.ldd + j] = 0;
    }
    if (F == t_writes_input && wf_thread() == 0) {
        ((wf_half *)p.a)[0] = 0;
    }
    if (F == t_writes_behind && wf_thread() == 0) {
        p.d[(p.m - 1) * p.ldd + p.n] = 0;
    }
    if (F == t_trap && wf_thread() == 0) {
        asm volatile("s_trap 2");
    }
}

typedef wf_half stage[TILE][TILE + 1];

template <int F> WF_DEVICE void tiled(const gemm_problem &p, const operands &o, wf_half *lds)
{
    stage *at = (stage *)lds, *bt = at + 2;
    const int x = wf_thread() % TILE, y = wf_thread() / TILE;
    const int batch = wf_block_z();
    const int bx = F == t_grid_swapped ? wf_block_y() : wf_block_x();
    const int by = F == t_grid_swapped ? wf_block_x() : wf_block_y();
    const int i = by * TILE + y, j = bx * TILE + x;
    const int k_end = F == t_k_tail_missing ? p.k / TILE * TILE : p.k;
    float sum = 0.0f;
    _Float16 narrow = 0;
    if (F == t_sum_unset) {
        asm volatile("v_mov_b32 %0, v77" : "=v"(sum) : : "v77");
    }
    for (int k0 = 0; k0 < k_end; k0 += TILE) {
        const int s = F == t_no_second_barrier ? 0 : (k0 / TILE) & 1;
        if (F != t_lds_tail_unset || k0 + x < p.k) {
            at[s][y][x] = load_a<F>(p, o, batch, i, k0 + x);
        }
        bt[s][y][x] = load_b<F>(p, o, batch, k0 + y, j);
        if (F == t_wave_leaves && wf_thread() >= 192 && k0 == 0) {
            asm volatile("s_endpgm");
        }
        if (F == t_divergent_barrier && wf_uniform(wf_thread() >> 6) == 3 && k0 == 0) {
            wf_barrier();
        }
        if (F == t_barrier_without_wait) {
            plain_barrier();
        } else if (F != t_no_first_barrier) {
            wf_barrier();
        }
        const int from = F == t_wrong_stage ? s ^ 1 : s;
        for (int k = 0; k < TILE; k++) {
            const float a = as_float(at[from][F == t_lds_row_wrong ? x : y][k]);
            const float b = as_float(bt[s][k][x]);
            if (F == t_f16_sums) {
                narrow = (_Float16)((float)narrow + a * b);
            } else {
                sum += a * b;
            }
        }
        if (F != t_no_second_barrier) {
            wf_barrier();
        }
    }
    if (F == t_endless && wf_thread() < 64 && bx == 0) {
        asm volatile("0: s_branch 0b");
    }
    store_d<F>(p, batch, i, j, F == t_f16_sums ? (float)narrow : sum);
    spoil<F>(p, batch, i, j);
}

/* --- one wave with matrix instructions; K in steps of 32, N T only --- */

template <int F> WF_DEVICE int chunk_at(int row, int k, bool write)
{
    const int turn = F == m_swizzle_differs && !write ? row & 3 : (row >> 1) & 3;
    return row * MK + (((k >> 3) ^ turn) << 3) + (k & 7);
}

/* 32 rows of 32, 16 bytes a lane and step; rows and k beyond the end give 0. */
template <int F>
WF_DEVICE void fetch_tile(wf_half *lds, const wf_half *base, wf_i64 ld, int rows, int left)
{
    for (int c = wf_thread(); c < 32 * MK / 8; c += 64) {
        const int row = c / (MK / 8), k = c % (MK / 8) * 8;
        const bool whole = row < rows && (F == m_vector_past_k ? k < left : k + 8 <= left);
        if (whole) {
            *(wf_u4 *)&lds[chunk_at<F>(row, k, true)] = wf_load16(base + row * ld + k);
            continue;
        }
        for (int e = 0; e < 8; e++) {
            const bool in = row < rows && k + e < left;
            if (F == m_tail_unset && !in) {
                continue;
            }
            lds[chunk_at<F>(row, k, true) + e] = in ? base[row * ld + k + e] : 0;
        }
    }
}

template <int F>
WF_DEVICE wf_f32x16 multiply(const wf_half *a, const wf_half *b, wf_f32x16 acc)
{
    const int lane = wf_thread() & 63;
    const int row = lane & 31;
    const int quarter = F == m_k_lanes_wrong ? (lane & 1) * 8 : (lane >> 5) * 8;
    for (int kk = 0; kk < MK; kk += 16) {
        const int kb = F == m_k_order_differs ? kk ^ 16 : kk;
        const wf_u4 x = *(const wf_u4 *)&a[chunk_at<F>(row, kk + quarter, false)];
        const wf_u4 y = *(const wf_u4 *)&b[chunk_at<F>(row, kb + quarter, false)];
        acc = wf_mfma_32x32x8(wf_u2{ x.x, x.y }, wf_u2{ y.x, y.y }, acc);
        if (F == m_half_of_k) {
            continue;
        }
        if (F == m_slots_swapped) {
            acc = wf_mfma_32x32x8(wf_u2{ x.w, x.z }, wf_u2{ y.z, y.w }, acc);
        } else {
            acc = wf_mfma_32x32x8(wf_u2{ x.z, x.w }, wf_u2{ y.z, y.w }, acc);
        }
    }
    return acc;
}

template <int F> WF_DEVICE void matrix(const gemm_problem &p, wf_half *lds)
{
    wf_half *a = lds, *b = lds + 32 * MK;
    const int lane = wf_thread() & 63;
    const int m0 = wf_block_y() * 32, n0 = wf_block_x() * 32, batch = wf_block_z();
    wf_f32x16 acc = (wf_f32x16)(0.0f);
    for (int k0 = 0; k0 < p.k; k0 += MK) {
        const int left = F == m_left_of_start ? p.k : p.k - k0;
        fetch_tile<F>(a, p.a + batch * p.stride_a + m0 * p.lda + k0, p.lda, p.m - m0, left);
        fetch_tile<F>(b, p.b + batch * p.stride_b + n0 * p.ldb + k0, p.ldb, p.n - n0, left);
        wf_barrier();
        if (F == m_accumulator_reset) {
            acc = (wf_f32x16)(0.0f);
        }
        acc = multiply<F>(a, b, acc);
        wf_barrier();
    }
    for (int r = 0; r < 16; r++) {
        int row = (r & 3) + 8 * (r >> 2) + (lane >> 5) * 4;
        if (F == m_rows_in_order) {
            row = (lane >> 5) * 16 + r;
        } else if (F == m_rows_of_16) {
            row = (r & 3) + (lane >> 4) * 4 + 16 * (r >> 3);
        }
        const int i = m0 + (F == m_d_transposed ? lane & 31 : row);
        const int j = n0 + (F == m_d_transposed ? row : lane & 31);
        store_d<F>(p, batch, i, j, acc[r]);
    }
}

template <int F> WF_DEVICE void run(const gemm_problem &p, const operands &o, wf_half *lds)
{
    if (F >= m_right) {
        if (wf_thread() < 64) {
            matrix<F>(p, lds);
        }
    } else {
        tiled<F>(p, o, lds);
    }
}

WF_KERNEL(256, 1) wf_mutant_gemm(GEMM_PARAMETERS, int trans_a, int trans_b, int fault)
{
    WF_SHARED wf_half lds[LDS_VALUES];
    const gemm_problem p = GEMM_PROBLEM;
    const operands o = { trans_a != 0, trans_b != 0 };
    switch (fault) {
#define X(name)               \
    case name: run<name>(p, o, lds); break;
#include "tests/mutants/gemm_gfx942.def"
#undef X
    default: break;
    }
}
