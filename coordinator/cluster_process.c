/* Child processes for the cluster: giving up root for good, running a program and
 * keeping the end of what it said.
 *
 * Invariant: nothing of PostgreSQL is started with uid 0. */
#include "coordinator/cluster_process.h"

#include "core/buf.h"
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int user_value;

void wf_user_value(int value)
{
    user_value = value;
}

static enum wf_status fill_user(const struct passwd *pw,
                                struct wf_os_user *ret,
                                struct wf_error *err)
{
    if (strlen(pw->pw_name) >= sizeof ret->name) {
        return wf_errorf(err, WF_EINVAL, "the user name '%s' is too long", pw->pw_name);
    }
    memset(ret, 0, sizeof *ret);
    snprintf(ret->name, sizeof ret->name, "%s", pw->pw_name);
    ret->uid = pw->pw_uid;
    ret->gid = pw->pw_gid;
    return WF_OK;
}

enum wf_status wf_cluster_user(const char *wanted,
                               struct wf_os_user *ret,
                               struct wf_error *err)
{
    bool root = geteuid() == 0;
    if (!root) {
        const struct passwd *me = getpwuid(geteuid());
        if (!me) {
            return wf_errorf(err, WF_EREFUSED,
                             "user id %ld has no name: PostgreSQL needs "
                             "an entry in the password file",
                             (long)geteuid());
        }
        if (wanted && strcmp(wanted, me->pw_name) != 0) {
            return wf_errorf(err, WF_EREFUSED,
                             "only root can run the database as '%s'; "
                             "you are '%s'",
                             wanted, me->pw_name);
        }
        return fill_user(me, ret, err);
    }
    const struct passwd *pw = getpwnam(wanted ? wanted : "postgres");
    if (!pw) {
        return wf_errorf(err, WF_EREFUSED,
                         "PostgreSQL must not run as root and there is "
                         "no user '%s': install the package postgresql or name a user "
                         "with --user",
                         wanted ? wanted : "postgres");
    }
    if (pw->pw_uid == 0) {
        return wf_errorf(err, WF_EREFUSED,
                         "PostgreSQL must not run as root: name an "
                         "unprivileged user with --user");
    }
    enum wf_status status = fill_user(pw, ret, err);
    if (status == WF_OK) {
        ret->switch_to = true;
    }
    return status;
}

static enum wf_status become(const struct wf_os_user *user, struct wf_error *err)
{
    if (initgroups(user->name, user->gid) != 0 || setgid(user->gid) != 0 ||
        setuid(user->uid) != 0) {
        return wf_error_errno(err, errno, "becoming user '%s'", user->name);
    }
    if (setuid(0) == 0) {
        return wf_errorf(err, WF_EINTERNAL, "root was not given up");
    }
    return WF_OK;
}

struct verdict {
    int value;
    struct wf_error err;
};

static void child(const struct wf_os_user *user, wf_user_fn fn, void *ctx, int fd)
{
    struct verdict v = { 0 };
    enum wf_status status = become(user, &v.err);
    if (status == WF_OK) {
        status = fn(ctx, &v.err);
    }
    v.err.status = status;
    v.value = user_value;
    (void)wf_write_all(fd, &v, sizeof v, "result", NULL);
    _exit(0);
}

static ssize_t read_whole(int fd, void *buf, size_t n)
{
    size_t got = 0;
    while (got < n) {
        ssize_t r = read(fd, (char *)buf + got, n - got);
        if (r < 0 && errno == EINTR) {
            continue;
        }
        if (r <= 0) {
            break;
        }
        got += (size_t)r;
    }
    return (ssize_t)got;
}

static void reap(pid_t pid, int *ret_status)
{
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR) {
    }
}

enum wf_status wf_as_user(const struct wf_os_user *user,
                          wf_user_fn fn,
                          void *ctx,
                          int *ret_value,
                          struct wf_error *err)
{
    int fd[2];
    struct verdict v = { 0 };
    int ended = 0;
    user_value = 0;
    if (!user->switch_to) {
        enum wf_status status = fn(ctx, err);
        if (status == WF_OK && ret_value) {
            *ret_value = user_value;
        }
        return status;
    }
    if (pipe2(fd, O_CLOEXEC) != 0) {
        return wf_error_errno(err, errno, "making a pipe");
    }
    pid_t pid = fork();
    if (pid == 0) {
        child(user, fn, ctx, fd[1]);
    }
    close(fd[1]);
    ssize_t got = pid < 0 ? -1 : read_whole(fd[0], &v, sizeof v);
    int error = errno;
    close(fd[0]);
    if (pid < 0) {
        return wf_error_errno(err, error, "starting a process");
    }
    reap(pid, &ended);
    if (got != (ssize_t)sizeof v) {
        return wf_errorf(err, WF_EINTERNAL, "the process of user '%s' died",
                         user->name);
    }
    if (v.err.status != WF_OK) {
        return wf_errorf(err, v.err.status, "%s", v.err.text);
    }
    if (ret_value) {
        *ret_value = v.value;
    }
    return WF_OK;
}

static void exec_program(const char *const *argv, int out)
{
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) {
        _exit(127);
    }
    char *args[40];
    size_t n = 0;
    while (n < 39 && argv[n]) {
        args[n] = wf_strdup(argv[n]);
        n++;
    }
    args[n] = NULL;
    if (!args[0]) {
        _exit(127);
    }
    execv(args[0], args);
    dprintf(2, "%s: %s", args[0], strerror(errno));
    _exit(127);
}

/* The last bytes of the output, newlines as "; ". */
static void read_tail(int fd, struct wf_buf *out)
{
    char block[512];
    ssize_t r;
    while ((r = read(fd, block, sizeof block)) > 0 || (r < 0 && errno == EINTR)) {
        if (r > 0 && out->len < 4096) {
            (void)wf_buf_add(out, block, (size_t)r, NULL);
        }
    }
    while (out->len > 0 && out->data[out->len - 1] == '\n') {
        out->data[--out->len] = '\0';
    }
    for (size_t i = 0; i < out->len; i++) {
        if (out->data[i] == '\n') {
            out->data[i] = ';';
        }
    }
}

enum wf_status wf_run_program(const char *const *argv,
                              bool must_succeed,
                              int *ret_exit,
                              struct wf_error *err)
{
    int fd[2];
    int ended = 0;
    struct wf_buf said = WF_BUF_INIT;
    enum wf_status status = WF_OK;
    if (pipe2(fd, O_CLOEXEC) != 0) {
        return wf_error_errno(err, errno, "making a pipe for %s", argv[0]);
    }
    pid_t pid = fork();
    if (pid == 0) {
        exec_program(argv, fd[1]);
    }
    close(fd[1]);
    if (pid < 0) {
        close(fd[0]);
        return wf_error_errno(err, errno, "starting %s", argv[0]);
    }
    read_tail(fd[0], &said);
    close(fd[0]);
    reap(pid, &ended);
    int code = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    if (ret_exit) {
        *ret_exit = code;
    }
    if (must_succeed && code != 0) {
        const char *text = wf_buf_cstr(&said);
        size_t skip = said.len > 500 ? said.len - 500 : 0;
        status = wf_errorf(err, WF_EDB, "%s ended with status %d: %s", argv[0], code,
                           text + skip);
    }
    wf_buf_free(&said);
    return status;
}
