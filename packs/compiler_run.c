/* Runs a compiler under a time limit.
 *
 * fork, not posix_spawn: the child asks to be killed with its parent, and limits its
 * processor time and that of whatever it starts, so that a compiler that never ends
 * does not outlive a killed build either. Between fork and exec only functions that are
 * safe in a copy of a process with threads are called. */
#include "packs/command.h"
#include "packs/compiler.h"

#include "core/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_MS INT64_C(1000000)

struct child {
    pid_t pid;
    int out, pidfd;
    int64_t deadline_ns; /* of CLOCK_MONOTONIC_RAW; 0: none */
};

struct start {
    const char *path, *folder;
    char *const *argv;
    int null, out, failed; /* descriptors */
    int timeout_ms;
    pid_t parent;
};

/* In the child. What went wrong is written to `failed`, which exec closes. */
static void become(const struct start *s)
{
    struct rlimit cpu = { 0, 0 };
    int e = 0;
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != s->parent) {
        _exit(127);
    }
    if (s->timeout_ms > 0 && getrlimit(RLIMIT_CPU, &cpu) == 0) {
        rlim_t seconds = (rlim_t)s->timeout_ms / 1000 + 2;
        cpu.rlim_cur = cpu.rlim_max < seconds ? cpu.rlim_max : seconds;
        (void)setrlimit(RLIMIT_CPU, &cpu);
    }
    if (dup2(s->null, STDIN_FILENO) >= 0 && dup2(s->out, STDOUT_FILENO) >= 0 &&
        dup2(s->out, STDERR_FILENO) >= 0 && chdir(s->folder) == 0) {
        (void)execv(s->path, s->argv);
    }
    e = errno;
    (void)!write(s->failed, &e, sizeof e);
    _exit(127);
}

static enum wf_status fork_child(const struct start *s,
                                 int failed,
                                 struct child *c,
                                 struct wf_error *err)
{
    int e = 0;
    ssize_t n;
    c->pid = fork();
    if (c->pid == 0) {
        become(s);
    }
    int why = errno;
    (void)close(s->failed);
    (void)close(s->out);
    if (c->pid < 0) {
        return wf_error_errno(err, why, "cannot start %s", s->path);
    }
    (void)setpgid(c->pid, c->pid); /* whoever of the two is first */
    do {
        n = read(failed, &e, sizeof e);
    } while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof e) {
        (void)waitpid(c->pid, NULL, 0);
        return wf_error_errno(err, e, "cannot start %s in %s", s->path, s->folder);
    }
    return WF_OK;
}

static enum wf_status start(const char *path,
                            const char *const *argv,
                            const char *folder,
                            int timeout_ms,
                            struct child *c,
                            struct wf_error *err)
{
    union {
        const char *const *in;
        char *const *out; /* exec does not write to it */
    } cast = { .in = argv };
    int out[2] = { -1, -1 }, failed[2] = { -1, -1 };
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    enum wf_status st;
    if (null < 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(failed, O_CLOEXEC) != 0) {
        st = wf_error_errno(err, errno, "cannot make a pipe for %s", path);
        if (out[0] >= 0) {
            (void)close(out[0]);
            (void)close(out[1]);
        }
    } else {
        struct start s = { .path = path,
                           .folder = folder == NULL ? "." : folder,
                           .argv = cast.out,
                           .null = null,
                           .out = out[1],
                           .failed = failed[1],
                           .timeout_ms = timeout_ms,
                           .parent = getpid() };
        st = fork_child(&s, failed[0], c, err);
        (void)close(failed[0]);
        c->out = out[0];
        if (st != WF_OK) {
            (void)close(out[0]);
        }
    }
    if (null >= 0) {
        (void)close(null);
    }
    return st;
}

/* Milliseconds until the deadline, rounded up; -1: there is none. */
static int left_ms(const struct child *c)
{
    if (c->deadline_ns == 0) {
        return -1;
    }
    int64_t left = c->deadline_ns - wf_monotonic_ns();
    return left <= 0 ? 0 : (int)((left + NS_PER_MS - 1) / NS_PER_MS);
}

/* Reads once; false at the end of the output. */
static bool take(struct child *c, struct wf_buf *out)
{
    char chunk[8192];
    ssize_t n = read(c->out, chunk, sizeof chunk);
    if (n > 0 && out->len + (size_t)n <= COMMAND_MAX_OUTPUT) {
        (void)wf_buf_add(out, chunk, (size_t)n, NULL); /* for people: may be short */
    }
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Until the program has ended; false when its time was up first. */
static bool follow(struct child *c, struct wf_buf *out)
{
    struct pollfd fds[2] = { { .fd = c->pidfd, .events = POLLIN },
                             { .fd = c->out, .events = POLLIN } };
    for (;;) {
        int n = poll(fds, 2, left_ms(c));
        if (n == 0) {
            return false;
        }
        if (n > 0 && fds[1].revents != 0 && !take(c, out)) {
            fds[1].fd = -1;
        }
        if (n > 0 && fds[0].revents != 0) {
            return true;
        }
    }
}

/* What is in the pipe when nobody can write to it any more. */
static void drain(struct child *c, struct wf_buf *out)
{
    while (take(c, out)) {
    }
}

enum wf_status compiler_run(const char *path,
                            const char *const *argv,
                            const char *folder,
                            int timeout_ms,
                            struct wf_buf *out,
                            int *ret_exit,
                            struct wf_error *err)
{
    struct child c = { .out = -1, .pidfd = -1 };
    int status = 0;
    enum wf_status st = start(path, argv, folder, timeout_ms, &c, err);
    if (st != WF_OK) {
        return st;
    }
    c.deadline_ns = timeout_ms > 0 ? wf_monotonic_ns() + timeout_ms * NS_PER_MS : 0;
    c.pidfd = pidfd_open(c.pid, 0);
    int why = errno;
    bool ended = c.pidfd >= 0 && follow(&c, out);
    (void)kill(-c.pid, SIGKILL); /* not reaped yet: the group is still ours */
    while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR) {
    }
    drain(&c, out);
    (void)close(c.out);
    if (c.pidfd < 0) {
        return wf_error_errno(err, why, "cannot watch %s", path);
    }
    (void)close(c.pidfd);
    if (!ended) {
        return wf_errorf(err, WF_ETIMEOUT,
                         "%s did not end within %d.%03d s and was killed", argv[0],
                         timeout_ms / 1000, timeout_ms % 1000);
    }
    *ret_exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return WF_OK;
}
