/* The body of POST /v1/gates, read and checked, and read again when devices are known.
 * No database. */
#ifndef WF_COORDINATOR_GATE_REQUEST_H
#define WF_COORDINATOR_GATE_REQUEST_H

#include "coordinator/run_request.h"
#include "gate/header.h"

struct wf_gate_request {
    struct wf_run_request *run;   /* packs, kernels, and a case a pair in their order */
    const struct wf_json *header; /* in run->root, with an id and a seed of our own */
    const struct wf_json *static_line; /* static comparisons, or NULL; in run->root */
    struct wf_gate_record *record;     /* of that header: its pairs */
    size_t
        *kernel; /* of each pair: the candidate's, else the base's, in run->kernels */
    struct wf_buf archs; /* array literal: what the kernels have code for; "": any */
    uint64_t memory_bytes;
    char *text; /* the whole as JSON, to be read again */
};

/* EPARSE or EINVAL; the text names the member. */
enum wf_status wf_gate_request_read(struct wf_request *req,
                                    const struct wf_dataset_resolver *datasets,
                                    struct wf_gate_request **ret,
                                    struct wf_error *err);
/* `text` of an earlier one, spread over `groups` groups: same id, seed and time.
 * `adjust`, when not NULL, changes the header before it is checked. */
typedef enum wf_status (*wf_gate_adjust_fn)(void *ctx,
                                            struct wf_json *header,
                                            struct wf_error *err);
enum wf_status wf_gate_request_again(const char *text,
                                     int groups,
                                     wf_gate_adjust_fn adjust,
                                     void *ctx,
                                     const struct wf_dataset_resolver *datasets,
                                     struct wf_gate_request **ret,
                                     struct wf_error *err);
void wf_gate_request_free(struct wf_gate_request *g);

#endif
