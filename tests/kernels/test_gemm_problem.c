/* The gemm problem: validation, tensors, counts, inputs. */
#include "kernels/gemm/gemm.h"

#include "gemm_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_error(const char *text, enum wf_status status, const char *parts)
{
    struct wf_error err = { .status = WF_OK };
    char copy[128];
    char *save = NULL;
    cr_assert_eq(gemm_case_error(text, &err), status, "%s: %s", text, err.text);
    (void)snprintf(copy, sizeof copy, "%s", parts);
    for (char *p = strtok_r(copy, "|", &save); p != NULL;
         p = strtok_r(NULL, "|", &save)) {
        cr_assert_not_null(strstr(err.text, p), "\"%s\" is not in \"%s\"", p, err.text);
    }
}

Test(gemm_problem, one_error_names_the_bad_field_its_value_and_the_limit)
{
    expect_error("{'op':'gemm','M':600,'N':8,'K':500,'lda':499}", WF_EINVAL,
                 "lda|499|500");
    expect_error("{'op':'gemm','M':600,'N':8,'K':500,'trans_a':'T','lda':500}",
                 WF_EINVAL, "lda|500|600");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'ldb':7}", WF_EINVAL, "ldb|7|8");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'beta':1,'ldc':0}", WF_EINVAL,
                 "ldc|0|8");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'ldd':-8}", WF_EINVAL, "ldd|-8|8");
    expect_error("{'op':'gemm','M':-6,'N':8,'K':5}", WF_ERANGE, "M|-6");
    expect_error("{'op':'gemm','M':6,'N':8}", WF_EINVAL, "K");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'batch':0}", WF_ERANGE, "batch|0|1");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'trans_a':'C'}", WF_EINVAL,
                 "trans_a|C");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'alpha':'inf'}", WF_EINVAL,
                 "alpha|finite");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'alpha':'x'}", WF_EINVAL, "alpha");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'alpha':1e-45}", WF_EINVAL,
                 "alpha|1e-45|f32");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'a_type':'f32','beta':-4e38}",
                 WF_EINVAL, "beta|-4e+38|f32");
}

Test(gemm_problem, types_that_do_not_go_together_are_refused)
{
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'a_type':'fp8'}", WF_EINVAL,
                 "a_type|fp8");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'a_type':'i32'}", WF_EINVAL,
                 "a_type|i32");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'a_type':'i8','b_type':'f16'}",
                 WF_EINVAL, "b_type|f16|i8");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'a_type':'i8','d_type':'f32'}",
                 WF_EINVAL, "d_type|f32|i32");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'d_type':'i32'}", WF_EINVAL,
                 "d_type|i32");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'b_type':'f64'}", WF_EINVAL,
                 "b_type|f64");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'a_type':'i8','alpha':0.5}", WF_EINVAL,
                 "alpha|0.5|integer");
}

Test(gemm_problem, batches_must_not_overlap)
{
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'batch':2,'stride_d':47}", WF_EINVAL,
                 "stride_d|47|48");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'batch':2,'stride_d':0}", WF_EINVAL,
                 "stride_d|0|48");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'batch':2,'stride_a':-1}", WF_EINVAL,
                 "stride_a|-1");
    expect_error("{'op':'gemm','M':6,'N':8,'K':5,'batch':3,'ldd':20,'stride_d':8}",
                 WF_EINVAL, "stride_d|8|108");
    wf_case_free(gemm_case("{'op':'gemm','M':6,'N':8,'K':5,'batch':2,'ldd':20,"
                           "'stride_d':8,'stride_a':0}"));
}

Test(gemm_problem, sizes_beyond_2_to_the_63_are_refused_not_wrapped)
{
    expect_error("{'op':'gemm','M':9223372036854775807,'N':2,'K':1}", WF_ERANGE,
                 "2^63");
    expect_error("{'op':'gemm','M':4294967296,'N':1,'K':4294967296}", WF_ERANGE,
                 "A|2^63");
    expect_error("{'op':'gemm','M':1,'N':4611686018427387904,'K':0}", WF_ERANGE,
                 "D|2^63");
    expect_error("{'op':'gemm','M':4,'N':4,'K':4,'lda':9223372036854775807}", WF_ERANGE,
                 "A|lda");
    expect_error("{'op':'gemm','M':4,'N':4,'K':4,'batch':9223372036854775807}",
                 WF_ERANGE, "2^63");
    expect_error("{'op':'gemm','M':9223372036854775808,'N':2,'K':1}", WF_ERANGE, "M");
}

