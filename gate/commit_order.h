/* The order of commits, from what packs know of theirs: a commit comes after its
 * parents, whatever the clocks said. Pure. */
#ifndef WF_GATE_COMMIT_ORDER_H
#define WF_GATE_COMMIT_ORDER_H

#include "core/error.h"

#include <stddef.h>

struct wf_commit {
    const char *commit;        /* hex; "": not known */
    const char *const *parent; /* first parent first */
    size_t parents;
    const char *at; /* ISO 8601, for what parents do not order; "" */
};

/* ret[0..n): all of them, oldest first. Those in `order` (commits, oldest first; may be
 * NULL) stand in its order; of the others each comes after every one that is its
 * parent, and where that leaves a choice the earliest `at` is first, then the first in
 * `c`. So a point that was measured later for an older commit gets the older place.
 * ENOMEM only (a circle of parents, which git cannot make, is broken by time). */
enum wf_status wf_commit_sort(const struct wf_commit *c,
                              size_t n,
                              const char *const *order,
                              size_t order_count,
                              size_t *ret,
                              struct wf_error *err);

/* ret[0..*ret_count): from `good` to `bad` along first parents, both with them (room
 * for n). ENOTFOUND: the line ends before `good`; the error names the commit that no
 * pack has. EINVAL: an end has no commit, or both have the same. */
enum wf_status wf_commit_line(const struct wf_commit *c,
                              size_t n,
                              size_t good,
                              size_t bad,
                              size_t *ret,
                              size_t *ret_count,
                              struct wf_error *err);

#endif
