/* Recorded times of real devices under the gate's rule. */
#include "sim_gate_recorded.h"
#include "sim_gate_tables.h"

#include <stdio.h>
#include <string.h>

static void labelling(const void *arg, uint64_t seed, uint64_t run, uint64_t *count)
{
    struct recorded_counts c = { 0 };
    const uint64_t *from = (const uint64_t *)&c;
    recorded_count(arg, 0, 1, seed, run, &c);
    for (size_t i = 0; i < sizeof c / sizeof *from; i++) {
        count[i] += from[i];
    }
}
_Static_assert(sizeof(struct recorded_counts) <= SIM_COUNTERS * sizeof(uint64_t),
               "room for the counters");

static void targets(struct sim_tables *t,
                    const char *name,
                    const struct recorded_counts *c)
{
    char what[160];
    (void)snprintf(what, sizeof what, "%s: no W >= 6000", name);
    sim_target(t, c->w_6000 == 0, what);
    (void)snprintf(what, sizeof what, "%s: W >= 20 in at most 2 %%", name);
    sim_target(t, sim_share(c->sharp_20, c->sequences) <= 0.02, what);
    (void)snprintf(what, sizeof what, "%s: PASS at a true 2 %% in at most 5 %%", name);
    sim_target(t, sim_share(c->slower_pass, c->sequences) <= 0.05, what);
}

static void print_file(struct sim_tables *t, const struct recorded *r)
{
    struct recorded_counts c;
    char name[96];
    (void)snprintf(name, sizeof name, "recorded/%s", r->name);
    const struct sim_cell *cell =
        sim_store_run(t->store, name, 500, sim_runs(t, 20), labelling, r);
    if (cell->runs == 0) {
        return;
    }
    memcpy(&c, cell->count, sizeof c);
    const double n = (double)c.sequences;
    (void)printf(
        "| %s | %zu x %llu | %llu, %llu | %.2f %% | %.3f %% | %.2f %% | %.2f %% | "
        "%.2f %%, %.2f %%; %.1f |\n",
        r->name, r->n, (unsigned long long)cell->runs, (unsigned long long)c.w_6000,
        (unsigned long long)c.w_30000, 100 * (double)c.sharp_20 / n,
        100 * (double)c.w_20 / n, 100 * (double)c.slower_pass / n,
        100 * (double)c.slower_fail / n, 100 * (double)c.pass / n,
        100 * (double)c.open / n, (double)c.launches / n);
    (void)fflush(stdout);
    targets(t, r->name, &c);
}

void sim_table_recorded(struct sim_tables *t)
{
    struct recorded *all = NULL;
    size_t n = 0;
    struct wf_error err;
    enum wf_status status = recorded_read_all(t->data, &all, &n, &err);
    if (status != WF_OK && (status != WF_ENOTFOUND || t->data != NULL)) {
        sim_fail(err.text);
    }
    if (status != WF_OK) {
        (void)printf("SKIPPED: %s\n", err.text);
        return;
    }
    (void)printf(
        "| recording | sequences x labellings | W >= 6000, 30000 in A/A | W >= 20 "
        "at margin 0 | at margin .5 %% | PASS at a true 2 %% | FAIL at a true 2 "
        "%% (e >= 6000) | A/A: PASS, INCONCLUSIVE; launches "
        "|\n|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        print_file(t, &all[i]);
    }
    recorded_free(all, n);
}
