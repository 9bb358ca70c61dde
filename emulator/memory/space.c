/* The devices' address space. Device addresses are host addresses inside arenas: large
 * mappings without reserved memory, so that an allocation of 100 GiB costs a record
 * until its pages are touched. Huge pages are off there, for the same reason.
 *
 * Allocations are handed out upwards and never touch: at least GAP bytes lie between
 * small ones, a page between large ones. A freed range stays a record (so that a use of
 * it is told apart) and is given out again only when its arena has nothing fresh left.
 *
 * Records are sorted by address; one lock guards them. Views (em_view) keep bounds of
 * live allocations without the lock: launches hold the space, which puts frees off. */
#include "emulator/memory/space.h"

#include "core/buf.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    ALIGN = 256,
    GAP = 256,
    LARGE = 64 << 10, /* from here on allocations start on a page of their own */
    MAX_ARENAS = 64,
    MAX_DEVICES = 64,
    MAX_FREED = 1 << 16 /* records of freed ranges; older ones are forgotten */
};
#define ARENA_BYTES     (UINT64_C(1) << 40)
#define MIN_ARENA_BYTES (UINT64_C(1) << 30)

struct record {
    struct em_allocation a;
    uint64_t end;  /* of what it takes, its gap included */
    uint64_t turn; /* of its free */
    bool doomed;   /* to be freed at the release */
};

struct arena {
    uint64_t begin, fresh, end; /* from `fresh` on nothing was given out yet */
};

struct em_space {
    pthread_rwlock_t lock;
    struct record *record;
    size_t count, capacity, freed;
    struct arena arena[MAX_ARENAS];
    unsigned arenas, held;
    uint64_t turn;
    uint32_t serial;
    _Atomic uint64_t used[MAX_DEVICES];
    struct em_global_shadow *shadow;
    void (*destroy_shadow)(struct em_global_shadow *);
};

static void *host(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

enum wf_status em_space_create(struct em_space **ret, struct wf_error *err)
{
    struct em_space *space = wf_calloc(1, sizeof(*space));
    if (!space) {
        return wf_errorf(err, WF_ENOMEM, "no memory for an address space");
    }
    if (pthread_rwlock_init(&space->lock, NULL) != 0) {
        free(space);
        return wf_errorf(err, WF_ENOMEM, "no lock for an address space");
    }
    *ret = space;
    return WF_OK;
}

void em_space_destroy(struct em_space *space)
{
    if (!space) {
        return;
    }
    for (unsigned i = 0; i < space->arenas; i++) {
        struct arena *a = &space->arena[i];
        (void)munmap(host(a->begin), a->end - a->begin);
    }
    if (space->shadow) {
        space->destroy_shadow(space->shadow);
    }
    (void)pthread_rwlock_destroy(&space->lock);
    free(space->record);
    free(space);
}

struct em_global_shadow *em_space_take_shadow(struct em_space *space)
{
    (void)pthread_rwlock_wrlock(&space->lock);
    struct em_global_shadow *shadow = space->shadow;
    space->shadow = NULL;
    (void)pthread_rwlock_unlock(&space->lock);
    return shadow;
}

void em_space_leave_shadow(struct em_space *space,
                           struct em_global_shadow *shadow,
                           void (*destroy)(struct em_global_shadow *))
{
    (void)pthread_rwlock_wrlock(&space->lock);
    struct em_global_shadow *spare = space->shadow;
    space->shadow = shadow;
    space->destroy_shadow = destroy;
    (void)pthread_rwlock_unlock(&space->lock);
    if (spare) { /* of a launch that ran at the same time */
        destroy(spare);
    }
}

/* As much as the machine gives, at least `need`. */
static struct arena *add_arena(struct em_space *space, uint64_t need)
{
    if (space->arenas == MAX_ARENAS) {
        return NULL;
    }
    uint64_t least = round_up(need + PAGE, PAGE);
    least = least < MIN_ARENA_BYTES ? MIN_ARENA_BYTES : least;
    uint64_t bytes = least > ARENA_BYTES ? least : ARENA_BYTES;
    void *p = MAP_FAILED;
    while (p == MAP_FAILED) {
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED && bytes == least) {
            return NULL;
        }
        if (p == MAP_FAILED) {
            bytes = bytes / 2 > least ? bytes / 2 : least;
        }
    }
    (void)madvise(p, bytes, MADV_NOHUGEPAGE);
    struct arena *a = &space->arena[space->arenas++];
    a->begin = (uint64_t)(uintptr_t)p;
    a->fresh = a->begin;
    a->end = a->begin + bytes;
    return a;
}

