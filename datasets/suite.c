/* Loads a suite: merges defaults into each case, replaces "@name" by the dataset's
 * hash, and lets the op parse the result. Everything is checked before anything is
 * returned; an error names file, case and field. */
#include "datasets/suite.h"

#include "core/file.h"
#include "core/printable.h"
#include "datasets/measure.h"
#include "datasets/suite_parts.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CASES      10000
#define MAX_CASE_NAME  120
#define DATASET_PREFIX "sha256:"

struct suite_case {
    const char *name; /* borrowed from root */
    struct wf_case *parsed;
    const struct wf_json *known_best; /* in root, or NULL */
    struct wf_json *measure;          /* the suite's and its own, or NULL */
};

struct wf_suite {
    struct wf_json *root;
    struct suite_case *cases;
    size_t count;
    const char **datasets; /* hashes, borrowed from the cases; no two are equal */
    size_t dataset_count;
};

/* What a load needs beside the suite itself. */
struct loader {
    const char *path;
    const char *file;               /* last component, for errors */
    const struct wf_json *defaults; /* or NULL */
    struct suite_datasets datasets;
    struct wf_dataset_resolver resolver;
    bool has_store;
};

/* --- where the file is --- */

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static enum wf_status unknown_suite(const char *name,
                                    const char *folder,
                                    struct wf_error *err)
{
    struct wf_buf list = WF_BUF_INIT;
    enum wf_status st = suite_folder_names(folder, &list, err);
    if (st == WF_OK) {
        st = wf_errorf(
            err, WF_ENOTFOUND,
            "unknown suite \"%.80s\"; the suites are: %s (or give a path that "
            "ends in .json)",
            name, list.len > 0 ? wf_buf_cstr(&list) : "none");
    }
    wf_buf_free(&list);
    return st;
}

static enum wf_status find_file(const char *name_or_path,
                                const char *folder,
                                char **ret,
                                struct wf_error *err)
{
    char *path;
    if (ends_with(name_or_path, ".json")) {
        path = wf_strdup(name_or_path);
    } else if (!wf_name_is_safe(name_or_path)) {
        return unknown_suite(name_or_path, folder, err);
    } else {
        path = wf_asprintf("%s/%s.json", folder, name_or_path);
        if (path && !wf_file_exists(path)) {
            free(path);
            return unknown_suite(name_or_path, folder, err);
        }
    }
    if (!path) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    *ret = path;
    return WF_OK;
}

/* --- cases --- */

static bool is_suite_key(const char *key)
{
    return strcmp(key, "name") == 0 || strcmp(key, "known_best") == 0 ||
           strcmp(key, "measure") == 0;
}

static enum wf_status add_member(struct loader *l,
                                 struct wf_json *out,
                                 const struct wf_json *member,
                                 struct wf_error *err)
{
    const char *key = wf_json_key(member), *text = wf_json_string(member), *sha = NULL;
    if (!text || text[0] != '@') {
        return wf_json_set_copy(out, key, member, err);
    }
    enum wf_status st = suite_datasets_resolve(&l->datasets, text + 1, &sha, err);
    if (st != WF_OK) {
        (void)wf_error_prefix(err, "\"%.64s\"", key);
        return st;
    }
    char *value = wf_asprintf(DATASET_PREFIX "%s", sha);
    st = value ? wf_json_set_string(out, key, value, err)
               : wf_errorf(err, WF_ENOMEM, "no memory for a case");
    free(value);
    return st;
}

/* The case as the op sees it. */
static enum wf_status merge_case(struct loader *l,
                                 const struct wf_json *c,
                                 struct wf_json *out,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (const struct wf_json *m = wf_json_first(c); m && st == WF_OK;
         m = wf_json_next(m)) {
        if (!is_suite_key(wf_json_key(m))) {
            st = add_member(l, out, m, err);
        }
    }
    if (!l->defaults) {
        return st;
    }
    for (const struct wf_json *m = wf_json_first(l->defaults); m && st == WF_OK;
         m = wf_json_next(m)) {
        if (!wf_json_find(c, wf_json_key(m))) {
            st = add_member(l, out, m, err);
        }
    }
    return st;
}

/* The suite's options with the case's over them; both were good alone, together the
 * least number of samples could still be above the most. */
