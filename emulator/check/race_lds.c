/* Races of LDS and its unwritten bytes: one tag of a dword's last writer and one of its
 * last readers (race_lds.h), which race_time.c knows the order of.
 *
 * Several waves share a tag where all of them read, or where all wrote the same value.
 * A tag holds one set of bytes: an access of other bytes of the dword replaces it, so
 * that a race by parts of dwords between three waves may be missed, as may one whose
 * tag an atomic or the limit of times has settled. What is reported is a race. */
#include "emulator/check/race_lds.h"

#include "emulator/check/shadow.h"

#include <immintrin.h>

/* The waves of a tag whose access is not ordered before what `id` does. */
static uint32_t unordered(uint32_t tag, const uint32_t known[EM_MAX_WAVES], unsigned id)
{
    uint32_t result = 0;
    uint32_t time = tag >> EM_LDS_TIME_SHIFT;
    for (uint32_t waves = tag & EM_LDS_WAVES & ~(UINT32_C(1) << id); waves;
         waves &= waves - 1) {
        unsigned v = (unsigned)__builtin_ctz(waves);
        result |= known[v] < time ? UINT32_C(1) << v : 0;
    }
    return result;
}

/* Who has a direct load of the dword on its way. */
static const struct em_wave *loader_of(const struct em_group *g,
                                       uint32_t dword,
                                       uint32_t *ret_pc)
{
    for (unsigned v = 0; v < g->waves; v++) {
        const struct em_shadow *shadow = g->wave[v] ? g->wave[v]->shadow : NULL;
        for (unsigned i = 0; shadow && i < shadow->outstanding; i++) {
            const struct em_outstanding *e = &shadow->entry[i];
            if (e->lds_begin / 4 <= dword && dword * 4 < e->lds_end) {
                *ret_pc = e->pc;
                return g->wave[v];
            }
        }
    }
    *ret_pc = UINT32_MAX;
    return NULL;
}

static enum em_flow pending_fault(const struct em_lds_access *a,
                                  const struct em_op *op,
                                  unsigned lane,
                                  uint32_t dword)
{
    uint32_t pc;
    const struct em_wave *loader = loader_of(a->w->group, dword, &pc);
    bool own = loader == a->w;
    enum em_flow flow = em_fault(
        a->w, op, own ? EM_FAULT_MISSING_WAIT : EM_FAULT_LDS_RACE, (int)lane,
        &a->access->address[lane],
        "LDS bytes %u to %u are %s while a load to them is "
        "outstanding",
        dword * 4, dword * 4 + 3, a->access->kind == EM_READ ? "read" : "overwritten");
    struct em_fault *fault = em_wave_fault(a->w);
    if (fault) {
        fault->other_pc = pc;
        fault->other_wave = loader ? loader->id : a->w->id;
    }
    return flow;
}

static enum em_flow race_fault(const struct em_lds_access *a,
                               const struct em_op *op,
                               unsigned lane,
                               uint32_t dword,
                               uint32_t others,
                               bool with_writer)
{
    static const char *const does[] = { "reads", "writes", "updates atomically" };
    unsigned other = (unsigned)__builtin_ctz(others);
    uint32_t tag = a->s->writer[dword];
    bool passed = with_writer && (tag >> EM_LDS_TIME_SHIFT) <= a->s->base_r;
    enum em_flow flow = em_fault(
        a->w, op, EM_FAULT_LDS_RACE, (int)lane, &a->access->address[lane],
        "wave %u %s LDS bytes %u to %u, which wave %u %s %s", a->w->id,
        does[a->access->kind], dword * 4, dword * 4 + 3, other,
        !with_writer          ? "read"
        : tag & EM_LDS_ATOMIC ? "updated atomically"
                              : "wrote",
        passed ? "without a wait before the barrier" : "and no barrier lies between");
    struct em_fault *fault = em_wave_fault(a->w);
    if (fault) {
        fault->other_pc = with_writer ? a->s->writer_pc[dword] : a->s->reader_pc[dword];
        fault->other_wave = other;
    }
    return flow;
}

/* The tag of readers, or of writers of one value, with this access. */
static uint32_t joined(uint32_t tag, uint32_t limit, uint32_t mine)
{
    uint32_t kind = EM_LDS_BYTES | EM_LDS_ATOMIC;
    if (tag <= limit || (tag & kind) != (mine & kind)) {
        uint32_t same = tag ^ mine;
        /* One wave, one time: other bytes of the dword. */
        bool more = tag > limit && (same & ~(uint32_t)EM_LDS_BYTES) == 0;
        return more ? tag | mine : mine;
    }
    uint32_t time =
        tag < mine ? tag & ~(uint32_t)EM_LDS_WAVES : mine & ~(uint32_t)EM_LDS_WAVES;
    return time | ((tag | mine) & EM_LDS_WAVES);
}

