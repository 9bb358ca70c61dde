/* Where things lie, which keys a query sees, and mistakes about both. */
#include "tests/mutants/host_attention.h"

#include <math.h>

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void att_believe(struct att_job *j)
{
    switch ((int)j->fault) {
    case ATT_causal_ignored:
        j->causal = false;
        break;
    case ATT_window_one_more:
        j->window_left += j->window_left >= 0;
        break;
    case ATT_window_one_less:
        j->window_left -= j->window_left > 0;
        break;
    case ATT_window_zero_is_none:
        j->window_left -= j->window_left == 0;
        break;
    case ATT_scale_zero_is_default:
        j->scale = fabs(j->scale) > 0.0 ? j->scale : 1.0 / sqrt((double)j->d);
        break;
    case ATT_negative_scale_lost:
        j->scale = fabs(j->scale);
        break;
    case ATT_window_ignored:
        j->window_left = -1;
        break;
    case ATT_window_right_ignored:
        j->window_right = -1;
        break;
    case ATT_scale_missing:
        j->scale = 1.0;
        break;
    case ATT_cap_missing:
        j->cap = 0.0;
        break;
    case ATT_k_scale_missing:
        j->k_scale = 1.0;
        break;
    case ATT_v_scale_missing:
        j->v_scale = 1.0;
        break;
    case ATT_v_scale_twice:
        j->v_scale *= j->v_scale;
        break;
    case ATT_q_scale_missing:
        j->q_scale = 1.0;
        break;
    case ATT_head_tail_missing:
        j->d = j->d / 16 * 16;
        break;
    case ATT_page_size_16:
        j->page_size = 16;
        break;
    case ATT_nhd_as_hnd:
        j->head_major = !j->head_major;
        break;
    case ATT_fnuz_as_ocp:
        j->k.type = WF_E4M3FN;
        j->v.type = WF_E4M3FN;
        break;
    case ATT_ocp_as_fnuz:
        j->k.type = WF_E4M3FNUZ;
        j->v.type = WF_E4M3FNUZ;
        break;
    default:
        break;
    }
}

int64_t att_q_start(const struct att_job *j, int64_t sequence)
{
    if (j->fault == ATT_queries_uniform) {
        return min64(sequence * (j->total_q / j->batch), j->total_q);
    }
    return j->qo_indptr ? j->qo_indptr[sequence] : sequence * j->q_len;
}

static int64_t last_page(const struct att_job *j, int64_t sequence)
{
    const int64_t last = j->last_page_len[sequence];
    switch ((int)j->fault) {
    case ATT_page_last_full:
        return j->page_size;
    case ATT_page_last_one_less:
        return max64(last - 1, 1);
    case ATT_page_last_of_next:
        return j->last_page_len[(sequence + 1) % j->batch];
    default:
        return last;
    }
}

int64_t att_kv_len(const struct att_job *j, int64_t sequence)
{
    int64_t n = j->kv_len;
    if (j->kv_indptr) {
        n = (int64_t)j->kv_indptr[sequence + 1] - j->kv_indptr[sequence];
        if (j->paged && n > 0) {
            n = (n - 1) * j->page_size + last_page(j, sequence);
        }
    }
    switch ((int)j->fault) {
    case ATT_last_key_missing:
        return max64(n - 1, 0);
    case ATT_last_sequence_short:
        return sequence == j->batch - 1 ? max64(n - 1, 0) : n;
    case ATT_key_tail_missing:
        return n / 16 * 16;
    default:
        return n;
    }
}

int64_t att_kv_head(const struct att_job *j, int64_t head)
{
    switch ((int)j->fault) {
    case ATT_heads_modulo:
        return head % j->kv_heads;
    case ATT_heads_zero:
        return 0;
    default:
        return head / j->group;
    }
}

void att_visible(const struct att_job *j,
                 const struct att_row *r,
                 int64_t *lo,
                 int64_t *hi)
{
    const int64_t shift = r->kv_len - r->q_len;
    int64_t at = r->i + shift;
    int64_t left = at;
    if (j->fault == ATT_causal_top_left) {
        at = r->i;
    }
    if (j->fault == ATT_window_top_left) {
        left = r->i;
    }
    *lo = 0;
    *hi = r->kv_len;
    if (j->causal) {
        *hi = min64(*hi, at + 1 - (j->fault == ATT_causal_strict) +
                             (j->fault == ATT_causal_one_more));
    }
    if (j->window_right >= 0) {
        *hi = min64(*hi, at + j->window_right + 1);
    }
    if (j->window_left >= 0) {
        *lo = max64(*lo, left - j->window_left);
    }
    if (j->fault == ATT_first_key_missing && *hi - *lo > 1) {
        ++*lo;
    }
    *hi = max64(*hi, 0);
    *lo = min64(*lo, *hi);
}

double att_element(const struct att_mat *x, int64_t at)
{
    double v;
    wf_to_f64(x->type, x->data + at * (int64_t)wf_dtype_bytes(x->type), &v, 1);
    return v;
}

void att_set(const struct att_mat *x, int64_t at, double v)
{
    wf_from_f64(x->type, &v, x->data + at * (int64_t)wf_dtype_bytes(x->type), 1);
}

static int64_t page_of(const struct att_job *j, int64_t sequence, int64_t column)
{
    const int64_t at = j->kv_indptr[sequence] + column;
    switch ((int)j->fault) {
    case ATT_pages_ignored:
        return at;
    case ATT_pages_8_bits:
        return j->kv_indices[at] & 0xff;
    case ATT_pages_15_bits:
        return (int16_t)j->kv_indices[at];
    case ATT_indptr_one_on:
        return j->kv_indices[at + (sequence + 1 < j->batch)];
    default:
        return j->kv_indices[at];
    }
}

/* Row of a key in the pool, in rows of one head. */
static int64_t paged_row(const struct att_job *j,
                         const struct att_row *r,
                         int64_t sequence,
                         int64_t key)
{
    const int64_t slot = key % j->page_size;
    const int64_t page = page_of(j, sequence, key / j->page_size);
    if (j->head_major) {
        return (page * j->kv_heads + r->kv_head) * j->page_size + slot;
    }
    return (page * j->page_size + slot) * j->kv_heads + r->kv_head;
}

double att_key(const struct att_job *j,
               const struct att_row *r,
               bool value,
               int64_t key,
               int64_t e)
{
    const struct att_mat *m = value ? &j->v : &j->k;
    const bool own = value && j->fault != ATT_value_page_stride_of_k;
    const int64_t width = own ? j->dv : j->width;
    int64_t sequence = r->sequence, row;
    if (j->fault == ATT_next_sequence_keys) {
        sequence = (sequence + 1) % j->batch;
    } else if (j->fault == ATT_first_sequence_keys) {
        sequence = 0;
    }
    if (j->paged) {
        row = paged_row(j, r, sequence, key);
    } else {
        const int64_t start =
            j->kv_indptr ? j->kv_indptr[sequence] : sequence * j->kv_len;
        row = (start + key) * j->kv_heads + r->kv_head;
    }
    return att_element(m, row * width + e);
}
