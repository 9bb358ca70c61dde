/* The rule of the hardware's matrix products (mfma_exact.c says it in words) for one
 * output at a time: the products that the vectors leave out, because an infinity, a NaN
 * or an overflow is among them. */
#include "emulator/exec/mfma.h"

#include "emulator/exec/bits.h"

#include <math.h>

static int lowest_exponent(enum em_mfma_type type)
{
    return type == EM_MFMA_F16   ? -14
           : type == EM_MFMA_FP8 ? -7
           : type == EM_MFMA_BF8 ? -15
                                 : -126;
}

struct em_mfma_rule em_mfma_rule(const struct em_mfma_shape *s)
{
    struct em_mfma_rule rule;
    rule.products = em_mfma_k_a(s);
    rule.halves = s->type_a == EM_MFMA_FP8 || s->type_a == EM_MFMA_BF8;
    unsigned most = rule.halves ? 16 : s->type_a == EM_MFMA_XF32 ? 4 : 8;
    rule.group = rule.products < most ? rule.products : most;
    rule.lowest_a = lowest_exponent(s->type_a);
    rule.lowest_b = lowest_exponent(s->type_b);
    return rule;
}

static int exponent_of(float x, int lowest)
{
    uint32_t bits = em_bits_f32(x);
    if (!(bits << 1)) {
        return -126; /* zero, of whatever type */
    }
    int e = (int)(bits >> 23 & 0xff) - 127;
    return e > lowest ? e : lowest;
}

struct sum {
    int64_t units; /* of 2^(exponent - 24) */
    int exponent;
};

/* Every step-th of the products p[], cut to 24 bits behind the point of the largest. */
static struct sum add_up(const double *p, const int *e, unsigned count, unsigned step)
{
    struct sum sum = { 0, e[0] };
    for (unsigned i = step; i < count; i += step) {
        sum.exponent = e[i] > sum.exponent ? e[i] : sum.exponent;
    }
    for (unsigned i = 0; i < count; i += step) {
        sum.units += (int64_t)ldexp(p[i], 24 - sum.exponent);
    }
    return sum;
}

/* Toward minus infinity. */
static int64_t shift_right(int64_t x, int by)
{
    return x >> (by < 63 ? by : 63);
}

static struct sum join(struct sum x, struct sum y)
{
    int e = x.exponent > y.exponent ? x.exponent : y.exponent;
    struct sum ret = {
        shift_right(x.units, e - x.exponent) + shift_right(y.units, e - y.exponent), e
    };
    return ret;
}

static float add_c(struct sum sum, float c, bool halves)
{
    int ec = exponent_of(c, -126);
    int e = ec > sum.exponent ? ec : sum.exponent;
    int64_t units_c = shift_right((int64_t)ldexp(c, 24 - ec), e - ec);
    if (halves && e - ec > 25) {
        units_c = 0;
    }
    int64_t total = shift_right(sum.units * 128, e - sum.exponent) + units_c * 128;
    return (float)ldexp((double)total, e - 31);
}

/* Whether the value of the sum is decided by an infinity, a NaN or an overflow. */
static bool special(const double *p, unsigned count, float c, float *ret)
{
    double sum = c;
    bool up = false;
    bool down = false;
    for (unsigned i = 0; i < count; i++) {
        sum += p[i];
        up |= p[i] >= 0x1p128;
        down |= p[i] <= -0x1p128;
    }
    if (isinf(sum)) {
        *ret = (float)sum;
    } else if (isnan(sum) || (up && down)) {
        *ret = NAN;
    } else if (up || down) {
        *ret = up ? INFINITY : -INFINITY;
    } else {
        return false;
    }
    return true;
}

static float add_group(const struct em_mfma_rule *rule,
                       const double *p,
                       const int *e,
                       float c)
{
    float ret;
    if (special(p, rule->group, c, &ret)) {
        return ret;
    }
    struct sum sum;
    if (rule->halves) {
        sum = join(add_up(p, e, rule->group, 2),
                   add_up(p + 1, e + 1, rule->group - 1, 2));
    } else {
        sum = add_up(p, e, rule->group, 1);
    }
    return add_c(sum, c, rule->halves);
}

float em_mfma_exact_output(const struct em_mfma_rule *rule,
                           const float *a,
                           const uint16_t *at_a,
                           const float *b,
                           const uint16_t *at_b,
                           float c)
{
    for (unsigned first = 0; first < rule->products; first += rule->group) {
        double p[16] = { 0 };
        int e[16] = { 0 };
        for (unsigned i = 0; i < rule->group; i++) {
            float x = a[at_a[first + i]];
            float y = b[at_b[first + i]];
            p[i] = (double)x * (double)y;
            e[i] = exponent_of(x, rule->lowest_a) + exponent_of(y, rule->lowest_b);
        }
        c = add_group(rule, p, e, c);
    }
    return c;
}
