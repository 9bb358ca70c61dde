/* Typed elements of buffers: components of equal width, x lowest, as numbers.
 *
 * Stores of normalised and scaled numbers clamp, and round to nearest even; integers
 * clamp. */
#include "emulator/memory/format.h"

#include "emulator/exec/bits.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

enum number {
    UNORM,
    SNORM,
    USCALED,
    SSCALED,
    UINT,
    SINT,
    FLOAT = 7
};

/* By data format: bits and number of the components; 0: not here. */
static const struct {
    uint8_t bits, count;
} layouts[16] = { [1] = { 8, 1 },   [2] = { 16, 1 }, [3] = { 8, 2 },   [4] = { 32, 1 },
                  [5] = { 16, 2 },  [10] = { 8, 4 }, [11] = { 32, 2 }, [12] = { 16, 4 },
                  [13] = { 32, 3 }, [14] = { 32, 4 } };

unsigned em_format_bytes(uint8_t format)
{
    unsigned bits = layouts[format & 15].bits;
    unsigned number = format >> 4 & 7;
    bool integer = number == UINT || number == SINT;
    bool good = number == FLOAT ? bits >= 16 : number <= SINT && (integer || bits < 32);
    return good ? bits / 8 * layouts[format & 15].count : 0;
}

static int32_t extend(uint32_t raw, unsigned bits)
{
    return (int32_t)(raw << (32 - bits)) >> (32 - bits);
}

static uint32_t from_raw(uint32_t raw, unsigned bits, enum number number)
{
    float most = (float)((UINT64_C(1) << bits) - 1);
    float half = (float)((UINT64_C(1) << (bits - 1)) - 1);
    switch (number) {
    case UNORM:
        return em_bits_f32((float)raw / most);
    case SNORM:
        return em_bits_f32(fmaxf((float)extend(raw, bits) / half, -1.0F));
    case USCALED:
        return em_bits_f32((float)raw);
    case SSCALED:
        return em_bits_f32((float)extend(raw, bits));
    case SINT:
        return (uint32_t)extend(raw, bits);
    case FLOAT:
        return bits == 32 ? raw : em_bits_f32(_cvtsh_ss((unsigned short)raw));
    case UINT:
    default:
        return raw;
    }
}

static float clamp(float value, float low, float high)
{
    return !(value >= low) ? low : value > high ? high : value;
}

static uint32_t to_raw(uint32_t value, unsigned bits, enum number number)
{
    float most = (float)((UINT64_C(1) << bits) - 1);
    float half = (float)((UINT64_C(1) << (bits - 1)) - 1);
    float f = em_f32_of(value);
    int64_t limit = INT64_C(1) << (bits - 1);
    switch (number) {
    case UNORM:
        return (uint32_t)lrintf(clamp(f, 0.0F, 1.0F) * most);
    case SNORM:
        return (uint32_t)lrintf(isnan(f) ? 0.0F : clamp(f, -1.0F, 1.0F) * half);
    case USCALED:
        return (uint32_t)lrintf(clamp(f, 0.0F, most));
    case SSCALED:
        return (uint32_t)lrintf(isnan(f) ? 0.0F : clamp(f, -half - 1.0F, half));
    case UINT:
        return value >> (bits - 1) >> 1 ? (uint32_t)(2 * limit - 1) : value;
    case SINT:
        return (uint32_t)((int32_t)value >= limit   ? limit - 1
                          : (int32_t)value < -limit ? -limit
                                                    : (int32_t)value);
    case FLOAT:
    default:
        return bits == 32 ? value : _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT);
    }
}

void em_format_load(uint8_t format, uint16_t select, const uint8_t *at, uint32_t ret[4])
{
    unsigned bits = layouts[format & 15].bits;
    enum number number = (enum number)(format >> 4 & 7);
    bool integer = number == UINT || number == SINT;
    uint32_t one = integer ? 1 : em_bits_f32(1.0F);
    uint32_t component[4] = { 0, 0, 0, one };
    for (unsigned i = 0; i < layouts[format & 15].count; i++) {
        uint32_t raw = 0;
        memcpy(&raw, at + i * (bits / 8), bits / 8);
        component[i] = from_raw(raw, bits, number);
    }
    for (unsigned i = 0; i < 4; i++) {
        unsigned from = select >> (3 * i) & 7;
        ret[i] = from >= 4 ? component[from - 4] : from == 1 ? one : 0;
    }
}

void em_format_store(uint8_t format,
                     const uint32_t value[4],
                     unsigned count,
                     uint8_t *at)
{
    unsigned bits = layouts[format & 15].bits;
    enum number number = (enum number)(format >> 4 & 7);
    for (unsigned i = 0; i < layouts[format & 15].count; i++) {
        uint32_t raw = to_raw(i < count ? value[i] : 0, bits, number);
        memcpy(at + i * (bits / 8), &raw, bits / 8);
    }
}

uint32_t em_format_to_d16(uint8_t format, uint32_t value)
{
    enum number number = (enum number)(format >> 4 & 7);
    if (number == UINT || number == SINT) {
        return value & 0xffff;
    }
    return _cvtss_sh(em_f32_of(value), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

uint32_t em_format_from_d16(uint8_t format, uint32_t half)
{
    enum number number = (enum number)(format >> 4 & 7);
    if (number == UINT) {
        return half & 0xffff;
    }
    return number == SINT ? (uint32_t)extend(half & 0xffff, 16)
                          : em_bits_f32(_cvtsh_ss((unsigned short)half));
}
