/* The tuning table of a search: docs/schemas/tuning.schema.json. */
#include "cli/tune.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/version.h"
#include "packs/provenance.h"
#include "tune/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum wf_status set_finite(struct wf_json *o,
                                 const char *key,
                                 double v,
                                 struct wf_error *err)
{
    return isfinite(v) ? wf_json_set_f64(o, key, v, err) : WF_OK;
}

/* Takes `child` in any case. */
static enum wf_status attach(enum wf_status st,
                             struct wf_json *o,
                             const char *key,
                             struct wf_json *child,
                             struct wf_error *err)
{
    if (st != WF_OK) {
        wf_json_free(child);
        return st;
    }
    return wf_json_set_take(o, key, child, err);
}

/* --- candidates --- */

static enum wf_status put_model(const struct tune *t,
                                const struct tune_case *c,
                                const struct tune_entry *e,
                                struct wf_json *o,
                                struct wf_error *err)
{
    struct wf_json *model = NULL, *problem = wf_json_object(), *w = wf_json_array();
    enum wf_status st = wf_tune_model_json(&e->model, &model, err);
    st = st == WF_OK ? wf_json_set_take(o, "model", model, err) : st;
    for (size_t i = 0; i < e->launches && st == WF_OK; i++) {
        st = wf_json_push_f64(w, e->workgroups[i], err);
    }
    st = attach(st, problem, "workgroups", w, err);
    st = st == WF_OK ? wf_json_set_f64(problem, "length", e->length, err) : st;
    st = st == WF_OK ? wf_json_set_f64(problem, "split", e->split, err) : st;
    st = st == WF_OK ? wf_json_set_f64(problem, "bytes", wf_case_bytes(c->c), err) : st;
    st = st == WF_OK
             ? wf_json_set_i64(problem, "cu_count", t->model_device.cu_count, err)
             : st;
    return attach(st, o, "problem", problem, err);
}

/* What the static step rests on, of the first launch. */
static enum wf_status put_figures(const struct tune_point *p,
                                  struct wf_json *o,
                                  struct wf_error *err)
{
    static const char *const shown[] = {
        "vgprs",      "agprs",          "lds_bytes",        "waves_per_simd",
        "code_bytes", "hot_mfma_share", "hot_valu_to_mfma", "mca",
        "mca_nowait"
    };
    struct wf_json *f = wf_json_object();
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]) && st == WF_OK; i++) {
        st = set_finite(f, shown[i], tune_figure(p, NULL, shown[i]), err);
    }
    return attach(st, o, "figures", f, err);
}

static enum wf_status candidate(const struct tune *t,
                                const struct tune_case *c,
                                const struct tune_entry *e,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    const struct tune_point *p = &t->point[e->point];
    struct wf_json *o = wf_json_object();
    enum wf_status st = wf_json_set_string(o, "kernel", p->kernel, err);
    st = st == WF_OK ? wf_json_set_string(o, "pack", wf_pack_id(p->pack), err) : st;
    st = st == WF_OK && t->space != NULL
             ? wf_json_set_string(o, "variant", wf_space_base(t->space, p->base), err)
             : st;
    st = st == WF_OK ? wf_json_set_copy(o, "knobs", p->knobs, err) : st;
    st = st == WF_OK ? wf_json_set_i64(o, "rank", p->rank, err) : st;
    st = st == WF_OK && e->incumbent ? wf_json_set_bool(o, "incumbent", true, err) : st;
    st = st == WF_OK && e->start ? wf_json_set_bool(o, "start", true, err) : st;
    st = st == WF_OK ? set_finite(o, "cycles", e->cycles, err) : st;
    st = st == WF_OK ? set_finite(o, "fill", e->fill, err) : st;
    st = st == WF_OK ? set_finite(o, "time_ns", e->time_ns, err) : st;
    st = st == WF_OK && e->has_model ? put_model(t, c, e, o, err) : st;
    st = st == WF_OK && p->symbol_count > 0 ? put_figures(p, o, err) : st;
    if (st != WF_OK) {
        wf_json_free(o);
        return st;
    }
    *ret = o;
    return WF_OK;
}

static enum wf_status candidates(const struct tune *t,
                                 const struct tune_case *c,
                                 struct wf_json *o,
                                 struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < c->ordered && st == WF_OK; i++) {
        struct wf_json *v = NULL;
        st = candidate(t, c, &c->entry[c->order[i]], &v, err);
        st = st == WF_OK ? wf_json_push_take(list, v, err) : st;
    }
    return attach(st, o, "candidates", list, err);
}

