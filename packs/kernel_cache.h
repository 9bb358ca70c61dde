/* The kernel cache: compiled code by the content of what made it. docs/kernel-cache.md.
 *
 * Whoever compiles makes the key (packs/build_cache.c): the SHA-256 of the compiler's
 * identity, the architecture, format, flags and the whole preprocessed text with its
 * macros. The cache itself maps keys to bytes.
 *
 * Any number of processes and threads may use one folder. Of those that want the same
 * object at the same time one compiles, the others wait for it: a lock file held with
 * flock, which the system releases when its owner dies. Entries are written beside and
 * renamed, hold the hash of their content, and count as absent when it does not match.
 * The folder is kept below its limit by throwing away what was used longest ago. A
 * folder that cannot be written still serves what it has. */
#ifndef WF_PACKS_KERNEL_CACHE_H
#define WF_PACKS_KERNEL_CACHE_H

#include "core/buf.h"
#include "core/error.h"
#include "core/sha256.h"

#include <stdbool.h>
#include <stdint.h>

struct wf_kernel_cache; /* opaque; its functions may be called by several threads */

#define WF_KERNEL_CACHE_DEFAULT_BYTES (INT64_C(2) << 30)

/* folder NULL: $WAVEFARM_KERNEL_CACHE, else kernels in wf_cache_dir(). limit_bytes 0:
 * the default. The word "none" as the folder, or in the variable: *ret is NULL, which
 * every user takes for "no cache". A folder that cannot be made is an error; one of
 * another user, or that everybody may write, EREFUSED. */
enum wf_status wf_kernel_cache_open(const char *folder,
                                    int64_t limit_bytes,
                                    struct wf_kernel_cache **ret,
                                    struct wf_error *err);
void wf_kernel_cache_close(struct wf_kernel_cache *cache); /* NULL is good */
const char *wf_kernel_cache_folder(const struct wf_kernel_cache *cache);

/* --- objects --- */

/* Appends the object to `out` and marks it as used. *ret_found false: it is not there,
 * or was not what had been stored (then it is removed and counted in `rebuilt`). */
enum wf_status wf_kernel_cache_get(struct wf_kernel_cache *cache,
                                   const char key[WF_SHA256_HEX],
                                   struct wf_buf *out,
                                   bool *ret_found,
                                   struct wf_error *err);
/* Stores the object, then evicts others where the limit is passed. An object larger
 * than the limit is not stored, without an error. */
enum wf_status wf_kernel_cache_put(struct wf_kernel_cache *cache,
                                   const char key[WF_SHA256_HEX],
                                   const void *object,
                                   size_t n,
                                   struct wf_error *err);

struct wf_kernel_lock; /* opaque */
/* The right to make the object; waits while somebody else has it. ETIMEOUT after
 * timeout_ms (0: no limit). */
enum wf_status wf_kernel_cache_lock(struct wf_kernel_cache *cache,
                                    const char key[WF_SHA256_HEX],
                                    int64_t timeout_ms,
                                    struct wf_kernel_lock **ret,
                                    struct wf_error *err);
void wf_kernel_cache_unlock(struct wf_kernel_lock *lock); /* NULL is good */

/* --- the folder --- */

struct wf_kernel_cache_stats {
    int64_t objects, bytes, limit_bytes;
    int64_t hits, misses, rebuilt, evicted; /* of this process */
};
/* Looks at the folder. */
enum wf_status wf_kernel_cache_stats(struct wf_kernel_cache *cache,
                                     struct wf_kernel_cache_stats *ret,
                                     struct wf_error *err);
/* Removes all objects; what others write meanwhile may stay. */
enum wf_status wf_kernel_cache_clear(struct wf_kernel_cache *cache,
                                     int64_t *ret_removed,
                                     struct wf_error *err);
/* Reads every object and removes those that are damaged. */
enum wf_status wf_kernel_cache_verify(struct wf_kernel_cache *cache,
                                      int64_t *ret_good,
                                      int64_t *ret_damaged,
                                      struct wf_error *err);

#endif
