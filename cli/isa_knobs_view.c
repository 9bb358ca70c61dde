/* Tables of knobs beside figures as text. */
#include "cli/isa_knobs_internal.h"
#include "cli/output.h"
#include "cli/table.h"
#include "core/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARS 44 /* of a kernel, in text */
#define TEXT_KNOBS 4  /* that differ, in text, where none are asked for */

/* What the text shows of figures where nothing is asked for. */
static const char *const usual[] = { "vgprs", "agprs",          "lds_bytes",
                                     "mca",   "hot_mfma_share", "hot_valu_to_mfma" };
static const char *const usual_of_logic[] = { "selected_sizes", "best_rating" };
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* --- columns of the text --- */

struct columns {
    char *name[WF_TABLE_COLUMNS];
    size_t count;
};

static void free_columns(struct columns *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->name[i]);
    }
}

static enum wf_status add_column(struct columns *c,
                                 const char *name,
                                 size_t n,
                                 struct wf_error *err)
{
    if (c->count + 2 >= WF_TABLE_COLUMNS) {
        return wf_errorf(err, WF_EINVAL, "more than %d columns; --csv has all",
                         WF_TABLE_COLUMNS - 2);
    }
    c->name[c->count] = wf_strndup(name, n);
    return c->name[c->count++] != NULL
               ? WF_OK
               : wf_errorf(err, WF_ENOMEM, "no memory for a column");
}

static enum wf_status asked_columns(const struct knob_names *n,
                                    const char *show,
                                    struct columns *c,
                                    struct wf_error *err)
{
    enum wf_status st = WF_OK;
    while (st == WF_OK && *show != '\0') {
        const size_t length = strcspn(show, ",");
        st = add_column(c, show, length, err);
        const char *name = st == WF_OK ? c->name[c->count - 1] : "";
        if (st == WF_OK && knob_figure_index(name) == wf_knob_figure_count() &&
            knob_name_index(n, name) == n->count) {
            st = knob_missing(n, name, err);
        }
        show += length + (show[length] == ',');
    }
    return st;
}

static enum wf_status add_list(struct columns *c,
                               const char *const *name,
                               size_t count,
                               struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < count; i++) {
        st = add_column(c, name[i], strlen(name[i]), err);
    }
    return st;
}

static enum wf_status usual_figures(const struct wf_knob_table *t,
                                    struct columns *c,
                                    struct wf_error *err)
{
    bool code = false;
    for (size_t r = 0; r < t->count; r++) {
        code = code || isfinite(t->row[r].figure[0]);
    }
    return code ? add_list(c, usual, COUNT(usual), err)
                : add_list(c, usual_of_logic, COUNT(usual_of_logic), err);
}

/* Of the knobs that differ these come first: tile, instruction, split, prefetch. */
static const char *const first_knobs[] = { "MT0",     "MT1",    "DU",      "MI",
                                           "Family",  "Tile",   "BLOCK_M", "BLOCK_N",
                                           "BLOCK_K", "STAGES", "SK",      "GSU",
                                           "PGR",     "PLR",    "DTVA",    "WGM" };

