/* A wave's registers at its start, as the kernel's descriptor asks for them. */
#include "emulator/launch/launch_internal.h"

#include "emulator/memory/access.h"

/* kernel_code_properties: which user SGPRs there are, in their order. */
enum {
    PROPERTY_PRIVATE_BUFFER = 1 << 0, /* 4 SGPRs */
    PROPERTY_DISPATCH_PTR = 1 << 1,
    PROPERTY_QUEUE_PTR = 1 << 2,
    PROPERTY_KERNARG_PTR = 1 << 3,
    PROPERTY_DISPATCH_ID = 1 << 4,
    PROPERTY_FLAT_SCRATCH = 1 << 5,
    PROPERTY_PRIVATE_SIZE = 1 << 6 /* 1 SGPR */
};

/* compute_pgm_rsrc2 */
enum {
    RSRC2_WORKGROUP_X = 1 << 7, /* and Y, Z behind it */
    RSRC2_WORKGROUP_INFO = 1 << 10
};

enum {
    INDEX_STRIDE_64 = 3 << 21,
    ADD_TID = 1 << 23
};

/* The next SGPR to be given out. */
struct giving {
    struct em_wave *w;
    unsigned next;
};

static void give(struct giving *g, uint32_t value)
{
    if (g->next < EM_FLAT_SCRATCH) {
        g->w->s[g->next] = value;
        if (g->w->shadow) {
            em_shadow_set_scalar(g->w->shadow, g->next, 1, true);
        }
    }
    g->next++;
}

static void give64(struct giving *g, uint64_t value)
{
    give(g, (uint32_t)value);
    give(g, (uint32_t)(value >> 32));
}

/* A resource over the wave's scratch: lane after lane, dword by dword. */
static void give_private_buffer(struct giving *g, const struct em_plan *plan)
{
    give64(g, EM_PRIVATE_APERTURE);
    give(g, plan->scratch_bytes * EM_LANES);
    give(g, INDEX_STRIDE_64 | ADD_TID);
}

static void give_preloaded(struct giving *g, const struct em_plan *plan)
{
    unsigned count = plan->kernel->kernarg_preload & 127;
    uint32_t offset = (uint32_t)(plan->kernel->kernarg_preload >> 7) * 4;
    const uint8_t *from = (const uint8_t *)(uintptr_t)plan->kernarg;
    for (unsigned i = 0; i < count; i++, offset += 4) {
        uint32_t value = 0;
        if (offset + 4 <= plan->kernel->kernarg_bytes) {
            memcpy(&value, from + offset, 4);
        }
        give(g, value);
    }
}

static void give_user(struct giving *g, const struct em_plan *plan)
{
    unsigned p = plan->kernel->properties;
    if (p & PROPERTY_PRIVATE_BUFFER) {
        give_private_buffer(g, plan);
    }
    if (p & PROPERTY_DISPATCH_PTR) {
        give64(g, em_plan_packet(plan));
    }
    if (p & PROPERTY_QUEUE_PTR) {
        give64(g, em_plan_queue(plan));
    }
    if (p & PROPERTY_KERNARG_PTR) {
        give64(g, plan->kernarg);
    }
    if (p & PROPERTY_DISPATCH_ID) {
        give64(g, 1);
    }
    if (p & PROPERTY_FLAT_SCRATCH) {
        give64(g, EM_PRIVATE_APERTURE);
    }
    if (p & PROPERTY_PRIVATE_SIZE) {
        give(g, plan->scratch_bytes);
    }
    give_preloaded(g, plan);
}

/* Behind the user SGPRs, whose number the descriptor tells. The offset of the wave's
 * scratch is not among them: FLAT_SCRATCH holds it on this architecture. */
static void give_system(struct giving *g, const struct em_plan *plan)
{
    uint32_t rsrc2 = plan->kernel->rsrc2;
    const struct em_wave *w = g->w;
    for (unsigned i = 0; i < 3; i++) {
        if (rsrc2 & (uint32_t)RSRC2_WORKGROUP_X << i) {
            give(g, w->group->id[i]);
        }
    }
    if (rsrc2 & RSRC2_WORKGROUP_INFO) {
        give(g, (w->id == 0 ? 1U << 31 : 0) | w->id << 20 | plan->waves);
    }
}

/* x, y, z of the work-item, ten bits each, and its lanes in EXEC. */
static void set_work_items(struct em_wave *w, const struct em_plan *plan)
{
    const uint32_t *block = plan->launch->block;
    uint32_t first = w->id * EM_LANES;
    uint32_t lanes =
        plan->work_items - first < EM_LANES ? plan->work_items - first : EM_LANES;
    uint32_t x = first % block[0];
    uint32_t y = first / block[0] % block[1];
    uint32_t z = first / block[0] / block[1];
    uint32_t *v0 = w->v;
    for (uint32_t i = 0; i < lanes; i++) {
        v0[i] = x | y << 10 | z << 20;
        if (++x == block[0]) {
            x = 0;
            if (++y == block[1]) {
                y = 0;
                z++;
            }
        }
    }
    uint64_t exec = lanes == EM_LANES ? ~UINT64_C(0) : (UINT64_C(1) << lanes) - 1;
    em_set_s64(w, EM_EXEC, exec);
    if (w->shadow) {
        w->shadow->v[0] = exec;
    }
}

/* Rounding and denormals are in the same order there and in MODE. */
static uint32_t initial_mode(uint32_t rsrc1)
{
    uint32_t mode = rsrc1 >> 12 & 0xff;
    mode |= rsrc1 >> 21 & 1 ? EM_MODE_DX10_CLAMP : 0;
    mode |= rsrc1 >> 23 & 1 ? EM_MODE_IEEE : 0;
    mode |= rsrc1 >> 26 & 1 ? EM_MODE_FP16_OVFL : 0;
    return mode;
}

static void clear_registers(struct em_wave *w)
{
    em_fill(w->v, (size_t)w->vgprs * EM_LANES, EM_UNWRITTEN);
    em_fill(w->v + 256 * EM_LANES, (size_t)w->agprs * EM_LANES, EM_UNWRITTEN);
    em_fill(w->s, EM_SCALARS, EM_UNWRITTEN);
    memset(&w->s[EM_TTMP0], 0, (EM_M0 - EM_TTMP0) * sizeof(w->s[0]));
    em_set_s64(w, EM_FLAT_SCRATCH, EM_PRIVATE_APERTURE);
    if (w->shadow) {
        memset(w->shadow, 0, sizeof(*w->shadow));
        em_shadow_set_scalar(w->shadow, EM_EXEC, 2, true);
        em_shadow_set_scalar(w->shadow, EM_FLAT_SCRATCH, 2, true);
        em_shadow_set_scalar(w->shadow, EM_TTMP0, EM_M0 - EM_TTMP0, true);
    }
}

void em_wave_start(struct em_wave *w, const struct em_plan *plan)
{
    clear_registers(w);
    w->scc = 0;
    w->mode = initial_mode(plan->kernel->rsrc1);
    w->pc = plan->entry;
    w->gpr_idx = 0;
    w->trap_status = 0;
    w->fork_depth = 0;
    w->barriers = 0;
    w->instructions = 0;
    w->state = EM_WAVE_READY;
    set_work_items(w, plan);
    struct giving g = { .w = w };
    give_user(&g, plan);
    g.next = plan->kernel->rsrc2 >> 1 & 31;
    give_system(&g, plan);
}
