/* Sources that are not plainly a register or a constant: DPP, SDWA, halves of packed
 * and of 16-bit operands, neg and abs. They are made in w->temp; registers are not
 * changed. */
#include "emulator/exec/valu_run.h"

enum {
    DPP_ROW_SHL = 0x100, /* + 1..15 */
    DPP_ROW_SHR = 0x110,
    DPP_ROW_ROR = 0x120,
    DPP_WAVE_SHL = 0x130,
    DPP_WAVE_ROL = 0x134,
    DPP_WAVE_SHR = 0x138,
    DPP_WAVE_ROR = 0x13c,
    DPP_ROW_MIRROR = 0x140,
    DPP_ROW_HALF_MIRROR = 0x141,
    DPP_ROW_BCAST15 = 0x142,
    DPP_ROW_BCAST31 = 0x143,
    DPP_ROW_NEWBCAST = 0x150, /* + 0..15 */
    ROW = 16                  /* lanes */
};

#define EACH_ROW UINT64_C(0x0001000100010001)

bool em_dpp_known(unsigned ctrl)
{
    switch (ctrl) {
    case DPP_WAVE_SHL:
    case DPP_WAVE_ROL:
    case DPP_WAVE_SHR:
    case DPP_WAVE_ROR:
    case DPP_ROW_MIRROR:
    case DPP_ROW_HALF_MIRROR:
    case DPP_ROW_BCAST15:
    case DPP_ROW_BCAST31:
        return true;
    default:
        return ctrl < DPP_ROW_SHL || (ctrl < DPP_WAVE_SHL && ctrl % ROW != 0) ||
               (ctrl >= DPP_ROW_NEWBCAST && ctrl < DPP_ROW_NEWBCAST + ROW);
    }
}

uint64_t em_dpp_enabled(const struct em_inst *in)
{
    uint64_t banks = _pdep_u64(in->bank_mask, 0x1111) * 0xf * EACH_ROW;
    return banks & _pdep_u64(in->row_mask, EACH_ROW) * 0xffff;
}

/* The bits of each byte in reverse order. */
static uint64_t reverse_bytes(uint64_t x)
{
    x = (x >> 1 & UINT64_C(0x5555555555555555)) | (x & UINT64_C(0x5555555555555555))
                                                      << 1;
    x = (x >> 2 & UINT64_C(0x3333333333333333)) | (x & UINT64_C(0x3333333333333333))
                                                      << 2;
    return (x >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (x & UINT64_C(0x0f0f0f0f0f0f0f0f))
                                                         << 4;
}

static uint64_t quad_perm_lanes(unsigned ctrl, uint64_t bits)
{
    uint64_t out = 0;
    for (unsigned i = 0; i < 4; i++) {
        out |= (bits >> (ctrl >> (2 * i) & 3) & UINT64_C(0x1111111111111111)) << i;
    }
    return out;
}

static uint64_t row_lanes(unsigned ctrl, uint64_t bits)
{
    unsigned n = ctrl % ROW;
    uint64_t low = (0xffffU >> n) * EACH_ROW;
    switch (ctrl - n) {
    case DPP_ROW_SHL:
        return bits >> n & low;
    case DPP_ROW_SHR:
        return (bits & low) << n;
    case DPP_ROW_ROR:
        return (bits & low) << n | (bits >> (ROW - n) & ~(low << n));
    default: /* DPP_ROW_NEWBCAST */
        return (bits >> n & EACH_ROW) * 0xffff;
    }
}

uint64_t em_dpp_lanes(unsigned ctrl, uint64_t bits)
{
    switch (ctrl) {
    case DPP_WAVE_SHL:
        return bits >> 1;
    case DPP_WAVE_ROL:
        return bits >> 1 | bits << 63;
    case DPP_WAVE_SHR:
        return bits << 1;
    case DPP_WAVE_ROR:
        return bits << 1 | bits >> 63;
    case DPP_ROW_MIRROR:
        bits = reverse_bytes(bits);
        return (bits >> 8 & UINT64_C(0x00ff00ff00ff00ff)) |
               (bits & UINT64_C(0x00ff00ff00ff00ff)) << 8;
    case DPP_ROW_HALF_MIRROR:
        return reverse_bytes(bits);
    case DPP_ROW_BCAST15:
        return (bits >> 15 & EACH_ROW) * 0xffff << ROW;
    case DPP_ROW_BCAST31:
        return (bits >> 31 & 1) * 0xffffffff << 32;
    default:
        return ctrl < DPP_ROW_SHL ? quad_perm_lanes(ctrl, bits) : row_lanes(ctrl, bits);
    }
}

static void quad_perm(unsigned ctrl, const uint32_t *src, uint32_t *dst)
{
    int a = (int)(ctrl & 3);
    int b = (int)(ctrl >> 2 & 3);
    int c = (int)(ctrl >> 4 & 3);
    int d = (int)(ctrl >> 6 & 3);
    __m256i index = _mm256_setr_epi32(a, b, c, d, a, b, c, d);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256 value = _mm256_castsi256_ps(em_load8(src, i));
        em_store8(dst, i, _mm256_castps_si256(_mm256_permutevar_ps(value, index)));
    }
}

