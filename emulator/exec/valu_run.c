/* Runs vector arithmetic: binds an instruction to its row function and to the shortest
 * way of fetching and storing. With full EXEC and unchanged operands a row function
 * reads and writes registers directly; everything else goes through w->temp. */
#include "emulator/exec/valu_run.h"

#include "emulator/check/fault.h"
#include "emulator/check/shadow.h"

#define EM_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* What a run function is made for; constants, so that each is compiled apart. */
enum run_kind {
    RUN_PLAIN,
    RUN_MASKS, /* carry or condition in, carry out */
    RUN_COMPARE,
    RUN_CHANGED /* all of it: modifiers, DPP, SDWA, clamp, halves */
};

void em_valu_scalar(const struct em_wave *w,
                    const struct em_op *op,
                    unsigned i,
                    uint32_t ret[2])
{
    struct em_operand o = op->in.src[i];
    bool constant = o.code >= EM_SCALARS;
    if (o.type == EM_PF32 || o.type == EM_PB32) {
        /* A pair of registers gives both; a constant is the same for both halves. */
        o.type = EM_F32;
        ret[0] = constant ? em_scalar32(w, &op->in, o) : w->s[o.code];
        ret[1] = constant ? ret[0] : w->s[o.code + 1];
        return;
    }
    if (o.type == EM_PF16) {
        o.type = EM_F16;
    }
    if (o.dwords == 2) {
        uint64_t value = em_scalar64(w, &op->in, o);
        ret[0] = (uint32_t)value;
        ret[1] = (uint32_t)(value >> 32);
        return;
    }
    ret[0] = em_scalar32(w, &op->in, o);
    ret[1] = 0;
}

static inline void fetch_plain(struct em_wave *w,
                               const struct em_op *op,
                               unsigned i,
                               struct em_rows *r)
{
    struct em_operand o = op->in.src[i];
    if (em_is_vector(o.code)) {
        r->s[i][0] = em_row(w, o.code);
        r->s[i][1] = r->s[i][0] + EM_LANES;
        return;
    }
    uint32_t value[2];
    if (o.code < EM_SCALARS && o.dwords == 1) {
        value[0] = w->s[o.code];
    } else {
        em_valu_scalar(w, op, i, value);
    }
    r->s[i][0] = w->temp[2 * i];
    r->s[i][1] = w->temp[2 * i + 1];
    em_fill(w->temp[2 * i], value[0]);
    if (o.dwords == 2) {
        em_fill(w->temp[2 * i + 1], value[1]);
    }
}

static inline uint64_t mask_source(const struct em_wave *w, const struct em_op *op)
{
    return em_s64(w, em_valu_plan_of(op).mask_code);
}

static void store_mask(struct em_wave *w, const struct em_op *op, uint64_t mask)
{
    struct em_valu_plan plan = em_valu_plan_of(op);
    uint16_t code = plan.mask_out ? op->in.sdst.code : op->in.dst.code;
    em_set_s64(w, code, mask);
    if (plan.cmpx) {
        em_set_s64(w, EM_EXEC, mask);
    }
}

/* The lanes that take a result: EXEC, less those that DPP disables. */
static inline uint64_t storing_lanes(const struct em_op *op, uint64_t exec)
{
    if (op->in.extra != EM_DPP) {
        return exec;
    }
    uint64_t lanes = exec & em_dpp_enabled(&op->in);
    return op->in.bound_ctrl ? lanes : lanes & em_dpp_lanes(op->in.dpp_ctrl, exec);
}

/* em_valu_shadow's part that plain operations need, which are most. */
static inline void shadow_plain(struct em_wave *w,
                                const struct em_op *op,
                                uint64_t lanes)
{
    struct em_shadow *s = w->shadow;
    struct em_valu_plan plan = em_valu_plan_of(op);
    uint64_t written = ~UINT64_C(0);
    for (unsigned i = 0; i < plan.sources && !plan.same; i++) {
        written &= em_shadow_get(s, op->in.src[i]);
    }
    if (lanes & ~written) {
        (void)em_valu_shadow(w, op, lanes); /* each dword for itself, and more */
        return;
    }
    uint64_t *dst = &s->v[op->in.dst.code - EM_VGPR0];
    dst[0] = (dst[0] & ~lanes) | (written & lanes);
    if (plan.wide & 8) {
        dst[1] = (dst[1] & ~lanes) | (written & lanes);
    }
}

/* Full EXEC: straight into the destination's rows. */
static inline __attribute__((always_inline)) void run_and_keep(struct em_wave *w,
                                                               const struct em_op *op,
                                                               struct em_rows *r,
                                                               uint64_t lanes)
{
    em_rows_fn fn = (em_rows_fn)op->fn;
    uint32_t *dst = em_row(w, op->in.dst.code);
    if (lanes == ~UINT64_C(0)) {
        r->d[0] = dst;
        r->d[1] = dst + EM_LANES;
        fn(r);
        return;
    }
    fn(r);
    em_blend(dst, r->d[0], lanes);
    if (em_valu_plan_of(op).wide & 8) {
        em_blend(dst + EM_LANES, r->d[1], lanes);
    }
}

