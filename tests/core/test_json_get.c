/* Members by key: types, ranges, and errors that name what is wrong. */
#include "core/json.h"

#include <criterion/criterion.h>

#include <stdint.h>
#include <string.h>

static struct wf_json *root;
static struct wf_error err;

static void make(void)
{
    static const char text[] =
        "{\"s\":\"text\",\"i\":42,\"neg\":-1,\"big\":18446744073709551615,\"d\":2.5,\"t\":true,"
        "\"n\":null,\"a\":[1,2],\"o\":{\"M\":16}}";

    cr_assert_eq(wf_json_parse(text, sizeof text - 1, "t", &root, &err), WF_OK);
}

static void drop(void)
{
    wf_json_free(root);
}

TestSuite(json_get, .init = make, .fini = drop);

Test(json_get, members_of_the_right_type_are_returned)
{
    const char *s = NULL;
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;
    bool b = false;
    const struct wf_json *v = NULL;

    cr_assert_eq(wf_json_get_string(root, "s", &s, &err), WF_OK);
    cr_assert_str_eq(s, "text");
    cr_assert_eq(wf_json_get_i64(root, "neg", -1, -1, &i, &err), WF_OK);
    cr_assert_eq(i, -1);
    cr_assert_eq(wf_json_get_u64(root, "big", 0, UINT64_MAX, &u, &err), WF_OK);
    cr_assert_eq(u, UINT64_MAX);
    cr_assert_eq(wf_json_get_f64(root, "d", &d, &err), WF_OK);
    cr_assert_eq(d, 2.5);
    cr_assert_eq(wf_json_get_f64(root, "i", &d, &err), WF_OK, "an integer is a number");
    cr_assert_eq(d, 42.0);
    cr_assert_eq(wf_json_get_bool(root, "t", &b, &err), WF_OK);
    cr_assert(b);
    cr_assert_eq(wf_json_get_array(root, "a", &v, &err), WF_OK);
    cr_assert_eq(wf_json_count(v), 2);
    cr_assert_eq(wf_json_get_object(root, "o", &v, &err), WF_OK);
    cr_assert_eq(wf_json_count(v), 1);
}

Test(json_get, missing_members_are_named)
{
    const struct wf_json *o = wf_json_find(root, "o");
    const char *s = "kept";
    int64_t i = 7;

    cr_assert_eq(wf_json_get_string(root, "x", &s, &err), WF_EINVAL);
    cr_assert_str_eq(err.text, "member \"x\" is missing, a string is required");
    cr_assert_str_eq(s, "kept");
    cr_assert_eq(wf_json_get_i64(o, "N", 0, 9, &i, &err), WF_EINVAL);
    cr_assert_str_eq(err.text,
                     "member \"N\" of \"o\" is missing, an integer is required");
    cr_assert_eq(i, 7);
}

Test(json_get, wrong_types_tell_wanted_and_found)
{
    const char *s = NULL;
    const struct wf_json *v = NULL;
    int64_t i = 7;
    uint64_t u = 7;
    double d = 7;
    bool b = true;

    cr_assert_eq(wf_json_get_string(root, "i", &s, &err), WF_EINVAL);
    cr_assert_str_eq(err.text, "member \"i\" must be a string, found an integer");
    cr_assert_eq(wf_json_get_i64(root, "d", 0, 9, &i, &err), WF_EINVAL);
    cr_assert_str_eq(err.text, "member \"d\" must be an integer, found a number");
    cr_assert_eq(wf_json_get_u64(root, "s", 0, 9, &u, &err), WF_EINVAL);
    cr_assert_eq(wf_json_get_f64(root, "s", &d, &err), WF_EINVAL);
    cr_assert_eq(wf_json_get_f64(root, "n", &d, &err), WF_EINVAL);
    cr_assert_eq(wf_json_get_bool(root, "i", &b, &err), WF_EINVAL);
    cr_assert_eq(wf_json_get_array(root, "o", &v, &err), WF_EINVAL);
    cr_assert_str_eq(err.text, "member \"o\" must be an array, found an object");
    cr_assert_eq(wf_json_get_object(root, "a", &v, &err), WF_EINVAL);
    cr_assert(i == 7 && u == 7 && d == 7 && b && v == NULL && s == NULL);
}

