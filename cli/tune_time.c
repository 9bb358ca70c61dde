/* Step 5, where times are measured: the best few meet the champion one after the other,
 * each in a gate of its own (tune/tournament.h has the rule and its error rate). Where
 * they are modelled: the least modelled cycles, and no gate. */
#include "cli/commands.h"
#include "cli/gate_local.h"
#include "cli/tune.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/sha256.h"
#include "gate/record.h"
#include "tune/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- who takes part --- */

static double merit(const struct tune_entry *e)
{
    const double v = isfinite(e->time_ns) ? e->time_ns : e->cycles;
    return isfinite(v) ? v : (double)INFINITY;
}

/* The incumbent first, then by what the first look or the model thought of them; equal
 * ones by their rank. */
static bool before(const struct tune *t,
                   const struct tune_entry *a,
                   const struct tune_entry *b)
{
    if (a->incumbent != b->incumbent) {
        return a->incumbent;
    }
    return merit(a) != merit(b) ? merit(a) < merit(b)
                                : t->point[a->point].rank < t->point[b->point].rank;
}

static enum wf_status line_up(struct tune *t, struct tune_case *c, struct wf_error *err)
{
    c->order = wf_calloc(c->count + 1, sizeof(*c->order));
    if (c->order == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for candidates");
    }
    for (size_t i = 0; i < c->count; i++) {
        size_t at = c->ordered;
        if (!tune_entry_in(t, &c->entry[i]) || t->point[c->entry[i].point].k == NULL) {
            continue;
        }
        for (; at > 0 && before(t, &c->entry[i], &c->entry[c->order[at - 1]]); at--) {
            c->order[at] = c->order[at - 1];
        }
        c->order[at] = i;
        c->ordered++;
    }
    if (c->ordered == 0 && c->why[0] == '\0') {
        (void)snprintf(c->why, sizeof(c->why), "nothing is left for this case");
    }
    return WF_OK;
}

/* --- modelled --- */

static enum wf_status decide(struct tune *t, struct tune_case *c, struct wf_error *err)
{
    enum wf_status st = line_up(t, c, err);
    c->ordered = c->ordered < TUNE_STORED ? c->ordered : TUNE_STORED;
    double *cycles = wf_calloc(c->ordered + 1, sizeof(*cycles));
    unsigned *rank = wf_calloc(c->ordered + 1, sizeof(*rank));
    size_t incumbent = c->ordered;
    if (st == WF_OK && (cycles == NULL || rank == NULL)) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for candidates");
    }
    for (size_t i = 0; i < c->ordered && st == WF_OK; i++) {
        const struct tune_entry *e = &c->entry[c->order[i]];
        cycles[i] = e->cycles;
        rank[i] = t->point[e->point].rank;
        incumbent = e->incumbent ? i : incumbent;
    }
    if (st == WF_OK && c->ordered > 0) {
        const size_t best =
            wf_tune_least(cycles, rank, c->ordered, incumbent, t->o.margin);
        c->winner = best < c->ordered ? best : TUNE_NONE;
        if (best == c->ordered) {
            (void)snprintf(c->why, sizeof(c->why),
                           "no candidate has modelled cycles; the first one is no more "
                           "than that");
        }
    }
    free(cycles);
    free(rank);
    return st;
}

enum wf_status tune_decide(struct tune *t, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t c = 0; c < t->case_count && st == WF_OK; c++) {
        st = decide(t, &t->cases[c], err);
    }
    return st;
}

/* --- measured --- */