/* Whether the lane's write leaves those bytes as they are. */
static bool is_silent(const struct em_lds_access *a,
                      const uint8_t *written,
                      unsigned lane,
                      uint32_t dword,
                      uint32_t bytes)
{
    if (!written || (a->s->written[dword] & bytes) != bytes) {
        return false;
    }
    const uint8_t *data = written + (size_t)lane * a->access->stride;
    const uint8_t *lds = a->w->group->lds;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t at = (uint64_t)dword * 4 + i;
        if ((bytes >> i & 1) && lds[at] != data[at - a->access->address[lane]]) {
            return false;
        }
    }
    return true;
}

/* A direct load that brings what another wave wrote or loads: each wave may wait for
 * its own and read. */
static bool is_loaded_twice(const struct em_lds_access *a,
                            unsigned lane,
                            uint32_t dword,
                            uint32_t bytes)
{
    uint32_t *tag = &a->s->writer[dword];
    if (!is_silent(a, a->loaded, lane, dword, bytes) || *tag <= a->limit_w) {
        return false;
    }
    if (*tag != EM_LDS_PENDING) {
        *tag |= a->self;
    }
    return true;
}

/* Waves whose access of the dword is in conflict; *ret_writer: as writers. */
static uint32_t conflicts(const struct em_lds_access *a,
                          uint32_t dword,
                          uint32_t bytes,
                          bool *ret_writer)
{
    const struct em_lds_shadow *s = a->s;
    unsigned id = a->w->id;
    uint32_t tag = s->writer[dword];
    uint32_t others = 0;
    enum em_access_kind kind = a->access->kind;
    if (tag > a->limit_w && (tag & bytes << EM_LDS_BYTES_SHIFT)) {
        bool mine = kind == EM_READ && (tag & a->self) && !(tag & EM_LDS_ATOMIC);
        bool both_atomic = kind == EM_ATOMIC && (tag & EM_LDS_ATOMIC);
        others = mine || both_atomic ? 0 : unordered(tag, s->known_w[id], id);
    }
    *ret_writer = others != 0;
    tag = s->reader[dword];
    if (!others && kind != EM_READ && tag > a->limit_r &&
        (tag & bytes << EM_LDS_BYTES_SHIFT)) {
        others = unordered(tag, s->known_r[id], id);
    }
    return others;
}

/* One lane's bytes of one dword. */
static enum em_flow touch(const struct em_lds_access *a,
                          const struct em_op *op,
                          unsigned lane,
                          uint32_t dword,
                          uint32_t bytes)
{
    struct em_lds_shadow *s = a->s;
    uint32_t mine = a->high | bytes << EM_LDS_BYTES_SHIFT | a->self;
    if (is_loaded_twice(a, lane, dword, bytes)) {
        return EM_GO;
    }
    if (s->writer[dword] == EM_LDS_PENDING) {
        return pending_fault(a, op, lane, dword);
    }
    if (is_silent(a, a->data, lane, dword, bytes)) {
        uint32_t kind = EM_LDS_BYTES | EM_LDS_ATOMIC;
        if (s->writer[dword] > a->limit_w && ((s->writer[dword] ^ mine) & kind) == 0) {
            s->writer[dword] |= a->self;
        }
        return EM_GO;
    }
    bool writer;
    uint32_t others = conflicts(a, dword, bytes, &writer);
    if (others) {
        return race_fault(a, op, lane, dword, others, writer);
    }
    switch (a->access->kind) {
    case EM_READ:
        s->reader[dword] = joined(s->reader[dword], a->limit_r, mine);
        s->reader_pc[dword] = a->pc;
        return EM_GO;
    case EM_WRITE:
        s->writer[dword] =
            s->writer[dword] > a->limit_w &&
                    ((s->writer[dword] ^ mine) & ~(uint32_t)EM_LDS_BYTES) == 0
                ? s->writer[dword] | mine
                : mine;
        break;
    case EM_ATOMIC:
        s->writer[dword] = joined(s->writer[dword], a->limit_w, mine | EM_LDS_ATOMIC);
        break;
    }
    s->writer_pc[dword] = a->pc;
    s->written[dword] |= (uint8_t)bytes;
    return EM_GO;
}

