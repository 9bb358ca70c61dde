/* Prometheus text 0.0.4. Counters are atomics; gauges come from one statement when
 * somebody asks. Labels are few: route, status, state. */
#include "coordinator/metrics.h"

#include "coordinator/workers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ROUTES_MAX 64u

static const int statuses[] = { 200, 201, 400, 401, 403, 404, 405, 409,
                                410, 413, 422, 429, 500, 503, 507, 0 /* others */ };
#define STATUS_COUNT (sizeof statuses / sizeof statuses[0])

struct wf_metrics {
    atomic_uint_fast64_t counter[WF_COUNTER_COUNT];
    atomic_uint_fast64_t request[ROUTES_MAX][STATUS_COUNT]; /* the last row: no route */
    atomic_uint_fast64_t busy_us[ROUTES_MAX];
};

struct description {
    const char *metric, *help;
};

static const struct description counters[WF_COUNTER_COUNT] = {
#define X(name, metric, help) { metric, help },
    WF_COUNTER_LIST(X)
#undef X
};

enum wf_status wf_metrics_create(struct wf_metrics **ret, struct wf_error *err)
{
    struct wf_metrics *m = wf_calloc(1, sizeof *m);
    if (!m || wf_route_count >= ROUTES_MAX) {
        free(m);
        return wf_errorf(err, m ? WF_EINTERNAL : WF_ENOMEM, "no room for metrics");
    }
    *ret = m;
    return WF_OK;
}

void wf_metrics_destroy(struct wf_metrics *m)
{
    free(m);
}

void wf_metrics_add(struct wf_metrics *m, enum wf_counter c, uint64_t n)
{
    atomic_fetch_add_explicit(&m->counter[c], n, memory_order_relaxed);
}

void wf_metrics_request(struct wf_metrics *m,
                        const struct wf_route *route,
                        int status,
                        int64_t duration_ns)
{
    size_t r = route ? (size_t)(route - wf_routes) : ROUTES_MAX - 1;
    size_t s = 0;
    while (s + 1 < STATUS_COUNT && statuses[s] != status) {
        s++;
    }
    atomic_fetch_add_explicit(&m->request[r][s], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->busy_us[r], (uint64_t)duration_ns / 1000,
                              memory_order_relaxed);
}

static enum wf_status head(struct wf_buf *out,
                           const char *name,
                           const char *type,
                           const char *help,
                           struct wf_error *err)
{
    return wf_buf_printf(out, err, "# HELP wavefarm_%s %s\n# TYPE wavefarm_%s %s\n",
                         name, help, name, type);
}

static enum wf_status gauge(struct wf_buf *out,
                            const char *name,
                            const char *help,
                            double v,
                            struct wf_error *err)
{
    enum wf_status status = head(out, name, "gauge", help, err);
    return status == WF_OK ? wf_buf_printf(out, err, "wavefarm_%s %.17g\n", name, v)
                           : status;
}

static enum wf_status write_counters(struct wf_metrics *m,
                                     struct wf_buf *out,
                                     struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; status == WF_OK && i < WF_COUNTER_COUNT; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s_total", counters[i].metric);
        status = head(out, name, "counter", counters[i].help, err);
        if (status == WF_OK) {
            status = wf_buf_printf(out, err, "wavefarm_%s %llu\n", name,
                                   (unsigned long long)atomic_load(&m->counter[i]));
        }
    }
    return status;
}

static enum wf_status write_requests(struct wf_metrics *m,
                                     struct wf_buf *out,
                                     struct wf_error *err)
{
    enum wf_status status = head(out, "http_requests_total", "counter",
                                 "requests by route and status", err);
    for (size_t r = 0; r < ROUTES_MAX; r++) {
        const char *route = r < wf_route_count ? wf_routes[r].name : "none";
        for (size_t s = 0; status == WF_OK && s < STATUS_COUNT; s++) {
            uint64_t n = atomic_load(&m->request[r][s]);
            if (n > 0) {
                status = wf_buf_printf(
                    out, err,
                    "wavefarm_http_requests_total{route=\"%s\",status=\"%d\"} %llu\n",
                    route, statuses[s], (unsigned long long)n);
            }
        }
    }
    if (status == WF_OK) {
        status = head(out, "http_request_seconds_total", "counter",
                      "time of requests, waiting included", err);
    }
    for (size_t r = 0; status == WF_OK && r < wf_route_count; r++) {
        uint64_t us = atomic_load(&m->busy_us[r]);
        if (us > 0) {
            status = wf_buf_printf(
                out, err, "wavefarm_http_request_seconds_total{route=\"%s\"} %.6f\n",
                wf_routes[r].name, (double)us / 1e6);
        }
    }
    return status;
}

