/* Mistakes that only grouped_gemm can make: rows of one group with the B of another,
 * and offsets that are not where the groups begin. All give NaN for an ordinary gemm.
 */
#include "kernels/gemm/gemm_mistakes.h"

#include <math.h>

static bool grouped(const struct gemm_evidence *e)
{
    return e->ref->g.begin != NULL;
}

/* Row `row` of A times the B of `group`; NaN where there is no such thing, or where it
 * is the right one. */
static double answer(const struct gemm_evidence *e, int64_t row, int64_t group)
{
    const struct gemm *g = &e->ref->g;
    struct gemm_view v = gemm_plain_view(e);
    if (!grouped(e) || row < 0 || row >= g->m || group < 0 || group >= g->batch ||
        (row == e->s.row && group == e->s.batch)) {
        return (double)NAN;
    }
    v.row = row;
    v.batch_b = group;
    return gemm_combine(e, gemm_dot(e, &v));
}

static double first_group(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return answer(e, e->s.row, 0);
}

static double other_group(const struct gemm_evidence *e, int64_t p)
{
    return answer(e, e->s.row, e->s.batch + p);
}

/* The last group with rows before the element's; -1: there is none. */
static int64_t group_before(const struct gemm_evidence *e)
{
    int64_t b = e->s.batch - 1;
    while (b >= 0 && e->ref->g.group[b] == 0) {
        b--;
    }
    return b;
}

/* Rows at the beginning of a group that the whole last tile of the group before covers.
 * Where that is all of the group, another mistake says as much. */
static double overrun(const struct gemm_evidence *e, int64_t tile)
{
    const struct gemm *g = &e->ref->g;
    const int64_t before = grouped(e) ? group_before(e) : -1;
    if (before < 0) {
        return (double)NAN;
    }
    const int64_t rest = g->group[before] % tile;
    const int64_t covered = rest > 0 ? tile - rest : 0;
    const bool inside = e->s.row - g->begin[e->s.batch] < covered;
    return inside && covered < g->group[e->s.batch] ? answer(e, e->s.row, before)
                                                    : (double)NAN;
}

static double empty_not_counted(const struct gemm_evidence *e, int64_t p)
{
    int64_t n = 0;
    (void)p;
    for (int64_t b = 0; grouped(e) && b < e->s.batch; b++) {
        n += e->ref->g.group[b] > 0;
    }
    return answer(e, e->s.row, n);
}

static double rows_from_0(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return grouped(e) ? answer(e, e->s.row - e->ref->g.begin[e->s.batch], e->s.batch)
                      : (double)NAN;
}

/* A read as if each group had whole tiles of rows there. */
static double rows_of_whole_tiles(const struct gemm_evidence *e, int64_t tile)
{
    int64_t row = grouped(e) ? e->s.row - e->ref->g.begin[e->s.batch] : 0;
    for (int64_t b = 0; grouped(e) && b < e->s.batch; b++) {
        row += (e->ref->g.group[b] + tile - 1) / tile * tile;
    }
    return answer(e, row, e->s.batch);
}

/* --- scales --- */

static double sa_from_0(const struct gemm_evidence *e, int64_t p, int64_t k)
{
    const int64_t row = e->s.row - e->ref->g.begin[e->s.batch];
    (void)p;
    return gemm_scale_at(e->ref, GEMM_A, e->s.batch, row, k) *
           gemm_scale_at(e->ref, GEMM_B, e->s.batch, e->col, k);
}

static double sb_of_group_0(const struct gemm_evidence *e, int64_t p, int64_t k)
{
    (void)p;
    return gemm_scale_at(e->ref, GEMM_A, e->s.batch, e->s.row, k) *
           gemm_scale_at(e->ref, GEMM_B, 0, e->col, k);
}

static double scaled(const struct gemm_evidence *e,
                     double (*scale)(const struct gemm_evidence *, int64_t, int64_t))
{
    struct gemm_view v = gemm_plain_view(e);
    if (!grouped(e) || e->ref->g.scale == GEMM_SCALE_NONE || e->s.batch == 0) {
        return (double)NAN;
    }
    v.scale = scale;
    return gemm_combine(e, gemm_dot(e, &v));
}

static double sa_counted_anew(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return scaled(e, sa_from_0);
}

static double sb_of_first(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return scaled(e, sb_of_group_0);
}

/* X(function, parameter, text), in the order in which they are tried. */
/* clang-format off */
#define TILE_ROWS(X, n, words) \
    X(overrun, n, "the last tile of a group (" words " rows) was written beyond its end: the next group's first rows are products with its B")
#define WHOLE_ROWS(X, n, words) \
    X(rows_of_whole_tiles, n, "rows of A were looked for as if every group had a multiple of " words " of them")
#define MISTAKE_LIST(X) \
    X(first_group, 0, "B of group 0 was used for every group: its stride is ignored") \
    TILE_ROWS(X, 16, "16") TILE_ROWS(X, 32, "32") TILE_ROWS(X, 64, "64") \
    TILE_ROWS(X, 128, "128") TILE_ROWS(X, 256, "256") \
    X(other_group, 1, "rows were multiplied with the B of the next group") \
    X(other_group, -1, "rows were multiplied with the B of the group before") \
    X(empty_not_counted, 0, "groups without rows were not counted: rows were multiplied with the B of an earlier group") \
    X(rows_from_0, 0, "rows of A were counted from 0 in every group: where it begins was not added") \
    WHOLE_ROWS(X, 16, "16") WHOLE_ROWS(X, 32, "32") WHOLE_ROWS(X, 64, "64") \
    WHOLE_ROWS(X, 128, "128") WHOLE_ROWS(X, 256, "256") \
    X(sa_counted_anew, 0, "SA was counted from 0 in every group: where it begins was not added") \
    X(sb_of_first, 0, "SB of group 0 was used for every group")
/* clang-format on */

const struct gemm_mistake gemm_grouped_mistakes[] = {
#define X(function, p, text) { function, p, GEMM_MISTAKE_OTHER, GEMM_STAGE_SUM, text },
    MISTAKE_LIST(X)
#undef X
};
const size_t gemm_grouped_mistake_count =
    sizeof gemm_grouped_mistakes / sizeof *gemm_grouped_mistakes;
