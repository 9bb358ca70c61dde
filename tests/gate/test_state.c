/* What blocks add up to: every figure against a second implementation in long double
 * that knows nothing of the first. */
#include "gate_feed.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST = 64
};

/* The formulas of docs/gate.md, as they stand there. */
struct plain {
    struct wf_gate_margins m;
    long double w_slower, w_faster, w_pass; /* logs */
    long double v[2][2];                    /* values */
    long double ss, nu;
    double difference[MOST];
    int32_t round[MOST];
    int n, rounds;
};

static long double plain_s(const struct plain *p)
{
    long double s = sqrtl(p->ss / p->nu);

    return s > 1e-6L ? s : 1e-6L;
}

static long double blended(const double y[4],
                           unsigned mask,
                           long double d,
                           long double eta,
                           int sign)
{
    static const unsigned masks[] = { 3, 5, 6, 9, 10, 12 };
    long double own = 0;
    long double sum = 0;

    for (int k = 0; k < 6; k++) {
        long double t = 0;
        for (int i = 0; i < 4; i++) {
            if ((masks[k] >> i & 1U) != 0) {
                t += sign * ((long double)y[i] - ((mask >> i & 1U) != 0 ? d : 0));
            }
        }
        sum += expl(eta * t);
        own = masks[k] == mask ? expl(eta * t) : own;
    }
    return logl(0.1L + 0.9L * own / (sum / 6));
}

