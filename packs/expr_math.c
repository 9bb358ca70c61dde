/* Arithmetic of pack expressions.
 *
 * Nothing wraps: an integer result that does not fit, a division by zero and a double
 * result that is not finite are reasons, never values. */
#include "packs/expr_math.h"

#include <math.h>
#include <string.h>

static const char overflow[] = "result does not fit a 64-bit integer";
static const char by_zero[] = "division by zero";

static struct wf_value int_value(int64_t i)
{
    return (struct wf_value){ .kind = WF_VALUE_INT, .i = i };
}

static const char *set_int(struct wf_value *ret, bool overflowed, int64_t i)
{
    if (overflowed) {
        return overflow;
    }
    *ret = int_value(i);
    return NULL;
}

static const char *set_double(struct wf_value *ret, double d)
{
    if (!isfinite(d)) {
        return "result is not a finite number";
    }
    *ret = (struct wf_value){ .kind = WF_VALUE_DOUBLE, .d = d };
    return NULL;
}

static bool is_number(const struct wf_value *v)
{
    return v->kind == WF_VALUE_INT || v->kind == WF_VALUE_DOUBLE;
}

static double as_double(const struct wf_value *v)
{
    return v->kind == WF_VALUE_INT ? (double)v->i : v->d;
}

static const char *divide(int64_t a, int64_t b, struct wf_value *ret)
{
    if (b == 0) {
        return by_zero;
    }
    if (a == INT64_MIN && b == -1) {
        return overflow;
    }
    *ret = int_value(a / b);
    return NULL;
}

static const char *modulo(int64_t a, int64_t b, struct wf_value *ret)
{
    if (b == 0) {
        return by_zero;
    }
    *ret = int_value(b == -1 ? 0 : a % b); /* INT64_MIN % -1 traps */
    return NULL;
}

static const char *int_arithmetic(enum expr_op op,
                                  int64_t a,
                                  int64_t b,
                                  struct wf_value *ret)
{
    int64_t r = 0;
    if (op == EXPR_ADD) {
        bool over = __builtin_add_overflow(a, b, &r);
        return set_int(ret, over, r);
    }
    if (op == EXPR_SUB) {
        bool over = __builtin_sub_overflow(a, b, &r);
        return set_int(ret, over, r);
    }
    if (op == EXPR_MUL) {
        bool over = __builtin_mul_overflow(a, b, &r);
        return set_int(ret, over, r);
    }
    return op == EXPR_DIV ? divide(a, b, ret) : modulo(a, b, ret);
}

static const char *double_arithmetic(enum expr_op op,
                                     double a,
                                     double b,
                                     struct wf_value *ret)
{
    if (op == EXPR_ADD) {
        return set_double(ret, a + b);
    }
    if (op == EXPR_SUB) {
        return set_double(ret, a - b);
    }
    if (op == EXPR_MUL) {
        return set_double(ret, a * b);
    }
    if (op == EXPR_MOD) {
        return "% wants integers";
    }
    return b < 0 || b > 0 ? set_double(ret, a / b) : by_zero;
}

/* -1, 0, 1; numbers only, 2 when one is not a number. */
static int order(const struct wf_value *a, const struct wf_value *b)
{
    if (a->kind == WF_VALUE_INT && b->kind == WF_VALUE_INT) {
        return (a->i > b->i) - (a->i < b->i);
    }
    double x = as_double(a), y = as_double(b);
    if (isnan(x) || isnan(y)) {
        return 2;
    }
    return (x > y) - (x < y);
}

static bool holds(enum expr_op op, int order)
{
    if (order == 2) {
        return op == EXPR_NE;
    }
    return (op == EXPR_EQ && order == 0) || (op == EXPR_NE && order != 0) ||
           (op == EXPR_LT && order < 0) || (op == EXPR_LE && order <= 0) ||
           (op == EXPR_GT && order > 0) || (op == EXPR_GE && order >= 0);
}

static const char *compare_strings(enum expr_op op,
                                   const char *a,
                                   const char *b,
                                   struct wf_value *ret)
{
    if (op != EXPR_EQ && op != EXPR_NE) {
        return "strings compare with == and != only";
    }
    *ret = int_value(holds(op, strcmp(a, b) != 0));
    return NULL;
}

static bool is_comparison(enum expr_op op)
{
    return op == EXPR_EQ || op == EXPR_NE || op == EXPR_LT || op == EXPR_LE ||
           op == EXPR_GT || op == EXPR_GE;
}

const char *expr_binary(enum expr_op op,
                        const struct wf_value *a,
                        const struct wf_value *b,
                        struct wf_value *ret)
{
    if (a->kind == WF_VALUE_INTS || b->kind == WF_VALUE_INTS) {
        return "an array is used only through max() min() sum() count()";
    }
    if (is_comparison(op) && a->kind == WF_VALUE_STRING && b->kind == WF_VALUE_STRING) {
        return compare_strings(op, a->s, b->s, ret);
    }
    if (!is_number(a) || !is_number(b)) {
        return is_comparison(op) ? "a string does not compare with a number"
                                 : "operator wants numbers, not a string";
    }
    if (is_comparison(op)) {
        *ret = int_value(holds(op, order(a, b)));
        return NULL;
    }
    if (a->kind == WF_VALUE_INT && b->kind == WF_VALUE_INT) {
        return int_arithmetic(op, a->i, b->i, ret);
    }
    return double_arithmetic(op, as_double(a), as_double(b), ret);
}

