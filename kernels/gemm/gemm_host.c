/* The library's entry: two ways to multiply over one way to read the problem.
 *   gemm_openblas  float types: OpenBLAS, f32 sums (f64 for f64)
 *   gemm_i8_c      i8 operands: plain C, i32 sums
 *   grouped_openblas, grouped_i8_c: the same, group by group; where the groups are is
 *                  read from `offsets` at each launch, as on a device
 * Everything is allocated in prepare, so that launch does work only. */
#include "kernels/gemm/gemm_host.h"

#include "core/buf.h"
#include "kernels/gemm/openblas.h"

#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const struct wf_library_v1 *wf_library_kernels_v1(void);

struct state {
    struct host_gemm g;
    struct host_blas *blas;
    struct host_i8 *i8;
};

static int read_for(bool integers,
                    const struct wf_lib_problem *problem,
                    const struct wf_lib_device *device,
                    struct host_gemm *g,
                    char *message,
                    size_t message_bytes)
{
    const int rc = host_gemm_read(problem, device, g, message, message_bytes);
    if (rc != WF_LIB_OK) {
        return rc;
    }
    if ((g->matrix[HOST_A].dtype == WF_I8) != integers) {
        (void)snprintf(message, message_bytes, "a_type is %s; this kernel does %s",
                       wf_dtype_name(g->matrix[HOST_A].dtype),
                       integers ? "i8 only" : "float types only");
        return WF_LIB_UNSUPPORTED;
    }
    if (!integers && !openblas_load(message, message_bytes)) {
        return WF_LIB_UNSUPPORTED;
    }
    if (!integers && !host_blas_fits(g)) {
        (void)snprintf(
            message, message_bytes,
            "a size or leading dimension is above 2147483647, the largest that "
            "OpenBLAS takes");
        return WF_LIB_UNSUPPORTED;
    }
    return WF_LIB_OK;
}

static int supports_float(const struct wf_lib_problem *problem,
                          const struct wf_lib_device *device,
                          char *message,
                          size_t message_bytes)
{
    struct host_gemm g;
    return read_for(false, problem, device, &g, message, message_bytes);
}

static int supports_i8(const struct wf_lib_problem *problem,
                       const struct wf_lib_device *device,
                       char *message,
                       size_t message_bytes)
{
    struct host_gemm g;
    return read_for(true, problem, device, &g, message, message_bytes);
}

static void destroy(void *arg)
{
    struct state *s = arg;
    if (s != NULL) {
        host_blas_destroy(s->blas);
        host_i8_destroy(s->i8);
        free(s);
    }
}

static int prepare(bool integers,
                   const struct wf_lib_problem *problem,
                   const struct wf_lib_device *device,
                   void **ret_state,
                   char *message,
                   size_t message_bytes)
{
    struct state *s = wf_calloc(1, sizeof *s);
    int rc = WF_LIB_NO_MEMORY;
    if (s != NULL) {
        rc = read_for(integers, problem, device, &s->g, message, message_bytes);
    }
    if (rc == WF_LIB_OK && integers) {
        s->i8 = host_i8_create(&s->g);
        rc = s->i8 != NULL ? WF_LIB_OK : WF_LIB_NO_MEMORY;
    } else if (rc == WF_LIB_OK) {
        s->blas = host_blas_create(&s->g);
        rc = s->blas != NULL ? WF_LIB_OK : WF_LIB_NO_MEMORY;
    }
    if (rc == WF_LIB_NO_MEMORY) {
        (void)snprintf(message, message_bytes, "no memory for the panels");
    }
    if (rc != WF_LIB_OK) {
        destroy(s);
        return rc;
    }
    *ret_state = s;
    return WF_LIB_OK;
}

static int prepare_float(const struct wf_lib_problem *problem,
                         const struct wf_lib_device *device,
                         void *workspace,
                         void **ret_state,
                         char *message,
                         size_t message_bytes)
{
    (void)workspace;
    return prepare(false, problem, device, ret_state, message, message_bytes);
}

static int prepare_i8(const struct wf_lib_problem *problem,
                      const struct wf_lib_device *device,
                      void *workspace,
                      void **ret_state,
                      char *message,
                      size_t message_bytes)
{
    (void)workspace;
    return prepare(true, problem, device, ret_state, message, message_bytes);
}

static int multiply(struct state *s,
                    const struct host_gemm *g,
                    char *message,
                    size_t message_bytes)
{
    if (s->blas != NULL) {
        host_blas_run(s->blas, g);
        return WF_LIB_OK;
    }
    const int rc = host_i8_run(s->i8, g);
    if (rc != WF_LIB_OK) {
        (void)snprintf(message, message_bytes, "a worker thread failed");
    }
    return rc;
}

static int launch(void *arg, char *message, size_t message_bytes)
{
    struct state *s = arg;
    return multiply(s, &s->g, message, message_bytes);
}

static int launch_groups(void *arg, char *message, size_t message_bytes)
{
    struct state *s = arg;
    int64_t at = 0;
    int rc = WF_LIB_OK;
    for (int64_t b = 0; b < s->g.batch && rc == WF_LIB_OK; b++) {
        const int64_t begin = s->g.offsets[b];
        const int64_t end = s->g.offsets[b + 1];
        if (begin != at || end < begin || end > s->g.m) {
            (void)snprintf(
                message, message_bytes,
                "offsets of group %lld are %lld and %lld: groups must lie one "
                "after the other in %lld rows",
                (long long)b, (long long)begin, (long long)end, (long long)s->g.m);
            return WF_LIB_FAILED;
        }
        if (end > begin) {
            const struct host_gemm g = host_group(&s->g, b, begin, end);
            rc = multiply(s, &g, message, message_bytes);
        }
        at = end;
    }
    return rc;
}

const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    static const struct wf_lib_kernel KERNELS[] = {
        { .name = "gemm_openblas",
          .op = "gemm",
          .supports = supports_float,
          .prepare = prepare_float,
          .launch = launch,
          .destroy = destroy },
        { .name = "gemm_i8_c",
          .op = "gemm",
          .supports = supports_i8,
          .prepare = prepare_i8,
          .launch = launch,
          .destroy = destroy },
        { .name = "grouped_openblas",
          .op = "grouped_gemm",
          .supports = supports_float,
          .prepare = prepare_float,
          .launch = launch_groups,
          .destroy = destroy },
        { .name = "grouped_i8_c",
          .op = "grouped_gemm",
          .supports = supports_i8,
          .prepare = prepare_i8,
          .launch = launch_groups,
          .destroy = destroy },
    };
    static struct wf_library_v1 library = {
        .abi_version = WF_LIBRARY_ABI_VERSION,
        .kernel_size = sizeof(struct wf_lib_kernel),
        .name = "wf-host-gemm",
        .version = "without OpenBLAS",
        .kernels = KERNELS,
        .kernel_count = sizeof KERNELS / sizeof *KERNELS,
    };
    char message[256];
    if (openblas_load(message, sizeof message)) {
        library.version = openblas_version();
    }
    return &library;
}
