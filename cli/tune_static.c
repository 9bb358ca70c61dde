/* Step 3: the machine code. Equal code is looked at once; limits; what another point of
 * the same class makes needless. */
#include "cli/isa_files.h"
#include "cli/tune.h"
#include "core/buf.h"
#include "core/file.h"
#include "packs/identity.h"
#include "tune/prune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- does the case get it --- */

/* `supports` is known only when there is a kernel. */
static enum wf_status check_supports(struct tune *t, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t c = 0; c < t->case_count && t->space != NULL && st == WF_OK; c++) {
        for (size_t i = 0; i < t->cases[c].count && st == WF_OK; i++) {
            struct tune_entry *e = &t->cases[c].entry[i];
            const struct tune_point *p = &t->point[e->point];
            struct wf_plan *plan = NULL;
            char why[400], text[480];
            if (!tune_entry_in(t, e) || p->k == NULL) {
                continue;
            }
            st = case_plan_make(&t->cases[c].plan, p->k, &plan, why, sizeof(why), err);
            if (st == WF_OK && plan == NULL) {
                (void)snprintf(text, sizeof(text), "not supported: %s", why);
                st = tune_drop_entry(t, e, text, err);
            }
            wf_plan_free(plan);
        }
    }
    return st;
}

/* --- equal code --- */

static enum wf_status drop_equal(struct tune *t, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < t->point_count && st == WF_OK; i++) {
        struct tune_point *p = &t->point[i];
        if (p->dropped != NULL || p->k == NULL || p->k->kind != WF_KERNEL_CODE_OBJECT) {
            continue;
        }
        st = wf_kernel_identity(p->pack, p->k, p->identity, err);
        for (size_t k = 0; k < i && st == WF_OK && p->dropped == NULL; k++) {
            struct tune_point *q = &t->point[k];
            if (q->dropped == NULL && q->base == p->base &&
                strcmp(q->identity, p->identity) == 0) {
                /* the named one, else the simpler one, stays */
                struct tune_point *out =
                    p->start || (!q->start && p->rank < q->rank) ? q : p;
                st = tune_drop_point(t, out, "the same code as a simpler point", err);
            }
        }
    }
    return st;
}

/* --- reports --- */

static enum wf_status keep_report(struct tune_point *p,
                                  const struct wf_isa_report *r,
                                  struct wf_error *err)
{
    const size_t room = sizeof(p->symbol) / sizeof(p->symbol[0]);
    for (size_t k = 0; k < wf_isa_report_count(r) && p->symbol_count < room; k++) {
        struct tune_static *s = &p->symbol[p->symbol_count];
        s->value = wf_calloc(wf_isa_figure_names(), sizeof(*s->value));
        if (s->value == NULL) {
            return wf_errorf(err, WF_ENOMEM, "no memory for figures");
        }
        (void)snprintf(s->symbol, sizeof(s->symbol), "%s", wf_isa_report_kernel(r, k));
        for (size_t f = 0; f < wf_isa_figure_count(r, k); f++) {
            s->value[f] = wf_isa_figure_at(r, k, f).value;
        }
        p->symbol_count++;
    }
    return WF_OK;
}

/* What is in the journal is not computed again: llvm-mca takes its time. */
static bool recall(struct tune *t, struct tune_point *p)
{
    const size_t room = sizeof(p->symbol) / sizeof(p->symbol[0]);
    const struct wf_json *line = tune_journal_find(t->journal, "static", p->id);
    const struct wf_json *all = line != NULL ? wf_json_find(line, "symbols") : NULL;
    const struct wf_json *s = all != NULL ? wf_json_first(all) : NULL;
    for (; s != NULL && p->symbol_count < room; s = wf_json_next(s)) {
        struct tune_static *to = &p->symbol[p->symbol_count];
        to->value = wf_calloc(wf_isa_figure_names(), sizeof(*to->value));
        if (to->value == NULL) {
            return false;
        }
        (void)snprintf(to->symbol, sizeof(to->symbol), "%s", wf_json_key(s));
        for (size_t f = 0; f < wf_isa_figure_names(); f++) {
            const struct wf_json *v = wf_json_find(s, wf_isa_figure_name(f));
            to->value[f] = (double)NAN;
            if (v != NULL) {
                (void)wf_json_as_f64(v, &to->value[f]);
            }
        }
        p->symbol_count++;
    }
    return line != NULL;
}

