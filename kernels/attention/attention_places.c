/* Diagnosis by place: rows that need an offset beyond 32 bits, and the box round the
 * wrong elements. Pure rules over the problem and what the check saw. */
#include "kernels/attention/attention_diagnose.h"

#include <stdio.h>

/* Largest storage element of K or V that a row needs. */
static int64_t largest_key(const struct attention *a,
                           enum attention_place_name which,
                           int64_t b,
                           const struct attention_span *span)
{
    const struct attention_place *p = &a->place[which];
    int64_t d = which == ATTENTION_PLACE_V ? a->head_dim_v : a->head_dim;
    int64_t head = (a->kv_heads - 1) * p->head + d - 1, most = 0;

    if (a->layout != ATTENTION_PAGED) {
        return (a->kv_start[b] + span->hi - 1) * p->token + head;
    }
    for (int64_t j = span->lo; j < span->hi; j += a->page_size - j % a->page_size) {
        int64_t page = a->kv_indices[a->kv_indptr[b] + j / a->page_size];
        int64_t end = j - j % a->page_size + a->page_size;
        int64_t slot = ((end < span->hi ? end : span->hi) - 1) % a->page_size;
        int64_t at = page * p->page + slot * p->token + head;

        most = at > most ? at : most;
    }
    return most;
}

static int64_t largest_offset(const struct attention *a,
                              enum attention_place_name which,
                              int64_t b,
                              int64_t row)
{
    struct attention_span span =
        attention_visible(a, a->q_len[b], a->kv_len[b], row - a->q_start[b]);
    const struct attention_place *p = &a->place[which];

    if (which == ATTENTION_PLACE_K || which == ATTENTION_PLACE_V) {
        return span.lo < span.hi ? largest_key(a, which, b, &span) : 0;
    }
    return row * p->token + (a->q_heads - 1) * p->head +
           (which == ATTENTION_PLACE_Q ? a->head_dim : a->head_dim_v) - 1;
}

/* Every row that was looked at is wrong exactly when it needs `limit` or more, and
 * there are rows of both kinds. */
static bool fits(const struct attention *a,
                 const struct attention_seen *seen,
                 enum attention_place_name which,
                 int64_t unit,
                 int64_t limit)
{
    int64_t wrong = 0, right = 0;

    for (int64_t b = 0; b < a->batch; b++) {
        for (int64_t row = a->q_start[b]; row < a->q_start[b + 1]; row++) {
            bool is_wrong = (seen->row[row] & ATTENTION_ROW_WRONG) != 0;

            if ((seen->row[row] & ATTENTION_ROW_SEEN) == 0) {
                continue;
            }
            if ((largest_offset(a, which, b, row) >= limit / unit) != is_wrong) {
                return false;
            }
            wrong += is_wrong;
            right += !is_wrong;
        }
    }
    return wrong > 0 && right > 0;
}

bool attention_explain_wrap(const struct attention *a,
                            const struct attention_seen *seen,
                            char *text,
                            size_t text_bytes)
{
    static const struct {
        int64_t limit;
        bool bytes;
        const char *unit, *name;
    } LIMITS[] = { { INT64_C(1) << 31, false, "element", "2^31 (int32)" },
                   { INT64_C(1) << 32, false, "element", "2^32 (uint32)" },
                   { INT64_C(1) << 31, true, "byte", "2^31 (int32)" },
                   { INT64_C(1) << 32, true, "byte", "2^32 (uint32)" } };

    for (int which = 0; which < ATTENTION_PLACE_LSE && seen->row != NULL; which++) {
        const struct wf_tensor *t =
            &a->tensor[attention_placed(a, (enum attention_place_name)which)];

        for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
            int64_t unit = LIMITS[i].bytes ? (int64_t)wf_dtype_bytes(t->dtype) : 1;

            if (t->elements >= (uint64_t)(LIMITS[i].limit / unit) &&
                fits(a, seen, (enum attention_place_name)which, unit,
                     LIMITS[i].limit)) {
                (void)snprintf(
                    text, text_bytes,
                    "wrong exactly in the rows whose %s offset into %s reaches "
                    "%s: it wraps",
                    LIMITS[i].unit, t->name, LIMITS[i].name);
                return true;
            }
        }
    }
    return false;
}

void attention_describe_place(const struct attention *a,
                              const struct attention_seen *seen,
                              char *text,
                              size_t text_bytes)
{
    const int64_t *lo = seen->low, *hi = seen->high;
    bool rows = lo[0] == 0 && hi[0] == a->total_q - 1;
    bool heads = lo[1] == 0 && hi[1] == a->q_heads - 1;
    bool width = lo[2] == 0 && hi[2] == a->head_dim_v - 1;

    text[0] = '\0';
    if (!seen->any || (rows && heads && width)) {
        return;
    }
    (void)snprintf(
        text, text_bytes,
        "wrong elements of O lie in rows %lld..%lld, heads %lld..%lld, columns "
        "%lld..%lld%s",
        (long long)lo[0], (long long)hi[0], (long long)lo[1], (long long)hi[1],
        (long long)lo[2], (long long)hi[2],
        lo[2] > 0 && lo[2] % 8 == 0 && hi[2] == a->head_dim_v - 1
            ? ": the tail of head_dim_v is missing or wrong"
            : "");
}
