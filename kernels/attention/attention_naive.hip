/* The plainest attention there is, in double, for every layout and option of the op. It
 * is a check of other kernels (docs/isolation.md), so nothing here is fast or clever.
 *
 * A line is one query row and head: row * q_heads + head. For every line the kernels
 * leave what the double reference of the host has too:
 *
 *   lines[line][4]     visible keys n, largest score, l = sum of w = exp(s - max), and
 *                      sum of w e + eta, where e is the error model's relative error of
 * w wide[line][d]      O before it is rounded squares[line][d]   sum of (w e + eta)^2
 * v^2
 *
 * from which the host computes each element's tolerance (attention_tolerance.c has the
 * model and its reasons). wf_naive_attention_lines: one thread a line.
 * wf_naive_attention_out: one thread for CHUNK elements of a line, which computes the
 * scores again. wf_naive_attention_round makes O and lse. */
#include "kernels/device/wf_naive.h"

#define CHUNK 16

/* One struct, so that all three kernels take the same argument. */
struct naive_attention {
    const void *q, *k, *v, *k_cache, *v_cache; /* paged: the caches */
    const int *qo_indptr, *kv_indptr, *kv_indices, *kv_last_page_len;
    void *o;
    float *lse;
    double *wide, *squares, *lines;
    wf_i64 batch, total_q, q_heads, kv_heads, head_dim, head_dim_v;
    wf_i64 q_len, kv_len; /* of a dense case */
    wf_i64 page_size;     /* 0: not paged */
    wf_i64 window_left, window_right;
    wf_i64 q_token, q_head, k_page, k_token, k_head, v_page, v_token, v_head, o_token,
        o_head;
    double scale, soft_cap, k_scale, v_scale; /* scale: with those of Q and K */
    wf_i64 threads;
    int q_type, kv_type, o_type, causal;
};

/* What one line sees. */
struct naive_line {
    wf_i64 row, head, kv_head;
    wf_i64 sequence, first_row; /* of the sequence, in rows of Q */
    wf_i64 lo, hi;              /* visible keys */
};

/* --- lengths and masks --- */

WF_DEVICE wf_i64 queries_before(const naive_attention &a, wf_i64 sequence)
{
    return a.qo_indptr ? (wf_i64)a.qo_indptr[sequence] : sequence * a.q_len;
}

WF_DEVICE wf_i64 keys_of(const naive_attention &a, wf_i64 sequence)
{
    if (!a.kv_indptr) {
        return a.kv_len;
    }
    const wf_i64 n = (wf_i64)a.kv_indptr[sequence + 1] - (wf_i64)a.kv_indptr[sequence];
    if (a.page_size == 0) {
        return n;
    }
    return n > 0 ? (n - 1) * a.page_size + a.kv_last_page_len[sequence] : 0;
}

WF_DEVICE naive_line line_of(const naive_attention &a, wf_i64 line)
{
    naive_line x;
    x.row = line / a.q_heads;
    x.head = line % a.q_heads;
    x.kv_head = x.head / (a.q_heads / a.kv_heads);
    x.sequence = 0;
    while (queries_before(a, x.sequence + 1) <= x.row) {
        x.sequence++;
    }
    x.first_row = queries_before(a, x.sequence);
    const wf_i64 q_len = queries_before(a, x.sequence + 1) - x.first_row;
    const wf_i64 kv_len = keys_of(a, x.sequence);
    const wf_i64 position = x.row - x.first_row + kv_len - q_len;
    x.lo = 0;
    x.hi = kv_len;
    if (a.window_left >= 0 && position - a.window_left > x.lo) {
        x.lo = position - a.window_left;
    }
    if (a.causal && position + 1 < x.hi) {
        x.hi = position + 1;
    }
    if (a.window_right >= 0 && position + a.window_right + 1 < x.hi) {
        x.hi = position + a.window_right + 1;
    }
    if (x.hi < x.lo) {
        x.hi = x.lo;
    }
    return x;
}

/* --- scores --- */

struct naive_place {
    wf_i64 page, token, head;
};

