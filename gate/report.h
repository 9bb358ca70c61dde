/* What a gate's record says, for people and machines: one row a pair with its finding
 * in words, what is red and why, and what it is worth. Made from a record however it
 * came to be (a local gate, a file, a farm); the renderings are below, the table for a
 * terminal is cli/gate_view.h. Pure: no I/O, no clock. */
#ifndef WF_GATE_REPORT_H
#define WF_GATE_REPORT_H

#include "core/buf.h"
#include "gate/policy.h"
#include "gate/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What became of a pair, in the order of the report.
 * X(NAME, text, folded: told in short unless asked for) */
#define WF_GATE_FINDINGS(X)                                                        \
    X(WRONG, "wrong", 0)                                                           \
    X(SLOWER, "slower", 0)                                                         \
    X(REMOVED, "removed", 0)        /* only the base has the kernel */             \
    X(BROKEN, "not decided", 0)     /* an infrastructure reason */                 \
    X(OPEN, "open", 0)              /* the gate is not over */                     \
    X(UNDECIDED, "inconclusive", 0) /* the blocks ran out, or the base is wrong */ \
    X(IMPROVED, "improved", 0)                                                     \
    X(NEW, "new", 0) /* only the candidate has it: answer alone */                 \
    X(PASS, "pass", 1)                                                             \
    X(ANSWER, "answer right", 1) /* no time was compared */                        \
    X(NOT_SUPPORTED, "not supported", 1)                                           \
    X(UNCHANGED, "unchanged", 1)

enum wf_gate_finding {
#define X(name, text, folded) WF_GATE_IS_##name,
    WF_GATE_FINDINGS(X)
#undef X
    WF_GATE_FINDING_COUNT
};
const char *wf_gate_finding_name(enum wf_gate_finding f);
bool wf_gate_finding_is_folded(enum wf_gate_finding f);

/* X(NAME, text, headline) */
#define WF_GATE_OUTCOMES(X)                                                           \
    X(GREEN, "green", "no regression")                                                \
    X(RED, "red", "regression")                                                       \
    X(INFRASTRUCTURE, "infrastructure", "no verdict: the measurement failed")         \
    X(NO_VERDICT, "no-verdict", "no verdict: inconclusive where all must be decided") \
    X(CANCELLED, "cancelled", "no verdict: cancelled")

enum wf_gate_outcome {
#define X(name, text, headline) WF_GATE_OUTCOME_##name,
    WF_GATE_OUTCOMES(X)
#undef X
    WF_GATE_OUTCOME_COUNT
};
const char *wf_gate_outcome_name(enum wf_gate_outcome o);
const char *wf_gate_outcome_headline(enum wf_gate_outcome o);

#define WF_GATE_WORDS 400

struct wf_gate_row {
    size_t pair; /* in the record */
    const struct wf_gate_pair *about;
    struct wf_gate_figures figures;
    enum wf_gate_finding finding;
    bool red;
    enum wf_gate_waived waived;
    const struct wf_gate_waiver *waiver; /* of `waived`, NULL: none */
    const struct wf_json *telling;       /* the pair's record that says most; NULL */
    int64_t took_ns;                     /* in all rounds, 0: not told */
    uint64_t launches;                   /* timed and untimed ones of the blocks */
    size_t rejected, rejected_slower; /* blocks that have values all the same; of these
                                         with the candidate the slower one */
    char words[WF_GATE_WORDS];        /* why, one line */
};

struct wf_gate_device_view {
    int group;
    bool good, has_sentinels;
    char why[256];
    const struct wf_json *facts; /* as devices are described; NULL */
};

struct wf_gate_report {
    const struct wf_gate_record *record; /* borrowed, must live as long */
    const struct wf_json *header;
    struct wf_gate_policy *policy;
    struct wf_gate_row *row; /* cases, what matters first; sentinels not among them */
    size_t row_count;
    size_t count[WF_GATE_FINDING_COUNT], red_count[WF_GATE_FINDING_COUNT];
    size_t red, waived, compared;  /* compared: m of the false-discovery control */
    const struct wf_json *statics; /* entries of the static comparison; NULL: none */
    size_t static_red, static_compared;
    const char *closed; /* why no more rounds were run; "" */
    struct wf_gate_device_view *device;
    size_t device_count;
    bool measured; /* times were compared */
    bool modelled; /* a runtime whose times are a model's */
    bool strict;
    uint64_t launches, bursts;
    size_t rounds, void_rounds, cut_rounds;
    int64_t took_ns;
    enum wf_gate_outcome outcome;
    char headline[WF_GATE_WORDS];
    char baseline[WF_GATE_WORDS];      /* what is known of the base's lineage */
    char guarantee[2 * WF_GATE_WORDS]; /* what it is worth, and what not; a paragraph */
    char **note; /* waivers that are expired, unused ...: one line each */
    size_t note_count;
};

/* `strict`: INCONCLUSIVE is no good end, a removed kernel is red; the policy may ask
 * for the same. Waivers are judged by the day on which the gate began. */
enum wf_status wf_gate_report_create(struct wf_gate_record *record,
                                     bool strict,
                                     struct wf_gate_report **ret,
                                     struct wf_error *err);
void wf_gate_report_free(struct wf_gate_report *r);

/* "+3.1 %", "-0.4 %": a log ratio as people read it; "?" where it is none. */
/* "2 %", "65 %": what a margin is as a ratio, to two digits. */
void wf_gate_format_margin(double log_ratio, char *ret, size_t n);
void wf_gate_format_effect(double log_ratio, char *ret, size_t n);
/* "2.2 to 4.0 %"; open ends in words. */
void wf_gate_format_interval(double low, double high, char *ret, size_t n);
/* "D[0, 17]: got 3, want 2.5; likely ..." of a result; "" where it does not say. */
void wf_gate_first_wrong(const struct wf_json *result, char *ret, size_t n);
/* Of the arm in a pair's record: "PASS", "" where there is none. */
const char *wf_gate_answer(const struct wf_json *pair_record, const char *arm);
/* "default", "policy: margins[2]", "registry: 48 blocks, ..." */
const char *wf_gate_margin_source(const struct wf_gate_report *r, size_t pair);

/* docs/schemas/gate-report.schema.json */
enum wf_status wf_gate_report_json(const struct wf_gate_report *r,
                                   struct wf_json **ret,
                                   struct wf_error *err);
/* One comment for a pull request, at most `max_bytes` (GitHub: 65536); begins with
 * WF_GATE_MARKER, by which the former one is found and replaced. Rows that do not fit
 * are counted. `link`: to the whole record, or NULL. */
#define WF_GATE_MARKER       "<!-- wavefarm-gate -->"
#define WF_GATE_MARKDOWN_MAX 65536
enum wf_status wf_gate_report_markdown(const struct wf_gate_report *r,
                                       const char *link,
                                       size_t max_bytes,
                                       struct wf_buf *out,
                                       struct wf_error *err);
/* failure: wrong or slower; error: infrastructure; skipped: unchanged, not supported,
 * waived. */
enum wf_status wf_gate_report_junit(const struct wf_gate_report *r,
                                    struct wf_buf *out,
                                    struct wf_error *err);

#endif
