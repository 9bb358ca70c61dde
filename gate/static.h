/* The static gate: figures that have no noise, of two versions of a kernel side by
 * side: those of its machine code (isa/report.h) and the emulator's counters. Pure.
 *
 * A rule says which change of a figure is worse, and whether that is red. The built-in
 * rules are red only for spills and scratch memory; docs/isa.md argues why. */
#ifndef WF_GATE_STATIC_H
#define WF_GATE_STATIC_H

#include "core/error.h"
#include "core/json.h"

#include <stdbool.h>
#include <stddef.h>

/* One figure of one version. Texts are borrowed. */
struct wf_static_figure {
    const char *kernel;    /* of the pack */
    const char *symbol;    /* where a kernel has several; else "" */
    const char *case_name; /* counters: what was run; else "" */
    const char *name;      /* "vgpr_spills", "executed.valu" */
    double value;          /* NAN: not known */
    int worse;             /* +1: more is worse, -1: less is worse, 0: neither */
    const char *why;       /* why not known, or NULL */
};

/* A figure of this name is none: its `why` becomes an entry, "unknown", on whatever
 * side it is. */
#define WF_STATIC_NOTE "*"

struct wf_static_rules; /* opaque */

/* `json`: the policy's member "static", or NULL:
 *   {"defaults": true, "rules": [{"figure": glob, "kernel": glob, "most_increase": 0,
 *    "most_ratio": 0.03, "red": false}, ...]}
 * The first rule that fits counts; the built-in ones come last, unless "defaults" is
 * false. A change for the worse is worse when it exceeds every limit that the rule
 * gives: "most_increase" is absolute, "most_ratio" relative to the base; a rule without
 * limits lets nothing through. EPARSE names member and rule. */
enum wf_status wf_static_rules_create(const struct wf_json *json,
                                      struct wf_static_rules **ret,
                                      struct wf_error *err);
void wf_static_rules_free(struct wf_static_rules *r);

/* What two versions' figures come to: {"kind": "static", "compared": n, "entries":
 * [{"kernel", "figure", "base", "candidate", "limit", "verdict", "red", "why"}]}, with
 * "symbol" and "case" where they say something. Entries in the order of the candidate's
 * figures, then what only the base has; those that are the same are counted, not
 * listed. "verdict": "worse", "better", or "unknown" (one side is not known, or not
 * there). Unknown numbers are null. The same input gives the same bytes. */
enum wf_status wf_static_compare(const struct wf_static_rules *rules,
                                 const struct wf_static_figure *base,
                                 size_t base_count,
                                 const struct wf_static_figure *cand,
                                 size_t cand_count,
                                 struct wf_json **ret,
                                 struct wf_error *err);
bool wf_static_is_red(const struct wf_json *line);
size_t wf_static_count(const struct wf_json *line, const char *verdict);
/* "red: gemm vgpr_spills 0 -> 12 (at most 0): ...": one entry as text, always
 * terminated. */
void wf_static_entry_text(const struct wf_json *entry, char *ret, size_t n);

/* --- counters of the emulator --- */
struct wf_static_counters; /* opaque: figures of both arms, from pairs' records */
enum wf_status wf_static_counters_create(struct wf_static_counters **ret,
                                         struct wf_error *err);
void wf_static_counters_free(struct wf_static_counters *c);
/* A pair's record (runner/pair.h) of a runtime that counts; others add nothing. A pair
 * is added once: a later record of it is ignored, since counters are exact. `record`
 * must live as long. */
enum wf_status wf_static_counters_add(struct wf_static_counters *c,
                                      const struct wf_json *record,
                                      struct wf_error *err);
/* arm 0: base, 1: candidate */
const struct wf_static_figure *wf_static_counters_of(const struct wf_static_counters *c,
                                                     int arm,
                                                     size_t *ret_count);

#endif
