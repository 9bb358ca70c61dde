/* Mistakes with bias, scales and activation, for the diagnosis by value. */
#include "kernels/gemm/gemm_mistakes.h"

#include <math.h>

static double without_bias(const struct gemm_evidence *e)
{
    return gemm_combine(e, e->acc) - e->bias;
}

/* --- bias --- */

static double bias_times(const struct gemm_evidence *e, int64_t p)
{
    return e->ref->bias != NULL ? without_bias(e) + (double)p * e->bias : (double)NAN;
}

static double bias_with_alpha(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->ref->bias != NULL ? without_bias(e) + e->ref->g.alpha * e->bias
                                : (double)NAN;
}

/* Of this element's half. */
static double bias_along_rows(const struct gemm_evidence *e, int64_t p)
{
    const int64_t at = e->s.row + (e->col - e->s.col);
    (void)p;
    return e->ref->bias != NULL && e->s.row < e->ref->g.n
               ? without_bias(e) + e->ref->bias[at]
               : (double)NAN;
}

static double bias_first_only(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->ref->bias != NULL ? without_bias(e) + e->ref->bias[0] : (double)NAN;
}

static double bias_of_gate(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->ref->bias != NULL ? without_bias(e) + e->ref->bias[e->s.col]
                                : (double)NAN;
}

static double scale_of_term(const struct gemm_evidence *e, int64_t k)
{
    return gemm_scale_at(e->ref, GEMM_A, e->s.batch, e->s.row, k) *
           gemm_scale_at(e->ref, GEMM_B, e->s.batch, e->col, k);
}

static double bias_scaled(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->ref->bias != NULL && e->ref->g.scale == GEMM_SCALE_ROW
               ? without_bias(e) + e->ref->g.alpha * scale_of_term(e, 0) * e->bias
               : (double)NAN;
}

/* --- scales: what the term of k is multiplied by --- */

static double scaled_by(const struct gemm_evidence *e,
                        double (*scale)(const struct gemm_evidence *, int64_t, int64_t),
                        int64_t p)
{
    struct gemm_view v = gemm_plain_view(e);
    if (e->ref->g.scale == GEMM_SCALE_NONE) {
        return (double)NAN;
    }
    v.scale = scale;
    v.scale_p = p;
    return gemm_combine(e, gemm_dot(e, &v));
}

static double power(double v, int64_t n)
{
    return n == 0 ? 1.0 : n == 1 ? v : v * v;
}

/* p: how often SA is applied, times 4, plus how often SB is. */
static double counted(const struct gemm_evidence *e, int64_t p, int64_t k)
{
    return power(gemm_scale_at(e->ref, GEMM_A, e->s.batch, e->s.row, k), p / 4) *
           power(gemm_scale_at(e->ref, GEMM_B, e->s.batch, e->col, k), p % 4);
}

static double scales_applied(const struct gemm_evidence *e, int64_t p)
{
    return scaled_by(e, counted, p);
}

static double from_block(const struct gemm_evidence *e, int64_t p, int64_t k)
{
    const int64_t last = e->ref->g.k - 1;
    const int64_t at = p == 0 ? 0 : k + p * GEMM_SCALE_BLOCK;
    return scale_of_term(e, at < 0 ? 0 : at > last ? last : at);
}

static double scale_of_k_block(const struct gemm_evidence *e, int64_t p)
{
    return e->ref->g.scale == GEMM_SCALE_BLOCK128 ? scaled_by(e, from_block, p)
                                                  : (double)NAN;
}

static const float *scales(const struct gemm_evidence *e, enum gemm_tensor which)
{
    return e->ref->input[which];
}

/* [K blocks][lines] instead of [lines][K blocks]; NaN is never reached, as both have
 * the same number of places. */
