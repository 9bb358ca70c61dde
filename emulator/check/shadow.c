/* Unwritten registers, and registers whose load is still on its way.
 *
 * The outstanding operations of a wave are kept oldest first. vmcnt counts loads,
 * stores and atomics of global memory in order; lgkmcnt counts LDS in order and scalar
 * loads in any order, so that a wait for lgkmcnt(n) says only that n LDS operations at
 * most are left, and nothing about scalar loads unless n is 0. A FLAT operation holds
 * both counters and is done when both say so. The hardware does not issue beyond what
 * its counters hold: older operations are done then. */
#include "emulator/check/shadow.h"

#include "core/buf.h"
#include "emulator/check/race_lds.h"
#include "emulator/exec/code.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_VMCNT = 63,
    MAX_LGKMCNT = 15
};

struct em_shadow *em_shadow_create(void)
{
    return wf_calloc(1, sizeof(struct em_shadow));
}

void em_shadow_destroy(struct em_shadow *shadow)
{
    free(shadow);
}

/* "v12", "a3", "s4", "vcc_lo": the register of an operand's code. */
static const char *register_name(unsigned code, char text[16])
{
    static const struct {
        unsigned code;
        const char *name;
    } special[] = { { EM_FLAT_SCRATCH, "flat_scratch_lo" },
                    { EM_FLAT_SCRATCH + 1, "flat_scratch_hi" },
                    { EM_VCC, "vcc_lo" },
                    { EM_VCC + 1, "vcc_hi" },
                    { EM_M0, "m0" },
                    { EM_EXEC, "exec_lo" },
                    { EM_EXEC + 1, "exec_hi" },
                    { EM_SCC, "scc" } };
    for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
        if (special[i].code == code) {
            return special[i].name;
        }
    }
    char kind = code >= EM_AGPR0 ? 'a' : code >= EM_VGPR0 ? 'v' : 's';
    unsigned base = code >= EM_AGPR0 ? EM_AGPR0 : code >= EM_VGPR0 ? EM_VGPR0 : 0;
    (void)snprintf(text, 16, "%c%u", kind, code - base);
    return text;
}

/* The first register of the operand that lacks one of `lanes`, and which lane. */
static unsigned first_unwritten(const struct em_shadow *s,
                                struct em_operand o,
                                uint64_t lanes,
                                int *ret_lane)
{
    for (unsigned i = 0; i < o.dwords; i++) {
        struct em_operand one = { .code = (uint16_t)(o.code + i), .dwords = 1 };
        uint64_t missing = lanes & ~em_shadow_get(s, one);
        if (missing) {
            *ret_lane = em_is_vector(o.code) ? __builtin_ctzll(missing) : -1;
            return o.code + i;
        }
    }
    *ret_lane = -1;
    return o.code;
}

enum em_flow em_shadow_use(struct em_wave *w,
                           const struct em_op *op,
                           struct em_operand operand,
                           uint64_t lanes,
                           const char *use)
{
    const struct em_shadow *s = w->shadow;
    if (operand.code == EM_SCC) {
        return s->scc ? EM_GO
                      : em_fault(w, op, EM_FAULT_UNINITIALISED, -1, NULL,
                                 "scc, used as %s, was never written", use);
    }
    if ((lanes & ~em_shadow_get(s, operand)) == 0) {
        return EM_GO;
    }
    char name[16];
    int lane;
    unsigned code = first_unwritten(s, operand, lanes, &lane);
    uint32_t origin = em_is_vector((uint16_t)code) ? s->origin[code - EM_VGPR0] : 0;
    enum em_flow flow = em_fault(w, op, EM_FAULT_UNINITIALISED, lane, NULL,
                                 "%s, used as %s, %s", register_name(code, name), use,
                                 origin ? "was read from LDS that was never written"
                                        : "was never written");
    struct em_fault *fault = em_wave_fault(w);
    if (origin && fault) {
        fault->other_pc = origin - 1;
        fault->other_wave = w->id;
    }
    return flow;
}

