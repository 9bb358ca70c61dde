/* The next rounds: for each group that waits for nothing, one shard on the group's
 * device with a task for every pair that is still open, in the drawn order, and one for
 * the round's facts. */
#include "coordinator/farm_gate.h"

#include "core/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAIR_MS 3000 /* a pair keeps its device busy about so long */

struct columns {
    struct wf_buf run_case, case_key, kernel_key;
};

static enum wf_status add_task(struct columns *c,
                               const struct wf_farm_pair *p,
                               struct wf_error *err)
{
    const int64_t keys[] = { p->run_case, p->case_key, p->kernel_key };
    struct wf_buf *const to[] = { &c->run_case, &c->case_key, &c->kernel_key };
    enum wf_status s = WF_OK;
    for (size_t i = 0; s == WF_OK && i < sizeof keys / sizeof keys[0]; i++) {
        char text[24];
        snprintf(text, sizeof text, "%" PRId64, keys[i]);
        s = wf_pg_array_add(to[i], text, err);
    }
    return s;
}

static enum wf_status end_columns(struct columns *c, struct wf_error *err)
{
    enum wf_status s = wf_pg_array_end(&c->run_case, err);
    s = s == WF_OK ? wf_pg_array_end(&c->case_key, err) : s;
    return s == WF_OK ? wf_pg_array_end(&c->kernel_key, err) : s;
}

static enum wf_status add_shard(struct wf_db *db,
                                const struct wf_farm_gate *f,
                                int group,
                                int32_t round,
                                size_t pairs,
                                int64_t *ret,
                                struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    wf_param_i64(&p, f->run);
    wf_param_i64(&p, f->priority);
    wf_param_i64(&p, group);
    wf_param_i64(&p, round);
    wf_param_i64(&p, (int64_t)pairs * PAIR_MS);
    wf_param_i64(&p, (int64_t)pairs + 1);
    return wf_db_one_i64(db, WF_STMT_GATE_ROUND_SHARD, &p, ret, err);
}

static enum wf_status add_tasks(struct wf_db *db,
                                const struct wf_farm_gate *f,
                                int64_t shard,
                                int32_t round,
                                struct columns *c,
                                int64_t *ret_first,
                                struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    enum wf_status s = end_columns(c, err);
    wf_param_i64(&p, f->run);
    wf_param_i64(&p, shard);
    wf_param_i64(&p, round);
    wf_param_i64(&p, PAIR_MS);
    wf_param_text(&p, wf_buf_cstr(&c->run_case));
    wf_param_text(&p, wf_buf_cstr(&c->case_key));
    wf_param_text(&p, wf_buf_cstr(&c->kernel_key));
    s = s == WF_OK ? wf_db_run(db, WF_STMT_GATE_ROUND_TASKS, &p, &rows, err) : s;
    *ret_first = INT64_MAX;
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        int64_t id = wf_rows_i64(rows, i, 0);
        *ret_first = id < *ret_first ? id : *ret_first;
    }
    wf_rows_free(rows);
    return s;
}

static enum wf_status add_round(struct wf_db *db,
                                const struct wf_farm_gate *f,
                                int group,
                                int32_t round,
                                int64_t first_task,
                                struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    wf_param_i64(&p, f->run);
    wf_param_i64(&p, group);
    wf_param_i64(&p, round);
    wf_param_i64(&p, first_task);
    return wf_db_run(db, WF_STMT_GATE_ROUND_ADD, &p, NULL, err);
}

static enum wf_status start_round(struct wf_db *db,
                                  const struct wf_farm_gate *f,
                                  int group,
                                  int32_t round,
                                  const struct wf_gate_todo *todo,
                                  size_t n,
                                  struct wf_error *err)
{
    struct columns c = { WF_BUF_INIT, WF_BUF_INIT, WF_BUF_INIT };
    int64_t shard = 0, first = 0;
    enum wf_status s = add_shard(db, f, group, round, n, &shard, err);
    for (size_t i = 0; s == WF_OK && i < n; i++) {
        s = add_task(&c, &f->pair[todo[i].pair], err);
    }
    s = s == WF_OK ? add_task(&c, &f->round_case[group], err) : s;
    s = s == WF_OK ? add_tasks(db, f, shard, round, &c, &first, err) : s;
    s = s == WF_OK ? add_round(db, f, group, round, first, err) : s;
    wf_buf_free(&c.run_case);
    wf_buf_free(&c.case_key);
    wf_buf_free(&c.kernel_key);
    return s;
}

static enum wf_status open_groups(struct wf_db *db,
                                  const struct wf_farm_gate *f,
                                  bool *busy,
                                  int *ret_open,
                                  struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&p, f->run);
    enum wf_status s = wf_db_run(db, WF_STMT_GATE_OPEN_ROUNDS, &p, &rows, err);
    *ret_open = s == WF_OK ? (int)wf_rows_count(rows) : 0;
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        int64_t group = wf_rows_i64(rows, i, 0);
        busy[group < f->groups ? group : 0] = true;
    }
    wf_rows_free(rows);
    return s;
}

enum wf_status wf_farm_gate_next(struct wf_db *db,
                                 struct wf_farm_gate *f,
                                 struct wf_farm_next *ret,
                                 struct wf_error *err)
{
    size_t pairs = wf_gate_record_count(f->record);
    struct wf_gate_todo *todo = wf_calloc(pairs + 1, sizeof *todo);
    bool *busy = wf_calloc((size_t)f->groups + 1, sizeof *busy);
    enum wf_status s =
        todo && busy ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a round");
    *ret = (struct wf_farm_next){ 0, 0 };
    s = s == WF_OK ? open_groups(db, f, busy, &ret->open_rounds, err) : s;
    for (int g = 0; s == WF_OK && g < f->groups; g++) {
        int32_t round = 0;
        size_t n = 0;
        if (busy[g]) {
            continue;
        }
        int64_t start = wf_thread_cpu_ns();
        s = wf_gate_record_next(f->record, g, &round, todo, &n, err);
        f->decide_ns += wf_thread_cpu_ns() - start;
        if (s == WF_OK && n > 0) {
            s = start_round(db, f, g, round, todo, n, err);
            ret->tasks += (int64_t)n + 1;
            ret->open_rounds++;
        }
    }
    free(todo);
    free(busy);
    return s;
}
