/* One line a message on stderr.
 *
 * A line is formed in memory and leaves in one write, so lines of several threads and
 * of child processes that share the terminal do not mix. Control characters in the text
 * become blanks: a message cannot forge a second line. */
#include "core/log.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/printable.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LINE_BYTES = 2048,
    PROGRAM_BYTES = 64
};

static char program_name[PROGRAM_BYTES] = "wavefarm";
static atomic_int lowest_level = WF_LOG_INFO;

void wf_log_init(const char *program, enum wf_log_level lowest)
{
    (void)snprintf(program_name, sizeof program_name, "%s", program);
    atomic_store(&lowest_level, (int)lowest);
}

static const char *level_name(enum wf_log_level level)
{
    switch (level) {
    case WF_LOG_DEBUG:
        return "DEBUG";
    case WF_LOG_INFO:
        return "INFO";
    case WF_LOG_WARN:
        return "WARN";
    case WF_LOG_ERROR:
        return "ERROR";
    default:
        return "UNKNOWN";
    }
}

void wf_log(enum wf_log_level level, const char *fmt, ...)
{
    char line[LINE_BYTES];
    char when[32];
    size_t start;
    size_t len;
    va_list ap;

    if ((int)level < atomic_load(&lowest_level)) {
        return;
    }
    wf_format_utc(wf_realtime_ns(), when, sizeof when);
    (void)snprintf(line, sizeof line, "%s %s %s: ", when, level_name(level),
                   program_name);
    start = strlen(line);
    va_start(ap, fmt);
    (void)vsnprintf(line + start, sizeof line - start - 1, fmt, ap);
    va_end(ap);
    wf_make_printable(line + start);
    len = strlen(line);
    line[len++] = '\n';
    (void)wf_write_all(STDERR_FILENO, line, len, "stderr", NULL);
}
