/* Matrix products as the hardware of gfx942 rounds them. What is known of it comes from
 * measurements that others published as a model; the rule, for F16, BF16, XF32, FP8,
 * BF8:
 *
 * The products of an output are taken in groups (F16, BF16: 8, or 4 where there are no
 * more; XF32: 4, of operands cut to 10 bits behind the point; FP8 and BF8: 16). A
 * product is exact, and its exponent is the sum of its operands' (that of a denormal is
 * its type's lowest, that of a zero is -126). Each is cut, toward zero, to 24 bits
 * behind the point of the largest exponent in the group, and they are added up without
 * loss. FP8 and BF8: the even and the odd ones apart, then both cut, toward minus
 * infinity, to 24 bits behind the point of the larger exponent and added. Then the sum
 * and C are cut, toward minus infinity, to 31 and 24 bits behind the point of the
 * larger exponent (FP8, BF8: a C whose exponent is more than 25 below is left out),
 * added, and rounded to nearest even: C of the next group. A product of 2^128 or more
 * is an infinity. A sum of zero is +0. NaN results are 0x7fc00000.
 *
 * Eight outputs of a row at a time; what is infinite, NaN or overflows is done again,
 * one by one. Where no product leaves the range of F32, values are multiplied as they
 * are
 * (`direct`), else significand and exponent apart. */
#include "emulator/exec/mfma.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    NOT_FINITE = 400, /* an exponent above any sum of two */
    OVERFLOW = 127,   /* a product with this exponent may reach 2^128 */
    DIRECT_LOWEST = -100
};

/* An operand, split; row s of the stage is lane s * 64 on. */
struct split {
    _Alignas(64) union {
        float significand[EM_MFMA_SLOTS][EM_LANES];
        int16_t packed[EM_MFMA_SLOTS][EM_LANES]; /* B of pack_exponents */
    };
    _Alignas(64) int32_t exponent[EM_MFMA_SLOTS][EM_LANES];
    _Alignas(64) int32_t top[EM_LANES]; /* largest exponent of the lane; NOT_FINITE */
    int highest, lowest;                /* of all, zeros apart */
};

/* A's and B's values or significands, and exponents, from the output's own lane on. */
struct source {
    const float *a, *b;
    const int32_t *exponent_a, *exponent_b;
    const int16_t *packed_b;
};

/* What a kernel is made for. */
struct kind {
    unsigned group;
    bool halves, direct;
    bool spread;  /* A: one element among each four lanes (4 x 4), else one for all */
    __m256i lane; /* spread: which element */
};

INLINE __m256i load_i(const void *from)
{
    return _mm256_loadu_si256(from);
}

static int largest(__m256i x)
{
    int32_t lane[8];
    _mm256_storeu_si256((void *)lane, x);
    int ret = lane[0];
    for (unsigned i = 1; i < 8; i++) {
        ret = lane[i] > ret ? lane[i] : ret;
    }
    return ret;
}

/* Needed where `direct` is not possible, which is BF16 and XF32 alone. */
static void split_significands(const struct em_mfma_stage *stage, struct split *ret)
{
    const __m256i one = _mm256_set1_epi32(0x3f800000);
    const __m256i keep = _mm256_set1_epi32((int)0x807fffff);
    const __m256 denormal = _mm256_set1_ps(0x1p126F);
    const __m256i lowest = _mm256_set1_epi32(-126);
    for (unsigned s = 0; s < stage->slots; s++) {
        for (unsigned l = 0; l < EM_LANES; l += 8) {
            __m256 x = _mm256_load_ps(&stage->f[s][l]);
            __m256i bits = _mm256_castps_si256(x);
            __m256i e = load_i(&ret->exponent[s][l]);
            __m256i normal = _mm256_or_si256(_mm256_and_si256(bits, keep), one);
            __m256i is_normal = _mm256_cmpgt_epi32(e, lowest);
            __m256 scaled = _mm256_mul_ps(x, denormal);
            _mm256_store_ps(&ret->significand[s][l],
                            _mm256_blendv_ps(scaled, _mm256_castsi256_ps(normal),
                                             _mm256_castsi256_ps(is_normal)));
        }
    }
}

