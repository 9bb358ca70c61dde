/* The checker of gemm: right outputs pass with both methods, and every class of wrong
 * output is caught by both. */
#include "gemm_cases.h"
#include "gemm_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct gemm_check_setup FULL = { 0 };
static const struct gemm_check_setup PRODUCT = { .budget_macs = 1 };

static const struct gemm_check_setup *const METHODS[] = { &FULL, &PRODUCT };

static const char *const CASES[] = {
#define X(text) text,
    GEMM_CASE_LIST(X)
#undef X
};
#define CASE_COUNT (sizeof CASES / sizeof *CASES)

Test(gemm_check, right_outputs_pass)
{
    for (size_t i = 0; i < CASE_COUNT; i++) {
        struct gemm_fixture f;
        gemm_fixture_make(&f, CASES[i], 0);
        for (size_t m = 0; m < 2; m++) {
            struct wf_check_report r;
            const uint64_t elements =
                (uint64_t)f.g->batch * (uint64_t)f.g->m * (uint64_t)f.g->n;
            gemm_fixture_check(&f, METHODS[m], &r);
            cr_assert_eq(r.answer, WF_ANSWER_PASS,
                         "%s: %s at %lld %lld: %g not %g (%g)", CASES[i],
                         wf_answer_name(r.answer), (long long)r.worst_index[1],
                         (long long)r.worst_index[2], r.worst_got, r.worst_want,
                         r.worst_tolerance);
            cr_assert_eq(r.check[0].elements, elements);
            cr_assert(r.check[0].passed && r.check[0].worst_ratio <= 1);
            cr_assert_str_eq(r.diagnosis, "");
            cr_assert(!r.has_worst && r.mismatches == 0);
        }
        gemm_fixture_free(&f);
    }
}

Test(gemm_check, the_method_depends_on_case_and_budget)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':16,'N':16,'K':16}", 0);
    gemm_fixture_check(&f, &(struct gemm_check_setup){ .budget_macs = 4096 }, &r);
    cr_assert_eq(r.check_count, 1);
    cr_assert_str_eq(r.check[0].name, "full-double");
    gemm_fixture_check(&f, &(struct gemm_check_setup){ .budget_macs = 4095 }, &r);
    cr_assert_eq(r.check_count, 2);
    cr_assert_str_eq(r.check[0].name, "freivalds-blocked");
    cr_assert_str_eq(r.check[1].name, "sampled-rows");
    cr_assert_not_null(strstr(r.check[1].note, "4.1e+03 multiply-adds, at most"), "%s",
                       r.check[1].note);
    cr_assert_str_eq(r.tolerance_model, "gemm-f16-f32acc/1");
    cr_assert_not_null(strstr(r.tolerance_text, "|ref|"));
    gemm_fixture_free(&f);
}

Test(gemm_check, another_seed_has_another_right_answer)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':16,'N':16,'K':16}", 5);
    gemm_fixture_check(&f, &(struct gemm_check_setup){ .seed_offset = 5 }, &r);
    cr_assert_eq(r.answer, WF_ANSWER_PASS);
    gemm_fixture_check(&f, NULL, &r);
    cr_assert_eq(r.answer, WF_ANSWER_MISMATCH);
    gemm_fixture_free(&f);
}

/* Error of one element just above what the check says it must catch, at several places;
 * f32 output, so that the value can be set finely. */
