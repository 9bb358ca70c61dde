/* A resident workgroup: its memory, its waves in turn, its barriers.
 *
 * A wave runs until a barrier, its end, s_sleep or the end of its slice; then the next
 * one does. When all that have not ended are at a barrier they are let go on. A wave
 * that ended does not count, as on the device. Nothing here depends on time or on other
 * threads: the same workgroup gives the same results and counts in every run. */
#include "emulator/launch/launch_internal.h"

#include "core/buf.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    SLICE = 10000,           /* instructions of a wave in a row */
    UNCHECKED_SLICE = 4,     /* without fault detection: nearly side by side */
    LONG_STINT = 16 << 20,   /* instructions until other workgroups get a turn */
    SHORT_STINT = 256 << 10, /* of one that seems to wait for others */
    STINT_PAUSES = 256       /* s_sleep and the like */
};

void em_fill(uint32_t *p, size_t dwords, uint32_t value)
{
    for (size_t i = 0; i < dwords; i++) {
        p[i] = value;
    }
}

/* What a wave needs besides its registers. */
static enum wf_status complete_wave(struct em_wave *w,
                                    const struct em_plan *plan,
                                    struct wf_error *err)
{
    const struct em_launch *l = plan->launch;
    size_t scratch = (size_t)plan->scratch_bytes * EM_LANES;
    w->vgprs = (uint16_t)plan->vgprs;
    w->agprs = (uint16_t)plan->kernel->agprs;
    w->sgprs = (uint16_t)(plan->kernel->sgprs < EM_FLAT_SCRATCH ? plan->kernel->sgprs
                                                                : EM_FLAT_SCRATCH);
    w->careful = plan->careful;
    w->exact = l->options.exact;
    w->code = plan->code;
    w->space = l->space;
    w->scratch_bytes = plan->scratch_bytes;
    if (l->options.check) {
        w->shadow = em_shadow_create();
    }
    if (scratch > 0) {
        w->scratch = wf_calloc(scratch, 1);
    }
    if ((l->options.check && !w->shadow) || (scratch > 0 && !w->scratch)) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a wave's scratch of %zu bytes",
                         scratch);
    }
    return WF_OK;
}

static enum wf_status create_waves(struct em_resident *r, struct wf_error *err)
{
    for (unsigned i = 0; i < r->plan->waves; i++) {
        struct em_wave *w = em_wave_create();
        if (!w) {
            return wf_errorf(err, WF_ENOMEM, "no memory for a wave's registers");
        }
        r->group.wave[r->group.waves++] = w;
        w->id = i;
        w->group = &r->group;
        enum wf_status st = complete_wave(w, r->plan, err);
        if (st != WF_OK) {
            return st;
        }
    }
    return WF_OK;
}

enum wf_status em_resident_create(const struct em_plan *plan,
                                  struct em_counts *counts,
                                  struct em_resident **ret,
                                  struct wf_error *err)
{
    struct em_resident *r = wf_calloc(1, sizeof(*r));
    if (!r) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a workgroup");
    }
    struct em_group *g = &r->group;
    r->plan = plan;
    g->launch = plan->launch;
    g->lds_bytes = plan->lds_bytes;
    g->global_shadow = plan->global_shadow;
    g->view.space = plan->launch->space;
    enum wf_status st = create_waves(r, err);
    g->lds = aligned_alloc(64, EM_MAX_LDS_BYTES);
    if (st == WF_OK && plan->launch->options.check && plan->lds_bytes > 0) {
        g->lds_shadow = em_lds_shadow_create(plan->lds_bytes);
        st = g->lds_shadow ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for LDS");
    }
    if (st == WF_OK && !g->lds) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for LDS");
    }
    if (st != WF_OK) {
        em_resident_destroy(r);
        return st;
    }
    for (unsigned i = 0; i < g->waves; i++) {
        g->wave[i]->counts = counts;
    }
    *ret = r;
    return WF_OK;
}

