/* Making a run in one transaction: cases, packs, kernels, shards and tasks. */
#include "coordinator/store_runs.h"

#include "coordinator/run_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    const struct wf_run_request *r;
    const struct wf_shard_plan_input *limits;
    int64_t token_id;
    struct wf_run_made *ret;
    const struct wf_run_more *more; /* NULL: an ordinary run */
    /* Of the attempt that is under way. */
    int64_t run;
    int64_t *case_keys; /* 2 a case */
    int64_t *kernel_keys;
    int64_t *pack_keys;
    double *history_ms;
};

/* --- cases --- */

void wf_case_columns_free(struct wf_case_columns *c)
{
    struct wf_buf *all[] = { &c->id,      &c->op,        &c->label, &c->canonical,
                             &c->dataset, &c->math_type, &c->flops, &c->bytes,
                             &c->name,    &c->measure };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        wf_buf_free(all[i]);
    }
}

enum wf_status wf_case_columns_add(struct wf_case_columns *c,
                                   const struct wf_run_case *item,
                                   struct wf_error *err)
{
    char flops[40], bytes[40];
    snprintf(flops, sizeof flops, "%.17g", item->flops);
    snprintf(bytes, sizeof bytes, "%.17g", item->bytes);
    enum wf_status s = wf_pg_array_add(&c->id, item->id, err);
    s = s == WF_OK ? wf_pg_array_add(&c->op, item->op, err) : s;
    s = s == WF_OK ? wf_pg_array_add(&c->label, item->label, err) : s;
    s = s == WF_OK ? wf_pg_array_add(&c->canonical, item->canonical, err) : s;
    s = s == WF_OK ? wf_pg_array_add(&c->dataset, item->dataset, err) : s;
    s = s == WF_OK ? wf_pg_array_add(&c->math_type, item->math_type, err) : s;
    s = s == WF_OK ? wf_pg_array_add(&c->flops, flops, err) : s;
    s = s == WF_OK ? wf_pg_array_add(&c->bytes, bytes, err) : s;
    s = s == WF_OK ? wf_pg_array_add(&c->name, item->name, err) : s;
    return s == WF_OK
               ? wf_pg_array_add(&c->measure, item->measure ? item->measure : "", err)
               : s;
}

static enum wf_status close_columns(struct wf_case_columns *c, struct wf_error *err)
{
    struct wf_buf *all[] = { &c->id,      &c->op,        &c->label, &c->canonical,
                             &c->dataset, &c->math_type, &c->flops, &c->bytes,
                             &c->name,    &c->measure };
    enum wf_status s = WF_OK;
    for (size_t i = 0; s == WF_OK && i < sizeof all / sizeof all[0]; i++) {
        s = wf_pg_array_end(all[i], err);
    }
    return s;
}

enum wf_status wf_store_cases(struct wf_db *db,
                              int64_t run,
                              struct wf_case_columns *c,
                              size_t n,
                              int64_t *keys,
                              struct wf_error *err)
{
    struct wf_params add = WF_PARAMS_INIT;
    struct wf_params link = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    enum wf_status status = close_columns(c, err);
    const struct wf_buf *all[] = { &c->id,      &c->op,        &c->label, &c->canonical,
                                   &c->dataset, &c->math_type, &c->flops, &c->bytes };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        wf_param_text(&add, wf_buf_cstr(all[i]));
    }
    if (status == WF_OK) {
        status = wf_db_run(db, WF_STMT_CASES_ADD, &add, NULL, err);
    }
    if (status == WF_OK) {
        wf_param_i64(&link, run);
        wf_param_text(&link, wf_buf_cstr(&c->id));
        wf_param_text(&link, wf_buf_cstr(&c->name));
        wf_param_text(&link, wf_buf_cstr(&c->measure));
        status = wf_db_run(db, WF_STMT_RUN_CASES_ADD, &link, &rows, err);
    }
    if (status == WF_OK && wf_rows_count(rows) != n) {
        status = wf_errorf(err, WF_EINTERNAL, "%zu cases became %zu rows", n,
                           wf_rows_count(rows));
    }
    for (size_t i = 0; status == WF_OK && i < n; i++) {
        size_t ordinal = (size_t)wf_rows_i64(rows, i, 0);
        keys[2 * ordinal] = wf_rows_i64(rows, i, 1);
        keys[2 * ordinal + 1] = wf_rows_i64(rows, i, 2);
    }
    wf_rows_free(rows);
    return status;
}

