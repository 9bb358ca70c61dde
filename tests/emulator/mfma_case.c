#include "tests/emulator/mfma_case.h"

#include <math.h>

uint64_t mfma_next(struct mfma_random *r)
{
    uint64_t x = r->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static unsigned below(struct mfma_random *r, unsigned limit)
{
    return (unsigned)(mfma_next(r) >> 32) % limit;
}

struct format {
    unsigned exponent, fraction;
    int bias;
    unsigned last; /* largest exponent field of finite values */
};

static struct format format_of(enum model_type type)
{
    static const struct format formats[] = {
        [F16] = { 5, 10, 15, 30 },     [BF16] = { 8, 7, 127, 254 },
        [F32] = { 8, 23, 127, 254 },   [XF32] = { 8, 23, 127, 254 },
        [FP8] = { 4, 3, 8, 15 },       [BF8] = { 5, 2, 16, 31 },
        [F64] = { 11, 52, 1023, 2046 }
    };
    return formats[type];
}

static uint64_t make(const struct format *f,
                     int field,
                     uint64_t fraction,
                     bool negative)
{
    field = field < 0 ? 0 : field > (int)f->last ? (int)f->last : field;
    fraction &= (UINT64_C(1) << f->fraction) - 1;
    uint64_t sign = (uint64_t)negative << (f->exponent + f->fraction);
    return sign | (uint64_t)field << f->fraction | fraction;
}

static uint64_t special_code(struct mfma_random *r, const struct format *f)
{
    uint64_t sign = (uint64_t)below(r, 2) << (f->exponent + f->fraction);
    if (f->exponent + f->fraction == 7) {
        return 0x80;
    }
    uint64_t field = ((UINT64_C(1) << f->exponent) - 1) << f->fraction;
    return sign | field | (below(r, 3) == 0 ? mfma_next(r) >> (65 - f->fraction) : 0);
}

static uint64_t finite_code(struct mfma_random *r,
                            const struct format *f,
                            enum mfma_kind kind)
{
    uint64_t fraction = mfma_next(r);
    bool negative = below(r, 2);
    int near = f->bias + (int)below(r, 5) - 2;
    switch (kind) {
    case KIND_GAPS: /* of two factors: sums spread over 0, 10, 20, .. */
        return make(f, f->bias - 12 + (int)below(r, 6) * 5, fraction, negative);
    case KIND_TINY:
        if (below(r, 4) == 0) {
            return make(f, 0, 0, negative);
        }
        return make(f, (int)below(r, 3) - 1, fraction, negative);
    case KIND_ZEROS:
        if (below(r, 2)) {
            return make(f, 0, 0, negative);
        }
        return make(f, (int)below(r, f->last + 1), fraction, negative);
    case KIND_HUGE: /* 2^63 and 2^64 of the long exponents, the last ones of the others
                     */
        if (f->exponent == 8) {
            return make(f, f->bias + 62 + (int)below(r, 4), fraction, negative);
        }
        return make(f, (int)f->last - (int)below(r, 3), fraction, negative);
    case KIND_TIES: {
        uint64_t mask = UINT64_C(7) << (f->fraction > 3 ? f->fraction - 3 : 0);
        return make(f, f->bias - 8 + (int)below(r, 17), fraction & mask, negative);
    }
    case KIND_SPREAD:
    case KIND_SPECIAL:
        return make(f, (int)below(r, f->last + 1), fraction, negative);
    case KIND_ORDINARY:
    case KIND_BITS:
    case KIND_CANCEL:
    case MFMA_KIND_COUNT:
        break;
    }
    return make(f, near, fraction, negative);
}

uint64_t mfma_code(struct mfma_random *r, enum model_type type, enum mfma_kind kind)
{
    if (type == I8 || kind == KIND_BITS) {
        return mfma_next(r) >> (64 - model_bits(type));
    }
    struct format f = format_of(type);
    if (kind == KIND_SPECIAL && below(r, 24) == 0) {
        return special_code(r, &f);
    }
    uint64_t code = finite_code(r, &f, kind);
    return model_bits(type) == 8 && code == 0x80 ? 0 : code; /* no -0 there */
}

/* Makes product p the negative of product p - 1 in three rows of four. */
static void pair_up(struct mfma_case *c, struct mfma_random *r)
{
    const struct model *m = c->model;
    unsigned bits = model_bits(m->a_type);
    for (unsigned row = 0; row < m->n * m->blocks; row++) {
        for (unsigned p = 1; p < m->stored && below(r, 4); p += 2) {
            uint64_t x = model_get(c->a, m->a[row * m->stored + p - 1], bits);
            uint64_t opposite = x ^ UINT64_C(1) << (bits - 1);
            model_set(c->a, m->a[row * m->stored + p], bits, opposite);
        }
        for (unsigned k = 1; k < m->k && below(r, 4); k += 2) {
            uint64_t x =
                model_get(c->b, m->b[row * m->k + k - 1], model_bits(m->b_type));
            model_set(c->b, m->b[row * m->k + k], model_bits(m->b_type), x);
        }
    }
}

/* C the negative of the products' sum, or a few units beside it. */
static void undo_sum(struct mfma_case *c, struct mfma_random *r)
{
    const struct model *m = c->model;
    uint32_t d[MFMA_ROWS][64];
    memset(c->c, 0, sizeof(c->c));
    mfma_model(c, false, NO_MUTANT, d);
    for (unsigned e = 0; e < m->blocks * m->n * m->n; e++) {
        uint32_t bits = (uint32_t)model_get(d, m->d[e], 32);
        model_set(c->c, m->d[e], 32, (bits ^ UINT32_C(1) << 31) + below(r, 3));
    }
}

void mfma_fill(struct mfma_case *c,
               const struct model *m,
               enum mfma_kind kind,
               struct mfma_random *r)
{
    memset(c, 0, sizeof(*c));
    c->model = m;
    unsigned outer = m->n * m->blocks;
    enum model_type c_type = m->a_type == F64 ? F64 : F32;
    for (unsigned e = 0; e < outer * m->stored; e++) {
        model_set(c->a, m->a[e], model_bits(m->a_type), mfma_code(r, m->a_type, kind));
    }
    for (unsigned e = 0; e < outer * m->k; e++) {
        model_set(c->b, m->b[e], model_bits(m->b_type), mfma_code(r, m->b_type, kind));
    }
    for (unsigned e = 0; e < outer * m->n; e++) {
        uint64_t code = m->integer ? mfma_next(r) : mfma_code(r, c_type, kind);
        model_set(c->c, m->d[e], model_bits(c_type), code);
    }
    for (unsigned l = 0; l < 64; l++) { /* of two ascending elements, or any */
        for (unsigned bit = 0; bit < 32; bit += 4) {
            static const unsigned legal[] = { 4, 8, 12, 9, 13, 14 };
            unsigned pair = below(r, 4) ? legal[below(r, 6)] : below(r, 16);
            c->index[l] |= (uint32_t)pair << bit;
        }
    }
    if (kind == KIND_CANCEL && !m->integer && m->a_type != F64) {
        pair_up(c, r);
        undo_sum(c, r);
    }
}

const struct mfma_places mfma_usual = { EM_VGPR0, EM_VGPR0 + 32, EM_VGPR0 + 128,
                                        EM_AGPR0, EM_VGPR0 + 64 };

static void put(struct em_wave *w, uint16_t code, unsigned rows, const uint32_t *from)
{
    if (em_is_vector(code)) {
        memcpy(em_row(w, code), from, (size_t)rows * EM_LANES * sizeof(*from));
    }
}

void mfma_bind(const struct mfma_case *c,
               const struct mfma_places *at,
               struct em_op *ret)
{
    const struct model *m = c->model;
    memset(ret, 0, sizeof(*ret));
    struct em_inst *in = &ret->in;
    in->op = m->op;
    in->encoding = EM_VOP3P;
    in->bytes = 8;
    in->sdst.code = in->src[3].code = EM_NONE;
    in->dst = (struct em_operand){ at->d, (uint8_t)m->d_rows, EM_B32 };
    in->src[0] = (struct em_operand){ at->a, (uint8_t)m->a_rows, EM_B32 };
    in->src[1] = (struct em_operand){ at->b, (uint8_t)m->b_rows, EM_B32 };
    in->src[2] = m->sparse ? (struct em_operand){ at->index, 1, EM_B32 }
                           : (struct em_operand){ at->c, (uint8_t)m->d_rows, EM_B32 };
    in->cbsz = (uint8_t)c->cbsz;
    in->abid = (uint8_t)c->abid;
    in->blgp = (uint8_t)c->blgp;
    if (!em_bind_mfma(ret)) {
        ret->run = NULL;
    }
}

bool mfma_run(struct em_wave *w,
              const struct mfma_case *c,
              const struct mfma_places *at,
              uint32_t (*ret_d)[64])
{
    const struct model *m = c->model;
    struct em_op op;
    mfma_bind(c, at, &op);
    if (!op.run) {
        return false;
    }
    put(w, m->sparse ? at->d : at->c, m->d_rows, c->c[0]);
    put(w, at->a, m->a_rows, c->a[0]);
    put(w, at->b, m->b_rows, c->b[0]);
    if (m->sparse) {
        put(w, at->index, 1, c->index);
    }
    if (op.run(w, &op) != EM_GO) {
        return false;
    }
    memcpy(ret_d, em_row(w, at->d), m->d_rows * sizeof(ret_d[0]));
    return true;
}

void mfma_model(const struct mfma_case *c,
                bool exact,
                enum model_mutant mutant,
                uint32_t (*ret_d)[64])
{
    struct model_run run = { c->model, c->a,    c->b,  c->c,  c->index, c->cbsz,
                             c->abid,  c->blgp, exact, false, mutant };
    model_compute(&run, ret_d);
}

static bool is_nan(uint64_t bits, bool wide)
{
    return wide ? bits << 1 > UINT64_C(0xffe0000000000000)
                : (uint32_t)bits << 1 > UINT32_C(0xff000000);
}

unsigned mfma_differences(const struct model *m,
                          bool exact,
                          const uint32_t (*x)[64],
                          const uint32_t (*y)[64])
{
    bool wide = m->a_type == F64;
    bool canonical = exact && !wide && m->a_type != F32;
    unsigned count = 0;
    for (unsigned e = 0; e < m->blocks * m->n * m->n; e++) {
        uint64_t p = model_get(x, m->d[e], wide ? 64 : 32);
        uint64_t q = model_get(y, m->d[e], wide ? 64 : 32);
        bool same_nan = !m->integer && !canonical && is_nan(p, wide) && is_nan(q, wide);
        count += p != q && !same_nan;
    }
    return count;
}