/* Number of records whose address is at most `address`. */
static size_t records_up_to(const struct em_space *space, uint64_t address)
{
    size_t low = 0;
    size_t high = space->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->record[middle].a.address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static enum wf_status insert(struct em_space *space,
                             const struct record *r,
                             struct wf_error *err)
{
    if (space->count == space->capacity) {
        size_t capacity = space->capacity ? space->capacity * 2 : 64;
        struct record *grown =
            wf_realloc_array(space->record, capacity, sizeof(*grown));
        if (!grown) {
            return wf_errorf(err, WF_ENOMEM, "no memory for allocation %zu",
                             space->count + 1);
        }
        space->record = grown;
        space->capacity = capacity;
    }
    size_t at = records_up_to(space, r->a.address);
    memmove(space->record + at + 1, space->record + at,
            (space->count - at) * sizeof(*r));
    space->record[at] = *r;
    space->count++;
    return WF_OK;
}

/* Forgets freed records that lie in [begin, end) or were freed at `turn` or before. */
static void forget(struct em_space *space, uint64_t begin, uint64_t end, uint64_t turn)
{
    size_t kept = 0;
    for (size_t i = 0; i < space->count; i++) {
        const struct record *r = &space->record[i];
        bool inside = r->a.address < end && r->end > begin;
        if (r->a.freed && (inside || r->turn <= turn)) {
            space->freed--;
        } else {
            space->record[kept++] = *r;
        }
    }
    space->count = kept;
}

static uint64_t start_of(uint64_t from, uint64_t bytes)
{
    return round_up(from, bytes >= LARGE ? PAGE : ALIGN);
}

static uint64_t end_of(uint64_t address, uint64_t bytes)
{
    uint64_t end = address + bytes;
    return bytes >= LARGE ? round_up(end, PAGE) + PAGE : round_up(end, ALIGN) + GAP;
}

static uint64_t take_fresh(struct arena *a, uint64_t bytes)
{
    uint64_t address = start_of(a->fresh, bytes);
    uint64_t end = end_of(address, bytes);
    if (end > a->end) {
        return 0;
    }
    a->fresh = end;
    return address;
}

/* The first range between live allocations that is large enough; 0: there is none. */
static uint64_t gap_of(const struct em_space *space,
                       const struct arena *a,
                       uint64_t bytes)
{
    uint64_t from = a->begin;
    for (size_t i = 0; i < space->count; i++) {
        const struct record *r = &space->record[i];
        if (r->a.freed || r->a.address < a->begin || r->a.address >= a->end) {
            continue;
        }
        uint64_t start = start_of(from, bytes);
        if (end_of(start, bytes) <= r->a.address) {
            return start;
        }
        from = r->end;
    }
    uint64_t start = start_of(from, bytes);
    return end_of(start, bytes) <= a->fresh ? start : 0;
}

/* Whole pages are dropped, what is left at both ends is overwritten. */
static void make_zero(uint64_t address, uint64_t bytes)
{
    uint64_t end = address + bytes;
    uint64_t first = round_up(address, PAGE);
    uint64_t last = end / PAGE * PAGE;
    if (first >= last) {
        memset(host(address), 0, bytes);
        return;
    }
    memset(host(address), 0, first - address);
    (void)madvise(host(first), last - first, MADV_DONTNEED);
    memset(host(last), 0, end - last);
}

static uint64_t take_freed(struct em_space *space,
                           const struct arena *a,
                           uint64_t bytes)
{
    uint64_t address = gap_of(space, a, bytes);
    if (address) {
        forget(space, address, end_of(address, bytes), 0);
        make_zero(address, bytes);
    }
    return address;
}

static uint64_t find_room(struct em_space *space, uint64_t bytes)
{
    uint64_t address = 0;
    for (unsigned i = space->arenas; i-- > 0 && !address;) {
        address = take_fresh(&space->arena[i], bytes);
    }
    for (unsigned i = 0; i < space->arenas && !address; i++) {
        address = take_freed(space, &space->arena[i], bytes);
    }
    if (!address) {
        struct arena *a = add_arena(space, bytes + 3 * PAGE);
        address = a ? take_fresh(a, bytes) : 0;
    }
    return address;
}

static bool counted(const struct em_allocation *a)
{
    return a->device >= 0 && a->kind != EM_MEMORY_HOST && a->kind != EM_MEMORY_FOREIGN;
}

static uint64_t free_bytes(const struct em_space *space)
{
    uint64_t most = space->arenas < MAX_ARENAS && !space->arenas ? ARENA_BYTES : 0;
    for (unsigned i = 0; i < space->arenas; i++) {
        uint64_t left = space->arena[i].end - space->arena[i].fresh;
        most = left > most ? left : most;
    }
    return most;
}

enum wf_status em_space_alloc(struct em_space *space,
                              int device,
                              enum em_memory_kind kind,
                              uint64_t bytes,
                              uint64_t *ret_address,
                              struct wf_error *err)
{
    if (bytes == 0 || device < -1 || device >= MAX_DEVICES ||
        kind == EM_MEMORY_FOREIGN) {
        return wf_errorf(err, WF_EINVAL, "allocation of %" PRIu64 " bytes on device %d",
                         bytes, device);
    }
    enum wf_status status = WF_OK;
    (void)pthread_rwlock_wrlock(&space->lock);
    uint64_t address = bytes < (UINT64_C(1) << 47) ? find_room(space, bytes) : 0;
    if (!address) {
        status = wf_errorf(err, WF_ENOMEM,
                           "%" PRIu64 " bytes do not fit: %" PRIu64
                           " bytes of address space are free in one piece",
                           bytes, free_bytes(space));
        goto out;
    }
    struct record r = { .a = { .address = address,
                               .bytes = bytes,
                               .device = device,
                               .kind = kind,
                               .serial = space->serial + 1 },
                        .end = end_of(address, bytes) };
    status = insert(space, &r, err);
    if (status != WF_OK) {
        goto out;
    }
    space->serial++;
    if (counted(&r.a)) {
        atomic_fetch_add(&space->used[device], bytes);
    }
    *ret_address = address;
out:
    (void)pthread_rwlock_unlock(&space->lock);
    return status;
}

/* A live record that shares a byte with [begin, end). */
static const struct record *overlapping(const struct em_space *space,
                                        uint64_t begin,
                                        uint64_t end)
{
    for (size_t i = records_up_to(space, end - 1); i-- > 0;) {
        const struct record *r = &space->record[i];
        if (!r->a.freed) {
            return r->a.address + r->a.bytes > begin ? r : NULL;
        }
    }
    return NULL;
}

enum wf_status em_space_register(struct em_space *space,
                                 void *memory,
                                 uint64_t bytes,
                                 struct wf_error *err)
{
    uint64_t address = (uint64_t)(uintptr_t)memory;
    if (!memory || bytes == 0 || address + bytes < address) {
        return wf_errorf(err, WF_EINVAL, "%" PRIu64 " bytes at %p cannot be registered",
                         bytes, memory);
    }
    (void)pthread_rwlock_wrlock(&space->lock);
    enum wf_status status;
    const struct record *other = overlapping(space, address, address + bytes);
    if (other) {
        status =
            wf_errorf(err, WF_EINVAL,
                      "%" PRIu64 " bytes at 0x%" PRIx64 " overlap allocation #%" PRIu32,
                      bytes, address, other->a.serial);
        goto out;
    }
    forget(space, address, address + bytes, 0);
    struct record r = { .a = { .address = address,
                               .bytes = bytes,
                               .device = -1,
                               .kind = EM_MEMORY_FOREIGN,
                               .serial = space->serial + 1 },
                        .end = address + bytes };
    status = insert(space, &r, err);
    space->serial += status == WF_OK;
out:
    (void)pthread_rwlock_unlock(&space->lock);
    return status;
}

/* The pages that hold nothing else go back to the system. */
static void give_back(const struct record *r)
{
    uint64_t begin = round_up(r->a.address, PAGE);
    uint64_t end = r->a.address + r->a.bytes;
    end = r->a.bytes >= LARGE ? round_up(end, PAGE) : end / PAGE * PAGE;
    if (begin < end) {
        (void)madvise(host(begin), end - begin, MADV_DONTNEED);
    }
}

static void carry_out_free(struct em_space *space, struct record *r)
{
    r->doomed = false;
    r->a.freed = true;
    r->turn = ++space->turn;
    space->freed++;
    if (r->a.kind != EM_MEMORY_FOREIGN) {
        give_back(r);
    }
    if (counted(&r->a)) {
        atomic_fetch_sub(&space->used[r->a.device], r->a.bytes);
    }
}

static void limit_freed(struct em_space *space)
{
    if (space->freed > MAX_FREED) {
        forget(space, 0, 0, space->turn - MAX_FREED / 2);
    }
}

enum wf_status em_space_free(struct em_space *space,
                             uint64_t address,
                             struct wf_error *err)
{
    enum wf_status status = WF_OK;
    (void)pthread_rwlock_wrlock(&space->lock);
    size_t n = records_up_to(space, address);
    struct record *r = n ? &space->record[n - 1] : NULL;
    if (!r || r->a.address != address) {
        status = wf_errorf(err, WF_EINVAL,
                           "0x%" PRIx64 " is not the start of an allocation", address);
    } else if (r->a.freed || r->doomed) {
        status = wf_errorf(err, WF_EINVAL,
                           "allocation #%" PRIu32 " at 0x%" PRIx64 " is freed already",
                           r->a.serial, address);
    } else if (space->held) {
        r->doomed = true;
    } else {
        carry_out_free(space, r);
        limit_freed(space);
    }
    (void)pthread_rwlock_unlock(&space->lock);
    return status;
}

void em_space_set_read_only(struct em_space *space, uint64_t address, bool read_only)
{
    (void)pthread_rwlock_wrlock(&space->lock);
    size_t n = records_up_to(space, address);
    if (n && space->record[n - 1].a.address == address) {
        space->record[n - 1].a.read_only = read_only;
    }
    (void)pthread_rwlock_unlock(&space->lock);
}

uint64_t em_space_used(const struct em_space *space, int device)
{
    return device >= 0 && device < MAX_DEVICES ? atomic_load(&space->used[device]) : 0;
}

bool em_space_find(struct em_space *space, uint64_t address, struct em_allocation *ret)
{
    (void)pthread_rwlock_rdlock(&space->lock);
    size_t n = records_up_to(space, address);
    if (n) {
        *ret = space->record[n - 1].a;
    }
    (void)pthread_rwlock_unlock(&space->lock);
    return n > 0;
}

bool em_space_find_above(struct em_space *space,
                         uint64_t address,
                         struct em_allocation *ret)
{
    (void)pthread_rwlock_rdlock(&space->lock);
    size_t n = records_up_to(space, address);
    bool found = n < space->count;
    if (found) {
        *ret = space->record[n].a;
    }
    (void)pthread_rwlock_unlock(&space->lock);
    return found;
}

void em_space_hold(struct em_space *space)
{
    (void)pthread_rwlock_wrlock(&space->lock);
    space->held++;
    (void)pthread_rwlock_unlock(&space->lock);
}

void em_space_release(struct em_space *space)
{
    (void)pthread_rwlock_wrlock(&space->lock);
    if (--space->held == 0) {
        for (size_t i = 0; i < space->count; i++) {
            if (space->record[i].doomed) {
                carry_out_free(space, &space->record[i]);
            }
        }
        limit_freed(space);
    }
    (void)pthread_rwlock_unlock(&space->lock);
}
