/* exp, log, log1p: table, a short polynomial, and the parts added from small to large.
 *
 * Nothing here may depend on the compiler or the C library: no libm, no fused
 * multiply-add (CMakeLists.txt), no wider registers, no reordering. The tables are
 * rounded from 300 bits; their two columns are the value and what rounding left. */
#include "gate/exact.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "gate: doubles must be evaluated as doubles (on x86: SSE2)"
#endif
#ifdef __FAST_MATH__
#error "gate: -ffast-math would change verdicts"
#endif

enum {
    EXP_ROWS = 32,
    LOG_ROWS = 64,
    MANTISSA_BITS = 52,
    BIAS = 1023
};

struct pair {
    double hi, lo;
};

/* 2^(j / 32) */
static const struct pair exp2_table[EXP_ROWS] = {
    /* clang-format off */
    { 0x1.0000000000000p+0, 0x0.0p+0 },
    { 0x1.059b0d3158574p+0, 0x1.d73e2a475b465p-55 },
    { 0x1.0b5586cf9890fp+0, 0x1.8a62e4adc610bp-54 },
    { 0x1.11301d0125b51p+0, -0x1.6c51039449b3ap-54 },
    { 0x1.172b83c7d517bp+0, -0x1.19041b9d78a76p-55 },
    { 0x1.1d4873168b9aap+0, 0x1.e016e00a2643cp-54 },
    { 0x1.2387a6e756238p+0, 0x1.9b07eb6c70573p-54 },
    { 0x1.29e9df51fdee1p+0, 0x1.612e8afad1255p-55 },
    { 0x1.306fe0a31b715p+0, 0x1.6f46ad23182e4p-55 },
    { 0x1.371a7373aa9cbp+0, -0x1.63aeabf42eae2p-54 },
    { 0x1.3dea64c123422p+0, 0x1.ada0911f09ebcp-55 },
    { 0x1.44e086061892dp+0, 0x1.89b7a04ef80d0p-59 },
    { 0x1.4bfdad5362a27p+0, 0x1.d4397afec42e2p-56 },
    { 0x1.5342b569d4f82p+0, -0x1.07abe1db13cadp-55 },
    { 0x1.5ab07dd485429p+0, 0x1.6324c054647adp-54 },
    { 0x1.6247eb03a5585p+0, -0x1.383c17e40b497p-54 },
    { 0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54 },
    { 0x1.71f75e8ec5f74p+0, -0x1.16e4786887a99p-55 },
    { 0x1.7a11473eb0187p+0, -0x1.41577ee04992fp-55 },
    { 0x1.82589994cce13p+0, -0x1.d4c1dd41532d8p-54 },
    { 0x1.8ace5422aa0dbp+0, 0x1.6e9f156864b27p-54 },
    { 0x1.93737b0cdc5e5p+0, -0x1.75fc781b57ebcp-57 },
    { 0x1.9c49182a3f090p+0, 0x1.c7c46b071f2bep-56 },
    { 0x1.a5503b23e255dp+0, -0x1.d2f6edb8d41e1p-54 },
    { 0x1.ae89f995ad3adp+0, 0x1.7a1cd345dcc81p-54 },
    { 0x1.b7f76f2fb5e47p+0, -0x1.5584f7e54ac3bp-56 },
    { 0x1.c199bdd85529cp+0, 0x1.11065895048ddp-55 },
    { 0x1.cb720dcef9069p+0, 0x1.503cbd1e949dbp-56 },
    { 0x1.d5818dcfba487p+0, 0x1.2ed02d75b3707p-55 },
    { 0x1.dfc97337b9b5fp+0, -0x1.1a5cd4f184b5cp-54 },
    { 0x1.ea4afa2a490dap+0, -0x1.e9c23179c2893p-54 },
    { 0x1.f50765b6e4540p+0, 0x1.9d3e12dd8a18bp-54 },
    /* clang-format on */
};

