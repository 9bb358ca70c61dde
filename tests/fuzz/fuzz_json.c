/* Fuzzes the JSON reader. Whatever it accepts must survive: writing and reading again
 * gives the same text, the canonical form is a fixed point, a copy is equal, and the
 * ways to reach a child agree. */
#include "core/json.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef enum wf_status (*write_fn)(const struct wf_json *v,
                                   struct wf_buf *out,
                                   struct wf_error *err);

static void must(int good)
{
    if (!good) {
        abort();
    }
}

static void check_children(const struct wf_json *v)
{
    const struct wf_json *c = wf_json_first(v);

    for (size_t i = 0; i < wf_json_count(v); i++, c = wf_json_next(c)) {
        must(c != NULL && wf_json_at(v, i) == c);
        if (wf_json_type(v) == WF_JSON_OBJECT) {
            must(wf_json_find(v, wf_json_key(c)) == c);
        }
        check_children(c);
    }
    must(c == NULL && wf_json_at(v, wf_json_count(v)) == NULL);
}

static void check_fixed_point(const struct wf_json *v, write_fn write)
{
    struct wf_buf once = WF_BUF_INIT;
    struct wf_buf twice = WF_BUF_INIT;
    struct wf_json *back = NULL;
    struct wf_error err;

    must(write(v, &once, &err) == WF_OK);
    must(wf_json_parse(once.data, once.len, "written", &back, &err) == WF_OK);
    must(write(back, &twice, &err) == WF_OK);
    must(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    wf_json_free(back);
    wf_buf_free(&once);
    wf_buf_free(&twice);
}

static void check_copy(const struct wf_json *v)
{
    struct wf_buf a = WF_BUF_INIT;
    struct wf_buf b = WF_BUF_INIT;
    struct wf_json *copy = NULL;

    must(wf_json_copy(v, &copy, NULL) == WF_OK);
    must(wf_json_write(v, &a, NULL) == WF_OK && wf_json_write(copy, &b, NULL) == WF_OK);
    must(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
    wf_json_free(copy);
    wf_buf_free(&a);
    wf_buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wf_error err = { .text = "" };
    struct wf_json *v = NULL;

    if (wf_json_parse((const char *)data, size, "fuzz", &v, &err) != WF_OK) {
        must(v == NULL && strncmp(err.text, "fuzz:", 5) == 0);
        return 0;
    }
    check_children(v);
    check_fixed_point(v, wf_json_write);
    check_fixed_point(v, wf_json_write_pretty);
    check_fixed_point(v, wf_json_write_canonical);
    check_copy(v);
    wf_json_free(v);
    return 0;
}