Test(json_get, range_errors_tell_value_and_bounds)
{
    int64_t i = 7;
    uint64_t u = 7;

    cr_assert_eq(wf_json_get_i64(root, "i", 1, 41, &i, &err), WF_ERANGE);
    cr_assert_str_eq(err.text, "member \"i\" is 42, must be from 1 to 41");
    cr_assert_eq(wf_json_get_i64(root, "big", 0, INT64_MAX, &i, &err), WF_ERANGE);
    cr_assert_str_eq(err.text,
                     "member \"big\" is 18446744073709551615, must be from 0 to "
                     "9223372036854775807");
    cr_assert_eq(wf_json_get_u64(root, "neg", 0, 9, &u, &err), WF_ERANGE);
    cr_assert_str_eq(err.text, "member \"neg\" is -1, must be from 0 to 9");
    cr_assert_eq(wf_json_get_u64(root, "i", 43, 99, &u, &err), WF_ERANGE);
    cr_assert(i == 7 && u == 7);
}

Test(json_get, what_is_not_an_object_has_no_members)
{
    const struct wf_json *a = wf_json_find(root, "a");
    int64_t i = 7;

    cr_assert_eq(wf_json_get_i64(a, "x", 0, 9, &i, &err), WF_EINVAL);
    cr_assert_str_eq(err.text,
                     "an object with member \"x\" is required, found an array");
    cr_assert_eq(wf_json_opt_i64(a, "x", 0, 9, &i, &err), WF_EINVAL);
    cr_assert_eq(wf_json_get_i64(NULL, "x", 0, 9, &i, &err), WF_EINVAL);
    cr_assert_null(wf_json_find(a, "x"));
    cr_assert_null(wf_json_find(NULL, "x"));
    cr_assert_null(wf_json_first(NULL));
    cr_assert_null(wf_json_next(NULL));
    cr_assert_null(wf_json_at(NULL, 0));
    cr_assert_null(wf_json_string(a));
    cr_assert_eq(wf_json_count(wf_json_find(root, "s")), 0);
}

Test(json_get, absent_optional_members_leave_the_default)
{
    const char *s = "default";
    int64_t i = 5;
    double d = 0.5;
    bool b = true;

    cr_assert_eq(wf_json_opt_string(root, "x", &s, &err), WF_OK);
    cr_assert_eq(wf_json_opt_i64(root, "x", 0, 1, &i, &err), WF_OK);
    cr_assert_eq(wf_json_opt_f64(root, "x", &d, &err), WF_OK);
    cr_assert_eq(wf_json_opt_bool(root, "x", &b, &err), WF_OK);
    cr_assert(strcmp(s, "default") == 0 && i == 5 && d == 0.5 && b);
}

Test(json_get, present_optional_members_are_checked)
{
    const char *s = "default";
    int64_t i = 5;
    double d = 0.5;
    bool b = true;

    cr_assert_eq(wf_json_opt_string(root, "n", &s, &err), WF_EINVAL,
                 "null is not a string");
    cr_assert_eq(wf_json_opt_string(root, "s", &s, &err), WF_OK);
    cr_assert_str_eq(s, "text");
    cr_assert_eq(wf_json_opt_i64(root, "i", 0, 1, &i, &err), WF_ERANGE);
    cr_assert_eq(wf_json_opt_i64(root, "i", 0, 50, &i, &err), WF_OK);
    cr_assert_eq(i, 42);
    cr_assert_eq(wf_json_opt_f64(root, "a", &d, &err), WF_EINVAL);
    cr_assert_eq(wf_json_opt_bool(root, "s", &b, &err), WF_EINVAL);
}

Test(json_get, unknown_keys_are_named_with_a_near_one)
{
    static const char *const all[] = { "s", "i", "neg", "big", "d",
                                       "t", "n", "a",   "o",   NULL };
    static const char *const some[] = { "head_dim", "num_heads", "M", NULL };
    struct wf_json *v = NULL;

    cr_assert_eq(wf_json_only_keys(root, all, &err), WF_OK);
    cr_assert_eq(wf_json_parse("{\"M\":1,\"heads_dim\":2}", 21, "t", &v, &err), WF_OK);
    cr_assert_eq(wf_json_only_keys(v, some, &err), WF_EINVAL);
    cr_assert_str_eq(err.text,
                     "unknown member \"heads_dim\", did you mean \"head_dim\"?");
    wf_json_free(v);
    cr_assert_eq(wf_json_parse("{\"color\":1}", 11, "t", &v, &err), WF_OK);
    cr_assert_eq(wf_json_only_keys(v, some, &err), WF_EINVAL);
    cr_assert_str_eq(err.text, "unknown member \"color\"");
    wf_json_free(v);
    cr_assert_eq(wf_json_only_keys(wf_json_find(root, "a"), some, &err), WF_EINVAL);
}

Test(json_get, type_names_are_words_for_a_sentence)
{
    cr_assert_str_eq(wf_json_type_name(WF_JSON_NULL), "null");
    cr_assert_str_eq(wf_json_type_name(WF_JSON_DOUBLE), "a number");
    cr_assert_str_eq(wf_json_type_name(WF_JSON_OBJECT), "an object");
}
