/* Each mistake with bias, scales and activation is planted and must be named, by a full
 * check and by one beyond the budget. */
#include "gemm_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* K and N leave rests, M differs from N: nothing is its own transpose. */
#define BASE "{'op':'gemm','M':21,'N':140,'K':270,'trans_b':'T'"
#define FP8  BASE ",'a_type':'e4m3fnuz','d_type':'bf16'"
#define BIAS BASE ",'bias':'n','alpha':0.5"
/* Sums of a size where silu bends. */
#define SILU BASE ",'alpha':0.1,'activation':'silu'"
#define GATE BASE ",'alpha':0.1,'activation':'silu_gate'"

/* What a kernel makes of a column of op(B) before the activation, and of both halves.
 */
typedef double (*column_fn)(const struct gemm_fixture *f, const int64_t at[3]);
typedef double (*result_fn)(const struct gemm_fixture *f, double gate, double up);

static double silu(double v)
{
    return v / (1 + exp(-v));
}

static double right_column(const struct gemm_fixture *f, const int64_t at[3])
{
    return f->g->alpha * gemm_sum(f, at[0], at[1], at[2], 0, f->g->k) +
           gemm_bias_at(f, at[2]);
}

static double right_result(const struct gemm_fixture *f, double gate, double up)
{
    switch (f->g->activation) {
    case GEMM_ACTIVATION_SILU:
        return silu(gate);
    case GEMM_ACTIVATION_SILU_GATE:
        return silu(gate) * up;
    case GEMM_ACTIVATION_NONE:
    default:
        return gate;
    }
}

static void expect(const char *text,
                   column_fn column,
                   result_fn result,
                   const char *words)
{
    const struct gemm_check_setup setups[] = { { 0 }, { .budget_macs = 1 } };
    struct gemm_fixture f;
    gemm_fixture_make(&f, text, 0);
    const bool gated = f.g->activation == GEMM_ACTIVATION_SILU_GATE;
    for (int64_t e = 0; e < f.g->batch * f.g->m * f.g->n; e++) {
        const int64_t b = e / f.g->n / f.g->m;
        const int64_t i = e / f.g->n % f.g->m;
        const int64_t j = e % f.g->n;
        const double gate = column(&f, (int64_t[]){ b, i, j });
        const double up = gated ? column(&f, (int64_t[]){ b, i, f.g->n + j }) : 0;
        gemm_set_d(&f, b, i, j, result(&f, gate, up));
    }
    for (size_t s = 0; s < 2; s++) {
        struct wf_check_report r;
        gemm_fixture_check(&f, &setups[s], &r);
        if (words == NULL) {
            cr_expect_eq(r.answer, WF_ANSWER_PASS, "%s", text);
            continue;
        }
        cr_expect_eq(r.answer, WF_ANSWER_MISMATCH, "%s: %s", text, words);
        cr_expect_not_null(strstr(r.diagnosis, words), "%s: \"%s\" is not in \"%s\"",
                           text, words, r.diagnosis);
    }
    gemm_fixture_free(&f);
}

Test(gemm_epilogue_diagnose, what_plants_mistakes_is_right_without_one)
{
    static const char *const texts[] = { BIAS "}", SILU ",'bias':'n'}",
                                         GATE ",'bias':'n'}", FP8 ",'scale':'row'}",
                                         FP8 ",'scale':'block128'}" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        expect(texts[i], right_column, right_result, NULL);
    }
}

/* --- bias --- */

static double product(const struct gemm_fixture *f, const int64_t at[3])
{
    return right_column(f, at) - gemm_bias_at(f, at[2]);
}

static double bias_twice(const struct gemm_fixture *f, const int64_t at[3])
{
    return right_column(f, at) + gemm_bias_at(f, at[2]);
}

static double bias_by_row(const struct gemm_fixture *f, const int64_t at[3])
{
    return product(f, at) + gemm_bias_at(f, at[1] + (at[2] >= f->g->n ? f->g->n : 0));
}

static double bias_scalar(const struct gemm_fixture *f, const int64_t at[3])
{
    return product(f, at) + gemm_bias_at(f, 0);
}

static double bias_alpha(const struct gemm_fixture *f, const int64_t at[3])
{
    return product(f, at) + f->g->alpha * gemm_bias_at(f, at[2]);
}

