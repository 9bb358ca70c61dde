/* bisect: which pack between a good and a bad one is the first bad one. */
#include "cli/bisect_published.h"
#include "cli/bisect_search.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum wf_status require_all(const struct wf_args *a, struct wf_error *err)
{
    enum wf_status status =
        wf_args_require(a, "good", "a pack that was still good", err);
    if (status == WF_OK) {
        status = wf_args_require(a, "bad", "a later pack that is bad", err);
    }
    if (status == WF_OK) {
        status = wf_args_require(a, "suite", "where the case is from", err);
    }
    return status == WF_OK
               ? wf_args_require(a, "kernel", "the kernel that became bad", err)
               : status;
}

static enum wf_status read_seek(const struct wf_args *a,
                                enum bisect_seek *ret,
                                struct wf_error *err)
{
    const char *find = wf_args_string(a, "find");
    *ret = BISECT_AUTO;
    if (strcmp(find, "slower") == 0) {
        *ret = BISECT_SLOWER;
    } else if (strcmp(find, "wrong") == 0) {
        *ret = BISECT_WRONG;
    } else if (strcmp(find, "auto") != 0) {
        return wf_errorf(err, WF_EINVAL,
                         "--find '%.40s': wanted 'auto', 'slower' or 'wrong'", find);
    }
    return WF_OK;
}

static enum wf_status read_options(const struct wf_args *a,
                                   struct bisect_options *o,
                                   struct wf_error *err)
{
    *o = (struct bisect_options){
        .gate = { .suite = wf_args_string(a, "suite"),
                  .cases = wf_args_string(a, "case"),
                  .device = wf_args_string(a, "device"),
                  .policy = wf_args_string(a, "policy"),
                  .no_sentinels = wf_args_flag(a, "no-sentinels"),
                  .cancel = &wf_interrupted,
                  .measure = { .measure = true, .cold = wf_args_flag(a, "cold") } },
        .kernel = wf_args_string(a, "kernel"),
        .record = wf_args_string(a, "record"),
        .quiet = wf_args_flag(a, "json"),
    };
    enum wf_status status = require_all(a, err);
    status = status == WF_OK ? read_seek(a, &o->seek, err) : status;
    if (status == WF_OK) {
        status = wf_args_real_in(a, "alpha", 1e-9, 0.2, &o->alpha, err);
    }
    if (status == WF_OK) {
        status = wf_args_int_in(a, "threads", 0, 4096, &o->gate.threads, err);
    }
    if (status == WF_OK && wf_args_string(a, "max-blocks") != NULL) {
        status = wf_args_int_in(a, "max-blocks", 1, 100000, &o->gate.max_blocks, err);
    }
    return status == WF_OK ? wf_args_deadlines(a, &o->gate.deadline_ns,
                                               &o->gate.lock_timeout_ns, err)
                           : status;
}

/* --- what was found --- */

static bool is_exact(const struct bisect_search *s)
{
    size_t good = 0, bad = 0;
    wf_bisect_range(s->rule, &good, &bad);
    return s->ends_differ && bad == good + 1;
}

static void say_pack(const char *what, const struct bisect_pack *p)
{
    wf_say("%s: commit %s, pack %.12s (%s)", what,
           p->commit[0] != '\0' ? p->commit : "not known", p->id,
           p->path != NULL ? p->path : "published");
}

static void print_text(const struct bisect_search *s)
{
    const struct bisect_pack *pack = s->packs->pack;
    size_t good = 0, bad = 0;
    wf_bisect_range(s->rule, &good, &bad);
    if (!s->ends_differ) {
        wf_say("The bad pack is not %s than the good one as far as the gate can tell "
               "(%s): nothing to look for.",
               s->seek == BISECT_WRONG ? "more wrong" : "slower", s->step[0].verdict);
        return;
    }
    if (bad == good + 1) {
        say_pack("first bad", &pack[bad]);
    } else {
        wf_say("The first bad pack is one of %zu; those between could not be decided:",
               bad - good);
        for (size_t i = good + 1; i <= bad; i++) {
            say_pack(i < bad ? "  suspect" : "  bad", &pack[i]);
        }
    }
    say_pack("last good", &pack[good]);
    wf_say("%zu gates; that a pack slower by at most d0 was called bad, or one slower "
           "by d1 or more good, has a probability of at most %.2g.",
           s->count, bisect_search_error(s));
    if (s->options.record != NULL) {
        wf_say("records: %s", s->options.record);
    }
}

