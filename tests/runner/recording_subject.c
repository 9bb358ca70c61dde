/* A "wavefarm-subject" that passes everything on to the real one (REAL_SUBJECT) and
 * appends what the judge says to the file RECORD_TO: headers and payloads as they are.
 * For tests that look at what a subject gets to see. */
#include "core/file.h"
#include "core/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define JUDGE 3

static int fail(const char *what)
{
    (void)fprintf(stderr, "recording_subject: %s: %s\n", what, strerror(errno));
    return 9;
}

/* As the real subject is started, but this process is its parent. */
static void become_real(char **argv, int socket)
{
    char parent[24];
    (void)snprintf(parent, sizeof(parent), "%ld", (long)getppid());
    for (int i = 1; argv[i] && argv[i + 1]; i += 2) {
        if (strcmp(argv[i], "--parent") == 0) {
            argv[i + 1] = parent;
        }
    }
    const char *real = getenv("REAL_SUBJECT");
    if (real && dup2(socket, JUDGE) == JUDGE) {
        (void)execv(real, argv);
    }
    _exit(fail("exec"));
}

/* False: the end. */
static int pass_on(int from, int to, int record)
{
    static char bytes[65536];
    const ssize_t n = read(from, bytes, sizeof(bytes));
    if (n <= 0) {
        return 0;
    }
    if (record >= 0 &&
        wf_write_all(record, bytes, (size_t)n, "record", NULL) != WF_OK) {
        return 0;
    }
    return wf_write_all(to, bytes, (size_t)n, "socket", NULL) == WF_OK;
}

int main(int argc, char **argv)
{
    const char *path = getenv("RECORD_TO");
    int ends[2];
    (void)argc;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!path || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return fail("socketpair");
    }
    const int record = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const pid_t pid = fork();
    if (record < 0 || pid < 0) {
        return fail(path);
    }
    if (pid == 0) {
        become_real(argv, ends[1]);
    }
    (void)close(ends[1]);
    struct pollfd fd[2] = { { JUDGE, POLLIN, 0 }, { ends[0], POLLIN, 0 } };
    int more = 1;
    while (more && poll(fd, 2, -1) > 0) {
        if (fd[0].revents) {
            more = pass_on(JUDGE, ends[0], record);
        }
        if (more && fd[1].revents) {
            more = pass_on(ends[0], JUDGE, -1);
        }
    }
    (void)close(ends[0]);
    (void)waitpid(pid, NULL, 0);
    return 0;
}
