/* How vector operations get their sources: DPP, SDWA, halves, neg and abs, each lane
 * against what the instruction's fields say about that lane alone. */
#include "tests/emulator/valu_case.h"

#include <criterion/criterion.h>

enum {
    ROWS = 8
};

static struct em_wave *wave;
static uint64_t seed;

static void make_wave(void)
{
    wave = em_wave_create();
    cr_assert_not_null(wave);
    wave->mode = 0xf0;
    seed = 0x243f6a8885a308d3;
}

static void drop_wave(void)
{
    em_wave_destroy(wave);
}

TestSuite(valu_run, .init = make_wave, .fini = drop_wave);

static void run_inst(const struct em_inst *in)
{
    struct em_op bound = { .in = *in };
    cr_assert(em_bind_valu(&bound), "%s", em_op_info((enum em_opcode)in->op)->name);
    cr_assert_eq(bound.run(wave, &bound), EM_GO);
}

/* op v0, v1, v2 with everything else as `op` has it. */
static struct em_inst inst(enum em_opcode op,
                           enum em_encoding encoding,
                           unsigned sources)
{
    struct em_inst in = case_inst(op, encoding);
    case_dst(&in, vgpr(0));
    for (unsigned i = 0; i < sources; i++) {
        case_src(&in, i, vgpr(1 + i));
    }
    return in;
}

static uint32_t get(unsigned row, unsigned lane)
{
    return wave->v[row * EM_LANES + lane];
}

/* DPP: the lane that `lane` reads; -1: none. */
static int dpp_source(unsigned ctrl, int lane)
{
    int row = lane / 16;
    int in_row = lane % 16;
    int n = (int)ctrl & 15;
    if (ctrl <= 0xff) {
        return lane / 4 * 4 + (int)(ctrl >> (2 * (lane % 4)) & 3);
    }
    switch (ctrl & 0x1f0) {
    case 0x100: /* row_shl */
        return in_row + n < 16 ? lane + n : -1;
    case 0x110: /* row_shr */
        return in_row - n >= 0 ? lane - n : -1;
    case 0x120: /* row_ror */
        return row * 16 + (in_row + 16 - n) % 16;
    case 0x150: /* row_newbcast */
        return row * 16 + n;
    default:
        break;
    }
    switch (ctrl) {
    case 0x130: /* wave_shl:1 */
        return lane < 63 ? lane + 1 : -1;
    case 0x134: /* wave_rol:1 */
        return (lane + 1) % 64;
    case 0x138: /* wave_shr:1 */
        return lane - 1;
    case 0x13c: /* wave_ror:1 */
        return (lane + 63) % 64;
    case 0x140: /* row_mirror */
        return row * 16 + 15 - in_row;
    case 0x141: /* row_half_mirror */
        return lane / 8 * 8 + 7 - lane % 8;
    case 0x142: /* row_bcast:15 */
        return row > 0 ? row * 16 - 1 : -1;
    default: /* row_bcast:31 */
        return row > 1 ? 31 : -1;
    }
}

static bool dpp_exists(unsigned ctrl)
{
    if (ctrl <= 0xff || (ctrl >= 0x150 && ctrl <= 0x15f)) {
        return true;
    }
    return (ctrl >= 0x101 && ctrl <= 0x12f && ctrl % 16 != 0) || ctrl == 0x130 ||
           ctrl == 0x134 || ctrl == 0x138 || ctrl == 0x13c ||
           (ctrl >= 0x140 && ctrl <= 0x143);
}

