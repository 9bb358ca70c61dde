/* Paged decode attention, f16, plain: a workgroup of 64 a (sequence, query head), a lane
 * a dimension, every lane computes all scores. Right with FAULT 0 for every layout that a
 * case can say, else with one of layout_faults.h. */
#include "kernels/device/wf_device.h"
#include "layout_faults.h"

WF_DEVICE float load_half(const wf_half *base, wf_i64 at)
{
    if (FAULT == FAULT_ALIGNED) {
        base = (const wf_half *)((wf_i64)base & ~(wf_i64)15);
    }
    return wf_h2f(base[at]);
}

struct sequence {
    const int *list;
    layout_pool k, v;
    int page_size, head;
};

WF_DEVICE wf_i64 key_offset(const sequence &s, const layout_pool &pool, int j)
{
    const int column = j / s.page_size + (FAULT == FAULT_COLUMN ? 8 : 0);
    return pool_offset(FAULT, &pool, s.list[column], j % s.page_size, s.head, 2);
}

WF_DEVICE float score(const sequence &s, const wf_half *q, wf_i64 row, const wf_half *k,
                      int j, int dims)
{
    const wf_i64 at = key_offset(s, s.k, j);
    float sum = 0.0f;
    for (int c = 0; c < dims; c++) {
        sum += load_half(q, faulty_offset(FAULT, row + c, 2)) * load_half(k, at + c);
    }
    return sum;
}

WF_KERNEL(64, 1)
wf_layout_attention(const wf_half *q, wf_half *k, wf_half *v, const int *indptr,
                    int *indices, const int *last, wf_half *o, int q_heads, int kv_heads,
                    int page_size, int dims, int head_major, wf_i64 q_token, wf_i64 q_head,
                    wf_i64 k_page, wf_i64 k_token, wf_i64 k_head, wf_i64 v_page,
                    wf_i64 v_token, wf_i64 v_head, wf_i64 o_token, wf_i64 o_head,
                    wf_i64 o_elements, float scale_log2)
{
    const int head = wf_block_x(), b = wf_block_y();
    const wf_i64 block = (wf_i64)page_size * kv_heads * dims;
    const wf_i64 dense_token = head_major ? dims : kv_heads * dims;
    const wf_i64 dense_head = head_major ? page_size * dims : dims;
    const sequence s = { indices + indptr[b],
                         { k_page, k_token, k_head, block, dense_token, dense_head },
                         { v_page, v_token, v_head, block, dense_token, dense_head },
                         page_size,
                         head / (q_heads / kv_heads) };
    const int pages = indptr[b + 1] - indptr[b];
    const int keys = pages > 0 ? (pages - 1) * page_size + last[b] : 0;
    const bool dense = FAULT == FAULT_DENSE;
    const wf_i64 row =
        b * (dense ? q_heads * dims : q_token) + head * (dense ? dims : q_head);
    const wf_i64 out =
        b * (dense ? q_heads * dims : o_token) + head * (dense ? dims : o_head);
    float max = wf_minus_infinity(), sum = 0.0f;
    WF_NO_UNROLL
    for (int j = 0; j < keys; j++) {
        const float x = score(s, q, row, k, j, dims) * scale_log2;
        max = x > max || x != x ? x : max;
    }
    for (int d = wf_thread(); d < dims; d += 64) {
        float value = 0.0f;
        sum = 0.0f;
        WF_NO_UNROLL
        for (int j = 0; j < keys; j++) {
            const float p = wf_exp2(score(s, q, row, k, j, dims) * scale_log2 - max);
            sum += p;
            value += p * load_half(v, key_offset(s, s.v, j) + d);
        }
        wf_half *to = o;
        if (FAULT == FAULT_ALIGNED) {
            to = (wf_half *)((wf_i64)to & ~(wf_i64)15);
        }
        to[faulty_offset(FAULT, out + d, 2)] = wf_f2h(keys > 0 ? value / sum : 0.0f);
    }
    if (wf_thread() == 0 && head == 0 && b == 0) {
        if (FAULT == FAULT_INPUT) {
            v[(wf_i64)s.list[0] * v_page] ^= 1;
        }
        if (FAULT == FAULT_INDEX) {
            indices[0] ^= 1;
        }
        if (FAULT == FAULT_BEFORE) {
            o[-1] = 0;
        }
        if (FAULT == FAULT_GUARD) {
            o[o_elements] = 0xa5a5;
        }
    }
}
