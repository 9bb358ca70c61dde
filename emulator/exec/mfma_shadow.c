/* Which elements of a matrix instruction's result are made of written values. */
#include "emulator/check/shadow.h"
#include "emulator/exec/mfma.h"

static const uint64_t all = ~UINT64_C(0);

static uint64_t lanes_of(const struct em_shadow *shadow, uint16_t code, unsigned rows)
{
    uint64_t lanes = all;
    for (unsigned r = 0; r < rows; r++) {
        lanes &= shadow->v[code - EM_VGPR0 + r];
    }
    return lanes;
}

static uint64_t mapped(uint64_t lanes, const uint8_t *map)
{
    uint64_t ret = 0;
    for (unsigned l = 0; l < EM_LANES; l++) {
        ret |= (lanes >> (map ? map[l] : l) & 1) << l;
    }
    return ret;
}

/* Lane b * n + i: whether all of row (or column) i of block b was written. */
static uint64_t whole_rows(const struct em_mfma_shape *s, uint64_t lanes)
{
    unsigned apart = s->mn * s->blocks;
    uint64_t ret = all;
    for (unsigned l = 0; l < EM_LANES; l += apart) {
        ret &= lanes >> l;
    }
    return ret;
}

/* D of 64 bits: offset of D[i][0] of block b, in lanes, and the same bits in the second
 * register of the pair. */
static size_t d_offset(const struct em_mfma_shape *s, unsigned b, unsigned i)
{
    if (s->type_a != EM_MFMA_F64) {
        return em_mfma_d_offset(s, b, i);
    }
    unsigned lanes = s->mn * s->blocks;
    unsigned rows = EM_LANES / lanes;
    return (size_t)(i / rows) * 2 * EM_LANES + i % rows * lanes + (size_t)b * s->mn;
}

static void partly(const struct em_mfma_shape *s,
                   uint64_t rows,
                   uint64_t columns,
                   uint64_t d[EM_MFMA_D_ROWS])
{
    uint64_t row_mask = (UINT64_C(1) << s->mn) - 1;
    for (unsigned b = 0; b < s->blocks; b++) {
        for (unsigned i = 0; i < s->mn; i++) {
            size_t at = d_offset(s, b, i);
            uint64_t written = columns >> (b * s->mn) & row_mask;
            written &= 0 - (rows >> (b * s->mn + i) & 1);
            uint64_t keep = ~(row_mask << at % EM_LANES) | written << at % EM_LANES;
            d[at / EM_LANES] &= keep;
            if (s->type_a == EM_MFMA_F64) {
                d[at / EM_LANES + 1] &= keep;
            }
        }
    }
}

void em_mfma_shadow(struct em_wave *w,
                    const struct em_op *op,
                    const struct em_mfma_shape *s,
                    const struct em_mfma_map *map)
{
    const struct em_inst *in = &op->in;
    struct em_shadow *shadow = w->shadow;
    bool sparse = s->flags & EM_MFMA_SPARSE;
    unsigned slots_a = em_mfma_slots(s, em_mfma_k_a(s));
    unsigned slots_b = em_mfma_slots(s, s->k);
    uint64_t a =
        lanes_of(shadow, in->src[0].code, slots_a * em_mfma_bits(s->type_a) / 32);
    uint64_t b =
        lanes_of(shadow, in->src[1].code, slots_b * em_mfma_bits(s->type_b) / 32);
    if (sparse) {
        a &= lanes_of(shadow, in->src[2].code, 1);
    }
    unsigned rows = em_mfma_d_rows(s);
    struct em_operand c = sparse ? in->dst : in->src[2];
    uint64_t d[EM_MFMA_D_ROWS] = { 0 };
    for (unsigned r = 0; r < rows; r++) {
        d[r] = em_is_vector(c.code) ? shadow->v[c.code - EM_VGPR0 + r] : all;
    }
    if (a != all || b != all) {
        partly(s, whole_rows(s, mapped(a, map->a)), whole_rows(s, mapped(b, map->b)),
               d);
    }
    memcpy(&shadow->v[in->dst.code - EM_VGPR0], d, rows * sizeof(d[0]));
}
