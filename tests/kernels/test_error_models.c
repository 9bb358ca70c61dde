/* Monte Carlo of honest kernels against both error models: every way of adding that a
 * right kernel may choose, over types and lengths, on random and on exact inputs. No
 * honest kernel may reach its limit, and a limit that is never approached is too loose:
 * the largest error as a part of its tolerance is printed, for docs/correctness.md.
 *
 * WF_MONTE_CARLO=n multiplies the number of outputs (1: what ctest runs). */
#include "attention_fixture.h"
#include "attention_model.h"
#include "gemm_fixture.h"

#include "core/parse.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t effort(void)
{
    int64_t n = 1;
    const char *text = getenv("WF_MONTE_CARLO");
    if (text != NULL) {
        cr_assert_eq(wf_parse_i64(text, "WF_MONTE_CARLO", 1, 1000, &n, NULL), WF_OK);
    }
    return n;
}

/* --- gemm --- */

/* How a kernel adds K products. */
enum order {
    IN_ORDER,  /* one after another */
    BACKWARDS, /* the same, from the end */
    BLOCKS_OF_4,
    BLOCKS_OF_16, /* matrix units: a block exactly, then rounded into the sum */
    TRUNCATED,    /* as BLOCKS_OF_4, but cut towards zero */
    PAIRWISE,
    LANES_64, /* 64 partial sums, then pairwise: a wave's reduction */
    SPLIT_8,  /* eight parts, added in f32 */
    ORDER_COUNT
};

static const char *const ORDER_NAMES[] = { "in order",     "backwards", "blocks of 4",
                                           "blocks of 16", "truncated", "pairwise",
                                           "64 lanes",     "split 8" };

static float truncated(double v)
{
    float f = (float)v;
    return fabs((double)f) > fabs(v) ? nextafterf(f, 0.0F) : f;
}

static float add_blocks(const double *p, int64_t n, int64_t block, bool truncate)
{
    float sum = 0.0F;
    for (int64_t k = 0; k < n; k += block) {
        double part = 0.0;
        for (int64_t i = k; i < n && i < k + block; i++) {
            part += p[i];
        }
        sum = truncate ? truncated((double)sum + part) : (float)((double)sum + part);
    }
    return sum;
}

static float add_pairs(const float *p, int64_t n)
{
    return n == 1 ? p[0] : add_pairs(p, n / 2) + add_pairs(p + n / 2, n - n / 2);
}

static float add_lanes(const double *p, int64_t n)
{
    float lane[64] = { 0.0F };
    for (int64_t k = 0; k < n; k++) {
        lane[k % 64] = (float)((double)lane[k % 64] + p[k]);
    }
    return add_pairs(lane, 64);
}

static float add(enum order o, const double *p, float *scratch, int64_t n)
{
    float sum = 0.0F;
    switch (o) {
    case BACKWARDS:
        for (int64_t k = n; k > 0; k--) {
            sum = (float)((double)sum + p[k - 1]);
        }
        return sum;
    case BLOCKS_OF_4:
        return add_blocks(p, n, 4, false);
    case BLOCKS_OF_16:
        return add_blocks(p, n, 16, false);
    case TRUNCATED:
        return add_blocks(p, n, 4, true);
    case PAIRWISE:
        for (int64_t k = 0; k < n; k++) {
            scratch[k] = (float)p[k];
        }
        return add_pairs(scratch, n);
    case LANES_64:
        return add_lanes(p, n);
    case SPLIT_8:
        for (int64_t s = 0; s < 8; s++) {
            sum += add_blocks(p + s * n / 8, (s + 1) * n / 8 - s * n / 8, 1, false);
        }
        return sum;
    case IN_ORDER:
    case ORDER_COUNT:
    default:
        return add_blocks(p, n, 1, false);
    }
}

static void run_order(struct gemm_fixture *f, enum order o)
{
    const int64_t k = f->g->k;
    double *p = malloc((size_t)k * sizeof *p);
    float *scratch = malloc((size_t)k * sizeof *scratch);
    for (int64_t i = 0; i < f->g->m; i++) {
        for (int64_t j = 0; j < f->g->n; j++) {
            for (int64_t e = 0; e < k; e++) {
                p[e] = gemm_input(f, GEMM_A, i * k + e) *
                       gemm_input(f, GEMM_B, e * f->g->n + j);
            }
            gemm_set_d(f, 0, i, j, (double)add(o, p, scratch, k));
        }
    }
    free(p);
    free(scratch);
}

