/* Honest kernels with scales, bias and activation against their limits: each way of
 * adding, of applying scales and of computing silu that hardware and compilers have.
 * The largest error as a part of its tolerance is printed, for docs/correctness.md;
 * WF_MONTE_CARLO=n repeats it with n seeds. */
#include "gemm_fixture.h"

#include "core/parse.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t effort(void)
{
    int64_t n = 1;
    const char *text = getenv("WF_MONTE_CARLO");
    if (text != NULL) {
        cr_assert_eq(wf_parse_i64(text, "WF_MONTE_CARLO", 1, 1000, &n, NULL), WF_OK);
    }
    return n;
}

/* How a kernel gets from terms to v. */
enum way {
    TERM_BY_TERM, /* operands times scales in f32, one after another */
    BLOCKS_OF_16, /* matrix units: 16 terms exactly, then rounded into the sum */
    TRUNCATED,    /* the same with 4, cut towards zero */
    WAY_COUNT
};

static const char *const WAY_NAMES[] = { "term by term", "blocks of 16", "truncated" };

static float cut(double v)
{
    const float f = (float)v;
    return fabs((double)f) > fabs(v) ? nextafterf(f, 0.0F) : f;
}

static float add(enum way w, float sum, double part)
{
    return w == TRUNCATED ? cut((double)sum + part) : (float)((double)sum + part);
}

static double plain_term(const struct gemm_fixture *f, const int64_t at[2], int64_t k)
{
    return gemm_sum(f, 0, at[0], at[1], k, k + 1) /
           gemm_term_scale(f, 0, at[0], at[1], k);
}

/* Terms [k, end) as the unit adds them. */
static float unit_sum(const struct gemm_fixture *f,
                      enum way w,
                      const int64_t at[2],
                      int64_t k,
                      int64_t end)
{
    const int64_t step = w == BLOCKS_OF_16 ? 16 : 4;
    float sum = 0.0F;
    while (k < end) {
        double part = 0.0;
        for (int64_t i = 0; i < step && k < end; i++, k++) {
            part += plain_term(f, at, k);
        }
        sum = add(w, sum, part);
    }
    return sum;
}

/* A term's scale in f32: SA times SB is rounded. */
static float scale_of(const struct gemm_fixture *f, const int64_t at[2], int64_t k)
{
    return (float)gemm_term_scale(f, 0, at[0], at[1], k);
}

static float scaled_sum(const struct gemm_fixture *f, enum way w, const int64_t at[2])
{
    const int64_t k = f->g->k;
    float sum = 0.0F;
    if (w == TERM_BY_TERM) {
        for (int64_t i = 0; i < k; i++) { /* both operands were rounded: twice u */
            const float term = (float)plain_term(f, at, i) * scale_of(f, at, i);
            sum += term;
        }
        return sum;
    }
    if (f->g->scale != GEMM_SCALE_BLOCK128) {
        return unit_sum(f, w, at, 0, k) * scale_of(f, at, 0);
    }
    for (int64_t i = 0; i < k; i += 128) {
        const float part = unit_sum(f, w, at, i, i + 128 < k ? i + 128 : k);
        sum += part * scale_of(f, at, i); /* product rounded: no fma */
    }
    return sum;
}

static float column(const struct gemm_fixture *f, enum way w, const int64_t at[2])
{
    const float v = (float)f->g->alpha * scaled_sum(f, w, at);
    return f->g->has_bias ? v + (float)gemm_bias_at(f, at[1]) : v;
}

/* v times rcp(1 + exp2(-v log2 e)); exp2 is off by two units in the last place, the
 * reciprocal by one, this way or that, and denormals are flushed. */
static float device_silu(float v, unsigned which)
{
    const float away = which % 2 == 0 ? INFINITY : 0.0F;
    const float a = v * -1.44269504F;
    float e = (float)exp2((double)a);
    e = nextafterf(nextafterf(e, away), away);
    float r = (float)(1.0 / (double)(1.0F + e));
    r = nextafterf(r, which / 2 % 2 == 0 ? INFINITY : 0.0F);
    r = r < 0x1p-126F ? 0.0F : r;
    return v * r;
}

