/* sm_90 paged decode attention, f16: mma.m16n8k16 straight from global memory.
 *
 * A warp takes 16 keys a step: S = Q K^T with the workgroup's query heads as rows, then
 * O += P V. Nothing is staged in shared memory: the order of dimensions inside a
 * product is free as long as both operands share it, so that a lane's 16-byte load of K
 * is the B operand of two mma, and two lanes' worth of V rows become B operands by 2x2
 * transposes in registers (a column of the product stands for d = 64 h + 8 g + j). The
 * next step's loads are issued before this step's arithmetic.
 *
 * Dynamic shared memory: see decode_merge. Knobs: HEAD_DIM (64, 128, 256), WARPS. */
#include "kernels/attention/decode_device.h"

#define THREADS (32 * WARPS)
#define K_LOADS (HEAD_DIM / 32) /* 16-byte loads of one key by a quad of lanes */
#define V_LOADS (HEAD_DIM / 64) /* 16-byte loads of one key by 8 lanes */

struct decode_step {
    wf_u4 k[2][K_LOADS]; /* keys g and g + 8 */
    wf_u4 v[4][V_LOADS]; /* keys 2t, 2t + 1, 2t + 8, 2t + 9 */
};

struct decode_state {
    float o[HEAD_DIM / 8][4];
    float max[2], sum[2]; /* of heads g and g + 8; sums are this lane's share */
};

WF_DEVICE void load_step(decode_step &s,
                         const decode_pages &pages,
                         const wf_half *k,
                         const wf_half *v,
                         int key0,
                         int lane)
{
    const int g = lane >> 2;
    const int t = lane & 3;
    WF_UNROLL
    for (int i = 0; i < 2; i++) {
        const wf_half *row = k + decode_key_offset(pages, key0 + g + i * 8) + t * 8;
        WF_UNROLL
        for (int c = 0; c < K_LOADS; c++) {
            s.k[i][c] = wf_load16(row + c * 32);
        }
    }
    WF_UNROLL
    for (int i = 0; i < 4; i++) {
        const int key = key0 + 2 * t + (i & 1) + (i >> 1) * 8;
        const wf_half *row = v + decode_key_offset(pages, key) + g * 8;
        WF_UNROLL
        for (int c = 0; c < V_LOADS; c++) {
            s.v[i][c] = wf_load16(row + c * 64);
        }
    }
}

/* Query operand: rows g and g + 8, dimensions in the order of K's loads. */
WF_DEVICE void load_query(unsigned q[2 * K_LOADS][4],
                          const wf_half *rows,
                          int heads,
                          int lane)
{
    const int g = lane >> 2;
    const int t = lane & 3;
    WF_UNROLL
    for (int c = 0; c < K_LOADS; c++) {
        wf_u4 r[2] = { { 0, 0, 0, 0 }, { 0, 0, 0, 0 } };
        WF_UNROLL
        for (int i = 0; i < 2; i++) {
            if (g + i * 8 < heads) {
                r[i] = wf_load16(rows + (g + i * 8) * HEAD_DIM + c * 32 + t * 8);
            }
        }
        const unsigned even[4] = { r[0].x, r[1].x, r[0].y, r[1].y };
        const unsigned odd[4] = { r[0].z, r[1].z, r[0].w, r[1].w };
        WF_UNROLL
        for (int i = 0; i < 4; i++) {
            q[2 * c][i] = even[i];
            q[2 * c + 1][i] = odd[i];
        }
    }
}

/* Scores of 16 heads x 16 keys: s[i] is keys 8i to 8i + 7. */
WF_DEVICE void score_step(const decode_problem &p,
                          float s[2][4],
                          const decode_step &step,
                          const unsigned q[2 * K_LOADS][4],
                          int keys_left,
                          int lane)
{
    const int t = lane & 3;
    WF_UNROLL
    for (int i = 0; i < 2; i++) {
        float d[4] = { 0.0f, 0.0f, 0.0f, 0.0f };
        WF_UNROLL
        for (int c = 0; c < K_LOADS; c++) {
            wf_mma_16x8x16(d, q[2 * c], step.k[i][c].x, step.k[i][c].y);
            wf_mma_16x8x16(d, q[2 * c + 1], step.k[i][c].z, step.k[i][c].w);
        }
        WF_UNROLL
        for (int j = 0; j < 4; j++) {
            const int key = i * 8 + 2 * t + (j & 1);
            s[i][j] = key < keys_left ? decode_score(p, d[j]) : wf_minus_infinity();
        }
    }
}

/* Rescales the state to the new maximum and turns scores into weights. */
WF_DEVICE void weigh_step(decode_state &state, float s[2][4])
{
    WF_UNROLL
    for (int h = 0; h < 2; h++) {
        float max = wf_maxf(wf_maxf(s[0][2 * h], s[0][2 * h + 1]),
                            wf_maxf(s[1][2 * h], s[1][2 * h + 1]));
        max = wf_maxf(max, wf_shuffle_xor(max, 1));
        max = wf_maxf(max, wf_shuffle_xor(max, 2));
        max = wf_maxf(max, state.max[h]);
        const float scale = decode_weight(state.max[h], max);
        state.max[h] = max;
        state.sum[h] *= scale;
        WF_UNROLL
        for (int i = 0; i < 2; i++) {
            WF_UNROLL
            for (int j = 2 * h; j < 2 * h + 2; j++) {
                s[i][j] = decode_weight(s[i][j], max);
                state.sum[h] += s[i][j];
            }
        }
        WF_UNROLL
        for (int n = 0; n < HEAD_DIM / 8; n++) {
            state.o[n][2 * h] *= scale;
            state.o[n][2 * h + 1] *= scale;
        }
    }
}

