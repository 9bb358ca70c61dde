/* Fields of DS, FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF. */
#include "emulator/isa/tables.h"

static bool is_gws(enum em_opcode op)
{
    return op >= EM_ds_gws_sema_release_all && op <= EM_ds_gws_barrier;
}

/* A register, or bits that are 0 where the operation has none there. */
static bool take_or_zero(unsigned index,
                         bool acc,
                         enum em_type type,
                         struct em_operand *ret)
{
    return type == EM_NO ? index == 0 : em_take_vgpr(index, acc, type, ret);
}

static bool ds_flags_are_right(const struct em_inst *in, bool acc)
{
    const struct em_op_info *info = &em_infos[in->op];
    if (is_gws(in->op)) {
        return in->gds && !(acc && info->src[0] == EM_NO);
    }
    if (in->op == EM_ds_nop) {
        return !acc && !in->gds && in->offset == 0;
    }
    return !in->gds || (in->op != EM_ds_permute_b32 && in->op != EM_ds_bpermute_b32);
}

bool em_decode_ds(struct em_words *w, struct em_inst *in)
{
    const struct em_op_info *info = &em_infos[in->op];
    const uint32_t low = w->words[0];
    const uint32_t high = em_second_word(w, in);
    const bool acc = low >> 25 & 1;
    in->offset = (int32_t)em_bits(low, 15, 0);
    in->gds = low >> 16 & 1;
    bool ok = ds_flags_are_right(in, acc);
    ok = ok && take_or_zero(em_bits(high, 7, 0), acc && is_gws(in->op), info->src[0],
                            &in->src[0]);
    ok = ok && take_or_zero(em_bits(high, 15, 8), acc, info->src[1], &in->src[1]);
    ok = ok && take_or_zero(em_bits(high, 23, 16), acc, info->src[2], &in->src[2]);
    return ok && take_or_zero(em_bits(high, 31, 24), acc, info->dst, &in->dst);
}

static bool is_flat_atomic(enum em_opcode op)
{
    return em_infos[op].dst != EM_NO && em_infos[op].src[1] != EM_NO;
}

/* The address of SCRATCH: a VGPR, an SGPR, both or none. */
static bool take_scratch_address(struct em_inst *in, uint32_t low, uint32_t high)
{
    const unsigned base = em_bits(high, 22, 16);
    if (low >> 13 & 1 &&
        !em_take_vgpr(em_bits(high, 7, 0), false, EM_B32, &in->src[0])) {
        return false;
    }
    return base == 0x7f || em_take_scalar_dst(base, EM_B32, &in->src[2]);
}

static bool take_global_address(struct em_inst *in, uint32_t low, uint32_t high)
{
    const unsigned base = em_bits(high, 22, 16);
    const bool has_base = base != 0x7f;
    if (low >> 13 & 1 || !em_take_vgpr(em_bits(high, 7, 0), false,
                                       has_base ? EM_B32 : EM_B64, &in->src[0])) {
        return false;
    }
    return !has_base || em_take_scalar_dst(base, EM_B64, &in->src[2]);
}

static bool take_flat_address(struct em_inst *in, uint32_t low, uint32_t high)
{
    if (in->encoding == EM_SCRATCH) {
        return take_scratch_address(in, low, high);
    }
    if (in->encoding == EM_GLOBAL) {
        return take_global_address(in, low, high);
    }
    /* bit 12 would be the sign, and no offset is negative here */
    return em_bits(low, 13, 12) == 0 && em_bits(high, 22, 16) == 0 &&
           em_take_vgpr(em_bits(high, 7, 0), false, EM_B64, &in->src[0]);
}

bool em_decode_flat(struct em_words *w, struct em_inst *in)
{
    const struct em_op_info *info = &em_infos[in->op];
    const uint32_t low = w->words[0];
    const uint32_t high = em_second_word(w, in);
    const bool acc = high >> 23 & 1;
    in->sc0 = low >> 16 & 1;
    in->nt = low >> 17 & 1;
    in->sc1 = low >> 25 & 1;
    if (in->encoding == EM_FLAT) {
        in->offset = (int32_t)em_bits(low, 11, 0);
    } else {
        in->offset = (int32_t)(low << 19) >> 19;
    }
    bool ok = take_flat_address(in, low, high);
    if (info->src[1] != EM_NO) {
        ok = ok && em_take_vgpr(em_bits(high, 15, 8), acc, info->src[1], &in->src[1]);
    }
    if (info->dst != EM_NO && (!is_flat_atomic(in->op) || in->sc0)) {
        ok = ok && em_take_vgpr(em_bits(high, 31, 24), acc, info->dst, &in->dst);
    }
    in->lds = info->dst == EM_NO && info->src[1] == EM_NO;
    return ok && !(in->lds && acc);
}

/* Loads into LDS are the plain ones with a bit. */
static bool may_be_lds(enum em_opcode op)
{
    return op == EM_buffer_load_format_x || op == EM_buffer_load_dword ||
           (op >= EM_buffer_load_ubyte && op <= EM_buffer_load_sshort);
}

static bool take_buffer_data(struct em_inst *in, unsigned index, bool acc)
{
    const struct em_op_info *info = &em_infos[in->op];
    const bool atomic = info->dst != EM_NO && info->src[1] != EM_NO;
    if (info->src[1] != EM_NO && !em_take_vgpr(index, acc, info->src[1], &in->src[1])) {
        return false;
    }
    if (in->lds) {
        return !acc;
    }
    if (info->dst == EM_NO || (atomic && !in->sc0)) {
        return true;
    }
    return em_take_vgpr(index, acc, info->dst, &in->dst);
}

static bool take_buffer_operands(struct em_words *w, struct em_inst *in, uint32_t high)
{
    const bool both = in->offen && in->idxen;
    if ((in->offen || in->idxen) &&
        !em_take_vgpr(em_bits(high, 7, 0), false, both ? EM_B64 : EM_B32,
                      &in->src[0])) {
        return false;
    }
    return em_take_scalar_dst(em_bits(high, 20, 16) << 2, EM_B128, &in->src[2]) &&
           em_bits(high, 31, 24) != EM_LITERAL &&
           em_take_scalar(w, in, em_bits(high, 31, 24), EM_B32, &in->src[3]) &&
           take_buffer_data(in, em_bits(high, 15, 8), high >> 23 & 1);
}

bool em_decode_buffer(struct em_words *w, struct em_inst *in)
{
    const uint32_t low = w->words[0];
    const uint32_t high = em_second_word(w, in);
    in->sc0 = low >> 14 & 1;
    if (in->encoding == EM_MTBUF) {
        in->format = (uint8_t)(em_bits(low, 22, 19) | em_bits(low, 25, 23) << 4);
        in->sc1 = high >> 21 & 1;
        in->nt = high >> 22 & 1;
    } else {
        in->sc1 = low >> 15 & 1;
        in->nt = low >> 17 & 1;
        in->lds = low >> 16 & 1;
    }
    if (in->op == EM_buffer_wbl2 || in->op == EM_buffer_inv) {
        in->nt = false;
        return !in->lds && !em_bits(low, 13, 12) && !(high >> 23 & 1);
    }
    in->offset = (int32_t)em_bits(low, 11, 0);
    in->offen = low >> 12 & 1;
    in->idxen = low >> 13 & 1;
    return (!in->lds || may_be_lds(in->op)) && take_buffer_operands(w, in, high);
}
