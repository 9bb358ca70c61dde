/* Page tables from a list of ids. */
#include "datasets/page_list.h"

#include "datasets/dataset.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HEAD "{\"kind\":\"page-list\",\"page_size\":16,\"num_pages\":70000,"

static enum wf_status make(const char *text, struct wf_buf *image, struct wf_error *err)
{
    struct wf_json *json = NULL;
    cr_assert_eq(wf_json_parse(text, strlen(text), "recipe", &json, err), WF_OK, "%s",
                 err->text);
    const enum wf_status st = wf_page_list_make(json, image, err);
    cr_expect_eq(wf_page_list_check(json, NULL), st, "%s", text);
    wf_json_free(json);
    return st;
}

static struct wf_dataset *read_back(const char *text)
{
    struct wf_error err = { 0 };
    struct wf_buf image = WF_BUF_INIT;
    struct wf_dataset *ds = NULL;
    cr_assert_eq(make(text, &image, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_dataset_parse(image.data, image.len, "list", &ds, &err), WF_OK,
                 "%s", err.text);
    wf_buf_free(&image);
    return ds;
}

static void expect(const struct wf_dataset *ds,
                   const char *name,
                   const int32_t *want,
                   int64_t n)
{
    const struct wf_dataset_tensor *t = wf_dataset_find(ds, name);
    cr_assert_not_null(t, "%s", name);
    cr_assert_eq(t->dim[0], n, "%s has %lld", name, (long long)t->dim[0]);
    cr_expect_arr_eq(t->data, want, (size_t)n * sizeof(*want), "%s", name);
}

Test(page_list, sequences_take_pages_in_turn)
{
    struct wf_dataset *ds = read_back(
        HEAD "\"kv_len\":[17,0,16],\"pages\":[65536,0,69999],\"q_len\":[2,0,1]}");
    expect(ds, "kv_indptr", (const int32_t[]){ 0, 2, 2, 3 }, 4);
    expect(ds, "kv_indices", (const int32_t[]){ 65536, 0, 69999 }, 3);
    expect(ds, "kv_last_page_len", (const int32_t[]){ 1, 0, 16 }, 3);
    expect(ds, "qo_indptr", (const int32_t[]){ 0, 2, 2, 3 }, 4);
    cr_expect_str_eq(wf_dataset_metadata(ds, "num_pages"), "70000");
    cr_expect_str_eq(wf_dataset_metadata(ds, "page_size"), "16");
    wf_dataset_free(ds);
}

Test(page_list, order_sorts_or_permutes_and_nothing_is_lost)
{
    struct wf_dataset *up =
        read_back(HEAD "\"kv_len\":[48],\"pages\":[7,3,5],\"order\":\"ascending\"}");
    struct wf_dataset *down =
        read_back(HEAD "\"kv_len\":[48],\"pages\":[7,3,5],\"order\":\"descending\"}");
    expect(up, "kv_indices", (const int32_t[]){ 3, 5, 7 }, 3);
    expect(down, "kv_indices", (const int32_t[]){ 7, 5, 3 }, 3);
    cr_expect_null(wf_dataset_find(up, "qo_indptr"));
    wf_dataset_free(up);
    wf_dataset_free(down);
    int seen[9] = { 0 }, moved = 0;
    struct wf_dataset *some = read_back(
        HEAD "\"kv_len\":[144],\"pages\":[0,1,2,3,4,5,6,7,8],\"order\":\"permuted\","
             "\"seed\":4}");
    const int32_t *ids = wf_dataset_find(some, "kv_indices")->data;
    for (int i = 0; i < 9; i++) {
        seen[ids[i]]++;
        moved += ids[i] != i;
    }
    for (int i = 0; i < 9; i++) {
        cr_expect_eq(seen[i], 1, "page %d", i);
    }
    cr_expect_gt(moved, 1);
    wf_dataset_free(some);
}

Test(page_list, mistakes_are_named)
{
    static const char *const BAD[][2] = {
        { "\"kv_len\":[17],\"pages\":[1]}", "\"pages\" has 1 entries" },
        { "\"kv_len\":[16],\"pages\":[70000]}",
          "\"pages\"[0] must be an integer from 0 to "
          "69999" },
        { "\"kv_len\":[16],\"pages\":[-1]}", "\"pages\"[0]" },
        { "\"kv_len\":[],\"pages\":[]}", "are required" },
        { "\"kv_len\":[16],\"pages\":[1],\"q_len\":[1,1]}", "\"q_len\" has 2 entries" },
        { "\"kv_len\":[16],\"pages\":[1],\"order\":\"best\"}",
          "\"order\" is \"best\"" },
        { "\"kv_len\":[16],\"pages\":[1],\"q_len\":[0]}", "0 queries" },
        { "\"kv_len\":[16],\"pages\":[1],\"x\":1}", "x" },
        { "\"kv_len\":16,\"pages\":[1]}", "\"kv_len\" must be a list" },
    };
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct wf_error err = { 0 };
        struct wf_buf image = WF_BUF_INIT;
        char text[256];
        (void)snprintf(text, sizeof(text), HEAD "%s", BAD[i][0]);
        cr_expect_eq(make(text, &image, &err), WF_EINVAL, "%s", text);
        cr_expect_not_null(strstr(err.text, BAD[i][1]), "%s: %s", text, err.text);
        wf_buf_free(&image);
    }
}
