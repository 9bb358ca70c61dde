/* Loading suites: defaults, datasets, names, and refusals with file, case and field. */
#include "datasets/suite.h"

#include "core/json.h"
#include "tests/core/temp_dir.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct place {
    struct temp_dir dir;
    struct wf_dataset_store *store;
};

static void open_place(struct place *p)
{
    temp_dir_make(&p->dir);
    struct wf_error err;
    cr_assert_eq(
        wf_dataset_store_open(temp_dir_file(&p->dir, "store"), &p->store, &err), WF_OK,
        "%s", err.text);
}

static void close_place(struct place *p)
{
    wf_dataset_store_close(p->store);
    temp_dir_remove(&p->dir);
}

static void put(struct place *p, const char *file, const char *text)
{
    cr_assert_eq(
        wf_file_write_atomic(temp_dir_file(&p->dir, file), text, strlen(text), NULL),
        WF_OK);
}

static enum wf_status load(struct place *p,
                           const char *name,
                           struct wf_suite **ret,
                           struct wf_error *err)
{
    return wf_suite_load(name, p->dir.path, p->store, ret, err);
}

/* Writes S.json with these members and loads it. */
static struct wf_suite *expect_loaded(struct place *p, const char *members)
{
    struct wf_suite *suite = NULL;
    struct wf_error err;
    char *text = wf_asprintf("{\"schema\":\"wavefarm.suite/1\",\"name\":\"S\","
                             "\"description\":\"d\",%s}",
                             members);
    put(p, "S.json", text);
    free(text);
    cr_assert_eq(load(p, "S", &suite, &err), WF_OK, "%s", err.text);
    return suite;
}

static void expect_refused(const char *members, const char *want)
{
    struct place p;
    struct wf_suite *suite = NULL;
    struct wf_error err;
    open_place(&p);
    char *text = wf_asprintf("{\"schema\":\"wavefarm.suite/1\",\"name\":\"S\","
                             "\"description\":\"d\",%s}",
                             members);
    put(&p, "S.json", text);
    cr_expect_neq(load(&p, "S", &suite, &err), WF_OK, "accepted %s", text);
    cr_expect_not_null(strstr(err.text, "S.json"), "no file in: %s", err.text);
    cr_expect_not_null(strstr(err.text, want), "\"%s\" not in: %s", want, err.text);
    wf_suite_free(suite);
    free(text);
    close_place(&p);
}

#define RECIPE                                                                 \
    "{\"kind\":\"page-table\",\"synthetic\":true,\"requests\":40,\"batch\":8," \
    "\"mean_prompt\":50,\"mean_output\":10}"
#define PAGED                                                                  \
    "\"op\":\"attention\",\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":64," \
    "\"page_table\":\"@t\""

Test(suite, cases_take_defaults_unless_they_say_otherwise)
{
    struct place p;
    open_place(&p);
    struct wf_suite *s = expect_loaded(
        &p, "\"defaults\":{\"op\":\"gemm\",\"K\":32,\"trans_b\":\"T\"},"
            "\"cases\":[{\"name\":\"a\",\"M\":8,\"N\":16},"
            "{\"name\":\"b\",\"M\":8,\"N\":16,\"K\":64,\"known_best\":{\"tile\":3}}]");
    cr_expect_str_eq(wf_suite_name(s), "S");
    cr_assert_eq(wf_suite_count(s), 2);
    cr_expect_str_eq(wf_suite_case_name(s, 1), "b");
    cr_expect_not_null(strstr(wf_case_canonical(wf_suite_case(s, 0)), "\"K\":32"));
    cr_expect_not_null(strstr(wf_case_canonical(wf_suite_case(s, 1)), "\"K\":64"));
    cr_expect_null(strstr(wf_case_canonical(wf_suite_case(s, 1)), "known_best"));
    cr_expect_null(wf_suite_case_known_best(s, 0));
    cr_expect_not_null(wf_suite_case_known_best(s, 1));
    cr_expect_eq(wf_suite_dataset_count(s), 0);
    wf_suite_free(s);
    close_place(&p);
}

