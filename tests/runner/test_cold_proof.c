/* Rules of the cold proof and of icache cold. */
#include "runner/calibration.h"
#include "runner/cold.h"
#include "runner/cold_probe.h"
#include "runner/icache.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

static struct cold_proof proof_of(const double *gb_per_s, size_t n, double width)
{
    struct cold_proof p = { .set_bytes = 15 * MIB,
                            .target_bytes = 15 * MIB << (n - 2),
                            .count = n };
    for (size_t i = 0; i < n; i++) {
        p.point[i] = (struct cold_point){ .sets = (uint64_t)1 << i,
                                          .bytes = 15 * MIB << i,
                                          .ns = (double)(15 * MIB) / gb_per_s[i],
                                          .width = width,
                                          .gb_per_s = gb_per_s[i] };
    }
    cold_judge(&p);
    return p;
}

Test(cold_proof, an_h200_is_proven)
{
    const double seen[] = { 3354, 2598, 2199, 2188, 2237, 2223 };
    struct cold_proof p = proof_of(seen, 6, 0.015);
    cr_expect_eq(p.verdict, COLD_PROVEN, "%s", p.text);
    cr_expect_float_eq(p.ratio, 3354.0 / 2237, 1e-9);
    cr_expect(strstr(p.text, "2237 GB/s"));
}

Test(cold_proof, bandwidth_that_still_falls_is_not_proven)
{
    const double seen[] = { 3354, 3300, 3000, 2200 };
    struct cold_proof p = proof_of(seen, 4, 0.01);
    cr_expect_eq(p.verdict, COLD_NOT_PROVEN, "%s", p.text);
    /* Within what the intervals leave open nothing is said to fall. */
    const double near[] = { 3354, 2300, 2300, 2150 };
    cr_expect_eq(proof_of(near, 4, 0.01).verdict, COLD_NOT_PROVEN);
    cr_expect_eq(proof_of(near, 4, 0.05).verdict, COLD_PROVEN);
}

Test(cold_proof, without_a_difference_nothing_is_proven)
{
    const double seen[] = { 2230, 2200, 2210, 2190 };
    cr_expect_eq(proof_of(seen, 4, 0.01).verdict, COLD_NO_DIFFERENCE);
}

Test(cold_proof, what_has_no_interval_or_no_time_is_unknown)
{
    const double seen[] = { 3354, 2300, 2200, 2200 };
    const double none[] = { 3354, 2300, NAN, 2200 };
    cr_expect_eq(proof_of(seen, 4, NAN).verdict, COLD_UNKNOWN);
    cr_expect_eq(proof_of(none, 4, 0.01).verdict, COLD_UNKNOWN);
    cr_expect_eq(proof_of(seen, 2, 0.01).verdict, COLD_UNKNOWN);
}

Test(cold_proof, sizes_end_with_what_cold_mode_uses_and_twice_that)
{
    uint64_t sets[COLD_MAX_POINTS];
    size_t n = cold_probe_sizes(15 * MIB, 240 * MIB, sets);
    const uint64_t want[] = { 1, 2, 3, 4, 6, 8, 12, 16, 32 };
    cr_assert_eq(n, sizeof(want) / sizeof(want[0]));
    cr_expect_arr_eq(sets, want, sizeof(want));
    cr_expect_eq(cold_probe_sizes(MIB, MIB, sets), 3u);
    cr_expect_eq(sets[2], 4u);
    cr_expect_leq(cold_probe_sizes(MIB, (uint64_t)1 << 40, sets), COLD_MAX_POINTS);
}

Test(cold_proof, a_copy_is_a_quarter_of_the_cache)
{
    struct wf_device d = { .llc_bytes = 60 * MIB };
    cr_expect_eq(cold_probe_set_bytes(&d), 15 * MIB);
    d.llc_bytes = 256 * MIB;
    cr_expect_eq(cold_probe_set_bytes(&d), 32 * MIB);
    d.llc_bytes = 0;
    cr_expect_eq(cold_probe_set_bytes(&d), 8 * MIB);
}

