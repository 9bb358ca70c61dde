#include "coordinator/gate_line.h"

#include "coordinator/db.h"
#include "coordinator/result_row.h"
#include "core/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const arm_names[] = { "base", "candidate" };

bool wf_gate_line_is(const struct wf_json *result)
{
    const char *kind = wf_json_string(wf_json_find(result, "kind"));
    return kind && (strcmp(kind, "pair") == 0 || strcmp(kind, "round") == 0);
}

static enum wf_status read_arm(const struct wf_json *record,
                               int arm,
                               struct wf_gate_line *ret,
                               struct wf_error *err)
{
    enum wf_answer answer;
    const struct wf_json *o = wf_json_find(record, arm_names[arm]);
    ret->answer[arm] = ret->answer_text[arm] = "";
    if (!o || wf_json_type(o) == WF_JSON_NULL) {
        return WF_OK;
    }
    enum wf_status s = wf_json_get_object(record, arm_names[arm], &o, err);
    s = s == WF_OK ? wf_json_get_string(o, "answer", &ret->answer[arm], err) : s;
    s = s == WF_OK ? wf_json_opt_string(o, "answer_text", &ret->answer_text[arm], err)
                   : s;
    if (s == WF_OK && !wf_answer_parse(ret->answer[arm], &answer)) {
        s = wf_errorf(err, WF_EINVAL, "unknown answer '%.40s'", ret->answer[arm]);
    }
    return s == WF_OK ? WF_OK : wf_error_prefix(err, "%s", arm_names[arm]);
}

static enum wf_status read_y(const struct wf_json *o,
                             struct wf_gate_block *b,
                             struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status s = wf_json_get_array(o, "y", &list, err);
    if (s == WF_OK && wf_json_count(list) != WF_GATE_SLOTS) {
        s = wf_errorf(err, WF_EINVAL, "y must have %u numbers", WF_GATE_SLOTS);
    }
    size_t i = 0;
    for (const struct wf_json *v = s == WF_OK ? wf_json_first(list) : NULL;
         s == WF_OK && v; v = wf_json_next(v), i++) {
        /* A slot of a rejected block may have no value. */
        b->y[i] = 0;
        bool known = wf_json_as_f64(v, &b->y[i]) && fabs(b->y[i]) <= 1000;
        b->y[i] = known ? b->y[i] : 0;
        if (!known && !b->rejected) {
            s = wf_errorf(err, WF_EINVAL, "y[%zu] is no logarithm of a time", i);
        }
    }
    return s;
}

static enum wf_status read_block(const struct wf_json *o,
                                 int64_t round,
                                 struct wf_gate_block *ret,
                                 struct wf_error *err)
{
    int64_t mask = 0;
    const char *rejected = "";
    if (wf_json_type(o) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "a block must be an object");
    }
    enum wf_status s = wf_json_get_i64(o, "mask", 0, 15, &mask, err);
    if (s == WF_OK && !wf_gate_is_mask((unsigned)mask)) {
        s = wf_errorf(err, WF_EINVAL, "mask %" PRId64 " is not balanced", mask);
    }
    s = s == WF_OK ? wf_json_opt_string(o, "rejected", &rejected, err) : s;
    ret->round = (int32_t)round;
    ret->mask = (uint8_t)mask;
    ret->rejected = *rejected != '\0';
    return s == WF_OK ? read_y(o, ret, err) : s;
}

static enum wf_status read_blocks(const struct wf_json *record,
                                  struct wf_gate_line *ret,
                                  struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status s = wf_json_get_array(record, "blocks", &list, err);
    if (s == WF_OK && wf_json_count(list) > WF_GATE_MAX_BLOCKS) {
        s = wf_errorf(err, WF_EINVAL, "more than %d blocks", WF_GATE_MAX_BLOCKS);
    }
    for (const struct wf_json *v = s == WF_OK ? wf_json_first(list) : NULL;
         s == WF_OK && v; v = wf_json_next(v)) {
        s = read_block(v, ret->round, &ret->block[ret->block_count], err);
        if (s != WF_OK) {
            return wf_error_prefix(err, "blocks[%zu]", ret->block_count);
        }
        ret->block_count++;
    }
    return s;
}

