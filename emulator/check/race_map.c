/* Maps the shadow of global memory: a directory over the whole address space, of which
 * only touched pages exist, and chunks that are mapped when their memory is first
 * accessed. */
#include "emulator/check/race_map.h"

#include "core/buf.h"

#include <stdlib.h>
#include <sys/mman.h>

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

struct em_global_shadow *em_global_shadow_create(void)
{
    struct em_global_shadow *s = wf_calloc(1, sizeof(*s));
    if (!s) {
        return NULL;
    }
    s->directory = map(EM_CHUNKS * sizeof(*s->directory));
    if (!s->directory) {
        free(s);
        return NULL;
    }
    return s;
}

void em_global_shadow_destroy(struct em_global_shadow *s)
{
    if (!s) {
        return;
    }
    struct em_race_chunk *chunk = atomic_load(&s->first);
    while (chunk) {
        struct em_race_chunk *next = chunk->next;
        (void)munmap(chunk, sizeof(*chunk));
        chunk = next;
    }
    (void)munmap(s->directory, EM_CHUNKS * sizeof(*s->directory));
    free(s);
}

struct em_race_chunk *em_race_add_chunk(struct em_global_shadow *s, uint64_t number)
{
    struct em_race_chunk *chunk = map(sizeof(*chunk));
    struct em_race_chunk *there = NULL;
    if (!chunk) {
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&s->directory[number], &there, chunk)) {
        (void)munmap(chunk, sizeof(*chunk));
        return there;
    }
    chunk->next = atomic_load(&s->first);
    while (!atomic_compare_exchange_weak(&s->first, &chunk->next, chunk)) {
    }
    return chunk;
}

void em_global_shadow_again(struct em_global_shadow *s)
{
    s->again = true;
}
