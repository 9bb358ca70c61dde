/* Thresholds of the static gate: the policy's and the built-in ones. */
#include "core/buf.h"
#include "core/parse.h"
#include "gate/static_internal.h"

#include <math.h>
#include <stdlib.h>

static const struct static_rule builtin[] = {
#define STATIC_RULE(figure, most_increase, most_ratio, red, why) \
    { figure, "*", (double)(most_increase), (double)(most_ratio), red, true, why },
#include "gate/static_rules.def"
#undef STATIC_RULE
};

enum {
    BUILTIN_COUNT = sizeof(builtin) / sizeof(builtin[0]),
    MAX_RULES = 1000
};

static enum wf_status read_limit(const struct wf_json *v,
                                 const char *key,
                                 double *ret,
                                 struct wf_error *err)
{
    *ret = (double)NAN;
    enum wf_status st = wf_json_opt_f64(v, key, ret, err);
    if (st == WF_OK && wf_json_find(v, key) != NULL && !(*ret >= 0 && isfinite(*ret))) {
        st = wf_errorf(err, WF_EPARSE, "\"%s\" is a number from 0", key);
    }
    return st;
}

static enum wf_status read_rule(const struct wf_json *v,
                                struct static_rule *ret,
                                struct wf_error *err)
{
    static const char *const keys[] = { "figure",     "kernel", "most_increase",
                                        "most_ratio", "red",    NULL };
    *ret = (struct static_rule){ .figure = "*", .kernel = "*", .why = "" };
    if (wf_json_type(v) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EPARSE, "a rule is an object");
    }
    enum wf_status st = wf_json_only_keys(v, keys, err);
    st = st == WF_OK ? wf_json_get_string(v, "figure", &ret->figure, err) : st;
    st = st == WF_OK ? wf_json_opt_string(v, "kernel", &ret->kernel, err) : st;
    st = st == WF_OK ? read_limit(v, "most_increase", &ret->most_increase, err) : st;
    st = st == WF_OK ? read_limit(v, "most_ratio", &ret->most_ratio, err) : st;
    st = st == WF_OK ? wf_json_opt_bool(v, "red", &ret->red, err) : st;
    if (st == WF_OK && isnan(ret->most_increase) && isnan(ret->most_ratio)) {
        ret->most_increase = 0;
    }
    return st;
}

static enum wf_status read_rules(struct wf_static_rules *r,
                                 const struct wf_json *list,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (const struct wf_json *v = wf_json_first(list); v != NULL && st == WF_OK;
         v = wf_json_next(v)) {
        st = read_rule(v, &r->rule[r->count], err);
        if (st != WF_OK) {
            return wf_error_prefix(err, "static.rules[%zu]", r->count);
        }
        r->count++;
    }
    return st;
}

/* The members of "static"; *ret_list NULL: no rules. */
static enum wf_status read_members(const struct wf_json *json,
                                   const struct wf_json **ret_list,
                                   bool *ret_defaults,
                                   struct wf_error *err)
{
    static const char *const keys[] = { "defaults", "rules", NULL };
    *ret_list = NULL;
    *ret_defaults = true;
    if (json == NULL) {
        return WF_OK;
    }
    if (wf_json_type(json) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EPARSE, "static is an object with \"rules\"");
    }
    enum wf_status st = wf_json_only_keys(json, keys, err);
    st = st == WF_OK ? wf_json_opt_bool(json, "defaults", ret_defaults, err) : st;
    const struct wf_json *list = wf_json_find(json, "rules");
    if (st == WF_OK && list != NULL && wf_json_type(list) != WF_JSON_ARRAY) {
        st = wf_errorf(err, WF_EPARSE, "static.rules is an array");
    }
    if (st == WF_OK && list != NULL && wf_json_count(list) > MAX_RULES) {
        st = wf_errorf(err, WF_EPARSE, "static.rules: %zu rules, at most %d",
                       wf_json_count(list), MAX_RULES);
    }
    *ret_list = list;
    return st;
}

enum wf_status wf_static_rules_create(const struct wf_json *json,
                                      struct wf_static_rules **ret,
                                      struct wf_error *err)
{
    struct wf_static_rules *r = wf_calloc(1, sizeof(*r));
    const struct wf_json *list = NULL;
    bool defaults = true;
    enum wf_status st = r == NULL ? WF_ENOMEM : WF_OK;
    if (st == WF_OK && json != NULL) {
        st = wf_json_copy(json, &r->json, err);
    }
    if (st == WF_OK) {
        st = read_members(r->json, &list, &defaults, err);
    }
    if (st == WF_OK) {
        r->rule = wf_calloc((list != NULL ? wf_json_count(list) : 0) + BUILTIN_COUNT,
                            sizeof(*r->rule));
        st = r->rule == NULL ? WF_ENOMEM : WF_OK;
    }
    st = st == WF_OK && list != NULL ? read_rules(r, list, err) : st;
    for (size_t i = 0; st == WF_OK && defaults && i < BUILTIN_COUNT; i++) {
        r->rule[r->count++] = builtin[i];
    }
    if (st == WF_OK) {
        *ret = r;
        return WF_OK;
    }
    wf_static_rules_free(r);
    return st == WF_ENOMEM ? wf_errorf(err, st, "no memory for rules") : st;
}

void wf_static_rules_free(struct wf_static_rules *r)
{
    if (r != NULL) {
        free(r->rule);
        wf_json_free(r->json);
        free(r);
    }
}

static bool fits(const struct static_rule *rule, const struct wf_static_figure *f)
{
    bool kernel = wf_glob_match(rule->kernel, f->kernel) ||
                  (f->symbol[0] != '\0' && wf_glob_match(rule->kernel, f->symbol));
    return kernel && wf_glob_match(rule->figure, f->name);
}

const struct static_rule *static_rule_for(const struct wf_static_rules *r,
                                          const struct wf_static_figure *f)
{
    for (size_t i = 0; i < r->count; i++) {
        if (fits(&r->rule[i], f)) {
            bool counts = f->worse != 0 || !r->rule[i].builtin;
            return counts ? &r->rule[i] : NULL;
        }
    }
    return NULL;
}
