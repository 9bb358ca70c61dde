/* Launches of small kernels: control flow, state, scalar memory, barriers, budgets,
 * threads, and what a launch is refused for. */
#include "program.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    uint64_t out;
    uint32_t value, zero;
    uint64_t in;
};

static struct program p;
static uint64_t out;
static uint32_t *result;

static void setup(void)
{
    p = program_open(WF_TEST_LAUNCH_CO);
    out = program_buffer(&p, 65536);
    result = program_host(out);
}

static void teardown(void)
{
    program_close(&p);
}

TestSuite(launch, .init = setup, .fini = teardown);

static struct arguments with(uint32_t value)
{
    return (struct arguments){ .out = out, .value = value };
}

static void good(const char *name, uint32_t grid, uint32_t block, uint32_t value)
{
    struct arguments a = with(value);
    struct program_launch l = { .grid = grid, .block = block };
    program_good(&p, name, &l, &a, sizeof(a));
}

static struct em_fault fault_of(const char *name,
                                const struct program_launch *l,
                                uint32_t value)
{
    struct arguments a = with(value);
    struct em_report r = program_run(&p, name, l, &a, sizeof(a));
    struct em_fault f = r.fault;
    cr_assert(r.faulted, "%s commits no fault", name);
    em_report_fini(&r);
    return f;
}

static struct em_fault fault(const char *name,
                             uint32_t grid,
                             uint32_t block,
                             uint32_t value)
{
    struct program_launch l = { .grid = grid, .block = block };
    return fault_of(name, &l, value);
}

/* --- control flow --- */

Test(launch, calls_return_and_loops_end)
{
    good("calls", 5, 64, 11);
    for (unsigned i = 0; i < 5; i++) {
        cr_expect_eq(result[i], 440);
    }
}

Test(launch, skipped_vector_instructions_do_nothing)
{
    good("skip", 1, 1, 0);
    cr_expect_eq(result[0], 6, "%u", result[0]);
}

Test(launch, registers_are_chosen_by_index)
{
    good("index", 1, 1, 2);
    cr_expect_eq(result[0], 40, "%u", result[0]);
    good("index", 1, 1, 1);
    cr_expect_eq(result[0], 39, "%u", result[0]);
}

Test(launch, forks_join)
{
    good("fork", 1, 64, 0);
    for (unsigned i = 0; i < 64; i++) {
        cr_expect_eq(result[i], i < 48 ? 2 : 1, "lane %u: %u", i, result[i]);
    }
}

Test(launch, a_jump_into_an_instruction_runs_what_is_there)
{
    good("second_dword", 1, 1, 9);
    cr_expect_eq(result[0], 7, "%u", result[0]);
}

Test(launch, jumps_out_of_the_code_are_faults)
{
    struct em_fault f = fault("bad_jump", 1, 64, 0);
    cr_expect_eq(f.kind, EM_FAULT_BAD_JUMP);
    cr_expect(f.has_address);
    cr_expect_eq(f.address, 0x1234);
    cr_expect_eq(fault("misaligned_jump", 1, 64, 0).kind, EM_FAULT_BAD_JUMP);
    cr_expect_eq(fault("off_the_end", 1, 64, 0).kind, EM_FAULT_BAD_JUMP);
}

/* The counters have a place for the instruction that is not there (seen by sanitizers).
 */
Test(launch, running_off_the_end_is_counted_in_bounds)
{
    struct program_launch l = { .grid = 1, .block = 64, .count = true };
    cr_expect_eq(fault_of("off_the_end", &l, 0).kind, EM_FAULT_BAD_JUMP);
    l.unchecked = true;
    cr_expect_eq(fault_of("off_the_end", &l, 0).kind, EM_FAULT_BAD_JUMP);
}

Test(launch, traps_and_unknown_instructions_are_faults)
{
    struct em_fault f = fault("trap", 1, 64, 0);
    cr_expect_eq(f.kind, EM_FAULT_TRAP);
    cr_expect(strstr(f.text, "s_trap 2"), "%s", f.text);
    f = fault("unknown", 1, 64, 0);
    cr_expect_eq(f.kind, EM_FAULT_BAD_INSTRUCTION);
    cr_expect(strstr(f.text, "0xffffffff"), "%s", f.text);
}

/* --- state --- */

Test(launch, hardware_registers_tell_the_state)
{
    good("registers", 10, 64, 0);
    for (unsigned i = 0; i < 10; i++) {
        cr_expect_eq(result[4 * i], i % 8, "XCC of workgroup %u: %u", i, result[4 * i]);
        cr_expect_eq(result[4 * i + 1], 2, "1024 bytes of LDS: %u", result[4 * i + 1]);
        cr_expect_eq(result[4 * i + 2], 0x50);
        cr_expect_eq(result[4 * i + 3], 0x53);
    }
}

