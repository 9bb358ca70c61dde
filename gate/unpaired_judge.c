/* What two sides of one task say about each other. */
#include "core/buf.h"
#include "core/parse.h"
#include "core/stats.h"
#include "gate/unpaired_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double figure(const struct wf_json *result, const char *object, const char *key)
{
    double d = NAN;
    const struct wf_json *o = wf_json_find(result, object);
    const struct wf_json *v =
        o != NULL && wf_json_type(o) == WF_JSON_OBJECT ? wf_json_find(o, key) : NULL;
    return v != NULL && wf_json_as_f64(v, &d) ? d : NAN;
}

static bool usable(double ns)
{
    return isfinite(ns) && ns > 0;
}

/* --- one side --- */

static bool is_twice(const struct wf_unpaired_side *s)
{
    for (size_t i = 0; i < s->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (figure(s->result[i], "task", "repetition") ==
                    figure(s->result[k], "task", "repetition") &&
                strcmp(wf_unpaired_text(s->result[i], "device", "id"),
                       wf_unpaired_text(s->result[k], "device", "id")) == 0) {
                return true;
            }
        }
    }
    return false;
}

enum wf_status wf_unpaired_fill(struct wf_unpaired_side *s, struct wf_error *err)
{
    double *median = wf_calloc(s->count, sizeof(*median));
    if (median == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu repetitions", s->count);
    }
    s->twice = is_twice(s);
    s->answer = WF_ANSWER_PASS;
    s->lo = INFINITY;
    s->hi = -INFINITY;
    for (size_t i = 0; i < s->count; i++) {
        enum wf_answer a = WF_ANSWER_LOST;
        (void)wf_answer_parse(wf_unpaired_text(s->result[i], NULL, "answer"), &a);
        s->answer = wf_answer_worse(s->answer, a);
        const double m = figure(s->result[i], "timing", "median");
        const double lo = figure(s->result[i], "timing", "ci_lo");
        const double hi = figure(s->result[i], "timing", "ci_hi");
        if (usable(m)) {
            median[s->timed++] = m;
            /* one without an interval leaves the hull without an end */
            const bool whole = usable(lo) && usable(hi) && lo <= hi;
            s->lo = whole ? fmin(s->lo, lo) : -INFINITY;
            s->hi = whole ? fmax(s->hi, hi) : INFINITY;
        }
    }
    wf_sort_doubles(median, s->timed);
    s->median = s->timed > 0 ? wf_quantile_sorted(median, s->timed, 0.5) : NAN;
    if (!usable(s->lo) || !usable(s->hi)) {
        s->lo = s->hi = NAN;
    }
    free(median);
    return WF_OK;
}

/* --- notes --- */

struct notes {
    struct wf_json *list;
    struct wf_error *err;
    enum wf_status status;
};

