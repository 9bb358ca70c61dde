/* The whole run: mutants of the manifests, generated ones, right kernels. Each stage
 * makes a list of trials, runs it, and counts. */
#include "selftest/mutants.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/rng.h"
#include "selftest/environment.h"
#include "selftest/generate.h"
#include "selftest/generate_cases.h"
#include "selftest/right.h"
#include "selftest/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_PACK "wavefarm-gfx942"

/* Whose trial it is; `user` of a trial. */
struct slot {
    const struct wf_mutant *mutant; /* NULL: generated, or right */
    const char *name, *case_name;
    struct wf_tally *tally; /* NULL: right */
    bool peers_only;        /* without the emulator's checks, for the peers */
};

struct stage {
    const struct wf_mutants_options *options;
    struct wf_mutants_report *report;
    struct wf_selftest_env *env;
    const char *name;
    struct wf_trial *trial;
    struct slot *slot;
    size_t count, done;
    bool *again;         /* once more without the emulator's checks, for the peers */
    struct wf_error err; /* the first outcome that is none */
};

static bool wanted(const struct wf_mutants_options *o, const char *name)
{
    return o->wants == NULL || o->wants(o->ctx, name);
}

static enum wf_status grow(struct stage *s, size_t more, struct wf_error *err)
{
    struct wf_trial *trial =
        wf_realloc_array(s->trial, s->count + more, sizeof(*s->trial));
    if (trial != NULL) {
        s->trial = trial;
    }
    struct slot *slot = wf_realloc_array(s->slot, s->count + more, sizeof(*s->slot));
    if (slot != NULL) {
        s->slot = slot;
    }
    return trial != NULL && slot != NULL
               ? WF_OK
               : wf_errorf(err, WF_ENOMEM, "no memory for trials");
}

static void clear(struct stage *s)
{
    free(s->trial);
    free(s->slot);
    free(s->again);
    s->trial = NULL;
    s->slot = NULL;
    s->again = NULL;
    s->count = s->done = 0;
}

/* --- outcomes --- */

static enum wf_status take_right(struct stage *s,
                                 const struct wf_trial *t,
                                 const struct wf_trial_outcome *o,
                                 struct wf_error *err)
{
    struct wf_mutants_report *r = s->report;
    r->right_runs++;
    if (o->answer == WF_ANSWER_PASS) {
        return WF_OK;
    }
    r->false_alarms++;
    return wf_list_add(&r->alarm, &r->alarm_count,
                       wf_asprintf("%s, seed offset %" PRIu64 ", %.600s: %s: %.400s",
                                   t->kernel, t->seed_offset, t->case_json,
                                   wf_answer_name(o->answer), o->text),
                       err);
}

static enum wf_status take(struct stage *s,
                           const struct wf_trial *t,
                           const struct wf_trial_outcome *o,
                           struct wf_error *err)
{
    const size_t i = (size_t)(t - s->trial);
    const struct slot *slot = &s->slot[i];
    enum wf_status st = wf_tally_check(slot->name, t->case_json, o, err);
    if (st != WF_OK || slot->tally == NULL) {
        return st == WF_OK ? take_right(s, t, o, err) : st;
    }
    if (slot->peers_only) {
        wf_tally_peers_unchecked(slot->tally, o);
        return WF_OK;
    }
    wf_tally_add(slot->tally, slot->mutant, slot->case_name, o);
    s->again[i] = wf_tally_needs_outputs(o);
    return WF_OK;
}

static void on_done(void *ctx,
                    const struct wf_trial *t,
                    const struct wf_trial_outcome *o)
{
    struct stage *s = ctx;
    s->done++;
    if (s->err.status == WF_OK) {
        (void)take(s, t, o, &s->err);
    }
    if (s->options->progress != NULL) {
        s->options->progress(s->options->ctx, s->name, s->done, s->count);
    }
}

/* Runs the stage's trials. */
static enum wf_status run_once(struct stage *s, struct wf_error *err)
{
    enum wf_status st = wf_trials_run(s->trial, s->count, s->options->jobs,
                                      s->options->cancel, on_done, s, err);
    if (st == WF_OK && s->err.status != WF_OK) {
        st = wf_errorf(err, s->err.status, "%.740s", s->err.text);
    }
    return st;
}

/* What the outputs would be that the checks did not let come. */
static enum wf_status run_again(struct stage *s, struct wf_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->again[i]) {
            s->trial[n] = s->trial[i];
            s->slot[n] = s->slot[i];
            s->slot[n].peers_only = true;
            s->trial[n].no_checks = true;
            s->trial[n++].measure = false;
        }
    }
    s->count = n;
    s->done = 0;
    return run_once(s, err);
}

