/* Runs a program and takes what it prints.
 *
 * The child gets only the three standard descriptors that are set up here; ours are
 * opened close-on-exec. Output past COMMAND_MAX_OUTPUT is read and dropped, so that the
 * child never blocks on a full pipe. */
#include "packs/command.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int set_up(posix_spawn_file_actions_t *a,
                  const char *folder,
                  int out,
                  bool with_errors)
{
    int e = posix_spawn_file_actions_addopen(a, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    e = e != 0 ? e : posix_spawn_file_actions_adddup2(a, out, STDOUT_FILENO);
    if (with_errors) {
        e = e != 0 ? e : posix_spawn_file_actions_adddup2(a, out, STDERR_FILENO);
    } else {
        e = e != 0 ? e
                   : posix_spawn_file_actions_addopen(a, STDERR_FILENO, "/dev/null",
                                                      O_WRONLY, 0);
    }
    if (folder != NULL) {
        e = e != 0 ? e : posix_spawn_file_actions_addchdir_np(a, folder);
    }
    return e;
}

/* posix_spawn takes char *const[] but does not write to it. */
static int spawn(pid_t *pid, const char *const *argv, posix_spawn_file_actions_t *a)
{
    union {
        const char *const *in;
        char *const *out;
    } cast = { .in = argv };
    return posix_spawnp(pid, argv[0], a, NULL, cast.out, environ);
}

static enum wf_status read_all(int fd, struct wf_buf *out, struct wf_error *err)
{
    char chunk[8192];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return wf_error_errno(err, errno, "cannot read what the program prints");
        }
        if (n == 0) {
            return WF_OK;
        }
        if (out->len + (size_t)n <= COMMAND_MAX_OUTPUT) {
            enum wf_status st = wf_buf_add(out, chunk, (size_t)n, err);
            if (st != WF_OK) {
                return st;
            }
        }
    }
}

static enum wf_status reap(pid_t pid,
                           const char *name,
                           int *ret_exit,
                           struct wf_error *err)
{
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return wf_error_errno(err, errno, "cannot wait for %s", name);
        }
    }
    *ret_exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return WF_OK;
}

static enum wf_status start(const char *const *argv,
                            const char *folder,
                            bool with_errors,
                            int out,
                            pid_t *ret,
                            struct wf_error *err)
{
    posix_spawn_file_actions_t actions;
    int e = posix_spawn_file_actions_init(&actions);
    if (e != 0) {
        return wf_error_errno(err, e, "cannot start %s", argv[0]);
    }
    e = set_up(&actions, folder, out, with_errors);
    e = e != 0 ? e : spawn(ret, argv, &actions);
    (void)posix_spawn_file_actions_destroy(&actions);
    return e == 0 ? WF_OK : wf_error_errno(err, e, "cannot start %s", argv[0]);
}

enum wf_status command_run(const char *const *argv,
                           const char *folder,
                           bool with_errors,
                           struct wf_buf *out,
                           int *ret_exit,
                           struct wf_error *err)
{
    int fds[2];
    pid_t pid = -1;
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return wf_error_errno(err, errno, "cannot make a pipe for %s", argv[0]);
    }
    enum wf_status st = start(argv, folder, with_errors, fds[1], &pid, err);
    (void)close(fds[1]);
    if (st == WF_OK) {
        st = read_all(fds[0], out, err);
        int code = 0;
        enum wf_status reaped = reap(pid, argv[0], &code, st == WF_OK ? err : NULL);
        st = st != WF_OK ? st : reaped;
        *ret_exit = code;
    }
    (void)close(fds[0]);
    return st;
}

static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=./:,@%";
    return word[0] != '\0' && word[strspn(word, plain)] == '\0';
}

static enum wf_status quote(const char *word, struct wf_buf *out, struct wf_error *err)
{
    enum wf_status st = wf_buf_puts(out, "'", err);
    for (; st == WF_OK && *word != '\0'; word++) {
        st = *word == '\'' ? wf_buf_puts(out, "'\\''", err)
                           : wf_buf_add(out, word, 1, err);
    }
    return st != WF_OK ? st : wf_buf_puts(out, "'", err);
}

enum wf_status command_text(const char *const *argv,
                            struct wf_buf *out,
                            struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && argv[i] != NULL; i++) {
        st = i == 0 ? WF_OK : wf_buf_puts(out, " ", err);
        if (st == WF_OK) {
            st = is_plain(argv[i]) ? wf_buf_puts(out, argv[i], err)
                                   : quote(argv[i], out, err);
        }
    }
    return st;
}
