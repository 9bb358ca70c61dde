/* Each fault that the diagnosis knows is planted and must be named, by both checks;
 * other faults must not get its name. */
#include "gemm_fixture.h"

#include "kernels/gemm/gemm_diagnose.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct gemm_check_setup FULL = { 0 };
static const struct gemm_check_setup PRODUCT = { .budget_macs = 1 };
static const struct gemm_check_setup *const METHODS[] = { &FULL, &PRODUCT };

/* Both methods find `words` in what they say about f's output. */
static void expect_words(struct gemm_fixture *f, const char *words)
{
    for (size_t m = 0; m < 2; m++) {
        struct wf_check_report r;
        gemm_fixture_check(f, METHODS[m], &r);
        cr_expect_neq(r.answer, WF_ANSWER_PASS);
        cr_expect_not_null(strstr(r.diagnosis, words),
                           "method %zu: \"%s\" is not in \"%s\"", m, words,
                           r.diagnosis);
    }
    gemm_fixture_free(f);
}

/* The output of `wrong` judged as that of `right`. */
static void expect_of(const char *wrong, const char *right, const char *words)
{
    struct gemm_fixture w;
    struct gemm_fixture f;
    gemm_fixture_make(&w, wrong, 0);
    gemm_fixture_make(&f, right, 0);
    memcpy(f.d, w.d, wf_case_tensor(f.c, GEMM_D)->bytes);
    gemm_fixture_free(&w);
    expect_words(&f, words);
}

/* Terms [begin, end) of K in double. */
static double part(const struct gemm_fixture *f,
                   const int64_t at[3],
                   int64_t begin,
                   int64_t end)
{
    const struct gemm_matrix *a = &f->g->matrix[GEMM_A];
    const struct gemm_matrix *b = &f->g->matrix[GEMM_B];
    double sum = 0.0;
    for (int64_t k = begin; k < end; k++) {
        sum += gemm_input(f, GEMM_A, at[0] * a->stride + at[1] * a->ld + k) *
               gemm_input(f, GEMM_B, at[0] * b->stride + k * b->ld + at[2]);
    }
    return sum;
}

typedef double (*mutate_fn)(const struct gemm_fixture *f, const int64_t at[3]);

static void mutate(struct gemm_fixture *f, mutate_fn value)
{
    for (int64_t b = 0; b < f->g->batch; b++) {
        for (int64_t i = 0; i < f->g->m; i++) {
            for (int64_t j = 0; j < f->g->n; j++) {
                gemm_set_d(f, b, i, j, value(f, (int64_t[3]){ b, i, j }));
            }
        }
    }
}

static void expect_mutant(const char *text, mutate_fn value, const char *words)
{
    struct gemm_fixture f;
    gemm_fixture_make(&f, text, 0);
    mutate(&f, value);
    expect_words(&f, words);
}

/* --- formats and factors --- */

Test(gemm_diagnose, fp8_formats_of_each_operand)
{
    static const char *const right =
        "{'op':'gemm','M':40,'N':40,'K':64,'a_type':'e4m3fnuz','d_type':'f16'}";
    static const struct {
        const char *alpha, *words;
    } rows[] = { { "2", "2 times" },
                 { "0.5", "1/2 of" },
                 { "4", "4 times" },
                 { "0.25", "1/4 of" } };
    for (size_t i = 0; i < 4; i++) {
        char wrong[160];
        (void)snprintf(wrong, sizeof wrong,
                       "{'op':'gemm','M':40,'N':40,'K':64,'a_type':'e4m3fnuz',"
                       "'d_type':'f16','alpha':%s}",
                       rows[i].alpha);
        expect_of(wrong, right, rows[i].words);
        expect_of(wrong, right, "fnuz and OCP");
    }
}

/* D stored in the other family: the codes are right, their reading is not. */
Test(gemm_diagnose, fp8_format_of_the_output)
{
    struct gemm_fixture w;
    struct gemm_fixture f;
    gemm_fixture_make(&w, "{'op':'gemm','M':40,'N':40,'K':16,'d_type':'e4m3fn'}", 0);
    gemm_fixture_make(&f, "{'op':'gemm','M':40,'N':40,'K':16,'d_type':'e4m3fnuz'}", 0);
    memcpy(f.d, w.d, 40 * 40);
    for (int i = 0; i < 40 * 40; i++) { /* OCP's negative zero is fnuz' NaN */
        f.d[i] = f.d[i] == 0x80 ? 0 : f.d[i];
    }
    gemm_fixture_free(&w);
    expect_words(&f, "1/2 of the right one: fp8 codes of fnuz and OCP");
}

