/* What the reported faults make of matrix products and of their checks: right outputs
 * pass, reported wrong ones are caught. */
#include "tests/kernels/gemm_fixture.h"

#include "kernels/inputs.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gemm_check_setup METHODS[] = { { 0 }, { .budget_macs = 1 } };

static void expect(struct gemm_fixture *f, enum wf_answer answer, const char *what)
{
    for (size_t m = 0; m < 2; m++) {
        struct wf_check_report r;
        gemm_fixture_check(f, &METHODS[m], &r);
        cr_expect_eq(r.answer, answer, "%s, method %zu: %s, not %s (%s)", what, m,
                     wf_answer_name(r.answer), wf_answer_name(answer), r.diagnosis);
    }
}

static void set_all(struct gemm_fixture *f, double v)
{
    for (int64_t i = 0; i < f->g->m; i++) {
        for (int64_t j = 0; j < f->g->n; j++) {
            gemm_set_d(f, 0, i, j, v);
        }
    }
}

/* A tile of K too few (128 of 133), and each rotation of the shape. */
Test(gemm_reports, a26_the_tail_of_k_is_left_out)
{
    static const struct {
        const char *text;
        double right, wrong;
    } ROWS[] = {
        { "{'op':'gemm','M':128,'N':128,'K':133,'inputs':'ones'}", 133, 128 },
        { "{'op':'gemm','M':128,'N':133,'K':128,'inputs':'ones'}", 128, 0 },
        { "{'op':'gemm','M':133,'N':128,'K':128,'inputs':'ones'}", 128, 0 },
    };
    for (size_t i = 0; i < 3; i++) {
        struct gemm_fixture f;
        gemm_fixture_make(&f, ROWS[i].text, 0);
        cr_expect_eq(gemm_get_d(&f, 0, f.g->m - 1, f.g->n - 1), ROWS[i].right);
        expect(&f, WF_ANSWER_PASS, ROWS[i].text);
        if (i == 0) {
            set_all(&f, ROWS[i].wrong);
        } else { /* the rows or columns of the tail were computed from nothing */
            gemm_set_d(&f, 0, f.g->m - 1, f.g->n - 1, ROWS[i].wrong);
        }
        expect(&f, WF_ANSWER_MISMATCH, ROWS[i].text);
        gemm_fixture_free(&f);
    }
}

/* The metric itself must not be NaN: with a reference of 0 the relative error is the
 * absolute one. Exact products of 15 and 21 times one. */
Test(gemm_reports, a30_a_reference_of_norm_zero)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, "{'op':'gemm','M':1,'N':2,'K':1,'inputs':'zeros'}", 0);
    gemm_fixture_check(&f, NULL, &r);
    cr_expect(r.answer == WF_ANSWER_PASS && r.max_rel_error == 0.0);
    gemm_fixture_free(&f);
    static const double WANT[] = { 15, 21 };
    for (size_t i = 0; i < 2; i++) {
        char text[96];
        (void)snprintf(text, sizeof text,
                       "{'op':'gemm','M':1,'N':2,'K':1,'inputs':'ones','alpha':%g}",
                       WANT[i]);
        gemm_fixture_make(&f, text, 0);
        cr_expect_eq(gemm_get_d(&f, 0, 0, 0), WANT[i]);
        expect(&f, WF_ANSWER_PASS, text);
        gemm_set_d(&f, 0, 0, 1, WANT[1 - i]);
        gemm_fixture_check(&f, NULL, &r);
        cr_expect_eq(r.answer, WF_ANSWER_MISMATCH);
        cr_expect_float_eq(r.max_rel_error, 6 / WANT[i], 1e-12);
        gemm_fixture_free(&f);
    }
}

/* M 546, N 9728, K 2560 in bf16 with A transposed: the sum of 2560 ones, which bf16 has
 * exactly; D held 0x7fc0 before. The plain loops of the fixture would take a minute. */
