/* Comparisons: a bit a lane into mask_out. v_cmpx differs from v_cmp only in where the
 * mask goes, which is the caller's. */
#include "emulator/exec/valu_loop.h"

#include <immintrin.h>

typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef uint32_t u32x8 __attribute__((vector_size(32)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef int64_t i64x4 __attribute__((vector_size(32)));
typedef uint64_t u64x4 __attribute__((vector_size(32)));
typedef double f64x4 __attribute__((vector_size(32)));

static inline __m256i load(const uint32_t *row)
{
    return _mm256_load_si256((const __m256i *)(const void *)row);
}

static inline uint64_t bits_of(i32x8 lanes)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps((__m256i)lanes));
}

/* Two times four lanes in the order in which unpacking puts them: 0 1 4 5, 2 3 6 7. */
static inline uint64_t bits_of_pairs(i64x4 low, i64x4 high)
{
    uint32_t a = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd((__m256i)low));
    uint32_t b = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd((__m256i)high));
    return (a & 3) | (a & 12) << 2 | (b & 3) << 2 | (b & 12) << 4;
}

/* Eight lanes of 16 bits, sign-extended or not, as 32. */
static inline i32x8 words_i16(const uint32_t *row)
{
    return (i32x8)_mm256_srai_epi32(_mm256_slli_epi32(load(row), 16), 16);
}

static inline i32x8 words_u16(const uint32_t *row)
{
    return (i32x8)_mm256_and_si256(load(row), _mm256_set1_epi32(0xffff));
}

/* Halves are exact as singles; denormals are flushed where MODE says so. */
static inline f32x8 halves(const uint32_t *row, bool flush)
{
    __m256i words = (__m256i)words_u16(row);
    __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(words),
                                      _mm256_extracti128_si256(words, 1));
    f32x8 value = (f32x8)_mm256_cvtph_ps(packed);
    if (flush) {
        i32x8 normal = ((i32x8)words & 0x7c00) != 0;
        value = (f32x8)((i32x8)value & normal);
    }
    return value;
}

static inline f32x8 singles(const uint32_t *row, bool flush)
{
    i32x8 value = (i32x8)load(row);
    if (flush) {
        value &= (value & 0x7f800000) != 0;
    }
    return (f32x8)value;
}

static inline f64x4 doubles(__m256i value, bool flush)
{
    i64x4 bits = (i64x4)value;
    if (flush) {
        bits &= (bits & INT64_C(0x7ff0000000000000)) != 0;
    }
    return (f64x4)bits;
}

static bool flush_single(const struct em_rows *r)
{
    return !(r->mode & (1 << 4));
}

static bool flush_other(const struct em_rows *r) /* F16 and F64 */
{
    return !(r->mode & (1 << 6));
}

/* The conditions on vectors x and y; each gives -1 or 0 a lane. */
#define LT(x, y)  ((x) < (y))
#define EQ(x, y)  ((x) == (y))
#define LE(x, y)  ((x) <= (y))
#define GT(x, y)  ((x) > (y))
#define NE(x, y)  ((x) != (y))
#define GE(x, y)  ((x) >= (y))
#define LG(x, y)  (((x) < (y)) | ((x) > (y)))
#define O(x, y)   (((x) == (x)) & ((y) == (y)))
#define UN(x, y)  (~O(x, y))
#define NGE(x, y) (~GE(x, y))
#define NLG(x, y) (~LG(x, y))
#define NGT(x, y) (~GT(x, y))
#define NLE(x, y) (~LE(x, y))
#define NLT(x, y) (~LT(x, y))

/* A comparison of eight lanes at a time: fetch(row) makes a vector. */
#define COMPARE32(name, fetch, condition)                            \
    static void name(struct em_rows *r)                              \
    {                                                                \
        uint64_t mask = 0;                                           \
        for (unsigned i = 0; i < EM_LANES; i += 8) {                 \
            mask |= bits_of((i32x8)condition(fetch(r->s[0][0] + i),  \
                                             fetch(r->s[1][0] + i))) \
                    << i;                                            \
        }                                                            \
        r->mask_out = mask;                                          \
    }
