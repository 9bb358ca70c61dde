/* POST /v1/results/import: the results of a local run become a run of their own. */
#include "coordinator/handlers.h"

#include "coordinator/result_row.h"
#include "coordinator/store_runs.h"
#include "core/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RESULTS 20000u

struct import_job {
    const struct wf_json *results;
    size_t count;
    char digest[WF_SHA256_HEX]; /* of header and results: the same file, the same run */
    const char *name, *suite;
    int64_t expected, token_id;
    struct wf_run_made *ret;
    /* Of the attempt that is under way. */
    int64_t run;
    char run_text[24], run_day[16];
    int64_t *case_keys, *task_ids;
    struct wf_buf tasks, rows, samples;
};

static enum wf_status canonical(const struct wf_json *v,
                                char **ret,
                                struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status s = wf_json_write_canonical(v, &text, err);
    if (s != WF_OK) {
        wf_buf_free(&text);
        return s;
    }
    *ret = text.data;
    return WF_OK;
}

/* --- reading --- */

static enum wf_status check_item(const struct wf_json *item,
                                 struct wf_sha256 *all,
                                 struct wf_error *err)
{
    static const char *const keys[] = { "digest", "result", NULL };
    const char *digest = NULL;
    const struct wf_json *result = NULL;
    struct wf_result_row row;
    if (wf_json_type(item) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "an item must be an object");
    }
    enum wf_status s = wf_json_only_keys(item, keys, err);
    s = s == WF_OK ? wf_json_get_string(item, "digest", &digest, err) : s;
    s = s == WF_OK ? wf_json_get_object(item, "result", &result, err) : s;
    if (s != WF_OK) {
        return s;
    }
    s = wf_result_row_read(result, NULL, NULL, &row, err);
    if (s == WF_OK && strcmp(row.digest, digest) != 0) {
        s = wf_errorf(err, WF_EINVAL, "the canonical result has digest %s, not %.70s",
                      row.digest, digest);
    }
    if (s == WF_OK && !wf_sha256_is_hex(row.pack)) {
        s = wf_errorf(err, WF_EINVAL, "task.pack must be a pack's id (64 hex digits)");
    }
    wf_result_row_free(&row);
    if (s == WF_OK) {
        wf_sha256_update(all, digest, strlen(digest));
    }
    return s;
}

static enum wf_status read_header(const struct wf_json *body,
                                  struct import_job *j,
                                  struct wf_sha256 *all,
                                  struct wf_error *err)
{
    const struct wf_json *header = NULL;
    char *text = NULL;
    j->suite = "";
    j->expected = -1;
    enum wf_status s = wf_json_get_object(body, "header", &header, err);
    s = s == WF_OK ? wf_json_opt_string(header, "suite", &j->suite, err) : s;
    s = s == WF_OK
            ? wf_json_opt_i64(header, "expected", 0, INT32_MAX, &j->expected, err)
            : s;
    s = s == WF_OK ? canonical(header, &text, err) : s;
    if (s != WF_OK) {
        return wf_error_prefix(err, "header");
    }
    wf_sha256_update(all, text, strlen(text));
    free(text);
    j->name = *j->suite ? j->suite : "local results";
    return wf_json_opt_string(body, "name", &j->name, err);
}

static enum wf_status read_import(const struct wf_json *body,
                                  struct import_job *j,
                                  struct wf_error *err)
{
    uint8_t hash[WF_SHA256_BYTES];
    size_t i = 0;
    struct wf_sha256 *all = wf_sha256_create();
    enum wf_status s = all ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
    s = s == WF_OK ? read_header(body, j, all, err) : s;
    s = s == WF_OK ? wf_json_get_array(body, "results", &j->results, err) : s;
    j->count = s == WF_OK ? wf_json_count(j->results) : 0;
    if (s == WF_OK && (j->count == 0 || j->count > MAX_RESULTS)) {
        s = wf_errorf(err, WF_EINVAL, "results must have 1 to %u items, not %zu",
                      MAX_RESULTS, j->count);
    }
    for (const struct wf_json *v = s == WF_OK ? wf_json_first(j->results) : NULL;
         s == WF_OK && v; v = wf_json_next(v), i++) {
        s = check_item(v, all, err);
        s = s == WF_OK ? s : wf_error_prefix(err, "results[%zu]", i);
    }
    if (s != WF_OK) {
        wf_sha256_destroy(all);
        return s;
    }
    wf_sha256_finish(all, hash);
    wf_hex(hash, sizeof hash, j->digest);
    return WF_OK;
}