static void make_large(struct gemm_fixture *f)
{
    memset(f, 0, sizeof *f);
    f->c = gemm_case("{'op':'gemm','M':546,'N':9728,'K':2560,'trans_a':'T',"
                     "'a_type':'bf16','inputs':'ones'}");
    f->g = wf_case_state(f->c);
    f->d = malloc(wf_case_tensor(f->c, GEMM_D)->bytes);
    cr_assert_not_null(f->d);
}

static void fill_d(struct gemm_fixture *f, int64_t row, int64_t rows, uint16_t bits)
{
    uint16_t *d = (uint16_t *)(void *)f->d;
    for (int64_t i = row * f->g->n; i < (row + rows) * f->g->n; i++) {
        d[i] = bits;
    }
}

Test(gemm_reports, a31_elements_that_split_k_left_unwritten)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    make_large(&f);
    cr_expect_eq(wf_bf16_to_f32(wf_f32_to_bf16(2560.0F)), 2560.0F);
    fill_d(&f, 0, 546, wf_f32_to_bf16(2560.0F));
    gemm_fixture_check(&f, &METHODS[1], &r);
    cr_expect_eq(r.answer, WF_ANSWER_PASS);
    fill_d(&f, 512, 1, 0x7fc0); /* a NaN that is not our poison */
    gemm_fixture_check(&f, &METHODS[1], &r);
    cr_expect_eq(r.answer, WF_ANSWER_NONFINITE, "%s", wf_answer_name(r.answer));
    cr_expect_eq(r.nonfinite, 9728u);
    wf_poison(WF_BF16, f.d + (size_t)512 * 9728 * 2, 9728);
    gemm_fixture_check(&f, &METHODS[1], &r);
    cr_expect_eq(r.answer, WF_ANSWER_UNWRITTEN, "%s", wf_answer_name(r.answer));
    cr_expect_eq(r.unwritten, 9728u);
    gemm_fixture_free(&f);
}

/* Sums of K / split terms in f32, added up in bf16. */
static void split_in_bf16(struct gemm_fixture *f, int64_t split)
{
    const int64_t k = f->g->k, step = k / split;
    for (int64_t at = 0; at < f->g->m * f->g->n; at++) {
        const int64_t i = at / f->g->n, j = at % f->g->n;
        float sum = 0;
        for (int64_t s = 0; s < split; s++) {
            float part = 0;
            for (int64_t e = s * step; e < (s + 1) * step; e++) {
                part += (float)(gemm_input(f, GEMM_A, i * k + e) *
                                gemm_input(f, GEMM_B, e * f->g->n + j));
            }
            sum = wf_bf16_to_f32(wf_f32_to_bf16(sum + part));
        }
        gemm_set_d(f, 0, i, j, (double)sum);
    }
}

/* A sum in 4 or 16 parts passes where it is declared and not where another is; a
 * stream-k kernel declares the most parts that it makes. The limit grows with the parts
 * alone: never K times the rounding of D. */
Test(gemm_reports, a33_the_tolerance_counts_the_roundings_of_each_type)
{
    static const int64_t SPLITS[] = { 1, 4, 16 };
    struct gemm_fixture f;
    double last = 0;
    gemm_fixture_make(&f, "{'op':'gemm','M':16,'N':24,'K':4096,'a_type':'bf16'}", 0);
    for (size_t i = 0; i < 3; i++) {
        struct wf_check_report r;
        struct gemm_check_setup s = { .split = SPLITS[i],
                                      .accumulate = SPLITS[i] > 1 ? WF_BF16 : WF_F32 };
        split_in_bf16(&f, SPLITS[i]);
        gemm_fixture_check(&f, &s, &r);
        cr_expect_eq(r.answer, WF_ANSWER_PASS, "split %d: ratio %g", (int)SPLITS[i],
                     r.check[0].worst_ratio);
        cr_expect_gt(r.check[0].smallest_caught, last);
        cr_expect_lt(r.check[0].smallest_caught, 4096 * 0x1p-8 * 64);
        last = r.check[0].smallest_caught;
        s = (struct gemm_check_setup){ .split = 64, .accumulate = WF_BF16 };
        gemm_fixture_check(&f, &s, &r);
        cr_expect_eq(r.answer, WF_ANSWER_PASS);
        if (SPLITS[i] == 16) {
            gemm_fixture_check(&f, &METHODS[0], &r);
            cr_expect_eq(r.answer, WF_ANSWER_MISMATCH, "sixteen parts, one declared");
        }
    }
    set_all(&f, 0);
    struct wf_check_report r;
    gemm_fixture_check(&f, &(struct gemm_check_setup){ .split = 64 }, &r);
    cr_expect_eq(r.answer, WF_ANSWER_MISMATCH);
    gemm_fixture_free(&f);
}

