/* The caller's end of a judge (judging.h). */
#include "runner/judging.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "core/parse.h"
#include "runner/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS         ((int64_t)20 * 1000 * 1000 * 1000)
#define POLL_MS          50
#define MAX_RESULT_BYTES ((size_t)64 << 20)

extern char **environ;

/* --- starting --- */

/* The request in a file of memory, read position at its start. */
static enum wf_status request_file(const struct wf_json *request,
                                   int *ret,
                                   struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status st = wf_json_write(request, &text, err);
    int fd = -1;
    if (st == WF_OK) {
        fd = memfd_create("wavefarm-request", MFD_CLOEXEC);
        st = fd < 0 ? wf_error_errno(err, errno, "memfd_create") : WF_OK;
    }
    if (st == WF_OK) {
        st = wf_write_all(fd, text.data, text.len, "request", err);
    }
    if (st == WF_OK && lseek(fd, 0, SEEK_SET) != 0) {
        st = wf_error_errno(err, errno, "lseek");
    }
    wf_buf_free(&text);
    if (st != WF_OK) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return st;
    }
    *ret = fd;
    return WF_OK;
}

static int spawn(const char *program, int request, int result, pid_t *ret)
{
    char name[] = "wavefarm-judge";
    char *argv[] = { name, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    int bad = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    bad = bad ? bad : posix_spawn_file_actions_adddup2(&actions, request, 3);
    bad = bad ? bad : posix_spawn_file_actions_adddup2(&actions, result, 4);
    bad = bad ? bad : posix_spawn_file_actions_addclosefrom_np(&actions, 5);
    bad = bad ? bad : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    bad = bad ? bad : posix_spawn(ret, program, &actions, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return bad;
}

/* Descriptors well above those that the child gets, so that dup2 overwrites none. */
static int lifted(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 32);
    (void)close(fd);
    return high;
}

enum wf_status judging_start(struct judging *r,
                             const struct wf_json *request,
                             struct wf_error *err)
{
    char *program = NULL;
    int ends[2] = { -1, -1 };
    int file = -1;
    enum wf_status st = runner_program("wavefarm-judge", &program, err);
    if (st == WF_OK) {
        st = request_file(request, &file, err);
    }
    if (st == WF_OK && pipe2(ends, O_CLOEXEC) != 0) {
        st = wf_error_errno(err, errno, "pipe");
    }
    if (st == WF_OK) {
        r->pipe = ends[0];
        r->since_ns = wf_monotonic_ns();
        file = lifted(file);
        ends[1] = lifted(ends[1]);
        int bad =
            file < 0 || ends[1] < 0 ? errno : spawn(program, file, ends[1], &r->judge);
        st = bad ? wf_error_errno(err, bad, "cannot start %s", program) : WF_OK;
    }
    if (file >= 0) {
        (void)close(file);
    }
    if (ends[1] >= 0) {
        (void)close(ends[1]);
    }
    free(program);
    return st;
}

/* --- listening --- */

static enum wf_status take_line(struct judging *r, char *line, struct wf_error *err)
{
    int64_t pid = 0;
    if (strncmp(line, "stage ", 6) == 0) {
        (void)snprintf(r->stage, sizeof(r->stage), "%s", line + 6);
        r->waited_ns += r->waiting_ns ? wf_monotonic_ns() - r->waiting_ns : 0;
        r->waiting_ns = 0;
    } else if (strncmp(line, "waiting ", 8) == 0) {
        r->waiting_ns = wf_monotonic_ns();
        wf_log(WF_LOG_INFO, "waiting: %s", line + 8);
    } else if (strncmp(line, "subject ", 8) == 0) {
        if (wf_parse_i64(line + 8, "pid", 2, INT32_MAX, &pid, NULL) == WF_OK) {
            r->subject = (pid_t)pid;
        }
    } else if (strncmp(line, "result ", 7) == 0 || strncmp(line, "error ", 6) == 0) {
        r->has_result = true;
        r->is_error = line[0] == 'e';
        r->result_at = (size_t)(line - r->text.data) + (r->is_error ? 6 : 7);
    } else if (strncmp(line, "pair ", 5) == 0 && r->part) {
        r->since_ns = wf_monotonic_ns();
        r->waited_ns = 0;
        return r->part(r->ctx, line + 5, err);
    }
    return WF_OK;
}

/* Looks at the whole lines that have come, up to a result. */
static enum wf_status look_at_lines(struct judging *r, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    while (st == WF_OK && !r->has_result && r->seen < r->text.len) {
        char *line = r->text.data + r->seen;
        char *end = memchr(line, '\n', r->text.len - r->seen);
        if (!end) {
            break;
        }
        *end = '\0';
        r->seen += (size_t)(end - line) + 1;
        st = take_line(r, line, err);
    }
    return st;
}

/* Lines that were looked at are not kept: a round has many. */
static enum wf_status take_lines(struct judging *r, struct wf_error *err)
{
    enum wf_status st = look_at_lines(r, err);
    if (!r->has_result && r->seen > 0) {
        r->text.len -= r->seen;
        memmove(r->text.data, r->text.data + r->seen, r->text.len);
        r->seen = 0;
    }
    return st;
}

/* Reads what is there; *ret_end: the judge closed its end. */
static enum wf_status listen_once(struct judging *r,
                                  bool *ret_end,
                                  struct wf_error *err)
{
    char bytes[65536];
    struct pollfd fd = { .fd = r->pipe, .events = POLLIN };
    int ready = poll(&fd, 1, POLL_MS);
    if (ready < 0 && errno != EINTR) {
        return wf_error_errno(err, errno, "poll");
    }
    if (ready <= 0) {
        return WF_OK;
    }
    ssize_t n = read(r->pipe, bytes, sizeof(bytes));
    if (n < 0) {
        return errno == EINTR ? WF_OK : wf_error_errno(err, errno, "read");
    }
    if (n == 0) {
        *ret_end = true;
        return WF_OK;
    }
    enum wf_status st = wf_buf_add(&r->text, bytes, (size_t)n, err);
    if (st == WF_OK && r->text.len > MAX_RESULT_BYTES) {
        st = wf_errorf(err, WF_ERANGE, "the result is larger than %zu bytes",
                       MAX_RESULT_BYTES);
    }
    return st == WF_OK ? take_lines(r, err) : st;
}

/* Lets a judge that has said its last word end by itself. */
static void let_end(struct judging *r)
{
    int64_t until_ns = wf_monotonic_ns() + GRACE_NS / 4;
    bool end = false;
    while (!end && wf_monotonic_ns() < until_ns) {
        if (listen_once(r, &end, NULL) != WF_OK) {
            return;
        }
    }
}

void judging_end(struct judging *r, int *ret_wait)
{
    if (r->has_result) {
        let_end(r);
    }
    if (r->judge > 0) {
        (void)kill(-r->judge, SIGKILL);
        while (waitpid(r->judge, ret_wait, 0) < 0 && errno == EINTR) {
        }
    }
    /* A judge that gave a result has ended its subject; the number may be another's. */
    if (r->subject > 0 && !r->has_result) {
        (void)kill(-r->subject, SIGKILL);
    }
    if (r->pipe >= 0) {
        (void)close(r->pipe);
    }
}

/* Time that the judge waited for others to leave the device, which is not the task's.
 */
static int64_t waited_ns(const struct judging_limits *limits, const struct judging *r)
{
    int64_t now_ns = r->waiting_ns ? wf_monotonic_ns() - r->waiting_ns : 0;
    int64_t most_ns = limits->lock_timeout_ns;
    return r->waited_ns + (now_ns < most_ns ? now_ns : most_ns);
}

enum wf_status judging_wait(struct judging *r,
                            const struct judging_limits *limits,
                            bool *ret_cancelled,
                            struct wf_error *err)
{
    bool end = false;
    while (!r->has_result && !end) {
        if (limits->cancel && *limits->cancel) {
            *ret_cancelled = true;
            return WF_OK;
        }
        if (wf_monotonic_ns() >=
            r->since_ns + limits->deadline_ns + GRACE_NS + waited_ns(limits, r)) {
            return wf_errorf(err, WF_ETIMEOUT,
                             "the judge passed its deadline of %lld ms in stage %s",
                             (long long)(limits->deadline_ns / 1000000), r->stage);
        }
        enum wf_status st = listen_once(r, &end, err);
        if (st != WF_OK) {
            return st;
        }
    }
    return WF_OK;
}

/* --- the result --- */

static enum wf_status error_of(const struct wf_json *json, struct wf_error *err)
{
    const char *text = "";
    const char *domain = "";
    int64_t status = WF_EINTERNAL;
    int64_t native = 0;
    (void)wf_json_get_string(json, "text", &text, NULL);
    (void)wf_json_get_string(json, "domain", &domain, NULL);
    (void)wf_json_get_i64(json, "status", WF_EINTERNAL, WF_EINVAL, &status, NULL);
    (void)wf_json_get_i64(json, "native", INT32_MIN, INT32_MAX, &native, NULL);
    (void)wf_errorf(err, (enum wf_status)status, "%s", text);
    if (err) {
        err->native = (int)native;
        (void)snprintf(err->domain, sizeof(err->domain), "%s", domain);
    }
    return (enum wf_status)status;
}

static enum wf_status unpack(const struct judging *r,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    struct wf_json *json = NULL;
    const char *text = r->text.data + r->result_at;
    enum wf_status st = wf_json_parse(text, strlen(text), "judge's result", &json, err);
    if (st == WF_OK && r->is_error) {
        st = error_of(json, err);
        wf_json_free(json);
        return st;
    }
    if (st == WF_OK) {
        *ret = json;
    }
    return st;
}

static enum wf_status no_result(const struct judging *r, int wait, struct wf_error *err)
{
    if (WIFSIGNALED(wait)) {
        return wf_errorf(err, WF_EINTERNAL, "the judge died of signal %d in stage %s",
                         WTERMSIG(wait), r->stage);
    }
    return wf_errorf(err, WF_EINTERNAL,
                     "the judge ended with status %d without a result, in stage %s",
                     WEXITSTATUS(wait), r->stage);
}

enum wf_status judging_unpack(const struct judging *r,
                              int wait,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    return r->has_result ? unpack(r, ret, err) : no_result(r, wait, err);
}

void judging_free(struct judging *r)
{
    wf_buf_free(&r->text);
}
