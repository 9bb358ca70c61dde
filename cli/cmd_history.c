/* history: nightly values against a pinned base, and where their level changed. */
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/history_view.h"
#include "cli/output.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/parse.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ORDER_MAX_BYTES ((size_t)16 << 20)

/* --- where the values come from --- */

struct reading {
    struct wf_history *history;
    size_t unfinished; /* records without a verdict */
};

static enum wf_status read_record(struct reading *r,
                                  const char *path,
                                  struct wf_error *err)
{
    struct wf_gate_record *record = NULL;
    bool torn = false;
    enum wf_status status = wf_gate_record_read(path, true, &record, &torn, err);
    if (status == WF_OK) {
        status = wf_history_add_record(r->history, record, err);
        if (status == WF_ENOTFOUND) {
            r->unfinished++;
            status = WF_OK;
        }
    }
    wf_gate_record_free(record);
    return status;
}

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

/* Every .jsonl of a folder has to be a gate's record: one that is not would be missing
 * from a series without anybody seeing it. */
static enum wf_status read_folder(struct reading *r,
                                  const char *folder,
                                  struct wf_error *err)
{
    struct dirent **entry = NULL;
    struct stat st;
    size_t found = 0;
    enum wf_status status = WF_OK;
    const int n = scandir(folder, &entry, NULL, alphasort);
    if (n < 0) {
        return wf_error_errno(err, errno, "cannot list %s", folder);
    }
    for (int i = 0; i < n; i++) {
        if (status == WF_OK && ends_with(entry[i]->d_name, ".jsonl")) {
            char *path = wf_path_join(folder, entry[i]->d_name);
            if (path == NULL) {
                status = wf_errorf(err, WF_ENOMEM, "no memory for a path");
            } else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
                /* A pipe would be waited for. */
                status = wf_errorf(err, WF_EINVAL, "%s is no file", path);
            } else {
                status = read_record(r, path, err);
            }
            free(path);
            found++;
        }
        free(entry[i]);
    }
    free(entry);
    if (status == WF_OK && found == 0) {
        status =
            wf_errorf(err, WF_ENOTFOUND, "%s holds no gate's record (*.jsonl)", folder);
    }
    return status;
}

static enum wf_status read_paths(struct reading *r,
                                 const struct wf_args *args,
                                 struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < wf_args_count(args) && status == WF_OK; i++) {
        struct stat st;
        const char *path = wf_args_at(args, i);
        if (stat(path, &st) != 0) {
            status = wf_error_errno(err, errno, "cannot read %s", path);
        } else {
            status = S_ISDIR(st.st_mode) ? read_folder(r, path, err)
                                         : read_record(r, path, err);
        }
    }
    return status;
}

static enum wf_status read_farm(struct reading *r,
                                const struct wf_args *args,
                                struct wf_error *err)
{
    int days = 0;
    char path[64];
    struct wf_api *api = NULL;
    struct wf_json *answer = NULL;
    enum wf_status status = wf_args_int_in(args, "days", 1, 36500, &days, err);
    if (status == WF_OK) {
        status = wf_api_open(args, &api, err);
    }
    if (status == WF_OK) {
        snprintf(path, sizeof(path), "/v1/gates/history?days=%d", days);
        status = wf_api_get(api, path, 0, &answer, err);
    }
    if (status == WF_OK) {
        status = wf_history_add_served(r->history, answer, err);
    }
    wf_json_free(answer);
    wf_api_close(api);
    return status;
}

/* --- choice of series --- */

static bool is_wanted(const struct wf_args *args, const struct wf_history_series *s)
{
    const char *kase = wf_args_string(args, "case");
    const char *kernel = wf_args_string(args, "kernel");
    const char *model = wf_args_string(args, "model");
    const char *base = wf_args_string(args, "base");
    return (kase == NULL || wf_glob_match(kase, s->case_name)) &&
           (kernel == NULL || wf_glob_match(kernel, s->kernel)) &&
           (model == NULL || wf_glob_match(model, s->model)) &&
           (base == NULL || strncmp(s->base, base, strlen(base)) == 0);
}

/* Those that are not wanted go behind `*count` and are freed with the rest. */
static void choose(const struct wf_args *args, struct wf_history *h, size_t *ret_wanted)
{
    size_t n = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (is_wanted(args, &h->series[i])) {
            const struct wf_history_series other = h->series[n];
            h->series[n++] = h->series[i];
            h->series[i] = other;
        }
    }
    *ret_wanted = n;
}

/* --- order file: a commit a line, oldest first --- */

struct order {
    struct wf_buf text;
    const char **commit;
    size_t count;
};