#define COMPARE_FLOAT(name, fetch, flushes, condition)    \
    static void name(struct em_rows *r)                   \
    {                                                     \
        uint64_t mask = 0;                                \
        bool flush = flushes(r);                          \
        for (unsigned i = 0; i < EM_LANES; i += 8) {      \
            f32x8 x = fetch(r->s[0][0] + i, flush);       \
            f32x8 y = fetch(r->s[1][0] + i, flush);       \
            mask |= bits_of((i32x8)condition(x, y)) << i; \
        }                                                 \
        r->mask_out = mask;                               \
    }
/* The same of 64 bits, out of the rows of low and of high dwords. */
#define COMPARE64(name, vector, cast, condition)                                      \
    static void name(struct em_rows *r)                                               \
    {                                                                                 \
        uint64_t mask = 0;                                                            \
        for (unsigned i = 0; i < EM_LANES; i += 8) {                                  \
            __m256i xl = load(r->s[0][0] + i), xh = load(r->s[0][1] + i);             \
            __m256i yl = load(r->s[1][0] + i), yh = load(r->s[1][1] + i);             \
            vector x0 = cast(_mm256_unpacklo_epi32(xl, xh), r);                       \
            vector x1 = cast(_mm256_unpackhi_epi32(xl, xh), r);                       \
            vector y0 = cast(_mm256_unpacklo_epi32(yl, yh), r);                       \
            vector y1 = cast(_mm256_unpackhi_epi32(yl, yh), r);                       \
            mask |= bits_of_pairs((i64x4)condition(x0, y0), (i64x4)condition(x1, y1)) \
                    << i;                                                             \
        }                                                                             \
        r->mask_out = mask;                                                           \
    }

#define AS_I32(row)      ((i32x8)load(row))
#define AS_U32(row)      ((u32x8)load(row))
#define AS_I64(value, r) ((i64x4)(value))
#define AS_U64(value, r) ((u64x4)(value))
#define AS_F64(value, r) doubles(value, flush_other(r))

#define INTS(X) X(lt, LT) X(eq, EQ) X(le, LE) X(gt, GT) X(ne, NE) X(ge, GE)
#define FLOATS(X) \
    X(lt, LT)     \
    X(eq, EQ)     \
    X(le, LE)     \
    X(gt, GT)     \
    X(lg, LG)     \
    X(ge, GE)     \
    X(o, O)       \
    X(u, UN) X(nge, NGE) X(nlg, NLG) X(ngt, NGT) X(nle, NLE) X(neq, NE) X(nlt, NLT)

#define X(name, condition) COMPARE32(name##_i16, words_i16, condition)
INTS(X)
#undef X
#define X(name, condition) COMPARE32(name##_u16, words_u16, condition)
INTS(X)
#undef X
#define X(name, condition) COMPARE32(name##_i32, AS_I32, condition)
INTS(X)
#undef X
#define X(name, condition) COMPARE32(name##_u32, AS_U32, condition)
INTS(X)
#undef X
#define X(name, condition) COMPARE64(name##_i64, i64x4, AS_I64, condition)
INTS(X)
#undef X
#define X(name, condition) COMPARE64(name##_u64, u64x4, AS_U64, condition)
INTS(X)
#undef X
#define X(name, condition) COMPARE_FLOAT(name##_f16, halves, flush_other, condition)
FLOATS(X)
#undef X
#define X(name, condition) COMPARE_FLOAT(name##_f32, singles, flush_single, condition)
FLOATS(X)
#undef X
#define X(name, condition) COMPARE64(name##_f64, f64x4, AS_F64, condition)
FLOATS(X)
#undef X

static void never(struct em_rows *r)
{
    r->mask_out = 0;
}

static void always(struct em_rows *r)
{
    r->mask_out = ~UINT64_C(0);
}

/* The class of a number, as the bit of the mask that v_cmp_class tests. `quiet` is the
 * fraction's highest bit; all fields come apart. */
