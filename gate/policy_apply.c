/* What a policy says about a pair. Pure. */
#include "core/parse.h"
#include "gate/policy_internal.h"

#include <math.h>
#include <string.h>

#define DATE_LENGTH 10 /* "2026-12-31" */

const struct wf_json *wf_gate_policy_json(const struct wf_gate_policy *p)
{
    return p->json;
}

const struct wf_json *wf_gate_policy_static(const struct wf_gate_policy *p)
{
    return p->statics;
}

bool wf_gate_policy_strict(const struct wf_gate_policy *p)
{
    return p->strict;
}

bool wf_gate_policy_removed_is_red(const struct wf_gate_policy *p)
{
    return p->removed_is_red;
}

bool wf_gate_policy_wants_ancestor(const struct wf_gate_policy *p)
{
    return p->ancestor;
}

int wf_gate_policy_max_age_days(const struct wf_gate_policy *p)
{
    return p->max_age_days;
}

size_t wf_gate_policy_margin_count(const struct wf_gate_policy *p)
{
    return p->margin_count;
}

bool wf_gate_policy_margin_suite(const struct wf_gate_policy *p,
                                 size_t i,
                                 const char *suite)
{
    return wf_glob_match(p->margin[i].suite, suite);
}

bool wf_gate_policy_margin_fits(const struct wf_gate_policy *p,
                                size_t i,
                                const char *case_name,
                                const char *kernel)
{
    return wf_glob_match(p->margin[i].case_name, case_name) &&
           wf_glob_match(p->margin[i].kernel, kernel);
}

int wf_gate_policy_margins(const struct wf_gate_policy *p,
                           const char *suite,
                           const char *case_name,
                           const char *kernel,
                           struct wf_gate_margins *m)
{
    int found = -1;
    for (size_t i = 0; i < p->margin_count; i++) {
        if (wf_gate_policy_margin_suite(p, i, suite) &&
            wf_gate_policy_margin_fits(p, i, case_name, kernel)) {
            m->d0 = p->margin[i].d0;
            m->d1 = p->margin[i].d1;
            found = (int)i;
        }
    }
    return found;
}

size_t wf_gate_policy_waiver_count(const struct wf_gate_policy *p)
{
    return p->waiver_count;
}

const struct wf_gate_waiver *wf_gate_policy_waiver(const struct wf_gate_policy *p,
                                                   size_t i)
{
    return &p->waiver[i];
}

/* Dates of this form sort as text does. */
bool wf_gate_waiver_expired(const struct wf_gate_waiver *w, const char *today)
{
    return strncmp(today, w->expires, DATE_LENGTH) > 0;
}

static bool fits(const struct wf_gate_waiver *w,
                 enum wf_gate_waivable what,
                 const char *case_name,
                 const char *kernel)
{
    return w->what == what && wf_glob_match(w->kernel_glob, kernel) &&
           (what == WF_GATE_WAIVE_STATIC || wf_glob_match(w->case_glob, case_name));
}

/* A slowdown whose size is not known is above every limit. */
static bool within_limit(const struct wf_gate_waiver *w, double effect)
{
    return w->what != WF_GATE_WAIVE_SLOWER || isnan(w->limit) ||
           expm1(effect) <= w->limit;
}

enum wf_gate_waived wf_gate_policy_waive(const struct wf_gate_policy *p,
                                         enum wf_gate_waivable what,
                                         const char *case_name,
                                         const char *kernel,
                                         double effect,
                                         const char *today,
                                         size_t *ret_index)
{
    enum wf_gate_waived nearest = WF_GATE_NOT_WAIVED;
    for (size_t i = 0; i < p->waiver_count; i++) {
        const struct wf_gate_waiver *w = &p->waiver[i];
        if (!fits(w, what, case_name, kernel)) {
            continue;
        }
        const bool expired = wf_gate_waiver_expired(w, today);
        if (!expired && within_limit(w, effect)) {
            *ret_index = i;
            return WF_GATE_WAIVED;
        }
        if (nearest == WF_GATE_NOT_WAIVED) {
            *ret_index = i;
            nearest = expired ? WF_GATE_WAIVER_EXPIRED : WF_GATE_WAIVER_EXCEEDED;
        }
    }
    return nearest;
}