static double bias_gate(const struct gemm_fixture *f, const int64_t at[3])
{
    return product(f, at) + gemm_bias_at(f, at[2] % f->g->n);
}

static double bias_scaled(const struct gemm_fixture *f, const int64_t at[3])
{
    return product(f, at) +
           gemm_term_scale(f, at[0], at[1], at[2], 0) * gemm_bias_at(f, at[2]);
}

Test(gemm_epilogue_diagnose, bias)
{
    expect(BIAS "}", product, right_result, "the bias is missing");
    expect(GATE ",'bias':'n'}", product, right_result, "the bias is missing");
    expect(BIAS "}", bias_twice, right_result, "the bias was added twice");
    expect(BIAS "}", bias_by_row, right_result, "the bias was added along rows");
    expect(GATE ",'bias':'n'}", bias_by_row, right_result, "along rows");
    expect(BIAS "}", bias_scalar, right_result, "the first element of the bias");
    expect(BIAS "}", bias_alpha, right_result, "alpha was applied to the bias");
    expect(GATE ",'bias':'n'}", bias_gate, right_result, "the gate's bias was added");
    expect(FP8 ",'scale':'row','bias':'n'}", bias_scaled, right_result,
           "the bias was multiplied by the scales");
}

/* --- scales: the sum with each term times something else --- */

enum scale_fault {
    NO_SCALES,
    NO_SA,
    NO_SB,
    TWICE,
    SA_TWICE,
    SB_TWICE,
    BLOCK_0,
    NEXT_BLOCK,
    BLOCK_BEFORE,
    SA_TURNED,
    SB_TURNED,
    NEXT_COLUMNS,
    FIRST_ROW,
    FIRST_COLUMN,
    EXCHANGED,
    OF_GATE,
    THROUGH
};

static enum scale_fault fault;

/* SA or SB alone, by place; the definition is in the fixture. */
static double sa(const struct gemm_fixture *f, const int64_t at[3], int64_t k)
{
    const int64_t depth = (f->g->k + 127) / 128;
    const int64_t row = at[0] * f->g->m + at[1];
    return gemm_input(f, GEMM_SA,
                      f->g->scale == GEMM_SCALE_ROW ? row : row * depth + k / 128);
}

static double sb(const struct gemm_fixture *f, const int64_t at[3], int64_t k)
{
    return gemm_term_scale(f, at[0], at[1], at[2], k) / sa(f, at, k);
}

static double clamped_scale(const struct gemm_fixture *f,
                            const int64_t at[3],
                            int64_t k)
{
    const int64_t last = f->g->k - 1;
    return gemm_term_scale(f, at[0], at[1], at[2], k < 0 ? 0 : k > last ? last : k);
}

static double wrong_scale(const struct gemm_fixture *f, const int64_t at[3], int64_t k)
{
    const struct gemm *g = f->g;
    const double a = sa(f, at, k), b = sb(f, at, k);
    const int64_t depth = (g->k + 127) / 128;
    const int64_t lines = (g->n + 127) / 128;
    const int64_t first[3] = { at[0], 0, 0 };
    const int64_t turned[3] = { at[0], at[2], at[1] };
    const int64_t next = at[2] + 128 < g->n ? at[2] + 128 : g->n - 1;
    switch (fault) {
    case NO_SCALES:
        return 1;
    case NO_SA:
        return b;
    case NO_SB:
        return a;
    case TWICE:
        return a * a * b * b;
    case SA_TWICE:
        return a * a * b;
    case SB_TWICE:
        return a * b * b;
    case BLOCK_0:
        return clamped_scale(f, at, 0);
    case NEXT_BLOCK:
        return clamped_scale(f, at, k + 128);
    case BLOCK_BEFORE:
        return clamped_scale(f, at, k - 128);
    case SA_TURNED:
        return b * gemm_input(f, GEMM_SA, k / 128 * g->m + at[1]);
    case SB_TURNED:
        return a * gemm_input(f, GEMM_SB, k / 128 * lines + at[2] / 128);
    case NEXT_COLUMNS:
        return a * sb(f, (int64_t[]){ at[0], at[1], next }, k);
    case FIRST_ROW:
        return b * sa(f, first, k);
    case FIRST_COLUMN:
        return a * sb(f, first, k);
    case EXCHANGED:
        return sa(f, turned, k) * sb(f, turned, k);
    case OF_GATE:
        return a * sb(f, (int64_t[]){ at[0], at[1], at[2] % g->n }, k);
    case THROUGH:
    default:
        return a * gemm_input(f, GEMM_SB, at[2] / 128 * depth + k / 128);
    }
}

