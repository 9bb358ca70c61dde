/* Where a measurement runs: the rule, and what the kernel says of children. */
#include "runner/placement.h"

#include "core/file.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static cpu_set_t cpus(const char *text)
{
    cpu_set_t set;
    struct wf_error err = { 0 };
    cr_assert_eq(placement_parse_cpus(text, &set, &err), WF_OK, "%s", err.text);
    return set;
}

static struct placement plan(const char *allowed, const char *near, int index)
{
    struct placement p;
    cpu_set_t a = cpus(allowed);
    cpu_set_t n = cpus(near);
    placement_plan(&a, &n, index, &p);
    return p;
}

Test(placement, lists_of_processors)
{
    cpu_set_t set = cpus("0-2,8\n");
    struct wf_error err = { 0 };
    cr_expect_eq(CPU_COUNT(&set), 4);
    cr_expect(CPU_ISSET(8, &set) && !CPU_ISSET(3, &set));
    set = cpus("");
    cr_expect_eq(CPU_COUNT(&set), 0);
    static const char *const bad[] = { "x", "3-1", "1,,2", "-1", "99999", "1-2-3" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(placement_parse_cpus(bad[i], &set, &err), WF_EPARSE, "%s", bad[i]);
    }
}

Test(placement, one_processor_is_left_alone)
{
    struct placement p = plan("3", "3", 0);
    cr_expect(p.subject_cpu == -1 && p.judge_cpu == -1);
    cr_expect_not_null(strstr(p.text, "one processor"), "%s", p.text);
}

Test(placement, with_two_or_three_the_subject_has_one_of_its_own)
{
    struct placement p = plan("0-1", "0-1", 0);
    cr_expect(p.subject_cpu == 1 && p.judge_cpu == 0);
    cr_expect_neq(p.text[0], '\0');
    p = plan("2,5,7", "", 4);
    cr_expect(p.subject_cpu == 7 && p.judge_cpu == 5);
}

Test(placement, devices_have_pairs_near_them)
{
    /* Two sockets of 32, four devices at each. */
    struct placement p = plan("0-63", "32-63", 5);
    cr_expect(p.subject_cpu == 53 && p.judge_cpu == 52, "%d %d", p.subject_cpu,
              p.judge_cpu);
    cr_expect_eq(p.text[0], '\0');
    p = plan("0-63", "", 0); /* where it is near is not known */
    cr_expect(p.subject_cpu == 63 && p.judge_cpu == 62);
    p = plan("0-63", "4", 0);
    cr_expect(p.subject_cpu == 63, "one is too few for two threads");
}

Test(placement, pairs_never_meet_while_there_are_enough)
{
    for (int near = 4; near <= 64; near += 2) {
        char text[16];
        bool used[128] = { false };
        snprintf(text, sizeof(text), "0-%d", near - 1);
        for (int i = 0; i < near / 2; i++) {
            struct placement p = plan("0-127", text, i);
            cr_assert(p.subject_cpu >= 0 && p.judge_cpu >= 0);
            cr_expect_neq(p.subject_cpu, p.judge_cpu);
            cr_expect(!used[p.subject_cpu] && !used[p.judge_cpu], "%d of %d", i, near);
            used[p.subject_cpu] = used[p.judge_cpu] = true;
        }
        cr_expect_neq(plan("0-127", text, near / 2).text[0], '\0', "sharing is said");
    }
}

Test(placement, the_heartbeats_processors_are_the_others)
{
    cpu_set_t measuring;
    cpu_set_t allowed;
    struct placement p;
    struct wf_device d[2] = { { .runtime = "amd", .ordinal = 0 },
                              { .runtime = "amd", .ordinal = 1 } };
    cr_assert_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    placement_measuring_cpus(d, 2, "/nowhere", &measuring);
    for (size_t i = 0; i < 2; i++) {
        placement_of_device(&d[i], "/nowhere", &p);
        cr_expect(p.subject_cpu < 0 || CPU_ISSET((size_t)p.subject_cpu, &measuring));
    }
    if (CPU_COUNT(&allowed) > 1) {
        cr_expect_lt(CPU_COUNT(&measuring), CPU_COUNT(&allowed), "some are left");
    }
    struct wf_device host = { .runtime = "host",
                              .library_kernels = true,
                              .cpus = "0-2" };
    placement_measuring_cpus(&host, 1, "/nowhere", &measuring);
    cr_expect_eq(CPU_COUNT(&measuring), 3);
}

