/* selftest mutants: how often the judge finds a wrong kernel, and that it accuses no
 * right one. */
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/paths.h"
#include "cli/table.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/parse.h"
#include "core/sha256.h"
#include "selftest/mutants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS (4 + WF_PEER_COUNT)

struct selftest {
    const struct wf_args *args;
    struct wf_progress progress;
    char stage[32];
};

/* X(member of the report, name) */
#define GROUP_LIST(X)   \
    X(wrong, "wrong")   \
    X(cheats, "cheats") \
    X(generated, "generated")

/* --- for people --- */

static const char *rate(size_t part, size_t of, char *ret, size_t n)
{
    if (of == 0) {
        (void)snprintf(ret, n, "-");
    } else {
        (void)snprintf(ret, n, "%.1f %%", 100.0 * (double)part / (double)of);
    }
    return ret;
}

static void add_row(struct wf_table *t,
                    const char *name,
                    const struct wf_mutants_group *g)
{
    char cell[COLUMNS][32];
    const char *text[COLUMNS];
    (void)snprintf(cell[0], sizeof(cell[0]), "%s", name);
    (void)snprintf(cell[1], sizeof(cell[1]), "%zu", g->total);
    (void)snprintf(cell[2], sizeof(cell[2]), "%zu", g->caught);
    (void)rate(g->caught, g->total, cell[3], sizeof(cell[3]));
    for (int p = 0; p < WF_PEER_COUNT; p++) {
        (void)rate(g->peer_caught[p], g->total, cell[4 + p], sizeof(cell[4 + p]));
    }
    for (int i = 0; i < COLUMNS; i++) {
        text[i] = cell[i];
    }
    wf_table_row(t, text);
}

static void print_list(const char *title, char *const *list, size_t n)
{
    if (n > 0) {
        printf("\n%s:\n", title);
    }
    for (size_t i = 0; i < n; i++) {
        wf_say("  %s", list[i]);
    }
}

static void print_group_lists(const char *name, const struct wf_mutants_group *g)
{
    char title[64];
    (void)snprintf(title, sizeof(title), "not caught (%s)", name);
    print_list(title, g->survivor, g->survivor_count);
    if (g->causes > 0) {
        printf("\ncause named in words (%s): %zu of %zu where one is expected\n", name,
               g->causes_named, g->causes);
        (void)snprintf(title, sizeof(title), "caught without the cause (%s)", name);
        print_list(title, g->unnamed, g->unnamed_count);
    }
}

static enum wf_status print_report(const struct wf_mutants_report *r,
                                   int64_t took_ns,
                                   struct wf_error *err)
{
    char peer[WF_PEER_COUNT][48];
    const char *header[COLUMNS] = { "group", ">total", ">caught", ">rate" };
    for (int p = 0; p < WF_PEER_COUNT; p++) {
        (void)snprintf(peer[p], sizeof(peer[p]), ">%s", wf_peer_text((enum wf_peer)p));
        header[4 + p] = peer[p];
    }
    struct wf_table *t = wf_table_create(header, COLUMNS);
    if (t == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a table");
    }
#define X(member, name) add_row(t, name, &r->member);
    GROUP_LIST(X)
#undef X
    const bool whole = wf_table_print(t);
    wf_table_free(t);
    printf(
        "The last three columns: other suites' rules on the outputs alone, of launches "
        "that no\nemulator's check ended.\n");
#define X(member, name) print_group_lists(name, &r->member);
    GROUP_LIST(X)
#undef X
    print_list("false alarms", r->alarm, r->alarm_count);
    print_list("generated mutants left out because they provably compute the same",
               r->excluded, r->excluded_count);
    printf("\nright runs: %zu, false alarms: %zu\n", r->right_runs, r->false_alarms);
    printf("%.1f s\n", (double)took_ns / 1e9);
    return whole ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for the table");
}

/* --- for machines --- */

