/* Command lines against a table. */
#include "cli/args.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct wf_opt opts[] = {
    { "flag", WF_OPT_FLAG, NULL, NULL, NULL, "a flag" },
    { "text", WF_OPT_STRING, "TEXT", "plain", "WF_TEST_TEXT", "a text" },
    { "list", WF_OPT_LIST, "ITEM", NULL, NULL, "items" },
    { "count", WF_OPT_INT, "N", "3", "WF_TEST_COUNT", "a number" },
    { "part", WF_OPT_REAL, "PART", NULL, NULL, "a fraction" },
    { "wait", WF_OPT_DURATION, "TIME", "2s", NULL, "a time" },
    { "file", WF_OPT_FILE, "FILE", NULL, NULL, "a file" },
};

static const struct wf_command command = {
    .name = "try it",
    .synopsis = "ONE [TWO]",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 1,
    .max_args = 2,
};

#define MOST_WORDS 16

/* Parses words that a NULL ends. argv is not const by tradition; nothing writes to it.
 */
static enum wf_status parse(struct wf_args **ret,
                            struct wf_error *err,
                            const char *const *words)
{
    char *argv[MOST_WORDS];
    int n = 0;
    while (words[n] != NULL) {
        n++;
    }
    memcpy(argv, words, (size_t)n * sizeof(*words));
    return wf_args_parse(&command, n, argv, ret, err);
}

#define PARSE(ret, err, ...) \
    parse(ret, err, (const char *[MOST_WORDS]){ __VA_ARGS__, NULL })

static void refused(const char *why, struct wf_error *err, enum wf_status status)
{
    cr_assert_neq(status, WF_OK, "accepted; wanted: %s", why);
    cr_assert_not_null(strstr(err->text, why), "'%s' lacks '%s'", err->text, why);
}

#define REFUSED(why, ...)                                \
    do {                                                 \
        struct wf_error e = { 0 };                       \
        struct wf_args *none = NULL;                     \
        refused(why, &e, PARSE(&none, &e, __VA_ARGS__)); \
        cr_assert_null(none);                            \
    } while (0)

Test(args, every_kind_is_read)
{
    struct wf_error err = { 0 };
    struct wf_args *a = NULL;
    cr_assert_eq(PARSE(&a, &err, "one", "--flag", "--text", "words", "--list=a",
                       "--list", "b", "--count", "9007199254740993", "--part", "-2.5",
                       "--wait=250ms", "--file=x=y"),
                 WF_OK, "%s", err.text);
    cr_assert_str_eq(wf_args_at(a, 0), "one");
    cr_assert(wf_args_flag(a, "flag"));
    cr_assert_str_eq(wf_args_string(a, "text"), "words");
    cr_assert_eq(wf_args_list_count(a, "list"), 2);
    cr_assert_str_eq(wf_args_list_at(a, "list", 0), "a");
    cr_assert_str_eq(wf_args_list_at(a, "list", 1), "b");
    cr_assert_null(wf_args_list_at(a, "list", 2));
    cr_assert_eq(wf_args_int(a, "count"), 9007199254740993);
    cr_assert_eq(wf_args_real(a, "part"), -2.5);
    cr_assert_eq(wf_args_duration_ns(a, "wait"), 250000000);
    cr_assert_str_eq(wf_args_string(a, "file"), "x=y");
    wf_args_free(a);
}

Test(args, defaults_hold_where_nothing_is_given)
{
    struct wf_error err = { 0 };
    struct wf_args *a = NULL;
    cr_assert_eq(PARSE(&a, &err, "one"), WF_OK, "%s", err.text);
    cr_assert_not(wf_args_flag(a, "flag"));
    cr_assert_str_eq(wf_args_string(a, "text"), "plain");
    cr_assert_eq(wf_args_list_count(a, "list"), 0);
    cr_assert_eq(wf_args_int(a, "count"), 3);
    cr_assert(isnan(wf_args_real(a, "part")));
    cr_assert_eq(wf_args_duration_ns(a, "wait"), 2000000000);
    cr_assert_null(wf_args_string(a, "file"));
    cr_assert_eq(wf_args_count(a), 1);
    cr_assert_null(wf_args_at(a, 1));
    wf_args_free(a);
}

Test(args, line_beats_environment_beats_default)
{
    struct wf_error err = { 0 };
    struct wf_args *a = NULL;
    setenv("WF_TEST_TEXT", "from outside", 1);
    cr_assert_eq(PARSE(&a, &err, "one"), WF_OK, "%s", err.text);
    cr_assert_str_eq(wf_args_string(a, "text"), "from outside");
    wf_args_free(a);
    cr_assert_eq(PARSE(&a, &err, "one", "--text", "line"), WF_OK, "%s", err.text);
    cr_assert_str_eq(wf_args_string(a, "text"), "line");
    wf_args_free(a);
    setenv("WF_TEST_TEXT", "", 1);
    cr_assert_eq(PARSE(&a, &err, "one"), WF_OK, "%s", err.text);
    cr_assert_str_eq(wf_args_string(a, "text"), "plain");
    wf_args_free(a);
}

