/* Finding devices: core sets, variables that hide devices, models, the KFD topology in
 * fake trees, and discovery end to end. */
#include "core/file.h"
#include "runner/device.h"
#include "runner/device_model.h"
#include "runner/host/host_cpus.h"
#include "runner/kfd.h"
#include "runner/visible.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- WAVEFARM_HOST_DEVICES --- */

static cpu_set_t four_cpus(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < 4; i++) {
        CPU_SET(i, &set);
    }
    return set;
}

static const char *sets_text(const char *spec)
{
    static char text[512];
    struct host_cpus cpus;
    struct wf_error err = { 0 };
    cpu_set_t allowed = four_cpus();
    size_t used = 0;
    if (host_cpus_parse(spec, &allowed, &cpus, &err) != WF_OK) {
        (void)snprintf(text, sizeof(text), "error: %.500s", err.text);
        return text;
    }
    for (int d = 0; d < cpus.count; d++) {
        char set[64];
        host_cpus_text(&cpus.set[d], set, sizeof(set));
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", d ? ";" : "",
                                 set);
    }
    return text;
}

Test(host_cpus, processors_are_split_or_named)
{
    cr_expect_str_eq(sets_text(NULL), "0-3");
    cr_expect_str_eq(sets_text("1"), "0-3");
    cr_expect_str_eq(sets_text("2"), "0-1;2-3");
    cr_expect_str_eq(sets_text("3"), "0;1;2-3");
    cr_expect_str_eq(sets_text("6"), "0;0;1;2;2;3");
    cr_expect_str_eq(sets_text("0-1;2-3"), "0-1;2-3");
    cr_expect_str_eq(sets_text("0,2;1,3"), "0,2;1,3");
    cr_expect_str_eq(sets_text("0;0-3"), "0;0-3");
}

Test(host_cpus, bad_values_say_what_is_wrong)
{
    static const struct {
        const char *spec, *text;
    } bad[] = {
        { "", "empty" },          { "0", "number of devices" }, { "65", "number" },
        { "0-9", "processor 4" }, { "2-1;3", "backwards" },     { "0-1;", "processor" },
        { "a;b", "processor" },   { "0-1;;2", "processor" },    { " 2", "processor" },
        { "0,;1", "processor" },  { "-1", "processor" },        { "1-", "processor" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *text = sets_text(bad[i].spec);
        cr_expect(strncmp(text, "error: WAVEFARM_HOST_DEVICES=", 29) == 0, "'%s': %s",
                  bad[i].spec, text);
        cr_expect(strstr(text, bad[i].text), "'%s': %s", bad[i].spec, text);
    }
}

/* --- HIP_VISIBLE_DEVICES --- */

/* A81: a list of devices that is empty hides all of them. */
Test(visible, a81_unset_means_all_and_empty_means_none)
{
    struct wf_error err = { 0 };
    cr_expect_eq(visible_devices_check("V", NULL, &err), WF_OK);
    cr_expect_eq(visible_devices_check("V", "0", &err), WF_OK);
    cr_expect_eq(visible_devices_check("V", "3,0,1", &err), WF_OK);
    cr_expect_eq(visible_devices_check("V", "GPU-8a2f01c7d4e5b6f9", &err), WF_OK);
    cr_expect_eq(visible_devices_check("V", "", &err), WF_ENOTFOUND);
    cr_expect(strstr(err.text, "no device (V is empty"), "%s", err.text);
}

Test(visible, a81_odd_values_are_refused)
{
    static const char *const odd[] = { " ",  "0,", ",0",  "0,,1", "0 1",
                                       "-1", "x",  "0,0", "GPU-", "GPU-xyz!" };
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct wf_error err = { 0 };
        cr_expect_eq(visible_devices_check("V", odd[i], &err), WF_EINVAL, "'%s'",
                     odd[i]);
        cr_expect(strstr(err.text, odd[i]), "%s", err.text);
    }
}

/* --- models --- */

static struct wf_device amd(const char *arch,
                            int cus,
                            uint64_t gib,
                            const char *partition)
{
    struct wf_device d = { .cu_count = cus, .memory_bytes = gib << 30 };
    (void)snprintf(d.arch, sizeof(d.arch), "%s", arch);
    (void)snprintf(d.partition, sizeof(d.partition), "%s", partition);
    (void)snprintf(d.name, sizeof(d.name), "AMD Instinct");
    return d;
}