static void check_detection(const char *text, const struct gemm_check_setup *method)
{
    const int64_t at[][2] = {
        { 0, 0 }, { 129, 69 }, { 64, 31 }, { 7, 33 }, { 128, 0 }
    };
    struct gemm_fixture f;
    struct wf_check_report clean, r;
    gemm_fixture_make(&f, text, 0);
    gemm_fixture_check(&f, method, &clean);
    cr_assert_eq(clean.answer, WF_ANSWER_PASS);
    const double caught = clean.check[0].smallest_caught;
    cr_assert(caught > 0 && isfinite(caught));
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        const double right = gemm_get_d(&f, 0, at[i][0], at[i][1]);
        /* The right value is itself off by up to one budget, hence the 2. */
        const double wrong[] = { right + 2.0 * caught, right - 2.0 * caught };
        for (size_t s = 0; s < 2; s++) {
            gemm_set_d(&f, 0, at[i][0], at[i][1], wrong[s]);
            gemm_fixture_check(&f, method, &r);
            cr_assert_eq(r.answer, WF_ANSWER_MISMATCH,
                         "error %g at %lld %lld is missed", 2 * caught,
                         (long long)at[i][0], (long long)at[i][1]);
            cr_assert_eq(r.mismatches, 1);
            cr_assert(!r.check[0].passed && r.check[0].worst_ratio > 1);
            cr_assert(r.worst_index[1] == at[i][0] && r.worst_index[2] == at[i][1]);
            cr_assert_float_eq(r.worst_got, wrong[s], 1e-3 * fabs(wrong[s]));
        }
        gemm_set_d(&f, 0, at[i][0], at[i][1], right);
    }
    gemm_fixture_check(&f, method, &r);
    cr_assert_eq(r.answer, WF_ANSWER_PASS);
    gemm_fixture_free(&f);
}

Test(gemm_check, one_wrong_element_above_the_stated_limit_is_caught)
{
    const char *text = "{'op':'gemm','M':130,'N':70,'K':133,'d_type':'f32'}";
    check_detection(text, &FULL);
    check_detection(text, &PRODUCT);
    check_detection("{'op':'gemm','M':130,'N':70,'K':133,'inputs':'ones'}", &FULL);
    check_detection("{'op':'gemm','M':130,'N':70,'K':133,'inputs':'ones'}", &PRODUCT);
}

/* Exact inputs: the right value is the reference, so that the stated limit can be
 * tested to one part in a thousand. */
static void check_sharp(const struct gemm_check_setup *method)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f,
                      "{'op':'gemm','M':100,'N':64,'K':256,'d_type':'f32',"
                      "'inputs':'integers'}",
                      0);
    gemm_fixture_check(&f, method, &r);
    const double caught = r.check[0].smallest_caught;
    for (int64_t row = 0; row < 100; row += 9) {
        const double right = gemm_get_d(&f, 0, row, row % 64);
        gemm_set_d(&f, 0, row, row % 64, right + 1.001 * caught);
        gemm_fixture_check(&f, method, &r);
        cr_assert_eq(r.answer, WF_ANSWER_MISMATCH);
        gemm_set_d(&f, 0, row, row % 64, right);
    }
    gemm_fixture_free(&f);
}

Test(gemm_check, the_stated_limit_is_sharp_for_exact_inputs)
{
    check_sharp(&FULL);
    check_sharp(&PRODUCT);
}

Test(gemm_check, an_error_inside_the_tolerance_passes)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f,
                      "{'op':'gemm','M':64,'N':64,'K':64,'inputs':'integers',"
                      "'d_type':'f32'}",
                      0);
    /* tol >= 4 sqrt(64) 2^-24 S with S the product of the norms. */
    double norms = 0, other = 0;
    for (int64_t k = 0; k < 64; k++) {
        norms += pow(gemm_input(&f, GEMM_A, 5 * 64 + k), 2);
        other += pow(gemm_input(&f, GEMM_B, k * 64 + 6), 2);
    }
    const double tolerance = 32 * 0x1p-24 * sqrt(norms * other);
    const double right = gemm_get_d(&f, 0, 5, 6);
    for (size_t m = 0; m < 2; m++) {
        gemm_set_d(&f, 0, 5, 6, right + 0.9 * tolerance);
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_PASS);
        gemm_set_d(&f, 0, 5, 6, right);
    }
    gemm_fixture_free(&f);
}

Test(gemm_check, any_wrong_integer_is_caught)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':70,'N':90,'K':100,'a_type':'i8','beta':7}",
                      0);
    for (size_t m = 0; m < 2; m++) {
        for (int64_t i = 0; i < 70; i += 23) {
            const double right = gemm_get_d(&f, 0, i, 89 - i);
            gemm_set_d(&f, 0, i, 89 - i, right + (i % 2 == 0 ? 1 : -1));
            gemm_fixture_check(&f, METHODS[m], &r);
            cr_assert_eq(r.answer, WF_ANSWER_MISMATCH);
            cr_assert_eq(r.check[0].smallest_caught, 1);
            cr_assert_eq(r.worst_want, right);
            gemm_set_d(&f, 0, i, 89 - i, right);
        }
    }
    gemm_fixture_free(&f);
}

