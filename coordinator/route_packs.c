/* Packs by themselves: publish one with the record of where it comes from; read one;
 * list them.
 *
 * A record is told from another by all but its time: publishing a commit twice gives
 * one record. */
#include "coordinator/handlers.h"

#include "coordinator/store_packs.h"
#include "core/log.h"
#include "core/sha256.h"
#include "packs/provenance.h"

#include <inttypes.h>
#include <stdio.h>

struct request {
    struct wf_json *root;
    struct wf_pack *pack;
    struct wf_buf manifest, record;
    char digest[WF_SHA256_HEX];
    const char *archive;
    bool has_record;
};

static void request_free(struct request *r)
{
    wf_pack_free(r->pack);
    wf_json_free(r->root);
    wf_buf_free(&r->manifest);
    wf_buf_free(&r->record);
}

/* SHA-256 of the record's canonical form without "built_at". */
static enum wf_status record_digest(const struct wf_json *record,
                                    char ret[WF_SHA256_HEX],
                                    struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *copy = NULL;
    enum wf_status status = wf_json_copy(record, &copy, err);
    if (status == WF_OK) {
        wf_json_remove(copy, "built_at");
        status = wf_json_write_canonical(copy, &text, err);
    }
    if (status == WF_OK) {
        wf_sha256_hex(wf_buf_cstr(&text), text.len, ret);
    }
    wf_json_free(copy);
    wf_buf_free(&text);
    return status;
}

static enum wf_status read_record(struct request *r, struct wf_error *err)
{
    const struct wf_json *record = wf_json_find(r->root, "provenance");
    if (record == NULL || wf_json_type(record) == WF_JSON_NULL) {
        return WF_OK;
    }
    if (wf_json_type(record) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "provenance must be an object or null");
    }
    enum wf_status status = wf_provenance_check(record, wf_pack_id(r->pack), err);
    if (status == WF_OK) {
        status = wf_json_write(record, &r->record, err);
    }
    if (status == WF_OK) {
        status = record_digest(record, r->digest, err);
    }
    r->has_record = status == WF_OK;
    return status;
}

static enum wf_status read_request(struct wf_request *req,
                                   struct request *r,
                                   struct wf_error *err)
{
    static const char *const keys[] = { "pack", "archive", "provenance", NULL };
    const struct wf_json *manifest = NULL;
    enum wf_status status = wf_request_json(req, NULL, keys, &r->root, err);
    if (status == WF_OK) {
        status = wf_json_get_object(r->root, "pack", &manifest, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_string(r->root, "archive", &r->archive, err);
    }
    if (status == WF_OK && !wf_sha256_is_hex(r->archive)) {
        status = wf_errorf(err, WF_EINVAL, "archive must be a SHA-256 (64 hex digits)");
    }
    if (status == WF_OK) {
        status = wf_pack_parse(manifest, "pack", &r->pack, err);
    }
    if (status == WF_OK) {
        status = wf_json_write(manifest, &r->manifest, err);
    }
    return status == WF_OK ? read_record(r, err) : status;
}

static enum wf_status reply_published(struct wf_request *req,
                                      const char *id,
                                      const struct wf_pack_published *p,
                                      struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    snprintf(req->location, sizeof req->location, "/v1/packs/%s", id);
    enum wf_status s = wf_json_set_string(o, "pack", id, err);
    s = s == WF_OK ? wf_json_set_i64(o, "provenance", p->records, err) : s;
    if (s != WF_OK) {
        wf_json_free(o);
        return s;
    }
    return wf_reply_json(req, p->created ? 201 : 200, o, err);
}

enum wf_status wf_route_pack_publish(struct wf_worker *w,
                                     struct wf_request *req,
                                     struct wf_error *err)
{
    struct request r = { .manifest = WF_BUF_INIT, .record = WF_BUF_INIT };
    struct wf_pack_published made = { 0 };
    enum wf_status status = read_request(req, &r, err);
    if (status == WF_OK) {
        struct wf_pack_publish p = {
            .pack = r.pack,
            .manifest = wf_buf_cstr(&r.manifest),
            .archive = r.archive,
            .record = r.has_record ? wf_buf_cstr(&r.record) : NULL,
            .digest = r.has_record ? r.digest : NULL,
            .token_id = req->token_id,
        };
        status = wf_store_pack(w->db, &p, &made, err);
    }
    if (status == WF_OK && made.created) {
        wf_log(WF_LOG_INFO, "pack %s published records=%" PRId64 " name=%.100s",
               wf_pack_id(r.pack), made.records, wf_pack_name(r.pack));
    }
    status =
        status == WF_OK ? reply_published(req, wf_pack_id(r.pack), &made, err) : status;
    request_free(&r);
    return status;
}

enum wf_status wf_route_pack_get(struct wf_worker *w,
                                 struct wf_request *req,
                                 struct wf_error *err)
{
    struct wf_json *o = NULL;
    enum wf_status status = wf_pack_read(w->db, req->param, &o, err);
    return status == WF_OK ? wf_reply_json(req, 200, o, err) : status;
}

/* --- the list --- */

/* A page ends before it is larger than this; a single pack may be. */
#define PAGE_BYTES (8u << 20)

static enum wf_status write_list(const struct wf_rows *rows,
                                 int64_t limit,
                                 struct wf_buf *out,
                                 struct wf_error *err)
{
    const size_t n = wf_rows_count(rows);
    size_t i = 0;
    int64_t last = 0;
    enum wf_status s = wf_buf_puts(out, "{\"packs\":[", err);
    for (; s == WF_OK && i < n && out->len < PAGE_BYTES; i++) {
        s = i > 0 ? wf_buf_puts(out, ",", err) : s;
        s = s == WF_OK ? wf_buf_puts(out, wf_rows_text(rows, i, 1), err) : s;
        last = wf_rows_i64(rows, i, 0);
    }
    const bool more = i < n || n == (size_t)limit;
    if (s == WF_OK && more) {
        return wf_buf_printf(out, err, "],\"next\":\"%" PRId64 "\"}", last);
    }
    return s == WF_OK ? wf_buf_puts(out, "],\"next\":null}", err) : s;
}

enum wf_status wf_route_pack_list(struct wf_worker *w,
                                  struct wf_request *req,
                                  struct wf_error *err)
{
    int64_t limit = 50, after = 0;
    const char *name = wf_request_query(req, "name");
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    enum wf_status s = wf_request_query_i64(req, "limit", 1, 500, &limit, err);
    s = s == WF_OK ? wf_request_query_i64(req, "after", 1, INT64_MAX, &after, err) : s;
    if (s == WF_OK && name != NULL && name[0] == '\0') {
        s = wf_errorf(err, WF_EINVAL, "query parameter 'name' is empty");
    }
    wf_param_text(&p, name);
    wf_param_i64(&p, limit);
    wf_param_i64(&p, after);
    s = s == WF_OK ? wf_db_run(w->db, WF_STMT_PACK_LIST, &p, &rows, err) : s;
    s = s == WF_OK ? write_list(rows, limit, &req->reply, err) : s;
    wf_rows_free(rows);
    if (s == WF_OK) {
        req->status = 200;
        req->content_type = "application/json";
    } else {
        wf_buf_clear(&req->reply);
    }
    return s;
}
