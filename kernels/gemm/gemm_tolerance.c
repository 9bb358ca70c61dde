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
    double walk;     /* of the whole sum's roundings, in units of u_acc */
    double epilogue; /* roundings behind it */
};

/* gemm_check.h: with block scales, sums of 128 and a sum of those, or term by term. */
static double walk_of(const struct gemm *g, double k, double split)
{
    const double plain = sqrt(k / split);
    if (g->scale != GEMM_SCALE_BLOCK128) {
        return 4.0 * plain;
    }
    const double block = k < GEMM_SCALE_BLOCK ? k : (double)GEMM_SCALE_BLOCK;
    const double blocks = sqrt(block) + sqrt((double)gemm_k_blocks(g) / split);
    return 4.0 * larger(plain, blocks);
}

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
    struct budget_terms b = { .split = split, .u_acc = u_own, .root_k = sqrt(k) };
    b.walk = walk_of(g, k, split);
    b.epilogue =
        3.0 + (g->scale != GEMM_SCALE_NONE ? 2.0 : 0.0) + (g->has_bias ? 1.0 : 0.0);
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
    t->out = wf_dtype_unit_roundoff(d);
    t->accumulate = fabs(g->alpha) * (b.walk * b.u_acc + b.epilogue * b.u_acc +
                                      b.u_split * walk + 4.0 * b.root_k * 0x1p-53);
    t->bias = b.epilogue * b.u_acc + b.u_split;
    t->c = fabs(g->beta) * t->bias;
    t->silu = wf_dtype_unit_roundoff(g->acc_type);
    t->silu_floor = 0x1p-118;
    t->floor = wf_dtype_underflow(d);
    t->overflow = overflow_threshold(d);
    t->saturates = wf_dtype_is_fp8(d);
}

static void model_name(const struct gemm *g, char *ret, size_t bytes)
{
    static const char *const SCALE[] = { "", "-row", "-block128" };
    static const char *const ACTIVATION[] = { "", "-silu", "-silu_gate" };
    (void)snprintf(ret, bytes, "gemm-%s-%sacc%s%s%s/1",
                   wf_dtype_name(g->matrix[GEMM_D].dtype), wf_dtype_name(g->acc_type),
                   g->has_bias ? "-bias" : "", SCALE[g->scale],
                   ACTIVATION[g->activation]);
}

static void formula(const struct wf_reference *ref, char *ret, size_t bytes)
{
    const struct gemm *g = &ref->g;
    const struct gemm_tolerance *t = &ref->tolerance;
    char bias[48] = "";
    char linear[128];
    if (g->has_bias) {
        (void)snprintf(bias, sizeof bias, " + %.4g |bias|", t->bias);
    }
    (void)snprintf(linear, sizeof linear, "%.4g S + %.4g |C|%s", t->accumulate, t->c,
                   bias);
    if (g->activation == GEMM_ACTIVATION_NONE) {
        (void)snprintf(ret, bytes, "%.4g |ref| + %s + %.4g", t->out + t->split, linear,
                       t->floor);
    } else {
        (void)snprintf(ret, bytes,
                       "%.4g |ref| + e + %.4g, e: an error of %.4g |v| + %s of v "
                       "through %s, and %.4g |silu| (4 + (1 - s) (2 |v| + 4))",
                       t->out, t->floor, t->split, linear,
                       gemm_is_gated(g) ? "silu(gate) * up" : "silu", t->silu);
    }
}

void gemm_tolerance_text(const struct wf_reference *ref, struct wf_check_report *ret)
{
    const struct gemm *g = &ref->g;
    const struct gemm_tolerance *t = &ref->tolerance;
    const struct budget_terms b = budget_terms(g, &ref->options);
    char text[280];
    model_name(g, ret->tolerance_model, sizeof ret->tolerance_model);
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
    formula(ref, text, sizeof text);
    (void)snprintf(
        ret->tolerance_text, sizeof ret->tolerance_text,
        "%s; S = ||a_i|| ||b_j|| >= sum |a b|; "
        "u_out %.4g, u_acc %.4g, 4 sqrt(K / split) = %.4g with K %lld and split %lld%s",
        text, t->out, b.u_acc, b.walk, (long long)g->k, (long long)b.split,
        b.split > 1.0 ? ", partial sums added in the declared type" : "");
}
