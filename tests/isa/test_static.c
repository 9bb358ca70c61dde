/* The static gate: directions, thresholds, what is missing, counters, determinism. */
#include "core/buf.h"
#include "gate/static.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIGURE(k, n, v, w)                                                       \
    {                                                                            \
        .kernel = (k), .symbol = "", .case_name = "", .name = (n), .value = (v), \
        .worse = (w)                                                             \
    }
#define UNKNOWN ((double)NAN)

static struct wf_json *parse(const char *text)
{
    struct wf_json *v = NULL;
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_json_parse(text, strlen(text), "test", &v, &err), WF_OK, "%s",
                 err.text);
    return v;
}

static struct wf_json *compare(const char *policy,
                               const struct wf_static_figure *base,
                               size_t nb,
                               const struct wf_static_figure *cand,
                               size_t nc)
{
    struct wf_json *json = policy != NULL ? parse(policy) : NULL;
    struct wf_json *line = NULL;
    struct wf_static_rules *rules = NULL;
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_static_rules_create(json, &rules, &err), WF_OK, "%s", err.text);
    wf_json_free(json); /* the rules have their own */
    cr_assert_eq(wf_static_compare(rules, base, nb, cand, nc, &line, &err), WF_OK, "%s",
                 err.text);
    wf_static_rules_free(rules);
    return line;
}

/* One figure from `a` to `b`: the line's only entry as text, "" where there is none. */
static void expect_one(const char *policy,
                       const char *name,
                       int worse,
                       double a,
                       double b,
                       const char *want)
{
    struct wf_static_figure base[] = { FIGURE("gemm", name, a, worse) };
    struct wf_static_figure cand[] = { FIGURE("gemm", name, b, worse) };
    struct wf_json *line = compare(policy, base, 1, cand, 1);
    const struct wf_json *entries = wf_json_find(line, "entries");
    char text[256] = "";
    if (wf_json_count(entries) > 0) {
        wf_static_entry_text(wf_json_at(entries, 0), text, sizeof(text));
    }
    cr_expect_str_eq(text, want);
    cr_expect_eq(wf_static_is_red(line), strncmp(want, "red", 3) == 0);
    wf_json_free(line);
}

Test(static_gate, spills_and_scratch_are_red)
{
    expect_one(NULL, "vgpr_spills", 1, 0, 1,
               "red: gemm  vgpr_spills 0 -> 1 (limit 0): registers are spilled");
    expect_one(NULL, "scratch_bytes", 1, 16, 20,
               "red: gemm  scratch_bytes 16 -> 20 (limit 16): scratch memory is used");
    expect_one(NULL, "hot_scratch", 1, 0, 1,
               "red: gemm  hot_scratch 0 -> 1 (limit 0): the hot loop goes to scratch "
               "memory");
    expect_one(NULL, "vgpr_spills", 1, 4, 0,
               "better: gemm  vgpr_spills 4 -> 0 (limit 4)");
    expect_one(NULL, "vgpr_spills", 1, 4, 4, "");
}

Test(static_gate, the_rest_is_told_and_not_red)
{
    expect_one(
        NULL, "waves_per_simd", -1, 4, 3,
        "worse: gemm  waves_per_simd 4 -> 3 (limit 4): fewer waves are resident");
    expect_one(NULL, "waves_per_simd", -1, 3, 4,
               "better: gemm  waves_per_simd 3 -> 4 (limit 3)");
    expect_one(NULL, "mca_nowait", -1, 97, 92.5, "");
    expect_one(
        NULL, "mca_nowait", -1, 97, 91.5,
        "worse: gemm  mca_nowait 97 -> 91.5 (limit 92): llvm-mca sees the matrix "
        "unit work less");
    expect_one(NULL, "executed.valu", 1, 1000, 1030, "");
    expect_one(
        NULL, "executed.valu", 1, 1000, 1031,
        "worse: gemm  executed.valu 1000 -> 1031 (limit 1030): more is executed");
    expect_one(NULL, "executed.valu", 1, 0, 1,
               "worse: gemm  executed.valu 0 -> 1 (limit 0): more is executed");
}

