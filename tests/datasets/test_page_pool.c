/* The page pool: order of use, reference counts, the content index. */
#include "datasets/page_pool.h"

#include "core/buf.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct wf_page_pool *make(int64_t n, enum wf_free_order order, uint64_t seed)
{
    struct wf_page_pool *pool = NULL;
    cr_assert_eq(wf_page_pool_create(n, order, seed, &pool, NULL), WF_OK);
    return pool;
}

Test(page_pool, hands_out_every_page_but_page_0_once)
{
    for (int order = 0; order < 2; order++) {
        struct wf_page_pool *pool = make(1000, (enum wf_free_order)order, 7);
        char *seen = wf_calloc(1000, 1);
        for (int i = 0; i < 999; i++) {
            const int32_t page = wf_page_pool_take(pool);
            cr_assert(page > 0 && page < 1000 && !seen[page], "page %d", page);
            cr_assert_eq(wf_page_pool_refs(pool, page), 1);
            seen[page] = 1;
        }
        cr_expect_eq(wf_page_pool_take(pool), WF_NO_PAGE);
        cr_expect_eq(wf_page_pool_free_count(pool), 0);
        free(seen);
        wf_page_pool_destroy(pool);
    }
}

Test(page_pool, starts_in_an_order_that_the_seed_decides)
{
    struct wf_page_pool *a = make(100, WF_FREE_LIFO, 1),
                        *b = make(100, WF_FREE_LIFO, 1);
    struct wf_page_pool *c = make(100, WF_FREE_LIFO, 2);
    int same = 0, ascending = 0, last = 0;
    for (int i = 0; i < 99; i++) {
        const int32_t p = wf_page_pool_take(a);
        cr_expect_eq(wf_page_pool_take(b), p);
        same += wf_page_pool_take(c) == p ? 1 : 0;
        ascending += p == last + 1 ? 1 : 0;
        last = p;
    }
    cr_expect_lt(same, 20);
    cr_expect_lt(ascending, 20);
    wf_page_pool_destroy(a);
    wf_page_pool_destroy(b);
    wf_page_pool_destroy(c);
}

Test(page_pool, lifo_gives_the_page_freed_last)
{
    struct wf_page_pool *pool = make(10, WF_FREE_LIFO, 3);
    const int32_t a = wf_page_pool_take(pool), b = wf_page_pool_take(pool);
    wf_page_pool_release(pool, a);
    wf_page_pool_release(pool, b);
    cr_expect_eq(wf_page_pool_take(pool), b);
    cr_expect_eq(wf_page_pool_take(pool), a);
    wf_page_pool_destroy(pool);
}

Test(page_pool, a_shared_page_is_freed_by_its_last_holder)
{
    struct wf_page_pool *pool = make(10, WF_FREE_LIFO, 3);
    const int32_t a = wf_page_pool_take(pool);
    wf_page_pool_share(pool, a);
    cr_expect_eq(wf_page_pool_refs(pool, a), 2);
    wf_page_pool_release(pool, a);
    cr_expect_eq(wf_page_pool_free_count(pool), 8);
    wf_page_pool_release(pool, a);
    cr_expect_eq(wf_page_pool_free_count(pool), 9);
    cr_expect_eq(wf_page_pool_refs(pool, a), 0);
    wf_page_pool_destroy(pool);
}

Test(page_pool, content_is_found_by_page_before_and_node_while_the_page_lives)
{
    struct wf_page_pool *pool = make(50, WF_FREE_LIFO, 3);
    const int32_t a = wf_page_pool_take(pool), b = wf_page_pool_take(pool);
    wf_page_pool_publish(pool, a, WF_NO_PAGE, 5);
    wf_page_pool_publish(pool, b, a, 5);
    cr_expect_eq(wf_page_pool_find(pool, WF_NO_PAGE, 5), a);
    cr_expect_eq(wf_page_pool_find(pool, a, 5), b);
    cr_expect_eq(wf_page_pool_find(pool, b, 5), WF_NO_PAGE);
    cr_expect_eq(wf_page_pool_find(pool, WF_NO_PAGE, 6), WF_NO_PAGE);
    wf_page_pool_release(pool, b);
    cr_expect_eq(wf_page_pool_find(pool, a, 5), WF_NO_PAGE);
    cr_expect_eq(wf_page_pool_find(pool, WF_NO_PAGE, 5), a);
    wf_page_pool_release(pool, a);
    cr_expect_eq(wf_page_pool_find(pool, WF_NO_PAGE, 5), WF_NO_PAGE);
    wf_page_pool_destroy(pool);
}

/* More keys than buckets, forgotten in another order than they came. */
Test(page_pool, the_content_index_survives_collisions)
{
    struct wf_page_pool *pool = make(17, WF_FREE_RANDOM, 3);
    int32_t page[16];
    for (uint32_t i = 0; i < 16; i++) {
        page[i] = wf_page_pool_take(pool);
        wf_page_pool_publish(pool, page[i], WF_NO_PAGE, i);
    }
    for (uint32_t i = 0; i < 16; i += 3) {
        wf_page_pool_release(pool, page[i]);
    }
    for (uint32_t i = 0; i < 16; i++) {
        const int32_t want = i % 3 == 0 ? WF_NO_PAGE : page[i];
        cr_expect_eq(wf_page_pool_find(pool, WF_NO_PAGE, i), want, "node %u", i);
    }
    wf_page_pool_destroy(pool);
}

Test(page_pool, impossible_sizes_are_refused)
{
    struct wf_page_pool *pool = NULL;
    struct wf_error err;
    static const int64_t bad[] = { -1, 0, 1, (int64_t)INT32_MAX + 1, INT64_MAX };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_expect_eq(wf_page_pool_create(bad[i], WF_FREE_LIFO, 1, &pool, &err),
                     WF_ERANGE);
    }
    cr_expect_null(pool);
}
