/* Every kind of fault, committed by a real kernel: what is reported, where, and that
 * the next launch works. */
#include "core/buf.h"
#include "core/json.h"
#include "program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum {
    ITEMS = 256,
    BUFFER_BYTES = ITEMS * 4
};

struct arguments {
    uint64_t a, b;
    uint64_t c;
    uint32_t d;
};

/* A kernel of two buffers with room for one dword a work-item. */
struct bench {
    struct program p;
    struct arguments arguments;
    struct em_report report;
    struct wf_json *json;
};

static void open_bench(struct bench *b, const char *path)
{
    memset(b, 0, sizeof(*b));
    b->p = program_open(path);
    b->arguments.a = program_buffer(&b->p, BUFFER_BYTES);
    b->arguments.b = program_buffer(&b->p, BUFFER_BYTES);
}

static void close_bench(struct bench *b)
{
    em_report_fini(&b->report);
    wf_json_free(b->json);
    program_close(&b->p);
}

/* Two workgroups of 128 items, or as `launch` says. */
static void run(struct bench *b, const char *kernel, struct program_launch launch)
{
    struct wf_error err = { .text = "" };
    em_report_fini(&b->report);
    wf_json_free(b->json);
    b->json = NULL;
    b->report =
        program_run(&b->p, kernel, &launch, &b->arguments, sizeof(b->arguments));
    struct em_launch l = { .space = b->p.space,
                           .image = b->p.image,
                           .kernel = em_image_find(b->p.image, kernel),
                           .grid = { launch.grid, 1, 1 },
                           .block = { launch.block, 1, 1 },
                           .options = { .check = true } };
    cr_assert_eq(em_report_json(&b->report, &l, &b->json, &err), WF_OK, "%s", err.text);
}

/* "fault_kernels.hip:12": the line that carries the words. */
static void marked_line(const char *words, char *text, size_t bytes)
{
    FILE *f = fopen(FAULT_SOURCE, "r");
    cr_assert_not_null(f);
    char line[256];
    char mark[64];
    (void)snprintf(mark, sizeof(mark), "FAULT %s\n", words);
    for (unsigned n = 1; fgets(line, sizeof(line), f); n++) {
        if (strstr(line, mark)) {
            (void)snprintf(text, bytes, "fault_kernels.hip:%u", n);
        }
    }
    (void)fclose(f);
}

static const char *member(const struct bench *b, const char *key)
{
    const struct wf_json *fault = wf_json_find(b->json, "fault");
    const struct wf_json *value = fault ? wf_json_find(fault, key) : NULL;
    const char *text = value ? wf_json_string(value) : NULL;
    return text ? text : "(none)";
}

/* The report's kind, kernel, wave and lane; the line where the source has it marked. */
static void expect(const struct bench *b,
                   const char *kernel,
                   enum em_fault_kind kind,
                   unsigned wave,
                   int lane)
{
    const struct em_fault *f = &b->report.fault;
    cr_assert(b->report.faulted, "%s: no fault", kernel);
    cr_assert_eq(f->kind, kind, "%s: %s, %s", kernel, em_fault_name(f->kind), f->text);
    cr_assert_eq(f->wave, wave, "%s: wave %u: %s", kernel, f->wave, f->text);
    cr_assert_eq(f->lane, lane, "%s: lane %d: %s", kernel, f->lane, f->text);
    cr_assert_str_eq(member(b, "kind"), em_fault_name(kind));
    cr_assert_str_eq(member(b, "answer"), em_fault_answer(kind));
    cr_assert_str_eq(member(b, "kernel"), kernel);
    cr_assert_str_eq(member(b, "symbol"), kernel);
    cr_assert_not_null(strstr(member(b, "summary"), em_fault_words(kind)));
    char line[64] = "";
    marked_line(kernel, line, sizeof(line));
    if (line[0]) {
        cr_assert_str_eq(member(b, "line"), line, "%s: %s", kernel,
                         member(b, "summary"));
    }
}

static void expect_good(struct bench *b,
                        const char *kernel,
                        struct program_launch launch)
{
    run(b, kernel, launch);
    cr_assert(!b->report.faulted, "%s: %s", kernel, member(b, "summary"));
    cr_assert_eq(wf_json_type(wf_json_find(b->json, "fault")), WF_JSON_NULL);
}

static void expect_address(const struct bench *b, uint64_t address)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
    cr_assert(b->report.fault.has_address);
    cr_assert_eq(b->report.fault.address, address);
    cr_assert_str_eq(member(b, "address"), text);
}

static const struct program_launch one_group = { .grid = 1, .block = 256 };
static const struct program_launch with_lds = { .grid = 1,
                                                .block = 128,
                                                .dynamic_lds_bytes = 512 };

