/* One round of a gate: see pair.h. */
#include "runner/pair.h"

enum wf_status wf_pair_round(const struct wf_pair_round *request,
                             wf_pair_taken_fn taken,
                             void *ctx,
                             struct wf_json **ret_round,
                             struct wf_error *err)
{
    (void)request;
    (void)taken;
    (void)ctx;
    (void)ret_round;
    return wf_errorf(err, WF_EUNSUPPORTED, "rounds of a gate cannot be measured yet");
}