Test(args, an_empty_value_is_no_value)
{
    REFUSED("--text is empty; it takes a TEXT", "one", "--text", "");
    REFUSED("--list is empty", "one", "--list=");
    REFUSED("--file is empty", "one", "--file", "");
    REFUSED("--count", "one", "--count", "");
}

Test(args, numbers_out_of_range_are_named_with_their_limits)
{
    struct wf_error err = { 0 };
    struct wf_args *a = NULL;
    double part = 7;
    int64_t wait_ns = 7;
    cr_assert_eq(PARSE(&a, &err, "one", "--part", "0", "--wait", "0s"), WF_OK);
    cr_assert_eq(wf_args_real_in(a, "part", 0.5, 99, &part, &err), WF_EINVAL);
    cr_assert_str_eq(err.text, "--part is 0; it takes 0.5 to 99");
    cr_assert_eq(wf_args_duration_in(a, "wait", 1500000, 7200000000000, &wait_ns, &err),
                 WF_EINVAL);
    cr_assert_str_eq(err.text, "--wait is 0s; it takes 1500us to 2h");
    cr_assert(part == 7 && wait_ns == 7, "set although refused");
    cr_assert_eq(wf_args_real_in(a, "part", 0, 1, &part, &err), WF_OK);
    cr_assert_eq(wf_args_duration_in(a, "wait", 0, 1, &wait_ns, &err), WF_OK);
    cr_assert(part == 0 && wait_ns == 0);
    wf_args_free(a);
}

Test(args, a_bad_environment_variable_is_named)
{
    setenv("WF_TEST_COUNT", "many", 1);
    REFUSED("WF_TEST_COUNT", "one");
}

Test(args, the_last_one_given_wins)
{
    struct wf_error err = { 0 };
    struct wf_args *a = NULL;
    cr_assert_eq(PARSE(&a, &err, "--count", "1", "one", "--count=7"), WF_OK);
    cr_assert_eq(wf_args_int(a, "count"), 7);
    wf_args_free(a);
}

Test(args, two_dashes_end_the_options)
{
    struct wf_error err = { 0 };
    struct wf_args *a = NULL;
    cr_assert_eq(PARSE(&a, &err, "--", "--flag", "-x"), WF_OK, "%s", err.text);
    cr_assert_str_eq(wf_args_at(a, 0), "--flag");
    cr_assert_str_eq(wf_args_at(a, 1), "-x");
    cr_assert_not(wf_args_flag(a, "flag"));
    wf_args_free(a);
}

Test(args, one_dash_is_an_argument)
{
    struct wf_error err = { 0 };
    struct wf_args *a = NULL;
    cr_assert_eq(PARSE(&a, &err, "-"), WF_OK, "%s", err.text);
    cr_assert_str_eq(wf_args_at(a, 0), "-");
    wf_args_free(a);
}

Test(args, errors_say_what_is_wrong)
{
    REFUSED("unknown option --nope; see 'wavefarm help try it'", "one", "--nope");
    REFUSED("unknown option --fla;", "one", "--fla");
    REFUSED("unknown option --flags;", "one", "--flags=1");
    REFUSED("unknown option -v", "one", "-v");
    REFUSED("--flag takes no value", "one", "--flag=1");
    REFUSED("--text needs a value: --text TEXT", "one", "--text");
    REFUSED("--count", "one", "--count", "-1");
    REFUSED("--count", "one", "--count", "9223372036854775808");
    REFUSED("--count", "one", "--count=");
    REFUSED("--count", "one", "--count", "0x10");
    REFUSED("--part", "one", "--part", "nan");
    REFUSED("--wait", "one", "--wait", "10");
    REFUSED("--wait", "one", "--wait", "10 s");
    REFUSED("missing argument; usage: wavefarm try it ONE [TWO]", "--flag");
    REFUSED("unexpected argument 'three'", "one", "two", "three");
}

Test(args, a_range_is_kept)
{
    int v = 0;
    struct wf_error err = { 0 };
    struct wf_args *a = NULL;
    cr_assert_eq(PARSE(&a, &err, "one", "--count", "4294967297"), WF_OK);
    cr_assert_eq(wf_args_int_in(a, "count", 1, 100, &v, &err), WF_EINVAL);
    cr_assert_not_null(strstr(err.text, "--count is 4294967297; it takes 1 to 100"));
    cr_assert_eq(v, 0);
    wf_args_free(a);
}
