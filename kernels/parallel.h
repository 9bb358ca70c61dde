/* Work shared by a few threads, for references and input generation. */
#ifndef WF_KERNELS_PARALLEL_H
#define WF_KERNELS_PARALLEL_H

#include "core/error.h"

#include <stdint.h>

typedef enum wf_status (*wf_piece_fn)(void *ctx, uint64_t piece, struct wf_error *err);

/* Calls fn once for each piece 0 .. count - 1, on up to `threads` threads (0: all
 * online processors), the caller's among them. The first failure stops the rest and is
 * returned. Runs on fewer threads when the system gives no more. */
enum wf_status wf_parallel(int threads,
                           uint64_t count,
                           wf_piece_fn fn,
                           void *ctx,
                           struct wf_error *err);

int wf_thread_count(int threads); /* the number that `threads` means: at least 1 */

#endif