static double scaled_wrongly(const struct gemm_fixture *f, const int64_t at[3])
{
    const struct gemm *g = f->g;
    double sum = 0;
    for (int64_t k = 0; k < g->k; k++) {
        sum += gemm_sum(f, at[0], at[1], at[2], k, k + 1) /
               gemm_term_scale(f, at[0], at[1], at[2], k) * wrong_scale(f, at, k);
    }
    return g->alpha * sum + gemm_bias_at(f, at[2]);
}

struct scale_row {
    const char *text;
    enum scale_fault fault;
    const char *words;
};

static void expect_scales(const struct scale_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fault = rows[i].fault;
        expect(rows[i].text, scaled_wrongly, right_result, rows[i].words);
    }
}

Test(gemm_epilogue_diagnose, scales_of_rows_and_columns)
{
    static const char square[] = "{'op':'gemm','M':30,'N':30,'K':40,'a_type':'e5m2',"
                                 "'d_type':'f32','scale':'row'}";
    static const struct scale_row rows[] = {
        { FP8 ",'scale':'row'}", NO_SCALES, "scales were not applied" },
        { FP8 ",'scale':'row'}", NO_SA, "SA was not applied" },
        { FP8 ",'scale':'row','bias':'n'}", NO_SB, "SB was not applied" },
        { FP8 ",'scale':'row'}", TWICE, "scales were applied twice" },
        { FP8 ",'scale':'row'}", SA_TWICE, "SA was applied twice" },
        { FP8 ",'scale':'row'}", SB_TWICE, "SB was applied twice" },
        { FP8 ",'scale':'row'}", FIRST_ROW, "the first row's SA" },
        { FP8 ",'scale':'row'}", FIRST_COLUMN, "the first column's SB" },
        { square, EXCHANGED, "SA was taken by column and SB by row" },
        { FP8 ",'scale':'row','alpha':0.05,'activation':'silu_gate'}", OF_GATE,
          "the gate's scales were used for the up half" },
    };
    expect_scales(rows, sizeof rows / sizeof *rows);
}

Test(gemm_epilogue_diagnose, scales_of_blocks)
{
    static const char blocks[] = FP8 ",'scale':'block128'}";
    static const char gated[] =
        FP8 ",'scale':'block128','alpha':0.05,'activation':'silu_gate'}";
    static const struct scale_row rows[] = {
        { blocks, NO_SCALES, "scales were not applied" },
        { blocks, TWICE, "scales were applied twice" },
        { blocks, BLOCK_0, "the first 128 of K were used for all of K" },
        { blocks, NEXT_BLOCK, "from the next block of K" },
        { blocks, BLOCK_BEFORE, "from the block of K before" },
        { blocks, SA_TURNED, "SA was read transposed" },
        { blocks, SB_TURNED, "SB was read transposed" },
        { blocks, NEXT_COLUMNS, "from the next block of columns" },
        { gated, THROUGH, "counted through gate and up half" },
        { gated, NO_SB, "SB was not applied" },
    };
    expect_scales(rows, sizeof rows / sizeof *rows);
}

/* --- activation --- */

static double left_out(const struct gemm_fixture *f, double gate, double up)
{
    return f->g->activation == GEMM_ACTIVATION_SILU ? gate : gate * up;
}

static double exchanged(const struct gemm_fixture *f, double gate, double up)
{
    return right_result(f, up, gate);
}

static double both(const struct gemm_fixture *f, double gate, double up)
{
    (void)f;
    return silu(gate) * silu(up);
}

static double gate_only(const struct gemm_fixture *f, double gate, double up)
{
    (void)f;
    (void)up;
    return silu(gate);
}

static double up_only(const struct gemm_fixture *f, double gate, double up)
{
    (void)f;
    (void)gate;
    return up;
}

static double twice(const struct gemm_fixture *f, double gate, double up)
{
    return right_result(f, silu(gate), up);
}