static enum wf_status merge_measure(const struct wf_json *root,
                                    const struct wf_json *c,
                                    struct wf_json **ret,
                                    struct wf_error *err)
{
    const struct wf_json *all = wf_json_find(root, "measure");
    const struct wf_json *own = NULL;
    enum wf_status st = WF_OK;
    if (wf_json_find(c, "measure")) {
        st = wf_json_get_object(c, "measure", &own, err);
    } else if (!all) {
        return WF_OK;
    }
    if (st == WF_OK) {
        st = wf_measure_merge(all, own, ret, err);
    }
    if (st == WF_OK && (st = wf_measure_check_all(*ret, err)) != WF_OK) {
        (void)wf_error_prefix(err, "\"measure\"");
    }
    return st;
}

static enum wf_status parse_case(struct loader *l,
                                 const struct wf_json *c,
                                 struct suite_case *ret,
                                 struct wf_error *err)
{
    if (wf_json_find(c, "known_best")) {
        enum wf_status st = wf_json_get_object(c, "known_best", &ret->known_best, err);
        if (st != WF_OK) {
            return st;
        }
    }
    struct wf_json *merged = wf_json_object();
    if (!merged) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a case");
    }
    enum wf_status st = merge_case(l, c, merged, err);
    if (st == WF_OK) {
        st = wf_case_parse(merged, NULL, l->has_store ? &l->resolver : NULL,
                           &ret->parsed, err);
    }
    wf_json_free(merged);
    return st;
}

static enum wf_status check_name(const struct wf_suite *suite,
                                 const struct wf_json *c,
                                 const char **ret,
                                 struct wf_error *err)
{
    const char *name = NULL;
    if (wf_json_type(c) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "a case must be an object");
    }
    enum wf_status st = wf_json_get_string(c, "name", &name, err);
    if (st != WF_OK) {
        return st;
    }
    if (name[0] == '\0' || strlen(name) > MAX_CASE_NAME) {
        return wf_errorf(err, WF_EINVAL, "\"name\" must have 1 to %d bytes",
                         MAX_CASE_NAME);
    }
    if (!wf_is_printable(name)) {
        return wf_errorf(
            err, WF_EINVAL,
            "\"name\" has a control character or a mark that is not shown");
    }
    for (size_t i = 0; i < suite->count; i++) {
        if (strcmp(suite->cases[i].name, name) == 0) {
            return wf_errorf(err, WF_EINVAL, "\"name\" is \"%s\", as that of case %zu",
                             name, i);
        }
    }
    *ret = name;
    return WF_OK;
}

static void note_dataset(struct wf_suite *suite, const char *sha256)
{
    for (size_t i = 0; i < suite->dataset_count; i++) {
        if (strcmp(suite->datasets[i], sha256) == 0) {
            return;
        }
    }
    suite->datasets[suite->dataset_count++] = sha256;
}

static enum wf_status add_case(struct wf_suite *suite,
                               struct loader *l,
                               const struct wf_json *c,
                               struct wf_error *err)
{
    struct suite_case *slot = &suite->cases[suite->count];
    enum wf_status st = check_name(suite, c, &slot->name, err);
    if (st != WF_OK) {
        (void)wf_error_prefix(err, "%s: case %zu", l->file, suite->count);
        return st;
    }
    st = parse_case(l, c, slot, err);
    if (st == WF_OK) {
        st = merge_measure(suite->root, c, &slot->measure, err);
    }
    if (st != WF_OK) {
        (void)wf_error_prefix(err, "%s: case %zu (%s)", l->file, suite->count,
                              slot->name);
        wf_json_free(slot->measure); /* the slot is not counted */
        wf_case_free(slot->parsed);
        return st;
    }
    suite->count++;
    const char *sha256 = wf_case_dataset(slot->parsed);
    if (sha256) {
        note_dataset(suite, sha256);
    }
    return WF_OK;
}

static enum wf_status load_cases(struct wf_suite *suite,
                                 struct loader *l,
                                 struct wf_error *err)
{
    const struct wf_json *cases = wf_json_find(suite->root, "cases");
    const size_t n = wf_json_count(cases);
    if (n == 0 || n > MAX_CASES) {
        return wf_errorf(err, WF_EINVAL,
                         "%s: \"cases\" has %zu members, 1 to %d are possible", l->file,
                         n, MAX_CASES);
    }
    suite->cases = wf_calloc(n, sizeof *suite->cases);
    suite->datasets = wf_calloc(n, sizeof *suite->datasets);
    if (!suite->cases || !suite->datasets) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu cases", n);
    }
    for (const struct wf_json *c = wf_json_first(cases); c; c = wf_json_next(c)) {
        enum wf_status st = add_case(suite, l, c, err);
        if (st != WF_OK) {
            return st;
        }
    }
    return WF_OK;
}

/* --- the whole file --- */

