/* JSON tree to text.
 *
 * What is written is always valid JSON in UTF-8: non-finite numbers never reach this
 * file as numbers, and bytes of a string that are not UTF-8 (the tail of a crashed
 * program's output, say) become U+FFFD. A failed call leaves the buffer as it was. The
 * canonical form is part of every stored id: changing it changes all ids. */
#include "core/json_node.h"

#include "core/buf.h"
#include "core/parse.h"
#include "core/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum style {
    STYLE_LINE,
    STYLE_PRETTY,
    STYLE_CANONICAL
};

struct writer {
    struct wf_buf *out;
    enum style style;
    int depth;
    struct wf_error *err;
};

static enum wf_status write_value(struct writer *w, const struct wf_json *v);

static enum wf_status put(struct writer *w, const char *text)
{
    return wf_buf_puts(w->out, text, w->err);
}

/* --- leaves --- */

static enum wf_status put_control(struct writer *w, unsigned char c)
{
    static const char short_names[] = "btn\0fr"; /* 8 to 13; 11 has none */
    char text[8];

    if (c >= 8 && c <= 13 && c != 11) {
        (void)snprintf(text, sizeof text, "\\%c", short_names[c - 8]);
    } else {
        (void)snprintf(text, sizeof text, "\\u%04x", c);
    }
    return put(w, text);
}

/* Length of the run at p that needs no escape. */
static size_t plain_run(const char *p, size_t n)
{
    size_t i = 0;
    size_t sequence;

    while (i < n) {
        unsigned char c = (unsigned char)p[i];

        if (c == '"' || c == '\\' || c < 0x20) {
            break;
        }
        sequence = c < 0x80 ? 1 : wf_utf8_sequence(p + i, n - i);
        if (sequence == 0) {
            break;
        }
        i += sequence;
    }
    return i;
}

static enum wf_status put_special(struct writer *w, char c)
{
    if (c == '"') {
        return put(w, "\\\"");
    }
    if (c == '\\') {
        return put(w, "\\\\");
    }
    if ((unsigned char)c < 0x20) {
        return put_control(w, (unsigned char)c);
    }
    return put(w, "\xEF\xBF\xBD");
}

static enum wf_status write_string(struct writer *w, const char *text)
{
    size_t n = strlen(text);
    enum wf_status status = put(w, "\"");
    size_t run;

    while (status == WF_OK && n > 0) {
        run = plain_run(text, n);
        status = wf_buf_add(w->out, text, run, w->err);
        text += run;
        n -= run;
        if (status == WF_OK && n > 0) {
            status = put_special(w, *text);
            text++;
            n--;
        }
    }
    return status == WF_OK ? put(w, "\"") : status;
}

static enum wf_status write_int(struct writer *w, const struct wf_json *v)
{
    char digits[24];
    char *p = digits + sizeof digits - 1;
    bool negative = false;
    uint64_t magnitude = 0;

    (void)wf_json_node_int_value(v, &negative, &magnitude);
    if (magnitude == 0 && w->style == STYLE_CANONICAL) {
        negative = false;
    }
    *p = '\0';
    do {
        *--p = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude > 0);
    if (negative) {
        *--p = '-';
    }
    return put(w, p);
}

static enum wf_status write_double(struct writer *w, const struct wf_json *v)
{
    char text[32];
    double d = 0;

    (void)wf_json_as_f64(v, &d);
    if (d == 0 && w->style == STYLE_CANONICAL) {
        d = 0; /* one spelling for both zeros */
    }
    return put(w, wf_format_f64(d, text, sizeof text));
}

/* --- arrays and objects --- */

static enum wf_status new_line(struct writer *w)
{
    enum wf_status status;

    if (w->style != STYLE_PRETTY) {
        return WF_OK;
    }
    status = put(w, "\n");
    for (int i = 0; status == WF_OK && i < w->depth; i++) {
        status = put(w, "  ");
    }
    return status;
}

static enum wf_status write_child(struct writer *w, const struct wf_json *c, bool first)
{
    enum wf_status status = first ? WF_OK : put(w, ",");

    if (status == WF_OK) {
        status = new_line(w);
    }
    if (status == WF_OK && wf_json_key(c) != NULL) {
        status = write_string(w, wf_json_key(c));
        if (status == WF_OK) {
            status = put(w, w->style == STYLE_PRETTY ? ": " : ":");
        }
    }
    return status == WF_OK ? write_value(w, c) : status;
}

