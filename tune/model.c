#include "tune/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const pipes[] = {
#define X(name) #name,
    WF_TUNE_PIPES(X)
#undef X
};

const char *wf_tune_pipe_name(size_t i)
{
    return i < WF_TUNE_PIPE_COUNT ? pipes[i] : "";
}

/* --- what was counted --- */

static enum wf_status number(const struct wf_json *obj,
                             const char *key,
                             double *ret,
                             struct wf_error *err)
{
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    return v != NULL && wf_json_as_f64(v, ret) && isfinite(*ret) && *ret >= 0
               ? WF_OK
               : wf_errorf(err, WF_EINVAL, "there is no number %s, 0 or more", key);
}

static const struct wf_json *member(const struct wf_json *v, const char *key)
{
    return v != NULL && wf_json_type(v) == WF_JSON_OBJECT ? wf_json_find(v, key) : NULL;
}

static enum wf_status read_launch(const struct wf_json *l,
                                  struct wf_tune_counted *ret,
                                  size_t i,
                                  struct wf_error *err)
{
    const struct wf_json *cycles = member(member(l, "counters"), "cycles");
    const struct wf_json *symbol = member(l, "kernel");
    if (symbol == NULL || wf_json_string(symbol) == NULL) {
        return wf_errorf(err, WF_EINVAL, "the emulator's report has no kernel");
    }
    (void)snprintf(ret->launch[i].symbol, sizeof(ret->launch[i].symbol), "%s",
                   wf_json_string(symbol));
    enum wf_status st = number(member(l, "occupancy"), "workgroups_of_cu",
                               &ret->launch[i].resident, err);
    for (size_t p = 0; p < WF_TUNE_PIPE_COUNT && st == WF_OK; p++) {
        st = number(cycles, pipes[p], &ret->launch[i].pipe[p], err);
    }
    return st;
}

enum wf_status wf_tune_counted_read(const struct wf_json *launches,
                                    double length,
                                    double split,
                                    struct wf_tune_counted *ret,
                                    struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const size_t n = launches != NULL && wf_json_type(launches) == WF_JSON_ARRAY
                         ? wf_json_count(launches)
                         : 0;
    if (n == 0 || n > WF_TUNE_LAUNCHES) {
        return wf_errorf(err, WF_EINVAL,
                         "the emulator reports %zu launches, not 1 to %d", n,
                         WF_TUNE_LAUNCHES);
    }
    *ret = (struct wf_tune_counted){ .launches = n, .length = length, .split = split };
    const struct wf_json *l = wf_json_first(launches);
    for (size_t i = 0; l != NULL && st == WF_OK; l = wf_json_next(l), i++) {
        st = read_launch(l, ret, i, err);
    }
    return st;
}

/* --- the model --- */

enum wf_status wf_tune_model_fit(const struct wf_tune_counted *a,
                                 const struct wf_tune_counted *b,
                                 double mca,
                                 double mca_nowait,
                                 struct wf_tune_model *ret,
                                 struct wf_error *err)
{
    struct wf_tune_model m = { .launches = a->launches,
                               .mca = mca,
                               .mca_nowait = mca_nowait };
    if (b != NULL && (b->launches != a->launches || !(b->length > a->length))) {
        return wf_errorf(err, WF_EINVAL,
                         "two problems that are no pair: %zu and %zu launches, lengths "
                         "%g and %g",
                         a->launches, b->launches, a->length, b->length);
    }
    for (size_t i = 0; i < a->launches; i++) {
        m.launch[i].resident = fmax(a->launch[i].resident, 1);
        memcpy(m.launch[i].symbol, a->launch[i].symbol, sizeof(m.launch[i].symbol));
        for (size_t p = 0; p < WF_TUNE_PIPE_COUNT; p++) {
            const double at = a->launch[i].pipe[p];
            if (i > 0) { /* a sum over the parts of K */
                m.launch[i].slope[p] = at / fmax(a->split, 1);
            } else if (b == NULL) {
                m.launch[i].fixed[p] = at;
            } else {
                const double slope =
                    (b->launch[i].pipe[p] - at) / (b->length - a->length);
                m.launch[i].slope[p] = fmax(slope, 0);
                m.launch[i].fixed[p] = fmax(at - m.launch[i].slope[p] * a->length, 0);
            }
        }
    }
    *ret = m;
    return WF_OK;
}

