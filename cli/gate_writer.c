#include "cli/gate_writer.h"

#include "core/buf.h"
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct gate_writer {
    int fd; /* -1: lines go nowhere */
    bool regular;
    char *path;
    off_t good_bytes; /* whole lines so far */
};

static enum wf_status create(const char *path,
                             struct gate_writer **ret,
                             struct wf_error *err)
{
    struct gate_writer *w = wf_calloc(1, sizeof(*w));
    char *copy = wf_strdup(path != NULL ? path : "");
    if (w == NULL || copy == NULL) {
        free(w);
        free(copy);
        return wf_errorf(err, WF_ENOMEM, "no memory for a record");
    }
    w->fd = -1;
    w->path = copy;
    *ret = w;
    return WF_OK;
}

/* One writer a file: another gate's lines would tear this one's. */
static enum wf_status open_alone(struct gate_writer *w,
                                 int flags,
                                 struct stat *st,
                                 struct wf_error *err)
{
    w->fd = open(w->path, O_WRONLY | O_CLOEXEC | flags, 0644);
    if (w->fd < 0 || fstat(w->fd, st) != 0) {
        return wf_error_errno(err, errno, "cannot write %s", w->path);
    }
    w->regular = S_ISREG(st->st_mode);
    if (w->regular && flock(w->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return wf_errorf(
            err, WF_EEXIST,
            "cannot write %s: another gate is writing it; wait for its end "
            "or name another file",
            w->path);
    }
    return WF_OK;
}

enum wf_status gate_writer_create(const char *path,
                                  struct gate_writer **ret,
                                  struct wf_error *err)
{
    struct stat st = { 0 };
    struct gate_writer *w = NULL;
    enum wf_status status = create(path, &w, err);
    if (status == WF_OK && path != NULL) {
        status = open_alone(w, O_CREAT, &st, err);
        if (status == WF_OK && w->regular && st.st_size > 0) {
            status = wf_errorf(err, WF_EEXIST,
                               "%s holds something already: a record is not written "
                               "over. --resume %s goes on with a gate that was cut "
                               "short; else name another file",
                               path, path);
        }
    }
    if (status != WF_OK) {
        (void)gate_writer_close(w, NULL);
        return status;
    }
    *ret = w;
    return WF_OK;
}

enum wf_status gate_writer_resume(const char *path,
                                  uint64_t good_bytes,
                                  struct gate_writer **ret,
                                  struct wf_error *err)
{
    struct stat st = { 0 };
    struct gate_writer *w = NULL;
    enum wf_status status = create(path, &w, err);
    if (status == WF_OK) {
        status = open_alone(w, 0, &st, err);
    }
    if (status == WF_OK &&
        (ftruncate(w->fd, (off_t)good_bytes) != 0 || lseek(w->fd, 0, SEEK_END) < 0)) {
        status = wf_error_errno(err, errno, "cannot write %s", path);
    }
    if (status != WF_OK) {
        (void)gate_writer_close(w, NULL);
        return status;
    }
    w->good_bytes = (off_t)good_bytes;
    *ret = w;
    return WF_OK;
}

/* A line that did not get in whole (a full disk) is taken back. */
static void take_back(const struct gate_writer *w)
{
    if (w->regular && ftruncate(w->fd, w->good_bytes) == 0) {
        (void)lseek(w->fd, w->good_bytes, SEEK_SET);
    }
}

enum wf_status gate_writer_line(struct gate_writer *w,
                                const struct wf_json *line,
                                struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    if (w->fd < 0) {
        return WF_OK;
    }
    enum wf_status status = wf_json_write(line, &text, err);
    if (status == WF_OK) {
        status = wf_buf_puts(&text, "\n", err);
    }
    if (status == WF_OK) {
        status = wf_write_all(w->fd, text.data, text.len, w->path, err);
        if (status == WF_OK && w->regular && fdatasync(w->fd) != 0) {
            status = wf_error_errno(err, errno, "cannot write %s", w->path);
        }
        if (status == WF_OK) {
            w->good_bytes += (off_t)text.len;
        } else {
            take_back(w);
        }
    }
    wf_buf_free(&text);
    return status;
}

enum wf_status gate_writer_close(struct gate_writer *w, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    if (w == NULL) {
        return WF_OK;
    }
    if (w->fd >= 0 && close(w->fd) != 0) {
        status = wf_error_errno(err, errno, "cannot write %s", w->path);
    }
    free(w->path);
    free(w);
    return status;
}
