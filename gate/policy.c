/* Reading a policy; what it says about a pair is in policy_apply.c. */
#include "gate/policy.h"

#include "core/buf.h"
#include "core/printable.h"
#include "gate/policy_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX  500
#define LIMIT_MAX 10.0
#define AGE_MAX   36500

static const char *const waivable_names[] = {
#define X(name, text) text,
    WF_GATE_WAIVABLE(X)
#undef X
};

static enum wf_status opt_glob(const struct wf_json *v,
                               const char *key,
                               const char **ret,
                               struct wf_error *err)
{
    *ret = "*";
    enum wf_status status = wf_json_opt_string(v, key, ret, err);
    if (status == WF_OK && (*ret)[0] == '\0') {
        status = wf_errorf(err, WF_EINVAL, "%s is empty; \"*\" fits all", key);
    }
    return status;
}

static enum wf_status read_margin(const struct wf_json *v,
                                  struct policy_margin *ret,
                                  struct wf_error *err)
{
    static const char *const keys[] = { "suite", "case",    "kernel", "d0",
                                        "d1",    "comment", NULL };
    const char *comment = "";
    enum wf_status status = wf_json_only_keys(v, keys, err);
    status = status == WF_OK ? opt_glob(v, "suite", &ret->suite, err) : status;
    status = status == WF_OK ? opt_glob(v, "case", &ret->case_name, err) : status;
    status = status == WF_OK ? opt_glob(v, "kernel", &ret->kernel, err) : status;
    status = status == WF_OK ? wf_json_opt_string(v, "comment", &comment, err) : status;
    status = status == WF_OK ? wf_json_get_f64(v, "d0", &ret->d0, err) : status;
    status = status == WF_OK ? wf_json_get_f64(v, "d1", &ret->d1, err) : status;
    if (status == WF_OK &&
        !(ret->d0 >= 0 && ret->d1 - ret->d0 >= 1e-5 && ret->d1 <= 1)) {
        status =
            wf_errorf(err, WF_EINVAL,
                      "d0 %g and d1 %g: 0 <= d0 < d1 <= 1 is wanted, at least 0.00001 "
                      "apart (0.02 is 2 %%)",
                      ret->d0, ret->d1);
    }
    return status;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "2026-12-31", a day that the calendar has. */
static bool is_date(const char *s)
{
    static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (strlen(s) != 10 || s[4] != '-' || s[7] != '-') {
        return false;
    }
    for (int i = 0; i < 10; i++) {
        if (i != 4 && i != 7 && !is_digit(s[i])) {
            return false;
        }
    }
    int year =
        (s[0] - '0') * 1000 + (s[1] - '0') * 100 + (s[2] - '0') * 10 + s[3] - '0';
    int month = (s[5] - '0') * 10 + s[6] - '0';
    int day = (s[8] - '0') * 10 + s[9] - '0';
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] &&
           (month != 2 || day <= 28 || leap);
}

static enum wf_status get_words(const struct wf_json *v,
                                const char *key,
                                const char **ret,
                                struct wf_error *err)
{
    enum wf_status status = wf_json_get_string(v, key, ret, err);
    if (status == WF_OK &&
        ((*ret)[0] == '\0' || strlen(*ret) > TEXT_MAX || !wf_is_printable(*ret))) {
        status = wf_errorf(err, WF_EINVAL,
                           "%s must be one printable line of 1 to %d characters", key,
                           TEXT_MAX);
    }
    return status;
}

static enum wf_status get_what(const struct wf_json *v,
                               enum wf_gate_waivable *ret,
                               struct wf_error *err)
{
    const char *text = NULL;
    enum wf_status status = wf_json_get_string(v, "verdict", &text, err);
    if (status != WF_OK) {
        return status;
    }
    for (int i = 0; i < WF_GATE_WAIVE_COUNT; i++) {
        if (strcmp(text, waivable_names[i]) == 0) {
            *ret = (enum wf_gate_waivable)i;
            return WF_OK;
        }
    }
    return wf_errorf(err, WF_EINVAL,
                     "verdict '%.40s' cannot be waived; slower, wrong, removed and "
                     "static can",
                     text);
}

