#include "gate/history.h"

#include "core/buf.h"
#include "gate/commit_order.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const struct wf_json *o, const char *key)
{
    const struct wf_json *v =
        o != NULL && wf_json_type(o) == WF_JSON_OBJECT ? wf_json_find(o, key) : NULL;
    const char *s = v != NULL ? wf_json_string(v) : NULL;
    return s != NULL ? s : "";
}

static void free_point(struct wf_history_point *p)
{
    for (size_t i = 0; i < p->parents; i++) {
        free(p->parent[i]);
    }
    free(p->parent);
    free(p->at);
    free(p->pack);
    free(p->commit);
    free(p->gate);
    free(p->driver);
}

void wf_history_free(struct wf_history *h)
{
    for (size_t i = 0; i < h->count; i++) {
        struct wf_history_series *s = &h->series[i];
        for (size_t k = 0; k < s->count; k++) {
            free_point(&s->point[k]);
        }
        free(s->point);
        free(s->key);
        free(s->case_name);
        free(s->kernel);
        free(s->model);
        free(s->base);
        wf_change_points_free(&s->change);
    }
    free(h->series);
    memset(h, 0, sizeof(*h));
}

/* --- series and points --- */

static enum wf_status new_series(struct wf_history *h,
                                 const char *const name[5],
                                 struct wf_history_series **ret,
                                 struct wf_error *err)
{
    struct wf_history_series *grown =
        wf_realloc_array(h->series, h->count + 1, sizeof(*grown));
    if (grown == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu series", h->count + 1);
    }
    h->series = grown;
    struct wf_history_series *s = &h->series[h->count++];
    *s = (struct wf_history_series){ .key = wf_strdup(name[0]),
                                     .case_name = wf_strdup(name[1]),
                                     .kernel = wf_strdup(name[2]),
                                     .model = wf_strdup(name[3]),
                                     .base = wf_strdup(name[4]) };
    *ret = s;
    return s->key == NULL || s->case_name == NULL || s->kernel == NULL ||
                   s->model == NULL || s->base == NULL
               ? wf_errorf(err, WF_ENOMEM, "no memory for a series")
               : WF_OK;
}

/* name: key, case, kernel, model, base. */
static enum wf_status find_series(struct wf_history *h,
                                  const char *const name[5],
                                  struct wf_history_series **ret,
                                  struct wf_error *err)
{
    for (size_t i = 0; i < h->count; i++) {
        struct wf_history_series *s = &h->series[i];
        if (strcmp(s->key, name[0]) == 0 && strcmp(s->model, name[3]) == 0 &&
            strcmp(s->base, name[4]) == 0) {
            *ret = s;
            return WF_OK;
        }
    }
    return new_series(h, name, ret, err);
}

static enum wf_status copy_parents(struct wf_history_point *p,
                                   const struct wf_json *list,
                                   struct wf_error *err)
{
    const size_t n = list != NULL ? wf_json_count(list) : 0;
    p->parent = wf_calloc(n + 1, sizeof(*p->parent));
    for (size_t i = 0; p->parent != NULL && i < n; i++) {
        const char *s = wf_json_string(wf_json_at(list, i));
        p->parent[p->parents] = wf_strdup(s != NULL ? s : "");
        p->parents += p->parent[p->parents] != NULL;
    }
    return p->parent == NULL || p->parents < n
               ? wf_errorf(err, WF_ENOMEM, "no memory for parents")
               : WF_OK;
}

struct names {
    const char *at, *pack, *commit, *gate, *driver;
    const struct wf_json *parents;
};

static bool same_value(double a, double b)
{
    return !(a < b) && !(a > b); /* no NaN comes here; open ends are infinite */
}

/* A copy of a record that is there already: three of one night would be a segment. */
static bool is_there(const struct wf_history_series *s,
                     const struct names *n,
                     const double value[3])
{
    for (size_t i = 0; i < s->count; i++) {
        const struct wf_history_point *p = &s->point[i];
        if (same_value(p->value, value[0]) && same_value(p->low, value[1]) &&
            same_value(p->high, value[2]) && strcmp(p->gate, n->gate) == 0 &&
            strcmp(p->at, n->at) == 0) {
            return true;
        }
    }
    return false;
}

