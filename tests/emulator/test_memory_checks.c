/* What the memory units tell the checks and the counters. */
#include "emulator/check/race.h"
#include "emulator/check/shadow.h"
#include "emulator/count/count.h"
#include "tests/emulator/memory_fixture.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct memory_fixture f;
static struct em_counts counts;
static uint64_t base;

static void setup(void)
{
    struct wf_error err;
    fixture_init(&f, 4096);
    base = fixture_alloc(&f, 4096);
    f.w->shadow = em_shadow_create();
    f.group.lds_shadow = em_lds_shadow_create(4096);
    f.group.global_shadow = em_global_shadow_create();
    cr_assert(f.w->shadow && f.group.lds_shadow && f.group.global_shadow);
    cr_assert_eq(em_counts_init(&counts, 16, &err), WF_OK);
    f.w->counts = &counts;
    f.w->scratch_bytes = 64;
    f.w->scratch = calloc(EM_LANES, 64);
}

static void teardown(void)
{
    em_shadow_destroy(f.w->shadow);
    em_lds_shadow_destroy(f.group.lds_shadow);
    em_global_shadow_destroy(f.group.global_shadow);
    em_counts_fini(&counts);
    fixture_fini(&f);
}

TestSuite(memory_checks, .init = setup, .fini = teardown);

static void written(unsigned n, unsigned dwords, uint64_t lanes)
{
    em_shadow_set(f.w->shadow, v(n, dwords), lanes, UINT64_MAX);
}

static uint64_t shadow_of(unsigned n)
{
    return em_shadow_get(f.w->shadow, v(n, 1));
}

static void wait_all(void)
{
    em_shadow_wait(f.w, 0, 0);
}

/* v[0:1]: addresses 4 bytes apart, written. */
static void addresses(void)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        fixture_set64(&f, 0, i, base + 4 * i);
    }
    written(0, 2, UINT64_MAX);
}

static struct em_inst load(enum em_opcode op,
                           enum em_encoding encoding,
                           unsigned dwords)
{
    struct em_inst in = fixture_inst(op, encoding);
    in.src[0] = v(0, encoding == EM_GLOBAL ? 2 : 1);
    in.dst = v(8, dwords);
    return in;
}

static struct em_inst store(enum em_opcode op,
                            enum em_encoding encoding,
                            unsigned dwords)
{
    struct em_inst in = load(op, encoding, dwords);
    in.src[1] = in.dst;
    in.dst.code = EM_NONE;
    return in;
}

static void expect_fault(const struct em_inst *in,
                         enum em_fault_kind kind,
                         const char *words)
{
    cr_assert_eq(fixture_run(&f, in), EM_FAULTED);
    cr_assert_eq(f.group.fault.kind, kind, "%s", f.group.fault.text);
    cr_assert(strstr(f.group.fault.text, words), "%s", f.group.fault.text);
}

static void expect_good(const struct em_inst *in)
{
    cr_assert_eq(fixture_run(&f, in), EM_GO, "%s", f.group.fault.text);
}

Test(memory_checks, an_unwritten_address_is_a_fault_in_active_lanes)
{
    struct em_inst in = load(EM_global_load_dword, EM_GLOBAL, 1);
    addresses();
    em_shadow_set(f.w->shadow, v(1, 1), 1 << 4, 0);
    expect_fault(&in, EM_FAULT_UNINITIALISED, "address");
    cr_assert_eq(f.group.fault.lane, 4);
    em_set_s64(f.w, EM_EXEC, ~UINT64_C(0x10));
    expect_good(&in);
    cr_assert_eq(shadow_of(8), ~UINT64_C(0x10));
}

Test(memory_checks, an_unwritten_base_or_resource_is_a_fault)
{
    struct em_inst in = load(EM_global_load_dword, EM_GLOBAL, 1);
    addresses();
    in.src[0] = v(0, 1);
    in.src[2] = s(4, 2);
    expect_fault(&in, EM_FAULT_UNINITIALISED, "s4");
    in = load(EM_buffer_load_dword, EM_MUBUF, 1);
    in.offen = true;
    in.src[2] = s(4, 4);
    in.src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
    em_shadow_set_scalar(f.w->shadow, 4, 3, true);
    expect_fault(&in, EM_FAULT_UNINITIALISED, "s7");
}

