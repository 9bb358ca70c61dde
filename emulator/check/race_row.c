/* Races of global memory, many dwords at a time (race_global.c has the rules). */
#include "emulator/check/race_global.h"

#include <immintrin.h>
#include <string.h>

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
static inline __m256i settled(const struct em_global_access *a,
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
static inline UNLOCKED bool read_whole(const struct em_global_access *a,
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

static inline UNLOCKED bool write_whole(const struct em_global_access *a,
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
static inline bool whole(struct em_global_access *a,
                         uint64_t address,
                         const uint8_t *data,
                         unsigned n)
{
    if ((address & 3) || (address ^ (address + n * 4 - 1)) >> EM_USE_SHIFT) {
        return false;
    }
    struct em_race_tags *t = em_race_tags_of(a, address);
    if (!t) {
        return true;
    }
    return a->access->kind == EM_READ ? read_whole(a, t, n)
                                      : write_whole(a, t, address, data, n);
}

static inline enum em_flow each_whole(struct em_global_access *a, unsigned n)
{
    const struct em_access *access = a->access;
    for (uint64_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(lanes);
        const uint8_t *data =
            access->data ? access->data + (size_t)lane * access->stride : NULL;
        if (!whole(a, access->address[lane], data, n) &&
            em_race_lane(a, lane) == EM_FAULTED) {
            return EM_FAULTED;
        }
    }
    return EM_GO;
}

/* All lanes' dwords in a row: four dwords at a time. */
static bool row(struct em_global_access *a)
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

/* The parts of an access, of n dwords each: lanes, or 16 bytes of a row of lanes, or a
 * dword that several lanes have between them. */
struct places {
    unsigned count, n;
    bool row;        /* one behind the other, of 1 KiB at most */
    uint64_t active; /* bit a place */
    uint64_t address[EM_LANES];
    struct em_race_tags *tags[EM_LANES];
    const uint8_t *data; /* writes: that of place i is at i * stride */
    size_t stride;
    uint8_t packed[EM_LANES * 2];
};

static void places_of_row(const struct em_access *access, struct places *p)
{
    p->count = EM_LANES * access->bytes / 16;
    p->n = 4;
    p->row = true;
    p->active = UINT64_MAX >> (EM_LANES - p->count);
    for (unsigned i = 0; i < p->count; i++) {
        p->address[i] = access->address[0] + (uint64_t)16 * i;
    }
    p->data = access->data;
    p->stride = 16;
}

/* What is out of use stands where the first lane does. */
static void places_of_lanes(const struct em_access *access, struct places *p)
{
    p->count = EM_LANES;
    p->n = access->bytes / 4;
    p->row = false;
    p->active = access->lanes;
    uint64_t first = access->address[__builtin_ctzll(access->lanes)];
    for (unsigned i = 0; i < EM_LANES; i++) {
        p->address[i] = access->lanes >> i & 1 ? access->address[i] : first;
    }
    p->data = access->data;
    p->stride = access->stride;
}

static void pack(const struct em_access *access, struct places *p)
{
    const uint8_t *data = access->data;
    for (unsigned i = 0; i < EM_LANES && access->bytes == 2; i++) {
        memcpy(&p->packed[2 * i], data + (size_t)4 * i, 2);
    }
    for (unsigned i = 0; i < EM_LANES && access->bytes == 1; i++) {
        p->packed[i] = data[(size_t)4 * i];
    }
    p->data = p->packed;
    p->stride = 4;
}

/* Bytes or halves of dwords, of neighbouring lanes. */
static bool places_of_parts(const struct em_access *access, struct places *p)
{
    unsigned each = 4 / access->bytes;
    uint64_t differs = ~access->lanes;
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t whole = access->address[i - i % each];
        differs |= access->address[i] ^ (whole + (uint64_t)(i % each) * access->bytes);
    }
    if (differs || (access->kind == EM_WRITE && access->stride != 4)) {
        return false;
    }
    p->count = EM_LANES / each;
    p->n = 1;
    p->row = false;
    p->active = UINT64_MAX >> (EM_LANES - p->count);
    for (unsigned i = 0; i < p->count; i++) {
        p->address[i] = access->address[i * each];
    }
    if (access->kind == EM_WRITE) {
        pack(access, p);
    }
    return true;
}

/* Sees to it that the tags of places in the chunk are the launch's. */
static void begin_uses(struct em_global_access *a, const struct places *p)
{
    struct em_global_shadow *s = a->w->group->global_shadow;
    struct em_race_chunk *chunk = a->chunk;
    /* A row of places is in two pages at most. */
    unsigned step = p->row ? p->count - 1 : 1;
    for (unsigned i = 0; i < p->count; i += step) {
        size_t page = (p->address[i] >> EM_USE_SHIFT) % EM_CHUNK_USES;
        if (atomic_load_explicit(&chunk->use[page], memory_order_acquire) != s->use) {
            em_race_begin_use(s, chunk, page);
        }
    }
}

/* Finds the tags; false: a place is not aligned, or in two pages, or has no tags. */
static bool find_tags(struct em_global_access *a, struct places *p)
{
    uint64_t first = p->address[0];
    uint64_t low = 0;
    uint64_t chunk = 0;
    uint64_t crosses = 0;
    uint64_t last = (uint64_t)p->n * 4 - 1;
    for (unsigned i = 0; i < p->count; i++) {
        uint64_t at = p->address[i];
        low |= at;
        chunk |= at ^ first;
        crosses |= at ^ (at + last);
    }
    if ((low & 3) || crosses >> EM_USE_SHIFT) {
        return false;
    }
    if (chunk >> EM_CHUNK_SHIFT == 0 && em_race_tags_of(a, first)) {
        begin_uses(a, p);
        struct em_race_tags *base = a->chunk->tags;
        for (unsigned i = 0; i < p->count; i++) {
            p->tags[i] = base + p->address[i] / 4 % EM_CHUNK_DWORDS;
        }
        return true;
    }
    bool found = true;
    for (unsigned i = 0; i < p->count; i++) {
        p->tags[i] = em_race_tags_of(a, p->address[i]);
        found = found && p->tags[i];
    }
    return found;
}

static bool find_places(struct em_global_access *a, struct places *p)
{
    const struct em_access *access = a->access;
    unsigned bytes = access->bytes;
    if (bytes == 1 || bytes == 2) {
        return places_of_parts(access, p) && find_tags(a, p);
    }
    if (access->contiguous && bytes % 4 == 0 &&
        (access->kind == EM_READ || access->stride == bytes)) {
        places_of_row(access, p);
    } else if (bytes == 4 || bytes == 8 || bytes == 16) {
        places_of_lanes(access, p);
    } else {
        return false;
    }
    return find_tags(a, p);
}

/* Whether all tags are those of the first dword. */
static UNLOCKED bool alike(const struct places *p)
{
    uint64_t first;
    memcpy(&first, p->tags[0], sizeof(first));
    if (p->n == 1) {
        uint64_t differs = 0;
        for (unsigned i = 0; i < p->count; i++) {
            uint64_t tags;
            memcpy(&tags, p->tags[i], sizeof(tags));
            differs |= tags ^ first;
        }
        return differs == 0;
    }
    __m256i all = _mm256_set1_epi64x((long long)first);
    __m256i differs = _mm256_setzero_si256();
    for (unsigned i = 0; i < p->count; i++) {
        __m256i tags =
            p->n == 2
                ? _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p->tags[i]))
                : _mm256_loadu_si256((const void *)p->tags[i]);
        differs = _mm256_or_si256(differs, _mm256_xor_si256(tags, all));
    }
    return _mm256_testz_si256(differs, differs);
}