static enum wf_status get_limit(const struct wf_json *v,
                                struct wf_gate_waiver *w,
                                struct wf_error *err)
{
    w->limit = (double)NAN;
    if (wf_json_find(v, "limit") == NULL) {
        return WF_OK;
    }
    enum wf_status status = wf_json_get_f64(v, "limit", &w->limit, err);
    if (status == WF_OK && !(w->limit > 0 && w->limit <= LIMIT_MAX)) {
        status =
            wf_errorf(err, WF_EINVAL,
                      "limit is %g; it takes more than 0, at most %g (0.05: waived "
                      "up to 5 %% slower)",
                      w->limit, LIMIT_MAX);
    }
    if (status == WF_OK && w->what != WF_GATE_WAIVE_SLOWER) {
        status = wf_errorf(err, WF_EINVAL,
                           "limit bounds how much slower: it has no meaning for '%s'",
                           waivable_names[w->what]);
    }
    return status;
}

static enum wf_status read_waiver(const struct wf_json *v,
                                  struct wf_gate_waiver *ret,
                                  struct wf_error *err)
{
    static const char *const keys[] = { "case",   "kernel",  "verdict", "author",
                                        "reason", "expires", "limit",   NULL };
    enum wf_status status = wf_json_only_keys(v, keys, err);
    status = status == WF_OK ? opt_glob(v, "case", &ret->case_glob, err) : status;
    status = status == WF_OK ? opt_glob(v, "kernel", &ret->kernel_glob, err) : status;
    status = status == WF_OK ? get_what(v, &ret->what, err) : status;
    status = status == WF_OK ? get_words(v, "author", &ret->author, err) : status;
    status = status == WF_OK ? get_words(v, "reason", &ret->reason, err) : status;
    status = status == WF_OK ? get_words(v, "expires", &ret->expires, err) : status;
    if (status == WF_OK && !is_date(ret->expires)) {
        status = wf_errorf(err, WF_EINVAL, "expires is '%.40s'; a day is 2026-12-31",
                           ret->expires);
    }
    return status == WF_OK ? get_limit(v, ret, err) : status;
}

static enum wf_status read_margins(struct wf_gate_policy *p,
                                   const struct wf_json *list,
                                   struct wf_error *err)
{
    p->margin = wf_calloc(wf_json_count(list) + 1, sizeof(*p->margin));
    if (p->margin == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a policy");
    }
    for (const struct wf_json *v = wf_json_first(list); v != NULL;
         v = wf_json_next(v)) {
        if (read_margin(v, &p->margin[p->margin_count], err) != WF_OK) {
            return wf_error_prefix(err, "margins[%zu]", p->margin_count);
        }
        p->margin_count++;
    }
    return WF_OK;
}

static enum wf_status read_waivers(struct wf_gate_policy *p,
                                   const struct wf_json *list,
                                   struct wf_error *err)
{
    p->waiver = wf_calloc(wf_json_count(list) + 1, sizeof(*p->waiver));
    if (p->waiver == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a policy");
    }
    for (const struct wf_json *v = wf_json_first(list); v != NULL;
         v = wf_json_next(v)) {
        if (read_waiver(v, &p->waiver[p->waiver_count], err) != WF_OK) {
            return wf_error_prefix(err, "waivers[%zu]", p->waiver_count);
        }
        p->waiver_count++;
    }
    return WF_OK;
}

static enum wf_status read_baseline(struct wf_gate_policy *p,
                                    const struct wf_json *v,
                                    struct wf_error *err)
{
    static const char *const keys[] = { "max_age_days", "ancestor", NULL };
    int64_t days = 0;
    enum wf_status status = wf_json_only_keys(v, keys, err);
    status =
        status == WF_OK ? wf_json_opt_bool(v, "ancestor", &p->ancestor, err) : status;
    status = status == WF_OK
                 ? wf_json_opt_i64(v, "max_age_days", 1, AGE_MAX, &days, err)
                 : status;
    p->max_age_days = (int)days;
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "baseline");
}

static enum wf_status read_removed(struct wf_gate_policy *p,
                                   const struct wf_json *v,
                                   struct wf_error *err)
{
    const char *removed = "told";
    enum wf_status status = wf_json_opt_string(v, "removed", &removed, err);
    p->removed_is_red = strcmp(removed, "red") == 0;
    if (status == WF_OK && !p->removed_is_red && strcmp(removed, "told") != 0) {
        status = wf_errorf(err, WF_EINVAL, "removed is '%.40s'; it takes told or red",
                           removed);
    }
    return status;
}

