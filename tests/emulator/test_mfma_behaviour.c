/* Matrix instructions besides their arithmetic: modifiers, constants, operands that
 * overlap, EXEC, MODE, what is known of written registers, and what cannot be run. */
#include "emulator/check/shadow.h"
#include "emulator/launch/group.h"
#include "tests/emulator/mfma_case.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct em_wave *wave;
static struct em_group *group;
static struct mfma_random rng;

static void begin(void)
{
    wave = em_wave_create();
    group = calloc(1, sizeof(*group));
    cr_assert(wave && group);
    wave->group = group;
    wave->mode = EM_MODE_DENORM_F32 | EM_MODE_DENORM_F64_F16;
    rng.state = 11;
}

static void end(void)
{
    em_shadow_destroy(wave->shadow);
    em_wave_destroy(wave);
    free(group);
}

TestSuite(mfma_behaviour, .init = begin, .fini = end);

static void fill(struct mfma_case *c, const struct model *m)
{
    mfma_fill(c, m, m->integer ? KIND_BITS : KIND_ORDINARY, &rng);
}

/* The case as it stands, in both modes, with the operands at those places. */
static void expect_model(const struct mfma_case *c, const struct mfma_places *at)
{
    uint32_t got[MFMA_ROWS][64];
    uint32_t want[MFMA_ROWS][64];
    for (unsigned exact = 0; exact < 2; exact++) {
        wave->exact = exact;
        cr_assert(mfma_run(wave, c, at, got), "%s", c->model->name);
        mfma_model(c, exact, NO_MUTANT, want);
        cr_assert_eq(mfma_differences(c->model, exact, got, want), 0,
                     "%s cbsz %u abid %u blgp %u", c->model->name, c->cbsz, c->abid,
                     c->blgp);
    }
}

static void for_all(void (*check)(const struct model *m))
{
    size_t count;
    const struct model *all = models(NO_MUTANT, &count);
    for (size_t i = 0; i < count; i++) {
        check(&all[i]);
    }
}

static void check_modifiers(const struct model *m)
{
    struct mfma_case c;
    fill(&c, m);
    for (c.cbsz = 0; m->cbsz && 1U << c.cbsz <= m->blocks; c.cbsz++) {
        for (c.abid = 0; c.abid < 1U << c.cbsz; c.abid++) {
            c.blgp = c.abid & 7;
            expect_model(&c, &mfma_usual);
        }
    }
    c.cbsz = c.abid = 0;
    for (c.blgp = 0; (m->blgp || m->a_type == F64) && c.blgp < 8; c.blgp++) {
        expect_model(&c, &mfma_usual);
    }
}

Test(mfma_behaviour, cbsz_abid_and_blgp_choose_blocks_and_lanes)
{
    for_all(check_modifiers);
}

static void check_ignored(const struct model *m)
{
    struct mfma_case c;
    fill(&c, m);
    if (m->cbsz || m->a_type == F64 || m->sparse) {
        return;
    }
    uint32_t plain[MFMA_ROWS][64];
    uint32_t with[MFMA_ROWS][64];
    cr_assert(mfma_run(wave, &c, &mfma_usual, plain));
    c.cbsz = 2;
    c.abid = 1;
    c.blgp = m->blgp ? 0 : 5;
    cr_assert(mfma_run(wave, &c, &mfma_usual, with));
    cr_assert_eq(mfma_differences(m, true, plain, with), 0, "%s", m->name);
}

Test(mfma_behaviour, modifiers_that_an_instruction_has_not_are_ignored)
{
    for_all(check_ignored);
}

static void check_index_sets(const struct model *m)
{
    struct mfma_case c;
    fill(&c, m);
    if (!m->sparse) {
        return;
    }
    for (c.abid = 0; c.abid < model_bits(m->a_type) / 4; c.abid++) {
        expect_model(&c, &mfma_usual);
    }
    c.abid = 1;
    for (c.cbsz = 1; c.cbsz < 3; c.cbsz++) { /* abid is ignored */
        expect_model(&c, &mfma_usual);
    }
}

Test(mfma_behaviour, abid_chooses_the_set_of_indices)
{
    for_all(check_index_sets);
}

