/* Writes the sweep that isa_sweep.py compares with LLVM's disassembler: instructions of
 * every encoding and opcode number with chosen and random fields, one a line: the words
 * in hexadecimal, and how em_decode and em_print see them.
 *   isa_sweep ROUNDS [SEED]   ROUNDS variants of each opcode number
 *   isa_sweep                 the words on stdin, "W0 W1" a line */
#include "core/parse.h"
#include "emulator/isa/isa.h"

#include <stdio.h>
#include <stdlib.h>

struct field {
    uint8_t low, width; /* of the 64 bits */
    char kind;          /* what draw_field makes of it */
};

struct layout {
    uint32_t base;
    uint8_t op_low, op_width;
    struct field fields[14];
};

/* clang-format off */
static const struct layout layouts[] = {
    { 0x80000000, 23, 7, { { 16, 7, 'd' }, { 8, 8, 'S' }, { 0, 8, 'S' } } },
    { 0xb0000000, 23, 5, { { 16, 7, 'd' }, { 0, 16, 'b' } } },
    { 0xbe800000, 8, 8, { { 16, 7, 'd' }, { 0, 8, 'S' } } },
    { 0xbf000000, 16, 7, { { 8, 8, 'S' }, { 0, 8, 'S' } } },
    { 0xbf800000, 16, 7, { { 0, 16, 'b' } } },
    { 0xc0000000, 18, 8, { { 0, 6, 'b' }, { 6, 7, 'd' }, { 13, 1, 'b' }, { 14, 1, 'b' },
      { 15, 1, 'b' }, { 16, 1, 'b' }, { 17, 1, 'b' }, { 32, 21, 'b' }, { 57, 7, 'd' } } },
    { 0x7e000000, 9, 8, { { 17, 8, 'b' }, { 0, 9, 's' } } },
    { 0x00000000, 25, 6, { { 17, 8, 'b' }, { 9, 8, 'b' }, { 0, 9, 's' } } },
    { 0x7c000000, 17, 8, { { 9, 8, 'b' }, { 0, 9, 's' } } },
    /* SDWA and DPP */
    { 0x7e0000f9, 9, 8, { { 17, 8, 'b' }, { 32, 8, 'b' }, { 40, 3, '7' }, { 43, 2, '3' },
      { 45, 1, 'b' }, { 46, 2, 'b' }, { 48, 3, '7' }, { 51, 1, 'b' }, { 52, 2, 'b' },
      { 55, 1, 'b' } } },
    { 0x000000f9, 25, 6, { { 17, 8, 'b' }, { 9, 8, 'b' }, { 32, 8, 'b' }, { 40, 3, '7' },
      { 43, 2, '3' }, { 45, 1, 'b' }, { 46, 2, 'b' }, { 48, 3, '7' }, { 51, 1, 'b' },
      { 52, 2, 'b' }, { 55, 1, 'b' }, { 56, 3, '7' }, { 60, 2, 'b' }, { 63, 1, 'b' } } },
    { 0x7c0000f9, 17, 8, { { 9, 8, 'b' }, { 32, 8, 'b' }, { 40, 7, 'd' }, { 47, 1, 'b' },
      { 48, 3, '7' }, { 51, 1, 'b' }, { 52, 2, 'b' }, { 55, 1, 'b' }, { 56, 3, '7' },
      { 59, 1, 'b' }, { 60, 2, 'b' }, { 63, 1, 'b' } } },
    { 0x7e0000fa, 9, 8, { { 17, 8, 'b' }, { 32, 8, 'b' }, { 40, 9, 'c' }, { 49, 3, 'b' },
      { 52, 2, 'b' }, { 54, 2, 'b' }, { 56, 8, 'b' } } },
    { 0x000000fa, 25, 6, { { 17, 8, 'b' }, { 9, 8, 'b' }, { 32, 8, 'b' }, { 40, 9, 'c' },
      { 49, 3, 'b' }, { 52, 2, 'b' }, { 54, 2, 'b' }, { 56, 8, 'b' } } },
    { 0xd0000000, 16, 10, { { 0, 8, 'b' }, { 8, 3, 'b' }, { 11, 4, 'b' }, { 15, 1, 'b' },
      { 32, 9, 't' }, { 41, 9, 't' }, { 50, 9, 't' }, { 59, 2, 'b' }, { 61, 3, 'b' } } },
    { 0xd3800000, 16, 7, { { 0, 8, 'b' }, { 8, 3, 'b' }, { 11, 4, 'b' }, { 15, 1, 'b' },
      { 32, 9, 't' }, { 41, 9, 't' }, { 50, 9, 't' }, { 59, 2, 'b' }, { 61, 3, 'b' } } },
    { 0xd8000000, 17, 8, { { 0, 8, 'b' }, { 8, 8, 'b' }, { 16, 1, 'b' }, { 25, 1, 'b' },
      { 32, 8, 'b' }, { 40, 8, 'b' }, { 48, 8, 'b' }, { 56, 8, 'b' } } },
    { 0xdc000000, 18, 7, { { 0, 13, 'b' }, { 13, 1, 'b' }, { 16, 2, 'b' }, { 25, 1, 'b' },
      { 32, 8, 'b' }, { 40, 8, 'b' }, { 55, 1, 'b' }, { 56, 8, 'b' }, { 48, 7, 'b' } } },
    { 0xdc004000, 18, 7, { { 0, 13, 'b' }, { 13, 1, 'b' }, { 16, 2, 'b' }, { 25, 1, 'b' },
      { 32, 8, 'b' }, { 40, 8, 'b' }, { 48, 7, 'o' }, { 55, 1, 'b' }, { 56, 8, 'b' } } },
    { 0xdc008000, 18, 7, { { 0, 13, 'b' }, { 13, 1, 'b' }, { 16, 2, 'b' }, { 25, 1, 'b' },
      { 32, 8, 'b' }, { 40, 8, 'b' }, { 48, 7, 'o' }, { 55, 1, 'b' }, { 56, 8, 'b' } } },
    { 0xe0000000, 18, 7, { { 0, 12, 'b' }, { 12, 1, 'b' }, { 13, 1, 'b' }, { 14, 2, 'b' },
      { 16, 1, 'b' }, { 17, 1, 'b' }, { 32, 8, 'b' }, { 40, 8, 'b' }, { 48, 5, 'b' },
      { 53, 2, 'b' }, { 55, 1, 'b' }, { 56, 8, 'T' } } },
    { 0xe8000000, 15, 4, { { 0, 12, 'b' }, { 12, 1, 'b' }, { 13, 1, 'b' }, { 14, 1, 'b' },
      { 19, 4, 'b' }, { 23, 3, 'b' }, { 32, 8, 'b' }, { 40, 8, 'b' }, { 48, 5, 'b' },
      { 53, 2, 'b' }, { 55, 1, 'b' }, { 56, 8, 'T' } } },
};
/* clang-format on */

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static uint64_t draw_scalar(void)
{
    static const uint8_t marks[] = { 102, 104, 106, 107, 108, 116, 123, 124, 125,
                                     126, 127, 128, 192, 193, 208, 209, 235, 236,
                                     237, 238, 239, 240, 241, 242, 243, 244, 245,
                                     246, 247, 248, 251, 252, 253, 254, 255, 255 };
    return draw(2) ? draw(102) : marks[draw(sizeof(marks))];
}

