/* An access of a wave to one memory: bounds (for the wave at once, lane by lane only
 * when that fails), alignment, checks, counters, and the access itself.
 *
 * Alignment: the Linux driver runs gfx9 in unaligned mode, in which loads and stores of
 * any width may start at any byte, in LDS too. Atomics must be naturally aligned. */
#include "emulator/memory/target.h"

#include "emulator/check/race.h"
#include "emulator/check/shadow.h"
#include "emulator/count/count.h"
#include "emulator/launch/group.h"

#include <inttypes.h>

struct em_operand em_loaded(const struct em_op *op)
{
    return op->in.dst.code != EM_NONE ? op->in.dst : op->in.src[1];
}

void em_target_order(struct em_target *t, unsigned bytes)
{
    t->contiguous = false;
    if (t->lanes != UINT64_MAX ||
        t->address[EM_LANES - 1] - t->address[0] != (uint64_t)(EM_LANES - 1) * bytes) {
        return;
    }
    uint64_t differs = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        differs |= t->address[i] ^ (t->address[0] + (uint64_t)i * bytes);
    }
    t->contiguous = differs == 0;
}

/* Lowest and highest address of the lanes that take part. */
static void range(const struct em_target *t, uint64_t *ret_low, uint64_t *ret_high)
{
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    if (t->contiguous) {
        low = t->address[0];
        high = t->address[EM_LANES - 1];
    } else if (t->lanes == UINT64_MAX) {
        for (unsigned i = 0; i < EM_LANES; i++) {
            low = t->address[i] < low ? t->address[i] : low;
            high = t->address[i] > high ? t->address[i] : high;
        }
    } else {
        uint64_t first = t->address[__builtin_ctzll(t->lanes)];
        for (unsigned i = 0; i < EM_LANES; i++) {
            uint64_t address = t->lanes >> i & 1 ? t->address[i] : first;
            low = address < low ? address : low;
            high = address > high ? address : high;
        }
    }
    *ret_low = low;
    *ret_high = high;
}

static bool writes(const struct em_memory_rule *rule)
{
    return rule->what == EM_MEM_STORE || rule->what == EM_MEM_ATOMIC ||
           rule->what == EM_MEM_STORE_FORMAT;
}

static enum em_flow check_global(struct em_wave *w,
                                 const struct em_op *op,
                                 const struct em_memory_rule *rule,
                                 const struct em_target *t)
{
    struct em_view *view = &w->group->view;
    bool (*good)(struct em_view *, uint64_t, uint64_t) =
        writes(rule) ? em_view_writable : em_view_covers;
    uint64_t low;
    uint64_t high;
    range(t, &low, &high);
    if (high - low < UINT64_MAX - rule->bytes &&
        good(view, low, high - low + rule->bytes)) {
        return EM_GO;
    }
    for (uint64_t left = t->lanes; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(left);
        if (!good(view, t->address[lane], rule->bytes)) {
            return em_memory_fault(w, op, (int)lane, t->address[lane], rule->bytes,
                                   writes(rule));
        }
    }
    return EM_GO;
}

static enum em_flow check_local(struct em_wave *w,
                                const struct em_op *op,
                                const struct em_memory_rule *rule,
                                const struct em_target *t)
{
    bool lds = t->where == EM_IN_LDS;
    uint64_t size = lds ? w->group->lds_bytes : w->scratch_bytes;
    uint64_t low;
    uint64_t high;
    range(t, &low, &high);
    if (high + rule->bytes <= size) {
        return EM_GO;
    }
    unsigned lane = 0;
    for (uint64_t left = t->lanes; left; left &= left - 1) {
        lane = (unsigned)__builtin_ctzll(left);
        if (t->address[lane] + rule->bytes > size) {
            break;
        }
    }
    return em_fault(w, op,
                    lds ? EM_FAULT_LDS_OUT_OF_BOUNDS : EM_FAULT_SCRATCH_OUT_OF_BOUNDS,
                    (int)lane, &t->address[lane],
                    "%u bytes at offset %" PRIu64 " of %" PRIu64 " bytes of %s",
                    rule->bytes, t->address[lane], size, lds ? "LDS" : "scratch");
}