static enum wf_status one_case(const struct tune *t,
                               const struct tune_case *c,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st =
        wf_json_set_string(o, "name", wf_suite_case_name(t->suite, c->index), err);
    st = st == WF_OK ? wf_json_set_string(o, "id", wf_case_id(c->c), err) : st;
    st = st == WF_OK ? wf_json_set_copy(o, "case", c->json, err) : st;
    st = st == WF_OK && c->winner != TUNE_NONE
             ? wf_json_set_u64(o, "winner", c->winner, err)
             : st;
    st = st == WF_OK && c->why[0] != '\0' ? wf_json_set_string(o, "why", c->why, err)
                                          : st;
    st = st == WF_OK ? candidates(t, c, o, err) : st;
    st = st == WF_OK ? wf_json_set_copy(o, "gates", c->gates, err) : st;
    if (st != WF_OK) {
        wf_json_free(o);
        return st;
    }
    *ret = o;
    return WF_OK;
}

static enum wf_status put_cases(const struct tune *t,
                                struct wf_json *o,
                                struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < t->case_count && st == WF_OK; i++) {
        struct wf_json *c = NULL;
        st = one_case(t, &t->cases[i], &c, err);
        st = st == WF_OK ? wf_json_push_take(list, c, err) : st;
    }
    return attach(st, o, "cases", list, err);
}

/* --- steps --- */

static enum wf_status one_step(const struct tune_step *s,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_json *o = wf_json_object(), *drops = wf_json_array();
    enum wf_status st = wf_json_set_string(o, "step", s->name, err);
    st = st == WF_OK ? wf_json_set_u64(o, "before", s->before, err) : st;
    st = st == WF_OK ? wf_json_set_u64(o, "after", s->after, err) : st;
    for (size_t i = 0; i < s->drop_count && st == WF_OK; i++) {
        struct wf_json *d = wf_json_object();
        st = wf_json_set_string(d, "why", s->drop[i].why, err);
        st = st == WF_OK ? wf_json_set_u64(d, "count", s->drop[i].count, err) : st;
        if (st == WF_OK) {
            st = wf_json_push_take(drops, d, err);
        } else {
            wf_json_free(d);
        }
    }
    st = attach(st, o, "dropped", drops, err);
    if (st != WF_OK) {
        wf_json_free(o);
        return st;
    }
    *ret = o;
    return WF_OK;
}

static enum wf_status put_steps(const struct tune *t,
                                struct wf_json *o,
                                struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < t->step_count && st == WF_OK; i++) {
        struct wf_json *s = NULL;
        st = one_step(&t->step[i], &s, err);
        st = st == WF_OK ? wf_json_push_take(list, s, err) : st;
    }
    return attach(st, o, "steps", list, err);
}

/* --- provenance --- */

/* Of the source tree, where the space lies in one; else of the first pack's record. */
static enum wf_status put_commit(const struct tune *t,
                                 struct wf_json *p,
                                 struct wf_error *err)
{
    struct wf_git_info git;
    struct wf_json *record = NULL;
    char *path = NULL;
    enum wf_status st = WF_OK;
    if (t->space != NULL && wf_git_read(wf_space_root(t->space), &git, NULL) == WF_OK) {
        st = wf_json_set_string(p, "commit", git.commit, err);
        return st == WF_OK ? wf_json_set_bool(p, "dirty", git.dirty, err) : st;
    }
    if (t->kernels.pack_count == 0 ||
        wf_pack_provenance_path(t->kernels.pack[0], &path, err) != WF_OK) {
        return WF_OK;
    }
    if (path != NULL && wf_provenance_read(path, NULL, &record, NULL) == WF_OK) {
        const struct wf_json *commit = wf_json_find(record, "commit");
        const struct wf_json *dirty = wf_json_find(record, "dirty");
        st = commit != NULL ? wf_json_set_copy(p, "commit", commit, err) : WF_OK;
        st = st == WF_OK && dirty != NULL ? wf_json_set_copy(p, "dirty", dirty, err)
                                          : st;
    }
    wf_json_free(record);
    free(path);
    return st;
}

static enum wf_status push_once(struct wf_json *list,
                                const char *text,
                                struct wf_error *err)
{
    for (const struct wf_json *v = wf_json_first(list); v != NULL;
         v = wf_json_next(v)) {
        if (strcmp(wf_json_string(v), text) == 0) {
            return WF_OK;
        }
    }
    return wf_json_push_string(list, text, err);
}

