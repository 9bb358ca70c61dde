/* Integers and bits of 32 bits, and sums of bytes. */
#include "emulator/exec/valu_loop.h"
#include "emulator/exec/valu_run.h"

#define ROW(name)                      \
    {                                  \
        EM_##name, EM_CLASS_VALU, name \
    }
#define S(x)   ((int32_t)(x))
#define U64(x) ((uint64_t)(x))
#define I64(x) ((int64_t)(x))

static inline int32_t sext24(uint32_t x)
{
    return S(x << 8) >> 8;
}

static inline uint32_t umin(uint32_t x, uint32_t y)
{
    return x < y ? x : y;
}

static inline uint32_t umax(uint32_t x, uint32_t y)
{
    return x > y ? x : y;
}

static inline int32_t smin(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

static inline int32_t smax(int32_t x, int32_t y)
{
    return x > y ? x : y;
}

/* Moves and bits. */
EM_UNARY(v_mov_b32, x)
EM_UNARY(v_not_b32, ~x)
EM_BINARY(v_and_b32, x &y)
EM_BINARY(v_or_b32, x | y)
EM_BINARY(v_xor_b32, x ^ y)
EM_BINARY(v_xnor_b32, ~(x ^ y))
EM_BINARY(v_lshrrev_b32, y >> (x & 31))
EM_BINARY(v_ashrrev_i32, S(y) >> (x & 31))
EM_BINARY(v_lshlrev_b32, y << (x & 31))
EM_BINARY(v_bfm_b32, ((1U << (x & 31)) - 1) << (y & 31))
EM_TERNARY(v_bfi_b32, (x & y) | (~x & z))
EM_TERNARY(v_and_or_b32, (x & y) | z)
EM_TERNARY(v_or3_b32, x | y | z)
EM_TERNARY(v_lshl_or_b32, x << (y & 31) | z)
EM_TERNARY(v_bfe_u32, x >> (y & 31) & ((1U << (z & 31)) - 1))
EM_TERNARY(v_alignbit_b32, (U64(x) << 32 | y) >> (z & 31))
EM_TERNARY(v_alignbyte_b32, (U64(x) << 32 | y) >> (8 * (z & 3)))

static inline uint32_t bfe_i32(uint32_t x, uint32_t offset, uint32_t width)
{
    unsigned unused = 32 - width; /* a width of 0 gives 0 */
    uint32_t field = U64(S(x) >> offset) << (unused & 31) & 0xffffffff;
    return width == 0 ? 0 : (uint32_t)(S(field) >> (unused & 31));
}
EM_TERNARY(v_bfe_i32, bfe_i32(x, y & 31, z & 31))

static inline uint32_t reverse_bits(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return x >> 24 | (x >> 8 & 0xff00) | (x & 0xff00) << 8 | x << 24;
}
EM_UNARY(v_bfrev_b32, reverse_bits(x))
EM_UNARY(v_ffbh_u32, x ? (uint32_t)__builtin_clz(x) : UINT32_MAX)
EM_UNARY(v_ffbl_b32, x ? (uint32_t)__builtin_ctz(x) : UINT32_MAX)

static inline uint32_t first_not_sign(uint32_t x)
{
    uint32_t differ = S(x) < 0 ? ~x : x;
    return differ ? (uint32_t)__builtin_clz(differ) : UINT32_MAX;
}
EM_UNARY(v_ffbh_i32, first_not_sign(x))
EM_BINARY(v_bcnt_u32_b32, (uint32_t)__builtin_popcount(x) + y)

/* Bits of the lanes below each one, in its half of 64. */
static inline __attribute__((always_inline)) void count_below(struct em_rows *r,
                                                              unsigned first)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        unsigned below = i < first ? 0 : i - first;
        uint32_t x = _bzhi_u32(r->s[0][0][i], below);
        r->d[0][i] = (uint32_t)_mm_popcnt_u32(x) + r->s[1][0][i];
    }
}

static void v_mbcnt_lo_u32_b32(struct em_rows *r)
{
    count_below(r, 0);
}

static void v_mbcnt_hi_u32_b32(struct em_rows *r)
{
    count_below(r, 32);
}

/* Byte `select` of v_perm_b32 among those of `bytes`, or a constant, or a sign. */
static inline uint32_t perm_byte(uint64_t bytes, uint32_t select)
{
    if (select >= 13) {
        return 0xff;
    }
    if (select == 12) {
        return 0;
    }
    if (select >= 8) {
        return bytes >> (16 * (select - 8) + 15) & 1 ? 0xff : 0;
    }
    return bytes >> (8 * select) & 0xff;
}

