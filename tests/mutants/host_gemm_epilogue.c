/* Mistakes with bias, scales and activation: problems that have one of these are
 * computed here, one element at a time with f32 sums. */
#include "tests/mutants/host_gemm.h"

#include <math.h>
#include <string.h>

static const void *tensor(const struct wf_lib_problem *p, const char *name)
{
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (strcmp(p->tensors[i].name, name) == 0) {
            return p->tensors[i].data;
        }
    }
    return NULL;
}

void gemm_read_epilogue(const struct wf_lib_problem *p, struct gemm_epilogue *e)
{
    (void)wf_dtype_parse(p->get_string(p->ctx, "bias_type"), &e->bias_type);
    e->has_bias = strcmp(p->get_string(p->ctx, "bias"), "n") == 0;
    e->bias = tensor(p, "bias");
    e->sa = tensor(p, "SA");
    e->sb = tensor(p, "SB");
    e->row_scales = strcmp(p->get_string(p->ctx, "scale"), "row") == 0;
    e->block_scales = strcmp(p->get_string(p->ctx, "scale"), "block128") == 0;
    const char *act = p->get_string(p->ctx, "activation");
    e->silu = strcmp(act, "none") != 0;
    e->gated = strcmp(act, "silu_gate") == 0;
}

bool gemm_has_epilogue(const struct gemm_job *j)
{
    const struct gemm_epilogue *e = &j->epilogue;
    return e->has_bias || e->row_scales || e->block_scales || e->silu;
}

static double bias_at(const struct gemm_job *j, int64_t at)
{
    const struct gemm_epilogue *e = &j->epilogue;
    double v;
    if (!e->has_bias || j->fault == GEMM_bias_missing) {
        return 0.0;
    }
    wf_to_f64(e->bias_type, e->bias + (size_t)at * wf_dtype_bytes(e->bias_type), &v, 1);
    return v;
}

static int64_t blocks(int64_t n)
{
    return (n + 127) / 128;
}

static double row_scale(const struct gemm_job *j, const int64_t at[3])
{
    const int64_t b_cols = j->epilogue.gated ? 2 * j->n : j->n;
    const double a = (double)j->epilogue.sa[at[0] * j->m + at[1]];
    const double b = (double)j->epilogue.sb[at[0] * b_cols + at[2]];
    return j->fault == GEMM_scales_twice        ? a * a * b * b
           : j->fault == GEMM_row_scale_missing ? b
                                                : a * b;
}

static double block_scale(const struct gemm_job *j, const int64_t at[3], int64_t k)
{
    const int64_t depth = blocks(j->k);
    const int64_t half = at[2] >= j->n ? 1 : 0;
    const int64_t lines = blocks(j->n) * (j->epilogue.gated ? 2 : 1);
    const int64_t line = half * blocks(j->n) + (at[2] - half * j->n) / 128;
    int64_t kb = k / 128;
    if (j->fault == GEMM_scale_of_first_block) {
        kb = 0;
    } else if (j->fault == GEMM_scale_of_next_block && kb + 1 < depth) {
        kb++;
    }
    int64_t b = (at[0] * lines + line) * depth + kb;
    if (j->fault == GEMM_scale_transposed) {
        b = at[0] * lines * depth + kb * lines + line;
    } else if (j->fault == GEMM_scale_halves_run_on) {
        b = (at[0] * lines + at[2] / 128) * depth + kb;
    }
    const double s = (double)j->epilogue.sa[(at[0] * j->m + at[1]) * depth + kb] *
                     (double)j->epilogue.sb[b];
    return j->fault == GEMM_scales_twice ? s * s : s;
}

/* A column of op(B) before the activation. */
static float column(const struct gemm_job *j, const int64_t at[3])
{
    const struct gemm_epilogue *e = &j->epilogue;
    float sum = 0.0F;
    for (int64_t k = 0; k < j->k; k++) {
        const double s = e->block_scales ? block_scale(j, at, k) : 1.0;
        sum += (float)(gemm_a(j, at[0], at[1], k) * gemm_b(j, at[0], k, at[2]) * s);
    }
    double v = j->alpha * (double)sum * (e->row_scales ? row_scale(j, at) : 1.0);
    v += j->beta != 0.0 ? j->beta * gemm_load(&j->c, at[0], at[1], at[2]) : 0.0;
    if (j->fault == GEMM_bias_behind_silu) {
        return (float)v;
    }
    return (float)(v + bias_at(j, j->fault == GEMM_bias_by_row ? at[1] : at[2]));
}

static float silu(const struct gemm_job *j, float v)
{
    if (j->fault == GEMM_silu_missing) {
        return v;
    }
    return v / (1.0F + (j->fault == GEMM_silu_base_2 ? exp2f(-v) : expf(-v)));
}

double gemm_epilogue_value(const struct gemm_job *j,
                           int64_t batch,
                           int64_t i,
                           int64_t col)
{
    const int64_t at[3] = { batch, i, col };
    const int64_t other[3] = { batch, i, j->n + col };
    float gate = column(j, at);
    float up = j->epilogue.gated ? column(j, other) : 1.0F;
    if (j->fault == GEMM_halves_exchanged) {
        const float first = gate;
        gate = up;
        up = first;
    }
    float v = j->epilogue.silu ? silu(j, gate) : gate;
    if (j->fault == GEMM_bias_behind_silu) {
        v += (float)bias_at(j, col);
    }
    if (j->fault == GEMM_up_activated_too) {
        up = silu(j, up);
    }
    return (double)(v * up);
}
