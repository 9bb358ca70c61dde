/* Proposals of a history, each confirmed or not by a gate of its last pack before the
 * change against the first after it; e-BH over the proposals. */
#ifndef WF_CLI_HISTORY_CONFIRM_H
#define WF_CLI_HISTORY_CONFIRM_H

#include "cli/gate_local.h"
#include "gate/history.h"

enum history_outcome {
    HISTORY_UNTOLD,      /* not asked */
    HISTORY_CONFIRMED,   /* at the error rate, over all proposals */
    HISTORY_UNCONFIRMED, /* a gate ran and did not confirm it */
    HISTORY_NO_GATE      /* no gate could be run; see `why` */
};
const char *history_outcome_name(enum history_outcome o);

struct history_proposal {
    const struct wf_history_series *series;
    const struct wf_change_point *change;
    enum history_outcome outcome;
    char verdict[64]; /* of the gate */
    char why[400];    /* NO_GATE */
    double log_e;     /* evidence that it is slower (a faster one: faster) */
    double effect;    /* of the gate; NAN */
};

/* Those of the series' newest change points; `*ret` is freed by the caller. */
enum wf_status history_proposals(const struct wf_history *h,
                                 struct history_proposal **ret,
                                 size_t *ret_count,
                                 struct wf_error *err);

struct history_confirm {
    struct wf_gate_options gate; /* suite, device, ... */
    const char *packs;           /* folder that holds the packs of the points */
    const char *record;          /* folder for the gates' records, NULL */
    double alpha;
};
/* ECANCELLED ends it. What keeps one proposal from its gate is told in `why`. */
enum wf_status history_confirm(const struct history_confirm *c,
                               struct history_proposal *p,
                               size_t n,
                               struct wf_error *err);

#endif
