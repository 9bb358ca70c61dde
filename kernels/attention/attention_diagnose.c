/* Says why a wrong row is wrong, where that can be recognised. First the places of all
 * wrong rows (an offset that wrapped), then the first wrong row: computed again under
 * each of a table of common mistakes, looked for among the right answers of other
 * places, compared with the reference by one factor. A fault in here could change a
 * text, never an answer. */
#include "kernels/attention/attention_diagnose.h"

#include "core/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the answer of (row, head) is what was found; says so. */
static bool is_answer_of(const struct attention_reference *ref,
                         const struct attention_suspect *s,
                         const int64_t place[2],
                         char *text,
                         size_t n)
{
    int64_t dv = ref->a->head_dim_v, line = attention_line_of(ref, place[0], place[1]);

    if (line < 0 || line == attention_line_of(ref, s->row, s->head) ||
        !attention_same_line(s->got, ref->o + line * dv, ref->o_tolerance + line * dv,
                             dv)) {
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
    int64_t line = attention_line_of(ref, s->row, s->head);
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

/* A factor is a mix-up of formats only where a format can be mixed up (O is never fp8).
 */
static const char *factor_hint(const struct attention *a, double ratio)
{
    static const double FACTORS[] = { 2, 0.5, 4, 0.25 };

    for (size_t i = 0; i < sizeof(FACTORS) / sizeof(FACTORS[0]); i++) {
        if (wf_dtype_is_fp8(a->kv_type) && fabs(ratio / FACTORS[i] - 1) < 0.01) {
            return ": codes of V, fnuz and OCP fp8 mixed up";
        }
    }
    return "";
}

static void explain_factor(const struct attention_reference *ref,
                           const struct attention_suspect *s,
                           char *text,
                           size_t n)
{
    const struct attention *a = ref->a;
    int64_t line = attention_line_of(ref, s->row, s->head), dv = a->head_dim_v;
    double ratio = common_ratio(s->got, ref->o + line * dv, dv);

    if (fabs(ratio) > 0 && fabs(ratio - 1) > 0.02) {
        (void)snprintf(text, n, "row %lld, head %lld is %.4g times the reference%s",
                       (long long)s->row, (long long)s->head, ratio,
                       factor_hint(a, ratio));
    }
}

static bool is_zero(const struct attention_suspect *s, int64_t n)
{
    for (int64_t d = 0; d < n; d++) {
        if (fabs(s->got[d]) > 0) {
            return false;
        }
    }
    return true;
}

/* --- -0 of OCP fp8 is the code 0x80, NaN in fnuz --- */

#define MAX_KEYS_READ (INT64_C(1) << 16)

static bool has_minus_zero(const double *v, int64_t n)
{
    for (int64_t d = 0; d < n; d++) {
        if (!(fabs(v[d]) > 0) && signbit(v[d])) {
            return true;
        }
    }
    return false;
}

static enum wf_status find_minus_zero(const struct attention_gather *gather,
                                      const struct attention_span *span,
                                      struct attention_keys *keys,
                                      bool *ret,
                                      struct wf_error *err)
{
    const struct attention *a = gather->a;
    const int64_t most = a->head_dim > a->head_dim_v ? a->head_dim : a->head_dim_v;
    struct attention_gather g = *gather;
    double *v = wf_calloc((size_t)most, sizeof(*v));
    enum wf_status st =
        v != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "out of memory for a diagnosis");

    keys->count = 1;
    for (int64_t j = span->lo; st == WF_OK && !*ret && j < span->hi; j++) {
        keys->first = j;
        for (int values = 0; st == WF_OK && values < 2; values++) {
            keys->values = values != 0;
            st = attention_gather_kv(&g, keys, v, err);
            *ret =
                *ret || (st == WF_OK &&
                         has_minus_zero(v, keys->values ? a->head_dim_v : a->head_dim));
        }
    }
    free(v);
    return st;
}

/* Added where a row is NaN, or zero because no comparison with a NaN score was true. */
static enum wf_status explain_minus_zero(struct attention_reference *ref,
                                         const struct attention_suspect *s,
                                         int64_t sequence,
                                         const struct attention_span *span,
                                         char *text,
                                         size_t n,
                                         struct wf_error *err)
{
    const struct attention *a = ref->a;
    struct attention_keys keys = { .pages = ATTENTION_PAGES_TABLE,
                                   .sequence = sequence,
                                   .kv_head = s->head / a->group };
    struct attention_gather gather;
    const size_t used = strlen(text);
    bool found = false;

    if ((a->kv_type != WF_E4M3FN && a->kv_type != WF_E5M2) ||
        span->hi - span->lo > MAX_KEYS_READ) {
        return WF_OK;
    }
    enum wf_status st = attention_gather_init(&gather, a, &ref->source, err);
    if (st == WF_OK) {
        st = find_minus_zero(&gather, span, &keys, &found, err);
    }
    if (st == WF_OK && found) {
        (void)snprintf(text + used, n - used,
                       "; or OCP codes are read as fnuz fp8: the keys of this row hold "
                       "-0, whose code is NaN there");
    }
    attention_gather_fini(&gather);
    return st;
}

static enum wf_status explain_row(struct attention_reference *ref,
                                  const struct attention_suspect *s,
                                  int64_t sequence,
                                  const struct attention_span *span,
                                  char *text,
                                  size_t n,
                                  struct wf_error *err)
{
    const char *mistake = NULL;
    enum wf_status st = WF_OK;

    if (is_zero(s, ref->a->head_dim_v)) {
        (void)snprintf(text, n, "row %lld, head %lld is all zero", (long long)s->row,
                       (long long)s->head);
        return explain_minus_zero(ref, s, sequence, span, text, n, err);
    }
    st = attention_find_mistake(ref, s, &mistake, err);
    if (st != WF_OK || mistake != NULL) {
        (void)snprintf(text, n, "%s", mistake != NULL ? mistake : "");
    } else if (!other_place(ref, s, text, n)) {
        explain_factor(ref, s, text, n);
    }
    return st;
}

static void explain_nonfinite(const struct attention *a,
                              const struct attention_suspect *s,
                              const struct attention_span *span,
                              char *text,
                              size_t n)
{
    (void)a;
    (void)snprintf(
        text, n,
        "NaN, infinity or an unwritten element in row %lld, which sees keys "
        "%lld to %lld; slots that hold no key are poison, so a read past the "
        "end shows up as NaN",
        (long long)s->row, (long long)span->lo, (long long)(span->hi - 1));
}

static enum wf_status explain_cause(struct attention_reference *ref,
                                    const struct attention_suspect *s,
                                    char *text,
                                    size_t n,
                                    struct wf_error *err)
{
    const struct attention *a = ref->a;
    struct attention_span span;
    int64_t b = 0;

    while (s->row >= a->q_start[b + 1]) {
        b++;
    }
    span = attention_visible(a, a->q_len[b], a->kv_len[b], s->row - a->q_start[b]);
    if (attention_explain_wrap(a, &s->seen, text, n)) {
        return WF_OK;
    }
    if (s->lse_only) {
        explain_lse(ref, s, text, n);
    } else if (span.lo >= span.hi) {
        explain_empty(s, text, n);
    } else if (s->nonfinite) {
        explain_nonfinite(a, s, &span, text, n);
        return explain_minus_zero(ref, s, b, &span, text, n, err);
    } else {
        return explain_row(ref, s, b, &span, text, n, err);
    }
    return WF_OK;
}

enum wf_status attention_diagnose(struct attention_reference *ref,
                                  const struct attention_suspect *suspect,
                                  char *text,
                                  size_t text_bytes,
                                  struct wf_error *err)
{
    char cause[400] = "", place[180] = "";
    enum wf_status st = explain_cause(ref, suspect, cause, sizeof(cause), err);

    attention_describe_place(ref->a, &suspect->seen, place, sizeof(place));
    (void)snprintf(text, text_bytes, "%s%s%s", cause,
                   cause[0] != '\0' && place[0] != '\0' ? "; " : "", place);
    return st;
}