Test(launch, clocks_go_on_and_are_the_same_every_time)
{
    uint64_t first[2];
    good("clocks", 1, 64, 0);
    memcpy(first, result, sizeof(first));
    cr_expect_lt(first[0], first[1]);
    good("clocks", 1, 64, 0);
    cr_expect_arr_eq(first, result, sizeof(first));
}

Test(launch, registers_beyond_the_allocation_are_faults_where_they_are_used)
{
    struct em_fault f = fault("beyond", 1, 64, 0);
    cr_expect_eq(f.kind, EM_FAULT_BAD_REGISTER);
    cr_expect(strstr(f.text, "v40"), "%s", f.text);
    good("beyond_unreached", 1, 64, 0);
    cr_expect_eq(fault("beyond_unreached", 1, 64, 1).kind, EM_FAULT_BAD_REGISTER);
}

Test(launch, accumulation_registers_have_one_name)
{
    good("past_accum_offset", 1, 1, 0);
    cr_expect_eq(result[0], 7);
    struct em_fault f = fault("both_names", 1, 1, 0);
    cr_expect_eq(f.kind, EM_FAULT_BAD_REGISTER);
    cr_expect(strstr(f.text, "v20"), "%s", f.text);
}

Test(launch, unwritten_and_outstanding_registers_are_faults)
{
    cr_expect_eq(fault("uninitialised_branch", 1, 64, 0).kind, EM_FAULT_UNINITIALISED);
    cr_expect_eq(fault("missing_wait", 1, 64, 0).kind, EM_FAULT_MISSING_WAIT);
}

Test(launch, arguments_are_preloaded_where_the_descriptor_asks)
{
    good("preloaded", 1, 64, 321);
    cr_expect_eq(result[0], 0);
    cr_expect_eq(result[1], 321, "%u", result[1]);
}

Test(launch, the_dispatch_packet_tells_the_grid)
{
    good("packet", 3, 100, 0);
    cr_expect_eq(result[0], 300, "%u", result[0]);
}

/* --- scalar memory --- */

Test(launch, scalar_loads_and_stores_move_dwords)
{
    uint64_t in = program_buffer(&p, 4 * 64);
    uint32_t *from = program_host(in);
    for (unsigned i = 0; i < 64; i++) {
        from[i] = 1000 + i;
    }
    memset(result, 0xee, 256);
    struct arguments a = { .out = out, .in = in };
    struct program_launch l = { .grid = 1, .block = 64 };
    program_good(&p, "scalar_memory", &l, &a, sizeof(a));
    static const uint32_t want[] = { 1012, 1013,       1014,       1015, 1018,
                                     1019, 0xeeeeeeee, 0xeeeeeeee, 1004, 1005,
                                     0,    0,          1000,       1001, 0xeeeeeeee };
    for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        cr_expect_eq(result[i], want[i], "dword %u: %x", i, result[i]);
    }
}

Test(launch, scalar_atomics_give_the_old_value)
{
    uint64_t wide = 41;
    result[0] = 10;
    memcpy(&result[2], &wide, 8);
    result[4] = 3; /* inc wraps at 3 */
    result[5] = 0; /* dec wraps to 3 */
    result[6] = 0x80000000;
    good("scalar_atomics", 1, 64, 0);
    cr_expect_eq(result[0], 77, "%u", result[0]);
    memcpy(&wide, &result[2], 8);
    cr_expect_eq(wide, 40);
    cr_expect_eq(result[4], 0, "%u", result[4]);
    cr_expect_eq(result[5], 3, "%u", result[5]);
    cr_expect_eq(result[6], 0xffffffff, "%x", result[6]);
    cr_expect_eq(result[8], 10);
    memcpy(&wide, &result[10], 8);
    cr_expect_eq(wide, 41);
    cr_expect_eq(result[12], 15, "%u", result[12]);
}

Test(launch, scalar_memory_faults_name_the_address)
{
    uint64_t small = program_buffer(&p, 64);
    struct arguments a = { .out = small };
    struct program_launch l = { .grid = 1, .block = 64 };
    struct em_report r = program_run(&p, "outside", &l, &a, sizeof(a));
    cr_assert(r.faulted);
    cr_expect_eq(r.fault.kind, EM_FAULT_OUT_OF_BOUNDS);
    cr_expect_eq(r.fault.address, small + 0x38);
    em_report_fini(&r);
    cr_expect_eq(program_fault(&p, "misaligned", &l, &a, sizeof(a)),
                 EM_FAULT_MISALIGNED);
    cr_expect_eq(program_fault(&p, "arguments_written", &l, &a, sizeof(a)),
                 EM_FAULT_READ_ONLY);
}

/* --- barriers --- */

