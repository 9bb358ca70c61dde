/* tune show, tune replay, tune select: what is done with tuning tables. */
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/results_file.h"
#include "cli/tune.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/sha256.h"
#include "tune/selection.h"
#include "tune/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- show --- */

static int show(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_json *table = NULL;
    enum wf_status st = wf_tuning_read(wf_args_at(args, 0), &table, &err);
    if (st == WF_OK) {
        st = wf_args_flag(args, "json") ? wf_print_json(table, &err)
                                        : tune_print(table, &err);
    }
    wf_json_free(table);
    return st == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

static const struct wf_opt show_opts[] = { WF_OPT_JSON };

const struct wf_command wf_command_tune_show = {
    .name = "tune show",
    .synopsis = "TABLE",
    .summary = "Show a tuning table: winners, steps, gates",
    .details = "What 'wavefarm tune' printed when it made the table.",
    .opt = show_opts,
    .opt_count = sizeof(show_opts) / sizeof(show_opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = show,
};

/* --- replay --- */

static void say(void *ctx, const char *line)
{
    (void)ctx;
    wf_say("%s", line);
}

/* The folder that the search worked in: beside the table, unless told. */
static char *work_of(const struct wf_args *args)
{
    const char *work = wf_args_string(args, "work");
    return work != NULL ? wf_strdup(work) : wf_asprintf("%s.work", wf_args_at(args, 0));
}

static int replay(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_json *table = NULL;
    size_t differences = 0;
    char *work = work_of(args);
    enum wf_status st = work != NULL ? wf_tuning_read(wf_args_at(args, 0), &table, &err)
                                     : wf_errorf(&err, WF_ENOMEM, "no memory");
    st =
        st == WF_OK ? wf_tuning_replay(table, work, say, NULL, &differences, &err) : st;
    if (st == WF_OK && differences == 0) {
        wf_say("%zu cases: the evidence decides as the table says",
               wf_json_count(wf_json_find(table, "cases")));
    } else if (st == WF_OK) {
        wf_say("%zu differences", differences);
    }
    wf_json_free(table);
    free(work);
    return st != WF_OK       ? wf_exit_error(&err)
           : differences > 0 ? WF_EXIT_BAD
                             : WF_EXIT_GOOD;
}

static const struct wf_opt replay_opts[] = {
    { "work", WF_OPT_FILE, "FOLDER", NULL, NULL,
      "where the gates' records are (default: TABLE.work)" },
};

const struct wf_command wf_command_tune_replay = {
    .name = "tune replay",
    .synopsis = "TABLE",
    .summary = "Decide a tuning table anew from its evidence and compare",
    .details =
        "Modelled: cycles from the models, winners from the cycles. Measured: the\n"
        "tournament from its gates, each gate from its record where it is there.\n"
        "Exit status: 0 the same, 1 something differs, 2 bad input.",
    .opt = replay_opts,
    .opt_count = sizeof(replay_opts) / sizeof(replay_opts[0]),
    .min_args = 1,
    .max_args = 1,
    .run = replay,
};

/* --- select --- */

#define TABLES_MOST 64

struct making {
    struct wf_json *table[TABLES_MOST];
    char sha256[TABLES_MOST][WF_SHA256_HEX];
    const char *sha[TABLES_MOST];
    size_t count;
};

static enum wf_status read_tables(const struct wf_args *args,
                                  struct making *m,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (wf_args_count(args) > TABLES_MOST) {
        return wf_errorf(err, WF_EINVAL, "at most %d tables", TABLES_MOST);
    }
    for (; m->count < wf_args_count(args) && st == WF_OK; m->count++) {
        const char *path = wf_args_at(args, m->count);
        m->sha[m->count] = m->sha256[m->count];
        st = wf_tuning_read(path, &m->table[m->count], err);
        st = st == WF_OK ? wf_sha256_file(path, m->sha256[m->count], err) : st;
    }
    return st;
}

static enum wf_status write_selection(const struct wf_args *args,
                                      const struct wf_json *selection,
                                      struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    const char *out = wf_args_string(args, "out");
    enum wf_status st = wf_json_write_pretty(selection, &text, err);
    st = st == WF_OK ? wf_buf_puts(&text, "\n", err) : st;
    if (st == WF_OK && out != NULL) {
        st = wf_file_write_atomic(out, text.data, text.len, err);
    } else if (st == WF_OK) {
        (void)fwrite(text.data, 1, text.len, stdout);
    }
    wf_buf_free(&text);
    return st;
}

static int make_selection(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_json *selection = NULL;
    struct making *m = wf_calloc(1, sizeof(*m));
    enum wf_status st = m != NULL ? read_tables(args, m, &err)
                                  : wf_errorf(&err, WF_ENOMEM, "no memory for tables");
    st = st == WF_OK
             ? wf_selection_make((const struct wf_json *const *)m->table, m->sha,
                                 m->count, wf_args_string(args, "description"),
                                 &selection, &err)
             : st;
    st = st == WF_OK ? write_selection(args, selection, &err) : st;
    for (size_t i = 0; m != NULL && i < m->count; i++) {
        wf_json_free(m->table[i]);
    }
    wf_json_free(selection);
    free(m);
    return st == WF_OK ? WF_EXIT_GOOD : wf_exit_error(&err);
}

static const struct wf_opt select_opts[] = {
    { "out", WF_OPT_FILE, "FILE", NULL, NULL, "write it there (default: stdout)" },
    { "description", WF_OPT_STRING, "TEXT", NULL, NULL, "one line for people" },
};

const struct wf_command wf_command_tune_select = {
    .name = "tune select",
    .synopsis = "TABLE...",
    .summary = "Make a selection table of the winners of tuning tables",
    .details =
        "A measured winner goes before a modelled one, else the later table wins.\n"
        "'wavefarm run --select FILE' uses it; docs/tuning.md has its rules.",
    .opt = select_opts,
    .opt_count = sizeof(select_opts) / sizeof(select_opts[0]),
    .min_args = 1,
    .max_args = -1,
    .run = make_selection,
};
