/* Questions to the address space that need nothing but its records: whether an access
 * is in bounds, what an address is, in words, and which pages were touched. */
#include "emulator/memory/space.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    ENTRIES = 4096 /* pages that one look at the page map covers */
};

static bool inside(const struct em_allocation *a, uint64_t address, uint64_t bytes)
{
    uint64_t offset = address - a->address;
    return address >= a->address && offset < a->bytes && bytes <= a->bytes - offset;
}

bool em_space_covers(struct em_space *space, uint64_t address, uint64_t bytes)
{
    struct em_allocation a;
    return em_space_find(space, address, &a) && !a.freed && inside(&a, address, bytes);
}

/* Index in the view of the allocation that holds the range; -1: none does. */
static int view_find(struct em_view *view, uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < 4; i++) {
        if (address >= view->begin[i] && address < view->end[i] &&
            bytes <= view->end[i] - address) {
            return i;
        }
    }
    struct em_allocation a;
    if (!view->space || !em_space_find(view->space, address, &a) || a.freed ||
        !inside(&a, address, bytes)) {
        return -1;
    }
    unsigned slot = view->turn++ % 4;
    view->begin[slot] = a.address;
    view->end[slot] = a.address + a.bytes;
    view->read_only[slot] = a.read_only;
    return (int)slot;
}

bool em_view_covers(struct em_view *view, uint64_t address, uint64_t bytes)
{
    return view_find(view, address, bytes) >= 0;
}

bool em_view_writable(struct em_view *view, uint64_t address, uint64_t bytes)
{
    int i = view_find(view, address, bytes);
    return i >= 0 && !view->read_only[i];
}

/* "4096 bytes at 0x..., device 0" */
static void describe(const struct em_allocation *a, char *text, size_t size)
{
    static const char *const kinds[] = { [EM_MEMORY_DEVICE] = "device",
                                         [EM_MEMORY_HOST] = "host memory",
                                         [EM_MEMORY_CODE] = "code",
                                         [EM_MEMORY_FOREIGN] = "registered" };
    char device[16] = "";
    if (a->kind == EM_MEMORY_DEVICE || a->kind == EM_MEMORY_CODE) {
        (void)snprintf(device, sizeof(device), " %d", a->device);
    }
    (void)snprintf(text, size, "%" PRIu64 " bytes at 0x%" PRIx64 ", %s%s", a->bytes,
                   a->address, kinds[a->kind], device);
}

static void explain_inside(const struct em_allocation *a,
                           uint64_t address,
                           uint64_t bytes,
                           char *text,
                           size_t size)
{
    char what[96];
    describe(a, what, sizeof(what));
    const char *freed = a->freed ? ", freed" : a->read_only ? ", read-only" : "";
    uint64_t left = a->bytes - (address - a->address);
    if (bytes > left) {
        (void)snprintf(text, size,
                       "%" PRIu64 " bytes at 0x%" PRIx64 " reach %" PRIu64
                       " bytes behind the end of allocation #%" PRIu32 " (%s)%s",
                       bytes, address, bytes - left, a->serial, what, freed);
    } else {
        (void)snprintf(text, size,
                       "%" PRIu64 " bytes at 0x%" PRIx64 " are %" PRIu64
                       " bytes inside allocation #%" PRIu32 " (%s)%s",
                       bytes, address, address - a->address, a->serial, what, freed);
    }
}

void em_space_explain(struct em_space *space,
                      uint64_t address,
                      uint64_t bytes,
                      char *text,
                      size_t size)
{
    struct em_allocation below;
    struct em_allocation above;
    bool has_below = em_space_find(space, address, &below);
    bool has_above = em_space_find_above(space, address, &above);
    if (has_below && address - below.address < below.bytes) {
        explain_inside(&below, address, bytes, text, size);
        return;
    }
    if (!has_below && !has_above) {
        (void)snprintf(text, size,
                       "%" PRIu64 " bytes at 0x%" PRIx64 ": nothing is allocated",
                       bytes, address);
        return;
    }
    uint64_t behind = has_below ? address - below.address - below.bytes : UINT64_MAX;
    uint64_t before = has_above ? above.address - address : UINT64_MAX;
    const struct em_allocation *a = behind <= before ? &below : &above;
    char what[96];
    describe(a, what, sizeof(what));
    (void)snprintf(text, size,
                   "%" PRIu64 " bytes at 0x%" PRIx64 " are %" PRIu64
                   " bytes %s of allocation #%" PRIu32 " (%s)%s",
                   bytes, address, behind <= before ? behind : before,
                   behind <= before ? "behind the end" : "before the start", a->serial,
                   what, a->freed ? ", freed" : "");
}

/* Whether each of `count` pages from `address` on was touched. The page map tells
 * present and swapped pages; mincore, the way out where /proc is missing, takes swapped
 * ones for untouched. False: neither can tell. */
static bool look(int pagemap, uint64_t address, size_t count, bool touched[ENTRIES])
{
    static const uint64_t present_or_swapped = UINT64_C(3) << 62;
    uint64_t entry[ENTRIES] = { 0 };
    ssize_t got = -1;
    if (pagemap >= 0) {
        got = pread(pagemap, entry, count * sizeof(entry[0]),
                    (off_t)(address / PAGE * sizeof(entry[0])));
    }
    if (got == (ssize_t)(count * sizeof(entry[0]))) {
        for (size_t i = 0; i < count; i++) {
            touched[i] = (entry[i] & present_or_swapped) != 0;
        }
        return true;
    }
    unsigned char resident[ENTRIES] = { 0 };
    if (mincore((void *)(uintptr_t)address, count * PAGE, resident) != 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        touched[i] = (resident[i] & 1) != 0;
    }
    return true;
}

bool em_space_touched(struct em_space *space,
                      uint64_t address,
                      uint64_t end,
                      uint64_t *ret_begin,
                      uint64_t *ret_end)
{
    (void)space;
    if (address >= end) {
        return false;
    }
    bool touched[ENTRIES];
    bool found = false;
    bool over = false;
    uint64_t run_begin = 0;
    uint64_t run_end = 0;
    size_t look_at = 64; /* pages: a short run is found with a short look */
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    for (uint64_t page = address / PAGE * PAGE; page < end && !over;) {
        uint64_t left = (end - page + PAGE - 1) / PAGE;
        size_t count = left < look_at ? (size_t)left : look_at;
        if (!look(pagemap, page, count, touched)) {
            memset(touched, true,
                   sizeof(touched)); /* too much rather than too little */
        }
        for (size_t i = 0; i < count && !over; i++, page += PAGE) {
            if (touched[i] && !found) {
                run_begin = page > address ? page : address;
                found = true;
            }
            over = found && !touched[i];
        }
        run_end = over ? page - PAGE : page;
        look_at = look_at * 4 < ENTRIES ? look_at * 4 : ENTRIES;
    }
    if (pagemap >= 0) {
        (void)close(pagemap);
    }
    if (found) {
        *ret_begin = run_begin;
        *ret_end = run_end < end ? run_end : end;
    }
    return found;
}
