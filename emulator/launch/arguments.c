/* What a kernel finds through pointers in its first registers: its arguments, hidden
 * ones among them, the dispatch packet, the queue, and the words of a grid barrier. */
#include "emulator/launch/launch_internal.h"

#include "emulator/memory/access.h"

#include <inttypes.h>

/* hsa_kernel_dispatch_packet_t */
struct packet {
    uint16_t header, setup;
    uint16_t workgroup[3], reserved0;
    uint32_t grid[3]; /* work-items */
    uint32_t private_bytes, group_bytes;
    uint64_t kernel_object, kernarg, reserved2, signal;
};

/* What the device libraries' grid barrier works with. */
struct grid_sync {
    uint64_t multi;
    uint32_t grid_id, grids;
    uint64_t previous_sum, sum;
    uint32_t single[2];
    uint32_t workgroups;
};

struct em_system_block {
    struct packet packet; /* 64 bytes */
    uint32_t queue[64];   /* amd_queue_t: the apertures' high dwords are at byte 64 */
    struct grid_sync sync;
};

enum {
    PROPERTY_DISPATCH_PTR = 1 << 1,
    PROPERTY_QUEUE_PTR = 1 << 2,
    QUEUE_SHARED_BASE = 16, /* dword */
    QUEUE_PRIVATE_BASE = 17,
    KERNARG_ALIGN = 64 /* scalar loads may be wider than what is used of them */
};

