/* The two fields every result has: `answer` (is it right) and `time` (can the time be
 * believed). Texts go over the wire and into the store. Precedence: when several
 * answers apply, the one that comes first in the list wins (a crash hides a mismatch; a
 * cancelled task hides everything). */
#ifndef WF_CORE_VERDICT_H
#define WF_CORE_VERDICT_H

#include <stdbool.h>

#define WF_ANSWER_LIST(X)                                             \
    X(CANCELLED)                                                      \
    X(LOST) /* attempts used up without a result */                   \
    X(INVALID_CASE)                                                   \
    X(NOT_SUPPORTED) /* the kernel or device does not do this case */ \
    X(BUILD_FAILED)                                                   \
    X(OUT_OF_MEMORY)                                                  \
    X(CRASH)        /* the subject died by a signal or exit */        \
    X(DEVICE_FAULT) /* the runtime reported a fault */                \
    X(TIMEOUT)                                                        \
    X(CHEAT_SUSPECTED)                                                \
    X(OUT_OF_BOUNDS) /* a guard zone was written */                   \
    X(INPUT_MODIFIED)                                                 \
    X(UNWRITTEN) /* poison left in the output */                      \
    X(NONFINITE) /* NaN or infinity where the reference is finite */  \
    X(MISMATCH)                                                       \
    X(RACE)                                                           \
    X(UNINITIALISED_READ)                                             \
    X(NONDETERMINISTIC)                                               \
    X(PASS)

#define WF_TIME_LIST(X)                                                                \
    X(NOT_MEASURED)                                                                    \
    X(MODELLED)    /* cycles of a model, never a time */                               \
    X(IMPLAUSIBLE) /* faster than the roofline floor, or event and host clock disagree \
                    */                                                                 \
    X(THROTTLED)                                                                       \
    X(SELF_TIMED)                                                                      \
    X(NOISY) /* the interval of the median stayed wider than asked */                  \
    X(OK)

enum wf_answer {
#define X(name) WF_ANSWER_##name,
    WF_ANSWER_LIST(X)
#undef X
    WF_ANSWER_COUNT
};

enum wf_time {
#define X(name) WF_TIME_##name,
    WF_TIME_LIST(X)
#undef X
    WF_TIME_COUNT
};

const char *wf_answer_name(enum wf_answer a);
bool wf_answer_parse(const char *text, enum wf_answer *ret);
enum wf_answer wf_answer_worse(enum wf_answer a, enum wf_answer b);
const char *wf_time_name(enum wf_time t);
bool wf_time_parse(const char *text, enum wf_time *ret);

#endif
