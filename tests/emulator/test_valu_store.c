/* How vector operations store their results: clamp, omod, parts of registers; what
 * lanes exchange with scalars; moved registers; what counts as written. */
#include "emulator/check/shadow.h"
#include "emulator/launch/group.h"
#include "tests/emulator/valu_case.h"

#include <criterion/criterion.h>

static struct em_wave *wave;
static struct em_group *group;
static uint64_t seed;

static void make_wave(void)
{
    wave = em_wave_create();
    group = calloc(1, sizeof(*group));
    cr_assert(wave && group);
    wave->group = group;
    wave->mode = 0xf0;
    seed = 0x13198a2e03707344;
}

static void drop_wave(void)
{
    em_shadow_destroy(wave->shadow);
    em_wave_destroy(wave);
    free(group);
}

TestSuite(valu_store, .init = make_wave, .fini = drop_wave);

static enum em_flow flow_of(const struct em_inst *in)
{
    struct em_op bound = { .in = *in };
    cr_assert(em_bind_valu(&bound), "%s", em_op_info((enum em_opcode)in->op)->name);
    return bound.run(wave, &bound);
}

static void run_inst(const struct em_inst *in)
{
    cr_assert_eq(flow_of(in), EM_GO);
}

/* op v0, v1, v2, v3 */
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

static void set(unsigned row, uint32_t value)
{
    for (unsigned lane = 0; lane < EM_LANES; lane++) {
        wave->v[row * EM_LANES + lane] = value;
    }
}

static uint32_t get(unsigned row, unsigned lane)
{
    return wave->v[row * EM_LANES + lane];
}

/* v_max of a value with itself, so that only the modifier changes it. */
static uint32_t modified(enum em_opcode op, uint32_t x, bool clamp, unsigned omod)
{
    struct em_inst in = inst(op, EM_VOP3, 2);
    set(1, x);
    set(2, x);
    in.clamp = clamp;
    in.omod = (uint8_t)omod;
    run_inst(&in);
    return get(0, 9);
}

Test(valu_store, clamp_keeps_floats_between_0_and_1)
{
    wave->mode |= EM_MODE_DX10_CLAMP;
    cr_assert_eq(modified(EM_v_max_f32, 0x3f000000, true, 0), 0x3f000000);
    cr_assert_eq(modified(EM_v_max_f32, 0x40000000, true, 0), 0x3f800000);
    cr_assert_eq(modified(EM_v_max_f32, 0xc0000000, true, 0), 0);
    cr_assert_eq(modified(EM_v_max_f32, 0x80000000, true, 0), 0);
    cr_assert_eq(modified(EM_v_max_f32, 0x7f800000, true, 0), 0x3f800000);
    cr_assert_eq(modified(EM_v_max_f32, 0x7fc00000, true, 0), 0);
    cr_assert_eq(modified(EM_v_max_f16, 0x3800, true, 0), 0x3800);
    cr_assert_eq(modified(EM_v_max_f16, 0x4000, true, 0), 0x3c00);
    cr_assert_eq(modified(EM_v_max_f16, 0xbc00, true, 0), 0);
    cr_assert_eq(modified(EM_v_max_f16, 0x7e00, true, 0), 0);
    wave->mode &= ~(uint32_t)EM_MODE_DX10_CLAMP;
    cr_assert_eq(modified(EM_v_max_f32, 0x7fc00000, true, 0), 0x7fc00000);
}

Test(valu_store, clamp_of_doubles)
{
    struct em_inst in = case_inst(EM_v_max_f64, EM_VOP3);
    case_dst(&in, vgpr(0));
    case_src(&in, 0, vgpr(2));
    case_src(&in, 1, vgpr(2));
    in.clamp = true;
    set(2, 0);
    set(3, 0x40000000); /* 2 */
    run_inst(&in);
    cr_assert_eq(case_pair(wave, 0, 3), UINT64_C(0x3ff0000000000000));
    set(3, 0xbff00000);
    run_inst(&in);
    cr_assert_eq(case_pair(wave, 0, 3), 0);
}

