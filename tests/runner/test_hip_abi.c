/* The declarations of runner/hip_abi.h against the HIP headers, and the two layouts of
 * a device's properties. */
#include "hip_theirs.h"
#include "runner/hip_table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct hip_name our_names[] = {
#define NAME(name) { #name, (long)(name) },
#include "hip_names.def"
#undef NAME
};

Test(hip_abi, values_are_those_of_the_hip_headers)
{
    cr_assert_eq(sizeof(our_names) / sizeof(our_names[0]), their_name_count);
    for (size_t i = 0; i < their_name_count; i++) {
        cr_expect_eq(our_names[i].value, their_names[i].value, "%s", our_names[i].name);
    }
    cr_expect_eq(their_launch_params[0], HIP_LAUNCH_PARAM_BUFFER_POINTER);
    cr_expect_eq(their_launch_params[1], HIP_LAUNCH_PARAM_BUFFER_SIZE);
    cr_expect_eq(their_launch_params[2], HIP_LAUNCH_PARAM_END);
}

static hipError_t old_properties(void *properties, int device)
{
    their_properties_fill(properties,
                          device == 0 ? "gfx90a:sramecc+:xnack-" : "garbage");
    return hipSuccess;
}

/* ROCm 6: the name lies after 1160 bytes of a structure of 1472. */
static hipError_t new_properties(void *properties, int device)
{
    (void)device;
    memset(properties, 0xee, 1472);
    (void)snprintf((char *)properties + 1160, 256, "gfx942:sramecc+:xnack-");
    return hipSuccess;
}

static const char *any_text(hipError_t error)
{
    (void)error;
    return "text";
}

Test(hip_abi, the_arch_is_read_from_either_layout)
{
    char arch[64];
    struct wf_error err = { 0 };
    struct wf_hip hip = { .hipGetDeviceProperties = old_properties,
                          .hipGetErrorName = any_text,
                          .hipGetErrorString = any_text };
    cr_assert_leq(their_properties_bytes(), 1472u);
    cr_assert_eq(wf_hip_arch_name(&hip, 0, arch, sizeof(arch), &err), WF_OK, "%s",
                 err.text);
    cr_expect_str_eq(arch, "gfx90a:sramecc+:xnack-");
    cr_expect_eq(wf_hip_arch_name(&hip, 1, arch, sizeof(arch), &err), WF_EUNSUPPORTED,
                 "what is no architecture is not taken for one");

    hip.hipGetDevicePropertiesR0600 = new_properties;
    cr_assert_eq(wf_hip_arch_name(&hip, 0, arch, sizeof(arch), &err), WF_OK, "%s",
                 err.text);
    cr_expect_str_eq(arch, "gfx942:sramecc+:xnack-");

    struct wf_hip none = { .hipGetErrorName = any_text, .hipGetErrorString = any_text };
    cr_expect_eq(wf_hip_arch_name(&none, 0, arch, sizeof(arch), &err), WF_EDEVICE);
}

Test(hip_table, a_library_that_is_not_a_runtime_is_refused_with_names)
{
    struct wf_hip hip;
    struct wf_error err = { 0 };
    cr_expect_eq(wf_hip_load("/nonexistent.so", &hip, &err), WF_ENOTFOUND);
    cr_expect(strstr(err.text, "/nonexistent.so"), "%s", err.text);
    cr_expect_eq(wf_hip_load("libm.so.6", &hip, &err), WF_EUNSUPPORTED);
    cr_expect(strstr(err.text, "hipInit, hipDriverGetVersion"), "%s", err.text);
}

Test(hip_table, a_runtime_may_lack_what_no_program_calls)
{
    static const char *const unused[] = { " hipGetDevice,", "hipMemGetInfo",
                                          "hipHostMalloc",  "hipHostFree",
                                          "hipStreamQuery", "hipEventQuery" };
    struct wf_hip hip;
    struct wf_error err = { 0 };
    cr_expect_eq(wf_hip_load("libm.so.6", &hip, &err), WF_EUNSUPPORTED);
    cr_expect(strstr(err.text, " hipGetDeviceCount,"), "%s", err.text);
    cr_expect(strstr(err.text, " hipGetLastError"), "the last name is told: %s",
              err.text);
    for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++) {
        cr_expect_null(strstr(err.text, unused[i]), "%s is required: %s", unused[i],
                       err.text);
    }
}
