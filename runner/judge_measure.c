/* Measuring: buffers and inputs of their own, warm-up, clock check, samples, verdict.
 *
 * All samples are kept in order. The inputs are other ones than those of the checked
 * launches, and the outputs that the last batch leaves are judged afterwards; so the
 * clock check runs before the samples. Rules are in stopping.c, warmup.c and cold.c. */
#include "runner/judge_meter.h"

#include "core/clock.h"
#include "core/stats.h"
#include "runner/cold.h"
#include "runner/icache.h"
#include "runner/judge_audit.h"

#include <stdlib.h>
#include <string.h>

/* Launches cannot be handed over faster than this kernel runs: then the time is the
 * host's, and the result says so. */
static enum wf_status note_enqueue(const struct meter *m, struct wf_error *err)
{
    bool bound =
        !m->j->request->device->library_kernels && m->enqueue_ns > 0.9 * m->event_ns;
    return wf_json_set_bool(m->j->result->details, "enqueue_bound", bound, err);
}

enum wf_status judge_find_sets(const struct judge *j, size_t *ret, struct wf_error *err)
{
    const bool alone = j->base.stride == 0;
    const size_t programs = alone ? WF_SP_MAX_PROGRAMS : JUDGE_PAIR_NUMBERS;
    const size_t others = j->tensor_count + (alone ? 0 : JUDGE_PAIR_SPARE);
    size_t most = (WF_SP_MAX_OBJECTS - others) / judge_set_objects(j);
    const struct wf_measure_options *o = &j->request->measure;
    most = most < programs ? most : programs;
    *ret = 1;
    if (o->sets > 0) {
        *ret = (size_t)o->sets;
        return *ret <= most ? WF_OK
                            : wf_errorf(err, WF_EUNSUPPORTED,
                                        "%d sets of buffers, at most %zu are made",
                                        o->sets, most);
    }
    return o->cold
               ? cold_set_count(j->request->device, judge_set_bytes(j), most, ret, err)
               : WF_OK;
}

/* Buffers, inputs and programs for the timed launches. False in *ret_can: cold was
 * asked for and cannot be had. */
static enum wf_status prepare(struct judge *j, bool *ret_can, struct wf_error *err)
{
    struct wf_error why = { 0 };
    size_t sets = 1;
    size_t copies = 1;
    uint64_t code_bytes = 0;
    enum wf_status can = judge_find_sets(j, &sets, &why);
    if (can == WF_OK && j->request->measure.icache_cold) {
        can = judge_icache_copies(j, &copies, &code_bytes, &why);
        if (can == WF_OK && sets > copies && judge_icache_most(j) >= sets) {
            copies = sets; /* what evicts the buffers evicts the code from L2 too */
        }
        sets = can == WF_OK ? icache_sets(sets, copies) : sets;
    }
    *ret_can = can == WF_OK;
    if (!*ret_can) {
        result_time(j->result, WF_TIME_NOT_MEASURED, "%s", why.text);
        sets = copies = 1;
    }
    if (sets > j->sets) {
        j->inputs_written = false; /* new copies: a library prepares anew */
    }
    enum wf_status st = judge_allocate(j, sets, err);
    if (st == WF_OK && copies > 1) {
        st = judge_load_copies(j, copies, code_bytes, err);
    }
    if (st == WF_OK) {
        st = judge_write_inputs(j, judge_timed_offset(j), err);
    }
    return st == WF_OK ? judge_set_launches(j, err) : st;
}

/* The samples beside the audit's launches. More of these leave outputs of no timed
 * launch, so a batch follows. */
static enum wf_status compare_audit(struct meter *m, struct wf_error *err)
{
    struct wf_summary summary;
    struct group g;
    double *valid = NULL;
    size_t n = 0;
    bool ran = false;
    enum wf_status st = result_valid_samples(&m->j->result->timing, &valid, &n, err);
    st = st == WF_OK ? wf_summarise(valid, n, &summary, err) : st;
    free(valid);
    /* Events that the host's clock has refuted already say nothing of the kernel. */
    if (st == WF_OK && n > 0 && m->j->result->time != WF_TIME_IMPLAUSIBLE) {
        st = judge_audit_compare(m->j, summary.median, &ran, err);
    }
    if (st == WF_OK && ran && !m->j->done) {
        struct wf_sp_measure want = meter_group_request(m);
        want.batches = 1;
        st = meter_run_group(m, &want, &g, err);
    }
    return st;
}

/* The proof that cold is cold goes with every cold result; without one the time says so
 * itself. */
static enum wf_status note_cold(struct judge *j, struct wf_error *err)
{
    struct wf_json *proof = NULL;
    const char *text = j->request->cold_probe;
    const char *verdict = "";
    const char *why = "";
    if (!j->request->measure.cold || !text || !text[0]) {
        return WF_OK;
    }
    enum wf_status st = wf_json_parse(text, strlen(text), "cold probe", &proof, err);
    st = st == WF_OK ? wf_json_get_string(proof, "verdict", &verdict, err) : st;
    st = st == WF_OK ? wf_json_get_string(proof, "text", &why, err) : st;
    if (st == WF_OK && strcmp(verdict, "not proven") == 0 &&
        j->result->time == WF_TIME_OK) {
        result_time(j->result, WF_TIME_OK, "cold is not proven on this device: %.200s",
                    why);
    }
    if (st != WF_OK) {
        wf_json_free(proof);
        return st;
    }
    return wf_json_set_take(j->result->details, "cold_probe", proof, err);
}

enum wf_status judge_measure(struct judge *j,
                             const struct wf_sp_ran *checked,
                             size_t *ret_last_set,
                             struct wf_error *err)
{
    struct meter m = { .j = j };
    struct wf_sp_ran ran;
    bool can = false;
    j->say("stage measure");
    *ret_last_set = 0;
    enum wf_status st = prepare(j, &can, err);
    if (st == WF_OK && !can) {
        return judge_launch(j, &ran, err); /* outputs to judge all the same */
    }
    st = st == WF_OK ? meter_begin(&m, err) : st;
    st = st == WF_OK ? meter_find_tick(&m, err) : st;
    m.estimate_ns = meter_plan_ns(checked->event_ms * 1e6, (double)checked->host_ns);
    meter_set_batch(&m);
    if (st == WF_OK) {
        st = meter_warm_up(&m, err);
    }
    if (st == WF_OK) {
        st = meter_check_clocks(&m, err);
    }
    if (st == WF_OK) {
        st = judge_audit(j, err);
    }
    int64_t start_ns = wf_monotonic_ns();
    if (st == WF_OK && !j->done) {
        st = meter_sample(&m, err);
    }
    int64_t sampling_ns = wf_monotonic_ns() - start_ns;
    if (st == WF_OK) {
        st = wf_json_set_i64(j->result->details, "sampling_ns", sampling_ns, err);
    }
    if (st == WF_OK) {
        st = note_cold(j, err);
    }
    if (st == WF_OK && !j->done) {
        st = compare_audit(&m, err);
    }
    if (st == WF_OK) {
        st = meter_check_floor(&m, err);
    }
    if (st == WF_OK && j->result->time == WF_TIME_OK && judge_audit_is_blind(j)) {
        result_time(j->result, WF_TIME_OK, "%s", judge_audit_blind_text());
    }
    if (st == WF_OK) {
        st = note_enqueue(&m, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_u64(j->result->details, "sets", j->sets, err);
    }
    if (st == WF_OK) {
        st = meter_note_conditions(&m, err);
    }
    meter_end(&m);
    *ret_last_set = m.last;
    return st;
}
