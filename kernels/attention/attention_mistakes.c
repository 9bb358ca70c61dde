/* Diagnosis by value: the line that was found is compared with what each of a table of
 * common mistakes would have made of it. Plain loops over one line. */
#include "kernels/attention/attention_diagnose.h"

#include "core/buf.h"
#include "core/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer rows are not computed again: tens of times a million keys take minutes. */
#define MAX_KEYS (INT64_C(1) << 16)
#define LN2      0.6931471805599453

/* In the order in which they are tried. X(NAME, when it makes a difference, words) */
/* clang-format off */
#define MISTAKE_LIST(X) \
    X(NONE, false, "") \
    X(TOP_LEFT, a->causal || windowed(a), \
      "the mask is anchored top-left instead of bottom-right") \
    X(NO_CAUSAL, a->causal, "the causal mask is not applied") \
    X(STRICT_CAUSAL, a->causal, \
      "the causal mask is off by one: it hides the query's own position") \
    X(LONG_CAUSAL, a->causal, \
      "the causal mask is off by one: it shows the key behind the query's position") \
    X(NO_WINDOW, windowed(a), "the window is not applied") \
    X(WINDOW_LONG, a->window_left >= 0, \
      "the window has one key too many (W means W + 1 keys)") \
    X(WINDOW_SHORT, a->window_left > 0, \
      "the window has one key too few (W means W + 1 keys)") \
    X(RIGHT_LONG, a->window_right >= 0, "the window has one key too many on the right") \
    X(RIGHT_SHORT, a->window_right > 0, "the window has one key too few on the right") \
    X(LAST_KEY, true, "the last key is missing") \
    X(FIRST_KEY, true, "the first key is missing") \
    X(TAIL_16, true, "the tail of the keys beyond a multiple of 16 is missing") \
    X(TAIL_32, true, "the tail of the keys beyond a multiple of 32 is missing") \
    X(TAIL_64, true, "the tail of the keys beyond a multiple of 64 is missing") \
    X(TAIL_128, true, "the tail of the keys beyond a multiple of 128 is missing") \
    X(TAIL_256, true, "the tail of the keys beyond a multiple of 256 is missing") \
    X(LAST_PAGE, a->layout == ATTENTION_PAGED, "the last page is missing") \
    X(FIRST_16, true, "only the first 16 keys are used") \
    X(FIRST_32, true, "only the first 32 keys are used") \
    X(FIRST_64, true, "only the first 64 keys are used") \
    X(FIRST_128, true, "only the first 128 keys are used") \
    X(FIRST_256, true, "only the first 256 keys are used") \
    X(NO_SCALE, true, "the softmax scale is not applied (1 used)") \
    X(DEFAULT_SCALE, true, "1/sqrt(head_dim) is used instead of the case's scale") \
    X(SCALE_TWICE, true, "the softmax scale is applied twice") \
    X(EXP2, true, "exp2 is used without the factor log2(e)") \
    X(EXP2_TWICE, true, "the factor log2(e) is applied although exp is used") \
    X(NO_Q_SCALE, true, "q_scale is not applied") \
    X(NO_K_SCALE, true, "k_scale is not applied") \
    X(NO_V_SCALE, true, "v_scale is not applied") \
    X(NO_CAP, a->soft_cap > 0, "the soft cap is not applied") \
    X(KV_TWICE, wf_dtype_is_fp8(a->kv_type), "K and V are doubled: fnuz codes read as OCP fp8") \
    X(KV_HALF, wf_dtype_is_fp8(a->kv_type), "K and V are halved: OCP codes read as fnuz fp8") \
    X(V_TWICE, wf_dtype_is_fp8(a->kv_type), "V is doubled: fnuz codes read as OCP fp8") \
    X(V_HALF, wf_dtype_is_fp8(a->kv_type), "V is halved: OCP codes read as fnuz fp8") \
    X(K_TWICE, wf_dtype_is_fp8(a->kv_type), \
      wf_dtype_is_fp8(a->q_type) ? "Q.K is 2 times the right one: fnuz codes of Q or K read as OCP fp8" \
                        : "K is doubled: fnuz codes read as OCP fp8") \
    X(K_HALF, wf_dtype_is_fp8(a->kv_type), \
      wf_dtype_is_fp8(a->q_type) ? "Q.K is 1/2 of the right one: OCP codes of Q or K read as fnuz fp8" \
                        : "K is halved: OCP codes read as fnuz fp8") \
    X(QK_4, wf_dtype_is_fp8(a->q_type) && wf_dtype_is_fp8(a->kv_type), \
      "Q.K is 4 times the right one: fnuz codes of both read as OCP fp8") \
    X(QK_QUARTER, wf_dtype_is_fp8(a->q_type) && wf_dtype_is_fp8(a->kv_type), \
      "Q.K is 1/4 of the right one: OCP codes of both read as fnuz fp8") \
    X(HEAD_MODULO, a->group > 1 && a->kv_heads > 1, \
      "the kv head is h % kv_heads instead of h / group") \
    X(HEAD_NEXT, a->kv_heads > 1, "the kv head is one too high") \
    X(HEAD_ZERO, a->kv_heads > 1, "kv head 0 is used for every query head") \
    X(IDENTITY_PAGES, a->layout == ATTENTION_PAGED, \
      "page ids are ignored: pages are taken in table order") \
    X(OTHER_MAJOR, a->layout == ATTENTION_PAGED && a->kv_heads > 1 && a->page_size > 1, \
      "the pages are read in the other layout (NHD, HND): heads and slots are transposed") \
    X(SEQUENCE_ZERO, a->batch > 1, "keys and values of sequence 0 are used for all: the " \
      "batch stride is ignored") \
    X(K_FOR_V, a->head_dim == a->head_dim_v, "K is used in the place of V") \
    X(NOT_DIVIDED, true, "O is not divided by the sum of the weights") \
    X(OTHER_SEQUENCE, a->batch > 1, "keys and values of the next sequence are used") \
    X(UNIFORM, true, "O is the plain mean of V: all weights are equal")