static enum em_flow check_alignment(struct em_wave *w,
                                    const struct em_op *op,
                                    const struct em_memory_rule *rule,
                                    const struct em_target *t)
{
    uint64_t mask = rule->bytes - 1U;
    for (uint64_t left = t->lanes; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(left);
        if (t->address[lane] & mask) {
            return em_fault(w, op, EM_FAULT_MISALIGNED, (int)lane, &t->address[lane],
                            "an atomic of %u bytes at 0x%" PRIx64, rule->bytes,
                            t->address[lane]);
        }
    }
    return EM_GO;
}

/* What each lane will write, for the races. */
static void written_data(const struct em_memory_rule *rule,
                         const uint32_t *data,
                         uint8_t buffer[EM_LANES][16],
                         struct em_access *access)
{
    if (rule->dwords > 1) {
        em_move_to_lanes(data, rule->dwords, buffer);
        access->data = buffer[0];
        access->stride = 16;
    } else {
        access->data = (const uint8_t *)data + rule->shift / 8;
        access->stride = 4;
    }
}

/* Whether a DS operation takes values from registers that were never written; then
 * *ret: the lanes in which each dword of them was. */
static bool takes_unwritten(const struct em_wave *w,
                            const struct em_op *op,
                            const struct em_memory_rule *rule,
                            uint64_t lanes,
                            uint64_t ret[4])
{
    struct em_operand from = op->in.src[1];
    if (op->in.encoding != EM_DS || !em_is_vector(from.code)) {
        return false;
    }
    uint64_t all = lanes;
    for (unsigned i = 0; i < 4; i++) {
        unsigned dword = i < rule->dwords ? i : 0;
        struct em_operand one = { .code = (uint16_t)(from.code + dword), .dwords = 1 };
        ret[i] = em_shadow_get(w->shadow, one);
        all &= ret[i];
    }
    if (rule->what == EM_MEM_ATOMIC) { /* all of the result is of all of the data */
        if (em_atomic_has_other(rule->atomic)) {
            struct em_operand other = op->in.src[2];
            other.dwords = rule->dwords;
            all &= em_shadow_get(w->shadow, other);
        }
        ret[0] = ret[1] = ret[2] = ret[3] = all;
    }
    return all != lanes;
}

static enum em_flow check_race(struct em_wave *w,
                               const struct em_op *op,
                               const struct em_memory_rule *rule,
                               struct em_target *t,
                               struct em_access *access,
                               const uint32_t *data)
{
    uint8_t buffer[EM_LANES][16];
    if (access->kind == EM_WRITE && data) {
        written_data(rule, data, buffer, access);
    }
    enum em_flow flow = EM_GO;
    if (t->where == EM_IN_LDS) {
        uint64_t written[4];
        if (access->kind != EM_READ &&
            takes_unwritten(w, op, rule, access->lanes, written)) {
            access->written = written;
        }
        flow = w->group->lds_shadow ? em_race_lds(w, op, access, t->written) : EM_GO;
        access->written = NULL;
    } else if (w->group->global_shadow) {
        flow = em_race_global(w, op, access);
    }
    access->data = NULL;
    return flow;
}

static void count(struct em_wave *w,
                  const struct em_op *op,
                  const struct em_target *t,
                  const struct em_access *access)
{
    if (t->where == EM_IN_GLOBAL) {
        em_count_global(w, access);
    } else if (t->where == EM_IN_LDS) {
        em_count_lds(w, op, access);
    } else {
        em_count_scratch(w, access);
    }
}

enum em_flow em_target_check(struct em_wave *w,
                             const struct em_op *op,
                             const struct em_memory_rule *rule,
                             struct em_target *t,
                             const uint32_t *data)
{
    enum em_flow flow = t->where == EM_IN_GLOBAL ? check_global(w, op, rule, t)
                                                 : check_local(w, op, rule, t);
    if (flow == EM_GO && rule->what == EM_MEM_ATOMIC) {
        flow = check_alignment(w, op, rule, t);
    }
    if (flow != EM_GO || (!w->shadow && !w->counts)) {
        return flow;
    }
    struct em_access access = {
        .lanes = t->lanes,
        .address = t->address,
        .bytes = rule->bytes,
        .kind = rule->what == EM_MEM_ATOMIC ? EM_ATOMIC
                : writes(rule)              ? EM_WRITE
                                            : EM_READ,
        .contiguous = t->contiguous,
    };
    if (w->shadow && t->where != EM_IN_SCRATCH) {
        t->written[0] = t->written[1] = t->written[2] = t->written[3] = UINT64_MAX;
        flow = check_race(w, op, rule, t, &access, data);
    }
    if (flow == EM_GO && w->counts) {
        count(w, op, t, &access);
    }
    return flow;
}

