/* Error rates, power and cost of the rule on simulated noise, in small: each figure is
 * a fixed draw. docs/results/gate-simulated.md has the large counts. Also: that the
 * simulator and its counting are what they say, and that they see a broken rule. */
#include "gate/draw.h"
#include "tests/bench/sim_gate.h"
#include "tests/bench/sim_gate_cells.h"
#include "tests/core/temp_dir.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- whole pull requests --- */

struct sums {
    size_t red, cases, fails, passes, slots;
};

static struct sums sum_of(const struct sim_suite *s, uint64_t runs, double effect)
{
    struct sums t = { 0 };
    struct sim_case c[SIM_CASES_MAX];
    for (uint64_t run = 0; run < runs; run++) {
        const size_t before = t.fails;
        sim_suite_run(s, 11, run, c);
        for (size_t i = 0; i < s->cases; i++) {
            if (c[i].effect < effect || c[i].effect > effect) {
                continue;
            }
            const bool fail = c[i].verdict == WF_GATE_VERDICT_FAIL;
            t.cases++;
            t.fails += fail;
            t.passes += c[i].verdict == WF_GATE_VERDICT_PASS;
            t.slots += !(effect > s->effect) || fail ? 4 * (size_t)c[i].blocks : 0;
        }
        t.red += t.fails > before;
    }
    return t;
}

Test(power, clean_pull_requests_are_not_red_and_cheap)
{
    const enum sim_dependence ways[] = { SIM_OWN, SIM_PATH, SIM_SAME };
    for (int i = 0; i < 3; i++) {
        const struct sim_suite s = { .cases = 300,
                                     .kinds = SIM_ALL_KINDS,
                                     .dependence = ways[i] };
        const struct sums t = sum_of(&s, 4, 0);
        const double bursts = (double)t.slots / (double)t.cases;
        cr_expect_eq(t.red, 0);
        cr_expect(bursts >= 8 && bursts <= 12, "%g bursts", bursts);
        cr_expect(t.passes >= t.cases * 99 / 100, "%zu PASS", t.passes);
    }
}

Test(power, all_at_the_margin_is_not_red)
{
    struct sim_suite s = { .cases = 300,
                           .kinds = SIM_ALL_KINDS & ~SIM_KIND(layout),
                           .effect = 0.005 };
    cr_expect_eq(sum_of(&s, 8, 0.005).red, 0);
    s.dependence = SIM_SAME;
    cr_expect_eq(sum_of(&s, 4, 0.005).red, 0);
}

Test(power, ten_slower_among_300_are_found)
{
    const struct sim_suite s = { .cases = 300,
                                 .kinds = SIM_KIND(quiet) | SIM_KIND(typical) |
                                          SIM_KIND(ramp),
                                 .scenario = SIM_TEN };
    const struct sums two = sum_of(&s, 10, 0.02);
    const struct sums three = sum_of(&s, 10, 0.03);
    cr_assert(two.cases == 40 && three.cases == 30);
    cr_expect(two.fails >= 38, "%zu of 40 at 2 %%", two.fails);
    cr_expect_eq(three.fails, 30);
    cr_expect(two.slots <= 33 * two.fails, "%zu slots", two.slots);
    cr_expect(three.slots <= 33 * three.fails, "%zu slots", three.slots);
    cr_expect_eq(sum_of(&s, 10, 0).fails, 0);
}

/* --- the processes at their edges --- */

#define RUNS 400

static struct sim_alone at(enum noise_kind kind, double effect)
{
    return (struct sim_alone){ .kind = kind,
                               .effect = effect,
                               .layout = -1,
                               .rule = WF_GATE_PR_RULE,
                               .margins = WF_GATE_MARGINS_DEFAULT };
}

