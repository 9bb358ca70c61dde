/* The sparse shadow of global memory: two tags for each dword of touched memory. */
#ifndef WF_EMULATOR_CHECK_RACE_MAP_H
#define WF_EMULATOR_CHECK_RACE_MAP_H

#include "emulator/check/race.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    EM_CHUNK_SHIFT = 21, /* memory that a chunk of the shadow is for */
    EM_USE_SHIFT = 12,   /* memory whose tags are of one launch */
    EM_ADDRESS_BITS = 47
};
#define EM_CHUNK_DWORDS ((size_t)1 << (EM_CHUNK_SHIFT - 2))
#define EM_CHUNK_USES   ((size_t)1 << (EM_CHUNK_SHIFT - EM_USE_SHIFT))
#define EM_CHUNKS       ((size_t)1 << (EM_ADDRESS_BITS - EM_CHUNK_SHIFT))

struct em_race_tags {
    uint32_t writer, reader;
};

/* A shadow serves one launch after the other. Tags count where the page's `use` is that
 * of the launch; others are cleared when they are first looked at. */
struct em_race_chunk {
    struct em_race_tags tags[EM_CHUNK_DWORDS];
    struct em_race_chunk *next;
    _Atomic uint8_t use[EM_CHUNK_USES]; /* 0: never used, all tags are 0 */
    bool populated[EM_CHUNK_USES];      /* under the lock */
};

struct em_global_shadow {
    _Atomic(struct em_race_chunk *) *directory; /* [EM_CHUNKS], sparse */
    _Atomic(struct em_race_chunk *) first;
    pthread_mutex_t lock; /* of clearing */
    size_t pages;         /* in use, now or by an earlier launch */
    uint8_t use;          /* of the launch: 1, 2, ... */
    bool again;           /* em_global_shadow_again */
};

/* Makes the chunk, unless another thread just has. NULL: no memory. */
struct em_race_chunk *em_race_add_chunk(struct em_global_shadow *s, uint64_t number);
/* Makes the tags those of the launch: all 0. Called where `use` is not the launch's. */
void em_race_begin_use(struct em_global_shadow *s,
                       struct em_race_chunk *chunk,
                       size_t page);

#endif
