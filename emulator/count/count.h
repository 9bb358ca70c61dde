/* Counters of a launch: exact, the same for any number of host threads, and a model's
 * cycles that are a lower bound, never a time. */
#ifndef WF_EMULATOR_COUNT_COUNT_H
#define WF_EMULATOR_COUNT_COUNT_H

#include "core/error.h"
#include "emulator/exec/wave.h"
#include "emulator/memory/access.h"

/* X(member, unit, words): what the memory instructions add up while they run. */
#define EM_MEMORY_COUNTS(X)                                                      \
    X(global_read_bytes, "byte", "bytes that lanes read from global memory")     \
    X(global_write_bytes, "byte", "bytes that lanes wrote to global memory")     \
    X(global_lines, "128-byte line", "lines touched, a wave's access at a time") \
    X(global_accesses, "instruction", "wave accesses to global memory")          \
    X(lds_bytes, "byte", "bytes that lanes read from or wrote to LDS")           \
    X(lds_cycles, "cycle", "bank cycles of the LDS accesses")                    \
    X(lds_conflict_cycles, "cycle", "of these, those that bank conflicts added") \
    X(scratch_bytes, "byte", "bytes of scratch accesses")                        \
    X(atomic_lanes, "lane", "lanes of atomics on global memory")

/* One per host thread; added up at the end of the launch. */
struct em_counts {
    uint64_t *executed; /* [dwords of the code]: how often each instruction ran */
    size_t count;
#define X(member, unit, words) uint64_t member;
    EM_MEMORY_COUNTS(X)
#undef X
};

enum wf_status em_counts_init(struct em_counts *c,
                              size_t code_dwords,
                              struct wf_error *err);
void em_counts_fini(struct em_counts *c);
void em_counts_add(struct em_counts *to, const struct em_counts *from);

/* Called where w->counts is not NULL. */
void em_count_global(struct em_wave *w, const struct em_access *access);
void em_count_lds(struct em_wave *w,
                  const struct em_op *op,
                  const struct em_access *access);
void em_count_scratch(struct em_wave *w, const struct em_access *access);

#endif
