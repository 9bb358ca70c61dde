/* A scanner over canonical JSON: members of an object one after the other, values
 * skipped by counting brackets outside strings. */
#include "coordinator/result_text.h"

#include <stdbool.h>
#include <string.h>

struct member {
    const char *key; /* inside its quotes */
    size_t key_len;
    const char *value, *end;
};

/* `at` is on the opening quote; returns what follows the closing one. */
static const char *skip_string(const char *at)
{
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1]) {
            at++;
        }
    }
    return *at ? at + 1 : at;
}

static const char *skip_value(const char *at)
{
    int depth = 0;
    while (*at) {
        char c = *at;
        if (c == '"') {
            at = skip_string(at);
            if (depth == 0) {
                return at;
            }
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
            return at;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        at++;
        if (depth == 0 && (c == '}' || c == ']')) {
            return at;
        }
    }
    return at;
}

/* The member at *at, which is on the object's '{' or on a ','. False: the end. */
static bool next_member(const char **at, struct member *ret)
{
    const char *p = *at + 1;
    if (*p != '"') {
        return false;
    }
    const char *end = skip_string(p);
    ret->key = p + 1;
    ret->key_len = (size_t)(end - p) - 2;
    ret->value = end + 1;
    ret->end = skip_value(ret->value);
    *at = ret->end;
    return true;
}

static bool is_key(const struct member *m, const char *key)
{
    return strlen(key) == m->key_len && memcmp(m->key, key, m->key_len) == 0;
}

/* Everything from *copied up to `to` goes to the body; *copied moves to `next`. */
static enum wf_status copy_up_to(struct wf_buf *body,
                                 const char **copied,
                                 const char *to,
                                 const char *next,
                                 struct wf_error *err)
{
    enum wf_status s = wf_buf_add(body, *copied, (size_t)(to - *copied), err);
    *copied = next;
    return s;
}

/* "[1,\"nan\"]" as "{1,nan}". */
static enum wf_status take_array(const struct member *m,
                                 struct wf_buf *ret,
                                 struct wf_error *err)
{
    enum wf_status s = wf_buf_puts(ret, "{", err);
    const char *from = m->value + 1;
    for (const char *c = from; s == WF_OK && c < m->end; c++) {
        if (*c == '"' || *c == ']') {
            s = wf_buf_add(ret, from, (size_t)(c - from), err);
            from = c + 1;
        }
    }
    return s == WF_OK ? wf_buf_puts(ret, "}", err) : s;
}

struct split {
    const char *task_id, *run;
    struct wf_buf *body, *array;
    const char *copied;
    struct wf_error *err;
};

static enum wf_status replace(struct split *s, const struct member *m, const char *text)
{
    enum wf_status st = copy_up_to(s->body, &s->copied, m->value, m->end, s->err);
    return st == WF_OK ? wf_buf_printf(s->body, s->err, "\"%s\"", text) : st;
}

static enum wf_status split_timing(struct split *s, const char *object)
{
    static const char *const names[WF_ARRAY_COUNT] = { "samples", "clock_mhz",
                                                       "power_w", "temperature_c",
                                                       "throttle" };
    struct member m;
    enum wf_status st = WF_OK;
    while (st == WF_OK && next_member(&object, &m)) {
        for (size_t i = 0; st == WF_OK && i < WF_ARRAY_COUNT; i++) {
            if (*m.value != '[' || !is_key(&m, names[i])) {
                continue;
            }
            st = take_array(&m, &s->array[i], s->err);
            if (st == WF_OK) {
                st = copy_up_to(s->body, &s->copied, m.value, m.end, s->err);
            }
            st = st == WF_OK ? wf_buf_puts(s->body, "[]", s->err) : st;
        }
    }
    return st;
}

static enum wf_status split_task(struct split *s, const char *object)
{
    struct member m;
    enum wf_status st = WF_OK;
    while (st == WF_OK && next_member(&object, &m)) {
        if (is_key(&m, "id")) {
            st = replace(s, &m, s->task_id);
        }
    }
    return st;
}

enum wf_status wf_result_text_split(const char *canonical,
                                    const char *task_id,
                                    const char *run,
                                    struct wf_buf *body,
                                    struct wf_buf array[WF_ARRAY_COUNT],
                                    struct wf_error *err)
{
    struct split s = { task_id, run, body, array, canonical, err };
    const char *at = canonical;
    struct member m;
    enum wf_status st = WF_OK;
    while (st == WF_OK && next_member(&at, &m)) {
        if (*m.value == '{' && is_key(&m, "timing")) {
            st = split_timing(&s, m.value);
        } else if (task_id && *m.value == '{' && is_key(&m, "task")) {
            st = split_task(&s, m.value);
        } else if (run && is_key(&m, "run")) {
            st = replace(&s, &m, run);
        }
    }
    return st == WF_OK ? wf_buf_puts(body, s.copied, err) : st;
}