Test(gemm_diagnose, a_factor_without_fp8_is_no_format)
{
    struct gemm_fixture w;
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&w, "{'op':'gemm','M':40,'N':40,'K':64,'alpha':2}", 0);
    gemm_fixture_make(&f, "{'op':'gemm','M':40,'N':40,'K':64}", 0);
    memcpy(f.d, w.d, 40 * 40 * 2);
    gemm_fixture_check(&f, &FULL, &r);
    cr_expect_not_null(strstr(r.diagnosis, "2 times"));
    cr_expect_null(strstr(r.diagnosis, "OCP"));
    gemm_fixture_free(&w);
    gemm_fixture_free(&f);
}

static double rounded_to(enum wf_dtype t, double v)
{
    unsigned char raw[8];
    double r;
    wf_from_f64(t, &v, raw, 1);
    wf_to_f64(t, raw, &r, 1);
    return r;
}

static double operands_in_fp8(const struct gemm_fixture *f, const int64_t at[3])
{
    double sum = 0.0;
    for (int64_t k = 0; k < f->g->k; k++) {
        sum += rounded_to(WF_E4M3FNUZ, gemm_input(f, GEMM_A, at[1] * f->g->k + k)) *
               rounded_to(WF_E4M3FNUZ, gemm_input(f, GEMM_B, k * f->g->n + at[2]));
    }
    return sum;
}

static double result_in_bf16(const struct gemm_fixture *f, const int64_t at[3])
{
    return rounded_to(WF_BF16, part(f, at, 0, f->g->k));
}

Test(gemm_diagnose, lowered_precision)
{
    expect_mutant("{'op':'gemm','M':40,'N':40,'K':256}", operands_in_fp8,
                  "A and B were rounded to e4m3fnuz first");
    expect_mutant("{'op':'gemm','M':40,'N':40,'K':256,'a_type':'f32'}", result_in_bf16,
                  "the result was rounded to bf16");
}

/* --- C --- */

static double c_turned(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, at, 0, f->g->k) + gemm_input(f, GEMM_C, at[2] * f->g->n + at[1]);
}

static double c_row(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, at, 0, f->g->k) + gemm_input(f, GEMM_C, at[2]);
}

static double c_col(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, at, 0, f->g->k) + gemm_input(f, GEMM_C, at[1] * f->g->n);
}

Test(gemm_diagnose, c_by_rows_and_columns)
{
    const char *text = "{'op':'gemm','M':48,'N':48,'K':8,'beta':1}";
    expect_mutant(text, c_turned, "C was read transposed");
    expect_mutant(text, c_row, "first row of C");
    expect_mutant(text, c_col, "first column of C");
}

/* --- batches --- */

Test(gemm_diagnose, ignored_batch_strides)
{
    const char *right = "{'op':'gemm','M':40,'N':40,'K':64,'batch':3}";
    expect_of("{'op':'gemm','M':40,'N':40,'K':64,'batch':3,'stride_a':0}", right,
              "A of batch 0 was used for every batch");
    expect_of("{'op':'gemm','M':40,'N':40,'K':64,'batch':3,'stride_b':0}", right,
              "B of batch 0 was used for every batch");
    expect_of("{'op':'gemm','M':40,'N':40,'K':64,'batch':3,'stride_a':0,'stride_b':0}",
              right, "A and B of batch 0 were used for every batch");
    expect_of("{'op':'gemm','M':40,'N':40,'K':64,'batch':3,'stride_b':0}", right,
              "batches 1..2 of 3");
}

static double next_batch(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, (int64_t[3]){ (at[0] + 1) % f->g->batch, at[1], at[2] }, 0, f->g->k);
}

Test(gemm_diagnose, batches_out_of_order)
{
    expect_mutant("{'op':'gemm','M':40,'N':40,'K':16,'batch':30}", next_batch,
                  "answer of the next batch");
}

/* --- places --- */

