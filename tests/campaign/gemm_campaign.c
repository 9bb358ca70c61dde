/* The proof of the GEMM family on the emulator: cases for every kernel, types and
 * transposes, each through the runner as `wavefarm run` does it, with fault detection
 * and counters.
 *
 *   gemm_campaign --pack FOLDER --list NAME=FILE... [options]
 *
 * Exit status 0: all PASS, no fault, every cell has its cases, no bank conflict in a
 * hot loop. 1: not so. 2: something else is wrong. 3: the time was up. */
#include "core/clock.h"
#include "core/file.h"
#include "core/parse.h"
#include "core/rng.h"
#include "runner/execute.h"
#include "tests/campaign/gemm_state.h"
#include "tests/campaign/gemm_summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASK_NS (INT64_C(3600) * 1000000000)

static const char usage[] =
    "usage: gemm_campaign --pack FOLDER --list NAME=FILE... [options]\n"
    "  --pack FOLDER      the kernels (again: more)\n"
    "  --kernels GLOB     of these\n"
    "  --list NAME=FILE   sizes to reduce: a suite (.json), .csv or .yaml\n"
    "  --five FILE        sizes that are done in full, in fast mode\n"
    "  --seed N           1\n"
    "  --reduced N        cases of a cell from each list (6)\n"
    "  --max-gflop X      of a case, but the full ones (2)\n"
    "  --kind NAME        of these cases only\n"
    "  --total N          so many cases, evenly over the cells; 0: all (0)\n"
    "  --state FILE       lines of what was done: what it has is not done again\n"
    "  --summary FILE     Markdown\n"
    "  --minutes N        stop then; 0: never (0)\n"
    "  --print            the cases, as the lines of a suite, instead of running them\n";

#define PACKS_MAX 8

struct campaign {
    /* as asked */
    const char *pack_folder[PACKS_MAX];
    size_t pack_count;
    const char *glob, *kind, *state_file, *summary_file;
    int64_t reduced, total, minutes;
    bool print;
    /* held */
    struct wf_pack *pack[PACKS_MAX];
    struct wf_device device;
    struct gemm_sources sources;
    struct gemm_cells cells;
    struct gemm_pick *pick;
    size_t pick_count;
    struct gemm_state *state;
    struct gemm_summary *summary;
    struct wf_rng order;
    int64_t stop_ns;
    size_t done, ran;
    bool time_is_up;
};

/* --- options --- */
static enum wf_status add_list(struct campaign *c,
                               const char *text,
                               struct wf_error *err)
{
    const char *file = strchr(text, '=');
    struct gemm_list *list = &c->sources.list[c->sources.list_count];
    if (file == NULL || c->sources.list_count == GEMM_LISTS_MAX) {
        return wf_errorf(err, WF_EINVAL, "--list %s: NAME=FILE, at most %d of them",
                         text, GEMM_LISTS_MAX);
    }
    c->sources.list_count++;
    snprintf(list->name, sizeof(list->name), "%.*s", (int)(file - text), text);
    return gemm_shapes_read(file + 1, &list->shapes, err);
}

static enum wf_status add_pack(struct campaign *c,
                               const char *text,
                               struct wf_error *err)
{
    if (c->pack_count == PACKS_MAX) {
        return wf_errorf(err, WF_EINVAL, "--pack: at most %d", PACKS_MAX);
    }
    c->pack_folder[c->pack_count++] = text;
    return WF_OK;
}

static enum wf_status read_number(struct campaign *c,
                                  const char *name,
                                  const char *value,
                                  struct wf_error *err)
{
    double gflop = 0.0;
    int64_t *const number = strcmp(name, "--reduced") == 0   ? &c->reduced
                            : strcmp(name, "--total") == 0   ? &c->total
                            : strcmp(name, "--minutes") == 0 ? &c->minutes
                                                             : NULL;
    if (number != NULL) {
        return wf_parse_i64(value, name, 0, 1000000, number, err);
    }
    if (strcmp(name, "--seed") == 0) {
        return wf_parse_u64(value, name, 0, UINT64_MAX, &c->sources.seed, err);
    }
    if (strcmp(name, "--max-gflop") != 0) {
        return wf_errorf(err, WF_EINVAL, "unknown option '%s'", name);
    }
    enum wf_status status = wf_parse_f64(value, name, 0.001, 1000.0, &gflop, err);
    c->sources.max_flops = gflop * 1e9;
    return status;
}

