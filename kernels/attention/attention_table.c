/* Lengths of the sequences and the index arrays: from q_len and kv_len (dense) or from
 * a dataset (ragged, paged). Every entry of a page table is checked here, before
 * anything is launched: a kernel never meets a page id, an offset or a length that is
 * out of range. No entry is repaired. */
#include "kernels/attention/attention.h"

#include "core/buf.h"
#include "core/parse.h"

#include <string.h>

#define MAX_LEN       (INT64_C(1) << 40)
#define MAX_PAGE_SIZE (INT64_C(1) << 20)
#define MAX_BATCH     (INT64_C(1) << 24)

static enum wf_status no_memory(struct wf_error *err)
{
    return wf_errorf(err, WF_ENOMEM,
                     "out of memory for an attention problem's lengths");
}

/* Refuses members that the layout gives no meaning to. */
static enum wf_status refuse(const struct attention *a,
                             const struct wf_json *json,
                             const char *const *keys,
                             struct wf_error *err)
{
    for (; *keys; keys++) {
        if (wf_json_find(json, *keys)) {
            return wf_errorf(err, WF_EINVAL,
                             "%s has no meaning with layout %s; remove it", *keys,
                             attention_layout_name(a->layout));
        }
    }
    return WF_OK;
}

static enum wf_status make_arrays(struct attention *a, struct wf_error *err)
{
    size_t n = (size_t)a->batch;

    a->q_len = wf_calloc(n, sizeof(*a->q_len));
    a->kv_len = wf_calloc(n, sizeof(*a->kv_len));
    a->q_start = wf_calloc(n + 1, sizeof(*a->q_start));
    a->kv_start = wf_calloc(n + 1, sizeof(*a->kv_start));
    return a->q_len && a->kv_len && a->q_start && a->kv_start ? WF_OK : no_memory(err);
}

static enum wf_status load_dense(struct attention *a,
                                 const struct wf_json *json,
                                 struct wf_error *err)
{
    static const char *const NONE[] = { "page_table", "page_size", NULL };
    enum wf_status st = refuse(a, json, NONE, err);

    a->batch = 1;
    if (st == WF_OK) {
        st = wf_json_opt_i64(json, "batch", 1, MAX_BATCH, &a->batch, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_i64(json, "q_len", 1, MAX_LEN, &a->uniform_q_len, err);
    }
    if (st == WF_OK) {
        st = wf_json_get_i64(json, "kv_len", 0, MAX_LEN, &a->uniform_kv_len, err);
    }
    if (st == WF_OK) {
        st = make_arrays(a, err);
    }
    for (int64_t b = 0; st == WF_OK && b < a->batch; b++) {
        a->q_len[b] = a->uniform_q_len;
        a->kv_len[b] = a->uniform_kv_len;
    }
    return st;
}

/* --- datasets --- */

struct table {
    const struct wf_dataset *ds;
    const char *name; /* "sha256:0123456789ab" for errors */
};

static enum wf_status find_dataset(struct attention *a,
                                   const struct wf_json *json,
                                   const struct wf_dataset_resolver *datasets,
                                   struct table *ret,
                                   struct wf_error *err)
{
    const char *text = NULL;
    enum wf_status st = wf_json_opt_string(json, "page_table", &text, err);

    if (st != WF_OK) {
        return st;
    }
    if (!text) {
        return wf_errorf(
            err, WF_EINVAL,
            "page_table is missing; layout %s takes its lengths from a dataset",
            attention_layout_name(a->layout));
    }
    if (strncmp(text, "sha256:", 7) != 0 || !wf_sha256_is_hex(text + 7)) {
        return wf_errorf(
            err, WF_EINVAL,
            "page_table is \"%.80s\"; it must be sha256: and 64 lower-case "
            "hexadecimal digits",
            text);
    }
    if (!datasets || !datasets->find) {
        return wf_errorf(err, WF_ENOTFOUND,
                         "page_table %s: no data sets are available here", text);
    }
    st = datasets->find(datasets->ctx, text + 7, &ret->ds, err);
    if (st != WF_OK) {
        return wf_error_prefix(err, "page_table");
    }
    memcpy(a->page_table, text, strlen(text) + 1);
    ret->name = "page_table";
    return WF_OK;
}

/* Copies a one-dimensional int32 tensor. */
static enum wf_status copy_i32(const struct table *t,
                               const char *name,
                               int32_t **ret,
                               int64_t *ret_n,
                               struct wf_error *err)
{
    const struct wf_dataset_tensor *src = wf_dataset_find(t->ds, name);

