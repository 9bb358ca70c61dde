#include "tests/campaign/gemm_shapes.h"

#include "core/file.h"
#include "core/json.h"
#include "core/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LIST_BYTES ((size_t)16 << 20)
#define MAX_COLUMNS    128
#define MAX_SIZE       (INT64_C(1) << 40)

static enum wf_status keep(struct gemm_shapes *s,
                           struct gemm_shape shape,
                           struct wf_error *err)
{
    for (size_t i = 0; i < s->count; i++) {
        if (memcmp(&s->at[i], &shape, sizeof(shape)) == 0) {
            return WF_OK;
        }
    }
    struct gemm_shape *at = wf_realloc_array(s->at, s->count + 1, sizeof(*at));
    if (at == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for sizes");
    }
    s->at = at;
    s->at[s->count++] = shape;
    return WF_OK;
}

/* The next piece of a text up to `end`, without blanks around it, in `out`. */
static const char *piece(const char *text, const char *ends, char *out, size_t n)
{
    size_t len = strcspn(text, ends);
    const char *next = text + len + (text[len] != '\0');
    while (len > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        len--;
    }
    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL) {
        len--;
    }
    snprintf(out, n, "%.*s", (int)len, text);
    return next;
}

static int64_t *member(struct gemm_shape *s, const char *name)
{
    return strcmp(name, "M") == 0   ? &s->m
           : strcmp(name, "N") == 0 ? &s->n
           : strcmp(name, "K") == 0 ? &s->k
                                    : NULL;
}

/* --- lines --- */
struct lines {
    const char *source;
    size_t number;
    const char *names[3];
    bool has_heading; /* csv */
    int column[3];    /* of M, N, K; -1: none */
};

static enum wf_status read_size(const struct lines *l,
                                const char *name,
                                const char *text,
                                int64_t *ret,
                                struct wf_error *err)
{
    enum wf_status status = wf_parse_i64(text, name, 0, MAX_SIZE, ret, err);
    return status == WF_OK ? WF_OK
                           : wf_error_prefix(err, "%s:%zu", l->source, l->number);
}

static enum wf_status csv_heading(struct lines *l,
                                  const char *line,
                                  struct wf_error *err)
{
    char word[128];
    for (int c = 0; *line != '\0' && c < MAX_COLUMNS; c++) {
        line = piece(line, ",\n", word, sizeof(word));
        for (int i = 0; i < 3; i++) {
            l->column[i] = strcmp(word, l->names[i]) == 0 ? c : l->column[i];
        }
    }
    for (int i = 0; i < 3; i++) {
        if (l->column[i] < 0) {
            return wf_errorf(err, WF_EINVAL, "%s:%zu: no column '%s' in the heading",
                             l->source, l->number, l->names[i]);
        }
    }
    return WF_OK;
}

static enum wf_status csv_line(struct lines *l,
                               const char *line,
                               struct gemm_shapes *ret,
                               struct wf_error *err)
{
    char word[128];
    int found = 0;
    struct gemm_shape shape = { 0 };
    enum wf_status status = WF_OK;
    if (line[0] == '#' || line[strspn(line, " \t\r")] == '\0') {
        return WF_OK;
    }
    if (!l->has_heading) {
        l->has_heading = true;
        return csv_heading(l, line, err);
    }
    for (int c = 0; status == WF_OK && *line != '\0' && c < MAX_COLUMNS; c++) {
        line = piece(line, ",\n", word, sizeof(word));
        for (int i = 0; status == WF_OK && i < 3; i++) {
            if (l->column[i] == c) {
                status =
                    read_size(l, l->names[i], word, member(&shape, l->names[i]), err);
                found++;
            }
        }
    }
    if (status == WF_OK && found != 3) {
        return wf_errorf(err, WF_EPARSE, "%s:%zu: fewer columns than the heading",
                         l->source, l->number);
    }
    return status == WF_OK ? keep(ret, shape, err) : status;
}

/* "- { M:  16,    N:  16,    K:  1024  }": other lines say other things. */
static enum wf_status yaml_line(struct lines *l,
                                const char *line,
                                struct gemm_shapes *ret,
                                struct wf_error *err)
{
    char name[128];
    char value[128];
    int found = 0;
    struct gemm_shape shape = { 0 };
    enum wf_status status = WF_OK;
    const char *at = strchr(line, '{');
    const char *comment = strchr(line, '#');
    if (at == NULL || (comment != NULL && comment < at)) {
        return WF_OK;
    }
    for (at++;
         status == WF_OK && *at != '\0' && *at != '}' && strchr(at, ':') != NULL;) {
        at = piece(at, ":", name, sizeof(name));
        at = piece(at, ",}", value, sizeof(value));
        int64_t *size = member(&shape, name);
        if (size != NULL) {
            status = read_size(l, name, value, size, err);
            found++;
        }
    }
    return status == WF_OK && found == 3 ? keep(ret, shape, err) : status;
}

