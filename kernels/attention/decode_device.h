/* What the paged decode kernels share: the problem, a workgroup's share of it, the page
 * table, score options, and the sum of split partial results.
 *
 *   s[j] = scale * q . k[j], soft cap s = cap * tanh(s / cap), softmax over the keys
 * that the one query of a sequence sees, O = v_scale * sum p[j] v[j], lse natural.
 *
 * The query stands at the last key, so that causal is no limit; window_left = W shows
 * the last W + 1 keys. A sequence without keys gives O = 0, lse = -inf. Keys that are
 * not seen are never read: their slots may hold NaN.
 *
 * A workgroup takes up to HEADS query heads of one kv head, one sequence and one part
 * of PART keys; the last dimension of Q . K runs over f16 products with f32 sums,
 * scores are kept in powers of two (scale_log2 = scale * log2 e). With several parts
 * the results go to the workspace as (unnormalised sums, maximum, sum) and are combined
 * in the order of parts, so that equal inputs give equal bits. */
#ifndef WF_KERNELS_ATTENTION_DECODE_DEVICE_H
#define WF_KERNELS_ATTENTION_DECODE_DEVICE_H

#include "kernels/device/wf_device.h"

#define DECODE_HEADS    16 /* query heads of a workgroup */
#define DECODE_KEYS     16 /* keys of a wave's step */
#define DECODE_MAX_PART 2048

struct decode_problem {
    const wf_half *q, *k, *v;
    const int *kv_indptr, *kv_indices, *kv_last_page_len;
    wf_half *o;
    float *lse;     /* or null */
    float *partial; /* parts > 1: [sequence][q_head][part][HEAD_DIM] */
    float *max_sum; /* parts > 1: [sequence][q_head][part][2] */
    int q_heads, kv_heads, page_size, parts, part_keys, window_left;
    wf_i64 page_stride, slot_stride, head_stride; /* of the caches, in elements */
    float scale_log2, cap_log2, inv_cap_log2;     /* cap 0: none */
    float v_scale;
};

#define DECODE_PARAMETERS                                                           \
    const wf_half *q, const wf_half *k, const wf_half *v, const int *kv_indptr,     \
        const int *kv_indices, const int *kv_last_page_len, wf_half *o, float *lse, \
        float *partial, float *max_sum, int q_heads, int kv_heads, int page_size,   \
        int parts, int part_keys, int window_left, wf_i64 page_stride,              \
        wf_i64 slot_stride, wf_i64 head_stride, float scale_log2, float cap_log2,   \
        float inv_cap_log2, float v_scale

#define DECODE_PROBLEM                                                                \
    {                                                                                 \
        q, k, v, kv_indptr, kv_indices, kv_last_page_len, o, lse, partial, max_sum,   \
            q_heads, kv_heads, page_size, parts, part_keys, window_left, page_stride, \
            slot_stride, head_stride, scale_log2, cap_log2, inv_cap_log2, v_scale     \
    }

/* Keys [lo, hi) that the query of a sequence sees. */
struct decode_span {
    int first_page, lo, hi;
};

WF_DEVICE decode_span decode_visible(const decode_problem &p, int sequence)
{
    decode_span s;
    const unsigned at = (unsigned)sequence;
    s.first_page = p.kv_indptr[at];
    const int pages = p.kv_indptr[at + 1] - s.first_page;
    s.hi = pages > 0 ? (pages - 1) * p.page_size + p.kv_last_page_len[at] : 0;
    s.lo = p.window_left >= 0 ? wf_max(0, s.hi - 1 - p.window_left) : 0;
    return s;
}

/* Parts are counted from key 0, whatever the window. */
WF_DEVICE decode_span decode_part(const decode_problem &p, decode_span s, int part)
{
    s.lo = wf_max(s.lo, part * p.part_keys);
    s.hi = wf_min(s.hi, (part + 1) * p.part_keys);
    return s;
}