/* Where key (or value) j of the line begins. */
WF_DEVICE wf_i64 key_at(const naive_attention &a,
                        const naive_line &x,
                        const naive_place &p,
                        wf_i64 j)
{
    if (a.page_size > 0) {
        const wf_i64 page =
            a.kv_indices[(wf_i64)a.kv_indptr[x.sequence] + j / a.page_size];
        return page * p.page + j % a.page_size * p.token + x.kv_head * p.head;
    }
    const wf_i64 first =
        a.kv_indptr ? (wf_i64)a.kv_indptr[x.sequence] : x.sequence * a.kv_len;
    return (first + j) * p.token + x.kv_head * p.head;
}

struct naive_score {
    double s;       /* with scale and soft cap */
    double norm_k2; /* |k|^2 */
};

WF_DEVICE naive_score score(const naive_attention &a, const naive_line &x, wf_i64 j)
{
    const naive_place keys = { a.k_page, a.k_token, a.k_head };
    const wf_i64 q = x.row * a.q_token + x.head * a.q_head;
    const wf_i64 k = key_at(a, x, keys, j);
    const void *k_base = a.page_size > 0 ? a.k_cache : a.k;
    naive_score r = { 0.0, 0.0 };
    for (wf_i64 d = 0; d < a.head_dim; d++) {
        const double y = wf_naive_load(k_base, k + d, a.kv_type);
        r.s += wf_naive_load(a.q, q + d, a.q_type) * y;
        r.norm_k2 += y * y;
    }
    r.s *= a.scale;
    if (a.soft_cap > 0.0) {
        r.s = a.soft_cap * wf_naive_tanh(r.s / a.soft_cap);
    }
    return r;
}

WF_DEVICE double norm_q(const naive_attention &a, const naive_line &x)
{
    const wf_i64 q = x.row * a.q_token + x.head * a.q_head;
    double sum = 0.0;
    for (wf_i64 d = 0; d < a.head_dim; d++) {
        const double y = wf_naive_load(a.q, q + d, a.q_type);
        sum += y * y;
    }
    return wf_naive_sqrt(sum);
}

/* --- the error model, as attention_tolerance.c has it --- */

struct naive_error {
    double dot, e_floor, eta;
};

/* Bits behind the point, and exponent of the smallest normal number. */
WF_DEVICE int mantissa_of(int type)
{
    return type == WF_NAIVE_F32    ? 23
           : type == WF_NAIVE_F16  ? 10
           : type == WF_NAIVE_BF16 ? 7
                                   : wf_small_float_of(type).mantissa;
}

WF_DEVICE int lowest_of(int type)
{
    return type == WF_NAIVE_F32 || type == WF_NAIVE_BF16 ? -126
           : type == WF_NAIVE_F16                        ? -14
                                  : 1 - wf_small_float_of(type).bias;
}

WF_DEVICE bool is_power_of_two(double v)
{
    return (wf_bits_of(v) & 0xfffffffffffffull) == 0;
}

WF_DEVICE naive_error error_model(const naive_attention &a)
{
    const int mantissa = mantissa_of(a.q_type);
    const double u_q = wf_power_of_two(-1 - mantissa);
    const double root = wf_naive_sqrt((double)a.head_dim);
    const bool narrow = a.kv_type != a.q_type;
    naive_error e;
    e.dot = 4.0 * root * wf_power_of_two(-23);
    if (narrow && !is_power_of_two(a.k_scale)) {
        e.dot += 6.0 * u_q / root;
    }
    e.e_floor = u_q + 12.0 * wf_power_of_two(-24);
    if (narrow && !is_power_of_two(a.v_scale)) {
        e.e_floor += u_q;
    }
    e.eta = wf_power_of_two(lowest_of(a.q_type) - mantissa - 1);
    return e;
}

/* w e + eta of one key. */
WF_DEVICE double weight_error(const naive_attention &a,
                              const naive_error &m,
                              const naive_score &s,
                              double norm,
                              double w)
{
    const double norms = norm * wf_naive_sqrt(s.norm_k2);
    const double e = m.dot * wf_magnitude(a.scale) * norms + m.e_floor +
                     4.0 * wf_power_of_two(-24) * wf_magnitude(s.s);
    return w * e + m.eta;
}

