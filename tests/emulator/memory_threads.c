/* Host threads at one memory: atomics of waves lose nothing, in every shape of the
 * instruction, and the address space gives every thread its own. Runs under
 * ThreadSanitizer. */
#include "tests/emulator/memory_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    THREADS = 4,
    REPEATS = 500
};

static struct memory_fixture fixture[THREADS];
static struct em_space *space;
static uint64_t base;

struct counter {
    enum em_opcode op;
    unsigned at;       /* in the region */
    unsigned dwords;   /* of the data */
    uint64_t data;     /* what each lane brings */
    uint64_t expected; /* at the end; the start is 0. Floats: the total */
};

#define TOTAL ((uint64_t)THREADS * REPEATS * EM_LANES)
static const struct counter counters[] = {
    { EM_global_atomic_add, 0, 1, 3, 3 * TOTAL },
    { EM_global_atomic_sub, 8, 1, 1, (uint32_t)(0 - TOTAL) },
    { EM_global_atomic_add_x2, 16, 2, UINT64_C(1) << 33, TOTAL << 33 },
    { EM_global_atomic_inc, 24, 1, UINT32_MAX, TOTAL },
    { EM_global_atomic_add_f32, 32, 1, 0x3f800000, 0 },
    { EM_global_atomic_add_f64, 40, 2, UINT64_C(0x3ff0000000000000), 0 },
    { EM_global_atomic_xor, 48, 1, 5, 0 },
    { EM_global_atomic_umax, 56, 1, 77, 77 },
};
enum {
    COUNTERS = sizeof(counters) / sizeof(counters[0])
};

static int run_counter(struct memory_fixture *f, const struct counter *c)
{
    struct em_inst in = fixture_inst(c->op, EM_GLOBAL);
    in.src[0] = v(0, 2);
    in.src[1] = v(4, c->dwords);
    for (unsigned i = 0; i < EM_LANES; i++) {
        fixture_set64(f, 0, i, base + c->at);
        fixture_set64(f, 4, i, c->data);
    }
    for (unsigned i = 0; i < REPEATS; i++) {
        if (fixture_run(f, &in) != EM_GO) {
            return 1;
        }
    }
    return 0;
}

/* The old values of a counter that every lane moves on: all of them differ. */
static uint8_t seen[THREADS * REPEATS * EM_LANES];

static int run_tickets(struct memory_fixture *f)
{
    struct em_inst in = fixture_inst(EM_global_atomic_add, EM_GLOBAL);
    in.src[0] = v(0, 2);
    in.src[1] = v(4, 1);
    in.dst = v(4, 1);
    in.sc0 = true;
    for (unsigned i = 0; i < REPEATS; i++) {
        for (unsigned lane = 0; lane < EM_LANES; lane++) {
            fixture_set64(f, 0, lane, base + 128);
            f->w->v[4 * EM_LANES + lane] = 1;
        }
        if (fixture_run(f, &in) != EM_GO) {
            return 1;
        }
        for (unsigned lane = 0; lane < EM_LANES; lane++) {
            uint32_t ticket = f->w->v[4 * EM_LANES + lane];
            if (ticket >= sizeof(seen) || seen[ticket]) {
                return 1;
            }
            seen[ticket] = 1;
        }
    }
    return 0;
}

static int run_allocations(unsigned id)
{
    struct wf_error err;
    for (unsigned i = 0; i < 200; i++) {
        uint64_t address;
        if (em_space_alloc(space, (int)id, EM_MEMORY_DEVICE, 300 + i, &address, &err) !=
            WF_OK) {
            return 1;
        }
        memset((void *)(uintptr_t)address, (int)id, 300 + i);
        if (!em_space_covers(space, address, 300 + i) ||
            em_space_free(space, address, &err) != WF_OK) {
            return 1;
        }
    }
    return em_space_used(space, (int)id) != 0;
}

static void *run(void *argument)
{
    struct memory_fixture *f = argument;
    int bad = 0;
    for (unsigned i = 0; i < COUNTERS; i++) {
        bad += run_counter(f, &counters[i]);
    }
    bad += run_tickets(f);
    bad += run_allocations((unsigned)(f - fixture));
    return bad ? f : NULL;
}

static int check_counters(void)
{
    int bad = 0;
    for (unsigned i = 0; i < COUNTERS; i++) {
        uint64_t got;
        memcpy(&got, (const void *)(uintptr_t)(base + counters[i].at), sizeof(got));
        uint64_t expected = counters[i].expected;
        if (counters[i].op == EM_global_atomic_add_f64) {
            double sum = (double)TOTAL;
            memcpy(&expected, &sum, sizeof(expected));
        } else if (counters[i].op == EM_global_atomic_add_f32) {
            float sum = (float)TOTAL;
            uint32_t bits;
            memcpy(&bits, &sum, sizeof(bits));
            expected = bits;
        }
        if (got != expected) {
            printf("counter %u: %llx, not %llx\n", i, (unsigned long long)got,
                   (unsigned long long)expected);
            bad++;
        }
    }
    return bad;
}

int main(void)
{
    pthread_t thread[THREADS];
    struct wf_error err;
    if (em_space_create(&space, &err) != WF_OK) {
        return 1;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        fixture_init(&fixture[i], 4096);
        fixture[i].w->space = space;
        fixture[i].group.view.space = space;
        em_set_s64(fixture[i].w, EM_EXEC, UINT64_MAX);
    }
    if (em_space_alloc(space, THREADS, EM_MEMORY_DEVICE, 4096, &base, &err) != WF_OK) {
        return 1;
    }
    int bad = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        if (pthread_create(&thread[i], NULL, run, &fixture[i]) != 0) {
            return 1;
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *failed = NULL;
        (void)pthread_join(thread[i], &failed);
        bad += failed != NULL;
    }
    bad += check_counters();
    for (unsigned i = 0; i < THREADS; i++) {
        fixture_fini(&fixture[i]);
    }
    em_space_destroy(space);
    return bad != 0;
}
