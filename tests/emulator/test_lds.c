/* DS instructions against a reference that works lane by lane from their names. */
#include "tests/emulator/memory_fixture.h"
#include "tests/emulator/memory_reference.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    SIZE = 8192,
    ROUNDS = 40,
    REGISTERS = 64 * EM_LANES
};

static struct memory_fixture f;
static uint32_t reg[REGISTERS];
static uint8_t lds[EM_MAX_LDS_BYTES];

static void setup(void)
{
    fixture_init(&f, SIZE);
}

static void teardown(void)
{
    fixture_fini(&f);
}

static void remember(void)
{
    memcpy(reg, f.w->v, sizeof(reg));
    memcpy(lds, f.group.lds, sizeof(lds));
}

static void compare(const struct em_inst *in)
{
    const char *name = reference_name((enum em_opcode)in->op);
    enum em_flow flow = fixture_run(&f, in);
    cr_assert_eq(flow, EM_GO, "%s: %s", name, f.group.fault.text);
    bool same = memcmp(f.w->v, reg, sizeof(reg)) == 0;
    for (unsigned i = 0; i < REGISTERS && !same; i++) {
        cr_assert_eq(f.w->v[i], reg[i], "%s: v%u lane %u is %08x, not %08x", name,
                     i / EM_LANES, i % EM_LANES, f.w->v[i], reg[i]);
    }
    cr_assert_arr_eq(f.group.lds, lds, sizeof(lds), "%s: LDS", name);
}

static bool active(unsigned lane)
{
    return em_exec(f.w) >> lane & 1;
}

static void lane_move(const struct reference_move *m,
                      unsigned n,
                      unsigned lane,
                      uint32_t at)
{
    uint32_t value[4];
    for (unsigned i = 0; i < 4; i++) {
        value[i] = reg[(n + i) * EM_LANES + lane];
    }
    if (m->store) {
        reference_store(m, lds + at, value);
        return;
    }
    reference_load(m, lds + at, value);
    for (unsigned i = 0; i < 4; i++) {
        reg[(n + i) * EM_LANES + lane] = value[i];
    }
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

TestSuite(lds, .init = setup, .fini = teardown);

static void check_move(enum em_opcode op, const struct reference_move *m)
{
    fixture_scramble(&f);
    struct em_inst in = fixture_inst(op, EM_DS);
    unsigned dwords = m->bytes < 4 ? 1 : m->bytes / 4;
    unsigned n = m->store || fixture_random(&f) % 2 ? 8 : 0;
    bool run = fixture_random(&f) % 4 == 0;
    in.offset = (int32_t)(fixture_random(&f) % 1024);
    in.src[0] = v(0, 1);
    if (m->store) {
        in.src[1] = v(n, dwords);
    } else {
        in.dst = v(n, dwords);
    }
    uint32_t at[EM_LANES];
    for (unsigned i = 0; i < EM_LANES; i++) {
        at[i] = m->store ? i * 128 + fixture_random(&f) % 112
                         : fixture_random(&f) % (SIZE - 15);
        at[i] = run ? 2048 + m->bytes * i : at[i];
        if (active(i)) {
            f.w->v[i] = at[i] - (uint32_t)in.offset; /* wraps below 0 */
        }
    }
    remember();
    for (unsigned i = 0; i < EM_LANES; i++) {
        if (active(i)) {
            lane_move(m, n, i, at[i]);
        }
    }
    compare(&in);
}

Test(lds, moves_equal_the_reference)
{
    unsigned tested = 0;
    for (unsigned op = 0; op < EM_OPCODES; op++) {
        const char *name = reference_name((enum em_opcode)op);
        struct reference_move m = reference_parse(name);
        if (strncmp(name, "ds_", 3) != 0 || !m.bytes || strstr(name, "addtid") ||
            strstr(name, "2_") || strstr(name, "2st")) {
            continue;
        }
        tested++;
        for (unsigned i = 0; i < ROUNDS; i++) {
            check_move((enum em_opcode)op, &m);
        }
    }
    cr_assert_eq(tested, 22);
}

static void check_two(enum em_opcode op, unsigned bytes, bool store, bool st64)
{
    fixture_scramble(&f);
    struct em_inst in = fixture_inst(op, EM_DS);
    unsigned dwords = bytes / 4;
    unsigned n = fixture_random(&f) % 2 ? 8 : 0;
    unsigned step = bytes * (st64 ? 64 : 1);
    unsigned offset[2] = { fixture_random(&f) % (st64 ? 8 : 256),
                           fixture_random(&f) % (st64 ? 8 : 256) };
    in.offset = (int32_t)(offset[0] | offset[1] << 8);
    in.src[0] = v(0, 1);
    if (store) {
        in.src[1] = v(16, dwords);
        in.src[2] = v(20, dwords);
    } else {
        in.dst = v(n, 2 * dwords);
    }
    for (unsigned i = 0; i < EM_LANES; i++) {
        f.w->v[i] = store ? i * bytes : fixture_random(&f) % (SIZE - 7 * 512 - 7);
    }
    remember();
    struct reference_move m = { .store = store, .bytes = bytes };
    uint32_t address[EM_LANES];
    memcpy(address, reg, sizeof(address));
    for (unsigned j = 0; j < 2; j++) {
        for (unsigned i = 0; i < EM_LANES; i++) {
            if (active(i)) {
                lane_move(&m, store ? 16 + 4 * j : n + j * dwords, i,
                          address[i] + offset[j] * step);
            }
        }
    }
    compare(&in);
}

Test(lds, two_address_moves_equal_the_reference)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        check_two(EM_ds_read2_b32, 4, false, false);
        check_two(EM_ds_read2st64_b32, 4, false, true);
        check_two(EM_ds_read2_b64, 8, false, false);
        check_two(EM_ds_read2st64_b64, 8, false, true);
        check_two(EM_ds_write2_b32, 4, true, false);
        check_two(EM_ds_write2st64_b32, 4, true, true);
        check_two(EM_ds_write2_b64, 8, true, false);
        check_two(EM_ds_write2st64_b64, 8, true, true);
    }
}