/* The process goes on: a good kernel runs and its result is right. */
static void expect_alive(struct bench *b)
{
    struct arguments kept = b->arguments;
    b->arguments.b = ITEMS;
    expect_good(b, "fill", one_group);
    const int *p = program_host(kept.a);
    for (int i = 0; i < ITEMS; i++) {
        cr_assert_eq(p[i], i);
    }
    b->arguments = kept;
}

Test(fault, names_answers_and_words)
{
    cr_assert_str_eq(em_fault_name(EM_FAULT_LDS_RACE), "LDS_RACE");
    cr_assert_str_eq(em_fault_answer(EM_FAULT_LDS_RACE), "RACE");
    cr_assert_str_eq(em_fault_answer(EM_FAULT_ENDLESS), "TIMEOUT");
    cr_assert_str_eq(em_fault_answer(EM_FAULT_USE_AFTER_FREE), "OUT_OF_BOUNDS");
    cr_assert_str_eq(em_fault_words(EM_FAULT_TRAP), "trap");
    cr_assert_str_eq(em_fault_name(EM_FAULT_NONE), "NONE");
}

Test(fault, a_store_one_element_behind_the_buffer)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    b.arguments.b = ITEMS;
    run(&b, "one_too_many", (struct program_launch){ .grid = 2, .block = 256 });
    expect(&b, "one_too_many", EM_FAULT_OUT_OF_BOUNDS, 0, 0);
    cr_assert_eq(b.report.fault.workgroup[0], 1);
    expect_address(&b, b.arguments.a + BUFFER_BYTES);
    expect_alive(&b);
    close_bench(&b);
}

Test(fault, a_load_one_element_before_the_buffer)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    run(&b, "read_before", one_group);
    expect(&b, "read_before", EM_FAULT_OUT_OF_BOUNDS, 0, 0);
    expect_address(&b, b.arguments.a - 4);
    expect_alive(&b);
    close_bench(&b);
}

Test(fault, memory_that_was_freed)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    uint64_t freed = program_buffer(&b.p, BUFFER_BYTES);
    cr_assert_eq(em_space_free(b.p.space, freed, NULL), WF_OK);
    uint64_t kept = b.arguments.a;
    b.arguments.a = freed;
    b.arguments.b = ITEMS;
    run(&b, "fill", one_group);
    expect(&b, "fill", EM_FAULT_USE_AFTER_FREE, 0, 0);
    expect_address(&b, freed);
    b.arguments.a = kept;
    expect_alive(&b);
    close_bench(&b);
}

Test(fault, memory_that_is_read_only)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    em_space_set_read_only(b.p.space, b.arguments.a, true);
    b.arguments.b = ITEMS;
    run(&b, "fill", one_group);
    expect(&b, "fill", EM_FAULT_READ_ONLY, 0, 0);
    em_space_set_read_only(b.p.space, b.arguments.a, false);
    expect_alive(&b);
    close_bench(&b);
}

Test(fault, an_atomic_between_two_dwords)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    run(&b, "half_atomic", one_group);
    expect(&b, "half_atomic", EM_FAULT_MISALIGNED, 1, 13);
    expect_address(&b, b.arguments.a + 77 * 4 + 2);
    expect_alive(&b);
    close_bench(&b);
}

Test(fault, lds_one_element_behind_its_end)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    b.arguments.b = 1;
    run(&b, "lds_beyond", with_lds);
    expect(&b, "lds_beyond", EM_FAULT_LDS_OUT_OF_BOUNDS, 1, 63);
    expect_address(&b, 512);
    expect_alive(&b);
    close_bench(&b);
}

Test(fault, lds_that_nothing_wrote)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    run(&b, "lds_unwritten", with_lds);
    expect(&b, "lds_unwritten", EM_FAULT_UNINITIALISED, 1, 6);
    cr_assert_neq(b.report.fault.other_pc, UINT32_MAX, "where it was read from");
    cr_assert_not_null(strstr(b.report.fault.text, "LDS"));
    expect_alive(&b);
    close_bench(&b);
}

Test(fault, lds_between_waves_without_a_barrier)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    run(&b, "lds_race", with_lds);
    /* Wave 0 reads what wave 1 has yet to write. */
    expect_good(&b, "lds_ordered", with_lds);
    run(&b, "lds_race", with_lds);
    cr_assert(b.report.faulted);
    cr_assert_eq(b.report.fault.kind, EM_FAULT_LDS_RACE);
    cr_assert_eq(b.report.fault.wave, 1);
    cr_assert_eq(b.report.fault.other_wave, 0);
    cr_assert_neq(b.report.fault.other_pc, UINT32_MAX);
    cr_assert_str_eq(member(&b, "kernel"), "lds_race");
    expect_alive(&b);
    close_bench(&b);
}