/* Payloads of NaN differ between right conversions: both are NaN, and neither is right
 * where a number is. */
Test(gemm_reports, a37_nan_is_compared_by_class)
{
    static const uint16_t BITS[] = { 0x7fc0, 0x7fd8, 0x7fbe, 0xffa5 };
    struct gemm_fixture f;
    gemm_fixture_make(&f, "{'op':'gemm','M':3,'N':4,'K':5,'a_type':'bf16'}", 0);
    for (size_t i = 0; i < 4; i++) {
        memcpy(f.d + 2 * i, &BITS[i], 2);
        expect(&f, WF_ANSWER_NONFINITE, "a payload");
    }
    gemm_fixture_free(&f);
}

/* C and D of different types are a problem of their own here, not a mistake. */
Test(gemm_reports, a38_types_and_row_lengths_that_do_not_fit)
{
    static const char *const BAD[][3] = {
        { "{'op':'gemm','M':600,'N':8,'K':500,'lda':499}", "lda is 499", "500" },
        { "{'op':'gemm','M':600,'N':8,'K':500,'trans_a':'T','lda':500}", "lda is 500",
          "600" },
        { "{'op':'gemm','M':600,'N':8,'K':500,'beta':1,'ldc':0}", "ldc is 0", "8" },
        { "{'op':'gemm','M':-600,'N':8,'K':500}", "\"M\" is -600", "" },
        { "{'op':'gemm','M':6,'N':8,'K':5,'d_type':'i32'}", "d_type", "i32" },
    };
    struct gemm_fixture f;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct wf_error err = { .status = WF_OK };
        (void)gemm_case_error(BAD[i][0], &err);
        cr_expect(strstr(err.text, BAD[i][1]) && strstr(err.text, BAD[i][2]), "%s",
                  err.text);
    }
    gemm_fixture_make(&f,
                      "{'op':'gemm','M':6,'N':8,'K':5,'beta':1,'c_type':'bf16',"
                      "'d_type':'f16'}",
                      0);
    expect(&f, WF_ANSWER_PASS, "C in bf16, D in f16");
    gemm_fixture_free(&f);
}

/* Random numbers cast to an integer container would be zeros, and fast. */
Test(gemm_reports, a55_inputs_are_not_zeros_in_any_type)
{
    enum {
        N = 20000
    };
    double *v = malloc(N * sizeof *v);
    unsigned char *raw = malloc(N * sizeof *v);
    for (int t = 0; t < WF_DTYPE_COUNT; t++) {
        if (t == WF_U8) {
            continue; /* raw bytes: no operand of an op */
        }
        for (int kind = 0; kind < WF_INPUTS_COUNT; kind++) {
            const struct wf_input_stream s = { (enum wf_inputs)kind, (enum wf_dtype)t,
                                               1, 1 };
            size_t zeros = 0;
            wf_inputs_fill(&s, 0, N, raw);
            wf_to_f64(s.dtype, raw, v, N);
            for (size_t i = 0; i < N; i++) {
                zeros += !(fabs(v[i]) > 0);
            }
            const double most = kind == WF_INPUTS_ZEROS      ? 1.0
                                : kind == WF_INPUTS_INTEGERS ? 0.22
                                                             : 0.03;
            cr_expect(zeros <= most * N && (kind != WF_INPUTS_ZEROS || zeros == N),
                      "%s in %s: %zu of %d are zero", wf_inputs_name(s.kind),
                      wf_dtype_name(s.dtype), zeros, N);
        }
    }
    free(v);
    free(raw);
}

