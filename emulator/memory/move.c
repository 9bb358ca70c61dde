/* Moves between registers and memory. Wide loads take each lane's bytes with one load
 * and turn eight lanes at a time into rows; lanes that take no part read what the first
 * lane that does reads, and are masked on the way into the register. */
#include "emulator/memory/move.h"

#include <immintrin.h>
#include <string.h>

enum {
    LANES = 64
};

static uint8_t *at(const struct em_move *m, unsigned lane)
{
    return (uint8_t *)((uintptr_t)m->base + (uintptr_t)m->address[lane]);
}

/* Addresses of all lanes that may be read: those of lanes out of use are replaced. */
static void readable(const struct em_move *m, const uint8_t *ret[LANES])
{
    if (m->lanes == UINT64_MAX) {
        for (unsigned i = 0; i < LANES; i++) {
            ret[i] = at(m, i);
        }
        return;
    }
    const uint8_t *first = at(m, (unsigned)__builtin_ctzll(m->lanes));
    for (unsigned i = 0; i < LANES; i++) {
        ret[i] = m->lanes >> i & 1 ? at(m, i) : first;
    }
}

static __m256i lane_mask(uint64_t lanes, unsigned first)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i bits = _mm256_set1_epi32((int)(lanes >> first & 0xff));
    return _mm256_cmpeq_epi32(_mm256_and_si256(bits, bit), bit);
}

static void put(uint32_t *row, unsigned first, uint64_t lanes, __m256i value)
{
    __m256i *p = (__m256i *)(void *)(row + first);
    if ((lanes >> first & 0xff) == 0xff) {
        _mm256_store_si256(p, value);
    } else {
        _mm256_maskstore_epi32((int *)(void *)p, lane_mask(lanes, first), value);
    }
}

static __m256i two(__m128i low, __m128i high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* q[i]: the four dwords of lane i and of lane i + 4. */
static void put_x4(uint32_t *row,
                   unsigned first,
                   uint64_t lanes,
                   unsigned rows,
                   const __m256i q[4])
{
    __m256i a = _mm256_unpacklo_epi32(q[0], q[1]);
    __m256i b = _mm256_unpacklo_epi32(q[2], q[3]);
    __m256i c = _mm256_unpackhi_epi32(q[0], q[1]);
    __m256i d = _mm256_unpackhi_epi32(q[2], q[3]);
    put(row, first, lanes, _mm256_unpacklo_epi64(a, b));
    put(row + LANES, first, lanes, _mm256_unpackhi_epi64(a, b));
    put(row + 2 * LANES, first, lanes, _mm256_unpacklo_epi64(c, d));
    if (rows == 4) {
        put(row + 3 * LANES, first, lanes, _mm256_unpackhi_epi64(c, d));
    }
}

static __m128i load_16(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static __m128i load_12(const uint8_t *p)
{
    int high;
    memcpy(&high, p + 8, sizeof(high));
    return _mm_insert_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p), high, 2);
}

static void load_x4_run(const struct em_move *m)
{
    const uint8_t *p = at(m, 0);
    for (unsigned i = 0; i < LANES; i += 8, p += 128) {
        __m256i q[4];
        for (unsigned j = 0; j < 4; j++) {
            q[j] = two(load_16(p + 16 * j), load_16(p + 16 * j + 64));
        }
        put_x4(m->row, i, m->lanes, 4, q);
    }
}

void em_load_x4(const struct em_move *m)
{
    if (m->contiguous) {
        load_x4_run(m);
        return;
    }
    const uint8_t *p[LANES];
    readable(m, p);
    for (unsigned i = 0; i < LANES; i += 8) {
        __m256i q[4];
        for (unsigned j = 0; j < 4; j++) {
            q[j] = two(load_16(p[i + j]), load_16(p[i + j + 4]));
        }
        put_x4(m->row, i, m->lanes, 4, q);
    }
}

void em_load_x3(const struct em_move *m)
{
    const uint8_t *p[LANES];
    readable(m, p);
    for (unsigned i = 0; i < LANES; i += 8) {
        __m256i q[4];
        for (unsigned j = 0; j < 4; j++) {
            q[j] = two(load_12(p[i + j]), load_12(p[i + j + 4]));
        }
        put_x4(m->row, i, m->lanes, 3, q);
    }
}

static __m128i load_8_8(const uint8_t *low, const uint8_t *high)
{
    __m128i a = _mm_loadl_epi64((const __m128i *)(const void *)low);
    __m128i b = _mm_loadl_epi64((const __m128i *)(const void *)high);
    return _mm_unpacklo_epi64(a, b);
}