Test(power, the_processes_keep_their_bounds)
{
    static const enum noise_kind kinds[] = { NOISE_typical, NOISE_bimodal };
    for (int k = 0; k < 2; k++) {
        struct sim_alone d0 = at(kinds[k], 0.005), d1 = at(kinds[k], 0.02);
        size_t alarms = 0, passes = 0;
        d0.rule.max_blocks = d1.rule.max_blocks = 8;
        for (uint64_t run = 0; run < RUNS; run++) {
            struct sim_alone_result r;
            sim_alone_run(&d0, true, 3, run, &r);
            alarms += r.log_w_slower >= log(20);
            sim_alone_run(&d1, true, 3, run, &r);
            passes += r.pass_two;
        }
        /* at most 5 %, and not nothing: then the process would be no test */
        cr_expect(alarms > 0 && alarms <= RUNS / 20, "%zu alarms", alarms);
        cr_expect(passes > 0 && passes <= RUNS / 20, "%zu passes", passes);
    }
}

/* Processes differ by more than the margin: W alone is beyond its bound, the verdict,
 * which asks the sign process too, is not. */
Test(power, the_sign_process_holds_where_processes_differ)
{
    struct sim_alone a = at(NOISE_layout, 0.005);
    size_t alarms = 0, fails = 0;
    a.layout = 0.008;
    a.rule.alpha = 0.05;
    a.rule.pass_least = 1e9;
    a.rule.max_blocks = 8;
    for (uint64_t run = 0; run < RUNS; run++) {
        struct sim_alone_result r;
        sim_alone_run(&a, false, 6, run, &r);
        fails += r.verdict == WF_GATE_VERDICT_FAIL;
        alarms += r.log_w_slower >= log(20);
    }
    cr_expect(fails <= RUNS / 20, "%zu FAIL", fails);
    cr_expect(alarms > RUNS / 10, "%zu alarms", alarms);
}

/* A device that slows down by 2 % within each block: drawn labels do not mind. */
Test(power, drawn_labels_hold_under_a_steep_ramp)
{
    const struct wf_gate_rule rule = WF_GATE_PR_RULE;
    const struct wf_gate_margins m = WF_GATE_MARGINS_DEFAULT;
    size_t alarms = 0, passes = 0;
    for (uint64_t run = 0; run < 2 * RUNS; run++) {
        struct wf_gate_block blocks[8];
        struct sim_alone_result r;
        const bool slower = run % 2 != 0;
        const uint8_t seed[WF_GATE_SEED_BYTES] = { (uint8_t)run, (uint8_t)(run >> 8) };
        for (int b = 0; b < 8; b++) {
            unsigned char arm[4];
            double x[4 * NOISE_SLOT];
            blocks[b] = (struct wf_gate_block){ .round = b };
            blocks[b].mask = (uint8_t)wf_gate_draw_mask(seed, "case", b, 0);
            for (int i = 0; i < 4; i++) {
                arm[i] = blocks[b].mask >> i & 1;
            }
            noise_session(&(struct noise_session){ .kind = NOISE_ramp,
                                                   .slots = 4,
                                                   .effect = slower ? m.d1 : m.d0,
                                                   .seed = 8,
                                                   .run = run * 8 + (uint64_t)b },
                          arm, x);
            for (int i = 0; i < 4; i++) {
                blocks[b].y[i] = noise_slot_value(x + i * NOISE_SLOT);
            }
        }
        sim_alone_blocks(&rule, &m, blocks, 8, true, &r);
        alarms += !slower && r.log_w_slower >= log(20);
        passes += slower && r.pass_two;
    }
    cr_expect(alarms <= RUNS / 20, "%zu alarms", alarms);
    cr_expect(passes <= RUNS / 20, "%zu passes", passes);
}

static unsigned slowest_two(const double y[4])
{
    unsigned best = wf_gate_mask(0);
    double most = -INFINITY;
    for (unsigned k = 0; k < WF_GATE_MASK_COUNT; k++) {
        double sum = 0;
        for (unsigned i = 0; i < 4; i++) {
            sum += (wf_gate_mask(k) >> i & 1) != 0 ? y[i] : 0;
        }
        best = sum > most ? wf_gate_mask(k) : best;
        most = fmax(most, sum);
    }
    return best;
}

/* The measure sees what it is there to see: labels that are not drawn but follow the
 * noise, the candidate always at the slowest two slots. */
