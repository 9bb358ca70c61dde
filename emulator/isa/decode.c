/* Finds an instruction's encoding and operation; the decode_*.c files read its fields.
 * What LLVM's disassembler takes for no instruction, this does not decode either: the
 * emulator must never run what no assembler makes. */
#include "emulator/isa/tables.h"

#include <string.h>

enum {
    MAX_NUMBERS = 1024
};

/* Operations by encoding and number, one more so that 0 is none. */
static const uint16_t opcodes[EM_ENCODINGS][MAX_NUMBERS] = {
#define ENC(encoding, number, name) [EM_##encoding][number] = EM_##name + 1,
#include "emulator/isa/enc_memory.def"
#include "emulator/isa/enc_scalar.def"
#include "emulator/isa/enc_vector.def"
#undef ENC
};

static const em_decode_fn decoders[EM_ENCODINGS] = {
    [EM_SOP2] = em_decode_scalar,  [EM_SOPK] = em_decode_scalar,
    [EM_SOP1] = em_decode_scalar,  [EM_SOPC] = em_decode_scalar,
    [EM_SOPP] = em_decode_scalar,  [EM_SMEM] = em_decode_smem,
    [EM_VOP1] = em_decode_vop,     [EM_VOP2] = em_decode_vop,
    [EM_VOPC] = em_decode_vop,     [EM_VOP3] = em_decode_vop3,
    [EM_VOP3P] = em_decode_vop3p,  [EM_DS] = em_decode_ds,
    [EM_FLAT] = em_decode_flat,    [EM_GLOBAL] = em_decode_flat,
    [EM_SCRATCH] = em_decode_flat, [EM_MUBUF] = em_decode_buffer,
    [EM_MTBUF] = em_decode_buffer,
};

uint32_t em_second_word(struct em_words *w, struct em_inst *in)
{
    in->bytes = 8;
    if (w->count < 2) {
        w->truncated = true;
        return 0;
    }
    return w->words[1];
}

/* An encoding and an operation's number in it. */
struct place {
    int encoding; /* -1: none */
    uint32_t number;
};

static struct place scalar_place(uint32_t word)
{
    switch (word >> 23) {
    case 0x17d:
        return (struct place){ EM_SOP1, em_bits(word, 15, 8) };
    case 0x17e:
        return (struct place){ EM_SOPC, em_bits(word, 22, 16) };
    case 0x17f:
        return (struct place){ EM_SOPP, em_bits(word, 22, 16) };
    default:
        break;
    }
    if (word >> 28 == 0xb) {
        return (struct place){ EM_SOPK, em_bits(word, 27, 23) };
    }
    return (struct place){ EM_SOP2, em_bits(word, 29, 23) };
}

static struct place vector_place(uint32_t word)
{
    switch (word >> 25) {
    case 0x3f:
        return (struct place){ EM_VOP1, em_bits(word, 16, 9) };
    case 0x3e:
        return (struct place){ EM_VOPC, em_bits(word, 24, 17) };
    default:
        return (struct place){ EM_VOP2, word >> 25 };
    }
}

static struct place flat_place(uint32_t word)
{
    static const int segments[] = { EM_FLAT, EM_SCRATCH, EM_GLOBAL, -1 };
    return (struct place){ segments[em_bits(word, 15, 14)], em_bits(word, 24, 18) };
}

static struct place wide_place(uint32_t word)
{
    switch (word >> 26) {
    case 0x30:
        return (struct place){ EM_SMEM, em_bits(word, 25, 18) };
    case 0x34:
        if (word >> 23 == 0x1a7) {
            return (struct place){ EM_VOP3P, em_bits(word, 22, 16) };
        }
        return (struct place){ EM_VOP3, em_bits(word, 25, 16) };
    case 0x36:
        return (struct place){ EM_DS, em_bits(word, 24, 17) };
    case 0x37:
        /* bit 25 is sc1 */
        return flat_place(word);
    case 0x38:
        return (struct place){ EM_MUBUF, em_bits(word, 24, 18) };
    case 0x3a:
        return (struct place){ EM_MTBUF, em_bits(word, 18, 15) };
    default:
        return (struct place){ -1, 0 };
    }
}

static struct place find_place(uint32_t word)
{
    if (word >> 31 == 0) {
        return vector_place(word);
    }
    return word >> 30 == 2 ? scalar_place(word) : wide_place(word);
}

static void clear(struct em_inst *in)
{
    memset(in, 0, sizeof(*in));
    in->bytes = 4;
}

static void no_operands(struct em_inst *in)
{
    static const struct em_operand none = { .code = EM_NONE };
    in->dst = none;
    in->sdst = none;
    for (unsigned i = 0; i < 4; i++) {
        in->src[i] = none;
    }
}

enum em_decode_status em_decode(const uint32_t *words,
                                size_t count,
                                struct em_inst *ret)
{
    clear(ret);
    if (count == 0) {
        return EM_TRUNCATED;
    }
    const struct place place = find_place(words[0]);
    const unsigned op = place.encoding < 0 ? 0 : opcodes[place.encoding][place.number];
    if (op == 0) {
        return EM_UNKNOWN;
    }
    struct em_words w = { .words = words, .count = count };
    ret->op = (uint16_t)(op - 1);
    ret->encoding = (uint8_t)place.encoding;
    no_operands(ret);
    const bool valid = decoders[place.encoding](&w, ret);
    if (w.truncated || !valid) {
        clear(ret);
        return w.truncated ? EM_TRUNCATED : EM_UNKNOWN;
    }
    return EM_DECODED;
}
