/* Spreads the workgroups over host threads.
 *
 * Threads take workgroups in the order of their index. One that seems to wait for
 * another (it has run for long, or sleeps a lot) is put aside with its registers and
 * memory, and the thread takes the next; those put aside get short turns. A fault stops
 * what comes behind its workgroup, not what is before it: so the fault with the lowest
 * index is found whatever the number of threads. */
#include "emulator/launch/launch_internal.h"

#include "core/buf.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    MAX_RESIDENT = 608 /* of a launch, put aside; cooperative ones have no limit */
};

/* What the threads bring together, under the lock. */
struct outcome {
    pthread_mutex_t lock;
    bool faulted;
    struct em_fault fault;
    uint64_t fault_instructions;
    uint64_t workgroups, instructions;
    enum wf_status status; /* of the first thread that failed */
    struct wf_error error;
};

struct worker {
    struct em_plan *plan;
    struct outcome *outcome;
    pthread_t thread;
    struct em_counts counts;
    bool counts_made;
    size_t most; /* workgroups put aside */
    struct em_resident *unused;
    struct em_resident *aside_first, *aside_last;
    size_t aside;
    uint64_t workgroups, instructions;
};

static void put_aside(struct worker *w, struct em_resident *r)
{
    r->next = NULL;
    if (w->aside_last) {
        w->aside_last->next = r;
    } else {
        w->aside_first = r;
    }
    w->aside_last = r;
    w->aside++;
}

static struct em_resident *take_aside(struct worker *w)
{
    struct em_resident *r = w->aside_first;
    if (r) {
        w->aside_first = r->next;
        if (!w->aside_first) {
            w->aside_last = NULL;
        }
        w->aside--;
    }
    return r;
}

static void set_unused(struct worker *w, struct em_resident *r)
{
    r->next = w->unused;
    w->unused = r;
}

static void stop_behind(struct em_plan *plan, uint64_t index)
{
    uint64_t now = atomic_load(&plan->stop);
    while (index < now && !atomic_compare_exchange_weak(&plan->stop, &now, index)) {
    }
}

static void record_fault(struct worker *w, const struct em_resident *r)
{
    struct outcome *o = w->outcome;
    const struct em_fault *f = &r->group.fault;
    (void)pthread_mutex_lock(&o->lock);
    if (!o->faulted || f->workgroup_index < o->fault.workgroup_index) {
        o->faulted = true;
        o->fault = *f;
        o->fault_instructions = em_resident_instructions(r);
    }
    (void)pthread_mutex_unlock(&o->lock);
    stop_behind(w->plan, r->group.index);
}

static void record_failure(struct worker *w,
                           enum wf_status st,
                           const struct wf_error *e)
{
    struct outcome *o = w->outcome;
    (void)pthread_mutex_lock(&o->lock);
    if (o->status == WF_OK) {
        o->status = st;
        o->error = *e;
    }
    (void)pthread_mutex_unlock(&o->lock);
    atomic_store(&w->plan->stop, 0);
    atomic_store(&w->plan->next, w->plan->workgroups);
}

/* Whether there is a workgroup that was not started yet, and which. */
static bool take_new(struct worker *w, uint64_t *ret_index)
{
    struct em_plan *plan = w->plan;
    if (w->aside >= w->most ||
        atomic_load_explicit(&plan->next, memory_order_relaxed) >= plan->workgroups) {
        return false;
    }
    uint64_t index = atomic_fetch_add(&plan->next, 1);
    *ret_index = index;
    return index < plan->workgroups && index <= atomic_load(&plan->stop);
}

/* The workgroup to run next: a new one, or one that was put aside; NULL: none is left.
 */
static struct em_resident *next_resident(struct worker *w,
                                         enum wf_status *ret_status,
                                         struct wf_error *err)
{
    uint64_t index;
    if (!take_new(w, &index)) {
        return take_aside(w);
    }
    struct em_resident *r = w->unused;
    if (r) {
        w->unused = r->next;
    } else {
        struct em_counts *counts = w->counts_made ? &w->counts : NULL;
        *ret_status = em_resident_create(w->plan, counts, &r, err);
        if (*ret_status != WF_OK) {
            return NULL;
        }
    }
    em_resident_start(r, index);
    return r;
}

static void run_resident(struct worker *w, struct em_resident *r)
{
    switch (em_resident_run(r)) {
    case EM_GROUP_PARKED:
        put_aside(w, r);
        return;
    case EM_GROUP_FAULTED:
        record_fault(w, r);
        break;
    case EM_GROUP_DONE:
        w->workgroups++;
        w->instructions += em_resident_instructions(r);
        break;
    case EM_GROUP_UNWANTED:
    default:
        break;
    }
    set_unused(w, r);
}

