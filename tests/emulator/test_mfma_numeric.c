/* What matrix instructions compute, against the model: every shape with every kind of
 * operand, by the hardware's rule and by FMA. WF_MFMA_ROUNDS in the environment makes
 * the comparison that many times longer than a test's. */
#include "core/sha256.h"
#include "emulator/exec/fp8.h"
#include "tests/emulator/mfma_case.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const kind_names[] = {
#define X(name) #name,
    MFMA_KINDS(X)
#undef X
};

enum {
    EXACT_PRODUCTS = 1000000 /* at least so many in a test */
};

static struct em_wave *new_wave(bool exact)
{
    struct em_wave *w = em_wave_create();
    cr_assert_not_null(w);
    w->exact = exact;
    w->mode = EM_MODE_DENORM_F32 | EM_MODE_DENORM_F64_F16;
    return w;
}

static unsigned rounds(void)
{
    const char *text = getenv("WF_MFMA_ROUNDS");
    return text ? (unsigned)strtoul(text, NULL, 10) : 1;
}

static bool is_rounded(const struct model *m) /* by a rule that is not FMA's */
{
    return !m->integer && m->a_type != F32 && m->a_type != F64;
}

/* Returns the products that were compared. */
static uint64_t compare(struct em_wave *w,
                        const struct model *m,
                        enum mfma_kind kind,
                        struct mfma_random *r)
{
    struct mfma_case c;
    uint32_t got[MFMA_ROWS][64];
    uint32_t want[MFMA_ROWS][64];
    mfma_fill(&c, m, kind, r);
    cr_assert(mfma_run(w, &c, &mfma_usual, got), "%s", m->name);
    mfma_model(&c, w->exact, NO_MUTANT, want);
    unsigned differences = mfma_differences(m, w->exact, got, want);
    cr_assert_eq(differences, 0, "%s, %s: %u outputs differ", m->name, kind_names[kind],
                 differences);
    return (uint64_t)m->blocks * m->n * m->n * m->stored;
}

static uint64_t compare_all(bool exact,
                            bool (*chosen)(const struct model *m),
                            unsigned times)
{
    struct em_wave *w = new_wave(exact);
    struct mfma_random r = { exact };
    size_t count;
    const struct model *all = models(NO_MUTANT, &count);
    uint64_t products = 0;
    for (unsigned round = 0; round < times * rounds(); round++) {
        for (size_t i = 0; i < count; i++) {
            for (unsigned k = 0; chosen(&all[i]) && k < MFMA_KIND_COUNT; k++) {
                products += compare(w, &all[i], (enum mfma_kind)k, &r);
            }
        }
    }
    em_wave_destroy(w);
    return products;
}

static bool is_dense_rounded(const struct model *m)
{
    return is_rounded(m) && !m->sparse;
}

static bool is_dense_plain(const struct model *m)
{
    return !is_rounded(m) && !m->sparse;
}

static bool is_sparse(const struct model *m)
{
    return m->sparse;
}

static bool is_dense_float(const struct model *m)
{
    return !m->integer && !m->sparse;
}

Test(mfma_numeric, dense_products_are_rounded_as_the_hardware_does)
{
    uint64_t products = compare_all(true, is_dense_rounded, 1);
    cr_assert_geq(products, EXACT_PRODUCTS);
}

Test(mfma_numeric, f32_f64_and_integers_are_the_same_in_exact_mode)
{
    (void)compare_all(true, is_dense_plain, 1);
}

Test(mfma_numeric, sparse_products_follow_the_rule_of_the_stored_ones)
{
    (void)compare_all(true, is_sparse, 1);
}

Test(mfma_numeric, fast_dense_products_are_a_chain_of_fma)
{
    (void)compare_all(false, is_dense_float, 1);
}

Test(mfma_numeric, fast_sparse_products_are_a_chain_of_fma)
{
    (void)compare_all(false, is_sparse, 1);
}

