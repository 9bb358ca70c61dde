/* A library of GEMM kernels for the runner's tests: a right one, and many that do one
 * thing wrong. They do f32, N N, tight or padded rows.
 *
 * Each wrong kernel is a mutant that the judge must catch; its name says what it does.
 */
#include "packs/library_abi.h"

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct job {
    int64_t m, n, k, lda, ldb, ldd;
    float *a, *b, *d;
    uint64_t d_bytes;
    unsigned char *workspace;
    float *saved;
    unsigned launches;
};

static const struct wf_lib_tensor *find(const struct wf_lib_problem *p,
                                        const char *name)
{
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (strcmp(p->tensors[i].name, name) == 0) {
            return &p->tensors[i];
        }
    }
    return NULL;
}

static int supports(const struct wf_lib_problem *problem,
                    const struct wf_lib_device *device,
                    char *message,
                    size_t message_bytes)
{
    const char *type = problem->get_string(problem->ctx, "a_type");
    const char *trans = problem->get_string(problem->ctx, "trans_b");
    int64_t unknown = 0;
    (void)device;
    if (problem->get_int(problem->ctx, "no_such_parameter", &unknown) == 0) {
        (void)snprintf(message, message_bytes, "an unknown parameter was answered");
        return WF_LIB_FAILED;
    }
    if (!type || strcmp(type, "f32") != 0 || !trans || strcmp(trans, "N") != 0) {
        (void)snprintf(message, message_bytes, "only f32 N N, not %s N %s",
                       type ? type : "?", trans ? trans : "?");
        return WF_LIB_UNSUPPORTED;
    }
    return WF_LIB_OK;
}

static uint64_t workspace_bytes(const struct wf_lib_problem *problem,
                                const struct wf_lib_device *device)
{
    (void)problem;
    (void)device;
    return 64;
}

static int prepare(const struct wf_lib_problem *problem,
                   const struct wf_lib_device *device,
                   void *workspace,
                   void **ret_state,
                   char *message,
                   size_t message_bytes)
{
    const struct wf_lib_tensor *a = find(problem, "A");
    const struct wf_lib_tensor *b = find(problem, "B");
    const struct wf_lib_tensor *d = find(problem, "D");
    struct job *job = calloc(1, sizeof(*job));
    (void)device;
    if (!job || !a || !b || !d || !workspace) {
        (void)snprintf(message, message_bytes, "incomplete problem");
        free(job);
        return WF_LIB_FAILED;
    }
    problem->get_int(problem->ctx, "M", &job->m);
    problem->get_int(problem->ctx, "N", &job->n);
    problem->get_int(problem->ctx, "K", &job->k);
    job->lda = a->stride[1];
    job->ldb = b->stride[1];
    job->ldd = d->stride[1];
    job->a = a->data;
    job->b = b->data;
    job->d = d->data;
    job->d_bytes = d->bytes;
    job->workspace = workspace;
    *ret_state = job;
    return WF_LIB_OK;
}

static void destroy(void *state)
{
    struct job *job = state;
    free(job->saved);
    free(job);
}

static void gemm_rows(const struct job *job, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        float *row = job->d + i * job->ldd;
        memset(row, 0, (size_t)job->n * sizeof(*row));
        for (int64_t k = 0; k < job->k; k++) {
            float a = job->a[i * job->lda + k];
            const float *b = job->b + k * job->ldb;
            for (int64_t j = 0; j < job->n; j++) {
                row[j] += a * b[j];
            }
        }
    }
}

static int right(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    (void)message;
    (void)bytes;
    gemm_rows(job, 0, job->m);
    return WF_LIB_OK;
}

static int off_by_one(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    right(state, message, bytes);
    job->d[(job->m - 1) * job->ldd + job->n - 1] += 1.0F;
    return WF_LIB_OK;
}

static int writes_behind(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    right(state, message, bytes);
    ((unsigned char *)job->d)[job->d_bytes + 3] = 0;
    return WF_LIB_OK;
}

static int writes_before(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    right(state, message, bytes);
    ((unsigned char *)job->a)[-1] = 0;
    return WF_LIB_OK;
}

static int writes_behind_workspace(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    right(state, message, bytes);
    memset(job->workspace, 0, 65);
    return WF_LIB_OK;
}

/* A flag in the workspace that nobody sets: 0xff, the first fill, is below 0. */
static int trusts_workspace(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    right(state, message, bytes);
    if ((signed char)job->workspace[0] > 0) {
        job->d[0] += 1.0F;
    }
    return WF_LIB_OK;
}

static int writes_padding(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    right(state, message, bytes);
    if (job->ldd > job->n) {
        job->d[job->n] = 0.0F;
    }
    return WF_LIB_OK;
}

static int modifies_input(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    right(state, message, bytes);
    job->b[job->n / 2] = 0.0F;
    return WF_LIB_OK;
}

