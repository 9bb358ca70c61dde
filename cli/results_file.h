/* Results files: JSON Lines, a header and one result a line (docs/wire.md section 1).
 * Lines are written and flushed one by one: an interrupted run leaves a valid file with
 * fewer results than its header expects. */
#ifndef WF_CLI_RESULTS_FILE_H
#define WF_CLI_RESULTS_FILE_H

#include "core/error.h"
#include "core/json.h"

#include <stddef.h>

struct wf_results_writer; /* opaque */

enum wf_status wf_results_create(const char *path,
                                 const char *suite,
                                 size_t expected,
                                 struct wf_results_writer **ret,
                                 struct wf_error *err);
/* Whether wf_results_create could write there; nothing is changed. For a file that is
 * written at the end of long work. */
enum wf_status wf_results_probe(const char *path, struct wf_error *err);
enum wf_status wf_results_append(struct wf_results_writer *w,
                                 const struct wf_json *result,
                                 struct wf_error *err);
/* Reports a write error that came late. NULL is good. */
enum wf_status wf_results_close(struct wf_results_writer *w, struct wf_error *err);

struct wf_results {
    struct wf_json *header;
    struct wf_json **result;
    size_t count;
    size_t expected;
};

/* Errors name file and line; a file without a header, with a torn line or another
 * schema is refused. */
enum wf_status wf_results_read(const char *path,
                               struct wf_results *ret,
                               struct wf_error *err);
void wf_results_free(struct wf_results *r);

#endif
