/* The reference for scalar instructions. Numbers are kept in 128 bits, so that nothing
 * wraps by itself; bits are looked at one by one. */
#include "scalar_reference.h"

typedef __int128 wide;

static wide as_signed(uint64_t x, unsigned bits)
{
    wide value = (wide)x;
    return x >> (bits - 1) & 1 ? value - ((wide)1 << bits) : value;
}

static uint64_t cut(wide x, unsigned bits)
{
    return (uint64_t)(x & (((wide)1 << bits) - 1));
}

static bool bit(uint64_t x, unsigned i)
{
    return i < 64 && (x >> i & 1) != 0;
}

static unsigned count(uint64_t x, unsigned bits, bool value)
{
    unsigned n = 0;
    for (unsigned i = 0; i < bits; i++) {
        n += bit(x, i) == value;
    }
    return n;
}

/* Index of the first bit of that value from below; -1. */
static wide find_up(uint64_t x, unsigned bits, bool value)
{
    for (unsigned i = 0; i < bits; i++) {
        if (bit(x, i) == value) {
            return i;
        }
    }
    return -1;
}

/* How many bits from the top until one of that value; -1. */
static wide find_down(uint64_t x, unsigned bits, bool value)
{
    for (unsigned i = 0; i < bits; i++) {
        if (bit(x, bits - 1 - i) == value) {
            return i;
        }
    }
    return -1;
}

static uint64_t reversed(uint64_t x, unsigned bits)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < bits; i++) {
        r = r << 1 | (bit(x, i) ? 1 : 0);
    }
    return r;
}

static uint64_t quads(uint64_t x, unsigned bits, bool whole)
{
    uint64_t r = 0;
    for (unsigned q = 0; q < bits / 4; q++) {
        bool any = bit(x, 4 * q) || bit(x, 4 * q + 1) || bit(x, 4 * q + 2) ||
                   bit(x, 4 * q + 3);
        for (unsigned i = 0; any && i < (whole ? 4U : 1U); i++) {
            r |= UINT64_C(1) << (whole ? 4 * q + i : q);
        }
    }
    return r;
}

/* The field of b: offset in its low bits, width from bit 16 on. */
static uint64_t extract(uint64_t a, uint64_t b, unsigned bits, bool with_sign)
{
    unsigned offset = (unsigned)(b & (bits - 1));
    unsigned width = (unsigned)(b >> 16 & 127);
    uint64_t r = 0;
    unsigned n = 0;
    for (; n < width && offset + n < bits; n++) {
        r |= (uint64_t)bit(a, offset + n) << n;
    }
    bool sign = with_sign && n > 0 && bit(r, n - 1);
    for (; sign && n < bits; n++) {
        r |= UINT64_C(1) << n;
    }
    return r;
}

static uint64_t ones(unsigned n)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < n; i++) {
        r |= UINT64_C(1) << i;
    }
    return r;
}

static uint64_t logic(unsigned kind, uint64_t a, uint64_t b, unsigned bits)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < bits; i++) {
        bool x = bit(a, i), y = bit(b, i);
        bool table[8] = { x && y,  x || y,    x != y,    x && !y,
                          x || !y, !(x && y), !(x || y), x == y };
        r |= (uint64_t)table[kind] << i;
    }
    return r;
}

static void put(struct scalar_result *r, wide value, unsigned bits)
{
    r->writes = true;
    r->d = cut(value, bits);
}

static void put_scc(struct scalar_result *r, wide value, unsigned bits)
{
    put(r, value, bits);
    r->scc = r->d != 0;
}

/* Carry, borrow or overflow. */
static void put_sum(struct scalar_result *r, wide exact, bool with_sign)
{
    put(r, exact, 32);
    r->scc = with_sign ? as_signed(r->d, 32) != exact : exact != (wide)r->d;
}

