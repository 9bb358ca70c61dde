/* A report's findings in words. */
#include "gate/report_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *report_text(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    const char *s = v != NULL ? wf_json_string(v) : NULL;
    return s != NULL ? s : "";
}

const struct wf_json *report_object(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    return v != NULL && wf_json_type(v) == WF_JSON_OBJECT ? v : NULL;
}

double report_number(const struct wf_json *obj, const char *key)
{
    double d = (double)NAN;
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    return v != NULL && wf_json_as_f64(v, &d) ? d : (double)NAN;
}

bool report_flag(const struct wf_json *obj, const char *key, bool fallback)
{
    bool b = fallback;
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    return v != NULL && wf_json_as_bool(v, &b) ? b : fallback;
}

/* --- numbers --- */

static double percent(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

void wf_gate_format_effect(double log_ratio, char *ret, size_t n)
{
    if (isfinite(log_ratio)) {
        (void)snprintf(ret, n, "%+.1f %%", percent(log_ratio));
    } else {
        (void)snprintf(ret, n, "?");
    }
}

void wf_gate_format_margin(double log_ratio, char *ret, size_t n)
{
    const double p = percent(log_ratio);
    (void)snprintf(ret, n, p < 9.95 ? "%.2g %%" : "%.0f %%", p);
}

void wf_gate_format_interval(double low, double high, char *ret, size_t n)
{
    if (isfinite(low) && isfinite(high)) {
        (void)snprintf(ret, n, "%+.1f to %+.1f %%", percent(low), percent(high));
    } else if (isfinite(low)) {
        (void)snprintf(ret, n, "at least %+.1f %%", percent(low));
    } else if (isfinite(high)) {
        (void)snprintf(ret, n, "at most %+.1f %%", percent(high));
    } else {
        (void)snprintf(ret, n, "not bounded yet");
    }
}

/* --- a wrong answer --- */

const char *wf_gate_answer(const struct wf_json *pair_record, const char *arm)
{
    return report_text(report_object(pair_record, arm), "answer");
}

/* "D[0, 17]" */
static void format_place(const struct wf_json *element, char *ret, size_t n)
{
    const struct wf_json *index = wf_json_find(element, "index");
    int len = snprintf(ret, n, "%.40s[", report_text(element, "tensor"));
    size_t used = len > 0 ? (size_t)len : 0;
    for (size_t i = 0; index != NULL && i < wf_json_count(index) && used < n; i++) {
        int64_t at = 0;
        (void)wf_json_as_i64(wf_json_at(index, i), &at);
        len = snprintf(ret + used, n - used, "%s%" PRId64, i > 0 ? ", " : "", at);
        used += len > 0 ? (size_t)len : 0;
    }
    if (used < n) {
        (void)snprintf(ret + used, n - used, "]");
    }
}

void wf_gate_first_wrong(const struct wf_json *result, char *ret, size_t n)
{
    char place[96];
    const struct wf_json *first =
        report_object(report_object(result, "errors"), "first");
    const char *likely = report_text(result, "diagnosis");
    ret[0] = '\0';
    if (first != NULL) {
        format_place(first, place, sizeof place);
        (void)snprintf(ret, n, "%s got %.9g, want %.9g; likely %s", place,
                       report_number(first, "got"), report_number(first, "want"),
                       likely[0] != '\0' ? likely : "cause: nothing known fits");
    } else if (likely[0] != '\0') {
        (void)snprintf(ret, n, "likely %s", likely);
    }
}

static void wrong_words(const struct wf_gate_row *row, char *ret, size_t n)
{
    char where[240];
    const struct wf_json *arm = report_object(row->telling, "candidate");
    const char *answer = report_text(arm, "answer");
    const char *text = report_text(arm, "answer_text");
    wf_gate_first_wrong(report_object(arm, "result"), where, sizeof where);
    if (strcmp(answer, "NOT_SUPPORTED") == 0) {
        (void)snprintf(ret, n, "the candidate does not do this case any more%s%.200s",
                       text[0] != '\0' ? ": " : "", text);
        return;
    }
    const char *base = wf_gate_answer(row->telling, "base");
    const bool both = base[0] != '\0' && strcmp(base, "PASS") != 0;
    (void)snprintf(ret, n, "%.40s%s%.130s%s%.150s%s%.30s",
                   answer[0] != '\0' ? answer : "the answer is wrong",
                   text[0] != '\0' ? ": " : "", text, where[0] != '\0' ? ": " : "",
                   where, both ? "; the base's is not right either: " : "",
                   both ? base : "");
}

/* --- a time --- */

/* "3.1 % slower (+2.2 to +4.0 %)" */
static void effect_words(const struct wf_gate_figures *f, char *ret, size_t n)
{
    char interval[64];
    const double p = percent(f->effect);
    wf_gate_format_interval(f->low, f->high, interval, sizeof interval);
    if (isnan(f->effect)) {
        (void)snprintf(ret, n, "nothing is known of its time");
    } else {
        (void)snprintf(ret, n, "%.1f %% %s (%s)", fabs(p), p < 0 ? "faster" : "slower",
                       interval);
    }
}

/* A margin that is wider than the usual one is a weaker promise: who made it so. */
static void wider_words(const struct wf_gate_report *r,
                        const struct wf_gate_row *row,
                        char *ret,
                        size_t n)
{
    const struct wf_gate_margins usual = WF_GATE_MARGINS_DEFAULT;
    ret[0] = '\0';
    if (row->figures.margins.d1 > usual.d1) {
        (void)snprintf(ret, n, " (wider than usual, by %.80s)",
                       wf_gate_margin_source(r, row->pair));
    }
}

static void time_words(const struct wf_gate_report *r,
                       const struct wf_gate_row *row,
                       char *ret,
                       size_t n)
{
    char wider[128];
    char effect[128], d1[32];
    const struct wf_gate_figures *f = &row->figures;
    effect_words(f, effect, sizeof effect);
    wf_gate_format_margin(f->margins.d1, d1, sizeof d1);
    wider_words(r, row, wider, sizeof wider);
    if (row->finding == WF_GATE_IS_SLOWER) {
        (void)snprintf(
            ret, n, "%s, promised to catch %s",
            isnan(f->effect) ? "slower in blocks that were rejected" : effect, d1);
    } else if (row->finding == WF_GATE_IS_IMPROVED) {
        (void)snprintf(ret, n, "%s", effect);
    } else {
        (void)snprintf(ret, n, "slower by %s is excluded%s: %s", d1, wider, effect);
    }
}

static void undecided_words(const struct wf_gate_row *row, char *ret, size_t n)
{
    char effect[128];
    const struct wf_gate_figures *f = &row->figures;
    const char *base = wf_gate_answer(row->telling, "base");
    if (f->reason == WF_GATE_REASON_BASE_WRONG) {
        (void)snprintf(ret, n,
                       "the base's answer is %.40s, the candidate's is right: no time "
                       "to compare with",
                       base[0] != '\0' ? base : "not right");
        return;
    }
    effect_words(f, effect, sizeof effect);
    (void)snprintf(ret, n, "neither slower nor the certificate after %d blocks: %s",
                   f->blocks, effect);
}

/* Why the last of the line's blocks was rejected. */
static const char *last_rejected(const struct wf_json *line)
{
    const char *ret = "";
    const struct wf_json *blocks = line != NULL ? wf_json_find(line, "blocks") : NULL;
    for (const struct wf_json *b = blocks != NULL ? wf_json_first(blocks) : NULL;
         b != NULL; b = wf_json_next(b)) {
        const char *why = report_text(b, "rejected");
        ret = why[0] != '\0' ? why : ret;
    }
    return ret;
}

static void broken_words(const struct wf_gate_report *r,
                         const struct wf_gate_row *row,
                         char *ret,
                         size_t n)
{
    const struct wf_gate_pair *p = row->about;
    const char *device =
        (size_t)p->device < r->device_count ? r->device[p->device].why : "";
    const char *note = report_text(row->telling, "note");
    switch ((int)row->figures.reason) {
    case WF_GATE_REASON_BLOCKS_LOST:
        note = note[0] != '\0' ? note : last_rejected(row->telling);
        (void)snprintf(ret, n, "%d blocks were rejected%s%.200s", row->figures.lost,
                       note[0] != '\0' ? ": " : " (throttled, faulty or not run)",
                       note);
        return;
    case WF_GATE_REASON_SENTINEL:
        (void)snprintf(ret, n, "the device cannot be trusted: %s", device);
        return;
    case WF_GATE_REASON_CANCELLED:
        (void)snprintf(ret, n, "cancelled after %d blocks", row->figures.blocks);
        return;
    default:
        (void)snprintf(ret, n, "not run%s%.250s",
                       note[0] != '\0' || r->closed[0] != '\0' ? ": " : "",
                       note[0] != '\0' ? note : r->closed);
    }
}

static void answer_words(const struct wf_gate_report *r,
                         const struct wf_gate_row *row,
                         char *ret,
                         size_t n)
{
    if (row->finding == WF_GATE_IS_NEW) {
        (void)snprintf(ret, n,
                       "new: its answer is right, there is no time to compare "
                       "with");
    } else {
        (void)snprintf(ret, n, "right in both arms%s",
                       r->modelled ? "; times of this runtime are modelled, so none "
                                     "was compared"
                                   : "; no time was compared");
    }
}

static void removed_words(const struct wf_gate_row *row, char *ret, size_t n)
{
    (void)snprintf(ret, n, "only the base has this kernel%s",
                   row->red ? ": red by --strict or the policy" : "");
}

static void not_supported_words(const struct wf_gate_row *row, char *ret, size_t n)
{
    const char *text =
        report_text(report_object(row->telling, "candidate"), "answer_text");
    (void)snprintf(ret, n, "%s%.300s",
                   row->about->refused != NULL ? row->about->refused
                                               : "neither arm does this case",
                   text[0] != '\0' && row->about->refused == NULL ? ": " : "");
    if (row->about->refused == NULL) {
        const size_t used = strlen(ret);
        (void)snprintf(ret + used, n - used, "%.250s", text);
    }
}

static void say(const struct wf_gate_report *r,
                const struct wf_gate_row *row,
                char *ret,
                size_t n)
{
    switch (row->finding) {
    case WF_GATE_IS_WRONG:
        wrong_words(row, ret, n);
        return;
    case WF_GATE_IS_SLOWER:
    case WF_GATE_IS_IMPROVED:
    case WF_GATE_IS_PASS:
        time_words(r, row, ret, n);
        return;
    case WF_GATE_IS_REMOVED:
        removed_words(row, ret, n);
        return;
    case WF_GATE_IS_BROKEN:
        broken_words(r, row, ret, n);
        return;
    case WF_GATE_IS_UNDECIDED:
        undecided_words(row, ret, n);
        return;
    case WF_GATE_IS_NEW:
    case WF_GATE_IS_ANSWER:
        answer_words(r, row, ret, n);
        return;
    case WF_GATE_IS_NOT_SUPPORTED:
        not_supported_words(row, ret, n);
        return;
    case WF_GATE_IS_UNCHANGED:
        (void)snprintf(ret, n, "same code, arguments and inputs: not launched");
        return;
    case WF_GATE_IS_OPEN:
    case WF_GATE_FINDING_COUNT:
        break;
    }
    (void)snprintf(ret, n, "the gate is not over");
}

#define TELLING_REJECTIONS 6u

/* A candidate that takes the clock down has its slow blocks rejected: whose slots were
 * the slower ones tells it from a device that throttles by itself. */
static void say_rejected(struct wf_gate_row *row)
{
    const size_t used = strlen(row->words);
    const size_t n = row->rejected;
    const bool decided_by_time = row->finding == WF_GATE_IS_SLOWER ||
                                 row->finding == WF_GATE_IS_PASS ||
                                 row->finding == WF_GATE_IS_UNDECIDED ||
                                 row->figures.reason == WF_GATE_REASON_BLOCKS_LOST;
    if (n == 0 || !decided_by_time) {
        return;
    }
    const bool suspect = n >= TELLING_REJECTIONS && 8 * row->rejected_slower >= 7 * n;
    (void)snprintf(row->words + used, sizeof(row->words) - used,
                   "; the candidate was the slower one in %zu of %zu rejected blocks%s",
                   row->rejected_slower, n,
                   suspect ? ": it may be what takes the clock down" : "");
}

/* What the waiver does, behind the words. */
static void say_waiver(struct wf_gate_row *row)
{
    const size_t used = strlen(row->words);
    char *to = row->words + used;
    const size_t n = sizeof(row->words) - used;
    const struct wf_gate_waiver *w = row->waiver;
    if (w == NULL) {
        return;
    }
    if (row->waived == WF_GATE_WAIVED) {
        (void)snprintf(to, n, "; waived by %.60s until %s: %.150s", w->author,
                       w->expires, w->reason);
    } else if (row->waived == WF_GATE_WAIVER_EXPIRED) {
        (void)snprintf(to, n, "; the waiver of %.60s expired on %s", w->author,
                       w->expires);
    } else {
        (void)snprintf(to, n, "; beyond the waiver of %.60s, which ends at %.3g %%",
                       w->author, 100 * w->limit);
    }
}

void report_words(const struct wf_gate_report *r, struct wf_gate_row *row)
{
    say(r, row, row->words, sizeof(row->words));
    say_rejected(row);
    say_waiver(row);
}

/* --- of the whole gate --- */

/* The margin covers only what has been measured. */
static void say_unknown_tau(struct wf_gate_report *r)
{
    const size_t used = strlen(r->guarantee);
    size_t timed = 0, unknown = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        const bool is_timed = r->row[i].figures.blocks > 0;
        timed += is_timed;
        unknown += is_timed && !(r->row[i].figures.margins.tau > 0);
    }
    if (unknown > 0) {
        (void)snprintf(r->guarantee + used, sizeof(r->guarantee) - used,
                       " For %zu of %zu pairs no tau is known here: an A/A gate "
                       "(--same) measures it.",
                       unknown, timed);
    }
}

