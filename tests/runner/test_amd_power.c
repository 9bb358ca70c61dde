/* The reader of amdgpu's hwmon against a tree of our own. */
#include "runner/amd_power.h"

#include "core/clock.h"
#include "core/file.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PCI "0000:c1:00.0"

static char root[64];
static char hwmon[256];

static void make_tree(void)
{
    snprintf(root, sizeof(root), "/tmp/wf-hwmon-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    snprintf(hwmon, sizeof(hwmon), "%s/bus/pci/devices/" PCI "/hwmon/hwmon3", root);
    cr_assert_eq(wf_mkdir_parents(hwmon, NULL), WF_OK);
}

static void remove_tree(void)
{
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

TestSuite(amd_power, .init = make_tree, .fini = remove_tree);

static void put(const char *name, const char *text)
{
    char path[320];
    snprintf(path, sizeof(path), "%s/%s", hwmon, name);
    cr_assert_eq(wf_file_write_atomic(path, text, strlen(text), NULL), WF_OK);
}

static struct amd_power *start(int timeout_ms)
{
    struct wf_error err;
    struct amd_power *p = NULL;
    cr_assert_eq(amd_power_start(root, PCI, timeout_ms, &p, &err), WF_OK, "%s",
                 err.text);
    return p;
}

Test(amd_power, figures_come_in_their_units)
{
    struct wf_sp_power power;
    put("freq1_input", "1925000000\n");
    put("freq2_input", "1300000000\n");
    put("power1_average", "612000000\n");
    put("temp1_input", "71500\n");
    struct amd_power *p = start(5000);
    amd_power_read(p, &power);
    cr_expect_float_eq(power.clock_mhz, 1925, 1e-9);
    cr_expect_float_eq(power.memory_clock_mhz, 1300, 1e-9);
    cr_expect_float_eq(power.power_w, 612, 1e-9);
    cr_expect_float_eq(power.temperature_c, 71.5, 1e-9);
    cr_expect_eq(power.throttle_reasons, 0);
    put("freq1_input", "900000000\n");
    amd_power_read(p, &power);
    cr_expect_float_eq(power.clock_mhz, 900, 1e-9);
    amd_power_stop(p);
}

Test(amd_power, the_newer_name_of_power_is_known)
{
    struct wf_sp_power power;
    put("power1_input", "550000000\n");
    struct amd_power *p = start(5000);
    amd_power_read(p, &power);
    cr_expect_float_eq(power.power_w, 550, 1e-9);
    amd_power_stop(p);
}

Test(amd_power, what_is_missing_or_no_number_is_unknown)
{
    struct wf_sp_power power;
    put("freq1_input", "N/A\n");
    struct amd_power *p = start(5000);
    amd_power_read(p, &power);
    cr_expect(isnan(power.clock_mhz) && isnan(power.power_w));
    cr_expect(isnan(power.memory_clock_mhz) && isnan(power.temperature_c));
    amd_power_stop(p);
}

Test(amd_power, a_device_without_hwmon_is_told)
{
    struct wf_error err;
    struct amd_power *p = NULL;
    cr_expect_eq(amd_power_start(root, "0000:00:00.0", 100, &p, &err), WF_ENOTFOUND);
    cr_expect_not_null(strstr(err.text, "0000:00:00.0"));
    cr_expect_null(p);
    amd_power_stop(NULL);
}

/* A FIFO that nobody writes hangs its reader as a hung driver would. */
Test(amd_power, a_hang_costs_one_time_out_and_no_more)
{
    char path[320];
    struct wf_sp_power power;
    snprintf(path, sizeof(path), "%s/power1_average", hwmon);
    cr_assert_eq(mkfifo(path, 0600), 0);
    put("freq1_input", "1925000000\n");
    struct amd_power *p = start(50);
    amd_power_read(p, &power);
    cr_expect(isnan(power.clock_mhz));
    int64_t start_ns = wf_monotonic_ns();
    for (int i = 0; i < 1000; i++) {
        amd_power_read(p, &power);
        cr_expect(isnan(power.power_w));
    }
    /* A thousand time-outs would be 50 s. */
    cr_expect_lt(wf_monotonic_ns() - start_ns, 20000000000LL);
    amd_power_stop(p);
}
