/* Diagnosis by place: an offset that wrapped, a first tile that is right, a tail tile.
 * Pure rules over the problem and what the check saw. */
#include "kernels/gemm/gemm_diagnose.h"

#include <stdio.h>
#include <string.h>

/* --- offsets that do not fit 32 bits --- */

struct limit {
    int64_t value;
    bool bytes;
    const char *unit, *text;
};

/* The order in which they are tried: an element offset that wraps is also a byte offset
 * that does, later. */
static const struct limit LIMITS[] = {
    { INT64_C(1) << 31, false, "element", "2^31 (int32)" },
    { INT64_C(1) << 32, false, "element", "2^32 (uint32)" },
    { INT64_C(1) << 31, true, "byte", "2^31 (int32)" },
    { INT64_C(1) << 32, true, "byte", "2^32 (uint32)" },
};
#define LIMIT_COUNT (sizeof LIMITS / sizeof *LIMITS)

/* The largest offset, in elements, that element `at` of the output needs. */
static int64_t largest_offset(const struct gemm *g,
                              enum gemm_tensor which,
                              const int64_t at[3])
{
    const struct gemm_matrix *x = &g->matrix[which];
    const int64_t base = at[0] * x->stride;
    const int64_t last = g->k > 0 ? g->k - 1 : 0;
    if (which == GEMM_A) {
        return base + (g->trans_a ? last * x->ld + at[1] : at[1] * x->ld + last);
    }
    if (which == GEMM_B) {
        const int64_t col = at[2] + (gemm_is_gated(g) ? g->n : 0);
        return base + (g->trans_b ? col * x->ld + last : last * x->ld + col);
    }
    return base + at[1] * x->ld + at[2];
}

static bool beyond(const struct gemm *g,
                   enum gemm_tensor which,
                   const struct limit *l,
                   const int64_t at[3])
{
    const int64_t unit = l->bytes ? (int64_t)wf_dtype_bytes(g->matrix[which].dtype) : 1;
    return largest_offset(g, which, at) * unit >= l->value;
}

/* The element before it in [batch][row][col] order; false at the first one. Rows of
 * groups lie one after the other. */
static bool step_back(const struct gemm *g, int64_t at[3])
{
    if (at[2] > 0) {
        at[2]--;
        return true;
    }
    at[2] = g->n - 1;
    if (at[1] > 0) {
        at[1]--;
        at[0] = g->begin != NULL ? gemm_group_of_row(g, at[1]) : at[0];
        return true;
    }
    if (g->begin != NULL) {
        return false;
    }
    at[1] = g->m - 1;
    return --at[0] >= 0;
}

/* Of groups the last that has rows. */
static int64_t last_batch(const struct gemm *g)
{
    return g->begin != NULL ? gemm_group_of_row(g, g->m - 1) : g->batch - 1;
}

/* Wrong elements begin exactly where the offset crosses the limit, every sample lies
 * beyond it, and so does the end of the output. Offsets grow with each index. */
static bool fits_limit(const struct gemm *g,
                       const struct gemm_tally *t,
                       const int64_t first[3],
                       enum gemm_tensor which,
                       const struct limit *l)
{
    int64_t before[3] = { first[0], first[1], first[2] };
    const bool ends =
        t->high[0] == last_batch(g) && t->high[1] == g->m - 1 && t->high[2] == g->n - 1;
    if (!ends || !beyond(g, which, l, first) || !step_back(g, before) ||
        beyond(g, which, l, before)) {
        return false;
    }
    /* Of D the wrapped elements land somewhere below: only the unwritten ones count. */
    for (uint64_t i = 0; i < t->sample_count && which != GEMM_D; i++) {
        const struct gemm_sample *s = &t->sample[i];
        if (!beyond(g, which, l, (int64_t[3]){ s->batch, s->row, s->col })) {
            return false;
        }
    }
    return true;
}

static bool is_used(const struct gemm *g, enum gemm_tensor which)
{
    return which == GEMM_D ||
           (which == GEMM_C ? gemm_reads_c(g) : gemm_reads_product(g));
}

bool gemm_explain_wrap(const struct gemm *g,
                       const struct gemm_tally *t,
                       char *text,
                       size_t text_bytes)
{
    static const char *const NAMES[] = { "A", "B", "C", "D" };
    if (!t->has_first) {
        return false;
    }
    for (int which = GEMM_D; which >= GEMM_A; which--) {
        const int64_t *first =
            which == GEMM_D && t->unwritten > 0 ? t->first_unwritten : t->first;
        for (size_t i = 0; i < LIMIT_COUNT && is_used(g, (enum gemm_tensor)which);
             i++) {
            if (fits_limit(g, t, first, (enum gemm_tensor)which, &LIMITS[i])) {
                (void)snprintf(
                    text, text_bytes,
                    "wrong exactly where the %s offset into %s reaches %s: it "
                    "wraps",
                    LIMITS[i].unit, NAMES[which], LIMITS[i].text);
                return true;
            }
        }
    }
    return false;
}

/* --- tiles --- */

static const int64_t TILES[] = { 256, 128, 64, 32, 16 };
#define TILE_COUNT (sizeof TILES / sizeof *TILES)

static bool is_tile(int64_t n)
{
    for (size_t i = 0; i < TILE_COUNT; i++) {
        if (n == TILES[i]) {
            return true;
        }
    }
    return false;
}

