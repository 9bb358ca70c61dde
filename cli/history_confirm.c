#include "cli/history_confirm.h"

#include "cli/gate_packs.h"
#include "cli/output.h"
#include "core/buf.h"
#include "core/file.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *history_outcome_name(enum history_outcome o)
{
    static const char *const names[] = { "proposed", "confirmed", "not confirmed",
                                         "no gate" };
    return names[o];
}

enum wf_status history_proposals(const struct wf_history *h,
                                 struct history_proposal **ret,
                                 size_t *ret_count,
                                 struct wf_error *err)
{
    size_t most = 0, n = 0;
    for (size_t i = 0; i < h->count; i++) {
        most += h->series[i].change.count;
    }
    *ret = wf_calloc(most + 1, sizeof(**ret));
    if (*ret == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu proposals", most);
    }
    for (size_t i = 0; i < h->count; i++) {
        const struct wf_history_series *s = &h->series[i];
        for (size_t k = 0; k < s->change.count; k++) {
            if (s->change.point[k].is_new) {
                (*ret)[n++] = (struct history_proposal){ .series = s,
                                                         .change = &s->change.point[k],
                                                         .effect = NAN };
            }
        }
    }
    *ret_count = n;
    return WF_OK;
}

/* --- packs by id --- */

/* The pack with this id in the folder: a folder or an archive. */
static char *find_pack(const char *folder, const char *id)
{
    struct dirent **entry = NULL;
    char *found = NULL;
    const int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char *path = wf_path_join(folder, entry[i]->d_name);
        struct gate_pack p = { 0 };
        struct wf_error ignored = { 0 };
        if (path != NULL && found == NULL && entry[i]->d_name[0] != '.' &&
            gate_pack_open(path, path, &p, &ignored) == WF_OK &&
            strcmp(wf_pack_id(p.pack), id) == 0) {
            found = path;
            path = NULL;
        }
        gate_pack_close(&p);
        free(path);
        free(entry[i]);
    }
    free(entry);
    return found;
}

static bool find_both(const struct history_confirm *c,
                      struct history_proposal *p,
                      char *ret[2])
{
    const size_t at[2] = { p->change->before_index, p->change->index };
    if (strcmp(p->series->point[at[0]].pack, p->series->point[at[1]].pack) == 0) {
        snprintf(p->why, sizeof(p->why),
                 "both nights have the same pack: the change is not in the code");
        return false;
    }
    for (int k = 0; k < 2; k++) {
        const char *id = p->series->point[at[k]].pack;
        ret[k] = find_pack(c->packs, id);
        if (ret[k] == NULL) {
            snprintf(p->why, sizeof(p->why), "no pack %.12s in %.300s", id, c->packs);
            return false;
        }
    }
    return true;
}

/* --- gates --- */

static void hear(struct history_proposal *p, struct wf_gate_record *r)
{
    p->log_e = -INFINITY;
    snprintf(p->why, sizeof(p->why), "the suite has no case and kernel %.200s",
             p->series->key);
    for (size_t i = 0; i < wf_gate_record_count(r); i++) {
        struct wf_gate_figures f;
        wf_gate_figures(wf_gate_record_gate(r), i, &f);
        if (f.role != WF_GATE_CASE ||
            strcmp(wf_gate_record_pair(r, i)->key, p->series->key) != 0) {
            continue;
        }
        const bool slower = p->change->size > 0;
        const double sign = slower ? f.log_sign_slower : f.log_sign_faster;
        const struct wf_gate_rule usual = WF_GATE_PR_RULE;
        snprintf(
            p->verdict, sizeof(p->verdict), "%s%s%s", wf_gate_verdict_name(f.verdict),
            f.reason != WF_GATE_REASON_NONE ? " " : "", wf_gate_reason_name(f.reason));
        p->effect = f.effect;
        /* effects of a process's start do not confirm: as in the gate's own rule */
        p->log_e = sign < log(usual.sign_least) ? -INFINITY
                   : slower                     ? f.log_w_slower
                                                : f.log_w_faster;
        p->outcome = wf_gate_reason_is_infrastructure(f.reason) ? HISTORY_NO_GATE
                                                                : HISTORY_UNCONFIRMED;
        p->why[0] = '\0';
        if (p->outcome == HISTORY_NO_GATE) {
            snprintf(p->why, sizeof(p->why), "the gate ended: %s",
                     wf_gate_reason_name(f.reason));
        }
    }
}