static double turned(const struct gemm_evidence *e, int64_t which, int64_t k)
{
    const struct gemm *g = e->ref->problem;
    const int64_t depth = gemm_k_blocks(g);
    const bool a = which == GEMM_SA;
    const int64_t lines = a ? g->m : gemm_col_blocks(g) * (gemm_is_gated(g) ? 2 : 1);
    const int64_t first = a && g->begin != NULL ? 0 : e->s.batch * lines * depth;
    const int64_t at = a ? gemm_sa_at(g, e->s.batch, e->s.row, k)
                         : gemm_sb_at(g, e->s.batch, e->col, k);
    const int64_t line = (at - first) / depth;
    const int64_t wrong = first + k / GEMM_SCALE_BLOCK * lines + line;
    const double right_other =
        a ? gemm_scale_at(e->ref, GEMM_B, e->s.batch, e->col, k)
          : gemm_scale_at(e->ref, GEMM_A, e->s.batch, e->s.row, k);
    return right_other * (double)scales(e, (enum gemm_tensor)which)[wrong];
}

static double scale_turned(const struct gemm_evidence *e, int64_t which)
{
    return e->ref->g.scale == GEMM_SCALE_BLOCK128 ? scaled_by(e, turned, which)
                                                  : (double)NAN;
}

/* SA of row 0, or SB of column 0, for all. */
static double from_first(const struct gemm_evidence *e, int64_t which, int64_t k)
{
    const int64_t row = which == GEMM_SA ? 0 : e->s.row;
    const int64_t col = which == GEMM_SB ? 0 : e->col;
    return gemm_scale_at(e->ref, GEMM_A, e->s.batch, row, k) *
           gemm_scale_at(e->ref, GEMM_B, e->s.batch, col, k);
}

static double scale_first_only(const struct gemm_evidence *e, int64_t which)
{
    return scaled_by(e, from_first, which);
}

/* The next block of 128 columns, where there is one. */
static double from_column_block(const struct gemm_evidence *e, int64_t p, int64_t k)
{
    const int64_t start = e->col - e->s.col;
    const int64_t col = e->s.col + p * GEMM_SCALE_BLOCK;
    const int64_t last = e->ref->g.n - 1;
    return gemm_scale_at(e->ref, GEMM_A, e->s.batch, e->s.row, k) *
           gemm_scale_at(e->ref, GEMM_B, e->s.batch,
                         start + (col < 0      ? 0
                                  : col > last ? last
                                               : col),
                         k);
}

static double scale_of_column_block(const struct gemm_evidence *e, int64_t p)
{
    return e->ref->g.scale == GEMM_SCALE_BLOCK128 ? scaled_by(e, from_column_block, p)
                                                  : (double)NAN;
}

static double exchanged(const struct gemm_evidence *e, int64_t p, int64_t k)
{
    const struct gemm *g = &e->ref->g;
    (void)p;
    if (e->s.col >= g->m || e->s.row >= gemm_b_cols(g)) {
        return (double)NAN;
    }
    return gemm_scale_at(e->ref, GEMM_A, e->s.batch, e->s.col, k) *
           gemm_scale_at(e->ref, GEMM_B, e->s.batch, e->s.row, k);
}

static double scales_exchanged(const struct gemm_evidence *e, int64_t p)
{
    return scaled_by(e, exchanged, p);
}

static double of_gate(const struct gemm_evidence *e, int64_t p, int64_t k)
{
    (void)p;
    return gemm_scale_at(e->ref, GEMM_A, e->s.batch, e->s.row, k) *
           gemm_scale_at(e->ref, GEMM_B, e->s.batch, e->s.col, k);
}

static double scale_of_gate(const struct gemm_evidence *e, int64_t p)
{
    return gemm_is_gated(&e->ref->g) ? scaled_by(e, of_gate, p) : (double)NAN;
}

/* Blocks of columns counted through from the gate: column / 128 of all 2 N. */
static double through(const struct gemm_evidence *e, int64_t p, int64_t k)
{
    const struct gemm *g = e->ref->problem;
    const int64_t depth = gemm_k_blocks(g);
    const int64_t line =
        e->s.batch * 2 * gemm_col_blocks(g) + e->col / GEMM_SCALE_BLOCK;
    (void)p;
    return gemm_scale_at(e->ref, GEMM_A, e->s.batch, e->s.row, k) *
           (double)scales(e, GEMM_SB)[line * depth + k / GEMM_SCALE_BLOCK];
}

