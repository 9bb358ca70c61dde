/* Atomics of FLAT, GLOBAL and MUBUF against a reference told from their names. */
#include "tests/emulator/memory_fixture.h"
#include "tests/emulator/memory_reference.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    REGION = 4096,
    ROUNDS = 40,
    REGISTERS = 64 * EM_LANES
};

static struct memory_fixture f;
static uint32_t reg[REGISTERS];
static uint8_t expected[REGION];
static uint64_t base;

static void setup(void)
{
    fixture_init(&f, 4096);
    base = fixture_alloc(&f, REGION);
}

static void teardown(void)
{
    fixture_fini(&f);
}

TestSuite(vmem_atomic, .init = setup, .fini = teardown);

static uint8_t *memory(void)
{
    return (uint8_t *)(uintptr_t)base;
}

static bool active(unsigned lane)
{
    return em_exec(f.w) >> lane & 1;
}

/* No NaN and no infinity in any of the formats; equal now and then. */
static uint32_t value_of(bool is_float)
{
    uint32_t r = fixture_random(&f);
    uint32_t small = (fixture_random(&f) % 4) | (r & 0x80000000);
    uint32_t bits = r % 3 == 0 ? small : fixture_random(&f);
    return is_float ? bits & 0xbbffbbff : bits;
}

static uint64_t get(unsigned n, unsigned lane, unsigned bytes)
{
    uint64_t low = reg[n * EM_LANES + lane];
    return bytes == 8 ? low | (uint64_t)reg[(n + 1) * EM_LANES + lane] << 32 : low;
}

static void put(unsigned n, unsigned lane, unsigned bytes, uint64_t value)
{
    reg[n * EM_LANES + lane] = (uint32_t)value;
    if (bytes == 8) {
        reg[(n + 1) * EM_LANES + lane] = (uint32_t)(value >> 32);
    }
}

static void fill(bool is_float)
{
    fixture_scramble(&f);
    for (unsigned i = 2 * EM_LANES; i < 32 * EM_LANES; i++) {
        f.w->v[i] = value_of(is_float);
    }
    for (unsigned i = 0; i < REGION; i += 4) {
        uint32_t bits = value_of(is_float);
        memcpy(memory() + i, &bits, 4);
    }
}

/* Lane's place in the region; -1: the buffer's range ends before it. */
static int64_t place(const struct em_inst *in, unsigned lane, unsigned bytes)
{
    if (in->encoding == EM_MUBUF) {
        return reg[lane] + bytes <= f.w->s[22] ? (int64_t)reg[lane] : -1;
    }
    return (int64_t)((reg[lane] | (uint64_t)reg[EM_LANES + lane] << 32) - base);
}

static void prepare(struct em_inst *in, enum em_encoding encoding, unsigned bytes)
{
    bool buffer = encoding == EM_MUBUF;
    in->src[0] = v(0, buffer ? 1 : 2);
    in->offen = buffer;
    if (buffer) {
        in->src[2] = s(20, 4);
        in->src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
        f.w->s[20] = (uint32_t)base;
        f.w->s[21] = (uint32_t)(base >> 32);
        f.w->s[22] = 40 * bytes;
        f.w->s[23] = 0x20000;
    }
    for (unsigned i = 0; i < EM_LANES; i++) {
        fixture_set64(&f, 0, i,
                      (buffer ? 0 : base) + bytes * (fixture_random(&f) % 50));
    }
}

static void check(enum em_opcode op, enum em_encoding encoding)
{
    const char *name = strstr(reference_name(op), "atomic_") + 7;
    bool is_float = strstr(name, "_f32") || strstr(name, "_f64") || strstr(name, "f16");
    unsigned bytes;
    (void)reference_atomic(name, 0, 0, 0, &bytes);
    cr_assert_neq(bytes, 0, "%s", name);
    fill(is_float);
    struct em_inst in = fixture_inst(op, encoding);
    prepare(&in, encoding, bytes);
    bool compares = strstr(name, "cmpswap") != NULL;
    in.src[1] = v(8, (compares ? 2 : 1) * bytes / 4);
    in.sc0 = fixture_random(&f) % 2;
    unsigned n = encoding == EM_MUBUF || fixture_random(&f) % 2 ? 8 : 20;
    if (in.sc0) {
        in.dst = v(n, in.src[1].dwords);
    }
    memcpy(reg, f.w->v, sizeof(reg));
    memcpy(expected, memory(), REGION);
    for (unsigned i = 0; i < EM_LANES; i++) {
        if (!active(i)) {
            continue;
        }
        int64_t at = place(&in, i, bytes);
        uint64_t old = 0;
        if (at >= 0) {
            memcpy(&old, expected + at, bytes);
            uint64_t next = reference_atomic(name, old, get(8, i, bytes),
                                             get(8 + bytes / 4, i, bytes), &bytes);
            memcpy(expected + at, &next, bytes);
        }
        if (in.sc0) {
            put(n, i, bytes, old);
        }
    }
    cr_assert_eq(fixture_run(&f, &in), EM_GO, "%s: %s", name, f.group.fault.text);
    bool same = memcmp(f.w->v, reg, sizeof(reg)) == 0;
    for (unsigned i = 0; i < REGISTERS && !same; i++) {
        cr_assert_eq(f.w->v[i], reg[i], "%s: v%u lane %u is %08x, not %08x", name,
                     i / EM_LANES, i % EM_LANES, f.w->v[i], reg[i]);
    }
    cr_assert_arr_eq(memory(), expected, REGION, "%s: memory", name);
}

