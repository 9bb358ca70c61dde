/* Writing safetensors: exact bytes, round trips, and refusals. */
#include "datasets/dataset.h"

#include "tests/datasets/image.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const int32_t three[] = { 1, 2, 3 };
static const uint8_t bytes5[] = { 9, 8, 7, 6, 5 };

static struct wf_dataset_tensor i32x3(const char *name)
{
    return (struct wf_dataset_tensor){ .name = name,
                                       .dtype = WF_I32,
                                       .ndim = 1,
                                       .dim = { 3 },
                                       .data = three,
                                       .bytes = 12 };
}

static struct wf_json *parse(const char *text)
{
    struct wf_json *v = NULL;
    cr_assert_eq(wf_json_parse(text, strlen(text), "test", &v, NULL), WF_OK);
    return v;
}

Test(dataset_write, the_bytes_are_exactly_these)
{
    struct wf_json *meta = parse("{\"z\":\"1\",\"a\":\"q\\\"\"}");
    const struct wf_dataset_tensor t = i32x3("x");
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error err;
    cr_assert_eq(wf_dataset_write(&t, 1, meta, &out, &err), WF_OK, "%s", err.text);
    const char header[] =
        "{\"__metadata__\":{\"a\":\"q\\\"\",\"z\":\"1\"},"
        "\"x\":{\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[0,12]}}";
    const size_t padded = (strlen(header) + 7) / 8 * 8;
    cr_assert_eq(out.len, 8 + padded + 12);
    cr_expect_eq((unsigned char)out.data[0], padded);
    cr_expect_eq(memcmp(out.data + 8, header, strlen(header)), 0, "%s", out.data + 8);
    for (size_t i = strlen(header); i < padded; i++) {
        cr_expect_eq(out.data[8 + i], ' ');
    }
    cr_expect_eq(memcmp(out.data + 8 + padded, three, 12), 0);
    wf_buf_free(&out);
    wf_json_free(meta);
}

Test(dataset_write, what_is_written_is_read_back)
{
    struct wf_dataset_tensor t[WF_DTYPE_COUNT];
    static const uint8_t data[64] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    for (int i = 0; i < WF_DTYPE_COUNT; i++) {
        t[i] = (struct wf_dataset_tensor){ .name = wf_dtype_name((enum wf_dtype)i),
                                           .dtype = (enum wf_dtype)i,
                                           .ndim = 2,
                                           .dim = { 1, 3 },
                                           .data = data };
        t[i].bytes = 3 * wf_dtype_bytes(t[i].dtype);
    }
    struct wf_buf out = WF_BUF_INIT;
    struct wf_dataset *ds = NULL;
    struct wf_error err;
    cr_assert_eq(wf_dataset_write(t, WF_DTYPE_COUNT, NULL, &out, &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(wf_dataset_parse(out.data, out.len, "F", &ds, &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(wf_dataset_count(ds), WF_DTYPE_COUNT);
    for (int i = 0; i < WF_DTYPE_COUNT; i++) {
        const struct wf_dataset_tensor *got = wf_dataset_at(ds, (size_t)i);
        cr_expect_str_eq(got->name, t[i].name);
        cr_expect_eq(got->dtype, t[i].dtype, "%s", t[i].name);
        cr_expect_eq(got->bytes, t[i].bytes);
        cr_expect_eq(memcmp(got->data, data, (size_t)got->bytes), 0);
    }
    cr_expect_str_eq(wf_dataset_metadata(ds, "wavefarm.dtype.e5m2fnuz"), "e5m2fnuz");
    wf_dataset_free(ds);
    wf_buf_free(&out);
}

Test(dataset_write, appends_to_what_the_buffer_holds)
{
    struct wf_buf out = WF_BUF_INIT;
    image_add(&out, "ab", 2);
    cr_assert_eq(wf_dataset_write(NULL, 0, NULL, &out, NULL), WF_OK);
    cr_expect_eq(out.len, 2 + 8 + 8);
    cr_expect_eq(memcmp(out.data, "ab\x08\0\0\0\0\0\0\0{}      ", 18), 0);
    wf_buf_free(&out);
}

static void expect_refused(const struct wf_dataset_tensor *t,
                           size_t n,
                           const struct wf_json *meta,
                           const char *text)
{
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error err;
    cr_expect_eq(wf_dataset_write(t, n, meta, &out, &err), WF_EINVAL, "%s", text);
    cr_expect_not_null(strstr(err.text, text), "%s", err.text);
    cr_expect_eq(out.len, 0);
    wf_buf_free(&out);
}

Test(dataset_write, bad_tensors_are_refused)
{
    struct wf_dataset_tensor t[2] = { i32x3("x"), i32x3("x") };
    expect_refused(t, 2, NULL, "two tensors are named \"x\"");
    t[0] = i32x3("");
    expect_refused(t, 1, NULL, "needs a name");
    t[0] = i32x3("__metadata__");
    expect_refused(t, 1, NULL, "needs a name");
    t[0] = i32x3("x");
    t[0].bytes = 13;
    expect_refused(t, 1, NULL, "13 bytes");
    t[0] = i32x3("x");
    t[0].dim[0] = -3;
    expect_refused(t, 1, NULL, "shape");
    t[0] = i32x3("x");
    t[0].ndim = 9;
    expect_refused(t, 1, NULL, "9 dimensions");
    t[0] = i32x3("x");
    t[0].data = NULL;
    expect_refused(t, 1, NULL, "no data");
}

Test(dataset_write, bad_metadata_are_refused)
{
    static const struct {
        const char *json, *text;
    } bad[] = { { "[]", "object of strings" },
                { "{\"k\":1}", "\"k\" must be a string" },
                { "{\"wavefarm.dtype.x\":\"e4m3fnuz\"}", "reserved" } };
    const struct wf_dataset_tensor t = {
        .name = "x", .dtype = WF_U8, .ndim = 1, .dim = { 5 }, .data = bytes5, .bytes = 5
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct wf_json *meta = parse(bad[i].json);
        expect_refused(&t, 1, meta, bad[i].text);
        wf_json_free(meta);
    }
}
