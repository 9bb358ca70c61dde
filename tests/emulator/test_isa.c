/* Instructions by hand: what the decoder makes of them, and how they are printed. */
#include "emulator/isa/encode.h"

#include <criterion/criterion.h>
#include <string.h>

static struct em_inst decode(uint32_t low, uint32_t high)
{
    const uint32_t words[2] = { low, high };
    struct em_inst in;
    cr_assert_eq(em_decode(words, 2, &in), EM_DECODED, "%08x %08x", low, high);
    return in;
}

static void expect_text(uint32_t low, uint32_t high, const char *expected)
{
    const struct em_inst in = decode(low, high);
    char text[200];
    cr_expect_eq(em_print(&in, text, sizeof(text)), strlen(expected));
    cr_expect_str_eq(text, expected);
}

static void expect_status(uint32_t low, uint32_t high, enum em_decode_status status)
{
    const uint32_t words[2] = { low, high };
    struct em_inst in;
    struct em_inst zero;
    memset(&zero, 0, sizeof(zero));
    zero.bytes = 4;
    cr_expect_eq(em_decode(words, 2, &in), status, "%08x %08x", low, high);
    cr_expect_arr_eq(&in, &zero, sizeof(in));
}

Test(isa, a_literal_is_the_second_word)
{
    const struct em_inst in = decode(0x8000ff01, 0x12345678); /* s_add_u32 */
    cr_expect_eq(in.op, EM_s_add_u32);
    cr_expect_eq(in.bytes, 8);
    cr_expect_eq(in.dst.code, EM_SGPR0);
    cr_expect_eq(in.src[0].code, EM_SGPR0 + 1);
    cr_expect_eq(in.src[1].code, EM_LITERAL);
    cr_expect_eq(in.literal, 0x12345678);
    expect_text(0x8000ff01, 0x12345678, "s_add_u32 s0, s1, 0x12345678");
}

/* Of an F64 it is the upper half; the top bit is the sign. */
Test(isa, a_literal_of_64_bits_may_have_its_top_bit_set)
{
    const struct em_inst in = decode(0x7e021eff, 0x80000000);
    cr_expect_eq(in.op, EM_v_cvt_f32_f64);
    cr_expect_eq(in.src[0].code, EM_LITERAL);
    cr_expect_eq(in.src[0].type, EM_F64);
    expect_text(0x7e021eff, 0x80000000, "v_cvt_f32_f64_e32 v1, 0x80000000");
    expect_text(0x7e021eff, 0xfff80000, "v_cvt_f32_f64_e32 v1, 0xfff80000");
}

Test(isa, accumulating_operations_read_their_destination)
{
    const struct em_inst in = decode(0x76040602, 0); /* v_fmac_f32 v2, s2, v3 */
    cr_expect_eq(in.op, EM_v_fmac_f32);
    cr_expect_eq(in.src[0].code, EM_SGPR0 + 2);
    cr_expect_eq(in.src[2].code, EM_VGPR0 + 2);
    cr_expect_eq(in.dst.code, EM_VGPR0 + 2);
}

Test(isa, vcc_is_implied_where_the_encoding_has_no_field_for_it)
{
    const struct em_inst in = decode(0x38020602, 0); /* v_addc_co_u32_e32 */
    cr_expect_eq(in.op, EM_v_addc_co_u32);
    cr_expect_eq(in.sdst.code, EM_VCC);
    cr_expect_eq(in.src[3].code, EM_VCC);
    cr_expect_eq(in.src[3].type, EM_MASK);
    cr_expect_eq(in.src[2].code, EM_NONE);
    expect_text(0x38020602, 0, "v_addc_co_u32_e32 v1, vcc, s2, v3, vcc");
}

Test(isa, a_mask_of_vop3_is_the_fourth_source_too)
{
    const struct em_inst in = decode(0xd1000001, 0x00120602); /* v_cndmask_b32_e64 */
    cr_expect_eq(in.op, EM_v_cndmask_b32);
    cr_expect_eq(in.src[3].code, EM_SGPR0 + 4);
    cr_expect_eq(in.src[3].dwords, 2);
    expect_text(0xd1000001, 0x00120602, "v_cndmask_b32_e64 v1, s2, v3, s[4:5]");
    cr_expect_eq(in.src[1].code, EM_VGPR0 + 3);
}

