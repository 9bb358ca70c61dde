/* LDS as the checks see it: what race_lds.c, race_time.c and shadow.c know of each
 * other.
 *
 * Every dword of LDS has a tag of its last writer and one of its last readers:
 *
 *     0 | time (10 bits) | atomic | bytes (4 bits) | waves (16 bits) */
#ifndef WF_EMULATOR_CHECK_RACE_LDS_H
#define WF_EMULATOR_CHECK_RACE_LDS_H

#include "emulator/check/race.h"
#include "emulator/launch/group.h"

#include <immintrin.h>

enum {
    EM_LDS_WAVES = 0xffff,
    EM_LDS_BYTES_SHIFT = 16,
    EM_LDS_BYTES = 0xf << EM_LDS_BYTES_SHIFT,
    EM_LDS_ATOMIC = 1 << 20,
    EM_LDS_TIME_SHIFT = 21,
    EM_LDS_MAX_TIME = 1000,
    EM_LDS_PENDING_TIME = 1023,
    /* A direct load of the dword is outstanding: newer than any time, all waves. */
    EM_LDS_PENDING =
        EM_LDS_PENDING_TIME << EM_LDS_TIME_SHIFT | EM_LDS_BYTES | EM_LDS_WAVES,
    EM_LDS_PAD = 8 /* dwords behind the last that a vector may read */
};

struct em_lds_shadow {
    uint32_t bytes, dwords;
    uint32_t base_w, base_r; /* tags of these times are ordered before everything */
    uint32_t epoch;          /* the workgroup's, as last seen */
    unsigned pending;        /* direct loads */
    uint32_t time[EM_MAX_WAVES];
    uint32_t done[EM_MAX_WAVES]; /* writes of up to this time were waited for */
    bool used[EM_MAX_WAVES];     /* the wave accessed LDS at its time */
    uint32_t known_w[EM_MAX_WAVES][EM_MAX_WAVES];
    uint32_t known_r[EM_MAX_WAVES][EM_MAX_WAVES];
    uint32_t sync[EM_MAX_WAVES]; /* what the last atomic knew of each wave */
    uint32_t *writer, *reader;
    uint32_t *writer_pc, *reader_pc;
    uint8_t *written; /* a bit a byte of the dword */
};

/* An access, prepared. */
struct em_lds_access {
    struct em_lds_shadow *s;
    struct em_wave *w;
    const struct em_access *access;
    const uint8_t *data;       /* of a write that may be silent */
    const uint8_t *loaded;     /* of a direct load */
    uint32_t self;             /* the wave's bit */
    uint32_t high;             /* its time, placed */
    uint32_t limit_w, limit_r; /* tags above are unsettled */
    uint32_t pc;
    uint64_t *ret_written;
};

/* race_lds_like.c: a load of 4, 8 or 16 bytes a lane, whose tags are alike.
 * False: nothing is said, and lanes have to be looked at one by one. */
bool em_race_lds_like(const struct em_lds_access *a);

/* An LDS atomic: orders the wave behind all atomics so far, and those to come behind
 * it. */
void em_race_lds_synchronise(struct em_lds_shadow *s, unsigned id);
/* The time of the wave's LDS accesses; 0: there are no checks. */
uint32_t em_race_lds_time(struct em_wave *w);
/* The wave has issued a write: what it writes from now on is told apart from it. */
void em_race_lds_issued(struct em_wave *w);
/* The wave's LDS write of that time was waited for. */
void em_race_lds_done(struct em_wave *w, uint32_t time);
/* Takes note of barriers that the workgroup passed: before what is outstanding changes,
 * since a barrier does not order a write that was not waited for. */
void em_race_lds_barriers(struct em_wave *w);

/* n (1, 2 or 4) dwords. */
static inline __m128i em_lds_load_n(const void *from, unsigned n)
{
    switch (n) {
    case 1:
        return _mm_loadu_si32(from);
    case 2:
        return _mm_loadl_epi64(from);
    default:
        return _mm_loadu_si128(from);
    }
}

static inline void em_lds_store_n(void *to, __m128i value, unsigned n)
{
    switch (n) {
    case 1:
        _mm_storeu_si32(to, value);
        break;
    case 2:
        _mm_storel_epi64(to, value);
        break;
    default:
        _mm_storeu_si128(to, value);
        break;
    }
}

#endif