Test(suite, name_and_known_best_are_no_part_of_the_id)
{
    struct place p;
    open_place(&p);
    struct wf_suite *s = expect_loaded(
        &p,
        "\"defaults\":{\"op\":\"gemm\",\"M\":8,\"N\":16,\"K\":64},"
        "\"cases\":[{\"name\":\"a\"},{\"name\":\"b\",\"known_best\":{\"tile\":3}}]");
    cr_expect_str_eq(wf_case_id(wf_suite_case(s, 0)), wf_case_id(wf_suite_case(s, 1)));
    wf_suite_free(s);
    close_place(&p);
}

Test(suite, a_recipe_is_run_once_and_its_result_kept)
{
    struct place p;
    open_place(&p);
    struct wf_suite *s = expect_loaded(
        &p, "\"datasets\":{\"t\":{\"make\":" RECIPE "},\"unused\":{\"sha256\":"
            "\"0000000000000000000000000000000000000000000000000000000000000000\"}},"
            "\"cases\":[{\"name\":\"a\"," PAGED "},{\"name\":\"b\",\"lse\":true," PAGED
            "}]");
    cr_assert_eq(wf_suite_dataset_count(s), 1);
    const char *sha = wf_suite_dataset(s, 0);
    cr_expect_str_eq(wf_case_dataset(wf_suite_case(s, 0)), sha);
    cr_expect_not_null(strstr(wf_case_canonical(wf_suite_case(s, 0)), sha));
    const struct wf_dataset_resolver r = wf_dataset_store_resolver(p.store);
    const struct wf_dataset *ds = NULL;
    cr_expect_eq(r.find(r.ctx, sha, &ds, NULL), WF_OK);
    wf_suite_free(s);
    close_place(&p);
}

Test(suite, a_recipe_ends_when_its_store_is_told)
{
    const volatile int ended = 1;
    struct place p;
    struct wf_suite *s = NULL;
    struct wf_error err;
    open_place(&p);
    wf_dataset_store_set_cancel(p.store, &ended);
    put(&p, "S.json",
        "{\"schema\":\"wavefarm.suite/1\",\"name\":\"S\",\"description\":\"d\","
        "\"datasets\":{\"t\":{\"make\":" RECIPE "}},\"cases\":[{\"name\":\"a\"," PAGED
        "}]}");
    cr_expect_eq(load(&p, "S", &s, &err), WF_ECANCELLED, "%s", err.text);
    cr_expect_null(s);
    close_place(&p);
}

/* The stated hash is in the store: the recipe (another one) is not even run. */
Test(suite, a_dataset_that_is_there_is_not_made_again)
{
    struct place p;
    open_place(&p);
    struct wf_suite *s = expect_loaded(&p, "\"datasets\":{\"t\":{\"make\":" RECIPE "}},"
                                           "\"cases\":[{\"name\":\"a\"," PAGED "}]");
    char *again = wf_asprintf(
        "\"datasets\":{\"t\":{\"sha256\":\"%s\",\"make\":{\"kind\":\"page-table\","
        "\"trace\":\"/nonexistent\"}}},\"cases\":[{\"name\":\"a\"," PAGED "}]",
        wf_suite_dataset(s, 0));
    struct wf_suite *second = expect_loaded(&p, again);
    cr_expect_str_eq(wf_suite_dataset(second, 0), wf_suite_dataset(s, 0));
    wf_suite_free(second);
    wf_suite_free(s);
    free(again);
    close_place(&p);
}

Test(suite, a_trace_is_looked_for_beside_the_suite_file)
{
    struct place p;
    open_place(&p);
    put(&p, "t.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n");
    struct wf_suite *s = expect_loaded(
        &p,
        "\"datasets\":{\"t\":{\"make\":{\"kind\":\"page-table\",\"trace\":\"t.csv\"}}},"
        "\"cases\":[{\"name\":\"a\"," PAGED "}]");
    wf_suite_free(s);
    close_place(&p);
}

