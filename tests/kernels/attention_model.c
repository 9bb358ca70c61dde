/* See attention_model.h. Written for clarity: one line (row and head) at a time. */
#include "attention_model.h"

#include "core/buf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 32

struct model_line {
    struct fx *f;
    enum model_mutant m;
    int64_t b, i, h; /* sequence, row in it, query head */
    int64_t lo, hi;
    bool dequantise;
    float scale, k_scale, v_scale, cap;
    float *q, *k, *v;
};

/* State of an online softmax: partial results have the same shape. */
struct model_sum {
    float max, l;
    float *o;
};

const char *model_mutant_name(enum model_mutant m)
{
    static const char *const NAMES[] = {
#define X(name) #name,
        MODEL_MUTANT_LIST(X)
#undef X
    };

    return NAMES[m];
}

static void find_keys(struct model_line *s)
{
    const struct attention *a = s->f->a;
    int64_t q = a->q_len[s->b], kv = a->kv_len[s->b];
    int64_t p = s->m == MODEL_TOP_LEFT ? s->i : s->i + kv - q;
    int64_t left =
        a->window_left + (s->m == MODEL_WINDOW_LONG) - (s->m == MODEL_WINDOW_SHORT);
    int64_t right = a->causal ? 0 : a->window_right;

    s->lo = 0;
    s->hi = kv;
    if (s->m == MODEL_NO_CAUSAL && a->causal) {
        right = -1;
    }
    if (s->m == MODEL_NO_WINDOW) {
        left = -1;
    }
    if (right >= 0 && p + right + 1 - (s->m == MODEL_STRICT_CAUSAL) < s->hi) {
        s->hi = p + right + 1 - (s->m == MODEL_STRICT_CAUSAL);
    }
    if (left >= 0 && p - left > 0) {
        s->lo = p - left;
    }
    if (s->m == MODEL_LAST_KEY) {
        s->hi--;
    }
    if (s->m == MODEL_LAST_PAGE_FULL && a->layout == ATTENTION_PAGED && s->hi == kv) {
        s->hi = (kv + a->page_size - 1) / a->page_size * a->page_size;
    }
}

static int64_t key_row(const struct model_line *s, int64_t j)
{
    const struct attention *a = s->f->a;
    int64_t h = s->m == MODEL_HEAD_MODULO ? s->h % a->kv_heads : s->h / a->group;
    int64_t b = s->m == MODEL_OTHER_SEQUENCE ? (s->b + 1) % a->batch : s->b;
    int64_t page;

    if (a->layout != ATTENTION_PAGED) {
        return (a->kv_start[b] + j) * a->kv_heads + h;
    }
    page = a->kv_indptr[b] + j / a->page_size;
    page = s->m == MODEL_IDENTITY_PAGES ? page % a->num_pages : a->kv_indices[page];
    return a->head_major ? (page * a->kv_heads + h) * a->page_size + j % a->page_size
                         : (page * a->page_size + j % a->page_size) * a->kv_heads + h;
}

static float round_q(const struct model_line *s, float x)
{
    double v = (double)x, r;
    unsigned char raw[8];

    wf_from_f64(s->f->a->q_type, &v, raw, 1);
    wf_to_f64(s->f->a->q_type, raw, &r, 1);
    return (float)r;
}

static void load(const struct model_line *s,
                 enum attention_tensor t,
                 int64_t row,
                 int64_t d,
                 float *dst)
{
    const struct wf_tensor *x = &s->f->a->tensor[t];

    wf_to_f32(x->dtype, s->f->data[t] + (size_t)(row * d) * wf_dtype_bytes(x->dtype),
              dst, (size_t)d);
    for (int64_t i = 0; s->m == MODEL_KV_TWICE && t != ATTENTION_Q && i < d; i++) {
        dst[i] *= 2;
    }
    /* An fp8 cache is brought to Q's type with its scale, as kernels with 16-bit matrix
     * products do. */
    for (int64_t i = 0; s->dequantise && t != ATTENTION_Q && i < d; i++) {
        bool value = t == ATTENTION_V || t == ATTENTION_V_CACHE;

        dst[i] = round_q(s, dst[i] * (value ? s->v_scale : s->k_scale));
    }
}

static float score(struct model_line *s, int64_t j)
{
    const struct attention *a = s->f->a;
    enum attention_tensor t =
        a->layout == ATTENTION_PAGED ? ATTENTION_K_CACHE : ATTENTION_K;
    float sum = 0;

    load(s, t, key_row(s, j), a->head_dim, s->k);
    for (int64_t d = 0; d < a->head_dim; d++) {
        sum += s->q[d] * s->k[d];
    }
    sum *= s->scale;
    return s->cap > 0 ? s->cap * tanhf(sum / s->cap) : sum;
}

static void add_block(struct model_line *s, struct model_sum *t, int64_t lo, int64_t hi)
{
    const struct attention *a = s->f->a;
    enum attention_tensor v =
        a->layout == ATTENTION_PAGED ? ATTENTION_V_CACHE : ATTENTION_V;
    float w[BLOCK], max = t->max, shrink;

    for (int64_t j = lo; j < hi; j++) {
        w[j - lo] = score(s, j);
        max = w[j - lo] > max ? w[j - lo] : max;
    }
    shrink = expf(t->max - max);
    t->l *= shrink;
    for (int64_t d = 0; d < a->head_dim_v; d++) {
        t->o[d] *= shrink;
    }
    for (int64_t j = lo; j < hi; j++) {
        float p = expf(w[j - lo] - max);

        t->l += p;
        p = round_q(s, p);
        load(s, v, key_row(s, j), a->head_dim_v, s->v);
        for (int64_t d = 0; d < a->head_dim_v; d++) {
            t->o[d] += p * s->v[d];
        }
    }
    t->max = max;
}