static double next_row(const struct gemm_fixture *f, const int64_t at[3])
{
    const int64_t row = at[1] + 1 < f->g->m ? at[1] + 1 : at[1];
    return part(f, (int64_t[3]){ at[0], row, at[2] }, 0, f->g->k);
}

static double cols_16_on(const struct gemm_fixture *f, const int64_t at[3])
{
    const int64_t col = at[2] >= 16 ? at[2] - 16 : at[2];
    return part(f, (int64_t[3]){ at[0], at[1], col }, 0, f->g->k);
}

Test(gemm_diagnose, shifted_rows_and_columns)
{
    expect_mutant("{'op':'gemm','M':60,'N':50,'K':32}", next_row,
                  "row i of D holds the answer of row i + 1");
    expect_mutant("{'op':'gemm','M':60,'N':50,'K':32}", cols_16_on,
                  "column j of D holds the answer of column j - 16");
}

static double alpha_in_first_tile(const struct gemm_fixture *f, const int64_t at[3])
{
    const double alpha = at[1] < 64 && at[2] < 64 ? f->g->alpha : 1.0;
    return alpha * part(f, at, 0, f->g->k);
}

static double beta_in_first_rows(const struct gemm_fixture *f, const int64_t at[3])
{
    const double beta = at[1] < 32 ? f->g->beta : 0.0;
    return part(f, at, 0, f->g->k) +
           beta * gemm_input(f, GEMM_C, at[1] * f->g->n + at[2]);
}

static double beta_in_first_columns(const struct gemm_fixture *f, const int64_t at[3])
{
    const double beta = at[2] < 16 ? f->g->beta : 0.0;
    return part(f, at, 0, f->g->k) +
           beta * gemm_input(f, GEMM_C, at[1] * f->g->n + at[2]);
}

Test(gemm_diagnose, scalars_lost_after_the_first_tile)
{
    expect_mutant("{'op':'gemm','M':100,'N':90,'K':16,'alpha':3}", alpha_in_first_tile,
                  "alpha was not applied: right in the first 64 x 64 tile");
    expect_mutant("{'op':'gemm','M':100,'N':90,'K':16,'beta':3}", beta_in_first_rows,
                  "beta * C is missing: right in the first 32 rows");
    expect_mutant("{'op':'gemm','M':100,'N':90,'K':16,'beta':3}", beta_in_first_columns,
                  "beta * C is missing: right in the first 16 columns");
}

static double tail_rows_zero(const struct gemm_fixture *f, const int64_t at[3])
{
    return at[1] >= 64 ? 0.0 : part(f, at, 0, f->g->k);
}

static double tail_cols_off(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, at, 0, f->g->k) + (at[2] >= 80 ? 3.0 : 0.0);
}

Test(gemm_diagnose, tail_tiles_of_the_output)
{
    expect_mutant("{'op':'gemm','M':100,'N':90,'K':16}", tail_rows_zero,
                  "the tail tile in M is missing or wrong (64)");
    expect_mutant("{'op':'gemm','M':100,'N':90,'K':16}", tail_cols_off,
                  "the tail tile in N is missing or wrong (16)");
}

/* --- K --- */

static double tail_32(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, at, 0, f->g->k / 32 * 32);
}

static double last_term(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, at, 0, f->g->k - 1);
}

static double first_64(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, at, 0, 64);
}

static double no_prologue(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, at, 32, f->g->k);
}

Test(gemm_diagnose, parts_of_k)
{
    expect_mutant("{'op':'gemm','M':40,'N':40,'K':216}", tail_32,
                  "tail of K beyond a multiple of 32");
    expect_mutant("{'op':'gemm','M':40,'N':40,'K':65}", last_term,
                  "the last term of K is missing");
    expect_mutant("{'op':'gemm','M':40,'N':40,'K':256}", first_64,
                  "only the first 64 of K");
    expect_mutant("{'op':'gemm','M':40,'N':40,'K':256}", no_prologue,
                  "the first 32 of K are missing");
}

/* Which part a race leaves differs from element to element. */
static double one_of_4(const struct gemm_fixture *f, const int64_t at[3])
{
    const int64_t p = (at[1] * 7 + at[2] * 3) % 4;
    return part(f, at, p * f->g->k / 4, (p + 1) * f->g->k / 4);
}