static inline __attribute__((always_inline)) enum em_flow run(struct em_wave *w,
                                                              const struct em_op *op,
                                                              enum run_kind kind)
{
    if (EM_UNLIKELY(w->gpr_idx)) {
        return em_valu_indexed(w, op);
    }
    struct em_valu_plan plan = em_valu_plan_of(op);
    struct em_rows r;
    r.exec = em_exec(w);
    r.mode = w->mode;
    r.in = &op->in;
    r.wave = w;
    uint64_t lanes = kind == RUN_CHANGED ? storing_lanes(op, r.exec) : r.exec;
    if (w->shadow && kind == RUN_PLAIN) {
        shadow_plain(w, op, lanes);
    } else if (w->shadow) {
        enum em_flow flow = em_valu_shadow(w, op, lanes);
        if (flow != EM_GO) {
            return flow;
        }
    }
    for (unsigned i = 0; i < plan.sources; i++) {
        if (kind == RUN_CHANGED && em_valu_source_kind(op, i) != EM_SOURCE_PLAIN) {
            em_valu_source(w, op, i, &r);
        } else {
            fetch_plain(w, op, i, &r);
        }
    }
    r.mask_in = kind != RUN_PLAIN && plan.mask_use ? mask_source(w, op) : 0;
    r.mask_out = 0;
    r.d[0] = w->temp[EM_TEMP_RESULT];
    r.d[1] = w->temp[EM_TEMP_RESULT + 1];
    em_rows_fn fn = (em_rows_fn)op->fn;
    bool compare =
        kind == RUN_COMPARE || (kind == RUN_CHANGED && op->in.dst.type == EM_MASK);
    if (compare) {
        fn(&r);
    } else if (kind == RUN_CHANGED && op->flags & EM_VALU_STORE) {
        fn(&r);
        em_valu_store(w, op, &r, lanes);
    } else {
        run_and_keep(w, op, &r, lanes);
    }
    if (compare || (kind != RUN_PLAIN && plan.mask_out)) {
        store_mask(w, op, r.mask_out & lanes);
    }
    return EM_GO;
}

static enum em_flow run_plain(struct em_wave *w, const struct em_op *op)
{
    return run(w, op, RUN_PLAIN);
}

static enum em_flow run_masks(struct em_wave *w, const struct em_op *op)
{
    return run(w, op, RUN_MASKS);
}

static enum em_flow run_compare(struct em_wave *w, const struct em_op *op)
{
    return run(w, op, RUN_COMPARE);
}

static enum em_flow run_changed(struct em_wave *w, const struct em_op *op)
{
    return run(w, op, RUN_CHANGED);
}

/* Operations that read their destination: s[2] of the row function. */
static bool accumulates(unsigned op)
{
    switch (op) {
    case EM_v_fmac_f64:
    case EM_v_fmac_f32:
    case EM_v_mac_f16:
    case EM_v_pk_fmac_f16:
    case EM_v_dot2c_f32_f16:
    case EM_v_dot2c_i32_i16:
    case EM_v_dot4c_i32_i8:
    case EM_v_dot8c_i32_i4:
    case EM_v_cvt_pkaccum_u8_f32:
        return true;
    default:
        return false;
    }
}

/* Moves a VGPR operand by M0[7:0]; false where it would leave the registers. */
static bool move_operand(const struct em_wave *w, struct em_operand *o)
{
    if (o->code < EM_VGPR0 || o->code >= EM_AGPR0) {
        return true;
    }
    unsigned code = o->code + (w->s[EM_M0] & 0xff);
    if (code + o->dwords > (unsigned)EM_VGPR0 + w->vgprs) {
        return false;
    }
    o->code = (uint16_t)code;
    return true;
}

/* s_set_gpr_idx_on is in force: the same instruction with its registers moved. */
enum em_flow em_valu_indexed(struct em_wave *w, const struct em_op *op)
{
    struct em_op moved = *op;
    bool inside = true;
    for (unsigned i = 0; i < 3; i++) {
        bool is_dst = i == 2 && accumulates(op->in.op);
        if (w->gpr_idx & (is_dst ? 8U : 1U << i)) {
            inside &= move_operand(w, &moved.in.src[i]);
        }
    }
    if (w->gpr_idx & 8) {
        inside &= move_operand(w, &moved.in.dst);
    }
    if (!inside) {
        return em_fault(w, op, EM_FAULT_BAD_REGISTER, -1, NULL,
                        "M0 moves a register of %s behind the last one",
                        em_op_info((enum em_opcode)op->in.op)->name);
    }
    uint8_t saved = w->gpr_idx;
    w->gpr_idx = 0;
    enum em_flow flow = moved.run(w, &moved);
    w->gpr_idx = saved;
    return flow;
}