static void check_bad_broadcast(const struct model *m)
{
    struct mfma_case c;
    uint32_t d[MFMA_ROWS][64];
    fill(&c, m);
    if (!m->cbsz) {
        return;
    }
    c.cbsz = 1;
    c.abid = 2; /* of blocks 0 and 1 */
    group->fault.kind = EM_FAULT_NONE;
    cr_assert_not(mfma_run(wave, &c, &mfma_usual, d));
    cr_assert_eq(group->fault.kind, EM_FAULT_BAD_INSTRUCTION);
    cr_assert_not_null(strstr(group->fault.text, m->name));
    c.cbsz = 7;
    c.abid = 0;
    group->fault.kind = EM_FAULT_NONE;
    cr_assert_not(mfma_run(wave, &c, &mfma_usual, d));
    cr_assert_eq(group->fault.kind, EM_FAULT_BAD_INSTRUCTION);
}

Test(mfma_behaviour, broadcasts_of_blocks_that_there_are_not_are_faults)
{
    for_all(check_bad_broadcast);
}

static void check_constant(const struct model *m,
                           uint16_t code,
                           uint64_t bits32,
                           uint64_t bits64)
{
    struct mfma_case c;
    fill(&c, m);
    unsigned bits = m->a_type == F64 ? 64 : 32;
    for (unsigned e = 0; e < m->blocks * m->n * m->n; e++) {
        model_set(c.c, m->d[e], bits, bits == 64 ? bits64 : bits32);
    }
    struct mfma_places at = mfma_usual;
    at.c = code;
    expect_model(&c, &at);
}

static void check_constants(const struct model *m)
{
    if (!m->sparse) {
        check_constant(m, EM_INT_0, 0, 0);
        check_constant(m, EM_INT_0 + 64, 64, 64);
        check_constant(m, EM_INT_0 + 80, 0xfffffff0, UINT64_C(0xfffffffffffffff0));
        check_constant(m, EM_FLOAT_HALF, 0x3f000000, UINT64_C(0x3fe0000000000000));
        check_constant(m, EM_FLOAT_HALF + 7, 0xc0800000, UINT64_C(0xc010000000000000));
        check_constant(m, EM_FLOAT_INV_2PI, 0x3e22f983, UINT64_C(0x3fc45f306dc9c882));
    }
}

Test(mfma_behaviour, c_may_be_a_constant)
{
    for_all(check_constants);
}

/* D over C moved by some registers, over A and over B, in both register files. */
static void check_overlaps(const struct model *m)
{
    struct mfma_case c;
    fill(&c, m);
    static const uint16_t files[] = { EM_VGPR0, EM_AGPR0 };
    for (unsigned f = 0; f < 2; f++) {
        uint16_t base = files[f];
        struct mfma_places at = { (uint16_t)(base + 200), (uint16_t)(base + 220),
                                  (uint16_t)(base + 64), 0, EM_VGPR0 + 255 };
        for (int by = -3; by <= 3 && !m->sparse; by++) {
            at.d = (uint16_t)(at.c + by);
            expect_model(&c, &at);
        }
        at.d = at.a; /* sparse: C is D, so A must be apart */
        if (!m->sparse) {
            expect_model(&c, &at);
            at.d = at.b;
            expect_model(&c, &at);
            at.d = at.c = at.a;
            at.a = at.b = (uint16_t)(base + 64);
            memcpy(c.b, c.a, sizeof(c.b));
            if (m->a_type == m->b_type) {
                expect_model(&c, &at);
            }
        } else {
            at.d = (uint16_t)(base + 96);
            expect_model(&c, &at);
        }
        fill(&c, m);
    }
}

Test(mfma_behaviour, d_may_overlap_c_a_and_b)
{
    for_all(check_overlaps);
}

static void check_exec(const struct model *m)
{
    struct mfma_case c;
    fill(&c, m);
    em_set_s64(wave, EM_EXEC, UINT64_C(0x5));
    expect_model(&c, &mfma_usual);
    em_set_s64(wave, EM_EXEC, 0);
    expect_model(&c, &mfma_usual);
}

Test(mfma_behaviour, exec_is_ignored)
{
    for_all(check_exec);
}

static void check_files(const struct model *m)
{
    struct mfma_case c;
    fill(&c, m);
    struct mfma_places at = { EM_AGPR0 + 4, EM_AGPR0 + 40, EM_VGPR0 + 100,
                              EM_VGPR0 + 200, EM_VGPR0 + 9 };
    expect_model(&c, &at);
    at = (struct mfma_places){ EM_VGPR0 + 4, EM_AGPR0, EM_AGPR0 + 100,
                               (uint16_t)(EM_AGPR0 + 256 - m->d_rows), EM_AGPR0 + 90 };
    expect_model(&c, &at);
}

Test(mfma_behaviour, operands_are_in_either_register_file)
{
    for_all(check_files);
}