static enum wf_status remember(struct tune *t,
                               const struct tune_point *p,
                               struct wf_error *err)
{
    struct wf_json *line = wf_json_object(), *all = wf_json_object();
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < p->symbol_count && st == WF_OK; i++) {
        struct wf_json *s = wf_json_object();
        for (size_t f = 0; f < wf_isa_figure_names() && st == WF_OK; f++) {
            st = wf_json_set_f64(s, wf_isa_figure_name(f), p->symbol[i].value[f], err);
        }
        if (st == WF_OK) {
            st = wf_json_set_take(all, p->symbol[i].symbol, s, err);
        } else {
            wf_json_free(s);
        }
    }
    if (st == WF_OK) {
        st = wf_json_set_take(line, "symbols", all, err);
    } else {
        wf_json_free(all);
    }
    if (st != WF_OK) {
        wf_json_free(line);
        return st;
    }
    return tune_journal_add(t->journal, "static", p->id, line, err);
}

static enum wf_status report(struct tune *t, struct tune_point *p, struct wf_error *err)
{
    const struct wf_isa_options o = { .mca = !t->o.no_mca,
                                      .mca_program = t->o.mca_program };
    enum wf_status st = WF_OK;
    if (recall(t, p)) {
        return WF_OK;
    }
    for (size_t i = 0; i < p->k->code_count && st == WF_OK; i++) {
        struct wf_isa_report *r = NULL;
        char *path = wf_path_join(wf_pack_folder(p->pack), p->k->code[i].file);
        st = path != NULL ? wf_isa_report_read(path, &o, &r, err)
                          : wf_errorf(err, WF_ENOMEM, "no memory for a path");
        st = st == WF_OK ? keep_report(p, r, err) : st;
        wf_isa_report_free(r);
        free(path);
    }
    return st == WF_OK ? remember(t, p, err) : st;
}

static enum wf_status report_all(struct tune *t, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < t->point_count && st == WF_OK; i++) {
        struct tune_point *p = &t->point[i];
        bool over = false;
        st = tune_check_time(t, &over, err);
        wf_progress_show(&t->progress, i, t->point_count, "machine code");
        if (st == WF_OK && p->k != NULL && wf_isa_is_gfx942(p->k) &&
            tune_point_in(t, i)) {
            st = report(t, p, err);
        }
    }
    return st;
}

/* --- limits --- */

static enum wf_status drop_outside(struct tune *t,
                                   struct tune_point *p,
                                   const struct wf_space_limit *l,
                                   struct wf_error *err)
{
    char text[400];
    const double v = tune_figure(p, NULL, l->figure);
    if (wf_tune_within(v, l->least, l->most)) {
        return WF_OK;
    }
    (void)snprintf(text, sizeof(text), "%s %s %g (it has %g)%s%s", l->figure,
                   v < l->least ? "below" : "above", v < l->least ? l->least : l->most,
                   v, l->why[0] != '\0' ? ": " : "", l->why);
    return tune_drop_point(t, p, text, err);
}

/* Spills and scratch are out whatever a space says: the build refuses most of them
 * already. */
static enum wf_status apply_limits(struct tune *t, struct wf_error *err)
{
    static const struct wf_space_limit always[] = {
        { "vgpr_spills", (double)NAN, 0, "" },
        { "scratch_bytes", (double)NAN, 0, "" },
    };
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < t->point_count && st == WF_OK; i++) {
        struct tune_point *p = &t->point[i];
        for (size_t k = 0; k < 2 && st == WF_OK && t->space != NULL; k++) {
            st = drop_outside(t, p, &always[k], err);
        }
        for (size_t k = 0;
             t->space != NULL && k < wf_space_limit_count(t->space) && st == WF_OK;
             k++) {
            const struct wf_space_limit l = wf_space_limit_at(t->space, k);
            st = p->dropped == NULL ? drop_outside(t, p, &l, err) : WF_OK;
        }
    }
    return st;
}

/* --- dominance --- */

static bool same_class(const struct tune *t, size_t a, size_t b)
{
    int64_t x[WF_SPACE_KNOBS], y[WF_SPACE_KNOBS];
    if (t->point[a].base != t->point[b].base) {
        return false;
    }
    wf_space_values(t->space, t->point[a].number, x);
    wf_space_values(t->space, t->point[b].number, y);
    for (size_t i = 0; i < wf_space_class_count(t->space); i++) {
        const size_t k = wf_space_class_knob(t->space, i);
        if (x[k] != y[k]) {
            return false;
        }
    }
    return true;
}

