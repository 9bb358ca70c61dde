/* The gate's rule: from blocks of interleaved slots to verdicts. Pure: no I/O, no
 * clock, no randomness; the same blocks in the same order give the same bits on every
 * machine (exp and log are gate/exact.h's).
 *
 * All effects are natural logarithms of time ratios candidate / base: +0.02 is 2 %
 * slower. A block is four slots of one pair on one device in one process, two of the
 * base and two of the candidate in one of the six balanced orders, drawn uniformly
 * (gate/draw.h). docs/gate.md has the method, its proof and what it does not cover:
 * the guarantee holds for any noise inside a process; effects of a process's start or
 * of code layout are measured (tau) and covered by the margin (d0 >= 3 tau) and the
 * sign process. */
#ifndef WF_GATE_GATE_H
#define WF_GATE_GATE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WF_GATE_SLOTS 4u

/* X(NAME): bit i set: slot i is the candidate's. */
#define WF_GATE_MASKS(X)   X(3) X(5) X(6) X(9) X(10) X(12)
#define WF_GATE_MASK_COUNT 6u

bool wf_gate_is_mask(unsigned mask);
unsigned wf_gate_mask(unsigned i); /* i below WF_GATE_MASK_COUNT */

/* Log of the block's e-value (the permutation e-value, not yet blended with 0.1) for
 * the null "true effect <= d" (sign +1) or ">= d" (sign -1). */
double wf_gate_block_log_e(const double y[WF_GATE_SLOTS],
                           unsigned mask,
                           double d,
                           double eta,
                           int sign);

/* What a pair is there for. X(NAME, text) */
#define WF_GATE_ROLES(X)                                                      \
    X(CASE, "case")                                                           \
    X(SENTINEL_SAME, "sentinel-same")     /* equal code: must show nothing */ \
    X(SENTINEL_SLOWER, "sentinel-slower") /* +3 % work: must be found */

enum wf_gate_role {
#define X(name, text) WF_GATE_##name,
    WF_GATE_ROLES(X)
#undef X
    WF_GATE_ROLE_COUNT
};
const char *wf_gate_role_name(enum wf_gate_role r);
bool wf_gate_role_parse(const char *text, enum wf_gate_role *ret);

/* X(NAME, text). FAIL: slower or wrong (see the reason). INCONCLUSIVE is not red. */
#define WF_GATE_VERDICTS(X)         \
    X(OPEN, "OPEN")                 \
    X(FAIL, "FAIL")                 \
    X(PASS, "PASS")                 \
    X(IMPROVED, "IMPROVED")         \
    X(INCONCLUSIVE, "INCONCLUSIVE") \
    X(UNCHANGED, "UNCHANGED")

enum wf_gate_verdict {
#define X(name, text) WF_GATE_VERDICT_##name,
    WF_GATE_VERDICTS(X)
#undef X
    WF_GATE_VERDICT_COUNT
};
const char *wf_gate_verdict_name(enum wf_gate_verdict v);
bool wf_gate_verdict_parse(const char *text, enum wf_gate_verdict *ret);

/* Why. X(NAME, text, is an infrastructure matter) */
#define WF_GATE_REASONS(X)                                                             \
    X(NONE, "", 0)                                                                     \
    X(SLOWER, "slower", 0)         /* FAIL */                                          \
    X(WRONG, "wrong", 0)           /* FAIL: the candidate's answer is not PASS */      \
    X(BASE_WRONG, "base-wrong", 0) /* INCONCLUSIVE: the base's answer is not PASS,     \
                                      the candidate's is */                            \
    X(UNDECIDED, "undecided", 0)   /* INCONCLUSIVE: the blocks ran out */              \
    X(NOT_SUPPORTED, "not-supported", 0) /* INCONCLUSIVE: neither runs this case */    \
    X(ANSWER_ONLY, "answer-only", 0) /* PASS: no base, or no times on this device */   \
    X(IDENTICAL, "identical", 0)     /* UNCHANGED */                                   \
    X(BLOCKS_LOST, "blocks-lost", 1) /* INCONCLUSIVE: throttled or faulty blocks */    \
    X(SENTINEL, "sentinel", 1)       /* INCONCLUSIVE: the device's sentinels failed */ \
    X(NOT_RUN, "not-run", 1)         /* INCONCLUSIVE: runner or device failed */       \
    X(CANCELLED, "cancelled", 1)     /* INCONCLUSIVE */

