/* Floating-point operations as whole instructions: what op_sel, SDWA, clamp, VCC and
 * the destination have to do with them. Worked out by hand. */
#include "tests/emulator/valu_case.h"
#include "tests/emulator/valu_float_case.h"

#include <criterion/criterion.h>

static struct em_wave *wave;

static void make_wave(void)
{
    wave = em_wave_create();
    cr_assert_not_null(wave);
    wave->mode = float_mode(0, 0, 3, 3);
}

static void drop_wave(void)
{
    em_wave_destroy(wave);
}

TestSuite(valu_float_run, .init = make_wave, .fini = drop_wave);

/* op v0, v2, v4, v6: pairs fit. */
static struct em_inst inst(enum em_opcode op, enum em_encoding encoding, unsigned count)
{
    struct em_inst in = case_inst(op, encoding);
    case_dst(&in, vgpr(0));
    for (unsigned i = 0; i < count; i++) {
        case_src(&in, i, vgpr(2 + 2 * i));
    }
    return in;
}

static void set(unsigned row, uint32_t value)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        wave->v[row * EM_LANES + i] = value;
    }
}

static void set_f32(unsigned row, float value)
{
    set(row, (uint32_t)bits_of_f32(value));
}

static uint32_t run(const struct em_inst *in)
{
    struct em_op bound = { .in = *in };
    cr_assert(em_bind_valu(&bound), "%s", em_op_info((enum em_opcode)in->op)->name);
    cr_assert_eq(bound.run(wave, &bound), EM_GO);
    return wave->v[33];
}

Test(valu_float_run, mixed_takes_halves_and_keeps_the_other_half)
{
    struct em_inst in = inst(EM_v_fma_mixhi_f16, EM_VOP3P, 3);
    set(0, 0xaaaabbbb);
    set(2, 0x40000000); /* high half 2 */
    set_f32(4, 3);
    set(6, 0x7c003c00);                 /* low half 1 */
    in.op_sel_hi = 5;                   /* sources 0 and 2 are f16 */
    in.op_sel = 1;                      /* source 0 the high half */
    cr_expect_eq(run(&in), 0x4700bbbb); /* 2 * 3 + 1 */
    in.op = EM_v_fma_mixlo_f16;
    cr_expect_eq(run(&in), 0x47004700);
    in.op = EM_v_fma_mix_f32;
    in.neg = 1;
    in.dst.type = EM_F32;
    cr_expect_eq(run(&in), bits_of_f32(-5));
}

Test(valu_float_run, eight_bits_go_where_op_sel_says)
{
    struct em_inst in = inst(EM_v_cvt_pk_fp8_f32, EM_VOP3, 2);
    set(0, 0x11223344);
    set_f32(2, 1);
    set_f32(4, -2);
    cr_expect_eq(run(&in), 0x1122c840);
    in.op_sel = 8;
    cr_expect_eq(run(&in), 0xc840c840);
    in = inst(EM_v_cvt_sr_bf8_f32, EM_VOP3, 2);
    set(4, 0);
    in.op_sel = 8; /* byte 2 */
    cr_expect_eq(run(&in), 0xc840c840);
    set_f32(2, 4);
    cr_expect_eq(run(&in), 0xc848c840);
}

Test(valu_float_run, eight_bits_come_from_where_sdwa_says)
{
    struct em_inst in = inst(EM_v_cvt_f32_fp8, EM_VOP1, 1);
    set(2, 0x48c04038);
    in.extra = EM_SDWA;
    in.dst_sel = EM_SEL_DWORD;
    in.src_sel[0] = EM_SEL_BYTE_2;
    cr_expect_eq(run(&in), bits_of_f32(-1));
    in = inst(EM_v_cvt_pk_f32_fp8, EM_VOP1, 1);
    in.extra = EM_SDWA;
    in.dst_sel = EM_SEL_DWORD;
    in.src_sel[0] = EM_SEL_WORD_1;
    cr_expect_eq(run(&in), bits_of_f32(-1));
    cr_expect_eq(wave->v[EM_LANES + 33], bits_of_f32(2));
}