/* Adds partial result `part` to `t`. */
static void merge(const struct model_line *s,
                  struct model_sum *t,
                  const struct model_sum *part)
{
    float max = t->max > part->max ? t->max : part->max;
    float mine = expf(t->max - max), theirs = expf(part->max - max);

    if (!(part->l > 0)) {
        return;
    }
    for (int64_t d = 0; d < s->f->a->head_dim_v; d++) {
        t->o[d] = t->o[d] * mine + part->o[d] * theirs;
    }
    t->l = t->l * mine + part->l * theirs;
    t->max = max;
}

static void put(const struct model_line *s, const struct model_sum *t)
{
    const struct attention *a = s->f->a;
    int64_t h =
        s->m == MODEL_SWAPPED_HEADS && a->q_heads > 1 ? (s->h ^ 1) % a->q_heads : s->h;
    int64_t shift = s->m == MODEL_SHIFTED_ROWS;
    int64_t row = (a->q_start[s->b] + s->i + shift) % a->total_q;
    int64_t at = row * a->q_heads + h;
    bool empty = s->lo >= s->hi;
    double lse = empty ? -INFINITY : (double)(t->max + logf(t->l));

    for (int64_t d = 0; d < a->head_dim_v; d++) {
        double o =
            empty ? 0 : (double)(t->o[d] * ((s->dequantise ? 1 : s->v_scale) / t->l));

        o = s->m == MODEL_EMPTY_IS_NAN && empty ? (double)NAN : o;
        o = s->m == MODEL_ZERO_ROW && row == a->total_q / 2 ? 0 : o;
        o = s->m == MODEL_LAST_COLUMN_NAN && d == a->head_dim_v - 1 ? (double)NAN : o;
        fx_set(s->f, ATTENTION_O, at * a->head_dim_v + d, o);
    }
    if (a->lse) {
        lse = s->m == MODEL_LSE_PLUS_INF && empty ? (double)INFINITY : lse;
        lse = s->m == MODEL_LSE_BASE_2 ? lse / log(2) : lse;
        lse = s->m == MODEL_LSE_NAN ? (double)NAN : lse;
        fx_set(s->f, ATTENTION_LSE, at, lse);
    }
}

static void run_line(struct model_line *s,
                     struct model_sum *total,
                     struct model_sum *part,
                     int64_t split)
{
    const struct attention *a = s->f->a;
    size_t bytes = (size_t)a->head_dim_v * sizeof(float);
    int64_t step;

    find_keys(s);
    if (s->lo >= s->hi && s->m == MODEL_EMPTY_UNWRITTEN) {
        return;
    }
    if (s->lo >= s->hi && s->m == MODEL_EMPTY_IS_MEAN) {
        s->lo = 0;
        s->hi = a->kv_len[s->b];
        s->scale = 0;
    }
    load(s, ATTENTION_Q, (a->q_start[s->b] + s->i) * a->q_heads + s->h, a->head_dim,
         s->q);
    total->max = -INFINITY;
    total->l = 0;
    memset(total->o, 0, bytes);
    step = (s->hi - s->lo + split - 1) / split;
    for (int64_t j = s->lo; j < s->hi; j += step) {
        int64_t end = j + step < s->hi ? j + step : s->hi;

        part->max = -INFINITY;
        part->l = 0;
        memset(part->o, 0, bytes);
        for (int64_t k = j; k < end; k += BLOCK) {
            add_block(s, part, k, k + BLOCK < end ? k + BLOCK : end);
        }
        merge(s, total, part);
    }
    put(s, total);
}

static void set_factors(struct model_line *s)
{
    const struct attention *a = s->f->a;
    double scale = a->scale;

    if (s->m == MODEL_NO_SCALE) {
        scale = 1;
    } else if (s->m == MODEL_DEFAULT_SCALE) {
        scale = 1 / sqrt((double)a->head_dim);
    } else if (s->m == MODEL_UNIFORM_WEIGHTS) {
        scale = 0;
    }
    s->dequantise = wf_dtype_bytes(a->kv_type) == 1 && a->kv_type != a->q_type;
    s->k_scale = s->m == MODEL_NO_K_SCALE ? 1 : (float)a->k_scale;
    scale *= a->q_scale * (s->dequantise ? 1 : (double)s->k_scale);
    s->scale = (float)scale;
    s->v_scale = s->m == MODEL_NO_V_SCALE ? 1 : (float)a->v_scale;
    s->cap = s->m == MODEL_NO_CAP ? 0 : (float)a->soft_cap;
}

void model_run(struct fx *f, enum model_mutant m, int64_t split)
{
    const struct attention *a = f->a;
    struct model_line s = { .f = f, .m = m };
    struct model_sum total = { 0 }, part = { 0 };

    s.q = wf_calloc((size_t)a->head_dim, sizeof(float));
    s.k = wf_calloc((size_t)a->head_dim, sizeof(float));
    s.v = wf_calloc((size_t)a->head_dim_v, sizeof(float));
    total.o = wf_calloc((size_t)a->head_dim_v, sizeof(float));
    part.o = wf_calloc((size_t)a->head_dim_v, sizeof(float));
    fx_poison_outputs(f);
    for (s.b = 0; s.b < a->batch; s.b++) {
        for (s.i = 0; s.i < a->q_len[s.b]; s.i++) {
            for (s.h = 0; s.h < a->q_heads; s.h++) {
                bool last = a->q_start[s.b] + s.i == a->total_q - 1;

                set_factors(&s);
                if (!(m == MODEL_LAST_ROW_UNWRITTEN && last)) {
                    run_line(&s, &total, &part, split);
                }
            }
        }
    }
    free(s.q);
    free(s.k);
    free(s.v);
    free(total.o);
    free(part.o);
}