Test(gemm_problem, tensors_have_exactly_the_storage_that_is_touched)
{
    struct wf_case *c =
        gemm_case("{'op':'gemm','M':6,'N':8,'K':5,'trans_a':'T','lda':10,"
                  "'ldd':9,'batch':3,'stride_d':60,'a_type':'e5m2'}");
    const struct wf_tensor *a = wf_case_tensor(c, GEMM_A),
                           *d = wf_case_tensor(c, GEMM_D);
    const struct wf_tensor *x = wf_case_tensor(c, GEMM_C);
    cr_assert(a->dim[0] == 3 && a->dim[1] == 5 && a->dim[2] == 6 && a->ndim == 3);
    cr_assert(a->stride[0] == 50 && a->stride[1] == 10 && a->stride[2] == 1);
    cr_assert_eq(a->elements, 2 * 50 + 4 * 10 + 6);
    cr_assert_eq(a->bytes, a->elements);
    cr_assert_eq(d->elements, 2 * 60 + 5 * 9 + 8);
    cr_assert_eq(d->bytes, 2 * d->elements); /* f16 from fp8 */
    cr_assert(d->role == WF_ROLE_OUTPUT && !d->optional);
    cr_assert(x->optional && x->bytes == 0 && strcmp(x->name, "C") == 0);
    wf_case_free(c);
}

Test(gemm_problem, counts_are_those_of_the_roofline_table)
{
    struct wf_case *c =
        gemm_case("{'op':'gemm','M':128,'N':1280,'K':2048,'trans_b':'T'}");
    cr_assert_eq(wf_case_flops(c), 2.0 * 128 * 1280 * 2048);
    cr_assert_eq(wf_case_bytes(c), 2.0 * (128 * 2048 + 1280 * 2048 + 128 * 1280));
    cr_assert_eq(wf_case_math_type(c), WF_F16);
    wf_case_free(c);
    c = gemm_case("{'op':'gemm','M':4,'N':5,'K':6,'beta':1,'batch':3,'stride_b':0,"
                  "'a_type':'i8'}");
    cr_assert_eq(wf_case_bytes(c), 3 * 24 + 30 + 2 * 4 * 3 * 20);
    wf_case_free(c);
    c = gemm_case("{'op':'gemm','M':4,'N':5,'K':6,'alpha':0,'beta':1}");
    cr_assert_eq(wf_case_bytes(c), 2 * 2 * 20);
    wf_case_free(c);
}

Test(gemm_problem, zero_sizes_are_legal)
{
    const char *texts[] = { "{'op':'gemm','M':0,'N':8,'K':5}",
                            "{'op':'gemm','M':6,'N':0,'K':5}",
                            "{'op':'gemm','M':6,'N':8,'K':0}",
                            "{'op':'gemm','M':0,'N':0,'K':0,'beta':2,'batch':5}" };
    for (size_t i = 0; i < 4; i++) {
        struct gemm_fixture f;
        struct wf_check_report r;
        gemm_fixture_make(&f, texts[i], 0);
        gemm_fixture_check(&f, NULL, &r);
        cr_assert_eq(r.answer, WF_ANSWER_PASS, "%s", texts[i]);
        cr_assert_eq(r.check[0].elements, i == 2 ? 48 : 0);
        gemm_fixture_free(&f);
    }
}

