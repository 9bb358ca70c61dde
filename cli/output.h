/* JSON on stdout and progress on stderr. */
#ifndef WF_CLI_OUTPUT_H
#define WF_CLI_OUTPUT_H

#include "core/error.h"
#include "core/json.h"

#include <stddef.h>
#include <stdint.h>

/* Pretty, with a newline. */
enum wf_status wf_print_json(const struct wf_json *v, struct wf_error *err);

/* One line on stdout, the newline included; what a terminal would obey in the texts of
 * others is made harmless (core/printable.h). */
void wf_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A progress line: refreshed in place on a terminal, a plain line every 30 s
 * otherwise. */
struct wf_progress {
    int is_terminal;
    int64_t started_ns, last_ns;
    size_t width; /* of what stands on the line */
};
void wf_progress_start(struct wf_progress *p);
void wf_progress_show(struct wf_progress *p,
                      size_t done,
                      size_t total,
                      const char *note);
void wf_progress_end(struct wf_progress *p); /* clears the line */

#endif
