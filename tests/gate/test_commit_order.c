/* Commits are ordered by their parents; clocks only where these say nothing. */
#include "gate/commit_order.h"

#include <criterion/criterion.h>
#include <string.h>

#define MOST 8

static const char *const none[1] = { "" };
#define P(x)              \
    (const char *const[]) \
    {                     \
        x                 \
    }

static void sorted(const struct wf_commit *c,
                   size_t n,
                   const char *const *order,
                   size_t order_count,
                   const char *want)
{
    size_t at[MOST];
    char got[2 * MOST + 1] = "";
    cr_assert_eq(wf_commit_sort(c, n, order, order_count, at, NULL), WF_OK);
    for (size_t i = 0; i < n; i++) {
        strncat(got, c[at[i]].commit, 1);
    }
    cr_assert(strcmp(got, want) == 0, "%s instead of %s", got, want);
}

/* Three of one second, and two whose time runs backwards. */
Test(commit_order, a75_parents_not_clocks)
{
    const struct wf_commit c[] = {
        { "c", P("b"), 1, "2026-01-01T00:00:00Z" },
        { "e", P("d"), 1, "2025-12-30T00:00:00Z" },
        { "a", none, 0, "2026-01-01T00:00:00Z" },
        { "d", P("c"), 1, "2025-12-31T00:00:00Z" },
        { "b", P("a"), 1, "2026-01-01T00:00:00Z" },
    };
    size_t line[5], n = 0;
    sorted(c, 5, NULL, 0, "abcde");
    cr_assert_eq(wf_commit_line(c, 5, 2, 1, line, &n, NULL), WF_OK);
    cr_assert_eq(n, 5);
    cr_assert_str_eq(c[line[0]].commit, "a");
    cr_assert_str_eq(c[line[4]].commit, "e");
}

Test(commit_order, a_point_measured_later_for_an_older_commit)
{
    const struct wf_commit c[] = {
        { "a", none, 0, "2026-01-01" },
        { "c", P("b"), 1, "2026-01-03" },
        { "d", P("c"), 1, "2026-01-04" },
        { "b", P("a"), 1, "2026-02-01" }, /* backfilled */
    };
    sorted(c, 4, NULL, 0, "abcd");
    /* Where a commit between was never measured only a list can tell. */
    const struct wf_commit gap[] = {
        { "a", none, 0, "2026-01-01" },
        { "d", P("c"), 1, "2026-01-04" },
        { "b", P("a"), 1, "2026-02-01" },
    };
    const char *const order[] = { "a", "b", "c", "d" };
    sorted(gap, 3, NULL, 0, "adb");
    sorted(gap, 3, order, 4, "abd");
}

Test(commit_order, ties_are_stable_and_unknown_commits_go_by_time)
{
    const struct wf_commit c[] = {
        { "", none, 0, "3" },
        { "", none, 0, "1" },
        { "", none, 0, "2" },
        { "", none, 0, "1" },
    };
    size_t at[4];
    cr_assert_eq(wf_commit_sort(c, 4, NULL, 0, at, NULL), WF_OK);
    cr_assert(at[0] == 1 && at[1] == 3 && at[2] == 2 && at[3] == 0);
}

Test(commit_order, a_circle_ends)
{
    const struct wf_commit c[] = { { "a", P("b"), 1, "1" }, { "b", P("a"), 1, "2" } };
    size_t line[3], n = 0;
    struct wf_error err = { 0 };
    sorted(c, 2, NULL, 0, "ab");
    const struct wf_commit d[] = { { "g", none, 0, "" },
                                   { "a", P("b"), 1, "1" },
                                   { "b", P("a"), 1, "2" } };
    cr_assert_neq(wf_commit_line(d, 3, 0, 1, line, &n, &err), WF_OK);
}

Test(commit_order, a_line_that_does_not_reach_says_where_it_ends)
{
    const struct wf_commit c[] = {
        { "aaaa", none, 0, "" },
        { "cccc", P("bbbb"), 1, "" },
        { "dddd", P("cccc"), 1, "" },
        { "", none, 0, "" },
    };
    size_t line[4], n = 0;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_commit_line(c, 4, 0, 2, line, &n, &err), WF_ENOTFOUND);
    cr_assert_not_null(strstr(err.text, "no pack has commit bbbb"), "%s", err.text);
    cr_assert_eq(wf_commit_line(c, 4, 2, 0, line, &n, &err), WF_ENOTFOUND);
    cr_assert_not_null(strstr(err.text, "do not meet"), "%s", err.text);
    cr_assert_eq(wf_commit_line(c, 4, 3, 2, line, &n, &err), WF_EINVAL);
    cr_assert_not_null(strstr(err.text, "good pack"), "%s", err.text);
    cr_assert_eq(wf_commit_line(c, 4, 0, 0, line, &n, &err), WF_EINVAL);
}
