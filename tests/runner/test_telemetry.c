/* The telemetry helper against a sysfs tree and an NVML of our own. */
#include "runner/telemetry.h"

#include "amd_metrics.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/parse.h"
#include "runner/throttle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PCI     "0000:c1:00.0"
#define LONG_NS 5000000000LL

static char root[64];
static char folder[256];
static char hwmon[300];

static void make_tree(void)
{
    char ras[300];
    snprintf(root, sizeof(root), "/tmp/wf-sysfs-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    snprintf(folder, sizeof(folder), "%s/bus/pci/devices/" PCI, root);
    snprintf(hwmon, sizeof(hwmon), "%s/hwmon/hwmon3", folder);
    snprintf(ras, sizeof(ras), "%s/ras", folder);
    cr_assert_eq(wf_mkdir_parents(hwmon, NULL), WF_OK);
    cr_assert_eq(wf_mkdir_parents(ras, NULL), WF_OK);
}

static void remove_tree(void)
{
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

TestSuite(telemetry, .init = make_tree, .fini = remove_tree, .timeout = 30);

static void put_bytes(const char *name, const void *bytes, size_t n)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    cr_assert_eq(wf_file_write_atomic(path, bytes, n, NULL), WF_OK);
}

static void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

static struct telemetry *start(const char *runtime)
{
    struct wf_error err = { 0 };
    struct telemetry *t = NULL;
    const struct telemetry_options o = { runtime, PCI, root, 2000000 };
    cr_assert_eq(telemetry_start(&o, &t, &err), WF_OK, "%s", err.text);
    telemetry_wait_first(t, LONG_NS);
    return t;
}

/* Figures of a short time from now on. */
static struct telemetry_figures figures(const struct telemetry *t)
{
    struct telemetry_figures f;
    int64_t from_ns = wf_monotonic_ns();
    do {
        (void)poll(NULL, 0, 5);
        telemetry_between(t, from_ns, wf_monotonic_ns(), &f);
    } while (f.readings < 2 && wf_monotonic_ns() - from_ns < LONG_NS / 5);
    return f;
}

static struct amd_metrics_1_7 metrics(void)
{
    struct amd_metrics_1_7 m;
    memset(&m, 0xff, sizeof(m));
    m.header = (struct amd_header){ sizeof(m), 1, 7 };
    m.temperature_hotspot = 71;
    m.curr_socket_power = 742;
    m.current_gfxclk[0] = 1925;
    m.current_uclk = 1300;
    m.accumulation_counter = 1;
    m.prochot_residency_acc = m.ppt_residency_acc = 10;
    m.socket_thm_residency_acc = m.vr_thm_residency_acc = m.hbm_thm_residency_acc = 10;
    return m;
}

Test(telemetry, gpu_metrics_gives_figures_and_reasons_from_differences)
{
    struct amd_metrics_1_7 m = metrics();
    put_bytes("gpu_metrics", &m, sizeof(m));
    struct telemetry *t = start("amd");
    struct telemetry_figures f = figures(t);
    cr_expect_eq(telemetry_state(t), TELEMETRY_RUNNING);
    cr_expect_str_eq(telemetry_why(t), "gpu_metrics 1.7 and hwmon");
    cr_expect_eq(f.clock_mhz, 1925);
    cr_expect_eq(f.memory_clock_mhz, 1300);
    cr_expect_eq(f.power_w, 742);
    cr_expect_eq(f.temperature_c, 71);
    cr_expect_eq(f.reasons, 0, "counters that stand still throttle nothing");
    int64_t from_ns = wf_monotonic_ns();
    m.socket_thm_residency_acc += 3;
    put_bytes("gpu_metrics", &m, sizeof(m));
    (void)figures(t);
    telemetry_between(t, from_ns, wf_monotonic_ns(), &f);
    cr_expect_eq(f.reasons, (uint32_t)THROTTLE_THERMAL);
    cr_expect_eq(figures(t).reasons, 0, "and later no more");
    telemetry_stop(t);
}

Test(telemetry, hwmon_fills_what_gpu_metrics_does_not_say)
{
    struct amd_metrics_1_7 m = metrics();
    m.curr_socket_power = UINT16_MAX;
    put_bytes("gpu_metrics", &m, sizeof(m));
    put("hwmon/hwmon3/power1_input", "550000000\n");
    put("hwmon/hwmon3/freq1_input", "100000000\n");
    struct telemetry *t = start("amd");
    struct telemetry_figures f = figures(t);
    cr_expect_float_eq(f.power_w, 550, 1e-9);
    cr_expect_eq(f.clock_mhz, 1925, "gpu_metrics comes first");
    telemetry_stop(t);
}

Test(telemetry, hwmon_alone_has_its_units)
{
    put("hwmon/hwmon3/freq1_input", "1925000000\n");
    put("hwmon/hwmon3/freq2_input", "N/A\n");
    put("hwmon/hwmon3/power1_average", "612000000\n");
    put("hwmon/hwmon3/temp1_input", "71500\n");
    put("gpu_metrics", "garbage of no version");
    struct telemetry *t = start("amd");
    struct telemetry_figures f = figures(t);
    cr_expect_float_eq(f.clock_mhz, 1925, 1e-9);
    cr_expect_float_eq(f.power_w, 612, 1e-9);
    cr_expect_float_eq(f.temperature_c, 71.5, 1e-9);
    cr_expect(isnan(f.memory_clock_mhz), "what is no number is unknown");
    cr_expect_not_null(strstr(telemetry_why(t), "hwmon alone"));
    telemetry_stop(t);
}

Test(telemetry, a_file_cut_short_is_unknown_and_comes_back)
{
    struct amd_metrics_1_7 m = metrics();
    put_bytes("gpu_metrics", &m, sizeof(m));
    struct telemetry *t = start("amd");
    put_bytes("gpu_metrics", &m, sizeof(m) / 2);
    (void)figures(t);
    cr_expect(isnan(figures(t).clock_mhz));
    put_bytes("gpu_metrics", &m, sizeof(m));
    (void)figures(t);
    struct telemetry_figures f = figures(t);
    cr_expect_eq(f.clock_mhz, 1925);
    cr_expect_eq(f.reasons, 0, "no difference over the gap");
    telemetry_stop(t);
}

Test(telemetry, a_device_without_files_is_absent_and_said)
{
    struct telemetry *t = NULL;
    struct telemetry_figures f;
    const struct telemetry_options o = { "amd", "0000:00:00.0", root, 0 };
    cr_assert_eq(telemetry_start(&o, &t, NULL), WF_OK);
    telemetry_wait_first(t, LONG_NS);
    cr_expect_eq(telemetry_state(t), TELEMETRY_ABSENT);
    cr_expect_not_null(strstr(telemetry_why(t), "0000:00:00.0"));
    telemetry_between(t, 0, wf_monotonic_ns(), &f);
    cr_expect(isnan(f.clock_mhz) && f.readings == 0);
    telemetry_stop(t);
    const struct telemetry_options host = { "host", "", root, 0 };
    cr_assert_eq(telemetry_start(&host, &t, NULL), WF_OK);
    cr_expect_null(t);
    cr_expect_eq(telemetry_state(NULL), TELEMETRY_OFF);
    telemetry_stop(NULL);
}

/* A FIFO that nobody writes hangs its reader as a hung driver would. */
Test(telemetry, a_hang_makes_figures_unknown_and_stops_nobody)
{
    char path[400];
    struct telemetry_figures f;
    struct telemetry_errors errors;
    struct amd_metrics_1_7 m = metrics();
    put_bytes("gpu_metrics", &m, sizeof(m));
    struct telemetry *t = start("amd");
    snprintf(path, sizeof(path), "%s/gpu_metrics", folder);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    int64_t from_ns = wf_monotonic_ns();
    while (telemetry_state(t) != TELEMETRY_HUNG &&
           wf_monotonic_ns() - from_ns < LONG_NS) {
        (void)poll(NULL, 0, 20);
    }
    cr_expect_eq(telemetry_state(t), TELEMETRY_HUNG);
    int64_t start_ns = wf_monotonic_ns();
    telemetry_between(t, start_ns - 1000000, start_ns, &f);
    telemetry_read_errors(t, LONG_NS, &errors);
    cr_expect(isnan(f.clock_mhz) && isnan(f.power_w) && !errors.known);
    telemetry_stop(t);
    cr_expect_lt(wf_monotonic_ns() - start_ns, 1000000000LL, "nothing waits for it");
}

Test(telemetry, memory_errors_are_summed_over_blocks)
{
    struct telemetry_errors errors;
    struct amd_metrics_1_7 m = metrics();
    put_bytes("gpu_metrics", &m, sizeof(m));
    put("ras/umc_err_count", "ue: 1\nce: 20\n");
    put("ras/gfx_err_count", "ue: 2\nce: 3\nde: 9\n");
    put("ras/features", "ue: 100\n");
    struct telemetry *t = start("amd");
    telemetry_read_errors(t, LONG_NS, &errors);
    cr_expect(errors.known);
    cr_expect_eq(errors.uncorrectable, 3u);
    cr_expect_eq(errors.corrected, 23u);
    put("ras/umc_err_count", "ue: 5\nce: 20\n");
    telemetry_read_errors(t, LONG_NS, &errors);
    cr_expect_eq(errors.uncorrectable, 7u);
    telemetry_stop(t);
}

Test(telemetry, a_reading_far_away_says_nothing)
{
    struct telemetry_figures f;
    struct amd_metrics_1_7 m = metrics();
    put_bytes("gpu_metrics", &m, sizeof(m));
    struct telemetry *t = start("amd");
    int64_t now_ns = wf_monotonic_ns();
    telemetry_between(t, now_ns - 60 * LONG_NS, now_ns - 59 * LONG_NS, &f);
    cr_expect(isnan(f.clock_mhz));
    telemetry_between(t, now_ns + 50000000, now_ns + 51000000, &f);
    cr_expect_eq(f.clock_mhz, 1925, "the nearest one");
    cr_expect_eq(f.readings, 0u);
    telemetry_stop(t);
}

Test(telemetry, nvml_is_read_in_the_helper)
{
    struct telemetry_errors errors;
    (void)setenv("WAVEFARM_LIBNVML", FAKE_NVML, 1);
    int64_t from_ns = wf_monotonic_ns();
    struct telemetry *t = start("cuda");
    (void)figures(t);
    (void)figures(t);
    struct telemetry_figures f = figures(t);
    cr_expect_str_eq(telemetry_why(t), "NVML");
    cr_expect(f.clock_mhz > 0 && f.clock_mhz < 1980);
    cr_expect_eq(f.power_w, 612.5);
    cr_expect_eq(f.temperature_c, 61);
    telemetry_between(t, from_ns, wf_monotonic_ns(), &f);
    cr_expect_eq(f.reasons, (uint32_t)(THROTTLE_POWER_CAP | THROTTLE_THERMAL));
    telemetry_read_errors(t, LONG_NS, &errors);
    cr_expect(errors.known && errors.uncorrectable == 2 && errors.corrected == 7);
    telemetry_stop(t);
}

Test(telemetry, nvml_that_hangs_or_is_not_there)
{
    struct telemetry *t = NULL;
    const struct telemetry_options o = { "cuda", PCI, root, 2000000 };
    (void)setenv("WAVEFARM_LIBNVML", "/nowhere/libnvidia-ml.so", 1);
    t = start("cuda");
    cr_expect_eq(telemetry_state(t), TELEMETRY_ABSENT);
    cr_expect_not_null(strstr(telemetry_why(t), "/nowhere/"));
    telemetry_stop(t);
    (void)setenv("WAVEFARM_LIBNVML", FAKE_NVML, 1);
    (void)setenv("FAKE_NVML_HANG", "1", 1);
    cr_assert_eq(telemetry_start(&o, &t, NULL), WF_OK);
    int64_t start_ns = wf_monotonic_ns();
    telemetry_wait_first(t, 50000000);
    while (telemetry_state(t) != TELEMETRY_HUNG &&
           wf_monotonic_ns() - start_ns < LONG_NS) {
        (void)poll(NULL, 0, 20);
    }
    cr_expect_eq(telemetry_state(t), TELEMETRY_HUNG);
    telemetry_stop(t);
}

Test(telemetry, a_killed_helper_is_noticed)
{
    char path[64];
    char text[64] = "";
    int64_t pid = 0;
    struct amd_metrics_1_7 m = metrics();
    put_bytes("gpu_metrics", &m, sizeof(m));
    struct telemetry *t = start("amd");
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f);
    cr_assert_not_null(fgets(text, sizeof(text), f));
    (void)fclose(f);
    text[strcspn(text, " \n")] = '\0';
    cr_assert_eq(wf_parse_i64(text, "pid", 2, INT32_MAX, &pid, NULL), WF_OK);
    cr_assert_eq(kill((pid_t)pid, SIGKILL), 0);
    int64_t start_ns = wf_monotonic_ns();
    while (telemetry_state(t) == TELEMETRY_RUNNING &&
           wf_monotonic_ns() - start_ns < LONG_NS) {
        (void)poll(NULL, 0, 5);
    }
    cr_expect_eq(telemetry_state(t), TELEMETRY_ENDED);
    telemetry_stop(t);
}
