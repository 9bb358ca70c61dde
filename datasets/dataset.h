/* A dataset: structure that a case needs beyond its shape (page tables, sequence
 * lengths, routing). A safetensors file named by the SHA-256 of its content.
 *
 * Reading is strict and safe against hostile files: header length at most 100 MB and
 * inside the file, offsets inside the data, no holes, no overlaps, byte count equal to
 * shape times element size, unique names. The file is read into memory, not mapped. */
#ifndef WF_DATASETS_DATASET_H
#define WF_DATASETS_DATASET_H

#include "core/buf.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"

#include <stddef.h>
#include <stdint.h>

#define WF_DATASET_MAX_DIMS 8

struct wf_dataset; /* opaque, immutable */

struct wf_dataset_tensor {
    const char *name; /* borrowed */
    enum wf_dtype dtype;
    int ndim;
    int64_t dim[WF_DATASET_MAX_DIMS];
    const void *data; /* borrowed; little-endian, aligned to 8 bytes */
    uint64_t bytes;
};

enum wf_status wf_dataset_read_file(const char *path,
                                    struct wf_dataset **ret,
                                    struct wf_error *err);
/* Copies `bytes`. `source` names it in errors. */
enum wf_status wf_dataset_parse(const void *bytes,
                                size_t n,
                                const char *source,
                                struct wf_dataset **ret,
                                struct wf_error *err);
void wf_dataset_free(struct wf_dataset *ds);

const char *wf_dataset_sha256(const struct wf_dataset *ds); /* of the whole file */
size_t wf_dataset_count(const struct wf_dataset *ds);
const struct wf_dataset_tensor *wf_dataset_at(const struct wf_dataset *ds, size_t i);
const struct wf_dataset_tensor *wf_dataset_find(const struct wf_dataset *ds,
                                                const char *name); /* or NULL */
/* Value of a __metadata__ entry, or NULL. */
const char *wf_dataset_metadata(const struct wf_dataset *ds, const char *key);

/* Writes a safetensors file image: header padded with blanks to a multiple of 8,
 * tensors in the order given, metadata sorted by key. `metadata` is an object of
 * strings or NULL. */
enum wf_status wf_dataset_write(const struct wf_dataset_tensor *tensors,
                                size_t count,
                                const struct wf_json *metadata,
                                struct wf_buf *out,
                                struct wf_error *err);

/* How a case finds its dataset by hash. */
struct wf_dataset_resolver {
    /* *ret is borrowed from the resolver. ENOTFOUND when it is not there. */
    enum wf_status (*find)(void *ctx,
                           const char *sha256,
                           const struct wf_dataset **ret,
                           struct wf_error *err);
    void *ctx;
};

/* A resolver over a folder of "<sha256>.safetensors" files; checks the hash on load and
 * keeps what it loaded. */
struct wf_dataset_store; /* opaque */
enum wf_status wf_dataset_store_open(const char *folder,
                                     struct wf_dataset_store **ret,
                                     struct wf_error *err);
void wf_dataset_store_close(struct wf_dataset_store *store);
/* What is made for the store (a suite's recipes) ends with ECANCELLED when *cancel is
 * set. NULL: never. */
void wf_dataset_store_set_cancel(struct wf_dataset_store *store,
                                 const volatile int *cancel);
const volatile int *wf_dataset_store_cancel(const struct wf_dataset_store *store);
struct wf_dataset_resolver wf_dataset_store_resolver(struct wf_dataset_store *store);
/* Adds a file image under its hash (atomic); *ret_sha256 gets the hash. */
enum wf_status wf_dataset_store_add(struct wf_dataset_store *store,
                                    const void *bytes,
                                    size_t n,
                                    char ret_sha256[WF_SHA256_HEX],
                                    struct wf_error *err);

#endif
