/* Loops over the lanes of rows. A result's row may be one of the sources' rows: lanes
 * do not depend on each other, each reads its sources before it writes, so the compiler
 * may put lanes into vectors without a check for overlap. */
#ifndef WF_EMULATOR_EXEC_VALU_LOOP_H
#define WF_EMULATOR_EXEC_VALU_LOOP_H

#include "emulator/exec/valu.h"

#if defined(__clang__)
#define EM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define EM_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define EM_EACH_LANE(i) EM_INDEPENDENT for (unsigned i = 0; i < EM_LANES; i++)

static inline uint64_t em_pair(const uint32_t *const pair[2], unsigned i)
{
    return (uint64_t)pair[1][i] << 32 | pair[0][i];
}

static inline void em_put_pair(uint32_t *const pair[2], unsigned i, uint64_t value)
{
    pair[0][i] = (uint32_t)value;
    pair[1][i] = (uint32_t)(value >> 32);
}

/* Row functions of one, two and three 32-bit sources x, y, z. */
#define EM_UNARY(name, result)           \
    static void name(struct em_rows *r)  \
    {                                    \
        const uint32_t *s0 = r->s[0][0]; \
        uint32_t *d = r->d[0];           \
        EM_EACH_LANE(i)                  \
        {                                \
            uint32_t x = s0[i];          \
            d[i] = (uint32_t)(result);   \
        }                                \
    }
#define EM_BINARY(name, result)                            \
    static void name(struct em_rows *r)                    \
    {                                                      \
        const uint32_t *s0 = r->s[0][0], *s1 = r->s[1][0]; \
        uint32_t *d = r->d[0];                             \
        EM_EACH_LANE(i)                                    \
        {                                                  \
            uint32_t x = s0[i], y = s1[i];                 \
            d[i] = (uint32_t)(result);                     \
        }                                                  \
    }
#define EM_TERNARY(name, result)                                             \
    static void name(struct em_rows *r)                                      \
    {                                                                        \
        const uint32_t *s0 = r->s[0][0], *s1 = r->s[1][0], *s2 = r->s[2][0]; \
        uint32_t *d = r->d[0];                                               \
        EM_EACH_LANE(i)                                                      \
        {                                                                    \
            uint32_t x = s0[i], y = s1[i], z = s2[i];                        \
            d[i] = (uint32_t)(result);                                       \
        }                                                                    \
    }
/* The same with a second result for the clamp bit. */
#define EM_BINARY_CLAMP(name, result, clamped) \
    EM_BINARY(name##_wrap, result)             \
    EM_BINARY(name##_clamp, clamped)           \
    EM_CLAMP_CHOICE(name)
#define EM_TERNARY_CLAMP(name, result, clamped) \
    EM_TERNARY(name##_wrap, result)             \
    EM_TERNARY(name##_clamp, clamped)           \
    EM_CLAMP_CHOICE(name)
#define EM_CLAMP_CHOICE(name)                    \
    static void name(struct em_rows *r)          \
    {                                            \
        if (__builtin_expect(r->in->clamp, 0)) { \
            name##_clamp(r);                     \
        } else {                                 \
            name##_wrap(r);                      \
        }                                        \
    }

static inline int64_t em_limit(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

static inline uint32_t em_limit_u32(int64_t x)
{
    return (uint32_t)em_limit(x, 0, UINT32_MAX);
}

static inline uint32_t em_limit_i32(int64_t x)
{
    return (uint32_t)em_limit(x, INT32_MIN, INT32_MAX);
}

#endif
