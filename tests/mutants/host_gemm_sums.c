/* Mistakes of the arithmetic: the sum over k, and what becomes of it. */
#include "tests/mutants/host_gemm.h"

#include <math.h>
#include <string.h>

/* Cuts a float's mantissa to `bits` behind the leading one, to nearest. */
static double narrowed(double v, int bits)
{
    int e;
    const double f = frexp(v, &e);
    return ldexp(nearbyint(ldexp(f, bits + 1)), e - bits - 1);
}

static double operand(const struct gemm_job *j, const struct gemm_mat *x, double v)
{
    switch ((int)j->fault) {
    case GEMM_tf32_operands:
        return narrowed(v, 10);
    case GEMM_bf16_operands:
        return gemm_round(WF_BF16, v);
    case GEMM_f64_as_f32:
        return gemm_round(WF_F32, v);
    case GEMM_i8_unsigned:
        return x == &j->a && v < 0 ? v + 256.0 : v;
    default:
        return v;
    }
}

static double product(const struct gemm_job *j,
                      int64_t batch,
                      int64_t i,
                      int64_t col,
                      int64_t k)
{
    return operand(j, &j->a, gemm_a(j, batch, i, k)) *
           operand(j, &j->b, gemm_b(j, batch, k, col));
}

/* What the sum is kept in. Integers are kept modulo 2^32 where they are written. */
static double kept(const struct gemm_job *j, double v)
{
    const bool integers = j->a.type == WF_I8;
    switch ((int)j->fault) {
    case GEMM_f16_sums:
        return gemm_round(WF_F16, v);
    case GEMM_bf16_sums:
        return gemm_round(WF_BF16, v);
    case GEMM_i16_sums:
        return fmin(fmax(v, -32768.0), 32767.0);
    case GEMM_right_in_f64:
        return v;
    default:
        break;
    }
    if (integers || (j->a.type == WF_F64 && j->fault != GEMM_f64_as_f32)) {
        return v;
    }
    return (double)(float)v;
}

/* k in [from, to), in the order of `step`. */
static double part(const struct gemm_job *j,
                   int64_t batch,
                   int64_t i,
                   int64_t col,
                   int64_t from,
                   int64_t to)
{
    double sum = 0.0;
    const bool backwards =
        j->fault == GEMM_right_reversed ||
        ((j->fault == GEMM_order_differs || j->fault == GEMM_right_undeclared_order) &&
         j->launches % 2 == 1);
    for (int64_t k = from; k < to; k++) {
        sum =
            kept(j, sum + product(j, batch, i, col, backwards ? from + to - 1 - k : k));
    }
    return sum;
}

/* Three workgroups take a third of k each. */
static double split_sum(const struct gemm_job *j, int64_t batch, int64_t i, int64_t col)
{
    const int64_t share = j->k / 3;
    double sum = 0.0;
    for (int64_t s = 0; s < 3; s++) {
        const bool rest = s == 2 && j->fault != GEMM_split_rest_missing;
        double p = part(j, batch, i, col, s * share, rest ? j->k : (s + 1) * share);
        sum += j->fault == GEMM_split_in_f16 ? gemm_round(WF_F16, p) : p;
    }
    return kept(j, sum);
}

double gemm_sum(struct gemm_job *j, int64_t batch, int64_t i, int64_t col)
{
    int64_t k = j->k;
    if (j->alpha == 0.0 && j->fault != GEMM_alpha_zero_multiplies) {
        return 0.0;
    }
    switch ((int)j->fault) {
    case GEMM_second_part_halved:
        return kept(j, part(j, batch, i, col, 0, k / 2) +
                           0.5 * part(j, batch, i, col, k / 2, k));
    case GEMM_odd_k_last_twice:
        return kept(j, part(j, batch, i, col, 0, k) +
                           (k % 2 ? product(j, batch, i, col, k - 1) : 0.0));
    case GEMM_split_rest_missing:
    case GEMM_split_in_f16:
    case GEMM_right_in_blocks:
        return split_sum(j, batch, i, col);
    case GEMM_k_reads_past:
        k = (k + 7) / 8 * 8;
        break;
    case GEMM_stale_sum: /* set to 0 once a row, not once an element */
        j->carry = (col % 16 == 0 ? 0.0 : j->carry) + part(j, batch, i, col, 0, k);
        return j->carry;
    default:
        break;
    }
    return part(j, batch, i, col, 0, k);
}

