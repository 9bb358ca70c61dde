/* The error model of gemm_check.h as numbers, and as text for the record. */
#include "kernels/gemm/gemm_check.h"

#include <math.h>
#include <stdio.h>

/* Where round-to-nearest leaves the finite values: max + half a unit in its last
 * place. */
static double overflow_threshold(enum wf_dtype t)
{
    int exponent;
    const double max = wf_dtype_max(t);
    (void)frexp(max, &exponent);
    return max + ldexp(wf_dtype_unit_roundoff(t), exponent - 1);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

struct budget_terms {
    double split, u_acc, u_split, root_k;
};

static struct budget_terms budget_terms(const struct gemm *g,
                                        const struct wf_reference_options *o)
{
    const double k = (double)(g->k > 0 ? g->k : 1);
    const double u_own = wf_dtype_unit_roundoff(g->acc_type);
    /* f64 means f64: a declared f32 (the default of packs) does not loosen it. */
    const double u_declared =
        g->acc_type == WF_F64 ? u_own : wf_dtype_unit_roundoff(o->accumulate_type);
    double split = o->split > 1 ? (double)o->split : 1.0;
    split = split < k ? split : k;
    struct budget_terms b = { split, u_own, 0.0, sqrt(k) };
    if (split > 1.0) {
        b.u_split = split * larger(u_declared, u_own);
    } else {
        b.u_acc = larger(u_declared, u_own);
    }
    return b;
}

void gemm_set_tolerance(struct gemm_tolerance *t,
                        const struct gemm *g,
                        const struct wf_reference_options *o)
{
    const enum wf_dtype d = g->matrix[GEMM_D].dtype;
    const struct budget_terms b = budget_terms(g, o);
    *t = (struct gemm_tolerance){ .max = wf_dtype_max(d), .exact = gemm_is_integer(g) };
    if (t->exact) {
        return;
    }
    const double walk = 4.0 / b.root_k < 1.0 ? 4.0 / b.root_k : 1.0;
    t->split = b.u_split;
    t->out = wf_dtype_unit_roundoff(d) + b.u_split;
    t->accumulate =
        fabs(g->alpha) * (4.0 * b.root_k / sqrt(b.split) * b.u_acc + 3.0 * b.u_acc +
                          b.u_split * walk + 4.0 * b.root_k * 0x1p-53);
    t->c = fabs(g->beta) * (3.0 * b.u_acc + b.u_split);
    t->floor = wf_dtype_underflow(d);
    t->overflow = overflow_threshold(d);
    t->saturates = wf_dtype_is_fp8(d);
}

void gemm_tolerance_text(const struct wf_reference *ref, struct wf_check_report *ret)
{
    const struct gemm *g = &ref->g;
    const struct gemm_tolerance *t = &ref->tolerance;
    const struct budget_terms b = budget_terms(g, &ref->options);
    (void)snprintf(ret->tolerance_model, sizeof ret->tolerance_model, "gemm-%s-%sacc/1",
                   wf_dtype_name(g->matrix[GEMM_D].dtype), wf_dtype_name(g->acc_type));
    ret->tolerance_inputs = (struct wf_tolerance_inputs){
        .known = true,
        .operand = { g->matrix[GEMM_A].dtype, g->matrix[GEMM_B].dtype },
        .accumulate = g->acc_type,
        .partial = ref->options.accumulate_type,
        .output = g->matrix[GEMM_D].dtype,
        .u_out = wf_dtype_unit_roundoff(g->matrix[GEMM_D].dtype),
        .u_accumulate = larger(b.u_acc, b.u_split / b.split),
        .split = b.split,
        .length = (double)g->k,
    };
    if (t->exact) {
        (void)snprintf(ret->tolerance_text, sizeof ret->tolerance_text,
                       "exact, modulo 2^32");
        return;
    }
    (void)snprintf(
        ret->tolerance_text, sizeof ret->tolerance_text,
        "%.4g |ref| + %.4g S + %.4g |C| + %.4g; S = ||a_i|| ||b_j|| >= sum |a b|; "
        "u_out %.4g, u_acc %.4g, 4 sqrt(K / split) = %.4g with K %lld and split %.0f%s",
        t->out, t->accumulate, t->c, t->floor,
        wf_dtype_unit_roundoff(g->matrix[GEMM_D].dtype), b.u_acc,
        4.0 * b.root_k / sqrt(b.split), (long long)g->k, b.split,
        b.split > 1.0 ? ", partial sums added in the declared type" : "");
}