/* No NaN and no infinity in any of the formats that the bits may be read as. */
static uint32_t tame(uint32_t bits)
{
    return bits & 0xbbffbbff;
}

/* Values that are equal now and then, so that comparisons go both ways. */
static uint32_t value_of(bool is_float)
{
    uint32_t r = fixture_random(&f);
    uint32_t small = (fixture_random(&f) % 4) | (r & 0x80000000);
    uint32_t bits = r % 3 == 0 ? small : fixture_random(&f);
    return is_float ? tame(bits) : bits;
}

static void fill_values(bool is_float)
{
    for (unsigned i = EM_LANES; i < 32 * EM_LANES; i++) {
        f.w->v[i] = value_of(is_float);
    }
    for (unsigned i = 0; i < SIZE; i += 4) {
        uint32_t bits = value_of(is_float);
        memcpy(f.group.lds + i, &bits, sizeof(bits));
    }
}

static void check_atomic(enum em_opcode op, const char *name, bool rtn)
{
    fixture_scramble(&f);
    bool is_float = strstr(name, "_f32") || strstr(name, "_f64") || strstr(name, "f16");
    f.w->mode = EM_MODE_DENORM_F32 | EM_MODE_DENORM_F64_F16;
    fill_values(is_float);
    bool other = strstr(name, "cmpst") || strstr(name, "mskor") || strstr(name, "wrap");
    bool compares = strstr(name, "cmpst") != NULL;
    unsigned bytes;
    (void)reference_atomic(name, 0, 0, 0, &bytes);
    cr_assert_neq(bytes, 0, "%s", name);
    struct em_inst in = fixture_inst(op, EM_DS);
    in.src[0] = v(0, 1);
    in.src[1] = v(8, bytes / 4);
    in.src[2] = other ? v(12, bytes / 4) : in.src[2];
    in.offset = 8 * (int32_t)(fixture_random(&f) % 16);
    unsigned n = fixture_random(&f) % 2 ? 8 : 20;
    in.dst = rtn ? v(n, bytes / 4) : in.dst;
    for (unsigned i = 0; i < EM_LANES; i++) { /* lanes meet */
        f.w->v[i] = bytes * (fixture_random(&f) % 40);
    }
    remember();
    for (unsigned i = 0; i < EM_LANES; i++) {
        if (!active(i)) {
            continue;
        }
        uint64_t old = 0;
        uint8_t *at = lds + reg[i] + in.offset;
        memcpy(&old, at, bytes);
        uint64_t data = get(compares ? 12 : 8, i, bytes);
        uint64_t next =
            reference_atomic(name, old, data, get(compares ? 8 : 12, i, bytes), &bytes);
        memcpy(at, &next, bytes);
        if (rtn) {
            put(n, i, bytes, old);
        }
    }
    compare(&in);
}

