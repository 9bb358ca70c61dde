/* Making a gate's row, and the JSON of its state. */
#include "coordinator/store_gates.h"

#include "coordinator/store_runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- making --- */

static const char *member(const struct wf_gate_request *g, const char *key)
{
    const char *text = wf_json_string(wf_json_find(g->header, key));
    return text ? text : "";
}

/* What the header says of its runtime binds the devices too. */
static enum wf_status check_runtime(const struct wf_gate_request *g,
                                    const char **ret,
                                    struct wf_error *err)
{
    const char *wanted = member(g, "runtime");
    *ret = g->run->runtime ? g->run->runtime : *wanted ? wanted : NULL;
    if (g->run->runtime && *wanted && strcmp(wanted, g->run->runtime) != 0) {
        return wf_errorf(err, WF_EINVAL,
                         "header: runtime is %s, but devices.runtime is %s", wanted,
                         g->run->runtime);
    }
    return WF_OK;
}

static enum wf_status add_gate(struct wf_db *db,
                               int64_t run,
                               void *ctx,
                               struct wf_error *err)
{
    const struct wf_gate_request *g = ctx;
    const char *runtime = NULL;
    struct wf_params p = WF_PARAMS_INIT;
    enum wf_status s = check_runtime(g, &runtime, err);
    wf_param_i64(&p, run);
    wf_param_text(&p, member(g, "gate"));
    wf_param_text(&p, member(g, "seed"));
    wf_param_text(&p, g->text);
    wf_param_text(&p, runtime);
    wf_param_text(&p, g->run->arch);
    wf_param_text(&p, g->run->model);
    wf_param_text(&p, wf_buf_cstr(&g->run->labels));
    wf_param_text(&p, g->archs.len ? wf_buf_cstr(&g->archs) : NULL);
    wf_param_i64(&p, (int64_t)g->memory_bytes);
    wf_param_i64(&p, (int64_t)wf_gate_record_count(g->record));
    char *line = NULL;
    s = s == WF_OK && g->static_line ? wf_json_text(g->static_line, &line, err) : s;
    wf_param_text(&p, line);
    s = s == WF_OK ? wf_db_run(db, WF_STMT_GATE_ADD, &p, NULL, err) : s;
    free(line);
    return s;
}

enum wf_status wf_store_gate(struct wf_db *db,
                             const struct wf_gate_request *g,
                             int64_t token_id,
                             struct wf_gate_made *ret,
                             struct wf_error *err)
{
    struct wf_run_made made = { 0 };
    struct wf_gate_request copy =
        *g; /* only read, but the hook's context is not const */
    struct wf_run_more more = { add_gate, &copy };
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    enum wf_status s = wf_store_gate_run(db, g->run, &more, token_id, &made, err);
    wf_param_i64(&p, made.run);
    s = s == WF_OK ? wf_db_run(db, WF_STMT_GATE_BY_RUN, &p, &rows, err) : s;
    if (s == WF_OK && wf_rows_count(rows) == 0) {
        s = wf_errorf(err, WF_ECONFLICT,
                      "request_id %s was used for run %" PRId64 ": make a new one",
                      g->run->request_id, made.run);
    }
    if (s == WF_OK) {
        ret->id = made.run;
        ret->created = made.created;
        snprintf(ret->gate, sizeof ret->gate, "%s", wf_rows_text(rows, 0, 0));
    }
    wf_rows_free(rows);
    return s;
}

/* --- reading --- */

/* Columns of GATE_COLUMNS. */
enum column {
    C_ID,
    C_GATE,
    C_NAME,
    C_SUITE,
    C_STATE,
    C_VERSION,
    C_SELECTOR,
    C_PAIRS,
    C_GROUPS,
    C_ROUNDS,
    C_LINES,
    C_RED,
    C_INFRASTRUCTURE,
    C_PROGRESS,
    C_CREATED,
    C_ELAPSED,
    C_PLACES
};

static const char *or_else(const char *text, const char *otherwise)
{
    return *text ? text : otherwise;
}

static enum wf_status set_bool_or_null(struct wf_json *o,
                                       const char *key,
                                       const struct wf_rows *rows,
                                       size_t i,
                                       int column,
                                       struct wf_error *err)
{
    return wf_rows_null(rows, i, column)
               ? wf_json_set_null(o, key, err)
               : wf_json_set_bool(o, key, wf_rows_bool(rows, i, column), err);
}

static enum wf_status set_columns(const struct wf_rows *rows,
                                  size_t i,
                                  struct wf_json *o,
                                  struct wf_error *err)
{
    static const struct {
        const char *key;
        enum column column;
        bool number;
    } members[] = {
        { "id", C_ID, false },
        { "gate", C_GATE, false },
        { "name", C_NAME, false },
        { "suite", C_SUITE, false },
        { "state", C_STATE, false },
        { "version", C_VERSION, true },
        { "devices", C_SELECTOR, false },
        { "pairs", C_PAIRS, true },
        { "groups", C_GROUPS, true },
        { "rounds", C_ROUNDS, true },
        { "lines", C_LINES, true },
        { "created", C_CREATED, false },
        { "elapsed_ms", C_ELAPSED, true },
    };
    enum wf_status s = WF_OK;
    for (size_t m = 0; s == WF_OK && m < sizeof members / sizeof members[0]; m++) {
        int c = (int)members[m].column;
        s = members[m].number
                ? wf_json_set_i64(o, members[m].key, wf_rows_i64(rows, i, c), err)
                : wf_json_set_string(o, members[m].key, wf_rows_text(rows, i, c), err);
    }
    return s;
}

enum wf_status wf_gate_row_json(const struct wf_rows *rows,
                                size_t i,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status s = set_columns(rows, i, o, err);
    s = s == WF_OK
            ? wf_json_set_parsed(o, "verdicts",
                                 or_else(wf_rows_text(rows, i, C_PROGRESS), "{}"), err)
            : s;
    s = s == WF_OK
            ? wf_json_set_parsed(o, "places",
                                 or_else(wf_rows_text(rows, i, C_PLACES), "[]"), err)
            : s;
    s = s == WF_OK ? set_bool_or_null(o, "red", rows, i, C_RED, err) : s;
    s = s == WF_OK
            ? set_bool_or_null(o, "infrastructure", rows, i, C_INFRASTRUCTURE, err)
            : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    *ret = o;
    return WF_OK;
}
