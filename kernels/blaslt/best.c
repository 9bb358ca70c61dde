/* Choosing among the library's candidates by time: rounds over all of them in turn, so
 * that a clock that moves meets all; of each the median round counts. Operands are
 * copies of this file's own, filled with numbers, and stay where they are: caches are
 * warm, as in the tuning of the libraries themselves. */
#include "kernels/blaslt/blaslt.h"

#include "core/buf.h"
#include "core/rng.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS      5
#define ROUND_MS    2.0f
#define MAX_REPEATS 100
#define CHUNK       ((size_t)1 << 20)
#define SEED        0x77617665u
#define ALIGNED     256u /* bytes: allocations begin at a multiple */

struct timing {
    const struct blaslt_plan *plan;
    const struct blaslt_says *says;
    struct blaslt_pointers at;
    void *memory[BLASLT_MATRICES];
    void *begin, *end; /* events */
    int repeats[BLASLT_RESULTS];
    float ms[BLASLT_RESULTS][ROUNDS]; /* of one launch; < 0: the candidate failed */
};

static int device_status(const struct timing *t, const char *what, int status)
{
    return status == 0
               ? WF_LIB_OK
               : blaslt_say(t->says, WF_LIB_FAILED,
                            "timing the candidates: %s: error %d", what, status);
}

/* Numbers in [-1, 1), of an integer in [-8, 8). */
static void make_pattern(enum wf_dtype type, unsigned char *chunk, size_t bytes)
{
    const size_t size = wf_dtype_bytes(type);
    for (size_t i = 0; i < bytes / size; i++) {
        const double u = 2.0 * wf_rng_uniform(SEED, 0, i) - 1.0;
        const double v = type == WF_I8 ? (double)(int)(8.0 * u) : u;
        wf_from_f64(type, &v, chunk + i * size, 1);
    }
}

static int fill(const struct timing *t,
                enum wf_dtype type,
                void *memory,
                uint64_t bytes)
{
    int rc = WF_LIB_OK;
    unsigned char *chunk = wf_calloc(CHUNK, 1);
    if (!chunk) {
        return blaslt_say(t->says, WF_LIB_NO_MEMORY, "no memory for a pattern");
    }
    make_pattern(type, chunk, bytes < CHUNK ? (size_t)bytes : CHUNK);
    for (uint64_t done = 0; done < bytes && rc == WF_LIB_OK; done += CHUNK) {
        const size_t n = bytes - done < CHUNK ? (size_t)(bytes - done) : CHUNK;
        rc = device_status(
            t, "copying to the device",
            t->plan->lib->device.memory_write((char *)memory + done, chunk, n));
    }
    free(chunk);
    return rc;
}

static int make_operand(struct timing *t, int which)
{
    const struct blaslt_matrix *x = &t->plan->p.matrix[which];
    if (x->bytes == 0 || (which == BLASLT_C && t->plan->p.beta == 0.0)) {
        return WF_LIB_OK;
    }
    if (t->plan->lib->device.memory_alloc(&t->memory[which], x->bytes + ALIGNED) != 0) {
        t->memory[which] = NULL;
        return blaslt_say(t->says, WF_LIB_NO_MEMORY,
                          "timing the candidates needs a second copy of the operands; "
                          "%llu bytes cannot be had",
                          (unsigned long long)x->bytes);
    }
    /* as far behind an aligned address as the case's own */
    const uint64_t at = (uint64_t)x->offset * wf_dtype_bytes(x->dtype) % ALIGNED;
    t->at.matrix[which] = (char *)t->memory[which] + at;
    return which == BLASLT_D ? WF_LIB_OK
                             : fill(t, x->dtype, t->at.matrix[which], x->bytes);
}

static int make_all(struct timing *t)
{
    const struct blaslt_device *d = &t->plan->lib->device;
    int rc = device_status(t, "creating an event", d->event_create(&t->begin, 0));
    if (rc == WF_LIB_OK) {
        rc = device_status(t, "creating an event", d->event_create(&t->end, 0));
    }
    for (int i = 0; i < BLASLT_MATRICES && rc == WF_LIB_OK; i++) {
        rc = make_operand(t, i);
    }
    return rc;
}

