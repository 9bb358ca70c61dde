/* compare: two results files, or runs of a farm, that were measured apart. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/compare_view.h"
#include "cli/exit_code.h"
#include "cli/farm_results.h"
#include "cli/results_file.h"

#include <math.h>
#include <string.h>

static enum wf_status read_side(const struct wf_args *args,
                                const char *what,
                                struct wf_results *ret,
                                struct wf_error *err)
{
    struct wf_api *api = NULL;
    if (!wf_is_run_id(what)) {
        return wf_results_read(what, ret, err);
    }
    enum wf_status status = wf_api_open(args, &api, err);
    if (status == WF_OK) {
        status = wf_farm_results_fetch(api, what, false, ret, err);
    }
    wf_api_close(api);
    return status;
}

struct wanted {
    bool answers, missing; /* of --fail-on */
};

static enum wf_status read_wanted(const struct wf_args *args,
                                  struct wanted *w,
                                  struct wf_error *err)
{
    for (size_t i = 0; i < wf_args_list_count(args, "fail-on"); i++) {
        const char *what = wf_args_list_at(args, "fail-on", i);
        if (strcmp(what, "answers") == 0) {
            w->answers = true;
        } else if (strcmp(what, "missing") == 0) {
            w->missing = true;
        } else {
            return wf_errorf(err, WF_EINVAL,
                             "--fail-on '%.40s': wanted 'answers' or 'missing'", what);
        }
    }
    return WF_OK;
}

static bool any_beyond(const struct wf_compare *c)
{
    for (size_t i = 0; i < c->result->count; i++) {
        if (wf_compare_is_beyond(c, &c->result->row[i])) {
            return true;
        }
    }
    return false;
}

/* Without a wish it only reports; with one, what could not be looked at is no "good".
 */
static int exit_of(const struct wf_compare *c, const struct wanted *w)
{
    const size_t *n = c->result->of_status;
    const size_t wrong = n[WF_UNPAIRED_WRONG_NOW] + n[WF_UNPAIRED_UNSUPPORTED_NOW];
    const size_t lost = n[WF_UNPAIRED_ONLY_A] + n[WF_UNPAIRED_NOT_RUN];
    const size_t apart = n[WF_UNPAIRED_ONLY_A] + n[WF_UNPAIRED_ONLY_B];
    const bool short_b = c->count[1] < c->expected[1];
    if ((w->answers && wrong > 0) || (w->missing && (lost > 0 || short_b)) ||
        any_beyond(c)) {
        return WF_EXIT_BAD;
    }
    if (apart == c->result->count) {
        return WF_EXIT_NO_VERDICT; /* nothing was compared */
    }
    if (w->answers && (lost > 0 || short_b || n[WF_UNPAIRED_AMBIGUOUS] > 0)) {
        return WF_EXIT_NO_VERDICT;
    }
    if (isfinite(c->threshold) &&
        (lost > 0 || short_b || wrong > 0 || n[WF_UNPAIRED_AMBIGUOUS] > 0 ||
         n[WF_UNPAIRED_INCOMPARABLE] > 0 || n[WF_UNPAIRED_NO_TIME] > 0)) {
        return WF_EXIT_NO_VERDICT;
    }
    return WF_EXIT_GOOD;
}

static enum wf_status print(const struct wf_args *args,
                            const struct wf_compare *c,
                            struct wf_error *err)
{
    if (wf_args_flag(args, "json")) {
        return wf_print_compare_json(c, err);
    }
    if (wf_args_flag(args, "csv")) {
        wf_print_compare_csv(c);
    } else if (wf_args_flag(args, "markdown")) {
        wf_print_compare_markdown(c);
    } else {
        wf_print_compare_text(c);
    }
    return WF_OK;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_results side[2] = { { 0 }, { 0 } };
    struct wf_unpaired u = { 0 };
    struct wanted w = { false, false };
    struct wf_compare c = { .a = wf_args_at(args, 0),
                            .b = wf_args_at(args, 1),
                            .threshold = wf_args_real(args, "threshold"),
                            .all = wf_args_flag(args, "all"),
                            .result = &u };
    enum wf_status status = read_wanted(args, &w, &err);
    if (status == WF_OK && !isnan(c.threshold)) {
        status = wf_args_real_in(args, "threshold", 0, 1000, &c.threshold, &err);
    }
    for (size_t i = 0; i < 2 && status == WF_OK; i++) {
        status = read_side(args, wf_args_at(args, i), &side[i], &err);
        c.count[i] = side[i].count;
        c.expected[i] = side[i].expected;
    }
    if (status == WF_OK) {
        status = wf_unpaired_compare(
            (const struct wf_json *const *)side[0].result, side[0].count,
            (const struct wf_json *const *)side[1].result, side[1].count, &u, &err);
    }
    status = status == WF_OK ? print(args, &c, &err) : status;
    const int code = status == WF_OK ? exit_of(&c, &w) : wf_exit_error(&err);
    wf_unpaired_free(&u);
    wf_results_free(&side[0]);
    wf_results_free(&side[1]);
    return code;
}

static const struct wf_opt opts[] = {
    { "threshold", WF_OPT_REAL, "PERCENT", NULL, NULL,
      "exit 1 where B's interval lies more than this above A's" },
    { "fail-on", WF_OPT_LIST, "WHAT", NULL, NULL,
      "answers: exit 1 where one was PASS and is not; missing: where B lacks a task" },
    { "all", WF_OPT_FLAG, NULL, NULL, NULL,
      "also tasks without a time, and those not supported on either side" },
    { "markdown", WF_OPT_FLAG, NULL, NULL, NULL, "a table for a comment" },
    { "csv", WF_OPT_FLAG, NULL, NULL, NULL, "all tasks as CSV" },
    WF_OPTS_SERVER,
    WF_OPT_JSON,
};

const struct wf_command wf_command_compare = {
    .name = "compare",
    .synopsis = "A B",
    .summary = "Compare two results files or runs that were measured apart",
    .details =
        "A and B are results files (FILE.jsonl) or runs of a farm (their numbers). Tasks\n"
        "are matched by case, kernel, device model and mode; what has no partner, another\n"
        "name, another meaning or no usable time is listed as such, never left out.\n"
        "\n"
        "Ratios are of medians, with the range that their 95 % intervals allow; intervals\n"
        "that overlap are undecided. The runs were not measured in turns, so no error\n"
        "rate belongs to a difference: 'wavefarm gate' gives one.\n"
        "\n"
        "Exit status 0, whatever differs, unless --threshold or --fail-on asks; 4 where\n"
        "no task is on both sides, or what was asked could not be told for all tasks.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