    if (!src) {
        return wf_errorf(err, WF_EINVAL, "%s: the dataset has no tensor %s", t->name,
                         name);
    }
    if (src->dtype != WF_I32 || src->ndim != 1) {
        return wf_errorf(err, WF_EINVAL,
                         "%s: %s is %s with %d dimensions; it must be i32 with 1",
                         t->name, name, wf_dtype_name(src->dtype), src->ndim);
    }
    *ret = wf_calloc((size_t)src->dim[0] + 1, sizeof(**ret));
    if (!*ret) {
        return no_memory(err);
    }
    if (src->bytes > 0) {
        memcpy(*ret, src->data, (size_t)src->bytes);
    }
    *ret_n = src->dim[0];
    return WF_OK;
}

/* Starts at 0 and never decreases: a decrease would make sequences overlap. */
static enum wf_status check_indptr(const struct table *t,
                                   const char *name,
                                   const int32_t *p,
                                   int64_t n,
                                   struct wf_error *err)
{
    if (p[0] != 0) {
        return wf_errorf(err, WF_EINVAL, "%s: %s[0] is %d; it must be 0", t->name, name,
                         p[0]);
    }
    for (int64_t i = 1; i < n; i++) {
        if (p[i] < 0) {
            return wf_errorf(err, WF_EINVAL,
                             "%s: %s[%lld] is %d; offsets are not negative", t->name,
                             name, (long long)i, p[i]);
        }
        if (p[i] < p[i - 1]) {
            return wf_errorf(
                err, WF_EINVAL,
                "%s: %s[%lld] is %d, below %s[%lld] = %d; sequence %lld would "
                "overlap the one before it",
                t->name, name, (long long)i, p[i], name, (long long)(i - 1), p[i - 1],
                (long long)(i - 1));
        }
    }
    return WF_OK;
}

static enum wf_status load_queries(struct attention *a,
                                   const struct wf_json *json,
                                   const struct table *t,
                                   struct wf_error *err)
{
    int64_t n = 0, total;
    enum wf_status st;

    if (!wf_dataset_find(t->ds, "qo_indptr")) {
        st = wf_json_opt_i64(json, "q_len", 1, INT32_MAX, &a->uniform_q_len, err);
        if (st != WF_OK) {
            return st;
        }
        if (!wf_mul_i64(a->batch, a->uniform_q_len, &total) || total > INT32_MAX) {
            return wf_errorf(
                err, WF_EINVAL,
                "q_len %lld times %lld sequences does not fit int32 offsets",
                (long long)a->uniform_q_len, (long long)a->batch);
        }
        a->qo_indptr = wf_calloc((size_t)a->batch + 1, sizeof(*a->qo_indptr));
        for (int64_t b = 0; a->qo_indptr && b <= a->batch; b++) {
            a->qo_indptr[b] = (int32_t)(b * a->uniform_q_len);
        }
        return a->qo_indptr ? WF_OK : no_memory(err);
    }
    if (wf_json_find(json, "q_len")) {
        return wf_errorf(err, WF_EINVAL,
                         "q_len is given and the dataset has qo_indptr; remove q_len");
    }
    a->has_qo_indptr = true;
    st = copy_i32(t, "qo_indptr", &a->qo_indptr, &n, err);
    if (st != WF_OK) {
        return st;
    }
    if (n != a->batch + 1) {
        return wf_errorf(
            err, WF_EINVAL,
            "%s: qo_indptr has %lld entries; kv_indptr says %lld sequences, "
            "which needs %lld",
            t->name, (long long)n, (long long)a->batch, (long long)a->batch + 1);
    }
    st = check_indptr(t, "qo_indptr", a->qo_indptr, n, err);
    if (st == WF_OK && a->qo_indptr[a->batch] == 0) {
        st = wf_errorf(err, WF_EINVAL, "%s: qo_indptr holds no query at all", t->name);
    }
    return st;
}

/* kv_indptr, batch, queries: common to ragged and paged. */
static enum wf_status load_offsets(struct attention *a,
                                   const struct wf_json *json,
                                   const struct table *t,
                                   struct wf_error *err)
{
    int64_t n = 0, said = 0;
    enum wf_status st = copy_i32(t, "kv_indptr", &a->kv_indptr, &n, err);

