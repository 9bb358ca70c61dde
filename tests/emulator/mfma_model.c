#include "tests/emulator/mfma_model.h"

#include "emulator/isa/isa.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    uint16_t op;
    const char *name;
} names[] = {
#define OP(name, dst, s0, s1, s2) { EM_##name, #name },
#include "emulator/isa/ops_vector.def"
#undef OP
};

static enum model_type type_named(const char *text, size_t length)
{
    static const char *const all[] = { "f16", "bf16", "f32", "xf32",
                                       "fp8", "bf8",  "i8",  "f64" };
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strlen(all[i]) == length && memcmp(all[i], text, length) == 0) {
            return (enum model_type)i;
        }
    }
    abort();
}

unsigned model_bits(enum model_type type)
{
    static const unsigned bits[] = { 16, 16, 32, 32, 8, 8, 8, 64 };
    return bits[type];
}

/* Walks lanes in order, and a lane's elements in order: k runs within a lane, then
 * rows, then blocks, then the next elements of k. Returns the registers that it took.
 */
static unsigned walk_input(unsigned n,
                           unsigned k,
                           unsigned blocks,
                           unsigned bits,
                           struct model_cell *ret)
{
    unsigned in_lane = k / (64 / (n * blocks));
    unsigned lane = 0;
    for (unsigned first = 0; first < k; first += in_lane) {
        for (unsigned b = 0; b < blocks; b++) {
            for (unsigned i = 0; i < n; i++, lane++) {
                unsigned bit = 0;
                for (unsigned e = 0; e < in_lane; e++, bit += bits) {
                    struct model_cell *cell = &ret[(b * n + i) * k + first + e];
                    cell->reg = (uint8_t)(bit / 32);
                    cell->bit = (uint8_t)(bit % 32);
                    cell->lane = (uint8_t)lane;
                }
            }
        }
    }
    return in_lane * bits / 32;
}

/* Strips of `high` rows (4, or 1 of 64 bits) fill the lanes, blocks beside each other
 * where one does not fill them; then the next `high` registers follow. */
static unsigned walk_output(unsigned n,
                            unsigned blocks,
                            bool wide,
                            enum model_mutant mutant,
                            struct model_cell *ret)
{
    unsigned high = wide ? 1 : 4;
    unsigned beside = 64 * high / (n * n) ? 64 * high / (n * n) : 1;
    beside = beside < blocks ? beside : blocks;
    unsigned reg = 0;
    for (unsigned block = 0; block < blocks; block += beside) {
        for (unsigned i = 0; i < n;) {
            unsigned lane = 0;
            while (lane < 64) {
                for (unsigned b = block; b < block + beside; b++) {
                    for (unsigned j = 0; j < n; j++, lane++) {
                        for (unsigned r = 0; r < high; r++) {
                            struct model_cell *cell = &ret[(b * n + i + r) * n + j];
                            cell->reg = (uint8_t)((reg + r) * (wide ? 2 : 1));
                            cell->lane = (uint8_t)lane;
                            cell->bit = 0;
                        }
                    }
                }
                i += high;
            }
            reg += high;
        }
    }
    if (mutant == MUTANT_ROWS && n == 32) {
        for (unsigned e = 0; e < n * n * blocks; e++) {
            unsigned i = e / n % n;
            ret[e].reg = (uint8_t)(e / (n * n) * 16 + i % 16);
            ret[e].lane = (uint8_t)(i / 16 * 32 + e % n);
        }
    }
    return reg * (wide ? 2 : 1);
}

