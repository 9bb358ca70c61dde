/* One round of a gate, as a shard: all its pairs in one process, each pair's record
 * spooled as that pair's task's result as soon as it is there; then the round's facts,
 * which are the result of the task without a pair. A round that is cut short gives back
 * the pairs that have no record; what was spooled stays. */
#include "runner/agent_internal.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/sha256.h"
#include "runner/agent_fetch.h"
#include "runner/measure_options.h"
#include "runner/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PACKS 3

struct fetched_pack {
    const char *role, *id;
    char *folder, *provenance;
};

struct gate_round {
    struct wf_agent_device *d;
    const struct wf_json *shard;
    const char *gate;
    int64_t round, group, seed_offset, deadline_ms;
    struct wf_measure_options measure;
    struct fetched_pack pack[MAX_PACKS];
    size_t pack_count;
    struct wf_pair *pair;
    const char **task; /* beside pair[] */
    char **case_text;
    size_t pair_count;
    const char *round_task; /* or NULL: another shard has it */
    struct wf_agent_round *out;
    bool drained;
};

/* --- reading the lease --- */

static enum wf_status read_head(struct gate_round *g,
                                const struct wf_json *facts,
                                struct wf_error *err)
{
    enum wf_status status = wf_json_get_string(facts, "gate", &g->gate, err);
    if (status == WF_OK) {
        status = wf_json_get_i64(facts, "round", 0, INT32_MAX, &g->round, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_i64(facts, "group", 0, INT32_MAX, &g->group, err);
    }
    if (status == WF_OK) {
        status =
            wf_json_opt_i64(facts, "seed_offset", 0, INT64_MAX, &g->seed_offset, err);
    }
    if (status == WF_OK) {
        status =
            wf_json_opt_i64(facts, "deadline_ms", 0, 86400000, &g->deadline_ms, err);
    }
    return status == WF_OK ? wf_measure_options_read(wf_json_find(facts, "measure"),
                                                     &g->measure, err)
                           : status;
}

static enum wf_status fetch_pack(struct gate_round *g,
                                 struct wf_farm_client *client,
                                 const struct wf_json *pack,
                                 struct wf_error *err)
{
    const struct wf_agent *a = g->d->agent;
    const char *archive = NULL;
    if (g->pack_count == MAX_PACKS) {
        return wf_errorf(err, WF_EPARSE, "lease: more than %d packs", MAX_PACKS);
    }
    struct fetched_pack *p = &g->pack[g->pack_count++];
    p->role = wf_json_key(pack);
    enum wf_status status = wf_json_get_string(pack, "id", &p->id, err);
    if (status == WF_OK) {
        status = wf_json_get_string(pack, "archive", &archive, err);
    }
    if (status == WF_OK && (!wf_sha256_is_hex(p->id) || !wf_sha256_is_hex(archive))) {
        status = wf_errorf(err, WF_EPARSE, "lease: pack or archive is not a SHA-256");
    }
    if (status == WF_OK) {
        status = wf_fetch_pack(client, a->options->cache_folder, p->id, archive,
                               &p->folder, err);
    }
    const struct wf_json *record = wf_json_find(pack, "provenance");
    return status == WF_OK
               ? wf_agent_write_provenance(a, p->id, record, &p->provenance, err)
               : status;
}

static enum wf_status read_arm(const struct gate_round *g,
                               const struct wf_json *arm,
                               struct wf_pair_arm *ret,
                               struct wf_error *err)
{
    const char *role = NULL;
    if (arm == NULL || wf_json_type(arm) == WF_JSON_NULL) {
        return WF_OK;
    }
    enum wf_status status = wf_json_get_string(arm, "pack", &role, err);
    if (status == WF_OK) {
        status = wf_json_get_string(arm, "kernel", &ret->kernel, err);
    }
    for (size_t i = 0; status == WF_OK && i < g->pack_count; i++) {
        if (strcmp(g->pack[i].role, role) == 0) {
            ret->pack_folder = g->pack[i].folder;
            ret->pack_id = g->pack[i].id;
            ret->provenance_file = g->pack[i].provenance;
            return WF_OK;
        }
    }
    return status == WF_OK
               ? wf_errorf(err, WF_EPARSE, "lease: there is no pack '%.40s'", role)
               : status;
}

static enum wf_status read_masks(const struct wf_json *task,
                                 struct wf_pair *p,
                                 struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status status = wf_json_get_array(task, "masks", &list, err);
    for (const struct wf_json *m = status == WF_OK ? wf_json_first(list) : NULL;
         m != NULL && status == WF_OK; m = wf_json_next(m)) {
        int64_t mask = 0;
        if (!wf_json_as_i64(m, &mask) || mask < 0 || mask > 15 ||
            p->block_count == WF_PAIR_BLOCKS_MAX) {
            status = wf_errorf(err, WF_EPARSE, "lease: masks of pair %.100s", p->key);
        } else {
            p->mask[p->block_count++] = (uint8_t)mask;
        }
    }
    return status;
}

static enum wf_status read_pair(struct gate_round *g,
                                struct wf_farm_client *client,
                                const struct wf_json *task,
                                struct wf_error *err)
{
    const struct wf_json *case_json = NULL;
    size_t i = g->pair_count++;
    struct wf_pair *p = &g->pair[i];
    enum wf_status status = wf_json_get_string(task, "task", &g->task[i], err);
    if (status == WF_OK) {
        status = wf_json_get_string(task, "pair", &p->key, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_string(task, "case_name", &p->case_name, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_string(task, "case_id", &p->case_id, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_object(task, "case", &case_json, err);
    }
    if (status == WF_OK) {
        status = wf_json_text(case_json, &g->case_text[i], err);
        p->case_json = g->case_text[i];
    }
    if (status == WF_OK) {
        status = read_arm(g, wf_json_find(task, "base"), &p->arm[WF_PAIR_BASE], err);
    }
    if (status == WF_OK) {
        status =
            read_arm(g, wf_json_find(task, "candidate"), &p->arm[WF_PAIR_CAND], err);
    }
    if (status == WF_OK) {
        status = read_masks(task, p, err);
    }
    return status == WF_OK
               ? wf_agent_fetch_datasets(client, g->d->agent->options->cache_folder,
                                         case_json, err)
               : status;
}

static enum wf_status read_tasks(struct gate_round *g,
                                 struct wf_farm_client *client,
                                 struct wf_error *err)
{
    const struct wf_json *tasks = NULL;
    enum wf_status status = wf_json_get_array(g->shard, "tasks", &tasks, err);
    size_t n = status == WF_OK ? wf_json_count(tasks) + 1 : 1;
    g->pair = wf_calloc(n, sizeof(*g->pair));
    g->task = wf_calloc(n, sizeof(*g->task));
    g->case_text = wf_calloc(n, sizeof(*g->case_text));
    if (g->pair == NULL || g->task == NULL || g->case_text == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu pairs", n);
    }
    for (const struct wf_json *t = status == WF_OK ? wf_json_first(tasks) : NULL;
         t != NULL && status == WF_OK; t = wf_json_next(t)) {
        if (wf_json_find(t, "pair") != NULL) {
            status = read_pair(g, client, t, err);
        } else {
            status = wf_json_get_string(t, "task", &g->round_task, err);
        }
    }
    return status;
}

static enum wf_status read_lease(struct gate_round *g,
                                 struct wf_farm_client *client,
                                 struct wf_error *err)
{
    const struct wf_json *facts = NULL, *packs = NULL;
    enum wf_status status = wf_json_get_object(g->shard, "gate", &facts, err);
    if (status == WF_OK) {
        status = read_head(g, facts, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_object(facts, "packs", &packs, err);
    }
    for (const struct wf_json *p = status == WF_OK ? wf_json_first(packs) : NULL;
         p != NULL && status == WF_OK; p = wf_json_next(p)) {
        status = fetch_pack(g, client, p, err);
    }
    return status == WF_OK ? read_tasks(g, client, err) : status;
}

/* --- running --- */

static enum wf_status spool(struct gate_round *g,
                            const char *task,
                            const struct wf_json *record,
                            struct wf_error *err)
{
    struct wf_buf entry = WF_BUF_INIT;
    enum wf_status status = wf_agent_make_entry(g->shard, task, record, &entry, err);
    if (status == WF_OK) {
        status = wf_agent_spool_entry(g->d, &entry, g->out->last_entry, err);
    }
    g->out->spooled += status == WF_OK ? 1 : 0;
    wf_buf_free(&entry);
    return status;
}

static enum wf_status taken(void *ctx,
                            const struct wf_json *record,
                            struct wf_error *err)
{
    struct gate_round *g = ctx;
    const char *key = NULL;
    enum wf_status status = wf_json_get_string(record, "pair", &key, err);
    size_t i = 0;
    while (status == WF_OK && i < g->pair_count && strcmp(g->pair[i].key, key) != 0) {
        i++;
    }
    if (status == WF_OK && i == g->pair_count) {
        status =
            wf_errorf(err, WF_EINTERNAL, "a record of an unknown pair %.100s", key);
    }
    if (status == WF_OK && g->d->cancel_task) {
        status = wf_errorf(err, WF_ECANCELLED, "round %lld was stopped",
                           (long long)g->round);
    }
    if (status == WF_OK) {
        status = spool(g, g->task[i], record, err);
    }
    g->drained = status == WF_OK && !wf_agent_may_go_on(g->d);
    return g->drained ? wf_errorf(err, WF_ECANCELLED, "draining") : status;
}

/* What the round was run with; `facts` NULL: there was no pair left to run. */
static enum wf_status round_record(const struct gate_round *g,
                                   const struct wf_json *facts,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    struct wf_json *o = NULL, *device = NULL;
    enum wf_status status = WF_OK;
    if (facts != NULL) {
        status = wf_json_copy(facts, &o, err);
    } else {
        o = wf_json_object();
    }
    if (status == WF_OK && wf_json_find(o, "device") == NULL) {
        status = wf_device_to_json(g->d->device, &device, err);
        status = status == WF_OK ? wf_json_set_take(o, "device", device, err) : status;
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "kind", "round", err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "gate", g->gate, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_i64(o, "round", g->round, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_i64(o, "group", g->group, err);
    }
    if (status != WF_OK) {
        wf_json_free(o);
        return status;
    }
    *ret = o;
    return WF_OK;
}

static enum wf_status run_pairs(struct gate_round *g,
                                struct wf_json **ret_facts,
                                struct wf_error *err)
{
    const struct wf_agent_options *o = g->d->agent->options;
    char *datasets = wf_path_join(o->cache_folder, "datasets");
    if (datasets == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory");
    }
    struct wf_pair_round r = {
        .gate = g->gate,
        .round = (int32_t)g->round,
        .group = (int32_t)g->group,
        .pair = g->pair,
        .pair_count = g->pair_count,
        .device = g->d->device,
        .dataset_folder = datasets,
        .seed_offset = (uint64_t)g->seed_offset,
        .deadline_ns = g->deadline_ms * 1000000,
        .lock_timeout_ns = o->lock_timeout_ms * 1000000,
        .threads = o->threads,
        .measure = g->measure,
        .cancel = &g->d->cancel_task,
    };
    enum wf_status status = wf_pair_round(&r, taken, g, ret_facts, err);
    free(datasets);
    return status;
}

static enum wf_status run_round(struct gate_round *g, struct wf_error *err)
{
    struct wf_json *facts = NULL, *record = NULL;
    enum wf_status status = g->pair_count > 0 ? run_pairs(g, &facts, err) : WF_OK;
    if (status == WF_OK && g->round_task != NULL) {
        status = round_record(g, facts, &record, err);
        status = status == WF_OK ? spool(g, g->round_task, record, err) : status;
    }
    wf_json_free(record);
    wf_json_free(facts);
    return status;
}

static void free_round(struct gate_round *g)
{
    for (size_t i = 0; i < g->pack_count; i++) {
        free(g->pack[i].folder);
        free(g->pack[i].provenance);
    }
    for (size_t i = 0; g->case_text != NULL && i < g->pair_count; i++) {
        free(g->case_text[i]);
    }
    free(g->case_text);
    free(g->task);
    free(g->pair);
}

enum wf_status wf_agent_run_gate(struct wf_agent_device *d,
                                 struct wf_farm_client *client,
                                 const struct wf_json *shard,
                                 struct wf_agent_round *out,
                                 struct wf_error *err)
{
    struct gate_round g = { .d = d, .shard = shard, .out = out };
    enum wf_status status = read_lease(&g, client, err);
    if (status == WF_OK) {
        status = run_round(&g, err);
    }
    out->drained = g.drained;
    free_round(&g);
    return status;
}