Test(fault, lds_that_may_be_shared)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    expect_good(
        &b, "lds_benign",
        (struct program_launch){ .grid = 1, .block = 256, .dynamic_lds_bytes = 1024 });
    close_bench(&b);
}

Test(fault, memory_between_waves_without_a_barrier)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    expect_good(&b, "group_ordered", one_group);
    memset(program_host(b.arguments.a), 0, BUFFER_BYTES);
    run(&b, "group_race", one_group);
    cr_assert(b.report.faulted);
    cr_assert_eq(b.report.fault.kind, EM_FAULT_GLOBAL_RACE);
    cr_assert_eq(b.report.fault.wave, 1);
    cr_assert_not_null(strstr(b.report.fault.text, "wave 0 of this workgroup"), "%s",
                       b.report.fault.text);
    expect_alive(&b);
    close_bench(&b);
}

Test(fault, memory_between_workgroups)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    run(&b, "grid_race",
        (struct program_launch){ .grid = 4, .block = 64, .threads = 1 });
    expect(&b, "grid_race", EM_FAULT_GLOBAL_RACE, 0, 0);
    cr_assert_eq(b.report.fault.workgroup_index, 1);
    expect_address(&b, b.arguments.a);
    cr_assert_not_null(strstr(b.report.fault.text, "workgroup 0"));
    expect_alive(&b);
    close_bench(&b);
}

/* Which workgroup is named does not depend on which thread was faster. */
Test(fault, races_between_workgroups_are_the_same_for_any_number_of_threads)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    for (unsigned i = 0; i < 20; i++) {
        memset(program_host(b.arguments.a), 0, BUFFER_BYTES);
        run(&b, "grid_race",
            (struct program_launch){ .grid = 50, .block = 256, .threads = 1 + i % 4 });
        cr_assert(b.report.faulted);
        cr_assert_eq(b.report.fault.kind, EM_FAULT_GLOBAL_RACE);
        cr_assert_eq(b.report.fault.workgroup_index, 1);
        cr_assert_not_null(strstr(b.report.fault.text, "workgroup 0"));
    }
    close_bench(&b);
}

Test(fault, memory_that_workgroups_may_share)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    for (unsigned i = 0; i < 3; i++) {
        expect_good(&b, "grid_benign",
                    (struct program_launch){ .grid = 2, .block = 128, .threads = 2 });
    }
    close_bench(&b);
}

Test(fault, workgroups_that_an_atomic_orders)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    uint64_t counter = b.arguments.b;
    b.arguments.c = program_buffer(&b.p, 4);
    b.arguments.d = 100;
    for (unsigned threads = 1; threads <= 2; threads++) {
        memset(program_host(counter), 0, 4);
        expect_good(
            &b, "last_group_sums",
            (struct program_launch){ .grid = 100, .block = 64, .threads = threads });
        cr_assert_eq(*(const int *)program_host(b.arguments.c), 99 * 100 / 2);
    }
    close_bench(&b);
}

Test(fault, a_barrier_that_half_of_the_waves_reach)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    run(&b, "divergent", one_group);
    cr_assert(b.report.faulted);
    cr_assert_eq(b.report.fault.kind, EM_FAULT_DIVERGENT_BARRIER);
    cr_assert_eq(b.report.fault.wave, 0);
    cr_assert_neq(b.report.fault.other_wave, 0);
    expect_alive(&b);
    close_bench(&b);
}

Test(fault, a_loop_without_end)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    run(&b, "endless",
        (struct program_launch){ .grid = 1, .block = 64, .budget = 100000 });
    cr_assert(b.report.faulted);
    cr_assert_eq(b.report.fault.kind, EM_FAULT_ENDLESS);
    cr_assert_str_eq(member(&b, "answer"), "TIMEOUT");
    expect_alive(&b);
    close_bench(&b);
}

Test(fault, a_trap)
{
    struct bench b;
    open_bench(&b, FAULT_KERNELS);
    run(&b, "trap", (struct program_launch){ .grid = 1, .block = 64 });
    cr_assert(b.report.faulted);
    cr_assert_eq(b.report.fault.kind, EM_FAULT_TRAP, "%s", b.report.fault.text);
    expect_alive(&b);
    close_bench(&b);
}

