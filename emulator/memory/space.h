/* The devices' address space: allocations with exact bounds, addresses that are also
 * the host's, and pages that cost nothing until they are touched. */
#ifndef WF_EMULATOR_MEMORY_SPACE_H
#define WF_EMULATOR_MEMORY_SPACE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct em_space; /* opaque */

enum em_memory_kind {
    EM_MEMORY_DEVICE,
    EM_MEMORY_HOST,   /* hipHostMalloc, managed: reachable from all devices */
    EM_MEMORY_CODE,   /* a loaded image; kernel arguments */
    EM_MEMORY_FOREIGN /* hipHostRegister: the caller's own memory */
};

struct em_allocation {
    uint64_t address;
    uint64_t bytes; /* as asked for */
    int device;
    enum em_memory_kind kind;
    bool freed;
    bool read_only;  /* to kernels */
    uint32_t serial; /* 1, 2, ... in the order of allocation */
};

enum wf_status em_space_create(struct em_space **ret, struct wf_error *err);
void em_space_destroy(struct em_space *space);

/* ENOMEM names what was asked for and what is free. Memory reads as 0. */
enum wf_status em_space_alloc(struct em_space *space,
                              int device,
                              enum em_memory_kind kind,
                              uint64_t bytes,
                              uint64_t *ret_address,
                              struct wf_error *err);
enum wf_status em_space_register(struct em_space *space,
                                 void *memory,
                                 uint64_t bytes,
                                 struct wf_error *err);
/* EINVAL unless `address` is the start of a live allocation. The range is not given out
 * again for a long while, so that a use after it is seen. */
enum wf_status em_space_free(struct em_space *space,
                             uint64_t address,
                             struct wf_error *err);
void em_space_set_read_only(struct em_space *space, uint64_t address, bool read_only);
uint64_t em_space_used(const struct em_space *space, int device);

/* The allocation, live or freed, that holds `address`, else the nearest one below it;
 * false where there is none. */
bool em_space_find(struct em_space *space, uint64_t address, struct em_allocation *ret);
/* The allocation with the lowest address above `address`. */
bool em_space_find_above(struct em_space *space,
                         uint64_t address,
                         struct em_allocation *ret);
/* What is at [address, address + bytes), in words: "4 bytes at 0x... are 16 bytes
 * behind the end of allocation #3 (4096 bytes at 0x..., device 0)". Always terminated.
 */
void em_space_explain(struct em_space *space,
                      uint64_t address,
                      uint64_t bytes,
                      char *text,
                      size_t size);
/* Whether all of [address, address + bytes) is inside one live allocation. */
bool em_space_covers(struct em_space *space, uint64_t address, uint64_t bytes);

/* The next run of touched pages at or behind `address`, before `end`: false at the end.
 * Of an allocation of 100 GiB with three touched pages it gives three runs at most. */
bool em_space_touched(struct em_space *space,
                      uint64_t address,
                      uint64_t end,
                      uint64_t *ret_begin,
                      uint64_t *ret_end);

/* What the races of global memory (check/race.h) are found with, between launches: the
 * launch that takes it has it alone; NULL: there is none. What is left is the space's,
 * which calls `destroy` in the end. */
struct em_global_shadow;
struct em_global_shadow *em_space_take_shadow(struct em_space *space);
void em_space_leave_shadow(struct em_space *space,
                           struct em_global_shadow *shadow,
                           void (*destroy)(struct em_global_shadow *));

/* A wave's or thread's view: remembers the allocations that it used last, so that a
 * check is a few compares. Valid while no allocation is freed: launches hold the space.
 */
struct em_view {
    struct em_space *space;
    uint64_t begin[4], end[4]; /* [begin, end): live allocations used last */
    bool read_only[4];
    unsigned turn;
};
bool em_view_covers(struct em_view *view, uint64_t address, uint64_t bytes);
/* As em_view_covers, and not read-only. */
bool em_view_writable(struct em_view *view, uint64_t address, uint64_t bytes);
/* Frees are put off while a launch holds the space. */
void em_space_hold(struct em_space *space);
void em_space_release(struct em_space *space);

#endif
