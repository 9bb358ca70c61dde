/* Strict text to number. */
#include "core/parse.h"

#include "tests/core/comma_locale.h"

#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static enum wf_status i64(const char *text, int64_t *ret)
{
    return wf_parse_i64(text, "n", INT64_MIN, INT64_MAX, ret, NULL);
}

static enum wf_status u64(const char *text, uint64_t *ret)
{
    return wf_parse_u64(text, "n", 0, UINT64_MAX, ret, NULL);
}

static enum wf_status f64(const char *text, double *ret)
{
    return wf_parse_f64(text, "n", -DBL_MAX, DBL_MAX, ret, NULL);
}

Test(parse, signed_integers_reach_both_ends)
{
    int64_t v = 1;

    cr_assert_eq(i64("-9223372036854775808", &v), WF_OK);
    cr_assert_eq(v, INT64_MIN);
    cr_assert_eq(i64("9223372036854775807", &v), WF_OK);
    cr_assert_eq(v, INT64_MAX);
    cr_assert_eq(i64("-0", &v), WF_OK);
    cr_assert_eq(v, 0);
    cr_assert_eq(i64("9223372036854775808", &v), WF_ERANGE);
    cr_assert_eq(i64("-9223372036854775809", &v), WF_ERANGE);
    cr_assert_eq(i64("99999999999999999999999999", &v), WF_ERANGE);
    cr_assert_eq(v, 0, "a failed call writes nothing");
}

Test(parse, unsigned_integers_reach_the_end)
{
    uint64_t v = 1;

    cr_assert_eq(u64("18446744073709551615", &v), WF_OK);
    cr_assert_eq(v, UINT64_MAX);
    cr_assert_eq(u64("18446744073709551616", &v), WF_ERANGE);
    cr_assert_eq(u64("-1", &v), WF_EPARSE);
    cr_assert_eq(v, UINT64_MAX);
}

Test(parse, whole_text_must_be_the_number)
{
    static const char *const bad[] = { "",    " 1", "1 ",  "+1",  "1x", "0x10", "1.0",
                                       "1e3", "-",  "--1", "\t1", "١",  "nan" };
    int64_t i = 5;
    uint64_t u = 5;

    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        cr_assert_neq(i64(bad[k], &i), WF_OK, "\"%s\"", bad[k]);
        cr_assert_neq(u64(bad[k], &u), WF_OK, "\"%s\"", bad[k]);
    }
    cr_assert_neq(i64(NULL, &i), WF_OK);
    cr_assert_eq(i, 5);
    cr_assert_eq(u, 5);
}

Test(parse, range_error_names_field_value_and_bounds)
{
    struct wf_error err;
    int64_t v;

    cr_assert_eq(wf_parse_i64("70000", "--port", 1, 65535, &v, &err), WF_ERANGE);
    cr_assert_str_eq(err.text,
                     "--port: 70000 is out of range, must be from 1 to 65535");
    cr_assert_eq(wf_parse_i64("abc", "--port", 1, 65535, &v, &err), WF_EPARSE);
    cr_assert_str_eq(err.text, "--port: \"abc\" is not an integer");
}

Test(parse, doubles_are_decimal_only)
{
    static const char *const bad[] = { "nan", "inf", "-inf", "Infinity", "0x1p3",
                                       "1.",  ".5",  "1e",   "1e+",      " 1",
                                       "1 ",  "1,5", "+1.5", "",         "1.5.2",
                                       "01",  "1f" };
    double v = 3;

    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        cr_assert_neq(f64(bad[k], &v), WF_OK, "\"%s\"", bad[k]);
    }
    cr_assert_eq(f64("1e400", &v), WF_ERANGE);
    cr_assert_eq(f64("-1e400", &v), WF_ERANGE);
    cr_assert_eq(v, 3.0);
    cr_assert_eq(f64("-2.5", &v), WF_OK);
    cr_assert_eq(v, -2.5);
    cr_assert_eq(f64("1e-3", &v), WF_OK);
    cr_assert_eq(v, 0.001);
    cr_assert_eq(f64("123456789012345.75", &v), WF_OK);
    cr_assert_eq(v, 123456789012345.75);
    cr_assert_eq(wf_parse_f64("1.5", "alpha", 0, 1, &v, NULL), WF_ERANGE);
}

Test(parse, short_decimals_are_correctly_rounded)
{
    char text[40];
    uint64_t seed = 88172645463325252u;
    double v;

    for (int i = 0; i < 20000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (void)snprintf(text, sizeof text, "%s%llu.%0*llu", i % 2 ? "-" : "",
                       (unsigned long long)(seed % 10000000), 1 + i % 8,
                       (unsigned long long)((seed >> 32) % 10));
        cr_assert_eq(f64(text, &v), WF_OK, "%s", text);
        cr_assert_eq(v, strtod(text, NULL), "%s", text);
    }
}

Test(parse, durations_need_a_unit)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = { { "30us", 30000 },
                 { "250ms", 250000000 },
                 { "10s", 10000000000 },
                 { "2m", 120000000000 },
                 { "1h", 3600000000000 },
                 { "7ns", 7 },
                 { "0s", 0 } };
    static const char *const bad[] = {
        "10", "s", "", "1.5s", "-1s", "1 s", "1sec", "1S"
    };
    int64_t ns = -1;

    for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) {
        cr_assert_eq(wf_parse_duration_ns(good[k].text, "d", &ns, NULL), WF_OK);
        cr_assert_eq(ns, good[k].ns, "%s", good[k].text);
    }
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        cr_assert_eq(wf_parse_duration_ns(bad[k], "d", &ns, NULL),
                     bad[k][0] == '\0' ? WF_EINVAL : WF_EPARSE, "\"%s\"", bad[k]);
    }
    cr_assert_eq(wf_parse_duration_ns("9999999h", "d", &ns, NULL), WF_ERANGE);
    cr_assert_eq(wf_parse_duration_ns("9223372036854775808ns", "d", &ns, NULL),
                 WF_ERANGE);
    cr_assert_eq(wf_parse_duration_ns("99999999999999999999s", "d", &ns, NULL),
                 WF_ERANGE);
}

