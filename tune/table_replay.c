/* Decides a tuning table anew from its evidence. */
#include "tune/table.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/sha256.h"
#include "gate/record.h"
#include "tune/model.h"
#include "tune/tournament.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct replay {
    const struct wf_json *table;
    const char *folder;
    void (*say)(void *ctx, const char *line);
    void *ctx;
    size_t differences;
    const char *name; /* of the case */
    double alpha, margin;
};

static void tell(struct replay *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void tell(struct replay *r, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    r->say(r->ctx, line);
}

static void differ(struct replay *r, const char *what)
{
    r->differences++;
    tell(r, "%s: %s", r->name, what);
}

static double real(const struct wf_json *obj, const char *key)
{
    double v = (double)NAN;
    const struct wf_json *m = wf_json_find(obj, key);
    return m != NULL && wf_json_as_f64(m, &v) ? v : (double)NAN;
}

static size_t index_of(const struct wf_json *obj, const char *key, size_t none)
{
    int64_t v = 0;
    const struct wf_json *m = wf_json_find(obj, key);
    return m != NULL && wf_json_as_i64(m, &v) && v >= 0 ? (size_t)v : none;
}

static bool flag(const struct wf_json *obj, const char *key)
{
    bool v = false;
    const struct wf_json *m = wf_json_find(obj, key);
    return m != NULL && wf_json_as_bool(m, &v) && v;
}

static const char *text(const struct wf_json *obj, const char *key)
{
    const struct wf_json *m = wf_json_find(obj, key);
    const char *s = m != NULL ? wf_json_string(m) : NULL;
    return s != NULL ? s : "";
}

/* --- modelled --- */

static double model_again(const struct wf_json *candidate)
{
    struct wf_tune_model m;
    struct wf_tune_problem p = { 0 };
    const struct wf_json *problem = wf_json_find(candidate, "problem");
    const struct wf_json *model = wf_json_find(candidate, "model");
    if (model == NULL || problem == NULL ||
        wf_tune_model_parse(model, &m, NULL) != WF_OK) {
        return (double)NAN;
    }
    const struct wf_json *w = wf_json_first(wf_json_find(problem, "workgroups"));
    for (; w != NULL && p.launches < WF_TUNE_LAUNCHES; w = wf_json_next(w)) {
        (void)wf_json_as_f64(w, &p.workgroups[p.launches]);
        p.symbol[p.launches] = m.launch[p.launches].symbol;
        p.launches++;
    }
    p.length = real(problem, "length");
    p.split = real(problem, "split");
    p.bytes = real(problem, "bytes");
    p.cu_count = real(problem, "cu_count");
    return wf_tune_cycles(&m, &p);
}

static enum wf_status replay_modelled(struct replay *r,
                                      const struct wf_json *c,
                                      struct wf_error *err)
{
    const struct wf_json *list = wf_json_find(c, "candidates");
    const size_t n = wf_json_count(list);
    double *cycles = wf_calloc(n + 1, sizeof(*cycles));
    unsigned *rank = wf_calloc(n + 1, sizeof(*rank));
    size_t incumbent = n, i = 0;
    if (cycles == NULL || rank == NULL) {
        free(cycles);
        free(rank);
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu candidates", n);
    }
    for (const struct wf_json *v = wf_json_first(list); v != NULL;
         v = wf_json_next(v), i++) {
        cycles[i] = real(v, "cycles");
        rank[i] = (unsigned)index_of(v, "rank", 0);
        incumbent = flag(v, "incumbent") ? i : incumbent;
        if (wf_json_find(v, "model") != NULL && !(model_again(v) == cycles[i])) {
            differ(r, "the cycles of a candidate are not what its model gives");
            tell(r, "  %s: %.17g, and %.17g by the model", text(v, "kernel"), cycles[i],
                 model_again(v));
        }
    }
    const size_t winner = wf_tune_least(cycles, rank, n, incumbent, r->margin);
    if (winner != index_of(c, "winner", n)) {
        differ(r, "another winner than the figures give");
    }
    free(cycles);
    free(rank);
    return WF_OK;
}

/* --- measured --- */

static double alpha_of(const struct wf_gate_record *record)
{
    const struct wf_json *rule = wf_json_find(wf_gate_record_header(record), "rule");
    return rule != NULL ? real(rule, "alpha") : (double)NAN;
}

static void ignore(void *ctx, const char *line)
{
    (void)ctx;
    (void)line;
}

static void hear_again(struct replay *r,
                       const struct wf_json *g,
                       struct wf_gate_record *record)
{
    struct wf_error err = { 0 };
    struct wf_tune_heard heard;
    size_t differences = 0;
    if (wf_gate_record_replay(record, ignore, NULL, &differences, &err) != WF_OK) {
        differ(r, "a gate's record has no verdict");
    } else if (differences > 0) {
        differ(r, "a gate's record does not replay to its verdict");
    }
    if (wf_tune_hear(record, &heard, &err) != WF_OK ||
        strcmp(wf_tune_outcome_name((enum wf_tune_outcome)heard.outcome),
               text(g, "outcome")) != 0) {
        differ(r, "a gate's record says something else than the table");
    }
    if (!(alpha_of(record) == real(g, "alpha"))) {
        differ(r, "a gate was run at another error rate than the table says");
    }
}

static void look_at_record(struct replay *r, const struct wf_json *g)
{
    char sha256[WF_SHA256_HEX] = "";
    bool torn = false;
    struct wf_error err = { 0 };
    struct wf_gate_record *record = NULL;
    const char *name = text(g, "record");
    if (r->folder == NULL || name[0] == '\0' || !wf_relative_path_is_safe(name)) {
        return;
    }
    char *path = wf_path_join(r->folder, name);
    if (path == NULL || !wf_file_exists(path)) {
        tell(r, "%s: the record %s is not there: its outcome was taken from the table",
             r->name, name);
    } else if (wf_sha256_file(path, sha256, &err) != WF_OK ||
               strcmp(sha256, text(g, "sha256")) != 0) {
        differ(r, "a gate's record is not the one that the table was made from");
    } else if (wf_gate_record_read(path, false, &record, &torn, &err) != WF_OK) {
        differ(r, err.text);
    } else {
        hear_again(r, g, record);
    }
    wf_gate_record_free(record);
    free(path);
}

static enum wf_status replay_measured(struct replay *r,
                                      const struct wf_json *c,
                                      struct wf_error *err)
{
    struct wf_tournament t;
    const size_t n = wf_json_count(wf_json_find(c, "candidates"));
    enum wf_status st = wf_tournament_init(&t, n, r->alpha, err);
    const struct wf_json *g =
        st == WF_OK ? wf_json_first(wf_json_find(c, "gates")) : NULL;
    for (; g != NULL; g = wf_json_next(g)) {
        size_t champion = 0, challenger = 0;
        double alpha = 0;
        enum wf_tune_outcome o = WF_TUNE_LOST;
        if (!wf_tournament_next(&t, &champion, &challenger, &alpha)) {
            differ(r, "more gates than the tournament has");
            break;
        }
        if (champion != index_of(g, "champion", n) ||
            challenger != index_of(g, "challenger", n) || alpha != real(g, "alpha")) {
            differ(r, "a gate is not the one that was due");
        }
        (void)wf_tune_outcome_parse(text(g, "outcome"), &o);
        look_at_record(r, g);
        wf_tournament_take(&t, o);
    }
    if (st == WF_OK && t.champion != index_of(c, "winner", n)) {
        differ(r, "another winner than the gates give");
    }
    return st;
}

enum wf_status wf_tuning_replay(const struct wf_json *table,
                                const char *folder,
                                void (*say)(void *ctx, const char *line),
                                void *ctx,
                                size_t *ret_differences,
                                struct wf_error *err)
{
    struct replay r = { .table = table, .folder = folder, .say = say, .ctx = ctx };
    enum wf_status st = wf_tuning_check(table, err);
    const bool measured = st == WF_OK && strcmp(text(table, "basis"), "measured") == 0;
    r.alpha = st == WF_OK ? real(table, "alpha") : 0.01;
    r.margin = st == WF_OK ? real(table, "margin") : 0;
    if (measured && isnan(r.alpha)) {
        return wf_errorf(err, WF_EINVAL, "a measured table states its alpha");
    }
    const struct wf_json *c =
        st == WF_OK ? wf_json_first(wf_json_find(table, "cases")) : NULL;
    for (; c != NULL && st == WF_OK; c = wf_json_next(c)) {
        r.name = text(c, "name");
        if (wf_json_count(wf_json_find(c, "candidates")) == 0) {
            continue;
        }
        st = measured ? replay_measured(&r, c, err) : replay_modelled(&r, c, err);
    }
    *ret_differences = r.differences;
    return st;
}
