/* The upload thread: takes the oldest spool entries, sends them in one request, and
 * removes what was acknowledged. */
#include "runner/agent_internal.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/log.h"

#include <string.h>

#define BATCH_MAX       64
#define BATCH_MAX_BYTES (4u * 1024 * 1024)
#define RETRY_MS        1000

struct batch {
    char name[BATCH_MAX][WF_SPOOL_NAME];
    size_t count;
    struct wf_buf items; /* JSON array */
};

/* An entry that cannot be read as JSON is set aside; it can only come from outside. */
static bool entry_is_good(struct wf_agent *a,
                          const char *name,
                          const struct wf_buf *text)
{
    struct wf_error err;
    struct wf_json *json = NULL;
    enum wf_status status = wf_json_parse(text->data, text->len, name, &json, &err);
    bool good = status == WF_OK && wf_json_type(json) == WF_JSON_OBJECT;
    if (!good) {
        const char *why = status == WF_OK ? "not an object" : err.text;
        wf_log(WF_LOG_ERROR, "spool entry %s set aside: %s", name, why);
        (void)wf_spool_reject(a->spool, name, why, NULL);
    }
    wf_json_free(json);
    return good;
}

static enum wf_status add_entry(struct wf_agent *a,
                                struct batch *b,
                                const char *name,
                                bool *full,
                                struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status status = wf_spool_read(a->spool, name, &text, err);
    if (status == WF_OK && b->count > 0 && b->items.len + text.len > BATCH_MAX_BYTES) {
        *full = true;
    } else if (status == WF_OK && entry_is_good(a, name, &text)) {
        status = wf_buf_puts(&b->items, b->count == 0 ? "[" : ",", err);
        if (status == WF_OK) {
            status = wf_buf_add(&b->items, text.data, text.len, err);
        }
        if (status == WF_OK) {
            memcpy(b->name[b->count++], name, WF_SPOOL_NAME);
        }
    }
    wf_buf_free(&text);
    return status;
}

static enum wf_status gather(struct wf_agent *a,
                             size_t max,
                             struct batch *b,
                             struct wf_error *err)
{
    char name[BATCH_MAX][WF_SPOOL_NAME];
    size_t n = 0;
    bool full = false;
    enum wf_status status = WF_OK;
    wf_spool_oldest(a->spool, name, max, &n);
    for (size_t i = 0; i < n && !full && status == WF_OK; i++) {
        status = add_entry(a, b, name[i], &full, err);
    }
    if (status == WF_OK && b->count > 0) {
        status = wf_buf_puts(&b->items, "]", err);
    }
    return status;
}

static void settle(struct wf_agent *a, const char *name, const struct wf_json *verdict)
{
    struct wf_error err = { 0 };
    const char *state = "", *task = "?", *detail = "no reason given", *shard = "";
    enum wf_status status = WF_OK;
    (void)wf_json_opt_string(verdict, "status", &state, NULL);
    (void)wf_json_opt_string(verdict, "task", &task, NULL);
    (void)wf_json_opt_string(verdict, "detail", &detail, NULL);
    (void)wf_json_opt_string(verdict, "shard", &shard, NULL);
    if (strcmp(state, "accepted") == 0 || strcmp(state, "duplicate") == 0) {
        status = wf_spool_done(a->spool, name, &err);
    } else if (strcmp(state, "stale") == 0) {
        wf_log(WF_LOG_WARN, "task %s: the lease had ended, its result is dropped",
               task);
        status = wf_spool_done(a->spool, name, &err);
        pthread_mutex_lock(&a->mutex);
        if (shard[0] != '\0') {
            wf_agent_revoke(a, shard);
        }
        pthread_mutex_unlock(&a->mutex);
    } else {
        wf_log(WF_LOG_ERROR, "task %s: result refused (%s), kept under rejected/", task,
               detail);
        status = wf_spool_reject(a->spool, name, detail, &err);
        state = "refused";
    }
    wf_agent_tell(a, &(struct wf_agent_event){ .kind = WF_AGENT_RESULT,
                                               .shard = shard,
                                               .task = task,
                                               .verdict = state });
    if (status != WF_OK) {
        wf_log(WF_LOG_ERROR, "%s", err.text);
    }
}

