/* One task of a lease: fetch, execute, spool. */
#include "runner/agent_internal.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/log.h"
#include "core/sha256.h"
#include "runner/agent_fetch.h"
#include "runner/execute.h"
#include "runner/measure_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPOOL_RETRY_MS 1000

/* A task as the lease states it; strings are borrowed from the lease. */
struct leased_task {
    const char *task, *run, *suite, *case_name, *pack, *archive, *kernel;
    const struct wf_json *case_json;
    const struct wf_json *provenance; /* or NULL */
    int64_t repetition, attempt, seed_offset, deadline_ms;
    struct wf_measure_options measure;
};

static enum wf_status read_names(const struct wf_json *json,
                                 struct leased_task *t,
                                 struct wf_error *err)
{
    const struct {
        const char *key;
        const char **ret;
    } names[] = {
        { "task", &t->task },     { "run", &t->run },
        { "suite", &t->suite },   { "case_name", &t->case_name },
        { "pack", &t->pack },     { "archive", &t->archive },
        { "kernel", &t->kernel },
    };
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && status == WF_OK; i++) {
        status = wf_json_get_string(json, names[i].key, names[i].ret, err);
    }
    if (status == WF_OK &&
        (!wf_sha256_is_hex(t->pack) || !wf_sha256_is_hex(t->archive))) {
        status = wf_errorf(err, WF_EPARSE, "lease: pack or archive is not a SHA-256");
    }
    return status;
}

static enum wf_status read_task(const struct wf_json *json,
                                struct leased_task *t,
                                struct wf_error *err)
{
    memset(t, 0, sizeof(*t));
    t->attempt = 1;
    enum wf_status status = read_names(json, t, err);
    if (status == WF_OK) {
        status = wf_json_get_object(json, "case", &t->case_json, err);
    }
    if (status == WF_OK) {
        status = wf_json_opt_i64(json, "repetition", 0, INT32_MAX, &t->repetition, err);
    }
    if (status == WF_OK) {
        status = wf_json_opt_i64(json, "attempt", 1, INT32_MAX, &t->attempt, err);
    }
    if (status == WF_OK) {
        status =
            wf_json_opt_i64(json, "seed_offset", 0, INT64_MAX, &t->seed_offset, err);
    }
    if (status == WF_OK) {
        status =
            wf_json_opt_i64(json, "deadline_ms", 0, 86400000, &t->deadline_ms, err);
    }
    const struct wf_json *p = wf_json_find(json, "provenance");
    t->provenance = p != NULL && wf_json_type(p) == WF_JSON_OBJECT ? p : NULL;
    return status == WF_OK ? wf_measure_options_read(wf_json_find(json, "measure"),
                                                     &t->measure, err)
                           : status;
}

/* The dataset that the case names ("sha256:<hex>" in any string member). */
enum wf_status wf_agent_fetch_datasets(struct wf_farm_client *client,
                                       const char *cache,
                                       const struct wf_json *case_json,
                                       struct wf_error *err)
{
    const struct wf_json *m = wf_json_first(case_json);
    for (; m != NULL; m = wf_json_next(m)) {
        const char *s = wf_json_string(m);
        if (s != NULL && strncmp(s, "sha256:", 7) == 0 && wf_sha256_is_hex(s + 7)) {
            enum wf_status status = wf_fetch_dataset(client, cache, s + 7, err);
            if (status != WF_OK) {
                return status;
            }
        }
    }
    return WF_OK;
}

/* Writes the provenance record beside the pack, once: its name has its hash, as runs
 * may bring different records for equal packs. *ret is NULL when there is none. */
enum wf_status wf_agent_write_provenance(const struct wf_agent *a,
                                         const char *pack_id,
                                         const struct wf_json *record,
                                         char **ret,
                                         struct wf_error *err)
{
    char hash[WF_SHA256_HEX];
    char *path = NULL;
    struct wf_buf text = WF_BUF_INIT;
    *ret = NULL;
    if (record == NULL || wf_json_type(record) != WF_JSON_OBJECT) {
        return WF_OK;
    }
    enum wf_status status = wf_json_write(record, &text, err);
    if (status == WF_OK) {
        wf_sha256_hex(text.data, text.len, hash);
        path = wf_asprintf("%s/packs/%.20s-%.20s.provenance.json",
                           a->options->cache_folder, pack_id, hash);
        status = path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory") : WF_OK;
    }
    if (status == WF_OK && !wf_file_exists(path)) {
        status = wf_file_write_atomic(path, text.data, text.len, err);
    }
    wf_buf_free(&text);
    if (status != WF_OK) {
        free(path);
        return status;
    }
    *ret = path;
    return WF_OK;
}