/* --- storing --- */

static enum wf_status add_case(const struct wf_json *result,
                               struct wf_case_columns *c,
                               struct wf_error *err)
{
    struct wf_result_row row;
    struct wf_run_case item = { 0 };
    char hex[WF_SHA256_HEX];
    union {
        const char *in;
        char *out;
    } op, label, name;
    enum wf_status s = wf_result_row_read(result, NULL, NULL, &row, err);
    s = s == WF_OK ? canonical(row.case_json, &item.canonical, err) : s;
    if (s == WF_OK) {
        wf_sha256_hex(item.canonical, strlen(item.canonical), hex);
        if (strcmp(hex, row.case_id) != 0) {
            s = wf_errorf(err, WF_EINVAL,
                          "task.case_id is %.70s, the case hashes to %s", row.case_id,
                          hex);
        }
    }
    if (s == WF_OK) {
        op.in = row.op;
        label.in = row.label;
        item.op = op.out;
        item.label = label.out;
        name.in = row.case_name;
        item.name = name.out;
        item.math_type = row.math_type;
        item.flops = row.flops > 0 ? row.flops : 0;
        item.bytes = row.bytes > 0 ? row.bytes : 0;
        snprintf(item.id, sizeof item.id, "%s", hex);
        s = wf_case_columns_add(c, &item, err);
    }
    free(item.canonical);
    wf_result_row_free(&row);
    return s;
}

static enum wf_status add_cases(struct wf_db *db,
                                struct import_job *j,
                                struct wf_error *err)
{
    struct wf_case_columns c = { 0 };
    enum wf_status s = WF_OK;
    size_t i = 0;
    for (const struct wf_json *v = wf_json_first(j->results); s == WF_OK && v;
         v = wf_json_next(v), i++) {
        s = add_case(wf_json_find(v, "result"), &c, err);
        s = s == WF_OK ? s : wf_error_prefix(err, "results[%zu]", i);
    }
    s = s == WF_OK ? wf_store_cases(db, j->run, &c, j->count, j->case_keys, err) : s;
    wf_case_columns_free(&c);
    return s;
}

/* Results of a file come kernel by kernel or case by case: the last answer is mostly
 * the next one's too. */
struct last_kernel {
    const char *pack, *kernel;
    int64_t key;
};

static enum wf_status kernel_key(struct wf_db *db,
                                 const struct wf_result_row *row,
                                 int64_t run,
                                 struct last_kernel *last,
                                 struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_params link = WF_PARAMS_INIT;
    struct wf_params k = WF_PARAMS_INIT;
    int64_t pack = 0;
    if (last->pack && strcmp(last->pack, row->pack) == 0 &&
        strcmp(last->kernel, row->kernel) == 0) {
        return WF_OK;
    }
    wf_param_text(&p, row->pack);
    wf_param_text(&p, row->pack_name);
    wf_param_text(&p, NULL);
    enum wf_status s = wf_db_one_i64(db, WF_STMT_PACK_ADD, &p, &pack, err);
    wf_param_i64(&link, run);
    wf_param_i64(&link, pack);
    wf_param_text(&link, NULL);
    wf_param_text(&link, NULL);
    s = s == WF_OK ? wf_db_run(db, WF_STMT_RUN_PACK_ADD, &link, NULL, err) : s;
    wf_param_i64(&k, pack);
    wf_param_text(&k, row->kernel);
    wf_param_text(&k, row->op);
    wf_param_text(&k, "{}");
    wf_param_text(&k, "");
    s = s == WF_OK ? wf_db_one_i64(db, WF_STMT_KERNEL_ADD, &k, &last->key, err) : s;
    last->pack = row->pack;
    last->kernel = row->kernel;
    return s;
}

static enum wf_status task_line(struct import_job *j,
                                size_t i,
                                int64_t kernel,
                                const struct wf_result_row *row,
                                struct wf_error *err)
{
    const int64_t ids[] = { j->task_ids[i],          j->run, j->case_keys[2 * i],
                            j->case_keys[2 * i + 1], kernel, row->repetition };
    enum wf_status s = WF_OK;
    for (size_t k = 0; s == WF_OK && k < sizeof ids / sizeof ids[0]; k++) {
        s = wf_copy_i64(&j->tasks, ids[k], err);
    }
    s = s == WF_OK ? wf_copy_text(&j->tasks, "done", err) : s;
    return s == WF_OK ? wf_copy_end_row(&j->tasks, err) : s;
}