static void split_exponents(const struct em_mfma_stage *stage,
                            int lowest,
                            struct split *ret)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i least = _mm256_set1_epi32(lowest);
    __m256i high = _mm256_set1_epi32(-126);
    __m256i low = zero; /* of the negated exponents, the largest */
    for (unsigned l = 0; l < EM_LANES; l += 8) {
        __m256i top = _mm256_set1_epi32(-126);
        for (unsigned s = 0; s < stage->slots; s++) {
            __m256i bits = _mm256_slli_epi32(load_i(&stage->f[s][l]), 1);
            __m256i is_zero = _mm256_cmpeq_epi32(bits, zero);
            __m256i e =
                _mm256_sub_epi32(_mm256_srli_epi32(bits, 24), _mm256_set1_epi32(127));
            __m256i infinite = _mm256_cmpeq_epi32(e, _mm256_set1_epi32(128));
            e = _mm256_max_epi32(e, least);
            low = _mm256_max_epi32(
                low, _mm256_andnot_si256(is_zero, _mm256_sub_epi32(zero, e)));
            e = _mm256_blendv_epi8(e, _mm256_set1_epi32(-126), is_zero);
            _mm256_store_si256((void *)&ret->exponent[s][l], e);
            e = _mm256_blendv_epi8(e, _mm256_set1_epi32(NOT_FINITE), infinite);
            top = _mm256_max_epi32(top, e);
        }
        _mm256_store_si256((void *)&ret->top[l], top);
        high = _mm256_max_epi32(high, top);
    }
    ret->highest = largest(high);
    ret->lowest = -largest(low);
}

/* For sixteen columns at a time: B's exponents in 16 bits, A's twice in 32. */
static void pack_exponents(unsigned slots_a,
                           unsigned slots_b,
                           struct split *a,
                           struct split *b)
{
    for (unsigned s = 0; s < slots_a; s++) {
        for (unsigned l = 0; l < EM_LANES; l++) {
            uint32_t e = (uint32_t)a->exponent[s][l];
            a->exponent[s][l] = (int32_t)(e << 16 | (e & 0xffff));
        }
    }
    for (unsigned s = 0; s < slots_b; s++) {
        for (unsigned l = 0; l < EM_LANES; l++) {
            b->packed[s][l] = (int16_t)b->exponent[s][l];
        }
    }
}

/* 2^(24 - top): what gives a product 24 bits behind the point of `top`. Where that is
 * out of range, all products of the group are 0. */
INLINE __m256 group_scale(__m256i top)
{
    __m256i field = _mm256_sub_epi32(_mm256_set1_epi32(127 + 24), top);
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_min_epi32(field, _mm256_set1_epi32(254)), 23));
}

/* The products of a group, cut and added up. */
INLINE __m256i add_up(const struct source *from,
                      const uint16_t *at_a,
                      const uint16_t *at_b,
                      struct kind kind,
                      __m256i *ret_exponent)
{
    __m256i e[8];
    __m256i top = _mm256_set1_epi32(-1000);
    for (unsigned p = 0; p < kind.group; p++) {
        const int32_t *x = from->exponent_a + at_a[p];
        __m256i a = kind.spread ? _mm256_permutevar8x32_epi32(load_i(x), kind.lane)
                                : _mm256_set1_epi32(*x);
        e[p] = _mm256_add_epi32(a, load_i(from->exponent_b + at_b[p]));
        top = _mm256_max_epi32(top, e[p]);
    }
    *ret_exponent = top;
    __m256i scale = _mm256_sub_epi32(_mm256_set1_epi32(127 + 24), top);
    __m256 all = group_scale(top);
    __m256i sum = _mm256_setzero_si256();
    for (unsigned p = 0; p < kind.group; p++) {
        const float *x = from->a + at_a[p];
        __m256 a = kind.spread ? _mm256_permutevar8x32_ps(_mm256_loadu_ps(x), kind.lane)
                               : _mm256_broadcast_ss(x);
        __m256 product = _mm256_mul_ps(a, _mm256_loadu_ps(from->b + at_b[p]));
        if (!kind.direct) {
            __m256i own = _mm256_add_epi32(e[p], scale);
            own = _mm256_max_epi32(own, _mm256_setzero_si256());
            all = _mm256_castsi256_ps(_mm256_slli_epi32(own, 23));
        }
        sum = _mm256_add_epi32(sum, _mm256_cvttps_epi32(_mm256_mul_ps(product, all)));
    }
    return sum;
}

