/* A small problem that stands for a large one in the emulator: each dimension keeps its
 * residue modulo the kernel's tile (so edges are as they are in the whole) and has at
 * most two tiles and the residue; K keeps its residue modulo 512. Pure. */
#ifndef WF_TUNE_REDUCE_H
#define WF_TUNE_REDUCE_H

#include "core/error.h"
#include "core/json.h"

#include <stdbool.h>
#include <stdint.h>

#define WF_TUNE_TILE   256 /* where a kernel does not tell its tile */
#define WF_TUNE_K_UNIT 512

struct wf_tune_sizes {
    int64_t m, n, k, batch;
};

/* The problem's M, N, K and batch (1 where there is none). EINVAL: it has none. */
enum wf_status wf_tune_sizes_of(const struct wf_json *problem,
                                struct wf_tune_sizes *ret,
                                struct wf_error *err);
/* `ret[0]` and `ret[1]` differ in K alone; *ret_pair false: one is enough, for the
 * whole K is small, and ret[0] is it. tile 0: WF_TUNE_TILE. */
void wf_tune_reduce(const struct wf_tune_sizes *whole,
                    int64_t tile_m,
                    int64_t tile_n,
                    struct wf_tune_sizes ret[2],
                    bool *ret_pair);
/* The problem with other sizes; all other members stay. */
enum wf_status wf_tune_resized(const struct wf_json *problem,
                               const struct wf_tune_sizes *sizes,
                               struct wf_json **ret,
                               struct wf_error *err);

#endif
