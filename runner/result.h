/* A result while it is being found, and its JSON form (docs/wire.md, section Result).
 */
#ifndef WF_RUNNER_RESULT_H
#define WF_RUNNER_RESULT_H

#include "kernels/op.h"
#include "runner/execute.h"

struct result_sample {
    double ns;                                /* per launch, as the clock said it */
    double clock_mhz, power_w, temperature_c; /* NaN: unknown */
    uint32_t reasons;                         /* of throttle.h */
    bool flagged;                             /* taken while throttled */
};

struct result_timing {
    const char *source; /* "device-events", "self"; NULL: there is no timing */
    uint32_t launches_per_sample;
    uint64_t warmup_launches;
    struct result_sample *sample;
    size_t count;
    double host_ratio; /* NaN: not known */
    bool has_power;
};

struct result_phases {
    int64_t prepare, reference, judge, measure, total; /* ns */
};

/* Facts of the case; texts NULL when it did not parse. Kept apart from wf_case so that
 * who only reports needs no ops. */
struct result_case {
    const char *canonical, *id, *label, *op, *math_type;
    double flops, bytes;
    uint64_t seed;
};

/* Texts are borrowed or constant; arrays, `provenance` and `details` are owned. */
struct result {
    const struct wf_execute_request *request;
    struct result_case c;
    const char *pack_name; /* NULL: unknown */
    const char *code_kind; /* "code-object" ..., "" */
    const char *code_sha256;
    const char *source;
    struct wf_json *provenance; /* NULL: none */
    enum wf_answer answer;
    char answer_text[600];
    bool has_report;
    struct wf_check_report report;
    enum wf_time time;
    char time_text[300];
    struct result_timing timing;
    double peak_flops, peak_bytes_per_s, roofline_ns;
    struct result_phases phases;
    uint64_t judge_peak_bytes, subject_peak_bytes, case_bytes;
    uint64_t reference_bytes;  /* part of judge_peak_bytes; 0: no reference was made */
    struct wf_json *details;   /* an object */
    struct wf_json *placement; /* of judge and subject while measured; NULL: not */
};

enum wf_status result_init(struct result *r,
                           const struct wf_execute_request *request,
                           struct wf_error *err);
void result_fini(struct result *r);
/* Keeps the answer that comes first in the table of answers; the text belongs to the
 * one that is kept. */
void result_answer(struct result *r, enum wf_answer answer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void result_time(struct result *r, enum wf_time time, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
enum wf_status result_to_json(const struct result *r,
                              struct wf_json **ret,
                              struct wf_error *err);

/* result_timing.c: the "timing" member; null when there is no timing. */
enum wf_status result_timing_to_json(const struct result_timing *t,
                                     struct wf_json **ret,
                                     struct wf_error *err);
/* Samples that count: finite, positive, not flagged. Caller frees *ret. */
enum wf_status result_valid_samples(const struct result_timing *t,
                                    double **ret,
                                    size_t *ret_count,
                                    struct wf_error *err);
/* result_errors.c: the "errors" member; "peers" and "tolerance.inputs" into `obj`. */
enum wf_status result_errors_to_json(const struct wf_check_report *c,
                                     struct wf_json **ret,
                                     struct wf_error *err);
enum wf_status result_set_peers(const struct wf_check_report *c,
                                struct wf_json *obj,
                                struct wf_error *err);
enum wf_status result_set_tolerance_inputs(const struct wf_check_report *c,
                                           struct wf_json *tolerance,
                                           struct wf_error *err);
/* result_environment.c */
enum wf_status result_environment_to_json(const struct wf_device *device,
                                          const struct wf_json *placement,
                                          struct wf_json **ret,
                                          struct wf_error *err);

#endif
