/* What every case has: shared members, canonical form, id, scope, errors. */
#include "kernels/case.h"

#include "gemm_fixture.h"
#include "kernels/op.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(op, the_registry_is_complete)
{
    cr_assert_geq(wf_op_count(), 1);
    for (size_t i = 0; i < wf_op_count(); i++) {
        const struct wf_op *op = wf_op_at(i);
        cr_assert_eq(wf_op_find(op->name), op);
        cr_assert(op->keys != NULL && op->parse != NULL && op->fill != NULL);
        cr_assert(op->reference != NULL && op->reference->check != NULL);
        cr_assert_gt(strlen(op->summary), 10);
    }
    cr_assert_null(wf_op_find("gem"));
    cr_assert_null(wf_op_at(wf_op_count()));
}

static bool is_listed(const char *const *list, const char *name)
{
    while (*list != NULL && strcmp(*list, name) != 0) {
        list++;
    }
    return *list != NULL;
}

Test(op, params_are_the_names_that_a_case_answers)
{
    for (size_t i = 0; i < wf_op_count(); i++) {
        const struct wf_op *op = wf_op_at(i);
        for (size_t k = 0; op->keys[k] != NULL; k++) {
            cr_expect(is_listed(op->params, op->keys[k]), "%s: %s", op->name,
                      op->keys[k]);
        }
    }
    struct wf_case *c = gemm_case("{'op':'gemm','M':4,'N':5,'K':6}");
    const struct wf_scope scope = wf_case_scope(c);
    for (size_t i = 0; scope.name_at(scope.ctx, i) != NULL; i++) {
        struct wf_value v;
        cr_expect_eq(scope.find(scope.ctx, scope.name_at(scope.ctx, i), &v, NULL),
                     WF_OK, "%s", scope.name_at(scope.ctx, i));
    }
    wf_case_free(c);
}

Test(case, canonical_json_leaves_defaults_out_and_the_id_is_its_hash)
{
    struct wf_case *a =
        gemm_case("{'op':'gemm','M':128,'N':1280,'K':2048,'trans_b':'T'}");
    struct wf_case *b =
        gemm_case("{'K':2048,'beta':0,'alpha':1.0,'b_type':'f16','ldd':1280,"
                  "'seed':1,'inputs':'normal','trans_b':'T','N':1280,"
                  "'M':128,'op':'gemm','batch':1,'c_type':'f32','ldc':2000}");
    cr_assert_str_eq(
        wf_case_canonical(a),
        "{\"K\":2048,\"M\":128,\"N\":1280,\"op\":\"gemm\",\"trans_b\":\"T\"}");
    cr_assert_str_eq(wf_case_canonical(b), wf_case_canonical(a));
    cr_assert_str_eq(wf_case_id(a), wf_case_id(b));
    char hex[WF_SHA256_HEX];
    wf_sha256_hex(wf_case_canonical(a), strlen(wf_case_canonical(a)), hex);
    cr_assert_str_eq(wf_case_id(a), hex);
    cr_assert_str_eq(wf_case_label(a), "gemm 128x1280x2048 NT f16");
    wf_case_free(a);
    wf_case_free(b);
}

Test(case, every_member_that_matters_changes_the_id)
{
    const char *texts[] = {
        "{'op':'gemm','M':4,'N':5,'K':6}",
        "{'op':'gemm','M':4,'N':5,'K':6,'seed':2}",
        "{'op':'gemm','M':4,'N':5,'K':6,'inputs':'ones'}",
        "{'op':'gemm','M':4,'N':5,'K':6,'alpha':0.5}",
        "{'op':'gemm','M':4,'N':5,'K':6,'beta':1}",
        "{'op':'gemm','M':4,'N':5,'K':6,'beta':1,'c_type':'f32'}",
        "{'op':'gemm','M':4,'N':5,'K':6,'a_type':'bf16'}",
        "{'op':'gemm','M':4,'N':5,'K':6,'d_type':'f32'}",
        "{'op':'gemm','M':4,'N':5,'K':6,'lda':8}",
        "{'op':'gemm','M':4,'N':5,'K':6,'trans_a':'T'}",
        "{'op':'gemm','M':4,'N':5,'K':6,'batch':2}",
        "{'op':'gemm','M':4,'N':5,'K':6,'batch':2,'stride_a':0}",
        "{'op':'gemm','M':4,'N':5,'K':6,'batch':2,'stride_d':64}",
    };
    enum {
        N = sizeof texts / sizeof *texts
    };
    struct wf_case *c[N];
    for (size_t i = 0; i < N; i++) {
        c[i] = gemm_case(texts[i]);
        for (size_t j = 0; j < i; j++) {
            cr_assert_str_neq(wf_case_id(c[i]), wf_case_id(c[j]), "%s and %s", texts[i],
                              texts[j]);
        }
    }
    for (size_t i = 0; i < N; i++) {
        wf_case_free(c[i]);
    }
}

