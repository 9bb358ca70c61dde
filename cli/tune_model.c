/* Step 4: what is left is run. In the emulator on small problems: a wrong kernel is
 * out, and the counters give the modelled cycles of the whole. On a device that
 * measures, on the whole problem, once: a first look that gives the order of the
 * challengers and takes wrong ones out, and no more than that. */
#include "cli/commands.h"
#include "cli/tune.h"
#include "core/buf.h"
#include "core/sha256.h"
#include "kernels/op.h"
#include "runner/measure_options.h"
#include "tune/reduce.h"
#include "tune/selection.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LOOK_NS INT64_C(100000000)

static const struct wf_json *at(const struct wf_json *v, const char *key)
{
    return v != NULL && wf_json_type(v) == WF_JSON_OBJECT ? wf_json_find(v, key) : NULL;
}

static const char *text(const struct wf_json *v, const char *key)
{
    const struct wf_json *m = at(v, key);
    const char *s = m != NULL ? wf_json_string(m) : NULL;
    return s != NULL ? s : "";
}

/* --- one run --- */

struct asked {
    const struct wf_device *device;
    const char *case_json, *case_name;
    bool measure;
};

static enum wf_status execute(struct tune *t,
                              const struct tune_point *p,
                              const struct asked *a,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    char *provenance = NULL;
    struct wf_execute_request q = { .task_id = p->id,
                                    .case_json = a->case_json,
                                    .case_name = a->case_name,
                                    .pack_folder = wf_pack_folder(p->pack),
                                    .pack_id = wf_pack_id(p->pack),
                                    .kernel = p->k->name,
                                    .device = a->device,
                                    .dataset_folder = t->datasets,
                                    .attempt = 1,
                                    .deadline_ns = t->o.deadline_ns,
                                    .lock_timeout_ns = t->o.lock_timeout_ns,
                                    .threads = t->o.threads,
                                    .cancel = &wf_interrupted };
    q.measure.measure = a->measure;
    q.measure.budget_ns = FIRST_LOOK_NS;
    q.measure.naive = WF_NAIVE_OFF;
    enum wf_status st = wf_pack_provenance_path(p->pack, &provenance, err);
    q.provenance_file = provenance;
    st = st == WF_OK ? wf_execute(&q, ret, err) : st;
    free(provenance);
    return st;
}

/* What is kept of a result: answer, why, the launches' counters, the median. */
static enum wf_status digest(const struct wf_json *result,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    struct wf_json *line = wf_json_object();
    const struct wf_json *launches =
        at(at(at(result, "details"), "emulation"), "launches");
    const struct wf_json *median = at(at(result, "timing"), "median");
    enum wf_status st = wf_json_set_string(line, "answer", text(result, "answer"), err);
    st = st == WF_OK
             ? wf_json_set_string(line, "reason", text(result, "answer_text"), err)
             : st;
    st = st == WF_OK && launches != NULL
             ? wf_json_set_copy(line, "launches", launches, err)
             : st;
    st = st == WF_OK && median != NULL
             ? wf_json_set_copy(line, "median_ns", median, err)
             : st;
    if (st != WF_OK) {
        wf_json_free(line);
        return st;
    }
    *ret = line;
    return WF_OK;
}

/* From the journal, or run now. */
static enum wf_status look(struct tune *t,
                           const struct tune_point *p,
                           const char *kind,
                           const char *key,
                           const struct asked *a,
                           const struct wf_json **ret,
                           struct wf_error *err)
{
    struct wf_json *result = NULL, *line = NULL;
    *ret = tune_journal_find(t->journal, kind, key);
    if (*ret != NULL) {
        return WF_OK;
    }
    enum wf_status st = execute(t, p, a, &result, err);
    if (st == WF_OK && strcmp(text(result, "answer"), "CANCELLED") == 0) {
        bool over = false;
        st = tune_check_time(t, &over, err);
        st = st == WF_OK ? wf_errorf(err, WF_ECANCELLED, "cancelled") : st;
    }
    st = st == WF_OK ? digest(result, &line, err) : st;
    st = st == WF_OK ? tune_journal_add(t->journal, kind, key, line, err) : st;
    wf_json_free(result);
    *ret = st == WF_OK ? tune_journal_find(t->journal, kind, key) : NULL;
    return st;
}

