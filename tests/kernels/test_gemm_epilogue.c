/* Bias, scales and activation of a gemm: cases, tensors, inputs, and what the checks of
 * such problems find. */
#include "gemm_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FP8 "{'op':'gemm','M':6,'N':300,'K':260,'a_type':'e4m3fnuz'"

/* --- cases --- */

/* Ids are what results and baselines are kept by: these are of the op before it had
 * bias, scales and activation. */
Test(gemm_epilogue, ids_of_cases_without_them_do_not_change)
{
    static const struct {
        const char *text, *id;
    } rows[] = {
        { "{'op':'gemm','M':4,'N':5,'K':6}",
          "205ed18cb90f386bcc8a6a3f7a41025b2ad482f3cfc2b947cbb0b2c3b62c7461" },
        { "{'op':'gemm','M':4,'N':5,'K':6,'bias':'none','scale':'none',"
          "'activation':'none','bias_type':'f32'}",
          "205ed18cb90f386bcc8a6a3f7a41025b2ad482f3cfc2b947cbb0b2c3b62c7461" },
        { "{'op':'gemm','M':1024,'N':1536,'K':7168,'a_type':'e4m3fnuz',"
          "'d_type':'bf16','trans_b':'T'}",
          "bb7aee041032eceb0df5422f6b3b468960b3d0971ca0d94ce636eb010196e348" },
        { "{'op':'gemm','M':40,'N':48,'K':70,'a_type':'i8','alpha':-3,"
          "'beta':123456789}",
          "fb5d64496d81c8323ee76f7c39325c7d699b090da656427d28c34758ffa26a8f" },
        { "{'op':'gemm','M':20,'N':30,'K':40,'batch':3,'lda':44,'ldb':32,'ldd':37,"
          "'stride_d':800,'beta':1,'ldc':31,'stride_b':0,'seed':7}",
          "7aff7b97048218530d087f4c8551c299d16f1793f0cad2c0389b06d475040d01" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct wf_case *c = gemm_case(rows[i].text);
        cr_expect_str_eq(wf_case_id(c), rows[i].id, "%s", rows[i].text);
        wf_case_free(c);
    }
}

Test(gemm_epilogue, canonical_form_and_label_name_what_is_not_a_default)
{
    static const struct {
        const char *text, *canonical, *label;
    } rows[] = {
        { "{'op':'gemm','M':4,'N':5,'K':6,'bias':'n','bias_type':'f16'}",
          "{\"K\":6,\"M\":4,\"N\":5,\"bias\":\"n\",\"op\":\"gemm\"}",
          "gemm 4x5x6 NN f16 bias" },
        { "{'op':'gemm','M':4,'N':5,'K':6,'bias':'n','bias_type':'f32'}",
          "{\"K\":6,\"M\":4,\"N\":5,\"bias\":\"n\",\"bias_type\":\"f32\","
          "\"op\":\"gemm\"}",
          "gemm 4x5x6 NN f16 bias f32" },
        { "{'op':'gemm','M':4,'N':5,'K':6,'a_type':'e4m3fn','d_type':'e4m3fn',"
          "'bias':'n','bias_type':'f32','scale':'row','activation':'silu_gate'}",
          "{\"K\":6,\"M\":4,\"N\":5,\"a_type\":\"e4m3fn\",\"activation\":"
          "\"silu_gate\",\"bias\":\"n\",\"d_type\":\"e4m3fn\",\"op\":\"gemm\","
          "\"scale\":\"row\"}",
          "gemm 4x5x6 NN e4m3fn scale row bias silu_gate" },
        { "{'op':'gemm','M':4,'N':5,'K':6,'a_type':'e5m2','scale':'block128',"
          "'activation':'silu'}",
          "{\"K\":6,\"M\":4,\"N\":5,\"a_type\":\"e5m2\",\"activation\":\"silu\","
          "\"op\":\"gemm\",\"scale\":\"block128\"}",
          "gemm 4x5x6 NN e5m2->f16 scale block128 silu" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct wf_case *c = gemm_case(rows[i].text);
        cr_expect_str_eq(wf_case_canonical(c), rows[i].canonical);
        cr_expect_str_eq(wf_case_label(c), rows[i].label);
        wf_case_free(c);
    }
}

static void expect_error(const char *text, const char *parts)
{
    struct wf_error err = { .status = WF_OK };
    char copy[160];
    char *save = NULL;
    (void)gemm_case_error(text, &err);
    (void)snprintf(copy, sizeof copy, "%s", parts);
    for (char *p = strtok_r(copy, "|", &save); p != NULL;
         p = strtok_r(NULL, "|", &save)) {
        cr_expect_not_null(strstr(err.text, p), "\"%s\" is not in \"%s\"", p, err.text);
    }
}

Test(gemm_epilogue, errors_name_the_member_its_value_and_what_would_do)
{
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'bias':'m'}", "bias|\"m\"|none|n");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'bias':1}", "bias");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'scale':'tensor'}",
                 "scale|tensor|row|block128");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'activation':'gelu'}",
                 "activation|gelu|silu|silu_gate");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'bias':'n','bias_type':'e4m3fn'}",
                 "bias_type|e4m3fn|f32|f16|bf16");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'scale':'row'}", "scale|row|f16|fp8");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'a_type':'e4m3fn','b_type':'bf16',"
                 "'scale':'block128'}",
                 "scale|block128|e4m3fn|bf16|fp8");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'a_type':'i8','bias':'n'}",
                 "bias|i8|f32 sums");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'a_type':'i8','activation':'silu'}",
                 "activation|i8|f32 sums");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'a_type':'f64','bias':'n'}",
                 "bias|f64|f32 sums");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'activation':'silu_gate','beta':2}",
                 "beta|2|silu_gate|0");
    expect_error("{'op':'gemm','M':4,'N':4611686018427387904,'K':0,"
                 "'activation':'silu_gate'}",
                 "N|4611686018427387904|silu_gate|2^63");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'activation':'silu_gate','ldb':9}",
                 "ldb|9|10");
    expect_error("{'op':'gemm','M':16777216,'N':1,'K':0,'batch':549755813888,"
                 "'a_type':'e4m3fn','d_type':'e4m3fn','scale':'row'}",
                 "2^63");
}