Test(model, pci_id_compute_units_and_memory_tell_the_model)
{
    struct wf_device d = amd("gfx942:sramecc+:xnack-", 304, 192, "SPX/NPS1");
    device_model_fill(&d, 0x74a1);
    cr_expect_str_eq(d.model, "MI300X");
    cr_expect_eq(d.peak_bytes_per_s, 5.3e12);
    cr_expect_float_eq(wf_device_peak_flops(&d, "f16"), 1307.4e12, 1e11);
    cr_expect_float_eq(wf_device_peak_flops(&d, "e4m3fnuz"), 2614.9e12, 1e12);
    cr_expect_float_eq(wf_device_peak_flops(&d, "f64"), 163.4e12, 1e11);
    cr_expect_eq(wf_device_peak_flops(&d, "nonsense"), 0);

    d = amd("gfx942", 304, 256, "SPX/NPS1");
    device_model_fill(&d, 0x74b5); /* a virtual function of either */
    cr_expect_str_eq(d.model, "MI325X");
    d = amd("gfx942", 228, 128, "SPX/NPS1");
    device_model_fill(&d, 0x74a0);
    cr_expect_str_eq(d.model, "MI300A");
    d = amd("gfx942", 80, 192, "SPX/NPS1");
    device_model_fill(&d, 0x74a2);
    cr_expect_str_eq(d.model, "MI308X");
}

Test(model, a_partition_has_its_share)
{
    struct wf_device d = amd("gfx942", 38, 24, "CPX/NPS4");
    device_model_fill(&d, 0x74a1);
    cr_expect_str_eq(d.model, "MI300X");
    cr_expect_float_eq(d.peak_bytes_per_s, 5.3e12 / 8, 1e6);
    cr_expect_float_eq(wf_device_peak_flops(&d, "f16"), 1307.4e12 / 8, 1e11);
}

Test(model, nvidia_is_told_by_name_and_the_unknown_keeps_its_name)
{
    static const struct {
        const char *name, *model;
    } list[] = {
        { "NVIDIA H200", "H200" },           { "NVIDIA H100 80GB HBM3", "H100" },
        { "NVIDIA H100 PCIe", "H100 PCIe" }, { "NVIDIA H100 NVL", "H100 NVL" },
        { "NVIDIA L4", "NVIDIA L4" },
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        struct wf_device d = { .arch = "sm_90", .cu_count = 132 };
        (void)snprintf(d.name, sizeof(d.name), "%s", list[i].name);
        device_model_fill(&d, 0);
        cr_expect_str_eq(d.model, list[i].model);
    }
    struct wf_device d = amd("gfx90a", 104, 64, "");
    device_model_fill(&d, 0x740c);
    cr_expect_str_eq(d.model, "AMD Instinct");
    cr_expect_eq(d.peak_bytes_per_s, 0);
}

/* --- KFD topology --- */

static char tree[64];

static void remove_tree(void)
{
    (void)wf_remove_tree(tree, NULL);
}

