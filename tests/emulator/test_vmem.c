/* Vector memory instructions against a reference that works lane by lane from their
 * names: every opcode, random addresses, full, partial and empty EXEC. */
#include "tests/emulator/memory_fixture.h"
#include "tests/emulator/memory_reference.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    REGION = 8192,
    ROUNDS = 40,
    REGISTERS = 64 * EM_LANES
};

/* What the registers, the region, LDS and scratch should be. */
struct model {
    uint32_t reg[REGISTERS];
    uint8_t memory[REGION];
    uint8_t lds[EM_MAX_LDS_BYTES];
};

static struct memory_fixture f;
static struct model *model;
static uint64_t base;

static void setup(void)
{
    fixture_init(&f, 4096);
    base = fixture_alloc(&f, REGION);
    model = calloc(1, sizeof(*model));
    f.w->scratch_bytes = 256;
    f.w->scratch = calloc(EM_LANES, f.w->scratch_bytes);
    cr_assert(model && f.w->scratch);
}

static void teardown(void)
{
    free(model);
    fixture_fini(&f);
}

static uint8_t *memory(void)
{
    return (uint8_t *)(uintptr_t)base;
}

static void start(void)
{
    fixture_scramble(&f);
    for (unsigned i = 0; i < REGION; i++) {
        memory()[i] = (uint8_t)fixture_random(&f);
    }
}

static void remember(void)
{
    memcpy(model->reg, f.w->v, sizeof(model->reg));
    memcpy(model->memory, memory(), REGION);
    memcpy(model->lds, f.group.lds, EM_MAX_LDS_BYTES);
}

static void compare(const struct em_inst *in, const char *name)
{
    enum em_flow flow = fixture_run(&f, in);
    cr_assert_eq(flow, EM_GO, "%s: %s", name, f.group.fault.text);
    bool same = memcmp(f.w->v, model->reg, sizeof(model->reg)) == 0;
    for (unsigned i = 0; i < REGISTERS && !same; i++) {
        cr_assert_eq(f.w->v[i], model->reg[i], "%s: v%u lane %u is %08x, not %08x",
                     name, i / EM_LANES, i % EM_LANES, f.w->v[i], model->reg[i]);
    }
    cr_assert_arr_eq(memory(), model->memory, REGION, "%s: memory", name);
    cr_assert_arr_eq(f.group.lds, model->lds, EM_MAX_LDS_BYTES, "%s: LDS", name);
}

static bool active(unsigned lane)
{
    return em_exec(f.w) >> lane & 1;
}

/* One lane's registers from v[n] on, out of the model and back. */
static void lane_move(const struct reference_move *m,
                      unsigned n,
                      unsigned lane,
                      uint8_t *at)
{
    uint32_t reg[4];
    for (unsigned i = 0; i < 4; i++) {
        reg[i] = model->reg[(n + i) * EM_LANES + lane];
    }
    if (m->store) {
        reference_store(m, at, reg);
        return;
    }
    if (at) {
        reference_load(m, at, reg);
    } else {
        uint8_t zeros[16] = { 0 };
        reference_load(m, zeros, reg);
    }
    for (unsigned i = 0; i < 4; i++) {
        model->reg[(n + i) * EM_LANES + lane] = reg[i];
    }
}

static unsigned dwords_of(const struct reference_move *m)
{
    return m->bytes < 4 ? 1 : m->bytes / 4;
}

static void set_data(struct em_inst *in, const struct reference_move *m, unsigned n)
{
    if (m->store) {
        in->src[1] = v(n, dwords_of(m));
    } else {
        in->dst = v(n, dwords_of(m));
    }
}

/* Every load and store whose name starts with `prefix` (no formats, no LDS). */
static bool next_move(const char *prefix, unsigned *op, struct reference_move *ret)
{
    for (; *op < EM_OPCODES; (*op)++) {
        const char *name = reference_name((enum em_opcode) * op);
        if (strncmp(name, prefix, strlen(prefix)) == 0 && !strstr(name, "format") &&
            !strstr(name, "_lds")) {
            *ret = reference_parse(name);
            if (ret->bytes) {
                return true;
            }
        }
    }
    return false;
}

