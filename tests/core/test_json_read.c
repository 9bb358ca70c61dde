/* Reading JSON: what is accepted, what is refused and where the error points. */
#include "core/json.h"

#include "tests/core/comma_locale.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdint.h>
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

static void expect_error_n(const char *text,
                           size_t n,
                           enum wf_status status,
                           const char *said)
{
    struct wf_json *v = NULL;
    struct wf_error err;
    char *exact =
        malloc(n + (n == 0)); /* so that a sanitizer sees reads past the end */

    cr_assert_not_null(exact);
    memcpy(exact, text, n);
    cr_assert_eq(wf_json_parse(exact, n, "t", &v, &err), status, "%s", text);
    cr_assert_not_null(strstr(err.text, said), "\"%s\" is not in: %s", said, err.text);
    cr_assert_null(v);
    free(exact);
}

static void expect_error(const char *text, enum wf_status status, const char *said)
{
    expect_error_n(text, strlen(text), status, said);
}

Test(json_read, every_type_is_read)
{
    struct wf_json *v =
        read_text(" {\"n\":null, \"t\":true,\"f\":false,\"i\":-3,\n"
                  "\t\"d\":1.5e2,\"s\":\"x\",\"a\":[1,[],{}],\"o\":{}}\r\n");
    static const enum wf_json_type types[] = { WF_JSON_NULL,   WF_JSON_BOOL,
                                               WF_JSON_BOOL,   WF_JSON_INT,
                                               WF_JSON_DOUBLE, WF_JSON_STRING,
                                               WF_JSON_ARRAY,  WF_JSON_OBJECT };
    const struct wf_json *c = wf_json_first(v);
    double d = 0;

    cr_assert_eq(wf_json_count(v), 8);
    for (size_t i = 0; i < 8; i++, c = wf_json_next(c)) {
        cr_assert_eq(wf_json_type(c), types[i], "%s", wf_json_key(c));
    }
    cr_assert_null(c);
    cr_assert(wf_json_as_f64(wf_json_find(v, "d"), &d));
    cr_assert_eq(d, 150.0);
    cr_assert_eq(wf_json_count(wf_json_find(v, "a")), 3);
    wf_json_free(v);
}

Test(json_read, a_lone_value_is_a_text)
{
    struct wf_json *v = read_text("7");
    int64_t i = 0;

    cr_assert(wf_json_as_i64(v, &i));
    cr_assert_eq(i, 7);
    wf_json_free(v);
    v = read_text("\"\"");
    cr_assert_str_eq(wf_json_string(v), "");
    wf_json_free(v);
}

Test(json_read, integers_are_exact_to_64_bits)
{
    struct wf_json *v = read_text("[9007199254740993,-9223372036854775808,"
                                  "18446744073709551615,9223372036854775808,-0]");
    int64_t i = 1;
    uint64_t u = 1;

    cr_assert(wf_json_as_i64(wf_json_at(v, 0), &i));
    cr_assert_eq(i, INT64_C(9007199254740993));
    cr_assert(wf_json_as_i64(wf_json_at(v, 1), &i));
    cr_assert_eq(i, INT64_MIN);
    cr_assert_not(wf_json_as_u64(wf_json_at(v, 1), &u));
    cr_assert(wf_json_as_u64(wf_json_at(v, 2), &u));
    cr_assert_eq(u, UINT64_MAX);
    cr_assert_not(wf_json_as_i64(wf_json_at(v, 2), &i));
    cr_assert_not(wf_json_as_i64(wf_json_at(v, 3), &i));
    cr_assert_eq(i, INT64_MIN);
    cr_assert(wf_json_as_i64(wf_json_at(v, 4), &i));
    cr_assert_eq(i, 0);
    cr_assert(wf_json_as_u64(wf_json_at(v, 4), &u));
    cr_assert_eq(u, 0);
    wf_json_free(v);
}

Test(json_read, integers_beyond_64_bits_are_refused)
{
    expect_error("18446744073709551616", WF_ERANGE, "t:1:1: ");
    expect_error("-9223372036854775809", WF_ERANGE, "64 bits");
    expect_error("{\"a\":\n 100000000000000000000000}", WF_ERANGE, "t:2:2: ");
}

