/* What a policy holds. Private to policy*.c. */
#ifndef WF_GATE_POLICY_INTERNAL_H
#define WF_GATE_POLICY_INTERNAL_H

#include "gate/policy.h"

struct policy_margin {
    const char *suite, *case_name, *kernel; /* globs */
    double d0, d1;
};

struct wf_gate_policy {
    struct wf_json *json; /* owned; every text points into it */
    const struct wf_json *statics;
    bool strict, removed_is_red, ancestor;
    int max_age_days;
    struct policy_margin *margin;
    size_t margin_count;
    struct wf_gate_waiver *waiver;
    size_t waiver_count;
};

#endif