/* clang-format on */

enum mistake {
#define X(name, applies, words) MISTAKE_##name,
    MISTAKE_LIST(X)
#undef X
    MISTAKE_COUNT
};

static bool windowed(const struct attention *a)
{
    return a->window_left >= 0 || a->window_right >= 0;
}

static const char *words(const struct attention *a, enum mistake m)
{
    const char *const table[] = {
#define X(name, applies, text) text,
        MISTAKE_LIST(X)
#undef X
    };

    return table[m];
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
    double scale, v_scale;
    bool keys_for_values, undivided;
    enum attention_pages pages;
    struct attention_span span;
};

/* --- masks and missing keys --- */

static void set_options(struct rule *r, enum mistake m)
{
    struct attention *a = &r->a;

    a->causal = a->causal && m != MISTAKE_NO_CAUSAL;
    if (m == MISTAKE_NO_WINDOW) {
        a->window_left = a->window_right = -1;
    }
    a->window_left += m == MISTAKE_WINDOW_LONG;
    a->window_left -= m == MISTAKE_WINDOW_SHORT;
    a->window_right += m == MISTAKE_RIGHT_LONG;
    a->window_right -= m == MISTAKE_RIGHT_SHORT;
    if (m == MISTAKE_NO_CAP) {
        a->soft_cap = 0;
    }
}

