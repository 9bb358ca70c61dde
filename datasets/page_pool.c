/* The pool's arrays are indexed by page; the counts are apart from the content keys,
 * because most pages have no key and the counts then stay in the processor's cache.
 * Content index: chained hash buckets through `next`; a page is in it exactly while its
 * count carries PUBLISHED. A child page's key names its
 * parent page, which lives at least as long: every holder of the child holds the
 * parent, so no key outlives the page that it names. */
#include "datasets/page_pool.h"

#include "core/buf.h"
#include "core/rng.h"

#include <assert.h>
#include <stdlib.h>

enum {
    STREAM_SHUFFLE = 201,
    STREAM_TAKE
};

#define PUBLISHED ((uint32_t)1 << 31)

struct key {
    int32_t before;
    uint32_t node;
    int32_t next; /* in the bucket */
};

struct wf_page_pool {
    enum wf_free_order order;
    struct wf_rng rng;
    int32_t num_pages;
    uint32_t *refs; /* count, and the flag PUBLISHED */
    struct key *keys;
    int32_t *free_list;
    int32_t free_count;
    int32_t *buckets;
    uint32_t bucket_mask;
};

static void shuffle(struct wf_page_pool *pool, uint64_t seed)
{
    struct wf_rng rng = { .seed = seed, .stream = STREAM_SHUFFLE };
    for (int32_t i = pool->free_count - 1; i > 0; i--) {
        const int32_t j = (int32_t)wf_rng_next_below(&rng, (uint64_t)i + 1);
        const int32_t page = pool->free_list[i];
        pool->free_list[i] = pool->free_list[j];
        pool->free_list[j] = page;
    }
}

static void fill_pool(struct wf_page_pool *pool, uint64_t seed)
{
    for (int32_t page = 1; page < pool->num_pages; page++) {
        pool->free_list[pool->free_count++] = page;
    }
    for (uint32_t i = 0; i <= pool->bucket_mask; i++) {
        pool->buckets[i] = WF_NO_PAGE;
    }
    shuffle(pool, seed);
}

enum wf_status wf_page_pool_create(int64_t num_pages,
                                   enum wf_free_order order,
                                   uint64_t seed,
                                   struct wf_page_pool **ret,
                                   struct wf_error *err)
{
    if (num_pages < 2 || num_pages > INT32_MAX) {
        return wf_errorf(
            err, WF_ERANGE,
            "a pool of %lld pages: 2 to 2147483647 are possible (page 0 is "
            "never used)",
            (long long)num_pages);
    }
    struct wf_page_pool *pool = wf_calloc(1, sizeof *pool);
    if (!pool) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a page pool");
    }
    pool->order = order;
    pool->rng = (struct wf_rng){ .seed = seed, .stream = STREAM_TAKE };
    pool->num_pages = (int32_t)num_pages;
    uint32_t buckets = 16;
    while (buckets < (uint32_t)num_pages) {
        buckets *= 2;
    }
    pool->bucket_mask = buckets - 1;
    pool->refs = wf_calloc((size_t)num_pages, sizeof *pool->refs);
    pool->keys = wf_calloc((size_t)num_pages, sizeof *pool->keys);
    pool->free_list = wf_calloc((size_t)num_pages, sizeof *pool->free_list);
    pool->buckets = wf_calloc(buckets, sizeof *pool->buckets);
    if (!pool->refs || !pool->keys || !pool->free_list || !pool->buckets) {
        wf_page_pool_destroy(pool);
        return wf_errorf(err, WF_ENOMEM, "no memory for a pool of %lld pages",
                         (long long)num_pages);
    }
    fill_pool(pool, seed);
    *ret = pool;
    return WF_OK;
}

void wf_page_pool_destroy(struct wf_page_pool *pool)
{
    if (pool) {
        free(pool->refs);
        free(pool->keys);
        free(pool->free_list);
        free(pool->buckets);
        free(pool);
    }
}

int64_t wf_page_pool_free_count(const struct wf_page_pool *pool)
{
    return pool->free_count;
}

int32_t wf_page_pool_refs(const struct wf_page_pool *pool, int32_t page)
{
    return (int32_t)(pool->refs[page] & ~PUBLISHED);
}

int32_t wf_page_pool_take(struct wf_page_pool *pool)
{
    if (pool->free_count == 0) {
        return WF_NO_PAGE;
    }
    const int32_t last = --pool->free_count;
    if (pool->order == WF_FREE_RANDOM) {
        const uint64_t i = wf_rng_next_below(&pool->rng, (uint64_t)last + 1);
        const int32_t page = pool->free_list[i];
        pool->free_list[i] = pool->free_list[last];
        pool->free_list[last] = page;
    }
    const int32_t page = pool->free_list[last];
    pool->refs[page] = 1;
    return page;
}

void wf_page_pool_share(struct wf_page_pool *pool, int32_t page)
{
    assert(wf_page_pool_refs(pool, page) > 0);
    pool->refs[page]++;
}

static int32_t *bucket(const struct wf_page_pool *pool, int32_t before, uint32_t node)
{
    uint64_t h = ((uint64_t)(uint32_t)before << 32 | node) * 0x9e3779b97f4a7c15u;
    h ^= h >> 31;
    return &pool->buckets[(uint32_t)h & pool->bucket_mask];
}

static void forget(struct wf_page_pool *pool, int32_t page)
{
    const struct key *k = &pool->keys[page];
    int32_t *link = bucket(pool, k->before, k->node);
    while (*link != page) {
        link = &pool->keys[*link].next;
    }
    *link = k->next;
    pool->refs[page] &= ~PUBLISHED;
}

void wf_page_pool_release(struct wf_page_pool *pool, int32_t page)
{
    assert(wf_page_pool_refs(pool, page) > 0);
    pool->refs[page]--;
    if (wf_page_pool_refs(pool, page) > 0) {
        return;
    }
    if (pool->refs[page] & PUBLISHED) {
        forget(pool, page);
    }
    pool->free_list[pool->free_count++] = page;
}

int32_t wf_page_pool_find(const struct wf_page_pool *pool,
                          int32_t before,
                          uint32_t node)
{
    int32_t page = *bucket(pool, before, node);
    while (page != WF_NO_PAGE &&
           (pool->keys[page].before != before || pool->keys[page].node != node)) {
        page = pool->keys[page].next;
    }
    return page;
}

void wf_page_pool_publish(struct wf_page_pool *pool,
                          int32_t page,
                          int32_t before,
                          uint32_t node)
{
    int32_t *head = bucket(pool, before, node);
    assert(!(pool->refs[page] & PUBLISHED));
    pool->keys[page] = (struct key){ .before = before, .node = node, .next = *head };
    pool->refs[page] |= PUBLISHED;
    *head = page;
}