static enum wf_status add_point(struct wf_history_series *s,
                                const struct names *n,
                                const double value[3],
                                struct wf_error *err)
{
    struct wf_history_point *grown =
        wf_realloc_array(s->point, s->count + 1, sizeof(*grown));
    if (grown == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu points", s->count + 1);
    }
    s->point = grown;
    struct wf_history_point *p = &s->point[s->count++];
    *p = (struct wf_history_point){ .at = wf_strdup(n->at),
                                    .value = value[0],
                                    .low = value[1],
                                    .high = value[2],
                                    .pack = wf_strdup(n->pack),
                                    .commit = wf_strdup(n->commit),
                                    .gate = wf_strdup(n->gate),
                                    .driver = wf_strdup(n->driver) };
    if (p->at == NULL || p->pack == NULL || p->commit == NULL || p->gate == NULL ||
        p->driver == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a point");
    }
    return copy_parents(p, n->parents, err);
}

/* --- from records --- */

static bool is_ended(const struct wf_gate_record *r)
{
    const size_t n = wf_gate_record_line_count(r);
    return n > 0 && strcmp(text(wf_gate_record_line(r, n - 1), "kind"), "verdict") == 0;
}

/* Facts of a device group: the one that says so, else by place. */
static const struct wf_json *device_of(const struct wf_json *header, int group)
{
    const struct wf_json *list = wf_json_find(header, "devices");
    const struct wf_json *d = list != NULL ? wf_json_first(list) : NULL;
    for (; d != NULL; d = wf_json_next(d)) {
        int64_t g = -1;
        const struct wf_json *v = wf_json_find(d, "group");
        if (v != NULL && wf_json_as_i64(v, &g) && g == group) {
            return d;
        }
    }
    return list != NULL ? wf_json_at(list, (size_t)group) : NULL;
}

static bool has_time(const struct wf_gate_figures *f)
{
    return f->blocks > 0 && isfinite(f->effect) && f->reason != WF_GATE_REASON_WRONG &&
           f->reason != WF_GATE_REASON_BASE_WRONG &&
           f->reason != WF_GATE_REASON_SENTINEL;
}

static enum wf_status take_pair(struct wf_history *h,
                                const struct wf_json *header,
                                const struct wf_gate_pair *p,
                                const struct wf_gate_figures *f,
                                struct wf_error *err)
{
    const struct wf_json *packs = wf_json_find(header, "packs");
    const struct wf_json *cand = wf_json_find(packs, "candidate");
    const struct wf_json *provenance = wf_json_find(cand, "provenance");
    const struct wf_json *device = device_of(header, p->device);
    const bool known = provenance != NULL && wf_json_type(provenance) == WF_JSON_OBJECT;
    const char *const name[5] = { p->key, p->case_name,
                                  p->kernel[1] != NULL ? p->kernel[1] : "",
                                  text(device, "model"),
                                  text(wf_json_find(packs, "base"), "id") };
    const struct names n = { .at = text(header, "created"),
                             .pack = text(cand, "id"),
                             .commit = text(provenance, "commit"),
                             .gate = text(header, "gate"),
                             .driver = text(device, "driver"),
                             .parents =
                                 known ? wf_json_find(provenance, "parents") : NULL };
    const double value[3] = { f->effect, f->low, f->high };
    struct wf_history_series *s = NULL;
    enum wf_status status = find_series(h, name, &s, err);
    if (status == WF_OK && is_there(s, &n, value)) {
        h->repeated++;
        return WF_OK;
    }
    return status == WF_OK ? add_point(s, &n, value, err) : status;
}

enum wf_status wf_history_add_record(struct wf_history *h,
                                     struct wf_gate_record *r,
                                     struct wf_error *err)
{
    enum wf_status status = WF_OK;
    if (!is_ended(r)) {
        return wf_errorf(err, WF_ENOTFOUND, "the gate has not ended yet");
    }
    h->records++;
    for (size_t i = 0; i < wf_gate_record_count(r) && status == WF_OK; i++) {
        struct wf_gate_figures f;
        const struct wf_gate_pair *p = wf_gate_record_pair(r, i);
        wf_gate_figures(wf_gate_record_gate(r), i, &f);
        if (p->role != WF_GATE_CASE) {
            continue;
        }
        if (f.verdict == WF_GATE_VERDICT_UNCHANGED) {
            h->unchanged++;
        } else if (!has_time(&f)) {
            h->left_out++;
        } else {
            status = take_pair(h, wf_gate_record_header(r), p, &f, err);
        }
    }
    return status;
}

/* --- from a coordinator --- */

static double number(const struct wf_json *o, const char *key, double otherwise)
{
    double d = otherwise;
    const struct wf_json *v = wf_json_find(o, key);
    return v != NULL && wf_json_as_f64(v, &d) ? d : otherwise;
}