/* The member of that type, or NULL. */
static enum wf_status opt_member(const struct wf_json *v,
                                 const char *key,
                                 enum wf_json_type type,
                                 const struct wf_json **ret,
                                 struct wf_error *err)
{
    *ret = wf_json_find(v, key);
    if (*ret != NULL && wf_json_type(*ret) != type) {
        return wf_errorf(err, WF_EPARSE, "%s must be %s, not %s", key,
                         wf_json_type_name(type),
                         wf_json_type_name(wf_json_type(*ret)));
    }
    return WF_OK;
}

static enum wf_status read_lists(struct wf_gate_policy *p,
                                 const struct wf_json *v,
                                 struct wf_error *err)
{
    const struct wf_json *margins = NULL, *waivers = NULL, *baseline = NULL;
    enum wf_status status = opt_member(v, "margins", WF_JSON_ARRAY, &margins, err);
    if (status == WF_OK) {
        status = opt_member(v, "waivers", WF_JSON_ARRAY, &waivers, err);
    }
    if (status == WF_OK) {
        status = opt_member(v, "baseline", WF_JSON_OBJECT, &baseline, err);
    }
    if (status == WF_OK) {
        status = opt_member(v, "static", WF_JSON_OBJECT, &p->statics, err);
    }
    if (status == WF_OK && margins != NULL) {
        status = read_margins(p, margins, err);
    }
    if (status == WF_OK && waivers != NULL) {
        status = read_waivers(p, waivers, err);
    }
    return status == WF_OK && baseline != NULL ? read_baseline(p, baseline, err)
                                               : status;
}

static enum wf_status read_policy(struct wf_gate_policy *p, struct wf_error *err)
{
    static const char *const keys[] = { "schema",   "comment", "strict",
                                        "removed",  "margins", "waivers",
                                        "baseline", "static",  NULL };
    const struct wf_json *v = p->json;
    const char *schema = "", *comment = "";
    if (wf_json_type(v) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EPARSE, "a policy is a JSON object");
    }
    enum wf_status status = wf_json_get_string(v, "schema", &schema, err);
    if (status == WF_OK && strcmp(schema, WF_GATE_POLICY_SCHEMA) != 0) {
        status = wf_errorf(err, WF_EPARSE, "schema is '%.40s', wanted '%s'", schema,
                           WF_GATE_POLICY_SCHEMA);
    }
    status = status == WF_OK ? wf_json_only_keys(v, keys, err) : status;
    status = status == WF_OK ? wf_json_opt_string(v, "comment", &comment, err) : status;
    status = status == WF_OK ? wf_json_opt_bool(v, "strict", &p->strict, err) : status;
    status = status == WF_OK ? read_removed(p, v, err) : status;
    return status == WF_OK ? read_lists(p, v, err) : status;
}

enum wf_status wf_gate_policy_parse(const struct wf_json *json,
                                    const char *source,
                                    struct wf_gate_policy **ret,
                                    struct wf_error *err)
{
    struct wf_gate_policy *p = wf_calloc(1, sizeof(*p));
    if (p == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a policy");
    }
    enum wf_status status = WF_OK;
    if (json != NULL && wf_json_type(json) != WF_JSON_NULL) {
        status = wf_json_copy(json, &p->json, err);
        if (status == WF_OK && read_policy(p, err) != WF_OK) {
            status = wf_error_prefix(err, "%s", source);
        }
    }
    if (status != WF_OK) {
        wf_gate_policy_free(p);
        return status;
    }
    *ret = p;
    return WF_OK;
}

enum wf_status wf_gate_policy_read(const char *path,
                                   struct wf_gate_policy **ret,
                                   struct wf_error *err)
{
    struct wf_json *json = NULL;
    enum wf_status status = wf_json_parse_file(path, &json, err);
    if (status == WF_OK) {
        status = wf_gate_policy_parse(json, path, ret, err);
    }
    wf_json_free(json);
    return status;
}

void wf_gate_policy_free(struct wf_gate_policy *p)
{
    if (p != NULL) {
        free(p->margin);
        free(p->waiver);
        wf_json_free(p->json);
        free(p);
    }
}