/* log(1 + j / 64); hi is a multiple of 2^-42, so that it adds exactly to k ln 2 */
static const struct pair log_table[LOG_ROWS] = {
    /* clang-format off */
    { 0x0.0p+0, 0x0.0p+0 },
    { 0x1.fc0a8b0fc0000p-7, 0x1.f1e7cf6d3a69cp-50 },
    { 0x1.f829b0e780000p-6, 0x1.980267c7e09e4p-45 },
    { 0x1.77458f6328000p-5, 0x1.73f118d3ca87cp-43 },
    { 0x1.f0a30c0110000p-5, 0x1.8a9985f325c5cp-43 },
    { 0x1.341d7961bc000p-4, 0x1.1d09299837610p-44 },
    { 0x1.6f0d28ae54000p-4, 0x1.5a5cdf24cdcf7p-43 },
    { 0x1.a926d3a4ac000p-4, 0x1.563650bd22a9cp-44 },
    { 0x1.e27076e2ac000p-4, 0x1.972f4f543fff1p-43 },
    { 0x1.0d77e7cd08000p-3, 0x1.cb2cd2ee2f482p-44 },
    { 0x1.29552f81fe000p-3, 0x1.5234c05dc7102p-43 },
    { 0x1.44d2b6ccb6000p-3, 0x1.d1e67d3d950f8p-43 },
    { 0x1.5ff3070a78000p-3, 0x1.3d3c873e20a07p-43 },
    { 0x1.7ab890210c000p-3, 0x1.9091be36b2d6ap-43 },
    { 0x1.9525a9cf44000p-3, 0x1.6b47641307539p-43 },
    { 0x1.af3c94e80a000p-3, 0x1.ff2d8ce601938p-43 },
    { 0x1.c8ff7c79a8000p-3, 0x1.a21ac25d81ef3p-43 },
    { 0x1.e27076e2ae000p-3, 0x1.2e5e9ea87ffe2p-43 },
    { 0x1.fb9186d5e2000p-3, 0x1.e2a8d55466c38p-43 },
    { 0x1.0a324e2739000p-2, 0x1.c6bee7ef4030ep-47 },
    { 0x1.1675cababa000p-2, 0x1.8380e731f55c4p-44 },
    { 0x1.22941fbcf7000p-2, 0x1.2cb44850a7b4fp-43 },
    { 0x1.2e8e2bae11000p-2, 0x1.a61385992350ap-43 },
    { 0x1.3a64c55694000p-2, 0x1.7a71cbcd735d0p-44 },
    { 0x1.4618bc21c5000p-2, 0x1.d84fa16f66f66p-43 },
    { 0x1.51aad872df000p-2, 0x1.05a13927ac19fp-43 },
    { 0x1.5d1bdbf580000p-2, 0x1.394a11b1c1ee4p-43 },
    { 0x1.686c81e9b1000p-2, 0x1.2bb110af84054p-44 },
    { 0x1.739d7f6bbd000p-2, 0x1.a7389314feb50p-52 },
    { 0x1.7eaf83b82a000p-2, 0x1.f86c9674bcf69p-43 },
    { 0x1.89a3386c14000p-2, 0x1.2d5ad38c40882p-45 },
    { 0x1.947941c211000p-2, 0x1.beae9337451f4p-44 },
    { 0x1.9f323ecbf9000p-2, 0x1.097e56d1aecdfp-43 },
    { 0x1.a9cec9a9a0000p-2, 0x1.0931a909fea5ep-43 },
    { 0x1.b44f77bcc8000p-2, 0x1.ec5197ddb55d3p-43 },
    { 0x1.beb4d9da71000p-2, 0x1.6f7ef0c3a6f57p-43 },
    { 0x1.c8ff7c79a9000p-2, 0x1.443584bb03de6p-43 },
    { 0x1.d32fe7e00e000p-2, 0x1.7aac3bd9197d8p-43 },
    { 0x1.dd46a04c1c000p-2, 0x1.282fb989a9274p-44 },
    { 0x1.e744261d68000p-2, 0x1.e1f8df68dbcf3p-44 },
    { 0x1.f128f5faf0000p-2, 0x1.bb2cd720ec44cp-44 },
    { 0x1.faf588f78f000p-2, 0x1.8f6cd7d9f2754p-45 },
    { 0x1.02552a5a5d000p-1, 0x1.fd8d38d2bafddp-46 },
    { 0x1.0723e5c1cd800p-1, 0x1.d01395e58e244p-43 },
    { 0x1.0be72e4252800p-1, 0x1.415b4c4bdd99fp-44 },
    { 0x1.109f39e2d4800p-1, 0x1.25bf78fb26c2ep-43 },
    { 0x1.154c3d2f4d000p-1, 0x1.7a6a63cce8e59p-43 },
    { 0x1.19ee6b467c800p-1, 0x1.6ecc5cbdd7782p-45 },
    { 0x1.1e85f5e704000p-1, 0x1.a07bd8b34be7cp-46 },
    { 0x1.23130d7beb800p-1, 0x1.d0a0b78da1c8bp-43 },
    { 0x1.2795e1289b000p-1, 0x1.1aeb783f3db97p-45 },
    { 0x1.2c0e9ed448800p-1, 0x1.a2ee5ea70c6e9p-43 },
    { 0x1.307d7334f1000p-1, 0x1.7c3f6b2143eadp-46 },
    { 0x1.34e289d9ce000p-1, 0x1.d316eb92d885dp-45 },
    { 0x1.393e0d3562800p-1, 0x1.0cd4e221301b7p-44 },
    { 0x1.3d9026a715000p-1, 0x1.bea901098f42bp-43 },
    { 0x1.41d8fe8467000p-1, 0x1.5732325e617a3p-44 },
    { 0x1.4618bc21c5800p-1, 0x1.b09f42decdecdp-43 },
    { 0x1.4a4f85db03800p-1, 0x1.aec089efd1e9cp-43 },
    { 0x1.4e7d811b75800p-1, 0x1.d84e584c2b22cp-44 },
    { 0x1.52a2d265bc000p-1, 0x1.6abb9df22bc57p-43 },
    { 0x1.56bf9d5b3f000p-1, 0x1.cca08e310b9b2p-44 },
    { 0x1.5ad404c359800p-1, 0x1.cb3eca6aa97c1p-43 },
    { 0x1.5ee02a9241000p-1, 0x1.9d5c358257f49p-43 },
    /* clang-format on */
};