static bool is_atomic(const char *name)
{
    static const char *const others[] = { "addtid",  "read",   "write", "swizzle",
                                          "permute", "append", "nop",   "consume",
                                          "gws",     "2_rtn",  "2st64", "condxchg" };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strstr(name, others[i])) {
            return false;
        }
    }
    return strncmp(name, "ds_", 3) == 0;
}

Test(lds, atomics_equal_the_reference)
{
    unsigned tested = 0;
    for (unsigned op = 0; op < EM_OPCODES; op++) {
        const char *name = reference_name((enum em_opcode)op);
        if (!is_atomic(name)) {
            continue;
        }
        tested++;
        for (unsigned i = 0; i < ROUNDS; i++) {
            check_atomic((enum em_opcode)op, name, strstr(name, "_rtn_") != NULL);
        }
    }
    cr_assert_eq(tested, 79);
}

Test(lds, exchange_of_two_places)
{
    static const struct {
        enum em_opcode op;
        unsigned bytes, step;
    } cases[] = { { EM_ds_wrxchg2_rtn_b32, 4, 4 },
                  { EM_ds_wrxchg2st64_rtn_b32, 4, 256 },
                  { EM_ds_wrxchg2_rtn_b64, 8, 8 },
                  { EM_ds_wrxchg2st64_rtn_b64, 8, 512 } };
    for (unsigned round = 0; round < 4 * ROUNDS; round++) {
        unsigned c = round % 4;
        unsigned bytes = cases[c].bytes;
        fixture_scramble(&f);
        struct em_inst in = fixture_inst(cases[c].op, EM_DS);
        in.src[0] = v(0, 1);
        in.src[1] = v(8, bytes / 4);
        in.src[2] = v(10, bytes / 4);
        in.dst = v(20, bytes / 2);
        in.offset = 2 | 5 << 8;
        for (unsigned i = 0; i < EM_LANES; i++) {
            f.w->v[i] = bytes * i;
        }
        remember();
        for (unsigned half = 0; half < 2; half++) {
            for (unsigned i = 0; i < EM_LANES; i++) {
                uint8_t *at = lds + reg[i] + (half ? 5 : 2) * cases[c].step;
                uint64_t data = get(8 + 2 * half, i, bytes);
                uint64_t old = 0;
                memcpy(&old, at, bytes);
                if (active(i)) {
                    memcpy(at, &data, bytes);
                    put(20 + half * bytes / 4, i, bytes, old);
                }
            }
        }
        compare(&in);
    }
}

Test(lds, float_atomics_flush_denormals_as_mode_says)
{
    struct em_inst in = fixture_inst(EM_ds_add_rtn_f32, EM_DS);
    in.src[0] = v(0, 1);
    in.src[1] = v(1, 1);
    in.dst = v(2, 1);
    em_set_s64(f.w, EM_EXEC, 1);
    uint32_t tiny = 5;
    memcpy(f.group.lds, &tiny, 4);
    f.w->v[0] = 0;
    f.w->v[EM_LANES] = 3;
    f.w->mode = EM_MODE_DENORM_F32;
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    memcpy(&tiny, f.group.lds, 4);
    cr_assert_eq(tiny, 8);
    f.w->mode = 0;
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    memcpy(&tiny, f.group.lds, 4);
    cr_assert_eq(tiny, 0);
    cr_assert_eq(f.w->v[2 * EM_LANES], 8);
}