const char *expr_negate(const struct wf_value *a, struct wf_value *ret)
{
    if (a->kind == WF_VALUE_INT) {
        return set_int(ret, a->i == INT64_MIN, a->i == INT64_MIN ? 0 : -a->i);
    }
    if (a->kind == WF_VALUE_DOUBLE) {
        return set_double(ret, -a->d);
    }
    return "unary - wants a number";
}

const char *expr_truth(const struct wf_value *v, bool *ret)
{
    if (v->kind != WF_VALUE_INT) {
        return "a condition is an integer; compare with something";
    }
    *ret = v->i != 0;
    return NULL;
}

/* Both wanted as integers, b positive. */
static const char *two_ints(const struct wf_value *args)
{
    if (args[0].kind != WF_VALUE_INT || args[1].kind != WF_VALUE_INT) {
        return "function wants integers";
    }
    return args[1].i > 0 ? NULL : args[1].i == 0 ? by_zero : "divisor is negative";
}

static const char *ceil_div(const struct wf_value *args, struct wf_value *ret)
{
    const char *why = two_ints(args);
    if (why != NULL) {
        return why;
    }
    int64_t a = args[0].i, b = args[1].i;
    *ret = int_value(a / b + (a % b > 0));
    return NULL;
}

static const char *round_up(const struct wf_value *args, struct wf_value *ret)
{
    struct wf_value q;
    const char *why = ceil_div(args, &q);
    return why != NULL ? why : int_arithmetic(EXPR_MUL, q.i, args[1].i, ret);
}

static const char *extreme_of_array(const struct wf_value *a,
                                    int sign,
                                    struct wf_value *ret)
{
    if (a->n == 0) {
        return "array is empty";
    }
    int64_t best = a->ints[0];
    for (size_t i = 1; i < a->n; i++) {
        bool better = sign > 0 ? a->ints[i] > best : a->ints[i] < best;
        best = better ? a->ints[i] : best;
    }
    *ret = int_value(best);
    return NULL;
}

static const char *extreme(const struct wf_value *args,
                           size_t count,
                           int sign,
                           struct wf_value *ret)
{
    if (count == 1 && args[0].kind == WF_VALUE_INTS) {
        return extreme_of_array(&args[0], sign, ret);
    }
    bool all_int = true;
    size_t best = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_number(&args[i])) {
            return "min() and max() want numbers or one array";
        }
        all_int = all_int && args[i].kind == WF_VALUE_INT;
        int o = order(&args[i], &args[best]);
        best = o == sign ? i : best;
    }
    if (all_int) {
        *ret = args[best];
        return NULL;
    }
    return set_double(ret, as_double(&args[best]));
}

static const char *sum(const struct wf_value *a, struct wf_value *ret)
{
    if (a->kind != WF_VALUE_INTS) {
        return "sum() wants an array of the case";
    }
    int64_t total = 0;
    for (size_t i = 0; i < a->n; i++) {
        if (__builtin_add_overflow(total, a->ints[i], &total)) {
            return overflow;
        }
    }
    *ret = int_value(total);
    return NULL;
}

static const char *log2_ceil(const struct wf_value *a, struct wf_value *ret)
{
    if (a->kind != WF_VALUE_INT || a->i <= 0) {
        return "log2_ceil() wants a positive integer";
    }
    int n = a->i == 1 ? 0 : 64 - __builtin_clzll((unsigned long long)a->i - 1);
    *ret = int_value(n);
    return NULL;
}

static const char *to_int(const struct wf_value *a, struct wf_value *ret)
{
    if (a->kind == WF_VALUE_INT) {
        *ret = *a;
        return NULL;
    }
    if (a->kind != WF_VALUE_DOUBLE) {
        return "int() wants a number";
    }
    double t = trunc(a->d);
    /* 2^63 is the first double that does not fit; NaN fails both. */
    if (!(t >= -9223372036854775808.0 && t < 9223372036854775808.0)) {
        return overflow;
    }
    *ret = int_value((int64_t)t);
    return NULL;
}

static const char *count_of(const struct wf_value *a, struct wf_value *ret)
{
    if (a->kind != WF_VALUE_INTS) {
        return "count() wants an array of the case";
    }
    *ret = int_value((int64_t)a->n);
    return NULL;
}

static const char *absolute(const struct wf_value *a, struct wf_value *ret)
{
    if (a->kind == WF_VALUE_DOUBLE) {
        return set_double(ret, fabs(a->d));
    }
    if (a->kind == WF_VALUE_INT && a->i < 0) {
        return expr_negate(a, ret);
    }
    *ret = *a;
    return a->kind == WF_VALUE_INT ? NULL : "abs() wants a number";
}

static const char *to_double(const struct wf_value *a, struct wf_value *ret)
{
    return is_number(a) ? set_double(ret, as_double(a)) : "double() wants a number";
}

const char *expr_call(enum expr_function f,
                      const struct wf_value *args,
                      size_t count,
                      struct wf_value *ret)
{
    switch (f) {
    case FUNCTION_ceil_div:
        return ceil_div(args, ret);
    case FUNCTION_round_up:
        return round_up(args, ret);
    case FUNCTION_min:
        return extreme(args, count, -1, ret);
    case FUNCTION_max:
        return extreme(args, count, 1, ret);
    case FUNCTION_sum:
        return sum(args, ret);
    case FUNCTION_count:
        return count_of(args, ret);
    case FUNCTION_abs:
        return absolute(args, ret);
    case FUNCTION_log2_ceil:
        return log2_ceil(args, ret);
    case FUNCTION_int:
        return to_int(args, ret);
    case FUNCTION_double:
        return to_double(args, ret);
    case FUNCTION_COUNT:
        break;
    }
    return "no such function";
}
