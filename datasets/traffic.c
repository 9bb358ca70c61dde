/* Random requests. Only additions, multiplications and the random numbers of core/rng
 * are used, never libm, so that results do not depend on the C library: an exponential
 * gap is half the sum of two squared normals, and exp() is computed here. */
#include "datasets/traffic.h"

#include "core/rng.h"

#include <math.h>

/* Streams under one seed; new ones are added at the end. */
enum {
    STREAM_GAP = 101,
    STREAM_PROMPT,
    STREAM_OUTPUT,
    STREAM_SHARE,
    STREAM_GROUP
};

/* e^x for |x| <= 40, relative error below 1e-15: reduction by ln 2, then the Taylor
 * series, whose 14th term is below 1e-17 for |r| <= 0.35. floor and ldexp are exact. */
static double exp_portable(double x)
{
    const double k = floor(x * 1.4426950408889634 + 0.5);
    const double r =
        (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double sum = 1.0;
    for (int i = 14; i >= 1; i--) {
        sum = 1.0 + sum * r / i;
    }
    return ldexp(sum, (int)k);
}

/* Lognormal with the mean wanted: exp(mu + s z) has mean exp(mu + s^2 / 2). */
static int64_t length(const struct wf_traffic *t,
                      uint64_t stream,
                      uint64_t i,
                      double mean)
{
    const double z = wf_rng_normal(t->seed, stream, i);
    const double e = t->spread * z - t->spread * t->spread / 2;
    double v = floor(mean * exp_portable(e < -40 ? -40 : e > 40 ? 40 : e) + 0.5);
    v = v > 64 * mean ? floor(64 * mean) : v;
    v = v > (double)WF_TRACE_MAX_TOKENS ? (double)WF_TRACE_MAX_TOKENS : v;
    return v < 1 ? 1 : (int64_t)v;
}

static double gap_s(const struct wf_traffic *t, uint64_t i)
{
    const double a = wf_rng_normal(t->seed, STREAM_GAP, 2 * i);
    const double b = wf_rng_normal(t->seed, STREAM_GAP, 2 * i + 1);
    return (a * a + b * b) / 2 / t->rate_per_s;
}

enum wf_status wf_traffic_make(const struct wf_traffic *t,
                               struct wf_request_list *list,
                               struct wf_error *err)
{
    double now_s = 0;
    for (int64_t i = 0; i < t->requests; i++) {
        const uint64_t n = (uint64_t)i;
        now_s += i > 0 ? gap_s(t, n) : 0;
        if (now_s > 9e9) {
            return wf_errorf(
                err, WF_ERANGE,
                "request %lld would arrive after 285 years: raise rate_per_s",
                (long long)i);
        }
        const struct wf_request r = {
            .arrival_ns = (int64_t)(now_s * 1e9),
            .prompt_tokens = length(t, STREAM_PROMPT, n, t->mean_prompt),
            .output_tokens = length(t, STREAM_OUTPUT, n, t->mean_output),
        };
        enum wf_status st = wf_request_list_add(list, &r, err);
        if (st != WF_OK) {
            return st;
        }
    }
    return WF_OK;
}

enum wf_status wf_traffic_add_prefix(struct wf_request_list *list,
                                     double share,
                                     int64_t tokens,
                                     int64_t groups,
                                     uint64_t seed,
                                     struct wf_error *err)
{
    if (list->block_tokens != 0) {
        return wf_errorf(err, WF_EINVAL, "the requests have content blocks already");
    }
    list->block_tokens = tokens;
    for (size_t i = 0; i < list->count; i++) {
        struct wf_request *r = &list->at[i];
        if (wf_rng_uniform(seed, STREAM_SHARE, i) >= share ||
            r->prompt_tokens < tokens) {
            continue;
        }
        const uint64_t group = wf_rng_below(seed, STREAM_GROUP, i, (uint64_t)groups);
        r->chain_first = list->chain_count;
        r->chain_count = 1;
        enum wf_status st = wf_request_list_chain(list, (uint32_t)group, err);
        if (st != WF_OK) {
            return st;
        }
    }
    return WF_OK;
}
