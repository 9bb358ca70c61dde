/* gfx942 paged decode attention, f16: 16x16x16 matrix instructions straight from global
 * memory.
 *
 * A wave takes 16 keys a step: S^T = K Q^T with the workgroup's query heads as columns,
 * then O^T += V^T P^T. S^T's lanes are those that P^T needs, so that weights never
 * leave their lane. The order of dimensions inside a product is free as long as both
 * operands share it: a lane's 16 bytes of K feed two instructions, and the rows of V
 * that a lane holds become operands by 2x2 transposes in registers (row i of block j
 * stands for d = i * HEAD_DIM / 16 + j). The next step's loads are issued before this
 * step's arithmetic.
 *
 * Dynamic shared memory: see decode_merge. Knobs: HEAD_DIM (64, 128), WAVES,
 * WAVES_PER_SIMD. */
#include "kernels/attention/decode_device.h"

#define THREADS  (64 * WAVES)
#define K_LOADS  (HEAD_DIM / 32) /* 16-byte loads of one key by four lanes */
#define V_VALUES (HEAD_DIM / 16) /* dimensions of one key in a lane */
#define V_WORDS  (V_VALUES / 2)

struct decode_step {
    wf_u4 k[K_LOADS];       /* key lane % 16 */
    unsigned v[4][V_WORDS]; /* keys 4 (lane / 16) + 0..3 */
};

struct decode_state {
    wf_f32x4 o[V_VALUES];
    float max, sum; /* of head lane % 16; the sum is this lane's share */
};

WF_DEVICE void load_values(unsigned *r, const wf_half *p)
{
#if HEAD_DIM == 128
    const wf_u4 v = wf_load16(p);
    r[2] = v.z;
    r[3] = v.w;
#else
    const wf_u2 v = wf_load8(p);
#endif
    r[0] = v.x;
    r[1] = v.y;
}

WF_DEVICE void load_step(decode_step &s,
                         const decode_pages &pages,
                         const wf_half *k,
                         const wf_half *v,
                         int key0,
                         int lane)
{
    const int inner = lane & 15;
    const int quarter = lane >> 4;
    const wf_half *row = k + decode_key_offset(pages, key0 + inner) + quarter * 8;
    WF_UNROLL
    for (int c = 0; c < K_LOADS; c++) {
        s.k[c] = wf_load16(row + c * 32);
    }
    WF_UNROLL
    for (int i = 0; i < 4; i++) {
        load_values(s.v[i], v + decode_key_offset(pages, key0 + quarter * 4 + i) +
                                inner * V_VALUES);
    }
}

WF_DEVICE void load_query(wf_u4 q[K_LOADS], const wf_half *rows, int heads, int lane)
{
    WF_UNROLL
    for (int c = 0; c < K_LOADS; c++) {
        q[c] = wf_u4{ 0, 0, 0, 0 };
        if ((lane & 15) < heads) {
            q[c] = wf_load16(rows + (lane & 15) * HEAD_DIM + c * 32 + (lane >> 4) * 8);
        }
    }
}

/* Scores of 16 keys x 16 heads: register r is key 4 (lane / 16) + r. */
WF_DEVICE void score_step(const decode_problem &p,
                          float s[4],
                          const decode_step &step,
                          const wf_u4 q[K_LOADS],
                          int keys_left,
                          int lane)
{
    wf_f32x4 d = { 0.0f, 0.0f, 0.0f, 0.0f };
    WF_UNROLL
    for (int c = 0; c < K_LOADS; c++) {
        d = wf_mfma_16x16x16(wf_u2{ step.k[c].x, step.k[c].y }, wf_u2{ q[c].x, q[c].y },
                             d);
        d = wf_mfma_16x16x16(wf_u2{ step.k[c].z, step.k[c].w }, wf_u2{ q[c].z, q[c].w },
                             d);
    }
    WF_UNROLL
    for (int r = 0; r < 4; r++) {
        s[r] = (lane >> 4) * 4 + r < keys_left ? decode_score(p, d[r])
                                               : wf_minus_infinity();
    }
}

WF_DEVICE void weigh_step(decode_state &state, float s[4])
{
    float max = wf_maxf(wf_maxf(s[0], s[1]), wf_maxf(s[2], s[3]));
    max = wf_maxf(max, wf_shuffle_xor(max, 16));
    max = wf_maxf(max, wf_shuffle_xor(max, 32));
    max = wf_maxf(max, state.max);
    /* A step has at least one key that is seen: max is finite, exp2(-inf - max) 0. */
    const float scale = wf_exp2(state.max - max);
    state.max = max;
    state.sum *= scale;
    WF_UNROLL
    for (int r = 0; r < 4; r++) {
        s[r] = wf_exp2(s[r] - max);
        state.sum += s[r];
    }
    WF_UNROLL
    for (int j = 0; j < V_VALUES; j++) {
        state.o[j] *= scale;
    }
}

