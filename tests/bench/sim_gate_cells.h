/* Counts of simulations, by cell: a named row of counters that grows run by run. The
 * counts do not depend on the number of threads, and a store that was interrupted and
 * taken up again has those of one long run. */
#ifndef WF_TESTS_SIM_GATE_CELLS_H
#define WF_TESTS_SIM_GATE_CELLS_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_COUNTERS 128

/* Adds what run `run` gives to `count`. */
typedef void sim_fn(const void *arg, uint64_t seed, uint64_t run, uint64_t *count);

struct sim_cell {
    char name[96];
    uint64_t runs;
    uint64_t count[SIM_COUNTERS];
};

struct sim_store; /* opaque */

/* path: a file that is read first and written after each chunk of runs; NULL: none.
 * EINVAL: it was begun with another seed. deadline_ns: of wf_monotonic_ns, 0: none. */
enum wf_status sim_store_open(const char *path,
                              uint64_t seed,
                              unsigned jobs,
                              int64_t deadline_ns,
                              struct sim_store **ret,
                              struct wf_error *err);
void sim_store_free(struct sim_store *s);
/* Brings the cell to `target` runs (it may have more), or to as many as there is time
 * for. `salt`: cells with the same one get the same noise. The counts stay the store's.
 */
const struct sim_cell *sim_store_run(struct sim_store *s,
                                     const char *name,
                                     uint64_t salt,
                                     uint64_t target,
                                     sim_fn *fn,
                                     const void *arg);
/* Whether some cell has fewer runs than was asked for. */
bool sim_store_is_short(const struct sim_store *s);

#endif
