/* Figures of hand-written kernels (kernels.s), which are known beforehand. */
#include "core/buf.h"
#include "core/file.h"
#include "isa/report.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct wf_isa_report *report(void)
{
    struct wf_isa_report *r = NULL;
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_isa_report_read(ISA_KERNELS, NULL, &r, &err), WF_OK, "%s",
                 err.text);
    return r;
}

static size_t find(const struct wf_isa_report *r, const char *kernel)
{
    for (size_t i = 0; i < wf_isa_report_count(r); i++) {
        if (strcmp(wf_isa_report_kernel(r, i), kernel) == 0) {
            return i;
        }
    }
    cr_assert_fail("no kernel %s", kernel);
    return 0;
}

static struct wf_isa_figure figure(const struct wf_isa_report *r,
                                   const char *kernel,
                                   const char *name)
{
    size_t k = find(r, kernel);
    for (size_t i = 0; i < wf_isa_figure_count(r, k); i++) {
        struct wf_isa_figure f = wf_isa_figure_at(r, k, i);
        if (strcmp(f.name, name) == 0) {
            return f;
        }
    }
    cr_assert_fail("no figure %s", name);
    return (struct wf_isa_figure){ .name = NULL };
}

struct want {
    const char *kernel, *figure;
    double value; /* NAN: not known, with a reason */
};

static void check(const struct want *want, size_t count)
{
    struct wf_isa_report *r = report();
    for (size_t i = 0; i < count; i++) {
        struct wf_isa_figure f = figure(r, want[i].kernel, want[i].figure);
        if (isnan(want[i].value)) {
            cr_expect(isnan(f.value) && f.why != NULL && f.why[0] != '\0',
                      "%s %s is %g, wanted a reason", want[i].kernel, f.name, f.value);
        } else {
            cr_expect(fabs(f.value - want[i].value) < 1e-9, "%s %s is %g, wanted %g",
                      want[i].kernel, f.name, f.value, want[i].value);
        }
    }
    wf_isa_report_free(r);
}
#define CHECK(...)                                           \
    do {                                                     \
        static const struct want wanted[] = { __VA_ARGS__ }; \
        check(wanted, sizeof(wanted) / sizeof(wanted[0]));   \
    } while (0)

Test(isa, all_kernels_are_there_by_name)
{
    struct wf_isa_report *r = report();
    cr_assert_eq(wf_isa_report_count(r), 14);
    for (size_t i = 1; i < wf_isa_report_count(r); i++) {
        cr_expect_lt(strcmp(wf_isa_report_kernel(r, i - 1), wf_isa_report_kernel(r, i)),
                     0);
    }
    wf_isa_report_free(r);
}

Test(isa, registers_are_split_at_the_accumulation_offset)
{
    CHECK({ "eight", "vgprs", 128 }, { "eight", "agprs", 32 }, { "eight", "sgprs", 48 },
          { "nested", "vgprs", 32 }, { "nested", "agprs", 32 },
          { "spilled", "vgprs", 64 }, { "spilled", "agprs", 0 });
}

Test(isa, spills_and_scratch_come_from_metadata_descriptor_and_code)
{
    CHECK({ "spilled", "vgpr_spills", 12 }, { "spilled", "sgpr_spills", 3 },
          { "spilled", "scratch_bytes", 64 }, { "spilled", "scratch_instructions", 2 },
          { "spilled", "hot_scratch", 1 }, { "eight", "vgpr_spills", 0 },
          { "eight", "scratch_bytes", 0 }, { "eight", "scratch_instructions", 0 });
}

Test(isa, occupancy_names_what_limits_it)
{
    /* eight: LDS for two workgroups of four waves; vgprs alone would give three. */
    CHECK({ "eight", "waves_per_simd", 2 }, { "eight", "lds_bytes", 32768 },
          { "eight", "workgroup", 256 }, { "straight", "waves_per_simd", 8 },
          { "straight", "workgroup", 1024 }, { "vector", "waves_per_simd", 8 });
    struct wf_isa_report *r = report();
    struct wf_json *json = NULL;
    cr_assert_eq(wf_isa_report_json(r, &json, NULL), WF_OK);
    const struct wf_json *k =
        wf_json_at(wf_json_find(json, "kernels"), find(r, "eight"));
    const struct wf_json *o = wf_json_find(k, "occupancy");
    double by = 0;
    cr_expect_str_eq(wf_json_string(wf_json_find(o, "limited_by")), "lds");
    cr_expect(wf_json_as_f64(wf_json_find(o, "by_vgprs"), &by) && fabs(by - 3) < 1e-9);
    wf_json_free(json);
    wf_isa_report_free(r);
}

Test(isa, a_matrix_loop_is_counted)
{
    CHECK({ "eight", "loops", 1 }, { "eight", "hot_instructions", 23 },
          { "eight", "hot_mfma", 8 }, { "eight", "hot_mfma_passes", 64 },
          { "eight", "hot_mfma_share", 100.0 * 8 / 23 },
          { "eight", "hot_valu_passes", 0 }, { "eight", "hot_valu_to_mfma", 0 },
          { "eight", "hot_barriers", 1 }, { "eight", "hot_setprio", 2 },
          { "eight", "hot_load_bytes", 16 }, { "eight", "hot_lds_read_bytes", 16 },
          { "eight", "hot_lds_write_bytes", 16 });
}

Test(isa, drained_and_counted_waits_are_told_apart)
{
    CHECK({ "eight", "hot_vm_drains", 1 }, { "eight", "hot_vm_counted", 1 },
          { "eight", "hot_lgkm_drains", 1 }, { "widths", "hot_vm_drains", 0 },
          { "widths", "hot_vm_counted", 1 }, { "widths", "hot_lgkm_drains", 0 });
}

