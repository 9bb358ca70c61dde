#include "cli/bisect_published.h"

#include "cli/api.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/http_client.h"
#include "core/parse.h"
#include "packs/provenance.h"
#include "runner/agent_fetch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LENGTH 64 /* of a pack's name */
#define LEAST_DIGITS    4  /* of an abbreviated commit or id, as git has it */

struct bisect_published {
    struct wf_api *api;
    struct wf_farm_client *client; /* downloads */
    char *cache;
    const char *kernel;
    size_t packs; /* of the name */
    size_t bare;  /* of those, without a record that knows a commit */
    size_t dirty; /* records */
};

enum wf_status bisect_published_open(const struct wf_args *args,
                                     const char *kernel,
                                     struct bisect_published **ret,
                                     struct wf_error *err)
{
    struct wf_http_options server;
    struct wf_buf token = WF_BUF_INIT;
    struct bisect_published *b = wf_calloc(1, sizeof(*b));
    if (b == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a coordinator's packs");
    }
    b->kernel = kernel;
    enum wf_status status = wf_cache_dir(&b->cache, err);
    status = status == WF_OK ? wf_api_open(args, &b->api, err) : status;
    status = status == WF_OK ? wf_server_options(args, &server, &token, err) : status;
    if (status == WF_OK) {
        status = wf_farm_client_create(&server, &b->client, err);
    }
    wf_buf_free(&token);
    if (status != WF_OK) {
        bisect_published_close(b);
        return status;
    }
    *ret = b;
    return WF_OK;
}

void bisect_published_close(struct bisect_published *b)
{
    if (b != NULL) {
        if (b->client != NULL) {
            wf_farm_client_destroy(b->client);
        }
        wf_api_close(b->api);
        free(b->cache);
        free(b);
    }
}

/* --- what there is --- */

static bool is_there(const struct bisect_packs *p, const struct bisect_pack *one)
{
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->pack[i].id, one->id) == 0 &&
            strcmp(p->pack[i].commit, one->commit) == 0) {
            return true;
        }
    }
    return false;
}

/* *known: the record names a commit, clean or not. */
static enum wf_status take_record(struct bisect_published *b,
                                  const char *id,
                                  const char *archive,
                                  const struct wf_json *record,
                                  struct bisect_packs *p,
                                  bool *known,
                                  struct wf_error *err)
{
    bool dirty = false;
    struct wf_buf text = WF_BUF_INIT;
    struct bisect_pack one = { 0 };
    snprintf(one.id, sizeof(one.id), "%s", id);
    snprintf(one.archive, sizeof(one.archive), "%s", archive);
    enum wf_status status = wf_provenance_check(record, id, err);
    status = status == WF_OK ? bisect_pack_origin(&one, record, err) : status;
    status = status == WF_OK ? wf_json_write(record, &text, err) : status;
    if (status == WF_OK) {
        one.record = wf_strdup(wf_buf_cstr(&text));
        status = one.record == NULL
                     ? wf_errorf(err, WF_ENOMEM, "no memory for a record")
                     : WF_OK;
        (void)wf_json_as_bool(wf_json_find(record, "dirty"), &dirty);
        *known = *known || one.commit[0] != '\0';
        b->dirty += dirty;
    }
    wf_buf_free(&text);
    if (status == WF_OK && !dirty && one.commit[0] != '\0' && !is_there(p, &one)) {
        return bisect_packs_push(p, &one, err);
    }
    bisect_pack_free(&one);
    return status;
}

static enum wf_status take_entry(struct bisect_published *b,
                                 const struct wf_json *entry,
                                 struct bisect_packs *p,
                                 struct wf_error *err)
{
    bool known = false;
    const char *id = NULL, *archive = NULL;
    const struct wf_json *records = wf_json_find(entry, "provenance");
    enum wf_status status = wf_json_get_string(entry, "pack", &id, err);
    status =
        status == WF_OK ? wf_json_get_string(entry, "archive", &archive, err) : status;
    if (status == WF_OK && (!wf_sha256_is_hex(id) || !wf_sha256_is_hex(archive))) {
        status = wf_errorf(err, WF_EINVAL, "a pack's id or archive is no SHA-256");
    }
    const size_t n = status == WF_OK && records != NULL ? wf_json_count(records) : 0;
    for (size_t i = 0; i < n && status == WF_OK; i++) {
        const struct wf_json *record = wf_json_find(wf_json_at(records, i), "record");
        status = record != NULL
                     ? take_record(b, id, archive, record, p, &known, err)
                     : wf_errorf(err, WF_EINVAL, "pack %.12s: no record", id);
    }
    b->packs++;
    b->bare += !known;
    return status;
}

