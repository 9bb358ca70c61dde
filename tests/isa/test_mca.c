/* llvm-mca: what is handed over, what comes back, and everything that can go wrong. */
#include "core/clock.h"
#include "core/parse.h"
#include "isa/mca.h"
#include "isa/report.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000LL

static struct wf_isa_figure figure(const struct wf_isa_report *r, const char *name)
{
    for (size_t i = 0; i < wf_isa_figure_count(r, 0); i++) {
        struct wf_isa_figure f = wf_isa_figure_at(r, 0, i);
        if (strcmp(f.name, name) == 0) {
            return f;
        }
    }
    cr_assert_fail("no figure %s", name);
    return (struct wf_isa_figure){ .name = NULL };
}

static struct wf_isa_report *ask(const char *kernel,
                                 const char *program,
                                 const char *what,
                                 int64_t timeout_ns)
{
    struct wf_isa_report *r = NULL;
    struct wf_error err = { .text = "" };
    struct wf_isa_options o = { .mca = true,
                                .mca_program = program,
                                .mca_timeout_ns = timeout_ns,
                                .kernel = kernel };
    (void)setenv("FAKE_MCA", what, 1);
    cr_assert_eq(wf_isa_report_read(ISA_KERNELS, &o, &r, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_isa_report_count(r), 1);
    return r;
}

/* 3200 cycles of 20 iterations are 160 passes; the loop has 64 passes of MFMA. */
Test(mca, percent_is_passes_by_cycles)
{
    struct wf_isa_report *r = ask("eight", FAKE_MCA, "good", 5 * SECOND_NS);
    cr_expect_float_eq(figure(r, "mca").value, 40, 1e-9);
    cr_expect_float_eq(figure(r, "mca_nowait").value, 40, 1e-9);
    cr_expect_float_eq(figure(r, "mca_cycles").value, 160, 1e-9);
    wf_isa_report_free(r);
}

static void expect_unknown(const char *program, const char *what, const char *why)
{
    struct wf_isa_report *r = ask("eight", program, what, 5 * SECOND_NS);
    struct wf_isa_figure f = figure(r, "mca");
    struct wf_isa_figure g = figure(r, "mca_nowait");
    cr_expect(isnan(f.value) && isnan(g.value), "%s", what);
    cr_assert_not_null(f.why);
    cr_expect(strstr(f.why, why) != NULL, "%s: '%s', wanted '%s'", what, f.why, why);
    cr_expect_float_eq(figure(r, "hot_mfma").value, 8, 0);
    wf_isa_report_free(r);
}

Test(mca, failures_are_told)
{
    expect_unknown(FAKE_MCA, "garbage", "Total Cycles: many");
    expect_unknown(FAKE_MCA, "silent", "says nothing");
    expect_unknown(FAKE_MCA, "fail", "invalid instruction");
    expect_unknown(FAKE_MCA, "crash", "139");
    expect_unknown(FAKE_MCA, "old", "does not know gfx942");
}

Test(mca, a_missing_program_is_told)
{
    expect_unknown("/nowhere/llvm-mca", "good", "cannot start /nowhere/llvm-mca");
    expect_unknown("llvm-mca-of-nobody", "good", "no program llvm-mca-of-nobody");
    (void)setenv("PATH", "/nowhere", 1);
    expect_unknown(NULL, "good", "not installed");
}

static void expect_killed(const char *what)
{
    int64_t start_ns = wf_monotonic_ns();
    struct wf_isa_report *r = ask("eight", FAKE_MCA, what, SECOND_NS / 4);
    int64_t took_ns = wf_monotonic_ns() - start_ns;
    struct wf_isa_figure f = figure(r, "mca");
    cr_expect(isnan(f.value));
    cr_expect(f.why != NULL && strstr(f.why, "did not end") != NULL, "%s: %s", what,
              f.why != NULL ? f.why : "");
    /* One call only: after the first time-out the others are not tried. */
    cr_expect(took_ns >= SECOND_NS / 5 && took_ns < 5 * SECOND_NS, "%s: %lld ns", what,
              (long long)took_ns);
    wf_isa_report_free(r);
}

Test(mca, what_hangs_is_killed)
{
    expect_killed("hang");
    expect_killed("flood");
}

/* --- the text --- */

static const struct em_op *op_of(const uint32_t *words, size_t count, struct em_op *ret)
{
    struct em_inst in;
    cr_assert_eq(em_decode(words, count, &in), EM_DECODED);
    em_bind(&in, ret);
    return ret;
}

static void expect_text(uint32_t first, uint32_t second, const char *want)
{
    const uint32_t words[] = { first, second };
    struct em_op op;
    const struct em_op *list[] = { op_of(words, 2, &op) };
    struct wf_buf b = WF_BUF_INIT;
    struct isa_mca m = { .asked = true };
    cr_assert_eq(isa_mca_text(list, 1, ISA_MCA_FULL, &b, &m, NULL), WF_OK);
    cr_expect_str_eq(wf_buf_cstr(&b), want);
    wf_buf_free(&b);
}

Test(mca, what_llvm_mca_cannot_take_is_rewritten)
{
    /* buffer_load_dwordx4 v[16:19], v4, s[8:11], 0 offen */
    expect_text(0xe05c1000, 0x80021004,
                "global_load_dwordx4 v[16:19], v[252:253], off\n");
    /* buffer_load_dword v4, s[8:11], 0 offen lds */
    expect_text(0xe0511000, 0x80020004, "global_load_dword v255, v[252:253], off\n");
    /* buffer_store_dwordx2 v[6:7], v4, s[8:11], 0 offen */
    expect_text(0xe0741000, 0x80020604,
                "global_store_dwordx2 v[252:253], v[6:7], off\n");
    /* global_load_dwordx2 a[0:1], v[2:3], off */
    expect_text(0xdc548000, 0x00ff0002 | 1U << 23,
                "global_load_dwordx2 v[244:245], v[252:253], off\n");
    /* v_add_f32_e32 v1, v2, v3: as it is */
    expect_text(0x02020702, 0, "v_add_f32_e32 v1, v2, v3\n");
    /* s_branch, s_endpgm: left out */
    expect_text(0xbf820001, 0, "");
    expect_text(0xbf810000, 0, "");
}

static void expect_variant(uint32_t word, enum isa_mca_variant v, const char *want)
{
    const uint32_t words[] = { word, 0 };
    struct em_op op;
    const struct em_op *list[] = { op_of(words, 2, &op) };
    struct wf_buf b = WF_BUF_INIT;
    struct isa_mca m = { .asked = true };
    cr_assert_eq(isa_mca_text(list, 1, v, &b, &m, NULL), WF_OK);
    cr_expect_str_eq(wf_buf_cstr(&b), want);
    wf_buf_free(&b);
}

Test(mca, variants_leave_out_waits_and_lengthen_transcendentals)
{
    expect_variant(0xbf8c0070, ISA_MCA_FULL, "s_waitcnt vmcnt(0) lgkmcnt(0)\n");
    expect_variant(0xbf8c0070, ISA_MCA_NOWAIT, "");
    expect_variant(0xbf8a0000, ISA_MCA_FULL, "s_barrier\n");
    expect_variant(0xbf8a0000, ISA_MCA_NOWAIT, "");
    expect_variant(0x7e0c4107, ISA_MCA_NOWAIT, "v_exp_f32_e32 v6, v7\n");
    expect_variant(0x7e0c4107, ISA_MCA_TRANS,
                   "v_exp_f32_e32 v6, v7\nv_mov_b32 v251, v250\nv_mov_b32 v251, v250\n"
                   "v_mov_b32 v251, v250\n");
}

/* --- reading --- */

Test(mca, reports_that_are_none_are_refused)
{
    static const char *const bad[] = {
        "",
        "Total Cycles:",
        "Total Cycles: 0\n[0] - HWXDL\nResource pressure per iteration:\n[0]\n 1.0\n",
        "Total Cycles: 20\nResource pressure per iteration:\n[0]\n 1.0\n",
        "Total Cycles: 20\n[9] - HWXDL\nResource pressure per iteration:\n[0]\n 1.0\n",
        "Total Cycles: 20\n[x] - HWXDL\nResource pressure per iteration:\n[0]\n 1.0\n",
        "Total Cycles: 20\n[0] - HWXDL\nResource pressure per iteration:",
        "Total Cycles: nan\n[0] - HWXDL\nResource pressure per iteration:\n[0]\n 1.0\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct isa_mca_run r;
        cr_expect(!isa_mca_parse(bad[i], 0, 20, &r), "%zu", i);
        cr_expect(isnan(r.cycles) && r.why[0] != '\0', "%zu", i);
    }
    struct isa_mca_run r;
    static const char good[] =
        "Total Cycles: 40\n[0] - HWVALU\n[1] - HWXDL\n"
        "Resource pressure per iteration:\n[0]  [1]\n -   1.50\n";
    cr_assert(isa_mca_parse(good, 0, 20, &r));
    cr_expect_float_eq(r.cycles, 2, 0);
    cr_expect_float_eq(r.xdl, 1.5, 0);
    cr_expect(!isa_mca_parse(good, 1, 20, &r));
}

/* The real one, where there is one: without waits a loop of 64 passes cannot take less,
 * and waiting cannot make it faster. */
Test(mca, the_real_one_agrees_with_the_published_passes)
{
    struct wf_isa_report *r = ask("eight", NULL, "", 20 * SECOND_NS);
    struct wf_isa_figure full = figure(r, "mca");
    struct wf_isa_figure free_of_waits = figure(r, "mca_nowait");
    if (isfinite(full.value)) {
        cr_expect(full.value > 5 && full.value <= free_of_waits.value);
        cr_expect(free_of_waits.value <= 100.01);
        cr_expect(figure(r, "mca_nowait_cycles").value >= 63.9);
    } else {
        cr_expect(full.why != NULL && strstr(full.why, "llvm-mca") != NULL);
    }
    wf_isa_report_free(r);
}
