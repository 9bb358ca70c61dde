/* Starts a subject, talks to it and cleans up after it.
 *
 * Every wait has a deadline. Whatever goes wrong ends in one of the states of
 * enum subject_state, the process group is killed, and the child is reaped: nothing
 * stays behind. A subject that is gone answers every later call with the same error. */
#include "runner/subject_client.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/parse.h"
#include "runner/subject_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_BYTES    2048u
#define QUIT_WAIT_NS ((int64_t)2 * 1000 * 1000 * 1000)
#define REAP_WAIT_NS ((int64_t)200 * 1000 * 1000)
#define CHILD_SOCKET 3
#define CHILD_WINDOW 4

extern char **environ;

struct subject_client {
    pid_t pid;
    int fd;
    unsigned char *window;
    const struct wf_scope *params;
    enum subject_state state;
    struct wf_error end; /* what every call answers once it is gone */
    uint32_t sequence;
    struct wire_watch watch;
    char log[LOG_BYTES + 1];
    size_t log_len;
    struct wf_buf payload;
};

/* Keeps the last LOG_BYTES. */
static void take_log(void *ctx, const char *bytes, size_t n)
{
    struct subject_client *c = ctx;
    if (n > LOG_BYTES) {
        bytes += n - LOG_BYTES;
        n = LOG_BYTES;
    }
    if (c->log_len + n > LOG_BYTES) {
        size_t drop = c->log_len + n - LOG_BYTES;
        memmove(c->log, c->log + drop, c->log_len - drop);
        c->log_len -= drop;
    }
    memcpy(c->log + c->log_len, bytes, n);
    c->log_len += n;
}

static void drain_log(struct subject_client *c)
{
    char bytes[4096];
    while (c->watch.fd >= 0) {
        ssize_t n = read(c->watch.fd, bytes, sizeof(bytes));
        if (n <= 0) {
            return;
        }
        take_log(c, bytes, (size_t)n);
    }
}

const char *subject_client_log(struct subject_client *c)
{
    drain_log(c);
    while (c->log_len && c->log[c->log_len - 1] == '\n') {
        c->log_len--;
    }
    for (size_t i = 0; i < c->log_len; i++) {
        unsigned char b = (unsigned char)c->log[i];
        c->log[i] = b == '\n' ? '|' : (char)(b < ' ' || b > '~' ? '?' : b);
    }
    c->log[c->log_len] = '\0';
    return c->log;
}

/* --- starting --- */

struct pipes {
    int socket[2]; /* ours, the child's */
    int log[2];    /* read end, write end */
    int window;
};

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static enum wf_status open_pipes(struct pipes *p, struct wf_error *err)
{
    *p = (struct pipes){ { -1, -1 }, { -1, -1 }, -1 };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->socket) != 0) {
        return wf_error_errno(err, errno, "socketpair");
    }
    if (pipe2(p->log, O_CLOEXEC) != 0) {
        return wf_error_errno(err, errno, "pipe");
    }
    if (fcntl(p->log[0], F_SETFL, O_NONBLOCK) != 0) {
        return wf_error_errno(err, errno, "fcntl");
    }
    p->window = memfd_create("wavefarm-window", MFD_CLOEXEC);
    if (p->window < 0 || ftruncate(p->window, WF_SP_WINDOW_BYTES) != 0) {
        return wf_error_errno(err, errno, "memfd_create");
    }
    return WF_OK;
}

static void close_pipes(struct pipes *p)
{
    close_fd(&p->socket[0]);
    close_fd(&p->socket[1]);
    close_fd(&p->log[0]);
    close_fd(&p->log[1]);
    close_fd(&p->window);
}

/* The child's descriptors go to fixed numbers by way of high ones, so that no dup2
 * overwrites a source. */
static enum wf_status lift(int *fd, struct wf_error *err)
{
    int high = fcntl(*fd, F_DUPFD_CLOEXEC, 32);
    if (high < 0) {
        return wf_error_errno(err, errno, "fcntl");
    }
    (void)close(*fd);
    *fd = high;
    return WF_OK;
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct pipes *p)
{
    int bad = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    bad = bad ? bad : posix_spawn_file_actions_adddup2(actions, p->log[1], 1);
    bad = bad ? bad : posix_spawn_file_actions_adddup2(actions, p->log[1], 2);
    bad = bad ? bad
              : posix_spawn_file_actions_adddup2(actions, p->socket[1], CHILD_SOCKET);
    bad =
        bad ? bad : posix_spawn_file_actions_adddup2(actions, p->window, CHILD_WINDOW);
    return bad;
}