static void run(struct gemm_fixture *f, enum way w)
{
    const struct gemm *g = f->g;
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            float v = column(f, w, (int64_t[]){ i, j });
            if (g->activation != GEMM_ACTIVATION_NONE) {
                v = device_silu(v, (unsigned)(i * g->n + j));
            }
            if (g->activation == GEMM_ACTIVATION_SILU_GATE) {
                v *= column(f, w, (int64_t[]){ i, g->n + j });
            }
            gemm_set_d(f, 0, i, j, (double)v);
        }
    }
}

static void check(const char *what, int64_t k)
{
    double worst = 0.0;
    const char *where = "";
    for (int64_t seed = 0; seed < effort(); seed++) {
        char text[300];
        struct gemm_fixture f;
        (void)snprintf(text, sizeof text, "{'op':'gemm','M':6,'N':10,'K':%lld,%s}",
                       (long long)k, what);
        gemm_fixture_make(&f, text, (uint64_t)seed);
        for (int w = 0; w < WAY_COUNT; w++) {
            const struct gemm_check_setup setup = { .seed_offset = (uint64_t)seed };
            struct wf_check_report r;
            run(&f, (enum way)w);
            gemm_fixture_check(&f, &setup, &r);
            cr_expect_eq(r.answer, WF_ANSWER_PASS, "%s %s: %g of the limit", text,
                         WAY_NAMES[w], r.check[0].worst_ratio);
            cr_expect_str_eq(r.diagnosis, "");
            where = r.check[0].worst_ratio > worst ? WAY_NAMES[w] : where;
            worst = fmax(worst, r.check[0].worst_ratio);
        }
        gemm_fixture_free(&f);
    }
    (void)fprintf(stderr, "model gemm %s K %lld: %.3f (%s)\n", what, (long long)k,
                  worst, where);
    cr_expect_leq(worst, 0.999);
    cr_expect_gt(worst, 0.0);
}

Test(gemm_epilogue_models, honest_kernels_stay_inside)
{
    static const char *const rows[] = {
        "'a_type':'e4m3fnuz','d_type':'f32','scale':'row'",
        "'a_type':'e4m3fnuz','d_type':'f32','scale':'block128'",
        "'a_type':'e4m3fnuz','d_type':'bf16','scale':'block128','bias':'n'",
        "'a_type':'bf16','d_type':'f32','alpha':0.1,'bias':'n','activation':'silu'",
        "'a_type':'bf16','d_type':'f32','alpha':0.1,'activation':'silu_gate'",
        "'a_type':'f32','d_type':'f32','inputs':'powers','activation':'silu'",
        "'a_type':'f16','activation':'silu_gate','bias':'n'",
    };
    static const int64_t lengths[] = { 1, 100, 1000, 4096 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            check(rows[i], lengths[k]);
        }
    }
}

/* Sums of -60 to -130, where exp overflows and quotients are denormal. */
Test(gemm_epilogue_models, silu_of_very_negative_sums)
{
    for (int n = 0; n < 15; n++) {
        char what[160];
        (void)snprintf(what, sizeof what,
                       "'a_type':'f16','d_type':'f32','inputs':'ones','alpha':%d,"
                       "'activation':'silu'",
                       -60 - 5 * n);
        struct gemm_fixture f;
        char text[240];
        struct wf_check_report r;
        (void)snprintf(text, sizeof text, "{'op':'gemm','M':2,'N':4,'K':1,%s}", what);
        gemm_fixture_make(&f, text, 0);
        run(&f, BLOCKS_OF_16);
        gemm_fixture_check(&f, NULL, &r);
        cr_expect_eq(r.answer, WF_ANSWER_PASS, "%s: %g", text, r.worst_got);
        gemm_fixture_free(&f);
    }
}
