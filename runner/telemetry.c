/* The ring, the helper's loop and the lookups. One writer: an entry is filled before
 * `written` says so, and a reader keeps away from the entry that is filled next. */
#include "runner/telemetry.h"

#include "core/buf.h"
#include "core/clock.h"
#include "runner/telemetry_source.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING_ENTRIES  4096u /* 40 s at 10 ms */
#define FIRST_FREE_FD 3u
#define KILL_ROUNDS   50 /* of 2 ms */

struct ring {
    _Atomic uint64_t written;
    _Atomic int found; /* 0: not known yet, 1: there is a source, -1: there is none */
    _Atomic uint32_t errors_wanted, errors_done;
    struct telemetry_errors errors;
    char text[TELEMETRY_TEXT];
    struct telemetry_reading entry[RING_ENTRIES];
};

struct telemetry {
    pid_t helper; /* 0: gone */
    int64_t start_ns;
    struct ring *ring;
};

struct source_kind {
    const char *runtime;
    bool (*open)(struct telemetry_source *s,
                 const struct telemetry_options *o,
                 char *text);
    void (*read)(struct telemetry_source *s, struct telemetry_reading *ret);
    void (*errors)(struct telemetry_source *s, struct telemetry_errors *ret);
};

static const struct source_kind kinds[] = {
    { "amd", telemetry_sysfs_open, telemetry_sysfs_read, telemetry_sysfs_errors },
    { "cuda", telemetry_nvml_open, telemetry_nvml_read, telemetry_nvml_errors },
};

static const struct source_kind *find_kind(const char *runtime)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].runtime, runtime) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* --- in the helper --- */

static void write_reading(struct ring *ring,
                          const struct source_kind *kind,
                          struct telemetry_source *s)
{
    struct telemetry_reading r = { .clock_mhz = (double)NAN,
                                   .memory_clock_mhz = (double)NAN,
                                   .power_w = (double)NAN,
                                   .temperature_c = (double)NAN };
    int64_t before_ns = wf_monotonic_ns();
    kind->read(s, &r);
    r.at_ns = before_ns + (wf_monotonic_ns() - before_ns) / 2;
    uint64_t n = atomic_load_explicit(&ring->written, memory_order_relaxed);
    ring->entry[n % RING_ENTRIES] = r;
    atomic_store_explicit(&ring->written, n + 1, memory_order_release);
}

static void answer_errors(struct ring *ring,
                          const struct source_kind *kind,
                          struct telemetry_source *s)
{
    uint32_t wanted = atomic_load(&ring->errors_wanted);
    if (wanted != atomic_load(&ring->errors_done)) {
        kind->errors(s, &ring->errors);
        atomic_store(&ring->errors_done, wanted);
    }
}

/* Never returns. */
static void serve(struct ring *ring,
                  const struct source_kind *kind,
                  const struct telemetry_options *options,
                  pid_t parent)
{
    struct telemetry_source source = { 0 };
    const struct wf_clock *clock = wf_clock_system();
    int64_t period_ns = options->period_ns ? options->period_ns : TELEMETRY_PERIOD_NS;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, "wf-telemetry");
    (void)close_range(FIRST_FREE_FD, ~0u, 0); /* neither the subject nor the caller */
    bool found = kind->open(&source, options, ring->text);
    atomic_store(&ring->found, found ? 1 : -1);
    while (found && getppid() == parent) {
        write_reading(ring, kind, &source);
        answer_errors(ring, kind, &source);
        clock->sleep_ns(clock->ctx, period_ns);
    }
    _exit(0);
}

/* --- starting and ending --- */

enum wf_status telemetry_start(const struct telemetry_options *options,
                               struct telemetry **ret,
                               struct wf_error *err)
{
    const struct source_kind *kind = find_kind(options->runtime);
    pid_t parent = getpid();
    *ret = NULL;
    if (kind == NULL) {
        return WF_OK;
    }
    struct telemetry *t = wf_calloc(1, sizeof(*t));
    void *ring = mmap(NULL, sizeof(struct ring), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t == NULL || ring == MAP_FAILED) {
        if (ring != MAP_FAILED) {
            (void)munmap(ring, sizeof(struct ring));
        }
        free(t);
        return wf_errorf(err, WF_ENOMEM, "no memory for telemetry");
    }
    t->ring = ring;
    t->start_ns = wf_monotonic_ns();
    t->helper = fork();
    if (t->helper == 0) {
        serve(t->ring, kind, options, parent);
    }
    if (t->helper < 0) {
        int number = errno;
        t->helper = 0;
        telemetry_stop(t);
        return wf_error_errno(err, number, "telemetry: fork");
    }
    *ret = t;
    return WF_OK;
}

void telemetry_stop(struct telemetry *t)
{
    if (t == NULL) {
        return;
    }
    if (t->helper > 0) {
        (void)kill(t->helper, SIGKILL);
        for (int i = 0; i < KILL_ROUNDS && waitpid(t->helper, NULL, WNOHANG) == 0;
             i++) {
            (void)poll(NULL, 0, 2);
        }
    }
    (void)munmap(t->ring, sizeof(*t->ring));
    free(t);
}

