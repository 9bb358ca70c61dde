/* Scalar arithmetic, logic, shifts and compares of two operands, and those with a
 * 16-bit constant. */
#include "emulator/exec/scalar_internal.h"

enum {
    SCC_OUT = EM_WRITES_SCC,
    SCC_IN = EM_READS_SCC,
    SCC_BOTH = EM_READS_SCC | EM_WRITES_SCC
};

/* BODY computes d (and scc) of a and b; scc is the old SCC before. */
#define BINARY(name, D, A, B, BODY)                                           \
    static enum em_flow run_##name(struct em_wave *w, const struct em_op *op) \
    {                                                                         \
        const uint##A##_t a = em_src##A(w, op, 0);                            \
        const uint##B##_t b = em_src##B(w, op, 1);                            \
        uint32_t scc = w->scc;                                                \
        uint##D##_t d;                                                        \
        BODY;                                                                 \
        w->scc = scc;                                                         \
        em_dst##D(w, op, d);                                                  \
        return em_scalar_done(w, op);                                         \
    }
#define BINARY32(name, BODY) BINARY(name, 32, 32, 32, BODY)

/* Only SCC is the result. */
#define COMPARE(name, A, B, CONDITION)                                        \
    static enum em_flow run_##name(struct em_wave *w, const struct em_op *op) \
    {                                                                         \
        const uint##A##_t a = em_src##A(w, op, 0);                            \
        const uint##B##_t b = em_src##B(w, op, 1);                            \
        w->scc = (CONDITION);                                                 \
        return em_scalar_done(w, op);                                         \
    }
#define COMPARE32(name, CONDITION) COMPARE(name, 32, 32, CONDITION)

/* The destination is the first source too; k is the constant, sign-extended. */
#define CONSTANT(name, BODY)                                                  \
    static enum em_flow run_##name(struct em_wave *w, const struct em_op *op) \
    {                                                                         \
        const uint32_t a = w->s[op->in.dst.code];                             \
        const uint32_t k = (uint32_t)(int16_t)op->in.simm16;                  \
        uint32_t scc = w->scc;                                                \
        uint32_t d = a;                                                       \
        BODY;                                                                 \
        w->scc = scc;                                                         \
        w->s[op->in.dst.code] = d;                                            \
        return em_scalar_done(w, op);                                         \
    }
/* u is the constant, zero-extended. The register is read, not written. */
#define COMPARE_CONSTANT(name, CONDITION)                                     \
    static enum em_flow run_##name(struct em_wave *w, const struct em_op *op) \
    {                                                                         \
        const uint32_t a = em_compared(w, op);                                \
        const int32_t k = (int16_t)op->in.simm16;                             \
        const uint32_t u = op->in.simm16;                                     \
        (void)k;                                                              \
        (void)u;                                                              \
        w->scc = (CONDITION);                                                 \
        return em_scalar_done(w, op);                                         \
    }

static inline int32_t s32(uint32_t x)
{
    return (int32_t)x;
}

static inline int64_t s64(uint64_t x)
{
    return (int64_t)x;
}

static inline uint32_t em_compared(const struct em_wave *w, const struct em_op *op)
{
    return op->in.dst.code < EM_SCALARS ? w->s[op->in.dst.code] : em_src32(w, op, 0);
}

static uint32_t carry_of(uint64_t sum)
{
    return (uint32_t)(sum >> 32) & 1;
}

/* Signed overflow of a + b = d. */
static uint32_t add_overflows(uint32_t a, uint32_t b, uint32_t d)
{
    return (~(a ^ b) & (a ^ d)) >> 31;
}

static uint32_t sub_overflows(uint32_t a, uint32_t b, uint32_t d)
{
    return ((a ^ b) & (a ^ d)) >> 31;
}

/* The field [offset, offset + width) of 64 bits; a field of no width is 0. */
static uint64_t field(uint64_t value, unsigned offset, unsigned width, bool extend)
{
    if (width == 0 || offset > 63) {
        return 0;
    }
    if (width > 64 - offset) {
        width = 64 - offset;
    }
    uint64_t top = value << (64 - width - offset);
    return extend ? (uint64_t)(s64(top) >> (64 - width)) : top >> (64 - width);
}

