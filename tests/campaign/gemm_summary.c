#include "tests/campaign/gemm_summary.h"

#include "tests/campaign/gemm_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cell_tally {
    size_t cases, by_kind[GEMM_KIND_COUNT];
    int64_t conflicts, loop_conflicts; /* cycles: of all cases; that a longer k adds */
    double silu_share;                 /* < 0: not known */
};

struct gemm_summary {
    const struct gemm_cells *cells;
    struct cell_tally *tally; /* one a cell */
    const struct wf_json **bad;
    size_t bad_count, bad_room;
    size_t launches, faults;
    bool no_memory;
};

struct gemm_summary *gemm_summary_new(const struct gemm_cells *cells)
{
    struct gemm_summary *s = wf_calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->cells = cells;
    s->tally = wf_calloc(cells->count + 1, sizeof(*s->tally));
    if (s->tally == NULL) {
        free(s);
        return NULL;
    }
    for (size_t i = 0; i < cells->count; i++) {
        s->tally[i].silu_share = -1.0;
    }
    return s;
}

void gemm_summary_free(struct gemm_summary *s)
{
    if (s != NULL) {
        free(s->tally);
        free(s->bad);
        free(s);
    }
}

static int64_t number_at(const struct wf_json *obj, const char *key)
{
    int64_t v = 0;
    const struct wf_json *found = wf_json_find(obj, key);
    return found != NULL && wf_json_as_i64(found, &v) ? v : 0;
}

static const char *text_at(const struct wf_json *obj, const char *key)
{
    const char *text = wf_json_string(wf_json_find(obj, key));
    return text != NULL ? text : "";
}

static void keep_bad(struct gemm_summary *s, const struct wf_json *line)
{
    if (s->bad_count == s->bad_room) {
        const size_t room = 2 * s->bad_room + 16;
        const struct wf_json **bad = wf_realloc_array(s->bad, room, sizeof(*bad));
        if (bad == NULL) {
            s->no_memory = true;
            return;
        }
        s->bad = bad;
        s->bad_room = room;
    }
    s->bad[s->bad_count++] = line;
}

static void add_pair(struct cell_tally *t,
                     enum gemm_kind kind,
                     const struct wf_json *const *line)
{
    if (kind == GEMM_KIND_LOOP) {
        t->loop_conflicts +=
            number_at(line[1], "conflicts") - number_at(line[0], "conflicts");
    } else if (kind == GEMM_KIND_SILU_COST) {
        const double with = (double)number_at(line[1], "instructions");
        const double without = (double)number_at(line[0], "instructions");
        t->silu_share = with > 0.0 ? (with - without) / with : -1.0;
    }
}

void gemm_summary_add(struct gemm_summary *s,
                      const struct gemm_pick *pick,
                      const struct wf_json *const *line,
                      size_t count)
{
    struct cell_tally *t = &s->tally[pick->cell - s->cells->at];
    for (size_t i = 0; i < count; i++) {
        t->cases++;
        t->by_kind[pick->kind]++;
        t->conflicts += number_at(line[i], "conflicts");
        s->launches += (size_t)number_at(line[i], "launches");
        s->faults += (size_t)number_at(line[i], "faults");
        if (!gemm_line_is_good(line[i])) {
            keep_bad(s, line[i]);
        }
    }
    if (count == 2) {
        add_pair(t, pick->kind, line);
    }
}

struct gemm_verdict gemm_summary_verdict(const struct gemm_summary *s, size_t least)
{
    struct gemm_verdict v = { .failures = s->bad_count };
    for (size_t i = 0; i < s->cells->count; i++) {
        v.cases += s->tally[i].cases;
        v.thin_cells += s->tally[i].cases < least;
        v.loop_conflicts += s->tally[i].loop_conflicts != 0;
        v.dear_silu += s->tally[i].silu_share > GEMM_SILU_MOST;
    }
    return v;
}

/* --- Markdown; a failed write of a buffer is out of memory, told at the end --- */
static bool write_kinds(const struct gemm_summary *s, struct wf_buf *out)
{
    bool good =
        wf_buf_puts(out, "\n| kind | cases | cells |\n|---|---|---|\n", NULL) == WF_OK;
    for (int k = 0; k < GEMM_KIND_COUNT; k++) {
        size_t cases = 0;
        size_t cells = 0;
        for (size_t i = 0; i < s->cells->count; i++) {
            cases += s->tally[i].by_kind[k];
            cells += s->tally[i].by_kind[k] > 0;
        }
        good &= wf_buf_printf(out, NULL, "| %s | %zu | %zu |\n",
                              gemm_kind_name((enum gemm_kind)k), cases, cells) == WF_OK;
    }
    return good;
}

static bool write_cell(const struct gemm_summary *s,
                       size_t i,
                       size_t least,
                       struct wf_buf *out)
{
    char label[64];
    char share[16] = "-";
    const struct cell_tally *t = &s->tally[i];
    gemm_cell_label(&s->cells->at[i], label, sizeof(label));
    if (t->silu_share >= 0.0) {
        snprintf(share, sizeof(share), "%.1f %%", 100.0 * t->silu_share);
    }
    return wf_buf_printf(out, NULL, "| `%s` | %s | %zu%s | %lld | %lld | %s |\n",
                         s->cells->at[i].kernel->name, label, t->cases,
                         t->cases < least ? " (too few)" : "", (long long)t->conflicts,
                         (long long)t->loop_conflicts, share) == WF_OK;
}

static bool write_bad(const struct gemm_summary *s, struct wf_buf *out)
{
    bool good = true;
    for (size_t i = 0; i < s->bad_count; i++) {
        char *text = NULL;
        if (wf_json_text(wf_json_find(s->bad[i], "case"), &text, NULL) != WF_OK) {
            return false;
        }
        good &= wf_buf_printf(out, NULL, "- `%s` %s, %s %s: **%s** %s `%s`\n",
                              text_at(s->bad[i], "kernel"), text_at(s->bad[i], "cell"),
                              text_at(s->bad[i], "kind"), text_at(s->bad[i], "note"),
                              text_at(s->bad[i], "answer"), text_at(s->bad[i], "text"),
                              text) == WF_OK;
        free(text);
    }
    return good;
}

enum wf_status gemm_summary_write(const struct gemm_summary *s,
                                  size_t least,
                                  struct wf_buf *out,
                                  struct wf_error *err)
{
    const struct gemm_verdict v = gemm_summary_verdict(s, least);
    bool good =
        !s->no_memory &&
        wf_buf_printf(
            out, NULL,
            "%zu cases in %zu cells (kernel x types x transposes), %zu launches: "
            "%zu not PASS, %zu launches with a fault, %zu cells below %zu cases, "
            "%zu cells whose hot loop has LDS bank conflicts, %zu in which SiLU is more "
            "than %.0f %% of the instructions.\n",
            v.cases, s->cells->count, s->launches, v.failures, s->faults, v.thin_cells,
            least, v.loop_conflicts, v.dear_silu, 100.0 * GEMM_SILU_MOST) == WF_OK;
    good = good && write_kinds(s, out);
    good = good && wf_buf_puts(out,
                               "\n| kernel | types, transposes | cases | LDS conflict "
                               "cycles | of the loop | SiLU, of instructions |\n"
                               "|---|---|---|---|---|---|\n",
                               NULL) == WF_OK;
    for (size_t i = 0; good && i < s->cells->count; i++) {
        good = write_cell(s, i, least, out);
    }
    if (good && s->bad_count > 0) {
        good = wf_buf_puts(out, "\nNot PASS:\n\n", NULL) == WF_OK && write_bad(s, out);
    }
    return good ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for the summary");
}
