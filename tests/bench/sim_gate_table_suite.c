/* Whole pull requests: clean ones, slower cases among many, and the peers beside. */
#include "gate/draw.h"
#include "sim_gate_tables.h"

#include <math.h>
#include <stdio.h>

#define EFFECTS 3 /* 2, 3 and 5 % */
#define CASES   300

/* Counters of a cell. */
enum {
    RED,         /* runs with a FAIL of a case that is not slower */
    FALSE_FAILS, /* such cases */
    FALSE_SHARE, /* share of them among all FAIL of the run, summed, in millionths */
    BURSTS,      /* slots of all cases */
    BETTER,      /* IMPROVED */
    OPEN,        /* INCONCLUSIVE, cases that are not slower */
    UNCHANGED_N, /* the cases that are not slower */
    KINDS_AT,    /* these by kind: how many, FAIL, bursts */
    SLOWER_AT = KINDS_AT + 3 * NOISE_KINDS, /* by kind and effect: how many, FAIL,
                                               their bursts, PASS, INCONCLUSIVE */
    COUNTERS = SLOWER_AT + 5 * EFFECTS * NOISE_KINDS
};
_Static_assert(COUNTERS <= SIM_COUNTERS, "room for the counters");

struct row {
    const char *name, *text;
    bool is_peer, bh;
    enum sim_peer peer;
    struct sim_suite suite;
};

static int effect_index(double effect)
{
    return effect < 0.025 ? 0 : effect < 0.04 ? 1 : 2;
}

static void count_case(const struct sim_case *c, uint64_t *n)
{
    const bool fail = c->verdict == WF_GATE_VERDICT_FAIL;
    const bool open = c->verdict == WF_GATE_VERDICT_INCONCLUSIVE;
    const uint64_t bursts = (uint64_t)c->blocks * WF_GATE_SLOTS;
    n[BURSTS] += bursts;
    n[BETTER] += c->verdict == WF_GATE_VERDICT_IMPROVED;
    if (!c->regressed) {
        uint64_t *kind = n + KINDS_AT + (size_t)3 * c->kind;
        n[UNCHANGED_N]++;
        n[OPEN] += open;
        n[FALSE_FAILS] += fail;
        kind[0]++;
        kind[1] += fail;
        kind[2] += bursts;
        return;
    }
    uint64_t *s =
        n + SLOWER_AT +
        (size_t)5 * ((size_t)EFFECTS * c->kind + (size_t)effect_index(c->effect));
    s[0]++;
    s[1] += fail;
    s[2] += fail ? bursts : 0;
    s[3] += c->verdict == WF_GATE_VERDICT_PASS;
    s[4] += open;
}

static void count_run(const struct sim_case *cases, size_t n, uint64_t *count)
{
    uint64_t wrong = 0, right = 0;
    for (size_t i = 0; i < n; i++) {
        const bool fail = cases[i].verdict == WF_GATE_VERDICT_FAIL;
        count_case(&cases[i], count);
        wrong += fail && !cases[i].regressed;
        right += fail && cases[i].regressed;
    }
    count[RED] += wrong > 0;
    count[FALSE_SHARE] += wrong > 0 ? 1000000 * wrong / (wrong + right) : 0;
}

static void gate_run(const void *arg, uint64_t seed, uint64_t run, uint64_t *count)
{
    const struct row *row = arg;
    struct sim_case cases[SIM_CASES_MAX];
    sim_suite_run(&row->suite, seed, run, cases);
    count_run(cases, row->suite.cases, count);
}

static void peer_run(const void *arg, uint64_t seed, uint64_t run, uint64_t *count)
{
    const struct row *row = arg;
    const size_t n = row->suite.cases;
    struct sim_case cases[SIM_CASES_MAX];
    double value[SIM_CASES_MAX];
    bool rejected[SIM_CASES_MAX];
    uint64_t own[SIM_COUNTERS] = { 0 };
    sim_suite_cases(&row->suite, seed, run, cases);
    for (size_t i = 0; i < n; i++) {
        value[i] = sim_peer_case(row->peer, cases[i].kind, cases[i].effect, seed,
                                 run * SIM_CASES_MAX + i);
        rejected[i] = sim_peer_flags(row->peer, value[i]);
    }
    if (row->bh) {
        sim_bh(value, n, 0.05, rejected);
    }
    for (size_t i = 0; i < n; i++) {
        cases[i].verdict = rejected[i] ? WF_GATE_VERDICT_FAIL : WF_GATE_VERDICT_PASS;
    }
    count_run(cases, n, own);
    own[BURSTS] = n * (size_t)sim_peer_slots(row->peer);
    for (int i = 0; i < SIM_COUNTERS; i++) {
        count[i] += own[i];
    }
}