/* A name of its own for each gate, told by case, kernel and packs: one that is there
 * stays as it is. */
static char *record_file(const struct history_confirm *c,
                         const struct history_proposal *p)
{
    char *file = NULL;
    for (int attempt = 1; file == NULL || wf_file_exists(file); attempt++) {
        free(file);
        file = wf_asprintf("%s/%.100s-%.12s-%.12s-%d.jsonl", c->record, p->series->key,
                           p->series->point[p->change->before_index].pack,
                           p->series->point[p->change->index].pack, attempt);
        if (file == NULL) {
            return NULL;
        }
        for (char *s = file + strlen(c->record) + 1; *s != '\0'; s++) {
            *s = *s == '/' || (unsigned char)*s <= ' ' ? '_' : *s;
        }
    }
    return file;
}

static enum wf_status run_one(const struct history_confirm *c,
                              struct history_proposal *p,
                              char *const pack[2],
                              size_t n,
                              struct wf_error *err)
{
    struct wf_gate_rule rule = WF_GATE_PR_RULE;
    struct wf_gate_options o = c->gate;
    struct wf_gate_record *record = NULL;
    char *file = c->record != NULL ? record_file(c, p) : NULL;
    if (c->record != NULL && file == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    /* so much evidence that e-BH over n can confirm one alone */
    rule.alpha = c->alpha / (double)n;
    o.rule = &rule;
    o.base = pack[0];
    o.cand = pack[1];
    o.cases = p->series->case_name;
    o.kernels = p->series->kernel;
    o.out = file;
    enum wf_status status = wf_gate_run_local(&o, &record, err);
    if (record != NULL) {
        hear(p, record);
    }
    wf_gate_record_free(record);
    free(file);
    return status;
}

static enum wf_status confirm_one(const struct history_confirm *c,
                                  struct history_proposal *p,
                                  size_t n,
                                  struct wf_error *err)
{
    char *pack[2] = { NULL, NULL };
    struct wf_error own = { 0 };
    enum wf_status status = WF_OK;
    p->outcome = HISTORY_NO_GATE;
    p->log_e = -INFINITY;
    if (find_both(c, p, pack)) {
        status = run_one(c, p, pack, n, &own);
        if (status != WF_OK && p->outcome == HISTORY_NO_GATE && p->why[0] == '\0') {
            snprintf(p->why, sizeof(p->why), "%.399s", own.text);
        }
    }
    free(pack[0]);
    free(pack[1]);
    return status == WF_ECANCELLED ? wf_errorf(err, status, "%s", own.text) : WF_OK;
}

enum wf_status history_confirm(const struct history_confirm *c,
                               struct history_proposal *p,
                               size_t n,
                               struct wf_error *err)
{
    double *e = wf_calloc(n + 1, sizeof(*e));
    bool *rejected = wf_calloc(n + 1, sizeof(*rejected));
    enum wf_status status = WF_OK;
    if (e == NULL || rejected == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for %zu proposals", n);
    }
    if (status == WF_OK && c->record != NULL) {
        status = wf_mkdir_parents(c->record, err);
    }
    for (size_t i = 0; i < n && status == WF_OK; i++) {
        status = confirm_one(c, &p[i], n, err);
        e[i] = p[i].log_e;
    }
    if (status == WF_OK && n > 0) {
        status = wf_gate_ebh(e, n, c->alpha, rejected, err);
    }
    for (size_t i = 0; i < n && status == WF_OK; i++) {
        p[i].outcome = rejected[i] ? HISTORY_CONFIRMED : p[i].outcome;
    }
    free(e);
    free(rejected);
    return status;
}
