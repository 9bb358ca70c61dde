/* The 8-bit floats of gfx942: FNUZ e4m3 ("fp8": bias 8, largest 240) and e5m2 ("bf8":
 * bias 16, largest 57344). Neither has infinities or -0; code 0x80 is the one NaN. */
#ifndef WF_EMULATOR_EXEC_FP8_H
#define WF_EMULATOR_EXEC_FP8_H

#include "emulator/exec/bits.h"

#include <stdbool.h>
#include <stdint.h>

/* Exact. NaN gives 0xffc00000. No branch but the select of a NaN, so loops vectorise.
 */
static inline float em_fp8_to_f32(uint8_t code, bool bf8)
{
    /* Exponent and mantissa read as those of an f32 (denormals included), scaled to the
     * difference of the biases. */
    uint32_t bits = (uint32_t)(code & 0x7f) << (bf8 ? 21 : 20);
    float scale = bf8 ? 0x1p111F : 0x1p119F;
    bits = em_bits_f32(em_f32_of(bits) * scale);
    bits |= (uint32_t)(code & 0x80) << 24;
    return em_f32_of(code == 0x80 ? UINT32_C(0xffc00000) : bits);
}

/* Stochastic: the upper bits of `seed` (as many as a normal result's mantissa loses: 20
 * or 21) are added to the bits that are dropped, which are then cut off. The mantissa
 * of a denormal result is first shifted to its place, losing bits. Beyond the largest
 * value (after rounding): the largest of that sign where `saturate` (MODE.FP16_OVFL),
 * else NaN; NaN and infinities give NaN. What rounds to zero is +0. */
uint8_t em_f32_to_fp8_sr(float value, uint32_t seed, bool bf8, bool saturate);

#endif
