/* The story of a pair: what its arms answered, and how the evidence grew block by
 * block. The evidence is computed anew, by the rule that the header states. */
#include "cli/error_view.h"
#include "cli/gate_view.h"
#include "cli/output.h"
#include "cli/table.h"
#include "core/parse.h"
#include "gate/header.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    const char *s = v != NULL ? wf_json_string(v) : NULL;
    return s != NULL ? s : "";
}

static int64_t whole(const struct wf_json *obj, const char *key)
{
    int64_t n = 0;
    const struct wf_json *v = wf_json_find(obj, key);
    return v != NULL && wf_json_as_i64(v, &n) ? n : 0;
}

/* --- the rule --- */

static enum wf_status read_rule(const struct wf_json *header,
                                struct wf_gate_rule *ret,
                                struct wf_error *err)
{
    const struct wf_json *rule = NULL;
    int64_t n = 0;
    enum wf_status status = wf_json_get_object(header, "rule", &rule, err);
#define READ_real(name)                                         \
    if (status == WF_OK) {                                      \
        status = wf_json_get_f64(rule, #name, &ret->name, err); \
    }
#define READ_whole(name)                                            \
    if (status == WF_OK) {                                          \
        status = wf_json_get_i64(rule, #name, 0, 1000000, &n, err); \
        ret->name = (int)n;                                         \
    }
#define X(name, kind) READ_##kind(name)
    WF_GATE_RULE_MEMBERS(X)
#undef X
#undef READ_real
#undef READ_whole
    return status;
}

/* A gate of this one pair, to be fed block by block. */
static enum wf_status one_pair(const struct wf_gate_record *record,
                               const struct wf_gate_pair *p,
                               struct wf_gate **ret,
                               struct wf_error *err)
{
    struct wf_gate_rule rule = WF_GATE_PR_RULE;
    struct wf_gate *g = NULL;
    enum wf_status status = read_rule(wf_gate_record_header(record), &rule, err);
    if (status == WF_OK) {
        status = wf_gate_create(&rule, &g, err);
    }
    if (status == WF_OK) {
        status = wf_gate_add_pair(g, p->role, &p->margins, 0, err);
    }
    if (status != WF_OK) {
        wf_gate_free(g);
        return status;
    }
    *ret = g;
    return WF_OK;
}

/* --- blocks --- */

static bool read_block(const struct wf_json *v,
                       int32_t round,
                       struct wf_gate_block *ret)
{
    const struct wf_json *y = wf_json_find(v, "y");
    ret->round = round;
    ret->mask = (uint8_t)whole(v, "mask");
    ret->rejected = text(v, "rejected")[0] != '\0';
    for (size_t i = 0; i < WF_GATE_SLOTS; i++) {
        const struct wf_json *one = y != NULL ? wf_json_at(y, i) : NULL;
        if (one == NULL || !wf_json_as_f64(one, &ret->y[i])) {
            return false;
        }
    }
    return wf_gate_is_mask(ret->mask);
}

/* Mean of the candidate's slots over that of the base's. */
static double difference(const struct wf_gate_block *b)
{
    double d = 0;
    for (unsigned i = 0; i < WF_GATE_SLOTS; i++) {
        d += ((unsigned)b->mask >> i & 1u) != 0 ? b->y[i] / 2 : -b->y[i] / 2;
    }
    return d;
}

static void power_of_ten(double log_w, char *ret, size_t n)
{
    (void)snprintf(ret, n, isfinite(log_w) ? "10^%.1f" : "-", log_w / log(10.0));
}

static void add_row(struct wf_table *t,
                    const struct wf_gate *g,
                    const struct wf_gate_block *b,
                    const char *rejected)
{
    char round[16], order[WF_GATE_SLOTS + 1] = "", moved[32] = "-", effect[32] = "-",
                                          slower[32], pass[32], sign[32],
                                          noise[32] = "-";
    struct wf_gate_figures f;
    wf_gate_figures(g, 0, &f);
    (void)snprintf(round, sizeof round, "%d", (int)b->round);
    for (unsigned i = 0; i < WF_GATE_SLOTS; i++) {
        order[i] = ((unsigned)b->mask >> i & 1u) != 0 ? 'C' : 'B';
    }
    if (!b->rejected) {
        wf_gate_format_effect(difference(b), moved, sizeof moved);
    }
    wf_gate_format_effect(f.effect, effect, sizeof effect);
    power_of_ten(f.log_w_slower, slower, sizeof slower);
    power_of_ten(f.log_w_pass, pass, sizeof pass);
    power_of_ten(f.log_sign_slower, sign, sizeof sign);
    (void)snprintf(noise, sizeof noise, "%.2f %%", 100 * f.slot_noise);
    const char *const cell[] = { round,  order, moved, effect,  noise,
                                 slower, sign,  pass,  rejected };
    wf_table_row(t, cell);
}

/* Median of the five times of a slot, in ns. */
static void slot_times(const struct wf_json *block, char *ret, size_t n)
{
    const struct wf_json *slots = wf_json_find(block, "t_ns");
    ret[0] = '\0';
    for (size_t i = 0; slots != NULL && i < wf_json_count(slots); i++) {
        const struct wf_json *times = wf_json_at(slots, i);
        const size_t used = strlen(ret);
        (void)snprintf(ret + used, n - used, "%sslot %zu:", i > 0 ? "; " : "", i + 1);
        for (size_t k = 0; k < wf_json_count(times); k++) {
            double t = (double)NAN;
            const size_t at = strlen(ret);
            (void)wf_json_as_f64(wf_json_at(times, k), &t);
            (void)snprintf(ret + at, n - at, " %.6g", t);
        }
    }
}

static void print_block(const struct wf_json *block, int32_t round, size_t i)
{
    char times[1024];
    slot_times(block, times, sizeof times);
    wf_say("  round %d block %zu, ns a batch: %s", (int)round, i + 1, times);
}

struct walk {
    struct wf_gate *gate;
    struct wf_table *table;
    bool blocks;
};

static enum wf_status take_line(struct walk *w,
                                const struct wf_json *line,
                                bool is_void,
                                struct wf_error *err)
{
    const struct wf_json *blocks = wf_json_find(line, "blocks");
    const int32_t round = (int32_t)whole(line, "round");
    size_t i = 0;
    enum wf_status status = WF_OK;
    for (const struct wf_json *v = blocks != NULL ? wf_json_first(blocks) : NULL;
         v != NULL && status == WF_OK; v = wf_json_next(v)) {
        struct wf_gate_block b = { 0 };
        const bool whole_block = read_block(v, round, &b);
        const char *why = is_void ? "void round" : text(v, "rejected");
        b.rejected = b.rejected || is_void || !whole_block;
        if (w->blocks) {
            print_block(v, round, i);
        }
        for (unsigned k = 0; (is_void || !whole_block) && k < WF_GATE_SLOTS; k++) {
            b.y[k] = 0; /* says nothing, not even as a rejected one */
        }
        status = wf_gate_add_block(w->gate, 0, &b, err);
        add_row(w->table, w->gate, &b, why);
        i++;
    }
    return status;
}

/* Does the round's line, which follows the pair's, make it void (or is it missing)? */
static bool round_is_void(const struct wf_gate_record *record,
                          size_t from,
                          const struct wf_json *line,
                          int group)
{
    for (size_t i = from; i < wf_gate_record_line_count(record); i++) {
        const struct wf_json *v = wf_gate_record_line(record, i);
        if (strcmp(text(v, "kind"), "round") == 0 &&
            whole(v, "round") == whole(line, "round") && whole(v, "group") == group) {
            return text(v, "void")[0] != '\0';
        }
    }
    return true;
}

static enum wf_status walk(const struct wf_gate_record *record,
                           const struct wf_gate_pair *p,
                           struct walk *w,
                           struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < wf_gate_record_line_count(record) && status == WF_OK; i++) {
        const struct wf_json *line = wf_gate_record_line(record, i);
        if (strcmp(text(line, "kind"), "pair") == 0 &&
            strcmp(text(line, "pair"), p->key) == 0) {
            status = take_line(w, line, round_is_void(record, i, line, p->device), err);
        }
    }
    return status;
}

static enum wf_status print_evidence(const struct wf_gate_record *record,
                                     const struct wf_gate_pair *p,
                                     bool blocks,
                                     struct wf_error *err)
{
    static const char *const header[] = { ">round",    "order",     ">moved",
                                          ">effect",   ">noise",    ">for slower",
                                          ">and sign", ">for pass", "rejected" };
    struct walk w = { .blocks = blocks };
    enum wf_status status = one_pair(record, p, &w.gate, err);
    w.table = wf_table_create(header, sizeof header / sizeof header[0]);
    if (status == WF_OK && w.table == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for the table");
    }
    if (status == WF_OK) {
        status = walk(record, p, &w, err);
    }
    if (status == WF_OK) {
        char d0[24], d1[24];
        wf_gate_format_margin(p->margins.d0, d0, sizeof d0);
        wf_gate_format_margin(p->margins.d1, d1, sizeof d1);
        (void)wf_table_print(w.table);
        wf_say(
            "order: B base, C candidate; for slower: evidence against 'slower by at most "
            "%s'; for pass: against 'slower by %s or more'",
            d0, d1);
    }
    wf_table_free(w.table);
    wf_gate_free(w.gate);
    return status;
}

/* --- answers --- */

static void print_arm(const struct wf_gate_pair *p,
                      const struct wf_json *record,
                      const char *arm,
                      int i)
{
    const struct wf_json *a = record != NULL ? wf_json_find(record, arm) : NULL;
    const struct wf_json *result = NULL;
    if (p->kernel[i] == NULL) {
        wf_say("  %s: has no such kernel", arm);
        return;
    }
    if (a == NULL || wf_json_type(a) != WF_JSON_OBJECT) {
        wf_say("  %s: kernel %s, not launched", arm, p->kernel[i]);
        return;
    }
    wf_say("  %s: kernel %s, answer %s%s%s", arm, p->kernel[i], text(a, "answer"),
           text(a, "answer_text")[0] != '\0' ? ": " : "", text(a, "answer_text"));
    result = wf_json_find(a, "result");
    if (result != NULL && wf_json_type(result) == WF_JSON_OBJECT) {
        wf_print_error_view(result, true);
    }
}

static enum wf_status print_pair(struct wf_gate_record *record,
                                 const struct wf_gate_report *r,
                                 size_t index,
                                 bool blocks,
                                 struct wf_error *err)
{
    const struct wf_gate_pair *p = wf_gate_record_pair(record, index);
    const struct wf_json *telling = wf_gate_record_telling(record, index);
    struct wf_gate_figures f;
    wf_gate_figures(wf_gate_record_gate(record), index, &f);
    wf_say("%s (%s): %s%s%s", p->key, p->op, wf_gate_verdict_name(f.verdict),
           f.reason != WF_GATE_REASON_NONE ? ", " : "", wf_gate_reason_name(f.reason));
    for (size_t i = 0; i < r->row_count; i++) {
        if (r->row[i].pair == index) {
            wf_say("  %s: %s", wf_gate_finding_name(r->row[i].finding),
                   r->row[i].words);
        }
    }
    wf_say(
        "  margins %.3g %% and %.3g %%, noise to start from %.3g %%, tau %.3g %% (%s)",
        100 * p->margins.d0, 100 * p->margins.d1, 100 * p->margins.s0,
        100 * p->margins.tau, wf_gate_margin_source(r, index));
    print_arm(p, telling, "base", 0);
    print_arm(p, telling, "candidate", 1);
    return f.blocks + f.lost > 0 ? print_evidence(record, p, blocks, err) : WF_OK;
}

static bool matches(const struct wf_gate_pair *p, const char *glob)
{
    return glob == NULL || wf_glob_match(glob, p->key) ||
           wf_glob_match(glob, p->case_name);
}

static enum wf_status no_match(const char *cases, struct wf_error *err)
{
    return wf_errorf(
        err, WF_ENOTFOUND,
        "no pair's key or case matches '%s'; 'wavefarm gate show --all FILE' "
        "lists them",
        cases != NULL ? cases : "*");
}

static enum wf_status pair_json(const struct wf_gate_record *record,
                                size_t index,
                                struct wf_json *list,
                                struct wf_error *err)
{
    const struct wf_gate_pair *p = wf_gate_record_pair(record, index);
    const struct wf_json *pairs = wf_json_find(wf_gate_record_header(record), "pairs");
    struct wf_json *v = wf_json_object(), *lines = wf_json_array();
    enum wf_status status = wf_json_set_copy(v, "pair", wf_json_at(pairs, index), err);
    for (size_t i = 0; i < wf_gate_record_line_count(record) && status == WF_OK; i++) {
        struct wf_json *copy = NULL;
        const struct wf_json *line = wf_gate_record_line(record, i);
        if (strcmp(text(line, "kind"), "pair") != 0 ||
            strcmp(text(line, "pair"), p->key) != 0) {
            continue;
        }
        status = wf_json_copy(line, &copy, err);
        status = status == WF_OK ? wf_json_push_take(lines, copy, err) : status;
    }
    if (status == WF_OK) {
        status = wf_json_set_take(v, "lines", lines, err);
    } else {
        wf_json_free(lines);
    }
    if (status != WF_OK) {
        wf_json_free(v);
        return status;
    }
    return wf_json_push_take(list, v, err);
}

enum wf_status gate_story_json(const struct wf_gate_record *record,
                               const char *cases,
                               struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < wf_gate_record_count(record) && status == WF_OK; i++) {
        if (matches(wf_gate_record_pair(record, i), cases)) {
            status = pair_json(record, i, list, err);
        }
    }
    if (status == WF_OK && wf_json_count(list) == 0) {
        status = no_match(cases, err);
    }
    status = status == WF_OK ? wf_print_json(list, err) : status;
    wf_json_free(list);
    return status;
}

enum wf_status gate_story_print(struct wf_gate_record *record,
                                const struct wf_gate_report *r,
                                const char *cases,
                                bool blocks,
                                struct wf_error *err)
{
    size_t shown = 0;
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < wf_gate_record_count(record) && status == WF_OK; i++) {
        if (matches(wf_gate_record_pair(record, i), cases)) {
            printf("%s", shown++ > 0 ? "\n" : "");
            status = print_pair(record, r, i, blocks, err);
        }
    }
    if (status == WF_OK && shown == 0) {
        status = no_match(cases, err);
    }
    return status;
}