static double scale_counted_through(const struct gemm_evidence *e, int64_t p)
{
    const struct gemm *g = &e->ref->g;
    return gemm_is_gated(g) && g->scale == GEMM_SCALE_BLOCK128 &&
                   g->n % GEMM_SCALE_BLOCK != 0
               ? scaled_by(e, through, p)
               : (double)NAN;
}

/* --- activation: what D holds --- */

static bool active(const struct gemm_evidence *e)
{
    return e->ref->g.activation != GEMM_ACTIVATION_NONE;
}

static double sum_of(const struct gemm_evidence *e)
{
    return gemm_combine(e, e->acc);
}

static double times_up(const struct gemm_evidence *e, double gate)
{
    return e->up != NULL ? gate * sum_of(e->up) : gate;
}

static double left_out(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return active(e) ? times_up(e, sum_of(e)) : (double)NAN;
}

static double halves_exchanged(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->up != NULL ? gemm_silu(sum_of(e->up)) * sum_of(e) : (double)NAN;
}

static double both_activated(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->up != NULL ? gemm_silu(sum_of(e)) * gemm_silu(sum_of(e->up))
                         : (double)NAN;
}

static double gate_only(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->up != NULL ? gemm_silu(sum_of(e)) : (double)NAN;
}

static double up_only(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return e->up != NULL ? sum_of(e->up) : (double)NAN;
}

static double twice(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return active(e) ? times_up(e, gemm_silu(gemm_silu(sum_of(e)))) : (double)NAN;
}

static double sigmoid_only(const struct gemm_evidence *e, int64_t p)
{
    (void)p;
    return active(e) ? times_up(e, 1.0 / (1.0 + exp(-sum_of(e)))) : (double)NAN;
}

static double base_2(const struct gemm_evidence *e, int64_t p)
{
    const double v = sum_of(e);
    (void)p;
    return active(e) ? times_up(e, v / (1.0 + exp2(-v))) : (double)NAN;
}

/* x Phi(x) */
static double gelu(const struct gemm_evidence *e, int64_t p)
{
    const double v = sum_of(e);
    (void)p;
    return active(e) ? times_up(e, 0.5 * v * (1.0 + erf(v * 0.70710678118654752)))
                     : (double)NAN;
}

static double bias_behind(const struct gemm_evidence *e, int64_t p)
{
    const double gate = gemm_silu(without_bias(e)) + e->bias;
    (void)p;
    return active(e) && e->ref->bias != NULL ? times_up(e, gate) : (double)NAN;
}

static double c_behind(const struct gemm_evidence *e, int64_t p)
{
    const struct gemm *g = &e->ref->g;
    (void)p;
    return active(e) && gemm_reads_c(g)
               ? gemm_silu(sum_of(e) - g->beta * e->c) + g->beta * e->c
               : (double)NAN;
}

static double scales_behind(const struct gemm_evidence *e, int64_t p)
{
    const double scale = scale_of_term(e, 0);
    (void)p;
    if (!active(e) || e->ref->g.scale != GEMM_SCALE_ROW) {
        return (double)NAN;
    }
    return times_up(e, scale * gemm_silu(sum_of(e) / scale));
}

/* Gate and up columns taken as if they lay side by side: 2 j and 2 j + 1. */
static double interleaved(const struct gemm_evidence *e, int64_t p)
{
    double v[2];
    (void)p;
    if (e->up == NULL) {
        return (double)NAN;
    }
    for (int half = 0; half < 2; half++) {
        struct gemm_view view = gemm_plain_view(e);
        view.col = 2 * e->s.col + half;
        v[half] = e->ref->g.alpha * gemm_dot(e, &view) +
                  (e->ref->bias != NULL ? e->ref->bias[view.col] : 0.0);
    }
    return gemm_silu(v[0]) * v[1];
}

static double sums_rounded(const struct gemm_evidence *e, int64_t type)
{
    const enum wf_dtype t = (enum wf_dtype)type;
    const double v = gemm_rounded(t, sum_of(e));
    if (!active(e)) {
        return (double)NAN;
    }
    return e->up != NULL ? gemm_silu(v) * gemm_rounded(t, sum_of(e->up)) : gemm_silu(v);
}