/* clang-format off */
static bool arithmetic(enum em_opcode op,
                       const struct scalar_case *c,
                       struct scalar_result *r)
{
    const wide a = (wide)c->a, b = (wide)c->b, scc = c->scc;
    const wide sa = as_signed(c->a, 32), sb = as_signed(c->b, 32);
    wide difference = as_signed(cut(a - b, 32), 32);
    switch ((int)op) {
    case EM_s_add_u32: put_sum(r, a + b, false); return true;
    case EM_s_sub_u32: put_sum(r, a - b, false); return true;
    case EM_s_add_i32: put_sum(r, sa + sb, true); return true;
    case EM_s_sub_i32: put_sum(r, sa - sb, true); return true;
    case EM_s_addc_u32: put_sum(r, a + b + scc, false); return true;
    case EM_s_subb_u32: put_sum(r, a - b - scc, false); return true;
    case EM_s_lshl1_add_u32: put_sum(r, a * 2 + b, false); return true;
    case EM_s_lshl2_add_u32: put_sum(r, a * 4 + b, false); return true;
    case EM_s_lshl3_add_u32: put_sum(r, a * 8 + b, false); return true;
    case EM_s_lshl4_add_u32: put_sum(r, a * 16 + b, false); return true;
    case EM_s_min_i32: put(r, sa < sb ? a : b, 32); r->scc = sa < sb; return true;
    case EM_s_min_u32: put(r, a < b ? a : b, 32); r->scc = a < b; return true;
    case EM_s_max_i32: put(r, sa < sb ? b : a, 32); r->scc = !(sa < sb); return true;
    case EM_s_max_u32: put(r, a < b ? b : a, 32); r->scc = !(a < b); return true;
    case EM_s_mul_i32: put(r, a * b, 32); return true;
    case EM_s_mul_hi_u32: put(r, (a * b) >> 32, 32); return true;
    case EM_s_mul_hi_i32: put(r, (sa * sb) >> 32, 32); return true;
    case EM_s_absdiff_i32: put_scc(r, difference < 0 ? -difference : difference, 32); return true;
    case EM_s_abs_i32: put_scc(r, sa < 0 ? -sa : sa, 32); return true;
    case EM_s_cselect_b32: put(r, scc ? a : b, 32); return true;
    case EM_s_cselect_b64: put(r, scc ? a : b, 64); return true;
    case EM_s_pack_ll_b32_b16: put(r, a % 65536 + (b % 65536) * 65536, 32); return true;
    case EM_s_pack_lh_b32_b16: put(r, a % 65536 + (b / 65536) * 65536, 32); return true;
    case EM_s_pack_hh_b32_b16: put(r, a / 65536 + (b / 65536) * 65536, 32); return true;
    default:
        return false;
    }
}

static bool shifts(enum em_opcode op,
                   const struct scalar_case *c,
                   struct scalar_result *r)
{
    const wide a = (wide)c->a;
    const unsigned n5 = (unsigned)(c->b % 32), n6 = (unsigned)(c->b % 64);
    switch ((int)op) {
    case EM_s_lshl_b32: put_scc(r, a << n5, 32); return true;
    case EM_s_lshl_b64: put_scc(r, a << n6, 64); return true;
    case EM_s_lshr_b32: put_scc(r, a >> n5, 32); return true;
    case EM_s_lshr_b64: put_scc(r, a >> n6, 64); return true;
    case EM_s_ashr_i32: put_scc(r, as_signed(c->a, 32) >> n5, 32); return true;
    case EM_s_ashr_i64: put_scc(r, as_signed(c->a, 64) >> n6, 64); return true;
    case EM_s_bfm_b32: put(r, (wide)ones(c->a % 32) << n5, 32); return true;
    case EM_s_bfm_b64: put(r, (wide)ones(c->a % 64) << n6, 64); return true;
    case EM_s_bfe_u32: put_scc(r, extract(c->a, c->b, 32, false), 32); return true;
    case EM_s_bfe_i32: put_scc(r, extract(c->a, c->b, 32, true), 32); return true;
    case EM_s_bfe_u64: put_scc(r, extract(c->a, c->b, 64, false), 64); return true;
    case EM_s_bfe_i64: put_scc(r, extract(c->a, c->b, 64, true), 64); return true;
    case EM_s_bitset0_b32: put(r, c->old & ~(UINT64_C(1) << c->a % 32), 32); return true;
    case EM_s_bitset0_b64: put(r, c->old & ~(UINT64_C(1) << c->a % 64), 64); return true;
    case EM_s_bitset1_b32: put(r, c->old | UINT64_C(1) << c->a % 32, 32); return true;
    case EM_s_bitset1_b64: put(r, c->old | UINT64_C(1) << c->a % 64, 64); return true;
    case EM_s_bitcmp0_b32: r->scc = !bit(c->a, n5); return true;
    case EM_s_bitcmp1_b32: r->scc = bit(c->a, n5); return true;
    case EM_s_bitcmp0_b64: r->scc = !bit(c->a, n6); return true;
    case EM_s_bitcmp1_b64: r->scc = bit(c->a, n6); return true;
    default:
        return false;
    }
}