/* Copies the part's page numbers into shared memory, so that the loop's addresses do
 * not wait for memory. `pages` holds DECODE_MAX_PART + 1. Keys are numbered from the
 * first key of page `lo / page_size` on. */
WF_DEVICE void decode_load_pages(const decode_problem &p,
                                 const decode_span &s,
                                 int *pages,
                                 int threads)
{
    const int first = wf_quotient(s.lo, p.page_size);
    const int count = wf_quotient(s.hi - 1, p.page_size) - first + 1;
    for (int i = wf_thread(); i < count; i += threads) {
        pages[i] = p.kv_indices[s.first_page + first + i];
    }
}

/* Element offset of a key in a cache. Keys outside the part are moved to its nearest
 * one: they are masked later, and nothing else may be read. */
struct decode_pages {
    const int *pages;
    int page_size;
    int first_page; /* lo / page_size */
    int last_key;
    wf_i64 page_stride, slot_stride;
};

WF_DEVICE decode_pages decode_pages_of(const decode_problem &p,
                                       const decode_span &s,
                                       const int *pages)
{
    decode_pages d;
    d.pages = pages;
    d.page_size = p.page_size;
    d.first_page = wf_quotient(s.lo, p.page_size);
    d.last_key = s.hi - 1;
    d.page_stride = p.page_stride;
    d.slot_stride = p.slot_stride;
    return d;
}

WF_DEVICE wf_i64 decode_key_offset(const decode_pages &d, int key)
{
    const int j = wf_min(key, d.last_key);
    const int page = wf_quotient(j, d.page_size);
    const int slot = j - page * d.page_size;
    const unsigned number = (unsigned)d.pages[page - d.first_page];
    return number * d.page_stride + (unsigned)slot * d.slot_stride;
}

/* tanh x = 1 - 2 / (e^2x + 1), which loses all digits of a small x (a soft cap far
 * above the scores): there five terms of the series, off by less than 1e-8 of x. */
WF_DEVICE float decode_tanh(float x)
{
    const float x2 = x * x;
    const float series =
        x * (1.0f +
             x2 * (-1.0f / 3.0f + x2 * (2.0f / 15.0f + x2 * (-17.0f / 315.0f +
                                                             x2 * (62.0f / 2835.0f)))));
    const float e = wf_exp2(x * 2.8853900817779268f);
    return x2 < 0.0625f ? series : 1.0f - 2.0f * wf_rcp(e + 1.0f);
}

/* Score in powers of two from the dot product. */
WF_DEVICE float decode_score(const decode_problem &p, float dot)
{
    const float s = dot * p.scale_log2;
    if (p.cap_log2 == 0.0f) {
        return s;
    }
    return p.cap_log2 * decode_tanh(s * p.inv_cap_log2);
}

/* exp2(a - b), 0 when a is -inf whatever b. */
WF_DEVICE float decode_weight(float a, float b)
{
    return a == wf_minus_infinity() ? 0.0f : wf_exp2(a - b);
}

WF_DEVICE void decode_write_lse(const decode_problem &p,
                                wf_i64 row,
                                float max,
                                float sum)
{
    if (p.lse) {
        p.lse[row] = sum > 0.0f ? (max + wf_log2(sum)) * 0.69314718055994531f
                                : wf_minus_infinity();
    }
}

/* A reciprocal of one digit in the last place is far below O's own rounding. Sums are
 * 0, or at least about 1: the key with the greatest score has the weight 1. */
WF_DEVICE wf_half decode_output(const decode_problem &p, float value, float sum)
{
    return wf_f2h(sum > 0.0f ? value * wf_rcp(sum) * p.v_scale : 0.0f);
}

