/* DS: loads, stores and atomics of the workgroup's LDS. Addresses are 32 bits and wrap;
 * no clamp through M0 on gfx9 and later. Outside of the workgroup's LDS is a fault (the
 * hardware reads 0: kernels that rely on it are wrong on the next device). */
#include "emulator/memory/lds.h"

#include "emulator/check/shadow.h"
#include "emulator/launch/group.h"
#include "emulator/memory/rules.h"

void em_lds_issued(struct em_wave *w, const struct em_op *op)
{
    struct em_span span = { 0, 0 };
    if (op->in.dst.code != EM_NONE && em_exec(w)) {
        span.first = op->in.dst.code;
        span.count = op->in.dst.dwords;
    }
    em_shadow_issue(w, op, EM_LGKM_LDS, span, 0, 0);
}

/* What is stored may be unwritten: LDS keeps track of that. */
static enum em_flow check_uses(struct em_wave *w, const struct em_op *op)
{
    struct em_operand address = op->in.src[0];
    if (!w->shadow || address.code == EM_NONE) {
        return EM_GO;
    }
    return em_shadow_use(w, op, address, em_exec(w), "address");
}

static void addresses(const struct em_wave *w,
                      const struct em_op *op,
                      uint32_t offset,
                      unsigned bytes,
                      struct em_target *t)
{
    const uint32_t *row = em_row(w, op->in.src[0].code);
    t->lanes = em_exec(w);
    t->where = EM_IN_LDS;
    for (unsigned i = 0; i < EM_LANES; i++) {
        t->address[i] = row[i] + offset;
    }
    em_target_order(t, bytes);
}

static enum em_flow run_one(struct em_wave *w, const struct em_op *op)
{
    enum em_flow flow = check_uses(w, op);
    if (flow == EM_GO && em_exec(w)) {
        const struct em_memory_rule *rule = em_rule_of(op);
        struct em_target t;
        addresses(w, op, (uint32_t)op->in.offset, rule->bytes, &t);
        flow = em_target_run(w, op, rule, &t);
    }
    if (flow == EM_GO && w->shadow) {
        em_lds_issued(w, op);
    }
    return flow;
}

/* data[1]: bytes that one step of the offsets is. The second half is an operation of
 * its own, with the second data register or the upper half of the destination. Both
 * addresses are known before the first half may overwrite the address register. */
static enum em_flow run_two(struct em_wave *w, const struct em_op *op)
{
    enum em_flow flow = check_uses(w, op);
    if (flow == EM_GO && em_exec(w)) {
        const struct em_memory_rule *rule = em_rule_of(op);
        uint32_t step = (uint32_t)op->data[1];
        struct em_target t[2];
        struct em_op half = *op;
        half.in.dst.dwords = rule->dwords;
        addresses(w, op, ((uint32_t)op->in.offset & 0xff) * step, rule->bytes, &t[0]);
        addresses(w, op, ((uint32_t)op->in.offset >> 8 & 0xff) * step, rule->bytes,
                  &t[1]);
        half.in.src[2] = (struct em_operand){ .code = EM_NONE };
        flow = em_target_run(w, &half, rule, &t[0]);
        if (flow == EM_GO) {
            half.in.src[1] = op->in.src[2];
            half.in.dst.code = op->in.dst.code == EM_NONE
                                   ? EM_NONE
                                   : (uint16_t)(op->in.dst.code + rule->dwords);
            flow = em_target_run(w, &half, rule, &t[1]);
        }
    }
    if (flow == EM_GO && w->shadow) {
        em_lds_issued(w, op);
    }
    return flow;
}

/* The address is M0's low 16 bits and the offset, and 4 bytes a lane. */
static enum em_flow run_addtid(struct em_wave *w, const struct em_op *op)
{
    enum em_flow flow = EM_GO;
    static const struct em_operand m0 = { .code = EM_M0, .dwords = 1 };
    if (w->shadow) {
        flow = em_shadow_use(w, op, m0, em_exec(w), "address");
    }
    if (flow == EM_GO && em_exec(w)) {
        struct em_target t = { .lanes = em_exec(w), .where = EM_IN_LDS };
        for (unsigned i = 0; i < EM_LANES; i++) {
            t.address[i] = (w->s[EM_M0] & 0xffff) + (uint32_t)op->in.offset + 4 * i;
        }
        em_target_order(&t, 4);
        flow = em_target_run(w, op, em_rule_of(op), &t);
    }
    if (flow == EM_GO && w->shadow) {
        em_lds_issued(w, op);
    }
    return flow;
}

/* One lane's worth of work for the wave: adds the number of active lanes to a counter,
 * or takes them from it, and gives all of them its old value. */
