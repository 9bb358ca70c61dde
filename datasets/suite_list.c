/* Suite files in a folder, and what every suite file must have at its top. */
#include "datasets/suite.h"

#include "core/file.h"
#include "datasets/measure.h"
#include "datasets/suite_parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct names {
    char **at;
    size_t count;
};

static void free_names(struct names *n)
{
    for (size_t i = 0; i < n->count; i++) {
        free(n->at[i]);
    }
    free(n->at);
}

static enum wf_status add_name(struct names *n,
                               const char *name,
                               size_t length,
                               struct wf_error *err)
{
    char **grown = wf_realloc_array(n->at, n->count + 1, sizeof *grown);
    if (!grown) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the list of suites");
    }
    n->at = grown;
    n->at[n->count] = wf_strndup(name, length);
    if (!n->at[n->count]) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the list of suites");
    }
    n->count++;
    return WF_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* On failure the caller frees what is there. */
static enum wf_status scan(const char *folder, struct names *ret, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    DIR *dir = opendir(folder);
    if (!dir) {
        return wf_error_errno(err, errno, "cannot list the suites in %s", folder);
    }
    for (const struct dirent *e = readdir(dir); e && st == WF_OK; e = readdir(dir)) {
        const size_t n = strlen(e->d_name);
        if (n > 5 && strcmp(e->d_name + n - 5, ".json") == 0 &&
            wf_name_is_safe(e->d_name)) {
            st = add_name(ret, e->d_name, n - 5, err);
        }
    }
    (void)closedir(dir);
    if (ret->count > 1) {
        qsort(ret->at, ret->count, sizeof *ret->at, by_text);
    }
    return st;
}

enum wf_status suite_folder_names(const char *folder,
                                  struct wf_buf *out,
                                  struct wf_error *err)
{
    struct names names = { 0 };
    enum wf_status st = scan(folder, &names, err);
    for (size_t i = 0; i < names.count && st == WF_OK; i++) {
        st = wf_buf_printf(out, err, "%s%s", i > 0 ? ", " : "", names.at[i]);
    }
    free_names(&names);
    return st;
}

static enum wf_status check_measure(const struct wf_json *root, struct wf_error *err)
{
    const struct wf_json *part = NULL;
    enum wf_status st = wf_json_get_object(root, "measure", &part, err);
    if (st == WF_OK && (st = wf_measure_check_all(part, err)) != WF_OK) {
        (void)wf_error_prefix(err, "\"measure\"");
    }
    return st;
}

static enum wf_status check_top(const struct wf_json *root, struct wf_error *err)
{
    static const char *const keys[] = { "schema",   "name",     "description",
                                        "datasets", "defaults", "measure",
                                        "cases",    NULL };
    const char *schema = NULL, *text = NULL;
    const struct wf_json *part;
    if (wf_json_type(root) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "a suite must be a JSON object");
    }
    enum wf_status st = wf_json_get_string(root, "schema", &schema, err);
    if (st == WF_OK && strcmp(schema, WF_SUITE_SCHEMA) != 0) {
        return wf_errorf(
            err, WF_EINVAL,
            "\"schema\" is \"%.64s\", this program reads \"" WF_SUITE_SCHEMA "\"",
            schema);
    }
    if (st == WF_OK) {
        st = wf_json_only_keys(root, keys, err);
    }
    if (st == WF_OK) {
        st = wf_json_get_string(root, "name", &text, err);
    }
    if (st == WF_OK && !wf_name_is_safe(text)) {
        return wf_errorf(
            err, WF_EINVAL,
            "\"name\" is \"%.64s\": letters, digits, '.', '_' and '-' only", text);
    }
    if (st == WF_OK) {
        st = wf_json_get_string(root, "description", &text, err);
    }
    if (st == WF_OK && wf_json_find(root, "datasets")) {
        st = wf_json_get_object(root, "datasets", &part, err);
    }
    if (st == WF_OK && wf_json_find(root, "defaults")) {
        st = wf_json_get_object(root, "defaults", &part, err);
    }
    if (st == WF_OK && wf_json_find(root, "measure")) {
        st = check_measure(root, err);
    }
    return st == WF_OK ? wf_json_get_array(root, "cases", &part, err) : st;
}

enum wf_status suite_read_file(const char *path,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_json *root = NULL;
    enum wf_status st = wf_json_parse_file(path, &root, err);
    if (st != WF_OK) {
        return st;
    }
    st = check_top(root, err);
    if (st != WF_OK) {
        (void)wf_error_prefix(err, "%s", path);
        wf_json_free(root);
        return st;
    }
    *ret = root;
    return WF_OK;
}

static enum wf_status describe(const struct wf_json *root,
                               struct wf_json *list,
                               struct wf_error *err)
{
    struct wf_json *row = wf_json_object();
    const char *name = wf_json_string(wf_json_find(root, "name"));
    const char *text = wf_json_string(wf_json_find(root, "description"));
    const size_t cases = wf_json_count(wf_json_find(root, "cases"));
    enum wf_status st = wf_json_set_string(row, "name", name, err);
    if (st == WF_OK) {
        st = wf_json_set_string(row, "description", text, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_i64(row, "cases", (int64_t)cases, err);
    }
    if (st != WF_OK) {
        wf_json_free(row);
        return st;
    }
    return wf_json_push_take(list, row, err);
}

static enum wf_status list_one(const char *folder,
                               const char *name,
                               struct wf_json *list,
                               struct wf_error *err)
{
    struct wf_json *root = NULL;
    char *path = wf_asprintf("%s/%s.json", folder, name);
    enum wf_status st = path ? suite_read_file(path, &root, err)
                             : wf_errorf(err, WF_ENOMEM, "no memory for a path");
    if (st == WF_OK) {
        st = describe(root, list, err);
    }
    wf_json_free(root);
    free(path);
    return st;
}

enum wf_status wf_suite_list(const char *suite_folder,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    struct names names = { 0 };
    struct wf_json *list = wf_json_array();
    enum wf_status st = list ? scan(suite_folder, &names, err)
                             : wf_errorf(err, WF_ENOMEM, "no memory for a list");
    for (size_t i = 0; i < names.count && st == WF_OK; i++) {
        st = list_one(suite_folder, names.at[i], list, err);
    }
    free_names(&names);
    if (st != WF_OK) {
        wf_json_free(list);
        return st;
    }
    *ret = list;
    return WF_OK;
}
