/* The engine's loop. Invariants between steps: every page is free or referenced, the
 * references of a page equal the sequences that list it, and `running` is in order of
 * admission. Shared pages are full pages of the prompt whose content chain is equal up
 * to their end; a page that will be written is never shared. */
#include "datasets/replay.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

/* A request that waits, with what it had generated before it was preempted. */
struct waiting {
    size_t request;
    int64_t generated;
};

struct wf_replay {
    const struct wf_request_list *list;
    struct wf_replay_options options;
    struct wf_page_pool *pool;
    struct wf_replay_sequence *running; /* [batch]; the rest only keep memory */
    size_t running_count;
    struct waiting *preempted; /* a stack: the oldest of them is on top */
    size_t preempted_count;
    size_t next_request; /* first one that was not admitted yet */
    int64_t step;        /* -1 before the first */
    int64_t now_ns;
    struct wf_replay_stats stats;
};

enum wf_status wf_replay_create(const struct wf_request_list *list,
                                const struct wf_replay_options *options,
                                struct wf_replay **ret,
                                struct wf_error *err)
{
    struct wf_replay *r = wf_calloc(1, sizeof *r);
    if (!r) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a replay");
    }
    r->list = list;
    r->options = *options;
    r->step = -1;
    r->running = wf_calloc((size_t)options->batch, sizeof *r->running);
    r->preempted = wf_calloc((size_t)options->batch, sizeof *r->preempted);
    enum wf_status st = WF_OK;
    if (!r->running || !r->preempted) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for a replay");
    }
    if (st == WF_OK) {
        st = wf_page_pool_create(options->num_pages, options->free_order, options->seed,
                                 &r->pool, err);
    }
    if (st != WF_OK) {
        wf_replay_destroy(r);
        return st;
    }
    *ret = r;
    return WF_OK;
}

void wf_replay_destroy(struct wf_replay *r)
{
    if (!r) {
        return;
    }
    for (int64_t i = 0; r->running && i < r->options.batch; i++) {
        free(r->running[i].pages);
    }
    free(r->running);
    free(r->preempted);
    wf_page_pool_destroy(r->pool);
    free(r);
}

static int64_t pages_for(const struct wf_replay *r, int64_t tokens)
{
    return (tokens + r->options.page_size - 1) / r->options.page_size;
}

static const struct wf_request *request_of(const struct wf_replay *r, size_t i)
{
    return &r->list->at[i];
}

/* --- leaving --- */

/* Tail first, so that a LIFO pool hands the head out again first. The list's memory
 * stays with the slot, for the next sequence. */
static void drop_pages(struct wf_replay *r, struct wf_replay_sequence *s)
{
    while (s->page_count > 0) {
        wf_page_pool_release(r->pool, s->pages[--s->page_count]);
    }
}

static void remove_finished(struct wf_replay *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->running_count; i++) {
        struct wf_replay_sequence *s = &r->running[i];
        if (s->generated < request_of(r, s->request)->output_tokens) {
            const struct wf_replay_sequence gone = r->running[kept];
            r->running[kept++] = *s;
            *s = gone;
            continue;
        }
        drop_pages(r, s);
        r->stats.finished++;
    }
    r->running_count = kept;
}

static void preempt_youngest(struct wf_replay *r)
{
    struct wf_replay_sequence *s = &r->running[--r->running_count];
    r->preempted[r->preempted_count++] =
        (struct waiting){ .request = s->request, .generated = s->generated };
    drop_pages(r, s);
    r->stats.preempted++;
}

/* --- growing --- */

static enum wf_status append_page(struct wf_replay_sequence *s,
                                  int32_t page,
                                  struct wf_error *err)
{
    if (s->page_count == s->page_cap) {
        size_t cap = s->page_cap < 8 ? 8 : s->page_cap * 2;
        int32_t *p = wf_realloc_array(s->pages, cap, sizeof *p);
        if (!p) {
            return wf_errorf(err, WF_ENOMEM, "no memory for a page list");
        }
        s->pages = p;
        s->page_cap = cap;
    }
    s->pages[s->page_count++] = page;
    return WF_OK;
}