/* v_sub_u32 v0, v1, v2 with DPP on v1: what v0 must be. */
static void check_dpp(const struct em_inst *in, bool wide)
{
    uint32_t before[ROWS * EM_LANES];
    memcpy(before, wave->v, sizeof(before));
    uint64_t exec = em_exec(wave);
    run_inst(in);
    for (int lane = 0; lane < 64; lane++) {
        int from = dpp_source(in->dpp_ctrl, lane);
        bool valid = from >= 0 && (exec >> from & 1);
        bool enabled = (exec >> lane & 1) && (in->row_mask >> (lane / 16) & 1) &&
                       (in->bank_mask >> (lane % 16 / 4) & 1) &&
                       (valid || in->bound_ctrl);
        for (unsigned dword = 0; dword <= wide; dword++) {
            uint32_t source = valid ? before[(1 + dword) * 64 + (unsigned)from] : 0;
            uint32_t result = wide ? source : source - before[2 * 64 + lane];
            uint32_t expected = enabled ? result : before[dword * 64 + (unsigned)lane];
            cr_assert_eq(
                get(dword, (unsigned)lane), expected,
                "ctrl %03x row_mask %x bank_mask %x bound_ctrl %d EXEC %016lx: "
                "lane %d dword %u",
                in->dpp_ctrl, in->row_mask, in->bank_mask, in->bound_ctrl,
                (unsigned long)exec, lane, dword);
        }
    }
}

Test(valu_run, dpp_reads_other_lanes)
{
    for (unsigned ctrl = 0; ctrl < 0x200; ctrl++) {
        struct em_inst in = inst(EM_v_sub_u32, EM_VOP2, 2);
        in.extra = EM_DPP;
        in.dpp_ctrl = (uint16_t)ctrl;
        if (!dpp_exists(ctrl)) {
            struct em_op bound = { .in = in };
            cr_assert_not(em_bind_valu(&bound), "ctrl %03x", ctrl);
            continue;
        }
        for (unsigned n = 0; n < 8; n++) {
            case_fill(wave, ROWS, &seed);
            em_set_s64(wave, EM_EXEC, n < 2 ? ~UINT64_C(0) : case_exec(&seed));
            in.bound_ctrl = n & 1;
            in.row_mask = n < 4 ? 15 : case_random(&seed) & 15;
            in.bank_mask = n < 4 ? 15 : case_random(&seed) & 15;
            check_dpp(&in, false);
        }
    }
}

Test(valu_run, dpp_moves_both_dwords_of_64_bits)
{
    for (unsigned n = 0; n < 16; n++) {
        struct em_inst in = case_inst(EM_v_mov_b64, EM_VOP1);
        case_dst(&in, vgpr(0));
        case_src(&in, 0, vgpr(1));
        in.extra = EM_DPP;
        in.dpp_ctrl = (uint16_t)(0x150 + n);
        case_fill(wave, ROWS, &seed);
        check_dpp(&in, true);
    }
}

static uint32_t sdwa_select(uint32_t x, unsigned select, bool sext)
{
    switch (select) {
    case EM_SEL_DWORD:
        return x;
    case EM_SEL_WORD_0:
    case EM_SEL_WORD_1: {
        uint32_t word = select == EM_SEL_WORD_1 ? x / 65536 : x % 65536;
        return sext && word >= 0x8000 ? word + 0xffff0000 : word;
    }
    default: {
        uint32_t byte = x >> (8 * select) & 255;
        return sext && byte >= 128 ? byte + 0xffffff00 : byte;
    }
    }
}

static uint32_t sdwa_result(uint32_t x, uint32_t old, unsigned select, unsigned unused)
{
    if (select == EM_SEL_DWORD) {
        return x;
    }
    bool byte = select <= EM_SEL_BYTE_3;
    unsigned first = byte ? 8 * select : 16 * (select - EM_SEL_WORD_0);
    unsigned bits = byte ? 8 : 16;
    uint32_t out = 0;
    for (unsigned i = 0; i < 32; i++) {
        uint32_t bit = 0;
        if (i >= first && i < first + bits) {
            bit = x >> (i - first) & 1;
        } else if (unused == 2) {
            bit = old >> i & 1;
        } else if (unused == 1 && i >= first + bits) {
            bit = x >> (bits - 1) & 1;
        }
        out |= bit << i;
    }
    return out;
}