Test(launch, waves_exchange_through_a_barrier)
{
    good("exchange", 1, 128, 0);
    for (unsigned i = 0; i < 128; i++) {
        cr_expect_eq(result[i], i ^ 64);
    }
}

Test(launch, waves_that_end_before_any_barrier_are_no_fault)
{
    good("early_exit", 1, 256, 5);
    cr_expect_eq(result[0], 5);
}

Test(launch, a_wave_that_leaves_out_a_barrier_is_a_fault)
{
    struct em_fault f = fault("diverge", 1, 256, 0);
    cr_expect_eq(f.kind, EM_FAULT_DIVERGENT_BARRIER);
    cr_expect_eq(f.wave, 1);
    cr_expect_eq(f.other_wave, 0);
    struct program_launch l = { .grid = 1, .block = 256, .unchecked = true };
    struct arguments a = with(0);
    cr_expect_eq(program_fault(&p, "diverge", &l, &a, sizeof(a)), EM_FAULT_NONE);
}

Test(launch, waves_may_meet_at_different_barriers)
{
    good("ping_pong", 1, 256, 6);
    cr_expect_eq(result[0], 6);
}

Test(launch, a_loop_that_does_not_end_uses_up_its_budget)
{
    struct program_launch l = { .grid = 1, .block = 128, .budget = 100000 };
    struct em_fault f = fault_of("endless", &l, 0);
    cr_expect_eq(f.kind, EM_FAULT_ENDLESS);
    cr_expect_eq(f.wave, 0);
    cr_expect_eq(f.other_wave, 1);
    cr_expect_neq(f.other_pc, UINT32_MAX, "it names the barrier");
    cr_expect(strstr(f.text, "100000"), "%s", f.text);
}

/* --- workgroups that wait for each other --- */

Test(launch, a_workgroup_that_waits_lets_others_run)
{
    struct program_launch l = { .grid = 40, .block = 64, .threads = 1 };
    for (unsigned threads = 1; threads <= 3; threads++) {
        memset(result, 0, 8);
        struct arguments a = with(39);
        l.threads = threads;
        program_good(&p, "wait_for_last", &l, &a, sizeof(a));
        cr_expect_eq(result[0], 1);
        cr_expect_eq(result[1], 39);
    }
}

/* Not the budget of those that wait, which comes much later. */
Test(launch, a_fault_ends_those_that_wait_in_vain)
{
    struct program_launch l = { .grid = 40, .block = 64 };
    struct em_fault f = fault_of("wait_in_vain", &l, 39);
    cr_expect_eq(f.kind, EM_FAULT_TRAP);
    cr_expect_eq(f.workgroup_index, 39);
}

Test(launch, a_cooperative_grid_meets_at_a_barrier)
{
    struct program_launch l = { .grid = 64, .block = 64, .cooperative = true };
    struct arguments a = with(64);
    memset(result, 0, 8);
    program_good(&p, "grid_barrier", &l, &a, sizeof(a));
    cr_expect_eq(result[0], 64);
    cr_expect_eq(result[1], 64);
}

/* --- threads --- */

Test(launch, results_and_counts_do_not_depend_on_the_threads)
{
    uint32_t *want = NULL;
    uint64_t instructions = 0, *executed = NULL;
    size_t dwords = 0;
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct arguments a = with(50);
        struct program_launch l = {
            .grid = 3000, .block = 64, .threads = threads, .count = true
        };
        memset(result, 0, 12000);
        struct em_report r = program_run(&p, "work", &l, &a, sizeof(a));
        cr_assert_not(r.faulted, "%s", r.fault.text);
        cr_expect_eq(r.threads, threads);
        cr_expect_eq(r.workgroups, 3000);
        cr_expect_eq(r.waves, 3000);
        cr_expect_eq(r.instructions, 3000 * (5 * 50 + 9), "%llu",
                     (unsigned long long)r.instructions);
        if (threads == 1) {
            dwords = r.counts.count;
            want = malloc(12000);
            executed = malloc(dwords * 8);
            cr_assert(want && executed);
            memcpy(want, result, 12000);
            memcpy(executed, r.counts.executed, dwords * 8);
            instructions = r.instructions;
        } else {
            cr_expect_arr_eq(want, result, 12000);
            cr_expect_arr_eq(executed, r.counts.executed, dwords * 8);
            cr_expect_eq(r.instructions, instructions);
        }
        em_report_fini(&r);
    }
    free(want);
    free(executed);
}

Test(launch, the_fault_of_the_lowest_workgroup_is_reported)
{
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct program_launch l = { .grid = 2000, .block = 64, .threads = threads };
        struct em_fault f = fault_of("fault_from", &l, 700);
        cr_expect_eq(f.kind, EM_FAULT_TRAP);
        cr_expect_eq(f.workgroup_index, 700, "%llu",
                     (unsigned long long)f.workgroup_index);
        cr_expect_eq(f.workgroup[0], 700);
    }
}

