#include "selftest/tables.h"

#include "core/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static enum wf_status read_lengths(const struct wf_json *json,
                                   const char *key,
                                   int64_t *ret,
                                   size_t most,
                                   size_t *ret_count,
                                   struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status st = wf_json_get_array(json, key, &list, err);
    if (st == WF_OK && wf_json_count(list) > most) {
        st = wf_errorf(err, WF_EINVAL, "%s: at most %zu values", key, most);
    }
    for (size_t i = 0; st == WF_OK && i < wf_json_count(list); i++) {
        if (!wf_json_as_i64(wf_json_at(list, i), &ret[i]) || ret[i] < 0 ||
            ret[i] > 1000000) {
            st = wf_errorf(err, WF_EINVAL, "%s[%zu] is no length", key, i);
        }
    }
    if (st == WF_OK) {
        *ret_count = wf_json_count(list);
    }
    return st;
}

static enum wf_status read_pages(const struct wf_json *json,
                                 struct wf_table *ret,
                                 struct wf_error *err)
{
    static int64_t wide[WF_TABLE_MAX_PAGES];
    size_t n = 0;
    if (wf_json_find(json, "pages") == NULL) {
        return WF_OK;
    }
    enum wf_status st = read_lengths(json, "pages", wide, WF_TABLE_MAX_PAGES, &n, err);
    for (size_t i = 0; st == WF_OK && i < n; i++) {
        ret->pages[i] = (int32_t)wide[i];
    }
    ret->page_count = n;
    return st;
}