Test(valu_store, clamp_of_packed_floats)
{
    struct em_inst in = inst(EM_v_pk_add_f16, EM_VOP3P, 2);
    in.clamp = true;
    set(1, 0x3c00bc00); /* 1, -1 */
    set(2, 0x3c003800); /* 1, 0.5 */
    run_inst(&in);
    cr_assert_eq(get(0, 0), 0x3c000000);
    set(2, 0xb8003e00); /* -0.5, 1.5 */
    run_inst(&in);
    cr_assert_eq(get(0, 0), 0x38003800);
    struct em_inst wide = case_inst(EM_v_pk_add_f32, EM_VOP3P);
    case_dst(&wide, vgpr(0));
    case_src(&wide, 0, vgpr(2));
    case_src(&wide, 1, vgpr(4));
    wide.clamp = true;
    set(2, 0x3f800000);
    set(3, 0x3f800000);
    set(4, 0x3f800000);
    set(5, 0xc0000000);
    run_inst(&wide);
    cr_assert_eq(case_pair(wave, 0, 8), 0x3f800000);
}

Test(valu_store, omod_scales_where_denormals_are_flushed)
{
    cr_assert_eq(modified(EM_v_max_f32, 0x40400000, false, 1), 0x40400000);
    wave->mode = 0;
    cr_assert_eq(modified(EM_v_max_f32, 0x40400000, false, 1), 0x40c00000);
    cr_assert_eq(modified(EM_v_max_f32, 0x40400000, false, 2), 0x41400000);
    cr_assert_eq(modified(EM_v_max_f32, 0x40400000, false, 3), 0x3fc00000);
    cr_assert_eq(modified(EM_v_max_f32, 0x3f400000, true, 1), 0x3f800000);
    cr_assert_eq(modified(EM_v_max_f32, 0x00800000, false, 3), 0);
    cr_assert_eq(modified(EM_v_max_f32, 0x80000000, false, 1), 0);
    cr_assert_eq(modified(EM_v_max_f16, 0x3c00, false, 2), 0x4400);
    wave->mode = EM_MODE_IEEE;
    cr_assert_eq(modified(EM_v_max_f32, 0x40400000, false, 1), 0x40400000);
}

Test(valu_store, halves_and_bytes_leave_the_rest_of_the_register)
{
    set(0, 0xaaaabbbb);
    set(1, 0x3f800000);
    set(2, 0x40000000);
    set(3, 0x40400000); /* 1 * 2 + 3 = 5: 0x4500 */
    struct em_inst in = inst(EM_v_fma_mixlo_f16, EM_VOP3P, 3);
    in.op_sel_hi = 0;
    run_inst(&in);
    cr_assert_eq(get(0, 0), 0xaaaa4500);
    in = inst(EM_v_fma_mixhi_f16, EM_VOP3P, 3);
    in.op_sel_hi = 0;
    run_inst(&in);
    cr_assert_eq(get(0, 0), 0x45004500);
    /* 1 and 2 as FNUZ fp8: 0x40, 0x48. */
    set(0, 0xaaaabbbb);
    in = inst(EM_v_cvt_pk_fp8_f32, EM_VOP3, 2);
    run_inst(&in);
    cr_assert_eq(get(0, 0), 0xaaaa4840);
    in.op_sel = 8;
    set(0, 0xaaaabbbb);
    run_inst(&in);
    cr_assert_eq(get(0, 0), 0x4840bbbb);
    for (unsigned byte = 0; byte < 4; byte++) {
        set(0, 0xaaaabbbb);
        in = inst(EM_v_cvt_sr_fp8_f32, EM_VOP3, 2);
        case_src(&in, 1, EM_INT_0);
        in.op_sel = (uint8_t)(byte << 2);
        run_inst(&in);
        uint32_t mask = 0xffU << (8 * byte);
        cr_assert_eq(get(0, 0), (0xaaaabbbb & ~mask) | (0x40U << (8 * byte)));
    }
}

/* What came before gfx9 writes zeros above 16 bits. */
Test(valu_store, old_16_bit_results_clear_the_high_half)
{
    set(0, 0xaaaabbbb);
    set(1, 0xffff0001);
    set(2, 0xffff0002);
    struct em_inst in = inst(EM_v_add_u16, EM_VOP2, 2);
    em_set_s64(wave, EM_EXEC, 2);
    run_inst(&in);
    cr_assert_eq(get(0, 1), 3);
    cr_assert_eq(get(0, 0), 0xaaaabbbb);
}

