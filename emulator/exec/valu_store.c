/* Results on their way to the destination: omod, clamp of floating-point values, the
 * part of the register that is written (16-bit halves, SDWA), and EXEC. */
#include "emulator/exec/valu_run.h"

#include "emulator/exec/bits.h"

/* The precision that clamp and omod see. */
enum float_kind {
    NO_FLOAT,
    HALF,
    HALF_PAIR,
    SINGLE,
    SINGLE_PAIR,
    DOUBLE
};

static enum float_kind kind_of(const struct em_inst *in)
{
    switch (in->dst.type) {
    case EM_F16:
        return HALF;
    case EM_PF16:
        return HALF_PAIR;
    case EM_F32:
        return SINGLE;
    case EM_PF32:
        return SINGLE_PAIR;
    case EM_F64:
        return DOUBLE;
    default:
        return NO_FLOAT;
    }
}

/* Between 0 and 1; NaN is 0 with DX10_CLAMP, and kept without. */
static float clamp_single(float x, bool nan_zero)
{
    if (!nan_zero && x != x) {
        return x;
    }
    return x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F;
}

static double clamp_double(double x, bool nan_zero)
{
    if (!nan_zero && x != x) {
        return x;
    }
    return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0;
}

static void clamp_singles(uint32_t *row, bool nan_zero)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        row[i] = em_bits_f32(clamp_single(em_f32_of(row[i]), nan_zero));
    }
}

/* On the bits: negative (NaN apart) is 0, above 1.0 is 1.0. */
static uint32_t clamp_half(uint32_t half, bool nan_zero)
{
    half &= 0xffff;
    if ((half & 0x7fff) > 0x7c00) {
        return nan_zero ? 0 : half;
    }
    if (half & 0x8000) {
        return 0;
    }
    return half > 0x3c00 ? 0x3c00 : half;
}

static void clamp_halves(uint32_t *row, bool pair, bool nan_zero)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint32_t high = pair ? clamp_half(row[i] >> 16, nan_zero) << 16 : 0;
        row[i] = clamp_half(row[i], nan_zero) | high;
    }
}

static void clamp_doubles(uint32_t *low, uint32_t *high, bool nan_zero)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t bits = (uint64_t)high[i] << 32 | low[i];
        bits = em_bits_f64(clamp_double(em_f64_of(bits), nan_zero));
        low[i] = (uint32_t)bits;
        high[i] = (uint32_t)(bits >> 32);
    }
}

static void clamp_rows(enum float_kind kind, struct em_rows *r)
{
    bool nan_zero = r->mode & EM_MODE_DX10_CLAMP;
    switch (kind) {
    case HALF:
    case HALF_PAIR:
        clamp_halves(r->d[0], kind == HALF_PAIR, nan_zero);
        break;
    case SINGLE:
        clamp_singles(r->d[0], nan_zero);
        break;
    case SINGLE_PAIR:
        clamp_singles(r->d[0], nan_zero);
        clamp_singles(r->d[1], nan_zero);
        break;
    case DOUBLE:
        clamp_doubles(r->d[0], r->d[1], nan_zero);
        break;
    case NO_FLOAT:
    default:
        break;
    }
}

/* Denormals are flushed where omod acts, and -0 becomes 0. */
static void scale_singles(uint32_t *row, float factor)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint32_t bits = em_bits_f32(em_f32_of(row[i]) * factor);
        row[i] = (bits & 0x7f800000) ? bits : 0;
    }
}

static void scale_halves(uint32_t *row, float factor)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        __m128 x = _mm_cvtph_ps(_mm_cvtsi32_si128((int)(row[i] & 0xffff)));
        x = _mm_mul_ss(x, _mm_set_ss(factor));
        __m128i half = _mm_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        uint32_t bits = (uint32_t)_mm_cvtsi128_si32(half) & 0xffff;
        row[i] = (bits & 0x7c00) ? bits : 0;
    }
}

static void scale_doubles(uint32_t *low, uint32_t *high, double factor)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint64_t bits = (uint64_t)high[i] << 32 | low[i];
        bits = em_bits_f64(em_f64_of(bits) * factor);
        bits = (bits >> 52 & 0x7ff) ? bits : 0;
        low[i] = (uint32_t)bits;
        high[i] = (uint32_t)(bits >> 32);
    }
}

/* Output modifiers are ignored with the IEEE bit and where denormal results are kept.
 */
static void scale_rows(enum float_kind kind, unsigned omod, struct em_rows *r)
{
    static const float factors[4] = { 1.0F, 2.0F, 4.0F, 0.5F };
    bool single = kind == SINGLE || kind == SINGLE_PAIR;
    uint32_t kept = single ? 2U << 4 : 2U << 6;
    if ((r->mode & EM_MODE_IEEE) || (r->mode & kept)) {
        return;
    }
    float factor = factors[omod & 3];
    if (kind == SINGLE) {
        scale_singles(r->d[0], factor);
    } else if (kind == HALF) {
        scale_halves(r->d[0], factor);
    } else if (kind == DOUBLE) {
        scale_doubles(r->d[0], r->d[1], (double)factor);
    }
}

