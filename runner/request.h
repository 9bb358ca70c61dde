/* A task on its way from wf_execute to the judge, as JSON. */
#ifndef WF_RUNNER_REQUEST_H
#define WF_RUNNER_REQUEST_H

#include "runner/execute.h"

/* Fills in the defaults of `r` (deadlines, sampling). EINVAL names what is wrong. */
enum wf_status request_complete(struct wf_execute_request *r, struct wf_error *err);
enum wf_status request_to_json(const struct wf_execute_request *r,
                               struct wf_json **ret,
                               struct wf_error *err);
/* Texts in *ret are borrowed from `json`, the device from *ret_device. */
enum wf_status request_from_json(const struct wf_json *json,
                                 struct wf_execute_request *ret,
                                 struct wf_device *ret_device,
                                 struct wf_error *err);

#endif