/* dst[i] = src[first + step * i], within what `span` lanes hold. */
static void reverse_spans(unsigned span, const uint32_t *src, uint32_t *dst)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        dst[i] = src[i ^ (span - 1)];
    }
}

static void row_move(unsigned ctrl, const uint32_t *src, uint32_t *dst)
{
    unsigned n = ctrl % ROW;
    size_t moved = (ROW - n) * sizeof(*src);
    for (unsigned row = 0; row < EM_LANES; row += ROW) {
        const uint32_t *from = src + row;
        uint32_t *to = dst + row;
        switch (ctrl - n) {
        case DPP_ROW_SHL:
            memcpy(to, from + n, moved);
            memset(to + (ROW - n), 0, n * sizeof(*src));
            break;
        case DPP_ROW_SHR:
            memset(to, 0, n * sizeof(*src));
            memcpy(to + n, from, moved);
            break;
        case DPP_ROW_ROR:
            memcpy(to, from + (ROW - n), n * sizeof(*src));
            memcpy(to + n, from, moved);
            break;
        default: /* DPP_ROW_NEWBCAST */
            for (unsigned i = 0; i < ROW; i++) {
                to[i] = from[n];
            }
            break;
        }
    }
}

static void wave_move(unsigned ctrl, const uint32_t *src, uint32_t *dst)
{
    bool up = ctrl >= DPP_WAVE_SHR; /* to higher lanes */
    bool rotate = ctrl == DPP_WAVE_ROL || ctrl == DPP_WAVE_ROR;
    memcpy(dst + up, src + !up, (EM_LANES - 1) * sizeof(*src));
    dst[up ? 0 : EM_LANES - 1] = rotate ? src[up ? EM_LANES - 1 : 0] : 0;
}

static void row_bcast(unsigned ctrl, const uint32_t *src, uint32_t *dst)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        unsigned row = i & ~(ROW - 1U);
        bool none = ctrl == DPP_ROW_BCAST15 ? row == 0 : i < 32;
        unsigned from = ctrl == DPP_ROW_BCAST15 ? row - 1 : 31;
        dst[i] = none ? 0 : src[from];
    }
}

/* Lanes without a source get 0. */
static void dpp_row(unsigned ctrl, const uint32_t *src, uint32_t *dst)
{
    switch (ctrl) {
    case DPP_WAVE_SHL:
    case DPP_WAVE_ROL:
    case DPP_WAVE_SHR:
    case DPP_WAVE_ROR:
        wave_move(ctrl, src, dst);
        break;
    case DPP_ROW_MIRROR:
        reverse_spans(16, src, dst);
        break;
    case DPP_ROW_HALF_MIRROR:
        reverse_spans(8, src, dst);
        break;
    case DPP_ROW_BCAST15:
    case DPP_ROW_BCAST31:
        row_bcast(ctrl, src, dst);
        break;
    default:
        if (ctrl < DPP_ROW_SHL) {
            quad_perm(ctrl, src, dst);
        } else {
            row_move(ctrl, src, dst);
        }
        break;
    }
}

/* Lanes whose source lane is disabled by EXEC read 0 as those without one do (where the
 * instruction has bound_ctrl; else they store nothing). */
static void dpp_source(const struct em_inst *in,
                       uint64_t exec,
                       unsigned dword,
                       struct em_rows *r,
                       uint32_t *temp)
{
    dpp_row(in->dpp_ctrl, r->s[0][dword], temp);
    uint64_t valid = em_dpp_lanes(in->dpp_ctrl, exec);
    if (~valid) {
        for (unsigned i = 0; i < EM_LANES; i += 8) {
            __m256i mask = em_lanes8((uint32_t)(valid >> i) & 0xff);
            em_store8(temp, i, _mm256_and_si256(em_load8(temp, i), mask));
        }
    }
    r->s[0][dword] = temp;
}

