#include "core/rng.h"
#include "core/stats.h"
#include "sim_gate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCHES_MAX (SIM_REPETITIONS_MAX * NOISE_SLOT)

/* One case as a peer measures it: logarithms of times, by arm. */
struct sample {
    size_t n; /* repetitions an arm */
    double log_ns[2][LAUNCHES_MAX];
};

static const struct {
    const char *text;
    bool interleaved;
    size_t repetitions;
    double threshold;
} PEERS[] = {
#define X(name, ...) { __VA_ARGS__ },
    SIM_PEERS(X)
#undef X
};

const char *sim_peer_text(enum sim_peer p)
{
    return PEERS[p].text;
}

int sim_peer_slots(enum sim_peer p)
{
    return (int)(2 * PEERS[p].repetitions);
}

bool sim_peer_flags(enum sim_peer p, double value)
{
    return value < PEERS[p].threshold;
}

/* --- statistics --- */

static double normal_upper(double z)
{
    return 0.5 * erfc(z / sqrt(2));
}

struct ranked {
    double value;
    bool first; /* of the first sample */
};

static int by_value(const void *a, const void *b)
{
    const double x = ((const struct ranked *)a)->value;
    const double y = ((const struct ranked *)b)->value;
    return (x > y) - (x < y);
}

double sim_u_test(const double *a, size_t na, const double *b, size_t nb)
{
    struct ranked r[2 * SIM_REPETITIONS_MAX] = { { 0 } };
    const size_t n = na + nb;
    double rank_sum = 0, ties = 0;
    for (size_t i = 0; i < n; i++) {
        r[i] = (struct ranked){ i < na ? a[i] : b[i - na], i < na };
    }
    qsort(r, n, sizeof *r, by_value);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !(r[end].value > r[i].value);) {
            end++;
        }
        const double t = (double)(end - i);
        ties += t * t * t - t;
        for (size_t j = i; j < end; j++) {
            rank_sum += r[j].first ? (double)(i + 1 + end) / 2 : 0;
        }
    }
    const double product = (double)na * (double)nb;
    const double u = rank_sum - (double)na * (double)(na + 1) / 2;
    const double larger = u > product - u ? u : product - u;
    const double total = (double)n;
    const double sd = sqrt(product / 12 * (total + 1 - ties / (total * (total - 1))));
    const double p = 2 * normal_upper((larger - product / 2 - 0.5) / sd);
    return p < 1 ? p : 1;
}

void sim_bh(const double *p, size_t m, double alpha, bool *ret_rejected)
{
    double sorted[SIM_CASES_MAX];
    double cut = -1;
    memcpy(sorted, p, m * sizeof *p);
    wf_sort_doubles(sorted, m);
    for (size_t k = m; k > 0 && cut < 0; k--) {
        cut = sorted[k - 1] <= alpha * (double)k / (double)m ? sorted[k - 1] : cut;
    }
    for (size_t i = 0; i < m; i++) {
        ret_rejected[i] = p[i] <= cut;
    }
}

/* log of the chance of at most `hits` of n. */
static double share_of_at_most(uint64_t hits, uint64_t n, double p)
{
    double sum = 0;
    for (uint64_t k = 0; k <= hits; k++) {
        const double x = (double)k;
        const double m = (double)n;
        sum += exp(lgamma(m + 1) - lgamma(x + 1) - lgamma(m - x + 1) + x * log(p) +
                   (m - x) * log1p(-p));
    }
    return sum;
}

double sim_upper_bound(uint64_t hits, uint64_t n)
{
    double lo = 0, hi = 1;
    for (int i = 0; i < 60 && hits < n; i++) {
        const double mid = (lo + hi) / 2;
        if (share_of_at_most(hits, n, mid) > 0.05) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return hi;
}

static double mean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum / (double)n;
}

static double variance(const double *x, size_t n)
{
    const double m = mean(x, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (x[i] - m) * (x[i] - m);
    }
    return sum / (double)(n - 1);
}

static double median_of(const double *x, size_t n)
{
    double sorted[SIM_REPETITIONS_MAX];
    memcpy(sorted, x, n * sizeof *x);
    wf_sort_doubles(sorted, n);
    return wf_quantile_sorted(sorted, n, 0.5);
}

/* --- the rules, each re-coded from what its tool does --- */

/* A repetition is the mean of its launches' logarithms. */
static void repetitions(const struct sample *s, int arm, double *ret)
{
    for (size_t i = 0; i < s->n; i++) {
        ret[i] = mean(s->log_ns[arm] + i * NOISE_SLOT, NOISE_SLOT);
    }
}

static size_t times(const struct sample *s, int arm, double *ret)
{
    for (size_t i = 0; i < s->n * NOISE_SLOT; i++) {
        ret[i] = exp(s->log_ns[arm][i]);
    }
    return s->n * NOISE_SLOT;
}

