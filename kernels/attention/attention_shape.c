/* Totals, tensors and counts of an attention problem, in checked 64-bit arithmetic: a
 * pool of more than 2^31 elements is ordinary, an element count above 2^60 is refused.
 */
#include "kernels/attention/attention.h"

#include "core/parse.h"

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

static void name_tensors(struct attention *a)
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

static enum wf_status shape_keys(struct attention *a, struct wf_error *err)
{
    struct wf_tensor *k = &a->tensor[ATTENTION_K], *v = &a->tensor[ATTENTION_V];
    int64_t dim[4] = { a->batch, a->uniform_kv_len, a->kv_heads, a->head_dim };
    int first = 0;
    enum wf_status st;

    if (a->layout == ATTENTION_PAGED) {
        k = &a->tensor[ATTENTION_K_CACHE];
        v = &a->tensor[ATTENTION_V_CACHE];
        dim[0] = a->num_pages;
        dim[1] = a->head_major ? a->kv_heads : a->page_size;
        dim[2] = a->head_major ? a->page_size : a->kv_heads;
    } else if (a->layout == ATTENTION_RAGGED) {
        dim[1] = a->total_kv;
        first = 1;
    }
    st = set_tensor(k, 4 - first, dim + first, err);
    if (st == WF_OK) {
        dim[3] = a->head_dim_v;
        st = set_tensor(v, 4 - first, dim + first, err);
    }
    return st;
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
    int64_t o[3], q[3];
    enum wf_status st = sum_lengths(a, err);

    if (st != WF_OK) {
        return st;
    }
    o[0] = q[0] = a->total_q;
    o[1] = q[1] = a->q_heads;
    o[2] = a->head_dim_v;
    q[2] = a->head_dim;
    name_tensors(a);
    st = set_tensor(&a->tensor[ATTENTION_Q], 3, q, err);
    if (st == WF_OK) {
        st = set_tensor(&a->tensor[ATTENTION_O], 3, o, err);
    }
    if (st == WF_OK && a->lse) {
        st = set_tensor(&a->tensor[ATTENTION_LSE], 2, o, err);
    }
    if (st == WF_OK) {
        st = shape_keys(a, err);
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

double attention_bytes(const void *state)
{
    const struct attention *a = state;
    double slots = a->visible_slots, n = 0;

    for (size_t i = 0; i < ATTENTION_TENSOR_COUNT; i++) {
        if (i < ATTENTION_K || i > ATTENTION_V_CACHE) {
            n += (double)a->tensor[i].bytes;
        }
    }
    if (a->layout == ATTENTION_PAGED) { /* a shared page has to come in only once */
        slots = fmin(slots, (double)a->unique_slots);
    }
    return n + slots * (double)a->kv_heads * (double)(a->head_dim + a->head_dim_v) *
                   (double)wf_dtype_bytes(a->kv_type);
}
