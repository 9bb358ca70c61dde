/* Selection tables: rows, the model, the nearest row; a kernel that does not do the
 * case is never chosen, whatever the table says. */
#include "core/rng.h"
#include "tune/selection.h"
#include "tune/table.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define KERNEL(name, supports)                                                  \
    "{\"name\":\"" name "\",\"op\":\"gemm\",\"kind\":\"code-object\",\"arch\":" \
    "[\"gfx942\"],\"supports\":\"" supports "\",\"code\":{\"m\":\"k.co\"},"     \
    "\"launches\":[{\"symbol\":\"" name "\",\"grid\":[\"ceil_div(M, 64)\"],"    \
    "\"block\":[64],\"args\":[]}]}"

static const char pack_text[] =
    "{\"schema\":\"wavefarm.pack/1\",\"name\":\"p\",\"files\":{\"k.co\":\""
    "0000000000000000000000000000000000000000000000000000000000000000\"},\"kernels\":[" KERNEL(
        "even",
        "M % 2 == 0") "," KERNEL("small",
                                 "M <= 100") "," KERNEL("odd",
                                                        "M % 2 == 1 && M != 7") "]}";

#define PIPES(v) \
    "{\"mfma\":" v ",\"valu\":0,\"salu\":0,\"lds\":0,\"vmem\":0,\"l1\":0,\"issue\":0}"
#define MODEL(name, fixed)                                                  \
    "{\"name\":\"" name "\",\"models\":[{\"launches\":[{\"symbol\":\"" name \
    "\",\"resident\":1,\"fixed\":" PIPES(fixed) ",\"slope\":" PIPES("1") "}]}]}"

static const char with_models[] =
    "{\"schema\":\"wavefarm.selection/1\",\"op\":\"gemm\",\"arch\":\"gfx942\",\"basis\":"
    "\"modelled\",\"made_from\":[],\"kernels\":[" MODEL("even", "500") "," MODEL(
        "small",
        "100") "," MODEL("odd",
                         "300") ",{\"name\":\"gone\"}],\"rows\":["
                                "{\"name\":\"r8\",\"case\":{\"op\":\"gemm\",\"M\":8,\"N\":4,\"K\":4},\"kernel\":"
                                "\"even\"},{\"name\":\"r7\",\"case\":{\"op\":\"gemm\",\"M\":7,\"N\":4,\"K\":4},"
                                "\"kernel\":\"odd\"},{\"name\":\"r6\",\"case\":{\"op\":\"gemm\",\"M\":6,\"N\":4,"
                                "\"K\":4},\"kernel\":\"gone\"}]}";

struct bench {
    struct wf_pack *pack;
    struct wf_selection *s;
    const struct wf_pack_kernel *offered[3];
    int64_t m;
};

static struct wf_json *json(const char *text)
{
    struct wf_json *v = NULL;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_json_parse(text, strlen(text), "t", &v, &err), WF_OK, "%s",
                 err.text);
    return v;
}