static enum wf_status set_pack(struct wf_json *o,
                               const char *key,
                               const struct bisect_pack *p,
                               struct wf_error *err)
{
    struct wf_json *v = wf_json_object();
    enum wf_status status = wf_json_set_string(v, "pack", p->id, err);
    if (status == WF_OK) {
        status = wf_json_set_string(v, "commit",
                                    p->commit[0] != '\0' ? p->commit : NULL, err);
    }
    status = status == WF_OK ? wf_json_set_string(v, "path", p->path, err) : status;
    if (status != WF_OK) {
        wf_json_free(v);
        return status;
    }
    return key != NULL ? wf_json_set_take(o, key, v, err)
                       : wf_json_push_take(o, v, err);
}

static enum wf_status set_number(struct wf_json *o,
                                 const char *key,
                                 double v,
                                 struct wf_error *err)
{
    return isfinite(v) ? wf_json_set_f64(o, key, v, err)
                       : wf_json_set_null(o, key, err);
}

static enum wf_status push_step(struct wf_json *list,
                                const struct bisect_search *s,
                                const struct bisect_step *step,
                                struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status status = set_pack(o, "candidate", &s->packs->pack[step->pack], err);
    if (status == WF_OK) {
        status = wf_json_set_string(o, "mark", wf_bisect_mark_name(step->mark), err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "verdict", step->verdict, err);
    }
    status = status == WF_OK ? set_number(o, "effect", step->effect, err) : status;
    status = status == WF_OK ? set_number(o, "low", step->low, err) : status;
    status = status == WF_OK ? set_number(o, "high", step->high, err) : status;
    status = status == WF_OK ? set_number(o, "alpha", step->alpha, err) : status;
    if (status == WF_OK) {
        status = wf_json_set_string(o, "record", step->record, err);
    }
    if (status != WF_OK) {
        wf_json_free(o);
        return status;
    }
    return wf_json_push_take(list, o, err);
}

static enum wf_status fill_json(const struct bisect_search *s,
                                struct wf_json *o,
                                struct wf_json *suspects,
                                struct wf_json *steps,
                                struct wf_error *err)
{
    size_t good = 0, bad = 0;
    wf_bisect_range(s->rule, &good, &bad);
    enum wf_status status =
        wf_json_set_string(o, "schema", "wavefarm.bisection/1", err);
    if (status == WF_OK) {
        status = wf_json_set_string(o, "seek",
                                    s->seek == BISECT_WRONG ? "wrong" : "slower", err);
    }
    status = status == WF_OK ? wf_json_set_bool(o, "ends_differ", s->ends_differ, err)
                             : status;
    status = status == WF_OK ? wf_json_set_bool(o, "found", is_exact(s), err) : status;
    if (status == WF_OK) {
        status = wf_json_set_f64(o, "error_rate", bisect_search_error(s), err);
    }
    if (status == WF_OK && is_exact(s)) {
        status = set_pack(o, "first_bad", &s->packs->pack[bad], err);
    }
    if (status == WF_OK && s->ends_differ) {
        status = set_pack(o, "last_good", &s->packs->pack[good], err);
    }
    for (size_t i = good + 1; i <= bad && s->ends_differ && status == WF_OK; i++) {
        status = set_pack(suspects, NULL, &s->packs->pack[i], err);
    }
    for (size_t i = 0; i < s->count && status == WF_OK; i++) {
        status = push_step(steps, s, &s->step[i], err);
    }
    return status;
}

static enum wf_status print_json(const struct bisect_search *s, struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    struct wf_json *suspects = wf_json_array();
    struct wf_json *steps = wf_json_array();
    enum wf_status status = fill_json(s, o, suspects, steps, err);
    if (status == WF_OK) {
        status = wf_json_set_take(o, "suspects", suspects, err);
        suspects = NULL;
    }
    if (status == WF_OK) {
        status = wf_json_set_take(o, "steps", steps, err);
        steps = NULL;
    }
    status = status == WF_OK ? wf_print_json(o, err) : status;
    wf_json_free(suspects);
    wf_json_free(steps);
    wf_json_free(o);
    return status;
}