static void check_sdwa(struct em_inst *in)
{
    uint32_t before[ROWS * EM_LANES];
    case_fill(wave, ROWS, &seed);
    em_set_s64(wave, EM_EXEC, case_exec(&seed));
    memcpy(before, wave->v, sizeof(before));
    run_inst(in);
    for (unsigned lane = 0; lane < EM_LANES; lane++) {
        uint32_t x = sdwa_select(before[64 + lane], in->src_sel[0], in->sext & 1);
        uint32_t y = sdwa_select(before[128 + lane], in->src_sel[1], in->sext & 2);
        uint32_t expected =
            sdwa_result(x + y, before[lane], in->dst_sel, in->dst_unused);
        expected = em_exec(wave) >> lane & 1 ? expected : before[lane];
        cr_assert_eq(get(0, lane), expected,
                     "dst_sel %u dst_unused %u src_sel %u %u sext %u: %08x, not %08x",
                     in->dst_sel, in->dst_unused, in->src_sel[0], in->src_sel[1],
                     in->sext, get(0, lane), expected);
    }
}

Test(valu_run, sdwa_selects_extends_and_places)
{
    struct em_inst in = inst(EM_v_add_u32, EM_VOP2, 2);
    in.extra = EM_SDWA;
    for (unsigned n = 0; n < 7 * 7 * 7 * 3 * 4; n++) {
        in.src_sel[0] = (uint8_t)(n % 7);
        in.src_sel[1] = (uint8_t)(n / 7 % 7);
        in.dst_sel = (uint8_t)(n / 49 % 7);
        in.dst_unused = (uint8_t)(n / 343 % 3);
        in.sext = (uint8_t)(n / 1029 % 4);
        check_sdwa(&in);
    }
}

/* Of a source with neg and abs; abs comes first. */
static uint64_t signs(uint64_t x, bool neg, bool abs, unsigned top)
{
    uint64_t bit = UINT64_C(1) << top;
    x = abs ? x & ~bit : x;
    return neg ? x ^ bit : x;
}

Test(valu_run, neg_and_abs_change_the_sign_of_the_operands_type)
{
    for (unsigned n = 0; n < 16; n++) {
        case_fill(wave, ROWS, &seed);
        uint32_t before[ROWS * EM_LANES];
        memcpy(before, wave->v, sizeof(before));
        struct em_inst in = inst(EM_v_cndmask_b32, EM_VOP3, 2);
        case_mask(&in, EM_VCC);
        in.neg = (uint8_t)(n & 3);
        in.abs = (uint8_t)(n >> 2);
        run_inst(&in);
        for (unsigned lane = 0; lane < EM_LANES; lane++) {
            bool second = em_s64(wave, EM_VCC) >> lane & 1;
            uint32_t x = before[(second ? 128 : 64) + lane];
            cr_assert_eq(get(0, lane),
                         signs(x, in.neg >> second & 1, in.abs >> second & 1, 31));
        }
        struct em_inst half = inst(EM_v_cmp_lt_f16, EM_VOP3, 1);
        half.dst = (struct em_operand){ EM_VCC, 2, EM_MASK };
        case_src(&half, 1, EM_INT_0);
        half.neg = n & 1;
        half.abs = n >> 1 & 1;
        struct em_inst wide = inst(EM_v_cmp_lt_f64, EM_VOP3, 1);
        wide.dst = (struct em_operand){ EM_SGPR0, 2, EM_MASK };
        case_src(&wide, 1, EM_INT_0);
        wide.neg = half.neg;
        wide.abs = half.abs;
        run_inst(&half);
        run_inst(&wide);
        for (unsigned lane = 0; lane < EM_LANES; lane++) {
            uint64_t x = signs(get(1, lane) & 0xffff, half.neg, half.abs, 15);
            bool below = x > 0x8000 && x <= 0xfc00;
            cr_assert_eq(em_s64(wave, EM_VCC) >> lane & 1, below);
            x = signs(case_pair(wave, 1, lane), wide.neg, wide.abs, 63);
            below = x > UINT64_C(1) << 63 && x <= UINT64_C(0xfff) << 52;
            cr_assert_eq(em_s64(wave, EM_SGPR0) >> lane & 1, below);
        }
    }
}