/* dst = src >> shift, cut to `bits` and sign-extended or not. */
static void take_bits(const uint32_t *src, uint32_t *dst, unsigned select, bool sext)
{
    int shift =
        (int)(select < EM_SEL_WORD_0 ? select * 8 : (select - EM_SEL_WORD_0) * 16);
    int bits = select < EM_SEL_WORD_0 ? 8 : 16;
    __m128i left = _mm_cvtsi32_si128(32 - bits - shift);
    __m128i right = _mm_cvtsi32_si128(32 - bits);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i value = _mm256_sll_epi32(em_load8(src, i), left);
        em_store8(dst, i,
                  sext ? _mm256_sra_epi32(value, right)
                       : _mm256_srl_epi32(value, right));
    }
}

static bool is_float(unsigned type)
{
    return type == EM_F16 || type == EM_F32 || type == EM_F64 || type == EM_PF16 ||
           type == EM_PF32;
}

static bool is_mix(unsigned op)
{
    return op == EM_v_fma_mix_f32 || op == EM_v_fma_mixlo_f16 ||
           op == EM_v_fma_mixhi_f16;
}

/* Two 16-bit elements in a dword, of which op_sel and op_sel_hi choose. */
static bool is_packed(const struct em_inst *in, unsigned i)
{
    unsigned type = in->src[i].type;
    return in->encoding == EM_VOP3P &&
           (type == EM_PF16 || type == EM_PI16 || type == EM_PU16 || type == EM_PB16);
}

static bool is_packed_wide(const struct em_inst *in, unsigned i)
{
    return in->src[i].type == EM_PF32 || in->src[i].type == EM_PB32;
}

/* v = (v & keep) ^ flip in all lanes. */
static void change_sign(const uint32_t *src,
                        uint32_t *dst,
                        uint32_t keep,
                        uint32_t flip)
{
    __m256i all_keep = _mm256_set1_epi32((int)keep);
    __m256i all_flip = _mm256_set1_epi32((int)flip);
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i value = _mm256_and_si256(em_load8(src, i), all_keep);
        em_store8(dst, i, _mm256_xor_si256(value, all_flip));
    }
}

/* neg and abs of an operand that is one value. */
static void sign_source(const struct em_inst *in,
                        unsigned i,
                        struct em_rows *r,
                        uint32_t *temp)
{
    unsigned type = in->src[i].type;
    uint32_t sign = type == EM_F16 ? 0x8000 : 0x80000000;
    unsigned dword = in->src[i].dwords == 2;
    bool neg = in->neg >> i & 1;
    bool abs = in->abs >> i & 1;
    if (neg || abs) {
        temp += dword * EM_LANES;
        change_sign(r->s[i][dword], temp, abs ? ~sign : UINT32_MAX, neg ? sign : 0);
        r->s[i][dword] = temp;
    }
}

/* Both halves of a packed 16-bit operand, each one from either half of the register. */
static void packed_source(const struct em_inst *in,
                          unsigned i,
                          struct em_rows *r,
                          uint32_t *temp)
{
    bool low_high = in->op_sel >> i & 1;
    bool high_high = in->op_sel_hi >> i & 1;
    bool floats = is_float(in->src[i].type);
    uint32_t flip = (floats && (in->neg >> i & 1) ? 0x8000U : 0) |
                    (floats && (in->neg_hi >> i & 1) ? 0x80000000U : 0);
    if (!low_high && high_high && !flip) {
        return;
    }
    const __m256i high_mask = _mm256_set1_epi32((int)0xffff0000);
    const __m256i flips = _mm256_set1_epi32((int)flip);
    const uint32_t *src = r->s[i][0];
    for (unsigned lane = 0; lane < EM_LANES; lane += 8) {
        __m256i value = em_load8(src, lane);
        __m256i low = low_high ? _mm256_srli_epi32(value, 16)
                               : _mm256_andnot_si256(high_mask, value);
        __m256i high = high_high ? _mm256_and_si256(value, high_mask)
                                 : _mm256_slli_epi32(value, 16);
        em_store8(temp, lane, _mm256_xor_si256(_mm256_or_si256(low, high), flips));
    }
    r->s[i][0] = temp;
}

