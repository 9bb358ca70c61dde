/* The engine, step by step: after every step all pages are accounted for, shared pages
 * are full prefix pages of equal content, and no sequence lacks a page. */
#include "datasets/replay.h"

#include "core/buf.h"
#include "core/rng.h"
#include "datasets/traffic.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct world {
    struct wf_request_list list;
    struct wf_replay_options options;
    struct wf_replay *replay;
};

static void start(struct world *w)
{
    struct wf_error err;
    cr_assert_eq(wf_replay_create(&w->list, &w->options, &w->replay, &err), WF_OK, "%s",
                 err.text);
}

static void finish(struct world *w)
{
    wf_replay_destroy(w->replay);
    wf_request_list_free(&w->list);
}

static struct world random_world(uint64_t seed)
{
    struct world w = { .list = WF_REQUEST_LIST_INIT };
    struct wf_rng rng = { .seed = seed, .stream = 900 };
    const struct wf_traffic t = { .requests = 60,
                                  .mean_prompt = 30,
                                  .mean_output = 12,
                                  .spread = 0.9,
                                  .rate_per_s = 200,
                                  .seed = seed };
    cr_assert_eq(wf_traffic_make(&t, &w.list, NULL), WF_OK);
    w.options = (struct wf_replay_options){
        .page_size = 1 + (int64_t)wf_rng_next_below(&rng, 20),
        .batch = 1 + (int64_t)wf_rng_next_below(&rng, 24),
        .step_ns = 10000000,
        .time_scale = 1,
        .free_order = wf_rng_next_below(&rng, 2) ? WF_FREE_RANDOM : WF_FREE_LIFO,
        .seed = seed,
    };
    /* Small pools, so that preemption is common. */
    w.options.num_pages =
        2 + (int64_t)wf_rng_next_below(&rng, 1200) / w.options.page_size;
    if (wf_rng_next_below(&rng, 3) > 0) {
        const int64_t tokens = 1 + (int64_t)wf_rng_next_below(&rng, 40);
        cr_assert_eq(wf_traffic_add_prefix(&w.list, 0.7, tokens, 2, seed, NULL), WF_OK);
    }
    return w;
}

/* Node of the whole content of page p, or -1 when the page may not be shared. */
static int64_t content(const struct world *w, const struct wf_request *q, size_t p)
{
    const int64_t end = ((int64_t)p + 1) * w->options.page_size;
    if (q->chain_count == 0 || end > q->prompt_tokens) {
        return -1;
    }
    const int64_t block = (end - 1) / w->list.block_tokens;
    const bool whole = (block + 1) * w->list.block_tokens <= q->prompt_tokens;
    if (block >= (int64_t)q->chain_count || !whole) {
        return -1;
    }
    return (int64_t)w->list.chain[q->chain_first + (size_t)block];
}

/* What the first holder of a page says about it. */
struct owner {
    int32_t refs;
    size_t place;
    int64_t content;
};

static void check_page(const struct world *w,
                       const struct wf_replay_sequence *s,
                       size_t p,
                       struct owner *o)
{
    const int64_t c = content(w, &w->list.at[s->request], p);
    if (o->refs++ == 0) {
        o->place = p;
        o->content = c;
        return;
    }
    cr_assert(c >= 0 && o->content == c, "a shared page of different content");
    cr_assert_eq(o->place, p, "a shared page at different places");
}

static void check_sequence(const struct world *w,
                           const struct wf_replay_sequence *s,
                           struct owner *owners)
{
    const struct wf_request *q = &w->list.at[s->request];
    const int64_t size = w->options.page_size;
    cr_assert_eq((int64_t)s->page_count, (s->kv_tokens + size - 1) / size);
    cr_assert(s->generated >= 1 && s->generated <= q->output_tokens);
    cr_assert_eq(s->kv_tokens, q->prompt_tokens + s->generated - 1);
    for (size_t p = 0; p < s->page_count; p++) {
        cr_assert(s->pages[p] > 0 && s->pages[p] < w->options.num_pages);
        check_page(w, s, p, &owners[s->pages[p]]);
    }
}

