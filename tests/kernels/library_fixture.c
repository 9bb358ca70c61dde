/* See library_fixture.h: a case's scope behind the library ABI's look-ups. */
#include "library_fixture.h"

#include <string.h>

#define MAX_TENSORS 16

static int get_int(const void *ctx, const char *name, int64_t *ret)
{
    const struct wf_scope s = wf_case_scope(ctx);
    struct wf_value v;
    if (s.find(s.ctx, name, &v, NULL) != WF_OK || v.kind != WF_VALUE_INT) {
        return 1;
    }
    *ret = v.i;
    return 0;
}

static int get_double(const void *ctx, const char *name, double *ret)
{
    const struct wf_scope s = wf_case_scope(ctx);
    struct wf_value v;
    if (s.find(s.ctx, name, &v, NULL) != WF_OK || v.kind != WF_VALUE_DOUBLE) {
        return 1;
    }
    *ret = v.d;
    return 0;
}

static const char *get_string(const void *ctx, const char *name)
{
    const struct wf_scope s = wf_case_scope(ctx);
    struct wf_value v;
    return s.find(s.ctx, name, &v, NULL) == WF_OK && v.kind == WF_VALUE_STRING ? v.s
                                                                               : NULL;
}

static void make_problem(const struct wf_case *c,
                         void *const *data,
                         struct wf_lib_tensor tensors[MAX_TENSORS],
                         struct wf_lib_problem *ret)
{
    const size_t n = wf_case_tensor_count(c);
    for (size_t i = 0; i < n && i < MAX_TENSORS; i++) {
        const struct wf_tensor *t = wf_case_tensor(c, i);
        tensors[i] = (struct wf_lib_tensor){ .name = t->name,
                                             .dtype = wf_dtype_name(t->dtype),
                                             .data = data != NULL ? data[i] : NULL,
                                             .bytes = t->bytes,
                                             .ndim = t->ndim };
        memcpy(tensors[i].dim, t->dim, sizeof t->dim);
        memcpy(tensors[i].stride, t->stride, sizeof t->stride);
    }
    *ret = (struct wf_lib_problem){ .size = sizeof *ret,
                                    .op = wf_case_op_name(c),
                                    .case_json = wf_case_canonical(c),
                                    .tensors = tensors,
                                    .tensor_count = n,
                                    .get_int = get_int,
                                    .get_double = get_double,
                                    .get_string = get_string,
                                    .ctx = c };
}

static struct wf_lib_device device_of(int threads)
{
    return (struct wf_lib_device){ .size = sizeof(struct wf_lib_device),
                                   .cu_count = threads,
                                   .arch = "x86-64" };
}

int library_run(const struct wf_lib_kernel *kernel,
                const struct wf_case *c,
                void *const *data,
                int threads,
                char *message,
                size_t message_bytes)
{
    struct wf_lib_tensor tensors[MAX_TENSORS];
    struct wf_lib_problem problem;
    const struct wf_lib_device device = device_of(threads);
    void *state = NULL;
    make_problem(c, data, tensors, &problem);
    int rc = kernel->prepare(&problem, &device, NULL, &state, message, message_bytes);
    if (rc == WF_LIB_OK) {
        rc = kernel->launch(state, message, message_bytes);
        kernel->destroy(state);
    }
    return rc;
}

int library_supports(const struct wf_lib_kernel *kernel,
                     const struct wf_case *c,
                     char *message,
                     size_t message_bytes)
{
    struct wf_lib_tensor tensors[MAX_TENSORS];
    struct wf_lib_problem problem;
    const struct wf_lib_device device = device_of(1);
    make_problem(c, NULL, tensors, &problem);
    return kernel->supports(&problem, &device, message, message_bytes);
}

const struct wf_lib_kernel *library_find(const struct wf_library_v1 *lib,
                                         const char *name)
{
    for (size_t i = 0; i < lib->kernel_count; i++) {
        if (strcmp(lib->kernels[i].name, name) == 0) {
            return &lib->kernels[i];
        }
    }
    return NULL;
}