static enum wf_status spawn_child(const struct subject_options *options,
                                  const struct pipes *p,
                                  pid_t *ret,
                                  struct wf_error *err)
{
    char program[] = "wavefarm-subject";
    char socket_option[] = "--socket";
    char socket_fd[] = "3";
    char window_option[] = "--window";
    char window_fd[] = "4";
    char library_option[] = "--library";
    char parent_option[] = "--parent";
    char parent[24];
    char *library = wf_strdup(options->library);
    char *argv[] = { program,   socket_option, socket_fd, window_option,
                     window_fd, parent_option, parent,    library_option,
                     library,   NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (!library) {
        return wf_errorf(err, WF_ENOMEM, "no memory");
    }
    (void)snprintf(parent, sizeof(parent), "%ld", (long)getpid());
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    int bad = add_actions(&actions, p);
    bad = bad ? bad : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    bad =
        bad ? bad
            : posix_spawn(ret, options->program, &actions, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    free(library);
    return bad ? wf_error_errno(err, bad, "cannot start %s", options->program) : WF_OK;
}

static enum wf_status connect_child(struct subject_client *c,
                                    struct pipes *p,
                                    struct wf_error *err)
{
    void *window = mmap(NULL, WF_SP_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                        p->window, 0);
    if (window == MAP_FAILED) {
        return wf_error_errno(err, errno, "mmap");
    }
    c->window = window;
    c->fd = p->socket[0];
    c->watch = (struct wire_watch){ p->log[0], take_log, c };
    p->socket[0] = -1;
    p->log[0] = -1;
    return WF_OK;
}

enum wf_status subject_client_start(const struct subject_options *options,
                                    struct subject_client **ret,
                                    struct wf_error *err)
{
    struct pipes p = { { -1, -1 }, { -1, -1 }, -1 };
    struct subject_client *c = wf_calloc(1, sizeof(*c));
    if (!c) {
        return wf_errorf(err, WF_ENOMEM, "no memory");
    }
    c->fd = -1;
    c->watch.fd = -1;
    c->params = options->params;
    enum wf_status st = open_pipes(&p, err);
    if (st == WF_OK) {
        st = lift(&p.socket[1], err);
    }
    if (st == WF_OK) {
        st = lift(&p.log[1], err);
    }
    if (st == WF_OK) {
        st = lift(&p.window, err);
    }
    if (st == WF_OK) {
        st = spawn_child(options, &p, &c->pid, err);
    }
    if (st == WF_OK) {
        st = connect_child(c, &p, err);
    }
    close_pipes(&p);
    if (st != WF_OK) {
        subject_client_stop(c);
        return st;
    }
    *ret = c;
    return WF_OK;
}

/* --- ending --- */

static void end_text(struct subject_client *c,
                     enum wf_status status,
                     const char *command,
                     const char *what)
{
    const char *log = subject_client_log(c);
    (void)wf_errorf(&c->end, status, "%s during %s%s%.300s", what, command,
                    log[0] ? "; it wrote: " : "",
                    log + (c->log_len > 300 ? c->log_len - 300 : 0));
    (void)snprintf(c->end.domain, sizeof(c->end.domain), "subject");
}

/* Waits for the child until the deadline; false when it still runs. */
static bool reap(struct subject_client *c, int64_t deadline_ns, int *ret_wait)
{
    for (;;) {
        pid_t got = waitpid(c->pid, ret_wait, WNOHANG);
        if (got == c->pid || (got < 0 && errno == ECHILD)) {
            return true;
        }
        if (wf_monotonic_ns() >= deadline_ns) {
            return false;
        }
        const struct wf_clock *clock = wf_clock_system();
        clock->sleep_ns(clock->ctx, 1000000);
    }
}

static void kill_group(struct subject_client *c)
{
    int wait = 0;
    (void)kill(-c->pid, SIGKILL);
    (void)kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &wait, 0) < 0 && errno == EINTR) {
    }
}

/* The socket is closed: find out why. */
static void note_death(struct subject_client *c, const char *command)
{
    char what[96];
    int wait = 0;
    c->state = SUBJECT_DIED;
    if (!reap(c, wf_monotonic_ns() + REAP_WAIT_NS, &wait)) {
        kill_group(c);
        end_text(c, WF_EDEVICE, command, "the subject closed its connection");
        return;
    }
    (void)kill(-c->pid, SIGKILL); /* what its kernels may have started */
    if (WIFSIGNALED(wait)) {
        int signal_number = WTERMSIG(wait);
        const char *name = sigabbrev_np(signal_number);
        (void)snprintf(what, sizeof(what), "the subject died of SIG%s (%s)",
                       name ? name : "?", strsignal(signal_number));
    } else {
        (void)snprintf(what, sizeof(what), "the subject exited with status %d",
                       WEXITSTATUS(wait));
    }
    end_text(c, WF_EDEVICE, command, what);
    c->end.native = WIFSIGNALED(wait) ? WTERMSIG(wait) : 0;
    if (c->end.native == SIGSYS) {
        c->state = SUBJECT_CHEATED; /* subject_jail.c */
    }
}