static int compare_members(const void *a, const void *b)
{
    const struct wf_json *const *x = a;
    const struct wf_json *const *y = b;

    return strcmp(wf_json_key(*x), wf_json_key(*y));
}

static enum wf_status write_sorted(struct writer *w, const struct wf_json *object)
{
    size_t n = wf_json_count(object);
    const struct wf_json **members = wf_calloc(n, sizeof(const struct wf_json *));
    const struct wf_json *c = wf_json_first(object);
    enum wf_status status = WF_OK;

    if (members == NULL) {
        return wf_errorf(w->err, WF_ENOMEM, "no memory to sort %zu members", n);
    }
    for (size_t i = 0; i < n; i++, c = wf_json_next(c)) {
        members[i] = c;
    }
    qsort(members, n, sizeof(const struct wf_json *), compare_members);
    for (size_t i = 0; status == WF_OK && i < n; i++) {
        status = write_child(w, members[i], i == 0);
    }
    free(members);
    return status;
}

static enum wf_status write_children(struct writer *w, const struct wf_json *v)
{
    enum wf_status status = WF_OK;

    if (w->style == STYLE_CANONICAL && wf_json_type(v) == WF_JSON_OBJECT) {
        return write_sorted(w, v);
    }
    for (const struct wf_json *c = wf_json_first(v); status == WF_OK && c != NULL;
         c = wf_json_next(c)) {
        status = write_child(w, c, c == wf_json_first(v));
    }
    return status;
}

static enum wf_status write_container(struct writer *w, const struct wf_json *v)
{
    bool is_array = wf_json_type(v) == WF_JSON_ARRAY;
    enum wf_status status;

    if (w->depth == WF_JSON_MAX_DEPTH) {
        return wf_errorf(w->err, WF_EINVAL, "JSON value is nested more than %d deep",
                         WF_JSON_MAX_DEPTH);
    }
    if (wf_json_first(v) == NULL) {
        return put(w, is_array ? "[]" : "{}");
    }
    status = put(w, is_array ? "[" : "{");
    w->depth++;
    if (status == WF_OK) {
        status = write_children(w, v);
    }
    w->depth--;
    if (status == WF_OK) {
        status = new_line(w);
    }
    return status == WF_OK ? put(w, is_array ? "]" : "}") : status;
}

static enum wf_status write_value(struct writer *w, const struct wf_json *v)
{
    bool flag = false;

    switch (wf_json_type(v)) {
    case WF_JSON_BOOL:
        (void)wf_json_as_bool(v, &flag);
        return put(w, flag ? "true" : "false");
    case WF_JSON_INT:
        return write_int(w, v);
    case WF_JSON_DOUBLE:
        return write_double(w, v);
    case WF_JSON_STRING:
        return write_string(w, wf_json_string(v));
    case WF_JSON_ARRAY:
    case WF_JSON_OBJECT:
        return write_container(w, v);
    case WF_JSON_NULL:
    default:
        return put(w, "null");
    }
}

static enum wf_status write_as(const struct wf_json *v,
                               enum style style,
                               struct wf_buf *out,
                               struct wf_error *err)
{
    struct writer w = { .out = out, .style = style, .err = err };
    size_t start = out->len;
    enum wf_status status;

    if (v == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the JSON value to write");
    }
    status = write_value(&w, v);
    if (status != WF_OK && out->data != NULL) {
        out->len = start;
        out->data[start] = '\0';
    }
    return status;
}

enum wf_status wf_json_write(const struct wf_json *v,
                             struct wf_buf *out,
                             struct wf_error *err)
{
    return write_as(v, STYLE_LINE, out, err);
}

enum wf_status wf_json_text(const struct wf_json *v, char **ret, struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status status = wf_json_write(v, &text, err);
    if (status != WF_OK) {
        wf_buf_free(&text);
        return status;
    }
    *ret = text.data;
    return WF_OK;
}

enum wf_status wf_json_write_pretty(const struct wf_json *v,
                                    struct wf_buf *out,
                                    struct wf_error *err)
{
    return write_as(v, STYLE_PRETTY, out, err);
}

enum wf_status wf_json_write_canonical(const struct wf_json *v,
                                       struct wf_buf *out,
                                       struct wf_error *err)
{
    return write_as(v, STYLE_CANONICAL, out, err);
}