static enum wf_status read_option(struct campaign *c,
                                  const char *name,
                                  const char *value,
                                  struct wf_error *err)
{
    if (strcmp(name, "--pack") == 0) {
        return add_pack(c, value, err);
    }
    if (strcmp(name, "--list") == 0) {
        return add_list(c, value, err);
    }
    if (strcmp(name, "--five") == 0) {
        return gemm_shapes_read(value, &c->sources.five, err);
    }
    const char **text = strcmp(name, "--kernels") == 0   ? &c->glob
                        : strcmp(name, "--state") == 0   ? &c->state_file
                        : strcmp(name, "--kind") == 0    ? &c->kind
                        : strcmp(name, "--summary") == 0 ? &c->summary_file
                                                         : NULL;
    if (text != NULL) {
        *text = value;
        return WF_OK;
    }
    return read_number(c, name, value, err);
}

static enum wf_status read_options(struct campaign *c,
                                   int argc,
                                   char **argv,
                                   struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (int i = 1; status == WF_OK && i < argc; i++) {
        if (strcmp(argv[i], "--print") == 0) {
            c->print = true;
        } else if (i + 1 == argc) {
            return wf_errorf(err, WF_EINVAL, "%s: without a value", argv[i]);
        } else {
            status = read_option(c, argv[i], argv[i + 1], err);
            i++;
        }
    }
    if (status == WF_OK && (c->pack_count == 0 || c->sources.list_count == 0)) {
        return wf_errorf(err, WF_EINVAL, "--pack and --list are needed\n%s", usage);
    }
    return status;
}

/* --- what to do --- */
static enum wf_status add_pick(struct campaign *c,
                               const struct gemm_pick *pick,
                               struct wf_error *err)
{
    struct gemm_pick *at = wf_realloc_array(c->pick, c->pick_count + 1, sizeof(*at));
    if (at == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for picks");
    }
    c->pick = at;
    c->pick[c->pick_count++] = *pick;
    return WF_OK;
}

static enum wf_status picks_of_kind(struct campaign *c,
                                    const struct gemm_cell *cell,
                                    enum gemm_kind kind,
                                    struct wf_error *err)
{
    const size_t lists = kind == GEMM_KIND_REDUCED ? c->sources.list_count : 1;
    const size_t n = gemm_kind_cases(kind, &c->sources, (size_t)c->reduced);
    enum wf_status status = WF_OK;
    for (size_t list = 0; list < lists; list++) {
        for (size_t i = 0; status == WF_OK && i < n; i++) {
            const struct gemm_pick pick = { cell, kind, list, i };
            status = add_pick(c, &pick, err);
        }
    }
    return status;
}

static bool is_wanted(const struct campaign *c, enum gemm_kind kind)
{
    return c->kind == NULL || strcmp(c->kind, gemm_kind_name(kind)) == 0;
}

/* All kinds of all cells; the five sizes come last, as they take longest. Of a part
 * (--total) they and the cost of an activation are left out. */
static enum wf_status list_picks(struct campaign *c, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (int last = 0; last < 2; last++) {
        for (size_t i = 0; i < c->cells.count; i++) {
            for (int k = 0; status == WF_OK && k < GEMM_KIND_COUNT; k++) {
                const bool is_long = k == GEMM_KIND_FIVE || k == GEMM_KIND_SILU_COST;
                if (is_long == (last == 1) && !(is_long && c->total > 0) &&
                    is_wanted(c, (enum gemm_kind)k)) {
                    status = picks_of_kind(c, &c->cells.at[i], (enum gemm_kind)k, err);
                }
            }
        }
    }
    return status;
}

/* Takes a case of more than two parts of K to the front: no other case sees what is
 * wrong with the later parts. */
static void parts_first(struct gemm_pick *own, size_t count)
{
    for (size_t k = 1; k < count && own[0].kind != GEMM_KIND_PARTS; k++) {
        if (own[k].kind == GEMM_KIND_PARTS) {
            const struct gemm_pick kept = own[0];
            own[0] = own[k];
            own[k] = kept;
        }
    }
}

/* Picks in a drawn order, such that all cells have n before one has n + 1. Every second
 * cell that splits K begins with parts. */
static void deal(struct campaign *c)
{
    const size_t per_cell = c->cells.count > 0 ? c->pick_count / c->cells.count : 0;
    for (size_t i = 0; i < c->cells.count; i++) {
        struct gemm_pick *own = c->pick + i * per_cell;
        for (size_t k = per_cell; k > 1; k--) {
            const size_t other = (size_t)wf_rng_next_below(&c->order, k);
            const struct gemm_pick kept = own[k - 1];
            own[k - 1] = own[other];
            own[other] = kept;
        }
        if (i % 2 == 0) {
            parts_first(own, per_cell);
        }
    }
}