Test(gemm_check, nan_and_infinity_are_nonfinite)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    const double bad[] = { NAN, INFINITY, -INFINITY };
    gemm_fixture_make(&f, "{'op':'gemm','M':70,'N':90,'K':100,'a_type':'bf16'}", 0);
    for (size_t m = 0; m < 2; m++) {
        for (size_t k = 0; k < 3; k++) {
            const double right = gemm_get_d(&f, 0, 69, 89);
            gemm_set_d(&f, 0, 69, 89, bad[k]);
            gemm_fixture_check(&f, METHODS[m], &r);
            cr_assert_eq(r.answer, WF_ANSWER_NONFINITE, "%s", wf_answer_name(r.answer));
            cr_assert_eq(r.nonfinite, 1);
            cr_assert(isinf(r.check[0].worst_ratio) && !r.check[0].passed);
            gemm_set_d(&f, 0, 69, 89, right);
        }
    }
    gemm_fixture_free(&f);
}

Test(gemm_check, poison_left_is_unwritten_and_counted)
{
    const char *texts[] = { "{'op':'gemm','M':70,'N':96,'K':40}",
                            "{'op':'gemm','M':70,'N':96,'K':40,'a_type':'i8'}",
                            "{'op':'gemm','M':70,'N':96,'K':40,'d_type':'e4m3fnuz'}" };
    for (size_t i = 0; i < 3; i++) {
        struct gemm_fixture f;
        struct wf_check_report r;
        gemm_fixture_make(&f, texts[i], 0);
        const enum wf_dtype t = f.g->matrix[GEMM_D].dtype;
        for (int64_t row = 64; row < 70; row++) {
            wf_poison(t, f.d + gemm_d_position(f.g, 0, row, 64) * wf_dtype_bytes(t),
                      32);
        }
        for (size_t m = 0; m < 2; m++) {
            gemm_fixture_check(&f, METHODS[m], &r);
            cr_assert_eq(r.answer, WF_ANSWER_UNWRITTEN);
            cr_assert_eq(r.unwritten, 6 * 32, "%s method %zu: %llu", texts[i], m,
                         (unsigned long long)r.unwritten);
            cr_assert_not_null(strstr(r.diagnosis, "rows 64..69, columns 64..95"));
            cr_assert_not_null(strstr(r.diagnosis, "tail"));
        }
        gemm_fixture_free(&f);
    }
}

Test(gemm_check, an_unwritten_output_is_unwritten_not_nonfinite)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':70,'N':96,'K':40}", 0);
    wf_poison(WF_F16, f.d, 70 * 96);
    for (size_t m = 0; m < 2; m++) {
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_UNWRITTEN);
        cr_assert_eq(r.unwritten, 70 * 96);
    }
    gemm_fixture_free(&f);
}

/* Scales D's product part by computing with another alpha. */
static void expect_diagnosis(struct gemm_fixture *wrong,
                             const char *right,
                             const char *text)
{
    struct gemm_fixture f;
    gemm_fixture_make(&f, right, 0);
    const struct wf_tensor *d = wf_case_tensor(f.c, GEMM_D);
    memcpy(f.d, wrong->d, d->bytes);
    for (size_t m = 0; m < 2; m++) {
        struct wf_check_report r;
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_MISMATCH, "%s", right);
        cr_assert_not_null(strstr(r.diagnosis, text), "\"%s\" is not in \"%s\"", text,
                           r.diagnosis);
    }
    gemm_fixture_free(&f);
    gemm_fixture_free(wrong);
}