static enum wf_status read_packs(const struct wf_args *args,
                                 const char *kernel,
                                 struct bisect_published **ret_published,
                                 struct bisect_packs *ret,
                                 struct wf_error *err)
{
    const char *good = wf_args_string(args, "good");
    const char *bad = wf_args_string(args, "bad");
    const char *packs = wf_args_string(args, "packs");
    const char *name = wf_args_string(args, "published");
    if (name == NULL) {
        return bisect_packs_read(good, bad, packs, kernel, ret, err);
    }
    if (packs != NULL) {
        return wf_errorf(err, WF_EINVAL,
                         "--packs and --published: the packs are either here or on a "
                         "farm");
    }
    enum wf_status status = bisect_published_open(args, kernel, ret_published, err);
    return status == WF_OK
               ? bisect_published_read(*ret_published, name, good, bad, ret, err)
               : status;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct bisect_options o;
    struct bisect_published *published = NULL;
    struct bisect_packs packs = { 0 };
    struct bisect_search s = { 0 };
    enum wf_status status = read_options(args, &o, &err);
    if (status == WF_OK) {
        status = read_packs(args, o.kernel, &published, &packs, &err);
    }
    if (status == WF_OK && !o.quiet) {
        wf_say("%zu packs from good to bad%s", packs.count,
               packs.count == 2 ? ": nothing lies between them" : "");
        if (packs.outside > 0) {
            wf_say("%zu of those given do not lie between the two", packs.outside);
        }
    }
    if (status == WF_OK) {
        status = bisect_search_run(&packs, &o, &s, &err);
    }
    if (status == WF_OK && o.quiet) {
        status = print_json(&s, &err);
    } else if (status == WF_OK) {
        print_text(&s);
    }
    const int found =
        status == WF_OK && is_exact(&s) ? WF_EXIT_GOOD : WF_EXIT_NO_VERDICT;
    const int code = status == WF_OK ? found : wf_exit_error(&err);
    bisect_search_free(&s);
    bisect_packs_free(&packs);
    bisect_published_close(published);
    return code;
}

static const struct wf_opt opts[] = {
    { "good", WF_OPT_FILE, "PACK", NULL, NULL,
      "a pack that was good: folder or archive; of published packs also the begin of "
      "its commit or id" },
    { "bad", WF_OPT_FILE, "PACK", NULL, NULL, "a later pack that is bad" },
    { "packs", WF_OPT_FILE, "PATH", NULL, NULL,
      "packs between: a folder, or a file with one a line, oldest first" },
    { "published", WF_OPT_STRING, "NAME", NULL, NULL,
      "packs between: those of this name that were published to the coordinator" },
    WF_OPTS_SERVER,
    { "suite", WF_OPT_STRING, "SUITE", NULL, NULL, "a built-in suite or a .json file" },
    { "case", WF_OPT_STRING, "GLOB", NULL, NULL, "case by name (default: all)" },
    { "kernel", WF_OPT_STRING, "NAME", NULL, NULL, "the kernel" },
    { "device", WF_OPT_STRING, "SELECTOR", "host", NULL,
      "host, host:1, cuda:0, amd:0, emulator" },
    { "record", WF_OPT_FILE, "FOLDER", NULL, NULL,
      "keep the gates' records there; the same command goes on from them" },
    { "find", WF_OPT_STRING, "WHAT", "auto", NULL,
      "slower, wrong, or auto: what the bad pack is" },
    { "alpha", WF_OPT_REAL, "P", "0.01", NULL, "error rate of the whole search" },
    { "policy", WF_OPT_FILE, "FILE", NULL, NULL, "margins (docs/gate-command.md)" },
    { "max-blocks", WF_OPT_INT, "N", NULL, NULL,
      "blocks of a pair in a step before it is passed over (default 48)" },
    { "no-sentinels", WF_OPT_FLAG, NULL, NULL, NULL, "no known answers in the steps" },
    { "cold", WF_OPT_FLAG, NULL, NULL, NULL,
      "every timed launch meets its inputs outside the last-level cache" },
    { "deadline", WF_OPT_DURATION, "TIME", "10m", NULL,
      "a pair that takes longer in a round is killed" },
    { "lock-timeout", WF_OPT_DURATION, "TIME", "10m", NULL,
      "wait so long for a device that somebody else measures on" },
    { "threads", WF_OPT_INT, "N", "0", NULL, "threads of the reference, 0: all" },
    WF_OPT_JSON,
};

const struct wf_command wf_command_bisect = {
    .name = "bisect",
    .synopsis = "",
    .summary = "Find the pack that made a kernel slower or wrong",
    .details =
        "Each step is a gate of the good pack against one between. Packs whose code for the\n"
        "kernel is the same are looked at once; one that a gate cannot decide is passed\n"
        "over for its neighbours. The error rate is split over the steps.\n"
        "\n"
        "The packs of a folder are put in order by the commits and parents of their\n"
        "provenance ('wavefarm pack publish --commit' and 'pack build' write it); a list\n"
        "file gives the order itself. With --published they are those that were published to\n"
        "a farm ('wavefarm pack publish'); the archive of a pack comes here when a step\n"
        "needs it, and the gates run on this machine.\n"
        "\n"
        "Exit status: 0 the first bad pack was found, 4 it was not (undecided packs are\n"
        "left, or the bad pack is not worse than the good one), 3 the machine failed.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