/* *after: where the next page goes on, 0 at the end. Keys fall from page to page, so
 * that no answer can keep the client asking for ever. */
static enum wf_status take_page(struct bisect_published *b,
                                const struct wf_json *page,
                                struct bisect_packs *p,
                                int64_t *after,
                                struct wf_error *err)
{
    const struct wf_json *list = wf_json_find(page, "packs");
    const char *next = wf_json_string(wf_json_find(page, "next"));
    const int64_t most = *after > 0 ? *after - 1 : INT64_MAX;
    enum wf_status status = WF_OK;
    if (list == NULL || wf_json_type(list) != WF_JSON_ARRAY) {
        return wf_errorf(err, WF_EINVAL, "the answer has no list of packs");
    }
    for (size_t i = 0; i < wf_json_count(list) && status == WF_OK; i++) {
        status = take_entry(b, wf_json_at(list, i), p, err);
    }
    *after = 0;
    return status == WF_OK && next != NULL
               ? wf_parse_i64(next, "next", 1, most, after, err)
               : status;
}

static enum wf_status list_packs(struct bisect_published *b,
                                 const char *name,
                                 struct bisect_packs *p,
                                 struct wf_error *err)
{
    char path[160], tail[40] = "";
    int64_t after = 0;
    enum wf_status status = WF_OK;
    if (!wf_name_is_safe(name) || strlen(name) > NAME_MAX_LENGTH) {
        return wf_errorf(err, WF_EINVAL,
                         "--published '%.80s' is no pack's name: [A-Za-z0-9._-], at "
                         "most %d characters",
                         name, NAME_MAX_LENGTH);
    }
    do {
        struct wf_json *page = NULL;
        snprintf(path, sizeof(path), "/v1/packs?name=%s&limit=500%s", name, tail);
        status = wf_api_get(b->api, path, 0, &page, err);
        status = status == WF_OK ? take_page(b, page, p, &after, err) : status;
        wf_json_free(page);
        snprintf(tail, sizeof(tail), "&after=%lld", (long long)after);
    } while (status == WF_OK && after > 0);
    if (status != WF_OK) {
        return wf_error_prefix(err, "the list of packs '%s'", name);
    }
    if (b->packs == 0) {
        return wf_errorf(
            err, WF_ENOTFOUND,
            "no pack '%s' was published to this coordinator ('wavefarm pack "
            "publish' does)",
            name);
    }
    return p->count > 0
               ? WF_OK
               : wf_errorf(err, WF_ENOTFOUND,
                           "of the %zu packs '%s' %zu have no record of their commit, "
                           "and the others are of dirty trees: 'wavefarm pack publish "
                           "--commit' records it",
                           b->packs, name, b->bare);
}

/* --- bringing one here --- */

/* Takes path and code of `from`. */
static void take_here(struct bisect_pack *p, struct bisect_pack *from)
{
    p->path = from->path;
    from->path = NULL;
    snprintf(p->identity, sizeof(p->identity), "%s", from->identity);
}

static enum wf_status write_record(const struct bisect_pack *p,
                                   const char *folder,
                                   struct wf_error *err)
{
    char *file = wf_path_join(folder, "provenance.json");
    enum wf_status status =
        file == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a path")
                     : wf_file_write_atomic(file, p->record, strlen(p->record), err);
    free(file);
    return status;
}

static enum wf_status get(void *ctx, struct bisect_pack *p, struct wf_error *err)
{
    struct bisect_published *b = ctx;
    struct bisect_pack here = { 0 };
    char *folder = NULL;
    enum wf_status status =
        wf_fetch_pack(b->client, b->cache, p->id, p->archive, &folder, err);
    status = status == WF_OK ? write_record(p, folder, err) : status;
    if (status == WF_OK) {
        status = bisect_pack_load(folder, b->kernel, &here, err);
    }
    if (status == WF_OK && strcmp(here.id, p->id) != 0) {
        status = wf_errorf(
            err, WF_EIO, "%s holds pack %.12s: remove the folder, it is fetched again",
            folder, here.id);
    }
    if (status == WF_OK) {
        take_here(p, &here);
    }
    bisect_pack_free(&here);
    free(folder);
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "commit %.12s", p->commit);
}

/* --- the two ends --- */