static void check_step(const struct world *w)
{
    const struct wf_page_pool *pool = wf_replay_pool(w->replay);
    struct owner *owners = wf_calloc((size_t)w->options.num_pages, sizeof *owners);
    int64_t used = 0;
    cr_assert_not_null(owners);
    cr_assert((int64_t)wf_replay_running(w->replay) <= w->options.batch);
    for (size_t i = 0; i < wf_replay_running(w->replay); i++) {
        check_sequence(w, wf_replay_sequence(w->replay, i), owners);
    }
    for (int32_t page = 0; page < w->options.num_pages; page++) {
        cr_assert_eq(wf_page_pool_refs(pool, page), owners[page].refs, "page %d", page);
        used += owners[page].refs > 0 ? 1 : 0;
    }
    cr_assert_eq(wf_page_pool_free_count(pool), w->options.num_pages - 1 - used);
    free(owners);
}

static int64_t run_all(struct world *w)
{
    int64_t steps = 0;
    bool ran = true;
    while (ran) {
        cr_assert_eq(wf_replay_step(w->replay, &ran, NULL), WF_OK);
        cr_assert(++steps < 200000, "the replay does not end");
        check_step(w);
    }
    return steps - 1;
}

Test(replay, no_page_is_lost_and_every_request_ends_over_many_seeds)
{
    int64_t preempted = 0, refused = 0, shared_seeds = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct world w = random_world(seed);
        start(&w);
        (void)run_all(&w);
        const struct wf_replay_stats s = wf_replay_stats(w.replay);
        cr_expect_eq(s.finished + s.refused, 60, "seed %d", (int)seed);
        cr_expect_eq(s.admitted, s.finished + s.preempted, "seed %d", (int)seed);
        cr_expect_eq(wf_page_pool_free_count(wf_replay_pool(w.replay)),
                     w.options.num_pages - 1);
        preempted += s.preempted;
        refused += s.refused;
        shared_seeds += w.list.block_tokens > 0 ? 1 : 0;
        finish(&w);
    }
    /* The property is worth something only when the rare paths were taken. */
    cr_expect_gt(preempted, 100);
    cr_expect_gt(refused, 10);
    cr_expect_gt(shared_seeds, 20);
}

static struct world fixed_world(const struct wf_request *requests, size_t n)
{
    struct world w = { .list = WF_REQUEST_LIST_INIT };
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(wf_request_list_add(&w.list, &requests[i], NULL), WF_OK);
    }
    w.options = (struct wf_replay_options){
        .page_size = 4, .num_pages = 100, .batch = 8, .step_ns = 10, .time_scale = 1
    };
    return w;
}

static void step(struct world *w)
{
    bool ran = false;
    cr_assert_eq(wf_replay_step(w->replay, &ran, NULL), WF_OK);
    cr_assert(ran);
    check_step(w);
}

Test(replay, a_sequence_prefills_then_grows_by_one_token_a_step)
{
    const struct wf_request q = { .prompt_tokens = 7, .output_tokens = 3 };
    struct world w = fixed_world(&q, 1);
    start(&w);
    for (int64_t i = 0; i < 3; i++) {
        step(&w);
        cr_assert_eq(wf_replay_running(w.replay), 1);
        const struct wf_replay_sequence *s = wf_replay_sequence(w.replay, 0);
        cr_expect_eq(s->kv_tokens, 7 + i);
        cr_expect_eq(s->page_count, i < 2 ? 2 : 3);
        cr_expect_eq(wf_replay_is_new(w.replay, s), i == 0);
    }
    bool ran = true;
    cr_expect_eq(wf_replay_step(w.replay, &ran, NULL), WF_OK);
    cr_expect_not(ran);
    finish(&w);
}