Test(power, labels_that_follow_the_noise_break_the_bound)
{
    const struct wf_gate_rule rule = WF_GATE_PR_RULE;
    const struct wf_gate_margins m = WF_GATE_MARGINS_DEFAULT;
    size_t alarms = 0;
    for (uint64_t run = 0; run < 100; run++) {
        struct wf_gate_block blocks[8];
        struct sim_alone_result r;
        for (int b = 0; b < 8; b++) {
            static const unsigned char arm[4];
            double x[4 * NOISE_SLOT];
            noise_session(&(struct noise_session){ .kind = NOISE_noisy,
                                                   .slots = 4,
                                                   .seed = 5,
                                                   .run = run * 8 + (uint64_t)b },
                          arm, x);
            blocks[b] = (struct wf_gate_block){ .round = b };
            for (int i = 0; i < 4; i++) {
                blocks[b].y[i] = noise_slot_value(x + i * NOISE_SLOT);
            }
            blocks[b].mask = (uint8_t)slowest_two(blocks[b].y);
        }
        sim_alone_blocks(&rule, &m, blocks, 8, true, &r);
        alarms += r.log_w_slower >= log(20);
    }
    cr_expect(alarms > 50, "%zu alarms of 100", alarms);
}

/* --- what the figures are made with --- */

Test(power, known_values_of_the_statistics)
{
    const double males[] = { 19, 22, 16, 29, 24 }, females[] = { 20, 11, 17, 12 };
    const double tied[] = { 1, 2, 2, 3 }, others[] = { 2, 3, 3, 4 };
    /* Benjamini and Hochberg (1995), section 4.1: four are rejected */
    const double p[] = { .0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344,
                         .0459, .3240, .4262, .5719, .6528, .7590, 1.0 };
    bool rejected[15];
    cr_expect_float_eq(sim_u_test(males, 5, females, 4), 0.11134688653314041, 1e-12);
    /* U = 3 of 16, tied groups of 3 and 3: sd^2 = 16/12 (9 - 48/56), z = 4.5/sd */
    cr_expect_float_eq(sim_u_test(tied, 4, others, 4),
                       erfc(4.5 / sqrt(16. / 12 * (9 - 48. / 56)) / sqrt(2)), 1e-12);
    sim_bh(p, 15, 0.05, rejected);
    for (int i = 0; i < 15; i++) {
        cr_expect_eq(rejected[i], i < 4);
    }
    cr_expect_float_eq(sim_upper_bound(0, 2000), 1 - pow(0.05, 1. / 2000), 1e-9);
    cr_expect_float_eq(sim_upper_bound(1, 10), 0.3941633, 1e-6); /* Clopper, Pearson */
    cr_expect_eq(sim_upper_bound(7, 7), 1);
}