static void note(struct notes *n, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void note(struct notes *n, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    for (const struct wf_json *v = wf_json_first(n->list); v != NULL;
         v = wf_json_next(v)) {
        if (strcmp(wf_json_string(v), text) == 0) {
            return; /* repetitions say the same */
        }
    }
    if (n->status == WF_OK) {
        n->status = wf_json_push_string(n->list, text, n->err);
    }
}

/* X(what it is called, object, key, figures mean different things when it differs) */
#define FACTS(X)                                            \
    X("device", "device", "model", true)                    \
    X("architecture", "device", "arch", true)               \
    X("runtime", "device", "runtime", true)                 \
    X("partition mode", "device", "partition", true)        \
    X("caches at each launch", "mode", "temperature", true) \
    X("unit", "timing", "unit", true)                       \
    X("time taken by", "timing", "source", true)            \
    X("case id", "task", "case_id", true)                   \
    X("case name", "task", "case_name", false)              \
    X("kernel name", "task", "kernel", false)               \
    X("pack name", "task", "pack_name", false)              \
    X("driver", "device", "driver", false)                  \
    X("runtime library", "device", "library", false)        \
    X("cores", "device", "cpus", false)                     \
    X("host", "environment", "host", false)                 \
    X("operating system", "environment", "kernel", false)   \
    X("kind of result", NULL, "kind", false)                \
    X("error model", "tolerance", "model", false)           \
    X("wavefarm", "environment", "wavefarm", false)

static const struct {
    const char *what, *object, *key;
    bool meaning;
} facts[] = {
#define X(what, object, key, meaning) { what, object, key, meaning },
    FACTS(X)
#undef X
};

static const char *icache(const struct wf_json *result)
{
    const char *s = wf_unpaired_text(result, "mode", "icache");
    return s[0] != '\0' ? s : "hot";
}

/* Returns whether a difference makes the figures mean different things. */
static bool note_facts(struct notes *n,
                       const struct wf_json *a,
                       const struct wf_json *b)
{
    bool meaning = false;
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        const char *x = wf_unpaired_text(a, facts[i].object, facts[i].key);
        const char *y = wf_unpaired_text(b, facts[i].object, facts[i].key);
        const bool timing =
            facts[i].object != NULL && strcmp(facts[i].object, "timing") == 0;
        if (strcmp(x, y) != 0 && !(timing && (x[0] == '\0' || y[0] == '\0'))) {
            note(n, "%s: %.60s / %.60s", facts[i].what, x[0] != '\0' ? x : "-",
                 y[0] != '\0' ? y : "-");
            meaning = meaning || facts[i].meaning;
        }
    }
    if (strcmp(icache(a), icache(b)) != 0) {
        note(n, "instruction cache: %s / %s", icache(a), icache(b));
        meaning = true;
    }
    return meaning;
}

/* Which members of a case differ that has kept its name: data of another kind, ... */
static void note_case(struct notes *n, const struct wf_json *a, const struct wf_json *b)
{
    const struct wf_json *x = wf_json_find(wf_json_find(a, "task"), "case");
    const struct wf_json *y = wf_json_find(wf_json_find(b, "task"), "case");
    if (x == NULL || y == NULL || wf_json_type(x) != WF_JSON_OBJECT ||
        wf_json_type(y) != WF_JSON_OBJECT) {
        return;
    }
    for (int side = 0; side < 2; side++) {
        const struct wf_json *m = wf_json_first(side == 0 ? x : y);
        for (; m != NULL; m = wf_json_next(m)) {
            char *s = NULL, *t = NULL;
            const struct wf_json *other =
                wf_json_find(side == 0 ? y : x, wf_json_key(m));
            (void)wf_json_text(m, &s, NULL);
            if (other != NULL) {
                (void)wf_json_text(other, &t, NULL);
            }
            if (side == 0 && (t == NULL || (s != NULL && strcmp(s, t) != 0))) {
                note(n, "the case's %.40s: %.60s / %.60s", wf_json_key(m),
                     s != NULL ? s : "-", t != NULL ? t : "default");
            } else if (side == 1 && t == NULL) {
                note(n, "the case's %.40s: default / %.60s", wf_json_key(m),
                     s != NULL ? s : "-");
            }
            free(s);
            free(t);
        }
    }
}

static double middle_clock(const struct wf_json *result)
{
    const struct wf_json *timing = wf_json_find(result, "timing");
    const struct wf_json *c = timing != NULL && wf_json_type(timing) == WF_JSON_OBJECT
                                  ? wf_json_first(wf_json_find(timing, "clock_mhz"))
                                  : NULL;
    double sum = 0;
    size_t n = 0;
    for (; c != NULL; c = wf_json_next(c)) {
        double mhz = NAN;
        if (wf_json_as_f64(c, &mhz) && usable(mhz)) {
            sum += mhz;
            n++;
        }
    }
    return n > 0 ? sum / (double)n : NAN;
}

