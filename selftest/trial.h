/* Trials: one kernel of a pack on one case, judged as any task is (runner/execute.h).
 * The selftest's only way to run anything. */
#ifndef WF_SELFTEST_TRIAL_H
#define WF_SELFTEST_TRIAL_H

#include "core/error.h"
#include "core/json.h"
#include "core/verdict.h"
#include "runner/execute.h"

/* What rules of other suites would have said of the outputs of the first checked
 * launch. X(NAME, text for people) */
#define WF_PEER_LIST(X)                                                            \
    X(ALLCLOSE, "allclose 1e-2/1e-2") /* |e| <= 1e-2 + 1e-2 |ref|, all elements */ \
    X(FLASHINFER, "FlashInfer-Bench") /* |e| <= 1e-2 or |e| <= 1e-2 |ref|, all */  \
    X(FIVE_PERCENT, "5 % may fail")   /* allclose for 95 % of the elements */

enum wf_peer {
#define X(name, text) WF_PEER_##name,
    WF_PEER_LIST(X)
#undef X
    WF_PEER_COUNT
};

struct wf_trial {
    const char *pack_folder;
    const char *pack_id;
    const char *kernel;
    const char *case_json;
    const struct wf_device *device;
    const char *dataset_folder;
    uint64_t seed_offset;
    bool measure;   /* timed launches too, with a short budget */
    bool no_checks; /* emulator: no fault detection (what outputs would be) */
    int64_t kernel_deadline_ns; /* 0: 20 s */
    const void *user;           /* the caller's */
};

struct wf_trial_outcome {
    enum wf_status status; /* not WF_OK: the runner itself failed, `text` says why */
    enum wf_answer answer;
    enum wf_time time;
    char text[600];
    char diagnosis[520];
    bool peers_known; /* false: no outputs were compared (a crash) */
    bool peer_rejects[WF_PEER_COUNT];
};

const char *wf_peer_text(enum wf_peer peer);
/* The kernel never ran, or nobody waited for it: no answer about the kernel. */
bool wf_trial_answer_is_void(enum wf_answer answer);

typedef void (*wf_trial_done_fn)(void *ctx,
                                 const struct wf_trial *trial,
                                 const struct wf_trial_outcome *outcome);

/* Runs all, `jobs` at a time (0: one a processor), each in a worker process of its own
 * kind; `done` is called in the order of the trials. A runner that fails is an outcome
 * whose status is not WF_OK, never an answer; a worker that dies is an error of the
 * whole call. ECANCELLED when *cancel becomes non-zero; the trials that ended before it
 * were reported. */
enum wf_status wf_trials_run(const struct wf_trial *trial,
                             size_t n,
                             int jobs,
                             const volatile int *cancel,
                             wf_trial_done_fn done,
                             void *ctx,
                             struct wf_error *err);

#endif
