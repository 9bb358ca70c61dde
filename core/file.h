/* Files: whole reads with a limit, durable writes, paths, temporary folders. */
#ifndef WF_CORE_FILE_H
#define WF_CORE_FILE_H

#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends the file to `out`. EINVAL when it is larger than max_bytes. */
enum wf_status wf_file_read(const char *path,
                            size_t max_bytes,
                            struct wf_buf *out,
                            struct wf_error *err);
/* Writes a temporary file beside `path`, fsyncs it, renames it over `path` and fsyncs
 * the folder: a reader sees the old or the new content, never a part. A device or a
 * pipe is written into, not replaced. */
enum wf_status wf_file_write_atomic(const char *path,
                                    const void *data,
                                    size_t n,
                                    struct wf_error *err);
enum wf_status wf_mkdir_parents(const char *path, struct wf_error *err);
bool wf_file_exists(const char *path);
enum wf_status wf_file_size(const char *path,
                            uint64_t *ret_bytes,
                            struct wf_error *err);
/* "a/b"; caller frees. NULL on ENOMEM. */
char *wf_path_join(const char *a, const char *b);
/* Removes a tree; never follows symbolic links. Absent is good. */
enum wf_status wf_remove_tree(const char *path, struct wf_error *err);
/* $XDG_CACHE_HOME/wavefarm or ~/.cache/wavefarm, or $WAVEFARM_CACHE; made if absent.
 * Caller frees *ret. */
enum wf_status wf_cache_dir(char **ret, struct wf_error *err);
/* Folder of the running executable; caller frees *ret. */
enum wf_status wf_executable_dir(char **ret, struct wf_error *err);
/* write(2) until all is written; EINTR is retried. */
enum wf_status wf_write_all(int fd,
                            const void *data,
                            size_t n,
                            const char *what,
                            struct wf_error *err);
/* A name is safe as one path component: [A-Za-z0-9._-], not starting with '.'. */
bool wf_name_is_safe(const char *name);
/* A relative path of safe components joined by single '/', no '..'. */
bool wf_relative_path_is_safe(const char *path);

#endif
