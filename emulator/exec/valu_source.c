/* Sources that are not plainly a register or a constant: DPP, SDWA, halves of packed
 * and of 16-bit operands, neg and abs. They are made in w->temp; registers are not
 * changed. */
#include "emulator/exec/valu_run.h"

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

/* v_fma_mix*: op_sel_hi says whether the operand is F32 or a half of the register; the
 * encoding's neg_hi is decoded as abs. */
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
    bool abs = in->abs >> i & 1;
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

static void value_source(struct em_wave *w,
                         const struct em_inst *in,
                         unsigned i,
                         struct em_rows *r)
{
    uint32_t *temp = w->temp[2 * i];
    if (in->extra == EM_DPP && i == 0) {
        for (unsigned dword = 0; dword < in->src[0].dwords; dword++) {
            em_dpp_row(in->dpp_ctrl, r->exec, r->s[0][dword], w->temp[dword]);
            r->s[0][dword] = w->temp[dword];
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

void em_valu_source(struct em_wave *w,
                    const struct em_op *op,
                    unsigned i,
                    struct em_rows *r)
{
    fetch(w, op, i, r);
    switch (em_valu_source_kind(op, i)) {
    case EM_SOURCE_MIX:
        mix_source(&op->in, i, r, w->temp[2 * i]);
        break;
    case EM_SOURCE_PACKED:
        packed_source(&op->in, i, r, w->temp[2 * i]);
        break;
    case EM_SOURCE_PACKED_WIDE:
        packed_wide_source(&op->in, i, r, w->temp[2 * i]);
        break;
    case EM_SOURCE_VALUE:
        value_source(w, &op->in, i, r);
        break;
    case EM_SOURCE_PLAIN:
    default:
        break;
    }
}

enum em_source_kind em_valu_classify(const struct em_inst *in, unsigned i)
{
    bool neg = in->neg >> i & 1;
    bool neg_hi = in->neg_hi >> i & 1;
    bool select = in->op_sel >> i & 1;
    bool select_hi = in->op_sel_hi >> i & 1;
    if (is_mix(in->op)) {
        return EM_SOURCE_MIX;
    }
    if (is_packed_wide(in, i)) {
        bool halves = select || (!select_hi && in->src[i].type == EM_PF32);
        return halves || neg || neg_hi ? EM_SOURCE_PACKED_WIDE : EM_SOURCE_PLAIN;
    }
    if (is_packed(in, i)) {
        return select || !select_hi || neg || neg_hi ? EM_SOURCE_PACKED
                                                     : EM_SOURCE_PLAIN;
    }
    bool dpp = in->extra == EM_DPP && i == 0;
    bool sdwa = in->extra == EM_SDWA && i < 2 && in->src_sel[i] != EM_SEL_DWORD;
    bool high = in->encoding == EM_VOP3 && select && em_is_16(in->src[i].type);
    bool abs = in->abs >> i & 1;
    return dpp || sdwa || high || neg || abs ? EM_SOURCE_VALUE : EM_SOURCE_PLAIN;
}
