/* Code-object kernels of object_pack on the fake runtime: tensor maps and clusters from
 * pack.json to the launch, a runtime that has neither, and workspaces. */
#include "task.h"

#include "core/file.h"
#include "packs/pack.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

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
    (void)snprintf(from, sizeof(from), "%s/%s", OBJECT_PACK, name);
    (void)snprintf(to, sizeof(to), "%s/%s", folder, name);
    cr_assert_eq(wf_file_read(from, 1 << 20, &text, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_file_write_atomic(to, text.data, text.len, &err), WF_OK, "%s",
                 err.text);
    wf_buf_free(&text);
}

static void make_pack(void)
{
    struct wf_error err = { 0 };
    struct wf_pack *pack = NULL;
    (void)snprintf(folder, sizeof(folder), "/tmp/wavefarm-objects-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    (void)atexit(remove_folder);
    copy_file("kernels.ptx");
    copy_file("pack.json.in");
    cr_assert_eq(wf_pack_build(folder, &pack, &err), WF_OK, "%s", err.text);
    wf_pack_free(pack);
}

static struct wf_device device_of(const char *library)
{
    struct wf_device device = { .runtime = "emulator",
                                .id = "emulator:test:0",
                                .name = "Fake H200",
                                .arch = "sm_90",
                                .model = "H200",
                                .cu_count = 4,
                                .xcc_count = 1,
                                .warp_size = 32,
                                .memory_bytes = (uint64_t)1 << 30,
                                .llc_bytes = 1 << 20 };
    (void)snprintf(device.library, sizeof(device.library), "%s", library);
    return device;
}

static struct wf_json *run_kernel(const char *library, const char *kernel, bool measure)
{
    struct wf_device device = device_of(library);
    struct wf_execute_request request = {
        .task_id = "t1",
        .case_json = "{\"op\":\"gemm\",\"M\":37,\"N\":29,\"K\":300,\"a_type\":\"f32\"}",
        .pack_folder = folder,
        .kernel = kernel,
        .device = &device,
        .deadline_ns = (int64_t)60 * 1000000000,
        .kernel_deadline_ns = (int64_t)20 * 1000000000,
        .threads = 1,
        .measure = { .measure = measure, .budget_ns = 20000000 },
    };
    return task_run(&request);
}

static void expect_answer(const char *library,
                          const char *kernel,
                          const char *answer,
                          const char *text)
{
    struct wf_json *result = run_kernel(library, kernel, strcmp(answer, "PASS") == 0);
    cr_expect_str_eq(task_text(result, "answer"), answer, "%s: %s, %s", kernel,
                     task_text(result, "answer"), task_text(result, "answer_text"));
    cr_expect(strstr(task_text(result, "answer_text"), text), "%s: %s", kernel,
              task_text(result, "answer_text"));
    wf_json_free(result);
}

TestSuite(object_pack, .init = make_pack);

Test(object_pack, tensor_maps_and_clusters_come_to_the_kernel)
{
    expect_answer(FAKE_RUNTIME, "tile_gemm", "PASS", "");
}

Test(object_pack, a_runtime_without_them_does_not_support_the_kernel)
{
    expect_answer(FAKE_RUNTIME_PLAIN, "clusters_only", "NOT_SUPPORTED",
                  "does not launch clusters");
    expect_answer(FAKE_RUNTIME_PLAIN, "maps_only", "NOT_SUPPORTED",
                  "has no tensor maps");
    expect_answer(FAKE_RUNTIME_PLAIN, "tile_gemm", "NOT_SUPPORTED",
                  "does not launch clusters");
}

Test(object_pack, a_workspace_is_free_to_be_used)
{
    expect_answer(FAKE_RUNTIME_PLAIN, "writes_workspace", "PASS", "");
}

Test(object_pack, a_workspace_read_before_it_is_written_is_an_uninitialised_read)
{
    expect_answer(FAKE_RUNTIME_PLAIN, "reads_workspace", "UNINITIALISED_READ",
                  "what workspaces held");
}

/* A52: what clears memory before a batch is never inside of the interval. */
Test(object_pack, a52_clearing_is_not_measured)
{
    (void)setenv("FAKE_SLOW_CLEAR", "1", 1);
    struct wf_json *result = run_kernel(FAKE_RUNTIME_PLAIN, "writes_workspace", true);
    const double samples = (double)wf_json_count(task_member(result, "timing.samples"));
    cr_expect_str_eq(task_text(result, "answer"), "PASS");
    cr_expect_geq(samples, 3);
    /* The least: a busy machine may take the processor away behind 20 ms of clearing.
     */
    cr_expect_lt(task_number(result, "timing.min"), 5e6);
    cr_expect_geq(task_number(result, "phases_ns.measure"), samples * 20e6,
                  "each batch came after a clearing of 20 ms");
    wf_json_free(result);
}
