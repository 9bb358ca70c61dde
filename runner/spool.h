/* The spool: results that the coordinator has not acknowledged yet, one file each,
 * written durably (temporary file, fsync, rename, fsync of the folder). A torn or
 * foreign file is moved to "rejected/" with a reason, never dropped. Thread-safe. */
#ifndef WF_RUNNER_SPOOL_H
#define WF_RUNNER_SPOOL_H

#include "core/buf.h"
#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

#define WF_SPOOL_NAME 64

struct wf_spool; /* opaque */

/* Makes the folder, takes its lock (ECONFLICT names the other process), and finds what
 * an earlier process left. */
enum wf_status wf_spool_open(const char *folder,
                             struct wf_spool **ret,
                             struct wf_error *err);
void wf_spool_close(struct wf_spool *spool);

/* Stores one JSON text. ENOSPC and EIO leave nothing behind. */
enum wf_status wf_spool_put(struct wf_spool *spool,
                            const char *text,
                            size_t len,
                            char ret_name[WF_SPOOL_NAME],
                            struct wf_error *err);
size_t wf_spool_count(struct wf_spool *spool);
/* The oldest entries, at most `max`; *ret_count is what there is. */
void wf_spool_oldest(struct wf_spool *spool,
                     char (*ret_names)[WF_SPOOL_NAME],
                     size_t max,
                     size_t *ret_count);
enum wf_status wf_spool_read(struct wf_spool *spool,
                             const char *name,
                             struct wf_buf *out,
                             struct wf_error *err);
/* Acknowledged: the file goes. */
enum wf_status wf_spool_done(struct wf_spool *spool,
                             const char *name,
                             struct wf_error *err);
/* Refused for good: kept under rejected/ beside "<name>.why". */
enum wf_status wf_spool_reject(struct wf_spool *spool,
                               const char *name,
                               const char *why,
                               struct wf_error *err);

#endif
