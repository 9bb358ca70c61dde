/* The bits of a float, and the float of bits. */
#ifndef WF_EMULATOR_EXEC_BITS_H
#define WF_EMULATOR_EXEC_BITS_H

#include <stdint.h>
#include <string.h>

static inline float em_f32_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint32_t em_bits_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline double em_f64_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint64_t em_bits_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

#endif
