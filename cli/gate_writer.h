/* Writes a gate's record line by line. A line is on disk before anything is done that
 * depends on it: a gate that is killed goes on from its record. */
#ifndef WF_CLI_GATE_WRITER_H
#define WF_CLI_GATE_WRITER_H

#include "core/error.h"
#include "core/json.h"

#include <stdint.h>

struct gate_writer; /* opaque */

/* `path` NULL: lines go nowhere. EEXIST: there is a record already, or another gate
 * writes it. */
enum wf_status gate_writer_create(const char *path,
                                  struct gate_writer **ret,
                                  struct wf_error *err);
/* Goes on behind the first `good_bytes` of the file; what follows them is cut off. */
enum wf_status gate_writer_resume(const char *path,
                                  uint64_t good_bytes,
                                  struct gate_writer **ret,
                                  struct wf_error *err);
enum wf_status gate_writer_line(struct gate_writer *w,
                                const struct wf_json *line,
                                struct wf_error *err);
/* Reports a write error that came late. NULL is good. */
enum wf_status gate_writer_close(struct gate_writer *w, struct wf_error *err);

#endif
