/* Pack expressions: every operator, every function, every error with its column. */
#include "packs/expr.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const int64_t kv_len[] = { 7, 100, 0, 33 };

static enum wf_status find_case(const void *ctx,
                                const char *name,
                                struct wf_value *ret,
                                struct wf_error *err)
{
    (void)ctx;
    static const struct {
        const char *name;
        struct wf_value v;
    } known[] = {
        { "M", { .kind = WF_VALUE_INT, .i = 1000 } },
        { "N", { .kind = WF_VALUE_INT, .i = 3 } },
        { "zero", { .kind = WF_VALUE_INT, .i = 0 } },
        { "least", { .kind = WF_VALUE_INT, .i = INT64_MIN } },
        { "most", { .kind = WF_VALUE_INT, .i = INT64_MAX } },
        { "alpha", { .kind = WF_VALUE_DOUBLE, .d = 0.5 } },
        { "a_type", { .kind = WF_VALUE_STRING, .s = "f16" } },
        { "kv_len", { .kind = WF_VALUE_INTS, .ints = kv_len, .n = 4 } },
        { "empty", { .kind = WF_VALUE_INTS, .ints = kv_len, .n = 0 } },
    };
    if (strcmp(name, "broken") == 0) {
        return wf_errorf(err, WF_EIO, "the table is gone");
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) == 0) {
            *ret = known[i].v;
            return WF_OK;
        }
    }
    return WF_ENOTFOUND;
}

static enum wf_status find_device(const void *ctx,
                                  const char *name,
                                  struct wf_value *ret,
                                  struct wf_error *err)
{
    (void)ctx;
    (void)err;
    if (strcmp(name, "device.cu_count") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = 304 };
        return WF_OK;
    }
    if (strcmp(name, "N") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = -1 };
        return WF_OK;
    }
    return WF_ENOTFOUND;
}

static const char *device_name_at(const void *ctx, size_t i)
{
    (void)ctx;
    return i == 0 ? "device.cu_count" : NULL;
}

static const struct wf_scope device = { .find = find_device,
                                        .name_at = device_name_at };
static const struct wf_scope scope = { .find = find_case, .next = &device };

static enum wf_status evaluate(const char *text,
                               struct wf_value *ret,
                               struct wf_error *err)
{
    struct wf_expr *e = NULL;
    enum wf_status st = wf_expr_parse(text, "test", &e, err);
    if (st == WF_OK) {
        cr_assert_str_eq(wf_expr_text(e), text);
        st = wf_expr_eval(e, &scope, ret, err);
    }
    wf_expr_free(e);
    return st;
}

static void check_int(const char *text, int64_t want)
{
    struct wf_value v = { .kind = WF_VALUE_STRING };
    struct wf_error err = { .text = "" };
    enum wf_status st = evaluate(text, &v, &err);
    cr_expect_eq(st, WF_OK, "%s: %s", text, err.text);
    cr_expect_eq(v.kind, WF_VALUE_INT, "%s is not an integer", text);
    cr_expect_eq(v.i, want, "%s is %lld, not %lld", text, (long long)v.i,
                 (long long)want);
}

static void check_double(const char *text, double want)
{
    struct wf_value v = { .kind = WF_VALUE_STRING };
    struct wf_error err = { .text = "" };
    enum wf_status st = evaluate(text, &v, &err);
    cr_expect_eq(st, WF_OK, "%s: %s", text, err.text);
    cr_expect_eq(v.kind, WF_VALUE_DOUBLE, "%s is not a double", text);
    cr_expect(v.d >= want && v.d <= want, "%s is %g, not %g", text, v.d, want);
}

/* The error names the column and holds `part`. */
static void check_error(const char *text, int column, const char *part)
{
    struct wf_value v;
    struct wf_error err = { .text = "" };
    char at[32];
    (void)snprintf(at, sizeof at, "test: column %d of ", column);
    enum wf_status st = evaluate(text, &v, &err);
    cr_expect_eq(st, WF_EINVAL, "%s: status %s", text, wf_status_name(st));
    cr_expect(strncmp(err.text, at, strlen(at)) == 0, "%s: '%s' is not at column %d",
              text, err.text, column);
    cr_expect(strstr(err.text, part) != NULL, "%s: '%s' lacks '%s'", text, err.text,
              part);
}