/* Keys that a tile size of a mistake leaves, of kv; kv for other mistakes. */
static int64_t keys_left(const struct attention *a, enum mistake m, int64_t kv)
{
    static const struct {
        enum mistake tail, first;
        int64_t size;
    } TILES[] = { { MISTAKE_TAIL_16, MISTAKE_FIRST_16, 16 },
                  { MISTAKE_TAIL_32, MISTAKE_FIRST_32, 32 },
                  { MISTAKE_TAIL_64, MISTAKE_FIRST_64, 64 },
                  { MISTAKE_TAIL_128, MISTAKE_FIRST_128, 128 },
                  { MISTAKE_TAIL_256, MISTAKE_FIRST_256, 256 } };

    for (size_t i = 0; i < sizeof(TILES) / sizeof(TILES[0]); i++) {
        if (m == TILES[i].tail) {
            return kv - kv % TILES[i].size;
        }
        if (m == TILES[i].first) {
            return TILES[i].size;
        }
    }
    if (m == MISTAKE_LAST_PAGE && kv > 0) {
        return (kv - 1) / a->page_size * a->page_size;
    }
    return kv;
}

static void set_span(struct rule *r, enum mistake m)
{
    int64_t q = r->a.q_len[r->sequence], kv = r->a.kv_len[r->sequence], left;

    r->span = attention_visible(&r->a, q, kv, r->row);
    if (m == MISTAKE_TOP_LEFT) { /* as if the last query stood at key q - 1 */
        r->span = attention_visible(&r->a, q, q, r->row);
        r->span.hi = r->span.hi < kv ? r->span.hi : kv;
    }
    r->span.hi -= m == MISTAKE_LAST_KEY || m == MISTAKE_STRICT_CAUSAL;
    r->span.hi += m == MISTAKE_LONG_CAUSAL && r->span.hi < kv;
    r->span.lo += m == MISTAKE_FIRST_KEY;
    left = keys_left(&r->a, m, kv);
    r->span.hi = r->span.hi < left ? r->span.hi : left;
    if (m == MISTAKE_OTHER_SEQUENCE || m == MISTAKE_SEQUENCE_ZERO) {
        r->sequence = m == MISTAKE_SEQUENCE_ZERO ? 0 : (r->sequence + 1) % r->a.batch;
        r->span = attention_visible(&r->a, q, r->a.kv_len[r->sequence], r->row);
    }
}

/* --- scales and formats --- */

/* Powers of two by which Q.K and V are off. */
static double format_factor(enum mistake m, bool values)
{
    switch ((int)m) {
    case MISTAKE_KV_TWICE:
        return 2;
    case MISTAKE_KV_HALF:
        return 0.5;
    case MISTAKE_V_TWICE:
        return values ? 2 : 1;
    case MISTAKE_V_HALF:
        return values ? 0.5 : 1;
    case MISTAKE_K_TWICE:
        return values ? 1 : 2;
    case MISTAKE_K_HALF:
        return values ? 1 : 0.5;
    case MISTAKE_QK_4:
        return values ? 1 : 4;
    case MISTAKE_QK_QUARTER:
        return values ? 1 : 0.25;
    default:
        return 1;
    }
}

static void set_scales(struct rule *r, const struct attention *a, enum mistake m)
{
    r->scale = m == MISTAKE_NO_SCALE        ? 1
               : m == MISTAKE_DEFAULT_SCALE ? 1 / sqrt((double)a->head_dim)
               : m == MISTAKE_SCALE_TWICE   ? a->scale * a->scale
                                            : a->scale;
    r->scale *= m == MISTAKE_NO_Q_SCALE ? 1 : a->q_scale;
    r->scale *= m == MISTAKE_NO_K_SCALE ? 1 : a->k_scale;
    r->scale *= m == MISTAKE_UNIFORM ? 0 : m == MISTAKE_EXP2 ? LN2 : 1;
    r->scale /= m == MISTAKE_EXP2_TWICE ? LN2 : 1;
    r->scale *= format_factor(m, false);
    r->v_scale = m == MISTAKE_NO_V_SCALE ? 1 : a->v_scale;
    r->v_scale *= format_factor(m, true);
}

/* --- heads and places --- */