static enum wf_status settle_all(struct wf_agent *a,
                                 struct batch *b,
                                 const struct wf_json *answer,
                                 struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status status = wf_json_get_array(answer, "results", &list, err);
    if (status == WF_OK && wf_json_count(list) != b->count) {
        status = wf_errorf(err, WF_ENETWORK,
                           "coordinator answered %zu verdicts for %zu results",
                           wf_json_count(list), b->count);
    }
    if (status != WF_OK) {
        return status;
    }
    const struct wf_json *v = wf_json_first(list);
    for (size_t i = 0; i < b->count; i++, v = wf_json_next(v)) {
        settle(a, b->name[i], v);
    }
    return WF_OK;
}

static enum wf_status send_batch(struct wf_agent *a,
                                 struct wf_farm_client *client,
                                 struct batch *b,
                                 struct wf_error *err)
{
    char session[sizeof(a->session.id)];
    struct wf_json *answer = NULL;
    pthread_mutex_lock(&a->mutex);
    memcpy(session, a->session.id, sizeof(session));
    unsigned generation = a->generation;
    pthread_mutex_unlock(&a->mutex);
    enum wf_status status =
        wf_farm_results(client, session, wf_buf_cstr(&b->items), &answer, err);
    if (status == WF_OK) {
        status = settle_all(a, b, answer, err);
    } else if (status == WF_ENOTFOUND) {
        wf_agent_session_lost(a, generation);
    }
    wf_json_free(answer);
    return status;
}

/* Sends one batch; *max shrinks when the server finds it too large. */
static enum wf_status upload_once(struct wf_agent *a,
                                  struct wf_farm_client *client,
                                  size_t *max,
                                  struct wf_error *err)
{
    struct batch b = { .count = 0, .items = WF_BUF_INIT };
    enum wf_status status = gather(a, *max, &b, err);
    if (status == WF_OK && b.count > 0) {
        status = send_batch(a, client, &b, err);
    }
    if (status == WF_ERANGE && b.count > 1) {
        *max = b.count / 2;
        status = WF_OK;
    } else if (status == WF_ERANGE) {
        wf_log(WF_LOG_ERROR, "one result is over the coordinator's limit: %s",
               err->text);
        status = wf_spool_reject(a->spool, b.name[0], err->text, err);
    } else if (status == WF_OK) {
        *max = BATCH_MAX;
    }
    wf_buf_free(&b.items);
    return status;
}

/* Blocks until there is something to send and a session to send it under; false: quit.
 * A quit with entries left is good: they stay in the spool. */
static bool wait_for_work(struct wf_agent *a)
{
    pthread_mutex_lock(&a->mutex);
    while (!a->quit &&
           (a->generation == 0 || a->session_lost || wf_spool_count(a->spool) == 0)) {
        wf_agent_wait(a, RETRY_MS);
    }
    bool quit = a->quit;
    pthread_mutex_unlock(&a->mutex);
    return !quit;
}

void *wf_agent_upload_main(void *agent)
{
    struct wf_agent *a = agent;
    wf_agent_keep_away(a, false);
    struct wf_error err = { 0 };
    struct wf_farm_client *client = NULL;
    struct wf_http_options http = wf_agent_http(a, &a->cancel_http);
    size_t max = BATCH_MAX;
    if (wf_farm_client_create(&http, &client, &err) != WF_OK) {
        wf_agent_fail(a, &err);
        return NULL;
    }
    while (wait_for_work(a)) {
        enum wf_status status = upload_once(a, client, &max, &err);
        pthread_mutex_lock(&a->mutex);
        pthread_cond_broadcast(&a->changed);
        if (status != WF_OK && !a->quit) {
            wf_log(WF_LOG_WARN, "upload: %s (the results stay spooled)", err.text);
            wf_agent_wait(a, RETRY_MS);
        }
        pthread_mutex_unlock(&a->mutex);
        if (status == WF_EREFUSED) {
            wf_agent_fail(a, &err);
        }
    }
    wf_farm_client_destroy(client);
    return NULL;
}

static bool still_spooled(struct wf_agent *a, const char *name)
{
    char oldest[1][WF_SPOOL_NAME];
    size_t n = 0;
    wf_spool_oldest(a->spool, oldest, 1, &n);
    return n > 0 && strcmp(oldest[0], name) <= 0;
}

bool wf_agent_wait_uploaded(struct wf_agent *a, const char *name, int64_t timeout_ms)
{
    int64_t until = wf_monotonic_ns() + timeout_ms * 1000000;
    pthread_mutex_lock(&a->mutex);
    while (still_spooled(a, name) && wf_monotonic_ns() < until && !a->stopping) {
        wf_agent_wait(a, 200);
    }
    pthread_mutex_unlock(&a->mutex);
    return !still_spooled(a, name);
}