static void free_all(struct timing *t)
{
    const struct blaslt_device *d = &t->plan->lib->device;
    for (int i = 0; i < BLASLT_MATRICES; i++) {
        if (t->memory[i]) {
            (void)d->memory_free(t->memory[i]);
        }
    }
    if (t->begin) {
        (void)d->event_destroy(t->begin);
    }
    if (t->end) {
        (void)d->event_destroy(t->end);
    }
}

/* Milliseconds of one launch among `repeats`; *ret < 0 when the library refuses it. A
 * failure of the device is an error. */
static int time_once(struct timing *t, int result, int repeats, float *ret)
{
    const struct blaslt_device *d = &t->plan->lib->device;
    float ms = 0.0f;
    int status = d->event_record(t->begin, t->at.stream);
    for (int i = 0; i < repeats && status == 0; i++) {
        if (blaslt_plan_run(t->plan, result, &t->at) != 0) {
            *ret = -1.0f;
            return device_status(t, "waiting",
                                 d->event_record(t->end, t->at.stream) |
                                     d->event_wait(t->end));
        }
    }
    if (status == 0) {
        status = d->event_record(t->end, t->at.stream);
    }
    if (status == 0) {
        status = d->event_wait(t->end);
    }
    if (status == 0) {
        status = d->event_elapsed(&ms, t->begin, t->end);
    }
    *ret = ms / (float)repeats;
    if (status == 0 && !(ms >= 0.0f && ms < 1e9f)) {
        return blaslt_say(t->says, WF_LIB_FAILED,
                          "timing the candidates: an event says %g ms", (double)ms);
    }
    return device_status(t, "timing a launch", status);
}

/* The first launch loads code; the second says how many make a round. */
static int warm_up(struct timing *t, int result)
{
    float ms = 0.0f;
    int rc = time_once(t, result, 1, &ms);
    if (rc == WF_LIB_OK && ms >= 0.0f) {
        rc = time_once(t, result, 1, &ms);
    }
    t->repeats[result] = ms < 0.0f                      ? 0
                         : ms * MAX_REPEATS <= ROUND_MS ? MAX_REPEATS
                         : ms >= ROUND_MS               ? 1
                                                        : (int)(ROUND_MS / ms);
    return rc;
}

static int by_value(const void *a, const void *b)
{
    float x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static float median(float *ms)
{
    qsort(ms, ROUNDS, sizeof *ms, by_value);
    return ms[0] < 0.0f ? -1.0f : ms[ROUNDS / 2];
}

static int measure(struct timing *t)
{
    const int n = t->plan->result_count;
    int rc = WF_LIB_OK;
    for (int i = 0; i < n && rc == WF_LIB_OK; i++) {
        rc = warm_up(t, i);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n && rc == WF_LIB_OK; i++) {
            t->ms[i][round] = -1.0f;
            if (t->repeats[i] > 0) {
                rc = time_once(t, i, t->repeats[i], &t->ms[i][round]);
            }
        }
    }
    return rc;
}

static int choose(struct timing *t, struct blaslt_choice *ret)
{
    *ret = (struct blaslt_choice){ .result = -1, .timed = t->plan->result_count };
    for (int i = 0; i < t->plan->result_count; i++) {
        const double us = 1e3 * (double)median(t->ms[i]);
        if (us < 0.0) {
            ret->failed++;
        } else if (ret->result < 0 || us < ret->best_us) {
            ret->result = i;
            ret->best_us = us;
        }
        if (i == 0) {
            ret->first_us = us;
        }
    }
    return ret->result >= 0 ? WF_LIB_OK
                            : blaslt_say(t->says, WF_LIB_FAILED,
                                         "none of %s's %d candidates can be launched",
                                         t->plan->lib->vendor->name, ret->timed);
}

int blaslt_best(const struct blaslt_plan *plan,
                void *workspace,
                void *stream,
                struct blaslt_choice *ret,
                const struct blaslt_says *says)
{
    struct timing t = { .plan = plan,
                        .says = says,
                        .at = { .workspace = workspace, .stream = stream } };
    if (plan->lib->device_reason[0]) {
        return blaslt_say(says, WF_LIB_FAILED, "timing the candidates: %s",
                          plan->lib->device_reason);
    }
    int rc = make_all(&t);
    if (rc == WF_LIB_OK) {
        rc = measure(&t);
    }
    if (rc == WF_LIB_OK) {
        rc = choose(&t, ret);
    }
    free_all(&t);
    return rc;
}
