/* The kernel cache: compiled code by the content of what made it.
 *
 * The key is the SHA-256 of the compiler's identity (its version line and the hash of
 * its program), the architecture, format and flags in their order, and the content of
 * every file that the compiler read. Which files those are is learnt from the compiler:
 * a first table maps (source, flags, compiler) to the list of files of the last
 * compilation, the second (that list with contents) to the object.
 *
 * Any number of processes may use one folder. Of those that want the same object at the
 * same time one compiles, the others wait for it (a lock file; a lock whose owner is
 * gone is taken over). Entries are written beside and renamed, hold the hash of their
 * content, and are built again when it does not match. The folder is kept below its
 * limit by throwing away what was used longest ago; never what is in use. */
#ifndef WF_PACKS_KERNEL_CACHE_H
#define WF_PACKS_KERNEL_CACHE_H

#include "core/error.h"

#include <stdint.h>

struct wf_kernel_cache;

#define WF_KERNEL_CACHE_DEFAULT_BYTES (INT64_C(2) << 30)

/* NULL: $WAVEFARM_KERNEL_CACHE, else $XDG_CACHE_HOME/wavefarm/kernels, else
 * ~/.cache/wavefarm/kernels. limit 0: the default. */
enum wf_status wf_kernel_cache_open(const char *folder,
                                    int64_t limit_bytes,
                                    struct wf_kernel_cache **ret,
                                    struct wf_error *err);
void wf_kernel_cache_close(struct wf_kernel_cache *cache);

struct wf_kernel_cache_stats {
    int64_t objects, bytes, limit_bytes;
    int64_t hits, misses, rebuilt, evicted; /* of this process */
};
enum wf_status wf_kernel_cache_stats(struct wf_kernel_cache *cache,
                                     struct wf_kernel_cache_stats *ret,
                                     struct wf_error *err);

#endif