static enum wf_status read_order(const struct wf_args *args,
                                 struct order *o,
                                 struct wf_error *err)
{
    const char *path = wf_args_string(args, "order");
    size_t most = 1;
    if (path == NULL) {
        return WF_OK;
    }
    enum wf_status status = wf_file_read(path, ORDER_MAX_BYTES, &o->text, err);
    if (status != WF_OK || o->text.len == 0) {
        return status == WF_OK ? wf_errorf(err, WF_EPARSE, "%s is empty", path)
                               : status;
    }
    for (const char *s = o->text.data; *s != '\0'; s++) {
        most += *s == '\n';
    }
    o->commit = wf_calloc(most, sizeof(*o->commit));
    if (o->commit == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu commits", most);
    }
    for (char *s = o->text.data; *s != '\0';) {
        const size_t len = strcspn(s, "\r\n");
        const bool last = s[len] == '\0';
        s[len] = '\0';
        if (len > 0) {
            const bool hex = strspn(s, "0123456789abcdef") == len;
            if (!hex || (len != 40 && len != 64)) {
                return wf_errorf(err, WF_EPARSE,
                                 "%s: '%.60s' is no full commit ('git rev-list "
                                 "--first-parent --reverse BRANCH' prints them)",
                                 path, s);
            }
            o->commit[o->count++] = s;
        }
        s += last ? len : len + 1;
    }
    return WF_OK;
}

/* --- the command --- */

static enum wf_status read_rule(const struct wf_args *args,
                                struct wf_change_rule *rule,
                                struct wf_error *err)
{
    double least = 0;
    *rule = (struct wf_change_rule)WF_CHANGE_RULE_DEFAULT;
    enum wf_status status = wf_args_real_in(args, "min-shift", 0, 1000, &least, err);
    rule->min_shift = log1p(least / 100);
    return status;
}

static enum wf_status require(const struct wf_args *a,
                              const char *option,
                              const char *what,
                              struct wf_error *err)
{
    return wf_args_string(a, option) != NULL
               ? WF_OK
               : wf_errorf(err, WF_EINVAL, "--confirm needs --%s: %s", option, what);
}

static enum wf_status read_confirm(const struct wf_args *a,
                                   struct history_confirm *c,
                                   struct wf_error *err)
{
    *c = (struct history_confirm){
        .gate = { .suite = wf_args_string(a, "suite"),
                  .device = wf_args_string(a, "device"),
                  .policy = wf_args_string(a, "policy"),
                  .no_sentinels = wf_args_flag(a, "no-sentinels"),
                  .cancel = &wf_interrupted },
        .packs = wf_args_string(a, "packs"),
        .record = wf_args_string(a, "record"),
    };
    c->gate.measure.measure = true;
    enum wf_status status =
        require(a, "packs", "the folder with the nights' packs", err);
    status =
        status == WF_OK ? require(a, "suite", "where the cases are from", err) : status;
    if (status == WF_OK) {
        status = wf_args_real_in(a, "alpha", 1e-9, 0.2, &c->alpha, err);
    }
    return status == WF_OK ? wf_args_deadlines(a, &c->gate.deadline_ns,
                                               &c->gate.lock_timeout_ns, err)
                           : status;
}

static int exit_of(const struct history_view *v)
{
    bool open = false;
    for (size_t i = 0; i < v->proposals; i++) {
        const struct history_proposal *p = &v->proposal[i];
        if (p->outcome == HISTORY_CONFIRMED && p->change->size > 0) {
            return WF_EXIT_BAD;
        }
        open = open || p->outcome == HISTORY_NO_GATE;
    }
    return open ? WF_EXIT_NO_VERDICT : WF_EXIT_GOOD;
}

static enum wf_status analyse(const struct wf_args *args,
                              struct wf_history *h,
                              struct wf_error *err)
{
    struct wf_change_rule rule;
    struct order order = { .text = WF_BUF_INIT };
    enum wf_status status = read_rule(args, &rule, err);
    status = status == WF_OK ? read_order(args, &order, err) : status;
    if (status == WF_OK) {
        status = wf_history_analyse(h, &rule, order.commit, order.count, err);
    }
    free(order.commit);
    wf_buf_free(&order.text);
    return status;
}