static double times(const struct gemm_fixture *f, double y, double up)
{
    return f->g->activation == GEMM_ACTIVATION_SILU_GATE ? y * up : y;
}

static double sigmoid(const struct gemm_fixture *f, double gate, double up)
{
    return times(f, 1 / (1 + exp(-gate)), up);
}

static double base_2(const struct gemm_fixture *f, double gate, double up)
{
    return times(f, gate / (1 + exp2(-gate)), up);
}

static double gelu(const struct gemm_fixture *f, double gate, double up)
{
    return times(f, gate * 0.5 * erfc(-gate * sqrt(0.5)), up);
}

static double in_bf16(double v)
{
    unsigned char raw[2];
    double r;
    wf_from_f64(WF_BF16, &v, raw, 1);
    wf_to_f64(WF_BF16, raw, &r, 1);
    return r;
}

static double rounded_first(const struct gemm_fixture *f, double gate, double up)
{
    return right_result(f, in_bf16(gate), in_bf16(up));
}

Test(gemm_epilogue_diagnose, activation)
{
    expect(SILU "}", right_column, left_out, "silu was left out");
    expect(GATE "}", right_column, left_out, "silu was left out");
    expect(GATE "}", right_column, exchanged, "gate and up half are exchanged");
    expect(GATE "}", right_column, both, "silu was applied to the up half as well");
    expect(GATE "}", right_column, gate_only,
           "the product with the up half is missing");
    expect(GATE "}", right_column, up_only, "the gate is missing");
    expect(SILU "}", right_column, twice, "silu was applied twice");
    expect(GATE "}", right_column, sigmoid, "the sigmoid was stored");
    expect(SILU "}", right_column, base_2, "2^-v instead of exp(-v)");
    expect(GATE "}", right_column, gelu, "gelu was computed");
    expect(GATE ",'d_type':'f32'}", right_column, rounded_first,
           "sums were rounded to bf16 before the activation");
}

/* Columns 2 j and 2 j + 1 instead of j and N + j. */
static double interleaved(const struct gemm_fixture *f, const int64_t at[3])
{
    const int64_t n = f->g->n;
    const int64_t col = at[2] < n ? 2 * at[2] : 2 * (at[2] - n) + 1;
    return right_column(f, (int64_t[]){ at[0], at[1], col });
}

/* The bias of one column is the same for all rows here, so that a result can know it.
 */
static double bias_of_ones(const struct gemm_fixture *f, double gate, double up)
{
    return times(f, silu(gate) + gemm_bias_at(f, 0), up + gemm_bias_at(f, 0));
}

Test(gemm_epilogue_diagnose, order_of_the_epilogue)
{
    expect(GATE ",'bias':'n'}", interleaved, right_result, "taken as interleaved");
    expect("{'op':'gemm','M':21,'N':140,'K':64,'a_type':'f16','inputs':'ones',"
           "'alpha':0.01,'bias':'n','activation':'silu','d_type':'f32'}",
           product, bias_of_ones, "the bias was added behind the activation");
    expect(GATE ",'batch':2}", interleaved, right_result, "taken as interleaved");
}

/* What was there before is named inside an activation too. */
static double tail_missing(const struct gemm_fixture *f, const int64_t at[3])
{
    return f->g->alpha * gemm_sum(f, at[0], at[1], at[2], 0, f->g->k / 64 * 64) +
           gemm_bias_at(f, at[2]);
}

static double no_alpha(const struct gemm_fixture *f, const int64_t at[3])
{
    return right_column(f, at) / f->g->alpha;
}

static double product_doubled(const struct gemm_fixture *f, const int64_t at[3])
{
    return right_column(f, at) + product(f, at);
}

Test(gemm_epilogue_diagnose, mistakes_in_the_sums_show_through_an_activation)
{
    expect(GATE "}", tail_missing, right_result, "of K");
    expect(SILU "}", no_alpha, right_result, "alpha was not applied");
    expect(FP8 ",'scale':'row','bias':'n'}", product_doubled, right_result,
           "the product is 2 times the right one: fp8 codes of fnuz and OCP");
    expect(FP8 ",'scale':'block128','activation':'silu','alpha':0.1}", product_doubled,
           right_result, "the product is 2 times the right one: fp8 codes");
    expect(FP8 ",'scale':'block128'}", tail_missing, right_result, "of K");
}