static double lost_one_of_5(const struct gemm_fixture *f, const int64_t at[3])
{
    const int64_t p = (at[1] + at[2]) % 5;
    return part(f, at, 0, f->g->k) -
           part(f, at, p * f->g->k / 5, (p + 1) * f->g->k / 5);
}

Test(gemm_diagnose, split_sums_that_are_not_whole)
{
    expect_mutant("{'op':'gemm','M':40,'N':40,'K':400}", one_of_4,
                  "it has only one of 4 parts of K");
    expect_mutant("{'op':'gemm','M':40,'N':40,'K':400}", lost_one_of_5,
                  "it lacks one of 5 parts of K");
}

static double in_f16(const struct gemm_fixture *f, const int64_t at[3])
{
    double sum = 0.0;
    for (int64_t k = 0; k < f->g->k; k++) {
        sum = rounded_to(WF_F16, sum + part(f, at, k, k + 1));
    }
    return sum;
}

static double in_bf16_by_4(const struct gemm_fixture *f, const int64_t at[3])
{
    double sum = 0.0;
    for (int64_t k = 0; k < f->g->k; k += 4) {
        sum = rounded_to(WF_BF16, sum + part(f, at, k, k + 4));
    }
    return sum;
}

Test(gemm_diagnose, accumulation_in_a_narrow_type)
{
    expect_mutant("{'op':'gemm','M':24,'N':24,'K':256}", in_f16,
                  "accumulating K = 256 terms in f16");
    expect_mutant("{'op':'gemm','M':24,'N':24,'K':1024,'d_type':'f32'}", in_f16,
                  "accumulating K = 1024 terms in f16");
    expect_mutant("{'op':'gemm','M':24,'N':24,'K':256,'a_type':'bf16'}", in_bf16_by_4,
                  "accumulating K = 256 terms in bf16");
}

/* --- what must get no name --- */

static double noise(const int64_t at[3])
{
    const uint64_t h = (uint64_t)(at[0] * 7919 + at[1] * 104729 + at[2] * 1299709) *
                       UINT64_C(0x9e3779b97f4a7c15);
    return (double)(h >> 11) * 0x1p-52 - 1.0;
}

static double garbage(const struct gemm_fixture *f, const int64_t at[3])
{
    (void)f;
    return 20.0 * noise(at);
}

static double one_percent(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, at, 0, f->g->k) * (1.0 + 0.01 * noise(at));
}

static double times_7(const struct gemm_fixture *f, const int64_t at[3])
{
    return 7.0 * part(f, at, 0, f->g->k);
}

static double one_sided(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, at, 0, f->g->k) + 0.05 * (1.0 + 0.5 * noise(at));
}

static double checkered(const struct gemm_fixture *f, const int64_t at[3])
{
    return part(f, at, 0, f->g->k) + ((at[1] + at[2]) % 2 == 0 ? 3.0 : 0.0);
}

static double twice_c(const struct gemm_fixture *f, const int64_t at[3])
{
    const struct gemm_matrix *c = &f->g->matrix[GEMM_C];
    return 2 * gemm_input(f, GEMM_C, at[0] * c->stride + at[1] * c->ld + at[2]) + 0.25;
}

/* A and B are not there to explain anything by. */
Test(gemm_diagnose, without_a_product_nothing_is_read_of_it)
{
    expect_mutant("{'op':'gemm','M':23,'N':39,'K':35,'trans_b':'T','alpha':0,'beta':1}",
                  twice_c, "");
    expect_mutant("{'op':'gemm','M':23,'N':39,'K':0,'beta':1}", twice_c, "");
}

Test(gemm_diagnose, other_faults_get_no_name)
{
    static const mutate_fn others[] = { garbage, one_percent, times_7, one_sided,
                                        checkered };
    static const char *const texts[] = {
        "{'op':'gemm','M':100,'N':90,'K':77,'alpha':3,'beta':0.5}",
        "{'op':'gemm','M':64,'N':64,'K':128,'batch':2,'a_type':'e4m3fnuz'}",
        "{'op':'gemm','M':64,'N':64,'K':1024,'a_type':'bf16'}",
    };
    for (size_t t = 0; t < 3; t++) {
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            struct gemm_fixture f;
            struct wf_check_report r;
            gemm_fixture_make(&f, texts[t], 0);
            mutate(&f, others[i]);
            gemm_fixture_check(&f, &FULL, &r);
            cr_expect_eq(r.answer, WF_ANSWER_MISMATCH);
            cr_expect_str_eq(r.diagnosis, "", "%s, fault %zu: \"%s\"", texts[t], i,
                             r.diagnosis);
            gemm_fixture_free(&f);
        }
    }
}

