/* Reads a trace: tells the format by the first line, counts what it takes and skips,
 * and puts file and line before every error. The hash covers the whole file, also the
 * rows past max_requests. */
#include "datasets/trace.h"

#include "datasets/trace_lines.h"
#include "datasets/trace_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct wf_lines lines;
    struct wf_chain_index *index;
    struct wf_request_list *list;
    struct wf_trace_report report;
    int64_t max_requests;
    int64_t last_arrival_ns;
};

const char *wf_trace_format_name(enum wf_trace_format f)
{
    return f == WF_TRACE_AZURE ? "azure" : "mooncake";
}

static enum wf_status parse_row(struct reader *r,
                                struct wf_request *ret,
                                struct wf_error *err)
{
    const char *line = wf_buf_cstr(&r->lines.text);
    enum wf_status st;
    if (r->report.format == WF_TRACE_AZURE) {
        st = wf_azure_row(line, ret, err);
    } else {
        st = wf_mooncake_row(line, r->lines.text.len, r->index, r->list, ret, err);
    }
    if (st != WF_OK) {
        (void)wf_error_prefix(err, "%s:%" PRId64, r->lines.path, r->lines.number);
    }
    return st;
}

static enum wf_status take_row(struct reader *r, struct wf_error *err)
{
    struct wf_request q = { 0 };
    r->report.rows++;
    if (r->max_requests > 0 && r->report.taken >= r->max_requests) {
        r->report.skipped_past_end++;
        return WF_OK;
    }
    enum wf_status st = parse_row(r, &q, err);
    if (st != WF_OK) {
        return st;
    }
    if (q.prompt_tokens == 0) {
        r->report.skipped_no_prompt++;
        return WF_OK;
    }
    if (q.output_tokens == 0) {
        r->report.skipped_no_output++;
        return WF_OK;
    }
    if (r->report.taken > 0 && q.arrival_ns < r->last_arrival_ns) {
        r->report.reordered++;
    }
    r->last_arrival_ns = q.arrival_ns;
    r->report.taken++;
    return wf_request_list_add(r->list, &q, err);
}

/* Looks at the first line; a CSV header is consumed, a JSON row is not. */
static enum wf_status detect(struct reader *r, bool *ret_is_row, struct wf_error *err)
{
    const char *line = wf_buf_cstr(&r->lines.text);
    if (strcmp(line, WF_AZURE_HEADER) == 0) {
        r->report.format = WF_TRACE_AZURE;
        *ret_is_row = false;
        return WF_OK;
    }
    if (line[0] == '{') {
        r->report.format = WF_TRACE_MOONCAKE;
        r->list->block_tokens = WF_MOONCAKE_BLOCK;
        *ret_is_row = true;
        return WF_OK;
    }
    if (strncmp(line, "\xef\xbb\xbf", 3) == 0) {
        return wf_errorf(err, WF_EPARSE,
                         "%s:1: the file begins with a byte order mark: remove it",
                         r->lines.path);
    }
    return wf_errorf(err, WF_EPARSE,
                     "%s:1: neither the CSV header \"" WF_AZURE_HEADER "\" nor a JSON "
                     "object: \"%.60s\"",
                     r->lines.path, line);
}

static enum wf_status read_rows(struct reader *r, struct wf_error *err)
{
    bool more = false, is_row = false;
    enum wf_status st = wf_lines_next(&r->lines, &more, err);
    if (st == WF_OK && !more) {
        st = wf_errorf(err, WF_EPARSE, "%s: the file is empty", r->lines.path);
    }
    if (st == WF_OK) {
        st = detect(r, &is_row, err);
    }
    while (st == WF_OK && more) {
        if (is_row) {
            st = take_row(r, err);
        }
        is_row = true;
        if (st == WF_OK) {
            st = wf_lines_next(&r->lines, &more, err);
        }
    }
    return st;
}

enum wf_status wf_trace_read(const char *path,
                             int64_t max_requests,
                             struct wf_request_list *list,
                             struct wf_trace_report *ret,
                             struct wf_error *err)
{
    struct reader *r = wf_calloc(1, sizeof *r);
    if (!r) {
        return wf_errorf(err, WF_ENOMEM, "no memory to read %s", path);
    }
    r->list = list;
    r->max_requests = max_requests;
    enum wf_status st = wf_lines_open(&r->lines, path, err);
    if (st != WF_OK) {
        goto out;
    }
    r->index = wf_chain_index_create();
    if (!r->index) {
        st = wf_errorf(err, WF_ENOMEM, "no memory to read %s", path);
        goto out;
    }
    st = read_rows(r, err);
    if (st == WF_OK && r->report.taken == 0) {
        st = wf_errorf(err, WF_EINVAL,
                       "%s: none of the %" PRId64 " rows has both a prompt and output",
                       path, r->report.rows);
    }
    if (st == WF_OK) {
        st = wf_request_list_settle(list, err);
    }
    if (st == WF_OK) {
        wf_lines_sha256(&r->lines, r->report.sha256);
        *ret = r->report;
    }
out:
    wf_chain_index_destroy(r->index);
    wf_lines_close(&r->lines);
    free(r);
    return st;
}
