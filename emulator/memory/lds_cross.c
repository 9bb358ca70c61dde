/* DS operations that move values between lanes and touch no LDS. A lane that is not
 * active gives 0. */
#include "emulator/memory/lds.h"

#include "emulator/check/shadow.h"

/* from[i]: the lane that lane i reads. */
static enum em_flow gather(struct em_wave *w,
                           const struct em_op *op,
                           struct em_operand data,
                           uint8_t *from)
{
    uint64_t exec = em_exec(w);
    uint32_t out[EM_LANES];
    const uint32_t *source = em_row(w, data.code);
    for (unsigned i = 0; i < EM_LANES; i++) {
        out[i] = exec >> from[i] & 1 ? source[from[i]] : 0;
    }
    uint32_t *row = em_row(w, op->in.dst.code);
    for (uint64_t left = exec; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        row[i] = out[i];
    }
    if (w->shadow) {
        uint64_t known = em_shadow_get(w->shadow, data) | ~exec;
        uint64_t written = 0;
        for (unsigned i = 0; i < EM_LANES; i++) {
            written |= (known >> from[i] & 1) << i;
        }
        em_shadow_set(w->shadow, op->in.dst, exec, written);
        em_lds_issued(w, op);
    }
    return EM_GO;
}

static unsigned reverse_5(unsigned value)
{
    return (value & 1) << 4 | (value & 2) << 2 | (value & 4) | (value & 8) >> 2 |
           (value & 16) >> 4;
}

/* The lane that lane i reads: in its own half of the wave but for quads, which never
 * leave four lanes. */
static unsigned swizzled(unsigned offset, unsigned i)
{
    unsigned low = offset & 0x1f;
    unsigned lane = i & 0x1f;
    if (offset >= 0xe000) { /* decomposition of an FFT */
        lane = reverse_5(lane) >> __builtin_popcount(low) | (lane & low);
    } else if (offset >= 0xc000) { /* rotation */
        unsigned by = offset >> 5 & 0x1f;
        unsigned turned = offset >> 10 & 1 ? lane - by : lane + by;
        lane = (lane & low) | (turned & ~low & 0x1f);
    } else if (offset >= 0x8000) { /* quads */
        lane = (lane & 0x1c) | (offset >> (2 * (lane & 3)) & 3);
    } else {
        lane = ((lane & low) | (offset >> 5 & 0x1f)) ^ (offset >> 10 & 0x1f);
    }
    return (i & 0x20) | (lane & 0x1f);
}

static enum em_flow run_swizzle(struct em_wave *w, const struct em_op *op)
{
    uint8_t from[EM_LANES];
    for (unsigned i = 0; i < EM_LANES; i++) {
        from[i] = (uint8_t)swizzled((unsigned)op->in.offset & 0xffff, i);
    }
    return gather(w, op, op->in.src[0], from);
}

/* Lane numbers are bytes addresses: lane 1 is 4. */
static enum em_flow run_bpermute(struct em_wave *w, const struct em_op *op)
{
    if (w->shadow &&
        em_shadow_use(w, op, op->in.src[0], em_exec(w), "lane number") != EM_GO) {
        return EM_FAULTED;
    }
    uint8_t from[EM_LANES];
    const uint32_t *index = em_row(w, op->in.src[0].code);
    for (unsigned i = 0; i < EM_LANES; i++) {
        from[i] = (index[i] + (uint32_t)op->in.offset) >> 2 & 63;
    }
    return gather(w, op, op->in.src[1], from);
}

/* Every active lane sends its value; where two meet, the higher lane's stays. */
static enum em_flow run_permute(struct em_wave *w, const struct em_op *op)
{
    uint64_t exec = em_exec(w);
    if (w->shadow &&
        em_shadow_use(w, op, op->in.src[0], exec, "lane number") != EM_GO) {
        return EM_FAULTED;
    }
    uint64_t known = w->shadow ? em_shadow_get(w->shadow, op->in.src[1]) : 0;
    uint64_t written = UINT64_MAX;
    uint32_t out[EM_LANES] = { 0 };
    const uint32_t *index = em_row(w, op->in.src[0].code);
    const uint32_t *source = em_row(w, op->in.src[1].code);
    for (uint64_t left = exec; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        unsigned to = (index[i] + (uint32_t)op->in.offset) >> 2 & 63;
        out[to] = source[i];
        written = (written & ~(UINT64_C(1) << to)) | (known >> i & 1) << to;
    }
    uint32_t *row = em_row(w, op->in.dst.code);
    for (uint64_t left = exec; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        row[i] = out[i];
    }
    if (w->shadow) {
        em_shadow_set(w->shadow, op->in.dst, exec, written);
        em_lds_issued(w, op);
    }
    return EM_GO;
}

em_run_fn em_lds_cross(enum em_opcode op)
{
    return op == EM_ds_swizzle_b32    ? run_swizzle
           : op == EM_ds_permute_b32  ? run_permute
           : op == EM_ds_bpermute_b32 ? run_bpermute
                                      : NULL;
}
