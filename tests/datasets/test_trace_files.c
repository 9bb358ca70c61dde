/* The two public traces, where they are present: $WF_SHARED_DATA or ../shared/data
 * beside the source tree. Skipped (77) elsewhere, with a line that says so. */
#include "core/file.h"
#include "datasets/dataset.h"
#include "datasets/page_table.h"
#include "tests/datasets/table_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expectation {
    const char *file;
    enum wf_trace_format format;
    int64_t rows;
};

static const struct expectation files[] = {
    { "azure_llm_conv.csv", WF_TRACE_AZURE, 19366 },
    { "mooncake_conversation.jsonl", WF_TRACE_MOONCAKE, 12031 },
};

static char *data_folder(void)
{
    const char *data = getenv("WF_SHARED_DATA");
    const char *source = getenv("WF_SOURCE_DIR");
    return data ? wf_asprintf("%s/traces", data)
                : wf_asprintf("%s/../shared/data/traces", source ? source : ".");
}

static int fail(const char *file, const char *what)
{
    (void)printf("FAILED %s: %s\n", file, what);
    return 1;
}

static int check_reader(const struct expectation *e, const char *path)
{
    struct wf_request_list list = WF_REQUEST_LIST_INIT;
    struct wf_trace_report report;
    struct wf_error err;
    if (wf_trace_read(path, 0, &list, &report, &err) != WF_OK) {
        wf_request_list_free(&list);
        return fail(e->file, err.text);
    }
    wf_request_list_free(&list);
    (void)printf("%s: %" PRId64 " rows, %" PRId64 " taken\n", e->file, report.rows,
                 report.taken);
    if (report.format != e->format || report.rows != e->rows ||
        report.taken != e->rows || report.reordered != 0) {
        return fail(e->file, "other rows than it should have");
    }
    return 0;
}

static int check_stats(const struct expectation *e, const struct wf_page_table_stats *s)
{
    (void)printf("  page size %" PRId64 ": step %" PRId64 ", %" PRId64
                 " sequences, %" PRId64 " pages, %" PRId64 " shared\n",
                 s->page_size, s->step, s->batch, s->indices, s->shared_pages);
    if (s->batch < 200) {
        return fail(e->file, "fewer than 200 concurrent sequences");
    }
    if (e->format == WF_TRACE_MOONCAKE && s->shared_pages == 0) {
        return fail(e->file, "no shared prefix");
    }
    return 0;
}

static int check_table(const struct expectation *e, const char *path, int64_t page_size)
{
    struct wf_page_table_spec spec;
    struct wf_page_table_stats stats;
    struct wf_buf out = WF_BUF_INIT;
    struct wf_dataset *ds = NULL;
    struct wf_error err;
    wf_page_table_spec_default(&spec);
    spec.trace = path;
    spec.requests = 800;
    spec.batch = 200;
    spec.page_size = page_size;
    enum wf_status st = wf_page_table_make(&spec, &out, &stats, &err);
    if (st == WF_OK) {
        st = wf_dataset_parse(out.data, out.len, e->file, &ds, &err);
    }
    wf_buf_free(&out);
    if (st != WF_OK) {
        return fail(e->file, err.text);
    }
    const char *wrong = table_check(ds, &stats, spec.mode);
    wf_dataset_free(ds);
    return wrong ? fail(e->file, wrong) : check_stats(e, &stats);
}

static int check_file(const struct expectation *e, const char *folder)
{
    char *path = wf_path_join(folder, e->file);
    int bad = check_reader(e, path);
    bad += check_table(e, path, 16);
    bad += check_table(e, path, 1);
    free(path);
    return bad;
}

int main(void)
{
    char *folder = data_folder();
    int bad = 0;
    if (!folder || !wf_file_exists(folder)) {
        (void)printf("SKIPPED: no traces in %s (WF_SHARED_DATA sets another folder)\n",
                     folder ? folder : "?");
        free(folder);
        return 77;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        bad += check_file(&files[i], folder);
    }
    free(folder);
    return bad == 0 ? 0 : 1;
}