/* The kind of data is a part of the case: results over zeros have another id. */
Test(gemm_reports, a55_the_kind_of_data_is_in_the_id)
{
    static const char *const KINDS[] = { "normal", "uniform", "integers",
                                         "ones",   "zeros",   "powers" };
    char id[6][80];
    for (size_t i = 0; i < 6; i++) {
        char text[96];
        (void)snprintf(text, sizeof text,
                       "{'op':'gemm','M':6,'N':8,'K':5,'inputs':'%s'}", KINDS[i]);
        struct wf_case *c = gemm_case(text);
        (void)snprintf(id[i], sizeof id[i], "%s", wf_case_id(c));
        wf_case_free(c);
        for (size_t k = 0; k < i; k++) {
            cr_expect_str_neq(id[i], id[k]);
        }
    }
}

/* `error > tolerance` is false for NaN. */
Test(gemm_reports, a59_nan_and_infinity_never_pass)
{
    struct gemm_fixture f;
    gemm_fixture_make(&f, "{'op':'gemm','M':1,'N':3,'K':1,'inputs':'ones'}", 0);
    expect(&f, WF_ANSWER_PASS, "[1, 1, 1]");
    gemm_set_d(&f, 0, 0, 1, NAN);
    expect(&f, WF_ANSWER_NONFINITE, "[1, NaN, 1]");
    set_all(&f, NAN);
    expect(&f, WF_ANSWER_NONFINITE, "all NaN");
    gemm_fixture_free(&f);
    /* 65504 is the largest of f16, and exact: infinity is no rounding of it. */
    gemm_fixture_make(
        &f, "{'op':'gemm','M':1,'N':3,'K':1,'inputs':'ones','alpha':65504}", 0);
    cr_expect_eq(gemm_get_d(&f, 0, 0, 2), 65504);
    expect(&f, WF_ANSWER_PASS, "65504");
    gemm_set_d(&f, 0, 0, 2, INFINITY);
    expect(&f, WF_ANSWER_NONFINITE, "infinity for 65504");
    gemm_fixture_free(&f);
}

/* No work, an input, zeros, and the right values in another order, whose sum is right.
 */
Test(gemm_reports, a60_a_checksum_is_no_check)
{
    struct gemm_fixture f, right;
    gemm_fixture_make(&f, "{'op':'gemm','M':32,'N':32,'K':32}", 0);
    gemm_fixture_make(&right, "{'op':'gemm','M':32,'N':32,'K':32}", 0);
    expect(&f, WF_ANSWER_PASS, "right");
    wf_poison(WF_F16, f.d, 32 * 32);
    expect(&f, WF_ANSWER_UNWRITTEN, "no work");
    memcpy(f.d, f.input[GEMM_A], 32 * 32 * 2);
    expect(&f, WF_ANSWER_MISMATCH, "the input");
    memset(f.d, 0, 32 * 32 * 2);
    expect(&f, WF_ANSWER_MISMATCH, "zeros");
    for (int64_t i = 0; i < 32; i++) {
        memcpy(f.d + i * 64, right.d + (31 - i) * 64, 64);
    }
    expect(&f, WF_ANSWER_MISMATCH, "another order");
    gemm_fixture_free(&f);
    gemm_fixture_free(&right);
}

/* --- A34, A35: scales of fp8 operands, and A39: silu --- */