typedef enum wf_status line_reader(struct lines *l,
                                   const char *line,
                                   struct gemm_shapes *ret,
                                   struct wf_error *err);

static enum wf_status each_line(const char *text,
                                const char *source,
                                line_reader *read,
                                struct gemm_shapes *ret,
                                struct wf_error *err)
{
    struct lines l = { source, 0, { "M", "N", "K" }, false, { -1, -1, -1 } };
    enum wf_status status = WF_OK;
    while (status == WF_OK && *text != '\0') {
        const size_t len = strcspn(text, "\n");
        char *line = wf_strndup(text, len);
        l.number++;
        status = line != NULL ? read(&l, line, ret, err)
                              : wf_errorf(err, WF_ENOMEM, "no memory for a line");
        free(line);
        text += len + (text[len] != '\0');
    }
    return status;
}

/* --- suites --- */
static enum wf_status suite_case(const struct wf_json *defaults,
                                 const struct wf_json *c,
                                 struct gemm_shapes *ret,
                                 struct wf_error *err)
{
    static const char *const names[3] = { "M", "N", "K" };
    const char *op = wf_json_string(wf_json_find(c, "op"));
    struct gemm_shape shape = { 0 };
    enum wf_status status = WF_OK;
    if (op == NULL && defaults != NULL) {
        op = wf_json_string(wf_json_find(defaults, "op"));
    }
    if (op == NULL || strcmp(op, "gemm") != 0) {
        return WF_OK;
    }
    for (int i = 0; status == WF_OK && i < 3; i++) {
        const struct wf_json *from =
            wf_json_find(c, names[i]) == NULL && defaults != NULL ? defaults : c;
        status =
            wf_json_get_i64(from, names[i], 0, MAX_SIZE, member(&shape, names[i]), err);
    }
    return status == WF_OK ? keep(ret, shape, err) : status;
}

static enum wf_status suite_text(const char *text,
                                 size_t len,
                                 const char *source,
                                 struct gemm_shapes *ret,
                                 struct wf_error *err)
{
    struct wf_json *root = NULL;
    const struct wf_json *cases = NULL;
    enum wf_status status = wf_json_parse(text, len, source, &root, err);
    if (status != WF_OK) {
        return status;
    }
    status = wf_json_get_array(root, "cases", &cases, err);
    for (const struct wf_json *c = wf_json_first(cases); status == WF_OK && c != NULL;
         c = wf_json_next(c)) {
        status = suite_case(wf_json_find(root, "defaults"), c, ret, err);
    }
    wf_json_free(root);
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "%s", source);
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t e = strlen(end);
    return n >= e && strcmp(text + n - e, end) == 0;
}

enum wf_status gemm_shapes_parse(const char *text,
                                 size_t len,
                                 const char *source,
                                 struct gemm_shapes *ret,
                                 struct wf_error *err)
{
    struct gemm_shapes found = { 0 };
    enum wf_status status =
        ends_with(source, ".json")  ? suite_text(text, len, source, &found, err)
        : ends_with(source, ".csv") ? each_line(text, source, csv_line, &found, err)
        : ends_with(source, ".yaml")
            ? each_line(text, source, yaml_line, &found, err)
            : wf_errorf(err, WF_EINVAL,
                        "%s: a list of sizes ends in .json, .csv or "
                        ".yaml",
                        source);
    if (status == WF_OK && found.count == 0) {
        status = wf_errorf(err, WF_EINVAL, "%s: no size of a product (M, N, K) in it",
                           source);
    }
    for (size_t i = 0; status == WF_OK && i < found.count; i++) {
        status = keep(ret, found.at[i], err);
    }
    gemm_shapes_free(&found);
    return status;
}

enum wf_status gemm_shapes_read(const char *path,
                                struct gemm_shapes *ret,
                                struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status status = wf_file_read(path, MAX_LIST_BYTES, &text, err);
    if (status == WF_OK) {
        status = gemm_shapes_parse(wf_buf_cstr(&text), text.len, path, ret, err);
    }
    wf_buf_free(&text);
    return status;
}

void gemm_shapes_free(struct gemm_shapes *shapes)
{
    free(shapes->at);
    shapes->at = NULL;
    shapes->count = 0;
}
