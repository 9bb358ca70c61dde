/* Atomics. On memory that host threads share they are the host's own atomics (a loop of
 * compare-and-exchange, whatever the rule, so that there is one shape for all); LDS is
 * used by one thread at a time and needs none.
 *
 * Floating point: round to nearest even. Denormals are kept in global memory; in LDS
 * the MODE register says (f32 only). min and max give the other operand for a NaN. */
#include "emulator/memory/atomic.h"

#include "emulator/exec/bits.h"

#include <immintrin.h>

enum {
    LANES = 64
};

static inline uint32_t read_32(const uint32_t *row, unsigned lane)
{
    return row[lane];
}

static inline uint64_t read_64(const uint32_t *row, unsigned lane)
{
    return row[lane] | (uint64_t)row[LANES + lane] << 32;
}

static inline void write_32(uint32_t *row, unsigned lane, uint32_t value)
{
    row[lane] = value;
}

static inline void write_64(uint32_t *row, unsigned lane, uint64_t value)
{
    row[lane] = (uint32_t)value;
    row[LANES + lane] = (uint32_t)(value >> 32);
}

static inline uint32_t flushed(uint32_t bits, bool flush)
{
    return flush && (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

static uint32_t add_f32(uint32_t old, uint32_t x, bool flush)
{
    float sum = em_f32_of(flushed(old, flush)) + em_f32_of(flushed(x, flush));
    return flushed(em_bits_f32(sum), flush);
}

static uint32_t min_f32(uint32_t old, uint32_t x, bool flush)
{
    old = flushed(old, flush);
    x = flushed(x, flush);
    return em_f32_of(old) != em_f32_of(old) || em_f32_of(x) < em_f32_of(old) ? x : old;
}

static uint32_t max_f32(uint32_t old, uint32_t x, bool flush)
{
    old = flushed(old, flush);
    x = flushed(x, flush);
    return em_f32_of(old) != em_f32_of(old) || em_f32_of(x) > em_f32_of(old) ? x : old;
}

static uint64_t min_f64(uint64_t old, uint64_t x)
{
    return em_f64_of(old) != em_f64_of(old) || em_f64_of(x) < em_f64_of(old) ? x : old;
}

static uint64_t max_f64(uint64_t old, uint64_t x)
{
    return em_f64_of(old) != em_f64_of(old) || em_f64_of(x) > em_f64_of(old) ? x : old;
}

/* The sum of two f16 in f32 rounds to f16 as the exact sum does: 24 bits are enough. */
static uint32_t add_f16(uint32_t old, uint32_t x)
{
    float sum = _cvtsh_ss((unsigned short)old) + _cvtsh_ss((unsigned short)x);
    return _cvtss_sh(sum, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static uint32_t pk_add_f16(uint32_t old, uint32_t x)
{
    return add_f16(old & 0xffff, x & 0xffff) | add_f16(old >> 16, x >> 16) << 16;
}

static uint32_t add_bf16(uint32_t old, uint32_t x)
{
    uint32_t sum = em_bits_f32(em_f32_of(old << 16) + em_f32_of(x << 16));
    if ((sum & 0x7fffffff) > 0x7f800000) {
        return sum >> 16 | 0x40; /* stays a NaN */
    }
    return (sum + 0x7fff + (sum >> 16 & 1)) >> 16;
}

static uint32_t pk_add_bf16(uint32_t old, uint32_t x)
{
    return add_bf16(old & 0xffff, x & 0xffff) | add_bf16(old >> 16, x >> 16) << 16;
}

/* `rule`: the new value of `old`, x and y. */
#define ATOMIC(name, bits, rule)                                               \
    void em_atomic_##name(const struct em_atomic *a)                           \
    {                                                                          \
        for (uint64_t left = a->lanes; left; left &= left - 1) {               \
            unsigned i = (unsigned)__builtin_ctzll(left);                      \
            uint##bits##_t *p =                                                \
                (void *)((uintptr_t)a->base + (uintptr_t)a->address[i]);       \
            uint##bits##_t x = read_##bits(a->data, i);                        \
            uint##bits##_t y = a->other ? read_##bits(a->other, i) : 0;        \
            uint##bits##_t old;                                                \
            (void)y;                                                           \
            if (a->shared) {                                                   \
                uint##bits##_t next;                                           \
                old = __atomic_load_n(p, __ATOMIC_RELAXED);                    \
                do {                                                           \
                    next = (rule);                                             \
                } while (!__atomic_compare_exchange_n(                         \
                    p, &old, next, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)); \
            } else {                                                           \
                old = *p;                                                      \
                *p = (rule);                                                   \
            }                                                                  \
            if (a->ret) {                                                      \
                write_##bits(a->ret, i, old);                                  \
            }                                                                  \
        }                                                                      \
    }

#define X(name, rule)           \
    ATOMIC(name##_32, 32, rule) \
    ATOMIC(name##_64, 64, rule)
EM_ATOMIC_INTEGERS(X)
#undef X
ATOMIC(smin_32, 32, (int32_t)x < (int32_t)old ? x : old)
ATOMIC(smin_64, 64, (int64_t)x < (int64_t)old ? x : old)
ATOMIC(smax_32, 32, (int32_t)x > (int32_t)old ? x : old)
ATOMIC(smax_64, 64, (int64_t)x > (int64_t)old ? x : old)
ATOMIC(add_f32, 32, add_f32(old, x, a->flush))
ATOMIC(min_f32, 32, min_f32(old, x, a->flush))
ATOMIC(max_f32, 32, max_f32(old, x, a->flush))
ATOMIC(cmp_f32, 32, em_f32_of(old) == em_f32_of(y) ? x : old)
ATOMIC(add_f64, 64, em_bits_f64(em_f64_of(old) + em_f64_of(x)))
ATOMIC(min_f64, 64, min_f64(old, x))
ATOMIC(max_f64, 64, max_f64(old, x))
ATOMIC(cmp_f64, 64, em_f64_of(old) == em_f64_of(y) ? x : old)
ATOMIC(pk_add_f16, 32, pk_add_f16(old, x))
ATOMIC(pk_add_bf16, 32, pk_add_bf16(old, x))

bool em_atomic_compares(em_atomic_fn fn)
{
    return fn == em_atomic_cmpswap_32 || fn == em_atomic_cmpswap_64 ||
           fn == em_atomic_cmp_f32 || fn == em_atomic_cmp_f64;
}

bool em_atomic_has_other(em_atomic_fn fn)
{
    return em_atomic_compares(fn) || fn == em_atomic_mskor_32 ||
           fn == em_atomic_mskor_64 || fn == em_atomic_wrap_32;
}
