/* FLAT, GLOBAL and SCRATCH: addresses of the lanes, and loads that go to LDS directly.
 *
 * GLOBAL: a 64-bit address a lane, or a 64-bit scalar base and an unsigned 32-bit
 * offset a lane; both with a signed immediate. FLAT: as GLOBAL, but addresses in the
 * two apertures are LDS and scratch. SCRATCH: 32-bit offsets in the lane's own scratch.
 */
#include "emulator/memory/vmem.h"

#include "emulator/check/race.h"
#include "emulator/check/shadow.h"
#include "emulator/count/count.h"
#include "emulator/launch/group.h"
#include "emulator/memory/rules.h"

/* EM_GO, or the fault that a register of the address, or of what is stored, was never
 * written. */
static enum em_flow check_uses(struct em_wave *w,
                               const struct em_op *op,
                               uint64_t lanes)
{
    const struct em_inst *in = &op->in;
    static const uint8_t addresses[] = { 0, 2, 3 };
    for (unsigned i = 0; i < sizeof(addresses); i++) {
        struct em_operand o = in->src[addresses[i]];
        if (o.code != EM_NONE && em_shadow_use(w, op, o, lanes, "address") != EM_GO) {
            return EM_FAULTED;
        }
    }
    static const struct em_operand m0 = { .code = EM_M0, .dwords = 1 };
    /* Compilers spill registers that were never written: scratch takes anything. */
    uint8_t what = em_rule_of(op)->what;
    if ((what == EM_MEM_LOAD_TO_LDS || in->lds) &&
        em_shadow_use(w, op, m0, lanes, "address") != EM_GO) {
        return EM_FAULTED;
    }
    bool stores = what == EM_MEM_STORE || what == EM_MEM_ATOMIC;
    bool buffer = in->encoding == EM_MUBUF || in->encoding == EM_MTBUF;
    if (stores && !buffer && in->encoding != EM_SCRATCH) {
        return em_shadow_use(w, op, in->src[1], lanes, "stored value");
    }
    return EM_GO;
}

void em_vmem_issued(struct em_wave *w, const struct em_op *op, unsigned counter)
{
    struct em_span span = { 0, 0 };
    const struct em_memory_rule *rule = em_rule_of(op);
    bool loads = rule->what == EM_MEM_LOAD || rule->what == EM_MEM_LOAD_FORMAT;
    bool returns = rule->what == EM_MEM_ATOMIC && op->in.sc0;
    if ((loads && !op->in.lds) || (returns && op->in.dst.code != EM_NONE)) {
        span.first = em_loaded(op).code;
        span.count = rule->dwords;
    }
    em_shadow_issue(w, op, counter, span, 0, 0);
}

enum em_flow em_load_to_lds(struct em_wave *w,
                            const struct em_op *op,
                            const struct em_memory_rule *rule,
                            struct em_target *t,
                            uint64_t zero)
{
    _Alignas(64) uint32_t row[EM_LANES] = { 0 };
    if (t->lanes) {
        enum em_flow flow = em_target_check(w, op, rule, t, NULL);
        if (flow != EM_GO) {
            return flow;
        }
        uint8_t *base = t->where == EM_IN_GLOBAL ? NULL : w->scratch;
        struct em_move load = { .base = base,
                                .address = t->address,
                                .lanes = t->lanes,
                                .row = row,
                                .contiguous = t->contiguous };
        for (unsigned i = 0; base && i < EM_LANES; i++) {
            t->address[i] += (uint64_t)i * w->scratch_bytes;
        }
        rule->move(&load);
    }
    static const struct em_memory_rule write = { .what = EM_MEM_STORE,
                                                 .bytes = 4,
                                                 .dwords = 1 };
    uint32_t first = (w->s[EM_M0] & 0xffff) + (uint32_t)op->in.offset;
    struct em_target to = { .lanes = t->lanes | zero, .where = EM_IN_LDS };
    for (unsigned i = 0; i < EM_LANES; i++) {
        to.address[i] = first + 4 * i;
    }
    em_target_order(&to, 4);
    enum em_flow flow = em_target_check(w, op, &write, &to, row);
    if (flow != EM_GO) {
        return flow;
    }
    struct em_move store = { .base = w->group->lds,
                             .address = to.address,
                             .lanes = to.lanes,
                             .row = row,
                             .contiguous = to.contiguous };
    em_store_x1(&store);
    if (w->shadow) {
        unsigned low = (unsigned)__builtin_ctzll(to.lanes);
        unsigned high = 63 - (unsigned)__builtin_clzll(to.lanes);
        struct em_span none = { 0, 0 };
        em_shadow_issue(w, op, EM_VMCNT, none, first + 4 * low, first + 4 * high + 4);
    }
    return EM_GO;
}

