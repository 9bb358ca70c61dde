/* One row: scores, online softmax, O and lse, and mistakes of each step. */
#include "tests/mutants/host_attention.h"

#include <math.h>

struct online {
    double max, sum, o[ATT_MAX_DIM];
};

static double kept(const struct att_job *j, double v)
{
    return j->fault == ATT_right_f64 ? v : (double)(float)v;
}

static double rounded_to(enum wf_dtype t, double v)
{
    unsigned char bytes[8];
    double back;
    wf_from_f64(t, &v, bytes, 1);
    wf_to_f64(t, bytes, &back, 1);
    return back;
}

static double score(const struct att_job *j, const struct att_row *r, int64_t key)
{
    const bool clipped = j->fault == ATT_heads_beyond_16 && r->head % j->group >= 16;
    const int64_t head = clipped ? r->head / j->group * j->group + 15 : r->head;
    const int64_t q = (r->row * j->q_heads + head) * j->width;
    double scale = j->scale;
    double s = 0.0;
    for (int64_t e = 0; e < j->d; e++) {
        s = kept(j, s + att_element(&j->q, q + e) * att_key(j, r, false, key, e));
    }
    if (j->fault == ATT_scale_twice) {
        scale *= scale;
    } else if (j->fault == ATT_scale_of_value_dim) {
        scale = 1.0 / sqrt((double)j->dv);
    }
    s = kept(j, s * scale * j->q_scale * j->k_scale);
    if (j->cap > 0.0) {
        s = j->fault == ATT_cap_without_scale_back ? tanh(s / j->cap)
                                                   : j->cap * tanh(s / j->cap);
    }
    return kept(j, s);
}

static double weight(const struct att_job *j, double s, double max)
{
    double p = j->fault == ATT_exp2_without_log2e ? exp2(s - max) : exp(s - max);
    switch ((int)j->fault) {
    case ATT_max_not_subtracted:
        p = (double)(float)exp(s);
        break;
    case ATT_p_in_fp8:
        p = rounded_to(WF_E4M3FN, p);
        break;
    case ATT_p_in_bf16:
        p = rounded_to(WF_BF16, p);
        break;
    case ATT_right_p_in_q_type:
        p = rounded_to(j->q.type, p);
        break;
    case ATT_weights_are_uniform:
        p = 1.0;
        break;
    case ATT_negative_scores_dropped:
        p = s < 0.0 ? 0.0 : p;
        break;
    default:
        break;
    }
    return kept(j, p);
}

static void add_key(const struct att_job *j,
                    const struct att_row *r,
                    struct online *a,
                    double s,
                    int64_t key)
{
    const double max = fmax(a->max, s);
    const double factor = isinf(a->max) ? 0.0 : exp(a->max - max);
    const double p = weight(j, s, max);
    const bool free_of_max = j->fault == ATT_max_not_subtracted;
    if (j->fault != ATT_sum_not_rescaled && !free_of_max) {
        a->sum *= factor;
    }
    a->sum = kept(j, a->sum + p);
    for (int64_t e = 0; e < j->dv; e++) {
        if (j->fault != ATT_output_not_rescaled && !free_of_max) {
            a->o[e] *= factor;
        }
        a->o[e] = kept(j, a->o[e] + p * att_key(j, r, true, key, e));
        if (j->fault == ATT_output_in_f16_sums) {
            a->o[e] = rounded_to(WF_F16, a->o[e]);
        }
    }
    a->max = max;
}

/* The maximum is known before the first weight. */
static void find_max(const struct att_job *j,
                     const struct att_row *r,
                     int64_t lo,
                     int64_t hi,
                     struct online *a)
{
    for (int64_t key = lo; key < hi; key++) {
        a->max = fmax(a->max, score(j, r, key));
    }
}

static bool on_page_zero(const struct att_job *j, const struct att_row *r, int64_t key)
{
    return j->paged &&
           j->kv_indices[j->kv_indptr[r->sequence] + key / j->page_size] == 0;
}

