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
 * an atomic on global memory, a load past the caches (sc1) or an acquire, since any of
 * these may have ordered it behind the other party; races hidden by a later access of
 * the same dword; and, where the two parties run on two host threads at the same
 * moment, a race whose tags cross. Tags are read and written without locks: the shadow
 * of a dword may be older than its last access, but always tells of accesses that did
 * happen. */
#include "emulator/check/race_map.h"
#include "emulator/launch/group.h"
#include "emulator/launch/launch.h"

#include <immintrin.h>
#include <stdio.h>

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
struct global_access {
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
static inline struct em_race_tags *tags_of(struct global_access *a, uint64_t address)
{
    uint64_t number = address >> EM_CHUNK_SHIFT;
    if (number != a->number) {
        struct em_global_shadow *s = a->w->group->global_shadow;
        if (number >= EM_CHUNKS) {
            return NULL;
        }
        a->number = number;
        a->chunk = atomic_load_explicit(&s->directory[number], memory_order_acquire);
        if (!a->chunk) {
            a->chunk = em_race_add_chunk(s, number);
        }
    }
    return a->chunk ? &a->chunk->tags[address / 4 % EM_CHUNK_DWORDS] : NULL;
}

/* Whether an access with that tag comes before what the wave does now. */
static bool precedes(const struct global_access *a, uint32_t tag)
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

static bool by_several(const struct global_access *a, uint32_t tag)
{
    return (tag & TAG_GROUP) == TAG_GROUP ||
           (((tag ^ a->mine) & TAG_GROUP) == 0 && (tag & TAG_WAVE) == TAG_WAVE);
}

/* The tag that is in conflict with an access of those bytes, or 0. */
static uint32_t conflict(const struct global_access *a,
                         struct em_race_tags tags,
                         uint32_t bytes,
                         bool *ret_writer)
{
    enum em_access_kind kind = a->access->kind;
    *ret_writer = true;
    if ((tags.writer & bytes) && !precedes(a, tags.writer)) {
        bool both_atomic = a->atomic && (tags.writer & TAG_ATOMIC);
        bool perhaps_own = kind == EM_READ && by_several(a, tags.writer);
        if (!both_atomic && !perhaps_own) {
            return tags.writer;
        }
    }
    *ret_writer = false;
    bool reads = kind == EM_READ || (tags.reader & bytes) == 0;
    return reads || precedes(a, tags.reader) ? 0 : tags.reader;
}

/* Two accesses of the same kind and bytes as one tag; else the later one. */
static uint32_t joined(const struct global_access *a, uint32_t tag, uint32_t mine)
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

/* Whether the lane's write leaves the dword's bytes as they are. */
static bool is_silent(const struct global_access *a,
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

static void name_other(const struct global_access *a,
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

static enum em_flow race_fault(const struct global_access *a,
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
static UNLOCKED void mark_silent(const struct global_access *a,
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
static UNLOCKED enum em_flow touch(const struct global_access *a,
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
        there.reader = joined(a, there.reader, mine);
    } else if (a->atomic) {
        there.writer = joined(a, there.writer, mine | TAG_ATOMIC);
    } else {
        bool own = ((there.writer ^ mine) & ~(uint32_t)TAG_BYTES) == 0;
        there.writer = own ? there.writer | mine : mine;
    }
    *t = there;
    return EM_GO;
}

/* A lane's access, dword by dword: any alignment, any conflict. */
static enum em_flow touch_lane(struct global_access *a, unsigned lane)
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
        struct em_race_tags *t = tags_of(a, dword);
        if (t && touch(a, t, lane, dword, bytes) == EM_FAULTED) {
            return EM_FAULTED;
        }
    }
    return EM_GO;
}

/* n tags: 1, 2 or 4. */
static inline UNLOCKED __m256i load_tags(const struct em_race_tags *t, unsigned n)
{
    switch (n) {
    case 1:
        return _mm256_zextsi128_si256(_mm_loadl_epi64((const void *)t));
    case 2:
        return _mm256_zextsi128_si256(_mm_loadu_si128((const void *)t));
    default:
        return _mm256_loadu_si256((const void *)t);
    }
}

static inline UNLOCKED void store_tags(struct em_race_tags *t,
                                       __m256i value,
                                       unsigned n)
{
    switch (n) {
    case 1:
        _mm_storel_epi64((void *)t, _mm256_castsi256_si128(value));
        break;
    case 2:
        _mm_storeu_si128((void *)t, _mm256_castsi256_si128(value));
        break;
    default:
        _mm256_storeu_si256((void *)t, value);
        break;
    }
}

static inline __m256i set1(uint32_t value)
{
    return _mm256_set1_epi32((int)value);
}

/* A bit a tag: 0, 2, 4, 6 the writers, 1, 3, 5, 7 the readers. */
static inline unsigned bits(__m256i lanes)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(lanes));
}