static const struct em_valu_row *find_row(unsigned op)
{
    static const struct em_valu_row *const tables[] = {
        em_valu_int, em_valu_int64, em_valu_int16,   em_valu_compare, em_valu_f32,
        em_valu_f16, em_valu_f64,   em_valu_convert, em_valu_special,
    };
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (const struct em_valu_row *row = tables[t]; row->fn; row++) {
            if (row->op == op) {
                return row;
            }
        }
    }
    return NULL;
}

static enum em_mask_use mask_use(unsigned op)
{
    switch (op) {
    case EM_v_cndmask_b32:
        return EM_MASK_SELECT;
    case EM_v_addc_co_u32:
    case EM_v_subb_co_u32:
    case EM_v_subbrev_co_u32:
    case EM_v_div_fmas_f32:
    case EM_v_div_fmas_f64:
        return EM_MASK_CARRY;
    default:
        return EM_MASK_NONE;
    }
}

/* Results that do not depend on what the register holds. */
static bool same_sources(const struct em_inst *in)
{
    if (in->src[0].code != in->src[1].code || !em_is_vector(in->src[0].code) ||
        in->extra != EM_PLAIN) {
        return false;
    }
    switch (in->op) {
    case EM_v_xor_b32:
    case EM_v_xnor_b32:
    case EM_v_sub_u32:
    case EM_v_subrev_u32:
    case EM_v_sub_co_u32:
    case EM_v_subrev_co_u32:
    case EM_v_sub_i32:
        return true;
    default:
        return false;
    }
}

/* Sources of the arithmetic. The register that a part of is replaced, which decoding
 * gives as src[2] too, is none of them. */
static unsigned source_limit(unsigned op)
{
    switch (op) {
    case EM_v_cvt_pk_fp8_f32:
    case EM_v_cvt_pk_bf8_f32:
    case EM_v_cvt_sr_fp8_f32:
    case EM_v_cvt_sr_bf8_f32:
        return 2;
    default:
        return mask_use(op) && op != EM_v_div_fmas_f32 && op != EM_v_div_fmas_f64 ? 2
                                                                                  : 3;
    }
}

static struct em_valu_plan make_plan(struct em_inst *in)
{
    struct em_valu_plan plan = { 0 };
    plan.mask_use = (uint8_t)mask_use(in->op);
    plan.mask_code =
        in->src[3].code < EM_SCALARS - 1 ? (uint8_t)in->src[3].code : EM_VCC;
    if (accumulates(in->op) && in->src[2].code == EM_NONE) {
        in->src[2] = in->dst;
    }
    while (plan.sources < source_limit(in->op) &&
           in->src[plan.sources].code != EM_NONE) {
        plan.wide |= (uint8_t)((in->src[plan.sources].dwords == 2) << plan.sources);
        plan.sources++;
    }
    plan.wide |= (uint8_t)((in->dst.dwords == 2) << 3);
    plan.mask_out = in->sdst.code != EM_NONE;
    plan.cmpx = in->dst.type == EM_MASK &&
                strncmp(em_op_info((enum em_opcode)in->op)->name, "v_cmpx", 6) == 0;
    plan.part = (uint8_t)em_valu_part(in);
    plan.same = same_sources(in);
    return plan;
}

/* Registers of the kind that the operation writes; a code object may say anything. */
static bool destinations_fit(const struct em_inst *in)
{
    bool dst = in->dst.type == EM_MASK ? in->dst.code < EM_SCALARS - 1
                                       : em_is_vector(in->dst.code);
    return dst && (in->sdst.code == EM_NONE || in->sdst.code < EM_SCALARS - 1);
}

bool em_bind_valu(struct em_op *op)
{
    if (op->in.encoding < EM_VOP1 || op->in.encoding > EM_VOP3P ||
        (op->in.extra == EM_DPP && !em_dpp_known(op->in.dpp_ctrl))) {
        return false;
    }
    if (op->in.src[0].code == EM_LDS_DIRECT) {
        return false;
    }
    if (em_bind_lane(op)) {
        return true;
    }
    const struct em_valu_row *row = find_row(op->in.op);
    if (!row) {
        return false;
    }
    if (!destinations_fit(&op->in)) {
        return false;
    }
    struct em_valu_plan plan = make_plan(&op->in);
    memcpy(&op->data[0], &plan, sizeof(plan));
    op->fn = (void (*)(void))row->fn;
    op->class = row->class;
    op->data[1] = 0;
    for (unsigned i = 0; i < plan.sources; i++) {
        op->data[1] |= (uint64_t)em_valu_classify(&op->in, i) << (8 * i);
    }
    bool store = plan.part != EM_PART_ALL || em_valu_store_changed(&op->in);
    op->flags = store ? EM_VALU_STORE : 0;
    if (op->data[1] || store) {
        op->run = run_changed;
    } else if (op->in.dst.type == EM_MASK) {
        op->run = run_compare;
    } else if (plan.mask_use || plan.mask_out) {
        op->run = run_masks;
    } else {
        op->run = run_plain;
    }
    return true;
}
