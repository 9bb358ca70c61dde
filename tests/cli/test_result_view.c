/* Results for people, and the exit status that they give. */
#include "cli/result_view.h"

#include "cli/exit_code.h"
#include "cli/table.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct wf_json *json(const char *text)
{
    struct wf_json *v = NULL;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_json_parse(text, strlen(text), "test", &v, &err), WF_OK, "%s",
                 err.text);
    return v;
}

static int exit_of(const char *const *answers, size_t expected)
{
    struct wf_result_counts c = { 0 };
    for (; *answers != NULL; answers++) {
        char text[96];
        (void)snprintf(text, sizeof(text), "{\"answer\":\"%s\",\"time\":\"OK\"}",
                       *answers);
        struct wf_json *r = json(text);
        wf_count_result(&c, r);
        wf_json_free(r);
    }
    return wf_counts_exit(&c, expected);
}

#define EXIT(expected, ...) exit_of((const char *[]){ __VA_ARGS__, NULL }, expected)

Test(result_view, exit_statuses_follow_the_answers)
{
    cr_assert_eq(EXIT(2, "PASS", "PASS"), WF_EXIT_GOOD);
    cr_assert_eq(EXIT(2, "PASS", "NOT_SUPPORTED"), WF_EXIT_GOOD);
    cr_assert_eq(EXIT(2, "NOT_SUPPORTED", "NOT_SUPPORTED"), WF_EXIT_NO_VERDICT);
    cr_assert_eq(EXIT(2, "PASS"), WF_EXIT_NO_VERDICT);
    cr_assert_eq(EXIT(0, NULL), WF_EXIT_NO_VERDICT);
    cr_assert_eq(EXIT(2, "PASS", "LOST"), WF_EXIT_NO_VERDICT);
    cr_assert_eq(EXIT(2, "PASS", "CANCELLED"), WF_EXIT_NO_VERDICT);
    cr_assert_eq(EXIT(3, "PASS", "MISMATCH"), WF_EXIT_BAD);
    cr_assert_eq(EXIT(3, "LOST", "CRASH", "NOT_SUPPORTED"), WF_EXIT_BAD);
    cr_assert_eq(EXIT(1, "INVALID_CASE"), WF_EXIT_BAD);
}

Test(result_view, statuses_become_exit_codes)
{
    cr_assert_eq(wf_exit_of(WF_OK), 0);
    cr_assert_eq(wf_exit_of(WF_EINVAL), 2);
    cr_assert_eq(wf_exit_of(WF_EPARSE), 2);
    cr_assert_eq(wf_exit_of(WF_ENOTFOUND), 2);
    cr_assert_eq(wf_exit_of(WF_EREFUSED), 3);
    cr_assert_eq(wf_exit_of(WF_ENETWORK), 3);
    cr_assert_eq(wf_exit_of(WF_ECANCELLED), 130);
}

Test(result_view, times_have_four_digits_and_a_unit)
{
    static const struct {
        double ns;
        const char *text;
    } rows[] = { { 0.5, "0.5 ns" },       { 999, "999 ns" },
                 { 51234.5, "51.23 us" }, { 1.5e6, "1.5 ms" },
                 { 2.5e9, "2.5 s" },      { 0, "0 ns" },
                 { (double)NAN, "-" },    { (double)INFINITY, "-" } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[32];
        wf_format_time_ns(rows[i].ns, text, sizeof(text));
        cr_assert_str_eq(text, rows[i].text);
    }
}

static void redirect(void)
{
    cr_redirect_stdout();
}

#define TASK \
    "\"task\":{\"case_name\":\"c1\",\"kernel\":\"k1\",\"device_selector\":\"host:0\"}"

Test(result_view, rows_show_time_spread_rate_and_roofline, .init = redirect)
{
    struct wf_json *r =
        json("{" TASK
             ",\"device\":{\"id\":\"host:h:0\"},\"answer\":\"PASS\",\"time\":\"NOISY\","
             "\"timing\":{\"median\":1000,\"q1\":990,\"q3\":1010},"
             "\"work\":{\"flops\":2e9,\"bytes\":1e6,\"peak_flops\":0,"
             "\"peak_bytes_per_s\":0,\"roofline_ns\":250}}");
    const struct wf_json *list[] = { r };
    wf_print_results(list, 1, false);
    fflush(stdout);
    cr_assert_stdout_eq_str(
        "case  kernel  device    answer  time   median  spread          rate  of roofline\n"
        "c1    k1      host:h:0  PASS    NOISY    1 us   2.0 %  2000 TFLOP/s         25 %\n"
        "NOISY: the median's interval was wider than asked for when the budget or the "
        "samples ended; a longer --budget, a larger --ci or a machine without other work "
        "helps\n");
    wf_json_free(r);
}

