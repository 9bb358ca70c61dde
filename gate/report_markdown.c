/* A report as one comment for a pull request. Everything that others wrote (names of
 * cases and kernels, diagnoses, reasons) is escaped: it must not become a table's bar,
 * a tag, a link or a call for somebody's attention. */
#include "gate/report_internal.h"

#include "core/printable.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUT_NOTE_BYTES 400u /* what is said when rows are left out */

/* Character references cannot be structure in Markdown. '@' and '#' are looked at once
 * more behind the rendering: a space of no width takes their meaning away. */
static const char *reference(char c, bool before_slash)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '|':
        return "&#124;";
    case '`':
        return "&#96;";
    case '*':
        return "&#42;";
    case '_':
        return "&#95;";
    case '[':
        return "&#91;";
    case ']':
        return "&#93;";
    case '~':
        return "&#126;";
    case '$':
        return "&#36;";
    case '\\':
        return "&#92;";
    case '@':
        return "&#64;&#8203;";
    case '#':
        return "&#35;&#8203;";
    case ':':
        return before_slash ? "&#58;&#8203;" : NULL;
    default:
        return NULL;
    }
}

static enum wf_status put_escaped(struct wf_buf *out,
                                  const char *text,
                                  struct wf_error *err)
{
    char *copy = wf_strdup(text);
    if (copy == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a report");
    }
    wf_make_printable(copy);
    enum wf_status status = WF_OK;
    for (const char *s = copy; *s != '\0' && status == WF_OK; s++) {
        const char *r = reference(*s, s[1] == '/');
        status = r != NULL ? wf_buf_puts(out, r, err) : wf_buf_add(out, s, 1, err);
    }
    free(copy);
    return status;
}

/* `before`, the escaped text, `after`. */
static enum wf_status put(struct wf_buf *out,
                          const char *before,
                          const char *text,
                          const char *after,
                          struct wf_error *err)
{
    enum wf_status status = wf_buf_puts(out, before, err);
    status = status == WF_OK ? put_escaped(out, text, err) : status;
    return status == WF_OK ? wf_buf_puts(out, after, err) : status;
}

/* --- tables --- */

static const char table_head[] =
    "| case | kernel | finding | effect | interval | blocks | why |\n"
    "|---|---|---|---:|---|---:|---|\n";

static const char *kernel_name(const struct wf_gate_pair *p)
{
    return p->kernel[1] != NULL   ? p->kernel[1]
           : p->kernel[0] != NULL ? p->kernel[0]
                                  : "";
}

static enum wf_status put_row(const struct wf_gate_row *row,
                              struct wf_buf *out,
                              struct wf_error *err)
{
    char effect[32] = "", interval[64] = "";
    const struct wf_gate_figures *f = &row->figures;
    const char *finding = wf_gate_finding_name(row->finding);
    if (f->blocks > 0) {
        wf_gate_format_effect(f->effect, effect, sizeof effect);
        wf_gate_format_interval(f->low, f->high, interval, sizeof interval);
    }
    enum wf_status status =
        put(out, "| <code>", row->about->case_name, "</code> ", err);
    if (status == WF_OK) {
        status = put(out, "| <code>", kernel_name(row->about), "</code> ", err);
    }
    if (status == WF_OK) {
        status = wf_buf_printf(out, err, "| %s%s%s%s | %s | %s | %d ",
                               row->red ? "**" : "", finding, row->red ? "**" : "",
                               row->waived == WF_GATE_WAIVED ? ", waived" : "", effect,
                               interval, f->blocks);
    }
    return status == WF_OK ? put(out, "| ", row->words, " |\n", err) : status;
}

/* Rows of which wf_gate_finding_is_folded is `folded`, for as long as they fit. */
static enum wf_status put_rows(const struct wf_gate_report *r,
                               bool folded,
                               size_t room,
                               struct wf_buf *out,
                               size_t *ret_cut,
                               struct wf_error *err)
{
    struct wf_buf line = WF_BUF_INIT;
    enum wf_status status = WF_OK;
    *ret_cut = 0;
    for (size_t i = 0; i < r->row_count && status == WF_OK; i++) {
        const struct wf_gate_row *row = &r->row[i];
        if (wf_gate_finding_is_folded(row->finding) != folded) {
            continue;
        }
        wf_buf_clear(&line);
        status = put_row(row, &line, err);
        if (status == WF_OK && *ret_cut == 0 && out->len + line.len <= room) {
            status = wf_buf_puts(out, wf_buf_cstr(&line), err);
        } else {
            ++*ret_cut;
        }
    }
    wf_buf_free(&line);
    return status;
}

