/* The search of a bisection: each step is a gate of the good pack against one between.
 */
#ifndef WF_CLI_BISECT_SEARCH_H
#define WF_CLI_BISECT_SEARCH_H

#include "cli/bisect_packs.h"
#include "cli/gate_local.h"
#include "gate/bisect.h"

enum bisect_seek {
    BISECT_AUTO,   /* what the bad end is: wrong, else slower */
    BISECT_SLOWER, /* a wrong pack cannot be timed: it is passed over */
    BISECT_WRONG   /* answers alone, no times */
};

struct bisect_options {
    struct wf_gate_options gate; /* suite, device, ...; packs, files and rule are set
                                    by the search */
    const char *kernel;
    const char *record; /* folder for the gates' records, NULL: none are kept */
    double alpha;       /* of the whole search */
    enum bisect_seek seek;
    bool quiet; /* no lines about each step */
};

/* What one gate said of a pack. */
struct bisect_step {
    size_t pack;
    enum wf_bisect_mark mark;
    char verdict[96];         /* "FAIL slower" */
    double effect, low, high; /* NAN, infinite: unknown */
    double alpha;             /* error rate that it was run with */
    bool resumed;             /* read from a record that was there */
    char *record;             /* file, NULL */
};

struct bisect_search {
    struct bisect_packs *packs;
    struct bisect_options options;
    struct wf_bisect *rule;
    struct bisect_step *step;
    size_t count;
    size_t planned;
    enum bisect_seek seek; /* what is looked for, after the first step */
    bool ends_differ;      /* the bad pack is worse than the good one */
};

/* The two ends have to be here; the others are got when a step needs them. Ends with OK
 * also where nothing could be found; then `ends_differ` or the range of `rule` says so.
 * EDEVICE: the machine failed, what is done is in the records. */
enum wf_status bisect_search_run(struct bisect_packs *packs,
                                 const struct bisect_options *options,
                                 struct bisect_search *ret,
                                 struct wf_error *err);
void bisect_search_free(struct bisect_search *s);
/* Sum of the error rates of the steps so far. */
double bisect_search_error(const struct bisect_search *s);

#endif
