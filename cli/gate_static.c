/* Collects both packs' figures, kernel by kernel.
 *
 * A figure is of a kernel of the pack and of one symbol that it launches; the symbol is
 * part of its name only where the kernel launches several. */
#include "cli/gate_static.h"

#include "cli/isa_files.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/parse.h"
#include "gate/static.h"
#include "isa/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A code object that was read once. */
struct object {
    const char *file; /* of the pack */
    struct wf_isa_report *report;
};

struct arm {
    const struct wf_pack *pack;
    struct object *object;
    size_t object_count;
    struct wf_static_figure *figure;
    size_t count;
};

struct work {
    const struct wf_gate_static_options *options;
    struct wf_isa_options isa;
    struct arm base, cand;
    char **note; /* why kernels could not be read */
    size_t note_count;
};

/* --- reports --- */

static enum wf_status read_object(struct arm *a,
                                  const struct wf_isa_options *isa,
                                  const char *file,
                                  const struct wf_isa_report **ret,
                                  struct wf_error *err)
{
    for (size_t i = 0; i < a->object_count; i++) {
        if (strcmp(a->object[i].file, file) == 0) {
            *ret = a->object[i].report;
            return WF_OK;
        }
    }
    struct object *grown =
        wf_realloc_array(a->object, a->object_count + 1, sizeof(*a->object));
    char *path = grown != NULL ? wf_path_join(wf_pack_folder(a->pack), file) : NULL;
    a->object = grown != NULL ? grown : a->object;
    if (path == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %s", file);
    }
    struct object o = { .file = file };
    enum wf_status st = wf_isa_report_read(path, isa, &o.report, err);
    free(path);
    if (st == WF_OK) {
        a->object[a->object_count++] = o;
        *ret = o.report;
    }
    return st;
}