static enum wf_status add_cases(struct wf_db *db, struct job *j, struct wf_error *err)
{
    struct wf_case_columns c = { 0 };
    enum wf_status status = WF_OK;
    for (size_t i = 0; status == WF_OK && i < j->r->case_count; i++) {
        status = wf_case_columns_add(&c, &j->r->cases[i], err);
    }
    if (status == WF_OK) {
        status = wf_store_cases(db, j->run, &c, j->r->case_count, j->case_keys, err);
    }
    wf_case_columns_free(&c);
    return status;
}

/* --- the run, its packs and kernels --- */

/* *ret_known: the run is there already. */
static enum wf_status find_request(struct wf_db *db,
                                   struct job *j,
                                   bool *ret_known,
                                   struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_text(&p, j->r->request_id);
    wf_param_text(&p, j->r->digest);
    enum wf_status status = wf_db_run(db, WF_STMT_RUN_BY_REQUEST, &p, &rows, err);
    *ret_known = status == WF_OK && wf_rows_count(rows) > 0;
    if (*ret_known && !wf_rows_bool(rows, 0, 2)) {
        status =
            wf_errorf(err, WF_ECONFLICT,
                      "request_id %s was used for another run (%s): make a new one",
                      j->r->request_id, wf_rows_text(rows, 0, 0));
    } else if (*ret_known) {
        *j->ret = (struct wf_run_made){ wf_rows_i64(rows, 0, 0),
                                        wf_rows_i64(rows, 0, 1), false };
    }
    wf_rows_free(rows);
    return status;
}

static enum wf_status blobs_there(struct wf_db *db,
                                  const struct wf_run_request *r,
                                  struct wf_error *err)
{
    struct wf_buf list = WF_BUF_INIT;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    enum wf_status status = WF_OK;
    for (size_t i = 0; status == WF_OK && i < r->pack_count; i++) {
        status = wf_pg_array_add(&list, r->packs[i].archive, err);
    }
    for (size_t i = 0; status == WF_OK && i < r->case_count; i++) {
        /* Cases in a row mostly share their dataset. */
        const char *d = r->cases[i].dataset;
        if (*d && (i == 0 || strcmp(d, r->cases[i - 1].dataset) != 0)) {
            status = wf_pg_array_add(&list, d, err);
        }
    }
    status = status == WF_OK ? wf_pg_array_end(&list, err) : status;
    if (status == WF_OK) {
        wf_param_text(&p, wf_buf_cstr(&list));
        status = wf_db_run(db, WF_STMT_BLOBS_ABSENT, &p, &rows, err);
    }
    if (status == WF_OK && wf_rows_count(rows) > 0) {
        status = wf_errorf(err, WF_EINVAL,
                           "%zu blob%s of the run %s not here, the first is %s: PUT "
                           "/v1/blobs/<sha256> first",
                           wf_rows_count(rows), wf_rows_count(rows) == 1 ? "" : "s",
                           wf_rows_count(rows) == 1 ? "is" : "are",
                           wf_rows_text(rows, 0, 0));
    }
    wf_rows_free(rows);
    wf_buf_free(&list);
    return status;
}

static int64_t deadline_ms(const struct wf_run_request *r)
{
    int64_t least = 600000;
    int64_t budget_ms = 0;
    for (size_t i = 0; i < r->case_count; i++) {
        int64_t one = r->cases[i].budget_ms;
        budget_ms = one > budget_ms ? one : budget_ms;
    }
    int64_t wanted = 20 * budget_ms + 60000;
    return wanted > least ? wanted : least;
}

static enum wf_status add_run(struct wf_db *db, struct job *j, struct wf_error *err)
{
    const struct wf_run_request *r = j->r;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_text(&p, r->request_id);
    wf_param_text(&p, r->digest);
    wf_param_text(&p, j->more ? "gate" : "farm");
    wf_param_text(&p, r->name);
    wf_param_text(&p, r->suite);
    wf_param_i64(&p, r->priority);
    wf_param_i64(&p, (int64_t)r->task_count);
    wf_param_i64(&p, r->repetitions);
    wf_param_i64(&p, r->seed_offset);
    wf_param_text(&p, r->selector);
    wf_param_text(&p, r->measure);
    wf_param_i64(&p, deadline_ms(r));
    wf_param_i64(&p, j->token_id);
    enum wf_status status = wf_db_one(db, WF_STMT_RUN_ADD, &p, "no run", &rows, err);
    if (status == WF_OK) {
        j->run = wf_rows_i64(rows, 0, 0);
    }
    wf_rows_free(rows);
    return status;
}

