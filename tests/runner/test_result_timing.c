/* The "timing" member of a result over few, failed and no samples. */
#include "core/json.h"
#include "runner/result.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct wf_json *timing_of(const double *ns, size_t n)
{
    struct result_sample sample[4];
    struct wf_json *json = NULL;
    struct wf_error err = { 0 };
    memset(sample, 0, sizeof(sample));
    for (size_t i = 0; i < n; i++) {
        sample[i].ns = ns[i];
    }
    const struct result_timing t = { .source = "device-events",
                                     .launches_per_sample = 1,
                                     .sample = sample,
                                     .count = n,
                                     .host_ratio = (double)NAN };
    cr_assert_eq(result_timing_to_json(&t, &json, &err), WF_OK, "%s", err.text);
    return json;
}

/* As a strict reader sees it: no bare nan, no inf, no number that stands for none. */
static void expect_strict(const struct wf_json *json)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *back = NULL;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_json_write(json, &text, NULL), WF_OK);
    cr_expect_eq(wf_json_parse(text.data, text.len, "timing", &back, &err), WF_OK, "%s",
                 err.text);
    cr_expect_null(strstr(text.data, ":nan"));
    cr_expect_null(strstr(text.data, "inf"));
    cr_expect_null(strstr(text.data, "92233720368"));
    wf_json_free(back);
    wf_buf_free(&text);
}

static void expect_null(const struct wf_json *json, const char *key)
{
    const struct wf_json *v = wf_json_find(json, key);
    cr_expect(v && wf_json_type(v) == WF_JSON_NULL, "%s is not null", key);
}

Test(result_timing, a78_figures_of_no_sample_are_null)
{
    static const char *const ALL[] = { "median", "mean",  "min", "max",
                                       "mad",    "p01",   "p99", "drift",
                                       "ci_lo",  "ci_hi", "q1",  "autocorrelation" };
    static const char *const SPREAD[] = { "mad", "ci_lo", "ci_hi", "p01", "drift" };
    const double one = 12.5;
    struct wf_json *json = timing_of(NULL, 0);
    expect_strict(json);
    cr_expect_eq(wf_json_count(wf_json_find(json, "samples")), 0u);
    for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++) {
        expect_null(json, ALL[i]);
    }
    wf_json_free(json);
    json = timing_of(&one, 1);
    expect_strict(json);
    for (size_t i = 0; i < sizeof(SPREAD) / sizeof(SPREAD[0]); i++) {
        expect_null(json, SPREAD[i]);
    }
    double median = 0;
    cr_expect(wf_json_as_f64(wf_json_find(json, "median"), &median) && median == 12.5);
    wf_json_free(json);
}

/* One iteration failed: the two good ones count, and all three are kept. */
Test(result_timing, a61_a_failed_sample_does_not_discard_the_others)
{
    const double ns[] = { 12.1, (double)NAN, 12.3 };
    struct wf_json *json = timing_of(ns, 3);
    double median = 0, at = 0;
    const struct wf_json *invalid = wf_json_find(json, "invalid");
    cr_expect_eq(wf_json_count(wf_json_find(json, "samples")), 3u);
    cr_assert_eq(wf_json_count(invalid), 1u);
    cr_expect(wf_json_as_f64(wf_json_at(invalid, 0), &at) && at == 1.0);
    cr_expect(wf_json_as_f64(wf_json_find(json, "median"), &median));
    cr_expect_float_eq(median, 12.2, 1e-12);
    cr_expect_str_eq(wf_json_string(wf_json_find(json, "unit")), "ns");
    wf_json_free(json);
}