/* Distinct places for stores, so that the order of lanes does not matter; loads
 * anywhere. */
static uint32_t place(const struct reference_move *m, unsigned lane, unsigned size)
{
    if (m->store) {
        return lane * (size / EM_LANES) + fixture_random(&f) % (size / EM_LANES - 15);
    }
    return fixture_random(&f) % (size - 15);
}

static void check_64bit(enum em_opcode op,
                        enum em_encoding encoding,
                        const struct reference_move *m)
{
    start();
    struct em_inst in = fixture_inst(op, encoding);
    bool scalar = encoding == EM_GLOBAL && fixture_random(&f) % 2;
    bool run = fixture_random(&f) % 4 == 0;
    unsigned data = fixture_random(&f) % 3 ? 8 : 0; /* may overwrite the address */
    in.offset = (int32_t)(fixture_random(&f) % 8192) - 4096;
    in.src[0] = v(0, scalar ? 1 : 2);
    if (scalar) {
        in.src[2] = s(10, 2);
        em_set_s64(f.w, 10, base - (uint64_t)(int64_t)in.offset - 77);
    }
    set_data(&in, m, m->store ? 8 : data);
    uint32_t at[EM_LANES];
    for (unsigned i = 0; i < EM_LANES; i++) {
        at[i] = run ? 100 + i * m->bytes : place(m, i, REGION);
        if (!active(i)) {
            continue; /* garbage there must not matter */
        }
        if (scalar) {
            f.w->v[i] = at[i] + 77;
        } else {
            fixture_set64(&f, 0, i, base + at[i] - (uint64_t)(int64_t)in.offset);
        }
    }
    remember();
    for (unsigned i = 0; i < EM_LANES; i++) {
        if (active(i)) {
            lane_move(m, m->store ? 8 : data, i, model->memory + at[i]);
        }
    }
    compare(&in, reference_name(op));
}

TestSuite(vmem, .init = setup, .fini = teardown);

Test(vmem, global_and_flat_moves_equal_the_reference)
{
    unsigned tested = 0;
    struct reference_move m;
    for (unsigned op = 0; next_move("global_", &op, &m); op++, tested++) {
        for (unsigned i = 0; i < ROUNDS; i++) {
            check_64bit((enum em_opcode)op, EM_GLOBAL, &m);
        }
    }
    for (unsigned op = 0; next_move("flat_", &op, &m); op++, tested++) {
        for (unsigned i = 0; i < ROUNDS; i++) {
            check_64bit((enum em_opcode)op, EM_FLAT, &m);
        }
    }
    cr_assert_eq(tested, 44);
}

Test(vmem, nothing_happens_without_active_lanes)
{
    start();
    em_set_s64(f.w, EM_EXEC, 0);
    struct em_inst in = fixture_inst(EM_global_load_dword, EM_GLOBAL);
    in.src[0] = v(0, 2);
    in.dst = v(8, 1);
    remember();
    compare(&in, "EXEC = 0");
}

Test(vmem, agprs_take_loads)
{
    start();
    em_set_s64(f.w, EM_EXEC, UINT64_MAX);
    struct em_inst in = fixture_inst(EM_global_load_dwordx4, EM_GLOBAL);
    in.src[0] = v(0, 2);
    in.dst = (struct em_operand){ .code = EM_AGPR0 + 4, .dwords = 4 };
    for (unsigned i = 0; i < EM_LANES; i++) {
        fixture_set64(&f, 0, i, base + 16 * i);
    }
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    uint32_t expected;
    memcpy(&expected, memory() + 16 * 5 + 8, sizeof(expected));
    cr_assert_eq(f.w->v[(256 + 4 + 2) * EM_LANES + 5], expected);
}

