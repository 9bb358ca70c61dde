#include "selftest/generate_bits.h"

struct gen_bits gen_up_to(uint32_t most)
{
    struct gen_bits r = { 0, 0 };
    for (int i = 31; i >= 0 && !(most >> i & 1); i--) {
        r.zero |= UINT32_C(1) << i;
    }
    return r;
}

struct gen_bits gen_and(struct gen_bits a, struct gen_bits b)
{
    return (struct gen_bits){ a.zero | b.zero, a.one & b.one };
}

struct gen_bits gen_or(struct gen_bits a, struct gen_bits b)
{
    return (struct gen_bits){ a.zero & b.zero, a.one | b.one };
}

struct gen_bits gen_xor(struct gen_bits a, struct gen_bits b)
{
    return (struct gen_bits){ (a.zero & b.zero) | (a.one & b.one),
                              (a.zero & b.one) | (a.one & b.zero) };
}

struct gen_bits gen_not(struct gen_bits a)
{
    return (struct gen_bits){ a.one, a.zero };
}

/* A bit of the sum is known where both bits and the carry into it are: the carries of
 * the least and of the greatest sum agree there. */
struct gen_bits gen_add(struct gen_bits a, struct gen_bits b, bool carry)
{
    uint32_t least = a.one + b.one + carry;
    uint32_t most = ~a.zero + ~b.zero + carry;
    uint32_t carry_one = least ^ a.one ^ b.one; /* carries that are always there */
    uint32_t carry_zero = ~(most ^ ~a.zero ^ ~b.zero); /* never */
    uint32_t known = (a.zero | a.one) & (b.zero | b.one) & (carry_one | carry_zero);
    return (struct gen_bits){ ~least & known, least & known };
}

struct gen_bits gen_mul(struct gen_bits a, struct gen_bits b)
{
    if (gen_is_constant(a) && gen_is_constant(b)) {
        return gen_constant(a.one * b.one);
    }
    uint64_t most = (uint64_t)gen_most(a) * gen_most(b);
    struct gen_bits r = { 0, 0 };
    if (most <= UINT32_MAX) {
        r = gen_up_to((uint32_t)most);
    }
    unsigned low = 0; /* zeros below */
    for (unsigned i = 0; i < 32 && (a.zero >> i & 1); i++) {
        low++;
    }
    for (unsigned i = 0; i < 32 && (b.zero >> i & 1); i++) {
        low++;
    }
    r.zero |= low >= 32 ? UINT32_MAX : (UINT32_C(1) << low) - 1;
    return r;
}

struct gen_bits gen_shift_left(struct gen_bits a, struct gen_bits by)
{
    if (!gen_is_constant(by)) {
        return (struct gen_bits){ 0, 0 };
    }
    unsigned n = by.one & 31;
    return (struct gen_bits){ a.zero << n | ((UINT32_C(1) << n) - 1), a.one << n };
}

struct gen_bits gen_shift_right(struct gen_bits a, struct gen_bits by, bool arithmetic)
{
    if (!gen_is_constant(by)) {
        struct gen_bits r = { 0, 0 };
        return arithmetic && !(a.zero >> 31) ? r : gen_up_to(gen_most(a));
    }
    unsigned n = by.one & 31;
    uint32_t high = n ? ~(UINT32_MAX >> n) : 0;
    struct gen_bits r = { a.zero >> n, a.one >> n };
    if (!arithmetic || a.zero >> 31) {
        r.zero |= high;
    } else if (a.one >> 31) {
        r.one |= high;
    }
    return r;
}