static enum wf_status add_packs(struct wf_db *db, struct job *j, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; status == WF_OK && i < j->r->pack_count; i++) {
        const struct wf_run_pack *pack = &j->r->packs[i];
        struct wf_params p = WF_PARAMS_INIT;
        struct wf_params link = WF_PARAMS_INIT;
        wf_param_text(&p, wf_pack_id(pack->pack));
        wf_param_text(&p, wf_pack_name(pack->pack));
        wf_param_text(&p, pack->manifest);
        status = wf_db_one_i64(db, WF_STMT_PACK_ADD, &p, &j->pack_keys[i], err);
        wf_param_i64(&link, j->run);
        wf_param_i64(&link, j->pack_keys[i]);
        wf_param_text(&link, pack->archive);
        wf_param_text(&link, pack->provenance);
        status = status == WF_OK ? wf_db_run(db, WF_STMT_RUN_PACK_ADD, &link, NULL, err)
                                 : status;
    }
    return status;
}

static enum wf_status add_kernels(struct wf_db *db, struct job *j, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; status == WF_OK && i < j->r->kernel_count; i++) {
        const struct wf_pack_kernel *k = j->r->kernels[i].kernel;
        struct wf_buf archs = WF_BUF_INIT;
        struct wf_params p = WF_PARAMS_INIT;
        for (size_t a = 0; status == WF_OK && a < k->arch_count; a++) {
            status = wf_pg_array_add(&archs, k->arch[a], err);
        }
        status = status == WF_OK ? wf_pg_array_end(&archs, err) : status;
        wf_param_i64(&p, j->pack_keys[j->r->kernels[i].pack]);
        wf_param_text(&p, k->name);
        wf_param_text(&p, k->op);
        wf_param_text(&p, wf_buf_cstr(&archs));
        wf_param_text(&p, k->source ? k->source : "");
        status = status == WF_OK ? wf_db_one_i64(db, WF_STMT_KERNEL_ADD, &p,
                                                 &j->kernel_keys[i], err)
                                 : status;
        wf_buf_free(&archs);
    }
    return status;
}

/* --- estimates --- */

static enum wf_status read_history(struct wf_db *db,
                                   struct job *j,
                                   struct wf_error *err)
{
    struct wf_buf kernels = WF_BUF_INIT;
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    enum wf_status status = WF_OK;
    for (size_t i = 0; status == WF_OK && i < j->r->kernel_count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%" PRId64, j->kernel_keys[i]);
        status = wf_pg_array_add(&kernels, text, err);
    }
    status = status == WF_OK ? wf_pg_array_end(&kernels, err) : status;
    wf_param_i64(&p, j->run);
    wf_param_text(&p, wf_buf_cstr(&kernels));
    wf_param_text(&p, j->r->model);
    if (status == WF_OK) {
        status = wf_db_run(db, WF_STMT_RUN_HISTORY, &p, &rows, err);
    }
    for (size_t i = 0; status == WF_OK && i < wf_rows_count(rows); i++) {
        size_t at = (size_t)wf_rows_i64(rows, i, 0) * j->r->kernel_count +
                    (size_t)wf_rows_i64(rows, i, 1);
        j->history_ms[at] = wf_rows_f64(rows, i, 2);
    }
    wf_rows_free(rows);
    wf_buf_free(&kernels);
    return status;
}

static enum wf_status live_devices(struct wf_db *db,
                                   const struct wf_run_request *r,
                                   size_t *ret,
                                   struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    int64_t n = 0;
    wf_param_text(&p, r->runtime);
    wf_param_text(&p, r->arch);
    wf_param_text(&p, r->model);
    wf_param_text(&p, wf_buf_cstr(&r->labels));
    enum wf_status status = wf_db_one_i64(db, WF_STMT_LIVE_DEVICES, &p, &n, err);
    if (status == WF_OK) {
        *ret = (size_t)n;
    }
    return status;
}

/* --- shards and tasks --- */

static enum wf_status shard_ids(struct wf_db *db,
                                size_t n,
                                int64_t *ids,
                                struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&p, (int64_t)n);
    enum wf_status status = wf_db_run(db, WF_STMT_SHARD_IDS, &p, &rows, err);
    for (size_t i = 0; status == WF_OK && i < n; i++) {
        ids[i] = wf_rows_i64(rows, i, 0);
    }
    wf_rows_free(rows);
    return status;
}

static enum wf_status copy_lines(struct wf_db *db,
                                 const char *sql,
                                 const struct wf_buf *lines,
                                 struct wf_error *err)
{
    enum wf_status status = wf_db_copy_begin(db, sql, err);
    if (status == WF_OK) {
        status = wf_db_copy_data(db, lines, err);
    }
    return status == WF_OK ? wf_db_copy_end(db, NULL, err) : status;
}