Test(json_read, doubles_are_correctly_rounded)
{
    struct wf_json *v =
        read_text("[0.1,2.2250738585072014e-308,1e-400,1E3,123456789.125,"
                  "9007199254740993.0,0.30000000000000004]");
    double d = 0;

    cr_assert(wf_json_as_f64(wf_json_at(v, 0), &d) && d == 0.1);
    cr_assert(wf_json_as_f64(wf_json_at(v, 1), &d) && d == 2.2250738585072014e-308);
    cr_assert(wf_json_as_f64(wf_json_at(v, 2), &d) && d == 0);
    cr_assert(wf_json_as_f64(wf_json_at(v, 3), &d) && d == 1000);
    cr_assert(wf_json_as_f64(wf_json_at(v, 4), &d) && d == 123456789.125);
    cr_assert(wf_json_as_f64(wf_json_at(v, 5), &d) && d == 9007199254740992.0);
    cr_assert(wf_json_as_f64(wf_json_at(v, 6), &d) && d == 0.1 + 0.2);
    wf_json_free(v);
    expect_error("1e400", WF_ERANGE, "double");
}

Test(json_read, non_finite_literals_are_refused_with_the_remedy)
{
    expect_error("{\"a\": NaN}", WF_EPARSE, "NaN and Infinity are not JSON");
    expect_error("[Infinity]", WF_EPARSE, "\"inf\"");
    expect_error("nan", WF_EPARSE, "NaN");
    expect_error("[-Infinity]", WF_EPARSE, "t:1:2: ");
    expect_error("[-nan]", WF_EPARSE, "not a JSON number");
}

Test(json_read, malformed_numbers_are_refused)
{
    static const char *const bad[] = { "01",    "+1",    "1.",  ".5",  "1e",
                                       "1e+",   "-",     "0x1", "1_0", "--1",
                                       "1.2.3", "1e1.5", "-01" };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_error(bad[i], WF_EPARSE, "t:1:1: ");
    }
}

Test(json_read, very_long_numbers_are_refused)
{
    char text[2000];

    memset(text, '1', sizeof text);
    memcpy(text, "0.", 2);
    expect_error_n(text, sizeof text, WF_ERANGE, "too many digits");
}

Test(json_read, duplicate_keys_are_refused_at_the_second)
{
    expect_error("{\"a\":1,\n  \"b\":2, \"a\":3}", WF_EPARSE,
                 "t:2:10: duplicate key \"a\"");
    expect_error("{\"a\":1,\"\\u0061\":3}", WF_EPARSE, "duplicate");
    expect_error("[{\"x\":{\"k\":1,\"k\":1}}]", WF_EPARSE, "t:1:14: ");
    expect_error("{\"b\":1,\"a\":1,\"b\":1,\"a\":1}", WF_EPARSE,
                 "t:1:14: duplicate key \"b\"");
    wf_json_free(read_text("{\"a\":{\"a\":[{\"a\":1},{\"a\":1}]},\"A\":1,\"\":2}"));
}

Test(json_read, byte_order_mark_is_refused)
{
    expect_error("\xEF\xBB\xBF{}", WF_EPARSE, "byte order mark");
}

Test(json_read, nesting_ends_at_64)
{
    char text[131];

    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    wf_json_free(read_text(text));
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    text[130] = '\0';
    expect_error(text, WF_EPARSE, "t:1:65: ");
    memset(text, '[', 130);
    expect_error(text, WF_EPARSE, "nested more than 64");
    wf_json_free(
        read_text("[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
                  "[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
                  "[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]"));
}

Test(json_read, escapes_are_decoded)
{
    struct wf_json *v =
        read_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\u20AC\\uD83D\\uDE00\"");

    cr_assert_str_eq(wf_json_string(v),
                     "\"\\/\b\f\n\r\t\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    wf_json_free(v);
}

Test(json_read, bad_escapes_are_refused)
{
    expect_error("\"\\ud83d\"", WF_EPARSE, "lone high surrogate");
    expect_error("\"\\ud83dx\"", WF_EPARSE, "lone high surrogate");
    expect_error("\"\\ud83d\\u0041\"", WF_EPARSE, "lone high surrogate");
    expect_error("\"\\ude00\"", WF_EPARSE, "lone low surrogate");
    expect_error("\"ab\\x\"", WF_EPARSE, "t:1:4: ");
    expect_error("\"\\u12\"", WF_EPARSE, "four hexadecimal");
    expect_error("\"\\u12", WF_EPARSE, "four hexadecimal");
    expect_error("\"\\u00g0\"", WF_EPARSE, "four hexadecimal");
    expect_error("\"\\u0000\"", WF_EPARSE, "\\u0000");
    expect_error("\"\\", WF_EPARSE, "does not end");
    expect_error_n("\"\\\0\"", 4, WF_EPARSE, "unknown escape");
}

