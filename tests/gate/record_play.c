#include "record_play.h"

#include "core/buf.h"
#include "core/rng.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint8_t play_seed[WF_GATE_SEED_BYTES] = { 9, 8, 7, 6, 5, 4, 3, 2, 1 };

static void fill_pair(struct wf_gate_header_pair *p,
                      const char *key,
                      enum wf_gate_role role)
{
    static const struct wf_gate_margins usual = WF_GATE_MARGINS_DEFAULT;

    p->pair = (struct wf_gate_pair){ .key = key,
                                     .case_id = "c0ffee",
                                     .case_name = key,
                                     .op = "gemm",
                                     .kernel = { "k", "k" },
                                     .role = role,
                                     .margins = usual,
                                     .blocks = role == WF_GATE_CASE ? 1 : 2 };
    p->pair.margins.d0 = role == WF_GATE_SENTINEL_SAME ? 0 : usual.d0;
}

struct wf_json *play_header(int cases, int groups, bool with_sentinels)
{
    static const char id[] =
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    static const struct wf_gate_rule rule = WF_GATE_PR_RULE;
    struct wf_gate_header_pair pair[16] = { { .estimate_ns = 0 } };
    struct wf_gate_header_pair sentinel[2] = { { .estimate_ns = 0 } };
    char key[16][16];
    struct wf_gate_header h = {
        .gate = "0123456789abcdef",
        .seed = play_seed,
        .created = "2026-01-02T03:04:05Z",
        .name = "a test",
        .suite = "made-up",
        .runtime = "none",
        .measured = true,
        .rule = rule,
        .pack = { { .id = id, .name = "base" },
                  { .id = id, .name = "cand" },
                  { .id = id, .name = "sentinel" } },
        .groups = groups,
        .pair = pair,
        .pair_count = (size_t)cases,
        .sentinel = sentinel,
        .sentinel_count = with_sentinels ? 2 : 0,
    };
    struct wf_json *ret = NULL;
    struct wf_error err = { .text = "" };

    cr_assert(cases <= 16);
    for (int i = 0; i < cases; i++) {
        (void)snprintf(key[i], sizeof key[i], "case-%d/k", i);
        fill_pair(&pair[i], key[i], WF_GATE_CASE);
    }
    fill_pair(&sentinel[0], "same/alu", WF_GATE_SENTINEL_SAME);
    fill_pair(&sentinel[1], "slower/alu", WF_GATE_SENTINEL_SLOWER);
    cr_assert_eq(wf_gate_header_make(&h, &ret, &err), WF_OK, "%s", err.text);
    return ret;
}

struct wf_gate_record *play_record(int cases, int groups, bool with_sentinels)
{
    struct wf_gate_record *r = NULL;
    struct wf_error err = { .text = "" };

    cr_assert_eq(
        wf_gate_record_create(play_header(cases, groups, with_sentinels), &r, &err),
        WF_OK, "%s", err.text);
    return r;
}

static struct wf_json *answer_json(const char *answer)
{
    struct wf_json *o = wf_json_object();

    cr_assert_eq(wf_json_set_string(o, "answer", answer, NULL), WF_OK);
    return o;
}

static struct wf_json *block_json(const struct play *p,
                                  const struct wf_gate_todo *todo,
                                  int k,
                                  int32_t round,
                                  double effect)
{
    struct wf_json *o = wf_json_object();
    struct wf_json *y = wf_json_array();
    uint64_t stream = 1000 * p->stream + todo->pair;
    double noise = p->noise > 0 ? p->noise : 0.003;

    for (unsigned i = 0; i < WF_GATE_SLOTS; i++) {
        double z = wf_rng_normal(5, stream, (uint64_t)(round * 32 + k * 4) + i);
        double v =
            9 + noise * z + (((unsigned)todo->mask[k] >> i & 1U) != 0 ? effect : 0);
        if (p->level_round > 0 && round >= p->level_round) {
            v += p->level_step;
        }
        cr_assert_eq(wf_json_push_f64(y, v, NULL), WF_OK);
    }
    cr_assert_eq(wf_json_set_i64(o, "mask", todo->mask[k], NULL), WF_OK);
    cr_assert_eq(wf_json_set_take(o, "y", y, NULL), WF_OK);
    cr_assert_eq(wf_json_set_string(o, "rejected", "", NULL), WF_OK);
    return o;
}

