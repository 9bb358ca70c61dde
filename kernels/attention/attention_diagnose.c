/* Says why a wrong row is wrong, where that can be recognised: the row is computed
 * again under each of a table of common mistakes, and the mistake whose result is the
 * row that was found is named. Plain loops, a few rows at most; a fault in here could
 * change a text, never an answer. */
#include "kernels/attention/attention_ref.h"

#include "core/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer rows are not computed again: twenty times a million keys takes minutes. */
#define MAX_KEYS (INT64_C(1) << 16)

/* X(NAME, when it makes a difference, words) */
/* clang-format off */
#define MISTAKE_LIST(X) \
    X(NONE, false, "") \
    X(TOP_LEFT, a->causal || windowed(a), \
      "the mask is anchored top-left instead of bottom-right") \
    X(NO_CAUSAL, a->causal, "the causal mask is not applied") \
    X(STRICT_CAUSAL, a->causal, "the causal mask hides the query's own position") \
    X(NO_WINDOW, windowed(a), "the window is not applied") \
    X(WINDOW_LONG, a->window_left >= 0, \
      "the window has one key too many (W means W + 1 keys)") \
    X(WINDOW_SHORT, a->window_left > 0, \
      "the window has one key too few (W means W + 1 keys)") \
    X(LAST_KEY, true, "the last key is missing") \
    X(NO_SCALE, true, "the softmax scale is not applied (1 used)") \
    X(DEFAULT_SCALE, true, "1/sqrt(head_dim) is used instead of the case's scale") \
    X(NO_Q_SCALE, true, "q_scale is not applied") \
    X(NO_K_SCALE, true, "k_scale is not applied") \
    X(NO_V_SCALE, true, "v_scale is not applied") \
    X(NO_CAP, a->soft_cap > 0, "the soft cap is not applied") \
    X(KV_TWICE, true, "K and V are doubled: fnuz codes read as OCP fp8?") \
    X(KV_HALF, true, "K and V are halved: OCP codes read as fnuz fp8?") \
    X(HEAD_MODULO, a->group > 1 && a->kv_heads > 1, \
      "the kv head is h % kv_heads instead of h / group") \
    X(HEAD_ZERO, a->kv_heads > 1, "kv head 0 is used for every query head") \
    X(IDENTITY_PAGES, a->layout == ATTENTION_PAGED, \
      "page ids are ignored: pages are taken in table order") \
    X(OTHER_SEQUENCE, a->batch > 1, "keys and values of the next sequence are used") \
    X(UNIFORM, true, "O is the plain mean of V: all weights are equal")
/* clang-format on */

enum mistake {
#define X(name, applies, words) MISTAKE_##name,
    MISTAKE_LIST(X)
#undef X
    MISTAKE_COUNT
};

static const char *words(enum mistake m)
{
    static const char *const WORDS[] = {
#define X(name, applies, text) text,
        MISTAKE_LIST(X)
#undef X
    };

    return WORDS[m];
}

static bool windowed(const struct attention *a)
{
    return a->window_left >= 0 || a->window_right >= 0;
}

static bool applies(const struct attention *a, enum mistake m)
{
    const bool table[] = {
#define X(name, when, words) (when),
        MISTAKE_LIST(X)
#undef X
    };

    return table[m];
}

/* How one line is computed; a mistake alters it. */
struct rule {
    struct attention a; /* a copy with altered options; its arrays are borrowed */
    int64_t sequence, row, head, kv_head;
    double scale, v_scale, kv_factor;
    enum attention_pages pages;
    struct attention_span span;
};

