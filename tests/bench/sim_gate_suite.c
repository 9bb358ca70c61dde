#include "core/buf.h"
#include "core/rng.h"
#include "gate/draw.h"
#include "sim_gate.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 256 /* of a pull request: room in the numbers of runs */

_Noreturn void sim_fail(const char *what)
{
    (void)fprintf(stderr, "sim_gate: %s\n", what);
    exit(2);
}

static void must(enum wf_status status, const struct wf_error *err)
{
    if (status != WF_OK) {
        sim_fail(err->text);
    }
}

uint64_t sim_mix(uint64_t seed, uint64_t salt)
{
    return wf_rng_u64(seed, UINT64_MAX - 1, salt);
}

/* What a registry says of each kind. */
static double registry[NOISE_KINDS];

static void fill_registry(void)
{
    for (int k = 0; k < NOISE_KINDS; k++) {
        registry[k] = noise_slot_sd((enum noise_kind)k);
    }
}

static double registry_sd(enum noise_kind kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, fill_registry);
    return registry[kind];
}

static double prior_sd(enum sim_prior prior, enum noise_kind kind, double z)
{
    switch (prior) {
    case SIM_PRIOR_REGISTRY:
        return registry_sd(kind) * exp(0.2 * z);
    case SIM_PRIOR_WRONG:
        return registry_sd(kind) * exp(1.1 * z);
    case SIM_PRIOR_UNKNOWN:
        break;
    }
    return 0.004;
}

static void gate_seed(uint64_t seed, uint64_t run, uint8_t ret[WF_GATE_SEED_BYTES])
{
    for (size_t i = 0; i < WF_GATE_SEED_BYTES / 8; i++) {
        const uint64_t word = wf_rng_u64(seed, UINT64_MAX - 2, run * 4 + i);
        memcpy(ret + 8 * i, &word, 8);
    }
}

/* --- a pull request --- */

static enum noise_kind nth_kind(unsigned kinds, size_t n)
{
    enum noise_kind have[NOISE_KINDS] = { 0 };
    size_t count = 0;
    for (int k = 0; k < NOISE_KINDS; k++) {
        if ((kinds >> k & 1) != 0) {
            have[count++] = (enum noise_kind)k;
        }
    }
    return have[n % count];
}

static size_t slower_cases(enum sim_scenario s, const double **ret)
{
    static const double ten[] = { .02, .02, .02, .02, .03, .03, .03, .05, .05, .05 };
    *ret = s == SIM_ONE_3 ? ten + 4 : ten;
    return s == SIM_CLEAN ? 0 : s == SIM_TEN ? 10 : 1;
}

void sim_suite_cases(const struct sim_suite *s,
                     uint64_t seed,
                     uint64_t run,
                     struct sim_case *ret)
{
    struct wf_rng rng = { seed, UINT64_MAX - 3, run << 16 };
    const double *effects;
    const size_t slower = slower_cases(s->scenario, &effects);
    for (size_t i = 0; i < s->cases; i++) {
        ret[i] =
            (struct sim_case){ .kind = nth_kind(s->kinds, i), .effect = s->effect };
    }
    for (size_t i = 0; i < slower;) {
        struct sim_case *c = &ret[wf_rng_next_below(&rng, s->cases)];
        if (!c->regressed) {
            c->regressed = true;
            c->effect = effects[i++];
        }
    }
}

struct pull {
    const struct sim_suite *suite;
    struct wf_gate *gate;
    struct sim_case *cases;
    uint64_t seed, run;
    uint8_t drawn[WF_GATE_SEED_BYTES];
    bool open[SIM_CASES_MAX];
};

static struct wf_gate_margins margins_of(const struct sim_suite *s,
                                         enum noise_kind kind,
                                         double s0)
{
    struct wf_gate_margins m = WF_GATE_MARGINS_DEFAULT;
    if (s->registry_margins) {
        /* of the difference of two arms */
        return wf_gate_margins_for(s0, noise_layout(kind) * sqrt(2));
    }
    m.s0 = s0;
    return m;
}

