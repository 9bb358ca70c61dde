#include "tests/emulator/memory_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *reference_name(enum em_opcode op)
{
    static const char *const names[] = {
#define OP(name, dst, s0, s1, s2) #name,
#include "emulator/isa/ops_memory.def"
#undef OP
    };
    return op < sizeof(names) / sizeof(names[0]) ? names[op] : "";
}

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

struct reference_move reference_parse(const char *name)
{
    struct reference_move m = { 0 };
    m.store = has(name, "store") || has(name, "write");
    if (!m.store && !has(name, "load") && !has(name, "read")) {
        return m;
    }
    m.d16 = has(name, "_d16");
    m.high = has(name, "_hi");
    m.sign = has(name, "_s") && !m.store ? has(name, "_sbyte") || has(name, "_sshort")
                                         : has(name, "_i8") || has(name, "_i16");
    static const struct {
        const char *part;
        unsigned bytes;
    } sizes[] = { { "byte", 1 },     { "short", 2 },   { "dwordx4", 16 },
                  { "dwordx3", 12 }, { "dwordx2", 8 }, { "dword", 4 },
                  { "_b128", 16 },   { "_b96", 12 },   { "_b64", 8 },
                  { "_b32", 4 },     { "_b16", 2 },    { "_u16", 2 },
                  { "_i16", 2 },     { "_b8", 1 },     { "_u8", 1 },
                  { "_i8", 1 } };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !m.bytes; i++) {
        m.bytes = has(name, sizes[i].part) ? sizes[i].bytes : 0;
    }
    return m;
}

void reference_load(const struct reference_move *m,
                    const uint8_t *memory,
                    uint32_t *reg)
{
    if (m->bytes >= 4) {
        for (unsigned i = 0; i < m->bytes / 4; i++) {
            reg[i] = memory[4 * i] | (uint32_t)memory[4 * i + 1] << 8 |
                     (uint32_t)memory[4 * i + 2] << 16 |
                     (uint32_t)memory[4 * i + 3] << 24;
        }
        return;
    }
    uint32_t value = memory[0];
    if (m->bytes == 2) {
        value += 256U * memory[1];
    }
    uint32_t top = m->bytes == 2 ? 0x8000 : 0x80;
    if (m->sign && value >= top) {
        value -= 2 * top;
    }
    if (!m->d16) {
        reg[0] = value;
    } else if (m->high) {
        reg[0] = (value % 65536) * 65536 + reg[0] % 65536;
    } else {
        reg[0] = value % 65536 + reg[0] / 65536 * 65536;
    }
}

void reference_store(const struct reference_move *m,
                     uint8_t *memory,
                     const uint32_t *reg)
{
    for (unsigned i = 0; i < m->bytes; i++) {
        unsigned at = i + (m->high ? 2 : 0);
        memory[i] = (uint8_t)(reg[at / 4] >> (8 * (at % 4)));
    }
}

static double f16_value(uint32_t bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double mantissa = bits & 1023;
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31) {
        return mantissa != 0.0 ? NAN : sign * INFINITY;
    }
    return exponent == 0 ? sign * ldexp(mantissa, -24)
                         : sign * ldexp(1024.0 + mantissa, exponent - 25);
}

static double bf16_value(uint32_t bits)
{
    int exponent = (int)(bits >> 7 & 255);
    double mantissa = bits & 127;
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == 255) {
        return mantissa != 0.0 ? NAN : sign * INFINITY;
    }
    return exponent == 0 ? sign * ldexp(mantissa, -133)
                         : sign * ldexp(128.0 + mantissa, exponent - 134);
}

/* Nearest code of a 16-bit format, ties to even: the codes of one sign are in order. */
static uint32_t nearest(double value, double (*of)(uint32_t), uint32_t infinity)
{
    uint32_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    uint32_t low = 0;
    uint32_t high = infinity;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (of(middle) <= size) {
            low = middle;
        } else {
            high = middle;
        }
    }
    double next = high == infinity ? 2 * of(high - 1) - of(high - 2) : of(high);
    double down = size - of(low);
    double up = next - size;
    if (isinf(size) || up < down || (up == down && low % 2 == 1)) {
        low = high;
    }
    return sign | low;
}

