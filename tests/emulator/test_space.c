/* The address space: exact bounds, freed ranges, sparse allocations, touched pages; and
 * the faults of memory instructions that it answers. */
#include "tests/emulator/memory_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct memory_fixture f;
static struct wf_error err;

static void setup(void)
{
    fixture_init(&f, 4096);
}

static void teardown(void)
{
    fixture_fini(&f);
}

TestSuite(space, .init = setup, .fini = teardown);

static uint8_t *at(uint64_t address)
{
    return (uint8_t *)(uintptr_t)address;
}

Test(space, allocations_read_as_zero_and_never_touch)
{
    uint64_t end = 0;
    static const uint64_t sizes[] = { 1,     255,   256,   257,    4096,
                                      65535, 65536, 65537, 1 << 20 };
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            uint64_t a = fixture_alloc(&f, sizes[i]);
            cr_assert_eq(a % 256, 0);
            cr_assert(a >= end + (sizes[i] >= 65536 ? 256 : 0), "gap");
            cr_assert_eq(at(a)[0] | at(a)[sizes[i] - 1], 0);
            memset(at(a), 0xff, sizes[i]);
            end = a + sizes[i] + 256;
        }
    }
}

Test(space, bounds_are_exact)
{
    uint64_t a = fixture_alloc(&f, 1001);
    cr_assert(em_space_covers(f.space, a, 1001));
    cr_assert(em_space_covers(f.space, a + 1000, 1));
    cr_assert_not(em_space_covers(f.space, a, 1002));
    cr_assert_not(em_space_covers(f.space, a + 1001, 1));
    cr_assert_not(em_space_covers(f.space, a - 1, 2));
    cr_assert_not(em_space_covers(f.space, a + 1, UINT64_MAX));
    struct em_view view = { .space = f.space };
    for (unsigned i = 0; i < 2; i++) { /* unknown to the view, then known */
        cr_assert(em_view_covers(&view, a, 1001));
        cr_assert(em_view_covers(&view, a + 997, 4));
        cr_assert_not(em_view_covers(&view, a + 998, 4));
        cr_assert_not(em_view_covers(&view, a - 1, 1));
        cr_assert_not(em_view_covers(&view, a + 1, UINT64_MAX));
        cr_assert_not(em_view_covers(&view, 0, 1));
    }
}

Test(space, a_freed_range_is_known_and_not_reused)
{
    uint64_t a = fixture_alloc(&f, 4096);
    cr_assert_eq(em_space_used(f.space, 0), 4096);
    cr_assert_eq(em_space_free(f.space, a, &err), WF_OK);
    cr_assert_eq(em_space_used(f.space, 0), 0);
    struct em_allocation found;
    cr_assert(em_space_find(f.space, a + 5, &found));
    cr_assert(found.freed);
    cr_assert_eq(found.serial, 1);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t b = fixture_alloc(&f, 4096);
        cr_assert_neq(a, b);
        cr_assert_eq(em_space_free(f.space, b, &err), WF_OK);
    }
    cr_assert_eq(em_space_free(f.space, a, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "freed already"));
    cr_assert_eq(em_space_free(f.space, a + 1, &err), WF_EINVAL);
    cr_assert_eq(em_space_free(f.space, 0, &err), WF_EINVAL);
}

/* Far more than the arenas hold: freed ranges must come back, and read as 0. */
Test(space, address_space_is_reused_in_the_end)
{
    uint64_t seen = 0;
    for (unsigned i = 0; i < 200; i++) {
        uint64_t a = fixture_alloc(&f, (UINT64_C(300) << 30) + 3);
        uint64_t last = a + (UINT64_C(300) << 30) + 2;
        cr_assert_eq(at(a)[0] | at(last)[0] | at(a + 77777)[0], 0);
        at(a)[0] = at(last)[0] = at(a + 77777)[0] = 9;
        uint64_t small = fixture_alloc(&f, 100);
        cr_assert_eq(at(small)[0] | at(small)[99], 0);
        memset(at(small), 7, 100);
        cr_assert_eq(em_space_free(f.space, a, &err), WF_OK);
        cr_assert_eq(em_space_free(f.space, small, &err), WF_OK);
        seen = a > seen ? a : seen;
    }
    cr_assert_eq(em_space_used(f.space, 0), 0);
}

