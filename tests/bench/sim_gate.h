/* The gate's rule (gate/gate.h, the library itself) driven by simulated noise, and the
 * rules of peers on noise of the same law. Shared by sim_gate, which prints tables, and
 * by the short forms in tests/gate. All draws are a function of (seed, run): neither
 * threads nor interruptions change a count. No memory: aborts. */
#ifndef WF_TESTS_SIM_GATE_H
#define WF_TESTS_SIM_GATE_H

#include "core/error.h"
#include "gate/gate.h"
#include "noise.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

_Noreturn void sim_fail(const char *what);
/* One seed out of several numbers. */
uint64_t sim_mix(uint64_t seed, uint64_t salt);

/* --- one pull request, judged by the gate --- */

#define SIM_ALL_KINDS      ((1u << NOISE_KINDS) - 1)
#define SIM_FRIENDLY_KINDS ((1u << NOISE_ramp) - 1) /* no ramp, no process effects */
#define SIM_KIND(k)        (1u << NOISE_##k)
#define SIM_CASES_MAX      1024
#define SIM_RAMP_SLOTS     160 /* slots of a session; a block is a part of one */

/* What is known of a case's slot noise before its first block. */
enum sim_prior {
    SIM_PRIOR_REGISTRY, /* the kind's, off by a factor of exp(0.2 z) */
    SIM_PRIOR_WRONG,    /* the kind's, off by exp(1.1 z): a factor of 3 is usual */
    SIM_PRIOR_UNKNOWN   /* 0.4 % for all: no registry */
};

enum sim_dependence {
    SIM_OWN,  /* each block has noise of its own */
    SIM_PATH, /* one device: drift, mode and ramp go on from case to case of a round */
    SIM_SAME  /* every case has the same noise and the same labels in a round */
};

/* How many cases of a pull request are slower, and by how much. */
enum sim_scenario {
    SIM_CLEAN,
    SIM_TEN,   /* 4 by 2 %, 3 by 3 %, 3 by 5 %, at drawn places */
    SIM_ONE_2, /* a single one, by 2 % */
    SIM_ONE_3
};

struct sim_suite {
    size_t cases;
    unsigned kinds; /* the cases take these in turn */
    enum sim_scenario scenario;
    double effect; /* of every case that is not one of the slower: log ratio */
    enum sim_prior prior;
    enum sim_dependence dependence;
    bool
        registry_margins; /* wf_gate_margins_for(noise, tau) instead of 0.5 % and 2 % */
    double alpha;         /* of the rule for pull requests; 0: its own */
};

struct sim_case {
    enum noise_kind kind;
    double effect;
    bool regressed; /* by the scenario */
    enum wf_gate_verdict verdict;
    int blocks;
};

/* Kinds and true effects of the pull request's cases. */
void sim_suite_cases(const struct sim_suite *s,
                     uint64_t seed,
                     uint64_t run,
                     struct sim_case *ret);
/* The same, and what the gate says of each. ret: s->cases entries. */
void sim_suite_run(const struct sim_suite *s,
                   uint64_t seed,
                   uint64_t run,
                   struct sim_case *ret);

/* --- one case, alone --- */

struct sim_alone {
    enum noise_kind kind;
    double effect, layout; /* layout as in struct noise_session */
    enum sim_prior prior;
    struct wf_gate_rule rule;
    struct wf_gate_margins margins; /* s0 is set by the prior */
};

struct sim_alone_result {
    enum wf_gate_verdict verdict;
    int blocks;
    /* the largest of both at the same look, over all looks of the case */
    double log_w_slower, log_w_and_sign;
    bool pass_two, pass_three; /* 20 after two rounds; 50 after three, at some look */
};

/* `to_the_end`: goes on to the last block whatever is reached, and no verdict is asked
 * for: for the laws of the processes themselves. */
void sim_alone_run(const struct sim_alone *a,
                   bool to_the_end,
                   uint64_t seed,
                   uint64_t run,
                   struct sim_alone_result *ret);
/* Blocks given, not simulated: y in the order of the rounds, one block a round. */
void sim_alone_blocks(const struct wf_gate_rule *rule,
                      const struct wf_gate_margins *m,
                      const struct wf_gate_block *blocks,
                      size_t n,
                      bool to_the_end,
                      struct sim_alone_result *ret);

/* --- the peers' rules --- */

/* X(NAME, text, interleaved, repetitions an arm, threshold of p) A repetition is a slot
 * of five launches. Rules without a p give 0 (slower) or 1. */
#define SIM_PEERS(X)                                                             \
    X(mean2, "mean threshold 2 %, 5+5", 0, 5, .5)                                \
    X(mean5, "mean threshold 5 %, 5+5", 0, 5, .5)                                \
    X(gbench, "U-test 5 %, 9+9 (compare.py)", 0, 9, .05)                         \
    X(utest10, "U-test 5 %, 10+10 (benchstat)", 0, 10, .05)                      \
    X(benchstat, "U-test 5 %, 20+20 interleaved (benchstat's tips)", 1, 20, .05) \
    X(nvbench, "nvbench_compare, 20+20", 0, 20, .5)                              \
    X(robust, "nvbench robust, 20+20", 0, 20, .5)                                \
    X(criterion, "criterion 100+100, 1 % noise", 0, 100, .5)                     \
    X(asv, "asv continuous 10+10 interleaved, factor 1.1", 1, 10, .5)

enum sim_peer {
#define X(name, ...) SIM_PEER_##name,
    SIM_PEERS(X)
#undef X
    SIM_PEER_COUNT
};

#define SIM_REPETITIONS_MAX 100

const char *sim_peer_text(enum sim_peer p);
int sim_peer_slots(enum sim_peer p); /* of both arms */
bool sim_peer_flags(enum sim_peer p, double value);
/* p of "the candidate is slower" (two-sided, 1 where the candidate's median is not the
 * greater), or 0 or 1. */
double sim_peer_case(enum sim_peer p,
                     enum noise_kind kind,
                     double effect,
                     uint64_t seed,
                     uint64_t run);
/* Two-sided p of Mann-Whitney's U: normal approximation with the corrections for ties
 * and for continuity. */
double sim_u_test(const double *a, size_t na, const double *b, size_t nb);
/* Benjamini and Hochberg: which are rejected. m at most SIM_CASES_MAX. */
void sim_bh(const double *p, size_t m, double alpha, bool *ret_rejected);

/* Upper end of the one-sided 95 % interval of a share: hits of n (Clopper, Pearson). */
double sim_upper_bound(uint64_t hits, uint64_t n);

#endif