static void expect_dims(const struct wf_case *c,
                        enum gemm_tensor which,
                        const char *name,
                        int ndim,
                        const int64_t *dim)
{
    const struct wf_tensor *t = wf_case_tensor(c, which);
    int64_t elements = 1;
    cr_expect_str_eq(t->name, name);
    cr_expect_eq(t->ndim, ndim);
    cr_expect_eq(t->role, WF_ROLE_INPUT);
    for (int i = ndim - 1; i >= 0; i--) {
        cr_expect_eq(t->dim[i], dim[i], "%s dim %d is %lld", name, i,
                     (long long)t->dim[i]);
        cr_expect_eq(t->stride[i], elements);
        elements *= dim[i];
    }
    cr_expect_eq(t->elements, (uint64_t)elements);
    cr_expect_eq(t->bytes, t->elements * wf_dtype_bytes(t->dtype));
    cr_expect_eq(t->optional, elements == 0);
}

Test(gemm_epilogue, seven_tensors_of_the_contract)
{
    struct wf_case *c = gemm_case(FP8 ",'scale':'block128','bias':'n','batch':3,"
                                      "'activation':'silu_gate'}");
    cr_assert_eq(wf_case_tensor_count(c), 7);
    cr_expect_eq(wf_case_tensor(c, GEMM_B)->dim[2], 600);
    cr_expect_eq(wf_case_tensor(c, GEMM_D)->dim[2], 300);
    expect_dims(c, GEMM_BIAS, "bias", 1, (int64_t[]){ 600 });
    expect_dims(c, GEMM_SA, "SA", 3, (int64_t[]){ 3, 6, 3 });
    expect_dims(c, GEMM_SB, "SB", 3, (int64_t[]){ 3, 6, 3 });
    cr_expect_eq(wf_case_tensor(c, GEMM_BIAS)->dtype, WF_F16);
    cr_expect_eq(wf_case_flops(c), 4.0 * 6 * 300 * 260 * 3);
    cr_expect_eq(wf_case_bytes(c),
                 3.0 * (6 * 260 + 600 * 260 + 2 * 6 * 300) + 2 * 600 + 4 * 3 * 2 * 18);
    wf_case_free(c);
    c = gemm_case(FP8 ",'scale':'row','batch':2}");
    expect_dims(c, GEMM_SA, "SA", 2, (int64_t[]){ 2, 6 });
    expect_dims(c, GEMM_SB, "SB", 2, (int64_t[]){ 2, 300 });
    expect_dims(c, GEMM_BIAS, "bias", 1, (int64_t[]){ 0 });
    wf_case_free(c);
    c = gemm_case(FP8 "}");
    for (size_t i = GEMM_BIAS; i < GEMM_TENSOR_COUNT; i++) {
        const struct wf_tensor *t = wf_case_tensor(c, i);
        cr_expect(t->optional && t->bytes == 0 && t->elements == 0);
    }
    wf_case_free(c);
}