static void set_rule(struct rule *r, const struct attention *a, enum mistake m)
{
    int64_t q = a->q_len[r->sequence], kv = a->kv_len[r->sequence];

    r->a = *a;
    r->a.causal = a->causal && m != MISTAKE_NO_CAUSAL;
    if (m == MISTAKE_NO_WINDOW) {
        r->a.window_left = r->a.window_right = -1;
    }
    r->a.window_left += m == MISTAKE_WINDOW_LONG;
    r->a.window_left -= m == MISTAKE_WINDOW_SHORT;
    if (m == MISTAKE_NO_CAP) {
        r->a.soft_cap = 0;
    }
    r->scale = m == MISTAKE_NO_SCALE        ? 1
               : m == MISTAKE_DEFAULT_SCALE ? 1 / sqrt((double)a->head_dim)
                                            : a->scale;
    r->scale *= m == MISTAKE_NO_Q_SCALE ? 1 : a->q_scale;
    r->scale *= m == MISTAKE_NO_K_SCALE ? 1 : a->k_scale;
    r->scale *= m == MISTAKE_UNIFORM ? 0 : 1;
    r->v_scale = m == MISTAKE_NO_V_SCALE ? 1 : a->v_scale;
    r->kv_factor = m == MISTAKE_KV_TWICE ? 2 : m == MISTAKE_KV_HALF ? 0.5 : 1;
    r->kv_head = r->head / a->group;
    if (m == MISTAKE_HEAD_MODULO || m == MISTAKE_HEAD_ZERO) {
        r->kv_head = m == MISTAKE_HEAD_ZERO ? 0 : r->head % a->kv_heads;
    }
    r->pages =
        m == MISTAKE_IDENTITY_PAGES ? ATTENTION_PAGES_IDENTITY : ATTENTION_PAGES_TABLE;
    r->span = attention_visible(&r->a, q, kv, r->row);
    if (m == MISTAKE_TOP_LEFT) { /* as if the last query stood at key q - 1 */
        r->span = attention_visible(&r->a, q, q, r->row);
        r->span.hi = r->span.hi < kv ? r->span.hi : kv;
    }
    r->span.hi -= m == MISTAKE_LAST_KEY || m == MISTAKE_STRICT_CAUSAL;
    if (m == MISTAKE_OTHER_SEQUENCE) {
        r->sequence = (r->sequence + 1) % a->batch;
        r->span = attention_visible(&r->a, q, a->kv_len[r->sequence], r->row);
    }
}

struct line {
    struct attention_gather gather;
    double *q, *k, *v, *o; /* one row each */
};

static double score(const struct rule *r, const struct line *l)
{
    double s = 0;

    for (int64_t d = 0; d < r->a.head_dim; d++) {
        s += l->q[d] * l->k[d];
    }
    s *= r->scale * r->kv_factor;
    return r->a.soft_cap > 0 ? r->a.soft_cap * tanh(s / r->a.soft_cap) : s;
}

static enum wf_status compute(struct line *l,
                              const struct rule *r,
                              struct wf_error *err)
{
    struct attention_keys keys = { false, r->pages, r->sequence, r->kv_head, 0, 1 };
    double max = -INFINITY, sum = 0;
    int64_t dv = r->a.head_dim_v;

    memset(l->o, 0, (size_t)dv * sizeof(double));
    for (int64_t j = r->span.lo; j < r->span.hi; j++) {
        enum wf_status st;
        double s, w, old;

        keys.first = j;
        keys.values = false;
        st = attention_gather_kv(&l->gather, &keys, l->k, err);
        keys.values = true;
        if (st == WF_OK) {
            st = attention_gather_kv(&l->gather, &keys, l->v, err);
        }
        if (st != WF_OK) {
            return st;
        }
        s = score(r, l);
        old = s > max ? exp(max - s) : 1;
        max = s > max ? s : max;
        w = exp(s - max);
        sum = sum * old + w;
        for (int64_t d = 0; d < dv; d++) {
            l->o[d] = l->o[d] * old + w * l->v[d];
        }
    }
    for (int64_t d = 0; d < dv && sum > 0; d++) {
        l->o[d] *= r->v_scale * r->kv_factor / sum;
    }
    return WF_OK;
}

/* A mistake matches when every element is as near to it as an honest kernel would be to
 * the reference. The row's own tolerance stands in for that of the other values, with a
 * margin for their size. */
static bool same_row(const double *got,
                     const double *want,
                     const float *tolerance,
                     int64_t n)
{
    double most = 0;

    for (int64_t d = 0; d < n; d++) {
        most = fmax(most, (double)tolerance[d]);
    }
    for (int64_t d = 0; d < n; d++) {
        if (!(fabs(got[d] - want[d]) <= 1.2 * most + 0x1p-8 * fabs(want[d]))) {
            return false;
        }
    }
    return true;
}

static int64_t line_of(const struct attention_reference *ref, int64_t row, int64_t head)
{
    const struct attention *a = ref->a;
    int64_t slot = ref->plan.slot_of[row * a->kv_heads + head / a->group];

    return slot < 0 ? -1 : slot * a->group + head % a->group;
}