Test(suite, a_path_to_a_file_is_loaded_whatever_its_name)
{
    struct place p;
    struct wf_suite *s = NULL;
    struct wf_error err;
    open_place(&p);
    wf_suite_free(expect_loaded(
        &p, "\"cases\":[{\"name\":\"a\",\"op\":\"gemm\",\"M\":1,\"N\":1,\"K\":1}]"));
    char *from = wf_strdup(temp_dir_file(&p.dir, "S.json"));
    cr_assert_eq(rename(from, temp_dir_file(&p.dir, "other.json")), 0);
    cr_expect_eq(wf_suite_load(p.dir.file, "/nonexistent", p.store, &s, &err), WF_OK,
                 "%s", err.text);
    wf_suite_free(s);
    s = NULL;
    cr_expect_neq(load(&p, "other", &s, &err), WF_OK);
    cr_expect_not_null(strstr(err.text, "it must be the file's name"), "%s", err.text);
    free(from);
    close_place(&p);
}

Test(suite, an_unknown_suite_lists_the_known_ones)
{
    struct place p;
    struct wf_suite *s = NULL;
    struct wf_error err;
    open_place(&p);
    put(&p, "zeta.json", "{}");
    put(&p, "alpha.json", "{}");
    put(&p, "notes.txt", "");
    cr_expect_eq(load(&p, "gamma", &s, &err), WF_ENOTFOUND);
    cr_expect_not_null(strstr(err.text, "\"gamma\"; the suites are: alpha, zeta ("),
                       "%s", err.text);
    cr_expect_eq(load(&p, "../alpha", &s, &err), WF_ENOTFOUND);
    cr_expect_eq(load(&p, "", &s, &err), WF_ENOTFOUND);
    cr_expect_neq(load(&p, "/nonexistent/x.json", &s, &err), WF_OK);
    cr_expect_null(s);
    close_place(&p);
}

Test(suite, wrong_cases_are_refused_with_number_and_name)
{
#define GEMM(name) "{\"name\":\"" name "\",\"op\":\"gemm\",\"M\":1,\"N\":1,\"K\":1"
    expect_refused("\"cases\":[" GEMM("a") "}," GEMM("a") "}]", "as that of case 0");
    expect_refused("\"cases\":[" GEMM("a") "}," GEMM("b") ",\"Q\":1}]",
                   "S.json: case 1 (b): ");
    expect_refused("\"cases\":[" GEMM("a") ",\"Q\":1}]", "Q");
    expect_refused("\"cases\":[{\"name\":\"a\",\"op\":\"gem\"}]", "unknown op \"gem\"");
    expect_refused("\"cases\":[{\"name\":\"a\",\"M\":1}]", "op");
    expect_refused("\"cases\":[{\"op\":\"gemm\"}]", "case 0: member \"name\"");
    expect_refused("\"cases\":[" GEMM("") "}]", "1 to 120 bytes");
    expect_refused("\"cases\":[" GEMM("a\\u001b[31m") "}]", "control character");
    expect_refused("\"cases\":[" GEMM("a\xE2\x80\xAE") "}]", "not shown");
    expect_refused("\"cases\":[7]", "case 0: a case must be an object");
    expect_refused("\"cases\":[" GEMM("a") ",\"known_best\":7}]", "known_best");
    expect_refused(
        "\"cases\":[{\"name\":\"a\",\"op\":\"gemm\",\"M\":-1,\"N\":1,\"K\":1}]", "M");
#undef GEMM
}

