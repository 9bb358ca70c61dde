/* What is known of a wave's registers besides their values: written or not, lane by
 * lane, and whether a load of them is still on its way. Values that were never written
 * may be moved and computed with (compilers do); using one as an address, in a branch,
 * in EXEC or storing it to memory is the fault. */
#ifndef WF_EMULATOR_CHECK_SHADOW_H
#define WF_EMULATOR_CHECK_SHADOW_H

#include "emulator/check/fault.h"
#include "emulator/exec/wave.h"
#include "emulator/memory/access.h"

/* Which counter an outstanding operation holds. */
enum em_counter {
    EM_VMCNT = 1,
    EM_LGKM_LDS = 2,  /* in order */
    EM_LGKM_SMEM = 4, /* in any order */
    EM_FLAT_BOTH = EM_VMCNT | EM_LGKM_LDS
};

struct em_outstanding {
    uint8_t counter; /* those it still holds */
    uint32_t pc;
    struct em_span written; /* count 0: a store */
    /* A load to LDS: the bytes that it will write. */
    uint32_t lds_begin, lds_end;
    uint32_t lds_time; /* of an LDS write: the wave's time then; else 0 */
};

enum {
    EM_OUTSTANDING = 256 /* more than the counters hold: older ones are done then */
};

struct em_shadow {
    uint64_t v[EM_ROWS]; /* bit a lane: was written */
    uint64_t s[2];       /* bit a scalar: was written */
    bool scc;
    /* Of a pair of scalars that counts as unwritten: the lanes of which it, as a mask
     * that a vector instruction gave, was written. */
    uint64_t mask[EM_SCALARS / 2];
    /* Bit a register: a load is on its way. A word more than the registers need, so
     * that eight bytes may be read at any register's byte. */
    uint64_t v_pending[EM_ROWS / 64 + 1];
    uint64_t s_pending[EM_SCALARS / 64 + 1];
    unsigned outstanding;                        /* entries in use */
    struct em_outstanding entry[EM_OUTSTANDING]; /* oldest first */
    /* Where an unwritten value in a VGPR came from: pc of the LDS read + 1, else 0. */
    uint32_t origin[EM_ROWS];
};

struct em_shadow *em_shadow_create(void); /* nothing written, nothing pending */
void em_shadow_destroy(struct em_shadow *shadow);

/* Lanes of which all dwords of the operand were written: a scalar or a constant gives
 * all lanes or none. */
static inline uint64_t em_shadow_get(const struct em_shadow *s, struct em_operand o)
{
    uint64_t lanes = ~UINT64_C(0);
    if (em_is_vector(o.code)) {
        for (unsigned i = 0; i < o.dwords; i++) {
            lanes &= s->v[o.code - EM_VGPR0 + i];
        }
    } else if (o.code < EM_SCALARS) {
        for (unsigned i = 0; i < o.dwords; i++) {
            unsigned r = o.code + i;
            lanes &= 0 - (s->s[r / 64] >> (r % 64) & 1);
        }
    }
    return lanes;
}
/* Vector destination: in `lanes`, written becomes `written`. */
static inline void em_shadow_set(struct em_shadow *s,
                                 struct em_operand o,
                                 uint64_t lanes,
                                 uint64_t written)
{
    for (unsigned i = 0; i < o.dwords; i++) {
        uint64_t *v = &s->v[o.code - EM_VGPR0 + i];
        *v = (*v & ~lanes) | (written & lanes);
    }
}
static inline void em_shadow_set_scalar(struct em_shadow *s,
                                        unsigned code,
                                        unsigned dwords,
                                        bool written)
{
    for (unsigned r = code; r < code + dwords && r < EM_SCALARS; r++) {
        uint64_t bit = UINT64_C(1) << (r % 64);
        s->s[r / 64] = written ? s->s[r / 64] | bit : s->s[r / 64] & ~bit;
        if (!written) {
            s->mask[r / 2] = 0;
        }
    }
}
/* A mask of lanes in two scalars: which of its bits were written. */
static inline uint64_t em_shadow_get_mask(const struct em_shadow *s, unsigned code)
{
    struct em_operand o = { .code = (uint16_t)code, .dwords = 2 };
    return em_shadow_get(s, o) | (code < EM_SCALARS ? s->mask[code / 2] : 0);
}
static inline void em_shadow_set_mask(struct em_shadow *s,
                                      unsigned code,
                                      uint64_t written)
{
    em_shadow_set_scalar(s, code, 2, ~written == 0);
    if (~written && code < EM_SCALARS) {
        s->mask[code / 2] = written;
    }
}

/* EM_GO, or the fault that `operand` (in `lanes` of a vector) was never written.
 * `use`: "address", "stored value", "branch condition". */
enum em_flow em_shadow_use(struct em_wave *w,
                           const struct em_op *op,
                           struct em_operand operand,
                           uint64_t lanes,
                           const char *use);

/* An operation was issued: its destination is pending (and written, lane by lane, by
 * the caller). lds_begin == lds_end: none. */
void em_shadow_issue(struct em_wave *w,
                     const struct em_op *op,
                     unsigned counter,
                     struct em_span written,
                     uint32_t lds_begin,
                     uint32_t lds_end);
/* s_waitcnt: at most that many are left; UINT_MAX: no wait on that counter. */
void em_shadow_wait(struct em_wave *w, unsigned vm, unsigned lgkm);
/* Called by the run loop before an instruction while anything is outstanding: the fault
 * that it touches a pending register, else EM_GO. */
enum em_flow em_shadow_pending(struct em_wave *w, const struct em_op *op);

#endif
