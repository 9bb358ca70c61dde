/* The header of a gate's record: which pairs, with which margins, from which seed. All
 * of it is fixed before the first launch. docs/schemas/gate-record.schema.json.
 *
 * Seed, id and time are drawn by whoever runs the gate: on a farm the coordinator draws
 * them anew for what a client submits (wf_gate_header_renew), so nobody picks a lucky
 * seed. */
#ifndef WF_GATE_HEADER_H
#define WF_GATE_HEADER_H

#include "gate/record.h"

#define WF_GATE_MAX_PAIRS    20000u
#define WF_GATE_MAX_GROUPS   64
#define WF_GATE_MAX_KEY      512 /* bytes */
#define WF_GATE_MAX_BLOCKS   8   /* of a pair in one round */
#define WF_GATE_ID_HEX       17  /* with the NUL */
#define WF_GATE_INPUTS_LIMIT (UINT64_C(1) << 53)

enum wf_gate_pack {
    WF_GATE_PACK_BASE,
    WF_GATE_PACK_CANDIDATE,
    WF_GATE_PACK_SENTINEL,
    WF_GATE_PACK_COUNT
};

struct wf_gate_header_pack {
    const char *id, *name, *archive;  /* id NULL: no such pack; archive "": none kept */
    const struct wf_json *provenance; /* or NULL; copied */
};

/* What wf_gate_pair says, and what the record alone needs. `pair.device` is filled in
 * by the builder. */
struct wf_gate_header_pair {
    struct wf_gate_pair pair;
    const struct wf_json *case_json; /* copied */
    const char *margin_source; /* "registry: 48 blocks": where the margins are from,
                                  for people; NULL: not told */
    double estimate_ns;        /* of a round's part, to share pairs out; 0: all alike */
};

struct wf_gate_header {
    const char *gate;    /* 16 hex digits, NULL: drawn */
    const uint8_t *seed; /* NULL: drawn */
    const char *created; /* NULL: now */
    const char *name, *suite, *runtime;
    bool measured;                  /* false: answers only */
    const struct wf_json *measure;  /* options, or NULL; copied, as the next two */
    const struct wf_json *devices;  /* array, or NULL */
    const struct wf_json *policy;   /* or NULL */
    const struct wf_json *baseline; /* gate/baseline.h: "lineage", "fork_point",
                                       "age_days", "commits_between"; or NULL; copied */
    uint64_t seed_offset;           /* below 2^53 */
    struct wf_gate_rule rule;
    struct wf_gate_header_pack pack[WF_GATE_PACK_COUNT];
    int groups; /* of devices, at least 1 */
    const struct wf_gate_header_pair *pair;
    size_t pair_count;
    /* One set of these for each group; their keys get "@GROUP" appended. */
    const struct wf_gate_header_pair *sentinel;
    size_t sentinel_count;
};

/* A header, checked as wf_gate_header_check does. */
enum wf_status wf_gate_header_make(const struct wf_gate_header *h,
                                   struct wf_json **ret,
                                   struct wf_error *err);
/* Whether a record may start with it. EINVAL says which member of which pair is wrong.
 */
enum wf_status wf_gate_header_check(const struct wf_json *header, struct wf_error *err);
/* The same gate with an id, a seed and a time of its own, its cases shared out among
 * `groups` device groups anew, with a set of sentinels (those of group 0) for each. */
enum wf_status wf_gate_header_renew(const struct wf_json *header,
                                    int groups,
                                    struct wf_json **ret,
                                    struct wf_error *err);
/* Shares n pairs out: ret[i] in [0, groups), the largest first, each to the group that
 * has least (equal ones: the first), so no group has more than the mean and one pair.
 * An estimate that is no positive number counts as the mean of the others. */
enum wf_status wf_gate_header_spread(const double *estimate_ns,
                                     size_t n,
                                     int groups,
                                     int *ret,
                                     struct wf_error *err);

/* Members of the rule, for those who read or show it. X(NAME, kind: real, whole) */
#define WF_GATE_RULE_MEMBERS(X)  \
    X(alpha, real)               \
    X(sign_least, real)          \
    X(pass_least, real)          \
    X(pass_rounds, whole)        \
    X(pass_least_spread, real)   \
    X(pass_rounds_spread, whole) \
    X(max_blocks, whole)         \
    X(max_lost, whole)           \
    X(same_most, real)           \
    X(slower_blocks, whole)      \
    X(interval_alpha, real)

#endif
