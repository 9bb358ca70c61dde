/* What all steps of a search share: who is still in, what was dropped and why. */
#include "cli/commands.h"
#include "cli/paths.h"
#include "cli/tune.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/parse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- in and out --- */

bool tune_entry_in(const struct tune *t, const struct tune_entry *e)
{
    return e->dropped == NULL && t->point[e->point].dropped == NULL;
}

bool tune_point_in(const struct tune *t, size_t point)
{
    for (size_t c = 0; c < t->case_count; c++) {
        for (size_t i = 0; i < t->cases[c].count; i++) {
            const struct tune_entry *e = &t->cases[c].entry[i];
            if (e->point == point && tune_entry_in(t, e)) {
                return true;
            }
        }
    }
    return false;
}

static size_t pairs_left(const struct tune *t)
{
    size_t n = 0;
    for (size_t c = 0; c < t->case_count; c++) {
        for (size_t i = 0; i < t->cases[c].count; i++) {
            n += tune_entry_in(t, &t->cases[c].entry[i]);
        }
    }
    return n;
}

static size_t pairs_of(const struct tune *t, size_t point)
{
    size_t n = 0;
    for (size_t c = 0; c < t->case_count; c++) {
        for (size_t i = 0; i < t->cases[c].count; i++) {
            const struct tune_entry *e = &t->cases[c].entry[i];
            n += e->point == point && e->dropped == NULL;
        }
    }
    return n;
}

/* Reasons are counted up to their first ':' or '(': what follows is of one case. */
static void count_drop(struct tune *t, const char *why, size_t n)
{
    struct tune_step *s = &t->step[t->step_count - 1];
    char head[sizeof(s->drop[0].why)];
    (void)snprintf(head, sizeof(head), "%.*s", (int)strcspn(why, ":("), why);
    for (size_t k = strlen(head); k > 0 && head[k - 1] == ' '; k--) {
        head[k - 1] = '\0';
    }
    for (size_t i = 0; i < s->drop_count; i++) {
        if (strcmp(s->drop[i].why, head) == 0) {
            s->drop[i].count += n;
            return;
        }
    }
    const size_t room = sizeof(s->drop) / sizeof(s->drop[0]);
    if (s->drop_count == room) {
        (void)snprintf(s->drop[room - 1].why, sizeof(s->drop[0].why), "other reasons");
        s->drop[room - 1].count += n;
        return;
    }
    memcpy(s->drop[s->drop_count].why, head, sizeof(head));
    s->drop[s->drop_count++].count = n;
}

enum wf_status tune_drop_point(struct tune *t,
                               struct tune_point *p,
                               const char *why,
                               struct wf_error *err)
{
    if (p->dropped != NULL) {
        return WF_OK;
    }
    const size_t n = pairs_of(t, (size_t)(p - t->point));
    p->dropped = wf_strdup(why);
    count_drop(t, why, n);
    return p->dropped != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
}

enum wf_status tune_drop_entry(struct tune *t,
                               struct tune_entry *e,
                               const char *why,
                               struct wf_error *err)
{
    if (e->dropped != NULL) {
        return WF_OK;
    }
    e->dropped = wf_strdup(why);
    count_drop(t, why, 1);
    return e->dropped != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
}

/* --- steps --- */

void tune_step_begin(struct tune *t, const char *name)
{
    struct tune_step *s = &t->step[t->step_count++];
    *s = (struct tune_step){ .name = name,
                             .before = pairs_left(t),
                             .took_ns = wf_monotonic_ns() };
}

void tune_step_end(struct tune *t)
{
    struct tune_step *s = &t->step[t->step_count - 1];
    wf_progress_end(&t->progress);
    s->after = pairs_left(t);
    s->took_ns = wf_monotonic_ns() - s->took_ns;
    if (t->o.quiet) {
        return;
    }
    fprintf(stderr, "%-10s %7zu -> %-7zu %.1f s\n", s->name, s->before, s->after,
            (double)s->took_ns / 1e9);
    for (size_t i = 0; i < s->drop_count; i++) {
        fprintf(stderr, "           %7zu  %s\n", s->drop[i].count, s->drop[i].why);
    }
}

enum wf_status tune_check_time(struct tune *t, bool *ret_over, struct wf_error *err)
{
    if (wf_interrupted) {
        return wf_errorf(err, WF_ECANCELLED,
                         "interrupted; the same command with --resume goes on");
    }
    t->out_of_time =
        t->out_of_time ||
        (t->o.budget_ns > 0 && wf_monotonic_ns() - t->started_ns > t->o.budget_ns);
    *ret_over = t->out_of_time;
    return WF_OK;
}