static enum em_flow run_append(struct em_wave *w, const struct em_op *op)
{
    static const struct em_memory_rule rules[2] = {
        { .what = EM_MEM_ATOMIC, .bytes = 4, .dwords = 1, .atomic = em_atomic_add_32 },
        { .what = EM_MEM_ATOMIC, .bytes = 4, .dwords = 1, .atomic = em_atomic_sub_32 }
    };
    const struct em_memory_rule *rule = &rules[op->in.op == EM_ds_consume];
    static const struct em_operand m0 = { .code = EM_M0, .dwords = 1 };
    uint64_t exec = em_exec(w);
    if (w->shadow && em_shadow_use(w, op, m0, exec, "address") != EM_GO) {
        return EM_FAULTED;
    }
    if (exec) {
        struct em_target t = { .lanes = exec & -exec, .where = EM_IN_LDS };
        unsigned lane = (unsigned)__builtin_ctzll(exec);
        t.address[lane] = (w->s[EM_M0] & 0xffff) + (uint32_t)op->in.offset;
        enum em_flow flow = em_target_check(w, op, rule, &t, NULL);
        if (flow != EM_GO) {
            return flow;
        }
        uint32_t data[EM_LANES] = { 0 };
        uint32_t old[EM_LANES] = { 0 };
        data[lane] = (uint32_t)__builtin_popcountll(exec);
        struct em_atomic a = { .base = w->group->lds,
                               .address = t.address,
                               .lanes = t.lanes,
                               .data = data,
                               .ret = old };
        rule->atomic(&a);
        uint32_t *row = em_row(w, op->in.dst.code);
        for (uint64_t left = exec; left; left &= left - 1) {
            row[__builtin_ctzll(left)] = old[lane];
        }
    }
    if (w->shadow) {
        em_shadow_set(w->shadow, op->in.dst, exec, UINT64_MAX);
        em_lds_issued(w, op);
    }
    return EM_GO;
}

static enum em_flow run_nop(struct em_wave *w, const struct em_op *op)
{
    if (w->shadow) {
        em_lds_issued(w, op);
    }
    return EM_GO;
}

/* Bytes of one step of a two-address operation's offsets; 0: it has one address. */
static unsigned offset_step(enum em_opcode op)
{
    static const struct {
        uint16_t op;
        uint16_t bytes;
    } steps[] = { { EM_ds_read2_b32, 4 },       { EM_ds_read2st64_b32, 4 * 64 },
                  { EM_ds_read2_b64, 8 },       { EM_ds_read2st64_b64, 8 * 64 },
                  { EM_ds_write2_b32, 4 },      { EM_ds_write2st64_b32, 4 * 64 },
                  { EM_ds_write2_b64, 8 },      { EM_ds_write2st64_b64, 8 * 64 },
                  { EM_ds_wrxchg2_rtn_b32, 4 }, { EM_ds_wrxchg2st64_rtn_b32, 4 * 64 },
                  { EM_ds_wrxchg2_rtn_b64, 8 }, { EM_ds_wrxchg2st64_rtn_b64, 8 * 64 } };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (steps[i].op == op) {
            return steps[i].bytes;
        }
    }
    return 0;
}

static bool overlap(struct em_operand a, struct em_operand b)
{
    return a.code != EM_NONE && b.code != EM_NONE && a.code < b.code + b.dwords &&
           b.code < a.code + a.dwords;
}

static bool operands_fit(const struct em_inst *in, const struct em_memory_rule *rule)
{
    bool two = offset_step(in->op) != 0;
    unsigned dwords = rule->dwords;
    bool exchange = two && rule->what == EM_MEM_ATOMIC;
    bool third = two ? rule->what != EM_MEM_LOAD
                     : rule->what == EM_MEM_ATOMIC && em_atomic_has_other(rule->atomic);
    if (third && !em_vector_of(in->src[2], dwords)) {
        return false;
    }
    if (rule->what != EM_MEM_LOAD && !em_vector_of(in->src[1], dwords)) {
        return false;
    }
    if (in->dst.code != EM_NONE && !em_vector_of(in->dst, two ? 2 * dwords : dwords)) {
        return false;
    }
    /* The first half would overwrite what the second one stores. */
    if (exchange && overlap(in->dst, in->src[2])) {
        return false;
    }
    return rule->what != EM_MEM_LOAD || in->dst.code != EM_NONE;
}

static bool bind_special(struct em_op *op)
{
    const struct em_inst *in = &op->in;
    if (in->op == EM_ds_nop) {
        op->run = run_nop;
        return true;
    }
    if (in->op == EM_ds_append || in->op == EM_ds_consume) {
        op->run = run_append;
        return em_vector_of(in->dst, 1);
    }
    op->run = em_lds_cross(in->op);
    return op->run && em_vector_of(in->dst, 1) && em_vector_of(in->src[0], 1) &&
           (in->op == EM_ds_swizzle_b32 || em_vector_of(in->src[1], 1));
}

static const struct em_memory_rule *addtid_rule(enum em_opcode op)
{
    static const struct em_memory_rule read = {
        .what = EM_MEM_LOAD, .bytes = 4, .dwords = 1, .move = em_load_x1
    };
    static const struct em_memory_rule write = {
        .what = EM_MEM_STORE, .bytes = 4, .dwords = 1, .move = em_store_x1
    };
    return op == EM_ds_read_addtid_b32    ? &read
           : op == EM_ds_write_addtid_b32 ? &write
                                          : NULL;
}

bool em_bind_lds(struct em_op *op)
{
    const struct em_inst *in = &op->in;
    if (in->encoding != EM_DS || in->gds || !em_registers_exist(in)) {
        return false;
    }
    op->class = EM_CLASS_LDS;
    if (bind_special(op)) {
        return true;
    }
    const struct em_memory_rule *rule = addtid_rule(in->op);
    op->run = run_addtid;
    if (!rule) {
        rule = em_memory_rule(in->op);
        op->run = offset_step(in->op) ? run_two : run_one;
        if (!rule || !em_vector_of(in->src[0], 1)) {
            return false;
        }
    }
    op->data[0] = (uint64_t)(uintptr_t)rule;
    op->data[1] = offset_step(in->op);
    return operands_fit(in, rule);
}