static unsigned check_all(const char *prefix, enum em_encoding encoding)
{
    unsigned tested = 0;
    for (unsigned op = 0; op < EM_OPCODES; op++) {
        if (strncmp(reference_name((enum em_opcode)op), prefix, strlen(prefix)) == 0) {
            tested++;
            for (unsigned i = 0; i < ROUNDS; i++) {
                check((enum em_opcode)op, encoding);
            }
        }
    }
    return tested;
}

Test(vmem_atomic, all_equal_the_reference)
{
    cr_assert_eq(check_all("global_atomic_", EM_GLOBAL), 32);
    cr_assert_eq(check_all("flat_atomic_", EM_FLAT), 32);
    cr_assert_eq(check_all("buffer_atomic_", EM_MUBUF), 31);
}

Test(vmem_atomic, flat_reaches_lds)
{
    struct em_inst in = fixture_inst(EM_flat_atomic_add, EM_FLAT);
    in.src[0] = v(0, 2);
    in.src[1] = v(2, 1);
    em_set_s64(f.w, EM_EXEC, UINT64_MAX);
    for (unsigned i = 0; i < EM_LANES; i++) {
        fixture_set64(&f, 0, i, (i % 2 ? EM_SHARED_APERTURE : base) + 4 * (i % 4));
        f.w->v[2 * EM_LANES + i] = 1;
    }
    cr_assert_eq(fixture_run(&f, &in), EM_GO, "%s", f.group.fault.text);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t got;
        memcpy(&got, (i % 2 ? f.group.lds : memory()) + 4 * i, 4);
        cr_assert_eq(got, 16);
    }
}

Test(vmem_atomic, misaligned_is_a_fault)
{
    struct em_inst in = fixture_inst(EM_global_atomic_add_x2, EM_GLOBAL);
    in.src[0] = v(0, 2);
    in.src[1] = v(2, 2);
    em_set_s64(f.w, EM_EXEC, 0x30);
    fixture_set64(&f, 0, 4, base + 8);
    fixture_set64(&f, 0, 5, base + 20);
    cr_assert_eq(fixture_run(&f, &in), EM_FAULTED);
    cr_assert_eq(f.group.fault.kind, EM_FAULT_MISALIGNED);
    cr_assert_eq(f.group.fault.lane, 5);
    cr_assert_eq(f.group.fault.address, base + 20);
}

Test(vmem_atomic, bf16_sums_round_to_even_and_keep_nan)
{
    static const struct {
        uint32_t a, b, sum;
    } cases[] = { { 0x3f80, 0x3b80, 0x3f80 },   /* 1 + 2^-8: a tie, to even */
                  { 0x3f81, 0x3b80, 0x3f82 },   /* a tie, up to even */
                  { 0x7f7f, 0x7f7f, 0x7f80 },   /* overflow */
                  { 0x7fc0, 0x3f80, 0x7fc0 },   /* NaN */
                  { 0x0001, 0x0001, 0x0002 },   /* denormals */
                  { 0x7f80, 0xff80, 0xffc0 } }; /* inf - inf */
    em_set_s64(f.w, EM_EXEC, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct em_inst in = fixture_inst(EM_global_atomic_pk_add_bf16, EM_GLOBAL);
        in.src[0] = v(0, 2);
        in.src[1] = v(2, 1);
        fixture_set64(&f, 0, 0, base);
        uint32_t old = cases[i].a << 16 | 0x4000;
        memcpy(memory(), &old, 4);
        f.w->v[2 * EM_LANES] = cases[i].b << 16 | 0x4000;
        cr_assert_eq(fixture_run(&f, &in), EM_GO);
        memcpy(&old, memory(), 4);
        cr_assert_eq(old, cases[i].sum << 16 | 0x4080, "%08x", old);
    }
}