/* The kernels of fault_waves.s: two waves where one is not enough. */
static const struct {
    const char *kernel;
    enum em_fault_kind kind;
    unsigned items, wave;
    int lane;
    const char *text; /* NULL: anything */
} waves[] = {
    { "unwritten_address", EM_FAULT_UNINITIALISED, 64, 0, 0, "v9, used as address" },
    { "unwritten_store", EM_FAULT_UNINITIALISED, 64, 0, 8, "v9, used as stored value" },
    { "unwritten_unused", EM_FAULT_NONE, 64, 0, 0, NULL },
    { "unwritten_mask_lanes", EM_FAULT_NONE, 64, 0, 0, NULL },
    { "unwritten_mask_lane_8", EM_FAULT_UNINITIALISED, 64, 0, 8,
      "v10, used as stored" },
    { "unwritten_out_of_range", EM_FAULT_NONE, 64, 0, 0, NULL },
    { "unwritten_in_range", EM_FAULT_UNINITIALISED, 64, 0, 8, "v9, used as stored" },
    { "unwritten_branch", EM_FAULT_UNINITIALISED, 64, 0, -1, "branch condition" },
    { "unwritten_base", EM_FAULT_UNINITIALISED, 64, 0, -1, "s40, used as address" },
    { "written_by_halves", EM_FAULT_NONE, 64, 0, 0, NULL },
    { "unwritten_half", EM_FAULT_UNINITIALISED, 64, 0, 0, "v7, used as stored value" },
    { "no_wait_load", EM_FAULT_MISSING_WAIT, 64, 0, -1, "v2 is read" },
    { "no_wait_scalar", EM_FAULT_MISSING_WAIT, 64, 0, -1, "s20 is read" },
    { "no_wait_lds", EM_FAULT_MISSING_WAIT, 64, 0, -1, "ds_read_b32 v2, v1" },
    { "overwritten_load", EM_FAULT_MISSING_WAIT, 64, 0, -1, "v2 is overwritten" },
    { "waits_in_order", EM_FAULT_NONE, 64, 0, 0, NULL },
    { "scalar_out_of_order", EM_FAULT_MISSING_WAIT, 64, 0, -1, "s20 is read" },
    { "no_wait_direct", EM_FAULT_MISSING_WAIT, 64, 0, 0, "LDS bytes 0 to 3" },
    { "direct_ordered", EM_FAULT_NONE, 128, 0, 0, NULL },
    { "direct_twice", EM_FAULT_NONE, 128, 0, 0, NULL },
    { "direct_twice_others", EM_FAULT_LDS_RACE, 128, 1, 0, "LDS bytes 0 to 3" },
    { "direct_race", EM_FAULT_LDS_RACE, 128, 1, 0, "LDS bytes 0 to 3" },
    { "bad_instruction", EM_FAULT_BAD_INSTRUCTION, 64, 0, -1, NULL },
    { "bad_jump", EM_FAULT_BAD_JUMP, 64, 0, -1, NULL },
    { "bad_register", EM_FAULT_BAD_REGISTER, 64, 0, -1, "v200" },
    { "scratch_beyond", EM_FAULT_SCRATCH_OUT_OF_BOUNDS, 64, 0, 0, NULL },
};

Test(fault, waves_by_hand)
{
    for (size_t i = 0; i < sizeof(waves) / sizeof(waves[0]); i++) {
        struct bench b;
        open_bench(&b, FAULT_WAVES);
        b.arguments.a = program_buffer(&b.p, 4096);
        run(&b, waves[i].kernel,
            (struct program_launch){ .grid = 1, .block = waves[i].items });
        if (waves[i].kind == EM_FAULT_NONE) {
            cr_assert(!b.report.faulted, "%s: %s", waves[i].kernel,
                      member(&b, "summary"));
        } else {
            expect(&b, waves[i].kernel, waves[i].kind, waves[i].wave, waves[i].lane);
            cr_assert(!waves[i].text || strstr(b.report.fault.text, waves[i].text),
                      "%s: %s", waves[i].kernel, b.report.fault.text);
        }
        expect_good(&b, "unwritten_unused",
                    (struct program_launch){ .grid = 1, .block = 64 });
        close_bench(&b);
    }
}

/* A race of two waves: reported, or else decided as on a device where they keep pace.
 */
Test(fault, waves_keep_pace_without_fault_detection)
{
    struct bench b;
    open_bench(&b, FAULT_WAVES);
    run(&b, "keeping_pace", (struct program_launch){ .grid = 1, .block = 128 });
    expect(&b, "keeping_pace", EM_FAULT_LDS_RACE, 1, 1);
    struct program_launch l = { .grid = 1, .block = 128, .unchecked = true };
    program_good(&b.p, "keeping_pace", &l, &b.arguments, sizeof(b.arguments));
    const uint32_t *result = program_host(b.arguments.a);
    for (uint32_t i = 0; i < 128; i++) {
        cr_assert_eq(result[i], i ^ 64, "item %u: %u", i, result[i]);
    }
    close_bench(&b);
}