Test(mfma_behaviour, f64_is_negated_by_the_field_of_blgp_whatever_its_name)
{
    struct mfma_case c;
    fill(&c, model_named("v_mfma_f64_16x16x4_f64"));
    uint32_t by_blgp[MFMA_ROWS][64];
    c.blgp = 5;
    cr_assert(mfma_run(wave, &c, &mfma_usual, by_blgp));
    struct em_op op;
    c.blgp = 0;
    mfma_bind(&c, &mfma_usual, &op);
    op.in.neg = 5;
    cr_assert_eq(op.run(wave, &op), EM_GO);
    cr_assert_arr_eq(em_row(wave, mfma_usual.d), by_blgp, c.model->d_rows * 256);
}

/* MODE: sources of F32 (and of nothing else) may be read without their denormals. */
static void check_flush(const struct model *m)
{
    struct mfma_case c;
    uint32_t got[MFMA_ROWS][64];
    uint32_t want[MFMA_ROWS][64];
    mfma_fill(&c, m, m->integer ? KIND_BITS : KIND_TINY, &rng);
    wave->mode = EM_MODE_DENORM_F64_F16;
    cr_assert(mfma_run(wave, &c, &mfma_usual, got));
    struct model_run run = { m,      c.a,    c.b,   c.c,  c.index,  c.cbsz,
                             c.abid, c.blgp, false, true, NO_MUTANT };
    model_compute(&run, want);
    cr_assert_eq(mfma_differences(m, false, got, want), 0, "%s", m->name);
}

Test(mfma_behaviour, mode_drops_denormals_of_f32_alone)
{
    for_all(check_flush);
}

Test(mfma_behaviour, flushing_shows_in_a_result)
{
    struct mfma_case c;
    uint32_t d[MFMA_ROWS][64];
    memset(&c, 0, sizeof(c));
    c.model = model_named("v_mfma_f32_32x32x2_f32");
    model_set(c.a, c.model->a[0], 32, 0x00400000); /* 2^-127 */
    model_set(c.b, c.model->b[0], 32, 0x4b000000); /* 2^23 */
    model_set(c.c, c.model->d[1], 32, 0x00000001); /* C's are kept */
    cr_assert(mfma_run(wave, &c, &mfma_usual, d));
    cr_assert_eq(d[0][0], 0x0b800000);
    wave->mode = 0;
    cr_assert(mfma_run(wave, &c, &mfma_usual, d));
    cr_assert_eq(d[0][0], 0);
    cr_assert_eq(d[0][1], 1);
}

/* What was written, lane by lane. */
static bool was_written(uint16_t code, struct model_cell cell, bool pair)
{
    const uint64_t *v = &wave->shadow->v[code - EM_VGPR0 + cell.reg];
    uint64_t lanes = pair ? v[0] & v[1] : v[0];
    return lanes >> cell.lane & 1;
}

static bool inputs_written(const struct mfma_case *c,
                           unsigned b,
                           unsigned i,
                           unsigned j)
{
    const struct model *m = c->model;
    bool pair = m->a_type == F64;
    unsigned from = m->cbsz && c->cbsz ? b - b % (1U << c->cbsz) + c->abid : b;
    bool ret = true;
    for (unsigned p = 0; p < m->stored; p++) {
        struct model_cell cell = m->a[(from * m->n + i) * m->stored + p];
        ret = ret && was_written(mfma_usual.a, cell, pair);
        cell.reg = 0;
        ret = ret && (!m->sparse || was_written(mfma_usual.index, cell, false));
    }
    for (unsigned k = 0; k < m->k; k++) {
        struct model_cell cell = m->b[(b * m->n + j) * m->k + k];
        if (m->blgp) {
            cell.lane = (uint8_t)model_blgp_lane(cell.lane, c->blgp);
        }
        ret = ret && was_written(mfma_usual.b, cell, pair);
    }
    return ret;
}

static void forget(uint16_t code, unsigned rows, unsigned lanes)
{
    for (unsigned i = 0; i < lanes; i++) {
        uint64_t x = mfma_next(&rng);
        wave->shadow->v[code - EM_VGPR0 + x % rows] &= ~(UINT64_C(1) << (x >> 32) % 64);
    }
}

