/* Published packs in the database.
 *
 * Publishing only adds: a pack, an archive or a record that is there stays as it is, so
 * that the same request again changes nothing. */
#include "coordinator/store_packs.h"

#include <string.h>

struct job {
    const struct wf_pack_publish *publish;
    struct wf_pack_published *ret;
};

static enum wf_status archive_there(struct wf_db *db,
                                    const char *archive,
                                    struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_text(&p, archive);
    enum wf_status status = wf_db_run(db, WF_STMT_BLOB_FIND, &p, &rows, err);
    if (status == WF_OK && wf_rows_count(rows) == 0) {
        status = wf_errorf(err, WF_EINVAL,
                           "the archive %s is not here: PUT /v1/blobs/<sha256> first",
                           archive);
    }
    wf_rows_free(rows);
    return status;
}

static enum wf_status add_pack(struct wf_db *db,
                               const struct wf_pack_publish *p,
                               int64_t *ret_key,
                               struct wf_error *err)
{
    struct wf_params params = WF_PARAMS_INIT;
    wf_param_text(&params, wf_pack_id(p->pack));
    wf_param_text(&params, wf_pack_name(p->pack));
    wf_param_text(&params, p->manifest);
    return wf_db_one_i64(db, WF_STMT_PACK_ADD, &params, ret_key, err);
}

static enum wf_status add_kernel(struct wf_db *db,
                                 int64_t pack_key,
                                 const struct wf_pack_kernel *k,
                                 struct wf_error *err)
{
    int64_t key = 0;
    enum wf_status status = WF_OK;
    struct wf_buf archs = WF_BUF_INIT;
    struct wf_params p = WF_PARAMS_INIT;
    for (size_t i = 0; status == WF_OK && i < k->arch_count; i++) {
        status = wf_pg_array_add(&archs, k->arch[i], err);
    }
    status = status == WF_OK ? wf_pg_array_end(&archs, err) : status;
    wf_param_i64(&p, pack_key);
    wf_param_text(&p, k->name);
    wf_param_text(&p, k->op);
    wf_param_text(&p, wf_buf_cstr(&archs));
    wf_param_text(&p, k->source ? k->source : "");
    status =
        status == WF_OK ? wf_db_one_i64(db, WF_STMT_KERNEL_ADD, &p, &key, err) : status;
    wf_buf_free(&archs);
    return status;
}

/* Runs an INSERT that leaves alone what is there; *created becomes true when it did
 * add. */
static enum wf_status add_row(struct wf_db *db,
                              enum wf_stmt stmt,
                              const struct wf_params *p,
                              bool *created,
                              struct wf_error *err)
{
    struct wf_rows *rows = NULL;
    enum wf_status status = wf_db_run(db, stmt, p, &rows, err);
    *created = *created || (status == WF_OK && wf_rows_affected(rows) > 0);
    wf_rows_free(rows);
    return status;
}

static enum wf_status add_origin(struct wf_db *db,
                                 const struct wf_pack_publish *publish,
                                 int64_t pack_key,
                                 struct wf_pack_published *ret,
                                 struct wf_error *err)
{
    struct wf_params archive = WF_PARAMS_INIT;
    struct wf_params record = WF_PARAMS_INIT;
    struct wf_params count = WF_PARAMS_INIT;
    wf_param_i64(&archive, pack_key);
    wf_param_text(&archive, publish->archive);
    wf_param_i64(&archive, publish->token_id);
    enum wf_status status =
        add_row(db, WF_STMT_PACK_ARCHIVE_ADD, &archive, &ret->created, err);
    if (status == WF_OK && publish->record != NULL) {
        wf_param_i64(&record, pack_key);
        wf_param_text(&record, publish->digest);
        wf_param_text(&record, publish->record);
        wf_param_i64(&record, publish->token_id);
        status = add_row(db, WF_STMT_PACK_PROVENANCE_ADD, &record, &ret->created, err);
    }
    wf_param_i64(&count, pack_key);
    return status == WF_OK ? wf_db_one_i64(db, WF_STMT_PACK_PROVENANCE_COUNT, &count,
                                           &ret->records, err)
                           : status;
}

static enum wf_status store(struct wf_db *db, void *ctx, struct wf_error *err)
{
    struct job *j = ctx;
    int64_t key = 0;
    const struct wf_pack *pack = j->publish->pack;
    *j->ret = (struct wf_pack_published){ 0, false };
    enum wf_status status = archive_there(db, j->publish->archive, err);
    status = status == WF_OK ? add_pack(db, j->publish, &key, err) : status;
    for (size_t i = 0; status == WF_OK && i < wf_pack_kernel_count(pack); i++) {
        status = add_kernel(db, key, wf_pack_kernel_at(pack, i), err);
    }
    return status == WF_OK ? add_origin(db, j->publish, key, j->ret, err) : status;
}

enum wf_status wf_store_pack(struct wf_db *db,
                             const struct wf_pack_publish *publish,
                             struct wf_pack_published *ret,
                             struct wf_error *err)
{
    struct job j = { .publish = publish, .ret = ret };
    return wf_db_transact(db, store, &j, err);
}

/* --- reading --- */

static enum wf_status row_json(const struct wf_rows *rows,
                               struct wf_json *o,
                               struct wf_error *err)
{
    enum wf_status s = wf_json_set_string(o, "pack", wf_rows_text(rows, 0, 0), err);
    s = s == WF_OK ? wf_json_set_string(o, "name", wf_rows_text(rows, 0, 1), err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "description", wf_rows_text(rows, 0, 2), err)
                   : s;
    s = s == WF_OK ? wf_json_set_string(o, "created", wf_rows_text(rows, 0, 3), err)
                   : s;
    s = s == WF_OK ? wf_json_set_parsed(o, "files", wf_rows_text(rows, 0, 4), err) : s;
    s = s == WF_OK ? wf_json_set_parsed(o, "kernels", wf_rows_text(rows, 0, 5), err)
                   : s;
    s = s == WF_OK ? wf_json_set_parsed(o, "archives", wf_rows_text(rows, 0, 6), err)
                   : s;
    return s == WF_OK
               ? wf_json_set_parsed(o, "provenance", wf_rows_text(rows, 0, 7), err)
               : s;
}

enum wf_status wf_pack_read(struct wf_db *db,
                            const char *pack_id,
                            struct wf_json **ret,
                            struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct wf_json *o = NULL;
    wf_param_text(&p, pack_id);
    enum wf_status status =
        wf_db_one(db, WF_STMT_PACK_GET, &p, "the farm knows no such pack", &rows, err);
    if (status == WF_OK) {
        o = wf_json_object();
        status = row_json(rows, o, err);
    }
    wf_rows_free(rows);
    if (status != WF_OK) {
        wf_json_free(o);
        return status;
    }
    *ret = o;
    return WF_OK;
}
