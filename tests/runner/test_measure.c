/* Measuring on the host runtime, the deadlines, and what a task leaves behind. */
#include "task.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the two programs take themselves in the memory test, whatever the case: their
 * code and OpenBLAS (14 MiB both, seen with a case of 2 KiB), the window of 8 MiB that
 * both map, and what OpenBLAS packs. A sanitizer needs much memory itself. */
#ifdef __SANITIZE_ADDRESS__
#define PROGRAM_BYTES (512.0 * 1024 * 1024)
#else
#define PROGRAM_BYTES (40.0 * 1024 * 1024)
#endif

static void expect_figures_in_order(const struct wf_json *result)
{
    double min = task_number(result, "timing.min");
    double median = task_number(result, "timing.median");
    double max = task_number(result, "timing.max");
    cr_expect_gt(min, 0);
    cr_expect_leq(min, median);
    cr_expect_leq(median, max);
    cr_expect_leq(task_number(result, "timing.q1"), median);
    cr_expect_geq(task_number(result, "timing.q3"), median);
}

Test(measure, a_right_kernel_gets_samples_and_a_verdict)
{
    struct wf_execute_request request = task_request("right");
    request.measure.measure = true;
    request.measure.budget_ns = 50000000;
    request.measure.max_samples = 40;
    struct wf_json *result = task_run(&request);
    const char *time = task_text(result, "time");
    cr_expect_str_eq(task_text(result, "answer"), "PASS", "%s",
                     task_text(result, "answer_text"));
    cr_expect(strcmp(time, "OK") == 0 || strcmp(time, "NOISY") == 0, "%s: %s", time,
              task_text(result, "time_text"));
    cr_expect_str_eq(task_text(result, "timing.source"), "device-events");
    size_t samples = wf_json_count(task_member(result, "timing.samples"));
    cr_expect(samples >= 3 && samples <= 40, "%zu samples", samples);
    cr_expect_geq(task_number(result, "timing.launches_per_sample"), 1);
    expect_figures_in_order(result);
    cr_expect_gt(task_number(result, "phases_ns.measure"), 0);
    wf_json_free(result);
}

Test(measure, a_kernel_of_wild_times_is_noisy)
{
    struct wf_execute_request request = task_request("noisy");
    request.measure.measure = true;
    request.measure.budget_ns = 300000000;
    request.measure.max_samples = 40;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "PASS", "%s",
                     task_text(result, "answer_text"));
    cr_expect_str_eq(task_text(result, "time"), "NOISY", "%s",
                     task_text(result, "time_text"));
    wf_json_free(result);
}

Test(measure, nothing_is_measured_beside_a_wrong_answer)
{
    struct wf_execute_request request = task_request("off_by_one");
    request.measure.measure = true;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "MISMATCH");
    cr_expect_str_eq(task_text(result, "time"), "NOT_MEASURED");
    cr_expect_eq(wf_json_type(task_member(result, "timing")), WF_JSON_NULL);
    wf_json_free(result);
}

Test(measure, bad_options_are_refused_before_anything_starts)
{
    struct wf_error err = { 0 };
    struct wf_json *result = NULL;
    struct wf_execute_request request = task_request("right");
    request.measure.min_samples = 50;
    request.measure.max_samples = 10;
    cr_expect_eq(wf_execute(&request, &result, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "50 to 10 samples"), "%s", err.text);
    request = task_request("right");
    request.measure.ci_target = -1;
    cr_expect_eq(wf_execute(&request, &result, &err), WF_EINVAL);
    request = task_request("right");
    request.deadline_ns = -1;
    cr_expect_eq(wf_execute(&request, &result, &err), WF_EINVAL);
    request = task_request("right");
    request.pack_id = "abc";
    cr_expect_eq(wf_execute(&request, &result, &err), WF_EINVAL);
}

Test(measure, the_tasks_deadline_ends_a_kernel_that_would_have_longer)
{
    struct wf_execute_request request = task_request("hangs");
    request.deadline_ns = 500000000;
    request.kernel_deadline_ns = (int64_t)3600 * 1000000000;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "TIMEOUT");
    wf_json_free(result);
}

/* Children of this process, zombies included. */
static size_t count_children(void)
{
    char path[64];
    char text[4096] = "";
    size_t n = 0;
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f);
    if (fgets(text, sizeof(text), f)) {
        for (char *p = text; *p; p++) {
            n += *p == ' ';
        }
    }
    (void)fclose(f);
    return n;
}

Test(measure, nothing_is_left_behind)
{
    static const char *const kernels[] = { "right", "crashes", "exits", "hangs" };
    /* Orphans of the judge would become children of this process. */
    cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        struct wf_execute_request request = task_request(kernels[i]);
        request.kernel_deadline_ns = 300000000;
        wf_json_free(task_run(&request));
        cr_expect_eq(count_children(), 0u, "%s left a process", kernels[i]);
    }
}

static volatile int cancel_flag;

static void raise_cancel(int signal_number)
{
    (void)signal_number;
    cancel_flag = 1;
}

Test(measure, a_task_cancelled_in_the_middle_ends_with_all_its_processes)
{
    const struct sigaction action = { .sa_handler = raise_cancel };
    const struct itimerval soon = { .it_value = { .tv_usec = 300000 } };
    struct wf_execute_request request = task_request("hangs");
    cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    cr_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
    request.cancel = &cancel_flag;
    cr_assert_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "CANCELLED");
    wf_json_free(result);
    /* The killed subject has become this process's child; it ends without further ado.
     */
    while (waitpid(-1, NULL, 0) > 0) {
    }
    cr_expect_eq(count_children(), 0u);
}

/* A case of gemm-five, by the kernel and the reference that users have. */
Test(measure, subject_and_judge_hold_little_more_than_the_case_and_the_reference)
{
    struct wf_execute_request request = task_request("gemm_openblas");
    request.pack_folder = HOST_PACK;
    request.case_json = "{\"op\":\"gemm\",\"M\":2048,\"N\":1280,\"K\":5120,"
                        "\"trans_b\":\"T\",\"a_type\":\"f16\"}";
    request.threads = 2;
    request.deadline_ns = (int64_t)110 * 1000000000;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "PASS", "%s",
                     task_text(result, "answer_text"));
    double bytes = task_number(result, "memory.case_bytes");
    double reference = task_number(result, "memory.reference_bytes");
    double judge = task_number(result, "memory.judge_peak_bytes");
    double subject = task_number(result, "memory.subject_peak_bytes");
    cr_expect_gt(subject, bytes, "it holds the case");
    cr_expect_gt(judge, reference, "it holds the reference");
    cr_expect_gt(reference, 2.0 * (2048 + 1280) * 5120, "A and B at least");
    cr_expect_leq(judge + subject, 1.3 * bytes + reference + PROGRAM_BYTES,
                  "judge %.0f + subject %.0f of a case of %.0f bytes, reference %.0f",
                  judge, subject, bytes, reference);
    wf_json_free(result);
}
