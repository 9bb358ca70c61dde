/* The dashboard's files: read once at start, served from memory. */
#ifndef WF_COORDINATOR_STATIC_FILES_H
#define WF_COORDINATOR_STATIC_FILES_H

#include "core/error.h"

#include <stddef.h>

struct wf_static; /* opaque, immutable */

struct wf_static_file {
    const char *path; /* relative to the folder */
    const char *type;
    const char *data;
    size_t bytes;
};

/* Reads the folder ("" or NULL: no files). Only safe names and known types are taken;
 * links are not followed; at most 64 MiB in all. */
enum wf_status wf_static_open(const char *folder,
                              struct wf_static **ret,
                              struct wf_error *err);
void wf_static_close(struct wf_static *s);
const struct wf_static_file *wf_static_find(const struct wf_static *s,
                                            const char *path);

#endif