enum wf_gate_reason {
#define X(name, text, infra) WF_GATE_REASON_##name,
    WF_GATE_REASONS(X)
#undef X
    WF_GATE_REASON_COUNT
};
const char *wf_gate_reason_name(enum wf_gate_reason r);
bool wf_gate_reason_parse(const char *text, enum wf_gate_reason *ret);
bool wf_gate_reason_is_infrastructure(enum wf_gate_reason r);

/* Of the whole gate. WF_GATE_PR_RULE and WF_GATE_RELEASE_RULE are the two columns. */
struct wf_gate_rule {
    double alpha;             /* of "no pair is slower", over all pairs: 0.01 */
    double sign_least;        /* the sign process must reach this for FAIL: 20 */
    double pass_least;        /* the certificate: 20 (beta 5 %) */
    int pass_rounds;          /* in so many rounds at least: 2 */
    double pass_least_spread; /* pass_least and pass_rounds where tau > 0.2 %: 50, 3 */
    int pass_rounds_spread;
    int max_blocks;    /* that count, of a pair: 24 */
    int max_lost;      /* rejected blocks of a pair before BLOCKS_LOST: 24 */
    double same_most;  /* W of a same-code sentinel at margin 0 that ends the device's
                          part: 100 */
    int slower_blocks; /* by which the slower sentinel must be found (W >= 100): 12 */
    double interval_alpha; /* of the reported intervals: 0.05 */
};
#define WF_GATE_PR_RULE                                                              \
    {                                                                                \
        .alpha = 0.01, .sign_least = 20, .pass_least = 20, .pass_rounds = 2,         \
        .pass_least_spread = 50, .pass_rounds_spread = 3, .max_blocks = 24,          \
        .max_lost = 24, .same_most = 100, .slower_blocks = 12, .interval_alpha = .05 \
    }

/* Of one pair. */
struct wf_gate_margins {
    double d0; /* slower by at most this does not matter: 0.005 */
    double d1; /* slower by this is promised to be caught: 0.02 */
    double
        s0;     /* slot noise (standard deviation of a slot's value) to start from:
                   0.004 where nothing is known. A wrong one costs power, never validity */
    double tau; /* standard deviation of a process's effect on the difference, from A/A
                   gates; 0: none known */
};
#define WF_GATE_MARGINS_DEFAULT                        \
    {                                                  \
        .d0 = 0.005, .d1 = 0.02, .s0 = 0.004, .tau = 0 \
    }
/* The registry's rule for noisy pairs: d1 = max(2 %, 2 s0), d0 = max(0.5 %, 3 tau,
 * d1 / 4), d1 >= 2 d0. */
struct wf_gate_margins wf_gate_margins_for(double s0, double tau);

struct wf_gate_block {
    int32_t round;
    uint8_t mask;
    bool rejected; /* by a rule that does not look at labels. Where all its slots have
                      values it counts in the second product (docs/gate.md), else
                      nothing */
    double y[WF_GATE_SLOTS]; /* slot values, log ns a launch; of a rejected block also
                                NaN or 0: none */
};

struct wf_gate; /* opaque; one gate's pairs and their state */

enum wf_status wf_gate_create(const struct wf_gate_rule *rule,
                              struct wf_gate **ret,
                              struct wf_error *err);
void wf_gate_free(struct wf_gate *g);
/* Pairs are numbered from 0 in this order. `device`: number of the device group that
 * the pair is measured on (sentinels speak for their device's pairs), from 0. EINVAL
 * names a margin that makes no sense (0 <= d0 < d1 <= 1, s0 > 0, tau >= 0, finite). */