Test(memory_checks, unwritten_values_may_be_spilled_but_not_stored)
{
    addresses();
    struct em_inst in = store(EM_global_store_dword, EM_GLOBAL, 1);
    expect_fault(&in, EM_FAULT_UNINITIALISED, "stored value");
    in = fixture_inst(EM_scratch_store_dword, EM_SCRATCH);
    in.src[1] = v(8, 1);
    expect_good(&in);
}

Test(memory_checks, what_was_never_written_to_lds_is_known)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        f.w->v[i] = 16 * i;
    }
    written(0, 1, UINT64_MAX);
    written(8, 1, UINT64_MAX);
    written(9, 1, UINT64_MAX);
    struct em_inst in = store(EM_ds_write_b64, EM_DS, 2);
    expect_good(&in);
    wait_all();
    in = load(EM_ds_read_b128, EM_DS, 4);
    in.dst = v(20, 4);
    expect_good(&in);
    cr_assert_eq(shadow_of(20), UINT64_MAX);
    cr_assert_eq(shadow_of(21), UINT64_MAX);
    cr_assert_eq(shadow_of(22), 0); /* nobody wrote there */
    wait_all();
    in = load(EM_ds_read_b32, EM_DS, 1);
    in.src[0] = v(22, 1);
    expect_fault(&in, EM_FAULT_UNINITIALISED, "read from LDS that was never written");
    in = load(EM_ds_read2_b32, EM_DS, 2);
    in.dst = v(30, 2);
    in.offset = 2 | 0 << 8;
    expect_good(&in);
    cr_assert_eq(shadow_of(30), 0);
    cr_assert_eq(shadow_of(31), UINT64_MAX);
}

/* Two rows of lanes, 8 bytes apart, are stored and read again. */
static void pass_through_lds(enum em_opcode op, unsigned dwords)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        f.w->v[i] = 8 * i;
    }
    written(0, 1, UINT64_MAX);
    struct em_inst in = store(op, EM_DS, dwords);
    expect_good(&in);
    wait_all();
    in = load(EM_ds_read_b64, EM_DS, 2);
    in.dst = v(20, 2);
    expect_good(&in);
    wait_all();
}

Test(memory_checks, what_was_never_written_stays_so_in_lds)
{
    written(8, 2, UINT64_MAX);
    pass_through_lds(EM_ds_write_b64, 2); /* all of it had a value before */
    cr_assert_eq(shadow_of(20) & shadow_of(21), UINT64_MAX);
    em_shadow_set(f.w->shadow, v(8, 1), 1 << 5, 0);
    em_shadow_set(f.w->shadow, v(9, 1), 1 << 7, 0);
    em_set_s64(f.w, EM_EXEC, ~UINT64_C(0x80)); /* lane 7 stores nothing */
    f.w->v[8 * EM_LANES + 6] = 77;
    pass_through_lds(EM_ds_write_b64, 2);
    cr_assert_eq(shadow_of(20), ~UINT64_C(0x20));
    cr_assert_eq(shadow_of(21), UINT64_MAX);
    struct em_inst in = load(EM_ds_read_b32, EM_DS, 1);
    in.src[0] = v(20, 1);
    expect_fault(&in, EM_FAULT_UNINITIALISED, "read from LDS that was never written");
    cr_assert_eq(f.group.fault.lane, 5);
    em_set_s64(f.w, EM_EXEC, UINT64_MAX);
    written(8, 2, UINT64_MAX);
    pass_through_lds(EM_ds_write_b64, 2);
    cr_assert_eq(shadow_of(20) & shadow_of(21), UINT64_MAX);
}

Test(memory_checks, parts_and_atomics_of_unwritten_values_in_lds)
{
    written(8, 2, UINT64_MAX);
    pass_through_lds(EM_ds_write_b64, 2);
    em_shadow_set(f.w->shadow, v(8, 1), 1 << 3, 0);
    pass_through_lds(EM_ds_write_b8, 1);
    /* Of lane 3's dword three bytes were written: enough. */
    cr_assert_eq(shadow_of(20), UINT64_MAX);
    cr_assert_eq(shadow_of(21), UINT64_MAX);
    em_shadow_set(f.w->shadow, v(8, 1), 1 << 4, 0);
    pass_through_lds(EM_ds_add_u64, 2);
    cr_assert_eq(shadow_of(20), ~UINT64_C(0x18));
    cr_assert_eq(shadow_of(21), ~UINT64_C(0x18));
}