static double share(double mca)
{
    return mca > 0.01 && mca <= 1 ? mca : 1;
}

static double of_launch(const struct wf_tune_model *m,
                        const struct wf_tune_problem *p,
                        size_t i)
{
    const double by = i > 0 ? p->split : p->length;
    const double load = ceil(p->workgroups[i] / p->cu_count);
    const double turns = ceil(load / m->launch[i].resident);
    double work[WF_TUNE_PIPE_COUNT];
    double busy = 0;
    for (size_t k = 0; k < WF_TUNE_PIPE_COUNT; k++) {
        work[k] = m->launch[i].fixed[k] + m->launch[i].slope[k] * by;
        busy = k != WF_TUNE_PIPE_issue ? fmax(busy, work[k]) : busy;
    }
    const double mfma = work[WF_TUNE_PIPE_mfma];
    const double alone = fmax(work[WF_TUNE_PIPE_issue], mfma / share(m->mca));
    return fmax(fmax(load * busy, load * mfma / share(m->mca_nowait)), turns * alone);
}

double wf_tune_cycles(const struct wf_tune_model *m, const struct wf_tune_problem *p)
{
    double sum = 0;
    if (p->launches > m->launches || p->launches == 0 || !(p->cu_count >= 1)) {
        return (double)NAN;
    }
    for (size_t i = 0; i < p->launches; i++) {
        if (strcmp(m->launch[i].symbol, p->symbol[i]) != 0) {
            return (double)NAN;
        }
        sum += of_launch(m, p, i);
    }
    return fmax(sum, p->bytes / WF_TUNE_HBM_BYTES_A_CYCLE) +
           (double)p->launches * WF_TUNE_LAUNCH_CYCLES;
}

double wf_tune_fill(double m,
                    double n,
                    double tile_m,
                    double tile_n,
                    double workgroups,
                    double cu_count)
{
    const double inside_m = tile_m > 0 ? m / (ceil(m / tile_m) * tile_m) : 1;
    const double inside_n = tile_n > 0 ? n / (ceil(n / tile_n) * tile_n) : 1;
    return inside_m * inside_n * workgroups / (ceil(workgroups / cu_count) * cu_count);
}

/* --- JSON --- */

static enum wf_status push_pipes(struct wf_json *launch,
                                 const char *key,
                                 const double *v,
                                 struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st = WF_OK;
    for (size_t p = 0; p < WF_TUNE_PIPE_COUNT && st == WF_OK; p++) {
        st = wf_json_set_f64(o, pipes[p], v[p], err);
    }
    if (st != WF_OK) {
        wf_json_free(o);
        return st;
    }
    return wf_json_set_take(launch, key, o, err);
}

enum wf_status wf_tune_model_json(const struct wf_tune_model *m,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    struct wf_json *v = wf_json_object();
    struct wf_json *list = wf_json_array();
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < m->launches && st == WF_OK; i++) {
        struct wf_json *l = wf_json_object();
        st = wf_json_set_string(l, "symbol", m->launch[i].symbol, err);
        st = st == WF_OK ? wf_json_set_f64(l, "resident", m->launch[i].resident, err)
                         : st;
        st = st == WF_OK ? push_pipes(l, "fixed", m->launch[i].fixed, err) : st;
        st = st == WF_OK ? push_pipes(l, "slope", m->launch[i].slope, err) : st;
        if (st == WF_OK) {
            st = wf_json_push_take(list, l, err);
        } else {
            wf_json_free(l);
        }
    }
    if (st == WF_OK) {
        st = wf_json_set_take(v, "launches", list, err);
    } else {
        wf_json_free(list);
    }
    st = st == WF_OK && isfinite(m->mca) ? wf_json_set_f64(v, "mca", m->mca, err) : st;
    st = st == WF_OK && isfinite(m->mca_nowait)
             ? wf_json_set_f64(v, "mca_nowait", m->mca_nowait, err)
             : st;
    if (st != WF_OK) {
        wf_json_free(v);
        return st;
    }
    *ret = v;
    return WF_OK;
}

