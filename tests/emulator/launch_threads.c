/* Launches on several threads, for ThreadSanitizer: independent workgroups, workgroups
 * that wait for each other, faults, and several launches at once. */
#include "program.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    GRID = 300,
    LAUNCHERS = 2
};

struct arguments {
    uint64_t out;
    uint32_t value, zero;
    uint64_t in;
};

static int bad;

static void expect(bool condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "failed: %s\n", what);
        bad = 1;
    }
}

/* The same results as one thread gives. */
static void *run_work(void *ctx)
{
    struct program *p = ctx;
    uint64_t one = program_buffer(p, 4 * GRID), many = program_buffer(p, 4 * GRID);
    struct arguments a = { .out = one, .value = 20 };
    struct program_launch l = {
        .grid = GRID, .block = 64, .threads = 1, .count = true
    };
    program_good(p, "work", &l, &a, sizeof(a));
    a.out = many;
    l.threads = 4;
    program_good(p, "work", &l, &a, sizeof(a));
    expect(memcmp(program_host(one), program_host(many), 4 * GRID) == 0, "work");
    return NULL;
}

static void wait_for_each_other(struct program *p)
{
    uint64_t out = program_buffer(p, 8);
    uint32_t *result = program_host(out);
    struct arguments a = { .out = out, .value = 19 };
    struct program_launch l = { .grid = 20, .block = 64, .threads = 4 };
    program_good(p, "wait_for_last", &l, &a, sizeof(a));
    expect(result[0] == 1 && result[1] == 19, "wait_for_last");
}

static void lowest_fault(struct program *p)
{
    struct arguments a = { .value = 100 };
    struct program_launch l = { .grid = GRID, .block = 64, .threads = 4 };
    struct em_report r = program_run(p, "fault_from", &l, &a, sizeof(a));
    expect(r.faulted && r.fault.workgroup_index == 100, "fault_from");
    em_report_fini(&r);
}

int main(void)
{
    struct program p = program_open(WF_TEST_LAUNCH_CO);
    pthread_t launcher[LAUNCHERS];
    for (unsigned i = 0; i < LAUNCHERS; i++) {
        if (pthread_create(&launcher[i], NULL, run_work, &p) != 0) {
            return 1;
        }
    }
    for (unsigned i = 0; i < LAUNCHERS; i++) {
        (void)pthread_join(launcher[i], NULL);
    }
    wait_for_each_other(&p);
    lowest_fault(&p);
    program_close(&p);
    return bad;
}
