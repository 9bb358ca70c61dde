#include "noise.h"

#include "core/rng.h"
#include "core/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define LAW_DRAWS ((size_t)1 << 18)
#define RAMP_GRID 64

struct noise {
    const char *name;
    double jitter, drift, phi, mode, share, dwell, ramp, outlier, size, slot, layout;
};

static const struct noise KINDS[] = {
#define X(name, ...) { #name, __VA_ARGS__ },
    NOISE_LIST(X)
#undef X
};

const char *noise_name(enum noise_kind kind)
{
    return KINDS[kind].name;
}

/* One stream of numbers a run. */
struct draw {
    uint64_t seed, stream, next;
};

static double uniform(struct draw *d)
{
    return wf_rng_uniform(d->seed, d->stream, d->next++);
}

static double normal(struct draw *d)
{
    return wf_rng_normal(d->seed, d->stream, 2 * d->next++);
}

static double exponential(struct draw *d, double mean)
{
    return -mean * log1p(-uniform(d));
}

struct slot {
    double drift;
    bool slow;
};

static void first_slot(const struct noise *k, struct draw *d, struct slot *s)
{
    s->drift = normal(d);
    s->slow = uniform(d) < k->share;
}

static void next_slot(const struct noise *k, struct draw *d, struct slot *s)
{
    const double leave = 1 / k->dwell;
    const double enter = leave * k->share / (1 - k->share);
    const double u = uniform(d);
    s->drift = k->phi * s->drift + sqrt(1 - k->phi * k->phi) * normal(d);
    s->slow = s->slow ? u >= leave : u < enter;
}

static double slot_effect(const struct noise *k, struct draw *d, const struct slot *s)
{
    double v = k->drift * s->drift + (s->slow ? k->mode : 0);
    if (k->slot > 0 && uniform(d) < k->slot) {
        v += exponential(d, k->size);
    }
    return v;
}

static double launch_effect(const struct noise *k, struct draw *d)
{
    double v = k->jitter * normal(d);
    if (uniform(d) < k->outlier) {
        v += exponential(d, k->size);
    }
    return v;
}

double noise_fill(enum noise_kind kind,
                  uint64_t seed,
                  uint64_t run,
                  double *log_ns,
                  size_t n)
{
    const struct noise *k = &KINDS[kind];
    struct draw d = { seed, run * NOISE_KINDS + kind, 0 };
    struct slot s;
    const double layout = k->layout * normal(&d);
    double effect = 0;
    first_slot(k, &d, &s);
    for (size_t i = 0; i < n; i++) {
        if (i % NOISE_SLOT == 0) {
            if (i > 0) {
                next_slot(k, &d, &s);
            }
            effect = slot_effect(k, &d, &s);
        }
        log_ns[i] = layout + effect + launch_effect(k, &d) +
                    k->ramp * (double)i / (double)(n > 1 ? n - 1 : 1);
    }
    return layout;
}

/* --- sessions --- */

/* A stream of draws, made in bulk: one at a time costs as much as FLOW. */
#define FLOW 128

struct flow {
    uint64_t seed, stream, made;
    bool normal; /* else uniform */
    size_t left;
    double value[FLOW];
};

static double take(struct flow *f)
{
    if (f->left == 0) {
        if (f->normal) {
            wf_rng_fill_normal(f->seed, f->stream, f->made, f->value, FLOW);
        } else {
            wf_rng_fill_uniform(f->seed, f->stream, f->made, f->value, FLOW);
        }
        f->made += FLOW;
        f->left = FLOW;
    }
    return f->value[FLOW - f->left--];
}

/* Normals and uniforms have streams of their own, so that no two draws share a word. */
struct session {
    const struct noise *k;
    struct flow normals, uniforms;
    struct draw outliers; /* sizes: few */
    double layout[2];
    double ramp_from, ramp_step;
};

static void step_path(struct session *s, struct noise_path *p)
{
    const struct noise *k = s->k;
    const double leave = 1 / k->dwell;
    const double enter = leave * k->share / (1 - k->share);
    const double u = take(&s->uniforms);
    const double e = take(&s->normals);
    if (!p->begun) {
        p->begun = true;
        p->slow = u < k->share;
        p->drift = e;
    } else {
        p->slow = p->slow ? u >= leave : u < enter;
        p->drift = k->phi * p->drift + sqrt(1 - k->phi * k->phi) * e;
    }
}

static void begin_flow(struct flow *f, const struct noise_session *in, bool normal)
{
    f->seed = in->seed;
    f->stream = 3 * in->run + normal;
    f->made = 0;
    f->normal = normal;
    f->left = 0;
}

static void begin_session(const struct noise_session *in, struct session *s)
{
    const struct noise *k = &KINDS[in->kind];
    const size_t length = in->ramp_slots > in->slots ? in->ramp_slots : in->slots;
    const double sd = in->layout < 0 ? k->layout : in->layout;
    s->k = k;
    begin_flow(&s->normals, in, true);
    begin_flow(&s->uniforms, in, false);
    s->outliers = (struct draw){ in->seed, 3 * in->run + 2, 0 };
    s->layout[0] = sd * take(&s->normals);
    s->layout[1] = sd * take(&s->normals);
    s->ramp_step = length > 1 ? k->ramp / (double)(length - 1) : 0;
    const double place = take(&s->uniforms);
    s->ramp_from = in->path != NULL ? s->ramp_step * (double)in->path->slots
                                    : k->ramp * place * (double)(length - in->slots) /
                                          (double)length;
}