static void put_head(struct wf_json *o,
                     const struct wf_gate_record *r,
                     const char *kind,
                     int group,
                     int32_t round)
{
    const char *gate = wf_json_string(wf_json_find(wf_gate_record_header(r), "gate"));

    cr_assert_eq(wf_json_set_string(o, "kind", kind, NULL), WF_OK);
    cr_assert_eq(wf_json_set_string(o, "gate", gate, NULL), WF_OK);
    cr_assert_eq(wf_json_set_i64(o, "round", round, NULL), WF_OK);
    cr_assert_eq(wf_json_set_i64(o, "group", group, NULL), WF_OK);
}

struct wf_json *play_pair_line(const struct wf_gate_record *r,
                               const struct play *p,
                               const struct wf_gate_todo *todo,
                               int32_t round)
{
    const struct wf_gate_pair *pair = wf_gate_record_pair(r, todo->pair);
    const char *base = p->base[todo->pair % 16];
    const char *candidate = p->candidate[todo->pair % 16];
    double effect = pair->role == WF_GATE_SENTINEL_SLOWER ? 0.03 : 0;
    struct wf_json *o = wf_json_object();
    struct wf_json *blocks = wf_json_array();

    effect += p->effect[todo->pair % 16];
    put_head(o, r, "pair", pair->device, round);
    cr_assert_eq(wf_json_set_string(o, "pair", pair->key, NULL), WF_OK);
    cr_assert_eq(
        wf_json_set_take(o, "base", answer_json(base == NULL ? "PASS" : base), NULL),
        WF_OK);
    cr_assert_eq(wf_json_set_take(o, "candidate",
                                  answer_json(candidate == NULL ? "PASS" : candidate),
                                  NULL),
                 WF_OK);
    for (int k = 0; k < todo->block_count && base == NULL && candidate == NULL; k++) {
        cr_assert_eq(
            wf_json_push_take(blocks, block_json(p, todo, k, round, effect), NULL),
            WF_OK);
    }
    cr_assert_eq(wf_json_set_take(o, "blocks", blocks, NULL), WF_OK);
    return o;
}

struct wf_json *play_round_line(const struct wf_gate_record *r,
                                int device,
                                int32_t round,
                                const char *is_void)
{
    struct wf_json *o = wf_json_object();

    put_head(o, r, "round", device, round);
    cr_assert_eq(wf_json_set_string(o, "void", is_void, NULL), WF_OK);
    return o;
}

void play_add(struct wf_gate_record *r, struct wf_json *line)
{
    struct wf_error err = { .text = "" };

    cr_assert_eq(wf_gate_record_add(r, line, &err), WF_OK, "%s", err.text);
}

bool play_round(struct wf_gate_record *r,
                const struct play *p,
                int device,
                const char *is_void)
{
    struct wf_gate_todo todo[64];
    struct wf_error err = { .text = "" };
    size_t n = 0;
    int32_t round = 0;

    cr_assert(wf_gate_record_count(r) <= 64);
    cr_assert_eq(wf_gate_record_next(r, device, &round, todo, &n, &err), WF_OK, "%s",
                 err.text);
    if (n == 0) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        play_add(r, play_pair_line(r, p, &todo[i], round));
    }
    play_add(r, play_round_line(r, device, round, is_void));
    return true;
}

void play_to_the_end(struct wf_gate_record *r, const struct play *p)
{
    int64_t groups = 0;
    bool more = true;
    struct wf_json *verdict = NULL;

    cr_assert(
        wf_json_as_i64(wf_json_find(wf_gate_record_header(r), "groups"), &groups));
    while (more) {
        more = false;
        for (int g = 0; g < groups; g++) {
            more = play_round(r, p, g, "") || more;
        }
    }
    cr_assert_eq(wf_gate_record_verdict(r, &verdict, NULL), WF_OK);
    play_add(r, verdict);
}

char *play_text(const struct wf_gate_record *r)
{
    struct wf_buf b = WF_BUF_INIT;

    cr_assert_eq(wf_json_write(wf_gate_record_header(r), &b, NULL), WF_OK);
    cr_assert_eq(wf_buf_puts(&b, "\n", NULL), WF_OK);
    for (size_t i = 0; i < wf_gate_record_line_count(r); i++) {
        cr_assert_eq(wf_json_write(wf_gate_record_line(r, i), &b, NULL), WF_OK);
        cr_assert_eq(wf_buf_puts(&b, "\n", NULL), WF_OK);
    }
    return b.data;
}
