/* Lines of a text file, read in pieces and hashed on the way. For the trace readers. */
#ifndef WF_DATASETS_TRACE_LINES_H
#define WF_DATASETS_TRACE_LINES_H

#include "core/buf.h"
#include "core/error.h"
#include "core/sha256.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct wf_lines {
    FILE *file;
    const char *path; /* borrowed */
    struct wf_sha256 *hash;
    int64_t number;     /* of the current line, from 1 */
    struct wf_buf text; /* the current line, without "\n" or "\r\n" */
    size_t at, have;
    char chunk[1 << 16];
};

enum wf_status wf_lines_open(struct wf_lines *in,
                             const char *path,
                             struct wf_error *err);
/* *ret_more is false past the last line. EPARSE for a NUL byte or a line above 1 MiB.
 */
enum wf_status wf_lines_next(struct wf_lines *in, bool *ret_more, struct wf_error *err);
/* Hash of the whole file; call once, after the last line. */
void wf_lines_sha256(struct wf_lines *in, char ret[WF_SHA256_HEX]);
void wf_lines_close(struct wf_lines *in); /* also after a failed open */

#endif
