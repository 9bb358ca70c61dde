#include "cli/results_file.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/verdict.h"
#include "core/version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESULTS_MAX_BYTES ((size_t)1 << 30)

struct wf_results_writer {
    int fd;
    char *path;
    off_t good_bytes; /* whole lines so far */
};

/* A line that did not get in whole (a full disk) is taken back: the file stays one that
 * can be read. A pipe cannot do that; its reader sees the end. */
static void take_back(const struct wf_results_writer *w)
{
    if (ftruncate(w->fd, w->good_bytes) == 0) {
        (void)lseek(w->fd, w->good_bytes, SEEK_SET);
    }
}

static enum wf_status write_line(struct wf_results_writer *w,
                                 const struct wf_json *v,
                                 struct wf_error *err)
{
    struct wf_buf line = WF_BUF_INIT;
    enum wf_status status = wf_json_write(v, &line, err);
    if (status == WF_OK) {
        status = wf_buf_puts(&line, "\n", err);
    }
    if (status == WF_OK) {
        status = wf_write_all(w->fd, line.data, line.len, w->path, err);
        if (status == WF_OK) {
            w->good_bytes += (off_t)line.len;
        } else {
            take_back(w);
        }
    }
    wf_buf_free(&line);
    return status;
}

static enum wf_status write_header(struct wf_results_writer *w,
                                   const char *suite,
                                   size_t expected,
                                   struct wf_error *err)
{
    char now[40];
    struct wf_json *h = wf_json_object();
    wf_format_utc(wf_realtime_ns(), now, sizeof(now));
    enum wf_status status = wf_json_set_string(h, "schema", "wavefarm.results/1", err);
    if (status == WF_OK) {
        status = wf_json_set_string(h, "suite", suite, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(h, "created", now, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(h, "wavefarm", wf_version, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_u64(h, "expected", expected, err);
    }
    if (status == WF_OK) {
        status = write_line(w, h, err);
    }
    wf_json_free(h);
    return status;
}

/* One writer a file: another run's lines would tear this one's. */
static enum wf_status open_alone(struct wf_results_writer *w, struct wf_error *err)
{
    struct stat st;
    w->fd = open(w->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (w->fd < 0 || fstat(w->fd, &st) != 0) {
        return wf_error_errno(err, errno, "cannot write %s", w->path);
    }
    if (!S_ISREG(st.st_mode)) {
        return WF_OK;
    }
    if (flock(w->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return wf_errorf(err, WF_EEXIST,
                         "cannot write %s: another run is writing it; wait for its end "
                         "or name another file",
                         w->path);
    }
    return ftruncate(w->fd, 0) == 0
               ? WF_OK
               : wf_error_errno(err, errno, "cannot write %s", w->path);
}

enum wf_status wf_results_create(const char *path,
                                 const char *suite,
                                 size_t expected,
                                 struct wf_results_writer **ret,
                                 struct wf_error *err)
{
    struct wf_results_writer *w = wf_calloc(1, sizeof(*w));
    char *copy = wf_strdup(path);
    if (w == NULL || copy == NULL) {
        free(copy);
        free(w);
        return wf_errorf(err, WF_ENOMEM, "no memory for %s", path);
    }
    w->path = copy;
    enum wf_status status = open_alone(w, err);
    if (status == WF_OK) {
        status = write_header(w, suite, expected, err);
    }
    if (status != WF_OK) {
        (void)wf_results_close(w, NULL);
        return status;
    }
    *ret = w;
    return WF_OK;
}

enum wf_status wf_results_probe(const char *path, struct wf_error *err)
{
    struct stat st;
    bool was_there = wf_file_exists(path);
    /* Who reads a pipe would take the probe for all there is. */
    if (stat(path, &st) == 0 && S_ISFIFO(st.st_mode)) {
        return access(path, W_OK) == 0
                   ? WF_OK
                   : wf_error_errno(err, errno, "cannot write %s", path);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        return wf_error_errno(err, errno, "cannot write %s", path);
    }
    (void)close(fd);
    if (!was_there) {
        (void)unlink(path);
    }
    return WF_OK;
}

enum wf_status wf_results_append(struct wf_results_writer *w,
                                 const struct wf_json *result,
                                 struct wf_error *err)
{
    return write_line(w, result, err);
}

enum wf_status wf_results_close(struct wf_results_writer *w, struct wf_error *err)
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

void wf_results_free(struct wf_results *r)
{
    for (size_t i = 0; i < r->count; i++) {
        wf_json_free(r->result[i]);
    }
    free(r->result);
    wf_json_free(r->header);
    memset(r, 0, sizeof(*r));
}

static enum wf_status check_schema(const struct wf_json *v,
                                   const char *want,
                                   const char *where,
                                   struct wf_error *err)
{
    const char *schema = "";
    if (wf_json_type(v) == WF_JSON_OBJECT) {
        (void)wf_json_opt_string(v, "schema", &schema, NULL);
    }
    if (strcmp(schema, want) != 0) {
        return wf_errorf(err, WF_EPARSE, "%s: schema is '%.40s', wanted '%s'", where,
                         schema, want);
    }
    return WF_OK;
}

/* What every command relies on: the two verdicts are known words. */
static enum wf_status check_result(const struct wf_json *v,
                                   const char *where,
                                   struct wf_error *err)
{
    enum wf_answer a;
    enum wf_time t;
    const char *answer = NULL, *time = NULL;
    const struct wf_json *task = NULL;
    enum wf_status status = check_schema(v, "wavefarm.result/1", where, err);
    if (status != WF_OK) {
        return status;
    }
    status = wf_json_get_string(v, "answer", &answer, err);
    if (status == WF_OK) {
        status = wf_json_get_string(v, "time", &time, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_object(v, "task", &task, err);
    }
    if (status == WF_OK && !wf_answer_parse(answer, &a)) {
        status = wf_errorf(err, WF_EPARSE, "answer '%.40s' is not known", answer);
    }
    if (status == WF_OK && !wf_time_parse(time, &t)) {
        status = wf_errorf(err, WF_EPARSE, "time '%.40s' is not known", time);
    }
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "%s", where);
}

/* Takes `v`. */
static enum wf_status add_result(struct wf_results *r,
                                 struct wf_json *v,
                                 struct wf_error *err)
{
    if ((r->count & (r->count - 1)) == 0) { /* full at powers of two */
        size_t cap = r->count == 0 ? 1 : 2 * r->count;
        struct wf_json **p = wf_realloc_array(r->result, cap, sizeof(*p));
        if (p == NULL) {
            wf_json_free(v);
            return wf_errorf(err, WF_ENOMEM, "no memory for %zu results", cap);
        }
        r->result = p;
    }
    r->result[r->count++] = v;
    return WF_OK;
}

static enum wf_status take_line(struct wf_results *r,
                                const char *line,
                                size_t len,
                                const char *where,
                                struct wf_error *err)
{
    struct wf_json *v = NULL;
    enum wf_status status = wf_json_parse(line, len, where, &v, err);
    if (status != WF_OK) {
        return status;
    }
    if (r->header == NULL) {
        int64_t expected = 0;
        r->header = v;
        status = check_schema(v, "wavefarm.results/1", where, err);
        if (status == WF_OK &&
            wf_json_get_i64(v, "expected", 0, INT64_MAX, &expected, err) != WF_OK) {
            status = wf_error_prefix(err, "%s", where);
        }
        r->expected = (size_t)expected;
        return status;
    }
    status = check_result(v, where, err);
    if (status != WF_OK) {
        wf_json_free(v);
        return status;
    }
    return add_result(r, v, err);
}

enum wf_status wf_results_read(const char *path,
                               struct wf_results *ret,
                               struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_results r = { 0 };
    size_t line = 0;
    enum wf_status status = wf_file_read(path, RESULTS_MAX_BYTES, &text, err);
    const char *p = text.data;
    const char *end = p != NULL ? p + text.len : NULL;
    while (status == WF_OK && p != NULL && p < end) {
        char where[600];
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        line++;
        snprintf(where, sizeof(where), "%.500s:%zu", path, line);
        if (nl == NULL) {
            status = wf_errorf(err, WF_EPARSE,
                               "%s: the last line is torn; remove it to use the rest",
                               where);
        } else {
            status = take_line(&r, p, (size_t)(nl - p), where, err);
            p = nl + 1;
        }
    }
    if (status == WF_OK && r.header == NULL) {
        status = wf_errorf(err, WF_EPARSE, "%s: empty, not a results file", path);
    }
    wf_buf_free(&text);
    if (status != WF_OK) {
        wf_results_free(&r);
        return status;
    }
    *ret = r;
    return WF_OK;
}