Test(case, a_canonical_form_parses_to_the_same_case)
{
    struct wf_case *a = gemm_case("{'op':'gemm','M':4,'N':5,'K':6,'batch':3,'beta':0.1,"
                                  "'a_type':'e4m3fnuz','seed':18446744073709551615,"
                                  "'stride_d':40,'inputs':'powers','ldb':9}");
    struct wf_case *b = gemm_case(wf_case_canonical(a));
    cr_assert_str_eq(wf_case_id(a), wf_case_id(b));
    cr_assert_eq(wf_case_seed(b), UINT64_MAX);
    cr_assert_eq(wf_case_inputs(b), WF_INPUTS_POWERS);
    wf_case_free(a);
    wf_case_free(b);
}

static void expect_error(const char *text, enum wf_status status, const char *part)
{
    struct wf_error err = { .status = WF_OK };
    const enum wf_status st = gemm_case_error(text, &err);
    cr_assert_eq(st, status, "%s: %s", text, err.text);
    cr_assert_not_null(strstr(err.text, part), "\"%s\" is not in \"%s\"", part,
                       err.text);
    cr_assert_eq(strncmp(err.text, "test", 4), 0, "where is missing: %s", err.text);
}

Test(case, bad_shared_members_are_named)
{
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'alhpa':1}", WF_EINVAL, "alpha");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'sed':1}", WF_EINVAL, "seed");
    expect_error("{'op':'gem','M':4}", WF_EINVAL, "gemm");
    expect_error("{'M':4}", WF_EINVAL, "op");
    expect_error("[1]", WF_EINVAL, "object");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'inputs':'gauss'}", WF_EINVAL,
                 "gauss");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'seed':-1}", WF_ERANGE, "seed");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'seed':1.5}", WF_EINVAL, "seed");
    expect_error("{'op':'gemm','M':4,'N':5,'K':6,'name':'x'}", WF_EINVAL, "name");
}

Test(case, the_scope_knows_every_parameter_with_its_default)
{
    struct wf_case *c = gemm_case("{'op':'gemm','M':4,'N':5,'K':6,'a_type':'e4m3fn'}");
    const struct wf_scope s = wf_case_scope(c);
    struct wf_value v;
    cr_assert_eq(s.find(s.ctx, "ldb", &v, NULL), WF_OK);
    cr_assert(v.kind == WF_VALUE_INT && v.i == 5);
    cr_assert_eq(s.find(s.ctx, "d_type", &v, NULL), WF_OK);
    cr_assert(v.kind == WF_VALUE_STRING && strcmp(v.s, "f16") == 0);
    cr_assert_eq(s.find(s.ctx, "acc_type", &v, NULL), WF_OK);
    cr_assert_str_eq(v.s, "f32");
    cr_assert_eq(s.find(s.ctx, "alpha", &v, NULL), WF_OK);
    cr_assert(v.kind == WF_VALUE_DOUBLE && v.d == 1);
    cr_assert_eq(s.find(s.ctx, "op", &v, NULL), WF_OK);
    cr_assert_str_eq(v.s, "gemm");
    cr_assert_eq(s.find(s.ctx, "BLOCK_M", &v, NULL), WF_ENOTFOUND);
    for (size_t i = 0; s.name_at(s.ctx, i) != NULL; i++) {
        cr_assert_eq(s.find(s.ctx, s.name_at(s.ctx, i), &v, NULL), WF_OK, "%s",
                     s.name_at(s.ctx, i));
    }
    wf_case_free(c);
}

Test(case, fill_refuses_outputs_and_ranges_outside)
{
    struct wf_case *c = gemm_case("{'op':'gemm','M':4,'N':5,'K':6}");
    struct wf_error err;
    uint16_t buf[64];
    cr_assert_eq(wf_case_fill(c, wf_case_tensor_index(c, "D"), 0, 0, 1, buf, &err),
                 WF_EINVAL);
    cr_assert_eq(wf_case_fill(c, 9, 0, 0, 1, buf, &err), WF_EINVAL);
    cr_assert_eq(wf_case_fill(c, GEMM_A, 0, 20, 5, buf, &err), WF_ERANGE);
    cr_assert_eq(wf_case_fill(c, GEMM_A, 0, UINT64_MAX, 5, buf, &err), WF_ERANGE);
    cr_assert_eq(wf_case_fill(c, GEMM_A, 0, 20, 4, buf, &err), WF_OK);
    cr_assert_eq(wf_case_tensor_index(c, "X"), (size_t)-1);
    wf_case_free(c);
}

