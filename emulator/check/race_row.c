/* Races of global memory, many dwords at a time (race_global.c has the rules). */
#include "emulator/check/race_whole.h"

static inline enum em_flow each_whole(struct em_global_access *a, unsigned n)
{
    const struct em_access *access = a->access;
    for (uint64_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(lanes);
        const uint8_t *data = access->kind == EM_READ
                                  ? NULL
                                  : access->data + (size_t)lane * access->stride;
        if (!whole(a, access->address[lane], data, n) &&
            em_race_lane(a, lane) == EM_FAULTED) {
            return EM_FAULTED;
        }
    }
    return EM_GO;
}

/* A row of lanes: whole dwords of memory, one behind the other, 16 bytes at a time. */
struct row {
    uint64_t address;
    unsigned bytes; /* 64 to 1024 */
    struct em_race_tags *tags;
    const uint8_t *data; /* writes: all of it in a row */
    uint8_t packed[EM_LANES * 2];
};

/* The parts of an access, of n dwords each: lanes, or a dword that two or four lanes
 * have between them. */
struct places {
    unsigned count, n;
    bool lanes;      /* place i is lane i */
    uint64_t active; /* bit a place */
    uint64_t address[EM_LANES];
    struct em_race_tags *tags[EM_LANES];
    const uint8_t *data; /* writes: that of place i is at i * stride */
    size_t stride;
    uint8_t packed[EM_LANES * 2];
};

/* The lanes' bytes or halves of registers, one behind the other. */
static void pack(const struct em_access *access, uint8_t ret[EM_LANES * 2])
{
    const uint8_t *data = access->data;
    if (access->bytes == 2) {
        for (unsigned i = 0; i < EM_LANES; i++) {
            memcpy(&ret[2 * i], data + (size_t)4 * i, 2);
        }
    } else {
        for (unsigned i = 0; i < EM_LANES; i++) {
            ret[i] = data[(size_t)4 * i];
        }
    }
}

/* False: it is no row, or not aligned, or in two chunks, or has no tags. */
static bool find_row(struct em_global_access *a, struct row *r)
{
    const struct em_access *access = a->access;
    bool part = access->bytes < 4;
    if (!access->contiguous || access->bytes == 3 ||
        (!part && access->bytes % 4 != 0)) {
        return false;
    }
    r->address = access->address[0];
    r->bytes = EM_LANES * access->bytes;
    r->data = access->data;
    uint64_t last = r->address + r->bytes - 1;
    if ((r->address & 3) || (r->address ^ last) >> EM_CHUNK_SHIFT) {
        return false;
    }
    if (access->kind == EM_WRITE) {
        if (access->stride != (part ? 4 : access->bytes)) {
            return false;
        }
        if (part) {
            pack(access, r->packed);
            r->data = r->packed;
        }
    }
    r->tags = em_race_tags_of(a, r->address);
    return r->tags && em_race_tags_of(a, last); /* it is in two pages at most */
}

static UNLOCKED bool row_is_alike(const struct row *r)
{
    uint64_t first;
    memcpy(&first, r->tags, sizeof(first));
    __m256i all = _mm256_set1_epi64x((long long)first);
    __m256i differs = _mm256_setzero_si256();
    for (unsigned i = 0; i < r->bytes / 4; i += 4) {
        __m256i tags = _mm256_loadu_si256((const void *)(r->tags + i));
        differs = _mm256_or_si256(differs, _mm256_xor_si256(tags, all));
    }
    return _mm256_testz_si256(differs, differs);
}

/* What is out of use stands where the first lane does. */
static void places_of_lanes(const struct em_access *access, struct places *p)
{
    p->count = EM_LANES;
    p->n = access->bytes / 4;
    p->lanes = true;
    p->active = access->lanes;
    uint64_t first = access->address[__builtin_ctzll(access->lanes)];
    if (access->lanes == UINT64_MAX) {
        memcpy(p->address, access->address, sizeof(p->address));
    } else {
        for (unsigned i = 0; i < EM_LANES; i++) {
            p->address[i] = access->lanes >> i & 1 ? access->address[i] : first;
        }
    }
    p->data = access->data;
    p->stride = access->stride;
}

