/* Group commit of results: requests hand their rows over, one thread stores the rows of
 * many requests in one transaction and then answers each. */
#ifndef WF_COORDINATOR_INGEST_H
#define WF_COORDINATOR_INGEST_H

#include "coordinator/api.h"

struct wf_ingest; /* opaque */

enum wf_result_status {
    WF_RESULT_STALE, /* until it is known better */
    WF_RESULT_ACCEPTED,
    WF_RESULT_DUPLICATE,
    WF_RESULT_INVALID
};

struct wf_ingest_row {
    char task[24], shard[24];
    struct wf_buf line; /* columns of the stage after seq; empty: not stored */
    enum wf_result_status status;
    bool gate;        /* of a gate's round */
    char detail[256]; /* why it is invalid or stale */
};

struct wf_ingest_job {
    struct wf_request *req;
    struct wf_ingest_row *row;
    size_t count;
    struct wf_ingest_job *next;
};

/* Columns of the stage after `seq`, as a row's line must have them. */
#define WF_STAGE_COLUMNS                                                    \
    "shard_id, token, task_id, digest, case_id, kernel, " WF_RESULT_COLUMNS \
    ", " WF_SAMPLE_COLUMNS
/* Makes the stage on a connection; RESULTS_ACCEPT and RESULTS_WHY need it. */
extern const char wf_ingest_stage_sql[];

enum wf_status wf_ingest_start(struct wf_app *app,
                               struct wf_ingest **ret,
                               struct wf_error *err);
/* Takes the job over; its request is completed later, from another thread. */
void wf_ingest_submit(struct wf_ingest *in, struct wf_ingest_job *job);
/* Stores what was submitted, then ends. NULL is good. */
void wf_ingest_stop(struct wf_ingest *in);

struct wf_ingest_job *wf_ingest_job_create(struct wf_request *req,
                                           size_t rows); /* or NULL */
void wf_ingest_job_free(struct wf_ingest_job *job);

#endif