Test(isa, modifiers_of_vop3)
{
    /* v_fma_f32 v1, -v2, |v3|, v4 clamp mul:2 */
    const struct em_inst in = decode(0xd1cb8201, 0x2c120702);
    cr_expect_eq(in.neg, 1);
    cr_expect_eq(in.abs, 2);
    cr_expect(in.clamp);
    cr_expect_eq(in.omod, 1);
    expect_text(0xd1cb8201, 0x2c120702, "v_fma_f32 v1, -v2, |v3|, v4 clamp mul:2");
}

Test(isa, integers_have_no_neg)
{
    expect_status(0xd1340001, 0x20020702, EM_UNKNOWN); /* v_add_u32_e64 with neg */
}

Test(isa, mfma_in_accumulation_registers)
{
    const struct em_inst in = decode(0xd3cd8000, 0x1c020d04 | 0x400);
    cr_expect_eq(in.op, EM_v_mfma_f32_16x16x16_f16);
    cr_expect_eq(in.dst.code, EM_AGPR0);
    cr_expect_eq(in.dst.dwords, 4);
    cr_expect_eq(in.src[0].code, EM_AGPR0 + 4);
    cr_expect_eq(in.src[0].dwords, 2);
    cr_expect_eq(in.src[1].code, EM_AGPR0 + 6);
    cr_expect_eq(in.src[2].code, EM_AGPR0);
}

Test(isa, dpp_newbcast)
{
    const struct em_inst in = decode(0x0a0204fa, 0xff015f03); /* v_mul_f32_dpp */
    cr_expect_eq(in.extra, EM_DPP);
    cr_expect_eq(in.dpp_ctrl, 0x15f);
    cr_expect_eq(in.row_mask, 15);
    expect_text(0x0a0204fa, 0xff015f03,
                "v_mul_f32_dpp v1, v3, v2 row_newbcast:15 row_mask:0xf bank_mask:0xf");
    expect_status(0x0a0204fa, 0xff016f03, EM_UNKNOWN); /* row_xmask */
}

Test(isa, sdwa_compare_writes_what_it_names)
{
    const struct em_inst in = decode(0x7c8a02f9, 0x00068405);
    cr_expect_eq(in.dst.code, EM_SGPR0 + 4);
    cr_expect_eq(in.src_sel[0], EM_SEL_DWORD);
    cr_expect_eq(in.src_sel[1], EM_SEL_BYTE_0);
}

Test(isa, waits_that_are_at_their_maximum_are_not_printed)
{
    expect_text(0xbf8c0f70, 0, "s_waitcnt vmcnt(0)");
    expect_text(0xbf8cc07f, 0, "s_waitcnt lgkmcnt(0)");
    expect_text(0xbf8ccf7f, 0, "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)");
}

Test(isa, scalar_memory)
{
    const struct em_inst in = decode(0xc0060102, 0x001ffff8);
    cr_expect_eq(in.op, EM_s_load_dwordx2);
    cr_expect_eq(in.dst.code, EM_SGPR0 + 4);
    cr_expect_eq(in.dst.dwords, 2);
    cr_expect_eq(in.src[0].code, EM_SGPR0 + 4);
    cr_expect_eq(in.offset, -8);
    expect_text(0xc0060102, 0x001ffff8, "s_load_dwordx2 s[4:5], s[4:5], -0x8");
}

Test(isa, global_addresses)
{
    const struct em_inst off = decode(0xdc508000 | 0x1ff8, 0x017f0002);
    cr_expect_eq(off.op, EM_global_load_dword);
    cr_expect_eq(off.offset, -8);
    cr_expect_eq(off.src[0].dwords, 2);
    cr_expect_eq(off.src[2].code, EM_NONE);
    const struct em_inst base = decode(0xdc508000, 0x01040003);
    cr_expect_eq(base.src[0].dwords, 1);
    cr_expect_eq(base.src[2].code, EM_SGPR0 + 4);
    expect_text(0xdc508000, 0x01040003, "global_load_dword v1, v3, s[4:5]");
}