Test(expr, integer_operators)
{
    check_int("1 + 2", 3);
    check_int("1 - 2", -1);
    check_int("6 * 7", 42);
    check_int("7 / 2", 3);
    check_int("-7 / 2", -3);
    check_int("7 % 4", 3);
    check_int("-7 % 4", -3);
    check_int("least % -1", 0);
    check_int("-(3)", -3);
    check_int("- - 3", 3);
    check_int("9223372036854775807", INT64_MAX);
    check_int("-9223372036854775808", INT64_MIN);
}

Test(expr, precedence_and_association)
{
    check_int("1 + 2 * 3", 7);
    check_int("(1 + 2) * 3", 9);
    check_int("10 - 3 - 2", 5);
    check_int("100 / 10 / 5", 2);
    check_int("2 * 3 % 4", 2);
    check_int("-2 * -3", 6);
    check_int("1 < 2 == 1", 1);
    check_int("1 + 1 < 3 && 4 > 3", 1);
    check_int("1 || 0 && 0", 1);
    check_int("0 == 1 || 1", 1);
    check_int("1 ? 2 : 0 ? 3 : 4", 2);
    check_int("0 ? 2 : 0 ? 3 : 4", 4);
    check_int("!0 + 1", 2);
    check_int("!!5", 1);
}

Test(expr, comparisons)
{
    check_int("1 < 1", 0);
    check_int("1 <= 1", 1);
    check_int("2 > 1", 1);
    check_int("1 >= 2", 0);
    check_int("1 == 1", 1);
    check_int("1 != 1", 0);
    check_int("1 == 1.0", 1);
    check_int("0.5 < 1", 1);
    check_int("9007199254740993 == 9007199254740992", 0);
    check_int("a_type == 'f16'", 1);
    check_int("a_type != \"f16\"", 0);
    check_int("'' == ''", 1);
}

Test(expr, doubles)
{
    check_double("1.5 + 1", 2.5);
    check_double("1 - 0.25", 0.75);
    check_double("alpha * 4", 2.0);
    check_double("1 / 4.0", 0.25);
    check_double("-alpha", -0.5);
    check_double("1e3", 1000.0);
    check_double("2.5E-1", 0.25);
    check_double("double(3)", 3.0);
}

Test(expr, names_and_the_chain_of_scopes)
{
    check_int("M", 1000);
    check_int("device.cu_count * 2", 608);
    check_int("N", 3); /* the first scope hides the second */
}

Test(expr, functions)
{
    check_int("ceil_div(10, 3)", 4);
    check_int("ceil_div(9, 3)", 3);
    check_int("ceil_div(0, 3)", 0);
    check_int("ceil_div(-7, 2)", -3);
    check_int("ceil_div(most, 2)", 4611686018427387904);
    check_int("round_up(10, 16)", 16);
    check_int("round_up(32, 16)", 32);
    check_int("min(3, 1, 2)", 1);
    check_int("max(3, 1, 2)", 3);
    check_double("max(3, 1.5)", 3.0);
    check_double("min(3, 1.5)", 1.5);
    check_int("max(kv_len)", 100);
    check_int("min(kv_len)", 0);
    check_int("sum(kv_len)", 140);
    check_int("count(kv_len)", 4);
    check_int("sum(empty)", 0);
    check_int("count(empty)", 0);
    check_int("abs(-5)", 5);
    check_int("abs(5)", 5);
    check_double("abs(-0.5)", 0.5);
    check_int("log2_ceil(1)", 0);
    check_int("log2_ceil(2)", 1);
    check_int("log2_ceil(3)", 2);
    check_int("log2_ceil(1024)", 10);
    check_int("log2_ceil(1025)", 11);
    check_int("log2_ceil(most)", 63);
    check_int("int(2.9)", 2);
    check_int("int(-2.9)", -2);
    check_int("int(7)", 7);
}

Test(expr, only_what_is_needed_is_evaluated)
{
    check_int("0 && 1 / zero", 0);
    check_int("1 || 1 / zero", 1);
    check_int("1 ? 5 : 1 / zero", 5);
    check_int("0 ? 1 / zero : 6", 6);
    check_error("1 && 1 / zero", 8, "division by zero");
}