/* The same for sixteen columns, and where no product needs a scale of its own. */
INLINE void add_up_wide(const struct source *from,
                        const uint16_t *at_a,
                        const uint16_t *at_b,
                        unsigned step,
                        unsigned count,
                        __m256i ret[2],
                        __m256i ret_exponent[2])
{
    __m256i top = _mm256_set1_epi16(-1000);
    for (unsigned p = 0; p < count; p += step) {
        __m256i a = _mm256_set1_epi32(from->exponent_a[at_a[p]]);
        __m256i e = _mm256_add_epi16(a, load_i(from->packed_b + at_b[p]));
        top = _mm256_max_epi16(top, e);
    }
    ret_exponent[0] = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(top));
    ret_exponent[1] = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(top, 1));
    __m256 low = group_scale(ret_exponent[0]);
    __m256 high = group_scale(ret_exponent[1]);
    ret[0] = ret[1] = _mm256_setzero_si256();
    for (unsigned p = 0; p < count; p += step) {
        __m256 a = _mm256_broadcast_ss(from->a + at_a[p]);
        __m256 x = _mm256_mul_ps(a, _mm256_loadu_ps(from->b + at_b[p]));
        __m256 y = _mm256_mul_ps(a, _mm256_loadu_ps(from->b + at_b[p] + 8));
        x = _mm256_mul_ps(x, low);
        y = _mm256_mul_ps(y, high);
        ret[0] = _mm256_add_epi32(ret[0], _mm256_cvttps_epi32(x));
        ret[1] = _mm256_add_epi32(ret[1], _mm256_cvttps_epi32(y));
    }
}

/* 2^x as doubles; -1023 < x < 1024. */
INLINE __m256d power(__m128i x)
{
    __m128i field = _mm_add_epi32(x, _mm_set1_epi32(1023));
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_cvtepi32_epi64(field), 52));
}

/* floor(sum * 2^(7 - down)) + c * 2^7, of 2^(e - 31), rounded. All but the rounding is
 * exact in a double. */
INLINE __m128 round_sum(__m128i sum, __m128i down, __m128i c, __m128i e)
{
    __m256d total = _mm256_mul_pd(_mm256_cvtepi32_pd(sum),
                                  power(_mm_sub_epi32(_mm_set1_epi32(7), down)));
    total = _mm256_floor_pd(total);
    total = _mm256_fmadd_pd(_mm256_cvtepi32_pd(c), _mm256_set1_pd(128), total);
    return _mm256_cvtpd_ps(
        _mm256_mul_pd(total, power(_mm_sub_epi32(e, _mm_set1_epi32(31)))));
}

