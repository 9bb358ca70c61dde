/* Writes safetensors file images. The bytes depend on the arguments alone: tensors in
 * the order given, metadata sorted by key, blanks up to a multiple of 8. What this
 * writes, the reader accepts: the same rules are checked here first. */
#include "datasets/dataset.h"
#include "datasets/dataset_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum wf_status check_unique(const struct wf_dataset_tensor *tensors,
                                   size_t count,
                                   struct wf_error *err)
{
    enum wf_status st = WF_OK;
    const char **names = wf_calloc(count + 1, sizeof *names);
    if (!names) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu tensor names", count);
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = tensors[i].name;
    }
    if (count > 1) {
        qsort(names, count, sizeof *names, by_name);
    }
    for (size_t i = 1; i < count && st == WF_OK; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            st = wf_errorf(err, WF_EINVAL, "two tensors are named \"%.80s\"", names[i]);
        }
    }
    free(names);
    return st;
}

static enum wf_status check_tensor(const struct wf_dataset_tensor *t,
                                   struct wf_error *err)
{
    if (!t->name || t->name[0] == '\0' || strcmp(t->name, WF_DATASET_METADATA) == 0) {
        return wf_errorf(err, WF_EINVAL,
                         "a tensor needs a name, other than __metadata__");
    }
    uint64_t bytes;
    if (t->ndim < 0 || t->ndim > WF_DATASET_MAX_DIMS) {
        return wf_errorf(err, WF_EINVAL,
                         "tensor \"%.80s\" has %d dimensions, 0 to %d are allowed",
                         t->name, t->ndim, WF_DATASET_MAX_DIMS);
    }
    if (!wf_dataset_tensor_bytes(t, &bytes) || bytes != t->bytes) {
        return wf_errorf(err, WF_EINVAL,
                         "tensor \"%.80s\" has %" PRIu64
                         " bytes, which its shape and type do not give",
                         t->name, t->bytes);
    }
    if (bytes > 0 && !t->data) {
        return wf_errorf(err, WF_EINVAL, "tensor \"%.80s\" has no data", t->name);
    }
    return WF_OK;
}

static enum wf_status check_tensors(const struct wf_dataset_tensor *tensors,
                                    size_t count,
                                    struct wf_error *err)
{
    for (size_t i = 0; i < count; i++) {
        enum wf_status st = check_tensor(&tensors[i], err);
        if (st != WF_OK) {
            return st;
        }
    }
    return check_unique(tensors, count, err);
}

/* Caller's entries, checked, as a fresh object. */
static enum wf_status copy_metadata(const struct wf_json *metadata,
                                    struct wf_json *all,
                                    struct wf_error *err)
{
    if (!metadata) {
        return WF_OK;
    }
    if (wf_json_type(metadata) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "metadata must be an object of strings");
    }
    for (const struct wf_json *m = wf_json_first(metadata); m; m = wf_json_next(m)) {
        const char *key = wf_json_key(m), *value = wf_json_string(m);
        if (!value) {
            return wf_errorf(err, WF_EINVAL, "metadata \"%.80s\" must be a string",
                             key);
        }
        if (strncmp(key, WF_DATASET_DTYPE_KEY, strlen(WF_DATASET_DTYPE_KEY)) == 0) {
            return wf_errorf(err, WF_EINVAL,
                             "metadata \"%.80s\" is reserved, the writer sets it", key);
        }
        enum wf_status st = wf_json_set_string(all, key, value, err);
        if (st != WF_OK) {
            return st;
        }
    }
    return WF_OK;
}

static enum wf_status add_fnuz(const struct wf_dataset_tensor *t,
                               struct wf_json *all,
                               struct wf_error *err)
{
    char *key = wf_asprintf("%s%s", WF_DATASET_DTYPE_KEY, t->name);
    if (!key) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the metadata");
    }
    enum wf_status st = wf_json_set_string(all, key, wf_dtype_name(t->dtype), err);
    free(key);
    return st;
}

static enum wf_status set_sorted_metadata(struct wf_json *header,
                                          const struct wf_json *all,
                                          struct wf_error *err)
{
    size_t n = wf_json_count(all), i = 0;
    if (n == 0) {
        return WF_OK;
    }
    const char **keys = wf_calloc(n, sizeof *keys);
    struct wf_json *sorted = wf_json_object();
    enum wf_status st = WF_OK;
    if (!keys || !sorted) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for the metadata");
        goto out;
    }
    for (const struct wf_json *m = wf_json_first(all); m; m = wf_json_next(m)) {
        keys[i++] = wf_json_key(m);
    }
    qsort(keys, n, sizeof *keys, by_name);
    for (i = 0; i < n && st == WF_OK; i++) {
        const char *value = wf_json_string(wf_json_find(all, keys[i]));
        st = wf_json_set_string(sorted, keys[i], value, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_take(header, WF_DATASET_METADATA, sorted, err);
        sorted = NULL;
    }
out:
    wf_json_free(sorted);
    free(keys);
    return st;
}