Test(space, frees_wait_for_the_launch)
{
    uint64_t a = fixture_alloc(&f, 100);
    em_space_hold(f.space);
    em_space_hold(f.space);
    cr_assert_eq(em_space_free(f.space, a, &err), WF_OK);
    cr_assert_eq(em_space_free(f.space, a, &err), WF_EINVAL);
    cr_assert(em_space_covers(f.space, a, 100));
    em_space_release(f.space);
    cr_assert(em_space_covers(f.space, a, 100));
    em_space_release(f.space);
    cr_assert_not(em_space_covers(f.space, a, 100));
}

Test(space, what_cannot_be_is_refused)
{
    uint64_t a = 0;
    cr_assert_eq(em_space_alloc(f.space, 0, EM_MEMORY_DEVICE, 0, &a, &err), WF_EINVAL);
    cr_assert_eq(em_space_alloc(f.space, 64, EM_MEMORY_DEVICE, 1, &a, &err), WF_EINVAL);
    cr_assert_eq(em_space_alloc(f.space, 0, EM_MEMORY_DEVICE, UINT64_MAX, &a, &err),
                 WF_ENOMEM);
    cr_assert(strstr(err.text, "18446744073709551615"));
    cr_assert_eq(
        em_space_alloc(f.space, 0, EM_MEMORY_DEVICE, UINT64_C(1) << 47, &a, &err),
        WF_ENOMEM);
    cr_assert_eq(em_space_used(f.space, 0), 0);
    cr_assert_eq(a, 0);
}

Test(space, host_memory_registers_and_unregisters)
{
    uint8_t *memory = malloc(1000);
    uint64_t a = (uint64_t)(uintptr_t)memory;
    cr_assert_eq(em_space_register(f.space, memory, 1000, &err), WF_OK);
    cr_assert_eq(em_space_register(f.space, memory + 999, 10, &err), WF_EINVAL);
    cr_assert(em_space_covers(f.space, a, 1000));
    memory[5] = 3;
    cr_assert_eq(em_space_free(f.space, a, &err), WF_OK);
    cr_assert_eq(memory[5], 3);
    cr_assert_not(em_space_covers(f.space, a, 1));
    cr_assert_eq(em_space_register(f.space, memory, 500, &err), WF_OK);
    cr_assert(em_space_covers(f.space, a, 500));
    cr_assert_eq(em_space_free(f.space, a, &err), WF_OK);
    free(memory);
}

static void expect_words(uint64_t address, uint64_t bytes, const char *words)
{
    char text[200];
    em_space_explain(f.space, address, bytes, text, sizeof(text));
    cr_assert(strstr(text, words), "'%s' has no '%s'", text, words);
}

Test(space, words_say_where_an_address_is)
{
    expect_words(4096, 4, "nothing is allocated");
    uint64_t a = fixture_alloc(&f, 1000);
    uint64_t b = fixture_alloc(&f, 1000);
    expect_words(a + 1000 + 16, 4,
                 "are 16 bytes behind the end of allocation #1 (1000 ");
    expect_words(a + 998, 4, "reach 2 bytes behind the end of allocation #1");
    expect_words(b - 8, 4, "are 8 bytes before the start of allocation #2");
    expect_words(b + 4, 4, "are 4 bytes inside allocation #2");
    expect_words(16, 4, "before the start of allocation #1");
    cr_assert_eq(em_space_free(f.space, a, &err), WF_OK);
    expect_words(a, 4, ", freed");
}

static unsigned runs(uint64_t begin, uint64_t end, uint64_t ret[][2])
{
    unsigned n = 0;
    uint64_t from = begin;
    while (n < 8 && em_space_touched(f.space, from, end, &ret[n][0], &ret[n][1])) {
        from = ret[n][1];
        n++;
    }
    return n;
}

Test(space, touched_pages_of_a_sparse_allocation)
{
    uint64_t size = UINT64_C(100) << 30;
    uint64_t a[3];
    for (unsigned i = 0; i < 3; i++) {
        a[i] = fixture_alloc(&f, size);
    }
    uint64_t run[8][2];
    cr_assert_eq(runs(a[1], a[1] + size, run), 0);
    at(a[1])[5] = 1;
    at(a[1] + (UINT64_C(50) << 30))[0] = 1;
    at(a[1] + (UINT64_C(50) << 30) + 4096)[0] = 1;
    at(a[1] + size - 1)[0] = 1;
    cr_assert_eq(runs(a[1], a[1] + size, run), 3);
    cr_assert_eq(run[0][0], a[1]);
    cr_assert_eq(run[0][1], a[1] + 4096);
    cr_assert_eq(run[1][0], a[1] + (UINT64_C(50) << 30));
    cr_assert_eq(run[1][1] - run[1][0], 8192);
    cr_assert_eq(run[2][1], a[1] + size);
    /* Begins and ends within pages. */
    cr_assert_eq(runs(a[1] + 3, a[1] + 9, run), 1);
    cr_assert_eq(run[0][0], a[1] + 3);
    cr_assert_eq(run[0][1], a[1] + 9);
    cr_assert_eq(em_space_free(f.space, a[1], &err), WF_OK);
    cr_assert_eq(runs(a[1], a[1] + size, run), 0);
}

