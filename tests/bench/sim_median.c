/* How often the interval of the median covers, at every number of samples at once, and
 * what that costs in width beside the textbook interval for a fixed number.
 *
 * usage: sim_median [RUNS [SEED [SAMPLES]]]      20000, 1, 4000
 *
 * A run looks at the interval whenever the samples have become 2 % more, from 100 on.
 * `always` is the share of runs in which no look missed the true median; `stopped` the
 * share in which the interval covers at the first look that is narrower than +-1 %.
 * Widths are half-widths relative to the median, means over runs that have one. Prints
 * a table and exits 1 when a kind of noise covers in fewer than 95 % of the runs. */
#include "core/buf.h"
#include "core/clock.h"
#include "core/median_interval.h"
#include "core/parse.h"
#include "core/stats.h"
#include "noise.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_LOOK  100
#define GROWTH      1.02
#define MAX_LOOKS   512
#define MAX_THREADS 64
#define TARGET      0.01
#define SHOWN       3

static const size_t SHOWN_AT[SHOWN] = { 250, 1000, 3900 };

struct plan {
    enum noise_kind kind;
    uint64_t seed;
    size_t runs, samples, looks;
    size_t look[MAX_LOOKS];
    double truth[MAX_LOOKS]; /* log of the median, without layout */
};

struct tally {
    size_t always, fixed_always, fixed_at_end, stopped, stopped_right;
    double stop_sum;
    size_t have[SHOWN];
    double width[SHOWN], fixed_width[SHOWN];
};

struct worker {
    const struct plan *plan;
    size_t first, step;
    struct tally tally;
    pthread_t thread;
};

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "sim_median: %s\n", what);
    exit(2);
}

/* Whether the textbook interval holds `truth`: by its rank, without sorting. */
static bool textbook_covers(const double *x, size_t n, double truth)
{
    size_t lo, hi, below = 0, upto = 0;
    wf_median_ci_ranks(n, 0.95, &lo, &hi);
    for (size_t i = 0; i < n; i++) {
        below += x[i] < truth;
        upto += x[i] <= truth;
    }
    return upto >= lo && below < hi;
}

static double textbook_width(const double *x, size_t n, double *work)
{
    size_t lo, hi;
    memcpy(work, x, n * sizeof *x);
    wf_sort_doubles(work, n);
    wf_median_ci_ranks(n, 0.95, &lo, &hi);
    return (work[hi - 1] - work[lo - 1]) / 2;
}

static void note_widths(struct tally *t,
                        const double *x,
                        size_t n,
                        const struct wf_median_interval *i,
                        double *work)
{
    for (int s = 0; s < SHOWN; s++) {
        /* the first look at or beyond it */
        if (n >= SHOWN_AT[s] && (double)n < (double)SHOWN_AT[s] * GROWTH + 1 &&
            !isnan(i->lo)) {
            t->have[s]++;
            t->width[s] += (i->hi - i->lo) / 2 / i->median;
            t->fixed_width[s] += textbook_width(x, n, work) / i->median;
        }
    }
}

static void one_run(struct worker *w, size_t run, double *x, double *work)
{
    const struct plan *p = w->plan;
    struct tally *t = &w->tally;
    bool always = true, fixed_always = true, stopped = false, fixed_covers = true;
    const double layout = noise_fill(p->kind, p->seed, run, x, p->samples);
    for (size_t i = 0; i < p->samples; i++) {
        x[i] = exp(x[i]);
    }
    for (size_t l = 0; l < p->looks; l++) {
        const size_t n = p->look[l];
        const double truth = exp(layout + p->truth[l]);
        struct wf_median_interval interval;
        if (wf_median_interval(x, n, &interval, NULL) != WF_OK) {
            fail("no memory");
        }
        /* no interval claims nothing, and so misses nothing */
        const bool misses = truth < interval.lo || truth > interval.hi;
        fixed_covers = textbook_covers(x, n, truth);
        always = always && !misses;
        fixed_always = fixed_always && fixed_covers;
        if (!stopped && (interval.hi - interval.lo) / 2 <= TARGET * interval.median) {
            stopped = true;
            t->stopped++;
            t->stop_sum += (double)n;
            t->stopped_right += !misses;
        }
        note_widths(t, x, n, &interval, work);
    }
    t->always += always;
    t->fixed_always += fixed_always;
    t->fixed_at_end += fixed_covers;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    double *x = wf_calloc(w->plan->samples, sizeof *x);
    double *sorted = wf_calloc(w->plan->samples, sizeof *sorted);
    if (x == NULL || sorted == NULL) {
        fail("no memory");
    }
    for (size_t run = w->first; run < w->plan->runs; run += w->step) {
        one_run(w, run, x, sorted);
    }
    free(x);
    free(sorted);
    return NULL;
}

