/* Building and writing JSON: round trips, the canonical form, ownership. */
#include "core/json.h"

#include <criterion/criterion.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct wf_json *read_text(const char *text)
{
    struct wf_json *v = NULL;
    struct wf_error err;

    cr_assert_eq(wf_json_parse(text, strlen(text), "t", &v, &err), WF_OK, "%s: %s",
                 text, err.text);
    return v;
}

static void expect_line(const struct wf_json *v, const char *expected)
{
    struct wf_buf out = WF_BUF_INIT;

    cr_assert_eq(wf_json_write(v, &out, NULL), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&out), expected);
    wf_buf_free(&out);
}

static void expect_canonical(const char *text, const char *expected)
{
    struct wf_json *v = read_text(text);
    struct wf_buf out = WF_BUF_INIT;

    cr_assert_eq(wf_json_write_canonical(v, &out, NULL), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&out), expected);
    wf_buf_free(&out);
    wf_json_free(v);
}

Test(json_write, text_survives_a_round_trip)
{
    static const char text[] =
        "{\"z\":null,\"a\":[true,false,-1,0,18446744073709551615,-9223372036854775808,"
        "9007199254740993,0.1,-2.5e-07,\"\\\"\\\\\\n\\u0001\xC3\xA4\"],\"\":{\"k\":{}},\"e\":[]}";
    struct wf_json *v = read_text(text);

    expect_line(v, text);
    wf_json_free(v);
}

/* A77: 1234567890123460 must not become 1.23456789012346e+15. */
Test(json_write, a77_sixteen_digit_integers_keep_their_text)
{
    struct wf_json *arr = wf_json_array();
    struct wf_json *back = NULL;
    struct wf_buf expected = WF_BUF_INIT;

    cr_assert_eq(wf_buf_puts(&expected, "[", NULL), WF_OK);
    for (int64_t i = 1234567890123456; i <= 1234567890123471; i++) {
        cr_assert_eq(wf_json_push_i64(arr, i, NULL), WF_OK);
        cr_assert_eq(wf_json_push_f64(arr, (double)i, NULL), WF_OK);
        (void)wf_buf_printf(&expected, NULL, "%s%" PRId64 ",%" PRId64,
                            expected.len == 1 ? "" : ",", i, i);
    }
    cr_assert_eq(wf_buf_puts(&expected, "]", NULL), WF_OK);
    expect_line(arr, wf_buf_cstr(&expected));
    back = read_text(wf_buf_cstr(&expected));
    expect_line(back, wf_buf_cstr(&expected));
    wf_json_free(back);
    wf_json_free(arr);
    wf_buf_free(&expected);
}

Test(json_write, edges_of_the_exact_range)
{
    static const int64_t edges[] = { INT64_MIN,         INT64_MIN + 1,
                                     -9007199254740993, -9007199254740992,
                                     -9007199254740991, 9007199254740991,
                                     9007199254740992,  9007199254740993,
                                     INT64_MAX };
    char expected[32];

    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        struct wf_json *arr = wf_json_array();
        int64_t v = 0;

        cr_assert_eq(wf_json_push_i64(arr, edges[i], NULL), WF_OK);
        (void)snprintf(expected, sizeof expected, "[%" PRId64 "]", edges[i]);
        expect_line(arr, expected);
        cr_assert(wf_json_as_i64(wf_json_first(arr), &v));
        cr_assert_eq(v, edges[i]);
        wf_json_free(arr);
    }
}

