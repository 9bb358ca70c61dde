/* Collecting rows of knobs and figures. */
#include "cli/isa_knobs.h"

#include "cli/isa_files.h"
#include "core/buf.h"
#include "core/file.h"
#include "packs/expr.h"
#include "packs/pack.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SELECTED_SIZES,
    BEST_RATING,
    LOGIC_FIGURES
};

size_t wf_knob_figure_count(void)
{
    return wf_isa_figure_names() + LOGIC_FIGURES;
}

const char *wf_knob_figure_name(size_t i)
{
    static const char *const names[] = { "selected_sizes", "best_rating" };
    const size_t n = wf_isa_figure_names();
    return i < n ? wf_isa_figure_name(i) : names[i - n];
}

static enum wf_status no_memory(struct wf_error *err)
{
    return wf_errorf(err, WF_ENOMEM, "no memory for a table of knobs");
}

static void free_row(struct wf_knob_row *r)
{
    free(r->object);
    free(r->kernel);
    free(r->figure);
    wf_isa_knobs_free(&r->knobs);
}

void wf_knob_table_free(struct wf_knob_table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free_row(&t->row[i]);
    }
    free(t->row);
    wf_json_free(t->selections);
    *t = (struct wf_knob_table){ .row = NULL };
}

/* A row without knobs and figures. */
static enum wf_status begin_row(struct wf_knob_table *t,
                                const char *object,
                                const char *kernel,
                                struct wf_knob_row **ret,
                                struct wf_error *err)
{
    const size_t n = wf_knob_figure_count();
    struct wf_knob_row *grown = wf_realloc_array(t->row, t->count + 1, sizeof(*t->row));
    if (grown == NULL) {
        return no_memory(err);
    }
    t->row = grown;
    struct wf_knob_row r = { .object = wf_strdup(object),
                             .kernel = wf_strdup(kernel),
                             .scheme = "",
                             .figure = wf_calloc(n, sizeof(double)) };
    if (r.object == NULL || r.kernel == NULL || r.figure == NULL) {
        free_row(&r);
        return no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        r.figure[i] = (double)NAN;
    }
    t->row[t->count++] = r;
    *ret = &t->row[t->count - 1];
    return WF_OK;
}

