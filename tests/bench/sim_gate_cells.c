#include "sim_gate_cells.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/json.h"
#include "sim_gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX      1024
#define JOBS_MAX       128
#define CHUNK_NS       INT64_C(1000000000) /* between looks at the deadline */
#define RUNS_AT_A_TIME 4                   /* that a thread takes */

struct sim_store {
    char *path;
    uint64_t seed;
    unsigned jobs;
    int64_t deadline_ns;
    bool is_short;
    size_t cells;
    struct sim_cell cell[CELLS_MAX];
};

/* --- the file: {"seed": s, "cells": {name: [runs, count, ...]}} --- */

static struct sim_cell *find(struct sim_store *s, const char *name)
{
    for (size_t i = 0; i < s->cells; i++) {
        if (strcmp(s->cell[i].name, name) == 0) {
            return &s->cell[i];
        }
    }
    if (s->cells == CELLS_MAX) {
        sim_fail("too many cells");
    }
    struct sim_cell *c = &s->cell[s->cells++];
    (void)snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

static enum wf_status read_cell(struct sim_store *s,
                                const struct wf_json *v,
                                struct wf_error *err)
{
    struct sim_cell *c = find(s, wf_json_key(v));
    size_t i = 0;
    for (const struct wf_json *n = wf_json_first(v); n != NULL;
         n = wf_json_next(n), i++) {
        uint64_t *to = i == 0 ? &c->runs : &c->count[i - 1];
        if (i > SIM_COUNTERS || !wf_json_as_u64(n, to)) {
            return wf_errorf(err, WF_EINVAL, "%s: cell '%s' is no list of counts",
                             s->path, c->name);
        }
    }
    return WF_OK;
}

static enum wf_status read_store(struct sim_store *s,
                                 const struct wf_json *root,
                                 struct wf_error *err)
{
    const struct wf_json *cells = NULL;
    uint64_t seed = 0;
    enum wf_status status = wf_json_get_u64(root, "seed", 0, UINT64_MAX, &seed, err);
    if (status == WF_OK) {
        status = wf_json_get_object(root, "cells", &cells, err);
    }
    if (status != WF_OK) {
        return wf_error_prefix(err, "%s", s->path);
    }
    if (seed != s->seed) {
        return wf_errorf(err, WF_EINVAL,
                         "%s: counted with seed %llu, not %llu; take that seed or "
                         "another file",
                         s->path, (unsigned long long)seed,
                         (unsigned long long)s->seed);
    }
    for (const struct wf_json *v = wf_json_first(cells); v != NULL && status == WF_OK;
         v = wf_json_next(v)) {
        status = read_cell(s, v, err);
    }
    return status;
}

static enum wf_status load(struct sim_store *s, struct wf_error *err)
{
    struct wf_json *root = NULL;
    if (s->path == NULL || !wf_file_exists(s->path)) {
        return WF_OK;
    }
    enum wf_status status = wf_json_parse_file(s->path, &root, err);
    if (status == WF_OK) {
        status = read_store(s, root, err);
    }
    wf_json_free(root);
    return status;
}

static size_t used_counters(const struct sim_cell *c)
{
    size_t n = SIM_COUNTERS;
    while (n > 0 && c->count[n - 1] == 0) {
        n--;
    }
    return n;
}

static void write_cells(const struct sim_store *s, struct wf_buf *b)
{
    wf_buf_printf(b, NULL, "{\"seed\": %llu, \"cells\": {",
                  (unsigned long long)s->seed);
    for (size_t i = 0; i < s->cells; i++) {
        const struct sim_cell *c = &s->cell[i];
        wf_buf_printf(b, NULL, "%s\n\"%s\": [%llu", i > 0 ? "," : "", c->name,
                      (unsigned long long)c->runs);
        for (size_t k = 0; k < used_counters(c); k++) {
            wf_buf_printf(b, NULL, ", %llu", (unsigned long long)c->count[k]);
        }
        wf_buf_printf(b, NULL, "]");
    }
    wf_buf_printf(b, NULL, "}}\n");
}

static void save(const struct sim_store *s)
{
    struct wf_buf b = WF_BUF_INIT;
    struct wf_error err;
    if (s->path == NULL) {
        return;
    }
    write_cells(s, &b);
    if (wf_file_write_atomic(s->path, b.data, b.len, &err) != WF_OK) {
        sim_fail(err.text);
    }
    wf_buf_free(&b);
}

enum wf_status sim_store_open(const char *path,
                              uint64_t seed,
                              unsigned jobs,
                              int64_t deadline_ns,
                              struct sim_store **ret,
                              struct wf_error *err)
{
    struct sim_store *s = wf_calloc(1, sizeof *s);
    if (s == NULL || (path != NULL && (s->path = wf_strdup(path)) == NULL)) {
        free(s);
        return wf_errorf(err, WF_ENOMEM, "no memory for the counts");
    }
    s->seed = seed;
    s->jobs = jobs < 1 ? 1 : jobs < JOBS_MAX ? jobs : JOBS_MAX;
    s->deadline_ns = deadline_ns;
    enum wf_status status = load(s, err);
    if (status != WF_OK) {
        sim_store_free(s);
        return status;
    }
    *ret = s;
    return WF_OK;
}

void sim_store_free(struct sim_store *s)
{
    if (s != NULL) {
        free(s->path);
        free(s);
    }
}

bool sim_store_is_short(const struct sim_store *s)
{
    return s->is_short;
}

/* --- the threads --- */

struct chunk {
    sim_fn *fn;
    const void *arg;
    uint64_t seed, to;
    _Atomic uint64_t next;
};

struct worker {
    pthread_t thread;
    struct chunk *chunk;
    uint64_t count[SIM_COUNTERS];
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct chunk *c = w->chunk;
    for (;;) {
        const uint64_t from = atomic_fetch_add(&c->next, RUNS_AT_A_TIME);
        if (from >= c->to) {
            return NULL;
        }
        for (uint64_t run = from; run < from + RUNS_AT_A_TIME && run < c->to; run++) {
            c->fn(c->arg, c->seed, run, w->count);
        }
    }
}

static void run_chunk(unsigned jobs, struct chunk *chunk, struct sim_cell *cell)
{
    struct worker *w = wf_calloc(jobs, sizeof *w);
    if (w == NULL) {
        sim_fail("no memory");
    }
    for (unsigned i = 0; i < jobs; i++) {
        w[i].chunk = chunk;
        if (pthread_create(&w[i].thread, NULL, work, &w[i]) != 0) {
            sim_fail("no thread");
        }
    }
    for (unsigned i = 0; i < jobs; i++) {
        (void)pthread_join(w[i].thread, NULL);
        for (int k = 0; k < SIM_COUNTERS; k++) {
            cell->count[k] += w[i].count[k];
        }
    }
    cell->runs = chunk->to;
    free(w);
}

/* Runs of the next chunk: about CHUNK_NS, by how long the last one took. */
static uint64_t next_size(uint64_t size, int64_t took_ns)
{
    const int64_t took = took_ns > 1 ? took_ns : 1;
    const double factor = (double)CHUNK_NS / (double)took;
    const double next = (double)size * (factor < 4 ? factor : 4);
    return next < RUNS_AT_A_TIME ? RUNS_AT_A_TIME : (uint64_t)next;
}

const struct sim_cell *sim_store_run(struct sim_store *s,
                                     const char *name,
                                     uint64_t salt,
                                     uint64_t target,
                                     sim_fn *fn,
                                     const void *arg)
{
    struct sim_cell *cell = find(s, name);
    uint64_t size = (uint64_t)s->jobs * RUNS_AT_A_TIME;
    while (cell->runs < target) {
        const int64_t start = wf_monotonic_ns();
        struct chunk chunk = { .fn = fn, .arg = arg, .seed = sim_mix(s->seed, salt) };
        if (s->deadline_ns != 0 && start > s->deadline_ns) {
            s->is_short = true;
            break;
        }
        chunk.next = cell->runs;
        chunk.to = target - cell->runs < size ? target : cell->runs + size;
        run_chunk(s->jobs, &chunk, cell);
        save(s);
        size = next_size(size, wf_monotonic_ns() - start);
    }
    return cell;
}