/* v_sub_i16 v0, v1, v2: op_sel's bits 0, 1 choose the sources' halves, 3 the result's.
 */
Test(valu_run, op_sel_chooses_halves_and_preserves_the_other)
{
    for (unsigned op_sel = 0; op_sel < 16; op_sel++) {
        case_fill(wave, ROWS, &seed);
        uint32_t before[ROWS * EM_LANES];
        memcpy(before, wave->v, sizeof(before));
        struct em_inst in = inst(EM_v_sub_i16, EM_VOP3, 2);
        in.op_sel = (uint8_t)op_sel;
        run_inst(&in);
        for (unsigned lane = 0; lane < EM_LANES; lane++) {
            uint32_t x = before[64 + lane] >> (op_sel & 1 ? 16 : 0);
            uint32_t y = before[128 + lane] >> (op_sel & 2 ? 16 : 0);
            uint32_t result = (x - y) & 0xffff;
            uint32_t old = before[lane];
            cr_assert_eq(get(0, lane), op_sel & 8 ? result << 16 | (old & 0xffff)
                                                  : result | (old & 0xffff0000));
        }
    }
}

static uint32_t half(uint32_t x, bool high)
{
    return high ? x >> 16 : x & 0xffff;
}

Test(valu_run, packed_16_bit_operands_choose_halves)
{
    static const uint16_t second[] = { EM_VGPR0 + 2, EM_SGPR0 + 4, EM_INT_0 + 7 };
    for (unsigned n = 0; n < 16 * 3; n++) {
        case_fill(wave, ROWS, &seed);
        uint32_t before[ROWS * EM_LANES];
        memcpy(before, wave->v, sizeof(before));
        struct em_inst in = inst(EM_v_pk_sub_u16, EM_VOP3P, 1);
        case_src(&in, 1, second[n / 16]);
        in.op_sel = n & 3;
        in.op_sel_hi = n >> 2 & 3;
        run_inst(&in);
        for (unsigned lane = 0; lane < EM_LANES; lane++) {
            uint32_t x = before[64 + lane];
            uint32_t y = n < 16 ? before[128 + lane] : n < 32 ? wave->s[4] : 7;
            uint32_t low = half(x, in.op_sel & 1) - half(y, in.op_sel & 2);
            uint32_t high = half(x, in.op_sel_hi & 1) - half(y, in.op_sel_hi & 2);
            cr_assert_eq(get(0, lane), (low & 0xffff) | high << 16);
        }
    }
}

static void set_single(unsigned row, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    for (unsigned lane = 0; lane < EM_LANES; lane++) {
        wave->v[row * EM_LANES + lane] = bits;
    }
}

static float single(unsigned row, unsigned lane)
{
    float value;
    memcpy(&value, &wave->v[row * EM_LANES + lane], sizeof(value));
    return value;
}

/* v_pk_fma_f32 v[0:1], v[2:3], s[4:5], v[6:7]: with every choice of halves and signs.
 */
