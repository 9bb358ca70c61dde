/* Tables of trials: what their members may say. */
#include "selftest/tables.h"

#include "core/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[64];

static void make_folder(void)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/wf-tables-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    cr_assert_eq(wf_remove_tree(folder, NULL), WF_OK);
}

TestSuite(tables, .init = make_folder, .fini = remove_folder);

static enum wf_status make(const char *text, struct wf_error *err)
{
    static struct wf_table table;
    char sha[WF_SHA256_HEX];
    struct wf_json *json = NULL;
    struct wf_dataset_store *store = NULL;
    cr_assert_eq(wf_json_parse(text, strlen(text), "table", &json, err), WF_OK);
    cr_assert_eq(wf_dataset_store_open(folder, &store, err), WF_OK);
    enum wf_status st = wf_table_read(json, &table, err);
    st = st == WF_OK ? wf_table_store(&table, store, sha, err) : st;
    wf_dataset_store_close(store);
    wf_json_free(json);
    return st;
}

Test(tables, given_pages_are_as_many_as_the_lengths_need)
{
    struct wf_error err = { 0 };
    cr_assert_eq(make("{\"page_size\":1,\"num_pages\":50000,\"kv_len\":[2],"
                      "\"pages\":[49999,32768]}",
                      &err),
                 WF_OK, "%s", err.text);
    cr_assert_eq(
        make("{\"page_size\":1,\"num_pages\":9,\"kv_len\":[2],\"pages\":[3]}", &err),
        WF_EINVAL);
    cr_assert(strstr(err.text, "2 pages are needed, \"pages\" lists 1"), "%s",
              err.text);
    /* far more than a table holds */
    cr_assert_eq(make("{\"page_size\":1,\"num_pages\":9,\"kv_len\":[100000],"
                      "\"pages\":[3]}",
                      &err),
                 WF_EINVAL);
    cr_assert_eq(make("{\"page_size\":1,\"num_pages\":50000,\"kv_len\":[2]}", &err),
                 WF_ERANGE);
}
