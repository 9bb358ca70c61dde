/* Command lines by table: the same rows give parsing, help, man pages and completion.
 */
#ifndef WF_CLI_ARGS_H
#define WF_CLI_ARGS_H

#include "core/buf.h"
#include "core/error.h"
#include "runner/execute.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wf_opt_kind {
    WF_OPT_FLAG,
    WF_OPT_STRING,
    WF_OPT_LIST, /* may be given several times */
    WF_OPT_INT,  /* >= 0 */
    WF_OPT_REAL,
    WF_OPT_DURATION, /* "250ms", "10s", "5m" */
    WF_OPT_FILE      /* a string that completes to file names */
};

struct wf_opt {
    const char *name; /* without "--" */
    enum wf_opt_kind kind;
    const char *metavar;
    const char *fallback; /* as if given, or NULL */
    const char *env;      /* environment variable asked before the fallback, or NULL */
    const char *help;
};

struct wf_args;

struct wf_command {
    const char *name;     /* "run", "dataset make page-table" */
    const char *synopsis; /* positional part: "SUITE" */
    const char *summary;  /* one line */
    const char *details;  /* paragraphs for help and man page */
    const struct wf_opt *opt;
    size_t opt_count;
    int min_args, max_args; /* positional; max -1: any number */
    int (*run)(const struct wf_args *args);
};

/* Checks everything against the table; EINVAL names the option and what it takes. */
enum wf_status wf_args_parse(const struct wf_command *command,
                             int argc,
                             char **argv,
                             struct wf_args **ret,
                             struct wf_error *err);
void wf_args_free(struct wf_args *args);

size_t wf_args_count(const struct wf_args *args); /* positional */
const char *wf_args_at(const struct wf_args *args, size_t i);
bool wf_args_flag(const struct wf_args *args, const char *name);
const char *wf_args_string(const struct wf_args *args, const char *name); /* or NULL */
/* -1 where neither given nor defaulted. */
int64_t wf_args_int(const struct wf_args *args, const char *name);
/* EINVAL when it is outside [min, max]. */
enum wf_status wf_args_int_in(const struct wf_args *args,
                              const char *name,
                              int64_t min,
                              int64_t max,
                              int *ret,
                              struct wf_error *err);
/* As wf_args_int_in, for options that are given or have a default. */
enum wf_status wf_args_duration_in(const struct wf_args *args,
                                   const char *name,
                                   int64_t min_ns,
                                   int64_t max_ns,
                                   int64_t *ret_ns,
                                   struct wf_error *err);
/* The options "deadline" and "lock-timeout" of commands that run kernels here. */
enum wf_status wf_args_deadlines(const struct wf_args *args,
                                 int64_t *ret_deadline_ns,
                                 int64_t *ret_lock_timeout_ns,
                                 struct wf_error *err);
/* EINVAL when the option is not given; `what` says what it is for. */
enum wf_status wf_args_require(const struct wf_args *args,
                               const char *name,
                               const char *what,
                               struct wf_error *err);
enum wf_status wf_args_real_in(const struct wf_args *args,
                               const char *name,
                               double min,
                               double max,
                               double *ret,
                               struct wf_error *err);
/* --mfma: fast or exact; ret_exact may be NULL. */
enum wf_status wf_args_mfma(const struct wf_args *args,
                            bool *ret_exact,
                            struct wf_error *err);
/* --icache: hot or cold; ret_cold may be NULL. */
enum wf_status wf_args_icache(const struct wf_args *args,
                              bool *ret_cold,
                              struct wf_error *err);
/* --launches (0 where it is not given) and --naive: how much is checked. */
enum wf_status wf_args_checks(const struct wf_args *args,
                              int *ret_launches,
                              enum wf_naive *ret_naive,
                              struct wf_error *err);
int64_t wf_args_duration_ns(const struct wf_args *args, const char *name);
/* NaN where neither given nor defaulted. */
double wf_args_real(const struct wf_args *args, const char *name);
size_t wf_args_list_count(const struct wf_args *args, const char *name);
const char *wf_args_list_at(const struct wf_args *args, const char *name, size_t i);

