/* Small page tables and sequence lengths for trials: made from lists of lengths, with
 * pages permuted over the pool, and stored as datasets. */
#ifndef WF_SELFTEST_TABLES_H
#define WF_SELFTEST_TABLES_H

#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"
#include "datasets/dataset.h"

#include <stddef.h>
#include <stdint.h>

#define WF_TABLE_MAX_SEQUENCES 64
#define WF_TABLE_MAX_PAGES     4096
#define WF_TABLE_MAX_POOL      1048576 /* of a table that says which pages it uses */

struct wf_table {
    int64_t page_size, num_pages; /* 0: ragged */
    int64_t kv_len[WF_TABLE_MAX_SEQUENCES];
    int64_t q_len[WF_TABLE_MAX_SEQUENCES];
    size_t batch;
    bool has_q_len;
    uint64_t seed;                     /* of the permutation */
    int32_t pages[WF_TABLE_MAX_PAGES]; /* given ids, in their order */
    size_t page_count;                 /* 0: permuted */
};

enum wf_status wf_table_read(const struct wf_json *json,
                             struct wf_table *ret,
                             struct wf_error *err);
/* Pages that the lengths need. */
size_t wf_table_need(const struct wf_table *t);
/* The dataset's image into the store; its hash comes back. */
enum wf_status wf_table_store(const struct wf_table *t,
                              struct wf_dataset_store *store,
                              char ret_sha256[WF_SHA256_HEX],
                              struct wf_error *err);

#endif
