/* One GEMM kernel (f32, N N) in many versions, for the tests of bisect:
 *   VERSION  makes the code differ
 *   WRONG    1: an element is off by one
 *   SLOW     further passes over the product */
#include "packs/library_abi.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

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

static void product(const struct job *job)
{
    for (int64_t i = 0; i < job->m; i++) {
        float *row = job->p[2] + i * job->row[2];
        memset(row, 0, (size_t)job->n * sizeof(*row));
        for (int64_t k = 0; k < job->k; k++) {
            const float a = job->p[0][i * job->row[0] + k];
            for (int64_t j = 0; j < job->n; j++) {
                row[j] += a * job->p[1][k * job->row[1] + j];
            }
        }
    }
}

static volatile int version;

static int launch(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    (void)message;
    (void)bytes;
    version = VERSION;
    for (int i = 0; i <= SLOW; i++) {
        product(job);
    }
    job->p[2][0] += WRONG;
    return WF_LIB_OK;
}

EXPORT const struct wf_library_v1 *wf_library_kernels_v1(void);

const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    static const struct wf_lib_kernel kernel = { .name = "k",
                                                 .op = "gemm",
                                                 .supports = supports,
                                                 .prepare = prepare,
                                                 .launch = launch,
                                                 .destroy = free };
    static const struct wf_library_v1 library = { .abi_version = WF_LIBRARY_ABI_VERSION,
                                                  .kernel_size = sizeof(kernel),
                                                  .name = "versions",
                                                  .version = "1",
                                                  .kernels = &kernel,
                                                  .kernel_count = 1 };
    return &library;
}