Test(expr, division_by_zero)
{
    check_error("M / zero", 3, "division by zero");
    check_error("M % zero", 3, "division by zero");
    check_error("M / 0.0", 3, "division by zero");
    check_error("1 + ceil_div(M, zero)", 5, "division by zero");
    check_error("round_up(M, zero)", 1, "division by zero");
    check_error("ceil_div(M, -1)", 1, "negative");
}

Test(expr, overflow)
{
    check_error("most + 1", 6, "does not fit");
    check_error("least - 1", 7, "does not fit");
    check_error("most * 2", 6, "does not fit");
    check_error("least / -1", 7, "does not fit");
    check_error("-least", 1, "does not fit");
    check_error("abs(least)", 1, "does not fit");
    check_error("round_up(most, 16)", 1, "does not fit");
    check_error("int(1e300)", 1, "does not fit");
    check_error("1e308 * 10", 7, "not a finite number");
    check_error("9223372036854775808", 1, "does not fit 64 bits");
    check_error("99999999999999999999", 1, "does not fit 64 bits");
    check_error("-9223372036854775809", 2, "does not fit 64 bits");
}

Test(expr, unknown_names_with_the_nearest_known_one)
{
    check_error("M + Q", 5, "unknown name 'Q'");
    check_error("device.cu_cuont", 1, "did you mean device.cu_count?");
    check_error("ceildiv(1, 2)", 1, "did you mean ceil_div?");
    check_error("sqrt(2)", 1, "no function 'sqrt'");
}

Test(expr, type_mismatches)
{
    check_error("a_type + 1", 8, "wants numbers");
    check_error("a_type < 'g'", 8, "== and != only");
    check_error("a_type == 1", 8, "does not compare");
    check_error("-a_type", 1, "wants a number");
    check_error("kv_len + 1", 8, "array");
    check_error("kv_len == kv_len", 8, "array");
    check_error("min(kv_len, 1)", 1, "numbers or one array");
    check_error("max(empty)", 1, "empty");
    check_error("sum(M)", 1, "array");
    check_error("count(M)", 1, "array");
    check_error("abs(a_type)", 1, "number");
    check_error("int(a_type)", 1, "number");
    check_error("double(kv_len)", 1, "number");
    check_error("log2_ceil(zero)", 1, "positive");
    check_error("ceil_div(1.5, 2)", 1, "integers");
    check_error("5.5 % 2", 5, "integers");
    check_error("0.5 ? 1 : 2", 1, "condition");
    check_error("!a_type", 2, "condition");
    check_error("1 && 'x'", 6, "condition");
}

Test(expr, malformed_text)
{
    check_error("", 1, "empty");
    check_error("   ", 1, "empty");
    check_error("1 +", 4, "ends where a value");
    check_error("1 2", 3, "an operator or the end");
    check_error("M N", 3, "'N' where an operator");
    check_error("M 'x'", 3, "where an operator");
    check_error("(1", 3, "')'");
    check_error("1)", 2, "an operator or the end");
    check_error("max(1, )", 8, "a value");
    check_error("max(1 2)", 7, "',' or ')'");
    check_error("max()", 1, "takes 1 or more");
    check_error("ceil_div(1)", 1, "takes 2 arguments, not 1");
    check_error("abs(1, 2)", 1, "takes 1 argument, not 2");
    check_error("1 ? 2", 6, "':'");
    check_error("* 2", 1, "a value");
    check_error("1 = 1", 3, "equality is ==");
    check_error("1 & 1", 3, "not an operator");
    check_error("a.", 2, "not an operator");
    check_error("12ab", 3, "cannot follow a number");
    check_error("0x10", 2, "cannot follow a number");
    check_error("1.2.3", 4, "cannot follow a number");
    check_error("'open", 1, "no closing");
    check_error("M + \xc3\xa9", 5, "byte 0xc3");
    check_error("M\x01", 2, "byte 0x01");
    check_error("min(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)", 44, "more than 16");
}

static void nested(char *text, size_t levels)
{
    memset(text, '(', levels);
    text[levels] = '1';
    memset(text + levels + 1, ')', levels);
    text[2 * levels + 1] = '\0';
}

Test(expr, too_deep)
{
    char text[400];
    nested(text, 63);
    check_int(text, 1);
    nested(text, 64);
    check_error(text, 65, "more than 64 levels deep");
    memset(text, '!', 70);
    memcpy(text + 70, "1", 2);
    check_error(text, 64, "more than 64 levels deep");
}