    if (st != WF_OK) {
        return st;
    }
    if (n < 2) {
        return wf_errorf(err, WF_EINVAL,
                         "%s: kv_indptr has %lld entries; one sequence needs 2",
                         t->name, (long long)n);
    }
    a->batch = said = n - 1;
    st = wf_json_opt_i64(json, "batch", 1, INT32_MAX, &said, err);
    if (st == WF_OK && said != a->batch) {
        st = wf_errorf(err, WF_EINVAL, "batch is %lld; the dataset has %lld sequences",
                       (long long)said, (long long)a->batch);
    }
    if (st == WF_OK) {
        st = check_indptr(t, "kv_indptr", a->kv_indptr, n, err);
    }
    if (st == WF_OK) {
        st = load_queries(a, json, t, err);
    }
    if (st == WF_OK) {
        st = make_arrays(a, err);
    }
    for (int64_t b = 0; st == WF_OK && b < a->batch; b++) {
        a->q_len[b] = (int64_t)a->qo_indptr[b + 1] - a->qo_indptr[b];
    }
    return st;
}

static enum wf_status load_ragged(struct attention *a,
                                  const struct wf_json *json,
                                  const struct table *t,
                                  struct wf_error *err)
{
    static const char *const NONE[] = { "kv_len", "page_size", NULL };
    enum wf_status st = refuse(a, json, NONE, err);

    if (st == WF_OK && wf_dataset_find(t->ds, "kv_indices")) {
        st = wf_errorf(
            err, WF_EINVAL,
            "%s: the dataset has kv_indices, so it counts pages; layout ragged "
            "needs token offsets (or use layout paged)",
            t->name);
    }
    if (st == WF_OK) {
        st = load_offsets(a, json, t, err);
    }
    for (int64_t b = 0; st == WF_OK && b < a->batch; b++) {
        a->kv_len[b] = (int64_t)a->kv_indptr[b + 1] - a->kv_indptr[b];
    }
    return st;
}

/* --- page tables --- */

static enum wf_status metadata_number(const struct table *t,
                                      const char *key,
                                      int64_t max,
                                      int64_t *ret,
                                      struct wf_error *err)
{
    const char *text = wf_dataset_metadata(t->ds, key);

    if (!text) {
        return WF_OK;
    }
    if (wf_parse_i64(text, key, 1, max, ret, NULL) != WF_OK) {
        return wf_errorf(
            err, WF_EINVAL,
            "%s: the dataset's metadata says %s = \"%.40s\"; it must be an "
            "integer from 1 to %lld",
            t->name, key, text, (long long)max);
    }
    return WF_OK;
}

static enum wf_status read_pool(struct attention *a,
                                const struct wf_json *json,
                                const struct table *t,
                                struct wf_error *err)
{
    int64_t stated = 0;
    enum wf_status st = metadata_number(t, "num_pages", INT32_MAX, &a->num_pages, err);

    if (st == WF_OK && a->num_pages == 0) {
        st = wf_errorf(
            err, WF_EINVAL,
            "%s: the dataset's metadata has no num_pages; the size of the pool "
            "cannot be told from the pages in use",
            t->name);
    }
    if (st == WF_OK) {
        st = metadata_number(t, "page_size", MAX_PAGE_SIZE, &stated, err);
    }
    a->page_size = stated;
    a->page_size_from_set = stated > 0;
    if (st == WF_OK) {
        st = wf_json_opt_i64(json, "page_size", 1, MAX_PAGE_SIZE, &a->page_size, err);
    }
    if (st != WF_OK) {
        return st;
    }
    if (a->page_size == 0) {
        return wf_errorf(
            err, WF_EINVAL,
            "page_size is missing: neither the case nor the dataset's metadata "
            "has it");
    }
    if (stated > 0 && a->page_size != stated) {
        return wf_errorf(err, WF_EINVAL,
                         "page_size is %lld; the dataset was made for %lld",
                         (long long)a->page_size, (long long)stated);
    }
    return WF_OK;
}

static enum wf_status check_last_page(struct attention *a,
                                      const struct table *t,
                                      int64_t b,
                                      struct wf_error *err)
{
    int64_t pages = (int64_t)a->kv_indptr[b + 1] - a->kv_indptr[b];
    int32_t last = a->kv_last_page_len[b];