/* --- one case --- */
static enum wf_status execute(const struct campaign *c,
                              const struct gemm_pick *pick,
                              const struct gemm_made *made,
                              const struct wf_case *wc,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    char name[160];
    snprintf(name, sizeof(name), "%s %s", gemm_kind_name(pick->kind), made->note);
    const struct wf_execute_request q = {
        .task_id = name,
        .case_json = wf_case_canonical(wc),
        .case_name = name,
        .case_id = wf_case_id(wc),
        .pack_folder = wf_pack_folder(pick->cell->pack),
        .pack_id = wf_pack_id(pick->cell->pack),
        .kernel = pick->cell->kernel->name,
        .device = &c->device,
        .dataset_folder = ".",
        .attempt = 1,
        .deadline_ns = TASK_NS,
        .kernel_deadline_ns = TASK_NS,
        .threads = 1,
        .measure = { .measure = false, .mfma_exact = made->exact },
    };
    return wf_execute(&q, ret, err);
}

static void tell_failure(const struct wf_json *line)
{
    char *text = NULL;
    if (!gemm_line_is_good(line) && wf_json_text(line, &text, NULL) == WF_OK) {
        printf("not PASS: %s\n", text);
        (void)fflush(stdout);
    }
    free(text);
}

static enum wf_status run_new(struct campaign *c,
                              const struct gemm_pick *pick,
                              const struct gemm_made *made,
                              const struct wf_case *wc,
                              const char *key,
                              struct wf_error *err)
{
    struct wf_json *result = NULL;
    struct wf_json *line = NULL;
    enum wf_status status = execute(c, pick, made, wc, &result, err);
    if (status == WF_OK) {
        status = gemm_state_line(pick, made, key, result, &line, err);
    }
    if (status == WF_OK) {
        tell_failure(line);
        status = gemm_state_add(c->state, line, err);
        c->ran++;
    }
    wf_json_free(result);
    return status;
}

static enum wf_status run_case(struct campaign *c,
                               const struct gemm_pick *pick,
                               const struct gemm_made *made,
                               const struct gemm_want *want,
                               const struct wf_json **ret_line,
                               struct wf_error *err)
{
    struct wf_case *wc = NULL;
    enum wf_status status = gemm_want_case(want, &wc, err);
    if (status != WF_OK) {
        return status;
    }
    char *key = gemm_state_key(pick->cell, wf_case_id(wc), made->exact);
    status = key != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a key");
    if (status == WF_OK && c->print) {
        printf("%s\t%s\t%s\n", pick->cell->kernel->name, gemm_kind_name(pick->kind),
               wf_case_canonical(wc));
    } else if (status == WF_OK) {
        if (gemm_state_find(c->state, key) == NULL) {
            status = run_new(c, pick, made, wc, key, err);
        }
        *ret_line = gemm_state_find(c->state, key);
    }
    c->done++;
    free(key);
    wf_case_free(wc);
    return status;
}

static enum wf_status run_pick(struct campaign *c,
                               const struct gemm_pick *pick,
                               struct wf_error *err)
{
    struct gemm_made made;
    const struct wf_json *line[2] = { NULL, NULL };
    enum wf_status status = gemm_make(&c->sources, pick, &made, err);
    if (status != WF_OK) {
        return wf_error_prefix(err, "kernel %s, %s", pick->cell->kernel->name,
                               gemm_kind_name(pick->kind));
    }
    for (size_t i = 0; status == WF_OK && i < made.count; i++) {
        status = run_case(c, pick, &made, &made.want[i], &line[i], err);
    }
    if (status == WF_OK && !c->print) {
        gemm_summary_add(c->summary, pick, line, made.count);
    }
    return status;
}

static bool is_full(struct campaign *c)
{
    c->time_is_up = c->time_is_up || (c->stop_ns > 0 && wf_monotonic_ns() > c->stop_ns);
    return c->time_is_up || (c->total > 0 && c->done >= (size_t)c->total);
}

/* The cell's next pick that makes a case, from *next on. */
static enum wf_status run_next(struct campaign *c,
                               const struct gemm_pick *own,
                               size_t count,
                               size_t *next,
                               struct wf_error *err)
{
    const size_t before = c->done;
    enum wf_status status = WF_OK;
    while (status == WF_OK && c->done == before && *next < count) {
        status = run_pick(c, &own[*next], err);
        ++*next;
    }
    return status;
}