bool gemm_explain_first_tile(const struct gemm *g,
                             const struct gemm_tally *t,
                             char *text,
                             size_t text_bytes)
{
    const bool all_cols = t->low[2] == 0 && t->high[2] == g->n - 1;
    const bool all_rows = t->low[1] == 0 && t->high[1] == g->m - 1;
    if (all_cols && is_tile(t->low[1])) {
        (void)snprintf(
            text, text_bytes,
            "right in the first %lld rows, lost after the first tile of %lld",
            (long long)t->low[1], (long long)t->low[1]);
    } else if (all_rows && is_tile(t->low[2])) {
        (void)snprintf(
            text, text_bytes,
            "right in the first %lld columns, lost after the first tile of %lld",
            (long long)t->low[2], (long long)t->low[2]);
    } else if (all_rows && all_cols && is_tile(t->first_tile)) {
        (void)snprintf(text, text_bytes,
                       "right in the first %lld x %lld tile, lost after it",
                       (long long)t->first_tile, (long long)t->first_tile);
    } else {
        return false;
    }
    return true;
}

/* The largest tile whose last, partial one begins at `low`; 0: none. */
static int64_t tail_tile(int64_t low, int64_t high, int64_t size)
{
    for (size_t i = 0; i < TILE_COUNT && low > 0 && high == size - 1; i++) {
        if (size % TILES[i] != 0 && low == size - size % TILES[i]) {
            return TILES[i];
        }
    }
    return 0;
}

static void describe_tail(const struct gemm *g,
                          const struct gemm_tally *t,
                          char *text,
                          size_t text_bytes)
{
    const int64_t m = tail_tile(t->low[1], t->high[1], g->m);
    const int64_t n = tail_tile(t->low[2], t->high[2], g->n);
    const bool ends = (t->low[1] > 0 && t->high[1] == g->m - 1) ||
                      (t->low[2] > 0 && t->high[2] == g->n - 1);
    if (m == 0 && n == 0) {
        (void)snprintf(text, text_bytes, "%s",
                       ends ? ": a tail tile is missing or wrong" : "");
        return;
    }
    (void)snprintf(text, text_bytes, ": the tail tile in %s is missing or wrong (%lld)",
                   m > 0 && n > 0 ? "M and N"
                   : m > 0        ? "M"
                                  : "N",
                   (long long)(m > 0 ? m : n));
}

/* --- tiles of groups --- */

/* Rows of the partial last tile of a group of `rows`; 0: the last tile is whole, or the
 * only one. */
static int64_t group_tail(int64_t rows, int64_t tile)
{
    return rows > tile ? rows % tile : 0;
}

static bool all_in_group_tails(const struct gemm *g,
                               const struct gemm_tally *t,
                               int64_t tile)
{
    for (uint64_t i = 0; i < t->sample_count; i++) {
        const struct gemm_sample *s = &t->sample[i];
        if (s->row < g->begin[s->batch + 1] - group_tail(g->group[s->batch], tile)) {
            return false;
        }
    }
    return t->sample_count > 0;
}

/* The smallest tile in whose partial last ones all kept wrong elements lie; 0: none. */
static int64_t group_tail_tile(const struct gemm *g, const struct gemm_tally *t)
{
    for (size_t i = TILE_COUNT; i > 0; i--) {
        if (all_in_group_tails(g, t, TILES[i - 1])) {
            return TILES[i - 1];
        }
    }
    return 0;
}

static void describe_groups(const struct gemm *g,
                            const struct gemm_tally *t,
                            char *text,
                            size_t text_bytes)
{
    char tail[80] = "";
    const int64_t tile = group_tail_tile(g, t);
    const bool all = t->low[1] == 0 && t->high[1] == g->m - 1 && t->low[2] == 0 &&
                     t->high[2] == g->n - 1;
    if (tile > 0) {
        (void)snprintf(tail, sizeof tail,
                       ": the last, partial tile of groups is missing or wrong (%lld)",
                       (long long)tile);
    }
    if (all && tile == 0) {
        text[0] = '\0';
        return;
    }
    (void)snprintf(
        text, text_bytes,
        "wrong elements lie in groups %lld..%lld of %lld, rows %lld..%lld, columns "
        "%lld..%lld%s",
        (long long)t->low[0], (long long)t->high[0], (long long)g->batch,
        (long long)t->low[1], (long long)t->high[1], (long long)t->low[2],
        (long long)t->high[2], tail);
}

void gemm_describe_place(const struct gemm *g,
                         const struct gemm_tally *t,
                         char *text,
                         size_t text_bytes)
{
    char tail[80];
    char batch[64] = "";
    const bool all_batches = t->low[0] == 0 && t->high[0] == g->batch - 1;
    const bool whole = t->low[1] == 0 && t->high[1] == g->m - 1 && t->low[2] == 0 &&
                       t->high[2] == g->n - 1;
    if (g->begin != NULL) {
        describe_groups(g, t, text, text_bytes);
        return;
    }
    if (whole && all_batches) {
        text[0] = '\0';
        return;
    }
    if (!all_batches) {
        (void)snprintf(batch, sizeof batch, "batches %lld..%lld of %lld, ",
                       (long long)t->low[0], (long long)t->high[0],
                       (long long)g->batch);
    }
    describe_tail(g, t, tail, sizeof tail);
    (void)snprintf(text, text_bytes,
                   "wrong elements lie in %srows %lld..%lld, columns %lld..%lld%s",
                   batch, (long long)t->low[1], (long long)t->high[1],
                   (long long)t->low[2], (long long)t->high[2], tail);
}