Test(isa, accumulator_moves_are_vector_work)
{
    CHECK({ "spilled", "hot_accvgpr", 2 }, { "spilled", "hot_valu_passes", 2 },
          { "spilled", "hot_mfma", 1 });
}

Test(isa, the_inner_loop_with_matrix_work_is_hot)
{
    CHECK({ "nested", "loops", 3 }, { "nested", "hot_instructions", 5 },
          { "nested", "hot_mfma", 1 }, { "nested", "hot_valu_to_mfma", .25 });
}

Test(isa, a_loop_entered_in_two_places_is_one)
{
    CHECK({ "irreducible", "loops", 1 }, { "irreducible", "hot_instructions", 6 },
          { "irreducible", "hot_mfma", 1 }, { "irreducible", "hot_nops", 1 });
}

Test(isa, a_block_that_only_masks_is_left_out)
{
    CHECK({ "masked", "hot_instructions", 6 }, { "masked", "hot_valu_passes", 0 },
          { "masked", "instructions", 28 });
}

Test(isa, filler_behind_the_end_is_no_code)
{
    CHECK({ "straight", "instructions", 2 }, { "straight", "loops", 0 },
          { "straight", "hot_mfma", (double)NAN }, { "straight", "mca", (double)NAN });
}

Test(isa, what_only_a_register_leads_to_is_found_by_sweeping)
{
    CHECK({ "indirect", "loops", 1 }, { "indirect", "hot_mfma", 1 },
          { "indirect", "instructions", 8 });
}

Test(isa, addresses_that_the_code_makes_itself_are_followed)
{
    CHECK({ "resolved", "loops", 1 }, { "resolved", "hot_mfma", 1 },
          { "resolved", "hot_instructions", 9 }, { "resolved", "instructions", 11 },
          { "far_call", "instructions", 7 });
}

Test(isa, called_functions_count)
{
    CHECK({ "called", "instructions", 4 }, { "called", "code_bytes", 8 });
}

Test(isa, what_is_no_instruction_ends_the_path)
{
    CHECK({ "broken", "instructions", 2 });
}

/* 1 + 2 + 16 + 8 bytes in four loads; the one to LDS is not among them. */
Test(isa, widths_of_every_access)
{
    CHECK({ "widths", "hot_load_bytes", 27.0 / 4 }, { "widths", "hot_load_lds", 1 },
          { "widths", "hot_lds_read_bytes", 5 },
          { "widths", "hot_lds_write_bytes", 8.5 });
}

Test(isa, slow_vector_instructions_take_four_passes)
{
    CHECK({ "vector", "hot_valu_passes", 11 }, { "vector", "hot_mfma_share", 0 },
          { "vector", "hot_valu_to_mfma", (double)NAN });
}

Test(isa, an_empty_endless_loop_is_a_loop)
{
    CHECK({ "forever", "loops", 1 }, { "forever", "hot_instructions", 1 });
}

Test(isa, a_glob_chooses_kernels)
{
    struct wf_isa_report *r = NULL;
    struct wf_isa_options o = { .kernel = "*ed" };
    cr_assert_eq(wf_isa_report_read(ISA_KERNELS, &o, &r, NULL), WF_OK);
    cr_expect_eq(wf_isa_report_count(r), 5); /* called masked nested resolved spilled */
    wf_isa_report_free(r);
}

Test(isa, other_files_are_refused_with_their_name)
{
    struct wf_isa_report *r = NULL;
    struct wf_error err = { .text = "" };
    cr_expect_eq(wf_isa_report_parse("hello", 5, "x.co", NULL, &r, &err), WF_EPARSE);
    cr_expect(strncmp(err.text, "x.co: ", 6) == 0, "%s", err.text);
    cr_expect_eq(wf_isa_report_parse("", 0, "x.co", NULL, &r, &err), WF_EPARSE);
    cr_expect_eq(wf_isa_report_read("/proc/self/exe", NULL, &r, &err), WF_EUNSUPPORTED,
                 "%s", err.text);
    cr_expect_neq(wf_isa_report_read("/nowhere.co", NULL, &r, &err), WF_OK);
    cr_expect_null(r);
}

/* Every cut of the file is refused or read, never more. */
Test(isa, a_torn_file_is_refused_or_read)
{
    struct wf_buf b = WF_BUF_INIT;
    cr_assert_eq(wf_file_read(ISA_KERNELS, 1 << 20, &b, NULL), WF_OK);
    for (size_t n = 0; n < b.len; n += 97) {
        struct wf_isa_report *r = NULL;
        struct wf_error err = { .text = "" };
        enum wf_status st = wf_isa_report_parse(b.data, n, "x", NULL, &r, &err);
        cr_expect((st == WF_OK) == (r != NULL));
        cr_expect(st == WF_OK || err.text[0] != '\0');
        wf_isa_report_free(r);
    }
    wf_buf_free(&b);
}

Test(isa, figures_have_directions_and_words)
{
    for (size_t i = 0; i < wf_isa_figure_names(); i++) {
        cr_expect(strlen(wf_isa_figure_words(i)) > 3);
        for (size_t j = 0; j < i; j++) {
            cr_expect_str_neq(wf_isa_figure_name(i), wf_isa_figure_name(j));
        }
    }
    struct wf_isa_report *r = report();
    cr_expect_eq(figure(r, "eight", "vgpr_spills").worse, 1);
    cr_expect_eq(figure(r, "eight", "waves_per_simd").worse, -1);
    cr_expect_eq(figure(r, "eight", "mca").worse, -1);
    cr_expect_eq(figure(r, "eight", "vgprs").worse, 0);
    wf_isa_report_free(r);
}
