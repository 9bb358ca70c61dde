#include "tests/emulator/valu_float_case.h"

#include "tests/emulator/valu_case.h"

#include <criterion/criterion.h>

static em_rows_fn find(enum em_opcode op)
{
    static const struct em_valu_row *const tables[] = { em_valu_f32, em_valu_f16,
                                                        em_valu_f64, em_valu_convert,
                                                        em_valu_special };
    for (unsigned t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (const struct em_valu_row *row = tables[t]; row->fn; row++) {
            if (row->op == op) {
                return row->fn;
            }
        }
    }
    cr_assert_fail("no row for %s", em_op_info(op)->name);
    return NULL;
}

/* Operations with a third source that their tables do not tell. */
static bool has_third(unsigned op)
{
    switch (op) {
    case EM_v_fmac_f32:
    case EM_v_fmac_f64:
    case EM_v_fmamk_f32:
    case EM_v_fmaak_f32:
    case EM_v_mac_f16:
    case EM_v_madmk_f16:
    case EM_v_madak_f16:
    case EM_v_pk_fmac_f16:
    case EM_v_dot2c_f32_f16:
    case EM_v_cvt_pkaccum_u8_f32:
        return true;
    default:
        return em_op_info((enum em_opcode)op)->src[2] != EM_NO;
    }
}

void float_run(struct float_case *c)
{
    _Alignas(64) uint32_t s[3][2][EM_LANES], d[2][EM_LANES];
    const struct em_op_info *info = em_op_info(c->op);
    struct em_inst in = case_inst(c->op, EM_VOP3);
    struct em_rows r = { .mode = c->mode, .mask_in = c->mask, .in = &in };
    for (unsigned k = 0; k < 3; k++) {
        if (info->src[k] != EM_NO || (k == 2 && has_third(c->op))) {
            in.src[k] = (struct em_operand){ vgpr(k), 1, info->src[k] };
        }
        for (unsigned i = 0; i < EM_LANES; i++) {
            s[k][0][i] = (uint32_t)c->s[k][i];
            s[k][1][i] = (uint32_t)(c->s[k][i] >> 32);
        }
        r.s[k][0] = s[k][0];
        r.s[k][1] = s[k][1];
    }
    in.op_sel_hi = c->op_sel_hi;
    r.d[0] = d[0];
    r.d[1] = d[1];
    memset(d, 0, sizeof(d));
    find(c->op)(&r);
    c->mask = r.mask_out;
    for (unsigned i = 0; i < EM_LANES; i++) {
        c->d[i] = d[0][i] | (uint64_t)d[1][i] << 32;
    }
}

uint32_t float_mode(unsigned round_f32,
                    unsigned round_f16,
                    unsigned denorm_f32,
                    unsigned denorm_f16)
{
    return round_f32 | round_f16 << 2 | denorm_f32 << 4 | denorm_f16 << 6 |
           EM_MODE_IEEE;
}

struct ref_mode float_ref_mode(const struct ref_format *f, uint32_t mode)
{
    bool single = f->fraction_bits == 23;
    unsigned denorm = mode >> (single ? 4 : 6);
    return (struct ref_mode){ .round = (int)(mode >> (single ? 0 : 2) & 3),
                              .keep_sources = (denorm & 1) != 0,
                              .keep_results = (denorm & 2) != 0,
                              .ieee = (mode & EM_MODE_IEEE) != 0,
                              .overflow_clamps = f->fraction_bits == 10 &&
                                                 (mode & EM_MODE_FP16_OVFL) };
}

void float_edges(const struct ref_format *f, uint64_t ret[CASE_EDGES])
{
    uint64_t one = UINT64_C(1) << f->fraction_bits, inf = ref_infinity(f, false);
    uint64_t unit = inf / 2 / one * one; /* 1.0 */
    const uint64_t positive[CASE_EDGES / 2] = {
        0,
        1,
        2,
        one / 2,
        one - 1,
        one,
        one + 1,
        2 * one - 1,
        unit - one,
        unit - 1,
        unit,
        unit + 1,
        unit + one / 2 + 1,
        unit + one + 1,
        unit + (uint64_t)(f->fraction_bits + 1) * one,
        inf - one,
        inf - 1,
        inf,
        inf + 1 + one / 8,
        inf + one / 2 + 5,
    };
    uint64_t sign = one << f->exponent_bits;
    for (unsigned k = 0; k < CASE_EDGES / 2; k++) {
        ret[2 * k] = positive[k];
        ret[2 * k + 1] = positive[k] | sign;
    }
}

uint64_t float_random(const struct ref_format *f, uint64_t *state)
{
    uint64_t edges[CASE_EDGES], bits = case_random(state);
    uint64_t one = UINT64_C(1) << f->fraction_bits, sign = one << f->exponent_bits;
    switch (case_random(state) % 8) {
    case 0:
        float_edges(f, edges);
        return edges[bits % CASE_EDGES];
    case 1:
        return bits & (2 * sign - 1);
    case 2: /* few significant bits: halfway cases */
        bits &= ~(one / 16 - 1);
        break;
    default:
        break;
    }
    uint64_t near = (ref_infinity(f, false) / 2 / one - 8 + bits % 16) * one;
    return (bits & sign) | near | ((bits >> 4) & (one - 1));
}
