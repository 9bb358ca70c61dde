/* Makes a gate's record as a device would have, from invented noise: for tests of what
 * is said about gates. The blocks are those that the seed gives, so the record can be
 * read, replayed and gone on with.
 *
 *   gate_record_maker [--policy FILE] [--baseline JSON] [--provenance JSON JSON]
 *       [--modelled] [--rounds N] [--static JSON] [--sentinels good|same|blind]
 *       [--packs ID ID] [--device JSON]
 *       CASE/KERNEL=WHAT ...  > record.jsonl
 *
 * WHAT: a number (log ratio candidate / base), wrong, base-wrong, both-wrong, new,
 * removed, unchanged, unsupported, lost, throttles (15 % slower, by the clock), noisy.
 * --rounds N: ends after N rounds, in the middle of round N + 1, without a verdict. */
#include "core/parse.h"
#include "core/rng.h"
#include "gate/header.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST  400
#define NOISE 0.004

struct maker {
    struct wf_gate_header h;
    struct wf_gate_header_pair pair[MOST], sentinel[MOST];
    const char *what[MOST], *sentinels;
    int64_t rounds;
    struct wf_json *policy, *baseline, *provenance[2], *measure, *kase, *devices;
    const char *statics, *pack[2], *device;
    struct wf_gate_record *record;
    uint64_t drawn;
};

static void die(const struct wf_error *err)
{
    fprintf(stderr, "gate_record_maker: %s\n", err->text);
    exit(2);
}

static struct wf_json *parse(const char *text)
{
    struct wf_error err = { 0 };
    struct wf_json *v = NULL;
    if (wf_json_parse(text, strlen(text), "argument", &v, &err) != WF_OK) {
        die(&err);
    }
    return v;
}

static void put(const struct wf_json *line)
{
    struct wf_error err = { 0 };
    char *text = NULL;
    if (wf_json_text(line, &text, &err) != WF_OK) {
        die(&err);
    }
    printf("%s\n", text);
    free(text);
}

static const char *what_of(const struct maker *m, const struct wf_gate_pair *p)
{
    if (p->role == WF_GATE_SENTINEL_SAME) {
        return strcmp(m->sentinels, "same") == 0 ? "0.05" : "0";
    }
    if (p->role == WF_GATE_SENTINEL_SLOWER) {
        return strcmp(m->sentinels, "blind") == 0 ? "0" : "0.03";
    }
    for (size_t i = 0; i < m->h.pair_count; i++) {
        if (strcmp(m->pair[i].pair.key, p->key) == 0) {
            return m->what[i];
        }
    }
    return "0";
}

static bool is(const char *what, const char *name)
{
    return strcmp(what, name) == 0;
}

static double effect_of(const char *what)
{
    double v = is(what, "throttles") ? 0.14 : 0;
    (void)wf_parse_f64(what, "effect", -1, 1, &v, NULL);
    return v;
}

/* --- lines --- */

static const char wrong_arm[] =
    "{\"answer\":\"MISMATCH\",\"answer_text\":\"12 of 64 elements differ\",\"result\":{"
    "\"schema\":\"wavefarm.result/1\",\"answer\":\"MISMATCH\",\"task\":{},\"details\":{},"
    "\"diagnosis\":\"the last column is left out\",\"errors\":{\"mismatches\":12,"
    "\"nonfinite\":0,\"unwritten\":0,\"max_abs\":3,\"max_rel\":1,\"first\":{\"tensor\":"
    "\"D\",\"index\":[0,17],\"got\":0,\"want\":2.5,\"tolerance\":0.001}}}}";

static struct wf_json *arm(const struct wf_gate_pair *p, int i, const char *what)
{
    if (p->kernel[i] == NULL) {
        return NULL;
    }
    if (is(what, "unsupported")) {
        return parse("{\"answer\":\"NOT_SUPPORTED\",\"answer_text\":\"only f32\"}");
    }
    return is(what, i == 0 ? "base-wrong" : "wrong") || is(what, "both-wrong")
               ? parse(wrong_arm)
               : parse("{\"answer\":\"PASS\",\"answer_text\":\"\"}");
}

static void set_arm(struct wf_json *line, const char *key, struct wf_json *v)
{
    if (v == NULL) {
        (void)wf_json_set_null(line, key, NULL);
    } else {
        (void)wf_json_set_take(line, key, v, NULL);
    }
}

