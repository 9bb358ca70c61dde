/* Rules of a safetensors header. Everything in it comes from outside and may lie: each
 * number is range-checked before use, and products are checked for overflow. */
#include "datasets/dataset_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* X(our type, tag). fnuz types have no tag. */
#define TAG_LIST(X)      \
    X(F64, "F64")        \
    X(F32, "F32")        \
    X(F16, "F16")        \
    X(BF16, "BF16")      \
    X(I64, "I64")        \
    X(I32, "I32")        \
    X(I8, "I8")          \
    X(U8, "U8")          \
    X(E4M3FN, "F8_E4M3") \
    X(E5M2, "F8_E5M2")

static const struct {
    enum wf_dtype dtype;
    const char *tag;
} tags[] = {
#define X(name, text) { WF_##name, text },
    TAG_LIST(X)
#undef X
};

#define TAG_COUNT (sizeof tags / sizeof tags[0])

const char *wf_dataset_tag(enum wf_dtype t)
{
    for (size_t i = 0; i < TAG_COUNT; i++) {
        if (tags[i].dtype == t) {
            return tags[i].tag;
        }
    }
    return NULL;
}

static enum wf_status parse_tag(const char *text,
                                enum wf_dtype *ret,
                                struct wf_error *err)
{
    for (size_t i = 0; i < TAG_COUNT; i++) {
        if (strcmp(tags[i].tag, text) == 0) {
            *ret = tags[i].dtype;
            return WF_OK;
        }
    }
    return wf_errorf(err, WF_EPARSE,
                     "dtype \"%.40s\" is not supported (F64 F32 F16 BF16 I64 I32 I8 U8 "
                     "F8_E4M3 F8_E5M2 are)",
                     text);
}

bool wf_dataset_tensor_bytes(const struct wf_dataset_tensor *t, uint64_t *ret)
{
    uint64_t n = wf_dtype_bytes(t->dtype);
    for (int i = 0; i < t->ndim; i++) {
        if (t->dim[i] < 0 || __builtin_mul_overflow(n, (uint64_t)t->dim[i], &n)) {
            return false;
        }
    }
    *ret = n;
    return true;
}

static enum wf_status parse_shape(const struct wf_json *v,
                                  struct wf_dataset_tensor *t,
                                  struct wf_error *err)
{
    const struct wf_json *shape;
    enum wf_status st = wf_json_get_array(v, "shape", &shape, err);
    if (st != WF_OK) {
        return st;
    }
    size_t n = wf_json_count(shape);
    if (n > WF_DATASET_MAX_DIMS) {
        return wf_errorf(err, WF_EPARSE, "shape has %zu dimensions, the limit is %d", n,
                         WF_DATASET_MAX_DIMS);
    }
    t->ndim = 0;
    for (const struct wf_json *d = wf_json_first(shape); d; d = wf_json_next(d)) {
        if (!wf_json_as_i64(d, &t->dim[t->ndim]) || t->dim[t->ndim] < 0) {
            return wf_errorf(err, WF_EPARSE,
                             "shape[%d] must be an integer from 0 to 2^63-1", t->ndim);
        }
        t->ndim++;
    }
    if (!wf_dataset_tensor_bytes(t, &t->bytes)) {
        return wf_errorf(err, WF_ERANGE, "shape needs more than 2^64 bytes");
    }
    return WF_OK;
}

static enum wf_status parse_offsets(const struct wf_json *v,
                                    uint64_t data_bytes,
                                    struct wf_dataset_entry *e,
                                    struct wf_error *err)
{
    const struct wf_json *offsets;
    enum wf_status st = wf_json_get_array(v, "data_offsets", &offsets, err);
    if (st != WF_OK) {
        return st;
    }
    if (wf_json_count(offsets) != 2 ||
        !wf_json_as_u64(wf_json_at(offsets, 0), &e->begin) ||
        !wf_json_as_u64(wf_json_at(offsets, 1), &e->end)) {
        return wf_errorf(err, WF_EPARSE,
                         "data_offsets must be [begin, end], two integers from 0");
    }
    if (e->begin > e->end) {
        return wf_errorf(err, WF_EPARSE,
                         "data_offsets [%" PRIu64 ", %" PRIu64 "] are reversed",
                         e->begin, e->end);
    }
    if (e->end > data_bytes) {
        return wf_errorf(err, WF_EPARSE,
                         "data_offsets end at %" PRIu64 ", but the file has %" PRIu64
                         " bytes of data (cut short?)",
                         e->end, data_bytes);
    }
    if (e->end - e->begin != e->tensor.bytes) {
        return wf_errorf(err, WF_EPARSE,
                         "data_offsets span %" PRIu64
                         " bytes, shape and dtype need %" PRIu64,
                         e->end - e->begin, e->tensor.bytes);
    }
    return WF_OK;
}

