/* Two sets of results that were measured apart: what can be said of them, and what
 * cannot. Pure. No task of either side is dropped.
 *
 * The sides ran at other times, in other processes, on clocks in other states: a
 * difference of medians holds all of that besides the change of the code, and no error
 * rate belongs to it. `wavefarm gate` measures the two in turns. */
#ifndef WF_GATE_UNPAIRED_H
#define WF_GATE_UNPAIRED_H

#include "core/error.h"
#include "core/json.h"
#include "core/verdict.h"

#include <stdbool.h>
#include <stddef.h>

/* X(NAME, text, what it means), in the order in which they are shown. */
#define WF_UNPAIRED_STATUSES(X)                                                       \
    X(WRONG_NOW, "wrong-now", "the answer was PASS and is not any more")              \
    X(UNSUPPORTED_NOW, "unsupported-now",                                             \
      "the answer was PASS, now the kernel does "                                     \
      "not do the case")                                                              \
    X(STILL_WRONG, "still-wrong", "the answer is PASS on neither side")               \
    X(RIGHT_NOW, "right-now", "the answer is PASS and was not")                       \
    X(SLOWER, "slower", "B's interval lies wholly above A's")                         \
    X(FASTER, "faster", "B's interval lies wholly below A's")                         \
    X(UNDECIDED, "undecided", "the intervals overlap, or a side has none")            \
    X(INCOMPARABLE, "incomparable", "the figures of the sides mean different things") \
    X(NO_TIME, "no-time", "a side has no time that can be believed")                  \
    X(AMBIGUOUS, "ambiguous", "one side has the same task more than once")            \
    X(NOT_RUN, "not-run", "a side was cancelled or lost before it had an answer")     \
    X(ONLY_A, "missing", "A has the task, B has not")                                 \
    X(ONLY_B, "new", "B has the task, A has not")                                     \
    X(ANSWER_ONLY, "answer-only", "PASS on both sides, measured on neither")          \
    X(NEITHER, "not-supported", "the kernel does not do the case on either side")

enum wf_unpaired_status {
#define X(name, text, means) WF_UNPAIRED_##name,
    WF_UNPAIRED_STATUSES(X)
#undef X
    WF_UNPAIRED_STATUS_COUNT
};
const char *wf_unpaired_status_name(enum wf_unpaired_status s);
const char *wf_unpaired_status_meaning(enum wf_unpaired_status s);

/* The results of one side for one task: repetitions, or one task on several devices. */
struct wf_unpaired_side {
    const struct wf_json *const *result; /* borrowed; `count` of them */
    size_t count;                        /* 0: this side has none */
    size_t timed;                        /* of them with a usable median */
    bool twice;                          /* one repetition on one device twice */
    enum wf_answer answer;               /* the worst */
    double median;                       /* of the medians; NAN: none */
    double lo, hi; /* hull of the medians' 95 % intervals; NAN: one has none */
};

struct wf_unpaired_row {
    enum wf_unpaired_status status;
    struct wf_unpaired_side a, b;
    double ratio;         /* b.median / a.median; NAN: not to be told */
    double low, high;     /* b.lo / a.hi, b.hi / a.lo; NAN: open */
    struct wf_json *note; /* array of strings: what else differs; owned */
};

struct wf_unpaired {
    struct wf_unpaired_row *row; /* by status, then in the order of A, then of B */
    size_t count;
    size_t of_status[WF_UNPAIRED_STATUS_COUNT];
    const struct wf_json **order[2]; /* the sides' results, by task; owned */
};

/* Results as docs/schemas/result.schema.json has them; they must outlive *ret. */
enum wf_status wf_unpaired_compare(const struct wf_json *const *a,
                                   size_t a_count,
                                   const struct wf_json *const *b,
                                   size_t b_count,
                                   struct wf_unpaired *ret,
                                   struct wf_error *err);
void wf_unpaired_free(struct wf_unpaired *u);

/* "case_name", "kernel", "model", ... of a row, from the side that has it. "": unknown.
 */
const char *wf_unpaired_case(const struct wf_unpaired_row *r);
const char *wf_unpaired_kernel(const struct wf_unpaired_row *r);
const char *wf_unpaired_model(const struct wf_unpaired_row *r);

#endif