static void mark(struct em_shadow *s, struct em_span span, bool pending)
{
    for (unsigned i = 0; i < span.count; i++) {
        unsigned r = span.first + i;
        uint64_t *words = r >= EM_VGPR0 ? s->v_pending : s->s_pending;
        unsigned limit = r >= EM_VGPR0 ? EM_ROWS : EM_SCALARS;
        r -= r >= EM_VGPR0 ? EM_VGPR0 : 0;
        if (r < limit) {
            uint64_t bit = UINT64_C(1) << (r % 64);
            words[r / 64] = pending ? words[r / 64] | bit : words[r / 64] & ~bit;
        }
    }
}

/* Drops the entries that hold no counter any more. A register that a later load writes
 * too stays pending. */
static void retire(struct em_wave *w)
{
    struct em_shadow *s = w->shadow;
    unsigned kept = 0;
    for (unsigned i = 0; i < s->outstanding; i++) {
        const struct em_outstanding *e = &s->entry[i];
        if (e->counter != 0) {
            s->entry[kept++] = *e;
            continue;
        }
        mark(s, e->written, false);
        if (e->lds_time) {
            em_race_lds_done(w, e->lds_time);
        }
        if (e->lds_begin < e->lds_end) {
            em_race_lds_pending(w, e->lds_begin, e->lds_end, false);
        }
    }
    s->outstanding = kept;
    for (unsigned i = 0; i < kept; i++) {
        mark(s, s->entry[i].written, true);
    }
}

static unsigned holding(const struct em_shadow *s, unsigned counter)
{
    unsigned n = 0;
    for (unsigned i = 0; i < s->outstanding; i++) {
        n += (s->entry[i].counter & counter) != 0;
    }
    return n;
}

/* Takes `counter` from the oldest ones until `left` hold it; whether any is done now.
 */
static bool release(struct em_shadow *s, unsigned counter, unsigned left)
{
    bool done = false;
    unsigned n = holding(s, counter);
    for (unsigned i = 0; n > left; i++) {
        struct em_outstanding *e = &s->entry[i];
        if (e->counter & counter) {
            e->counter &= (uint8_t)~counter;
            done = done || e->counter == 0;
            n--;
        }
    }
    return done;
}

void em_shadow_issue(struct em_wave *w,
                     const struct em_op *op,
                     unsigned counter,
                     struct em_span written,
                     uint32_t lds_begin,
                     uint32_t lds_end)
{
    struct em_shadow *s = w->shadow;
    bool done = false;
    em_race_lds_barriers(w);
    if (counter & EM_VMCNT) {
        done = release(s, EM_VMCNT, MAX_VMCNT - 1);
    }
    if (counter & EM_LGKM_LDS) {
        done = release(s, EM_LGKM_LDS, MAX_LGKMCNT - 1) || done;
    }
    if (s->outstanding == EM_OUTSTANDING) {
        s->entry[0].counter = 0;
        done = true;
    }
    if (done) {
        retire(w);
    }
    s->entry[s->outstanding++] = (struct em_outstanding){
        .counter = (uint8_t)counter,
        .pc = op->index,
        .written = written,
        .lds_begin = lds_begin,
        .lds_end = lds_end,
        .lds_time =
            op->class == EM_CLASS_LDS && written.count == 0 ? em_race_lds_time(w) : 0,
    };
    if (s->entry[s->outstanding - 1].lds_time) {
        em_race_lds_issued(w);
    }
    mark(s, written, true);
    if (lds_begin < lds_end) {
        em_race_lds_pending(w, lds_begin, lds_end, true);
    }
}

void em_shadow_wait(struct em_wave *w, unsigned vm, unsigned lgkm)
{
    struct em_shadow *s = w->shadow;
    bool done = false;
    if (s->outstanding == 0) {
        return;
    }
    em_race_lds_barriers(w);
    if (vm != UINT_MAX) {
        done = release(s, EM_VMCNT, vm);
    }
    if (lgkm != UINT_MAX) {
        done = release(s, EM_LGKM_LDS, lgkm) || done;
    }
    if (lgkm == 0) {
        done = release(s, EM_LGKM_SMEM, 0) || done;
    }
    if (done) {
        retire(w);
    }
}

/* The pending registers of a span, bit i: first + i. Eight bytes hold a span of up to
 * 57 registers; none is longer. */