Test(json_write, non_finite_numbers_are_named)
{
    struct wf_json *obj = wf_json_object();
    struct wf_json *back;
    double v = 0;

    cr_assert_eq(wf_json_set_f64(obj, "a", (double)NAN, NULL), WF_OK);
    cr_assert_eq(wf_json_set_f64(obj, "b", (double)INFINITY, NULL), WF_OK);
    cr_assert_eq(wf_json_set_f64(obj, "c", -(double)INFINITY, NULL), WF_OK);
    expect_line(obj, "{\"a\":\"nan\",\"b\":\"inf\",\"c\":\"-inf\"}");
    back = read_text("{\"a\":\"nan\",\"b\":\"inf\",\"c\":\"-inf\",\"d\":\"infinite\"}");
    cr_assert_eq(wf_json_get_f64(back, "a", &v, NULL), WF_OK);
    cr_assert(isnan(v));
    cr_assert_eq(wf_json_get_f64(back, "b", &v, NULL), WF_OK);
    cr_assert(isinf(v) && v > 0);
    cr_assert_eq(wf_json_get_f64(back, "c", &v, NULL), WF_OK);
    cr_assert(isinf(v) && v < 0);
    cr_assert_neq(wf_json_get_f64(back, "d", &v, NULL), WF_OK);
    wf_json_free(back);
    wf_json_free(obj);
}

Test(json_write, negative_zero_keeps_its_sign)
{
    struct wf_json *arr = wf_json_array();
    struct wf_json *back;
    double v = 1;

    cr_assert_eq(wf_json_push_f64(arr, -0.0, NULL), WF_OK);
    expect_line(arr, "[-0]");
    back = read_text("[-0]");
    cr_assert(wf_json_as_f64(wf_json_first(back), &v));
    cr_assert(v == 0 && signbit(v));
    wf_json_free(back);
    wf_json_free(arr);
}

Test(json_write, all_setters_write_their_type)
{
    struct wf_json *obj = wf_json_object();
    struct wf_json *child = wf_json_array();
    struct wf_error err;

    cr_assert_eq(wf_json_push_string(child, "x", &err), WF_OK);
    cr_assert_eq(wf_json_push_string(child, NULL, &err), WF_OK);
    cr_assert_eq(wf_json_push_take(child, wf_json_object(), &err), WF_OK);
    cr_assert_eq(wf_json_set_string(obj, "s", "v", &err), WF_OK);
    cr_assert_eq(wf_json_set_string(obj, "n", NULL, &err), WF_OK);
    cr_assert_eq(wf_json_set_u64(obj, "u", UINT64_MAX, &err), WF_OK);
    cr_assert_eq(wf_json_set_i64(obj, "i", -5, &err), WF_OK);
    cr_assert_eq(wf_json_set_f64(obj, "f", 0.5, &err), WF_OK);
    cr_assert_eq(wf_json_set_bool(obj, "b", true, &err), WF_OK);
    cr_assert_eq(wf_json_set_null(obj, "z", &err), WF_OK);
    cr_assert_eq(wf_json_set_copy(obj, "c", child, &err), WF_OK);
    cr_assert_eq(wf_json_set_take(obj, "t", child, &err), WF_OK);
    cr_assert_eq(wf_json_set_parsed(obj, "p", "[1]", &err), WF_OK);
    cr_assert_eq(wf_json_set_parsed(obj, "e", "", &err), WF_OK);
    cr_assert_eq(wf_json_set_parsed(obj, "bad", "[1", &err), WF_EPARSE);
    expect_line(obj,
                "{\"s\":\"v\",\"n\":null,\"u\":18446744073709551615,\"i\":-5,\"f\":0.5,"
                "\"b\":true,\"z\":null,\"c\":[\"x\",null,{}],\"t\":[\"x\",null,{}],"
                "\"p\":[1],\"e\":null}");
    wf_json_free(obj);
}

Test(json_write, setting_again_replaces_in_place)
{
    struct wf_json *obj = read_text("{\"a\":1,\"b\":[1,2],\"c\":3}");

    cr_assert_eq(wf_json_set_string(obj, "b", "new", NULL), WF_OK);
    expect_line(obj, "{\"a\":1,\"b\":\"new\",\"c\":3}");
    cr_assert_eq(wf_json_set_i64(obj, "c", 4, NULL), WF_OK);
    cr_assert_eq(wf_json_set_i64(obj, "a", 0, NULL), WF_OK);
    cr_assert_eq(wf_json_set_i64(obj, "d", 5, NULL), WF_OK);
    expect_line(obj, "{\"a\":0,\"b\":\"new\",\"c\":4,\"d\":5}");
    cr_assert_eq(wf_json_count(obj), 4);
    wf_json_free(obj);
}