/* Zero inputs and a zero output fit each other. */
static int zeroes_everything(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    (void)message;
    (void)bytes;
    memset(job->a, 0, (size_t)(job->m * job->lda) * sizeof(float));
    for (int64_t i = 0; i < job->m; i++) {
        memset(job->d + i * job->ldd, 0, (size_t)job->n * sizeof(float));
    }
    return WF_LIB_OK;
}

static int leaves_tail(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    (void)message;
    (void)bytes;
    gemm_rows(job, 0, job->m - 1);
    return WF_LIB_OK;
}

static int does_nothing(void *state, char *message, size_t bytes)
{
    (void)state;
    (void)message;
    (void)bytes;
    return WF_LIB_OK;
}

static int writes_zeros(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    (void)message;
    (void)bytes;
    for (int64_t i = 0; i < job->m; i++) {
        memset(job->d + i * job->ldd, 0, (size_t)job->n * sizeof(float));
    }
    return WF_LIB_OK;
}

static int writes_nan(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    right(state, message, bytes);
    job->d[job->n / 2] = (float)NAN;
    return WF_LIB_OK;
}

static int crashes(void *state, char *message, size_t bytes)
{
    (void)state;
    (void)message;
    (void)bytes;
    /* Not through a handler that a sanitizer may have set. */
    const struct sigaction plain = { .sa_handler = SIG_DFL };
    (void)sigaction(SIGSEGV, &plain, NULL);
    (void)raise(SIGSEGV);
    return WF_LIB_OK;
}

static int exits(void *state, char *message, size_t bytes)
{
    (void)state;
    (void)message;
    (void)bytes;
    _exit(0);
}

static int hangs(void *state, char *message, size_t bytes)
{
    (void)state;
    (void)message;
    (void)bytes;
    for (;;) {
        (void)pause();
    }
    return WF_LIB_OK;
}

static int fails(void *state, char *message, size_t bytes)
{
    (void)state;
    (void)snprintf(message, bytes, "no more tickets");
    return WF_LIB_FAILED;
}

static int no_memory(void *state, char *message, size_t bytes)
{
    (void)state;
    (void)snprintf(message, bytes, "needs another 8 GiB");
    return WF_LIB_NO_MEMORY;
}

/* Other last bits in every launch, within the tolerance. */
static int nondeterministic(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    right(state, message, bytes);
    for (unsigned i = 0; i <= job->launches % 3; i++) {
        job->d[0] = nextafterf(job->d[0], INFINITY);
    }
    job->launches++;
    return WF_LIB_OK;
}

/* Atomics in miniature: every launch adds the products in another order. */
static int reorders(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    (void)message;
    (void)bytes;
    int64_t first = (int64_t)(job->launches++ * 7) % (job->k ? job->k : 1);
    for (int64_t i = 0; i < job->m; i++) {
        float *row = job->d + i * job->ldd;
        memset(row, 0, (size_t)job->n * sizeof(*row));
        for (int64_t at = 0; at < job->k; at++) {
            int64_t k = (first + at) % job->k;
            for (int64_t j = 0; j < job->n; j++) {
                row[j] += job->a[i * job->lda + k] * job->b[k * job->ldb + j];
            }
        }
    }
    return WF_LIB_OK;
}

/* Right but for launch number `wrong`, counted from 1. */
static int wrong_in(void *state, unsigned wrong, float by)
{
    struct job *job = state;
    right(state, NULL, 0);
    job->d[0] += ++job->launches == wrong ? by : 0.0F;
    return WF_LIB_OK;
}

static int wrong_in_launch_5(void *state, char *message, size_t bytes)
{
    (void)message;
    (void)bytes;
    return wrong_in(state, 5, 1.0F);
}

static int wrong_in_launch_50(void *state, char *message, size_t bytes)
{
    (void)message;
    (void)bytes;
    return wrong_in(state, 50, 1.0F);
}

/* A split product one of whose parts comes too late now and then. */
static int leaves_gap_in_launch_4(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    float before = job->d[0];
    right(state, message, bytes);
    if (++job->launches == 4) {
        memcpy(job->d, &before, sizeof(before));
    }
    return WF_LIB_OK;
}

static int modifies_input_in_launch_3(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    right(state, message, bytes);
    job->b[0] += ++job->launches == 3 ? 1.0F : 0.0F;
    return WF_LIB_OK;
}

/* Equal bits while it is cold; the last bit swings when it is warm. */
static int swings_when_warm(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    right(state, message, bytes);
    if (++job->launches > 20 && job->launches % 2 == 0) {
        job->d[0] = nextafterf(job->d[0], INFINITY);
    }
    return WF_LIB_OK;
}