/* The rule is not FMA's: a test that compared fast with fast would not see it. */
Test(mfma_numeric, the_two_modes_differ)
{
    struct em_wave *fast = new_wave(false);
    struct em_wave *exact = new_wave(true);
    struct mfma_random r = { 7 };
    struct mfma_case c;
    uint32_t x[MFMA_ROWS][64];
    uint32_t y[MFMA_ROWS][64];
    const struct model *m = model_named("v_mfma_f32_16x16x16_f16");
    mfma_fill(&c, m, KIND_SPREAD, &r);
    cr_assert(mfma_run(fast, &c, &mfma_usual, x));
    cr_assert(mfma_run(exact, &c, &mfma_usual, y));
    cr_assert_gt(mfma_differences(m, true, x, y), 0);
    em_wave_destroy(fast);
    em_wave_destroy(exact);
}

/* A group by hand: f16, 1 * 1 and seven products of 2^-25, and C. Alone they add up to
 * 7 * 2^-25; beside 1 each is cut to nothing. */
Test(mfma_numeric, small_products_are_cut_beside_a_large_one)
{
    struct em_wave *w = new_wave(true);
    struct mfma_case c;
    uint32_t d[MFMA_ROWS][64];
    memset(&c, 0, sizeof(c));
    c.model = model_named("v_mfma_f32_32x32x8_f16");
    for (unsigned k = 0; k < 8; k++) {
        model_set(c.a, c.model->a[k], 16, k ? 0x0c00 : 0x3c00); /* 2^-12, 1 */
        model_set(c.b, c.model->b[k], 16, k ? 0x0800 : 0x3c00); /* 2^-13, 1 */
    }
    cr_assert(mfma_run(w, &c, &mfma_usual, d));
    cr_assert_eq(d[0][0], 0x3f800000);
    model_set(c.a, c.model->a[0], 16, 0);
    cr_assert(mfma_run(w, &c, &mfma_usual, d));
    cr_assert_eq(d[0][0], 0x34600000); /* 7 * 2^-25 */
    em_wave_destroy(w);
}

/* C = 1 + 2^-23 and products -2^-24 and 2^-40. Below C's point the sum of the products
 * has 31 bits: cut toward minus infinity it is -2^-24, a tie that goes to 1; cut toward
 * zero, or not cut, the result would be 1 + 2^-23. */
Test(mfma_numeric, the_sum_is_cut_toward_minus_infinity)
{
    struct em_wave *w = new_wave(true);
    struct mfma_case c;
    uint32_t d[MFMA_ROWS][64];
    memset(&c, 0, sizeof(c));
    c.model = model_named("v_mfma_f32_32x32x8_bf16");
    model_set(c.c, c.model->d[0], 32, 0x3f800001);
    model_set(c.a, c.model->a[0], 16, 0x3380); /* 2^-24 */
    model_set(c.b, c.model->b[0], 16, 0xbf80); /* -1 */
    model_set(c.a, c.model->a[1], 16, 0x2b80); /* 2^-40 */
    model_set(c.b, c.model->b[1], 16, 0x3f80); /* 1 */
    cr_assert(mfma_run(w, &c, &mfma_usual, d));
    cr_assert_eq(d[0][0], 0x3f800000);
    em_wave_destroy(w);
}

/* A lone zero counts with an exponent of -126, so that the group's scale would be
 * 2^128. */
Test(mfma_numeric, zeros_beside_large_operands_add_nothing)
{
    struct em_wave *w = new_wave(true);
    struct mfma_case c;
    uint32_t d[MFMA_ROWS][64];
    memset(&c, 0, sizeof(c));
    c.model = model_named("v_mfma_f32_32x32x8_bf16");
    for (unsigned exponent = 127; exponent < 191; exponent++) {
        model_set(c.b, c.model->b[0], 16, (uint64_t)exponent << 7);
        model_set(c.c, c.model->d[0], 32, 0x3f800001);
        cr_assert(mfma_run(w, &c, &mfma_usual, d));
        cr_assert_eq(d[0][0], 0x3f800001);
    }
    em_wave_destroy(w);
}