static struct bench open_bench(const char *selection)
{
    struct bench b = { 0 };
    struct wf_error err = { 0 };
    struct wf_json *p = json(pack_text), *s = json(selection);
    cr_assert_eq(wf_pack_parse(p, "p", &b.pack, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_selection_parse(s, &b.s, &err), WF_OK, "%s", err.text);
    for (size_t i = 0; i < 3; i++) {
        b.offered[i] = wf_pack_kernel_at(b.pack, i);
    }
    wf_json_free(p);
    wf_json_free(s);
    return b;
}

static void close_bench(struct bench *b)
{
    wf_selection_free(b->s);
    wf_pack_free(b->pack);
}

static enum wf_status find(const void *ctx,
                           const char *name,
                           struct wf_value *ret,
                           struct wf_error *err)
{
    const struct bench *b = ctx;
    (void)err;
    *ret = (struct wf_value){ .kind = WF_VALUE_INT,
                              .i = strcmp(name, "M") == 0 ? b->m : 4 };
    return WF_OK;
}

static struct wf_selection_choice choose(struct bench *b, int64_t m, const char *more)
{
    char text[200];
    struct wf_selection_choice c;
    struct wf_error err = { 0 };
    const struct wf_scope scope = { .find = find, .ctx = b };
    b->m = m;
    (void)snprintf(text, sizeof(text),
                   "{\"op\":\"gemm\",\"M\":%lld,\"N\":4,\"K\":4,\"seed\":9%s}",
                   (long long)m, more);
    struct wf_json *problem = json(text);
    const struct wf_selection_case sc = { .json = problem,
                                          .scope = &scope,
                                          .arch = "gfx942",
                                          .length = 4,
                                          .bytes = 100,
                                          .cu_count = 304 };
    cr_assert_eq(wf_selection_choose(b->s, &sc, b->offered, 3, &c, &err), WF_OK, "%s",
                 err.text);
    wf_json_free(problem);
    return c;
}

Test(selection, rows_then_models)
{
    struct bench b = open_bench(with_models);
    struct wf_selection_choice c = choose(&b, 8, "");
    cr_expect(c.kernel == 0 && c.way == WF_SELECTION_ROW);
    c = choose(&b, 6, ""); /* the row's kernel is in no pack */
    cr_expect(c.kernel == 1 && c.way == WF_SELECTION_MODEL);
    c = choose(&b, 7, ""); /* the row's kernel does not do the case */
    cr_expect(c.kernel == 1 && c.way == WF_SELECTION_MODEL);
    c = choose(&b, 8, ",\"beta\":1"); /* another case than the row's */
    cr_expect(c.kernel == 1 && c.way == WF_SELECTION_MODEL);
    c = choose(&b, 102, "");
    cr_expect(c.kernel == 0 && isfinite(c.cycles));
    close_bench(&b);
}

Test(selection, the_nearest_row_where_no_model_is)
{
    struct bench b = open_bench(
        "{\"schema\":\"wavefarm.selection/1\",\"op\":\"gemm\",\"arch\":\"gfx942\","
        "\"basis\":\"measured\",\"made_from\":[],\"kernels\":[{\"name\":\"even\"},"
        "{\"name\":\"small\"}],\"rows\":[{\"name\":\"r1\",\"case\":{\"op\":\"gemm\","
        "\"M\":1000,\"N\":4,\"K\":4},\"kernel\":\"even\"},{\"name\":\"r2\",\"case\":"
        "{\"op\":\"gemm\",\"M\":10,\"N\":4,\"K\":4},\"kernel\":\"small\"}]}");
    struct wf_selection_choice c = choose(&b, 500, "");
    cr_expect(c.kernel == 0 && c.way == WF_SELECTION_NEAREST);
    c = choose(&b, 20, "");
    cr_expect(c.kernel == 1 && c.way == WF_SELECTION_NEAREST);
    c = choose(&b, 501, ""); /* even cannot, small cannot */
    cr_expect(c.kernel == 3 && c.way == WF_SELECTION_NONE);
    cr_expect(strstr(c.why, "none of the selection's 2 kernels") != NULL, "%s", c.why);
    c = choose(&b, 500, ",\"a_type\":\"bf16\""); /* no row of this class */
    cr_expect_eq(c.kernel, 3);
    close_bench(&b);
}

/* Checked by hand-written conditions, not by the code that chooses. */
Test(selection, what_is_chosen_does_the_case)
{
    struct bench b = open_bench(with_models);
    for (uint64_t i = 0; i < 2000; i++) {
        const int64_t m = 1 + (int64_t)wf_rng_below(5, 1, i, i % 2 ? 12 : 400);
        const struct wf_selection_choice c = choose(&b, m, "");
        const bool does[3] = { m % 2 == 0, m <= 100, m % 2 == 1 && m != 7 };
        cr_assert(c.kernel == 3 ? !does[0] && !does[1] && !does[2] : does[c.kernel],
                  "M = %lld got kernel %zu", (long long)m, c.kernel);
    }
    close_bench(&b);
}

static const char tuned[] =
    "{\"schema\":\"wavefarm.tuning/1\",\"op\":\"gemm\",\"arch\":\"gfx942\",\"basis\":\"%s\","
    "\"suite\":\"s\",\"seed\":1,\"margin\":0.005,\"alpha\":0.01,\"steps\":[],"
    "\"provenance\":{\"created\":\"x\"},\"cases\":[{\"name\":\"c\",\"id\":\"i\",\"case\":"
    "{\"op\":\"gemm\",\"M\":8,\"N\":4,\"K\":4,\"seed\":3},\"winner\":%d,\"gates\":[%s],"
    "\"candidates\":[{\"kernel\":\"even\",\"pack\":\""
    "0000000000000000000000000000000000000000000000000000000000000000\",\"knobs\":{},"
    "\"rank\":0,\"incumbent\":true,\"cycles\":1000},{\"kernel\":\"small\",\"pack\":\""
    "0000000000000000000000000000000000000000000000000000000000000000\",\"knobs\":{},"
    "\"rank\":1,\"cycles\":900}]}]}";

static struct wf_json *table(const char *basis, int winner, const char *gates)
{
    char text[2000];
    (void)snprintf(text, sizeof(text), tuned, basis, winner, gates);
    return json(text);
}

Test(selection, measured_winners_go_before_modelled_ones)
{
    struct wf_json *t[2] = { table("measured", 0, ""), table("modelled", 1, "") };
    const char *const sha[2] = { "a", "b" };
    struct wf_json *made = NULL;
    struct wf_selection *s = NULL;
    struct wf_error err = { 0 };
    cr_assert_eq(
        wf_selection_make((const struct wf_json *const *)t, sha, 2, "d", &made, &err),
        WF_OK, "%s", err.text);
    cr_assert_eq(wf_selection_parse(made, &s, &err), WF_OK, "%s", err.text);
    cr_expect_eq(wf_selection_row_count(s), 1);
    cr_expect_str_eq(wf_json_string(wf_json_find(
                         wf_json_at(wf_json_find(made, "rows"), 0), "kernel")),
                     "even");
    cr_expect_str_eq(wf_selection_basis(s), "mixed");
    wf_selection_free(s);
    wf_json_free(made);
    wf_json_free(t[0]);
    wf_json_free(t[1]);
}

static void ignore(void *ctx, const char *line)
{
    (void)ctx;
    (void)line;
}

static size_t differences(struct wf_json *t)
{
    size_t n = 0;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_tuning_replay(t, NULL, ignore, NULL, &n, &err), WF_OK, "%s",
                 err.text);
    wf_json_free(t);
    return n;
}

#define GATE(a, b, alpha, outcome)                              \
    "{\"champion\":" a ",\"challenger\":" b ",\"alpha\":" alpha \
    ",\"outcome\":\"" outcome "\",\"record\":\"\",\"sha256\":\"\"}"

Test(table, the_evidence_decides)
{
    cr_expect_eq(differences(table("modelled", 1, "")), 0);
    cr_expect_gt(differences(table("modelled", 0, "")), 0);
    cr_expect_eq(differences(table("measured", 1, GATE("0", "1", "0.01", "faster"))),
                 0);
    cr_expect_gt(differences(table("measured", 0, GATE("0", "1", "0.01", "faster"))),
                 0);
    cr_expect_eq(
        differences(table("measured", 0, GATE("0", "1", "0.01", "not-faster"))), 0);
    /* a gate at a larger error rate than was promised, and one that was not due */
    cr_expect_gt(differences(table("measured", 1, GATE("0", "1", "0.05", "faster"))),
                 0);
    cr_expect_gt(
        differences(table("measured", 0, GATE("1", "0", "0.01", "not-faster"))), 0);
}