/* --- the emulator --- */

struct small {
    struct wf_case *c;
    double length, split;
    struct wf_tune_counted counted;
};

static enum wf_status drop_wrong(struct tune *t,
                                 struct tune_entry *e,
                                 const struct wf_json *line,
                                 struct wf_error *err)
{
    char why[400];
    (void)snprintf(why, sizeof(why), "answer %s: %.300s", text(line, "answer"),
                   text(line, "reason"));
    return tune_drop_entry(t, e, why, err);
}

static enum wf_status parse_small(const struct wf_json *problem,
                                  const struct wf_tune_sizes *sizes,
                                  struct wf_case **ret,
                                  struct wf_error *err)
{
    struct wf_json *json = NULL;
    enum wf_status st = wf_tune_resized(problem, sizes, &json, err);
    st = st == WF_OK ? wf_case_parse(json, "the small problem", NULL, ret, err) : st;
    wf_json_free(json);
    return st;
}

/* Plan of the small problem: its split, and that no launch has more workgroups than
 * compute units, for then the counters are of one each. */
static enum wf_status plan_small(struct tune *t,
                                 const struct tune_point *p,
                                 double k,
                                 struct small *s,
                                 char *why,
                                 size_t n,
                                 struct wf_error *err)
{
    struct case_plan cp;
    struct wf_plan *plan = NULL;
    struct wf_tune_problem problem;
    enum wf_status st = case_plan_init(&cp, s->c, &t->model_device, err);
    st = st == WF_OK ? case_plan_make(&cp, p->k, &plan, why, n, err) : st;
    if (st == WF_OK && plan != NULL &&
        wf_tune_problem_of(plan, k, 0, 1, &problem, err) == WF_OK) {
        s->length = problem.length;
        s->split = problem.split;
    }
    wf_plan_free(plan);
    case_plan_fini(&cp);
    return st;
}

/* *ret_good false: the entry is out, or cannot be modelled (`why`). */
static enum wf_status count_small(struct tune *t,
                                  struct tune_entry *e,
                                  const struct wf_json *problem,
                                  const struct wf_tune_sizes *sizes,
                                  struct small *ret,
                                  bool *ret_good,
                                  struct wf_error *err)
{
    const struct tune_point *p = &t->point[e->point];
    const struct wf_json *line = NULL;
    char key[96], why[400] = "";
    *ret_good = false;
    enum wf_status st = parse_small(problem, sizes, &ret->c, err);
    st = st == WF_OK ? plan_small(t, p, (double)sizes->k, ret, why, sizeof(why), err)
                     : st;
    if (st != WF_OK || why[0] != '\0') {
        char textual[480];
        (void)snprintf(textual, sizeof(textual),
                       "the small problem is not supported: %s", why);
        return st == WF_OK ? tune_drop_entry(t, e, textual, err) : st;
    }
    const struct asked a = { .device = &t->model_device,
                             .case_json = wf_case_canonical(ret->c),
                             .case_name = wf_case_label(ret->c) };
    (void)snprintf(key, sizeof(key), "%s/%.12s", p->id, wf_case_id(ret->c));
    st = look(t, p, "counted", key, &a, &line, err);
    if (st == WF_OK && strcmp(text(line, "answer"), "PASS") != 0) {
        return drop_wrong(t, e, line, err);
    }
    if (st == WF_OK) {
        *ret_good = wf_tune_counted_read(at(line, "launches"), ret->length, ret->split,
                                         &ret->counted, NULL) == WF_OK;
    }
    return st;
}

