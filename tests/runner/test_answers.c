/* Every kernel of the fixture library gets its answer: the judge is tested by mutants.
 */
#include "task.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/version.h"
#include "packs/pack.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct expectation {
    char kernel[32];
    char answer[24];
    char text[64]; /* must stand in answer_text */
    int measure;
};

ParameterizedTestParameters(answers, each_kernel_gets_its_answer)
{
    static struct expectation list[] = {
        { "right", "PASS", "", 0 },
        { "off_by_one", "MISMATCH", "D[", 0 },
        { "writes_behind", "OUT_OF_BOUNDS", "behind D", 0 },
        { "writes_before", "OUT_OF_BOUNDS", "before A", 0 },
        { "writes_behind_workspace", "OUT_OF_BOUNDS", "workspace", 0 },
        { "trusts_workspace", "UNINITIALISED_READ", "workspaces held", 0 },
        { "modifies_input", "INPUT_MODIFIED", "input B", 0 },
        { "zeroes_everything", "INPUT_MODIFIED", "input A", 0 },
        { "leaves_tail", "UNWRITTEN", "unwritten", 0 },
        { "does_nothing", "UNWRITTEN", "unwritten", 0 },
        { "writes_zeros", "MISMATCH", "", 0 },
        { "writes_nan", "NONFINITE", "", 0 },
        { "crashes", "CRASH", "SIGSEGV", 0 },
        { "exits", "CRASH", "exited with status 0", 0 },
        { "fails", "DEVICE_FAULT", "no more tickets", 0 },
        { "no_memory", "OUT_OF_MEMORY", "another 8 GiB", 0 },
        { "nondeterministic", "NONDETERMINISTIC", "different bits", 0 },
        { "refuses", "NOT_SUPPORTED", "Tuesdays", 0 },
        { "missing_in_library", "BUILD_FAILED", "no kernel missing_in_library", 0 },
        { "computes_in_prepare", "UNWRITTEN", "", 0 }, /* NaN of poison stays itself */
        { "replays_first", "CHEAT_SUSPECTED", "earlier inputs", 1 },
        { "replays_rounded", "CHEAT_SUSPECTED", "stale output", 1 },
    };
    return cr_make_param_array(struct expectation, list,
                               sizeof(list) / sizeof(list[0]));
}

ParameterizedTest(struct expectation *e, answers, each_kernel_gets_its_answer)
{
    struct wf_execute_request request = task_request(e->kernel);
    request.measure.measure = e->measure != 0;
    request.measure.budget_ns = 20000000;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), e->answer, "%s: %s, %s", e->kernel,
                     task_text(result, "answer"), task_text(result, "answer_text"));
    cr_expect(strstr(task_text(result, "answer_text"), e->text), "%s: %s", e->kernel,
              task_text(result, "answer_text"));
    wf_json_free(result);
}

Test(answers, a_hanging_kernel_is_killed_after_its_deadline)
{
    struct wf_execute_request request = task_request("hangs");
    request.kernel_deadline_ns = 300000000;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "TIMEOUT");
    cr_expect(strstr(task_text(result, "answer_text"), "RUN"));
    wf_json_free(result);
}

Test(answers, padding_between_rows_must_stay_unwritten)
{
    struct wf_execute_request request = task_request("writes_padding");
    request.case_json = TASK_CASE_PADDED;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "OUT_OF_BOUNDS", "%s",
                     task_text(result, "answer_text"));
    cr_expect(strstr(task_text(result, "answer_text"), "padding between rows of D"));
    wf_json_free(result);

    request.kernel = "right";
    result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "PASS", "%s",
                     task_text(result, "answer_text"));
    wf_json_free(result);
}

Test(answers, more_memory_than_there_are_addresses_is_out_of_memory)
{
    struct wf_execute_request request = task_request("right");
    request.case_json = "{\"op\":\"gemm\",\"M\":1073741824,\"N\":1073741824,\"K\":1,"
                        "\"a_type\":\"f32\"}";
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "OUT_OF_MEMORY");
    cr_expect(strstr(task_text(result, "answer_text"), "4611686018427387904 bytes"),
              "%s", task_text(result, "answer_text"));
    wf_json_free(result);
}

Test(answers, an_undeclared_case_type_is_not_supported)
{
    struct wf_execute_request request = task_request("right");
    request.case_json = "{\"op\":\"gemm\",\"M\":4,\"N\":4,\"K\":4,\"a_type\":\"f16\"}";
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "NOT_SUPPORTED");
    cr_expect(strstr(task_text(result, "answer_text"), "only f32 N N, not f16"));
    wf_json_free(result);
}

Test(answers, a_case_that_does_not_parse_is_invalid)
{
    struct wf_execute_request request = task_request("right");
    request.case_json = "{\"op\":\"gemm\",\"M\":4,\"N\":4,\"K\":-4}";
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "INVALID_CASE");
    cr_expect(strstr(task_text(result, "answer_text"), "K"));
    cr_expect_eq(task_number(result, "task.case.M"), 4);
    wf_json_free(result);
}

Test(answers, another_case_id_than_the_senders_is_a_runner_error)
{
    struct wf_error err = { 0 };
    struct wf_json *result = NULL;
    struct wf_execute_request request = task_request("right");
    request.case_id =
        "0000000000000000000000000000000000000000000000000000000000000000";
    cr_expect_eq(wf_execute(&request, &result, &err), WF_ECONFLICT);
    cr_expect(strstr(err.text, "different versions"), "%s", err.text);
}