static enum wf_status list_json(struct wf_json *to,
                                const char *key,
                                char *const *list,
                                size_t n,
                                struct wf_error *err)
{
    struct wf_json *a = wf_json_array();
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < n && st == WF_OK; i++) {
        st = wf_json_push_string(a, list[i], err);
    }
    enum wf_status taken = wf_json_set_take(to, key, a, err);
    return st == WF_OK ? taken : st;
}

static enum wf_status peers_json(struct wf_json *to,
                                 const struct wf_mutants_group *g,
                                 struct wf_error *err)
{
    static const char *const KEYS[] = { "allclose", "flashinfer_bench",
                                        "five_percent" };
    struct wf_json *o = wf_json_object();
    enum wf_status st = WF_OK;
    for (int p = 0; p < WF_PEER_COUNT && st == WF_OK; p++) {
        st = wf_json_set_u64(o, KEYS[p], g->peer_caught[p], err);
    }
    enum wf_status taken = wf_json_set_take(to, "peers", o, err);
    return st == WF_OK ? taken : st;
}

static enum wf_status group_json(struct wf_json *to,
                                 const char *key,
                                 const struct wf_mutants_group *g,
                                 struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st = wf_json_set_u64(o, "total", g->total, err);
    if (st == WF_OK) {
        st = wf_json_set_u64(o, "caught", g->caught, err);
    }
    if (st == WF_OK) {
        st = list_json(o, "survivors", g->survivor, g->survivor_count, err);
    }
    if (st == WF_OK) {
        st = peers_json(o, g, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_u64(o, "causes", g->causes, err);
    }
    if (st == WF_OK) {
        st = list_json(o, "causes_not_named", g->unnamed, g->unnamed_count, err);
    }
    enum wf_status taken = wf_json_set_take(to, key, o, err);
    return st == WF_OK ? taken : st;
}

static enum wf_status print_json(const struct wf_mutants_report *r,
                                 uint64_t seed,
                                 int64_t took_ns,
                                 struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st = WF_OK;
#define X(member, name)                            \
    if (st == WF_OK) {                             \
        st = group_json(o, name, &r->member, err); \
    }
    GROUP_LIST(X)
#undef X
    if (st == WF_OK) {
        st = wf_json_set_u64(o, "false_alarms", r->false_alarms, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_u64(o, "right_runs", r->right_runs, err);
    }
    if (st == WF_OK) {
        st = list_json(o, "alarms", r->alarm, r->alarm_count, err);
    }
    if (st == WF_OK) {
        st = list_json(o, "excluded", r->excluded, r->excluded_count, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_u64(o, "seed", seed, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_f64(o, "seconds", (double)took_ns / 1e9, err);
    }
    if (st == WF_OK) {
        st = wf_print_json(o, err);
    }
    wf_json_free(o);
    return st;
}

/* --- the command --- */

static bool is_wanted(void *ctx, const char *name)
{
    const struct selftest *s = ctx;
    const char *glob = wf_args_string(s->args, "only");
    return glob == NULL || wf_glob_match(glob, name);
}

static void show(void *ctx, const char *stage, size_t done, size_t of)
{
    struct selftest *s = ctx;
    wf_progress_show(&s->progress, done, of, stage);
}

static enum wf_status read_options(const struct wf_args *args,
                                   struct wf_mutants_options *o,
                                   struct wf_error *err)
{
    int generated = 0, right = 0;
    enum wf_status st = wf_args_int_in(args, "generated", 0, 1000000, &generated, err);
    if (st == WF_OK) {
        st = wf_args_int_in(args, "right-runs", 0, 10000000, &right, err);
    }
    if (st == WF_OK) {
        st = wf_args_int_in(args, "jobs", 0, 256, &o->jobs, err);
    }
    o->generated = (size_t)generated;
    o->right_runs = (size_t)right;
    if (st == WF_OK && wf_args_string(args, "seed") != NULL) {
        o->seed = (uint64_t)wf_args_int(args, "seed");
    } else if (st == WF_OK) {
        /* Fresh: another one in each run, and told. */
        st = wf_random_bytes(&o->seed, sizeof(o->seed), err);
        o->seed &= 0x7fffffff;
    }
    return st;
}

static int report(const struct selftest *s,
                  const struct wf_mutants_options *o,
                  const struct wf_mutants_report *r,
                  int64_t took_ns)
{
    struct wf_error err = { 0 };
    enum wf_status st = WF_OK;
    if (wf_args_flag(s->args, "json")) {
        st = print_json(r, o->seed, took_ns, &err);
    } else {
        st = print_report(r, took_ns, &err);
        printf("seed %" PRIu64 "\n", o->seed);
    }
    if (st != WF_OK) {
        return wf_exit_error(&err);
    }
    return wf_mutants_report_is_good(r) ? WF_EXIT_GOOD : WF_EXIT_BAD;
}

/* A pattern that names nothing would be 0 of 0, which looks like success. */
static enum wf_status check_any(const struct wf_args *args,
                                const struct wf_mutants_report *r,
                                struct wf_error *err)
{
    const char *glob = wf_args_string(args, "only");
    if (glob == NULL ||
        r->wrong.total + r->cheats.total + r->generated.total + r->right_runs > 0) {
        return WF_OK;
    }
    return wf_errorf(
        err, WF_ENOTFOUND,
        "no mutant and no kernel is called like '%.80s' (* and ? stand for "
        "any characters)",
        glob);
}

static int run_mutants(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct selftest s = { .args = args };
    struct wf_mutants_report r = { .right_runs = 0 };
    struct wf_mutants_options o = {
        .wants = is_wanted, .cancel = &wf_interrupted, .progress = show, .ctx = &s
    };
    char *packs = NULL, *mutants = NULL;
    int64_t start_ns = wf_monotonic_ns();
    enum wf_status st = read_options(args, &o, &err);
    if (st == WF_OK) {
        st = wf_packs_folder(&packs, &err);
    }
    if (st == WF_OK) {
        st = wf_mutants_folder(&mutants, &err);
    }
    o.packs_folder = packs;
    o.mutants_folder = mutants;
    wf_progress_start(&s.progress);
    if (!wf_args_flag(args, "progress") && !s.progress.is_terminal) {
        o.progress = NULL;
    }
    if (st == WF_OK) {
        st = wf_mutants_run(&o, &r, &err);
    }
    if (st == WF_OK) {
        st = check_any(args, &r, &err);
    }
    wf_progress_end(&s.progress);
    int code = st == WF_OK ? report(&s, &o, &r, wf_monotonic_ns() - start_ns)
                           : wf_exit_error(&err);
    wf_mutants_report_free(&r);
    free(packs);
    free(mutants);
    return code;
}

static const struct wf_opt mutants_opts[] = {
    { "generated", WF_OPT_INT, "N", "100", NULL,
      "mutants made of our own gfx942 code, over all kernels" },
    { "right-runs", WF_OPT_INT, "N", "200", NULL, "tasks of right kernels" },
    { "seed", WF_OPT_INT, "N", NULL, NULL,
      "of inputs, cases and generated mutants (default: a fresh one, told at the end)" },
    { "jobs", WF_OPT_INT, "N", "0", NULL, "tasks at a time, 0: one a processor" },
    { "only", WF_OPT_STRING, "GLOB", NULL, NULL, "mutants and kernels by name" },
    { "progress", WF_OPT_FLAG, NULL, NULL, NULL,
      "tell how far it is where stderr is no terminal too" },
    WF_OPT_JSON,
};

const struct wf_command wf_command_selftest_mutants = {
    .name = "selftest mutants",
    .synopsis = "",
    .summary = "Measure the judge: wrong kernels caught, right ones left alone",
    .details =
        "Runs kernels that are wrong on purpose, kernels that cheat, mutants generated "
        "from our\nown gfx942 code (on the emulator), and right kernels with fresh "
        "seeds. Exit status 0:\nall wrong ones, 95 % of the cheats and 98 % of the "
        "generated ones are caught and no\nright kernel is accused. A runner that fails "
        "is an error (3), never a catch.\ndocs/mutants.md says what counts.",
    .opt = mutants_opts,
    .opt_count = sizeof(mutants_opts) / sizeof(mutants_opts[0]),
    .run = run_mutants,
};
