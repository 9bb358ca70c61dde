/* Two versions' figures, one by one. */
#include "gate/static_internal.h"

#include "core/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- one figure --- */

struct change {
    const char *verdict;
    double limit; /* that the candidate may reach; NAN: no rule */
    bool red;
    const char *why;
};

static bool same_place(const struct wf_static_figure *a,
                       const struct wf_static_figure *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->kernel, b->kernel) == 0 &&
           strcmp(a->symbol, b->symbol) == 0 && strcmp(a->case_name, b->case_name) == 0;
}

/* How far a value may go: beyond every limit of the rule is too far, so the widest one
 * counts. */
static double allowed(const struct static_rule *rule, double base)
{
    double absolute = isnan(rule->most_increase) ? 0 : rule->most_increase;
    double relative = isnan(rule->most_ratio) ? 0 : rule->most_ratio * fabs(base);
    return absolute > relative ? absolute : relative;
}

static struct change judge(const struct static_rule *rule,
                           const struct wf_static_figure *base,
                           const struct wf_static_figure *cand)
{
    if (rule == NULL) {
        return (struct change){ "same", (double)NAN, false, "" };
    }
    int worse = cand->worse != 0 ? cand->worse : 1;
    double room = allowed(rule, base->value);
    double by = (cand->value - base->value) * worse;
    double limit = base->value + worse * room;
    if (by > room) {
        return (struct change){ "worse", limit, rule->red, rule->why };
    }
    return (struct change){ by < -room ? "better" : "same", limit, false, "" };
}

static enum wf_status set_number(struct wf_json *o,
                                 const char *key,
                                 double v,
                                 struct wf_error *err)
{
    return isfinite(v) ? wf_json_set_f64(o, key, v, err)
                       : wf_json_set_null(o, key, err);
}

static enum wf_status set_filled(struct wf_json *o,
                                 const char *key,
                                 const char *text,
                                 struct wf_error *err)
{
    return text[0] != '\0' ? wf_json_set_string(o, key, text, err) : WF_OK;
}

static enum wf_status push_entry(struct wf_json *entries,
                                 const struct wf_static_figure *f,
                                 double base,
                                 double cand,
                                 const struct change *c,
                                 struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st = wf_json_set_string(o, "kernel", f->kernel, err);
    st = st == WF_OK ? set_filled(o, "symbol", f->symbol, err) : st;
    st = st == WF_OK ? set_filled(o, "case", f->case_name, err) : st;
    st = st == WF_OK ? wf_json_set_string(o, "figure", f->name, err) : st;
    st = st == WF_OK ? set_number(o, "base", base, err) : st;
    st = st == WF_OK ? set_number(o, "candidate", cand, err) : st;
    st = st == WF_OK ? set_number(o, "limit", c->limit, err) : st;
    st = st == WF_OK ? wf_json_set_string(o, "verdict", c->verdict, err) : st;
    st = st == WF_OK ? wf_json_set_bool(o, "red", c->red, err) : st;
    st = st == WF_OK ? wf_json_set_string(o, "why", c->why, err) : st;
    if (st == WF_OK) {
        return wf_json_push_take(entries, o, err);
    }
    wf_json_free(o);
    return st;
}

/* --- all of them --- */

struct comparison {
    const struct wf_static_rules *rules;
    const struct wf_static_figure *base, *cand;
    size_t base_count, cand_count;
    size_t next; /* in base, where the next one is likely to be */
    bool *used;  /* of base */
    size_t compared;
    struct wf_json *entries;
};

static const struct wf_static_figure *find_base(struct comparison *c,
                                                const struct wf_static_figure *f)
{
    for (size_t i = 0; i < c->base_count; i++) {
        size_t at = (c->next + i) % c->base_count;
        if (!c->used[at] && same_place(&c->base[at], f)) {
            c->used[at] = true;
            c->next = at + 1;
            return &c->base[at];
        }
    }
    return NULL;
}