Test(gemm_diagnosis, scaled_products_name_the_fp8_mix_up)
{
    struct gemm_fixture w;
    gemm_fixture_make(
        &w, "{'op':'gemm','M':40,'N':40,'K':64,'a_type':'e4m3fnuz','alpha':2}", 0);
    expect_diagnosis(&w, "{'op':'gemm','M':40,'N':40,'K':64,'a_type':'e4m3fnuz'}",
                     "OCP");
    gemm_fixture_make(
        &w, "{'op':'gemm','M':40,'N':40,'K':64,'a_type':'e4m3fn','alpha':0.25}", 0);
    expect_diagnosis(&w, "{'op':'gemm','M':40,'N':40,'K':64,'a_type':'e4m3fn'}", "1/4");
    gemm_fixture_make(&w, "{'op':'gemm','M':40,'N':40,'K':64,'alpha':2}", 0);
    expect_diagnosis(&w, "{'op':'gemm','M':40,'N':40,'K':64}", "2 times");
}

Test(gemm_diagnosis, lost_scalars_are_named)
{
    const char *both = "{'op':'gemm','M':40,'N':40,'K':64,'alpha':3,'beta':0.5}";
    struct gemm_fixture w;
    gemm_fixture_make(&w, "{'op':'gemm','M':40,'N':40,'K':64,'alpha':3}", 0);
    expect_diagnosis(&w, both, "beta * C is missing");
    gemm_fixture_make(&w, "{'op':'gemm','M':40,'N':40,'K':64,'alpha':3,'beta':1}", 0);
    expect_diagnosis(&w, both, "without beta");
    gemm_fixture_make(&w, "{'op':'gemm','M':40,'N':40,'K':64,'beta':0.5}", 0);
    expect_diagnosis(&w, both, "alpha was not applied");
    gemm_fixture_make(&w, "{'op':'gemm','M':40,'N':40,'K':64,'alpha':3,'beta':1.5}", 0);
    expect_diagnosis(&w, both, "alpha was applied to C");
}

Test(gemm_diagnosis, transposed_operands_are_named)
{
    struct gemm_fixture w;
    gemm_fixture_make(&w, "{'op':'gemm','M':40,'N':50,'K':40,'trans_a':'T'}", 0);
    expect_diagnosis(&w, "{'op':'gemm','M':40,'N':50,'K':40}", "trans_a");
    gemm_fixture_make(&w, "{'op':'gemm','M':40,'N':50,'K':64}", 0);
    expect_diagnosis(&w, "{'op':'gemm','M':40,'N':50,'K':64,'trans_b':'T'}", "trans_b");
    struct gemm_fixture t;
    gemm_fixture_make(&w, "{'op':'gemm','M':40,'N':40,'K':64}", 0);
    gemm_fixture_make(&t, "{'op':'gemm','M':40,'N':40,'K':64}", 0);
    for (int64_t i = 0; i < 40; i++) {
        for (int64_t j = 0; j < 40; j++) {
            gemm_set_d(&w, 0, i, j, gemm_get_d(&t, 0, j, i));
        }
    }
    gemm_fixture_free(&t);
    expect_diagnosis(&w, "{'op':'gemm','M':40,'N':40,'K':64}",
                     "D was written transposed");
}

Test(gemm_diagnosis, a_lost_tail_of_k_is_named)
{
    struct gemm_fixture w;
    gemm_fixture_make(&w, "{'op':'gemm','M':128,'N':64,'K':128,'inputs':'ones'}", 0);
    expect_diagnosis(&w, "{'op':'gemm','M':128,'N':64,'K':133,'inputs':'ones'}",
                     "tail of K");
}

Test(gemm_diagnosis, planted_frauds_fail)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':64,'N':64,'K':64}", 0);
    struct gemm_fixture copy;
    gemm_fixture_make(&copy, "{'op':'gemm','M':64,'N':64,'K':64}", 0);
    for (size_t m = 0; m < 2; m++) {
        memset(f.d, 0, 64 * 64 * 2); /* all zeros */
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_MISMATCH);
        cr_assert_not_null(strstr(r.diagnosis, "not computed"));
        memcpy(f.d, f.input[GEMM_A], 64 * 64 * 2); /* the input copied out */
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_MISMATCH);
        memcpy(f.d, copy.d,
               64 * 64 * 2); /* right values, rows rotated: the sum is kept */
        memcpy(f.d, copy.d + 128, 63 * 64 * 2);
        memcpy(f.d + 63 * 128, copy.d, 128);
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_MISMATCH);
    }
    gemm_fixture_free(&f);
    gemm_fixture_free(&copy);
}