static void begin(struct pull *p)
{
    struct wf_gate_rule rule = WF_GATE_PR_RULE;
    struct wf_error err;
    rule.alpha = p->suite->alpha > 0 ? p->suite->alpha : rule.alpha;
    must(wf_gate_create(&rule, &p->gate, &err), &err);
    for (size_t i = 0; i < p->suite->cases; i++) {
        const enum noise_kind kind = p->cases[i].kind;
        const double z =
            wf_rng_normal(p->seed, UINT64_MAX - 4, 2 * (p->run * SIM_CASES_MAX + i));
        const struct wf_gate_margins m =
            margins_of(p->suite, kind, prior_sd(p->suite->prior, kind, z));
        must(wf_gate_add_pair(p->gate, WF_GATE_CASE, &m, 0, &err), &err);
        p->open[i] = true;
    }
}

static void measure(struct pull *p, size_t i, int32_t round, struct noise_path *path)
{
    const bool same = p->suite->dependence == SIM_SAME;
    const uint64_t noise = p->run * SIM_CASES_MAX + (same ? 0 : i);
    struct wf_gate_block b = { .round = round };
    unsigned char arm[WF_GATE_SLOTS];
    double x[WF_GATE_SLOTS * NOISE_SLOT];
    struct wf_error err;
    char key[32];
    (void)snprintf(key, sizeof key, "case%zu", same ? 0 : i);
    b.mask = (uint8_t)wf_gate_draw_mask(p->drawn, key, round, 0);
    for (size_t k = 0; k < WF_GATE_SLOTS; k++) {
        arm[k] = b.mask >> k & 1;
    }
    noise_session(
        &(struct noise_session){ .kind = p->cases[i].kind,
                                 .slots = WF_GATE_SLOTS,
                                 .ramp_slots = path == NULL
                                                   ? SIM_RAMP_SLOTS
                                                   : WF_GATE_SLOTS * p->suite->cases,
                                 .layout = -1,
                                 .effect = p->cases[i].effect,
                                 .seed = p->seed,
                                 .run = noise * ROUNDS_MAX + (uint64_t)round,
                                 .path = path },
        arm, x);
    for (size_t k = 0; k < WF_GATE_SLOTS; k++) {
        b.y[k] = noise_slot_value(x + k * NOISE_SLOT);
    }
    must(wf_gate_add_block(p->gate, i, &b, &err), &err);
}

/* A round: one process, every open case once, in the drawn order. */
static void one_round(struct pull *p, int32_t round)
{
    struct noise_path path = { .begun = false };
    size_t order[SIM_CASES_MAX];
    wf_gate_draw_order(p->drawn, 0, round, order, p->suite->cases);
    for (size_t i = 0; i < p->suite->cases; i++) {
        if (p->open[order[i]]) {
            measure(p, order[i], round,
                    p->suite->dependence == SIM_PATH ? &path : NULL);
        }
    }
}

static void look(struct pull *p)
{
    for (size_t i = 0; i < p->suite->cases; i++) {
        struct wf_gate_figures f;
        if (p->open[i]) {
            wf_gate_evidence(p->gate, i, &f);
            p->cases[i].verdict = f.verdict;
            p->cases[i].blocks = f.blocks;
            p->open[i] = f.verdict == WF_GATE_VERDICT_OPEN;
        }
    }
}

void sim_suite_run(const struct sim_suite *s,
                   uint64_t seed,
                   uint64_t run,
                   struct sim_case *ret)
{
    struct pull *p = wf_calloc(1, sizeof *p);
    size_t open = s->cases;
    struct wf_error err;
    if (p == NULL || s->cases > SIM_CASES_MAX || s->kinds == 0) {
        sim_fail("no memory, or a pull request that makes no sense");
    }
    *p = (struct pull){ .suite = s, .cases = ret, .seed = seed, .run = run };
    sim_suite_cases(s, seed, run, ret);
    gate_seed(seed, run, p->drawn);
    begin(p);
    for (int32_t round = 0; open > 0; round++) {
        if (round >= ROUNDS_MAX) {
            sim_fail("the gate does not end");
        }
        one_round(p, round);
        must(wf_gate_decide(p->gate, &open, &err), &err);
        look(p);
    }
    wf_gate_free(p->gate);
    free(p);
}

/* --- one case --- */

