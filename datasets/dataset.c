/* Reads safetensors files: eight bytes of header length, a JSON header, raw data.
 *
 * Invariants of a wf_dataset: every tensor's bytes equal shape times element size, its
 * data lies in `arena` at a multiple of 8 (the file promises no alignment), and the
 * JSON root lives as long as the dataset, because names and metadata point into it.
 * Nothing is trusted: dataset_header.c checks each entry before its offsets are used.
 */
#include "datasets/dataset.h"

#include "core/file.h"
#include "datasets/dataset_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES   8u
#define MAX_FILE_BYTES ((size_t)4 << 30)
#define ALIGN_BYTES    8u
#define MAX_TENSORS    16384u /* bounds the work that a hostile header can cause */

struct wf_dataset {
    struct wf_json *header;
    const struct wf_json *metadata; /* in header, or NULL */
    struct wf_dataset_tensor *tensors;
    size_t count;
    unsigned char *arena;
    char sha256[WF_SHA256_HEX];
};

/* A file image and where its parts are. */
struct image {
    const unsigned char *bytes;
    size_t n;
    size_t header_bytes;
    const unsigned char *data;
    uint64_t data_bytes;
};

static uint64_t load_u64(const unsigned char *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--) {
        v = v << 8 | p[i];
    }
    return v;
}

static enum wf_status split_image(struct image *im, struct wf_error *err)
{
    if (im->n < LENGTH_BYTES) {
        return wf_errorf(err, WF_EPARSE,
                         "%zu bytes are too few for a safetensors file (8 bytes of "
                         "header length come first)",
                         im->n);
    }
    uint64_t header = load_u64(im->bytes);
    if (header > WF_DATASET_MAX_HEADER_BYTES) {
        return wf_errorf(err, WF_EPARSE,
                         "header length %" PRIu64 " is above the limit of %u bytes",
                         header, WF_DATASET_MAX_HEADER_BYTES);
    }
    if (header > im->n - LENGTH_BYTES) {
        return wf_errorf(err, WF_EPARSE,
                         "header length %" PRIu64 " is more than the %zu bytes that "
                         "follow (cut short?)",
                         header, im->n - LENGTH_BYTES);
    }
    if (header == 0 || im->bytes[LENGTH_BYTES] != '{') {
        return wf_errorf(err, WF_EPARSE, "the header does not begin with '{'");
    }
    im->header_bytes = (size_t)header;
    im->data = im->bytes + LENGTH_BYTES + header;
    im->data_bytes = im->n - LENGTH_BYTES - header;
    return WF_OK;
}

/* Entries of all tensors, in the header's order. */
static enum wf_status parse_entries(const struct wf_dataset *ds,
                                    uint64_t data_bytes,
                                    struct wf_dataset_entry *entries,
                                    size_t *ret_count,
                                    struct wf_error *err)
{
    size_t n = 0;
    for (const struct wf_json *m = wf_json_first(ds->header); m; m = wf_json_next(m)) {
        if (m == ds->metadata) {
            continue;
        }
        enum wf_status st = wf_dataset_entry_parse(m, data_bytes, &entries[n], err);
        if (st != WF_OK) {
            return st;
        }
        n++;
    }
    enum wf_status st = wf_dataset_entries_cover(entries, n, data_bytes, err);
    if (st == WF_OK && ds->metadata) {
        st = wf_dataset_apply_metadata(ds->metadata, entries, n, err);
    }
    if (st == WF_OK) {
        *ret_count = n;
    }
    return st;
}