static bool find_symbol(const struct wf_isa_report *r, const char *symbol, size_t *ret)
{
    for (size_t i = 0; i < wf_isa_report_count(r); i++) {
        if (strcmp(wf_isa_report_kernel(r, i), symbol) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

/* --- figures of a kernel --- */

static const char *file_of(const struct wf_pack_kernel *k, const char *label)
{
    for (size_t i = 0; i < k->code_count; i++) {
        if (strcmp(k->code[i].label, label) == 0) {
            return k->code[i].file;
        }
    }
    return NULL;
}

/* A symbol that is launched twice counts once. */
static bool is_first(const struct wf_pack_kernel *k, size_t launch)
{
    for (size_t i = 0; i < launch; i++) {
        if (strcmp(k->launch[i].symbol, k->launch[launch].symbol) == 0 &&
            strcmp(k->launch[i].code, k->launch[launch].code) == 0) {
            return false;
        }
    }
    return true;
}

static size_t symbols_of(const struct wf_pack_kernel *k)
{
    size_t n = 0;
    for (size_t i = 0; i < k->launch_count; i++) {
        n += is_first(k, i);
    }
    return n;
}

static enum wf_status add_symbol(struct arm *a,
                                 const struct wf_isa_report *r,
                                 size_t kernel,
                                 const char *name,
                                 const char *symbol,
                                 struct wf_error *err)
{
    size_t n = wf_isa_figure_count(r, kernel);
    struct wf_static_figure *grown =
        wf_realloc_array(a->figure, a->count + n, sizeof(*a->figure));
    if (grown == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the figures of %s", name);
    }
    a->figure = grown;
    for (size_t i = 0; i < n; i++) {
        struct wf_isa_figure f = wf_isa_figure_at(r, kernel, i);
        a->figure[a->count++] = (struct wf_static_figure){ .kernel = name,
                                                           .symbol = symbol,
                                                           .case_name = "",
                                                           .name = f.name,
                                                           .value = f.value,
                                                           .worse = f.worse,
                                                           .why = f.why };
    }
    return WF_OK;
}

/* `name`: what the figures are filed under; the candidate's name on both sides. */
static enum wf_status add_kernel(struct arm *a,
                                 const struct wf_isa_options *isa,
                                 const struct wf_pack_kernel *k,
                                 const char *name,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    bool several = symbols_of(k) > 1;
    for (size_t i = 0; i < k->launch_count && st == WF_OK; i++) {
        const struct wf_isa_report *r = NULL;
        const char *symbol = k->launch[i].symbol;
        const char *file = file_of(k, k->launch[i].code);
        size_t at = 0;
        if (file == NULL || !is_first(k, i)) {
            continue;
        }
        st = read_object(a, isa, file, &r, err);
        if (st == WF_OK && !find_symbol(r, symbol, &at)) {
            st = wf_errorf(err, WF_ENOTFOUND, "%s has no kernel %s, which %s launches",
                           file, symbol, k->name);
        }
        st = st == WF_OK ? add_symbol(a, r, at, name, several ? symbol : "", err) : st;
    }
    return st;
}

/* --- pairs of kernels --- */

static const char *sha_of(const struct wf_pack *pack, const char *file)
{
    const char *sha = file != NULL ? wf_pack_file_sha256(pack, file) : NULL;
    return sha != NULL ? sha : "";
}

/* Both launch the same symbols of the same bytes. */
static bool same_code(const struct work *w,
                      const struct wf_pack_kernel *a,
                      const struct wf_pack_kernel *b)
{
    bool same = a->launch_count == b->launch_count;
    for (size_t i = 0; same && i < a->launch_count; i++) {
        const char *x = sha_of(w->base.pack, file_of(a, a->launch[i].code));
        const char *y = sha_of(w->cand.pack, file_of(b, b->launch[i].code));
        same = x[0] != '\0' && strcmp(x, y) == 0 &&
               strcmp(a->launch[i].symbol, b->launch[i].symbol) == 0;
    }
    return same;
}

static bool is_wanted(const struct work *w, const struct wf_pack_kernel *k)
{
    const struct wf_gate_static_options *o = w->options;
    if (o->cand_kernel != NULL) {
        return strcmp(k->name, o->cand_kernel) == 0;
    }
    return o->kernels == NULL || wf_glob_match(o->kernels, k->name);
}

static const struct wf_pack_kernel *partner(const struct work *w,
                                            const struct wf_pack_kernel *k)
{
    const char *name =
        w->options->base_kernel != NULL ? w->options->base_kernel : k->name;
    const struct wf_pack_kernel *found = wf_pack_kernel(w->base.pack, name);
    return found != NULL && wf_isa_is_gfx942(found) ? found : NULL;
}

/* Code that this report cannot read may run all the same: what is known of the kernel
 * is dropped on both sides, and one entry says why. */
static enum wf_status note_unread(struct work *w,
                                  const char *kernel,
                                  const char *why,
                                  struct wf_error *err)
{
    char **notes = wf_realloc_array(w->note, w->note_count + 1, sizeof(*w->note));
    struct wf_static_figure *grown =
        wf_realloc_array(w->cand.figure, w->cand.count + 1, sizeof(*w->cand.figure));
    char *text = wf_strdup(why);
    w->note = notes != NULL ? notes : w->note;
    w->cand.figure = grown != NULL ? grown : w->cand.figure;
    if (notes == NULL || grown == NULL || text == NULL) {
        free(text);
        return wf_errorf(err, WF_ENOMEM, "no memory for the figures of %s", kernel);
    }
    w->note[w->note_count++] = text;
    w->cand.figure[w->cand.count++] = (struct wf_static_figure){ .kernel = kernel,
                                                                 .symbol = "",
                                                                 .case_name = "",
                                                                 .name = WF_STATIC_NOTE,
                                                                 .value = (double)NAN,
                                                                 .why = text };
    return WF_OK;
}

/* Both sides of a kernel; `b` or `k` NULL: that side has none. */
static enum wf_status add_both(struct work *w,
                               const struct wf_pack_kernel *b,
                               const struct wf_pack_kernel *k,
                               const char *name,
                               struct wf_error *err)
{
    struct wf_error why = { .text = "" };
    size_t before[2] = { w->base.count, w->cand.count };
    enum wf_status st = WF_OK;
    if (b != NULL) {
        st = add_kernel(&w->base, &w->isa, b, name, &why);
    }
    if (st == WF_OK && k != NULL) {
        st = add_kernel(&w->cand, &w->isa, k, name, &why);
    }
    if (st == WF_OK) {
        return WF_OK;
    }
    if (st == WF_ENOMEM) {
        return wf_errorf(err, st, "%s", why.text);
    }
    w->base.count = before[0];
    w->cand.count = before[1];
    return note_unread(w, name, why.text, err);
}

/* *ret_same: figures that need no reading, since the code is the same. */
static enum wf_status add_candidates(struct work *w,
                                     size_t *ret_same,
                                     struct wf_error *err)
{
    enum wf_status st = WF_OK;
    *ret_same = 0;
    for (size_t i = 0; i < wf_pack_kernel_count(w->cand.pack) && st == WF_OK; i++) {
        const struct wf_pack_kernel *k = wf_pack_kernel_at(w->cand.pack, i);
        if (!wf_isa_is_gfx942(k) || !is_wanted(w, k)) {
            continue;
        }
        const struct wf_pack_kernel *b = partner(w, k);
        if (b != NULL && same_code(w, b, k)) {
            *ret_same += symbols_of(k) * wf_isa_figure_names();
        } else {
            st = add_both(w, b, k, k->name, err);
        }
    }
    return st;
}

/* What only the base has: told, never dropped. */
static enum wf_status add_gone(struct work *w, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (w->options->cand_kernel != NULL) {
        return WF_OK;
    }
    for (size_t i = 0; i < wf_pack_kernel_count(w->base.pack) && st == WF_OK; i++) {
        const struct wf_pack_kernel *k = wf_pack_kernel_at(w->base.pack, i);
        const struct wf_pack_kernel *c = wf_pack_kernel(w->cand.pack, k->name);
        if (wf_isa_is_gfx942(k) && is_wanted(w, k) &&
            (c == NULL || !wf_isa_is_gfx942(c))) {
            st = add_both(w, k, NULL, k->name, err);
        }
    }
    return st;
}

/* --- counters --- */

static enum wf_status append(struct arm *a,
                             const struct wf_static_figure *more,
                             size_t n,
                             struct wf_error *err)
{
    if (n == 0) {
        return WF_OK;
    }
    struct wf_static_figure *grown =
        wf_realloc_array(a->figure, a->count + n, sizeof(*a->figure));
    if (grown == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu counters", n);
    }
    a->figure = grown;
    memcpy(a->figure + a->count, more, n * sizeof(*more));
    a->count += n;
    return WF_OK;
}

static enum wf_status add_counters(struct work *w,
                                   struct wf_static_counters *c,
                                   struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < w->options->pair_record_count && st == WF_OK; i++) {
        st = wf_static_counters_add(c, w->options->pair_record[i], err);
    }
    struct arm *arms[] = { &w->base, &w->cand };
    for (int a = 0; a < 2 && st == WF_OK; a++) {
        size_t n = 0;
        const struct wf_static_figure *f = wf_static_counters_of(c, a, &n);
        st = append(arms[a], f, n, err);
    }
    return st;
}

/* --- all of it --- */

static enum wf_status compare(const struct work *w,
                              const struct wf_json *policy,
                              size_t same,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    struct wf_static_rules *rules = NULL;
    int64_t compared = 0;
    enum wf_status st = wf_static_rules_create(policy, &rules, err);
    if (st == WF_OK) {
        st = wf_static_compare(rules, w->base.figure, w->base.count, w->cand.figure,
                               w->cand.count, ret, err);
    }
    if (st == WF_OK && wf_json_as_i64(wf_json_find(*ret, "compared"), &compared)) {
        st = wf_json_set_i64(*ret, "compared", compared + (int64_t)same, err);
    }
    wf_static_rules_free(rules);
    return st;
}

static void free_arm(struct arm *a)
{
    for (size_t i = 0; i < a->object_count; i++) {
        wf_isa_report_free(a->object[i].report);
    }
    free(a->object);
    free(a->figure);
}

static enum wf_status check_names(const struct work *w, struct wf_error *err)
{
    const struct wf_gate_static_options *o = w->options;
    if (o->cand_kernel != NULL &&
        wf_pack_kernel(w->cand.pack, o->cand_kernel) == NULL) {
        return wf_errorf(err, WF_ENOTFOUND, "the candidate has no kernel %s",
                         o->cand_kernel);
    }
    if (o->base_kernel != NULL &&
        wf_pack_kernel(w->base.pack, o->base_kernel) == NULL) {
        return wf_errorf(err, WF_ENOTFOUND, "the base has no kernel %s",
                         o->base_kernel);
    }
    return WF_OK;
}

enum wf_status wf_gate_static_line(const struct wf_pack *base,
                                   const struct wf_pack *cand,
                                   const struct wf_json *policy,
                                   const struct wf_gate_static_options *options,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    struct work w = { .options = options, .base.pack = base, .cand.pack = cand };
    struct wf_static_counters *counters = NULL;
    size_t same = 0;
    w.isa = (struct wf_isa_options){ .mca = options->mca,
                                     .mca_program = options->mca_program,
                                     .mca_timeout_ns = options->mca_timeout_ns };
    enum wf_status st = check_names(&w, err);
    st = st == WF_OK ? add_candidates(&w, &same, err) : st;
    st = st == WF_OK ? add_gone(&w, err) : st;
    st = st == WF_OK ? wf_static_counters_create(&counters, err) : st;
    st = st == WF_OK ? add_counters(&w, counters, err) : st;
    st = st == WF_OK ? compare(&w, policy, same, ret, err) : st;
    wf_static_counters_free(counters);
    free_arm(&w.base);
    free_arm(&w.cand);
    for (size_t i = 0; i < w.note_count; i++) {
        free(w.note[i]);
    }
    free(w.note);
    return st;
}