/* Which way is worse, for a search; 0: it has no direction. */
static int worse_way(const char *name)
{
    static const struct {
        const char *name;
        int worse;
    } ways[] = { { "mca", -1 },
                 { "mca_nowait", -1 },
                 { "mca_nowait_trans", -1 },
                 { "hot_mfma_share", -1 },
                 { "waves_per_simd", -1 },
                 { "hot_valu_to_mfma", 1 },
                 { "hot_accvgpr", 1 },
                 { "hot_vm_drains", 1 },
                 { "code_bytes", 1 },
                 { "instructions", 1 },
                 { "lds_bytes", 1 },
                 { "vgprs", 1 } };
    for (size_t k = 0; k < sizeof(ways) / sizeof(ways[0]); k++) {
        if (strcmp(ways[k].name, name) == 0) {
            return ways[k].worse;
        }
    }
    return 0;
}

enum wf_status tune_check_figures(const struct tune *t, struct wf_error *err)
{
    for (size_t i = 0; i < wf_space_dominance_count(t->space); i++) {
        if (worse_way(wf_space_dominance_at(t->space, i)) == 0) {
            return wf_errorf(err, WF_EINVAL,
                             "%s: dominance: the figure %.60s is none, or has no "
                             "direction for a search (docs/tuning.md lists them)",
                             t->o.space, wf_space_dominance_at(t->space, i));
        }
    }
    for (size_t i = 0; i < wf_space_limit_count(t->space); i++) {
        const char *name = wf_space_limit_at(t->space, i).figure;
        size_t f = 0;
        while (f < wf_isa_figure_names() && strcmp(wf_isa_figure_name(f), name) != 0) {
            f++;
        }
        if (f == wf_isa_figure_names()) {
            return wf_errorf(err, WF_EINVAL,
                             "%s: limits[%zu]: no figure of 'wavefarm isa' is named "
                             "%.60s (docs/isa.md lists them)",
                             t->o.space, i, name);
        }
    }
    return WF_OK;
}

static void figures_of(const struct tune *t, size_t point, double *value, int *worse)
{
    for (size_t i = 0; i < wf_space_dominance_count(t->space); i++) {
        const char *name = wf_space_dominance_at(t->space, i);
        worse[i] = worse_way(name);
        value[i] = tune_figure(&t->point[point], NULL, name);
    }
}

static enum wf_status apply_dominance(struct tune *t, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const size_t n = t->space != NULL ? wf_space_dominance_count(t->space) : 0;
    for (size_t b = 0; n > 0 && b < t->point_count && st == WF_OK; b++) {
        double value[2][WF_SPACE_KNOBS];
        int worse[WF_SPACE_KNOBS];
        struct tune_point *p = &t->point[b];
        if (p->dropped != NULL || p->start || p->symbol_count == 0) {
            continue; /* what is there already, and what was recorded, stays */
        }
        figures_of(t, b, value[1], worse);
        for (size_t a = 0; a < t->point_count && p->dropped == NULL && st == WF_OK;
             a++) {
            if (a == b || t->point[a].dropped != NULL || !same_class(t, a, b)) {
                continue;
            }
            figures_of(t, a, value[0], worse);
            if (wf_tune_dominates(value[0], value[1], worse, n)) {
                char text[160];
                (void)snprintf(text, sizeof(text), "another of its class is better: %s",
                               t->point[a].id);
                st = tune_drop_point(t, p, text, err);
            }
        }
    }
    return st;
}

enum wf_status tune_statics(struct tune *t, struct wf_error *err)
{
    tune_step_begin(t, "static");
    wf_progress_start(&t->progress);
    enum wf_status st = check_supports(t, err);
    st = st == WF_OK ? drop_equal(t, err) : st;
    st = st == WF_OK ? report_all(t, err) : st;
    st = st == WF_OK ? apply_limits(t, err) : st;
    st = st == WF_OK ? apply_dominance(t, err) : st;
    if (st == WF_OK) {
        tune_step_end(t);
    } else {
        wf_progress_end(&t->progress);
    }
    return st;
}
