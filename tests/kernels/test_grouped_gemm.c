/* The grouped_gemm op: what it reads, its tensors, and its reference against a loop
 * over groups that knows nothing of gemm's batches. */
#include "gemm_fixture.h"

#include "core/buf.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct loop {
    struct wf_case *c;
    const struct gemm *g;
    char *in[GEMM_GROUPED_TENSOR_COUNT];
    char *d;
};

static double value(const struct loop *l, int tensor, int64_t at)
{
    double v;
    const enum wf_dtype type = l->g->tensor[tensor].dtype;
    wf_to_f64(type, l->in[tensor] + (size_t)at * wf_dtype_bytes(type), &v, 1);
    return v;
}

static double scale(const struct loop *l,
                    int64_t group,
                    int64_t row,
                    int64_t col,
                    int64_t k)
{
    const struct gemm *g = l->g;
    const int64_t blocks = (g->k + 127) / 128;
    const int64_t lines = (g->n + 127) / 128;
    const bool up = col >= g->n;
    const int64_t cols = g->activation == GEMM_ACTIVATION_SILU_GATE ? 2 * g->n : g->n;
    if (g->scale == GEMM_SCALE_NONE) {
        return 1.0;
    }
    if (g->scale == GEMM_SCALE_ROW) {
        return value(l, GEMM_SA, row) * value(l, GEMM_SB, group * cols + col);
    }
    const int64_t line = up ? lines + (col - g->n) / 128 : col / 128;
    return value(l, GEMM_SA, row * blocks + k / 128) *
           value(l, GEMM_SB, (group * (cols / g->n) * lines + line) * blocks + k / 128);
}

static double dot(const struct loop *l, int64_t group, int64_t row, int64_t col)
{
    const struct gemm *g = l->g;
    const struct gemm_matrix *b = &g->matrix[GEMM_B];
    double sum = 0.0;
    for (int64_t k = 0; k < g->k; k++) {
        const int64_t at = g->trans_b ? col * b->ld + k : k * b->ld + col;
        sum += scale(l, group, row, col, k) *
               value(l, GEMM_A, row * g->matrix[GEMM_A].ld + k) *
               value(l, GEMM_B, group * b->stride + at);
    }
    return g->alpha * sum;
}

static double element(const struct loop *l, int64_t group, int64_t row, int64_t col)
{
    const double v = dot(l, group, row, col);
    if (l->g->activation == GEMM_ACTIVATION_NONE) {
        return v;
    }
    const double act = v / (1.0 + exp(-v));
    return l->g->activation == GEMM_ACTIVATION_SILU
               ? act
               : act * dot(l, group, row, col + l->g->n);
}

static void set_row(struct loop *l, int64_t group, int64_t row)
{
    const struct gemm_matrix *d = &l->g->matrix[GEMM_D];
    for (int64_t col = 0; col < l->g->n; col++) {
        const double v = element(l, group, row, col);
        wf_from_f64(d->dtype, &v,
                    l->d + (size_t)(row * d->ld + col) * wf_dtype_bytes(d->dtype), 1);
    }
}

static void make(struct loop *l, const char *text)
{
    struct wf_error err;
    memset(l, 0, sizeof *l);
    l->c = gemm_case(text);
    l->g = wf_case_state(l->c);
    for (size_t i = 0; i < GEMM_GROUPED_TENSOR_COUNT; i++) {
        const struct wf_tensor *t = wf_case_tensor(l->c, i);
        l->in[i] = calloc(t->bytes + 1, 1);
        if (i != GEMM_D && t->elements > 0) {
            cr_assert_eq(wf_case_fill(l->c, i, 0, 0, t->elements, l->in[i], &err),
                         WF_OK, "%s: %s", text, err.text);
        }
    }
    l->d = l->in[GEMM_D];
    wf_poison(l->g->matrix[GEMM_D].dtype, l->d, l->g->tensor[GEMM_D].elements);
    const int32_t *offsets = (const int32_t *)(const void *)l->in[GEMM_OFFSETS];
    for (int64_t b = 0; b < l->g->batch; b++) {
        for (int64_t row = offsets[b]; row < offsets[b + 1]; row++) {
            set_row(l, b, row);
        }
    }
}

static void drop(struct loop *l)
{
    for (size_t i = 0; i < GEMM_GROUPED_TENSOR_COUNT; i++) {
        free(l->in[i]);
    }
    wf_case_free(l->c);
}

