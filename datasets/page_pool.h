/* Pages of a KV cache: a free list, reference counts, and an index of pages whose
 * content is known, by which sequences share a common prefix.
 *
 * Page 0 is never handed out (serving engines keep such a page for padding): a table is
 * never the identity, and a kernel that reads page 0 for lack of a page reads poison.
 * The free list starts shuffled. */
#ifndef WF_DATASETS_PAGE_POOL_H
#define WF_DATASETS_PAGE_POOL_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WF_NO_PAGE (-1)

enum wf_free_order {
    WF_FREE_LIFO,  /* the page freed last is used first */
    WF_FREE_RANDOM /* any free page */
};

struct wf_page_pool; /* opaque */

enum wf_status wf_page_pool_create(int64_t num_pages,
                                   enum wf_free_order order,
                                   uint64_t seed,
                                   struct wf_page_pool **ret,
                                   struct wf_error *err);
void wf_page_pool_destroy(struct wf_page_pool *pool);

int64_t wf_page_pool_free_count(const struct wf_page_pool *pool);
int32_t wf_page_pool_refs(const struct wf_page_pool *pool, int32_t page);
/* A page with one reference, or WF_NO_PAGE when the pool is empty. */
int32_t wf_page_pool_take(struct wf_page_pool *pool);
void wf_page_pool_share(struct wf_page_pool *pool,
                        int32_t page); /* one more reference */
/* One reference less; the last one frees the page and forgets its content. */
void wf_page_pool_release(struct wf_page_pool *pool, int32_t page);

/* Content of a full prefix page: the page before it (WF_NO_PAGE for the first) and the
 * node of the request's content chain. */
int32_t wf_page_pool_find(const struct wf_page_pool *pool,
                          int32_t before,
                          uint32_t node);
void wf_page_pool_publish(struct wf_page_pool *pool,
                          int32_t page,
                          int32_t before,
                          uint32_t node);

#endif
