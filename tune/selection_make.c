/* A selection from the winners of tuning tables. */
#include "tune/selection_internal.h"

#include "core/buf.h"
#include "tune/table.h"

#include <stdlib.h>
#include <string.h>

struct made_kernel {
    const char *name;
    struct wf_json *models;
    size_t rows; /* that it wins: those that win most are tried first */
    size_t order;
};

struct making {
    struct made_kernel *kernel;
    size_t kernel_count, kernel_room;
    struct wf_json *rows, *made_from;
    const char *op, *arch;
    bool measured, modelled;
};

static const char *text(const struct wf_json *obj, const char *key)
{
    const struct wf_json *m = obj != NULL && wf_json_type(obj) == WF_JSON_OBJECT
                                  ? wf_json_find(obj, key)
                                  : NULL;
    const char *s = m != NULL ? wf_json_string(m) : NULL;
    return s != NULL ? s : "";
}

static enum wf_status kernel_of(struct making *m,
                                const char *name,
                                struct made_kernel **ret,
                                struct wf_error *err)
{
    for (size_t i = 0; i < m->kernel_count; i++) {
        if (strcmp(m->kernel[i].name, name) == 0) {
            *ret = &m->kernel[i];
            return WF_OK;
        }
    }
    if (m->kernel_count == m->kernel_room) {
        const size_t room = m->kernel_room == 0 ? 32 : 2 * m->kernel_room;
        struct made_kernel *grown = wf_realloc_array(m->kernel, room, sizeof(*grown));
        if (grown == NULL) {
            return wf_errorf(err, WF_ENOMEM, "no memory for %zu kernels", room);
        }
        m->kernel = grown;
        m->kernel_room = room;
    }
    *ret = &m->kernel[m->kernel_count];
    **ret = (struct made_kernel){ .name = name,
                                  .models = wf_json_array(),
                                  .order = m->kernel_count };
    m->kernel_count++;
    return (*ret)->models != NULL ? WF_OK
                                  : wf_errorf(err, WF_ENOMEM, "no memory for models");
}

static bool same_launches(const struct wf_json *a, const struct wf_json *b)
{
    const struct wf_json *x = wf_json_first(wf_json_find(a, "launches"));
    const struct wf_json *y = wf_json_first(wf_json_find(b, "launches"));
    for (; x != NULL && y != NULL; x = wf_json_next(x), y = wf_json_next(y)) {
        if (strcmp(text(x, "symbol"), text(y, "symbol")) != 0) {
            return false;
        }
    }
    return x == NULL && y == NULL;
}

/* One model for what it launches. The first table's first case stays: all of them were
 * counted on problems of the same kind. */
static enum wf_status add_model(struct made_kernel *k,
                                const struct wf_json *model,
                                struct wf_error *err)
{
    struct wf_json *copy = NULL;
    const struct wf_json *v = wf_json_first(k->models);
    for (; v != NULL; v = wf_json_next(v)) {
        if (same_launches(v, model)) {
            return WF_OK;
        }
    }
    const enum wf_status st = wf_json_copy(model, &copy, err);
    return st == WF_OK ? wf_json_push_take(k->models, copy, err) : st;
}

static enum wf_status add_candidates(struct making *m,
                                     const struct wf_json *c,
                                     struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const struct wf_json *v = wf_json_first(wf_json_find(c, "candidates"));
    for (; v != NULL && st == WF_OK; v = wf_json_next(v)) {
        struct made_kernel *k = NULL;
        const struct wf_json *model = wf_json_find(v, "model");
        st = kernel_of(m, text(v, "kernel"), &k, err);
        st = st == WF_OK && model != NULL ? add_model(k, model, err) : st;
    }
    return st;
}

/* --- rows --- */

static struct wf_json *problem_of(const struct wf_json *c, struct wf_error *err)
{
    struct wf_json *copy = NULL;
    if (wf_json_copy(wf_json_find(c, "case"), &copy, err) != WF_OK) {
        return NULL;
    }
    wf_json_remove(copy, "seed");
    wf_json_remove(copy, "inputs");
    return copy;
}

static enum wf_status make_row(const struct wf_json *c,
                               const struct wf_json *winner,
                               const char *basis,
                               struct wf_json *problem,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_json *row = wf_json_object();
    const struct wf_json *cycles = wf_json_find(winner, "cycles");
    enum wf_status st = wf_json_set_string(row, "name", text(c, "name"), err);
    st = st == WF_OK ? wf_json_set_string(row, "kernel", text(winner, "kernel"), err)
                     : st;
    st = st == WF_OK ? wf_json_set_string(row, "basis", basis, err) : st;
    st = st == WF_OK && cycles != NULL ? wf_json_set_copy(row, "cycles", cycles, err)
                                       : st;
    if (st == WF_OK) {
        st = wf_json_set_take(row, "case", problem, err);
    } else {
        wf_json_free(problem);
    }
    if (st != WF_OK) {
        wf_json_free(row);
        return st;
    }
    *ret = row;
    return WF_OK;
}