static bool is_first(const char *name)
{
    for (size_t i = 0; i < COUNT(first_knobs); i++) {
        if (strcmp(first_knobs[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Knobs that differ, as many as have room; how many there are besides. */
static enum wf_status usual_columns(const struct wf_knob_table *t,
                                    const struct knob_names *n,
                                    struct columns *c,
                                    size_t *ret_left_out,
                                    struct wf_error *err)
{
    enum wf_status st = WF_OK;
    *ret_left_out = 0;
    for (size_t i = 0; st == WF_OK && i < COUNT(first_knobs); i++) {
        const size_t at = knob_name_index(n, first_knobs[i]);
        if (at < n->count && n->differs[at] && c->count < TEXT_KNOBS) {
            st = add_column(c, first_knobs[i], strlen(first_knobs[i]), err);
        }
    }
    size_t differ = 0;
    for (size_t i = 0; st == WF_OK && i < n->count; i++) {
        differ += n->differs[i];
        if (n->differs[i] && !is_first(n->name[i]) && c->count < TEXT_KNOBS) {
            st = add_column(c, n->name[i], strlen(n->name[i]), err);
        }
    }
    *ret_left_out = differ - c->count;
    return st == WF_OK ? usual_figures(t, c, err) : st;
}

/* --- text: a row a kernel --- */

static void shorten(const char *name, char *out, size_t bytes)
{
    const size_t n = strlen(name), half = (NAME_CHARS - 3) / 2;
    if (n <= NAME_CHARS) {
        (void)snprintf(out, bytes, "%s", name);
    } else {
        (void)snprintf(out, bytes, "%.*s...%s", (int)half, name, name + n - half);
    }
}

static void number_text(double v, char *out, size_t bytes)
{
    if (!isfinite(v)) {
        (void)snprintf(out, bytes, "-");
    } else {
        (void)snprintf(out, bytes, v == floor(v) ? "%.0f" : "%.2f", v);
    }
}

static void print_row(struct wf_table *table,
                      const struct wf_knob_row *r,
                      const struct columns *c)
{
    char name[NAME_CHARS + 4], text[WF_TABLE_COLUMNS][64];
    const char *cell[WF_TABLE_COLUMNS] = { name };
    shorten(r->kernel, name, sizeof(name));
    for (size_t i = 0; i < c->count; i++) {
        const size_t f = knob_figure_index(c->name[i]);
        if (f < wf_knob_figure_count()) {
            number_text(r->figure[f], text[i], sizeof(text[i]));
        } else {
            (void)snprintf(text[i], sizeof(text[i]), "%.60s",
                           knob_value(r, c->name[i]));
        }
        cell[i + 1] = text[i];
    }
    wf_table_row(table, cell);
}

/* Headers of figures are aligned to the right. */
static struct wf_table *make_table(const char *first,
                                   const char *second,
                                   const struct columns *c)
{
    char text[WF_TABLE_COLUMNS][64];
    const char *header[WF_TABLE_COLUMNS] = { first, second };
    const size_t before = second != NULL ? 2 : 1;
    for (size_t i = 0; i < c->count; i++) {
        const bool figure = knob_figure_index(c->name[i]) < wf_knob_figure_count();
        (void)snprintf(text[i], sizeof(text[i]), "%s%.60s", figure ? ">" : "",
                       c->name[i]);
        header[before + i] = text[i];
    }
    return wf_table_create(header, c->count + before);
}

static enum wf_status end_table(struct wf_table *table, struct wf_error *err)
{
    const bool good = table != NULL && wf_table_print(table);
    wf_table_free(table);
    return good ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a table");
}

static void print_same(const struct wf_knob_table *t, const struct knob_names *n)
{
    struct wf_buf text = WF_BUF_INIT;
    size_t unknown = 0, without = 0;
    for (size_t i = 0; i < n->count; i++) {
        if (!n->differs[i]) {
            (void)wf_buf_printf(&text, NULL, " %s=%s", n->name[i],
                                knob_value(&t->row[0], n->name[i]));
        }
    }
    for (size_t r = 0; r < t->count; r++) {
        without += t->row[r].knobs.count == 0;
        for (size_t i = 0; i < t->row[r].knobs.count; i++) {
            unknown += t->row[r].knobs.knob[i].meaning == NULL;
        }
    }
    if (text.len > 0) {
        wf_say("same in all:%s", wf_buf_cstr(&text));
    }
    if (unknown > 0) {
        wf_say("words that no table knows: %zu, kept as knobs; --json lists them as "
               "unknown",
               unknown);
    }
    if (without > 0) {
        wf_say("kernels whose name tells no knobs: %zu", without);
    }
    wf_buf_free(&text);
}

static enum wf_status print_rows(const struct wf_knob_table *t,
                                 const struct columns *c,
                                 struct wf_error *err)
{
    struct wf_table *table = make_table("kernel", NULL, c);
    for (size_t r = 0; table != NULL && r < t->count; r++) {
        print_row(table, &t->row[r], c);
    }
    return end_table(table, err);
}

static enum wf_status print_groups(const struct wf_knob_table *t,
                                   const char *by,
                                   const struct columns *c,
                                   struct wf_error *err)
{
    struct knob_groups g = { .value = NULL };
    double *room = wf_calloc(t->count + 1, sizeof(*room));
    enum wf_status st = room != NULL
                            ? knob_group(t, by, &g, err)
                            : wf_errorf(err, WF_ENOMEM, "no memory for medians");
    struct wf_table *table = make_table(by, ">kernels", c);
    for (size_t i = 0; st == WF_OK && table != NULL && i < g.count; i++) {
        char text[WF_TABLE_COLUMNS][64], rows_text[24];
        const char *cell[WF_TABLE_COLUMNS] = { g.value[i], rows_text };
        size_t rows = 0;
        for (size_t k = 0; k < c->count; k++) {
            number_text(knob_median(t, by, g.value[i], knob_figure_index(c->name[k]),
                                    room, &rows),
                        text[k], sizeof(text[k]));
            cell[k + 2] = text[k];
        }
        (void)snprintf(rows_text, sizeof(rows_text), "%zu", rows);
        wf_table_row(table, cell);
    }
    st = st == WF_OK ? end_table(table, err) : (wf_table_free(table), st);
    free(g.value);
    free(room);
    return st;
}

/* Groups have figures only. */
static enum wf_status group_columns(const struct wf_knob_table *t,
                                    const struct knob_names *n,
                                    const char *by,
                                    const char *show,
                                    struct columns *c,
                                    struct wf_error *err)
{
    if (knob_name_index(n, by) == n->count) {
        return knob_missing(n, by, err);
    }
    enum wf_status st =
        show != NULL ? asked_columns(n, show, c, err) : usual_figures(t, c, err);
    for (size_t i = 0; st == WF_OK && i < c->count; i++) {
        if (knob_figure_index(c->name[i]) == wf_knob_figure_count()) {
            st = wf_errorf(err, WF_EINVAL,
                           "--by shows medians of figures; %s is a knob", c->name[i]);
        }
    }
    return st;
}

enum wf_status wf_knob_print_text(const struct wf_knob_table *t,
                                  const char *by,
                                  const char *show,
                                  struct wf_error *err)
{
    struct knob_names n = { .name = NULL };
    struct columns c = { .count = 0 };
    size_t left_out = 0;
    enum wf_status st = knob_names_collect(t, &n, err);
    if (st == WF_OK && by != NULL) {
        st = group_columns(t, &n, by, show, &c, err);
    } else if (st == WF_OK) {
        st = show != NULL ? asked_columns(&n, show, &c, err)
                          : usual_columns(t, &n, &c, &left_out, err);
    }
    if (st == WF_OK) {
        st = by != NULL ? print_groups(t, by, &c, err) : print_rows(t, &c, err);
    }
    if (st == WF_OK && by == NULL) {
        if (left_out > 0) {
            wf_say("%zu more knobs differ: --show NAMES, or --csv for all", left_out);
        }
        print_same(t, &n);
    }
    free_columns(&c);
    knob_names_free(&n);
    return st;
}
