/* A search, as its files share it: cli/tune_*.c. docs/tuning.md has the steps. */
#ifndef WF_CLI_TUNE_H
#define WF_CLI_TUNE_H

#include "cli/case_plan.h"
#include "cli/kernel_set.h"
#include "cli/output.h"
#include "cli/tune_journal.h"
#include "datasets/suite.h"
#include "isa/report.h"
#include "runner/execute.h"
#include "tune/model.h"
#include "tune/space.h"
#include "tune/tournament.h"

#define TUNE_NONE   ((size_t)-1)
#define TUNE_STORED 64 /* candidates of a case that are looked at last, and stored */

struct tune_options {
    const char *suite, *op, *cases;
    const char *space, *root; /* a knob space; NULL: the packs' own kernels */
    const char *pack[16], *kernels;
    size_t pack_count;
    const char *device, *out, *policy;
    char *work; /* folder of journal, packs and gates */
    bool resume, json, no_mca, no_sentinels, quiet;
    const char *clang, *nvcc, *mca_program;
    int points, top, jobs, threads;
    uint64_t seed;
    int64_t budget_ns, compile_timeout_ns, deadline_ns, lock_timeout_ns;
    double alpha, margin;
    bool margin_given;
};

/* What the static report says of one symbol. */
struct tune_static {
    char symbol[WF_TUNE_SYMBOL];
    double *value; /* of wf_isa_figure_name(i) */
};

/* One version of a kernel, whatever the cases. */
struct tune_point {
    char id[13];
    size_t base;     /* of the space */
    uint64_t number; /* in the space */
    char kernel[80];
    const struct wf_pack *pack; /* NULL: not built (yet) */
    const struct wf_pack_kernel *k;
    struct wf_json *knobs;
    unsigned rank;
    bool start;    /* named by recorded facts: never sampled away */
    char *dropped; /* why it is out for all cases; NULL: it is in */
    struct tune_static symbol[4];
    size_t symbol_count;
    char identity[WF_SHA256_HEX];
};

/* A point for a case. */
struct tune_entry {
    size_t point;
    char *dropped;
    bool incumbent, start;
    bool has_model;
    struct wf_tune_model model;
    double workgroups[WF_TUNE_LAUNCHES];
    size_t launches;
    double length, split;
    double cycles, fill, time_ns; /* NAN: not known */
};

struct tune_case {
    size_t index; /* in the suite */
    const struct wf_case *c;
    struct wf_json *json; /* canonical */
    struct case_plan plan;
    struct tune_entry *entry;
    size_t count, room;
    size_t winner; /* in entry; TUNE_NONE */
    size_t *order; /* of the table: entry numbers */
    size_t ordered;
    struct wf_json *gates;
    char why[256]; /* no winner */
};

struct tune_drop {
    char why[160];
    size_t count;
};

/* What a step took away. */
struct tune_step {
    const char *name;
    size_t before, after;
    struct tune_drop drop[32];
    size_t drop_count;
    int64_t took_ns;
};

struct tune {
    struct tune_options o;
    struct wf_device device, model_device;
    bool has_model;
    char *datasets;
    struct wf_dataset_store *store;
    struct wf_suite *suite;
    struct wf_space *space;
    struct wf_kernel_set kernels; /* without a space */
    struct wf_pack **pack;        /* built ones */
    size_t pack_count;
    struct tune_point *point;
    size_t point_count, point_room;
    struct tune_case *cases;
    size_t case_count;
    struct tune_step step[5];
    size_t step_count;
    struct tune_journal *journal;
    struct wf_progress progress;
    int64_t started_ns;
    bool out_of_time;
};

/* The steps in their order. An error ends the search; what was found is in the journal.
 */
enum wf_status tune_open(struct tune *t, struct wf_error *err);
enum wf_status tune_points(struct tune *t, struct wf_error *err);  /* conditions */
enum wf_status tune_build(struct tune *t, struct wf_error *err);   /* compile */
enum wf_status tune_statics(struct tune *t, struct wf_error *err); /* isa report */
enum wf_status tune_models(struct tune *t, struct wf_error *err);  /* emulator */
enum wf_status tune_times(struct tune *t, struct wf_error *err);   /* device */
/* The winners where no times are measured. */
enum wf_status tune_decide(struct tune *t, struct wf_error *err);
enum wf_status tune_table(const struct tune *t,
                          struct wf_json **ret,
                          struct wf_error *err);
void tune_close(struct tune *t);
/* For people: what a table says, on stdout. */
enum wf_status tune_print(const struct wf_json *table, struct wf_error *err);

/* --- for the steps --- */
void tune_step_begin(struct tune *t, const char *name);
/* Counts what is left, tells the step on stderr. */
void tune_step_end(struct tune *t);
/* Takes a point or an entry out. `why` is cut at 159 bytes for the count. */
enum wf_status tune_drop_point(struct tune *t,
                               struct tune_point *p,
                               const char *why,
                               struct wf_error *err);
enum wf_status tune_drop_entry(struct tune *t,
                               struct tune_entry *e,
                               const char *why,
                               struct wf_error *err);
bool tune_entry_in(const struct tune *t, const struct tune_entry *e);
/* Whether some case still has the point. */
bool tune_point_in(const struct tune *t, size_t point);
/* ECANCELLED when interrupted. *ret_over: the budget is used up. */
enum wf_status tune_check_time(struct tune *t, bool *ret_over, struct wf_error *err);
/* The space names figures that there are. */
enum wf_status tune_check_figures(const struct tune *t, struct wf_error *err);
/* A figure of the point's symbol (NULL: of its first launch); NAN: not known. */
double tune_figure(const struct tune_point *p, const char *symbol, const char *name);
/* A numeric knob of the kernel; 0: it has none of this name. */
int64_t tune_knob(const struct tune_point *p, const char *name);
/* A built pack, opened once. */
enum wf_status tune_add_pack(struct tune *t,
                             const char *folder,
                             struct wf_pack **ret,
                             struct wf_error *err);

#endif