/* Bytes or halves of dwords, of neighbouring lanes. `each` is a constant where this is
 * called: how many make a dword. */
static inline bool places_of_parts(const struct em_access *access,
                                   struct places *p,
                                   unsigned each)
{
    uint64_t differs = ~access->lanes;
    for (unsigned i = 0; i < EM_LANES; i += each) {
        for (unsigned k = 1; k < each; k++) {
            differs |= access->address[i + k] ^ (access->address[i] + k * (4 / each));
        }
    }
    if (each < 2 || differs || (access->kind == EM_WRITE && access->stride != 4)) {
        return false;
    }
    p->count = EM_LANES / each;
    p->n = 1;
    p->lanes = false;
    p->active = UINT64_MAX >> (EM_LANES - p->count);
    for (unsigned i = 0; i < EM_LANES / each; i++) {
        p->address[i] = access->address[i * each];
    }
    if (access->kind == EM_WRITE) {
        pack(access, p->packed);
        p->data = p->packed;
        p->stride = 4;
    }
    return true;
}

/* Sees to it that the tags of places in the chunk are the launch's. */
static void begin_uses(struct em_global_access *a, const struct places *p)
{
    struct em_global_shadow *s = a->w->group->global_shadow;
    struct em_race_chunk *chunk = a->chunk;
    for (unsigned i = 0; i < p->count; i++) {
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
    switch (a->access->bytes) {
    case 1:
        return places_of_parts(a->access, p, 4) && find_tags(a, p);
    case 2:
        return places_of_parts(a->access, p, 2) && find_tags(a, p);
    case 4:
    case 8:
    case 16:
        places_of_lanes(a->access, p);
        return find_tags(a, p);
    default:
        return false;
    }
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

/* What an access makes of dwords that all have those tags. */
enum outcome {
    UNKNOWN, /* perhaps a conflict */
    KEEP,
    SET,    /* to *ret */
    WRITTEN /* mine, but where the value is there already */
};

static enum outcome outcome_of(const struct em_global_access *a,
                               struct em_race_tags tags,
                               struct em_race_tags *ret)
{
    if (!em_race_precedes(a, tags.writer)) {
        return UNKNOWN;
    }
    if (a->access->kind == EM_READ) {
        *ret = (struct em_race_tags){ tags.writer, with_reader(a, tags.reader) };
        return ret->reader == tags.reader ? KEEP : SET;
    }
    if (!em_race_precedes(a, tags.reader)) {
        return UNKNOWN;
    }
    return tags.writer == a->mine ? KEEP : WRITTEN;
}

/* Nothing is in conflict: the dwords whose value changes get the tag. */
static UNLOCKED void mark_row(const struct em_global_access *a, const struct row *r)
{
    const uint8_t *there = (const uint8_t *)(uintptr_t)r->address;
    __m256i mine = set1(a->mine);
    for (unsigned i = 0; i < r->bytes; i += 16) {
        __m256i *t = (__m256i *)(void *)(r->tags + i / 4);
        __m128i now = _mm_loadu_si128((const void *)(there + i));
        __m128i then = _mm_loadu_si128((const void *)(r->data + i));
        __m256i silent = _mm256_cvtepi32_epi64(_mm_cmpeq_epi32(now, then));
        __m256i tags = _mm256_loadu_si256(t);
        __m256i result = _mm256_blendv_epi8(mine, tags, silent);
        _mm256_storeu_si256(t, _mm256_blend_epi32(tags, result, WRITERS));
    }
}

static UNLOCKED bool run_row(const struct em_global_access *a, const struct row *r)
{
    struct em_race_tags next = { 0, 0 };
    enum outcome outcome = row_is_alike(r) ? outcome_of(a, *r->tags, &next) : UNKNOWN;
    uint64_t one;
    memcpy(&one, &next, sizeof(one));
    __m256i all = _mm256_set1_epi64x((long long)one);
    if (outcome == WRITTEN) {
        mark_row(a, r);
        return true;
    }
    for (unsigned i = 0; i < r->bytes / 4 && outcome != KEEP; i += 4) {
        struct em_race_tags *t = r->tags + i;
        uint64_t address = r->address + 4 * (uint64_t)i;
        /* What a part of the row marked already is marked again, to no effect. */
        if (outcome == SET) {
            store_tags(t, all, 4);
        } else if (a->access->kind == EM_READ
                       ? !read_whole(a, t, 4)
                       : !write_whole(a, t, address, r->data + 4 * (size_t)i, 4)) {
            return false;
        }
    }
    return true;
}

/* A dword for each lane, four lanes at a time; what is out of use reads what the first
 * lane does. */
static UNLOCKED enum em_flow read_dwords(struct em_global_access *a,
                                         const struct places *p)
{
    for (unsigned i = 0; i < EM_LANES; i += 4) {
        if (read_four(a, &p->tags[i])) {
            continue;
        }
        for (unsigned lane = i; lane < i + 4; lane++) {
            if ((p->active >> lane & 1) && em_race_lane(a, lane) == EM_FAULTED) {
                return EM_FAULTED;
            }
        }
    }
    return EM_GO;
}

/* `n` is a constant where this is called. False: places are no lanes, and something may
 * be in conflict. */
static inline UNLOCKED bool each_place(struct em_global_access *a,
                                       const struct places *p,
                                       unsigned n,
                                       enum em_flow *ret)
{
    bool read = a->access->kind == EM_READ;
    for (uint64_t left = p->active; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        struct em_race_tags *t = p->tags[i];
        bool done = read ? read_whole(a, t, n)
                         : write_whole(a, t, p->address[i], p->data + i * p->stride, n);
        if (!done && !p->lanes) {
            return false;
        }
        if (!done && em_race_lane(a, i) == EM_FAULTED) {
            *ret = EM_FAULTED;
            return true;
        }
    }
    return true;
}

/* Nothing is in conflict: the dwords whose value changes get the tag. `n` is a constant
 * where this is called. */
static inline UNLOCKED void mark_written(const struct em_global_access *a,
                                         const struct places *p,
                                         unsigned n)
{
    uint32_t mine = a->mine;
    for (uint64_t left = p->active; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        const uint8_t *there = (const uint8_t *)(uintptr_t)p->address[i];
        const uint8_t *data = p->data + i * p->stride;
        struct em_race_tags *t = p->tags[i];
        for (unsigned k = 0; k < n; k++) {
            uint32_t now;
            uint32_t then;
            memcpy(&now, there + (size_t)4 * k, 4);
            memcpy(&then, data + (size_t)4 * k, 4);
            t[k].writer = now == then ? t[k].writer : mine;
        }
    }
}

static UNLOCKED bool run_places(struct em_global_access *a,
                                const struct places *p,
                                enum em_flow *ret)
{
    struct em_race_tags next;
    *ret = EM_GO;
    switch (alike(p) ? outcome_of(a, *p->tags[0], &next) : UNKNOWN) {
    case KEEP:
        return true;
    case SET:
        set_tags(p, next);
        return true;
    case WRITTEN:
        if (p->n == 1) {
            mark_written(a, p, 1);
        } else if (p->n == 2) {
            mark_written(a, p, 2);
        } else {
            mark_written(a, p, 4);
        }
        return true;
    case UNKNOWN:
    default:
        break;
    }
    if (p->n == 1 && p->lanes && a->access->kind == EM_READ) {
        *ret = read_dwords(a, p);
        return true;
    }
    switch (p->n) {
    case 1:
        return each_place(a, p, 1, ret);
    case 2:
        return each_place(a, p, 2, ret);
    default:
        return each_place(a, p, 4, ret);
    }
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
    union {
        struct row row;
        struct places places;
    } u;
    enum em_flow flow;
    if (find_row(a, &u.row) && run_row(a, &u.row)) {
        return EM_GO;
    }
    if (find_places(a, &u.places) && run_places(a, &u.places, &flow)) {
        return flow;
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