Test(parse, byte_sizes_know_binary_units_only)
{
    uint64_t v = 0;

    cr_assert_eq(wf_parse_bytes("512", "b", &v, NULL), WF_OK);
    cr_assert_eq(v, 512);
    cr_assert_eq(wf_parse_bytes("64KiB", "b", &v, NULL), WF_OK);
    cr_assert_eq(v, 65536);
    cr_assert_eq(wf_parse_bytes("16MiB", "b", &v, NULL), WF_OK);
    cr_assert_eq(v, 16777216);
    cr_assert_eq(wf_parse_bytes("2GiB", "b", &v, NULL), WF_OK);
    cr_assert_eq(v, 2147483648u);
    cr_assert_eq(wf_parse_bytes("64KB", "b", &v, NULL), WF_EPARSE);
    cr_assert_eq(wf_parse_bytes("64k", "b", &v, NULL), WF_EPARSE);
    cr_assert_eq(wf_parse_bytes("KiB", "b", &v, NULL), WF_EPARSE);
    cr_assert_eq(wf_parse_bytes("17179869184GiB", "b", &v, NULL), WF_ERANGE);
    cr_assert_eq(v, 2147483648u);
}

Test(parse, glob_matches_the_whole_text)
{
    cr_assert(wf_glob_match("*", ""));
    cr_assert(wf_glob_match("gemm/*/f32", "gemm/openblas/f32"));
    cr_assert(wf_glob_match("a?c", "abc"));
    cr_assert(wf_glob_match("*b*b", "abxbb"));
    cr_assert(wf_glob_match("", ""));
    cr_assert(wf_glob_match("a**", "a"));
    cr_assert_not(wf_glob_match("a?c", "ac"));
    cr_assert_not(wf_glob_match("gemm", "gemm2"));
    cr_assert_not(wf_glob_match("*x", "abc"));
    cr_assert_not(wf_glob_match("", "a"));
    cr_assert_not(wf_glob_match("?", ""));
}

Test(parse, glob_with_many_stars_is_not_exponential)
{
    char text[2001];

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_assert_not(wf_glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

Test(parse, arithmetic_reports_overflow)
{
    int64_t v = 9;

    cr_assert(wf_mul_i64(-3, 4, &v));
    cr_assert_eq(v, -12);
    cr_assert_not(wf_mul_i64(INT64_MAX, 2, &v));
    cr_assert_not(wf_mul_i64(INT64_MIN, -1, &v));
    cr_assert_not(wf_add_i64(INT64_MAX, 1, &v));
    cr_assert_eq(v, -12);
    cr_assert(wf_add_i64(INT64_MAX, INT64_MIN, &v));
    cr_assert_eq(v, -1);
}

static void expect_format(double v, const char *expected)
{
    char text[32];

    cr_assert_str_eq(wf_format_f64(v, text, sizeof text), expected);
}

Test(format, shortest_text_that_reads_back)
{
    expect_format(0, "0");
    expect_format(-0.0, "-0");
    expect_format(3, "3");
    expect_format(0.1, "0.1");
    expect_format(-2.5, "-2.5");
    expect_format(1.0 / 3, "0.3333333333333333");
    expect_format(0.1 + 0.2, "0.30000000000000004");
    expect_format(1234567890123460.0, "1234567890123460");
    expect_format(9007199254740991.0, "9007199254740991");
    expect_format(1e300, "1e+300");
    expect_format(5e-324, "5e-324");
    expect_format(DBL_MAX, "1.7976931348623157e+308");
    expect_format(DBL_MIN, "2.2250738585072014e-308");
    expect_format(ldexp(1, -44), "5.684341886080802e-14");
    expect_format((double)NAN, "nan");
    expect_format((double)INFINITY, "inf");
    expect_format(-(double)INFINITY, "-inf");
}

Test(format, every_text_reads_back_to_the_same_bits)
{
    uint64_t bits = 0x9E3779B97F4A7C15u;
    char text[32];
    double v;
    double back;

    for (int i = 0; i < 50000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v)) {
            continue;
        }
        cr_assert_eq(f64(wf_format_f64(v, text, sizeof text), &back), WF_OK, "%s",
                     text);
        cr_assert_eq(memcmp(&v, &back, sizeof v), 0, "%s", text);
    }
    for (int e = -1074; e < 1024; e++) {
        v = ldexp(1, e);
        cr_assert_eq(f64(wf_format_f64(v, text, sizeof text), &back), WF_OK, "%s",
                     text);
        cr_assert_eq(v, back, "%s", text);
    }
}

Test(format, numbers_ignore_the_locale)
{
    struct temp_dir dir;
    double v = 0;
    char shown[16];

    temp_dir_make(&dir);
    comma_locale_use(&dir);
    expect_format(0.1, "0.1");
    expect_format(0.1 + 0.2, "0.30000000000000004");
    cr_assert_eq(f64("2.5", &v), WF_OK);
    cr_assert_eq(v, 2.5);
    cr_assert_eq(f64("2.5000000000000000000000001e3", &v), WF_OK);
    cr_assert_eq(v, 2500.0);
    cr_assert_eq(f64("2,5", &v), WF_EPARSE);
    (void)snprintf(shown, sizeof shown, "%.1f", 1.5);
    cr_assert_str_eq(shown, "1,5", "formatting leaves the thread's locale as it was");
    temp_dir_remove(&dir);
}