/* --- kernels --- */

WF_KERNEL(256, 1) wf_naive_attention_lines(naive_attention a)
{
    const wf_i64 count = a.total_q * a.q_heads;
    const naive_error error = error_model(a);
    for (wf_i64 i = (wf_i64)wf_block_x() * 256 + wf_thread(); i < count;
         i += a.threads) {
        const naive_line x = line_of(a, i);
        const double norm = norm_q(a, x);
        double max = 0.0;
        double l = 0.0;
        double we = 0.0;
        for (wf_i64 j = x.lo; j < x.hi; j++) {
            const double s = score(a, x, j).s;
            max = j == x.lo || s > max ? s : max;
        }
        for (wf_i64 j = x.lo; j < x.hi; j++) {
            const naive_score s = score(a, x, j);
            const double w = wf_naive_exp(s.s - max);
            l += w;
            we += weight_error(a, error, s, norm, w);
        }
        a.lines[4 * i] = (double)(x.hi - x.lo);
        a.lines[4 * i + 1] = max;
        a.lines[4 * i + 2] = l;
        a.lines[4 * i + 3] = we;
    }
}

WF_KERNEL(256, 1) wf_naive_attention_out(naive_attention a)
{
    const naive_place values = { a.v_page, a.v_token, a.v_head };
    const void *v_base = a.page_size > 0 ? a.v_cache : a.v;
    const naive_error error = error_model(a);
    const wf_i64 chunks = (a.head_dim_v + CHUNK - 1) / CHUNK;
    const wf_i64 count = a.total_q * a.q_heads * chunks;
    for (wf_i64 i = (wf_i64)wf_block_x() * 256 + wf_thread(); i < count;
         i += a.threads) {
        const wf_i64 line = i / chunks;
        const wf_i64 first = i % chunks * CHUNK;
        const naive_line x = line_of(a, line);
        const double norm = norm_q(a, x);
        const double max = a.lines[4 * line + 1];
        const double l = a.lines[4 * line + 2];
        double sum[CHUNK] = { 0.0 };
        double square[CHUNK] = { 0.0 };
        for (wf_i64 j = x.lo; j < x.hi; j++) {
            const naive_score s = score(a, x, j);
            const double w = wf_naive_exp(s.s - max);
            const double we = weight_error(a, error, s, norm, w);
            const wf_i64 v = key_at(a, x, values, j) + first;
            WF_UNROLL
            for (int d = 0; d < CHUNK; d++) {
                if (first + d < a.head_dim_v) {
                    const double y = wf_naive_load(v_base, v + d, a.kv_type);
                    sum[d] += w * y;
                    square[d] += we * we * y * y;
                }
            }
        }
        WF_UNROLL
        for (int d = 0; d < CHUNK; d++) {
            if (first + d < a.head_dim_v) {
                const wf_i64 to = line * a.head_dim_v + first + d;
                a.wide[to] = x.lo < x.hi ? a.v_scale * sum[d] / l : 0.0;
                a.squares[to] = square[d];
            }
        }
    }
}

WF_KERNEL(256, 1) wf_naive_attention_round(naive_attention a)
{
    const wf_i64 count = a.total_q * a.q_heads * a.head_dim_v;
    for (wf_i64 i = (wf_i64)wf_block_x() * 256 + wf_thread(); i < count;
         i += a.threads) {
        const wf_i64 line = i / a.head_dim_v;
        const wf_i64 d = i % a.head_dim_v;
        const wf_i64 to =
            line / a.q_heads * a.o_token + line % a.q_heads * a.o_head + d;
        wf_naive_store(a.o, to, a.wide[i], a.o_type);
        if (a.lse && d == 0) {
            const bool empty = !(a.lines[4 * line] > 0.0);
            a.lse[line] = empty ? wf_minus_infinity()
                                : (float)(a.lines[4 * line + 1] +
                                          wf_naive_log(a.lines[4 * line + 2]));
        }
    }
}
