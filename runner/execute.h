/* Executing one task on one device: the seam between "what to run" and "how".
 *
 * wf_execute starts the judge (program wavefarm-judge), which starts the subject
 * (program wavefarm-subject); both end before it returns. The caller (the agent or a
 * local run) holds no tensor, no reference and no device, and stays small. Whatever the
 * kernel does, the result is a JSON object of docs/schemas/result.schema.json; an error
 * return means that the runner itself failed (infrastructure). */
#ifndef WF_RUNNER_EXECUTE_H
#define WF_RUNNER_EXECUTE_H

#include "core/error.h"
#include "core/json.h"
#include "runner/device.h"

#include <stdbool.h>
#include <stdint.h>

#define WF_LAUNCHES_MAX 100000
#define WF_SETS_MAX     1024

/* The naive device kernel as a third check (docs/isolation.md). */
enum wf_naive {
    WF_NAIVE_AUTO, /* a real device, a reference that is only sampled, and cheap enough
                    */
    WF_NAIVE_ON,   /* whatever the device and the cost */
    WF_NAIVE_OFF
};

struct wf_measure_options {
    bool measure;         /* false: answer only */
    bool cold;            /* default hot */
    bool icache_cold;     /* every timed launch runs code that is in no instruction
                             cache; code objects only */
    int sets;             /* exactly so many copies of the buffers, which the launches
                             go through in turn; 0: as many as `cold` needs */
    double ci_target;     /* relative half-width of the median's interval, 0: 0.01 */
    int64_t budget_ns;    /* of device time for samples, 0: 2 s */
    int min_samples;      /* 0: 10 */
    int max_samples;      /* 0: 1000 */
    int64_t batch_min_ns; /* launches are batched until a batch lasts this, 0: 50 us on
                             a GPU */
    int launches; /* checked launches on equal inputs, 2 to WF_LAUNCHES_MAX; 0: 3, on a
                     runtime that models 2 */
    enum wf_naive naive;
    /* On a runtime that models (the emulator): */
    bool mfma_exact;  /* MFMA rounds as the hardware does; else FMA */
    bool no_checks;   /* no fault detection */
    bool no_counters; /* no counters */
};

/* "auto", "on" or "off"; EINVAL else. */
enum wf_status wf_naive_parse(const char *text,
                              enum wf_naive *ret,
                              struct wf_error *err);

struct wf_execute_request {
    const char *task_id;   /* copied into the result; may be "" */
    const char *case_json; /* canonical or not; the judge parses it */
    const char *case_name; /* as the suite calls it, for people; may be "" */
    const char *case_id;   /* when the sender knows it: another one that the judge
                              works out is an error; NULL or "": not known */
    const char *pack_folder;
    const char *pack_id;         /* expected */
    const char *provenance_file; /* or NULL */
    const char *kernel;
    const struct wf_device *device;
    const char *dataset_folder;
    uint64_t seed_offset; /* the run's */
    int repetition;
    int attempt;         /* from 1; 0: 1 */
    int64_t deadline_ns; /* whole task, 0: 10 min; the judge keeps it itself and is
                            killed only a grace period later */
    int64_t kernel_deadline_ns; /* one checked launch or one group of timed batches, 0:
                                   60 s; never more than deadline_ns */
    int64_t lock_timeout_ns;    /* waiting for a device that others measure on, 0: 10
                                   min; not part of deadline_ns */
    int threads;                /* for the reference, 0: all */
    double reference_budget_macs; /* 0: the op's default */
    /* The proof that cold is cold on this device, a JSON object's text
     * (runner/cold_probe.h), which a cold result carries; NULL or "": found out before
     * a cold measurement, or taken from this machine's cache. */
    const char *cold_probe;
    bool calibrating; /* measure although the clock is marked as wrong: to find out */
    struct wf_measure_options measure;
    const volatile int *cancel; /* non-zero: kill and answer CANCELLED; may be NULL */
};

enum wf_status wf_execute(const struct wf_execute_request *request,
                          struct wf_json **ret_result,
                          struct wf_error *err);

/* A result without execution (CANCELLED, LOST, INVALID_CASE, NOT_SUPPORTED before any
 * launch): same schema. `detail` is one line for people. */
enum wf_status wf_result_without_run(const struct wf_execute_request *request,
                                     const char *answer,
                                     const char *detail,
                                     struct wf_json **ret_result,
                                     struct wf_error *err);

#endif
