/* Whether a changed kernel provably computes the same: arguments over the machine code,
 * never over a run. docs/mutants.md has the idea of each. */
#ifndef WF_SELFTEST_GENERATE_PROVE_H
#define WF_SELFTEST_GENERATE_PROVE_H

#include "selftest/generate_flow.h"
#include "selftest/generate_kinds.h"
#include "selftest/generate_values.h"
#include "selftest/generate_waits.h"

/* X(NAME, text for people) */
#define GEN_REASON_LIST(X)                                                   \
    X(NEVER_REACHED, "no path from the kernel's entry comes there")          \
    X(COMMUTES, "operands of a commutative operation exchanged")             \
    X(DEAD, "nothing reads what it writes")                                  \
    X(WAIT_IMPLIED, "other waits cover what it waits for")                   \
    X(BARRIER_ALONE, "no shared memory is used on one side of the barrier")  \
    X(NOTHING_TO_SKIP, "what the branch skips does nothing where EXEC is 0") \
    X(SAME_FOR_VALUES, "the values that can come there give the same result")

enum gen_reason {
    GEN_NOT_PROVEN = -1,
#define X(name, text) GEN_##name,
    GEN_REASON_LIST(X)
#undef X
    GEN_REASONS
};
const char *gen_reason_text(enum gen_reason reason);

/* `change` is of a dword of the code; `flow` of the kernel that holds it. */
enum gen_reason gen_prove(const struct gen_flow *flow,
                          struct gen_waits *waits,
                          struct gen_values *values,
                          const struct gen_change *change);

#endif