static const struct pair ln2 = { 0x1.62e42fefa3800p-1, 0x1.ef35793c76730p-45 };
static const struct pair ln2_32 = {
    0x1.62e42fefa0000p-6, 0x1.cf79abc9e3b3ap-45
}; /* hi: 36 bits, times 2^17 exact */
static const double inverse_ln2_32 = 0x1.71547652b82fep+5;

static uint64_t bits_of(double x)
{
    uint64_t u = 0;

    memcpy(&u, &x, sizeof u);
    return u;
}

static double from_bits(uint64_t u)
{
    double x = 0;

    memcpy(&x, &u, sizeof x);
    return x;
}

static double power_of_two(int k) /* -1022 to 1023 */
{
    return from_bits((uint64_t)(k + BIAS) << MANTISSA_BITS);
}

/* x 2^k; the factor is split where it is no normal number itself. */
static double scale(double x, int k)
{
    if (k > 1023) {
        return x * 2.0 * power_of_two(k - 1);
    }
    if (k < -1022) {
        return x * power_of_two(k + 54) * power_of_two(-54);
    }
    return x * power_of_two(k);
}

double wf_exact_exp(double x)
{
    double t;
    double r;
    double p;
    int n;
    int row;

    if (x != x) {
        return x;
    }
    if (x > 709.79) {
        return INFINITY;
    }
    if (x < -745.2) {
        return 0;
    }
    t = x * inverse_ln2_32;
    n = (int)(t < 0 ? t - 0.5 : t + 0.5);
    r = (x - n * ln2_32.hi) - n * ln2_32.lo; /* |r| below 0.0109 */
    p = 1.0 / 120 + r * (1.0 / 720);
    p = 1.0 / 24 + r * p;
    p = 1.0 / 6 + r * p;
    p = 0.5 + r * p;
    p = r + r * r * p; /* e^r - 1 but for 4e-18 */
    row = n & (EXP_ROWS - 1);
    t = exp2_table[row].hi + (exp2_table[row].lo + exp2_table[row].hi * p);
    return scale(t, (n - row) / EXP_ROWS);
}