static enum wf_status try_mistakes(struct attention_reference *ref,
                                   const struct attention_suspect *s,
                                   struct line *l,
                                   struct rule *r,
                                   enum mistake *ret,
                                   struct wf_error *err)
{
    const struct attention *a = ref->a;
    int64_t line = line_of(ref, s->row, s->head), sequence = r->sequence;
    enum wf_status st =
        attention_gather_q(&l->gather, sequence, r->row, r->head, l->q, err);

    *ret = MISTAKE_NONE;
    for (int m = MISTAKE_NONE + 1; st == WF_OK && m < MISTAKE_COUNT; m++) {
        if (!applies(a, (enum mistake)m)) {
            continue;
        }
        r->sequence = sequence;
        set_rule(r, a, (enum mistake)m);
        st = compute(l, r, err);
        if (st == WF_OK &&
            same_row(s->got, l->o, ref->o_tolerance + line * a->head_dim_v,
                     a->head_dim_v)) {
            *ret = (enum mistake)m;
            break;
        }
    }
    return st;
}

/* Whether the answer of (row, head) is what was found; says so. */
static bool is_answer_of(const struct attention_reference *ref,
                         const struct attention_suspect *s,
                         const int64_t place[2],
                         char *text,
                         size_t n)
{
    int64_t dv = ref->a->head_dim_v, line = line_of(ref, place[0], place[1]);

    if (line < 0 || line == line_of(ref, s->row, s->head) ||
        !same_row(s->got, ref->o + line * dv, ref->o_tolerance + line * dv, dv)) {
        return false;
    }
    (void)snprintf(
        text, n,
        "row %lld, head %lld holds the answer of row %lld, head %lld: heads or "
        "rows are swapped or shifted",
        (long long)s->row, (long long)s->head, (long long)place[0],
        (long long)place[1]);
    return true;
}

/* Looks for the row that was found among the right answers of other places: near ones
 * first; far ones only when a row is long enough not to match by chance. */
