/* Single cases: rules by kind of noise beside published figures of the same laws, and
 * the gate's processes at the edges of their promises. */
#include "sim_gate_published.def"
#include "sim_gate_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EFFECTS 5
static const double EFFECT[EFFECTS] = { 0, .01, .02, .03, .05 };

enum {
    FAIL,
    PASS,
    OPEN,
    BURSTS
};

enum alone_rule {
    RULE_GATE,
    RULE_WIDE,
    RULE_THREE,
    RULE_PR,
    RULE_COUNT
};
static const char *const RULE_TEXT[] = { "gate .5/2 %, e >= 6000",
                                         "gate 1/3 %, e >= 6000",
                                         "gate .5/2 %, 3 rounds, beta 2 %",
                                         "gate .5/2 %, e >= 30000" };

static void gate_case(const void *arg, uint64_t seed, uint64_t run, uint64_t *count)
{
    struct sim_alone_result r;
    sim_alone_run(arg, false, seed, run, &r);
    count[FAIL] += r.verdict == WF_GATE_VERDICT_FAIL;
    count[PASS] += r.verdict == WF_GATE_VERDICT_PASS;
    count[OPEN] += r.verdict == WF_GATE_VERDICT_INCONCLUSIVE;
    count[BURSTS] += (uint64_t)r.blocks * WF_GATE_SLOTS;
}

struct peer_case {
    enum sim_peer peer;
    enum noise_kind kind;
    double effect;
};

static void peer_case(const void *arg, uint64_t seed, uint64_t run, uint64_t *count)
{
    const struct peer_case *p = arg;
    const double value = sim_peer_case(p->peer, p->kind, p->effect, seed, run);
    count[FAIL] += sim_peer_flags(p->peer, value);
}

/* Alone a case stands at m / alpha = 1 / alpha. */
static struct sim_alone alone(enum alone_rule rule, int kind, double effect)
{
    struct sim_alone a = { .kind = (enum noise_kind)kind,
                           .effect = effect,
                           .layout = -1,
                           .rule = WF_GATE_PR_RULE,
                           .margins = WF_GATE_MARGINS_DEFAULT };
    a.rule.alpha = rule == RULE_PR ? 1. / 30000 : 1. / 6000;
    if (rule == RULE_WIDE) {
        a.margins.d0 = 0.01;
        a.margins.d1 = 0.03;
    }
    if (rule == RULE_THREE) {
        a.rule.pass_least = 50;
        a.rule.pass_rounds = 3;
    }
    return a;
}

/* --- beside the published figures --- */

struct published {
    bool is_gate;
    int rule, kind;
    double share[EFFECTS], bursts[2], pass[2];
};