enum wf_status wf_gate_line_read(const struct wf_json *record,
                                 struct wf_gate_line *ret,
                                 struct wf_error *err)
{
    const char *kind = NULL;
    memset(ret, 0, sizeof *ret);
    ret->pair = "";
    enum wf_status s = wf_json_get_string(record, "kind", &kind, err);
    s = s == WF_OK ? wf_json_get_string(record, "gate", &ret->gate, err) : s;
    s = s == WF_OK ? wf_json_get_i64(record, "round", 0, INT32_MAX, &ret->round, err)
                   : s;
    s = s == WF_OK ? wf_json_get_i64(record, "group", 0, INT32_MAX, &ret->group, err)
                   : s;
    if (s != WF_OK || strcmp(kind, "round") == 0) {
        ret->answer[0] = ret->answer[1] = "";
        ret->answer_text[0] = ret->answer_text[1] = "";
        return s;
    }
    s = wf_json_get_string(record, "pair", &ret->pair, err);
    s = s == WF_OK ? read_arm(record, 0, ret, err) : s;
    s = s == WF_OK ? read_arm(record, 1, ret, err) : s;
    if (s == WF_OK && !*ret->answer[0] && !*ret->answer[1]) {
        s = wf_errorf(err, WF_EINVAL, "a pair's record needs base or candidate");
    }
    return s == WF_OK ? read_blocks(record, ret, err) : s;
}

/* --- the stage --- */

/* The store's columns of a result: the candidate's answer, and no time. */
static void fill_row(const struct wf_gate_line *g,
                     const struct wf_json *record,
                     struct wf_result_row *row)
{
    int arm = *g->answer[1] ? 1 : 0;
    bool pair = *g->pair != '\0';
    memset(row, 0, sizeof *row);
    row->kind = wf_json_string(wf_json_find(record, "kind"));
    row->answer = pair ? g->answer[arm] : "PASS";
    row->answer_text = g->answer_text[arm];
    row->time = g->block_count > 0 ? "OK" : "NOT_MEASURED";
    for (size_t i = 0; i < WF_FIGURE_COUNT; i++) {
        row->figure[i] = NAN;
    }
    row->flops = row->bytes = row->peak_flops = row->peak_bytes_per_s = NAN;
    row->roofline_ns = row->total_ns = NAN;
    row->math_type = row->device_id = row->device_name = "";
    row->device_model = row->runtime = "";
}

static enum wf_status add_columns(const struct wf_gate_line *g,
                                  struct wf_result_row *row,
                                  const char *digest,
                                  struct wf_buf *line,
                                  struct wf_error *err)
{
    char bytes[WF_SHA256_HEX + 2];
    char subject[96], own[32];
    snprintf(bytes, sizeof bytes, "\\x%s", digest);
    snprintf(subject, sizeof subject, "%.40s:%" PRId64 ":%" PRId64, g->gate, g->round,
             g->group);
    snprintf(own, sizeof own, "#%" PRId64, g->group);
    enum wf_status s = wf_copy_text(line, bytes, err);
    s = s == WF_OK ? wf_copy_text(line, subject, err) : s;
    s = s == WF_OK ? wf_copy_text(line, *g->pair ? g->pair : own, err) : s;
    s = s == WF_OK ? wf_result_row_copy(row, line, err) : s;
    return s == WF_OK ? wf_result_row_copy_samples(row, line, err) : s;
}

enum wf_status wf_gate_line_columns(const struct wf_json *record,
                                    const char *digest,
                                    struct wf_buf *line,
                                    struct wf_error *err)
{
    struct wf_gate_line g;
    struct wf_result_row row;
    char found[WF_SHA256_HEX];
    enum wf_status s = wf_gate_line_read(record, &g, err);
    if (s != WF_OK) {
        return s;
    }
    fill_row(&g, record, &row);
    s = wf_json_write_canonical(record, &row.body, err);
    if (s == WF_OK) {
        wf_sha256_hex(row.body.data, row.body.len, found);
        s = strcmp(found, digest) == 0
                ? WF_OK
                : wf_errorf(err, WF_EINVAL,
                            "the canonical record has digest %s, not %s", found,
                            digest);
    }
    s = s == WF_OK ? add_columns(&g, &row, digest, line, err) : s;
    wf_result_row_free(&row);
    return s;
}
