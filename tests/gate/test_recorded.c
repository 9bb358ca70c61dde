/* Recorded times of real devices under the rule, where they are present:
 * $WF_SHARED_DATA/gpu_repeats or ../shared/data/gpu_repeats beside the source tree.
 * Skipped (77) elsewhere, with a line that says so. One sequence of STEP, labels drawn
 * once; docs/results/gate-simulated.md has all of them. */
#include "tests/bench/sim_gate_recorded.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STEP 12

static const struct {
    const char *name;
    size_t sequences;
} expected[] = { { "convolution_milo_MI250X", 4362 },
                 { "dedispersion_milo_A4000", 11130 } };

/* What a share of at most `most` may come to in a sample: three standard deviations. */
static int check(const struct recorded *r, const char *what, uint64_t hits, double most)
{
    const size_t sequences = (r->n + STEP - 1) / STEP;
    const double n = (double)sequences;
    if ((double)hits <= most * n + 3 * sqrt(n * most * (1 - most))) {
        return 0;
    }
    (void)printf("FAILED %s: %s in %llu of %.0f, by right at most %g %%\n", r->name,
                 what, (unsigned long long)hits, n, 100 * most);
    return 1;
}

static int check_count(const struct recorded *r)
{
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        if (strcmp(r->name, expected[i].name) == 0 && r->n != expected[i].sequences) {
            (void)printf("FAILED %s: %zu sequences, not %zu\n", r->name, r->n,
                         expected[i].sequences);
            return 1;
        }
    }
    return 0;
}

static int check_file(const struct recorded *r)
{
    struct recorded_counts c = { 0 };
    recorded_count(r, 0, STEP, 1, 0, &c);
    (void)printf(
        "%s: %llu of %zu sequences; W >= 20 at margin 0: %llu, at 0.5 %%: %llu, "
        ">= 6000: %llu; true 2 %%: FAIL %llu, PASS %llu; A/A: PASS %llu\n",
        r->name, (unsigned long long)c.sequences, r->n, (unsigned long long)c.sharp_20,
        (unsigned long long)c.w_20, (unsigned long long)c.w_6000,
        (unsigned long long)c.slower_fail, (unsigned long long)c.slower_pass,
        (unsigned long long)c.pass);
    return check_count(r) + check(r, "W >= 6000", c.w_6000, 0) +
           check(r, "W >= 20 at margin 0", c.sharp_20, 0.02) +
           check(r, "W >= 20 at margin 0.5 %", c.w_20, 0.02) +
           check(r, "PASS at a true 2 %", c.slower_pass, 0.05) +
           /* that there was anything to see */
           check(r, "no FAIL at a true 2 %", c.sequences - c.slower_fail, 0.5) +
           check(r, "no PASS of equal code", c.sequences - c.pass, 0.1);
}

int main(void)
{
    struct recorded *all = NULL;
    size_t n = 0;
    struct wf_error err;
    int failed = 0;
    enum wf_status status = recorded_read_all(NULL, &all, &n, &err);
    if (status == WF_ENOTFOUND) {
        (void)printf("SKIPPED: %s\n", err.text);
        return 77;
    }
    if (status != WF_OK) {
        (void)printf("FAILED: %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        failed += check_file(&all[i]);
    }
    recorded_free(all, n);
    return failed == 0 ? 0 : 1;
}
