/* Mutants of our own gfx942 code objects: one instruction changed at a time.
 *
 * Kinds: a dropped s_waitcnt or s_barrier, a weakened s_waitcnt, a flipped bit of an
 * immediate or offset, a swapped or neighbouring register, a changed condition or
 * compare, a dropped store, a changed opcode of the same form. A mutant that provably
 * computes the same (never reached, its result is dead, operands of a commutative
 * operation exchanged, a wait that another one implies, ...) is not among them; how
 * many were left out, and by which argument, is counted. */
#ifndef WF_SELFTEST_GENERATE_H
#define WF_SELFTEST_GENERATE_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct wf_generated_set; /* opaque */

/* `count` different mutants of the kernel, drawn by `seed` from all possible ones,
 * kinds in equal shares as far as they go. */
enum wf_status wf_generated_create(const char *pack_folder,
                                   const char *kernel,
                                   size_t count,
                                   uint64_t seed,
                                   struct wf_generated_set **ret,
                                   struct wf_error *err);
void wf_generated_destroy(struct wf_generated_set *set);
size_t wf_generated_count(const struct wf_generated_set *set);
/* "gemm_f16_mfma_64x64+0x1a4: s_waitcnt vmcnt(0) dropped" */
const char *wf_generated_name(const struct wf_generated_set *set, size_t i);
const char *wf_generated_kind(const struct wf_generated_set *set, size_t i);
/* Equivalents left out: reason i of n, or NULL past the end. */
const char *wf_generated_excluded(const struct wf_generated_set *set,
                                  size_t i,
                                  size_t *ret_count);
/* Makes a pack with this mutant in `folder`, which must not exist. */
enum wf_status wf_generated_write(const struct wf_generated_set *set,
                                  size_t i,
                                  const char *folder,
                                  struct wf_error *err);

#endif