static bool other_place(const struct attention_reference *ref,
                        const struct attention_suspect *s,
                        char *text,
                        size_t n)
{
    const struct attention *a = ref->a;
    int64_t reach[2] = { 1, a->head_dim_v >= 8 ? a->total_q : 1 };

    for (int pass = 0; pass < 2; pass++) {
        int64_t first = s->row > reach[pass] ? s->row - reach[pass] : 0;
        int64_t last = s->row + reach[pass];

        for (int64_t row = first; row <= last && row < a->total_q; row++) {
            for (int64_t h = 0; h < a->q_heads; h++) {
                if (is_answer_of(ref, s, (int64_t[2]){ row, h }, text, n)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* got / want when it is one number over the row. */
static double common_ratio(const double *got, const double *want, int64_t n)
{
    double top = 0, bottom = 0, left = 0, size = 0;

    for (int64_t d = 0; d < n; d++) {
        top += got[d] * want[d];
        bottom += want[d] * want[d];
    }
    for (int64_t d = 0; d < n && bottom > 0; d++) {
        left += pow(got[d] - top / bottom * want[d], 2);
        size += got[d] * got[d];
    }
    return bottom > 0 && left <= 1e-4 * size ? top / bottom : 0;
}

static void explain_lse(const struct attention_reference *ref,
                        const struct attention_suspect *s,
                        char *text,
                        size_t n)
{
    int64_t line = line_of(ref, s->row, s->head);
    double want = line >= 0 ? ref->lse[line] : NAN;
    double near = 0x1p-8 * (1 + fabs(want));

    if (isinf(s->got_lse) && s->got_lse > 0) {
        (void)snprintf(
            text, n,
            "lse is +inf; the log of an empty sum is -inf (merges with it turn "
            "into NaN)");
    } else if (fabs(s->got_lse - want / log(2)) <= near) {
        (void)snprintf(text, n, "lse is in base 2; the contract is the natural log");
    } else if (fabs(exp(s->got_lse) - exp(want)) > 0 &&
               fabs(s->got_lse - want) < log((double)ref->a->head_dim) + near &&
               fabs(s->got_lse + log((double)ref->a->group) - want) <= near) {
        (void)snprintf(text, n, "lse is low by log(group)");
    }
}

static void explain_empty(const struct attention_suspect *s, char *text, size_t n)
{
    if (s->nonfinite) {
        (void)snprintf(
            text, n,
            "row %lld sees no key: the sum is 0 and O must be 0, not 0/0 (or the "
            "row was skipped and never written)",
            (long long)s->row);
    } else {
        (void)snprintf(
            text, n,
            "row %lld sees no key and must be 0; a finite mask value makes such "
            "a row the mean of V",
            (long long)s->row);
    }
}

static enum wf_status explain_row(struct attention_reference *ref,
                                  const struct attention_suspect *s,
                                  struct line *l,
                                  struct rule *r,
                                  char *text,
                                  size_t n,
                                  struct wf_error *err)
{
    const struct attention *a = ref->a;
    int64_t line = line_of(ref, s->row, s->head), dv = a->head_dim_v;
    enum mistake m = MISTAKE_NONE;
    double ratio = common_ratio(s->got, ref->o + line * dv, dv), size = 0;
    enum wf_status st = WF_OK;

    for (int64_t d = 0; d < dv; d++) {
        size += fabs(s->got[d]);
    }
    if (!(size > 0)) {
        (void)snprintf(text, n, "row %lld, head %lld is all zero", (long long)s->row,
                       (long long)s->head);
        return WF_OK;
    }
    if (r->span.hi - r->span.lo <= MAX_KEYS) {
        st = try_mistakes(ref, s, l, r, &m, err);
    }
    if (st != WF_OK || m != MISTAKE_NONE) {
        (void)snprintf(text, n, "%s", words(m));
    } else if (!other_place(ref, s, text, n) && fabs(ratio) > 0) {
        (void)snprintf(text, n, "row %lld, head %lld is %.6g times the reference%s",
                       (long long)s->row, (long long)s->head, ratio,
                       fabs(ratio - 2) < 0.01 || fabs(ratio - 0.5) < 0.01
                           ? ": fp8 fnuz and OCP codes mixed up?"
                           : "");
    }
    return st;
}

static enum wf_status line_init(struct line *l,
                                struct attention_reference *ref,
                                struct wf_error *err)
{
    const struct attention *a = ref->a;
    enum wf_status st = attention_gather_init(&l->gather, a, &ref->source, err);

    l->q = wf_calloc((size_t)a->head_dim, sizeof(double));
    l->k = wf_calloc((size_t)a->head_dim, sizeof(double));
    l->v = wf_calloc((size_t)a->head_dim_v, sizeof(double));
    l->o = wf_calloc((size_t)a->head_dim_v, sizeof(double));
    if (st == WF_OK && (!l->q || !l->k || !l->v || !l->o)) {
        st = wf_errorf(err, WF_ENOMEM, "out of memory for a diagnosis");
    }
    return st;
}

static void line_fini(struct line *l)
{
    attention_gather_fini(&l->gather);
    free(l->q);
    free(l->k);
    free(l->v);
    free(l->o);
}

enum wf_status attention_diagnose(struct attention_reference *ref,
                                  const struct attention_suspect *suspect,
                                  char *text,
                                  size_t text_bytes,
                                  struct wf_error *err)
{
    const struct attention_suspect *s = suspect;
    const struct attention *a = ref->a;
    size_t n = text_bytes;
    struct rule r = { .head = s->head };
    struct line l = { .q = NULL };
    enum wf_status st = WF_OK;

    text[0] = '\0';
    while (s->row >= a->q_start[r.sequence + 1]) {
        r.sequence++;
    }
    r.row = s->row - a->q_start[r.sequence];
    r.span = attention_visible(a, a->q_len[r.sequence], a->kv_len[r.sequence], r.row);
    if (s->lse_only) {
        explain_lse(ref, s, text, n);
    } else if (r.span.lo >= r.span.hi) {
        explain_empty(s, text, n);
    } else if (s->nonfinite) {
        (void)snprintf(
            text, n,
            "NaN, infinity or an unwritten element in a row that sees keys %lld "
            "to %lld of sequence %lld; slots that hold no key are poison, so a "
            "read past the end shows up as NaN",
            (long long)r.span.lo, (long long)(r.span.hi - 1), (long long)r.sequence);
    } else {
        st = line_init(&l, ref, err);
        if (st == WF_OK) {
            st = explain_row(ref, s, &l, &r, text, n, err);
        }
        line_fini(&l);
    }
    return st;
}