/* A lane's access, dword by dword: any alignment, any conflict. */
/* Compilers read more bytes than they use: one that was written is enough. */
static bool any_written(const struct em_lds_shadow *s, uint64_t begin, uint64_t end)
{
    for (uint64_t at = begin; at < end; at++) {
        if (s->written[at / 4] >> (at % 4) & 1) {
            return true;
        }
    }
    return false;
}

/* By the data's dwords, which are those of LDS where it is aligned. */
static void note_lane(const struct em_lds_access *a, unsigned lane)
{
    uint64_t begin = a->access->address[lane];
    uint64_t end = begin + a->access->bytes;
    for (unsigned i = 0; i < 4 && begin < end; i++, begin += 4) {
        if (!any_written(a->s, begin, begin + 4 < end ? begin + 4 : end)) {
            a->ret_written[i] &= ~(UINT64_C(1) << lane);
        }
    }
}

static enum em_flow touch_lane(const struct em_lds_access *a,
                               const struct em_op *op,
                               unsigned lane)
{
    uint64_t begin = a->access->address[lane];
    uint64_t end = begin + a->access->bytes;
    if (end > a->s->bytes || end < begin) {
        return EM_GO; /* out of bounds: reported by who checks bounds */
    }
    if (a->ret_written) {
        note_lane(a, lane);
    }
    for (uint64_t dword = begin / 4; dword * 4 < end; dword++) {
        uint32_t bytes = 0xf;
        if (dword * 4 < begin) {
            bytes &= 0xfu << (begin - dword * 4);
        }
        if (dword * 4 + 4 > end) {
            bytes &= 0xfu >> (dword * 4 + 4 - end);
        }
        if (touch(a, op, lane, (uint32_t)dword, bytes) == EM_FAULTED) {
            return EM_FAULTED;
        }
    }
    return EM_GO;
}

static inline __m128i set1(uint32_t value)
{
    return _mm_set1_epi32((int)value);
}

/* n (1, 2, 4) whole dwords: true where nothing is in conflict, and they are marked. */
static inline bool read_whole(const struct em_lds_access *a, uint32_t dword, unsigned n)
{
    struct em_lds_shadow *s = a->s;
    __m128i tag = em_lds_load_n(s->writer + dword, n);
    __m128i self = set1(a->self);
    __m128i fresh = _mm_cmpgt_epi32(tag, set1(a->limit_w));
    __m128i fine =
        _mm_cmpeq_epi32(_mm_and_si128(tag, set1(a->self | EM_LDS_ATOMIC)), self);
    if (!_mm_test_all_zeros(_mm_andnot_si128(fine, fresh), set1(UINT32_MAX)) ||
        !_mm_test_all_zeros(_mm_cmpgt_epi32(tag, set1(EM_LDS_PENDING - 1)),
                            set1(UINT32_MAX))) {
        return false;
    }
    tag = em_lds_load_n(s->reader + dword, n);
    __m128i mine = set1(a->high | EM_LDS_BYTES | a->self);
    __m128i kind = set1(EM_LDS_BYTES);
    __m128i join = _mm_and_si128(_mm_cmpgt_epi32(tag, set1(a->limit_r)),
                                 _mm_cmpeq_epi32(_mm_and_si128(tag, kind), kind));
    __m128i earlier = _mm_min_epi32(_mm_andnot_si128(set1(EM_LDS_WAVES), tag),
                                    _mm_andnot_si128(set1(EM_LDS_WAVES), mine));
    __m128i waves = _mm_and_si128(_mm_or_si128(tag, mine), set1(EM_LDS_WAVES));
    __m128i both = _mm_or_si128(earlier, waves);
    __m128i result = _mm_blendv_epi8(mine, both, join);
    __m128i same = _mm_cmpeq_epi32(result, tag);
    if ((unsigned)_mm_movemask_ps(_mm_castsi128_ps(same)) != 0xf) {
        em_lds_store_n(s->reader + dword, result, n);
        em_lds_store_n(s->reader_pc + dword, set1(a->pc), n);
    }
    return true;
}