/* The tag of readers with this access of whole dwords: as read_whole has it. */
static uint32_t with_reader(const struct em_global_access *a, uint32_t tag)
{
    if (tag == a->mine || tag == TAG_SEVERAL_GROUPS) {
        return tag;
    }
    if ((tag & TAG_BYTES) != TAG_BYTES) {
        return a->mine;
    }
    if ((tag ^ a->mine) & TAG_GROUP) {
        return TAG_SEVERAL_GROUPS;
    }
    return (tag & TAG_EPOCH) == a->epoch ? tag | TAG_WAVE : a->mine;
}

static UNLOCKED void set_tags(const struct places *p, struct em_race_tags tags)
{
    uint64_t one;
    memcpy(&one, &tags, sizeof(one));
    __m256i all = _mm256_set1_epi64x((long long)one);
    for (unsigned i = 0; i < p->count; i++) {
        store_tags(p->tags[i], all, p->n);
    }
}

/* `n` is a constant where this is called. */
static inline UNLOCKED void mark_written(const struct em_global_access *a,
                                         const struct places *p,
                                         unsigned n)
{
    __m256i mine = set1(a->mine);
    for (uint64_t left = p->active; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        __m256i tags = load_tags(p->tags[i], n);
        __m256i silent = same_data(p->address[i], p->data + i * p->stride, n);
        __m256i result = _mm256_blendv_epi8(mine, tags, silent);
        store_tags(p->tags[i], _mm256_blend_epi32(tags, result, WRITERS), n);
    }
}

