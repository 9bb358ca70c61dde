/* Talks JSON Lines to a command. Every wait has a deadline; a line that is no JSON
 * object ends it; what it writes to stderr is kept for the error's text. */
#include "runner/process_client.h"

#include "core/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_LINE_BYTES ((size_t)16 << 20)
#define LOG_BYTES      512u
#define REAP_NS        ((int64_t)200 * 1000 * 1000)

extern char **environ;

struct process_client {
    pid_t pid;
    int to, from, log;
    enum subject_state state;
    struct wf_error end;
    struct wf_buf line;
    char tail[LOG_BYTES + 1]; /* of what it wrote to stderr */
};

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

/* --- starting --- */

static enum wf_status open_pipes(int in[2],
                                 int out[2],
                                 int log[2],
                                 struct wf_error *err)
{
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
        pipe2(log, O_CLOEXEC) != 0 || fcntl(log[0], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(in[1], F_SETFL, O_NONBLOCK) != 0) {
        return wf_error_errno(err, errno, "pipe");
    }
    return WF_OK;
}

static int spawn(char *const *argv,
                 const char *folder,
                 const int in[2],
                 const int out[2],
                 const int log[2],
                 pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    int bad = posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    bad = bad ? bad : posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    bad = bad ? bad : posix_spawn_file_actions_adddup2(&actions, log[1], 2);
    bad = bad ? bad : posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    bad = bad ? bad : posix_spawn_file_actions_addchdir_np(&actions, folder);
    bad = bad ? bad : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    bad = bad ? bad : posix_spawnp(ret, argv[0], &actions, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return bad;
}

enum wf_status process_client_start(char *const *argv,
                                    const char *folder,
                                    struct process_client **ret,
                                    struct wf_error *err)
{
    int in[2] = { -1, -1 };
    int out[2] = { -1, -1 };
    int log[2] = { -1, -1 };
    struct process_client *c = wf_calloc(1, sizeof(*c));
    if (!c) {
        return wf_errorf(err, WF_ENOMEM, "no memory");
    }
    enum wf_status st = open_pipes(in, out, log, err);
    if (st == WF_OK) {
        int bad = spawn(argv, folder, in, out, log, &c->pid);
        st = bad ? wf_error_errno(err, bad, "cannot start %s", argv[0]) : WF_OK;
    }
    close_fd(&in[0]);
    close_fd(&out[1]);
    close_fd(&log[1]);
    c->to = in[1];
    c->from = out[0];
    c->log = log[0];
    if (st != WF_OK) {
        process_client_stop(c);
        return st;
    }
    *ret = c;
    return WF_OK;
}

/* --- ending --- */

static void read_log(struct process_client *c)
{
    char bytes[LOG_BYTES];
    for (;;) {
        ssize_t n = c->log >= 0 ? read(c->log, bytes, sizeof(bytes)) : 0;
        if (n <= 0) {
            return;
        }
        size_t have = strlen(c->tail);
        size_t keep = have + (size_t)n > LOG_BYTES ? LOG_BYTES - (size_t)n : have;
        memmove(c->tail, c->tail + have - keep, keep);
        for (ssize_t i = 0; i < n; i++) {
            bool plain = bytes[i] >= ' ' && bytes[i] <= '~';
            c->tail[keep + (size_t)i] = plain ? bytes[i] : '|';
        }
        c->tail[keep + (size_t)n] = '\0';
    }
}

static void finish(struct process_client *c,
                   enum subject_state state,
                   enum wf_status status,
                   const char *what)
{
    int wait = 0;
    char how[80] = "";
    const struct wf_clock *clock = wf_clock_system();
    int64_t until_ns = wf_monotonic_ns() + (state == SUBJECT_DIED ? REAP_NS : 0);
    pid_t got = 0;
    while (got == 0 && wf_monotonic_ns() < until_ns) {
        got = waitpid(c->pid, &wait, WNOHANG);
        if (got == 0) {
            clock->sleep_ns(clock->ctx, 1000000);
        }
    }
    (void)kill(-c->pid, SIGKILL);
    while (got == 0 && waitpid(c->pid, &wait, 0) < 0 && errno == EINTR) {
    }
    if (got > 0 && WIFSIGNALED(wait)) {
        (void)snprintf(how, sizeof(how), " (signal %d)", WTERMSIG(wait));
    } else if (got > 0) {
        (void)snprintf(how, sizeof(how), " (status %d)", WEXITSTATUS(wait));
    }
    read_log(c);
    c->state = state;
    (void)wf_errorf(&c->end, status, "%s%s%s%s", what, how,
                    c->tail[0] ? "; it wrote: " : "", c->tail);
}

void process_client_stop(struct process_client *c)
{
    if (!c) {
        return;
    }
    if (c->pid > 0 && c->state == SUBJECT_ALIVE) {
        finish(c, SUBJECT_BROKEN, WF_ECANCELLED, "stopped");
    }
    close_fd(&c->to);
    close_fd(&c->from);
    close_fd(&c->log);
    wf_buf_free(&c->line);
    free(c);
}

/* --- asking --- */

/* Waits for one of its pipes; ETIMEOUT. */
static enum wf_status wait_pipe(struct process_client *c,
                                int fd,
                                short events,
                                int64_t deadline_ns,
                                struct wf_error *err)
{
    for (;;) {
        int64_t left_ns = deadline_ns - wf_monotonic_ns();
        struct pollfd fds[2] = { { .fd = fd, .events = events },
                                 { .fd = c->log, .events = POLLIN } };
        if (left_ns <= 0) {
            return wf_errorf(err, WF_ETIMEOUT, "no answer in time");
        }
        int n =
            poll(fds, 2, left_ns > 1000000000 ? 1000 : (int)(left_ns / 1000000) + 1);
        if (n < 0 && errno != EINTR) {
            return wf_error_errno(err, errno, "poll");
        }
        if (n > 0 && fds[1].revents) {
            read_log(c);
            if (!(fds[1].revents & POLLIN)) {
                close_fd(&c->log);
            }
        }
        if (n > 0 && fds[0].revents) {
            return WF_OK;
        }
    }
}

static enum wf_status send_line(struct process_client *c,
                                const struct wf_json *request,
                                int64_t deadline_ns,
                                struct wf_error *err)
{
    struct wf_buf line = WF_BUF_INIT;
    enum wf_status st = wf_json_write(request, &line, err);
    st = st == WF_OK ? wf_buf_puts(&line, "\n", err) : st;
    for (size_t at = 0; st == WF_OK && at < line.len;) {
        st = wait_pipe(c, c->to, POLLOUT, deadline_ns, err);
        ssize_t n = st == WF_OK ? write(c->to, line.data + at, line.len - at) : 0;
        if (n < 0 && errno == EPIPE) {
            st = wf_errorf(err, WF_ENOTFOUND, "its input is closed");
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            st = wf_error_errno(err, errno, "write");
        }
        at += n > 0 ? (size_t)n : 0;
    }
    wf_buf_free(&line);
    return st;
}

/* Reads up to and without the newline into c->line. */
static enum wf_status read_line(struct process_client *c,
                                int64_t deadline_ns,
                                struct wf_error *err)
{
    char bytes[4096];
    wf_buf_clear(&c->line);
    for (;;) {
        enum wf_status st = wait_pipe(c, c->from, POLLIN, deadline_ns, err);
        if (st != WF_OK) {
            return st;
        }
        ssize_t n = read(c->from, bytes, sizeof(bytes));
        if (n == 0) {
            return wf_errorf(err, WF_ENOTFOUND, "its output is closed");
        }
        if (n < 0) {
            return wf_error_errno(err, errno, "read");
        }
        st = wf_buf_add(&c->line, bytes, (size_t)n, err);
        if (st != WF_OK) {
            return st;
        }
        char *end = memchr(c->line.data, '\n', c->line.len);
        if (end && (size_t)(end - c->line.data) + 1 != c->line.len) {
            return wf_errorf(err, WF_EPARSE, "more than one line for one request");
        }
        if (end) {
            c->line.len--;
            return WF_OK;
        }
        if (c->line.len > MAX_LINE_BYTES) {
            return wf_errorf(err, WF_EPARSE, "a line of more than %zu bytes",
                             MAX_LINE_BYTES);
        }
    }
}

static void note_failure(struct process_client *c, const struct wf_error *why)
{
    char what[400];
    if (why->status == WF_ETIMEOUT) {
        finish(c, SUBJECT_HUNG, WF_ETIMEOUT,
               "the command gave no answer in time, killed");
    } else if (why->status == WF_ENOTFOUND) {
        finish(c, SUBJECT_DIED, WF_EDEVICE, "the command ended");
    } else {
        (void)snprintf(what, sizeof(what),
                       "the command's answer makes no sense (%.300s)", why->text);
        finish(c, SUBJECT_BROKEN, WF_EDEVICE, what);
    }
}

enum wf_status process_client_ask(struct process_client *c,
                                  const struct wf_json *request,
                                  int64_t deadline_ns,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    struct wf_error why = { 0 };
    struct wf_json *reply = NULL;
    if (c->state == SUBJECT_ALIVE) {
        enum wf_status st = send_line(c, request, deadline_ns, &why);
        if (st == WF_OK) {
            st = read_line(c, deadline_ns, &why);
        }
        if (st == WF_OK) {
            st = wf_json_parse(c->line.data, c->line.len, "answer", &reply, &why);
        }
        if (st == WF_OK && wf_json_type(reply) == WF_JSON_OBJECT) {
            *ret = reply;
            return WF_OK;
        }
        wf_json_free(reply);
        note_failure(c, &why);
    }
    if (err) {
        *err = c->end;
    }
    return c->end.status;
}

enum subject_state process_client_state(const struct process_client *c)
{
    return c->state;
}

pid_t process_client_pid(const struct process_client *c)
{
    return c->pid;
}
