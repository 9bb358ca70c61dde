/* gfx942 paged decode kernels with one mistake each, f16, head size 64: one wave a
 * query head, 64 keys a step, a key a lane for the scores and a dimension a lane for the
 * values. Faults are chosen by an argument, as in gemm_gfx942.hip. */
#include "kernels/attention/decode_device.h"

enum {
#define X(name) name,
#include "tests/mutants/decode_gfx942.def"
#undef X
    FAULT_COUNT
};

#define DIM  64
#define STEP 64

template <int F> WF_DEVICE decode_span span_of(const decode_problem &p, int sequence)
{
    const int at = F == d_indptr_one_on ? sequence + 1 : sequence;
    decode_span s;
    s.first_page = p.kv_indptr[F == d_indptr_one_on ? 0 : at] + (F == d_table_past_end);
    const int pages = p.kv_indptr[sequence + 1] - p.kv_indptr[sequence];
    const int last = F == d_last_page_full ? p.page_size : p.kv_last_page_len[sequence];
    s.hi = pages > 0 ? (pages - 1) * p.page_size + last : 0;
    if (F == d_last_key_missing && s.hi > 1) {
        s.hi--;
    }
    if (F == d_key_one_more && pages > 0) {
        s.hi++;
    }
    s.lo = 0;
    if (p.window_left >= 0 && F != d_window_ignored) {
        const int more = F == d_window_one_more ? 1 : F == d_window_one_less ? -1 : 0;
        s.lo = wf_max(0, s.hi - 1 - p.window_left - more);
    }
    return s;
}

template <int F>
WF_DEVICE wf_i64 row_of(const decode_problem &p, const decode_span &s, int key, int kv_head)
{
    int page = key / p.page_size;
    const int slot = key - page * p.page_size;
    if (F == d_page_of_first_key) {
        page = s.lo / p.page_size;
    }
    wf_i64 id = F == d_pages_ignored ? s.first_page + page : p.kv_indices[s.first_page + page];
    if (F == d_page_16_bits) {
        id &= 7; /* few bits, as the pool is small */
    }
    if (F == d_nhd_as_hnd) {
        return id * p.page_stride + kv_head * (wf_i64)p.page_size * DIM + slot * DIM;
    }
    const wf_i64 stride = F == d_page_stride_of_tokens ? p.slot_stride : p.page_stride;
    return id * stride + slot * p.slot_stride + kv_head * p.head_stride;
}

template <int F>
WF_DEVICE float score(const decode_problem &p, const wf_half *q, const wf_half *k)
{
    float dot = 0.0f;
    const int dims = F == d_dim_tail_missing ? 48 : DIM;
    for (int d = 0; d < dims; d += 8) {
        const wf_u4 x = wf_load16(q + d), y = wf_load16(k + d);
        const unsigned a[4] = { x.x, x.y, x.z, x.w }, b[4] = { y.x, y.y, y.z, y.w };
        WF_UNROLL
        for (int e = 0; e < 4; e++) {
            dot += wf_h2f((wf_half)a[e]) * wf_h2f((wf_half)b[e]);
            dot += wf_h2f((wf_half)(a[e] >> 16)) * wf_h2f((wf_half)(b[e] >> 16));
        }
    }
    if (F == d_scale_missing) {
        return dot * 1.4426950408889634f;
    }
    if (F == d_cap_missing) {
        return dot * p.scale_log2;
    }
    return decode_score(p, dot);
}

template <int F> WF_DEVICE float weight(float s, float max)
{
    if (F == d_max_not_subtracted) {
        return s == wf_minus_infinity() ? 0.0f : wf_exp2(s);
    }
    if (F == d_exp_not_exp2) {
        return s == wf_minus_infinity() ? 0.0f : wf_exp2((s - max) * 1.4426950408889634f);
    }
    return decode_weight(s, max);
}

template <int F> WF_DEVICE float over_wave(float v, bool add)
{
    const int from = (F == d_max_of_half_wave && !add) || (F == d_sum_of_half_wave && add)
                         ? 16
                         : 32;
    for (int m = from; m > 0; m >>= 1) {
        const float other = wf_shuffle_xor(v, m);
        v = add ? v + other : wf_maxf(v, other);
    }
    return v;
}

