/* Integers of 64 bits. They lie in two rows, of low and of high dwords; eight lanes are
 * made into two vectors of 64-bit elements, those of the even and those of the odd
 * lanes, which takes shifts and blends but no permutation. */
#include "emulator/exec/valu_loop.h"
#include "emulator/exec/valu_run.h"

#define ROW(name)                      \
    {                                  \
        EM_##name, EM_CLASS_VALU, name \
    }

struct pairs {
    __m256i even, odd;
};

/* Dwords as the low halves of 64 bits; what is above the odd ones' is 0, above the even
 * ones' whatever it was. */
static inline struct pairs singles(const uint32_t *row, unsigned i)
{
    __m256i x = em_load8(row, i);
    return (struct pairs){ x, _mm256_srli_epi64(x, 32) };
}

static inline struct pairs load_pairs(const uint32_t *const rows[2], unsigned i)
{
    __m256i low = em_load8(rows[0], i);
    __m256i high = em_load8(rows[1], i);
    return (struct pairs){
        _mm256_blend_epi32(low, _mm256_slli_epi64(high, 32), 0xaa),
        _mm256_blend_epi32(_mm256_srli_epi64(low, 32), high, 0xaa),
    };
}

static inline void store_pairs(uint32_t *const rows[2], unsigned i, struct pairs x)
{
    __m256i low = _mm256_blend_epi32(x.even, _mm256_slli_epi64(x.odd, 32), 0xaa);
    __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(x.even, 32), x.odd, 0xaa);
    em_store8(rows[0], i, low);
    em_store8(rows[1], i, high);
}

static inline struct pairs add_pairs(struct pairs x, struct pairs y)
{
    return (struct pairs){ _mm256_add_epi64(x.even, y.even),
                           _mm256_add_epi64(x.odd, y.odd) };
}

/* The sign bits of the eight lanes. */
static inline uint64_t sign_bits(struct pairs x)
{
    uint32_t even = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(x.even));
    uint32_t odd = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(x.odd));
    return _pdep_u32(even, 0x55) | _pdep_u32(odd, 0xaa);
}

static void v_mov_b64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i low = em_load8(r->s[0][0], i);
        __m256i high = em_load8(r->s[0][1], i);
        em_store8(r->d[0], i, low);
        em_store8(r->d[1], i, high);
    }
}

/* The counts of a shift of 64 bits. */
static inline struct pairs counts(const uint32_t *row, unsigned i, int mask)
{
    struct pairs count = singles(row, i);
    __m256i all = _mm256_set1_epi64x(mask);
    return (struct pairs){ _mm256_and_si256(count.even, all),
                           _mm256_and_si256(count.odd, all) };
}

static inline struct pairs shift_left(struct pairs x, struct pairs count)
{
    return (struct pairs){ _mm256_sllv_epi64(x.even, count.even),
                           _mm256_sllv_epi64(x.odd, count.odd) };
}

static inline struct pairs shift_right(struct pairs x, struct pairs count)
{
    return (struct pairs){ _mm256_srlv_epi64(x.even, count.even),
                           _mm256_srlv_epi64(x.odd, count.odd) };
}

static void v_lshlrev_b64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        struct pairs x = load_pairs(r->s[1], i);
        store_pairs(r->d, i, shift_left(x, counts(r->s[0][0], i, 63)));
    }
}

static void v_lshrrev_b64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        struct pairs x = load_pairs(r->s[1], i);
        store_pairs(r->d, i, shift_right(x, counts(r->s[0][0], i, 63)));
    }
}

/* A negative number is shifted as its complement. */
static void v_ashrrev_i64(struct em_rows *r)
{
    const __m256i zero = _mm256_setzero_si256();
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        struct pairs x = load_pairs(r->s[1], i);
        struct pairs sign = { _mm256_cmpgt_epi64(zero, x.even),
                              _mm256_cmpgt_epi64(zero, x.odd) };
        x.even = _mm256_xor_si256(x.even, sign.even);
        x.odd = _mm256_xor_si256(x.odd, sign.odd);
        x = shift_right(x, counts(r->s[0][0], i, 63));
        x.even = _mm256_xor_si256(x.even, sign.even);
        x.odd = _mm256_xor_si256(x.odd, sign.odd);
        store_pairs(r->d, i, x);
    }
}