static enum wf_status run_dealt(struct campaign *c, struct wf_error *err)
{
    const size_t per_cell = c->pick_count / c->cells.count;
    enum wf_status status = WF_OK;
    size_t *next = wf_calloc(c->cells.count, sizeof(*next));
    if (next == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu cells", c->cells.count);
    }
    for (size_t round = 0; round < per_cell; round++) {
        for (size_t i = 0; status == WF_OK && i < c->cells.count && !is_full(c); i++) {
            status = run_next(c, &c->pick[i * per_cell], per_cell, &next[i], err);
        }
    }
    free(next);
    return status;
}

static enum wf_status run_all(struct campaign *c, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    if (c->total > 0) {
        deal(c);
        return run_dealt(c, err);
    }
    for (size_t i = 0; status == WF_OK && i < c->pick_count && !is_full(c); i++) {
        status = run_pick(c, &c->pick[i], err);
    }
    return status;
}

/* --- all --- */
static enum wf_status prepare(struct campaign *c, struct wf_error *err)
{
    enum wf_status status = wf_device_open("emulator", &c->device, err);
    for (size_t i = 0; status == WF_OK && i < c->pack_count; i++) {
        status = wf_pack_open(c->pack_folder[i], &c->pack[i], err);
        if (status == WF_OK) {
            status = gemm_cells_find(c->pack[i], c->glob, &c->device, &c->cells, err);
        }
    }
    if (status == WF_OK && c->cells.count == 0) {
        status = wf_errorf(err, WF_EINVAL, "no gemm kernel for %s fits '%s'",
                           c->device.arch, c->glob != NULL ? c->glob : "*");
    }
    if (status == WF_OK) {
        status = list_picks(c, err);
    }
    if (status == WF_OK && c->pick_count == 0) {
        status = wf_errorf(err, WF_EINVAL, "--kind %s: no such kind", c->kind);
    }
    if (status == WF_OK) {
        status = gemm_state_open(c->state_file, &c->state, err);
    }
    if (status == WF_OK && (c->summary = gemm_summary_new(&c->cells)) == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for a summary");
    }
    c->order = (struct wf_rng){ c->sources.seed, 7, 0 };
    c->stop_ns =
        c->minutes > 0 ? wf_monotonic_ns() + c->minutes * INT64_C(60000000000) : 0;
    return status;
}

/* Cells have few cases where only a part was asked for: that is not told as thin. */
static size_t least_cases(const struct campaign *c)
{
    return c->kind != NULL ? 0
           : c->total > 0  ? (size_t)(c->total >= (int64_t)c->cells.count)
                           : GEMM_LEAST_CASES;
}

static enum wf_status report(struct campaign *c, int *ret_exit, struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    const size_t least = least_cases(c);
    const struct gemm_verdict v = gemm_summary_verdict(c->summary, least);
    enum wf_status status = gemm_summary_write(c->summary, least, &text, err);
    if (status == WF_OK && c->summary_file != NULL) {
        status = wf_file_write_atomic(c->summary_file, text.data, text.len, err);
    }
    if (status == WF_OK) {
        printf("%s%zu of these now; the state has %zu lines%s\n", wf_buf_cstr(&text),
               c->ran, gemm_state_count(c->state),
               c->time_is_up ? "; the time was up" : "");
    }
    *ret_exit = v.failures + v.loop_conflicts + v.dear_silu > 0 ? 1
                : c->time_is_up                                 ? 3
                : v.thin_cells > 0 || v.cases == 0              ? 1
                                                                : 0;
    wf_buf_free(&text);
    return status;
}

static void clean_up(struct campaign *c)
{
    gemm_summary_free(c->summary);
    gemm_state_close(c->state);
    free(c->pick);
    gemm_cells_free(&c->cells);
    for (size_t i = 0; i < c->pack_count; i++) {
        wf_pack_free(c->pack[i]);
    }
    for (size_t i = 0; i < c->sources.list_count; i++) {
        gemm_shapes_free(&c->sources.list[i].shapes);
    }
    gemm_shapes_free(&c->sources.five);
}

int main(int argc, char **argv)
{
    struct wf_error err = { 0 };
    struct campaign c = { .reduced = 6, .sources = { .seed = 1, .max_flops = 2e9 } };
    int exit_code = 0;
    enum wf_status status = read_options(&c, argc, argv, &err);
    if (status == WF_OK) {
        status = prepare(&c, &err);
    }
    if (status == WF_OK) {
        status = run_all(&c, &err);
    }
    if (status == WF_OK && !c.print) {
        status = report(&c, &exit_code, &err);
    }
    clean_up(&c);
    if (status != WF_OK) {
        (void)fprintf(stderr, "gemm_campaign: %s\n", err.text);
        return 2;
    }
    return exit_code;
}
