#include "cli/gate_view.h"

#include "cli/error_view.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/table.h"
#include "core/parse.h"
#include "gate/static.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NARROW 100 /* characters: below it the margins' source has no column */

int gate_exit_of(const struct wf_gate_report *r)
{
    switch (r->outcome) {
    case WF_GATE_OUTCOME_GREEN:
        return WF_EXIT_GOOD;
    case WF_GATE_OUTCOME_RED:
        return WF_EXIT_BAD;
    case WF_GATE_OUTCOME_NO_VERDICT:
        return WF_EXIT_NO_VERDICT;
    case WF_GATE_OUTCOME_CANCELLED:
        return WF_EXIT_INTERRUPTED;
    case WF_GATE_OUTCOME_INFRASTRUCTURE:
    case WF_GATE_OUTCOME_COUNT:
        break;
    }
    return WF_EXIT_INFRA;
}

static bool is_narrow(void)
{
    struct winsize size;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
           size.ws_col > 0 && size.ws_col < NARROW;
}

static bool is_chosen(const struct wf_gate_row *row, const struct gate_view_options *o)
{
    const bool matches = o->cases == NULL || wf_glob_match(o->cases, row->about->key) ||
                         wf_glob_match(o->cases, row->about->case_name);
    const bool quiet = row->finding == WF_GATE_IS_UNCHANGED ||
                       row->finding == WF_GATE_IS_NOT_SUPPORTED;
    return matches && (o->all || !quiet);
}

static const char *kernel_name(const struct wf_gate_pair *p)
{
    return p->kernel[1] != NULL   ? p->kernel[1]
           : p->kernel[0] != NULL ? p->kernel[0]
                                  : "";
}

static void add_row(struct wf_table *t,
                    const struct wf_gate_report *r,
                    const struct wf_gate_row *row)
{
    char effect[32] = "-", interval[64] = "-", blocks[32], margins[64], d1[24],
         finding[48];
    const struct wf_gate_figures *f = &row->figures;
    if (f->blocks > 0) {
        wf_gate_format_effect(f->effect, effect, sizeof effect);
        wf_gate_format_interval(f->low, f->high, interval, sizeof interval);
    }
    (void)snprintf(blocks, sizeof blocks, "%d%s", f->blocks,
                   r->measured && f->lost > 0 ? "*" : "");
    wf_gate_format_margin(f->margins.d0, margins, sizeof margins);
    wf_gate_format_margin(f->margins.d1, d1, sizeof d1);
    (void)snprintf(strchr(margins, ' '), sizeof margins / 2, "/%s", d1);
    (void)snprintf(finding, sizeof finding, "%s%s", wf_gate_finding_name(row->finding),
                   row->waived == WF_GATE_WAIVED ? " (waived)" : "");
    const char *const cell[] = { finding,
                                 row->about->case_name,
                                 kernel_name(row->about),
                                 effect,
                                 interval,
                                 blocks,
                                 margins,
                                 wf_gate_margin_source(r, row->pair) };
    wf_table_row(t, cell);
}

static void print_table(const struct wf_gate_report *r,
                        const struct gate_view_options *o)
{
    static const char *const header[] = { "finding",  "case",    "kernel",  ">effect",
                                          "interval", ">blocks", "margins", "from" };
    const size_t columns = sizeof header / sizeof header[0];
    size_t rows = 0, lost = 0;
    struct wf_table *t = wf_table_create(header, is_narrow() ? columns - 1 : columns);
    for (size_t i = 0; i < r->row_count && t != NULL; i++) {
        if (is_chosen(&r->row[i], o)) {
            add_row(t, r, &r->row[i]);
            lost += r->measured && r->row[i].figures.lost > 0;
            rows++;
        }
    }
    if (t == NULL || (rows > 0 && !wf_table_print(t))) {
        fprintf(stderr, "wavefarm: no memory for the table\n");
    }
    if (lost > 0) {
        wf_say(
            "* some blocks were rejected or not run: effect and interval are of the others");
    }
    wf_table_free(t);
}

static const struct wf_json *result_of(const struct wf_json *record, const char *arm)
{
    const struct wf_json *a = record != NULL ? wf_json_find(record, arm) : NULL;
    const struct wf_json *v = a != NULL && wf_json_type(a) == WF_JSON_OBJECT
                                  ? wf_json_find(a, "result")
                                  : NULL;
    return v != NULL && wf_json_type(v) == WF_JSON_OBJECT ? v : NULL;
}

