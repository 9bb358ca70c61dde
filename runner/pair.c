/* wf_pair_round: one judge for the whole round, whose records are handed on as they
 * come. */
#include "runner/pair.h"

#include "runner/calibration.h"
#include "runner/cold_probe.h"
#include "runner/judging.h"
#include "runner/pair_request.h"

#include <stdlib.h>
#include <string.h>

/* The judge keeps a pair's deadline for both arms together, and once more for each that
 * it judges again by itself. */
#define DEADLINES_OF_A_PAIR 3

struct handing_on {
    wf_pair_taken_fn taken;
    void *ctx;
};

static enum wf_status hand_on(void *ctx, const char *text, struct wf_error *err)
{
    const struct handing_on *h = ctx;
    struct wf_json *record = NULL;
    enum wf_status st =
        wf_json_parse(text, strlen(text), "a pair's record", &record, err);
    if (st == WF_OK) {
        st = h->taken(h->ctx, record, err);
    }
    wf_json_free(record);
    return st;
}

/* What wf_execute does for a task: a clock that is marked as wrong gives no times, and
 * cold needs the proof of its device. */
static enum wf_status look_up(struct wf_execute_request *common,
                              char *no_times,
                              size_t bytes,
                              char **ret_proof,
                              struct wf_error *err)
{
    struct wf_measure_options *m = &common->measure;
    no_times[0] = '\0';
    if (!m->measure || common->device->times_modelled) {
        return WF_OK;
    }
    if (wf_calibration_refuses(common->device, common->cancel, no_times, bytes)) {
        m->measure = false;
        return WF_OK;
    }
    if (!m->cold || m->sets > 0) {
        return WF_OK;
    }
    enum wf_status st =
        wf_cold_probe_text(common->device, common->cancel, ret_proof, err);
    if (st == WF_OK) {
        common->cold_probe = *ret_proof;
    }
    return st;
}

static enum wf_status judge_round(const struct wf_pair_round *round,
                                  const struct wf_execute_request *common,
                                  const char *no_times,
                                  struct handing_on *h,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    struct judging r = JUDGING_INIT;
    const struct judging_limits limits = { DEADLINES_OF_A_PAIR * common->deadline_ns,
                                           common->lock_timeout_ns, common->cancel };
    struct wf_json *json = NULL;
    bool cancelled = false;
    int wait = 0;
    r.part = hand_on;
    r.ctx = h;
    enum wf_status st = pair_request_to_json(round, common, no_times, &json, err);
    if (st == WF_OK) {
        st = judging_start(&r, json, err);
    }
    wf_json_free(json);
    if (st == WF_OK) {
        st = judging_wait(&r, &limits, &cancelled, err);
    }
    judging_end(&r, &wait);
    if (st == WF_OK && cancelled) {
        st = wf_errorf(err, WF_ECANCELLED, "round %d was cancelled in stage %s",
                       round->round, r.stage);
    }
    if (st == WF_OK) {
        st = judging_unpack(&r, wait, ret, err);
    }
    judging_free(&r);
    return st;
}

enum wf_status wf_pair_round(const struct wf_pair_round *request,
                             wf_pair_taken_fn taken,
                             void *ctx,
                             struct wf_json **ret_round,
                             struct wf_error *err)
{
    struct handing_on h = { taken, ctx };
    struct wf_execute_request common;
    char no_times[400];
    char *proof = NULL;
    enum wf_status st = pair_request_check(request, err);
    if (st == WF_OK) {
        st = pair_request_common(request, &common, err);
    }
    if (st == WF_OK) {
        st = look_up(&common, no_times, sizeof(no_times), &proof, err);
    }
    if (st == WF_OK) {
        st = judge_round(request, &common, no_times, &h, ret_round, err);
    }
    free(proof);
    return st;
}