static enum wf_status result_line(struct import_job *j,
                                  size_t i,
                                  int64_t kernel,
                                  const struct wf_result_row *row,
                                  struct wf_error *err)
{
    const int64_t ids[] = { j->task_ids[i], j->run, j->case_keys[2 * i + 1], kernel,
                            row->attempt };
    char digest[WF_SHA256_HEX + 2];
    snprintf(digest, sizeof digest, "\\x%s", row->digest);
    enum wf_status s = wf_copy_text(&j->rows, j->run_day, err);
    for (size_t k = 0; s == WF_OK && k < sizeof ids / sizeof ids[0]; k++) {
        s = wf_copy_i64(&j->rows, ids[k], err);
    }
    s = s == WF_OK ? wf_copy_text(&j->rows, digest, err) : s;
    s = s == WF_OK ? wf_result_row_copy(row, &j->rows, err) : s;
    s = s == WF_OK ? wf_copy_end_row(&j->rows, err) : s;
    if (s == WF_OK && row->array[WF_ARRAY_samples].len > 0) {
        s = wf_copy_text(&j->samples, j->run_day, err);
        s = s == WF_OK ? wf_copy_i64(&j->samples, j->task_ids[i], err) : s;
        s = s == WF_OK ? wf_result_row_copy_samples(row, &j->samples, err) : s;
        s = s == WF_OK ? wf_copy_end_row(&j->samples, err) : s;
    }
    return s;
}

static enum wf_status make_lines(struct wf_db *db,
                                 struct import_job *j,
                                 struct wf_error *err)
{
    enum wf_status s = WF_OK;
    struct last_kernel last = { 0 };
    size_t i = 0;
    wf_buf_clear(&j->tasks);
    wf_buf_clear(&j->rows);
    wf_buf_clear(&j->samples);
    for (const struct wf_json *v = wf_json_first(j->results); s == WF_OK && v;
         v = wf_json_next(v), i++) {
        struct wf_result_row row;
        char task[24];
        snprintf(task, sizeof task, "%" PRId64, j->task_ids[i]);
        s = wf_result_row_read(wf_json_find(v, "result"), task, j->run_text, &row, err);
        s = s == WF_OK ? kernel_key(db, &row, j->run, &last, err) : s;
        s = s == WF_OK ? task_line(j, i, last.key, &row, err) : s;
        s = s == WF_OK ? result_line(j, i, last.key, &row, err) : s;
        wf_result_row_free(&row);
    }
    return s;
}

static enum wf_status copy_all(struct wf_db *db,
                               const char *sql,
                               const struct wf_buf *lines,
                               struct wf_error *err)
{
    enum wf_status s = wf_db_copy_begin(db, sql, err);
    s = s == WF_OK ? wf_db_copy_data(db, lines, err) : s;
    return s == WF_OK ? wf_db_copy_end(db, NULL, err) : s;
}

static enum wf_status add_run(struct wf_db *db,
                              struct import_job *j,
                              struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_text(&p, j->digest);
    wf_param_text(&p, j->name);
    wf_param_text(&p, j->suite);
    wf_param_i64(&p, (int64_t)j->count);
    if (j->expected >= 0) {
        wf_param_i64(&p, j->expected);
    } else {
        wf_param_text(&p, NULL);
    }
    wf_param_i64(&p, j->token_id);
    enum wf_status s = wf_db_one(db, WF_STMT_IMPORT_ADD, &p, "no run", &rows, err);
    if (s == WF_OK) {
        j->run = wf_rows_i64(rows, 0, 0);
        snprintf(j->run_text, sizeof j->run_text, "%" PRId64, j->run);
        snprintf(j->run_day, sizeof j->run_day, "%s", wf_rows_text(rows, 0, 1));
    }
    wf_rows_free(rows);
    return s;
}