/* --- offsets that wrap, on problems too large to compute --- */

static struct gemm wide_problem(void)
{
    struct gemm g = { .m = 10, .n = 100, .k = 64, .batch = 1, .alpha = 1.0 };
    g.acc_type = WF_F32;
    g.matrix[GEMM_A] = (struct gemm_matrix){
        .rows = 10, .cols = 64, .ld = INT64_C(1) << 29, .dtype = WF_F16
    };
    g.matrix[GEMM_B] =
        (struct gemm_matrix){ .rows = 64, .cols = 100, .ld = 100, .dtype = WF_F16 };
    g.matrix[GEMM_D] =
        (struct gemm_matrix){ .rows = 10, .cols = 100, .ld = 100, .dtype = WF_F16 };
    return g;
}

/* All elements from row `first` on are wrong. */
static struct gemm_tally wrong_rows(const struct gemm *g, int64_t first)
{
    struct gemm_tally t;
    gemm_tally_init(&t, g);
    t.has_first = t.has_worst = true;
    t.mismatches = (uint64_t)((g->m - first) * g->n);
    t.first[1] = t.low[1] = first;
    t.high[1] = g->m - 1;
    t.high[2] = g->n - 1;
    t.sample_count = 2;
    t.sample[0] = (struct gemm_sample){ 0, first, 0, 1.0, 2.0 };
    t.sample[1] = (struct gemm_sample){ 0, g->m - 1, 50, 1.0, 2.0 };
    return t;
}

Test(gemm_diagnose, offsets_that_wrap_are_named_by_operand_and_limit)
{
    char text[200] = "";
    struct gemm g = wide_problem();
    struct gemm_tally t = wrong_rows(&g, 4); /* 4 * 2^29 = 2^31 elements */
    cr_expect(gemm_explain_wrap(&g, &t, text, sizeof text));
    cr_expect_str_eq(text, "wrong exactly where the element offset into A reaches 2^31 "
                           "(int32): it wraps");
    t = wrong_rows(&g, 2); /* 2^30 elements of 2 bytes */
    cr_expect(gemm_explain_wrap(&g, &t, text, sizeof text));
    cr_expect_not_null(strstr(text, "byte offset into A reaches 2^31"));
    t = wrong_rows(&g, 8);
    cr_expect(gemm_explain_wrap(&g, &t, text, sizeof text));
    cr_expect_not_null(strstr(text, "element offset into A reaches 2^32"));
    for (int64_t row = 1; row < 10; row += 2) { /* where no limit lies */
        t = wrong_rows(&g, row);
        cr_expect_not(gemm_explain_wrap(&g, &t, text, sizeof text), "%lld: %s",
                      (long long)row, text);
    }
    t = wrong_rows(&g, 4);
    t.high[1] = 8; /* the last row is right */
    cr_expect_not(gemm_explain_wrap(&g, &t, text, sizeof text));
    t = wrong_rows(&g, 4);
    t.sample[1].row = 3; /* and so is one below the limit */
    cr_expect_not(gemm_explain_wrap(&g, &t, text, sizeof text));
    t = wrong_rows(&g, 0); /* everything is wrong: says nothing about offsets */
    cr_expect_not(gemm_explain_wrap(&g, &t, text, sizeof text));
}

/* Of D, what was not written lies beyond the limit; what it hit instead does not. */
Test(gemm_diagnose, an_offset_into_d_that_wraps_leaves_elements_unwritten)
{
    char text[200] = "";
    struct gemm g = wide_problem();
    g.matrix[GEMM_A].ld = 64;
    g.matrix[GEMM_D].ld = INT64_C(1) << 28;
    struct gemm_tally t = wrong_rows(&g, 0);
    t.unwritten = 200;
    t.first_unwritten[1] = 8;
    cr_expect(gemm_explain_wrap(&g, &t, text, sizeof text));
    cr_expect_not_null(strstr(text, "element offset into D reaches 2^31"), "%s", text);
    t.first_unwritten[1] = 7;
    cr_expect_not(gemm_explain_wrap(&g, &t, text, sizeof text), "%s", text);
}