/* False when s itself had to be preempted. */
static bool make_room(struct wf_replay *r, size_t i)
{
    while (wf_page_pool_free_count(r->pool) == 0) {
        preempt_youngest(r);
        if (r->running_count <= i) {
            return false;
        }
    }
    return true;
}

static enum wf_status grow_running(struct wf_replay *r, struct wf_error *err)
{
    for (size_t i = 0; i < r->running_count; i++) {
        struct wf_replay_sequence *s = &r->running[i];
        if (pages_for(r, s->kv_tokens + 1) > (int64_t)s->page_count) {
            if (!make_room(r, i)) {
                return WF_OK;
            }
            enum wf_status st = append_page(s, wf_page_pool_take(r->pool), err);
            if (st != WF_OK) {
                return st;
            }
        }
        s->kv_tokens++;
        s->generated++;
    }
    return WF_OK;
}

/* --- admission --- */

/* Chain node that stands for the content of prompt page p; false when the page is
 * partial, reaches past the known content, or is nobody else's. */
static bool page_content(const struct wf_replay *r,
                         const struct wf_request *q,
                         int64_t p,
                         uint32_t *ret_node)
{
    if (q->chain_count == 0) {
        return false;
    }
    const int64_t end = (p + 1) * r->options.page_size;
    const int64_t block = (end - 1) / r->list->block_tokens;
    if (block >= (int64_t)q->chain_count ||
        (block + 1) * r->list->block_tokens > q->prompt_tokens) {
        return false;
    }
    *ret_node = r->list->chain[q->chain_first + (size_t)block];
    return r->list->node_uses[*ret_node] > 1;
}

/* How many leading pages of the prompt are in the pool already. */
static int64_t count_cached(const struct wf_replay *r, const struct wf_request *q)
{
    int32_t before = WF_NO_PAGE;
    uint32_t node;
    int64_t n = 0;
    while (page_content(r, q, n, &node)) {
        before = wf_page_pool_find(r->pool, before, node);
        if (before == WF_NO_PAGE) {
            break;
        }
        n++;
    }
    return n;
}

static enum wf_status fill_pages(struct wf_replay *r,
                                 struct wf_replay_sequence *s,
                                 int64_t cached,
                                 struct wf_error *err)
{
    const struct wf_request *q = request_of(r, s->request);
    const int64_t need = pages_for(r, s->kv_tokens);
    int32_t before = WF_NO_PAGE;
    bool known = true;
    for (int64_t p = 0; p < need; p++) {
        uint32_t node = 0;
        int32_t page;
        known = known && page_content(r, q, p, &node);
        if (p < cached) {
            page = wf_page_pool_find(r->pool, before, node);
            wf_page_pool_share(r->pool, page);
        } else {
            page = wf_page_pool_take(r->pool);
            if (known) {
                wf_page_pool_publish(r->pool, page, before, node);
            }
        }
        enum wf_status st = append_page(s, page, err);
        if (st != WF_OK) {
            wf_page_pool_release(r->pool, page);
            return st;
        }
        before = page;
    }
    return WF_OK;
}

/* *ret_admitted is false when the pool has no room. */
static enum wf_status admit(struct wf_replay *r,
                            const struct waiting *w,
                            bool *ret_admitted,
                            struct wf_error *err)
{
    const struct wf_request *q = request_of(r, w->request);
    const int64_t tokens = q->prompt_tokens + w->generated;
    const int64_t cached = count_cached(r, q);
    *ret_admitted = false;
    if (pages_for(r, tokens) - cached > wf_page_pool_free_count(r->pool)) {
        return WF_OK;
    }
    struct wf_replay_sequence *s = &r->running[r->running_count];
    *s = (struct wf_replay_sequence){
        .request = w->request,
        .generated = w->generated + 1, /* the prefill gives one token */
        .kv_tokens = tokens,
        .cached_tokens = cached * r->options.page_size,
        .admitted_step = r->step,
        .pages = s->pages,
        .page_cap = s->page_cap,
    };
    enum wf_status st = fill_pages(r, s, cached, err);
    if (st != WF_OK) {
        drop_pages(r, s);
        return st;
    }
    r->running_count++;
    r->stats.admitted++;
    *ret_admitted = true;
    return WF_OK;
}

