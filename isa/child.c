/* A child in a process group of its own, so that a time-out ends all of it. Its input
 * is a file without a name: a child that does not read cannot block us. */
#include "isa/child.h"

#include "core/clock.h"
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct child {
    const char *name;
    pid_t pid; /* 0: not started, or reaped */
    int in, out[2];
    int64_t deadline_ns;
};

static enum wf_status open_ends(struct child *c,
                                const char *input,
                                size_t bytes,
                                struct wf_error *err)
{
    c->in = memfd_create("wavefarm-isa", MFD_CLOEXEC);
    if (c->in < 0 || pipe2(c->out, O_CLOEXEC) != 0) {
        return wf_error_errno(err, errno, "cannot start %s", c->name);
    }
    enum wf_status st = wf_write_all(c->in, input, bytes, c->name, err);
    if (st == WF_OK && lseek(c->in, 0, SEEK_SET) != 0) {
        st = wf_error_errno(err, errno, "cannot start %s", c->name);
    }
    return st;
}

static int spawn(struct child *c, const char *const *argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    union {
        const char *const *in;
        char *const *out;
    } cast = { .in = argv }; /* posix_spawn does not write to it */
    int e = posix_spawn_file_actions_init(&actions);
    if (e != 0) {
        return e;
    }
    e = posix_spawnattr_init(&attr);
    if (e == 0) {
        e = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
        e = e != 0 ? e : posix_spawnattr_setpgroup(&attr, 0);
        e = e != 0 ? e : posix_spawn_file_actions_adddup2(&actions, c->in, 0);
        e = e != 0 ? e : posix_spawn_file_actions_adddup2(&actions, c->out[1], 1);
        e = e != 0 ? e : posix_spawn_file_actions_adddup2(&actions, c->out[1], 2);
        e = e != 0 ? e
                   : posix_spawn(&c->pid, argv[0], &actions, &attr, cast.out, environ);
        (void)posix_spawnattr_destroy(&attr);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return e;
}

static int wait_ms(const struct child *c)
{
    int64_t left = c->deadline_ns - wf_monotonic_ns();
    return left <= 0 ? 0 : (int)(left / 1000000 + 1);
}

static enum wf_status too_long(const struct child *c, struct wf_error *err)
{
    return wf_errorf(err, WF_ETIMEOUT, "%s did not end within its time", c->name);
}

static enum wf_status read_output(const struct child *c,
                                  struct wf_buf *out,
                                  struct wf_error *err)
{
    char chunk[8192];
    struct pollfd p = { .fd = c->out[0], .events = POLLIN };
    for (;;) {
        int ms = wait_ms(c);
        int ready = ms > 0 ? poll(&p, 1, ms) : 0;
        if (ready == 0) {
            return too_long(c, err);
        }
        ssize_t n = ready < 0 ? -1 : read(c->out[0], chunk, sizeof(chunk));
        if (n < 0 && errno != EINTR) {
            return wf_error_errno(err, errno, "cannot read what %s prints", c->name);
        }
        if (n == 0) {
            return WF_OK;
        }
        if (n > 0 && out->len + (size_t)n <= ISA_CHILD_MAX_OUTPUT) {
            enum wf_status st = wf_buf_add(out, chunk, (size_t)n, err);
            if (st != WF_OK) {
                return st;
            }
        }
    }
}

/* It has closed its output; usually it has ended too. */
static enum wf_status reap(struct child *c, int *ret_exit, struct wf_error *err)
{
    int status = 0;
    for (;;) {
        pid_t got = waitpid(c->pid, &status, WNOHANG);
        if (got == c->pid) {
            c->pid = 0;
            *ret_exit =
                WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            return WF_OK;
        }
        if (got < 0 && errno != EINTR) {
            return wf_error_errno(err, errno, "cannot wait for %s", c->name);
        }
        if (wait_ms(c) == 0) {
            return too_long(c, err);
        }
        (void)poll(NULL, 0, 1);
    }
}

static void finish(struct child *c)
{
    if (c->pid > 0) {
        (void)kill(-c->pid, SIGKILL);
        (void)kill(c->pid, SIGKILL);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    for (int i = 0; i < 2; i++) {
        if (c->out[i] >= 0) {
            (void)close(c->out[i]);
        }
    }
    if (c->in >= 0) {
        (void)close(c->in);
    }
}

enum wf_status isa_child_run(const char *const *argv,
                             const char *input,
                             size_t input_bytes,
                             int64_t timeout_ns,
                             struct wf_buf *out,
                             int *ret_exit,
                             struct wf_error *err)
{
    struct child c = { .name = argv[0],
                       .in = -1,
                       .out = { -1, -1 },
                       .deadline_ns = wf_monotonic_ns() + timeout_ns };
    enum wf_status st = open_ends(&c, input, input_bytes, err);
    if (st == WF_OK) {
        int e = spawn(&c, argv);
        if (e != 0) {
            c.pid = 0;
            st = wf_error_errno(err, e, "cannot start %s", argv[0]);
        }
    }
    if (st == WF_OK) {
        (void)close(c.out[1]);
        c.out[1] = -1;
        st = read_output(&c, out, err);
    }
    if (st == WF_OK) {
        st = reap(&c, ret_exit, err);
    }
    finish(&c);
    return st;
}
