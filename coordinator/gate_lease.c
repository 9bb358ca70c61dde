/* What a runner is told of a gate's round: the pairs with the masks of their blocks,
 * which the seed gives, and never the seed. */
#include "coordinator/gate_lease.h"

#include "core/sha256.h"
#include "gate/draw.h"

#include <stdio.h>
#include <string.h>

/* LEASE_GATE of statements.def. */
enum column {
    C_SHARD,
    C_TOKEN,
    C_ESTIMATE,
    C_TASK,
    C_RUN,
    C_GATE,
    C_SEED,
    C_GROUP,
    C_ROUND,
    C_KEY,
    C_CASE_NAME,
    C_CANONICAL,
    C_CASE_ID,
    C_BASE,
    C_CANDIDATE,
    C_BLOCKS,
    C_ORDINAL,
    C_DEADLINE,
    C_MEASURE,
    C_SEED_OFFSET
};

#define MAX_SAFE                                                         \
    9007199254740991LL /* 2^53 - 1: what JSON carries exactly everywhere \
                        */

struct shard {
    const struct wf_rows *rows;
    size_t at, end;
    uint8_t seed[WF_GATE_SEED_BYTES];
};

/* 64 hex digits, as the table's check has them. */
static enum wf_status read_seed(const char *hex,
                                uint8_t ret[WF_GATE_SEED_BYTES],
                                struct wf_error *err)
{
    static const char digits[] = "0123456789abcdef";
    if (!wf_sha256_is_hex(hex)) {
        return wf_errorf(err, WF_EINTERNAL, "a gate's seed is damaged");
    }
    for (size_t i = 0; i < WF_GATE_SEED_BYTES; i++) {
        const char *high = strchr(digits, hex[2 * i]);
        const char *low = strchr(digits, hex[2 * i + 1]);
        ret[i] = (uint8_t)((high - digits) * 16 + (low - digits));
    }
    return WF_OK;
}

static enum wf_status set_masks(const struct shard *sh,
                                size_t i,
                                struct wf_json *o,
                                struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    int64_t blocks = wf_rows_i64(sh->rows, i, C_BLOCKS);
    enum wf_status s = WF_OK;
    for (int b = 0; s == WF_OK && b < blocks; b++) {
        unsigned mask =
            wf_gate_draw_mask(sh->seed, wf_rows_text(sh->rows, i, C_KEY),
                              (int32_t)wf_rows_i64(sh->rows, i, C_ROUND), b);
        s = wf_json_push_i64(list, mask, err);
    }
    enum wf_status taken = wf_json_set_take(o, "masks", list, err);
    return s == WF_OK ? taken : s;
}

static enum wf_status pair_json(const struct shard *sh,
                                size_t i,
                                struct wf_json *o,
                                struct wf_error *err)
{
    const struct wf_rows *r = sh->rows;
    enum wf_status s = wf_json_set_string(o, "pair", wf_rows_text(r, i, C_KEY), err);
    s = s == WF_OK
            ? wf_json_set_string(o, "case_name", wf_rows_text(r, i, C_CASE_NAME), err)
            : s;
    s = s == WF_OK
            ? wf_json_set_string(o, "case_id", wf_rows_text(r, i, C_CASE_ID), err)
            : s;
    s = s == WF_OK ? wf_json_set_parsed(o, "case", wf_rows_text(r, i, C_CANONICAL), err)
                   : s;
    s = s == WF_OK ? wf_json_set_parsed(o, "base", wf_rows_text(r, i, C_BASE), err) : s;
    s = s == WF_OK
            ? wf_json_set_parsed(o, "candidate", wf_rows_text(r, i, C_CANDIDATE), err)
            : s;
    return s == WF_OK ? set_masks(sh, i, o, err) : s;
}

static enum wf_status task_json(const struct shard *sh,
                                size_t i,
                                struct wf_json *list,
                                struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status s =
        wf_json_set_string(o, "task", wf_rows_text(sh->rows, i, C_TASK), err);
    s = s == WF_OK ? wf_json_set_string(o, "run", wf_rows_text(sh->rows, i, C_RUN), err)
                   : s;
    if (s == WF_OK && !wf_rows_null(sh->rows, i, C_ORDINAL)) {
        s = pair_json(sh, i, o, err);
    }
    enum wf_status pushed = wf_json_push_take(list, o, err);
    return s == WF_OK ? pushed : s;
}