INLINE __m256 add_c(__m256i sum, __m256i exponent, __m256 c, bool halves)
{
    __m256i bits = _mm256_castps_si256(c);
    __m256i field = _mm256_srli_epi32(_mm256_slli_epi32(bits, 1), 24);
    __m256i ec = _mm256_sub_epi32(_mm256_max_epi32(field, _mm256_set1_epi32(1)),
                                  _mm256_set1_epi32(127));
    __m256i hidden =
        _mm256_slli_epi32(_mm256_min_epi32(field, _mm256_set1_epi32(1)), 23);
    __m256i units =
        _mm256_or_si256(_mm256_and_si256(bits, _mm256_set1_epi32(0x7fffff)), hidden);
    __m256i sign = _mm256_srai_epi32(bits, 31);
    units = _mm256_add_epi32(units, units);
    units = _mm256_sub_epi32(_mm256_xor_si256(units, sign), sign);
    __m256i e = _mm256_max_epi32(exponent, ec);
    __m256i down_c = _mm256_sub_epi32(e, ec);
    units = _mm256_srav_epi32(units, down_c);
    if (halves) {
        __m256i out = _mm256_cmpgt_epi32(down_c, _mm256_set1_epi32(25));
        units = _mm256_andnot_si256(out, units);
    }
    __m256i down = _mm256_sub_epi32(e, exponent);
    __m128 low = round_sum(_mm256_castsi256_si128(sum), _mm256_castsi256_si128(down),
                           _mm256_castsi256_si128(units), _mm256_castsi256_si128(e));
    __m128 high =
        round_sum(_mm256_extracti128_si256(sum, 1), _mm256_extracti128_si256(down, 1),
                  _mm256_extracti128_si256(units, 1), _mm256_extracti128_si256(e, 1));
    /* C of the group before may have become infinite. */
    __m256i infinite = _mm256_cmpeq_epi32(field, _mm256_set1_epi32(255));
    return _mm256_blendv_ps(_mm256_set_m128(high, low), c,
                            _mm256_castsi256_ps(infinite));
}

INLINE __m256 one_nan(__m256 c)
{
    __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
    return _mm256_blendv_ps(c, nan, _mm256_cmp_ps(c, c, _CMP_UNORD_Q));
}

/* Even and odd products' sums, cut at the larger exponent, which *e becomes. */
INLINE __m256i join(__m256i even, __m256i odd, __m256i odd_e, __m256i *e)
{
    __m256i top = _mm256_max_epi32(*e, odd_e);
    even = _mm256_srav_epi32(even, _mm256_sub_epi32(top, *e));
    odd = _mm256_srav_epi32(odd, _mm256_sub_epi32(top, odd_e));
    *e = top;
    return _mm256_add_epi32(even, odd);
}

INLINE __m256 add_groups(const struct source *from,
                         const uint16_t *at_a,
                         const uint16_t *at_b,
                         unsigned products,
                         struct kind kind,
                         __m256 c)
{
    c = one_nan(c);
    for (unsigned p = 0; p < products; p += kind.group) {
        __m256i e;
        __m256i sum = add_up(from, at_a + p, at_b + p, kind, &e);
        c = add_c(sum, e, c, false);
    }
    return c;
}

INLINE void add_groups_wide(const struct source *from,
                            const uint16_t *at_a,
                            const uint16_t *at_b,
                            unsigned products,
                            struct kind kind,
                            __m256 c[2])
{
    c[0] = one_nan(c[0]);
    c[1] = one_nan(c[1]);
    for (unsigned p = 0; p < products; p += kind.group) {
        __m256i e[2];
        __m256i sum[2];
        add_up_wide(from, at_a + p, at_b + p, kind.halves ? 2 : 1, kind.group, sum, e);
        if (kind.halves) {
            __m256i odd[2];
            __m256i odd_e[2];
            add_up_wide(from, at_a + p + 1, at_b + p + 1, 2, kind.group, odd, odd_e);
            sum[0] = join(sum[0], odd[0], odd_e[0], &e[0]);
            sum[1] = join(sum[1], odd[1], odd_e[1], &e[1]);
        }
        c[0] = add_c(sum[0], e[0], c[0], kind.halves);
        c[1] = add_c(sum[1], e[1], c[1], kind.halves);
    }
}