static enum wf_status add_shards(struct wf_db *db,
                                 const struct job *j,
                                 const struct wf_run_plan *plan,
                                 const int64_t *ids,
                                 struct wf_error *err)
{
    struct wf_buf lines = WF_BUF_INIT;
    enum wf_status s = WF_OK;
    for (size_t i = 0; s == WF_OK && i < plan->shard_count; i++) {
        const struct wf_plan_shard *shard = &plan->shard[i];
        struct wf_buf archs = WF_BUF_INIT;
        s = wf_run_plan_archs(j->r, shard->kernel_index, &archs, err);
        s = s == WF_OK ? wf_copy_i64(&lines, ids[i], err) : s;
        s = s == WF_OK ? wf_copy_i64(&lines, j->run, err) : s;
        s = s == WF_OK ? wf_copy_i64(&lines, j->r->priority, err) : s;
        s = s == WF_OK ? wf_copy_text(&lines, j->r->runtime, err) : s;
        s = s == WF_OK ? wf_copy_text(&lines, wf_buf_cstr(&archs), err) : s;
        s = s == WF_OK ? wf_copy_text(&lines, j->r->model, err) : s;
        s = s == WF_OK ? wf_copy_text(&lines, wf_buf_cstr(&j->r->labels), err) : s;
        s = s == WF_OK ? wf_copy_i64(&lines, (int64_t)shard->memory_bytes, err) : s;
        s = s == WF_OK ? wf_copy_i64(&lines, shard->estimate_ms, err) : s;
        s = s == WF_OK ? wf_copy_i64(&lines, shard->open_tasks, err) : s;
        s = s == WF_OK ? wf_copy_end_row(&lines, err) : s;
        wf_buf_free(&archs);
    }
    s = s == WF_OK ? copy_lines(db,
                                "COPY shard(shard_id, run_id, priority, runtime, archs,"
                                " model, labels, memory_bytes, estimate_ms, open_tasks)"
                                " FROM STDIN",
                                &lines, err)
                   : s;
    wf_buf_free(&lines);
    return s;
}

static enum wf_status add_tasks(struct wf_db *db,
                                const struct job *j,
                                const struct wf_run_plan *plan,
                                const int64_t *ids,
                                struct wf_error *err)
{
    struct wf_buf lines = WF_BUF_INIT;
    enum wf_status s = wf_db_copy_begin(
        db,
        "COPY task(run_id, shard_id, run_case_id, case_key, kernel_key, repetition,"
        " estimate_ms) FROM STDIN",
        err);
    for (size_t i = 0; s == WF_OK && i < plan->task_count; i++) {
        const struct wf_plan_task *t = &plan->task[i];
        const int64_t *keys = &j->case_keys[2 * (size_t)t->case_index];
        s = wf_copy_i64(&lines, j->run, err);
        s = s == WF_OK ? wf_copy_i64(&lines, ids[plan->packed[i].shard], err) : s;
        s = s == WF_OK ? wf_copy_i64(&lines, keys[0], err) : s;
        s = s == WF_OK ? wf_copy_i64(&lines, keys[1], err) : s;
        s = s == WF_OK ? wf_copy_i64(&lines, j->kernel_keys[t->kernel_index], err) : s;
        s = s == WF_OK ? wf_copy_i64(&lines, t->repetition, err) : s;
        s = s == WF_OK ? wf_copy_i64(&lines, plan->packed[i].estimate_ms, err) : s;
        s = s == WF_OK ? wf_copy_end_row(&lines, err) : s;
        if (s == WF_OK && lines.len > 1u << 16) {
            s = wf_db_copy_data(db, &lines, err);
            wf_buf_clear(&lines);
        }
    }
    s = s == WF_OK ? wf_db_copy_data(db, &lines, err) : s;
    s = s == WF_OK ? wf_db_copy_end(db, NULL, err) : s;
    if (s != WF_OK && s != WF_EDB) {
        wf_db_disconnect(db); /* out of the COPY that was left in the middle */
    }
    wf_buf_free(&lines);
    return s;
}

static enum wf_status add_work(struct wf_db *db, struct job *j, struct wf_error *err)
{
    struct wf_run_plan plan = { 0 };
    struct wf_shard_plan_input limits = *j->limits;
    int64_t *ids = NULL;
    enum wf_status status = live_devices(db, j->r, &limits.live_devices, err);
    if (status == WF_OK) {
        status = wf_run_plan_make(j->r, j->history_ms, &limits, &plan, err);
    }
    if (status == WF_OK) {
        ids = wf_calloc(plan.shard_count, sizeof *ids);
        status = ids ? shard_ids(db, plan.shard_count, ids, err)
                     : wf_errorf(err, WF_ENOMEM, "no memory");
    }
    status = status == WF_OK ? add_shards(db, j, &plan, ids, err) : status;
    status = status == WF_OK ? add_tasks(db, j, &plan, ids, err) : status;
    wf_run_plan_free(&plan);
    free(ids);
    return status;
}

