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
    const char *only; /* glob over names, or NULL */
    const volatile int *cancel;
    void (*progress)(void *ctx, const char *stage, size_t done, size_t of);
    void *ctx;
};

struct wf_mutants_group {
    size_t total, caught;
    size_t peer_caught[WF_PEER_COUNT];
    char **survivor; /* names with what happened instead */
    size_t survivor_count;
};

struct wf_mutants_report {
    struct wf_mutants_group wrong, cheats, generated;
    size_t right_runs, false_alarms;
    char **alarm; /* what was said of a right kernel */
    size_t alarm_count;
    char **excluded; /* generated mutants left out: reason and count */
    size_t excluded_count;
};

enum wf_status wf_mutants_run(const struct wf_mutants_options *options,
                              struct wf_mutants_report *ret,
                              struct wf_error *err);
void wf_mutants_report_free(struct wf_mutants_report *r);

#endif
