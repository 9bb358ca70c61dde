/* The C entry of a library pack. A shared object exports
 *
 *     const struct wf_library_v1 *wf_library_kernels_v1(void);
 *
 * This header stands alone (C11 or C++), so that a library is built without the rest of
 * the tree. Strings are UTF-8 and borrowed. Functions return 0 for success; otherwise
 * they write a reason into `message` and return non-zero: WF_LIB_UNSUPPORTED when the
 * kernel does not do this problem, WF_LIB_NO_MEMORY, WF_LIB_FAILED. */
#ifndef WF_PACKS_LIBRARY_ABI_H
#define WF_PACKS_LIBRARY_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WF_LIBRARY_ABI_VERSION 1

enum {
    WF_LIB_OK = 0,
    WF_LIB_UNSUPPORTED = 1,
    WF_LIB_NO_MEMORY = 2,
    WF_LIB_FAILED = 3
};

struct wf_lib_tensor {
    const char *name;  /* "A", "Q", "kv_indptr" */
    const char *dtype; /* "f16", "bf16", "f32", "e4m3fnuz", "i32", ... */
    void *data;        /* device pointer of the runtime; NULL when absent */
    uint64_t bytes;
    int32_t ndim;
    int64_t dim[6];
    int64_t stride[6]; /* in elements */
};

struct wf_lib_problem {
    uint32_t size; /* sizeof(struct wf_lib_problem) of the caller */
    const char *op;
    const char *case_json; /* canonical JSON of the case */
    const struct wf_lib_tensor *tensors;
    size_t tensor_count;
    /* Parameters by name, defaults included; return 0 when known. Strings are for
     * types and layouts. */
    int (*get_int)(const void *ctx, const char *name, int64_t *ret);
    int (*get_double)(const void *ctx, const char *name, double *ret);
    const char *(*get_string)(const void *ctx, const char *name); /* or NULL */
    const void *ctx;
};

struct wf_lib_device {
    uint32_t size;
    int32_t ordinal;  /* in the runtime */
    int32_t cu_count; /* processors: the threads a host kernel may use */
    const char *arch; /* "x86-64", "gfx942", "sm_90" */
    void *stream;     /* hipStream_t; host kernels run before launch returns */
};

struct wf_lib_kernel {
    const char *name;
    const char *op;
    /* The tensors' data may be NULL here; called before any allocation. */
    int (*supports)(const struct wf_lib_problem *problem,
                    const struct wf_lib_device *device,
                    char *message,
                    size_t message_bytes);
    uint64_t (*workspace_bytes)(
        const struct wf_lib_problem *problem,
        const struct wf_lib_device *device); /* may be NULL: 0 */
    /* Untimed. `workspace` holds workspace_bytes, NULL when 0. It is scratch: before
     * each checked launch and each timed batch the judge fills it with bytes that
     * differ from launch to launch. What prepare computes belongs into memory of the
     * library's own, which `state` keeps and destroy frees. Index tensors hold their
     * values; every other tensor is poison (NaN), so nothing can be computed from it
     * here. Called again, after destroy, when index tensors change; inputs may change
     * without. On success `message` may hold one line about what was chosen (a version,
     * an algorithm); results show it. */
    int (*prepare)(const struct wf_lib_problem *problem,
                   const struct wf_lib_device *device,
                   void *workspace,
                   void **ret_state,
                   char *message,
                   size_t message_bytes);
    /* Timed; enqueues on the device's stream (host: does the work). */
    int (*launch)(void *state, char *message, size_t message_bytes);
    void (*destroy)(void *state);
};

struct wf_library_v1 {
    uint32_t abi_version; /* WF_LIBRARY_ABI_VERSION */
    uint32_t kernel_size; /* sizeof(struct wf_lib_kernel) */
    const char *name;     /* "openblas" */
    const char *version;  /* of the library behind it, "0.3.21" */
    const struct wf_lib_kernel *kernels;
    size_t kernel_count;
};

typedef const struct wf_library_v1 *(*wf_library_kernels_v1_fn)(void);
#define WF_LIBRARY_ENTRY "wf_library_kernels_v1"

#ifdef __cplusplus
}
#endif

#endif