static void perm_any(struct em_rows *r, unsigned first)
{
    for (unsigned i = first; i < first + 8; i++) {
        uint64_t bytes = U64(r->s[0][0][i]) << 32 | r->s[1][0][i];
        uint32_t select = r->s[2][0][i];
        uint32_t out = 0;
        for (unsigned b = 0; b < 32; b += 8) {
            out |= perm_byte(bytes, select >> b & 0xff) << b;
        }
        r->d[0][i] = out;
    }
}

/* Eight lanes at once where all selectors are bytes of the sources: the choice within a
 * source is a shuffle, that between them the selector's bit 2. */
static void v_perm_b32(struct em_rows *r)
{
    const __m256i own =
        _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0, 0, 0,
                         4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i select = em_load8(r->s[2][0], i);
        if (!_mm256_testz_si256(select, _mm256_set1_epi8((char)0xf8))) {
            perm_any(r, i);
            continue;
        }
        __m256i byte = _mm256_and_si256(select, _mm256_set1_epi8(3));
        byte = _mm256_or_si256(byte, own);
        __m256i low = _mm256_shuffle_epi8(em_load8(r->s[1][0], i), byte);
        __m256i high = _mm256_shuffle_epi8(em_load8(r->s[0][0], i), byte);
        /* Bit 2 to bit 7, which the blend reads. */
        __m256i which = _mm256_slli_epi16(select, 5);
        em_store8(r->d[0], i, _mm256_blendv_epi8(low, high, which));
    }
}

static void v_pk_mov_b32(struct em_rows *r)
{
    EM_EACH_LANE(i)
    {
        uint32_t low = r->s[0][0][i];
        uint32_t high = r->s[1][0][i];
        r->d[0][i] = low;
        r->d[1][i] = high;
    }
}

static void v_cndmask_b32(struct em_rows *r)
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i mask = em_lanes8((uint32_t)(r->mask_in >> i) & 0xff);
        __m256i no = em_load8(r->s[0][0], i);
        __m256i yes = em_load8(r->s[1][0], i);
        em_store8(r->d[0], i, _mm256_blendv_epi8(no, yes, mask));
    }
}

/* Sums and differences. */
EM_BINARY_CLAMP(v_add_u32, x + y, em_limit_u32(I64(x) + y))
EM_BINARY_CLAMP(v_sub_u32, x - y, em_limit_u32(I64(x) - y))
EM_BINARY_CLAMP(v_subrev_u32, y - x, em_limit_u32(I64(y) - x))
EM_BINARY_CLAMP(v_add_i32, x + y, em_limit_i32(I64(S(x)) + S(y)))
EM_BINARY_CLAMP(v_sub_i32, x - y, em_limit_i32(I64(S(x)) - S(y)))
EM_TERNARY(v_xad_u32, (x ^ y) + z)
EM_TERNARY(v_lshl_add_u32, (x << (y & 31)) + z)
EM_TERNARY(v_add_lshl_u32, (x + y) << (z & 31))
EM_TERNARY(v_add3_u32, x + y + z)
EM_BINARY(v_min_i32, smin(S(x), S(y)))
EM_BINARY(v_max_i32, smax(S(x), S(y)))
EM_BINARY(v_min_u32, umin(x, y))
EM_BINARY(v_max_u32, umax(x, y))
EM_TERNARY(v_min3_i32, smin(smin(S(x), S(y)), S(z)))
EM_TERNARY(v_max3_i32, smax(smax(S(x), S(y)), S(z)))
EM_TERNARY(v_med3_i32, smax(smin(S(x), S(y)), smin(smax(S(x), S(y)), S(z))))
EM_TERNARY(v_min3_u32, umin(umin(x, y), z))
EM_TERNARY(v_max3_u32, umax(umax(x, y), z))
EM_TERNARY(v_med3_u32, umax(umin(x, y), umin(umax(x, y), z)))

/* x + y + carry, or x - y - borrow; the carry goes to mask_out. */
static inline __attribute__((always_inline)) void carry_rows(struct em_rows *r,
                                                             const uint32_t *a,
                                                             const uint32_t *b,
                                                             bool subtract)
{
    uint64_t carries = 0;
    bool clamp = r->in->clamp;
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t in = r->mask_in >> i & 1;
        uint64_t sum = subtract ? U64(a[i]) - b[i] - in : U64(a[i]) + b[i] + in;
        uint64_t carry = sum >> 32 & 1;
        carries |= carry << i;
        uint32_t limit = subtract ? 0 : UINT32_MAX;
        r->d[0][i] = clamp && carry ? limit : (uint32_t)sum;
    }
    r->mask_out = carries;
}

