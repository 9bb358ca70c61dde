/* Which pack to look at next, and what is known when nothing is left: the search rule
 * of `wavefarm bisect`. Pure.
 *
 * Candidates 0 .. n - 1 in commit order; 0 is good, n - 1 is bad. Between the greatest
 * good one and the first bad one behind it, the unknown one nearest to the middle is
 * next; one that could not be decided is passed over for its neighbours, as `git bisect
 * skip` does. Candidates of one group have the same code: what is learnt of one holds
 * for all. A good one behind a bad one (a revert) moves the search behind it: what is
 * found is a change from good to bad that lasts until the bad end, under the assumption
 * that between the two ends found so far no further ones hide. */
#ifndef WF_GATE_BISECT_H
#define WF_GATE_BISECT_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* X(NAME, text) */
#define WF_BISECT_MARKS(X) \
    X(UNKNOWN, "unknown")  \
    X(GOOD, "good")        \
    X(BAD, "bad")          \
    X(SKIP, "skipped")

enum wf_bisect_mark {
#define X(name, text) WF_BISECT_##name,
    WF_BISECT_MARKS(X)
#undef X
    WF_BISECT_MARK_COUNT
};
const char *wf_bisect_mark_name(enum wf_bisect_mark m);

struct wf_bisect; /* opaque */

/* `group[i]`: candidates with equal numbers have the same code. n >= 2. EINVAL: the
 * good and the bad end have. */
enum wf_status wf_bisect_create(const size_t *group,
                                size_t n,
                                struct wf_bisect **ret,
                                struct wf_error *err);
void wf_bisect_free(struct wf_bisect *b);
enum wf_bisect_mark wf_bisect_mark_of(const struct wf_bisect *b, size_t i);
/* Marks it and its group; a mark that is there stays unless it is SKIP. */
void wf_bisect_learn(struct wf_bisect *b, size_t i, enum wf_bisect_mark mark);
/* False: nothing is left to look at. */
bool wf_bisect_next(const struct wf_bisect *b, size_t *ret);
/* *ret_good is good, *ret_bad is bad, none between them is known to be either: the
 * change is in one of *ret_good + 1 .. *ret_bad, exactly found when that is one. */
void wf_bisect_range(const struct wf_bisect *b, size_t *ret_good, size_t *ret_bad);
/* Of those between, how many are still unknown. */
size_t wf_bisect_left(const struct wf_bisect *b);

/* Steps that a search over n candidates takes when each is decided, the check of the
 * ends included: 1 + ceil(log2(n - 1)). */
size_t wf_bisect_steps(size_t n);
/* Error rate of step k (from 0), so that all steps together have at most `alpha`
 * however many there are: 90 % of it in equal parts for the planned steps, the rest
 * for steps that undecided ones add, as 1 / (j (j + 1)). */
double wf_bisect_step_alpha(double alpha, size_t planned, size_t k);

#endif
