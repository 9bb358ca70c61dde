/* A report from a record: findings, what is red, what to note. The words are in
 * report_words.c. */
#include "gate/report.h"

#include "gate/report_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text;
    bool folded;
} findings[] = {
#define X(name, text, folded) { text, folded },
    WF_GATE_FINDINGS(X)
#undef X
};

const char *wf_gate_finding_name(enum wf_gate_finding f)
{
    return findings[f].text;
}

bool wf_gate_finding_is_folded(enum wf_gate_finding f)
{
    return findings[f].folded;
}

static const struct {
    const char *text, *headline;
} outcomes[] = {
#define X(name, text, headline) { text, headline },
    WF_GATE_OUTCOMES(X)
#undef X
};

const char *wf_gate_outcome_name(enum wf_gate_outcome o)
{
    return outcomes[o].text;
}

const char *wf_gate_outcome_headline(enum wf_gate_outcome o)
{
    return outcomes[o].headline;
}

/* --- one row --- */

static enum wf_gate_finding find_passed(const struct wf_gate_row *row)
{
    if (row->figures.verdict == WF_GATE_VERDICT_IMPROVED) {
        return WF_GATE_IS_IMPROVED;
    }
    if (row->about->kernel[0] == NULL) {
        return WF_GATE_IS_NEW;
    }
    return row->figures.reason == WF_GATE_REASON_ANSWER_ONLY ? WF_GATE_IS_ANSWER
                                                             : WF_GATE_IS_PASS;
}

static enum wf_gate_finding find_undecided(enum wf_gate_reason why)
{
    if (wf_gate_reason_is_infrastructure(why)) {
        return WF_GATE_IS_BROKEN;
    }
    return why == WF_GATE_REASON_NOT_SUPPORTED ? WF_GATE_IS_NOT_SUPPORTED
                                               : WF_GATE_IS_UNDECIDED;
}

static enum wf_gate_finding classify(const struct wf_gate_row *row)
{
    if (row->about->kernel[1] == NULL) {
        return WF_GATE_IS_REMOVED;
    }
    switch (row->figures.verdict) {
    case WF_GATE_VERDICT_FAIL:
        return row->figures.reason == WF_GATE_REASON_WRONG ? WF_GATE_IS_WRONG
                                                           : WF_GATE_IS_SLOWER;
    case WF_GATE_VERDICT_UNCHANGED:
        return WF_GATE_IS_UNCHANGED;
    case WF_GATE_VERDICT_PASS:
    case WF_GATE_VERDICT_IMPROVED:
        return find_passed(row);
    case WF_GATE_VERDICT_INCONCLUSIVE:
        return find_undecided(row->figures.reason);
    case WF_GATE_VERDICT_OPEN:
    case WF_GATE_VERDICT_COUNT:
        break;
    }
    return WF_GATE_IS_OPEN;
}

static const char *kernel_of(const struct wf_gate_pair *p)
{
    return p->kernel[1] != NULL ? p->kernel[1] : p->kernel[0];
}

static bool waivable(enum wf_gate_finding f, enum wf_gate_waivable *ret)
{
    *ret = f == WF_GATE_IS_WRONG    ? WF_GATE_WAIVE_WRONG
           : f == WF_GATE_IS_SLOWER ? WF_GATE_WAIVE_SLOWER
                                    : WF_GATE_WAIVE_REMOVED;
    return f == WF_GATE_IS_WRONG || f == WF_GATE_IS_SLOWER || f == WF_GATE_IS_REMOVED;
}

static void judge_row(struct wf_gate_report *r, struct wf_gate_row *row, bool *used)
{
    enum wf_gate_waivable what;
    size_t index = 0;
    if (!waivable(row->finding, &what)) {
        return;
    }
    row->waived = wf_gate_policy_waive(r->policy, what, row->about->case_name,
                                       kernel_of(row->about), row->figures.effect,
                                       report_text(r->header, "created"), &index);
    if (row->waived != WF_GATE_NOT_WAIVED) {
        row->waiver = wf_gate_policy_waiver(r->policy, index);
        used[index] = true;
    }
    const bool matters = row->finding != WF_GATE_IS_REMOVED || r->strict ||
                         wf_gate_policy_removed_is_red(r->policy);
    row->red = matters && row->waived != WF_GATE_WAIVED;
    r->waived += row->waived == WF_GATE_WAIVED;
    r->red += row->red;
    r->red_count[row->finding] += row->red;
}

