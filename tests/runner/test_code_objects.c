/* Code-object kernels end to end on the fake runtime: the every_feature pack, and what
 * the judge makes of a runtime that misbehaves. */
#include "task.h"

#include "amd_sysfs.h"
#include "core/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE "{\"op\":\"gemm\",\"M\":37,\"N\":29,\"K\":300,\"a_type\":\"f32\"}"
#define CASE_BETA                                                                    \
    "{\"op\":\"gemm\",\"M\":37,\"N\":29,\"K\":300,\"a_type\":\"f32\",\"alpha\":0.5," \
    "\"beta\":-2}"

static struct wf_device fake_device(void)
{
    struct wf_device device = { .runtime = "emulator",
                                .id = "emulator:test:0",
                                .name = "Fake MI300X",
                                .arch = "gfx942:sramecc+:xnack-",
                                .model = "MI300X",
                                .cu_count = 4,
                                .xcc_count = 1,
                                .warp_size = 64,
                                .memory_bytes = (uint64_t)1 << 30,
                                .llc_bytes = 1 << 20 };
    (void)snprintf(device.library, sizeof(device.library), "%s", FAKE_RUNTIME);
    return device;
}

static struct wf_execute_request every_request(const struct wf_device *device)
{
    return (struct wf_execute_request){
        .task_id = "t1",
        .case_json = CASE,
        .pack_folder = EVERY_FEATURE_PACK,
        .kernel = "every_feature",
        .device = device,
        .deadline_ns = (int64_t)60 * 1000000000,
        .kernel_deadline_ns = (int64_t)20 * 1000000000,
        .threads = 1,
        .measure = { .budget_ns = 20000000 },
    };
}

static void expect_answer(const struct wf_json *result, const char *answer)
{
    cr_expect_str_eq(task_text(result, "answer"), answer, "%s: %s",
                     task_text(result, "answer"), task_text(result, "answer_text"));
}

Test(code_objects, every_feature_of_the_pack_format_works)
{
    struct wf_device device = fake_device();
    struct wf_execute_request request = every_request(&device);
    struct wf_json *result = task_run(&request);
    expect_answer(result, "PASS");
    cr_expect_str_eq(task_text(result, "code.kind"), "code-object");
    wf_json_free(result);

    request.case_json = CASE_BETA;
    request.measure.measure = true;
    result = task_run(&request);
    expect_answer(result, "PASS");
    cr_expect_gt(wf_json_count(task_member(result, "timing.samples")), 0u);
    cr_expect_eq(wf_json_count(task_member(result, "timing.clock_mhz")), 0u,
                 "no helper knows such a device");
    wf_json_free(result);
}

Test(code_objects, a_cold_run_rotates_through_more_bytes_than_the_cache_holds)
{
    struct wf_device device = fake_device();
    struct wf_execute_request request = every_request(&device);
    (void)snprintf(device.arch, sizeof(device.arch), "gfx942");
    request.case_json = "{\"op\":\"gemm\",\"M\":1024,\"N\":1024,\"K\":16,"
                        "\"a_type\":\"f32\"}";
    request.measure.measure = true;
    request.measure.cold = true;
    request.measure.max_samples = 20;
    struct wf_json *result = task_run(&request);
    expect_answer(result, "PASS");
    double sets = task_number(result, "details.sets");
    double bytes = task_number(result, "memory.case_bytes");
    cr_expect_geq(sets * bytes * 1.1, 512.0 * 1024 * 1024, "%g sets of %g", sets,
                  bytes);
    cr_expect_str_eq(task_text(result, "mode.temperature"), "cold");
    wf_json_free(result);
}

Test(code_objects, cold_that_cannot_be_had_is_said_and_not_measured)
{
    struct wf_device device = fake_device();
    struct wf_execute_request request = every_request(&device);
    request.measure.measure = true;
    request.measure.cold = true;
    struct wf_json *result = task_run(&request); /* needs thousands of copies */
    expect_answer(result, "PASS");
    cr_expect_str_eq(task_text(result, "time"), "NOT_MEASURED");
    cr_expect(strstr(task_text(result, "time_text"), "cold: "));
    wf_json_free(result);
}

Test(code_objects, another_arch_is_not_supported_before_any_launch)
{
    struct wf_device device = fake_device();
    struct wf_execute_request request = every_request(&device);
    (void)snprintf(device.arch, sizeof(device.arch), "gfx950");
    struct wf_json *result = task_run(&request);
    expect_answer(result, "NOT_SUPPORTED");
    cr_expect(strstr(task_text(result, "answer_text"), "gfx942"));
    cr_expect(strstr(task_text(result, "answer_text"), "gfx950"));
    wf_json_free(result);
}

Test(code_objects, the_host_runtime_refuses_code_objects)
{
    struct wf_execute_request host = task_request("right");
    struct wf_execute_request request = every_request(host.device);
    struct wf_json *result = task_run(&request);
    expect_answer(result, "NOT_SUPPORTED");
    cr_expect(strstr(task_text(result, "answer_text"), "GPU or the emulator"));
    wf_json_free(result);
}

Test(code_objects, a_sticky_fault_is_a_device_fault)
{
    struct wf_device device = fake_device();
    struct wf_execute_request request = every_request(&device);
    (void)setenv("FAKE_FAULT", "1", 1);
    struct wf_json *result = task_run(&request);
    expect_answer(result, "DEVICE_FAULT");
    wf_json_free(result);
}

