/* The fixture pack is made from the built library with wf_pack_build, in a folder below
 * the build's own. */
#include "task.h"

#include "core/file.h"
#include "packs/pack.h"

#include <criterion/criterion.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *const kernels[] = {
    "right",
    "off_by_one",
    "writes_behind",
    "writes_before",
    "writes_behind_workspace",
    "trusts_workspace",
    "writes_padding",
    "modifies_input",
    "zeroes_everything",
    "leaves_tail",
    "does_nothing",
    "writes_zeros",
    "writes_nan",
    "crashes",
    "exits",
    "hangs",
    "fails",
    "no_memory",
    "nondeterministic",
    "reorders",
    "wrong_in_launch_50",
    "modifies_input_in_launch_3",
    "swings_when_warm",
    "crashes_when_warm",
    "keeps_the_larger",
    "replays_first",
    "replays_rounded",
    "noisy",

    "computes_in_prepare",
    "refuses",
    "missing_in_library",
};

/* Declared to give other bits now and then. */
static const char *const unordered[] = {
    "reorders_declared",
    "right_declared",
    "wrong_in_launch_5",
    "leaves_gap_in_launch_4",
};

static char folder[256];
static struct wf_device device;

static void remove_folder(void)
{
    (void)wf_remove_tree(folder, NULL);
}

static void describe_kernel(struct wf_buf *text, const char *name, bool deterministic)
{
    struct wf_error err = { 0 };
    cr_assert_eq(wf_buf_printf(text, &err,
                               "{\"name\":\"%s\",\"op\":\"gemm\",\"kind\":\"library\","
                               "\"arch\":[\"x86-64\"],\"library\":\"fixture.so\","
                               "\"deterministic\":%s}",
                               name, deterministic ? "true" : "false"),
                 WF_OK);
}

static void write_description(struct wf_error *err)
{
    char path[300];
    struct wf_buf text = WF_BUF_INIT;
    (void)wf_buf_puts(&text,
                      "{\"schema\":\"wavefarm.pack/1\",\"name\":\"fixture\","
                      "\"kernels\":[",
                      err);
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        (void)wf_buf_puts(&text, i ? "," : "", err);
        describe_kernel(&text, kernels[i], true);
    }
    for (size_t i = 0; i < sizeof(unordered) / sizeof(unordered[0]); i++) {
        (void)wf_buf_puts(&text, ",", err);
        describe_kernel(&text, unordered[i], false);
    }
    (void)wf_buf_puts(&text, "]}", err);
    (void)snprintf(path, sizeof(path), "%s/pack.json.in", folder);
    cr_assert_eq(wf_file_write_atomic(path, text.data, text.len, err), WF_OK, "%s",
                 err->text);
    wf_buf_free(&text);
}

const char *task_pack(void)
{
    struct wf_error err = { 0 };
    struct wf_pack *pack = NULL;
    char path[300];
    struct wf_buf image = WF_BUF_INIT;
    if (folder[0]) {
        return folder;
    }
    (void)snprintf(folder, sizeof(folder), "/tmp/wavefarm-fixture-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    (void)atexit(remove_folder);
    cr_assert_eq(wf_file_read(FIXTURE_LIBRARY, 64u << 20, &image, &err), WF_OK, "%s",
                 err.text);
    (void)snprintf(path, sizeof(path), "%s/fixture.so", folder);
    cr_assert_eq(wf_file_write_atomic(path, image.data, image.len, &err), WF_OK);
    wf_buf_free(&image);
    write_description(&err);
    cr_assert_eq(wf_pack_build(folder, &pack, &err), WF_OK, "%s", err.text);
    wf_pack_free(pack);
    return folder;
}

struct wf_execute_request task_request(const char *kernel)
{
    struct wf_error err = { 0 };
    if (!device.runtime[0]) {
        cr_assert_eq(wf_device_open("host:0", &device, &err), WF_OK, "%s", err.text);
    }
    return (struct wf_execute_request){
        .task_id = "t1",
        .case_json = TASK_CASE,
        .case_name = "37x29x41",
        .pack_folder = task_pack(),
        .kernel = kernel,
        .device = &device,
        .deadline_ns = (int64_t)60 * 1000000000,
        .kernel_deadline_ns = (int64_t)20 * 1000000000,
        .threads = 1,
    };
}

/* Every result of every test is as the schema says. */
static void expect_schema(const struct wf_json *result)
{
    char path[] = "/tmp/wavefarm-result-XXXXXX";
    char python[] = "python3";
    char script[] = SOURCE_FOLDER "/tests/support/validate_schema.py";
    char schema[] = SOURCE_FOLDER "/docs/schemas/result.schema.json";
    char *argv[] = { python, script, schema, path, NULL };
    struct wf_buf text = WF_BUF_INIT;
    struct wf_error err = { 0 };
    pid_t pid = 0;
    int status = -1;
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(wf_json_write(result, &text, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_write_all(fd, text.data, text.len, path, &err), WF_OK);
    (void)close(fd);
    cr_assert_eq(posix_spawnp(&pid, python, NULL, NULL, argv, environ), 0);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    (void)unlink(path);
    cr_expect_eq(status, 0, "not as the schema says: %s", text.data);
    wf_buf_free(&text);
}

struct wf_json *task_run(const struct wf_execute_request *request)
{
    struct wf_error err = { 0 };
    struct wf_json *result = NULL;
    cr_assert_eq(wf_execute(request, &result, &err), WF_OK, "%s", err.text);
    expect_schema(result);
    return result;
}

const struct wf_json *task_member(const struct wf_json *result, const char *path)
{
    char key[64];
    const struct wf_json *at = result;
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, ".");
        (void)snprintf(key, sizeof(key), "%.*s", (int)n, p);
        at = wf_json_find(at, key);
        cr_assert_not_null(at, "the result has no %s", path);
        p += n + (p[n] == '.');
    }
    return at;
}

const char *task_text(const struct wf_json *result, const char *path)
{
    const char *text = wf_json_string(task_member(result, path));
    cr_assert_not_null(text, "%s is no text", path);
    return text;
}

double task_number(const struct wf_json *result, const char *path)
{
    double v = 0;
    cr_assert(wf_json_as_f64(task_member(result, path), &v), "%s is no number", path);
    return v;
}