/* Where a lane of a FLAT access goes: 0 memory, 1 LDS, 2 scratch. */
static void check_flat_apertures(enum em_opcode op, const struct reference_move *m)
{
    start();
    struct em_inst in = fixture_inst(op, EM_FLAT);
    in.src[0] = v(0, 2);
    set_data(&in, m, 8);
    uint8_t *at[EM_LANES];
    uint8_t scratch[EM_LANES * 256];
    for (unsigned i = 0; i < sizeof(scratch); i++) {
        f.w->scratch[i] = scratch[i] = (uint8_t)fixture_random(&f);
    }
    remember();
    for (unsigned i = 0; i < EM_LANES; i++) {
        unsigned where = fixture_random(&f) % 3;
        uint32_t offset = place(m, i, where == 0 ? REGION : 4096);
        if (where == 2) {
            offset %= 256 - 15;
        }
        uint64_t address = where == 0   ? base + offset
                           : where == 1 ? EM_SHARED_APERTURE + offset
                                        : EM_PRIVATE_APERTURE + offset;
        fixture_set64(&f, 0, i, address);
        at[i] = where == 0   ? model->memory + offset
                : where == 1 ? model->lds + offset
                             : scratch + i * 256 + offset;
    }
    memcpy(model->reg, f.w->v, sizeof(model->reg));
    for (unsigned i = 0; i < EM_LANES; i++) {
        if (active(i)) {
            lane_move(m, 8, i, at[i]);
        }
    }
    compare(&in, reference_name(op));
    cr_assert_arr_eq(f.w->scratch, scratch, sizeof(scratch));
}

Test(vmem, flat_addresses_reach_lds_and_scratch)
{
    struct reference_move m;
    for (unsigned op = 0; next_move("flat_", &op, &m); op++) {
        for (unsigned i = 0; i < ROUNDS; i++) {
            check_flat_apertures((enum em_opcode)op, &m);
        }
    }
}

static void check_scratch(enum em_opcode op, const struct reference_move *m)
{
    start();
    struct em_inst in = fixture_inst(op, EM_SCRATCH);
    bool vector = fixture_random(&f) % 2;
    bool scalar = fixture_random(&f) % 2;
    in.offset = (int32_t)(fixture_random(&f) % 100) - (scalar ? 50 : 0);
    if (vector) {
        in.src[0] = v(0, 1);
    }
    if (scalar) {
        in.src[2] = s(12, 1);
        f.w->s[12] = 50 + fixture_random(&f) % 40;
    }
    set_data(&in, m, 8);
    uint8_t scratch[EM_LANES * 256];
    for (unsigned i = 0; i < sizeof(scratch); i++) {
        f.w->scratch[i] = scratch[i] = (uint8_t)fixture_random(&f);
    }
    for (unsigned i = 0; i < EM_LANES && vector; i++) {
        f.w->v[i] = fixture_random(&f) % 50;
    }
    remember();
    for (unsigned i = 0; i < EM_LANES; i++) {
        int32_t offset = in.offset + (int32_t)(vector ? f.w->v[i] : 0) +
                         (int32_t)(scalar ? f.w->s[12] : 0);
        if (active(i)) {
            lane_move(m, 8, i, scratch + i * 256 + offset);
        }
    }
    compare(&in, reference_name(op));
    cr_assert_arr_eq(f.w->scratch, scratch, sizeof(scratch));
}

Test(vmem, scratch_moves_equal_the_reference)
{
    unsigned tested = 0;
    struct reference_move m;
    for (unsigned op = 0; next_move("scratch_", &op, &m); op++, tested++) {
        for (unsigned i = 0; i < ROUNDS; i++) {
            check_scratch((enum em_opcode)op, &m);
        }
    }
    cr_assert_eq(tested, 22);
}

/* A buffer resource and an instruction's ways to use it. */
struct buffer_case {
    struct em_inst in;
    uint32_t stride, records, soffset, index_stride;
    bool swizzle, add_tid;
    uint64_t start;
};