static void global_addresses(const struct em_wave *w,
                             const struct em_inst *in,
                             struct em_target *t)
{
    uint64_t base = (uint64_t)(int64_t)in->offset;
    if (in->src[2].code != EM_NONE) {
        base += em_s64(w, in->src[2].code);
        const uint32_t *offset = em_row(w, in->src[0].code);
        for (unsigned i = 0; i < EM_LANES; i++) {
            t->address[i] = base + offset[i];
        }
        return;
    }
    const uint32_t *low = em_row(w, in->src[0].code);
    const uint32_t *high = low + EM_LANES;
    for (unsigned i = 0; i < EM_LANES; i++) {
        t->address[i] = base + (low[i] | (uint64_t)high[i] << 32);
    }
}

bool em_vmem_begin(struct em_wave *w,
                   const struct em_op *op,
                   unsigned counter,
                   enum em_flow *ret)
{
    uint64_t lanes = em_exec(w);
    *ret = EM_GO;
    if (lanes == 0) {
        if (w->shadow) {
            struct em_span none = { 0, 0 };
            em_shadow_issue(w, op, counter, none, 0, 0);
        }
        return false;
    }
    if (w->shadow) {
        *ret = check_uses(w, op, lanes);
    }
    return *ret == EM_GO;
}

/* One memory for all lanes: carried out, and outstanding. */
static enum em_flow run_target(struct em_wave *w,
                               const struct em_op *op,
                               const struct em_memory_rule *rule,
                               struct em_target *t)
{
    if (rule->what == EM_MEM_LOAD_TO_LDS) {
        return em_load_to_lds(w, op, rule, t, 0);
    }
    enum em_flow flow = em_target_run(w, op, rule, t);
    if (flow == EM_GO && w->shadow) {
        em_vmem_issued(w, op, EM_VMCNT);
    }
    return flow;
}

enum em_flow em_run_global(struct em_wave *w, const struct em_op *op)
{
    enum em_flow flow;
    if (!em_vmem_begin(w, op, EM_VMCNT, &flow)) {
        return flow;
    }
    const struct em_memory_rule *rule = em_rule_of(op);
    struct em_target t;
    t.lanes = em_exec(w);
    t.where = EM_IN_GLOBAL;
    global_addresses(w, &op->in, &t);
    em_target_order(&t, rule->bytes);
    return run_target(w, op, rule, &t);
}

enum em_flow em_run_scratch(struct em_wave *w, const struct em_op *op)
{
    enum em_flow flow;
    if (!em_vmem_begin(w, op, EM_VMCNT, &flow)) {
        return flow;
    }
    const struct em_memory_rule *rule = em_rule_of(op);
    const struct em_inst *in = &op->in;
    uint32_t base = (uint32_t)in->offset;
    base += in->src[2].code != EM_NONE ? w->s[in->src[2].code] : 0;
    struct em_target t;
    t.lanes = em_exec(w);
    t.where = EM_IN_SCRATCH;
    const uint32_t *offset =
        in->src[0].code != EM_NONE ? em_row(w, in->src[0].code) : NULL;
    for (unsigned i = 0; i < EM_LANES; i++) {
        t.address[i] = (uint32_t)(base + (offset ? offset[i] : 0));
    }
    t.contiguous = false;
    return run_target(w, op, rule, &t);
}

/* The lanes whose address is in the aperture; their addresses become offsets in it. */
static enum em_flow run_aperture(struct em_wave *w,
                                 const struct em_op *op,
                                 const struct em_target *all,
                                 enum em_where where,
                                 uint64_t lanes)
{
    if (lanes == 0) {
        return EM_GO;
    }
    struct em_target t = { .lanes = lanes, .where = where };
    for (unsigned i = 0; i < EM_LANES; i++) {
        t.address[i] =
            where == EM_IN_GLOBAL ? all->address[i] : (uint32_t)all->address[i];
    }
    em_target_order(&t, em_rule_of(op)->bytes);
    return em_target_run(w, op, em_rule_of(op), &t);
}

/* Whether any lane, active or not, points into an aperture. */
static bool meets_aperture(const struct em_target *t)
{
    uint64_t meets = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t high = t->address[i] >> 32;
        meets |= (uint64_t)(high == EM_SHARED_APERTURE >> 32);
        meets |= (uint64_t)(high == EM_PRIVATE_APERTURE >> 32);
    }
    return meets != 0;
}

static enum em_flow run_apertures(struct em_wave *w,
                                  const struct em_op *op,
                                  const struct em_target *t)
{
    uint64_t shared = 0;
    uint64_t private = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t high = t->address[i] >> 32;
        shared |= (uint64_t)(high == EM_SHARED_APERTURE >> 32) << i;
        private |= (uint64_t)(high == EM_PRIVATE_APERTURE >> 32) << i;
    }
    shared &= t->lanes;
    private &= t->lanes;
    uint64_t rest = t->lanes & ~shared & ~private;
    enum em_flow flow = run_aperture(w, op, t, EM_IN_LDS, shared);
    flow = flow == EM_GO ? run_aperture(w, op, t, EM_IN_SCRATCH, private) : flow;
    return flow == EM_GO ? run_aperture(w, op, t, EM_IN_GLOBAL, rest) : flow;
}

