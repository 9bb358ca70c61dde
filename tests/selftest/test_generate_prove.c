/* Each argument both ways: what is the same is found, what is not is never called so.
 */
#include "code.h"

#include <criterion/criterion.h>

static void expect(struct program *p,
                   size_t n,
                   enum gen_kind kind,
                   enum code_line with,
                   enum gen_reason reason)
{
    cr_assert_eq(program_prove(p, n, kind, with), reason, "line %zu: %s", n,
                 gen_reason_text(program_prove(p, n, kind, with)));
    program_free(p);
}

Test(generate, behind_a_jump_nothing_is_reached)
{
    expect(PROGRAM(JUMP_1, V2_IS_0, END), 1, GEN_IMMEDIATE, V2_IS_1, GEN_NEVER_REACHED);
    expect(PROGRAM(SKIP_1, V2_IS_0, ADDRESS, STORE_V2, END), 1, GEN_IMMEDIATE, V2_IS_1,
           GEN_NOT_PROVEN);
}

Test(generate, a_result_that_nothing_reads)
{
    expect(PROGRAM(ADDRESS, V2_IS_0, V2_IS_1, STORE_V2, END), 1, GEN_OPCODE, CODE_LINES,
           GEN_DEAD);
    expect(PROGRAM(ADDRESS, V2_IS_0, STORE_V2, END), 1, GEN_OPCODE, CODE_LINES,
           GEN_NOT_PROVEN);
    /* written again, but not in the lanes that are off */
    expect(PROGRAM(ADDRESS, V2_IS_0, BELOW_32, NARROW, V2_IS_1, WIDEN, STORE_V2, END),
           1, GEN_OPCODE, CODE_LINES, GEN_NOT_PROVEN);
    /* the other result would be read */
    expect(PROGRAM(ADDRESS, V2_IS_0, V3_IS_V2, V2_IS_0, STORE_V2, END), 2, GEN_REGISTER,
           V2_IS_1, GEN_DEAD);
    expect(PROGRAM(ADDRESS, V2_IS_0, V3_IS_V2, STORE_V2, END), 2, GEN_REGISTER, V2_IS_1,
           GEN_NOT_PROVEN);
}

/* A product reads and writes its sums whatever EXEC holds. */
Test(generate, matrix_products_are_read)
{
    expect(PROGRAM(ADDRESS, V2_IS_0, MATRIX, STORE_V2, END), 1, GEN_OPCODE, CODE_LINES,
           GEN_NOT_PROVEN);
    expect(PROGRAM(ADDRESS, MATRIX, V2_IS_0, STORE_V2, END), 1, GEN_MATRIX_DROPPED,
           CODE_LINES, GEN_DEAD);
}

Test(generate, exchanged_operands)
{
    expect(PROGRAM(ADDRESS, V2_IS_1, MULTIPLY, STORE_V3, END), 2, GEN_EXCHANGED,
           MULTIPLY, GEN_COMMUTES);
    expect(PROGRAM(ADDRESS, LOAD_V2, WAIT_VM, SUBTRACT, STORE_V3, END), 3,
           GEN_EXCHANGED, SUBTRACT, GEN_NOT_PROVEN);
}

Test(generate, waits_that_others_cover)
{
    expect(PROGRAM(ADDRESS, LOAD_V2, WAIT_VM, WAIT_VM, STORE_V2, END), 2,
           GEN_WAIT_DROPPED, CODE_LINES, GEN_WAIT_IMPLIED);
    expect(PROGRAM(ADDRESS, LOAD_V2, WAIT_VM, WAIT_VM, STORE_V2, END), 3,
           GEN_WAIT_DROPPED, CODE_LINES, GEN_WAIT_IMPLIED);
    expect(PROGRAM(ADDRESS, LOAD_V2, WAIT_VM, STORE_V2, END), 2, GEN_WAIT_DROPPED,
           CODE_LINES, GEN_NOT_PROVEN);
    /* loads end in order: for the first one, one may be left */
    expect(PROGRAM(ADDRESS, LOAD_V2, LOAD_V5, WAIT_VM, STORE_V2, END), 3,
           GEN_WAIT_WEAKENED, WAIT_VM_1, GEN_WAIT_IMPLIED);
    expect(PROGRAM(ADDRESS, LOAD_V2, LOAD_V5, WAIT_VM, STORE_V5, END), 3,
           GEN_WAIT_WEAKENED, WAIT_VM_1, GEN_NOT_PROVEN);
    /* on one of two ways nothing waits */
    expect(PROGRAM(ADDRESS, LOAD_V2, SKIP_1, WAIT_VM, WAIT_VM, STORE_V2, END), 4,
           GEN_WAIT_DROPPED, CODE_LINES, GEN_NOT_PROVEN);
    /* the load is overwritten by what does not return behind it */
    expect(PROGRAM(ADDRESS, LOAD_V2, WAIT_VM, V2_IS_0, STORE_V2, END), 2,
           GEN_WAIT_DROPPED, CODE_LINES, GEN_NOT_PROVEN);
}

