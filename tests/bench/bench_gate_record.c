/* What a gate's record costs a coordinator: 5,000 cases, 24 rounds of one block each,
 * every case open to the end.
 *
 * usage: bench_gate_record [CASES [ROUNDS]]
 *
 * "A round" is what the end of a round costs with the record in memory: its blocks are
 * taken, the gate decides, the next round is drawn. "From the store" is all of it anew,
 * header and blocks, as after a restart (without the database's own time). Processor
 * time of the one thread. */
#include "bench.h"
#include "core/buf.h"
#include "core/parse.h"
#include "core/rng.h"
#include "gate/header.h"
#include "gate/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(enum wf_status status, const struct wf_error *err)
{
    if (status != WF_OK) {
        (void)fprintf(stderr, "bench_gate_record: %s\n", err->text);
        exit(2);
    }
}

static void *need(void *p)
{
    if (p == NULL) {
        (void)fprintf(stderr, "bench_gate_record: no memory\n");
        exit(2);
    }
    return p;
}

/* Nothing settles: 3 % slower, no certificate, a sign process that never agrees. */
static char *header_text(size_t cases)
{
    static const uint8_t seed[WF_GATE_SEED_BYTES] = { 1 };
    static const struct wf_gate_rule usual = WF_GATE_PR_RULE;
    static const struct wf_gate_margins margins = WF_GATE_MARGINS_DEFAULT;
    struct wf_gate_header_pair *pair = need(wf_calloc(cases, sizeof *pair));
    char(*key)[32] = need(wf_calloc(cases, sizeof *key));
    struct wf_json *kase = NULL, *header = NULL;
    struct wf_error err;
    char *text = NULL;
    must(wf_json_parse("{\"op\":\"gemm\"}", 13, "case", &kase, &err), &err);
    for (size_t i = 0; i < cases; i++) {
        (void)snprintf(key[i], sizeof key[i], "case%zu/k", i);
        pair[i] = (struct wf_gate_header_pair){ .pair = { .key = key[i],
                                                          .case_id = key[i],
                                                          .case_name = key[i],
                                                          .op = "gemm",
                                                          .kernel = { "k", "k" },
                                                          .margins = margins,
                                                          .blocks = 1 },
                                                .case_json = kase };
    }
    struct wf_gate_header h = { .seed = seed,
                                .name = "",
                                .suite = "many",
                                .runtime = "cuda",
                                .measured = true,
                                .rule = usual,
                                .groups = 1,
                                .pair = pair,
                                .pair_count = cases };
    h.rule.pass_least = h.rule.sign_least = 1e9;
    h.rule.max_blocks = 100;
    h.pack[0].name = "base";
    h.pack[0].id = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    h.pack[1].name = "candidate";
    h.pack[1].id = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    must(wf_gate_header_make(&h, &header, &err), &err);
    must(wf_json_text(header, &text, &err), &err);
    wf_json_free(header);
    wf_json_free(kase);
    free(key);
    free(pair);
    return text;
}

static struct wf_gate_record *create(const char *header)
{
    struct wf_json *json = NULL;
    struct wf_gate_record *r = NULL;
    struct wf_error err;
    must(wf_json_parse(header, strlen(header), "header", &json, &err), &err);
    must(wf_gate_record_create(json, &r, &err), &err);
    return r;
}

static void make_block(const struct wf_gate_todo *t,
                       int32_t round,
                       struct wf_gate_block *ret)
{
    *ret = (struct wf_gate_block){ .round = round, .mask = t->mask[0] };
    for (uint64_t i = 0; i < WF_GATE_SLOTS; i++) {
        ret->y[i] = 10 + ((ret->mask >> i & 1) != 0 ? 0.03 : 0) +
                    0.011 * wf_rng_normal(1, t->pair,
                                          ((uint64_t)round * WF_GATE_SLOTS + i) * 2);
    }
}

/* `todo` is the round to take, and becomes the one after it. */
static void end_round(struct wf_gate_record *r,
                      int32_t *round,
                      const struct wf_gate_block *blocks,
                      struct wf_gate_todo *todo,
                      size_t *n)
{
    static const char *const right[2] = { "PASS", "PASS" };
    struct wf_error err;
    for (size_t i = 0; i < *n; i++) {
        must(wf_gate_record_take_pair(r, todo[i].pair, *round, right, &blocks[i], 1,
                                      &err),
             &err);
    }
    must(wf_gate_record_take_round(r, 0, *round, false, &err), &err);
    must(wf_gate_record_next(r, 0, round, todo, n, &err), &err);
}

int main(int argc, char **argv)
{
    int64_t cases = 5000, rounds = 24;
    struct wf_error err;
    if (argc > 1) {
        must(wf_parse_i64(argv[1], "CASES", 1, 100000, &cases, &err), &err);
    }
    if (argc > 2) {
        must(wf_parse_i64(argv[2], "ROUNDS", 2, 64, &rounds, &err), &err);
    }
    const size_t count = (size_t)cases;
    char *header = header_text(count);
    struct wf_gate_todo *todo = need(wf_calloc(count, sizeof *todo));
    struct wf_gate_block *blocks =
        need(wf_calloc(count * (size_t)rounds, sizeof *blocks));
    double round_ms[64], all_ms = 0;
    size_t n = 0;
    int32_t round = 0;
    double start = bench_cpu_s();
    struct wf_gate_record *r = create(header);
    must(wf_gate_record_next(r, 0, &round, todo, &n, &err), &err);
    all_ms = 1e3 * (bench_cpu_s() - start);
    for (int64_t k = 0; k < rounds; k++) {
        struct wf_gate_block *b = blocks + (size_t)k * count;
        for (size_t i = 0; i < n; i++) {
            make_block(&todo[i], round, &b[i]);
        }
        start = bench_cpu_s();
        end_round(r, &round, b, todo, &n);
        round_ms[k] = 1e3 * (bench_cpu_s() - start);
        all_ms += round_ms[k];
    }
    (void)printf(
        "%zu cases, %" PRId64
        " rounds, %zu open\n\n| what | processor ms |\n|---|---|\n"
        "| a round: blocks taken, decision, next round drawn (asked: below 100) "
        "| %.1f |\n| the last one of these | %.1f |\n| from the store: header "
        "and all rounds | %.0f |\n",
        count, rounds, n, bench_median(round_ms, (size_t)rounds), round_ms[rounds - 1],
        all_ms);
    wf_gate_record_free(r);
    free(blocks);
    free(todo);
    free(header);
    return round_ms[rounds - 1] < 100 ? 0 : 1;
}
