/* A request on its way through the coordinator, and the context that handlers share.
 *
 * Threads: the HTTP library's threads fill the request and send the reply; a worker
 * runs the handler and may block on the database. A request belongs to one thread at a
 * time. */
#ifndef WF_COORDINATOR_API_H
#define WF_COORDINATOR_API_H

#include "coordinator/config.h"
#include "coordinator/db.h"
#include "core/buf.h"
#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wf_token_role {
    WF_ROLE_READER = 1,
    WF_ROLE_SUBMITTER = 2,
    WF_ROLE_ADMIN = 4,
    WF_ROLE_RUNNER = 8
};

enum wf_body_kind {
    WF_NO_BODY,
    WF_JSON_BODY,
    WF_BLOB_BODY
};

struct wf_worker;
struct wf_request;
typedef enum wf_status (*wf_handler_fn)(struct wf_worker *w,
                                        struct wf_request *req,
                                        struct wf_error *err);

struct wf_route {
    const char *name, *method, *path;
    unsigned who; /* roles; 0: nobody is asked */
    enum wf_body_kind body;
    const char *query;
    wf_handler_fn handler;
};

extern const struct wf_route wf_routes[];
extern const size_t wf_route_count;

#define WF_PARAM_MAX 256
#define WF_QUERY_MAX 8

/* 200: *ret is the route, `param` its {..} part ("" when there is none). 404, or 405
 * with the allowed methods in `allow`. HEAD is GET. Pure. */
int wf_route_match(const char *method,
                   const char *path,
                   const struct wf_route **ret,
                   char param[WF_PARAM_MAX],
                   char allow[64]);

enum wf_event {
    WF_EVENT_NONE,
    WF_EVENT_TASKS,
    WF_EVENT_RUN
};

/* How a handler leaves a request that it did not fail. */
enum wf_outcome {
    WF_OUTCOME_REPLY, /* the reply is filled in */
    WF_OUTCOME_PARK   /* run the handler again at the event or the deadline */
};

struct wf_query {
    char name[32], value[128];
};

struct wf_blob_upload; /* blobs.h */

struct wf_request {
    const struct wf_route *route;
    char param[WF_PARAM_MAX];
    struct wf_query query[WF_QUERY_MAX];
    size_t query_count;
    char token[80];  /* bearer token as sent; "" when there was none */
    bool authorised; /* the token was looked up and its role is good */
    bool ask_only;   /* this step looks the token up and no more */
    int64_t token_id;
    unsigned role;
    struct wf_buf body;
    struct wf_blob_upload *upload; /* BLOB_BODY */
    int64_t started_ns;            /* monotonic */

    /* The reply. */
    int status;
    const char *content_type;
    struct wf_buf reply;
    int fd; /* >= 0: sent instead of `reply` */
    uint64_t fd_bytes;
    int retry_after_s;  /* 0: no header */
    char location[128]; /* "" none */
    char allow[64];
    bool page; /* dashboard file: its own security headers and caching */

    /* WF_OUTCOME_PARK */
    enum wf_outcome outcome;
    enum wf_event wait_event;
    int64_t wait_id;
    int64_t wait_until_ns; /* monotonic; 0: not decided yet */
    uint64_t wait_seen;    /* event counter when the handler began */
    int64_t wake_at_ns;
    struct wf_request *next; /* of the queue that holds it */
    void *connection;        /* the server's */
};

struct wf_auth;
struct wf_blobs;
struct wf_gate_worker;
struct wf_ingest;
struct wf_metrics;
struct wf_static;
struct wf_workers;

/* What handlers share; filled before the first request and not changed. */
struct wf_app {
    const struct wf_config *config;
    struct wf_auth *auth;
    struct wf_blobs *blobs;
    struct wf_ingest *ingest;
    struct wf_gate_worker *_Atomic gates; /* NULL until the database is there */
    struct wf_metrics *metrics;
    struct wf_static *pages;
    struct wf_workers *workers;
    void (*complete)(struct wf_request *req); /* sends the reply; any thread */
};

struct wf_worker {
    struct wf_app *app;
    struct wf_db *db;
    /* Set by a handler that has given its request to somebody who completes it: the
     * request must not be touched any more. */
    bool deferred;
};

/* One step of a request on a worker: look the token up, or that and the handler. Ends
 * in a reply, in the park, or deferred. */
void wf_api_step(struct wf_worker *w, struct wf_request *req);
/* Role check with what wf_auth_* found; fills a 401 or 403 problem when it is not good.
 */
bool wf_api_allowed(struct wf_request *req);

/* --- replies --- */
/* Takes `json`; NULL is a lack of memory. */
enum wf_status wf_reply_json(struct wf_request *req,
                             int status,
                             struct wf_json *json,
                             struct wf_error *err);
/* {"<key>": [...]}: a page of the statement's rows by the parameters limit (50, at most
 * 500) and before, each made by `row`. */
typedef enum wf_status (*wf_row_json_fn)(const struct wf_rows *rows,
                                         size_t i,
                                         struct wf_json **ret,
                                         struct wf_error *err);
enum wf_status wf_reply_page(struct wf_worker *w,
                             struct wf_request *req,
                             enum wf_stmt statement,
                             const char *key,
                             wf_row_json_fn row,
                             struct wf_error *err);
/* A problem+json reply. `code` is stable; the text is one line. */
void wf_problem(struct wf_request *req,
                int status,
                const char *code,
                const char *fmt,
                ...) __attribute__((format(printf, 4, 5)));
/* The reply for an error that a handler returned. */
void wf_problem_from_error(struct wf_request *req, const struct wf_error *err);

/* --- reading requests --- */
/* The body, which must be an object with only these members and this "schema" (NULL: it
 * has none). An empty body is {} when `schema` is NULL. Caller frees *ret. */
enum wf_status wf_request_json(struct wf_request *req,
                               const char *schema,
                               const char *const *keys,
                               struct wf_json **ret,
                               struct wf_error *err);
const char *wf_request_query(const struct wf_request *req,
                             const char *name); /* or NULL */
enum wf_status wf_request_query_i64(const struct wf_request *req,
                                    const char *name,
                                    int64_t min,
                                    int64_t max,
                                    int64_t *ret,
                                    struct wf_error *err);
/* "17" as an id; EINVAL otherwise. */
enum wf_status wf_parse_id(const char *text,
                           const char *what,
                           int64_t *ret,
                           struct wf_error *err);
/* A member that holds a decimal id as a string. */
enum wf_status wf_json_get_id(const struct wf_json *obj,
                              const char *key,
                              int64_t *ret,
                              struct wf_error *err);
/* A UUID in its usual form, any case. */
enum wf_status wf_json_get_uuid(const struct wf_json *obj,
                                const char *key,
                                const char **ret,
                                struct wf_error *err);
bool wf_is_uuid(const char *text);

/* Waits of a handler: true when the deadline has not passed; the request is parked. */
bool wf_request_park(struct wf_request *req,
                     enum wf_event event,
                     int64_t id,
                     int64_t wait_ms);

#endif
