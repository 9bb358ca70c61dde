/* Points of a knob space: their numbers, their values, what they are allowed to be. */
#include "tune/space_internal.h"

#include "core/buf.h"
#include "core/parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void wf_space_free(struct wf_space *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->knob_count; i++) {
        free(s->knob[i].name);
    }
    for (size_t i = 0; i < s->value_count; i++) {
        free(s->value[i].name);
        wf_expr_free(s->value[i].expr);
    }
    for (size_t i = 0; i < s->condition_count; i++) {
        free(s->condition[i].name);
        wf_expr_free(s->condition[i].expr);
    }
    for (size_t i = 0; i < s->limit_count; i++) {
        free(s->limit[i].figure);
        free(s->limit[i].why);
    }
    for (size_t i = 0; i < s->dominance_count; i++) {
        free(s->dominance[i]);
    }
    for (size_t i = 0; i < s->base_count; i++) {
        free(s->base[i].variant);
        wf_expr_free(s->base[i].when);
        for (size_t k = 0; k < s->base[i].fact_count; k++) {
            free(s->base[i].fact[k].name);
        }
    }
    free(s->op);
    free(s->entry);
    free(s->root);
    free(s);
}

const char *wf_space_op(const struct wf_space *s)
{
    return s->op;
}

const char *wf_space_entry(const struct wf_space *s)
{
    return s->entry;
}

const char *wf_space_root(const struct wf_space *s)
{
    return s->root != NULL ? s->root : "";
}

const char *wf_space_sha256(const struct wf_space *s)
{
    return s->sha256;
}

size_t wf_space_knob_count(const struct wf_space *s)
{
    return s->knob_count;
}

struct wf_space_knob wf_space_knob_at(const struct wf_space *s, size_t i)
{
    return (struct wf_space_knob){ s->knob[i].name, s->knob[i].value,
                                   s->knob[i].count };
}

size_t wf_space_limit_count(const struct wf_space *s)
{
    return s->limit_count;
}

struct wf_space_limit wf_space_limit_at(const struct wf_space *s, size_t i)
{
    const struct space_limit *l = &s->limit[i];
    return (struct wf_space_limit){ l->figure, l->least, l->most, l->why };
}

size_t wf_space_dominance_count(const struct wf_space *s)
{
    return s->dominance_count;
}

const char *wf_space_dominance_at(const struct wf_space *s, size_t i)
{
    return s->dominance[i];
}

size_t wf_space_class_count(const struct wf_space *s)
{
    return s->class_count;
}

size_t wf_space_class_knob(const struct wf_space *s, size_t i)
{
    return s->class_knob[i];
}

size_t wf_space_base_count(const struct wf_space *s)
{
    return s->base_count;
}

const char *wf_space_base(const struct wf_space *s, size_t base)
{
    return s->base[base].variant;
}

size_t space_find_knob(const struct wf_space *s, const char *name)
{
    for (size_t i = 0; i < s->knob_count; i++) {
        if (strcmp(s->knob[i].name, name) == 0) {
            return i;
        }
    }
    return WF_SPACE_KNOBS;
}

/* --- numbers of points --- */

uint64_t wf_space_count(const struct wf_space *s)
{
    return s->points;
}

uint64_t wf_space_incumbent(const struct wf_space *s, size_t base)
{
    return s->base[base].incumbent;
}

static void places_of(const struct wf_space *s, uint64_t point, size_t *ret)
{
    for (size_t i = s->knob_count; i-- > 0;) {
        ret[i] = (size_t)(point % s->knob[i].count);
        point /= s->knob[i].count;
    }
}

static uint64_t point_of(const struct wf_space *s, const size_t *place)
{
    uint64_t p = 0;
    for (size_t i = 0; i < s->knob_count; i++) {
        p = p * s->knob[i].count + place[i];
    }
    return p;
}

void wf_space_values(const struct wf_space *s, uint64_t point, int64_t *ret)
{
    size_t place[WF_SPACE_KNOBS];
    places_of(s, point, place);
    for (size_t i = 0; i < s->knob_count; i++) {
        ret[i] = s->knob[i].value[place[i]];
    }
}

unsigned wf_space_rank(const struct wf_space *s, uint64_t point)
{
    size_t place[WF_SPACE_KNOBS];
    unsigned sum = 0;
    places_of(s, point, place);
    for (size_t i = 0; i < s->knob_count; i++) {
        sum += (unsigned)place[i];
    }
    return sum;
}

enum wf_status wf_space_point_json(const struct wf_space *s,
                                   uint64_t point,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    int64_t value[WF_SPACE_KNOBS];
    struct wf_json *v = wf_json_object();
    enum wf_status st =
        v != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for knobs");
    wf_space_values(s, point, value);
    for (size_t i = 0; i < s->knob_count && st == WF_OK; i++) {
        st = wf_json_set_i64(v, s->knob[i].name, value[i], err);
    }
    if (st != WF_OK) {
        wf_json_free(v);
        return st;
    }
    *ret = v;
    return WF_OK;
}

static void hash_text(struct wf_sha256 *h, const char *text)
{
    wf_sha256_update(h, text, strlen(text) + 1);
}