static enum wf_status read_d(void *ctx,
                             size_t tensor,
                             uint64_t at,
                             uint64_t n,
                             void *dst,
                             struct wf_error *err)
{
    (void)err;
    cr_assert_eq(tensor, GEMM_D);
    memcpy(dst, (const char *)ctx + at, n);
    return WF_OK;
}

static void check(struct loop *l, double budget, struct wf_check_report *ret)
{
    struct wf_error err;
    struct wf_reference *ref = NULL;
    const struct wf_reference_options o = {
        .budget_macs = budget, .threads = 1, .split = 1, .accumulate_type = WF_F32
    };
    const struct wf_output_source source = { read_d, l->d };
    cr_assert_eq(wf_reference_create(l->c, &o, &ref, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_reference_check(l->c, ref, &source, ret, &err), WF_OK, "%s",
                 err.text);
    wf_reference_destroy(l->c, ref);
}

#define F16 "{'op':'grouped_gemm','trans_b':'T','N':40,'K':72,'groups':[3,0,17,1]}"
#define BLOCK                                                            \
    "{'op':'grouped_gemm','trans_b':'T','N':130,'K':200,'groups':[2,5]," \
    "'a_type':'e4m3fnuz','scale':'block128','activation':'silu_gate','d_type':'bf16'}"
#define ROW                                                                    \
    "{'op':'grouped_gemm','N':24,'K':33,'groups':[0,4,9],'a_type':'e4m3fnuz'," \
    "'scale':'row','lda':40,'ldd':31,'stride_b':1000,'alpha':0.5}"
#define I8 \
    "{'op':'grouped_gemm','trans_b':'T','N':16,'K':64,'groups':[5],'a_type':'i8'}"

static const char *const CASES[] = { F16, BLOCK, ROW, I8 };

Test(grouped_gemm, right_answers_pass_and_other_groups_weights_do_not)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct loop l;
        make(&l, CASES[i]);
        for (int m = 0; m < 2; m++) {
            struct wf_check_report r;
            check(&l, m, &r);
            cr_assert_eq(r.answer, WF_ANSWER_PASS, "%s: %g not %g", CASES[i],
                         r.worst_got, r.worst_want);
            cr_assert_eq(r.check[0].elements, (uint64_t)(l.g->m * l.g->n));
        }
        if (l.g->batch > 1) {
            struct wf_check_report r;
            const int64_t last = l.g->m - 1;
            set_row(&l, 0, last);
            check(&l, 0, &r);
            cr_assert_eq(r.answer, WF_ANSWER_MISMATCH, "%s", CASES[i]);
            cr_assert_eq(r.worst_index[0], l.g->batch - 1);
            cr_assert_eq(r.worst_index[1], last);
            check(&l, 1, &r);
            cr_assert_neq(r.answer, WF_ANSWER_PASS, "%s", CASES[i]);
        }
        drop(&l);
    }
}

Test(grouped_gemm, counts_tensors_and_canonical_form)
{
    struct wf_case *c = gemm_case(F16);
    cr_assert_str_eq(wf_case_canonical(c),
                     "{\"K\":72,\"N\":40,\"groups\":[3,0,17,1],\"op\":\"grouped_gemm\","
                     "\"trans_b\":\"T\"}");
    cr_assert_eq(wf_case_flops(c), 2.0 * 21 * 40 * 72);
    cr_assert_eq(wf_case_bytes(c), 2.0 * (21 * 72 + 3 * 40 * 72 + 21 * 40));
    const struct wf_tensor *offsets = wf_case_tensor(c, GEMM_OFFSETS);
    cr_assert_str_eq(offsets->name, "offsets");
    cr_assert_eq(offsets->elements, 5);
    cr_assert_eq(wf_case_tensor(c, GEMM_B)->dim[0], 4);
    cr_assert_eq(wf_case_tensor(c, GEMM_D)->dim[0], 1);
    cr_assert_eq(wf_case_tensor(c, GEMM_D)->bytes, 21 * 40 * 2);
    wf_case_free(c);
}

static void refused(const char *text, const char *word)
{
    struct wf_error err;
    cr_assert_neq(gemm_case_error(text, &err), WF_OK, "%s", text);
    cr_assert_not_null(strstr(err.text, word), "%s: %s", text, err.text);
}

Test(grouped_gemm, what_makes_no_sense_is_refused)
{
    refused("{'op':'grouped_gemm','N':8,'K':8}", "groups");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[]}", "groups");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[3,-1]}", "groups[1]");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[3,'x']}", "groups[1]");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[2147483647,1]}", "group 1");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[3],'beta':1}", "beta");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[3],'M':3}", "M");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[3],'bias':'n'}", "bias");
}