static void v_addc_co_u32(struct em_rows *r)
{
    carry_rows(r, r->s[0][0], r->s[1][0], false);
}

static void v_subb_co_u32(struct em_rows *r)
{
    carry_rows(r, r->s[0][0], r->s[1][0], true);
}

static void v_subbrev_co_u32(struct em_rows *r)
{
    carry_rows(r, r->s[1][0], r->s[0][0], true);
}

/* Without a carry in eight lanes go at once: the carry is an unsigned comparison. */
static inline __attribute__((always_inline)) void carry_out(struct em_rows *r,
                                                            const uint32_t *a,
                                                            const uint32_t *b,
                                                            bool subtract)
{
    if (r->in->clamp) {
        carry_rows(r, a, b, subtract);
        return;
    }
    const __m256i sign = _mm256_set1_epi32(INT32_MIN);
    uint64_t carries = 0;
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i x = em_load8(a, i);
        __m256i y = em_load8(b, i);
        __m256i out = subtract ? _mm256_sub_epi32(x, y) : _mm256_add_epi32(x, y);
        __m256i below = subtract ? x : out;
        __m256i than = subtract ? y : x;
        __m256i less = _mm256_cmpgt_epi32(_mm256_xor_si256(than, sign),
                                          _mm256_xor_si256(below, sign));
        uint32_t bits = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(less));
        carries |= U64(bits) << i;
        em_store8(r->d[0], i, out);
    }
    r->mask_out = carries;
}

static void v_add_co_u32(struct em_rows *r)
{
    carry_out(r, r->s[0][0], r->s[1][0], false);
}

static void v_sub_co_u32(struct em_rows *r)
{
    carry_out(r, r->s[0][0], r->s[1][0], true);
}

static void v_subrev_co_u32(struct em_rows *r)
{
    carry_out(r, r->s[1][0], r->s[0][0], true);
}

/* Products. */
EM_BINARY_CLAMP(v_mul_u32_u24,
                (x & 0xffffff) * (y & 0xffffff),
                em_limit_u32(I64(x & 0xffffff) * (y & 0xffffff)))
EM_BINARY_CLAMP(v_mul_i32_i24,
                (uint32_t)sext24(x) * (uint32_t)sext24(y),
                em_limit_i32(I64(sext24(x)) * sext24(y)))
EM_BINARY(v_mul_hi_u32_u24, U64(x & 0xffffff) * (y & 0xffffff) >> 32)
EM_BINARY(v_mul_hi_i32_i24, (I64(sext24(x)) * sext24(y)) >> 32)
EM_TERNARY_CLAMP(v_mad_u32_u24,
                 (x & 0xffffff) * (y & 0xffffff) + z,
                 em_limit_u32(I64(x & 0xffffff) * (y & 0xffffff) + z))
EM_TERNARY_CLAMP(v_mad_i32_i24,
                 (uint32_t)sext24(x) * (uint32_t)sext24(y) + z,
                 em_limit_i32(I64(sext24(x)) * sext24(y) + S(z)))
EM_BINARY(v_mul_lo_u32, x *y)
EM_BINARY(v_mul_hi_u32, U64(x) * y >> 32)
EM_BINARY(v_mul_hi_i32, (I64(S(x)) * S(y)) >> 32)

/* Bytes. */
static inline uint32_t byte_of(uint32_t x, unsigned b)
{
    return x >> b & 0xff;
}

static inline uint32_t differ(uint32_t x, uint32_t y)
{
    return x > y ? x - y : y - x;
}

static inline uint32_t sad_u8(uint32_t x, uint32_t y)
{
    uint32_t sum = 0;
    for (unsigned b = 0; b < 32; b += 8) {
        sum += differ(byte_of(x, b), byte_of(y, b));
    }
    return sum;
}

/* Bytes where y is 0 are left out. */
static inline uint32_t msad_u8(uint32_t x, uint32_t y)
{
    uint32_t sum = 0;
    for (unsigned b = 0; b < 32; b += 8) {
        sum += byte_of(y, b) ? differ(byte_of(x, b), byte_of(y, b)) : 0;
    }
    return sum;
}

static inline uint32_t sad_u16(uint32_t x, uint32_t y)
{
    return differ(x & 0xffff, y & 0xffff) + differ(x >> 16, y >> 16);
}

static inline uint32_t lerp_u8(uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t out = 0;
    for (unsigned b = 0; b < 32; b += 8) {
        out |= (byte_of(x, b) + byte_of(y, b) + (z >> b & 1)) >> 1 << b;
    }
    return out;
}
EM_TERNARY(v_lerp_u8, lerp_u8(x, y, z))
EM_TERNARY_CLAMP(v_sad_u8, sad_u8(x, y) + z, em_limit_u32(I64(sad_u8(x, y)) + z))
EM_TERNARY_CLAMP(v_sad_hi_u8,
                 (sad_u8(x, y) << 16) + z,
                 em_limit_u32((I64(sad_u8(x, y)) << 16) + z))
