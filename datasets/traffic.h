/* Synthetic requests: Poisson arrivals, lengths with a long right tail (lognormal),
 * from one seed. The same seed gives the same requests on every machine. */
#ifndef WF_DATASETS_TRAFFIC_H
#define WF_DATASETS_TRAFFIC_H

#include "core/error.h"
#include "datasets/trace.h"

#include <stdint.h>

struct wf_traffic {
    int64_t requests;
    double mean_prompt, mean_output; /* tokens */
    double spread;                   /* standard deviation of the lengths' logarithm */
    double rate_per_s;               /* mean arrivals */
    uint64_t seed;
};

/* Appends to an empty list. Lengths are at least 1 and at most 64 times their mean. */
enum wf_status wf_traffic_make(const struct wf_traffic *t,
                               struct wf_request_list *list,
                               struct wf_error *err);

/* Gives a share of the requests one of `groups` common prefixes ("system prompts") of
 * `tokens` tokens; a shorter prompt gets none. The list must not have chains yet. */
enum wf_status wf_traffic_add_prefix(struct wf_request_list *list,
                                     double share,
                                     int64_t tokens,
                                     int64_t groups,
                                     uint64_t seed,
                                     struct wf_error *err);

#endif