/* One lane loads or stores `dwords` at the address. */
static enum em_flow access_at(enum em_opcode op,
                              unsigned dwords,
                              bool store,
                              uint64_t address)
{
    struct em_inst in = fixture_inst(op, EM_GLOBAL);
    in.src[0] = v(0, 2);
    if (store) {
        in.src[1] = v(8, dwords);
    } else {
        in.dst = v(8, dwords);
    }
    em_set_s64(f.w, EM_EXEC, UINT64_C(1) << 9);
    fixture_set64(&f, 0, 9, address);
    return fixture_run(&f, &in);
}

static void expect_fault(enum em_flow flow, enum em_fault_kind kind, uint64_t address)
{
    cr_assert_eq(flow, EM_FAULTED);
    cr_assert_eq(f.group.fault.kind, kind, "%s", f.group.fault.text);
    cr_assert_eq(f.group.fault.lane, 9);
    cr_assert_eq(f.group.fault.address, address);
}

Test(space, a_kernel_is_stopped_at_the_exact_byte)
{
    uint64_t a = fixture_alloc(&f, 1003);
    static const struct {
        enum em_opcode op;
        unsigned bytes;
        bool store;
    } cases[] = {
        { EM_global_load_ubyte, 1, false },    { EM_global_load_ushort, 2, false },
        { EM_global_load_dword, 4, false },    { EM_global_load_dwordx2, 8, false },
        { EM_global_load_dwordx3, 12, false }, { EM_global_load_dwordx4, 16, false },
        { EM_global_store_byte, 1, true },     { EM_global_store_dwordx4, 16, true }
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum em_opcode op = cases[i].op;
        unsigned dwords = (cases[i].bytes + 3) / 4;
        bool store = cases[i].store;
        uint64_t last = a + 1003 - cases[i].bytes;
        cr_assert_eq(access_at(op, dwords, store, a), EM_GO);
        cr_assert_eq(access_at(op, dwords, store, last), EM_GO, "%s",
                     f.group.fault.text);
        expect_fault(access_at(op, dwords, store, last + 1), EM_FAULT_OUT_OF_BOUNDS,
                     last + 1);
        expect_fault(access_at(op, dwords, store, a - 1), EM_FAULT_OUT_OF_BOUNDS,
                     a - 1);
        expect_fault(access_at(op, dwords, store, UINT64_MAX), EM_FAULT_OUT_OF_BOUNDS,
                     UINT64_MAX);
        expect_fault(access_at(op, dwords, store, 0), EM_FAULT_OUT_OF_BOUNDS, 0);
    }
}

Test(space, lanes_in_several_allocations_are_told_apart)
{
    uint64_t a[6];
    for (unsigned i = 0; i < 6; i++) {
        a[i] = fixture_alloc(&f, 256);
        at(a[i])[0] = (uint8_t)(i + 1);
    }
    struct em_inst in = fixture_inst(EM_global_load_dword, EM_GLOBAL);
    in.src[0] = v(0, 2);
    in.dst = v(8, 1);
    for (unsigned i = 0; i < EM_LANES; i++) {
        fixture_set64(&f, 0, i, a[i % 6]);
    }
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    for (unsigned i = 0; i < EM_LANES; i++) {
        cr_assert_eq(f.w->v[8 * EM_LANES + i], i % 6 + 1);
    }
    fixture_set64(&f, 0, 40, a[3] + 253); /* between two that are live */
    cr_assert_eq(fixture_run(&f, &in), EM_FAULTED);
    cr_assert_eq(f.group.fault.lane, 40);
    cr_assert(
        strstr(f.group.fault.text, "reach 1 bytes behind the end of allocation #4"));
}