static enum wf_status check_defaults(const struct loader *l, struct wf_error *err)
{
    const struct wf_json *m = l->defaults ? wf_json_first(l->defaults) : NULL;
    for (; m; m = wf_json_next(m)) {
        if (is_suite_key(wf_json_key(m))) {
            return wf_errorf(err, WF_EINVAL,
                             "%s: \"defaults\" cannot have \"%s\": it is %s", l->file,
                             wf_json_key(m),
                             strcmp(wf_json_key(m), "measure") == 0
                                 ? "a member of the suite, beside \"defaults\""
                                 : "of one case");
        }
    }
    return WF_OK;
}

/* A built-in suite is found by its file's name, so both must agree. */
static enum wf_status check_file_name(const struct wf_suite *suite,
                                      const char *asked,
                                      const struct loader *l,
                                      struct wf_error *err)
{
    if (ends_with(asked, ".json") || strcmp(asked, wf_suite_name(suite)) == 0) {
        return WF_OK;
    }
    return wf_errorf(err, WF_EINVAL,
                     "%s: \"name\" is \"%s\", it must be the file's name", l->file,
                     wf_suite_name(suite));
}

static enum wf_status load_file(const char *asked,
                                struct loader *l,
                                const char *base_dir,
                                struct wf_suite *suite,
                                struct wf_error *err)
{
    enum wf_status st = suite_read_file(l->path, &suite->root, err);
    if (st != WF_OK) {
        return st;
    }
    l->defaults = wf_json_find(suite->root, "defaults");
    st = check_file_name(suite, asked, l, err);
    if (st == WF_OK) {
        st = check_defaults(l, err);
    }
    if (st != WF_OK) {
        return st;
    }
    const struct wf_json *section = wf_json_find(suite->root, "datasets");
    st = suite_datasets_init(&l->datasets, section, base_dir, l->datasets.store, err);
    if (st != WF_OK) {
        (void)wf_error_prefix(err, "%s", l->file);
        return st;
    }
    return load_cases(suite, l, err);
}

/* "." or the folder part; caller frees. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) {
        return wf_strdup(".");
    }
    return slash == path ? wf_strdup("/") : wf_strndup(path, (size_t)(slash - path));
}

enum wf_status wf_suite_load(const char *name_or_path,
                             const char *suite_folder,
                             struct wf_dataset_store *datasets,
                             struct wf_suite **ret,
                             struct wf_error *err)
{
    char *path = NULL, *base = NULL;
    struct wf_suite *suite = NULL;
    struct loader l = { .datasets = { .store = datasets },
                        .has_store = datasets != NULL };
    enum wf_status st = find_file(name_or_path, suite_folder, &path, err);
    if (st != WF_OK) {
        return st;
    }
    const char *slash = strrchr(path, '/');
    l.path = path;
    l.file = slash ? slash + 1 : path;
    if (datasets) {
        l.resolver = wf_dataset_store_resolver(datasets);
    }
    base = folder_of(path);
    suite = wf_calloc(1, sizeof *suite);
    if (!base || !suite) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for a suite");
        goto out;
    }
    st = load_file(name_or_path, &l, base, suite, err);
    if (st == WF_OK) {
        *ret = suite;
        suite = NULL;
    }
out:
    suite_datasets_fini(&l.datasets);
    wf_suite_free(suite);
    free(base);
    free(path);
    return st;
}

void wf_suite_free(struct wf_suite *suite)
{
    if (!suite) {
        return;
    }
    for (size_t i = 0; i < suite->count; i++) {
        wf_case_free(suite->cases[i].parsed);
        wf_json_free(suite->cases[i].measure);
    }
    free(suite->cases);
    free(suite->datasets);
    wf_json_free(suite->root);
    free(suite);
}

const char *wf_suite_name(const struct wf_suite *suite)
{
    return wf_json_string(wf_json_find(suite->root, "name"));
}

size_t wf_suite_count(const struct wf_suite *suite)
{
    return suite->count;
}

const struct wf_case *wf_suite_case(const struct wf_suite *suite, size_t i)
{
    return suite->cases[i].parsed;
}

const char *wf_suite_case_name(const struct wf_suite *suite, size_t i)
{
    return suite->cases[i].name;
}

const struct wf_json *wf_suite_case_known_best(const struct wf_suite *suite, size_t i)
{
    return suite->cases[i].known_best;
}

const struct wf_json *wf_suite_case_measure(const struct wf_suite *suite, size_t i)
{
    return suite->cases[i].measure;
}

size_t wf_suite_dataset_count(const struct wf_suite *suite)
{
    return suite->dataset_count;
}

const char *wf_suite_dataset(const struct wf_suite *suite, size_t i)
{
    return suite->datasets[i];
}