static enum wf_status build_metadata(const struct wf_dataset_tensor *tensors,
                                     size_t count,
                                     const struct wf_json *metadata,
                                     struct wf_json *header,
                                     struct wf_error *err)
{
    struct wf_json *all = wf_json_object();
    if (!all) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the metadata");
    }
    enum wf_status st = copy_metadata(metadata, all, err);
    for (size_t i = 0; i < count && st == WF_OK; i++) {
        if (!wf_dataset_tag(tensors[i].dtype)) {
            st = add_fnuz(&tensors[i], all, err);
        }
    }
    if (st == WF_OK) {
        st = set_sorted_metadata(header, all, err);
    }
    wf_json_free(all);
    return st;
}

static enum wf_status add_entry(const struct wf_dataset_tensor *t,
                                uint64_t begin,
                                struct wf_json *header,
                                struct wf_error *err)
{
    struct wf_json *entry = wf_json_object(), *shape = wf_json_array();
    struct wf_json *offsets = wf_json_array();
    const char *tag = wf_dataset_tag(t->dtype);
    enum wf_status st = wf_json_set_string(entry, "dtype", tag ? tag : "U8", err);
    for (int i = 0; i < t->ndim && st == WF_OK; i++) {
        st = wf_json_push_i64(shape, t->dim[i], err);
    }
    if (st == WF_OK) {
        st = wf_json_push_i64(offsets, (int64_t)begin, err);
    }
    if (st == WF_OK) {
        st = wf_json_push_i64(offsets, (int64_t)(begin + t->bytes), err);
    }
    if (st == WF_OK) {
        st = wf_json_set_take(entry, "shape", shape, err);
        shape = NULL;
    }
    if (st == WF_OK) {
        st = wf_json_set_take(entry, "data_offsets", offsets, err);
        offsets = NULL;
    }
    if (st == WF_OK) {
        st = wf_json_set_take(header, t->name, entry, err);
        entry = NULL;
    }
    wf_json_free(offsets);
    wf_json_free(shape);
    wf_json_free(entry);
    return st;
}

static enum wf_status build_header(const struct wf_dataset_tensor *tensors,
                                   size_t count,
                                   const struct wf_json *metadata,
                                   struct wf_buf *text,
                                   struct wf_error *err)
{
    struct wf_json *header = wf_json_object();
    if (!header) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the header");
    }
    enum wf_status st = build_metadata(tensors, count, metadata, header, err);
    uint64_t at = 0;
    for (size_t i = 0; i < count && st == WF_OK; i++) {
        st = add_entry(&tensors[i], at, header, err);
        at += tensors[i].bytes;
    }
    if (st == WF_OK) {
        st = wf_json_write(header, text, err);
    }
    while (st == WF_OK && text->len % 8 != 0) {
        st = wf_buf_puts(text, " ", err);
    }
    if (st == WF_OK && text->len > WF_DATASET_MAX_HEADER_BYTES) {
        st = wf_errorf(err, WF_EINVAL, "a header of %zu bytes is above the limit of %u",
                       text->len, WF_DATASET_MAX_HEADER_BYTES);
    }
    wf_json_free(header);
    return st;
}

static enum wf_status append_image(const struct wf_dataset_tensor *tensors,
                                   size_t count,
                                   const struct wf_buf *header,
                                   struct wf_buf *out,
                                   struct wf_error *err)
{
    unsigned char length[8];
    for (size_t i = 0; i < sizeof length; i++) {
        length[i] = (unsigned char)((uint64_t)header->len >> (8 * i));
    }
    enum wf_status st = wf_buf_add(out, length, sizeof length, err);
    if (st == WF_OK) {
        st = wf_buf_add(out, header->data, header->len, err);
    }
    for (size_t i = 0; i < count && st == WF_OK; i++) {
        if (tensors[i].bytes > 0) {
            st = wf_buf_add(out, tensors[i].data, (size_t)tensors[i].bytes, err);
        }
    }
    return st;
}

enum wf_status wf_dataset_write(const struct wf_dataset_tensor *tensors,
                                size_t count,
                                const struct wf_json *metadata,
                                struct wf_buf *out,
                                struct wf_error *err)
{
    struct wf_buf header = WF_BUF_INIT, image = WF_BUF_INIT;
    enum wf_status st = check_tensors(tensors, count, err);
    if (st == WF_OK) {
        st = build_header(tensors, count, metadata, &header, err);
    }
    if (st == WF_OK) {
        st = append_image(tensors, count, &header, &image, err);
    }
    if (st == WF_OK && out->len == 0) {
        wf_buf_free(out);
        *out = image;
        image = (struct wf_buf)WF_BUF_INIT;
    } else if (st == WF_OK) {
        st = wf_buf_add(out, image.data, image.len, err);
    }
    wf_buf_free(&image);
    wf_buf_free(&header);
    return st;
}
