/* The "datasets" section of a suite. A recipe runs only when a case refers to it and
 * the store does not hold its result yet; a result with another hash than the suite
 * states is an error and does not enter the store. */
#include "datasets/suite_parts.h"

#include "datasets/page_list.h"
#include "datasets/page_table.h"

#include <stdlib.h>
#include <string.h>

static bool is_list(const struct wf_json *make)
{
    const char *kind = wf_json_string(wf_json_find(make, "kind"));
    return kind && strcmp(kind, WF_PAGE_LIST_KIND) == 0;
}

static enum wf_status check_entry(const struct wf_json *entry,
                                  const char *base_dir,
                                  struct wf_error *err)
{
    static const char *const keys[] = { "sha256", "make", "description", NULL };
    struct wf_page_table_spec spec;
    const struct wf_json *make = wf_json_find(entry, "make");
    const char *sha = NULL, *description = NULL;
    if (wf_json_type(entry) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "must be an object");
    }
    enum wf_status st = wf_json_only_keys(entry, keys, err);
    if (st == WF_OK) {
        st = wf_json_opt_string(entry, "sha256", &sha, err);
    }
    if (st == WF_OK) {
        st = wf_json_opt_string(entry, "description", &description, err);
    }
    if (st == WF_OK && sha && !wf_sha256_is_hex(sha)) {
        st = wf_errorf(err, WF_EINVAL, "\"sha256\" must be 64 lower-case hex digits");
    }
    if (st == WF_OK && !sha && !make) {
        st = wf_errorf(err, WF_EINVAL, "needs \"sha256\", \"make\" (a recipe) or both");
    }
    if (st == WF_OK && make) {
        st = wf_json_get_object(entry, "make", &make, err);
    }
    if (st == WF_OK && make) {
        st = is_list(make) ? wf_page_list_check(make, err)
                           : wf_page_table_spec_parse(make, base_dir, &spec, err);
    }
    return st;
}

enum wf_status suite_datasets_init(struct suite_datasets *set,
                                   const struct wf_json *section,
                                   const char *base_dir,
                                   struct wf_dataset_store *store,
                                   struct wf_error *err)
{
    *set = (struct suite_datasets){ .base_dir = base_dir, .store = store };
    if (!section) {
        return WF_OK;
    }
    set->at = wf_calloc(wf_json_count(section) + 1, sizeof *set->at);
    if (!set->at) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the datasets of a suite");
    }
    for (const struct wf_json *m = wf_json_first(section); m; m = wf_json_next(m)) {
        enum wf_status st = check_entry(m, base_dir, err);
        if (st != WF_OK) {
            (void)wf_error_prefix(err, "dataset \"%.64s\"", wf_json_key(m));
            return st;
        }
        set->at[set->count++] =
            (struct suite_dataset){ .name = wf_json_key(m), .entry = m };
    }
    return WF_OK;
}

void suite_datasets_fini(struct suite_datasets *set)
{
    free(set->at);
    *set = (struct suite_datasets){ 0 };
}

static enum wf_status make_table(const struct suite_datasets *set,
                                 const struct wf_json *recipe,
                                 struct wf_buf *image,
                                 struct wf_error *err)
{
    struct wf_page_table_spec spec;
    enum wf_status st = wf_page_table_spec_parse(recipe, set->base_dir, &spec, err);
    if (st != WF_OK) {
        return st;
    }
    spec.cancel = wf_dataset_store_cancel(set->store);
    return wf_page_table_make(&spec, image, NULL, err);
}

/* Runs the recipe; the image enters the store when it is the one that is stated. */
static enum wf_status make(const struct suite_datasets *set,
                           struct suite_dataset *d,
                           const char *stated,
                           struct wf_error *err)
{
    const struct wf_json *recipe = wf_json_find(d->entry, "make");
    struct wf_buf image = WF_BUF_INIT;
    char sha[WF_SHA256_HEX];
    enum wf_status st = is_list(recipe) ? wf_page_list_make(recipe, &image, err)
                                        : make_table(set, recipe, &image, err);
    if (st == WF_OK && stated) {
        wf_sha256_hex(image.data, image.len, sha);
        if (strcmp(sha, stated) != 0) {
            st =
                wf_errorf(err, WF_EINVAL,
                          "the recipe gives SHA-256 %s, the suite states %s: recipe or "
                          "generator changed",
                          sha, stated);
        }
    }
    if (st == WF_OK) {
        st = wf_dataset_store_add(set->store, image.data, image.len, d->sha256, err);
    }
    wf_buf_free(&image);
    return st;
}

static enum wf_status find_or_make(const struct suite_datasets *set,
                                   struct suite_dataset *d,
                                   struct wf_error *err)
{
    const char *stated = wf_json_string(wf_json_find(d->entry, "sha256"));
    const struct wf_dataset *found;
    if (!set->store) {
        return wf_errorf(err, WF_EINVAL, "no dataset store is open here");
    }
    if (!stated) {
        return make(set, d, NULL, err);
    }
    const struct wf_dataset_resolver r = wf_dataset_store_resolver(set->store);
    enum wf_status st = r.find(r.ctx, stated, &found, err);
    if (st == WF_ENOTFOUND && wf_json_find(d->entry, "make")) {
        return make(set, d, stated, err);
    }
    if (st == WF_OK) {
        memcpy(d->sha256, stated, WF_SHA256_HEX);
    }
    return st;
}

static enum wf_status unknown(const struct suite_datasets *set,
                              const char *name,
                              struct wf_error *err)
{
    struct wf_buf list = WF_BUF_INIT;
    for (size_t i = 0; i < set->count; i++) {
        (void)wf_buf_printf(&list, NULL, "%s%s", i > 0 ? ", " : "", set->at[i].name);
    }
    enum wf_status st =
        wf_errorf(err, WF_EINVAL, "the suite has no dataset \"%.64s\"; it has: %s",
                  name, set->count > 0 ? wf_buf_cstr(&list) : "none");
    wf_buf_free(&list);
    return st;
}

enum wf_status suite_datasets_resolve(struct suite_datasets *set,
                                      const char *name,
                                      const char **ret_sha256,
                                      struct wf_error *err)
{
    struct suite_dataset *d = NULL;
    for (size_t i = 0; i < set->count && !d; i++) {
        d = strcmp(set->at[i].name, name) == 0 ? &set->at[i] : NULL;
    }
    if (!d) {
        return unknown(set, name, err);
    }
    if (d->sha256[0] == '\0') {
        enum wf_status st = find_or_make(set, d, err);
        if (st != WF_OK) {
            (void)wf_error_prefix(err, "dataset \"%.64s\"", name);
            return st;
        }
    }
    *ret_sha256 = d->sha256;
    return WF_OK;
}
