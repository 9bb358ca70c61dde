/* Text forms that PostgreSQL reads: lines of COPY and array literals. Pure. */
#include "coordinator/db.h"

#include "core/parse.h"

#include <math.h>
#include <string.h>

static enum wf_status separate(struct wf_buf *line, struct wf_error *err)
{
    if (line->len > 0 && line->data[line->len - 1] != '\n') {
        return wf_buf_add(line, "\t", 1, err);
    }
    return WF_OK;
}

/* The escape letter of a byte that COPY's text format treats specially, or 0. */
static char copy_escape(char c)
{
    switch (c) {
    case '\\':
        return '\\';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\v':
        return 'v';
    default:
        return 0;
    }
}

enum wf_status wf_copy_text(struct wf_buf *line, const char *text, struct wf_error *err)
{
    enum wf_status status = separate(line, err);
    if (status != WF_OK || !text) {
        return status == WF_OK ? wf_buf_puts(line, "\\N", err) : status;
    }
    const char *from = text;
    for (const char *c = text; status == WF_OK && *c; c++) {
        char letter = copy_escape(*c);
        if (letter) {
            const char pair[2] = { '\\', letter };
            status = wf_buf_add(line, from, (size_t)(c - from), err);
            if (status == WF_OK) {
                status = wf_buf_add(line, pair, sizeof pair, err);
            }
            from = c + 1;
        }
    }
    return status == WF_OK ? wf_buf_puts(line, from, err) : status;
}

enum wf_status wf_copy_i64(struct wf_buf *line, int64_t v, struct wf_error *err)
{
    enum wf_status status = separate(line, err);
    return status == WF_OK ? wf_buf_printf(line, err, "%lld", (long long)v) : status;
}

enum wf_status wf_copy_f64(struct wf_buf *line, double v, struct wf_error *err)
{
    char number[40];
    if (isnan(v)) {
        return wf_copy_text(line, NULL, err);
    }
    enum wf_status status = separate(line, err);
    return status == WF_OK
               ? wf_buf_puts(line, wf_format_f64(v, number, sizeof number), err)
               : status;
}

enum wf_status wf_copy_end_row(struct wf_buf *line, struct wf_error *err)
{
    return wf_buf_add(line, "\n", 1, err);
}

enum wf_status wf_pg_array_add(struct wf_buf *array,
                               const char *item,
                               struct wf_error *err)
{
    enum wf_status status = wf_buf_puts(array, array->len ? ",\"" : "{\"", err);
    for (const char *c = item; status == WF_OK && *c; c++) {
        if (*c == '"' || *c == '\\') {
            status = wf_buf_add(array, "\\", 1, err);
        }
        if (status == WF_OK) {
            status = wf_buf_add(array, c, 1, err);
        }
    }
    return status == WF_OK ? wf_buf_puts(array, "\"", err) : status;
}

enum wf_status wf_pg_array_end(struct wf_buf *array, struct wf_error *err)
{
    return wf_buf_puts(array, array->len ? "}" : "{}", err);
}
