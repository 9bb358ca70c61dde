/* Page tables that say themselves which page ids they use: for pools that are larger
 * than 32-bit offsets reach, and for ids at the edges of an index type.
 *
 * Recipe: { "kind": "page-list", "page_size": 16, "num_pages": 131072,
 *           "kv_len": [17, 0, 40], "pages": [0, 65535, 65536, 70000, 131071],
 *           "order": "given" | "ascending" | "descending" | "permuted", "seed": 0,
 *           "q_len": [1, 1, 3] }
 * Sequence s takes the next ceil(kv_len[s] / page_size) pages of the ordered list; the
 * list must hold exactly so many. Sequences may share pages. Without q_len the file has
 * no qo_indptr. The image has page_table.h's layout, with page ids from 0 on. */
#ifndef WF_DATASETS_PAGE_LIST_H
#define WF_DATASETS_PAGE_LIST_H

#include "core/buf.h"
#include "core/error.h"
#include "core/json.h"

#define WF_PAGE_LIST_KIND   "page-list"
#define WF_PAGE_LIST_FORMAT "wavefarm.page-list/1"

/* EINVAL names the member, its value and its limit. */
enum wf_status wf_page_list_check(const struct wf_json *recipe, struct wf_error *err);
/* Appends the safetensors image to `out`; equal recipes give equal bytes. */
enum wf_status wf_page_list_make(const struct wf_json *recipe,
                                 struct wf_buf *out,
                                 struct wf_error *err);

#endif
