/* What a code object says about itself: architecture, kernels, and for AMDGPU the
 * layout of their arguments and the registers that they spill. ELF (AMDGPU, CUDA cubin,
 * shared objects) and PTX text are understood; the bytes may be anybody's. */
#ifndef WF_PACKS_CODE_OBJECT_H
#define WF_PACKS_CODE_OBJECT_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wf_code_kind {
    WF_CODE_AMDGPU,
    WF_CODE_CUBIN,
    WF_CODE_PTX,
    WF_CODE_SHARED
};

struct wf_code_arg {
    uint32_t offset, bytes;
};

/* An argument that the runtime fills in. */
struct wf_code_hidden {
    const char *kind; /* ".value_kind" less "hidden_" */
    uint32_t offset, bytes;
};

struct wf_code_kernel {
    const char *name;
    bool has_layout;         /* arg is known (AMDGPU, cubin) */
    struct wf_code_arg *arg; /* without the hidden ones */
    size_t arg_count;
    /* AMDGPU only, 0 elsewhere. */
    uint32_t kernarg_bytes; /* with the hidden arguments */
    uint32_t private_bytes; /* scratch of a work-item */
    uint32_t vgpr_spills, sgpr_spills;
    uint32_t vgprs, agprs, sgprs, lds_bytes, max_workgroup;
    struct wf_code_hidden *hidden;
    size_t hidden_count;
    uint32_t required_workgroup[3]; /* 0: not said */
    bool dynamic_stack;
};

struct wf_code_object; /* opaque */

#define WF_CODE_MAX_BYTES ((size_t)1 << 30)

/* `source` names the bytes in errors; nothing of `data` is kept. */
enum wf_status wf_code_object_parse(const void *data,
                                    size_t bytes,
                                    const char *source,
                                    struct wf_code_object **ret,
                                    struct wf_error *err);
enum wf_status wf_code_object_read(const char *path,
                                   struct wf_code_object **ret,
                                   struct wf_error *err);
void wf_code_object_free(struct wf_code_object *c);

enum wf_code_kind wf_code_object_kind(const struct wf_code_object *c);
/* "gfx942", "sm_90", "x86-64". */
const char *wf_code_object_arch(const struct wf_code_object *c);
/* Kernels; of a shared object the functions named wf_... that it exports. */
size_t wf_code_object_count(const struct wf_code_object *c);
const struct wf_code_kernel *wf_code_object_at(const struct wf_code_object *c,
                                               size_t i);
const struct wf_code_kernel *wf_code_object_find(const struct wf_code_object *c,
                                                 const char *name);
/* Whether it can run on a device of that architecture: the same processor, its generic
 * target, a cubin of the same major version, PTX of an earlier one. */
bool wf_code_object_runs_on(const struct wf_code_object *c, const char *arch);

#endif