static void put(const char *path, const char *text)
{
    char full[512];
    char folder[512];
    struct wf_error err = { 0 };
    (void)snprintf(full, sizeof(full), "%s/%s", tree, path);
    (void)snprintf(folder, sizeof(folder), "%s", full);
    *strrchr(folder, '/') = '\0';
    cr_assert_eq(wf_mkdir_parents(folder, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_file_write_atomic(full, text, strlen(text), &err), WF_OK, "%s",
                 err.text);
}

/* A node of the machine: two processors' nodes, then the partitions of two cards. */
static void put_gpu(int node, unsigned bus, int minor, int xcc)
{
    char path[256];
    char text[512];
    (void)snprintf(path, sizeof(path), "class/kfd/kfd/topology/nodes/%d/properties",
                   node);
    (void)snprintf(text, sizeof(text),
                   "cpu_cores_count 0\nsimd_count %d\nsimd_per_cu 4\nlocation_id %u\n"
                   "domain 0\nvendor_id 4098\ndevice_id 29857\ndrm_render_minor %d\n"
                   "num_xcc %d\n",
                   xcc * 38 * 4, bus << 8, minor, xcc);
    put(path, text);
}

static void start_tree(void)
{
    (void)snprintf(tree, sizeof(tree), "/tmp/wavefarm-sysfs-XXXXXX");
    cr_assert_not_null(mkdtemp(tree));
    (void)atexit(remove_tree);
    put("class/kfd/kfd/topology/nodes/0/properties",
        "cpu_cores_count 96\nsimd_count 0\n");
}

Test(kfd, a_whole_card_has_its_mode_and_dies)
{
    struct kfd_node *nodes = NULL;
    size_t count = 0;
    struct wf_error err = { 0 };
    start_tree();
    put_gpu(1, 0xc1, 128, 8);
    put("class/kfd/kfd/topology/nodes/1/caches/0/properties", "level 2\nsize 4096\n");
    put("class/kfd/kfd/topology/nodes/1/caches/1/properties", "level 3\nsize 262144\n");
    put("class/drm/renderD128/device/current_compute_partition", "SPX\n");
    put("class/drm/renderD128/device/current_memory_partition", "NPS1\n");
    cr_assert_eq(kfd_read(tree, &nodes, &count, &err), WF_OK, "%s", err.text);
    cr_assert_eq(count, 1u, "processors are no GPUs");
    const struct kfd_node *n = kfd_find(nodes, count, "0000:C1:00.0", 0);
    cr_assert_not_null(n);
    cr_expect_eq(n->device_id, 0x74a1u);
    cr_expect_eq(n->xcc_count, 8);
    cr_expect_eq(n->cu_count, 304);
    cr_expect_eq(n->llc_bytes, (uint64_t)256 << 20);
    cr_expect_str_eq(n->partition, "SPX/NPS1");
    cr_expect_null(kfd_find(nodes, count, "0000:c1:00.0", 1));
    cr_expect_null(kfd_find(nodes, count, "0000:c2:00.0", 0));
    free(nodes);
}

/* A82: N/A is the mode of the card, never SPX. */
/* A82: eight cards in CPX; of 64 partitions every eighth says its mode. */
Test(kfd, a82_partitions_that_say_nothing_have_the_mode_of_their_card)
{
    struct kfd_node *nodes = NULL;
    size_t count = 0;
    struct wf_error err = { 0 };
    start_tree();
    for (int i = 0; i < 64; i++) {
        char path[128];
        unsigned bus = 0x05 + 0x21 * (unsigned)(i / 8);
        put_gpu(1 + i, bus, 128 + i, 1);
        (void)snprintf(path, sizeof(path),
                       "class/drm/renderD%d/device/current_compute_partition", 128 + i);
        put(path, i % 8 == 0 ? "CPX\n" : "N/A\n");
        if (i % 8 == 0) {
            (void)snprintf(path, sizeof(path),
                           "class/drm/renderD%d/device/current_memory_partition",
                           128 + i);
            put(path, "NPS4\n");
        }
    }
    cr_assert_eq(kfd_read(tree, &nodes, &count, &err), WF_OK, "%s", err.text);
    cr_assert_eq(count, 64u);
    for (size_t i = 0; i < 64; i++) {
        cr_expect_str_eq(nodes[i].partition, "CPX/NPS4", "partition %zu: '%s'", i,
                         nodes[i].partition);
    }
    const struct kfd_node *n = kfd_find(nodes, count, "0000:26:00.0", 3);
    cr_assert_not_null(n);
    cr_expect_eq(n->render_minor, 139);
    free(nodes);
}

Test(kfd, a_driver_without_modes_gives_none_and_no_driver_is_said)
{
    struct kfd_node *nodes = NULL;
    size_t count = 0;
    struct wf_error err = { 0 };
    start_tree();
    put_gpu(1, 0xc1, 128, 8);
    cr_assert_eq(kfd_read(tree, &nodes, &count, &err), WF_OK);
    cr_expect_str_eq(nodes[0].partition, "");
    free(nodes);
    cr_expect_eq(kfd_read("/nonexistent", &nodes, &count, &err), WF_ENOTFOUND);
    cr_expect(strstr(err.text, "amdgpu"), "%s", err.text);
}

/* --- discovery --- */

Test(discovery, host_devices_have_their_processors)
{
    struct wf_device_list list;
    struct wf_error err = { 0 };
    (void)setenv("WAVEFARM_HOST_DEVICES", "3", 1);
    cr_assert_eq(wf_devices_discover("host", &list, &err), WF_OK, "%s", err.text);
    cr_assert_eq(list.count, 3u);
    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(list.device[i].ordinal, (int)i);
        cr_expect_geq(list.device[i].cu_count, 1);
        cr_expect(list.device[i].library_kernels);
        cr_expect_not(list.device[i].times_modelled);
        cr_expect_gt(list.device[i].memory_bytes, 0u);
        cr_expect_str_neq(list.device[i].cpus, "");
    }
    cr_expect_str_neq(list.device[0].id, list.device[1].id);
    wf_device_list_free(&list);
}

