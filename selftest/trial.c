/* Worker processes take trials in turn from a counter in shared memory and write each
 * outcome as one record, shorter than PIPE_BUF, to one pipe: records never mix, and
 * the caller needs no thread. */
#include "selftest/trial.h"

#include "core/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS     ((int64_t)1000000000)
#define MAX_JOBS      256
#define POLL_MS       50
#define MEASURE_NS    (20 * 1000 * 1000) /* of device time: enough to be judged */
#define MEASURE_TIMES 20

struct shared {
    atomic_size_t next;
    volatile int cancel;
};

struct record {
    size_t index;
    struct wf_trial_outcome outcome;
};
_Static_assert(sizeof(struct record) <= PIPE_BUF, "a record is written in one piece");

struct pool {
    const struct wf_trial *trial;
    size_t n;
    struct shared *shared;
    int fd[2];
    pid_t worker[MAX_JOBS];
    int worker_count;
    struct wf_trial_outcome *outcome;
    bool *ended;
    size_t reported;
};

const char *wf_peer_text(enum wf_peer peer)
{
    static const char *const TEXTS[] = {
#define X(name, text) text,
        WF_PEER_LIST(X)
#undef X
    };
    return TEXTS[peer];
}

bool wf_trial_answer_is_void(enum wf_answer answer)
{
    return answer == WF_ANSWER_CANCELLED || answer == WF_ANSWER_LOST ||
           answer == WF_ANSWER_INVALID_CASE || answer == WF_ANSWER_NOT_SUPPORTED ||
           answer == WF_ANSWER_BUILD_FAILED || answer == WF_ANSWER_OUT_OF_MEMORY;
}

/* --- one trial --- */

static void take_peers(const struct wf_json *result, struct wf_trial_outcome *o)
{
    const struct wf_json *peers = wf_json_find(result, "peers");
    uint64_t elements = 0, allclose = 0, flashinfer = 0;
    if (peers == NULL || wf_json_type(peers) != WF_JSON_OBJECT) {
        return;
    }
    if (!wf_json_as_u64(wf_json_find(peers, "elements"), &elements) ||
        !wf_json_as_u64(wf_json_find(peers, "beyond_allclose"), &allclose) ||
        !wf_json_as_u64(wf_json_find(peers, "beyond_flashinfer"), &flashinfer)) {
        return;
    }
    o->peers_known = true;
    o->peer_rejects[WF_PEER_ALLCLOSE] = allclose > 0;
    o->peer_rejects[WF_PEER_FLASHINFER] = flashinfer > 0;
    o->peer_rejects[WF_PEER_FIVE_PERCENT] = (double)allclose > 0.05 * (double)elements;
}

static enum wf_status take_result(const struct wf_json *result,
                                  struct wf_trial_outcome *o,
                                  struct wf_error *err)
{
    const char *answer = "", *time = "", *text = "", *diagnosis = "";
    enum wf_status st = wf_json_get_string(result, "answer", &answer, err);
    if (st == WF_OK) {
        st = wf_json_get_string(result, "time", &time, err);
    }
    if (st == WF_OK) {
        st = wf_json_get_string(result, "answer_text", &text, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_string(result, "diagnosis", &diagnosis, err);
    }
    if (st == WF_OK &&
        (!wf_answer_parse(answer, &o->answer) || !wf_time_parse(time, &o->time))) {
        st = wf_errorf(err, WF_EPARSE, "answer '%.40s', time '%.40s'", answer, time);
    }
    (void)snprintf(o->text, sizeof(o->text), "%s", text);
    (void)snprintf(o->diagnosis, sizeof(o->diagnosis), "%s", diagnosis);
    take_peers(result, o);
    return st;
}

static void run_trial(const struct wf_trial *t,
                      const volatile int *cancel,
                      struct wf_trial_outcome *o)
{
    struct wf_error err = { 0 };
    struct wf_json *result = NULL;
    struct wf_execute_request q = {
        .task_id = "selftest",
        .case_json = t->case_json,
        .case_name = "",
        .pack_folder = t->pack_folder,
        .pack_id = t->pack_id,
        .kernel = t->kernel,
        .device = t->device,
        .dataset_folder = t->dataset_folder,
        .seed_offset = t->seed_offset,
        .threads = 1,
        .kernel_deadline_ns =
            t->kernel_deadline_ns > 0 ? t->kernel_deadline_ns : 20 * SECOND_NS,
        .measure = { .measure = t->measure,
                     .no_checks = t->no_checks,
                     .no_counters = true,
                     .budget_ns = MEASURE_NS,
                     .max_samples = MEASURE_TIMES },
        .cancel = cancel,
    };
    memset(o, 0, sizeof(*o));
    o->status = wf_execute(&q, &result, &err);
    if (o->status == WF_OK) {
        o->status = take_result(result, o, &err);
    }
    if (o->status != WF_OK) {
        (void)snprintf(o->text, sizeof(o->text), "%.599s", err.text);
    }
    wf_json_free(result);
}

/* --- workers --- */

static void work(const struct pool *p)
{
    struct record r;
    while (!p->shared->cancel) {
        r.index = atomic_fetch_add(&p->shared->next, 1);
        if (r.index >= p->n) {
            return;
        }
        run_trial(&p->trial[r.index], &p->shared->cancel, &r.outcome);
        ssize_t written;
        do {
            written = write(p->fd[1], &r, sizeof(r));
        } while (written < 0 && errno == EINTR);
        if (written != (ssize_t)sizeof(r)) {
            return;
        }
    }
}

/* A worker ignores the terminal's interrupt: the caller tells it to stop. */
static void become_worker(const struct pool *p, pid_t parent)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    (void)sigaction(SIGINT, &ignore, NULL);
    (void)sigaction(SIGTERM, &ignore, NULL);
    (void)close(p->fd[0]);
    work(p);
    _exit(0);
}