enum wf_status wf_table_read(const struct wf_json *json,
                             struct wf_table *ret,
                             struct wf_error *err)
{
    static const char *const KEYS[] = { "page_size", "num_pages", "kv_len", "q_len",
                                        "seed",      "pages",     NULL };
    int64_t seed = 1;
    size_t queries = 0;
    *ret = (struct wf_table){ .page_size = 0 };
    enum wf_status st = wf_json_only_keys(json, KEYS, err);
    if (st == WF_OK) {
        st = wf_json_opt_i64(json, "page_size", 1, 65536, &ret->page_size, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_i64(json, "num_pages", 1,
                             wf_json_find(json, "pages") ? WF_TABLE_MAX_POOL
                                                         : WF_TABLE_MAX_PAGES,
                             &ret->num_pages, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_i64(json, "seed", 0, INT64_MAX, &seed, err);
    }
    if (st == WF_OK) {
        st = read_lengths(json, "kv_len", ret->kv_len, WF_TABLE_MAX_SEQUENCES,
                          &ret->batch, err);
    }
    ret->has_q_len = wf_json_find(json, "q_len") != NULL;
    if (st == WF_OK && ret->has_q_len) {
        st = read_lengths(json, "q_len", ret->q_len, WF_TABLE_MAX_SEQUENCES, &queries,
                          err);
    }
    if (st == WF_OK && ret->has_q_len && queries != ret->batch) {
        st = wf_errorf(err, WF_EINVAL, "q_len and kv_len have different lengths");
    }
    ret->seed = (uint64_t)seed;
    return st == WF_OK ? read_pages(json, ret, err) : st;
}

static int64_t pages_of(const struct wf_table *t, size_t b)
{
    return (t->kv_len[b] + t->page_size - 1) / t->page_size;
}

size_t wf_table_need(const struct wf_table *t)
{
    size_t n = 0;
    for (size_t b = 0; t->page_size > 0 && b < t->batch; b++) {
        n += (size_t)pages_of(t, b);
    }
    return n;
}

struct arrays {
    int32_t qo[WF_TABLE_MAX_SEQUENCES + 1], kv[WF_TABLE_MAX_SEQUENCES + 1];
    int32_t last[WF_TABLE_MAX_SEQUENCES], ids[WF_TABLE_MAX_PAGES];
};

static void fill_lengths(const struct wf_table *t, struct arrays *a)
{
    for (size_t b = 0; b < t->batch; b++) {
        const int64_t n = t->page_size > 0 ? pages_of(t, b) : t->kv_len[b];
        a->kv[b + 1] = a->kv[b] + (int32_t)n;
        a->qo[b + 1] = a->qo[b] + (int32_t)t->q_len[b];
        a->last[b] = t->page_size > 0 && n > 0
                         ? (int32_t)(t->kv_len[b] - (n - 1) * t->page_size)
                         : 0;
    }
}

/* The first pages of a permutation of the pool, or those given. */
static void fill_ids(const struct wf_table *t, struct arrays *a)
{
    struct wf_rng rng = { t->seed, 77, 0 };
    for (size_t i = 0; i < t->page_count; i++) {
        a->ids[i] = t->pages[i];
    }
    if (t->page_count > 0) {
        return;
    }
    for (int64_t i = 0; i < t->num_pages; i++) {
        a->ids[i] = (int32_t)i;
    }
    for (int64_t i = t->num_pages - 1; i > 0; i--) {
        const uint64_t j = wf_rng_next_below(&rng, (uint64_t)i + 1);
        const int32_t other = a->ids[j];
        a->ids[j] = a->ids[i];
        a->ids[i] = other;
    }
}

static struct wf_dataset_tensor vector(const char *name, const int32_t *data, size_t n)
{
    return (struct wf_dataset_tensor){ .name = name,
                                       .dtype = WF_I32,
                                       .ndim = 1,
                                       .dim = { (int64_t)n },
                                       .data = data,
                                       .bytes = n * sizeof(*data) };
}

static enum wf_status metadata_of(const struct wf_table *t,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    char text[32];
    struct wf_json *o = wf_json_object();
    enum wf_status st = wf_json_set_string(o, "made_by", "wavefarm selftest", err);
    if (st == WF_OK && t->page_size > 0) {
        (void)snprintf(text, sizeof(text), "%" PRId64, t->page_size);
        st = wf_json_set_string(o, "page_size", text, err);
    }
    if (st == WF_OK && t->page_size > 0) {
        (void)snprintf(text, sizeof(text), "%" PRId64, t->num_pages);
        st = wf_json_set_string(o, "num_pages", text, err);
    }
    *ret = o;
    return st;
}

enum wf_status wf_table_store(const struct wf_table *t,
                              struct wf_dataset_store *store,
                              char ret_sha256[WF_SHA256_HEX],
                              struct wf_error *err)
{
    const size_t need = wf_table_need(t);
    struct wf_dataset_tensor tensor[4];
    size_t n = 0;
    struct wf_json *metadata = NULL;
    struct wf_buf image = WF_BUF_INIT;
    if (t->page_size > 0 && (int64_t)need > t->num_pages && t->page_count == 0) {
        return wf_errorf(err, WF_EINVAL, "%zu pages are needed, num_pages is %" PRId64,
                         need, t->num_pages);
    }
    if (t->page_size > 0 && t->page_count > 0 && t->page_count != need) {
        return wf_errorf(err, WF_EINVAL, "%zu pages are needed, \"pages\" lists %zu",
                         need, t->page_count);
    }
    struct arrays *a = wf_calloc(1, sizeof(*a));
    if (a == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a table");
    }
    fill_lengths(t, a);
    tensor[n++] = vector("kv_indptr", a->kv, t->batch + 1);
    if (t->page_size > 0) {
        fill_ids(t, a);
        tensor[n++] = vector("kv_indices", a->ids, need);
        tensor[n++] = vector("kv_last_page_len", a->last, t->batch);
    }
    if (t->has_q_len) {
        tensor[n++] = vector("qo_indptr", a->qo, t->batch + 1);
    }
    enum wf_status st = metadata_of(t, &metadata, err);
    if (st == WF_OK) {
        st = wf_dataset_write(tensor, n, metadata, &image, err);
    }
    if (st == WF_OK) {
        st = wf_dataset_store_add(store, image.data, image.len, ret_sha256, err);
    }
    wf_json_free(metadata);
    wf_buf_free(&image);
    free(a);
    return st;
}