static bool one_operand(enum em_opcode op,
                        const struct scalar_case *c,
                        struct scalar_result *r)
{
    const uint64_t a = c->a;
    uint64_t twice = 0;
    for (unsigned i = 0; i < 64; i++) {
        twice |= (uint64_t)bit(a, i / 2) << i;
    }
    switch ((int)op) {
    case EM_s_mov_b32: put(r, (wide)a, 32); return true;
    case EM_s_mov_b64: put(r, (wide)a, 64); return true;
    case EM_s_cmov_b32: put(r, (wide)(c->scc ? a : c->old), 32); return true;
    case EM_s_cmov_b64: put(r, (wide)(c->scc ? a : c->old), 64); return true;
    case EM_s_not_b32: put_scc(r, -1 - (wide)a, 32); return true;
    case EM_s_not_b64: put_scc(r, -1 - (wide)a, 64); return true;
    case EM_s_wqm_b32: put_scc(r, quads(a, 32, true), 32); return true;
    case EM_s_wqm_b64: put_scc(r, quads(a, 64, true), 64); return true;
    case EM_s_quadmask_b32: put_scc(r, quads(a, 32, false), 32); return true;
    case EM_s_quadmask_b64: put_scc(r, quads(a, 64, false), 64); return true;
    case EM_s_brev_b32: put(r, reversed(a, 32), 32); return true;
    case EM_s_brev_b64: put(r, reversed(a, 64), 64); return true;
    case EM_s_bcnt0_i32_b32: put_scc(r, count(a, 32, false), 32); return true;
    case EM_s_bcnt0_i32_b64: put_scc(r, count(a, 64, false), 32); return true;
    case EM_s_bcnt1_i32_b32: put_scc(r, count(a, 32, true), 32); return true;
    case EM_s_bcnt1_i32_b64: put_scc(r, count(a, 64, true), 32); return true;
    case EM_s_ff0_i32_b32: put(r, find_up(a, 32, false), 32); return true;
    case EM_s_ff0_i32_b64: put(r, find_up(a, 64, false), 32); return true;
    case EM_s_ff1_i32_b32: put(r, find_up(a, 32, true), 32); return true;
    case EM_s_ff1_i32_b64: put(r, find_up(a, 64, true), 32); return true;
    case EM_s_flbit_i32_b32: put(r, find_down(a, 32, true), 32); return true;
    case EM_s_flbit_i32_b64: put(r, find_down(a, 64, true), 32); return true;
    case EM_s_flbit_i32: put(r, find_down(a, 32, !bit(a, 31)), 32); return true;
    case EM_s_flbit_i32_i64: put(r, find_down(a, 64, !bit(a, 63)), 32); return true;
    case EM_s_sext_i32_i8: put(r, as_signed(a % 256, 8), 32); return true;
    case EM_s_sext_i32_i16: put(r, as_signed(a % 65536, 16), 32); return true;
    case EM_s_bitreplicate_b64_b32: put(r, (wide)twice, 64); return true;
    default:
        return false;
    }
}

/* clang-format on */

static bool logical(enum em_opcode op,
                    const struct scalar_case *c,
                    struct scalar_result *r)
{
    static const uint16_t narrow[] = { EM_s_and_b32,   EM_s_or_b32,   EM_s_xor_b32,
                                       EM_s_andn2_b32, EM_s_orn2_b32, EM_s_nand_b32,
                                       EM_s_nor_b32,   EM_s_xnor_b32 };
    static const uint16_t full[] = { EM_s_and_b64,   EM_s_or_b64,   EM_s_xor_b64,
                                     EM_s_andn2_b64, EM_s_orn2_b64, EM_s_nand_b64,
                                     EM_s_nor_b64,   EM_s_xnor_b64 };
    static const uint16_t saving[] = { EM_s_and_saveexec_b64,  EM_s_or_saveexec_b64,
                                       EM_s_xor_saveexec_b64,  EM_s_andn2_saveexec_b64,
                                       EM_s_orn2_saveexec_b64, EM_s_nand_saveexec_b64,
                                       EM_s_nor_saveexec_b64,  EM_s_xnor_saveexec_b64 };
    for (unsigned i = 0; i < 8; i++) {
        if (op == narrow[i] || op == full[i]) {
            unsigned bits = op == full[i] ? 64 : 32;
            put_scc(r, logic(i, c->a, c->b, bits), bits);
            return true;
        }
        if (op == saving[i]) {
            r->exec = logic(i, c->a, c->exec, 64);
            r->scc = r->exec != 0;
            put(r, (wide)c->exec, 64);
            return true;
        }
    }
    switch ((int)op) {
    case EM_s_andn1_saveexec_b64:
        r->exec = logic(3, c->exec, c->a, 64);
        break;
    case EM_s_orn1_saveexec_b64:
        r->exec = logic(4, c->exec, c->a, 64);
        break;
    case EM_s_andn1_wrexec_b64:
        r->exec = logic(3, c->exec, c->a, 64);
        break;
    case EM_s_andn2_wrexec_b64:
        r->exec = logic(3, c->a, c->exec, 64);
        break;
    default:
        return false;
    }
    bool saves = op == EM_s_andn1_saveexec_b64 || op == EM_s_orn1_saveexec_b64;
    r->scc = r->exec != 0;
    put(r, (wide)(saves ? c->exec : r->exec), 64);
    return true;
}

