/* Change points of a series of nightly values: where its level moved, and by how much.
 * Pure. docs/history.md has the method with its measured errors.
 *
 *   outliers   Hampel: a value further than 3.5 s from the median of the 7 around it is
 *              moved to that distance (for finding points; levels are of raw values)
 *   noise      s = (1 + 18 / n) max( MAD(diff) / sqrt 2,
 *                       sqrt(b / 2) MAD(diff of means of adjacent blocks of b) )
 *              for b in { n^(1/3), sqrt(n) / 1.5 }, blocks at every place: long-run, so
 *              that nights that depend on each other do not look like shifts. MAD
 * is 1.4826 times the median of the absolute values (of a normal law: its standard
 * deviation). Where most nights are equal the first is 0; then mean |diff| sqrt(pi) / 2
 *              is taken.
 *   partition  least sum over segments of squared distances from their mean, plus
 *              3 s^2 ln n a point; segments of 3 values at least (optimal
 *              partitioning: Jackson et al. 2005)
 *   pruning    while some |difference of medians| < max(least shift,
 *              3 s sqrt(1/n_left + 1/n_right)), the weakest point goes
 *
 * A series that was looked at every night has no error rate that could be stated: a
 * point proposes, a gate decides (`wavefarm history --confirm`). */
#ifndef WF_GATE_CHANGE_POINTS_H
#define WF_GATE_CHANGE_POINTS_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Values looked at are at most so many: the work grows with their square (0.3 s). */
#define WF_CHANGE_MAX_VALUES 20000u
/* Fewer values than this have no change point: their noise is not known. */
#define WF_CHANGE_MIN_VALUES 6u

struct wf_change_rule {
    double penalty;     /* c of c s^2 ln n */
    double clip;        /* in s */
    size_t half_window; /* of the median that outliers are measured from */
    size_t min_segment;
    double min_shift; /* smaller differences are not told; unit of the values */
    double prune;     /* in standard errors of the difference */
    size_t recent;    /* a point so many nights from the end or fewer is new */
};
#define WF_CHANGE_RULE_DEFAULT                                                         \
    {                                                                                  \
        .penalty = 3, .clip = 3.5, .half_window = 3, .min_segment = 3, .min_shift = 0, \
        .prune = 3, .recent = 12                                                       \
    }

struct wf_change_point {
    size_t index;         /* of the first value of the new level, NANs counted */
    size_t before_index;  /* of the last value of the old level: a night between them
                             that has no value may hold the change as well */
    size_t left, right;   /* values of the two levels */
    double before, after; /* medians of the two levels */
    double size;          /* after - before */
    double noise;         /* standard error of it: s sqrt(1/left + 1/right) */
    bool is_new;          /* at most `recent` nights from the end: a proposal */
};

struct wf_change_points {
    struct wf_change_point *point; /* ascending; owned */
    size_t count;
    size_t values; /* that are not NAN */
    double noise;  /* s of the whole series; NAN: too few values */
};

/* y[0..n) in order of time; NAN: no value that night. EINVAL: an infinity, too many
 * values, or a rule that makes no sense. */
enum wf_status wf_change_points_find(const double *y,
                                     size_t n,
                                     const struct wf_change_rule *rule,
                                     struct wf_change_points *ret,
                                     struct wf_error *err);
void wf_change_points_free(struct wf_change_points *p);

#endif
