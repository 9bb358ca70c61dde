/* Maps the shadow of global memory: a directory over the whole address space, of which
 * only touched pages exist, and chunks that are mapped when their memory is first
 * accessed. */
#include "emulator/check/race_map.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    TAGS_OF_USE = 1 << (EM_USE_SHIFT - 2),
    MAX_AHEAD = 16,          /* pages that are populated at once */
    MAX_KEPT_PAGES = 1 << 14 /* of 4 KiB, with 8 KiB of tags each */
};

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
    (void)pthread_mutex_init(&s->lock, NULL);
    s->use = 1;
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
    (void)pthread_mutex_destroy(&s->lock);
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

/* Populates the page's tags: a fault of the host for each of their pages takes longer
 * than all else. As many of those behind as there are used ones before it, so that
 * memory which is used in a row is populated in few steps, and never twice as much as
 * is used. */
static void populate(struct em_race_chunk *chunk, size_t page)
{
#ifdef MADV_POPULATE_WRITE
    size_t before = 0;
    while (before < MAX_AHEAD - 1 && before < page &&
           atomic_load_explicit(&chunk->use[page - before - 1], memory_order_relaxed)) {
        before++;
    }
    size_t count = 0;
    while (count <= before && page + count < EM_CHUNK_USES &&
           !chunk->populated[page + count]) {
        chunk->populated[page + count++] = true;
    }
    if (count > 0) {
        /* Where the kernel does not know how, the pages come one by one. */
        (void)madvise(&chunk->tags[page * TAGS_OF_USE],
                      count * TAGS_OF_USE * sizeof(chunk->tags[0]),
                      MADV_POPULATE_WRITE);
    }
#else
    (void)chunk;
    (void)page;
#endif
}

void em_race_begin_use(struct em_global_shadow *s,
                       struct em_race_chunk *chunk,
                       size_t page)
{
    (void)pthread_mutex_lock(&s->lock);
    uint8_t use = atomic_load_explicit(&chunk->use[page], memory_order_relaxed);
    if (use == 0) {
        populate(chunk, page);
        s->pages++;
    } else if (use != s->use) {
        memset(&chunk->tags[page * TAGS_OF_USE], 0,
               TAGS_OF_USE * sizeof(chunk->tags[0]));
    }
    atomic_store_explicit(&chunk->use[page], s->use, memory_order_release);
    (void)pthread_mutex_unlock(&s->lock);
}

bool em_global_shadow_renew(struct em_global_shadow *s)
{
    if (s->use == UINT8_MAX || s->pages > MAX_KEPT_PAGES) {
        return false;
    }
    s->use++;
    s->again = false;
    return true;
}

void em_global_shadow_again(struct em_global_shadow *s)
{
    s->again = true;
}
