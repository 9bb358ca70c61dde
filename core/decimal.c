/* Doubles to and from decimal text, whatever the process's locale is.
 *
 * Reading: short literals are converted exactly in arithmetic (both the digits and the
 * power of ten are exact doubles, so the one division or product rounds once); all
 * others go through strtod_l. Writing: the shortest digits that read back. The C locale
 * is a static object of the C library; newlocale never allocates for it. */
#include "core/decimal.h"

#include "core/parse.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_DIGITS = 15,
    EXACT_POWER = 22
};

static const double powers_of_ten[EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22
};

static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale_object;

static void c_locale_make(void)
{
    c_locale_object = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t c_locale(void)
{
    (void)pthread_once(&c_locale_once, c_locale_make);
    return c_locale_object;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t skip_digits(const char *text, size_t n, size_t i)
{
    while (i < n && is_digit(text[i])) {
        i++;
    }
    return i;
}

/* End of the exponent that starts at i, or i if what is there is not one. */
static size_t skip_exponent(const char *text, size_t n, size_t i)
{
    size_t j = i;

    if (j >= n || (text[j] != 'e' && text[j] != 'E')) {
        return i;
    }
    j++;
    if (j < n && (text[j] == '+' || text[j] == '-')) {
        j++;
    }
    return j < n && is_digit(text[j]) ? skip_digits(text, n, j) : i;
}

size_t wf_decimal_scan(const char *text, size_t n, bool *ret_is_integer)
{
    size_t i = n > 0 && text[0] == '-' ? 1 : 0;
    size_t whole;

    *ret_is_integer = true;
    if (i >= n || !is_digit(text[i])) {
        return 0;
    }
    i = text[i] == '0' ? i + 1 : skip_digits(text, n, i);
    whole = i;
    if (i + 1 < n && text[i] == '.' && is_digit(text[i + 1])) {
        i = skip_digits(text, n, i + 1);
    }
    i = skip_exponent(text, n, i);
    *ret_is_integer = i == whole;
    return i;
}

/* Clinger's fast path; false when the literal is not short enough to be exact. */
static bool exact_short(const char *text, size_t n, double *ret)
{
    size_t i = text[0] == '-' ? 1 : 0;
    uint64_t digits = 0;
    int count = 0;
    int fraction = 0;
    bool after_point = false;
    double v;

    for (; i < n; i++) {
        if (text[i] == '.') {
            after_point = true;
            continue;
        }
        if (!is_digit(text[i]) || ++count > EXACT_DIGITS) {
            return false;
        }
        digits = digits * 10 + (uint64_t)(text[i] - '0');
        fraction += after_point ? 1 : 0;
    }
    v = (double)digits / powers_of_ten[fraction];
    *ret = text[0] == '-' ? -v : v;
    return true;
}

bool wf_decimal_to_f64(const char *text, size_t n, double *ret)
{
    char copy[WF_DECIMAL_MAX_CHARS + 1];
    double v;

    if (exact_short(text, n, ret)) {
        return true;
    }
    if (n > WF_DECIMAL_MAX_CHARS) {
        return false;
    }
    memcpy(copy, text, n);
    copy[n] = '\0';
    v = strtod_l(copy, NULL, c_locale());
    if (!isfinite(v)) {
        return false;
    }
    *ret = v;
    return true;
}

static bool reads_back(const char *text, double v)
{
    return strtod_l(text, NULL, c_locale()) == v;
}

/* Just above a power of two the gap upwards is twice the gap downwards, so the nearest
 * 16 digits may lie outside the gap below while the next 16 digits above are inside. */
static bool next_sixteen_up(double v, char *buf, size_t n)
{
    char digits[32];
    long exponent;
    uint64_t m = 0;

    (void)snprintf(digits, sizeof digits, "%.15e", fabs(v));
    exponent = strtol(strchr(digits, 'e') + 1, NULL, 10);
    for (const char *p = digits; *p != 'e'; p++) {
        if (is_digit(*p)) {
            m = m * 10 + (uint64_t)(*p - '0');
        }
    }
    (void)snprintf(digits, sizeof digits, "%s%" PRIu64 "e%ld", v < 0 ? "-" : "", m + 1,
                   exponent - 15);
    if (!reads_back(digits, v)) {
        return false;
    }
    (void)snprintf(buf, n, "%s%" PRIu64 ".%015" PRIu64 "e%+03ld", v < 0 ? "-" : "",
                   (m + 1) / 1000000000000000u, (m + 1) % 1000000000000000u, exponent);
    return true;
}

/* Fifteen digits name any normal double that has a name of at most fifteen digits, and
 * %g drops trailing zeros; so only subnormals need the search from one digit on. */
static void shortest(double v, char *buf, size_t n)
{
    int exponent;
    int digits = fabs(v) < DBL_MIN ? 1 : 15;

    for (; digits < 17; digits++) {
        (void)snprintf(buf, n, "%.*g", digits, v);
        if (reads_back(buf, v)) {
            return;
        }
    }
    if (fabs(frexp(v, &exponent)) == 0.5 && next_sixteen_up(v, buf, n)) {
        return;
    }
    (void)snprintf(buf, n, "%.17g", v);
}

const char *wf_format_f64(double v, char *buf, size_t n)
{
    locale_t before;

    if (isnan(v)) {
        (void)snprintf(buf, n, "nan");
    } else if (isinf(v)) {
        (void)snprintf(buf, n, v < 0 ? "-inf" : "inf");
    } else if (fabs(v) < 9007199254740992.0 && v == floor(v)) {
        (void)snprintf(buf, n, "%s%" PRId64, v == 0 && signbit(v) ? "-" : "",
                       (int64_t)v);
    } else {
        before = uselocale(c_locale());
        shortest(v, buf, n);
        (void)uselocale(before);
    }
    return buf;
}