/* 2^64 * 2^64 is an infinity although the next product would bring the sum back. */
Test(mfma_numeric, a_product_of_2_to_the_128_is_an_infinity)
{
    struct em_wave *w = new_wave(true);
    struct mfma_case c;
    uint32_t d[MFMA_ROWS][64];
    memset(&c, 0, sizeof(c));
    c.model = model_named("v_mfma_f32_32x32x8_bf16");
    model_set(c.a, c.model->a[0], 16, 0x5f80); /* 2^64 */
    model_set(c.b, c.model->b[0], 16, 0x5f80);
    model_set(c.a, c.model->a[1], 16, 0xdf00); /* -2^63 */
    model_set(c.b, c.model->b[1], 16, 0x5f80);
    cr_assert(mfma_run(w, &c, &mfma_usual, d));
    cr_assert_eq(d[0][0], 0x7f800000);
    model_set(c.b, c.model->b[0], 16, 0x5f00); /* 2^63: 2^127 - 2^127 */
    cr_assert(mfma_run(w, &c, &mfma_usual, d));
    cr_assert_eq(d[0][0], 0);
    em_wave_destroy(w);
}

/* Operands and results of the rule's published model itself, microsoft/MMA-Sim set to
 * CDNA3, as a hash. The recipe: for every dense instruction but the integer ones in the
 * order of its name, and every kind of operand, fill a case from one stream of random
 * numbers that starts with state 42; for each block write the lines "NAME KIND" (its
 * number), A by rows, B by rows, C by rows, all codes in hexadecimal with a space
 * behind each, and the model's result for these in the same way, NaN as 7fc00000 or
 * 7ff8000000000000. 205,440 outputs. */
static const char golden_hash[] =
    "dd25997b7d34f2402266155c10737705a019473b478614a4a6c10ac3a835c465";

static void write_codes(struct wf_sha256 *hash,
                        const uint32_t (*rows)[64],
                        const struct model_cell *cells,
                        unsigned count,
                        unsigned step,
                        unsigned bits)
{
    for (unsigned first = 0; first < (step > 1 ? step : 1); first++) {
        for (unsigned e = first; e < count; e += step) {
            char text[24];
            uint64_t code = model_get(rows, cells[e], bits);
            int n = snprintf(text, sizeof(text), "%llx ", (unsigned long long)code);
            wf_sha256_update(hash, text, (size_t)n);
        }
    }
    wf_sha256_update(hash, "\n", 1);
}

static void make_nan_one(const struct model *m, uint32_t (*d)[64])
{
    for (unsigned e = 0; e < m->blocks * m->n * m->n; e++) {
        uint64_t code = model_get(d, m->d[e], m->a_type == F64 ? 64 : 32);
        if (m->a_type == F64 && code << 1 > UINT64_C(0xffe0000000000000)) {
            model_set(d, m->d[e], 64, UINT64_C(0x7ff8000000000000));
        } else if (m->a_type != F64 && code << 33 > UINT64_C(0xff000000) << 32) {
            model_set(d, m->d[e], 32, 0x7fc00000);
        }
    }
}

static void write_case(struct wf_sha256 *hash,
                       const struct mfma_case *c,
                       unsigned kind,
                       uint32_t (*d)[64])
{
    const struct model *m = c->model;
    unsigned bits = m->a_type == F64 ? 64 : 32;
    unsigned inputs = m->n * m->k;
    unsigned outputs = m->n * m->n;
    for (unsigned b = 0; b < m->blocks; b++) {
        char text[80];
        int n = snprintf(text, sizeof(text), "%s %u\n", m->name, kind);
        wf_sha256_update(hash, text, (size_t)n);
        write_codes(hash, c->a, m->a + b * inputs, inputs, 1, model_bits(m->a_type));
        write_codes(hash, c->b, m->b + b * inputs, inputs, m->k, model_bits(m->b_type));
        write_codes(hash, c->c, m->d + b * outputs, outputs, 1, bits);
        write_codes(hash, (const uint32_t(*)[64])d, m->d + b * outputs, outputs, 1,
                    bits);
    }
}