static double share(const struct tune_point *p, const char *symbol, const char *name)
{
    return tune_figure(p, symbol, name) / 100;
}

static enum wf_status predict(struct tune *t,
                              struct tune_case *c,
                              struct tune_entry *e,
                              const struct wf_tune_sizes *whole,
                              struct wf_error *err)
{
    const struct tune_point *p = &t->point[e->point];
    struct wf_plan *plan = NULL;
    struct wf_tune_problem q;
    char why[200];
    enum wf_status st = case_plan_make(&c->plan, p->k, &plan, why, sizeof(why), err);
    if (st != WF_OK || plan == NULL) {
        return st;
    }
    st = wf_tune_problem_of(plan, (double)whole->k, wf_case_bytes(c->c),
                            t->model_device.cu_count, &q, err);
    if (st == WF_OK) {
        e->cycles = wf_tune_cycles(&e->model, &q);
        e->launches = q.launches;
        e->length = q.length;
        e->split = q.split;
        memcpy(e->workgroups, q.workgroups, sizeof(e->workgroups));
        e->fill = q.launches > 0 ? wf_tune_fill((double)whole->m, (double)whole->n,
                                                (double)tune_knob(p, "BLOCK_M"),
                                                (double)tune_knob(p, "BLOCK_N"),
                                                q.workgroups[0], q.cu_count)
                                 : (double)NAN;
    }
    wf_plan_free(plan);
    return st;
}

/* The second problem: longer parts of K than the first, whatever the kernel's split
 * makes of it. *ret_found false: there is none within four times its K. */
static enum wf_status longer(struct tune *t,
                             const struct tune_point *p,
                             const struct wf_json *problem,
                             double than,
                             struct wf_tune_sizes *sizes,
                             bool *ret_found,
                             struct wf_error *err)
{
    enum wf_status st = WF_OK;
    *ret_found = false;
    for (int i = 0; i < 3 && st == WF_OK && !*ret_found; i++) {
        char why[200] = "";
        struct small s = { 0 };
        sizes->k = i == 0 ? sizes->k : 2 * sizes->k;
        st = parse_small(problem, sizes, &s.c, err);
        st = st == WF_OK ? plan_small(t, p, (double)sizes->k, &s, why, sizeof(why), err)
                         : st;
        *ret_found = st == WF_OK && why[0] == '\0' && s.length > than;
        wf_case_free(s.c);
    }
    return st;
}

/* What the whole problem launches: its length of K in one part, for a start. */
static enum wf_status whole_length(struct tune_case *c,
                                   const struct tune_point *p,
                                   double k,
                                   double *ret,
                                   struct wf_error *err)
{
    struct wf_plan *plan = NULL;
    char why[200];
    const enum wf_status st =
        case_plan_make(&c->plan, p->k, &plan, why, sizeof(why), err);
    *ret = plan != NULL && plan->split > 0 ? k / (double)plan->split : k;
    wf_plan_free(plan);
    return st;
}

static enum wf_status count_both(struct tune *t,
                                 struct tune_case *c,
                                 struct tune_entry *e,
                                 const struct wf_tune_sizes *whole,
                                 struct small s[2],
                                 struct wf_error *err)
{
    const struct tune_point *p = &t->point[e->point];
    struct wf_tune_sizes sizes[2];
    bool pair = false, good = false, found = false;
    double length = 0;
    wf_tune_reduce(whole, tune_knob(p, "BLOCK_M"), tune_knob(p, "BLOCK_N"), sizes,
                   &pair);
    enum wf_status st = whole_length(c, p, (double)whole->k, &length, err);
    st = st == WF_OK ? count_small(t, e, c->json, &sizes[0], &s[0], &good, err) : st;
    if (st != WF_OK || !good) {
        return st;
    }
    const bool alike = fabs(s[0].length - length) < 0.5;
    if (!alike) {
        sizes[1].k = pair ? sizes[1].k : 2 * sizes[0].k;
        st = longer(t, p, c->json, s[0].length, &sizes[1], &found, err);
    }
    if (st == WF_OK && found) {
        st = count_small(t, e, c->json, &sizes[1], &s[1], &good, err);
    }
    if (st == WF_OK && good && (alike || found)) {
        const char *symbol = s[0].counted.launch[0].symbol;
        e->has_model =
            wf_tune_model_fit(&s[0].counted, alike ? NULL : &s[1].counted,
                              share(p, symbol, "mca"), share(p, symbol, "mca_nowait"),
                              &e->model, NULL) == WF_OK;
    }
    return st;
}