/* --- looking --- */

struct means {
    double sum[4];
    size_t count[4];
};

static void add_figures(struct means *m, const struct telemetry_reading *r)
{
    const double v[4] = { r->clock_mhz, r->memory_clock_mhz, r->power_w,
                          r->temperature_c };
    for (size_t i = 0; i < 4; i++) {
        if (isfinite(v[i])) {
            m->sum[i] += v[i];
            m->count[i]++;
        }
    }
}

static double mean_of(const struct means *m, size_t i)
{
    return m->count[i] ? m->sum[i] / (double)m->count[i] : (double)NAN;
}

static int64_t distance(int64_t at_ns, int64_t from_ns, int64_t to_ns)
{
    if (at_ns < from_ns) {
        return from_ns - at_ns;
    }
    return at_ns > to_ns ? at_ns - to_ns : 0;
}

void telemetry_between(const struct telemetry *t,
                       int64_t from_ns,
                       int64_t to_ns,
                       struct telemetry_figures *ret)
{
    struct means m = { 0 };
    struct telemetry_reading nearest = { 0 };
    int64_t best_ns = TELEMETRY_NEAR_NS + 1;
    *ret = (struct telemetry_figures){ (double)NAN, (double)NAN, (double)NAN,
                                       (double)NAN, 0,           0 };
    uint64_t end =
        t ? atomic_load_explicit(&t->ring->written, memory_order_acquire) : 0;
    uint64_t oldest = end > RING_ENTRIES - 2 ? end - (RING_ENTRIES - 2) : 0;
    for (uint64_t i = end; i > oldest; i--) {
        struct telemetry_reading r = t->ring->entry[(i - 1) % RING_ENTRIES];
        int64_t away_ns = distance(r.at_ns, from_ns, to_ns);
        if (away_ns == 0) {
            add_figures(&m, &r);
            ret->reasons |= r.reasons;
            ret->readings++;
        } else if (away_ns < best_ns) {
            best_ns = away_ns;
            nearest = r;
        }
        if (r.at_ns < from_ns - TELEMETRY_NEAR_NS) {
            break;
        }
    }
    if (ret->readings == 0 && best_ns <= TELEMETRY_NEAR_NS) {
        add_figures(&m, &nearest);
        ret->reasons = nearest.reasons;
    }
    ret->clock_mhz = mean_of(&m, 0);
    ret->memory_clock_mhz = mean_of(&m, 1);
    ret->power_w = mean_of(&m, 2);
    ret->temperature_c = mean_of(&m, 3);
}

void telemetry_wait_first(const struct telemetry *t, int64_t limit_ns)
{
    int64_t until_ns = wf_monotonic_ns() + limit_ns;
    while (t != NULL && atomic_load(&t->ring->written) == 0 &&
           atomic_load(&t->ring->found) >= 0 && wf_monotonic_ns() < until_ns) {
        (void)poll(NULL, 0, 1);
    }
}

void telemetry_read_errors(struct telemetry *t,
                           int64_t limit_ns,
                           struct telemetry_errors *ret)
{
    *ret = (struct telemetry_errors){ 0 };
    if (telemetry_state(t) != TELEMETRY_RUNNING) {
        return;
    }
    int64_t until_ns = wf_monotonic_ns() + limit_ns;
    uint32_t wanted = atomic_fetch_add(&t->ring->errors_wanted, 1) + 1;
    while (atomic_load(&t->ring->errors_done) != wanted) {
        if (wf_monotonic_ns() >= until_ns) {
            return;
        }
        (void)poll(NULL, 0, 1);
    }
    *ret = t->ring->errors;
}

enum telemetry_state telemetry_state(struct telemetry *t)
{
    if (t == NULL) {
        return TELEMETRY_OFF;
    }
    if (atomic_load(&t->ring->found) < 0) {
        return TELEMETRY_ABSENT;
    }
    if (t->helper > 0 && waitpid(t->helper, NULL, WNOHANG) == t->helper) {
        t->helper = 0;
    }
    if (t->helper == 0) {
        return TELEMETRY_ENDED;
    }
    uint64_t n = atomic_load_explicit(&t->ring->written, memory_order_acquire);
    int64_t last_ns = n ? t->ring->entry[(n - 1) % RING_ENTRIES].at_ns : t->start_ns;
    if (wf_monotonic_ns() - last_ns > TELEMETRY_SILENT_NS) {
        return TELEMETRY_HUNG;
    }
    return n ? TELEMETRY_RUNNING : TELEMETRY_STARTING;
}

const char *telemetry_state_name(enum telemetry_state state)
{
    static const char *const names[] = { "off",    "starting", "running",
                                         "absent", "hung",     "ended" };
    return names[state];
}

const char *telemetry_why(const struct telemetry *t)
{
    if (t == NULL || atomic_load(&t->ring->found) == 0) {
        return "";
    }
    return t->ring->text;
}