Test(space, freed_and_read_only_memory_have_faults_of_their_own)
{
    uint64_t a = fixture_alloc(&f, 4096);
    uint64_t b = fixture_alloc(&f, 4096);
    em_space_set_read_only(f.space, b, true);
    cr_assert_eq(em_space_free(f.space, a, &err), WF_OK);
    expect_fault(access_at(EM_global_load_dword, 1, false, a + 8),
                 EM_FAULT_USE_AFTER_FREE, a + 8);
    cr_assert_eq(access_at(EM_global_load_dword, 1, false, b), EM_GO);
    expect_fault(access_at(EM_global_store_dword, 1, true, b), EM_FAULT_READ_ONLY, b);
}

/* 100 GiB: a lane's 64-bit address, and a scalar base with offsets up to 4 GiB. */
Test(space, offsets_beyond_4_gib_reach_their_own_bytes)
{
    uint64_t size = UINT64_C(100) << 30;
    uint64_t a = fixture_alloc(&f, size);
    struct em_inst in = fixture_inst(EM_global_store_dword, EM_GLOBAL);
    in.src[0] = v(0, 2);
    in.src[1] = v(4, 1);
    for (unsigned i = 0; i < EM_LANES; i++) {
        fixture_set64(&f, 0, i, a + i * (size / EM_LANES) + 4);
        f.w->v[4 * EM_LANES + i] = 1000 + i;
    }
    cr_assert_eq(fixture_run(&f, &in), EM_GO, "%s", f.group.fault.text);
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint32_t got;
        memcpy(&got, at(a + i * (size / EM_LANES) + 4), 4);
        cr_assert_eq(got, 1000 + i);
    }
    in.src[0] = v(0, 1);
    in.src[2] = s(6, 2);
    in.offset = -8;
    em_set_s64(f.w, 6, a + (UINT64_C(7) << 30));
    for (unsigned i = 0; i < EM_LANES; i++) {
        f.w->v[i] = 0xfffff000 + 16 * i; /* unsigned: nearly 4 GiB ahead */
        f.w->v[4 * EM_LANES + i] = 2000 + i;
    }
    cr_assert_eq(fixture_run(&f, &in), EM_GO, "%s", f.group.fault.text);
    uint32_t got;
    memcpy(&got, at(a + (UINT64_C(7) << 30) + 0xfffff000 + 16 * 5 - 8), 4);
    cr_assert_eq(got, 2005);
}

/* In range by the resource, yet outside of every allocation. */
Test(space, a_buffer_larger_than_its_memory_is_a_fault)
{
    uint64_t a = fixture_alloc(&f, 1000);
    struct em_inst in = fixture_inst(EM_buffer_load_dword, EM_MUBUF);
    in.src[0] = v(0, 1);
    in.src[2] = s(20, 4);
    in.src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
    in.dst = v(8, 1);
    in.offen = true;
    f.w->s[20] = (uint32_t)a;
    f.w->s[21] = (uint32_t)(a >> 32);
    f.w->s[22] = 1100;
    f.w->s[23] = 0x20000;
    em_set_s64(f.w, EM_EXEC, UINT64_C(1) << 9);
    f.w->v[9] = 996;
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    f.w->v[9] = 1000;
    expect_fault(fixture_run(&f, &in), EM_FAULT_OUT_OF_BOUNDS, a + 1000);
    f.w->v[9] = 1100;
    f.w->v[8 * EM_LANES + 9] = 5;
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    cr_assert_eq(f.w->v[8 * EM_LANES + 9], 0);
}

Test(space, scratch_ends_where_the_lane_s_share_does)
{
    f.w->scratch_bytes = 64;
    f.w->scratch = calloc(EM_LANES, 64);
    struct em_inst in = fixture_inst(EM_scratch_store_dword, EM_SCRATCH);
    in.src[0] = v(0, 1);
    in.src[1] = v(1, 1);
    em_set_s64(f.w, EM_EXEC, UINT64_C(1) << 9);
    f.w->v[9] = 60;
    cr_assert_eq(fixture_run(&f, &in), EM_GO);
    f.w->v[9] = 61;
    expect_fault(fixture_run(&f, &in), EM_FAULT_SCRATCH_OUT_OF_BOUNDS, 61);
    f.w->v[9] = (uint32_t)-4;
    expect_fault(fixture_run(&f, &in), EM_FAULT_SCRATCH_OUT_OF_BOUNDS, 0xfffffffc);
    f.w->scratch_bytes = 0;
    f.w->v[9] = 0;
    expect_fault(fixture_run(&f, &in), EM_FAULT_SCRATCH_OUT_OF_BOUNDS, 0);
}