/* --- figures --- */

double tune_figure(const struct tune_point *p, const char *symbol, const char *name)
{
    if (symbol == NULL) {
        symbol = p->k != NULL && p->k->launch_count > 0 ? p->k->launch[0].symbol : "";
    }
    for (size_t i = 0; i < p->symbol_count; i++) {
        for (size_t f = 0;
             strcmp(p->symbol[i].symbol, symbol) == 0 && f < wf_isa_figure_names();
             f++) {
            if (strcmp(wf_isa_figure_name(f), name) == 0) {
                return p->symbol[i].value[f];
            }
        }
    }
    return (double)NAN;
}

int64_t tune_knob(const struct tune_point *p, const char *name)
{
    int64_t v = 0;
    const struct wf_json *m = p->knobs != NULL ? wf_json_find(p->knobs, name) : NULL;
    for (size_t i = 0; m == NULL && p->k != NULL && i < p->k->knob_count; i++) {
        const char *text = wf_expr_text(p->k->knob[i].value);
        if (strcmp(p->k->knob[i].name, name) == 0 &&
            wf_parse_i64(text, name, INT64_MIN, INT64_MAX, &v, NULL) == WF_OK) {
            return v;
        }
    }
    return m != NULL && wf_json_as_i64(m, &v) ? v : 0;
}

/* --- opening --- */

static enum wf_status open_suite(struct tune *t, struct wf_error *err)
{
    char *suites = NULL;
    enum wf_status st = wf_suites_folder(&suites, err);
    st = st == WF_OK ? wf_datasets_folder(&t->datasets, err) : st;
    st = st == WF_OK ? wf_dataset_store_open(t->datasets, &t->store, err) : st;
    if (st == WF_OK) {
        wf_dataset_store_set_cancel(t->store, &wf_interrupted);
        st = wf_suite_load(t->o.suite, suites, t->store, &t->suite, err);
    }
    free(suites);
    return st;
}

/* The emulator models gfx942 also for who has one. */
static enum wf_status open_devices(struct tune *t, struct wf_error *err)
{
    enum wf_status st = wf_device_open(t->o.device, &t->device, err);
    if (st != WF_OK) {
        return st;
    }
    if (t->device.times_modelled && strcmp(t->o.op, "gemm") != 0) {
        return wf_errorf(
            err, WF_EINVAL,
            "on a device that models times only gemm can be tuned, not %s: "
            "what a small problem of it is, nobody has said",
            t->o.op);
    }
    if (t->device.times_modelled) {
        t->model_device = t->device;
        t->has_model = true;
    } else if (strcmp(t->o.op, "gemm") == 0 &&
               strncmp(t->device.arch, "gfx942", 6) == 0) {
        t->has_model = wf_device_open("emulator", &t->model_device, NULL) == WF_OK;
    }
    return WF_OK;
}

static enum wf_status open_versions(struct tune *t, struct wf_error *err)
{
    if (t->o.space == NULL) {
        return wf_kernel_set_open(t->o.pack, t->o.pack_count, t->o.kernels, &t->kernels,
                                  err);
    }
    enum wf_status st = wf_space_read(t->o.space, t->o.root, &t->space, err);
    if (st == WF_OK && strcmp(wf_space_op(t->space), t->o.op) != 0) {
        st = wf_errorf(err, WF_EINVAL, "%s is a space for %s, not for %s", t->o.space,
                       wf_space_op(t->space), t->o.op);
    }
    return st == WF_OK ? tune_check_figures(t, err) : st;
}