Test(generate, waits_before_a_barrier_order_LDS)
{
    expect(PROGRAM(ADDRESS, V2_IS_0, LDS_WRITE, WAIT_LGKM, BARRIER, LDS_READ, WAIT_LGKM,
                   STORE_V3, END),
           3, GEN_WAIT_DROPPED, CODE_LINES, GEN_NOT_PROVEN);
    expect(PROGRAM(ADDRESS, V2_IS_0, LDS_WRITE, WAIT_LGKM, BARRIER, WAIT_LGKM, LDS_READ,
                   WAIT_LGKM, STORE_V3, END),
           5, GEN_WAIT_DROPPED, CODE_LINES, GEN_WAIT_IMPLIED);
}

Test(generate, barriers_that_part_nothing)
{
    expect(PROGRAM(ADDRESS, V2_IS_0, LDS_WRITE, WAIT_LGKM, BARRIER, LDS_READ, WAIT_LGKM,
                   STORE_V3, END),
           4, GEN_BARRIER_DROPPED, CODE_LINES, GEN_NOT_PROVEN);
    expect(PROGRAM(ADDRESS, V2_IS_0, LDS_WRITE, WAIT_LGKM, BARRIER, BARRIER, LDS_READ,
                   WAIT_LGKM, STORE_V3, END),
           4, GEN_BARRIER_DROPPED, CODE_LINES, GEN_BARRIER_ALONE);
    expect(PROGRAM(ADDRESS, V2_IS_0, BARRIER, LDS_WRITE, WAIT_LGKM, BARRIER, LDS_READ,
                   WAIT_LGKM, STORE_V3, END),
           2, GEN_BARRIER_DROPPED, CODE_LINES, GEN_BARRIER_ALONE);
    /* on one way only */
    expect(PROGRAM(ADDRESS, V2_IS_0, LDS_WRITE, WAIT_LGKM, SKIP_1, BARRIER, BARRIER,
                   LDS_READ, WAIT_LGKM, STORE_V3, END),
           6, GEN_BARRIER_DROPPED, CODE_LINES, GEN_NOT_PROVEN);
    /* what was stored may be loaded by another wave */
    expect(PROGRAM(ADDRESS, V2_IS_0, STORE_V2, WAIT_VM, BARRIER, LOAD_V5, END), 4,
           GEN_BARRIER_DROPPED, CODE_LINES, GEN_NOT_PROVEN);
}

Test(generate, skipped_code_that_does_nothing_without_lanes)
{
    expect(PROGRAM(ADDRESS, BELOW_32, NARROW, SKIP_1, V2_IS_1, WIDEN, END), 3,
           GEN_BRANCH, CODE_LINES, GEN_NOTHING_TO_SKIP);
    /* a scalar register is written whatever EXEC holds, and read behind */
    expect(PROGRAM(ADDRESS, BELOW_32, NARROW, SKIP_1, S5_IS_7, V3_IS_S5, STORE_V3, END),
           3, GEN_BRANCH, CODE_LINES, GEN_NOT_PROVEN);
    expect(PROGRAM(ADDRESS, BELOW_32, NARROW, SKIP_1, S5_IS_7, WIDEN, STORE_V3, END), 3,
           GEN_BRANCH, CODE_LINES, GEN_NOTHING_TO_SKIP);
    /* products take no notice of EXEC */
    expect(PROGRAM(ADDRESS, BELOW_32, NARROW, SKIP_2, MATRIX, WIDEN, STORE_V2, END), 3,
           GEN_BRANCH, CODE_LINES, GEN_NOT_PROVEN);
    expect(PROGRAM(ADDRESS, BELOW_32, NARROW, SKIP_1, BARRIER, WIDEN, END), 3,
           GEN_BRANCH, CODE_LINES, GEN_NOT_PROVEN);
}