Test(result_view, slow_arithmetic_shows_gigaflops, .init = redirect)
{
    struct wf_json *r =
        json("{" TASK ",\"device\":null,\"answer\":\"PASS\",\"time\":\"OK\","
             "\"timing\":{\"median\":1e6,\"q1\":1e6,\"q3\":1e6},"
             "\"work\":{\"flops\":66.75e6,\"bytes\":1e5,\"roofline_ns\":0}}");
    const struct wf_json *list[] = { r };
    wf_print_results(list, 1, false);
    fflush(stdout);
    cr_assert_stdout_eq_str(
        "case  kernel  device  answer  time  median  spread           rate  of roofline\n"
        "c1    k1      host:0  PASS    OK      1 ms   0.0 %  66.75 GFLOP/s            -\n");
    wf_json_free(r);
}

Test(result_view, memory_bound_work_shows_gigabytes, .init = redirect)
{
    struct wf_json *r =
        json("{" TASK ",\"device\":null,\"answer\":\"PASS\",\"time\":\"OK\","
             "\"timing\":{\"median\":1000,\"q1\":1000,\"q3\":1000},"
             "\"work\":{\"flops\":1e6,\"bytes\":5e5,\"roofline_ns\":0}}");
    const struct wf_json *list[] = { r };
    wf_print_results(list, 1, false);
    fflush(stdout);
    cr_assert_stdout_eq_str(
        "case  kernel  device  answer  time  median  spread      rate  of roofline\n"
        "c1    k1      host:0  PASS    OK      1 us   0.0 %  500 GB/s            -\n");
    wf_json_free(r);
}

Test(result_view, failures_alone_with_their_reasons, .init = redirect)
{
    struct wf_json *good = json("{" TASK ",\"answer\":\"PASS\",\"time\":\"OK\"}");
    struct wf_json *bad =
        json("{" TASK ",\"answer\":\"MISMATCH\",\"answer_text\":\"D[0,17] is 2\","
             "\"diagnosis\":\"ratio 2\",\"time\":\"NOT_MEASURED\",\"timing\":null}");
    const struct wf_json *list[] = { good, bad };
    wf_print_results(list, 2, true);
    fflush(stdout);
    cr_assert_stdout_eq_str(
        "case  kernel  device  answer    time          median  spread  rate  of roofline\n"
        "c1    k1      host:0  MISMATCH  NOT_MEASURED       -       -     -            -\n"
        "c1 / k1: MISMATCH: D[0,17] is 2; likely: ratio 2\n");
    wf_json_free(good);
    wf_json_free(bad);
}

Test(result_view, nothing_in_a_file_commands_the_terminal, .init = redirect)
{
    struct wf_json *bad =
        json("{\"task\":{\"case_name\":\"\\u001b]0;c\\u0007\",\"kernel\":\"k\\nPASS\","
             "\"device_selector\":\"\\u009b31m\"},\"answer\":\"CRASH\","
             "\"answer_text\":\"a\\u202eb\\r\",\"diagnosis\":\"\\u001b[2J\","
             "\"time\":\"NOT_MEASURED\",\"timing\":null}");
    const struct wf_json *list[] = { bad };
    wf_print_results(list, 1, false);
    fflush(stdout);
    cr_assert_stdout_eq_str(
        "case    kernel  device  answer  time          median  spread  rate  of roofline\n"
        " ]0;c   k PASS   31m    CRASH   NOT_MEASURED       -       -     -            -\n"
        " ]0;c  / k PASS: CRASH: a?b ; likely:  [2J\n");
    wf_json_free(bad);
}

Test(result_view, counts_tell_what_is_missing, .init = redirect)
{
    struct wf_result_counts c = { 0 };
    struct wf_json *a = json("{\"answer\":\"PASS\",\"time\":\"OK\"}");
    struct wf_json *b = json("{\"answer\":\"CRASH\",\"time\":\"NOT_MEASURED\"}");
    wf_count_result(&c, a);
    wf_count_result(&c, a);
    wf_count_result(&c, b);
    wf_print_counts(&c, 4);
    fflush(stdout);
    cr_assert_stdout_eq_str("3 results: 2 PASS, 1 CRASH; time: 2 OK, 1 NOT_MEASURED; "
                            "incomplete: 3 of 4\n");
    wf_json_free(a);
    wf_json_free(b);
}

Test(table, columns_fit_their_widest_cell_in_characters, .init = redirect)
{
    static const char *const header[] = { "name", ">n" };
    static const char *const first[] = { "\xc2\xb5s", "1" };
    static const char *const second[] = { "longer name", "12345" };
    static const char *const third[] = { NULL, "7" };
    struct wf_table *t = wf_table_create(header, 2);
    wf_table_row(t, first);
    wf_table_row(t, second);
    wf_table_row(t, third);
    cr_assert(wf_table_print(t));
    wf_table_free(t);
    fflush(stdout);
    cr_assert_stdout_eq_str("name             n\n"
                            "\xc2\xb5s               1\n"
                            "longer name  12345\n"
                            "                 7\n");
}