static enum wf_status fill_rows(struct wf_gate_report *r,
                                struct wf_gate_record *record,
                                bool *used,
                                struct wf_error *err)
{
    const size_t n = wf_gate_record_count(record);
    r->row = wf_calloc(n + 1, sizeof(*r->row));
    if (r->row == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a report");
    }
    for (size_t i = 0; i < n; i++) {
        struct wf_gate_row *row = &r->row[r->row_count];
        row->pair = i;
        row->about = wf_gate_record_pair(record, i);
        wf_gate_figures(wf_gate_record_gate(record), i, &row->figures);
        if (row->about->role != WF_GATE_CASE) {
            continue;
        }
        row->telling = wf_gate_record_telling(record, i);
        row->finding = classify(row);
        judge_row(r, row, used);
        r->count[row->finding]++;
        r->compared += row->finding != WF_GATE_IS_UNCHANGED &&
                       row->figures.reason != WF_GATE_REASON_NOT_SUPPORTED;
        r->row_count++;
    }
    return WF_OK;
}

/* Red ones first, then by finding; the larger effect first. */
static int compare_rows(const void *a, const void *b)
{
    const struct wf_gate_row *x = a, *y = b;
    if (x->red != y->red) {
        return x->red ? -1 : 1;
    }
    if (x->finding != y->finding) {
        return x->finding < y->finding ? -1 : 1;
    }
    const double ex = isnan(x->figures.effect) ? 0 : fabs(x->figures.effect);
    const double ey = isnan(y->figures.effect) ? 0 : fabs(y->figures.effect);
    if (ex > ey || ex < ey) {
        return ex > ey ? -1 : 1;
    }
    return x->pair < y->pair ? -1 : x->pair > y->pair;
}

/* --- what it took --- */

static int64_t integer(const struct wf_json *obj, const char *key)
{
    int64_t v = 0;
    const struct wf_json *m = wf_json_find(obj, key);
    return m != NULL && wf_json_as_i64(m, &v) ? v : 0;
}

/* "total", or the sum of the phases where nobody added them up. */
static int64_t time_of_phases(const struct wf_json *pair)
{
    int64_t sum = 0;
    const struct wf_json *phases = report_object(pair, "phases");
    if (phases == NULL || wf_json_find(phases, "total") != NULL) {
        return phases != NULL ? integer(phases, "total") : 0;
    }
    for (const struct wf_json *p = wf_json_first(phases); p != NULL;
         p = wf_json_next(p)) {
        int64_t v = 0;
        sum += wf_json_as_i64(p, &v) && v > 0 ? v : 0;
    }
    return sum;
}

/* A slot is seven batches (docs/measuring.md). */
#define BATCHES 7u
#define SLOTS   4u

/* What the rejected blocks say of the arms. */
static void take_rejected(struct wf_gate_row *row, const struct wf_json *blocks)
{
    for (const struct wf_json *b = blocks != NULL ? wf_json_first(blocks) : NULL;
         b != NULL; b = wf_json_next(b)) {
        const struct wf_json *y = wf_json_find(b, "y");
        const int64_t mask = integer(b, "mask");
        double sum[2] = { 0, 0 };
        if (report_text(b, "rejected")[0] == '\0' || y == NULL) {
            continue;
        }
        for (size_t i = 0; i < SLOTS; i++) {
            const struct wf_json *item = wf_json_at(y, i);
            double v = (double)NAN;
            (void)(item != NULL && wf_json_as_f64(item, &v));
            sum[mask >> i & 1] += v;
        }
        row->rejected += isfinite(sum[0] + sum[1]) ? 1 : 0;
        row->rejected_slower += sum[1] > sum[0];
    }
}

static void take_pair_line(struct wf_gate_report *r,
                           struct wf_gate_row *const *by_pair,
                           const struct wf_json *line)
{
    const struct wf_json *blocks = wf_json_find(line, "blocks");
    const size_t n = blocks != NULL ? wf_json_count(blocks) : 0;
    const uint64_t batch = (uint64_t)integer(line, "launches");
    size_t index = 0;
    r->bursts += n * SLOTS;
    r->launches += n * SLOTS * BATCHES * batch;
    if (wf_gate_record_find(r->record, report_text(line, "pair"), &index) &&
        by_pair[index] != NULL) {
        by_pair[index]->took_ns += time_of_phases(line);
        take_rejected(by_pair[index], blocks);
        by_pair[index]->launches += n * SLOTS * BATCHES * batch;
    }
}

static void take_line(struct wf_gate_report *r,
                      struct wf_gate_row *const *by_pair,
                      const struct wf_json *line)
{
    const char *kind = report_text(line, "kind");
    if (strcmp(kind, "pair") == 0) {
        take_pair_line(r, by_pair, line);
    } else if (strcmp(kind, "round") == 0) {
        r->rounds++;
        r->void_rounds += report_text(line, "void")[0] != '\0';
        r->cut_rounds += report_text(line, "cut")[0] != '\0';
        r->took_ns += integer(line, "took_ns");
    } else if (strcmp(kind, "static") == 0) {
        r->statics = wf_json_find(line, "entries");
        r->static_compared = (size_t)integer(line, "compared");
    } else if (strcmp(kind, "close") == 0) {
        r->closed = report_text(line, "why");
    }
}

