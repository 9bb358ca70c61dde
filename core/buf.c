/* Growable bytes and the checked allocation that the rest of the tree uses.
 *
 * Invariants of a buffer: data is NULL and cap 0, or cap > len and data[len] is NUL.
 * A failed call leaves the buffer as it was. Sizes are checked before they are added
 * or multiplied. */
#include "core/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUF_FIRST_BYTES = 64
};

enum wf_status wf_buf_reserve(struct wf_buf *b, size_t extra, struct wf_error *err)
{
    size_t need;
    size_t cap;
    char *grown;

    if (__builtin_add_overflow(b->len, extra, &need) ||
        __builtin_add_overflow(need, (size_t)1, &need) || need > PTRDIFF_MAX) {
        return wf_errorf(err, WF_ENOMEM, "buffer of %zu + %zu bytes is too large",
                         b->len, extra);
    }
    if (need <= b->cap) {
        return WF_OK;
    }
    cap = b->cap < BUF_FIRST_BYTES ? BUF_FIRST_BYTES : b->cap + b->cap / 2;
    if (cap < need) {
        cap = need;
    }
    grown = realloc(b->data, cap);
    if (grown == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a buffer of %zu bytes", cap);
    }
    grown[b->len] = '\0';
    b->data = grown;
    b->cap = cap;
    return WF_OK;
}

enum wf_status wf_buf_add(struct wf_buf *b,
                          const void *bytes,
                          size_t n,
                          struct wf_error *err)
{
    enum wf_status status;

    if (n == 0) {
        return WF_OK;
    }
    status = wf_buf_reserve(b, n, err);
    if (status != WF_OK) {
        return status;
    }
    memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
    return WF_OK;
}

enum wf_status wf_buf_puts(struct wf_buf *b, const char *text, struct wf_error *err)
{
    return wf_buf_add(b, text, strlen(text), err);
}

enum wf_status wf_buf_printf(struct wf_buf *b,
                             struct wf_error *err,
                             const char *fmt,
                             ...)
{
    enum wf_status status;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        return wf_errorf(err, WF_EINTERNAL, "cannot format \"%s\"", fmt);
    }
    status = wf_buf_reserve(b, (size_t)n, err);
    if (status != WF_OK) {
        return status;
    }
    va_start(ap, fmt);
    (void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
    return WF_OK;
}

const char *wf_buf_cstr(const struct wf_buf *b)
{
    return b->data == NULL ? "" : b->data;
}

void wf_buf_clear(struct wf_buf *b)
{
    b->len = 0;
    if (b->data != NULL) {
        b->data[0] = '\0';
    }
}

void wf_buf_free(struct wf_buf *b)
{
    if (b == NULL) {
        return;
    }
    free(b->data);
    *b = (struct wf_buf)WF_BUF_INIT;
}

void *wf_calloc(size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes)) {
        return NULL;
    }
    /* A NULL must mean "no memory", so nothing is allocated as one byte. */
    return calloc(1, bytes == 0 ? 1 : bytes);
}

void *wf_realloc_array(void *p, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes)) {
        return NULL;
    }
    return realloc(p, bytes == 0 ? 1 : bytes);
}

char *wf_strndup(const char *s, size_t n)
{
    size_t len;
    char *copy;

    if (s == NULL) {
        return NULL;
    }
    len = strnlen(s, n);
    copy = malloc(len + 1);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *wf_strdup(const char *s)
{
    return wf_strndup(s, SIZE_MAX);
}

char *wf_asprintf(const char *fmt, ...)
{
    va_list ap;
    char *text;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        return NULL;
    }
    text = malloc((size_t)n + 1);
    if (text == NULL) {
        return NULL;
    }
    va_start(ap, fmt);
    (void)vsnprintf(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return text;
}