Test(valu_store, lanes_and_scalars)
{
    case_fill(wave, 4, &seed);
    struct em_inst first = case_inst(EM_v_readfirstlane_b32, EM_VOP1);
    case_dst(&first, EM_SGPR0 + 3);
    case_src(&first, 0, vgpr(1));
    em_set_s64(wave, EM_EXEC, UINT64_C(0xf0) << 32);
    run_inst(&first);
    cr_assert_eq(wave->s[3], get(1, 36));
    em_set_s64(wave, EM_EXEC, 0);
    run_inst(&first);
    cr_assert_eq(wave->s[3], get(1, 0));
    struct em_inst read = case_inst(EM_v_readlane_b32, EM_VOP3);
    case_dst(&read, EM_SGPR0 + 4);
    case_src(&read, 0, vgpr(1));
    case_src(&read, 1, EM_SGPR0 + 5);
    wave->s[5] = 64 + 63;
    run_inst(&read);
    cr_assert_eq(wave->s[4], get(1, 63));
    struct em_inst write = case_inst(EM_v_writelane_b32, EM_VOP3);
    case_dst(&write, vgpr(2));
    case_src(&write, 0, EM_INT_0 + 42);
    case_src(&write, 1, EM_INT_0 + 7);
    case_src(&write, 2, vgpr(2));
    uint32_t neighbour = get(2, 8);
    run_inst(&write); /* with EXEC = 0 */
    cr_assert_eq(get(2, 7), 42);
    cr_assert_eq(get(2, 8), neighbour);
}

Test(valu_store, swap_exchanges_active_lanes)
{
    set(0, 1);
    set(1, 2);
    struct em_inst in = inst(EM_v_swap_b32, EM_VOP1, 1);
    em_set_s64(wave, EM_EXEC, 1);
    run_inst(&in);
    cr_assert(get(0, 0) == 2 && get(1, 0) == 1);
    cr_assert(get(0, 1) == 1 && get(1, 1) == 2);
}

/* v_mqsad_u32_u8 v[0:3], v[4:5], v6, v[8:11] */
Test(valu_store, mqsad_sums_four_windows)
{
    struct em_inst in = case_inst(EM_v_mqsad_u32_u8, EM_VOP3);
    case_dst(&in, vgpr(0));
    case_src(&in, 0, vgpr(4));
    case_src(&in, 1, vgpr(6));
    case_src(&in, 2, vgpr(8));
    set(4, 0x03020100);
    set(5, 0x07060504);
    set(6, 0x00100000); /* the byte of the window above two others */
    for (unsigned i = 0; i < 4; i++) {
        set(8 + i, 1000 * i);
    }
    em_set_s64(wave, EM_EXEC, UINT64_C(1) << 63);
    run_inst(&in);
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(get(i, 63), 1000 * i + 16 - (2 + i));
        cr_assert_eq(get(i, 0), 0);
    }
    set(11, 0xffffffff);
    in.clamp = true;
    run_inst(&in);
    cr_assert_eq(get(3, 63), 0xffffffff);
}

Test(valu_store, cmpx_writes_exec_and_its_mask)
{
    struct em_inst in = case_inst(EM_v_cmpx_gt_u32, EM_VOPC);
    in.dst = (struct em_operand){ EM_VCC, 2, EM_MASK };
    case_src(&in, 0, EM_INT_0 + 8);
    case_src(&in, 1, vgpr(1));
    for (unsigned lane = 0; lane < EM_LANES; lane++) {
        wave->v[EM_LANES + lane] = lane;
    }
    em_set_s64(wave, EM_EXEC, ~UINT64_C(1));
    run_inst(&in);
    cr_assert_eq(em_exec(wave), 0xfe);
    cr_assert_eq(em_s64(wave, EM_VCC), 0xfe);
}

Test(valu_store, without_active_lanes_only_masks_are_written)
{
    set(0, 5);
    set(1, 0xffffffff);
    set(2, 1);
    em_set_s64(wave, EM_EXEC, 0);
    em_set_s64(wave, EM_VCC, ~UINT64_C(0));
    struct em_inst in = inst(EM_v_add_co_u32, EM_VOP2, 2);
    case_sdst(&in, EM_VCC);
    run_inst(&in);
    cr_assert_eq(get(0, 0), 5);
    cr_assert_eq(em_s64(wave, EM_VCC), 0);
}