struct gauge_column {
    const char *name, *help;
};

/* In the order of the columns of WF_STMT_METRICS, from the third. */
static const struct gauge_column gauge_columns[] = {
    { "shards_ready", "shards that wait for a device" },
    { "shards_leased", "shards that are with a runner" },
    { "queue_age_seconds", "age of the oldest shard that waits" },
    { "sessions", "runner sessions that are alive" },
    { "runs_open", "runs that are not finished" },
    { "database_xmin_age", "transactions that the oldest snapshot holds back" },
    { "shard_dead_rows", "dead rows of the queue's table" },
};

static enum wf_status write_gauges(struct wf_worker *w,
                                   struct wf_buf *out,
                                   struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    struct wf_rows *answers = NULL;
    enum wf_status status =
        wf_db_one(w->db, WF_STMT_METRICS, NULL, "no row", &rows, err);
    if (status == WF_OK) {
        status = wf_db_run(w->db, WF_STMT_METRICS_ANSWERS, NULL, &answers, err);
    }
    if (status == WF_OK) {
        status = head(out, "tasks", "gauge", "tasks by state", err);
    }
    if (status == WF_OK) {
        status = wf_buf_printf(out, err,
                               "wavefarm_tasks{state=\"open\"} %s\n"
                               "wavefarm_tasks{state=\"leased\"} %s\n",
                               wf_rows_text(rows, 0, 0), wf_rows_text(rows, 0, 1));
    }
    for (size_t i = 0; status == WF_OK && i < wf_rows_count(answers); i++) {
        status =
            wf_buf_printf(out, err, "wavefarm_tasks{state=\"%s\"} %s\n",
                          wf_rows_text(answers, i, 0), wf_rows_text(answers, i, 1));
    }
    for (size_t i = 0;
         status == WF_OK && i < sizeof gauge_columns / sizeof gauge_columns[0]; i++) {
        status = gauge(out, gauge_columns[i].name, gauge_columns[i].help,
                       wf_rows_f64(rows, 0, (int)i + 2), err);
    }
    wf_rows_free(rows);
    wf_rows_free(answers);
    return status;
}

static enum wf_status write_process(struct wf_worker *w,
                                    struct wf_buf *out,
                                    struct wf_error *err)
{
    struct wf_workers_load load = wf_workers_load(w->app->workers);
    enum wf_status status =
        gauge(out, "requests_queued", "requests that wait for a worker",
              (double)load.queued, err);
    if (status == WF_OK) {
        status = gauge(out, "requests_parked", "long polls that wait",
                       (double)load.parked, err);
    }
    if (status == WF_OK) {
        status = head(out, "database_errors_total", "counter", "errors of the database",
                      err);
    }
    if (status == WF_OK) {
        status = wf_buf_printf(out, err, "wavefarm_database_errors_total %llu\n",
                               (unsigned long long)wf_db_error_total());
    }
    if (status == WF_OK) {
        status = head(out, "database_retries_total", "counter",
                      "transactions run again", err);
    }
    if (status == WF_OK) {
        status = wf_buf_printf(out, err, "wavefarm_database_retries_total %llu\n",
                               (unsigned long long)wf_db_retry_total());
    }
    return status;
}

enum wf_status wf_metrics_write(struct wf_metrics *m,
                                struct wf_worker *w,
                                struct wf_buf *out,
                                struct wf_error *err)
{
    struct wf_error away = { 0 };
    struct wf_buf gauges = WF_BUF_INIT;
    enum wf_status status =
        wf_buf_puts(out,
                    "# HELP wavefarm_build_info version of this program\n"
                    "# TYPE wavefarm_build_info gauge\n"
                    "wavefarm_build_info{version=\"" WF_VERSION "\"} 1\n",
                    err);
    status = status == WF_OK ? write_counters(m, out, err) : status;
    status = status == WF_OK ? write_requests(m, out, err) : status;
    status = status == WF_OK ? write_process(w, out, err) : status;
    bool up = status == WF_OK && write_gauges(w, &gauges, &away) == WF_OK;
    status = status == WF_OK
                 ? gauge(out, "database_up", "1: the database answers", up ? 1 : 0, err)
                 : status;
    if (up && status == WF_OK) {
        status = wf_buf_puts(out, wf_buf_cstr(&gauges), err);
    }
    wf_buf_free(&gauges);
    return status;
}