/* What each distribution promises, for each type. */
Test(inputs, distributions_keep_their_promises_in_every_type)
{
    enum {
        N = 20000
    };
    static double v[N];
    static unsigned char raw[N * 8];
    for (unsigned t = 0; t < WF_DTYPE_COUNT; t++) {
        const enum wf_dtype type = (enum wf_dtype)t;
        const double max = wf_dtype_is_float(type) ? 1 : wf_dtype_max(type);
        for (unsigned k = 0; k < WF_INPUTS_COUNT; k++) {
            const struct wf_input_stream s = { (enum wf_inputs)k, type, 5, t };
            wf_inputs_fill(&s, 3, N, raw);
            wf_to_f64(type, raw, v, N);
            double squares = 0;
            for (int i = 0; i < N; i++) {
                cr_assert(isfinite(v[i]));
                squares += v[i] * v[i];
                cr_assert(s.kind != WF_INPUTS_ONES || v[i] == 1);
                cr_assert(s.kind != WF_INPUTS_ZEROS || v[i] == 0);
                cr_assert(s.kind != WF_INPUTS_INTEGERS || fabs(v[i]) <= 2);
                cr_assert(s.kind != WF_INPUTS_UNIFORM || fabs(v[i]) <= max * 1.01);
                cr_assert(s.kind != WF_INPUTS_POWERS || type == WF_U8 ||
                          frexp(fabs(v[i]), &(int){ 0 }) == 0.5);
            }
            if (type != WF_U8 && s.kind == WF_INPUTS_NORMAL) {
                const double sigma = wf_dtype_is_float(type) ? 1 : max / 4;
                cr_assert_float_eq(sqrt(squares / (double)N), sigma, 0.03 * sigma, "%s",
                                   wf_dtype_name(type));
            }
        }
    }
}

Test(inputs, any_split_gives_the_same_bytes)
{
    enum {
        N = 5000
    };
    for (unsigned k = 0; k < WF_INPUTS_COUNT; k++) {
        const struct wf_input_stream s = { (enum wf_inputs)k, WF_F16, 1, 2 };
        uint16_t whole[N], parts[N];
        wf_inputs_fill(&s, 0, N, whole);
        for (size_t at = 0, step = 1; at < N; at += step, step = step * 3 + 1) {
            wf_inputs_fill(&s, at, N - at < step ? N - at : step, parts + at);
        }
        cr_assert_arr_eq(whole, parts, sizeof whole, "%s", wf_inputs_name(s.kind));
    }
}

/* Elements of A of a 4 x 16 x 8 problem under an offset. */
static void fill_a(const struct wf_case *c,
                   uint64_t offset,
                   uint64_t first,
                   uint64_t n,
                   float *ret)
{
    struct wf_error err = { 0 };
    cr_assert_eq(wf_case_fill(c, 0, offset, first, n, ret, &err), WF_OK, "%s",
                 err.text);
}

Test(case, a_splice_holds_ranges_of_other_seeds_however_it_is_cut)
{
    struct wf_error err = { 0 };
    struct wf_case *c = gemm_case("{'op':'gemm','M':4,'N':16,'K':8,'a_type':'f32'}");
    const struct wf_case_range ranges[] = { { 0, 3, 5, 77 }, { 0, 6, 4, 78 } };
    float base[32];
    float first[32];
    float second[32];
    float got[32];
    fill_a(c, 5, 0, 32, base);
    fill_a(c, 77, 0, 32, first);
    fill_a(c, 78, 0, 32, second);
    cr_assert_eq(wf_case_splice(c, 99, 5, ranges, 2, &err), WF_OK, "%s", err.text);
    for (uint64_t cut = 1; cut <= 32; cut++) {
        for (uint64_t at = 0; at < 32; at += cut) {
            fill_a(c, 99, at, 32 - at < cut ? 32 - at : cut, got + at);
        }
        for (size_t i = 0; i < 32; i++) {
            const float *want = i >= 6 && i < 10  ? second
                                : i >= 3 && i < 6 ? first
                                                  : base;
            cr_expect_arr_eq(&got[i], &want[i], sizeof(float), "element %zu, cut %d", i,
                             (int)cut);
        }
    }
    fill_a(c, 5, 0, 32, got);
    cr_expect_arr_eq(got, base, sizeof(base));
    cr_expect_eq(wf_case_splice(c, 5, 5, ranges, 2, &err), WF_EINVAL);
    const struct wf_case_range outside = { 0, 30, 3, 1 };
    cr_expect_eq(wf_case_splice(c, 99, 5, &outside, 1, &err), WF_ERANGE);
    const struct wf_case_range output = { wf_case_tensor_index(c, "D"), 0, 1, 1 };
    cr_expect_eq(wf_case_splice(c, 99, 5, &output, 1, &err), WF_EINVAL);
    wf_case_free(c);
}