static enum wf_status reserve_tasks(struct wf_db *db,
                                    struct import_job *j,
                                    struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&p, (int64_t)j->count);
    enum wf_status s = wf_db_run(db, WF_STMT_TASK_IDS, &p, &rows, err);
    for (size_t i = 0; s == WF_OK && i < j->count; i++) {
        j->task_ids[i] = wf_rows_i64(rows, i, 0);
    }
    wf_rows_free(rows);
    return s;
}

static enum wf_status find_import(struct wf_db *db,
                                  struct import_job *j,
                                  bool *ret_known,
                                  struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_text(&p, j->digest);
    enum wf_status s = wf_db_run(db, WF_STMT_IMPORT_FIND, &p, &rows, err);
    *ret_known = s == WF_OK && wf_rows_count(rows) > 0;
    if (*ret_known) {
        *j->ret = (struct wf_run_made){ wf_rows_i64(rows, 0, 0),
                                        wf_rows_i64(rows, 0, 1), false };
    }
    wf_rows_free(rows);
    return s;
}

static enum wf_status store(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct import_job *j = ctx;
    struct wf_params tally = WF_PARAMS_INIT;
    bool known = false;
    enum wf_status s = find_import(db, j, &known, err);
    if (s != WF_OK || known) {
        return s;
    }
    s = wf_db_run(db, WF_STMT_ENSURE_MONTHS, NULL, NULL, err);
    s = s == WF_OK ? add_run(db, j, err) : s;
    s = s == WF_OK ? add_cases(db, j, err) : s;
    s = s == WF_OK ? reserve_tasks(db, j, err) : s;
    s = s == WF_OK ? make_lines(db, j, err) : s;
    s = s == WF_OK ? copy_all(db,
                              "COPY task(task_id, run_id, run_case_id, case_key,"
                              " kernel_key, repetition, state) FROM STDIN",
                              &j->tasks, err)
                   : s;
    s = s == WF_OK
            ? copy_all(db,
                       "COPY result(run_day, task_id, run_id, case_key, kernel_key,"
                       " attempt, digest, " WF_RESULT_COLUMNS ") FROM STDIN",
                       &j->rows, err)
            : s;
    s = s == WF_OK ? copy_all(db,
                              "COPY sample(run_day, task_id, " WF_SAMPLE_COLUMNS
                              ") FROM STDIN",
                              &j->samples, err)
                   : s;
    wf_param_i64(&tally, j->run);
    s = s == WF_OK ? wf_db_run(db, WF_STMT_IMPORT_TALLY, &tally, NULL, err) : s;
    if (s == WF_OK) {
        *j->ret = (struct wf_run_made){ j->run, (int64_t)j->count, true };
    }
    return s;
}

static enum wf_status store_import(struct wf_db *db,
                                   struct import_job *j,
                                   struct wf_error *err)
{
    j->case_keys = wf_calloc(2 * j->count, sizeof *j->case_keys);
    j->task_ids = wf_calloc(j->count, sizeof *j->task_ids);
    enum wf_status s =
        j->case_keys && j->task_ids
            ? wf_db_transact(db, store, j, err)
            : wf_errorf(err, WF_ENOMEM, "no memory for %zu results", j->count);
    free(j->case_keys);
    free(j->task_ids);
    wf_buf_free(&j->tasks);
    wf_buf_free(&j->rows);
    wf_buf_free(&j->samples);
    return s;
}

enum wf_status wf_route_import(struct wf_worker *w,
                               struct wf_request *req,
                               struct wf_error *err)
{
    static const char *const keys[] = { "header", "results", "name", NULL };
    struct wf_json *body = NULL;
    struct wf_json *o = NULL;
    struct wf_run_made made = { 0 };
    struct import_job j = { .ret = &made, .token_id = req->token_id };
    enum wf_status s = wf_request_json(req, NULL, keys, &body, err);
    wf_buf_free(&req->body);
    s = s == WF_OK ? read_import(body, &j, err) : s;
    s = s == WF_OK ? store_import(w->db, &j, err) : s;
    wf_json_free(body);
    if (s != WF_OK) {
        return s;
    }
    char id[24];
    snprintf(id, sizeof id, "%" PRId64, made.run);
    snprintf(req->location, sizeof req->location, "/v1/runs/%s", id);
    o = wf_json_object();
    s = wf_json_set_string(o, "run", id, err);
    s = s == WF_OK ? wf_json_set_i64(o, "results", made.tasks, err) : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, made.created ? 201 : 200, o, err);
}
