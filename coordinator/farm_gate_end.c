/* The end of a round: each pair's record is read once, what verdicts rest on becomes a
 * row of gate_block, and the round gets its line.
 *
 * A pair whose runners failed three times gets a line that says so; one that was
 * cancelled gets none. */
#include "coordinator/farm_gate.h"

#include "coordinator/gate_line.h"
#include "core/clock.h"
#include "core/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GATE_ROUND_RESULTS of statements.def. */
enum column {
    C_ORDINAL,
    C_TASK,
    C_ANSWER,
    C_ANSWER_TEXT,
    C_BODY,
    C_KEY
};

struct ending {
    struct wf_farm_gate *f;
    int group;
    int32_t round;
    const char *cut;     /* why it ends early; NULL: it is through */
    struct wf_buf lines; /* COPY */
    const char *facts;   /* the round's, as stored; "" none */
};

/* --- one pair --- */

static enum wf_status set_lost_arm(const struct wf_gate_pair *pair,
                                   int arm,
                                   const char *why,
                                   struct wf_json *o,
                                   struct wf_error *err)
{
    static const char *const names[] = { "base", "candidate" };
    if (!pair->kernel[arm]) {
        return wf_json_set_null(o, names[arm], err);
    }
    struct wf_json *a = wf_json_object();
    enum wf_status s = wf_json_set_string(a, "answer", "LOST", err);
    s = s == WF_OK ? wf_json_set_string(a, "answer_text", why, err) : s;
    enum wf_status taken = wf_json_set_take(o, names[arm], a, err);
    return s == WF_OK ? taken : s;
}

static enum wf_status lost_record(const struct ending *e,
                                  size_t pair,
                                  const char *why,
                                  struct wf_buf *ret,
                                  struct wf_error *err)
{
    const struct wf_gate_pair *p = wf_gate_record_pair(e->f->record, pair);
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_string(o, "kind", "pair", err);
    s = s == WF_OK ? wf_json_set_string(o, "gate", e->f->gate, err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "round", e->round, err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "group", e->group, err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "pair", p->key, err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "launches", 0, err) : s;
    s = s == WF_OK ? set_lost_arm(p, 0, why, o, err) : s;
    s = s == WF_OK ? set_lost_arm(p, 1, why, o, err) : s;
    s = s == WF_OK ? wf_json_set_take(o, "blocks", wf_json_array(), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "note", why, err) : s;
    s = s == WF_OK ? wf_json_set_take(o, "phases", wf_json_object(), err) : s;
    s = s == WF_OK ? wf_json_write(o, ret, err) : s;
    wf_json_free(o);
    return s;
}

static enum wf_status add_arrays(const struct wf_gate_line *l,
                                 struct wf_buf *line,
                                 struct wf_error *err)
{
    struct wf_buf mask = WF_BUF_INIT, rejected = WF_BUF_INIT, y = WF_BUF_INIT;
    enum wf_status s = WF_OK;
    char text[40];
    for (size_t b = 0; s == WF_OK && b < l->block_count; b++) {
        snprintf(text, sizeof text, "%u", l->block[b].mask);
        s = wf_pg_array_add(&mask, text, err);
        s = s == WF_OK
                ? wf_pg_array_add(&rejected, l->block[b].rejected ? "t" : "f", err)
                : s;
        for (unsigned i = 0; s == WF_OK && i < WF_GATE_SLOTS; i++) {
            snprintf(text, sizeof text, "%.17g", l->block[b].y[i]);
            s = wf_pg_array_add(&y, text, err);
        }
    }
    struct wf_buf *const all[] = { &mask, &rejected, &y };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        s = s == WF_OK && l->block_count > 0 ? wf_pg_array_end(all[i], err) : s;
        s = s == WF_OK ? wf_copy_text(
                             line, l->block_count > 0 ? wf_buf_cstr(all[i]) : "{}", err)
                       : s;
        wf_buf_free(all[i]);
    }
    return s;
}

static enum wf_status add_row(struct ending *e,
                              size_t pair,
                              const char *task,
                              const struct wf_gate_line *l,
                              const char *body,
                              struct wf_error *err)
{
    struct wf_buf *line = &e->lines;
    const int64_t numbers[] = { e->f->run, ++e->f->lines, e->f->seq + 1,
                                e->group,  e->round,      (int64_t)pair };
    enum wf_status s = WF_OK;
    for (size_t i = 0; s == WF_OK && i < sizeof numbers / sizeof numbers[0]; i++) {
        s = wf_copy_i64(line, numbers[i], err);
    }
    s = s == WF_OK ? wf_copy_text(line, task, err) : s;
    s = s == WF_OK ? wf_copy_text(line, l->answer[0], err) : s;
    s = s == WF_OK ? wf_copy_text(line, l->answer[1], err) : s;
    s = s == WF_OK ? add_arrays(l, line, err) : s;
    s = s == WF_OK ? wf_copy_text(line, body, err) : s;
    return s == WF_OK ? wf_copy_end_row(line, err) : s;
}