Test(power, peers_rates_are_the_published_ones)
{
    static const struct {
        enum sim_peer peer;
        enum noise_kind kind;
        double effect, published;
    } known[] = { { SIM_PEER_gbench, NOISE_typical, 0, .125 },
                  { SIM_PEER_benchstat, NOISE_layout, 0, .301 },
                  { SIM_PEER_nvbench, NOISE_bimodal, .02, .671 },
                  { SIM_PEER_robust, NOISE_ramp, .02, .541 },
                  { SIM_PEER_mean5, NOISE_noisy, .05, .562 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const double q = known[i].published;
        int hits = 0;
        for (uint64_t run = 0; run < RUNS; run++) {
            hits += sim_peer_flags(
                known[i].peer,
                sim_peer_case(known[i].peer, known[i].kind, known[i].effect, 2, run));
        }
        cr_expect(fabs(hits - q * RUNS) < 4 * sqrt(q * (1 - q) * RUNS),
                  "%s: %d of %d, published %g", sim_peer_text(known[i].peer), hits,
                  RUNS, q);
    }
}

Test(power, a_session_is_what_it_says)
{
    const unsigned char arm[8] = { 0, 1, 1, 0, 1, 0, 0, 1 };
    struct noise_session s = {
        .kind = NOISE_layout, .slots = 8, .layout = 0, .seed = 4
    };
    double x[8 * NOISE_SLOT], y[8 * NOISE_SLOT];
    noise_session(&s, arm, x);
    noise_session(&s, arm, y);
    for (int i = 0; i < 8 * NOISE_SLOT; i++) {
        cr_expect_eq(x[i], y[i]);
    }
    s.effect = 0.02;
    s.layout = 0.5;
    noise_session(&s, arm, y);
    const double base = y[0] - x[0], other = y[NOISE_SLOT] - x[NOISE_SLOT];
    cr_expect(fabs(base) > 1e-3 && fabs(other - base - 0.02) > 1e-3);
    for (int i = 0; i < 8 * NOISE_SLOT; i++) {
        const double by = arm[i / NOISE_SLOT] != 0 ? other : base;
        cr_expect_float_eq(y[i] - x[i], by, 1e-12);
    }
    s.run++;
    noise_session(&s, arm, x);
    cr_expect_neq(x[0], y[0]);
}

/* Slots of a path go on where the last session ended: neighbours across sessions are
 * as alike as within one. */
Test(power, a_path_goes_on)
{
    static const unsigned char arm[2];
    double own = 0, path = 0;
    for (uint64_t run = 0; run < 600; run++) {
        struct noise_path device = { .begun = false };
        struct noise_session s = { .kind = NOISE_bimodal,
                                   .slots = 2,
                                   .seed = 9,
                                   .run = 2 * run,
                                   .path = &device };
        double a[2 * NOISE_SLOT], b[2 * NOISE_SLOT], c[2 * NOISE_SLOT];
        noise_session(&s, arm, a);
        s.run++;
        noise_session(&s, arm, b);
        s.path = NULL;
        noise_session(&s, arm, c);
        path += fabs(noise_slot_value(a + NOISE_SLOT) - noise_slot_value(b)) / 600;
        own += fabs(noise_slot_value(a + NOISE_SLOT) - noise_slot_value(c)) / 600;
        cr_expect_eq(device.slots, 4);
    }
    cr_expect(path < 0.6 * own, "%g, apart %g", path, own);
}

/* --- counting --- */

static void count_word(const void *arg, uint64_t seed, uint64_t run, uint64_t *count)
{
    (void)arg;
    count[0] += sim_mix(seed, run) % 1000;
    count[2] += run;
}

static struct sim_cell counted(const char *path, unsigned jobs, uint64_t target)
{
    struct sim_store *s = NULL;
    struct wf_error err;
    cr_assert_eq(sim_store_open(path, 7, jobs, 0, &s, &err), WF_OK, "%s", err.text);
    const struct sim_cell c = *sim_store_run(s, "cell", 1, target, count_word, NULL);
    cr_expect_not(sim_store_is_short(s));
    sim_store_free(s);
    return c;
}

Test(power, counts_know_neither_threads_nor_interruptions)
{
    struct temp_dir dir;
    struct sim_store *s = NULL;
    struct wf_error err;
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "counts.json");
    const struct sim_cell once = counted(NULL, 1, 500);
    (void)counted(path, 3, 123);
    const struct sim_cell twice = counted(path, 2, 500);
    const struct sim_cell again = counted(path, 1, 100); /* has more already */
    cr_expect(once.runs == 500 && twice.runs == 500 && again.runs == 500);
    cr_expect_eq(memcmp(once.count, twice.count, sizeof once.count), 0);
    cr_expect_eq(memcmp(once.count, again.count, sizeof once.count), 0);
    cr_expect_eq(once.count[2], 500 * 499 / 2);
    cr_expect_eq(sim_store_open(path, 8, 1, 0, &s, &err), WF_EINVAL);
    cr_expect(strstr(err.text, "seed") != NULL, "%s", err.text);
    cr_assert_eq(sim_store_open(NULL, 7, 1, 1, &s, &err), WF_OK);
    (void)sim_store_run(s, "cell", 1, 10, count_word, NULL);
    cr_expect(sim_store_is_short(s)); /* the deadline was long ago */
    sim_store_free(s);
    temp_dir_remove(&dir);
}