static void put_x2(uint32_t *row, unsigned first, uint64_t lanes, __m256i a, __m256i b)
{
    __m256 x = _mm256_castsi256_ps(a);
    __m256 y = _mm256_castsi256_ps(b);
    put(row, first, lanes, _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0x88)));
    put(row + LANES, first, lanes, _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0xdd)));
}

static void load_x2_run(const struct em_move *m)
{
    const uint8_t *p = at(m, 0);
    for (unsigned i = 0; i < LANES; i += 8, p += 64) {
        put_x2(m->row, i, m->lanes, two(load_16(p), load_16(p + 32)),
               two(load_16(p + 16), load_16(p + 48)));
    }
}

void em_load_x2(const struct em_move *m)
{
    if (m->contiguous) {
        load_x2_run(m);
        return;
    }
    const uint8_t *p[LANES];
    readable(m, p);
    for (unsigned i = 0; i < LANES; i += 8) {
        const uint8_t **l = p + i;
        put_x2(m->row, i, m->lanes, two(load_8_8(l[0], l[1]), load_8_8(l[4], l[5])),
               two(load_8_8(l[2], l[3]), load_8_8(l[6], l[7])));
    }
}

void em_load_x1(const struct em_move *m)
{
    if (m->contiguous) {
        memcpy(m->row, at(m, 0), LANES * sizeof(uint32_t));
        return;
    }
    if (m->lanes == UINT64_MAX) {
        for (unsigned i = 0; i < LANES; i++) {
            memcpy(&m->row[i], at(m, i), sizeof(uint32_t));
        }
        return;
    }
    for (uint64_t left = m->lanes; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        memcpy(&m->row[i], at(m, i), sizeof(uint32_t));
    }
}

/* Loads of less than a dword: `type` is what is read, `merge` makes the register of the
 * value x and the old register r. */
#define LOAD_SMALL(name, type, merge)                            \
    void em_load_##name(const struct em_move *m)                 \
    {                                                            \
        for (uint64_t left = m->lanes; left; left &= left - 1) { \
            unsigned i = (unsigned)__builtin_ctzll(left);        \
            uint32_t r = m->row[i];                              \
            type x;                                              \
            memcpy(&x, at(m, i), sizeof(x));                     \
            (void)r;                                             \
            m->row[i] = (merge);                                 \
        }                                                        \
    }
#define LOW(x)  ((r & 0xffff0000) | ((uint32_t)(x)&0xffff))
#define HIGH(x) ((r & 0xffff) | (uint32_t)(x) << 16)
LOAD_SMALL(u8, uint8_t, x)
LOAD_SMALL(i8, int8_t, (uint32_t)x)
LOAD_SMALL(u16, uint16_t, x)
LOAD_SMALL(i16, int16_t, (uint32_t)x)
LOAD_SMALL(u8_d16, uint8_t, LOW(x))
LOAD_SMALL(u8_d16_hi, uint8_t, HIGH(x))
LOAD_SMALL(i8_d16, int8_t, LOW(x))
LOAD_SMALL(i8_d16_hi, int8_t, HIGH(x))
LOAD_SMALL(b16_d16, uint16_t, LOW(x))
LOAD_SMALL(b16_d16_hi, uint16_t, HIGH(x))

#define STORE_SMALL(name, type, shift)                           \
    void em_store_##name(const struct em_move *m)                \
    {                                                            \
        for (uint64_t left = m->lanes; left; left &= left - 1) { \
            unsigned i = (unsigned)__builtin_ctzll(left);        \
            type x = (type)(m->row[i] >> (shift));               \
            memcpy(at(m, i), &x, sizeof(x));                     \
        }                                                        \
    }
STORE_SMALL(b8, uint8_t, 0)
STORE_SMALL(b8_d16_hi, uint8_t, 16)
STORE_SMALL(b16, uint16_t, 0)
STORE_SMALL(b16_d16_hi, uint16_t, 16)

void em_store_x1(const struct em_move *m)
{
    if (m->contiguous) {
        memcpy(at(m, 0), m->row, LANES * sizeof(uint32_t));
        return;
    }
    for (uint64_t left = m->lanes; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        memcpy(at(m, i), &m->row[i], sizeof(uint32_t));
    }
}

static __m256i get(const uint32_t *row, unsigned first)
{
    return _mm256_load_si256((const __m256i *)(const void *)(row + first));
}

/* Eight lanes from `first` on: q[j] holds the 16 bytes of lane j and of lane j + 4.
 * What is behind `rows` is row 0 again. */