/* The rows without the one that the new one replaces; *ret_keep: the old one stays. */
static enum wf_status clear_place(struct making *m,
                                  const struct wf_json *problem,
                                  bool measured,
                                  bool *ret_keep,
                                  struct wf_error *err)
{
    struct wf_json *rest = wf_json_array();
    enum wf_status st =
        rest != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for rows");
    *ret_keep = false;
    const struct wf_json *v = wf_json_first(m->rows);
    for (; v != NULL && st == WF_OK; v = wf_json_next(v)) {
        struct wf_json *copy = NULL;
        const bool same = selection_same_case(wf_json_find(v, "case"), problem);
        const bool stays =
            same && !measured && strcmp(text(v, "basis"), "measured") == 0;
        *ret_keep = *ret_keep || stays;
        if (!same || stays) {
            st = wf_json_copy(v, &copy, err);
            st = st == WF_OK ? wf_json_push_take(rest, copy, err) : st;
        }
    }
    if (st != WF_OK) {
        wf_json_free(rest);
        return st;
    }
    wf_json_free(m->rows);
    m->rows = rest;
    return WF_OK;
}

static enum wf_status add_row(struct making *m,
                              const struct wf_json *c,
                              const char *basis,
                              struct wf_error *err)
{
    int64_t at = 0;
    bool keep = false;
    struct wf_json *row = NULL;
    const struct wf_json *winner = wf_json_find(c, "winner");
    if (winner == NULL || !wf_json_as_i64(winner, &at)) {
        return WF_OK;
    }
    struct wf_json *problem = problem_of(c, err);
    if (problem == NULL) {
        return WF_ENOMEM;
    }
    enum wf_status st =
        clear_place(m, problem, strcmp(basis, "measured") == 0, &keep, err);
    if (st != WF_OK || keep) {
        wf_json_free(problem);
        return st;
    }
    st = make_row(c, wf_json_at(wf_json_find(c, "candidates"), (size_t)at), basis,
                  problem, &row, err);
    return st == WF_OK ? wf_json_push_take(m->rows, row, err) : st;
}

/* --- tables --- */

/* What the device is, and nothing of the machine that it is in. */
static enum wf_status note_device(struct wf_json *o,
                                  const struct wf_json *device,
                                  struct wf_error *err)
{
    static const char *const copied[] = { "runtime",   "model",  "name",    "arch",
                                          "partition", "driver", "cu_count" };
    struct wf_json *d = wf_json_object();
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]) && st == WF_OK; i++) {
        const struct wf_json *v = wf_json_find(device, copied[i]);
        st = v != NULL ? wf_json_set_copy(d, copied[i], v, err) : st;
    }
    if (st != WF_OK) {
        wf_json_free(d);
        return st;
    }
    return wf_json_set_take(o, "device", d, err);
}

static enum wf_status note_source(struct making *m,
                                  const struct wf_json *table,
                                  const char *sha256,
                                  struct wf_error *err)
{
    static const char *const copied[] = { "created", "commit",    "dirty",
                                          "packs",   "compilers", "tool" };
    struct wf_json *o = wf_json_object();
    const struct wf_json *p = wf_json_find(table, "provenance");
    enum wf_status st = wf_json_set_string(o, "table_sha256", sha256, err);
    st = st == WF_OK ? wf_json_set_string(o, "suite", text(table, "suite"), err) : st;
    st = st == WF_OK ? wf_json_set_string(o, "basis", text(table, "basis"), err) : st;
    for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]) && st == WF_OK; i++) {
        const struct wf_json *v = wf_json_find(p, copied[i]);
        st = v != NULL ? wf_json_set_copy(o, copied[i], v, err) : st;
    }
    const struct wf_json *device = wf_json_find(p, "device");
    st = st == WF_OK && device != NULL ? note_device(o, device, err) : st;
    if (st != WF_OK) {
        wf_json_free(o);
        return st;
    }
    return wf_json_push_take(m->made_from, o, err);
}

