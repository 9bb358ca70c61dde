/* Philox blocks in bulk. Private to core/rng*.c. */
#ifndef WF_CORE_RNG_BLOCK_H
#define WF_CORE_RNG_BLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Blocks in one piece of bulk work; positions are pairs, so 2 words a block. */
#define WF_RNG_BATCH 64

/* Words of WF_RNG_BATCH blocks from `block` on: even[b] is the word of position
 * 2 * (block + b), odd[b] the one after it. */
void wf_philox_batch(uint64_t seed,
                     uint64_t stream,
                     uint64_t block,
                     uint64_t even[WF_RNG_BATCH],
                     uint64_t odd[WF_RNG_BATCH]);

/* Two normals from each pair of words. */
void wf_normal_batch(const uint64_t even[WF_RNG_BATCH],
                     const uint64_t odd[WF_RNG_BATCH],
                     double ret_cos[WF_RNG_BATCH],
                     double ret_sin[WF_RNG_BATCH]);

#endif