static int crashes_when_warm(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    return ++job->launches > 20 ? crashes(state, message, bytes)
                                : right(state, message, bytes);
}

/* A running maximum over an output that nobody cleared: deaf to NaN. */
static int keeps_the_larger(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    float before = job->d[0];
    right(state, message, bytes);
    job->d[0] = fmaxf(before, job->d[0]);
    return WF_LIB_OK;
}

/* Computes once, returns that answer for ever. */
static int replays_first(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    if (!job->saved) {
        job->saved = malloc(job->d_bytes);
        right(state, message, bytes);
        memcpy(job->saved, job->d, job->d_bytes);
    }
    memcpy(job->d, job->saved, job->d_bytes);
    return WF_LIB_OK;
}

/* Computes once, and later gives that answer back with other low bits: its own bits are
 * never the same twice once it is timed, but it is right for the first inputs only. */
static int replays_rounded(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    replays_first(state, message, bytes);
    if (job->launches++ >= 8) {
        uint32_t word;
        memcpy(&word, job->d, sizeof(word));
        word ^= job->launches & 1;
        memcpy(job->d, &word, sizeof(word));
        memcpy(job->d + 1, job->saved + 1, sizeof(float));
        memcpy(&word, job->d + 1, sizeof(word));
        word ^= 1;
        memcpy(job->d + 1, &word, sizeof(word));
    }
    return WF_LIB_OK;
}

static void wait_ns(long ns)
{
    struct timespec start;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec <
             ns);
}

/* Takes 1 to 40 ms, never the same. */
static int noisy(void *state, char *message, size_t bytes)
{
    static const long ms[] = { 1, 40, 3, 20, 9, 30, 2 };
    struct job *job = state;
    right(state, message, bytes);
    wait_ns(ms[job->launches++ % (sizeof(ms) / sizeof(ms[0]))] * 1000000L);
    return WF_LIB_OK;
}

static int wants_values_at_prepare(const struct wf_lib_problem *problem,
                                   const struct wf_lib_device *device,
                                   void *workspace,
                                   void **ret_state,
                                   char *message,
                                   size_t message_bytes)
{
    int code = prepare(problem, device, workspace, ret_state, message, message_bytes);
    if (code == WF_LIB_OK) {
        struct job *job = *ret_state;
        right(job, message, message_bytes);
        job->saved = malloc(job->d_bytes);
        memcpy(job->saved, job->d, job->d_bytes);
    }
    return code;
}

static int refuses(const struct wf_lib_problem *problem,
                   const struct wf_lib_device *device,
                   char *message,
                   size_t message_bytes)
{
    (void)problem;
    (void)device;
    (void)snprintf(message, message_bytes, "not on Tuesdays");
    return WF_LIB_UNSUPPORTED;
}

#define KERNEL(name)                                                     \
    {                                                                    \
#name, "gemm", supports, workspace_bytes, prepare, name, destroy \
    }

static const struct wf_lib_kernel kernels[] = {
    KERNEL(right),
    KERNEL(off_by_one),
    KERNEL(writes_behind),
    KERNEL(writes_before),
    KERNEL(writes_behind_workspace),
    KERNEL(trusts_workspace),
    KERNEL(writes_padding),
    KERNEL(modifies_input),
    KERNEL(zeroes_everything),
    KERNEL(leaves_tail),
    KERNEL(does_nothing),
    KERNEL(writes_zeros),
    KERNEL(writes_nan),
    KERNEL(crashes),
    KERNEL(exits),
    KERNEL(hangs),
    KERNEL(fails),
    KERNEL(no_memory),
    KERNEL(nondeterministic),
    KERNEL(reorders),
    KERNEL(wrong_in_launch_5),
    KERNEL(wrong_in_launch_50),
    KERNEL(leaves_gap_in_launch_4),
    KERNEL(modifies_input_in_launch_3),
    KERNEL(swings_when_warm),
    KERNEL(crashes_when_warm),
    KERNEL(keeps_the_larger),
    { "reorders_declared", "gemm", supports, workspace_bytes, prepare, reorders,
      destroy },
    { "right_declared", "gemm", supports, workspace_bytes, prepare, right, destroy },
    KERNEL(replays_first),
    KERNEL(replays_rounded),
    KERNEL(noisy),
    { "computes_in_prepare", "gemm", supports, workspace_bytes, wants_values_at_prepare,
      replays_first, destroy },
    { "refuses", "gemm", refuses, workspace_bytes, prepare, right, destroy },
};

static const struct wf_library_v1 library = { WF_LIBRARY_ABI_VERSION,
                                              sizeof(struct wf_lib_kernel),
                                              "fixture",
                                              "1",
                                              kernels,
                                              sizeof(kernels) / sizeof(kernels[0]) };

const struct wf_library_v1 *wf_library_kernels_v1(void);
const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    return &library;
}