Test(json_write, removed_members_are_gone)
{
    struct wf_json *obj = read_text("{\"a\":1,\"b\":2,\"c\":3}");

    wf_json_remove(obj, "b");
    wf_json_remove(obj, "none");
    wf_json_remove(NULL, "a");
    expect_line(obj, "{\"a\":1,\"c\":3}");
    cr_assert_eq(wf_json_count(obj), 2);
    wf_json_remove(obj, "c");
    cr_assert_eq(wf_json_set_i64(obj, "z", 9, NULL), WF_OK);
    expect_line(obj, "{\"a\":1,\"z\":9}");
    wf_json_free(obj);
}

Test(json_write, index_follows_changes)
{
    struct wf_json *arr = wf_json_array();
    struct wf_json *obj = wf_json_object();
    char key[16];
    int64_t v = 0;

    for (int i = 0; i < 100; i++) {
        cr_assert_eq(wf_json_push_i64(arr, i, NULL), WF_OK);
        cr_assert(wf_json_as_i64(wf_json_at(arr, (size_t)i), &v));
        cr_assert_eq(v, i);
        (void)snprintf(key, sizeof key, "k%d", i);
        cr_assert_eq(wf_json_set_i64(obj, key, i, NULL), WF_OK);
    }
    cr_assert_null(wf_json_at(arr, 100));
    cr_assert_str_eq(wf_json_key(wf_json_at(obj, 50)), "k50");
    wf_json_remove(obj, "k50");
    cr_assert_str_eq(wf_json_key(wf_json_at(obj, 50)), "k51");
    cr_assert_eq(wf_json_set_i64(obj, "k51", 7, NULL), WF_OK);
    cr_assert(wf_json_as_i64(wf_json_at(obj, 50), &v));
    cr_assert_eq(v, 7);
    wf_json_free(arr);
    wf_json_free(obj);
}

Test(json_write, copies_are_deep_and_independent)
{
    static const char text[] =
        "{\"a\":[1,2,3,4,5,6,7,8,9,10],\"b\":{\"c\":18446744073709551615,"
        "\"d\":0.1,\"e\":\"x\",\"f\":[true,null]}}";
    struct wf_json *v = read_text(text);
    struct wf_json *copy = NULL;

    cr_assert_not_null(wf_json_at(wf_json_find(v, "a"), 9),
                       "makes the index of the source");
    cr_assert_eq(wf_json_copy(v, &copy, NULL), WF_OK);
    cr_assert_eq(wf_json_set_null(v, "a", NULL), WF_OK);
    wf_json_free(v);
    expect_line(copy, text);
    wf_json_free(copy);
}

Test(json_write, missing_parents_and_children_are_no_memory)
{
    struct wf_json *obj = wf_json_object();
    struct wf_error err;

    cr_assert_eq(wf_json_set_i64(NULL, "a", 1, &err), WF_ENOMEM);
    cr_assert_eq(wf_json_set_take(NULL, "a", wf_json_array(), &err), WF_ENOMEM);
    cr_assert_eq(wf_json_push_take(NULL, wf_json_array(), &err), WF_ENOMEM);
    cr_assert_eq(wf_json_push_f64(NULL, 1, &err), WF_ENOMEM);
    cr_assert_eq(wf_json_set_take(obj, "a", NULL, &err), WF_ENOMEM);
    cr_assert_eq(wf_json_set_copy(obj, "a", NULL, &err), WF_ENOMEM);
    cr_assert_eq(wf_json_count(obj), 0);
    wf_json_free(obj);
    wf_json_free(NULL);
}

