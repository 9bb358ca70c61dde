/* Buffers for kernels under test: see the header. */
#include "tests/device_kernels/guarded.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guarded guarded_make(size_t bytes)
{
    struct guarded g = { 0 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t used = (bytes + 15) / 16 * 16;
    const size_t body = (used + page - 1) / page * page;
    g.mapped = body + page;
    g.mapping = mmap(NULL, g.mapped, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.mapping == MAP_FAILED ||
        mprotect((char *)g.mapping + body, page, PROT_NONE) != 0) {
        g.mapping = NULL;
        return g;
    }
    memset(g.mapping, 0xff, body);
    g.data = (char *)g.mapping + body - used;
    return g;
}

void guarded_free(struct guarded *g)
{
    if (g->mapping != NULL) {
        munmap(g->mapping, g->mapped);
    }
    *g = (struct guarded){ 0 };
}