EM_TERNARY_CLAMP(v_sad_u16, sad_u16(x, y) + z, em_limit_u32(I64(sad_u16(x, y)) + z))
EM_TERNARY_CLAMP(v_sad_u32, differ(x, y) + z, em_limit_u32(I64(differ(x, y)) + z))
EM_TERNARY_CLAMP(v_msad_u8, msad_u8(x, y) + z, em_limit_u32(I64(msad_u8(x, y)) + z))

/* Four sums of the reference against the windows at each byte of 64 bits, in 16 bits.
 */
static inline __attribute__((always_inline)) void quad_sad(struct em_rows *r,
                                                           uint32_t (*sad)(uint32_t,
                                                                           uint32_t))
{
    bool clamp = r->in->clamp;
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t bytes = em_pair(r->s[0], i);
        uint64_t addend = em_pair(r->s[2], i);
        uint64_t out = 0;
        for (unsigned k = 0; k < 4; k++) {
            uint32_t sum = sad((uint32_t)(bytes >> (8 * k)), r->s[1][0][i]) +
                           (uint32_t)(addend >> (16 * k) & 0xffff);
            sum = clamp && sum > 0xffff ? 0xffff : sum & 0xffff;
            out |= U64(sum) << (16 * k);
        }
        em_put_pair(r->d, i, out);
    }
}

static void v_qsad_pk_u16_u8(struct em_rows *r)
{
    quad_sad(r, sad_u8);
}

static void v_mqsad_pk_u16_u8(struct em_rows *r)
{
    quad_sad(r, msad_u8);
}

const struct em_valu_row em_valu_int[] = {
    ROW(v_mov_b32),          ROW(v_pk_mov_b32),      ROW(v_cndmask_b32),
    ROW(v_not_b32),          ROW(v_bfrev_b32),       ROW(v_ffbh_u32),
    ROW(v_ffbl_b32),         ROW(v_ffbh_i32),        ROW(v_mul_i32_i24),
    ROW(v_mul_hi_i32_i24),   ROW(v_mul_u32_u24),     ROW(v_mul_hi_u32_u24),
    ROW(v_min_i32),          ROW(v_max_i32),         ROW(v_min_u32),
    ROW(v_max_u32),          ROW(v_lshrrev_b32),     ROW(v_ashrrev_i32),
    ROW(v_lshlrev_b32),      ROW(v_and_b32),         ROW(v_or_b32),
    ROW(v_xor_b32),          ROW(v_xnor_b32),        ROW(v_add_co_u32),
    ROW(v_sub_co_u32),       ROW(v_subrev_co_u32),   ROW(v_addc_co_u32),
    ROW(v_subb_co_u32),      ROW(v_subbrev_co_u32),  ROW(v_add_u32),
    ROW(v_sub_u32),          ROW(v_subrev_u32),      ROW(v_add_i32),
    ROW(v_sub_i32),          ROW(v_mad_i32_i24),     ROW(v_mad_u32_u24),
    ROW(v_bfe_u32),          ROW(v_bfe_i32),         ROW(v_bfi_b32),
    ROW(v_bfm_b32),          ROW(v_lerp_u8),         ROW(v_alignbit_b32),
    ROW(v_alignbyte_b32),    ROW(v_min3_i32),        ROW(v_min3_u32),
    ROW(v_max3_i32),         ROW(v_max3_u32),        ROW(v_med3_i32),
    ROW(v_med3_u32),         ROW(v_sad_u8),          ROW(v_sad_hi_u8),
    ROW(v_sad_u16),          ROW(v_sad_u32),         ROW(v_msad_u8),
    ROW(v_qsad_pk_u16_u8),   ROW(v_mqsad_pk_u16_u8), ROW(v_perm_b32),
    ROW(v_xad_u32),          ROW(v_lshl_add_u32),    ROW(v_add_lshl_u32),
    ROW(v_add3_u32),         ROW(v_lshl_or_b32),     ROW(v_and_or_b32),
    ROW(v_or3_b32),          ROW(v_mul_lo_u32),      ROW(v_mul_hi_u32),
    ROW(v_mul_hi_i32),       ROW(v_bcnt_u32_b32),    ROW(v_mbcnt_lo_u32_b32),
    ROW(v_mbcnt_hi_u32_b32), { 0, 0, NULL },
};
