/* A gate on a device of this machine, without a coordinator: rounds until every pair
 * has its verdict. Used by `wavefarm gate`, `bisect` and `history --confirm`. */
#ifndef WF_CLI_GATE_LOCAL_H
#define WF_CLI_GATE_LOCAL_H

#include "gate/record.h"
#include "runner/pair.h"

struct wf_gate_options {
    const char *base, *cand; /* pack folders or archives */
    const char *base_kernel; /* with cand_kernel: compare these two; NULL: kernels of
                                equal names */
    const char *cand_kernel;
    const char *suite;                 /* name or file; not looked at when resuming */
    const char *cases;                 /* glob over case names, NULL: all */
    const char *kernels;               /* glob over kernel names, NULL: all */
    const char *device;                /* selector */
    const struct wf_device *described; /* instead of `device`: one of a farm, for a plan
                                          alone; NULL */
    const char *policy;                /* file, NULL: none */
    const char *out;                   /* record file, NULL: none is kept */
    const char *resume;                /* record file to go on with, NULL */
    bool same;                         /* A/A: equal code is measured all the same */
    bool no_sentinels;
    bool answers_only;
    int max_blocks;                  /* 0: the rule's */
    const struct wf_gate_rule *rule; /* NULL: WF_GATE_PR_RULE; bisect and history split
                                        their error rate over gates */
    uint64_t seed_offset;
    int64_t deadline_ns, lock_timeout_ns;
    int threads;
    struct wf_measure_options measure;
    bool hot;  /* not cold, whatever the suite says */
    bool live; /* a table on the terminal while it runs */
    const volatile int *cancel;
};

/* Runs it to its end; *ret has the verdict line in it. ECANCELLED still gives a record
 * (its open pairs are INCONCLUSIVE, cancelled). A device or runner that fails again and
 * again ends the gate, too: its open pairs are INCONCLUSIVE, not-run. EREFUSED: there
 * is nothing to compare, or the policy refuses the base; no record is made then. */
enum wf_status wf_gate_run_local(const struct wf_gate_options *options,
                                 struct wf_gate_record **ret,
                                 struct wf_error *err);

#endif
