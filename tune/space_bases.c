/* The bases of a knob space: variants of its entry, with the numbers they have. */
#include "tune/space_internal.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

static const struct wf_json *variant_of(const struct wf_json *entry, const char *name)
{
    const struct wf_json *list = wf_json_find(entry, "variants");
    const struct wf_json *v = list != NULL && wf_json_type(list) == WF_JSON_ARRAY
                                  ? wf_json_first(list)
                                  : NULL;
    for (; v != NULL; v = wf_json_next(v)) {
        const char *own = wf_json_type(v) == WF_JSON_OBJECT
                              ? wf_json_string(wf_json_find(v, "name"))
                              : NULL;
        if (own != NULL && strcmp(own, name) == 0) {
            return v;
        }
    }
    const struct wf_json *own = wf_json_find(entry, "name");
    return list == NULL && own != NULL && wf_json_string(own) != NULL &&
                   strcmp(wf_json_string(own), name) == 0
               ? entry
               : NULL;
}

static enum wf_status set_fact(struct space_base *b,
                               const char *name,
                               int64_t value,
                               struct wf_error *err)
{
    for (size_t i = 0; i < b->fact_count; i++) {
        if (strcmp(b->fact[i].name, name) == 0) {
            b->fact[i].value = value;
            return WF_OK;
        }
    }
    if (b->fact_count == SPACE_FACTS) {
        return wf_errorf(err, WF_ERANGE, "more than %d numeric knobs", SPACE_FACTS);
    }
    char *copy = wf_strdup(name);
    if (copy == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a space");
    }
    b->fact[b->fact_count++] = (struct space_fact){ copy, value };
    return WF_OK;
}

static enum wf_status take_facts(struct space_base *b,
                                 const struct wf_json *from,
                                 struct wf_error *err)
{
    const struct wf_json *knobs = wf_json_find(from, "knobs");
    enum wf_status st = WF_OK;
    const struct wf_json *v = knobs != NULL && wf_json_type(knobs) == WF_JSON_OBJECT
                                  ? wf_json_first(knobs)
                                  : NULL;
    for (; v != NULL && st == WF_OK; v = wf_json_next(v)) {
        int64_t n = 0;
        if (wf_json_as_i64(v, &n)) {
            st = set_fact(b, wf_json_key(v), n, err);
        }
    }
    return st;
}

static enum wf_status place_of_own(const struct space_base *b,
                                   const struct space_knob *k,
                                   size_t *ret,
                                   struct wf_error *err)
{
    for (size_t i = 0; i < b->fact_count; i++) {
        if (strcmp(b->fact[i].name, k->name) != 0) {
            continue;
        }
        for (size_t p = 0; p < k->count; p++) {
            if (k->value[p] == b->fact[i].value) {
                *ret = p;
                return WF_OK;
            }
        }
        return wf_errorf(
            err, WF_EINVAL,
            "its own %s is %lld, which is not among the knob's values: what "
            "is there already has to be in the space",
            k->name, (long long)b->fact[i].value);
    }
    return wf_errorf(err, WF_EINVAL,
                     "it has no number %s: a knob of the space is one of the entry",
                     k->name);
}

static enum wf_status find_incumbent(const struct wf_space *s,
                                     struct space_base *b,
                                     struct wf_error *err)
{
    enum wf_status st = WF_OK;
    b->incumbent = 0;
    for (size_t i = 0; i < s->knob_count && st == WF_OK; i++) {
        size_t place = 0;
        st = place_of_own(b, &s->knob[i], &place, err);
        b->incumbent = b->incumbent * s->knob[i].count + place;
    }
    return st;
}

static enum wf_status read_base(struct wf_space *s,
                                const struct wf_json *v,
                                const struct wf_json *entry,
                                struct wf_error *err)
{
    static const char *const members[] = { "variant", "when", NULL };
    struct space_base *b = &s->base[s->base_count];
    const char *name = NULL, *when = NULL;
    if (s->base_count == WF_SPACE_BASES) {
        return wf_errorf(err, WF_ERANGE, "more than %d", WF_SPACE_BASES);
    }
    if (wf_json_type(v) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "an object is expected");
    }
    enum wf_status st = wf_json_only_keys(v, members, err);
    st = st == WF_OK ? wf_json_get_string(v, "variant", &name, err) : st;
    st = st == WF_OK ? wf_json_opt_string(v, "when", &when, err) : st;
    if (st != WF_OK) {
        return st;
    }
    const struct wf_json *variant = variant_of(entry, name);
    if (variant == NULL) {
        return wf_errorf(err, WF_ENOTFOUND, "the entry %s has no variant %.100s",
                         s->entry, name);
    }
    b->variant = wf_strdup(name);
    if (b->variant == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a space");
    }
    s->base_count++;
    st = when != NULL ? wf_expr_parse(when, name, &b->when, err) : WF_OK;
    st = st == WF_OK ? take_facts(b, entry, err) : st;
    st = st == WF_OK ? take_facts(b, variant, err) : st;
    st = st == WF_OK ? find_incumbent(s, b, err) : st;
    return st == WF_OK ? st : wf_error_prefix(err, "%.100s", name);
}

static enum wf_status check_op(const struct wf_space *s,
                               const struct wf_json *entry,
                               struct wf_error *err)
{
    const char *op = NULL;
    if (wf_json_type(entry) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "%s: an object is expected", s->entry);
    }
    enum wf_status st = wf_json_get_string(entry, "op", &op, err);
    return st != WF_OK              ? wf_error_prefix(err, "%s", s->entry)
           : strcmp(op, s->op) == 0 ? WF_OK
                                    : wf_errorf(err, WF_EINVAL,
                                                "op: the space is for %.40s, its entry "
                                                "%s does %.40s",
                                                s->op, s->entry, op);
}

enum wf_status space_read_bases(struct wf_space *s,
                                const struct wf_json *list,
                                const struct wf_json *entry,
                                struct wf_error *err)
{
    enum wf_status st = check_op(s, entry, err);
    if (st == WF_OK && wf_json_count(list) == 0) {
        st = wf_errorf(err, WF_EINVAL, "bases: there are none");
    }
    const struct wf_json *v = st == WF_OK ? wf_json_first(list) : NULL;
    for (size_t i = 0; v != NULL && st == WF_OK; v = wf_json_next(v), i++) {
        if (read_base(s, v, entry, err) != WF_OK) {
            st = wf_error_prefix(err, "bases[%zu]", i);
        }
    }
    return st;
}