static enum wf_status parse_entry_members(const struct wf_json *v,
                                          uint64_t data_bytes,
                                          struct wf_dataset_entry *e,
                                          struct wf_error *err)
{
    static const char *const keys[] = { "dtype", "shape", "data_offsets", NULL };
    if (wf_json_type(v) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EPARSE, "must be an object, not %s",
                         wf_json_type_name(wf_json_type(v)));
    }
    const char *tag;
    enum wf_status st = wf_json_only_keys(v, keys, err);
    if (st == WF_OK) {
        st = wf_json_get_string(v, "dtype", &tag, err);
    }
    if (st == WF_OK) {
        st = parse_tag(tag, &e->tensor.dtype, err);
    }
    if (st == WF_OK) {
        st = parse_shape(v, &e->tensor, err);
    }
    if (st == WF_OK) {
        st = parse_offsets(v, data_bytes, e, err);
    }
    return st;
}

enum wf_status wf_dataset_entry_parse(const struct wf_json *v,
                                      uint64_t data_bytes,
                                      struct wf_dataset_entry *ret,
                                      struct wf_error *err)
{
    struct wf_dataset_entry e = { .tensor = { .name = wf_json_key(v) } };
    if (!e.tensor.name || e.tensor.name[0] == '\0') {
        return wf_errorf(err, WF_EPARSE, "a tensor has no name");
    }
    enum wf_status st = parse_entry_members(v, data_bytes, &e, err);
    if (st != WF_OK) {
        (void)wf_error_prefix(err, "tensor \"%.80s\"", e.tensor.name);
        return st;
    }
    *ret = e;
    return WF_OK;
}

static int by_offset(const void *a, const void *b)
{
    const struct wf_dataset_entry *x = a, *y = b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    return x->end < y->end ? -1 : x->end > y->end;
}

static enum wf_status walk_sorted(const struct wf_dataset_entry *sorted,
                                  size_t n,
                                  uint64_t data_bytes,
                                  struct wf_error *err)
{
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (sorted[i].begin != at) {
            return wf_errorf(
                err, WF_EPARSE,
                "tensor \"%.80s\" begins at %" PRIu64 ", %s (expected %" PRIu64 ")",
                sorted[i].tensor.name, sorted[i].begin,
                sorted[i].begin < at ? "inside another tensor" : "after a hole", at);
        }
        at = sorted[i].end;
    }
    if (at != data_bytes) {
        return wf_errorf(err, WF_EPARSE,
                         "%" PRIu64 " bytes after the last tensor belong to none",
                         data_bytes - at);
    }
    return WF_OK;
}

enum wf_status wf_dataset_entries_cover(const struct wf_dataset_entry *entries,
                                        size_t n,
                                        uint64_t data_bytes,
                                        struct wf_error *err)
{
    struct wf_dataset_entry *sorted = wf_calloc(n + 1, sizeof *sorted);
    if (!sorted) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu tensors", n);
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = entries[i];
    }
    if (n > 1) {
        qsort(sorted, n, sizeof *sorted, by_offset);
    }
    enum wf_status st = walk_sorted(sorted, n, data_bytes, err);
    free(sorted);
    return st;
}

/* One "wavefarm.dtype.<tensor>" entry. */
static enum wf_status apply_dtype(const char *name,
                                  const char *text,
                                  struct wf_dataset_entry *entries,
                                  size_t n,
                                  struct wf_error *err)
{
    struct wf_dataset_entry *e = NULL;
    for (size_t i = 0; i < n && !e; i++) {
        if (strcmp(entries[i].tensor.name, name) == 0) {
            e = &entries[i];
        }
    }
    if (!e) {
        return wf_errorf(err, WF_EPARSE, "there is no tensor \"%.80s\"", name);
    }
    enum wf_dtype t;
    if (!wf_dtype_parse(text, &t) || (t != WF_E4M3FNUZ && t != WF_E5M2FNUZ)) {
        return wf_errorf(err, WF_EPARSE, "\"%.40s\" must be e4m3fnuz or e5m2fnuz",
                         text);
    }
    if (e->tensor.dtype != WF_U8) {
        return wf_errorf(err, WF_EPARSE, "the tensor has dtype %s, only U8 holds %s",
                         wf_dataset_tag(e->tensor.dtype), text);
    }
    e->tensor.dtype = t;
    return WF_OK;
}

enum wf_status wf_dataset_apply_metadata(const struct wf_json *metadata,
                                         struct wf_dataset_entry *entries,
                                         size_t n,
                                         struct wf_error *err)
{
    if (wf_json_type(metadata) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EPARSE,
                         "__metadata__ must be an object of strings, not %s",
                         wf_json_type_name(wf_json_type(metadata)));
    }
    const size_t prefix = strlen(WF_DATASET_DTYPE_KEY);
    for (const struct wf_json *m = wf_json_first(metadata); m; m = wf_json_next(m)) {
        const char *key = wf_json_key(m), *value = wf_json_string(m);
        if (!value) {
            return wf_errorf(err, WF_EPARSE,
                             "__metadata__ \"%.80s\" must be a string, not %s", key,
                             wf_json_type_name(wf_json_type(m)));
        }
        if (strncmp(key, WF_DATASET_DTYPE_KEY, prefix) != 0) {
            continue;
        }
        enum wf_status st = apply_dtype(key + prefix, value, entries, n, err);
        if (st != WF_OK) {
            (void)wf_error_prefix(err, "__metadata__ \"%.120s\"", key);
            return st;
        }
    }
    return WF_OK;
}