Test(valu_run, packed_singles_choose_halves_of_pairs)
{
    static const float a[2] = { 3, 5 };
    static const float b[2] = { 7, 11 };
    static const float c[2] = { 1000, 2000 };
    for (unsigned n = 0; n < 4096; n += 7) {
        struct em_inst in = case_inst(EM_v_pk_fma_f32, EM_VOP3P);
        case_dst(&in, vgpr(0));
        case_src(&in, 0, vgpr(2));
        case_src(&in, 1, EM_SGPR0 + 4);
        case_src(&in, 2, vgpr(6));
        for (unsigned i = 0; i < 2; i++) {
            set_single(2 + i, a[i]);
            set_single(6 + i, c[i]);
            memcpy(&wave->s[4 + i], &b[i], sizeof(b[i]));
        }
        in.op_sel = n & 7;
        in.op_sel_hi = n >> 3 & 7;
        in.neg = n >> 6 & 7;
        in.neg_hi = n >> 9 & 7;
        run_inst(&in);
        for (unsigned i = 0; i < 2; i++) {
            unsigned select = i ? in.op_sel_hi : in.op_sel;
            unsigned neg = i ? in.neg_hi : in.neg;
            float x = a[select & 1] * (neg & 1 ? -1.0F : 1.0F);
            float y = b[select >> 1 & 1] * (neg & 2 ? -1.0F : 1.0F);
            float z = c[select >> 2 & 1] * (neg & 4 ? -1.0F : 1.0F);
            cr_assert_eq(single(i, 17), x * y + z, "op_sel %u op_sel_hi %u half %u",
                         in.op_sel, in.op_sel_hi, i);
        }
    }
}

/* A pair of scalars is two values, not the low one twice. */
Test(valu_run, packed_singles_read_both_scalars_of_a_pair)
{
    static const float pair[2] = { 2, 3 };
    memcpy(&wave->s[8], pair, sizeof(pair));
    set_single(2, 10);
    set_single(3, 100);
    struct em_inst in = case_inst(EM_v_pk_mul_f32, EM_VOP3P);
    case_dst(&in, vgpr(0));
    case_src(&in, 0, EM_SGPR0 + 8);
    case_src(&in, 1, vgpr(2));
    run_inst(&in);
    cr_assert_eq(single(0, 0), 20);
    cr_assert_eq(single(1, 63), 300);
    struct em_inst mov = case_inst(EM_v_pk_mov_b32, EM_VOP3P);
    case_dst(&mov, vgpr(0));
    case_src(&mov, 0, EM_SGPR0 + 8);
    case_src(&mov, 1, EM_SGPR0 + 8);
    mov.op_sel = 1; /* high half of source 0, low half of source 1 */
    run_inst(&mov);
    cr_assert_eq(single(0, 5), 3);
    cr_assert_eq(single(1, 5), 2);
    mov.op_sel = 2;
    run_inst(&mov);
    cr_assert_eq(single(0, 5), 2);
    cr_assert_eq(single(1, 5), 3);
}

/* v_fma_mix_f32 v0, v1, v2, v3: each source is a single or a half of the register. */
Test(valu_run, mixed_operands_are_singles_or_halves)
{
    for (unsigned n = 0; n < 4096; n += 5) {
        struct em_inst in = inst(EM_v_fma_mix_f32, EM_VOP3P, 3);
        in.op_sel = n & 7;
        in.op_sel_hi = n >> 3 & 7;
        in.neg = n >> 6 & 7;
        in.abs = n >> 9 & 7;
        float value[3];
        for (unsigned i = 0; i < 3; i++) {
            bool is_half = in.op_sel_hi >> i & 1;
            bool high = in.op_sel >> i & 1;
            set_single(1 + i, i == 2 ? 100 : -3);
            value[i] = i == 2 ? 100 : -3;
            if (is_half) {
                /* -2 in the low half, 4 in the high one. */
                for (unsigned lane = 0; lane < EM_LANES; lane++) {
                    wave->v[(1 + i) * EM_LANES + lane] = 0x4400c000;
                }
                value[i] = high ? 4 : -2;
            }
            value[i] = in.abs >> i & 1 && value[i] < 0 ? -value[i] : value[i];
            value[i] = in.neg >> i & 1 ? -value[i] : value[i];
        }
        run_inst(&in);
        cr_assert_eq(single(0, 33), value[0] * value[1] + value[2]);
    }
}