static inline uint64_t pending_bits(const struct em_shadow *s, struct em_span span)
{
    const uint64_t *words = s->s_pending;
    unsigned r = span.first;
    if (r >= EM_VGPR0) {
        words = s->v_pending;
        r -= EM_VGPR0;
        if (r >= EM_ROWS) {
            return 0;
        }
    } else if (r >= EM_SCALARS) {
        return 0;
    }
    uint64_t bits;
    memcpy(&bits, (const uint8_t *)words + r / 8, sizeof(bits));
    return bits >> (r % 8) & ((UINT64_C(1) << (span.count & 63)) - 1);
}

/* The counters that the instruction will hold; 0: it is no memory operation. */
static unsigned own_counter(const struct em_op *op)
{
    switch (op->class) {
    case EM_CLASS_SMEM:
        return EM_LGKM_SMEM;
    case EM_CLASS_LDS:
        return EM_LGKM_LDS;
    case EM_CLASS_VMEM_LOAD:
    case EM_CLASS_VMEM_ATOMIC:
        return op->in.encoding == EM_FLAT ? EM_FLAT_BOTH : EM_VMCNT;
    default:
        return 0;
    }
}

/* The youngest outstanding operation that writes the register. */
static const struct em_outstanding *writer_of(const struct em_shadow *s, unsigned code)
{
    for (unsigned i = s->outstanding; i-- > 0;) {
        const struct em_outstanding *e = &s->entry[i];
        if (code - e->written.first < e->written.count) {
            return e;
        }
    }
    return NULL;
}

static enum em_flow missing_wait(struct em_wave *w,
                                 const struct em_op *op,
                                 unsigned code,
                                 const char *does)
{
    const struct em_outstanding *e = writer_of(w->shadow, code);
    char name[16];
    char load[96] = "";
    if (e && w->code) {
        (void)em_print(&em_code_at(w->code, e->pc)->in, load, sizeof(load));
    }
    enum em_flow flow =
        em_fault(w, op, EM_FAULT_MISSING_WAIT, -1, NULL,
                 "%s is %s while its load is outstanding: %s at dword %u",
                 register_name(code, name), does, load, e ? e->pc : 0);
    struct em_fault *fault = em_wave_fault(w);
    if (e && fault) {
        fault->other_pc = e->pc;
        fault->other_wave = w->id;
    }
    return flow;
}

/* Whether all pending writers of the span's `bits` return before the instruction's own
 * result, which then overwrites theirs. */
static bool in_order(const struct em_shadow *s,
                     const struct em_op *op,
                     struct em_span span,
                     uint64_t bits)
{
    unsigned own = own_counter(op);
    if (own == 0 || own == EM_LGKM_SMEM) {
        return false;
    }
    for (; bits; bits &= bits - 1) {
        const struct em_outstanding *e =
            writer_of(s, span.first + (unsigned)__builtin_ctzll(bits));
        if (!e || (e->counter & ~own) != 0) {
            return false;
        }
    }
    return true;
}

/* A load that keeps half of its destination names it as a source; the hardware merges
 * when the data returns, so that this is a write and no read. */
static bool is_merge(const struct em_op *op, struct em_span span)
{
    if (op->writes == 0 || op->written[0].first != span.first ||
        op->written[0].count != span.count) {
        return false;
    }
    for (unsigned i = 0; i < 4; i++) {
        if (op->in.src[i].code == span.first) {
            return false;
        }
    }
    return true;
}

enum em_flow em_shadow_pending(struct em_wave *w, const struct em_op *op)
{
    const struct em_shadow *s = w->shadow;
    for (unsigned i = 0; i < op->reads; i++) {
        uint64_t bits = pending_bits(s, op->read[i]);
        if (bits &&
            !(is_merge(op, op->read[i]) && in_order(s, op, op->read[i], bits))) {
            return missing_wait(
                w, op, op->read[i].first + (unsigned)__builtin_ctzll(bits), "read");
        }
    }
    for (unsigned i = 0; i < op->writes; i++) {
        uint64_t bits = pending_bits(s, op->written[i]);
        if (bits && !in_order(s, op, op->written[i], bits)) {
            return missing_wait(w, op,
                                op->written[i].first + (unsigned)__builtin_ctzll(bits),
                                "overwritten");
        }
    }
    return EM_GO;
}