Test(answers, another_pack_than_asked_for_is_a_runner_error)
{
    struct wf_error err = { 0 };
    struct wf_json *result = NULL;
    struct wf_execute_request request = task_request("right");
    request.pack_id =
        "0000000000000000000000000000000000000000000000000000000000000000";
    cr_expect_eq(wf_execute(&request, &result, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "not 0000"), "%s", err.text);

    request.pack_id = NULL;
    request.kernel = "absent";
    cr_expect_eq(wf_execute(&request, &result, &err), WF_ENOTFOUND);
    cr_expect(strstr(err.text, "no kernel absent"), "%s", err.text);
}

Test(answers, a_raised_cancel_flag_ends_the_task)
{
    volatile int cancel = 1;
    struct wf_execute_request request = task_request("hangs");
    request.cancel = &cancel;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "CANCELLED");
    wf_json_free(result);
}

Test(answers, the_result_says_what_ran_and_what_was_checked)
{
    struct wf_execute_request request = task_request("right");
    request.repetition = 3;
    request.attempt = 2;
    request.seed_offset = 7;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "schema"), "wavefarm.result/1");
    cr_expect_str_eq(task_text(result, "task.id"), "t1");
    cr_expect_str_eq(task_text(result, "task.kernel"), "right");
    cr_expect_str_eq(task_text(result, "task.pack_name"), "fixture");
    cr_expect_str_eq(task_text(result, "task.device_selector"), "host:0");
    cr_expect_eq(strlen(task_text(result, "task.case_id")), 64u);
    cr_expect_eq(strlen(task_text(result, "code.sha256")), 64u);
    cr_expect_str_eq(task_text(result, "code.kind"), "library");
    cr_expect_str_eq(task_text(result, "environment.wavefarm"), wf_version);
    cr_expect_eq(strspn(wf_version, "0123456789."), strlen(WF_VERSION));
    cr_expect(strstr(wf_version, " (") && wf_version[strlen(wf_version) - 1] == ')',
              "%s", wf_version);
    cr_expect_eq(task_number(result, "task.repetition"), 3);
    cr_expect_eq(task_number(result, "attempt"), 2);
    cr_expect_eq(task_number(result, "seeds.run_offset"), 7);
    cr_expect_eq(task_number(result, "work.flops"), 2.0 * 37 * 29 * 41);
    cr_expect_geq(wf_json_count(task_member(result, "checks")), 1u);
    cr_expect_str_eq(task_text(result, "time"), "NOT_MEASURED");
    cr_expect_eq(wf_json_type(task_member(result, "timing")), WF_JSON_NULL);
    wf_json_free(result);
}

/* A record as the build writes it beside a pack. */
static void write_provenance(const char *path, const char *pack_folder)
{
    struct wf_error err = { 0 };
    struct wf_pack *pack = NULL;
    struct wf_buf text = WF_BUF_INIT;
    cr_assert_eq(wf_pack_open(pack_folder, &pack, &err), WF_OK, "%s", err.text);
    cr_assert_eq(
        wf_buf_printf(&text, &err,
                      "{\"schema\":\"wavefarm.provenance/1\",\"pack\":\"%s\","
                      "\"built_at\":\"2026-12-01T03:04:05.678Z\","
                      "\"repository\":null,\"commit\":\"%040d\",\"parents\":[],"
                      "\"dirty\":true,\"kernels\":{\"right\":{\"compiler\":\"cc\","
                      "\"compiler_version\":\"12\",\"flags\":[\"-O3\",\"-DM=1\"],"
                      "\"source\":\"right.c\",\"source_sha256\":\"%064d\"},"
                      "\"fails\":{\"compiler\":\"cc\",\"compiler_version\":\"\","
                      "\"flags\":[],\"source\":\"fails.c\","
                      "\"source_sha256\":\"%064d\"}}}",
                      wf_pack_id(pack), 1, 2, 3),
        WF_OK);
    cr_assert_eq(wf_file_write_atomic(path, text.data, text.len, &err), WF_OK, "%s",
                 err.text);
    wf_buf_free(&text);
    wf_pack_free(pack);
}

Test(answers, the_result_says_how_the_kernel_was_built)
{
    char path[] = "/tmp/wavefarm-provenance-XXXXXX";
    struct wf_execute_request request = task_request("right");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    (void)close(fd);
    write_provenance(path, request.pack_folder);
    request.provenance_file = path;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "code.compiler"), "cc 12");
    cr_expect_str_eq(task_text(result, "code.flags"), "-O3 -DM=1");
    cr_expect_str_eq(task_text(result, "code.commit"),
                     "0000000000000000000000000000000000000001");
    wf_json_free(result);

    request.kernel = "fails";
    result = task_run(&request);
    cr_expect_str_eq(task_text(result, "code.compiler"), "cc");
    cr_expect_str_eq(task_text(result, "code.flags"), "");
    wf_json_free(result);
    (void)unlink(path);
}

Test(answers, a_result_without_a_run_has_the_same_shape)
{
    struct wf_error err = { 0 };
    struct wf_json *result = NULL;
    struct wf_execute_request request = task_request("right");
    cr_assert_eq(wf_result_without_run(&request, "LOST", "3 attempts", &result, &err),
                 WF_OK);
    cr_expect_str_eq(task_text(result, "answer"), "LOST");
    cr_expect_str_eq(task_text(result, "answer_text"), "3 attempts");
    cr_expect_str_eq(task_text(result, "task.op"), "gemm");
    wf_json_free(result);
    cr_expect_eq(wf_result_without_run(&request, "PASS", "", &result, &err), WF_EINVAL);
    cr_expect_eq(wf_result_without_run(&request, "FINE", "", &result, &err), WF_EINVAL);
}