static const struct sim_cell *cell(struct sim_tables *t,
                                   const char *table,
                                   const char *variant,
                                   uint64_t runs,
                                   const struct row *row)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s/%s%s%s", table, row->name,
                   *variant != '\0' ? "/" : "", variant);
    /* the same noise for all rules of a scenario */
    return sim_store_run(t->store, name, 100 + (uint64_t)row->suite.scenario,
                         sim_runs(t, runs), row->is_peer ? peer_run : gate_run, row);
}

/* --- clean pull requests --- */

#define GATE_ROW(row_name, row_text, row_kinds, ...)       \
    {                                                      \
        .name = (row_name), .text = (row_text), .suite = { \
            .cases = CASES,                                \
            .kinds = (row_kinds),                          \
            __VA_ARGS__                                    \
        }                                                  \
    }
#define NO_PROCESS_EFFECTS (SIM_ALL_KINDS & ~SIM_KIND(layout))

/* `promised`: the guarantee or the target covers it: red at most 1 %. */
static const struct {
    bool promised;
    struct row row;
} CLEAN[] = {
    { true, GATE_ROW("registry",
                     "A/A, noise known",
                     SIM_ALL_KINDS,
                     .prior = SIM_PRIOR_REGISTRY) },
    { true, GATE_ROW("unknown",
                     "A/A, noise unknown (0.4 % for all)",
                     SIM_ALL_KINDS,
                     .prior = SIM_PRIOR_UNKNOWN) },
    { true, GATE_ROW("margins",
                     "A/A, margins from the registry",
                     SIM_ALL_KINDS,
                     .registry_margins = true) },
    { true, GATE_ROW("path",
                     "A/A, one drift through all cases of a round",
                     SIM_ALL_KINDS,
                     .dependence = SIM_PATH) },
    { true, GATE_ROW("same",
                     "A/A, the same noise and labels in every case",
                     SIM_ALL_KINDS,
                     .dependence = SIM_SAME) },
    { true, GATE_ROW("edge",
                     "every case slower by exactly d0, no process effects",
                     NO_PROCESS_EFFECTS,
                     .effect = 0.005) },
    { true, GATE_ROW("edge-path",
                     "the same, one drift through the round",
                     NO_PROCESS_EFFECTS,
                     .effect = 0.005,
                     .dependence = SIM_PATH) },
    { true, GATE_ROW("edge-same",
                     "the same, equal noise and labels in every case",
                     NO_PROCESS_EFFECTS,
                     .effect = 0.005,
                     .dependence = SIM_SAME) },
    { false, GATE_ROW("edge-all",
                      "every case slower by d0, all six kinds",
                      SIM_ALL_KINDS,
                      .effect = 0.005) },
    { false, GATE_ROW("edge-layout",
                      "every case slower by d0, only layout",
                      SIM_KIND(layout),
                      .effect = 0.005) },
    { false, GATE_ROW("edge-layout-margins",
                      "slower by 0.5 %, only layout, margins from the registry",
                      SIM_KIND(layout),
                      .effect = 0.005,
                      .registry_margins = true) },
};

static void print_clean(struct sim_tables *t,
                        const struct row *row,
                        bool promised,
                        const struct sim_cell *c)
{
    const double cases = (double)(c->runs * row->suite.cases);
    const double bursts = (double)c->count[BURSTS] / cases;
    char what[128];
    (void)printf(
        "| %s | %llu | %llu | %.2f %% | %llu | %.2f | %.3f %% | %.4f %% |\n", row->text,
        (unsigned long long)c->runs, (unsigned long long)c->count[RED],
        100 * sim_upper_bound(c->count[RED], c->runs),
        (unsigned long long)c->count[FALSE_FAILS], bursts,
        100 * (double)c->count[OPEN] / cases, 100 * (double)c->count[BETTER] / cases);
    (void)snprintf(what, sizeof what, "%s: red at most 1 %%", row->text);
    sim_target(t, !promised || sim_share(c->count[RED], c->runs) <= 0.01, what);
    (void)snprintf(what, sizeof what, "%s: at most 12 bursts a clean case", row->text);
    sim_target(t, row->suite.effect > 0 || bursts <= 12, what);
}