static enum wf_status take_served(struct wf_history *h,
                                  const struct wf_json *series,
                                  struct wf_error *err)
{
    const struct wf_json *p = wf_json_first(wf_json_find(series, "points"));
    const char *key = text(series, "key");
    const char *kernel = text(series, "kernel");
    const char *slash = strrchr(key, '/');
    char *case_name =
        wf_strndup(key, slash != NULL ? (size_t)(slash - key) : strlen(key));
    enum wf_status status =
        case_name == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a name") : WF_OK;
    for (; p != NULL && status == WF_OK; p = wf_json_next(p)) {
        const char *const name[5] = { key, case_name, kernel, text(series, "model"),
                                      text(p, "base") };
        const struct names n = { .at = text(p, "at"),
                                 .pack = text(p, "pack"),
                                 .commit = text(p, "commit"),
                                 .gate = text(p, "gate"),
                                 .driver = text(p, "driver"),
                                 .parents = wf_json_find(p, "parents") };
        const double value[3] = { number(p, "value", NAN), number(p, "low", -INFINITY),
                                  number(p, "high", INFINITY) };
        struct wf_history_series *s = NULL;
        if (!isfinite(value[0]) || strcmp(text(p, "verdict"), "UNCHANGED") == 0) {
            h->left_out += isfinite(value[0]) ? 0 : 1;
            h->unchanged += isfinite(value[0]) ? 1 : 0;
            continue;
        }
        status = find_series(h, name, &s, err);
        status = status == WF_OK ? add_point(s, &n, value, err) : status;
    }
    free(case_name);
    return status;
}

enum wf_status wf_history_add_served(struct wf_history *h,
                                     const struct wf_json *answer,
                                     struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status status = wf_json_get_array(answer, "series", &list, err);
    const struct wf_json *s = status == WF_OK ? wf_json_first(list) : NULL;
    for (; s != NULL && status == WF_OK; s = wf_json_next(s)) {
        status = take_served(h, s, err);
    }
    return status;
}

/* --- order and change points --- */

static enum wf_status sort_points(struct wf_history_series *s,
                                  const char *const *order,
                                  size_t order_count,
                                  struct wf_error *err)
{
    struct wf_commit *c = wf_calloc(s->count + 1, sizeof(*c));
    size_t *at = wf_calloc(s->count + 1, sizeof(*at));
    struct wf_history_point *sorted = wf_calloc(s->count + 1, sizeof(*sorted));
    enum wf_status status = WF_OK;
    if (c == NULL || at == NULL || sorted == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for %zu points", s->count);
    }
    for (size_t i = 0; i < s->count && status == WF_OK; i++) {
        c[i] = (struct wf_commit){ .commit = s->point[i].commit,
                                   .parent = (const char *const *)s->point[i].parent,
                                   .parents = s->point[i].parents,
                                   .at = s->point[i].at };
    }
    if (status == WF_OK) {
        status = wf_commit_sort(c, s->count, order, order_count, at, err);
    }
    if (status == WF_OK) {
        for (size_t i = 0; i < s->count; i++) {
            sorted[i] = s->point[at[i]];
        }
        free(s->point);
        s->point = sorted;
        sorted = NULL;
    }
    free(sorted);
    free(c);
    free(at);
    return status;
}

static enum wf_status find_changes(struct wf_history_series *s,
                                   const struct wf_change_rule *rule,
                                   struct wf_error *err)
{
    double *y = wf_calloc(s->count + 1, sizeof(*y));
    if (y == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu values", s->count);
    }
    for (size_t i = 0; i < s->count; i++) {
        y[i] = s->point[i].value;
    }
    wf_change_points_free(&s->change);
    enum wf_status status = wf_change_points_find(y, s->count, rule, &s->change, err);
    free(y);
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "series %s", s->key);
}

enum wf_status wf_history_analyse(struct wf_history *h,
                                  const struct wf_change_rule *rule,
                                  const char *const *order,
                                  size_t order_count,
                                  struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < h->count && status == WF_OK; i++) {
        status = sort_points(&h->series[i], order, order_count, err);
        if (status == WF_OK) {
            status = find_changes(&h->series[i], rule, err);
        }
    }
    return status;
}

bool wf_history_driver_changed(const struct wf_history_series *s, size_t point)
{
    const char *now = s->point[point].driver;
    for (size_t i = point; i > 0 && now[0] != '\0'; i--) {
        const char *before = s->point[i - 1].driver;
        if (before[0] != '\0') {
            return strcmp(before, now) != 0;
        }
    }
    return false;
}