static const struct published PUBLISHED[] = {
#define X(peer, kind, a, b, c, d, e) \
    { false, SIM_PEER_##peer, NOISE_##kind, { a, b, c, d, e }, { 0, 0 }, { 0, 0 } },
    PUBLISHED_PEERS(X)
#undef X
#define X(rule, kind, a, b, c, d, e, b0, b3, p0, p2) \
    { true, RULE_##rule, NOISE_##kind, { a, b, c, d, e }, { b0, b3 }, { p0, p2 } },
        PUBLISHED_GATE(X)
#undef X
};

/* Standard deviations between two shares, each with half a hit to spare. */
static double deviation(double a, double n, double b, double m)
{
    const double p = (a * n + b * m + 1) / (n + m + 2);
    return (a - b) / sqrt(p * (1 - p) * (1 / n + 1 / m));
}

struct agreement {
    size_t shares, beyond;
    double worst;
    char where[96];
};

static void compare(struct agreement *a,
                    const struct published *p,
                    int effect,
                    double share,
                    double runs)
{
    const double m = p->is_gate ? 6000 : 3000;
    const double z = deviation(share, runs, p->share[effect], m);
    a->shares++;
    a->beyond += fabs(z) > 3.5;
    if (fabs(z) > a->worst) {
        a->worst = fabs(z);
        (void)snprintf(a->where, sizeof a->where, "%s, %s at %g %%",
                       p->is_gate ? RULE_TEXT[p->rule]
                                  : sim_peer_text((enum sim_peer)p->rule),
                       noise_name((enum noise_kind)p->kind), 100 * EFFECT[effect]);
    }
}

static const struct sim_cell *gate_cell(struct sim_tables *t,
                                        int rule,
                                        int kind,
                                        int effect)
{
    const struct sim_alone a = alone((enum alone_rule)rule, kind, EFFECT[effect]);
    char name[96];
    (void)snprintf(name, sizeof name, "cases/gate%d/%s/%g", rule,
                   noise_name((enum noise_kind)kind), 100 * EFFECT[effect]);
    return sim_store_run(t->store, name, 200 + (uint64_t)effect, sim_runs(t, 6000),
                         gate_case, &a);
}

static const struct sim_cell *peer_cell(struct sim_tables *t,
                                        int peer,
                                        int kind,
                                        int effect)
{
    const struct peer_case p = { (enum sim_peer)peer, (enum noise_kind)kind,
                                 EFFECT[effect] };
    char name[96];
    (void)snprintf(name, sizeof name, "cases/peer%d/%s/%g", peer,
                   noise_name((enum noise_kind)kind), 100 * EFFECT[effect]);
    return sim_store_run(t->store, name, 200 + (uint64_t)effect, sim_runs(t, 3000),
                         peer_case, &p);
}

static void print_shares(const double *share)
{
    for (int e = 0; e < EFFECTS; e++) {
        (void)printf("%s%.4f", e > 0 ? " / " : " ", share[e]);
    }
    (void)printf(" |");
}

static void print_gate_rest(const struct sim_cell *const *c, const struct published *p)
{
    const double n0 = (double)c[0]->runs;
    (void)printf(
        " %.1f / %.1f | %.3f / %.3f, %.3f |", (double)c[0]->count[BURSTS] / n0,
        sim_share(c[3]->count[BURSTS], c[3]->runs), (double)c[0]->count[PASS] / n0,
        sim_share(c[2]->count[PASS], c[2]->runs), (double)c[0]->count[OPEN] / n0);
    if (p != NULL) {
        (void)printf(" %.1f / %.1f; %.3f / %.3f", p->bursts[0], p->bursts[1],
                     p->pass[0], p->pass[1]);
    }
    (void)printf(" |\n");
}

static void case_row(struct sim_tables *t,
                     int rule,
                     int kind,
                     const struct published *p,
                     struct agreement *a)
{
    const bool is_gate = p == NULL || p->is_gate;
    const struct sim_cell *c[EFFECTS];
    double share[EFFECTS];
    for (int e = 0; e < EFFECTS; e++) {
        c[e] = is_gate ? gate_cell(t, rule, kind, e) : peer_cell(t, rule, kind, e);
        if (c[e]->runs == 0) {
            return;
        }
        share[e] = sim_share(c[e]->count[FAIL], c[e]->runs);
        if (p != NULL) {
            compare(a, p, e, share[e], (double)c[e]->runs);
        }
    }
    (void)printf("| %s | %s |",
                 is_gate ? RULE_TEXT[rule] : sim_peer_text((enum sim_peer)rule),
                 noise_name((enum noise_kind)kind));
    print_shares(share);
    if (p != NULL) {
        print_shares(p->share);
    } else {
        (void)printf(" - |");
    }
    if (is_gate) {
        print_gate_rest(c, p);
    } else {
        (void)printf(" %d | | |\n", sim_peer_slots((enum sim_peer)rule));
    }
    (void)fflush(stdout);
}

void sim_table_cases(struct sim_tables *t)
{
    struct agreement a = { .worst = 0 };
    (void)printf(
        "| rule | noise | found slower at a true 0 / 1 / 2 / 3 / 5 %% | "
        "published | bursts at 0 / 3 %% | PASS at 0 / 2 %%, INCONCLUSIVE at 0 | "
        "published: bursts; PASS |\n|---|---|---|---|---|---|---|\n");
    for (int k = 0; k < NOISE_KINDS; k++) {
        for (size_t i = 0; i < sizeof PUBLISHED / sizeof *PUBLISHED; i++) {
            if (PUBLISHED[i].kind == k) {
                case_row(t, PUBLISHED[i].rule, k, &PUBLISHED[i], &a);
            }
        }
        case_row(t, RULE_PR, k, NULL, &a);
    }
    (void)printf("\n%zu shares compared, %zu differ by more than 3.5 standard "
                 "deviations; the most: %.1f (%s).\n",
                 a.shares, a.beyond, a.worst, a.where);
}

/* --- the edges --- */

enum {
    W_20,
    W_SIGN_20,
    W_SIGN_6000,
    W_SIGN_30000,
    PASS_2,
    PASS_3
};

static void edge_case(const void *arg, uint64_t seed, uint64_t run, uint64_t *count)
{
    struct sim_alone_result r;
    sim_alone_run(arg, true, seed, run, &r);
    count[W_20] += r.log_w_slower >= log(20);
    count[W_SIGN_20] += r.log_w_and_sign >= log(20);
    count[W_SIGN_6000] += r.log_w_and_sign >= log(6000);
    count[W_SIGN_30000] += r.log_w_and_sign >= log(30000);
    count[PASS_2] += r.pass_two;
    count[PASS_3] += r.pass_three;
}

struct edge {
    const char *text;
    double layout;
    enum noise_kind kind;
    bool covered; /* no process effects: the guarantee holds */
};

static const struct edge EDGES[] = {
    { "quiet", 0, NOISE_quiet, true },
    { "typical", 0, NOISE_typical, true },
    { "noisy", 0, NOISE_noisy, true },
    { "bimodal", 0, NOISE_bimodal, true },
    { "ramp", 0, NOISE_ramp, true },
    { "layout 0.2 %", .002, NOISE_layout, false },
    { "layout 0.4 %", .004, NOISE_layout, false },
    { "layout 0.8 %", .008, NOISE_layout, false },
};

static const struct sim_cell *edge_cell(struct sim_tables *t,
                                        const struct edge *e,
                                        double effect,
                                        int blocks)
{
    struct sim_alone a = alone(RULE_PR, (int)e->kind, effect);
    char name[96];
    a.layout = e->layout;
    a.rule.max_blocks = blocks;
    (void)snprintf(name, sizeof name, "guarantee/%s/%g/%d", e->text, 100 * effect,
                   blocks);
    return sim_store_run(t->store, name, 300, sim_runs(t, 20000), edge_case, &a);
}

/* The share may exceed its bound by chance: three standard deviations. */
static bool within(uint64_t hits, uint64_t n, double bound)
{
    const double p = sim_share(hits, n);
    return !(p > bound + 3 * sqrt(bound * (1 - bound) / (double)n));
}

static void print_edge(struct sim_tables *t, const struct edge *e)
{
    const struct sim_cell *at_d0 = edge_cell(t, e, 0.005, 16);
    const struct sim_cell *at_0 = edge_cell(t, e, 0, 16);
    const struct sim_cell *at_d1 = edge_cell(t, e, 0.02, 24);
    const uint64_t n = at_d0->runs;
    if (n == 0 || at_0->runs == 0 || at_d1->runs == 0) {
        return;
    }
    (void)printf("| %s | %llu | %.4f | %.4f | %.5f | %.5f | %.5f | %.4f / %.4f |\n",
                 e->text, (unsigned long long)n, sim_share(at_d0->count[W_20], n),
                 sim_share(at_d0->count[W_SIGN_20], n),
                 sim_share(at_d0->count[W_SIGN_6000], n),
                 sim_share(at_d0->count[W_SIGN_30000], n),
                 sim_share(at_0->count[W_SIGN_6000], at_0->runs),
                 sim_share(at_d1->count[PASS_2], at_d1->runs),
                 sim_share(at_d1->count[PASS_3], at_d1->runs));
    (void)fflush(stdout);
    char what[96];
    (void)snprintf(what, sizeof what, "%s: processes within their bounds at d0 and d1",
                   e->text);
    sim_target(t,
               !e->covered || (within(at_d0->count[W_20], n, .05) &&
                               within(at_d0->count[W_SIGN_6000], n, 1. / 6000) &&
                               within(at_d0->count[W_SIGN_30000], n, 1. / 30000) &&
                               within(at_d1->count[PASS_2], at_d1->runs, .05) &&
                               within(at_d1->count[PASS_3], at_d1->runs, .02)),
               what);
    (void)snprintf(what, sizeof what, "%s: with the sign process within 5 %% at d0",
                   e->text);
    sim_target(t, within(at_d0->count[W_SIGN_20], n, .05), what);
}

void sim_table_guarantee(struct sim_tables *t)
{
    (void)printf(
        "| noise | runs | W >= 20 at d0 (bound .05) | and sign >= 20 | W >= 6000 "
        "and sign, at d0 (1.7e-4) | W >= 30000 and sign, at d0 (3.3e-5) | W >= "
        "6000 and sign, at 0 | PASS at d1: 2 rounds, 20 (.05) / 3 rounds, 50 "
        "(.02) |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof EDGES / sizeof *EDGES; i++) {
        print_edge(t, &EDGES[i]);
    }
}

/* --- a wrong registry --- */

static const struct sim_cell *prior_cell(struct sim_tables *t,
                                         int kind,
                                         double effect,
                                         bool to_the_end)
{
    struct sim_alone a = alone(RULE_GATE, kind, effect);
    char name[96];
    a.prior = SIM_PRIOR_WRONG;
    a.rule.max_blocks = to_the_end ? 16 : a.rule.max_blocks;
    (void)snprintf(name, sizeof name, "prior/%s/%g", noise_name((enum noise_kind)kind),
                   100 * effect);
    return sim_store_run(t->store, name, 400, sim_runs(t, 6000),
                         to_the_end ? edge_case : gate_case, &a);
}

void sim_table_prior(struct sim_tables *t)
{
    (void)printf(
        "| noise | runs | W >= 20 at d0 (bound .05) | FAIL (e >= 6000) at 0 / 2 "
        "/ 3 %% | PASS at 0 / 2 %% | bursts at 0 / 3 %% "
        "|\n|---|---|---|---|---|---|\n");
    for (int k = 0; k < NOISE_KINDS; k++) {
        const struct sim_cell *edge = prior_cell(t, k, 0.005, true);
        const struct sim_cell *at0 = prior_cell(t, k, 0, false);
        const struct sim_cell *at2 = prior_cell(t, k, .02, false);
        const struct sim_cell *at3 = prior_cell(t, k, .03, false);
        const uint64_t n = at3->runs;
        if (n == 0) {
            return;
        }
        (void)printf(
            "| %s | %llu | %.4f | %.4f / %.3f / %.3f | %.3f / %.3f | %.1f / "
            "%.1f |\n",
            noise_name((enum noise_kind)k), (unsigned long long)n,
            sim_share(edge->count[W_20], edge->runs),
            sim_share(at0->count[FAIL], at0->runs),
            sim_share(at2->count[FAIL], at2->runs), sim_share(at3->count[FAIL], n),
            sim_share(at0->count[PASS], at0->runs),
            sim_share(at2->count[PASS], at2->runs),
            sim_share(at0->count[BURSTS], at0->runs), sim_share(at3->count[BURSTS], n));
        (void)fflush(stdout);
        sim_target(t, k == NOISE_layout || within(edge->count[W_20], edge->runs, .05),
                   "a wrong registry leaves the bound at d0");
    }
}