static uint64_t draw_source(void)
{
    return draw(3) ? 256 + (draw(2) ? draw(128) * 2 : draw(256)) : draw_scalar();
}

/* LLVM 22 crashes on the literal that some encodings do not have. */
static uint64_t no_literal(uint64_t code)
{
    return code == 255 ? 128 : code;
}

static uint64_t draw_field(struct field f)
{
    switch (f.kind) {
    case 'd': /* destination */
        return draw(4) ? draw(102) : draw(128);
    case 'S': /* sources of 8 and 9 bits, and without literals */
        return draw_scalar();
    case 's':
        return draw_source();
    case 'T':
        return no_literal(draw_scalar());
    case 't':
        return no_literal(draw_source());
    case '7': /* SDWA select */
        return draw(7);
    case '3':
        return draw(3);
    case 'c': /* DPP control */
        return draw(4) ? draw(0x160) : draw(512);
    case 'o': /* SGPR base or off */
        return draw(2) ? 127 : draw(128);
    default:
        return draw(UINT64_C(1) << f.width);
    }
}

/* 0: all fields 0; 1: all drawn; otherwise each one is drawn or 0. */
static uint64_t fill(const struct layout *l, unsigned round)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < 14 && l->fields[i].width; i++) {
        const struct field f = l->fields[i];
        const bool keep = round == 1 || (round != 0 && draw(2));
        bits |= (keep ? draw_field(f) : f.kind == 'o' ? 127 : 0) << f.low;
    }
    return bits;
}