/* data NULL: of a direct load, which is never silent. */
static inline bool write_whole(const struct em_lds_access *a,
                               const void *data,
                               uint32_t dword,
                               unsigned n)
{
    struct em_lds_shadow *s = a->s;
    __m128i tag = em_lds_load_n(s->writer + dword, n);
    __m128i read = em_lds_load_n(s->reader + dword, n);
    __m128i others = set1(EM_LDS_WAVES & ~a->self);
    __m128i zero = _mm_setzero_si128();
    __m128i settled_w = _mm_or_si128(_mm_cmpgt_epi32(set1(a->limit_w + 1), tag),
                                     _mm_cmpeq_epi32(_mm_and_si128(tag, others), zero));
    __m128i settled_r =
        _mm_or_si128(_mm_cmpgt_epi32(set1(a->limit_r + 1), read),
                     _mm_cmpeq_epi32(_mm_and_si128(read, others), zero));
    uint32_t nibbles;
    memcpy(&nibbles, s->written + dword, sizeof(nibbles));
    __m128i full =
        _mm_cmpeq_epi32(_mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)nibbles)), set1(0xf));
    __m128i silent = zero;
    if (data) {
        __m128i there = em_lds_load_n(a->w->group->lds + (size_t)dword * 4, n);
        silent = _mm_and_si128(full, _mm_cmpeq_epi32(there, em_lds_load_n(data, n)));
    }
    __m128i settled = _mm_and_si128(settled_w, settled_r);
    if ((unsigned)_mm_movemask_ps(_mm_castsi128_ps(settled)) != 0xf) {
        return false;
    }
    __m128i mine = set1(a->high | EM_LDS_BYTES | a->self);
    em_lds_store_n(s->writer + dword, _mm_blendv_epi8(mine, tag, silent), n);
    em_lds_store_n(s->writer_pc + dword, set1(a->pc), n);
    memset(s->written + dword, 0xf, n);
    return true;
}

/* The lanes whose dwords were not written, of n dwords at `dword`. */
static inline void note_unwritten(const struct em_lds_access *a,
                                  uint32_t dword,
                                  unsigned n,
                                  unsigned lane)
{
    uint32_t nibbles = 0;
    memcpy(&nibbles, a->s->written + dword, n);
    if (nibbles == UINT32_C(0x0f0f0f0f) >> (32 - 8 * n)) {
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        a->ret_written[i] &= ~((uint64_t)(a->s->written[dword + i] == 0) << lane);
    }
}

static inline const void *lane_data(const struct em_lds_access *a, unsigned lane)
{
    return a->data ? a->data + (size_t)lane * a->access->stride : NULL;
}

static inline bool whole_lane(const struct em_lds_access *a, unsigned lane, unsigned n)
{
    uint64_t at = a->access->address[lane];
    if ((at & 3) || at > a->s->bytes || at + n * 4 > a->s->bytes) {
        return false;
    }
    uint32_t dword = (uint32_t)(at / 4);
    if (a->access->kind == EM_READ) {
        if (a->ret_written) {
            note_unwritten(a, dword, n, lane);
        }
        return read_whole(a, dword, n);
    }
    return write_whole(a, lane_data(a, lane), dword, n);
}

static inline enum em_flow each_whole(const struct em_lds_access *a,
                                      const struct em_op *op,
                                      unsigned n)
{
    for (uint64_t lanes = a->access->lanes; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(lanes);
        if (!whole_lane(a, lane, n) && touch_lane(a, op, lane) == EM_FAULTED) {
            return EM_FAULTED;
        }
    }
    return EM_GO;
}

/* 64 lanes of one dword in a row: four lanes at a time. */
static bool row(const struct em_lds_access *a)
{
    uint64_t at = a->access->address[0];
    bool write = a->access->kind == EM_WRITE;
    if ((at & 3) || at > a->s->bytes || at + (uint64_t)EM_LANES * 4 > a->s->bytes ||
        (write && a->data && a->access->stride != 4)) {
        return false;
    }
    uint32_t dword = (uint32_t)(at / 4);
    for (unsigned lane = 0; lane < EM_LANES; lane += 4) {
        /* What a part of the row marked already is marked again, to no effect. */
        if (write ? !write_whole(a, lane_data(a, lane), dword + lane, 4)
                  : !read_whole(a, dword + lane, 4)) {
            return false;
        }
    }
    for (unsigned half = 0; a->ret_written && half < EM_LANES; half += 32) {
        const uint8_t *written = a->s->written + dword + half;
        __m256i none = _mm256_cmpeq_epi8(_mm256_loadu_si256((const void *)written),
                                         _mm256_setzero_si256());
        uint64_t lanes = (uint32_t)~_mm256_movemask_epi8(none);
        a->ret_written[0] &= lanes << half | ~(UINT64_C(0xffffffff) << half);
    }
    return true;
}