/* A pair of scalars gives a value to each half. */
Test(valu_float_run, packed_f32_takes_both_scalars)
{
    struct em_inst in = inst(EM_v_pk_mul_f32, EM_VOP3P, 2);
    set_f32(2, 3);
    set_f32(3, 5);
    case_src(&in, 1, 8);
    wave->s[8] = (uint32_t)bits_of_f32(2);
    wave->s[9] = (uint32_t)bits_of_f32(7);
    cr_expect_eq(run(&in), bits_of_f32(6));
    cr_expect_eq(wave->v[EM_LANES + 33], bits_of_f32(35));
}

Test(valu_float_run, packed_f16_clamps_each_half)
{
    struct em_inst in = inst(EM_v_pk_add_f16, EM_VOP3P, 2);
    set(2, 0x3c00bc00);
    set(4, 0x3c003800);
    cr_expect_eq(run(&in), 0x4000b800);
    in.clamp = true;
    cr_expect_eq(run(&in), 0x3c000000);
}

/* 1 / 3 in place, with the quotient far from 1 so that VCC matters. */
Test(valu_float_run, division_uses_vcc)
{
    const float numerator = 0x1p-100F, denominator = 3;
    struct em_inst scale = inst(EM_v_div_scale_f32, EM_VOP3, 3);
    set_f32(2, denominator);
    set_f32(4, denominator);
    set_f32(6, numerator);
    case_sdst(&scale, 10);
    cr_expect_eq(run(&scale), bits_of_f32(denominator));
    set_f32(2, numerator);
    case_sdst(&scale, EM_VCC);
    wave->s[EM_VCC] = 0;
    cr_expect_eq(run(&scale), bits_of_f32(0x1p-36F));
    cr_expect_eq(em_s64(wave, EM_VCC), ~UINT64_C(0));
    /* The quotient so far, and no error. */
    struct em_inst fmas = inst(EM_v_div_fmas_f32, EM_VOP3, 3);
    set_f32(2, 0);
    set_f32(4, 0);
    set_f32(6, 0x1p-36F / 3);
    case_mask(&fmas, EM_VCC);
    em_set_s64(wave, EM_VCC, UINT64_C(1) << 33);
    cr_expect_eq(run(&fmas), bits_of_f32(0x1p-100F / 3));
    cr_expect_eq(wave->v[32], bits_of_f32(0x1p-36F / 3));
}

Test(valu_float_run, results_may_replace_sources)
{
    struct em_inst in = inst(EM_v_fma_f64, EM_VOP3, 3);
    for (unsigned i = 0; i < 3; i++) {
        case_src(&in, i, vgpr(0));
    }
    set(0, 0);
    set(1, 0x40080000); /* 3 */
    (void)run(&in);
    cr_expect_eq(case_pair(wave, 0, 33), bits_of_f64(12));
    in = inst(EM_v_fmac_f32, EM_VOP2, 2);
    set_f32(0, 1);
    set_f32(2, 2);
    set_f32(4, 3);
    cr_expect_eq(run(&in), bits_of_f32(7));
    cr_expect_eq(run(&in), bits_of_f32(13));
    /* Under a MODE of the slow path, too. */
    wave->mode = float_mode(3, 3, 0, 0);
    cr_expect_eq(run(&in), bits_of_f32(19));
    in = inst(EM_v_mac_f16, EM_VOP2, 2);
    set(0, 0x3c00);
    set(2, 0x4000);
    set(4, 0x4200);
    cr_expect_eq(run(&in) & 0xffff, 0x4700);
}

Test(valu_float_run, literals_multiply_and_add)
{
    struct em_inst in = inst(EM_v_fmamk_f32, EM_VOP2, 2);
    const struct em_operand literal = { EM_LITERAL, 1, EM_F32 };
    in.literal = (uint32_t)bits_of_f32(10);
    in.src[2] = in.src[1];
    in.src[1] = literal;
    set_f32(2, 2);
    set_f32(4, 3);
    cr_expect_eq(run(&in), bits_of_f32(23));
    in.op = EM_v_fmaak_f32;
    in.src[1] = in.src[2];
    in.src[2] = literal;
    cr_expect_eq(run(&in), bits_of_f32(16));
}