enum {
    WRITERS = 0x55,
    READERS = 0xaa
};

/* Which tags certainly precede the access; *ret_group, *ret_epoch: those that are of
 * the same workgroup, and of the same epoch. */
static inline __m256i settled(const struct global_access *a,
                              __m256i tags,
                              __m256i *ret_group,
                              __m256i *ret_epoch)
{
    __m256i mine = set1(a->mine);
    __m256i differs = _mm256_xor_si256(tags, mine);
    __m256i zero = _mm256_setzero_si256();
    __m256i none = _mm256_cmpeq_epi32(tags, zero);
    __m256i group = set1(TAG_GROUP);
    __m256i wave = set1(TAG_GROUP | TAG_WAVE);
    *ret_group = _mm256_cmpeq_epi32(_mm256_and_si256(differs, group), zero);
    *ret_epoch =
        _mm256_cmpeq_epi32(_mm256_and_si256(tags, set1(TAG_EPOCH)), set1(a->epoch));
    __m256i same_wave = _mm256_cmpeq_epi32(_mm256_and_si256(differs, wave), zero);
    __m256i barrier = _mm256_andnot_si256(*ret_epoch, *ret_group);
    return _mm256_or_si256(none, _mm256_or_si256(same_wave, barrier));
}

/* n (1, 2, 4) whole dwords: true where nothing is in conflict, and they are marked. */
static inline UNLOCKED bool read_whole(const struct global_access *a,
                                       struct em_race_tags *t,
                                       unsigned n)
{
    __m256i tags = load_tags(t, n);
    __m256i group;
    __m256i epoch;
    __m256i fine = settled(a, tags, &group, &epoch);
    if (!a->ordered && (bits(fine) & WRITERS) != WRITERS) {
        return false;
    }
    __m256i mine = set1(a->mine);
    __m256i several = set1(TAG_SEVERAL_GROUPS);
    __m256i keep = _mm256_or_si256(_mm256_cmpeq_epi32(tags, mine),
                                   _mm256_cmpeq_epi32(tags, several));
    if ((bits(keep) & READERS) == READERS) {
        return true;
    }
    /* Whole dwords of another workgroup, or of a wave of this one since the barrier,
     * are joined; what else there is, this access replaces. */
    __m256i whole =
        _mm256_cmpeq_epi32(_mm256_and_si256(tags, set1(TAG_BYTES)), set1(TAG_BYTES));
    __m256i waves =
        _mm256_blendv_epi8(mine, _mm256_or_si256(tags, set1(TAG_WAVE)), epoch);
    __m256i result = _mm256_blendv_epi8(several, waves, group);
    result = _mm256_blendv_epi8(mine, result, whole);
    result = _mm256_blendv_epi8(result, tags, keep);
    store_tags(t, _mm256_blend_epi32(tags, result, READERS), n);
    return true;
}

/* The lanes of n dwords of data that memory holds already, two 32-bit lanes for each.
 */
