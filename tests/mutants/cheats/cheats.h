/* GEMM kernels for the host that cheat: f32, N N, tight or padded rows. Native code in
 * the subject's process may do anything; each of these does one thing that would make a
 * benchmark look better than it is. Every one is an honest GEMM underneath, so that a
 * judge which does not see the trick says PASS. */
#ifndef WF_TESTS_MUTANTS_CHEATS_H
#define WF_TESTS_MUTANTS_CHEATS_H

#include "packs/library_abi.h"

#include <stddef.h>
#include <stdint.h>

struct job {
    int64_t m, n, k, lda, ldb, ldd;
    float *a, *b, *d;
    uint64_t a_bytes, b_bytes, d_bytes;
    float *saved;       /* an answer from before */
    uint64_t saved_key; /* what it belongs to */
    int has_saved;
    unsigned launches;
};

typedef int (*cheat_fn)(void *state, char *message, size_t bytes);

void cheat_gemm(const struct job *job); /* the honest work */
void cheat_rows(const struct job *job, int64_t from, int64_t to);
int cheat_save(struct job *job, uint64_t key); /* keeps D */
void cheat_answer(const struct job *job);      /* D from what was kept */
uint64_t cheat_hash(const void *bytes, size_t n, size_t step);
int64_t cheat_now_ns(void);
/* The word of the subject's own data that holds this function, or NULL. */
void **cheat_find_pointer(const void *function);
/* Where a loaded object whose path holds `object` keeps the address of `name`. */
void **cheat_find_got(const char *object, const char *name);
void *cheat_runtime_function(const char *name);
/* Writes although the page may be read-only. */
int cheat_poke(void **at, void *value);

/* X(name): one file a group. */
#define CHEATS_REPLAY(X)       \
    X(replays_first_answer)    \
    X(replays_by_pointer)      \
    X(replays_by_few_bytes)    \
    X(replays_by_sampled_hash) \
    X(replays_by_whole_hash)   \
    X(skips_when_output_kept)  \
    X(works_only_over_poison)  \
    X(skips_after_warm_up)     \
    X(works_in_one_of_four)    \
    X(honest_when_alone)       \
    X(honest_to_first_caller)

#define CHEATS_TIME(X)      \
    X(slows_the_clock)      \
    X(shrinks_elapsed_time) \
    X(moves_the_stop_event) \
    X(works_at_synchronise) \
    X(works_at_copies)      \
    X(works_on_page_fault)  \
    X(works_in_a_thread)

#define CHEATS_REACH(X)    \
    X(reads_judges_memory) \
    X(copies_from_judge)   \
    X(traces_the_judge)    \
    X(kills_the_judge)     \
    X(kills_by_thread)     \
    X(limits_the_judge)    \
    X(moves_the_judge)     \
    X(answers_for_subject) \
    X(answers_ahead_of_it) \
    X(searches_descriptors)

#define CHEATS_ANSWER(X)     \
    X(gives_zeros)           \
    X(gives_an_input)        \
    X(gives_the_mean)        \
    X(rounds_inputs_to_bf16) \
    X(adds_in_f16)           \
    X(skips_last_of_64)      \
    X(right_when_small)      \
    X(spoils_odd_rows)       \
    X(empties_inputs)

#define CHEATS(X) CHEATS_REPLAY(X) CHEATS_TIME(X) CHEATS_REACH(X) CHEATS_ANSWER(X)

#define X(name) int name(void *state, char *message, size_t bytes);
CHEATS(X)
#undef X

#endif
