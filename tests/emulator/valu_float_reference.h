/* A second implementation of floating-point arithmetic, slow and plain: every finite
 * value is a fixed-point integer of 4,608 bits, sums and products are exact, and one
 * function rounds. No host floating point takes part. */
#ifndef WF_TESTS_EMULATOR_VALU_FLOAT_REFERENCE_H
#define WF_TESTS_EMULATOR_VALU_FLOAT_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

struct ref_format {
    int exponent_bits, fraction_bits;
};
extern const struct ref_format ref_f16, ref_f32, ref_f64, ref_fp8, ref_bf8;

/* MODE as one operation sees it. */
struct ref_mode {
    int round; /* 0 even, 1 up, 2 down, 3 zero */
    bool keep_sources, keep_results;
    bool ieee;
    bool overflow_clamps; /* FP16_OVFL */
};

enum {
    REF_LIMBS = 72,
    REF_POINT = 2304 /* bit of weight 1 */
};

struct ref_big {
    bool negative;
    uint64_t limb[REF_LIMBS];
};

bool ref_is_nan(const struct ref_format *f, uint64_t bits);
bool ref_is_inf(const struct ref_format *f, uint64_t bits);
bool ref_is_zero(const struct ref_format *f, uint64_t bits);
bool ref_is_negative(const struct ref_format *f, uint64_t bits);
uint64_t ref_infinity(const struct ref_format *f, bool negative);
uint64_t ref_default_nan(const struct ref_format *f);
uint64_t ref_quiet(const struct ref_format *f, uint64_t nan);
/* A denormal source becomes a zero of its sign where MODE asks for it. */
uint64_t ref_source(const struct ref_format *f, uint64_t bits, struct ref_mode m);

struct ref_big ref_value(const struct ref_format *f, uint64_t finite);
struct ref_big ref_integer(int64_t value);
struct ref_big ref_long_double(long double value);
struct ref_big ref_times(const struct ref_format *f, uint64_t a, uint64_t b);
struct ref_big ref_plus(const struct ref_big *a, const struct ref_big *b);
struct ref_big ref_shifted(const struct ref_big *v, int power);
bool ref_big_is_zero(const struct ref_big *v);
/* The integer that it is rounded to, saturated to `bits` signed bits and more. */
int64_t ref_to_integer(const struct ref_big *v, int round);
/* A zero has the sign of `negative_zero`. */
uint64_t ref_round(const struct ref_format *f,
                   const struct ref_big *v,
                   struct ref_mode m,
                   bool negative_zero);

uint64_t ref_add(const struct ref_format *f, uint64_t a, uint64_t b, struct ref_mode m);
uint64_t ref_mul(const struct ref_format *f, uint64_t a, uint64_t b, struct ref_mode m);
/* (a * b + c) * 2^power */
uint64_t ref_fma(const struct ref_format *f,
                 const uint64_t s[3],
                 int power,
                 struct ref_mode m);
uint64_t ref_min(const struct ref_format *f, uint64_t a, uint64_t b, struct ref_mode m);
uint64_t ref_max(const struct ref_format *f, uint64_t a, uint64_t b, struct ref_mode m);
uint64_t ref_convert(const struct ref_format *from,
                     const struct ref_format *to,
                     uint64_t bits,
                     struct ref_mode m);

#endif