static inline __m256i same_data(uint64_t address, const void *data, unsigned n)
{
    const void *there = (const void *)(uintptr_t)address;
    __m128i a;
    __m128i b;
    switch (n) {
    case 1:
        a = _mm_loadu_si32(there);
        b = _mm_loadu_si32(data);
        break;
    case 2:
        a = _mm_loadl_epi64(there);
        b = _mm_loadl_epi64(data);
        break;
    default:
        a = _mm_loadu_si128(there);
        b = _mm_loadu_si128(data);
        break;
    }
    return _mm256_cvtepi32_epi64(_mm_cmpeq_epi32(a, b));
}

static inline UNLOCKED bool write_whole(const struct global_access *a,
                                        struct em_race_tags *t,
                                        uint64_t address,
                                        const void *data,
                                        unsigned n)
{
    __m256i tags = load_tags(t, n);
    __m256i group;
    __m256i epoch;
    __m256i fine = settled(a, tags, &group, &epoch);
    if (!a->ordered && bits(fine) != (WRITERS | READERS)) {
        return false;
    }
    __m256i silent = same_data(address, data, n);
    __m256i result = _mm256_blendv_epi8(set1(a->mine), tags, silent);
    store_tags(t, _mm256_blend_epi32(tags, result, WRITERS), n);
    return true;
}

/* n dwords of one lane, or 4 of a row of lanes, at `address`; `data` of writes. */
static inline bool whole(struct global_access *a,
                         uint64_t address,
                         const uint8_t *data,
                         unsigned n)
{
    if ((address & 3) ||
        (address / 4 + n - 1) / EM_CHUNK_DWORDS != address / 4 / EM_CHUNK_DWORDS) {
        return false;
    }
    struct em_race_tags *t = tags_of(a, address);
    if (!t) {
        return true;
    }
    return a->access->kind == EM_READ ? read_whole(a, t, n)
                                      : write_whole(a, t, address, data, n);
}

static inline enum em_flow each_whole(struct global_access *a, unsigned n)
{
    const struct em_access *access = a->access;
    for (uint64_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(lanes);
        const uint8_t *data = access->data + (size_t)lane * access->stride;
        if (!whole(a, access->address[lane], data, n) &&
            touch_lane(a, lane) == EM_FAULTED) {
            return EM_FAULTED;
        }
    }
    return EM_GO;
}

/* All lanes' dwords in a row: four dwords at a time. */
static bool row(struct global_access *a)
{
    const struct em_access *access = a->access;
    if (!access->contiguous ||
        (access->kind == EM_WRITE && access->stride != access->bytes)) {
        return false;
    }
    uint64_t bytes = (uint64_t)EM_LANES * access->bytes;
    for (uint64_t i = 0; i < bytes; i += 16) {
        const uint8_t *data = access->kind == EM_WRITE ? access->data + i : NULL;
        /* What a part of the row marked already is marked again, to no effect. */
        if (!whole(a, access->address[0] + i, data, 4)) {
            return false;
        }
    }
    return true;
}

static enum em_flow every_lane(struct global_access *a)
{
    const struct em_access *access = a->access;
    bool plain = access->kind == EM_READ ||
                 (access->kind == EM_WRITE && access->data && !a->atomic && !a->again);
    if (plain && access->bytes % 4 == 0 && row(a)) {
        return EM_GO;
    }
    if (plain && access->bytes == 4) {
        return each_whole(a, 1);
    }
    if (plain && access->bytes == 8) {
        return each_whole(a, 2);
    }
    if (plain && access->bytes == 16) {
        return each_whole(a, 4);
    }
    for (uint64_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        if (touch_lane(a, (unsigned)__builtin_ctzll(lanes)) == EM_FAULTED) {
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
    bool coherent = op->in.sc1; /* loads and stores past the caches of an XCD */
    if (access->kind == EM_READ && coherent) {
        w->group->race_ordered = true;
        return EM_GO;
    }
    uint32_t epoch = g->epoch < EPOCH_MANY ? g->epoch : EPOCH_MANY;
    uint32_t group = (uint32_t)(g->index % GROUPS) + 1;
    struct global_access a = {
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
    enum em_flow flow = every_lane(&a);
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
