/* The lockstep engine. A scheduler gives each runnable fibre a turn; a fibre that waits
 * for its wave or workgroup names the counter that has to move. When a whole round
 * finds nobody runnable, lanes wait for each other for ever and the run has failed. The
 * order of lanes is reversed in every other workgroup, so that a missing barrier shows.
 *
 * Asynchronous copies are carried out when they are waited for, not when they are
 * issued: a kernel that reads too early reads poison. */
#include "tests/device_kernels/lockstep.h"

#include "tests/device_kernels/lockstep_ops.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum {
    MAX_LANES = 512,
    STACK_BYTES = 256 * 1024,
    MAX_COPIES = 256
};

/* Bounds of the section that holds the kernels' shared variables. */
extern char __start_wf_shared[] __attribute__((weak));
extern char __stop_wf_shared[] __attribute__((weak));

struct copy {
    void *dst;
    const void *src;
    int bytes, group;
};

struct lane {
    ucontext_t context;
    const unsigned *waits_for; /* NULL: runnable */
    unsigned seen;
    int done;
    struct copy copy[MAX_COPIES];
    int copy_count, group;
};

struct meeting {
    unsigned generation;
    int arrived;
};

struct wave {
    struct meeting meeting;
    enum lockstep_op op;
    unsigned char in[LOCKSTEP_MAX_WAVE][LOCKSTEP_MAX_BYTES];
    unsigned char out[LOCKSTEP_MAX_WAVE][LOCKSTEP_MAX_BYTES];
};

static struct {
    struct lockstep_launch launch;
    void (*kernel)(void *argument);
    void *argument;
    unsigned block[3];
    int current;
    struct lane lane[MAX_LANES];
    struct wave wave[MAX_LANES / 32];
    struct meeting workgroup;
    char *stacks;
    void *dynamic;
    ucontext_t scheduler;
    char failure[256];
} engine;

static struct lane *self(void)
{
    return &engine.lane[engine.current];
}

static void yield(void)
{
    swapcontext(&self()->context, &engine.scheduler);
}

void lockstep_require(int condition, const char *message)
{
    if (!condition) {
        if (engine.failure[0] == '\0') {
            snprintf(engine.failure, sizeof engine.failure,
                     "workgroup %u,%u,%u lane %d: %s", engine.block[0], engine.block[1],
                     engine.block[2], engine.current, message);
        }
        for (;;) { /* this lane never goes on; the scheduler stops the run */
            yield();
        }
    }
}

void lockstep_require_aligned(const void *p, size_t bytes)
{
    lockstep_require((uintptr_t)p % bytes == 0, "a wide access is not aligned");
}

int lockstep_thread(void)
{
    return engine.current;
}

int lockstep_block(int axis)
{
    return (int)engine.block[axis];
}

void *lockstep_dynamic_memory(void)
{
    return engine.dynamic;
}

/* True for the last of `count` to arrive, who must release the others. */
static int arrive(struct meeting *m, int count)
{
    if (++m->arrived == count) {
        m->arrived = 0;
        return 1;
    }
    self()->waits_for = &m->generation;
    self()->seen = m->generation;
    yield();
    return 0;
}

void lockstep_barrier(void)
{
    if (arrive(&engine.workgroup, engine.launch.threads)) {
        engine.workgroup.generation++;
    }
}

void lockstep_exchange(enum lockstep_op op,
                       const void *in,
                       size_t in_bytes,
                       void *out,
                       size_t out_bytes)
{
    const int lanes = engine.launch.wave;
    struct wave *wave = &engine.wave[engine.current / lanes];
    const int lane = engine.current % lanes;
    lockstep_require(in_bytes <= LOCKSTEP_MAX_BYTES && out_bytes <= LOCKSTEP_MAX_BYTES,
                     "an exchange is too large");
    lockstep_require(wave->meeting.arrived == 0 || wave->op == op,
                     "lanes of a wave meet in different instructions");
    wave->op = op;
    memcpy(wave->in[lane], in, in_bytes);
    if (arrive(&wave->meeting, lanes)) {
        lockstep_compute(op, lanes, wave->in, wave->out);
        wave->meeting.generation++;
    }
    memcpy(out, wave->out[lane], out_bytes);
}

void lockstep_copy_async(void *dst, const void *src, int bytes)
{
    struct lane *lane = self();
    lockstep_require(lane->copy_count < MAX_COPIES, "too many copies in flight");
    lane->copy[lane->copy_count++] = (struct copy){ dst, src, bytes, lane->group };
}

