/* The rule's state from the rows. The order is that of the record: pairs of a round,
 * then the round's end, round after round as they ended. */
#include "coordinator/farm_gate.h"

#include "core/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns of GATE_LOCK (statements.def). */
enum head {
    H_GATE,
    H_SEED,
    H_HEADER,
    H_REQUEST,
    H_STATE,
    H_GROUPS,
    H_ROUNDS,
    H_LINES,
    H_RUN_DAY,
    H_PRIORITY
};

/* Columns of GATE_BLOCKS. */
enum block_column {
    B_SEQ,
    B_ORDINAL,
    B_ROUND,
    B_BASE,
    B_CANDIDATE,
    B_MASK,
    B_REJECTED,
    B_Y
};

void wf_farm_gate_free(struct wf_farm_gate *f)
{
    if (!f) {
        return;
    }
    wf_gate_record_free(f->record);
    free(f->pair);
    free(f->round_case);
    free(f);
}

/* --- keys of the tasks --- */

static enum wf_status load_pairs(struct wf_db *db,
                                 struct wf_farm_gate *f,
                                 struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    size_t n = wf_gate_record_count(f->record);
    wf_param_i64(&p, f->run);
    f->pair = wf_calloc(n + 1, sizeof *f->pair);
    enum wf_status s = f->pair ? wf_db_run(db, WF_STMT_GATE_PAIRS, &p, &rows, err)
                               : wf_errorf(err, WF_ENOMEM, "no memory for a gate");
    if (s == WF_OK && wf_rows_count(rows) != n) {
        s = wf_errorf(err, WF_EINTERNAL, "gate %" PRId64 " has %zu pairs of %zu",
                      f->run, wf_rows_count(rows), n);
    }
    for (size_t i = 0; s == WF_OK && i < n; i++) {
        f->pair[i] =
            (struct wf_farm_pair){ wf_rows_i64(rows, i, 0), wf_rows_i64(rows, i, 1),
                                   wf_rows_i64(rows, i, 2) };
    }
    wf_rows_free(rows);
    return s;
}

static enum wf_status load_round_cases(struct wf_db *db,
                                       struct wf_farm_gate *f,
                                       struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&p, f->run);
    f->round_case = wf_calloc((size_t)f->groups + 1, sizeof *f->round_case);
    enum wf_status s = f->round_case
                           ? wf_db_run(db, WF_STMT_GATE_ROUND_CASES, &p, &rows, err)
                           : wf_errorf(err, WF_ENOMEM, "no memory for a gate");
    if (s == WF_OK && wf_rows_count(rows) != (size_t)f->groups) {
        s = wf_errorf(err, WF_EINTERNAL, "gate %" PRId64 " has %zu groups of %d",
                      f->run, wf_rows_count(rows), f->groups);
    }
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rows); i++) {
        f->round_case[i] =
            (struct wf_farm_pair){ wf_rows_i64(rows, i, 1), wf_rows_i64(rows, i, 2),
                                   f->pair[0].kernel_key };
    }
    wf_rows_free(rows);
    return s;
}

/* --- blocks --- */

/* Reads an array literal "{a,b}" of at most `max` numbers; -1: it is none. */
static int read_numbers(const char *text, double *ret, int max)
{
    int n = 0;
    if (*text++ != '{') {
        return -1;
    }
    while (*text && *text != '}') {
        char item[40];
        size_t len = strcspn(text, ",}");
        if (n == max || len >= sizeof item) {
            return -1;
        }
        memcpy(item, text, len);
        item[len] = '\0';
        if (strcmp(item, "t") == 0 || strcmp(item, "f") == 0) {
            ret[n++] = item[0] == 't';
        } else if (wf_parse_f64(item, "number", -1e300, 1e300, &ret[n++], NULL) !=
                   WF_OK) {
            return -1;
        }
        text += len + (text[len] == ',');
    }
    return n;
}