Test(isa, an_atomic_has_a_result_only_where_it_returns)
{
    cr_expect_eq(decode(0xdd088000, 0x037f0402).dst.code, EM_NONE);
    cr_expect_eq(decode(0xdd098000, 0x037f0402).dst.code, EM_VGPR0 + 3);
}

Test(isa, a_buffer_load_into_lds_has_no_register)
{
    const struct em_inst in = decode(0xe0511000, 0x80010002);
    cr_expect_eq(in.op, EM_buffer_load_dword);
    cr_expect(in.lds && in.offen);
    cr_expect_eq(in.dst.code, EM_NONE);
    expect_text(0xe0511000, 0x80010002, "buffer_load_dword v2, s[4:7], 0 offen lds");
}

Test(isa, vector_tuples_begin_on_an_even_register)
{
    expect_status(0x7e00070b | 0x100, 0, EM_UNKNOWN); /* v_cvt_i32_f64 v0, v[11:12] */
    (void)decode(0x7e00070a | 0x100, 0);
}

Test(isa, what_is_cut_off_is_told)
{
    const uint32_t words[] = { 0x8000ff01, 0xd1cb8201, 0xdc508000 };
    struct em_inst in;
    for (unsigned i = 0; i < 3; i++) {
        cr_expect_eq(em_decode(&words[i], 1, &in), EM_TRUNCATED);
        cr_expect_eq(in.bytes, 4);
    }
    cr_expect_eq(em_decode(words, 0, &in), EM_TRUNCATED);
}

Test(isa, vop3_has_no_literal)
{
    expect_status(0xd1cb0001, 0x041206ff, EM_UNKNOWN);
}

Test(isa, text_is_cut_off_and_its_length_told)
{
    const struct em_inst in = decode(0xbf8c0f70, 0);
    char text[8];
    cr_expect_eq(em_print(&in, text, sizeof(text)), 18);
    cr_expect_str_eq(text, "s_waitc");
    cr_expect_eq(em_print(&in, NULL, 0), 18);
}

Test(isa, numbers_are_those_of_the_encoding)
{
    cr_expect_eq(em_number(EM_v_add_f32, EM_VOP2), 1);
    cr_expect_eq(em_number(EM_v_add_f32, EM_VOP3), 257);
    cr_expect_eq(em_number(EM_v_add_f32, EM_VOPC), -1);
    cr_expect_eq(em_number(EM_s_nop, EM_SOPP), 0);
    cr_expect_str_eq(em_op_info(EM_v_add_f32)->name, "v_add_f32");
    cr_expect_eq(em_type_dwords(EM_MASK), 2);
    cr_expect_eq(em_type_dwords(EM_NO), 0);
}

/* Numbers that repeat, from a fixed start. */
static uint32_t next_word(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*state >> 32);
}

Test(isa, the_encoder_is_the_decoders_inverse)
{
    static const uint32_t heads[] = { 0x80000000, 0xb0000000, 0xbe800000, 0xbf000000,
                                      0xc0000000, 0x7e000000, 0x00000000, 0x7c000000,
                                      0xd0000000, 0xd3800000, 0xd8000000, 0xdc000000,
                                      0xe0000000, 0xe8000000 };
    uint64_t state = 1;
    unsigned decoded = 0;
    for (unsigned i = 0; i < 2000000; i++) {
        uint32_t words[2] = { heads[i % 14] | (next_word(&state) & 0x03ffffff),
                              next_word(&state) & next_word(&state) };
        uint32_t again[2];
        size_t count = 0;
        struct em_inst in;
        struct em_inst copy;
        if (em_decode(words, 2, &in) != EM_DECODED) {
            continue;
        }
        decoded++;
        cr_assert(em_encode(&in, again, &count));
        cr_assert_eq(count * 4, in.bytes);
        cr_assert_eq(em_decode(again, count, &copy), EM_DECODED);
        cr_assert_arr_eq(&copy, &in, sizeof(in), "%08x %08x", words[0], words[1]);
    }
    cr_expect_gt(decoded, 100000);
}