void em_resident_destroy(struct em_resident *r)
{
    if (!r) {
        return;
    }
    for (unsigned i = 0; i < r->group.waves; i++) {
        struct em_wave *w = r->group.wave[i];
        em_shadow_destroy(w->shadow);
        free(w->scratch);
        em_wave_destroy(w);
    }
    em_lds_shadow_destroy(r->group.lds_shadow);
    free(r->group.lds);
    free(r);
}

void em_resident_start(struct em_resident *r, uint64_t index)
{
    struct em_group *g = &r->group;
    const uint32_t *grid = r->plan->launch->grid;
    g->index = index;
    g->id[0] = (uint32_t)(index % grid[0]);
    g->id[1] = (uint32_t)(index / grid[0] % grid[1]);
    g->id[2] = (uint32_t)(index / grid[0] / grid[1]);
    g->epoch = 0;
    g->race_ordered = false;
    memset(&g->fault, 0, sizeof(g->fault));
    r->parked_before = false;
    em_fill((uint32_t *)(void *)g->lds, (g->lds_bytes + 3) / 4, EM_UNWRITTEN);
    if (g->lds_shadow) {
        em_lds_shadow_reset(g->lds_shadow);
    }
    for (unsigned i = 0; i < g->waves; i++) {
        struct em_wave *w = g->wave[i];
        em_wave_start(w, r->plan);
        em_fill((uint32_t *)(void *)w->scratch, (size_t)w->scratch_bytes / 4 * EM_LANES,
                EM_UNWRITTEN);
    }
}

uint64_t em_resident_instructions(const struct em_resident *r)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < r->group.waves; i++) {
        n += r->group.wave[i]->instructions;
    }
    return n;
}

static struct em_wave *first_in_state(const struct em_group *g,
                                      enum em_wave_state state)
{
    for (unsigned i = 0; i < g->waves; i++) {
        if (g->wave[i]->state == state) {
            return g->wave[i];
        }
    }
    return NULL;
}

/* The s_barrier (of one dword) that a waiting wave has executed. */
static const struct em_op *barrier_of(const struct em_wave *w)
{
    return em_code_at(w->code, w->pc - 1);
}

static void endless(struct em_wave *w, const struct em_resident *r)
{
    const struct em_wave *waiting = first_in_state(&r->group, EM_WAVE_WAITING);
    (void)em_fault(w, em_code_at(w->code, w->pc), EM_FAULT_ENDLESS, -1, NULL,
                   "the wave has executed %" PRIu64 " instructions and not ended%s",
                   w->instructions,
                   waiting ? "; other waves wait for it at a barrier" : "");
    struct em_fault *f = em_wave_fault(w);
    if (waiting && f) {
        f->other_pc = barrier_of(waiting)->index;
        f->other_wave = waiting->id;
    }
}

/* A wave that took part in barriers and has ended while others wait at a further one:
 * the device lets these go on, and the barrier does not do what was meant. Waves that
 * ended before any barrier (nothing to do for them) are no mistake. */
static bool barrier_diverges(struct em_wave *waiting, const struct em_group *g)
{
    for (unsigned i = 0; i < g->waves; i++) {
        const struct em_wave *ended = g->wave[i];
        if (ended->state != EM_WAVE_ENDED || ended->barriers == 0) {
            continue;
        }
        (void)em_fault(waiting, barrier_of(waiting), EM_FAULT_DIVERGENT_BARRIER, -1,
                       NULL,
                       "wave %u waits at its barrier %" PRIu32
                       " which wave %u, ended after %" PRIu32 ", never reaches",
                       waiting->id, waiting->barriers + 1, ended->id, ended->barriers);
        struct em_fault *f = em_wave_fault(waiting);
        if (f) {
            f->other_pc = ended->pc;
            f->other_wave = ended->id;
        }
        return true;
    }
    return false;
}

