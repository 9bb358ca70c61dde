/* The tables of sim_gate. Each brings its cells to their number of runs and prints what
 * is there; a target that is missed is printed and makes `good` false. */
#ifndef WF_TESTS_SIM_GATE_TABLES_H
#define WF_TESTS_SIM_GATE_TABLES_H

#include "sim_gate.h"
#include "sim_gate_cells.h"

struct sim_tables {
    struct sim_store *store;
    double scale;     /* of the numbers of runs */
    const char *data; /* folder of recorded times, NULL: the usual place */
    bool good;
};

/* X(name, what) */
#define SIM_TABLES(X)                                                          \
    X(clean, "pull requests that change nothing: how often red, at what cost") \
    X(power, "slower cases among 300: how many are found")                     \
    X(suite, "the gate beside its peers, on pull requests of 300 cases")       \
    X(cases, "single cases, rule by rule, beside published figures")           \
    X(guarantee, "the test processes at the edge of what they promise")        \
    X(prior, "a registry that is wrong by a factor of three")                  \
    X(recorded, "recorded times of real devices")

#define X(name, what) void sim_table_##name(struct sim_tables *t);
SIM_TABLES(X)
#undef X

/* n scaled, at least 4. */
uint64_t sim_runs(const struct sim_tables *t, uint64_t n);
/* Prints "MISSED: ..." unless `met`. */
void sim_target(struct sim_tables *t, bool met, const char *what);
double sim_share(uint64_t hits, uint64_t n); /* NAN where n is 0 */

#endif
