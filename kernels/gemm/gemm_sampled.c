/* The check of problems beyond the budget: what the product check flagged and a sample
 * of the other rows are compared in full, and reported. */
#include "kernels/gemm/gemm_freivalds.h"

#include "core/rng.h"

#include <math.h>
#include <stdio.h>

#define SAMPLE_ROWS  64
#define STRETCH_ROWS 128
#define ROW_STREAM   UINT64_C(0x726f7773) /* apart from those of the tensors */

/* Rows of one batch with `mark`, at most a panel: all, or the first ones and some
 * spread over the rest, so that the error map has something to show of the whole
 * output. Those taken are marked DONE. */
static int64_t take_marked(struct gemm_product_check *p,
                           int64_t batch,
                           enum gemm_row_mark mark,
                           int64_t *index)
{
    const struct gemm *g = &p->ref->g;
    unsigned char *flag = p->flag + gemm_line_number(g, batch, 0);
    const int64_t begin = gemm_first_row(g, batch);
    const int64_t end = gemm_end_row(g, batch);
    int64_t left = 0;
    int64_t n = 0;
    int64_t seen = 0;
    for (int64_t row = begin; row < end; row++) {
        left += flag[row] == mark;
    }
    const int64_t head = left <= GEMM_PANEL_ROWS ? left : GEMM_PANEL_ROWS / 2;
    const int64_t rest = left - head;
    const int64_t step =
        rest > 0 ? (rest + GEMM_PANEL_ROWS / 2 - 1) / (GEMM_PANEL_ROWS / 2) : 1;
    for (int64_t row = begin; row < end; row++) {
        if (flag[row] != mark) {
            continue;
        }
        if (seen < head || (seen - head) % step == step - 1) {
            index[n++] = row;
            flag[row] = mark == ROW_FLAGGED ? ROW_FLAGGED_DONE : ROW_SAMPLED_DONE;
        }
        seen++;
    }
    return n;
}

/* Full comparison of the rows with `mark` until a panel of them is done and holds a
 * wrong element: the answer is known then, and a thoroughly wrong output would cost the
 * full product. Returns the rows looked at in *ret_rows. */
static enum wf_status check_marked(struct gemm_product_check *p,
                                   enum gemm_row_mark mark,
                                   struct gemm_tally *tally,
                                   uint64_t *ret_rows,
                                   struct wf_error *err)
{
    const struct gemm *g = &p->ref->g;
    int64_t index[GEMM_PANEL_ROWS];
    *ret_rows = 0;
    for (int64_t b = 0; b < g->batch; b++) {
        struct gemm_rows rows = { b, 0, take_marked(p, b, mark, index), index };
        while (rows.count > 0) {
            const enum wf_status st =
                gemm_check_rows(&p->w, p->ref, p->outputs, &rows, tally, err);
            if (st != WF_OK) {
                return st;
            }
            *ret_rows += (uint64_t)rows.count;
            if (*ret_rows >= GEMM_PANEL_ROWS &&
                tally->mismatches + tally->nonfinite + tally->unwritten > 0) {
                return WF_OK;
            }
            rows.count = take_marked(p, b, mark, index);
        }
    }
    return WF_OK;
}

static void report_products(const struct gemm_product_check *p,
                            const struct gemm_tally *flagged,
                            uint64_t looked_at,
                            struct wf_check_report *ret)
{
    struct wf_check *c = &ret->check[ret->check_count++];
    (void)snprintf(c->name, sizeof c->name, "%s",
                   p->linear ? "freivalds-blocked" : "finite-all");
    c->passed = flagged->mismatches + flagged->nonfinite + flagged->unwritten == 0;
    c->elements = p->elements;
    c->worst_ratio =
        c->passed ? p->worst_ratio : fmax(p->worst_ratio, flagged->worst_ratio);
    if (!p->linear) {
        c->smallest_caught = 0.0; /* none that is finite */
        (void)snprintf(c->note, sizeof c->note,
                       "written and finite; an activation is not linear: no product "
                       "check, wrong finite values are found in sampled rows only");
        return;
    }
    c->smallest_caught = p->ref->tolerance.exact ? 1.0 : p->caught;
    c->seed = p->ref->seed;
    (void)snprintf(
        c->note, sizeof c->note,
        "random signs over %d columns; several small errors in one block of a "
        "row may cancel; %llu rows flagged, %llu of them compared in full",
        GEMM_SIGN_COLS, (unsigned long long)p->flagged, (unsigned long long)looked_at);
}

static void report_samples(const struct gemm_product_check *p,
                           const struct gemm_tally *tally,
                           uint64_t rows,
                           struct wf_check_report *ret)
{
    struct wf_check *c = &ret->check[ret->check_count++];
    const uint64_t all = (uint64_t)gemm_all_rows(&p->ref->g);
    (void)snprintf(c->name, sizeof c->name, "sampled-rows");
    c->passed = tally->mismatches + tally->nonfinite + tally->unwritten == 0;
    c->elements = tally->elements;
    c->worst_ratio = tally->worst_ratio;
    c->smallest_caught = p->ref->tolerance.exact ? 1.0 : tally->max_tolerance;
    c->seed = p->ref->seed;
    (void)snprintf(c->note, sizeof c->note,
                   "full double on %llu of %llu rows, drawn anew%s; says nothing of "
                   "the others (all: %.3g multiply-adds, at most %.3g)",
                   (unsigned long long)rows, (unsigned long long)all,
                   p->linear ? " each time" : ", one a stretch of equal length",
                   p->ref->macs, p->ref->budget);
}