Test(mfma_numeric, outputs_equal_those_of_the_published_model)
{
    struct em_wave *w = new_wave(true);
    struct mfma_random r = { 42 };
    struct wf_sha256 *hash = wf_sha256_create();
    cr_assert_not_null(hash);
    size_t count;
    const struct model *all = models(NO_MUTANT, &count);
    for (size_t i = 0; i < count; i++) {
        for (unsigned k = 0; is_dense_float(&all[i]) && k < MFMA_KIND_COUNT; k++) {
            struct mfma_case c;
            uint32_t d[MFMA_ROWS][64];
            mfma_fill(&c, &all[i], (enum mfma_kind)k, &r);
            cr_assert(mfma_run(w, &c, &mfma_usual, d));
            make_nan_one(&all[i], d);
            write_case(hash, &c, k, d);
        }
    }
    uint8_t digest[WF_SHA256_BYTES];
    char hex[WF_SHA256_HEX];
    wf_sha256_finish(hash, digest);
    wf_hex(digest, sizeof(digest), hex);
    cr_assert_str_eq(hex, golden_hash);
    em_wave_destroy(w);
}

/* Every code of both formats times one. */
static void check_all_codes(const char *name, bool bf8, bool exact)
{
    struct em_wave *w = new_wave(exact);
    const struct model *m = model_named(name);
    uint64_t one = 0x40; /* of both: field 8 of bias 8, 16 of bias 16 */
    for (unsigned code = 0; code < 256; code++) {
        struct mfma_case c;
        uint32_t d[MFMA_ROWS][64];
        memset(&c, 0, sizeof(c));
        c.model = m;
        model_set(c.a, m->a[0], 8, code);
        model_set(c.b, m->b[0], 8, one);
        cr_assert(mfma_run(w, &c, &mfma_usual, d));
        float want = em_fp8_to_f32((uint8_t)code, bf8);
        float got;
        memcpy(&got, &d[0][0], sizeof(got));
        cr_assert(got == want || (code == 0x80 && got != got), "%s %02x", name, code);
    }
    em_wave_destroy(w);
}

Test(mfma_numeric, all_codes_of_fp8_and_bf8)
{
    for (unsigned exact = 0; exact < 2; exact++) {
        check_all_codes("v_mfma_f32_16x16x32_fp8_fp8", false, exact);
        check_all_codes("v_mfma_f32_32x32x16_bf8_bf8", true, exact);
    }
}

/* Known faults of emulators: the comparisons above must see them. */
static unsigned differences_of(const char *name, enum model_mutant mutant)
{
    size_t count;
    const struct model *all = models(mutant, &count);
    const struct model *m = NULL;
    for (size_t i = 0; i < count; i++) {
        m = strcmp(all[i].name, name) == 0 ? &all[i] : m;
    }
    cr_assert_not_null(m);
    struct em_wave *w = new_wave(true);
    struct mfma_random r = { 3 };
    struct mfma_case c;
    uint32_t got[MFMA_ROWS][64];
    uint32_t want[MFMA_ROWS][64];
    mfma_fill(&c, m, KIND_ORDINARY, &r);
    cr_assert(mfma_run(w, &c, &mfma_usual, got));
    mfma_model(&c, true, mutant, want);
    em_wave_destroy(w);
    return mfma_differences(m, true, got, want);
}

Test(mfma_numeric, rows_in_the_order_of_groups_are_seen)
{
    cr_assert_eq(differences_of("v_mfma_f32_32x32x8_f16", NO_MUTANT), 0);
    cr_assert_gt(differences_of("v_mfma_f32_32x32x8_f16", MUTANT_ROWS), 500);
    cr_assert_gt(differences_of("v_mfma_f32_32x32x4_2b_f16", MUTANT_ROWS), 1000);
}

Test(mfma_numeric, the_bias_of_the_other_fp8_is_seen)
{
    cr_assert_eq(differences_of("v_mfma_f32_16x16x32_fp8_fp8", NO_MUTANT), 0);
    cr_assert_gt(differences_of("v_mfma_f32_16x16x32_fp8_fp8", MUTANT_OCP), 200);
    cr_assert_gt(differences_of("v_mfma_f32_32x32x16_bf8_bf8", MUTANT_OCP), 800);
}
