/* MUBUF and MTBUF: addresses through a buffer resource.
 *
 * Range check, of each dword by itself (of the whole element for formats and atomics):
 * a resource without stride, or an instruction without an index, is raw: num_records
 * counts bytes. With both it counts records. What is out of range reads as 0 or is not
 * written, which is no fault; what is in range and outside of every allocation is one.
 * Offsets are unsigned and do not wrap.
 *
 * Swizzled resources interleave `index_stride` records in elements of 4 bytes. */
#include "emulator/memory/vmem.h"

#include "emulator/check/shadow.h"
#include "emulator/memory/format.h"
#include "emulator/memory/rules.h"

struct resource {
    uint64_t base;
    uint32_t stride;
    uint32_t records;
    uint32_t index_stride; /* records; 0: not swizzled */
    bool add_tid;
    uint8_t format;     /* dfmt | nfmt << 4 */
    uint16_t component; /* dst_sel, 3 bits each */
};

static void read_resource(const struct em_wave *w, unsigned code, struct resource *ret)
{
    const uint32_t *s = &w->s[code];
    ret->base = s[0] | (uint64_t)(s[1] & 0xffff) << 32;
    ret->stride = s[1] >> 16 & 0x3fff;
    ret->records = s[2];
    ret->index_stride = s[1] >> 31 ? 8U << (s[3] >> 21 & 3) : 0;
    ret->add_tid = s[3] >> 23 & 1;
    ret->format = (uint8_t)((s[3] >> 15 & 15) | (s[3] >> 12 & 7) << 4);
    ret->component = s[3] & 0xfff;
    if (ret->add_tid) { /* the data format's bits are the stride's */
        ret->stride |= (s[3] >> 15 & 15) << 14;
    }
}

/* What an instruction adds up to, the same for all lanes, and each lane's parts. */
struct parts {
    struct resource r;
    const uint32_t *index;  /* NULL: 0 */
    const uint32_t *offset; /* NULL: 0 */
    uint32_t immediate;
    uint32_t scalar; /* soffset */
    bool records;    /* num_records counts records */
};

static void read_parts(const struct em_wave *w,
                       const struct em_op *op,
                       struct parts *ret)
{
    const struct em_inst *in = &op->in;
    read_resource(w, in->src[2].code, &ret->r);
    const uint32_t *row =
        in->src[0].code != EM_NONE ? em_row(w, in->src[0].code) : NULL;
    ret->index = in->idxen ? row : NULL;
    ret->offset = in->offen ? (in->idxen ? row + EM_LANES : row) : NULL;
    ret->immediate = (uint32_t)in->offset;
    ret->scalar = in->src[3].code != EM_NONE ? em_scalar32(w, in, in->src[3]) : 0;
    ret->records = ret->r.stride != 0 && in->idxen;
}

/* One lane: its offset from base + scalar, and whether `bytes` there are in range. */
static uint64_t locate(const struct parts *p,
                       unsigned lane,
                       unsigned skip,
                       unsigned bytes,
                       bool *ret_in)
{
    uint64_t index = (p->index ? p->index[lane] : 0) + (p->r.add_tid ? lane : 0);
    uint64_t offset = (uint64_t)(p->offset ? p->offset[lane] : 0) + p->immediate + skip;
    uint64_t at = index * p->r.stride + offset;
    if (p->r.index_stride) {
        uint64_t step = p->r.index_stride;
        at = (index / step * p->r.stride + offset / 4 * 4) * step + index % step * 4 +
             offset % 4;
    }
    if (p->records) {
        *ret_in = index < p->r.records &&
                  (!p->r.index_stride || offset + bytes <= p->r.stride);
    } else {
        *ret_in = at + p->scalar + bytes <= p->r.records;
    }
    return at;
}

static uint32_t highest(const uint32_t *offset, uint64_t lanes)
{
    uint32_t most = 0;
    if (lanes == UINT64_MAX) {
        for (unsigned i = 0; i < EM_LANES; i++) {
            most = offset[i] > most ? offset[i] : most;
        }
        return most;
    }
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint32_t of_lane = lanes >> i & 1 ? offset[i] : 0;
        most = of_lane > most ? of_lane : most;
    }
    return most;
}

/* Raw, all active lanes in range: what nearly every kernel does. False: it is not that.
 */
static bool all_raw(const struct parts *p, unsigned bytes, struct em_target *t)
{
    if (p->index || p->r.index_stride || p->r.add_tid) {
        return false;
    }
    uint64_t same = (uint64_t)p->immediate + p->scalar;
    uint32_t most = p->offset ? highest(p->offset, t->lanes) : 0;
    if (same + most + bytes > p->r.records) {
        return false;
    }
    uint64_t base = p->r.base + same;
    for (unsigned i = 0; i < EM_LANES; i++) {
        t->address[i] = base + (p->offset ? p->offset[i] : 0);
    }
    return true;
}