enum wf_status wf_gate_add_pair(struct wf_gate *g,
                                enum wf_gate_role role,
                                const struct wf_gate_margins *m,
                                int device,
                                struct wf_error *err);
size_t wf_gate_count(const struct wf_gate *g);
/* The pair's verdict is fixed from outside: identical code, wrong answers, not run. A
 * FAIL by WRONG stays whatever follows. */
void wf_gate_settle(struct wf_gate *g,
                    size_t pair,
                    enum wf_gate_verdict v,
                    enum wf_gate_reason why);
/* Blocks of one pair in the order of their rounds. EINVAL: a mask that is none, a slot
 * value that is not finite or beyond +-1000 (no log of a time), a round before the last
 * one. A block of a pair that is no longer OPEN changes nothing. */
enum wf_status wf_gate_add_block(struct wf_gate *g,
                                 size_t pair,
                                 const struct wf_gate_block *b,
                                 struct wf_error *err);

struct wf_gate_figures {
    enum wf_gate_role role;
    enum wf_gate_verdict verdict; /* OPEN: more blocks would help */
    enum wf_gate_reason reason;
    int blocks, lost,
        rounds; /* that counted; rejected; distinct rounds of the former */
    /* Where blocks were rejected: the mean of the products without and with them, for
     * pass the smaller one. */
    double log_w_slower; /* against "slower by at most d0" */
    double log_w_faster; /* against "faster by at most d0" */
    double log_w_pass;   /* against "slower by d1 or more" */
    double log_sign_slower, log_sign_faster;
    double slot_noise; /* s */
    double effect;     /* median of the block differences; NAN: no block */
    double low, high;  /* anytime-valid interval; -INFINITY, INFINITY: open ended */
    double spread;     /* tau of this gate's own blocks; NAN below 6 rounds */
    struct wf_gate_margins margins;
};
/* Verdicts of all pairs by what is known now: e-BH over the pairs of role CASE that
 * were neither UNCHANGED nor NOT_SUPPORTED before their first block for FAIL, and the
 * same in the other direction for IMPROVED; a verdict that was reached stays, unless
 * the device's sentinels fail later. A pair that holds the certificate of PASS goes on
 * while W for "faster" is at least 10, so that it may become IMPROVED. Call after each
 * round's blocks. Returns how many pairs are still OPEN (sentinels that have not spoken
 * yet count, for as long as a case is open or the slower one is not found). A sentinel
 * that did what it must is PASS; one that was not needed UNCHANGED. */
enum wf_status wf_gate_decide(struct wf_gate *g,
                              size_t *ret_open,
                              struct wf_error *err);
/* Computes the interval anew at each call (about 0.1 ms at 24 blocks). */
void wf_gate_figures(const struct wf_gate *g, size_t pair, struct wf_gate_figures *ret);
/* The same without the interval (low and high are NAN), which costs by far the most:
 * for loops over many pairs. */
void wf_gate_evidence(const struct wf_gate *g,
                      size_t pair,
                      struct wf_gate_figures *ret);
/* The verdict alone. */
enum wf_gate_verdict wf_gate_verdict_of(const struct wf_gate *g,
                                        size_t pair,
                                        enum wf_gate_reason *ret_why);
/* What the sentinels of a device say. `ret_why` is one line; OK: true and "". */
bool wf_gate_device_is_good(const struct wf_gate *g,
                            int device,
                            char *ret_why,
                            size_t n);
/* No more blocks can come (interrupted, device gone): what is OPEN becomes INCONCLUSIVE
 * with this reason; so does a PASS by time where the slower sentinel was not found yet,
 * because nothing has shown that the device sees a difference. */
void wf_gate_close(struct wf_gate *g, enum wf_gate_reason why);
void wf_gate_close_device(struct wf_gate *g, int device, enum wf_gate_reason why);

/* The e-BH rule by itself: which of m e-values (logs) are rejected at level alpha. */
enum wf_status wf_gate_ebh(const double *log_e,
                           size_t m,
                           double alpha,
                           bool *ret_rejected,
                           struct wf_error *err);

#endif