static void note_failure(struct subject_client *c,
                         enum wf_sp_command command,
                         const struct wf_error *why)
{
    const char *name = wf_sp_command_name(command);
    switch ((int)why->status) {
    case WF_ENOTFOUND:
        note_death(c, name);
        break;
    case WF_ETIMEOUT:
        c->state = SUBJECT_HUNG;
        kill_group(c);
        end_text(c, WF_ETIMEOUT, name, "no answer in time, killed");
        break;
    case WF_ECONFLICT:
        c->state = SUBJECT_CHEATED;
        kill_group(c);
        end_text(c, WF_EDEVICE, name, "somebody answered in the subject's place");
        break;
    default:
        c->state = SUBJECT_BROKEN;
        kill_group(c);
        end_text(c, WF_EDEVICE, name, "the subject's answer makes no sense");
        break;
    }
}

void subject_client_stop(struct subject_client *c)
{
    int wait = 0;
    if (!c) {
        return;
    }
    if (c->pid > 0 && c->state == SUBJECT_ALIVE) {
        int64_t deadline_ns = wf_monotonic_ns() + QUIT_WAIT_NS;
        bool asked =
            c->fd >= 0 && subject_client_call(c, WF_SP_QUIT, NULL, 0, deadline_ns, NULL,
                                              NULL) == WF_OK;
        if (c->state == SUBJECT_ALIVE) {
            if (!asked || !reap(c, deadline_ns, &wait)) {
                kill_group(c);
            } else {
                (void)kill(-c->pid, SIGKILL);
            }
        }
    }
    close_fd(&c->fd);
    close_fd(&c->watch.fd);
    if (c->window) {
        (void)munmap(c->window, WF_SP_WINDOW_BYTES);
    }
    wf_buf_free(&c->payload);
    free(c);
}

/* --- calling --- */

void subject_client_set_params(struct subject_client *c, const struct wf_scope *params)
{
    c->params = params;
}

static void look_up(const struct wf_scope *scope,
                    const char *name,
                    struct wf_sp_param *ret)
{
    struct wf_value value;
    memset(ret, 0, sizeof(*ret));
    for (; scope; scope = scope->next) {
        if (!scope->find || scope->find(scope->ctx, name, &value, NULL) != WF_OK) {
            continue;
        }
        if (value.kind == WF_VALUE_INT) {
            ret->kind = WF_SP_PARAM_INT;
            ret->i = value.i;
        } else if (value.kind == WF_VALUE_DOUBLE) {
            ret->kind = WF_SP_PARAM_DOUBLE;
            ret->d = value.d;
        } else if (value.kind == WF_VALUE_STRING && strlen(value.s) < sizeof(ret->s)) {
            ret->kind = WF_SP_PARAM_STRING;
            (void)snprintf(ret->s, sizeof(ret->s), "%s", value.s);
        }
        return;
    }
}

static enum wf_status answer_param(struct subject_client *c, struct wf_error *err)
{
    struct wf_sp_param param;
    const char *name = wf_buf_cstr(&c->payload);
    look_up(c->params, name, &param);
    struct wf_sp_header header = { WF_SP_MAGIC, WF_SP_VERSION, WF_SP_PARAM, 0,
                                   sizeof(param) };
    return wire_send(c->fd, &header, &param, sizeof(param), NULL, 0, err);
}

/* Waits for the reply to `sequence`; c->payload holds it. */
static enum wf_status wait_reply(struct subject_client *c,
                                 enum wf_sp_command command,
                                 int64_t deadline_ns,
                                 struct wf_error *err)
{
    for (;;) {
        struct wf_sp_header header = { 0 };
        enum wf_status st =
            wire_receive(c->fd, deadline_ns, &c->watch, &header, &c->payload, err);
        if (st != WF_OK) {
            return st;
        }
        if (header.command == WF_SP_PARAM) {
            st = answer_param(c, err);
            if (st != WF_OK) {
                return st;
            }
            continue;
        }
        if (header.command != (uint16_t)command || header.sequence != c->sequence ||
            c->payload.len < sizeof(struct wf_sp_status)) {
            return wf_errorf(err, WF_ECONFLICT, "a reply to something else");
        }
        return WF_OK;
    }
}

