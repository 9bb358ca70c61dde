/* Totals, tensors and counts of an attention problem, in checked 64-bit arithmetic: a
 * pool of more than 2^31 elements is ordinary, an element count above 2^60 is refused.
 */
#include "kernels/attention/attention.h"

#include "core/parse.h"
#include "kernels/strided.h"

#include <math.h>
#include <string.h>

#define MAX_ELEMENTS (INT64_C(1) << 60)

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct attention_span attention_visible(const struct attention *a,
                                        int64_t q_len,
                                        int64_t kv_len,
                                        int64_t i)
{
    int64_t p = i + kv_len - q_len;
    struct attention_span s = { 0, kv_len };

    if (a->causal) {
        s.hi = min_i64(s.hi, p + 1);
    }
    if (a->window_right >= 0) {
        s.hi = min_i64(s.hi, p + a->window_right + 1);
    }
    if (a->window_left >= 0) {
        s.lo = max_i64(s.lo, p - a->window_left);
    }
    s.hi = max_i64(s.hi, 0);
    s.lo = min_i64(s.lo, s.hi);
    return s;
}

static enum wf_status set_tensor(struct wf_tensor *t,
                                 int ndim,
                                 const int64_t *dim,
                                 struct wf_error *err)
{
    int64_t n = 1;

    t->ndim = ndim;
    for (int d = ndim - 1; d >= 0; d--) {
        t->dim[d] = dim[d];
        t->stride[d] = n;
        if (!wf_mul_i64(n, dim[d], &n) || n > MAX_ELEMENTS) {
            return wf_errorf(err, WF_EINVAL, "tensor %s has more than 2^60 elements",
                             t->name);
        }
    }
    t->elements = (uint64_t)n;
    t->bytes = t->elements * wf_dtype_bytes(t->dtype);
    return WF_OK;
}

void attention_name_tensors(struct attention *a)
{
    static const char *const NAMES[] = {
#define X(name, text) text,
        ATTENTION_TENSOR_LIST(X)
#undef X
    };

    for (size_t i = 0; i < ATTENTION_TENSOR_COUNT; i++) {
        a->tensor[i].name = NAMES[i];
        a->tensor[i].role = WF_ROLE_INPUT;
        a->tensor[i].dtype = a->kv_type;
        a->tensor[i].optional = i != ATTENTION_Q && i != ATTENTION_O;
    }
    for (size_t i = ATTENTION_QO_INDPTR; i <= ATTENTION_KV_LAST_PAGE_LEN; i++) {
        a->tensor[i].role = WF_ROLE_INDEX;
        a->tensor[i].dtype = WF_I32;
    }
    a->tensor[ATTENTION_Q].dtype = a->q_type;
    a->tensor[ATTENTION_O].dtype = a->o_type;
    a->tensor[ATTENTION_O].role = WF_ROLE_OUTPUT;
    a->tensor[ATTENTION_LSE].dtype = WF_F32;
    a->tensor[ATTENTION_LSE].role = WF_ROLE_OUTPUT;
}

/* Strides and base of a tensor that the case may lay out. */
static enum wf_status lay_out(struct attention *a,
                              enum attention_place_name i,
                              int ndim,
                              const int64_t *dim,
                              const int64_t *stride,
                              struct wf_error *err)
{
    struct wf_tensor *t = &a->tensor[attention_placed(a, i)];
    int64_t elements = 0;
    enum wf_status st;

    t->ndim = ndim;
    memcpy(t->dim, dim, (size_t)ndim * sizeof(*dim));
    memcpy(t->stride, stride, (size_t)ndim * sizeof(*stride));
    st = wf_strided_span(t, &elements, err);
    if (st != WF_OK) {
        return st;
    }
    t->elements = (uint64_t)elements;
    t->bytes = t->elements * wf_dtype_bytes(t->dtype);
    t->base_bytes = (uint64_t)a->place[i].offset * wf_dtype_bytes(t->dtype);
    return WF_OK;
}

static enum wf_status shape_rows(struct attention *a,
                                 enum attention_place_name i,
                                 int64_t d,
                                 struct wf_error *err)
{
    const struct attention_place *p = &a->place[i];
    const int64_t dim[3] = { a->total_q, a->q_heads, d };
    const int64_t stride[3] = { p->token, p->head, 1 };

    return lay_out(a, i, d > 0 ? 3 : 2, dim, stride, err);
}

/* K or V: pages (or sequences), tokens, heads, elements; HND has heads before tokens.
 */
static enum wf_status shape_keys(struct attention *a,
                                 enum attention_place_name i,
                                 int64_t d,
                                 struct wf_error *err)
{
    const struct attention_place *p = &a->place[i];
    int64_t dim[4] = { a->batch, a->uniform_kv_len, a->kv_heads, d };
    int64_t stride[4] = { 0, p->token, p->head, 1 };

    if (a->layout == ATTENTION_PAGED) {
        dim[0] = a->num_pages;
        stride[0] = p->page;
        dim[1] = a->head_major ? a->kv_heads : a->page_size;
        dim[2] = a->head_major ? a->page_size : a->kv_heads;
        stride[1] = a->head_major ? p->head : p->token;
        stride[2] = a->head_major ? p->token : p->head;
        return lay_out(a, i, 4, dim, stride, err);
    }
    if (a->layout == ATTENTION_RAGGED) {
        dim[1] = a->total_kv;
        return lay_out(a, i, 3, dim + 1, stride + 1, err);
    }
    if (!wf_mul_i64(dim[1] > 0 ? dim[1] : 1, p->token, &stride[0])) {
        stride[0] = MAX_ELEMENTS;
    }
    return lay_out(a, i, 4, dim, stride, err);
}

