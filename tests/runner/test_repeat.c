/* Repeated launches on equal inputs: what they find, and what is kept of them. The
 * kernels are in fixture_kernels.c, those that are declared non-deterministic in
 * task.c.
 */
#include "task.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

struct expectation {
    char kernel[32];
    int launches; /* 0: as many as there are by default */
    char answer[24];
    char text[64]; /* must stand in answer_text */
    int distinct;  /* outputs; 0: whatever */
};

ParameterizedTestParameters(repeat, launches_find_what_there_is)
{
    static struct expectation list[] = {
        { "right", 0, "PASS", "", 1 },
        { "right", 20, "PASS", "", 1 },
        { "right_declared", 0, "PASS", "", 1 },
        { "reorders", 0, "NONDETERMINISTIC", "launch 2 on equal inputs", 2 },
        { "reorders_declared", 6, "PASS", "", 6 },
        { "wrong_in_launch_5", 4, "PASS", "", 1 },
        { "wrong_in_launch_5", 5, "MISMATCH", "launch 5 of 5", 2 },
        { "wrong_in_launch_50", 49, "PASS", "", 1 },
        { "wrong_in_launch_50", 50, "NONDETERMINISTIC", "launch 50", 2 },
        { "leaves_gap_in_launch_4", 3, "PASS", "", 1 },
        { "leaves_gap_in_launch_4", 5, "UNWRITTEN", "launch 4 of 5", 2 },
        { "modifies_input_in_launch_3", 2, "PASS", "", 1 },
        { "modifies_input_in_launch_3", 3, "INPUT_MODIFIED", "input B", 1 },
        { "keeps_the_larger", 2, "UNINITIALISED_READ", "what they held", 2 },
    };
    return cr_make_param_array(struct expectation, list,
                               sizeof(list) / sizeof(list[0]));
}

ParameterizedTest(struct expectation *e, repeat, launches_find_what_there_is)
{
    struct wf_execute_request request = task_request(e->kernel);
    request.measure.launches = e->launches;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), e->answer, "%s, %d launches: %s, %s",
                     e->kernel, e->launches, task_text(result, "answer"),
                     task_text(result, "answer_text"));
    cr_expect(strstr(task_text(result, "answer_text"), e->text), "%s: %s", e->kernel,
              task_text(result, "answer_text"));
    cr_expect_eq(task_number(result, "details.distinct_outputs"), e->distinct,
                 "%s: %g distinct outputs", e->kernel,
                 task_number(result, "details.distinct_outputs"));
    if (strcmp(e->answer, "PASS") == 0) {
        cr_expect_eq(task_number(result, "details.launches"),
                     e->launches ? e->launches : 3);
    }
    wf_json_free(result);
}

/* vllm-project/vllm PR#54706: one row, 200 calls, another answer on every call. */
Test(repeat, two_hundred_calls_are_all_judged_and_counted)
{
    struct wf_execute_request request = task_request("reorders_declared");
    bool equal = true;
    request.case_json =
        "{\"op\":\"gemm\",\"M\":1,\"N\":29,\"K\":211,\"a_type\":\"f32\"}";
    request.measure.launches = 200;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "PASS", "%s",
                     task_text(result, "answer_text"));
    cr_expect_eq(task_number(result, "details.launches"), 200);
    cr_expect_eq(task_number(result, "details.distinct_outputs"), 200, "%g",
                 task_number(result, "details.distinct_outputs"));
    cr_expect(
        wf_json_as_bool(task_member(result, "details.bitwise_repeatable"), &equal));
    cr_expect_not(equal);
    wf_json_free(result);
}

static double worst_of(const struct wf_json *result)
{
    double worst = 0;
    const struct wf_json *check = wf_json_at(task_member(result, "checks"), 0);
    cr_assert(wf_json_as_f64(wf_json_find(check, "worst_ratio"), &worst));
    return worst;
}

Test(repeat, the_largest_error_of_all_launches_is_kept)
{
    struct wf_execute_request request = task_request("reorders_declared");
    request.measure.launches = 2;
    struct wf_json *few = task_run(&request);
    request.measure.launches = 40;
    struct wf_json *many = task_run(&request);
    cr_expect_gt(worst_of(many), worst_of(few));
    wf_json_free(few);
    wf_json_free(many);
}

Test(repeat, what_only_swings_when_warm_is_found_after_the_timed_launches)
{
    struct wf_execute_request request = task_request("swings_when_warm");
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "PASS", "%s",
                     task_text(result, "answer_text"));
    wf_json_free(result);

    request.measure.measure = true;
    request.measure.budget_ns = 20000000;
    result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "NONDETERMINISTIC", "%s",
                     task_text(result, "answer_text"));
    wf_json_free(result);

    request = task_request("right");
    request.measure.measure = true;
    request.measure.budget_ns = 20000000;
    result = task_run(&request);
    bool equal = false;
    cr_expect(wf_json_as_bool(task_member(result, "details.timed_repeatable"), &equal));
    cr_expect(equal);
    wf_json_free(result);
}

Test(repeat, one_launch_is_no_repetition)
{
    struct wf_error err = { 0 };
    struct wf_json *result = NULL;
    struct wf_execute_request request = task_request("right");
    request.measure.launches = 1;
    cr_expect_eq(wf_execute(&request, &result, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "2 to 100000"), "%s", err.text);
}
