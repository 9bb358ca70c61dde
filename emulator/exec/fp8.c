/* Conversion to the FNUZ 8-bit floats by bits: the mantissa is shifted to the place
 * that it has in the result, rounded there, and a carry runs into the exponent by
 * itself. */
#include "emulator/exec/fp8.h"

struct format {
    unsigned mantissa_bits, exponent_bits, bias;
};

static const struct format formats[2] = { { 3, 4, 8 }, { 2, 5, 16 } };

/* Of `bits`, `drop` are cut off: `normal_drop` of a normal result, the rest because the
 * result is denormal. */
static uint64_t round_stochastic(uint64_t bits,
                                 unsigned drop,
                                 unsigned normal_drop,
                                 uint32_t seed)
{
    bits >>= drop - normal_drop;
    return (bits + (seed >> (32 - normal_drop))) >> normal_drop;
}

uint8_t em_f32_to_fp8_sr(float value, uint32_t seed, bool bf8, bool saturate)
{
    const struct format *f = &formats[bf8];
    uint32_t bits = em_bits_f32(value);
    uint8_t sign = (uint8_t)(bits >> 24 & 0x80);
    uint32_t magnitude = bits & UINT32_C(0x7fffffff);
    uint8_t largest = sign | 0x7f;
    if (magnitude >= UINT32_C(0x7f800000)) {
        return 0x80;
    }
    int exponent = (int)(magnitude >> 23) - 127 + (int)f->bias;
    uint64_t mantissa = magnitude & 0x7fffff;
    unsigned normal_drop = 23 - f->mantissa_bits;
    unsigned drop = normal_drop;
    if (exponent >= 1) {
        mantissa |= (uint64_t)exponent << 23;
    } else if (exponent > -30) {
        /* An f32 denormal is far below this range and needs no other exponent. */
        mantissa |= UINT64_C(1) << 23;
        drop += (unsigned)(1 - exponent);
    } else {
        return 0;
    }
    uint64_t code = round_stochastic(mantissa, drop, normal_drop, seed);
    if (code > 0x7f) {
        return saturate ? largest : 0x80;
    }
    return code == 0 ? 0 : (uint8_t)(sign | code);
}
