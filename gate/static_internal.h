/* What the files of the static gate share. */
#ifndef WF_GATE_STATIC_INTERNAL_H
#define WF_GATE_STATIC_INTERNAL_H

#include "gate/static.h"

struct static_rule {
    const char *figure, *kernel;      /* globs */
    double most_increase, most_ratio; /* NAN: no such limit */
    bool red, builtin;
    const char *why; /* built-in rules; "" for the policy's */
};

struct wf_static_rules {
    struct wf_json *json; /* a copy of the policy's; the rules borrow from it */
    struct static_rule *rule;
    size_t count;
};

/* The first rule that fits, NULL: none. Figures without a direction fit only rules of
 * the policy. */
const struct static_rule *static_rule_for(const struct wf_static_rules *r,
                                          const struct wf_static_figure *f);

#endif
