/* The error model of an honest attention kernel. Every limit of the checker comes from
 * here; the reference itself rounds at 2^-53, which is left out.
 *
 * What a kernel may do: products in f32 accumulation, exp in f32 (base e or 2), weights
 * p = exp(s - m) rounded to a narrower type before P V, the sum l of them in f32 from
 * rounded or unrounded weights, key blocks in any order with rescaling, partial results
 * merged, K and V dequantised to Q's type. u32 = 2^-24; U = 2^-23 stands for one step
 * of accumulation, because matrix units may truncate where f32 adds round.
 *
 * 1. Score. The dot product over D elements is off by 4 sqrt(D) U sum|q||k| (random
 *    signs of the roundings, with a margin of 4), and sum|q||k| <= |q||k| (norms).
 *    An fp8 K that is multiplied by a k_scale other than a power of two and rounded to
 *    Q's type adds a relative u_q to each term: random, so u_q |q||k| / sqrt(D)
 * times 6. Scale, soft cap, change of base and s - m cost a few u32 of |s| and of |m|.
 * 2. Weight. exp turns the absolute error of s into a relative one of w, and itself
 *    costs a few u32; rounding P adds u_p, and eta_p where it underflows. Together
 *       e_j = dot |scale| |q||k_j| + u32 (12 + 4 |s_j|) + u_p (+ u_q for scaled fp8 V)
 *    and for all keys of a row at once 2 u32 |m|.
 * 3. O = sum w v / sum w. With w_j off by e_j w_j the numerator is off by
 *    sum d_j w_j v_j, |d_j| <= e_j. d depends on Q and K only; V is drawn independently
 *    of them. So, with mu the mean of the row's values, the error is mu sum d_j w_j,
 *    at most e |O| with e the weighted mean of e_j, and a part of mean zero whose
 * standard deviation is sqrt(sum e_j^2 w_j^2 v_j^2) / l =: R. The model takes min(8,
 * sqrt(n)) R + e |O|: 8 because O stands in for mu and a case has up to 2^30 elements;
 * sqrt(n) R is the sure bound (Cauchy-Schwarz) of few keys. The bound sum e_j w_j |v_j|
 * would need no such argument but is sqrt(n) times wider, and would let a wrong key
 * pass in a long row.
 * 4. Accumulating n terms: 4 sqrt(n) U times the partial sums, which stay below
 *    |O| + 4 A, A = sqrt(sum w^2 v^2) / l <= R / min e_j. The same for l.
 * 5. `split` partial results that were rounded to accumulate_type: u_split (2 |O| + 4
 * A).
 * 6. Output: u_out |O| + half the smallest subnormal; v_scale multiplies all but that.
 * 7. lse = m + log l: e + 4 sqrt(n) U + u32 (8 + 4 |m| + 4 |lse|).
 *
 * P's type: Q's type (f16, bf16, fp8), and exact to f32 when Q is f32. */
#include "kernels/attention/attention_ref.h"

#include <math.h>
#include <stdio.h>

#define U32          0x1p-24
#define U_ACCUMULATE 0x1p-23

static bool is_power_of_two(double v)
{
    int e;

    return !(frexp(v, &e) < 0.5) && !(frexp(v, &e) > 0.5);
}

static bool is_narrow_cache(const struct attention *a)
{
    return wf_dtype_bytes(a->kv_type) == 1 && a->kv_type != a->q_type;
}

void attention_tolerance_init(struct attention_tolerance *t,
                              const struct attention *a,
                              const struct wf_reference_options *options)
{
    double u_q = wf_dtype_unit_roundoff(a->q_type);
    double root = sqrt((double)a->head_dim);

    *t = (struct attention_tolerance){ 0 };
    t->u_p = u_q;
    t->eta_p = wf_dtype_underflow(a->q_type);
    t->dot = 4 * root * U_ACCUMULATE;
    if (is_narrow_cache(a) && !is_power_of_two(a->k_scale)) {
        t->dot += 6 * u_q / root;
    }
    t->e_floor = t->u_p + 12 * U32;
    if (is_narrow_cache(a) && !is_power_of_two(a->v_scale)) {
        t->e_floor += u_q;
    }
    t->u_out = wf_dtype_unit_roundoff(a->o_type);
    t->eta_out = wf_dtype_underflow(a->o_type);
    t->split = options->split > 1 ? (double)options->split : 1;
    t->partial = options->accumulate_type;
    if (options->split > 1) {
        t->u_split = wf_dtype_unit_roundoff(options->accumulate_type);
    }
}

double attention_weight_error(const struct attention_tolerance *t,
                              const struct attention *a,
                              double s,
                              double norms)
{
    double scale = fabs(a->scale * a->q_scale * a->k_scale);

    return t->dot * scale * norms + t->e_floor + 4 * U32 * fabs(s);
}

double attention_o_tolerance(const struct attention_tolerance *t,
                             const struct attention *a,
                             const struct attention_sums *sums,
                             double squares,
                             double o)
{
    double row = 2 * U32 * fabs(sums->max);
    double rss = sqrt(squares) / sums->l * (1 + row / t->e_floor);
    double spread = rss / t->e_floor;
    double mean = sums->we / sums->l + row;
    double size = fabs(o) / a->v_scale;
    double tol = fmin(8, sqrt(sums->n)) * rss + mean * size;

    tol += 4 * sqrt(sums->n) * U_ACCUMULATE * (2 * size + 4 * spread);
    tol += t->u_split * (2 * size + 4 * spread) + 8 * U32 * size;
    return a->v_scale * (tol + t->u_out * (size + tol)) + t->eta_out;
}

double attention_lse_tolerance(const struct attention_tolerance *t,
                               const struct attention_sums *sums,
                               double lse)
{
    double mean = sums->we / sums->l + 2 * U32 * fabs(sums->max);

    return mean + 4 * sqrt(sums->n) * U_ACCUMULATE + 4 * t->u_split +
           U32 * (8 + 4 * fabs(sums->max) + 4 * fabs(lse));
}

void attention_tolerance_text(const struct attention_tolerance *t,
                              const struct attention *a,
                              struct wf_check_report *report)
{
    (void)snprintf(report->tolerance_model, sizeof(report->tolerance_model),
                   "attention-%s-f32acc/1", wf_dtype_name(a->q_type));
    report->tolerance_inputs = (struct wf_tolerance_inputs){
        .known = true,
        .operand = { a->q_type, a->kv_type },
        .accumulate = WF_F32,
        .partial = t->partial,
        .output = a->o_type,
        .u_out = t->u_out,
        .u_accumulate = U_ACCUMULATE,
        .u_inner = t->u_p,
        .split = t->split,
        .length = (double)a->max_kv_len,
    };
    (void)snprintf(
        report->tolerance_text, sizeof(report->tolerance_text),
        "min(8, sqrt n) * sqrt(sum e^2 p^2 v^2) + mean(e)|O| + 4 sqrt(n) 2^-23 "
        "(2|O| + 4A) + u_split (2|O| + 4A) + u_out |O| + %.3g; e = %.3g |scale| "
        "|q||k| + 2^-22 |s| + %.3g (P rounded to %s: %.3g); A = sqrt(sum p^2 "
        "v^2); u_out = %.3g, u_split = %.3g (%.0f partial sums)",
        t->eta_out, t->dot, t->e_floor, wf_dtype_name(a->q_type), t->u_p, t->u_out,
        t->u_split, t->split);
}