/* Figures that should be equal and are not. */
static void note_figures(struct notes *n,
                         const struct wf_json *a,
                         const struct wf_json *b)
{
    const double clock_a = middle_clock(a), clock_b = middle_clock(b);
    const double seed_a = figure(a, "seeds", "run_offset");
    const double seed_b = figure(b, "seeds", "run_offset");
    const double batch_a = figure(a, "mode", "batch"),
                 batch_b = figure(b, "mode", "batch");
    const double flops_a = figure(a, "work", "flops"),
                 flops_b = figure(b, "work", "flops");
    const double bytes_a = figure(a, "work", "bytes"),
                 bytes_b = figure(b, "work", "bytes");
    if (fabs(clock_a / clock_b - 1) > 0.02) {
        note(n, "mean clock: %.0f / %.0f MHz", clock_a, clock_b);
    }
    if (fabs(seed_a - seed_b) > 0) {
        note(n, "other inputs (seed offset %.0f / %.0f)", seed_a, seed_b);
    }
    if (fabs(batch_a - batch_b) > 0) {
        note(n, "launches a batch asked for: %.0f / %.0f", batch_a, batch_b);
    }
    if (fabs(flops_a - flops_b) > 0 || fabs(bytes_a - bytes_b) > 0) {
        note(n, "work is counted differently: rates do not compare, times do");
    }
}

/* What a side's own times are worth. Returns whether they can be used. */
static bool note_side(struct notes *n,
                      const struct wf_unpaired_side *s,
                      const char *side)
{
    bool good = s->timed > 0;
    for (size_t i = 0; i < s->count; i++) {
        const char *time = wf_unpaired_text(s->result[i], NULL, "time");
        const struct wf_json *t = wf_json_find(s->result[i], "timing");
        const bool has = t != NULL && wf_json_type(t) == WF_JSON_OBJECT;
        const size_t invalid = has ? wf_json_count(wf_json_find(t, "invalid")) : 0;
        const double median = figure(s->result[i], "timing", "median");
        if (strcmp(time, "IMPLAUSIBLE") == 0 || strcmp(time, "THROTTLED") == 0 ||
            strcmp(time, "MODELLED") == 0) {
            note(n, "%s: the time is %s", side, time);
            good = false;
        } else if (strcmp(time, "NOISY") == 0 || strcmp(time, "NOT_MEASURED") == 0) {
            note(n, "%s: the time is %s", side, time);
        }
        if (has && !usable(median)) {
            char text[32];
            note(n, "%s: a median of %s ns is no time", side,
                 wf_format_f64(median, text, sizeof(text)));
            good = false;
        }
        if (invalid > 0) {
            note(n, "%s: %zu samples were not finite or not positive and are left out",
                 side, invalid);
        }
    }
    if (s->count > 1 && !s->twice) {
        note(n, "%s: %zu repetitions: median of medians, hull of their intervals", side,
             s->count);
    }
    return good;
}

/* --- the row --- */

static bool was_not_run(const struct wf_unpaired_side *s)
{
    return s->answer == WF_ANSWER_CANCELLED || s->answer == WF_ANSWER_LOST;
}

/* By the answers; ANSWER_ONLY: both are PASS. */
static enum wf_unpaired_status by_answers(const struct wf_unpaired_row *r)
{
    const enum wf_answer a = r->a.answer, b = r->b.answer;
    if (r->b.count == 0 || r->a.count == 0) {
        return r->b.count == 0 ? WF_UNPAIRED_ONLY_A : WF_UNPAIRED_ONLY_B;
    }
    if (r->a.twice || r->b.twice) {
        return WF_UNPAIRED_AMBIGUOUS;
    }
    if (was_not_run(&r->a) || was_not_run(&r->b)) {
        return WF_UNPAIRED_NOT_RUN;
    }
    if (a == WF_ANSWER_NOT_SUPPORTED && b == WF_ANSWER_NOT_SUPPORTED) {
        return WF_UNPAIRED_NEITHER;
    }
    if (a == WF_ANSWER_PASS && b == WF_ANSWER_PASS) {
        return WF_UNPAIRED_ANSWER_ONLY;
    }
    if (b == WF_ANSWER_PASS) {
        return WF_UNPAIRED_RIGHT_NOW;
    }
    if (a == WF_ANSWER_PASS) {
        return b == WF_ANSWER_NOT_SUPPORTED ? WF_UNPAIRED_UNSUPPORTED_NOW
                                            : WF_UNPAIRED_WRONG_NOW;
    }
    return a == WF_ANSWER_NOT_SUPPORTED ? WF_UNPAIRED_WRONG_NOW
                                        : WF_UNPAIRED_STILL_WRONG;
}