/* log(1 + f) for |f| at most 1/16 (the series, to f^14) */
static double log_near_one(double f)
{
    double p = 1.0 / 13 - f * (1.0 / 14);

    p = 1.0 / 12 - f * p;
    p = 1.0 / 11 - f * p;
    p = 1.0 / 10 - f * p;
    p = 1.0 / 9 - f * p;
    p = 1.0 / 8 - f * p;
    p = 1.0 / 7 - f * p;
    p = 1.0 / 6 - f * p;
    p = 1.0 / 5 - f * p;
    p = 1.0 / 4 - f * p;
    p = 1.0 / 3 - f * p;
    return f - f * f * (0.5 - f * p);
}

/* log(x 2^k) + rest for x positive and normal, |rest| far below the logarithm. */
static double log_parts(double x, int k, double rest)
{
    uint64_t u = bits_of(x);
    double m;
    double f;
    double p;
    int row;

    k += (int)(u >> MANTISSA_BITS) - BIAS;
    m = from_bits((u & (((uint64_t)1 << MANTISSA_BITS) - 1)) |
                  ((uint64_t)BIAS << MANTISSA_BITS)); /* in [1, 2) */
    row = (int)((m - 1) * (double)LOG_ROWS + 0.5);
    if (row == LOG_ROWS) { /* nearer to 2 than to 1 + 63 / 64 */
        m = m * 0.5;
        row = 0;
        k++;
    }
    f = m - (1 + row * (1.0 / (double)LOG_ROWS)); /* exact */
    f = f / (1 + row * (1.0 / (double)LOG_ROWS)); /* |f| at most 1/128 */
    p = 1.0 / 7 - f * (1.0 / 8);
    p = 1.0 / 6 - f * p;
    p = 1.0 / 5 - f * p;
    p = 1.0 / 4 - f * p;
    p = 1.0 / 3 - f * p;
    p = f - f * f * (0.5 - f * p); /* log(1 + f) but for 2^-66 */
    return (k * ln2.hi + log_table[row].hi) +
           (p + ((k * ln2.lo + log_table[row].lo) + rest));
}

double wf_exact_log(double x)
{
    if (x != x || x < 0) {
        return NAN;
    }
    if (x == 0) {
        return -INFINITY;
    }
    if (x > DBL_MAX) {
        return x;
    }
    if (x > 1 - 1.0 / 16 && x < 1 + 1.0 / 16) {
        return log_near_one(x - 1);
    }
    if (x < DBL_MIN) {
        return log_parts(x * 0x1p54, -54, 0);
    }
    return log_parts(x, 0, 0);
}

double wf_exact_log1p(double x)
{
    double u;
    double lost;

    if (x != x || x < -1) {
        return NAN;
    }
    if (x == -1) {
        return -INFINITY;
    }
    if (x > DBL_MAX) {
        return x;
    }
    if (x > -1.0 / 16 && x < 1.0 / 16) {
        return log_near_one(x);
    }
    u = 1 + x;
    lost = x >= 1 ? 1 - (u - x) : x - (u - 1);
    return log_parts(u, 0, lost / u);
}

double wf_exact_sqrt(double x)
{
    return sqrt(x);
}