static enum wf_status run_stage(struct stage *s, struct wf_error *err)
{
    s->again = wf_calloc(s->count + 1, sizeof(*s->again));
    enum wf_status st =
        s->again != NULL ? run_once(s, err) : wf_errorf(err, WF_ENOMEM, "no memory");
    return st == WF_OK ? run_again(s, err) : st;
}

/* --- the manifests' mutants --- */

static enum wf_status plan_mutant(struct stage *s,
                                  const struct wf_mutant *m,
                                  struct wf_tally *tally,
                                  struct wf_error *err)
{
    const struct wf_pack *pack = NULL;
    char *folder = wf_path_join(s->options->mutants_folder, m->pack);
    enum wf_status st = folder != NULL ? wf_selftest_pack(s->env, folder, &pack, err)
                                       : wf_errorf(err, WF_ENOMEM, "no memory");
    free(folder);
    const struct wf_pack_kernel *k =
        st == WF_OK ? wf_pack_kernel(pack, m->kernel) : NULL;
    if (st == WF_OK && k == NULL) {
        st = wf_errorf(err, WF_EINVAL, "mutant %s: pack %s has no kernel %s", m->name,
                       m->pack, m->kernel);
    }
    if (st == WF_OK) {
        st = grow(s, m->case_count, err);
    }
    for (size_t c = 0; st == WF_OK && c < m->case_count; c++) {
        struct wf_trial *t = &s->trial[s->count];
        *t = (struct wf_trial){ .pack_folder = wf_pack_folder(pack),
                                .pack_id = wf_pack_id(pack),
                                .kernel = k->name,
                                .device = wf_selftest_device(s->env, k),
                                .dataset_folder = s->env->datasets,
                                .seed_offset = s->options->seed,
                                .measure = m->measure,
                                .kernel_deadline_ns = m->deadline_ns };
        s->slot[s->count] = (struct slot){ m, m->name, m->case_name[c], tally, false };
        st = wf_selftest_case(s->env, m->case_of[c], m->tables, &t->case_json, err);
        s->count++;
    }
    return st;
}

static enum wf_status count_causes(struct wf_mutants_group *g,
                                   const struct wf_mutant *m,
                                   const struct wf_tally *t,
                                   struct wf_error *err)
{
    bool named = true;
    for (size_t i = 0; i < m->says_count; i++) {
        named = named && t->said[i];
    }
    g->causes += m->says_count > 0;
    g->causes_named += m->says_count > 0 && named;
    if (named) {
        return WF_OK;
    }
    return wf_list_add(&g->unnamed, &g->unnamed_count,
                       wf_asprintf("%s (\"%s\" was not said)", m->name, m->says[0]),
                       err);
}

static enum wf_status count_mutants(struct stage *s,
                                    const struct wf_manifest *manifest,
                                    const struct wf_tally *tally,
                                    struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < wf_manifest_count(manifest); i++) {
        const struct wf_mutant *m = wf_manifest_at(manifest, i);
        struct wf_mutants_group *g =
            m->group == WF_MUTANT_WRONG ? &s->report->wrong : &s->report->cheats;
        if (tally[i].trials == 0) {
            continue;
        }
        st = wf_group_add(g, m->name, &tally[i], wf_tally_caught(&tally[i], true), err);
        if (st == WF_OK) {
            st = count_causes(g, m, &tally[i], err);
        }
    }
    return st;
}

static enum wf_status run_mutants(struct stage *s,
                                  const struct wf_manifest *manifest,
                                  struct wf_error *err)
{
    struct wf_tally *tally = wf_calloc(wf_manifest_count(manifest) + 1, sizeof(*tally));
    enum wf_status st =
        tally != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for tallies");
    s->name = "mutants";
    for (size_t i = 0; st == WF_OK && i < wf_manifest_count(manifest); i++) {
        const struct wf_mutant *m = wf_manifest_at(manifest, i);
        if (m->group != WF_MUTANT_RIGHT && wanted(s->options, m->name)) {
            st = plan_mutant(s, m, &tally[i], err);
        }
    }
    if (st == WF_OK) {
        st = run_stage(s, err);
    }
    if (st == WF_OK) {
        st = count_mutants(s, manifest, tally, err);
    }
    clear(s);
    free(tally);
    return st;
}

/* --- generated mutants of one kernel --- */

/* What all rounds of one kernel's mutants share. */
struct generated {
    const struct wf_generated_set *set;
    const struct wf_generated_cases *cases;
    const char *kernel;
    const struct wf_pack **pack; /* of each mutant */
    struct wf_tally *tally;
};

