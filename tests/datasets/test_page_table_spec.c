/* Recipes: defaults, every member, and refusals that name the member. */
#include "datasets/page_table.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum wf_status parse(const char *text,
                            struct wf_page_table_spec *ret,
                            struct wf_error *err)
{
    struct wf_json *json = NULL;
    cr_assert_eq(wf_json_parse(text, strlen(text), "recipe", &json, err), WF_OK);
    enum wf_status st = wf_page_table_spec_parse(json, NULL, ret, err);
    wf_json_free(json);
    return st;
}

static void expect_refused(const char *members, const char *text)
{
    struct wf_page_table_spec s;
    struct wf_error err;
    char *json = wf_asprintf("{\"kind\":\"page-table\",%s}", members);
    cr_expect_neq(parse(json, &s, &err), WF_OK, "accepted %s", json);
    cr_expect_not_null(strstr(err.text, text), "\"%s\" not in: %s", text, err.text);
    free(json);
}

Test(page_table_spec, members_that_are_not_given_have_defaults)
{
    struct wf_page_table_spec s, d;
    struct wf_error err;
    wf_page_table_spec_default(&d);
    cr_assert_eq(parse("{\"kind\":\"page-table\",\"synthetic\":true}", &s, &err), WF_OK,
                 "%s", err.text);
    cr_expect_eq(s.batch, 256);
    cr_expect_eq(s.page_size, 16);
    cr_expect_eq(s.step, WF_PAGE_TABLE_LARGEST);
    cr_expect_eq(s.mode, WF_PAGE_TABLE_DECODE);
    cr_expect_eq(memcmp(&s, &d, sizeof s), 0);
}

Test(page_table_spec, members_are_read)
{
    struct wf_page_table_spec s;
    struct wf_error err;
    cr_assert_eq(parse("{\"kind\":\"page-table\",\"synthetic\":true,\"requests\":9,"
                       "\"mean_prompt\":10,\"mean_output\":2.5,\"spread\":0,"
                       "\"rate_per_s\":1e3,\"prefix_share\":1,\"prefix_tokens\":7,"
                       "\"prefix_groups\":3,\"batch\":4,\"page_size\":480,"
                       "\"num_pages\":77,\"seed\":9223372036854775807,\"step\":0,"
                       "\"mode\":\"extend\",\"free_order\":\"random\",\"step_ms\":0.5,"
                       "\"time_scale\":2}",
                       &s, &err),
                 WF_OK, "%s", err.text);
    cr_expect_eq(s.requests, 9);
    cr_expect_eq(s.mean_output, 2.5);
    cr_expect_eq(s.page_size, 480);
    cr_expect_eq(s.num_pages, 77);
    cr_expect_eq(s.seed, INT64_MAX);
    cr_expect_eq(s.step, 0);
    cr_expect_eq(s.mode, WF_PAGE_TABLE_EXTEND);
    cr_expect_eq(s.free_order, WF_FREE_RANDOM);
    cr_expect_eq(s.time_scale, 2);
    cr_expect_eq(s.prefix_groups, 3);
}

Test(page_table_spec, wrong_recipes_are_refused_with_the_member)
{
    expect_refused("\"x\":1", "\"x\"");
    expect_refused("\"batch\":4", "either \"trace\"");
    expect_refused("\"synthetic\":false", "either \"trace\"");
    expect_refused("\"synthetic\":true,\"trace\":\"t\"", "either \"trace\"");
    expect_refused("\"trace\":\"t\",\"mean_prompt\":3",
                   "\"mean_prompt\" is for synthetic");
    expect_refused("\"trace\":\"t\",\"trace_sha256\":\"abc\"", "trace_sha256");
    expect_refused("\"synthetic\":true,\"trace_sha256\":\"abc\"", "trace_sha256");
    expect_refused("\"synthetic\":true,\"mode\":\"best\"", "decode, extend, prefill");
    expect_refused("\"synthetic\":true,\"free_order\":\"fifo\"", "lifo, random");
    expect_refused("\"synthetic\":true,\"batch\":0", "batch");
    expect_refused("\"synthetic\":true,\"batch\":65537", "batch");
    expect_refused("\"synthetic\":true,\"batch\":1.5", "batch");
    expect_refused("\"synthetic\":true,\"page_size\":0", "page_size");
    expect_refused("\"synthetic\":true,\"num_pages\":-1", "num_pages");
    expect_refused("\"synthetic\":true,\"num_pages\":1", "page 0 is never used");
    expect_refused("\"synthetic\":true,\"num_pages\":2147483648", "num_pages");
    expect_refused("\"synthetic\":true,\"step\":-2", "step");
    expect_refused("\"synthetic\":true,\"seed\":-1", "seed");
    expect_refused("\"synthetic\":true,\"mean_prompt\":0.5", "\"mean_prompt\" is 0.5");
    expect_refused("\"synthetic\":true,\"mean_prompt\":\"nan\"", "mean_prompt");
    expect_refused("\"synthetic\":true,\"rate_per_s\":0", "rate_per_s");
    expect_refused("\"synthetic\":true,\"rate_per_s\":\"inf\"", "rate_per_s");
    expect_refused("\"synthetic\":true,\"prefix_share\":1.01", "prefix_share");
    expect_refused("\"synthetic\":true,\"spread\":-1", "spread");
    expect_refused("\"synthetic\":true,\"time_scale\":-1", "time_scale");
    expect_refused("\"synthetic\":\"yes\"", "synthetic");
}

Test(page_table_spec, another_kind_is_refused)
{
    struct wf_page_table_spec s;
    struct wf_error err;
    cr_expect_neq(parse("{\"kind\":\"routing\"}", &s, &err), WF_OK);
    cr_expect_not_null(strstr(err.text, "known are: page-table"), "%s", err.text);
    cr_expect_neq(parse("{}", &s, &err), WF_OK);
    cr_expect_neq(parse("[]", &s, &err), WF_OK);
}

Test(page_table_spec, a_spec_filled_by_hand_is_checked_too)
{
    struct wf_page_table_spec s;
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error err;
    wf_page_table_spec_default(&s);
    s.page_size = 0;
    cr_expect_eq(wf_page_table_make(&s, &out, NULL, &err), WF_EINVAL);
    cr_expect_not_null(strstr(err.text, "\"page_size\" is 0"), "%s", err.text);
    wf_page_table_spec_default(&s);
    s.spread = NAN;
    cr_expect_eq(wf_page_table_make(&s, &out, NULL, &err), WF_EINVAL);
}