/* Scratch offsets become offsets from the wave's scratch. */
static uint8_t *base_of(const struct em_wave *w, struct em_target *t)
{
    if (t->where == EM_IN_GLOBAL) {
        return NULL;
    }
    if (t->where == EM_IN_LDS) {
        return w->group->lds;
    }
    for (unsigned i = 0; i < EM_LANES; i++) {
        t->address[i] += (uint64_t)i * w->scratch_bytes;
    }
    t->contiguous = false;
    return w->scratch;
}

/* What was loaded counts as written, but for what LDS never had. */
static void note_loaded(struct em_wave *w,
                        const struct em_op *op,
                        const struct em_target *t,
                        struct em_operand to)
{
    if (t->where != EM_IN_LDS) {
        em_shadow_set(w->shadow, to, t->lanes, UINT64_MAX);
        return;
    }
    for (unsigned i = 0; i < to.dwords; i++) {
        struct em_operand one = { .code = (uint16_t)(to.code + i), .dwords = 1 };
        em_shadow_set(w->shadow, one, t->lanes, t->written[i & 3]);
        bool unwritten = (t->lanes & ~t->written[i & 3]) != 0;
        w->shadow->origin[one.code - EM_VGPR0] = unwritten ? op->index + 1 : 0;
    }
}

static void run_atomic(struct em_wave *w,
                       const struct em_op *op,
                       const struct em_memory_rule *rule,
                       const struct em_target *t,
                       uint8_t *base)
{
    const uint32_t *first = em_row(w, op->in.src[1].code);
    bool ds = op->in.encoding == EM_DS;
    struct em_atomic a = {
        .base = base,
        .address = t->address,
        .lanes = t->lanes,
        .data = first,
        .shared = t->where == EM_IN_GLOBAL,
        .flush = ds && (w->mode & EM_MODE_DENORM_F32) != EM_MODE_DENORM_F32,
    };
    if (em_atomic_has_other(rule->atomic)) {
        a.other = ds ? em_row(w, op->in.src[2].code)
                     : first + (size_t)rule->dwords * EM_LANES;
    }
    if (ds && em_atomic_compares(rule->atomic)) { /* the other way round there */
        a.data = a.other;
        a.other = first;
    }
    if (op->in.dst.code != EM_NONE && (ds || op->in.sc0)) {
        a.ret = em_row(w, op->in.dst.code);
        if (w->shadow) {
            struct em_operand to = op->in.dst;
            to.dwords = rule->dwords;
            note_loaded(w, op, t, to);
        }
    }
    rule->atomic(&a);
}

enum em_flow em_target_run(struct em_wave *w,
                           const struct em_op *op,
                           const struct em_memory_rule *rule,
                           struct em_target *t)
{
    bool store = rule->what == EM_MEM_STORE;
    struct em_operand to = em_loaded(op);
    uint32_t *row = em_row(w, store ? op->in.src[1].code : to.code);
    enum em_flow flow = em_target_check(w, op, rule, t, store ? row : NULL);
    if (flow != EM_GO) {
        return flow;
    }
    uint8_t *base = base_of(w, t);
    if (rule->what == EM_MEM_ATOMIC) {
        run_atomic(w, op, rule, t, base);
        return EM_GO;
    }
    struct em_move m = { .base = base,
                         .address = t->address,
                         .lanes = t->lanes,
                         .row = row,
                         .contiguous = t->contiguous };
    rule->move(&m);
    if (w->shadow && !store) {
        to.dwords = rule->dwords;
        note_loaded(w, op, t, to);
    }
    return EM_GO;
}
