/* The blob folder: uploads, content-addressed files, reading.
 *
 * Invariant: a file under its final name has that content: it is hashed while it comes
 * in, fsynced, and renamed. */
#include "coordinator/blobs.h"

#include "core/buf.h"
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DATASETS 256

struct wf_blobs {
    char *folder;
    atomic_uint_fast64_t next;
};

struct wf_blob_upload {
    struct wf_sha256 *sha;
    char *path;
    int fd;
    uint64_t bytes;
};

static char *blob_folder(const struct wf_blobs *b, const char *sha256)
{
    return wf_asprintf("%s/%.2s", b->folder, sha256);
}

static char *blob_path(const struct wf_blobs *b, const char *sha256)
{
    return wf_asprintf("%s/%.2s/%s", b->folder, sha256, sha256);
}

enum wf_status wf_blobs_open(const char *folder,
                             struct wf_blobs **ret,
                             struct wf_error *err)
{
    struct wf_blobs *b = wf_calloc(1, sizeof *b);
    char *tmp = wf_asprintf("%s/incoming", folder);
    enum wf_status status = WF_OK;
    if (b) {
        b->folder = wf_strdup(folder);
    }
    if (!b || !b->folder || !tmp) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for the blob folder");
    }
    if (status == WF_OK) {
        status = wf_remove_tree(tmp, err);
    }
    if (status == WF_OK) {
        status = wf_mkdir_parents(tmp, err);
    }
    free(tmp);
    if (status != WF_OK) {
        wf_blobs_close(b);
        return status;
    }
    *ret = b;
    return WF_OK;
}

void wf_blobs_close(struct wf_blobs *b)
{
    if (b) {
        free(b->folder);
        free(b);
    }
}

enum wf_status wf_blob_upload_begin(struct wf_blobs *b,
                                    struct wf_blob_upload **ret,
                                    struct wf_error *err)
{
    struct wf_blob_upload *u = wf_calloc(1, sizeof *u);
    if (!u) {
        return wf_errorf(err, WF_ENOMEM, "no memory for an upload");
    }
    u->fd = -1;
    u->sha = wf_sha256_create();
    u->path = wf_asprintf("%s/incoming/%ld-%llu", b->folder, (long)getpid(),
                          (unsigned long long)atomic_fetch_add(&b->next, 1));
    if (!u->sha || !u->path) {
        wf_blob_upload_abort(u);
        return wf_errorf(err, WF_ENOMEM, "no memory for an upload");
    }
    u->fd = open(u->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (u->fd < 0) {
        enum wf_status status = wf_error_errno(err, errno, "creating %s", u->path);
        wf_blob_upload_abort(u);
        return status;
    }
    *ret = u;
    return WF_OK;
}

enum wf_status wf_blob_upload_data(struct wf_blob_upload *u,
                                   const void *data,
                                   size_t n,
                                   struct wf_error *err)
{
    wf_sha256_update(u->sha, data, n);
    u->bytes += n;
    return wf_write_all(u->fd, data, n, u->path, err);
}

void wf_blob_upload_abort(struct wf_blob_upload *u)
{
    if (!u) {
        return;
    }
    if (u->fd >= 0) {
        close(u->fd);
        (void)unlink(u->path);
    }
    wf_sha256_destroy(u->sha);
    free(u->path);
    free(u);
}

static enum wf_status sync_folder(const char *folder, struct wf_error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        enum wf_status status = wf_error_errno(err, errno, "syncing %s", folder);
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    close(fd);
    return WF_OK;
}

/* Puts the finished file in its place. */
static enum wf_status settle(struct wf_blobs *b,
                             struct wf_blob_upload *u,
                             const char *sha256,
                             struct wf_error *err)
{
    char *path = blob_path(b, sha256);
    char *folder = blob_folder(b, sha256);
    enum wf_status status =
        path && folder ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
    if (status == WF_OK && fsync(u->fd) != 0) {
        status = wf_error_errno(err, errno, "syncing %s", u->path);
    }
    if (status == WF_OK) {
        status = wf_mkdir_parents(folder, err);
    }
    if (status == WF_OK && rename(u->path, path) != 0) {
        status = wf_error_errno(err, errno, "renaming to %s", path);
    }
    if (status == WF_OK) {
        status = sync_folder(folder, err);
    }
    if (status == WF_OK) {
        close(u->fd);
        u->fd = -1; /* the name is not ours to remove any more */
    }
    free(folder);
    free(path);
    return status;
}

enum wf_status wf_blob_upload_finish(struct wf_blobs *b,
                                     struct wf_blob_upload *u,
                                     const char *sha256,
                                     struct wf_db *db,
                                     int64_t token_id,
                                     bool *ret_created,
                                     uint64_t *ret_bytes,
                                     struct wf_error *err)
{
    uint8_t hash[WF_SHA256_BYTES];
    char hex[WF_SHA256_HEX];
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    enum wf_status status = WF_OK;
    wf_sha256_finish(u->sha, hash);
    u->sha = NULL;
    wf_hex(hash, sizeof hash, hex);
    if (strcmp(hex, sha256) != 0) {
        status = wf_errorf(err, WF_EINVAL,
                           "the content has SHA-256 %s, the path says %s", hex, sha256);
    }
    if (status == WF_OK) {
        status = settle(b, u, sha256, err);
    }
    if (status == WF_OK) {
        wf_param_text(&p, sha256);
        wf_param_i64(&p, (int64_t)u->bytes);
        wf_param_i64(&p, token_id);
        status = wf_db_run(db, WF_STMT_BLOB_ADD, &p, &rows, err);
    }
    if (status == WF_OK) {
        *ret_created = wf_rows_affected(rows) > 0;
        *ret_bytes = u->bytes;
    }
    wf_rows_free(rows);
    wf_blob_upload_abort(u);
    return status;
}

enum wf_status wf_blob_open(struct wf_blobs *b,
                            struct wf_db *db,
                            const char *sha256,
                            int *ret_fd,
                            uint64_t *ret_bytes,
                            struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    struct stat st;
    char what[WF_SHA256_HEX + 48];
    snprintf(what, sizeof what, "there is no blob %s", sha256);
    wf_param_text(&p, sha256);
    enum wf_status status = wf_db_one(db, WF_STMT_BLOB_FIND, &p, what, &rows, err);
    if (status != WF_OK) {
        return status;
    }
    char *path = blob_path(b, sha256);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size != wf_rows_i64(rows, 0, 0)) {
        status =
            wf_errorf(err, WF_ENOTFOUND,
                      "blob %s has a row but no whole file: upload it again", sha256);
        if (fd >= 0) {
            close(fd);
        }
    } else {
        *ret_fd = fd;
        *ret_bytes = (uint64_t)st.st_size;
    }
    free(path);
    wf_rows_free(rows);
    return status;
}

