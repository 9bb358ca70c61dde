/* A gate's policy: margins of certain cases, waivers, what counts as red beside the
 * verdicts. A file of docs/schemas/gate-policy.schema.json; the record's header carries
 * it, so a report needs no file beside the record.
 *
 * Reading is strict: an unknown member, a waiver without author or reason, a date that
 * is none are errors, for a policy that is not understood must not make a gate green.
 */
#ifndef WF_GATE_POLICY_H
#define WF_GATE_POLICY_H

#include "core/error.h"
#include "core/json.h"
#include "gate/gate.h"

#include <stdbool.h>
#include <stddef.h>

#define WF_GATE_POLICY_SCHEMA "wavefarm.gate-policy/1"

/* What a waiver forgives. X(NAME, text) */
#define WF_GATE_WAIVABLE(X) \
    X(SLOWER, "slower")     \
    X(WRONG, "wrong")       \
    X(REMOVED, "removed")   \
    X(STATIC, "static") /* by `kernel` alone */

enum wf_gate_waivable {
#define X(name, text) WF_GATE_WAIVE_##name,
    WF_GATE_WAIVABLE(X)
#undef X
    WF_GATE_WAIVE_COUNT
};

/* Texts are borrowed from the policy. */
struct wf_gate_waiver {
    const char *case_glob, *kernel_glob;
    enum wf_gate_waivable what;
    const char *author, *reason;
    const char *expires; /* "2026-12-31": good on that day, not after it (UTC) */
    double limit; /* SLOWER: an effect above it is not waived; NAN: whatever it is */
};

struct wf_gate_policy; /* opaque */

/* `json` NULL: the policy that says nothing. `source` names it in errors. */
enum wf_status wf_gate_policy_parse(const struct wf_json *json,
                                    const char *source,
                                    struct wf_gate_policy **ret,
                                    struct wf_error *err);
enum wf_status wf_gate_policy_read(const char *path,
                                   struct wf_gate_policy **ret,
                                   struct wf_error *err);
void wf_gate_policy_free(struct wf_gate_policy *p);

/* As it was read, NULL: nothing is said. */
const struct wf_json *wf_gate_policy_json(const struct wf_gate_policy *p);
/* The member "static", passed through to gate/static.h; NULL. */
const struct wf_json *wf_gate_policy_static(const struct wf_gate_policy *p);
bool wf_gate_policy_strict(const struct wf_gate_policy *p);
/* A kernel that only the base has is red. */
bool wf_gate_policy_removed_is_red(const struct wf_gate_policy *p);
/* The base must be an ancestor of the candidate. */
bool wf_gate_policy_wants_ancestor(const struct wf_gate_policy *p);
/* The base must be at most so many days older than the gate; 0: any age is good. */
int wf_gate_policy_max_age_days(const struct wf_gate_policy *p);

/* d0 and d1 of the last row of "margins" that fits go over those in `m`; returns the
 * row's number from 0, or -1: none fits. */
int wf_gate_policy_margins(const struct wf_gate_policy *p,
                           const char *suite,
                           const char *case_name,
                           const char *kernel,
                           struct wf_gate_margins *m);

/* Rows of "margins", and whether row i is for this suite and fits the pair. */
size_t wf_gate_policy_margin_count(const struct wf_gate_policy *p);
bool wf_gate_policy_margin_suite(const struct wf_gate_policy *p,
                                 size_t i,
                                 const char *suite);
bool wf_gate_policy_margin_fits(const struct wf_gate_policy *p,
                                size_t i,
                                const char *case_name,
                                const char *kernel);
size_t wf_gate_policy_waiver_count(const struct wf_gate_policy *p);
const struct wf_gate_waiver *wf_gate_policy_waiver(const struct wf_gate_policy *p,
                                                   size_t i);
bool wf_gate_waiver_expired(const struct wf_gate_waiver *w, const char *today);

enum wf_gate_waived {
    WF_GATE_NOT_WAIVED,
    WF_GATE_WAIVED,
    WF_GATE_WAIVER_EXPIRED, /* one would fit, but its day is over */
    WF_GATE_WAIVER_EXCEEDED /* one would fit, but the effect is beyond its limit */
};
/* The first waiver that waives, else the first that nearly does, in *ret_index.
 * `effect`: log ratio, counts for SLOWER; `today`: "2026-12-01...". */
enum wf_gate_waived wf_gate_policy_waive(const struct wf_gate_policy *p,
                                         enum wf_gate_waivable what,
                                         const char *case_name,
                                         const char *kernel,
                                         double effect,
                                         const char *today,
                                         size_t *ret_index);

#endif