static void print_bursts_by_kind(const struct sim_cell *c, const char *text)
{
    if (c->runs == 0) {
        return;
    }
    (void)printf("\nBursts a clean case (%s):", text);
    for (int k = 0; k < NOISE_KINDS; k++) {
        const uint64_t *n = c->count + KINDS_AT + (size_t)3 * (size_t)k;
        (void)printf(" %s %.1f%s", noise_name((enum noise_kind)k),
                     sim_share(n[2], n[0]), k + 1 < NOISE_KINDS ? "," : ".\n");
    }
}

void sim_table_clean(struct sim_tables *t)
{
    const struct sim_cell *first = NULL, *second = NULL;
    (void)printf("| pull requests of %d cases | runs | red | 95 %% upper bound | cases "
                 "FAIL | bursts a case | INCONCLUSIVE | IMPROVED |\n"
                 "|---|---|---|---|---|---|---|---|\n",
                 CASES);
    for (size_t i = 0; i < sizeof CLEAN / sizeof *CLEAN; i++) {
        const struct sim_cell *c = cell(t, "clean", "", 2000, &CLEAN[i].row);
        first = i == 0 ? c : first;
        second = i == 1 ? c : second;
        if (c->runs > 0) {
            print_clean(t, &CLEAN[i].row, CLEAN[i].promised, c);
            (void)fflush(stdout);
        }
    }
    print_bursts_by_kind(first, CLEAN[0].row.text);
    print_bursts_by_kind(second, CLEAN[1].row.text);
}

/* --- power --- */

/* `aimed`: of the targets. */
static const struct {
    bool aimed;
    struct row row;
} POWER[] = {
    { true, GATE_ROW("ten",
                     "ten slower among 300, noise known",
                     SIM_ALL_KINDS,
                     .scenario = SIM_TEN) },
    { false, GATE_ROW("ten-unknown",
                      "ten slower among 300, noise unknown (0.4 %)",
                      SIM_ALL_KINDS,
                      .scenario = SIM_TEN,
                      .prior = SIM_PRIOR_UNKNOWN) },
    { false, GATE_ROW("ten-margins",
                      "ten slower among 300, margins from the registry",
                      SIM_ALL_KINDS,
                      .scenario = SIM_TEN,
                      .registry_margins = true) },
    { false, GATE_ROW("one-2",
                      "a single one among 300, by 2 %",
                      SIM_ALL_KINDS,
                      .scenario = SIM_ONE_2) },
    { false, GATE_ROW("one-3",
                      "a single one among 300, by 3 %",
                      SIM_ALL_KINDS,
                      .scenario = SIM_ONE_3) },
};

static bool has_target(int kind)
{
    return kind == NOISE_quiet || kind == NOISE_typical || kind == NOISE_ramp;
}

static void print_power(struct sim_tables *t, bool aimed, int kind, const uint64_t *n)
{
    static const double least[EFFECTS] = { 0.95, 0.99, 0.99 };
    static const char *const by[EFFECTS] = { "2 %", "3 %", "5 %" };
    (void)printf("| %s |", noise_name((enum noise_kind)kind));
    for (int e = 0; e < EFFECTS; e++, n += 5) {
        char what[96];
        if (n[0] == 0) {
            (void)printf(" - |");
            continue;
        }
        const double bursts = sim_share(n[2], n[1]);
        (void)printf(" %.2f %% of %llu; %.1f; %.2f %%, %.2f %% |",
                     100 * sim_share(n[1], n[0]), (unsigned long long)n[0], bursts,
                     100 * sim_share(n[3], n[0]), 100 * sim_share(n[4], n[0]));
        if (aimed && has_target(kind)) {
            (void)snprintf(what, sizeof what, "%s: %s found in at least %g %%",
                           noise_name((enum noise_kind)kind), by[e], 100 * least[e]);
            sim_target(t, sim_share(n[1], n[0]) >= least[e], what);
            (void)snprintf(what, sizeof what, "%s: %s found within 33 bursts",
                           noise_name((enum noise_kind)kind), by[e]);
            sim_target(t, bursts <= 33, what);
        }
    }
    (void)printf("\n");
}

