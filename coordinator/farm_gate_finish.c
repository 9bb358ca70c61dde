/* The end of a gate: verdicts of all pairs, the record's last line, the noise that the
 * next gates start from, quarantines; one transaction with the run's end. */
#include "coordinator/farm_gate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum wf_status wf_farm_gate_progress(const struct wf_farm_gate *f,
                                     char **ret,
                                     struct wf_error *err)
{
    const struct wf_gate *g = wf_gate_record_gate(f->record);
    int64_t count[WF_GATE_VERDICT_COUNT] = { 0 };
    struct wf_json *o = wf_json_object();
    enum wf_status s = WF_OK;
    for (size_t i = 0; i < wf_gate_record_count(f->record); i++) {
        if (wf_gate_record_pair(f->record, i)->role == WF_GATE_CASE) {
            count[wf_gate_verdict_of(g, i, NULL)]++;
        }
    }
    for (int v = 0; s == WF_OK && v < WF_GATE_VERDICT_COUNT; v++) {
        if (count[v] > 0) {
            s = wf_json_set_i64(o, wf_gate_verdict_name((enum wf_gate_verdict)v),
                                count[v], err);
        }
    }
    s = s == WF_OK ? wf_json_text(o, ret, err) : s;
    wf_json_free(o);
    return s;
}

static double finite_or_none(double x)
{
    return isfinite(x) ? x : NAN;
}

static enum wf_status verdict_row(const struct wf_farm_gate *f,
                                  size_t pair,
                                  struct wf_buf *line,
                                  struct wf_error *err)
{
    struct wf_gate_figures v;
    wf_gate_figures(wf_gate_record_gate(f->record), pair, &v);
    const int64_t counts[] = { v.blocks, v.lost, v.rounds };
    const double numbers[] = { v.effect, v.low, v.high,
                               v.blocks > 0 ? v.slot_noise : NAN, v.spread };
    enum wf_status s = wf_copy_i64(line, f->run, err);
    s = s == WF_OK ? wf_copy_i64(line, (int64_t)pair, err) : s;
    s = s == WF_OK ? wf_copy_text(line, wf_gate_verdict_name(v.verdict), err) : s;
    s = s == WF_OK ? wf_copy_text(line, wf_gate_reason_name(v.reason), err) : s;
    for (size_t i = 0; s == WF_OK && i < sizeof counts / sizeof counts[0]; i++) {
        s = wf_copy_i64(line, counts[i], err);
    }
    for (size_t i = 0; s == WF_OK && i < sizeof numbers / sizeof numbers[0]; i++) {
        s = wf_copy_f64(line, finite_or_none(numbers[i]), err);
    }
    return s == WF_OK ? wf_copy_end_row(line, err) : s;
}

static enum wf_status store_verdicts(struct wf_db *db,
                                     const struct wf_farm_gate *f,
                                     struct wf_error *err)
{
    struct wf_buf lines = WF_BUF_INIT;
    enum wf_status s = WF_OK;
    for (size_t i = 0; s == WF_OK && i < wf_gate_record_count(f->record); i++) {
        s = verdict_row(f, i, &lines, err);
    }
    s = s == WF_OK ? wf_db_copy_begin(db,
                                      "COPY gate_verdict(run_id, ordinal, verdict,"
                                      " reason, blocks, lost, rounds, effect, low,"
                                      " high, slot_noise, spread) FROM STDIN",
                                      err)
                   : s;
    s = s == WF_OK ? wf_db_copy_data(db, &lines, err) : s;
    s = s == WF_OK ? wf_db_copy_end(db, NULL, err) : s;
    wf_buf_free(&lines);
    return s;
}

static const char *truth(const struct wf_json *verdict, const char *key)
{
    bool v = false;
    (void)wf_json_opt_bool(verdict, key, &v, NULL);
    return v ? "t" : "f";
}

/* The line that ends a cancelled gate before its verdict. */
static enum wf_status close_all(struct wf_farm_gate *f,
                                struct wf_buf *ret,
                                struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_string(o, "kind", "close", err);
    s = s == WF_OK ? wf_json_set_string(o, "gate", f->gate, err) : s;
    s = s == WF_OK ? wf_json_set_null(o, "group", err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "reason", "cancelled", err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "why", "cancelled by its submitter", err)
                   : s;
    s = s == WF_OK ? wf_json_write(o, ret, err) : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    f->lines++;
    return wf_gate_record_add(f->record, o, err);
}

static enum wf_status store_end(struct wf_db *db,
                                struct wf_farm_gate *f,
                                const struct wf_json *verdict,
                                const struct wf_buf *closing,
                                struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_buf text = WF_BUF_INIT;
    char *progress = NULL;
    enum wf_status s = wf_json_write(verdict, &text, err);
    s = s == WF_OK ? wf_farm_gate_progress(f, &progress, err) : s;
    wf_param_i64(&p, f->run);
    wf_param_i64(&p, f->seq);
    wf_param_i64(&p, ++f->lines);
    wf_param_text(&p, progress);
    wf_param_text(&p, wf_buf_cstr(&text));
    wf_param_text(&p, truth(verdict, "red"));
    wf_param_text(&p, truth(verdict, "infrastructure"));
    wf_param_text(&p, closing->len ? wf_buf_cstr(closing) : NULL);
    s = s == WF_OK ? wf_db_run(db, WF_STMT_GATE_DECIDED, &p, NULL, err) : s;
    wf_buf_free(&text);
    free(progress);
    return s;
}

enum wf_status wf_farm_gate_finish(struct wf_db *db,
                                   struct wf_farm_gate *f,
                                   bool cancelled,
                                   int64_t quarantine_ms,
                                   struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_json *verdict = NULL;
    struct wf_buf closing = WF_BUF_INIT;
    enum wf_status s = cancelled ? close_all(f, &closing, err) : WF_OK;
    s = s == WF_OK ? wf_gate_record_verdict(f->record, &verdict, err) : s;
    s = s == WF_OK ? store_verdicts(db, f, err) : s;
    s = s == WF_OK ? store_end(db, f, verdict, &closing, err) : s;
    wf_param_i64(&p, f->run);
    s = s == WF_OK ? wf_db_run(db, WF_STMT_GATE_NOISE_LEARN, &p, NULL, err) : s;
    s = s == WF_OK ? wf_farm_gate_quarantine(db, f, quarantine_ms, err) : s;
    wf_json_free(verdict);
    wf_buf_free(&closing);
    return s;
}
