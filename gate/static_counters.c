/* The emulator's counters of both arms as figures: sums over a pair's launches.
 *
 * They are exact for the code that ran and the same for any number of host threads, so
 * one record of a pair is enough. Every pair is the same case with the same inputs on
 * both sides. */
#include "gate/static.h"

#include "core/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* COUNTER(path in a launch's report, figure less "executed.", worse) */
#define COUNTERS(COUNTER)                                             \
    COUNTER("counters.instructions.all", "instructions", 1)           \
    COUNTER("counters.instructions.mfma", "mfma", 1)                  \
    COUNTER("counters.instructions.valu", "valu", 1)                  \
    COUNTER("counters.instructions.trans", "trans", 1)                \
    COUNTER("counters.instructions.f64", "f64", 1)                    \
    COUNTER("counters.instructions.salu", "salu", 1)                  \
    COUNTER("counters.instructions.branch", "branch", 1)              \
    COUNTER("counters.instructions.smem", "smem", 1)                  \
    COUNTER("counters.instructions.vmem_load", "vmem_load", 1)        \
    COUNTER("counters.instructions.vmem_store", "vmem_store", 1)      \
    COUNTER("counters.instructions.vmem_atomic", "vmem_atomic", 1)    \
    COUNTER("counters.instructions.lds", "lds", 1)                    \
    COUNTER("counters.instructions.barrier", "barrier", 1)            \
    COUNTER("counters.mfma_passes", "mfma_passes", 1)                 \
    COUNTER("counters.global_read_bytes", "global_read_bytes", 1)     \
    COUNTER("counters.global_write_bytes", "global_write_bytes", 1)   \
    COUNTER("counters.global_lines", "global_lines", 1)               \
    COUNTER("counters.lds_bytes", "lds_bytes", 1)                     \
    COUNTER("counters.lds_cycles", "lds_cycles", 1)                   \
    COUNTER("counters.lds_conflict_cycles", "lds_conflict_cycles", 1) \
    COUNTER("counters.scratch_bytes", "scratch_bytes", 1)             \
    COUNTER("counters.atomic_lanes", "atomic_lanes", 1)               \
    COUNTER("counters.cycles.at_least", "cycles_at_least", 1)

static const struct {
    const char *path, *name;
    int worse;
} counters[] = {
#define COUNTER(path, name, worse) { path, "executed." name, worse },
    COUNTERS(COUNTER)
#undef COUNTER
};

enum {
    COUNTER_COUNT = sizeof(counters) / sizeof(counters[0])
};

struct arm {
    struct wf_static_figure *figure;
    size_t count;
};

struct wf_static_counters {
    struct arm arm[2];
    char **text; /* names of cases and kernels */
    size_t text_count;
};

enum wf_status wf_static_counters_create(struct wf_static_counters **ret,
                                         struct wf_error *err)
{
    *ret = wf_calloc(1, sizeof(**ret));
    return *ret != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for counters");
}

void wf_static_counters_free(struct wf_static_counters *c)
{
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->text_count; i++) {
        free(c->text[i]);
    }
    free(c->text);
    free(c->arm[0].figure);
    free(c->arm[1].figure);
    free(c);
}

const struct wf_static_figure *wf_static_counters_of(const struct wf_static_counters *c,
                                                     int arm,
                                                     size_t *ret_count)
{
    *ret_count = c->arm[arm].count;
    return c->arm[arm].figure;
}

static const struct wf_json *find_path(const struct wf_json *at, const char *path)
{
    char key[64];
    while (at != NULL && wf_json_type(at) == WF_JSON_OBJECT) {
        size_t n = strcspn(path, ".");
        (void)snprintf(key, sizeof(key), "%.*s", (int)n, path);
        at = wf_json_find(at, key);
        if (path[n] == '\0') {
            return at;
        }
        path += n + 1;
    }
    return NULL;
}

static const struct wf_json *launches_of(const struct wf_json *record, int arm)
{
    const char *path = arm == 0 ? "base.result.details.emulation.launches"
                                : "candidate.result.details.emulation.launches";
    const struct wf_json *l = find_path(record, path);
    return l != NULL && wf_json_type(l) == WF_JSON_ARRAY && wf_json_count(l) > 0 ? l
                                                                                 : NULL;
}

/* NAN where a launch does not say. */
static double sum(const struct wf_json *launches, const char *path)
{
    double all = 0;
    for (const struct wf_json *l = wf_json_first(launches); l != NULL;
         l = wf_json_next(l)) {
        double v = (double)NAN;
        const struct wf_json *at = find_path(l, path);
        if (at == NULL || !wf_json_as_f64(at, &v)) {
            return (double)NAN;
        }
        all += v;
    }
    return all;
}

/* Keeps a text for as long as the figures live. */
static const char *keep(struct wf_static_counters *c, char *text)
{
    char **grown = text != NULL
                       ? wf_realloc_array(c->text, c->text_count + 1, sizeof(*c->text))
                       : NULL;
    if (grown == NULL) {
        free(text);
        return NULL;
    }
    c->text = grown;
    c->text[c->text_count++] = text;
    return text;
}

static bool is_known(const struct wf_static_counters *c,
                     const char *case_name,
                     const char *kernel)
{
    for (int a = 0; a < 2; a++) {
        for (size_t i = 0; i < c->arm[a].count; i += COUNTER_COUNT) {
            const struct wf_static_figure *f = &c->arm[a].figure[i];
            if (strcmp(f->case_name, case_name) == 0 &&
                strcmp(f->kernel, kernel) == 0) {
                return true;
            }
        }
    }
    return false;
}

static enum wf_status add_arm(struct arm *a,
                              const struct wf_json *launches,
                              const char *case_name,
                              const char *kernel,
                              struct wf_error *err)
{
    struct wf_static_figure *grown =
        wf_realloc_array(a->figure, a->count + COUNTER_COUNT, sizeof(*a->figure));
    if (grown == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for counters of %.200s", kernel);
    }
    a->figure = grown;
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        double v = sum(launches, counters[i].path);
        a->figure[a->count++] = (struct wf_static_figure){
            .kernel = kernel,
            .symbol = "",
            .case_name = case_name,
            .name = counters[i].name,
            .value = v,
            .worse = counters[i].worse,
            .why = isnan(v) ? "the emulator did not count" : NULL,
        };
    }
    return WF_OK;
}

/* The pair's key is "<case name>/<kernel>"; a kernel's name has no '/'. */
enum wf_status wf_static_counters_add(struct wf_static_counters *c,
                                      const struct wf_json *record,
                                      struct wf_error *err)
{
    const struct wf_json *key = wf_json_find(record, "pair");
    const char *text = key != NULL ? wf_json_string(key) : NULL;
    const char *slash = text != NULL ? strrchr(text, '/') : NULL;
    const struct wf_json *launches[2] = { launches_of(record, 0),
                                          launches_of(record, 1) };
    if (slash == NULL || (launches[0] == NULL && launches[1] == NULL)) {
        return WF_OK;
    }
    const char *case_name = keep(c, wf_strndup(text, (size_t)(slash - text)));
    const char *kernel = keep(c, wf_strdup(slash + 1));
    enum wf_status st = case_name == NULL || kernel == NULL
                            ? wf_errorf(err, WF_ENOMEM, "no memory for counters")
                            : WF_OK;
    if (st == WF_OK && is_known(c, case_name, kernel)) {
        return WF_OK;
    }
    for (int a = 0; a < 2 && st == WF_OK; a++) {
        if (launches[a] != NULL) {
            st = add_arm(&c->arm[a], launches[a], case_name, kernel, err);
        }
    }
    return st;
}