/* Places of K and V as the other layout of the same pool has them. */
static void turn_pages(struct attention *a)
{
    a->head_major = !a->head_major;
    for (int i = ATTENTION_PLACE_K; i <= ATTENTION_PLACE_V; i++) {
        int64_t d = i == ATTENTION_PLACE_V ? a->head_dim_v : a->head_dim;

        a->place[i].head = a->head_major ? a->page_size * d : d;
        a->place[i].token = a->head_major ? d : a->kv_heads * d;
        a->place[i].page = a->page_size * a->kv_heads * d;
    }
}

static bool is_dense(const struct attention *a)
{
    for (int i = ATTENTION_PLACE_K; i <= ATTENTION_PLACE_V; i++) {
        if (a->place[i].page != a->dense[i].page ||
            a->place[i].token != a->dense[i].token ||
            a->place[i].head != a->dense[i].head) {
            return false;
        }
    }
    return true;
}

static int64_t kv_head_of(const struct attention *a, enum mistake m, int64_t head)
{
    return m == MISTAKE_HEAD_ZERO     ? 0
           : m == MISTAKE_HEAD_MODULO ? head % a->kv_heads
           : m == MISTAKE_HEAD_NEXT   ? (head / a->group + 1) % a->kv_heads
                                      : head / a->group;
}

static void set_heads(struct rule *r, const struct attention *a, enum mistake m)
{
    r->kv_head = kv_head_of(a, m, r->head);
    r->keys_for_values = m == MISTAKE_K_FOR_V;
    r->undivided = m == MISTAKE_NOT_DIVIDED;
    r->pages =
        m == MISTAKE_IDENTITY_PAGES ? ATTENTION_PAGES_IDENTITY : ATTENTION_PAGES_TABLE;
    if (m == MISTAKE_OTHER_MAJOR && is_dense(a)) {
        turn_pages(&r->a);
    }
}

static void set_rule(struct rule *r, const struct attention *a, enum mistake m)
{
    r->a = *a;
    set_options(r, m);
    set_scales(r, a, m);
    set_heads(r, a, m);
    set_span(r, m);
}

/* --- one line --- */

struct line {
    struct attention_gather gather;
    double *q, *k, *v, *o; /* one row each */
    double *walk;          /* sums of squares of o's partial sums, as o is scaled */
};

static double score(const struct rule *r, const struct line *l)
{
    double s = 0;

    for (int64_t d = 0; d < r->a.head_dim; d++) {
        s += l->q[d] * l->k[d];
    }
    s *= r->scale;
    return r->a.soft_cap > 0 ? r->a.soft_cap * tanh(s / r->a.soft_cap) : s;
}

static enum wf_status load_key(struct line *l,
                               const struct rule *r,
                               int64_t j,
                               struct wf_error *err)
{
    struct attention_keys keys = { false, r->pages, r->sequence, r->kv_head, j, 1 };
    enum wf_status st = attention_gather_kv(&l->gather, &keys, l->k, err);

    keys.values = !r->keys_for_values;
    return st == WF_OK ? attention_gather_kv(&l->gather, &keys, l->v, err) : st;
}

static enum wf_status compute(struct line *l,
                              const struct rule *r,
                              struct wf_error *err)
{
    double max = -INFINITY, sum = 0;
    int64_t dv = r->a.head_dim_v;
    enum wf_status st = WF_OK;

    l->gather.a = &r->a;
    memset(l->o, 0, (size_t)dv * sizeof(double));
    memset(l->walk, 0, (size_t)dv * sizeof(double));
    for (int64_t j = r->span.lo; st == WF_OK && j < r->span.hi; j++) {
        double s, w, old;

        st = load_key(l, r, j, err);
        s = score(r, l);
        old = s > max ? exp(max - s) : 1;
        max = s > max ? s : max;
        w = exp(s - max);
        sum = sum * old + w;
        for (int64_t d = 0; d < dv; d++) {
            l->o[d] = l->o[d] * old + w * l->v[d];
            l->walk[d] = l->walk[d] * old * old + l->o[d] * l->o[d];
        }
    }
    for (int64_t d = 0; d < dv && sum > 0; d++) {
        l->o[d] *= r->v_scale / (r->undivided ? 1 : sum);
        l->walk[d] *= pow(r->v_scale / sum, 2);
    }
    return st;
}