Test(placement, near_is_read_from_the_devices_folder)
{
    char root[64] = "/tmp/wf-near-XXXXXX";
    char path[200];
    struct placement p;
    cpu_set_t allowed;
    cr_assert_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    cr_assert_not_null(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/bus/pci/devices/0000:c1:00.0", root);
    cr_assert_eq(wf_mkdir_parents(path, NULL), WF_OK);
    snprintf(path, sizeof(path), "%s/bus/pci/devices/0000:c1:00.0/local_cpulist", root);
    cr_assert_eq(wf_file_write_atomic(path, "0-1\n", 4, NULL), WF_OK);
    const struct wf_device d = { .runtime = "amd", .pci_bus_id = "0000:c1:00.0" };
    placement_of_device(&d, root, &p);
    cr_expect_leq(p.subject_cpu, 1 + 1000 * (CPU_COUNT(&allowed) < 4));
    cr_assert_eq(wf_remove_tree(root, NULL), WF_OK);
}

Test(placement, threads_are_where_they_were_put_and_come_back)
{
    cpu_set_t before;
    cpu_set_t set;
    struct placement p;
    struct placed placed;
    cr_assert_eq(sched_getaffinity(0, sizeof(before), &before), 0);
    pid_t child = fork();
    if (child == 0) {
        for (;;) {
            (void)pause();
        }
    }
    const int nice_before = getpriority(PRIO_PROCESS, (id_t)child);
    placement_plan(&before, &before, 0, &p);
    placement_enter(&p, child, &placed);
    cr_assert_eq(sched_getaffinity(child, sizeof(set), &set), 0);
    if (p.subject_cpu >= 0) {
        cr_expect_eq(CPU_COUNT(&set), 1);
        cr_expect(CPU_ISSET((size_t)p.subject_cpu, &set));
        cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
        cr_expect(CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)p.judge_cpu, &set));
        cr_expect_eq(placed.subject_cpu, p.subject_cpu);
    }
    cr_expect_eq(placed.subject_nice, getpriority(PRIO_PROCESS, (id_t)child));
    cr_expect(placed.subject_nice == PLACEMENT_NICE || placed.text[0]);
    placement_leave(&placed, child);
    cr_assert_eq(sched_getaffinity(child, sizeof(set), &set), 0);
    cr_expect(CPU_EQUAL(&set, &before));
    cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
    cr_expect(CPU_EQUAL(&set, &before));
    cr_expect_eq(getpriority(PRIO_PROCESS, (id_t)child), nice_before);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

static void *keep_away(void *avoid)
{
    static cpu_set_t now;
    CPU_ZERO(&now);
    bool away = placement_keep_away(avoid, true);
    (void)sched_getaffinity(0, sizeof(now), &now);
    return away ? &now : NULL;
}

/* A67: what renews a lease never shares the processor that a kernel starves. */
Test(placement, a67_a_thread_kept_away_never_runs_where_measurements_do)
{
    cpu_set_t allowed;
    cpu_set_t avoid;
    pthread_t thread;
    void *now = NULL;
    cr_assert_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    CPU_ZERO(&avoid);
    for (size_t cpu = CPU_SETSIZE; cpu > 0 && CPU_COUNT(&avoid) == 0; cpu--) {
        if (CPU_ISSET(cpu - 1, &allowed)) {
            CPU_SET(cpu - 1, &avoid);
        }
    }
    cr_assert_eq(pthread_create(&thread, NULL, keep_away, &avoid), 0);
    cr_assert_eq(pthread_join(thread, &now), 0);
    if (CPU_COUNT(&allowed) == 1) {
        cr_expect_null(now, "there is no other");
        return;
    }
    cr_assert_not_null(now);
    cpu_set_t both;
    CPU_AND(&both, (cpu_set_t *)now, &avoid);
    cr_expect_eq(CPU_COUNT(&both), 0);
    cr_assert_eq(sched_getaffinity(0, sizeof(both), &both), 0);
    cr_expect(CPU_EQUAL(&both, &allowed), "this thread stays where it was");
}