WF_DEVICE void add_values(decode_state &state,
                          const decode_step &step,
                          const float s[4])
{
    const wf_u2 p = { wf_f2h_pair(s[0], s[1]), wf_f2h_pair(s[2], s[3]) };
    WF_UNROLL
    for (int w = 0; w < V_WORDS; w++) {
        const wf_u2 low = { wf_pack_low(step.v[0][w], step.v[1][w]),
                            wf_pack_low(step.v[2][w], step.v[3][w]) };
        const wf_u2 high = { wf_pack_high(step.v[0][w], step.v[1][w]),
                             wf_pack_high(step.v[2][w], step.v[3][w]) };
        state.o[2 * w] = wf_mfma_16x16x16(low, p, state.o[2 * w]);
        state.o[2 * w + 1] = wf_mfma_16x16x16(high, p, state.o[2 * w + 1]);
    }
}

WF_DEVICE void write_state(const decode_merge &m,
                           decode_state &state,
                           int wave,
                           int lane)
{
    const int head = lane & 15;
    state.sum += wf_shuffle_xor(state.sum, 16);
    state.sum += wf_shuffle_xor(state.sum, 32);
    if (head >= m.heads) {
        return;
    }
    float *value = m.value + (wave * m.heads + head) * HEAD_DIM;
    WF_UNROLL
    for (int j = 0; j < V_VALUES; j++) {
        WF_UNROLL
        for (int r = 0; r < 4; r++) {
            value[((lane >> 4) * 4 + r) * V_VALUES + j] = state.o[j][r];
        }
    }
    if (lane < 16) {
        m.max_sum[(wave * m.heads + head) * 2] = state.max;
        m.max_sum[(wave * m.heads + head) * 2 + 1] = state.sum;
    }
}

WF_DEVICE void run_steps(const decode_problem &p,
                         const decode_span &span,
                         const decode_pages &pages,
                         const wf_half *query,
                         int heads,
                         int kv_head,
                         decode_state &state)
{
    const int lane = wf_thread() & 63;
    const wf_half *k = p.k + kv_head * p.head_stride;
    const wf_half *v = p.v + kv_head * p.head_stride;
    int key = span.lo + wf_uniform(wf_thread() >> 6) * DECODE_KEYS;
    if (key >= span.hi) {
        return;
    }
    wf_u4 q[K_LOADS];
    load_query(q, query, heads, lane);
    decode_step step;
    load_step(step, pages, k, v, key, lane);
    WF_NO_UNROLL
    for (; key < span.hi; key += WAVES * DECODE_KEYS) {
        decode_step now = step;
        const int next = key + WAVES * DECODE_KEYS;
        if (next < span.hi) {
            load_step(step, pages, k, v, next, lane);
        }
        float s[4];
        score_step(p, s, now, q, span.hi - key, lane);
        weigh_step(state, s);
        add_values(state, now, s);
    }
}

/* Grid: kv heads * blocks of query heads, sequences, parts. */
WF_KERNEL(THREADS, WAVES_PER_SIMD) wf_paged_decode_f16(DECODE_PARAMETERS)
{
    WF_SHARED int page_numbers[DECODE_MAX_PART + 1];
    const decode_problem p = DECODE_PROBLEM;
    const int group = wf_quotient(p.q_heads, p.kv_heads);
    const int blocks = wf_quotient_up(group, DECODE_HEADS);
    const int kv_head = wf_quotient(wf_block_x(), blocks);
    const int head0 = (wf_block_x() - kv_head * blocks) * DECODE_HEADS;
    const int heads = wf_min(group - head0, DECODE_HEADS);
    const int sequence = wf_block_y();
    const int part = wf_block_z();
    const wf_i64 rows = (wf_i64)((wf_u64)(unsigned)sequence * (unsigned)p.q_heads +
                                 (unsigned)(kv_head * group + head0));
    const decode_span span = decode_part(p, decode_visible(p, sequence), part);
    if (span.lo >= span.hi) {
        decode_write_empty<HEAD_DIM>(p, rows, heads, part, THREADS);
        return;
    }
    decode_load_pages(p, span, page_numbers, THREADS);
    wf_barrier();
    const decode_pages pages = decode_pages_of(p, span, page_numbers);
    decode_state state;
    WF_UNROLL
    for (int j = 0; j < V_VALUES; j++) {
        state.o[j] = (wf_f32x4)(0.0f);
    }
    state.max = wf_minus_infinity();
    state.sum = 0.0f;
    run_steps(p, span, pages, p.q + rows * HEAD_DIM, heads, kv_head, state);
    const decode_merge merge =
        decode_merge_of((float *)wf_dynamic_memory(), WAVES, heads, HEAD_DIM);
    write_state(merge, state, wf_thread() >> 6, wf_thread() & 63);
    wf_barrier();
    for (int i = wf_thread(); i < heads * HEAD_DIM; i += THREADS) {
        decode_write_merged<WAVES, HEAD_DIM>(
            p, merge, rows, part, (unsigned)i / HEAD_DIM, (unsigned)i % HEAD_DIM);
    }
}

/* Grid: sequences * query heads. */
WF_KERNEL(HEAD_DIM, 1) wf_paged_decode_combine(DECODE_PARAMETERS)
{
    const decode_problem p = DECODE_PROBLEM;
    decode_combine<HEAD_DIM>(p);
}