static uint32_t add_half(uint32_t a, uint32_t b, bool bf16)
{
    double (*of)(uint32_t) = bf16 ? bf16_value : f16_value;
    double x = of(a);
    double y = of(b);
    /* NaN payloads are not compared: callers avoid them. bf16 sums may need more than
     * 53 bits; callers keep the exponents close. */
    return nearest(x + y, of, bf16 ? 0x7f80 : 0x7c00);
}

static float f32_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof(f));
    return f;
}

static uint64_t f32_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static double f64_of(uint64_t bits)
{
    double f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static uint64_t f64_bits(double f)
{
    uint64_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static uint64_t float_atomic(const char *name,
                             uint64_t old,
                             uint64_t data,
                             uint64_t other)
{
    if (has(name, "pk_add")) {
        bool bf16 = has(name, "bf16");
        return add_half(old & 0xffff, data & 0xffff, bf16) |
               (uint64_t)add_half(old >> 16 & 0xffff, data >> 16 & 0xffff, bf16) << 16;
    }
    bool wide = has(name, "f64");
    double a = wide ? f64_of(old) : (double)f32_of(old);
    double b = wide ? f64_of(data) : (double)f32_of(data);
    double c = wide ? f64_of(other) : (double)f32_of(other);
    double result = a;
    if (has(name, "add")) {
        result = a + b;
    } else if (has(name, "min")) {
        result = a == b ? a : fmin(a, b); /* zeros of either sign: no change */
    } else if (has(name, "max")) {
        result = a == b ? a : fmax(a, b);
    } else if (a == c) {
        result = b;
    }
    return wide ? f64_bits(result) : f32_bits((float)result);
}

static uint64_t integer_atomic(const char *name,
                               uint64_t old,
                               uint64_t data,
                               uint64_t other,
                               bool wide)
{
    int64_t sa = wide ? (int64_t)old : (int32_t)old;
    int64_t sb = wide ? (int64_t)data : (int32_t)data;
    bool is_signed = has(name, "smin") || has(name, "smax") || has(name, "_i32") ||
                     has(name, "_i64");
    bool less = is_signed ? sb < sa : data < old;
    bool greater = is_signed ? sb > sa : data > old;
    if (has(name, "rsub")) {
        return data - old;
    }
    if (has(name, "cmp")) {
        return old == other ? data : old;
    }
    if (has(name, "mskor")) {
        return (old & ~data) | other;
    }
    if (has(name, "wrap")) {
        return old >= data ? old - data : old + other;
    }
    if (has(name, "swap") || has(name, "xchg")) {
        return data;
    }
    if (has(name, "add") || has(name, "sub")) {
        return has(name, "add") ? old + data : old - data;
    }
    if (has(name, "inc")) {
        return old >= data ? 0 : old + 1;
    }
    if (has(name, "dec")) {
        return old == 0 || old > data ? data : old - 1;
    }
    if (has(name, "min")) {
        return less ? data : old;
    }
    if (has(name, "max")) {
        return greater ? data : old;
    }
    if (has(name, "and")) {
        return old & data;
    }
    return has(name, "xor") ? old ^ data : old | data;
}

uint64_t reference_atomic(const char *name,
                          uint64_t old,
                          uint64_t data,
                          uint64_t other,
                          unsigned *ret_bytes)
{
    static const char *const known[] = { "add",  "sub",  "min",   "max", "and",
                                         "or",   "xor",  "inc",   "dec", "cmp",
                                         "swap", "xchg", "mskor", "wrap" };
    *ret_bytes = 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (has(name, known[i])) {
            *ret_bytes = has(name, "_x2") || has(name, "64") ? 8 : 4;
        }
    }
    bool wide = *ret_bytes == 8;
    uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
    bool is_float = has(name, "_f32") || has(name, "_f64") || has(name, "f16");
    uint64_t value = is_float ? float_atomic(name, old, data, other)
                              : integer_atomic(name, old, data, other, wide);
    return value & mask;
}
