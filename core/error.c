/* The error record: one line of text, a stable status, and where it came from.
 *
 * Invariants: the text is printable (core/printable.h), so it may go into a log line, a
 * terminal and a JSON reply as it is. The new text is formed apart from the record, so
 * a caller may pass err->text as an argument. */
#include "core/error.h"

#undef wf_errorf /* the macro for the static analyser; here is the function */

#include "core/printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Cuts a multi-byte sequence that the end of the buffer has torn. */
static void trim_torn_utf8(char *text, size_t len)
{
    size_t start = len;
    size_t want;

    while (start > 0 && len - start < 3 &&
           ((unsigned char)text[start - 1] & 0xC0) == 0x80) {
        start--;
    }
    if (start == 0) {
        return;
    }
    start--;
    if (((unsigned char)text[start] & 0xE0) == 0xC0) {
        want = 2;
    } else if (((unsigned char)text[start] & 0xF0) == 0xE0) {
        want = 3;
    } else if (((unsigned char)text[start] & 0xF8) == 0xF0) {
        want = 4;
    } else {
        return;
    }
    if (len - start < want) {
        text[start] = '\0';
    }
}

static void clean_line(char *text, size_t size, int wanted)
{
    size_t len = strlen(text);

    if (wanted >= 0 && (size_t)wanted >= size) {
        trim_torn_utf8(text, len);
    }
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r')) {
        text[--len] = '\0';
    }
    wf_make_printable(text);
}

static void __attribute__((format(printf, 3, 0)))
format_line(char *text, size_t size, const char *fmt, va_list ap)
{
    int wanted;

    text[0] = '\0';
    wanted = vsnprintf(text, size, fmt, ap);
    clean_line(text, size, wanted);
}

static void store(struct wf_error *err, enum wf_status status, const char *text)
{
    err->status = status;
    err->native = 0;
    err->domain[0] = '\0';
    memcpy(err->text, text, strlen(text) + 1);
}

enum wf_status wf_errorf(struct wf_error *err,
                         enum wf_status status,
                         const char *fmt,
                         ...)
{
    char text[sizeof err->text];
    va_list ap;

    if (err == NULL) {
        return status;
    }
    va_start(ap, fmt);
    format_line(text, sizeof text, fmt, ap);
    va_end(ap);
    store(err, status, text);
    return status;
}

static enum wf_status status_of_errno(int errnum)
{
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
        return WF_ENOTFOUND;
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
        return WF_EINVAL; /* the name given is wrong, nothing failed */
    case ENOSPC:
    case EDQUOT:
        return WF_ENOSPC;
    case ENOMEM:
        return WF_ENOMEM;
    default:
        return WF_EIO;
    }
}

enum wf_status wf_error_errno(struct wf_error *err, int errnum, const char *fmt, ...)
{
    enum wf_status status = status_of_errno(errnum);
    char text[sizeof err->text];
    char reason[128];
    const char *said = strerror_r(errnum, reason, sizeof reason);
    va_list ap;

    if (err == NULL) {
        return status;
    }
    va_start(ap, fmt);
    format_line(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)wf_errorf(err, status, "%s: %s", text, said);
    err->native = errnum;
    memcpy(err->domain, "errno", sizeof "errno");
    return status;
}

enum wf_status wf_error_prefix(struct wf_error *err, const char *fmt, ...)
{
    char prefix[sizeof err->text];
    char text[2 * sizeof err->text + 2];
    va_list ap;

    if (err == NULL) {
        return WF_EINTERNAL; /* the status is not known here; it is not success */
    }
    va_start(ap, fmt);
    format_line(prefix, sizeof prefix, fmt, ap);
    va_end(ap);
    (void)snprintf(text, sizeof text, "%s: %s", prefix, err->text);
    if (strlen(text) >= sizeof err->text) {
        text[sizeof err->text - 1] = '\0';
        trim_torn_utf8(text, strlen(text));
    }
    memcpy(err->text, text, strlen(text) + 1);
    return err->status;
}

const char *wf_status_name(enum wf_status status)
{
    switch (status) {
#define X(name, value, text) \
    case WF_##name:          \
        return text;
        WF_STATUS_LIST(X)
#undef X
    default:
        return "unknown";
    }
}