/* Into the state: a record that the seed, the round or the header does not allow is
 * refused here. */
static enum wf_status take(struct ending *e,
                           size_t pair,
                           const struct wf_gate_line *l,
                           struct wf_error *err)
{
    return wf_gate_record_take_pair(e->f->record, pair, e->round, l->answer, l->block,
                                    (int)l->block_count, err);
}

static enum wf_status add_lost(struct ending *e,
                               size_t pair,
                               const char *task,
                               const char *why,
                               struct wf_error *err)
{
    const struct wf_gate_pair *p = wf_gate_record_pair(e->f->record, pair);
    struct wf_gate_line l = { .pair = p->key };
    struct wf_buf body = WF_BUF_INIT;
    l.answer[0] = p->kernel[0] ? "LOST" : "";
    l.answer[1] = p->kernel[1] ? "LOST" : "";
    enum wf_status s = take(e, pair, &l, err);
    s = s == WF_OK ? lost_record(e, pair, why, &body, err) : s;
    s = s == WF_OK ? add_row(e, pair, task, &l, wf_buf_cstr(&body), err) : s;
    wf_buf_free(&body);
    return s;
}

static enum wf_status add_pair(struct ending *e,
                               const struct wf_rows *rows,
                               size_t i,
                               struct wf_error *err)
{
    size_t pair = (size_t)wf_rows_i64(rows, i, C_ORDINAL);
    const char *task = wf_rows_text(rows, i, C_TASK);
    const char *body = wf_rows_text(rows, i, C_BODY);
    struct wf_json *json = NULL;
    struct wf_gate_line l;
    struct wf_error bad = { 0 };
    if (!*body) {
        bool lost = strcmp(wf_rows_text(rows, i, C_ANSWER), "LOST") == 0;
        return lost ? add_lost(e, pair, task, wf_rows_text(rows, i, C_ANSWER_TEXT), err)
                    : WF_OK;
    }
    enum wf_status s = wf_json_parse(body, strlen(body), "stored record", &json, &bad);
    s = s == WF_OK ? wf_gate_line_read(json, &l, &bad) : s;
    s = s == WF_OK ? take(e, pair, &l, &bad) : s;
    if (s == WF_OK) {
        s = add_row(e, pair, task, &l, NULL, err);
    } else if (s == WF_EINVAL) {
        wf_log(WF_LOG_WARN, "gate %" PRId64 " round %d: a record is not good: %s",
               e->f->run, e->round, bad.text);
        s = add_lost(e, pair, task, bad.text, err);
    } else if (err) {
        *err = bad;
    }
    wf_json_free(json);
    return s;
}

/* --- the round's line --- */

static enum wf_status made_line(const struct ending *e,
                                const struct wf_rows *groups,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_string(o, "kind", "round", err);
    s = s == WF_OK ? wf_json_set_string(o, "gate", e->f->gate, err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "round", e->round, err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "group", e->group, err) : s;
    s = s == WF_OK ? wf_json_set_parsed(o, "device",
                                        wf_rows_text(groups, (size_t)e->group, 4), err)
                   : s;
    s = s == WF_OK ? wf_json_set_take(o, "environment", wf_json_object(), err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "took_ns", 0, err) : s;
    if (s == WF_OK) {
        s = wf_json_set_string(o, "note",
                               e->cut ? e->cut : "the round's facts were lost", err);
    }
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    *ret = o;
    return WF_OK;
}

/* Where the group is measured, and where it was before. */
static enum wf_status set_place(const struct ending *e,
                                const struct wf_rows *groups,
                                struct wf_json *o,
                                struct wf_error *err)
{
    size_t g = (size_t)e->group;
    const char *moves = wf_rows_text(groups, g, 5);
    enum wf_status s = wf_json_set_string(o, "runner", wf_rows_text(groups, g, 1), err);
    return s == WF_OK && strcmp(moves, "[]") != 0
               ? wf_json_set_parsed(o, "moves", moves, err)
               : s;
}