static void take_figures(struct wf_knob_row *row,
                         const struct wf_isa_report *report,
                         size_t kernel)
{
    for (size_t i = 0; i < wf_isa_figure_count(report, kernel); i++) {
        row->figure[i] = wf_isa_figure_at(report, kernel, i).value;
    }
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* --- code objects: the kernel's name, else the file's --- */

static enum wf_status add_object(struct wf_knob_table *t,
                                 const char *path,
                                 const struct wf_isa_options *options,
                                 struct wf_error *err)
{
    struct wf_isa_report *report = NULL;
    enum wf_status st = wf_isa_report_read(path, options, &report, err);
    for (size_t i = 0; st == WF_OK && i < wf_isa_report_count(report); i++) {
        const char *name = wf_isa_report_kernel(report, i);
        enum wf_isa_scheme scheme = WF_ISA_NO_SCHEME;
        struct wf_knob_row *row = NULL;
        st = begin_row(t, base_name(path), name, &row, err);
        if (st == WF_OK) {
            take_figures(row, report, i);
            st = wf_isa_knobs_of_name(name, &row->knobs, &scheme, err);
        }
        if (st == WF_OK && scheme == WF_ISA_NO_SCHEME) {
            st = wf_isa_knobs_of_name(base_name(path), &row->knobs, &scheme, err);
        }
        if (st == WF_OK) {
            row->scheme = wf_isa_scheme_name(scheme);
        }
    }
    wf_isa_report_free(report);
    return st;
}

/* --- packs: the entry's knobs --- */

static enum wf_status take_pack_knobs(struct wf_knob_row *row,
                                      const struct wf_pack_kernel *k,
                                      struct wf_error *err)
{
    enum wf_status st = WF_OK;
    row->scheme = "pack";
    for (size_t i = 0; st == WF_OK && i < k->knob_count; i++) {
        st = wf_isa_knobs_add(&row->knobs, k->knob[i].name,
                              wf_expr_text(k->knob[i].value), "the pack's entry", err);
    }
    return st;
}

static const char *file_of(const struct wf_pack_kernel *k, const char *label)
{
    for (size_t i = 0; i < k->code_count; i++) {
        if (label == NULL || strcmp(k->code[i].label, label) == 0) {
            return k->code[i].file;
        }
    }
    return k->code[0].file;
}

/* The first launch's symbol: a split's second kernel only adds. */
static enum wf_status add_pack_kernel(struct wf_knob_table *t,
                                      const char *folder,
                                      const struct wf_pack_kernel *k,
                                      const struct wf_isa_options *options,
                                      struct wf_error *err)
{
    struct wf_isa_options all = *options;
    struct wf_isa_report *report = NULL;
    struct wf_knob_row *row = NULL;
    const char *symbol = k->launch[0].symbol;
    char *path = wf_path_join(folder, file_of(k, k->launch[0].code));
    if (path == NULL) {
        return no_memory(err);
    }
    all.kernel = symbol;
    enum wf_status st = wf_isa_report_read(path, &all, &report, err);
    st = st == WF_OK ? begin_row(t, base_name(path), k->name, &row, err) : st;
    for (size_t i = 0; st == WF_OK && i < wf_isa_report_count(report); i++) {
        if (strcmp(wf_isa_report_kernel(report, i), symbol) == 0) {
            take_figures(row, report, i);
        }
    }
    st = st == WF_OK ? take_pack_knobs(row, k, err) : st;
    wf_isa_report_free(report);
    free(path);
    return st;
}

static enum wf_status add_pack(struct wf_knob_table *t,
                               const char *folder,
                               const struct wf_isa_options *options,
                               struct wf_error *err)
{
    struct wf_pack *pack = NULL;
    size_t there = 0;
    enum wf_status st = wf_pack_open(folder, &pack, err);
    for (size_t i = 0; st == WF_OK && i < wf_pack_kernel_count(pack); i++) {
        const struct wf_pack_kernel *k = wf_pack_kernel_at(pack, i);
        const bool wanted = wf_isa_is_gfx942(k) && k->launch_count > 0;
        there += wanted;
        if (wanted &&
            (options->kernel == NULL || fnmatch(options->kernel, k->name, 0) == 0)) {
            st = add_pack_kernel(t, folder, k, options, err);
        }
    }
    wf_pack_free(pack);
    return st == WF_OK && there == 0
               ? wf_errorf(err, WF_ENOTFOUND, "%s: the pack has no gfx942 code", folder)
               : st;
}

/* --- logic files --- */

static enum wf_status push_selection(struct wf_knob_table *t,
                                     const char *file,
                                     const struct wf_isa_selection *s,
                                     struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = { { "m", s->m },
                    { "n", s->n },
                    { "batch", s->batch },
                    { "k", s->k },
                    { "solution", s->solution } };
    enum wf_status st = wf_json_set_string(o, "file", file, err);
    for (size_t i = 0; st == WF_OK && i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        st = wf_json_set_i64(o, numbers[i].name, numbers[i].value, err);
    }
    st = st == WF_OK ? wf_json_set_f64(o, "rating", s->rating, err) : st;
    if (st != WF_OK) {
        wf_json_free(o);
        return st;
    }
    return wf_json_push_take(t->selections, o, err);
}

/* Sizes that take each solution, on the rows from `first` on. */
static enum wf_status take_selections(struct wf_knob_table *t,
                                      size_t first,
                                      const char *file,
                                      const struct wf_isa_logic *l,
                                      struct wf_error *err)
{
    const size_t at = wf_isa_figure_names();
    enum wf_status st = WF_OK;
    if (t->selections == NULL) {
        t->selections = wf_json_array();
    }
    for (size_t i = 0; st == WF_OK && i < l->selection_count; i++) {
        const struct wf_isa_selection *s = &l->selection[i];
        for (size_t k = 0; k < l->solution_count; k++) {
            if (l->solution[k].index != s->solution) {
                continue;
            }
            double *figure = t->row[first + k].figure + at;
            figure[SELECTED_SIZES] += 1.0;
            if (s->rating > 0.0) {
                figure[BEST_RATING] = fmax(figure[BEST_RATING], s->rating);
            }
            break;
        }
        st = push_selection(t, file, s, err);
    }
    return st;
}

static enum wf_status add_logic(struct wf_knob_table *t,
                                const char *path,
                                struct wf_error *err)
{
    struct wf_isa_logic l = { .solution = NULL };
    const size_t first = t->count;
    enum wf_status st = wf_isa_logic_read(path, &l, err);
    for (size_t i = 0; st == WF_OK && i < l.solution_count; i++) {
        struct wf_knob_row *row = NULL;
        st = begin_row(t, base_name(path), l.solution[i].name, &row, err);
        if (st == WF_OK) {
            row->scheme = wf_isa_scheme_name(WF_ISA_TENSILE);
            row->knobs = l.solution[i].knobs; /* now the row's */
            l.solution[i].knobs = (struct wf_isa_knobs){ .knob = NULL };
            row->figure[wf_isa_figure_names() + SELECTED_SIZES] = 0.0;
        }
    }
    st = st == WF_OK ? take_selections(t, first, base_name(path), &l, err) : st;
    wf_isa_logic_free(&l);
    return st;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

enum wf_status wf_knob_table_add(struct wf_knob_table *t,
                                 const char *what,
                                 const struct wf_isa_options *options,
                                 struct wf_error *err)
{
    struct stat s;
    if (stat(what, &s) == 0 && S_ISDIR(s.st_mode)) {
        return add_pack(t, what, options, err);
    }
    return ends_with(what, ".yaml") || ends_with(what, ".yml")
               ? add_logic(t, what, err)
               : add_object(t, what, options, err);
}