void lockstep_copy_commit(void)
{
    self()->group++;
}

void lockstep_copy_wait(int newest)
{
    struct lane *lane = self();
    int kept = 0;
    for (int i = 0; i < lane->copy_count; i++) {
        const struct copy *c = &lane->copy[i];
        if (c->group >= lane->group - newest) {
            lane->copy[kept++] = *c;
            continue;
        }
        memset(c->dst, 0, 16);
        memcpy(c->dst, c->src, (size_t)c->bytes);
    }
    lane->copy_count = kept;
}

static void lane_main(void)
{
    engine.kernel(engine.argument);
    self()->done = 1;
    yield();
}

static void start_workgroup(void)
{
    /* All ones: NaN in every float type, and an index that faults. */
    if (__start_wf_shared != NULL) {
        memset(__start_wf_shared, 0xff, (size_t)(__stop_wf_shared - __start_wf_shared));
    }
    memset(engine.dynamic, 0xff, engine.launch.dynamic_bytes);
    memset(engine.wave, 0, sizeof engine.wave);
    memset(&engine.workgroup, 0, sizeof engine.workgroup);
    for (int i = 0; i < engine.launch.threads; i++) {
        struct lane *lane = &engine.lane[i];
        memset(lane, 0, sizeof *lane);
        getcontext(&lane->context);
        lane->context.uc_stack.ss_sp = engine.stacks + (size_t)i * STACK_BYTES;
        lane->context.uc_stack.ss_size = STACK_BYTES;
        lane->context.uc_link = &engine.scheduler;
        makecontext(&lane->context, lane_main, 0);
    }
}

static int give_turn(int i)
{
    struct lane *lane = &engine.lane[i];
    if (lane->done || (lane->waits_for != NULL && *lane->waits_for == lane->seen)) {
        return 0;
    }
    lane->waits_for = NULL;
    engine.current = i;
    swapcontext(&engine.scheduler, &lane->context);
    return 1;
}

/* Turns for one wave's lanes until none of them can go on; the number of turns. */
static int run_wave(int wave)
{
    const int lanes = engine.launch.wave;
    int turns = 0;
    for (int now = 1; now > 0 && engine.failure[0] == '\0'; turns += now) {
        now = 0;
        for (int i = 0; i < lanes && engine.failure[0] == '\0'; i++) {
            now += give_turn(wave * lanes + i);
        }
    }
    return turns;
}

static void run_workgroup(int reversed)
{
    const int threads = engine.launch.threads;
    const int waves = threads / engine.launch.wave;
    start_workgroup();
    for (int running = 1; running && engine.failure[0] == '\0';) {
        running = 0;
        for (int w = 0; w < waves && engine.failure[0] == '\0'; w++) {
            running += run_wave(reversed ? waves - 1 - w : w);
        }
    }
    for (int i = 0; i < threads && engine.failure[0] == '\0'; i++) {
        if (!engine.lane[i].done) {
            snprintf(engine.failure, sizeof engine.failure,
                     "workgroup %u,%u,%u lane %d waits for ever", engine.block[0],
                     engine.block[1], engine.block[2], i);
        }
    }
}

const char *lockstep_run(const struct lockstep_launch *launch,
                         void (*kernel)(void *argument),
                         void *argument)
{
    engine.launch = *launch;
    engine.kernel = kernel;
    engine.argument = argument;
    engine.failure[0] = '\0';
    engine.stacks = malloc((size_t)launch->threads * STACK_BYTES);
    engine.dynamic = aligned_alloc(128, (launch->dynamic_bytes / 128 + 1) * 128);
    if (engine.stacks == NULL || engine.dynamic == NULL ||
        launch->threads > MAX_LANES) {
        snprintf(engine.failure, sizeof engine.failure, "no memory or too many lanes");
    }
    for (unsigned z = 0; z < launch->grid[2]; z++) {
        for (unsigned y = 0; y < launch->grid[1]; y++) {
            for (unsigned x = 0; x < launch->grid[0] && engine.failure[0] == '\0';
                 x++) {
                engine.block[0] = x;
                engine.block[1] = y;
                engine.block[2] = z;
                run_workgroup((int)(x & 1));
            }
        }
    }
    free(engine.stacks);
    free(engine.dynamic);
    return engine.failure[0] != '\0' ? engine.failure : NULL;
}