Test(launch, the_grid_is_counted_x_first)
{
    struct program_launch l = { .grid = 3, .grid_yz = { 4, 5 }, .block = 64 };
    struct em_fault f = fault_of("fault_from", &l, 2);
    cr_expect_eq(f.workgroup_index, 2);
    cr_expect_eq(f.workgroup[0], 2);
    struct arguments a = with(3);
    struct em_report r = program_run(&p, "fault_from", &l, &a, sizeof(a));
    cr_expect_not(r.faulted);
    cr_expect_eq(r.workgroups, 60);
    em_report_fini(&r);
}

/* --- what compiled kernels ask for --- */

Test(launch, work_items_know_their_place)
{
    struct program ids = program_open(WF_TEST_IDS_CO);
    struct arguments a = { .out = program_buffer(&ids, 4 * 16 * 12 * 5),
                           .value = 16 * 12 * 5 };
    struct program_launch l = {
        .grid = 4, .grid_yz = { 3, 1 }, .block = 4, .block_yz = { 4, 5 }
    };
    program_good(&ids, "ids", &l, &a, 12);
    const uint32_t *got = program_host(a.out);
    for (unsigned i = 0; i < 16 * 12 * 5; i++) {
        unsigned x = i % 16, y = i / 16 % 12, z = i / 192;
        cr_expect_eq(got[i], x | y << 10 | z << 20, "%u: %x", i, got[i]);
    }
    program_close(&ids);
}

Test(launch, scratch_holds_arrays_and_calls)
{
    struct program ids = program_open(WF_TEST_IDS_CO);
    struct arguments a = { .out = program_buffer(&ids, 400), .value = 5 };
    struct program_launch l = { .grid = 1, .block = 100 };
    program_good(&ids, "scratch", &l, &a, 12);
    static const uint32_t fibonacci[] = { 0, 1, 1, 2, 3, 5, 8, 13 };
    const uint32_t *got = program_host(a.out);
    for (unsigned i = 0; i < 100; i++) {
        cr_expect_eq(got[i], 16 * i + 120 + fibonacci[i % 8], "%u: %u", i, got[i]);
    }
    program_close(&ids);
}

Test(launch, generic_pointers_reach_dynamic_lds)
{
    struct program ids = program_open(WF_TEST_IDS_CO);
    struct arguments a = { .out = program_buffer(&ids, 512), .value = 128 };
    struct program_launch l = { .grid = 1, .block = 128, .dynamic_lds_bytes = 512 };
    program_good(&ids, "shared_sum", &l, &a, 12);
    const uint32_t *got = program_host(a.out);
    for (unsigned i = 0; i < 128; i++) {
        unsigned want =
            i * i + (i + 1) * (i + 1) + (i + 2) * (i + 2) + (i + 3) * (i + 3);
        cr_expect_eq(got[i], i <= 124 ? want : 0, "%u: %u", i, got[i]);
    }
    l.dynamic_lds_bytes = 508;
    cr_expect_eq(program_fault(&ids, "shared_sum", &l, &a, 12),
                 EM_FAULT_LDS_OUT_OF_BOUNDS);
    program_close(&ids);
}

/* --- what is refused --- */

static void refused(const struct program_launch *l, size_t bytes, const char *words)
{
    struct arguments a = with(0);
    struct em_report r;
    struct wf_error err = { .text = "" };
    cr_expect_eq(program_try(&p, "work", l, &a, bytes, &r, &err), WF_EINVAL, "%s",
                 words);
    cr_expect(strstr(err.text, words), "'%s' is not in '%s'", words, err.text);
}

Test(launch, impossible_launches_are_refused_in_words)
{
    struct program_launch l = { .grid = 1, .block = 1025 };
    refused(&l, 24, "1 to 1024");
    l = (struct program_launch){ .grid = 1, .block = 512, .block_yz = { 3, 1 } };
    refused(&l, 24, "1536 work-items");
    l = (struct program_launch){ .grid = 0, .block = 64 };
    refused(&l, 24, "grid of dimension x");
    l = (struct program_launch){ .grid = UINT32_MAX, .block = 64 };
    refused(&l, 24, "2^32 - 1");
    l = (struct program_launch){ .grid = 1, .block = 64, .dynamic_lds_bytes = 64513 };
    refused(&l, 24, "65537 bytes of LDS");
    l = (struct program_launch){ .grid = 1, .block = 64 };
    refused(&l, 23, "24 bytes of arguments");
    l = (struct program_launch){ .grid = 100000, .block = 64, .cooperative = true };
    refused(&l, 24, "cooperative");
}