/* Storage element by element against a mask made from the definition. */
static void check_padding(const char *text, size_t tensor)
{
    struct wf_case *c = gemm_case(text);
    const struct gemm *g = wf_case_state(c);
    const struct gemm_matrix *x = &g->matrix[tensor];
    const struct wf_tensor *t = wf_case_tensor(c, tensor);
    bool *used = calloc(t->elements, sizeof *used);
    uint16_t *whole = malloc(t->bytes), *one = malloc(t->bytes);
    for (int64_t b = 0; b < g->batch; b++) {
        for (int64_t i = 0; i < x->rows; i++) {
            for (int64_t j = 0; j < x->cols; j++) {
                used[b * x->stride + i * x->ld + j] = true;
            }
        }
    }
    cr_assert_eq(wf_case_fill(c, tensor, 7, 0, t->elements, whole, NULL), WF_OK);
    for (uint64_t e = 0; e < t->elements; e++) {
        bool is_used;
        uint64_t run = wf_case_run(c, tensor, e, &is_used);
        cr_assert(run > 0 && run <= t->elements - e, "%s element %llu", text,
                  (unsigned long long)e);
        for (; run > 0; run--) {
            cr_assert_eq(used[e + run - 1], is_used, "%s: from %llu on", text,
                         (unsigned long long)e);
        }
        cr_assert_eq(wf_case_fill(c, tensor, 7, e, 1, one + e, NULL), WF_OK);
        cr_assert_neq(used[e], wf_is_poison(t->dtype, &whole[e]), "%s element %llu",
                      text, (unsigned long long)e);
    }
    cr_assert_arr_eq(whole, one, t->bytes);
    free(used);
    free(whole);
    free(one);
    wf_case_free(c);
}

Test(gemm_inputs, padding_is_poison_and_any_split_gives_the_same_bytes)
{
    check_padding("{'op':'gemm','M':6,'N':8,'K':5}", GEMM_A);
    check_padding("{'op':'gemm','M':6,'N':8,'K':5,'lda':9}", GEMM_A);
    check_padding("{'op':'gemm','M':6,'N':8,'K':5,'lda':9,'batch':3}", GEMM_A);
    check_padding("{'op':'gemm','M':6,'N':8,'K':5,'lda':9,'batch':3,'stride_a':70}",
                  GEMM_A);
    check_padding("{'op':'gemm','M':6,'N':8,'K':5,'lda':19,'batch':3,'stride_a':6}",
                  GEMM_A);
    /* The next batch begins inside what would be the last row's padding. */
    check_padding("{'op':'gemm','M':6,'N':8,'K':5,'lda':19,'batch':3,'stride_a':102}",
                  GEMM_A);
    check_padding("{'op':'gemm','M':6,'N':8,'K':5,'lda':19,'batch':3,'stride_a':100}",
                  GEMM_A);
    check_padding("{'op':'gemm','M':6,'N':8,'K':5,'ldb':9,'batch':3,'stride_b':0}",
                  GEMM_B);
    check_padding("{'op':'gemm','M':6,'N':8,'K':5,'beta':1,'ldc':11,'batch':2,"
                  "'stride_c':80}",
                  GEMM_C);
    check_padding("{'op':'gemm','M':6,'N':8,'K':5,'trans_b':'T','ldb':7}", GEMM_B);
}

Test(gemm_inputs, operands_that_must_not_be_read_hold_poison)
{
    struct wf_case *c = gemm_case("{'op':'gemm','M':6,'N':8,'K':5,'alpha':0,'beta':1}");
    uint16_t a[30];
    cr_assert_eq(wf_case_fill(c, GEMM_A, 0, 0, 30, a, NULL), WF_OK);
    cr_assert(wf_is_poison(WF_F16, &a[0]) && wf_is_poison(WF_F16, &a[29]));
    wf_case_free(c);
}

Test(gemm_inputs, tensors_and_seeds_differ)
{
    struct wf_case *c = gemm_case("{'op':'gemm','M':8,'N':8,'K':8}");
    struct wf_case *other = gemm_case("{'op':'gemm','M':8,'N':8,'K':8,'seed':3}");
    uint16_t a[64], b[64], later[64], same[64];
    (void)wf_case_fill(c, GEMM_A, 0, 0, 64, a, NULL);
    (void)wf_case_fill(c, GEMM_B, 0, 0, 64, b, NULL);
    (void)wf_case_fill(c, GEMM_A, 2, 0, 64, later, NULL);
    (void)wf_case_fill(other, GEMM_A, 0, 0, 64, same, NULL);
    cr_assert_neq(memcmp(a, b, sizeof a), 0);
    cr_assert_neq(memcmp(a, later, sizeof a), 0);
    cr_assert_arr_eq(later, same, sizeof same); /* seed 1 + offset 2 = seed 3 */
    wf_case_free(c);
    wf_case_free(other);
}