enum em_flow em_run_flat(struct em_wave *w, const struct em_op *op)
{
    enum em_flow flow;
    if (!em_vmem_begin(w, op, EM_FLAT_BOTH, &flow)) {
        return flow;
    }
    struct em_target t;
    t.lanes = em_exec(w);
    t.where = EM_IN_GLOBAL;
    global_addresses(w, &op->in, &t);
    if (meets_aperture(&t)) {
        flow = run_apertures(w, op, &t);
    } else {
        em_target_order(&t, em_rule_of(op)->bytes);
        flow = em_target_run(w, op, em_rule_of(op), &t);
    }
    if (flow == EM_GO && w->shadow) {
        em_vmem_issued(w, op, EM_FLAT_BOTH);
    }
    return flow;
}

static enum em_flow run_fence(struct em_wave *w, const struct em_op *op)
{
    bool writes_back = op->in.op == EM_buffer_wbl2;
    if (w->shadow && op->in.sc1) {
        em_race_fence(w, writes_back, !writes_back);
    }
    if (w->shadow) {
        struct em_span none = { 0, 0 };
        em_shadow_issue(w, op, EM_VMCNT, none, 0, 0);
    }
    return EM_GO;
}

static bool is_scalar(struct em_operand o, unsigned dwords)
{
    return o.code + dwords <= EM_SCALARS;
}

static bool address_fits(const struct em_inst *in)
{
    bool has_base = in->src[2].code != EM_NONE;
    bool has_vector = in->src[0].code != EM_NONE;
    switch (in->encoding) {
    case EM_FLAT:
        return !has_base && em_vector_of(in->src[0], 2);
    case EM_GLOBAL:
        return has_base ? em_vector_of(in->src[0], 1) && is_scalar(in->src[2], 2)
                        : em_vector_of(in->src[0], 2);
    case EM_SCRATCH:
        return (!has_vector || em_vector_of(in->src[0], 1)) &&
               (!has_base || is_scalar(in->src[2], 1));
    default:
        break;
    }
    unsigned vectors = (unsigned)in->offen + in->idxen;
    return (vectors == 0 || em_vector_of(in->src[0], vectors)) &&
           is_scalar(in->src[2], 4) && !em_is_vector(in->src[3].code);
}

static bool operands_fit(const struct em_op *op, const struct em_memory_rule *rule)
{
    const struct em_inst *in = &op->in;
    if (rule->what == EM_MEM_FENCE) {
        return true;
    }
    if (!address_fits(in)) {
        return false;
    }
    switch (rule->what) {
    case EM_MEM_LOAD:
    case EM_MEM_LOAD_FORMAT:
        return in->lds ? rule->move != NULL && rule->dwords == 1
                       : em_vector_of(em_loaded(op), rule->dwords);
    case EM_MEM_ATOMIC:
        if (in->dst.code != EM_NONE && !em_vector_of(in->dst, rule->dwords)) {
            return false;
        }
        return em_vector_of(in->src[1], em_atomic_has_other(rule->atomic)
                                            ? 2U * rule->dwords
                                            : rule->dwords);
    case EM_MEM_STORE:
    case EM_MEM_STORE_FORMAT:
        return em_vector_of(in->src[1], rule->dwords);
    default:
        return true;
    }
}

static uint8_t class_of(const struct em_memory_rule *rule)
{
    switch (rule->what) {
    case EM_MEM_STORE:
    case EM_MEM_STORE_FORMAT:
        return EM_CLASS_VMEM_STORE;
    case EM_MEM_ATOMIC:
        return EM_CLASS_VMEM_ATOMIC;
    case EM_MEM_FENCE:
        return EM_CLASS_OTHER;
    default:
        return EM_CLASS_VMEM_LOAD;
    }
}

bool em_bind_vmem(struct em_op *op)
{
    em_run_fn run;
    switch (op->in.encoding) {
    case EM_FLAT:
        run = em_run_flat;
        break;
    case EM_GLOBAL:
        run = em_run_global;
        break;
    case EM_SCRATCH:
        run = em_run_scratch;
        break;
    case EM_MUBUF:
    case EM_MTBUF:
        run = em_run_buffer;
        break;
    default:
        return false;
    }
    const struct em_memory_rule *rule = em_memory_rule(op->in.op);
    if (!rule || !em_registers_exist(&op->in) || !operands_fit(op, rule)) {
        return false;
    }
    op->run = rule->what == EM_MEM_FENCE ? run_fence : run;
    op->data[0] = (uint64_t)(uintptr_t)rule;
    op->class = class_of(rule);
    return true;
}
