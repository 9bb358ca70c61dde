/* Races and unwritten bytes of LDS: who wrote each dword last, since which barrier. */
#include "emulator/check/race.h"

#include "core/buf.h"
#include "emulator/launch/group.h"

#include <stdlib.h>

struct em_lds_shadow {
    uint32_t bytes;
    uint8_t written[EM_MAX_LDS_BYTES];
    uint32_t writer[EM_MAX_LDS_BYTES]; /* (epoch + 1) << 5 | wave; 0: nobody */
};

struct em_global_shadow {
    uint64_t accesses;
};

struct em_lds_shadow *em_lds_shadow_create(uint32_t lds_bytes)
{
    struct em_lds_shadow *s = wf_calloc(1, sizeof(*s));
    if (s) {
        s->bytes = lds_bytes;
    }
    return s;
}

void em_lds_shadow_reset(struct em_lds_shadow *s)
{
    uint32_t bytes = s->bytes;
    memset(s, 0, sizeof(*s));
    s->bytes = bytes;
}

void em_lds_shadow_destroy(struct em_lds_shadow *s)
{
    free(s);
}

struct em_global_shadow *em_global_shadow_create(void)
{
    return wf_calloc(1, sizeof(struct em_global_shadow));
}

void em_global_shadow_destroy(struct em_global_shadow *s)
{
    free(s);
}

static bool lane_bytes(struct em_lds_shadow *s,
                       const struct em_access *access,
                       unsigned lane,
                       uint32_t tag,
                       uint64_t ret_written[4])
{
    bool conflict = false;
    for (unsigned i = 0; i < access->bytes; i++) {
        uint64_t at = access->address[lane] + i;
        if (at >= EM_MAX_LDS_BYTES) {
            continue;
        }
        uint32_t other = s->writer[at];
        conflict = conflict ||
                   (other >> 5 == tag >> 5 && other != tag && access->kind == EM_READ);
        if (access->kind != EM_READ) {
            s->writer[at] = tag;
            s->written[at] = 1;
        } else if (ret_written && !s->written[at]) {
            ret_written[i / 4] &= ~(UINT64_C(1) << lane);
        }
    }
    return conflict;
}

enum em_flow em_race_lds(struct em_wave *w,
                         const struct em_op *op,
                         const struct em_access *access,
                         uint64_t ret_written[4])
{
    struct em_lds_shadow *s = w->group->lds_shadow;
    uint32_t tag = (w->group->epoch + 1) << 5 | w->id;
    if (ret_written) {
        memset(ret_written, 0xff, 4 * sizeof(*ret_written));
    }
    for (uint64_t lanes = s ? access->lanes : 0; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(lanes);
        if (lane_bytes(s, access, lane, tag, ret_written)) {
            return em_fault(
                w, op, EM_FAULT_LDS_RACE, (int)lane, &access->address[lane],
                "LDS read of what another wave wrote since the last barrier");
        }
    }
    return EM_GO;
}

enum em_flow em_race_global(struct em_wave *w,
                            const struct em_op *op,
                            const struct em_access *access)
{
    (void)op;
    w->group->global_shadow->accesses += access->lanes != 0;
    return EM_GO;
}

void em_race_lds_pending(struct em_wave *w, uint32_t begin, uint32_t end, bool pending)
{
    struct em_lds_shadow *s = w->group->lds_shadow;
    for (uint32_t i = begin; s && !pending && i < end && i < EM_MAX_LDS_BYTES; i++) {
        s->written[i] = 1;
    }
}

void em_race_fence(struct em_wave *w, bool release, bool acquire)
{
    (void)w;
    (void)release;
    (void)acquire;
}