Test(table, too_many_columns_are_refused)
{
    static const char *const header[WF_TABLE_COLUMNS + 1] = { "a" };
    cr_assert_null(wf_table_create(header, WF_TABLE_COLUMNS + 1));
}

#define WRONG                                                                    \
    "{" TASK ",\"answer\":\"MISMATCH\",\"time\":\"NOT_MEASURED\","               \
    "\"answer_text\":\"checked launch: 9 wrong; worst D[0, 3]: got 1; C lost\"," \
    "\"diagnosis\":\"C lost\",\"timing\":null,\"errors\":{\"max_abs\":2,"        \
    "\"max_rel\":0.5,\"mismatches\":9,\"nonfinite\":0,\"unwritten\":1,"          \
    "\"first\":{\"tensor\":\"D\",\"index\":[0,2],\"got\":2,\"want\":4},"         \
    "\"worst\":{\"tensor\":\"D\",\"index\":[0,3],\"got\":1,\"want\":3,"          \
    "\"tolerance\":0.5},\"map\":{\"tensor\":\"D\",\"rows\":6,\"cols\":8,"        \
    "\"cell_rows\":4,\"cell_cols\":4,\"wrong\":[[4,16],[0,0]],"                  \
    "\"checked\":[[16,16],[8,0]]}}}"

/* Every sign of the map, both scales, and no text twice. */
Test(result_view, a_wrong_result_shows_where_and_why, .init = redirect)
{
    struct wf_json *r = json(WRONG);
    const struct wf_json *list[] = { r };
    wf_print_results(list, 1, WF_RESULTS_FAILED);
    fflush(stdout);
    cr_assert_stdout_eq_str(
        "case  kernel  device  answer    time          median  spread  rate  of roofline\n"
        "c1    k1      host:0  MISMATCH  NOT_MEASURED       -       -     -            -\n"
        "c1 / k1: MISMATCH: checked launch: 9 wrong\n"
        "  wrong  9 differ, 0 not finite, 1 never written; largest error 2, relative 0.5\n"
        "  first  D[0, 2]  got 2, want 4: got / want = 0.5\n"
        "  worst  D[0, 3]  got 1, want 3: off by 2, 4 times the tolerance 0.5\n"
        "  likely C lost\n"
        "  where  D as 6 rows x 8 columns, a cell is 4 x 4\n"
        "                0\n"
        "               +----+\n"
        "             0 |22##|\n"
        "             4 |..  |\n"
        "               +----+\n"
        "                . right   1-9 tenths wrong   # all wrong   blank: not looked "
        "at\n");
    wf_json_free(r);
}

Test(result_view, a_long_list_has_the_first_maps_only, .init = redirect)
{
    struct wf_json *r = json(WRONG);
    const struct wf_json *list[] = { r, r, r, r, r, r };
    char out[16384] = "";
    int maps = 0;
    int likely = 0;
    wf_print_results(list, 6, WF_RESULTS_RAN);
    fflush(stdout);
    FILE *f = cr_get_redirected_stdout();
    const size_t n = fread(out, 1, sizeof(out) - 1, f);
    out[n] = '\0';
    for (const char *s = out; (s = strstr(s, "  where  ")) != NULL; s++) {
        maps++;
    }
    for (const char *s = out; (s = strstr(s, "  likely C lost")) != NULL; s++) {
        likely++;
    }
    cr_assert_eq(maps, 4);
    cr_assert_eq(likely, 6);
    cr_assert_not_null(strstr(out, "'show --failed' has all"));
    wf_json_free(r);
}

/* Results of versions before, and damaged ones, print what they have. */
Test(result_view, a_map_that_is_not_whole_breaks_nothing, .init = redirect)
{
    static const char *const broken[] = {
        "{" TASK ",\"answer\":\"MISMATCH\",\"time\":\"OK\",\"errors\":null}",
        "{" TASK ",\"answer\":\"MISMATCH\",\"time\":\"OK\",\"errors\":{\"first\":{}}}",
        "{" TASK ",\"answer\":\"MISMATCH\",\"time\":\"OK\",\"errors\":{\"first\":"
        "{\"index\":7},\"map\":{\"wrong\":[[1],[]],\"checked\":3,\"cell_rows\":\"x\"}}}",
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct wf_json *r = json(broken[i]);
        const struct wf_json *list[] = { r };
        wf_print_results(list, 1, WF_RESULTS_RAN);
        wf_json_free(r);
    }
    fflush(stdout);
}

/* --- what the columns do not say --- */