Test(lds, min_and_max_prefer_numbers)
{
    static const struct {
        uint32_t old, data, min, max;
    } cases[] = { { 0x7fc00000, 0x3f800000, 0x3f800000, 0x3f800000 },
                  { 0x3f800000, 0x7fc00000, 0x3f800000, 0x3f800000 },
                  { 0xff800000, 0x7f800000, 0xff800000, 0x7f800000 } };
    em_set_s64(f.w, EM_EXEC, 1);
    f.w->mode = EM_MODE_DENORM_F32;
    for (unsigned i = 0; i < 6; i++) {
        struct em_inst in = fixture_inst(i % 2 ? EM_ds_max_f32 : EM_ds_min_f32, EM_DS);
        in.src[0] = v(0, 1);
        in.src[1] = v(1, 1);
        f.w->v[0] = 0;
        f.w->v[EM_LANES] = cases[i / 2].data;
        memcpy(f.group.lds, &cases[i / 2].old, 4);
        cr_assert_eq(fixture_run(&f, &in), EM_GO);
        uint32_t got;
        memcpy(&got, f.group.lds, 4);
        cr_assert_eq(got, i % 2 ? cases[i / 2].max : cases[i / 2].min);
    }
}

Test(lds, addtid_takes_m0_and_the_lane)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        fixture_scramble(&f);
        f.w->s[EM_M0] = 0xabc00000 | 4 * (fixture_random(&f) % 256);
        struct em_inst in = fixture_inst(
            round % 2 ? EM_ds_read_addtid_b32 : EM_ds_write_addtid_b32, EM_DS);
        in.offset = (int32_t)(4 * (fixture_random(&f) % 256));
        if (round % 2) {
            in.dst = v(3, 1);
        } else {
            in.src[1] = v(3, 1);
        }
        remember();
        struct reference_move m = { .store = round % 2 == 0, .bytes = 4 };
        for (unsigned i = 0; i < EM_LANES; i++) {
            if (active(i)) {
                lane_move(&m, 3, i,
                          (f.w->s[EM_M0] & 0xffff) + (uint32_t)in.offset + 4 * i);
            }
        }
        compare(&in);
    }
}

static void check_swizzle(unsigned offset, unsigned (*from)(unsigned, unsigned))
{
    fixture_scramble(&f);
    struct em_inst in = fixture_inst(EM_ds_swizzle_b32, EM_DS);
    in.src[0] = v(1, 1);
    in.dst = v(fixture_random(&f) % 2 ? 1 : 2, 1);
    in.offset = (int32_t)offset;
    remember();
    unsigned to = in.dst.code - EM_VGPR0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        unsigned lane = from(offset, i);
        if (active(i)) {
            reg[to * EM_LANES + i] = active(lane) ? f.w->v[EM_LANES + lane] : 0;
        }
    }
    compare(&in);
}

static unsigned swizzle_masks(unsigned offset, unsigned i)
{
    unsigned and = offset % 32;
    unsigned or = offset / 32 % 32;
    unsigned xor = offset / 1024 % 32;
    return i / 32 * 32 + (((i % 32 & and) | or) ^ xor);
}

static unsigned swizzle_quads(unsigned offset, unsigned i)
{
    unsigned choice[4] = { offset % 4, offset / 4 % 4, offset / 16 % 4,
                           offset / 64 % 4 };
    return i / 4 * 4 + choice[i % 4];
}

/* Rotation within groups: the bits of `keep` stay, the others turn. */
static unsigned swizzle_rotate(unsigned offset, unsigned i)
{
    unsigned keep = offset % 32;
    unsigned by = offset / 32 % 32;
    unsigned turned = (offset / 1024 % 2 ? i + 32 - by : i + by) % 32;
    unsigned lane = 0;
    for (unsigned bit = 1; bit < 32; bit *= 2) {
        lane |= keep & bit ? i & bit : turned & bit;
    }
    return i / 32 * 32 + lane;
}