/* Forgets some lanes of the operands, runs, and compares D's lanes. */
static void check_written(const struct mfma_case *c,
                          unsigned a,
                          unsigned b,
                          unsigned rest)
{
    const struct model *m = c->model;
    bool pair = m->a_type == F64;
    uint16_t c_code = m->sparse ? mfma_usual.d : mfma_usual.c;
    memset(wave->shadow->v, 0xff, sizeof(wave->shadow->v));
    forget(mfma_usual.a, m->a_rows, a);
    forget(mfma_usual.b, m->b_rows, b);
    forget(c_code, m->d_rows, rest);
    forget(mfma_usual.index, 1, rest);
    bool want[MODEL_OUTPUTS];
    unsigned outputs = m->blocks * m->n * m->n;
    for (unsigned e = 0; e < outputs; e++) {
        want[e] = was_written(c_code, m->d[e], pair) &&
                  inputs_written(c, e / (m->n * m->n), e / m->n % m->n, e % m->n);
    }
    uint32_t d[MFMA_ROWS][64];
    cr_assert(mfma_run(wave, c, &mfma_usual, d));
    for (unsigned e = 0; e < outputs; e++) {
        cr_assert_eq(was_written(mfma_usual.d, m->d[e], pair), want[e], "%s %u",
                     m->name, e);
    }
}

static void check_shadow(const struct model *m)
{
    struct mfma_case c;
    fill(&c, m);
    check_written(&c, 0, 0, 0);
    check_written(&c, 2, 0, 0);
    check_written(&c, 0, 3, 0);
    check_written(&c, 0, 0, 9);
    for (unsigned i = 0; i < 4; i++) {
        c.cbsz = m->cbsz && 1U << (i % 3) <= m->blocks ? i % 3 : 0;
        c.abid = c.cbsz ? 1 : 0;
        c.blgp = m->blgp ? 2 * i + 1 : 0;
        check_written(&c, 3, 2, 5);
    }
}

Test(mfma_behaviour, outputs_are_written_where_all_that_they_are_made_of_was)
{
    wave->shadow = em_shadow_create();
    cr_assert_not_null(wave->shadow);
    for_all(check_shadow);
}

static enum em_flow run_move(uint16_t op, uint16_t to, uint16_t from)
{
    struct em_op move;
    memset(&move, 0, sizeof(move));
    move.in.op = op;
    move.in.dst = (struct em_operand){ to, 1, EM_B32 };
    move.in.src[0] = (struct em_operand){ from, 1, EM_B32 };
    move.in.src[1].code = move.in.src[2].code = move.in.src[3].code = EM_NONE;
    cr_assert(em_bind_mfma(&move));
    return move.run(wave, &move);
}

Test(mfma_behaviour, accumulation_registers_are_moved_where_exec_is_set)
{
    uint64_t exec = UINT64_C(0x8000f00f00000011);
    for (unsigned l = 0; l < 64; l++) {
        em_row(wave, EM_VGPR0 + 3)[l] = 1000 + l;
        em_row(wave, EM_AGPR0 + 7)[l] = 7;
        em_row(wave, EM_AGPR0 + 8)[l] = 8;
        em_row(wave, EM_VGPR0 + 4)[l] = 4;
    }
    wave->s[20] = 42;
    em_set_s64(wave, EM_EXEC, exec);
    cr_assert_eq(run_move(EM_v_accvgpr_write_b32, EM_AGPR0 + 7, EM_VGPR0 + 3), EM_GO);
    cr_assert_eq(run_move(EM_v_accvgpr_read_b32, EM_VGPR0 + 4, EM_AGPR0 + 7), EM_GO);
    cr_assert_eq(run_move(EM_v_accvgpr_mov_b32, EM_AGPR0 + 8, EM_AGPR0 + 7), EM_GO);
    for (unsigned l = 0; l < 64; l++) {
        bool on = exec >> l & 1;
        cr_assert_eq(em_row(wave, EM_AGPR0 + 7)[l], on ? 1000 + l : 7);
        cr_assert_eq(em_row(wave, EM_VGPR0 + 4)[l], on ? 1000 + l : 4);
        cr_assert_eq(em_row(wave, EM_AGPR0 + 8)[l], on ? 1000 + l : 8);
    }
    em_set_s64(wave, EM_EXEC, ~UINT64_C(0));
    cr_assert_eq(run_move(EM_v_accvgpr_write_b32, EM_AGPR0 + 255, 20), EM_GO);
    cr_assert_eq(run_move(EM_v_accvgpr_write_b32, EM_AGPR0, EM_FLOAT_HALF + 2), EM_GO);
    cr_assert_eq(em_row(wave, EM_AGPR0 + 255)[63], 42);
    cr_assert_eq(em_row(wave, EM_AGPR0)[1], 0x3f800000);
}

