/* What both ops' checks write into a report besides their verdict: the error map and
 * what common rules of other suites would have counted. */
#ifndef WF_KERNELS_REPORT_H
#define WF_KERNELS_REPORT_H

#include "kernels/op.h"

/* Cuts an output of rows x cols (the last dimension across, all others down) into
 * cells. A cell has as many rows (columns) as are needed for WF_MAP_SIDE cells, rounded
 * up to a power of two below 16 and to a multiple of 16 from there on, so that its
 * edges are edges of a kernel's tiles. */
void wf_error_map_init(struct wf_error_map *map,
                       const char *tensor,
                       int64_t rows,
                       int64_t cols);
/* Columns [col, col + n) of one row were looked at. */
void wf_error_map_checked(struct wf_error_map *map,
                          int64_t row,
                          int64_t col,
                          int64_t n);
void wf_error_map_wrong(struct wf_error_map *map, int64_t row, int64_t col);

/* The first wrong element: keeps the one of the lower key (storage order over all
 * outputs; the caller's own number). `key` starts as UINT64_MAX. */
struct wf_element {
    const char *tensor;
    int ndim;
    int64_t index[WF_MAX_DIMS];
    double got, want;
};
void wf_report_first(struct wf_check_report *report,
                     uint64_t *key,
                     uint64_t at,
                     const struct wf_element *e);

/* Counts one element. The values are those that the check compares: what the output
 * holds, and the reference after the type's overflow rule. */
void wf_peer_count(struct wf_peer_tally *peers, double got, double want);

/* Cheap and never wrongly false: whether some rule may object to finite values. One
 * branch that right values practically never take. */
static inline bool wf_peer_may_object(double error, double size)
{
    return (error > 1e-2) & (error > 1e-2 * size);
}

#endif