struct end {
    const char *option; /* "--good" */
    const char *text;
    struct bisect_pack own; /* where it is a folder or an archive */
};

static bool is_hex(const char *s)
{
    return strlen(s) >= LEAST_DIGITS && s[strspn(s, "0123456789abcdef")] == '\0';
}

static bool is_end(const struct end *e, const struct bisect_pack *p)
{
    if (e->own.path != NULL) {
        return strcmp(e->own.id, p->id) == 0 &&
               (e->own.commit[0] == '\0' || strcmp(e->own.commit, p->commit) == 0);
    }
    const size_t n = strlen(e->text);
    return strncmp(p->commit, e->text, n) == 0 || strncmp(p->id, e->text, n) == 0;
}

static enum wf_status not_among(const struct bisect_published *b,
                                const struct end *e,
                                struct wf_error *err)
{
    return wf_errorf(err, WF_ENOTFOUND,
                     "%s %s is not among the published packs (%zu of the name; %zu "
                     "without a record of their commit and %zu records of dirty trees "
                     "do not count)",
                     e->option, e->text, b->packs, b->bare, b->dirty);
}

/* Several packs of one commit: the one that the farm has known for the shortest time.
 */
static enum wf_status find_end(struct bisect_published *b,
                               const struct bisect_packs *p,
                               struct end *e,
                               size_t *ret,
                               struct wf_error *err)
{
    enum wf_status status = WF_OK;
    *ret = SIZE_MAX;
    if (wf_file_exists(e->text)) {
        status = bisect_pack_load(e->text, b->kernel, &e->own, err);
    } else if (!is_hex(e->text)) {
        status =
            wf_errorf(err, WF_EINVAL,
                      "%s '%.100s' is neither a folder or archive nor the begin of "
                      "a commit or pack id (%d hex digits or more)",
                      e->option, e->text, LEAST_DIGITS);
    }
    for (size_t i = 0; i < p->count && status == WF_OK; i++) {
        if (!is_end(e, &p->pack[i])) {
            continue;
        }
        if (*ret == SIZE_MAX) {
            *ret = i;
        } else if (strcmp(p->pack[*ret].commit, p->pack[i].commit) != 0) {
            status = wf_errorf(
                err, WF_EINVAL, "%s %s may be commit %.12s or %.12s: say which",
                e->option, e->text, p->pack[*ret].commit, p->pack[i].commit);
        }
    }
    return status == WF_OK && *ret == SIZE_MAX ? not_among(b, e, err) : status;
}

/* An end that was given as a folder is there already. */
static enum wf_status get_end(struct bisect_published *b,
                              struct bisect_pack *p,
                              struct end *e,
                              struct wf_error *err)
{
    if (e->own.path == NULL) {
        return get(b, p, err);
    }
    take_here(p, &e->own);
    return WF_OK;
}

static enum wf_status arrange(struct bisect_published *b,
                              struct bisect_packs *p,
                              struct end *good,
                              struct end *bad,
                              struct wf_error *err)
{
    size_t first = 0, last = 0;
    enum wf_status status = find_end(b, p, good, &first, err);
    status = status == WF_OK ? find_end(b, p, bad, &last, err) : status;
    if (status != WF_OK) {
        return status;
    }
    if (bisect_packs_line(p, first, last, err) != WF_OK) {
        return wf_error_prefix(err,
                               "cannot order the published packs by their commits");
    }
    status = get_end(b, &p->pack[0], good, err);
    if (status == WF_OK) {
        status = get_end(b, &p->pack[p->count - 1], bad, err);
    }
    return status == WF_OK ? bisect_packs_check_ends(
                                 &p->pack[0], &p->pack[p->count - 1], b->kernel, err)
                           : status;
}

enum wf_status bisect_published_read(struct bisect_published *b,
                                     const char *name,
                                     const char *good,
                                     const char *bad,
                                     struct bisect_packs *ret,
                                     struct wf_error *err)
{
    struct bisect_packs p = { 0 };
    struct end first = { .option = "--good", .text = good };
    struct end last = { .option = "--bad", .text = bad };
    enum wf_status status = list_packs(b, name, &p, err);
    status = status == WF_OK ? arrange(b, &p, &first, &last, err) : status;
    bisect_pack_free(&first.own);
    bisect_pack_free(&last.own);
    if (status != WF_OK) {
        bisect_packs_free(&p);
        return status;
    }
    p.get = get;
    p.ctx = b;
    *ret = p;
    return WF_OK;
}