/* Addresses of the lanes whose `bytes`, `skip` bytes behind the lane's offset, are in
 * range; those lanes stay in t->lanes. */
static void addresses(const struct parts *p,
                      unsigned skip,
                      unsigned bytes,
                      struct em_target *t)
{
    if (skip == 0 && all_raw(p, bytes, t)) {
        return;
    }
    uint64_t inside = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        bool in;
        t->address[i] = p->r.base + p->scalar + locate(p, i, skip, bytes, &in);
        inside |= (uint64_t)in << i;
    }
    t->lanes &= inside;
}

/* Lanes out of range read zeros: the load itself says which halves of a register that
 * means. */
static void load_zeros(struct em_wave *w,
                       struct em_operand to,
                       em_move_fn load,
                       unsigned dwords,
                       uint64_t lanes)
{
    uint8_t zeros[16] = { 0 };
    const uint64_t none[EM_LANES] = { 0 };
    struct em_move m = {
        .base = zeros, .address = none, .lanes = lanes, .row = em_row(w, to.code)
    };
    if (lanes) {
        load(&m);
        if (w->shadow) {
            to.dwords = (uint8_t)dwords;
            em_shadow_set(w->shadow, to, lanes, UINT64_MAX);
        }
    }
}

/* What lanes store that are in range: what the others would store goes nowhere. */
static enum em_flow check_stored(struct em_wave *w,
                                 const struct em_op *op,
                                 struct em_operand data,
                                 uint64_t lanes)
{
    return w->shadow ? em_shadow_use(w, op, data, lanes, "stored value") : EM_GO;
}

/* A register at a time: parts of lanes are out of range, or elements lie apart. The
 * address registers are kept: the first dwords loaded may overwrite them. */
static enum em_flow run_dwords(struct em_wave *w,
                               const struct em_op *op,
                               const struct parts *all)
{
    static const struct em_memory_rule load = {
        .what = EM_MEM_LOAD, .bytes = 4, .dwords = 1, .move = em_load_x1
    };
    static const struct em_memory_rule store = {
        .what = EM_MEM_STORE, .bytes = 4, .dwords = 1, .move = em_store_x1
    };
    const struct em_memory_rule *rule = em_rule_of(op);
    uint32_t kept[2][EM_LANES];
    struct parts p = *all;
    if (p.index) {
        p.index = memcpy(kept[0], p.index, sizeof(kept[0]));
    }
    if (p.offset) {
        p.offset = memcpy(kept[1], p.offset, sizeof(kept[1]));
    }
    struct em_op one = *op;
    for (unsigned j = 0; j < rule->dwords; j++) {
        struct em_target t;
        t.lanes = em_exec(w);
        t.where = EM_IN_GLOBAL;
        addresses(&p, 4 * j, 4, &t);
        bool loads = rule->what == EM_MEM_LOAD;
        struct em_operand *data = loads ? &one.in.dst : &one.in.src[1];
        *data = loads ? em_loaded(op) : op->in.src[1];
        data->code = (uint16_t)(data->code + j);
        data->dwords = 1;
        if (!loads && check_stored(w, op, *data, t.lanes) != EM_GO) {
            return EM_FAULTED;
        }
        if (t.lanes) {
            em_target_order(&t, 4);
            enum em_flow flow = em_target_run(w, &one, loads ? &load : &store, &t);
            if (flow != EM_GO) {
                return flow;
            }
        }
        if (loads) {
            load_zeros(w, *data, em_load_x1, 1, em_exec(w) & ~t.lanes);
        }
    }
    return EM_GO;
}

/* The whole of every lane at once. */
static enum em_flow run_whole(struct em_wave *w,
                              const struct em_op *op,
                              struct em_target *t)
{
    const struct em_memory_rule *rule = em_rule_of(op);
    uint64_t outside = em_exec(w) & ~t->lanes;
    if (op->in.lds) {
        em_target_order(t, rule->bytes);
        return em_load_to_lds(w, op, rule, t, outside);
    }
    enum em_flow flow = EM_GO;
    if (rule->what != EM_MEM_LOAD) {
        flow = check_stored(w, op, op->in.src[1], t->lanes);
    }
    if (flow == EM_GO && t->lanes) {
        em_target_order(t, rule->bytes);
        flow = em_target_run(w, op, rule, t);
    }
    if (flow == EM_GO && rule->what == EM_MEM_LOAD) {
        load_zeros(w, em_loaded(op), rule->move, rule->dwords, outside);
    } else if (flow == EM_GO && rule->what == EM_MEM_ATOMIC && op->in.sc0 &&
               op->in.dst.code != EM_NONE) {
        load_zeros(w, op->in.dst, rule->dwords == 2 ? em_load_x2 : em_load_x1,
                   rule->dwords, outside);
    }
    return flow;
}

