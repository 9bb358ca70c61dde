/* The folder of datasets: found by hash, checked on load, kept once loaded. */
#include "datasets/dataset.h"

#include "tests/core/temp_dir.h"
#include "tests/datasets/image.h"

#include <criterion/criterion.h>

static struct wf_buf small_image(const char *note)
{
    struct wf_buf out = WF_BUF_INIT;
    struct wf_json *meta = wf_json_object();
    cr_assert_eq(wf_json_set_string(meta, "note", note, NULL), WF_OK);
    cr_assert_eq(wf_dataset_write(NULL, 0, meta, &out, NULL), WF_OK);
    wf_json_free(meta);
    return out;
}

static struct wf_dataset_store *open_store(struct temp_dir *dir)
{
    struct wf_dataset_store *store = NULL;
    struct wf_error err;
    temp_dir_make(dir);
    cr_assert_eq(wf_dataset_store_open(temp_dir_file(dir, "a/b"), &store, &err), WF_OK,
                 "%s", err.text);
    return store;
}

static enum wf_status find(struct wf_dataset_store *store,
                           const char *sha,
                           const struct wf_dataset **ret,
                           struct wf_error *err)
{
    const struct wf_dataset_resolver r = wf_dataset_store_resolver(store);
    return r.find(r.ctx, sha, ret, err);
}

Test(dataset_store, what_was_added_is_found_and_kept)
{
    struct temp_dir dir;
    struct wf_error err;
    struct wf_dataset_store *store = open_store(&dir);
    struct wf_buf image = small_image("one");
    char sha[WF_SHA256_HEX], want[WF_SHA256_HEX];
    cr_assert_eq(wf_dataset_store_add(store, image.data, image.len, sha, &err), WF_OK,
                 "%s", err.text);
    wf_sha256_hex(image.data, image.len, want);
    cr_expect_str_eq(sha, want);
    const struct wf_dataset *a = NULL, *b = NULL;
    cr_assert_eq(find(store, sha, &a, &err), WF_OK, "%s", err.text);
    cr_assert_eq(find(store, sha, &b, &err), WF_OK);
    cr_expect_eq(a, b);
    cr_expect_str_eq(wf_dataset_metadata(a, "note"), "one");
    wf_buf_free(&image);
    wf_dataset_store_close(store);
    temp_dir_remove(&dir);
}

Test(dataset_store, adding_twice_is_harmless)
{
    struct temp_dir dir;
    struct wf_dataset_store *store = open_store(&dir);
    struct wf_buf image = small_image("one");
    char sha[WF_SHA256_HEX];
    cr_expect_eq(wf_dataset_store_add(store, image.data, image.len, sha, NULL), WF_OK);
    cr_expect_eq(wf_dataset_store_add(store, image.data, image.len, sha, NULL), WF_OK);
    wf_buf_free(&image);
    wf_dataset_store_close(store);
    temp_dir_remove(&dir);
}

Test(dataset_store, an_absent_hash_is_not_found)
{
    struct temp_dir dir;
    struct wf_error err;
    struct wf_dataset_store *store = open_store(&dir);
    const struct wf_dataset *ds = NULL;
    char sha[WF_SHA256_HEX];
    wf_sha256_hex("x", 1, sha);
    cr_expect_eq(find(store, sha, &ds, &err), WF_ENOTFOUND);
    cr_expect_not_null(strstr(err.text, sha));
    wf_dataset_store_close(store);
    temp_dir_remove(&dir);
}

Test(dataset_store, text_that_is_no_hash_never_becomes_a_path)
{
    struct temp_dir dir;
    struct wf_error err;
    struct wf_dataset_store *store = open_store(&dir);
    const struct wf_dataset *ds = NULL;
    cr_expect_eq(find(store, "../../etc/passwd", &ds, &err), WF_EINVAL);
    cr_expect_eq(find(store, "", &ds, &err), WF_EINVAL);
    wf_dataset_store_close(store);
    temp_dir_remove(&dir);
}

Test(dataset_store, a_file_whose_content_was_changed_is_refused)
{
    struct temp_dir dir;
    struct wf_error err;
    struct wf_dataset_store *store = open_store(&dir);
    struct wf_buf one = small_image("one"), two = small_image("two");
    char sha[WF_SHA256_HEX], name[128];
    wf_sha256_hex(one.data, one.len, sha);
    (void)snprintf(name, sizeof name, "a/b/%s.safetensors", sha);
    cr_assert_eq(
        wf_file_write_atomic(temp_dir_file(&dir, name), two.data, two.len, &err),
        WF_OK);
    const struct wf_dataset *ds = NULL;
    cr_expect_eq(find(store, sha, &ds, &err), WF_EINVAL);
    cr_expect_not_null(strstr(err.text, "remove the file"), "%s", err.text);
    wf_buf_free(&one);
    wf_buf_free(&two);
    wf_dataset_store_close(store);
    temp_dir_remove(&dir);
}

Test(dataset_store, what_cannot_be_read_is_not_added)
{
    struct temp_dir dir;
    struct wf_error err;
    struct wf_dataset_store *store = open_store(&dir);
    char sha[WF_SHA256_HEX];
    cr_expect_eq(wf_dataset_store_add(store, "junk", 4, sha, &err), WF_EPARSE);
    wf_dataset_store_close(store);
    temp_dir_remove(&dir);
}

Test(dataset_store, close_accepts_null)
{
    wf_dataset_store_close(NULL);
}