static void make_resource(struct buffer_case *c)
{
    c->start = base + 4 * (fixture_random(&f) % 16);
    c->stride = fixture_random(&f) % 3 ? 4 * (fixture_random(&f) % 20) : 0;
    c->swizzle = c->stride && fixture_random(&f) % 3 == 0;
    c->add_tid = fixture_random(&f) % 5 == 0;
    unsigned step = fixture_random(&f) % 4;
    c->index_stride = 8U << step;
    bool by_records = c->in.idxen && c->stride;
    c->records = by_records ? fixture_random(&f) % 64 : fixture_random(&f) % 2048;
    if (fixture_random(&f) % 4 == 0 && !by_records) {
        c->records = 4096; /* all in range */
    }
    if (c->swizzle) {
        c->records = by_records ? fixture_random(&f) % 40 : c->records;
    }
    f.w->s[20] = (uint32_t)c->start;
    f.w->s[21] =
        (uint32_t)(c->start >> 32) | c->stride << 16 | (uint32_t)c->swizzle << 31;
    f.w->s[22] = c->records;
    f.w->s[23] = step << 21 | (uint32_t)c->add_tid << 23;
}

static void make_buffer_case(struct buffer_case *c, enum em_opcode op)
{
    memset(c, 0, sizeof(*c));
    c->in = fixture_inst(op, EM_MUBUF);
    c->in.idxen = fixture_random(&f) % 2;
    c->in.offen = fixture_random(&f) % 2;
    c->in.offset = (int32_t)(fixture_random(&f) % 64);
    c->in.src[2] = s(20, 4);
    if (fixture_random(&f) % 2) {
        c->soffset = fixture_random(&f) % 64;
        c->in.src[3] = s(30, 1);
        f.w->s[30] = c->soffset;
    } else {
        c->soffset = fixture_random(&f) % 3;
        c->in.src[3] = (struct em_operand){ .code = (uint16_t)(EM_INT_0 + c->soffset),
                                            .dwords = 1 };
    }
    if (c->in.idxen || c->in.offen) {
        c->in.src[0] = v(0, c->in.idxen && c->in.offen ? 2 : 1);
    }
    make_resource(c);
    for (unsigned i = 0; i < EM_LANES; i++) {
        unsigned at = 0;
        if (c->in.idxen) {
            f.w->v[EM_LANES * at++ + i] = fixture_random(&f) % 40;
        }
        if (c->in.offen) {
            f.w->v[EM_LANES * at + i] =
                fixture_random(&f) % 8 ? fixture_random(&f) % 200 : 0x80000000U;
        }
    }
}

/* Where byte `skip` of a lane's element is in the region; -1: out of range. */
static int64_t buffer_place(const struct buffer_case *c,
                            unsigned lane,
                            unsigned skip,
                            unsigned bytes)
{
    uint64_t index = c->in.idxen ? f.w->v[lane] : 0;
    index += c->add_tid ? lane : 0;
    uint64_t offset = c->in.offen ? f.w->v[(c->in.idxen ? EM_LANES : 0) + lane] : 0;
    offset += (uint64_t)c->in.offset + skip;
    uint64_t linear = index * c->stride + offset;
    if (c->swizzle) {
        uint64_t row = index / c->index_stride * c->stride + (offset & ~UINT64_C(3));
        linear = row * c->index_stride + index % c->index_stride * 4 + (offset & 3);
    }
    bool good = c->in.idxen && c->stride
                    ? index < c->records && (!c->swizzle || offset + bytes <= c->stride)
                    : linear + c->soffset + bytes <= c->records;
    uint64_t at = c->start - base + c->soffset + linear;
    return good ? (int64_t)at : -1;
}

/* Lanes in range and all of them inside the region: else the case is for other tests.
 */
static bool fits(const struct buffer_case *c, unsigned bytes)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        for (unsigned j = 0; j < (bytes + 3) / 4; j++) {
            unsigned size = bytes < 4 ? bytes : 4;
            if (buffer_place(c, i, 4 * j, size) + (int64_t)size > REGION) {
                return false;
            }
        }
    }
    return true;
}

/* Lanes may meet: the highest one wins then, a dword at a time where elements lie apart
 * or a lane is out of range, else an element at a time. */