static void note(struct sim_alone_result *r, const struct wf_gate_figures *f)
{
    r->verdict = f->verdict;
    r->blocks = f->blocks;
    r->log_w_slower = fmax(r->log_w_slower, f->log_w_slower);
    if (f->log_sign_slower >= log(20)) {
        r->log_w_and_sign = fmax(r->log_w_and_sign, f->log_w_slower);
    }
    r->pass_two = r->pass_two || (f->rounds >= 2 && f->log_w_pass >= log(20));
    r->pass_three = r->pass_three || (f->rounds >= 3 && f->log_w_pass >= log(50));
}

/* Without a decision nothing is ever settled: the processes run on. */
static bool give(struct wf_gate *g,
                 const struct wf_gate_block *b,
                 bool to_the_end,
                 struct sim_alone_result *ret)
{
    struct wf_gate_figures f;
    struct wf_error err;
    size_t open = 1;
    must(wf_gate_add_block(g, 0, b, &err), &err);
    if (!to_the_end) {
        must(wf_gate_decide(g, &open, &err), &err);
    }
    wf_gate_evidence(g, 0, &f);
    note(ret, &f);
    return open > 0;
}

static struct wf_gate *one_pair(const struct wf_gate_rule *rule,
                                const struct wf_gate_margins *m,
                                struct sim_alone_result *ret)
{
    struct wf_gate *g = NULL;
    struct wf_error err;
    must(wf_gate_create(rule, &g, &err), &err);
    must(wf_gate_add_pair(g, WF_GATE_CASE, m, 0, &err), &err);
    *ret = (struct sim_alone_result){ .verdict = WF_GATE_VERDICT_OPEN,
                                      .log_w_slower = -INFINITY,
                                      .log_w_and_sign = -INFINITY };
    return g;
}

static void block_alone(const struct sim_alone *a,
                        const uint8_t drawn[WF_GATE_SEED_BYTES],
                        uint64_t seed,
                        uint64_t run,
                        struct wf_gate_block *b)
{
    unsigned char arm[WF_GATE_SLOTS];
    double x[WF_GATE_SLOTS * NOISE_SLOT];
    b->mask = (uint8_t)wf_gate_draw_mask(drawn, "case", b->round, 0);
    for (size_t k = 0; k < WF_GATE_SLOTS; k++) {
        arm[k] = b->mask >> k & 1;
    }
    noise_session(
        &(struct noise_session){ .kind = a->kind,
                                 .slots = WF_GATE_SLOTS,
                                 .ramp_slots = SIM_RAMP_SLOTS,
                                 .layout = a->layout,
                                 .effect = a->effect,
                                 .seed = seed,
                                 .run = run * ROUNDS_MAX + (uint64_t)b->round },
        arm, x);
    for (size_t k = 0; k < WF_GATE_SLOTS; k++) {
        b->y[k] = noise_slot_value(x + k * NOISE_SLOT);
    }
}

void sim_alone_run(const struct sim_alone *a,
                   bool to_the_end,
                   uint64_t seed,
                   uint64_t run,
                   struct sim_alone_result *ret)
{
    const double z = wf_rng_normal(seed, UINT64_MAX - 4, 2 * run);
    struct wf_gate_margins m = a->margins;
    struct wf_gate_block b = { .round = 0 };
    uint8_t drawn[WF_GATE_SEED_BYTES];
    m.s0 = prior_sd(a->prior, a->kind, z);
    gate_seed(seed, run, drawn);
    struct wf_gate *g = one_pair(&a->rule, &m, ret);
    for (bool open = true; open && b.round < a->rule.max_blocks; b.round++) {
        block_alone(a, drawn, seed, run, &b);
        open = give(g, &b, to_the_end, ret);
    }
    wf_gate_free(g);
}

void sim_alone_blocks(const struct wf_gate_rule *rule,
                      const struct wf_gate_margins *m,
                      const struct wf_gate_block *blocks,
                      size_t n,
                      bool to_the_end,
                      struct sim_alone_result *ret)
{
    struct wf_gate *g = one_pair(rule, m, ret);
    for (size_t i = 0; i < n && give(g, &blocks[i], to_the_end, ret); i++) {
    }
    wf_gate_free(g);
}