enum em_part em_valu_part(const struct em_inst *in)
{
    static const enum em_part bytes[4] = { EM_PART_BYTE_0, EM_PART_BYTE_1,
                                           EM_PART_BYTE_2, EM_PART_BYTE_3 };
    bool high = in->op_sel & 8;
    switch (in->op) {
    case EM_v_cvt_sr_fp8_f32:
    case EM_v_cvt_sr_bf8_f32:
        return bytes[in->op_sel >> 2 & 3];
    case EM_v_fma_mixhi_f16:
        return EM_PART_HIGH;
    /* Those that came with gfx9 preserve the half that they do not write; their elders
     * write zeros to it. */
    case EM_v_fma_mixlo_f16:
    case EM_v_mac_f16:
    case EM_v_madmk_f16:
    case EM_v_madak_f16:
    case EM_v_mad_f16:
    case EM_v_mad_u16:
    case EM_v_mad_i16:
    case EM_v_fma_f16:
    case EM_v_div_fixup_f16:
    case EM_v_min3_f16:
    case EM_v_max3_f16:
    case EM_v_med3_f16:
    case EM_v_min3_i16:
    case EM_v_max3_i16:
    case EM_v_med3_i16:
    case EM_v_min3_u16:
    case EM_v_max3_u16:
    case EM_v_med3_u16:
    case EM_v_add_i16:
    case EM_v_sub_i16:
    case EM_v_cvt_pk_fp8_f32:
    case EM_v_cvt_pk_bf8_f32:
        return high ? EM_PART_HIGH : EM_PART_LOW;
    default:
        return high && em_is_16(in->dst.type) ? EM_PART_HIGH : EM_PART_ALL;
    }
}

/* result << shift into the bits of `mask`, the others from `old`. */
static void place(uint32_t *row, const uint32_t *old, unsigned shift, uint32_t mask)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        row[i] = (row[i] << shift & mask) | (old[i] & ~mask);
    }
}

static void place_part(enum em_part part, uint32_t *row, const uint32_t *old)
{
    if (part == EM_PART_LOW) {
        place(row, old, 0, 0xffff);
    } else if (part == EM_PART_HIGH) {
        place(row, old, 16, 0xffff0000);
    } else if (part >= EM_PART_BYTE_0) {
        unsigned shift = 8 * (unsigned)(part - EM_PART_BYTE_0);
        place(row, old, shift, 0xffU << shift);
    }
}

/* SDWA: dst_sel chooses where the result's low bits go; the other bits are 0, the sign
 * above them, or what they were. */
static void place_sdwa(const struct em_inst *in, uint32_t *row, const uint32_t *old)
{
    if (in->dst_sel >= EM_SEL_DWORD) {
        return;
    }
    bool byte = in->dst_sel < EM_SEL_WORD_0;
    unsigned bits = byte ? 8 : 16;
    unsigned shift = byte ? in->dst_sel * 8U : (in->dst_sel - EM_SEL_WORD_0) * 16U;
    uint32_t mask = (byte ? 0xffU : 0xffffU) << shift;
    if (in->dst_unused == 2) {
        place(row, old, shift, mask);
        return;
    }
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint32_t value = row[i] << (32 - bits);
        uint32_t above = in->dst_unused == 1 && (value >> 31) ? UINT32_MAX : 0;
        row[i] = value >> (32 - bits) << shift | (above & ~(mask | (mask - 1)));
    }
}

void em_valu_store(struct em_wave *w,
                   const struct em_op *op,
                   struct em_rows *r,
                   uint64_t lanes)
{
    const struct em_inst *in = &op->in;
    struct em_valu_plan plan = em_valu_plan_of(op);
    enum float_kind kind = kind_of(in);
    if (in->omod) {
        scale_rows(kind, in->omod, r);
    }
    if (in->clamp) {
        clamp_rows(kind, r);
    }
    uint32_t *dst = em_row(w, in->dst.code);
    place_part((enum em_part)plan.part, r->d[0], dst);
    if (in->extra == EM_SDWA) {
        place_sdwa(in, r->d[0], dst);
    }
    em_blend(dst, r->d[0], lanes);
    if (plan.wide & 8) {
        em_blend(dst + EM_LANES, r->d[1], lanes);
    }
}

bool em_valu_store_changed(const struct em_inst *in)
{
    bool floats = kind_of(in) != NO_FLOAT;
    bool sdwa = in->extra == EM_SDWA && in->dst_sel != EM_SEL_DWORD;
    return sdwa || (floats && (in->omod || in->clamp));
}
