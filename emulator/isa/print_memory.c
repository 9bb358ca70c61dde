/* Prints DS, FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF. */
#include "emulator/isa/print.h"

#include <string.h>

/* Those whose offset is two of 8 bits. */
static bool has_two_offsets(const struct em_inst *in)
{
    const char *name = em_infos[in->op].name;
    return strncmp(name, "ds_write2", 9) == 0 || strncmp(name, "ds_read2", 8) == 0 ||
           strncmp(name, "ds_wrxchg2", 10) == 0;
}

static void put_swizzle(struct em_text *t, unsigned value)
{
    const unsigned and_mask = value & 31;
    const unsigned or_mask = value >> 5 & 31;
    const unsigned xor_mask = value >> 10 & 31;
    em_put(t, " offset:");
    if (value == 0) {
        em_put(t, "0");
    } else if ((value & 0xff00) == 0x8000) {
        em_put(t, "swizzle(QUAD_PERM,%u,%u,%u,%u)", value & 3, value >> 2 & 3,
               value >> 4 & 3, value >> 6 & 3);
    } else if (value & 0x8000) {
        em_put(t, "%u", value);
    } else if (and_mask == 31 && or_mask == 0 && xor_mask != 0 &&
               (xor_mask & (xor_mask - 1)) == 0) {
        em_put(t, "swizzle(SWAP,%u)", xor_mask);
    } else if (and_mask == 31 && or_mask == 0 && xor_mask > 0 &&
               ((xor_mask + 1) & xor_mask) == 0) {
        em_put(t, "swizzle(REVERSE,%u)", xor_mask + 1);
    } else if (xor_mask == 0 && or_mask < 32 - and_mask &&
               (((32 - and_mask) & (31 - and_mask)) == 0) && and_mask != 31) {
        em_put(t, "swizzle(BROADCAST,%u,%u)", 32 - and_mask, or_mask);
    } else {
        em_put(t, "swizzle(BITMASK_PERM,\"");
        for (unsigned i = 5; i-- > 0;) {
            const bool p0 = ((0 & and_mask) | or_mask) >> i & 1;
            const bool p1 = ((31 & and_mask) | or_mask) >> i & 1;
            const bool flip = xor_mask >> i & 1;
            const bool constant = p0 == p1;
            em_put(t, "%c", constant ? (p0 != flip ? '1' : '0') : (flip ? 'i' : 'p'));
        }
        em_put(t, "\")");
    }
}

static void put_offset(struct em_text *t, int32_t offset)
{
    if (offset != 0) {
        em_put(t, " offset:%d", offset);
    }
}

void em_print_ds(struct em_text *t, const struct em_inst *in)
{
    const unsigned offset = (unsigned)in->offset;
    em_put_operand(t, in, in->dst);
    for (unsigned i = 0; i < 3; i++) {
        em_put_operand(t, in, in->src[i]);
    }
    if (in->op == EM_ds_swizzle_b32) {
        if (offset) {
            put_swizzle(t, offset);
        }
    } else if (has_two_offsets(in)) {
        if (offset & 0xff) {
            em_put(t, " offset0:%u", offset & 0xff);
        }
        if (offset >> 8) {
            em_put(t, " offset1:%u", offset >> 8);
        }
    } else {
        put_offset(t, in->offset);
    }
    if (in->gds && in->op >= EM_ds_gws_sema_release_all &&
        in->op <= EM_ds_gws_barrier) {
        em_put(t, " gds");
    }
}

static void put_cache(struct em_text *t, const struct em_inst *in)
{
    if (in->sc0) {
        em_put(t, " sc0");
    }
    if (in->nt) {
        em_put(t, " nt");
    }
    if (in->sc1) {
        em_put(t, " sc1");
    }
}

static void put_or_off(struct em_text *t,
                       const struct em_inst *in,
                       struct em_operand operand)
{
    em_put_separator(t);
    if (operand.code == EM_NONE) {
        em_put(t, "off");
    } else {
        em_put_value(t, in, operand);
    }
}

void em_print_flat(struct em_text *t, const struct em_inst *in)
{
    em_put_operand(t, in, in->dst);
    put_or_off(t, in, in->src[0]);
    em_put_operand(t, in, in->src[1]);
    if (in->encoding != EM_FLAT) {
        put_or_off(t, in, in->src[2]);
    }
    put_offset(t, in->offset);
    put_cache(t, in);
}

static const char *const data_formats[16] = {
    "INVALID",     "8",        "16",          "8_8",         "32",      "16_16",
    "10_11_11",    "11_11_10", "10_10_10_2",  "2_10_10_10",  "8_8_8_8", "32_32",
    "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15",
};

static const char *const number_formats[8] = {
    "UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT",
};

/* The default of either half is left out. */
static void put_format(struct em_text *t, unsigned format)
{
    const unsigned data = format & 15;
    const unsigned number = format >> 4;
    if (data == 1 && number == 0) {
        return;
    }
    em_put(t, " format:[");
    if (data != 1) {
        em_put(t, "BUF_DATA_FORMAT_%s%s", data_formats[data], number ? "," : "");
    }
    if (number != 0) {
        em_put(t, "BUF_NUM_FORMAT_%s", number_formats[number]);
    }
    em_put(t, "]");
}

void em_print_buffer(struct em_text *t, const struct em_inst *in)
{
    if (in->src[2].code == EM_NONE) { /* buffer_wbl2, buffer_inv */
        put_cache(t, in);
        return;
    }
    if (!in->lds) {
        em_put_operand(t, in, in->src[1].code != EM_NONE ? in->src[1] : in->dst);
    }
    put_or_off(t, in, in->src[0]);
    em_put_operand(t, in, in->src[2]);
    em_put_operand(t, in, in->src[3]);
    if (in->encoding == EM_MTBUF) {
        put_format(t, in->format);
    }
    if (in->idxen) {
        em_put(t, " idxen");
    }
    if (in->offen) {
        em_put(t, " offen");
    }
    put_offset(t, in->offset);
    put_cache(t, in);
    if (in->lds) {
        em_put(t, " lds");
    }
}
