/* Reads a list of pages, orders it, and writes the table. */
#include "datasets/page_list.h"

#include "core/rng.h"
#include "datasets/dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SEQUENCES 65536
#define MAX_ENTRIES   (1 << 22)
#define MAX_LEN       (INT64_C(1) << 30)
#define ORDER_STREAM  UINT64_C(0x70616765)

struct list {
    int64_t page_size, num_pages, seed;
    int64_t *kv_len, *q_len, *pages;
    size_t batch, q_count, page_count;
    const char *order;
    /* The file's tensors. */
    int32_t *kv_indptr, *kv_indices, *last, *qo_indptr;
};

static void list_fini(struct list *l)
{
    free(l->kv_len);
    free(l->q_len);
    free(l->pages);
    free(l->kv_indptr);
    free(l->kv_indices);
    free(l->last);
    free(l->qo_indptr);
}

struct bounds {
    int64_t min, max;
    size_t most;
};

/* An array of integers; absent: *ret stays NULL. */
static enum wf_status read_array(const struct wf_json *recipe,
                                 const char *key,
                                 const struct bounds *b,
                                 int64_t **ret,
                                 size_t *ret_n,
                                 struct wf_error *err)
{
    const struct wf_json *array = wf_json_find(recipe, key);
    if (!array) {
        return WF_OK;
    }
    if (wf_json_type(array) != WF_JSON_ARRAY || wf_json_count(array) > b->most) {
        return wf_errorf(err, WF_EINVAL,
                         "\"%s\" must be a list of at most %zu integers", key, b->most);
    }
    *ret = wf_calloc(wf_json_count(array) + 1, sizeof(**ret));
    if (!*ret) {
        return wf_errorf(err, WF_ENOMEM, "no memory for \"%s\"", key);
    }
    for (const struct wf_json *v = wf_json_first(array); v; v = wf_json_next(v)) {
        const bool good = wf_json_as_i64(v, &(*ret)[*ret_n]);
        if (!good || (*ret)[*ret_n] < b->min || (*ret)[*ret_n] > b->max) {
            return wf_errorf(err, WF_EINVAL,
                             "\"%s\"[%zu] must be an integer from %" PRId64
                             " to %" PRId64,
                             key, *ret_n, b->min, b->max);
        }
        ++*ret_n;
    }
    return WF_OK;
}

static enum wf_status read_arrays(const struct wf_json *recipe,
                                  struct list *l,
                                  struct wf_error *err)
{
    const struct bounds kv = { 0, MAX_LEN, MAX_SEQUENCES };
    const struct bounds q = { 0, MAX_LEN, MAX_SEQUENCES };
    const struct bounds ids = { 0, l->num_pages - 1, MAX_ENTRIES };
    enum wf_status st = read_array(recipe, "kv_len", &kv, &l->kv_len, &l->batch, err);
    if (st == WF_OK) {
        st = read_array(recipe, "q_len", &q, &l->q_len, &l->q_count, err);
    }
    if (st == WF_OK) {
        st = read_array(recipe, "pages", &ids, &l->pages, &l->page_count, err);
    }
    if (st == WF_OK && (l->batch == 0 || !l->pages)) {
        st = wf_errorf(err, WF_EINVAL, "\"kv_len\" and \"pages\" are required");
    }
    if (st == WF_OK && l->q_len && l->q_count != l->batch) {
        st = wf_errorf(err, WF_EINVAL, "\"q_len\" has %zu entries, \"kv_len\" has %zu",
                       l->q_count, l->batch);
    }
    return st;
}

static enum wf_status check_count(const struct list *l, struct wf_error *err)
{
    int64_t need = 0, queries = 0;
    for (size_t s = 0; s < l->batch; s++) {
        need += (l->kv_len[s] + l->page_size - 1) / l->page_size;
        queries += l->q_len ? l->q_len[s] : 1;
    }
    if (need != (int64_t)l->page_count) {
        return wf_errorf(err, WF_EINVAL,
                         "\"pages\" has %zu entries; \"kv_len\" with \"page_size\" "
                         "%" PRId64 " needs %" PRId64,
                         l->page_count, l->page_size, need);
    }
    if (queries == 0 || queries > INT32_MAX) {
        return wf_errorf(err, WF_EINVAL, "\"q_len\" holds %" PRId64 " queries",
                         queries);
    }
    return WF_OK;
}

