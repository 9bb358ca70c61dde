/* Races of LDS, all lanes at once: where every tag that a load meets is settled, what
 * it leaves is the same everywhere (race_lds.c has the rules). */
#include "emulator/check/race_lds.h"

#include <string.h>

/* The lanes' dwords; those of lanes out of use are the first one's. */
struct places {
    uint32_t dword[EM_LANES];
};

/* What the tags of all dwords have in common. */
struct sums {
    uint32_t most_writer, most_reader;
    uint32_t any_writer; /* bits */
    bool readers_alike;
    bool all_written;
};

static bool find_places(const struct em_lds_access *a, struct places *p)
{
    const struct em_access *access = a->access;
    uint64_t first = access->address[__builtin_ctzll(access->lanes)];
    uint64_t low = 0;
    uint64_t high = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t at = access->lanes >> i & 1 ? access->address[i] : first;
        p->dword[i] = (uint32_t)at / 4;
        low |= at;
        high = at > high ? at : high;
    }
    return (low & 3) == 0 && high < a->s->bytes && high + access->bytes <= a->s->bytes;
}

static uint32_t highest(__m128i x)
{
    x = _mm_max_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    x = _mm_max_epi32(x, _mm_shuffle_epi32(x, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(x);
}

static uint32_t together(__m128i x)
{
    x = _mm_or_si128(x, _mm_shuffle_epi32(x, 0x4e));
    x = _mm_or_si128(x, _mm_shuffle_epi32(x, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(x);
}

/* `n` is a constant where this is called. */
static inline struct sums add_up(const struct em_lds_shadow *s,
                                 const struct places *p,
                                 unsigned n)
{
    uint32_t first_reader = s->reader[p->dword[0]];
    uint32_t row[4] = { first_reader, first_reader, first_reader, first_reader };
    __m128i first = em_lds_load_n(row, n);
    __m128i most_w = _mm_setzero_si128();
    __m128i most_r = most_w;
    __m128i any_w = most_w;
    __m128i differs = most_w;
    uint32_t all = UINT32_C(0x0f0f0f0f) >> (32 - 8 * n);
    uint32_t written = all;
    for (unsigned i = 0; i < EM_LANES; i++) {
        __m128i w = em_lds_load_n(s->writer + p->dword[i], n);
        __m128i r = em_lds_load_n(s->reader + p->dword[i], n);
        uint32_t bytes = 0;
        memcpy(&bytes, s->written + p->dword[i], n);
        most_w = _mm_max_epi32(most_w, w);
        most_r = _mm_max_epi32(most_r, r);
        any_w = _mm_or_si128(any_w, w);
        differs = _mm_or_si128(differs, _mm_xor_si128(r, first));
        written &= bytes;
    }
    return (struct sums){ .most_writer = highest(most_w),
                          .most_reader = highest(most_r),
                          .any_writer = together(any_w),
                          .readers_alike = together(differs) == 0,
                          .all_written = written == all };
}

static void note_unwritten(const struct em_lds_access *a,
                           const struct places *p,
                           unsigned n)
{
    for (uint64_t lanes = a->access->lanes; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(lanes);
        for (unsigned k = 0; k < n; k++) {
            uint64_t none = a->s->written[p->dword[lane] + k] == 0;
            a->ret_written[k] &= ~(none << lane);
        }
    }
}

/* The tag of readers of whole dwords with this access. */
static uint32_t with_reader(const struct em_lds_access *a, uint32_t tag, uint32_t mine)
{
    if (tag <= a->limit_r || (tag & EM_LDS_BYTES) != EM_LDS_BYTES) {
        return mine;
    }
    uint32_t waves = (tag | mine) & EM_LDS_WAVES;
    tag &= ~(uint32_t)EM_LDS_WAVES;
    mine &= ~(uint32_t)EM_LDS_WAVES;
    return (tag < mine ? tag : mine) | waves;
}

static inline bool read_like(const struct em_lds_access *a,
                             const struct places *p,
                             unsigned n)
{
    struct em_lds_shadow *s = a->s;
    struct sums sums = add_up(s, p, n);
    uint32_t others = EM_LDS_ATOMIC | (EM_LDS_WAVES & ~a->self);
    uint32_t mine = a->high | EM_LDS_BYTES | a->self;
    bool settled = sums.most_writer <= a->limit_w || (sums.any_writer & others) == 0;
    bool stale = sums.most_reader <= a->limit_r;
    if (!settled || (!stale && !sums.readers_alike)) {
        return false;
    }
    if (a->ret_written && !sums.all_written) {
        note_unwritten(a, p, n);
    }
    uint32_t there = s->reader[p->dword[0]];
    uint32_t result = stale ? mine : with_reader(a, there, mine);
    if (sums.readers_alike && result == there) {
        return true;
    }
    __m128i tag = _mm_set1_epi32((int)result);
    __m128i pc = _mm_set1_epi32((int)a->pc);
    for (unsigned i = 0; i < EM_LANES; i++) {
        em_lds_store_n(s->reader + p->dword[i], tag, n);
        em_lds_store_n(s->reader_pc + p->dword[i], pc, n);
    }
    return true;
}

bool em_race_lds_like(const struct em_lds_access *a)
{
    struct places p;
    if (a->access->kind != EM_READ || !find_places(a, &p)) {
        return false;
    }
    switch (a->access->bytes) {
    case 4:
        return read_like(a, &p, 1);
    case 8:
        return read_like(a, &p, 2);
    case 16:
        return read_like(a, &p, 4);
    default:
        return false;
    }
}