static void make_looks(struct plan *p)
{
    struct noise_law *law = noise_law_create(p->kind);
    p->looks = 0;
    for (size_t n = FIRST_LOOK; n <= p->samples && p->looks < MAX_LOOKS;) {
        const size_t next = (size_t)((double)n * GROWTH);
        p->look[p->looks] = n;
        p->truth[p->looks++] = noise_law_median(law, n, p->samples);
        n = next > n ? next : n + 1;
    }
    noise_law_free(law);
}

static void add(struct tally *to, const struct tally *t)
{
    to->always += t->always;
    to->fixed_always += t->fixed_always;
    to->fixed_at_end += t->fixed_at_end;
    to->stopped += t->stopped;
    to->stopped_right += t->stopped_right;
    to->stop_sum += t->stop_sum;
    for (int s = 0; s < SHOWN; s++) {
        to->have[s] += t->have[s];
        to->width[s] += t->width[s];
        to->fixed_width[s] += t->fixed_width[s];
    }
}

static void simulate(const struct plan *p, struct tally *ret)
{
    static struct worker worker[MAX_THREADS];
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t n = online < 1             ? 1
                     : online < MAX_THREADS ? (size_t)online
                                            : MAX_THREADS;
    for (size_t i = 0; i < n; i++) {
        worker[i] = (struct worker){ .plan = p, .first = i, .step = n };
        if (pthread_create(&worker[i].thread, NULL, work, &worker[i]) != 0) {
            fail("no thread");
        }
    }
    for (size_t i = 0; i < n; i++) {
        (void)pthread_join(worker[i].thread, NULL);
        add(ret, &worker[i].tally);
    }
}

static void print_widths(const struct tally *t)
{
    for (int s = 0; s < SHOWN; s++) {
        if (t->have[s] == 0) {
            (void)printf(" - |");
        } else {
            const double n = (double)t->have[s];
            (void)printf(" %.3f (%.3f) |", 100 * t->width[s] / n,
                         100 * t->fixed_width[s] / n);
        }
    }
}

static bool print_row(const struct plan *p, const struct tally *t)
{
    const double runs = (double)p->runs;
    const double always = (double)t->always / runs;
    (void)printf("| %s | %.2f %% | %.1f %% | %.1f %% |", noise_name(p->kind),
                 100 * always, 100 * (double)t->fixed_always / runs,
                 100 * (double)t->fixed_at_end / runs);
    print_widths(t);
    if (t->stopped > 0) {
        const double n = (double)t->stopped;
        (void)printf(" %.1f %% | %.0f | %.2f %% |\n", 100 * n / runs, t->stop_sum / n,
                     100 * (double)t->stopped_right / n);
    } else {
        (void)printf(" 0 %% | - | - |\n");
    }
    return always >= 0.95;
}

static size_t number(const char *text, const char *what, int64_t least)
{
    int64_t v = 0;
    struct wf_error err;
    if (wf_parse_i64(text, what, least, 1000000, &v, &err) != WF_OK) {
        fail(err.text);
    }
    return (size_t)v;
}

int main(int argc, char **argv)
{
    bool good = true;
    struct plan plan = { .runs = argc > 1 ? number(argv[1], "RUNS", 1) : 20000,
                         .seed = argc > 2 ? number(argv[2], "SEED", 0) : 1,
                         .samples =
                             argc > 3 ? number(argv[3], "SAMPLES", FIRST_LOOK) : 4000 };
    (void)printf(
        "%zu runs a kind, seed %llu, up to %zu samples, looks from %d on at every "
        "2 %% more\n\n",
        plan.runs, (unsigned long long)plan.seed, plan.samples, FIRST_LOOK);
    (void)printf(
        "| noise | covers always | textbook always | textbook at the end | width "
        "%% at %zu (textbook) | at %zu | at %zu | narrower than 1 %% | after | "
        "and right |\n|---|---|---|---|---|---|---|---|---|---|\n",
        SHOWN_AT[0], SHOWN_AT[1], SHOWN_AT[2]);
    for (int k = 0; k < NOISE_KINDS; k++) {
        struct tally t = { 0 };
        plan.kind = (enum noise_kind)k;
        make_looks(&plan);
        simulate(&plan, &t);
        good = print_row(&plan, &t) && good;
        (void)fflush(stdout);
    }
    return good ? 0 : 1;
}