static struct wf_json *block(struct maker *m, uint8_t mask, const char *what)
{
    struct wf_json *b =
        parse("{\"mask\":0,\"y\":[],\"t_ns\":[],\"clock_mhz\":[null,null,"
              "null,null],\"power_w\":[null,null,null,null],"
              "\"temperature_c\":[null,null,null,null]}");
    struct wf_json *y = wf_json_array(), *t = wf_json_array();
    const double noise = is(what, "noisy") ? 0.2 : NOISE;
    for (unsigned i = 0; i < WF_GATE_SLOTS; i++) {
        const double shift = ((unsigned)mask >> i & 1u) != 0 ? effect_of(what) : 0;
        const double v = log(50000) + shift + noise * wf_rng_normal(7, 1, m->drawn++);
        struct wf_json *times = wf_json_array();
        for (int k = 0; k < 5; k++) {
            (void)wf_json_push_f64(times, exp(v), NULL);
        }
        (void)wf_json_push_f64(y, v, NULL);
        (void)wf_json_push_take(t, times, NULL);
    }
    (void)wf_json_set_i64(b, "mask", mask, NULL);
    (void)wf_json_set_take(b, "y", y, NULL);
    (void)wf_json_set_take(b, "t_ns", t, NULL);
    (void)wf_json_set_string(b, "rejected",
                             is(what, "lost")        ? "throttled: power"
                             : is(what, "throttles") ? "the clock fell"
                                                     : "",
                             NULL);
    return b;
}

static void add(struct maker *m, struct wf_json *line)
{
    struct wf_error err = { 0 };
    if (wf_gate_record_add(m->record, line, &err) != WF_OK) {
        die(&err);
    }
    put(wf_gate_record_line(m->record, wf_gate_record_line_count(m->record) - 1));
}

static void add_pair(struct maker *m, int32_t round, const struct wf_gate_todo *todo)
{
    const struct wf_gate_pair *p = wf_gate_record_pair(m->record, todo->pair);
    const char *what = what_of(m, p);
    struct wf_json *line = parse("{\"kind\":\"pair\",\"gate\":\"00112233445566aa\"}");
    struct wf_json *blocks = wf_json_array();
    const bool silent = is(what, "wrong") || is(what, "base-wrong") ||
                        is(what, "both-wrong") || is(what, "unsupported") ||
                        p->kernel[0] == NULL;
    for (int i = 0; i < todo->block_count && !silent; i++) {
        (void)wf_json_push_take(blocks, block(m, todo->mask[i], what), NULL);
    }
    (void)wf_json_set_i64(line, "round", round, NULL);
    (void)wf_json_set_i64(line, "group", 0, NULL);
    (void)wf_json_set_string(line, "pair", p->key, NULL);
    (void)wf_json_set_i64(line, "launches", silent ? 0 : 4, NULL);
    set_arm(line, "base", arm(p, 0, what));
    set_arm(line, "candidate", arm(p, 1, what));
    (void)wf_json_set_take(line, "blocks", blocks, NULL);
    (void)wf_json_set_string(line, "note", is(what, "lost") ? "throttled: power" : "",
                             NULL);
    (void)wf_json_set_take(line, "phases", parse("{\"total\":250000000}"), NULL);
    add(m, line);
}

static void add_round(struct maker *m, int32_t round)
{
    struct wf_json *line = parse("{\"kind\":\"round\",\"gate\":\"00112233445566aa\","
                                 "\"group\":0,\"void\":\"\",\"took_ns\":1500000000}");
    (void)wf_json_set_i64(line, "round", round, NULL);
    add(m, line);
}

static void run_rounds(struct maker *m)
{
    struct wf_error err = { 0 };
    struct wf_gate_todo todo[2 * MOST];
    struct wf_json *verdict = NULL;
    int32_t round = 0;
    size_t n = 0;
    for (;;) {
        if (wf_gate_record_next(m->record, 0, &round, todo, &n, &err) != WF_OK) {
            die(&err);
        }
        for (size_t i = 0; i < n; i++) {
            add_pair(m, round, &todo[i]);
            if (round > m->rounds) {
                return; /* killed in the middle of the round */
            }
        }
        if (n == 0) {
            break;
        }
        add_round(m, round);
    }
    if (m->statics != NULL) {
        add(m, parse(m->statics));
    }
    if (wf_gate_record_verdict(m->record, &verdict, &err) != WF_OK) {
        die(&err);
    }
    add(m, verdict);
}

/* --- the header --- */

static void add_spec(struct maker *m, char *spec)
{
    static const struct wf_gate_margins usual = WF_GATE_MARGINS_DEFAULT;
    struct wf_gate_header_pair *h = &m->pair[m->h.pair_count];
    char *what = strrchr(spec, '=');
    char *slash = strrchr(spec, '/');
    if (what == NULL || slash == NULL || m->h.pair_count == MOST) {
        fprintf(stderr, "gate_record_maker: %s is no CASE/KERNEL=WHAT\n", spec);
        exit(2);
    }
    *what++ = '\0';
    char *name = strndup(spec, (size_t)(slash - spec));
    m->what[m->h.pair_count++] = what;
    h->pair = (struct wf_gate_pair){ .key = spec,
                                     .case_id = name,
                                     .case_name = name,
                                     .op = "gemm",
                                     .kernel = { slash + 1, slash + 1 },
                                     .role = WF_GATE_CASE,
                                     .margins = usual,
                                     .blocks = 1 };
    h->case_json = m->kase;
    h->pair.identical = is(what, "unchanged");
    if (is(what, "new")) {
        h->pair.kernel[0] = NULL;
        h->pair.blocks = 0;
    } else if (is(what, "removed")) {
        h->pair.kernel[1] = NULL;
        h->pair.refused = "the candidate pack has no such kernel";
    }
}