Test(json_read, invalid_utf8_is_refused)
{
    static const char *const bad[] = {
        "\"\x80\"",             /* continuation alone */
        "\"\xC3\"",             /* cut short */
        "\"\xC0\xAF\"",         /* overlong */
        "\"\xE0\x80\xAF\"",     /* overlong */
        "\"\xED\xA0\x80\"",     /* surrogate */
        "\"\xF4\x90\x80\x80\"", /* above U+10FFFF */
        "\"\xF8\x88\x80\x80\"", /* no such first byte */
        "\"\xFF\"",
        "\"\xF0\x9F\x98\"",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_error(bad[i], WF_EPARSE, "t:1:2: invalid UTF-8");
    }
    expect_error("\"\xE2\x82", WF_EPARSE, "invalid UTF-8");
    expect_error("{\"\xFF\":1}", WF_EPARSE, "invalid UTF-8");
}

Test(json_read, control_characters_are_refused)
{
    expect_error("\"a\nb\"", WF_EPARSE, "control character");
    expect_error_n("\"a\0b\"", 5, WF_EPARSE, "control character");
    expect_error_n("{}\0", 3, WF_EPARSE, "after the JSON value");
}

Test(json_read, text_around_the_value_is_refused)
{
    expect_error("", WF_EPARSE, "empty");
    expect_error(" \n ", WF_EPARSE, "t:2:2: the text is empty");
    expect_error("{} x", WF_EPARSE, "t:1:4: there is text after");
    expect_error("1 2", WF_EPARSE, "text after");
    expect_error("{}{}", WF_EPARSE, "text after");
    expect_error("truex", WF_EPARSE, "a value is expected");
    expect_error("True", WF_EPARSE, "found 'T'");
    expect_error("// c\n{}", WF_EPARSE, "found '/'");
    expect_error("'a'", WF_EPARSE, "a value is expected");
}

Test(json_read, broken_structure_says_what_is_expected)
{
    expect_error("[1,]", WF_EPARSE, "t:1:4: a value is expected, found ']'");
    expect_error("[1 2]", WF_EPARSE, "',' or ']' is expected, found '2'");
    expect_error("[1", WF_EPARSE, "found the end of the text");
    expect_error("[", WF_EPARSE, "found the end of the text");
    expect_error("{\"a\" 1}", WF_EPARSE, "':' is expected");
    expect_error("{\"a\":1,}", WF_EPARSE,
                 "name in double quotes is expected, found '}'");
    expect_error("{a:1}", WF_EPARSE, "name in double quotes");
    expect_error("{\"a\":1]", WF_EPARSE, "',' or '}'");
    expect_error("{\"a\":", WF_EPARSE, "end of the text");
    expect_error("\"abc", WF_EPARSE, "t:1:1: the string does not end");
    expect_error("]", WF_EPARSE, "found ']'");
    expect_error("\x01", WF_EPARSE, "byte 0x01");
}

Test(json_read, columns_count_characters)
{
    expect_error("[\"\xC3\xA4\xE2\x82\xAC\", x]", WF_EPARSE, "t:1:8: ");
    expect_error("{\n\n\"k\": tru}", WF_EPARSE, "t:3:6: ");
}

Test(json_read, every_cut_of_a_good_text_is_refused)
{
    static const char text[] =
        "{\"a\":[1,-2.5e3,true,null,\"\\u00e4\xC3\xA4\"],\"b\":{}}";

    for (size_t n = 0; n < sizeof text - 1; n++) {
        expect_error_n(text, n, WF_EPARSE, "t:1:");
    }
    wf_json_free(read_text(text));
}

Test(json_read, many_keys_are_compared_without_going_quadratic)
{
    struct wf_buf b = WF_BUF_INIT;
    struct wf_json *v = NULL;
    struct wf_error err;

    cr_assert_eq(wf_buf_puts(&b, "{", NULL), WF_OK);
    for (int i = 0; i < 200000; i++) {
        cr_assert_eq(wf_buf_printf(&b, NULL, "\"key%d\":%d,", i, i), WF_OK);
    }
    cr_assert_eq(wf_buf_puts(&b, "\"key77\":0}", NULL), WF_OK);
    cr_assert_eq(wf_json_parse(b.data, b.len, "t", &v, &err), WF_EPARSE);
    cr_assert_not_null(strstr(err.text, "duplicate key \"key77\""));
    wf_buf_free(&b);
}