Test(gemm_check, values_beyond_the_type_must_become_infinity)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    /* Each element is 256 * 256 = 65536 > 65520: infinity in f16. */
    gemm_fixture_make(
        &f, "{'op':'gemm','M':8,'N':8,'K':256,'inputs':'ones','alpha':256}", 0);
    cr_assert(isinf(gemm_get_d(&f, 0, 0, 0)));
    for (size_t m = 0; m < 2; m++) {
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_PASS);
        gemm_set_d(&f, 0, 3, 4, 65504);
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_MISMATCH);
        gemm_set_d(&f, 0, 3, 4, -INFINITY);
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_NONFINITE);
        gemm_set_d(&f, 0, 3, 4, INFINITY);
    }
    gemm_fixture_free(&f);
}

Test(gemm_check, at_the_edge_of_overflow_both_roundings_are_right)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    /* 255.9375 * 256 = 65520: the midpoint between the largest f16 and 2^16. */
    gemm_fixture_make(&f,
                      "{'op':'gemm','M':8,'N':8,'K':256,'inputs':'ones',"
                      "'alpha':255.9375}",
                      0);
    for (size_t m = 0; m < 2; m++) {
        gemm_set_d(&f, 0, 1, 1, INFINITY);
        gemm_set_d(&f, 0, 2, 2, 65504);
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_PASS, "%s", wf_answer_name(r.answer));
    }
    gemm_fixture_free(&f);
}

Test(gemm_check, fp8_outputs_saturate)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f,
                      "{'op':'gemm','M':40,'N':40,'K':64,'inputs':'ones',"
                      "'d_type':'e4m3fnuz','alpha':10}",
                      0);
    cr_assert_eq(gemm_get_d(&f, 0, 0, 0), 240);
    for (size_t m = 0; m < 2; m++) {
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_PASS);
        gemm_set_d(&f, 0, 5, 5, 120);
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_MISMATCH);
        gemm_set_d(&f, 0, 5, 5, 240);
    }
    gemm_fixture_free(&f);
}

/* bf16 partial sums added 16 times: wrong for the plain model, right for the declared
 * one. */
static void split_in_bf16(struct gemm_fixture *f, int64_t split)
{
    const int64_t step = f->g->k / split;
    for (int64_t i = 0; i < f->g->m; i++) {
        for (int64_t j = 0; j < f->g->n; j++) {
            float sum = 0;
            for (int64_t s = 0; s < split; s++) {
                float part = 0;
                for (int64_t k = s * step; k < (s + 1) * step; k++) {
                    part += (float)(gemm_input(f, GEMM_A, i * f->g->k + k) *
                                    gemm_input(f, GEMM_B, k * f->g->n + j));
                }
                sum = wf_bf16_to_f32(wf_f32_to_bf16(sum + part));
            }
            gemm_set_d(f, 0, i, j, (double)sum);
        }
    }
}

Test(gemm_check, a_declared_split_widens_the_model_by_its_own_roundings)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':24,'N':32,'K':4096,'a_type':'bf16'}", 0);
    split_in_bf16(&f, 16);
    gemm_fixture_check(&f, NULL, &r);
    cr_assert_eq(r.answer, WF_ANSWER_MISMATCH);
    const struct gemm_check_setup declared = { .split = 16, .accumulate = WF_BF16 };
    gemm_fixture_check(&f, &declared, &r);
    cr_assert_eq(r.answer, WF_ANSWER_PASS, "ratio %g", r.check[0].worst_ratio);
    memset(f.d, 0, 24 * 32 * 2);
    gemm_fixture_check(&f, &declared, &r);
    cr_assert_eq(r.answer, WF_ANSWER_MISMATCH);
    gemm_fixture_free(&f);
}