static enum wf_status read_list(const struct wf_json *recipe,
                                struct list *l,
                                struct wf_error *err)
{
    static const char *const KEYS[] = { "kind",   "page_size", "num_pages",
                                        "kv_len", "q_len",     "pages",
                                        "order",  "seed",      NULL };
    static const char *const ORDERS[] = { "given", "ascending", "descending",
                                          "permuted", NULL };
    int known = 0;
    l->order = ORDERS[0];
    enum wf_status st = wf_json_only_keys(recipe, KEYS, err);
    if (st == WF_OK) {
        st = wf_json_get_i64(recipe, "page_size", 1, 65536, &l->page_size, err);
    }
    if (st == WF_OK) {
        st = wf_json_get_i64(recipe, "num_pages", 1, INT32_MAX, &l->num_pages, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_i64(recipe, "seed", 0, INT64_MAX, &l->seed, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_string(recipe, "order", &l->order, err);
    }
    for (int i = 0; st == WF_OK && ORDERS[i]; i++) {
        known |= strcmp(ORDERS[i], l->order) == 0;
    }
    if (st == WF_OK && !known) {
        st = wf_errorf(err, WF_EINVAL,
                       "\"order\" is \"%.40s\", known are: given, ascending, "
                       "descending, permuted",
                       l->order);
    }
    if (st == WF_OK) {
        st = read_arrays(recipe, l, err);
    }
    return st == WF_OK ? check_count(l, err) : st;
}

enum wf_status wf_page_list_check(const struct wf_json *recipe, struct wf_error *err)
{
    struct list l = { 0 };
    enum wf_status st = read_list(recipe, &l, err);
    list_fini(&l);
    return st;
}

/* --- the table --- */

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int descending(const void *a, const void *b)
{
    return ascending(b, a);
}

static void put_in_order(struct list *l)
{
    struct wf_rng rng = { (uint64_t)l->seed, ORDER_STREAM, 0 };
    if (l->order[0] == 'a' || l->order[0] == 'd') {
        qsort(l->pages, l->page_count, sizeof(l->pages[0]),
              l->order[0] == 'a' ? ascending : descending);
    }
    for (size_t i = l->page_count; l->order[0] == 'p' && i > 1; i--) {
        const size_t k = (size_t)wf_rng_next_below(&rng, i);
        const int64_t kept = l->pages[i - 1];
        l->pages[i - 1] = l->pages[k];
        l->pages[k] = kept;
    }
}

static enum wf_status fill_tables(struct list *l, struct wf_error *err)
{
    l->kv_indptr = wf_calloc(l->batch + 1, sizeof(int32_t));
    l->qo_indptr = wf_calloc(l->batch + 1, sizeof(int32_t));
    l->last = wf_calloc(l->batch, sizeof(int32_t));
    l->kv_indices = wf_calloc(l->page_count + 1, sizeof(int32_t));
    if (!l->kv_indptr || !l->qo_indptr || !l->last || !l->kv_indices) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu sequences", l->batch);
    }
    for (size_t s = 0; s < l->batch; s++) {
        const int64_t n = (l->kv_len[s] + l->page_size - 1) / l->page_size;
        l->kv_indptr[s + 1] = (int32_t)(l->kv_indptr[s] + n);
        l->last[s] = (int32_t)(n > 0 ? l->kv_len[s] - (n - 1) * l->page_size : 0);
        l->qo_indptr[s + 1] = (int32_t)(l->qo_indptr[s] + (l->q_len ? l->q_len[s] : 1));
    }
    for (size_t i = 0; i < l->page_count; i++) {
        l->kv_indices[i] = (int32_t)l->pages[i];
    }
    return WF_OK;
}

static enum wf_status write_metadata(const struct wf_json *recipe,
                                     const struct list *l,
                                     struct wf_json *meta,
                                     struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    char number[32];
    enum wf_status st = wf_json_set_string(meta, "format", WF_PAGE_LIST_FORMAT, err);
    (void)snprintf(number, sizeof number, "%" PRId64, l->page_size);
    if (st == WF_OK) {
        st = wf_json_set_string(meta, "page_size", number, err);
    }
    (void)snprintf(number, sizeof number, "%" PRId64, l->num_pages);
    if (st == WF_OK) {
        st = wf_json_set_string(meta, "num_pages", number, err);
    }
    if (st == WF_OK) {
        st = wf_json_write_canonical(recipe, &text, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_string(meta, "recipe", wf_buf_cstr(&text), err);
    }
    wf_buf_free(&text);
    return st;
}

static struct wf_dataset_tensor tensor(const char *name, const int32_t *v, size_t n)
{
    return (struct wf_dataset_tensor){ .name = name,
                                       .dtype = WF_I32,
                                       .ndim = 1,
                                       .dim = { (int64_t)n },
                                       .data = v,
                                       .bytes = n * sizeof(*v) };
}

enum wf_status wf_page_list_make(const struct wf_json *recipe,
                                 struct wf_buf *out,
                                 struct wf_error *err)
{
    struct list l = { 0 };
    struct wf_json *meta = wf_json_object();
    enum wf_status st = read_list(recipe, &l, err);
    if (st == WF_OK) {
        put_in_order(&l);
        st = fill_tables(&l, err);
    }
    if (st == WF_OK) {
        st = write_metadata(recipe, &l, meta, err);
    }
    if (st == WF_OK) {
        const struct wf_dataset_tensor all[] = {
            tensor("kv_indices", l.kv_indices, l.page_count),
            tensor("kv_indptr", l.kv_indptr, l.batch + 1),
            tensor("kv_last_page_len", l.last, l.batch),
            tensor("qo_indptr", l.qo_indptr, l.batch + 1),
        };
        st = wf_dataset_write(all, l.q_len ? 4 : 3, meta, out, err);
    }
    wf_json_free(meta);
    list_fini(&l);
    return st;
}
