/* The JSON of a run's state. */
#include "coordinator/store_runs.h"

#include <string.h>

static enum wf_status set_object(struct wf_json *o,
                                 const char *key,
                                 const char *text,
                                 struct wf_error *err)
{
    struct wf_json *v = NULL;
    if (!*text) {
        return wf_json_set_take(o, key, wf_json_object(), err);
    }
    enum wf_status status = wf_json_parse(text, strlen(text), key, &v, err);
    return status == WF_OK ? wf_json_set_take(o, key, v, err) : status;
}

enum wf_status wf_run_row_json(const struct wf_rows *rows,
                               size_t i,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    int64_t tasks = wf_rows_i64(rows, i, 5);
    int64_t done = wf_rows_i64(rows, i, 6);
    int64_t leased = wf_rows_i64(rows, i, 9);
    enum wf_status s = wf_json_set_string(o, "run", wf_rows_text(rows, i, 0), err);
    s = s == WF_OK ? wf_json_set_string(o, "name", wf_rows_text(rows, i, 1), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "suite", wf_rows_text(rows, i, 2), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "kind", wf_rows_text(rows, i, 10), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "devices", wf_rows_text(rows, i, 12), err)
                   : s;
    s = s == WF_OK ? wf_json_set_string(o, "state", wf_rows_text(rows, i, 3), err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "version", wf_rows_i64(rows, i, 4), err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "tasks", tasks, err) : s;
    if (s == WF_OK && !wf_rows_null(rows, i, 11)) {
        s = wf_json_set_i64(o, "expected", wf_rows_i64(rows, i, 11), err);
    }
    s = s == WF_OK ? wf_json_set_i64(o, "open", tasks - done - leased, err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "leased", leased, err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "done", done, err) : s;
    s = s == WF_OK ? set_object(o, "answers", wf_rows_text(rows, i, 13), err) : s;
    s = s == WF_OK ? set_object(o, "times", wf_rows_text(rows, i, 14), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "created", wf_rows_text(rows, i, 7), err)
                   : s;
    s = s == WF_OK ? wf_json_set_i64(o, "elapsed_ms", wf_rows_i64(rows, i, 8), err) : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    *ret = o;
    return WF_OK;
}