Test(gemm_check, a_zero_reference_has_an_absolute_relative_error)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':1,'N':2,'K':1,'inputs':'zeros'}", 0);
    gemm_fixture_check(&f, NULL, &r);
    cr_assert(r.max_rel_error == 0 && r.answer == WF_ANSWER_PASS);
    gemm_set_d(&f, 0, 0, 1, 0.5);
    gemm_fixture_check(&f, NULL, &r);
    cr_assert(r.max_rel_error == 0.5 && r.answer == WF_ANSWER_MISMATCH);
    gemm_fixture_free(&f);
}

Test(gemm_check, exact_sums_of_ones_are_k_whatever_the_rotation)
{
    const int64_t sizes[][3] = { { 128, 128, 133 },
                                 { 128, 133, 128 },
                                 { 133, 128, 128 } };
    for (size_t i = 0; i < 3; i++) {
        char text[128];
        struct gemm_fixture f;
        struct wf_check_report r;
        (void)snprintf(text, sizeof text,
                       "{'op':'gemm','M':%lld,'N':%lld,'K':%lld,'inputs':'ones'}",
                       (long long)sizes[i][0], (long long)sizes[i][1],
                       (long long)sizes[i][2]);
        gemm_fixture_make(&f, text, 0);
        cr_assert_eq(gemm_get_d(&f, 0, 127, 127), (double)sizes[i][2]);
        gemm_fixture_check(&f, NULL, &r);
        cr_assert(r.answer == WF_ANSWER_PASS && r.max_abs_error == 0);
        gemm_fixture_free(&f);
    }
}

/* A grid limit that drops the last workgroups of a short, wide output. */
Test(gemm_check, the_last_columns_of_a_wide_output_are_seen)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':4,'N':20011,'K':4,'inputs':'ones'}", 0);
    for (int64_t row = 0; row < 4; row++) {
        wf_poison(WF_F16, f.d + gemm_d_position(f.g, 0, row, 19011) * 2, 1000);
    }
    for (size_t m = 0; m < 2; m++) {
        gemm_fixture_check(&f, METHODS[m], &r);
        cr_assert_eq(r.answer, WF_ANSWER_UNWRITTEN);
        cr_assert_eq(r.unwritten, 4000);
        cr_assert_eq(r.check[0].elements, 4 * 20011);
    }
    gemm_fixture_free(&f);
}

static enum wf_status broken_read(void *ctx,
                                  size_t tensor,
                                  uint64_t offset_bytes,
                                  uint64_t n_bytes,
                                  void *dst,
                                  struct wf_error *err)
{
    int *left = ctx;
    (void)tensor;
    (void)offset_bytes;
    memset(dst, 0, n_bytes);
    return (*left)-- > 0 ? WF_OK : wf_errorf(err, WF_EDEVICE, "the device is gone");
}

/* 600 rows are two panels: the second read fails. */
Test(gemm_check, a_failing_read_is_an_error_and_no_verdict)
{
    struct wf_case *c = gemm_case("{'op':'gemm','M':600,'N':40,'K':8}");
    for (int method = 0; method < 2; method++) {
        for (int good = 0; good < 3; good++) {
            int left = good;
            const struct wf_output_source source = { broken_read, &left };
            const struct wf_reference_options o = { .threads = 1,
                                                    .budget_macs =
                                                        method == 0 ? 0 : 1 };
            struct wf_reference *ref = NULL;
            struct wf_check_report r = { .answer = WF_ANSWER_COUNT };
            struct wf_error err = { .status = WF_OK };
            cr_assert_eq(wf_reference_create(c, &o, &ref, &err), WF_OK);
            const enum wf_status st = wf_reference_check(c, ref, &source, &r, &err);
            wf_reference_destroy(c, ref);
            if (good == 2 && method == 0) {
                cr_assert_eq(st, WF_OK);
                continue;
            }
            cr_assert_eq(st, WF_EDEVICE);
            cr_assert_eq(r.answer, WF_ANSWER_COUNT);
            cr_assert_str_eq(err.text, "the device is gone");
        }
    }
    wf_case_free(c);
}