/* Of lanes that store to one address the last one wins. */
Test(memory_checks, the_last_lane_says_whether_lds_is_written)
{
    written(0, 1, UINT64_MAX);
    memset(f.w->v, 0, EM_LANES * sizeof(*f.w->v));
    em_shadow_set(f.w->shadow, v(8, 1), ~UINT64_C(0), UINT64_MAX >> 1);
    struct em_inst in = store(EM_ds_write_b32, EM_DS, 1);
    expect_good(&in);
    wait_all();
    struct em_inst read = load(EM_ds_read_b32, EM_DS, 1);
    read.dst = v(20, 1);
    expect_good(&read);
    cr_assert_eq(shadow_of(20), 0);
    wait_all();
    em_shadow_set(f.w->shadow, v(8, 1), ~UINT64_C(0), UINT64_MAX << 1);
    expect_good(&in);
    wait_all();
    expect_good(&read);
    cr_assert_eq(shadow_of(20), UINT64_MAX);
}

Test(memory_checks, a_load_is_on_its_way_until_it_is_waited_for)
{
    addresses();
    struct em_inst in = load(EM_global_load_dwordx2, EM_GLOBAL, 2);
    expect_good(&in);
    struct em_inst user = store(EM_global_store_dword, EM_GLOBAL, 1);
    user.src[1] = v(9, 1);
    struct em_op op;
    em_bind(&user, &op);
    cr_assert_eq(em_shadow_pending(f.w, &op), EM_FAULTED);
    cr_assert_eq(f.group.fault.kind, EM_FAULT_MISSING_WAIT);
    em_shadow_wait(f.w, 0, UINT_MAX);
    cr_assert_eq(em_shadow_pending(f.w, &op), EM_GO);
}

/* The hardware counts an instruction that no lane takes part in. */
Test(memory_checks, an_empty_load_counts_as_outstanding)
{
    addresses();
    struct em_inst in = load(EM_global_load_dword, EM_GLOBAL, 1);
    expect_good(&in);
    em_set_s64(f.w, EM_EXEC, 0);
    expect_good(&in);
    cr_assert_eq(f.w->shadow->outstanding, 2);
    em_shadow_wait(f.w, 1, UINT_MAX);
    struct em_inst user = store(EM_global_store_dword, EM_GLOBAL, 1);
    struct em_op op;
    em_bind(&user, &op);
    cr_assert_eq(em_shadow_pending(f.w, &op), EM_GO);
}

Test(memory_checks, flat_loads_hold_both_counters)
{
    addresses();
    struct em_inst in = load(EM_flat_load_dword, EM_FLAT, 1);
    in.src[0] = v(0, 2);
    expect_good(&in);
    cr_assert_eq(f.w->shadow->outstanding, 1);
    em_shadow_wait(f.w, 0, UINT_MAX);
    cr_assert_eq(f.w->shadow->outstanding, 1);
    em_shadow_wait(f.w, UINT_MAX, 0);
    cr_assert_eq(f.w->shadow->outstanding, 0);
}

Test(memory_checks, lds_may_not_be_read_while_a_load_to_it_is_outstanding)
{
    addresses();
    em_shadow_set_scalar(f.w->shadow, EM_M0, 1, true);
    f.w->s[EM_M0] = 256;
    struct em_inst in = fixture_inst(EM_global_load_lds_dword, EM_GLOBAL);
    in.src[0] = v(0, 2);
    in.lds = true;
    expect_good(&in);
    for (unsigned i = 0; i < EM_LANES; i++) {
        f.w->v[2 * EM_LANES + i] = 256 + 4 * i;
    }
    written(2, 1, UINT64_MAX);
    struct em_inst read = load(EM_ds_read_b32, EM_DS, 1);
    read.src[0] = v(2, 1);
    expect_fault(&read, EM_FAULT_MISSING_WAIT, "outstanding");
    em_shadow_wait(f.w, 0, UINT_MAX);
    expect_good(&read);
    cr_assert_eq(shadow_of(8), UINT64_MAX);
}

Test(memory_checks, loads_to_lds_use_m0)
{
    addresses();
    struct em_inst in = fixture_inst(EM_global_load_lds_dword, EM_GLOBAL);
    in.src[0] = v(0, 2);
    in.lds = true;
    expect_fault(&in, EM_FAULT_UNINITIALISED, "m0");
}