static double u_test_slower(const struct sample *s)
{
    double a[SIM_REPETITIONS_MAX], b[SIM_REPETITIONS_MAX];
    repetitions(s, 0, a);
    repetitions(s, 1, b);
    return median_of(b, s->n) > median_of(a, s->n) ? sim_u_test(a, s->n, b, s->n) : 1;
}

static double mean_threshold(const struct sample *s, double most)
{
    double a[LAUNCHES_MAX] = { 0 }, b[LAUNCHES_MAX] = { 0 };
    const size_t n = times(s, 0, a);
    (void)times(s, 1, b);
    return mean(b, n) / mean(a, n) - 1 > most ? 0 : 1;
}

/* NVIDIA/nvbench, nvbench_compare.py: the means differ by more than the lesser of the
 * two relative standard deviations of single launches. */
static double nvbench(const struct sample *s)
{
    double a[LAUNCHES_MAX] = { 0 }, b[LAUNCHES_MAX] = { 0 };
    const size_t n = times(s, 0, a);
    (void)times(s, 1, b);
    const double noise_a = sqrt(variance(a, n)) / mean(a, n);
    const double noise_b = sqrt(variance(b, n)) / mean(b, n);
    return mean(b, n) / mean(a, n) - 1 > fmin(noise_a, noise_b) ? 0 : 1;
}

/* NVIDIA/nvbench, nvbench-compare-robust: [least, upper quartile] of both lie apart by
 * 0.5 % (its second condition, cycles, has no counterpart in times alone). */
static double robust(const struct sample *s)
{
    double a[LAUNCHES_MAX] = { 0 }, b[LAUNCHES_MAX] = { 0 };
    const size_t n = times(s, 0, a);
    (void)times(s, 1, b);
    wf_sort_doubles(a, n);
    wf_sort_doubles(b, n);
    const double q3 = wf_quantile_sorted(a, n, 0.75);
    return (b[0] - q3) / q3 >= 0.005 ? 0 : 1;
}

/* criterion.rs: p < 0.05 and the 95 % interval of the change beyond 1 %; its bootstrap
 * replaced by the normal law that it comes to at 100 samples. */
static double criterion(const struct sample *s)
{
    double a[SIM_REPETITIONS_MAX], b[SIM_REPETITIONS_MAX];
    repetitions(s, 0, a);
    repetitions(s, 1, b);
    for (size_t i = 0; i < s->n; i++) {
        a[i] = exp(a[i]);
        b[i] = exp(b[i]);
    }
    const double n = (double)s->n;
    const double se = sqrt(variance(a, s->n) / n + variance(b, s->n) / n);
    const double change = mean(b, s->n) - mean(a, s->n);
    const bool significant = 2 * normal_upper(fabs(change / se)) < 0.05;
    return significant && (change - 1.96 * se) / mean(a, s->n) > 0.01 ? 0 : 1;
}

static double asv(const struct sample *s)
{
    double a[SIM_REPETITIONS_MAX], b[SIM_REPETITIONS_MAX];
    repetitions(s, 0, a);
    repetitions(s, 1, b);
    const double ratio = exp(median_of(b, s->n) - median_of(a, s->n));
    return ratio > 1.1 && sim_u_test(a, s->n, b, s->n) < 0.002 ? 0 : 1;
}

static double value_of(enum sim_peer p, const struct sample *s)
{
    switch (p) {
    case SIM_PEER_mean2:
        return mean_threshold(s, 0.02);
    case SIM_PEER_mean5:
        return mean_threshold(s, 0.05);
    case SIM_PEER_nvbench:
        return nvbench(s);
    case SIM_PEER_robust:
        return robust(s);
    case SIM_PEER_criterion:
        return criterion(s);
    case SIM_PEER_asv:
        return asv(s);
    case SIM_PEER_gbench:
    case SIM_PEER_utest10:
    case SIM_PEER_benchstat:
    case SIM_PEER_COUNT:
        break;
    }
    return u_test_slower(s);
}

double sim_peer_case(enum sim_peer p,
                     enum noise_kind kind,
                     double effect,
                     uint64_t seed,
                     uint64_t run)
{
    struct sample s = { .n = PEERS[p].repetitions };
    unsigned char arm[2 * SIM_REPETITIONS_MAX] = { 0 };
    double x[2 * LAUNCHES_MAX];
    size_t have[2] = { 0, 0 };
    const size_t slots = 2 * s.n;
    for (size_t i = 0; i < slots; i++) {
        arm[i] = PEERS[p].interleaved ? (i & 1) != 0 : i >= s.n;
    }
    noise_session(&(struct noise_session){ .kind = kind,
                                           .slots = slots,
                                           .layout = -1,
                                           .effect = effect,
                                           .seed = seed,
                                           .run = run },
                  arm, x);
    for (size_t i = 0; i < slots; i++) {
        memcpy(s.log_ns[arm[i]] + have[arm[i]], x + i * NOISE_SLOT,
               NOISE_SLOT * sizeof *x);
        have[arm[i]] += NOISE_SLOT;
    }
    return value_of(p, &s);
}