    /* A sequence without pages has no last page; 0 is what most writers put there. */
    if (last < (pages > 0 ? 1 : 0) || last > a->page_size) {
        return wf_errorf(
            err, WF_EINVAL,
            "%s: kv_last_page_len[%lld] is %d; sequence %lld has %lld pages of "
            "%lld slots, so it must be %d to %lld",
            t->name, (long long)b, last, (long long)b, (long long)pages,
            (long long)a->page_size, pages > 0 ? 1 : 0, (long long)a->page_size);
    }
    a->kv_len[b] = pages > 0 ? (pages - 1) * a->page_size + last : 0;
    return WF_OK;
}

/* Checks the ids of one sequence and marks the slots that it uses: always the leading
 * ones of a page, so one count a page says it all. */
static enum wf_status mark_pages(struct attention *a,
                                 const struct table *t,
                                 int64_t b,
                                 struct wf_error *err)
{
    int64_t first = a->kv_indptr[b], end = a->kv_indptr[b + 1];

    for (int64_t i = first; i < end; i++) {
        int32_t id = a->kv_indices[i];
        int32_t used = (int32_t)(i + 1 < end ? a->page_size : a->kv_last_page_len[b]);

        if (id < 0 || id >= a->num_pages) {
            return wf_errorf(
                err, WF_EINVAL,
                "%s: sequence %lld, column %lld (kv_indices[%lld]): page id %d "
                "is out of range; the pool has num_pages = %lld (ids 0 to "
                "%lld)",
                t->name, (long long)b, (long long)(i - first), (long long)i, id,
                (long long)a->num_pages, (long long)(a->num_pages - 1));
        }
        if (used > a->used_slots[id]) {
            a->unique_slots += used - a->used_slots[id];
            a->used_slots[id] = used;
        }
    }
    return WF_OK;
}

static enum wf_status read_pages(struct attention *a,
                                 const struct table *t,
                                 struct wf_error *err)
{
    int64_t n = 0;
    enum wf_status st = copy_i32(t, "kv_indices", &a->kv_indices, &a->index_count, err);

    if (st != WF_OK) {
        return st;
    }
    if (a->kv_indptr[a->batch] != a->index_count) {
        return wf_errorf(err, WF_EINVAL,
                         "%s: kv_indptr[%lld] is %d, but kv_indices has %lld entries",
                         t->name, (long long)a->batch, a->kv_indptr[a->batch],
                         (long long)a->index_count);
    }
    st = copy_i32(t, "kv_last_page_len", &a->kv_last_page_len, &n, err);
    if (st != WF_OK) {
        return st;
    }
    if (n != a->batch) {
        return wf_errorf(err, WF_EINVAL,
                         "%s: kv_last_page_len has %lld entries for %lld sequences",
                         t->name, (long long)n, (long long)a->batch);
    }
    a->used_slots = wf_calloc((size_t)a->num_pages, sizeof(*a->used_slots));
    if (!a->used_slots) {
        return no_memory(err);
    }
    for (int64_t b = 0; st == WF_OK && b < a->batch; b++) {
        st = check_last_page(a, t, b, err);
        if (st == WF_OK) {
            st = mark_pages(a, t, b, err);
        }
    }
    return st;
}

static enum wf_status load_paged(struct attention *a,
                                 const struct wf_json *json,
                                 const struct table *t,
                                 struct wf_error *err)
{
    static const char *const NONE[] = { "kv_len", NULL };
    enum wf_status st = refuse(a, json, NONE, err);

    if (st == WF_OK) {
        st = read_pool(a, json, t, err);
    }
    if (st == WF_OK) {
        st = load_offsets(a, json, t, err);
    }
    if (st == WF_OK) {
        st = read_pages(a, t, err);
    }
    return st;
}

enum wf_status attention_load_lengths(struct attention *a,
                                      const struct wf_json *json,
                                      const struct wf_dataset_resolver *datasets,
                                      struct wf_error *err)
{
    struct table t = { NULL, NULL };
    enum wf_status st;

    a->uniform_q_len = 1;
    if (a->layout == ATTENTION_DENSE) {
        return load_dense(a, json, err);
    }
    st = find_dataset(a, json, datasets, &t, err);
    if (st != WF_OK) {
        return st;
    }
    return a->layout == ATTENTION_RAGGED ? load_ragged(a, json, &t, err)
                                         : load_paged(a, json, &t, err);
}