static enum wf_status model_entry(struct tune *t,
                                  struct tune_case *c,
                                  struct tune_entry *e,
                                  struct wf_error *err)
{
    struct small s[2] = { { 0 } };
    struct wf_tune_sizes whole;
    enum wf_status st = wf_tune_sizes_of(c->json, &whole, err);
    st = st == WF_OK ? count_both(t, c, e, &whole, s, err) : st;
    if (st == WF_OK && e->has_model && tune_entry_in(t, e)) {
        st = predict(t, c, e, &whole, err);
        e->has_model = isfinite(e->cycles); /* it launches something else */
    }
    wf_case_free(s[0].c);
    wf_case_free(s[1].c);
    return st;
}

/* --- a first look on the device --- */

static enum wf_status look_entry(struct tune *t,
                                 struct tune_case *c,
                                 struct tune_entry *e,
                                 struct wf_error *err)
{
    char key[96];
    const struct wf_json *line = NULL;
    const struct tune_point *p = &t->point[e->point];
    const struct asked a = { .device = &t->device,
                             .case_json = wf_case_canonical(c->c),
                             .case_name = wf_suite_case_name(t->suite, c->index),
                             .measure = true };
    (void)snprintf(key, sizeof(key), "%s/%.12s", p->id, wf_case_id(c->c));
    enum wf_status st = look(t, p, "seen", key, &a, &line, err);
    if (st != WF_OK) {
        return st;
    }
    if (strcmp(text(line, "answer"), "PASS") != 0) {
        return drop_wrong(t, e, line, err);
    }
    const struct wf_json *median = at(line, "median_ns");
    if (median != NULL) {
        (void)wf_json_as_f64(median, &e->time_ns);
    }
    return WF_OK;
}

/* --- all of them --- */

typedef enum wf_status (*entry_fn)(struct tune *t,
                                   struct tune_case *c,
                                   struct tune_entry *e,
                                   struct wf_error *err);

static enum wf_status each(struct tune *t,
                           entry_fn fn,
                           const char *what,
                           struct wf_error *err)
{
    enum wf_status st = WF_OK;
    size_t done = 0, total = t->step[t->step_count - 1].before;
    for (size_t c = 0; c < t->case_count && st == WF_OK; c++) {
        for (size_t i = 0; i < t->cases[c].count && st == WF_OK; i++) {
            struct tune_entry *e = &t->cases[c].entry[i];
            bool over = false;
            if (!tune_entry_in(t, e) || t->point[e->point].k == NULL) {
                continue;
            }
            st = tune_check_time(t, &over, err);
            wf_progress_show(&t->progress, done++, total, what);
            if (st == WF_OK && over) {
                st = tune_drop_entry(t, e, "not run, the budget was used up", err);
            } else if (st == WF_OK) {
                st = fn(t, &t->cases[c], e, err);
            }
        }
    }
    return st;
}

enum wf_status tune_models(struct tune *t, struct wf_error *err)
{
    tune_step_begin(t, "run");
    wf_progress_start(&t->progress);
    enum wf_status st = t->has_model ? each(t, model_entry, "emulator", err) : WF_OK;
    if (st == WF_OK && !t->device.times_modelled) {
        st = each(t, look_entry, "first look", err);
    }
    if (st == WF_OK) {
        tune_step_end(t);
    } else {
        wf_progress_end(&t->progress);
    }
    return st;
}
