/* Series of nightly values: each finished gate against the same pinned base gives one
 * point a pair, the log of the time ratio candidate / base. A series has one case, one
 * kernel, one device model and one base: values of other models or bases never meet.
 * Pure. */
#ifndef WF_GATE_HISTORY_H
#define WF_GATE_HISTORY_H

#include "core/json.h"
#include "gate/change_points.h"
#include "gate/record.h"

#include <stdbool.h>
#include <stddef.h>

struct wf_history_point {
    char *at;         /* ISO 8601 */
    double value;     /* log ratio */
    double low, high; /* its interval; infinite: open */
    char *pack;       /* of the candidate: id */
    char *commit;     /* "": not known */
    char **parent;    /* of the commit */
    size_t parents;
    char *gate;
    char *driver; /* "": not known */
};

struct wf_history_series {
    char *key, *case_name, *kernel, *model, *base;
    struct wf_history_point *point; /* in commit order after wf_history_analyse */
    size_t count;
    struct wf_change_points change; /* after it; indices are of `point` */
};

struct wf_history {
    struct wf_history_series *series;
    size_t count;
    size_t records;   /* gates taken */
    size_t unchanged; /* pairs with the base's very code: no value, none needed */
    size_t repeated;  /* pairs of a record that was taken before: counted once */
    size_t left_out;  /* pairs without a time to use: wrong, not run, device not good */
};

/* Takes what a gate's record says; ENOTFOUND: it has no verdict line yet. */
enum wf_status wf_history_add_record(struct wf_history *h,
                                     struct wf_gate_record *r,
                                     struct wf_error *err);
/* Takes the series of a coordinator's GET /v1/gates/history. */
enum wf_status wf_history_add_served(struct wf_history *h,
                                     const struct wf_json *answer,
                                     struct wf_error *err);
/* Puts the points in commit order (gate/commit_order.h; `order` may be NULL) and finds
 * the change points. */
enum wf_status wf_history_analyse(struct wf_history *h,
                                  const struct wf_change_rule *rule,
                                  const char *const *order,
                                  size_t order_count,
                                  struct wf_error *err);
void wf_history_free(struct wf_history *h);

/* A driver other than that of the last point before it, both known. */
bool wf_history_driver_changed(const struct wf_history_series *s, size_t point);

#endif