static int show(const struct wf_args *args, struct wf_history *h, struct wf_error *err)
{
    struct history_proposal *p = NULL;
    struct history_confirm c = { .alpha = NAN };
    struct history_view v = { .history = h,
                              .changed_only = !wf_args_flag(args, "all"),
                              .alpha = NAN };
    const bool confirm = wf_args_flag(args, "confirm");
    enum wf_status status = confirm ? read_confirm(args, &c, err) : WF_OK;
    status = status == WF_OK ? analyse(args, h, err) : status;
    status = status == WF_OK ? history_proposals(h, &p, &v.proposals, err) : status;
    v.proposal = p;
    if (status == WF_OK && confirm) {
        v.alpha = c.alpha;
        status = history_confirm(&c, p, v.proposals, err);
    }
    if (status == WF_OK && wf_args_flag(args, "json")) {
        status = history_print_json(&v, err);
    } else if (status == WF_OK) {
        history_print_text(&v);
    }
    const int code = status == WF_OK ? exit_of(&v) : wf_exit_error(err);
    free(p);
    return code;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_history h = { 0 };
    struct reading r = { .history = &h };
    size_t all = 0;
    enum wf_status status = wf_args_count(args) > 0 ? read_paths(&r, args, &err)
                                                    : read_farm(&r, args, &err);
    all = h.count;
    if (status == WF_OK) {
        choose(args, &h, &h.count);
        if (h.count == 0) {
            status = wf_errorf(&err, WF_ENOTFOUND,
                               "no series%s: %zu gates, %zu not finished, %zu pairs of "
                               "the base's own code, %zu without a time",
                               all > 0 ? " of that case, kernel, model and base" : "",
                               h.records, r.unfinished, h.unchanged, h.left_out);
        }
    }
    if (status == WF_OK && r.unfinished > 0) {
        fprintf(stderr, "wavefarm: %zu gates have not ended and are left out\n",
                r.unfinished);
    }
    const int code = status == WF_OK ? show(args, &h, &err) : wf_exit_error(&err);
    h.count = all;
    wf_history_free(&h);
    return code;
}

static const struct wf_opt opts[] = {
    { "case", WF_OPT_STRING, "GLOB", NULL, NULL, "cases by name" },
    { "kernel", WF_OPT_STRING, "GLOB", NULL, NULL, "kernels by name" },
    { "model", WF_OPT_STRING, "GLOB", NULL, NULL, "device models" },
    { "base", WF_OPT_STRING, "ID", NULL, NULL,
      "the pinned pack: its id or the begin of it" },
    { "days", WF_OPT_INT, "N", "400", NULL, "from a coordinator: so many days back" },
    { "order", WF_OPT_FILE, "FILE", NULL, NULL,
      "commits, oldest first, for what the packs' parents do not order" },
    { "min-shift", WF_OPT_REAL, "PERCENT", "0", NULL, "smaller changes are not told" },
    { "all", WF_OPT_FLAG, NULL, NULL, NULL, "also series without a change point" },
    { "confirm", WF_OPT_FLAG, NULL, NULL, NULL,
      "run a gate for each new point: the pack before it against the pack after it" },
    { "packs", WF_OPT_FILE, "FOLDER", NULL, NULL, "confirm: where those packs are" },
    { "suite", WF_OPT_STRING, "SUITE", NULL, NULL,
      "confirm: where the cases are from" },
    { "device", WF_OPT_STRING, "SELECTOR", "host", NULL,
      "confirm: host, host:1, cuda:0, amd:0" },
    { "record", WF_OPT_FILE, "FOLDER", NULL, NULL, "confirm: keep the gates' records" },
    { "alpha", WF_OPT_REAL, "P", "0.01", NULL,
      "confirm: false discovery rate over all proposals" },
    { "policy", WF_OPT_FILE, "FILE", NULL, NULL, "confirm: margins" },
    { "no-sentinels", WF_OPT_FLAG, NULL, NULL, NULL, "confirm: no known answers" },
    { "deadline", WF_OPT_DURATION, "TIME", "10m", NULL,
      "confirm: a pair that takes longer in a round is killed" },
    { "lock-timeout", WF_OPT_DURATION, "TIME", "10m", NULL,
      "confirm: wait so long for a device that somebody else measures on" },
    WF_OPTS_SERVER,
    WF_OPT_JSON,
};

const struct wf_command wf_command_history = {
    .name = "history",
    .synopsis = "[PATH...]",
    .summary = "Show nightly gates against a pinned pack, and where a level changed",
    .details =
        "PATH is a gate's record or a folder of them; without one the coordinator is\n"
        "asked. Every finished gate against the same base gives a value a pair: the ratio\n"
        "of times. Values of other device models or bases are other series.\n"
        "\n"
        "A change point among the last 12 nights is new: a proposal, without an error\n"
        "rate. --confirm runs the gates that have one.\n"
        "\n"
        "Exit status 0; with --confirm 1 where a slower one was confirmed, 4 where a gate\n"
        "could not be run.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 0,
    .max_args = -1,
    .run = run,
};