Test(code_objects, a_modelled_runtime_gives_no_samples)
{
    struct wf_device device = fake_device();
    struct wf_execute_request request = every_request(&device);
    (void)setenv("FAKE_MODELLED", "1", 1);
    device.times_modelled = true;
    request.measure.measure = true;
    struct wf_json *result = task_run(&request);
    expect_answer(result, "PASS");
    cr_expect_str_eq(task_text(result, "time"), "MODELLED");
    cr_expect_eq(wf_json_type(task_member(result, "timing")), WF_JSON_NULL);
    wf_json_free(result);
}

static struct wf_json *measured_with_events(const char *how)
{
    struct wf_device device = fake_device();
    struct wf_execute_request request = every_request(&device);
    (void)setenv("FAKE_EVENTS", how, 1);
    request.measure.measure = true;
    return task_run(&request);
}

Test(code_objects, invalid_samples_are_kept_and_never_become_a_time)
{
    static const char *const how[] = { "zero", "negative", "nan" };
    for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
        struct wf_json *result = measured_with_events(how[i]);
        expect_answer(result, "PASS");
        cr_expect_str_eq(task_text(result, "time"), "IMPLAUSIBLE");
        cr_expect_eq(wf_json_count(task_member(result, "timing.samples")),
                     wf_json_count(task_member(result, "timing.invalid")));
        cr_expect_eq(wf_json_type(task_member(result, "timing.median")), WF_JSON_NULL);
        wf_json_free(result);
    }
}

Test(code_objects, events_that_disagree_with_the_host_are_implausible)
{
    struct wf_json *result = measured_with_events("fast");
    cr_expect_str_eq(task_text(result, "time"), "IMPLAUSIBLE");
    cr_expect_gt(task_number(result, "timing.host_ratio"), 2);
    wf_json_free(result);
}

static struct wf_device amd_device(void)
{
    struct wf_device device = fake_device();
    (void)snprintf(device.runtime, sizeof(device.runtime), "amd");
    (void)snprintf(device.pci_bus_id, sizeof(device.pci_bus_id), "0000:c1:00.0");
    return device;
}

/* A card at its power limit is as it should be; its figures stand beside each sample.
 */
Test(code_objects, clock_power_and_temperature_stand_beside_samples)
{
    struct wf_device device = amd_device();
    struct wf_execute_request request = every_request(&device);
    amd_sysfs_put(1, 1900); /* power limit */
    request.measure.measure = true;
    struct wf_json *result = task_run(&request);
    amd_sysfs_remove();
    expect_answer(result, "PASS");
    cr_expect_str_neq(task_text(result, "time"), "THROTTLED");
    size_t samples = wf_json_count(task_member(result, "timing.samples"));
    cr_expect_eq(wf_json_count(task_member(result, "timing.flagged")), 0u);
    cr_expect_eq(wf_json_count(task_member(result, "timing.temperature_c")), samples);
    double mhz = 0;
    double celsius = 0;
    const struct wf_json *clocks = task_member(result, "timing.clock_mhz");
    const struct wf_json *degrees = task_member(result, "timing.temperature_c");
    cr_expect(wf_json_as_f64(wf_json_first(clocks), &mhz) && mhz == 1900);
    cr_expect(wf_json_as_f64(wf_json_first(degrees), &celsius) && celsius == 61);
    cr_expect_str_eq(task_text(result, "details.warmup_clock"), "steady");
    cr_expect_geq(task_number(result, "details.warmup_ns"), 400e6);
    cr_expect_gt(task_number(result, "details.event_tick_ns"), 0);
    cr_expect_geq(task_number(result, "environment.placement.subject_cpu"), -1);
    wf_json_free(result);
}

/* Without telemetry: said, and no figures. */
Test(code_objects, what_no_helper_tells_is_unknown)
{
    struct wf_device device = amd_device();
    struct wf_execute_request request = every_request(&device);
    (void)setenv("WAVEFARM_SYSFS", "/nowhere", 1);
    request.measure.measure = true;
    struct wf_json *result = task_run(&request);
    expect_answer(result, "PASS");
    cr_expect_str_eq(task_text(result, "details.telemetry.state"), "absent");
    cr_expect_str_eq(task_text(result, "details.warmup_clock"), "unknown");
    cr_expect_eq(wf_json_count(task_member(result, "timing.clock_mhz")), 0u);
    wf_json_free(result);
}

Test(code_objects, samples_taken_while_throttled_are_flagged_and_left_out)
{
    struct wf_device device = amd_device();
    struct wf_execute_request request = every_request(&device);
    amd_sysfs_put(1ull << 36, 1900); /* hotspot */
    request.measure.measure = true;
    struct wf_json *result = task_run(&request);
    amd_sysfs_remove();
    expect_answer(result, "PASS");
    cr_expect_str_eq(task_text(result, "time"), "THROTTLED");
    cr_expect_str_eq(task_text(result, "details.telemetry.state"), "running");
    cr_expect_eq(task_number(result, "details.telemetry.reasons.thermal"),
                 (double)wf_json_count(task_member(result, "timing.samples")));
    cr_expect_eq(wf_json_count(task_member(result, "timing.throttle")),
                 wf_json_count(task_member(result, "timing.samples")));
    cr_expect_eq(wf_json_count(task_member(result, "timing.samples")),
                 wf_json_count(task_member(result, "timing.flagged")));
    wf_json_free(result);
}