static enum wf_status write_generated(struct stage *s,
                                      struct generated *g,
                                      const char *parent,
                                      struct wf_error *err)
{
    enum wf_status st = wf_mkdir_parents(parent, err);
    for (size_t i = 0; st == WF_OK && i < wf_generated_count(g->set); i++) {
        char *folder = wf_asprintf("%s/%zu", parent, i);
        st = folder != NULL ? wf_generated_write(g->set, i, folder, err)
                            : wf_errorf(err, WF_ENOMEM, "no memory");
        if (st == WF_OK) {
            st = wf_selftest_pack(s->env, folder, &g->pack[i], err);
        }
        free(folder);
    }
    return st;
}

static void plan_generated(struct stage *s,
                           const struct generated *g,
                           size_t i,
                           size_t c)
{
    const bool caught = wf_tally_caught(&g->tally[i], false);
    s->trial[s->count] = (struct wf_trial){ .pack_folder = wf_pack_folder(g->pack[i]),
                                            .pack_id = wf_pack_id(g->pack[i]),
                                            .kernel = g->kernel,
                                            .case_json = wf_generated_case(g->cases, c),
                                            .device = &s->env->emulator,
                                            .dataset_folder = s->env->datasets,
                                            .seed_offset = s->options->seed,
                                            .no_checks = caught };
    s->slot[s->count++] = (struct slot){ NULL, wf_generated_name(g->set, i), "case",
                                         &g->tally[i], caught };
}

/* Cases [from, to): all checks where the mutant is not caught yet; where it is, only
 * what the peers have not rejected yet, without the emulator's checks. */
static enum wf_status run_round(struct stage *s,
                                const struct generated *g,
                                size_t from,
                                size_t to,
                                struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < wf_generated_count(g->set); i++) {
        if (wf_tally_caught(&g->tally[i], false) && wf_tally_all_peers(&g->tally[i])) {
            continue;
        }
        st = grow(s, to - from, err);
        for (size_t c = from; st == WF_OK && c < to; c++) {
            plan_generated(s, g, i, c);
        }
    }
    if (st == WF_OK) {
        st = run_stage(s, err);
    }
    clear(s);
    return st;
}

/* Few cases first: most mutants need no more. */
static enum wf_status run_rounds(struct stage *s,
                                 const struct generated *g,
                                 struct wf_error *err)
{
    const size_t n = wf_generated_cases_count(g->cases);
    enum wf_status st = WF_OK;
    for (size_t from = 0, to = 2; st == WF_OK && from < n; from = to, to *= 3) {
        st = run_round(s, g, from, to < n ? to : n, err);
    }
    return st;
}

static enum wf_status note_excluded(struct stage *s,
                                    const struct wf_generated_set *set,
                                    const char *kernel,
                                    struct wf_error *err)
{
    struct wf_mutants_report *r = s->report;
    enum wf_status st = WF_OK;
    size_t n = 0;
    const char *why = wf_generated_excluded(set, 0, &n);
    for (size_t i = 0; st == WF_OK && why != NULL;
         why = wf_generated_excluded(set, ++i, &n)) {
        if (n == 0) {
            continue;
        }
        st = wf_list_add(&r->excluded, &r->excluded_count,
                         wf_asprintf("%s: %zu %s", kernel, n, why), err);
    }
    return st;
}

static enum wf_status run_set(struct stage *s,
                              const struct wf_generated_set *set,
                              const char *kernel,
                              struct wf_error *err)
{
    struct wf_generated_cases *cases = NULL;
    const size_t n = wf_generated_count(set);
    struct generated g = { .set = set,
                           .kernel = kernel,
                           .pack = wf_calloc(n + 1, sizeof(*g.pack)),
                           .tally = wf_calloc(n + 1, sizeof(*g.tally)) };
    char *parent = wf_path_join(s->env->folder, kernel);
    enum wf_status st = g.tally != NULL && g.pack != NULL && parent != NULL
                            ? write_generated(s, &g, parent, err)
                            : wf_errorf(err, WF_ENOMEM, "no memory");
    if (st == WF_OK) {
        st = wf_generated_cases_create(kernel, s->env->datasets, &cases, err);
    }
    g.cases = cases;
    if (st == WF_OK) {
        st = run_rounds(s, &g, err);
    }
    for (size_t i = 0; st == WF_OK && i < n; i++) {
        st = wf_group_add(&s->report->generated, wf_generated_name(set, i), &g.tally[i],
                          wf_tally_caught(&g.tally[i], false), err);
    }
    if (parent != NULL) {
        (void)wf_remove_tree(parent, NULL);
    }
    wf_generated_cases_destroy(cases);
    free(parent);
    free(g.pack);
    free(g.tally);
    return st;
}