/* Both halves of a packed 32-bit operand. v_pk_mov_b32 takes one half of each. */
static void packed_wide_source(const struct em_inst *in,
                               unsigned i,
                               struct em_rows *r,
                               uint32_t *temp)
{
    const uint32_t *pair[2] = { r->s[i][0], r->s[i][1] };
    r->s[i][0] = pair[in->op_sel >> i & 1];
    if (in->src[i].type == EM_PB32) {
        r->s[i][1] = r->s[i][0];
        return;
    }
    r->s[i][1] = pair[in->op_sel_hi >> i & 1];
    uint32_t flip[2] = { (in->neg >> i & 1) ? 0x80000000U : 0,
                         (in->neg_hi >> i & 1) ? 0x80000000U : 0 };
    /* A broadcast half is in temp already: both halves are read before being written.
     */
    if (flip[0] | flip[1]) {
        for (unsigned lane = 0; lane < EM_LANES; lane++) {
            uint32_t low = r->s[i][0][lane] ^ flip[0];
            uint32_t high = r->s[i][1][lane] ^ flip[1];
            temp[lane] = low;
            temp[EM_LANES + lane] = high;
        }
        r->s[i][0] = temp;
        r->s[i][1] = temp + EM_LANES;
    }
}

/* v_fma_mix*: op_sel_hi says whether the operand is F32 or a half of the register; its
 * neg_hi is abs. */
static void mix_source(const struct em_inst *in,
                       unsigned i,
                       struct em_rows *r,
                       uint32_t *temp)
{
    if (in->op_sel_hi >> i & 1) {
        take_bits(r->s[i][0], temp, in->op_sel >> i & 1 ? EM_SEL_WORD_1 : EM_SEL_WORD_0,
                  false);
        for (unsigned lane = 0; lane < EM_LANES; lane += 8) {
            __m256i words = em_load8(temp, lane);
            __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(words),
                                              _mm256_extracti128_si256(words, 1));
            em_store8(temp, lane, _mm256_castps_si256(_mm256_cvtph_ps(halves)));
        }
        r->s[i][0] = temp;
    }
    bool neg = in->neg >> i & 1;
    bool abs = in->neg_hi >> i & 1;
    if (neg || abs) {
        change_sign(r->s[i][0], temp, abs ? 0x7fffffff : UINT32_MAX,
                    neg ? 0x80000000 : 0);
        r->s[i][0] = temp;
    }
}

static void fetch(struct em_wave *w,
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
    if (is_mix(op->in.op)) {
        o.type = op->in.op_sel_hi >> i & 1 ? EM_F16 : EM_F32;
        value[0] = em_scalar32(w, &op->in, o);
        value[1] = 0;
    } else {
        em_valu_scalar(w, op, i, value);
    }
    for (unsigned dword = 0; dword < 2; dword++) {
        r->s[i][dword] = w->temp[2 * i + dword];
        em_fill(w->temp[2 * i + dword], value[dword]);
    }
}

static void sdwa_source(const struct em_inst *in,
                        unsigned i,
                        struct em_rows *r,
                        uint32_t *temp)
{
    if (in->src_sel[i] < EM_SEL_DWORD) {
        take_bits(r->s[i][0], temp, in->src_sel[i], in->sext >> i & 1);
        r->s[i][0] = temp;
    }
}

void em_valu_source(struct em_wave *w,
                    const struct em_op *op,
                    unsigned i,
                    struct em_rows *r)
{
    const struct em_inst *in = &op->in;
    uint32_t *temp = w->temp[2 * i];
    fetch(w, op, i, r);
    if (is_mix(in->op)) {
        mix_source(in, i, r, temp);
        return;
    }
    if (is_packed_wide(in, i)) {
        packed_wide_source(in, i, r, temp);
        return;
    }
    if (is_packed(in, i)) {
        packed_source(in, i, r, temp);
        return;
    }
    if (in->extra == EM_DPP && i == 0) {
        for (unsigned dword = 0; dword < in->src[0].dwords; dword++) {
            dpp_source(in, r->exec, dword, r, w->temp[dword]);
        }
    }
    if (in->extra == EM_SDWA && i < 2) {
        sdwa_source(in, i, r, temp);
    }
    if (in->encoding == EM_VOP3 && (in->op_sel >> i & 1) && em_is_16(in->src[i].type)) {
        take_bits(r->s[i][0], temp, EM_SEL_WORD_1, false);
        r->s[i][0] = temp;
    }
    sign_source(in, i, r, temp);
}

bool em_valu_source_changed(const struct em_inst *in, unsigned sources)
{
    unsigned used = (1U << sources) - 1;
    if (in->extra != EM_PLAIN || is_mix(in->op) || ((in->neg | in->abs) & used) ||
        (in->op_sel & used)) {
        return true;
    }
    return in->encoding == EM_VOP3P && (is_packed(in, 0) || is_packed_wide(in, 0)) &&
           ((in->neg_hi & used) || (in->op_sel_hi & used) != used);
}
