/* Runs the row functions of floating-point operations on lanes, MODE and all. */
#ifndef WF_TESTS_EMULATOR_VALU_FLOAT_CASE_H
#define WF_TESTS_EMULATOR_VALU_FLOAT_CASE_H

#include "emulator/exec/valu.h"
#include "tests/emulator/valu_float_reference.h"

enum {
    CASE_EDGES = 40
};

/* Sources and results of 64 lanes, 64 bits each. */
struct float_case {
    enum em_opcode op;
    uint32_t mode;
    uint64_t mask; /* in: VCC; out: sdst */
    uint8_t op_sel_hi;
    uint64_t s[3][EM_LANES], d[EM_LANES];
};

/* Fails the test where no table has the operation. */
void float_run(struct float_case *c);

/* MODE from its parts, IEEE set. */
uint32_t float_mode(unsigned round_f32,
                    unsigned round_f16,
                    unsigned denorm_f32,
                    unsigned denorm_f16);
/* As an operation of that format sees it. */
struct ref_mode float_ref_mode(const struct ref_format *f, uint32_t mode);

/* Values at the edges: zeros, denormals, powers of two and their neighbours, the
 * largest, infinities, NaN of both kinds. */
void float_edges(const struct ref_format *f, uint64_t ret[CASE_EDGES]);
/* Random bits, or an exponent near that of 1, or an edge. */
uint64_t float_random(const struct ref_format *f, uint64_t *state);

static inline uint64_t bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float f32_of_bits(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof(value));
    return value;
}

static inline uint64_t bits_of_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline double f64_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

#endif