#define COLD(device, probe)                                                                    \
    "{\"task\":{\"case_name\":\"c\",\"kernel\":\"k\"},\"device\":{\"id\":\"" device            \
    "\"},\"answer\":\"PASS\",\"time\":\"OK\",\"timing\":{\"median\":1000,\"q1\":990,"          \
    "\"q3\":1010},\"mode\":{\"temperature\":\"cold\",\"icache\":\"cold\"},\"details\":{" probe \
    "}}"
#define PROVEN "\"cold_probe\":{\"verdict\":\"proven\",\"text\":\"1.5 times hot\"}"

Test(result_view, cold_times_tell_their_proof, .init = cr_redirect_stdout)
{
    struct wf_json *r[] = { json(COLD("amd:0", PROVEN)), json(COLD("amd:1", "")),
                            json(COLD("amd:0", PROVEN)) };
    wf_print_results((const struct wf_json *const *)r, 3, WF_RESULTS_RAN);
    for (size_t i = 0; i < 3; i++) {
        wf_json_free(r[i]);
    }
    (void)fflush(stdout);
    char out[4096] = "";
    FILE *f = cr_get_redirected_stdout();
    (void)fread(out, 1, sizeof(out) - 1, f);
    cr_expect_not_null(strstr(out, "cold: 2 times of amd:0; proven: 1.5 times hot\n"),
                       "%s", out);
    cr_expect_not_null(strstr(out, "cold: 1 times of amd:1; no probe was run"), "%s",
                       out);
    cr_expect_not_null(strstr(out, "instruction caches cold: 3 times\n"), "%s", out);
    cr_expect_null(strstr(out, "NOISY:"), "%s", out);
}

Test(result_view, noisy_times_tell_what_to_do, .init = cr_redirect_stdout)
{
    struct wf_json *r[] = { json(
        "{\"task\":{\"case_name\":\"c\",\"kernel\":\"k\"},\"answer\":\"PASS\",\"time\":"
        "\"NOISY\",\"timing\":{\"median\":1000,\"q1\":990,\"q3\":1010},\"mode\":{"
        "\"temperature\":\"hot\"}}") };
    wf_print_results((const struct wf_json *const *)r, 1, WF_RESULTS_RAN);
    wf_json_free(r[0]);
    (void)fflush(stdout);
    char out[4096] = "";
    FILE *f = cr_get_redirected_stdout();
    (void)fread(out, 1, sizeof(out) - 1, f);
    cr_expect_not_null(strstr(out, "a longer --budget"), "%s", out);
    cr_expect_null(strstr(out, "cold"), "%s", out);
}

#define NO_TIME(why, more)                                                           \
    "{\"task\":{\"case_name\":\"c\",\"kernel\":\"k\"},\"answer\":\"PASS\",\"time\":" \
    "\"NOT_MEASURED\",\"time_text\":\"" why "\",\"timing\":null,\"details\":{" more  \
    "}}"

Test(result_view,
     a_time_that_was_asked_for_and_is_missing_says_why,
     .init = cr_redirect_stdout)
{
    struct wf_json *r[] = { json(NO_TIME("too many copies", "\"asked\":{}")),
                            json(NO_TIME("too many copies", "\"asked\":{}")),
                            json(NO_TIME("not asked for", "")) };
    wf_print_results((const struct wf_json *const *)r, 3, WF_RESULTS_RAN);
    for (size_t i = 0; i < 3; i++) {
        wf_json_free(r[i]);
    }
    (void)fflush(stdout);
    char out[4096] = "";
    FILE *f = cr_get_redirected_stdout();
    (void)fread(out, 1, sizeof(out) - 1, f);
    const char *first = strstr(out, "c / k: NOT_MEASURED: too many copies\n");
    cr_assert_not_null(first, "%s", out);
    cr_expect_null(strstr(first + 1, "c / k: NOT_MEASURED: too"), "said twice: %s",
                   out);
    cr_expect_null(strstr(out, "not asked for"), "%s", out);
}

/* Where nothing ran there is no table, but each reason once. */
Test(result_view, results_that_are_all_unsupported_say_why, .init = cr_redirect_stdout)
{
    static const char form[] =
        "{\"answer\":\"NOT_SUPPORTED\",\"time\":\"NOT_MEASURED\","
        "\"answer_text\":\"%s\",\"task\":{\"kernel\":\"k%d\"}}";
    const struct wf_json *r[3];
    for (int i = 0; i < 3; i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), form, i < 2 ? "no libx.so" : "K is odd", i);
        r[i] = json(text);
    }
    wf_print_results(r, 3, WF_RESULTS_RAN);
    (void)fflush(stdout);
    cr_assert_stdout_eq_str("2 NOT_SUPPORTED: no libx.so\n1 NOT_SUPPORTED: K is odd\n");
    for (int i = 0; i < 3; i++) {
        wf_json_free((struct wf_json *)(uintptr_t)r[i]);
    }
}