static enum wf_status run_kernel(struct stage *s,
                                 const struct wf_pack *pack,
                                 const char *kernel,
                                 size_t count,
                                 struct wf_error *err)
{
    struct wf_generated_set *set = NULL;
    if (count == 0 || !wanted(s->options, kernel)) {
        return WF_OK;
    }
    enum wf_status st = wf_generated_create(wf_pack_folder(pack), kernel, count,
                                            s->options->seed, &set, err);
    if (st == WF_OK) {
        st = run_set(s, set, kernel, err);
    }
    if (st == WF_OK) {
        st = note_excluded(s, set, kernel, err);
    }
    wf_generated_destroy(set);
    return st;
}

/* Kernels without cases of their own have no mutants. */
static size_t kernels_with_cases(const struct wf_pack *pack)
{
    size_t n = 0;
    for (size_t k = 0; k < wf_pack_kernel_count(pack); k++) {
        n += wf_generated_has_cases(wf_pack_kernel_at(pack, k)->name);
    }
    return n;
}

static enum wf_status run_generated(struct stage *s, struct wf_error *err)
{
    const struct wf_pack *pack = NULL;
    const size_t wanted_count = s->options->generated;
    if (wanted_count == 0) {
        return WF_OK;
    }
    char *folder = wf_path_join(s->options->packs_folder, DEVICE_PACK);
    enum wf_status st = folder != NULL ? wf_selftest_pack(s->env, folder, &pack, err)
                                       : wf_errorf(err, WF_ENOMEM, "no memory");
    free(folder);
    const size_t kernels = st == WF_OK ? kernels_with_cases(pack) : 0;
    const size_t all = st == WF_OK ? wf_pack_kernel_count(pack) : 0;
    size_t done = 0;
    s->name = "generated";
    if (st == WF_OK && kernels == 0) {
        return wf_errorf(err, WF_ENOTFOUND,
                         "no kernel of pack %s has cases for generated mutants "
                         "(selftest/generate_cases.def)",
                         DEVICE_PACK);
    }
    for (size_t k = 0; st == WF_OK && k < all; k++) {
        const char *kernel = wf_pack_kernel_at(pack, k)->name;
        if (!wf_generated_has_cases(kernel)) {
            continue;
        }
        const size_t share =
            wanted_count / kernels + (done < wanted_count % kernels ? 1 : 0);
        st = run_kernel(s, pack, kernel, share, err);
        done++;
    }
    return st;
}

/* --- right runs --- */

static enum wf_status run_right(struct stage *s,
                                const struct wf_manifest *manifest,
                                struct wf_error *err)
{
    const struct wf_mutants_options *o = s->options;
    const struct wf_right right = {
        s->env, manifest, o->packs_folder, o->mutants_folder, o->seed, o->wants, o->ctx
    };
    s->name = "right runs";
    enum wf_status st = grow(s, o->right_runs + 1, err);
    for (size_t i = 0; st == WF_OK && i < o->right_runs; i++) {
        st = wf_right_draw(&right, i, &s->trial[i], err);
        s->slot[i] = (struct slot){ NULL, s->trial[i].kernel, "", NULL, false };
        s->count++;
    }
    if (st == WF_OK) {
        st = run_stage(s, err);
    }
    clear(s);
    return st;
}

enum wf_status wf_mutants_run(const struct wf_mutants_options *options,
                              struct wf_mutants_report *ret,
                              struct wf_error *err)
{
    struct wf_selftest_env env;
    struct wf_manifest *manifest = NULL;
    *ret = (struct wf_mutants_report){ .right_runs = 0 };
    enum wf_status st = wf_manifest_load(options->mutants_folder, &manifest, err);
    if (st == WF_OK) {
        st = wf_selftest_env_open(&env, err);
    }
    if (st != WF_OK) {
        wf_manifest_free(manifest);
        return st;
    }
    struct stage s = { .options = options, .report = ret, .env = &env };
    st = run_mutants(&s, manifest, err);
    if (st == WF_OK) {
        st = run_generated(&s, err);
    }
    if (st == WF_OK && options->right_runs > 0) {
        st = run_right(&s, manifest, err);
    }
    wf_selftest_env_close(&env);
    wf_manifest_free(manifest);
    return st;
}

static void free_list(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(list[i]);
    }
    free(list);
}

static void free_group(struct wf_mutants_group *g)
{
    free_list(g->survivor, g->survivor_count);
    free_list(g->unnamed, g->unnamed_count);
}

void wf_mutants_report_free(struct wf_mutants_report *r)
{
    free_group(&r->wrong);
    free_group(&r->cheats);
    free_group(&r->generated);
    free_list(r->alarm, r->alarm_count);
    free_list(r->excluded, r->excluded_count);
    *r = (struct wf_mutants_report){ .right_runs = 0 };
}

bool wf_mutants_report_is_good(const struct wf_mutants_report *r)
{
    return r->wrong.caught == r->wrong.total &&
           r->cheats.caught * 100 >= r->cheats.total * 95 &&
           r->generated.caught * 100 >= r->generated.total * 98 && r->false_alarms == 0;
}