Test(suite, wrong_tops_are_refused)
{
#define ONE "\"cases\":[{\"name\":\"a\",\"op\":\"gemm\",\"M\":1,\"N\":1,\"K\":1}]"
    expect_refused("\"cases\":[]", "0 members");
    expect_refused("\"x\":1," ONE, "\"x\"");
    expect_refused("\"x\":1", "x");
    expect_refused("\"cases\":{}", "cases");
    expect_refused(ONE ",\"defaults\":[]", "defaults");
    expect_refused(ONE ",\"datasets\":[]", "datasets");
    expect_refused(ONE ",\"defaults\":{\"name\":\"q\"}", "cannot have \"name\"");
    expect_refused(ONE ",\"defaults\":{\"known_best\":{}}",
                   "cannot have \"known_best\"");
    expect_refused(ONE "," ONE, "cases");
#undef ONE
}

Test(suite, files_that_are_no_suite_are_refused)
{
    static const struct {
        const char *text, *want;
    } bad[] = {
        { "", "S.json" },
        { "[]", "must be a JSON object" },
        { "{\"schema\":\"wavefarm.suite/2\"}", "this program reads" },
        { "{\"schema\":\"wavefarm.suite/1\",\"name\":\"a/b\"}", "letters, digits" },
        { "{\"schema\":\"wavefarm.suite/1\",\"name\":\"S\"}", "description" },
        { "\xef\xbb\xbf{}", "S.json" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct place p;
        struct wf_suite *s = NULL;
        struct wf_error err;
        open_place(&p);
        put(&p, "S.json", bad[i].text);
        cr_expect_neq(load(&p, "S", &s, &err), WF_OK, "%s", bad[i].text);
        cr_expect_not_null(strstr(err.text, bad[i].want), "%s", err.text);
        close_place(&p);
    }
}

Test(suite, wrong_datasets_are_refused)
{
#define CASE  "\"cases\":[{\"name\":\"a\"," PAGED "}]"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
    expect_refused("\"datasets\":{\"u\":{\"make\":" RECIPE "}}," CASE,
                   "has no dataset \"t\"; it has: u");
    expect_refused(CASE, "it has: none");
    expect_refused("\"datasets\":{\"t\":{}}," CASE, "needs \"sha256\"");
    expect_refused("\"datasets\":{\"t\":7}," CASE, "dataset \"t\": must be an object");
    expect_refused("\"datasets\":{\"t\":{\"sha256\":\"abc\"}}," CASE, "64 lower-case");
    expect_refused("\"datasets\":{\"t\":{\"sha256\":\"" ZEROS "\"}}," CASE,
                   "is not in the store");
    expect_refused("\"datasets\":{\"t\":{\"make\":{\"kind\":\"x\"}}}," CASE,
                   "page-table");
    expect_refused("\"datasets\":{\"t\":{\"make\":" RECIPE ",\"x\":1}}," CASE, "\"x\"");
    expect_refused(
        "\"datasets\":{\"t\":{\"make\":" RECIPE ",\"sha256\":\"" ZEROS "\"}}," CASE,
        "S.json: case 0 (a): \"page_table\": dataset \"t\": the recipe gives");
    expect_refused("\"datasets\":{\"t\":{\"make\":{\"kind\":\"page-table\",\"trace\":"
                   "\"absent.csv\"}}}," CASE,
                   "absent.csv");
#undef CASE
#undef ZEROS
}

Test(suite, a_case_that_needs_a_dataset_needs_a_store)
{
    struct place p;
    struct wf_suite *s = NULL;
    struct wf_error err;
    open_place(&p);
    wf_suite_free(expect_loaded(&p, "\"datasets\":{\"t\":{\"make\":" RECIPE "}},"
                                    "\"cases\":[{\"name\":\"a\"," PAGED "}]"));
    cr_expect_neq(wf_suite_load("S", p.dir.path, NULL, &s, &err), WF_OK);
    cr_expect_not_null(strstr(err.text, "no dataset store"), "%s", err.text);
    close_place(&p);
}

Test(suite, a_list_has_name_description_and_count)
{
    struct place p;
    struct wf_json *list = NULL;
    struct wf_error err;
    open_place(&p);
    wf_suite_free(expect_loaded(
        &p, "\"cases\":[{\"name\":\"a\",\"op\":\"gemm\",\"M\":1,\"N\":1,\"K\":1}]"));
    cr_assert_eq(wf_suite_list(p.dir.path, &list, &err), WF_OK, "%s", err.text);
    struct wf_buf text = WF_BUF_INIT;
    cr_assert_eq(wf_json_write(list, &text, NULL), WF_OK);
    cr_expect_str_eq(wf_buf_cstr(&text),
                     "[{\"name\":\"S\",\"description\":\"d\",\"cases\":1}]");
    wf_buf_free(&text);
    wf_json_free(list);
    put(&p, "broken.json", "{");
    cr_expect_neq(wf_suite_list(p.dir.path, &list, &err), WF_OK);
    cr_expect_not_null(strstr(err.text, "broken.json"), "%s", err.text);
    cr_expect_neq(wf_suite_list("/nonexistent", &list, &err), WF_OK);
    close_place(&p);
}

/* --- how times are asked for --- */

static int64_t measure_i64(const struct wf_suite *suite, size_t i, const char *key)
{
    int64_t v = -1;
    const struct wf_json *m = wf_suite_case_measure(suite, i);
    (void)(m && wf_json_as_i64(wf_json_find(m, key), &v));
    return v;
}

Test(suite, measure_of_the_suite_and_of_a_case)
{
    struct place p;
    open_place(&p);
    struct wf_suite *suite = expect_loaded(
        &p, "\"measure\":{\"ci_target\":0.02,\"budget_ms\":500,\"min_samples\":20},"
            "\"defaults\":{\"op\":\"gemm\"},\"cases\":["
            "{\"name\":\"a\",\"M\":1,\"N\":1,\"K\":1},"
            "{\"name\":\"b\",\"M\":1,\"N\":1,\"K\":1,\"measure\":{\"budget_ms\":9000,"
            "\"cold\":true,\"icache\":\"cold\",\"launches\":5}}]");
    cr_expect_eq(measure_i64(suite, 0, "budget_ms"), 500);
    cr_expect_eq(measure_i64(suite, 1, "budget_ms"), 9000);
    cr_expect_eq(measure_i64(suite, 1, "min_samples"), 20);
    cr_expect_eq(measure_i64(suite, 1, "launches"), 5);
    cr_expect_eq(measure_i64(suite, 0, "launches"), -1);
    cr_expect_str_eq(wf_case_id(wf_suite_case(suite, 0)),
                     wf_case_id(wf_suite_case(suite, 1)),
                     "how a case is timed is no part of its id");
    wf_suite_free(suite);
    suite = expect_loaded(&p, "\"cases\":[{\"name\":\"a\",\"op\":\"gemm\",\"M\":1,"
                              "\"N\":1,\"K\":1}]");
    cr_expect_null(wf_suite_case_measure(suite, 0));
    wf_suite_free(suite);
    close_place(&p);
}

Test(suite, measure_refused)
{
#define ONE "\"cases\":[{\"name\":\"a\",\"op\":\"gemm\",\"M\":1,\"N\":1,\"K\":1"
    expect_refused("\"measure\":{\"ci_target\":1}," ONE "}]", "ci_target");
    expect_refused("\"measure\":{\"budget\":1}," ONE "}]", "budget");
    expect_refused("\"measure\":3," ONE "}]", "measure");
    expect_refused(ONE ",\"measure\":{\"launches\":1}}]", "case 0 (a)");
    expect_refused(ONE ",\"measure\":{\"icache\":\"warm\"}}]", "hot or cold");
    expect_refused("\"measure\":{\"max_samples\":50}," ONE
                   ",\"measure\":{\"min_samples\":60}}]",
                   "min_samples is 60");
    expect_refused("\"defaults\":{\"measure\":{}}," ONE "}]", "beside");
#undef ONE
}