static void *host(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static bool has_hidden(const struct em_kernel *k, enum em_hidden hidden)
{
    for (size_t i = 0; i < k->arg_count; i++) {
        if (k->arg[i].hidden == hidden) {
            return true;
        }
    }
    return false;
}

/* Bytes of arguments that the program has to give. */
static uint32_t needed_bytes(const struct em_kernel *k)
{
    uint32_t needed = 0;
    for (size_t i = 0; i < k->arg_count; i++) {
        const struct em_kernel_arg *a = &k->arg[i];
        if (a->hidden == EM_NOT_HIDDEN && a->offset + a->bytes > needed) {
            needed = a->offset + a->bytes;
        }
    }
    return needed;
}

static uint32_t dimensions(const struct em_launch *l)
{
    if (l->grid[2] * (uint64_t)l->block[2] > 1) {
        return 3;
    }
    return l->grid[1] * (uint64_t)l->block[1] > 1 ? 2 : 1;
}

static uint64_t hidden_value(const struct em_plan *plan, enum em_hidden hidden)
{
    const struct em_launch *l = plan->launch;
    switch (hidden) {
    case EM_HIDDEN_block_count_x:
    case EM_HIDDEN_block_count_y:
    case EM_HIDDEN_block_count_z:
        return l->grid[hidden - EM_HIDDEN_block_count_x];
    case EM_HIDDEN_group_size_x:
    case EM_HIDDEN_group_size_y:
    case EM_HIDDEN_group_size_z:
        return l->block[hidden - EM_HIDDEN_group_size_x];
    case EM_HIDDEN_grid_dims:
        return dimensions(l);
    case EM_HIDDEN_dynamic_lds_size:
        return l->dynamic_lds_bytes;
    case EM_HIDDEN_private_base:
        return EM_PRIVATE_APERTURE >> 32;
    case EM_HIDDEN_shared_base:
        return EM_SHARED_APERTURE >> 32;
    case EM_HIDDEN_queue_ptr:
        return em_plan_queue(plan);
    case EM_HIDDEN_multigrid_sync_arg:
        return plan->system ? plan->system + offsetof(struct em_system_block, sync) : 0;
    case EM_HIDDEN_remainder_x: /* all workgroups are whole */
    case EM_HIDDEN_remainder_y:
    case EM_HIDDEN_remainder_z:
    case EM_HIDDEN_global_offset_x:
    case EM_HIDDEN_global_offset_y:
    case EM_HIDDEN_global_offset_z:
    case EM_HIDDEN_printf_buffer: /* no services of a host */
    case EM_HIDDEN_hostcall_buffer:
    case EM_HIDDEN_heap_v1:
    case EM_HIDDEN_default_queue:
    case EM_HIDDEN_completion_action:
    case EM_HIDDEN_none:
    case EM_NOT_HIDDEN:
    default:
        return 0;
    }
}

static void write_arguments(const struct em_plan *plan, uint8_t *to, size_t bytes)
{
    const struct em_launch *l = plan->launch;
    const struct em_kernel *k = plan->kernel;
    if (l->argument_bytes > 0) {
        memcpy(to, l->arguments, l->argument_bytes < bytes ? l->argument_bytes : bytes);
    }
    for (size_t i = 0; i < k->arg_count; i++) {
        const struct em_kernel_arg *a = &k->arg[i];
        if (a->hidden != EM_NOT_HIDDEN) {
            uint64_t value = hidden_value(plan, a->hidden);
            memcpy(to + a->offset, &value, a->bytes < 8 ? a->bytes : 8);
        }
    }
}

static void write_system(const struct em_plan *plan)
{
    const struct em_launch *l = plan->launch;
    struct em_system_block *s = host(plan->system);
    memset(s, 0, sizeof(*s));
    s->packet.header = 2; /* a kernel dispatch */
    s->packet.setup = (uint16_t)dimensions(l);
    for (unsigned i = 0; i < 3; i++) {
        s->packet.workgroup[i] = (uint16_t)l->block[i];
        s->packet.grid[i] = l->grid[i] * l->block[i];
    }
    s->packet.private_bytes = plan->scratch_bytes;
    s->packet.group_bytes = plan->lds_bytes;
    s->packet.kernarg = plan->kernarg;
    s->queue[QUEUE_SHARED_BASE] = (uint32_t)(EM_SHARED_APERTURE >> 32);
    s->queue[QUEUE_PRIVATE_BASE] = (uint32_t)(EM_PRIVATE_APERTURE >> 32);
    s->sync.grids = 1;
    s->sync.sum = plan->workgroups;
    s->sync.workgroups = (uint32_t)plan->workgroups;
}

static bool needs_system(const struct em_plan *plan)
{
    const struct em_kernel *k = plan->kernel;
    return (k->properties & (PROPERTY_DISPATCH_PTR | PROPERTY_QUEUE_PTR)) != 0 ||
           has_hidden(k, EM_HIDDEN_queue_ptr) ||
           has_hidden(k, EM_HIDDEN_multigrid_sync_arg);
}

enum wf_status em_plan_arguments(struct em_plan *plan, struct wf_error *err)
{
    const struct em_launch *l = plan->launch;
    uint32_t needed = needed_bytes(plan->kernel);
    if (l->argument_bytes < needed || (l->argument_bytes > 0 && !l->arguments)) {
        return wf_errorf(
            err, WF_EINVAL,
            "kernel %.200s takes %" PRIu32 " bytes of arguments, %zu were given",
            plan->kernel->name, needed, l->arguments ? l->argument_bytes : (size_t)0);
    }
    uint64_t bytes = plan->kernel->kernarg_bytes;
    if (plan->kernel->arg_count == 0 && l->argument_bytes > bytes) {
        bytes = l->argument_bytes; /* nothing says how many it takes */
    }
    bytes = (bytes + KERNARG_ALIGN) / KERNARG_ALIGN * KERNARG_ALIGN;
    enum wf_status st =
        em_space_alloc(l->space, l->device, EM_MEMORY_CODE, bytes, &plan->kernarg, err);
    if (st == WF_OK && needs_system(plan)) {
        st = em_space_alloc(l->space, l->device, EM_MEMORY_CODE,
                            sizeof(struct em_system_block), &plan->system, err);
    }
    if (st != WF_OK) {
        em_plan_release(plan);
        return st;
    }
    if (plan->system) {
        write_system(plan);
    }
    write_arguments(plan, host(plan->kernarg), bytes);
    em_space_set_read_only(l->space, plan->kernarg, true);
    return WF_OK;
}

void em_plan_release(struct em_plan *plan)
{
    if (plan->kernarg) {
        (void)em_space_free(plan->launch->space, plan->kernarg, NULL);
    }
    if (plan->system) {
        (void)em_space_free(plan->launch->space, plan->system, NULL);
    }
    plan->kernarg = 0;
    plan->system = 0;
}

uint64_t em_plan_packet(const struct em_plan *plan)
{
    return plan->system;
}

uint64_t em_plan_queue(const struct em_plan *plan)
{
    return plan->system ? plan->system + offsetof(struct em_system_block, queue) : 0;
}