/* Whether the other side knows the kernel at all. */
static bool has_kernel(const struct wf_static_figure *list,
                       size_t n,
                       const struct wf_static_figure *f)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].kernel, f->kernel) == 0 &&
            strcmp(list[i].symbol, f->symbol) == 0 &&
            strcmp(list[i].case_name, f->case_name) == 0) {
            return true;
        }
    }
    return false;
}

static bool begins_kernel(const struct wf_static_figure *list, size_t i)
{
    return i == 0 || strcmp(list[i - 1].kernel, list[i].kernel) != 0 ||
           strcmp(list[i - 1].symbol, list[i].symbol) != 0 ||
           strcmp(list[i - 1].case_name, list[i].case_name) != 0;
}

/* A kernel that only one side has gives one entry, "figure": "*". */
static enum wf_status push_alone(struct comparison *c,
                                 const struct wf_static_figure *f,
                                 bool of_base,
                                 struct wf_error *err)
{
    struct wf_static_figure all = *f;
    struct change change = { "unknown", (double)NAN, false,
                             of_base ? "only the base has it"
                                     : "only the candidate has it" };
    all.name = WF_STATIC_NOTE;
    return push_entry(c->entries, &all, (double)NAN, (double)NAN, &change, err);
}

static enum wf_status push_note(struct comparison *c,
                                const struct wf_static_figure *f,
                                struct wf_error *err)
{
    struct change change = { "unknown", (double)NAN, false,
                             f->why != NULL ? f->why : "" };
    return push_entry(c->entries, f, (double)NAN, (double)NAN, &change, err);
}

static enum wf_status compare_one(struct comparison *c, size_t i, struct wf_error *err)
{
    const struct wf_static_figure *cand = &c->cand[i];
    if (strcmp(cand->name, WF_STATIC_NOTE) == 0) {
        return push_note(c, cand, err);
    }
    const struct wf_static_figure *base = find_base(c, cand);
    if (base == NULL) {
        bool known = has_kernel(c->base, c->base_count, cand);
        if (!known && begins_kernel(c->cand, i)) {
            return push_alone(c, cand, false, err);
        }
        if (!known || !isfinite(cand->value)) {
            return WF_OK;
        }
        struct change alone = { "unknown", (double)NAN, false,
                                "the base has no such figure" };
        return push_entry(c->entries, cand, (double)NAN, cand->value, &alone, err);
    }
    c->compared++;
    bool known = isfinite(base->value) && isfinite(cand->value);
    if (known) {
        const struct static_rule *rule = static_rule_for(c->rules, cand);
        struct change change = judge(rule, base, cand);
        return strcmp(change.verdict, "same") == 0
                   ? WF_OK
                   : push_entry(c->entries, cand, base->value, cand->value, &change,
                                err);
    }
    if (!isfinite(base->value) && !isfinite(cand->value)) {
        return WF_OK; /* neither is known: nothing changed that could be told */
    }
    const struct wf_static_figure *gap = isfinite(base->value) ? cand : base;
    struct change change = { "unknown", (double)NAN, false,
                             gap->why != NULL ? gap->why : "not known" };
    return push_entry(c->entries, cand, base->value, cand->value, &change, err);
}

static enum wf_status compare_rest(struct comparison *c, size_t i, struct wf_error *err)
{
    const struct wf_static_figure *base = &c->base[i];
    if (c->used[i]) {
        return WF_OK;
    }
    if (strcmp(base->name, WF_STATIC_NOTE) == 0) {
        return push_note(c, base, err);
    }
    bool known = has_kernel(c->cand, c->cand_count, base);
    if (!known) {
        return begins_kernel(c->base, i) ? push_alone(c, base, true, err) : WF_OK;
    }
    if (!isfinite(base->value)) {
        return WF_OK;
    }
    struct change gone = { "unknown", (double)NAN, false,
                           "the candidate has no such figure" };
    return push_entry(c->entries, base, base->value, (double)NAN, &gone, err);
}