static void chain(char *text, size_t ones)
{
    for (size_t i = 0; i < ones; i++) {
        memcpy(text + 2 * i, "1+", 2);
    }
    text[2 * ones - 1] = '\0';
}

Test(expr, too_many_operators_in_a_row)
{
    static char text[4096];
    chain(text, 256);
    check_int(text, 256);
    chain(text, 257);
    check_error(text, 512, "more than 256 operators in a row");
}

Test(expr, too_long)
{
    static char text[WF_EXPR_MAX_CHARS + 2];
    struct wf_expr *e = NULL;
    struct wf_error err = { .text = "" };
    memset(text, '1', sizeof text - 1);
    cr_assert_eq(wf_expr_parse(text, "test", &e, &err), WF_EINVAL);
    cr_assert_str_eq(err.text, "test: expression of 4097 characters, at most 4096");
    memset(text, ' ', WF_EXPR_MAX_CHARS);
    text[0] = '7';
    text[WF_EXPR_MAX_CHARS] = '\0';
    check_int(text, 7);
}

Test(expr, names_are_checked_also_where_they_are_not_needed)
{
    struct wf_expr *e = NULL;
    struct wf_error err = { .text = "" };
    cr_assert_eq(wf_expr_parse("zero ? M + nmae : max(kv_len) / zero", "w", &e, &err),
                 WF_OK);
    cr_expect_str_eq(wf_expr_name(e, 0), "zero");
    cr_expect_str_eq(wf_expr_name(e, 2), "nmae");
    cr_expect_null(wf_expr_name(e, 5));
    cr_expect_eq(wf_expr_check_names(e, &scope, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "column 12 ") != NULL, "%s", err.text);
    cr_expect(strstr(err.text, "unknown name 'nmae'") != NULL, "%s", err.text);
    wf_expr_free(e);
    cr_assert_eq(wf_expr_parse("M / zero + device.cu_count", "w", &e, &err), WF_OK);
    cr_expect_eq(wf_expr_check_names(e, &scope, &err), WF_OK, "%s", err.text);
    wf_expr_free(e);
}

Test(expr, an_error_of_a_scope_keeps_its_status)
{
    struct wf_value v;
    struct wf_error err = { .text = "" };
    cr_assert_eq(evaluate("1 + broken", &v, &err), WF_EIO);
    cr_assert(strstr(err.text, "column 5") != NULL &&
              strstr(err.text, "is gone") != NULL);
}

static enum wf_status as_i64(const char *text, int64_t min, int64_t max, int64_t *ret)
{
    struct wf_expr *e = NULL;
    cr_assert_eq(wf_expr_parse(text, "test", &e, NULL), WF_OK);
    enum wf_status st = wf_expr_eval_i64(e, &scope, min, max, ret, NULL);
    wf_expr_free(e);
    return st;
}

Test(expr, an_integer_result_has_a_range)
{
    int64_t i = 77;
    cr_expect_eq(as_i64("10", 0, 10, &i), WF_OK);
    cr_expect_eq(i, 10);
    cr_expect_eq(as_i64("11", 0, 10, &i), WF_ERANGE);
    cr_expect_eq(as_i64("-1", 0, 10, &i), WF_ERANGE);
    cr_expect_eq(as_i64("alpha", 0, 10, &i), WF_EINVAL);
    cr_expect_eq(as_i64("a_type", 0, 10, &i), WF_EINVAL);
    cr_expect_eq(as_i64("1e300", 0, 10, &i), WF_EINVAL);
    cr_expect_eq(i, 10, "outputs are set on success only");
    cr_expect_eq(as_i64("alpha * 8", 0, 10, &i), WF_OK);
    cr_expect_eq(i, 4);
}

Test(expr, a_condition_is_an_integer)
{
    struct wf_expr *e = NULL;
    bool b = false;
    cr_assert_eq(wf_expr_parse("M > 5", "test", &e, NULL), WF_OK);
    cr_expect_eq(wf_expr_eval_bool(e, &scope, &b, NULL), WF_OK);
    cr_expect(b);
    wf_expr_free(e);
    cr_assert_eq(wf_expr_parse("alpha", "test", &e, NULL), WF_OK);
    cr_expect_eq(wf_expr_eval_bool(e, &scope, &b, NULL), WF_EINVAL);
    wf_expr_free(e);
    wf_expr_free(NULL);
}