static enum wf_status shape_indices(struct attention *a, struct wf_error *err)
{
    int64_t ends = a->batch + 1;
    enum wf_status st = WF_OK;

    if (a->layout == ATTENTION_DENSE) {
        return WF_OK;
    }
    st = set_tensor(&a->tensor[ATTENTION_QO_INDPTR], 1, &ends, err);
    if (st == WF_OK) {
        st = set_tensor(&a->tensor[ATTENTION_KV_INDPTR], 1, &ends, err);
    }
    if (st == WF_OK && a->layout == ATTENTION_PAGED) {
        st = set_tensor(&a->tensor[ATTENTION_KV_INDICES], 1, &a->index_count, err);
    }
    if (st == WF_OK && a->layout == ATTENTION_PAGED) {
        st = set_tensor(&a->tensor[ATTENTION_KV_LAST_PAGE_LEN], 1, &a->batch, err);
    }
    return st;
}

static enum wf_status sum_lengths(struct attention *a, struct wf_error *err)
{
    for (int64_t b = 0; b < a->batch; b++) {
        if (!wf_add_i64(a->total_q, a->q_len[b], &a->total_q) ||
            !wf_add_i64(a->total_kv, a->kv_len[b], &a->total_kv) ||
            a->total_q > MAX_ELEMENTS || a->total_kv > MAX_ELEMENTS) {
            return wf_errorf(err, WF_EINVAL, "the sequences hold more than 2^60 rows");
        }
        a->q_start[b + 1] = a->total_q;
        a->kv_start[b + 1] = a->total_kv;
        a->max_q_len = max_i64(a->max_q_len, a->q_len[b]);
        a->max_kv_len = max_i64(a->max_kv_len, a->kv_len[b]);
    }
    return WF_OK;
}

/* Sum over i in [0, n) of min(max(c + i, 0), top): pairs below a diagonal edge. */
static double diagonal_sum(double c, double n, double top)
{
    double first = fmax(0, -c);                  /* rows before it give 0 */
    double full = fmax(first, fmin(n, top - c)); /* rows from it on give top */
    double ramp = fmin(full, n) - first;

    if (first >= n) {
        return 0;
    }
    return ramp * (c + first) + ramp * (ramp - 1) / 2 + (n - first - ramp) * top;
}

/* Pairs (i, j) with j < upper edge, less those below the lower edge, in closed form. */
static void count_pairs(struct attention *a)
{
    for (int64_t b = 0; b < a->batch; b++) {
        double q = (double)a->q_len[b], kv = (double)a->kv_len[b];
        double above = q * kv, below = 0;
        struct attention_span first, last;

        if (a->q_len[b] == 0) {
            continue;
        }
        if (a->causal || a->window_right >= 0) {
            double right = a->causal ? 0 : (double)a->window_right;

            above = diagonal_sum(kv - q + right + 1, q, kv);
        }
        if (a->window_left >= 0) {
            below = diagonal_sum(kv - q - (double)a->window_left, q, kv);
        }
        a->pairs += above - below;
        first = attention_visible(a, a->q_len[b], a->kv_len[b], 0);
        last = attention_visible(a, a->q_len[b], a->kv_len[b], a->q_len[b] - 1);
        a->visible_slots += (double)(last.hi - min_i64(first.lo, last.hi));
    }
}

enum wf_status attention_make_shapes(struct attention *a, struct wf_error *err)
{
    enum wf_status st = sum_lengths(a, err);

    if (st != WF_OK) {
        return st;
    }
    st = shape_rows(a, ATTENTION_PLACE_Q, a->head_dim, err);
    if (st == WF_OK) {
        st = shape_rows(a, ATTENTION_PLACE_O, a->head_dim_v, err);
    }
    if (st == WF_OK && a->lse) {
        st = shape_rows(a, ATTENTION_PLACE_LSE, 0, err);
    }
    if (st == WF_OK) {
        st = shape_keys(a, ATTENTION_PLACE_K, a->head_dim, err);
    }
    if (st == WF_OK) {
        st = shape_keys(a, ATTENTION_PLACE_V, a->head_dim_v, err);
    }
    if (st == WF_OK) {
        st = attention_check_places(a, err);
    }
    if (st == WF_OK) {
        st = shape_indices(a, err);
    }
    count_pairs(a);
    return st;
}

double attention_flops(const void *state)
{
    const struct attention *a = state;

    return 2.0 * (double)a->q_heads * (double)(a->head_dim + a->head_dim_v) * a->pairs;
}

/* Without gaps between rows. */
static double used_bytes(const struct wf_tensor *t)
{
    double n = t->bytes > 0 ? (double)wf_dtype_bytes(t->dtype) : 0;

    for (int d = 0; d < t->ndim; d++) {
        n *= (double)t->dim[d];
    }
    return n;
}

double attention_bytes(const void *state)
{
    const struct attention *a = state;
    double slots = a->visible_slots, n = 0;

    for (size_t i = 0; i < ATTENTION_TENSOR_COUNT; i++) {
        if (i < ATTENTION_K || i > ATTENTION_V_CACHE) {
            n += used_bytes(&a->tensor[i]);
        }
    }
    if (a->layout == ATTENTION_PAGED) { /* a shared page has to come in only once */
        slots = fmin(slots, (double)a->unique_slots);
    }
    return n + slots * (double)a->kv_heads * (double)(a->head_dim + a->head_dim_v) *
                   (double)wf_dtype_bytes(a->kv_type);
}