/* The documented limit of one element: kernels/gemm/gemm_tolerance.c, f32 sums. */
double gemm_limit(const struct gemm_job *j,
                  int64_t batch,
                  int64_t i,
                  int64_t col,
                  double v)
{
    double a = 0.0, b = 0.0;
    for (int64_t k = 0; k < j->k; k++) {
        const double x = gemm_a(j, batch, i, k), y = gemm_b(j, batch, k, col);
        a += x * x;
        b += y * y;
    }
    const double u = 0x1p-24;
    return wf_dtype_unit_roundoff(j->d.type) * fabs(v) +
           fabs(j->alpha) * (4.0 * sqrt((double)j->k) + 3.0) * u * sqrt(a * b);
}

/* The value nearest to v that is not beyond it. */
static double toward_zero(enum wf_dtype t, double v)
{
    const double r = gemm_round(t, v);
    unsigned char bytes[8];
    uint16_t code;
    double down;
    if (!(fabs(r) > fabs(v)) || wf_dtype_bytes(t) != 2) {
        return r;
    }
    wf_from_f64(t, &r, bytes, 1);
    memcpy(&code, bytes, sizeof(code));
    code--; /* sign and magnitude: one step towards zero */
    wf_to_f64(t, &code, &down, 1);
    return down;
}

/* Ties go away from zero; everything else to nearest. */
static double half_away(enum wf_dtype t, double v)
{
    return gemm_round(t, v * (1.0 + 0x1p-40));
}

static double biased(const struct gemm_job *j, double v)
{
    int e;
    (void)frexp(v, &e);
    return v + ldexp(1.5 * wf_dtype_unit_roundoff(j->d.type), e - 1);
}

static double rounded_f(const struct gemm_job *j, double v)
{
    const enum wf_dtype t = j->d.type;
    switch ((int)j->fault) {
    case GEMM_toward_zero:
    case GEMM_truncates_bf16:
        return toward_zero(t, v);
    case GEMM_rounds_twice:
        return gemm_round(WF_BF16, v);
    case GEMM_right_half_away:
        return half_away(t, v);
    case GEMM_half_ulp_bias:
        return biased(j, v);
    case GEMM_clamps_negative:
        return v < 0 ? 0.0 : v;
    case GEMM_saturates_f16:
        return fmin(fmax(v, -65504.0), 65504.0);
    case GEMM_saturates_bf16:
        return fmin(fmax(v, -wf_dtype_max(t)), wf_dtype_max(t));
    case GEMM_flushes_subnormals:
        return fabs(v) < 0x1p-14 ? 0.0 : v;
    case GEMM_fp8_overflows_to_nan:
        return fabs(v) > wf_dtype_max(t) ? (double)NAN : v;
    default:
        return v;
    }
}

/* What i32 sums hold, or should. */
static double integer(const struct gemm_job *j, double v)
{
    if (j->fault == GEMM_i8_through_float) {
        v = (double)(float)v;
    }
    if (j->fault == GEMM_i8_saturates) {
        return v;
    }
    const double wrapped = v - floor(v / 4294967296.0) * 4294967296.0;
    return wrapped >= 2147483648.0 ? wrapped - 4294967296.0 : wrapped;
}

double gemm_value(struct gemm_job *j, int64_t batch, int64_t i, int64_t col, double sum)
{
    double v = j->alpha * sum;
    const bool even = (i + col) % 2 == 0;
    if (j->alpha == 0.0 && j->fault != GEMM_alpha_zero_multiplies) {
        v = 0.0;
    }
    if (j->fault == GEMM_beta_zero_multiplies_d && j->beta == 0.0) {
        v += j->beta * gemm_load(&j->d, batch, i, col);
    } else if (j->beta != 0.0 || j->fault == GEMM_beta_zero_reads_c) {
        const bool first = j->fault == GEMM_c_of_first_batch;
        v += j->beta * gemm_load(&j->c, first ? 0 : batch, i, col);
    }
    if (j->fault == GEMM_limit_twice) {
        v += (even ? 2.0 : -2.0) * gemm_limit(j, batch, i, col, v);
    } else if (j->fault == GEMM_limit_thrice) {
        v += (even ? 3.0 : 0.0) * gemm_limit(j, batch, i, col, v);
    } else if (j->fault == GEMM_right_near_limit) {
        v += (even ? 0.85 : -0.85) * gemm_limit(j, batch, i, col, v);
    }
    return j->a.type == WF_I8 ? integer(j, v) : rounded_f(j, v);
}