/* Compilers by the packs' records, and the packs. */
static enum wf_status put_packs(const struct tune *t,
                                struct wf_json *p,
                                struct wf_error *err)
{
    struct wf_json *packs = wf_json_array(), *compilers = wf_json_array();
    struct wf_pack *const *all = t->space != NULL ? t->pack : t->kernels.pack;
    const size_t n = t->space != NULL ? t->pack_count : t->kernels.pack_count;
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < n && st == WF_OK; i++) {
        struct wf_json *record = NULL;
        char *path = NULL;
        st = wf_json_push_string(packs, wf_pack_id(all[i]), err);
        st = st == WF_OK ? wf_pack_provenance_path(all[i], &path, err) : st;
        const struct wf_json *k =
            path != NULL && wf_provenance_read(path, NULL, &record, NULL) == WF_OK
                ? wf_json_first(wf_json_find(record, "kernels"))
                : NULL;
        for (; k != NULL && st == WF_OK; k = wf_json_next(k)) {
            const struct wf_json *v = wf_json_find(k, "compiler_version");
            st = v != NULL && wf_json_string(v) != NULL
                     ? push_once(compilers, wf_json_string(v), err)
                     : st;
        }
        wf_json_free(record);
        free(path);
    }
    st = attach(st, p, "packs", packs, err);
    return attach(st, p, "compilers", compilers, err);
}

static enum wf_status put_space(const struct tune *t,
                                struct wf_json *p,
                                struct wf_error *err)
{
    struct wf_json *o = NULL;
    if (t->space == NULL) {
        return WF_OK;
    }
    o = wf_json_object();
    enum wf_status st = wf_json_set_string(o, "entry", wf_space_entry(t->space), err);
    st = st == WF_OK ? wf_json_set_string(o, "sha256", wf_space_sha256(t->space), err)
                     : st;
    return attach(st, p, "space", o, err);
}

static enum wf_status put_provenance(const struct tune *t,
                                     struct wf_json *o,
                                     struct wf_error *err)
{
    char now[40];
    struct wf_json *p = wf_json_object(), *device = NULL;
    wf_format_utc(wf_realtime_ns(), now, sizeof(now));
    enum wf_status st = wf_json_set_string(p, "created", now, err);
    st = st == WF_OK ? wf_json_set_string(p, "tool", wf_version, err) : st;
    st = st == WF_OK ? put_commit(t, p, err) : st;
    st = st == WF_OK ? wf_device_to_json(&t->device, &device, err) : st;
    st = st == WF_OK ? wf_json_set_take(p, "device", device, err) : st;
    st = st == WF_OK ? put_packs(t, p, err) : st;
    st = st == WF_OK ? put_space(t, p, err) : st;
    st = st == WF_OK ? wf_json_set_i64(p, "points", t->o.points, err) : st;
    st = st == WF_OK ? wf_json_set_i64(p, "top", t->o.top, err) : st;
    st = st == WF_OK ? wf_json_set_bool(p, "complete", !t->out_of_time, err) : st;
    return attach(st, o, "provenance", p, err);
}

enum wf_status tune_table(const struct tune *t,
                          struct wf_json **ret,
                          struct wf_error *err)
{
    char arch[64];
    const size_t n = strcspn(t->device.arch, ":");
    struct wf_json *o = wf_json_object();
    memcpy(arch, t->device.arch, n < sizeof(arch) ? n : sizeof(arch) - 1);
    arch[n < sizeof(arch) ? n : sizeof(arch) - 1] = '\0';
    enum wf_status st = wf_json_set_string(o, "schema", WF_TUNING_SCHEMA, err);
    st = st == WF_OK ? wf_json_set_string(o, "op", t->o.op, err) : st;
    st = st == WF_OK ? wf_json_set_string(o, "arch", arch, err) : st;
    st = st == WF_OK
             ? wf_json_set_string(
                   o, "basis", t->device.times_modelled ? "modelled" : "measured", err)
             : st;
    st =
        st == WF_OK ? wf_json_set_string(o, "suite", wf_suite_name(t->suite), err) : st;
    st = st == WF_OK ? wf_json_set_u64(o, "seed", t->o.seed, err) : st;
    st = st == WF_OK ? wf_json_set_f64(o, "margin", t->o.margin, err) : st;
    st = st == WF_OK && !t->device.times_modelled
             ? wf_json_set_f64(o, "alpha", t->o.alpha, err)
             : st;
    st = st == WF_OK ? put_provenance(t, o, err) : st;
    st = st == WF_OK ? put_steps(t, o, err) : st;
    st = st == WF_OK ? put_cases(t, o, err) : st;
    st = st == WF_OK ? wf_tuning_check(o, err) : st;
    if (st != WF_OK) {
        wf_json_free(o);
        return st;
    }
    *ret = o;
    return WF_OK;
}