static enum wf_status set_packs(struct wf_db *db,
                                const char *run,
                                struct wf_json *o,
                                struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_text(&p, run);
    enum wf_status s =
        wf_db_one(db, WF_STMT_LEASE_GATE_PACKS, &p, "the gate is gone", &rows, err);
    s = s == WF_OK ? wf_json_set_parsed(o, "packs", wf_rows_text(rows, 0, 0), err) : s;
    wf_rows_free(rows);
    return s;
}

static enum wf_status gate_json(struct wf_db *db,
                                struct shard *sh,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    const struct wf_rows *r = sh->rows;
    size_t at = sh->at;
    struct wf_json *o = wf_json_object();
    int64_t group = wf_rows_i64(r, at, C_GROUP);
    int64_t round = wf_rows_i64(r, at, C_ROUND);
    int64_t inputs = (int64_t)wf_gate_draw_inputs(sh->seed, (int)group, (int32_t)round);
    int64_t offset = (inputs + wf_rows_i64(r, at, C_SEED_OFFSET)) & MAX_SAFE;
    enum wf_status s = wf_json_set_string(o, "gate", wf_rows_text(r, at, C_GATE), err);
    s = s == WF_OK ? wf_json_set_i64(o, "round", round, err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "group", group, err) : s;
    s = s == WF_OK ? wf_json_set_i64(o, "seed_offset", offset, err) : s;
    s = s == WF_OK
            ? wf_json_set_i64(o, "deadline_ms", wf_rows_i64(r, at, C_DEADLINE), err)
            : s;
    s = s == WF_OK
            ? wf_json_set_parsed(o, "measure", wf_rows_text(r, at, C_MEASURE), err)
            : s;
    s = s == WF_OK ? set_packs(db, wf_rows_text(r, at, C_RUN), o, err) : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    *ret = o;
    return WF_OK;
}

static enum wf_status shard_json(struct wf_db *db,
                                 struct shard *sh,
                                 int64_t ttl_ms,
                                 struct wf_json *list,
                                 struct wf_error *err)
{
    const struct wf_rows *r = sh->rows;
    struct wf_json *o = wf_json_object();
    struct wf_json *tasks = wf_json_array();
    struct wf_json *gate = NULL;
    enum wf_status s = read_seed(wf_rows_text(r, sh->at, C_SEED), sh->seed, err);
    s = s == WF_OK
            ? wf_json_set_string(o, "shard", wf_rows_text(r, sh->at, C_SHARD), err)
            : s;
    s = s == WF_OK
            ? wf_json_set_string(o, "token", wf_rows_text(r, sh->at, C_TOKEN), err)
            : s;
    s = s == WF_OK ? wf_json_set_i64(o, "ttl_ms", ttl_ms, err) : s;
    s = s == WF_OK
            ? wf_json_set_i64(o, "estimate_ms", wf_rows_i64(r, sh->at, C_ESTIMATE), err)
            : s;
    s = s == WF_OK ? gate_json(db, sh, &gate, err) : s;
    s = s == WF_OK ? wf_json_set_take(o, "gate", gate, err) : s;
    for (size_t i = sh->at; s == WF_OK && i < sh->end; i++) {
        s = task_json(sh, i, tasks, err);
    }
    enum wf_status taken = wf_json_set_take(o, "tasks", tasks, err);
    enum wf_status pushed = wf_json_push_take(list, o, err);
    return s != WF_OK ? s : taken != WF_OK ? taken : pushed;
}

enum wf_status wf_gate_lease_json(struct wf_db *db,
                                  const char *ids,
                                  int64_t ttl_ms,
                                  struct wf_json *list,
                                  struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_text(&p, ids);
    enum wf_status s = wf_db_run(db, WF_STMT_LEASE_GATE, &p, &rows, err);
    struct shard sh = { .rows = rows };
    size_t n = s == WF_OK ? wf_rows_count(rows) : 0;
    for (; s == WF_OK && sh.at < n; sh.at = sh.end) {
        sh.end = sh.at + 1;
        while (sh.end < n && strcmp(wf_rows_text(rows, sh.at, C_SHARD),
                                    wf_rows_text(rows, sh.end, C_SHARD)) == 0) {
            sh.end++;
        }
        s = shard_json(db, &sh, ttl_ms, list, err);
    }
    wf_rows_free(rows);
    return s;
}