static struct source source_at(const struct em_mfma_job *job,
                               const struct split *a,
                               const struct split *b,
                               bool direct)
{
    struct source ret = { direct ? job->a.f[0] : a->significand[0],
                          direct ? job->b.f[0] : b->significand[0], a->exponent[0],
                          b->exponent[0], b->packed[0] };
    return ret;
}

static struct source moved(const struct source *from, unsigned lane_a, unsigned lane_b)
{
    struct source ret = { from->a + lane_a, from->b + lane_b, from->exponent_a + lane_a,
                          from->exponent_b + lane_b, from->packed_b + lane_b };
    return ret;
}

INLINE __m256 load_acc(const uint32_t *from)
{
    return _mm256_loadu_ps((const float *)(const void *)from);
}

INLINE void store_acc(uint32_t *to, __m256 value)
{
    _mm256_storeu_ps((float *)(void *)to, value);
}

INLINE void sixteen_columns(const struct em_mfma_job *job,
                            const struct source *from,
                            const uint16_t *at_a,
                            const uint16_t *at_b,
                            size_t at,
                            struct kind kind)
{
    __m256 c[2] = { load_acc(job->c + at), load_acc(job->c + at + 8) };
    unsigned products = em_mfma_k_a(job->shape);
    if (kind.direct) {
        add_groups_wide(from, at_a, at_b, products, kind, c);
    } else {
        struct source right = moved(from, 0, 8);
        c[0] = add_groups(from, at_a, at_b, products, kind, c[0]);
        c[1] = add_groups(&right, at_a, at_b, products, kind, c[1]);
    }
    store_acc(job->d + at, c[0]);
    store_acc(job->d + at + 8, c[1]);
}

INLINE void rows_of_block(const struct em_mfma_job *job,
                          const struct source *all,
                          unsigned products,
                          struct kind kind)
{
    const struct em_mfma_shape *s = job->shape;
    uint16_t at_a[EM_MFMA_MAX_K];
    uint16_t at_b[EM_MFMA_MAX_K];
    bool sparse = s->flags & EM_MFMA_SPARSE;
    em_mfma_offsets(s, products, job->a.slots, at_a);
    for (unsigned b = 0; b < s->blocks; b++) {
        for (unsigned i = 0; i < s->mn; i++) {
            if (sparse) {
                em_mfma_sparse_offsets(job, i, at_b);
            }
            size_t at = em_mfma_d_offset(s, b, i);
            for (unsigned j = 0; j < s->mn; j += 16) {
                struct source from = moved(all, b * s->mn + i, b * s->mn + j);
                sixteen_columns(job, &from, at_a, sparse ? at_b : at_a, at + j, kind);
            }
        }
    }
}

INLINE void rows_4x4(const struct em_mfma_job *job,
                     const struct source *all,
                     struct kind kind)
{
    uint16_t at[EM_MFMA_MAX_K];
    em_mfma_offsets(job->shape, 4, job->a.slots, at);
    for (unsigned i = 0; i < 4; i++) {
        int own = (int)i;
        kind.lane =
            _mm256_setr_epi32(own, own, own, own, own + 4, own + 4, own + 4, own + 4);
        for (unsigned l = 0; l < EM_LANES; l += 8) {
            struct source from = moved(all, l, l);
            size_t to = (size_t)i * EM_LANES + l;
            store_acc(job->d + to,
                      add_groups(&from, at, at, 4, kind, load_acc(job->c + to)));
        }
    }
}

