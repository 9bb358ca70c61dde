/* Requests of a serving trace, as the page-table generator replays them.
 *
 * Readers stream: a file of any length needs the memory of its requests only. They are
 * strict; an error names file and line. Two formats, told apart by their first bytes:
 *   azure     CSV with the header TIMESTAMP,ContextTokens,GeneratedTokens
 *             (https://github.com/Azure/AzurePublicDataset)
 *   mooncake  JSON Lines with timestamp (ms), input_length, output_length, hash_ids
 *             (https://github.com/kvcache-ai/Mooncake): one id a 512-token block, equal
 *             ids at equal places mean equal prefixes */
#ifndef WF_DATASETS_TRACE_H
#define WF_DATASETS_TRACE_H

#include "core/error.h"
#include "core/sha256.h"

#include <stddef.h>
#include <stdint.h>

#define WF_TRACE_MAX_TOKENS ((int64_t)1 << 24) /* prompt or output of one request */

struct wf_request {
    int64_t arrival_ns; /* from the first request's arrival, in the trace's own time */
    int64_t prompt_tokens;
    int64_t output_tokens;
    size_t chain_first; /* its content blocks: list->chain[chain_first ...] */
    size_t chain_count;
};

/* Content of a prompt is known as a chain of blocks of `block_tokens` tokens. A node id
 * stands for the block and all that comes before it: two requests whose chains hold the
 * same node have equal tokens up to that block's end. Tokens past the chain are
 * private to their request. */
struct wf_request_list {
    struct wf_request *at; /* in order of arrival */
    size_t count, cap;
    int64_t block_tokens; /* 0: no request has a chain */
    uint32_t *chain;
    size_t chain_count, chain_cap;
    uint32_t *node_uses; /* per node: in how many chains it is */
    size_t node_count, node_cap;
};

#define WF_REQUEST_LIST_INIT                  \
    {                                         \
        NULL, 0, 0, 0, NULL, 0, 0, NULL, 0, 0 \
    }

enum wf_trace_format {
    WF_TRACE_AZURE,
    WF_TRACE_MOONCAKE
};

struct wf_trace_report {
    enum wf_trace_format format;
    char sha256[WF_SHA256_HEX]; /* of the whole file */
    int64_t rows;               /* without the header */
    int64_t taken;
    int64_t skipped_no_prompt; /* zero prompt tokens */
    int64_t skipped_no_output; /* zero output tokens: nothing is decoded */
    int64_t skipped_past_end;  /* after the first max_requests */
    int64_t reordered;         /* arrived before the row above: sorted */
};

const char *wf_trace_format_name(enum wf_trace_format f);

/* Appends to an empty list. max_requests 0: all. EINVAL when no row can be taken. */
enum wf_status wf_trace_read(const char *path,
                             int64_t max_requests,
                             struct wf_request_list *list,
                             struct wf_trace_report *ret,
                             struct wf_error *err);

/* --- building lists; used by the readers and by traffic.c --- */
enum wf_status wf_request_list_add(struct wf_request_list *list,
                                   const struct wf_request *r,
                                   struct wf_error *err);
/* Appends a node to the chain of the request that is added next. */
enum wf_status wf_request_list_chain(struct wf_request_list *list,
                                     uint32_t node,
                                     struct wf_error *err);
/* Sorts by arrival (stable) and makes the first arrival time 0. */
enum wf_status wf_request_list_settle(struct wf_request_list *list,
                                      struct wf_error *err);
void wf_request_list_free(struct wf_request_list *list); /* leaves it empty */

#endif