void wf_space_point_id(const struct wf_space *s,
                       size_t base,
                       uint64_t point,
                       char ret[13])
{
    int64_t value[WF_SPACE_KNOBS];
    uint8_t digest[WF_SHA256_BYTES];
    struct wf_sha256 *h = wf_sha256_create();
    memset(ret, '0', 12);
    ret[12] = '\0';
    if (h == NULL) {
        return;
    }
    wf_space_values(s, point, value);
    hash_text(h, s->entry);
    hash_text(h, s->base[base].variant);
    for (size_t i = 0; i < s->knob_count; i++) {
        char number[32];
        hash_text(h, s->knob[i].name);
        hash_text(h, wf_format_f64((double)value[i], number, sizeof(number)));
    }
    wf_sha256_finish(h, digest);
    wf_hex(digest, 6, ret);
}

/* --- conditions --- */

struct point_scope {
    const struct wf_space *space;
    const struct space_base *base;
    int64_t value[WF_SPACE_KNOBS];
    struct wf_value derived[WF_SPACE_KNOBS];
    size_t derived_count; /* evaluated so far: a value may use those before it */
};

static enum wf_status find(const void *ctx,
                           const char *name,
                           struct wf_value *ret,
                           struct wf_error *err)
{
    const struct point_scope *p = ctx;
    const size_t knob = space_find_knob(p->space, name);
    (void)err;
    if (knob < WF_SPACE_KNOBS) {
        *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = p->value[knob] };
        return WF_OK;
    }
    for (size_t i = 0; i < p->derived_count; i++) {
        if (strcmp(p->space->value[i].name, name) == 0) {
            *ret = p->derived[i];
            return WF_OK;
        }
    }
    for (size_t i = 0; i < p->base->fact_count; i++) {
        if (strcmp(p->base->fact[i].name, name) == 0) {
            *ret =
                (struct wf_value){ .kind = WF_VALUE_INT, .i = p->base->fact[i].value };
            return WF_OK;
        }
    }
    return WF_ENOTFOUND;
}

static const char *name_at(const void *ctx, size_t i)
{
    const struct point_scope *p = ctx;
    if (i < p->space->knob_count) {
        return p->space->knob[i].name;
    }
    i -= p->space->knob_count;
    if (i < p->derived_count) {
        return p->space->value[i].name;
    }
    i -= p->derived_count;
    return i < p->base->fact_count ? p->base->fact[i].name : NULL;
}

enum wf_status wf_space_allows(const struct wf_space *s,
                               size_t base,
                               uint64_t point,
                               const struct wf_scope *scope,
                               bool *ret,
                               const char **ret_why,
                               struct wf_error *err)
{
    struct point_scope p = { .space = s, .base = &s->base[base] };
    const struct wf_scope own = {
        .find = find, .ctx = &p, .next = scope, .name_at = name_at
    };
    enum wf_status st = WF_OK;
    bool holds = true;
    const char *why = "";
    wf_space_values(s, point, p.value);
    for (size_t i = 0; i < s->value_count && st == WF_OK; i++) {
        st = wf_expr_eval(s->value[i].expr, &own, &p.derived[i], err);
        p.derived_count = i + 1;
    }
    for (size_t i = 0; i < s->condition_count && st == WF_OK && holds; i++) {
        st = wf_expr_eval_bool(s->condition[i].expr, &own, &holds, err);
        why = holds ? why : s->condition[i].name;
    }
    if (st == WF_OK) {
        *ret = holds;
        *ret_why = why;
    }
    return st;
}

enum wf_status wf_space_base_of(const struct wf_space *s,
                                const struct wf_scope *scope,
                                bool *ret_found,
                                size_t *ret,
                                struct wf_error *err)
{
    for (size_t i = 0; i < s->base_count; i++) {
        bool holds = true;
        enum wf_status st = s->base[i].when != NULL
                                ? wf_expr_eval_bool(s->base[i].when, scope, &holds, err)
                                : WF_OK;
        if (st != WF_OK) {
            return st;
        }
        if (holds) {
            *ret_found = true;
            *ret = i;
            return WF_OK;
        }
    }
    *ret_found = false;
    return WF_OK;
}

/* --- recorded facts --- */

static double distance(double a, double b)
{
    return a > 0 && b > 0 ? fabs(log2(a / b)) : fabs(a - b);
}

bool wf_space_nearest(const struct wf_space *s,
                      size_t base,
                      const struct wf_json *facts,
                      uint64_t *ret)
{
    size_t place[WF_SPACE_KNOBS];
    bool any = false;
    if (facts == NULL || wf_json_type(facts) != WF_JSON_OBJECT) {
        return false;
    }
    places_of(s, s->base[base].incumbent, place);
    for (size_t i = 0; i < s->knob_count; i++) {
        double want = 0;
        const struct wf_json *v = wf_json_find(facts, s->knob[i].name);
        if (v == NULL || !wf_json_as_f64(v, &want)) {
            continue;
        }
        any = true;
        place[i] = 0;
        for (size_t k = 1; k < s->knob[i].count; k++) {
            if (distance((double)s->knob[i].value[k], want) <
                distance((double)s->knob[i].value[place[i]], want)) {
                place[i] = k;
            }
        }
    }
    if (any) {
        *ret = point_of(s, place);
    }
    return any;
}