static bool element_at_a_time(const struct buffer_case *c, unsigned bytes)
{
    bool whole = true;
    for (unsigned i = 0; i < EM_LANES; i++) {
        whole = whole && (!active(i) || buffer_place(c, i, 0, bytes) >= 0);
    }
    return whole && !c->swizzle;
}

static void move_dword(const struct buffer_case *c,
                       const struct reference_move *one,
                       unsigned n,
                       unsigned lane,
                       unsigned j)
{
    int64_t at = buffer_place(c, lane, 4 * j, one->bytes);
    if (active(lane) && (at >= 0 || !one->store)) {
        lane_move(one, n + j, lane, at >= 0 ? model->memory + at : NULL);
    }
}

static void check_buffer(enum em_opcode op, const struct reference_move *m)
{
    struct buffer_case c;
    do {
        start();
        make_buffer_case(&c, op);
    } while (!fits(&c, m->bytes));
    unsigned n = m->store || fixture_random(&f) % 2 ? 8 : 0;
    set_data(&c.in, m, n);
    remember();
    struct reference_move one = *m;
    one.bytes = m->bytes < 4 ? m->bytes : 4;
    unsigned dwords = dwords_of(m);
    bool by_element = element_at_a_time(&c, m->bytes);
    for (unsigned k = 0; k < dwords * EM_LANES; k++) {
        unsigned lane = by_element ? k / dwords : k % EM_LANES;
        move_dword(&c, &one, n, lane, by_element ? k % dwords : k / EM_LANES);
    }
    compare(&c.in, reference_name(op));
}

Test(vmem, buffer_moves_equal_the_reference, .timeout = 60)
{
    unsigned tested = 0;
    struct reference_move m;
    for (unsigned op = 0; next_move("buffer_", &op, &m); op++, tested++) {
        for (unsigned i = 0; i < 3 * ROUNDS; i++) {
            check_buffer((enum em_opcode)op, &m);
        }
    }
    cr_assert_eq(tested, 22);
}

static void check_load_to_lds(struct em_inst *in, unsigned bytes, bool sign)
{
    uint32_t m0 = 4 * (fixture_random(&f) % 100);
    f.w->s[EM_M0] = m0;
    in->offset = 4 * (int32_t)(fixture_random(&f) % 50);
    remember();
    for (unsigned i = 0; i < EM_LANES; i++) {
        if (!active(i)) {
            continue;
        }
        uint64_t at;
        if (in->encoding == EM_GLOBAL) {
            at = f.w->v[i] | (uint64_t)f.w->v[EM_LANES + i] << 32;
            at += (uint64_t)in->offset;
        } else {
            at = base + f.w->v[i] + (uint64_t)in->offset;
        }
        struct reference_move m = { .bytes = bytes, .sign = sign };
        uint32_t value = 0;
        if (at - base + bytes <= REGION) {
            reference_load(&m, model->memory + (at - base), &value);
        }
        memcpy(model->lds + m0 + (uint32_t)in->offset + 4 * i, &value, sizeof(value));
    }
    compare(in, reference_name((enum em_opcode)in->op));
}

Test(vmem, loads_to_lds_fill_consecutive_dwords)
{
    static const struct {
        enum em_opcode global, buffer;
        unsigned bytes;
        bool sign;
    } cases[] = { { EM_global_load_lds_dword, EM_buffer_load_dword, 4, false },
                  { EM_global_load_lds_ushort, EM_buffer_load_ushort, 2, false },
                  { EM_global_load_lds_sshort, EM_buffer_load_sshort, 2, true },
                  { EM_global_load_lds_ubyte, EM_buffer_load_ubyte, 1, false },
                  { EM_global_load_lds_sbyte, EM_buffer_load_sbyte, 1, true } };
    for (unsigned round = 0; round < 5 * ROUNDS; round++) {
        unsigned c = round % 5;
        start();
        for (unsigned i = 0; i < EM_LANES; i++) {
            fixture_set64(&f, 0, i, base + fixture_random(&f) % (REGION - 300));
        }
        struct em_inst in = fixture_inst(cases[c].global, EM_GLOBAL);
        in.src[0] = v(0, 2);
        check_load_to_lds(&in, cases[c].bytes, cases[c].sign);

        start();
        for (unsigned i = 0; i < EM_LANES; i++) {
            f.w->v[i] = fixture_random(&f) % 4 ? fixture_random(&f) % (REGION - 300)
                                               : 0x10000000;
        }
        in = fixture_inst(cases[c].buffer, EM_MUBUF);
        in.lds = true;
        in.offen = true;
        in.src[0] = v(0, 1);
        in.src[2] = s(20, 4);
        in.src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
        f.w->s[20] = (uint32_t)base;
        f.w->s[21] = (uint32_t)(base >> 32);
        f.w->s[22] = REGION;
        f.w->s[23] = 0x20000;
        check_load_to_lds(&in, cases[c].bytes, cases[c].sign);
    }
}