/* v_mfma_f32_32x32x4_2b_f16, v_smfmac_f32_16x16x64_fp8_bf8 */
static void parse(const char *name, enum model_mutant mutant, struct model *m)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%s", name);
    char *rest = NULL;
    (void)strtok_r(text, "_", &rest);
    m->name = name;
    m->sparse = strcmp(strtok_r(NULL, "_", &rest), "smfmac") == 0;
    m->integer = strcmp(strtok_r(NULL, "_", &rest), "i32") == 0;
    char *end = strtok_r(NULL, "_", &rest);
    m->n = (unsigned)strtoul(end, &end, 10);
    m->n = (unsigned)strtoul(end + 1, &end, 10);
    m->k = (unsigned)strtoul(end + 1, &end, 10);
    m->blocks = 1;
    char *type = strtok_r(NULL, "_", &rest);
    if (type[strlen(type) - 1] == 'b') {
        m->blocks = (unsigned)strtoul(type, NULL, 10);
        type = strtok_r(NULL, "_", &rest);
    }
    m->a_type = type_named(type, strlen(type));
    char *other = strtok_r(NULL, "_", &rest);
    m->b_type = other ? type_named(other, strlen(other)) : m->a_type;
    m->stored = m->sparse ? m->k / 2 : m->k;
    m->cbsz = m->blocks > 1 && m->a_type != F64;
    m->blgp = m->cbsz || m->a_type == F32;
    m->a_rows = walk_input(m->n, m->stored, m->blocks, model_bits(m->a_type), m->a);
    m->b_rows = walk_input(m->n, m->k, m->blocks, model_bits(m->b_type), m->b);
    m->d_rows = walk_output(m->n, m->blocks, m->a_type == F64, mutant, m->d);
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct model *)x)->name, ((const struct model *)y)->name);
}

const struct model *models(enum model_mutant mutant, size_t *ret_count)
{
    static struct model all[2][64];
    static size_t count[2];
    unsigned which = mutant == MUTANT_ROWS;
    if (!count[which]) {
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            if (strncmp(names[i].name, "v_mfma", 6) == 0 ||
                strncmp(names[i].name, "v_smfm", 6) == 0) {
                struct model *m = &all[which][count[which]++];
                m->op = names[i].op;
                parse(names[i].name, mutant, m);
            }
        }
        qsort(all[which], count[which], sizeof(struct model), by_name);
    }
    *ret_count = count[which];
    return all[which];
}

