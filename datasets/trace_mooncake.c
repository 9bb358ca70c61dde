/* Rows of the Mooncake traces. hash_ids name 512-token blocks of the prompt, the last
 * one possibly partial. An id is meant to stand for the block and its prefix; the index
 * here makes that true for any file: a node is a pair (node before, id). */
#include "datasets/trace_rows.h"

#include "core/buf.h"
#include "core/json.h"

#include <inttypes.h>
#include <stdlib.h>

#define NO_NODE UINT32_MAX

struct slot {
    int64_t id;
    uint32_t parent;
    uint32_t node; /* NO_NODE: empty */
};

struct wf_chain_index {
    struct slot *slots;
    size_t cap; /* power of two */
    uint32_t count;
};

static struct slot *make_slots(size_t cap)
{
    struct slot *slots = wf_calloc(cap, sizeof *slots);
    for (size_t i = 0; slots && i < cap; i++) {
        slots[i].node = NO_NODE;
    }
    return slots;
}

struct wf_chain_index *wf_chain_index_create(void)
{
    struct wf_chain_index *index = wf_calloc(1, sizeof *index);
    if (!index) {
        return NULL;
    }
    index->cap = 1024;
    index->slots = make_slots(index->cap);
    if (!index->slots) {
        free(index);
        return NULL;
    }
    return index;
}

void wf_chain_index_destroy(struct wf_chain_index *index)
{
    if (index) {
        free(index->slots);
        free(index);
    }
}

static struct slot *find_slot(struct slot *slots,
                              size_t cap,
                              uint32_t parent,
                              int64_t id)
{
    uint64_t h = ((uint64_t)id + 1) * 0x9e3779b97f4a7c15u ^
                 ((uint64_t)parent + 1) * 0xc2b2ae3d27d4eb4fu;
    h ^= h >> 29;
    size_t i = (size_t)h & (cap - 1);
    while (slots[i].node != NO_NODE &&
           (slots[i].id != id || slots[i].parent != parent)) {
        i = (i + 1) & (cap - 1);
    }
    return &slots[i];
}

static enum wf_status grow_index(struct wf_chain_index *index, struct wf_error *err)
{
    struct slot *slots = make_slots(index->cap * 2);
    if (!slots) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %u blocks", index->count);
    }
    for (size_t i = 0; i < index->cap; i++) {
        const struct slot *s = &index->slots[i];
        if (s->node != NO_NODE) {
            *find_slot(slots, index->cap * 2, s->parent, s->id) = *s;
        }
    }
    free(index->slots);
    index->slots = slots;
    index->cap *= 2;
    return WF_OK;
}

static enum wf_status node_of(struct wf_chain_index *index,
                              uint32_t parent,
                              int64_t id,
                              uint32_t *ret,
                              struct wf_error *err)
{
    if (index->count >= index->cap / 2) {
        enum wf_status st = grow_index(index, err);
        if (st != WF_OK) {
            return st;
        }
    }
    struct slot *s = find_slot(index->slots, index->cap, parent, id);
    if (s->node == NO_NODE) {
        if (index->count >= WF_MOONCAKE_MAX_NODES) {
            return wf_errorf(err, WF_ERANGE, "more than 2^28 different blocks");
        }
        *s = (struct slot){ .id = id, .parent = parent, .node = index->count++ };
    }
    *ret = s->node;
    return WF_OK;
}

static enum wf_status add_chain(const struct wf_json *ids,
                                struct wf_chain_index *index,
                                struct wf_request_list *list,
                                struct wf_request *r,
                                struct wf_error *err)
{
    uint32_t node = NO_NODE;
    r->chain_first = list->chain_count;
    for (const struct wf_json *v = wf_json_first(ids); v; v = wf_json_next(v)) {
        int64_t id;
        if (!wf_json_as_i64(v, &id) || id < 0) {
            return wf_errorf(err, WF_EPARSE, "hash_ids[%zu] must be an integer from 0",
                             list->chain_count - r->chain_first);
        }
        enum wf_status st = node_of(index, node, id, &node, err);
        if (st == WF_OK) {
            st = wf_request_list_chain(list, node, err);
        }
        if (st != WF_OK) {
            return st;
        }
    }
    r->chain_count = list->chain_count - r->chain_first;
    return WF_OK;
}

static enum wf_status read_row(const struct wf_json *row,
                               struct wf_request *r,
                               const struct wf_json **ret_ids,
                               struct wf_error *err)
{
    static const char *const keys[] = { "timestamp", "input_length", "output_length",
                                        "hash_ids", NULL };
    int64_t ms = 0;
    enum wf_status st = wf_json_only_keys(row, keys, err);
    if (st == WF_OK) {
        st = wf_json_get_i64(row, "timestamp", 0, INT64_MAX / 2000000, &ms, err);
    }
    if (st == WF_OK) {
        st = wf_json_get_i64(row, "input_length", 0, WF_TRACE_MAX_TOKENS,
                             &r->prompt_tokens, err);
    }
    if (st == WF_OK) {
        st = wf_json_get_i64(row, "output_length", 0, WF_TRACE_MAX_TOKENS,
                             &r->output_tokens, err);
    }
    if (st == WF_OK) {
        st = wf_json_get_array(row, "hash_ids", ret_ids, err);
    }
    r->arrival_ns = ms * 1000000;
    return st;
}

static enum wf_status take_row(const struct wf_json *row,
                               struct wf_chain_index *index,
                               struct wf_request_list *list,
                               struct wf_request *ret,
                               struct wf_error *err)
{
    struct wf_request r = { 0 };
    const struct wf_json *ids = NULL;
    if (wf_json_type(row) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EPARSE, "a row must be a JSON object");
    }
    enum wf_status st = read_row(row, &r, &ids, err);
    if (st != WF_OK) {
        return st;
    }
    const int64_t blocks =
        (r.prompt_tokens + WF_MOONCAKE_BLOCK - 1) / WF_MOONCAKE_BLOCK;
    if ((int64_t)wf_json_count(ids) != blocks) {
        return wf_errorf(err, WF_EPARSE,
                         "hash_ids has %zu ids, input_length %" PRId64 " needs %" PRId64
                         " (one for each %d tokens)",
                         wf_json_count(ids), r.prompt_tokens, blocks,
                         WF_MOONCAKE_BLOCK);
    }
    if (r.prompt_tokens > 0 && r.output_tokens > 0) {
        st = add_chain(ids, index, list, &r, err);
    }
    if (st == WF_OK) {
        *ret = r;
    }
    return st;
}

enum wf_status wf_mooncake_row(const char *line,
                               size_t n,
                               struct wf_chain_index *index,
                               struct wf_request_list *list,
                               struct wf_request *ret,
                               struct wf_error *err)
{
    struct wf_json *row = NULL;
    enum wf_status st = wf_json_parse(line, n, "row", &row, err);
    if (st == WF_OK) {
        st = take_row(row, index, list, ret, err);
    }
    wf_json_free(row);
    return st;
}
