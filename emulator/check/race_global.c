/* Races of global memory, between the waves of a launch.
 *
 * Every dword of touched memory has two tags, of its last writer and its last readers:
 *
 *     epoch (10 bits) | wave (5) | workgroup (12) | atomic | bytes (4)
 *
 * in a shadow that is mapped sparsely, two bytes for a byte, when a page is first
 * accessed. Workgroups are told apart modulo 4094, and a wave's barriers up to 1022;
 * two that look the same count as one, or as ordered. An access by several workgroups
 * has the workgroup SEVERAL, one by several waves of a workgroup between two barriers
 * the wave SEVERAL; for writers these mean that all wrote the same value.
 *
 * What is reported is a race. What may be missed: races of what a workgroup does after
 * an atomic on global memory, a load past the caches (sc1, or a scalar one's glc) or an
 * acquire, since any of these may have ordered it behind the other party; races hidden
 * by a later access of the same dword; and, where the two parties run on two host
 * threads at the same moment, a race whose tags cross. Tags are read and written
 * without locks: the shadow of a dword may be older than its last access, but always
 * tells of accesses that did happen. */
#include "emulator/check/race_global.h"

#include "emulator/launch/launch.h"

#include <stdio.h>

static bool by_several(const struct em_global_access *a, uint32_t tag)
{
    return (tag & TAG_GROUP) == TAG_GROUP ||
           (((tag ^ a->mine) & TAG_GROUP) == 0 && (tag & TAG_WAVE) == TAG_WAVE);
}

/* The tag that is in conflict with an access of those bytes, or 0. */
static uint32_t conflict(const struct em_global_access *a,
                         struct em_race_tags tags,
                         uint32_t bytes,
                         bool *ret_writer)
{
    enum em_access_kind kind = a->access->kind;
    *ret_writer = true;
    if ((tags.writer & bytes) && !em_race_precedes(a, tags.writer)) {
        bool both_atomic = a->atomic && (tags.writer & TAG_ATOMIC);
        bool perhaps_own = kind == EM_READ && by_several(a, tags.writer);
        if (!both_atomic && !perhaps_own) {
            return tags.writer;
        }
    }
    *ret_writer = false;
    bool reads = kind == EM_READ || (tags.reader & bytes) == 0;
    return reads || em_race_precedes(a, tags.reader) ? 0 : tags.reader;
}

/* Whether the lane's write leaves the dword's bytes as they are. */
static bool is_silent(const struct em_global_access *a,
                      unsigned lane,
                      uint64_t dword,
                      uint32_t bytes)
{
    const struct em_access *access = a->access;
    if (access->kind != EM_WRITE || !access->data) {
        return false;
    }
    const uint8_t *data = access->data + (size_t)lane * access->stride;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t at = dword + i;
        if ((bytes >> i & 1) &&
            *(const uint8_t *)(uintptr_t)at != data[at - access->address[lane]]) {
            return false;
        }
    }
    return true;
}

static void name_other(const struct em_global_access *a,
                       uint32_t tag,
                       char *text,
                       size_t bytes)
{
    const struct em_launch *launch = a->w->group->launch;
    uint64_t plane = launch ? (uint64_t)launch->grid[0] * launch->grid[1] : 0;
    bool many = plane > GROUPS || (launch && plane * launch->grid[2] > GROUPS);
    unsigned group = (tag & TAG_GROUP) >> GROUP_SHIFT;
    unsigned wave = (tag & TAG_WAVE) >> WAVE_SHIFT;
    if (group == GROUP_SEVERAL) {
        (void)snprintf(text, bytes, "several workgroups");
    } else if (((tag ^ a->mine) & TAG_GROUP) == 0 && wave == WAVE_SEVERAL) {
        (void)snprintf(text, bytes, "several waves of this workgroup");
    } else if (((tag ^ a->mine) & TAG_GROUP) == 0) {
        (void)snprintf(text, bytes, "wave %u of this workgroup", wave);
    } else {
        (void)snprintf(text, bytes, "workgroup %u%s", group - 1,
                       many ? " (modulo 4094)" : "");
    }
}

static enum em_flow race_fault(const struct em_global_access *a,
                               unsigned lane,
                               uint32_t tag,
                               bool with_writer)
{
    static const char *const does[] = { "reads", "writes", "updates atomically" };
    const char *did = !with_writer         ? "read"
                      : (tag & TAG_ATOMIC) ? "updated atomically"
                                           : "wrote";
    char who[64];
    name_other(a, tag, who, sizeof(who));
    enum em_flow flow = em_fault(a->w, a->op, EM_FAULT_GLOBAL_RACE, (int)lane,
                                 &a->access->address[lane],
                                 "%s %u bytes that %s %s, and nothing orders them",
                                 does[a->access->kind], a->access->bytes, who, did);
    struct em_fault *fault = em_wave_fault(a->w);
    if (fault) {
        fault->other_wave = (tag & TAG_WAVE) >> WAVE_SHIFT;
    }
    return flow;
}

