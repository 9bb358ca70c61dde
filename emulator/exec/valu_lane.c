/* Operations that move values between lanes and scalars, or whose operands do not fit
 * in rows: v_readlane, v_readfirstlane, v_writelane, v_swap, v_mqsad_u32_u8;
 * and v_nop. */
#include "emulator/check/shadow.h"
#include "emulator/exec/valu_run.h"

static enum em_flow read_lane(struct em_wave *w,
                              const struct em_op *op,
                              unsigned lane,
                              bool lane_written)
{
    const struct em_inst *in = &op->in;
    bool vector = em_is_vector(in->src[0].code);
    if (w->shadow) {
        bool written = em_shadow_get(w->shadow, in->src[0]) >> lane & 1;
        em_shadow_set_scalar(w->shadow, in->dst.code, 1, written && lane_written);
    }
    w->s[in->dst.code] =
        vector ? em_row(w, in->src[0].code)[lane] : em_scalar32(w, in, in->src[0]);
    return EM_GO;
}

static enum em_flow run_readfirstlane(struct em_wave *w, const struct em_op *op)
{
    if (w->gpr_idx) {
        return em_valu_indexed(w, op);
    }
    uint64_t exec = em_exec(w);
    return read_lane(w, op, exec ? (unsigned)__builtin_ctzll(exec) : 0, true);
}

/* The lane that source i selects. A select from a VGPR, which the assembler does not
 * allow, takes lane 0's. */
static unsigned selected_lane(const struct em_wave *w,
                              const struct em_op *op,
                              unsigned i,
                              bool *ret_written)
{
    struct em_operand o = op->in.src[i];
    *ret_written = !w->shadow || (em_shadow_get(w->shadow, o) & 1);
    uint32_t value =
        em_is_vector(o.code) ? em_row(w, o.code)[0] : em_scalar32(w, &op->in, o);
    return value % EM_LANES;
}

static enum em_flow run_readlane(struct em_wave *w, const struct em_op *op)
{
    if (w->gpr_idx) {
        return em_valu_indexed(w, op);
    }
    bool written;
    unsigned lane = selected_lane(w, op, 1, &written);
    return read_lane(w, op, lane, written);
}

static enum em_flow run_writelane(struct em_wave *w, const struct em_op *op)
{
    if (w->gpr_idx) {
        return em_valu_indexed(w, op);
    }
    const struct em_inst *in = &op->in;
    bool written;
    unsigned lane = selected_lane(w, op, 1, &written);
    if (w->shadow) {
        uint64_t bits = written ? em_shadow_get(w->shadow, in->src[0]) : 0;
        em_shadow_set(w->shadow, in->dst, UINT64_C(1) << lane, bits);
    }
    em_row(w, in->dst.code)[lane] = em_scalar32(w, in, in->src[0]);
    return EM_GO;
}

static enum em_flow run_swap(struct em_wave *w, const struct em_op *op)
{
    if (w->gpr_idx) {
        return em_valu_indexed(w, op);
    }
    const struct em_inst *in = &op->in;
    uint64_t exec = em_exec(w);
    if (w->shadow) {
        uint64_t dst = em_shadow_get(w->shadow, in->dst);
        em_shadow_set(w->shadow, in->dst, exec, em_shadow_get(w->shadow, in->src[0]));
        em_shadow_set(w->shadow, in->src[0], exec, dst);
    }
    uint32_t *a = em_row(w, in->dst.code);
    uint32_t *b = em_row(w, in->src[0].code);
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint32_t differ = exec >> i & 1 ? a[i] ^ b[i] : 0;
        a[i] ^= differ;
        b[i] ^= differ;
    }
    return EM_GO;
}

/* A source of four dwords and fewer: its dword of a lane. */
static uint32_t lane_dword(const struct em_wave *w,
                           const struct em_op *op,
                           unsigned i,
                           unsigned dword,
                           unsigned lane)
{
    struct em_operand o = op->in.src[i];
    if (em_is_vector(o.code)) {
        return em_row(w, o.code)[dword * EM_LANES + lane];
    }
    if (o.code < EM_SCALARS) {
        return w->s[(o.code + dword) % EM_SCALARS];
    }
    o.dwords = 1;
    uint32_t value = em_scalar32(w, &op->in, o);
    return dword == 0 || (int32_t)value < 0 ? value : 0;
}

/* Sum of absolute differences of the bytes of which the reference's is not 0. */
static uint32_t masked_sad(uint32_t window, uint32_t reference)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < 32; i += 8) {
        uint32_t a = window >> i & 0xff;
        uint32_t b = reference >> i & 0xff;
        sum += b == 0 ? 0 : a > b ? a - b : b - a;
    }
    return sum;
}

static enum em_flow run_mqsad_u32(struct em_wave *w, const struct em_op *op)
{
    if (w->gpr_idx) {
        return em_valu_indexed(w, op);
    }
    const struct em_inst *in = &op->in;
    uint64_t exec = em_exec(w);
    if (w->shadow) {
        uint64_t written = em_shadow_get(w->shadow, in->src[0]) &
                           em_shadow_get(w->shadow, in->src[1]) &
                           em_shadow_get(w->shadow, in->src[2]);
        em_shadow_set(w->shadow, in->dst, exec, written);
    }
    uint32_t *dst = em_row(w, in->dst.code);
    for (unsigned lane = 0; lane < EM_LANES; lane++) {
        if (!(exec >> lane & 1)) {
            continue;
        }
        uint64_t bytes = (uint64_t)lane_dword(w, op, 0, 1, lane) << 32 |
                         lane_dword(w, op, 0, 0, lane);
        uint32_t reference = lane_dword(w, op, 1, 0, lane);
        uint32_t out[4];
        for (unsigned k = 0; k < 4; k++) {
            uint64_t sum = (uint64_t)lane_dword(w, op, 2, k, lane) +
                           masked_sad((uint32_t)(bytes >> (8 * k)), reference);
            out[k] = in->clamp && sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
        }
        for (unsigned k = 0; k < 4; k++) {
            dst[k * EM_LANES + lane] = out[k];
        }
    }
    return EM_GO;
}

static enum em_flow run_nothing(struct em_wave *w, const struct em_op *op)
{
    (void)w;
    (void)op;
    return EM_GO;
}

bool em_bind_lane(struct em_op *op)
{
    const struct em_inst *in = &op->in;
    bool scalar_dst = in->dst.code < EM_SCALARS;
    bool vector_dst = em_is_vector(in->dst.code);
    switch (in->op) {
    case EM_v_nop:
    case EM_v_clrexcp: /* exceptions are not modelled */
        op->run = run_nothing;
        break;
    case EM_v_readfirstlane_b32:
        op->run = scalar_dst ? run_readfirstlane : NULL;
        break;
    case EM_v_readlane_b32:
        op->run = scalar_dst ? run_readlane : NULL;
        break;
    case EM_v_writelane_b32:
        op->run = vector_dst && !em_is_vector(in->src[0].code) ? run_writelane : NULL;
        break;
    case EM_v_swap_b32:
        op->run = vector_dst && em_is_vector(in->src[0].code) ? run_swap : NULL;
        break;
    case EM_v_mqsad_u32_u8:
        op->run = vector_dst ? run_mqsad_u32 : NULL;
        break;
    default:
        op->run = NULL;
        break;
    }
    if (op->run) {
        op->class = EM_CLASS_VALU;
    }
    return op->run != NULL;
}
