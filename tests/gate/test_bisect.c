/* The search for the first bad pack, over random truths. */
#include "core/rng.h"
#include "gate/bisect.h"

#include <criterion/criterion.h>
#include <string.h>

#define MOST 70

static struct wf_bisect *make(const size_t *group, size_t n)
{
    struct wf_bisect *b = NULL;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_bisect_create(group, n, &b, &err), WF_OK, "%s", err.text);
    return b;
}

/* Asks `truth` until nothing is left; returns the number of questions. */
static size_t search(struct wf_bisect *b, const enum wf_bisect_mark *truth, size_t n)
{
    size_t asked = 0, i = 0;
    bool good = true;
    while (good && wf_bisect_next(b, &i)) {
        good = i < n && wf_bisect_mark_of(b, i) == WF_BISECT_UNKNOWN;
        wf_bisect_learn(b, i, truth[i]);
        good = good && wf_bisect_mark_of(b, i) != WF_BISECT_UNKNOWN && ++asked <= n;
    }
    cr_assert(good && wf_bisect_left(b) == 0, "asked %zu of %zu, at %zu", asked, n, i);
    return asked;
}

static void each_alone(size_t *group, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        group[i] = i;
    }
}

Test(bisect, every_first_bad_one_is_found_in_the_planned_steps)
{
    size_t group[MOST], good, bad;
    enum wf_bisect_mark truth[MOST];
    each_alone(group, MOST);
    for (size_t n = 2; n <= MOST; n++) {
        for (size_t first = 1; first < n; first++) {
            for (size_t i = 0; i < n; i++) {
                truth[i] = i < first ? WF_BISECT_GOOD : WF_BISECT_BAD;
            }
            struct wf_bisect *b = make(group, n);
            const size_t asked = search(b, truth, n);
            wf_bisect_range(b, &good, &bad);
            cr_assert_eq(bad, first);
            cr_assert_eq(good, first - 1);
            cr_assert_leq(asked + 1, wf_bisect_steps(n), "%zu of %zu in %zu", first, n,
                          asked);
            wf_bisect_free(b);
        }
    }
}

/* Random packs that cannot be decided: the true one is among the suspects, all
 * suspects but the last are undecided, and both ends are what they are said to be. */
Test(bisect, undecided_packs_are_passed_over_and_stay_suspects)
{
    size_t group[MOST], good, bad;
    enum wf_bisect_mark truth[MOST];
    struct wf_rng r = { .seed = 1 };
    each_alone(group, MOST);
    size_t exact = 0;
    for (int run = 0; run < 3000; run++) {
        const size_t n = 2 + wf_rng_next_below(&r, MOST - 1);
        const size_t first = 1 + wf_rng_next_below(&r, n - 1);
        const uint64_t percent = wf_rng_next_below(&r, 100);
        for (size_t i = 0; i < n; i++) {
            truth[i] = i < first ? WF_BISECT_GOOD : WF_BISECT_BAD;
            const bool inner = i > 0 && i + 1 < n;
            if (inner && wf_rng_next_below(&r, 100) < percent) {
                truth[i] = WF_BISECT_SKIP;
            }
        }
        struct wf_bisect *b = make(group, n);
        (void)search(b, truth, n);
        wf_bisect_range(b, &good, &bad);
        cr_assert(good < first && first <= bad);
        cr_assert_eq(truth[good], WF_BISECT_GOOD);
        cr_assert_eq(truth[bad], WF_BISECT_BAD);
        for (size_t i = good + 1; i < bad; i++) {
            cr_assert_eq(truth[i], WF_BISECT_SKIP);
        }
        exact += bad == good + 1;
        wf_bisect_free(b);
    }
    cr_assert(exact > 300 && exact < 3000, "%zu", exact);
}

/* Equal code is asked once, and a revert to the good code moves the search behind it.
 */