static bool has_second_word(const struct layout *l)
{
    for (unsigned i = 0; i < 14; i++) {
        if (l->fields[i].low >= 32) {
            return true;
        }
    }
    return false;
}

static void emit(uint32_t low, uint32_t high)
{
    const uint32_t words[2] = { low, high };
    struct em_inst in;
    char text[256];
    const enum em_decode_status status = em_decode(words, 2, &in);
    if (status == EM_DECODED) {
        (void)em_print(&in, text, sizeof(text));
        printf("%08x %08x %u %s\n", low, high, in.bytes, text);
    } else {
        printf("%08x %08x 0 unknown\n", low, high);
    }
}

static uint32_t draw_literal(void)
{
    static const uint32_t marks[] = { 0,          1,          64,         65,
                                      0xfffffff0, 0xffffffef, 0x3f800000, 0xc0800000,
                                      0x3e22f983, 0x00003c00, 0x0000b800, 0xffffb800,
                                      0x12345678, 0x3118,     0x7fffff00, 0xffff };
    /* were it taken for an instruction, it would not ask for a literal of its own */
    return draw(2) ? marks[draw(16)] : (uint32_t)draw(UINT64_C(1) << 32) & ~0x101U;
}

static void sweep(uint64_t rounds)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct layout *l = &layouts[i];
        for (uint32_t op = 0; op < UINT32_C(1) << l->op_width; op++) {
            for (unsigned round = 0; round < rounds; round++) {
                uint64_t bits = fill(l, round);
                if (l->base == 0xd0000000 && op < 256) {
                    bits &= ~UINT64_C(0x80); /* LLVM 22 crashes: a constant's place */
                }
                emit(l->base | op << l->op_low | (uint32_t)bits,
                     has_second_word(l) ? (uint32_t)(bits >> 32) : draw_literal());
            }
        }
    }
}

/* Words of other programs: "W0 W1" a line, as llvm-objdump has them. */
static void list(void)
{
    char line[64];
    while (fgets(line, sizeof(line), stdin)) {
        char *end = NULL;
        const uint32_t low = (uint32_t)strtoul(line, &end, 16);
        emit(low, (uint32_t)strtoul(end, NULL, 16));
    }
}

int main(int argc, char **argv)
{
    uint64_t rounds = 0;
    uint64_t seed = 1;
    struct wf_error err = { .text = "" };
    if (argc == 1) {
        list();
        return 0;
    }
    if (argc > 3 ||
        wf_parse_u64(argv[1], "ROUNDS", 1, 100000, &rounds, &err) != WF_OK ||
        (argc == 3 &&
         wf_parse_u64(argv[2], "SEED", 1, UINT64_MAX, &seed, &err) != WF_OK)) {
        (void)fprintf(stderr, "isa_sweep: %s\n", err.text);
        return 2;
    }
    state = seed * 0x9e3779b97f4a7c15U;
    sweep(rounds);
    return 0;
}
