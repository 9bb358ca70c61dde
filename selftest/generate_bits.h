/* Bits that are known, and arithmetic on them. A bit is in `zero` where every value has
 * 0 there, in `one` where every value has 1, in neither where it is not known. */
#ifndef WF_SELFTEST_GENERATE_BITS_H
#define WF_SELFTEST_GENERATE_BITS_H

#include <stdbool.h>
#include <stdint.h>

struct gen_bits {
    uint32_t zero, one;
};

static inline struct gen_bits gen_constant(uint32_t value)
{
    return (struct gen_bits){ ~value, value };
}
static inline bool gen_is_constant(struct gen_bits a)
{
    return (a.zero | a.one) == UINT32_MAX;
}
static inline uint32_t gen_least(struct gen_bits a) /* as unsigned */
{
    return a.one;
}
static inline uint32_t gen_most(struct gen_bits a)
{
    return ~a.zero;
}
static inline struct gen_bits gen_either(struct gen_bits a, struct gen_bits b)
{
    return (struct gen_bits){ a.zero & b.zero, a.one & b.one };
}
/* No bit is 1 in both. */
static inline bool gen_apart(struct gen_bits a, struct gen_bits b)
{
    return (a.zero | b.zero) == UINT32_MAX;
}
/* Values from 0 to `most`. */
struct gen_bits gen_up_to(uint32_t most);
struct gen_bits gen_and(struct gen_bits a, struct gen_bits b);
struct gen_bits gen_or(struct gen_bits a, struct gen_bits b);
struct gen_bits gen_xor(struct gen_bits a, struct gen_bits b);
struct gen_bits gen_not(struct gen_bits a);
struct gen_bits gen_add(struct gen_bits a, struct gen_bits b, bool carry);
struct gen_bits gen_mul(struct gen_bits a, struct gen_bits b);
/* Shifts by a constant; by anything else nothing is known. */
struct gen_bits gen_shift_left(struct gen_bits a, struct gen_bits by);
struct gen_bits gen_shift_right(struct gen_bits a, struct gen_bits by, bool arithmetic);

#endif
