/* The conditions of a measurement end to end: one at a time on a device, processors of
 * their own, telemetry that hangs, memory errors. */
#include "task.h"

#include "amd_metrics.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/parse.h"
#include "runner/device_lock.h"
#include "runner/placement.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS  1000000LL
#define PCI "0000:c1:00.0"

static char root[64];
static char folder[256];
static pid_t test_pid;

static void make_root(void)
{
    char ras[300];
    test_pid = getpid();
    (void)snprintf(root, sizeof(root), "/tmp/wf-conditions-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    (void)snprintf(folder, sizeof(folder), "%s/bus/pci/devices/" PCI, root);
    (void)snprintf(ras, sizeof(ras), "%s/ras", folder);
    cr_assert_eq(wf_mkdir_parents(ras, NULL), WF_OK);
    (void)setenv("WAVEFARM_SYSFS", root, 1);
    (void)setenv("WAVEFARM_LOCK_DIR", root, 1);
    (void)setenv("WAVEFARM_CACHE", root, 1); /* no calibration of this machine */
}

static void remove_root(void)
{
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

TestSuite(conditions, .init = make_root, .fini = remove_root, .timeout = 60);

static void put(const char *name, const void *bytes, size_t n)
{
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    cr_assert_eq(wf_file_write_atomic(path, bytes, n, NULL), WF_OK);
}

static void put_metrics(void)
{
    struct amd_metrics_1_3 m;
    memset(&m, 0xff, sizeof(m));
    m.header = (struct amd_header){ sizeof(m), 1, 3 };
    m.current_gfxclk = 1900;
    m.indep_throttle_status = 0;
    put("gpu_metrics", &m, sizeof(m));
}

static struct wf_device fake_card(void)
{
    struct wf_device device = { .runtime = "amd",
                                .id = "amd:test:0",
                                .name = "Fake MI300X",
                                .arch = "gfx942:sramecc+:xnack-",
                                .model = "MI300X",
                                .pci_bus_id = PCI,
                                .cu_count = 4,
                                .xcc_count = 1,
                                .warp_size = 64,
                                .memory_bytes = (uint64_t)1 << 30 };
    (void)snprintf(device.library, sizeof(device.library), "%s", FAKE_RUNTIME);
    return device;
}

static struct wf_execute_request on_card(const struct wf_device *device)
{
    return (struct wf_execute_request){
        .task_id = "t1",
        .case_json = "{\"op\":\"gemm\",\"M\":37,\"N\":29,\"K\":300,\"a_type\":\"f32\"}",
        .pack_folder = EVERY_FEATURE_PACK,
        .kernel = "every_feature",
        .device = device,
        .deadline_ns = 60000 * MS,
        .threads = 1,
        .measure = { .measure = true, .budget_ns = 20 * MS, .max_samples = 20 },
    };
}

/* A number of a result; for children, which may use nothing of the test's framework. */
static double number_of_run(const struct wf_execute_request *request,
                            const char *object,
                            const char *key)
{
    double v = -1;
    struct wf_json *result = NULL;
    struct wf_error err = { 0 };
    if (wf_execute(request, &result, &err) != WF_OK) {
        return -1;
    }
    const struct wf_json *o = wf_json_find(result, object);
    o = strcmp(object, "environment") == 0 && o ? wf_json_find(o, "placement") : o;
    const struct wf_json *n = o ? wf_json_find(o, key) : NULL;
    return n && wf_json_as_f64(n, &v) ? v : -1;
}

/* --- one at a time --- */

static struct device_lock *hold(const struct wf_device *device)
{
    struct device_lock *lock = NULL;
    const struct device_lock_options o = { .timeout_ns = 0 };
    struct wf_error err = { 0 };
    cr_assert_eq(device_lock_take(device, &o, &lock, &err), WF_OK, "%s", err.text);
    return lock;
}

Test(conditions, a_measurement_waits_and_an_answer_does_not)
{
    struct wf_execute_request request = task_request("right");
    struct device_lock *lock = hold(request.device);
    wf_json_free(task_run(&request)); /* answer only */
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        device_lock_free(lock); /* this process's descriptor of it */
        request.measure.measure = true;
        request.measure.budget_ns = 20 * MS;
        request.measure.max_samples = 10;
        request.deadline_ns = 5000 * MS;
        double waited_ns = number_of_run(&request, "details", "lock_wait_ns");
        (void)!write(ends[1], &waited_ns, sizeof(waited_ns));
        _exit(0);
    }
    double waited_ns = 0;
    struct pollfd fd = { .fd = ends[0], .events = POLLIN };
    cr_expect_eq(poll(&fd, 1, 700), 0, "it measures while somebody else does");
    device_lock_free(lock);
    cr_assert_eq(read(ends[0], &waited_ns, sizeof(waited_ns)),
                 (ssize_t)sizeof(waited_ns));
    cr_expect_gt(waited_ns, 100.0 * MS);
    (void)waitpid(child, NULL, 0);
}

/* More than the deadline of the task, which has nothing to do with it. */
Test(conditions, waiting_is_not_the_tasks_time)
{
    struct wf_execute_request request = task_request("right");
    struct device_lock *lock = hold(request.device);
    request.measure.measure = true;
    request.measure.budget_ns = 20 * MS;
    request.measure.max_samples = 10;
    request.deadline_ns = 4000 * MS;
    pid_t child = fork();
    if (child == 0) {
        (void)poll(NULL, 0, 4500); /* the lock's other descriptor is this process's */
        _exit(0);
    }
    device_lock_free(lock);
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "PASS", "%s",
                     task_text(result, "answer_text"));
    cr_expect_str_neq(task_text(result, "time"), "NOT_MEASURED", "%s",
                      task_text(result, "time_text"));
    cr_expect_gt(task_number(result, "details.lock_wait_ns"), 1000.0 * MS);
    wf_json_free(result);
    (void)waitpid(child, NULL, 0);
}

