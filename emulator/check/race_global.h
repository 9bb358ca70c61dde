/* What the files of the races of global memory share: tags, and a prepared access. */
#ifndef WF_EMULATOR_CHECK_RACE_GLOBAL_H
#define WF_EMULATOR_CHECK_RACE_GLOBAL_H

#include "emulator/check/race_map.h"
#include "emulator/launch/group.h"

enum {
    TAG_BYTES = 0xf,
    TAG_ATOMIC = 1 << 4,
    GROUP_SHIFT = 5,
    GROUP_SEVERAL = 0xfff,
    TAG_GROUP = GROUP_SEVERAL << GROUP_SHIFT,
    WAVE_SHIFT = 17,
    WAVE_SEVERAL = 0x1f,
    TAG_WAVE = WAVE_SEVERAL << WAVE_SHIFT,
    EPOCH_SHIFT = 22,
    EPOCH_MANY = 0x3ff, /* more barriers than the tag tells apart */
    GROUPS = GROUP_SEVERAL - 1,
    TAG_SEVERAL_GROUPS = TAG_GROUP | TAG_BYTES
};
#define TAG_EPOCH ((uint32_t)EPOCH_MANY << EPOCH_SHIFT)

/* The functions that touch tags race with those of other threads by design: a tag is a
 * word of memory that holds one value or another. */
#define UNLOCKED __attribute__((no_sanitize("thread")))

/* An access, prepared. */
struct em_global_access {
    struct em_wave *w;
    const struct em_op *op;
    const struct em_access *access;
    uint32_t mine;   /* the tag of all four bytes */
    uint32_t epoch;  /* of the tag; a value that no tag has where it is not known */
    bool atomic;     /* or as good as */
    bool ordered;    /* behind whatever others did */
    bool again;      /* em_global_shadow_again */
    uint64_t number; /* of the chunk looked up last */
    struct em_race_chunk *chunk;
};

/* The tags of the dword that holds `address`; NULL: no memory for them, so no check. */
static inline struct em_race_tags *em_race_tags_of(struct em_global_access *a,
                                                   uint64_t address)
{
    struct em_global_shadow *s = a->w->group->global_shadow;
    uint64_t number = address >> EM_CHUNK_SHIFT;
    if (number != a->number) {
        if (number >= EM_CHUNKS) {
            return NULL;
        }
        a->number = number;
        a->chunk = atomic_load_explicit(&s->directory[number], memory_order_acquire);
        if (!a->chunk) {
            a->chunk = em_race_add_chunk(s, number);
        }
    }
    if (!a->chunk) {
        return NULL;
    }
    size_t page = (address >> EM_USE_SHIFT) % EM_CHUNK_USES;
    if (atomic_load_explicit(&a->chunk->use[page], memory_order_acquire) != s->use) {
        em_race_begin_use(s, a->chunk, page);
    }
    return &a->chunk->tags[address / 4 % EM_CHUNK_DWORDS];
}

/* Whether an access with that tag comes before what the wave does now. */
static inline bool em_race_precedes(const struct em_global_access *a, uint32_t tag)
{
    if (tag == 0 || a->ordered) {
        return true;
    }
    uint32_t differs = tag ^ a->mine;
    if ((differs & (TAG_GROUP | TAG_WAVE)) == 0) {
        return true;
    }
    return (differs & TAG_GROUP) == 0 && (tag & TAG_EPOCH) != a->epoch;
}

/* Two accesses of the same kind and bytes as one tag; else the later one. */
static inline uint32_t em_race_joined(const struct em_global_access *a,
                                      uint32_t tag,
                                      uint32_t mine)
{
    uint32_t differs = tag ^ mine;
    uint32_t kind = TAG_ATOMIC | TAG_BYTES;
    if (tag == 0) {
        return mine;
    }
    if ((differs & ~(uint32_t)TAG_BYTES) == 0) {
        return tag | mine;
    }
    if (differs & kind) {
        return mine;
    }
    if (differs & TAG_GROUP) {
        return TAG_GROUP | (mine & kind);
    }
    return (tag & TAG_EPOCH) == a->epoch ? tag | TAG_WAVE : mine;
}

/* race_global.c: one lane, or all, dword by dword: any alignment, any conflict. */
enum em_flow em_race_lane(struct em_global_access *a, unsigned lane);
enum em_flow em_race_each_lane(struct em_global_access *a);

/* race_row.c: loads, and stores whose data is known, many dwords at a time where they
 * are alike. */
enum em_flow em_race_plain(struct em_global_access *a);

#endif