/* One thread an element of O: row = sequence * q_heads + head. */
template <int head_dim> WF_DEVICE void decode_combine(const decode_problem &p)
{
    const wf_u64 row = (unsigned)wf_block_x();
    const int d = wf_thread();
    const wf_u64 part0 = row * (unsigned)p.parts;
    const float *max_sum = p.max_sum + part0 * 2;
    const float *partial = p.partial + part0 * head_dim + d;
    float max = max_sum[0];
    int i = 1;
    do { /* there are two parts at least */
        max = wf_maxf(max, max_sum[2 * i]);
    } while (++i < p.parts);
    float sum = 0.0f;
    float value = 0.0f;
    i = 0;
    do {
        const float w = decode_weight(max_sum[2 * i], max);
        if (w > 0.0f) { /* parts without keys leave `partial` unwritten */
            sum += w * max_sum[2 * i + 1];
            value += w * partial[(wf_i64)i * head_dim];
        }
    } while (++i < p.parts);
    p.o[row * head_dim + d] = decode_output(p, value, sum);
    if (d == 0) {
        decode_write_lse(p, row, max, sum);
    }
}

/* The waves' results in dynamic shared memory, to be merged over the workgroup:
 * waves * min(group, DECODE_HEADS) * (head_dim + 2) floats. */
struct decode_merge {
    float *value;   /* [waves][heads][head_dim] */
    float *max_sum; /* [waves][heads][2] */
    int heads;
};

WF_DEVICE decode_merge decode_merge_of(float *memory,
                                       int waves,
                                       int heads,
                                       int head_dim)
{
    decode_merge m;
    m.value = memory;
    m.max_sum = memory + waves * heads * head_dim;
    m.heads = heads;
    return m;
}

/* All waves have written; head `h` and dimension `d` of the workgroup are this
 * thread's. `rows` is sequence * q_heads + first head. */
template <int waves, int head_dim>
WF_DEVICE void decode_write_merged(const decode_problem &p,
                                   const decode_merge &m,
                                   wf_i64 rows,
                                   int part,
                                   int h,
                                   int d)
{
    float max = m.max_sum[h * 2];
    WF_UNROLL
    for (int w = 1; w < waves; w++) {
        max = wf_maxf(max, m.max_sum[(w * m.heads + h) * 2]);
    }
    float sum = 0.0f;
    float value = 0.0f;
    WF_UNROLL
    for (int w = 0; w < waves; w++) {
        /* the part has a key: max is finite, and a wave without keys weighs 0 */
        const float weight = wf_exp2(m.max_sum[(w * m.heads + h) * 2] - max);
        sum += weight * m.max_sum[(w * m.heads + h) * 2 + 1];
        value += weight * m.value[(w * m.heads + h) * head_dim + d];
    }
    const wf_i64 row = rows + h;
    if (p.parts == 1) {
        p.o[row * head_dim + d] = decode_output(p, value, sum);
        if (d == 0) {
            decode_write_lse(p, row, max, sum);
        }
        return;
    }
    const wf_u64 at = (wf_u64)row * (unsigned)p.parts + (unsigned)part;
    p.partial[at * head_dim + d] = value;
    if (d == 0) {
        p.max_sum[at * 2] = max;
        p.max_sum[at * 2 + 1] = sum;
    }
}

/* A part without keys; `heads` is at most `threads`. */
template <int head_dim>
WF_DEVICE void decode_write_empty(const decode_problem &p,
                                  wf_i64 rows,
                                  int heads,
                                  int part,
                                  int threads)
{
    const int thread = wf_thread();
    if (p.parts == 1) {
        WF_NO_UNROLL
        for (int i = thread; i < heads * head_dim; i += threads) {
            p.o[rows * head_dim + i] = 0;
        }
        if (thread < heads) {
            decode_write_lse(p, rows + thread, wf_minus_infinity(), 0.0f);
        }
    } else if (thread < heads) {
        const wf_u64 row = (wf_u64)rows + (unsigned)thread;
        const wf_u64 at = row * (unsigned)p.parts + (unsigned)part;
        p.max_sum[at * 2] = wf_minus_infinity();
        p.max_sum[at * 2 + 1] = 0.0f;
    }
}

#endif