/* All that have not ended wait: false where that is a fault. */
static bool release_barrier(struct em_resident *r)
{
    struct em_group *g = &r->group;
    struct em_wave *waiting = first_in_state(g, EM_WAVE_WAITING);
    if (r->plan->launch->options.check && barrier_diverges(waiting, g)) {
        return false;
    }
    g->epoch++;
    for (unsigned i = 0; i < g->waves; i++) {
        struct em_wave *w = g->wave[i];
        if (w->state == EM_WAVE_WAITING) {
            w->state = EM_WAVE_READY;
            w->barriers++;
        }
    }
    return true;
}

/* One slice of a wave; false: it committed a fault. Races that are not reported should
 * end as they nearly always do on the device, where waves keep pace. */
static bool run_slice(struct em_wave *w, const struct em_resident *r, unsigned *pauses)
{
    uint64_t until = w->instructions + (w->shadow ? SLICE : UNCHECKED_SLICE);
    if (until > r->plan->budget) {
        until = r->plan->budget;
    }
    switch (em_wave_run(w, until)) {
    case EM_FAULTED:
        return false;
    case EM_BARRIER:
        w->state = EM_WAVE_WAITING;
        return true;
    case EM_DONE:
        w->state = EM_WAVE_ENDED;
        return true;
    case EM_PAUSED:
        (*pauses)++;
        return true;
    case EM_GO:
    case EM_JUMPED:
    default:
        if (w->instructions >= r->plan->budget) {
            endless(w, r);
            return false;
        }
        return true;
    }
}

/* Every ready wave once. */
static bool run_round(struct em_resident *r, unsigned *pauses)
{
    struct em_group *g = &r->group;
    for (unsigned i = 0; i < g->waves; i++) {
        if (g->wave[i]->state == EM_WAVE_READY && !run_slice(g->wave[i], r, pauses)) {
            return false;
        }
    }
    if (!first_in_state(g, EM_WAVE_READY) && first_in_state(g, EM_WAVE_WAITING)) {
        return release_barrier(r);
    }
    return true;
}

/* What was never written may be LDS that another wave is about to write: then the
 * mistake is the missing barrier. The other waves run on to their next barrier; a race
 * with the wave that committed the fault is reported instead. */
static void look_for_race(struct em_resident *r)
{
    struct em_group *g = &r->group;
    struct em_fault first = g->fault;
    if (first.kind != EM_FAULT_UNINITIALISED) {
        return;
    }
    for (unsigned i = 0; i < g->waves; i++) {
        struct em_wave *w = g->wave[i];
        if (i == first.wave || w->state != EM_WAVE_READY) {
            continue;
        }
        memset(&g->fault, 0, sizeof(g->fault));
        unsigned pauses = 0;
        (void)run_slice(w, r, &pauses);
        if (g->fault.kind == EM_FAULT_LDS_RACE && g->fault.other_wave == first.wave) {
            return;
        }
    }
    g->fault = first;
}

/* Some workgroup did: who waits for what it would have done waits in vain. */
static bool faulted(const struct em_plan *plan)
{
    return atomic_load_explicit(&plan->stop, memory_order_relaxed) != UINT64_MAX;
}

enum em_group_result em_resident_run(struct em_resident *r)
{
    bool brief = r->parked_before || r->plan->launch->cooperative;
    uint64_t stint = brief ? SHORT_STINT : LONG_STINT;
    uint64_t start = em_resident_instructions(r);
    unsigned pauses = 0;
    for (;;) {
        if (!run_round(r, &pauses)) {
            look_for_race(r);
            return EM_GROUP_FAULTED;
        }
        if (!first_in_state(&r->group, EM_WAVE_READY)) {
            return EM_GROUP_DONE;
        }
        if (atomic_load_explicit(&r->plan->stop, memory_order_relaxed) <
            r->group.index) {
            return EM_GROUP_UNWANTED;
        }
        if (pauses >= STINT_PAUSES || em_resident_instructions(r) - start >= stint) {
            bool in_vain = r->parked_before && faulted(r->plan);
            r->parked_before = true;
            return in_vain ? EM_GROUP_UNWANTED : EM_GROUP_PARKED;
        }
    }
}