static enum wf_status take_row(struct wf_farm_gate *f,
                               const struct wf_rows *rows,
                               size_t i,
                               struct wf_error *err)
{
    double mask[WF_GATE_MAX_BLOCKS], rejected[WF_GATE_MAX_BLOCKS];
    double y[WF_GATE_MAX_BLOCKS * WF_GATE_SLOTS];
    struct wf_gate_block block[WF_GATE_MAX_BLOCKS];
    size_t pair = (size_t)wf_rows_i64(rows, i, B_ORDINAL);
    int32_t round = (int32_t)wf_rows_i64(rows, i, B_ROUND);
    int n = read_numbers(wf_rows_text(rows, i, B_MASK), mask, WF_GATE_MAX_BLOCKS);
    if (read_numbers(wf_rows_text(rows, i, B_REJECTED), rejected, WF_GATE_MAX_BLOCKS) !=
            n ||
        read_numbers(wf_rows_text(rows, i, B_Y), y,
                     WF_GATE_MAX_BLOCKS * (int)WF_GATE_SLOTS) !=
            n * (int)WF_GATE_SLOTS ||
        n < 0) {
        return wf_errorf(err, WF_EINTERNAL, "gate %" PRId64 ": a damaged block",
                         f->run);
    }
    for (int b = 0; b < n; b++) {
        block[b] = (struct wf_gate_block){ .round = round,
                                           .mask = (uint8_t)mask[b],
                                           .rejected = rejected[b] != 0 };
        memcpy(block[b].y, y + (size_t)b * WF_GATE_SLOTS, sizeof block[b].y);
    }
    const char *const answer[2] = { wf_rows_text(rows, i, B_BASE),
                                    wf_rows_text(rows, i, B_CANDIDATE) };
    return wf_gate_record_take_pair(f->record, pair, round, answer, block, n, err);
}

/* Blocks of the rounds come in the order of the rounds. */
static enum wf_status take_rounds(struct wf_farm_gate *f,
                                  const struct wf_rows *rounds,
                                  const struct wf_rows *blocks,
                                  struct wf_error *err)
{
    size_t at = 0;
    enum wf_status s = WF_OK;
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(rounds); i++) {
        int64_t seq = wf_rows_i64(rounds, i, 0);
        while (s == WF_OK && at < wf_rows_count(blocks) &&
               wf_rows_i64(blocks, at, B_SEQ) == seq) {
            s = take_row(f, blocks, at++, err);
        }
        s = s == WF_OK
                ? wf_gate_record_take_round(f->record, (int)wf_rows_i64(rounds, i, 1),
                                            (int32_t)wf_rows_i64(rounds, i, 2),
                                            wf_rows_text(rounds, i, 3)[0] != '\0', err)
                : s;
        f->seq = (int)seq;
    }
    return s;
}

static enum wf_status load_blocks(struct wf_db *db,
                                  struct wf_farm_gate *f,
                                  struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rounds = NULL, *blocks = NULL;
    wf_param_i64(&p, f->run);
    wf_param_i64(&p, f->seq);
    enum wf_status s = wf_db_run(db, WF_STMT_GATE_ROUNDS_ENDED, &p, &rounds, err);
    s = s == WF_OK ? wf_db_run(db, WF_STMT_GATE_BLOCKS, &p, &blocks, err) : s;
    s = s == WF_OK ? take_rounds(f, rounds, blocks, err) : s;
    wf_rows_free(rounds);
    wf_rows_free(blocks);
    return s;
}

/* --- all --- */

static enum wf_status read_header(struct wf_db *db,
                                  struct wf_farm_gate *f,
                                  struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct wf_json *header = NULL;
    wf_param_i64(&p, f->run);
    enum wf_status s =
        wf_db_one(db, WF_STMT_GATE_HEADER, &p, "the gate is gone", &rows, err);
    const char *text = s == WF_OK ? wf_rows_text(rows, 0, 0) : "";
    s = s == WF_OK ? wf_json_parse(text, strlen(text), "stored header", &header, err)
                   : s;
    wf_rows_free(rows);
    return s == WF_OK ? wf_gate_record_create(header, &f->record, err) : s;
}

enum wf_status wf_farm_gate_load(struct wf_db *db,
                                 int64_t run,
                                 const struct wf_rows *head,
                                 struct wf_farm_gate **ret,
                                 struct wf_error *err)
{
    struct wf_farm_gate *f = wf_calloc(1, sizeof *f);
    if (!f) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a gate");
    }
    f->run = run;
    f->groups = (int)wf_rows_i64(head, 0, H_GROUPS);
    f->priority = (int)wf_rows_i64(head, 0, H_PRIORITY);
    f->lines = wf_rows_i64(head, 0, H_LINES);
    snprintf(f->gate, sizeof f->gate, "%s", wf_rows_text(head, 0, H_GATE));
    snprintf(f->run_day, sizeof f->run_day, "%s", wf_rows_text(head, 0, H_RUN_DAY));
    enum wf_status s = read_header(db, f, err);
    s = s == WF_OK ? load_pairs(db, f, err) : s;
    s = s == WF_OK ? load_round_cases(db, f, err) : s;
    s = s == WF_OK ? load_blocks(db, f, err) : s;
    if (s != WF_OK) {
        wf_farm_gate_free(f);
        return s;
    }
    *ret = f;
    return WF_OK;
}