Test(valu_store, set_gpr_idx_moves_registers_by_m0)
{
    for (unsigned i = 0; i < 20; i++) {
        set(i, i);
    }
    struct em_inst in = inst(EM_v_add_u32, EM_VOP2, 2); /* v0 = v1 + v2 */
    wave->s[EM_M0] = 0xabcd1003;                        /* only bits 7:0 count */
    wave->gpr_idx = 1;
    run_inst(&in);
    cr_assert_eq(get(0, 0), 4 + 2);
    wave->gpr_idx = 2 | 8;
    run_inst(&in);
    cr_assert_eq(get(3, 0), 1 + 5);
    cr_assert_eq(wave->gpr_idx, 10);
    struct em_inst scalar = in;
    case_src(&scalar, 0, EM_SGPR0 + 4); /* scalars stay */
    wave->s[4] = 100;
    wave->gpr_idx = 1;
    run_inst(&scalar);
    cr_assert_eq(get(0, 0), 102);
    /* v_fmac reads the register that it writes. */
    struct em_inst sum = inst(EM_v_fmac_f32, EM_VOP3, 2);
    case_src(&sum, 2, vgpr(0));
    set(1, 0x40000000);
    set(2, 0x40400000);
    set(3, 0x3f800000);
    wave->gpr_idx = 8;
    run_inst(&sum);
    cr_assert_eq(get(3, 0), 0x40e00000); /* 2 * 3 + 1 */
    wave->gpr_idx = 1;
    wave->vgprs = 8;
    wave->s[EM_M0] = 7;
    cr_assert_eq(flow_of(&in), EM_FAULTED);
    cr_assert_eq(group->fault.kind, EM_FAULT_BAD_REGISTER);
}

Test(valu_store, operands_of_the_wrong_kind_are_refused)
{
    struct em_op bound = { .in = inst(EM_v_add_u32, EM_VOP2, 2) };
    bound.in.dst.code = EM_SGPR0;
    cr_assert_not(em_bind_valu(&bound));
    bound.in = case_inst(EM_v_cmp_eq_u32, EM_VOP3);
    case_src(&bound.in, 0, vgpr(0));
    case_src(&bound.in, 1, vgpr(0));
    case_dst(&bound.in, 127); /* a pair would end behind the scalars */
    cr_assert_not(em_bind_valu(&bound));
    bound.in.dst.code = EM_INT_0;
    cr_assert_not(em_bind_valu(&bound));
    bound.in = inst(EM_v_readfirstlane_b32, EM_VOP1, 1);
    cr_assert_not(em_bind_valu(&bound));
    bound.in = inst(EM_v_mov_b32, EM_VOP1, 0);
    case_src(&bound.in, 0, EM_LDS_DIRECT); /* is not emulated */
    cr_assert_not(em_bind_valu(&bound));
}

static void watch(void)
{
    wave->shadow = em_shadow_create();
    cr_assert_not_null(wave->shadow);
}

Test(valu_store, a_result_is_written_where_all_sources_are)
{
    watch();
    wave->shadow->v[1] = 0xff;
    wave->shadow->v[2] = 0x3c;
    struct em_inst in = inst(EM_v_add_u32, EM_VOP2, 2);
    em_set_s64(wave, EM_EXEC, 0xf0f0);
    wave->shadow->v[0] = 0xf;
    run_inst(&in);
    cr_assert_eq(wave->shadow->v[0], 0x3f);
    struct em_inst same = inst(EM_v_xor_b32, EM_VOP2, 1);
    case_src(&same, 1, vgpr(1));
    em_set_s64(wave, EM_EXEC, ~UINT64_C(0));
    wave->shadow->v[1] = 0;
    run_inst(&same);
    cr_assert_eq(wave->shadow->v[0], ~UINT64_C(0));
    struct em_inst scalar = inst(EM_v_mov_b32, EM_VOP1, 0);
    case_src(&scalar, 0, EM_SGPR0);
    run_inst(&scalar);
    cr_assert_eq(wave->shadow->v[0], 0);
}

/* Compilers leave the upper dword of a pair unwritten whose lower one is all they need.
 */
Test(valu_store, the_dwords_of_a_sum_count_each_for_itself)
{
    watch();
    struct em_inst in = case_inst(EM_v_lshl_add_u64, EM_VOP3);
    case_dst(&in, vgpr(0));
    case_src(&in, 0, vgpr(2));
    case_src(&in, 1, EM_INT_0 + 2);
    case_src(&in, 2, vgpr(4));
    wave->shadow->v[2] = wave->shadow->v[3] = ~UINT64_C(0);
    wave->shadow->v[4] = ~UINT64_C(0);
    wave->shadow->v[5] = 0xf;
    run_inst(&in);
    cr_assert_eq(wave->shadow->v[0], ~UINT64_C(0));
    cr_assert_eq(wave->shadow->v[1], 0xf);
}

/* A vector of bytes that a loop fills starts with a register that nothing wrote. */
Test(valu_store, a_byte_put_into_an_unwritten_register_is_written)
{
    watch();
    wave->shadow->v[2] = 0xf0;
    wave->shadow->v[3] = 0x3c;
    struct em_inst in = inst(EM_v_bfi_b32, EM_VOP3, 3);
    case_src(&in, 0, EM_SGPR0);
    run_inst(&in);
    cr_assert_eq(wave->shadow->v[0], 0);
    em_shadow_set_scalar(wave->shadow, EM_SGPR0, 1, true);
    run_inst(&in);
    cr_assert_eq(wave->shadow->v[0], 0xfc);
    /* copysign */
    case_src(&in, 0, EM_LITERAL);
    in.literal = 0x7fffffff;
    run_inst(&in);
    cr_assert_eq(wave->shadow->v[0], 0x30);
}