static inline void eight_lanes(const uint32_t *row,
                               unsigned first,
                               unsigned rows,
                               __m256i q[4])
{
    __m256i r0 = get(row, first);
    __m256i r1 = get(row + LANES, first);
    __m256i r2 = get(row + (rows > 2 ? 2 * LANES : 0), first);
    __m256i r3 = get(row + (rows > 3 ? 3 * LANES : 0), first);
    __m256i a = _mm256_unpacklo_epi32(r0, r1); /* lanes 0 1 | 4 5, dwords 0 1 */
    __m256i b = _mm256_unpackhi_epi32(r0, r1); /* lanes 2 3 | 6 7 */
    __m256i c = _mm256_unpacklo_epi32(r2, r3);
    __m256i d = _mm256_unpackhi_epi32(r2, r3);
    q[0] = _mm256_unpacklo_epi64(a, c);
    q[1] = _mm256_unpackhi_epi64(a, c);
    q[2] = _mm256_unpacklo_epi64(b, d);
    q[3] = _mm256_unpackhi_epi64(b, d);
}

static inline void store_16(uint8_t *at, __m128i value)
{
    _mm_storeu_si128((__m128i *)(void *)at, value);
}

void em_move_to_lanes(const uint32_t *row, unsigned rows, uint8_t ret[LANES][16])
{
    for (unsigned i = 0; i < LANES; i += 8) {
        __m256i q[4];
        eight_lanes(row, i, rows, q);
        for (unsigned j = 0; j < 4; j++) {
            store_16(ret[i + j], _mm256_castsi256_si128(q[j]));
            store_16(ret[i + j + 4], _mm256_extracti128_si256(q[j], 1));
        }
    }
}

/* `bytes` is a constant where this is called. */
static inline void store_wide(const struct em_move *m, unsigned rows, size_t bytes)
{
    uint8_t lane[LANES][16];
    em_move_to_lanes(m->row, rows, lane);
    for (uint64_t left = m->lanes; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        memcpy(at(m, i), lane[i], bytes);
    }
}

static void store_x2_run(const struct em_move *m)
{
    uint8_t *to = at(m, 0);
    for (unsigned i = 0; i < LANES; i += 8, to += 64) {
        __m256i low = _mm256_unpacklo_epi32(get(m->row, i), get(m->row + LANES, i));
        __m256i high = _mm256_unpackhi_epi32(get(m->row, i), get(m->row + LANES, i));
        store_16(to, _mm256_castsi256_si128(low));
        store_16(to + 16, _mm256_castsi256_si128(high));
        store_16(to + 32, _mm256_extracti128_si256(low, 1));
        store_16(to + 48, _mm256_extracti128_si256(high, 1));
    }
}

/* Two lanes, the lower one first: the higher one wins. */
static inline void store_8_8(const struct em_move *m, unsigned lane, __m128i both)
{
    _mm_storel_epi64((__m128i *)(void *)at(m, lane), both);
    _mm_storel_epi64((__m128i *)(void *)at(m, lane + 1),
                     _mm_unpackhi_epi64(both, both));
}

void em_store_x2(const struct em_move *m)
{
    if (m->contiguous) {
        store_x2_run(m);
        return;
    }
    if (m->lanes != UINT64_MAX) {
        store_wide(m, 2, 8);
        return;
    }
    for (unsigned i = 0; i < LANES; i += 8) {
        __m256i low = _mm256_unpacklo_epi32(get(m->row, i), get(m->row + LANES, i));
        __m256i high = _mm256_unpackhi_epi32(get(m->row, i), get(m->row + LANES, i));
        store_8_8(m, i, _mm256_castsi256_si128(low));
        store_8_8(m, i + 2, _mm256_castsi256_si128(high));
        store_8_8(m, i + 4, _mm256_extracti128_si256(low, 1));
        store_8_8(m, i + 6, _mm256_extracti128_si256(high, 1));
    }
}

void em_store_x3(const struct em_move *m)
{
    store_wide(m, 3, 12);
}

void em_store_x4(const struct em_move *m)
{
    if (m->contiguous) {
        em_move_to_lanes(m->row, 4, (uint8_t(*)[16])at(m, 0));
        return;
    }
    if (m->lanes != UINT64_MAX) {
        store_wide(m, 4, 16);
        return;
    }
    for (unsigned i = 0; i < LANES; i += 8) {
        __m256i q[4];
        eight_lanes(m->row, i, 4, q);
        for (unsigned j = 0; j < 4; j++) {
            store_16(at(m, i + j), _mm256_castsi256_si128(q[j]));
        }
        for (unsigned j = 0; j < 4; j++) {
            store_16(at(m, i + j + 4), _mm256_extracti128_si256(q[j], 1));
        }
    }
}