Test(bisect, equal_code_is_asked_once)
{
    size_t good, bad;
    const size_t runs_of_four[] = { 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3 };
    enum wf_bisect_mark truth[16];
    for (size_t i = 0; i < 16; i++) {
        truth[i] = i < 8 ? WF_BISECT_GOOD : WF_BISECT_BAD;
    }
    struct wf_bisect *b = make(runs_of_four, 16);
    cr_assert_eq(wf_bisect_mark_of(b, 3), WF_BISECT_GOOD);
    cr_assert_eq(wf_bisect_mark_of(b, 12), WF_BISECT_BAD);
    cr_assert_leq(search(b, truth, 16), 2);
    wf_bisect_range(b, &good, &bad);
    cr_assert_eq(bad, 8);
    wf_bisect_free(b);

    const size_t reverted[] = { 0, 1, 2, 0, 3, 4, 5 };
    enum wf_bisect_mark after[] = { WF_BISECT_GOOD, WF_BISECT_BAD,  WF_BISECT_BAD,
                                    WF_BISECT_GOOD, WF_BISECT_GOOD, WF_BISECT_BAD,
                                    WF_BISECT_BAD };
    b = make(reverted, 7);
    cr_assert_leq(search(b, after, 7), 2);
    wf_bisect_range(b, &good, &bad);
    cr_assert_eq(bad, 5);
    wf_bisect_free(b);
}

Test(bisect, random_groups_end_at_a_change_from_good_to_bad)
{
    size_t group[MOST], good, bad;
    enum wf_bisect_mark truth[MOST], of_group[MOST];
    struct wf_rng r = { .seed = 2 };
    for (int run = 0; run < 2000; run++) {
        const size_t n = 2 + wf_rng_next_below(&r, MOST - 1);
        for (size_t g = 0; g < MOST; g++) {
            of_group[g] = (enum wf_bisect_mark)(1 + wf_rng_next_below(&r, 3));
        }
        of_group[0] = WF_BISECT_GOOD;
        of_group[1] = WF_BISECT_BAD;
        for (size_t i = 0; i < n; i++) {
            group[i] = wf_rng_next_below(&r, n < 4 ? 2 : n / 2);
            group[i] = i == 0 ? 0 : i + 1 == n ? 1 : group[i];
            truth[i] = of_group[group[i]];
        }
        struct wf_bisect *b = make(group, n);
        (void)search(b, truth, n);
        wf_bisect_range(b, &good, &bad);
        cr_assert(good < bad && bad < n);
        cr_assert_eq(truth[good], WF_BISECT_GOOD);
        cr_assert_eq(truth[bad], WF_BISECT_BAD);
        wf_bisect_free(b);
    }
}

Test(bisect, what_is_known_is_not_forgotten)
{
    const size_t group[] = { 0, 1, 2, 3, 4 };
    struct wf_bisect *b = make(group, 5);
    wf_bisect_learn(b, 2, WF_BISECT_SKIP);
    wf_bisect_learn(b, 2, WF_BISECT_BAD); /* a second look decided it */
    cr_assert_eq(wf_bisect_mark_of(b, 2), WF_BISECT_BAD);
    wf_bisect_learn(b, 2, WF_BISECT_GOOD);
    cr_assert_eq(wf_bisect_mark_of(b, 2), WF_BISECT_BAD);
    cr_assert_str_eq(wf_bisect_mark_name(WF_BISECT_SKIP), "skipped");
    wf_bisect_free(b);
}

Test(bisect, ends_with_one_code_are_refused)
{
    const size_t group[] = { 7, 8, 7 };
    struct wf_bisect *b = NULL;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_bisect_create(group, 3, &b, &err), WF_EINVAL);
    cr_assert_not_null(strstr(err.text, "same code"), "%s", err.text);
    cr_assert_eq(wf_bisect_create(group, 1, &b, &err), WF_EINVAL);
}

Test(bisect, error_rates_of_all_steps_add_up)
{
    cr_assert_eq(wf_bisect_steps(2), 1);
    cr_assert_eq(wf_bisect_steps(3), 2);
    cr_assert_eq(wf_bisect_steps(5), 3);
    cr_assert_eq(wf_bisect_steps(6), 4);
    for (size_t planned = 1; planned < 12; planned++) {
        double sum = 0;
        for (size_t k = 0; k < 5000; k++) {
            const double a = wf_bisect_step_alpha(0.01, planned, k);
            cr_assert_gt(a, 0);
            sum += a;
        }
        cr_assert_leq(sum, 0.01);
        cr_assert_geq(sum, 0.00999);
    }
}