Test(valu_store, halves_put_together_are_written_where_one_is)
{
    watch();
    wave->shadow->v[1] = 0xf0;
    wave->shadow->v[2] = 0x3c;
    wave->shadow->v[3] = 0x0f;
    struct em_inst pack = inst(EM_v_pack_b32_f16, EM_VOP3, 2);
    run_inst(&pack);
    cr_assert_eq(wave->shadow->v[0], 0xfc);
    struct em_inst perm = inst(EM_v_perm_b32, EM_VOP3, 3);
    run_inst(&perm);
    cr_assert_eq(wave->shadow->v[0], 0x0c);
}

Test(valu_store, cndmask_asks_for_the_chosen_source_and_the_mask)
{
    watch();
    wave->shadow->v[1] = 0x0f;
    wave->shadow->v[2] = 0xf0;
    struct em_inst in = inst(EM_v_cndmask_b32, EM_VOP3, 2);
    case_mask(&in, EM_VCC);
    em_set_s64(wave, EM_VCC, 0x33);
    run_inst(&in);
    cr_assert_eq(wave->shadow->v[0], 0);
    em_shadow_set_scalar(wave->shadow, EM_VCC, 2, true);
    run_inst(&in);
    cr_assert_eq(wave->shadow->v[0], 0x0c | 0x30);
}

static bool scalar_written(unsigned code)
{
    return wave->shadow->s[code / 64] >> (code % 64) & 1;
}

Test(valu_store, masks_and_scalars_are_written_as_their_lanes_are)
{
    watch();
    struct em_inst in = case_inst(EM_v_cmp_eq_u32, EM_VOP3);
    case_dst(&in, EM_SGPR0 + 6);
    case_src(&in, 0, vgpr(1));
    case_src(&in, 1, EM_INT_0);
    wave->shadow->v[1] = 0xff;
    em_set_s64(wave, EM_EXEC, 0x1ff);
    run_inst(&in);
    cr_assert_not(scalar_written(6));
    em_set_s64(wave, EM_EXEC, 0xf0);
    run_inst(&in);
    cr_assert(scalar_written(6) && scalar_written(7));
    struct em_inst first = case_inst(EM_v_readfirstlane_b32, EM_VOP1);
    case_dst(&first, EM_SGPR0 + 3);
    case_src(&first, 0, vgpr(1));
    run_inst(&first);
    cr_assert(scalar_written(3));
    em_set_s64(wave, EM_EXEC, 0x100);
    run_inst(&first);
    cr_assert_not(scalar_written(3));
}

Test(valu_store, dpp_carries_the_state_of_the_lane_that_is_read)
{
    watch();
    struct em_inst in = inst(EM_v_mov_b32, EM_VOP1, 1);
    in.extra = EM_DPP;
    in.dpp_ctrl = 0x111; /* row_shr:1 */
    wave->shadow->v[0] = 1;
    wave->shadow->v[1] = 0x6;
    run_inst(&in);
    cr_assert_eq(wave->shadow->v[0] & 0x1f, 1 | 0xc);
    wave->shadow->v[0] = 0;
    run_inst(&in); /* lane 0 has no source and is not written */
    cr_assert_eq(wave->shadow->v[0] & 0x1f, 0xc);
    in.bound_ctrl = true;
    run_inst(&in); /* now it is 0 */
    cr_assert_eq(wave->shadow->v[0] & 0x1f, 1 | 0xc);
}

Test(valu_store, cmpx_of_unwritten_values_is_a_fault)
{
    watch();
    struct em_inst in = case_inst(EM_v_cmpx_eq_u32, EM_VOPC);
    in.dst = (struct em_operand){ EM_VCC, 2, EM_MASK };
    case_src(&in, 0, EM_INT_0);
    case_src(&in, 1, vgpr(1));
    wave->shadow->v[1] = ~UINT64_C(0x10);
    em_set_s64(wave, EM_EXEC, 0xf);
    run_inst(&in);
    em_set_s64(wave, EM_EXEC, 0x1f);
    cr_assert_eq(flow_of(&in), EM_FAULTED);
    cr_assert_eq(group->fault.kind, EM_FAULT_UNINITIALISED);
    cr_assert_eq(group->fault.lane, 4);
}