Test(conditions, a_device_that_stays_busy_is_the_runners_error)
{
    struct wf_error err = { 0 };
    struct wf_json *result = NULL;
    struct wf_execute_request request = task_request("right");
    struct device_lock *lock = hold(request.device);
    request.measure.measure = true;
    request.lock_timeout_ns = 50 * MS;
    cr_expect_eq(wf_execute(&request, &result, &err), WF_ETIMEOUT);
    cr_expect_not_null(strstr(err.text, "--lock-timeout"), "%s", err.text);
    cr_expect_not_null(strstr(err.text, request.device->id), "%s", err.text);
    device_lock_free(lock);
    (void)setenv("WAVEFARM_LOCK_DIR", "/nowhere", 1);
    cr_expect_eq(wf_execute(&request, &result, &err), WF_EIO, "%s", err.text);
    cr_expect_not_null(strstr(err.text, "WAVEFARM_LOCK_DIR"), "got: %s", err.text);
}

/* --- processors --- */

/* Field of /proc/<pid>/status, -1 when it cannot be read. */
static int64_t parent_of(int64_t pid, char name[32])
{
    char path[64];
    struct wf_buf text = WF_BUF_INIT;
    int64_t parent = -1;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (wf_file_read(path, 1 << 16, &text, NULL) == WF_OK) {
        const char *at = strstr(wf_buf_cstr(&text), "PPid:\t");
        char digits[16] = "";
        (void)snprintf(name, 32, "%.*s", (int)strcspn(text.data + 6, "\n"),
                       text.data + 6);
        (void)snprintf(digits, sizeof(digits), "%.*s",
                       at ? (int)strcspn(at + 6, "\n") : 0, at ? at + 6 : "");
        (void)wf_parse_i64(digits, "pid", 0, INT32_MAX, &parent, NULL);
    }
    wf_buf_free(&text);
    return parent;
}

static bool descends(int64_t pid)
{
    char ignored[32];
    for (int i = 0; i < 8 && pid > 1; i++) {
        pid = parent_of(pid, ignored);
        if (pid == test_pid) {
            return true;
        }
    }
    return false;
}

