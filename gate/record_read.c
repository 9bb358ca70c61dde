/* A record from a file: JSON Lines, the first the header. */
#include "gate/record_internal.h"

#include "core/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One pair's line with full results of both arms is some 100 KiB; 20,000 pairs in the
 * header some 20 MiB. */
#define MAX_LINE_BYTES ((size_t)128 << 20)

enum {
    CHUNK_BYTES = 65536
};

struct reader {
    FILE *file;
    const char *path;
    size_t number; /* of the line, from 1 */
    struct wf_buf line;
    bool torn; /* the line has no newline: the file ends in it */
    char chunk[CHUNK_BYTES];
    size_t at, end; /* what of the chunk is not read yet */
};

static bool more(struct reader *in)
{
    if (in->at == in->end) {
        in->at = 0;
        in->end = fread(in->chunk, 1, sizeof in->chunk, in->file);
    }
    return in->end > 0;
}

/* The next line without its newline; *ret_end: there is none. */
static enum wf_status next_line(struct reader *in, bool *ret_end, struct wf_error *err)
{
    wf_buf_clear(&in->line);
    in->number++;
    while (more(in)) {
        const char *from = in->chunk + in->at;
        const char *newline = memchr(from, '\n', in->end - in->at);
        size_t n = newline == NULL ? in->end - in->at : (size_t)(newline - from);
        enum wf_status status = wf_buf_add(&in->line, from, n, err);
        if (status != WF_OK) {
            return status;
        }
        in->at += n + (newline != NULL);
        if (newline != NULL) {
            *ret_end = false;
            return WF_OK;
        }
        if (in->line.len > MAX_LINE_BYTES) {
            return wf_errorf(err, WF_EINVAL, "%s:%zu: longer than %zu MiB", in->path,
                             in->number, MAX_LINE_BYTES >> 20);
        }
    }
    if (ferror(in->file)) {
        return wf_error_errno(err, errno, "%s: cannot read", in->path);
    }
    in->torn = in->line.len > 0;
    *ret_end = in->line.len == 0;
    return WF_OK;
}

static enum wf_status parse_line(const struct reader *in,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    enum wf_status status =
        wf_json_parse(wf_buf_cstr(&in->line), in->line.len, "line", ret, err);

    return status == WF_OK ? WF_OK
                           : wf_error_prefix(err, "%s:%zu", in->path, in->number);
}

static enum wf_status read_first(struct reader *in,
                                 struct wf_gate_record **ret,
                                 struct wf_error *err)
{
    struct wf_json *json = NULL;
    bool end = false;
    enum wf_status status = next_line(in, &end, err);

    if (status == WF_OK && end) {
        return wf_errorf(err, WF_EINVAL,
                         "%s: is empty: a gate's record starts with its header",
                         in->path);
    }
    if (status == WF_OK) {
        status = parse_line(in, &json, err);
    }
    if (status != WF_OK) {
        return status;
    }
    status = wf_gate_record_create(json, ret, err);
    return status == WF_OK ? WF_OK
                           : wf_error_prefix(err, "%s:%zu", in->path, in->number);
}

static enum wf_status read_others(struct reader *in,
                                  bool torn_ok,
                                  struct wf_gate_record *r,
                                  bool *ret_torn,
                                  struct wf_error *err)
{
    for (;;) {
        struct wf_json *json = NULL;
        bool end = false;
        enum wf_status status = next_line(in, &end, err);
        if (status != WF_OK || end) {
            return status;
        }
        if (in->torn && torn_ok) {
            *ret_torn = true;
            return WF_OK;
        }
        if (in->torn) {
            return wf_errorf(err, WF_EINVAL,
                             "%s:%zu: the last line has no end: the file was cut off "
                             "while it was written",
                             in->path, in->number);
        }
        status = parse_line(in, &json, err);
        if (status != WF_OK) {
            return status;
        }
        status = wf_gate_record_add(r, json, err);
        if (status != WF_OK) {
            return wf_error_prefix(err, "%s:%zu", in->path, in->number);
        }
    }
}

enum wf_status wf_gate_record_read(const char *path,
                                   bool torn_ok,
                                   struct wf_gate_record **ret,
                                   bool *ret_torn,
                                   struct wf_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct reader in = { .file = is_stdin ? stdin : fopen(path, "re"),
                         .path = is_stdin ? "standard input" : path,
                         .line = WF_BUF_INIT };
    struct wf_gate_record *r = NULL;
    bool torn = false;
    enum wf_status status;

    if (in.file == NULL) {
        return wf_error_errno(err, errno, "%s: cannot open", path);
    }
    status = read_first(&in, &r, err);
    if (status == WF_OK) {
        status = read_others(&in, torn_ok, r, &torn, err);
    }
    if (!is_stdin) {
        (void)fclose(in.file);
    }
    wf_buf_free(&in.line);
    if (status != WF_OK) {
        wf_gate_record_free(r);
        return status;
    }
    if (ret_torn != NULL) {
        *ret_torn = torn;
    }
    *ret = r;
    return WF_OK;
}