/* What makes it another search. */
static enum wf_status make_header(const struct tune *t,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    struct wf_json *v = wf_json_object(), *packs = wf_json_array();
    enum wf_status st = wf_json_set_string(v, "schema", "wavefarm.tune-journal/1", err);
    st = st == WF_OK ? wf_json_set_string(v, "op", t->o.op, err) : st;
    st =
        st == WF_OK ? wf_json_set_string(v, "suite", wf_suite_name(t->suite), err) : st;
    st = st == WF_OK ? wf_json_set_string(v, "cases", t->o.cases, err) : st;
    st = st == WF_OK ? wf_json_set_string(v, "kernels", t->o.kernels, err) : st;
    st = st == WF_OK ? wf_json_set_string(v, "device", t->device.id, err) : st;
    st = st == WF_OK ? wf_json_set_u64(v, "seed", t->o.seed, err) : st;
    st = st == WF_OK ? wf_json_set_i64(v, "points", t->o.points, err) : st;
    st = st == WF_OK ? wf_json_set_i64(v, "top", t->o.top, err) : st;
    st = st == WF_OK ? wf_json_set_f64(v, "alpha", t->o.alpha, err) : st;
    st = st == WF_OK ? wf_json_set_f64(v, "margin", t->o.margin, err) : st;
    st = st == WF_OK
             ? wf_json_set_string(
                   v, "space", t->space != NULL ? wf_space_sha256(t->space) : NULL, err)
             : st;
    for (size_t i = 0; i < t->kernels.pack_count && st == WF_OK; i++) {
        st = wf_json_push_string(packs, wf_pack_id(t->kernels.pack[i]), err);
    }
    if (st == WF_OK) {
        st = wf_json_set_take(v, "packs", packs, err);
    } else {
        wf_json_free(packs);
    }
    if (st != WF_OK) {
        wf_json_free(v);
        return st;
    }
    *ret = v;
    return WF_OK;
}

/* Absolute: compilers run elsewhere. */
static enum wf_status open_work(struct tune *t, struct wf_error *err)
{
    const enum wf_status st = wf_mkdir_parents(t->o.work, err);
    char *whole = st == WF_OK ? realpath(t->o.work, NULL) : NULL;
    if (st == WF_OK && whole == NULL) {
        return wf_error_errno(err, errno, "%s", t->o.work);
    }
    if (st == WF_OK) {
        free(t->o.work);
        t->o.work = whole;
    }
    return st;
}

static enum wf_status open_journal(struct tune *t, struct wf_error *err)
{
    struct wf_json *header = NULL;
    enum wf_status st = open_work(t, err);
    char *path = st == WF_OK ? wf_path_join(t->o.work, "journal.jsonl") : NULL;
    if (st == WF_OK && path == NULL) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    st = st == WF_OK ? make_header(t, &header, err) : st;
    st = st == WF_OK ? tune_journal_open(path, header, t->o.resume, &t->journal, err)
                     : st;
    wf_json_free(header);
    free(path);
    return st;
}

enum wf_status tune_open(struct tune *t, struct wf_error *err)
{
    t->started_ns = wf_monotonic_ns();
    enum wf_status st = open_suite(t, err);
    st = st == WF_OK ? open_devices(t, err) : st;
    st = st == WF_OK ? open_versions(t, err) : st;
    return st == WF_OK ? open_journal(t, err) : st;
}

enum wf_status tune_add_pack(struct tune *t,
                             const char *folder,
                             struct wf_pack **ret,
                             struct wf_error *err)
{
    for (size_t i = 0; i < t->pack_count; i++) {
        if (strcmp(wf_pack_folder(t->pack[i]), folder) == 0) {
            *ret = t->pack[i];
            return WF_OK;
        }
    }
    struct wf_pack **grown =
        wf_realloc_array(t->pack, t->pack_count + 1, sizeof(*grown));
    if (grown == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for packs");
    }
    t->pack = grown;
    const enum wf_status st = wf_pack_open(folder, ret, err);
    if (st == WF_OK) {
        t->pack[t->pack_count++] = *ret;
    }
    return st;
}

/* --- closing --- */

static void close_point(struct tune_point *p)
{
    for (size_t i = 0; i < p->symbol_count; i++) {
        free(p->symbol[i].value);
    }
    wf_json_free(p->knobs);
    free(p->dropped);
}

static void close_case(struct tune_case *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->entry[i].dropped);
    }
    free(c->entry);
    free(c->order);
    wf_json_free(c->json);
    wf_json_free(c->gates);
    case_plan_fini(&c->plan);
}

void tune_close(struct tune *t)
{
    for (size_t i = 0; i < t->point_count; i++) {
        close_point(&t->point[i]);
    }
    for (size_t i = 0; i < t->case_count; i++) {
        close_case(&t->cases[i]);
    }
    for (size_t i = 0; i < t->pack_count; i++) {
        wf_pack_free(t->pack[i]);
    }
    (void)tune_journal_close(t->journal, NULL);
    free(t->point);
    free(t->cases);
    free(t->pack);
    wf_kernel_set_close(&t->kernels);
    wf_space_free(t->space);
    wf_suite_free(t->suite);
    wf_dataset_store_close(t->store);
    free(t->datasets);
    free(t->o.work);
}