static size_t count_rows(const struct wf_gate_report *r, bool folded)
{
    size_t n = 0;
    for (int i = 0; i < WF_GATE_FINDING_COUNT; i++) {
        if (wf_gate_finding_is_folded((enum wf_gate_finding)i) == folded) {
            n += r->count[i];
        }
    }
    return n;
}

static enum wf_status put_cut(size_t cut, struct wf_buf *out, struct wf_error *err)
{
    return cut == 0 ? WF_OK
                    : wf_buf_printf(out, err,
                                    "\n%zu rows are left out here: a comment holds no "
                                    "more. `wavefarm gate show` has them all.\n",
                                    cut);
}

static enum wf_status put_what_matters(const struct wf_gate_report *r,
                                       size_t room,
                                       struct wf_buf *out,
                                       struct wf_error *err)
{
    size_t cut = 0;
    if (count_rows(r, false) == 0) {
        return WF_OK;
    }
    enum wf_status status = wf_buf_puts(out, table_head, err);
    status = status == WF_OK ? put_rows(r, false, room, out, &cut, err) : status;
    status = status == WF_OK ? put_cut(cut, out, err) : status;
    return status == WF_OK ? wf_buf_puts(out, "\n", err) : status;
}

static enum wf_status put_the_rest(const struct wf_gate_report *r,
                                   size_t room,
                                   struct wf_buf *out,
                                   struct wf_error *err)
{
    size_t cut = 0;
    const size_t n = count_rows(r, true);
    if (n == 0) {
        return WF_OK;
    }
    enum wf_status status = wf_buf_printf(
        out, err,
        "<details><summary>%zu more: %zu pass, %zu answer right, %zu not "
        "supported, %zu unchanged</summary>\n\n%s",
        n, r->count[WF_GATE_IS_PASS], r->count[WF_GATE_IS_ANSWER],
        r->count[WF_GATE_IS_NOT_SUPPORTED], r->count[WF_GATE_IS_UNCHANGED], table_head);
    status = status == WF_OK ? put_rows(r, true, room, out, &cut, err) : status;
    status = status == WF_OK ? put_cut(cut, out, err) : status;
    return status == WF_OK ? wf_buf_puts(out, "\n</details>\n\n", err) : status;
}

/* --- static figures --- */

#define STATIC_ROWS 40u

static enum wf_status put_static(const struct wf_json *e,
                                 struct wf_buf *out,
                                 struct wf_error *err)
{
    char figures[128];
    (void)snprintf(figures, sizeof figures, " | %.6g | %.6g | ",
                   report_number(e, "base"), report_number(e, "candidate"));
    enum wf_status status =
        put(out, "| <code>", report_text(e, "kernel"), "</code> ", err);
    status = status == WF_OK ? put(out, "| ", report_text(e, "figure"), figures, err)
                             : status;
    return status == WF_OK ? put(out, "", report_text(e, "why"), " |\n", err) : status;
}

static enum wf_status put_statics(const struct wf_gate_report *r,
                                  struct wf_buf *out,
                                  struct wf_error *err)
{
    size_t told = 0;
    if (r->static_red == 0) {
        return WF_OK;
    }
    enum wf_status status = wf_buf_puts(
        out,
        "| kernel | static figure | base | candidate | why |\n|---|---|---:|---:|---|\n",
        err);
    for (const struct wf_json *e = wf_json_first(r->statics);
         e != NULL && status == WF_OK; e = wf_json_next(e)) {
        if (report_static_is_red(r, e) && told < STATIC_ROWS) {
            status = put_static(e, out, err);
            told++;
        }
    }
    status = status == WF_OK ? put_cut(r->static_red - told, out, err) : status;
    return status == WF_OK ? wf_buf_puts(out, "\n", err) : status;
}

/* --- provenance and what it is worth --- */

static enum wf_status put_compilers(const struct wf_json *provenance,
                                    struct wf_buf *out,
                                    struct wf_error *err)
{
    const struct wf_json *kernels = report_object(provenance, "kernels");
    const char *first = "";
    size_t others = 0;
    for (const struct wf_json *k = kernels != NULL ? wf_json_first(kernels) : NULL;
         k != NULL; k = wf_json_next(k)) {
        const char *v = report_text(k, "compiler_version");
        first = first[0] == '\0' ? v : first;
        others += strcmp(v, first) != 0;
    }
    enum wf_status status = WF_OK;
    if (first[0] != '\0') {
        status = put(out, ", ", first, others > 0 ? " and others" : "", err);
    }
    return status;
}

