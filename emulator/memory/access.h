/* One memory instruction of one wave, as the checks and the counters see it. */
#ifndef WF_EMULATOR_MEMORY_ACCESS_H
#define WF_EMULATOR_MEMORY_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

/* The flat apertures, 4 GiB each, where the Linux driver puts them: a FLAT address in
 * one is a byte offset in the workgroup's LDS or in the lane's scratch. SHARED_BASE and
 * PRIVATE_BASE read as these. */
#define EM_SHARED_APERTURE  UINT64_C(0x1000000000000)
#define EM_PRIVATE_APERTURE UINT64_C(0x2000000000000)

enum em_access_kind {
    EM_READ,
    EM_WRITE,
    EM_ATOMIC
};

struct em_access {
    uint64_t lanes;          /* that take part */
    const uint64_t *address; /* [64]; LDS: byte offsets in the workgroup's LDS */
    unsigned bytes;          /* of each lane */
    enum em_access_kind kind;
    /* All lanes take part and lane i's address is address[0] + i * bytes. */
    bool contiguous;
    /* EM_WRITE: what lane i will write, at data + i * stride (before it is written, so
     * that a write of the value that is there already can be told); else NULL. */
    const uint8_t *data;
    unsigned stride;
    /* What a store or an atomic takes from registers, dword by dword of a lane: the
     * lanes in which it was written; NULL: all. */
    const uint64_t *written;
};

#endif