/* What counts as better, where it was asked for: over the registry's margins. */
static enum wf_status write_policy(const struct tune *t,
                                   char **ret,
                                   struct wf_error *err)
{
    char *path = NULL, *text = NULL;
    *ret = NULL;
    if (!t->o.margin_given) {
        return WF_OK;
    }
    const double d1 = fmax(0.02, 4 * t->o.margin);
    path = wf_path_join(t->o.work, "policy.json");
    text =
        wf_asprintf("{\"schema\": \"wavefarm.gate-policy/1\", \"margins\": [{\"case\": "
                    "\"*\", \"kernel\": \"*\", \"d0\": %.17g, \"d1\": %.17g}]}\n",
                    t->o.margin, d1);
    enum wf_status st = path != NULL && text != NULL
                            ? wf_file_write_atomic(path, text, strlen(text), err)
                            : wf_errorf(err, WF_ENOMEM, "no memory for a policy");
    free(text);
    if (st != WF_OK) {
        free(path);
        return st;
    }
    *ret = path;
    return WF_OK;
}

static enum wf_status run_gate(struct tune *t,
                               const struct tune_case *c,
                               const struct tune_point *const arm[2],
                               double alpha,
                               const char *file,
                               const char *policy,
                               struct wf_gate_record **ret,
                               struct wf_error *err)
{
    bool torn = false;
    struct wf_gate_rule rule = WF_GATE_PR_RULE;
    struct wf_gate_options o = {
        .base = wf_pack_folder(arm[0]->pack),
        .cand = wf_pack_folder(arm[1]->pack),
        .base_kernel = arm[0]->k->name,
        .cand_kernel = arm[1]->k->name,
        .suite = t->o.suite,
        .cases = wf_suite_case_name(t->suite, c->index),
        .device = t->o.device,
        .policy = t->o.policy != NULL ? t->o.policy : policy,
        .no_sentinels = t->o.no_sentinels,
        .rule = &rule,
        .seed_offset = t->o.seed & ((UINT64_C(1) << 40) - 1),
        .deadline_ns = t->o.deadline_ns,
        .lock_timeout_ns = t->o.lock_timeout_ns,
        .threads = t->o.threads,
        .cancel = &wf_interrupted,
    };
    rule.alpha = alpha;
    if (!wf_file_exists(file)) {
        o.out = file;
        return wf_gate_run_local(&o, ret, err);
    }
    /* One that was finished is read; one that was cut short goes on. */
    struct wf_error own = { 0 };
    o.resume = file;
    o.suite = o.cases = o.policy = NULL;
    const enum wf_status st = wf_gate_run_local(&o, ret, &own);
    if (st == WF_EEXIST) {
        return wf_gate_record_read(file, false, ret, &torn, err);
    }
    return st == WF_OK ? st : wf_errorf(err, st, "%s", own.text);
}

static enum wf_status note_gate(struct tune_case *c,
                                size_t champion,
                                size_t challenger,
                                double alpha,
                                const struct wf_tune_heard *h,
                                const char *record,
                                const char *path,
                                struct wf_error *err)
{
    char sha256[WF_SHA256_HEX];
    struct wf_json *g = wf_json_object();
    enum wf_status st = wf_sha256_file(path, sha256, err);
    st = st == WF_OK ? wf_json_set_u64(g, "champion", champion, err) : st;
    st = st == WF_OK ? wf_json_set_u64(g, "challenger", challenger, err) : st;
    st = st == WF_OK ? wf_json_set_f64(g, "alpha", alpha, err) : st;
    st = st == WF_OK ? wf_json_set_string(
                           g, "outcome",
                           wf_tune_outcome_name((enum wf_tune_outcome)h->outcome), err)
                     : st;
    st = st == WF_OK ? wf_json_set_string(g, "verdict", h->verdict, err) : st;
    st = st == WF_OK ? wf_json_set_f64(g, "effect", h->effect, err) : st;
    st = st == WF_OK ? wf_json_set_f64(g, "low", h->low, err) : st;
    st = st == WF_OK ? wf_json_set_f64(g, "high", h->high, err) : st;
    st = st == WF_OK ? wf_json_set_f64(g, "d0", h->d0, err) : st;
    st = st == WF_OK ? wf_json_set_i64(g, "blocks", h->blocks, err) : st;
    st = st == WF_OK ? wf_json_set_string(g, "record", record, err) : st;
    st = st == WF_OK ? wf_json_set_string(g, "sha256", sha256, err) : st;
    if (st != WF_OK) {
        wf_json_free(g);
        return st;
    }
    return wf_json_push_take(c->gates, g, err);
}

