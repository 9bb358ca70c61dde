/* Read-modify-write operations of 64 lanes, one lane after the other. */
#ifndef WF_EMULATOR_MEMORY_ATOMIC_H
#define WF_EMULATOR_MEMORY_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

struct em_atomic {
    uint8_t *base;           /* added to every address */
    const uint64_t *address; /* [64]; naturally aligned */
    uint64_t lanes;
    const uint32_t *data; /* [1 or 2 dwords][64] */
    const uint32_t
        *other;    /* cmpswap: what is expected; mskor, wrap: the second operand */
    uint32_t *ret; /* the old values; NULL: not wanted. May be `data`. */
    bool shared;   /* other threads use this memory too */
    bool flush;    /* f32: denormal inputs and results become 0 */
};
typedef void (*em_atomic_fn)(const struct em_atomic *a);

/* X(name, type, new value of old, x (data), y (other)) */
#define EM_ATOMIC_INTEGERS(X)                 \
    X(swap, x)                                \
    X(cmpswap, old == y ? x : old)            \
    X(add, old + x)                           \
    X(sub, old - x)                           \
    X(rsub, x - old)                          \
    X(umin, x < old ? x : old)                \
    X(umax, x > old ? x : old)                \
    X(and, old &x)                            \
    X(or, old | x)                            \
    X(xor, old ^ x)                           \
    X(inc, old >= x ? 0 : old + 1)            \
    X(dec, old == 0 || old > x ? x : old - 1) \
    X(mskor, (old & ~x) | y)                  \
    X(wrap, old >= x ? old - x : old + y)

#define X(name, rule)                                      \
    void em_atomic_##name##_32(const struct em_atomic *a); \
    void em_atomic_##name##_64(const struct em_atomic *a);
EM_ATOMIC_INTEGERS(X)
X(smin, )
X(smax, )
#undef X
void em_atomic_add_f32(const struct em_atomic *a);
void em_atomic_min_f32(const struct em_atomic *a);
void em_atomic_max_f32(const struct em_atomic *a);
void em_atomic_cmp_f32(const struct em_atomic *a);
void em_atomic_add_f64(const struct em_atomic *a);
void em_atomic_min_f64(const struct em_atomic *a);
void em_atomic_max_f64(const struct em_atomic *a);
void em_atomic_cmp_f64(const struct em_atomic *a);
void em_atomic_pk_add_f16(const struct em_atomic *a);
void em_atomic_pk_add_bf16(const struct em_atomic *a);

/* Whether the rule reads `other`. */
bool em_atomic_has_other(em_atomic_fn fn);
/* Whether that is what memory is compared with. */
bool em_atomic_compares(em_atomic_fn fn);

#endif