/* As field, of 32 bits; bits past bit 31 are the sign's or 0. */
static uint32_t field32(uint32_t value, uint32_t where, bool extend)
{
    unsigned offset = where & 31;
    unsigned width = where >> 16 & 127;
    if (width == 0) {
        return 0;
    }
    if (width > 32 - offset) {
        width = 32 - offset;
    }
    return (uint32_t)field(value, offset, width, extend);
}

BINARY32(s_add_u32, uint64_t sum = (uint64_t)a + b; d = (uint32_t)sum;
         scc = carry_of(sum))
BINARY32(s_sub_u32, d = a - b; scc = b > a)
BINARY32(s_add_i32, d = a + b; scc = add_overflows(a, b, d))
BINARY32(s_sub_i32, d = a - b; scc = sub_overflows(a, b, d))
BINARY32(s_addc_u32, uint64_t sum = (uint64_t)a + b + scc; d = (uint32_t)sum;
         scc = carry_of(sum))
BINARY32(s_subb_u32, d = a - b - scc; scc = (uint64_t)b + scc > a)
BINARY32(s_min_i32, scc = s32(a) < s32(b); d = scc ? a : b)
BINARY32(s_min_u32, scc = a < b; d = scc ? a : b)
BINARY32(s_max_i32, scc = s32(a) >= s32(b); d = scc ? a : b)
BINARY32(s_max_u32, scc = a >= b; d = scc ? a : b)
BINARY32(s_cselect_b32, d = scc ? a : b)
BINARY(s_cselect_b64, 64, 64, 64, d = scc ? a : b)

