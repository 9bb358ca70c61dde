#include "cli/tune_journal.h"

#include "core/buf.h"
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES ((size_t)1 << 30)

struct tune_journal {
    char *path;
    int fd;
    struct wf_json **line;
    size_t count, room;
};

static const char *text(const struct wf_json *line, const char *key)
{
    const struct wf_json *m =
        wf_json_type(line) == WF_JSON_OBJECT ? wf_json_find(line, key) : NULL;
    const char *s = m != NULL ? wf_json_string(m) : NULL;
    return s != NULL ? s : "";
}

static enum wf_status keep(struct tune_journal *j,
                           struct wf_json *line,
                           struct wf_error *err)
{
    if (j->count == j->room) {
        const size_t room = j->room == 0 ? 64 : 2 * j->room;
        struct wf_json **grown = wf_realloc_array(j->line, room, sizeof(*grown));
        if (grown == NULL) {
            wf_json_free(line);
            return wf_errorf(err, WF_ENOMEM, "no memory for a journal");
        }
        j->line = grown;
        j->room = room;
    }
    j->line[j->count++] = line;
    return WF_OK;
}

static enum wf_status put(struct tune_journal *j,
                          const struct wf_json *line,
                          struct wf_error *err)
{
    struct wf_buf b = WF_BUF_INIT;
    enum wf_status st = wf_json_write(line, &b, err);
    st = st == WF_OK ? wf_buf_puts(&b, "\n", err) : st;
    st = st == WF_OK ? wf_write_all(j->fd, b.data, b.len, j->path, err) : st;
    if (st == WF_OK && fsync(j->fd) != 0) {
        st = wf_error_errno(err, errno, "%s", j->path);
    }
    wf_buf_free(&b);
    return st;
}

/* Whole lines alone; *ret_good: where the next one goes. */
static enum wf_status read_lines(struct tune_journal *j,
                                 off_t *ret_good,
                                 struct wf_error *err)
{
    struct wf_buf b = WF_BUF_INIT;
    enum wf_status st = wf_file_read(j->path, MAX_BYTES, &b, err);
    size_t from = 0;
    while (st == WF_OK && from < b.len) {
        const char *end = memchr(b.data + from, '\n', b.len - from);
        struct wf_json *line = NULL;
        if (end == NULL) {
            break;
        }
        const size_t n = (size_t)(end - b.data) - from;
        st = wf_json_parse(b.data + from, n, j->path, &line, err);
        st = st == WF_OK ? keep(j, line, err) : st;
        from += n + 1;
    }
    *ret_good = (off_t)from;
    wf_buf_free(&b);
    return st;
}

static enum wf_status same_header(const struct tune_journal *j,
                                  const struct wf_json *header,
                                  struct wf_error *err)
{
    const struct wf_json *old = j->count > 0 ? j->line[0] : NULL;
    if (old == NULL || strcmp(text(old, "kind"), "header") != 0) {
        return wf_errorf(err, WF_EPARSE, "%s: it has no header", j->path);
    }
    for (const struct wf_json *v = wf_json_first(header); v != NULL;
         v = wf_json_next(v)) {
        struct wf_buf a = WF_BUF_INIT, b = WF_BUF_INIT;
        const struct wf_json *m = wf_json_find(old, wf_json_key(v));
        const bool same = m != NULL && wf_json_write_canonical(v, &a, NULL) == WF_OK &&
                          wf_json_write_canonical(m, &b, NULL) == WF_OK &&
                          strcmp(wf_buf_cstr(&a), wf_buf_cstr(&b)) == 0;
        enum wf_status st = WF_OK;
        if (!same) {
            st = wf_errorf(
                err, WF_EINVAL,
                "%s is of another search: its %s is %.150s, now it is %.150s; "
                "give the same options, or another --work folder",
                j->path, wf_json_key(v), wf_buf_cstr(&b), wf_buf_cstr(&a));
        }
        wf_buf_free(&a);
        wf_buf_free(&b);
        if (st != WF_OK) {
            return st;
        }
    }
    return WF_OK;
}

static enum wf_status open_old(struct tune_journal *j,
                               const struct wf_json *header,
                               struct wf_error *err)
{
    off_t good = 0;
    enum wf_status st = read_lines(j, &good, err);
    st = st == WF_OK ? same_header(j, header, err) : st;
    if (st != WF_OK) {
        return st;
    }
    j->fd = open(j->path, O_WRONLY | O_CLOEXEC);
    if (j->fd < 0 || ftruncate(j->fd, good) != 0 || lseek(j->fd, good, SEEK_SET) < 0) {
        return wf_error_errno(err, errno, "%s", j->path);
    }
    return WF_OK;
}

static enum wf_status open_new(struct tune_journal *j,
                               const struct wf_json *header,
                               struct wf_error *err)
{
    struct wf_json *copy = NULL;
    j->fd = open(j->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (j->fd < 0 && errno == EEXIST) {
        return wf_errorf(err, WF_EEXIST,
                         "%s is there already: --resume goes on with it, --work FOLDER "
                         "begins elsewhere",
                         j->path);
    }
    if (j->fd < 0) {
        return wf_error_errno(err, errno, "%s", j->path);
    }
    enum wf_status st = wf_json_copy(header, &copy, err);
    return st == WF_OK ? tune_journal_add(j, "header", "", copy, err) : st;
}

enum wf_status tune_journal_open(const char *path,
                                 const struct wf_json *header,
                                 bool resume,
                                 struct tune_journal **ret,
                                 struct wf_error *err)
{
    struct tune_journal *j = wf_calloc(1, sizeof(*j));
    if (j == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a journal");
    }
    j->fd = -1;
    j->path = wf_strdup(path);
    enum wf_status st = j->path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory")
                        : resume && wf_file_exists(path) ? open_old(j, header, err)
                                                         : open_new(j, header, err);
    if (st != WF_OK) {
        (void)tune_journal_close(j, NULL);
        return st;
    }
    *ret = j;
    return WF_OK;
}

enum wf_status tune_journal_close(struct tune_journal *j, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (j == NULL) {
        return WF_OK;
    }
    if (j->fd >= 0 && close(j->fd) != 0) {
        st = wf_error_errno(err, errno, "%s", j->path);
    }
    for (size_t i = 0; i < j->count; i++) {
        wf_json_free(j->line[i]);
    }
    free(j->line);
    free(j->path);
    free(j);
    return st;
}

const struct wf_json *tune_journal_find(const struct tune_journal *j,
                                        const char *kind,
                                        const char *key)
{
    for (size_t i = 1; i < j->count; i++) {
        if (strcmp(text(j->line[i], "key"), key) == 0 &&
            strcmp(text(j->line[i], "kind"), kind) == 0) {
            return j->line[i];
        }
    }
    return NULL;
}

enum wf_status tune_journal_add(struct tune_journal *j,
                                const char *kind,
                                const char *key,
                                struct wf_json *line,
                                struct wf_error *err)
{
    enum wf_status st = wf_json_set_string(line, "kind", kind, err);
    st = st == WF_OK ? wf_json_set_string(line, "key", key, err) : st;
    st = st == WF_OK ? put(j, line, err) : st;
    if (st != WF_OK) {
        wf_json_free(line);
        return st;
    }
    return keep(j, line, err);
}
