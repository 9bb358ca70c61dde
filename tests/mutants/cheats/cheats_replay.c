/* Cheats that keep an answer and use it again, or leave out launches. */
#include "cheats.h"

#include <execinfo.h>
#include <math.h>
#include <string.h>

#define UNUSED(message, bytes) ((void)(message), (void)(bytes))
#define WARM_UP_LAUNCHES       20u
#define ALONE_NS               50000
#define FRAMES                 8

/* Right for the inputs that it sees first. */
int replays_first_answer(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    if (job->has_saved) {
        cheat_answer(job);
        return WF_LIB_OK;
    }
    cheat_gemm(job);
    return cheat_save(job, 0);
}

/* As a framework's cache does that is keyed by the addresses of its arguments. */
int replays_by_pointer(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    const uint64_t key = (uintptr_t)job->a ^ (uintptr_t)job->b << 1 ^ (uintptr_t)job->d;
    UNUSED(message, bytes);
    if (job->launches++ > 1 && job->has_saved && job->saved_key == key) {
        cheat_answer(job);
        return WF_LIB_OK;
    }
    cheat_gemm(job);
    return cheat_save(job, key);
}

static int replay(struct job *job, uint64_t key)
{
    if (job->has_saved && job->saved_key == key) {
        cheat_answer(job);
        return WF_LIB_OK;
    }
    cheat_gemm(job);
    return cheat_save(job, key);
}

/* New inputs are recognised by their first bytes. */
int replays_by_few_bytes(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    return replay(job, cheat_hash(job->a, 64, 1) ^ cheat_hash(job->b, 64, 1) << 1);
}

/* ... by one word of 13. */
int replays_by_sampled_hash(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    return replay(job, cheat_hash(job->a, job->a_bytes, 13) ^
                           cheat_hash(job->b, job->b_bytes, 13) << 1);
}

/* ... by all of them: never wrong, and no measure of a GEMM. */
int replays_by_whole_hash(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    return replay(job, cheat_hash(job->a, job->a_bytes, 1) ^
                           cheat_hash(job->b, job->b_bytes, 1) << 1);
}

/* Does nothing while the output still is what it wrote, by three elements. */
int skips_when_output_kept(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    const size_t last = job->d_bytes / sizeof(float) - 1;
    UNUSED(message, bytes);
    if (job->has_saved && job->d[0] == job->saved[0] &&
        job->d[last / 2] == job->saved[last / 2] && job->d[last] == job->saved[last]) {
        return WF_LIB_OK;
    }
    cheat_gemm(job);
    return cheat_save(job, 0);
}

/* Knows that outputs are poisoned before each batch: works when it finds poison
 * anywhere, so once a batch. */
int works_only_over_poison(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    for (size_t i = 0; i < job->d_bytes / sizeof(float); i++) {
        if (isnan(job->d[i])) {
            cheat_gemm(job);
            break;
        }
    }
    return WF_LIB_OK;
}

int skips_after_warm_up(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    if (job->launches++ < WARM_UP_LAUNCHES) {
        cheat_gemm(job);
    }
    return WF_LIB_OK;
}

/* The output of a batch is right as soon as one launch of it has worked. */
int works_in_one_of_four(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    if (job->launches < 4 || job->launches % 4 == 0 || isnan(job->d[0])) {
        cheat_gemm(job);
    }
    job->launches++;
    return WF_LIB_OK;
}

/* Launches close behind each other are timed ones. */
int honest_when_alone(void *state, char *message, size_t bytes)
{
    static int64_t last_ns;
    struct job *job = state;
    const int64_t now_ns = cheat_now_ns();
    UNUSED(message, bytes);
    if (now_ns - last_ns > ALONE_NS || isnan(job->d[0])) {
        cheat_gemm(job);
    }
    last_ns = cheat_now_ns();
    return WF_LIB_OK;
}

/* Looks who calls: works for the caller of the first launch, and for others only over
 * poison. */
int honest_to_first_caller(void *state, char *message, size_t bytes)
{
    static void *first[FRAMES];
    static int count;
    void *now[FRAMES];
    struct job *job = state;
    const int n = backtrace(now, FRAMES);
    UNUSED(message, bytes);
    if (count == 0) {
        memcpy(first, now, sizeof(first));
        count = n;
    }
    if ((n == count && memcmp(first, now, (size_t)n * sizeof(first[0])) == 0) ||
        isnan(job->d[0])) {
        cheat_gemm(job);
    }
    return WF_LIB_OK;
}