#define LOGIC(name, EXPRESSION)                                    \
    BINARY(name##_b32, 32, 32, 32, d = (EXPRESSION); scc = d != 0) \
    BINARY(name##_b64, 64, 64, 64, d = (EXPRESSION); scc = d != 0)
LOGIC(s_and, a &b)
LOGIC(s_or, a | b)
LOGIC(s_xor, a ^ b)
LOGIC(s_andn2, a & ~b)
LOGIC(s_orn2, a | ~b)
LOGIC(s_nand, ~(a &b))
LOGIC(s_nor, ~(a | b))
LOGIC(s_xnor, ~(a ^ b))

BINARY32(s_lshl_b32, d = a << (b & 31); scc = d != 0)
BINARY(s_lshl_b64, 64, 64, 32, d = a << (b & 63); scc = d != 0)
BINARY32(s_lshr_b32, d = a >> (b & 31); scc = d != 0)
BINARY(s_lshr_b64, 64, 64, 32, d = a >> (b & 63); scc = d != 0)
BINARY32(s_ashr_i32, d = (uint32_t)(s32(a) >> (b & 31)); scc = d != 0)
BINARY(s_ashr_i64, 64, 64, 32, d = (uint64_t)(s64(a) >> (b & 63)); scc = d != 0)
BINARY32(s_bfm_b32, d = ((UINT32_C(1) << (a & 31)) - 1) << (b & 31))
BINARY(s_bfm_b64, 64, 32, 32, d = ((UINT64_C(1) << (a & 63)) - 1) << (b & 63))
BINARY32(s_mul_i32, d = a * b)
BINARY32(s_mul_hi_u32, d = (uint32_t)((uint64_t)a * b >> 32))
BINARY32(s_mul_hi_i32, d = (uint32_t)((int64_t)s32(a) * s32(b) >> 32))
BINARY32(s_bfe_u32, d = field32(a, b, false); scc = d != 0)
BINARY32(s_bfe_i32, d = field32(a, b, true); scc = d != 0)
BINARY(s_bfe_u64, 64, 64, 32, d = field(a, b & 63, b >> 16 & 127, false); scc = d != 0)
BINARY(s_bfe_i64, 64, 64, 32, d = field(a, b & 63, b >> 16 & 127, true); scc = d != 0)
BINARY32(s_absdiff_i32, d = a - b; d = s32(d) < 0 ? 0 - d : d; scc = d != 0)

#define SHIFT_ADD(n)                                                       \
    BINARY32(s_lshl##n##_add_u32, uint64_t sum = ((uint64_t)a << (n)) + b; \
             d = (uint32_t)sum; scc = sum > UINT32_MAX)
SHIFT_ADD(1)
SHIFT_ADD(2)
SHIFT_ADD(3)
SHIFT_ADD(4)

BINARY32(s_pack_ll_b32_b16, d = (a & 0xffff) | b << 16)
BINARY32(s_pack_lh_b32_b16, d = (a & 0xffff) | (b & 0xffff0000))
BINARY32(s_pack_hh_b32_b16, d = a >> 16 | (b & 0xffff0000))

COMPARE32(s_cmp_eq_i32, a == b)
COMPARE32(s_cmp_lg_i32, a != b)
COMPARE32(s_cmp_gt_i32, s32(a) > s32(b))
COMPARE32(s_cmp_ge_i32, s32(a) >= s32(b))
COMPARE32(s_cmp_lt_i32, s32(a) < s32(b))
COMPARE32(s_cmp_le_i32, s32(a) <= s32(b))
COMPARE32(s_cmp_eq_u32, a == b)
COMPARE32(s_cmp_lg_u32, a != b)
COMPARE32(s_cmp_gt_u32, a > b)
COMPARE32(s_cmp_ge_u32, a >= b)
COMPARE32(s_cmp_lt_u32, a < b)
COMPARE32(s_cmp_le_u32, a <= b)
COMPARE(s_cmp_eq_u64, 64, 64, a == b)
COMPARE(s_cmp_lg_u64, 64, 64, a != b)
COMPARE32(s_bitcmp0_b32, (a >> (b & 31) & 1) == 0)
COMPARE32(s_bitcmp1_b32, (a >> (b & 31) & 1) == 1)
COMPARE(s_bitcmp0_b64, 64, 32, (a >> (b & 63) & 1) == 0)
COMPARE(s_bitcmp1_b64, 64, 32, (a >> (b & 63) & 1) == 1)

CONSTANT(s_movk_i32, d = k)
CONSTANT(s_cmovk_i32, d = scc ? k : d)
CONSTANT(s_addk_i32, d = a + k; scc = add_overflows(a, k, d))
CONSTANT(s_mulk_i32, d = a * k)
COMPARE_CONSTANT(s_cmpk_eq_i32, s32(a) == k)
COMPARE_CONSTANT(s_cmpk_lg_i32, s32(a) != k)
COMPARE_CONSTANT(s_cmpk_gt_i32, s32(a) > k)
COMPARE_CONSTANT(s_cmpk_ge_i32, s32(a) >= k)
COMPARE_CONSTANT(s_cmpk_lt_i32, s32(a) < k)
COMPARE_CONSTANT(s_cmpk_le_i32, s32(a) <= k)
COMPARE_CONSTANT(s_cmpk_eq_u32, a == u)
COMPARE_CONSTANT(s_cmpk_lg_u32, a != u)
COMPARE_CONSTANT(s_cmpk_gt_u32, a > u)
COMPARE_CONSTANT(s_cmpk_ge_u32, a >= u)
COMPARE_CONSTANT(s_cmpk_lt_u32, a < u)
COMPARE_CONSTANT(s_cmpk_le_u32, a <= u)

#define ROW(name, flags) { EM_##name, flags, EM_CLASS_SALU, run_##name },
#define LOGIC_ROWS(name) ROW(name##_b32, SCC_OUT) ROW(name##_b64, SCC_OUT)
/* clang-format off */
const struct em_scalar_row em_scalar_math[] = {
    ROW(s_add_u32, SCC_OUT) ROW(s_sub_u32, SCC_OUT)
    ROW(s_add_i32, SCC_OUT) ROW(s_sub_i32, SCC_OUT)
    ROW(s_addc_u32, SCC_BOTH) ROW(s_subb_u32, SCC_BOTH)
    ROW(s_min_i32, SCC_OUT) ROW(s_min_u32, SCC_OUT)
    ROW(s_max_i32, SCC_OUT) ROW(s_max_u32, SCC_OUT)
    ROW(s_cselect_b32, SCC_IN) ROW(s_cselect_b64, SCC_IN)
    LOGIC_ROWS(s_and) LOGIC_ROWS(s_xor) LOGIC_ROWS(s_andn2)
    LOGIC_ROWS(s_orn2) LOGIC_ROWS(s_nand) LOGIC_ROWS(s_nor) LOGIC_ROWS(s_xnor)
    ROW(s_or_b32, SCC_OUT)
    /* Compilers merge lane masks with it of which one is undefined outside of EXEC. */
    ROW(s_or_b64, SCC_OUT | EM_ANY_WRITTEN)
    ROW(s_lshl_b32, SCC_OUT) ROW(s_lshl_b64, SCC_OUT)
    ROW(s_lshr_b32, SCC_OUT) ROW(s_lshr_b64, SCC_OUT)
    ROW(s_ashr_i32, SCC_OUT) ROW(s_ashr_i64, SCC_OUT)
    ROW(s_bfm_b32, 0) ROW(s_bfm_b64, 0)
    ROW(s_mul_i32, 0) ROW(s_mul_hi_u32, 0) ROW(s_mul_hi_i32, 0)
    ROW(s_bfe_u32, SCC_OUT) ROW(s_bfe_i32, SCC_OUT)
    ROW(s_bfe_u64, SCC_OUT) ROW(s_bfe_i64, SCC_OUT)
    ROW(s_absdiff_i32, SCC_OUT)
    ROW(s_lshl1_add_u32, SCC_OUT) ROW(s_lshl2_add_u32, SCC_OUT)
    ROW(s_lshl3_add_u32, SCC_OUT) ROW(s_lshl4_add_u32, SCC_OUT)
    ROW(s_pack_ll_b32_b16, 0) ROW(s_pack_lh_b32_b16, 0) ROW(s_pack_hh_b32_b16, 0)
    ROW(s_cmp_eq_i32, SCC_OUT) ROW(s_cmp_lg_i32, SCC_OUT)
    ROW(s_cmp_gt_i32, SCC_OUT) ROW(s_cmp_ge_i32, SCC_OUT)
    ROW(s_cmp_lt_i32, SCC_OUT) ROW(s_cmp_le_i32, SCC_OUT)
    ROW(s_cmp_eq_u32, SCC_OUT) ROW(s_cmp_lg_u32, SCC_OUT)
    ROW(s_cmp_gt_u32, SCC_OUT) ROW(s_cmp_ge_u32, SCC_OUT)
    ROW(s_cmp_lt_u32, SCC_OUT) ROW(s_cmp_le_u32, SCC_OUT)
    ROW(s_cmp_eq_u64, SCC_OUT) ROW(s_cmp_lg_u64, SCC_OUT)
    ROW(s_bitcmp0_b32, SCC_OUT) ROW(s_bitcmp1_b32, SCC_OUT)
    ROW(s_bitcmp0_b64, SCC_OUT) ROW(s_bitcmp1_b64, SCC_OUT)
    ROW(s_movk_i32, 0) ROW(s_cmovk_i32, SCC_IN)
    ROW(s_addk_i32, SCC_OUT) ROW(s_mulk_i32, 0)
    ROW(s_cmpk_eq_i32, SCC_OUT) ROW(s_cmpk_lg_i32, SCC_OUT)
    ROW(s_cmpk_gt_i32, SCC_OUT) ROW(s_cmpk_ge_i32, SCC_OUT)
    ROW(s_cmpk_lt_i32, SCC_OUT) ROW(s_cmpk_le_i32, SCC_OUT)
    ROW(s_cmpk_eq_u32, SCC_OUT) ROW(s_cmpk_lg_u32, SCC_OUT)
    ROW(s_cmpk_gt_u32, SCC_OUT) ROW(s_cmpk_ge_u32, SCC_OUT)
    ROW(s_cmpk_lt_u32, SCC_OUT) ROW(s_cmpk_le_u32, SCC_OUT)
    { 0, 0, 0, NULL }
};
/* clang-format on */