WF_DEVICE void add_values(decode_state &state,
                          const decode_step &step,
                          const float s[2][4])
{
    const unsigned p[4] = { wf_f2h_pair(s[0][0], s[0][1]),
                            wf_f2h_pair(s[0][2], s[0][3]),
                            wf_f2h_pair(s[1][0], s[1][1]),
                            wf_f2h_pair(s[1][2], s[1][3]) };
    WF_UNROLL
    for (int c = 0; c < V_LOADS; c++) {
        const unsigned v[4][4] = {
            { step.v[0][c].x, step.v[0][c].y, step.v[0][c].z, step.v[0][c].w },
            { step.v[1][c].x, step.v[1][c].y, step.v[1][c].z, step.v[1][c].w },
            { step.v[2][c].x, step.v[2][c].y, step.v[2][c].z, step.v[2][c].w },
            { step.v[3][c].x, step.v[3][c].y, step.v[3][c].z, step.v[3][c].w }
        };
        WF_UNROLL
        for (int j = 0; j < 4; j++) {
            wf_mma_16x8x16(state.o[c * 8 + 2 * j], p, wf_pack_low(v[0][j], v[1][j]),
                           wf_pack_low(v[2][j], v[3][j]));
            wf_mma_16x8x16(state.o[c * 8 + 2 * j + 1], p,
                           wf_pack_high(v[0][j], v[1][j]),
                           wf_pack_high(v[2][j], v[3][j]));
        }
    }
}

/* Column n of a product of block c * 8 + j is d = 64 c + 8 n + j. */
WF_DEVICE void write_state(const decode_merge &m,
                           decode_state &state,
                           int warp,
                           int lane)
{
    const int g = lane >> 2;
    const int t = lane & 3;
    WF_UNROLL
    for (int h = 0; h < 2; h++) {
        state.sum[h] += wf_shuffle_xor(state.sum[h], 1);
        state.sum[h] += wf_shuffle_xor(state.sum[h], 2);
        const int head = g + h * 8;
        if (head >= m.heads) {
            continue;
        }
        float *value = m.value + (warp * m.heads + head) * HEAD_DIM;
        WF_UNROLL
        for (int n = 0; n < HEAD_DIM / 8; n++) {
            const int d = n / 8 * 64 + 2 * t * 8 + n % 8;
            value[d] = state.o[n][2 * h];
            value[d + 8] = state.o[n][2 * h + 1];
        }
        if (t == 0) {
            m.max_sum[(warp * m.heads + head) * 2] = state.max[h];
            m.max_sum[(warp * m.heads + head) * 2 + 1] = state.sum[h];
        }
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
    const int lane = wf_thread() & 31;
    const wf_half *k = p.k + kv_head * p.head_stride;
    const wf_half *v = p.v + kv_head * p.head_stride;
    int key = span.lo + (wf_thread() >> 5) * DECODE_KEYS;
    if (key >= span.hi) {
        return;
    }
    unsigned q[2 * K_LOADS][4];
    load_query(q, query, heads, lane);
    decode_step step;
    load_step(step, pages, k, v, key, lane);
    WF_NO_UNROLL
    for (; key < span.hi; key += WARPS * DECODE_KEYS) {
        decode_step now = step;
        const int next = key + WARPS * DECODE_KEYS;
        if (next < span.hi) {
            load_step(step, pages, k, v, next, lane);
        }
        float s[2][4];
        score_step(p, s, now, q, span.hi - key, lane);
        weigh_step(state, s);
        add_values(state, now, s);
    }
}

/* Grid: kv heads * blocks of query heads, sequences, parts. */
WF_KERNEL(THREADS, BLOCKS_PER_UNIT) wf_paged_decode_f16(DECODE_PARAMETERS)
{
    WF_SHARED int page_numbers[DECODE_MAX_PART + 1];
    const decode_problem p = DECODE_PROBLEM;
    const int group = p.q_heads / p.kv_heads;
    const int blocks = wf_ceil_div(group, DECODE_HEADS);
    const int kv_head = wf_block_x() / blocks;
    const int head0 = wf_block_x() % blocks * DECODE_HEADS;
    const int heads = wf_min(group - head0, DECODE_HEADS);
    const int sequence = wf_block_y();
    const int part = wf_block_z();
    const wf_i64 rows = (wf_i64)sequence * p.q_heads + kv_head * group + head0;
    const decode_span span = decode_part(p, decode_visible(p, sequence), part);
    if (span.lo >= span.hi) {
        decode_write_empty<HEAD_DIM>(p, rows, heads, part, THREADS);
        return;
    }
    decode_load_pages(p, span, page_numbers, THREADS);
    wf_barrier();
    const decode_pages pages = decode_pages_of(p, span, page_numbers);
    decode_state state = {};
    state.max[0] = state.max[1] = wf_minus_infinity();
    run_steps(p, span, pages, p.q + rows * HEAD_DIM, heads, kv_head, state);
    const decode_merge merge =
        decode_merge_of((float *)wf_dynamic_memory(), WARPS, heads, HEAD_DIM);
    write_state(merge, state, wf_thread() >> 5, wf_thread() & 31);
    wf_barrier();
    for (int i = wf_thread(); i < heads * HEAD_DIM; i += THREADS) {
        decode_write_merged<WARPS, HEAD_DIM>(p, merge, rows, part, i / HEAD_DIM,
                                             i % HEAD_DIM);
    }
}

/* Grid: sequences * query heads. */
WF_KERNEL(HEAD_DIM, 1) wf_paged_decode_combine(DECODE_PARAMETERS)
{
    const decode_problem p = DECODE_PROBLEM;
    decode_combine<HEAD_DIM>(p);
}