/* --- first element, map, other suites' counts --- */

Test(gemm_report, first_wrong_element_and_map)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':100,'N':70,'K':32,'batch':2}", 0);
    gemm_set_d(&f, 1, 3, 4, 1000);
    gemm_set_d(&f, 0, 99, 69, 500);
    gemm_set_d(&f, 0, 20, 69, 2000);
    for (size_t m = 0; m < 2; m++) {
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert(r.has_first);
        cr_expect_str_eq(r.first_tensor, "D");
        cr_expect(r.first_ndim == 3 && r.first_index[0] == 0 &&
                  r.first_index[1] == 20 && r.first_index[2] == 69);
        cr_expect_eq(r.first_got, 2000);
        cr_assert(r.map.known);
        cr_expect(r.map.rows == 200 && r.map.cols == 70);
        cr_expect(r.map.cell_rows == 16 && r.map.cell_cols == 8);
        cr_expect(r.map.map_rows == 13 && r.map.map_cols == 9);
        cr_expect_eq(r.map.wrong[1][8], 1);
        cr_expect_eq(r.map.wrong[6][8], 1);
        cr_expect_eq(r.map.wrong[6][0], 1);
        uint64_t checked = 0;
        uint64_t wrong = 0;
        for (int i = 0; i < WF_MAP_SIDE; i++) {
            for (int j = 0; j < WF_MAP_SIDE; j++) {
                checked += r.map.checked[i][j];
                wrong += r.map.wrong[i][j];
            }
        }
        cr_expect_eq(checked, 200 * 70, "method %zu: %llu", m,
                     (unsigned long long)checked);
        cr_expect_eq(wrong, 3);
    }
    gemm_fixture_free(&f);
}

Test(gemm_report, a_right_output_has_neither_first_nor_map)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':20,'N':20,'K':16}", 0);
    for (size_t m = 0; m < 2; m++) {
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_expect(!r.has_first && !r.map.known);
        cr_expect(r.tolerance_inputs.known && r.tolerance_inputs.length == 16 &&
                  r.tolerance_inputs.u_out == 0x1p-11);
    }
    gemm_fixture_free(&f);
}

/* A thoroughly wrong output costs no full product, and its map still shows rows of the
 * whole output. */
Test(gemm_report, the_product_check_marks_what_nobody_looked_at)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':20000,'N':8,'K':4}", 0);
    memset(f.d, 0, 20000 * 8 * 2);
    gemm_fixture_check(&f, &PRODUCT, &r);
    uint64_t checked = 0;
    int blank = 0;
    for (int i = 0; i < r.map.map_rows; i++) {
        blank += r.map.checked[i][0] == 0;
        checked += r.map.checked[i][0];
    }
    cr_expect(checked >= 512 && checked < 2000, "%llu", (unsigned long long)checked);
    cr_expect_eq(blank, 0);
    cr_expect_eq(r.map.wrong[15][0], r.map.checked[15][0]);
    gemm_fixture_free(&f);
}

Test(gemm_report, other_suites_rules_are_counted_by_hand)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':4,'N':8,'K':128,'inputs':'ones'}", 0);
    gemm_set_d(&f, 0, 0, 0, 128 + 1.25);    /* 1e-2 + 1.28 allowed; beyond none */
    gemm_set_d(&f, 0, 0, 1, 128 + 1.28125); /* beyond 1.28, within 1.29 */
    gemm_set_d(&f, 0, 0, 2, 128 + 2);       /* beyond both */
    gemm_set_d(&f, 0, 0, 3, (double)NAN);
    gemm_set_d(&f, 0, 0, 4, (double)INFINITY);
    gemm_fixture_check(&f, &FULL, &r);
    cr_assert(r.peers.known);
    cr_expect_eq(r.peers.elements, 32);
    cr_expect_eq(r.peers.class_differs, 2);
    cr_expect_geq(r.peers.beyond_flashinfer, 3);
    cr_expect_eq(r.peers.beyond_allclose, 3);
    gemm_fixture_check(&f, &PRODUCT, &r);
    cr_expect_not(r.peers.known);
    gemm_fixture_free(&f);
}
