/* Fuzzes the trace readers. An accepted list is in order of arrival, and its chains and
 * use counts agree. */
#include "datasets/trace.h"

#include "tests/fuzz/fuzz_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good)
{
    if (!good) {
        abort();
    }
}

static void check_list(const struct wf_request_list *list,
                       const struct wf_trace_report *report)
{
    uint64_t uses = 0;
    must((int64_t)list->count == report->taken && list->at[0].arrival_ns == 0);
    for (size_t i = 0; i < list->count; i++) {
        const struct wf_request *r = &list->at[i];
        must(i == 0 || r->arrival_ns >= r[-1].arrival_ns);
        must(r->prompt_tokens > 0 && r->output_tokens > 0);
        must(r->chain_first + r->chain_count <= list->chain_count);
    }
    for (size_t i = 0; i < list->node_count; i++) {
        uses += list->node_uses[i];
    }
    must(uses == list->chain_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wf_request_list list = WF_REQUEST_LIST_INIT;
    struct wf_trace_report report;
    struct wf_error err = { .text = "" };
    const char *path = fuzz_file("trace", data, size);

    if (wf_trace_read(path, 0, &list, &report, &err) == WF_OK) {
        check_list(&list, &report);
    } else {
        must(strstr(err.text, "trace") != NULL);
    }
    wf_request_list_free(&list);
    return 0;
}