/* All dwords have the same tags, and nothing is in conflict. */
static UNLOCKED bool run_alike(const struct em_global_access *a, const struct places *p)
{
    if (!alike(p)) {
        return false;
    }
    struct em_race_tags tags = *p->tags[0];
    if (!em_race_precedes(a, tags.writer)) {
        return false;
    }
    if (a->access->kind == EM_READ) {
        uint32_t reader = with_reader(a, tags.reader);
        if (reader != tags.reader) {
            tags.reader = reader;
            set_tags(p, tags);
        }
        return true;
    }
    if (!em_race_precedes(a, tags.reader)) {
        return false;
    }
    if (tags.writer == a->mine) {
        return true;
    }
    switch (p->n) {
    case 1:
        mark_written(a, p, 1);
        break;
    case 2:
        mark_written(a, p, 2);
        break;
    default:
        mark_written(a, p, 4);
        break;
    }
    return true;
}

/* Lanes that read a part of a dword each. */
static UNLOCKED enum em_flow each_part(struct em_global_access *a)
{
    const struct em_access *access = a->access;
    uint32_t width = (UINT32_C(1) << access->bytes) - 1;
    uint32_t others = a->mine & ~(uint32_t)TAG_BYTES;
    for (uint64_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(lanes);
        uint64_t at = access->address[lane];
        struct em_race_tags *t = em_race_tags_of(a, at);
        uint32_t bytes = width << (at & 3);
        if (!t || bytes > TAG_BYTES || !em_race_precedes(a, t->writer)) {
            if (em_race_lane(a, lane) == EM_FAULTED) {
                return EM_FAULTED;
            }
        } else if (t->reader != TAG_SEVERAL_GROUPS) {
            t->reader = em_race_joined(a, t->reader, others | bytes);
        }
    }
    return EM_GO;
}

enum em_flow em_race_plain(struct em_global_access *a)
{
    const struct em_access *access = a->access;
    struct places p;
    if ((find_places(a, &p) && run_alike(a, &p)) ||
        (access->bytes % 4 == 0 && row(a))) {
        return EM_GO;
    }
    switch (access->bytes) {
    case 1:
    case 2:
        return access->kind == EM_READ ? each_part(a) : em_race_each_lane(a);
    case 4:
        return each_whole(a, 1);
    case 8:
        return each_whole(a, 2);
    case 16:
        return each_whole(a, 4);
    default:
        return em_race_each_lane(a);
    }
}