static enum wf_status take_lines(struct wf_gate_report *r, struct wf_error *err)
{
    const size_t n = wf_gate_record_count(r->record);
    struct wf_gate_row **by_pair = wf_calloc(n + 1, sizeof(struct wf_gate_row *));
    if (by_pair == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a report");
    }
    for (size_t i = 0; i < r->row_count; i++) {
        by_pair[r->row[i].pair] = &r->row[i];
    }
    for (size_t i = 0; i < wf_gate_record_line_count(r->record); i++) {
        take_line(r, by_pair, wf_gate_record_line(r->record, i));
    }
    free(by_pair);
    return WF_OK;
}

static enum wf_gate_waived waive_static(const struct wf_gate_report *r,
                                        const struct wf_json *entry,
                                        size_t *ret_index)
{
    return wf_gate_policy_waive(r->policy, WF_GATE_WAIVE_STATIC, "",
                                report_text(entry, "kernel"), (double)NAN,
                                report_text(r->header, "created"), ret_index);
}

bool report_static_is_red(const struct wf_gate_report *r, const struct wf_json *entry)
{
    size_t index = 0;
    return report_flag(entry, "red", false) &&
           waive_static(r, entry, &index) != WF_GATE_WAIVED;
}

static void count_statics(struct wf_gate_report *r, bool *used)
{
    if (r->statics == NULL) {
        return;
    }
    for (const struct wf_json *e = wf_json_first(r->statics); e != NULL;
         e = wf_json_next(e)) {
        size_t index = 0;
        if (!report_flag(e, "red", false)) {
            continue;
        }
        const enum wf_gate_waived w = waive_static(r, e, &index);
        if (w != WF_GATE_NOT_WAIVED) {
            used[index] = true;
        }
        r->waived += w == WF_GATE_WAIVED;
        r->static_red += w != WF_GATE_WAIVED;
    }
}

/* --- devices --- */

static enum wf_status fill_devices(struct wf_gate_report *r,
                                   struct wf_gate_record *record,
                                   struct wf_error *err)
{
    const struct wf_json *facts = wf_json_find(r->header, "devices");
    const int64_t groups = integer(r->header, "groups");
    r->device_count = groups > 0 && groups < 100000 ? (size_t)groups : 1;
    r->device = wf_calloc(r->device_count, sizeof(*r->device));
    if (r->device == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a report");
    }
    for (size_t i = 0; i < r->device_count; i++) {
        struct wf_gate_device_view *d = &r->device[i];
        d->group = (int)i;
        d->facts = facts != NULL ? wf_json_at(facts, i) : NULL;
        r->modelled = r->modelled || report_flag(d->facts, "times_modelled", false);
        d->good = wf_gate_record_device_is_good(record, (int)i, d->why, sizeof(d->why));
    }
    for (size_t i = 0; i < wf_gate_record_count(record); i++) {
        const struct wf_gate_pair *p = wf_gate_record_pair(record, i);
        if (p->role != WF_GATE_CASE && (size_t)p->device < r->device_count) {
            r->device[p->device].has_sentinels = true;
        }
    }
    return WF_OK;
}

/* --- notes and the outcome --- */

enum wf_status report_note(struct wf_gate_report *r,
                           struct wf_error *err,
                           const char *fmt,
                           ...)
{
    char **grown = wf_realloc_array(r->note, r->note_count + 1, sizeof(*grown));
    char *line = NULL;
    va_list ap;
    va_start(ap, fmt);
    const int len = vasprintf(&line, fmt, ap);
    va_end(ap);
    if (grown != NULL) {
        r->note = grown;
    }
    if (grown == NULL || len < 0) {
        if (len >= 0) {
            free(line);
        }
        return wf_errorf(err, WF_ENOMEM, "no memory for a report");
    }
    r->note[r->note_count++] = line;
    return WF_OK;
}

/* A gate that found nothing to judge must not pass. */
static bool anything_judged(const struct wf_gate_report *r)
{
    return r->row_count >
           r->count[WF_GATE_IS_NOT_SUPPORTED] + r->count[WF_GATE_IS_REMOVED];
}