Test(json_write, bytes_that_are_not_utf8_are_replaced)
{
    struct wf_json *arr = wf_json_array();

    cr_assert_eq(wf_json_push_string(arr, "a\xFF\xC3(\x80z\xE2\x82", NULL), WF_OK);
    expect_line(
        arr, "[\"a\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD\"]");
    wf_json_free(arr);
}

Test(json_write, pretty_form_is_indented)
{
    struct wf_json *v = read_text("{\"a\":[1,{\"b\":2}],\"c\":{},\"d\":[]}");
    struct wf_buf out = WF_BUF_INIT;

    cr_assert_eq(wf_json_write_pretty(v, &out, NULL), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&out), "{\n"
                                        "  \"a\": [\n"
                                        "    1,\n"
                                        "    {\n"
                                        "      \"b\": 2\n"
                                        "    }\n"
                                        "  ],\n"
                                        "  \"c\": {},\n"
                                        "  \"d\": []\n"
                                        "}");
    wf_buf_free(&out);
    wf_json_free(v);
}

Test(json_write, too_deep_a_tree_is_refused_and_the_buffer_kept)
{
    struct wf_buf out = WF_BUF_INIT;
    struct wf_json *v = wf_json_array();
    struct wf_json *copy = NULL;
    struct wf_error err;

    for (int i = 1; i < 64; i++) {
        struct wf_json *outer = wf_json_array();

        cr_assert_eq(wf_json_push_take(outer, v, NULL), WF_OK);
        v = outer;
    }
    cr_assert_eq(wf_json_write(v, &out, &err), WF_OK, "64 levels are good");
    cr_assert_eq(wf_json_copy(v, &copy, &err), WF_OK);
    wf_json_free(copy);
    for (int i = 0; i < 2; i++) {
        struct wf_json *outer = wf_json_array();

        cr_assert_eq(wf_json_push_take(outer, v, NULL), WF_OK);
        v = outer;
    }
    wf_buf_clear(&out);
    cr_assert_eq(wf_buf_puts(&out, "keep", NULL), WF_OK);
    cr_assert_eq(wf_json_write(v, &out, &err), WF_EINVAL);
    cr_assert_str_eq(wf_buf_cstr(&out), "keep");
    cr_assert_eq(wf_json_copy(v, &copy, &err), WF_EINVAL);
    wf_json_free(v);
    wf_buf_free(&out);
}

Test(json_canonical, members_are_sorted_by_bytes_at_every_level)
{
    expect_canonical(
        "{ \"b\" : 1, \"a\" : { \"z\":1, \"Z\":2, \"\xC3\xA4\":3, \"\":4 } }",
        "{\"a\":{\"\":4,\"Z\":2,\"z\":1,\"\xC3\xA4\":3},\"b\":1}");
    expect_canonical("[{\"b\":1,\"a\":2},[]]", "[{\"a\":2,\"b\":1},[]]");
}

Test(json_canonical, numbers_have_one_spelling)
{
    expect_canonical("[1.0,1e0,10E-1,1]", "[1,1,1,1]");
    expect_canonical("[-0,-0.0,0.0,0e5]", "[0,0,0,0]");
    expect_canonical("[1e15,1000000000000000]", "[1000000000000000,1000000000000000]");
    expect_canonical("[0.10,1e-1]", "[0.1,0.1]");
    expect_canonical("[9007199254740993,18446744073709551615]",
                     "[9007199254740993,18446744073709551615]");
    expect_canonical("[1e22]", "[1e+22]");
}

Test(json_canonical, strings_have_one_spelling)
{
    expect_canonical("\"\\u0041\\/\\u00e4\\u000a\\u0008\\u001F\\u007f\"",
                     "\"A/\xC3\xA4\\n\\b\\u001f\x7f\"");
}
