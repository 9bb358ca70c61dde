/* What the files of the kernel cache share. */
#ifndef WF_PACKS_KERNEL_CACHE_INTERNAL_H
#define WF_PACKS_KERNEL_CACHE_INTERNAL_H

#include "packs/kernel_cache.h"

#include <pthread.h>
#include <stdatomic.h>

/* An entry: this, the bytes, and nothing behind them. */
#define KERNEL_CACHE_MAGIC "wavefarm.kernel-cache/1"

struct wf_kernel_cache {
    char *folder;
    int64_t limit_bytes;
    atomic_llong hits, misses, rebuilt, evicted;
    pthread_mutex_t mutex; /* of `known_bytes` */
    int64_t known_bytes;   /* of the folder at the last look and what was put since; -1:
                              not looked yet */
};

/* Writes beside and renames. Not synced: what a power cut leaves is found by its hash.
 */
enum wf_status kernel_cache_write(const char *path,
                                  const void *const part[2],
                                  const size_t bytes[2],
                                  struct wf_error *err);
/* EREFUSED where others than this user can put objects into the folder or into one that
 * it consists of: objects are hashed, not signed, so whoever writes there runs code as
 * this user. The sticky bit is no help: it keeps others from removing, not from adding.
 */
enum wf_status kernel_cache_check_owner(const char *folder, struct wf_error *err);
/* "<folder>/objects/ab/cdef..."; NULL: no memory. */
char *kernel_cache_path(const struct wf_kernel_cache *cache, const char *key);
/* Reads one entry; *ret_good false when it is not what had been stored. ENOTFOUND when
 * there is none. `out` gets the object, as it was on failure. */
enum wf_status kernel_cache_read(const char *path,
                                 const char *key,
                                 struct wf_buf *out,
                                 bool *ret_good,
                                 struct wf_error *err);
/* After a put of `bytes`: keeps the folder below its limit. */
enum wf_status kernel_cache_trim(struct wf_kernel_cache *cache,
                                 int64_t bytes,
                                 struct wf_error *err);

#endif