/* Bits of the lane reversed, moved down by as many as the mask has, which keep theirs.
 */
static unsigned swizzle_fft(unsigned offset, unsigned i)
{
    unsigned mask = offset % 32;
    unsigned reversed = 0;
    unsigned ones = 0;
    for (unsigned bit = 0; bit < 5; bit++) {
        reversed |= (i >> bit & 1) << (4 - bit);
        ones += mask >> bit & 1;
    }
    return i / 32 * 32 + ((reversed >> ones) | (i % 32 & mask));
}

Test(lds, swizzles_equal_the_reference)
{
    for (unsigned round = 0; round < 4 * ROUNDS; round++) {
        check_swizzle(fixture_random(&f) & 0x7fff, swizzle_masks);
        check_swizzle(0x8000 | (fixture_random(&f) & 0xff), swizzle_quads);
        check_swizzle(0xc000 | (fixture_random(&f) & 0x7ff), swizzle_rotate);
        /* The masks that the assembler's FFT modes have: low bits. */
        check_swizzle(0xe000 | (0x1f >> fixture_random(&f) % 6), swizzle_fft);
    }
    check_swizzle(0xc000 | 1 << 5, swizzle_rotate);
}

Test(lds, swizzle_reverses_and_swaps_by_hand)
{
    em_set_s64(f.w, EM_EXEC, UINT64_MAX);
    struct em_inst in = fixture_inst(EM_ds_swizzle_b32, EM_DS);
    in.src[0] = v(1, 1);
    in.dst = v(2, 1);
    for (unsigned i = 0; i < EM_LANES; i++) {
        f.w->v[EM_LANES + i] = i;
    }
    in.offset = 0x401f; /* swizzle(SWAP, 16) */
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    cr_assert_eq(f.w->v[2 * EM_LANES + 3], 19);
    cr_assert_eq(f.w->v[2 * EM_LANES + 50], 34);
    in.offset = 0x7c1f; /* swizzle(REVERSE, 32) */
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    cr_assert_eq(f.w->v[2 * EM_LANES + 0], 31);
    cr_assert_eq(f.w->v[2 * EM_LANES + 33], 62);
    in.offset = 0x801b; /* quad_perm(3, 2, 1, 0) */
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    cr_assert_eq(f.w->v[2 * EM_LANES + 4], 7);
    in.offset = 0xe000; /* bits reversed */
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    cr_assert_eq(f.w->v[2 * EM_LANES + 33], 48);
}

Test(lds, permutes_send_and_fetch)
{
    for (unsigned round = 0; round < 4 * ROUNDS; round++) {
        fixture_scramble(&f);
        bool fetch = round % 2;
        struct em_inst in =
            fixture_inst(fetch ? EM_ds_bpermute_b32 : EM_ds_permute_b32, EM_DS);
        in.src[0] = v(0, 1);
        in.src[1] = v(1, 1);
        in.offset = (int32_t)(fixture_random(&f) % 300);
        in.dst = v(fixture_random(&f) % 3, 1);
        remember();
        uint32_t result[EM_LANES] = { 0 };
        for (unsigned i = 0; i < EM_LANES; i++) {
            unsigned lane = (reg[i] + (uint32_t)in.offset) / 4 % 64;
            if (fetch) {
                result[i] = active(lane) ? reg[EM_LANES + lane] : 0;
            } else if (active(i)) {
                result[lane] = reg[EM_LANES + i];
            }
        }
        for (unsigned i = 0; i < EM_LANES; i++) {
            if (active(i)) {
                reg[(in.dst.code - (unsigned)EM_VGPR0) * EM_LANES + i] = result[i];
            }
        }
        compare(&in);
    }
}