/* X(function, parameter, stage, text), in the order in which they are tried. */
/* clang-format off */
#define MISTAKE_LIST(X) \
    X(bias_times, 0, SUM, "the bias is missing") \
    X(bias_times, 2, SUM, "the bias was added twice") \
    X(bias_along_rows, 0, SUM, "the bias was added along rows: element i to row i instead of column i") \
    X(bias_first_only, 0, SUM, "the first element of the bias was added to every column") \
    X(bias_of_gate, 0, SUM, "the gate's bias was added to the up half") \
    X(bias_with_alpha, 0, SUM, "alpha was applied to the bias as well") \
    X(bias_scaled, 0, SUM, "the bias was multiplied by the scales") \
    X(scales_applied, 0, SUM, "scales were not applied") \
    X(scales_applied, 1, SUM, "SA was not applied") \
    X(scales_applied, 4, SUM, "SB was not applied") \
    X(scales_applied, 10, SUM, "scales were applied twice") \
    X(scales_applied, 9, SUM, "SA was applied twice") \
    X(scales_applied, 6, SUM, "SB was applied twice") \
    X(scale_of_k_block, 0, SUM, "the scales of the first 128 of K were used for all of K") \
    X(scale_of_k_block, 1, SUM, "scales were taken from the next block of K") \
    X(scale_of_k_block, -1, SUM, "scales were taken from the block of K before") \
    X(scale_turned, GEMM_SA, SUM, "SA was read transposed: [K blocks][M]") \
    X(scale_turned, GEMM_SB, SUM, "SB was read transposed: [K blocks][column blocks]") \
    X(scale_of_column_block, 1, SUM, "SB was taken from the next block of columns") \
    X(scale_of_column_block, -1, SUM, "SB was taken from the block of columns before") \
    X(scale_first_only, GEMM_SA, SUM, "the first row's SA was used for every row") \
    X(scale_first_only, GEMM_SB, SUM, "the first column's SB was used for every column") \
    X(scales_exchanged, 0, SUM, "SA was taken by column and SB by row") \
    X(scale_of_gate, 0, SUM, "the gate's scales were used for the up half") \
    X(scale_counted_through, 0, SUM, "SB's blocks were counted through gate and up half; each half begins its own") \
    X(left_out, 0, RESULT, "silu was left out") \
    X(halves_exchanged, 0, RESULT, "gate and up half are exchanged: silu was applied to the up half") \
    X(interleaved, 0, RESULT, "gate and up columns were taken as interleaved: 2 j and 2 j + 1") \
    X(both_activated, 0, RESULT, "silu was applied to the up half as well") \
    X(gate_only, 0, RESULT, "the product with the up half is missing") \
    X(up_only, 0, RESULT, "the gate is missing: D is the up half") \
    X(twice, 0, RESULT, "silu was applied twice") \
    X(sigmoid_only, 0, RESULT, "the sigmoid was stored; silu is v times it") \
    X(base_2, 0, RESULT, "silu was computed with 2^-v instead of exp(-v)") \
    X(gelu, 0, RESULT, "gelu was computed instead of silu") \
    X(bias_behind, 0, RESULT, "the bias was added behind the activation") \
    X(c_behind, 0, RESULT, "beta * C was added behind the activation") \
    X(scales_behind, 0, RESULT, "scales were applied behind the activation") \
    X(sums_rounded, WF_F16, RESULT, "sums were rounded to f16 before the activation") \
    X(sums_rounded, WF_BF16, RESULT, "sums were rounded to bf16 before the activation")
/* clang-format on */

const struct gemm_mistake gemm_epilogue_mistakes[] = {
#define X(function, p, stage, text) \
    { function, p, GEMM_MISTAKE_OTHER, GEMM_STAGE_##stage, text },
    MISTAKE_LIST(X)
#undef X
};
const size_t gemm_epilogue_mistake_count =
    sizeof gemm_epilogue_mistakes / sizeof *gemm_epilogue_mistakes;