Test(discovery, a_bad_variable_is_said_and_gives_no_device)
{
    struct wf_device_list list;
    struct wf_device device;
    struct wf_error err = { 0 };
    (void)setenv("WAVEFARM_HOST_DEVICES", "0-4000", 1);
    cr_assert_eq(wf_devices_discover("host", &list, &err), WF_OK, "%s", err.text);
    cr_expect_eq(list.count, 0u);
    cr_assert_eq(list.missing_count, 1u);
    cr_expect(strstr(list.missing[0], "WAVEFARM_HOST_DEVICES=0-4000"), "%s",
              list.missing[0]);
    wf_device_list_free(&list);
    cr_expect_eq(wf_device_open("host:0", &device, &err), WF_ENOTFOUND);
    cr_expect(strstr(err.text, "WAVEFARM_HOST_DEVICES"), "%s", err.text);
}

Test(discovery, each_runtime_without_a_device_says_what_is_missing)
{
    struct wf_device_list list;
    struct wf_error err = { 0 };
    (void)setenv("HIP_VISIBLE_DEVICES", "", 1);
    cr_assert_eq(wf_devices_discover("amd", &list, &err), WF_OK, "%s", err.text);
    cr_expect_eq(list.count, 0u);
    cr_assert_eq(list.missing_count, 1u);
    cr_expect(strstr(list.missing[0], "amd: no device (HIP_VISIBLE_DEVICES is empty"),
              "%s", list.missing[0]);
    wf_device_list_free(&list);
}

Test(discovery, rocm_without_a_gpu_ends_cleanly)
{
    struct wf_device_list list;
    struct wf_error err = { 0 };
    if (wf_file_exists("/dev/kfd")) {
        cr_skip_test("this machine has an AMD driver");
    }
    (void)unsetenv("HIP_VISIBLE_DEVICES");
    cr_assert_eq(wf_devices_discover("amd", &list, &err), WF_OK, "%s", err.text);
    cr_expect_eq(list.count, 0u);
    cr_assert_eq(list.missing_count, 1u);
    cr_expect(strstr(list.missing[0], "/dev/kfd is missing") ||
                  strstr(list.missing[0], "not found (install ROCm"),
              "%s", list.missing[0]);
    wf_device_list_free(&list);
}

Test(discovery, selectors_that_name_nothing_say_what_there_is)
{
    struct wf_device device;
    struct wf_error err = { 0 };
    (void)setenv("WAVEFARM_HOST_DEVICES", "1", 1);
    cr_expect_eq(wf_device_open("host:9", &device, &err), WF_ENOTFOUND);
    cr_expect(strstr(err.text, "there is host:0"), "%s", err.text);
    cr_expect_eq(wf_device_open("vulkan:0", &device, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "host, emulator, cuda, amd"), "%s", err.text);
    cr_expect_eq(wf_device_open("", &device, &err), WF_EINVAL);
    cr_expect_eq(wf_device_open("host", &device, &err), WF_OK);
    cr_expect_eq(wf_device_open("host:0", &device, &err), WF_OK);
    char id[96];
    (void)snprintf(id, sizeof(id), "%s", device.id);
    cr_expect_eq(wf_device_open(id, &device, &err), WF_OK, "%s", err.text);
}

Test(discovery, a_device_goes_through_json_unchanged)
{
    struct wf_device device;
    struct wf_device back;
    struct wf_json *json = NULL;
    struct wf_error err = { 0 };
    memset(&device, 0, sizeof(device));
    cr_assert_eq(wf_device_open("host:0", &device, &err), WF_OK, "%s", err.text);
    device.memory_bytes = ((uint64_t)1 << 53) + 1;
    cr_assert_eq(wf_device_to_json(&device, &json, &err), WF_OK);
    cr_assert_eq(wf_device_from_json(json, &back, &err), WF_OK, "%s", err.text);
    cr_expect_str_eq(back.id, device.id);
    cr_expect_str_eq(back.library, device.library);
    cr_expect_eq(back.memory_bytes, device.memory_bytes);
    cr_expect_eq(back.library_kernels, device.library_kernels);
    wf_json_remove(json, "arch");
    cr_expect_neq(wf_device_from_json(json, &back, &err), WF_OK);
    cr_expect(strstr(err.text, "arch"), "%s", err.text);
    wf_json_free(json);
}