static enum wf_status make_line(struct comparison *c,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st = wf_json_set_string(o, "kind", "static", err);
    st = st == WF_OK ? wf_json_set_i64(o, "compared", (int64_t)c->compared, err) : st;
    if (st == WF_OK) {
        st = wf_json_set_take(o, "entries", c->entries, err);
    } else {
        wf_json_free(c->entries);
    }
    c->entries = NULL;
    if (st == WF_OK) {
        *ret = o;
    } else {
        wf_json_free(o);
    }
    return st;
}

enum wf_status wf_static_compare(const struct wf_static_rules *rules,
                                 const struct wf_static_figure *base,
                                 size_t base_count,
                                 const struct wf_static_figure *cand,
                                 size_t cand_count,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    struct comparison c = { .rules = rules,
                            .base = base,
                            .cand = cand,
                            .base_count = base_count,
                            .cand_count = cand_count,
                            .entries = wf_json_array() };
    c.used = wf_calloc(base_count + 1, sizeof(bool));
    enum wf_status st =
        c.used == NULL || c.entries == NULL
            ? wf_errorf(err, WF_ENOMEM, "no memory for %zu figures", base_count)
            : WF_OK;
    for (size_t i = 0; i < cand_count && st == WF_OK; i++) {
        st = compare_one(&c, i, err);
    }
    for (size_t i = 0; i < base_count && st == WF_OK; i++) {
        st = compare_rest(&c, i, err);
    }
    st = st == WF_OK ? make_line(&c, ret, err) : st;
    wf_json_free(c.entries);
    free(c.used);
    return st;
}

/* --- reading a line --- */

static const char *text_of(const struct wf_json *entry, const char *key)
{
    const struct wf_json *v = wf_json_find(entry, key);
    const char *s = v != NULL ? wf_json_string(v) : NULL;
    return s != NULL ? s : "";
}

static bool red_of(const struct wf_json *entry)
{
    bool red = false;
    const struct wf_json *v = wf_json_find(entry, "red");
    return v != NULL && wf_json_as_bool(v, &red) && red;
}

static const struct wf_json *first_entry(const struct wf_json *line)
{
    const struct wf_json *entries = wf_json_find(line, "entries");
    return entries != NULL ? wf_json_first(entries) : NULL;
}

bool wf_static_is_red(const struct wf_json *line)
{
    for (const struct wf_json *e = first_entry(line); e != NULL; e = wf_json_next(e)) {
        if (red_of(e)) {
            return true;
        }
    }
    return false;
}

size_t wf_static_count(const struct wf_json *line, const char *verdict)
{
    size_t n = 0;
    for (const struct wf_json *e = first_entry(line); e != NULL; e = wf_json_next(e)) {
        n += strcmp(text_of(e, "verdict"), verdict) == 0;
    }
    return n;
}

static const char *number_text(const struct wf_json *entry,
                               const char *key,
                               char ret[32])
{
    double v;
    const struct wf_json *m = wf_json_find(entry, key);
    if (m != NULL && wf_json_as_f64(m, &v) && isfinite(v)) {
        (void)snprintf(ret, 32, "%.6g", v);
    } else {
        (void)snprintf(ret, 32, "?");
    }
    return ret;
}

void wf_static_entry_text(const struct wf_json *entry, char *ret, size_t n)
{
    char base[32];
    char cand[32];
    char limit[32];
    const char *symbol = text_of(entry, "symbol");
    const char *case_name = text_of(entry, "case");
    const char *why = text_of(entry, "why");
    (void)number_text(entry, "limit", limit);
    (void)snprintf(ret, n, "%s: %s%s%s%s%s  %s %s -> %s%s%s%s%s%s",
                   red_of(entry) ? "red" : text_of(entry, "verdict"),
                   text_of(entry, "kernel"), symbol[0] != '\0' ? ":" : "", symbol,
                   case_name[0] != '\0' ? " on " : "", case_name,
                   text_of(entry, "figure"), number_text(entry, "base", base),
                   number_text(entry, "candidate", cand),
                   limit[0] != '?' ? " (limit " : "", limit[0] != '?' ? limit : "",
                   limit[0] != '?' ? ")" : "", why[0] != '\0' ? ": " : "", why);
}