static enum wf_status pull_pipes(const struct wf_json *launch,
                                 const char *key,
                                 double *v,
                                 struct wf_error *err)
{
    const struct wf_json *o = NULL;
    enum wf_status st = wf_json_get_object(launch, key, &o, err);
    st = st == WF_OK ? wf_json_only_keys(o,
                                         (const char *const[]){
#define X(name) #name,
                                             WF_TUNE_PIPES(X)
#undef X
                                                 NULL },
                                         err)
                     : st;
    for (size_t p = 0; p < WF_TUNE_PIPE_COUNT && st == WF_OK; p++) {
        st = number(o, pipes[p], &v[p], err);
    }
    return st;
}

static enum wf_status pull_share(const struct wf_json *json,
                                 const char *key,
                                 double *ret,
                                 struct wf_error *err)
{
    *ret = (double)NAN;
    enum wf_status st = wf_json_opt_f64(json, key, ret, err);
    if (st == WF_OK && !isnan(*ret) && !(*ret >= 0 && *ret <= 1)) {
        st = wf_errorf(err, WF_ERANGE, "%s: %g is no share between 0 and 1", key, *ret);
    }
    return st;
}

static enum wf_status pull_launch(const struct wf_json *l,
                                  struct wf_tune_model *m,
                                  struct wf_error *err)
{
    static const char *const parts[] = { "symbol", "resident", "fixed", "slope", NULL };
    const size_t i = m->launches;
    const char *symbol = NULL;
    enum wf_status st = wf_json_type(l) == WF_JSON_OBJECT
                            ? wf_json_only_keys(l, parts, err)
                            : wf_errorf(err, WF_EINVAL, "objects are expected");
    st = st == WF_OK ? wf_json_get_string(l, "symbol", &symbol, err) : st;
    if (st == WF_OK && strlen(symbol) >= sizeof(m->launch[i].symbol)) {
        st = wf_errorf(err, WF_ERANGE, "symbol: at most %d characters",
                       WF_TUNE_SYMBOL - 1);
    }
    st = st == WF_OK ? number(l, "resident", &m->launch[i].resident, err) : st;
    st = st == WF_OK ? pull_pipes(l, "fixed", m->launch[i].fixed, err) : st;
    st = st == WF_OK ? pull_pipes(l, "slope", m->launch[i].slope, err) : st;
    if (st == WF_OK && !(m->launch[i].resident >= 1)) {
        st = wf_errorf(err, WF_ERANGE, "resident: at least 1");
    }
    if (st == WF_OK) {
        (void)snprintf(m->launch[i].symbol, sizeof(m->launch[i].symbol), "%s", symbol);
        m->launches++;
    }
    return st;
}

enum wf_status wf_tune_model_parse(const struct wf_json *json,
                                   struct wf_tune_model *ret,
                                   struct wf_error *err)
{
    static const char *const keys[] = { "launches", "mca", "mca_nowait", NULL };
    struct wf_tune_model m = { 0 };
    const struct wf_json *list = NULL;
    if (wf_json_type(json) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "model: an object is expected");
    }
    enum wf_status st = wf_json_only_keys(json, keys, err);
    st = st == WF_OK ? wf_json_get_array(json, "launches", &list, err) : st;
    st = st == WF_OK ? pull_share(json, "mca", &m.mca, err) : st;
    st = st == WF_OK ? pull_share(json, "mca_nowait", &m.mca_nowait, err) : st;
    if (st == WF_OK &&
        (wf_json_count(list) == 0 || wf_json_count(list) > WF_TUNE_LAUNCHES)) {
        st = wf_errorf(err, WF_ERANGE, "launches: 1 to %d", WF_TUNE_LAUNCHES);
    }
    const struct wf_json *l = st == WF_OK ? wf_json_first(list) : NULL;
    for (; l != NULL && st == WF_OK; l = wf_json_next(l)) {
        if (pull_launch(l, &m, err) != WF_OK) {
            st = wf_error_prefix(err, "launches[%zu]", m.launches);
        }
    }
    if (st == WF_OK) {
        *ret = m;
    }
    return st;
}
