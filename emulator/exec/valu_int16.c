/* 16-bit and packed integers, dot products. */
#include "emulator/exec/valu_loop.h"

#define ROW(name)                      \
    {                                  \
        EM_##name, EM_CLASS_VALU, name \
    }
#define U(x) ((uint32_t)((x)&0xffff))
#define S(x) ((int32_t)(int16_t)(x))

static inline int32_t least(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

static inline int32_t most(int32_t x, int32_t y)
{
    return x > y ? x : y;
}

static inline int32_t median(int32_t x, int32_t y, int32_t z)
{
    return most(least(x, y), least(most(x, y), z));
}

static inline uint32_t limit_u16(int64_t x)
{
    return (uint32_t)em_limit(x, 0, UINT16_MAX);
}

static inline uint32_t limit_i16(int64_t x)
{
    return (uint32_t)em_limit(x, INT16_MIN, INT16_MAX) & 0xffff;
}

/* The results in the low half, zeros above. */
#define BINARY16(name, result)  EM_BINARY(name, U(result))
#define TERNARY16(name, result) EM_TERNARY(name, U(result))

EM_BINARY_CLAMP(v_add_u16, U(x + y), limit_u16((int64_t)U(x) + U(y)))
EM_BINARY_CLAMP(v_sub_u16, U(x - y), limit_u16((int64_t)U(x) - U(y)))
EM_BINARY_CLAMP(v_subrev_u16, U(y - x), limit_u16((int64_t)U(y) - U(x)))
EM_BINARY_CLAMP(v_mul_lo_u16, U(x *y), limit_u16((int64_t)U(x) * U(y)))
EM_BINARY_CLAMP(v_add_i16, U(x + y), limit_i16(S(x) + S(y)))
EM_BINARY_CLAMP(v_sub_i16, U(x - y), limit_i16(S(x) - S(y)))
BINARY16(v_lshlrev_b16, U(y) << (x & 15))
BINARY16(v_lshrrev_b16, U(y) >> (x & 15))
BINARY16(v_ashrrev_i16, S(y) >> (x & 15))
BINARY16(v_max_u16, U(x) > U(y) ? x : y)
BINARY16(v_min_u16, U(x) < U(y) ? x : y)
BINARY16(v_max_i16, most(S(x), S(y)))
BINARY16(v_min_i16, least(S(x), S(y)))
TERNARY16(v_min3_i16, least(least(S(x), S(y)), S(z)))
TERNARY16(v_max3_i16, most(most(S(x), S(y)), S(z)))
TERNARY16(v_med3_i16, median(S(x), S(y), S(z)))
TERNARY16(v_min3_u16, least(least((int32_t)U(x), (int32_t)U(y)), (int32_t)U(z)))
TERNARY16(v_max3_u16, most(most((int32_t)U(x), (int32_t)U(y)), (int32_t)U(z)))
TERNARY16(v_med3_u16, median((int32_t)U(x), (int32_t)U(y), (int32_t)U(z)))
EM_TERNARY_CLAMP(v_mad_u16, U(x *y + z), limit_u16((int64_t)U(x) * U(y) + U(z)))
EM_TERNARY_CLAMP(v_mad_i16, U(x *y + z), limit_i16((int64_t)S(x) * S(y) + S(z)))
EM_TERNARY_CLAMP(v_mad_u32_u16, U(x) * U(y) + z, em_limit_u32((int64_t)U(x) * U(y) + z))
EM_TERNARY_CLAMP(v_mad_i32_i16,
                 (uint32_t)(S(x) * S(y)) + z,
                 em_limit_i32((int64_t)S(x) * S(y) + (int32_t)z))
EM_BINARY(v_cvt_pk_u16_u32, limit_u16(x) | limit_u16(y) << 16)
EM_BINARY(v_cvt_pk_i16_i32, limit_i16((int32_t)x) | limit_i16((int32_t)y) << 16)
EM_UNARY(v_sat_pk_u8_i16,
         (uint32_t)em_limit(S(x), 0, 255) | (uint32_t)em_limit(S(x >> 16), 0, 255) << 8)

/* Packed: the same in both halves. `low` and `high` name the halves' operands. */
#define BOTH(op, x, y)     (U(op(x, y)) | op((x) >> 16, (y) >> 16) << 16)
#define BOTH3(op, x, y, z) (U(op(x, y, z)) | op((x) >> 16, (y) >> 16, (z) >> 16) << 16)
#define ADD(x, y)          ((x) + (y))
#define SUB(x, y)          ((x) - (y))
#define MUL(x, y)          ((x) * (y))
#define MAD(x, y, z)       ((x) * (y) + (z))
#define ADD_I(x, y)        limit_i16((int64_t)S(x) + S(y))
#define SUB_I(x, y)        limit_i16((int64_t)S(x) - S(y))
#define MAD_I(x, y, z)     limit_i16((int64_t)S(x) * S(y) + S(z))
#define ADD_U(x, y)        limit_u16((int64_t)U(x) + U(y))
#define SUB_U(x, y)        limit_u16((int64_t)U(x) - U(y))
#define MUL_U(x, y)        limit_u16((int64_t)U(x) * U(y))
#define MAD_U(x, y, z)     limit_u16((int64_t)U(x) * U(y) + U(z))
#define MAX_I(x, y)        ((uint32_t)most(S(x), S(y)))
#define MIN_I(x, y)        ((uint32_t)least(S(x), S(y)))
#define MAX_U(x, y)        (U(x) > U(y) ? U(x) : U(y))
#define MIN_U(x, y)        (U(x) < U(y) ? U(x) : U(y))
#define SHL(x, y)          (U(y) << ((x)&15))
#define SHR(x, y)          (U(y) >> ((x)&15))
#define ASHR(x, y)         ((uint32_t)(S(y) >> ((x)&15)))

EM_BINARY_CLAMP(v_pk_add_i16, BOTH(ADD, x, y), BOTH(ADD_I, x, y))
EM_BINARY_CLAMP(v_pk_sub_i16, BOTH(SUB, x, y), BOTH(SUB_I, x, y))
EM_BINARY_CLAMP(v_pk_add_u16, BOTH(ADD, x, y), BOTH(ADD_U, x, y))
EM_BINARY_CLAMP(v_pk_sub_u16, BOTH(SUB, x, y), BOTH(SUB_U, x, y))
EM_BINARY_CLAMP(v_pk_mul_lo_u16, BOTH(MUL, x, y), BOTH(MUL_U, x, y))
EM_TERNARY_CLAMP(v_pk_mad_i16, BOTH3(MAD, x, y, z), BOTH3(MAD_I, x, y, z))
EM_TERNARY_CLAMP(v_pk_mad_u16, BOTH3(MAD, x, y, z), BOTH3(MAD_U, x, y, z))
EM_BINARY(v_pk_lshlrev_b16, BOTH(SHL, x, y))
EM_BINARY(v_pk_lshrrev_b16, BOTH(SHR, x, y))
EM_BINARY(v_pk_ashrrev_i16, BOTH(ASHR, x, y))
EM_BINARY(v_pk_max_i16, BOTH(MAX_I, x, y))
EM_BINARY(v_pk_min_i16, BOTH(MIN_I, x, y))
EM_BINARY(v_pk_max_u16, BOTH(MAX_U, x, y))
EM_BINARY(v_pk_min_u16, BOTH(MIN_U, x, y))

/* Dot products: exact sums, then the low 32 bits or the nearest value of them. */
static inline int64_t dot_i16(uint32_t x, uint32_t y)
{
    return (int64_t)S(x) * S(y) + (int64_t)S(x >> 16) * S(y >> 16);
}

static inline int64_t dot_u16(uint32_t x, uint32_t y)
{
    return (int64_t)U(x) * U(y) + (int64_t)(x >> 16) * (y >> 16);
}

static inline int64_t dot_i8(uint32_t x, uint32_t y)
{
    int32_t sum = 0;
    for (unsigned b = 0; b < 32; b += 8) {
        sum += (int32_t)(int8_t)(x >> b) * (int8_t)(y >> b);
    }
    return sum;
}

static inline int64_t dot_u8(uint32_t x, uint32_t y)
{
    uint32_t sum = 0;
    for (unsigned b = 0; b < 32; b += 8) {
        sum += (x >> b & 0xff) * (y >> b & 0xff);
    }
    return sum;
}

static inline int64_t dot_i4(uint32_t x, uint32_t y)
{
    int32_t sum = 0;
    for (unsigned b = 0; b < 32; b += 4) {
        sum += ((int32_t)(x << (28 - b)) >> 28) * ((int32_t)(y << (28 - b)) >> 28);
    }
    return sum;
}

static inline int64_t dot_u4(uint32_t x, uint32_t y)
{
    uint32_t sum = 0;
    for (unsigned b = 0; b < 32; b += 4) {
        sum += (x >> b & 15) * (y >> b & 15);
    }
    return sum;
}

#define DOT_I(name, dot)                            \
    EM_TERNARY_CLAMP(name, (uint32_t)dot(x, y) + z, \
                     em_limit_i32(dot(x, y) + (int32_t)z))
#define DOT_U(name, dot)                            \
    EM_TERNARY_CLAMP(name, (uint32_t)dot(x, y) + z, \
                     em_limit_u32(dot(x, y) + (int64_t)z))
DOT_I(v_dot2_i32_i16, dot_i16)
DOT_U(v_dot2_u32_u16, dot_u16)
DOT_I(v_dot4_i32_i8, dot_i8)
DOT_U(v_dot4_u32_u8, dot_u8)
DOT_I(v_dot8_i32_i4, dot_i4)
DOT_U(v_dot8_u32_u4, dot_u4)

const struct em_valu_row em_valu_int16[] = {
    ROW(v_add_u16),
    ROW(v_sub_u16),
    ROW(v_subrev_u16),
    ROW(v_mul_lo_u16),
    ROW(v_lshlrev_b16),
    ROW(v_lshrrev_b16),
    ROW(v_ashrrev_i16),
    ROW(v_max_u16),
    ROW(v_max_i16),
    ROW(v_min_u16),
    ROW(v_min_i16),
    ROW(v_add_i16),
    ROW(v_sub_i16),
    ROW(v_min3_i16),
    ROW(v_min3_u16),
    ROW(v_max3_i16),
    ROW(v_max3_u16),
    ROW(v_med3_i16),
    ROW(v_med3_u16),
    { EM_v_mad_legacy_u16, EM_CLASS_VALU, v_mad_u16 },
    { EM_v_mad_legacy_i16, EM_CLASS_VALU, v_mad_i16 },
    ROW(v_mad_u16),
    ROW(v_mad_i16),
    ROW(v_mad_u32_u16),
    ROW(v_mad_i32_i16),
    ROW(v_cvt_pk_u16_u32),
    ROW(v_cvt_pk_i16_i32),
    ROW(v_sat_pk_u8_i16),
    ROW(v_pk_mad_i16),
    ROW(v_pk_mul_lo_u16),
    ROW(v_pk_add_i16),
    ROW(v_pk_sub_i16),
    ROW(v_pk_lshlrev_b16),
    ROW(v_pk_lshrrev_b16),
    ROW(v_pk_ashrrev_i16),
    ROW(v_pk_max_i16),
    ROW(v_pk_min_i16),
    ROW(v_pk_mad_u16),
    ROW(v_pk_add_u16),
    ROW(v_pk_sub_u16),
    ROW(v_pk_max_u16),
    ROW(v_pk_min_u16),
    ROW(v_dot2_i32_i16),
    ROW(v_dot2_u32_u16),
    ROW(v_dot4_i32_i8),
    ROW(v_dot4_u32_u8),
    ROW(v_dot8_i32_i4),
    ROW(v_dot8_u32_u4),
    { EM_v_dot2c_i32_i16, EM_CLASS_VALU, v_dot2_i32_i16 },
    { EM_v_dot4c_i32_i8, EM_CLASS_VALU, v_dot4_i32_i8 },
    { EM_v_dot8c_i32_i4, EM_CLASS_VALU, v_dot8_i32_i4 },
    { 0, 0, NULL },
};
