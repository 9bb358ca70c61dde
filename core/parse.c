/* Strict text to number.
 *
 * Every function reads the whole text or fails; nothing is skipped, guessed or clamped,
 * and the result is written on success only. Errors name the field, quote the text and
 * say what is expected. */
#include "core/parse.h"

#include "core/decimal.h"

#include <inttypes.h>
#include <string.h>

/* How much of a bad text an error quotes. */
#define QUOTE "\"%.64s\""

/* Digits to a magnitude. Returns the number of digits read; *ret_overflow is set when
 * they do not fit. */
static size_t read_digits(const char *text, uint64_t *ret, bool *ret_overflow)
{
    uint64_t v = 0;
    size_t i = 0;

    *ret_overflow = false;
    for (; text[i] >= '0' && text[i] <= '9'; i++) {
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v)) {
            *ret_overflow = true;
        }
    }
    *ret = v;
    return i;
}

static enum wf_status missing_text(const char *what, struct wf_error *err)
{
    return wf_errorf(err, WF_EINVAL, "%s: a value is required, found nothing", what);
}

enum wf_status wf_parse_i64(const char *text,
                            const char *what,
                            int64_t min,
                            int64_t max,
                            int64_t *ret,
                            struct wf_error *err)
{
    bool overflow;
    bool negative;
    uint64_t magnitude;
    size_t digits;
    int64_t v;

    if (text == NULL || text[0] == '\0') {
        return missing_text(what, err);
    }
    negative = text[0] == '-';
    digits = read_digits(text + negative, &magnitude, &overflow);
    if (digits == 0 || text[digits + (size_t)negative] != '\0') {
        return wf_errorf(err, WF_EPARSE, "%s: " QUOTE " is not an integer", what, text);
    }
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        overflow = true;
    }
    v = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    if (overflow || v < min || v > max) {
        return wf_errorf(err, WF_ERANGE,
                         "%s: %.64s is out of range, must be from %" PRId64
                         " to %" PRId64,
                         what, text, min, max);
    }
    *ret = v;
    return WF_OK;
}

enum wf_status wf_parse_u64(const char *text,
                            const char *what,
                            uint64_t min,
                            uint64_t max,
                            uint64_t *ret,
                            struct wf_error *err)
{
    bool overflow;
    uint64_t v;
    size_t digits;

    if (text == NULL || text[0] == '\0') {
        return missing_text(what, err);
    }
    digits = read_digits(text, &v, &overflow);
    if (digits == 0 || text[digits] != '\0') {
        return wf_errorf(err, WF_EPARSE, "%s: " QUOTE " is not an unsigned integer",
                         what, text);
    }
    if (overflow || v < min || v > max) {
        return wf_errorf(err, WF_ERANGE,
                         "%s: %.64s is out of range, must be from %" PRIu64
                         " to %" PRIu64,
                         what, text, min, max);
    }
    *ret = v;
    return WF_OK;
}

static enum wf_status range_error_f64(const char *text,
                                      const char *what,
                                      double min,
                                      double max,
                                      struct wf_error *err)
{
    char low[32];
    char high[32];

    return wf_errorf(err, WF_ERANGE, "%s: %.64s is out of range, must be from %s to %s",
                     what, text, wf_format_f64(min, low, sizeof low),
                     wf_format_f64(max, high, sizeof high));
}

enum wf_status wf_parse_f64(const char *text,
                            const char *what,
                            double min,
                            double max,
                            double *ret,
                            struct wf_error *err)
{
    bool integer;
    size_t n;
    double v;

    if (text == NULL || text[0] == '\0') {
        return missing_text(what, err);
    }
    n = strlen(text);
    if (n > WF_DECIMAL_MAX_CHARS || wf_decimal_scan(text, n, &integer) != n) {
        return wf_errorf(err, WF_EPARSE, "%s: " QUOTE " is not a decimal number", what,
                         text);
    }
    if (!wf_decimal_to_f64(text, n, &v) || !(v >= min && v <= max)) {
        return range_error_f64(text, what, min, max, err);
    }
    *ret = v;
    return WF_OK;
}

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit duration_units[] = {
    { "ns", 1 },
    { "us", 1000 },
    { "ms", UINT64_C(1000000) },
    { "s", UINT64_C(1000000000) },
    { "m", UINT64_C(60000000000) },
    { "h", UINT64_C(3600000000000) },
};

static const struct unit byte_units[] = {
    { "", 1 },
    { "KiB", UINT64_C(1) << 10 },
    { "MiB", UINT64_C(1) << 20 },
    { "GiB", UINT64_C(1) << 30 },
    { "TiB", UINT64_C(1) << 40 },
};

/* A whole number directly followed by one of the units. EPARSE and ERANGE without text:
 * the caller knows what to say. */
static enum wf_status parse_with_unit(const char *text,
                                      const struct unit *units,
                                      size_t n,
                                      uint64_t *ret)
{
    bool overflow;
    uint64_t v;
    size_t digits = read_digits(text, &v, &overflow);

    for (size_t i = 0; digits > 0 && i < n; i++) {
        if (strcmp(text + digits, units[i].name) != 0) {
            continue;
        }
        if (overflow || __builtin_mul_overflow(v, units[i].factor, &v)) {
            return WF_ERANGE;
        }
        *ret = v;
        return WF_OK;
    }
    return WF_EPARSE;
}

enum wf_status wf_parse_duration_ns(const char *text,
                                    const char *what,
                                    int64_t *ret_ns,
                                    struct wf_error *err)
{
    enum wf_status status;
    uint64_t v = 0;

    if (text == NULL || text[0] == '\0') {
        return missing_text(what, err);
    }
    status = parse_with_unit(text, duration_units,
                             sizeof duration_units / sizeof duration_units[0], &v);
    if (status == WF_EPARSE) {
        return wf_errorf(err, status,
                         "%s: " QUOTE " is not a duration: a whole number and a unit "
                         "(ns, us, ms, s, m, h), as in 250ms",
                         what, text);
    }
    if (status != WF_OK || v > INT64_MAX) {
        return wf_errorf(err, WF_ERANGE, "%s: %.64s is too long, at most 292 years",
                         what, text);
    }
    *ret_ns = (int64_t)v;
    return WF_OK;
}

enum wf_status wf_parse_bytes(const char *text,
                              const char *what,
                              uint64_t *ret_bytes,
                              struct wf_error *err)
{
    enum wf_status status;

    if (text == NULL || text[0] == '\0') {
        return missing_text(what, err);
    }
    status = parse_with_unit(text, byte_units, sizeof byte_units / sizeof byte_units[0],
                             ret_bytes);
    if (status == WF_EPARSE) {
        return wf_errorf(err, status,
                         "%s: " QUOTE
                         " is not a size: a whole number of bytes, or with "
                         "KiB, MiB, GiB or TiB, as in 64KiB",
                         what, text);
    }
    if (status != WF_OK) {
        return wf_errorf(err, status, "%s: %.64s does not fit 64 bits", what, text);
    }
    return WF_OK;
}

bool wf_glob_match(const char *pattern, const char *text)
{
    const char *star = NULL; /* after the last star */
    const char *retry = NULL;

    while (*text != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

bool wf_mul_i64(int64_t a, int64_t b, int64_t *ret)
{
    int64_t v;

    if (__builtin_mul_overflow(a, b, &v)) {
        return false;
    }
    *ret = v;
    return true;
}

bool wf_add_i64(int64_t a, int64_t b, int64_t *ret)
{
    int64_t v;

    if (__builtin_add_overflow(a, b, &v)) {
        return false;
    }
    *ret = v;
    return true;
}
