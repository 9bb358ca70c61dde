/* Blobs: files named by the SHA-256 of their content in a folder ("ab/abcd..."), each
 * with a row in the database. A file is there before its row. */
#ifndef WF_COORDINATOR_BLOBS_H
#define WF_COORDINATOR_BLOBS_H

#include "coordinator/db.h"
#include "core/error.h"
#include "core/sha256.h"
#include "datasets/dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_blobs;       /* opaque; any thread */
struct wf_blob_upload; /* opaque */

/* Makes the folder if absent and removes what interrupted uploads left. */
enum wf_status wf_blobs_open(const char *folder,
                             struct wf_blobs **ret,
                             struct wf_error *err);
void wf_blobs_close(struct wf_blobs *b);

enum wf_status wf_blob_upload_begin(struct wf_blobs *b,
                                    struct wf_blob_upload **ret,
                                    struct wf_error *err);
/* Hashes and writes; no fsync. */
enum wf_status wf_blob_upload_data(struct wf_blob_upload *u,
                                   const void *data,
                                   size_t n,
                                   struct wf_error *err);
/* EINVAL when the content's hash is not `sha256` (both are named). Frees the upload.
 * *ret_created: it was not there before. */
enum wf_status wf_blob_upload_finish(struct wf_blobs *b,
                                     struct wf_blob_upload *u,
                                     const char *sha256,
                                     struct wf_db *db,
                                     int64_t token_id,
                                     bool *ret_created,
                                     uint64_t *ret_bytes,
                                     struct wf_error *err);
void wf_blob_upload_abort(struct wf_blob_upload *u); /* NULL is good */

/* ENOTFOUND when file or row is not there. The caller closes *ret_fd. */
enum wf_status wf_blob_open(struct wf_blobs *b,
                            struct wf_db *db,
                            const char *sha256,
                            int *ret_fd,
                            uint64_t *ret_bytes,
                            struct wf_error *err);

/* Datasets among the blobs, for reading cases. Loaded ones are kept until it is closed;
 * one thread. */
struct wf_blob_datasets;
struct wf_blob_datasets *wf_blob_datasets_create(
    struct wf_blobs *b); /* NULL: no memory */
void wf_blob_datasets_destroy(struct wf_blob_datasets *d);
struct wf_dataset_resolver wf_blob_datasets_resolver(struct wf_blob_datasets *d);

#endif