/* A lane's components from its registers. */
static void take_components(const struct em_memory_rule *rule,
                            uint8_t format,
                            const uint32_t *reg,
                            uint32_t ret[4])
{
    for (unsigned j = 0; j < rule->components; j++) {
        ret[j] = rule->d16
                     ? em_format_from_d16(format, reg[(size_t)(j / 2) * EM_LANES] >>
                                                      (16 * (j % 2) + rule->shift))
                     : reg[(size_t)j * EM_LANES];
    }
}

/* A lane's components into its registers; d16: the other half of a register stays. */
static void put_components(const struct em_memory_rule *rule,
                           uint8_t format,
                           const uint32_t value[4],
                           uint32_t *reg)
{
    for (unsigned j = 0; j < rule->components; j++) {
        if (rule->d16) {
            unsigned shift = 16 * (j % 2) + rule->shift;
            uint32_t *to = &reg[(size_t)(j / 2) * EM_LANES];
            *to = (*to & ~(UINT32_C(0xffff) << shift)) |
                  em_format_to_d16(format, value[j]) << shift;
        } else {
            reg[(size_t)j * EM_LANES] = value[j];
        }
    }
}

/* Formatted elements, lane by lane; lanes out of range read zeros. */
static void convert_lanes(const struct em_target *t,
                          const struct em_memory_rule *rule,
                          const struct resource *r,
                          uint64_t lanes,
                          uint32_t *row)
{
    bool loads = rule->what == EM_MEM_LOAD_FORMAT;
    for (uint64_t left = loads ? lanes : t->lanes; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(left);
        uint8_t *at = (uint8_t *)(uintptr_t)t->address[lane];
        uint32_t value[4] = { 0 };
        if (!loads) {
            take_components(rule, r->format, row + lane, value);
            em_format_store(r->format, value, rule->components, at);
            continue;
        }
        if (t->lanes >> lane & 1) {
            em_format_load(r->format, r->component, at, value);
        }
        put_components(rule, r->format, value, row + lane);
    }
}

static enum em_flow run_format(struct em_wave *w,
                               const struct em_op *op,
                               const struct parts *p)
{
    const struct em_memory_rule *rule = em_rule_of(op);
    struct resource r = p->r;
    r.format = op->in.encoding == EM_MTBUF ? op->in.format : r.format;
    bool loads = rule->what == EM_MEM_LOAD_FORMAT;
    struct em_memory_rule moved = *rule;
    moved.bytes = (uint8_t)em_format_bytes(r.format);
    if (moved.bytes == 0 || r.index_stride) {
        return em_fault(w, op, EM_FAULT_NOT_IMPLEMENTED, -1, NULL,
                        "data format %u, number format %u%s", r.format & 15,
                        r.format >> 4, r.index_stride ? ", swizzled" : "");
    }
    struct em_target t;
    t.lanes = em_exec(w);
    t.where = EM_IN_GLOBAL;
    addresses(p, 0, moved.bytes, &t);
    if (!loads && check_stored(w, op, op->in.src[1], t.lanes) != EM_GO) {
        return EM_FAULTED;
    }
    if (t.lanes) {
        em_target_order(&t, moved.bytes);
        enum em_flow flow = em_target_check(w, op, &moved, &t, NULL);
        if (flow != EM_GO) {
            return flow;
        }
    }
    struct em_operand data = loads ? em_loaded(op) : op->in.src[1];
    convert_lanes(&t, rule, &r, em_exec(w), em_row(w, data.code));
    if (loads && w->shadow) {
        data.dwords = rule->dwords;
        em_shadow_set(w->shadow, data, em_exec(w), UINT64_MAX);
    }
    return EM_GO;
}

enum em_flow em_run_buffer(struct em_wave *w, const struct em_op *op)
{
    enum em_flow flow;
    if (!em_vmem_begin(w, op, EM_VMCNT, &flow)) {
        return flow;
    }
    const struct em_memory_rule *rule = em_rule_of(op);
    struct parts p;
    read_parts(w, op, &p);
    if (rule->what == EM_MEM_LOAD_FORMAT || rule->what == EM_MEM_STORE_FORMAT) {
        flow = run_format(w, op, &p);
    } else {
        struct em_target t;
        t.lanes = em_exec(w);
        t.where = EM_IN_GLOBAL;
        addresses(&p, 0, rule->bytes, &t);
        bool apart = p.r.index_stride != 0 || t.lanes != em_exec(w);
        if (apart && rule->dwords > 1 && rule->what != EM_MEM_ATOMIC) {
            flow = run_dwords(w, op, &p);
        } else {
            flow = run_whole(w, op, &t);
        }
    }
    if (flow == EM_GO && w->shadow && !op->in.lds) {
        em_vmem_issued(w, op, EM_VMCNT);
    }
    return flow;
}
