/* The list of requests: growth, order and release. A chain belongs to the request that
 * is added after it; node ids are dense, so that use counts are a plain array. */
#include "datasets/trace.h"

#include "core/buf.h"

#include <stdbool.h>
#include <stdlib.h>

static enum wf_status grow(void **array,
                           size_t *cap,
                           size_t need,
                           size_t size,
                           struct wf_error *err)
{
    if (need <= *cap) {
        return WF_OK;
    }
    size_t cap_new = *cap < 1024 ? 1024 : *cap * 2;
    if (cap_new < need) {
        cap_new = need;
    }
    void *p = wf_realloc_array(*array, cap_new, size);
    if (!p) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu requests", need);
    }
    *array = p;
    *cap = cap_new;
    return WF_OK;
}

enum wf_status wf_request_list_add(struct wf_request_list *list,
                                   const struct wf_request *r,
                                   struct wf_error *err)
{
    void *p = list->at;
    enum wf_status st = grow(&p, &list->cap, list->count + 1, sizeof *list->at, err);
    list->at = p;
    if (st == WF_OK) {
        list->at[list->count++] = *r;
    }
    return st;
}

static enum wf_status count_use(struct wf_request_list *list,
                                uint32_t node,
                                struct wf_error *err)
{
    size_t need = (size_t)node + 1;
    void *p = list->node_uses;
    enum wf_status st = grow(&p, &list->node_cap, need, sizeof *list->node_uses, err);
    list->node_uses = p;
    if (st != WF_OK) {
        return st;
    }
    while (list->node_count < need) {
        list->node_uses[list->node_count++] = 0;
    }
    list->node_uses[node]++;
    return WF_OK;
}

enum wf_status wf_request_list_chain(struct wf_request_list *list,
                                     uint32_t node,
                                     struct wf_error *err)
{
    void *p = list->chain;
    size_t need = list->chain_count + 1;
    enum wf_status st = grow(&p, &list->chain_cap, need, sizeof *list->chain, err);
    list->chain = p;
    if (st == WF_OK) {
        st = count_use(list, node, err);
    }
    if (st == WF_OK) {
        list->chain[list->chain_count++] = node;
    }
    return st;
}

static bool is_sorted(const struct wf_request_list *list)
{
    for (size_t i = 1; i < list->count; i++) {
        if (list->at[i - 1].arrival_ns > list->at[i].arrival_ns) {
            return false;
        }
    }
    return true;
}

/* qsort is not stable: equal arrivals are told apart by their place in the file. */
struct ordered {
    struct wf_request r;
    size_t order;
};

static int by_arrival(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    if (x->r.arrival_ns != y->r.arrival_ns) {
        return x->r.arrival_ns < y->r.arrival_ns ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

static enum wf_status sort_requests(struct wf_request_list *list, struct wf_error *err)
{
    struct ordered *o = wf_calloc(list->count, sizeof *o);
    if (!o) {
        return wf_errorf(err, WF_ENOMEM, "no memory to sort %zu requests", list->count);
    }
    for (size_t i = 0; i < list->count; i++) {
        o[i] = (struct ordered){ .r = list->at[i], .order = i };
    }
    qsort(o, list->count, sizeof *o, by_arrival);
    for (size_t i = 0; i < list->count; i++) {
        list->at[i] = o[i].r;
    }
    free(o);
    return WF_OK;
}

enum wf_status wf_request_list_settle(struct wf_request_list *list,
                                      struct wf_error *err)
{
    if (!is_sorted(list)) {
        enum wf_status st = sort_requests(list, err);
        if (st != WF_OK) {
            return st;
        }
    }
    const int64_t first = list->count > 0 ? list->at[0].arrival_ns : 0;
    for (size_t i = 0; i < list->count; i++) {
        list->at[i].arrival_ns -= first;
    }
    return WF_OK;
}

void wf_request_list_free(struct wf_request_list *list)
{
    free(list->at);
    free(list->chain);
    free(list->node_uses);
    *list = (struct wf_request_list)WF_REQUEST_LIST_INIT;
}