Test(gemm_reports, a34_rows_of_zeros_with_scales_stay_zero)
{
    static const char *const kinds[] = { "row", "block128" };
    for (int i = 0; i < 4; i++) {
        char text[200];
        struct gemm_fixture f;
        struct wf_check_report r;
        (void)snprintf(text, sizeof text,
                       "{'op':'gemm','M':3,'N':20,'K':100,'a_type':'%s',"
                       "'inputs':'zeros','scale':'%s','d_type':'f32'}",
                       i / 2 ? "e4m3fn" : "e4m3fnuz", kinds[i % 2]);
        gemm_fixture_make(&f, text, 0);
        gemm_fixture_check(&f, NULL, &r);
        cr_expect_eq(r.answer, WF_ANSWER_PASS);
        cr_expect(gemm_get_d(&f, 0, 2, 19) == 0 && gemm_input(&f, GEMM_SA, 0) > 0);
        gemm_set_d(&f, 0, 2, 7, (double)NAN); /* 0 / 0 of that row's maximum */
        gemm_fixture_check(&f, NULL, &r);
        cr_expect_eq(r.answer, WF_ANSWER_NONFINITE);
        cr_expect_eq(r.worst_index[1], 2);
        gemm_fixture_free(&f);
    }
}

/* alpha times the scales passes 448 / FLT_MAX and 240 / FLT_MAX: a kernel that works
 * with reciprocals gets infinity there, and 0 times it is NaN. */
Test(gemm_reports, a35_tiny_products_of_scales_and_alpha)
{
    static const double alphas[] = { 6.3e-38, 7e-37, 1.3e-36, 1.4e-36 };
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; i++) {
        char text[220];
        struct gemm_fixture f;
        struct wf_check_report r;
        (void)snprintf(text, sizeof text,
                       "{'op':'gemm','M':3,'N':20,'K':100,'a_type':'e4m3fn',"
                       "'scale':'row','d_type':'f32','alpha':%g,'inputs':'integers'}",
                       alphas[i]);
        gemm_fixture_make(&f, text, 0);
        gemm_fixture_check(&f, NULL, &r);
        cr_expect_eq(r.answer, WF_ANSWER_PASS, "%s", text);
        for (int64_t j = 0; j < 20; j++) {
            const float scale = (float)(alphas[i] * gemm_input(&f, GEMM_SA, 1));
            const float reciprocal = 448.0F / scale;
            const double d = gemm_get_d(&f, 0, 1, j);
            const float wrong = (float)d * reciprocal / 448.0F * scale;
            gemm_set_d(&f, 0, 1, j, isinf(reciprocal) ? (double)(wrong * 0.0F) : d);
        }
        gemm_fixture_check(&f, NULL, &r);
        const bool overflows = alphas[i] * gemm_input(&f, GEMM_SA, 1) < 1.3e-36;
        cr_expect_eq(r.answer, overflows ? WF_ANSWER_NONFINITE : WF_ANSWER_PASS, "%s",
                     text);
        gemm_fixture_free(&f);
    }
}

Test(gemm_reports, a39_gated_silu_of_any_width)
{
    static const int64_t widths[] = { 320, 640, 1408, 2816, 5632, 512, 1024 };
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        char text[200];
        struct gemm_fixture f;
        struct wf_check_report r;
        int64_t power = 1;
        (void)snprintf(text, sizeof text,
                       "{'op':'gemm','M':2,'N':%lld,'K':1,'a_type':'f32',"
                       "'inputs':'ones','activation':'silu_gate'}",
                       (long long)widths[i]);
        gemm_fixture_make(&f, text, 0);
        gemm_fixture_check(&f, NULL, &r);
        cr_expect_eq(r.answer, WF_ANSWER_PASS, "%s", text);
        cr_expect_float_eq(gemm_get_d(&f, 0, 1, widths[i] - 1), 0.7310585786, 1e-7);
        for (; power * 2 <= widths[i]; power *= 2) {
        }
        for (int64_t j = power; j < widths[i]; j++) { /* no lane went there */
            gemm_set_d(&f, 0, 1, j, 1.0);
        }
        gemm_fixture_check(&f, NULL, &r);
        cr_expect_eq(r.answer, power < widths[i] ? WF_ANSWER_MISMATCH : WF_ANSWER_PASS);
        if (power < widths[i]) {
            cr_expect_not_null(strstr(r.diagnosis, "silu was left out"), "%s",
                               r.diagnosis);
        }
        gemm_fixture_free(&f);
    }
}