const struct model *model_named(const char *name)
{
    size_t count;
    const struct model *all = models(NO_MUTANT, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    return NULL;
}

uint64_t model_get(const uint32_t (*rows)[64], struct model_cell cell, unsigned bits)
{
    uint64_t word = rows[cell.reg][cell.lane];
    if (bits == 64) {
        return word | (uint64_t)rows[cell.reg + 1][cell.lane] << 32;
    }
    return word >> cell.bit & ((UINT64_C(1) << bits) - 1);
}

void model_set(uint32_t (*rows)[64],
               struct model_cell cell,
               unsigned bits,
               uint64_t code)
{
    uint32_t *word = &rows[cell.reg][cell.lane];
    if (bits == 64) {
        rows[cell.reg + 1][cell.lane] = (uint32_t)(code >> 32);
    }
    if (bits >= 32) {
        *word = (uint32_t)code;
        return;
    }
    uint32_t mask = (UINT32_C(1) << bits) - 1;
    *word = (*word & ~(mask << cell.bit)) | ((uint32_t)code & mask) << cell.bit;
}

unsigned model_blgp_lane(unsigned lane, unsigned blgp)
{
    switch (blgp) {
    case 0:
        return lane;
    case 1: /* the first 32 lanes for all */
        return lane & 31;
    case 2: /* the other 32 */
        return lane | 32;
    case 3: /* 16 lanes down */
        return (lane + 16) & 63;
    default: /* one quarter for all */
        return (lane & 15) | (blgp - 4) << 4;
    }
}

/* A float taken apart: mantissa * 2^(exponent - fraction bits). */
struct part {
    int64_t mantissa;
    int exponent, fraction;
    bool nan, infinite, negative;
};

static struct part take_apart(enum model_type type,
                              uint32_t code,
                              enum model_mutant mutant)
{
    static const struct {
        int exponent, fraction, bias;
        bool fnuz;
    } formats[] = { [F16] = { 5, 10, 15, false },  [BF16] = { 8, 7, 127, false },
                    [F32] = { 8, 23, 127, false }, [XF32] = { 8, 10, 127, false },
                    [FP8] = { 4, 3, 8, true },     [BF8] = { 5, 2, 16, true } };
    int e_bits = formats[type].exponent;
    int f_bits = formats[type].fraction;
    int bias = formats[type].bias - (mutant == MUTANT_OCP && formats[type].fnuz);
    if (type == XF32) {
        code >>= 13;
    }
    struct part ret = { 0, 0, f_bits, false, false, false };
    int field = (int)(code >> f_bits & ((1U << e_bits) - 1));
    ret.mantissa = code & ((1U << f_bits) - 1);
    ret.negative = code >> (e_bits + f_bits) & 1;
    if (formats[type].fnuz) {
        ret.nan = code == 0x80;
    } else if (field == (1 << e_bits) - 1) {
        ret.nan = ret.mantissa != 0;
        ret.infinite = !ret.nan;
    }
    ret.exponent = (field ? field : 1) - bias;
    if (field) {
        ret.mantissa |= INT64_C(1) << f_bits;
    } else if (!ret.mantissa) {
        ret.exponent = -126;
    }
    if (ret.negative) {
        ret.mantissa = -ret.mantissa;
    }
    return ret;
}

typedef __int128 wide;

/* x * 2^by, toward zero or toward minus infinity where bits are lost. */
static wide scaled(wide x, int by, bool toward_zero)
{
    if (by >= 0) {
        return x * ((wide)1 << by); /* callers stay within 100 bits */
    }
    by = -by < 126 ? -by : 126;
    wide unit = (wide)1 << by;
    wide quotient = x / unit;
    return quotient - (!toward_zero && x % unit < 0);
}

/* x * 2^unit to the nearest F32, ties to even. */
static uint32_t nearest_f32(wide x, int unit)
{
    if (x == 0) {
        return 0;
    }
    uint32_t sign = x < 0 ? UINT32_C(1) << 31 : 0;
    wide magnitude = x < 0 ? -x : x;
    int top = 0; /* of the value's highest bit */
    while (magnitude >> top > 1) {
        top++;
    }
    int exponent = top + unit < -126 ? -126 : top + unit;
    int lost = exponent - 23 - unit; /* bits behind the last that is kept */
    wide kept;
    if (lost <= 0) {
        kept = magnitude << -lost;
    } else if (lost > 100) {
        kept = 0;
    } else {
        kept = magnitude >> lost;
        wide rest = magnitude - (kept << lost);
        wide half = (wide)1 << (lost - 1);
        kept += rest > half || (rest == half && (kept & 1));
    }
    /* The hidden bit, and a carry into the next exponent, add up in the field. */
    uint64_t bits = ((uint64_t)(exponent + 126) << 23) + (uint64_t)kept;
    return sign |
           (bits >= UINT64_C(0x7f800000) ? UINT32_C(0x7f800000) : (uint32_t)bits);
}

struct term {
    wide value; /* * 2^(exponent - fraction) */
    int exponent, fraction;
};

/* The terms that `from` steps through, cut to 24 bits behind the point. */
static wide add_cut(const struct term *t,
                    unsigned from,
                    unsigned count,
                    unsigned step,
                    int *ret_e)
{
    int e = -10000;
    for (unsigned i = from; i < count; i += step) {
        e = t[i].exponent > e ? t[i].exponent : e;
    }
    wide sum = 0;
    for (unsigned i = from; i < count; i += step) {
        sum += scaled(t[i].value, t[i].exponent - t[i].fraction + 24 - e, true);
    }
    *ret_e = e;
    return sum;
}

static int highest_bit(wide x)
{
    wide magnitude = x < 0 ? -x : x;
    int top = -1;
    while (magnitude) {
        magnitude >>= 1;
        top++;
    }
    return top;
}

enum {
    PLUS_INF = 1,
    MINUS_INF = 2,
    IS_NAN = 4,
    PLUS_HUGE = 8,
    MINUS_HUGE = 16
};

static unsigned classify(const struct part *a, const struct part *b, struct term *ret)
{
    bool negative = a->negative != b->negative;
    if (a->nan || b->nan || (a->infinite && !b->infinite && !b->mantissa) ||
        (b->infinite && !a->infinite && !a->mantissa)) {
        return IS_NAN;
    }
    if (a->infinite || b->infinite) {
        return negative ? MINUS_INF : PLUS_INF;
    }
    ret->value = (wide)a->mantissa * b->mantissa;
    ret->exponent = a->exponent + b->exponent;
    ret->fraction = a->fraction + b->fraction;
    if (ret->value != 0 &&
        highest_bit(ret->value) + ret->exponent - ret->fraction >= 128) {
        return negative ? MINUS_HUGE : PLUS_HUGE;
    }
    return 0;
}

static const uint32_t f32_nan = UINT32_C(0x7fc00000);
static const uint32_t f32_infinity = UINT32_C(0x7f800000);

static bool without_sum(unsigned classes, uint32_t *ret)
{
    static const uint32_t minus = UINT32_C(1) << 31;
    unsigned infinities = classes & (PLUS_INF | MINUS_INF);
    /* Overflows count where there is no true infinity. */
    unsigned huge = infinities ? 0 : classes & (PLUS_HUGE | MINUS_HUGE);
    if (classes & IS_NAN || infinities == (PLUS_INF | MINUS_INF) ||
        huge == (PLUS_HUGE | MINUS_HUGE)) {
        *ret = f32_nan;
        return true;
    }
    *ret = f32_infinity | (infinities == MINUS_INF || huge == MINUS_HUGE ? minus : 0);
    return infinities || huge;
}

static uint32_t group_sum(const struct part *a,
                          const struct part *b,
                          unsigned count,
                          bool halves,
                          uint32_t c_code)
{
    struct part c = take_apart(F32, c_code, NO_MUTANT);
    struct term term[16];
    unsigned classes = c.nan         ? IS_NAN
                       : !c.infinite ? 0
                       : c.negative  ? MINUS_INF
                                     : PLUS_INF;
    for (unsigned i = 0; i < count; i++) {
        classes |= classify(&a[i], &b[i], &term[i]);
    }
    uint32_t ret;
    if (without_sum(classes, &ret)) {
        return ret;
    }
    int e;
    wide sum = add_cut(term, 0, count, halves ? 2 : 1, &e);
    if (halves) {
        int odd_e;
        wide odd = add_cut(term, 1, count, 2, &odd_e);
        int top = e > odd_e ? e : odd_e;
        sum = scaled(sum, e - top, false) + scaled(odd, odd_e - top, false);
        e = top;
    }
    int top = e > c.exponent ? e : c.exponent;
    wide own = scaled(c.mantissa, 1 + c.exponent - top, false); /* of 2^(top - 24) */
    if (halves && c.exponent < top - 25) {
        own = 0;
    }
    sum = scaled(sum, 7 + e - top, false); /* of 2^(top - 31) */
    return nearest_f32(sum + own * 128, top - 31);
}

static uint32_t exact_output(const struct model_run *run,
                             const uint64_t *a,
                             const uint64_t *b,
                             uint32_t c)
{
    const struct model *m = run->model;
    bool halves = m->a_type == FP8 || m->a_type == BF8;
    unsigned group = halves              ? 16
                     : m->a_type == XF32 ? 4
                     : m->stored < 8     ? m->stored
                                         : 8;
    for (unsigned first = 0; first < m->stored; first += group) {
        struct part x[16];
        struct part y[16];
        for (unsigned i = 0; i < group; i++) {
            x[i] = take_apart(m->a_type, (uint32_t)a[first + i], run->mutant);
            y[i] = take_apart(m->b_type, (uint32_t)b[first + i], run->mutant);
        }
        c = group_sum(x, y, group, halves, c);
    }
    return c;
}

static float value_of(const struct model_run *run, enum model_type type, uint64_t code)
{
    struct part p = take_apart(type, (uint32_t)code, run->mutant);
    if (p.nan) {
        return NAN;
    }
    if (p.infinite) {
        return p.negative ? -INFINITY : INFINITY;
    }
    float magnitude = ldexpf((float)llabs(p.mantissa), p.exponent - p.fraction);
    if (type == F32 && run->flush && magnitude < 0x1p-126F) {
        magnitude = 0;
    }
    return p.negative ? -magnitude : magnitude;
}

static uint32_t chain_f32(const struct model_run *run,
                          const uint64_t *a,
                          const uint64_t *b,
                          uint32_t c)
{
    const struct model *m = run->model;
    float acc;
    memcpy(&acc, &c, sizeof(acc));
    for (unsigned p = 0; p < m->stored; p++) {
        acc = fmaf(value_of(run, m->a_type, a[p]), value_of(run, m->b_type, b[p]), acc);
    }
    memcpy(&c, &acc, sizeof(c));
    return isnan(acc) ? f32_nan : c;
}

static uint64_t chain_f64(const struct model_run *run,
                          const uint64_t *a,
                          const uint64_t *b,
                          uint64_t c)
{
    uint64_t sign[3];
    for (unsigned i = 0; i < 3; i++) {
        sign[i] = (uint64_t)(run->blgp >> i & 1) << 63;
    }
    double acc;
    c ^= sign[2];
    memcpy(&acc, &c, sizeof(acc));
    for (unsigned p = 0; p < run->model->stored; p++) {
        double x;
        double y;
        uint64_t bits = a[p] ^ sign[0];
        memcpy(&x, &bits, sizeof(x));
        bits = b[p] ^ sign[1];
        memcpy(&y, &bits, sizeof(y));
        acc = fma(x, y, acc);
    }
    memcpy(&c, &acc, sizeof(c));
    return isnan(acc) ? UINT64_C(0x7ff8000000000000) : c;
}

static uint32_t integer_sum(const struct model *m,
                            const uint64_t *a,
                            const uint64_t *b,
                            uint32_t c)
{
    int64_t sum = (int32_t)c;
    for (unsigned p = 0; p < m->stored; p++) {
        sum += (int64_t)(int8_t)a[p] * (int8_t)b[p];
    }
    return (uint32_t)(uint64_t)sum;
}

/* The products of D[i][j] of block b, in the order of k. */
static void products(const struct model_run *run,
                     unsigned b,
                     unsigned i,
                     unsigned j,
                     uint64_t *ret_a,
                     uint64_t *ret_b)
{
    const struct model *m = run->model;
    unsigned a_bits = model_bits(m->a_type);
    unsigned b_bits = model_bits(m->b_type);
    unsigned from = m->cbsz && run->cbsz ? b - b % (1U << run->cbsz) + run->abid : b;
    for (unsigned p = 0; p < m->stored; p++) {
        struct model_cell cell = m->a[(from * m->n + i) * m->stored + p];
        ret_a[p] = model_get(run->a, cell, a_bits);
        unsigned k = p;
        if (m->sparse) {
            /* A lane's indices, two bits each, in the order of its elements; with cbsz
             * 0 abid says which set of them. */
            unsigned in_lane = cell.reg * 32U / a_bits + cell.bit / a_bits;
            unsigned set = run->cbsz ? 0 : run->abid * (64 / a_bits);
            k = p / 2 * 4 + (run->index[cell.lane] >> 2 * (set + in_lane) & 3);
        }
        cell = m->b[(b * m->n + j) * m->k + k];
        if (m->blgp) {
            cell.lane = (uint8_t)model_blgp_lane(cell.lane, run->blgp);
        }
        ret_b[p] = model_get(run->b, cell, b_bits);
    }
}

void model_compute(const struct model_run *run, uint32_t (*ret)[64])
{
    const struct model *m = run->model;
    bool rounded = m->a_type != F32 && m->a_type != F64 && !m->integer;
    unsigned bits = m->a_type == F64 ? 64 : 32;
    for (unsigned e = 0; e < m->blocks * m->n * m->n; e++) {
        uint64_t a[64];
        uint64_t b[64];
        products(run, e / (m->n * m->n), e / m->n % m->n, e % m->n, a, b);
        uint64_t c = model_get(run->c, m->d[e], bits);
        uint64_t d;
        if (m->integer) {
            d = integer_sum(m, a, b, (uint32_t)c);
        } else if (bits == 64) {
            d = chain_f64(run, a, b, c);
        } else if (rounded && run->exact) {
            d = exact_output(run, a, b, (uint32_t)c);
        } else {
            d = chain_f32(run, a, b, (uint32_t)c);
        }
        model_set(ret, m->d[e], bits, d);
    }
}