static double outlier(struct session *s, double chance)
{
    return take(&s->uniforms) < chance ? exponential(&s->outliers, s->k->size) : 0;
}

void noise_session(const struct noise_session *s,
                   const unsigned char *arm,
                   double *ret_log_ns)
{
    struct noise_path own = { .begun = false };
    struct noise_path *path = s->path != NULL ? s->path : &own;
    struct session n;
    begin_session(s, &n);
    for (size_t i = 0; i < s->slots; i++) {
        double *x = ret_log_ns + i * NOISE_SLOT;
        step_path(&n, path);
        const double base = n.layout[arm[i]] + (arm[i] != 0 ? s->effect : 0) +
                            n.k->drift * path->drift + (path->slow ? n.k->mode : 0) +
                            n.ramp_from + n.ramp_step * (double)i +
                            outlier(&n, n.k->slot);
        for (int l = 0; l < NOISE_SLOT; l++) {
            x[l] = base + n.k->jitter * take(&n.normals) + outlier(&n, n.k->outlier);
        }
    }
    path->slots += s->slots;
}

double noise_slot_value(const double log_ns[NOISE_SLOT])
{
    double least = log_ns[0];
    double most = log_ns[0];
    double sum = 0;
    for (int i = 0; i < NOISE_SLOT; i++) {
        least = log_ns[i] < least ? log_ns[i] : least;
        most = log_ns[i] > most ? log_ns[i] : most;
        sum += log_ns[i];
    }
    return (sum - least - most) / (NOISE_SLOT - 2);
}

double noise_layout(enum noise_kind kind)
{
    return KINDS[kind].layout;
}

#define REGISTRY_BLOCKS 4000
#define REGISTRY_CUT    0.03
#define SESSION_SLOTS   160

double noise_slot_sd(enum noise_kind kind)
{
    static const unsigned char arm[4];
    double sum = 0;
    for (uint64_t run = 0; run < REGISTRY_BLOCKS; run++) {
        double x[4 * NOISE_SLOT], y[4], mean = 0;
        noise_session(&(struct noise_session){ .kind = kind,
                                               .slots = 4,
                                               .ramp_slots = SESSION_SLOTS,
                                               .seed = 1,
                                               .run = run },
                      arm, x);
        for (int i = 0; i < 4; i++) {
            y[i] = noise_slot_value(x + i * NOISE_SLOT);
            mean += y[i] / 4;
        }
        for (int i = 0; i < 4; i++) {
            const double r = fmin(fmax(y[i] - mean, -REGISTRY_CUT), REGISTRY_CUT);
            sum += r * r;
        }
    }
    return sqrt(sum / (REGISTRY_BLOCKS * 3));
}

/* --- the law --- */

struct noise_law {
    double ramp;
    double *sorted;
};

struct noise_law *noise_law_create(enum noise_kind kind)
{
    const struct noise *k = &KINDS[kind];
    struct noise_law *law = malloc(sizeof *law);
    struct draw d = { 1, UINT64_MAX - (uint64_t)kind, 0 };
    if (law == NULL || (law->sorted = malloc(LAW_DRAWS * sizeof(double))) == NULL) {
        abort();
    }
    law->ramp = k->ramp;
    for (size_t i = 0; i < LAW_DRAWS; i++) {
        struct slot s;
        first_slot(k, &d, &s);
        law->sorted[i] = slot_effect(k, &d, &s) + launch_effect(k, &d);
    }
    wf_sort_doubles(law->sorted, LAW_DRAWS);
    return law;
}

void noise_law_free(struct noise_law *law)
{
    if (law != NULL) {
        free(law->sorted);
        free(law);
    }
}

/* Share of the draws at or below x. */
static double share_below(const struct noise_law *law, double x)
{
    size_t lo = 0;
    size_t hi = LAW_DRAWS;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (law->sorted[mid] <= x) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return (double)lo / (double)LAW_DRAWS;
}

/* The ramp spreads the first n samples evenly over [0, height]. */
static double average_share(const struct noise_law *law, double x, double height)
{
    double sum = 0;
    for (int i = 0; i < RAMP_GRID; i++) {
        sum += share_below(law, x - height * (i + 0.5) / RAMP_GRID);
    }
    return sum / RAMP_GRID;
}

double noise_law_median(const struct noise_law *law, size_t n, size_t of)
{
    const double height =
        of > 1 && n > 0 ? law->ramp * (double)(n - 1) / (double)(of - 1) : 0;
    double lo = law->sorted[0];
    double hi = law->sorted[LAW_DRAWS - 1] + height;
    if (!(height > 0)) {
        return law->sorted[LAW_DRAWS / 2];
    }
    for (int i = 0; i < 60; i++) {
        const double mid = (lo + hi) / 2;
        if (average_share(law, mid, height) < 0.5) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return (lo + hi) / 2;
}