/* lt, eq, gt: which of the three the operands are. */
static bool compares(enum em_opcode op,
                     const struct scalar_case *c,
                     struct scalar_result *r)
{
    static const struct {
        uint16_t with_sign, without, with_sign_k, without_k;
        bool lt, eq, gt;
    } rows[] = {
        { EM_s_cmp_eq_i32, EM_s_cmp_eq_u32, EM_s_cmpk_eq_i32, EM_s_cmpk_eq_u32, 0, 1,
          0 },
        { EM_s_cmp_lg_i32, EM_s_cmp_lg_u32, EM_s_cmpk_lg_i32, EM_s_cmpk_lg_u32, 1, 0,
          1 },
        { EM_s_cmp_gt_i32, EM_s_cmp_gt_u32, EM_s_cmpk_gt_i32, EM_s_cmpk_gt_u32, 0, 0,
          1 },
        { EM_s_cmp_ge_i32, EM_s_cmp_ge_u32, EM_s_cmpk_ge_i32, EM_s_cmpk_ge_u32, 0, 1,
          1 },
        { EM_s_cmp_lt_i32, EM_s_cmp_lt_u32, EM_s_cmpk_lt_i32, EM_s_cmpk_lt_u32, 1, 0,
          0 },
        { EM_s_cmp_le_i32, EM_s_cmp_le_u32, EM_s_cmpk_le_i32, EM_s_cmpk_le_u32, 1, 1,
          0 },
    };
    if (op == EM_s_cmp_eq_u64 || op == EM_s_cmp_lg_u64) {
        r->scc = (c->a == c->b) == (op == EM_s_cmp_eq_u64);
        return true;
    }
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        wide a, b;
        if (op == rows[i].with_sign || op == rows[i].with_sign_k) {
            a = as_signed(c->a, 32);
            b = op == rows[i].with_sign ? as_signed(c->b, 32)
                                        : as_signed(c->constant, 16);
        } else if (op == rows[i].without || op == rows[i].without_k) {
            a = (wide)c->a;
            b = op == rows[i].without ? (wide)c->b : (wide)c->constant;
        } else {
            continue;
        }
        r->scc = a < b ? rows[i].lt : a == b ? rows[i].eq : rows[i].gt;
        return true;
    }
    return false;
}

/* clang-format off */
static bool constants(enum em_opcode op,
                      const struct scalar_case *c,
                      struct scalar_result *r)
{
    const wide k = as_signed(c->constant, 16);
    switch ((int)op) {
    case EM_s_movk_i32: put(r, k, 32); return true;
    case EM_s_cmovk_i32: put(r, c->scc ? k : (wide)c->old, 32); return true;
    case EM_s_addk_i32: put_sum(r, as_signed(c->old, 32) + k, true); return true;
    case EM_s_mulk_i32: put(r, as_signed(c->old, 32) * k, 32); return true;
    default:
        return false;
    }
}

/* clang-format on */

bool scalar_reference(enum em_opcode op,
                      const struct scalar_case *c,
                      struct scalar_result *ret)
{
    *ret = (struct scalar_result){ .scc = c->scc, .exec = c->exec };
    return arithmetic(op, c, ret) || shifts(op, c, ret) || one_operand(op, c, ret) ||
           logical(op, c, ret) || compares(op, c, ret) || constants(op, c, ret);
}