/* The line's own tolerance stands in for that of the other values, with a
 * margin for their size. */
bool attention_same_line(const double *got,
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

int64_t attention_line_of(const struct attention_reference *ref,
                          int64_t row,
                          int64_t head)
{
    const struct attention *a = ref->a;
    int64_t slot = ref->plan.slot_of[row * a->kv_heads + head / a->group];

    return slot < 0 ? -1 : slot * a->group + head % a->group;
}

/* --- noise: see gemm_noise.c, of which this is the P V product --- */

#define NOISE_LOW            0.08
#define NOISE_HIGH           0.8
#define NOISE_MOST           3.0
#define NOISE_LEAST_ELEMENTS 32
#define NOISE_LEAST_KEYS     16
#define NOISE_LEAST_TAIL     4.0
#define NOISE_OUTLIER        5.0 /* one element that is off is no noise */

/* `relative` is scratch of n. */
static bool has_tail(const struct attention_suspect *s,
                     const double *want,
                     double *relative,
                     int64_t n)
{
    for (int64_t d = 0; d < n; d++) {
        relative[d] = fabs(want[d]) > 0 ? fabs(s->got[d] / want[d] - 1) : 0;
    }
    wf_sort_doubles(relative, (size_t)n);
    return relative[n - 1] >= NOISE_LEAST_TAIL * relative[n / 2];
}

static const char *explain_noise(const struct attention_suspect *s,
                                 struct line *l,
                                 const struct rule *r)
{
    double rms = 0, most = 0;
    int64_t dv = r->a.head_dim_v, positive = 0;

    if (dv < NOISE_LEAST_ELEMENTS || r->span.hi - r->span.lo < NOISE_LEAST_KEYS) {
        return NULL;
    }
    for (int64_t d = 0; d < dv; d++) {
        double z = l->walk[d] > 0 ? (s->got[d] - l->o[d]) / sqrt(l->walk[d]) : INFINITY;

        rms += z * z / (double)dv;
        most = fmax(most, fabs(z));
        positive += z > 0;
    }
    rms = sqrt(rms);
    if (most > NOISE_OUTLIER * rms || positive < dv / 4 || positive > dv - dv / 4 ||
        !has_tail(s, l->o, l->v, dv)) {
        return NULL;
    }
    if (rms >= NOISE_LOW * 0x1p-11 && rms <= NOISE_HIGH * 0x1p-11 &&
        most <= NOISE_MOST * 0x1p-11 && r->a.q_type != WF_BF16) {
        return "the errors are noise of both signs, as large as accumulating P V in f16 "
               "makes it (it grows with the keys)";
    }
    if (rms >= NOISE_LOW * 0x1p-8 && rms <= NOISE_HIGH * 0x1p-8 &&
        most <= NOISE_MOST * 0x1p-8) {
        return "the errors are noise of both signs, as large as accumulating P V in bf16 "
               "makes it (it grows with the keys)";
    }
    return NULL;
}

/* --- all of them --- */

static enum wf_status line_init(struct line *l,
                                struct attention_reference *ref,
                                struct wf_error *err)
{
    const struct attention *a = ref->a;
    size_t wide = (size_t)(a->head_dim > a->head_dim_v ? a->head_dim : a->head_dim_v);
    enum wf_status st = attention_gather_init(&l->gather, a, &ref->source, err);

    l->q = wf_calloc(wide, sizeof(double));
    l->k = wf_calloc(wide, sizeof(double));
    l->v = wf_calloc(wide, sizeof(double));
    l->o = wf_calloc(wide, sizeof(double));
    l->walk = wf_calloc(wide, sizeof(double));
    if (st == WF_OK && (!l->q || !l->k || !l->v || !l->o || !l->walk)) {
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
    free(l->walk);
}

static double distance(const double *x, const double *y, int64_t n)
{
    double sum = 0;

    for (int64_t d = 0; d < n; d++) {
        sum += (x[d] - y[d]) * (x[d] - y[d]);
    }
    return sqrt(sum);
}

/* Heads before the first wrong one of its row are right: the mistake would not leave
 * them so. */
static bool is_refuted(const struct attention_reference *ref,
                       const struct attention_suspect *s,
                       enum mistake m)
{
    const struct attention *a = ref->a;

    for (int64_t h = 0; h < s->head; h++) {
        if (kv_head_of(a, m, h) != h / a->group &&
            attention_line_of(ref, s->row, h) >= 0) {
            return true;
        }
    }
    return false;
}

/* The mistake whose line is the nearest to what was found; of those that are about
 * equally near, the first. A mistake that changes nothing here explains nothing: the
 * line must be clearly nearer to the prediction than to the right answer. */
static enum wf_status find_nearest(struct attention_reference *ref,
                                   const struct attention_suspect *s,
                                   struct line *l,
                                   struct rule *r,
                                   enum mistake *ret,
                                   struct wf_error *err)
{
    const struct attention *a = ref->a;
    int64_t dv = a->head_dim_v, sequence = r->sequence;
    int64_t line = attention_line_of(ref, s->row, s->head);
    double nearest = 0.5 * distance(s->got, ref->o + line * dv, dv);
    enum wf_status st = WF_OK;

    for (int m = MISTAKE_NONE + 1; st == WF_OK && m < MISTAKE_COUNT; m++) {
        if (!applies(a, (enum mistake)m) || is_refuted(ref, s, (enum mistake)m)) {
            continue;
        }
        r->sequence = sequence;
        set_rule(r, a, (enum mistake)m);
        st = compute(l, r, err);
        if (st == WF_OK && r->span.lo < r->span.hi &&
            distance(s->got, l->o, dv) <= nearest &&
            attention_same_line(s->got, l->o, ref->o_tolerance + line * dv, dv)) {
            nearest = 0.5 * distance(s->got, l->o, dv);
            *ret = (enum mistake)m;
        }
    }
    r->sequence = sequence;
    return st;
}

static enum wf_status try_all(struct attention_reference *ref,
                              const struct attention_suspect *s,
                              struct line *l,
                              struct rule *r,
                              const char **ret_words,
                              struct wf_error *err)
{
    enum mistake m = MISTAKE_NONE;
    enum wf_status st =
        attention_gather_q(&l->gather, r->sequence, r->row, r->head, l->q, err);

    if (st == WF_OK) {
        st = find_nearest(ref, s, l, r, &m, err);
    }
    if (st != WF_OK || m != MISTAKE_NONE) {
        *ret_words = words(ref->a, m);
        return st;
    }
    set_rule(r, ref->a, MISTAKE_NONE);
    st = compute(l, r, err);
    *ret_words = st == WF_OK ? explain_noise(s, l, r) : NULL;
    return st;
}

enum wf_status attention_find_mistake(struct attention_reference *ref,
                                      const struct attention_suspect *s,
                                      const char **ret_words,
                                      struct wf_error *err)
{
    const struct attention *a = ref->a;
    struct rule r = { .head = s->head };
    struct line l = { .q = NULL };
    enum wf_status st = WF_OK;

    *ret_words = NULL;
    while (s->row >= a->q_start[r.sequence + 1]) {
        r.sequence++;
    }
    r.row = s->row - a->q_start[r.sequence];
    if (a->kv_len[r.sequence] > MAX_KEYS) {
        return WF_OK;
    }
    st = line_init(&l, ref, err);
    if (st == WF_OK) {
        st = try_all(ref, s, &l, &r, ret_words, err);
    }
    line_fini(&l);
    return st;
}