static void run_keys(const struct att_job *j, const struct att_row *r, struct online *a)
{
    int64_t lo, hi;
    att_visible(j, r, &lo, &hi);
    if (j->fault == ATT_right_two_passes) {
        find_max(j, r, lo, hi, a);
    }
    for (int64_t n = lo; n < hi; n++) {
        const int64_t key = j->fault == ATT_right_backwards ? lo + hi - 1 - n : n;
        if (j->fault == ATT_page_zero_is_none && on_page_zero(j, r, key)) {
            continue;
        }
        add_key(j, r, a, score(j, r, key), key);
    }
    if (j->fault == ATT_masked_times_zero && j->paged && hi > 0) {
        /* The rest of the last page, with weight 0. */
        for (int64_t key = r->kv_len; key % j->page_size != 0; key++) {
            a->o[0] += 0.0 * att_key(j, r, true, key, 0);
        }
    }
    if (j->fault == ATT_cap_after_mask && j->cap > 0.0) {
        /* -inf through tanh is -cap: hidden keys get a weight. */
        for (int64_t key = hi; key < r->kv_len; key++) {
            add_key(j, r, a, -j->cap, key);
        }
    }
    if (j->fault == ATT_empty_is_mean && hi <= lo) {
        for (int64_t key = 0; key < r->kv_len; key++) {
            add_key(j, r, a, -1e30, key);
        }
    }
}

static int64_t output_at(const struct att_job *j, const struct att_row *r)
{
    if (j->fault == ATT_heads_out_first) {
        return (r->head * j->total_q + r->row) * j->dv;
    }
    return (r->row * j->q_heads + r->head) * j->dv;
}

static double spoiled(const struct att_job *j,
                      const struct att_row *r,
                      int64_t e,
                      double v)
{
    const bool row = r->row == j->total_q / 2 && r->head == j->q_heads - 1;
    if (j->fault == ATT_one_head_of_71 && r->head == 37) {
        return v * 1.03;
    }
    if (j->fault == ATT_one_key_without_scale && r->kv_len == 1) {
        return v / j->v_scale;
    }
    if (j->fault == ATT_one_row && row) {
        return v * 1.06;
    }
    if (j->fault == ATT_one_element && row && e == j->dv - 1) {
        return v + 0.25;
    }
    return v;
}

static void write_lse(const struct att_job *j,
                      const struct att_row *r,
                      const struct online *a)
{
    int64_t at = r->row * j->q_heads + r->head;
    double v = a->sum > 0.0 ? a->max + log(a->sum) : -(double)INFINITY;
    if (j->lse == NULL || j->fault == ATT_lse_unwritten) {
        return;
    }
    switch ((int)j->fault) {
    case ATT_lse_base_2:
        v /= log(2.0);
        break;
    case ATT_lse_plus_infinity:
        v = a->sum > 0.0 ? v : (double)INFINITY;
        break;
    case ATT_lse_without_max:
        v = log(a->sum);
        break;
    case ATT_lse_of_all_keys:
        v += log((double)r->kv_len / (double)(j->window_left + 1));
        break;
    case ATT_empty_lse_zero:
        v = a->sum > 0.0 ? v : 0.0;
        break;
    case ATT_lse_in_f16:
        v = rounded_to(WF_F16, v);
        break;
    case ATT_lse_by_head_first:
        at = r->head * j->total_q + r->row;
        break;
    case ATT_lse_of_scaled_group:
        v -= log((double)j->group);
        break;
    default:
        break;
    }
    j->lse[at] = (float)v;
}

void att_compute(struct att_job *j, const struct att_row *r)
{
    struct online a = { .max = -(double)INFINITY };
    const int64_t at = output_at(j, r);
    const int64_t columns =
        j->fault == ATT_value_tail_unwritten ? j->dv / 16 * 16 : j->dv;
    if (j->fault == ATT_max_starts_at_zero) {
        a.max = 0.0;
    }
    run_keys(j, r, &a);
    if (!(a.sum > 0.0) && j->fault == ATT_empty_unwritten) {
        return;
    }
    if (j->fault == ATT_value_last_column && j->dv < j->d) {
        a.o[j->dv - 1] = a.o[j->dv - 2];
    }
    for (int64_t e = 0; e < columns; e++) {
        double v = a.sum > 0.0 || j->fault == ATT_empty_is_nan ? a.o[e] / a.sum : 0.0;
        att_set(&j->o, at + e, spoiled(j, r, e, v * j->v_scale));
    }
    write_lse(j, r, &a);
}
