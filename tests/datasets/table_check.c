#include "tests/datasets/table_check.h"

#include "core/buf.h"
#include "core/parse.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(ok)       \
    do {                \
        if (!(ok)) {    \
            return #ok; \
        }               \
    } while (0)

struct view {
    int64_t batch, pages, page_size, num_pages;
    const int32_t *indptr, *indices, *last, *qo;
};

static const int32_t *ints(const struct wf_dataset *ds,
                           const char *name,
                           int64_t *ret_n)
{
    const struct wf_dataset_tensor *t = wf_dataset_find(ds, name);
    if (!t || t->dtype != WF_I32 || t->ndim != 1) {
        return NULL;
    }
    *ret_n = t->dim[0];
    return t->data;
}

static bool number(const struct wf_dataset *ds, const char *key, int64_t *ret)
{
    const char *text = wf_dataset_metadata(ds, key);
    return text && wf_parse_i64(text, key, 0, INT64_MAX, ret, NULL) == WF_OK;
}

static const char *check_form(const struct wf_dataset *ds,
                              enum wf_page_table_mode mode,
                              struct view *v)
{
    int64_t rows = 0, lasts = 0, queries = 0, batch = -1;
    v->indptr = ints(ds, "kv_indptr", &rows);
    v->indices = ints(ds, "kv_indices", &v->pages);
    v->last = ints(ds, "kv_last_page_len", &lasts);
    v->qo = ints(ds, "qo_indptr", &queries);
    CHECK(v->indptr && v->indices && v->last);
    CHECK((v->qo != NULL) == (mode != WF_PAGE_TABLE_DECODE));
    CHECK(number(ds, "page_size", &v->page_size) &&
          number(ds, "num_pages", &v->num_pages));
    CHECK(number(ds, "batch", &batch));
    v->batch = lasts;
    CHECK(lasts >= 1 && rows == lasts + 1 && batch == lasts);
    CHECK(!v->qo || queries == rows);
    CHECK(v->indptr[0] == 0 && v->indptr[lasts] == v->pages);
    CHECK(strcmp(wf_dataset_metadata(ds, "format"), WF_PAGE_TABLE_FORMAT) == 0);
    return NULL;
}

static const char *check_rows(const struct view *v, const struct wf_page_table_stats *s)
{
    int64_t kv = 0, partial = 0;
    CHECK(!v->qo || v->qo[0] == 0);
    for (int64_t i = 0; i < v->batch; i++) {
        const int64_t n = v->indptr[i + 1] - v->indptr[i];
        CHECK(n >= 1);
        CHECK(v->last[i] >= 1 && v->last[i] <= v->page_size);
        const int64_t len = (n - 1) * v->page_size + v->last[i];
        CHECK(!v->qo || (v->qo[i + 1] > v->qo[i] && v->qo[i + 1] - v->qo[i] <= len));
        kv += len;
        partial += v->last[i] < v->page_size ? 1 : 0;
    }
    CHECK(kv == s->kv_tokens && partial == s->partial_last_pages);
    CHECK(v->page_size < 4 || v->batch < 16 || partial > 0);
    return NULL;
}

/* A page that two sequences list is at the same place in both, behind equal pages, and
 * full in both. */
static const char *check_sharing(const struct view *v,
                                 const struct wf_page_table_stats *s,
                                 int32_t *first_row,
                                 int32_t *before)
{
    int64_t distinct = 0;
    for (int32_t i = 0; i < v->batch; i++) {
        for (int32_t j = v->indptr[i]; j < v->indptr[i + 1]; j++) {
            const int32_t page = v->indices[j], place = j - v->indptr[i];
            const int32_t prev = place > 0 ? v->indices[j - 1] : -1;
            CHECK(page >= 1 && page < v->num_pages);
            if (first_row[page] == 0) {
                distinct++;
                first_row[page] = i + 1;
                before[page] = prev;
                continue;
            }
            const int32_t other = first_row[page] - 1;
            CHECK(other != i);
            CHECK(before[page] == prev);
            CHECK(v->indices[v->indptr[other] + place] == page);
            CHECK(j + 1 < v->indptr[i + 1] || v->last[i] == v->page_size);
            CHECK(v->indptr[other] + place + 1 < v->indptr[other + 1] ||
                  v->last[other] == v->page_size);
        }
    }
    CHECK(distinct == s->distinct_pages);
    CHECK(distinct <= v->num_pages - 1 - s->free_pages);
    return NULL;
}

static const char *check_permuted(const struct view *v)
{
    int64_t ascending = 0;
    bool identity = true;
    for (int64_t j = 0; j < v->pages; j++) {
        identity = identity && v->indices[j] == j;
        ascending += j > 0 && v->indices[j] == v->indices[j - 1] + 1 ? 1 : 0;
    }
    CHECK(!identity);
    CHECK(v->pages < 64 || ascending * 4 < v->pages);
    return NULL;
}

const char *table_check(const struct wf_dataset *ds,
                        const struct wf_page_table_stats *stats,
                        enum wf_page_table_mode mode)
{
    struct view v = { 0 };
    const char *wrong = check_form(ds, mode, &v);
    wrong = wrong ? wrong : check_rows(&v, stats);
    wrong = wrong ? wrong : check_permuted(&v);
    if (wrong) {
        return wrong;
    }
    int32_t *first_row = wf_calloc((size_t)v.num_pages, sizeof *first_row);
    int32_t *before = wf_calloc((size_t)v.num_pages, sizeof *before);
    wrong =
        first_row && before ? check_sharing(&v, stats, first_row, before) : "memory";
    free(first_row);
    free(before);
    return wrong;
}
