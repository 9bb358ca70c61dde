#include "cli/output.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAR       24
#define QUIET_NS  30000000000LL
#define REDRAW_NS 100000000LL

enum wf_status wf_print_json(const struct wf_json *v, struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status status = wf_json_write_pretty(v, &text, err);
    if (status == WF_OK) {
        printf("%s\n", wf_buf_cstr(&text));
    }
    wf_buf_free(&text);
    return status;
}

void wf_say(const char *fmt, ...)
{
    char *line = NULL;
    va_list ap;
    va_start(ap, fmt);
    int len = vasprintf(&line, fmt, ap);
    va_end(ap);
    if (len < 0) {
        fprintf(stderr, "wavefarm: no memory for a line of the output\n");
        return;
    }
    wf_make_printable(line);
    printf("%s\n", line);
    free(line);
}

void wf_progress_start(struct wf_progress *p)
{
    memset(p, 0, sizeof(*p));
    p->is_terminal = isatty(STDERR_FILENO);
    p->started_ns = wf_monotonic_ns();
}

static void draw(struct wf_progress *p, size_t done, size_t total, const char *note)
{
    char bar[BAR + 1];
    char line[256];
    size_t filled = total > 0 ? done * BAR / total : 0;
    double seconds = (double)(p->last_ns - p->started_ns) / 1e9;
    memset(bar, '.', BAR);
    memset(bar, '#', filled < BAR ? filled : BAR);
    bar[BAR] = '\0';
    snprintf(line, sizeof(line), "[%s] %zu/%zu  %.0f s  %.150s", bar, done, total,
             seconds, note);
    wf_make_printable(line);
    size_t len = strlen(line);
    fprintf(stderr, "\r%s%*s", line, p->width > len ? (int)(p->width - len) : 0, "");
    fflush(stderr);
    p->width = len;
}

void wf_progress_show(struct wf_progress *p,
                      size_t done,
                      size_t total,
                      const char *note)
{
    int64_t now = wf_monotonic_ns();
    int64_t period = p->is_terminal ? REDRAW_NS : QUIET_NS;
    if (p->last_ns != 0 && now - p->last_ns < period) {
        return;
    }
    p->last_ns = now;
    if (p->is_terminal) {
        draw(p, done, total, note);
    } else {
        char line[256];
        snprintf(line, sizeof(line), "%zu of %zu after %.0f s  %.150s", done, total,
                 (double)(now - p->started_ns) / 1e9, note);
        wf_make_printable(line);
        fprintf(stderr, "%s\n", line);
    }
}

void wf_progress_end(struct wf_progress *p)
{
    if (p->is_terminal && p->width > 0) {
        fprintf(stderr, "\r%*s\r", (int)p->width, "");
        fflush(stderr);
    }
}