/* Both limits must be exceeded: small code may grow by a kilobyte, large by a tenth. */
Test(static_gate, the_wider_of_two_limits_counts)
{
    expect_one(NULL, "code_bytes", 1, 2000, 3000, "");
    expect_one(NULL, "code_bytes", 1, 2000, 3025,
               "worse: gemm  code_bytes 2000 -> 3025 (limit 3024): there is more code");
    expect_one(NULL, "code_bytes", 1, 40000, 44000, "");
    expect_one(
        NULL, "code_bytes", 1, 40000, 44001,
        "worse: gemm  code_bytes 40000 -> 44001 (limit 44000): there is more code");
}

Test(static_gate, figures_without_direction_need_a_rule)
{
    expect_one(NULL, "vgprs", 0, 100, 200, "");
    expect_one(
        "{\"rules\": [{\"figure\": \"vgprs\", \"most_increase\": 8, \"red\": true}]}",
        "vgprs", 0, 100, 109, "red: gemm  vgprs 100 -> 109 (limit 108)");
}

Test(static_gate, the_policy_goes_before_the_defaults)
{
    expect_one("{\"rules\": [{\"figure\": \"vgpr_spills\", \"most_increase\": 8}]}",
               "vgpr_spills", 1, 0, 8, "");
    expect_one(
        "{\"rules\": [{\"figure\": \"mca*\", \"kernel\": \"ge?m\", \"red\": true}]}",
        "mca", -1, 97, 96.5, "red: gemm  mca 97 -> 96.5 (limit 97)");
    expect_one(
        "{\"rules\": [{\"figure\": \"mca*\", \"kernel\": \"attn*\", \"red\": true}]}",
        "mca", -1, 97, 96.5, "");
    expect_one("{\"defaults\": false}", "vgpr_spills", 1, 0, 8, "");
}

Test(static_gate, what_is_not_known_is_told)
{
    expect_one(NULL, "mca", -1, 97, UNKNOWN, "unknown: gemm  mca 97 -> ?: not known");
    expect_one(NULL, "mca", -1, UNKNOWN, 97, "unknown: gemm  mca ? -> 97: not known");
    expect_one(NULL, "mca", -1, UNKNOWN, UNKNOWN, "");
}

Test(static_gate, kernels_of_one_side_are_told_once)
{
    struct wf_static_figure base[] = { FIGURE("old", "vgpr_spills", 0, 1),
                                       FIGURE("old", "mca", 90, -1),
                                       FIGURE("both", "mca", 90, -1) };
    struct wf_static_figure cand[] = { FIGURE("both", "mca", 90, -1),
                                       FIGURE("new", "vgpr_spills", 3, 1),
                                       FIGURE("new", "mca", 90, -1) };
    struct wf_json *line = compare(NULL, base, 3, cand, 3);
    const struct wf_json *entries = wf_json_find(line, "entries");
    char text[256];
    int64_t compared = 0;
    cr_assert_eq(wf_json_count(entries), 2);
    wf_static_entry_text(wf_json_at(entries, 0), text, sizeof(text));
    cr_expect_str_eq(text, "unknown: new  * ? -> ?: only the candidate has it");
    wf_static_entry_text(wf_json_at(entries, 1), text, sizeof(text));
    cr_expect_str_eq(text, "unknown: old  * ? -> ?: only the base has it");
    cr_expect(wf_json_as_i64(wf_json_find(line, "compared"), &compared) &&
              compared == 1);
    cr_expect_eq(wf_static_count(line, "unknown"), 2);
    wf_json_free(line);
}

Test(static_gate, notes_are_told)
{
    struct wf_static_figure cand[] = { FIGURE("gemm", WF_STATIC_NOTE, UNKNOWN, 0) };
    char text[256];
    cand[0].why = "it cannot be read";
    struct wf_json *line = compare(NULL, cand, 1, cand, 1);
    const struct wf_json *entries = wf_json_find(line, "entries");
    cr_assert_eq(wf_json_count(entries), 2);
    wf_static_entry_text(wf_json_at(entries, 0), text, sizeof(text));
    cr_expect_str_eq(text, "unknown: gemm  * ? -> ?: it cannot be read");
    cr_expect(!wf_static_is_red(line));
    wf_json_free(line);
}