/* Formats: one element, by hand. */
static void load_format(enum em_opcode op,
                        unsigned dwords,
                        unsigned format,
                        const void *element,
                        size_t bytes)
{
    memcpy(memory(), element, bytes);
    em_set_s64(f.w, EM_EXEC, 1);
    struct em_inst in = fixture_inst(op, EM_MTBUF);
    in.dst = v(8, dwords);
    in.src[2] = s(20, 4);
    in.src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
    in.format = (uint8_t)format;
    f.w->s[20] = (uint32_t)base;
    f.w->s[21] = (uint32_t)(base >> 32);
    f.w->s[22] = REGION;
    f.w->s[23] = 4 | 5 << 3 | 6 << 6 | 7 << 9;
    cr_assert_eq(fixture_run(&f, &in), EM_GO, "%s", f.group.fault.text);
}

static float loaded(unsigned n)
{
    float value;
    memcpy(&value, &f.w->v[(8 + n) * EM_LANES], sizeof(value));
    return value;
}

Test(vmem, formats_convert_components)
{
    static const uint8_t bytes[4] = { 255, 0, 51, 128 };
    load_format(EM_tbuffer_load_format_xyzw, 4, 10 | 0 << 4, bytes, 4);
    cr_assert(loaded(0) == 1.0F && loaded(1) == 0.0F && loaded(2) == 0.2F);
    load_format(EM_tbuffer_load_format_xyzw, 4, 10 | 1 << 4, bytes, 4);
    cr_assert(loaded(0) == -1.0F / 127.0F && loaded(3) == -1.0F);
    load_format(EM_tbuffer_load_format_xyzw, 4, 10 | 5 << 4, bytes, 4);
    cr_assert_eq(f.w->v[8 * EM_LANES], UINT32_MAX);
    load_format(EM_tbuffer_load_format_xyzw, 4, 10 | 3 << 4, bytes, 4);
    cr_assert(loaded(0) == -1.0F && loaded(3) == -128.0F);
    static const uint16_t halves[2] = { 0x3c00, 0xc100 };
    load_format(EM_tbuffer_load_format_xyzw, 4, 5 | 7 << 4, halves, 4);
    cr_assert(loaded(0) == 1.0F && loaded(1) == -2.5F);
    cr_assert(loaded(2) == 0.0F && loaded(3) == 1.0F); /* missing: 0 0 0 1 */
    static const uint32_t word = 0xdeadbeef;
    load_format(EM_tbuffer_load_format_x, 1, 4 | 4 << 4, &word, 4);
    cr_assert_eq(f.w->v[8 * EM_LANES], word);
}

Test(vmem, formats_store_and_load_back)
{
    static const unsigned formats[] = { 1, 2, 3, 5, 10, 12 };
    for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        for (unsigned number = 0; number < 6; number++) {
            uint8_t element[8] = { 1, 127, 200, 77, 3, 99, 254, 128 };
            load_format(EM_tbuffer_load_format_xyzw, 4, formats[i] | number << 4,
                        element, 8);
            memset(memory(), 0xee, 8);
            struct em_inst in = fixture_inst(EM_tbuffer_store_format_xyzw, EM_MTBUF);
            in.src[1] = v(8, 4);
            in.src[2] = s(20, 4);
            in.src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
            in.format = (uint8_t)(formats[i] | number << 4);
            cr_assert_eq(fixture_run(&f, &in), EM_GO);
            static const unsigned sizes[] = {
                [1] = 1, [2] = 2, [3] = 2, [5] = 4, [10] = 4, [12] = 8
            };
            unsigned bytes = sizes[formats[i]];
            cr_assert_arr_eq(memory(), element, bytes, "format %u number %u",
                             formats[i], number);
            for (unsigned j = bytes; j < 8; j++) {
                cr_assert_eq(memory()[j], 0xee);
            }
        }
    }
}