static enum wf_status put_pack(const struct wf_gate_report *r,
                               const char *arm,
                               struct wf_buf *out,
                               struct wf_error *err)
{
    char text[160];
    const struct wf_json *pack = report_object(report_object(r->header, "packs"), arm);
    const struct wf_json *p = report_object(pack, "provenance");
    const char *commit = report_text(p, "commit");
    (void)snprintf(text, sizeof text, "- %s: <code>%.12s</code> (", arm,
                   report_text(pack, "id"));
    enum wf_status status = put(out, text, report_text(pack, "name"), ")", err);
    if (status == WF_OK) {
        status = commit[0] != '\0' ? put(out, ", commit <code>", commit, "</code>", err)
                                   : wf_buf_puts(out, ", commit not known", err);
    }
    if (status == WF_OK && report_flag(p, "dirty", false)) {
        status = wf_buf_puts(out, " with changes that are not in it", err);
    }
    status = status == WF_OK ? put_compilers(p, out, err) : status;
    return status == WF_OK ? wf_buf_puts(out, "\n", err) : status;
}

static enum wf_status put_devices(const struct wf_gate_report *r,
                                  struct wf_buf *out,
                                  struct wf_error *err)
{
    char device[256];
    report_device(r, device, sizeof device);
    enum wf_status status = put(out, "- device: ", device, "\n", err);
    for (size_t i = 0; i < r->device_count && status == WF_OK; i++) {
        const struct wf_gate_device_view *d = &r->device[i];
        if (d->has_sentinels || !d->good) {
            char head[64];
            (void)snprintf(head, sizeof head, "- sentinels of device %d: ", d->group);
            status = put(out, head, d->good ? "good" : d->why, "\n", err);
        }
    }
    return status;
}

static enum wf_status put_tail(const struct wf_gate_report *r,
                               const char *link,
                               struct wf_buf *out,
                               struct wf_error *err)
{
    enum wf_status status =
        wf_buf_puts(out,
                    "<details><summary>what was compared, and what it is worth"
                    "</summary>\n\n",
                    err);
    status = status == WF_OK ? put_pack(r, "base", out, err) : status;
    status = status == WF_OK ? put_pack(r, "candidate", out, err) : status;
    status =
        status == WF_OK ? put(out, "- baseline: ", r->baseline, "\n", err) : status;
    status = status == WF_OK ? put_devices(r, out, err) : status;
    for (size_t i = 0; i < r->note_count && status == WF_OK; i++) {
        status = put(out, "- note: ", r->note[i], "\n", err);
    }
    if (status == WF_OK) {
        status = wf_buf_printf(
            out, err,
            "- %zu pairs under one error rate, %llu bursts, %llu launches, %zu rounds (%zu void), "
            "%.0f s; gate <code>%.16s</code>\n\n%s\n\n</details>\n",
            r->compared, (unsigned long long)r->bursts, (unsigned long long)r->launches,
            r->rounds, r->void_rounds, (double)r->took_ns / 1e9,
            report_text(r->header, "gate"), r->guarantee);
    }
    return status == WF_OK && link != NULL
               ? put(out, "\nThe whole record: ", link, "\n", err)
               : status;
}

static enum wf_status put_head(const struct wf_gate_report *r,
                               struct wf_buf *out,
                               struct wf_error *err)
{
    enum wf_status status = wf_buf_printf(
        out, err, "%s\n### WaveFarm gate: %s%s\n\n", WF_GATE_MARKER,
        wf_gate_outcome_name(r->outcome), r->modelled ? " (modelled)" : "");
    status =
        status == WF_OK ? put(out, "**", r->headline, "**, suite <code>", err) : status;
    return status == WF_OK
               ? put(out, "", report_text(r->header, "suite"), "</code>\n\n", err)
               : status;
}

enum wf_status wf_gate_report_markdown(const struct wf_gate_report *r,
                                       const char *link,
                                       size_t max_bytes,
                                       struct wf_buf *out,
                                       struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT, tail = WF_BUF_INIT;
    enum wf_status status = put_tail(r, link, &tail, err);
    const size_t kept = tail.len + 2 * CUT_NOTE_BYTES + 2 * sizeof table_head;
    const size_t room = max_bytes > kept ? max_bytes - kept : 0;
    status = status == WF_OK ? put_head(r, &text, err) : status;
    status = status == WF_OK ? put_statics(r, &text, err) : status;
    status = status == WF_OK ? put_what_matters(r, room, &text, err) : status;
    status = status == WF_OK ? put_the_rest(r, room, &text, err) : status;
    status = status == WF_OK ? wf_buf_puts(&text, wf_buf_cstr(&tail), err) : status;
    if (status == WF_OK && text.len > max_bytes) {
        status = wf_errorf(err, WF_EINVAL, "the comment has %zu bytes of %zu", text.len,
                           max_bytes);
    }
    status = status == WF_OK ? wf_buf_add(out, text.data, text.len, err) : status;
    wf_buf_free(&text);
    wf_buf_free(&tail);
    return status;
}