struct running {
    float max, sum, value;
};

template <int F>
WF_DEVICE void add_step(const decode_problem &p,
                        const decode_span &s,
                        const wf_half *q,
                        int kv_head,
                        int key0,
                        float *weights,
                        running &r)
{
    const int lane = wf_thread() & 63;
    const int key = key0 + lane;
    const bool in = key < s.hi;
    float x = wf_minus_infinity();
    if (in || F == d_tail_keys_read) {
        x = score<F>(p, q, p.k + row_of<F>(p, s, key, kv_head));
    }
    if (!in) {
        x = wf_minus_infinity();
    }
    const float max = wf_maxf(r.max, over_wave<F>(x, false));
    const float scale = F == d_max_not_subtracted ? 1.0f : decode_weight(r.max, max);
    const float w = weight<F>(x, max);
    r.sum = (F == d_sum_not_rescaled ? r.sum : r.sum * scale) + over_wave<F>(w, true);
    if (F != d_chunk_tail_unset || in) {
        weights[lane] = w;
    }
    wf_barrier();
    r.value = F == d_output_not_rescaled ? r.value : r.value * scale;
    const int count = F == d_chunk_tail_unset ? STEP : wf_min(STEP, s.hi - key0);
    for (int i = 0; i < count; i++) {
        const int at = wf_min(key0 + i, s.hi - 1);
        r.value += weights[i] * wf_h2f(p.v[row_of<F>(p, s, at, kv_head) + lane]);
    }
    wf_barrier();
    r.max = max;
}

template <int F>
WF_DEVICE void write_row(const decode_problem &p, wf_i64 row, const running &r)
{
    const int lane = wf_thread() & 63;
    const float scale = F == d_v_scale_missing ? 1.0f : p.v_scale;
    const bool any = r.sum > 0.0f;
    if (!any && F == d_empty_unwritten) {
        return;
    }
    p.o[row * DIM + lane] =
        wf_f2h(any || F == d_empty_divides ? r.value / r.sum * scale : 0.0f);
    if (lane != 0 || !p.lse || F == d_lse_unwritten) {
        return;
    }
    const float log2 = r.max + wf_log2(r.sum);
    if (F == d_lse_base_2) {
        p.lse[row] = any ? log2 : wf_minus_infinity();
    } else if (F == d_lse_plus_infinity && !any) {
        p.lse[row] = -wf_minus_infinity();
    } else {
        decode_write_lse(p, row, r.max, r.sum);
    }
}

template <int F> WF_DEVICE void decode(const decode_problem &p)
{
    WF_SHARED float weights[STEP];
    const int head = F == d_sequences_as_heads ? wf_block_y() : wf_block_x();
    const int sequence = F == d_sequences_as_heads ? wf_block_x() : wf_block_y();
    const int group = p.q_heads / p.kv_heads;
    const int kv_head = F == d_heads_modulo ? head % p.kv_heads : head / group;
    const wf_i64 row = (wf_i64)sequence * p.q_heads + head;
    const decode_span s = span_of<F>(p, sequence);
    running r = { wf_minus_infinity(), 0.0f, 0.0f };
    for (int key = s.lo; key < s.hi; key += STEP) {
        if (F == d_second_chunk_missing && key > s.lo) {
            break;
        }
        if (F == d_weights_of_last_chunk && key + STEP < s.hi) {
            continue;
        }
        add_step<F>(p, s, p.q + row * DIM, kv_head, key, weights, r);
    }
    write_row<F>(p, row, r);
    if (F == d_modifies_table && wf_thread() == 0 && row == 0) {
        ((int *)p.kv_indices)[0] = 0;
    }
}

/* Grid: query heads, sequences. */
WF_KERNEL(64, 1) wf_mutant_decode(DECODE_PARAMETERS, int fault)
{
    const decode_problem p = DECODE_PROBLEM;
    switch (fault) {
#define X(name) \
    case name: decode<name>(p); break;
#include "tests/mutants/decode_gfx942.def"
#undef X
    default: break;
    }
}
