/* Instruction-cache-cold, end to end on the fake runtime: copies of the code are loaded
 * and launched in turn, and what cannot be had is said. */
#include "task.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct wf_device fake_device(const char *arch)
{
    struct wf_device device = { .runtime = "emulator",
                                .id = "emulator:test:0",
                                .name = "Fake MI300X",
                                .model = "MI300X",
                                .cu_count = 4,
                                .xcc_count = 1,
                                .warp_size = 64,
                                .memory_bytes = (uint64_t)1 << 30,
                                .llc_bytes = 1 << 20 };
    (void)snprintf(device.library, sizeof(device.library), "%s", FAKE_RUNTIME);
    (void)snprintf(device.arch, sizeof(device.arch), "%s", arch);
    return device;
}

static struct wf_json *run(const struct wf_device *device, bool cold)
{
    struct wf_execute_request request = {
        .task_id = "t1",
        .case_json = "{\"op\":\"gemm\",\"M\":37,\"N\":29,\"K\":300,\"a_type\":\"f32\"}",
        .pack_folder = EVERY_FEATURE_PACK,
        .kernel = "every_feature",
        .device = device,
        .deadline_ns = (int64_t)60 * 1000000000,
        .kernel_deadline_ns = (int64_t)20 * 1000000000,
        .threads = 1,
        .measure = { .measure = true,
                     .icache_cold = true,
                     .cold = cold,
                     .sets = cold ? 3 : 0,
                     .max_samples = 20,
                     .budget_ns = 20000000 },
    };
    return task_run(&request);
}

Test(icache, launches_go_through_copies_of_the_code)
{
    struct wf_device device = fake_device("gfx942");
    struct wf_json *result = run(&device, false);
    cr_assert_str_eq(task_text(result, "answer"), "PASS", "%s",
                     task_text(result, "answer_text"));
    cr_expect_str_eq(task_text(result, "mode.icache"), "cold");
    cr_expect_str_eq(task_text(result, "mode.temperature"), "hot");
    const double copies = task_number(result, "details.icache.copies");
    const double bytes = task_number(result, "details.icache.code_bytes");
    cr_expect_geq(copies, 2);
    cr_expect_geq(copies * bytes, 4 * 65536);
    cr_expect_eq(task_number(result, "details.icache.total_bytes"), copies * bytes);
    cr_expect_eq(task_number(result, "details.sets"), 1);
    cr_expect_gt(wf_json_count(task_member(result, "timing.samples")), 0u);
    wf_json_free(result);
}

Test(icache, sets_of_buffers_become_a_multiple_of_the_copies)
{
    struct wf_device device = fake_device("gfx942");
    struct wf_json *result = run(&device, true);
    cr_assert_str_eq(task_text(result, "answer"), "PASS", "%s",
                     task_text(result, "answer_text"));
    const double copies = task_number(result, "details.icache.copies");
    cr_expect_eq(task_number(result, "details.sets"), copies);
    wf_json_free(result);
}