static enum wf_unpaired_status by_times(struct wf_unpaired_row *r)
{
    r->ratio = r->b.median / r->a.median;
    r->low = r->b.lo / r->a.hi;
    r->high = r->b.hi / r->a.lo;
    if (r->low > 1) {
        return WF_UNPAIRED_SLOWER;
    }
    return r->high < 1 ? WF_UNPAIRED_FASTER : WF_UNPAIRED_UNDECIDED;
}

static bool is_measured(const struct wf_unpaired_side *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(wf_unpaired_text(s->result[i], NULL, "time"), "NOT_MEASURED") != 0) {
            return true;
        }
    }
    return false;
}

/* Why an answer is not PASS. */
static void note_answers(struct notes *n,
                         const struct wf_unpaired_side *s,
                         const char *side)
{
    for (size_t i = 0; i < s->count; i++) {
        const char *answer = wf_unpaired_text(s->result[i], NULL, "answer");
        const char *why = wf_unpaired_text(s->result[i], NULL, "answer_text");
        if (strcmp(answer, "PASS") != 0) {
            note(n, "%s: %s%s%.300s", side, answer, why[0] != '\0' ? ": " : "", why);
        }
    }
}

static bool is_same_code(const struct wf_unpaired_row *r)
{
    const char *x = wf_unpaired_text(r->a.result[0], "code", "sha256");
    return x[0] != '\0' &&
           strcmp(x, wf_unpaired_text(r->b.result[0], "code", "sha256")) == 0;
}

static void judge_pair(struct wf_unpaired_row *r, struct notes *n)
{
    const struct wf_json *a = r->a.result[0];
    const struct wf_json *b = r->b.result[0];
    const bool other_case = strcmp(wf_unpaired_text(a, "task", "case_id"),
                                   wf_unpaired_text(b, "task", "case_id")) != 0;
    note_answers(n, &r->a, "A");
    note_answers(n, &r->b, "B");
    const bool meaning = note_facts(n, a, b);
    if (other_case) {
        note_case(n, a, b);
    }
    if (r->status == WF_UNPAIRED_ANSWER_ONLY && meaning) {
        r->status = WF_UNPAIRED_INCOMPARABLE;
    }
    if (r->status != WF_UNPAIRED_ANSWER_ONLY ||
        (!is_measured(&r->a) && !is_measured(&r->b))) {
        return;
    }
    note_figures(n, a, b);
    const bool good_a = note_side(n, &r->a, "A");
    const bool good_b = note_side(n, &r->b, "B");
    if (!good_a || !good_b) {
        r->status = WF_UNPAIRED_NO_TIME;
        return;
    }
    r->status = by_times(r);
    if (!usable(r->low) || !usable(r->high)) {
        note(n, "%s no interval: too few samples",
             isnan(r->a.lo) && isnan(r->b.lo) ? "A and B have"
             : isnan(r->a.lo)                 ? "A has"
                                              : "B has");
    }
    if (is_same_code(r) && r->status != WF_UNPAIRED_UNDECIDED) {
        note(n, "the kernel's code is the same on both sides: what differs is not it");
    }
}

enum wf_status wf_unpaired_judge(struct wf_unpaired_row *r, struct wf_error *err)
{
    struct notes n = { .list = wf_json_array(), .err = err, .status = WF_OK };
    r->note = n.list;
    r->ratio = r->low = r->high = NAN;
    r->status = by_answers(r);
    if (r->a.count > 0 && r->b.count > 0) {
        judge_pair(r, &n);
    }
    if (r->a.twice || r->b.twice) {
        note(&n, "%s has this task more than once in the same repetition",
             r->a.twice && r->b.twice ? "each side"
             : r->a.twice             ? "A"
                                      : "B");
    }
    return n.list == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for notes") : n.status;
}