/* Marks the dword as written with the value that is there already. */
static UNLOCKED void mark_silent(const struct em_global_access *a,
                                 struct em_race_tags *t,
                                 uint32_t mine)
{
    uint32_t differs = t->writer ^ mine;
    if (t->writer == 0) {
        t->writer = a->again ? mine : 0;
        return;
    }
    if ((differs & (TAG_GROUP | TAG_WAVE)) == 0) {
        return;
    }
    if (differs & TAG_GROUP) {
        t->writer |= TAG_GROUP;
    } else if ((differs & TAG_EPOCH) == 0) {
        t->writer |= TAG_WAVE;
    }
}

/* One lane's bytes of one dword. */
static UNLOCKED enum em_flow touch(const struct em_global_access *a,
                                   struct em_race_tags *t,
                                   unsigned lane,
                                   uint64_t dword,
                                   uint32_t bytes)
{
    uint32_t mine = (a->mine & ~(uint32_t)TAG_BYTES) | bytes;
    struct em_race_tags there = *t;
    bool writer;
    if (is_silent(a, lane, dword, bytes)) {
        mark_silent(a, t, mine);
        return EM_GO;
    }
    uint32_t other = conflict(a, there, bytes, &writer);
    if (other) {
        return race_fault(a, lane, other, writer);
    }
    if (a->access->kind == EM_READ) {
        there.reader = em_race_joined(a, there.reader, mine);
    } else if (a->atomic) {
        there.writer = em_race_joined(a, there.writer, mine | TAG_ATOMIC);
    } else {
        bool own = ((there.writer ^ mine) & ~(uint32_t)TAG_BYTES) == 0;
        there.writer = own ? there.writer | mine : mine;
    }
    *t = there;
    return EM_GO;
}

/* A lane's access, dword by dword: any alignment, any conflict. */
enum em_flow em_race_lane(struct em_global_access *a, unsigned lane)
{
    uint64_t begin = a->access->address[lane];
    uint64_t end = begin + a->access->bytes;
    for (uint64_t dword = begin & ~UINT64_C(3); dword < end; dword += 4) {
        uint32_t bytes = TAG_BYTES;
        if (dword < begin) {
            bytes &= (uint32_t)TAG_BYTES << (begin - dword);
        }
        if (dword + 4 > end) {
            bytes &= (uint32_t)TAG_BYTES >> (dword + 4 - end);
        }
        struct em_race_tags *t = em_race_tags_of(a, dword);
        if (t && touch(a, t, lane, dword, bytes) == EM_FAULTED) {
            return EM_FAULTED;
        }
    }
    return EM_GO;
}

enum em_flow em_race_each_lane(struct em_global_access *a)
{
    for (uint64_t lanes = a->access->lanes; lanes; lanes &= lanes - 1) {
        if (em_race_lane(a, (unsigned)__builtin_ctzll(lanes)) == EM_FAULTED) {
            return EM_FAULTED;
        }
    }
    return EM_GO;
}

enum em_flow em_race_global(struct em_wave *w,
                            const struct em_op *op,
                            const struct em_access *access)
{
    const struct em_group *g = w->group;
    if (!g->global_shadow || access->lanes == 0) {
        return EM_GO;
    }
    /* Loads and stores past the caches of an XCD; scalar loads with glc, in sc0. */
    bool coherent = op->in.sc1 || (op->in.encoding == EM_SMEM && op->in.sc0);
    if (access->kind == EM_READ && coherent) {
        w->group->race_ordered = true;
        return EM_GO;
    }
    uint32_t epoch = g->epoch < EPOCH_MANY ? g->epoch : EPOCH_MANY;
    uint32_t group = (uint32_t)(g->index % GROUPS) + 1;
    struct em_global_access a = {
        .w = w,
        .op = op,
        .access = access,
        .mine = epoch << EPOCH_SHIFT | w->id << WAVE_SHIFT | group << GROUP_SHIFT |
                TAG_BYTES,
        /* No tag has 1 there: beyond what it tells apart nothing is of the same epoch.
         */
        .epoch = epoch < EPOCH_MANY ? epoch << EPOCH_SHIFT : 1,
        .atomic = access->kind == EM_ATOMIC || coherent,
        .ordered = g->race_ordered,
        .again = g->global_shadow->again,
        .number = UINT64_MAX,
    };
    bool plain = access->kind == EM_READ ||
                 (access->kind == EM_WRITE && access->data && !a.atomic && !a.again);
    enum em_flow flow = plain ? em_race_plain(&a) : em_race_each_lane(&a);
    if (access->kind == EM_ATOMIC) {
        w->group->race_ordered = true;
    }
    return flow;
}

void em_race_fence(struct em_wave *w, bool release, bool acquire)
{
    (void)release; /* what a release orders, an acquire must still take over */
    if (acquire) {
        w->group->race_ordered = true;
    }
}
