/* wf_execute: defaults, what is known of the device's clock and caches, one judge, its
 * result. */
#include "runner/execute.h"

#include "runner/calibration.h"
#include "runner/cold_probe.h"
#include "runner/judging.h"
#include "runner/request.h"

#include <stdlib.h>

/* A device whose clock is known to be wrong gives answers, and no times. */
static void refuse_times(struct wf_execute_request *r, char *why, size_t n)
{
    why[0] = '\0';
    if (r->measure.measure && !r->calibrating && !r->device->times_modelled &&
        wf_calibration_refuses(r->device, r->cancel, why, n)) {
        r->measure.measure = false;
    }
}

/* A cold measurement needs the proof for its device; the probe's own runs ask for a
 * number of sets and need none. */
static enum wf_status add_proof(struct wf_execute_request *r,
                                char **ret_owned,
                                struct wf_error *err)
{
    const struct wf_measure_options *m = &r->measure;
    if (!m->measure || !m->cold || m->sets > 0 || r->device->times_modelled ||
        (r->cold_probe && r->cold_probe[0])) {
        return WF_OK;
    }
    enum wf_status st = wf_cold_probe_text(r->device, r->cancel, ret_owned, err);
    if (st == WF_OK) {
        r->cold_probe = *ret_owned;
    }
    return st;
}

static enum wf_status judge_it(const struct wf_execute_request *request,
                               bool *ret_cancelled,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct judging r = JUDGING_INIT;
    const struct judging_limits limits = { request->deadline_ns,
                                           request->lock_timeout_ns, request->cancel };
    struct wf_json *json = NULL;
    int wait = 0;
    enum wf_status st = request_to_json(request, &json, err);
    if (st == WF_OK) {
        st = judging_start(&r, json, err);
    }
    wf_json_free(json);
    if (st == WF_OK) {
        st = judging_wait(&r, &limits, ret_cancelled, err);
    }
    judging_end(&r, &wait);
    if (st == WF_OK && !*ret_cancelled) {
        st = judging_unpack(&r, wait, ret, err);
    }
    judging_free(&r);
    return st;
}

enum wf_status wf_execute(const struct wf_execute_request *request,
                          struct wf_json **ret_result,
                          struct wf_error *err)
{
    struct wf_execute_request complete = *request;
    char *proof = NULL;
    char no_times[400];
    bool cancelled = false;
    enum wf_status st = request_complete(&complete, err);
    if (st != WF_OK) {
        return st;
    }
    refuse_times(&complete, no_times, sizeof(no_times));
    st = add_proof(&complete, &proof, err);
    if (st == WF_ECANCELLED) {
        return wf_result_without_run(
            &complete, "CANCELLED", "cancelled during the cold probe", ret_result, err);
    }
    if (st == WF_OK) {
        st = judge_it(&complete, &cancelled, ret_result, err);
    }
    if (st == WF_OK && cancelled) {
        st = wf_result_without_run(&complete, "CANCELLED", "cancelled while it ran",
                                   ret_result, err);
    } else if (st == WF_OK && no_times[0]) {
        st = wf_json_set_string(*ret_result, "time_text", no_times, err);
    }
    free(proof);
    return st;
}
