/* Builds vector instructions by hand and fills a wave's registers, for tests of what
 * executes them: no encoding takes part. */
#ifndef WF_TESTS_EMULATOR_VALU_CASE_H
#define WF_TESTS_EMULATOR_VALU_CASE_H

#include "emulator/exec/wave.h"

/* xorshift64*; the seed is any number but 0. */
uint64_t case_random(uint64_t *state);
/* Random, but often at the edges: 0, all ones, powers of two and their neighbours,
 * small numbers, special floats, halves of those. */
uint32_t case_value(uint64_t *state);
/* EXEC: all, none, one lane, some. */
uint64_t case_exec(uint64_t *state);

/* An instruction with the operand types of its operation, everything else absent: every
 * operand is EM_NONE. op_sel_hi is all ones for VOP3P. */
struct em_inst case_inst(enum em_opcode op, enum em_encoding encoding);
/* Sets an operand's first register or constant; its width follows from its type. */
void case_dst(struct em_inst *in, uint16_t code);
void case_src(struct em_inst *in, unsigned i, uint16_t code);
void case_mask(struct em_inst *in, uint16_t code); /* carry in, condition: src[3] */
void case_sdst(struct em_inst *in, uint16_t code); /* carry out */

/* Random values in the first `rows` VGPRs and SGPRs 0..31, VCC. */
void case_fill(struct em_wave *w, unsigned rows, uint64_t *state);

static inline uint16_t vgpr(unsigned n)
{
    return (uint16_t)(EM_VGPR0 + n);
}
static inline uint64_t case_pair(const struct em_wave *w, unsigned n, unsigned lane)
{
    return w->v[n * EM_LANES + lane] | (uint64_t)w->v[(n + 1) * EM_LANES + lane] << 32;
}

#endif