static enum wf_status start_workers(struct pool *p, int jobs, struct wf_error *err)
{
    const pid_t parent = getpid();
    /* What is buffered would be written by each child too. */
    (void)fflush(NULL);
    for (int i = 0; i < jobs; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            return wf_error_errno(err, errno, "cannot start a worker process");
        }
        if (pid == 0) {
            become_worker(p, parent);
        }
        p->worker[p->worker_count++] = pid;
    }
    return WF_OK;
}

static void end_workers(struct pool *p, bool kill_them)
{
    for (int i = 0; i < p->worker_count; i++) {
        if (kill_them) {
            (void)kill(p->worker[i], SIGKILL);
        }
        while (waitpid(p->worker[i], NULL, 0) < 0 && errno == EINTR) {
        }
    }
    p->worker_count = 0;
}

/* --- the caller's side --- */

static void report_ended(struct pool *p, wf_trial_done_fn done, void *ctx)
{
    for (; p->reported < p->n && p->ended[p->reported]; p->reported++) {
        const struct wf_trial_outcome *o = &p->outcome[p->reported];
        if (p->shared->cancel && o->status == WF_OK &&
            o->answer == WF_ANSWER_CANCELLED) {
            return;
        }
        done(ctx, &p->trial[p->reported], o);
    }
}

/* *ret_end: every worker has closed its end. */
static enum wf_status take_record(struct pool *p, bool *ret_end, struct wf_error *err)
{
    struct record r;
    struct pollfd fd = { .fd = p->fd[0], .events = POLLIN };
    int ready = poll(&fd, 1, POLL_MS);
    if (ready <= 0) {
        return ready < 0 && errno != EINTR ? wf_error_errno(err, errno, "poll") : WF_OK;
    }
    ssize_t n = read(p->fd[0], &r, sizeof(r));
    if (n < 0) {
        return errno == EINTR ? WF_OK : wf_error_errno(err, errno, "read");
    }
    *ret_end = n == 0;
    if (n != 0 && (n != (ssize_t)sizeof(r) || r.index >= p->n)) {
        return wf_errorf(err, WF_EINTERNAL, "a worker sent %zd bytes", n);
    }
    if (n != 0) {
        p->outcome[r.index] = r.outcome;
        p->ended[r.index] = true;
    }
    return WF_OK;
}

static enum wf_status collect(struct pool *p,
                              const volatile int *cancel,
                              wf_trial_done_fn done,
                              void *ctx,
                              struct wf_error *err)
{
    bool end = false;
    enum wf_status st = WF_OK;
    while (st == WF_OK && !end && p->reported < p->n) {
        p->shared->cancel = cancel != NULL && *cancel != 0;
        st = take_record(p, &end, err);
        report_ended(p, done, ctx);
    }
    if (st == WF_OK && p->reported < p->n) {
        st = p->shared->cancel
                 ? wf_errorf(err, WF_ECANCELLED, "interrupted")
                 : wf_errorf(err, WF_EINTERNAL,
                             "a worker process died in trial %zu of %zu or after it",
                             p->reported + 1, p->n);
    }
    return st;
}

static int job_count(int jobs, size_t n)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int most = jobs > 0 ? jobs : (processors > 0 ? (int)processors : 1);
    most = most < MAX_JOBS ? most : MAX_JOBS;
    return (size_t)most < n ? most : (int)n;
}

static enum wf_status open_pool(struct pool *p, struct wf_error *err)
{
    p->outcome = wf_calloc(p->n, sizeof(*p->outcome));
    p->ended = wf_calloc(p->n, sizeof(*p->ended));
    if (p->outcome == NULL || p->ended == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu outcomes", p->n);
    }
    void *memory = mmap(NULL, sizeof(*p->shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return wf_error_errno(err, errno, "mmap");
    }
    p->shared = memory;
    return pipe2(p->fd, O_CLOEXEC) == 0 ? WF_OK : wf_error_errno(err, errno, "pipe");
}

static void close_pool(struct pool *p)
{
    for (int i = 0; i < 2; i++) {
        if (p->fd[i] >= 0) {
            (void)close(p->fd[i]);
        }
    }
    if (p->shared != NULL) {
        (void)munmap(p->shared, sizeof(*p->shared));
    }
    free(p->outcome);
    free(p->ended);
}

enum wf_status wf_trials_run(const struct wf_trial *trial,
                             size_t n,
                             int jobs,
                             const volatile int *cancel,
                             wf_trial_done_fn done,
                             void *ctx,
                             struct wf_error *err)
{
    struct pool p = { .trial = trial, .n = n, .fd = { -1, -1 } };
    if (n == 0) {
        return WF_OK;
    }
    enum wf_status st = open_pool(&p, err);
    if (st == WF_OK) {
        st = start_workers(&p, job_count(jobs, n), err);
    }
    if (st == WF_OK) {
        (void)close(p.fd[1]);
        p.fd[1] = -1;
        st = collect(&p, cancel, done, ctx, err);
    }
    /* One that still writes gets an error instead of waiting for a reader. */
    if (p.fd[0] >= 0) {
        (void)close(p.fd[0]);
        p.fd[0] = -1;
    }
    end_workers(&p, st != WF_OK && st != WF_ECANCELLED);
    close_pool(&p);
    return st;
}
