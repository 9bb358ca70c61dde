/* Splits a file into lines with a fixed chunk; the hash sees every byte once. */
#include "datasets/trace_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MAX_LINE_BYTES ((size_t)1 << 20)

enum wf_status wf_lines_open(struct wf_lines *in,
                             const char *path,
                             struct wf_error *err)
{
    memset(in, 0, sizeof *in);
    in->path = path;
    in->file = fopen(path, "rb");
    if (!in->file) {
        return wf_error_errno(err, errno, "cannot open trace %s", path);
    }
    in->hash = wf_sha256_create();
    if (!in->hash) {
        return wf_errorf(err, WF_ENOMEM, "no memory to read %s", path);
    }
    return WF_OK;
}

static enum wf_status refill(struct wf_lines *in, struct wf_error *err)
{
    in->at = 0;
    in->have = fread(in->chunk, 1, sizeof in->chunk, in->file);
    if (ferror(in->file)) {
        return wf_error_errno(err, errno, "cannot read %s", in->path);
    }
    wf_sha256_update(in->hash, in->chunk, in->have);
    return WF_OK;
}

/* Takes bytes up to and with the next newline of the chunk. */
static enum wf_status take(struct wf_lines *in, bool *ret_ended, struct wf_error *err)
{
    const char *start = in->chunk + in->at;
    size_t n = in->have - in->at;
    const char *nl = memchr(start, '\n', n);
    if (nl) {
        n = (size_t)(nl - start);
    }
    if (in->text.len + n > MAX_LINE_BYTES) {
        return wf_errorf(err, WF_EPARSE,
                         "%s:%" PRId64 ": the line is longer than 1 MiB", in->path,
                         in->number);
    }
    if (memchr(start, '\0', n)) {
        return wf_errorf(err, WF_EPARSE,
                         "%s:%" PRId64 ": NUL byte, this is not a text file", in->path,
                         in->number);
    }
    *ret_ended = nl != NULL;
    in->at += n + (nl ? 1 : 0);
    return n > 0 ? wf_buf_add(&in->text, start, n, err) : WF_OK;
}

static void strip_cr(struct wf_buf *text)
{
    if (text->len > 0 && text->data[text->len - 1] == '\r') {
        text->data[--text->len] = '\0';
    }
}

enum wf_status wf_lines_next(struct wf_lines *in, bool *ret_more, struct wf_error *err)
{
    bool ended = false, any = false;
    wf_buf_clear(&in->text);
    in->number++;
    while (!ended) {
        if (in->at == in->have) {
            enum wf_status st = refill(in, err);
            if (st != WF_OK) {
                return st;
            }
            if (in->have == 0) {
                break;
            }
        }
        any = true;
        enum wf_status st = take(in, &ended, err);
        if (st != WF_OK) {
            return st;
        }
    }
    strip_cr(&in->text);
    *ret_more = any;
    return WF_OK;
}

void wf_lines_sha256(struct wf_lines *in, char ret[WF_SHA256_HEX])
{
    uint8_t digest[WF_SHA256_BYTES];
    wf_sha256_finish(in->hash, digest);
    in->hash = NULL;
    wf_hex(digest, sizeof digest, ret);
}

void wf_lines_close(struct wf_lines *in)
{
    if (in->file) {
        (void)fclose(in->file);
    }
    wf_sha256_destroy(in->hash);
    wf_buf_free(&in->text);
    in->file = NULL;
    in->hash = NULL;
}
