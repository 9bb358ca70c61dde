/* What a decision of the gate costs: 5,000 cases of 24 blocks, none decided before its
 * last block.
 *
 * usage: bench_gate_decide [CASES [BLOCKS]]
 *
 * "decide" is wf_gate_decide with all blocks there; "a round" that and one block more
 * of every case; "from nothing" a gate built from all its blocks, as after a restart.
 */
#include "bench.h"
#include "core/buf.h"
#include "core/parse.h"
#include "core/rng.h"
#include "sim_gate.h"

#include <stdio.h>
#include <stdlib.h>

#define TIMES 11

static void must(enum wf_status status, const struct wf_error *err)
{
    if (status != WF_OK) {
        sim_fail(err->text);
    }
}

static void make_block(uint64_t pair, int32_t round, struct wf_gate_block *b)
{
    unsigned char arm[WF_GATE_SLOTS];
    double x[WF_GATE_SLOTS * NOISE_SLOT];
    const uint64_t run = pair * 64 + (uint64_t)round;
    *b = (struct wf_gate_block){ .round = round };
    b->mask =
        (uint8_t)wf_gate_mask((unsigned)wf_rng_below(1, 7, run, WF_GATE_MASK_COUNT));
    for (size_t i = 0; i < WF_GATE_SLOTS; i++) {
        arm[i] = b->mask >> i & 1;
    }
    noise_session(&(struct noise_session){ .kind = NOISE_noisy,
                                           .slots = WF_GATE_SLOTS,
                                           .effect = 0.03,
                                           .seed = 1,
                                           .run = run },
                  arm, x);
    for (size_t i = 0; i < WF_GATE_SLOTS; i++) {
        b->y[i] = noise_slot_value(x + i * NOISE_SLOT);
    }
}

static struct wf_gate *build(size_t cases,
                             int rounds,
                             const struct wf_gate_block *blocks)
{
    const struct wf_gate_margins m = WF_GATE_MARGINS_DEFAULT;
    struct wf_gate_rule rule = WF_GATE_PR_RULE;
    struct wf_gate *g = NULL;
    struct wf_error err;
    /* Open to the end although there is evidence: the dearest, all processes are run.
     */
    rule.max_blocks = 64;
    rule.pass_least = 1e9;
    rule.sign_least = 1e9;
    must(wf_gate_create(&rule, &g, &err), &err);
    for (size_t i = 0; i < cases; i++) {
        must(wf_gate_add_pair(g, WF_GATE_CASE, &m, 0, &err), &err);
    }
    for (int r = 0; r < rounds; r++) {
        for (size_t i = 0; i < cases; i++) {
            must(wf_gate_add_block(g, i, &blocks[(size_t)r * cases + i], &err), &err);
        }
    }
    return g;
}

static double ms_since(double start)
{
    return 1e3 * (bench_cpu_s() - start);
}

static size_t decide(struct wf_gate *g)
{
    size_t open = 0;
    struct wf_error err;
    must(wf_gate_decide(g, &open, &err), &err);
    return open;
}

/* The rounds after the first `have`, each with its decision. */
static void time_rounds(struct wf_gate *g,
                        size_t cases,
                        int have,
                        const struct wf_gate_block *blocks,
                        double *ret_decide_ms,
                        double *ret_round_ms)
{
    double decide_ms[TIMES], round_ms[TIMES];
    struct wf_error err;
    for (int t = 0; t < TIMES; t++) {
        const double start = bench_cpu_s();
        for (size_t i = 0; i < cases; i++) {
            const size_t at = (size_t)(have + t) * cases + i;
            must(wf_gate_add_block(g, i, &blocks[at], &err), &err);
        }
        const double added = bench_cpu_s();
        (void)decide(g);
        decide_ms[t] = ms_since(added);
        round_ms[t] = ms_since(start);
    }
    *ret_decide_ms = bench_median(decide_ms, TIMES);
    *ret_round_ms = bench_median(round_ms, TIMES);
}

int main(int argc, char **argv)
{
    int64_t cases = 5000, rounds = 24;
    double decide_ms, round_ms;
    struct wf_error err;
    if ((argc > 1 &&
         wf_parse_i64(argv[1], "CASES", 1, 100000, &cases, &err) != WF_OK) ||
        (argc > 2 && wf_parse_i64(argv[2], "BLOCKS", 2, 48, &rounds, &err) != WF_OK)) {
        sim_fail(err.text);
    }
    const size_t n = (size_t)cases;
    const size_t total = n * (size_t)(rounds + TIMES);
    struct wf_gate_block *blocks = wf_calloc(total, sizeof *blocks);
    if (blocks == NULL) {
        sim_fail("no memory");
    }
    for (size_t i = 0; i < total; i++) {
        make_block(i % n, (int32_t)(i / n), &blocks[i]);
    }
    const double start = bench_cpu_s();
    struct wf_gate *g = build(n, (int)rounds, blocks);
    const size_t open = decide(g);
    const double nothing_ms = ms_since(start);
    time_rounds(g, n, (int)rounds, blocks, &decide_ms, &round_ms);
    (void)printf(
        "%zu cases, %d blocks each, %zu open\n\n| what | processor ms |\n|---|---|\n"
        "| decide (asked: below 100) | %.2f |\n| a round: its blocks and the "
        "decision | %.2f |\n| from nothing: all blocks and the decision | %.1f "
        "|\n",
        n, (int)rounds, open, decide_ms, round_ms, nothing_ms);
    wf_gate_free(g);
    free(blocks);
    return decide_ms < 100 ? 0 : 1;
}
