/* Log lines, read back through a pipe in the place of stderr. */
#include "core/log.h"

#include <criterion/criterion.h>

#include <string.h>
#include <unistd.h>

static int saved_stderr = -1;

static int capture_start(void)
{
    int ends[2];

    cr_assert_eq(pipe(ends), 0);
    saved_stderr = dup(STDERR_FILENO);
    cr_assert_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    (void)close(ends[1]);
    return ends[0];
}

static void capture_end(int fd, char *text, size_t size)
{
    size_t len = 0;
    ssize_t n;

    cr_assert_eq(dup2(saved_stderr, STDERR_FILENO), STDERR_FILENO);
    (void)close(saved_stderr);
    while ((n = read(fd, text + len, size - 1 - len)) > 0) {
        len += (size_t)n;
    }
    text[len] = '\0';
    (void)close(fd);
}

Test(log, line_has_time_level_program_and_text)
{
    char text[256];
    int fd = capture_start();

    wf_log_init("worker", WF_LOG_INFO);
    wf_log(WF_LOG_WARN, "lease=%d lost", 12);
    capture_end(fd, text, sizeof text);
    cr_assert_eq(text[10], 'T');
    cr_assert_str_eq(text + 24, " WARN worker: lease=12 lost\n");
}

Test(log, lower_levels_are_silent)
{
    char text[256];
    int fd = capture_start();

    wf_log_init("worker", WF_LOG_ERROR);
    wf_log(WF_LOG_DEBUG, "a");
    wf_log(WF_LOG_WARN, "b");
    wf_log(WF_LOG_ERROR, "c");
    capture_end(fd, text, sizeof text);
    cr_assert_not_null(strstr(text, "ERROR worker: c\n"));
    cr_assert_eq(strchr(text, '\n'), text + strlen(text) - 1, "one line");
}

Test(log, text_cannot_forge_a_line)
{
    char text[256];
    int fd = capture_start();

    wf_log_init("worker", WF_LOG_INFO);
    wf_log(WF_LOG_INFO, "name=%s", "x\n2026 ERROR worker: y\x1b");
    capture_end(fd, text, sizeof text);
    cr_assert_eq(strchr(text, '\n'), text + strlen(text) - 1, "one line");
    cr_assert_null(strchr(text, '\x1b'));
}

Test(log, long_text_is_cut_and_the_line_still_ends)
{
    static char text[8192];
    static char big[5000];
    int fd = capture_start();

    memset(big, 'x', sizeof big - 1);
    wf_log_init("worker", WF_LOG_INFO);
    wf_log(WF_LOG_INFO, "%s", big);
    capture_end(fd, text, sizeof text);
    cr_assert_eq(text[strlen(text) - 1], '\n');
    cr_assert(strlen(text) > 2000 && strlen(text) <= 2048);
}
