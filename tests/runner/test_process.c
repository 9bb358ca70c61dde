/* The process kind end to end, with the example adapter (tests/packs/process_example).
 */
#include "core/file.h"
#include "packs/pack.h"
#include "task.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[128];

static void remove_folder(void)
{
    (void)wf_remove_tree(folder, NULL);
}

static void copy_file(const char *name)
{
    char from[512];
    char to[512];
    struct wf_buf text = WF_BUF_INIT;
    struct wf_error err = { 0 };
    (void)snprintf(from, sizeof(from), "%s/%s", PROCESS_EXAMPLE, name);
    (void)snprintf(to, sizeof(to), "%s/%s", folder, name);
    cr_assert_eq(wf_file_read(from, 1 << 20, &text, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_file_write_atomic(to, text.data, text.len, &err), WF_OK, "%s",
                 err.text);
    wf_buf_free(&text);
}

static struct wf_execute_request process_request(void)
{
    struct wf_error err = { 0 };
    struct wf_pack *pack = NULL;
    struct wf_execute_request request = task_request("gemm_python");
    (void)snprintf(folder, sizeof(folder), "/tmp/wavefarm-process-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    (void)atexit(remove_folder);
    copy_file("adapter.py");
    copy_file("pack.json.in");
    cr_assert_eq(wf_pack_build(folder, &pack, &err), WF_OK, "%s", err.text);
    wf_pack_free(pack);
    request.pack_folder = folder;
    request.case_json = "{\"op\":\"gemm\",\"M\":9,\"N\":7,\"K\":11,\"a_type\":\"f32\"}";
    request.measure.budget_ns = 200000000;
    request.measure.max_samples = 10;
    return request;
}

Test(process, a_command_is_judged_and_times_itself)
{
    struct wf_execute_request request = process_request();
    request.measure.measure = true;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "PASS", "%s",
                     task_text(result, "answer_text"));
    cr_expect_str_eq(task_text(result, "time"), "SELF_TIMED", "%s",
                     task_text(result, "time_text"));
    cr_expect_str_eq(task_text(result, "timing.source"), "self");
    cr_expect_gt(task_number(result, "timing.median"), 0);
    cr_expect_gt(task_number(result, "timing.launches_per_sample"), 1,
                 "batches of at least 50 ms");
    cr_expect_str_eq(task_text(result, "code.kind"), "process");
    wf_json_free(result);
}

struct bug {
    char name[16];
    char answer[24];
    char text[48];
    int measure;
};

ParameterizedTestParameters(process, each_bug_gets_its_answer)
{
    static struct bug list[] = {
        { "wrong", "MISMATCH", "", 0 },
        { "crash", "CRASH", "signal 6", 0 },
        { "stale", "UNWRITTEN", "nonce", 0 },
        { "no-file", "UNWRITTEN", "answer file", 0 },
        { "chatter", "CRASH", "makes no sense", 0 },
        { "replay", "CHEAT_SUSPECTED", "earlier inputs", 1 },
    };
    return cr_make_param_array(struct bug, list, sizeof(list) / sizeof(list[0]));
}

ParameterizedTest(struct bug *b, process, each_bug_gets_its_answer)
{
    struct wf_execute_request request = process_request();
    (void)setenv("PROCESS_EXAMPLE_BUG", b->name, 1);
    request.measure.measure = b->measure != 0;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), b->answer, "%s: %s, %s", b->name,
                     task_text(result, "answer"), task_text(result, "answer_text"));
    cr_expect(strstr(task_text(result, "answer_text"), b->text), "%s: %s", b->name,
              task_text(result, "answer_text"));
    wf_json_free(result);
}

