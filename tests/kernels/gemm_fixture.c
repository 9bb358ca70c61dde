/* See gemm_fixture.h. Plain loops over the definition, independent of the reference. */
#include "gemm_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct wf_json *parse_text(const char *text)
{
    char buf[1024];
    struct wf_json *json = NULL;
    struct wf_error err = { .status = WF_OK };
    size_t n = strlen(text);
    cr_assert_lt(n, sizeof buf);
    for (size_t i = 0; i <= n; i++) {
        buf[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    }
    cr_assert_eq(wf_json_parse(buf, n, "test", &json, &err), WF_OK, "%s", err.text);
    return json;
}

struct wf_case *gemm_case(const char *text)
{
    struct wf_json *json = parse_text(text);
    struct wf_case *c = NULL;
    struct wf_error err = { .status = WF_OK };
    cr_assert_eq(wf_case_parse(json, "test", NULL, &c, &err), WF_OK, "%s: %s", text,
                 err.text);
    wf_json_free(json);
    return c;
}

enum wf_status gemm_case_error(const char *text, struct wf_error *err)
{
    struct wf_json *json = parse_text(text);
    struct wf_case *c = NULL;
    const enum wf_status st = wf_case_parse(json, "test", NULL, &c, err);
    cr_assert_neq(st, WF_OK, "%s parses", text);
    cr_assert_null(c);
    wf_json_free(json);
    return st;
}

size_t gemm_d_position(const struct gemm *g, int64_t batch, int64_t row, int64_t col)
{
    const struct gemm_matrix *x = &g->matrix[GEMM_D];
    return (size_t)(batch * x->stride + row * x->ld + col);
}

double gemm_get_d(const struct gemm_fixture *f, int64_t batch, int64_t row, int64_t col)
{
    const enum wf_dtype t = f->g->matrix[GEMM_D].dtype;
    double v;
    wf_to_f64(t, f->d + gemm_d_position(f->g, batch, row, col) * wf_dtype_bytes(t), &v,
              1);
    return v;
}

void gemm_set_d(struct gemm_fixture *f,
                int64_t batch,
                int64_t row,
                int64_t col,
                double v)
{
    const enum wf_dtype t = f->g->matrix[GEMM_D].dtype;
    wf_from_f64(t, &v,
                f->d + gemm_d_position(f->g, batch, row, col) * wf_dtype_bytes(t), 1);
}

double gemm_input(const struct gemm_fixture *f, enum gemm_tensor t, int64_t at)
{
    return f->value[t][at];
}

static double operand(const struct gemm_fixture *f,
                      enum gemm_tensor t,
                      int64_t batch,
                      int64_t i,
                      int64_t j)
{
    const struct gemm_matrix *x = &f->g->matrix[t];
    const bool turned = t == GEMM_A ? f->g->trans_a : t == GEMM_B && f->g->trans_b;
    const int64_t at = turned ? j * x->ld + i : i * x->ld + j;
    return gemm_input(f, t, batch * x->stride + at);
}

static int64_t blocks(int64_t n)
{
    return (n + 127) / 128;
}

double gemm_term_scale(const struct gemm_fixture *f,
                       int64_t batch,
                       int64_t row,
                       int64_t col,
                       int64_t k)
{
    const struct gemm *g = f->g;
    const bool gated = g->activation == GEMM_ACTIVATION_SILU_GATE;
    const bool up = gated && col >= g->n;
    const int64_t b_cols = gated ? 2 * g->n : g->n;
    if (g->scale == GEMM_SCALE_NONE) {
        return 1;
    }
    if (g->scale == GEMM_SCALE_ROW) {
        return gemm_input(f, GEMM_SA, batch * g->m + row) *
               gemm_input(f, GEMM_SB, batch * b_cols + col);
    }
    const int64_t lines = blocks(g->n) * (gated ? 2 : 1);
    const int64_t line = up ? blocks(g->n) + (col - g->n) / 128 : col / 128;
    return gemm_input(f, GEMM_SA, (batch * g->m + row) * blocks(g->k) + k / 128) *
           gemm_input(f, GEMM_SB, (batch * lines + line) * blocks(g->k) + k / 128);
}

double gemm_bias_at(const struct gemm_fixture *f, int64_t col)
{
    return f->g->has_bias ? gemm_input(f, GEMM_BIAS, col) : 0;
}

double gemm_sum(const struct gemm_fixture *f,
                int64_t batch,
                int64_t row,
                int64_t col,
                int64_t begin,
                int64_t end)
{
    double sum = 0;
    for (int64_t k = begin; k < end; k++) {
        sum += operand(f, GEMM_A, batch, row, k) * operand(f, GEMM_B, batch, k, col) *
               gemm_term_scale(f, batch, row, col, k);
    }
    return sum;
}

static double accumulate(const struct gemm_fixture *f, int64_t b, int64_t i, int64_t j)
{
    const bool wide = f->g->acc_type != WF_F32;
    double sum = 0;
    for (int64_t k = 0; k < f->g->k && f->g->alpha != 0; k++) {
        sum += operand(f, GEMM_A, b, i, k) * operand(f, GEMM_B, b, k, j) *
               gemm_term_scale(f, b, i, j, k);
        sum = wide ? sum : (double)(float)sum;
    }
    return sum;
}

/* alpha * acc + beta * c modulo 2^32. */
static double combine_integers(const struct gemm *g, double acc, double c)
{
    const uint64_t sum = (uint64_t)(int64_t)g->alpha * (uint64_t)(int64_t)acc +
                         (uint64_t)(int64_t)g->beta * (uint64_t)(int64_t)c;
    const uint32_t low = (uint32_t)sum;
    int32_t wrapped;
    memcpy(&wrapped, &low, sizeof wrapped);
    return wrapped;
}

/* What a column of op(B) comes to, in f32 where sums are. */
static double linear(const struct gemm_fixture *f, int64_t b, int64_t i, int64_t col)
{
    const struct gemm *g = f->g;
    const double c = g->beta != 0 ? operand(f, GEMM_C, b, i, col) : 0;
    const double v =
        g->alpha * accumulate(f, b, i, col) + g->beta * c + gemm_bias_at(f, col);
    return g->acc_type == WF_F32 ? (double)(float)v : v;
}

static double silu(double v)
{
    return v / (1 + exp(-v));
}

static void compute(struct gemm_fixture *f, int64_t b, int64_t i, int64_t j)
{
    const struct gemm *g = f->g;
    if (g->acc_type == WF_I32) {
        const double c = g->beta != 0 ? operand(f, GEMM_C, b, i, j) : 0;
        gemm_set_d(f, b, i, j, combine_integers(g, accumulate(f, b, i, j), c));
        return;
    }
    double v = linear(f, b, i, j);
    if (g->activation != GEMM_ACTIVATION_NONE) {
        v = silu(v);
    }
    if (g->activation == GEMM_ACTIVATION_SILU_GATE) {
        v *= linear(f, b, i, g->n + j);
    }
    gemm_set_d(f, b, i, j, v);
}

static void make_input(struct gemm_fixture *f, size_t t, uint64_t seed_offset)
{
    const struct wf_tensor *x = wf_case_tensor(f->c, t);
    const bool read = t == GEMM_C  ? gemm_reads_c(f->g)
                      : t < GEMM_D ? gemm_reads_product(f->g)
                                   : t > GEMM_D && x->elements > 0;
    if (!read) {
        return;
    }
    f->input[t] = malloc(x->bytes + 1);
    cr_assert_eq(wf_case_fill(f->c, t, seed_offset, 0, x->elements, f->input[t], NULL),
                 WF_OK);
    f->value[t] = malloc((x->elements + 1) * sizeof *f->value[t]);
    wf_to_f64(x->dtype, f->input[t], f->value[t], x->elements);
}

void gemm_fixture_make(struct gemm_fixture *f, const char *text, uint64_t seed_offset)
{
    memset(f, 0, sizeof *f);
    f->c = gemm_case(text);
    f->g = wf_case_state(f->c);
    for (size_t t = 0; t < GEMM_TENSOR_COUNT; t++) {
        make_input(f, t, seed_offset);
    }
    const struct wf_tensor *d = wf_case_tensor(f->c, GEMM_D);
    f->d = malloc(d->bytes + 1);
    wf_poison(d->dtype, f->d, d->elements);
    for (int64_t b = 0; b < f->g->batch; b++) {
        for (int64_t i = 0; i < f->g->m; i++) {
            for (int64_t j = 0; j < f->g->n; j++) {
                compute(f, b, i, j);
            }
        }
    }
}

void gemm_fixture_free(struct gemm_fixture *f)
{
    for (size_t t = 0; t < GEMM_TENSOR_COUNT; t++) {
        free(f->input[t]);
        free(f->value[t]);
    }
    free(f->d);
    wf_case_free(f->c);
}

static enum wf_status read_output(void *ctx,
                                  size_t tensor,
                                  uint64_t offset_bytes,
                                  uint64_t n_bytes,
                                  void *dst,
                                  struct wf_error *err)
{
    struct gemm_fixture *f = ctx;
    const struct wf_tensor *d = wf_case_tensor(f->c, GEMM_D);
    f->reads++;
    if (tensor != GEMM_D || offset_bytes + n_bytes > d->bytes) {
        return wf_errorf(err, WF_EINTERNAL, "read outside D");
    }
    memcpy(dst, f->d + offset_bytes, n_bytes);
    return WF_OK;
}

void gemm_fixture_check(struct gemm_fixture *f,
                        const struct gemm_check_setup *setup,
                        struct wf_check_report *ret)
{
    const struct gemm_check_setup none = { 0 };
    const struct gemm_check_setup *s = setup != NULL ? setup : &none;
    const struct wf_reference_options o = {
        .seed_offset = s->seed_offset,
        .threads = 1,
        .budget_macs = s->budget_macs,
        .split = s->split > 0 ? s->split : 1,
        .accumulate_type = s->accumulate != WF_F64 ? s->accumulate : WF_F32,
    };
    const struct wf_output_source source = { read_output, f };
    struct wf_reference *ref = NULL;
    struct wf_error err = { .status = WF_OK };
    cr_assert_eq(wf_reference_create(f->c, &o, &ref, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_reference_check(f->c, ref, &source, ret, &err), WF_OK, "%s",
                 err.text);
    wf_reference_destroy(f->c, ref);
}
