/* Row parsers of the two trace formats, between trace.c and the files of the formats.
 */
#ifndef WF_DATASETS_TRACE_ROWS_H
#define WF_DATASETS_TRACE_ROWS_H

#include "datasets/trace.h"

#include <stdbool.h>

#define WF_AZURE_HEADER       "TIMESTAMP,ContextTokens,GeneratedTokens"
#define WF_MOONCAKE_BLOCK     512
#define WF_MOONCAKE_MAX_NODES (1u << 28)

/* One row: arrival in absolute ns. Errors do not name the line, the caller does. */
enum wf_status wf_azure_row(const char *line,
                            struct wf_request *ret,
                            struct wf_error *err);

/* Node ids by (node of the block before, hash id). */
struct wf_chain_index;                              /* opaque */
struct wf_chain_index *wf_chain_index_create(void); /* NULL: no memory */
void wf_chain_index_destroy(struct wf_chain_index *index);

/* Also appends the chain of the request to the list, unless the row will be skipped. */
enum wf_status wf_mooncake_row(const char *line,
                               size_t n,
                               struct wf_chain_index *index,
                               struct wf_request_list *list,
                               struct wf_request *ret,
                               struct wf_error *err);

#endif
