/* A judge that works: started with a request, listened to, ended. Shared by wf_execute
 * and wf_pair_round; private to the runner.
 *
 * The judge keeps its deadlines itself; this side waits longer and then kills. The
 * judge's and the subject's process groups are killed in any case, so that nothing
 * stays behind. */
#ifndef WF_RUNNER_JUDGING_H
#define WF_RUNNER_JUDGING_H

#include "core/buf.h"
#include "core/error.h"
#include "core/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Called with each "pair" line's JSON; an error ends the wait. */
typedef enum wf_status (*judging_part_fn)(void *ctx,
                                          const char *json,
                                          struct wf_error *err);

struct judging {
    pid_t judge;
    pid_t subject; /* 0: not told yet */
    int pipe;
    struct wf_buf text; /* what came so far, less parts that were handed on */
    size_t seen;        /* bytes of it that are whole lines already looked at */
    char stage[64];
    int64_t since_ns;   /* when it was started or gave its last part */
    int64_t waiting_ns; /* when it began to wait for the device; 0: it does not */
    int64_t waited_ns;
    bool has_result;
    bool is_error;
    size_t result_at; /* where the JSON of "result" or "error" begins in text */
    judging_part_fn part;
    void *ctx; /* of part */
};

struct judging_limits {
    int64_t deadline_ns; /* to the result or the next part; the grace period comes on
                            top */
    int64_t lock_timeout_ns;
    const volatile int *cancel; /* may be NULL */
};

#define JUDGING_INIT                     \
    {                                    \
        .pipe = -1, .stage = { "start" } \
    }

enum wf_status judging_start(struct judging *r,
                             const struct wf_json *request,
                             struct wf_error *err);
/* Until a result has come or the judge is gone. */
enum wf_status judging_wait(struct judging *r,
                            const struct judging_limits *limits,
                            bool *ret_cancelled,
                            struct wf_error *err);
/* Ends everything; nothing of it runs any more. */
void judging_end(struct judging *r, int *ret_wait);
/* What came, after judging_end: the result, or the judge's error, or how it died. */
enum wf_status judging_unpack(const struct judging *r,
                              int wait,
                              struct wf_json **ret,
                              struct wf_error *err);
void judging_free(struct judging *r);

#endif
