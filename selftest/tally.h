/* What counts as caught: pure rules over the outcomes of one mutant's trials.
 *
 * Ours: the mistake must be seen in every case that the manifest names for it, with one
 * of the answers that it names. An outcome without an answer about the kernel (the
 * runner failed, the case was refused, no memory) is an error of the selftest and never
 * a catch.
 * Peers: caught when any case is rejected. They see outputs only: no guard zones, no
 * race detection. Where the emulator's checks ended a launch before there were outputs,
 * the launch runs again without them, and its outputs count. A crash, a fault of the
 * device (memory that does not exist too) or a time-out is a catch for everybody. */
#ifndef WF_SELFTEST_TALLY_H
#define WF_SELFTEST_TALLY_H

#include "selftest/manifest.h"
#include "selftest/mutants.h"
#include "selftest/trial.h"

struct wf_tally {
    size_t trials, counted; /* those that count as caught */
    bool peer[WF_PEER_COUNT];
    bool said[WF_MUTANT_MAX_SAYS];
    char what[800]; /* what happened where it was not caught */
};

/* EINTERNAL when the outcome says nothing about the kernel; text names it. */
enum wf_status wf_tally_check(const char *name,
                              const char *case_text, /* name or JSON */
                              const struct wf_trial_outcome *o,
                              struct wf_error *err);
/* m NULL: a generated mutant, where any answer but PASS counts. */
void wf_tally_add(struct wf_tally *t,
                  const struct wf_mutant *m,
                  const char *case_name,
                  const struct wf_trial_outcome *o);
/* `all`: in every trial; else in one. */
bool wf_tally_caught(const struct wf_tally *t, bool all);
/* Outputs were not compared although a peer might have taken them for right. */
bool wf_tally_needs_outputs(const struct wf_trial_outcome *o);
void wf_tally_peers(struct wf_tally *t, const struct wf_trial_outcome *o);
/* Of a launch without the emulator's checks. */
void wf_tally_peers_unchecked(struct wf_tally *t, const struct wf_trial_outcome *o);
bool wf_tally_all_peers(const struct wf_tally *t);
/* Adds the mutant to its group. ENOMEM only. */
enum wf_status wf_group_add(struct wf_mutants_group *g,
                            const char *name,
                            const struct wf_tally *t,
                            bool caught,
                            struct wf_error *err);
enum wf_status wf_list_add(char ***list,
                           size_t *count,
                           char *text, /* taken over */
                           struct wf_error *err);

#endif