static enum wf_status unpack_reply(struct subject_client *c,
                                   struct wf_buf *reply,
                                   struct wf_error *err)
{
    struct wf_sp_status status;
    memcpy(&status, c->payload.data, sizeof(status));
    status.text[sizeof(status.text) - 1] = '\0';
    status.domain[sizeof(status.domain) - 1] = '\0';
    if (status.status != WF_OK) {
        enum wf_status st = status.status < 0 && status.status >= WF_EINTERNAL
                                ? (enum wf_status)status.status
                                : WF_EDEVICE;
        (void)wf_errorf(err, st, "%s", status.text);
        if (err) {
            err->native = status.native;
            (void)snprintf(err->domain, sizeof(err->domain), "%s", status.domain);
        }
        return st;
    }
    if (!reply) {
        return WF_OK;
    }
    wf_buf_clear(reply);
    return wf_buf_add(reply, c->payload.data + sizeof(status),
                      c->payload.len - sizeof(status), err);
}

/* Between commands the subject says nothing. */
static enum wf_status expect_silence(struct subject_client *c, struct wf_error *err)
{
    char byte;
    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0
               ? wf_errorf(err, WF_ECONFLICT, "a message that nobody asked for")
               : WF_OK;
}

enum wf_status subject_client_call(struct subject_client *c,
                                   enum wf_sp_command command,
                                   const void *payload,
                                   size_t n,
                                   int64_t deadline_ns,
                                   struct wf_buf *reply,
                                   struct wf_error *err)
{
    struct wf_error why = { 0 };
    if (n > WF_SP_MAX_PAYLOAD) {
        return wf_errorf(err, WF_ERANGE, "a message of %zu bytes, at most %u", n,
                         WF_SP_MAX_PAYLOAD);
    }
    if (c->state == SUBJECT_ALIVE) {
        struct wf_sp_header header = { WF_SP_MAGIC, WF_SP_VERSION, (uint16_t)command,
                                       ++c->sequence, (uint32_t)n };
        enum wf_status st = expect_silence(c, &why);
        if (st == WF_OK) {
            st = wire_send(c->fd, &header, payload, n, NULL, 0, &why);
        }
        if (st == WF_OK) {
            st = wait_reply(c, command, deadline_ns, &why);
        }
        if (st == WF_OK) {
            return unpack_reply(c, reply, err);
        }
        note_failure(c, command, &why);
    }
    if (err) {
        *err = c->end;
    }
    return c->end.status;
}

enum wf_status subject_client_get(struct subject_client *c,
                                  enum wf_sp_command command,
                                  const void *payload,
                                  size_t n,
                                  int64_t deadline_ns,
                                  void *ret,
                                  size_t ret_bytes,
                                  struct wf_error *err)
{
    struct wf_buf reply = WF_BUF_INIT;
    enum wf_status st =
        subject_client_call(c, command, payload, n, deadline_ns, &reply, err);
    if (st == WF_OK && reply.len != ret_bytes) {
        st = wf_errorf(err, WF_EPARSE, "%s answered %zu bytes, not %zu",
                       wf_sp_command_name(command), reply.len, ret_bytes);
    }
    if (st == WF_OK && reply.data) {
        memcpy(ret, reply.data, ret_bytes);
    }
    wf_buf_free(&reply);
    return st;
}

unsigned char *subject_client_window(struct subject_client *c)
{
    return c->window;
}

enum subject_state subject_client_state(const struct subject_client *c)
{
    return c->state;
}

pid_t subject_client_pid(const struct subject_client *c)
{
    return c->pid;
}

uint64_t process_peak_bytes(pid_t pid)
{
    char path[64];
    struct wf_buf text = WF_BUF_INIT;
    uint64_t kib = 0;
    (void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
    if (wf_file_read(path, 1 << 20, &text, NULL) == WF_OK) {
        char *at = strstr(text.data, "\nVmHWM:");
        if (at) {
            at += strlen("\nVmHWM:");
            at += strspn(at, " \t");
            at[strspn(at, "0123456789")] = '\0';
            (void)wf_parse_u64(at, "VmHWM", 0, UINT64_MAX >> 10, &kib, NULL);
        }
    }
    wf_buf_free(&text);
    return kib << 10;
}

uint64_t subject_client_peak_bytes(const struct subject_client *c)
{
    return c->state == SUBJECT_ALIVE ? process_peak_bytes(c->pid) : 0;
}
