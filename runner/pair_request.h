/* A round on its way from wf_pair_round to the judge, as JSON with a member "pairs". */
#ifndef WF_RUNNER_PAIR_REQUEST_H
#define WF_RUNNER_PAIR_REQUEST_H

#include "runner/pair.h"
#include "runner/request.h"

struct pair_request {
    struct wf_pair_round round; /* texts borrowed from the JSON, its pairs owned */
    struct wf_pair *pair;
    struct wf_device device;
    struct wf_execute_request common; /* what all arms have in common */
    const char *no_times;             /* "": times may be taken */
};

/* Members that all arms share; the rest is empty. Defaults are filled in. */
enum wf_status pair_request_common(const struct wf_pair_round *round,
                                   struct wf_execute_request *ret,
                                   struct wf_error *err);
/* EINVAL names what is wrong: no pairs, a pair without arms, a mask that is none. */
enum wf_status pair_request_check(const struct wf_pair_round *round,
                                  struct wf_error *err);
/* `no_times`: why no blocks are measured, or ""; `common` as above. */
enum wf_status pair_request_to_json(const struct wf_pair_round *round,
                                    const struct wf_execute_request *common,
                                    const char *no_times,
                                    struct wf_json **ret,
                                    struct wf_error *err);
/* *ret points into itself and into `json`. */
enum wf_status pair_request_from_json(const struct wf_json *json,
                                      struct pair_request *ret,
                                      struct wf_error *err);
void pair_request_fini(struct pair_request *r);

#endif