static void *work(void *ctx)
{
    struct worker *w = ctx;
    struct wf_error error = { .status = WF_OK };
    enum wf_status st = WF_OK;
    struct em_resident *r;
    while ((r = next_resident(w, &st, &error)) != NULL) {
        run_resident(w, r);
    }
    if (st != WF_OK) {
        record_failure(w, st, &error);
    }
    while ((r = take_aside(w)) != NULL) {
        set_unused(w, r);
    }
    while ((r = w->unused) != NULL) {
        w->unused = r->next;
        em_resident_destroy(r);
    }
    return NULL;
}

static enum wf_status prepare(struct worker *w,
                              struct em_plan *plan,
                              struct outcome *o,
                              struct wf_error *err)
{
    w->plan = plan;
    w->outcome = o;
    if (plan->launch->options.count) {
        enum wf_status st = em_counts_init(&w->counts, em_code_count(plan->code), err);
        if (st != WF_OK) {
            return st;
        }
        w->counts_made = true;
    }
    return WF_OK;
}

/* Runs the workers, the first one on the calling thread; returns how many ran. Where
 * the host gives fewer threads, those that there are do all. */
static unsigned run_all(struct worker *worker, unsigned count)
{
    unsigned started = 1;
    while (started < count &&
           pthread_create(&worker[started].thread, NULL, work, &worker[started]) == 0) {
        started++;
    }
    (void)work(&worker[0]);
    for (unsigned i = 1; i < started; i++) {
        (void)pthread_join(worker[i].thread, NULL);
    }
    return started;
}

/* With a fault the numbers are those of its workgroup alone: which others had run by
 * then depends on the threads. */
static void sum_up(struct em_report *ret,
                   const struct worker *worker,
                   unsigned count,
                   const struct outcome *o,
                   const struct em_plan *plan)
{
    ret->faulted = o->faulted;
    ret->fault = o->fault;
    if (o->faulted) {
        ret->workgroups = 1;
        ret->waves = plan->waves;
        ret->instructions = o->fault_instructions;
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        ret->workgroups += worker[i].workgroups;
        ret->instructions += worker[i].instructions;
        if (ret->counted) {
            em_counts_add(&ret->counts, &worker[i].counts);
        }
    }
    ret->waves = ret->workgroups * plan->waves;
}

static enum wf_status run_threads(struct em_plan *plan,
                                  struct em_report *ret,
                                  struct wf_error *err)
{
    unsigned count = plan->ordered ? 1 : plan->launch->options.threads;
    if (count > plan->workgroups) {
        count = (unsigned)plan->workgroups;
    }
    struct outcome o = { .status = WF_OK };
    struct worker *worker = wf_calloc(count, sizeof(*worker));
    if (!worker) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %u threads", count);
    }
    (void)pthread_mutex_init(&o.lock, NULL);
    enum wf_status st = WF_OK;
    for (unsigned i = 0; i < count && st == WF_OK; i++) {
        st = prepare(&worker[i], plan, &o, err);
        worker[i].most =
            plan->launch->cooperative ? SIZE_MAX : MAX_RESIDENT / count + 1;
    }
    if (st != WF_OK) {
        goto out;
    }
    ret->threads = run_all(worker, count);
    if (o.status != WF_OK) {
        st = o.status;
        if (err) {
            *err = o.error;
        }
        goto out;
    }
    sum_up(ret, worker, count, &o, plan);
out:
    for (unsigned i = 0; i < count; i++) {
        if (worker[i].counts_made) {
            em_counts_fini(&worker[i].counts);
        }
    }
    (void)pthread_mutex_destroy(&o.lock);
    free(worker);
    return st;
}

/* Which of two racing workgroups comes second depends on the threads. In the order of
 * one thread it does not, so the launch runs again for its report: what memory holds
 * behind a fault is nobody's. Where that finds nothing, the first report stays. */
static enum wf_status report_race_in_order(struct em_plan *plan,
                                           struct em_report *ret,
                                           struct wf_error *err)
{
    struct em_global_shadow *fresh = em_global_shadow_create();
    struct em_report again = { 0 };
    if (!fresh) {
        return WF_OK;
    }
    em_global_shadow_again(fresh);
    em_global_shadow_destroy(plan->global_shadow);
    plan->global_shadow = fresh;
    atomic_store(&plan->next, 0);
    atomic_store(&plan->stop, UINT64_MAX);
    plan->ordered = true;
    enum wf_status st = run_threads(plan, &again, err);
    if (st == WF_OK && again.faulted) {
        ret->fault = again.fault;
        ret->instructions = again.instructions;
    }
    return st;
}

enum wf_status em_plan_run(struct em_plan *plan,
                           struct em_report *ret,
                           struct wf_error *err)
{
    enum wf_status st = run_threads(plan, ret, err);
    if (st == WF_OK && ret->faulted && ret->fault.kind == EM_FAULT_GLOBAL_RACE) {
        st = report_race_in_order(plan, ret, err);
    }
    return st;
}