Test(static_gate, the_same_input_gives_the_same_bytes)
{
    struct wf_static_figure base[] = { FIGURE("a", "mca", 90.1, -1),
                                       FIGURE("a", "code_bytes", 1, 1) };
    struct wf_static_figure cand[] = { FIGURE("a", "code_bytes", 9999, 1),
                                       FIGURE("a", "mca", 70.7, -1) };
    char *text[2] = { NULL, NULL };
    for (int i = 0; i < 2; i++) {
        struct wf_json *line = compare(NULL, base, 2, cand, 2);
        cr_assert_eq(wf_json_text(line, &text[i], NULL), WF_OK);
        wf_json_free(line);
    }
    cr_expect_str_eq(text[0], text[1]);
    cr_expect(strstr(text[0], "code_bytes") < strstr(text[0], "mca"));
    free(text[0]);
    free(text[1]);
}

static void expect_refused(const char *policy, const char *why)
{
    struct wf_json *json = parse(policy);
    struct wf_static_rules *rules = NULL;
    struct wf_error err = { .text = "" };
    cr_expect_neq(wf_static_rules_create(json, &rules, &err), WF_OK, "%s", policy);
    cr_expect(strstr(err.text, why) != NULL, "'%s', wanted '%s'", err.text, why);
    wf_json_free(json);
}

Test(static_gate, wrong_policies_are_refused)
{
    expect_refused("[]", "static is an object");
    expect_refused("{\"rulez\": []}", "rulez");
    expect_refused("{\"rules\": {}}", "static.rules is an array");
    expect_refused("{\"rules\": [1]}", "static.rules[0]");
    expect_refused("{\"rules\": [{\"figure\": \"a\"}, {}]}", "static.rules[1]");
    expect_refused("{\"rules\": [{\"figure\": \"a\", \"most_ratio\": -1}]}",
                   "most_ratio");
    expect_refused("{\"rules\": [{\"figure\": \"a\", \"most_increase\": \"inf\"}]}",
                   "most_increase");
}

/* --- counters --- */

#define LAUNCH(valu, lines)                                          \
    "{\"counters\": {\"instructions\": {\"all\": 9, \"valu\": " valu \
    "}, \"global_lines\": " lines ", \"scratch_bytes\": 0}}"
#define ARM(launches)                                                                            \
    "{\"answer\": \"PASS\", \"result\": {\"details\": {\"emulation\": {\"launches\": [" launches \
    "]}}}}"
#define PAIR(base, cand)                                               \
    "{\"kind\": \"pair\", \"pair\": \"m=1/n=2/gemm\", \"base\": " base \
    ", \"candidate\": " cand "}"

static double value_of(const struct wf_static_figure *f, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(f[i].name, name) == 0) {
            return f[i].value;
        }
    }
    cr_assert_fail("no counter %s", name);
    return 0;
}

Test(static_gate, counters_are_sums_over_launches)
{
    struct wf_static_counters *c = NULL;
    struct wf_json *record = parse(
        PAIR(ARM(LAUNCH("10", "5") ", " LAUNCH("20", "5")), ARM(LAUNCH("31", "11"))));
    struct wf_json *other =
        parse("{\"pair\": \"x/y\", \"base\": null, \"candidate\": {}}");
    size_t nb = 0;
    size_t nc = 0;
    cr_assert_eq(wf_static_counters_create(&c, NULL), WF_OK);
    cr_assert_eq(wf_static_counters_add(c, record, NULL), WF_OK);
    cr_assert_eq(wf_static_counters_add(c, record, NULL), WF_OK); /* no second time */
    cr_assert_eq(wf_static_counters_add(c, other, NULL), WF_OK);
    const struct wf_static_figure *b = wf_static_counters_of(c, 0, &nb);
    const struct wf_static_figure *d = wf_static_counters_of(c, 1, &nc);
    cr_assert(nb > 0 && nb == nc);
    cr_expect_str_eq(b[0].kernel, "gemm");
    cr_expect_str_eq(b[0].case_name, "m=1/n=2");
    cr_expect_float_eq(value_of(b, nb, "executed.valu"), 30, 0);
    cr_expect_float_eq(value_of(d, nc, "executed.valu"), 31, 0);
    cr_expect(isnan(value_of(b, nb, "executed.mfma"))); /* the report does not say */
    struct wf_json *line = compare(NULL, b, nb, d, nc);
    cr_expect_eq(wf_static_count(line, "worse"),
                 2); /* valu by 1 of 30, lines by 1 of 10 */
    cr_expect(!wf_static_is_red(line));
    wf_json_free(line);
    wf_json_free(record);
    wf_json_free(other);
    wf_static_counters_free(c);
}
