/* The catch rate of the judge: every mutant and every cheat of the mutant packs,
 * mutants generated from our own device code, and right kernels with fresh seeds.
 * docs/mutants.md says what counts as caught. */
#ifndef WF_SELFTEST_MUTANTS_H
#define WF_SELFTEST_MUTANTS_H

#include "selftest/trial.h"

struct wf_mutants_options {
    const char *packs_folder;   /* share/wavefarm/packs or the build's */
    const char *mutants_folder; /* share/wavefarm/mutants: packs and mutants.json */
    size_t generated;           /* how many, over all kernels */
    size_t right_runs;
    uint64_t seed;
    int jobs;
    bool (*wants)(void *ctx, const char *name); /* NULL: all */
    const volatile int *cancel;
    void (*progress)(void *ctx, const char *stage, size_t done, size_t of);
    void *ctx; /* of wants and progress */
};

struct wf_mutants_group {
    size_t total, caught;
    size_t peer_caught[WF_PEER_COUNT];
    char **survivor; /* names with what happened instead */
    size_t survivor_count;
    size_t causes, causes_named; /* mutants whose cause the diagnosis should name */
    char **unnamed;
    size_t unnamed_count;
};

struct wf_mutants_report {
    struct wf_mutants_group wrong, cheats, generated;
    size_t right_runs, false_alarms;
    char **alarm; /* what was said of a right kernel */
    size_t alarm_count;
    char **excluded; /* generated mutants left out: reason and count */
    size_t excluded_count;
};

/* A runner that fails, a case that is refused, a kernel that never ran: an error, and
 * neither a catch nor a miss. */
enum wf_status wf_mutants_run(const struct wf_mutants_options *options,
                              struct wf_mutants_report *ret,
                              struct wf_error *err);
void wf_mutants_report_free(struct wf_mutants_report *r);
/* 100 % of the wrong, 95 % of the cheats, 98 % of the generated ones, no false alarm.
 */
bool wf_mutants_report_is_good(const struct wf_mutants_report *r);

#endif
