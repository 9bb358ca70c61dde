/* A plan: one kernel, one case, one device made concrete. Pure: no device is touched.
 * The judge makes it and drives the subject with it. Expression scopes: knobs, then the
 * case (wf_case_scope), then `device` names (device.cu_count, device.xcc_count,
 * device.arch, device.memory_bytes, device.warp_size, occupancy). */
#ifndef WF_PACKS_PLAN_H
#define WF_PACKS_PLAN_H

#include "packs/pack.h"

/* Names about the device that expressions may use. */
#define WF_DEVICE_NAMES(X)   \
    X("device.cu_count")     \
    X("device.xcc_count")    \
    X("device.warp_size")    \
    X("device.memory_bytes") \
    X("device.arch")         \
    X("occupancy")

#define WF_TRANSFORM_MAX_PARAMS 4
#define WF_PLAN_NULL            ((size_t)-1)

/* The tensors of a case as the plan needs them (the packs folder does not know ops). */
struct wf_plan_tensor {
    const char *name;
    enum wf_dtype dtype;
    uint64_t bytes; /* 0: absent; a pointer to it is null */
};

struct wf_plan_buffer {
    const char *name;
    enum wf_buffer_kind kind;
    uint64_t bytes;
    enum wf_buffer_init init;
    uint8_t init_byte;
    const struct wf_pack_buffer *source;
    size_t from;                            /* derived: index of the tensor */
    int64_t param[WF_TRANSFORM_MAX_PARAMS]; /* derived: evaluated, see wf_plan_derive */
};

/* Where in an argument blob a device address goes: blob[offset..+8] += address of the
 * tensor or buffer (the blob already holds the byte offset). */
struct wf_plan_reloc {
    uint32_t offset;
    bool is_buffer; /* else a tensor */
    size_t index;   /* into the case's tensors or the plan's buffers; WF_PLAN_NULL (in
                       items of a pointer array only): the address is null */
};

/* A device array of pointers that the subject makes: `count` addresses. */
struct wf_plan_pointer_array {
    uint32_t offset; /* of its address in the blob */
    size_t count;
    struct wf_plan_reloc *item; /* offset unused; addend in item_addend */
    int64_t *item_addend;
};

struct wf_plan_tensor_map {
    uint32_t offset; /* of the 128 bytes in the blob */
    struct wf_plan_reloc base;
    int rank;
    enum wf_dtype dtype;
    uint64_t dim[5], stride_bytes[4];
    uint32_t box[5];
    uint32_t swizzle_bytes; /* 0, 32, 64, 128 */
};

struct wf_plan_launch {
    const char *symbol;
    const char *code;
    uint32_t grid[3], block[3], cluster[3]; /* cluster 0: none */
    uint32_t shared_bytes;
    bool cooperative;
    uint8_t *args; /* packed kernel argument buffer, natural alignment */
    uint32_t args_bytes;
    uint32_t *arg_offset; /* of each argument in args, for launches by pointer list */
    size_t arg_count;
    struct wf_plan_reloc *reloc;
    size_t reloc_count;
    struct wf_plan_pointer_array *pointers;
    size_t pointers_count;
    struct wf_plan_tensor_map *map;
    size_t map_count;
};

struct wf_plan {
    struct wf_plan_buffer *buffer;
    size_t buffer_count;
    struct wf_plan_launch *launch; /* only those whose `when` holds, in order */
    size_t launch_count;
    int64_t split;
};

/* Arguments are laid out as the HIP ABI does: each at the next multiple of its own
 * alignment. A pointer to an absent tensor or to a buffer of 0 bytes is null and has no
 * relocation. Padding is 0.
 *
 * `scope` is the chain case -> device; knobs are put before it. EUNSUPPORTED with the
 * condition's text when `supports` is false, or when the kernel's arch list does not
 * hold the device's (feature suffixes ":sramecc+:xnack-" are ignored in the compare). A
 * grid or block of 0 in a launch drops that launch. EINVAL names kernel, launch, field
 * and column. */
enum wf_status wf_plan_create(const struct wf_pack_kernel *kernel,
                              const struct wf_plan_tensor *tensors,
                              size_t tensor_count,
                              const char *device_arch,
                              const struct wf_scope *scope,
                              struct wf_plan **ret,
                              struct wf_error *err);
void wf_plan_free(struct wf_plan *plan);

/* Fills derived buffer i of the plan: `src` are the bytes of
 * tensors[plan->buffer[i].from], `dst` gets plan->buffer[i].bytes. Nothing to do when
 * those are 0. */
enum wf_status wf_plan_derive(const struct wf_plan *plan,
                              size_t i,
                              const struct wf_plan_tensor *tensors,
                              const void *src,
                              void *dst,
                              struct wf_error *err);

/* Transforms for derived buffers, host side: bytes of the result, and the result from
 * the tensor's bytes. `scope` starts with the knobs. Unknown names are refused when the
 * pack is read. */
enum wf_status wf_transform_bytes(const struct wf_pack_buffer *buffer,
                                  const struct wf_plan_tensor *from,
                                  const struct wf_scope *scope,
                                  uint64_t *ret,
                                  struct wf_error *err);
enum wf_status wf_transform_run(const struct wf_pack_buffer *buffer,
                                const struct wf_plan_tensor *from,
                                const struct wf_scope *scope,
                                const void *src,
                                void *dst,
                                struct wf_error *err);

#endif