static enum wf_status store_line(struct wf_db *db,
                                 const struct ending *e,
                                 const struct wf_json *o,
                                 struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_buf text = WF_BUF_INIT;
    const char *void_why = wf_json_string(wf_json_find(o, "void"));
    enum wf_status s = wf_json_write(o, &text, err);
    wf_param_i64(&p, e->f->run);
    wf_param_i64(&p, e->group);
    wf_param_i64(&p, e->round);
    wf_param_i64(&p, e->f->seq + 1);
    wf_param_i64(&p, ++e->f->lines);
    wf_param_text(&p, void_why);
    wf_param_text(&p, wf_buf_cstr(&text));
    s = s == WF_OK ? wf_db_run(db, WF_STMT_GATE_ROUND_END, &p, NULL, err) : s;
    wf_buf_free(&text);
    return s;
}

/* The device's level moved against the rounds before: what it measured now does not
 * count (docs/gate.md). */
static enum wf_status set_void(const struct ending *e,
                               struct wf_json *o,
                               struct wf_error *err)
{
    char why[256] = "";
    const char *said = wf_json_string(wf_json_find(o, "void"));
    if (said && *said) {
        return WF_OK;
    }
    (void)wf_gate_record_level_is_off(e->f->record, e->group, why, sizeof why);
    return wf_json_set_string(o, "void", why, err);
}

static enum wf_status end_line(struct wf_db *db,
                               const struct ending *e,
                               struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *groups = NULL;
    struct wf_json *o = NULL;
    wf_param_i64(&p, e->f->run);
    enum wf_status s = wf_db_run(db, WF_STMT_GATE_GROUPS, &p, &groups, err);
    if (s == WF_OK && (size_t)e->group >= wf_rows_count(groups)) {
        s = wf_errorf(err, WF_EINTERNAL, "gate %" PRId64 " has no group %d", e->f->run,
                      e->group);
    }
    if (s == WF_OK && *e->facts) {
        s = wf_json_parse(e->facts, strlen(e->facts), "stored round", &o, err);
    } else if (s == WF_OK) {
        s = made_line(e, groups, &o, err);
    }
    s = s == WF_OK ? set_place(e, groups, o, err) : s;
    s = s == WF_OK ? set_void(e, o, err) : s;
    s = s == WF_OK ? store_line(db, e, o, err) : s;
    if (s == WF_OK) {
        const char *why = wf_json_string(wf_json_find(o, "void"));
        int64_t start = wf_thread_cpu_ns();
        s = wf_gate_record_take_round(e->f->record, e->group, e->round, *why != '\0',
                                      err);
        e->f->decide_ns += wf_thread_cpu_ns() - start;
    }
    wf_json_free(o);
    wf_rows_free(groups);
    return s;
}

/* --- all of it --- */

static enum wf_status copy_rows(struct wf_db *db,
                                const struct wf_buf *lines,
                                struct wf_error *err)
{
    if (lines->len == 0) {
        return WF_OK;
    }
    enum wf_status s = wf_db_copy_begin(
        db,
        "COPY gate_block(run_id, line, seq, grp, round, ordinal, task_id, base_answer,"
        " candidate_answer, mask, rejected, y, body) FROM STDIN",
        err);
    s = s == WF_OK ? wf_db_copy_data(db, lines, err) : s;
    return s == WF_OK ? wf_db_copy_end(db, NULL, err) : s;
}

static enum wf_status end_round(struct wf_db *db,
                                struct ending *e,
                                const char *first_task,
                                struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&p, e->f->run);
    wf_param_i64(&p, e->group);
    wf_param_i64(&p, e->round);
    wf_param_text(&p, first_task);
    wf_param_text(&p, e->f->run_day);
    enum wf_status s = wf_db_run(db, WF_STMT_GATE_ROUND_RESULTS, &p, &rows, err);
    e->facts = "";
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        if (wf_rows_null(rows, i, C_ORDINAL)) {
            e->facts = wf_rows_text(rows, i, C_BODY);
        } else {
            s = add_pair(e, rows, i, err);
        }
    }
    s = s == WF_OK ? copy_rows(db, &e->lines, err) : s;
    s = s == WF_OK ? end_line(db, e, err) : s;
    wf_rows_free(rows);
    return s;
}

enum wf_status wf_farm_gate_end_rounds(struct wf_db *db,
                                       struct wf_farm_gate *f,
                                       const char *cut,
                                       struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&p, f->run);
    enum wf_status s = wf_db_run(db, WF_STMT_GATE_ROUNDS_OVER, &p, &rows, err);
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        struct ending e = { .f = f,
                            .group = (int)wf_rows_i64(rows, i, 0),
                            .round = (int32_t)wf_rows_i64(rows, i, 1),
                            .cut = cut };
        s = end_round(db, &e, wf_rows_text(rows, i, 2), err);
        wf_buf_free(&e.lines);
        f->seq += s == WF_OK ? 1 : 0;
    }
    wf_rows_free(rows);
    return s;
}