static enum wf_gate_outcome outcome_of(const struct wf_gate_report *r)
{
    for (size_t i = 0; i < r->row_count; i++) {
        if (r->row[i].figures.reason == WF_GATE_REASON_CANCELLED) {
            return WF_GATE_OUTCOME_CANCELLED;
        }
    }
    if (r->red + r->static_red > 0) {
        return WF_GATE_OUTCOME_RED;
    }
    if (r->count[WF_GATE_IS_BROKEN] + r->count[WF_GATE_IS_OPEN] > 0 ||
        !anything_judged(r)) {
        return WF_GATE_OUTCOME_INFRASTRUCTURE;
    }
    return r->strict && r->count[WF_GATE_IS_UNDECIDED] > 0 ? WF_GATE_OUTCOME_NO_VERDICT
                                                           : WF_GATE_OUTCOME_GREEN;
}

static void add_headline(char *ret, size_t n, size_t count, const char *what)
{
    if (count > 0) {
        const size_t used = strlen(ret);
        (void)snprintf(ret + used, n - used, "%s%zu %s", used > 0 ? ", " : "", count,
                       what);
    }
}

static void headline(struct wf_gate_report *r)
{
    char *h = r->headline;
    const size_t n = sizeof(r->headline);
    const size_t all = r->row_count;
    h[0] = '\0';
    if (all > 0 && r->count[WF_GATE_IS_UNCHANGED] == all) {
        (void)snprintf(h, n, "unchanged: all %zu pairs run the same code", all);
        return;
    }
    if (r->outcome == WF_GATE_OUTCOME_INFRASTRUCTURE && !anything_judged(r)) {
        (void)snprintf(h, n, "no verdict: nothing could be compared");
        return;
    }
    if (r->outcome == WF_GATE_OUTCOME_RED) {
        add_headline(h, n, r->red_count[WF_GATE_IS_WRONG], "wrong");
        add_headline(h, n, r->red_count[WF_GATE_IS_SLOWER], "slower");
        add_headline(h, n, r->red_count[WF_GATE_IS_REMOVED], "removed");
        add_headline(h, n, r->static_red, "static figures worse");
        const size_t used = strlen(h);
        (void)snprintf(h + used, n - used, " of %zu", all);
        add_headline(h, n, r->waived, "waived");
        return;
    }
    (void)snprintf(h, n, "%s", wf_gate_outcome_headline(r->outcome));
    add_headline(h, n, r->count[WF_GATE_IS_IMPROVED], "improved");
    add_headline(h, n, r->count[WF_GATE_IS_UNDECIDED], "inconclusive");
    add_headline(h, n, r->count[WF_GATE_IS_BROKEN] + r->count[WF_GATE_IS_OPEN],
                 "not decided");
    add_headline(h, n, r->waived, "waived");
}

static enum wf_status build(struct wf_gate_report *r,
                            struct wf_gate_record *record,
                            bool strict,
                            bool *used,
                            struct wf_error *err)
{
    r->strict = strict || wf_gate_policy_strict(r->policy);
    r->measured = report_flag(r->header, "measured", true);
    r->closed = "";
    enum wf_status status = fill_rows(r, record, used, err);
    if (status == WF_OK) {
        status = take_lines(r, err);
    }
    if (status == WF_OK) {
        status = fill_devices(r, record, err);
    }
    if (status == WF_OK) {
        count_statics(r, used);
        qsort(r->row, r->row_count, sizeof(*r->row), compare_rows);
        status = report_notes(r, used, err);
    }
    for (size_t i = 0; i < r->row_count && status == WF_OK; i++) {
        report_words(r, &r->row[i]);
    }
    r->outcome = outcome_of(r);
    headline(r);
    report_baseline(r);
    report_guarantee(r);
    return status;
}

enum wf_status wf_gate_report_create(struct wf_gate_record *record,
                                     bool strict,
                                     struct wf_gate_report **ret,
                                     struct wf_error *err)
{
    bool *used = NULL;
    struct wf_gate_report *r = wf_calloc(1, sizeof(*r));
    if (r == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a report");
    }
    r->record = record;
    r->header = wf_gate_record_header(record);
    enum wf_status status = wf_gate_policy_parse(
        wf_json_find(r->header, "policy"), "the record's policy", &r->policy, err);
    if (status == WF_OK) {
        used = wf_calloc(wf_gate_policy_waiver_count(r->policy) + 1, sizeof(*used));
        status = used != NULL ? build(r, record, strict, used, err)
                              : wf_errorf(err, WF_ENOMEM, "no memory for a report");
    }
    free(used);
    if (status != WF_OK) {
        wf_gate_report_free(r);
        return status;
    }
    *ret = r;
    return WF_OK;
}

void wf_gate_report_free(struct wf_gate_report *r)
{
    if (r != NULL) {
        for (size_t i = 0; i < r->note_count; i++) {
            free(r->note[i]);
        }
        free(r->note);
        free(r->row);
        free(r->device);
        wf_gate_policy_free(r->policy);
        free(r);
    }
}