static void plain_add(struct plain *p, const struct wf_gate_block *b)
{
    static const long double bets[2] = { 0.95L, 0.6L };
    long double s = plain_s(p);
    long double width = (long double)p->m.d1 - (long double)p->m.d0;
    long double eta = fminl(width / (s * s), 6 / width);
    long double mean[2] = { 0, 0 };
    long double rest = 0;
    bool first = p->n == 0 || p->round[p->n - 1] != b->round;

    for (int i = 0; i < 4; i++) {
        mean[b->mask >> i & 1] += (long double)b->y[i] / 2;
    }
    for (int i = 0; i < 4; i++) {
        rest += powl((long double)b->y[i] - mean[b->mask >> i & 1], 2);
    }
    p->w_slower += blended(b->y, b->mask, p->m.d0, eta, 1);
    p->w_faster += blended(b->y, b->mask, -(long double)p->m.d0, eta, -1);
    p->w_pass += blended(b->y, b->mask, p->m.d1, eta, -1);
    for (int dir = 0; dir < 2 && first; dir++) {
        long double x = dir == 0 ? mean[1] - mean[0] : mean[0] - mean[1];
        long double u = fmaxl(-1, fminl(1, (x - (long double)p->m.d0) / s));
        p->v[dir][0] *= 1 + bets[0] * u;
        p->v[dir][1] *= 1 + bets[1] * u;
    }
    p->ss += fminl(rest, 18 * s * s);
    p->nu += 2;
    p->rounds += first;
    p->round[p->n] = b->round;
    p->difference[p->n++] = (double)(mean[1] - mean[0]);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double plain_median(const struct plain *p)
{
    double x[MOST];

    memcpy(x, p->difference, sizeof x);
    qsort(x, (size_t)p->n, sizeof x[0], ascending);
    return (x[(p->n - 1) / 2] + x[p->n / 2]) / 2;
}

/* Variance of the rounds' means less what slot noise explains. */
static double plain_spread(const struct plain *p)
{
    long double mean[MOST] = { 0 };
    int count[MOST] = { 0 };
    long double grand = 0;
    long double square = 0;
    long double share = 0;
    int k = -1;

    for (int i = 0; i < p->n; i++) {
        k += i == 0 || p->round[i] != p->round[i - 1];
        mean[k] += (long double)p->difference[i];
        count[k]++;
    }
    for (int i = 0; i <= k; i++) {
        mean[i] /= count[i];
        grand += mean[i] / (k + 1);
        share += 1.0L / count[i] / (k + 1);
    }
    for (int i = 0; i <= k; i++) {
        square += (mean[i] - grand) * (mean[i] - grand) / k;
    }
    return k + 1 < 6 ? NAN
                     : (double)sqrtl(fmaxl(0, square - powl(plain_s(p), 2) * share));
}

static void expect_equal(const struct wf_gate *g, const struct plain *p)
{
    struct wf_gate_figures f;

    wf_gate_figures(g, 0, &f);
    cr_assert_eq(f.blocks, p->n);
    cr_assert_eq(f.rounds, p->rounds);
    cr_assert_float_eq(f.log_w_slower, (double)p->w_slower, 1e-7);
    cr_assert_float_eq(f.log_w_faster, (double)p->w_faster, 1e-7);
    cr_assert_float_eq(f.log_w_pass, (double)p->w_pass, 1e-7);
    cr_assert_float_eq(f.log_sign_slower, (double)logl((p->v[0][0] + p->v[0][1]) / 2),
                       1e-7);
    cr_assert_float_eq(f.log_sign_faster, (double)logl((p->v[1][0] + p->v[1][1]) / 2),
                       1e-7);
    cr_assert_float_eq(f.slot_noise / (double)plain_s(p), 1, 1e-9);
    cr_assert_float_eq(f.effect, plain_median(p), 1e-12);
    if (isnan(plain_spread(p))) {
        cr_assert(isnan(f.spread));
    } else {
        cr_assert_float_eq(f.spread, plain_spread(p), 1e-9);
    }
}

static void play(uint64_t stream,
                 const struct wf_gate_margins *m,
                 int a_round,
                 double noise,
                 double effect)
{
    struct wf_rng r = { 11, stream, 0 };
    struct wf_gate *g = feed_gate(NULL);
    struct plain p = { .m = *m, .v = { { 1, 1 }, { 1, 1 } }, .nu = 6 };
    struct wf_error err;

    p.ss = 6 * (long double)m->s0 * (long double)m->s0;
    cr_assert_eq(wf_gate_add_pair(g, WF_GATE_CASE, m, 0, &err), WF_OK);
    for (int i = 0; i < 40; i++) {
        struct wf_gate_block b = feed_block(&r, i / a_round, noise, effect);
        if (i % 7 == 3) { /* an outlier */
            b.y[i % 4] += 0.2;
        }
        feed_add(g, 0, &b);
        plain_add(&p, &b);
        if (i % 5 == 2) {
            feed_lose(g, 0, i / a_round);
        }
        expect_equal(g, &p);
    }
    wf_gate_free(g);
}

Test(state, figures_are_the_formulas)
{
    struct wf_gate_margins usual = WF_GATE_MARGINS_DEFAULT;
    struct wf_gate_margins wide = { .d0 = 0, .d1 = 0.1, .s0 = 0.05, .tau = 0.01 };
    struct wf_gate_margins wrong = { .d0 = 0.005, .d1 = 0.02, .s0 = 1e-5 };

    play(1, &usual, 1, 0.004, 0);
    play(2, &usual, 2, 0.004, 0.03);
    play(3, &usual, 3, 0.03, -0.02);
    play(4, &wide, 1, 0.01, 0.05);
    play(5, &wrong, 1, 0.01, 0.005);
}

/* A clock that does not move, a model's times: equal values, over and over. */
Test(state, no_noise_at_all)
{
    struct wf_gate_figures f;
    struct wf_gate *g = feed_gate(NULL);
    struct wf_gate_margins tiny = { .d0 = 0, .d1 = 1e-5, .s0 = 1e-300 };
    struct wf_error err;

    (void)feed_pair(g, WF_GATE_CASE, 0);
    cr_assert_eq(wf_gate_add_pair(g, WF_GATE_CASE, &tiny, 0, &err), WF_OK, "%s",
                 err.text);
    for (int i = 0; i < 200; i++) {
        struct wf_gate_block b = { .round = i, .mask = 5, .y = { 3, 3, 3, 3 } };
        feed_add(g, 0, &b);
        feed_add(g, 1, &b);
    }
    for (size_t i = 0; i < 2; i++) {
        wf_gate_figures(g, i, &f);
        cr_assert(isfinite(f.log_w_slower) && isfinite(f.log_w_faster) &&
                  isfinite(f.log_w_pass) && isfinite(f.log_sign_slower));
        cr_assert_eq(f.effect, 0);
        cr_assert_eq(f.spread, 0);
        cr_assert(f.slot_noise >= 1e-6 && f.slot_noise < 0.01);
        cr_assert(f.low <= 0 && f.high >= 0);
    }
    wf_gate_free(g);
}

/* One wild block moves the scale by a bounded factor. */
Test(state, an_outlier_does_not_own_the_scale)
{
    struct wf_rng r = { 12, 1, 0 };
    struct wf_gate_figures f;
    struct wf_gate *g = feed_gate(NULL);
    struct wf_gate_block b = feed_block(&r, 0, 0.004, 0);

    (void)feed_pair(g, WF_GATE_CASE, 0);
    b.y[2] += 500;
    feed_add(g, 0, &b);
    wf_gate_figures(g, 0, &f);
    cr_assert_float_eq(f.slot_noise, 0.004 * sqrt((6 + 18) / 8.0), 1e-9);
    wf_gate_free(g);
}

static enum wf_status try_block(struct wf_gate *g,
                                struct wf_gate_block b,
                                struct wf_error *err)
{
    err->text[0] = '\0';
    return wf_gate_add_block(g, 0, &b, err);
}

Test(state, blocks_that_make_no_sense_are_refused)
{
    struct wf_gate *g = feed_gate(NULL);
    struct wf_gate_block good = { .round = 4, .mask = 3, .y = { 1, 1, 1, 1 } };
    struct wf_gate_block b;
    struct wf_gate_figures f;
    struct wf_error err;

    (void)feed_pair(g, WF_GATE_CASE, 0);
    cr_assert_eq(try_block(g, good, &err), WF_OK);
    b = good;
    b.mask = 7;
    cr_assert_eq(try_block(g, b, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "mask 7") != NULL, "%s", err.text);
    b = good;
    b.y[2] = NAN;
    cr_assert_eq(try_block(g, b, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "y[2]") != NULL, "%s", err.text);
    b.y[2] = 1001;
    cr_assert_eq(try_block(g, b, &err), WF_EINVAL);
    b.rejected = true;
    cr_assert_eq(try_block(g, b, &err), WF_OK);
    b = good;
    b.round = 3;
    cr_assert_eq(try_block(g, b, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "round 3 after one of round 4") != NULL, "%s", err.text);
    wf_gate_figures(g, 0, &f);
    cr_assert(f.blocks == 1 && f.lost == 1);
    wf_gate_free(g);
}

Test(state, margins_and_rules_that_make_no_sense_are_refused)
{
    static const struct {
        struct wf_gate_margins m;
        const char *word;
    } rows[] = {
        { { -0.1, 0.02, 0.004, 0 }, "d0" },    { { 0.02, 0.02, 0.004, 0 }, "d0" },
        { { 0.005, 1.5, 0.004, 0 }, "d1" },    { { NAN, 0.02, 0.004, 0 }, "d0" },
        { { 0.005, 0.02, 0, 0 }, "s0" },       { { 0.005, 0.02, INFINITY, 0 }, "s0" },
        { { 0.005, 0.02, 0.004, -1 }, "tau" }, { { 0.005, 0.02, 0.004, NAN }, "tau" },
    };
    struct wf_gate *g = feed_gate(NULL);
    struct wf_gate_rule rule = WF_GATE_PR_RULE;
    struct wf_gate *none = NULL;
    struct wf_error err;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(wf_gate_add_pair(g, WF_GATE_CASE, &rows[i].m, 0, &err), WF_EINVAL);
        cr_assert(strstr(err.text, rows[i].word) != NULL, "%s", err.text);
    }
    cr_assert_eq(wf_gate_count(g), 0);
    wf_gate_free(g);
    rule.alpha = 0;
    cr_assert_eq(wf_gate_create(&rule, &none, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "alpha") != NULL);
    rule.alpha = 0.01;
    rule.max_blocks = 0;
    cr_assert_eq(wf_gate_create(&rule, &none, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "max_blocks") != NULL);
}

Test(state, margins_for_noisy_pairs)
{
    struct wf_gate_margins m = wf_gate_margins_for(0.004, 0);

    cr_assert(m.d0 == 0.005 && m.d1 == 0.02 && m.s0 == 0.004 && m.tau == 0);
    m = wf_gate_margins_for(0.03, 0);
    cr_assert_float_eq(m.d1, 0.06, 1e-15);
    cr_assert_float_eq(m.d0, 0.015, 1e-15);
    m = wf_gate_margins_for(0.004, 0.008);
    cr_assert_float_eq(m.d0, 0.024, 1e-15);
    cr_assert_float_eq(m.d1, 0.048, 1e-15);
}