static void run_kind(const struct em_mfma_job *job,
                     const struct em_mfma_rule *rule,
                     const struct source *from,
                     bool direct)
{
    const __m256i none = _mm256_setzero_si256();
    unsigned products = rule->products;
    if (job->shape->mn == 4) {
        if (direct) {
            rows_4x4(job, from, (struct kind){ 4, false, true, true, none });
        } else {
            rows_4x4(job, from, (struct kind){ 4, false, false, true, none });
        }
    } else if (rule->halves) {
        rows_of_block(job, from, products,
                      (struct kind){ 16, true, true, false, none });
    } else if (rule->group == 4 && direct) {
        rows_of_block(job, from, products,
                      (struct kind){ 4, false, true, false, none });
    } else if (rule->group == 4) {
        rows_of_block(job, from, products,
                      (struct kind){ 4, false, false, false, none });
    } else if (direct) {
        rows_of_block(job, from, products,
                      (struct kind){ 8, false, true, false, none });
    } else {
        rows_of_block(job, from, products,
                      (struct kind){ 8, false, false, false, none });
    }
}

/* Outputs of which a product may be infinite or NaN, or overflow. `c`: before. */
static void redo_special(const struct em_mfma_job *job,
                         const struct em_mfma_rule *rule,
                         const int32_t *top_a,
                         const int32_t *top_b,
                         const uint32_t *c)
{
    const struct em_mfma_shape *s = job->shape;
    uint16_t at_a[EM_MFMA_MAX_K];
    uint16_t at_b[EM_MFMA_MAX_K];
    em_mfma_offsets(s, rule->products, job->a.slots, at_a);
    memcpy(at_b, at_a, sizeof(at_b));
    for (unsigned row = 0; row < (unsigned)s->mn * s->blocks; row++) {
        if (s->flags & EM_MFMA_SPARSE) {
            em_mfma_sparse_offsets(job, row, at_b);
        }
        unsigned first = row / s->mn * s->mn; /* of the block */
        size_t at = em_mfma_d_offset(s, row / s->mn, row % s->mn);
        for (unsigned j = 0; j < s->mn; j++) {
            if (top_a[row] + top_b[first + j] < OVERFLOW) {
                continue;
            }
            float acc;
            memcpy(&acc, c + at + j, sizeof(acc));
            acc = em_mfma_exact_output(rule, job->a.f[0] + row, at_a,
                                       job->b.f[0] + first + j, at_b, acc);
            memcpy(job->d + at + j, &acc, sizeof(acc));
        }
    }
}

/* The largest exponents of whole rows (or columns): all groups of k together. */
static void fold_tops(const struct em_mfma_shape *s, const int32_t *top, int32_t *ret)
{
    unsigned apart = s->mn * s->blocks;
    memcpy(ret, top, apart * sizeof(*ret));
    for (unsigned l = apart; l < EM_LANES; l++) {
        int32_t *to = &ret[l % apart];
        *to = top[l] > *to ? top[l] : *to;
    }
}

void em_mfma_exact(const struct em_mfma_job *job)
{
    struct em_mfma_rule rule = em_mfma_rule(job->shape);
    struct split a;
    struct split b;
    split_exponents(&job->a, rule.lowest_a, &a);
    split_exponents(&job->b, rule.lowest_b, &b);
    bool direct = rule.lowest_a > -126 || (a.highest + b.highest < OVERFLOW - 1 &&
                                           a.lowest + b.lowest >= DIRECT_LOWEST);
    if (!direct) {
        split_significands(&job->a, &a);
        split_significands(&job->b, &b);
    }
    if (direct && job->shape->mn != 4) {
        pack_exponents(job->a.slots, job->b.slots, &a, &b);
    }
    struct source from = source_at(job, &a, &b, direct);
    bool special = a.highest + b.highest >= OVERFLOW;
    uint32_t before[EM_MFMA_D_ROWS][EM_LANES];
    if (special) {
        memcpy(before, job->c, em_mfma_d_rows(job->shape) * sizeof(before[0]));
    }
    run_kind(job, &rule, &from, direct);
    if (special) {
        int32_t top_a[EM_LANES];
        int32_t top_b[EM_LANES];
        fold_tops(job->shape, a.top, top_a);
        fold_tops(job->shape, b.top, top_b);
        redo_special(job, &rule, top_a, top_b, before[0]);
    }
}
