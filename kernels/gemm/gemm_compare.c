/* Compares rows of the output with the reference and keeps the tally. The common case
 * is one pass without divisions; an element that is not plainly right is classified by
 * itself: finite check first, then !(err <= tol), so that no NaN slips through. */
#include "kernels/gemm/gemm_check.h"

#include "core/rng.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Which wrong elements a diagnosis looks at is no secret. */
#define SAMPLE_SEED UINT64_C(0x67656d6d)

enum verdict {
    RIGHT,
    WRONG,
    NONFINITE,
    UNWRITTEN
};

void gemm_tally_init(struct gemm_tally *tally, const struct gemm *g)
{
    memset(tally, 0, sizeof *tally);
    wf_error_map_init(&tally->map, "D", gemm_all_rows(g), g->n);
}

static void widen_box(struct gemm_tally *t, const int64_t at[3], bool first)
{
    for (int i = 0; i < 3; i++) {
        t->low[i] = first || at[i] < t->low[i] ? at[i] : t->low[i];
        t->high[i] = first || at[i] > t->high[i] ? at[i] : t->high[i];
    }
}

static uint64_t wrong_count(const struct gemm_tally *t)
{
    return t->mismatches + t->nonfinite + t->unwritten;
}

/* The first few wrong elements, and as many drawn evenly from all the others (Vitter's
 * algorithm R): a mistake may look like another one along a single row. */
static void keep_sample(struct gemm_tally *t,
                        uint64_t seen,
                        const struct gemm_sample *s)
{
    const uint64_t half = GEMM_SAMPLE_MAX / 2;
    if (t->sample_count < GEMM_SAMPLE_MAX) {
        t->sample[t->sample_count++] = *s;
        return;
    }
    const uint64_t slot = wf_rng_below(SAMPLE_SEED, 0, seen, seen - half);
    if (slot < half) {
        t->sample[half + slot] = *s;
    }
}

/* Where wrong elements begin, in D's storage and in tiles. */
static void note_place(struct gemm_tally *t,
                       const struct gemm *g,
                       enum verdict v,
                       const struct gemm_sample *s)
{
    const struct gemm_matrix *d = &g->matrix[GEMM_D];
    const int64_t at[3] = { s->batch, s->row, s->col };
    const int64_t position = s->batch * d->stride + s->row * d->ld + s->col;
    const int64_t tile = s->row > s->col ? s->row : s->col;
    wf_error_map_wrong(&t->map, gemm_line_number(g, s->batch, s->row), s->col);
    if (v == UNWRITTEN && (t->unwritten == 0 || position < t->unwritten_position)) {
        t->unwritten_position = position;
        memcpy(t->first_unwritten, at, sizeof at);
    }
    t->first_tile = t->has_first && t->first_tile < tile ? t->first_tile : tile;
    if (!t->has_first || position < t->first_position) {
        t->has_first = true;
        t->first_position = position;
        memcpy(t->first, at, sizeof at);
        t->first_got = s->got;
        t->first_want = s->want;
    }
}

static void count_wrong(struct gemm_tally *t,
                        const struct gemm *g,
                        enum verdict v,
                        const struct gemm_sample *s,
                        double tolerance)
{
    const int64_t at[3] = { s->batch, s->row, s->col };
    const double error = fabs(s->got - s->want);
    double ratio = v == WRONG ? error / tolerance : INFINITY;
    ratio = isnan(ratio) ? INFINITY : ratio;
    note_place(t, g, v, s);
    widen_box(t, at, wrong_count(t) == 0);
    t->mismatches += v == WRONG;
    t->nonfinite += v == NONFINITE;
    t->unwritten += v == UNWRITTEN;
    keep_sample(t, wrong_count(t), s);
    if (!t->has_worst || ratio > t->worst_ratio) {
        t->has_worst = true;
        t->worst_ratio = ratio;
        memcpy(t->worst, at, sizeof at);
        t->worst_got = s->got;
        t->worst_want = s->want;
        t->worst_tolerance = tolerance;
    }
}

static void count_error(struct gemm_tally *t, double error, double want)
{
    const double size = fabs(want);
    if (error > t->max_abs) {
        t->max_abs = error;
    }
    if (size > 0.0 ? error > t->max_rel * size : error > t->max_rel) {
        t->max_rel = size > 0.0 ? error / size : error;
    }
}

/* What the element should hold, and whether it does. `budget` covers all but the last
 * rounding. */
static enum verdict classify(const struct gemm_tolerance *t,
                             double got,
                             double *want,
                             double tolerance,
                             double budget)
{
    const double size = fabs(*want);
    const bool may_overflow = size + budget >= t->overflow;
    const bool must_overflow = size - budget >= t->overflow;
    if (isnan(*want)) {
        return isnan(got) ? RIGHT : WRONG;
    }
    if (isinf(*want)) { /* beyond double, and so beyond every type */
        return got == *want ? RIGHT : isfinite(got) ? WRONG : NONFINITE;
    }
    if (t->saturates && size > t->max) {
        *want = copysign(t->max, *want);
        return isfinite(got) ? (fabs(got - *want) <= tolerance ? RIGHT : WRONG)
                             : NONFINITE;
    }
    if (isinf(got) && may_overflow && !t->saturates && signbit(got) == signbit(*want)) {
        return RIGHT;
    }
    if (must_overflow && !t->saturates) {
        *want = copysign(INFINITY, *want);
        return isfinite(got) ? WRONG : NONFINITE;
    }
    if (!isfinite(got)) {
        return NONFINITE;
    }
    return !(fabs(got - *want) <= tolerance) ? WRONG : RIGHT;
}