/* --- datasets --- */

struct wf_blob_datasets {
    struct wf_blobs *blobs;
    struct wf_dataset *item[MAX_DATASETS];
    size_t n;
};

struct wf_blob_datasets *wf_blob_datasets_create(struct wf_blobs *b)
{
    struct wf_blob_datasets *d = wf_calloc(1, sizeof *d);
    if (d) {
        d->blobs = b;
    }
    return d;
}

void wf_blob_datasets_destroy(struct wf_blob_datasets *d)
{
    if (!d) {
        return;
    }
    for (size_t i = 0; i < d->n; i++) {
        wf_dataset_free(d->item[i]);
    }
    free(d);
}

static enum wf_status find(void *ctx,
                           const char *sha256,
                           const struct wf_dataset **ret,
                           struct wf_error *err)
{
    struct wf_blob_datasets *d = ctx;
    for (size_t i = 0; i < d->n; i++) {
        if (strcmp(wf_dataset_sha256(d->item[i]), sha256) == 0) {
            *ret = d->item[i];
            return WF_OK;
        }
    }
    if (!wf_sha256_is_hex(sha256)) {
        return wf_errorf(err, WF_EINVAL, "'%.80s' is not a SHA-256", sha256);
    }
    if (d->n == MAX_DATASETS) {
        return wf_errorf(err, WF_EINVAL, "more than %d datasets in one request",
                         MAX_DATASETS);
    }
    char *path = blob_path(d->blobs, sha256);
    enum wf_status status = path ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
    if (status == WF_OK && !wf_file_exists(path)) {
        status =
            wf_errorf(err, WF_ENOTFOUND,
                      "dataset %s is not here: PUT /v1/blobs/%s first", sha256, sha256);
    }
    if (status == WF_OK) {
        status = wf_dataset_read_file(path, &d->item[d->n], err);
    }
    if (status == WF_OK) {
        *ret = d->item[d->n++];
    }
    free(path);
    return status;
}

struct wf_dataset_resolver wf_blob_datasets_resolver(struct wf_blob_datasets *d)
{
    return (struct wf_dataset_resolver){ find, d };
}