static void v_lshl_add_u64(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        struct pairs x = load_pairs(r->s[0], i);
        struct pairs z = load_pairs(r->s[2], i);
        x = shift_left(x, counts(r->s[1][0], i, 7));
        store_pairs(r->d, i, add_pairs(x, z));
    }
}

/* -1 in the lanes where x < y, unsigned. */
static inline __m256i below(__m256i x, __m256i y)
{
    const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
    return _mm256_cmpgt_epi64(_mm256_xor_si256(y, sign), _mm256_xor_si256(x, sign));
}

static void v_mad_u64_u32(struct em_rows *r)
{
    const __m256i clamp = _mm256_set1_epi64x(r->in->clamp ? -1 : 0);
    uint64_t carries = 0;
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        struct pairs x = singles(r->s[0][0], i);
        struct pairs y = singles(r->s[1][0], i);
        struct pairs z = load_pairs(r->s[2], i);
        struct pairs product = { _mm256_mul_epu32(x.even, y.even),
                                 _mm256_mul_epu32(x.odd, y.odd) };
        struct pairs sum = add_pairs(product, z);
        struct pairs carry = { below(sum.even, z.even), below(sum.odd, z.odd) };
        carries |= sign_bits(carry) << i;
        sum.even = _mm256_or_si256(sum.even, _mm256_and_si256(carry.even, clamp));
        sum.odd = _mm256_or_si256(sum.odd, _mm256_and_si256(carry.odd, clamp));
        store_pairs(r->d, i, sum);
    }
    r->mask_out = carries;
}

/* The sign of the exact sum: of 64 bits where they hold it, else that of the addends.
 */
static inline __m256i sum_sign(__m256i x, __m256i y, __m256i sum, __m256i *ret_over)
{
    __m256i over = _mm256_and_si256(_mm256_xor_si256(x, sum), _mm256_xor_si256(y, sum));
    *ret_over = over;
    __m256d sign = _mm256_blendv_pd(_mm256_castsi256_pd(sum), _mm256_castsi256_pd(y),
                                    _mm256_castsi256_pd(over));
    return _mm256_castpd_si256(sign);
}

/* The least or most value of 64 bits where the sum went over. */
static inline __m256i clamp_sum(__m256i sum, __m256i sign, __m256i over)
{
    __m256i negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), sign);
    __m256i limit = _mm256_xor_si256(negative, _mm256_set1_epi64x(INT64_MAX));
    return _mm256_castpd_si256(_mm256_blendv_pd(_mm256_castsi256_pd(sum),
                                                _mm256_castsi256_pd(limit),
                                                _mm256_castsi256_pd(over)));
}

/* The bit out is the 65th one of the exact sum, its sign. */
static void v_mad_i64_i32(struct em_rows *r)
{
    uint64_t signs = 0;
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        struct pairs x = singles(r->s[0][0], i);
        struct pairs y = singles(r->s[1][0], i);
        struct pairs z = load_pairs(r->s[2], i);
        struct pairs product = { _mm256_mul_epi32(x.even, y.even),
                                 _mm256_mul_epi32(x.odd, y.odd) };
        struct pairs sum = add_pairs(product, z);
        struct pairs over;
        struct pairs sign = { sum_sign(product.even, z.even, sum.even, &over.even),
                              sum_sign(product.odd, z.odd, sum.odd, &over.odd) };
        signs |= sign_bits(sign) << i;
        if (r->in->clamp) {
            sum.even = clamp_sum(sum.even, sign.even, over.even);
            sum.odd = clamp_sum(sum.odd, sign.odd, over.odd);
        }
        store_pairs(r->d, i, sum);
    }
    r->mask_out = signs;
}

const struct em_valu_row em_valu_int64[] = {
    ROW(v_mov_b64),      ROW(v_lshlrev_b64), ROW(v_lshrrev_b64), ROW(v_ashrrev_i64),
    ROW(v_lshl_add_u64), ROW(v_mad_u64_u32), ROW(v_mad_i64_i32), { 0, 0, NULL },
};