Test(vmem, d16_formats_pack_halves)
{
    static const uint8_t bytes[4] = { 255, 0, 51, 128 };
    f.w->v[8 * EM_LANES] = f.w->v[9 * EM_LANES] = 0xaaaaaaaa;
    load_format(EM_tbuffer_load_format_d16_xyz, 2, 10 | 2 << 4, bytes, 4);
    cr_assert_eq(f.w->v[8 * EM_LANES], 0x5bf8);     /* 255.0, 0.0 */
    cr_assert_eq(f.w->v[9 * EM_LANES], 0xaaaa5260); /* 51.0; the rest stays */
    load_format(EM_tbuffer_load_format_d16_xyzw, 2, 10 | 5 << 4, bytes, 4);
    cr_assert_eq(f.w->v[8 * EM_LANES], 0x0000ffff);
    cr_assert_eq(f.w->v[9 * EM_LANES], 0xff800033);
    memset(memory(), 0, 8);
    struct em_inst in = fixture_inst(EM_tbuffer_store_format_d16_xyzw, EM_MTBUF);
    in.src[1] = v(8, 2);
    in.src[2] = s(20, 4);
    in.src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
    in.format = 10 | 5 << 4;
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    static const uint8_t stored[4] = { 255, 0, 51, 128 };
    cr_assert_arr_eq(memory(), stored, 4);
}

Test(vmem, d16_hi_formats_use_the_high_half)
{
    static const uint16_t half = 0x3c01;
    memcpy(memory(), &half, 2);
    em_set_s64(f.w, EM_EXEC, 3);
    struct em_inst in = fixture_inst(EM_buffer_load_format_d16_hi_x, EM_MUBUF);
    in.dst = v(8, 1);
    in.src[0] = v(0, 1);
    in.offen = true;
    in.src[2] = s(20, 4);
    in.src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
    f.w->v[0] = 0;
    f.w->v[1] = REGION - 1; /* out of range */
    f.w->s[20] = (uint32_t)base;
    f.w->s[21] = (uint32_t)(base >> 32);
    f.w->s[22] = REGION;
    f.w->s[23] = 4 | 7 << 12 | 2 << 15;
    f.w->v[8 * EM_LANES] = f.w->v[8 * EM_LANES + 1] = 0x12345678;
    cr_assert_eq(fixture_run(&f, &in), EM_GO, "%s", f.group.fault.text);
    cr_assert_eq(f.w->v[8 * EM_LANES], 0x3c015678);
    cr_assert_eq(f.w->v[8 * EM_LANES + 1], 0x00005678);
    in = fixture_inst(EM_buffer_store_format_d16_hi_x, EM_MUBUF);
    in.src[1] = v(8, 1);
    in.src[2] = s(20, 4);
    in.src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
    in.offset = 4;
    em_set_s64(f.w, EM_EXEC, 1);
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    uint16_t stored;
    memcpy(&stored, memory() + 4, 2);
    cr_assert_eq(stored, half);
}

Test(vmem, an_unknown_format_is_a_fault)
{
    struct em_inst in = fixture_inst(EM_tbuffer_load_format_x, EM_MTBUF);
    in.dst = v(8, 1);
    in.src[2] = s(20, 4);
    in.src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
    in.format = 6 | 7 << 4;
    cr_assert_eq(fixture_run(&f, &in), EM_FAULTED);
    cr_assert_eq(f.group.fault.kind, EM_FAULT_NOT_IMPLEMENTED);
}
