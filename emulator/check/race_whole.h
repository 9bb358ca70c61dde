/* Whole dwords of an access and their tags, one, two or four at a time: the steps of
 * race_row.c. Each answers false where there may be a conflict, and marks nothing then.
 */
#ifndef WF_EMULATOR_CHECK_RACE_WHOLE_H
#define WF_EMULATOR_CHECK_RACE_WHOLE_H

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

/* Tags of whole dwords that are read: false: perhaps a conflict. */
static inline bool with_readers(const struct em_global_access *a,
                                __m256i tags,
                                __m256i *ret)
{
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
        *ret = tags;
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
    *ret = _mm256_blend_epi32(tags, result, READERS);
    return true;
}

static inline bool is_same(__m256i a, __m256i b)
{
    __m256i differs = _mm256_xor_si256(a, b);
    return _mm256_testz_si256(differs, differs);
}

/* n (1, 2, 4) whole dwords: true where nothing is in conflict, and they are marked. */
static inline UNLOCKED bool read_whole(const struct em_global_access *a,
                                       struct em_race_tags *t,
                                       unsigned n)
{
    __m256i tags = load_tags(t, n);
    __m256i result;
    if (!with_readers(a, tags, &result)) {
        return false;
    }
    if (!is_same(tags, result)) {
        store_tags(t, result, n);
    }
    return true;
}

/* Four dwords anywhere. */
static inline UNLOCKED bool read_four(const struct em_global_access *a,
                                      struct em_race_tags *const t[4])
{
    long long there[4];
    for (unsigned i = 0; i < 4; i++) {
        memcpy(&there[i], t[i], sizeof(there[i]));
    }
    __m256i tags = _mm256_set_epi64x(there[3], there[2], there[1], there[0]);
    __m256i result;
    if (!with_readers(a, tags, &result)) {
        return false;
    }
    if (!is_same(tags, result)) {
        store_tags(t[0], result, 1);
        store_tags(t[1], _mm256_permute4x64_epi64(result, 1), 1);
        store_tags(t[2], _mm256_permute4x64_epi64(result, 2), 1);
        store_tags(t[3], _mm256_permute4x64_epi64(result, 3), 1);
    }
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

#endif