static enum wf_status execute(struct wf_agent_device *d,
                              const struct leased_task *t,
                              const char *pack_folder,
                              const char *provenance,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    struct wf_buf case_text = WF_BUF_INIT;
    char *datasets = wf_path_join(d->agent->options->cache_folder, "datasets");
    enum wf_status status = datasets == NULL
                                ? wf_errorf(err, WF_ENOMEM, "no memory")
                                : wf_json_write(t->case_json, &case_text, err);
    if (status == WF_OK) {
        struct wf_execute_request r = {
            .task_id = t->task,
            .case_json = wf_buf_cstr(&case_text),
            .case_name = t->case_name,
            .pack_folder = pack_folder,
            .pack_id = t->pack,
            .provenance_file = provenance,
            .kernel = t->kernel,
            .device = d->device,
            .dataset_folder = datasets,
            .seed_offset = (uint64_t)t->seed_offset,
            .repetition = (int)t->repetition,
            .attempt = (int)t->attempt,
            .deadline_ns = t->deadline_ms * 1000000,
            .lock_timeout_ns = d->agent->options->lock_timeout_ms * 1000000,
            .threads = d->agent->options->threads,
            .measure = t->measure,
            .cancel = &d->cancel_task,
        };
        status = wf_execute(&r, ret, err);
    }
    wf_buf_free(&case_text);
    free(datasets);
    return status;
}

/* {"shard","token","task","digest","result"}: what POST /v1/results takes. */
enum wf_status wf_agent_make_entry(const struct wf_json *shard,
                                   const char *task,
                                   const struct wf_json *result,
                                   struct wf_buf *out,
                                   struct wf_error *err)
{
    char digest[WF_SHA256_HEX];
    const char *id = NULL, *token = NULL;
    struct wf_buf canonical = WF_BUF_INIT;
    enum wf_status status = wf_json_get_string(shard, "shard", &id, err);
    if (status == WF_OK) {
        status = wf_json_get_string(shard, "token", &token, err);
    }
    if (status == WF_OK) {
        status = wf_json_write_canonical(result, &canonical, err);
    }
    if (status == WF_OK) {
        wf_sha256_hex(canonical.data, canonical.len, digest);
        status = wf_buf_printf(out, err,
                               "{\"shard\":\"%s\",\"token\":\"%s\",\"task\":\"%s\","
                               "\"digest\":\"%s\",\"result\":%s}",
                               id, token, task, digest, wf_buf_cstr(&canonical));
    }
    wf_buf_free(&canonical);
    return status;
}

/* A full disk must not lose the result: it is held here, and no new work is taken,
 * until the spool takes it or the lease is gone. */
enum wf_status wf_agent_spool_entry(struct wf_agent_device *d,
                                    const struct wf_buf *entry,
                                    char ret_name[WF_SPOOL_NAME],
                                    struct wf_error *err)
{
    struct wf_agent *a = d->agent;
    bool said = false;
    for (;;) {
        enum wf_status status =
            wf_spool_put(a->spool, entry->data, entry->len, ret_name, err);
        if (status == WF_OK) {
            pthread_mutex_lock(&a->mutex);
            pthread_cond_broadcast(&a->changed);
            pthread_mutex_unlock(&a->mutex);
            return WF_OK;
        }
        if (!said) {
            wf_log(WF_LOG_ERROR, "%s; holding the result, taking no new work",
                   err->text);
            said = true;
        }
        pthread_mutex_lock(&a->mutex);
        bool give_up = d->revoked || a->stopping;
        if (!give_up) {
            wf_agent_wait(a, SPOOL_RETRY_MS);
        }
        pthread_mutex_unlock(&a->mutex);
        if (give_up) {
            return status;
        }
    }
}

enum wf_status wf_agent_run_task(struct wf_agent_device *d,
                                 struct wf_farm_client *client,
                                 const struct wf_json *shard,
                                 const struct wf_json *task,
                                 char ret_name[WF_SPOOL_NAME],
                                 struct wf_error *err)
{
    struct leased_task t;
    char *folder = NULL, *provenance = NULL;
    struct wf_json *result = NULL;
    struct wf_buf entry = WF_BUF_INIT;
    const char *cache = d->agent->options->cache_folder;
    enum wf_status status = read_task(task, &t, err);
    if (status == WF_OK) {
        status = wf_fetch_pack(client, cache, t.pack, t.archive, &folder, err);
    }
    if (status == WF_OK) {
        status = wf_agent_fetch_datasets(client, cache, t.case_json, err);
    }
    if (status == WF_OK) {
        status =
            wf_agent_write_provenance(d->agent, t.pack, t.provenance, &provenance, err);
    }
    if (status == WF_OK) {
        status = execute(d, &t, folder, provenance, &result, err);
    }
    if (status == WF_OK && d->cancel_task) {
        status = wf_errorf(err, WF_ECANCELLED, "task %s was stopped", t.task);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(result, "suite", t.suite, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(result, "run", t.run, err);
    }
    if (status == WF_OK) {
        status = wf_agent_make_entry(shard, t.task, result, &entry, err);
    }
    if (status == WF_OK) {
        status = wf_agent_spool_entry(d, &entry, ret_name, err);
    }
    wf_buf_free(&entry);
    wf_json_free(result);
    free(provenance);
    free(folder);
    return status;
}
