/* Running a task on the fixture library: shared by the runner's end-to-end tests. */
#ifndef WF_TESTS_RUNNER_TASK_H
#define WF_TESTS_RUNNER_TASK_H

#include "runner/execute.h"

/* A folder with the fixture pack, made once; the path stays valid. */
const char *task_pack(void);
/* A request for a kernel of that pack on host:0: 37 x 29 x 41, answer only. */
struct wf_execute_request task_request(const char *kernel);
#define TASK_CASE "{\"op\":\"gemm\",\"M\":37,\"N\":29,\"K\":41,\"a_type\":\"f32\"}"
#define TASK_CASE_PADDED \
    "{\"op\":\"gemm\",\"M\":37,\"N\":29,\"K\":41,\"a_type\":\"f32\",\"ldd\":32}"

/* Runs it; a test fails when the runner itself fails. Caller frees. */
struct wf_json *task_run(const struct wf_execute_request *request);
/* Member by path "timing.samples"; the test fails when it is not there. */
const struct wf_json *task_member(const struct wf_json *result, const char *path);
const char *task_text(const struct wf_json *result, const char *path);
double task_number(const struct wf_json *result, const char *path);

#endif