Test(generate, known_bits)
{
    /* v4 = 16 v0: 3 is apart from it, 16 is not */
    struct program *p = PROGRAM(ADDRESS, TIMES_16, OR_3, ADD_16, STORE_V3, END);
    struct em_inst in = em_code_at(p->code, p->at[2])->in;
    struct em_op op = { .run = NULL };
    in.op = EM_v_add_u32;
    em_bind(&in, &op);
    cr_assert(gen_values_same(p->values, (size_t)p->flow.of_dword[p->at[2]], &op));
    in = em_code_at(p->code, p->at[3])->in;
    in.op = EM_v_or_b32;
    op = (struct em_op){ .run = NULL };
    em_bind(&in, &op);
    cr_assert(!gen_values_same(p->values, (size_t)p->flow.of_dword[p->at[3]], &op));
    program_free(p);
    /* v0 is below 64: 64 > v0 always, 32 > v0 not */
    p = PROGRAM(BELOW_64, NARROW, BELOW_32, NARROW, END);
    for (size_t n = 0; n < 4; n += 2) {
        in = em_code_at(p->code, p->at[n])->in;
        in.op = EM_v_cmp_ne_u32;
        op = (struct em_op){ .run = NULL };
        em_bind(&in, &op);
        cr_assert_eq(
            gen_values_same(p->values, (size_t)p->flow.of_dword[p->at[n]], &op),
            n == 0);
    }
    program_free(p);
}

/* Every sum of two bytes: a known bit is one that all of them have. */
Test(generate, bits_of_sums_and_products_hold_for_all_values)
{
    for (uint32_t n = 0; n < 4096; n++) {
        struct gen_bits a = { ~UINT32_C(15) | (n & 15 & ~(n >> 4)), n & (n >> 4) & 15 };
        struct gen_bits b = { ~UINT32_C(15) | (n >> 8 & 15), 0 };
        struct gen_bits sum = gen_add(a, b, false);
        struct gen_bits product = gen_mul(a, b);
        for (uint32_t x = 0; x < 256; x++) {
            uint32_t u = (x & 15 & ~a.zero) | a.one;
            uint32_t v = x >> 4 & ~b.zero;
            cr_assert_eq((u + v) & sum.zero, 0);
            cr_assert_eq(~(u + v) & sum.one, 0);
            cr_assert_eq((u * v) & product.zero, 0);
            cr_assert_eq(~(u * v) & product.one, 0);
        }
    }
}

Test(generate, bits_that_a_bit_field_does_not_look_at)
{
    expect(PROGRAM(LOAD_ARGUMENT, WAIT_LGKM, ADDRESS, FIELD, V3_IS_S5, STORE_V3, END),
           3, GEN_IMMEDIATE, FIELD_BIT_15, GEN_SAME_FOR_VALUES);
    expect(PROGRAM(LOAD_ARGUMENT, WAIT_LGKM, ADDRESS, FIELD, V3_IS_S5, STORE_V3, END),
           3, GEN_IMMEDIATE, FIELD_FROM_1, GEN_NOT_PROVEN);
}

Test(generate, a_power_has_no_sign)
{
    expect(PROGRAM(ADDRESS, EXP_V2, SQUARE, STORE_V3, END), 2, GEN_MODIFIER, SQUARE_ABS,
           GEN_SAME_FOR_VALUES);
    expect(PROGRAM(ADDRESS, EXP_V2, SQUARE, STORE_V3, END), 2, GEN_MODIFIER, SQUARE_NEG,
           GEN_NOT_PROVEN);
    expect(PROGRAM(ADDRESS, LOAD_V2, WAIT_VM, SQUARE, STORE_V3, END), 3, GEN_MODIFIER,
           SQUARE_ABS, GEN_NOT_PROVEN);
}