Test(process, a_command_that_cannot_be_started_is_no_fault_of_the_machine)
{
    static const char *const commands[] = { "/nonexistent/x", "/tmp", "/etc/passwd",
                                            "/etc/passwd/x" };
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char path[512];
        struct wf_error err = { 0 };
        struct wf_pack *pack = NULL;
        struct wf_execute_request request = process_request();
        char *text = wf_asprintf(
            "{\"schema\":\"wavefarm.pack/1\",\"name\":\"p\",\"kernels\":[{\"name\":"
            "\"gemm_python\",\"op\":\"gemm\",\"kind\":\"process\",\"arch\":[\"x86-64\"],"
            "\"command\":[\"%s\"]}]}",
            commands[i]);
        (void)snprintf(path, sizeof(path), "%s/pack.json.in", folder);
        cr_assert_eq(wf_file_write_atomic(path, text, strlen(text), &err), WF_OK);
        cr_assert_eq(wf_pack_build(folder, &pack, &err), WF_OK, "%s", err.text);
        struct wf_json *result = task_run(&request);
        cr_expect_str_eq(task_text(result, "answer"), "BUILD_FAILED");
        cr_expect(strstr(task_text(result, "answer_text"), "cannot start"), "%s",
                  task_text(result, "answer_text"));
        wf_json_free(result);
        wf_pack_free(pack);
        free(text);
        remove_folder();
    }
}

/* A process whose command line holds the text. */
static bool is_running(const char *text)
{
    char path[300];
    char line[4096];
    bool found = false;
    DIR *proc = opendir("/proc");
    cr_assert_not_null(proc);
    for (const struct dirent *e; !found && (e = readdir(proc)) != NULL;) {
        (void)snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
        int fd = isdigit((unsigned char)e->d_name[0]) ? open(path, O_RDONLY) : -1;
        ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line));
        found = n > 0 && memmem(line, (size_t)n, text, strlen(text)) != NULL;
        (void)close(fd);
    }
    (void)closedir(proc);
    return found;
}

Test(process, what_leaves_its_group_does_not_outlive_the_task)
{
    char path[512];
    struct wf_error err = { 0 };
    struct wf_pack *pack = NULL;
    struct wf_execute_request request = process_request();
    static const char text[] =
        "{\"schema\":\"wavefarm.pack/1\",\"name\":\"p\",\"kernels\":[{\"name\":"
        "\"gemm_python\",\"op\":\"gemm\",\"kind\":\"process\",\"arch\":[\"x86-64\"],"
        "\"command\":[\"sh\",\"-c\",\"setsid -f sh -c 'echo . >ready; exec tail -f $0' $0"
        " >/dev/null 2>&1 </dev/null; until [ -s ready ]; do :; done; exit 3\","
        "\"{pack}/pack.json.in\"]}]}";
    (void)snprintf(path, sizeof(path), "%s/pack.json.in", folder);
    cr_assert_eq(wf_file_write_atomic(path, text, strlen(text), &err), WF_OK);
    cr_assert_eq(wf_pack_build(folder, &pack, &err), WF_OK, "%s", err.text);
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "CRASH");
    cr_expect(strstr(task_text(result, "answer_text"), "status 3"), "%s",
              task_text(result, "answer_text"));
    cr_expect_not(is_running(path));
    wf_json_free(result);
    wf_pack_free(pack);
}

Test(process, a_hanging_command_is_killed)
{
    struct wf_execute_request request = process_request();
    (void)setenv("PROCESS_EXAMPLE_BUG", "hang", 1);
    request.kernel_deadline_ns = 500000000;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "TIMEOUT");
    wf_json_free(result);
}

Test(process, a_command_that_lies_about_its_time_is_implausible)
{
    struct wf_execute_request request = process_request();
    (void)setenv("PROCESS_EXAMPLE_BUG", "lies", 1);
    request.measure.measure = true;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "PASS");
    cr_expect_str_eq(task_text(result, "time"), "IMPLAUSIBLE");
    wf_json_free(result);
}

Test(process, a_refusal_is_an_answer)
{
    struct wf_execute_request request = process_request();
    request.case_json = "{\"op\":\"gemm\",\"M\":9,\"N\":7,\"K\":11,\"a_type\":\"f16\"}";
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "NOT_SUPPORTED", "%s",
                     task_text(result, "answer_text"));
    cr_expect(strstr(task_text(result, "answer_text"), "only f32"));
    wf_json_free(result);
}
