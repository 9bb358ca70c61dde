/* Knob spaces: numbers of points, conditions, recorded facts, strictness. */
#include "tune/space.h"

#include <criterion/criterion.h>
#include <string.h>

static const char entry[] =
    "{\"schema\":\"wavefarm.kernel-entry/1\",\"op\":\"gemm\",\"knobs\":{\"TILE\":128,"
    "\"WAVES\":4,\"OTHER\":7,\"TEXT\":\"'f16'\"},\"variants\":[{\"name\":\"a\"},"
    "{\"name\":\"b\",\"knobs\":{\"TILE\":64,\"OTHER\":9}}]}";
#define HEAD \
    "{\"schema\":\"wavefarm.knob-space/1\",\"op\":\"gemm\",\"entry\":\"k/e.json\","
#define BASES "\"bases\":[{\"variant\":\"a\",\"when\":\"M > 10\"},{\"variant\":\"b\"}],"
#define KNOBS "\"knobs\":{\"TILE\":[64,128,256],\"WAVES\":[4,8]}"

static struct wf_json *json(const char *text)
{
    struct wf_json *v = NULL;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_json_parse(text, strlen(text), "t", &v, &err), WF_OK, "%s",
                 err.text);
    return v;
}

static enum wf_status parse(const char *text,
                            struct wf_space **ret,
                            struct wf_error *err)
{
    struct wf_json *s = json(text), *e = json(entry);
    const enum wf_status st = wf_space_parse(s, e, ret, err);
    wf_json_free(s);
    wf_json_free(e);
    return st;
}

static enum wf_status find(const void *ctx,
                           const char *name,
                           struct wf_value *ret,
                           struct wf_error *err)
{
    (void)err;
    if (strcmp(name, "M") != 0) {
        return WF_ENOTFOUND;
    }
    *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = *(const int64_t *)ctx };
    return WF_OK;
}

static struct wf_scope scope_of(const int64_t *m)
{
    return (struct wf_scope){ .find = find, .ctx = m };
}

Test(space, points_have_numbers_values_and_a_place_for_what_is_there)
{
    struct wf_space *s = NULL;
    int64_t v[WF_SPACE_KNOBS], m = 11;
    bool found = false;
    size_t base = 9;
    cr_assert_eq(parse(HEAD BASES KNOBS "}", &s, NULL), WF_OK);
    cr_expect_eq(wf_space_count(s), 6);
    wf_space_values(s, 3, v);
    cr_expect(v[0] == 128 && v[1] == 8);
    cr_expect_eq(wf_space_rank(s, 3), 2);
    wf_space_values(s, wf_space_incumbent(s, 0), v);
    cr_expect(v[0] == 128 && v[1] == 4);
    wf_space_values(s, wf_space_incumbent(s, 1), v); /* the variant's own value */
    cr_expect(v[0] == 64 && v[1] == 4);
    struct wf_scope scope = scope_of(&m);
    cr_assert_eq(wf_space_base_of(s, &scope, &found, &base, NULL), WF_OK);
    cr_expect(found && base == 0);
    m = 3;
    cr_assert_eq(wf_space_base_of(s, &scope, &found, &base, NULL), WF_OK);
    cr_expect(found && base == 1);
    wf_space_free(s);
}

Test(space, conditions_see_knobs_values_the_base_and_the_case)
{
    struct wf_space *s = NULL;
    const char *why = NULL;
    int64_t m = 100;
    bool good = false;
    struct wf_scope scope = scope_of(&m);
    cr_assert_eq(
        parse(HEAD BASES KNOBS
              ",\"values\":{\"SIZE\":\"TILE * WAVES\",\"TWICE\":\"2 * SIZE\"},"
              "\"conditions\":[{\"needs\":\"TWICE <= 1024\",\"why\":\"large\"},"
              "{\"needs\":\"OTHER == 9 || TILE <= M\",\"why\":\"high\"}]}",
              &s, NULL),
        WF_OK);
    cr_assert_eq(wf_space_allows(s, 0, 0, &scope, &good, &why, NULL), WF_OK);
    cr_expect(good);
    cr_assert_eq(wf_space_allows(s, 0, 2, &scope, &good, &why, NULL), WF_OK);
    cr_expect(!good && strcmp(why, "high") == 0);
    cr_assert_eq(wf_space_allows(s, 1, 2, &scope, &good, &why, NULL), WF_OK);
    cr_expect(good);
    cr_assert_eq(wf_space_allows(s, 1, 5, &scope, &good, &why, NULL), WF_OK);
    cr_expect(!good && strcmp(why, "large") == 0);
    wf_space_free(s);
}