/* What --ci (percent) and --budget take, in `run` and in `submit`. */
#define WF_CI_MIN        0.001
#define WF_CI_MAX        99.0
#define WF_BUDGET_MIN_NS 1000000LL       /* 1 ms */
#define WF_BUDGET_MAX_NS 3600000000000LL /* 1 h */

/* Options that many commands share. */
#define WF_OPT_JSON                                                                \
    {                                                                              \
        "json", WF_OPT_FLAG, NULL, NULL, NULL, "print JSON for machines on stdout" \
    }
/* What the tasks of a run are, in `run` and in `submit`. */
/* clang-format off */
#define WF_OPTS_TASKS                                                                  \
    { "kernels", WF_OPT_STRING, "GLOB", NULL, NULL, "kernels by name or pack/name" },  \
    { "cases", WF_OPT_STRING, "GLOB", NULL, NULL, "cases by name" },                   \
    { "pack", WF_OPT_LIST, "FOLDER", NULL, NULL,                                       \
      "a pack to take kernels from (default: all built-in packs)" },                   \
    { "repetitions", WF_OPT_INT, "N", "1", NULL, "tasks a case and kernel" },          \
    { "seed-offset", WF_OPT_INT, "N", "0", NULL, "other inputs for the same cases" },  \
    { "no-measure", WF_OPT_FLAG, NULL, NULL, NULL, "answers only" },                   \
    { "cold", WF_OPT_FLAG, NULL, NULL, NULL,                                           \
      "every timed launch meets its inputs outside the last-level cache" },            \
    { "hot", WF_OPT_FLAG, NULL, NULL, NULL,                                            \
      "every launch on the same buffers (default, unless the suite says cold)" },      \
    { "icache", WF_OPT_STRING, "MODE", NULL, NULL,                                     \
      "hot (default), or cold: timed launches run code outside the instruction caches" }, \
    { "ci", WF_OPT_REAL, "PERCENT", NULL, NULL,                                        \
      "wanted half-width of the median's 95 % interval (default: the suite's, else 1)" }, \
    { "budget", WF_OPT_DURATION, "TIME", NULL, NULL,                                   \
      "device time for samples, a task (default: the suite's, else 2s)" },             \
    { "min-samples", WF_OPT_INT, "N", NULL, NULL,                                      \
      "fewest samples for a verdict (default: the suite's, else 10)" },                \
    { "max-samples", WF_OPT_INT, "N", NULL, NULL,                                      \
      "most samples (default: the suite's, else 1000)" },                              \
    { "launches", WF_OPT_INT, "N", NULL, NULL,                                         \
      "checked launches on equal inputs (default: the suite's, else 3; emulator: 2)" },             \
    { "naive", WF_OPT_STRING, "MODE", "auto", NULL,                                    \
      "naive device kernel as a check of all elements: auto, on or off" },             \
    { "mfma", WF_OPT_STRING, "MODE", "fast", NULL,                                     \
      "emulator: fast (FMA) or exact (rounded as the hardware does)" },                \
    { "no-checks", WF_OPT_FLAG, NULL, NULL, NULL, "emulator: no fault detection" },    \
    { "no-counters", WF_OPT_FLAG, NULL, NULL, NULL, "emulator: no counters" }
/* clang-format on */
#define WF_OPTS_SERVER                                                                \
    {                                                                                 \
        "server",                                                                     \
        WF_OPT_STRING,                                                                \
        "URL",                                                                        \
        NULL,                                                                         \
        "WAVEFARM_SERVER",                                                            \
        "coordinator, http://host:port or https://host:port"                          \
    },                                                                                \
        { "token-file",                                                               \
          WF_OPT_FILE,                                                                \
          "FILE",                                                                     \
          NULL,                                                                       \
          "WAVEFARM_TOKEN_FILE",                                                      \
          "file that holds the bearer token (or set WAVEFARM_TOKEN)" },               \
        { "ca-file",                                                                  \
          WF_OPT_FILE,                                                                \
          "FILE",                                                                     \
          NULL,                                                                       \
          "WAVEFARM_CA_FILE",                                                         \
          "certificate authority to trust instead of the system's" },                 \
        { "client-cert", WF_OPT_FILE, "FILE", NULL, NULL, "TLS client certificate" }, \
    {                                                                                 \
        "client-key", WF_OPT_FILE, "FILE", NULL, NULL, "its key"                      \
    }

#endif
