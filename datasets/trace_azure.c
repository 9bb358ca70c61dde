/* Rows of the Azure LLM inference traces: "2023-11-16 18:15:46.6805900,374,44". The
 * time is UTC; some years' files write "+00:00" behind it, no other offset is taken. */
#include "datasets/trace_rows.h"

#include "core/buf.h"
#include "core/parse.h"

#include <stdlib.h>
#include <string.h>

/* Reads exactly n digits at *p. */
static bool digits(const char **p, int n, int64_t *ret)
{
    int64_t v = 0;
    for (int i = 0; i < n; i++) {
        char c = (*p)[i];
        if (c < '0' || c > '9') {
            return false;
        }
        v = v * 10 + (c - '0');
    }
    *p += n;
    *ret = v;
    return true;
}

static bool literal(const char **p, char c)
{
    if (**p != c) {
        return false;
    }
    (*p)++;
    return true;
}

/* Days from 1970-01-01 of a proleptic Gregorian date, years from March. */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
    if (m <= 2) {
        y--;
    }
    const int64_t era = y / 400, yoe = y % 400;
    const int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static int64_t days_in_month(int64_t y, int64_t m)
{
    static const int64_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    const bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return days[m - 1] + (m == 2 && leap ? 1 : 0);
}

static bool parse_date(const char **p, int64_t *ret_days)
{
    int64_t y, m, d;
    if (!digits(p, 4, &y) || !literal(p, '-') || !digits(p, 2, &m) ||
        !literal(p, '-') || !digits(p, 2, &d)) {
        return false;
    }
    if (y < 1970 || y > 2200 || m < 1 || m > 12 || d < 1 || d > days_in_month(y, m)) {
        return false;
    }
    *ret_days = days_from_civil(y, m, d);
    return true;
}

/* ".6805900": one to nine digits. */
static bool parse_fraction(const char **p, int64_t *ret_ns)
{
    int64_t ns = 0, scale = 100000000;
    int n = 0;
    if (!literal(p, '.')) {
        *ret_ns = 0;
        return true;
    }
    for (; **p >= '0' && **p <= '9' && n < 9; n++) {
        ns += (**p - '0') * scale;
        scale /= 10;
        (*p)++;
    }
    *ret_ns = ns;
    return n > 0;
}

static bool parse_clock(const char **p, int64_t *ret_ns)
{
    int64_t h, m, s, fraction;
    if (!digits(p, 2, &h) || !literal(p, ':') || !digits(p, 2, &m) ||
        !literal(p, ':') || !digits(p, 2, &s) || !parse_fraction(p, &fraction)) {
        return false;
    }
    if (h > 23 || m > 59 || s > 59) {
        return false;
    }
    *ret_ns = ((h * 60 + m) * 60 + s) * 1000000000 + fraction;
    return true;
}

static bool parse_timestamp(const char *text, int64_t *ret_ns)
{
    int64_t days, clock;
    const char *p = text;
    if (!parse_date(&p, &days) || !literal(&p, ' ') || !parse_clock(&p, &clock)) {
        return false;
    }
    if (*p != '\0' && strcmp(p, "+00:00") != 0) {
        return false;
    }
    *ret_ns = days * 86400 * 1000000000 + clock;
    return true;
}

static enum wf_status parse_fields(char *time,
                                   char *prompt,
                                   struct wf_request *ret,
                                   struct wf_error *err)
{
    char *output = strchr(prompt, ',');
    if (!output || strchr(output + 1, ',')) {
        return wf_errorf(err, WF_EPARSE, "a row has three fields: " WF_AZURE_HEADER);
    }
    *output++ = '\0';
    struct wf_request r = { 0 };
    if (!parse_timestamp(time, &r.arrival_ns)) {
        return wf_errorf(
            err, WF_EPARSE,
            "TIMESTAMP \"%.40s\" is not like 2023-11-16 18:15:46.6805900 (UTC, "
            "1970 to 2200)",
            time);
    }
    enum wf_status st = wf_parse_i64(prompt, "ContextTokens", 0, WF_TRACE_MAX_TOKENS,
                                     &r.prompt_tokens, err);
    if (st == WF_OK) {
        st = wf_parse_i64(output, "GeneratedTokens", 0, WF_TRACE_MAX_TOKENS,
                          &r.output_tokens, err);
    }
    if (st == WF_OK) {
        *ret = r;
    }
    return st;
}

enum wf_status wf_azure_row(const char *line,
                            struct wf_request *ret,
                            struct wf_error *err)
{
    char *copy = wf_strdup(line);
    if (!copy) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a row");
    }
    char *prompt = strchr(copy, ',');
    enum wf_status st;
    if (!prompt) {
        st = wf_errorf(err, WF_EPARSE, "a row has three fields: " WF_AZURE_HEADER);
    } else {
        *prompt++ = '\0';
        st = parse_fields(copy, prompt, ret, err);
    }
    free(copy);
    return st;
}
