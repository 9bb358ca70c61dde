/* The sparse shadow of global memory: two tags for each dword of touched memory. */
#ifndef WF_EMULATOR_CHECK_RACE_MAP_H
#define WF_EMULATOR_CHECK_RACE_MAP_H

#include "emulator/check/race.h"

#include <stdatomic.h>

enum {
    EM_CHUNK_SHIFT = 21, /* memory that a chunk of the shadow is for */
    EM_ADDRESS_BITS = 47
};
#define EM_CHUNK_DWORDS ((size_t)1 << (EM_CHUNK_SHIFT - 2))
#define EM_CHUNKS       ((size_t)1 << (EM_ADDRESS_BITS - EM_CHUNK_SHIFT))

struct em_race_tags {
    uint32_t writer, reader;
};

struct em_race_chunk {
    struct em_race_tags tags[EM_CHUNK_DWORDS];
    struct em_race_chunk *next;
};

struct em_global_shadow {
    _Atomic(struct em_race_chunk *) *directory; /* [EM_CHUNKS], sparse */
    _Atomic(struct em_race_chunk *) first;
    bool again; /* em_global_shadow_again */
};

/* Makes the chunk, unless another thread just has. NULL: no memory. */
struct em_race_chunk *em_race_add_chunk(struct em_global_shadow *s, uint64_t number);

#endif