static const char *word_of(const struct wf_case *c, const char *name)
{
    const struct wf_scope scope = wf_case_scope(c);
    struct wf_value v;
    cr_assert_eq(scope.find(scope.ctx, name, &v, NULL), WF_OK);
    cr_assert_eq(v.kind, WF_VALUE_STRING);
    return v.s;
}

Test(gemm_epilogue, parameters_for_the_expressions_of_packs)
{
    struct wf_case *c = gemm_case(FP8 ",'scale':'row','activation':'silu_gate',"
                                      "'d_type':'e4m3fnuz'}");
    const struct wf_scope scope = wf_case_scope(c);
    struct wf_value v;
    cr_expect_str_eq(word_of(c, "bias"), "none");
    cr_expect_str_eq(word_of(c, "bias_type"), "f32");
    cr_expect_str_eq(word_of(c, "scale"), "row");
    cr_expect_str_eq(word_of(c, "activation"), "silu_gate");
    cr_expect_eq(scope.find(scope.ctx, "b_cols", &v, NULL), WF_OK);
    cr_expect(v.kind == WF_VALUE_INT && v.i == 600);
    wf_case_free(c);
}

/* --- inputs --- */

static float *scales_of(const struct wf_case *c, enum gemm_tensor which, size_t *ret_n)
{
    const struct wf_tensor *t = wf_case_tensor(c, which);
    float *v = malloc(t->bytes);
    *ret_n = t->elements;
    cr_assert_eq(wf_case_fill(c, which, 0, 0, t->elements, v, NULL), WF_OK);
    return v;
}

/* Neighbours differ by a quarter or more somewhere, or a swapped one would not show. */
Test(gemm_epilogue, scales_are_positive_spread_and_differ_from_their_neighbours)
{
    struct wf_case *c = gemm_case("{'op':'gemm','M':64,'N':640,'K':640,'a_type':'e5m2',"
                                  "'scale':'block128'}");
    for (int which = GEMM_SA; which <= GEMM_SB; which++) {
        size_t n;
        float *v = scales_of(c, (enum gemm_tensor)which, &n);
        size_t low = 0, high = 0, equal = 0;
        for (size_t i = 0; i < n; i++) {
            cr_assert(v[i] >= 0.25F && v[i] < 4.0F, "%g", (double)v[i]);
            low += v[i] < 0.5F;
            high += v[i] >= 2.0F;
            equal += i > 0 && fabs((double)(v[i] / v[i - 1]) - 1) < 0.02;
        }
        cr_expect(low > n / 16 && high > n / 16, "%zu %zu of %zu", low, high, n);
        cr_expect_lt(equal, n / 8 + 2);
        free(v);
    }
    wf_case_free(c);
}

Test(gemm_epilogue, exact_inputs_have_exact_scales)
{
    static const char *const texts[] = { FP8 ",'scale':'block128','inputs':'integers'}",
                                         FP8 ",'scale':'row','inputs':'powers'}",
                                         FP8 ",'scale':'row','inputs':'ones'}" };
    for (size_t t = 0; t < 3; t++) {
        struct wf_case *c = gemm_case(texts[t]);
        size_t n;
        float *v = scales_of(c, GEMM_SB, &n);
        for (size_t i = 0; i < n; i++) {
            int e;
            cr_assert(frexpf(v[i], &e) == 0.5F);
            cr_assert(t < 2 || v[i] == 1.0F);
        }
        free(v);
        wf_case_free(c);
    }
}

Test(gemm_epilogue, any_split_gives_the_same_bias_and_scales)
{
    struct wf_case *c = gemm_case(FP8 ",'scale':'row','bias':'n','bias_type':'bf16'}");
    for (int which = GEMM_BIAS; which < GEMM_TENSOR_COUNT; which++) {
        const struct wf_tensor *t = wf_case_tensor(c, (size_t)which);
        const size_t bytes = wf_dtype_bytes(t->dtype);
        char *whole = malloc(t->bytes), *parts = malloc(t->bytes);
        cr_assert_eq(wf_case_fill(c, (size_t)which, 3, 0, t->elements, whole, NULL), 0);
        for (uint64_t i = 0; i < t->elements; i += 7) {
            const uint64_t n = t->elements - i < 7 ? t->elements - i : 7;
            cr_assert_eq(
                wf_case_fill(c, (size_t)which, 3, i, n, parts + i * bytes, NULL), 0);
        }
        cr_expect_arr_eq(whole, parts, t->bytes);
        free(whole);
        free(parts);
    }
    wf_case_free(c);
}