static int64_t arrival_ns(const struct wf_replay *r, size_t request)
{
    return (int64_t)((double)request_of(r, request)->arrival_ns /
                     r->options.time_scale);
}

/* Requests that could never finish, even alone. */
static void skip_refused(struct wf_replay *r)
{
    while (r->next_request < r->list->count) {
        const struct wf_request *q = request_of(r, r->next_request);
        const int64_t most = q->prompt_tokens + q->output_tokens - 1;
        if (pages_for(r, most) <= r->options.num_pages - 1) {
            return;
        }
        r->stats.refused++;
        r->next_request++;
    }
}

/* Head of the line; false when nobody waits now. */
static bool peek(struct wf_replay *r, struct waiting *ret)
{
    if (r->preempted_count > 0) {
        *ret = r->preempted[r->preempted_count - 1];
        return true;
    }
    skip_refused(r);
    if (r->next_request >= r->list->count ||
        arrival_ns(r, r->next_request) > r->now_ns) {
        return false;
    }
    *ret = (struct waiting){ .request = r->next_request };
    return true;
}

static void pop(struct wf_replay *r)
{
    if (r->preempted_count > 0) {
        r->preempted_count--;
    } else {
        r->next_request++;
    }
}

static enum wf_status admit_waiting(struct wf_replay *r, struct wf_error *err)
{
    struct waiting w;
    /* Preempted sequences keep their place in the batch's count: the stack is as large
     * as the batch. */
    while (r->running_count < (size_t)r->options.batch && peek(r, &w)) {
        bool admitted;
        enum wf_status st = admit(r, &w, &admitted, err);
        if (st != WF_OK || !admitted) {
            return st;
        }
        pop(r);
    }
    return WF_OK;
}

/* --- the step --- */

/* With nothing to run, time jumps to the next arrival; false when there is none. */
static bool advance_clock(struct wf_replay *r)
{
    r->now_ns += r->step < 0 ? 0 : r->options.step_ns;
    if (r->running_count > 0 || r->preempted_count > 0) {
        return true;
    }
    skip_refused(r);
    if (r->next_request >= r->list->count) {
        return false;
    }
    const int64_t next = arrival_ns(r, r->next_request);
    if (next > r->now_ns) {
        r->now_ns = next;
    }
    return true;
}

enum wf_status wf_replay_step(struct wf_replay *r, bool *ret_ran, struct wf_error *err)
{
    remove_finished(r);
    if (!advance_clock(r)) {
        *ret_ran = false;
        return WF_OK;
    }
    r->step++;
    const int64_t preempted = r->stats.preempted;
    enum wf_status st = grow_running(r, err);
    if (st == WF_OK && r->stats.preempted == preempted) {
        st = admit_waiting(r, err);
    }
    *ret_ran = true;
    return st;
}

int64_t wf_replay_current_step(const struct wf_replay *r)
{
    return r->step;
}

size_t wf_replay_running(const struct wf_replay *r)
{
    return r->running_count;
}

const struct wf_replay_sequence *wf_replay_sequence(const struct wf_replay *r, size_t i)
{
    return &r->running[i];
}

bool wf_replay_is_new(const struct wf_replay *r, const struct wf_replay_sequence *s)
{
    return s->admitted_step == r->step;
}

const struct wf_page_pool *wf_replay_pool(const struct wf_replay *r)
{
    return r->pool;
}

struct wf_replay_stats wf_replay_stats(const struct wf_replay *r)
{
    return r->stats;
}