static void add_sentinels(struct maker *m)
{
    static const struct wf_gate_margins usual = WF_GATE_MARGINS_DEFAULT;
    for (int i = 0; i < 2; i++) {
        m->sentinel[i].pair =
            (struct wf_gate_pair){ .key = i == 0 ? "sentinel/same" : "sentinel/slower",
                                   .case_id = "s",
                                   .case_name = "sentinel",
                                   .op = "sentinel",
                                   .kernel = { "plain", i == 0 ? "plain" : "slower" },
                                   .role = i == 0 ? WF_GATE_SENTINEL_SAME
                                                  : WF_GATE_SENTINEL_SLOWER,
                                   .margins = usual,
                                   .blocks = 2 };
        m->sentinel[i].case_json = m->kase;
    }
    m->h.sentinel = m->sentinel;
    m->h.sentinel_count = 2;
    m->h.pack[WF_GATE_PACK_SENTINEL].id =
        "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";
    m->h.pack[WF_GATE_PACK_SENTINEL].name = "sentinels";
}

static void read_option(struct maker *m, char **argv, int *i)
{
    struct wf_error err = { 0 };
    const char *name = argv[*i] + 2;
    if (is(name, "modelled")) {
        m->h.measured = false;
        return;
    }
    const char *value = argv[++*i];
    if (is(name, "policy")) {
        if (wf_json_parse_file(value, &m->policy, &err) != WF_OK) {
            die(&err);
        }
    } else if (is(name, "baseline")) {
        m->baseline = parse(value);
    } else if (is(name, "provenance")) {
        m->provenance[0] = parse(value);
        m->provenance[1] = parse(argv[++*i]);
    } else if (is(name, "rounds")) {
        if (wf_parse_i64(value, "--rounds", 0, 1000000, &m->rounds, &err) != WF_OK) {
            die(&err);
        }
    } else if (is(name, "packs")) {
        m->pack[0] = value;
        m->pack[1] = argv[++*i];
    } else if (is(name, "device")) {
        m->device = value;
    } else if (is(name, "static")) {
        m->statics = value;
    } else if (is(name, "sentinels")) {
        m->sentinels = value;
    }
}

static void fill_header(struct maker *m)
{
    static const uint8_t seed[WF_GATE_SEED_BYTES] = { 1, 2, 3 };
    struct wf_gate_header *h = &m->h;
    h->gate = "00112233445566aa";
    h->seed = seed;
    h->created = "2026-12-01T12:00:00.000Z";
    h->name = "";
    h->suite = "made-up";
    h->runtime = h->measured ? "cuda" : "emulator";
    const char *usual =
        h->measured ? "{\"id\":\"cuda:GPU-1\",\"name\":\"A GPU\",\"model\":\"H200\","
                      "\"driver\":\"570\",\"times_modelled\":false}"
                    : "{\"id\":\"emulator:0\",\"name\":\"emulated MI300X\",\"model\":"
                      "\"MI300X\",\"driver\":\"\",\"times_modelled\":true}";
    h->devices = m->devices = wf_json_array();
    (void)wf_json_push_take(m->devices, parse(m->device != NULL ? m->device : usual),
                            NULL);
    h->policy = m->policy;
    h->baseline = m->baseline;
    h->groups = 1;
    h->pair = m->pair;
    h->pack[0] = (struct wf_gate_header_pack){
        .id = m->pack[0] != NULL
                  ? m->pack[0]
                  : "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        .name = "before",
        .provenance = m->provenance[0]
    };
    h->pack[1] = (struct wf_gate_header_pack){
        .id = m->pack[1] != NULL
                  ? m->pack[1]
                  : "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        .name = "after",
        .provenance = m->provenance[1]
    };
    if (m->sentinels != NULL) {
        add_sentinels(m);
    }
}

int main(int argc, char **argv)
{
    static const struct wf_gate_rule rule = WF_GATE_PR_RULE;
    struct wf_error err = { 0 };
    struct wf_json *header = NULL;
    static struct maker m;
    m.rounds = INT32_MAX;
    m.h.measured = true;
    m.h.rule = rule;
    m.kase = parse("{\"op\":\"gemm\"}");
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            read_option(&m, argv, &i);
        } else {
            add_spec(&m, argv[i]);
        }
    }
    fill_header(&m);
    if (wf_gate_header_make(&m.h, &header, &err) != WF_OK) {
        die(&err);
    }
    put(header);
    if (wf_gate_record_create(header, &m.record, &err) != WF_OK) {
        die(&err);
    }
    run_rounds(&m);
    wf_gate_record_free(m.record);
    return 0;
}
