/* How the base of a gate relates to its candidate. A gate says what a change did only
 * when the base is the change's fork point. */
#ifndef WF_GATE_BASELINE_H
#define WF_GATE_BASELINE_H

#include "core/json.h"

#include <stdbool.h>

/* X(NAME, text, words) */
#define WF_GATE_LINEAGES(X)                                                             \
    X(UNKNOWN, "unknown", "not known to be where the candidate forked off")             \
    X(SAME, "same", "the very commit of the candidate")                                 \
    X(PARENT, "parent", "the candidate's parent")                                       \
    X(ANCESTOR, "ancestor", "an ancestor of the candidate")                             \
    X(UNPROVEN, "unproven",                                                             \
      "not the candidate's parent; whether it is an ancestor is not known without the " \
      "repository")                                                                     \
    X(NOT_ANCESTOR, "not-ancestor",                                                     \
      "NOT an ancestor of the candidate, so no fork point")

enum wf_gate_lineage {
#define X(name, text, words) WF_GATE_LINEAGE_##name,
    WF_GATE_LINEAGES(X)
#undef X
    WF_GATE_LINEAGE_COUNT
};
const char *wf_gate_lineage_name(enum wf_gate_lineage l);
const char *wf_gate_lineage_words(enum wf_gate_lineage l);
bool wf_gate_lineage_parse(const char *text, enum wf_gate_lineage *ret);

/* From the two provenance records (NULL: none) alone. An all-zero commit is none. */
enum wf_gate_lineage wf_gate_lineage_of(const struct wf_json *base,
                                        const struct wf_json *candidate);

#endif
