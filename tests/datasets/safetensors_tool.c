/* safetensors_tool write FILE       writes a file with every type
 * safetensors_tool table FILE       writes a small page table
 * safetensors_tool show FILE        prints what our reader sees, one tensor a line
 * For safetensors_interop.py, which has a reader and a writer of its own. */
#include "core/file.h"
#include "datasets/dataset.h"
#include "datasets/page_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int fail(const struct wf_error *err)
{
    (void)fprintf(stderr, "%s\n", err->text);
    return 1;
}

static int write_types(const char *path)
{
    static const uint8_t data[48] = { 0x80, 1, 2, 3, 0xff, 5, 6, 7, 8, 9 };
    struct wf_dataset_tensor t[WF_DTYPE_COUNT + 2];
    struct wf_json *meta = wf_json_object();
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error err;
    for (int i = 0; i < WF_DTYPE_COUNT; i++) {
        const enum wf_dtype type = (enum wf_dtype)i;
        t[i] = (struct wf_dataset_tensor){ .name = wf_dtype_name(type),
                                           .dtype = type,
                                           .ndim = 3,
                                           .dim = { 3, 1, 2 },
                                           .data = data,
                                           .bytes = 6 * wf_dtype_bytes(type) };
    }
    t[WF_DTYPE_COUNT] = (struct wf_dataset_tensor){
        .name = "scalar \xc3\xa9\"\\", .dtype = WF_I64, .data = data, .bytes = 8
    };
    t[WF_DTYPE_COUNT + 1] = (struct wf_dataset_tensor){
        .name = "empty", .dtype = WF_F32, .ndim = 2, .dim = { 0, 5 }
    };
    enum wf_status st = wf_json_set_string(meta, "note", "line\n\xe2\x82\xac", &err);
    if (st == WF_OK) {
        st = wf_dataset_write(t, WF_DTYPE_COUNT + 2, meta, &out, &err);
    }
    if (st == WF_OK) {
        st = wf_file_write_atomic(path, out.data, out.len, &err);
    }
    wf_buf_free(&out);
    wf_json_free(meta);
    return st == WF_OK ? 0 : fail(&err);
}

static int write_table(const char *path)
{
    struct wf_page_table_spec spec;
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error err;
    wf_page_table_spec_default(&spec);
    spec.batch = 20;
    spec.prefix_share = 0.5;
    spec.prefix_tokens = 40;
    enum wf_status st = wf_page_table_make(&spec, &out, NULL, &err);
    if (st == WF_OK) {
        st = wf_file_write_atomic(path, out.data, out.len, &err);
    }
    wf_buf_free(&out);
    return st == WF_OK ? 0 : fail(&err);
}

static void show_tensor(const struct wf_dataset_tensor *t)
{
    const uint8_t *bytes = t->data;
    (void)printf("%s %s [", t->name, wf_dtype_name(t->dtype));
    for (int i = 0; i < t->ndim; i++) {
        (void)printf("%s%" PRId64, i > 0 ? "," : "", t->dim[i]);
    }
    (void)printf("] ");
    for (uint64_t i = 0; i < t->bytes; i++) {
        (void)printf("%02x", bytes[i]);
    }
    (void)printf("\n");
}

static int show(const char *path)
{
    struct wf_dataset *ds = NULL;
    struct wf_error err;
    if (wf_dataset_read_file(path, &ds, &err) != WF_OK) {
        return fail(&err);
    }
    for (size_t i = 0; i < wf_dataset_count(ds); i++) {
        show_tensor(wf_dataset_at(ds, i));
    }
    wf_dataset_free(ds);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "write") == 0) {
        return write_types(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "table") == 0) {
        return write_table(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "show") == 0) {
        return show(argv[2]);
    }
    (void)fprintf(stderr, "usage: safetensors_tool write|table|show FILE\n");
    return 2;
}
