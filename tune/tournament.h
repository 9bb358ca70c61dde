/* The rule by which measured times name a winner. Pure: no device, no clock.
 *
 * The incumbent is the champion. Challengers come one after the other, in an order that
 * was fixed before (what a model or a first look thought of them); each meets the
 * champion of its turn in a gate of its own (docs/gate.md) and replaces it only where
 * that gate says IMPROVED: faster by more than the margin d0. What is undecided, equal
 * within the margin or slower leaves the champion where it is.
 *
 * Error rate: how many challengers there are is fixed before the first measurement, and
 * each gate runs at alpha / challengers. Who is champion in a turn depends on earlier
 * gates alone, and the blocks of a gate are new: given all that happened before, the
 * gate says IMPROVED of a challenger that is not faster by more than d0 with
 * probability at most alpha / challengers. By the union bound, at most one tournament
 * in 1 / alpha has any replacement that was no improvement, whatever the candidates,
 * their number, the order, or when somebody stops it. With candidates that are all
 * equal the incumbent stays with probability at least 1 - alpha. Ending early (a
 * budget, an interrupt) only leaves out gates.
 *
 * A champion whose answer is wrong is out and its challenger takes its place without a
 * claim; that error is about answers, which are not random. */
#ifndef WF_TUNE_TOURNAMENT_H
#define WF_TUNE_TOURNAMENT_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What the gate of champion and challenger said. X(NAME, text) */
#define WF_TUNE_OUTCOMES(X)                                                           \
    X(FASTER, "faster")         /* IMPROVED */                                        \
    X(NOT_FASTER, "not-faster") /* PASS, FAIL slower, undecided */                    \
    X(SAME_CODE, "same-code")   /* nothing to measure */                              \
    X(WRONG, "wrong")           /* the challenger's answer */                         \
    X(BASE_WRONG, "base-wrong") /* the champion's answer, the challenger's is good */ \
    X(LOST, "lost")             /* the machine failed: nothing is known */

enum wf_tune_outcome {
#define X(name, text) WF_TUNE_##name,
    WF_TUNE_OUTCOMES(X)
#undef X
    WF_TUNE_OUTCOME_COUNT
};
const char *wf_tune_outcome_name(enum wf_tune_outcome o);
bool wf_tune_outcome_parse(const char *text, enum wf_tune_outcome *ret);

#define WF_TUNE_MAX_CANDIDATES 256

struct wf_tournament {
    size_t candidates; /* the incumbent is number 0 */
    double alpha;      /* of the whole */
    size_t champion, next;
    size_t replaced; /* times that the champion changed */
};

/* EINVAL: no candidates, too many, or an alpha outside (0, 1). */
enum wf_status wf_tournament_init(struct wf_tournament *t,
                                  size_t candidates,
                                  double alpha,
                                  struct wf_error *err);
/* The gate that is to be run next; false: there is none. */
bool wf_tournament_next(const struct wf_tournament *t,
                        size_t *ret_champion,
                        size_t *ret_challenger,
                        double *ret_alpha);
void wf_tournament_take(struct wf_tournament *t, enum wf_tune_outcome o);

/* Where no times are known: the winner of modelled cycles. The least is taken; those
 * within `margin` (0.005 is 0.5 %) of it are ties, which the incumbent wins (index, or
 * count: none is there), then the least rank, then the first. NAN: not known, never
 * wins. Returns `count` where nothing is known. */
size_t wf_tune_least(const double *cycles,
                     const unsigned *rank,
                     size_t count,
                     size_t incumbent,
                     double margin);

#endif