enum {
    SIGNALLING_NAN = 1 << 0,
    QUIET_NAN = 1 << 1,
    NEGATIVE_INFINITY = 1 << 2,
    NEGATIVE_NORMAL = 1 << 3,
    NEGATIVE_DENORMAL = 1 << 4,
    NEGATIVE_ZERO = 1 << 5,
    POSITIVE_ZERO = 1 << 6,
    POSITIVE_DENORMAL = 1 << 7,
    POSITIVE_NORMAL = 1 << 8,
    POSITIVE_INFINITY = 1 << 9
};

static uint32_t class_of(bool negative,
                         bool exponent_ones,
                         bool exponent_zero,
                         uint64_t fraction,
                         bool quiet)
{
    if (exponent_ones && fraction) {
        return quiet ? QUIET_NAN : SIGNALLING_NAN;
    }
    if (exponent_ones) {
        return negative ? NEGATIVE_INFINITY : POSITIVE_INFINITY;
    }
    if (!exponent_zero) {
        return negative ? NEGATIVE_NORMAL : POSITIVE_NORMAL;
    }
    if (fraction) {
        return negative ? NEGATIVE_DENORMAL : POSITIVE_DENORMAL;
    }
    return negative ? NEGATIVE_ZERO : POSITIVE_ZERO;
}

static uint32_t class_bits(uint64_t x, unsigned exponent_bits, unsigned fraction_bits)
{
    uint64_t exponent = x >> fraction_bits & ((UINT64_C(1) << exponent_bits) - 1);
    uint64_t fraction = x & ((UINT64_C(1) << fraction_bits) - 1);
    return class_of(x >> (exponent_bits + fraction_bits) & 1,
                    exponent == (UINT64_C(1) << exponent_bits) - 1, exponent == 0,
                    fraction, fraction >> (fraction_bits - 1) & 1);
}

static void class_f16(struct em_rows *r)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        bool is = class_bits(r->s[0][0][i], 5, 10) & r->s[1][0][i];
        mask |= (uint64_t)is << i;
    }
    r->mask_out = mask;
}

static void class_f32(struct em_rows *r)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        bool is = class_bits(r->s[0][0][i], 8, 23) & r->s[1][0][i];
        mask |= (uint64_t)is << i;
    }
    r->mask_out = mask;
}

static void class_f64(struct em_rows *r)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        bool is = class_bits(em_pair(r->s[0], i), 11, 52) & r->s[1][0][i];
        mask |= (uint64_t)is << i;
    }
    r->mask_out = mask;
}

#define PAIR(name, fn)                      \
    { EM_v_cmp_##name, EM_CLASS_VALU, fn }, \
    {                                       \
        EM_v_cmpx_##name, EM_CLASS_VALU, fn \
    }
#define INT_ROWS(type)                                                             \
    PAIR(f_##type, never), PAIR(lt_##type, lt_##type), PAIR(eq_##type, eq_##type), \
        PAIR(le_##type, le_##type), PAIR(gt_##type, gt_##type),                    \
        PAIR(ne_##type, ne_##type), PAIR(ge_##type, ge_##type), PAIR(t_##type, always)
#define FLOAT_ROWS(type)                                                           \
    PAIR(f_##type, never), PAIR(lt_##type, lt_##type), PAIR(eq_##type, eq_##type), \
        PAIR(le_##type, le_##type), PAIR(gt_##type, gt_##type),                    \
        PAIR(lg_##type, lg_##type), PAIR(ge_##type, ge_##type),                    \
        PAIR(o_##type, o_##type), PAIR(u_##type, u_##type),                        \
        PAIR(nge_##type, nge_##type), PAIR(nlg_##type, nlg_##type),                \
        PAIR(ngt_##type, ngt_##type), PAIR(nle_##type, nle_##type),                \
        PAIR(neq_##type, neq_##type), PAIR(nlt_##type, nlt_##type),                \
        PAIR(tru_##type, always), PAIR(class_##type, class_##type)

const struct em_valu_row em_valu_compare[] = {
    INT_ROWS(i16), INT_ROWS(u16),   INT_ROWS(i32),   INT_ROWS(u32),   INT_ROWS(i64),
    INT_ROWS(u64), FLOAT_ROWS(f16), FLOAT_ROWS(f32), FLOAT_ROWS(f64), { 0, 0, NULL },
};