/* Where the product check cannot go: a row a stretch of 128, as far as half the budget
 * lasts, but never fewer than where it can. */
static uint64_t sample_count(const struct gemm_product_check *p)
{
    const struct gemm *g = &p->ref->g;
    const uint64_t all = (uint64_t)gemm_all_rows(g);
    const double affordable = p->ref->budget / 2.0 / p->ref->macs * (double)all;
    const uint64_t wanted = (all + STRETCH_ROWS - 1) / STRETCH_ROWS;
    const uint64_t n = (double)wanted < affordable ? wanted : (uint64_t)affordable;
    return p->linear || n < SAMPLE_ROWS ? SAMPLE_ROWS : n;
}

/* Marks the sample, leaving flagged rows alone: anywhere, or one a stretch. */
static void choose_rows(struct gemm_product_check *p)
{
    const uint64_t all = (uint64_t)gemm_all_rows(&p->ref->g);
    const uint64_t n = sample_count(p);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t first = p->linear ? 0 : i * all / n;
        const uint64_t end = p->linear ? all : (i + 1) * all / n;
        const uint64_t size = end > first ? end - first : 1;
        const uint64_t row = first + wf_rng_below(p->ref->seed, ROW_STREAM, i, size);
        if (p->flag[row] == ROW_RIGHT) {
            p->flag[row] = ROW_SAMPLED;
        }
    }
}

/* Rows that no block flagged were looked at by the product check; flagged ones only
 * where they were compared, which `flagged` has counted. */
static void finish_map(const struct gemm_product_check *p,
                       struct wf_error_map *map,
                       const struct wf_error_map *sample)
{
    const struct gemm *g = &p->ref->g;
    for (int64_t row = 0; row < gemm_all_rows(g) && map->known; row++) {
        if (p->flag[row] != ROW_FLAGGED && p->flag[row] != ROW_FLAGGED_DONE) {
            wf_error_map_checked(map, row, 0, g->n);
        }
    }
    for (int i = 0; i < map->map_rows; i++) {
        for (int j = 0; j < map->map_cols; j++) {
            map->wrong[i][j] += sample->wrong[i][j];
        }
    }
}

static void merge(const struct gemm_product_check *p,
                  struct gemm_tally *into,
                  const struct gemm_tally *from)
{
    const struct wf_error_map map = into->map;
    const uint64_t mismatches = into->mismatches + from->mismatches;
    const uint64_t nonfinite = into->nonfinite + from->nonfinite;
    const uint64_t unwritten = into->unwritten + from->unwritten;
    const double max_abs = fmax(into->max_abs, from->max_abs);
    const double max_rel = fmax(into->max_rel, from->max_rel);
    /* What only a sample saw: practically never, as every row goes through the product
     * check first. */
    if (from->has_first &&
        (!into->has_first || from->first_position < into->first_position)) {
        *into = *from;
    }
    into->map = map;
    into->mismatches = mismatches;
    into->nonfinite = nonfinite;
    into->unwritten = unwritten;
    into->max_abs = max_abs;
    into->max_rel = max_rel;
    finish_map(p, &into->map, &from->map);
}

/* Poison and non-finite elements were counted over all rows; the rows compared in full
 * say whether a non-finite element is wrong. Unwritten ones are wrong wherever they
 * are. */
static void report_answer(const struct gemm_product_check *p,
                          struct gemm_tally *flagged,
                          const struct gemm_tally *sample,
                          struct wf_check_report *ret)
{
    merge(p, flagged, sample);
    if (flagged->unwritten > 0 && p->unwritten > flagged->unwritten) {
        flagged->unwritten = p->unwritten;
    }
    if (flagged->nonfinite > 0 && p->nonfinite > flagged->nonfinite) {
        flagged->nonfinite = p->nonfinite;
    }
    gemm_tally_report(flagged, ret);
}

enum wf_status gemm_check_sampled(const struct wf_reference *ref,
                                  const struct wf_output_source *outputs,
                                  struct wf_check_report *ret,
                                  struct wf_error *err)
{
    struct gemm_product_check p = { .ref = ref,
                                    .outputs = outputs,
                                    .linear =
                                        ref->g.activation == GEMM_ACTIVATION_NONE };
    struct gemm_tally flagged, sample;
    uint64_t flagged_rows = 0, sample_rows = 0;
    gemm_tally_init(&flagged, &ref->g);
    gemm_tally_init(&sample, &ref->g);
    enum wf_status st = gemm_product_init(&p, err);
    if (st == WF_OK) {
        st = gemm_check_products(&p, err);
    }
    if (st == WF_OK) {
        st = check_marked(&p, ROW_FLAGGED, &flagged, &flagged_rows, err);
    }
    if (st == WF_OK) {
        choose_rows(&p);
        st = check_marked(&p, ROW_SAMPLED, &sample, &sample_rows, err);
    }
    if (st == WF_OK) {
        report_products(&p, &flagged, flagged_rows, ret);
        report_samples(&p, &sample, sample_rows, ret);
        report_answer(&p, &flagged, &sample, ret);
        gemm_diagnose(ref, &flagged, ret);
    }
    gemm_product_fini(&p);
    return st;
}