Test(lds, append_and_consume_count_active_lanes)
{
    f.w->s[EM_M0] = 64;
    em_set_s64(f.w, EM_EXEC, 0xf0f);
    uint32_t count = 100;
    memcpy(f.group.lds + 72, &count, 4);
    struct em_inst in = fixture_inst(EM_ds_append, EM_DS);
    in.dst = v(3, 1);
    in.offset = 8;
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    memcpy(&count, f.group.lds + 72, 4);
    cr_assert_eq(count, 108);
    cr_assert_eq(f.w->v[3 * EM_LANES + 11], 100);
    cr_assert_eq(f.w->v[3 * EM_LANES + 4], 0);
    in.op = EM_ds_consume;
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    memcpy(&count, f.group.lds + 72, 4);
    cr_assert_eq(count, 100);
    cr_assert_eq(f.w->v[3 * EM_LANES], 108);
}

static void expect_fault(const struct em_inst *in, enum em_fault_kind kind, int lane)
{
    cr_assert_eq(fixture_run(&f, in), EM_FAULTED);
    cr_assert_eq(f.group.fault.kind, kind, "%s", f.group.fault.text);
    cr_assert_eq(f.group.fault.lane, lane);
}

Test(lds, bounds_are_exact)
{
    f.group.lds_bytes = 1000;
    em_set_s64(f.w, EM_EXEC, UINT64_MAX);
    static const struct {
        enum em_opcode op;
        unsigned bytes;
    } cases[] = { { EM_ds_read_u8, 1 },
                  { EM_ds_read_b32, 4 },
                  { EM_ds_read_b64, 8 },
                  { EM_ds_read_b128, 16 } };
    for (unsigned i = 0; i < 4; i++) {
        struct em_inst in = fixture_inst(cases[i].op, EM_DS);
        in.src[0] = v(0, 1);
        in.dst = v(8, 4);
        memset(f.w->v, 0, EM_LANES * 4);
        f.w->v[7] = 1000 - cases[i].bytes;
        cr_assert_eq(fixture_run(&f, &in), EM_GO, "%s", f.group.fault.text);
        f.w->v[7]++;
        expect_fault(&in, EM_FAULT_LDS_OUT_OF_BOUNDS, 7);
        cr_assert_eq(f.group.fault.address, 1000 - cases[i].bytes + 1);
        f.w->v[7] = UINT32_MAX; /* as large as it gets */
        expect_fault(&in, EM_FAULT_LDS_OUT_OF_BOUNDS, 7);
        em_set_s64(f.w, EM_EXEC, ~(UINT64_C(1) << 7));
        cr_assert_eq(fixture_run(&f, &in), EM_GO);
        em_set_s64(f.w, EM_EXEC, UINT64_MAX);
    }
}

Test(lds, atomics_must_be_aligned)
{
    em_set_s64(f.w, EM_EXEC, 6);
    struct em_inst in = fixture_inst(EM_ds_add_u64, EM_DS);
    in.src[0] = v(0, 1);
    in.src[1] = v(2, 2);
    f.w->v[1] = 8;
    f.w->v[2] = 12;
    expect_fault(&in, EM_FAULT_MISALIGNED, 2);
    in.op = EM_ds_add_u32;
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
}

Test(lds, what_is_not_implemented_says_so)
{
    struct em_inst in = fixture_inst(EM_ds_gws_barrier, EM_DS);
    in.src[0] = v(0, 1);
    in.gds = true;
    expect_fault(&in, EM_FAULT_NOT_IMPLEMENTED, -1);
    in = fixture_inst(EM_ds_add_u32, EM_DS);
    in.src[0] = v(0, 1);
    in.src[1] = v(1, 1);
    in.gds = true;
    expect_fault(&in, EM_FAULT_NOT_IMPLEMENTED, -1);
}

Test(lds, registers_that_do_not_exist_never_run)
{
    struct em_inst in = fixture_inst(EM_ds_read_b128, EM_DS);
    in.src[0] = v(0, 1);
    in.dst = (struct em_operand){ .code = EM_AGPR0 + 253, .dwords = 4 };
    expect_fault(&in, EM_FAULT_NOT_IMPLEMENTED, -1);
    in.dst = v(253, 4);
    expect_fault(&in, EM_FAULT_NOT_IMPLEMENTED, -1);
}