struct gemm_row_of_table {
    const char *types, *inputs;
};

static void check_orders(const struct gemm_row_of_table *t, int64_t k)
{
    double worst = 0.0;
    const char *where = "";
    const int64_t n = effort();
    for (int64_t seed = 0; seed < n; seed++) {
        char text[240];
        struct gemm_fixture f;
        (void)snprintf(text, sizeof text,
                       "{'op':'gemm','M':8,'N':8,'K':%lld,%s,'inputs':'%s'}",
                       (long long)k, t->types, t->inputs);
        gemm_fixture_make(&f, text, (uint64_t)seed);
        for (int o = 0; o < ORDER_COUNT; o++) {
            const struct gemm_check_setup setup = { .seed_offset = (uint64_t)seed,
                                                    .split = o == SPLIT_8 ? 8 : 1 };
            struct wf_check_report r;
            run_order(&f, (enum order)o);
            gemm_fixture_check(&f, &setup, &r);
            cr_expect_eq(r.answer, WF_ANSWER_PASS, "%s %s K %lld: %g of the limit",
                         text, ORDER_NAMES[o], (long long)k, r.check[0].worst_ratio);
            cr_expect_str_eq(r.diagnosis, "");
            where = r.check[0].worst_ratio > worst ? ORDER_NAMES[o] : where;
            worst = fmax(worst, r.check[0].worst_ratio);
        }
        gemm_fixture_free(&f);
    }
    (void)fprintf(stderr, "model gemm %s %s K %lld: %.3f (%s)\n", t->types, t->inputs,
                  (long long)k, worst, where);
    cr_expect_leq(worst, 0.999); /* rounding D alone may use nearly all of it */
}

Test(error_models, honest_gemms_stay_inside)
{
    static const struct gemm_row_of_table rows[] = {
        { "'a_type':'f16','d_type':'f32'", "normal" },
        { "'a_type':'f16','d_type':'f32'", "uniform" },
        { "'a_type':'bf16','d_type':'bf16'", "normal" },
        { "'a_type':'e4m3fnuz','d_type':'f16'", "normal" },
        { "'a_type':'f32','d_type':'f32'", "normal" },
    };
    static const int64_t lengths[] = { 1, 16, 100, 1024, 16384 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            check_orders(&rows[i], lengths[k]);
        }
    }
}

/* --- attention: the model kernel (f32 sums in blocks, P rounded to Q's type, an fp8
 * cache brought to Q's type) with and without a split over the keys --- */

static void check_attention(const char *json)
{
    double worst = 0.0;
    for (int64_t split = 1; split <= 4; split += 3) {
        struct wf_check_report r;
        struct fx f;
        fx_open(&f, json, NULL);
        model_run(&f, MODEL_HONEST, split);
        fx_check(&f, &r);
        cr_expect_eq(r.answer, WF_ANSWER_PASS, "%s split %lld", json, (long long)split);
        for (size_t i = 0; i < r.check_count; i++) {
            worst = fmax(worst, r.check[i].worst_ratio);
        }
        fx_close(&f);
    }
    (void)fprintf(stderr, "model attention %s: %.3f\n", json, worst);
    cr_expect_leq(worst, 0.999);
}

Test(error_models, honest_attentions_stay_inside)
{
    static const char *const types[] = {
        "\"q_type\":\"f32\"", "\"q_type\":\"f16\"", "\"q_type\":\"bf16\"",
        "\"q_type\":\"e4m3fnuz\"",
        ("\"q_type\":\"bf16\",\"kv_type\":\"e4m3fnuz\","
         "\"k_scale\":0.3,\"v_scale\":0.7")
    };
    static const int lengths[] = { 1, 17, 300, 4096 };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            char json[240];
            (void)snprintf(json, sizeof json,
                           "{\"q_heads\":2,\"head_dim\":64,\"q_len\":2,\"lse\":true,"
                           "\"kv_len\":%d,%s}",
                           lengths[k], types[t]);
            check_attention(json);
        }
    }
}