/* --- checks --- */

static bool has_check(const struct wf_check_report *r, const char *name)
{
    for (size_t i = 0; i < r->check_count; i++) {
        if (strcmp(r->check[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* One element a little beyond its tolerance, in a row that no sample needs to hit. */
Test(gemm_epilogue, the_product_check_knows_scales_and_bias)
{
    static const char *const texts[] = {
        "{'op':'gemm','M':700,'N':70,'K':260,'a_type':'e4m3fnuz','scale':'block128',"
        "'bias':'n','d_type':'f32','trans_b':'T'}",
        "{'op':'gemm','M':700,'N':150,'K':260,'a_type':'e4m3fn','scale':'block128',"
        "'d_type':'bf16','trans_a':'T','alpha':0.5,'beta':2}",
        "{'op':'gemm','M':350,'N':70,'K':64,'a_type':'e5m2','scale':'row','bias':'n',"
        "'d_type':'f32','batch':2,'stride_b':0}",
    };
    const struct gemm_check_setup product = { .budget_macs = 1 };
    for (size_t i = 0; i < 3; i++) {
        struct gemm_fixture f;
        struct wf_check_report r;
        gemm_fixture_make(&f, texts[i], 0);
        gemm_fixture_check(&f, &product, &r);
        cr_assert_eq(r.answer, WF_ANSWER_PASS, "%s", texts[i]);
        cr_assert(has_check(&r, "freivalds-blocked"));
        const double least = r.check[0].smallest_caught;
        for (int64_t row = 1; row < f.g->m; row += 97) {
            const double v = gemm_get_d(&f, 0, row, 5);
            gemm_set_d(&f, 0, row, 5, v + 1.1 * least);
            gemm_fixture_check(&f, &product, &r);
            cr_expect_eq(r.answer, WF_ANSWER_MISMATCH, "%s row %lld", texts[i],
                         (long long)row);
            cr_expect(r.has_first && r.first_index[1] == row && r.first_index[2] == 5);
            gemm_set_d(&f, 0, row, 5, v);
        }
        gemm_fixture_free(&f);
    }
}

#define TALL                                                        \
    "{'op':'gemm','M':20000,'N':3,'K':4,'activation':'silu_gate','" \
    "d_type':'f32'}"

/* Half the budget lasts for a row a stretch of 128. */
static const struct gemm_check_setup STRETCHES = { .budget_macs = 400000 };

Test(gemm_epilogue, an_activation_is_checked_by_rows_of_every_stretch)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, TALL, 0);
    gemm_fixture_check(&f, &STRETCHES, &r);
    cr_assert_eq(r.answer, WF_ANSWER_PASS);
    cr_expect_not(has_check(&r, "freivalds-blocked"));
    cr_assert(has_check(&r, "finite-all") && has_check(&r, "sampled-rows"));
    cr_expect_eq(r.check[0].elements, 60000);
    cr_expect_not_null(strstr(r.check[0].note, "not linear"));
    cr_expect_eq(r.check[1].elements, 3 * 157);
    cr_expect_not_null(strstr(r.check[1].note, "157 of 20000"));
    cr_expect_not_null(strstr(r.check[1].note, "stretch"));
    for (int64_t row = 7600; row < 7600 + 256; row++) { /* a whole stretch is inside */
        gemm_set_d(&f, 0, row, 2, gemm_get_d(&f, 0, row, 2) * 1.01 + 0.01);
    }
    gemm_fixture_check(&f, &STRETCHES, &r);
    cr_expect_eq(r.answer, WF_ANSWER_MISMATCH);
    cr_expect(r.worst_index[1] >= 7600 && r.worst_index[1] < 7856);
    gemm_fixture_free(&f);
}

Test(gemm_epilogue, poison_and_nan_are_found_in_every_row_all_the_same)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f, TALL, 0);
    for (int64_t row = 3; row < 20000; row += 2221) {
        const double v = gemm_get_d(&f, 0, row, 1);
        wf_poison(WF_F32, f.d + gemm_d_position(f.g, 0, row, 1) * 4, 1);
        gemm_fixture_check(&f, &STRETCHES, &r);
        cr_expect_eq(r.answer, WF_ANSWER_UNWRITTEN);
        cr_expect_eq(r.first_index[1], row);
        gemm_set_d(&f, 0, row, 1, (double)INFINITY);
        gemm_fixture_check(&f, &STRETCHES, &r);
        cr_expect_eq(r.answer, WF_ANSWER_NONFINITE);
        gemm_set_d(&f, 0, row, 1, v);
    }
    gemm_fixture_free(&f);
}

/* The definition in double, one term at a time: nothing of the reference's panels,
 * scaled operands or halves. */
static double exact_at(const struct gemm_fixture *f, int64_t b, int64_t i, int64_t j)
{
    const struct gemm *g = f->g;
    const struct gemm_matrix *c = &g->matrix[GEMM_C];
    double v[2] = { 0, 0 };
    for (int half = 0; half < 2; half++) {
        const int64_t col = half * g->n + j;
        if (half == 1 && g->activation != GEMM_ACTIVATION_SILU_GATE) {
            continue;
        }
        v[half] = g->alpha * gemm_sum(f, b, i, col, 0, g->k) + gemm_bias_at(f, col);
        if (g->beta != 0) {
            v[half] += g->beta * gemm_input(f, GEMM_C, b * c->stride + i * c->ld + j);
        }
    }
    const double y = v[0] / (1 + exp(-v[0]));
    return g->activation == GEMM_ACTIVATION_NONE   ? v[0]
           : g->activation == GEMM_ACTIVATION_SILU ? y
                                                   : y * v[1];
}

/* Rounding D is a hundredth of the tolerance with f32 and long sums: what is left
 * between both loops must be as small. */
Test(gemm_epilogue, the_reference_agrees_with_a_plain_loop_in_double)
{
    static const char *const texts[] = {
        "{'op':'gemm','M':21,'N':140,'K':600,'a_type':'e4m3fnuz','scale':'block128',"
        "'d_type':'f32','bias':'n','alpha':0.7,'beta':-1.5,'batch':2}",
        "{'op':'gemm','M':21,'N':140,'K':600,'a_type':'e4m3fnuz','scale':'block128',"
        "'d_type':'f32','bias':'n','trans_a':'T','trans_b':'T','batch':2,'stride_a':0,"
        "'activation':'silu_gate','alpha':0.01}",
        "{'op':'gemm','M':21,'N':70,'K':600,'a_type':'e5m2','b_type':'e4m3fn',"
        "'scale':'row','d_type':'f32','activation':'silu','alpha':0.05,'batch':2}",
        "{'op':'gemm','M':21,'N':70,'K':600,'a_type':'bf16','d_type':'f32','bias':'n',"
        "'activation':'silu_gate','alpha':0.05}",
    };
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct gemm_fixture f;
        struct wf_check_report r;
        gemm_fixture_make(&f, texts[t], 0);
        for (int64_t e = 0; e < f.g->batch * f.g->m * f.g->n; e++) {
            const int64_t at = e / f.g->n;
            gemm_set_d(&f, at / f.g->m, at % f.g->m, e % f.g->n,
                       exact_at(&f, at / f.g->m, at % f.g->m, e % f.g->n));
        }
        gemm_fixture_check(&f, NULL, &r);
        cr_expect_eq(r.answer, WF_ANSWER_PASS, "%s", texts[t]);
        cr_expect_lt(r.check[0].worst_ratio, 0.35, "%s: %g", texts[t],
                     r.check[0].worst_ratio);
        gemm_fixture_free(&f);
    }
}

Test(gemm_epilogue, the_report_says_what_the_limit_is_made_of)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    gemm_fixture_make(&f,
                      FP8 ",'scale':'block128','bias':'n','d_type':'bf16',"
                          "'activation':'silu_gate'}",
                      0);
    gemm_fixture_check(&f, NULL, &r);
    cr_expect_str_eq(r.tolerance_model, "gemm-bf16-f32acc-bias-block128-silu_gate/1");
    cr_expect_not_null(strstr(r.tolerance_text, "|bias|"));
    cr_expect_not_null(strstr(r.tolerance_text, "silu(gate) * up"));
    gemm_fixture_free(&f);
}