static size_t aligned(uint64_t bytes)
{
    return ((size_t)bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

/* Copies the data of all entries, each to an aligned place. */
static enum wf_status take_tensors(struct wf_dataset *ds,
                                   const struct image *im,
                                   const struct wf_dataset_entry *entries,
                                   size_t n,
                                   struct wf_error *err)
{
    size_t total = ALIGN_BYTES;
    for (size_t i = 0; i < n; i++) {
        total += aligned(entries[i].tensor.bytes);
    }
    ds->arena = wf_calloc(total, 1);
    ds->tensors = wf_calloc(n + 1, sizeof *ds->tensors);
    if (!ds->arena || !ds->tensors) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu bytes of tensors", total);
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        ds->tensors[i] = entries[i].tensor;
        ds->tensors[i].data = ds->arena + at;
        memcpy(ds->arena + at, im->data + entries[i].begin,
               (size_t)entries[i].tensor.bytes);
        at += aligned(entries[i].tensor.bytes);
    }
    ds->count = n;
    return WF_OK;
}

static enum wf_status fill_dataset(struct wf_dataset *ds,
                                   struct image *im,
                                   struct wf_error *err)
{
    struct wf_dataset_entry *entries = NULL;
    size_t count = 0;
    enum wf_status st = split_image(im, err);
    if (st != WF_OK) {
        goto out;
    }
    st = wf_json_parse((const char *)im->bytes + LENGTH_BYTES, im->header_bytes,
                       "header", &ds->header, err);
    if (st != WF_OK) {
        goto out;
    }
    if (wf_json_count(ds->header) > MAX_TENSORS) {
        st = wf_errorf(err, WF_EPARSE, "%zu tensors, the limit is %u",
                       wf_json_count(ds->header), MAX_TENSORS);
        goto out;
    }
    entries = wf_calloc(wf_json_count(ds->header) + 1, sizeof *entries);
    if (!entries) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for the tensor list");
        goto out;
    }
    ds->metadata = wf_json_find(ds->header, WF_DATASET_METADATA);
    st = parse_entries(ds, im->data_bytes, entries, &count, err);
    if (st == WF_OK) {
        st = take_tensors(ds, im, entries, count, err);
    }
out:
    free(entries);
    return st;
}

enum wf_status wf_dataset_parse(const void *bytes,
                                size_t n,
                                const char *source,
                                struct wf_dataset **ret,
                                struct wf_error *err)
{
    struct image im = { .bytes = bytes, .n = n, .data = bytes };
    struct wf_dataset *ds = wf_calloc(1, sizeof *ds);
    if (!ds) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory", source);
    }
    enum wf_status st = fill_dataset(ds, &im, err);
    if (st != WF_OK) {
        wf_dataset_free(ds);
        (void)wf_error_prefix(err, "%s", source);
        return st;
    }
    wf_sha256_hex(bytes, n, ds->sha256);
    *ret = ds;
    return WF_OK;
}

enum wf_status wf_dataset_read_file(const char *path,
                                    struct wf_dataset **ret,
                                    struct wf_error *err)
{
    struct wf_buf buf = WF_BUF_INIT;
    enum wf_status st = wf_file_read(path, MAX_FILE_BYTES, &buf, err);
    if (st == WF_OK) {
        st = wf_dataset_parse(wf_buf_cstr(&buf), buf.len, path, ret, err);
    }
    wf_buf_free(&buf);
    return st;
}

void wf_dataset_free(struct wf_dataset *ds)
{
    if (!ds) {
        return;
    }
    wf_json_free(ds->header);
    free(ds->tensors);
    free(ds->arena);
    free(ds);
}

const char *wf_dataset_sha256(const struct wf_dataset *ds)
{
    return ds->sha256;
}

size_t wf_dataset_count(const struct wf_dataset *ds)
{
    return ds->count;
}

const struct wf_dataset_tensor *wf_dataset_at(const struct wf_dataset *ds, size_t i)
{
    return i < ds->count ? &ds->tensors[i] : NULL;
}

const struct wf_dataset_tensor *wf_dataset_find(const struct wf_dataset *ds,
                                                const char *name)
{
    for (size_t i = 0; i < ds->count; i++) {
        if (strcmp(ds->tensors[i].name, name) == 0) {
            return &ds->tensors[i];
        }
    }
    return NULL;
}

const char *wf_dataset_metadata(const struct wf_dataset *ds, const char *key)
{
    const struct wf_json *v = ds->metadata ? wf_json_find(ds->metadata, key) : NULL;
    return v ? wf_json_string(v) : NULL;
}