Test(replay, time_jumps_over_an_idle_gap)
{
    const struct wf_request q[] = {
        { .arrival_ns = 0, .prompt_tokens = 1, .output_tokens = 1 },
        { .arrival_ns = 1000000000000, .prompt_tokens = 1, .output_tokens = 1 },
    };
    struct world w = fixed_world(q, 2);
    start(&w);
    cr_expect_eq(run_all(&w), 2);
    finish(&w);
}

Test(replay, requests_wait_for_their_arrival)
{
    const struct wf_request q[] = {
        { .arrival_ns = 0, .prompt_tokens = 1, .output_tokens = 100 },
        { .arrival_ns = 50, .prompt_tokens = 1, .output_tokens = 1 },
    };
    struct world w = fixed_world(q, 2);
    start(&w);
    for (int i = 0; i < 5; i++) {
        step(&w);
        cr_expect_eq(wf_replay_running(w.replay), 1, "step %d", i);
    }
    step(&w);
    cr_expect_eq(wf_replay_running(w.replay), 2);
    finish(&w);
}

Test(replay, a_full_pool_preempts_the_youngest_which_comes_back)
{
    const struct wf_request q[] = {
        { .prompt_tokens = 8, .output_tokens = 20 },
        { .prompt_tokens = 8, .output_tokens = 20 },
    };
    struct world w = fixed_world(q, 2);
    w.options.num_pages = 1 + 8;
    start(&w);
    bool was_alone = false;
    for (int i = 0; i < 20; i++) {
        step(&w);
        was_alone |= wf_replay_running(w.replay) == 1;
        cr_expect_eq(wf_replay_sequence(w.replay, 0)->request, 0);
    }
    cr_expect(was_alone);
    (void)run_all(&w);
    const struct wf_replay_stats s = wf_replay_stats(w.replay);
    cr_expect_eq(s.preempted, 1);
    cr_expect_eq(s.finished, 2);
    finish(&w);
}

Test(replay, a_request_larger_than_the_pool_is_refused_and_others_run)
{
    const struct wf_request q[] = {
        { .prompt_tokens = 400, .output_tokens = 2 },
        { .prompt_tokens = 396, .output_tokens = 2 },
        { .prompt_tokens = 395, .output_tokens = 2 },
    };
    struct world w = fixed_world(q, 3);
    start(&w);
    (void)run_all(&w);
    const struct wf_replay_stats s = wf_replay_stats(w.replay);
    cr_expect_eq(s.refused, 2);
    cr_expect_eq(s.finished, 1);
    finish(&w);
}

/* Prompts of 12 tokens whose first 8 are common: two full pages of 4 are shared, the
 * third, although its tokens may be equal, is each sequence's own. */
Test(replay, only_full_pages_of_a_common_prefix_are_shared)
{
    const struct wf_request q[] = {
        { .prompt_tokens = 12, .output_tokens = 5 },
        { .prompt_tokens = 12, .output_tokens = 5 },
        { .prompt_tokens = 7, .output_tokens = 5 },
    };
    struct world w = fixed_world(q, 3);
    cr_assert_eq(wf_traffic_add_prefix(&w.list, 1.0, 8, 1, 0, NULL), WF_OK);
    start(&w);
    step(&w);
    const struct wf_replay_sequence *a = wf_replay_sequence(w.replay, 0);
    const struct wf_replay_sequence *b = wf_replay_sequence(w.replay, 1);
    const struct wf_replay_sequence *c = wf_replay_sequence(w.replay, 2);
    cr_expect_eq(a->pages[0], b->pages[0]);
    cr_expect_eq(a->pages[1], b->pages[1]);
    cr_expect_neq(a->pages[2], b->pages[2]);
    cr_expect_eq(a->cached_tokens, 0);
    cr_expect_eq(b->cached_tokens, 8);
    cr_expect_neq(a->pages[0], c->pages[0], "its prompt is shorter than the prefix");
    finish(&w);
}