/* The subject among this test's descendants, 0 when there is none. */
static pid_t find_subject(void)
{
    pid_t found = 0;
    DIR *dir = opendir("/proc");
    struct dirent *e = dir ? readdir(dir) : NULL;
    for (; e && !found; e = readdir(dir)) {
        int64_t pid = 0;
        char name[32] = "";
        if (wf_parse_i64(e->d_name, "pid", 2, INT32_MAX, &pid, NULL) == WF_OK &&
            parent_of(pid, name) > 0 && strcmp(name, "wavefarm-subjec") == 0 &&
            descends(pid)) {
            found = (pid_t)pid;
        }
    }
    if (dir) {
        (void)closedir(dir);
    }
    return found;
}

Test(conditions, the_subject_runs_on_its_processor_while_it_measures)
{
    struct placement plan;
    struct wf_device device = fake_card();
    struct wf_execute_request request = on_card(&device);
    put_metrics();
    placement_of_device(&device, root, &plan);
    pid_t child = fork();
    if (child == 0) {
        double cpu = number_of_run(&request, "environment", "subject_cpu");
        _exit((int)cpu == plan.subject_cpu ? 0 : 1);
    }
    bool seen = false;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        cpu_set_t set;
        pid_t subject = seen ? 0 : find_subject();
        if (subject > 0 && sched_getaffinity(subject, sizeof(set), &set) == 0) {
            seen = CPU_COUNT(&set) == 1 && plan.subject_cpu >= 0 &&
                   CPU_ISSET((size_t)plan.subject_cpu, &set);
        }
        (void)poll(NULL, 0, 5);
    }
    cr_expect_eq(status, 0, "the result says another processor");
    cr_expect(seen || plan.subject_cpu < 0);
}

/* --- telemetry --- */

Test(conditions, a_driver_that_hangs_is_said_and_costs_no_result)
{
    char path[400];
    struct wf_device device = fake_card();
    struct wf_execute_request request = on_card(&device);
    (void)snprintf(path, sizeof(path), "%s/gpu_metrics", folder);
    cr_assert_eq(mkfifo(path, 0600), 0);
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "PASS");
    cr_expect_str_eq(task_text(result, "details.telemetry.state"), "hung");
    cr_expect_str_eq(task_text(result, "details.warmup_clock"), "unknown");
    cr_expect_gt(wf_json_count(task_member(result, "timing.samples")), 0u);
    cr_expect_eq(wf_json_count(task_member(result, "timing.clock_mhz")), 0u);
    wf_json_free(result);
}

/* Errors that come while it is measured make the time one that cannot be believed. */
static const char *time_with_errors(const char *after, double *ret_uncorrectable)
{
    static char time[32];
    char path[400];
    struct wf_device device = fake_card();
    struct wf_execute_request request = on_card(&device);
    put_metrics();
    put("ras/umc_err_count", "ue: 1\nce: 5\n", 12);
    pid_t child = fork();
    if (child == 0) {
        /* The counts before are read once the subject was seen pinned or had time. */
        for (int i = 0; i < 1000 && find_subject() == 0; i++) {
            (void)poll(NULL, 0, 5);
        }
        (void)poll(NULL, 0, 350);
        (void)snprintf(path, sizeof(path), "%s/ras/umc_err_count", folder);
        (void)wf_file_write_atomic(path, after, strlen(after), NULL);
        _exit(0);
    }
    struct wf_json *result = task_run(&request);
    (void)waitpid(child, NULL, 0);
    cr_expect_str_eq(task_text(result, "answer"), "PASS");
    *ret_uncorrectable =
        task_number(result, "details.memory_errors.uncorrectable_after");
    (void)snprintf(time, sizeof(time), "%s", task_text(result, "time"));
    wf_json_free(result);
    return time;
}

Test(conditions, uncorrectable_memory_errors_mark_the_time)
{
    double uncorrectable = 0;
    cr_expect_str_eq(time_with_errors("ue: 3\nce: 5\n", &uncorrectable), "IMPLAUSIBLE");
    cr_expect_eq(uncorrectable, 3);
}

Test(conditions, corrected_ones_are_stored_and_no_more)
{
    double uncorrectable = 0;
    cr_expect_str_neq(time_with_errors("ue: 1\nce: 9\n", &uncorrectable),
                      "IMPLAUSIBLE");
    cr_expect_eq(uncorrectable, 1);
}