static enum em_flow every_lane(const struct em_lds_access *a, const struct em_op *op)
{
    const struct em_access *access = a->access;
    bool plain = access->kind != EM_ATOMIC;
    bool in_row = access->contiguous && access->lanes == UINT64_MAX;
    if (plain && ((access->bytes == 4 && in_row && row(a)) || em_race_lds_like(a))) {
        return EM_GO;
    }
    if (plain && access->bytes == 4) {
        return each_whole(a, op, 1);
    }
    if (plain && access->bytes == 8) {
        return each_whole(a, op, 2);
    }
    if (plain && access->bytes == 16) {
        return each_whole(a, op, 4);
    }
    for (uint64_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        if (touch_lane(a, op, (unsigned)__builtin_ctzll(lanes)) == EM_FAULTED) {
            return EM_FAULTED;
        }
    }
    return EM_GO;
}

/* Bytes that get a value which was never written are as if never written themselves.
 * In the order of lanes: of several that store to one byte the last one wins. */
static void note_stored(const struct em_lds_access *a)
{
    const struct em_access *access = a->access;
    for (uint64_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(lanes);
        uint64_t begin = access->address[lane];
        for (unsigned i = 0; i < access->bytes && begin + i < a->s->bytes; i++) {
            uint64_t at = begin + i;
            uint8_t bit = (uint8_t)(1U << at % 4);
            uint8_t *there = &a->s->written[at / 4];
            bool good = access->written[i / 4] >> lane & 1;
            *there = (uint8_t)(good ? *there | bit : *there & ~bit);
        }
    }
}

enum em_flow em_race_lds(struct em_wave *w,
                         const struct em_op *op,
                         const struct em_access *access,
                         uint64_t ret_written[4])
{
    struct em_lds_shadow *s = w->group->lds_shadow;
    if (ret_written) {
        memset(ret_written, 0xff, 4 * sizeof(*ret_written));
    }
    if (!s || access->lanes == 0) {
        return EM_GO;
    }
    em_race_lds_barriers(w);
    bool direct = op->class == EM_CLASS_VMEM_LOAD;
    const struct em_lds_access a = {
        .s = s,
        .w = w,
        .access = access,
        /* A direct load is on its way whatever it brings. */
        .data = access->kind == EM_WRITE && !direct ? access->data : NULL,
        .loaded = access->kind == EM_WRITE && direct ? access->data : NULL,
        .self = UINT32_C(1) << w->id,
        .high = s->time[w->id] << EM_LDS_TIME_SHIFT,
        .limit_w = (s->base_w + 1) << EM_LDS_TIME_SHIFT,
        .limit_r = (s->base_r + 1) << EM_LDS_TIME_SHIFT,
        .pc = op->index,
        .ret_written = ret_written,
    };
    enum em_flow flow = every_lane(&a, op);
    if (access->written) {
        note_stored(&a);
    }
    s->used[w->id] = true;
    if (access->kind == EM_ATOMIC) {
        em_race_lds_synchronise(s, w->id);
    }
    return flow;
}

/* Issued: the dwords that the load has just marked as written by this wave are pending.
 * Waited for: they are as if written now. */
void em_race_lds_pending(struct em_wave *w, uint32_t begin, uint32_t end, bool pending)
{
    struct em_lds_shadow *s = w->group ? w->group->lds_shadow : NULL;
    if (!s) {
        return;
    }
    em_race_lds_barriers(w);
    uint32_t self = UINT32_C(1) << w->id;
    uint32_t limit = (s->base_w + 1) << EM_LDS_TIME_SHIFT;
    for (uint32_t i = begin / 4; i * 4 < end && i < s->dwords; i++) {
        uint32_t tag = s->writer[i];
        if (pending && tag > limit && (tag & EM_LDS_WAVES) == self) {
            s->writer[i] = EM_LDS_PENDING;
        } else if (!pending && tag == EM_LDS_PENDING) {
            s->writer[i] = s->time[w->id] << EM_LDS_TIME_SHIFT | EM_LDS_BYTES | self;
        } else if (!pending && tag > limit && (tag & EM_LDS_ATOMIC) == 0) {
            s->writer[i] |= self; /* another wave loaded the same, and waited first */
        }
    }
    if (pending) {
        s->pending++;
    } else if (s->pending) {
        s->pending--;
    }
    s->used[w->id] = true;
}