static void tell(const struct tune *t,
                 const struct tune_case *c,
                 const struct tune_point *const arm[2],
                 const struct wf_tune_heard *h)
{
    char effect[32] = "";
    if (t->o.quiet) {
        return;
    }
    if (isfinite(h->effect)) {
        (void)snprintf(effect, sizeof(effect), " (%+.2f %%)", 100 * expm1(h->effect));
    }
    fprintf(stderr, "%s: %s against %s: %s%s\n", wf_suite_case_name(t->suite, c->index),
            arm[1]->k->name, arm[0]->k->name,
            wf_tune_outcome_name((enum wf_tune_outcome)h->outcome), effect);
}

static enum wf_status meet(struct tune *t,
                           struct tune_case *c,
                           struct wf_tournament *tour,
                           const char *policy,
                           struct wf_error *err)
{
    size_t champion = 0, challenger = 0;
    double alpha = 0;
    struct wf_tune_heard heard = { 0 };
    struct wf_gate_record *record = NULL;
    (void)wf_tournament_next(tour, &champion, &challenger, &alpha);
    const struct tune_point *const arm[2] = {
        &t->point[c->entry[c->order[champion]].point],
        &t->point[c->entry[c->order[challenger]].point]
    };
    char *name = wf_asprintf("gates/%.12s-%s-%s.jsonl", wf_case_id(c->c), arm[0]->id,
                             arm[1]->id);
    char *path = name != NULL ? wf_path_join(t->o.work, name) : NULL;
    enum wf_status st = path != NULL
                            ? run_gate(t, c, arm, alpha, path, policy, &record, err)
                            : wf_errorf(err, WF_ENOMEM, "no memory for a path");
    st = st == WF_OK ? wf_tune_hear(record, &heard, err) : st;
    st = st == WF_OK
             ? note_gate(c, champion, challenger, alpha, &heard, name, path, err)
             : st;
    if (st == WF_OK) {
        tell(t, c, arm, &heard);
        wf_tournament_take(tour, (enum wf_tune_outcome)heard.outcome);
    }
    wf_gate_record_free(record);
    free(path);
    free(name);
    return st;
}

static enum wf_status play(struct tune *t,
                           struct tune_case *c,
                           const char *policy,
                           struct wf_error *err)
{
    struct wf_tournament tour;
    size_t champion = 0, challenger = 0;
    double alpha = 0;
    bool over = false;
    enum wf_status st = line_up(t, c, err);
    if (st != WF_OK || c->ordered == 0) {
        return st;
    }
    c->ordered = c->ordered < (size_t)t->o.top ? c->ordered : (size_t)t->o.top;
    st = wf_tournament_init(&tour, c->ordered, t->o.alpha, err);
    while (st == WF_OK && !over &&
           wf_tournament_next(&tour, &champion, &challenger, &alpha)) {
        st = tune_check_time(t, &over, err);
        st = st == WF_OK && !over ? meet(t, c, &tour, policy, err) : st;
    }
    c->winner = tour.champion;
    if (over) {
        (void)snprintf(c->why, sizeof(c->why),
                       "the budget was used up before all challengers had their gate");
    }
    return st;
}

enum wf_status tune_times(struct tune *t, struct wf_error *err)
{
    char *policy = NULL;
    char *gates = wf_path_join(t->o.work, "gates");
    enum wf_status st = gates != NULL
                            ? wf_mkdir_parents(gates, err)
                            : wf_errorf(err, WF_ENOMEM, "no memory for a path");
    st = st == WF_OK ? write_policy(t, &policy, err) : st;
    for (size_t c = 0; c < t->case_count && st == WF_OK; c++) {
        st = play(t, &t->cases[c], policy, err);
    }
    free(policy);
    free(gates);
    return st;
}