static void look_closely(struct gemm_tally *tally,
                         const struct wf_reference *ref,
                         const struct gemm_row *row,
                         int64_t j,
                         double tolerance)
{
    const struct gemm_tolerance *t = &ref->tolerance;
    const enum wf_dtype type = ref->g.matrix[GEMM_D].dtype;
    const double rounding = t->out * fabs(row->ref[j]) + t->floor;
    double want = row->ref[j];
    enum verdict v = classify(t, row->got[j], &want, tolerance, tolerance - rounding);
    if (tally->peers) {
        wf_peer_count(&tally->peer, row->got[j], want);
    }
    if (v == RIGHT) {
        return;
    }
    if (wf_is_poison(type, row->raw + (size_t)j * wf_dtype_bytes(type))) {
        v = UNWRITTEN;
    }
    const struct gemm_sample s = { row->batch, row->row, row->col + j, row->got[j],
                                   want };
    if (v == WRONG && isfinite(want)) {
        count_error(tally, fabs(s.got - want), want);
    }
    count_wrong(tally, &ref->g, v, &s, tolerance);
}

static void compare_floats(struct gemm_tally *tally,
                           const struct wf_reference *ref,
                           const struct gemm_row *row)
{
    const struct gemm_tolerance *t = &ref->tolerance;
    double worst = tally->worst_ratio;
    double loosest = tally->max_tolerance;
    for (int64_t j = 0; j < row->cols; j++) {
        const double want = row->ref[j];
        const double size = fabs(want);
        const double error = fabs(row->got[j] - want);
        const double tolerance = row->limit[j];
        loosest = tolerance > loosest ? tolerance : loosest;
        if (!(error <= tolerance) || !(size < t->max)) {
            look_closely(tally, ref, row, j, tolerance);
            worst = tally->worst_ratio > worst ? tally->worst_ratio : worst;
            continue;
        }
        if (error > worst * tolerance) {
            worst = error / tolerance;
        }
        if (wf_peer_may_object(error, size) && tally->peers) {
            wf_peer_count(&tally->peer, row->got[j], want);
        }
        count_error(tally, error, want);
    }
    tally->worst_ratio = worst;
    tally->max_tolerance = loosest;
}

static int32_t wrap32(double v)
{
    const uint32_t low = (uint32_t)(uint64_t)(int64_t)v;
    int32_t r;
    memcpy(&r, &low, sizeof r);
    return r;
}

/* The reference is an exact integer below 2^63; D is i32, modulo 2^32. */
static void compare_integers(struct gemm_tally *tally,
                             const struct gemm *g,
                             const struct gemm_row *row)
{
    for (int64_t j = 0; j < row->cols; j++) {
        const double want = (double)wrap32(row->ref[j]);
        const double got = row->got[j];
        if (got == want) {
            continue;
        }
        const bool poison =
            wf_is_poison(WF_I32, row->raw + (size_t)j * sizeof(int32_t));
        const struct gemm_sample s = { row->batch, row->row, row->col + j, got, want };
        if (tally->peers) {
            wf_peer_count(&tally->peer, got, want);
        }
        count_error(tally, fabs(got - want), want);
        count_wrong(tally, g, poison ? UNWRITTEN : WRONG, &s, 0.0);
    }
}

void gemm_compare_row(struct gemm_tally *tally,
                      const struct wf_reference *ref,
                      const struct gemm_row *row)
{
    tally->elements += (uint64_t)row->cols;
    wf_error_map_checked(&tally->map, gemm_line_number(&ref->g, row->batch, row->row),
                         row->col, row->cols);
    if (ref->tolerance.exact) {
        compare_integers(tally, &ref->g, row);
    } else {
        compare_floats(tally, ref, row);
    }
}

void gemm_tally_report(const struct gemm_tally *tally, struct wf_check_report *ret)
{
    ret->mismatches = tally->mismatches;
    ret->nonfinite = tally->nonfinite;
    ret->unwritten = tally->unwritten;
    ret->max_abs_error = tally->max_abs;
    ret->max_rel_error = tally->max_rel;
    ret->answer = tally->unwritten > 0    ? WF_ANSWER_UNWRITTEN
                  : tally->nonfinite > 0  ? WF_ANSWER_NONFINITE
                  : tally->mismatches > 0 ? WF_ANSWER_MISMATCH
                                          : WF_ANSWER_PASS;
    if (tally->peers) {
        ret->peers = tally->peer;
        ret->peers.known = true;
        ret->peers.elements = tally->elements;
    }
    ret->has_worst = tally->has_worst;
    if (tally->has_first) {
        uint64_t key = UINT64_MAX;
        struct wf_element e = {
            .tensor = "D", .ndim = 3, .got = tally->first_got, .want = tally->first_want
        };
        memcpy(e.index, tally->first, sizeof tally->first);
        wf_report_first(ret, &key, (uint64_t)tally->first_position, &e);
        ret->map = tally->map;
    }
    if (tally->has_worst) {
        (void)snprintf(ret->worst_tensor, sizeof ret->worst_tensor, "D");
        ret->worst_ndim = 3;
        memcpy(ret->worst_index, tally->worst, sizeof tally->worst);
        ret->worst_got = tally->worst_got;
        ret->worst_want = tally->worst_want;
        ret->worst_tolerance = tally->worst_tolerance;
    }
}