Test(mfma_behaviour, moves_carry_what_was_written)
{
    wave->shadow = em_shadow_create();
    cr_assert_not_null(wave->shadow);
    wave->shadow->v[3] = 0xff;
    wave->shadow->v[256] = UINT64_C(0xf000000000000000);
    em_set_s64(wave, EM_EXEC, UINT64_C(0xc0000000000000f0));
    cr_assert_eq(run_move(EM_v_accvgpr_write_b32, EM_AGPR0, EM_VGPR0 + 3), EM_GO);
    cr_assert_eq(wave->shadow->v[256], UINT64_C(0x30000000000000f0));
    cr_assert_eq(run_move(EM_v_accvgpr_write_b32, EM_AGPR0 + 1, EM_INT_0), EM_GO);
    cr_assert_eq(wave->shadow->v[257], UINT64_C(0xc0000000000000f0));
}

/* Registers past the last one, and no registers at all. */
static void check_bad_places(const struct model *m)
{
    struct mfma_case c;
    fill(&c, m);
    static const struct mfma_places bad[] = {
        { EM_NONE, EM_VGPR0, EM_VGPR0, EM_VGPR0, EM_VGPR0 },
        { EM_INT_0, EM_VGPR0, EM_VGPR0, EM_VGPR0, EM_VGPR0 },
        { EM_VGPR0, 5, EM_VGPR0, EM_VGPR0, EM_VGPR0 },
        { EM_VGPR0, EM_VGPR0, EM_NONE, EM_VGPR0, EM_NONE },
        { EM_VGPR0, EM_VGPR0, EM_VGPR0, EM_AGPR0 + 255, EM_VGPR0 },
        { EM_VGPR0, EM_VGPR0, EM_VGPR0, EM_AGPR0 - 1, EM_VGPR0 },
        { EM_VGPR0, EM_VGPR0, EM_VGPR0, 3, EM_VGPR0 },
    };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct em_op op;
        group->fault.kind = EM_FAULT_NONE;
        mfma_bind(&c, &bad[i], &op);
        cr_assert_not_null(op.run);
        cr_assert_eq(op.run(wave, &op), EM_FAULTED, "%s %u", m->name, i);
        cr_assert_eq(group->fault.kind, EM_FAULT_BAD_REGISTER);
    }
}

Test(mfma_behaviour, registers_that_there_are_not_are_faults)
{
    for_all(check_bad_places);
    cr_assert_eq(run_move(EM_v_accvgpr_read_b32, EM_VGPR0, EM_NONE), EM_FAULTED);
    cr_assert_eq(run_move(EM_v_accvgpr_write_b32, EM_AGPR0 + 256, EM_VGPR0),
                 EM_FAULTED);
}

/* From machine code: word 0 is 0xd380 | opcode, acc_cd, abid, cbsz, vdst; word 1 blgp,
 * acc, src2, src1, src0. */
static void check_encoded(const struct model *m)
{
    struct mfma_case c;
    uint32_t want[MFMA_ROWS][64];
    fill(&c, m);
    c.cbsz = m->cbsz;
    c.abid = c.cbsz || m->sparse;
    c.blgp = m->blgp || m->a_type == F64 ? 3 : 0;
    struct mfma_places at = { EM_AGPR0 + 8, EM_VGPR0 + 32, EM_AGPR0 + 128,
                              EM_AGPR0 + 64, EM_VGPR0 + 65 };
    cr_assert(mfma_run(wave, &c, &at, want));
    uint32_t third = m->sparse ? at.index : at.c - 256U;
    uint32_t words[2];
    words[0] = UINT32_C(0xd3800000) | (uint32_t)em_number(m->op, EM_VOP3P) << 16 |
               UINT32_C(1) << 15 | c.abid << 11 | c.cbsz << 8 | (at.d - EM_AGPR0);
    words[1] = c.blgp << 29 | UINT32_C(1) << 27 | third << 18 | (uint32_t)at.b << 9 |
               (at.a - 256U);
    struct em_inst in;
    struct em_op op;
    cr_assert_eq(em_decode(words, 2, &in), EM_DECODED, "%s", m->name);
    em_bind(&in, &op);
    memcpy(em_row(wave, m->sparse ? at.d : at.c), c.c, m->d_rows * sizeof(c.c[0]));
    cr_assert_eq(op.run(wave, &op), EM_GO, "%s", m->name);
    cr_assert_eq(op.class, EM_CLASS_MFMA);
    cr_assert_arr_eq(em_row(wave, at.d), want, m->d_rows * sizeof(want[0]));
}

Test(mfma_behaviour, instructions_of_machine_code_run_the_same)
{
    for_all(check_encoded);
}

Test(mfma_behaviour, other_instructions_are_not_bound)
{
    struct em_op op;
    memset(&op, 0, sizeof(op));
    op.in.op = EM_v_add_f32;
    cr_assert_not(em_bind_mfma(&op));
    cr_assert_null((void *)(uintptr_t)op.run);
}