void sim_table_power(struct sim_tables *t)
{
    for (size_t i = 0; i < sizeof POWER / sizeof *POWER; i++) {
        const struct row *row = &POWER[i].row;
        const struct sim_cell *c = cell(t, "power", "", 2000, row);
        if (c->runs == 0) {
            continue;
        }
        (void)printf(
            "\n%s: %llu pull requests, %llu with a false FAIL; %.2f bursts a "
            "case. FAIL, of how many; mean bursts to it; PASS, INCONCLUSIVE:\n\n"
            "| noise | 2 %% | 3 %% | 5 %% |\n|---|---|---|---|\n",
            row->text, (unsigned long long)c->runs, (unsigned long long)c->count[RED],
            (double)c->count[BURSTS] / (double)(c->runs * CASES));
        for (int k = 0; k < NOISE_KINDS; k++) {
            print_power(t, POWER[i].aimed, k,
                        c->count + SLOWER_AT + (size_t)5 * EFFECTS * (size_t)k);
        }
        (void)fflush(stdout);
    }
}

/* --- side by side --- */

#define PEER_ROW(which, with_bh, row_name, row_text)                              \
    {                                                                             \
        .name = (row_name), .text = (row_text), .is_peer = true, .bh = (with_bh), \
        .peer = SIM_PEER_##which, .suite = {                                      \
            .cases = CASES                                                        \
        }                                                                         \
    }

static const struct row SUITE[] = {
    PEER_ROW(gbench, false, "gbench", "U-test 5 %, 9+9 one after another (compare.py)"),
    PEER_ROW(benchstat,
             false,
             "benchstat",
             "U-test 5 %, 20+20 interleaved (benchstat)"),
    PEER_ROW(benchstat, true, "bh", "U-test 20+20 interleaved and BH 5 %"),
    PEER_ROW(nvbench, false, "nvbench", "nvbench_compare, 20+20"),
    PEER_ROW(robust, false, "robust", "nvbench robust, 20+20"),
    PEER_ROW(criterion, false, "criterion", "criterion, 100+100, 1 % noise"),
    PEER_ROW(mean5, false, "mean5", "mean threshold 5 %, 5+5"),
    GATE_ROW("gate", "**the gate, alpha 1 %**", SIM_ALL_KINDS, .alpha = 0.01),
    GATE_ROW("gate-5", "the gate, alpha 5 %", SIM_ALL_KINDS, .alpha = 0.05),
};

static double power_of(const struct sim_cell *c, int effect)
{
    uint64_t n = 0, found = 0;
    for (int k = 0; k < NOISE_KINDS; k++) {
        const uint64_t *s =
            c->count + SLOWER_AT + (size_t)5 * (size_t)(EFFECTS * k + effect);
        n += s[0];
        found += s[1];
    }
    return sim_share(found, n);
}

static void suite_row(struct sim_tables *t, const char *mix, struct row row)
{
    char variant[32];
    row.suite.scenario = SIM_CLEAN;
    (void)snprintf(variant, sizeof variant, "%s-clean", mix);
    const struct sim_cell *clean = cell(t, "suite", variant, 200, &row);
    row.suite.scenario = SIM_TEN;
    (void)snprintf(variant, sizeof variant, "%s-ten", mix);
    const struct sim_cell *ten = cell(t, "suite", variant, 200, &row);
    if (clean->runs == 0 || ten->runs == 0) {
        return;
    }
    const double runs = (double)clean->runs;
    (void)printf(
        "| %s | %.2f | %.3f | %.3f | %.2f / %.2f / %.2f | %.0f | %.0f |\n", row.text,
        (double)clean->count[FALSE_FAILS] / runs, (double)clean->count[RED] / runs,
        1e-6 * (double)ten->count[FALSE_SHARE] / (double)ten->runs, power_of(ten, 0),
        power_of(ten, 1), power_of(ten, 2), (double)clean->count[BURSTS] / runs,
        (double)ten->count[BURSTS] / (double)ten->runs);
    (void)fflush(stdout);
}

void sim_table_suite(struct sim_tables *t)
{
    static const struct {
        const char *name, *text;
        unsigned kinds;
    } mixes[] = { { "all", "All six kinds of noise", SIM_ALL_KINDS },
                  { "friendly", "Without ramp and process effects (kind to the peers)",
                    SIM_FRIENDLY_KINDS } };
    for (size_t m = 0; m < 2; m++) {
        (void)printf(
            "\n%s:\n\n| rule | false alarms a clean pull request | falsely red "
            "| false share of FAIL with ten slower | found at 2 / 3 / 5 %% | "
            "bursts, clean | bursts, ten slower |\n|---|---|---|---|---|---|---|"
            "\n",
            mixes[m].text);
        for (size_t i = 0; i < sizeof SUITE / sizeof *SUITE; i++) {
            struct row row = SUITE[i];
            row.suite.kinds = mixes[m].kinds;
            suite_row(t, mixes[m].name, row);
        }
    }
}