void report_guarantee(struct wf_gate_report *r)
{
    const double alpha = report_number(report_object(r->header, "rule"), "alpha");
    if (!r->measured) {
        (void)snprintf(
            r->guarantee, sizeof(r->guarantee), "Answers alone were judged: %s.",
            r->modelled ? "times on this runtime are modelled, and a model's "
                          "times are no evidence of a regression"
                        : "nothing is said of times");
        return;
    }
    (void)snprintf(
        r->guarantee, sizeof(r->guarantee),
        "A gate without a true regression beyond the margins is red at most "
        "once in %.4g, over all its pairs together; that holds for any noise "
        "inside a process. Effects of process starts and code layout are "
        "measured (tau) and covered by the margin (d0 >= 3 tau) and the sign "
        "process.",
        1 / alpha);
    say_unknown_tau(r);
}

const char *wf_gate_margin_source(const struct wf_gate_report *r, size_t pair)
{
    const struct wf_json *pairs = wf_json_find(r->header, "pairs");
    const struct wf_json *p = pairs != NULL ? wf_json_at(pairs, pair) : NULL;
    const char *s = report_text(report_object(p, "margins"), "source");
    return s[0] != '\0' ? s : "default";
}

void report_device(const struct wf_gate_report *r, char *ret, size_t n)
{
    const struct wf_json *d = r->device_count > 0 ? r->device[0].facts : NULL;
    const char *name = report_text(d, "name");
    const char *driver = report_text(d, "driver");
    if (d == NULL) {
        (void)snprintf(ret, n, "%s", report_text(r->header, "runtime"));
    } else if (r->device_count > 1) {
        (void)snprintf(ret, n, "%zu devices, the first %.60s (%.40s)", r->device_count,
                       report_text(d, "id"), report_text(d, "model"));
    } else {
        (void)snprintf(ret, n, "%.90s: %.100s%s%.60s", report_text(d, "id"),
                       name[0] != '\0' ? name : report_text(d, "model"),
                       driver[0] != '\0' ? ", driver " : "", driver);
    }
}
