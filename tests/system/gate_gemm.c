/* A library kernel that the tests hold and let go: launch writes a line to
 * $WF_GATE/started and waits while $WF_GATE/hold exists. f32, no transposes, alpha 1,
 * beta 0, one batch: enough for a right answer. */
#include "packs/library_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const struct wf_library_v1 *wf_library_kernels_v1(void);

struct state {
    int64_t m, n, k, lda, ldb, ldd;
    const float *a, *b;
    float *d;
};

static int read_int(const struct wf_lib_problem *p, const char *name, int64_t *ret)
{
    return p->get_int(p->ctx, name, ret);
}

static int supports(const struct wf_lib_problem *p,
                    const struct wf_lib_device *device,
                    char *message,
                    size_t message_bytes)
{
    const char *type = p->get_string(p->ctx, "a_type");
    (void)device;
    if (type == NULL || strcmp(type, "f32") != 0) {
        (void)snprintf(message, message_bytes, "f32 only");
        return WF_LIB_UNSUPPORTED;
    }
    return WF_LIB_OK;
}

static void *tensor(const struct wf_lib_problem *p, const char *name)
{
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (strcmp(p->tensors[i].name, name) == 0) {
            return p->tensors[i].data;
        }
    }
    return NULL;
}

static int prepare(const struct wf_lib_problem *p,
                   const struct wf_lib_device *device,
                   void *workspace,
                   void **ret_state,
                   char *message,
                   size_t message_bytes)
{
    struct state *s = calloc(1, sizeof(*s));
    (void)device;
    (void)workspace;
    if (s == NULL || read_int(p, "M", &s->m) || read_int(p, "N", &s->n) ||
        read_int(p, "K", &s->k) || read_int(p, "lda", &s->lda) ||
        read_int(p, "ldb", &s->ldb) || read_int(p, "ldd", &s->ldd)) {
        (void)snprintf(message, message_bytes, "no memory, or no sizes");
        free(s);
        return WF_LIB_FAILED;
    }
    s->a = tensor(p, "A");
    s->b = tensor(p, "B");
    s->d = tensor(p, "D");
    *ret_state = s;
    return WF_LIB_OK;
}

static void wait_at_gate(void)
{
    char path[512];
    const struct timespec nap = { 0, 5000000 };
    const char *folder = getenv("WF_GATE");
    if (folder == NULL) {
        return;
    }
    (void)snprintf(path, sizeof(path), "%s/started", folder);
    FILE *f = fopen(path, "a");
    if (f != NULL) {
        (void)fprintf(f, "%d\n", (int)getpid());
        (void)fclose(f);
    }
    (void)snprintf(path, sizeof(path), "%s/hold", folder);
    while (access(path, F_OK) == 0) {
        nanosleep(&nap, NULL);
    }
}

static int launch(void *state, char *message, size_t message_bytes)
{
    const struct state *s = state;
    (void)message;
    (void)message_bytes;
    wait_at_gate();
    for (int64_t i = 0; i < s->m; i++) {
        for (int64_t j = 0; j < s->n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < s->k; k++) {
                sum += (double)s->a[i * s->lda + k] * (double)s->b[k * s->ldb + j];
            }
            s->d[i * s->ldd + j] = (float)sum;
        }
    }
    return WF_LIB_OK;
}

const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    static const struct wf_lib_kernel kernels[] = {
        { "gate_gemm", "gemm", supports, NULL, prepare, launch, free },
    };
    static const struct wf_library_v1 library = {
        WF_LIBRARY_ABI_VERSION, sizeof(struct wf_lib_kernel), "gate", "1", kernels, 1,
    };
    return &library;
}