Test(space, recorded_facts_name_the_nearest_point)
{
    struct wf_space *s = NULL;
    uint64_t at = 0;
    int64_t v[WF_SPACE_KNOBS];
    struct wf_json *facts = json("{\"TILE\":320,\"waves_n\":2}"),
                   *none = json("{\"x\":1}");
    cr_assert_eq(parse(HEAD BASES KNOBS "}", &s, NULL), WF_OK);
    cr_assert(wf_space_nearest(s, 0, facts, &at));
    wf_space_values(s, at, v);
    cr_expect(v[0] == 256 && v[1] == 4);
    cr_expect(!wf_space_nearest(s, 0, none, &at));
    cr_expect(!wf_space_nearest(s, 0, NULL, &at));
    wf_json_free(facts);
    wf_json_free(none);
    wf_space_free(s);
}

Test(space, ids_tell_points_and_bases_apart)
{
    struct wf_space *s = NULL;
    char a[13], b[13], c[13];
    cr_assert_eq(parse(HEAD BASES KNOBS "}", &s, NULL), WF_OK);
    wf_space_point_id(s, 0, 1, a);
    wf_space_point_id(s, 0, 2, b);
    wf_space_point_id(s, 1, 1, c);
    cr_expect(strcmp(a, b) != 0 && strcmp(a, c) != 0);
    wf_space_free(s);
}

/* X(text, in the error) */
#define WRONG(X)                                                                            \
    X(HEAD BASES "\"knobs\":{}}", "none")                                                   \
    X(HEAD BASES "\"knobs\":{\"TILE\":[]}}", "simplest first")                              \
    X(HEAD BASES "\"knobs\":{\"TILE\":[64.5]}}", "whole numbers")                           \
    X(HEAD BASES "\"knobs\":{\"TILE\":[64,64]}}", "twice")                                  \
    X(HEAD BASES "\"knobs\":{\"TILE\":[64,256]}}", "its own TILE is 128")                   \
    X(HEAD BASES "\"knobs\":{\"NEW\":[1]}}", "no number NEW")                               \
    X(HEAD "\"bases\":[]," KNOBS "}", "bases")                                              \
    X(HEAD "\"bases\":[{\"variant\":\"z\"}]," KNOBS "}", "no variant z")                    \
    X(HEAD BASES KNOBS ",\"conditions\":[{\"needs\":\"TILE +\",\"why\":\"w\"}]}",           \
      "conditions[0]")                                                                      \
    X(HEAD BASES KNOBS ",\"conditions\":[{\"why\":\"w\"}]}", "needs")                       \
    X(HEAD BASES KNOBS ",\"values\":{\"TILE\":\"1\"}}", "a knob already")                   \
    X(HEAD BASES KNOBS ",\"limits\":[{\"figure\":\"mca\"}]}", "least or most")              \
    X(HEAD BASES KNOBS ",\"dominance\":{\"figures\":[],\"among\":[\"X\"]}}",                \
      "no knob")                                                                            \
    X(HEAD BASES KNOBS ",\"condition\":[]}", "condition")                                   \
    X("{\"schema\":\"wavefarm.knob-space/2\"}", "schema")                                   \
    X("{\"schema\":\"wavefarm.knob-space/1\",\"op\":\"gemm\",\"entry\":\"../e\"}",          \
      "entry")                                                                              \
    X("{\"schema\":\"wavefarm.knob-space/1\",\"op\":\"conv\",\"entry\":\"k/e.json\"," BASES \
          KNOBS "}",                                                                        \
      "conv")                                                                               \
    X("[]", "object")

Test(space, what_is_wrong_is_told)
{
    static const char *const wrong[][2] = {
#define X(text, part) { text, part },
        WRONG(X)
#undef X
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct wf_space *s = NULL;
        struct wf_error err = { 0 };
        cr_expect_neq(parse(wrong[i][0], &s, &err), WF_OK, "%s", wrong[i][0]);
        cr_expect(strstr(err.text, wrong[i][1]) != NULL, "'%s' is not in '%s'",
                  wrong[i][1], err.text);
    }
}
