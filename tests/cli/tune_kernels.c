/* GEMM kernels (f32, N N) of one family whose knob is known: how often the product is
 * computed. For the tests of tune; f_plain
 * comes first and is the incumbent. */
#include "packs/library_abi.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* X(name, passes, what is wrong with it) */
#define KERNELS(X)   \
    X(f_plain, 6, 0) \
    X(f_fast, 2, 0) X(f_wrong, 1, 1) X(e_one, 6, 0) X(e_two, 6, 0)

struct job {
    int64_t m, n, k;
    float *p[3];
    int64_t row[3];
};

static int supports(const struct wf_lib_problem *problem,
                    const struct wf_lib_device *device,
                    char *message,
                    size_t message_bytes)
{
    (void)problem;
    (void)device;
    (void)message;
    (void)message_bytes;
    return WF_LIB_OK;
}

static int prepare(const struct wf_lib_problem *problem,
                   const struct wf_lib_device *device,
                   void *workspace,
                   void **ret_state,
                   char *message,
                   size_t message_bytes)
{
    static const char *const names[] = { "A", "B", "D" };
    struct job *job = calloc(1, sizeof(*job));
    (void)device;
    (void)workspace;
    (void)message;
    (void)message_bytes;
    if (job == NULL) {
        return WF_LIB_NO_MEMORY;
    }
    for (size_t i = 0; i < problem->tensor_count; i++) {
        for (int k = 0; k < 3; k++) {
            if (strcmp(problem->tensors[i].name, names[k]) == 0) {
                job->p[k] = problem->tensors[i].data;
                job->row[k] = problem->tensors[i].stride[1];
            }
        }
    }
    problem->get_int(problem->ctx, "M", &job->m);
    problem->get_int(problem->ctx, "N", &job->n);
    problem->get_int(problem->ctx, "K", &job->k);
    *ret_state = job;
    return WF_LIB_OK;
}

static int work(const struct job *job, int passes, int off)
{
    for (int pass = 0; pass < passes; pass++) {
        for (int64_t i = 0; i < job->m; i++) {
            volatile float *row = job->p[2] + i * job->row[2];
            for (int64_t j = 0; j < job->n; j++) {
                float sum = 0;
                for (int64_t k = 0; k < job->k; k++) {
                    sum +=
                        job->p[0][i * job->row[0] + k] * job->p[1][k * job->row[1] + j];
                }
                row[j] = sum + (float)off;
            }
        }
    }
    return WF_LIB_OK;
}

#define X(name, passes, off)                                           \
    static int launch_##name(void *state, char *message, size_t bytes) \
    {                                                                  \
        (void)message;                                                 \
        (void)bytes;                                                   \
        return work(state, passes, off);                               \
    }
KERNELS(X)
#undef X

EXPORT const struct wf_library_v1 *wf_library_kernels_v1(void);

const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    static const struct wf_lib_kernel kernels[] = {
#define X(kernel, passes, off) \
    { #kernel, "gemm", supports, NULL, prepare, launch_##kernel, free },
        KERNELS(X)
#undef X
    };
    static const struct wf_library_v1 library = {
        .abi_version = WF_LIBRARY_ABI_VERSION,
        .kernel_size = sizeof(kernels[0]),
        .name = "family",
        .version = "1",
        .kernels = kernels,
        .kernel_count = sizeof(kernels) / sizeof(kernels[0]),
    };
    return &library;
}
