/* What a check found wrong, as JSON: counts, the worst and the first element, the error
 * map; beside it what other suites' rules count, and the numbers behind the tolerance.
 * Reports what it is given; a report that was never filled gives zeros and nulls. */
#include "runner/result.h"

/* Runs `call` unless something failed before. */
#define STEP(call)         \
    do {                   \
        if (st == WF_OK) { \
            st = (call);   \
        }                  \
    } while (0)

struct element {
    const char *tensor;
    int ndim;
    const int64_t *index;
    double got, want;
    const double *tolerance; /* NULL: not part of it */
};

/* Takes `child` in any case. */
static enum wf_status set_element(struct wf_json *obj,
                                  const char *key,
                                  const struct element *e,
                                  struct wf_error *err)
{
    struct wf_json *child = wf_json_object();
    struct wf_json *index = wf_json_array();
    enum wf_status st = wf_json_set_string(child, "tensor", e->tensor, err);
    for (int i = 0; i < e->ndim && i < WF_MAX_DIMS; i++) {
        STEP(wf_json_push_i64(index, e->index[i], err));
    }
    const enum wf_status took = wf_json_set_take(child, "index", index, err);
    STEP(took);
    STEP(wf_json_set_f64(child, "got", e->got, err));
    STEP(wf_json_set_f64(child, "want", e->want, err));
    if (e->tolerance) {
        STEP(wf_json_set_f64(child, "tolerance", *e->tolerance, err));
    }
    const enum wf_status set = wf_json_set_take(obj, key, child, err);
    return st == WF_OK ? set : st;
}

/* Rows of counts. */
static enum wf_status set_cells(struct wf_json *obj,
                                const char *key,
                                const struct wf_error_map *map,
                                const uint64_t cell[WF_MAP_SIDE][WF_MAP_SIDE],
                                struct wf_error *err)
{
    struct wf_json *rows = wf_json_array();
    enum wf_status st = WF_OK;
    for (int i = 0; st == WF_OK && i < map->map_rows; i++) {
        struct wf_json *row = wf_json_array();
        for (int j = 0; j < map->map_cols; j++) {
            STEP(wf_json_push_i64(row, (int64_t)cell[i][j], err));
        }
        const enum wf_status took = wf_json_push_take(rows, row, err);
        STEP(took);
    }
    const enum wf_status set = wf_json_set_take(obj, key, rows, err);
    return st == WF_OK ? set : st;
}

static enum wf_status set_map(struct wf_json *obj,
                              const struct wf_error_map *map,
                              struct wf_error *err)
{
    if (!map->known) {
        return wf_json_set_null(obj, "map", err);
    }
    struct wf_json *child = wf_json_object();
    enum wf_status st = wf_json_set_string(child, "tensor", map->tensor, err);
    STEP(wf_json_set_i64(child, "rows", map->rows, err));
    STEP(wf_json_set_i64(child, "cols", map->cols, err));
    STEP(wf_json_set_i64(child, "cell_rows", map->cell_rows, err));
    STEP(wf_json_set_i64(child, "cell_cols", map->cell_cols, err));
    STEP(set_cells(child, "wrong", map, map->wrong, err));
    STEP(set_cells(child, "checked", map, map->checked, err));
    const enum wf_status set = wf_json_set_take(obj, "map", child, err);
    return st == WF_OK ? set : st;
}

static enum wf_status set_elements(const struct wf_check_report *c,
                                   struct wf_json *obj,
                                   struct wf_error *err)
{
    const struct element worst = {
        c->worst_tensor, c->worst_ndim, c->worst_index,
        c->worst_got,    c->worst_want, &c->worst_tolerance
    };
    const struct element first = { c->first_tensor, c->first_ndim, c->first_index,
                                   c->first_got,    c->first_want, NULL };
    enum wf_status st = c->has_worst ? set_element(obj, "worst", &worst, err)
                                     : wf_json_set_null(obj, "worst", err);
    STEP(c->has_first ? set_element(obj, "first", &first, err)
                      : wf_json_set_null(obj, "first", err));
    return st;
}

enum wf_status result_errors_to_json(const struct wf_check_report *c,
                                     struct wf_json **ret,
                                     struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_f64(obj, "max_abs", c->max_abs_error, err);
    STEP(wf_json_set_f64(obj, "max_rel", c->max_rel_error, err));
    STEP(wf_json_set_u64(obj, "mismatches", c->mismatches, err));
    STEP(wf_json_set_u64(obj, "nonfinite", c->nonfinite, err));
    STEP(wf_json_set_u64(obj, "unwritten", c->unwritten, err));
    STEP(set_elements(c, obj, err));
    STEP(set_map(obj, &c->map, err));
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

enum wf_status result_set_peers(const struct wf_check_report *c,
                                struct wf_json *obj,
                                struct wf_error *err)
{
    const struct wf_peer_tally *p = &c->peers;
    if (!p->known) {
        return wf_json_set_null(obj, "peers", err);
    }
    struct wf_json *child = wf_json_object();
    enum wf_status st = wf_json_set_u64(child, "elements", p->elements, err);
    STEP(wf_json_set_u64(child, "beyond_allclose", p->beyond_allclose, err));
    STEP(wf_json_set_u64(child, "beyond_flashinfer", p->beyond_flashinfer, err));
    STEP(wf_json_set_u64(child, "class_differs", p->class_differs, err));
    const enum wf_status set = wf_json_set_take(obj, "peers", child, err);
    return st == WF_OK ? set : st;
}

enum wf_status result_set_tolerance_inputs(const struct wf_check_report *c,
                                           struct wf_json *tolerance,
                                           struct wf_error *err)
{
    const struct wf_tolerance_inputs *t = &c->tolerance_inputs;
    if (!t->known) {
        return wf_json_set_null(tolerance, "inputs", err);
    }
    struct wf_json *child = wf_json_object();
    struct wf_json *operands = wf_json_array();
    enum wf_status st = WF_OK;
    for (int i = 0; i < 2; i++) {
        STEP(wf_json_push_string(operands, wf_dtype_name(t->operand[i]), err));
    }
    const enum wf_status took = wf_json_set_take(child, "operands", operands, err);
    STEP(took);
    STEP(wf_json_set_string(child, "accumulate", wf_dtype_name(t->accumulate), err));
    STEP(wf_json_set_string(child, "partial", wf_dtype_name(t->partial), err));
    STEP(wf_json_set_string(child, "output", wf_dtype_name(t->output), err));
    STEP(wf_json_set_f64(child, "u_out", t->u_out, err));
    STEP(wf_json_set_f64(child, "u_accumulate", t->u_accumulate, err));
    STEP(wf_json_set_f64(child, "u_inner", t->u_inner, err));
    STEP(wf_json_set_f64(child, "split", t->split, err));
    STEP(wf_json_set_f64(child, "length", t->length, err));
    const enum wf_status set = wf_json_set_take(tolerance, "inputs", child, err);
    return st == WF_OK ? set : st;
}