static enum wf_status add_table(struct making *m,
                                const struct wf_json *table,
                                const char *sha256,
                                struct wf_error *err)
{
    const char *basis = text(table, "basis");
    if (m->op != NULL && (strcmp(m->op, text(table, "op")) != 0 ||
                          strcmp(m->arch, text(table, "arch")) != 0)) {
        return wf_errorf(
            err, WF_EINVAL,
            "a selection is for one op and one architecture: %s on %s, and "
            "%s on %s",
            m->op, m->arch, text(table, "op"), text(table, "arch"));
    }
    m->op = text(table, "op");
    m->arch = text(table, "arch");
    m->measured = m->measured || strcmp(basis, "measured") == 0;
    m->modelled = m->modelled || strcmp(basis, "modelled") == 0;
    enum wf_status st = note_source(m, table, sha256, err);
    const struct wf_json *c = wf_json_first(wf_json_find(table, "cases"));
    for (; c != NULL && st == WF_OK; c = wf_json_next(c)) {
        st = add_candidates(m, c, err);
        st = st == WF_OK ? add_row(m, c, basis, err) : st;
    }
    return st;
}

static int by_rows(const void *a, const void *b)
{
    const struct made_kernel *x = a, *y = b;
    return x->rows != y->rows ? (x->rows < y->rows) - (x->rows > y->rows)
                              : (x->order > y->order) - (x->order < y->order);
}

static enum wf_status kernels_json(struct making *m,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = list != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
    for (const struct wf_json *v = wf_json_first(m->rows); v != NULL;
         v = wf_json_next(v)) {
        for (size_t i = 0; i < m->kernel_count; i++) {
            m->kernel[i].rows += strcmp(m->kernel[i].name, text(v, "kernel")) == 0;
        }
    }
    if (m->kernel_count > 0) {
        qsort(m->kernel, m->kernel_count, sizeof(*m->kernel), by_rows);
    }
    for (size_t i = 0; i < m->kernel_count && st == WF_OK; i++) {
        struct wf_json *k = wf_json_object();
        st = wf_json_set_string(k, "name", m->kernel[i].name, err);
        if (st == WF_OK && wf_json_count(m->kernel[i].models) > 0) {
            st = wf_json_set_copy(k, "models", m->kernel[i].models, err);
        }
        if (st == WF_OK) {
            st = wf_json_push_take(list, k, err);
        } else {
            wf_json_free(k);
        }
    }
    if (st != WF_OK) {
        wf_json_free(list);
        return st;
    }
    *ret = list;
    return WF_OK;
}

static enum wf_status assemble(struct making *m,
                               const char *description,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_json *v = wf_json_object(), *kernels = NULL;
    enum wf_status st = wf_json_set_string(v, "schema", WF_SELECTION_SCHEMA, err);
    st = st == WF_OK ? wf_json_set_string(v, "op", m->op, err) : st;
    st = st == WF_OK ? wf_json_set_string(v, "arch", m->arch, err) : st;
    st = st == WF_OK ? wf_json_set_string(v, "basis",
                                          m->measured && m->modelled ? "mixed"
                                          : m->measured              ? "measured"
                                                                     : "modelled",
                                          err)
                     : st;
    st = st == WF_OK && description != NULL
             ? wf_json_set_string(v, "description", description, err)
             : st;
    st = st == WF_OK ? wf_json_set_copy(v, "made_from", m->made_from, err) : st;
    st = st == WF_OK ? kernels_json(m, &kernels, err) : st;
    st = st == WF_OK ? wf_json_set_take(v, "kernels", kernels, err) : st;
    st = st == WF_OK ? wf_json_set_copy(v, "rows", m->rows, err) : st;
    if (st != WF_OK) {
        wf_json_free(v);
        return st;
    }
    *ret = v;
    return WF_OK;
}

enum wf_status wf_selection_make(const struct wf_json *const *table,
                                 const char *const *sha256,
                                 size_t count,
                                 const char *description,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    struct making m = { .rows = wf_json_array(), .made_from = wf_json_array() };
    enum wf_status st =
        count > 0 ? WF_OK : wf_errorf(err, WF_EINVAL, "a selection needs a table");
    for (size_t i = 0; i < count && st == WF_OK; i++) {
        st = wf_tuning_check(table[i], err);
        st = st == WF_OK ? add_table(&m, table[i], sha256[i], err) : st;
    }
    st = st == WF_OK ? assemble(&m, description, ret, err) : st;
    for (size_t i = 0; i < m.kernel_count; i++) {
        wf_json_free(m.kernel[i].models);
    }
    free(m.kernel);
    wf_json_free(m.rows);
    wf_json_free(m.made_from);
    return st;
}
