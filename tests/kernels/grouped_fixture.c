/* See grouped_fixture.h. */
#include "grouped_fixture.h"

#include "gemm_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double grouped_value(const struct grouped *l, int tensor, int64_t at)
{
    double v;
    const enum wf_dtype type = l->g->tensor[tensor].dtype;
    wf_to_f64(type, l->in[tensor] + (size_t)at * wf_dtype_bytes(type), &v, 1);
    return v;
}

static double scale(const struct grouped *l,
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
        return grouped_value(l, GEMM_SA, row) *
               grouped_value(l, GEMM_SB, group * cols + col);
    }
    const int64_t line = up ? lines + (col - g->n) / 128 : col / 128;
    return grouped_value(l, GEMM_SA, row * blocks + k / 128) *
           grouped_value(l, GEMM_SB,
                         (group * (cols / g->n) * lines + line) * blocks + k / 128);
}

double grouped_dot(const struct grouped *l, int64_t group, int64_t row, int64_t col)
{
    const struct gemm *g = l->g;
    const struct gemm_matrix *b = &g->matrix[GEMM_B];
    double sum = 0.0;
    for (int64_t k = 0; k < g->k; k++) {
        const int64_t at = g->trans_b ? col * b->ld + k : k * b->ld + col;
        sum += scale(l, group, row, col, k) *
               grouped_value(l, GEMM_A, row * g->matrix[GEMM_A].ld + k) *
               grouped_value(l, GEMM_B, group * b->stride + at);
    }
    return g->alpha * sum;
}

double grouped_element(const struct grouped *l, int64_t group, int64_t row, int64_t col)
{
    const double v = grouped_dot(l, group, row, col);
    if (l->g->activation == GEMM_ACTIVATION_NONE) {
        return v;
    }
    const double act = v / (1.0 + exp(-v));
    return l->g->activation == GEMM_ACTIVATION_SILU
               ? act
               : act * grouped_dot(l, group, row, col + l->g->n);
}

void grouped_store(struct grouped *l, int64_t row, int64_t col, double v)
{
    const struct gemm_matrix *d = &l->g->matrix[GEMM_D];
    wf_from_f64(d->dtype, &v,
                l->d + (size_t)(row * d->ld + col) * wf_dtype_bytes(d->dtype), 1);
}

void grouped_set_row(struct grouped *l, int64_t group, int64_t row)
{
    for (int64_t col = 0; col < l->g->n; col++) {
        grouped_store(l, row, col, grouped_element(l, group, row, col));
    }
}

int64_t grouped_of_row(const struct grouped *l, int64_t row)
{
    int64_t b = 0;
    while (l->g->begin[b + 1] <= row) {
        b++;
    }
    return b;
}

static void make_input(struct grouped *l, size_t i)
{
    struct wf_error err = { .status = WF_OK };
    const struct wf_tensor *t = wf_case_tensor(l->c, i);
    l->in[i] = calloc(t->bytes + 1, 1);
    enum wf_status st = WF_OK;
    if (i != GEMM_D && t->elements > 0) {
        st = wf_case_fill(l->c, i, 0, 0, t->elements, l->in[i], &err);
    }
    cr_assert(st == WF_OK, "%s", err.text);
}

void grouped_make(struct grouped *l, const char *text)
{
    memset(l, 0, sizeof *l);
    l->c = gemm_case(text);
    l->g = wf_case_state(l->c);
    for (size_t i = 0; i < GEMM_GROUPED_TENSOR_COUNT; i++) {
        make_input(l, i);
    }
    l->d = l->in[GEMM_D];
    wf_poison(l->g->matrix[GEMM_D].dtype, l->d, l->g->tensor[GEMM_D].elements);
    const int32_t *offsets = (const int32_t *)(const void *)l->in[GEMM_OFFSETS];
    for (int64_t b = 0; b < l->g->batch; b++) {
        for (int64_t row = offsets[b]; row < offsets[b + 1]; row++) {
            grouped_set_row(l, b, row);
        }
    }
}

void grouped_free(struct grouped *l)
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

void grouped_check(struct grouped *l, double budget, struct wf_check_report *ret)
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