static enum wf_status store(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct job *j = ctx;
    bool known = false;
    enum wf_status status = find_request(db, j, &known, err);
    if (status != WF_OK || known) {
        return status;
    }
    memset(j->history_ms, 0,
           j->r->case_count * j->r->kernel_count * sizeof *j->history_ms);
    status = blobs_there(db, j->r, err);
    status = status == WF_OK ? wf_db_run(db, WF_STMT_ENSURE_MONTHS, NULL, NULL, err)
                             : status;
    status = status == WF_OK ? add_run(db, j, err) : status;
    if (j->more) {
        status = status == WF_OK ? j->more->add(db, j->run, j->more->ctx, err) : status;
        *j->ret = (struct wf_run_made){ j->run, 0, true };
        return status;
    }
    status = status == WF_OK ? add_cases(db, j, err) : status;
    status = status == WF_OK ? add_packs(db, j, err) : status;
    status = status == WF_OK ? add_kernels(db, j, err) : status;
    status = status == WF_OK ? read_history(db, j, err) : status;
    status = status == WF_OK ? add_work(db, j, err) : status;
    if (status == WF_OK) {
        *j->ret = (struct wf_run_made){ j->run, (int64_t)j->r->task_count, true };
    }
    return status;
}

static void free_job(struct job *j)
{
    free(j->case_keys);
    free(j->kernel_keys);
    free(j->pack_keys);
    free(j->history_ms);
}

static enum wf_status alloc_job(struct job *j, struct wf_error *err)
{
    const struct wf_run_request *r = j->r;
    j->case_keys = wf_calloc(2 * r->case_count, sizeof *j->case_keys);
    j->kernel_keys = wf_calloc(r->kernel_count, sizeof *j->kernel_keys);
    j->pack_keys = wf_calloc(r->pack_count, sizeof *j->pack_keys);
    j->history_ms = wf_calloc(r->case_count * r->kernel_count, sizeof *j->history_ms);
    return j->case_keys && j->kernel_keys && j->pack_keys && j->history_ms
               ? WF_OK
               : wf_errorf(err, WF_ENOMEM, "no memory for a run");
}

static enum wf_status store_job(struct wf_db *db, struct job *j, struct wf_error *err)
{
    struct wf_error local = { 0 };
    enum wf_status status = alloc_job(j, &local);
    if (status == WF_OK) {
        status = wf_db_transact(db, store, j, &local);
        /* Two requests with one id at once: the second finds the first one's row. */
        if (status == WF_EDB && strcmp(local.domain, "sqlstate:23505") == 0) {
            status = wf_db_transact(db, store, j, &local);
        }
    }
    if (status != WF_OK && err) {
        *err = local;
    }
    free_job(j);
    return status;
}

enum wf_status wf_store_run(struct wf_db *db,
                            const struct wf_run_request *r,
                            const struct wf_shard_plan_input *limits,
                            int64_t token_id,
                            struct wf_run_made *ret,
                            struct wf_error *err)
{
    struct job j = { .r = r, .limits = limits, .token_id = token_id, .ret = ret };
    return store_job(db, &j, err);
}

enum wf_status wf_store_gate_run(struct wf_db *db,
                                 const struct wf_run_request *r,
                                 const struct wf_run_more *more,
                                 int64_t token_id,
                                 struct wf_run_made *ret,
                                 struct wf_error *err)
{
    struct job j = { .r = r, .more = more, .token_id = token_id, .ret = ret };
    return store_job(db, &j, err);
}

enum wf_status wf_store_run_parts(struct wf_db *db,
                                  int64_t run,
                                  const struct wf_run_request *r,
                                  struct wf_run_keys *ret,
                                  struct wf_error *err)
{
    struct job j = { .r = r, .run = run };
    enum wf_status status = alloc_job(&j, err);
    status = status == WF_OK ? add_cases(db, &j, err) : status;
    status = status == WF_OK ? add_packs(db, &j, err) : status;
    status = status == WF_OK ? add_kernels(db, &j, err) : status;
    if (status == WF_OK) {
        *ret = (struct wf_run_keys){ j.case_keys, j.kernel_keys };
        j.case_keys = NULL;
        j.kernel_keys = NULL;
    }
    free_job(&j);
    return status;
}
