/* Reading safetensors: what a good file gives, and that every hostile one is refused
 * with a text that says what is wrong. */
#include "datasets/dataset.h"

#include "tests/core/temp_dir.h"
#include "tests/datasets/image.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const char good[] =
    "{\"__metadata__\":{\"a\":\"1\"},"
    "\"x\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[0,3]},"
    "\"y\":{\"dtype\":\"I32\",\"shape\":[2,1],\"data_offsets\":[3,11]},"
    "\"z\":{\"dtype\":\"F64\",\"shape\":[0,7],\"data_offsets\":[11,11]},"
    "\"s\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[11,13]}}  ";

static void expect_refused(struct wf_buf *image, const char *text)
{
    struct wf_dataset *ds = NULL;
    struct wf_error err;
    enum wf_status st =
        wf_dataset_parse(wf_buf_cstr(image), image->len, "F", &ds, &err);
    cr_expect_neq(st, WF_OK, "accepted, wanted \"%s\"", text);
    cr_expect_null(ds);
    if (st != WF_OK) {
        cr_expect(strncmp(err.text, "F: ", 3) == 0, "no source in: %s", err.text);
        cr_expect_not_null(strstr(err.text, text), "\"%s\" not in: %s", text, err.text);
    }
    wf_dataset_free(ds);
    wf_buf_free(image);
}

static void expect_header_refused(const char *header, size_t data, const char *text)
{
    struct wf_buf image = image_make(header, data);
    expect_refused(&image, text);
}

