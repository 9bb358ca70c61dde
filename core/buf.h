/* Growable bytes, always followed by a NUL that is not counted. */
#ifndef WF_CORE_BUF_H
#define WF_CORE_BUF_H

#include "core/error.h"

#include <stddef.h>

struct wf_buf {
    char *data; /* NULL until the first byte; owned */
    size_t len;
    size_t cap;
};

#define WF_BUF_INIT \
    {               \
        NULL, 0, 0  \
    }

/* ENOMEM only; the buffer is unchanged then. */
enum wf_status wf_buf_reserve(struct wf_buf *b, size_t extra, struct wf_error *err);
enum wf_status wf_buf_add(struct wf_buf *b,
                          const void *bytes,
                          size_t n,
                          struct wf_error *err);
enum wf_status wf_buf_puts(struct wf_buf *b, const char *text, struct wf_error *err);
enum wf_status wf_buf_printf(struct wf_buf *b,
                             struct wf_error *err,
                             const char *fmt,
                             ...) __attribute__((format(printf, 3, 4)));
const char *wf_buf_cstr(const struct wf_buf *b); /* "" when empty; borrowed */
void wf_buf_clear(struct wf_buf *b);             /* keeps the memory */
void wf_buf_free(struct wf_buf *b);              /* NULL is good; leaves WF_BUF_INIT */

/* Checked allocation, for the few places that need raw memory. n * size is checked
 * for overflow; zero-filled. */
void *wf_calloc(size_t n, size_t size);
void *wf_realloc_array(void *p, size_t n, size_t size); /* NULL: p is still valid */
char *wf_strdup(const char *s);                         /* s NULL gives NULL */
char *wf_strndup(const char *s, size_t n);
char *wf_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
