/* The probe's host kernels: one thread each, so that nothing but the clock and the
 * memory is measured. Stands on packs/library_abi.h alone. */
#include "packs/library_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT      __attribute__((visibility("default")))
#define GROUP_WORDS 1024u
#define SPIN_WORDS  4
#define SECOND_NS   INT64_C(1000000000)

EXPORT const struct wf_library_v1 *wf_library_kernels_v1(void);

struct state {
    const uint32_t *x;
    uint32_t *y;
    uint64_t words, parts;
    int64_t ns;
};

static int supports(const struct wf_lib_problem *problem,
                    const char *work,
                    char *message,
                    size_t message_bytes)
{
    const char *got = problem->get_string(problem->ctx, "work");
    if (got != NULL && strcmp(got, work) == 0) {
        return WF_LIB_OK;
    }
    (void)snprintf(message, message_bytes, "work is %s; this kernel does %s",
                   got != NULL ? got : "not said", work);
    return WF_LIB_UNSUPPORTED;
}

static int supports_read(const struct wf_lib_problem *problem,
                         const struct wf_lib_device *device,
                         char *message,
                         size_t message_bytes)
{
    (void)device;
    return supports(problem, "read", message, message_bytes);
}

static int supports_spin(const struct wf_lib_problem *problem,
                         const struct wf_lib_device *device,
                         char *message,
                         size_t message_bytes)
{
    (void)device;
    return supports(problem, "spin", message, message_bytes);
}

static void *tensor(const struct wf_lib_problem *problem, const char *name)
{
    for (size_t i = 0; i < problem->tensor_count; i++) {
        if (strcmp(problem->tensors[i].name, name) == 0) {
            return problem->tensors[i].data;
        }
    }
    return NULL;
}

static int prepare(const struct wf_lib_problem *problem,
                   const struct wf_lib_device *device,
                   void *workspace,
                   void **ret_state,
                   char *message,
                   size_t message_bytes)
{
    int64_t bytes = 0;
    int64_t parts = 0;
    struct state *s = calloc(1, sizeof *s); /* IGNORE-BANNED: it links nothing */
    (void)device;
    (void)workspace;
    if (s == NULL) {
        (void)snprintf(message, message_bytes, "no memory");
        return WF_LIB_NO_MEMORY;
    }
    if (problem->get_int(problem->ctx, "bytes", &bytes) != 0 ||
        problem->get_int(problem->ctx, "parts", &parts) != 0 ||
        problem->get_int(problem->ctx, "ns", &s->ns) != 0) {
        (void)snprintf(message, message_bytes, "the problem does not say its sizes");
        free(s);
        return WF_LIB_FAILED;
    }
    s->x = tensor(problem, "X");
    s->y = tensor(problem, "Y");
    s->words = (uint64_t)bytes / 4;
    s->parts = (uint64_t)parts;
    *ret_state = s;
    return WF_LIB_OK;
}

static uint32_t sum_of(const uint32_t *x)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < GROUP_WORDS; i++) {
        sum += x[i];
    }
    return sum;
}

static int launch_read(void *arg, char *message, size_t message_bytes)
{
    const struct state *s = arg;
    (void)message;
    (void)message_bytes;
    memset(s->y, 0, s->parts * sizeof *s->y);
    for (uint64_t at = 0; at < s->words; at += GROUP_WORDS) {
        s->y[at / GROUP_WORDS % s->parts] += sum_of(s->x + at);
    }
    return WF_LIB_OK;
}

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

static int launch_spin(void *arg, char *message, size_t message_bytes)
{
    const struct state *s = arg;
    const int64_t start_ns = now_ns();
    (void)message;
    (void)message_bytes;
    while (now_ns() - start_ns < s->ns) {
    }
    for (int i = 0; i < SPIN_WORDS; i++) {
        s->y[i] = (uint32_t)s->ns;
    }
    return WF_LIB_OK;
}

const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    static const struct wf_lib_kernel KERNELS[] = {
        { .name = "probe_read",
          .op = "probe",
          .supports = supports_read,
          .prepare = prepare,
          .launch = launch_read,
          .destroy = free },
        { .name = "probe_spin",
          .op = "probe",
          .supports = supports_spin,
          .prepare = prepare,
          .launch = launch_spin,
          .destroy = free },
    };
    static const struct wf_library_v1 library = {
        .abi_version = WF_LIBRARY_ABI_VERSION,
        .kernel_size = sizeof(struct wf_lib_kernel),
        .name = "wf-host-probe",
        .version = "1",
        .kernels = KERNELS,
        .kernel_count = sizeof KERNELS / sizeof *KERNELS,
    };
    return &library;
}
