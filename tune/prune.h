/* Static pruning: limits of figures, and points that another one makes needless. Pure.
 */
#ifndef WF_TUNE_PRUNE_H
#define WF_TUNE_PRUNE_H

#include <stdbool.h>
#include <stddef.h>

/* Is the value inside? NAN, of a value or of a limit, is. */
bool wf_tune_within(double value, double least, double most);

/* Whether `a` makes `b` needless: no figure of a is worse, and one is better by more
 * than a hundredth of itself. worse[i]: +1 a larger value is worse, -1 a smaller one;
 * 0: the figure does not count. Where one side's figure is unknown (NAN) neither makes
 * the other needless. */
bool wf_tune_dominates(const double *a, const double *b, const int *worse, size_t n);

#endif