Test(cold_probe, modelled_times_have_no_cold_to_prove)
{
    struct cold_proof p;
    struct wf_error err = { 0 };
    struct wf_device d = { .arch = "gfx942", .times_modelled = true };
    cr_expect_eq(wf_cold_probe_run(&d, NULL, NULL, NULL, &p, &err), WF_EUNSUPPORTED);
}

Test(cold_probe, without_a_probe_pack_the_verdict_is_unknown_with_the_reason)
{
    char *text = NULL;
    struct wf_error err = { 0 };
    struct wf_device d = { .arch = "gfx1100", .id = "amd:none" };
    cr_assert_eq(setenv("WAVEFARM_PACKS", "/nowhere", 1), 0);
    cr_assert_eq(wf_cold_probe_text(&d, NULL, &text, &err), WF_OK, "%s", err.text);
    cr_expect(strstr(text, "\"unknown\"") && strstr(text, "wavefarm-probe-gfx1100"),
              "%s", text);
    free(text);
}

Test(icache, copies_exceed_the_caches_four_times)
{
    size_t n = 0;
    struct wf_error err = { 0 };
    struct wf_device h200 = { .arch = "sm_90" };
    struct wf_device mi300 = { .arch = "gfx942:sramecc+:xnack-" };
    cr_assert_eq(icache_copies(&h200, 50000, 1024, &n, &err), WF_OK);
    cr_expect_eq(n, 11u);
    cr_assert_eq(icache_copies(&mi300, 4096, 1024, &n, &err), WF_OK);
    cr_expect_eq(n, 64u);
    cr_assert_eq(icache_copies(&h200, 10 * MIB, 1024, &n, &err), WF_OK);
    cr_expect_eq(n, 2u);
}

Test(icache, what_cannot_be_had_is_an_error)
{
    size_t n = 0;
    struct wf_error err = { 0 };
    struct wf_device h200 = { .arch = "sm_90" };
    struct wf_device other = { .arch = "gfx1100" };
    cr_expect_eq(icache_copies(&h200, 100, 1024, &n, &err), WF_EUNSUPPORTED);
    cr_expect(strstr(err.text, "copies of 100 bytes"));
    cr_expect_eq(icache_copies(&h200, 0, 1024, &n, &err), WF_EUNSUPPORTED);
    cr_expect_eq(icache_copies(&other, 4096, 1024, &n, &err), WF_EUNSUPPORTED);
}

/* Launch p takes copy p % copies and set p % sets: at the wrap neither comes again too
 * soon. */
Test(icache, sets_are_a_multiple_of_the_copies)
{
    cr_expect_eq(icache_sets(1, 11), 1u);
    cr_expect_eq(icache_sets(16, 1), 16u);
    cr_expect_eq(icache_sets(16, 11), 22u);
    cr_expect_eq(icache_sets(22, 11), 22u);
}

Test(calibration, a_mark_stays_until_the_device_is_found_good)
{
    char why[300] = "";
    struct wf_error err = { 0 };
    struct wf_device d = { .arch = "sm_90", .id = "cuda:test", .driver = "1" };
    char folder[] = "/tmp/wf-calibration-XXXXXX";
    cr_assert(mkdtemp(folder));
    cr_assert_eq(setenv("WAVEFARM_CACHE", folder, 1), 0);
    cr_expect_eq(wf_calibration_state(&d, why, sizeof(why)), WF_CALIBRATION_GOOD);
    cr_assert_eq(wf_calibration_store(&d, false, "a spin of 5 ms read 7 ms", &err),
                 WF_OK);
    cr_expect_eq(wf_calibration_state(&d, why, sizeof(why)), WF_CALIBRATION_FAILED);
    cr_expect(wf_calibration_refuses(&d, NULL, why, sizeof(why)));
    cr_expect(strstr(why, "read 7 ms") && strstr(why, "selftest timing"), "%s", why);
    struct wf_device newer = d;
    newer.driver[0] = '2';
    cr_expect_eq(wf_calibration_state(&newer, why, sizeof(why)), WF_CALIBRATION_GOOD);
    cr_assert_eq(wf_calibration_store(&d, true, "", &err), WF_OK);
    cr_expect_eq(wf_calibration_state(&d, why, sizeof(why)), WF_CALIBRATION_GOOD);
}
