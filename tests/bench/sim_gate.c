/* The gate's rule under simulated and recorded noise: error rates, power, cost, and its
 * peers beside it. docs/results/gate-simulated.md has what it printed.
 *
 * usage: sim_gate [--jobs N] [--scale F] [--seed N] [--counts FILE] [--minutes F]
 *                 [--data FOLDER] [TABLE...]
 *
 * Without names all tables. --scale multiplies the numbers of runs. --counts keeps
 * them: what is there is not run again, so a greater scale adds and an interrupted run
 * goes on. --minutes: no new runs after that. Exit status: 1, a target was missed (each
 * is named); 3, the time did not do; 2, an error. */
#include "core/clock.h"
#include "core/parse.h"
#include "sim_gate_tables.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *what;
    void (*print)(struct sim_tables *t);
} TABLES[] = {
#define X(name, what) { #name, what, sim_table_##name },
    SIM_TABLES(X)
#undef X
};
#define TABLE_COUNT (sizeof TABLES / sizeof *TABLES)

uint64_t sim_runs(const struct sim_tables *t, uint64_t n)
{
    const double scaled = round((double)n * t->scale);
    return scaled < 4 ? 4 : (uint64_t)scaled;
}

void sim_target(struct sim_tables *t, bool met, const char *what)
{
    if (!met) {
        (void)printf("\nMISSED: %s\n\n", what);
        t->good = false;
    }
}

double sim_share(uint64_t hits, uint64_t n)
{
    return n > 0 ? (double)hits / (double)n : NAN;
}

static _Noreturn void usage(void)
{
    (void)fprintf(stderr,
                  "usage: sim_gate [--jobs N] [--scale F] [--seed N] [--counts FILE] "
                  "[--minutes F] [--data FOLDER] [TABLE...]\ntables:\n");
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        (void)fprintf(stderr, "  %-10s %s\n", TABLES[i].name, TABLES[i].what);
    }
    exit(2);
}

static double number(const char *text, const char *what, double least, double most)
{
    double v = 0;
    struct wf_error err;
    if (wf_parse_f64(text, what, least, most, &v, &err) != WF_OK) {
        sim_fail(err.text);
    }
    return v;
}

struct options {
    unsigned jobs;
    double scale, minutes; /* minutes 0: without end */
    uint64_t seed;
    const char *counts, *data;
};

static void read_options(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {
        { "jobs", required_argument, NULL, 'j' },
        { "scale", required_argument, NULL, 's' },
        { "seed", required_argument, NULL, 'e' },
        { "counts", required_argument, NULL, 'c' },
        { "minutes", required_argument, NULL, 'm' },
        { "data", required_argument, NULL, 'd' },
        { NULL, 0, NULL, 0 },
    };
    struct wf_error err;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'j') {
            o->jobs = (unsigned)number(optarg, "--jobs", 1, 128);
        } else if (c == 's') {
            o->scale = number(optarg, "--scale", 1e-6, 1e6);
        } else if (c == 'm') {
            o->minutes = number(optarg, "--minutes", 0.01, 1e6);
        } else if (c == 'e') {
            if (wf_parse_u64(optarg, "--seed", 0, UINT64_MAX, &o->seed, &err) !=
                WF_OK) {
                sim_fail(err.text);
            }
        } else if (c == 'c') {
            o->counts = optarg;
        } else if (c == 'd') {
            o->data = optarg;
        } else {
            usage();
        }
    }
}

static size_t table_named(const char *name)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (strcmp(TABLES[i].name, name) == 0) {
            return i;
        }
    }
    (void)fprintf(stderr, "sim_gate: there is no table '%s'\n", name);
    usage();
}

static void print_table(struct sim_tables *t, size_t i)
{
    (void)printf("\n## %s: %s\n\n", TABLES[i].name, TABLES[i].what);
    TABLES[i].print(t);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    struct options o = { .jobs = 1, .scale = 1, .seed = 1 };
    struct sim_tables t = { .good = true };
    struct wf_error err;
    read_options(argc, argv, &o);
    for (int i = optind; i < argc; i++) {
        (void)table_named(argv[i]);
    }
    const int64_t deadline =
        o.minutes > 0 ? wf_monotonic_ns() + (int64_t)(o.minutes * 60e9) : 0;
    t.scale = o.scale;
    t.data = o.data;
    if (sim_store_open(o.counts, o.seed, o.jobs, deadline, &t.store, &err) != WF_OK) {
        sim_fail(err.text);
    }
    for (size_t i = 0; i < (optind < argc ? (size_t)(argc - optind) : TABLE_COUNT);
         i++) {
        print_table(&t, optind < argc ? table_named(argv[optind + (int)i]) : i);
    }
    const bool is_short = sim_store_is_short(t.store);
    if (is_short) {
        (void)printf("\nSHORT: the time did not do for all runs\n");
    }
    sim_store_free(t.store);
    return !t.good ? 1 : is_short ? 3 : 0;
}
