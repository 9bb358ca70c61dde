/* What a gate draws: order of the labels in each block, order of the pairs in each
 * round, seeds of the inputs. All from the gate's seed, which is recorded before the
 * first launch, by SHA-256: known to nobody before, the same for everybody after. */
#ifndef WF_GATE_DRAW_H
#define WF_GATE_DRAW_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

#define WF_GATE_SEED_BYTES 32u

/* A mask of gate.h for block `block` of the pair's round. `key` names the pair (no two
 * pairs of a gate have the same). */
unsigned wf_gate_draw_mask(const uint8_t seed[WF_GATE_SEED_BYTES],
                           const char *key,
                           int32_t round,
                           int block);
/* ret[0..n) becomes a permutation of 0..n-1. */
void wf_gate_draw_order(const uint8_t seed[WF_GATE_SEED_BYTES],
                        int device,
                        int32_t round,
                        size_t *ret,
                        size_t n);
/* Offset of the inputs' seeds in a round, below 2^53 (it travels in JSON). */
uint64_t wf_gate_draw_inputs(const uint8_t seed[WF_GATE_SEED_BYTES],
                             int device,
                             int32_t round);

#endif
