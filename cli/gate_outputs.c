#include "cli/gate_outputs.h"

#include "cli/gate_view.h"
#include "cli/output.h"
#include "cli/results_file.h"
#include "core/file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum format {
    FORMAT_TEXT,
    FORMAT_JSON,
    FORMAT_MARKDOWN,
    FORMAT_JUNIT,
    FORMAT_COUNT
};
static const char *const format_names[FORMAT_COUNT] = { "text", "json", "markdown",
                                                        "junit" };

static enum wf_status read_format(const struct wf_args *args,
                                  enum format *ret,
                                  struct wf_error *err)
{
    const char *text = wf_args_string(args, "format");
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(text, format_names[i]) == 0) {
            *ret = wf_args_flag(args, "json") ? FORMAT_JSON : (enum format)i;
            return WF_OK;
        }
    }
    return wf_errorf(err, WF_EINVAL,
                     "--format is '%.40s'; it takes text, json, markdown or junit",
                     text);
}

static const struct {
    const char *option;
    enum format format;
} files[] = { { "markdown", FORMAT_MARKDOWN },
              { "junit", FORMAT_JUNIT },
              { "json-file", FORMAT_JSON } };

/* Two names of one file, as far as can be known before they are made. A device (or
 * /dev/null) may well take several. */
static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (stat(a, &x) != 0 || stat(b, &y) != 0) {
        return strcmp(a, b) == 0;
    }
    return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A report must not go over the record that it is of, nor over another one. */
static enum wf_status check_apart(const struct wf_args *args,
                                  const char *record,
                                  size_t i,
                                  struct wf_error *err)
{
    const char *path = wf_args_string(args, files[i].option);
    if (record != NULL && same_file(path, record)) {
        return wf_errorf(err, WF_EINVAL,
                         "--%s %s is the record's file: the report would be written "
                         "over it; name another one",
                         files[i].option, path);
    }
    for (size_t k = 0; k < i; k++) {
        const char *other = wf_args_string(args, files[k].option);
        if (other != NULL && same_file(path, other)) {
            return wf_errorf(err, WF_EINVAL,
                             "--%s and --%s name the same file %s: one would be "
                             "written over the other",
                             files[k].option, files[i].option, path);
        }
    }
    return WF_OK;
}

enum wf_status gate_outputs_check(const struct wf_args *args,
                                  const char *record,
                                  struct wf_error *err)
{
    enum format unused;
    enum wf_status status = read_format(args, &unused, err);
    for (size_t i = 0; i < sizeof files / sizeof files[0] && status == WF_OK; i++) {
        const char *path = wf_args_string(args, files[i].option);
        if (path != NULL) {
            status = check_apart(args, record, i, err);
            status = status == WF_OK ? wf_results_probe(path, err) : status;
        }
    }
    return status;
}

static enum wf_status render(const struct wf_args *args,
                             const struct wf_gate_report *r,
                             enum format f,
                             struct wf_buf *out,
                             struct wf_error *err)
{
    struct wf_json *json = NULL;
    if (f == FORMAT_MARKDOWN) {
        return wf_gate_report_markdown(r, wf_args_string(args, "link"),
                                       WF_GATE_MARKDOWN_MAX, out, err);
    }
    if (f == FORMAT_JUNIT) {
        return wf_gate_report_junit(r, out, err);
    }
    enum wf_status status = wf_gate_report_json(r, &json, err);
    if (status == WF_OK) {
        status = wf_json_write_pretty(json, out, err);
    }
    if (status == WF_OK) {
        status = wf_buf_puts(out, "\n", err);
    }
    wf_json_free(json);
    return status;
}

static enum wf_status print(const struct wf_args *args,
                            const struct wf_gate_report *r,
                            struct wf_error *err)
{
    struct wf_buf out = WF_BUF_INIT;
    enum format f = FORMAT_TEXT;
    enum wf_status status = read_format(args, &f, err);
    if (status == WF_OK && f == FORMAT_TEXT) {
        const struct gate_view_options view = { .all = wf_args_flag(args, "all") };
        gate_view_print(r, &view);
        return WF_OK;
    }
    if (status == WF_OK) {
        status = render(args, r, f, &out, err);
    }
    if (status == WF_OK) {
        (void)fwrite(out.data, 1, out.len, stdout); /* main tells a lost output */
    }
    wf_buf_free(&out);
    return status;
}

static enum wf_status write_files(const struct wf_args *args,
                                  const struct wf_gate_report *r,
                                  struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && status == WF_OK; i++) {
        struct wf_buf out = WF_BUF_INIT;
        const char *path = wf_args_string(args, files[i].option);
        if (path == NULL) {
            continue;
        }
        status = render(args, r, files[i].format, &out, err);
        if (status == WF_OK) {
            status = wf_file_write_atomic(path, out.data, out.len, err);
        }
        wf_buf_free(&out);
    }
    return status;
}

enum wf_status gate_outputs(const struct wf_args *args,
                            struct wf_gate_record *record,
                            int *ret_exit,
                            struct wf_error *err)
{
    struct wf_gate_report *r = NULL;
    enum wf_status status =
        wf_gate_report_create(record, wf_args_flag(args, "strict"), &r, err);
    if (status == WF_OK) {
        *ret_exit = gate_exit_of(r);
        status = print(args, r, err);
    }
    if (status == WF_OK) {
        status = write_files(args, r, err);
    }
    wf_gate_report_free(r);
    return status;
}