Test(json_read, large_upload_is_read_and_walked)
{
    struct wf_buf b = WF_BUF_INIT;
    struct wf_json *v = NULL;
    struct wf_error err;
    int64_t sum = 0;
    int64_t sample = 0;

    cr_assert_eq(wf_buf_puts(&b, "[", NULL), WF_OK);
    for (int i = 0; i < 5000; i++) {
        (void)wf_buf_puts(&b, i == 0 ? "{\"samples_ns\":[0" : ",{\"samples_ns\":[0",
                          NULL);
        for (int j = 1; j < 200; j++) {
            (void)wf_buf_printf(&b, NULL, ",%d", 10000000 + i + j);
        }
        (void)wf_buf_puts(&b, "]}", NULL);
    }
    cr_assert_eq(wf_buf_puts(&b, "]", NULL), WF_OK);
    cr_assert_eq(wf_json_parse(b.data, b.len, "t", &v, &err), WF_OK);
    for (size_t i = 0; i < wf_json_count(v); i++) {
        const struct wf_json *samples = wf_json_find(wf_json_at(v, i), "samples_ns");

        for (size_t j = 0; j < wf_json_count(samples); j++) {
            cr_assert(wf_json_as_i64(wf_json_at(samples, j), &sample));
            sum += sample;
        }
    }
    cr_assert_eq(sum, INT64_C(5000) * 199 * 10000000 + INT64_C(199) * 4999 * 2500 +
                          INT64_C(5000) * 199 * 100);
    wf_json_free(v);
    wf_buf_free(&b);
}

Test(json_read, too_large_a_text_is_refused_unread)
{
    struct wf_json *v = NULL;
    struct wf_error err;

    cr_assert_eq(wf_json_parse("1", (size_t)WF_JSON_MAX_BYTES + 1, "t", &v, &err),
                 WF_EINVAL);
    cr_assert_not_null(strstr(err.text, "at most 268435456"));
}

Test(json_read, files_are_named_in_errors)
{
    struct temp_dir dir;
    struct wf_json *v = NULL;
    struct wf_error err;
    char said[200];

    temp_dir_make(&dir);
    cr_assert_eq(wf_file_write_atomic(temp_dir_file(&dir, "p.json"), "{\n1}", 4, &err),
                 WF_OK);
    cr_assert_eq(wf_json_parse_file(dir.file, &v, &err), WF_EPARSE);
    (void)snprintf(said, sizeof said, "%s:2:1: ", dir.file);
    cr_assert_eq(strncmp(err.text, said, strlen(said)), 0, "%s", err.text);
    cr_assert_eq(wf_file_write_atomic(dir.file, "", 0, &err), WF_OK);
    cr_assert_eq(wf_json_parse_file(dir.file, &v, &err), WF_EPARSE);
    cr_assert_eq(wf_file_write_atomic(dir.file, "[1]", 3, &err), WF_OK);
    cr_assert_eq(wf_json_parse_file(dir.file, &v, &err), WF_OK);
    cr_assert_eq(wf_json_count(v), 1);
    wf_json_free(v);
    cr_assert_eq(wf_json_parse_file(temp_dir_file(&dir, "none"), &v, &err),
                 WF_ENOTFOUND);
    temp_dir_remove(&dir);
}

Test(json_read, numbers_ignore_the_locale)
{
    struct temp_dir dir;
    struct wf_buf out = WF_BUF_INIT;
    struct wf_json *v;
    double d = 0;

    temp_dir_make(&dir);
    comma_locale_use(&dir);
    v = read_text("[1.5,0.30000000000000004,2.5e-7]");
    cr_assert(wf_json_as_f64(wf_json_at(v, 1), &d));
    cr_assert_eq(d, 0.1 + 0.2);
    cr_assert_eq(wf_json_write(v, &out, NULL), WF_OK);
    cr_assert_str_eq(wf_buf_cstr(&out), "[1.5,0.30000000000000004,2.5e-07]");
    wf_buf_free(&out);
    wf_json_free(v);
    temp_dir_remove(&dir);
}