Test(dataset_read, gives_tensors_in_the_headers_order)
{
    struct wf_buf image = image_make(good, 13);
    struct wf_dataset *ds = NULL;
    struct wf_error err;
    cr_assert_eq(wf_dataset_parse(image.data, image.len, "F", &ds, &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(wf_dataset_count(ds), 4);
    cr_expect_str_eq(wf_dataset_at(ds, 0)->name, "x");
    cr_expect_str_eq(wf_dataset_at(ds, 3)->name, "s");
    cr_expect_null(wf_dataset_at(ds, 4));
    const struct wf_dataset_tensor *y = wf_dataset_find(ds, "y");
    cr_assert_not_null(y);
    cr_expect_eq(y->dtype, WF_I32);
    cr_expect_eq(y->ndim, 2);
    cr_expect_eq(y->dim[0], 2);
    cr_expect_eq(y->bytes, 8);
    cr_expect_eq(*(const int32_t *)y->data, 0x07060504);
    cr_expect_eq(wf_dataset_find(ds, "z")->bytes, 0);
    cr_expect_eq(wf_dataset_find(ds, "s")->bytes, 2);
    cr_expect_null(wf_dataset_find(ds, "__metadata__"));
    cr_expect_str_eq(wf_dataset_metadata(ds, "a"), "1");
    cr_expect_null(wf_dataset_metadata(ds, "b"));
    char sha[WF_SHA256_HEX];
    wf_sha256_hex(image.data, image.len, sha);
    cr_expect_str_eq(wf_dataset_sha256(ds), sha);
    wf_dataset_free(ds);
    wf_buf_free(&image);
}

Test(dataset_read, data_of_every_tensor_is_aligned_although_the_file_is_not)
{
    struct wf_buf image = image_make(good, 13);
    struct wf_dataset *ds = NULL;
    cr_assert_eq(wf_dataset_parse(image.data, image.len, "F", &ds, NULL), WF_OK);
    for (size_t i = 0; i < wf_dataset_count(ds); i++) {
        cr_expect_eq((uintptr_t)wf_dataset_at(ds, i)->data % 8, 0, "tensor %zu", i);
    }
    wf_dataset_free(ds);
    wf_buf_free(&image);
}

Test(dataset_read, offsets_may_be_in_any_order)
{
    struct wf_buf image =
        image_make("{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]},"
                   "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}",
                   5);
    struct wf_dataset *ds = NULL;
    struct wf_error err;
    cr_assert_eq(wf_dataset_parse(image.data, image.len, "F", &ds, &err), WF_OK, "%s",
                 err.text);
    cr_expect_eq(*(const uint8_t *)wf_dataset_find(ds, "b")->data, 4);
    wf_dataset_free(ds);
    wf_buf_free(&image);
}

Test(dataset_read, a_file_without_tensors_is_good)
{
    struct wf_buf image = image_make("{}", 0);
    struct wf_dataset *ds = NULL;
    cr_assert_eq(wf_dataset_parse(image.data, image.len, "F", &ds, NULL), WF_OK);
    cr_expect_eq(wf_dataset_count(ds), 0);
    cr_expect_null(wf_dataset_metadata(ds, "a"));
    wf_dataset_free(ds);
    wf_buf_free(&image);
}

/* A prefix of a good file never passes, whatever its length. The copy has exactly that
 * length, so that reading past it shows under AddressSanitizer. */
Test(dataset_read, a_file_cut_anywhere_is_refused)
{
    struct wf_buf image = image_make(good, 13);
    for (size_t n = 0; n < image.len; n++) {
        struct wf_dataset *ds = NULL;
        char *cut = wf_calloc(n == 0 ? 1 : n, 1);
        cr_assert_not_null(cut);
        memcpy(cut, image.data, n);
        cr_expect_neq(wf_dataset_parse(cut, n, "F", &ds, NULL), WF_OK, "at %zu", n);
        free(cut);
    }
    wf_buf_free(&image);
}

Test(dataset_read, bytes_after_the_last_tensor_are_refused)
{
    expect_header_refused(good, 14, "1 bytes after the last tensor");
    expect_header_refused("{}", 5, "5 bytes after the last tensor");
}

Test(dataset_read, a_lying_header_length_is_refused)
{
    static const struct {
        uint64_t length;
        const char *text;
    } lies[] = {
        { 0, "does not begin with '{'" },
        { 1, "header" },
        { 3, "more than the 2 bytes that follow" },
        { 100000000, "more than the 2 bytes" },
        { 100000001, "above the limit of 100000000" },
        { (uint64_t)1 << 63, "above the limit" },
        { UINT64_MAX, "above the limit" },
        { UINT64_MAX - 7, "above the limit" },
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct wf_buf image = WF_BUF_INIT;
        image_add_length(&image, lies[i].length);
        image_add(&image, "{}", 2);
        expect_refused(&image, lies[i].text);
    }
}

Test(dataset_read, a_header_that_is_not_a_json_object_is_refused)
{
    expect_header_refused("hello", 0, "does not begin with '{'");
    expect_header_refused(" {}", 0, "does not begin with '{'");
    expect_header_refused("\xef\xbb\xbf{}", 0, "does not begin with '{'");
    expect_header_refused("[]", 0, "does not begin with '{'");
    expect_header_refused("{\"a\":", 0, "header");
    expect_header_refused("{} x", 0, "header");
    expect_header_refused("{\"a\":NaN}", 0, "header");
    expect_header_refused("{\"a\xff\":{}}", 0, "header");
}

Test(dataset_read, a_deeply_nested_header_is_refused)
{
    struct wf_buf header = WF_BUF_INIT;
    for (int i = 0; i < 100000; i++) {
        image_add(&header, "{\"a\":", 5);
    }
    struct wf_buf image = image_make(wf_buf_cstr(&header), 0);
    wf_buf_free(&header);
    expect_refused(&image, "header");
}

Test(dataset_read, a_header_of_very_many_tensors_is_refused)
{
    struct wf_buf header = WF_BUF_INIT;
    image_add(&header, "{", 1);
    for (int i = 0; i < 20000; i++) {
        cr_assert_eq(wf_buf_printf(&header, NULL, "%s\"%d\":0", i > 0 ? "," : "", i),
                     WF_OK);
    }
    image_add(&header, "}", 1);
    struct wf_buf image = image_make(wf_buf_cstr(&header), 0);
    wf_buf_free(&header);
    expect_refused(&image, "20000 tensors, the limit is 16384");
}

Test(dataset_read, a_tensor_named_twice_is_refused)
{
    expect_header_refused(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
        "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
        2, "\"a\"");
}

/* One tensor "a" with the given members, over eight bytes of data. */
static void expect_tensor_refused(const char *members, const char *text)
{
    char *header = wf_asprintf("{\"a\":{%s}}", members);
    cr_assert_not_null(header);
    expect_header_refused(header, 8, text);
    free(header);
}

Test(dataset_read, wrong_members_of_a_tensor_are_refused)
{
    expect_header_refused("{\"a\":7}", 0, "must be an object");
    expect_header_refused("{\"\":{}}", 0, "no name");
    expect_tensor_refused("\"shape\":[8],\"data_offsets\":[0,8]", "dtype");
    expect_tensor_refused("\"dtype\":\"U8\",\"data_offsets\":[0,8]", "shape");
    expect_tensor_refused("\"dtype\":\"U8\",\"shape\":[8]", "data_offsets");
    expect_tensor_refused(
        "\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8],\"q\":1", "q");
    expect_tensor_refused("\"dtype\":3,\"shape\":[8],\"data_offsets\":[0,8]", "dtype");
    expect_tensor_refused("\"dtype\":\"U8\",\"shape\":8,\"data_offsets\":[0,8]",
                          "shape");
}

Test(dataset_read, an_unknown_dtype_is_refused)
{
    static const char *const bad[] = { "i32", "I32 ",        "",       "BOOL", "I16",
                                       "F4",  "F8_E4M3FNUZ", "float32" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *m = wf_asprintf("\"dtype\":\"%s\",\"shape\":[8],\"data_offsets\":[0,8]",
                              bad[i]);
        expect_tensor_refused(m, "is not supported");
        free(m);
    }
}

Test(dataset_read, every_supported_dtype_is_read)
{
    static const struct {
        const char *tag;
        enum wf_dtype dtype;
    } all[] = {
        { "F64", WF_F64 },      { "F32", WF_F32 }, { "F16", WF_F16 },
        { "BF16", WF_BF16 },    { "I64", WF_I64 }, { "I32", WF_I32 },
        { "I8", WF_I8 },        { "U8", WF_U8 },   { "F8_E4M3", WF_E4M3FN },
        { "F8_E5M2", WF_E5M2 },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const size_t bytes = 3 * wf_dtype_bytes(all[i].dtype);
        char *h = wf_asprintf(
            "{\"a\":{\"dtype\":\"%s\",\"shape\":[3],\"data_offsets\":[0,%zu]}}",
            all[i].tag, bytes);
        struct wf_buf image = image_make(h, bytes);
        struct wf_dataset *ds = NULL;
        cr_assert_eq(wf_dataset_parse(image.data, image.len, "F", &ds, NULL), WF_OK);
        cr_expect_eq(wf_dataset_at(ds, 0)->dtype, all[i].dtype, "%s", all[i].tag);
        wf_dataset_free(ds);
        wf_buf_free(&image);
        free(h);
    }
}

Test(dataset_read, wrong_shapes_are_refused)
{
    static const struct {
        const char *shape, *text;
    } bad[] = {
        { "[-1]", "shape[0]" },
        { "[2,-4]", "shape[1]" },
        { "[1.5]", "shape[0]" },
        { "[\"8\"]", "shape[0]" },
        { "[18446744073709551615]", "shape[0]" },
        { "[9223372036854775807,3]", "2^64" },
        { "[4294967296,4294967296]", "2^64" },
        { "[4294967296,4294967297,0]", "2^64" },
        { "[1,1,1,1,1,1,1,1,8]", "9 dimensions" },
        { "[7]", "span 8 bytes, shape and dtype need 7" },
        { "[9]", "need 9" },
        { "[]", "need 1" },
        { "[0]", "need 0" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *m = wf_asprintf("\"dtype\":\"U8\",\"shape\":%s,\"data_offsets\":[0,8]",
                              bad[i].shape);
        expect_tensor_refused(m, bad[i].text);
        free(m);
    }
}

Test(dataset_read, wrong_offsets_are_refused)
{
    static const struct {
        const char *offsets, *text;
    } bad[] = {
        { "[8,0]", "reversed" },
        { "[-8,0]", "two integers" },
        { "[0]", "two integers" },
        { "[0,8,8]", "two integers" },
        { "[0,8.0]", "two integers" },
        { "[0,16]", "has 8 bytes of data" },
        { "[8,16]", "has 8 bytes of data" },
        { "[18446744073709551608,18446744073709551615]", "has 8 bytes" },
        { "[0,18446744073709551616]", "header" },
        { "[0,4]", "span 4 bytes, shape and dtype need 8" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *m = wf_asprintf("\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":%s",
                              bad[i].offsets);
        expect_tensor_refused(m, bad[i].text);
        free(m);
    }
}

static void expect_pair_refused(const char *a, const char *b, const char *text)
{
    char *h = wf_asprintf("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":%s},"
                          "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":%s}}",
                          a, b);
    expect_header_refused(h, 9, text);
    free(h);
}

Test(dataset_read, overlaps_and_holes_are_refused)
{
    expect_pair_refused("[0,4]", "[0,4]", "inside another tensor");
    expect_pair_refused("[0,4]", "[3,7]", "inside another tensor");
    expect_pair_refused("[0,4]", "[5,9]", "after a hole");
    expect_pair_refused("[5,9]", "[1,5]", "after a hole (expected 0)");
    expect_pair_refused("[0,4]", "[4,8]", "1 bytes after the last tensor");
}

Test(dataset_read, metadata_that_are_not_strings_are_refused)
{
    expect_header_refused("{\"__metadata__\":[]}", 0, "object of strings");
    expect_header_refused("{\"__metadata__\":null}", 0, "object of strings");
    expect_header_refused("{\"__metadata__\":{\"k\":1}}", 0, "\"k\" must be a string");
    expect_header_refused("{\"__metadata__\":{\"k\":{}}}", 0, "\"k\" must be a string");
    expect_header_refused("{\"__metadata__\":{\"k\":\"a\",\"k\":\"b\"}}", 0, "k");
}

Test(dataset_read, metadata_name_the_fnuz_type_of_a_u8_tensor)
{
    struct wf_buf image =
        image_make("{\"__metadata__\":{\"wavefarm.dtype.a\":\"e4m3fnuz\"},"
                   "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
                   2);
    struct wf_dataset *ds = NULL;
    cr_assert_eq(wf_dataset_parse(image.data, image.len, "F", &ds, NULL), WF_OK);
    cr_expect_eq(wf_dataset_at(ds, 0)->dtype, WF_E4M3FNUZ);
    wf_dataset_free(ds);
    wf_buf_free(&image);
}

Test(dataset_read, wrong_fnuz_metadata_are_refused)
{
#define FNUZ(key, value, tag)                                       \
    "{\"__metadata__\":{\"wavefarm.dtype." key "\":\"" value "\"}," \
    "\"a\":{\"dtype\":\"" tag "\",\"shape\":[2],\"data_offsets\":[0,2]}}"
    expect_header_refused(FNUZ("b", "e4m3fnuz", "U8"), 2, "no tensor \"b\"");
    expect_header_refused(FNUZ("a", "e4m3fn", "U8"), 2, "must be e4m3fnuz or e5m2fnuz");
    expect_header_refused(FNUZ("a", "f16", "U8"), 2, "must be e4m3fnuz or e5m2fnuz");
    expect_header_refused(FNUZ("a", "e4m3fnuz", "I8"), 2, "only U8 holds");
#undef FNUZ
}

Test(dataset_read, reads_a_file_and_names_it_in_errors)
{
    struct temp_dir dir;
    struct wf_error err;
    struct wf_dataset *ds = NULL;
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "t.safetensors");
    struct wf_buf image = image_make(good, 13);
    cr_assert_eq(wf_file_write_atomic(path, image.data, image.len, &err), WF_OK);
    cr_assert_eq(wf_dataset_read_file(path, &ds, &err), WF_OK, "%s", err.text);
    cr_expect_eq(wf_dataset_count(ds), 4);
    wf_dataset_free(ds);
    ds = NULL;
    cr_assert_eq(wf_file_write_atomic(path, image.data, image.len - 1, &err), WF_OK);
    cr_expect_eq(wf_dataset_read_file(path, &ds, &err), WF_EPARSE);
    cr_expect_not_null(strstr(err.text, "t.safetensors"));
    cr_expect_eq(wf_dataset_read_file(temp_dir_file(&dir, "no"), &ds, &err),
                 WF_ENOTFOUND);
    wf_buf_free(&image);
    temp_dir_remove(&dir);
}

Test(dataset_read, free_accepts_null)
{
    wf_dataset_free(NULL);
}