Test(memory_checks, accesses_are_counted)
{
    addresses();
    struct em_inst in = load(EM_global_load_dword, EM_GLOBAL, 1);
    expect_good(&in);
    cr_assert_eq(counts.global_read_bytes, 256);
    cr_assert_eq(counts.global_accesses, 1);
    cr_assert_eq(counts.global_lines, 2);
    em_set_s64(f.w, EM_EXEC, 0xf);
    in = store(EM_global_store_dword, EM_GLOBAL, 1);
    expect_good(&in);
    cr_assert_eq(counts.global_write_bytes, 16);
    cr_assert_eq(counts.global_lines, 3);
    in = store(EM_global_atomic_add, EM_GLOBAL, 1);
    expect_good(&in);
    cr_assert_eq(counts.atomic_lanes, 4);
    for (unsigned i = 0; i < EM_LANES; i++) {
        f.w->v[i] = 128 * (i % 8); /* one bank */
    }
    in = load(EM_ds_read_b32, EM_DS, 1);
    expect_good(&in);
    cr_assert_eq(counts.lds_bytes, 16);
    cr_assert(counts.lds_conflict_cycles >= 3);
    in = fixture_inst(EM_scratch_load_dword, EM_SCRATCH);
    in.dst = v(9, 1);
    expect_good(&in);
    cr_assert_eq(counts.scratch_bytes, 16);
}

Test(memory_checks, what_a_buffer_leaves_out_is_neither_counted_nor_unwritten)
{
    struct em_inst in = load(EM_buffer_load_dwordx4, EM_MUBUF, 4);
    in.offen = true;
    in.src[2] = s(4, 4);
    in.src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
    em_shadow_set_scalar(f.w->shadow, 4, 4, true);
    written(0, 1, UINT64_MAX);
    f.w->s[4] = (uint32_t)base;
    f.w->s[5] = (uint32_t)(base >> 32);
    f.w->s[6] = 16;
    f.w->s[7] = 0x20000;
    for (unsigned i = 0; i < EM_LANES; i++) {
        f.w->v[i] = 16 * i;
    }
    expect_good(&in);
    cr_assert_eq(counts.global_read_bytes, 16);
    cr_assert_eq(shadow_of(11), UINT64_MAX);
    cr_assert_eq(f.w->v[11 * EM_LANES + 1], 0);
}

Test(memory_checks, race_checks_see_the_bytes_of_a_high_half)
{
    addresses();
    written(8, 1, UINT64_MAX);
    for (unsigned i = 0; i < EM_LANES; i++) {
        f.w->v[8 * EM_LANES + i] = 0x12345678;
    }
    struct em_inst in = store(EM_global_store_short_d16_hi, EM_GLOBAL, 1);
    expect_good(&in);
    uint16_t got;
    memcpy(&got, (const void *)(uintptr_t)(base + 4 * 63), 2);
    cr_assert_eq(got, 0x1234);
}

/* Random words of the memory encodings: whatever they decode to runs or faults. */
Test(memory_checks, no_instruction_word_does_harm)
{
    static const uint32_t prefixes[] = { 0x36, 0x37, 0x38, 0x3a };
    struct em_shadow *shadow = f.w->shadow;
    unsigned ran = 0;
    for (unsigned i = 0; i < 20000; i++) {
        uint32_t words[2] = { fixture_random(&f), fixture_random(&f) };
        words[0] = (words[0] & 0x3ffffff) | prefixes[i % 4] << 26;
        struct em_inst in;
        if (em_decode(words, 2, &in) != EM_DECODED) {
            continue;
        }
        if (i % 64 == 0) {
            fixture_scramble(&f);
            for (unsigned lane = 0; lane < EM_LANES; lane++) {
                fixture_set64(&f, 2 * (lane % 20), lane, base + lane);
            }
        }
        for (unsigned r = 0; r < 104; r += 4) {
            uint64_t size = fixture_random(&f) % 8192;
            em_set_s64(f.w, r, base | (uint64_t)(fixture_random(&f) % 3) << 50);
            em_set_s64(f.w, r + 2, size | (uint64_t)fixture_random(&f) << 32);
        }
        f.w->shadow = i % 3 ? NULL : shadow;
        memset(shadow->v, 0xff, sizeof(shadow->v));
        memset(shadow->s, 0xff, sizeof(shadow->s));
        enum em_flow flow = fixture_run(&f, &in);
        cr_assert(flow == EM_GO || flow == EM_FAULTED);
        ran += flow == EM_GO;
        f.w->shadow = shadow;
        wait_all();
    }
    cr_assert(ran > 100, "%u", ran);
}