/* Reasons of all rows that are not simply good. */
static void print_reasons(const struct wf_gate_report *r,
                          const struct gate_view_options *o)
{
    for (size_t i = 0; i < r->row_count; i++) {
        const struct wf_gate_row *row = &r->row[i];
        if (!is_chosen(row, o) ||
            (wf_gate_finding_is_folded(row->finding) && !o->all)) {
            continue;
        }
        wf_say("%s / %s: %s", row->about->case_name, kernel_name(row->about),
               row->words);
        const struct wf_json *result = result_of(row->telling, "candidate");
        if (row->finding == WF_GATE_IS_WRONG && result != NULL) {
            wf_print_error_view(result, row->red);
        }
    }
}

static void print_statics(const struct wf_gate_report *r)
{
    const struct wf_json *e = r->statics != NULL ? wf_json_first(r->statics) : NULL;
    for (; e != NULL; e = wf_json_next(e)) {
        char line[600];
        if (wf_json_type(e) == WF_JSON_OBJECT) {
            wf_static_entry_text(e, line, sizeof line);
            wf_say("static %s", line);
        }
    }
}

static void print_counts(const struct wf_gate_report *r)
{
    printf("%zu pair%s:", r->row_count, r->row_count == 1 ? "" : "s");
    const char *separator = " ";
    for (int i = 0; i < WF_GATE_FINDING_COUNT; i++) {
        if (r->count[i] > 0) {
            printf("%s%zu %s", separator, r->count[i],
                   wf_gate_finding_name((enum wf_gate_finding)i));
            separator = ", ";
        }
    }
    printf("%s\n", r->row_count == 0 ? " none" : "");
}

static void print_devices(const struct wf_gate_report *r)
{
    for (size_t i = 0; i < r->device_count; i++) {
        const struct wf_gate_device_view *d = &r->device[i];
        if (!d->good) {
            wf_say("sentinels of device %d: FAILED: %s", d->group, d->why);
        } else if (!d->has_sentinels) {
            wf_say("no sentinels: nothing has shown that device %d sees a difference",
                   d->group);
        } else {
            wf_say("sentinels of device %d: good", d->group);
        }
    }
}

static void print_footer(const struct wf_gate_report *r)
{
    char cut[48] = "";
    if (r->cut_rounds > 0) {
        (void)snprintf(cut, sizeof cut, ", %zu cut short", r->cut_rounds);
    }
    print_counts(r);
    if (r->bursts > 0) {
        wf_say("%zu pair%s under one error rate (m); %" PRIu64 " bursts, %" PRIu64
               " launches in %zu rounds (%zu void%s), %.1f s",
               r->compared, r->compared == 1 ? "" : "s", r->bursts, r->launches,
               r->rounds, r->void_rounds, cut, (double)r->took_ns / 1e9);
    } else if (r->rounds > 0) {
        wf_say("%zu rounds (%zu void%s), %.1f s", r->rounds, r->void_rounds, cut,
               (double)r->took_ns / 1e9);
    }
    if (r->bursts > 0) {
        print_devices(r);
    }
    if (r->static_compared > 0) {
        wf_say("%zu static figures compared, %zu red", r->static_compared,
               r->static_red);
    }
    if (r->closed[0] != '\0') {
        wf_say("ended early: %s", r->closed);
    }
    wf_say("%s", r->baseline);
    for (size_t i = 0; i < r->note_count; i++) {
        wf_say("note: %s", r->note[i]);
    }
    if (r->rounds > 0) {
        wf_say("%s", r->guarantee);
    }
    wf_say("%s: %s%s", wf_gate_outcome_name(r->outcome), r->headline,
           r->modelled ? " (modelled)" : "");
}

void gate_view_print(const struct wf_gate_report *r, const struct gate_view_options *o)
{
    struct gate_view_options shown = *o;
    /* Where no case was done at all, why not is what matters. */
    shown.all = o->all || r->count[WF_GATE_IS_NOT_SUPPORTED] == r->row_count;
    print_table(r, &shown);
    print_reasons(r, &shown);
    print_statics(r);
    print_footer(r);
}
