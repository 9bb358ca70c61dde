#include "kernels/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t cell_side(int64_t n)
{
    const int64_t least = (n + WF_MAP_SIDE - 1) / WF_MAP_SIDE;
    int64_t side = 1;
    if (least > 16) {
        return (least + 15) / 16 * 16;
    }
    while (side < least) {
        side *= 2;
    }
    return side;
}

void wf_error_map_init(struct wf_error_map *map,
                       const char *tensor,
                       int64_t rows,
                       int64_t cols)
{
    memset(map, 0, sizeof *map);
    (void)snprintf(map->tensor, sizeof map->tensor, "%s", tensor);
    if (rows <= 0 || cols <= 0) {
        return;
    }
    map->known = true;
    map->rows = rows;
    map->cols = cols;
    map->cell_rows = cell_side(rows);
    map->cell_cols = cell_side(cols);
    map->map_rows = (int)((rows + map->cell_rows - 1) / map->cell_rows);
    map->map_cols = (int)((cols + map->cell_cols - 1) / map->cell_cols);
}

void wf_error_map_checked(struct wf_error_map *map, int64_t row, int64_t col, int64_t n)
{
    uint64_t *line = map->checked[row / map->cell_rows];
    const int64_t end = col + n;
    while (col < end) {
        const int64_t cell = col / map->cell_cols;
        const int64_t edge = (cell + 1) * map->cell_cols;
        const int64_t stop = edge < end ? edge : end;
        line[cell] += (uint64_t)(stop - col);
        col = stop;
    }
}

void wf_error_map_wrong(struct wf_error_map *map, int64_t row, int64_t col)
{
    map->wrong[row / map->cell_rows][col / map->cell_cols]++;
}

void wf_report_first(struct wf_check_report *report,
                     uint64_t *key,
                     uint64_t at,
                     const struct wf_element *e)
{
    if (report->has_first && at >= *key) {
        return;
    }
    *key = at;
    report->has_first = true;
    (void)snprintf(report->first_tensor, sizeof report->first_tensor, "%s", e->tensor);
    report->first_ndim = e->ndim;
    memcpy(report->first_index, e->index, sizeof report->first_index);
    report->first_got = e->got;
    report->first_want = e->want;
}

/* NaN and infinities must agree, infinities in sign too. */
static bool class_differs(double got, double want)
{
    if (isfinite(got) || isfinite(want)) {
        return !(isfinite(got) && isfinite(want));
    }
    return isnan(got) != isnan(want) ||
           (!isnan(got) && (signbit(got) != 0) != (signbit(want) != 0));
}

void wf_peer_count(struct wf_peer_tally *peers, double got, double want)
{
    const double error = fabs(got - want);
    const double size = fabs(want);
    if (class_differs(got, want)) {
        peers->class_differs++;
        peers->beyond_allclose++;
        peers->beyond_flashinfer++;
        return;
    }
    if (!isfinite(want)) {
        return;
    }
    peers->beyond_allclose += !(error <= 1e-2 + 1e-2 * size);
    peers->beyond_flashinfer += !(error <= 1e-2) && !(error <= 1e-2 * size);
}
