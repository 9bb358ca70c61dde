/* A gfx942 code object, loaded: its segments in the device's address space, relocated,
 * its kernels with descriptor and argument layout, its symbols. */
#ifndef WF_EMULATOR_LOAD_IMAGE_H
#define WF_EMULATOR_LOAD_IMAGE_H

#include "core/error.h"
#include "emulator/exec/code.h"
#include "emulator/memory/space.h"

/* Hidden kernel arguments, by the names of the metadata (".value_kind" less "hidden_").
 */
/* clang-format off */
#define EM_HIDDEN_ARGS(X) \
    X(block_count_x) \
    X(block_count_y) \
    X(block_count_z) \
    X(group_size_x) \
    X(group_size_y) \
    X(group_size_z) \
    X(remainder_x) \
    X(remainder_y) \
    X(remainder_z) \
    X(global_offset_x) \
    X(global_offset_y) \
    X(global_offset_z) \
    X(grid_dims) \
    X(dynamic_lds_size) \
    X(private_base) \
    X(shared_base) \
    X(queue_ptr) \
    X(printf_buffer) \
    X(hostcall_buffer) \
    X(heap_v1) \
    X(default_queue) \
    X(completion_action) \
    X(multigrid_sync_arg) \
    X(none)
/* clang-format on */

enum em_hidden {
#define X(name) EM_HIDDEN_##name,
    EM_HIDDEN_ARGS(X)
#undef X
    EM_HIDDEN_COUNT,
    EM_NOT_HIDDEN = EM_HIDDEN_COUNT
};

struct em_kernel_arg {
    uint32_t offset, bytes;
    enum em_hidden hidden; /* EM_NOT_HIDDEN: one of the program's */
};

struct em_kernel {
    const char *name;       /* without ".kd" */
    uint32_t entry;         /* index in the code */
    uint32_t lds_bytes;     /* static */
    uint32_t private_bytes; /* scratch of a lane */
    bool dynamic_stack;
    uint32_t kernarg_bytes;
    struct em_kernel_arg *arg;
    size_t arg_count;
    unsigned vgprs, agprs, accum_offset, sgprs; /* as allocated by the descriptor */
    unsigned max_workgroup;                     /* 0: not said */
    unsigned required_workgroup[3];             /* 0: not said */
    /* The descriptor's words. */
    uint32_t rsrc1, rsrc2, rsrc3;
    uint16_t properties;      /* kernel_code_properties */
    uint16_t kernarg_preload; /* dwords | offset << 7 */
};

struct em_image; /* opaque; immutable once loaded */

/* `data` may be anybody's bytes: an AMDGPU ELF (code object v4, v5, v6) for gfx942.
 * EPARSE, or EUNSUPPORTED with what was found (another architecture, xnack+, ...).
 * `source` names it in errors. */
enum wf_status em_image_load(struct em_space *space,
                             int device,
                             const void *data,
                             size_t bytes,
                             const char *source,
                             struct em_image **ret,
                             struct wf_error *err);
void em_image_destroy(struct em_image *image); /* its memory is freed in the space */

const struct em_code *em_image_code(const struct em_image *image);
size_t em_image_kernel_count(const struct em_image *image);
const struct em_kernel *em_image_kernel(const struct em_image *image, size_t i);
const struct em_kernel *em_image_find(const struct em_image *image, const char *name);
/* A variable: its device address and size. */
bool em_image_variable(const struct em_image *image,
                       const char *name,
                       uint64_t *ret_address,
                       uint64_t *ret_bytes);
/* The function that holds a dword of the code, and how far in; NULL where none does. */
const char *em_image_symbol(const struct em_image *image,
                            uint32_t index,
                            uint32_t *ret_bytes);
/* "file.hip:12" of a dword from .debug_line; false where there is none. */
bool em_image_line(const struct em_image *image,
                   uint32_t index,
                   char *text,
                   size_t bytes);

#endif
